//! Fields as JSON.

use std::fmt::Write;

use super::{
    RenamedFields, flag_names, name_of, shown, write_between_quotes, write_hexadecimal,
    write_integer,
};
use crate::read::{DecodeRequest, EventLayout, Node, Real, Visitor};
use crate::types::{Flag, Integer, Label};

/// Fields as a JSON object; those of contexts and of the event itself in one.
#[derive(Debug, Default)]
pub(crate) struct Json {
    text: String,
    renamed: RenamedFields,
    /// For each structure or array we are within: whether it is an array. The structure around all
    /// fields is none: what is in it is what we have.
    within: Vec<bool>,
    /// True if a comma is due.
    is_first: bool,
    /// True if some bytes are no UTF-8, and shown as marks.
    pub(crate) is_broken: bool,
}

impl Json {
    /// Returns the text of the event, once all of it was given.
    pub(crate) fn finish(&mut self) -> &str {
        self.text.push('}');
        &self.text
    }

    fn write_key(&mut self, node: &Node) {
        if !std::mem::take(&mut self.is_first) {
            self.text.push(',');
        }
        if self.within.last() != Some(&true) {
            self.name(node);
        }
    }

    fn name(&mut self, node: &Node) {
        if node.needs_escapes {
            let mut name = String::new();
            self.renamed.write(node, &mut name);
            write_text(&name, &mut self.text);
            return self.text.push(':');
        }
        self.text.push('"');
        self.renamed.write(node, &mut self.text);
        self.text.push_str("\":");
    }

    fn is_root(&self, node: &Node, is_array: bool) -> bool {
        self.within.is_empty() && !is_array && node.name.is_empty()
    }
}

/// Writes a text as JSON has it.
fn write_text(text: &str, to: &mut String) {
    write_between_quotes(text, |byte| byte >= 0x20, write_character, to);
}

fn write_character(character: char, to: &mut String) {
    if character < ' ' {
        let _ = write!(to, "\\u{:04x}", u32::from(character));
    } else {
        to.push(character);
    }
}

impl Visitor for Json {
    fn begin(&mut self, event: &EventLayout) -> DecodeRequest {
        self.text.clear();
        self.text.push('{');
        self.renamed.begin(event);
        self.within.clear();
        (self.is_first, self.is_broken) = (true, false);
        DecodeRequest { known: false, all: true }
    }

    fn open(&mut self, node: &Node, is_array: bool) {
        if !self.is_root(node, is_array) {
            self.write_key(node);
            self.text.push(if is_array { '[' } else { '{' });
            self.is_first = true;
        }
        self.within.push(is_array);
    }

    fn close(&mut self, is_array: bool) {
        self.within.pop();
        if !self.within.is_empty() || is_array {
            self.text.push(if is_array { ']' } else { '}' });
            self.is_first = false;
        }
    }

    fn integer(&mut self, node: &Node, _integer: &Integer, value: i128) {
        self.write_key(node);
        write_integer(value, &mut self.text);
    }

    fn label(&mut self, node: &Node, labels: &[Label], value: i128) {
        self.write_key(node);
        match name_of(labels, value) {
            Some(name) => write_text(&name, &mut self.text),
            None => write_integer(value, &mut self.text),
        }
    }

    fn flags(&mut self, node: &Node, flags: &[Flag], value: u64) {
        self.write_key(node);
        match flag_names(flags, value) {
            Some(names) => write_text(&names, &mut self.text),
            None => write_integer(value.into(), &mut self.text),
        }
    }

    fn boolean(&mut self, node: &Node, value: bool) {
        self.write_key(node);
        self.text.push_str(if value { "true" } else { "false" });
    }

    fn blob(&mut self, node: &Node, bytes: &[u8]) {
        self.write_key(node);
        self.text.push('"');
        write_hexadecimal(bytes, &mut self.text);
        self.text.push('"');
    }

    fn absent(&mut self, node: &Node) {
        self.write_key(node);
        self.text.push_str("null");
    }

    fn real(&mut self, node: &Node, value: Real) {
        self.write_key(node);
        let mut buffer = ryu::Buffer::new();
        self.text.push_str(match value {
            Real::Single(value) if value.is_finite() => buffer.format_finite(value),
            Real::Double(value) if value.is_finite() => buffer.format_finite(value),
            other if other.is_nan() => "\"NaN\"",
            other if other.is_negative() => "\"-Infinity\"",
            _ => "\"Infinity\"",
        });
    }

    fn text(&mut self, node: &Node, text: &[u8]) {
        self.write_key(node);
        let (text, is_broken) = shown(text);
        self.is_broken |= is_broken;
        write_text(&text, &mut self.text);
    }
}
