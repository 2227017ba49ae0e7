//! What hpcprof makes of debug information where that tells several things of one address.
//!
//! Of several lines it takes the one whose file has the lowest address in its memory, and of those
//! the lowest. Files are made as they are met, so as a rule those that are met first come first:
//! unit by unit, those that functions were declared and called in, then those of lines. Of a
//! function that has copies it keeps the lowest address.

use std::collections::HashMap;

use gimli::{
    DW_AT_abstract_origin, DW_AT_call_file, DW_AT_decl_file, DW_AT_declaration, DW_AT_inline,
    DW_TAG_inlined_subroutine, DW_TAG_subprogram, Dwarf, UnitOffset,
};

use crate::dwarf::{Reader, Sections};
use crate::lines::path_of;
use crate::unit::{Entry, Offset, REFERENCES_MAX, Work, entry_address, number, referred};

/// The order in which files are met.
#[derive(Debug, Default)]
pub(crate) struct FileOrder {
    /// The first unit that lists a file.
    first: Option<HashMap<String, usize>>,
    /// Files in the order in which they are met, by unit.
    met: HashMap<usize, HashMap<String, usize>>,
}

impl FileOrder {
    /// The place of a file in that order: the unit, and the place there.
    pub(crate) fn rank(&mut self, sections: &mut Sections<'_>, path: &str) -> (usize, usize) {
        let first = self.first.get_or_insert_with(|| listed(sections));
        let Some(unit) = first.get(path).copied() else { return (usize::MAX, 0) };
        let met = self.met.entry(unit).or_insert_with(|| met(sections, unit).unwrap_or_default());
        (unit, met.get(path).copied().unwrap_or(usize::MAX))
    }
}

/// The first unit that lists each file.
fn listed(sections: &Sections<'_>) -> HashMap<String, usize> {
    let mut first = HashMap::new();
    for (index, header) in sections.headers.iter().enumerate() {
        let Ok(unit) = sections.dwarf.unit(*header) else { continue };
        for file in 1..=files(&unit) {
            if let Some(path) = path(&sections.dwarf, &unit, file) {
                first.entry(path).or_insert(index);
            }
        }
    }
    first
}

/// How many files a unit lists, as far as they have numbers from 1.
fn files(unit: &gimli::Unit<Reader<'_>>) -> u64 {
    unit.line_program.as_ref().map_or(0, |program| program.header().file_names().len() as u64)
}

fn path<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    unit: &gimli::Unit<Reader<'a>>,
    file: u64,
) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    path_of(dwarf, unit, header, header.file(file).filter(|_| file > 0)?)
}

/// The files of a unit in the order in which they are met.
fn met(sections: &mut Sections<'_>, unit: usize) -> Option<HashMap<String, usize>> {
    let parsed = sections.dwarf.unit(*sections.headers.get(unit)?).ok()?;
    let mut files = Vec::new();
    each_copy(&parsed, |entry, is_inlined| {
        files.extend(declared(sections, &parsed, entry));
        let call = entry.attr_value(DW_AT_call_file).filter(|_| is_inlined);
        files.extend(call.and_then(|value| number(&value)));
    });
    if let Some(program) = parsed.line_program.clone() {
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
        if let Some(path) = path(&sections.dwarf, &parsed, file) {
            met.entry(path).or_insert(next);
        }
    }
    Some(met)
}

/// The number of the file that a function was declared in, by the entry or those it refers to.
fn declared<'a>(
    sections: &mut Sections<'a>,
    unit: &gimli::Unit<Reader<'a>>,
    entry: &Entry<'a>,
) -> Option<u64> {
    let file =
        |entry: &Entry<'a>| entry.attr_value(DW_AT_decl_file).and_then(|value| number(&value));
    if let Some(found) = file(entry) {
        return Some(found);
    }
    let mut at = referred(unit, entry);
    for _ in 0..REFERENCES_MAX {
        let offset: Offset = at?;
        let (found, next) = if let Some(within) = offset.to_unit_offset(&unit.header) {
            let entry = unit.entry(within).ok()?;
            (file(&entry), referred(unit, &entry))
        } else {
            let (_, other, within) = sections.other(offset)?;
            let entry = other.entry(within).ok()?;
            (file(&entry), referred(other, &entry))
        };
        if found.is_some() {
            return found;
        }
        at = next;
    }
    None
}

/// The lowest address that a copy begins at of what a function is a copy of; nothing where it is
/// none.
pub(crate) fn lowest_entry(
    dwarf: &Dwarf<Reader<'_>>,
    unit: &gimli::Unit<Reader<'_>>,
    function: UnitOffset,
) -> Option<u64> {
    let origin = unit.entry(function).ok()?.attr_value(DW_AT_abstract_origin)?;
    let mut lowest: Option<u64> = None;
    each_copy(unit, |entry, _| {
        if entry.attr_value(DW_AT_abstract_origin).as_ref() == Some(&origin) {
            let found = entry_address(dwarf, unit, entry);
            lowest = lowest.into_iter().chain(found).min();
        }
    });
    lowest
}

/// Hands on functions that have code, and calls that were inlined.
fn each_copy<'a>(unit: &gimli::Unit<Reader<'a>>, mut take: impl FnMut(&Entry<'a>, bool)) {
    let Ok(mut entries) = unit.entries_raw(None) else { return };
    let mut work = Work::default();
    while !entries.is_empty() {
        let at = entries.next_offset();
        let Ok(abbreviation) = entries.read_abbreviation() else { return };
        let Some(abbreviation) = abbreviation else { continue };
        if !work.is_left(abbreviation.attributes().len())
            || entries.skip_attributes(abbreviation.attributes()).is_err()
        {
            return;
        }
        let is_inlined = abbreviation.tag() == DW_TAG_inlined_subroutine;
        if !is_inlined && abbreviation.tag() != DW_TAG_subprogram {
            continue;
        }
        let Ok(entry) = unit.entry(at) else { continue };
        let has = |name| entry.attr_value(name).is_some();
        if !has(DW_AT_declaration) && !has(DW_AT_inline) {
            take(&entry, is_inlined);
        }
    }
}
