//! A Gantt chart with characters.

use std::io::Write;

use kymo_model::timeline::DisplayTime;
use kymo_query::{Buckets, Row, RowKind, elapsed};

use super::{DrawnChart, LOST};
use crate::output::Output;
use crate::render::columns::{GAP, width_of};
use crate::render::pad::{self, Spaces, WIDTH_MAX};
use crate::render::{escaped, measure, style};

/// Names take so many places at the most.
const NAME_MAX: usize = 24;

/// A cell of which most is not known.
const UNKNOWN: char = '?';

/// Cells where there is no terminal.
const CELLS: usize = 60;

/// Cells that a row has at the most.
const CELLS_MAX: usize = 400;

/// The places that names may take: no more than a third of a narrow terminal.
fn name_max(out: &Output) -> usize {
    out.columns().map_or(NAME_MAX, |columns| (columns / 3).clamp(1, NAME_MAX))
}

/// Returns the number of cells there is room for.
pub(super) fn cells(out: &Output) -> usize {
    let room = |columns: usize| columns.saturating_sub(name_max(out) + GAP).clamp(1, CELLS_MAX);
    out.columns().map_or(CELLS, room)
}

pub(super) fn print(out: &mut Output, drawn: &DrawnChart) -> anyhow::Result<()> {
    let (rows, buckets) = (drawn.gantt.rows(), drawn.gantt.buckets());
    let most = name_max(out);
    let name = |row: &Row| measure::fitted_middle(&escaped(&drawn.name(row.kind)), most);
    let names: Vec<_> = rows.iter().map(name).collect();
    let width = names.iter().map(|name| width_of(name)).max().unwrap_or(0).min(WIDTH_MAX);
    let kind = out.paint().style(style::KIND);
    for (row, name) in rows.iter().zip(&names) {
        let cells: String = match row.kind {
            RowKind::Task(_) => {
                let cells = row.cells.iter().enumerate();
                let cell = |(at, (ns, _)): (usize, &(u64, usize))| {
                    let is_unknown = row.is_unknown(at);
                    if is_unknown { UNKNOWN } else { filled(*ns, buckets.length_ns(at)) }
                };
                cells.map(cell).collect()
            }
            RowKind::States(_) => states(&row.cells, &row.states, |cell| row.is_unknown(cell)),
        };
        let name = pad::left(name, width);
        writeln!(out, "{kind}{name}{kind:#}{}{}", Spaces(GAP), cells.trim_end())?;
    }
    range(out, drawn, width + GAP)?;
    if drawn.gantt.has_unknown() {
        let faint = out.paint().style(style::FAINT);
        writeln!(out, "{faint}{UNKNOWN} {LOST}{faint:#}")?;
    }
    Ok(())
}

/// From when to when it is drawn, below the cells where there is room.
fn range(out: &mut Output, drawn: &DrawnChart, lead: usize) -> anyhow::Result<()> {
    let shown = |time| DisplayTime { time, since_epoch: drawn.since_epoch };
    let Buckets { start, end, .. } = drawn.gantt.buckets();
    let span = measure::duration(elapsed(start, end));
    let (from, to) = (format!("{} to", shown(start)), format!("{}, {span}", shown(end)));
    let faint = out.paint().style(style::FAINT);
    let places = out.columns().unwrap_or(usize::MAX);
    let taken = width_of(&from) + 1 + width_of(&to);
    match (lead + taken <= places, taken <= places) {
        (true, _) => writeln!(out, "{faint}{}{from} {to}{faint:#}", Spaces(lead))?,
        (false, true) => writeln!(out, "{faint}{from} {to}{faint:#}")?,
        (false, false) => writeln!(out, "{faint}{from}\n{to}{faint:#}")?,
    }
    Ok(())
}

/// The fuller, the darker.
fn filled(ns: u64, of_ns: u64) -> char {
    let quarters = u128::from(ns) * 4 / u128::from(of_ns.max(1));
    match (ns, quarters) {
        (0, _) => ' ',
        (_, 0) => '·',
        (_, 1) => '░',
        (_, 2) => '▒',
        (_, 3) => '▓',
        _ => '█',
    }
}

/// The first letters of states, as far as there is room, where they begin.
fn states(cells: &[(u64, usize)], names: &[String], is_unknown: impl Fn(usize) -> bool) -> String {
    let mut line = String::new();
    let mut before = None;
    let mut name = String::new();
    for (at, (ns, what)) in cells.iter().enumerate() {
        let is_unknown = is_unknown(at);
        let now = (*ns > 0 && !is_unknown).then_some(*what);
        if now != before {
            before = now;
            let state = now.and_then(|what| names.get(what)).map(|state| escaped(state));
            name = state.map_or(String::new(), |state| format!("|{state}"));
        }
        let first = name.chars().next();
        line.push(match (first, now) {
            (Some(letter), _) => letter,
            (None, Some(_)) => '-',
            (None, None) if is_unknown => UNKNOWN,
            (None, None) => ' ',
        });
        name = name.chars().skip(1).collect();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_take_a_third_of_a_narrow_terminal() {
        let room = |places| {
            let mut found = (0, 0);
            Output::captured(places, |out| {
                found = (name_max(out), cells(out));
                Ok(())
            });
            found
        };
        assert_eq!([room(None), room(Some(80)), room(Some(1000))], [(24, 60), (24, 54), (24, 400)]);
        assert_eq!([room(Some(60)), room(Some(40))], [(20, 38), (13, 25)]);
        assert_eq!(room(Some(1)), (1, 1));
    }

    #[test]
    fn states_are_named_where_they_begin() {
        let names = ["open".to_owned(), "shut".to_owned()];
        let cells = [(0, 0), (5, 1), (5, 1), (5, 0), (5, 0), (5, 0), (5, 0), (5, 0), (5, 0)];
        assert_eq!(states(&cells, &names, |_| false), " |s|open-");
        assert_eq!(states(&cells, &names, |cell| cell == 0 || cell == 5), "?|s|o?|op");
    }
}
