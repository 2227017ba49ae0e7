//! DWARF: which unit an address is in, and what that tells of it.

use std::cell::Cell;
use std::collections::HashMap;

use gimli::{
    DW_FORM_implicit_const, DebugInfoOffset, Dwarf, EndianSlice, LineProgram, Reader as _,
    RunTimeEndian, Section as _, UnitHeader, UnitOffset, UnitType,
};
use kymo_core::model::structure::{Resolved, SourcePlace};

use crate::compat::FileOrder;
use crate::demangle::Style;
use crate::image::Image;
use crate::loops::Finder;
use crate::unit::Unit;
use crate::{aranges, attributes};

/// Where DWARF is read from.
pub(crate) type Reader<'a> = EndianSlice<'a, RunTimeEndian>;

/// The debug information of a module. Units are read when an address in them is asked for.
pub(crate) struct Debug<'a> {
    sections: Sections<'a>,
    /// Addresses and the unit they are in, by their start.
    ranges: Vec<(u64, u64, usize)>,
    units: HashMap<usize, Option<Unit<'a>>>,
    order: FileOrder<'a>,
}

/// What units are read from.
pub(crate) struct Sections<'a> {
    pub(crate) dwarf: Dwarf<Reader<'a>>,
    /// In the order of the section.
    pub(crate) headers: Vec<UnitHeader<Reader<'a>>>,
    /// Units that entries of others refer to.
    others: HashMap<usize, Option<gimli::Unit<Reader<'a>>>>,
    pub(crate) style: Style,
    pub(crate) budget: Budget,
}

impl<'a> Sections<'a> {
    /// The beginning of a unit: what its entries look like, its first entry, its list of files.
    pub(crate) fn unit(&self, number: usize) -> Option<gimli::Unit<Reader<'a>>> {
        let header = *self.headers.get(number)?;
        let abbreviations = abbreviations_bytes(&self.dwarf, &header, self.budget.parsed.get());
        self.budget.take_parsed(abbreviations)?;
        let unit = self.dwarf.unit(header).ok()?;
        let lines = unit.line_program.as_ref().map(LineProgram::header);
        let listed = lines.map_or(0, |h| h.file_names().len() + h.include_directories().len());
        self.budget.take_parsed(listed)?;
        Some(unit)
    }

    /// The unit that an entry is in, and where it is there.
    pub(crate) fn other(
        &mut self,
        offset: DebugInfoOffset,
    ) -> Option<(&Dwarf<Reader<'a>>, &gimli::Unit<Reader<'a>>, UnitOffset)> {
        let starts_before = |header: &UnitHeader<Reader<'a>>| {
            header.debug_info_offset().is_some_and(|start| start <= offset)
        };
        let index = self.headers.partition_point(starts_before).checked_sub(1)?;
        if !self.others.contains_key(&index) {
            let unit = self.unit(index);
            self.others.insert(index, unit);
        }
        let unit = self.others.get(&index)?.as_ref()?;
        Some((&self.dwarf, unit, offset.to_unit_offset(&unit.header)?))
    }
}

/// How much of a module is read in all. Units may share what they are read from, so that a small
/// file could otherwise take any time and memory.
#[derive(Debug)]
pub(crate) struct Budget {
    /// What the beginnings of units take.
    parsed: Cell<usize>,
    /// Rows of tables of lines.
    rows: Cell<usize>,
    /// Addresses that units say are theirs.
    ranges: Cell<usize>,
    /// Whether there was not enough.
    is_spent: Cell<bool>,
}

impl Budget {
    /// Each byte is read a few times, and makes one row or one range at most.
    fn of(dwarf: &Dwarf<Reader<'_>>) -> Self {
        let lines = dwarf.debug_line.reader().len();
        let both = lines.saturating_add(dwarf.debug_abbrev.reader().len());
        let parsed = both.saturating_mul(READS_MAX).saturating_add(1 << 20);
        let rows = lines.saturating_add(1 << 12);
        let listed = [dwarf.ranges.debug_ranges().reader(), dwarf.ranges.debug_rnglists().reader()];
        let ranges = listed.map(gimli::Reader::len).iter().sum::<usize>();
        let ranges = ranges.saturating_add(dwarf.debug_info.reader().len());
        let is_spent = Cell::new(false);
        Self { parsed: parsed.into(), rows: rows.into(), ranges: ranges.into(), is_spent }
    }

    fn take_parsed(&self, count: usize) -> Option<()> {
        self.take(&self.parsed, count)
    }

    /// Takes rows of a table; nothing where there are too many.
    pub(crate) fn take_rows(&self, count: usize) -> Option<()> {
        self.take(&self.rows, count)
    }

    fn take_ranges(&self, count: usize) -> Option<()> {
        self.take(&self.ranges, count)
    }

    /// How many rows may still be read.
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

/// How many bytes tell what the entries of a unit look like; no more than so many are looked at.
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

impl<'a> Debug<'a> {
    /// Finds out which addresses units cover. Nothing where there is no debug information.
    pub(crate) fn new(image: &'a Image, style: Style) -> Option<Self> {
        let (sections, endian) = image.dwarf()?;
        let dwarf = sections.borrow(|section| EndianSlice::new(section, endian));
        let mut headers = Vec::new();
        let mut units = dwarf.units();
        // What comes after a unit that cannot be read is lost.
        while let Ok(Some(header)) = units.next() {
            headers.push(header);
        }
        let budget = Budget::of(&dwarf);
        let sections = Sections { dwarf, headers, others: HashMap::new(), style, budget };
        let (ranges, units, order) = (Vec::new(), HashMap::new(), FileOrder::default());
        let mut debug = Self { sections, ranges, units, order };
        debug.find_ranges();
        Some(debug)
    }

    /// Most units are listed with their addresses; of the others the first entry tells them.
    fn find_ranges(&mut self) {
        let Sections { dwarf, headers, .. } = &self.sections;
        let by_offset: HashMap<DebugInfoOffset<usize>, usize> = headers
            .iter()
            .enumerate()
            .filter_map(|(index, header)| Some((header.debug_info_offset()?, index)))
            .collect();
        let mut is_listed = vec![false; headers.len()];
        let ranges = &mut self.ranges;
        aranges::each(dwarf, |unit, range| {
            let Some(unit) = by_offset.get(&unit).copied() else { return };
            ranges.push((range.begin, range.end, unit));
            if let Some(listed) = is_listed.get_mut(unit) {
                *listed = true;
            }
        });
        for (unit, header) in headers.iter().enumerate() {
            // Parts that others share have no code.
            if is_listed.get(unit) == Some(&false)
                && !matches!(header.type_(), UnitType::Partial)
                && let Some(parsed) = self.sections.unit(unit)
            {
                let covered = attributes::unit_ranges(dwarf, &parsed);
                if self.sections.budget.take_ranges(covered.len()).is_some() {
                    ranges.extend(covered.iter().map(|of| (of.begin, of.end, unit)));
                }
            }
        }
        self.ranges.sort_unstable();
    }

    /// Appends the scopes around an address, from the function in.
    pub(crate) fn resolve(
        &mut self,
        finder: Option<&mut Finder<'_>>,
        address: u64,
        to: &mut Vec<Resolved>,
    ) {
        let Some(number) = self.unit_at(address) else { return };
        let Some(found) = read_unit(&mut self.units, &self.sections, number) else { return };
        found.resolve(&mut self.sections, finder, address, to);
        if to.is_empty() {
            return;
        }
        let (from, mut places) = found.lines_at(&self.sections.dwarf, address);
        if self.sections.style == Style::Compat {
            places.extend(self.lines_before(number, from));
        }
        to.extend(self.one_of(places).map(|at| Resolved::Line { at }));
    }

    /// The line of an address in a function that only a symbol tells of: where the rest of the
    /// debug information was split off. hpcprof shows none.
    pub(crate) fn line(&mut self, address: u64) -> Option<SourcePlace> {
        let number = self.unit_at(address).filter(|_| self.sections.style == Style::Best)?;
        let found = read_unit(&mut self.units, &self.sections, number)?;
        let (_, places) = found.lines_at(&self.sections.dwarf, address);
        self.one_of(places)
    }

    /// Why less is known than could be.
    pub(crate) fn lack(&self) -> Option<&'static str> {
        let is_spent = self.sections.budget.is_spent.get();
        is_spent.then_some("its units share more than can be read, and some were left out")
    }

    /// The unit that an address is in.
    fn unit_at(&self, address: u64) -> Option<usize> {
        let after = self.ranges.partition_point(|(start, ..)| *start <= address);
        let covering = self.ranges.get(..after).unwrap_or_default().iter().rev();
        let found = covering.take(NESTED_MAX).find(|(_, end, _)| address < *end);
        found.map(|(.., unit)| *unit)
    }

    /// Where lines of another unit end at an address: to hpcprof they are at it.
    fn lines_before(&mut self, unit: usize, address: u64) -> Vec<SourcePlace> {
        let before = self.ranges.partition_point(|(start, ..)| *start < address);
        let before = before.checked_sub(1).and_then(|at| self.ranges.get(at));
        let ends = |(_, end, other): &&(u64, u64, usize)| *end == address && *other != unit;
        let Some((.., other)) = before.filter(ends) else { return Vec::new() };
        let found = read_unit(&mut self.units, &self.sections, *other);
        let Some(found) = found else { return Vec::new() };
        let (from, places) = found.lines_at(&self.sections.dwarf, address);
        if from == address { places } else { Vec::new() }
    }

    /// The place that counts of several.
    fn one_of(&mut self, mut places: Vec<SourcePlace>) -> Option<SourcePlace> {
        if places.len() < 2 {
            return places.pop();
        }
        let Self { sections, order, .. } = self;
        let mut ranked = |(path, line): SourcePlace| (order.rank(sections, &path), line, path);
        let (_, line, path) = places.into_iter().map(&mut ranked).min()?;
        Some((path, line))
    }
}

/// A unit, which is read when it is first asked for.
fn read_unit<'a, 'b>(
    units: &'b mut HashMap<usize, Option<Unit<'a>>>,
    sections: &Sections<'a>,
    number: usize,
) -> Option<&'b mut Unit<'a>> {
    let read = || Unit::read(sections, number);
    units.entry(number).or_insert_with(read).as_mut()
}

/// How often each byte may be read for the beginnings of units.
const READS_MAX: usize = 32;

/// How many ranges that begin before an address are looked at for one that covers it.
const NESTED_MAX: usize = 8;
