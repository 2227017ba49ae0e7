//! Lines of a unit by address, and the paths of its files.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{FileEntry, LineProgramHeader};
use kymo_model::structure::SourcePlace;

use crate::attributes::text;
use crate::budget::Budget;
use crate::demangle::{Style, bounded};
use crate::dwarf::Reader;
use crate::sections::Parsed;

/// The index of a file, and a line.
pub(crate) type Place = (u64, u32);

/// From an address on, which file and line it is; nothing after the end of a sequence.
#[derive(Debug, Clone, Copy)]
struct Row {
    address: u64,
    place: Option<Place>,
}

/// The lines of a unit.
pub(crate) struct Lines<'a> {
    /// Origin of the lines. That is the module itself, also where the entries were split off.
    from: Arc<Parsed<'a>>,
    /// By address, and in the order of the table where addresses are the same.
    rows: Vec<Row>,
    style: Style,
    /// Paths of files that were asked for.
    files: HashMap<u64, Option<String>>,
}

impl<'a> Lines<'a> {
    /// Reads all rows.
    pub(crate) fn read(from: Arc<Parsed<'a>>, style: Style, budget: &Budget) -> Self {
        let program = from.unit.line_program.clone();
        let executable = from.executable;
        let mut lines = Self { from, rows: Vec::new(), style, files: HashMap::new() };
        let Some(program) = program else { return lines };
        let mut rows = program.rows();
        // Where a sequence begins another ended, or nothing was: that comes first.
        let mut ends: Vec<Row> = Vec::new();
        let most = budget.rows().saturating_add(1);
        let mut count = 0;
        // Whether the sequence begins where there is code; nothing before its first row.
        let mut begins_in_code = None;
        while count < most
            && let Some(Some((_, row))) = budget.read(rows.next_row())
        {
            count += 1;
            let address = row.address();
            let is_kept = *begins_in_code.get_or_insert_with(|| executable.is_at(address));
            begins_in_code = begins_in_code.filter(|_| !row.end_sequence());
            if !is_kept {
                continue;
            }
            let line = row.line().and_then(|line| u32::try_from(line.get()).ok()).unwrap_or(0);
            let place = Some((row.file_index(), line));
            match style {
                Style::Best if row.end_sequence() => ends.push(Row { address, place: None }),
                Style::Best => lines.rows.push(Row { address, place }),
                // To hpcprof the end is a row like others, and file 0 is none.
                Style::Compat => {
                    let place = place.filter(|(file, _)| *file > 0);
                    lines.rows.push(Row { address, place });
                }
            }
        }
        if budget.take_rows(count).is_none() {
            lines.rows.clear();
            return lines;
        }
        lines.rows.splice(..0, ends);
        lines.rows.sort_by_key(|row| row.address);
        lines
    }

    /// The places that an address is at, and from which address on. There are several only for
    /// hpcprof, which chooses by what it knows of their files. To us the last one counts, which the
    /// code that follows is of.
    pub(crate) fn find(&self, address: u64) -> (u64, Vec<Place>) {
        let after = self.rows.partition_point(|row| row.address <= address);
        let rows = self.rows.get(..after).unwrap_or_default();
        let from = rows.last().map_or(0, |row| row.address);
        let start = rows.partition_point(|row| row.address < from);
        let mut places: Vec<_> = match self.style {
            Style::Best => rows.last().and_then(|row| row.place).into_iter().collect(),
            Style::Compat => rows.iter().skip(start).filter_map(|row| row.place).collect(),
        };
        places.sort_unstable();
        places.dedup();
        (from, places)
    }

    /// The place by the last of several rows, which is that of the innermost inlined call.
    pub(crate) fn find_last(&self, address: u64) -> Option<Place> {
        let after = self.rows.partition_point(|row| row.address <= address);
        self.rows.get(after.checked_sub(1)?)?.place
    }

    /// The path of a file with a line.
    pub(crate) fn place(&mut self, (file, line): Place, budget: &Budget) -> Option<SourcePlace> {
        let path = || self::file(&self.from, file, budget);
        let path = self.files.entry(file).or_insert_with(path).clone()?;
        Some((path, line))
    }
}

/// The path of a file of a unit.
pub(crate) fn file(from: &Parsed<'_>, index: u64, budget: &Budget) -> Option<String> {
    let header = from.unit.line_program.as_ref()?.header();
    path_of(from, header, header.file(index)?, budget)
}

/// The directory that a unit was compiled in, the directory of the file, and its name, as far as
/// the latter are relative.
fn path_of<'a>(
    from: &Parsed<'a>,
    header: &LineProgramHeader<Reader<'a>>,
    file: &FileEntry<Reader<'a>>,
    budget: &Budget,
) -> Option<String> {
    let text = |value| text(from, value, budget);
    let mut path = text(file.path_name())?;
    let directory = file.directory(header).and_then(text);
    if let Some(directory) = directory.filter(|directory| !directory.is_empty())
        && !path.starts_with('/')
    {
        path = format!("{directory}/{path}");
    }
    let compiled = from.unit.comp_dir.map(|text| bounded(text.slice()));
    if let Some(compiled) = compiled.filter(|compiled| !compiled.is_empty())
        && !path.starts_with('/')
    {
        path = format!("{compiled}/{path}");
    }
    Some(path)
}
