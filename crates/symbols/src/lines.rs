//! Lines of a unit by address, and the paths of its files.

use std::collections::HashMap;

use gimli::{AttributeValue, Dwarf, FileEntry, LineProgramHeader};
use kymo_core::model::structure::SourcePlace;

use crate::dwarf::Reader;

/// From an address on, which file and line it is; nothing after the end of a sequence.
#[derive(Debug, Clone, Copy)]
struct Row {
    address: u64,
    /// The index of the file, and the line.
    place: Option<(u64, u32)>,
    /// The same by the last row of the address.
    last: Option<(u64, u32)>,
}

/// The lines of a unit.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    rows: Vec<Row>,
    /// Paths of files that were asked for.
    files: HashMap<u64, Option<String>>,
}

impl Lines {
    /// Reads all rows.
    pub(crate) fn read(unit: &gimli::Unit<Reader<'_>>) -> Self {
        let mut lines = Self::default();
        let Some(program) = unit.line_program.clone() else { return lines };
        let mut rows = program.rows();
        let mut sequences: Vec<Vec<Row>> = Vec::new();
        let mut open: Vec<Row> = Vec::new();
        while let Ok(Some((_, row))) = rows.next_row() {
            let address = row.address();
            if row.end_sequence() {
                open.push(Row { address, place: None, last: None });
                sequences.push(std::mem::take(&mut open));
                continue;
            }
            let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
            let place = Some((row.file_index(), line.unwrap_or(0)));
            // Of several rows at an address the first counts: it is where the statement begins.
            match open.last_mut().filter(|before| before.address == address) {
                Some(before) => before.last = place,
                None => open.push(Row { address, place, last: place }),
            }
        }
        // Where a sequence begins another ended, or nothing was.
        sequences.sort_by_key(|sequence| sequence.first().map_or(0, |row| row.address));
        lines.rows = sequences.into_iter().flatten().collect();
        lines.rows.sort_by_key(|row| row.address);
        lines
    }

    /// The place that an address is at.
    pub(crate) fn find(&self, address: u64) -> Option<(u64, u32)> {
        self.row(address)?.place
    }

    /// The place by the last of several rows, which is that of the innermost inlined call.
    pub(crate) fn find_last(&self, address: u64) -> Option<(u64, u32)> {
        self.row(address)?.last
    }

    fn row(&self, address: u64) -> Option<&Row> {
        let after = self.rows.partition_point(|row| row.address <= address);
        self.rows.get(after.checked_sub(1)?)
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
fn path_of<'a>(
    dwarf: &Dwarf<Reader<'a>>,
    unit: &gimli::Unit<Reader<'a>>,
    header: &LineProgramHeader<Reader<'a>>,
    file: &FileEntry<Reader<'a>>,
) -> Option<String> {
    let text = |value: AttributeValue<Reader<'a>>| {
        let text = dwarf.attr_string(unit, value).ok()?;
        Some(String::from_utf8_lossy(text.slice()).into_owned())
    };
    let mut path = text(file.path_name())?;
    let directory = file.directory(header).and_then(text);
    if let Some(directory) = directory.filter(|directory| !directory.is_empty())
        && !path.starts_with('/')
    {
        path = format!("{directory}/{path}");
    }
    let compiled = unit.comp_dir.map(|text| String::from_utf8_lossy(text.slice()).into_owned());
    if let Some(compiled) = compiled.filter(|compiled| !compiled.is_empty())
        && !path.starts_with('/')
    {
        path = format!("{compiled}/{path}");
    }
    Some(path)
}
