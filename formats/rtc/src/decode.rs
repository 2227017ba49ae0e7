//! Payloads to values: the default formats of the specification, and those that are registered.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use kymo_core::Value;
use kymo_core::bytes::Endian;
use kymo_rtc_wire::leb128;
use serde_json::{Map, Value as Json};

use crate::types::Stream;

/// Encoding by which the payload of a format is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Bytes.
    Raw,
    /// A whole number of so many bytes.
    Integer {
        bytes: usize,
        is_signed: bool,
        endian: Option<Endian>,
    },
    /// A floating-point number of so many bytes.
    Float {
        bytes: usize,
        endian: Option<Endian>,
    },
    Unsigned,
    Signed,
    Timespec,
    Text,
    Json,
    /// A moment, then something of another format.
    Annotate(Box<Encoding>),
    /// A format that only a registered decoder knows.
    Other,
}

impl Encoding {
    pub(crate) fn from_format(format: &str) -> Self {
        if let Some(rest) = format.strip_prefix("annotate/") {
            // An annotation of an annotation is none.
            let is_nested = rest.starts_with("annotate/");
            return Self::Annotate(Box::new(if is_nested {
                Self::Other
            } else {
                Self::from_format(rest)
            }));
        }
        match format {
            "raw" | "index" => Self::Raw,
            "json" => Self::Json,
            "utf-8" => Self::Text,
            "timespec" => Self::Timespec,
            "uleb128" => Self::Unsigned,
            "leb128" => Self::Signed,
            "platform" => Self::Integer { bytes: 4, is_signed: false, endian: None },
            _ => Self::number(format).unwrap_or(Self::Other),
        }
    }

    /// `u?int(8|16|32|64)(|le|be)` and `float(32|64)(|le|be)`.
    fn number(format: &str) -> Option<Self> {
        let (format, endian) = match (format.strip_suffix("le"), format.strip_suffix("be")) {
            (Some(format), _) => (format, Some(Endian::Little)),
            (_, Some(format)) => (format, Some(Endian::Big)),
            _ => (format, None),
        };
        let bits = |bits: &str| match bits {
            "8" => Some(1),
            "16" => Some(2),
            "32" => Some(4),
            "64" => Some(8),
            _ => None,
        };
        if let Some(size) = format.strip_prefix("float") {
            let bytes = bits(size).filter(|bytes| *bytes >= 4)?;
            return Some(Self::Float { bytes, endian });
        }
        let is_signed = !format.starts_with('u');
        let size = format.strip_prefix('u').unwrap_or(format).strip_prefix("int")?;
        Some(Self::Integer { bytes: bits(size)?, is_signed, endian })
    }

    /// Returns true if its values are numbers.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Integer { .. } | Self::Float { .. } | Self::Unsigned | Self::Signed)
    }
}

/// `gain` and `offset` of a stream: value × gain + offset.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scale {
    gain: Option<f64>,
    offset: Option<f64>,
    /// The whole number that the gain is one part of: dividing by 10 is exact where multiplying
    /// by 0.1 is not.
    divisor: Option<f64>,
    /// The same as decimal digits, which times are made of.
    exact: Option<(Option<Decimal>, Option<Decimal>)>,
}

impl Scale {
    pub(crate) fn from_attributes(attributes: &Map<String, Json>) -> Option<Self> {
        let number = |key: &str| attributes.get(key).and_then(Json::as_f64);
        let (gain, offset) = (number("gain"), number("offset"));
        (gain.is_some() || offset.is_some()).then(|| Self::new(gain, offset))
    }

    fn new(gain: Option<f64>, offset: Option<f64>) -> Self {
        let decimal = |number: Option<f64>| match number {
            None => Some(None),
            Some(number) => Decimal::from_value(number).map(Some),
        };
        let exact = decimal(gain).zip(decimal(offset));
        Self { gain, offset, divisor: gain.and_then(divisor), exact }
    }

    pub(crate) fn has_offset(&self) -> bool {
        self.offset.is_some()
    }

    fn apply(&self, value: f64) -> f64 {
        let scaled = match (self.divisor, self.gain) {
            (Some(divisor), _) => value / divisor,
            (None, Some(gain)) => value * gain,
            (None, None) => value,
        };
        scaled + self.offset.unwrap_or(0.0)
    }

    /// A count times gain plus offset, both in seconds, as nanoseconds: exact as far as the
    /// decimal digits of gain and offset are.
    pub(crate) fn nanoseconds(&self, count: i128) -> Option<i128> {
        let (gain, offset) = self.exact?;
        let scaled = match gain {
            None => count.checked_mul(1_000_000_000)?,
            Some(gain) => gain.times_billion(count)?,
        };
        let offset = offset.map_or(Some(0), |offset| offset.times_billion(1))?;
        scaled.checked_add(offset)
    }
}

/// The whole number of which a gain is one part.
#[allow(clippy::float_cmp, reason = "another number is another gain")]
fn divisor(gain: f64) -> Option<f64> {
    let whole = gain.recip().round();
    (whole.is_normal() && whole.recip() == gain).then_some(whole)
}

/// A number as its shortest decimal digits: `digits` × 10^`exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Decimal {
    digits: i128,
    exponent: i32,
}

impl Decimal {
    /// Reads a decimal from a number: `1e-9` in a file is no binary fraction; its shortest digits
    /// are what was meant.
    fn from_value(value: f64) -> Option<Self> {
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e')?;
        let exponent: i32 = exponent.parse().ok()?;
        let places = mantissa.split_once('.').map_or(0, |(_, places)| places.len());
        let digits = mantissa.replace('.', "").parse().ok()?;
        Some(Self { digits, exponent: exponent.checked_sub(i32::try_from(places).ok()?)? })
    }

    /// `count` times this times 10⁹, rounded to the nearest whole number.
    fn times_billion(self, count: i128) -> Option<i128> {
        let product = count.checked_mul(self.digits)?;
        let exponent = self.exponent.checked_add(9)?;
        let power = 10_i128.checked_pow(exponent.unsigned_abs());
        match (exponent >= 0, power) {
            (true, power) => product.checked_mul(power?),
            (false, None) => Some(0),
            (false, Some(power)) => {
                let half = power / 2;
                let up = if product < 0 { -half } else { half };
                Some(product.checked_add(up)? / power)
            }
        }
    }
}

/// Turns the byte order of a payload around, where its format is that of the writer's machine.
/// Gives whether it did.
pub(crate) fn swap_bytes(encoding: &Encoding, payload: &mut [u8]) -> bool {
    match encoding {
        Encoding::Integer { bytes, endian: None, .. } | Encoding::Float { bytes, endian: None }
            if *bytes > 1 && payload.len() == *bytes =>
        {
            payload.reverse();
            true
        }
        Encoding::Timespec => swap_timespec_bytes(payload),
        Encoding::Annotate(inner) => match payload.split_at_mut_checked(12) {
            Some((moment, rest)) => {
                swap_bytes(inner, rest);
                swap_timespec_bytes(moment)
            }
            None => false,
        },
        _ => false,
    }
}

fn swap_timespec_bytes(payload: &mut [u8]) -> bool {
    let Some((seconds, nanoseconds)) = payload.split_at_mut_checked(8) else { return false };
    if nanoseconds.len() != 4 {
        return false;
    }
    seconds.reverse();
    nanoseconds.reverse();
    true
}

/// A function that decodes a format, given the stream's attributes.
pub type Decoder = dyn Fn(&[u8], &Map<String, Json>) -> Value + Send + Sync;

/// Decoders of formats that the specification does not have, by name.
///
/// ```
/// use kymo_core::Value;
/// use kymo_rtc::Decoders;
///
/// let mut decoders = Decoders::default();
/// decoders.register("colour", |payload, _attributes| match payload {
///     [red, green, blue] => Value::Text(format!("#{red:02x}{green:02x}{blue:02x}")),
///     _ => Value::Null,
/// });
/// ```
#[derive(Clone, Default)]
pub struct Decoders(BTreeMap<String, Arc<Decoder>>);

impl Decoders {
    /// Has payloads of a format decoded by a function, also when it is a default format.
    pub fn register(
        &mut self,
        format: &str,
        decoder: impl Fn(&[u8], &Map<String, Json>) -> Value + Send + Sync + 'static,
    ) {
        self.0.insert(format.to_owned(), Arc::new(decoder));
    }

    pub(crate) fn find(&self, format: &str) -> Option<&Arc<Decoder>> {
        self.0.get(format)
    }
}

impl fmt::Debug for Decoders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A decoded payload.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedPayload {
    /// The value; the bytes where they are no value of the stream's format.
    pub value: Value,
    /// Reason why the bytes are no value of the stream's format.
    pub fault: Option<&'static str>,
}

/// Decodes a message of a stream; `native` is its writer's byte order.
pub(crate) fn decode(
    payload: &[u8],
    stream: &Stream,
    native: Endian,
    decoders: &Decoders,
) -> DecodedPayload {
    if let Some(decoder) = decoders.find(&stream.format) {
        return DecodedPayload { value: decoder(payload, &stream.attributes), fault: None };
    }
    let (encoding, payload) = match &stream.encoding {
        Encoding::Annotate(inner) => (inner.as_ref(), payload.get(12..).unwrap_or_default()),
        other => (other, payload),
    };
    let found = match encoding {
        Encoding::Raw | Encoding::Other => Ok(Value::Bytes(payload.to_vec())),
        Encoding::Text | Encoding::Json if stream.is_cont => Ok(text_of(payload).into()),
        Encoding::Text => match std::str::from_utf8(payload) {
            Ok(text) => Ok(Value::from(text)),
            Err(_) => Err("the text is not UTF-8"),
        },
        Encoding::Json => match std::str::from_utf8(payload) {
            Ok(text) => Ok(Value::from(text)),
            Err(_) => Err("the JSON is not UTF-8"),
        },
        Encoding::Timespec => match nanoseconds(encoding, None, payload, native) {
            Some(time) => Ok(time_value(time)),
            None => Err(SIZE),
        },
        Encoding::Annotate(_) => Err("an annotation within an annotation"),
        number => match (count(number, payload, native), &stream.scale) {
            (Some(count), None) => Ok(count.value()),
            (Some(count), Some(scale)) => Ok(scale.apply(count.as_f64()).into()),
            (None, _) => Err(SIZE),
        },
    };
    match found {
        Ok(value) => DecodedPayload { value, fault: None },
        Err(fault) => DecodedPayload { value: Value::Bytes(payload.to_vec()), fault: Some(fault) },
    }
}

const SIZE: &str = "the payload is not of the format's size";

/// Text of a stream without borders, of which a part may begin or end within a character.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn time_value(nanoseconds: i128) -> Value {
    i64::try_from(nanoseconds).map_or_else(|_| nanoseconds.to_string().into(), Value::Int)
}

/// A number as a file has it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Unsigned(u64),
    Signed(i64),
    Single(f32),
    Double(f64),
}

impl Number {
    fn value(self) -> Value {
        match self {
            Self::Unsigned(value) => value.into(),
            Self::Signed(value) => value.into(),
            Self::Single(value) => value.into(),
            Self::Double(value) => value.into(),
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "a gain makes a floating-point number of it")]
    fn as_f64(self) -> f64 {
        match self {
            Self::Unsigned(value) => value as f64,
            Self::Signed(value) => value as f64,
            Self::Single(value) => value.into(),
            Self::Double(value) => value,
        }
    }
}

/// The number in a payload, which must have exactly its size.
fn count(encoding: &Encoding, payload: &[u8], native: Endian) -> Option<Number> {
    match encoding {
        Encoding::Unsigned => match leb128::read(payload) {
            Ok((value, taken)) if taken == payload.len() => Some(Number::Unsigned(value)),
            _ => None,
        },
        Encoding::Signed => match leb128::read_signed(payload) {
            Ok((value, taken)) if taken == payload.len() => Some(Number::Signed(value)),
            _ => None,
        },
        Encoding::Integer { bytes, is_signed, endian } => {
            let word = word(payload, *bytes, endian.unwrap_or(native))?;
            if !is_signed {
                return Some(Number::Unsigned(word));
            }
            let unused = 64 - 8 * u32::try_from(*bytes).ok()?;
            Some(Number::Signed((word << unused).cast_signed() >> unused))
        }
        Encoding::Float { bytes, endian } => {
            let word = word(payload, *bytes, endian.unwrap_or(native))?;
            Some(match u32::try_from(word) {
                Ok(word) if *bytes == 4 => Number::Single(f32::from_bits(word)),
                _ => Number::Double(f64::from_bits(word)),
            })
        }
        _ => None,
    }
}

/// A word of exactly so many bytes.
fn word(payload: &[u8], bytes: usize, endian: Endian) -> Option<u64> {
    if payload.len() != bytes {
        return None;
    }
    let mut word = [0; 8];
    match endian {
        Endian::Little => {
            word.get_mut(..bytes)?.copy_from_slice(payload);
            Some(u64::from_le_bytes(word))
        }
        Endian::Big => {
            word.get_mut(8 - bytes..)?.copy_from_slice(payload);
            Some(u64::from_be_bytes(word))
        }
    }
}

/// A payload of a clock, in nanoseconds: since the Epoch, or of its own count.
pub(crate) fn nanoseconds(
    encoding: &Encoding,
    scale: Option<&Scale>,
    payload: &[u8],
    native: Endian,
) -> Option<i128> {
    if matches!(encoding, Encoding::Timespec) {
        let (seconds, nanoseconds) = (payload.get(..8)?, payload.get(8..)?);
        let seconds = word(seconds, 8, native)?;
        let nanoseconds = word(nanoseconds, 4, native)?;
        return Some(i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds));
    }
    let plain = Scale::new(None, None);
    let scale = scale.unwrap_or(&plain);
    match count(encoding, payload, native)? {
        Number::Unsigned(count) => scale.nanoseconds(count.into()),
        Number::Signed(count) => scale.nanoseconds(count.into()),
        number => {
            let seconds = scale.apply(number.as_f64()) * 1e9;
            #[allow(clippy::cast_possible_truncation, reason = "it was just looked at")]
            (seconds.abs() < 1e30).then(|| seconds.round() as i128)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_format_is_known() {
        for format in ["int8", "uint16le", "int32be", "uint64", "float32", "float64be"] {
            assert!(Encoding::from_format(format).is_number(), "{format}");
        }
        for format in ["float16", "int7", "uintle", "le", "png", "int128", "ufloat32"] {
            assert_eq!(Encoding::from_format(format), Encoding::Other, "{format}");
        }
        assert_eq!(
            Encoding::from_format("annotate/utf-8"),
            Encoding::Annotate(Box::new(Encoding::Text))
        );
    }

    #[test]
    fn byte_orders_are_turned_where_the_format_leaves_them_to_the_machine() {
        let turned = |format: &str, payload: &[u8]| {
            let mut payload = payload.to_vec();
            swap_bytes(&Encoding::from_format(format), &mut payload);
            payload
        };
        assert_eq!(turned("uint32", &[0, 0, 1, 2]), [2, 1, 0, 0]);
        assert_eq!(turned("uint32le", &[0, 0, 1, 2]), [0, 0, 1, 2]);
        assert_eq!(turned("float32", &[1, 2, 3]), [1, 2, 3], "not of its size");
        let moment = [0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 9];
        let other = [7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0];
        assert_eq!(turned("timespec", &moment), other);
        let remark = [&moment[..], &[0, 5]].concat();
        assert_eq!(turned("annotate/uint16", &remark), [&other[..], &[5, 0]].concat());
        assert_eq!(turned("annotate/utf-8", &remark), [&other[..], &[0, 5]].concat());
    }

    #[test]
    fn a_gain_of_one_part_in_ten_gives_decimal_numbers() {
        let scaled = |count, gain, offset| Scale::new(Some(gain), offset).apply(count).to_string();
        assert_eq!(scaled(731.0, 0.1, None), "73.1");
        assert_eq!(scaled(-209.0, 0.1, Some(-40.0)), "-60.9");
        assert_eq!(scaled(7.0, 1e-3, None), "0.007");
        assert_eq!(scaled(3.0, 2.5, None), "7.5");
        assert_eq!(scaled(3.0, 0.0, Some(1.5)), "1.5");
        assert_eq!(scaled(3.0, -0.5, None), "-1.5");
    }

    #[test]
    fn nanoseconds_are_exact_where_the_gain_is_decimal() {
        let scale = |gain, offset| Scale::new(Some(gain), offset);
        let count = 1_234_567_890_123_456_789_i128;
        assert_eq!(scale(1e-9, None).nanoseconds(count), Some(count));
        assert_eq!(scale(1e-6, None).nanoseconds(7), Some(7000));
        assert_eq!(scale(1e-12, None).nanoseconds(1999), Some(2));
        assert_eq!(scale(2.5e-8, None).nanoseconds(3), Some(75));
        assert_eq!(scale(1e-8, Some(-0.5)).nanoseconds(1), Some(-499_999_990));
        assert_eq!(scale(1e300, None).nanoseconds(i128::MAX), None);
        assert_eq!(scale(1e-300, None).nanoseconds(5), Some(0));
    }
}
