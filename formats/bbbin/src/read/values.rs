//! Values of custom types.

use kymo_core::Value;
use kymo_core::bytes::{Cursor, Endian, ReadError, ReadResult};

use super::Reader;
use super::definitions::text;
use crate::spec::{FieldType, NO_TYPE};
use crate::types::{CustomField, CustomType, LogFileId, TypeId};

/// The rule that values are of their type.
pub(crate) const CUSTOM_SIZE: &str = "custom-size";

/// The rule that types of values are there.
pub(crate) const UNKNOWN_TYPE: &str = "unknown-type";

/// Reads one value for each field of a type: a list where the field has several.
///
/// # Errors
///
/// When the bytes are not those of the type; `offset` is where they are in the file.
pub fn values(custom_type: &CustomType, bytes: &[u8], offset: u64) -> ReadResult<Vec<Value>> {
    let (values, fault) = values_as_far(custom_type, bytes, offset);
    fault.map_or(Ok(values), Err)
}

/// Reads the values of fields up to one that is not whole, and says what is wrong with the bytes.
fn values_as_far(
    custom_type: &CustomType,
    bytes: &[u8],
    offset: u64,
) -> (Vec<Value>, Option<ReadError>) {
    let mut cursor = Cursor::with_offset(bytes, offset, Endian::Big);
    let mut values = Vec::new();
    for field in &custom_type.fields {
        match field_value(&mut cursor, field) {
            Ok(value) => values.push(value),
            Err(error) => return (values, Some(error)),
        }
    }
    let left_over = (cursor.remaining() > 0).then(|| {
        let (count, plural) = (cursor.remaining(), if cursor.remaining() == 1 { "" } else { "s" });
        let are = if count == 1 { "is" } else { "are" };
        let why = format!("{count} byte{plural} {are} left over");
        ReadError::invalid("custom-field-value", cursor.offset(), why)
    });
    (values, left_over)
}

/// Values as far as they are of their type.
#[derive(Debug)]
pub(crate) struct DecodedValues<'a> {
    pub of: &'a CustomType,
    /// Those of the first fields; of all, where nothing is wrong.
    pub values: Vec<Value>,
    /// True if they are all, and nothing is left over.
    pub are_whole: bool,
}

impl Reader {
    /// The values of an event or an artifact, as far as they are of their type. What is not is
    /// noticed, also where there is no such type.
    pub(crate) fn decoded(
        &self,
        (log_file, id): (LogFileId, TypeId),
        bytes: &[u8],
        offset: u64,
    ) -> Option<DecodedValues<'_>> {
        let Some(this_custom_type) = self.custom_type(log_file, id) else {
            if !bytes.is_empty() {
                let found = || no_type(log_file, id);
                self.report_unreadable_values(UNKNOWN_TYPE, (log_file, id), offset, found);
            }
            return None;
        };
        let (values, fault) = values_as_far(this_custom_type, bytes, offset);
        // Type 0 stands for "no type" as well, and then there are no values.
        let is_none = id.0 == NO_TYPE && bytes.is_empty();
        if let Some(fault) = fault.as_ref().filter(|_| !is_none) {
            self.report_unreadable_values(CUSTOM_SIZE, (log_file, id), offset, || {
                misfit(id, fault)
            });
        }
        Some(DecodedValues { of: this_custom_type, values, are_whole: fault.is_none() })
    }

    /// Notices that values cannot be read; of each type once, with how often and the first place.
    #[cold]
    fn report_unreadable_values(
        &self,
        rule: &'static str,
        (log_file, id): (LogFileId, TypeId),
        offset: u64,
        message: impl Fn() -> String,
    ) {
        let [log_file, id] = [log_file.0, id.0].map(|number| u64::from(number.cast_unsigned()));
        self.noticed.count(&self.limits, (rule, log_file << 32 | id), offset, message);
    }
}

/// How one says that there is no such type.
pub(crate) fn no_type(log_file: LogFileId, id: TypeId) -> String {
    format!("there is no type {} in log file {}", id.0, log_file.0)
}

/// How one says that values are not of their type.
pub(crate) fn misfit(id: TypeId, fault: &ReadError) -> String {
    format!("values are not of their type, {}: {}", id.0, fault.kind)
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

/// Counts the values that have bits that no other format keeps: a NaN that is not the usual one, a
/// BOOLEAN that is neither 0 nor 1.
pub(crate) fn unusual_value_count(custom_type: &CustomType, bytes: &[u8]) -> u64 {
    let mut cursor = Cursor::with_offset(bytes, 0, Endian::Big);
    let mut odd = 0;
    for field in &custom_type.fields {
        let (Ok(field_type), Some(count)) = (field.field_type, field.elements()) else { break };
        let count = if field.element_count == 0 { 1 } else { count };
        for _ in 0..count {
            let Ok(is_odd) = is_unusual(&mut cursor, field_type) else { return odd };
            odd += u64::from(is_odd);
        }
    }
    odd
}

fn is_unusual(cursor: &mut Cursor<'_>, field_type: FieldType) -> ReadResult<bool> {
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

    #[test]
    fn bits_that_other_formats_lose_are_counted() {
        let fields = vec![
            CustomField::scalar("name", FieldType::String),
            CustomField::array("flags", FieldType::Boolean, 3),
            CustomField::scalar("single", FieldType::Float),
            CustomField::scalar("double", FieldType::Double),
        ];
        let (id, log_file, name) = (TypeId(1), LogFileId(0), String::new());
        let custom_type = CustomType { offset: 0, id, name, log_file, fields };
        let with = |flags: [u8; 3], single: u32, double: u64| {
            let text = [0, 0, 0, 1, b'a'].to_vec();
            let numbers = [single.to_be_bytes().to_vec(), double.to_be_bytes().to_vec()].concat();
            unusual_value_count(&custom_type, &[text, flags.to_vec(), numbers].concat())
        };
        assert_eq!(with([0, 1, 1], 0x7FC0_0000, 0x7FF8_0000_0000_0000), 0);
        assert_eq!(with([0, 2, 255], 0x3F80_0000, 0), 2);
        // A signalling NaN, and one with a sign.
        assert_eq!(with([0; 3], 0x7F80_0001, 0xFFF8_0000_0000_0000), 2);
    }
}
