//! Budget for reading the debug information of a module.

use std::cell::Cell;

use gimli::{DW_FORM_implicit_const, Dwarf, LineProgram, Reader as _, Section as _, UnitHeader};

use crate::dwarf::Reader;
use crate::limitation::Limitation;

/// Number of times that each byte may be read for the beginnings of units.
const READS_MAX: usize = 32;

/// Number of times that each byte of entries may be read. It is read for the functions of a unit,
/// and for the calls in each of them. It is read once more where functions are in functions, and
/// for what they are in.
const ENTRY_READS_MAX: usize = 5;

/// Budget for reading a module in all. Units may share what they are read from, so that a small
/// file could otherwise take any time and memory.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Number of bytes that the beginnings of units take.
    parsed: Cell<usize>,
    /// Entries of units, in bytes. What they tell counts for one where it takes none.
    entries: Cell<usize>,
    /// Rows of tables of lines.
    rows: Cell<usize>,
    /// Ranges of addresses that units, functions and calls say are theirs.
    ranges: Cell<usize>,
    /// True if there was not enough.
    is_spent: Cell<bool>,
    /// True if something could not be read.
    is_damaged: Cell<bool>,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self {
            parsed: Cell::new(1 << 20),
            entries: Cell::new(1 << 12),
            rows: Cell::new(1 << 12),
            ranges: Cell::new(1 << 12),
            is_spent: Cell::new(false),
            is_damaged: Cell::new(false),
        }
    }

    /// Adds what a file has. Each byte is read a few times, and makes one row or range at most.
    pub(crate) fn add(&self, dwarf: &Dwarf<Reader<'_>>) {
        let lines = dwarf.debug_line.reader().len();
        let entries = dwarf.debug_info.reader().len();
        let listed = [dwarf.ranges.debug_ranges().reader(), dwarf.ranges.debug_rnglists().reader()];
        let listed = listed.map(gimli::Reader::len).iter().sum::<usize>();
        let parsed = dwarf.debug_abbrev.reader().len().saturating_add(lines);
        self.add_split(entries, parsed, listed);
        add(&self.rows, lines);
    }

    /// Adds what a file has of which no lines are taken: the lengths of its entries, of what is read
    /// for the beginnings of units, and of lists of ranges.
    pub(crate) fn add_split(&self, entries: usize, parsed: usize, listed: usize) {
        add(&self.entries, entries.saturating_mul(ENTRY_READS_MAX));
        add(&self.parsed, parsed.saturating_mul(READS_MAX));
        add(&self.ranges, listed.saturating_add(entries));
    }

    /// Reads the beginning of a unit: what its entries look like, its first entry, its files.
    pub(crate) fn unit<'a>(
        &self,
        dwarf: &Dwarf<Reader<'a>>,
        header: UnitHeader<Reader<'a>>,
    ) -> Option<gimli::Unit<Reader<'a>>> {
        let abbreviations = abbreviations_bytes(dwarf, &header, self.parsed.get());
        self.take(&self.parsed, abbreviations)?;
        let unit = self.read(dwarf.unit(header))?;
        let lines = unit.line_program.as_ref().map(LineProgram::header);
        let listed = lines.map_or(0, |h| h.file_names().len() + h.include_directories().len());
        self.take(&self.parsed, listed)?;
        Some(unit)
    }

    /// Returns the value that was read; where it could not be read, that is noted.
    pub(crate) fn read<T>(&self, found: gimli::Result<T>) -> Option<T> {
        self.is_damaged.set(self.is_damaged.get() || found.is_err());
        found.ok()
    }

    /// Returns the reason why less was read than there is.
    pub(crate) fn limitation(&self) -> Option<Limitation> {
        if self.is_spent.get() {
            return Some(Limitation::damaged(
                "its debug information tells or shares more than can be read, and some was left out",
            ));
        }
        let damaged = "its debug information is damaged, and not all of it was read";
        self.is_damaged.get().then(|| Limitation::damaged(damaged))
    }

    /// Notes that there is more than is read.
    pub(crate) fn spend(&self) {
        self.is_spent.set(true);
    }

    /// Takes the header of a unit that is passed over.
    pub(crate) fn take_header(&self) -> Option<()> {
        self.take(&self.parsed, 1)
    }

    /// Takes the entries of a unit; nothing where there are too many.
    pub(crate) fn take_entries(&self, unit: &gimli::Unit<Reader<'_>>) -> Option<()> {
        self.take(&self.entries, unit.header.unit_length())
    }

    /// Takes an entry within a function, with so much that it tells; nothing where there is too much.
    pub(crate) fn take_entry(&self, attributes: usize) -> Option<()> {
        self.take(&self.entries, attributes.saturating_add(1))
    }

    /// Takes rows of a table; nothing where there are too many.
    pub(crate) fn take_rows(&self, count: usize) -> Option<()> {
        self.take(&self.rows, count)
    }

    /// Takes a range of addresses; nothing where there are too many.
    pub(crate) fn take_range(&self) -> Option<()> {
        self.take(&self.ranges, 1)
    }

    /// Returns the number of rows that may still be read.
    pub(crate) fn rows(&self) -> usize {
        self.rows.get()
    }

    fn take(&self, from: &Cell<usize>, count: usize) -> Option<()> {
        let left = from.get().checked_sub(count);
        from.set(left.unwrap_or(0));
        self.is_spent.set(self.is_spent.get() || left.is_none());
        left.map(drop)
    }
}

fn add(to: &Cell<usize>, count: usize) {
    to.set(to.get().saturating_add(count));
}

/// Counts the bytes that describe the form of the entries of a unit; no more than `max` are looked
/// at.
fn abbreviations_bytes(
    dwarf: &Dwarf<Reader<'_>>,
    header: &UnitHeader<Reader<'_>>,
    max: usize,
) -> usize {
    let mut rest = *dwarf.debug_abbrev.reader();
    let length = |rest: &Reader<'_>| rest.len();
    if rest.skip(header.debug_abbrev_offset().0).is_err() {
        return 0;
    }
    let whole = length(&rest);
    let mut skip = || -> gimli::Result<bool> {
        if rest.read_uleb128()? == 0 || whole - length(&rest) > max {
            return Ok(false);
        }
        rest.read_uleb128()?;
        rest.read_u8()?;
        loop {
            let (name, form) = (rest.read_uleb128()?, rest.read_uleb128()?);
            if form == u64::from(DW_FORM_implicit_const.0) {
                rest.read_sleb128()?;
            }
            if (name, form) == (0, 0) {
                return Ok(true);
            }
        }
    };
    while let Ok(true) = skip() {}
    whole - rest.len()
}
