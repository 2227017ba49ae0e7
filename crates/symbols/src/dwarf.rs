//! DWARF: which unit an address is in, and what that tells of it.

use std::collections::HashMap;

use gimli::{DebugInfoOffset, Dwarf, EndianSlice, RunTimeEndian, UnitHeader, UnitOffset, UnitType};
use kymo_core::model::structure::{Resolved, SourcePlace};

use crate::compat::FileOrder;
use crate::demangle::Style;
use crate::image::Image;
use crate::loops::Finder;
use crate::unit::Unit;

/// Where DWARF is read from.
pub(crate) type Reader<'a> = EndianSlice<'a, RunTimeEndian>;

/// The debug information of a module. Units are read when an address in them is asked for.
pub(crate) struct Debug<'a> {
    sections: Sections<'a>,
    /// Addresses and the unit they are in, by their start.
    ranges: Vec<(u64, u64, usize)>,
    units: HashMap<usize, Option<Unit<'a>>>,
    order: FileOrder,
}

/// What units are read from.
pub(crate) struct Sections<'a> {
    pub(crate) dwarf: Dwarf<Reader<'a>>,
    /// In the order of the section.
    pub(crate) headers: Vec<UnitHeader<Reader<'a>>>,
    /// Units that entries of others refer to.
    others: HashMap<usize, Option<gimli::Unit<Reader<'a>>>>,
    pub(crate) style: Style,
}

impl<'a> Sections<'a> {
    /// The unit that an entry is in, and where it is there.
    pub(crate) fn other(
        &mut self,
        offset: DebugInfoOffset,
    ) -> Option<(&Dwarf<Reader<'a>>, &gimli::Unit<Reader<'a>>, UnitOffset)> {
        let starts_before = |header: &UnitHeader<Reader<'a>>| {
            header.debug_info_offset().is_some_and(|start| start <= offset)
        };
        let index = self.headers.partition_point(starts_before).checked_sub(1)?;
        let header = *self.headers.get(index)?;
        let dwarf = &self.dwarf;
        let unit = self.others.entry(index).or_insert_with(|| dwarf.unit(header).ok()).as_ref()?;
        Some((dwarf, unit, offset.to_unit_offset(&unit.header)?))
    }
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
        let sections = Sections { dwarf, headers, others: HashMap::new(), style };
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
        let mut listed = dwarf.debug_aranges.headers();
        while let Ok(Some(header)) = listed.next() {
            let Some(unit) = by_offset.get(&header.debug_info_offset()).copied() else { continue };
            let mut entries = header.entries();
            while let Ok(Some(entry)) = entries.next() {
                let range = entry.range();
                if range.begin < range.end {
                    self.ranges.push((range.begin, range.end, unit));
                    if let Some(listed) = is_listed.get_mut(unit) {
                        *listed = true;
                    }
                }
            }
        }
        for (unit, header) in headers.iter().enumerate() {
            // Parts that others share have no code.
            if is_listed.get(unit) == Some(&false)
                && !matches!(header.type_(), UnitType::Partial)
                && let Ok(parsed) = dwarf.unit(*header)
                && let Ok(mut ranges) = dwarf.unit_ranges(&parsed)
            {
                while let Ok(Some(range)) = ranges.next() {
                    if range.begin < range.end {
                        self.ranges.push((range.begin, range.end, unit));
                    }
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
        let after = self.ranges.partition_point(|(start, ..)| *start <= address);
        let covering = self.ranges.get(..after).unwrap_or_default().iter().rev();
        let Some((.., unit)) = covering.take(NESTED_MAX).find(|(_, end, _)| address < *end) else {
            return;
        };
        let Sections { dwarf, headers, style, .. } = &self.sections;
        let read = || Unit::read(dwarf, *headers.get(*unit)?, *style);
        let Some(found) = self.units.entry(*unit).or_insert_with(read) else { return };
        found.resolve(&mut self.sections, finder, address, to);
        if to.is_empty() {
            return;
        }
        let (from, mut places) = found.lines_at(&self.sections.dwarf, address);
        if self.sections.style == Style::Compat {
            places.extend(self.lines_before(*unit, from));
        }
        to.extend(self.one_of(places).map(|at| Resolved::Line { at }));
    }

    /// Where lines of another unit end at an address: to hpcprof they are at it.
    fn lines_before(&mut self, unit: usize, address: u64) -> Vec<SourcePlace> {
        let before = self.ranges.partition_point(|(start, ..)| *start < address);
        let before = before.checked_sub(1).and_then(|at| self.ranges.get(at));
        let ends = |(_, end, other): &&(u64, u64, usize)| *end == address && *other != unit;
        let Some((.., other)) = before.filter(ends) else { return Vec::new() };
        let Sections { dwarf, headers, style, .. } = &self.sections;
        let read = || Unit::read(dwarf, *headers.get(*other)?, *style);
        let Some(found) = self.units.entry(*other).or_insert_with(read) else { return Vec::new() };
        let (from, places) = found.lines_at(dwarf, address);
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

/// How many ranges that begin before an address are looked at for one that covers it.
const NESTED_MAX: usize = 8;
