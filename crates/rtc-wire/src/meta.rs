//! Description of a stream, and its JSON in a Meta or meta frame.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The keys that [`StreamMeta`] has fields for; `type` is what old files call `format`.
const TYPED: [&str; 6] = ["id", "name", "length", "cont", "format", "type"];

/// The format of a stream that names none.
const RAW: &str = "raw";

/// Description of a stream: its name, its length if that is fixed, its format, and any attributes.
///
/// ```
/// use kymo_rtc_wire::meta::StreamMeta;
///
/// let sample = StreamMeta::new("sample").length(2).format("uint16le").text("clock", "clk")?;
/// let text = r#"{"id":9,"name":"sample","length":2,"format":"uint16le","clock":"clk"}"#;
/// assert_eq!(sample.to_json(9), text);
/// # Ok::<(), kymo_rtc_wire::meta::MetaError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamMeta {
    name: String,
    length_bytes: Option<u64>,
    is_cont: bool,
    format: String,
    is_hidden: bool,
    /// Further keys and their JSON.
    attributes: Vec<(String, String)>,
    /// The same keys, to be found quickly among very many.
    keys: BTreeSet<String>,
}

impl StreamMeta {
    /// A stream of messages of any length, without a format.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            length_bytes: None,
            is_cont: false,
            format: RAW.to_owned(),
            is_hidden: false,
            attributes: Vec::new(),
            keys: BTreeSet::new(),
        }
    }

    /// Every message has this many bytes, which saves the length field of each frame.
    #[must_use]
    pub fn length(mut self, bytes: u64) -> Self {
        self.length_bytes = Some(bytes);
        self
    }

    /// The stream is one run of bytes without borders between messages, such as standard output.
    #[must_use]
    pub fn cont(mut self, is_cont: bool) -> Self {
        self.is_cont = is_cont;
        self
    }

    /// Sets the format by which a message is to be decoded: a default format of the specification,
    /// or any other name.
    #[must_use]
    pub fn format(mut self, format: &str) -> Self {
        format.clone_into(&mut self.format);
        self
    }

    /// The stream is left out of Index and index frames; it is still in Meta.
    #[must_use]
    pub fn hidden(mut self, is_hidden: bool) -> Self {
        self.is_hidden = is_hidden;
        self
    }

    /// Adds an attribute that is text.
    pub fn text(self, key: &str, value: &str) -> Result<Self, MetaError> {
        let value = quoted(value);
        self.attribute(key, value)
    }

    /// Adds an attribute that is a number; one that is not finite is refused.
    pub fn number(self, key: &str, value: f64) -> Result<Self, MetaError> {
        match serde_json::to_string(&value) {
            Ok(text) if value.is_finite() => self.attribute(key, text),
            _ => Err(MetaError::NotFinite(key.to_owned())),
        }
    }

    /// Adds an attribute that is true or false.
    pub fn flag(self, key: &str, value: bool) -> Result<Self, MetaError> {
        self.attribute(key, if value { "true" } else { "false" }.to_owned())
    }

    /// Adds an attribute whose value is JSON of any kind.
    pub fn json(mut self, key: &str, value: &str) -> Result<Self, MetaError> {
        self.add_json(key, value)?;
        Ok(self)
    }

    /// As [`json`](Self::json), of one that stays as it is where that fails.
    pub fn add_json(&mut self, key: &str, value: &str) -> Result<(), MetaError> {
        match serde_json::from_str::<&RawValue>(value) {
            Ok(value) => self.add_attribute(key, value.get().to_owned()),
            Err(_) => Err(MetaError::NotJson(key.to_owned())),
        }
    }

    /// Adds every attribute of a JSON object, in its order.
    pub fn object(mut self, text: &str) -> Result<Self, MetaError> {
        let Object(entries) = serde_json::from_str(text).map_err(|_| MetaError::NotAnObject)?;
        for (key, value) in entries {
            self.add_attribute(&key, value.get().to_owned())?;
        }
        Ok(self)
    }

    fn attribute(mut self, key: &str, json: String) -> Result<Self, MetaError> {
        self.add_attribute(key, json)?;
        Ok(self)
    }

    fn add_attribute(&mut self, key: &str, json: String) -> Result<(), MetaError> {
        if TYPED.contains(&key) {
            return Err(MetaError::Typed(key.to_owned()));
        }
        if !self.keys.insert(key.to_owned()) {
            return Err(MetaError::Twice(key.to_owned()));
        }
        self.attributes.push((key.to_owned(), json));
        Ok(())
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes of every message, if that is fixed.
    #[must_use]
    pub fn length_bytes(&self) -> Option<u64> {
        self.length_bytes
    }

    /// Returns true if Index and index frames leave the stream out.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.is_hidden
    }

    /// The object that stands for the stream in Meta. What has its default value is left out.
    #[must_use]
    pub fn to_json(&self, id: u32) -> String {
        let mut text = String::from("{");
        put(&mut text, format_args!("\"id\":{id},\"name\":{}", quoted(&self.name)));
        if let Some(length) = self.length_bytes {
            put(&mut text, format_args!(",\"length\":{length}"));
        }
        if self.is_cont {
            text.push_str(",\"cont\":true");
        }
        if self.format != RAW {
            put(&mut text, format_args!(",\"format\":{}", quoted(&self.format)));
        }
        for (key, json) in &self.attributes {
            put(&mut text, format_args!(",{}:{json}", quoted(key)));
        }
        text.push('}');
        text
    }
}

/// Returns true if a text is one JSON value.
#[must_use]
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<de::IgnoredAny>(text).is_ok()
}

/// Appends to a string, which cannot fail.
fn put(text: &mut String, arguments: fmt::Arguments<'_>) {
    let _ = text.write_fmt(arguments);
}

/// Text as JSON: in quotes, with what needs it escaped.
#[must_use]
pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Reason why a stream cannot be described.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetaError {
    /// The attributes are not the JSON object they should be.
    #[error("the attributes are not a JSON object")]
    NotAnObject,
    /// The value of this key is not JSON.
    #[error("the value of attribute {0:?} is not JSON")]
    NotJson(String),
    /// The value of this key is no number that JSON has.
    #[error("the value of attribute {0:?} is not finite")]
    NotFinite(String),
    /// This key has a field of its own in [`StreamMeta`].
    #[error("attribute {0:?} is set by a field of its own")]
    Typed(String),
    /// This key was given twice.
    #[error("attribute {0:?} is given twice")]
    Twice(String),
}

/// The entries of a JSON object in their order, with values as they are written.
struct Object(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry().map_err(de::Error::custom)? {
            entries.push(entry);
        }
        Ok(Object(entries))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn names_and_values_are_escaped() {
        let meta = StreamMeta::new("a \"b\"\n").text("unit", "µ\\").unwrap();
        assert_eq!(
            meta.to_json(300),
            "{\"id\":300,\"name\":\"a \\\"b\\\"\\n\",\"unit\":\"µ\\\\\"}"
        );
    }

    #[test]
    fn every_kind_of_attribute_is_written() {
        let meta = StreamMeta::new("x")
            .cont(true)
            .number("gain", 1e-6)
            .unwrap()
            .flag("clock", true)
            .unwrap()
            .json("range", " [0, 5] ")
            .unwrap()
            .object(r#" {"z": null, "a": {"b": "c"}} "#)
            .unwrap();
        let text = r#"{"id":9,"name":"x","cont":true,"gain":1e-6,"clock":true,"range":[0, 5],"z":null,"a":{"b": "c"}}"#;
        assert_eq!(meta.to_json(9), text);
    }

    #[test]
    fn attributes_that_would_break_the_json_are_refused() {
        let meta = StreamMeta::new("x");
        assert_eq!(meta.clone().object("[]"), Err(MetaError::NotAnObject));
        assert_eq!(meta.clone().object("{} {}"), Err(MetaError::NotAnObject));
        assert_eq!(meta.clone().json("a", "1,2"), Err(MetaError::NotJson("a".into())));
        assert_eq!(meta.clone().number("a", f64::NAN), Err(MetaError::NotFinite("a".into())));
        assert_eq!(meta.clone().object(r#"{"id":1}"#), Err(MetaError::Typed("id".into())));
        assert_eq!(meta.object(r#"{"a":1,"a":2}"#), Err(MetaError::Twice("a".into())));
    }
}
