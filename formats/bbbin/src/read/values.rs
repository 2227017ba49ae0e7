//! Values of custom types.

use kymo_core::Value;
use kymo_core::bytes::{Cursor, Endian, ReadError, ReadResult};

use super::definitions::text;
use crate::spec::FieldType;
use crate::types::{CustomField, CustomType};

/// Reads one value for each field of a type: a list where the field has several.
///
/// # Errors
///
/// When the bytes are not those of the type; `offset` is where they are in the file.
pub fn values(of: &CustomType, bytes: &[u8], offset: u64) -> ReadResult<Vec<Value>> {
    let mut cursor = Cursor::at(bytes, offset, Endian::Big);
    let values = of.fields.iter().map(|field| field_value(&mut cursor, field));
    let values = values.collect::<ReadResult<Vec<_>>>()?;
    if cursor.remaining() > 0 {
        let why = format!("{} bytes are left over", cursor.remaining());
        return Err(ReadError::invalid("custom-field-value", cursor.offset(), why));
    }
    Ok(values)
}

fn field_value(cursor: &mut Cursor<'_>, field: &CustomField) -> ReadResult<Value> {
    let invalid = |why| ReadError::invalid("custom-field-value", cursor.offset(), why);
    let field_type =
        field.field_type.map_err(|number| invalid(format!("there is no field type {number}")))?;
    let count = field
        .elements()
        .ok_or_else(|| invalid(format!("there cannot be {} elements", field.element_count)))?;
    if field.element_count == 0 {
        return element(cursor, field_type);
    }
    // Each takes a byte at least, so that this ends with the bytes.
    let values = (0..count).map(|_| element(cursor, field_type));
    Ok(Value::List(values.collect::<ReadResult<_>>()?))
}

/// How many values have bits that no other format keeps: a NaN that is not the usual one, a BOOLEAN
/// that is neither 0 nor 1.
pub(crate) fn odd_values(of: &CustomType, bytes: &[u8]) -> u64 {
    let mut cursor = Cursor::at(bytes, 0, Endian::Big);
    let mut odd = 0;
    for field in &of.fields {
        let (Ok(field_type), Some(count)) = (field.field_type, field.elements()) else { break };
        let count = if field.element_count == 0 { 1 } else { count };
        for _ in 0..count {
            let Ok(is_odd) = is_odd(&mut cursor, field_type) else { return odd };
            odd += u64::from(is_odd);
        }
    }
    odd
}

fn is_odd(cursor: &mut Cursor<'_>, field_type: FieldType) -> ReadResult<bool> {
    let what = "custom-field-value";
    Ok(match field_type {
        FieldType::Float => {
            let bits = cursor.u32(what)?;
            f32::from_bits(bits).is_nan() && bits != f32::NAN.to_bits()
        }
        FieldType::Double => {
            let bits = cursor.u64(what)?;
            f64::from_bits(bits).is_nan() && bits != f64::NAN.to_bits()
        }
        FieldType::Boolean => cursor.u8(what)? > 1,
        other => element(cursor, other).map(|_| false)?,
    })
}

fn element(cursor: &mut Cursor<'_>, field_type: FieldType) -> ReadResult<Value> {
    let what = "custom-field-value";
    Ok(match field_type {
        FieldType::Int8 => cursor.i8(what)?.into(),
        FieldType::Uint8 => cursor.u8(what)?.into(),
        FieldType::Int16 => cursor.i16(what)?.into(),
        FieldType::Uint16 => cursor.u16(what)?.into(),
        FieldType::Int32 => cursor.i32(what)?.into(),
        FieldType::Uint32 | FieldType::ArtifactId => cursor.u32(what)?.into(),
        FieldType::Int64 => cursor.i64(what)?.into(),
        FieldType::Uint64 => cursor.u64(what)?.into(),
        FieldType::Float => cursor.f32(what)?.into(),
        FieldType::Double => cursor.f64(what)?.into(),
        FieldType::Boolean => (cursor.u8(what)? != 0).into(),
        FieldType::String => text(cursor, what)?.to_string().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{LogFileId, TypeId};

    #[test]
    fn bits_that_other_formats_lose_are_counted() {
        let fields = vec![
            CustomField::scalar("name", FieldType::String),
            CustomField::array("flags", FieldType::Boolean, 3),
            CustomField::scalar("single", FieldType::Float),
            CustomField::scalar("double", FieldType::Double),
        ];
        let (id, log_file, name) = (TypeId(1), LogFileId(0), String::new());
        let of = CustomType { offset: 0, id, name, log_file, fields };
        let with = |flags: [u8; 3], single: u32, double: u64| {
            let text = [0, 0, 0, 1, b'a'].to_vec();
            let numbers = [single.to_be_bytes().to_vec(), double.to_be_bytes().to_vec()].concat();
            odd_values(&of, &[text, flags.to_vec(), numbers].concat())
        };
        assert_eq!(with([0, 1, 1], 0x7FC0_0000, 0x7FF8_0000_0000_0000), 0);
        assert_eq!(with([0, 2, 255], 0x3F80_0000, 0), 2);
        // A signalling NaN, and one with a sign.
        assert_eq!(with([0; 3], 0x7F80_0001, 0xFFF8_0000_0000_0000), 2);
    }
}
