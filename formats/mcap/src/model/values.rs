//! Payloads that are texts or numbers, by the name that a track gives its content.

use std::borrow::Cow;

use kymo_core::Value;
use kymo_core::bytes::{Cursor, Endian};
use kymo_model::timeline::{Content, Track, TrackId};

use super::channels::is_text;

/// Decodes the payloads of a track.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Decoder {
    /// Nothing here decodes them.
    None,
    /// UTF-8.
    Text,
    /// Content of events, as JSON.
    Spelt,
    /// A number.
    Number { number: Number, endian: Endian, gain: f64, offset: f64 },
}

/// The types of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Int(u32),
    UInt(u32),
    Float(u32),
}

impl Decoder {
    /// The decoder of a track, whose events may be spelt as JSON.
    pub(super) fn new(track: &Track, is_spelt: bool) -> Self {
        if is_spelt {
            return Self::Spelt;
        }
        if is_text(&track.content) {
            return Self::Text;
        }
        let attribute = |name: &str| track.attributes.get(name).and_then(|value| value.as_f64());
        let (gain, offset) = (attribute("gain").unwrap_or(1.0), attribute("offset").unwrap_or(0.0));
        number(&track.content).map_or(Self::None, |(number, endian)| Self::Number {
            number,
            endian,
            gain,
            offset,
        })
    }

    /// Returns the content of a payload, by its fields where these are asked for; `track` finds a
    /// track by its number.
    pub(super) fn content<'a>(
        &self,
        payload: &'a [u8],
        has_fields: bool,
        track: impl Fn(u64) -> Option<TrackId>,
    ) -> Content<'a> {
        match self {
            Self::None => Content::Payload,
            Self::Spelt if has_fields => {
                Content::from_json_with_fields(payload, track).unwrap_or(Content::Payload)
            }
            Self::Spelt => Content::from_json(payload, track).unwrap_or(Content::Payload),
            Self::Text => match std::str::from_utf8(payload) {
                Ok(text) => Content::Text(Cow::Borrowed(text)),
                Err(_) => Content::Payload,
            },
            Self::Number { number, endian, gain, offset } => {
                let value = value(*number, payload, *endian);
                value
                    .map_or(Content::Payload, |value| Content::Value(scaled(value, *gain, *offset)))
            }
        }
    }
}

/// `uint16le`, `float64be`: a type, its bits, and the byte order, which must be said.
fn number(name: &str) -> Option<(Number, Endian)> {
    let (rest, endian) = match (name.strip_suffix("le"), name.strip_suffix("be")) {
        (Some(rest), _) => (rest, Endian::Little),
        (_, Some(rest)) => (rest, Endian::Big),
        _ if name.ends_with("int8") => (name, Endian::Little),
        _ => return None,
    };
    let digits = rest.trim_start_matches(|c: char| c.is_ascii_lowercase());
    let bits = digits.parse().ok()?;
    let number = match (rest.strip_suffix(digits)?, bits) {
        ("int", 8 | 16 | 32 | 64) => Number::Int(bits),
        ("uint", 8 | 16 | 32 | 64) => Number::UInt(bits),
        ("float", 32 | 64) => Number::Float(bits),
        _ => return None,
    };
    Some((number, endian))
}

/// The number that a payload is, unless it has another length.
fn value(number: Number, payload: &[u8], endian: Endian) -> Option<Value> {
    let mut cursor = Cursor::new(payload, endian);
    let what = "payload";
    let value = match number {
        Number::Int(8) => cursor.i8(what).map(Value::from),
        Number::Int(16) => cursor.i16(what).map(Value::from),
        Number::Int(32) => cursor.i32(what).map(Value::from),
        Number::Int(_) => cursor.i64(what).map(Value::from),
        Number::UInt(8) => cursor.u8(what).map(Value::from),
        Number::UInt(16) => cursor.u16(what).map(Value::from),
        Number::UInt(32) => cursor.u32(what).map(Value::from),
        Number::UInt(_) => cursor.u64(what).map(Value::from),
        Number::Float(32) => cursor.f32(what).map(Value::from),
        Number::Float(_) => cursor.f64(what).map(Value::from),
    };
    value.ok().filter(|_| cursor.remaining() == 0)
}

#[allow(clippy::cast_precision_loss, reason = "what is scaled is a measurement")]
fn scaled(value: Value, gain: f64, offset: f64) -> Value {
    if (gain, offset) == (1.0, 0.0) {
        return value;
    }
    let number = match value {
        Value::Int(number) => number as f64,
        Value::UInt(number) => number as f64,
        Value::Float32(number) => number.into(),
        Value::Float(number) => number,
        other => return other,
    };
    Value::Float(number * gain + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_named_by_type_bits_and_byte_order() {
        assert_eq!(number("uint16le"), Some((Number::UInt(16), Endian::Little)));
        assert_eq!(number("float64be"), Some((Number::Float(64), Endian::Big)));
        assert_eq!(number("int8"), Some((Number::Int(8), Endian::Little)));
        for other in ["uint16", "float16le", "uleb128", "le", "raw", "int12le", ""] {
            assert_eq!(number(other), None, "{other}");
        }
    }

    #[test]
    fn a_payload_of_another_length_is_no_number() {
        let le = Endian::Little;
        assert_eq!(value(Number::UInt(16), &[1, 2], le), Some(Value::UInt(0x0201)));
        assert_eq!(value(Number::UInt(16), &[1, 2, 3], le), None);
        assert_eq!(value(Number::UInt(16), &[1], le), None);
    }
}
