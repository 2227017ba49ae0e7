//! Texts and paths, each once.

use std::collections::HashMap;

use super::{Label, as_index};
use crate::profile::names::shortest_suffixes;
use kymo_core::Result;

/// The texts of labels, one behind another.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in super::super) struct Texts {
    text: String,
    ends: Vec<usize>,
}

impl Texts {
    pub(in super::super) fn get(&self, label: Label) -> &str {
        let start = label.0.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let end = self.ends.get(label.0).copied();
        start.zip(end).and_then(|(start, end)| self.text.get(start..end)).unwrap_or("")
    }

    pub(in super::super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(in super::super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| self.get(Label(index)))
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }
}

/// Paths, each once, by what a format finds them by.
#[derive(Default)]
pub(super) struct Paths {
    texts: Texts,
    by_text: HashMap<String, u32>,
    by_id: HashMap<u64, u32>,
}

impl Paths {
    pub(super) fn intern(&mut self, id: u64, path: impl FnOnce() -> Result<String>) -> Result<u32> {
        if let Some(known) = self.by_id.get(&id) {
            return Ok(*known);
        }
        let path = path()?;
        let next = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let index = *self.by_text.entry(path.clone()).or_insert(next);
        if index == next {
            self.texts.push(&path);
        }
        self.by_id.insert(id, index);
        Ok(index)
    }

    pub(super) fn get(&self, index: u32) -> &str {
        self.texts.get(Label(as_index(index)))
    }

    /// As much of each as tells it from the others.
    pub(super) fn short_paths(&self) -> Vec<&str> {
        shortest_suffixes(&self.texts.iter().collect::<Vec<_>>())
    }
}
