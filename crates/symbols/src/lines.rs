//! Lines of a unit by address, and the paths of its files.

use std::collections::HashMap;

use gimli::{AttributeValue, Dwarf, FileEntry, LineProgramHeader};
use kymo_core::model::structure::SourcePlace;

use crate::demangle::{Style, bounded};
use crate::dwarf::{Budget, Reader};

/// The index of a file, and a line.
pub(crate) type Place = (u64, u32);

/// From an address on, which file and line it is; nothing after the end of a sequence.
#[derive(Debug, Clone, Copy)]
struct Row {
    address: u64,
    place: Option<Place>,
}

/// The lines of a unit.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// By address, and in the order of the table where addresses are the same.
    rows: Vec<Row>,
    style: Style,
    /// Paths of files that were asked for.
    files: HashMap<u64, Option<String>>,
}

impl Lines {
    /// Reads all rows.
    pub(crate) fn read(unit: &gimli::Unit<Reader<'_>>, style: Style, budget: &Budget) -> Self {
        let mut lines = Self::default();
        let Some(program) = unit.line_program.clone() else { return lines };
        let mut rows = program.rows();
        // Where a sequence begins another ended, or nothing was: that comes first.
        let mut ends: Vec<Row> = Vec::new();
        let most = budget.rows().saturating_add(1);
        while lines.rows.len() + ends.len() < most
            && let Ok(Some((_, row))) = rows.next_row()
        {
            let address = row.address();
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
        if budget.take_rows(lines.rows.len() + ends.len()).is_none() {
            return Self::default();
        }
        lines.rows.splice(..0, ends);
        lines.rows.sort_by_key(|row| row.address);
        lines.style = style;
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

    /// The path of a file.
    pub(crate) fn file(
        &mut self,
        dwarf: &Dwarf<Reader<'_>>,
        unit: &gimli::Unit<Reader<'_>>,
        index: u64,
    ) -> Option<String> {
        let path = || {
            let header = unit.line_program.as_ref()?.header();
            path_of(dwarf, unit, header, header.file(index)?)
        };
        self.files.entry(index).or_insert_with(path).clone()
    }

    /// The path of a file with a line.
    pub(crate) fn place(
        &mut self,
        dwarf: &Dwarf<Reader<'_>>,
        unit: &gimli::Unit<Reader<'_>>,
        (file, line): (u64, u32),
    ) -> Option<SourcePlace> {
        Some((self.file(dwarf, unit, file)?, line))
    }
}

/// The directory that a unit was compiled in, the directory of the file, and its name, as far as
/// the latter are relative.
pub(crate) fn path_of<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    unit: &gimli::Unit<Reader<'a>>,
    header: &LineProgramHeader<Reader<'a>>,
    file: &FileEntry<Reader<'a>>,
) -> Option<String> {
    let text = |value: AttributeValue<Reader<'a>>| {
        let text = dwarf.attr_string(unit, value).ok()?;
        Some(bounded(text.slice()))
    };
    let mut path = text(file.path_name())?;
    let directory = file.directory(header).and_then(text);
    if let Some(directory) = directory.filter(|directory| !directory.is_empty())
        && !path.starts_with('/')
    {
        path = format!("{directory}/{path}");
    }
    let compiled = unit.comp_dir.map(|text| bounded(text.slice()));
    if let Some(compiled) = compiled.filter(|compiled| !compiled.is_empty())
        && !path.starts_with('/')
    {
        path = format!("{compiled}/{path}");
    }
    Some(path)
}
