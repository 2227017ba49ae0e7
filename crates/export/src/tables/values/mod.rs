//! The spelling of single values: straight from Arrow arrays into bytes, without a string each.

mod number;

use std::io::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampNanosecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, StructArray};
use arrow_schema::{DataType, TimeUnit};
use kymo_core::{Error, Result, Value};

use number::{write_float, write_float32};

/// Notation in which values are spelt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// As a person reads them, and as [`kymo_core::Value`] displays them.
    Text,
    /// As JSON; NaN and the infinities are strings.
    Json,
    /// As a field of CSV, before quoting; null is empty, complex numbers are `1.5-2.5i`.
    Csv,
}

/// The values of one array, ready to be written one by one.
#[derive(Debug)]
pub struct Cells<'a> {
    array: &'a dyn Array,
    may_be_null: bool,
    kind: Kind<'a>,
}

/// One way of writing for each type of array that tables may have.
#[derive(Debug)]
enum Kind<'a> {
    Null,
    Bool(&'a BooleanArray),
    Int8(&'a PrimitiveArray<Int8Type>),
    Int16(&'a PrimitiveArray<Int16Type>),
    Int32(&'a PrimitiveArray<Int32Type>),
    Int64(&'a PrimitiveArray<Int64Type>),
    UInt8(&'a PrimitiveArray<UInt8Type>),
    UInt16(&'a PrimitiveArray<UInt16Type>),
    UInt32(&'a PrimitiveArray<UInt32Type>),
    UInt64(&'a PrimitiveArray<UInt64Type>),
    Float32(&'a PrimitiveArray<Float32Type>),
    Float64(&'a PrimitiveArray<Float64Type>),
    Text(&'a arrow_array::StringArray),
    LargeText(&'a arrow_array::LargeStringArray),
    TextView(&'a arrow_array::StringViewArray),
    Time(&'a PrimitiveArray<TimestampNanosecondType>),
    Binary(&'a arrow_array::BinaryArray),
    LargeBinary(&'a arrow_array::LargeBinaryArray),
    BinaryView(&'a arrow_array::BinaryViewArray),
    FixedBinary(&'a arrow_array::FixedSizeBinaryArray),
    Complex([Box<Cells<'a>>; 2]),
    Struct(Vec<(&'a str, Cells<'a>)>),
    List(&'a [i32], Box<Cells<'a>>),
    LargeList(&'a [i64], Box<Cells<'a>>),
    FixedList(usize, Box<Cells<'a>>),
    Dictionary(Vec<usize>, Box<Cells<'a>>),
}

impl<'a> Cells<'a> {
    /// Looks at an array; fails for a type that has no spelling.
    pub fn new(array: &'a ArrayRef) -> Result<Self> {
        let kind = match array.data_type() {
            DataType::Null => Kind::Null,
            DataType::Boolean => Kind::Bool(array.as_boolean()),
            DataType::Int8 => Kind::Int8(array.as_primitive()),
            DataType::Int16 => Kind::Int16(array.as_primitive()),
            DataType::Int32 => Kind::Int32(array.as_primitive()),
            DataType::Int64 => Kind::Int64(array.as_primitive()),
            DataType::UInt8 => Kind::UInt8(array.as_primitive()),
            DataType::UInt16 => Kind::UInt16(array.as_primitive()),
            DataType::UInt32 => Kind::UInt32(array.as_primitive()),
            DataType::UInt64 => Kind::UInt64(array.as_primitive()),
            DataType::Float32 => Kind::Float32(array.as_primitive()),
            DataType::Float64 => Kind::Float64(array.as_primitive()),
            DataType::Utf8 => Kind::Text(array.as_string()),
            DataType::LargeUtf8 => Kind::LargeText(array.as_string()),
            DataType::Utf8View => Kind::TextView(array.as_string_view()),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => Kind::Time(array.as_primitive()),
            DataType::Binary => Kind::Binary(array.as_binary()),
            DataType::LargeBinary => Kind::LargeBinary(array.as_binary()),
            DataType::BinaryView => Kind::BinaryView(array.as_binary_view()),
            DataType::FixedSizeBinary(_) => Kind::FixedBinary(array.as_fixed_size_binary()),
            _ => Self::nested(array)?,
        };
        Ok(Self { array: array.as_ref(), may_be_null: array.null_count() > 0, kind })
    }

    fn nested(array: &'a ArrayRef) -> Result<Kind<'a>> {
        let boxed = |array| Self::new(array).map(Box::new);
        Ok(match array.data_type() {
            DataType::Struct(_) => Self::struct_kind(array.as_struct())?,
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                Kind::List(list.offsets(), boxed(list.values())?)
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                Kind::LargeList(list.offsets(), boxed(list.values())?)
            }
            DataType::FixedSizeList(_, length) => {
                let list = array.as_fixed_size_list();
                let length = usize::try_from(*length).unwrap_or(0);
                Kind::FixedList(length, boxed(list.values())?)
            }
            DataType::Dictionary(_, _) => {
                let dictionary = array.as_any_dictionary();
                // An array of nulls alone may have no values for the keys to point at.
                let keys = if dictionary.values().is_empty() {
                    vec![0; array.len()]
                } else {
                    dictionary.normalized_keys()
                };
                Kind::Dictionary(keys, boxed(dictionary.values())?)
            }
            other => {
                let why = format!("values of type {other} cannot be written as text");
                return Err(Error::Request(why));
            }
        })
    }

    fn struct_kind(array: &'a StructArray) -> Result<Kind<'a>> {
        let cells = array.columns().iter().map(Self::new);
        let mut cells = cells.collect::<Result<Vec<_>>>()?;
        if array.column_names() == ["re", "im"]
            && let (Some(im), Some(re)) = (cells.pop(), cells.pop())
        {
            return Ok(Kind::Complex([Box::new(re), Box::new(im)]));
        }
        Ok(Kind::Struct(array.column_names().into_iter().zip(cells).collect()))
    }

    /// Returns the number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.array.len()
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.array.is_empty()
    }

    /// Returns true if a value is null.
    #[must_use]
    pub fn is_null(&self, row: usize) -> bool {
        self.may_be_null && self.array.is_null(row)
    }

    /// Appends a value. The row must be less than [`len`](Self::len).
    pub fn write(&self, row: usize, notation: Notation, out: &mut Vec<u8>) {
        if self.is_null(row) {
            return write_null(notation, out);
        }
        match &self.kind {
            Kind::Null => write_null(notation, out),
            Kind::Bool(array) => {
                out.extend_from_slice(if array.value(row) { b"true" } else { b"false" });
            }
            Kind::Int8(array) => write_integer(array.value(row), out),
            Kind::Int16(array) => write_integer(array.value(row), out),
            Kind::Int32(array) => write_integer(array.value(row), out),
            Kind::Int64(array) => write_integer(array.value(row), out),
            Kind::UInt8(array) => write_integer(array.value(row), out),
            Kind::UInt16(array) => write_integer(array.value(row), out),
            Kind::UInt32(array) => write_integer(array.value(row), out),
            Kind::UInt64(array) => write_integer(array.value(row), out),
            Kind::Float32(array) => write_float32(array.value(row), notation, out),
            Kind::Float64(array) => write_float(array.value(row), notation, out),
            Kind::Text(array) => write_text(array.value(row), notation, out),
            Kind::LargeText(array) => write_text(array.value(row), notation, out),
            Kind::TextView(array) => write_text(array.value(row), notation, out),
            Kind::Time(array) => write_time(array.value(row), notation, out),
            Kind::BinaryView(array) => write_hex(array.value(row), notation, out),
            Kind::Binary(array) => write_hex(array.value(row), notation, out),
            Kind::LargeBinary(array) => write_hex(array.value(row), notation, out),
            Kind::FixedBinary(array) => write_hex(array.value(row), notation, out),
            _ => self.write_nested(row, notation, out),
        }
    }

    /// Appends a value for a person, with text in quotes: a null cannot be taken for a text.
    pub fn write_quoted(&self, row: usize, out: &mut Vec<u8>) {
        match &self.kind {
            _ if self.is_null(row) => write_null(Notation::Text, out),
            Kind::Text(array) => write_quoted(array.value(row), out),
            Kind::LargeText(array) => write_quoted(array.value(row), out),
            Kind::TextView(array) => write_quoted(array.value(row), out),
            _ => self.write(row, Notation::Text, out),
        }
    }

    fn write_nested(&self, row: usize, notation: Notation, out: &mut Vec<u8>) {
        match &self.kind {
            Kind::Complex([re, im]) => write_complex(re, im, row, notation, out),
            Kind::Struct(fields) => write_struct(fields, row, notation, out),
            Kind::List(offsets, values) => {
                let at = |i: usize| offsets.get(i).and_then(|&o| usize::try_from(o).ok());
                write_list(values, at(row), at(row + 1), notation, out);
            }
            Kind::LargeList(offsets, values) => {
                let at = |i: usize| offsets.get(i).and_then(|&o| usize::try_from(o).ok());
                write_list(values, at(row), at(row + 1), notation, out);
            }
            Kind::FixedList(length, values) => {
                let (start, end) = (row * length, (row + 1) * length);
                write_list(values, Some(start), Some(end), notation, out);
            }
            Kind::Dictionary(keys, values) => {
                if let Some(&key) = keys.get(row) {
                    values.write(key, notation, out);
                }
            }
            // Every other kind was written by `write`.
            _ => {}
        }
    }
}

/// Appends a single value, spelt as the same value in an array is.
pub fn write_value(value: &Value, notation: Notation, out: &mut Vec<u8>) {
    match (value, notation) {
        (Value::Null, _) => write_null(notation, out),
        (Value::Float(value), _) => write_float(*value, notation, out),
        (Value::Float32(value), _) => write_float32(*value, notation, out),
        (Value::Text(text), _) => write_text(text, notation, out),
        (Value::List(values), Notation::Text) => {
            out.push(b'[');
            for (index, value) in values.iter().enumerate() {
                let between: &[u8] = if index > 0 { b", " } else { b"" };
                out.extend_from_slice(between);
                write_value(value, notation, out);
            }
            out.push(b']');
        }
        (Value::Complex32([re, im]), Notation::Text) => {
            let pair = [Value::Float32(*re), Value::Float32(*im)];
            write_pair(&pair, out);
        }
        (Value::Complex([re, im]), Notation::Text) => {
            write_pair(&[Value::Float(*re), Value::Float(*im)], out);
        }
        // Writing into memory cannot fail.
        (_, Notation::Text) | (Value::Bytes(_), Notation::Csv) => drop(write!(out, "{value}")),
        (_, Notation::Json | Notation::Csv) => drop(serde_json::to_writer(out, value)),
    }
}

/// Appends nanoseconds since the Epoch as a date: `2026-01-31T12:00:00.000000001Z`.
fn write_time(ns: i64, notation: Notation, out: &mut Vec<u8>) {
    match jiff::Timestamp::from_nanosecond(ns.into()) {
        Ok(time) => write_text(&format!("{time:.9}"), notation, out),
        // Every number of 64 bits is a date.
        Err(_) => write_null(notation, out),
    }
}

fn write_pair(pair: &[Value; 2], out: &mut Vec<u8>) {
    let [re, im] = pair;
    out.push(b'(');
    write_value(re, Notation::Text, out);
    out.extend_from_slice(b", ");
    write_value(im, Notation::Text, out);
    out.push(b')');
}

fn write_null(notation: Notation, out: &mut Vec<u8>) {
    out.extend_from_slice(match notation {
        Notation::Text => b"-",
        Notation::Json => b"null",
        Notation::Csv => b"",
    });
}

fn write_integer(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends text: with control characters escaped for a person, quoted and escaped for JSON.
pub fn write_text(text: &str, notation: Notation, out: &mut Vec<u8>) {
    match notation {
        Notation::Csv => out.extend_from_slice(text.as_bytes()),
        Notation::Text if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) => {
            out.extend_from_slice(text.as_bytes());
        }
        Notation::Text => {
            for c in text.chars() {
                if is_hidden(c) {
                    out.extend(c.escape_default().map(|c| u8::try_from(c).unwrap_or(b'?')));
                } else {
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
        // Writing text into memory cannot fail.
        Notation::Json => drop(serde_json::to_writer(out, text)),
    }
}

/// Returns true if a character is not seen itself, and changes how others are seen: one that
/// controls a terminal, or the direction of the text.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}' | '\u{2066}'..='\u{2069}')
}

/// Appends text for a person in quotes, so that one sees where it begins and ends.
pub fn write_quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    if text.contains(['"', '\\']) {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        write_text(&escaped, Notation::Text, out);
    } else {
        write_text(text, Notation::Text, out);
    }
    out.push(b'"');
}

fn write_hex(bytes: &[u8], notation: Notation, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'?');
    let quote: &[u8] = if notation == Notation::Json { b"\"" } else { b"" };
    out.extend_from_slice(quote);
    for byte in bytes {
        out.extend_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
    }
    out.extend_from_slice(quote);
}

fn write_complex(
    re: &Cells<'_>,
    im: &Cells<'_>,
    row: usize,
    notation: Notation,
    out: &mut Vec<u8>,
) {
    let (open, between, close): (&[u8], &[u8], &[u8]) = match notation {
        Notation::Text => (b"(", b", ", b")"),
        Notation::Json => (b"{\"re\":", b",\"im\":", b"}"),
        Notation::Csv => (b"", b"", b"i"),
    };
    out.extend_from_slice(open);
    re.write(row, notation, out);
    out.extend_from_slice(between);
    let sign_at = out.len();
    im.write(row, notation, out);
    if notation == Notation::Csv && out.get(sign_at) != Some(&b'-') {
        out.insert(sign_at, b'+');
    }
    out.extend_from_slice(close);
}

fn write_struct(fields: &[(&str, Cells<'_>)], row: usize, notation: Notation, out: &mut Vec<u8>) {
    // In CSV a structure is one field, and JSON is what can be read back from it.
    let notation = match notation {
        Notation::Csv => Notation::Json,
        other => other,
    };
    out.push(b'{');
    for (index, (name, cells)) in fields.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_text(name, notation, out);
        out.push(b':');
        cells.write(row, notation, out);
    }
    out.push(b'}');
}

fn write_list(
    values: &Cells<'_>,
    start: Option<usize>,
    end: Option<usize>,
    notation: Notation,
    out: &mut Vec<u8>,
) {
    let rows = start.unwrap_or(0)..end.unwrap_or(0).min(values.len());
    let between: &[u8] = if notation == Notation::Text { b", " } else { b"," };
    // A null inside a list must not vanish, and text must not run together.
    let inner = match (notation, &values.kind) {
        (Notation::Csv, Kind::Text(_) | Kind::LargeText(_)) => Notation::Json,
        (Notation::Csv, _) if values.may_be_null => Notation::Json,
        (other, _) => other,
    };
    out.push(b'[');
    for (index, row) in rows.enumerate() {
        if index > 0 {
            out.extend_from_slice(between);
        }
        values.write(row, inner, out);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests;
