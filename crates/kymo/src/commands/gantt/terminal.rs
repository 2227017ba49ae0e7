//! A Gantt chart with characters.

use std::io::Write;

use kymo_analyse::{RowKind, elapsed};
use kymo_core::model::timeline::Shown;

use super::Drawn;
use crate::output::Output;
use crate::render::columns::width_of;
use crate::render::{escaped, measure, style};

/// Names take so many places at the most.
const NAME_MAX: usize = 24;

/// Cells where the terminal does not say how wide it is.
const CELLS: usize = 60;

/// How many cells there is room for.
pub(super) fn cells(out: &Output) -> usize {
    out.columns().map_or(CELLS, |columns| columns.saturating_sub(NAME_MAX + 2).clamp(20, 400))
}

pub(super) fn print(out: &mut Output, drawn: &Drawn) -> anyhow::Result<()> {
    let (rows, buckets) = (drawn.gantt.rows(), drawn.gantt.buckets());
    let names: Vec<_> =
        rows.iter().map(|row| measure::fitted(&escaped(drawn.name(row.kind)), NAME_MAX)).collect();
    let width = names.iter().map(|name| width_of(name)).max().unwrap_or(0);
    let kind = out.paint().style(style::KIND);
    for (row, name) in rows.iter().zip(&names) {
        let cells: String = match row.kind {
            RowKind::Task(_) => {
                let cells = row.cells.iter().enumerate();
                cells.map(|(at, (ns, _))| filled(*ns, buckets.length_ns(at))).collect()
            }
            RowKind::States(_) => states(&row.cells, &row.states),
        };
        writeln!(out, "{kind}{name:<width$}{kind:#}  {}", cells.trim_end())?;
    }
    let shown = |time| Shown { time, since_epoch: drawn.since_epoch };
    let (start, end) = (buckets.start, buckets.end);
    let faint = out.paint().style(style::FAINT);
    let span = measure::duration(elapsed(start, end));
    writeln!(out, "{faint}{:width$}  {} to {}, {span}{faint:#}", "", shown(start), shown(end))?;
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
fn states(cells: &[(u64, usize)], names: &[String]) -> String {
    let mut line = String::new();
    let mut before = None;
    let mut name = String::new();
    for (ns, what) in cells {
        let now = (*ns > 0).then_some(*what);
        if now != before {
            before = now;
            let state = now.and_then(|what| names.get(what)).map(|state| escaped(state));
            name = state.map_or(String::new(), |state| format!("|{state}"));
        }
        let first = name.chars().next();
        line.push(first.unwrap_or(if now.is_some() { '-' } else { ' ' }));
        name = name.chars().skip(1).collect();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_named_where_they_begin() {
        let names = ["open".to_owned(), "shut".to_owned()];
        let cells = [(0, 0), (5, 1), (5, 1), (5, 0), (5, 0), (5, 0), (5, 0), (5, 0), (5, 0)];
        assert_eq!(states(&cells, &names), " |s|open-");
    }
}
