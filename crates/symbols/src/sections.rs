//! Units of DWARF, and the entries of other units and files that they refer to.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use gimli::{
    AttributeValue, DW_AT_language, DebugInfoOffset, DwLang, Dwarf, EndianSlice, UnitHeader,
    UnitOffset,
};

use crate::budget::Budget;
use crate::demangle::Style;
use crate::dwarf::Reader;
use crate::executable::Executable;
use crate::image::Image;
use crate::limitation::Limitation;
use crate::scopes::Scopes;
use crate::split::Splits;

/// File that an entry is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Home {
    /// File of the module, or its debug file.
    Own,
    /// File of a unit which was split off.
    Split,
    /// One that several modules share.
    Shared,
}

/// Offset of an entry in the whole section of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Offset {
    pub(crate) home: Home,
    pub(crate) at: usize,
}

impl Offset {
    /// A number that no other entry of a module has, of which a unit refers to this one.
    pub(crate) fn record(self, unit: usize) -> u64 {
        let at = self.at as u64;
        match self.home {
            Home::Own => at,
            Home::Shared => at | 1 << 39,
            // Offsets of split units begin anew with each.
            Home::Split => at | (unit as u64 + 1) << 40,
        }
    }
}

/// The beginning of a unit, with the sections that it is read from.
pub(crate) struct Parsed<'a> {
    pub(crate) dwarf: Arc<Dwarf<Reader<'a>>>,
    pub(crate) unit: gimli::Unit<Reader<'a>>,
    pub(crate) home: Home,
    /// Address ranges that have code. Entries for other places describe code that the linker left
    /// out.
    pub(crate) executable: &'a Executable,
    /// Once these were asked for.
    scopes: OnceLock<Scopes>,
    language: OnceLock<Option<DwLang>>,
}

impl<'a> Parsed<'a> {
    pub(crate) fn new(
        dwarf: Arc<Dwarf<Reader<'a>>>,
        unit: gimli::Unit<Reader<'a>>,
        home: Home,
        executable: &'a Executable,
    ) -> Self {
        let (scopes, language) = (OnceLock::new(), OnceLock::new());
        Self { dwarf, unit, home, executable, scopes, language }
    }

    /// Returns the scopes that entries are in.
    pub(crate) fn scopes(&self, budget: &Budget) -> &Scopes {
        self.scopes.get_or_init(|| Scopes::read(self, budget))
    }

    /// Returns the language that it was compiled from, if its first entry gives that.
    pub(crate) fn language(&self) -> Option<DwLang> {
        *self.language.get_or_init(|| {
            let first = self.unit.entry(self.unit.header.root_offset()).ok()?;
            match first.attr_value(DW_AT_language)? {
                AttributeValue::Language(language) => Some(language),
                _ => None,
            }
        })
    }

    /// Returns the offset in the file of an entry of the unit.
    pub(crate) fn offset(&self, within: UnitOffset) -> Option<Offset> {
        let is_there = within.is_in_bounds(&self.unit.header);
        let at = is_there.then(|| within.to_debug_info_offset(&self.unit.header))??;
        Some(Offset { home: self.home, at: at.0 })
    }

    /// Returns the offset of an entry in the unit; `None` where it is in another one.
    pub(crate) fn offset_in_unit(&self, offset: Offset) -> Option<UnitOffset> {
        let is_here = offset.home == self.home;
        is_here.then(|| DebugInfoOffset(offset.at).to_unit_offset(&self.unit.header))?
    }
}

/// The debug information of a module.
pub(crate) struct Sections<'a> {
    own: Units<'a>,
    shared: Option<Units<'a>>,
    splits: Splits<'a>,
    pub(crate) image: &'a Image,
    pub(crate) style: Style,
    pub(crate) budget: Budget,
}

impl<'a> Sections<'a> {
    /// Nothing where there is no debug information.
    pub(crate) fn new(image: &'a Image, style: Style) -> Option<Self> {
        let (sections, endian) = image.dwarf()?;
        let slice = |section| EndianSlice::new(section, endian);
        let shared = image.shared().map(|shared| shared.borrow(|section| slice(section)));
        let own = sections.borrow_with_sup(image.shared(), |section| slice(section));
        let budget = Budget::new();
        for dwarf in shared.iter().chain([&own]) {
            budget.add(dwarf);
        }
        let executable = image.executable();
        let units = |dwarf, home| Units::new(dwarf, home, executable, &budget);
        Some(Self {
            own: units(own, Home::Own),
            shared: shared.map(|shared| units(shared, Home::Shared)),
            splits: Splits::new(image.split_files(), endian, &budget),
            image,
            style,
            budget,
        })
    }

    /// Returns the reason why less is known than could be.
    pub(crate) fn limitation(&self) -> Option<Limitation> {
        Limitation::worst(self.budget.limitation().into_iter().chain(self.splits.limitation()))
    }

    pub(crate) fn dwarf(&self) -> &Dwarf<Reader<'a>> {
        &self.own.dwarf
    }

    /// Units in the order of the section.
    pub(crate) fn headers(&self) -> &[UnitHeader<Reader<'a>>] {
        &self.own.headers
    }

    /// The beginning of a unit of the module.
    pub(crate) fn unit(&self, number: usize) -> Option<Parsed<'a>> {
        self.own.unit(&self.budget, number)
    }

    /// The entries of a unit, where they were split off.
    pub(crate) fn split(&self, skeleton: &Parsed<'a>, number: usize) -> Option<Parsed<'a>> {
        self.splits.find(&self.budget, skeleton, number)
    }

    /// The unit that an entry is in, and where it is there. No unit refers to one that was split
    /// off.
    pub(crate) fn unit_at(&mut self, offset: Offset) -> Option<(Arc<Parsed<'a>>, UnitOffset)> {
        let units = match offset.home {
            Home::Own => &mut self.own,
            Home::Shared => self.shared.as_mut()?,
            Home::Split => return None,
        };
        units.find(&self.budget, offset)
    }
}

/// Units of one file.
struct Units<'a> {
    dwarf: Arc<Dwarf<Reader<'a>>>,
    home: Home,
    executable: &'a Executable,
    headers: Vec<UnitHeader<Reader<'a>>>,
    /// Those that entries of others refer to.
    found: HashMap<usize, Option<Arc<Parsed<'a>>>>,
}

impl<'a> Units<'a> {
    fn new(
        dwarf: Dwarf<Reader<'a>>,
        home: Home,
        executable: &'a Executable,
        budget: &Budget,
    ) -> Self {
        let mut headers = Vec::new();
        let mut units = dwarf.units();
        // What comes after a unit that cannot be read is lost.
        while let Some(Some(header)) = budget.read(units.next()) {
            headers.push(header);
        }
        Self { dwarf: Arc::new(dwarf), home, executable, headers, found: HashMap::new() }
    }

    fn unit(&self, budget: &Budget, number: usize) -> Option<Parsed<'a>> {
        let unit = budget.unit(&self.dwarf, *self.headers.get(number)?)?;
        let (dwarf, executable) = (Arc::clone(&self.dwarf), self.executable);
        Some(Parsed::new(dwarf, unit, self.home, executable))
    }

    fn find(&mut self, budget: &Budget, offset: Offset) -> Option<(Arc<Parsed<'a>>, UnitOffset)> {
        let starts_before = |header: &UnitHeader<Reader<'a>>| {
            header.debug_info_offset().is_some_and(|start| start.0 <= offset.at)
        };
        let number = self.headers.partition_point(starts_before).checked_sub(1)?;
        if !self.found.contains_key(&number) {
            let unit = self.unit(budget, number).map(Arc::new);
            self.found.insert(number, unit);
        }
        let found = self.found.get(&number)?.as_ref()?;
        Some((Arc::clone(found), found.offset_in_unit(offset)?))
    }
}
