//! A part of a variable as a table: some steps, and a box of each.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use kymo_core::{Error, Result};
use kymo_model::Table;
use kymo_model::arrays::{
    ArraysView, Chunk, Chunks, Order, Selection, Step, Variable, VariableId, VariableTable, volume,
};
use kymo_model::table::{Batches, Scan};

use super::Args;
use crate::failure::Failure;
use crate::render::escaped;
use crate::selection::{select, steps_of};

/// One row a value of the part, with the columns that the whole variable has.
pub(super) struct Part {
    view: Arc<dyn ArraysView>,
    id: VariableId,
    variable: Variable,
    whole: Arc<VariableTable>,
    order: Order,
    steps: Range<u64>,
    start: Vec<i64>,
    count: Vec<i64>,
}

impl Part {
    /// The part of a variable that is wanted, which may be all of it.
    pub(super) fn new(
        view: &Arc<dyn ArraysView>,
        id: VariableId,
        args: &Args,
    ) -> anyhow::Result<Self> {
        let variable = view.variable(id);
        let order = args.order().into();
        Ok(Self {
            steps: steps_of(&variable, args.step)?,
            whole: Arc::new(VariableTable::with_order(Arc::clone(view), id, order)),
            view: Arc::clone(view),
            id,
            variable,
            order,
            start: args.start.clone(),
            count: args.count.clone(),
        })
    }

    /// Returns the largest possible number of rows. Before anything is written, refuses what the
    /// first step does not have.
    pub(super) fn rows(&self) -> anyhow::Result<u64> {
        if self.steps.is_empty() {
            return Ok(0);
        }
        let refused = |error| Failure::new(format!("{}: {error}", escaped(&self.variable.path)));
        let found = self.view.step(self.id, self.steps.start)?;
        let selection = select(&found.shape, &self.start, &self.count).map_err(refused)?;
        self.chunks(found, &selection, 1).map_err(|error| {
            refused(error).hint("--start and --count select a part, --step a step")
        })?;
        let is_cut = !(self.start.is_empty() && self.count.is_empty());
        // Steps may be smaller; a bar that ends early is better than one that ends at once.
        let most = if is_cut { selection.len() } else { volume(&self.variable.max_shape) };
        Ok(most.saturating_mul(self.steps.end - self.steps.start))
    }

    /// The table; that of the variable where all of it is wanted.
    pub(super) fn table(self) -> Arc<dyn Table> {
        let is_all = self.steps == (0..self.variable.steps);
        if is_all && self.start.is_empty() && self.count.is_empty() {
            return self.whole;
        }
        Arc::new(self)
    }

    fn chunks(&self, step: Step, selection: &Selection, chunk_values: u64) -> Result<Chunks> {
        let (view, data_type) = (Arc::clone(&self.view), self.variable.data_type.clone());
        Chunks::new(view, data_type, step, selection, self.order, chunk_values)
    }

    fn batches(self: &Arc<Self>, step: u64, chunk_values: u64) -> Result<Batches> {
        let found = self.view.step(self.id, step)?;
        let selection = select(&found.shape, &self.start, &self.count)?;
        let chunks = self.chunks(found, &selection, chunk_values)?;
        let part = Arc::clone(self);
        Ok(Box::new(chunks.map(move |chunk| part.batch(step, &selection, chunk?))))
    }

    fn batch(&self, step: u64, selection: &Selection, chunk: Chunk) -> Result<RecordBatch> {
        let Chunk { position, values } = chunk;
        let rows = values.len();
        let positions = position..position.saturating_add(rows as u64);
        let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from_value(step, rows))];
        columns.extend(indices(selection, self.order, &positions));
        columns.push(values);
        let batch = RecordBatch::try_new(self.schema(), columns);
        batch.map_err(|error| Error::request(error.to_string()))
    }
}

/// The index in each dimension, as the file lists them, of some positions in storage order.
fn indices(selection: &Selection, order: Order, positions: &Range<u64>) -> Vec<ArrayRef> {
    let start = order.turn(selection.start.clone());
    let count = order.turn(selection.count.clone());
    let column = |(dimension, (&start, &length)): (usize, (&u64, &u64))| -> ArrayRef {
        let faster = volume(count.get(dimension + 1..).unwrap_or_default()).max(1);
        let index = |position: u64| start + position / faster % length.max(1);
        Arc::new(UInt64Array::from_iter_values(positions.clone().map(index)))
    };
    order.turn(start.iter().zip(&count).enumerate().map(column).collect())
}

impl Table for Part {
    fn name(&self) -> &str {
        self.whole.name()
    }

    fn about(&self) -> &str {
        self.whole.about()
    }

    fn schema(&self) -> SchemaRef {
        self.whole.schema()
    }

    fn row_count(&self) -> Option<u64> {
        None
    }

    fn scan(self: Arc<Self>, scan: &Scan) -> Result<Batches> {
        let chunk_values = scan.batch_rows as u64;
        let steps = self.steps.clone().flat_map(move |step| {
            let batches = self.batches(step, chunk_values);
            batches.unwrap_or_else(|error| Box::new(std::iter::once(Err(error))))
        });
        Ok(scan.finish(Box::new(steps)))
    }
}
