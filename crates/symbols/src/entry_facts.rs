//! Facts that entries of DWARF give about a function, each for those that refer to it.

use gimli::{
    DW_AT_MIPS_linkage_name, DW_AT_decl_file, DW_AT_decl_line, DW_AT_linkage_name, DW_AT_name,
    UnitOffset,
};

use crate::attributes::{entry_address, number, referred, text};
use crate::budget::Budget;
use crate::lines;
use crate::sections::{Offset, Parsed, Sections};
use crate::unit::REFERENCES_MAX;

/// Facts that entries give about a function or a scope; the first entry that gives a fact counts.
pub(crate) struct EntryFacts {
    /// The last of them: the one that is where it was declared.
    pub(crate) last: Offset,
    pub(crate) linkage: Option<String>,
    pub(crate) plain: Option<String>,
    /// The number of the file, and whether it is one of the unit that is asked.
    pub(crate) file: Option<(u64, bool)>,
    /// The path of the file, where it is one of another unit.
    pub(crate) path: Option<String>,
    pub(crate) line: Option<u64>,
    pub(crate) entry: Option<u64>,
}

impl EntryFacts {
    /// Reads the facts that an entry and those that it refers to give.
    pub(crate) fn from_entry<'a>(
        own: &Parsed<'a>,
        known: &mut Sections<'a>,
        offset: Offset,
    ) -> Self {
        let mut told = Self {
            last: offset,
            linkage: None,
            plain: None,
            file: None,
            path: None,
            line: None,
            entry: None,
        };
        let mut at = Some(offset);
        for _ in 0..REFERENCES_MAX {
            let Some(offset) = at else { break };
            told.last = offset;
            at = match own.offset_in_unit(offset) {
                Some(within) => told.add(own, within, true, &known.budget),
                None => known
                    .unit_at(offset)
                    .and_then(|(other, within)| told.add(&other, within, false, &known.budget)),
            };
        }
        told
    }

    /// Adds what an entry tells, and gives the one that it refers to.
    fn add(
        &mut self,
        from: &Parsed<'_>,
        at: UnitOffset,
        is_own: bool,
        budget: &Budget,
    ) -> Option<Offset> {
        let entry = budget.read(from.unit.entry(at))?;
        let text = |name| text(from, entry.attr_value(name)?, budget);
        let number = |name| entry.attr_value(name).and_then(|value| number(&value));
        self.linkage = self.linkage.take().or_else(|| text(DW_AT_linkage_name));
        self.linkage = self.linkage.take().or_else(|| text(DW_AT_MIPS_linkage_name));
        self.plain = self.plain.take().or_else(|| text(DW_AT_name));
        if let (None, Some(file)) = (self.file, number(DW_AT_decl_file)) {
            self.file = Some((file, is_own));
            self.path = (!is_own).then(|| lines::file(from, file, budget)).flatten();
        }
        self.line = self.line.or_else(|| number(DW_AT_decl_line));
        self.entry = self.entry.or_else(|| entry_address(from, &entry));
        referred(from, &entry)
    }
}
