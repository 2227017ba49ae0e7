//! Values of entries of DWARF, read where the library takes numbers of a file for granted.

use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_entry_pc, DW_AT_high_pc, DW_AT_low_pc,
    DW_AT_ranges, DW_AT_specification, Range, RangeListsOffset, Reader as _, Section as _,
};

use crate::budget::Budget;
use crate::demangle::bounded;
use crate::dwarf::Reader;
use crate::sections::{Home, Offset, Parsed};
use crate::unit::{Entry, RANGES_MAX};

/// Number of ranges of addresses that are taken of one entry. Entries may share long lists of them.
const RANGES_OF_ENTRY_MAX: usize = 1 << 16;

/// The entry that one refers to for what it does not tell itself.
pub(crate) fn referred<'a>(from: &Parsed<'a>, entry: &Entry<'a>) -> Option<Offset> {
    let origin = entry.attr_value(DW_AT_abstract_origin);
    referred_by(from, &origin.or_else(|| entry.attr_value(DW_AT_specification))?)
}

/// The entry that a value refers to.
pub(crate) fn referred_by<'a>(
    from: &Parsed<'a>,
    value: &AttributeValue<Reader<'a>>,
) -> Option<Offset> {
    match value {
        AttributeValue::UnitRef(within) => from.offset(*within),
        AttributeValue::DebugInfoRef(offset) => Some(Offset { home: from.home, at: offset.0 }),
        AttributeValue::DebugInfoRefSup(offset) => {
            Some(Offset { home: Home::Shared, at: offset.0 })
        }
        _ => None,
    }
}

/// A text; nothing where it is in a file that several modules share and that is not there.
pub(crate) fn text<'a>(
    from: &Parsed<'a>,
    value: AttributeValue<Reader<'a>>,
    budget: &Budget,
) -> Option<String> {
    let is_elsewhere = matches!(value, AttributeValue::DebugStrRefSup(_));
    if is_elsewhere && from.dwarf.sup().is_none() {
        return None;
    }
    let text = budget.read(from.dwarf.attr_string(&from.unit, value))?;
    Some(bounded(text.slice()))
}

pub(crate) fn number(value: &AttributeValue<Reader<'_>>) -> Option<u64> {
    match value {
        AttributeValue::FileIndex(index) => Some(*index),
        other => other.udata_value(),
    }
}

/// Returns the address at which the code of an entry begins, as given by the entry.
pub(crate) fn entry_address<'a>(from: &Parsed<'a>, entry: &Entry<'a>) -> Option<u64> {
    let address = entry.attr_value(DW_AT_entry_pc).or_else(|| entry.attr_value(DW_AT_low_pc))?;
    match address {
        AttributeValue::Addr(address) => Some(address),
        AttributeValue::DebugAddrIndex(index) => from.dwarf.address(&from.unit, index).ok(),
        _ => None,
    }
}

/// Addresses that the first entry of a unit says are all of its.
pub(crate) fn unit_ranges(from: &Parsed<'_>, budget: &Budget) -> Vec<Range> {
    let first = from.unit.entry(from.unit.header.root_offset());
    first.map_or_else(|_| Vec::new(), |first| some_ranges(from, &first, RANGES_MAX, budget))
}

/// Addresses that an entry covers, as far as there may be more.
pub(crate) fn ranges<'a>(from: &Parsed<'a>, entry: &Entry<'a>, budget: &Budget) -> Vec<Range> {
    some_ranges(from, entry, RANGES_OF_ENTRY_MAX, budget)
}

fn some_ranges<'a>(
    from: &Parsed<'a>,
    entry: &Entry<'a>,
    max: usize,
    budget: &Budget,
) -> Vec<Range> {
    let mut found = match entry.attr_value(DW_AT_ranges) {
        Some(list) => listed(from, list, max, budget).unwrap_or_default(),
        None => from_to(from, entry, budget).into_iter().collect(),
    };
    found.retain(|range| range.begin < range.end && from.executable.is_at(range.begin));
    found
}

/// Addresses from one to another, or so many from one on.
fn from_to<'a>(from: &Parsed<'a>, entry: &Entry<'a>, budget: &Budget) -> Option<Range> {
    let address = |value| budget.read(from.dwarf.attr_address(&from.unit, value)).flatten();
    let begin = address(entry.attr_value(DW_AT_low_pc)?)?;
    budget.take_range()?;
    let end = match entry.attr_value(DW_AT_high_pc)? {
        AttributeValue::Udata(size) => begin.checked_add(size)?,
        value => address(value)?,
    };
    Some(Range { begin, end })
}

/// Addresses of a list; those before damage. What is passed over counts as what is taken, since
/// entries may share lists.
fn listed<'a>(
    from: &Parsed<'a>,
    list: AttributeValue<Reader<'a>>,
    max: usize,
    budget: &Budget,
) -> Option<Vec<Range>> {
    let Parsed { dwarf, unit, .. } = from;
    let offset = match list {
        AttributeValue::RangeListsRef(offset) => dwarf.ranges_offset_from_raw(unit, offset),
        AttributeValue::DebugRngListsIndex(index) => budget.read(list_by_index(from, index.0))?,
        _ => return None,
    };
    let mut ranges = budget.read(dwarf.ranges(unit, offset))?;
    let mut next = || {
        let raw = budget.read(ranges.next_raw())??;
        budget.take_range()?;
        budget.read(ranges.convert_raw(raw))
    };
    let mut found = Vec::new();
    while found.len() < max
        && let Some(range) = next()
    {
        found.extend(range);
    }
    if found.len() >= max && next().is_some() {
        budget.spend();
    }
    Some(found)
}

/// Returns the start of the list with a number, by the table of lists.
fn list_by_index(from: &Parsed<'_>, index: usize) -> gimli::Result<RangeListsOffset> {
    let (base, format) = (from.unit.rnglists_base.0, from.unit.header.format());
    let mut table = *from.dwarf.ranges.debug_rnglists().reader();
    table.skip(base)?;
    table.skip(index.saturating_mul(usize::from(format.word_size())))?;
    Ok(RangeListsOffset(base.saturating_add(table.read_offset(format)?)))
}
