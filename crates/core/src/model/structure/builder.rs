//! Builds the structure of a module, scope by scope.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::{FileId, Module, Nested, Scope, ScopeId};
use crate::bytes::Limits;
use crate::{Error, Result};

/// Takes scopes in the order of a document, each before what is within it.
///
/// Where ranges of addresses overlap, the one that was told first keeps its addresses, and the
/// later one is left out as a whole.
#[derive(Debug)]
pub struct ModuleBuilder {
    items_max: u64,
    path: String,
    files: Vec<String>,
    by_path: HashMap<String, FileId>,
    scopes: Vec<Nested>,
    /// The end and the scope of each range, by its start.
    ranges: BTreeMap<u64, (u64, ScopeId)>,
    dropped: u64,
}

impl ModuleBuilder {
    /// Starts with a module of which only the path is known.
    pub fn new(path: impl Into<String>, limits: &Limits) -> Self {
        Self {
            items_max: limits.items_max,
            path: path.into(),
            files: Vec::new(),
            by_path: HashMap::new(),
            scopes: Vec::new(),
            ranges: BTreeMap::new(),
            dropped: 0,
        }
    }

    /// A source file by its path.
    ///
    /// # Errors
    /// When there are too many.
    pub fn file(&mut self, path: &str) -> Result<FileId> {
        if let Some(&known) = self.by_path.get(path) {
            return Ok(known);
        }
        let id = FileId(self.next("source files", self.files.len())?);
        self.files.push(path.to_owned());
        self.by_path.insert(path.to_owned(), id);
        Ok(id)
    }

    /// Adds a scope within another, or a function.
    ///
    /// # Errors
    /// When the scope around it is not there, or when there are too many.
    pub fn scope(&mut self, parent: Option<ScopeId>, scope: Scope) -> Result<ScopeId> {
        if let Some(parent) = parent {
            self.known(parent)?;
        }
        let id = ScopeId(self.next("scopes", self.scopes.len())?);
        self.scopes.push(Nested { parent, scope });
        Ok(id)
    }

    /// Gives addresses to a scope; whether it got them. An empty range is none.
    ///
    /// # Errors
    /// When the scope is not there, or when there are too many ranges.
    pub fn range(&mut self, scope: ScopeId, range: Range<u64>) -> Result<bool> {
        self.known(scope)?;
        if range.is_empty() {
            return Ok(false);
        }
        self.next("ranges of addresses", self.ranges.len())?;
        // The last range that begins before the end of this one is the only one in question.
        let before = self.ranges.range(..range.end).next_back();
        let is_free = before.is_none_or(|(_, &(end, _))| end <= range.start);
        if is_free {
            self.ranges.insert(range.start, (range.end, scope));
        } else {
            self.dropped += 1;
        }
        Ok(is_free)
    }

    /// Makes the structure.
    #[must_use]
    pub fn finish(self) -> Module {
        let Self { path, files, scopes, ranges, dropped, .. } = self;
        let ranges = ranges.into_iter().map(|(start, (end, scope))| (start..end, scope)).collect();
        Module { path, files, scopes, ranges, dropped }
    }

    fn known(&self, id: ScopeId) -> Result<()> {
        if u64::from(id.0) < self.scopes.len() as u64 {
            return Ok(());
        }
        Err(Error::Request(format!("there is no scope {} in {}", id.0, self.path)))
    }

    fn next(&self, what: &str, count: usize) -> Result<u32> {
        let id = u32::try_from(count).ok().filter(|&id| u64::from(id) < self.items_max);
        id.ok_or_else(|| Error::Request(format!("there are more than {count} {what}")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Place;
    use super::*;

    fn line(builder: &mut ModuleBuilder, line: u32) -> ScopeId {
        let file = builder.file("a.c").unwrap();
        builder.scope(None, Scope::Line { at: Place { file, line } }).unwrap()
    }

    #[test]
    fn the_range_that_was_told_first_keeps_its_addresses() {
        let mut builder = ModuleBuilder::new("a", &Limits::default());
        let (first, second) = (line(&mut builder, 1), line(&mut builder, 2));
        assert!(builder.range(first, 10..20).unwrap());
        for overlapping in [5..11, 19..30, 12..13, 0..100, 10..20] {
            assert!(!builder.range(second, overlapping).unwrap());
        }
        for free in [5..10, 20..30] {
            assert!(builder.range(second, free).unwrap());
        }
        assert!(!builder.range(second, 40..40).unwrap());
        let module = builder.finish();
        assert_eq!(module.dropped(), 5);
        assert_eq!(module.ranges(), [(5..10, second), (10..20, first), (20..30, second)]);
    }

    #[test]
    fn what_hangs_on_nothing_is_refused() {
        let mut builder = ModuleBuilder::new("a", &Limits::default());
        let file = builder.file("a.c").unwrap();
        let scope = Scope::Line { at: Place { file, line: 1 } };
        let error = builder.scope(Some(ScopeId(0)), scope).unwrap_err();
        assert_eq!(error.to_string(), "there is no scope 0 in a");
        assert!(builder.range(ScopeId(7), 0..1).is_err());
    }

    #[test]
    fn more_than_the_limits_allow_is_refused() {
        let limits = Limits { items_max: 1, ..Limits::default() };
        let mut builder = ModuleBuilder::new("a", &limits);
        let only = line(&mut builder, 1);
        assert!(builder.file("b.c").is_err());
        assert!(builder.range(only, 0..1).unwrap());
        assert!(builder.range(only, 1..2).is_err());
    }
}
