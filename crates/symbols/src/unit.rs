//! A unit of DWARF: its functions, and the calls inlined in them.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{DW_AT_abstract_origin, DW_TAG_subprogram, UnitOffset};
use kymo_model::structure::{Resolved, SourcePlace};

use crate::attributes::{ranges, referred_by};
use crate::budget::Budget;
use crate::calls::{Call, Calls};
use crate::compat;
use crate::demangle::Style;
use crate::dwarf::Reader;
use crate::entry_facts::EntryFacts;
use crate::inlining::{self, CallPlace};
use crate::lines::Lines;
use crate::loops::{self, EnclosingScope, Finder, PlacedLoops};
use crate::naming;
use crate::sections::{Offset, Parsed, Sections};

pub(crate) type Entry<'a> = gimli::DebuggingInformationEntry<Reader<'a>>;

/// Number of times that an entry may refer to another for its name.
pub(crate) const REFERENCES_MAX: usize = 16;

/// Number of ranges of addresses that are taken of a unit or a function.
pub(crate) const RANGES_MAX: usize = 1 << 20;

/// Number of attributes that are passed over in a unit. Some take no bytes, so that a short unit
/// may have any number of them.
const ATTRIBUTES_MAX: usize = 1 << 26;

/// Amount of work done so far, of what a unit may take.
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
    /// Number that distinguishes its entries from those of other units that were split off, too.
    number: usize,
    parsed: Arc<Parsed<'a>>,
    /// Addresses of functions by their start.
    functions: Vec<(u64, u64, UnitOffset)>,
    lines: Lines<'a>,
    inlined: HashMap<UnitOffset, Arc<Calls>>,
    described: HashMap<Offset, DescribedFunction>,
    loops: HashMap<UnitOffset, PlacedLoops>,
    /// Start of the functions that have copies, as the entries give it, once that was asked for.
    lowest: Option<HashMap<Offset, u64>>,
    /// Start of functions, once that was asked for.
    starts: Option<HashMap<Offset, u64>>,
}

/// Description of a function.
#[derive(Debug, Clone, Default)]
struct DescribedFunction {
    name: String,
    at: Option<SourcePlace>,
    entry: Option<u64>,
}

impl<'a> Unit<'a> {
    /// Finds the functions of a unit, also where they were split off.
    pub(crate) fn read(sections: &Sections<'a>, number: usize) -> Option<Self> {
        let own = Arc::new(sections.unit(number)?);
        let parsed = sections.split(&own, number).map_or_else(|| Arc::clone(&own), Arc::new);
        let lines = Lines::read(own, sections.style, &sections.budget);
        sections.budget.take_entries(&parsed.unit)?;
        Some(Self {
            number,
            functions: functions(&parsed, &sections.budget),
            parsed,
            lines,
            inlined: HashMap::new(),
            described: HashMap::new(),
            loops: HashMap::new(),
            lowest: None,
            starts: None,
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
        let Some(function_at) = self.parsed.offset(function) else { return };
        let record = function_at.record(self.number);
        let DescribedFunction { name, at, entry } = self.described(known, function_at);
        let entry = self.entry_of(known, function, entry);
        to.push(Resolved::Function { record, name, at, entry });
        let calls = self.inlined(known, function);
        let calls = calls.path(calls.find(address));
        let around = match finder {
            Some(finder) => self.loops(known, finder, function).enclosing_scopes(address, calls),
            None => calls.into_iter().map(EnclosingScope::Call).collect(),
        };
        for around in around {
            to.push(match around {
                EnclosingScope::Loop { at, entry } => Resolved::Loop { at, entry },
                EnclosingScope::Call((inlined, call)) => {
                    let DescribedFunction { name, at, .. } = self.described(known, inlined);
                    // What tells its name may be in a file that is not there.
                    if name.is_empty() && known.style == Style::Best {
                        continue;
                    }
                    let call = call_place(&mut self.lines, call, &known.budget);
                    Resolved::Inlined { record: inlined.record(self.number), name, at, call }
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
    ) -> &PlacedLoops {
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
    ) -> PlacedLoops {
        let Some(at) = self.parsed.offset(function) else { return PlacedLoops::default() };
        let described = self.described(known, at);
        let Ok(entry) = self.parsed.unit.entry(function) else { return PlacedLoops::default() };
        let ranges = ranges(&self.parsed, &entry, &known.budget);
        let start = described.entry.or_else(|| ranges.first().map(|range| range.begin));
        let ranges = ranges.iter().map(|range| range.begin..range.end).collect();
        let found = finder.find(ranges, start.unwrap_or(0));
        let calls = self.inlined(known, function);
        let file = described.at.map(|(file, _)| file);
        let mut lines = FunctionLines { lines: &mut self.lines, file, budget: &known.budget };
        PlacedLoops::new(found, calls, &mut lines)
    }

    /// The places that an address may be at, and from which address on that is so.
    pub(crate) fn lines_at(&mut self, address: u64, budget: &Budget) -> (u64, Vec<SourcePlace>) {
        let (from, places) = self.lines.find(address);
        let places = places.into_iter().filter_map(|place| self.lines.place(place, budget));
        (from, places.collect())
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
        let lowest =
            self.lowest.get_or_insert_with(|| compat::entries(&self.parsed, &known.budget));
        let origin = self.parsed.unit.entry(function).ok()?.attr_value(DW_AT_abstract_origin);
        let origin = origin.and_then(|value| referred_by(&self.parsed, &value));
        origin.and_then(|origin| lowest.get(&origin).copied()).or(own)
    }

    /// The calls that were inlined in a function.
    fn inlined(&mut self, known: &Sections<'a>, function: UnitOffset) -> Arc<Calls> {
        let read = || Arc::new(inlining::read(&self.parsed, function, &known.budget));
        Arc::clone(self.inlined.entry(function).or_insert_with(read))
    }

    fn described(&mut self, known: &mut Sections<'a>, entry: Offset) -> DescribedFunction {
        if let Some(known) = self.described.get(&entry) {
            return known.clone();
        }
        let described = self.describe(known, entry);
        self.described.insert(entry, described.clone());
        described
    }

    /// Describes a function.
    fn describe(&mut self, known: &mut Sections<'a>, offset: Offset) -> DescribedFunction {
        let mut told = EntryFacts::from_entry(&self.parsed, known, offset);
        let name = self.name_of(known, offset, &mut told);
        let line = told.line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
        // hpcprof takes the file of another unit for one of this unit with the same number.
        let at = match told.file {
            Some((file, is_own)) if is_own || known.style == Style::Compat => {
                self.lines.place((file, line), &known.budget)
            }
            Some(_) => told.path.map(|path| (path, line)),
            None => None,
        };
        DescribedFunction { name, at, entry: told.entry }
    }

    /// The whole name of a function, if it is told. Where only the last part of a name of C++ is, its
    /// symbol tells the rest, or what it is in; but not to hpcprof.
    fn name_of(&mut self, known: &mut Sections<'a>, at: Offset, told: &mut EntryFacts) -> String {
        if let Some(linkage) = &told.linkage {
            return known.style.demangled(linkage);
        }
        let plain = told.plain.take().unwrap_or_default();
        if plain.is_empty()
            || known.style == Style::Compat
            || !naming::is_cxx(&self.parsed, known, told.last)
        {
            return plain;
        }
        let start = told.entry.or_else(|| self.start_of(at));
        let symbol = start.and_then(|start| known.image.symbol_at(start));
        let named = symbol.and_then(|symbol| naming::symbol_name(symbol, &plain, known.style));
        named.unwrap_or_else(|| naming::qualified(&self.parsed, known, told.last, plain))
    }

    /// Returns the start of the code of a function, by its own entry or by the one that it is a
    /// copy of.
    fn start_of(&mut self, function: Offset) -> Option<u64> {
        let starts = || naming::starts(&self.parsed, &self.functions);
        self.starts.get_or_insert_with(starts).get(&function).copied()
    }
}

/// Functions by their addresses. Of several at one address the first counts.
fn functions(parsed: &Parsed<'_>, budget: &Budget) -> Vec<(u64, u64, UnitOffset)> {
    let mut functions = Vec::new();
    let Some(mut entries) = budget.read(parsed.unit.entries_raw(None)) else { return functions };
    let mut work = Work::default();
    while !entries.is_empty() {
        if functions.len() >= RANGES_MAX {
            budget.spend();
            break;
        }
        let offset = entries.next_offset();
        // Functions that were read before damage are kept.
        let Some(abbreviation) = budget.read(entries.read_abbreviation()) else { break };
        let Some(abbreviation) = abbreviation else { continue };
        if !work.is_left(abbreviation.attributes().len()) {
            budget.spend();
            break;
        }
        if abbreviation.tag() == DW_TAG_subprogram
            && let Ok(entry) = parsed.unit.entry(offset)
        {
            let covered = ranges(parsed, &entry, budget);
            functions.extend(covered.iter().map(|range| (range.begin, range.end, offset)));
        }
        if budget.read(entries.skip_attributes(abbreviation.attributes())).is_none() {
            break;
        }
    }
    functions.sort_by_key(|(start, ..)| *start);
    functions.dedup_by_key(|(start, ..)| *start);
    functions.shrink_to_fit();
    functions
}

/// Returns the place of a call.
fn call_place(lines: &mut Lines<'_>, call: CallPlace, budget: &Budget) -> Option<SourcePlace> {
    match call {
        (Some(file), line) => lines.place((file, line), budget),
        (None, line) => Some((UNKNOWN_FILE.to_owned(), line)),
    }
}

/// Lines of a function, for the places of its loops.
struct FunctionLines<'a, 'b> {
    lines: &'b mut Lines<'a>,
    file: Option<String>,
    budget: &'b Budget,
}

impl loops::Lines for FunctionLines<'_, '_> {
    fn place_at(&mut self, address: u64) -> Option<SourcePlace> {
        let place = self.lines.find_last(address)?;
        self.lines.place(place, self.budget)
    }

    fn call_place(&mut self, (_, call): Call) -> Option<SourcePlace> {
        call_place(self.lines, call, self.budget)
    }

    fn file(&mut self) -> Option<String> {
        self.file.clone()
    }
}
