//! A table of figures of a file, one after another.

use std::io::{self, Write};

use super::grid::{Grid, GridArgs};
use super::{numbers, style};
use crate::output::Output;

/// A table of a file.
pub(crate) struct Listing<'a> {
    /// The file.
    pub(crate) file: &'a str,
    /// Title above it that a person reads, besides the file.
    pub(crate) title: &'a str,
    /// True if nothing was printed before.
    pub(crate) is_first: bool,
    /// Number of rows that are shown; 0 shows all.
    pub(crate) rows: usize,
}

impl Listing<'_> {
    /// Prints the table: with the names of columns first in CSV, with a title for a person.
    pub(crate) fn print(&self, out: &mut Output, how: GridArgs, mut grid: Grid) -> io::Result<()> {
        let more = grid.keep(self.rows);
        if how.csv && self.is_first {
            grid.csv_header(out)?;
        }
        if how.is_text() {
            let bold = out.paint().style(style::TITLE);
            let gap = if self.is_first { "" } else { "\n" };
            writeln!(out, "{gap}{bold}{}{bold:#}{}", self.file, self.title)?;
        }
        grid.print(out, how, self.file)?;
        if how.is_text() { more_rows(out, more) } else { Ok(()) }
    }
}

/// Says how many rows are not shown.
pub(crate) fn more_rows(out: &mut Output, more: usize) -> io::Result<()> {
    if more == 0 {
        return Ok(());
    }
    let faint = out.paint().style(style::FAINT);
    let more = numbers::grouped(more as u64);
    writeln!(out, "{faint}… {more} more (-n 0 shows all){faint:#}")
}
