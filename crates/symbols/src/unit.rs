//! A unit of DWARF: its functions, and the calls inlined in them.

use std::collections::HashMap;

use gimli::{
    DW_AT_MIPS_linkage_name, DW_AT_abstract_origin, DW_AT_decl_file, DW_AT_decl_line,
    DW_AT_linkage_name, DW_AT_name, DW_TAG_subprogram, DebugInfoOffset, Dwarf, UnitOffset,
};
use kymo_core::model::structure::{Resolved, SourcePlace};

use crate::attributes::{entry_address, number, ranges, referred, referred_by};
use crate::calls::{Call, Calls};
use crate::compat;
use crate::demangle::{Style, bounded};
use crate::dwarf::{Reader, Sections};
use crate::inlining::Inlining;
use crate::lines::Lines;
use crate::loops::{self, Around, Finder, Placed};

/// Where an entry is in the whole section.
pub(crate) type Offset = DebugInfoOffset;

pub(crate) type Entry<'a> = gimli::DebuggingInformationEntry<Reader<'a>>;

/// How often an entry may refer to another for its name.
pub(crate) const REFERENCES_MAX: usize = 16;

/// How many ranges of addresses are taken of a unit or a function.
pub(crate) const RANGES_MAX: usize = 1 << 20;

/// How many attributes are passed over in a unit. Some take no bytes, so that a short unit may have
/// any number of them.
const ATTRIBUTES_MAX: usize = 1 << 26;

/// How much was done of what a unit may take.
#[derive(Debug, Default)]
pub(crate) struct Work {
    attributes: usize,
}

impl Work {
    /// Takes one more entry; whether it is not too much.
    pub(crate) fn is_left(&mut self, attributes: usize) -> bool {
        self.attributes = self.attributes.saturating_add(attributes + 1);
        self.attributes <= ATTRIBUTES_MAX
    }
}

/// The file of a call that does not tell its file.
const UNKNOWN_FILE: &str = "???";

/// A unit that was read.
pub(crate) struct Unit<'a> {
    parsed: gimli::Unit<Reader<'a>>,
    /// Addresses of functions by their start.
    functions: Vec<(u64, u64, UnitOffset)>,
    lines: Lines,
    inlined: HashMap<UnitOffset, Inlining>,
    described: HashMap<Offset, Described>,
    loops: HashMap<UnitOffset, Placed>,
    /// Where functions are said to begin that have copies, once that was asked for.
    lowest: Option<HashMap<Offset, u64>>,
}

/// What is known of a function.
#[derive(Debug, Clone, Default)]
struct Described {
    name: String,
    at: Option<SourcePlace>,
    entry: Option<u64>,
}

impl<'a> Unit<'a> {
    /// Finds the functions of a unit.
    pub(crate) fn read(sections: &Sections<'a>, number: usize) -> Option<Self> {
        let unit = sections.unit(number)?;
        let dwarf = &sections.dwarf;
        let mut functions = Vec::new();
        let mut entries = unit.entries_raw(None).ok()?;
        let mut work = Work::default();
        while !entries.is_empty() && functions.len() < RANGES_MAX {
            let offset = entries.next_offset();
            // Functions that were read before damage are kept.
            let Ok(abbreviation) = entries.read_abbreviation() else { break };
            let Some(abbreviation) = abbreviation else { continue };
            if !work.is_left(abbreviation.attributes().len()) {
                break;
            }
            if abbreviation.tag() == DW_TAG_subprogram
                && let Ok(entry) = unit.entry(offset)
            {
                let covered = ranges(dwarf, &unit, &entry);
                functions.extend(covered.iter().map(|range| (range.begin, range.end, offset)));
            }
            if entries.skip_attributes(abbreviation.attributes()).is_err() {
                break;
            }
        }
        // Of several functions at one address the first counts.
        functions.sort_by_key(|(start, ..)| *start);
        functions.dedup_by_key(|(start, ..)| *start);
        let lines = Lines::read(&unit, sections.style, &sections.budget);
        Some(Self {
            parsed: unit,
            functions,
            lines,
            inlined: HashMap::new(),
            described: HashMap::new(),
            loops: HashMap::new(),
            lowest: None,
        })
    }

    /// Appends the scopes around an address, from the function in.
    pub(crate) fn resolve(
        &mut self,
        known: &mut Sections<'a>,
        finder: Option<&mut Finder<'_>>,
        address: u64,
        to: &mut Vec<Resolved>,
    ) {
        let after = self.functions.partition_point(|(start, ..)| *start <= address);
        let found = after.checked_sub(1).and_then(|at| self.functions.get(at)).copied();
        let Some((.., function)) = found.filter(|(_, end, _)| address < *end) else { return };
        let function_at =
            function.to_debug_info_offset(&self.parsed.header).unwrap_or(DebugInfoOffset(0));
        let Described { name, at, entry } = self.described(known, function_at);
        let entry = self.entry_of(known, function, entry);
        to.push(Resolved::Function { record: function_at.0 as u64, name, at, entry });
        let calls = self.inlining(&known.dwarf, function).calls_at(address);
        let around = match finder {
            Some(finder) => self.loops(known, finder, function).around(address, calls),
            None => calls.into_iter().map(Around::Call).collect(),
        };
        for around in around {
            to.push(match around {
                Around::Loop { at, entry } => Resolved::Loop { at, entry },
                Around::Call((inlined, call)) => {
                    let Described { name, at, .. } = self.described(known, inlined);
                    let call = call_place(&mut self.lines, &known.dwarf, &self.parsed, call);
                    Resolved::Inlined { record: inlined.0 as u64, name, at, call }
                }
            });
        }
    }

    /// The loops of a function.
    fn loops(
        &mut self,
        known: &mut Sections<'a>,
        finder: &mut Finder<'_>,
        function: UnitOffset,
    ) -> &Placed {
        if !self.loops.contains_key(&function) {
            let placed = self.find_loops(known, finder, function);
            self.loops.insert(function, placed);
        }
        self.loops.entry(function).or_default()
    }

    fn find_loops(
        &mut self,
        known: &mut Sections<'a>,
        finder: &mut Finder<'_>,
        function: UnitOffset,
    ) -> Placed {
        let Some(at) = function.to_debug_info_offset(&self.parsed.header) else {
            return Placed::default();
        };
        let described = self.described(known, at);
        let Ok(entry) = self.parsed.entry(function) else { return Placed::default() };
        let ranges = ranges(&known.dwarf, &self.parsed, &entry);
        let start = described.entry.or_else(|| ranges.first().map(|range| range.begin));
        let ranges = ranges.iter().map(|range| range.begin..range.end).collect();
        let found = finder.find(ranges, start.unwrap_or(0));
        let calls = Calls::new(&self.inlining(&known.dwarf, function).all);
        let Self { lines, parsed, .. } = self;
        let file = described.at.map(|(file, _)| file);
        let mut lines = FunctionLines { lines, dwarf: &known.dwarf, unit: parsed, file };
        Placed::new(found, calls, &mut lines)
    }

    /// The places that an address may be at, and from which address on that is so.
    pub(crate) fn lines_at(
        &mut self,
        dwarf: &Dwarf<Reader<'a>>,
        address: u64,
    ) -> (u64, Vec<SourcePlace>) {
        let (from, places) = self.lines.find(address);
        let mut place = |place| self.lines.place(dwarf, &self.parsed, place);
        (from, places.into_iter().filter_map(&mut place).collect())
    }

    /// The address that a function is said to begin at. hpcprof takes the lowest of all its copies,
    /// also of those that were inlined.
    fn entry_of(
        &mut self,
        known: &Sections<'a>,
        function: UnitOffset,
        own: Option<u64>,
    ) -> Option<u64> {
        if known.style == Style::Best {
            return own;
        }
        let lowest = self.lowest.get_or_insert_with(|| compat::entries(&known.dwarf, &self.parsed));
        let origin = self.parsed.entry(function).ok()?.attr_value(DW_AT_abstract_origin);
        let origin = origin.and_then(|value| referred_by(&self.parsed, &value));
        origin.and_then(|origin| lowest.get(&origin).copied()).or(own)
    }

    fn inlining(&mut self, dwarf: &Dwarf<Reader<'a>>, function: UnitOffset) -> &Inlining {
        let unit = &self.parsed;
        let read = || Inlining::read(dwarf, unit, function);
        self.inlined.entry(function).or_insert_with(read)
    }

    fn described(&mut self, known: &mut Sections<'a>, entry: Offset) -> Described {
        if let Some(known) = self.described.get(&entry) {
            return known.clone();
        }
        let described = self.describe(known, entry);
        self.described.insert(entry, described.clone());
        described
    }

    /// What an entry and those that it refers to tell of a function.
    fn describe(&mut self, known: &mut Sections<'a>, offset: Offset) -> Described {
        let mut told = Told::default();
        let mut at = Some(offset);
        for _ in 0..REFERENCES_MAX {
            let Some(offset) = at else { break };
            at = match offset.to_unit_offset(&self.parsed.header) {
                Some(within) => told.add(&known.dwarf, &self.parsed, within, true),
                None => known
                    .other(offset)
                    .and_then(|(dwarf, unit, within)| told.add(dwarf, unit, within, false)),
            };
        }
        let line = told.line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
        // hpcprof takes the file of another unit for one of this unit with the same number.
        let at = match told.file {
            Some((file, is_own)) if is_own || known.style == Style::Compat => {
                self.lines.place(&known.dwarf, &self.parsed, (file, line))
            }
            Some(_) => told.path.map(|path| (path, line)),
            None => None,
        };
        let name = told.linkage.map(|name| known.style.demangled(&name));
        Described { name: name.or(told.plain).unwrap_or_default(), at, entry: told.entry }
    }
}

/// Where a call stands.
fn call_place<'a>(
    lines: &mut Lines,
    dwarf: &Dwarf<Reader<'a>>,
    unit: &gimli::Unit<Reader<'a>>,
    call: (Option<u64>, u32),
) -> Option<SourcePlace> {
    match call {
        (Some(file), line) => lines.place(dwarf, unit, (file, line)),
        (None, line) => Some((UNKNOWN_FILE.to_owned(), line)),
    }
}

/// Lines of a function, for the places of its loops.
struct FunctionLines<'a, 'b> {
    lines: &'b mut Lines,
    dwarf: &'b Dwarf<Reader<'a>>,
    unit: &'b gimli::Unit<Reader<'a>>,
    file: Option<String>,
}

impl loops::Lines for FunctionLines<'_, '_> {
    fn at(&mut self, address: u64) -> Option<SourcePlace> {
        let place = self.lines.find_last(address)?;
        self.lines.place(self.dwarf, self.unit, place)
    }

    fn of_call(&mut self, (_, call): Call) -> Option<SourcePlace> {
        call_place(self.lines, self.dwarf, self.unit, call)
    }

    fn file(&mut self) -> Option<String> {
        self.file.clone()
    }
}

/// What entries tell of a function, the first that tells something counting.
#[derive(Default)]
struct Told {
    linkage: Option<String>,
    plain: Option<String>,
    /// The number of the file, and whether it is one of the unit that is asked.
    file: Option<(u64, bool)>,
    /// The path of the file, where it is one of another unit.
    path: Option<String>,
    line: Option<u64>,
    entry: Option<u64>,
}

impl Told {
    /// Adds what an entry tells, and gives the one that it refers to.
    fn add<'a>(
        &mut self,
        dwarf: &Dwarf<Reader<'a>>,
        unit: &gimli::Unit<Reader<'a>>,
        at: UnitOffset,
        is_own: bool,
    ) -> Option<Offset> {
        let entry = unit.entry(at).ok()?;
        let text = |name| {
            let text = dwarf.attr_string(unit, entry.attr_value(name)?).ok()?;
            Some(bounded(text.slice()))
        };
        let number = |name| entry.attr_value(name).and_then(|value| number(&value));
        self.linkage = self.linkage.take().or_else(|| text(DW_AT_linkage_name));
        self.linkage = self.linkage.take().or_else(|| text(DW_AT_MIPS_linkage_name));
        self.plain = self.plain.take().or_else(|| text(DW_AT_name));
        if let (None, Some(file)) = (self.file, number(DW_AT_decl_file)) {
            self.file = Some((file, is_own));
            self.path = (!is_own).then(|| Lines::default().file(dwarf, unit, file)).flatten();
        }
        self.line = self.line.or_else(|| number(DW_AT_decl_line));
        self.entry = self.entry.or_else(|| entry_address(dwarf, unit, &entry));
        referred(unit, &entry)
    }
}
