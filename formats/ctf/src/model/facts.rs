//! The fields of an event that say what it is to tasks.

use std::sync::Arc;

use crate::read::{Node, Visitor};
use crate::render::Plain;
use crate::types::{Integer, Label};

/// Fields that are looked at; events that tell of tasks have a dozen.
const FIELDS_MAX: usize = 64;

/// An event as a text, and the fields that stand directly in it.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) plain: Plain,
    /// Whether nobody asks for the text.
    is_textless: bool,
    depth: u32,
    numbers: Vec<(Arc<str>, i128)>,
    texts: Vec<(Arc<str>, String)>,
}

impl Facts {
    pub(super) fn new(is_textless: bool) -> Self {
        Self { is_textless, ..Self::default() }
    }

    pub(super) fn clear(&mut self) {
        self.plain.clear();
        self.depth = 0;
        self.numbers.clear();
        self.texts.clear();
    }

    /// The number of a field.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        let found = self.numbers.iter().find(|(known, _)| shown(known) == name);
        found.and_then(|(_, value)| i64::try_from(*value).ok())
    }

    /// The text of a field.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let found = self.texts.iter().find(|(known, _)| shown(known) == name);
        found.map(|(_, text)| text.as_str())
    }

    fn keep(&mut self, node: &Node, value: i128) {
        if self.depth == 1 && self.numbers.len() < FIELDS_MAX {
            self.numbers.push((Arc::clone(&node.name), value));
        }
    }
}

fn shown(name: &str) -> &str {
    name.strip_prefix('_').unwrap_or(name)
}

impl Visitor for Facts {
    fn open(&mut self, node: &Node, is_array: bool) {
        self.depth += 1;
        if !self.is_textless {
            self.plain.open(node, is_array);
        }
    }

    fn close(&mut self, is_array: bool) {
        self.depth = self.depth.saturating_sub(1);
        if !self.is_textless {
            self.plain.close(is_array);
        }
    }

    fn integer(&mut self, node: &Node, integer: &Integer, value: i128) {
        self.keep(node, value);
        if !self.is_textless {
            self.plain.integer(node, integer, value);
        }
    }

    fn label(&mut self, node: &Node, labels: &[Label], value: i128) {
        self.keep(node, value);
        if !self.is_textless {
            self.plain.label(node, labels, value);
        }
    }

    fn float(&mut self, node: &Node, value: f64) {
        if !self.is_textless {
            self.plain.float(node, value);
        }
    }

    fn text(&mut self, node: &Node, text: &[u8]) {
        if self.depth == 1 && self.texts.len() < FIELDS_MAX {
            let text = String::from_utf8_lossy(text).into_owned();
            self.texts.push((Arc::clone(&node.name), text));
        }
        if !self.is_textless {
            self.plain.text(node, text);
        }
    }
}
