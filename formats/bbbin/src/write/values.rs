//! Values of custom types to bytes.

use kymo_core::bytes::{Endian, Sink};
use kymo_core::{Error, Result, Value, shortened};

use super::definitions::text;
use crate::spec::FieldType;
use crate::types::{CustomField, CustomType, Text, to_latin1};

/// Writes one value for each field of a type: a list where the field has several.
///
/// # Errors
///
/// When a value is not of its field.
pub fn encode(custom_type: &CustomType, values: &[Value]) -> Result<Vec<u8>> {
    let mut sink = Sink::new(Endian::Big);
    if values.len() != custom_type.fields.len() {
        let (found, wanted) = (values.len(), custom_type.fields.len());
        return Err(Error::request(format!("{found} values for a type of {wanted} fields")));
    }
    for (field, value) in custom_type.fields.iter().zip(values) {
        field_value(&mut sink, field, value).ok_or_else(|| {
            let (name, wanted) = (shortened(&field.name), field.type_name());
            Error::request(format!("{name} is {wanted}, and {value} is none"))
        })?;
    }
    Ok(sink.into_vec())
}

fn field_value(sink: &mut Sink, field: &CustomField, value: &Value) -> Option<()> {
    let field_type = field.field_type.ok()?;
    match value {
        Value::List(values) if field.element_count > 0 => {
            let is_whole = u32::try_from(values.len()).ok() == field.elements();
            is_whole.then_some(())?;
            values.iter().try_for_each(|value| element(sink, field_type, value))
        }
        value if field.element_count == 0 => element(sink, field_type, value),
        _ => None,
    }
}

fn element(sink: &mut Sink, field_type: FieldType, value: &Value) -> Option<()> {
    let signed = || match value {
        Value::Int(value) => Some(*value),
        Value::UInt(value) => i64::try_from(*value).ok(),
        _ => None,
    };
    let unsigned = || match value {
        Value::UInt(value) => Some(*value),
        Value::Int(value) => u64::try_from(*value).ok(),
        _ => None,
    };
    match field_type {
        FieldType::Int8 => sink.i8(signed()?.try_into().ok()?),
        FieldType::Uint8 => sink.u8(unsigned()?.try_into().ok()?),
        FieldType::Int16 => sink.i16(signed()?.try_into().ok()?),
        FieldType::Uint16 => sink.u16(unsigned()?.try_into().ok()?),
        FieldType::Int32 => sink.i32(signed()?.try_into().ok()?),
        FieldType::Uint32 | FieldType::ArtifactId => sink.u32(unsigned()?.try_into().ok()?),
        FieldType::Int64 => sink.i64(signed()?),
        FieldType::Uint64 => sink.u64(unsigned()?),
        FieldType::Float => {
            let Value::Float32(value) = value else { return None };
            sink.f32(*value);
        }
        FieldType::Double => match value {
            Value::Float(value) => sink.f64(*value),
            Value::Float32(value) => sink.f64((*value).into()),
            _ => return None,
        },
        FieldType::Boolean => {
            let Value::Bool(value) = value else { return None };
            sink.u8((*value).into());
        }
        FieldType::String => {
            let (bytes, lost) = to_latin1(value.as_text()?);
            (lost == 0).then_some(())?;
            text(sink, Text(&bytes)).ok()?;
        }
    }
    Some(())
}
