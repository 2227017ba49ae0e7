//! Tables whose rows come one after the other.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use kymo_core::{Error, Result};
use kymo_model::Table;
use kymo_model::table::{Batches, Scan};

/// Rows that are read in the order of the file.
pub(super) trait Rows: Send {
    /// Reads up to so many rows, and makes every column of them; nothing at the end.
    fn read(&mut self, rows: usize) -> Result<Option<Vec<ArrayRef>>>;
}

/// A table of such rows.
pub(super) struct Sequence {
    pub name: String,
    pub about: &'static str,
    pub schema: SchemaRef,
    pub brief: Vec<usize>,
    pub row_count: Option<u64>,
    /// Begins to read, given which columns are wanted.
    pub begin: Box<Begin>,
}

type Begin = dyn Fn(&[bool]) -> Box<dyn Rows> + Send + Sync;

impl Table for Sequence {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn brief(&self) -> Vec<usize> {
        self.brief.clone()
    }

    fn row_count(&self) -> Option<u64> {
        self.row_count
    }

    fn scan(self: Arc<Self>, scan: &Scan) -> Result<Batches> {
        scan.output_schema(&self.schema)?;
        let mut rows = (self.begin)(&needed_columns(scan, self.schema.fields().len()));
        let batch_rows = scan.batch_rows.max(1);
        let schema = Arc::clone(&self.schema);
        let batches = std::iter::from_fn(move || match rows.read(batch_rows) {
            Ok(columns) => {
                let batch = RecordBatch::try_new(Arc::clone(&schema), columns?);
                Some(batch.map_err(|error| Error::request(error.to_string())))
            }
            Err(error) => Some(Err(error)),
        });
        Ok(scan.finish(Box::new(batches)))
    }
}

/// Returns flags of the columns that a scan needs, for output or for its filters.
fn needed_columns(scan: &Scan, columns: usize) -> Vec<bool> {
    let mut wanted = vec![scan.columns.is_none(); columns];
    let filtered = scan.filters.iter().map(|filter| filter.column);
    for index in scan.columns.iter().flatten().copied().chain(filtered) {
        if let Some(wanted) = wanted.get_mut(index) {
            *wanted = true;
        }
    }
    wanted
}
