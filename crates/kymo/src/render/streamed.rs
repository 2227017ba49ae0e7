//! Rows of a table that are written as they come, and are not kept: how wide columns are is settled
//! before the first.

use std::io::{self, Write};

use super::fit::{ColumnRequest, fit};
use super::grid::{Look, line, no_room};
use super::style;
use crate::output::Output;

/// A column: its heading, how its cells are read, and the places that they take.
pub(crate) type Column = (&'static str, Look, usize);

/// The places of a last column that takes the rest of the line.
pub(crate) const REST: usize = usize::MAX;

/// A table that is being written.
pub(crate) struct Streamed<'a> {
    columns: &'a [Column],
    looks: Vec<Look>,
    widths: Vec<Option<usize>>,
}

impl<'a> Streamed<'a> {
    /// Settles which columns there is room for. Those that tell least are told first.
    pub(crate) fn new(columns: &'a [Column], lesser: &[&str], places: Option<usize>) -> Self {
        let wanted = |(_, look, width): &Column| ColumnRequest {
            width: *width,
            is_name: *look == Look::Name,
        };
        let wanted: Vec<_> = columns.iter().map(wanted).collect();
        let at = |wanted: &&str| columns.iter().position(|(head, ..)| head == wanted);
        let lesser: Vec<_> = lesser.iter().filter_map(at).collect();
        let looks = columns.iter().map(|(_, look, _)| *look).collect();
        Self { columns, looks, widths: fit(&wanted, &lesser, places.unwrap_or(usize::MAX)) }
    }

    /// Writes the headings.
    pub(crate) fn header(&self, out: &mut Output) -> io::Result<()> {
        let heads: Vec<_> = self.columns.iter().map(|(head, ..)| (*head).to_owned()).collect();
        let faint = out.paint().style(style::FAINT);
        write!(out, "{faint}")?;
        line(out, &heads, &self.widths, &self.looks)?;
        writeln!(out, "{faint:#}")
    }

    /// Writes a row.
    pub(crate) fn row(&self, out: &mut Output, cells: &[String]) -> io::Result<()> {
        line(out, cells, &self.widths, &self.looks)?;
        writeln!(out)
    }

    /// Says which columns there was no room for.
    pub(crate) fn end(&self, out: &mut Output) -> io::Result<()> {
        let heads = self.columns.iter().map(|(head, ..)| *head);
        no_room(out, heads.zip(&self.widths))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] =
        &[("until", Look::Count, 5), ("wait", Look::Duration, 8), ("task", Look::Name, REST)];

    #[test]
    fn rows_fit_and_what_has_no_room_is_named() {
        let printed = |places| {
            let table = Streamed::new(COLUMNS, &["wait"], places);
            Output::captured(places, |out| {
                table.header(out)?;
                for name in ["a", "a task with a long name"] {
                    table.row(out, &["1", "2 ns", name].map(str::to_owned))?;
                }
                table.end(out)
            })
        };
        let whole = "until      wait  task\n    1      2 ns  a\n    1      2 ns  \
                     a task with a long name\n";
        assert_eq!(printed(None), whole);
        // 5 + 8 + 16 and two gaps.
        let names =
            "until      wait  task\n    1      2 ns  a\n    1      2 ns  a task w…ng name\n";
        assert_eq!(printed(Some(33)), names);
        // Times are not made shorter, and names are.
        let narrow = "until  task\n    1  a\n    1  a tas… name\n\
                      … no room for wait\n(a wider terminal\nor --csv shows\nall)\n";
        assert_eq!(printed(Some(18)), narrow);
    }
}
