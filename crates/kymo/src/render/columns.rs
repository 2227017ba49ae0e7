//! Text in columns, as wide as the terminal allows.

use std::io::{self, Write};

use anstyle::Style;

use super::pad::{self, Spaces, WIDTH_MAX};
use crate::output::Output;

/// Least width at which the last column is wrapped, however narrow the terminal.
const LAST_MIN: usize = 24;

/// Between two columns.
pub(crate) const GAP: usize = 2;

/// Rows of cells in columns; the last column is wrapped where the terminal ends.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    rows: Vec<Vec<String>>,
    styles: Vec<Style>,
    indent: usize,
}

impl Columns {
    /// Columns that start so many places from the left.
    pub(crate) fn indented(indent: usize) -> Self {
        Self { indent, ..Self::default() }
    }

    /// The styles of the columns; columns beyond have none.
    pub(crate) fn styled(mut self, styles: &[Style]) -> Self {
        self.styles = styles.to_vec();
        self
    }

    /// Adds a row. A row may have fewer cells than others.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// Writes all rows.
    pub(crate) fn print(&self, out: &mut Output) -> io::Result<()> {
        let widths = self.widths();
        let lead = self.indent + widths.iter().map(|width| width + GAP).sum::<usize>();
        let last_max = match out.columns() {
            Some(columns) => columns.saturating_sub(lead).max(LAST_MIN),
            None => usize::MAX,
        };
        let paint = out.paint();
        for row in &self.rows {
            write!(out, "{}", Spaces(self.indent))?;
            for (index, cell) in row.iter().enumerate() {
                let style = self.styles.get(index).copied().unwrap_or_default();
                let style = paint.style(style);
                let is_end = row.iter().skip(index + 1).all(String::is_empty);
                match widths.get(index) {
                    Some(width) if !is_end => {
                        let rest = pad::padding(cell, *width);
                        write!(out, "{style}{cell}{style:#}{rest}{}", Spaces(GAP))?;
                    }
                    Some(_) => write!(out, "{style}{cell}{style:#}")?,
                    None => {
                        let lines = wrapped(cell, last_max).join(&format!("\n{}", Spaces(lead)));
                        write!(out, "{style}{lines}{style:#}")?;
                    }
                }
                if is_end {
                    break;
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// The width of each column but the last.
    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |index: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            cells.map(|cell| width_of(cell)).max().unwrap_or(0).min(WIDTH_MAX)
        };
        (0..columns.saturating_sub(1)).map(width).collect()
    }
}

/// Returns the number of places that a text takes.
pub(crate) fn width_of(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a text at its spaces into lines of at most so many places, where words allow it.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        if let Some(line) = lines.last_mut() {
            let is_first = line.is_empty();
            if is_first || width_of(line) + 1 + width_of(word) <= width {
                if !is_first {
                    line.push(' ');
                }
                line.push_str(word);
                continue;
            }
        }
        lines.push(word.to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_at_its_spaces() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("overlong words stay", 4), ["overlong", "words", "stay"]);
        assert_eq!(wrapped("", 4), [""]);
    }
}
