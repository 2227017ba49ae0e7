//! Calls that were inlined in a function, by address.

use gimli::{
    DW_AT_call_file, DW_AT_call_line, DW_TAG_inlined_subroutine, DW_TAG_subprogram, Range,
    UnitOffset,
};

use crate::attributes::{number, ranges, referred};
use crate::budget::Budget;
use crate::calls::Calls;
use crate::sections::{Offset, Parsed};

/// Place of a call: the number of a file, and a line.
pub(crate) type CallPlace = (Option<u64>, u32);

/// A call that was inlined in a function.
#[derive(Debug)]
pub(crate) struct Inlined {
    /// The call that it is inlined in, by its place in the list.
    pub(crate) within: Option<usize>,
    pub(crate) ranges: Vec<Range>,
    /// Offset of the entry that describes the function.
    pub(crate) at: Offset,
    /// Place of the call.
    pub(crate) call: CallPlace,
}

/// Reads all calls of a function; those before damage.
pub(crate) fn read(from: &Parsed<'_>, function: UnitOffset, budget: &Budget) -> Calls {
    let mut reading = InlinedCallReader { from, budget, calls: Vec::new() };
    // What was read before damage is kept.
    budget.read(reading.read(function));
    Calls::new(&reading.calls)
}

/// Calls on the way.
struct InlinedCallReader<'a, 'b> {
    from: &'b Parsed<'a>,
    budget: &'b Budget,
    /// Those around others first.
    calls: Vec<Inlined>,
}

impl InlinedCallReader<'_, '_> {
    fn read(&mut self, function: UnitOffset) -> gimli::Result<()> {
        let Self { from, budget, .. } = *self;
        // Calls that are open, with the depth of their entries.
        let mut open: Vec<(isize, usize)> = Vec::new();
        let mut entries = from.unit.entries_raw(Some(function))?;
        let top = entries.next_depth();
        if let Some(abbreviation) = entries.read_abbreviation()? {
            entries.skip_attributes(abbreviation.attributes())?;
        }
        // Functions within the function are not part of it.
        let mut skipped: Option<isize> = None;
        while !entries.is_empty() && entries.next_depth() > top {
            let (at, depth) = (entries.next_offset(), entries.next_depth());
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            if budget.take_entry(abbreviation.attributes().len()).is_none() {
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
                self.call(at, within)?;
            }
        }
        Ok(())
    }

    fn call(&mut self, at: UnitOffset, within: Option<usize>) -> gimli::Result<()> {
        let Self { from, budget, .. } = *self;
        let entry = from.unit.entry(at)?;
        let number = |name| entry.attr_value(name).and_then(|value| number(&value));
        let line = number(DW_AT_call_line).and_then(|line| u32::try_from(line).ok());
        let call = (number(DW_AT_call_file), line.unwrap_or(0));
        let ranges = ranges(from, &entry, budget);
        // The function that was inlined tells of all its copies.
        if let Some(at) = referred(from, &entry).or_else(|| from.offset(at)) {
            self.calls.push(Inlined { within, ranges, at, call });
        }
        Ok(())
    }
}
