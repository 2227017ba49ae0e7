//! Fields as text for a person, as JSON, and as values under their names.

use std::fmt::Write;

use kymo_core::model::timeline::Field;
use serde_json::{Map, Number, Value};

use crate::read::{Node, Visitor, Want};
use crate::types::{Integer, Label};

/// Fields as a person reads them, and as babeltrace prints them:
/// `{ prev_comm = "init", prev_tid = 1 }`.
#[derive(Debug, Default)]
pub(crate) struct Plain {
    pub(crate) text: String,
    /// Whether a comma is due.
    is_first: bool,
    /// For each structure or array we are within: how many elements of the array came before.
    within: Vec<Option<u64>>,
}

impl Plain {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.within.clear();
        self.is_first = true;
    }

    fn lead(&mut self, node: &Node) {
        if !std::mem::take(&mut self.is_first) {
            self.text.push_str(", ");
        }
        if let Some(Some(index)) = self.within.last_mut() {
            let _ = write!(self.text, "[{index}] = ");
            *index += 1;
        } else if !node.name.is_empty() {
            self.text.push_str(node.shown());
            self.text.push_str(" = ");
        }
    }
}

/// An integer in the base that the metadata wants.
fn write_integer(integer: &Integer, value: i128, to: &mut String) {
    // Negative numbers in another base than ten are shown as the bits they are.
    let bits = match integer.bits {
        64.. => value & i128::from(u64::MAX),
        bits => value & ((1 << bits) - 1),
    };
    let _ = match integer.base {
        2 => write!(to, "0b{bits:b}"),
        8 => write!(to, "0o{bits:o}"),
        16 => write!(to, "0x{bits:X}"),
        _ => write!(to, "{value}"),
    };
}

/// The name of a value, where it has one.
fn name_of(labels: &[Label], value: i128) -> Option<&str> {
    let label = labels.iter().find(|label| (label.first..=label.last).contains(&value));
    label.map(|label| &*label.name)
}

impl Visitor for Plain {
    fn open(&mut self, node: &Node, is_array: bool) {
        self.lead(node);
        self.text.push_str(if is_array { "[ " } else { "{ " });
        self.is_first = true;
        self.within.push(is_array.then_some(0));
    }

    fn close(&mut self, is_array: bool) {
        let is_empty = std::mem::take(&mut self.is_first);
        let close = if is_array { "]" } else { "}" };
        self.text.push_str(if is_empty { "" } else { " " });
        self.text.push_str(close);
        self.within.pop();
    }

    fn integer(&mut self, node: &Node, integer: &Integer, value: i128) {
        self.lead(node);
        write_integer(integer, value, &mut self.text);
    }

    fn label(&mut self, node: &Node, labels: &[Label], value: i128) {
        self.lead(node);
        let _ = match name_of(labels, value) {
            Some(name) => write!(self.text, "( {name:?} : container = {value} )"),
            None => write!(self.text, "( <unknown> : container = {value} )"),
        };
    }

    fn float(&mut self, node: &Node, value: f64) {
        self.lead(node);
        let _ = write!(self.text, "{value}");
    }

    fn text(&mut self, node: &Node, text: &[u8]) {
        self.lead(node);
        let _ = write!(self.text, "{:?}", String::from_utf8_lossy(text));
    }
}

/// Fields as a JSON object; those of contexts and of the event itself in one.
#[derive(Debug, Default)]
pub(crate) struct Json {
    open: Vec<Level>,
    fields: Map<String, Value>,
}

#[derive(Debug)]
struct Level {
    name: String,
    value: Open,
}

#[derive(Debug)]
enum Open {
    Object(Map<String, Value>),
    List(Vec<Value>),
}

impl Json {
    fn clear(&mut self) {
        self.open.clear();
        self.fields = Map::new();
    }

    /// What was told since it was cleared.
    pub(crate) fn take(&mut self) -> String {
        Value::Object(std::mem::take(&mut self.fields)).to_string()
    }

    fn put(&mut self, name: &str, value: Value) {
        match self.open.last_mut().map(|level| &mut level.value) {
            Some(Open::Object(object)) => drop(object.insert(name.to_owned(), value)),
            Some(Open::List(list)) => list.push(value),
            // The structure around all fields: what was in it is what we have.
            None => match value {
                Value::Object(object) if name.is_empty() => self.fields.extend(object),
                value => drop(self.fields.insert(name.to_owned(), value)),
            },
        }
    }
}

impl Visitor for Json {
    fn begin(&mut self, _kind: usize) -> Want {
        self.clear();
        Want { known: false, all: true }
    }

    fn open(&mut self, node: &Node, is_array: bool) {
        let value = if is_array { Open::List(Vec::new()) } else { Open::Object(Map::new()) };
        self.open.push(Level { name: node.shown().to_owned(), value });
    }

    fn close(&mut self, _is_array: bool) {
        let Some(level) = self.open.pop() else { return };
        let value = match level.value {
            Open::Object(object) => Value::Object(object),
            Open::List(list) => Value::Array(list),
        };
        self.put(&level.name, value);
    }

    fn integer(&mut self, node: &Node, _integer: &Integer, value: i128) {
        self.put(node.shown(), number(value));
    }

    fn label(&mut self, node: &Node, labels: &[Label], value: i128) {
        let value = match name_of(labels, value) {
            Some(name) => Value::String(name.to_owned()),
            None => number(value),
        };
        self.put(node.shown(), value);
    }

    fn float(&mut self, node: &Node, value: f64) {
        let number = Number::from_f64(value).map(Value::Number);
        self.put(node.shown(), number.unwrap_or_else(|| Value::String(value.to_string())));
    }

    fn text(&mut self, node: &Node, text: &[u8]) {
        self.put(node.shown(), Value::String(String::from_utf8_lossy(text).into_owned()));
    }
}

/// Integers have 64 bits at most, with or without a sign.
fn number(value: i128) -> Value {
    match (u64::try_from(value), i64::try_from(value)) {
        (Ok(value), _) => value.into(),
        (_, Ok(value)) => value.into(),
        _ => Value::Null,
    }
}

/// Fields as values under their names. One within a structure has the names of both; an array is a
/// list.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    fields: Vec<Field<'static>>,
    /// The structures we are within.
    path: Vec<String>,
    /// How many arrays, and structures within these, we are within.
    depth: u32,
    /// The outermost array, and the bits of its numbers.
    array: Json,
    bits: Option<u32>,
}

impl Collected {
    pub(crate) fn clear(&mut self) {
        self.fields.clear();
        self.path.clear();
        (self.depth, self.bits) = (0, None);
        self.array.clear();
    }

    /// What was told since it was cleared.
    pub(crate) fn take(&mut self) -> Vec<Field<'static>> {
        std::mem::take(&mut self.fields)
    }

    fn name(&self, node: &Node) -> String {
        let names = self.path.iter().map(String::as_str).filter(|name| !name.is_empty());
        names.chain([node.shown()]).collect::<Vec<_>>().join(".")
    }

    fn put(&mut self, node: &Node, value: impl Into<kymo_core::Value>, bits: Option<u32>) {
        let name = self.name(node).into();
        self.fields.push(Field { name, value: value.into(), bits });
    }
}

impl Visitor for Collected {
    fn open(&mut self, node: &Node, is_array: bool) {
        if self.depth == 0 && !is_array {
            return self.path.push(node.shown().to_owned());
        }
        if self.depth == 0 {
            self.path.push(node.shown().to_owned());
            self.array.clear();
            self.bits = None;
        }
        self.depth += 1;
        self.array.open(node, is_array);
    }

    fn close(&mut self, is_array: bool) {
        if self.depth == 0 {
            self.path.pop();
            return;
        }
        self.depth -= 1;
        self.array.close(is_array);
        if self.depth == 0 {
            let names = self.path.iter().map(String::as_str).filter(|name| !name.is_empty());
            let name = names.collect::<Vec<_>>().join(".").into();
            self.path.pop();
            let all = std::mem::take(&mut self.array.fields).into_iter().next();
            let value = all.map_or(kymo_core::Value::Null, |(_, value)| list(value));
            self.fields.push(Field { name, value, bits: self.bits });
        }
    }

    fn integer(&mut self, node: &Node, integer: &Integer, value: i128) {
        let bits = Some(integer.bits);
        if self.depth > 0 {
            self.bits = self.bits.max(bits);
            return self.array.integer(node, integer, value);
        }
        match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) if integer.is_signed => self.put(node, value, bits),
            (_, Ok(value)) => self.put(node, value, bits),
            _ => self.put(node, value.to_string(), None),
        }
    }

    fn label(&mut self, node: &Node, labels: &[Label], value: i128) {
        if self.depth > 0 {
            return self.array.label(node, labels, value);
        }
        match name_of(labels, value) {
            Some(name) => self.put(node, name, None),
            None => self.put(node, value.to_string(), None),
        }
    }

    fn float(&mut self, node: &Node, value: f64) {
        if self.depth > 0 {
            return self.array.float(node, value);
        }
        self.put(node, value, None);
    }

    fn text(&mut self, node: &Node, text: &[u8]) {
        if self.depth > 0 {
            return self.array.text(node, text);
        }
        self.put(node, String::from_utf8_lossy(text).into_owned(), None);
    }
}

/// An array as a list of values; what is more than values stays JSON.
fn list(array: Value) -> kymo_core::Value {
    let Value::Array(values) = array else { return kymo_core::Value::Json(Box::new(array)) };
    let one = |value: Value| match value {
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(value), ..) => value.into(),
            (_, Some(value), _) => value.into(),
            (.., Some(value)) => value.into(),
            _ => number.to_string().into(),
        },
        Value::String(text) => text.into(),
        other => kymo_core::Value::Json(Box::new(other)),
    };
    let mut values: Vec<kymo_core::Value> = values.into_iter().map(one).collect();
    // Where some are negative, all are signed.
    if values.iter().any(|value| matches!(value, kymo_core::Value::Int(_))) {
        for value in &mut values {
            if let kymo_core::Value::UInt(number) = value
                && let Ok(number) = i64::try_from(*number)
            {
                *value = number.into();
            }
        }
    }
    kymo_core::Value::List(values)
}
