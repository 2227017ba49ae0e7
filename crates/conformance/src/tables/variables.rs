//! The values of each variable as a table agree with the variable's blocks.

use std::sync::Arc;

use kymo_core::Value;
use kymo_model::Dataset;
use kymo_model::arrays::{ArraysView, BlockId, VariableId, volume};
use kymo_model::table::Scan;

use super::scans::{assert_rows, plain, run};
use crate::render::cells;

/// Scans each variable by its path, whole and in small batches, and compares the values of
/// steps that are one block with that block.
pub(super) fn agree(dataset: &dyn Dataset, mut begin: impl FnMut(&str)) {
    let Some(view) = dataset.arrays() else {
        return;
    };
    for id in (0..view.variable_count()).map(VariableId) {
        let variable = view.variable(id);
        begin(&variable.path);
        if view.find(&variable.path) != [id] {
            continue;
        }
        let table = dataset.table(&variable.path).expect("a table of a variable");
        let all = plain(&table);
        assert_rows(&all, &expected(&view, id, &all), "the blocks themselves");
        for batch_rows in [1, 7] {
            let scan = Scan { batch_rows, ..Scan::default() };
            assert_rows(&run(&table, &scan), &all, &format!("batches of {batch_rows}"));
        }
    }
}

/// The rows found, with the values of steps that are one block put in from that block.
fn expected(view: &Arc<dyn ArraysView>, id: VariableId, all: &[Vec<Value>]) -> Vec<Vec<Value>> {
    let mut rows = all.to_vec();
    let mut first = 0;
    for number in 0..view.variable(id).steps {
        let step = view.step(id, number).expect("a step");
        let total = volume(&step.shape);
        let count = usize::try_from(total).expect("the size of a sample");
        if let [block] = step.blocks.as_slice()
            && block.count == step.shape
        {
            let values = block_values(view, block.id, total);
            for (row, value) in rows[first..].iter_mut().zip(values) {
                *row.last_mut().expect("a column of values") = value;
            }
        }
        first += count;
    }
    assert_eq!(first, rows.len(), "values of all steps");
    rows
}

/// The values of a block, as many at once as the format can read.
fn block_values(view: &Arc<dyn ArraysView>, block: BlockId, total: u64) -> Vec<Value> {
    let at_once = view.values_per_read(block).max(1);
    let mut values = Vec::new();
    while (values.len() as u64) < total {
        let first = values.len() as u64;
        let part = first..total.min(first.saturating_add(at_once));
        let expected = part.end - part.start;
        let part = view.read_block(block, part).expect("a block");
        assert_eq!(part.len() as u64, expected, "values from {first}");
        values.extend(cells(&part));
    }
    values
}
