//! Values from the bytes of a payload.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, Float32Array, Float64Array, PrimitiveArray, StringArray, StructArray,
    new_null_array,
};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, Field, Fields};
use kymo_core::bytes::Endian;
use kymo_core::{Error, Invariant as _, Result, Value};

use crate::longdouble::LongDouble;
use crate::spec::{Datatype, TEXT_BYTES_MAX};
use crate::types::{Element, text};

/// Type by which the values of an element are read: its datatype with the size that this writer
/// gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ValueType {
    pub(crate) datatype: Datatype,
    pub(crate) bytes: u32,
}

impl ValueType {
    /// The type of a sound element's values.
    pub(crate) fn from_element(element: &Element<'_>) -> Option<Self> {
        let payload = element.payload.as_ref().filter(|_| element.fault.is_none())?;
        let datatype = payload.datatype;
        // The length of a string is a matter of its value, not of its type.
        let bytes = match (datatype, payload.dimensions) {
            (Datatype::STRING, None) => 0,
            _ => u32::try_from(element.element_bytes).ok()?,
        };
        Some(Self { datatype, bytes })
    }

    /// The type that values are read as.
    pub(crate) fn data_type(self) -> DataType {
        match (self.datatype, self.bytes) {
            (Datatype::CHAR, 1) => DataType::Int8,
            (Datatype::SHORT, 2) => DataType::Int16,
            (Datatype::INT | Datatype::LONG | Datatype::LONGLONG, 4) => DataType::Int32,
            (Datatype::LONG | Datatype::LONGLONG, 8) => DataType::Int64,
            (Datatype::UCHAR, 1) => DataType::UInt8,
            (Datatype::USHORT, 2) => DataType::UInt16,
            (Datatype::UINT | Datatype::ULONG | Datatype::ULONGLONG | Datatype::POINTER, 4) => {
                DataType::UInt32
            }
            (Datatype::ULONG | Datatype::ULONGLONG | Datatype::POINTER, 8) => DataType::UInt64,
            (Datatype::FLOAT, 4) => DataType::Float32,
            (Datatype::DOUBLE, 8) | (Datatype::LONGDOUBLE, 16) => DataType::Float64,
            (Datatype::COMPLEX, 8) => DataType::Struct(complex_fields(&DataType::Float32)),
            (Datatype::COMPLEX | Datatype::DOUBLE_COMPLEX, 16) => {
                DataType::Struct(complex_fields(&DataType::Float64))
            }
            (Datatype::STRING, _) => DataType::Utf8,
            _ => DataType::Binary,
        }
    }

    /// Returns the number of values that may be read at once within a limit on their bytes. Text
    /// may take twice its bytes when it is decoded, and must stay below what 32-bit offsets reach.
    pub(crate) fn values_per_read(self, bytes_max: u64) -> u64 {
        let is_text = matches!(self.data_type(), DataType::Utf8 | DataType::Binary);
        let bytes_max = if is_text { bytes_max.min(TEXT_BYTES_MAX) } else { bytes_max };
        (bytes_max / u64::from(self.bytes).max(1)).max(1)
    }

    /// Returns true if values are text.
    pub(crate) fn is_string(self) -> bool {
        self.datatype == Datatype::STRING
    }

    /// Returns true if values are stored just as the type that they are read as has them.
    pub(crate) fn is_plain(self) -> bool {
        !matches!(self.data_type(), DataType::Utf8 | DataType::Binary) && !self.rounds()
    }

    /// Returns true if values are wider than any number of ours.
    pub(crate) fn rounds(self) -> bool {
        self.datatype == Datatype::LONGDOUBLE
    }
}

fn complex_fields(part: &DataType) -> Fields {
    Fields::from(vec![Field::new("re", part.clone(), false), Field::new("im", part.clone(), false)])
}

/// Some values of an element, by their position in storage. Values that were never written are
/// null.
pub(crate) fn values(
    element: &Element<'_>,
    value_type: ValueType,
    range: Range<u64>,
    endian: Endian,
) -> Result<ArrayRef> {
    let data_type = value_type.data_type();
    let count = element.value_count();
    if range.start > range.end || range.end > count {
        let why = format!("values {} to {} of {count}", range.start, range.end);
        return Err(Error::Request(why));
    }
    if range.end - range.start > value_type.values_per_read(u64::MAX) {
        let why = format!("values {} to {} are too many to read at once", range.start, range.end);
        return Err(Error::Request(why));
    }
    let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let Some(payload) = element.payload.as_ref().filter(|_| !element.is_missing_values()) else {
        return Ok(new_null_array(&data_type, length));
    };
    let each = match payload.dimensions {
        None => payload.bytes.len() as u64,
        Some(_) => value_type.bytes.into(),
    };
    let at = |position: u64| usize::try_from(position.saturating_mul(each)).unwrap_or(usize::MAX);
    let bytes = payload.bytes.get(at(range.start)..at(range.end));
    let bytes = bytes.or_broken("a payload does not have the bytes of its values")?;
    let each = usize::try_from(each).unwrap_or(usize::MAX);
    Ok(decode(&data_type, value_type, bytes, each, endian, length))
}

fn decode(
    data_type: &DataType,
    value_type: ValueType,
    bytes: &[u8],
    each: usize,
    endian: Endian,
    length: usize,
) -> ArrayRef {
    match data_type {
        DataType::Int8 => numbers::<Int8Type, 1>(bytes, endian, i8::from_le_bytes),
        DataType::Int16 => numbers::<Int16Type, 2>(bytes, endian, i16::from_le_bytes),
        DataType::Int32 => numbers::<Int32Type, 4>(bytes, endian, i32::from_le_bytes),
        DataType::Int64 => numbers::<Int64Type, 8>(bytes, endian, i64::from_le_bytes),
        DataType::UInt8 => numbers::<UInt8Type, 1>(bytes, endian, u8::from_le_bytes),
        DataType::UInt16 => numbers::<UInt16Type, 2>(bytes, endian, u16::from_le_bytes),
        DataType::UInt32 => numbers::<UInt32Type, 4>(bytes, endian, u32::from_le_bytes),
        DataType::UInt64 => numbers::<UInt64Type, 8>(bytes, endian, u64::from_le_bytes),
        DataType::Float32 => numbers::<Float32Type, 4>(bytes, endian, f32::from_le_bytes),
        DataType::Float64 if value_type.rounds() => {
            numbers::<Float64Type, 16>(bytes, endian, |value| LongDouble(value).to_f64())
        }
        DataType::Float64 => numbers::<Float64Type, 8>(bytes, endian, f64::from_le_bytes),
        DataType::Struct(fields) if value_type.bytes == 8 => {
            let [re, im] = parts::<4>(bytes, endian).map(|part| part.map(f32::from_le_bytes));
            let parts: [ArrayRef; 2] = [
                Arc::new(Float32Array::from_iter_values(re)),
                Arc::new(Float32Array::from_iter_values(im)),
            ];
            Arc::new(StructArray::new(fields.clone(), parts.to_vec(), None))
        }
        DataType::Struct(fields) => {
            let [re, im] = parts::<8>(bytes, endian).map(|part| part.map(f64::from_le_bytes));
            let parts: [ArrayRef; 2] = [
                Arc::new(Float64Array::from_iter_values(re)),
                Arc::new(Float64Array::from_iter_values(im)),
            ];
            Arc::new(StructArray::new(fields.clone(), parts.to_vec(), None))
        }
        DataType::Utf8 => {
            Arc::new(StringArray::from_iter_values(runs(bytes, each, length).map(text)))
        }
        _ => Arc::new(BinaryArray::from_iter_values(runs(bytes, each, length))),
    }
}

/// Runs of the same length, of which there may be any number of length zero.
fn runs(bytes: &[u8], each: usize, count: usize) -> impl Iterator<Item = &[u8]> {
    (0..count).map(move |index| {
        let start = index.saturating_mul(each);
        bytes.get(start..start.saturating_add(each)).unwrap_or_default()
    })
}

/// Numbers of `N` bytes, given a way to make one of its bytes, least significant first.
fn numbers<T: ArrowPrimitiveType, const N: usize>(
    bytes: &[u8],
    endian: Endian,
    make: impl Fn([u8; N]) -> T::Native,
) -> ArrayRef
where
    T::Native: ArrowNativeType,
{
    let (rows, _) = bytes.as_chunks::<N>();
    // Two loops, so that each is one the compiler makes wide.
    let values: Vec<T::Native> = match endian {
        Endian::Little => rows.iter().map(|row| make(*row)).collect(),
        Endian::Big => rows.iter().map(|row| make(reversed(*row))).collect(),
    };
    Arc::new(PrimitiveArray::<T>::new(values.into(), None))
}

fn reversed<const N: usize>(mut bytes: [u8; N]) -> [u8; N] {
    bytes.reverse();
    bytes
}

/// The first and the second halves of pairs, least significant byte first.
fn parts<const N: usize>(
    bytes: &[u8],
    endian: Endian,
) -> [Box<dyn Iterator<Item = [u8; N]> + '_>; 2] {
    [0, 1].map(|half| {
        let (rows, _) = bytes.as_chunks::<N>();
        let part = rows.iter().skip(half).step_by(2);
        let ordered = part.map(move |row| match endian {
            Endian::Little => *row,
            Endian::Big => reversed(*row),
        });
        Box::new(ordered) as Box<dyn Iterator<Item = [u8; N]>>
    })
}

/// Returns true if some of an element's values are not what a double can hold.
pub(crate) fn needs_rounding(
    element: &Element<'_>,
    value_type: ValueType,
    range: &Range<u64>,
    endian: Endian,
) -> bool {
    value_type.rounds()
        && long_doubles(element, range, endian).any(|value| {
            let nearest = value.to_f64();
            !nearest.is_nan() && !value.is_exactly(nearest)
        })
}

/// Some values of an element of long doubles to the last digit; nothing of any other.
pub(crate) fn decimals(
    element: &Element<'_>,
    range: &Range<u64>,
    endian: Endian,
) -> Option<ArrayRef> {
    ValueType::from_element(element).filter(|value_type| value_type.rounds())?;
    let digits = |value: LongDouble| match value.to_value() {
        Value::Decimal(digits) => digits,
        // Both zeros are the same number.
        _ => (value.to_f64() + 0.0).to_string(),
    };
    let digits = long_doubles(element, range, endian).map(digits);
    Some(Arc::new(StringArray::from_iter_values(digits)))
}

/// Some long doubles of an element.
fn long_doubles(
    element: &Element<'_>,
    range: &Range<u64>,
    endian: Endian,
) -> impl Iterator<Item = LongDouble> {
    let place = |position: u64| usize::try_from(position).unwrap_or(usize::MAX);
    let bytes = element.payload.as_ref().map_or(&[][..], |payload| payload.bytes);
    let (rows, _) = bytes.as_chunks::<16>();
    let rows = rows.get(place(range.start)..place(range.end)).unwrap_or_default();
    rows.iter().map(move |row| {
        LongDouble(match endian {
            Endian::Little => *row,
            Endian::Big => reversed(*row),
        })
    })
}

/// The value of a scalar or an attribute.
pub(crate) fn scalar_value(element: &Element<'_>, endian: Endian) -> Value {
    let Some(payload) = &element.payload else {
        return Value::Null;
    };
    let bytes = payload.bytes;
    if payload.datatype == Datatype::STRING {
        return Value::Text(text(bytes).into_owned());
    }
    let decoded = match bytes.len() {
        1 => bytes.first_chunk().map(|b| small(payload.datatype, *b)),
        2 => first(bytes, endian).map(|b| short(payload.datatype, b)),
        4 => first(bytes, endian).map(|b| word(payload.datatype, b)),
        8 => first(bytes, endian).map(|b| long(payload.datatype, b, bytes, endian)),
        16 => first(bytes, endian).map(|b| wide(payload.datatype, b, bytes, endian)),
        _ => None,
    };
    decoded.flatten().unwrap_or_else(|| Value::Bytes(bytes.to_vec()))
}

/// The first bytes, least significant first.
fn first<const N: usize>(bytes: &[u8], endian: Endian) -> Option<[u8; N]> {
    let bytes = *bytes.first_chunk::<N>()?;
    Some(match endian {
        Endian::Little => bytes,
        Endian::Big => reversed(bytes),
    })
}

fn small(datatype: Datatype, bytes: [u8; 1]) -> Option<Value> {
    match datatype {
        Datatype::CHAR => Some(i8::from_le_bytes(bytes).into()),
        Datatype::UCHAR => Some(u8::from_le_bytes(bytes).into()),
        _ => None,
    }
}

fn short(datatype: Datatype, bytes: [u8; 2]) -> Option<Value> {
    match datatype {
        Datatype::SHORT => Some(i16::from_le_bytes(bytes).into()),
        Datatype::USHORT => Some(u16::from_le_bytes(bytes).into()),
        _ => None,
    }
}

fn word(datatype: Datatype, bytes: [u8; 4]) -> Option<Value> {
    match datatype {
        Datatype::INT | Datatype::LONG | Datatype::LONGLONG => {
            Some(i32::from_le_bytes(bytes).into())
        }
        Datatype::UINT | Datatype::ULONG | Datatype::ULONGLONG => {
            Some(u32::from_le_bytes(bytes).into())
        }
        Datatype::POINTER => Some(Value::Address(u32::from_le_bytes(bytes).into())),
        Datatype::FLOAT => Some(f32::from_le_bytes(bytes).into()),
        _ => None,
    }
}

fn long(datatype: Datatype, bytes: [u8; 8], stored: &[u8], endian: Endian) -> Option<Value> {
    match datatype {
        Datatype::LONG | Datatype::LONGLONG => Some(i64::from_le_bytes(bytes).into()),
        Datatype::ULONG | Datatype::ULONGLONG => Some(u64::from_le_bytes(bytes).into()),
        Datatype::POINTER => Some(Value::Address(u64::from_le_bytes(bytes))),
        Datatype::DOUBLE => Some(f64::from_le_bytes(bytes).into()),
        Datatype::COMPLEX => {
            let [mut re, mut im] = parts::<4>(stored, endian);
            let pair = [re.next()?, im.next()?];
            Some(Value::Complex32(pair.map(f32::from_le_bytes)))
        }
        _ => None,
    }
}

fn wide(datatype: Datatype, bytes: [u8; 16], stored: &[u8], endian: Endian) -> Option<Value> {
    match datatype {
        Datatype::LONGDOUBLE => Some(LongDouble(bytes).to_value()),
        Datatype::COMPLEX | Datatype::DOUBLE_COMPLEX => {
            let [mut re, mut im] = parts::<8>(stored, endian);
            let pair = [re.next()?, im.next()?];
            Some(Value::Complex(pair.map(f64::from_le_bytes)))
        }
        _ => None,
    }
}
