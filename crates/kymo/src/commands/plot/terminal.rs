//! A quick look with block characters.

use std::io::Write;

use anstyle::{Color as Ansi, RgbColor, Style};

use super::field::{Cell, Field};
use super::scene::viridis;
use crate::picture::axis::{Axis, shown, shown_range};
use crate::picture::raster::pixel;
use crate::render::escaped;
use crate::session::Session;

/// Width and height, where the terminal does not give them.
const COLUMNS: usize = 80;
const ROWS: usize = 16;

/// An eighth of a line more each.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Dark to light without colours.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

/// Draws a field on standard output.
pub(super) fn print(session: &mut Session, field: &Field) -> anyhow::Result<()> {
    let columns = session.out.columns().unwrap_or(COLUMNS).clamp(20, 200);
    let (low, high) = field.values();
    let values = Axis::new(low, high);
    writeln!(session.out, "{}", escaped(&field.title))?;
    if field.rows.is_some() {
        map(session, field, values, columns)?;
    } else {
        line(session, field, values, columns)?;
    }
    if let Some(shared) = field.shared(ROWS, columns) {
        writeln!(session.out, "each character: {shared}")?;
    }
    let mut parts = vec![format!("across: {}", field.columns.range())];
    parts.extend(field.rows.as_ref().map(|rows| format!("down: {}", rows.range())));
    parts.push(if low < high {
        format!("values {}", shown_range(low, high))
    } else {
        format!("every value is {}", shown(low))
    });
    parts.extend(field.moments.map(super::over_time::Moments::to_text));
    for line in filled(&parts, columns) {
        writeln!(session.out, "{line}")?;
    }
    Ok(())
}

/// Parts in as few lines as have room for them.
fn filled(parts: &[String], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.len() + 2 + part.len() <= columns => {
                *line = format!("{line}; {part}");
            }
            _ => lines.push(part.clone()),
        }
    }
    lines
}

/// Bars from below, an eighth of a line exact.
fn line(session: &mut Session, field: &Field, values: Axis, columns: usize) -> anyhow::Result<()> {
    let bars = gathered(field, columns, 1);
    let heights: Vec<_> = bars
        .iter()
        .map(|bar| bar.map(|value| pixel(values.place(value) * 8.0 * 15.0 + 1.0)))
        .collect();
    for row in (0..ROWS).rev() {
        let block = |height: &Option<usize>| {
            let eighths = height.map_or(0, |height| height.saturating_sub(row * 8).min(8));
            BLOCKS.get(eighths).copied().unwrap_or(' ')
        };
        let text: String = heights.iter().map(block).collect();
        writeln!(session.out, "{}", text.trim_end())?;
    }
    Ok(())
}

fn map(session: &mut Session, field: &Field, values: Axis, columns: usize) -> anyhow::Result<()> {
    let columns = columns.min(field.columns.cells() * 2);
    let rows = ROWS.min(field.rows.as_ref().map_or(1, super::field::Dimension::cells));
    let cells = gathered(field, columns, rows);
    let paint = session.out.paint();
    for row in cells.chunks(columns.max(1)) {
        for value in row {
            let Some(value) = value else {
                write!(session.out, " ")?;
                continue;
            };
            let place = values.place(*value);
            let [red, green, blue] = viridis(place);
            let color = Ansi::Rgb(RgbColor(red, green, blue));
            let style = paint.style(Style::new().fg_color(Some(color)));
            let shade = SHADES.get(pixel(place * 4.99)).copied().unwrap_or(' ');
            let shade = if style == Style::new() { shade } else { '█' };
            write!(session.out, "{style}{shade}{style:#}")?;
        }
        writeln!(session.out)?;
    }
    Ok(())
}

/// Gathers the values that stand out in so many columns and rows.
fn gathered(field: &Field, columns: usize, rows: usize) -> Vec<Option<f64>> {
    let (cells, width) = (&field.cells, field.columns.cells());
    let (height, middle) = (cells.len() / width.max(1), field.middle());
    let mut values = Vec::with_capacity(columns * rows);
    for row in 0..rows {
        for column in 0..columns {
            let mut gathered = Cell::EMPTY;
            for y in part(row, rows, height) {
                for x in part(column, columns, width) {
                    if let Some(cell) = cells.get(y * width + x) {
                        gathered.join(cell);
                    }
                }
            }
            values.push(gathered.extreme(middle));
        }
    }
    values
}

/// Returns the range of `length` that the `at`-th of `parts` covers: at least one.
fn part(at: usize, parts: usize, length: usize) -> std::ops::Range<usize> {
    let start = at * length / parts.max(1);
    let end = (at + 1) * length / parts.max(1);
    start..end.max(start + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_in_a_line_is_in_the_next() {
        let parts = ["across: 1".to_owned(), "down: 2".to_owned(), "values".to_owned()];
        assert_eq!(filled(&parts, 80), ["across: 1; down: 2; values"]);
        assert_eq!(filled(&parts, 18), ["across: 1; down: 2", "values"]);
        assert_eq!(filled(&parts, 5), parts);
    }
}
