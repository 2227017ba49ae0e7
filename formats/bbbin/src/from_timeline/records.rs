//! Events with named fields: each kind of them becomes a custom type of its log file.

use kymo_core::Value;
use kymo_core::model::timeline::Fields;

use super::Lost;
use crate::spec::FieldType;
use crate::types::{CustomField, Text, to_latin1};

/// Kinds of events that get a type of their own; a log of texts may have as many as lines.
pub(super) const SHAPES_MAX: usize = 1 << 12;

/// Lists up to this length are arrays: each length is a type of its own.
const ARRAY_MAX: usize = 64;

/// What a custom type is made of. Events of one name that have other fields are of another type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) name: String,
    /// Name, type and count of each field.
    fields: Vec<(String, FieldType, i32)>,
}

impl Shape {
    pub(super) fn of(event: &Fields<'_>) -> Self {
        let fields = event.fields.iter().map(|field| {
            let (of, count) = type_of(&field.value, field.bits);
            (field.name.clone().into_owned(), of, count)
        });
        Self { name: event.name.clone().into_owned(), fields: fields.collect() }
    }

    pub(super) fn custom_fields(&self) -> Vec<CustomField> {
        let fields = self.fields.iter();
        fields.map(|(name, of, count)| CustomField::array(name, *of, *count)).collect()
    }

    /// The values of an event of this kind, as the type holds them.
    pub(super) fn values(&self, event: &Fields<'_>, lost: &mut Lost) -> Vec<Value> {
        let fields = event.fields.iter().zip(&self.fields);
        fields.map(|(field, (_, of, _))| fitting(&field.value, *of, lost)).collect()
    }
}

/// The type that holds a value, and the count of an array.
fn type_of(value: &Value, bits: Option<u32>) -> (FieldType, i32) {
    let Value::List(values) = value else {
        return (scalar_type(value, bits).unwrap_or(FieldType::String), 0);
    };
    let first = values.first().and_then(|first| scalar_type(first, bits));
    let is_alike = |of: &FieldType| values.iter().all(|it| scalar_type(it, bits) == Some(*of));
    let array = first.filter(|of| values.len() <= ARRAY_MAX && is_alike(of));
    let count = i32::try_from(values.len()).unwrap_or(0);
    array.map_or((FieldType::String, 0), |of| (of, count))
}

fn scalar_type(value: &Value, bits: Option<u32>) -> Option<FieldType> {
    Some(match (value, bits.unwrap_or(64)) {
        (Value::Int(_), 0..=8) => FieldType::Int8,
        (Value::Int(_), 9..=16) => FieldType::Int16,
        (Value::Int(_), 17..=32) => FieldType::Int32,
        (Value::Int(_), _) => FieldType::Int64,
        (Value::UInt(_) | Value::Address(_), 0..=8) => FieldType::Uint8,
        (Value::UInt(_) | Value::Address(_), 9..=16) => FieldType::Uint16,
        (Value::UInt(_) | Value::Address(_), 17..=32) => FieldType::Uint32,
        (Value::UInt(_) | Value::Address(_), _) => FieldType::Uint64,
        (Value::Float32(_), _) => FieldType::Float,
        (Value::Float(_), _) => FieldType::Double,
        (Value::Bool(_), _) => FieldType::Boolean,
        (Value::Text(_), _) => FieldType::String,
        _ => return None,
    })
}

/// A value as a field of a type holds it: what BBBin has no type for is a text.
fn fitting(value: &Value, of: FieldType, lost: &mut Lost) -> Value {
    match (value, of) {
        (Value::Text(text), _) => latin1(text, lost),
        (Value::List(values), FieldType::String) if !is_array(values) => {
            lost.lists += 1;
            latin1(&json(value), lost)
        }
        (Value::List(values), _) => values.iter().map(|it| fitting(it, of, lost)).collect(),
        (Value::Address(address), _) => Value::UInt(*address),
        (other, FieldType::String) => latin1(&json(other), lost),
        (other, _) => other.clone(),
    }
}

fn is_array(values: &[Value]) -> bool {
    type_of(&Value::List(values.to_vec()), None).1 > 0
}

fn json(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn latin1(text: &str, lost: &mut Lost) -> Value {
    let (bytes, characters) = to_latin1(text);
    lost.characters += characters;
    Value::Text(Text(&bytes).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_core::model::timeline::Field;

    fn event(value: Value, bits: Option<u32>) -> Fields<'static> {
        Fields { name: "e".into(), fields: vec![Field { name: "f".into(), value, bits }] }
    }

    fn shown(value: Value, bits: Option<u32>) -> (String, Value, u64) {
        let (event, mut lost) = (event(value, bits), Lost::default());
        let shape = Shape::of(&event);
        let values = shape.values(&event, &mut lost);
        (shape.custom_fields()[0].type_name(), values[0].clone(), lost.characters + lost.lists)
    }

    #[test]
    fn fields_get_the_types_they_were_recorded_with() {
        let (int, uint) = (Value::Int(-1), Value::UInt(7));
        assert_eq!(shown(int.clone(), Some(5)), ("INT8".into(), int.clone(), 0));
        assert_eq!(shown(int.clone(), Some(32)), ("INT32".into(), int.clone(), 0));
        assert_eq!(shown(int.clone(), None), ("INT64".into(), int, 0));
        assert_eq!(shown(uint.clone(), Some(16)), ("UINT16".into(), uint.clone(), 0));
        assert_eq!(shown(Value::Address(7), Some(64)), ("UINT64".into(), uint, 0));
        assert_eq!(shown(true.into(), None), ("BOOLEAN".into(), true.into(), 0));
        assert_eq!(
            shown("k\u{e4}se \u{2192}".into(), None),
            ("STRING".into(), "k\u{e4}se ?".into(), 1)
        );
    }

    #[test]
    fn lists_are_arrays_where_all_of_them_are_of_one_type() {
        let list: Value = [1_u8, 2, 3].into_iter().collect();
        assert_eq!(shown(list.clone(), Some(8)), ("UINT8[3]".into(), list, 0));
        let texts: Value = ["a", "b"].into_iter().collect();
        assert_eq!(shown(texts.clone(), None), ("STRING[2]".into(), texts, 0));
        let mixed = Value::List(vec![1_u8.into(), "a".into()]);
        assert_eq!(shown(mixed, None), ("STRING".into(), "[1,\"a\"]".into(), 1));
        let empty = Value::List(Vec::new());
        assert_eq!(shown(empty, None), ("STRING".into(), "[]".into(), 1));
    }
}
