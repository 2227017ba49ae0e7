//! Calls that were inlined in a function, by address.

use gimli::{
    DW_AT_call_file, DW_AT_call_line, DW_TAG_inlined_subroutine, DW_TAG_subprogram, Range,
    UnitOffset,
};

use crate::attributes::{number, ranges, referred};
use crate::calls::{Call, Calls};
use crate::sections::{Offset, Parsed};
use crate::unit::{RANGES_MAX, Work};

/// Where a call stands: the number of a file, and a line.
pub(crate) type CallPlace = (Option<u64>, u32);

/// The calls that were inlined in a function.
#[derive(Debug, Default)]
pub(crate) struct Inlining {
    /// Those around others first.
    pub(crate) all: Vec<Inlined>,
    by_address: Calls,
}

/// A call that was inlined in a function.
#[derive(Debug)]
pub(crate) struct Inlined {
    /// The call that it is inlined in, by its place in the list.
    pub(crate) within: Option<usize>,
    pub(crate) ranges: Vec<Range>,
    /// What tells of the function.
    pub(crate) at: Offset,
    /// Where the call stands.
    pub(crate) call: CallPlace,
}

impl Inlining {
    /// Reads all calls of a function; those before damage.
    pub(crate) fn read(from: &Parsed<'_>, function: UnitOffset) -> Self {
        let mut reading = Reading::default();
        // What was read before damage is kept.
        let _ = reading.read(from, function);
        Self { by_address: Calls::new(&reading.calls), all: reading.calls }
    }

    /// The calls that an address is in, the outermost first: what tells of the function, and where
    /// the call stands.
    pub(crate) fn calls_at(&self, address: u64) -> Vec<Call> {
        self.by_address.path(self.by_address.find(address))
    }
}

/// Calls on the way, and how many ranges of addresses they have.
#[derive(Default)]
struct Reading {
    calls: Vec<Inlined>,
    ranges: usize,
}

impl Reading {
    fn read(&mut self, from: &Parsed<'_>, function: UnitOffset) -> gimli::Result<()> {
        // Calls that are open, with the depth of their entries.
        let mut open: Vec<(isize, usize)> = Vec::new();
        let mut entries = from.unit.entries_raw(Some(function))?;
        let top = entries.next_depth();
        if let Some(abbreviation) = entries.read_abbreviation()? {
            entries.skip_attributes(abbreviation.attributes())?;
        }
        // Functions within the function are not part of it.
        let mut skipped: Option<isize> = None;
        let mut work = Work::default();
        while !entries.is_empty() && entries.next_depth() > top && self.ranges < RANGES_MAX {
            let (at, depth) = (entries.next_offset(), entries.next_depth());
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            if !work.is_left(abbreviation.attributes().len()) {
                break;
            }
            entries.skip_attributes(abbreviation.attributes())?;
            if skipped.is_some_and(|from| depth > from) {
                continue;
            }
            while open.last().is_some_and(|(above, _)| *above >= depth) {
                open.pop();
            }
            skipped = (abbreviation.tag() == DW_TAG_subprogram).then_some(depth);
            if abbreviation.tag() == DW_TAG_inlined_subroutine {
                let within = open.last().map(|(_, index)| *index);
                open.push((depth, self.calls.len()));
                self.call(from, at, within)?;
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        from: &Parsed<'_>,
        at: UnitOffset,
        within: Option<usize>,
    ) -> gimli::Result<()> {
        let entry = from.unit.entry(at)?;
        let number = |name| entry.attr_value(name).and_then(|value| number(&value));
        let line = number(DW_AT_call_line).and_then(|line| u32::try_from(line).ok());
        let call = (number(DW_AT_call_file), line.unwrap_or(0));
        let ranges = ranges(from, &entry);
        self.ranges += ranges.len() + 1;
        // The function that was inlined tells of all its copies.
        if let Some(at) = referred(from, &entry).or_else(|| from.offset(at)) {
            self.calls.push(Inlined { within, ranges, at, call });
        }
        Ok(())
    }
}
