//! Builds the structure of a module, scope by scope.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::{Call, FileId, Module, Nested, Scope, ScopeId};
use kymo_core::bytes::Limits;
use kymo_core::{Error, Result};

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
    /// In the order they were told.
    ranges: Vec<(Range<u64>, ScopeId)>,
    calls: Option<Vec<Call>>,
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
            ranges: Vec::new(),
            calls: None,
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
            self.check_scope(parent)?;
        }
        let id = ScopeId(self.next("scopes", self.scopes.len())?);
        self.scopes.push(Nested { parent, scope });
        Ok(id)
    }

    /// Gives addresses to a scope, as far as no other has them. An empty range is none.
    ///
    /// # Errors
    /// When the scope is not there, or when there are too many ranges.
    pub fn range(&mut self, scope: ScopeId, range: Range<u64>) -> Result<()> {
        self.check_scope(scope)?;
        if !range.is_empty() {
            self.next("ranges of addresses", self.ranges.len())?;
            self.ranges.push((range, scope));
        }
        Ok(())
    }

    /// Says that every call there is will be told, if there are any.
    pub fn set_calls_complete(&mut self) {
        self.calls.get_or_insert_default();
    }

    /// Adds a call.
    ///
    /// # Errors
    /// When the function around it is not there, or when there are too many.
    pub fn call(&mut self, call: Call) -> Result<()> {
        self.check_scope(call.within)?;
        self.next("calls", self.calls.as_ref().map_or(0, Vec::len))?;
        self.calls.get_or_insert_default().push(call);
        Ok(())
    }

    /// Makes the structure.
    #[must_use]
    pub fn finish(self) -> Module {
        let Self { path, files, scopes, ranges, calls, .. } = self;
        let told = ranges.len();
        let ranges = without_overlaps(ranges);
        let dropped = (told - ranges.len()) as u64;
        Module { path, files, scopes, ranges, calls, dropped }
    }

    fn check_scope(&self, id: ScopeId) -> Result<()> {
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

/// Ranges by address, without those that overlap one that was told before.
fn without_overlaps(told: Vec<(Range<u64>, ScopeId)>) -> Vec<(Range<u64>, ScopeId)> {
    let mut sorted = told.clone();
    sorted.sort_by_key(|(range, _)| range.start);
    // As a rule none overlap, and it does not matter which came first.
    if sorted.is_sorted_by(|(one, _), (next, _)| one.end <= next.start) {
        return sorted;
    }
    let mut kept: BTreeMap<u64, (u64, ScopeId)> = BTreeMap::new();
    for (range, scope) in told {
        // The last range that begins before the end of this one is the only one in question.
        let before = kept.range(..range.end).next_back();
        if before.is_none_or(|(_, (end, _))| *end <= range.start) {
            kept.insert(range.start, (range.end, scope));
        }
    }
    kept.into_iter().map(|(start, (end, scope))| (start..end, scope)).collect()
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
        builder.range(first, 10..20).unwrap();
        for overlapping in [5..11, 19..30, 12..13, 0..100, 10..20] {
            builder.range(second, overlapping).unwrap();
        }
        for free in [5..10, 20..30, 40..40] {
            builder.range(second, free).unwrap();
        }
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
        assert!(builder.call(Call { at: 0, within: ScopeId(7), target: 0 }).is_err());
    }

    #[test]
    fn more_than_the_limits_allow_is_refused() {
        let limits = Limits { items_max: 1, ..Limits::default() };
        let mut builder = ModuleBuilder::new("a", &limits);
        let only = line(&mut builder, 1);
        assert!(builder.file("b.c").is_err());
        builder.range(only, 0..1).unwrap();
        assert!(builder.range(only, 1..2).is_err());
    }
}
