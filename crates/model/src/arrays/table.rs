//! The values of a variable as a table: one row a value.

mod rows;

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::{ArraysView, Order, Variable, VariableId};
use crate::table::{Batches, Scan, Table, limit_rows};
use kymo_core::Result;
use rows::Rows;

/// One row a value: the step, the index in each dimension, the value.
///
/// A scan reads only the steps and the box of each that conditions on steps and indices leave,
/// and no values that are not asked for.
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
        Ok(limit_rows(Rows::new(self, scan)?, scan.limit))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt64Type;
    use arrow_array::{ArrayRef, UInt64Array};

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
        let grid = Grid::new().add_step(&[2, 2]).block(&[0, 0], &[1, 2]).add_step(&[1, 2]);
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
        let grid = Grid::new().add_step(&[]).block(&[], &[]).add_step(&[]).block(&[], &[]);
        let found = rows(&table(grid, Order::C), &in_batches(9));
        assert_eq!(found, [(vec![0], Some(0)), (vec![1], Some(1000))]);
    }

    #[test]
    fn in_fortran_order_rows_follow_storage_and_columns_the_file() {
        let grid = Grid::new().add_step(&[2, 3]).block(&[0, 0], &[2, 3]);
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
        let table = table(Grid::new().add_step(&shape).block(&[0, 0, 0], &shape), Order::C);
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
            grid = grid.add_step(&[5]).block(&[0], &[5]);
        }
        let table = table(grid, Order::C);
        let filter = |text| Filter::parse(&table.schema(), text).unwrap();
        let filters = vec![filter("i0=2"), filter("step>=1")];
        let scan = Scan { filters, limit: Some(2), ..in_batches(3) };
        assert_eq!(rows(&table, &scan), [(vec![1, 2], Some(1002)), (vec![2, 2], Some(2002))]);
    }

    #[test]
    fn steps_and_indices_that_cannot_match_are_not_read() {
        let mut grid = Grid::new();
        for _ in 0..4 {
            grid = grid.add_step(&[5, 2]).block(&[0, 0], &[5, 2]);
        }
        let grid = grid.share();
        let table = Arc::new(VariableTable::new(Arc::<Grid>::clone(&grid) as _, VariableId(0)));
        let block = |number, values| (super::super::BlockId(number), values);
        let cases = [
            (vec!["step=2"], vec![block(2, 0..10)]),
            (vec!["step>1", "step<=2"], vec![block(2, 0..10)]),
            (vec!["step<1", "i0>=3"], vec![block(0, 6..10)]),
            (vec!["step>=3", "i0=1", "i1=1"], vec![block(3, 3..4)]),
            (vec!["step=9"], vec![]),
            (vec!["step>18446744073709551614"], vec![]),
            (vec!["i1>=2"], vec![]),
        ];
        let all = rows(&table, &Scan::default());
        for (conditions, reads) in cases {
            let filter = |text: &&str| Filter::parse(&table.schema(), text).unwrap();
            let filters: Vec<_> = conditions.iter().map(filter).collect();
            let meets = |(index, _): &&(Vec<u64>, Option<i32>)| {
                let value = |i: usize| Arc::new(UInt64Array::from(vec![index[i]])) as ArrayRef;
                filters.iter().all(|f| f.matches(&value(f.column)).unwrap().value(0))
            };
            let expected: Vec<_> = all.iter().filter(meets).cloned().collect();
            grid.take_reads();
            let scan = Scan { filters: filters.clone(), ..Scan::default() };
            assert_eq!(rows(&table, &scan), expected, "{conditions:?}");
            assert_eq!(grid.take_reads(), reads, "{conditions:?}");
        }
    }

    #[test]
    fn a_condition_on_indices_holds_in_either_order() {
        for order in [Order::C, Order::Fortran] {
            let table = table(Grid::new().add_step(&[4, 3]).block(&[0, 0], &[4, 3]), order);
            let filter = |text| Filter::parse(&table.schema(), text).unwrap();
            let filters = vec![filter("i0>=1"), filter("i1<2"), filter("i0!=2")];
            let mut expected = rows(&table, &Scan::default());
            expected.retain(|(i, _)| i[1] >= 1 && i[2] < 2 && i[1] != 2);
            for batch_rows in [1, 2, 100] {
                let scan = Scan { filters: filters.clone(), ..in_batches(batch_rows) };
                assert_eq!(rows(&table, &scan), expected, "{order:?}, {batch_rows}");
            }
        }
    }

    #[test]
    fn no_more_is_read_than_the_limit() {
        let grid = Grid::new().add_step(&[5]).block(&[0], &[5]).add_step(&[5]).block(&[0], &[5]);
        let grid = grid.share();
        let table = Arc::new(VariableTable::new(Arc::<Grid>::clone(&grid) as _, VariableId(0)));
        for (limit, batch_rows) in [(0, 8), (3, 8), (7, 4), (7, 8), (10, 3), (99, 100)] {
            let scan = Scan { limit: Some(limit), ..in_batches(batch_rows) };
            grid.take_reads();
            assert_eq!(rows(&table, &scan).len() as u64, limit.min(10));
            let read: u64 = grid.take_reads().iter().map(|(_, r)| r.end - r.start).sum();
            assert_eq!(read, limit.min(10), "{limit} in batches of {batch_rows}");
        }
    }

    #[test]
    fn values_that_are_not_asked_for_are_not_read() {
        let grid = Grid::new().add_step(&[2]).block(&[0], &[2]).add_step(&[1]).block(&[0], &[1]);
        let grid = grid.share();
        let table = Arc::new(VariableTable::new(Arc::<Grid>::clone(&grid) as _, VariableId(0)));
        let scan = Scan { columns: Some(vec![1, 0]), ..Scan::default() };
        let batches: Vec<_> = table.scan(&scan).unwrap().map(Result::unwrap).collect();
        let [batch] = batches.as_slice() else { panic!("{} batches", batches.len()) };
        let numbers = |i: usize| batch.column(i).as_primitive::<UInt64Type>().values().to_vec();
        assert_eq!((numbers(0), numbers(1)), (vec![0, 1, 0], vec![0, 0, 1]));
        assert!(grid.take_reads().is_empty());
    }

    #[test]
    fn steps_are_gathered_into_batches() {
        let mut grid = Grid::new();
        for _ in 0..10 {
            grid = grid.add_step(&[]).block(&[], &[]);
        }
        let table = table(grid, Order::C);
        let sizes = |scan: &Scan| {
            let batches = Arc::clone(&table).scan(scan).unwrap();
            batches.map(|batch| batch.unwrap().num_rows()).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&Scan::default()), [10]);
        assert_eq!(sizes(&in_batches(4)), [4, 4, 2]);
        let expected: Vec<_> = (0..10).map(|i| (vec![i], i32::try_from(1000 * i).ok())).collect();
        assert_eq!(rows(&table, &in_batches(4)), expected);
    }

    #[test]
    fn a_batch_holds_no_more_than_the_format_can_read_at_once() {
        let grid = Grid::new().with_values_per_read(3).add_step(&[7]).block(&[0], &[7]);
        let table = table(grid.add_step(&[1]).block(&[0], &[1]), Order::C);
        let batches = Arc::clone(&table).scan(&Scan::default()).unwrap();
        let sizes: Vec<_> = batches.map(|batch| batch.unwrap().num_rows()).collect();
        assert_eq!(sizes, [3, 3, 2]);
        // Large texts of many steps do not become one batch.
        let mut grid = Grid::new();
        let text = Arc::new(arrow_array::StringArray::from(vec!["x".repeat(10 << 20)]));
        for _ in 0..5 {
            grid = grid.add_step(&[]).add_block(
                &[],
                &[],
                Arc::<arrow_array::StringArray>::clone(&text),
            );
        }
        let batches = super::tests::table(grid, Order::C).scan(&Scan::default()).unwrap();
        let sizes: Vec<_> = batches.map(|batch| batch.unwrap().num_rows()).collect();
        assert_eq!(sizes, [2, 2, 1]);
    }

    #[test]
    fn a_column_that_is_not_there_is_an_error() {
        let table = table(Grid::new().add_step(&[1]).block(&[0], &[1]), Order::C);
        let other = Schema::new(vec![Field::new("x", DataType::UInt64, false); 9]);
        let mut filter = Filter::parse(&other, "x=1").unwrap();
        filter.column = 8;
        let scan = Scan { filters: vec![filter], ..Scan::default() };
        assert!(Arc::clone(&table).scan(&scan).is_err());
        let scan = Scan { columns: Some(vec![8]), ..Scan::default() };
        assert!(table.scan(&scan).is_err());
    }

    #[test]
    fn a_step_of_no_values_has_no_rows() {
        let grid = Grid::new().add_step(&[0, 3]).add_step(&[1, 1]).block(&[0, 0], &[1, 1]);
        assert_eq!(rows(&table(grid, Order::C), &in_batches(9)), [(vec![1, 0, 0], Some(0))]);
    }

    #[test]
    fn an_error_in_a_step_ends_the_scan() {
        let short = Arc::new(arrow_array::Int32Array::from(vec![1]));
        let grid = Grid::new().add_step(&[1]).block(&[0], &[1]);
        let grid = grid.add_step(&[2]).add_block(&[0], &[2], short).add_step(&[1]);
        let scan = table(grid, Order::C).scan(&Scan::default()).unwrap();
        let outcomes: Vec<_> = scan.map(|batch| batch.is_ok()).collect();
        assert_eq!(outcomes, [true, false]);
    }
}
