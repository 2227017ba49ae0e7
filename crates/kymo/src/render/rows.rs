//! Rows for programs: JSON objects, or lines of CSV.

use std::io::{self, Write};

use serde_json::Value;

use crate::output::Output;

/// True if rows are for programs.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct RowArgs {
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,

    /// Print CSV, with a line of names first.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

impl RowArgs {
    /// Returns the printer of rows for programs; `None` where they are for people.
    pub(crate) fn rows(self) -> Option<Rows> {
        (self.json || self.csv).then_some(Rows { is_csv: self.csv, is_begun: false })
    }
}

/// Prints rows.
#[derive(Debug)]
pub(crate) struct Rows {
    is_csv: bool,
    is_begun: bool,
}

impl Rows {
    /// Returns true if all rows have the same columns.
    pub(crate) fn is_csv(&self) -> bool {
        self.is_csv
    }

    /// Prints an object as a row. All objects of one output have the same names.
    pub(crate) fn row(&mut self, out: &mut Output, object: &Value) -> io::Result<()> {
        let (true, Some(fields)) = (self.is_csv, object.as_object()) else {
            return out.json(object);
        };
        let mut line = Vec::new();
        if !std::mem::replace(&mut self.is_begun, true) {
            write_line(fields.keys().map(String::as_str), &mut line);
        }
        let cells: Vec<_> = fields.values().map(cell).collect();
        write_line(cells.iter().map(String::as_str), &mut line);
        out.write_all(&line)
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn write_line<'a>(cells: impl Iterator<Item = &'a str>, out: &mut Vec<u8>) {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_cell(cell.as_bytes(), out);
    }
    out.push(b'\n');
}

/// Quotes a field where RFC 4180 asks for it.
pub(crate) fn write_cell(cell: &[u8], out: &mut Vec<u8>) {
    if !cell.iter().any(|byte| b",\"\r\n".contains(byte)) {
        return out.extend_from_slice(cell);
    }
    out.push(b'"');
    for byte in cell {
        if *byte == b'"' {
            out.push(b'"');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let mut line = Vec::new();
        write_line(["plain", "a,b", "say \"hi\"", ""].into_iter(), &mut line);
        assert_eq!(String::from_utf8(line).unwrap(), "plain,\"a,b\",\"say \"\"hi\"\"\",\n");
        assert_eq!(
            [Value::Null, 1.5.into(), "x".into()].map(|value| cell(&value)),
            ["", "1.5", "x"]
        );
    }
}
