//! CSV: a header, then one line a row.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use kymo_core::{Error, Result};

use crate::tables::values::{Cells, Notation};
use crate::tables::{TableWriter, Target};

/// CSV as RFC 4180 has it; null is empty.
#[derive(Debug)]
pub(crate) struct Csv;

impl Target for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "CSV: a header, then one line a row"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["csv"]
    }

    fn writer<'a>(
        &self,
        schema: &Schema,
        out: &'a mut dyn Write,
    ) -> Result<Box<dyn TableWriter + 'a>> {
        let mut out = csv::WriterBuilder::new().buffer_capacity(1 << 16).from_writer(out);
        let names = schema.fields().iter().map(|field| field.name());
        out.write_record(names).map_err(failed)?;
        Ok(Box::new(Writer { out, field: Vec::new() }))
    }
}

struct Writer<'a> {
    out: csv::Writer<&'a mut dyn Write>,
    /// The field being written, kept to be used again.
    field: Vec<u8>,
}

impl TableWriter for Writer<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let cells = batch.columns().iter().map(Cells::new);
        let cells = cells.collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            for cells in &cells {
                self.field.clear();
                cells.write(row, Notation::Csv, &mut self.field);
                self.out.write_field(&self.field).map_err(failed)?;
            }
            self.out.write_record(None::<&[u8]>).map_err(failed)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }
}

/// An error of the output is the system's; any other is ours, and does not happen: every row
/// has as many fields as the header.
fn failed(error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        other => Error::Request(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be_and_null_is_empty() {
        let names: ArrayRef = Arc::new(StringArray::from(vec![Some("a,\"b\""), None, Some("")]));
        let counts: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let batch = RecordBatch::try_from_iter([("name", names), ("count", counts)]).unwrap();
        let mut out = Vec::new();
        let mut writer = Csv.writer(&batch.schema(), &mut out).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        drop(writer);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "name,count\n\"a,\"\"b\"\"\",1\n,2\n,3\n");
    }
}
