//! Fields as values under their names.

use std::borrow::Cow;

use kymo_core::Value;
use kymo_model::timeline::Field;
use serde_json::{Map, Value as JsonValue};

use super::{RenamedFields, flag_names, name_of, shown, write_hexadecimal};
use crate::read::{DecodeRequest, EventLayout, Layouts, Node, NodeId, Real, Visitor};
use crate::types::{Flag, Integer, Label};

/// Fields as values under their names. One within a structure has the names of both; an array is a
/// list.
#[derive(Debug, Default)]
pub(crate) struct FieldValues {
    fields: Vec<NamedValue>,
    renamed: RenamedFields,
    /// The names of structures we are within, each with a point, and where each of them begins.
    path: String,
    begins: Vec<usize>,
    /// The array we are within, if any.
    array: Option<List>,
    /// True if some bytes are no UTF-8, and shown as marks.
    pub(crate) is_broken: bool,
}

/// A field, whose name is mostly that of its node.
#[derive(Debug)]
struct NamedValue {
    name: Name,
    value: Value,
    bits: Option<u32>,
}

#[derive(Debug)]
enum Name {
    Of(NodeId),
    Made(String),
}

impl FieldValues {
    /// Takes the fields that were collected of the event.
    pub(crate) fn take<'a>(&mut self, layouts: Option<&'a Layouts>) -> Vec<Field<'a>> {
        let node = |id| layouts.and_then(|layouts| layouts.node(id));
        let field = |NamedValue { name, value, bits }: NamedValue| {
            let name = match name {
                Name::Of(id) => Cow::Borrowed(node(id).map_or("", Node::shown)),
                Name::Made(name) => name.into(),
            };
            Field { name, value, bits }
        };
        self.fields.drain(..).map(field).collect()
    }

    fn name(&self, node: &Node) -> Name {
        if self.path.is_empty() && self.renamed.is_plain(node) {
            return Name::Of(node.id);
        }
        let mut name = self.path.clone();
        self.renamed.write(node, &mut name);
        Name::Made(name)
    }

    fn put(&mut self, node: &Node, value: Value, bits: Option<u32>) {
        if let Some(list) = &mut self.array {
            list.put(node, value, bits);
        } else {
            let name = self.name(node);
            self.fields.push(NamedValue { name, value, bits });
        }
    }
}

impl Visitor for FieldValues {
    fn begin(&mut self, event: &EventLayout) -> DecodeRequest {
        self.fields.clear();
        self.renamed.begin(event);
        self.path.clear();
        self.begins.clear();
        (self.array, self.is_broken) = (None, false);
        DecodeRequest { known: false, all: true }
    }

    fn open(&mut self, node: &Node, is_array: bool) {
        if let Some(list) = &mut self.array {
            return list.open.push(Level::new(node, is_array));
        }
        if is_array {
            let (values, open, bits) = (Vec::new(), Vec::new(), None);
            self.array = Some(List { name: self.name(node), values, open, bits });
            return;
        }
        self.begins.push(self.path.len());
        if !node.name.is_empty() {
            self.renamed.write(node, &mut self.path);
            self.path.push('.');
        }
    }

    fn close(&mut self, _is_array: bool) {
        let Some(list) = &mut self.array else {
            self.path.truncate(self.begins.pop().unwrap_or(0));
            return;
        };
        if list.open.is_empty() {
            let field = self.array.take().map(List::finish);
            self.fields.extend(field);
        } else {
            list.close();
        }
    }

    fn integer(&mut self, node: &Node, integer: &Integer, value: i128) {
        let bits = Some(integer.bits);
        // Whether those of an array have a sign is told when all of them are known.
        let is_signed = integer.is_signed && self.array.is_none();
        match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) if is_signed => self.put(node, value.into(), bits),
            (_, Ok(value)) => self.put(node, value.into(), bits),
            (Ok(value), _) => self.put(node, value.into(), bits),
            _ => self.put(node, value.to_string().into(), None),
        }
    }

    fn label(&mut self, node: &Node, labels: &[Label], value: i128) {
        let name = name_of(labels, value);
        let name = name.map_or_else(|| value.to_string(), Cow::into_owned);
        self.put(node, name.into(), None);
    }

    fn flags(&mut self, node: &Node, flags: &[Flag], value: u64) {
        let names = flag_names(flags, value).unwrap_or_else(|| value.to_string());
        self.put(node, names.into(), None);
    }

    fn boolean(&mut self, node: &Node, value: bool) {
        self.put(node, Value::Bool(value), None);
    }

    fn blob(&mut self, node: &Node, bytes: &[u8]) {
        let mut text = String::new();
        write_hexadecimal(bytes, &mut text);
        self.put(node, text.into(), None);
    }

    /// In a list, those after it keep their places; elsewhere, what is not there has no name either.
    fn absent(&mut self, node: &Node) {
        if self.array.is_some() {
            self.put(node, Value::Null, None);
        }
    }

    fn real(&mut self, node: &Node, value: Real) {
        let value = match value {
            Real::Single(value) => value.into(),
            Real::Double(value) => value.into(),
        };
        self.put(node, value, None);
    }

    fn text(&mut self, node: &Node, text: &[u8]) {
        let (text, is_broken) = shown(text);
        self.is_broken |= is_broken;
        self.put(node, text.into_owned().into(), None);
    }
}

/// An array that is being told.
#[derive(Debug)]
struct List {
    name: Name,
    values: Vec<Value>,
    /// The bits of its numbers.
    bits: Option<u32>,
    /// Arrays and structures within it that we are within: these stay JSON.
    open: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    key: String,
    value: Open,
}

#[derive(Debug)]
enum Open {
    Object(Map<String, JsonValue>),
    List(Vec<JsonValue>),
}

impl Level {
    fn new(node: &Node, is_array: bool) -> Self {
        let value = if is_array { Open::List(Vec::new()) } else { Open::Object(Map::new()) };
        Self { key: key_of(node), value }
    }

    fn put(&mut self, key: impl FnOnce() -> String, value: JsonValue) {
        match &mut self.value {
            Open::Object(object) => drop(object.insert(key(), value)),
            Open::List(list) => list.push(value),
        }
    }
}

fn key_of(node: &Node) -> String {
    let mut key = String::new();
    RenamedFields::default().write(node, &mut key);
    key
}

impl List {
    fn put(&mut self, node: &Node, value: Value, bits: Option<u32>) {
        self.bits = self.bits.max(bits);
        match self.open.last_mut() {
            Some(level) => {
                let value = serde_json::to_value(&value).unwrap_or(JsonValue::Null);
                level.put(|| key_of(node), value);
            }
            None => self.values.push(value),
        }
    }

    /// Ends the innermost array or structure within it.
    fn close(&mut self) {
        let Some(Level { key, value }) = self.open.pop() else { return };
        let value = match value {
            Open::Object(object) => JsonValue::Object(object),
            Open::List(list) => JsonValue::Array(list),
        };
        match self.open.last_mut() {
            Some(level) => level.put(|| key, value),
            None => self.values.push(Value::Json(Box::new(value))),
        }
    }

    fn finish(mut self) -> NamedValue {
        // Where some are negative, all are signed.
        if self.values.iter().any(|value| matches!(value, Value::Int(_))) {
            for value in &mut self.values {
                if let Value::UInt(number) = value
                    && let Ok(number) = i64::try_from(*number)
                {
                    *value = number.into();
                }
            }
        }
        NamedValue { name: self.name, value: Value::List(self.values), bits: self.bits }
    }
}
