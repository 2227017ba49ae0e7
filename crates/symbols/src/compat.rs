//! Choices that hpcprof makes where debug information gives several things for one address.
//!
//! Of several lines it takes the one whose file has the lowest address in its memory, and of those
//! the lowest. Files are made as they are met, so as a rule those that are met first come first:
//! unit by unit, those that functions were declared and called in, then those of lines. Of a
//! function that has copies it keeps the lowest address.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use gimli::{
    DW_AT_abstract_origin, DW_AT_call_file, DW_AT_decl_file, DW_AT_declaration, DW_AT_inline,
    DW_TAG_inlined_subroutine, DW_TAG_subprogram, DebugLineOffset, Dwarf, FileEntry,
    IncompleteLineProgram, Reader as _, Section as _,
};

use crate::attributes::{entry_address, number, referred, referred_by};
use crate::budget::Budget;
use crate::dwarf::Reader;
use crate::lines;
use crate::sections::{Offset, Parsed, Sections};
use crate::unit::{Entry, REFERENCES_MAX, Work};

/// The order in which files are met.
#[derive(Debug, Default)]
pub(crate) struct FileOrder<'a> {
    listed: Option<FileTables<'a>>,
    /// Files in the order in which they are met, by the table that lists them.
    met: HashMap<usize, HashMap<String, usize>>,
    /// Places of files that were asked for.
    ranks: HashMap<String, (usize, usize)>,
}

impl<'a> FileOrder<'a> {
    /// The place of a file in that order: the unit, by its table of lines, and the place there.
    pub(crate) fn rank(&mut self, sections: &mut Sections<'a>, path: &str) -> (usize, usize) {
        if let Some(known) = self.ranks.get(path) {
            return *known;
        }
        let rank = self.find(sections, path).unwrap_or((usize::MAX, 0));
        self.ranks.insert(path.to_owned(), rank);
        rank
    }

    fn find(&mut self, sections: &mut Sections<'a>, path: &str) -> Option<(usize, usize)> {
        let listed = self.listed.get_or_insert_with(|| FileTables::new(sections.dwarf()));
        let (table, unit) = listed.first(sections, path)?;
        let met =
            self.met.entry(table).or_insert_with(|| unit_files(sections, unit).unwrap_or_default());
        Some((table, met.get(path).copied().unwrap_or(usize::MAX)))
    }
}

/// Lists of files: the tables of lines, one after another, without the units that they are of.
/// Those are many, and few are asked for.
#[derive(Debug)]
struct FileTables<'a> {
    /// Offsets at which they begin.
    tables: Vec<usize>,
    /// Tables and numbers of files there, by the last part of their names.
    by_name: HashMap<&'a [u8], Vec<(usize, u64)>, RandomState>,
    /// The units of tables that were asked for.
    units: HashMap<usize, Option<usize>>,
}

impl<'a> FileTables<'a> {
    fn new(dwarf: &Dwarf<Reader<'a>>) -> Self {
        let (mut tables, mut by_name) = (Vec::new(), HashMap::<_, Vec<_>, _>::default());
        let (mut at, length) = (0_usize, dwarf.debug_line.reader().len());
        while at < length {
            let Some(program) = table(dwarf, at) else { break };
            let header = program.header();
            for number in 1..=header.file_names().len() as u64 {
                let name = header.file(number).map(FileEntry::path_name);
                let name = name.and_then(|name| dwarf.attr_line_string(name).ok());
                let Some(name) = name.map(|name| name.slice()) else { continue };
                let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
                by_name.entry(last).or_default().push((tables.len(), number));
            }
            let head = usize::from(header.format().initial_length_size());
            tables.push(at);
            at = at.saturating_add(head).saturating_add(header.unit_length());
        }
        Self { tables, by_name, units: HashMap::new() }
    }

    /// The first table that lists a file, and its unit.
    fn first(&mut self, sections: &Sections<'a>, path: &str) -> Option<(usize, usize)> {
        let last = path.rsplit('/').next().unwrap_or(path);
        for (place, number) in self.by_name.get(last.as_bytes())? {
            let at = *self.tables.get(*place)?;
            let find = || unit_of(sections, at);
            let Some(unit) = *self.units.entry(*place).or_insert_with(find) else { continue };
            let Some(parsed) = sections.unit(unit) else { continue };
            if self::path(&parsed, *number, &sections.budget).as_deref() == Some(path) {
                return Some((*place, unit));
            }
        }
        None
    }
}

/// The table of lines at a place.
fn table<'a>(dwarf: &Dwarf<Reader<'a>>, at: usize) -> Option<IncompleteLineProgram<Reader<'a>>> {
    dwarf.debug_line.program(DebugLineOffset(at), 8, None, None).ok()
}

/// The unit that a table of lines is of. Linkers put both in the same order as a rule.
fn unit_of(sections: &Sections<'_>, table: usize) -> Option<usize> {
    let table_of = |unit: usize| {
        let program = sections.unit(unit)?.unit.line_program?;
        Some(program.header().offset().0)
    };
    let (mut low, mut high) = (0, sections.headers().len());
    while low < high {
        let middle = low.midpoint(high);
        match table_of(middle) {
            Some(found) if found == table => return Some(middle),
            Some(found) if found < table => low = middle + 1,
            Some(_) => high = middle,
            None => break,
        }
    }
    (0..sections.headers().len()).find(|unit| table_of(*unit) == Some(table))
}

fn path(from: &Parsed<'_>, file: u64, budget: &Budget) -> Option<String> {
    (file > 0).then(|| lines::file(from, file, budget)).flatten()
}

/// The files of a unit in the order in which they are met.
fn unit_files(sections: &mut Sections<'_>, unit: usize) -> Option<HashMap<String, usize>> {
    let parsed = sections.unit(unit)?;
    let mut files = Vec::new();
    let is_all = each_copy(&parsed, |entry, is_inlined| {
        files.extend(declared(sections, &parsed, entry));
        let call = entry.attr_value(DW_AT_call_file).filter(|_| is_inlined);
        files.extend(call.and_then(|value| number(&value)));
    });
    if !is_all {
        sections.budget.spend();
    }
    if let Some(program) = parsed.unit.line_program.clone() {
        let mut rows = program.rows();
        while let Ok(Some((_, row))) = rows.next_row() {
            if files.last() != Some(&row.file_index()) {
                files.push(row.file_index());
            }
        }
    }
    let mut met = HashMap::new();
    let mut seen = std::collections::HashSet::new();
    for file in files.into_iter().filter(|file| seen.insert(*file)) {
        let next = met.len();
        if let Some(path) = path(&parsed, file, &sections.budget) {
            met.entry(path).or_insert(next);
        }
    }
    Some(met)
}

/// The number of the file that a function was declared in, by the entry or those it refers to.
fn declared<'a>(sections: &mut Sections<'a>, unit: &Parsed<'a>, entry: &Entry<'a>) -> Option<u64> {
    let file =
        |entry: &Entry<'a>| entry.attr_value(DW_AT_decl_file).and_then(|value| number(&value));
    if let Some(found) = file(entry) {
        return Some(found);
    }
    let mut at = referred(unit, entry);
    for _ in 0..REFERENCES_MAX {
        let offset: Offset = at?;
        let (found, next) = if let Some(within) = unit.offset_in_unit(offset) {
            let entry = unit.unit.entry(within).ok()?;
            (file(&entry), referred(unit, &entry))
        } else {
            let (other, within) = sections.unit_at(offset)?;
            let entry = other.unit.entry(within).ok()?;
            (file(&entry), referred(&other, &entry))
        };
        if found.is_some() {
            return found;
        }
        at = next;
    }
    None
}

/// The lowest address that a copy begins at of each function that has copies.
pub(crate) fn entries(unit: &Parsed<'_>, budget: &Budget) -> HashMap<Offset, u64> {
    let mut lowest = HashMap::new();
    let is_all = each_copy(unit, |entry, _| {
        let origin = entry.attr_value(DW_AT_abstract_origin);
        let origin = origin.and_then(|value| referred_by(unit, &value));
        if let (Some(origin), Some(found)) = (origin, entry_address(unit, entry)) {
            let known = lowest.entry(origin).or_insert(found);
            *known = found.min(*known);
        }
    });
    if !is_all {
        budget.spend();
    }
    lowest
}

/// Hands on functions that have code, and calls that were inlined. Tells whether there are no more
/// than are read; what is damaged is known from where functions are read.
fn each_copy<'a>(unit: &Parsed<'a>, mut take: impl FnMut(&Entry<'a>, bool)) -> bool {
    let Ok(mut entries) = unit.unit.entries_raw(None) else { return true };
    let mut work = Work::default();
    while !entries.is_empty() {
        let at = entries.next_offset();
        let Ok(abbreviation) = entries.read_abbreviation() else { return true };
        let Some(abbreviation) = abbreviation else { continue };
        if !work.is_left(abbreviation.attributes().len()) {
            return false;
        }
        if entries.skip_attributes(abbreviation.attributes()).is_err() {
            return true;
        }
        let is_inlined = abbreviation.tag() == DW_TAG_inlined_subroutine;
        if !is_inlined && abbreviation.tag() != DW_TAG_subprogram {
            continue;
        }
        let Ok(entry) = unit.unit.entry(at) else { continue };
        let has = |name| entry.attr_value(name).is_some();
        if !has(DW_AT_declaration) && !has(DW_AT_inline) {
            take(&entry, is_inlined);
        }
    }
    true
}
