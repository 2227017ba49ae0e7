//! The values of a variable as a table: one row a value.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::{ArraysView, Chunk, Chunks, Order, Selection, Variable, VariableId, volume};
use crate::Result;
use crate::table::{Batches, Scan, Table};

/// One row a value: the step, the index in each dimension, the value.
pub struct VariableTable {
    view: Arc<dyn ArraysView>,
    id: VariableId,
    variable: Variable,
    order: Order,
}

impl VariableTable {
    /// The values of a variable, in C order.
    #[must_use]
    pub fn new(view: Arc<dyn ArraysView>, id: VariableId) -> Self {
        Self::with_order(view, id, Order::C)
    }

    /// The values of a variable, in the given order.
    #[must_use]
    pub fn with_order(view: Arc<dyn ArraysView>, id: VariableId, order: Order) -> Self {
        let variable = view.variable(id);
        Self { view, id, variable, order }
    }

    fn step(self: &Arc<Self>, step: u64, chunk_values: u64) -> Result<Batches> {
        let found = self.view.step(self.id, step)?;
        let shape = self.order.turn(found.shape.clone());
        let selection = Selection::all(&found.shape);
        let view = Arc::clone(&self.view);
        let data_type = self.variable.data_type.clone();
        let chunks = Chunks::new(view, data_type, found, &selection, self.order, chunk_values);
        let table = Arc::clone(self);
        Ok(Box::new(chunks.map(move |chunk| table.batch(step, &shape, &chunk?))))
    }

    fn batch(&self, step: u64, shape: &[u64], chunk: &Chunk) -> Result<RecordBatch> {
        let rows = chunk.values.len();
        let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from_value(step, rows))];
        let index = |dimension| index_column(chunk.position, rows, shape, dimension);
        let indices = (0..shape.len()).map(index).collect();
        columns.extend(self.order.turn(indices));
        columns.push(Arc::clone(&chunk.values));
        RecordBatch::try_new(self.schema(), columns).map_err(crate::table::arrow)
    }
}

/// The index in one dimension of so many values from a position on, without dividing for each.
fn index_column(position: u64, rows: usize, shape: &[u64], dimension: usize) -> ArrayRef {
    let length = shape.get(dimension).copied().unwrap_or(1).max(1);
    let faster = volume(shape.get(dimension + 1..).unwrap_or_default()).max(1);
    let mut index = position / faster % length;
    let mut left = faster - position % faster;
    let values = std::iter::repeat_with(|| {
        let here = index;
        left -= 1;
        if left == 0 {
            left = faster;
            index = if index + 1 < length { index + 1 } else { 0 };
        }
        here
    });
    Arc::new(UInt64Array::from_iter_values(values.take(rows)))
}

impl Table for VariableTable {
    fn name(&self) -> &str {
        &self.variable.path
    }

    fn about(&self) -> &'static str {
        "the values of one variable, one row a value"
    }

    fn schema(&self) -> SchemaRef {
        let mut fields = vec![Field::new("step", DataType::UInt64, false)];
        let index = |i| Field::new(format!("i{i}"), DataType::UInt64, false);
        fields.extend((0..self.variable.rank).map(index));
        fields.push(Field::new("value", self.variable.data_type.clone(), true));
        Arc::new(Schema::new(fields))
    }

    fn row_count(&self) -> Option<u64> {
        None
    }

    fn scan(self: Arc<Self>, scan: &Scan) -> Result<Batches> {
        let chunk_values = scan.batch_rows as u64;
        let steps = (0..self.variable.steps).flat_map(move |step| {
            self.step(step, chunk_values)
                .unwrap_or_else(|error| Box::new(std::iter::once(Err(error))))
        });
        Ok(scan.finish(Box::new(steps)))
    }
}
