//! Calls within each other that are not over, and which of them a return ends.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

/// Calls are told apart up to so many within each other; what is called further in counts for the
/// last of them.
const DEPTH_MAX: usize = 1 << 12;

/// The calls of a track that are not over, with the names of their functions as numbers.
#[derive(Debug)]
pub(super) struct Nest<T> {
    open: Vec<(u64, T)>,
    /// Calls further in than are told apart.
    beyond: u64,
}

impl<T> Default for Nest<T> {
    fn default() -> Self {
        Self { open: Vec::new(), beyond: 0 }
    }
}

/// What a return ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// So many calls: that of the function that returns, and those within it, whose own returns are
    /// missing.
    Calls(usize),
    /// One that is further in than is told apart.
    Beyond,
    /// One that began before the recording.
    Before,
    /// A call of another function than those that are not over.
    Other,
}

impl<T> Nest<T> {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn last(&self) -> Option<&T> {
        self.open.last().map(|(_, call)| call)
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut T> {
        self.open.last_mut().map(|(_, call)| call)
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        self.open.pop().map(|(_, call)| call)
    }

    pub(super) fn push(&mut self, name: &str, names: &RandomState, call: T) {
        self.open.push((names.hash_one(name), call));
    }

    /// Whether one more call is too far in to be told apart; it is counted then.
    pub(super) fn is_beyond(&mut self) -> bool {
        let is_beyond = self.open.len() >= DEPTH_MAX;
        self.beyond += u64::from(is_beyond);
        is_beyond
    }

    /// What a return ends: the call that began last, or the innermost of the function it names.
    pub(super) fn ends(&mut self, name: Option<&str>, names: &RandomState) -> Ends {
        if self.beyond > 0 {
            self.beyond -= 1;
            return Ends::Beyond;
        }
        if self.open.is_empty() {
            return Ends::Before;
        }
        let Some(name) = name.map(|name| names.hash_one(name)) else { return Ends::Calls(1) };
        let within = self.open.iter().rev().position(|(open, _)| *open == name);
        within.map_or(Ends::Other, |within| Ends::Calls(within + 1))
    }
}
