//! Fields as text for a person, and as JSON.

use std::fmt::Write;

use serde_json::{Map, Number, Value};

use crate::read::{Node, Visitor};
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
    value: Collected,
}

#[derive(Debug)]
enum Collected {
    Object(Map<String, Value>),
    List(Vec<Value>),
}

impl Json {
    /// What was told since it was cleared.
    pub(crate) fn take(&mut self) -> String {
        Value::Object(std::mem::take(&mut self.fields)).to_string()
    }

    fn put(&mut self, name: &str, value: Value) {
        match self.open.last_mut().map(|level| &mut level.value) {
            Some(Collected::Object(object)) => drop(object.insert(name.to_owned(), value)),
            Some(Collected::List(list)) => list.push(value),
            // The structure around all fields: what was in it is what we have.
            None => match value {
                Value::Object(object) if name.is_empty() => self.fields.extend(object),
                value => drop(self.fields.insert(name.to_owned(), value)),
            },
        }
    }
}

impl Visitor for Json {
    fn begin(&mut self, _kind: usize) -> bool {
        self.open.clear();
        self.fields = Map::new();
        true
    }

    fn open(&mut self, node: &Node, is_array: bool) {
        let value =
            if is_array { Collected::List(Vec::new()) } else { Collected::Object(Map::new()) };
        self.open.push(Level { name: node.shown().to_owned(), value });
    }

    fn close(&mut self, _is_array: bool) {
        let Some(level) = self.open.pop() else { return };
        let value = match level.value {
            Collected::Object(object) => Value::Object(object),
            Collected::List(list) => Value::Array(list),
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
