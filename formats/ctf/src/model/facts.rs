//! The fields of an event that say what it is to tasks.

use std::ops::Range;
use std::sync::Arc;

use super::roles::{Role, Roles};
use crate::Reader;
use crate::read::{Known, Node, Visitor};
use crate::render::Plain;
use crate::types::{Integer, Label};

/// An event as a text, and those fields that stand directly in it and are known.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(super) plain: Plain,
    /// Whether nobody asks for the text: then only events that have a role are looked at.
    is_textless: bool,
    /// Whether names of tasks are kept: afterwards they are known.
    is_survey: bool,
    roles: Arc<Roles>,
    depth: u32,
    numbers: [Option<i64>; Known::COUNT],
    /// Where texts are in the one below.
    ranges: [Option<(usize, usize)>; Known::COUNT],
    texts: String,
}

impl Facts {
    /// For who wants to know who there is.
    pub(super) fn surveying(roles: &Arc<Roles>) -> Self {
        Self { is_survey: true, ..Self::telling(roles, true) }
    }

    /// For who wants to know what happened.
    pub(super) fn telling(roles: &Arc<Roles>, is_textless: bool) -> Self {
        Self {
            plain: Plain::default(),
            is_textless,
            is_survey: false,
            roles: Arc::clone(roles),
            depth: 0,
            numbers: [None; Known::COUNT],
            ranges: [None; Known::COUNT],
            texts: String::new(),
        }
    }

    /// The number of a field.
    pub(super) fn number(&self, of: Known) -> Option<i64> {
        self.numbers.get(of as usize).copied().flatten()
    }

    /// The text of a field.
    pub(super) fn text(&self, of: Known) -> Option<&str> {
        let (start, end) = self.ranges.get(of as usize).copied().flatten()?;
        self.texts.get(Range { start, end })
    }

    fn keep(&mut self, node: &Node, value: i128) {
        // Of two of one name the first counts: contexts come before fields.
        if let (1, Some(known)) = (self.depth, node.known)
            && let Some(kept) = self.numbers.get_mut(known as usize)
        {
            *kept = kept.or(i64::try_from(value).ok());
        }
    }

    fn keep_text(&mut self, node: &Node, text: &[u8]) {
        if let (1, Some(known)) = (self.depth, node.known)
            && (self.is_survey || known == Known::Name)
            && let Some(kept) = self.ranges.get_mut(known as usize)
            && kept.is_none()
        {
            let start = self.texts.len();
            self.texts.push_str(&String::from_utf8_lossy(text));
            *kept = Some((start, self.texts.len()));
        }
    }
}

impl Visitor for Facts {
    fn begin(&mut self, kind: usize) -> bool {
        let role = self.roles.get(kind);
        if self.is_textless && role.is_none() {
            return false;
        }
        self.plain.clear();
        self.depth = 0;
        if role.is_some() {
            self.numbers = [None; Known::COUNT];
            self.ranges = [None; Known::COUNT];
            self.texts.clear();
        }
        true
    }

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
        self.keep_text(node, text);
        if !self.is_textless {
            self.plain.text(node, text);
        }
    }
}

/// Which tasks a switch stops and lets run, and nothing else of events.
pub(crate) struct Switches {
    roles: Roles,
    depth: u32,
    stops: Option<i64>,
    runs: Option<i64>,
}

impl Switches {
    pub(crate) fn new(reader: &Reader) -> Self {
        Self { roles: Roles::new(reader.layouts()), depth: 0, stops: None, runs: None }
    }

    /// The tasks that the event stops and lets run, where it is a switch.
    pub(crate) fn switch(&self) -> Option<(i64, i64)> {
        self.stops.zip(self.runs)
    }
}

impl Visitor for Switches {
    fn begin(&mut self, kind: usize) -> bool {
        (self.depth, self.stops, self.runs) = (0, None, None);
        self.roles.get(kind) == Some(Role::Switch)
    }

    fn open(&mut self, _node: &Node, _is_array: bool) {
        self.depth += 1;
    }

    fn close(&mut self, _is_array: bool) {
        self.depth = self.depth.saturating_sub(1);
    }

    fn integer(&mut self, node: &Node, _integer: &Integer, value: i128) {
        let value = i64::try_from(value).ok();
        match node.known {
            Some(Known::PrevTid) if self.depth == 1 => self.stops = self.stops.or(value),
            Some(Known::NextTid) if self.depth == 1 => self.runs = self.runs.or(value),
            _ => {}
        }
    }
}
