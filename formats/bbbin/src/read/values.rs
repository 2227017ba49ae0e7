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
