//! A single value of any kind, as records, attributes and summaries hold it.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// A value of any kind.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Nothing there.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    UInt(u64),
    /// A number of single precision, shown with its own shortest digits.
    Float32(f32),
    /// A number of double precision.
    Float(f64),
    /// A number of a precision beyond double, as decimal digits.
    Decimal(String),
    /// A complex number of single precision.
    Complex32([f32; 2]),
    /// A complex number.
    Complex([f64; 2]),
    /// An address or an offset, shown in hexadecimal.
    Address(u64),
    /// Text.
    Text(String),
    /// Bytes that have no better reading, shown in hexadecimal.
    Bytes(Vec<u8>),
    /// Several values.
    List(Vec<Value>),
    /// JSON of any kind, where the recording itself holds it: an object with its keys in order.
    Json(Box<serde_json::Value>),
}

impl Value {
    /// The text of a text value.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number it is, as exactly as double precision tells it.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "that is what double precision tells")]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::UInt(number) => Some(*number as f64),
            Self::Float32(number) => Some(f64::from(*number)),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// About how many bytes of memory it takes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Text(text) | Self::Decimal(text) => text.len() as u64,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::List(values) => {
                values.iter().fold(0, |sum, value| sum.saturating_add(value.size_bytes()))
            }
            _ => size_of::<Self>() as u64,
        }
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident),* $(,)?) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

from! {
    bool => Bool, i8 => Int, i16 => Int, i32 => Int, i64 => Int,
    u8 => UInt, u16 => UInt, u32 => UInt, u64 => UInt,
    f32 => Float32, f64 => Float, &str => Text, String => Text, Vec<u8> => Bytes,
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::UInt(value as u64)
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

/// Writes the text for a person; a text stays as it is, with control characters escaped.
impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Null => f.write_str("-"),
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::UInt(value) => value.fmt(f),
            Self::Float32(value) => display_float(f, *value),
            Self::Float(value) => display_float(f, *value),
            Self::Decimal(digits) => f.write_str(digits),
            Self::Complex32([re, im]) => write!(f, "({}, {})", Self::from(*re), Self::from(*im)),
            Self::Complex([re, im]) => write!(f, "({}, {})", Self::from(*re), Self::from(*im)),
            Self::Address(value) => write!(f, "{value:#x}"),
            Self::Text(text) => text.chars().try_for_each(|c| display_char(f, c)),
            Self::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::List(values) => display_list(f, values),
            Self::Json(value) => value.to_string().chars().try_for_each(|c| display_char(f, c)),
        }
    }
}

/// The shortest digits that read back as the same number, without the `.0` of whole ones.
fn display_float(f: &mut std::fmt::Formatter<'_>, value: impl ryu::Float) -> std::fmt::Result {
    let mut buffer = ryu::Buffer::new();
    let digits = buffer.format(value);
    f.write_str(digits.strip_suffix(".0").unwrap_or(digits))
}

fn display_char(f: &mut std::fmt::Formatter<'_>, c: char) -> std::fmt::Result {
    if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") }
}

fn display_list(f: &mut std::fmt::Formatter<'_>, values: &[Value]) -> std::fmt::Result {
    f.write_str("[")?;
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{value}")?;
    }
    f.write_str("]")
}

/// JSON has no NaN and no infinities: they are the strings `"NaN"`, `"Infinity"`, `"-Infinity"`.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::UInt(value) => serializer.serialize_u64(*value),
            Self::Float32(value) if value.is_finite() => serializer.serialize_f32(*value),
            Self::Float32(value) => serializer.serialize_str(non_finite(f64::from(*value))),
            Self::Float(value) if value.is_finite() => serializer.serialize_f64(*value),
            Self::Float(value) => serializer.serialize_str(non_finite(*value)),
            Self::Decimal(digits) => serializer.serialize_str(digits),
            Self::Complex32([re, im]) => complex(serializer, &(*re).into(), &(*im).into()),
            Self::Complex([re, im]) => complex(serializer, &(*re).into(), &(*im).into()),
            Self::Address(value) => serializer.collect_str(&format_args!("{value:#x}")),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Bytes(_) => serializer.collect_str(self),
            Self::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                values.iter().try_for_each(|value| list.serialize_element(value))?;
                list.end()
            }
            Self::Json(value) => value.serialize(serializer),
        }
    }
}

fn complex<S: Serializer>(serializer: S, re: &Value, im: &Value) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("re", re)?;
    map.serialize_entry("im", im)?;
    map.end()
}

/// Returns the spelling of a number that JSON cannot hold.
fn non_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_well() {
        let shown = |value: Value| value.to_string();
        assert_eq!(shown(Value::from(0.1_f32)), "0.1");
        assert_eq!(shown(Value::from(1e-100)), "1e-100");
        assert_eq!(shown(Value::from(f64::NAN)), "NaN");
        assert_eq!(shown(Value::from(f32::NEG_INFINITY)), "-inf");
        // Of two shortest spellings that are equally near, the even one, as C and Python do.
        assert_eq!(shown(Value::from(510_513.62_f32)), "510513.62");
        assert_eq!(shown(Value::from(3.0)), "3");
        assert_eq!(shown(Value::from("a\0b\n")), "a\\u{0}b\\n");
        assert_eq!(shown([1_u8, 2].into_iter().collect()), "[1, 2]");
        assert_eq!(shown(Value::Address(255)), "0xff");
        let object = Value::Json(Box::new(serde_json::json!({ "b": [1, "x\n"], "a": null })));
        let json = r#"{"b":[1,"x\n"],"a":null}"#;
        assert_eq!(shown(object.clone()), json);
        assert_eq!(serde_json::to_string(&object).unwrap(), json);
        assert_eq!(shown(Value::Complex([1.5, -2.5])), "(1.5, -2.5)");
    }
}
