//! Facts that timelines have no word for, as attributes of tracks. Other formats keep attributes,
//! so that the facts come back when such a timeline is written as BBBin.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write;

use kymo_core::Value;
use kymo_model::timeline::{Track, TrackKind, json_members};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json, json};

use crate::read::values;
use crate::spec::{FieldType, TaskClass};
use crate::types::{ArtifactId, ArtifactKind, CustomField, CustomType, DeclaredArtifact, TypeId};

/// Of a task: its class, by name or number, where that is not TASK.
pub(crate) const TASK_CLASS: &str = "task_class";
/// Of a log file: its states, and its GENERIC artifacts.
pub(crate) const ARTIFACTS: &str = "artifacts";
/// Of what has values: the name of their type.
const TYPE_NAME: &str = "type_name";
/// The fields of that type; of a track, what its texts hold.
pub(crate) const FIELDS: &str = "fields";
/// The values, as hexadecimal digits.
const CUSTOM: &str = "custom";

/// Artifacts that are carried, and bytes of values and fields of each; more would be a burden to
/// whoever only looks at the timeline.
pub(crate) const ARTIFACTS_MAX: usize = 1 << 12;
const VALUE_BYTES_MAX: usize = 1 << 12;

/// Each value says its type, so that a long name may be said for every task. All values and names
/// together take no more than some times the file, or what any file may.
const ROOM_TIMES: u64 = 4;
const ROOM_MIN: u64 = 1 << 20;

/// Number of bytes that a field takes besides its name.
const FIELD_BYTES: u64 = 32;

/// The bytes that there are for values of artifacts in a file of some size.
pub(crate) fn room(file_bytes: u64) -> u64 {
    file_bytes.saturating_mul(ROOM_TIMES).max(ROOM_MIN)
}

/// The bytes that the words of a type take.
fn words_bytes(custom_type: &CustomType) -> u64 {
    let fields = custom_type.fields.iter().map(|field| field.name.len() as u64 + FIELD_BYTES);
    custom_type.name.len() as u64 + fields.sum::<u64>()
}

pub(crate) const FIELDS_MAX: usize = 1 << 8;

/// Attributes that BBBin has a place for.
const KEPT: [&str; 18] = [
    Track::CPU_ID,
    Track::HAS_INTERRUPTS,
    Track::RECORDING,
    Track::IS_IDLE,
    Track::IS_INTERRUPT,
    Track::IS_FIELD,
    Track::TELLS_COMPLETION,
    "tid",
    "artifact_id",
    Track::TASK_PRIORITY,
    "log_file_size",
    "imported_at_timestamp",
    "importer_name",
    TASK_CLASS,
    ARTIFACTS,
    TYPE_NAME,
    FIELDS,
    CUSTOM,
];

/// Returns true if an attribute only says how RTC keeps the events of a track, which have that done
/// to them. Others may mean something else by the same word: theirs are texts.
fn is_storage(track: &Track, name: &str, value: &Json) -> bool {
    match name {
        "stream_id" | "length" | "cont" | "gain" | "offset" => !value.is_string(),
        "clock" => track.clock.is_some(),
        "stream" => track.kind == TrackKind::Annotations,
        _ => false,
    }
}

/// The attributes of a track that BBBin has no place for.
pub(crate) fn unkept(track: &Track) -> Vec<String> {
    let is_kept = |name: &str, value: &Json| KEPT.contains(&name) || is_storage(track, name, value);
    let all = track.attributes.to_map();
    let left = all.iter().filter(|(name, value)| !is_kept(name, value));
    left.map(|(name, _)| name.clone()).collect()
}

/// Returns true if an artifact is an interrupt: those have the negative number of theirs as id. An
/// artifact that is stated to be a process or a thread is none, whatever its id.
pub(crate) fn is_interrupt(id: ArtifactId, kind: ArtifactKind) -> bool {
    let is_task = matches!(kind, ArtifactKind::Task { task_class: Ok(TaskClass::Task), .. });
    id.0 < 0 && is_task
}

/// A task class as an attribute.
pub(crate) fn task_class_json(result: Result<TaskClass, i32>) -> Json {
    result.map_or_else(Json::from, |class| class.name().into())
}

/// The task class that an attribute says.
pub(crate) fn task_class(attributes: &Map<String, Json>) -> Option<Result<TaskClass, i32>> {
    let said = attributes.get(TASK_CLASS)?;
    let named = || TaskClass::ALL.iter().find(|class| said == class.name()).map(|class| Ok(*class));
    let number = said.as_i64().and_then(|number| i32::try_from(number).ok());
    named().or(number.map(|number| TaskClass::from_number(number).ok_or(number)))
}

/// Fields as an attribute: name, type and count of each.
pub(crate) fn fields_json(fields: &[CustomField]) -> Json {
    let field = |custom_field: &CustomField| {
        let field_type = custom_field
            .field_type
            .map_or_else(Json::from, |this_field_type| this_field_type.name().into());
        json!([custom_field.name, field_type, custom_field.element_count])
    };
    fields.iter().map(field).collect()
}

/// The fields that an attribute says.
pub(crate) fn fields(attributes: &Map<String, Json>) -> Option<Vec<CustomField>> {
    let field = |said: &Json| {
        let [name, field_type, count] = said.as_array()?.as_slice() else { return None };
        let named = FieldType::ALL
            .iter()
            .find(|item| *field_type == item.name())
            .map(|this_field_type| Ok(*this_field_type));
        let number = || i32::try_from(field_type.as_i64()?).ok().map(Err);
        Some(CustomField {
            name: name.as_str()?.to_owned(),
            field_type: named.or_else(number)?,
            element_count: i32::try_from(count.as_i64()?).ok()?,
        })
    };
    attributes.get(FIELDS)?.as_array()?.iter().map(field).collect()
}

/// Values with their type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Values {
    pub type_name: String,
    pub fields: Vec<CustomField>,
    pub custom: Vec<u8>,
}

impl Values {
    /// Those of an artifact, where they are of their type and there is room for them.
    pub(crate) fn from_artifact(
        artifact: &DeclaredArtifact<'_>,
        custom_type: &CustomType,
        room: &mut u64,
    ) -> Option<Self> {
        let is_small =
            artifact.custom.len() <= VALUE_BYTES_MAX && custom_type.fields.len() <= FIELDS_MAX;
        if !is_small || values(custom_type, artifact.custom, 0).is_err() {
            return None;
        }
        *room = room.checked_sub(2 * artifact.custom.len() as u64 + words_bytes(custom_type))?;
        let (type_name, fields) = (custom_type.name.clone(), custom_type.fields.clone());
        Some(Self { type_name, fields, custom: artifact.custom.to_vec() })
    }

    pub(crate) fn put(&self, attributes: &mut Map<String, Json>) {
        let mut digits = String::with_capacity(2 * self.custom.len());
        for byte in &self.custom {
            // Writing to a string cannot fail.
            let _ = write!(digits, "{byte:02x}");
        }
        attributes.insert(TYPE_NAME.into(), self.type_name.as_str().into());
        attributes.insert(FIELDS.into(), fields_json(&self.fields));
        attributes.insert(CUSTOM.into(), digits.into());
    }

    /// Those that attributes say, where they are of their type.
    pub(crate) fn read(attributes: &Map<String, Json>) -> Option<Self> {
        let custom = bytes_of(attributes.get(CUSTOM)?.as_str()?)?;
        let type_name = attributes.get(TYPE_NAME)?.as_str()?.to_owned();
        let this_values = Self { type_name, fields: fields(attributes)?, custom };
        let log_file = crate::LogFileId(0);
        let (name, fields) = (this_values.type_name.clone(), this_values.fields.clone());
        let described = CustomType { offset: 0, id: TypeId(1), name, log_file, fields };
        values(&described, &this_values.custom, 0).is_ok().then_some(this_values)
    }
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let digit =
        |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let bytes = pairs.iter().map(|[high, low]| Some((digit(*high)? << 4) | digit(*low)?));
    bytes.collect::<Option<Vec<_>>>().filter(|_| rest.is_empty())
}

/// A state or a GENERIC artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CarriedArtifact {
    pub id: ArtifactId,
    pub name: String,
    pub kind: ArtifactKind,
    pub values: Option<Values>,
}

impl CarriedArtifact {
    pub(crate) fn to_json(&self) -> Json {
        let mut said = Map::new();
        said.insert("artifact_class".into(), self.kind.class().name().into());
        said.insert("artifact_id".into(), self.id.0.into());
        said.insert("artifact_name".into(), self.name.as_str().into());
        if let ArtifactKind::State { parent } = self.kind {
            said.insert("parent_id".into(), parent.0.into());
        }
        if let Some(values) = &self.values {
            values.put(&mut said);
        }
        Json::Object(said)
    }

    fn read(said: &Json) -> Option<Self> {
        let said = said.as_object()?;
        let id = |key: &str| Some(ArtifactId(i32::try_from(said.get(key)?.as_i64()?).ok()?));
        let parent = id("parent_id");
        Some(Self {
            id: id("artifact_id")?,
            name: said.get("artifact_name")?.as_str()?.to_owned(),
            kind: parent.map_or(ArtifactKind::Generic, |parent| ArtifactKind::State { parent }),
            values: Values::read(said),
        })
    }

    /// Those that the attributes of a log file say.
    pub(crate) fn all(attributes: &Map<String, Json>) -> Vec<Self> {
        let said = attributes.get(ARTIFACTS).and_then(Json::as_array);
        said.into_iter().flatten().filter_map(Self::read).collect()
    }
}

/// The state machine that each state is part of: what is no state itself. One that is part of
/// itself is of none.
pub(crate) fn machines(
    states: impl IntoIterator<Item = (ArtifactId, ArtifactId)>,
) -> HashMap<ArtifactId, ArtifactId> {
    let parents: HashMap<ArtifactId, ArtifactId> = states.into_iter().collect();
    let mut machines: HashMap<ArtifactId, Option<ArtifactId>> = HashMap::new();
    for state in parents.keys() {
        let (mut way, mut at) = (Vec::new(), *state);
        let machine = loop {
            match (machines.get(&at), parents.get(&at)) {
                (Some(known), _) => break *known,
                (None, None) => break Some(at),
                (None, Some(parent)) => {
                    way.push(at);
                    // Until it is known to be of one, it is of none.
                    machines.insert(at, None);
                    at = *parent;
                }
            }
        };
        machines.extend(way.into_iter().map(|state| (state, machine)));
    }
    machines.into_iter().filter_map(|(state, machine)| Some((state, machine?))).collect()
}

/// A state, what it is part of, and its name.
pub(crate) type State<'a> = (ArtifactId, ArtifactId, &'a str);

/// So many states may be named on the way to one, with so many bytes: a long name may be on the way to
/// any number of them.
const PATH_MAX: usize = 8;
const PATH_BYTES_MAX: usize = 256;

/// Returns the names of states of a log file whose machine has another of the same name. They are
/// named by the states that they are part of (`stop.run`). Where these do not distinguish a state,
/// it is named by its number (`run (7)`).
pub(crate) fn distinct_state_names(states: &[State<'_>]) -> HashMap<ArtifactId, String> {
    let machines = machines(states.iter().map(|(id, parent, _)| (*id, *parent)));
    let mut known = HashMap::new();
    for (id, parent, name) in states {
        known.entry(*id).or_insert((*parent, *name));
    }
    let mut names: HashMap<(Option<ArtifactId>, String), Vec<ArtifactId>> = HashMap::new();
    let called = |id: &ArtifactId, name: &str| (machines.get(id).copied(), name.to_owned());
    for (id, (_, name)) in &known {
        names.entry(called(id, name)).or_default().push(*id);
    }
    let shared = names.extract_if(|_, ids| ids.len() > 1).flat_map(|(_, ids)| ids);
    let shared: HashSet<_> = shared.collect();
    for id in &shared {
        names.entry(called(id, &path(*id, &known))).or_default().push(*id);
    }
    let mut told = HashMap::new();
    for ((_, path), ids) in &names {
        for id in ids.iter().filter(|id| shared.contains(id)) {
            let name = known.get(id).map_or("", |(_, name)| name);
            let number = || format!("{name} ({})", id.0);
            told.insert(*id, if ids.len() > 1 { number() } else { path.clone() });
        }
    }
    told
}

/// The names of what a state is part of, and its own.
fn path(state: ArtifactId, known: &HashMap<ArtifactId, (ArtifactId, &str)>) -> String {
    let (mut path, mut at) = (String::new(), state);
    for _ in 0..PATH_MAX {
        let Some((parent, name)) = known.get(&at) else { break };
        if path.len() + name.len() > PATH_BYTES_MAX {
            break;
        }
        path = if path.is_empty() { (*name).to_owned() } else { format!("{name}.{path}") };
        at = *parent;
    }
    path
}

/// The values of fields, from a JSON object that has each under its name, as the timeline tells
/// them; of several that have one name, the first is the first. Numbers are read by their digits, so
/// that they are the same to the last bit.
pub(crate) fn values_of(fields: &[CustomField], text: &str) -> Option<Vec<Value>> {
    let said = json_members(text)?;
    if said.len() != fields.len() {
        return None;
    }
    let mut of_names: HashMap<&str, VecDeque<&RawValue>> = HashMap::new();
    for (name, value) in &said {
        of_names.entry(name).or_default().push_back(value);
    }
    let mut next = |name: &str| of_names.get_mut(name)?.pop_front();
    fields.iter().map(|field| field_value(field, next(&field.name)?)).collect()
}

fn field_value(field: &CustomField, said: &RawValue) -> Option<Value> {
    let this_field_type = field.field_type.ok()?;
    if field.element_count == 0 {
        return element(this_field_type, said.get());
    }
    let values: Vec<&RawValue> = serde_json::from_str(said.get()).ok()?;
    let values = values.iter().map(|value| element(this_field_type, value.get()));
    values.collect::<Option<Vec<_>>>().map(Value::List)
}

fn element(field_type: FieldType, said: &str) -> Option<Value> {
    // JSON has no number for some, which are texts then.
    let bare = said.trim_matches('"');
    Some(match field_type {
        FieldType::Int8 | FieldType::Int16 | FieldType::Int32 | FieldType::Int64 => {
            Value::Int(said.parse().ok()?)
        }
        FieldType::Uint8
        | FieldType::Uint16
        | FieldType::Uint32
        | FieldType::Uint64
        | FieldType::ArtifactId => Value::UInt(said.parse().ok()?),
        FieldType::Float => Value::Float32(bare.parse().ok()?),
        FieldType::Double => Value::Float(bare.parse().ok()?),
        FieldType::Boolean => Value::Bool(said.parse().ok()?),
        FieldType::String => Value::Text(serde_json::from_str(said).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields_of_two() -> Vec<CustomField> {
        let other = CustomField { name: "b".into(), field_type: Err(99), element_count: -1 };
        vec![CustomField::array("a", FieldType::Int16, 3), other]
    }

    #[test]
    fn fields_and_classes_come_back() {
        let attributes = Map::from_iter([(FIELDS.into(), fields_json(&fields_of_two()))]);
        assert_eq!(attributes[FIELDS].to_string(), r#"[["a","INT16",3],["b",99,-1]]"#);
        assert_eq!(fields(&attributes), Some(fields_of_two()));
        for class in [Ok(TaskClass::Thread), Ok(TaskClass::Task), Err(7)] {
            let attributes = Map::from_iter([(TASK_CLASS.into(), task_class_json(class))]);
            assert_eq!(task_class(&attributes), Some(class));
        }
        let odd =
            Map::from_iter([(TASK_CLASS.into(), json!("FIBRE")), (FIELDS.into(), json!([1]))]);
        assert_eq!((task_class(&odd), fields(&odd)), (None, None));
    }

    #[test]
    fn artifacts_come_back_with_their_values() {
        let values = Values {
            type_name: "board".into(),
            fields: vec![CustomField::scalar("serial", FieldType::Uint16)],
            custom: vec![0x12, 0xFF],
        };
        let state = ArtifactKind::State { parent: ArtifactId(5) };
        let (id, name) = (ArtifactId(6), String::from("open"));
        let state = CarriedArtifact { id, name, kind: state, values: None };
        let (kind, values) = (ArtifactKind::Generic, Some(values));
        let board = CarriedArtifact { kind, values, ..state.clone() };
        let said = json!([state.to_json(), board.to_json(), { "artifact_id": 1 }]);
        assert_eq!(said[1]["custom"], "12ff");
        let attributes = Map::from_iter([(ARTIFACTS.into(), said)]);
        assert_eq!(CarriedArtifact::all(&attributes), [state, board]);
    }

    #[test]
    fn states_of_one_name_are_told_apart_by_what_they_are_part_of() {
        // Machine 9 has run (1), stop (2) with run (3) in it, and in that idle (4); off (5) is there
        // twice (6), beside one another. Machine 10 has a state run (11), which is another's.
        let states = [
            (1, 9, "run"),
            (2, 9, "stop"),
            (3, 2, "run"),
            (4, 3, "idle"),
            (5, 9, "off"),
            (6, 9, "off"),
            (11, 10, "run"),
            // Nothing is part of itself.
            (12, 12, "loop"),
            (13, 12, "loop"),
        ];
        let states = states.map(|(id, parent, name)| (ArtifactId(id), ArtifactId(parent), name));
        let mut told: Vec<_> =
            distinct_state_names(&states).into_iter().map(|(id, name)| (id.0, name)).collect();
        told.sort_unstable();
        let names: Vec<_> = told.iter().map(|(id, name)| (*id, name.as_str())).collect();
        let expected = [
            (1, "run"),
            (3, "stop.run"),
            (5, "off (5)"),
            (6, "off (6)"),
            (12, "loop (12)"),
            (13, "loop (13)"),
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn words_of_rtc_are_kept_of_rtc_alone() {
        let track = |attributes: Json| Track {
            name: String::new(),
            recording: 0,
            parent: None,
            kind: TrackKind::Counter,
            clock: None,
            content: "".into(),
            attributes: attributes.as_object().unwrap().clone().into(),
        };
        let foreign = track(json!({ "offset": "12", "stream": "left", "length": "4", "tid": 1 }));
        assert_eq!(unkept(&foreign), ["offset", "stream", "length"]);
        let own = track(json!({ "offset": 12, "length": 4, "cont": true, "gain": 0.5 }));
        assert_eq!(unkept(&own).len(), 0);
    }

    #[test]
    fn values_are_carried_while_there_is_room() {
        let artifact = DeclaredArtifact {
            offset: 0,
            id: ArtifactId(1),
            name: crate::Text(b"t"),
            log_file: crate::LogFileId(0),
            custom_type: TypeId(1),
            custom: &[7],
            kind: ArtifactKind::Generic,
        };
        let fields = vec![CustomField::scalar("x".repeat(100), FieldType::Uint8)];
        let (name, log_file) = ("type".into(), crate::LogFileId(0));
        let this_custom_type = CustomType { offset: 0, id: TypeId(1), name, log_file, fields };
        // Two digits, four bytes of the type's name, and 100 + 32 of its field.
        let mut room = 2 * 138 + 137;
        let fit = (0..3)
            .map(|_| Values::from_artifact(&artifact, &this_custom_type, &mut room).is_some());
        assert_eq!(fit.collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(room, 137);
        assert_eq!([room_of(100), room_of(1 << 30)], [1 << 20, 1 << 32]);
    }

    fn room_of(file_bytes: u64) -> u64 {
        super::room(file_bytes)
    }

    #[test]
    fn values_that_are_not_of_their_type_are_none() {
        let item = |custom: &str| {
            let said = json!({ "type_name": "", "fields": [["x", "INT8", 0]], "custom": custom });
            Values::read(said.as_object().unwrap()).map(|values| values.custom)
        };
        assert_eq!(item("7f"), Some(vec![0x7F]));
        for odd in ["7f00", "7", "xy", "é1", "+7"] {
            assert_eq!(item(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_state_is_of_the_machine_at_the_end_of_its_way() {
        let pairs = [(7, 6), (6, 5), (8, 9), (9, 8), (3, 8), (4, 5)];
        let found = machines(pairs.map(|(state, parent)| (ArtifactId(state), ArtifactId(parent))));
        let mut found: Vec<_> =
            found.iter().map(|(state, artifact_id)| (state.0, artifact_id.0)).collect();
        found.sort_unstable();
        assert_eq!(found, [(4, 5), (6, 5), (7, 5)]);
    }

    #[test]
    fn values_are_found_under_their_names() {
        let fields = [
            CustomField::scalar("a", FieldType::Uint64),
            CustomField::array("b", FieldType::Float, 2),
            CustomField::scalar("c", FieldType::String),
        ];
        let item = |text| values_of(&fields, text);
        let floats = Value::List(vec![Value::Float32(0.1), Value::Float32(f32::INFINITY)]);
        let expected = vec![Value::UInt(u64::MAX), floats, "é".into()];
        let text = r#"{"a":18446744073709551615,"b":[0.1,"Infinity"],"c":"é"}"#;
        assert_eq!(item(text), Some(expected));
        let twice = ["x", "y", "x"].map(|name| CustomField::scalar(name, FieldType::Int8));
        let expected = [1, 3, 2].map(Value::Int).to_vec();
        assert_eq!(values_of(&twice, r#"{"x":1,"x":2,"y":3}"#), Some(expected));
        for other in ["{}", "[]", r#"{"a":-1,"b":[],"c":""}"#, r#"{"a":1,"b":[],"c":"","d":0}"#] {
            assert_eq!(item(other), None, "{other}");
        }
    }
}
