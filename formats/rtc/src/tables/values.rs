//! Values to Arrow columns.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::DataType;
use kymo_core::Value;

use crate::decode::Encoding;
use crate::types::Stream;

/// The type of a stream's values.
pub(super) fn data_type(stream: &Stream) -> DataType {
    let encoding = match &stream.encoding {
        Encoding::Annotate(inner) => inner.as_ref(),
        other => other,
    };
    if encoding.is_number() && stream.scale.is_some() {
        return DataType::Float64;
    }
    match encoding {
        Encoding::Integer { bytes: 1, is_signed: true, .. } => DataType::Int8,
        Encoding::Integer { bytes: 2, is_signed: true, .. } => DataType::Int16,
        Encoding::Integer { bytes: 4, is_signed: true, .. } => DataType::Int32,
        Encoding::Integer { bytes: 1, .. } => DataType::UInt8,
        Encoding::Integer { bytes: 2, .. } => DataType::UInt16,
        Encoding::Integer { bytes: 4, .. } => DataType::UInt32,
        Encoding::Integer { is_signed: true, .. } | Encoding::Signed | Encoding::Timespec => {
            DataType::Int64
        }
        Encoding::Integer { .. } | Encoding::Unsigned => DataType::UInt64,
        Encoding::Float { bytes: 4, .. } => DataType::Float32,
        Encoding::Float { .. } => DataType::Float64,
        Encoding::Raw => DataType::Binary,
        Encoding::Text | Encoding::Json | Encoding::Other | Encoding::Annotate(_) => DataType::Utf8,
    }
}

/// Makes a column of values; what is not of its type is null.
pub(super) fn column(data_type: &DataType, values: &[Value]) -> ArrayRef {
    let signed = || values.iter().map(signed);
    let unsigned = || values.iter().map(unsigned);
    match data_type {
        DataType::Int8 => Arc::new(signed().map(narrow).collect::<Int8Array>()),
        DataType::Int16 => Arc::new(signed().map(narrow).collect::<Int16Array>()),
        DataType::Int32 => Arc::new(signed().map(narrow).collect::<Int32Array>()),
        DataType::Int64 => Arc::new(signed().collect::<Int64Array>()),
        DataType::UInt8 => Arc::new(unsigned().map(narrow).collect::<UInt8Array>()),
        DataType::UInt16 => Arc::new(unsigned().map(narrow).collect::<UInt16Array>()),
        DataType::UInt32 => Arc::new(unsigned().map(narrow).collect::<UInt32Array>()),
        DataType::UInt64 => Arc::new(unsigned().collect::<UInt64Array>()),
        DataType::Float32 => Arc::new(
            values
                .iter()
                .map(|value| if let Value::Float32(value) = value { Some(*value) } else { None })
                .collect::<Float32Array>(),
        ),
        DataType::Float64 => Arc::new(
            values
                .iter()
                .map(|value| if let Value::Float(value) = value { Some(*value) } else { None })
                .collect::<Float64Array>(),
        ),
        DataType::Binary => {
            let mut builder = BinaryBuilder::new();
            for value in values {
                match value {
                    Value::Bytes(bytes) => builder.append_value(bytes),
                    _ => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
        _ => texts(values),
    }
}

/// Values that are numbers, as such. Whole ones of more than 53 bits are rounded.
#[allow(clippy::cast_precision_loss, reason = "the text of a value has all of its digits")]
pub(super) fn numbers(values: &[Value]) -> ArrayRef {
    let number = |value: &Value| match value {
        Value::Int(value) => Some(*value as f64),
        Value::UInt(value) => Some(*value as f64),
        Value::Float32(value) => Some(f64::from(*value)),
        Value::Float(value) => Some(*value),
        _ => None,
    };
    Arc::new(values.iter().map(number).collect::<Float64Array>())
}

/// Values of any kind as text.
pub(super) fn texts(values: &[Value]) -> ArrayRef {
    let mut builder = StringBuilder::new();
    for value in values {
        match value {
            Value::Null => builder.append_null(),
            Value::Text(text) => builder.append_value(text),
            other => builder.append_value(other.to_string()),
        }
    }
    Arc::new(builder.finish())
}

fn signed(value: &Value) -> Option<i64> {
    if let Value::Int(value) = value { Some(*value) } else { None }
}

fn unsigned(value: &Value) -> Option<u64> {
    if let Value::UInt(value) = value { Some(*value) } else { None }
}

fn narrow<From, To: TryFrom<From>>(value: Option<From>) -> Option<To> {
    value.and_then(|value| To::try_from(value).ok())
}
