//! What entries of DWARF say, where the library takes numbers of a file for granted.

use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_entry_pc, DW_AT_high_pc, DW_AT_low_pc,
    DW_AT_ranges, DW_AT_specification, Range, RangeListsOffset, Reader as _, Section as _,
};

use crate::dwarf::Reader;
use crate::sections::{Home, Offset, Parsed};
use crate::unit::{Entry, RANGES_MAX};

/// How many ranges of addresses are taken of one entry. Entries may share long lists of them.
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

pub(crate) fn number(value: &AttributeValue<Reader<'_>>) -> Option<u64> {
    match value {
        AttributeValue::FileIndex(index) => Some(*index),
        other => other.udata_value(),
    }
}

/// Where an entry says that its code begins.
pub(crate) fn entry_address<'a>(from: &Parsed<'a>, entry: &Entry<'a>) -> Option<u64> {
    let address = entry.attr_value(DW_AT_entry_pc).or_else(|| entry.attr_value(DW_AT_low_pc))?;
    match address {
        AttributeValue::Addr(address) => Some(address),
        AttributeValue::DebugAddrIndex(index) => from.dwarf.address(&from.unit, index).ok(),
        _ => None,
    }
}

/// Addresses that the first entry of a unit says are all of its.
pub(crate) fn unit_ranges(from: &Parsed<'_>) -> Vec<Range> {
    let first = from.unit.entry(from.unit.header.root_offset());
    first.map_or_else(|_| Vec::new(), |first| some_ranges(from, &first, RANGES_MAX))
}

/// Addresses that an entry covers.
pub(crate) fn ranges<'a>(from: &Parsed<'a>, entry: &Entry<'a>) -> Vec<Range> {
    some_ranges(from, entry, RANGES_OF_ENTRY_MAX)
}

fn some_ranges<'a>(from: &Parsed<'a>, entry: &Entry<'a>, max: usize) -> Vec<Range> {
    let mut found = match entry.attr_value(DW_AT_ranges) {
        Some(list) => listed(from, list, max).unwrap_or_default(),
        None => from_to(from, entry).into_iter().collect(),
    };
    found.retain(|range| range.begin < range.end);
    found
}

/// Addresses from one to another, or so many from one on.
fn from_to<'a>(from: &Parsed<'a>, entry: &Entry<'a>) -> Option<Range> {
    let address = |value| from.dwarf.attr_address(&from.unit, value).ok().flatten();
    let begin = address(entry.attr_value(DW_AT_low_pc)?)?;
    let end = match entry.attr_value(DW_AT_high_pc)? {
        AttributeValue::Udata(size) => begin.checked_add(size)?,
        value => address(value)?,
    };
    Some(Range { begin, end })
}

/// Addresses of a list; those before damage.
fn listed<'a>(
    from: &Parsed<'a>,
    list: AttributeValue<Reader<'a>>,
    max: usize,
) -> Option<Vec<Range>> {
    let Parsed { dwarf, unit, .. } = from;
    let offset = match list {
        AttributeValue::RangeListsRef(offset) => dwarf.ranges_offset_from_raw(unit, offset),
        AttributeValue::DebugRngListsIndex(index) => list_by_index(from, index.0)?,
        _ => return None,
    };
    let mut ranges = dwarf.ranges(unit, offset).ok()?;
    let next = || ranges.next().ok().flatten();
    Some(std::iter::from_fn(next).take(max).collect())
}

/// Where the list of a number begins, by the table of lists.
fn list_by_index(from: &Parsed<'_>, index: usize) -> Option<RangeListsOffset> {
    let (base, format) = (from.unit.rnglists_base.0, from.unit.header.format());
    let mut table = *from.dwarf.ranges.debug_rnglists().reader();
    table.skip(base).ok()?;
    table.skip(index.checked_mul(usize::from(format.word_size()))?).ok()?;
    base.checked_add(table.read_offset(format).ok()?).map(RangeListsOffset)
}
