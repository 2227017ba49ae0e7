//! Events with named fields: each kind of them becomes a custom type of its log file.

use kymo_core::Value;
use kymo_model::timeline::{Field, Fields, NumberKind, NumberSurvey};

use super::LossCounts;
use crate::spec::FieldType;
use crate::types::{CustomField, CustomType, Text, to_latin1};

/// Kinds of events that get a type of their own; a log of texts may have as many as lines.
pub(super) const SHAPES_MAX: usize = 1 << 12;

/// Lists up to this length are arrays: each length is a type of its own.
const ARRAY_MAX: usize = 64;

/// Fields of a custom type. Events of one name that have other fields are of another type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) name: String,
    /// Name and kind of each field.
    fields: Vec<(String, Kind)>,
}

/// Kind of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// A number of which nothing says how wide it was recorded: all events of the kind tell.
    Number,
    /// Of a type, and the count of an array.
    Typed(FieldType, i32),
}

impl Kind {
    fn from_field(field: &Field<'_>) -> Self {
        if field.bits.is_none() && NumberSurvey::default().add(&field.value) {
            return Self::Number;
        }
        let (field_type, count) = type_of(&field.value, field.bits);
        Self::Typed(field_type, count)
    }
}

impl Shape {
    pub(super) fn from_event(event: &Fields<'_>) -> Self {
        let fields = event.fields.iter();
        let fields = fields.map(|field| (field.name.clone().into_owned(), Kind::from_field(field)));
        Self { name: event.name.clone().into_owned(), fields: fields.collect() }
    }

    /// Returns the number of fields.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// The fields of its type, given what its numbers are.
    pub(super) fn custom_fields(&self, numbers: &[NumberSurvey]) -> Vec<CustomField> {
        let fields = self.fields.iter().zip(numbers);
        let fields = fields.map(|((name, kind), numbers)| match kind {
            Kind::Number => CustomField::scalar(name, number_type(numbers.kind())),
            Kind::Typed(field_type, count) => CustomField::array(name, *field_type, *count),
        });
        fields.collect()
    }
}

/// The values of an event, as its type holds them.
pub(super) fn values(
    event: &Fields<'_>,
    custom_type: &CustomType,
    lost: &mut LossCounts,
) -> Vec<Value> {
    let fields = event.fields.iter().zip(&custom_type.fields);
    let item = |custom: &CustomField| custom.field_type.unwrap_or(FieldType::String);
    fields.map(|(field, custom)| fitting(&field.value, item(custom), lost)).collect()
}

/// The type that holds numbers of a kind.
pub(super) fn number_type(kind: NumberKind) -> FieldType {
    match kind {
        NumberKind::Signed => FieldType::Int64,
        NumberKind::Unsigned => FieldType::Uint64,
        NumberKind::Single => FieldType::Float,
        NumberKind::Double => FieldType::Double,
    }
}

/// The kind of numbers that a type of all their bits holds.
fn kind_of(field_type: FieldType) -> Option<NumberKind> {
    Some(match field_type {
        FieldType::Int64 => NumberKind::Signed,
        FieldType::Uint64 => NumberKind::Unsigned,
        FieldType::Float => NumberKind::Single,
        FieldType::Double => NumberKind::Double,
        _ => return None,
    })
}

/// A number as a field of a type holds it; what does not fit stays as it is.
pub(super) fn fit_number(value: Value, field_type: FieldType, lost: &mut LossCounts) -> Value {
    let Some(kind) = kind_of(field_type) else { return value };
    let Some(number) = kind.fit(&value) else { return value };
    lost.rounded += u64::from(!kind.keeps(&value));
    number
}

/// The type that holds a value, and the count of an array.
fn type_of(value: &Value, bits: Option<u32>) -> (FieldType, i32) {
    let Value::List(values) = value else {
        return (scalar_type(value, bits).unwrap_or(FieldType::String), 0);
    };
    let first = values.first().and_then(|first| scalar_type(first, bits));
    let is_alike =
        |field_type: &FieldType| values.iter().all(|it| scalar_type(it, bits) == Some(*field_type));
    let array = first.filter(|field_type| values.len() <= ARRAY_MAX && is_alike(field_type));
    // What has no count that can be written becomes text.
    let array = array.zip(i32::try_from(values.len()).ok());
    array.unwrap_or((FieldType::String, 0))
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
fn fitting(value: &Value, field_type: FieldType, lost: &mut LossCounts) -> Value {
    match (value, field_type) {
        (Value::Text(text), _) => latin1(text, lost),
        (Value::List(values), FieldType::String) if !is_array(values) => {
            lost.lists += 1;
            latin1(&json(value), lost)
        }
        (Value::List(values), _) => values.iter().map(|it| fitting(it, field_type, lost)).collect(),
        (Value::Address(address), _) => Value::UInt(*address),
        (other, FieldType::String) => latin1(&json(other), lost),
        (other, _) => fit_number(other.clone(), field_type, lost),
    }
}

fn is_array(values: &[Value]) -> bool {
    type_of(&Value::List(values.to_vec()), None).1 > 0
}

fn json(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn latin1(text: &str, lost: &mut LossCounts) -> Value {
    let (bytes, characters) = to_latin1(text);
    lost.characters += characters;
    Value::Text(Text(&bytes).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{LogFileId, TypeId};

    fn event(value: Value, bits: Option<u32>) -> Fields<'static> {
        Fields { name: "e".into(), fields: vec![Field { name: "f".into(), value, bits }] }
    }

    fn shown(value: Value, bits: Option<u32>) -> (String, Value, u64) {
        let (event, mut lost) = (event(value, bits), LossCounts::default());
        let this_custom_type = custom_type(&[&event]);
        let values = values(&event, &this_custom_type, &mut lost);
        (this_custom_type.fields[0].type_name(), values[0].clone(), lost.characters + lost.lists)
    }

    /// The type of events of one kind.
    fn custom_type(events: &[&Fields<'_>]) -> CustomType {
        let (shape, mut numbers) = (Shape::from_event(events[0]), NumberSurvey::default());
        for event in events {
            assert_eq!(Shape::from_event(event), shape);
            numbers.add(&event.fields[0].value);
        }
        let fields = shape.custom_fields(&[numbers]);
        CustomType { offset: 0, id: TypeId(1), name: shape.name, log_file: LogFileId(0), fields }
    }

    #[test]
    fn numbers_that_were_recorded_in_no_width_are_of_one_kind_in_all_events() {
        let large = (1_i64 << 53) + 1;
        let all = [Value::Int(1), Value::Float(2.5), Value::Int(large)].map(|it| event(it, None));
        let this_custom_type = custom_type(&all.iter().collect::<Vec<_>>());
        assert_eq!(this_custom_type.fields[0].type_name(), "DOUBLE");
        let mut lost = LossCounts::default();
        let mut of_all =
            all.iter().map(|event| values(event, &this_custom_type, &mut lost)[0].clone());
        assert_eq!(of_all.next(), Some(Value::Float(1.0)));
        assert_eq!(of_all.next(), Some(Value::Float(2.5)));
        assert_eq!(of_all.next(), Some(Value::Float(9_007_199_254_740_992.0)));
        drop(of_all);
        assert_eq!(lost.rounded, 1);
        // Those of a width are of other types.
        let wide = event(Value::Int(1), Some(64));
        assert_ne!(Shape::from_event(&wide), Shape::from_event(&all[0]));
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
