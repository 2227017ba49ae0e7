//! Scopes around functions: namespaces, classes, and functions.
//!
//! Compilers tell the whole name of a function that other units may call. Of others they tell the
//! last part alone, which many functions have: the rest of their names is what they are in.

use gimli::{
    DW_TAG_class_type, DW_TAG_namespace, DW_TAG_structure_type, DW_TAG_subprogram,
    DW_TAG_union_type, DwTag, UnitOffset,
};

use crate::budget::Budget;
use crate::sections::Parsed;
use crate::unit::Work;

/// Scopes nested deeper than this count as the one around them.
const DEPTH_MAX: usize = 64;

/// Tags of scopes, and the words for a scope that has no name.
const SCOPES: [(DwTag, &str); 5] = [
    (DW_TAG_namespace, "(anonymous namespace)"),
    (DW_TAG_class_type, "(anonymous class)"),
    (DW_TAG_structure_type, "(anonymous struct)"),
    (DW_TAG_union_type, "(anonymous union)"),
    (DW_TAG_subprogram, "(anonymous function)"),
];

/// The scopes of a unit.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    /// In the order of the unit.
    all: Vec<Scope>,
}

/// An entry that others are in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope {
    pub(crate) at: UnitOffset,
    pub(crate) tag: DwTag,
    /// Offset of what comes after all that is in it.
    end: UnitOffset,
    /// The scope around it, by its place in the list.
    around: Option<usize>,
}

impl Scope {
    /// Returns the words for it where it has no name.
    pub(crate) fn nameless(&self) -> &'static str {
        let known = SCOPES.iter().find(|(tag, _)| *tag == self.tag);
        known.map_or("", |(_, nameless)| nameless)
    }
}

impl Scopes {
    /// Reads all of a unit; those before damage.
    pub(crate) fn read(from: &Parsed<'_>, budget: &Budget) -> Self {
        let mut scopes = Self::default();
        if budget.take_entries(&from.unit).is_some() {
            budget.read(scopes.add(from, budget));
        }
        scopes
    }

    fn add(&mut self, from: &Parsed<'_>, budget: &Budget) -> gimli::Result<()> {
        let mut entries = from.unit.entries_raw(None)?;
        let mut work = Work::default();
        // Scopes that are open, with the depth of their entries.
        let mut open: Vec<(isize, usize)> = Vec::new();
        while !entries.is_empty() {
            let (at, depth) = (entries.next_offset(), entries.next_depth());
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            if !work.is_left(abbreviation.attributes().len()) {
                budget.spend();
                break;
            }
            while let Some((_, ended)) = open.pop_if(|(above, _)| *above >= depth) {
                self.end(ended, at);
            }
            let is_scope = abbreviation.has_children() && is_scope(abbreviation.tag());
            if is_scope && open.len() < DEPTH_MAX {
                let around = open.last().map(|(_, around)| *around);
                open.push((depth, self.all.len()));
                let end = UnitOffset(usize::MAX);
                self.all.push(Scope { at, tag: abbreviation.tag(), end, around });
            }
            entries.skip_attributes(abbreviation.attributes())?;
        }
        Ok(())
    }

    fn end(&mut self, scope: usize, end: UnitOffset) {
        if let Some(scope) = self.all.get_mut(scope) {
            scope.end = end;
        }
    }

    /// The innermost scope around an entry.
    pub(crate) fn enclosing_scope(&self, entry: UnitOffset) -> Option<Scope> {
        let before = self.all.partition_point(|scope| scope.at < entry).checked_sub(1);
        let outwards = |at: &usize| self.all.get(*at)?.around;
        let mut scopes = std::iter::successors(before, outwards).filter_map(|at| self.all.get(at));
        scopes.find(|scope| entry < scope.end).copied()
    }
}

fn is_scope(tag: DwTag) -> bool {
    SCOPES.iter().any(|(known, _)| *known == tag)
}
