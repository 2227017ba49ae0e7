use arrow_array::StringArray;
use proptest::prelude::*;

use super::super::fixture::{Grid, integers};
use super::super::{BlockId, VariableId};
use super::*;

/// The values of a selection of the first step, all chunks joined, and how many they were.
fn read(grid: &Arc<Grid>, selection: &Selection, order: Order, chunk: u64) -> Vec<Option<i32>> {
    let step = grid.step(VariableId(0), 0).unwrap();
    let view: Arc<dyn ArraysView> = Arc::<Grid>::clone(grid);
    let chunks = Chunks::new(view, DataType::Int32, step, selection, order, chunk).unwrap();
    let mut values = Vec::new();
    for part in chunks {
        let part = part.unwrap();
        assert_eq!(part.position, values.len() as u64);
        assert!(part.values.len() as u64 <= chunk);
        values.extend(integers(&part.values));
    }
    values
}

fn read_all(grid: &Arc<Grid>, chunk: u64) -> Vec<Option<i32>> {
    let shape = grid.step(VariableId(0), 0).unwrap().shape;
    read(grid, &Selection::all(&shape), Order::C, chunk)
}

fn some(values: impl IntoIterator<Item = i32>) -> Vec<Option<i32>> {
    values.into_iter().map(Some).collect()
}

fn selection_at(start: &[u64], count: &[u64]) -> Selection {
    Selection { start: start.to_vec(), count: count.to_vec() }
}

#[test]
fn a_scalar_is_one_value() {
    let grid = Grid::new().add_step(&[]).block(&[], &[]).share();
    assert_eq!(read_all(&grid, 8), some([0]));
}

#[test]
fn one_block_is_read_as_it_lies() {
    let grid = Grid::new().add_step(&[2, 3]).block(&[0, 0], &[2, 3]).share();
    for chunk in 1..8 {
        assert_eq!(read_all(&grid, chunk), some(0..6), "chunks of {chunk}");
    }
}

#[test]
fn blocks_side_by_side_interleave_by_rows() {
    let grid = Grid::new().add_step(&[2, 4]);
    let grid = grid.block(&[0, 0], &[2, 2]).block(&[0, 2], &[2, 2]).share();
    let expected = some([0, 1, 1000, 1001, 2, 3, 1002, 1003]);
    for chunk in 1..9 {
        assert_eq!(read_all(&grid, chunk), expected, "chunks of {chunk}");
    }
}

#[test]
fn eight_blocks_make_a_cube() {
    let mut grid = Grid::new().add_step(&[2, 2, 2]);
    for i in 0..8 {
        grid = grid.block(&[i / 4, i / 2 % 2, i % 2], &[1, 1, 1]);
    }
    assert_eq!(read_all(&grid.share(), 3), some((0..8).map(|i| 1000 * i)));
}

#[test]
fn what_no_block_covers_is_null() {
    let grid = Grid::new().add_step(&[7]).block(&[1], &[2]).block(&[5], &[1]).share();
    let expected = [None, Some(0), Some(1), None, None, Some(1000), None];
    for chunk in 1..9 {
        assert_eq!(read_all(&grid, chunk), expected, "chunks of {chunk}");
    }
    let empty = Grid::new().add_step(&[3, 2]).share();
    assert_eq!(read_all(&empty, 4), [None; 6]);
}

#[test]
fn where_blocks_overlap_the_first_in_the_file_counts() {
    let first = Grid::new().add_step(&[4]).block(&[0], &[3]).block(&[1], &[3]).share();
    assert_eq!(read_all(&first, 9), some([0, 1, 2, 1002]));
    // The first in the file starts in the middle of the second.
    let second = Grid::new().add_step(&[4]).block(&[2], &[1]).block(&[0], &[4]).share();
    assert_eq!(read_all(&second, 9), some([1000, 1001, 0, 1003]));
}

#[test]
fn a_selection_is_a_box_of_the_whole() {
    let grid = Grid::new().add_step(&[3, 4]);
    let grid = grid.block(&[0, 0], &[3, 2]).block(&[0, 2], &[3, 2]).share();
    let middle = read(&grid, &selection_at(&[1, 1], &[2, 2]), Order::C, 9);
    assert_eq!(middle, some([3, 1002, 5, 1004]));
    assert!(read(&grid, &selection_at(&[1, 1], &[0, 2]), Order::C, 9).is_empty());
}

#[test]
fn in_fortran_order_the_first_dimension_runs_fastest() {
    let grid = Grid::new().add_step(&[2, 3]).block(&[0, 0], &[2, 3]).share();
    // Storage is by columns: the selection of one column is one run.
    let column = read(&grid, &selection_at(&[0, 1], &[2, 1]), Order::Fortran, 9);
    assert_eq!(column, some([2, 3]));
    let row = read(&grid, &selection_at(&[1, 0], &[1, 3]), Order::Fortran, 9);
    assert_eq!(row, some([1, 3, 5]));
}

#[test]
fn a_chunk_of_one_block_is_one_read() {
    let grid = Grid::new().add_step(&[100, 2, 3]).block(&[0, 0, 0], &[100, 2, 3]).share();
    read_all(&grid, 600);
    assert_eq!(grid.take_reads(), [(BlockId(0), 0..600)]);
    read_all(&grid, 250);
    let whole = [0..250, 250..500, 500..600].map(|values| (BlockId(0), values));
    assert_eq!(grid.take_reads(), whole);
    read(&grid, &selection_at(&[10, 0, 0], &[5, 2, 3]), Order::C, 600);
    assert_eq!(grid.take_reads(), [(BlockId(0), 60..90)]);
}

#[test]
fn rows_of_a_block_that_follow_each_other_are_one_read() {
    let grid = Grid::new().add_step(&[10, 20]);
    let grid = grid.block(&[0, 0], &[10, 10]).block(&[0, 10], &[10, 10]).share();
    read_all(&grid, 200);
    assert_eq!(grid.take_reads(), [(BlockId(0), 0..100), (BlockId(1), 0..100)]);
}

#[test]
fn values_far_apart_are_not_read_with_all_that_lies_between() {
    let grid = Grid::new().add_step(&[3, 900]).block(&[0, 0], &[3, 900]).share();
    read(&grid, &selection_at(&[0, 7], &[3, 1]), Order::C, 9);
    let single = [7..8, 907..908, 1807..1808].map(|values| (BlockId(0), values));
    assert_eq!(grid.take_reads(), single);
}

#[test]
fn text_is_put_together_too() {
    let words = |words: [&str; 2]| Arc::new(StringArray::from(words.to_vec()));
    let grid = Grid::new().add_step(&[5]);
    let grid = grid.add_block(&[3], &[2], words(["d", "e"]));
    let grid = grid.add_block(&[0], &[2], words(["a", ""])).share();
    let step = grid.step(VariableId(0), 0).unwrap();
    let all = Selection::all(&[5]);
    let mut chunks = Chunks::new(grid, DataType::Utf8, step, &all, Order::C, 9).unwrap();
    assert_eq!(chunks.len(), 5);
    let values = chunks.next().unwrap().unwrap().values;
    let expected = StringArray::from(vec![Some("a"), Some(""), None, Some("d"), Some("e")]);
    assert_eq!(values.to_data(), expected.to_data());
    assert!(chunks.next().is_none());
}

#[test]
fn an_error_ends_the_chunks() {
    // The block says that it has more values than it has.
    let short = Arc::new(arrow_array::Int32Array::from(vec![1, 2]));
    let grid = Grid::new().add_step(&[6]).add_block(&[0], &[6], short).share();
    let step = grid.step(VariableId(0), 0).unwrap();
    let chunks =
        Chunks::new(grid, DataType::Int32, step, &Selection::all(&[6]), Order::C, 2).unwrap();
    let outcomes: Vec<_> = chunks.map(|chunk| chunk.is_ok()).collect();
    assert_eq!(outcomes, [true, false]);
}

#[test]
fn bounds_without_end_are_no_trouble() {
    let huge = u64::MAX;
    let grid = Grid::new().add_step(&[huge, huge]).block(&[huge - 1, 2], &[1, 3]).share();
    let step = grid.step(VariableId(0), 0).unwrap();
    let last = selection_at(&[huge - 2, 0], &[2, 5]);
    let mut chunks = Chunks::new(grid, DataType::Int32, step, &last, Order::C, 10).unwrap();
    let values = integers(&chunks.next().unwrap().unwrap().values);
    assert_eq!(values[..7], [None; 7]);
    assert_eq!(values[7..], some(0..3));
}

/// The value at an index of the step, found the slow and plain way.
fn value_at(step: &Step, order: Order, index: &[u64]) -> Option<i32> {
    let block = step.blocks.iter().find(|block| contains(block, index))?;
    let within: Vec<_> = index.iter().zip(&block.start).map(|(i, start)| i - start).collect();
    let (within, count) = (order.turn(within), order.turn(block.count.clone()));
    let position = within.iter().zip(&count).fold(0, |position, (i, n)| position * n + i);
    Some(i32::try_from(1000 * block.id.0 + position).unwrap())
}

/// All values of a selection, found the slow and plain way.
fn naive(step: &Step, selection: &Selection, order: Order) -> Vec<Option<i32>> {
    let count = order.turn(selection.count.clone());
    let index = |position| {
        let within = order.turn(unravel(position, &count));
        within.iter().zip(&selection.start).map(|(i, start)| i + start).collect::<Vec<_>>()
    };
    (0..volume(&count)).map(|position| value_at(step, order, &index(position))).collect()
}

/// A start and a count in each dimension of a shape.
fn boxes(shape: &[u64]) -> impl Strategy<Value = (Vec<u64>, Vec<u64>)> + use<> {
    let side =
        |&length: &u64| (0..=length).prop_flat_map(move |start| (Just(start), 0..=length - start));
    let sides: Vec<_> = shape.iter().map(side).collect();
    sides.prop_map(|sides| sides.into_iter().unzip())
}

prop_compose! {
    fn cases()(shape in prop::collection::vec(1_u64..6, 0..4))(
        blocks in prop::collection::vec(boxes(&shape), 0..6),
        selection in boxes(&shape),
        shape in Just(shape),
        at_once in prop_oneof![Just(u64::MAX), 0_u64..5],
    ) -> (Arc<Grid>, Selection) {
        let mut grid = Grid::new().with_values_per_read(at_once.max(1)).add_step(&shape);
        for (start, count) in &blocks {
            grid = grid.block(start, count);
        }
        let (start, count) = selection;
        (grid.share(), Selection { start, count })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn any_blocks_and_any_selection_read_as_the_plain_way_does(
        (grid, selection) in cases(),
        fortran: bool,
        chunk in 1_u64..40,
    ) {
        let order = if fortran { Order::Fortran } else { Order::C };
        let step = grid.step(VariableId(0), 0).unwrap();
        let expected = naive(&step, &selection, order);
        prop_assert_eq!(read(&grid, &selection, order, chunk), expected);
    }
}

#[test]
fn an_array_that_is_nearly_all_missing_must_be_selected_from() {
    let shape = [1 << 31, 1 << 31];
    let grid = Grid::new().add_step(&shape).block(&[7, 7], &[1, 1]).share();
    let new = |selection: Selection| {
        let step = grid.step(VariableId(0), 0).unwrap();
        let view: Arc<dyn ArraysView> = Arc::<Grid>::clone(&grid);
        Chunks::new(view, DataType::Int32, step, &selection, Order::C, 9)
    };
    let error = new(Selection::all(&shape)).err().unwrap();
    let expected = "only 1 of 4611686018427387904 values are in the file; select a part";
    assert_eq!(error.to_string(), expected);
    assert!(new(selection_at(&[7, 0], &[1, 100])).is_ok());
}

#[test]
fn tens_of_thousands_of_scattered_values_are_found_without_looking_at_each_block() {
    const BLOCKS: u64 = 40_000;
    // In a row, in a plane with rows of any length, and in a plane along the diagonal.
    let row: fn(u64) -> Vec<u64> = |i| vec![i * 3 + 1];
    let plane: fn(u64) -> Vec<u64> = |i| vec![i * 7 % BLOCKS / 100, i * 7 % 100 * 5 + 1];
    let tall: fn(u64) -> Vec<u64> = |i| vec![i, i * 31 % 64];
    let cases = [(vec![3 * BLOCKS], row), (vec![400, 500], plane), (vec![BLOCKS, 64], tall)];
    for (shape, place) in cases {
        let mut grid = Grid::new().add_step(&shape);
        let mut expected = vec![None; usize::try_from(volume(&shape)).unwrap()];
        // Not in the order of their places.
        for (number, i) in (0..BLOCKS).map(|i| i * 17 % BLOCKS).enumerate() {
            let start = place(i);
            let position = start.iter().zip(&shape).fold(0, |sum, (i, n)| sum * n + i);
            grid = grid.block(&start, &vec![1; start.len()]);
            expected[usize::try_from(position).unwrap()] = i32::try_from(1000 * number).ok();
        }
        let begun = std::time::Instant::now();
        assert_eq!(read_all(&grid.share(), 1 << 16), expected, "{shape:?}");
        // Looking at each block for each value takes minutes.
        assert!(begun.elapsed().as_secs() < 20, "{shape:?}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_chunk_ends_where_the_format_cannot_read_more_at_once() {
    let grid =
        Grid::new().with_values_per_read(4).add_step(&[2, 5]).block(&[0, 0], &[2, 5]).share();
    assert_eq!(read_all(&grid, 100), some(0..10));
    let reads = [0..4, 4..8, 8..10].map(|values| (BlockId(0), values));
    assert_eq!(grid.take_reads(), reads);
    // A run that is read together with what lies before it does not go over either.
    let grid =
        Grid::new().with_values_per_read(4).add_step(&[3, 3]).block(&[0, 0], &[3, 3]).share();
    assert_eq!(
        read(&grid, &selection_at(&[0, 0], &[3, 2]), Order::C, 100),
        some([0, 1, 3, 4, 6, 7])
    );
    assert!(grid.take_reads().iter().all(|(_, values)| values.end - values.start <= 4));
}

#[test]
fn a_format_that_reads_too_few_values_is_caught() {
    struct Short(Arc<Grid>);
    impl ArraysView for Short {
        fn variable_count(&self) -> usize {
            1
        }
        fn variable(&self, id: VariableId) -> super::super::Variable {
            self.0.variable(id)
        }
        fn step(&self, id: VariableId, step: u64) -> Result<Step> {
            self.0.step(id, step)
        }
        fn read_block(&self, block: BlockId, values: Range<u64>) -> Result<ArrayRef> {
            self.0.read_block(block, values.start..values.end - 1)
        }
        fn attributes(&self) -> Vec<super::super::Attribute> {
            Vec::new()
        }
        fn find(&self, path: &str) -> Vec<VariableId> {
            self.0.find(path)
        }
    }
    let grid = Grid::new().add_step(&[5]).block(&[0], &[2]).block(&[2], &[3]).share();
    let step = grid.step(VariableId(0), 0).unwrap();
    let view = Arc::new(Short(grid));
    let all = Selection::all(&[5]);
    let mut chunks = Chunks::new(view, DataType::Int32, step, &all, Order::C, 9).unwrap();
    let error = chunks.next().unwrap().unwrap_err().to_string();
    assert_eq!(error, "1 values were read of a block where 2 should be");
    assert!(chunks.next().is_none());
}
