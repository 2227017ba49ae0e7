//! The types that targets store, and how values of core's types become their bytes.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_schema::DataType;
use kymo_core::{Error, Result};

/// Kind of the values of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A whole number of so many bytes.
    Signed(usize),
    /// A whole number of so many bytes that is never negative.
    Unsigned(usize),
    /// A number of single (4) or double (8) precision.
    Float(usize),
    /// A real and an imaginary part of so many bytes each.
    Complex(usize),
    /// Text of at most so many bytes in UTF-8.
    Text(usize),
    /// Bytes that have no better reading, at most so many.
    Bytes(usize),
}

impl Kind {
    /// The kind of a type that says by itself how large its values are.
    #[must_use]
    pub fn from_type(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Int8 => Self::Signed(1),
            DataType::Int16 => Self::Signed(2),
            DataType::Int32 => Self::Signed(4),
            DataType::Int64 => Self::Signed(8),
            DataType::UInt8 => Self::Unsigned(1),
            DataType::UInt16 => Self::Unsigned(2),
            DataType::UInt32 => Self::Unsigned(4),
            DataType::UInt64 => Self::Unsigned(8),
            DataType::Float32 => Self::Float(4),
            DataType::Float64 => Self::Float(8),
            DataType::Struct(fields) => match fields.first().map(|field| field.data_type()) {
                Some(DataType::Float32) if fields.len() == 2 => Self::Complex(4),
                Some(DataType::Float64) if fields.len() == 2 => Self::Complex(8),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Returns the number of bytes of a value.
    #[must_use]
    pub fn width(self) -> usize {
        match self {
            Self::Signed(bytes) | Self::Unsigned(bytes) | Self::Float(bytes) => bytes,
            Self::Complex(part) => part * 2,
            Self::Text(bytes) | Self::Bytes(bytes) => bytes.max(1),
        }
    }

    /// Returns the fill where there is no value: not a number, or zero.
    pub(crate) fn fill(self) -> Vec<u8> {
        match self {
            Self::Float(4) => f32::NAN.to_le_bytes().to_vec(),
            Self::Float(_) => f64::NAN.to_le_bytes().to_vec(),
            Self::Complex(4) => f32::NAN.to_le_bytes().repeat(2),
            Self::Complex(_) => f64::NAN.to_le_bytes().repeat(2),
            other => vec![0; other.width()],
        }
    }

    /// The word for what stands where there is no value.
    pub(crate) fn fill_name(self) -> &'static str {
        match self {
            Self::Float(_) | Self::Complex(_) => "NaN",
            Self::Signed(_) | Self::Unsigned(_) => "0",
            Self::Text(_) | Self::Bytes(_) => "empty",
        }
    }

    /// Values as bytes, least significant first, each as wide as the next.
    pub(crate) fn encode(self, values: &ArrayRef) -> Result<Buffer> {
        match self {
            Self::Complex(part) => self.encode_complex(values, part),
            Self::Text(_) => {
                let texts = values.as_string_opt::<i32>().ok_or_else(unexpected)?;
                Ok(self.padded(texts.iter().map(|text| text.map(str::as_bytes))))
            }
            Self::Bytes(_) => {
                let items = values.as_binary_opt::<i32>().ok_or_else(unexpected)?;
                Ok(self.padded(items.iter()))
            }
            _ => {
                let width = self.width();
                let data = values.to_data();
                let buffer = data.buffers().first().ok_or_else(unexpected)?;
                if Self::from_type(data.data_type()) != Some(self) {
                    return Err(unexpected());
                }
                let bytes = buffer.slice_with_length(data.offset() * width, data.len() * width);
                Ok(self.filled(values, bytes))
            }
        }
    }

    fn encode_complex(self, values: &ArrayRef, part: usize) -> Result<Buffer> {
        let pair = values.as_struct_opt().ok_or_else(unexpected)?;
        let [re, im] = pair.columns() else {
            return Err(unexpected());
        };
        let [re, im] = [Self::Float(part).encode(re)?, Self::Float(part).encode(im)?];
        let mut bytes = MutableBuffer::with_capacity(re.len() * 2);
        for (re, im) in re.chunks_exact(part).zip(im.chunks_exact(part)) {
            bytes.extend_from_slice(re);
            bytes.extend_from_slice(im);
        }
        Ok(self.filled(values, bytes.into()))
    }

    /// Puts something where there is no value.
    fn filled(self, values: &ArrayRef, bytes: Buffer) -> Buffer {
        let Some(nulls) = values.logical_nulls().filter(|nulls| nulls.null_count() > 0) else {
            return bytes;
        };
        let fill = self.fill();
        let mut filled = MutableBuffer::with_capacity(bytes.len());
        for (value, is_there) in bytes.chunks_exact(self.width()).zip(nulls.iter()) {
            filled.extend_from_slice(if is_there { value } else { &fill });
        }
        filled.into()
    }

    fn padded<'a>(self, items: impl Iterator<Item = Option<&'a [u8]>>) -> Buffer {
        let width = self.width();
        let mut bytes = MutableBuffer::with_capacity(width * items.size_hint().0);
        for item in items {
            let item = item.unwrap_or_default();
            let item = item.get(..width).unwrap_or(item);
            bytes.extend_from_slice(item);
            bytes.extend_zeros(width - item.len());
        }
        bytes.into()
    }
}

#[cold]
fn unexpected() -> Error {
    Error::request("the values have another type than their variable")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float32Array, Int16Array, StringArray, StructArray};
    use arrow_schema::{Field, Fields};

    use super::*;

    #[test]
    fn numbers_are_their_own_bytes_also_of_a_part() {
        let values: ArrayRef = Arc::new(Int16Array::from(vec![9, 1, -2, 7]));
        let kind = Kind::from_type(values.data_type()).unwrap();
        assert_eq!(kind, Kind::Signed(2));
        assert_eq!(kind.encode(&values.slice(1, 2)).unwrap().as_slice(), [1, 0, 0xFE, 0xFF]);
    }

    #[test]
    fn what_is_not_there_is_no_number_or_zero() {
        let values: ArrayRef = Arc::new(Int16Array::from(vec![Some(5), None]));
        assert_eq!(Kind::Signed(2).encode(&values).unwrap().as_slice(), [5, 0, 0, 0]);
        let values: ArrayRef = Arc::new(Float32Array::from(vec![None, Some(1.0)]));
        let bytes = Kind::Float(4).encode(&values).unwrap();
        assert_eq!(bytes.as_slice(), [0, 0, 0xC0, 0x7F, 0, 0, 0x80, 0x3F]);
    }

    #[test]
    fn complex_parts_stand_side_by_side() {
        let part = |values: Vec<f32>| Arc::new(Float32Array::from(values)) as ArrayRef;
        let field = |name| Field::new(name, DataType::Float32, false);
        let fields = Fields::from(vec![field("re"), field("im")]);
        let parts = vec![part(vec![1.0, 2.0]), part(vec![-1.0, 0.0])];
        let values: ArrayRef = Arc::new(StructArray::new(fields, parts, None));
        let kind = Kind::from_type(values.data_type()).unwrap();
        assert_eq!(kind, Kind::Complex(4));
        let expected = [1.0_f32, -1.0, 2.0, 0.0].map(f32::to_le_bytes).concat();
        assert_eq!(kind.encode(&values).unwrap().as_slice(), expected);
    }

    #[test]
    fn text_is_padded() {
        let values: ArrayRef = Arc::new(StringArray::from(vec![Some("ab"), None, Some("ä!")]));
        let bytes = Kind::Text(3).encode(&values).unwrap();
        assert_eq!(bytes.as_slice(), "ab\0\0\0\0ä!".as_bytes());
    }
}
