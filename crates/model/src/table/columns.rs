//! Tables whose columns can be computed for any range of rows.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter;

use super::{Batches, Filter, Scan, Table, arrow};
use kymo_core::Result;

/// The columns of a table, computed for the rows that are asked for.
///
/// A format implements this; [`ColumnTable`] makes the scan of it.
pub trait Columns: Send + Sync + 'static {
    /// A row as it is read, once for all its columns.
    type Row<'a>
    where
        Self: 'a;

    /// See [`Table::name`].
    fn name(&self) -> &str;
    /// See [`Table::about`].
    fn about(&self) -> &str;
    /// See [`Table::schema`].
    fn schema(&self) -> SchemaRef;
    /// See [`Table::brief`].
    fn brief(&self) -> Vec<usize> {
        super::always_there(&self.schema())
    }
    /// Returns the number of rows.
    fn row_count(&self) -> u64;
    /// Reads some rows: the first of those asked for, at least one, and fewer than asked where
    /// their values are large, so that a batch stays small.
    fn rows(&self, rows: Range<usize>) -> Result<Vec<Self::Row<'_>>>;
    /// Computes one column, by its index in the schema, of some rows.
    fn column(&self, index: usize, rows: &[Self::Row<'_>]) -> Result<ArrayRef>;
}

/// A table made of [`Columns`]: only columns that are asked for are computed.
#[derive(Debug)]
pub struct ColumnTable<T>(T);

impl<T: Columns> ColumnTable<T> {
    /// Makes a table.
    pub fn new(columns: T) -> Arc<Self> {
        Arc::new(Self(columns))
    }

    fn batch(&self, scan: &Scan, rows: &[T::Row<'_>], schema: &SchemaRef) -> Result<RecordBatch> {
        let mask = Filter::all(&scan.filters, |index| self.0.column(index, rows))?;
        let count = mask.as_ref().map_or(rows.len(), BooleanArray::true_count);
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        if count == 0 {
            return Ok(RecordBatch::new_empty(Arc::clone(schema)));
        }
        let all = || (0..schema.fields().len()).collect();
        let wanted = scan.columns.clone().unwrap_or_else(all);
        let columns = wanted.into_iter().map(|index| {
            let column = self.0.column(index, rows)?;
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
        Some(self.0.row_count())
    }

    fn brief(&self) -> Vec<usize> {
        self.0.brief()
    }

    fn scan(self: Arc<Self>, scan: &Scan) -> Result<Batches> {
        let schema = scan.output_schema(&self.schema())?;
        let mut count = self.0.row_count();
        if let (Some(limit), true) = (scan.limit, scan.filters.is_empty()) {
            count = count.min(limit);
        }
        let mut rest = 0..usize::try_from(count).unwrap_or(usize::MAX);
        let limit = scan.limit;
        let scan = scan.clone();
        let batches = std::iter::from_fn(move || {
            let end = rest.end.min(rest.start.saturating_add(scan.batch_rows.max(1)));
            let rows = match self.0.rows(rest.start..end) {
                Ok(rows) if rows.is_empty() => return None,
                Ok(rows) => rows,
                Err(error) => return Some(Err(error)),
            };
            rest.start += rows.len();
            Some(self.batch(&scan, &rows, &schema))
        });
        Ok(super::limit_rows(batches, limit))
    }
}
