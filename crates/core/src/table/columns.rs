//! Tables whose columns can be computed for any range of rows.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter;

use super::{Batches, Filter, Scan, Table, arrow};
use crate::Result;

/// The columns of a table, each computed for a range of rows when it is asked for.
///
/// A format implements this; [`ColumnTable`] makes the scan of it.
pub trait Columns: Send + Sync + 'static {
    /// See [`Table::name`].
    fn name(&self) -> &str;
    /// See [`Table::about`].
    fn about(&self) -> &str;
    /// See [`Table::schema`].
    fn schema(&self) -> SchemaRef;
    /// How many rows there are.
    fn rows(&self) -> u64;
    /// Computes one column, by its index in the schema, for some rows.
    fn column(&self, index: usize, rows: Range<u64>) -> Result<ArrayRef>;
}

/// A table made of [`Columns`]: only columns that are asked for are computed.
#[derive(Debug)]
pub struct ColumnTable<T>(T);

impl<T: Columns> ColumnTable<T> {
    /// Makes a table.
    pub fn new(columns: T) -> Arc<Self> {
        Arc::new(Self(columns))
    }

    fn batch(&self, scan: &Scan, rows: Range<u64>, schema: &SchemaRef) -> Result<RecordBatch> {
        let mask = Filter::all(&scan.filters, |index| self.0.column(index, rows.clone()))?;
        let count = match &mask {
            None => rows.end - rows.start,
            Some(mask) => mask.true_count() as u64,
        };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        if count == 0 {
            return Ok(RecordBatch::new_empty(Arc::clone(schema)));
        }
        let all = || (0..schema.fields().len()).collect();
        let wanted = scan.columns.clone().unwrap_or_else(all);
        let columns = wanted.into_iter().map(|index| {
            let column = self.0.column(index, rows.clone())?;
            match &mask {
                None => Ok(column),
                Some(mask) => filter(&column, mask).map_err(arrow),
            }
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(arrow)
    }
}

impl<T: Columns> Table for ColumnTable<T> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn about(&self) -> &str {
        self.0.about()
    }

    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn row_count(&self) -> Option<u64> {
        Some(self.0.rows())
    }

    fn scan(self: Arc<Self>, scan: &Scan) -> Result<Batches> {
        let schema = scan.output_schema(&self.schema())?;
        let mut rest = 0..self.0.rows();
        if let (Some(limit), true) = (scan.limit, scan.filters.is_empty()) {
            rest.end = rest.end.min(limit);
        }
        let limit = scan.limit;
        let scan = scan.clone();
        let batches = std::iter::from_fn(move || {
            let end = rest.end.min(rest.start.saturating_add(scan.batch_rows.max(1) as u64));
            let rows = std::mem::replace(&mut rest.start, end)..end;
            (!rows.is_empty()).then(|| self.batch(&scan, rows, &schema))
        });
        Ok(super::cut_off(batches, limit))
    }
}
