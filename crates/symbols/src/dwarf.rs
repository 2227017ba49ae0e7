//! DWARF: which unit an address is in, and what that tells of it.

use std::collections::HashMap;

use gimli::{DebugInfoOffset, EndianSlice, RunTimeEndian, UnitType};
use kymo_model::structure::{Resolved, SourcePlace};

use crate::compat::FileOrder;
use crate::demangle::Style;
use crate::executable::Executable;
use crate::image::Image;
use crate::limitation::Limitation;
use crate::loops::Finder;
use crate::sections::Sections;
use crate::unit::Unit;
use crate::{aranges, attributes};

/// Reader of DWARF.
pub(crate) type Reader<'a> = EndianSlice<'a, RunTimeEndian>;

/// The debug information of a module. Units are read when an address in them is asked for.
pub(crate) struct Debug<'a> {
    sections: Sections<'a>,
    /// Addresses and the unit they are in, by their start.
    ranges: Vec<(u64, u64, usize)>,
    units: HashMap<usize, Option<Unit<'a>>>,
    order: FileOrder<'a>,
}

impl<'a> Debug<'a> {
    /// Finds out which addresses units cover. Nothing where there is no debug information.
    pub(crate) fn new(image: &'a Image, style: Style) -> Option<Self> {
        let sections = Sections::new(image, style)?;
        let (ranges, units, order) = (Vec::new(), HashMap::new(), FileOrder::default());
        let mut debug = Self { sections, ranges, units, order };
        debug.find_ranges(image.executable());
        Some(debug)
    }

    /// Most units are listed with their addresses; of the others the first entry tells them.
    fn find_ranges(&mut self, executable: &Executable) {
        let headers = self.sections.headers();
        let by_offset: HashMap<DebugInfoOffset<usize>, usize> = headers
            .iter()
            .enumerate()
            .filter_map(|(index, header)| Some((header.debug_info_offset()?, index)))
            .collect();
        let mut is_listed = vec![false; headers.len()];
        let ranges = &mut self.ranges;
        aranges::each(self.sections.dwarf(), |unit, range| {
            let Some(unit) = by_offset.get(&unit).copied() else { return };
            if executable.is_at(range.begin) {
                ranges.push((range.begin, range.end, unit));
            }
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
                let covered = attributes::unit_ranges(&parsed, &self.sections.budget);
                ranges.extend(
                    covered.iter().map(|this_range| (this_range.begin, this_range.end, unit)),
                );
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
        let (from, mut places) = found.lines_at(address, &self.sections.budget);
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
        let (_, places) = found.lines_at(address, &self.sections.budget);
        self.one_of(places)
    }

    /// Returns the reason why less is known than could be.
    pub(crate) fn limitation(&self) -> Option<Limitation> {
        self.sections.limitation()
    }

    /// The unit that an address is in.
    fn unit_at(&self, address: u64) -> Option<usize> {
        let after = self.ranges.partition_point(|(start, ..)| *start <= address);
        let covering = self.ranges.get(..after).unwrap_or_default().iter().rev();
        let found = covering.take(NESTED_MAX).find(|(_, end, _)| address < *end);
        found.map(|(.., unit)| *unit)
    }

    /// Returns the lines of another unit that end at an address: for hpcprof they are at it.
    fn lines_before(&mut self, unit: usize, address: u64) -> Vec<SourcePlace> {
        let before = self.ranges.partition_point(|(start, ..)| *start < address);
        let before = before.checked_sub(1).and_then(|at| self.ranges.get(at));
        let ends = |(_, end, other): &&(u64, u64, usize)| *end == address && *other != unit;
        let Some((.., other)) = before.filter(ends) else { return Vec::new() };
        let found = read_unit(&mut self.units, &self.sections, *other);
        let Some(found) = found else { return Vec::new() };
        let (from, places) = found.lines_at(address, &self.sections.budget);
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
/// Number of ranges that begin before an address that are searched for one that covers it.
const NESTED_MAX: usize = 8;
