//! Every record in the order of the file, a line each. There may be millions: no allocation a
//! line, and only the columns that are shown are computed.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use kymo_core::Result;
use kymo_export::tables::values::{Cells, Notation, write_text};
use kymo_model::table::Scan;

use crate::session::{OpenedFile, Session};

/// The column that says where a record begins, shown in hexadecimal.
const OFFSET: &str = "offset";

/// Few enough that what is read of a batch is still in the cache when it is written.
const BATCH_ROWS: usize = 1024;

/// Lists the rows of the first table: the one that has a row for each record.
pub(super) fn list(
    session: &mut Session,
    opened: &OpenedFile,
    file: Option<&str>,
    json: bool,
) -> anyhow::Result<()> {
    let Some(table) = opened.dataset.tables().into_iter().next() else {
        return Ok(());
    };
    let columns = Some(table.brief());
    let scan = Scan { columns, batch_rows: BATCH_ROWS, ..Scan::default() };
    let schema = scan.output_schema(&table.schema())?;
    // Of a directory it is not known how large its files are.
    let is_file = !opened.source.is_directory();
    let offset_width = if is_file { format!("{:x}", opened.source.size_bytes()).len() } else { 8 };
    let keys = keys(table.name(), &schema, file);
    let mut lines = Lines { buffer: Vec::new(), offset_width, keys };
    for batch in Arc::clone(&table).scan(&scan)? {
        let batch = batch?;
        if json {
            lines.write_json(&batch)?;
        } else {
            lines.write_text(&batch)?;
        }
        session.out.write_all(&lines.buffer)?;
        lines.buffer.clear();
    }
    Ok(())
}

struct Lines {
    buffer: Vec<u8>,
    offset_width: usize,
    /// Text before each value of a JSON object.
    keys: Vec<Vec<u8>>,
}

fn keys(table: &str, schema: &Schema, file: Option<&str>) -> Vec<Vec<u8>> {
    let mut lead = vec![b'{'];
    if let Some(file) = file {
        lead.extend_from_slice(b"\"file\":");
        write_text(file, Notation::Json, &mut lead);
        lead.push(b',');
    }
    let mut keys = Vec::new();
    for field in schema.fields() {
        let mut key = std::mem::replace(&mut lead, vec![b',']);
        // The recording's own name is there already: `file` of `events` is `event_file`.
        match field.name().as_str() {
            "file" if file.is_some() => {
                let kind = table.strip_suffix('s').unwrap_or(table);
                write_text(&format!("{kind}_file"), Notation::Json, &mut key);
            }
            name => write_text(name, Notation::Json, &mut key),
        }
        key.push(b':');
        keys.push(key);
    }
    keys
}

impl Lines {
    fn write_json(&mut self, batch: &RecordBatch) -> Result<()> {
        let cells = cells_of(batch)?;
        for row in 0..batch.num_rows() {
            for (key, cells) in self.keys.iter().zip(&cells) {
                self.buffer.extend_from_slice(key);
                cells.write(row, Notation::Json, &mut self.buffer);
            }
            self.buffer.extend_from_slice(b"}\n");
        }
        Ok(())
    }

    fn write_text(&mut self, batch: &RecordBatch) -> Result<()> {
        let cells = cells_of(batch)?;
        let offset = batch.schema().index_of(OFFSET).ok();
        let offsets = offset.map(|index| batch.column(index));
        let offsets = offsets.filter(|column| column.data_type() == &DataType::UInt64);
        let offsets = offsets.map(|column| {
            use arrow_array::cast::AsArray;
            column.as_primitive::<arrow_array::types::UInt64Type>()
        });
        for row in 0..batch.num_rows() {
            if let Some(offsets) = offsets {
                self.write_offset(offsets.value(row));
            }
            for (index, cells) in cells.iter().enumerate() {
                if Some(index) != offset {
                    self.buffer.extend_from_slice(b"  ");
                    cells.write(row, Notation::Text, &mut self.buffer);
                }
            }
            self.buffer.push(b'\n');
        }
        Ok(())
    }

    /// Writes an offset in hexadecimal, filled up with zeros so that lines stand below each
    /// other and sort.
    fn write_offset(&mut self, offset: u64) {
        self.buffer.extend_from_slice(b"0x");
        let digits = offset.checked_ilog2().map_or(1, |bits| bits as usize / 4 + 1);
        for place in (0..self.offset_width.max(digits)).rev() {
            let nibble = (offset >> (4 * place.min(15))) & 15;
            let digit = char::from_digit(u32::try_from(nibble).unwrap_or(0), 16);
            self.buffer.push(digit.map_or(b'?', |digit| digit as u8));
        }
    }
}

fn cells_of(batch: &RecordBatch) -> Result<Vec<Cells<'_>>> {
    batch.columns().iter().map(Cells::new).collect()
}
