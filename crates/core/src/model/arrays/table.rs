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
        let chunks = Chunks::new(view, data_type, found, &selection, self.order, chunk_values)?;
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

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt64Type;

    use super::super::fixture::{Grid, integers};
    use super::*;
    use crate::table::Filter;

    fn table(grid: Grid, order: Order) -> Arc<VariableTable> {
        Arc::new(VariableTable::with_order(grid.share(), VariableId(0), order))
    }

    /// The rows of a scan: steps and indices, then the value.
    fn rows(table: &Arc<VariableTable>, scan: &Scan) -> Vec<(Vec<u64>, Option<i32>)> {
        let mut rows = Vec::new();
        for batch in Arc::clone(table).scan(scan).unwrap() {
            let batch = batch.unwrap();
            assert!(batch.num_rows() <= scan.batch_rows);
            let (values, indices) = batch.columns().split_last().unwrap();
            for (row, value) in integers(values).into_iter().enumerate() {
                let index = |column: &ArrayRef| column.as_primitive::<UInt64Type>().value(row);
                rows.push((indices.iter().map(index).collect(), value));
            }
        }
        rows
    }

    fn in_batches(batch_rows: usize) -> Scan {
        Scan { batch_rows, ..Scan::default() }
    }

    #[test]
    fn a_row_has_the_step_the_indices_and_the_value() {
        let grid = Grid::new().step_of(&[2, 2]).block(&[0, 0], &[1, 2]).step_of(&[1, 2]);
        let table = table(grid.block(&[0, 0], &[1, 2]), Order::C);
        let names: Vec<_> = table.schema().fields().iter().map(|f| f.name().clone()).collect();
        assert_eq!(names, ["step", "i0", "i1", "value"]);
        let expected = [
            (vec![0, 0, 0], Some(0)),
            (vec![0, 0, 1], Some(1)),
            (vec![0, 1, 0], None),
            (vec![0, 1, 1], None),
            (vec![1, 0, 0], Some(1000)),
            (vec![1, 0, 1], Some(1001)),
        ];
        for batch_rows in 1..8 {
            assert_eq!(rows(&table, &in_batches(batch_rows)), expected, "{batch_rows}");
        }
    }

    #[test]
    fn a_scalar_has_a_step_and_a_value() {
        let grid = Grid::new().step_of(&[]).block(&[], &[]).step_of(&[]).block(&[], &[]);
        let found = rows(&table(grid, Order::C), &in_batches(9));
        assert_eq!(found, [(vec![0], Some(0)), (vec![1], Some(1000))]);
    }

    #[test]
    fn in_fortran_order_rows_follow_storage_and_columns_the_file() {
        let grid = Grid::new().step_of(&[2, 3]).block(&[0, 0], &[2, 3]);
        let found = rows(&table(grid, Order::Fortran), &in_batches(4));
        let indices = |(index, _): &(Vec<u64>, Option<i32>)| (index[1], index[2]);
        let order: Vec<_> = found.iter().map(indices).collect();
        assert_eq!(order, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
        let values: Vec<_> = found.iter().map(|(_, value)| value.unwrap()).collect();
        assert_eq!(values, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn the_index_is_right_wherever_a_batch_begins() {
        let shape = [3, 4, 5];
        let table = table(Grid::new().step_of(&shape).block(&[0, 0, 0], &shape), Order::C);
        let all: Vec<_> = (0..60).map(|p: u64| vec![0, p / 20, p / 5 % 4, p % 5]).collect();
        for batch_rows in [1, 3, 7, 20, 59, 60, 61] {
            let found = rows(&table, &in_batches(batch_rows));
            let indices: Vec<_> = found.into_iter().map(|(index, _)| index).collect();
            assert_eq!(indices, all, "batches of {batch_rows}");
        }
    }

    #[test]
    fn filters_and_limits_hold_over_steps() {
        let mut grid = Grid::new();
        for _ in 0..4 {
            grid = grid.step_of(&[5]).block(&[0], &[5]);
        }
        let table = table(grid, Order::C);
        let filter = |text| Filter::parse(&table.schema(), text).unwrap();
        let filters = vec![filter("i0=2"), filter("step>=1")];
        let scan = Scan { filters, limit: Some(2), ..in_batches(3) };
        assert_eq!(rows(&table, &scan), [(vec![1, 2], Some(1002)), (vec![2, 2], Some(2002))]);
    }

    #[test]
    fn a_step_of_no_values_has_no_rows() {
        let grid = Grid::new().step_of(&[0, 3]).step_of(&[1, 1]).block(&[0, 0], &[1, 1]);
        assert_eq!(rows(&table(grid, Order::C), &in_batches(9)), [(vec![1, 0, 0], Some(0))]);
    }

    #[test]
    fn an_error_in_a_step_ends_the_scan() {
        let short = Arc::new(arrow_array::Int32Array::from(vec![1]));
        let grid = Grid::new().step_of(&[1]).block(&[0], &[1]);
        let grid = grid.step_of(&[2]).block_of(&[0], &[2], short).step_of(&[1]);
        let scan = table(grid, Order::C).scan(&Scan::default()).unwrap();
        let outcomes: Vec<_> = scan.map(|batch| batch.is_ok()).collect();
        assert_eq!(outcomes, [true, false]);
    }
}
