//! JSON lines: one object a row; and JSON: an array of them.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use kymo_core::Result;
use kymo_model::table::is_json;

use crate::tables::values::{Cells, Notation, write_text};
use crate::tables::{TableWriter, Target};

/// Rows are gathered up to this size before they are written.
const BUFFER_BYTES: usize = 1 << 16;

/// JSON lines: one object a row; NaN and the infinities are strings.
#[derive(Debug)]
pub(crate) struct JsonLines;

impl Target for JsonLines {
    fn name(&self) -> &'static str {
        "jsonl"
    }

    fn about(&self) -> &'static str {
        "JSON lines: one object a row"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["jsonl", "ndjson"]
    }

    fn writer<'a>(
        &self,
        schema: &Schema,
        out: &'a mut dyn Write,
    ) -> Result<Box<dyn TableWriter + 'a>> {
        Ok(Box::new(Writer::new(schema, out, &LINES)))
    }
}

/// JSON: an array of one object a row.
#[derive(Debug)]
pub(crate) struct Json;

impl Target for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn about(&self) -> &'static str {
        "JSON: an array of one object a row"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["json"]
    }

    fn writer<'a>(
        &self,
        schema: &Schema,
        out: &'a mut dyn Write,
    ) -> Result<Box<dyn TableWriter + 'a>> {
        Ok(Box::new(Writer::new(schema, out, &ARRAY)))
    }
}

/// Texts around the objects of rows.
struct RowDelimiters {
    first: &'static [u8],
    between: &'static [u8],
    last: &'static [u8],
    /// Whole text if there are no rows.
    none: &'static [u8],
}

const LINES: RowDelimiters = RowDelimiters { first: b"", between: b"\n", last: b"\n", none: b"" };
const ARRAY: RowDelimiters =
    RowDelimiters { first: b"[\n", between: b",\n", last: b"\n]\n", none: b"[]\n" };

struct Writer<'a> {
    out: &'a mut dyn Write,
    /// Text before each value: `{"name":` for the first, `,"name":` for the others.
    keys: Vec<Vec<u8>>,
    /// Columns whose texts are JSON.
    is_json: Vec<bool>,
    around: &'static RowDelimiters,
    has_rows: bool,
    buffer: Vec<u8>,
}

impl<'a> Writer<'a> {
    fn new(schema: &Schema, out: &'a mut dyn Write, around: &'static RowDelimiters) -> Self {
        Self {
            out,
            keys: keys(schema),
            is_json: schema.fields().iter().map(|field| is_json(field)).collect(),
            around,
            has_rows: false,
            buffer: Vec::with_capacity(BUFFER_BYTES * 2),
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

fn keys(schema: &Schema) -> Vec<Vec<u8>> {
    let key = |(index, field): (usize, &arrow_schema::FieldRef)| {
        let mut key = vec![if index == 0 { b'{' } else { b',' }];
        write_text(field.name(), Notation::Json, &mut key);
        key.push(b':');
        key
    };
    schema.fields().iter().enumerate().map(key).collect()
}

impl TableWriter for Writer<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let cells = batch.columns().iter().map(Cells::new);
        let cells = cells.collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            let before = if self.has_rows { self.around.between } else { self.around.first };
            self.buffer.extend_from_slice(before);
            self.has_rows = true;
            for ((key, cells), is_json) in self.keys.iter().zip(&cells).zip(&self.is_json) {
                self.buffer.extend_from_slice(key);
                // Such a text stands as it is.
                let is_raw = *is_json && !cells.is_null(row);
                let notation = if is_raw { Notation::Csv } else { Notation::Json };
                cells.write(row, notation, &mut self.buffer);
            }
            let end: &[u8] = if cells.is_empty() { b"{}" } else { b"}" };
            self.buffer.extend_from_slice(end);
            if self.buffer.len() >= BUFFER_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let end = if self.has_rows { self.around.last } else { self.around.none };
        self.buffer.extend_from_slice(end);
        self.flush()?;
        self.out.flush()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    #[test]
    fn json_of_the_recording_stays_json() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("{\"a\":[1]}"), None]));
        let schema = Arc::new(Schema::new(vec![kymo_model::table::json_field("said")]));
        let batch = RecordBatch::try_new(schema, vec![texts]).unwrap();
        let mut out = Vec::new();
        let mut writer = JsonLines.writer(&batch.schema(), &mut out).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        drop(writer);
        assert_eq!(out, b"{\"said\":{\"a\":[1]}}\n{\"said\":null}\n");
    }

    #[test]
    fn every_line_is_an_object_with_every_column() {
        let names: ArrayRef = Arc::new(StringArray::from(vec![Some("a\"b"), None]));
        let counts: ArrayRef = Arc::new(Int64Array::from(vec![1, i64::MIN]));
        let batch = RecordBatch::try_from_iter([("na\"me", names), ("count", counts)]).unwrap();
        let mut out = Vec::new();
        let mut writer = JsonLines.writer(&batch.schema(), &mut out).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        drop(writer);
        let text = String::from_utf8(out).unwrap();
        let rows: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows[0]["na\"me"], "a\"b");
        assert_eq!(rows[1]["na\"me"], serde_json::Value::Null);
        assert_eq!(rows[1]["count"], i64::MIN);
    }
}
