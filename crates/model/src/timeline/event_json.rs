//! Events with fields, as JSON: `{"event":"sched_switch","fields":{"prev_tid":7},"types":["int32"]}`.
//!
//! The types say what JSON does not: the kind and the width that a value was recorded with. Where the
//! recording has a text for the event that its fields do not make, that is said, too.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Field, Fields};
use kymo_core::Value;

/// The words for kinds of values, before their bits.
const INT: &str = "int";
const UINT: &str = "uint";
const ADDRESS: &str = "address";
const SINGLE: &str = "single";
const DOUBLE: &str = "double";
const BOOL: &str = "bool";
const TEXT: &str = "text";
/// Whatever else, as JSON has it.
const OTHER: &str = "json";
/// Text after the word for the values of a list.
const LIST: &str = "[]";

/// First bytes of each event with fields.
const BEGIN: &[u8] = b"{\"event\":";

impl Fields<'_> {
    /// The event as JSON, with its text where that is not what its fields make.
    #[must_use]
    pub fn to_json(&self, text: &str) -> Option<String> {
        let text = Some(text).filter(|text| self.to_string() != *text);
        serde_json::to_string(&EventJson { event: self, text }).ok()
    }
}

/// Reads such an event from JSON: its fields, and its text where that is of its own.
pub(super) fn read(bytes: &[u8]) -> Option<(Fields<'static>, Option<String>)> {
    if !bytes.starts_with(BEGIN) {
        return None;
    }
    let spelt: StoredEvent<'_> = serde_json::from_slice(bytes).ok()?;
    let Members(said) = spelt.fields;
    if said.len() != spelt.types.len() {
        return None;
    }
    let field = |((name, value), word): ((String, &RawValue), &Cow<'_, str>)| {
        let (word, bits) = unjoined(word);
        Some(Field { name: name.into(), value: value_of(word, value.get())?, bits })
    };
    let fields = said.into_iter().zip(&spelt.types).map(field).collect::<Option<Vec<_>>>()?;
    Some((Fields { name: spelt.event.into_owned().into(), fields }, spelt.text))
}

/// The members of a JSON object, as they come and as they are spelt: a map would have one of each
/// name. Nothing where it is no object.
#[must_use]
pub fn json_members(text: &str) -> Option<Vec<(String, &RawValue)>> {
    serde_json::from_str(text).ok().map(|Members(members)| members)
}

/// An event that is being spelt.
struct EventJson<'a> {
    event: &'a Fields<'a>,
    text: Option<&'a str>,
}

impl Serialize for EventJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("event", &self.event.name)?;
        if !self.event.fields.is_empty() {
            map.serialize_entry("fields", &Values(&self.event.fields))?;
            let words: Vec<_> = self.event.fields.iter().map(word).collect();
            map.serialize_entry("types", &words)?;
        }
        if let Some(text) = self.text {
            map.serialize_entry("text", text)?;
        }
        map.end()
    }
}

/// Values under the names of their fields, of which two may be the same.
struct Values<'a>(&'a [Field<'a>]);

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for field in self.0 {
            map.serialize_entry(&field.name, &field.value)?;
        }
        map.end()
    }
}

#[derive(Deserialize)]
struct StoredEvent<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow, default)]
    fields: Members<'a>,
    #[serde(borrow, default)]
    types: Vec<Cow<'a, str>>,
    text: Option<String>,
}

/// The members of a JSON object.
#[derive(Default)]
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Object)
    }
}

/// The word for what a field holds, with its bits.
fn word(field: &Field<'_>) -> String {
    let kind = kind(&field.value);
    field.bits.map_or_else(|| kind.to_string(), |bits| format!("{kind}{bits}"))
}

/// The word for what a value is; a list of values of one kind has theirs.
fn kind(value: &Value) -> Cow<'static, str> {
    let Value::List(values) = value else { return scalar_kind(value).into() };
    let first = values.first().map_or(OTHER, scalar_kind);
    let is_one = values.iter().all(|value| scalar_kind(value) == first);
    format!("{}{LIST}", if is_one { first } else { OTHER }).into()
}

fn scalar_kind(value: &Value) -> &'static str {
    match value {
        Value::Int(_) => INT,
        Value::UInt(_) => UINT,
        Value::Address(_) => ADDRESS,
        Value::Float32(_) => SINGLE,
        Value::Float(_) => DOUBLE,
        Value::Bool(_) => BOOL,
        Value::Text(_) => TEXT,
        _ => OTHER,
    }
}

/// A word without its bits, and those.
fn unjoined(word: &str) -> (&str, Option<u32>) {
    let kind = word.trim_end_matches(|c: char| c.is_ascii_digit());
    (kind, word.get(kind.len()..).and_then(|bits| bits.parse().ok()))
}

fn value_of(word: &str, said: &str) -> Option<Value> {
    let Some(name) = word.strip_suffix(LIST) else { return scalar_of(word, said) };
    let values: Vec<&RawValue> = serde_json::from_str(said).ok()?;
    let values = values.iter().map(|value| scalar_of(name, value.get()));
    values.collect::<Option<Vec<_>>>().map(Value::List)
}

/// Numbers are read by their digits, so that they are the same to the last bit.
fn scalar_of(word: &str, said: &str) -> Option<Value> {
    // JSON has no number for some, which are texts then.
    let bare = said.trim_matches('"');
    Some(match word {
        INT => Value::Int(said.parse().ok()?),
        UINT => Value::UInt(said.parse().ok()?),
        ADDRESS => Value::Address(u64::from_str_radix(bare.strip_prefix("0x")?, 16).ok()?),
        SINGLE => Value::Float32(bare.parse().ok()?),
        DOUBLE => Value::Float(bare.parse().ok()?),
        BOOL => Value::Bool(said.parse().ok()?),
        TEXT => Value::Text(serde_json::from_str(said).ok()?),
        _ => super::activity_json::value(serde_json::from_str(said).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &'static str, value: Value, bits: Option<u32>) -> Field<'static> {
        Field { name: name.into(), value, bits }
    }

    #[test]
    fn kinds_and_widths_of_fields_come_back() {
        let large = Value::UInt(u64::MAX);
        let fields = vec![
            field("a", Value::Int(-1), Some(32)),
            field("a", large, Some(64)),
            field("b", Value::Int(i64::MIN), None),
            field("c", Value::Float32(0.1), Some(32)),
            field("d", Value::Float(0.1), None),
            field("e", Value::Float(f64::NEG_INFINITY), None),
            field("f", Value::Address(0xFFFF), Some(64)),
            field("g", true.into(), None),
            field("h", "say \"7\"\n".into(), None),
            field("i", Value::List(vec![Value::UInt(1), Value::UInt(2)]), Some(8)),
            field("j", Value::List(Vec::new()), Some(8)),
            field("k", Value::List(vec![Value::Int(1), "a".into()]), None),
        ];
        let event = Fields { name: "all".into(), fields };
        let text = event.to_string();
        let spelt = event.to_json(&text).unwrap();
        assert_eq!(read(spelt.as_bytes()), Some((event.clone(), None)));
        let spelt = event.to_json("as it was").unwrap();
        assert_eq!(read(spelt.as_bytes()), Some((event, Some("as it was".to_owned()))));
    }

    #[test]
    fn an_event_reads_well() {
        let fields = vec![field("prev_tid", Value::Int(7), Some(32)), field("c", "x".into(), None)];
        let event = Fields { name: "sched_switch".into(), fields };
        let spelt = "{\"event\":\"sched_switch\",\"fields\":{\"prev_tid\":7,\"c\":\"x\"},\
                     \"types\":[\"int32\",\"text\"]}";
        assert_eq!(event.to_json("sched_switch: prev_tid = 7, c = x").as_deref(), Some(spelt));
        let bare = Fields { name: "tick".into(), fields: Vec::new() };
        assert_eq!(bare.to_json("tick").as_deref(), Some("{\"event\":\"tick\"}"));
    }

    #[test]
    fn what_is_not_spelt_so_is_no_event() {
        for other in [
            "{\"event\":7}",
            "{\"event\":\"a\",\"fields\":{\"b\":1}}",
            "{\"event\":\"a\",\"fields\":{\"b\":1},\"types\":[\"text\"]}",
            "{\"event\":\"a\",\"fields\":{\"b\":1},\"types\":[\"int99999999999\",\"int\"]}",
            "{\"event\":",
            "\"event\"",
        ] {
            assert_eq!(read(other.as_bytes()), None, "{other}");
        }
    }
}
