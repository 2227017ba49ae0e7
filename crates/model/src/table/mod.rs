//! Tables: Arrow scans with projection, simple filters and a limit, in batches.

mod column;
mod columns;
mod filter;
mod json;
mod listed;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;

use kymo_core::{Error, Result};

pub use column::{
    ABOUT, BatchBuilder, Cell, Column, Pick, PickBytes, PickText, RowKind, UNIT, schema_of,
};
pub use columns::{ColumnTable, Columns};
pub use filter::{Comparison, Filter};
pub use json::{is_json, json_field};
pub use listed::{Cells, ListedTable};

/// The batches of a scan. They own what they need, so that a scan may outlive its caller.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Rows of one kind, read as they are asked for.
pub trait Table: Send + Sync {
    /// The name in commands and in SQL, a plural noun: `elements`.
    fn name(&self) -> &str;

    /// Returns the description of a row, in a line.
    fn about(&self) -> &str;

    /// The columns.
    fn schema(&self) -> SchemaRef;

    /// The columns of a listing with a line a row, by index into the schema.
    fn brief(&self) -> Vec<usize> {
        always_there(&self.schema())
    }

    /// Returns the number of rows, where that is known without a scan.
    fn row_count(&self) -> Option<u64>;

    /// Reads rows: exactly those that pass every filter, in the order of the file.
    fn scan(self: Arc<Self>, scan: &Scan) -> Result<Batches>;
}

/// The columns that every row has a value in.
fn always_there(schema: &SchemaRef) -> Vec<usize> {
    let fields = schema.fields().iter().enumerate();
    fields.filter(|(_, field)| !field.is_nullable()).map(|(index, _)| index).collect()
}

/// Part of a table that is wanted.
#[derive(Debug, Clone)]
pub struct Scan {
    /// The columns, by index into the schema; all of them when absent.
    pub columns: Option<Vec<usize>>,
    /// Conditions that each row must meet.
    pub filters: Vec<Filter>,
    /// At most so many rows.
    pub limit: Option<u64>,
    /// About how many rows a batch has.
    pub batch_rows: usize,
}

impl Default for Scan {
    fn default() -> Self {
        Self { columns: None, filters: Vec::new(), limit: None, batch_rows: 8192 }
    }
}

impl Scan {
    /// The schema of the batches.
    pub fn output_schema(&self, schema: &SchemaRef) -> Result<SchemaRef> {
        match &self.columns {
            None => Ok(Arc::clone(schema)),
            Some(columns) => {
                let projected = schema.project(columns);
                projected.map(Arc::new).map_err(|error| Error::request(error.to_string()))
            }
        }
    }

    /// Applies filters, projection and limit to batches that have every column, for tables
    /// that cannot do better.
    #[must_use]
    pub fn finish(&self, batches: Batches) -> Batches {
        let scan = self.clone();
        limit_rows(batches.map(move |batch| scan.select(&batch?)), self.limit)
    }

    fn select(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mask = Filter::all(&self.filters, |index| {
            let column = batch.columns().get(index).map(Arc::clone);
            column.ok_or_else(|| Error::Request(format!("there is no column {index}")))
        })?;
        let kept = match mask {
            None => batch.clone(),
            Some(mask) => filter_record_batch(batch, &mask).map_err(arrow)?,
        };
        match &self.columns {
            None => Ok(kept),
            Some(columns) => kept.project(columns).map_err(arrow),
        }
    }
}

/// Leaves out empty batches, and ends after so many rows.
pub(crate) fn limit_rows(
    batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
    limit: Option<u64>,
) -> Batches {
    let mut left = usize::try_from(limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let mut batches = batches.filter(|batch| !matches!(batch, Ok(batch) if batch.num_rows() == 0));
    Box::new(std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let batch = match batches.next()? {
            Ok(batch) => batch.slice(0, batch.num_rows().min(left)),
            Err(error) => {
                // An error ends the scan: what follows it could be anything.
                left = 0;
                return Some(Err(error));
            }
        };
        left -= batch.num_rows();
        Some(Ok(batch))
    }))
}

/// Turns an error of Arrow, which only a wrong request can cause, into ours.
#[allow(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
pub(crate) fn arrow(error: arrow_schema::ArrowError) -> Error {
    Error::Request(error.to_string())
}

#[cfg(test)]
mod tests;
