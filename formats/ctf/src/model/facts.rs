//! What is told of an event: its known fields, and its text or all of its fields.

use std::ops::Range;
use std::sync::Arc;

use kymo_core::model::kernel::KernelEvent;

use super::roles::{Role, Roles};
use crate::read::{Known, Node, Visitor, Want};
use crate::render::{Collected, Plain};
use crate::types::{Integer, Label};

/// The known fields of an event that has a role, and what else is asked for.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(super) telling: Telling,
    /// Whether names of tasks are kept: afterwards they are known.
    is_survey: bool,
    roles: Arc<Roles>,
    /// Which fields the event has, a bit each.
    has: u32,
    numbers: [i64; Known::COUNT],
    has_text: u32,
    /// Where texts are in the one below.
    ranges: [(usize, usize); Known::COUNT],
    texts: Vec<u8>,
}

/// What is asked for of all fields.
#[derive(Debug)]
pub(super) enum Telling {
    Nothing,
    Text(Plain),
    Fields(Collected),
}

impl Facts {
    /// For who wants to know who there is.
    pub(super) fn surveying(roles: &Arc<Roles>) -> Self {
        Self { is_survey: true, ..Self::telling(roles, Telling::Nothing) }
    }

    /// For who wants to know what happened.
    pub(super) fn telling(roles: &Arc<Roles>, telling: Telling) -> Self {
        Self {
            telling,
            is_survey: false,
            roles: Arc::clone(roles),
            has: 0,
            numbers: [0; Known::COUNT],
            has_text: 0,
            ranges: [(0, 0); Known::COUNT],
            texts: Vec::new(),
        }
    }

    /// The number of a field.
    #[inline]
    pub(super) fn number(&self, of: Known) -> Option<i64> {
        let is_there = self.has & of.bit() != 0;
        self.numbers.get(of as usize).copied().filter(|_| is_there)
    }

    /// The text of a field, as it was recorded.
    #[inline]
    pub(super) fn text(&self, of: Known) -> Option<&[u8]> {
        let is_there = self.has_text & of.bit() != 0;
        let (start, end) = self.ranges.get(of as usize).copied().filter(|_| is_there)?;
        self.texts.get(Range { start, end })
    }
}

impl Visitor for Facts {
    #[inline]
    fn begin(&mut self, kind: usize) -> Want {
        let known = self.roles.get(kind).is_some();
        if known {
            (self.has, self.has_text) = (0, 0);
            self.texts.clear();
        }
        let all = match &mut self.telling {
            Telling::Nothing => false,
            Telling::Text(plain) => {
                plain.clear();
                true
            }
            Telling::Fields(collected) => {
                collected.clear();
                true
            }
        };
        Want { known, all }
    }

    /// Of two of one name the first counts: that of the stream's context comes before the event's.
    #[inline]
    fn number(&mut self, known: Known, value: i64) {
        if self.has & known.bit() == 0
            && let Some(kept) = self.numbers.get_mut(known as usize)
        {
            *kept = value;
            self.has |= known.bit();
        }
    }

    #[inline]
    fn known_text(&mut self, known: Known, text: &[u8]) {
        if (self.is_survey || known == Known::Name)
            && self.has_text & known.bit() == 0
            && let Some(kept) = self.ranges.get_mut(known as usize)
        {
            let start = self.texts.len();
            self.texts.extend_from_slice(text);
            *kept = (start, self.texts.len());
            self.has_text |= known.bit();
        }
    }

    fn open(&mut self, node: &Node, is_array: bool) {
        match &mut self.telling {
            Telling::Nothing => {}
            Telling::Text(plain) => plain.open(node, is_array),
            Telling::Fields(collected) => collected.open(node, is_array),
        }
    }

    fn close(&mut self, is_array: bool) {
        match &mut self.telling {
            Telling::Nothing => {}
            Telling::Text(plain) => plain.close(is_array),
            Telling::Fields(collected) => collected.close(is_array),
        }
    }

    fn integer(&mut self, node: &Node, integer: &Integer, value: i128) {
        match &mut self.telling {
            Telling::Nothing => {}
            Telling::Text(plain) => plain.integer(node, integer, value),
            Telling::Fields(collected) => collected.integer(node, integer, value),
        }
    }

    fn label(&mut self, node: &Node, labels: &[Label], value: i128) {
        match &mut self.telling {
            Telling::Nothing => {}
            Telling::Text(plain) => plain.label(node, labels, value),
            Telling::Fields(collected) => collected.label(node, labels, value),
        }
    }

    fn float(&mut self, node: &Node, value: f64) {
        match &mut self.telling {
            Telling::Nothing => {}
            Telling::Text(plain) => plain.float(node, value),
            Telling::Fields(collected) => collected.float(node, value),
        }
    }

    fn text(&mut self, node: &Node, text: &[u8]) {
        match &mut self.telling {
            Telling::Nothing => {}
            Telling::Text(plain) => plain.text(node, text),
            Telling::Fields(collected) => collected.text(node, text),
        }
    }
}

/// Which tasks a switch stops and lets run, and nothing else of events.
pub(crate) struct Switches {
    roles: Roles,
    stops: Option<i64>,
    runs: Option<i64>,
}

impl Switches {
    pub(crate) fn new(reader: &crate::Reader) -> Self {
        Self { roles: Roles::new(reader), stops: None, runs: None }
    }

    /// The tasks that the event stops and lets run, where it is a switch.
    #[inline]
    pub(crate) fn switch(&self) -> Option<(i64, i64)> {
        self.stops.zip(self.runs)
    }
}

impl Visitor for Switches {
    #[inline]
    fn begin(&mut self, kind: usize) -> Want {
        (self.stops, self.runs) = (None, None);
        let known = self.roles.get(kind) == Some(Role::Kernel(KernelEvent::Switch));
        Want { known, all: false }
    }

    #[inline]
    fn number(&mut self, known: Known, value: i64) {
        match known {
            Known::PrevTid => self.stops = self.stops.or(Some(value)),
            Known::NextTid => self.runs = self.runs.or(Some(value)),
            _ => {}
        }
    }
}
