//! The values of an array: lines that begin with the index of their first value.

use std::io::Write;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, UInt8Type};
use arrow_schema::DataType;
use kymo_core::Result;
use kymo_export::tables::values::{Cells, Notation, write_quoted};
use kymo_model::arrays::{Order, Selection};

use super::pad;
use crate::output::Output;

/// Width at which lines end if there is no terminal.
const USUAL_COLUMNS: usize = 80;

/// Characters of one row of text that are held at once.
const TEXT_MAX: usize = 1 << 16;

/// A shape as one reads it: `{4, 6}`.
pub(crate) fn shape(lengths: &[u64]) -> String {
    let lengths: Vec<_> = lengths.iter().map(u64::to_string).collect();
    format!("{{{}}}", lengths.join(", "))
}

/// The words that say which order was taken, as files of this kind do not record it.
pub(crate) fn order_name(order: Order) -> &'static str {
    match order {
        Order::C => "C",
        Order::Fortran => "Fortran",
    }
}

/// Writes the values of a box, a part at a time, with their indices.
pub(crate) struct ArrayText<'a> {
    out: &'a mut Output,
    order: Order,
    /// The box in storage order, slowest dimension first.
    start: Vec<u64>,
    count: Vec<u64>,
    /// True if arrays of bytes are text.
    is_text: bool,
    indent: usize,
    columns: usize,
    label_width: usize,
    position: u64,
    left_in_row: u64,
    line: Vec<u8>,
    /// Length of the line before its first value.
    lead: usize,
    value: Vec<u8>,
}

impl<'a> ArrayText<'a> {
    /// Begins a box of some shape.
    pub(crate) fn new(
        out: &'a mut Output,
        selection: &Selection,
        order: Order,
        indent: usize,
        is_text: bool,
    ) -> Self {
        let columns = out.columns().unwrap_or(USUAL_COLUMNS);
        let last = |(start, count): (&u64, &u64)| start.saturating_add(count.saturating_sub(1));
        let last: Vec<u64> = selection.start.iter().zip(&selection.count).map(last).collect();
        Self {
            out,
            order,
            start: order.turn(selection.start.clone()),
            count: order.turn(selection.count.clone()),
            is_text,
            indent,
            columns,
            label_width: label(&last).len(),
            position: 0,
            left_in_row: 0,
            line: Vec::with_capacity(columns * 2),
            lead: 0,
            value: Vec::new(),
        }
    }

    /// Writes the values that follow.
    pub(crate) fn values(&mut self, array: &ArrayRef) -> Result<()> {
        match (self.is_text, array.data_type()) {
            (true, DataType::UInt8) => {
                let values = array.as_primitive::<UInt8Type>().values();
                self.characters(values.iter().copied())
            }
            (true, DataType::Int8) => {
                let values = array.as_primitive::<Int8Type>().values();
                self.characters(values.iter().map(|value| value.cast_unsigned()))
            }
            _ => self.numbers(array),
        }
    }

    fn numbers(&mut self, array: &ArrayRef) -> Result<()> {
        let cells = Cells::new(array)?;
        for row in 0..cells.len() {
            self.value.clear();
            cells.write_quoted(row, &mut self.value);
            let is_full = self.line.len() + 1 + self.value.len() > self.columns;
            if self.left_in_row == 0 || (is_full && self.line.len() > self.lead) {
                self.begin_line()?;
            }
            if self.line.len() > self.lead {
                self.line.push(b' ');
            }
            self.line.extend_from_slice(&self.value);
            self.position += 1;
            self.left_in_row -= 1;
        }
        Ok(())
    }

    /// Writes bytes as text, a row a line, without the zeros that fill a row up.
    fn characters(&mut self, bytes: impl Iterator<Item = u8>) -> Result<()> {
        for byte in bytes {
            if self.left_in_row == 0 || self.value.len() >= TEXT_MAX {
                self.end_text();
                self.begin_line()?;
            }
            self.value.push(byte);
            self.position += 1;
            self.left_in_row -= 1;
        }
        Ok(())
    }

    fn end_text(&mut self) {
        if self.is_text && self.position > 0 {
            let text = self.value.trim_ascii_end();
            let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
            let text = String::from_utf8_lossy(text.get(..end).unwrap_or_default()).into_owned();
            write_quoted(&text, &mut self.line);
            self.value.clear();
        }
    }

    /// Ends the line before, and begins one with the index of the next value.
    fn begin_line(&mut self) -> Result<()> {
        self.end_line()?;
        let row = self.count.last().copied().unwrap_or(1).max(1);
        if self.left_in_row == 0 {
            self.left_in_row = row;
        }
        self.line.resize(self.indent, b' ');
        if !self.count.is_empty() {
            let label = label(&self.index());
            write!(self.line, "{}  ", pad::left(&label, self.label_width))?;
        }
        self.lead = self.line.len();
        Ok(())
    }

    fn end_line(&mut self) -> Result<()> {
        if !self.line.is_empty() {
            self.line.push(b'\n');
            self.out.write_all(&self.line)?;
            self.line.clear();
        }
        Ok(())
    }

    /// The index of the next value, with the dimensions as the file lists them.
    fn index(&self) -> Vec<u64> {
        let mut rest = self.position;
        let mut index = self.start.clone();
        for (i, &count) in index.iter_mut().zip(&self.count).rev() {
            *i += rest % count.max(1);
            rest /= count.max(1);
        }
        self.order.turn(index)
    }

    /// Writes what is left.
    pub(crate) fn finish(mut self) -> Result<()> {
        if !self.value.is_empty() && self.line.len() == self.lead {
            self.end_text();
        }
        self.end_line()
    }
}

fn label(index: &[u64]) -> String {
    let index: Vec<_> = index.iter().map(u64::to_string).collect();
    format!("({})", index.join(","))
}

/// Writes values one after the other as elements of a JSON array.
pub(crate) fn json_values(out: &mut Output, array: &ArrayRef, is_first: bool) -> Result<()> {
    let cells = Cells::new(array)?;
    let mut buffer = Vec::with_capacity(cells.len() * 8);
    for row in 0..cells.len() {
        if row > 0 || !is_first {
            buffer.push(b',');
        }
        cells.write(row, Notation::Json, &mut buffer);
    }
    Ok(out.write_all(&buffer)?)
}
