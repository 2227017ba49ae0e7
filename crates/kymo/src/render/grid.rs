//! Rows of figures: a table that fits the terminal, JSON lines, or CSV.

use std::io::{self, Write};

use kymo_core::Value;
use kymo_export::tables::values::{Notation, write_value};
use serde_json::{Map, Value as Json};

use super::columns::{GAP, width_of, wrapped};
use super::fit::{ColumnRequest, fit};
use super::pad::{self, Spaces};
use super::{escaped, measure, numbers, style};
use crate::output::Output;

/// Options for printing figures.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct GridArgs {
    /// Print one JSON object a line; times are in nanoseconds.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print CSV; times are in nanoseconds.
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

impl GridArgs {
    /// Returns true if a person reads it.
    pub(crate) fn is_text(self) -> bool {
        !self.json && !self.csv
    }

    /// Returns the number of rows that are shown, where 0 means all. It is as many as are asked
    /// for, and else all to programs and some to a person.
    pub(crate) fn rows(self, asked: Option<usize>, to_person: usize) -> usize {
        asked.unwrap_or(if self.is_text() { to_person } else { 0 })
    }
}

/// Ways in which the figures of a column are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// As they are.
    Plain,
    /// As they are; they say what a row is of.
    Name,
    /// A number of things.
    Count,
    /// Nanoseconds.
    Duration,
    /// A part of 1.
    Share,
}

impl Look {
    /// Returns true if it is a text and no figure.
    fn is_text(self) -> bool {
        matches!(self, Self::Plain | Self::Name)
    }
}

/// A column: its name in JSON and CSV, its heading for a person, and how its figures are read. One
/// without a heading is not shown to a person, and one without a name is shown to nobody else.
pub(crate) type Column = (&'static str, &'static str, Look);

/// Rows of figures. The last columns are what they are of.
#[derive(Debug)]
pub(crate) struct Grid {
    columns: &'static [Column],
    /// Headings of columns that tell less than those to the right of them, the least first.
    lesser: &'static [&'static str],
    rows: Vec<Vec<Value>>,
    /// So many rows are kept.
    rows_max: usize,
    /// Number of further rows.
    more: usize,
}

impl Grid {
    pub(crate) fn new(columns: &'static [Column]) -> Self {
        Self { columns, lesser: &[], rows: Vec::new(), rows_max: usize::MAX, more: 0 }
    }

    /// Keeps the first rows, so many, and counts the others; nothing keeps all.
    pub(crate) fn keeping(self, rows: usize) -> Self {
        Self { rows_max: if rows == 0 { usize::MAX } else { rows }, ..self }
    }

    /// Says which columns are left out first where there is no room for all. Of the others those to
    /// the right are.
    pub(crate) fn omit_first(self, lesser: &'static [&'static str]) -> Self {
        Self { lesser, ..self }
    }

    /// Adds a row with a value for each column.
    pub(crate) fn row(&mut self, values: Vec<Value>) {
        self.rows.push(values);
    }

    /// Adds a row that is made only when it is kept: there may be very many.
    pub(crate) fn row_of(&mut self, values: impl FnOnce() -> Vec<Value>) {
        if self.rows.len() < self.rows_max {
            self.rows.push(values());
        } else {
            self.more += 1;
        }
    }

    /// Returns the number of rows, with those that are not kept.
    pub(crate) fn len(&self) -> usize {
        self.rows.len() + self.more
    }

    /// Keeps so many rows; nothing keeps all. Tells how many are gone.
    pub(crate) fn keep(&mut self, rows: usize) -> usize {
        let gone = if rows == 0 { 0 } else { self.rows.len().saturating_sub(rows) };
        self.rows.truncate(self.rows.len() - gone);
        self.more += gone;
        self.more
    }

    /// Writes all rows, each with the file it is of.
    pub(crate) fn print(&self, out: &mut Output, how: GridArgs, file: &str) -> io::Result<()> {
        match (how.json, how.csv) {
            (true, _) => self.json(out, file),
            (_, true) => self.csv(out, file),
            _ => self.text(out),
        }
    }

    /// The values of a row that have names.
    fn named<'a>(&self, row: &'a [Value]) -> impl Iterator<Item = (&'static Column, &'a Value)> {
        self.columns.iter().zip(row).filter(|((name, ..), _)| !name.is_empty())
    }

    fn json(&self, out: &mut Output, file: &str) -> io::Result<()> {
        for row in &self.rows {
            let mut object = Map::new();
            object.insert("file".to_owned(), file.into());
            for ((name, _, _), value) in self.named(row) {
                let value = serde_json::to_value(value).unwrap_or(Json::Null);
                object.insert((*name).to_owned(), value);
            }
            out.json(&Json::Object(object))?;
        }
        Ok(())
    }

    /// The line of names that CSV begins with.
    pub(crate) fn csv_header(&self, out: &mut Output) -> io::Result<()> {
        let names = self.columns.iter().map(|(name, ..)| *name).filter(|name| !name.is_empty());
        let names: Vec<_> = names.collect();
        writeln!(out, "file,{}", names.join(","))
    }

    fn csv(&self, out: &mut Output, file: &str) -> io::Result<()> {
        for row in &self.rows {
            let mut line = Vec::new();
            super::rows::write_cell(file.as_bytes(), &mut line);
            for (_, value) in self.named(row) {
                let mut cell = Vec::new();
                if *value != Value::Null {
                    write_value(value, Notation::Csv, &mut cell);
                }
                line.push(b',');
                super::rows::write_cell(&cell, &mut line);
            }
            line.push(b'\n');
            out.write_all(&line)?;
        }
        Ok(())
    }

    fn text(&self, out: &mut Output) -> io::Result<()> {
        let (looks, table) = (self.looks(), self.table());
        let Some((heads, rows)) = table.split_first() else { return Ok(()) };
        let widths = self.widths(&table, &looks, out.columns().unwrap_or(usize::MAX));
        let faint = out.paint().style(style::FAINT);
        write!(out, "{faint}")?;
        line(out, heads, &widths, &looks)?;
        writeln!(out, "{faint:#}")?;
        for row in rows {
            line(out, row, &widths, &looks)?;
            writeln!(out)?;
        }
        no_room(out, heads.iter().map(String::as_str).zip(&widths))
    }

    /// The places of each column that is shown, and nothing for those that have no room.
    fn widths(&self, table: &[Vec<String>], looks: &[Look], places: usize) -> Vec<Option<usize>> {
        let width = |at: usize| {
            table.iter().filter_map(|row| row.get(at)).map(|cell| width_of(cell)).max().unwrap_or(0)
        };
        let wanted = |(at, look): (usize, &Look)| {
            let is_name = *look == Look::Name || at + 1 == looks.len();
            ColumnRequest { width: width(at), is_name }
        };
        let columns: Vec<_> = looks.iter().enumerate().map(wanted).collect();
        let heads = self.shown();
        let at = |wanted: &str| heads.iter().position(|(_, (_, head, _))| *head == wanted);
        let mut least_telling: Vec<_> = self.lesser.iter().filter_map(|head| at(head)).collect();
        let others = columns.iter().enumerate().rev().filter(|(_, column)| !column.is_name);
        least_telling.extend(others.map(|(at, _)| at));
        fit(&columns, &least_telling, places)
    }

    /// The columns that are shown: those that have a heading and something in them.
    fn shown(&self) -> Vec<(usize, &Column)> {
        let is_filled = |at: usize| {
            let is_last = at + 1 == self.columns.len();
            let values = self.rows.iter().filter_map(|row| row.get(at));
            is_last || { values }.any(|value| *value != Value::Null)
        };
        let columns = self.columns.iter().enumerate();
        columns.filter(|(at, (_, head, _))| !head.is_empty() && is_filled(*at)).collect()
    }

    /// For each column that is shown, whether it has texts and not figures.
    pub(crate) fn is_text(&self) -> Vec<bool> {
        self.looks().into_iter().map(Look::is_text).collect()
    }

    fn looks(&self) -> Vec<Look> {
        self.shown().into_iter().map(|(_, (_, _, look))| *look).collect()
    }

    /// The headings and the rows as a person reads them.
    pub(crate) fn table(&self) -> Vec<Vec<String>> {
        let shown = self.shown();
        let heads = shown.iter().map(|(_, (_, head, _))| (*head).to_owned()).collect();
        let rows = self.rows.iter().map(|row| {
            let cell = |(at, (_, _, look)): &(usize, &Column)| {
                row.get(*at).map_or(String::new(), |value| cell(value, *look))
            };
            shown.iter().map(cell).collect()
        });
        std::iter::once(heads).chain(rows).collect()
    }
}

/// Says which columns there was no room for.
pub(super) fn no_room<'a>(
    out: &mut Output,
    columns: impl Iterator<Item = (&'a str, &'a Option<usize>)>,
) -> io::Result<()> {
    let gone: Vec<_> = columns.filter(|(_, width)| width.is_none()).map(|(head, _)| head).collect();
    if gone.is_empty() {
        return Ok(());
    }
    let text = format!("… no room for {} (a wider terminal or --csv shows all)", gone.join(", "));
    let (lines, faint) =
        (wrapped(&text, out.columns().unwrap_or(usize::MAX)), out.paint().style(style::FAINT));
    writeln!(out, "{faint}{}{faint:#}", lines.join("\n"))
}

/// Numbers stand to the right of their column, and texts to the left. A text that is too long lacks
/// its middle: names that begin alike differ at their end.
pub(super) fn line(
    out: &mut Output,
    cells: &[String],
    widths: &[Option<usize>],
    looks: &[Look],
) -> io::Result<()> {
    let columns = cells.iter().zip(widths).zip(looks);
    let mut columns = columns.filter_map(|((cell, width), look)| Some((cell, (*width)?, look)));
    let mut next = columns.next();
    while let Some((cell, width, look)) = next {
        next = columns.next();
        let cell = if look.is_text() { measure::fitted_middle(cell, width) } else { cell.clone() };
        match (look.is_text(), next.is_some()) {
            (true, true) => write!(out, "{}", pad::left(&cell, width))?,
            (true, false) => write!(out, "{cell}")?,
            (false, _) => write!(out, "{}", pad::right(&cell, width))?,
        }
        if next.is_some() {
            write!(out, "{}", Spaces(GAP))?;
        }
    }
    Ok(())
}

fn cell(value: &Value, look: Look) -> String {
    match (value, look) {
        (Value::Null, _) => "-".to_owned(),
        (Value::UInt(count), Look::Count) => numbers::grouped(*count),
        (Value::UInt(ns), Look::Duration) => measure::duration(*ns),
        (Value::Float(share), Look::Share) => format!("{:.1}%", share * 100.0),
        (Value::Text(text), _) => escaped(text).into_owned(),
        (other, _) => super::value(other),
    }
}

/// A number, or nothing.
pub(crate) fn maybe(number: Option<u64>) -> Value {
    number.map_or(Value::Null, Value::UInt)
}

/// The number that a recording gives something, if it does.
pub(crate) fn id(number: Option<i64>) -> Value {
    number.map_or(Value::Null, Value::from)
}

/// Returns the part of a whole that something is.
#[allow(clippy::cast_precision_loss, reason = "whoever shows it rounds it, once")]
pub(crate) fn share(part: u64, whole: u64) -> Value {
    if whole == 0 {
        return Value::Null;
    }
    Value::Float(part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        ("run_ns", "run", Look::Duration),
        ("share", "share", Look::Share),
        ("misses", "misses", Look::Count),
        ("hidden", "", Look::Plain),
        ("task", "task", Look::Plain),
    ];

    #[test]
    fn figures_read_well_and_empty_columns_are_left_out() {
        let mut grid = Grid::new(COLUMNS);
        let row = |ns, part, name: &str| {
            vec![Value::UInt(ns), share(part, 3), Value::Null, 1_u64.into(), name.into()]
        };
        grid.row(row(1_500, 1, "a\tb"));
        grid.row(row(2, 3, "c"));
        let expected =
            [["run", "share", "task"], ["1.500 µs", "33.3%", "a\\tb"], ["2 ns", "100.0%", "c"]];
        assert_eq!(grid.table(), expected);
        assert_eq!((grid.keep(1), grid.rows.len(), grid.keep(0), grid.len()), (1, 1, 1, 2));
    }

    #[test]
    fn rows_that_are_not_kept_are_counted_and_not_made() {
        let mut grid = Grid::new(COLUMNS).keeping(2);
        let mut made = 0;
        for _ in 0..5 {
            grid.row_of(|| {
                made += 1;
                vec![Value::Null; 5]
            });
        }
        assert_eq!((made, grid.len(), grid.keep(2), grid.keep(1)), (2, 5, 3, 4));
    }

    #[test]
    fn what_has_no_room_is_named_and_is_no_name() {
        const PAIRS: &[Column] = &[
            ("sent", "sent", Look::Count),
            ("lost", "lost", Look::Count),
            ("latency_ns", "latency", Look::Duration),
            ("from", "from", Look::Name),
            ("to", "to", Look::Name),
        ];
        let mut grid = Grid::new(PAIRS).omit_first(&["lost"]);
        let (from, to) = ("a task with a long name 1", "b");
        grid.row(vec![7_u64.into(), 1_u64.into(), 1_500_u64.into(), from.into(), to.into()]);
        let printed = |columns| Output::captured(columns, |out| grid.text(out));
        let whole = "sent  lost   latency  from                       to\n   7     1  1.500 µs  \
                     a task with a long name 1  b\n";
        assert_eq!(printed(None), whole);
        // 4 + 4 + 8 + 25 + 2 and four gaps.
        assert_eq!(printed(Some(51)), whole);
        // 4 + 8 + 16 + 2 and three gaps.
        let narrow = "sent   latency  from              to\n   7  1.500 µs  a task w… name 1  b\n\
                      … no room for lost (a wider terminal\nor --csv shows all)\n";
        assert_eq!(printed(Some(36)), narrow);
    }

    #[test]
    fn a_share_of_nothing_is_not_known() {
        assert_eq!(share(1, 0), Value::Null);
    }
}
