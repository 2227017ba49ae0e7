//! Values of a selection, put together from the blocks that hold them.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, make_array, new_null_array};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::DataType;

use super::{ArraysView, Block, Order, Selection, Step, volume};
use crate::Result;
use crate::table::arrow;

/// The values of a selection in storage order, a chunk at a time.
///
/// Places that no block covers are null. Where blocks overlap, the first in the file counts.
pub struct Chunks {
    view: Arc<dyn ArraysView>,
    data_type: DataType,
    blocks: Vec<Block>,
    /// The selection with its dimensions in storage order, slowest first.
    start: Vec<u64>,
    count: Vec<u64>,
    next: u64,
    chunk_values: u64,
}

/// Some values of a selection.
#[derive(Debug)]
pub struct Chunk {
    /// The position of the first value in the selection, in storage order.
    pub position: u64,
    /// The values.
    pub values: ArrayRef,
}

/// A run of values along the fastest dimension: its place in the step, and its length.
struct Run {
    index: Vec<u64>,
    length: u64,
}

/// Where a part of a run comes from.
enum Piece {
    Values { array: usize, range: Range<usize> },
    Missing(usize),
}

impl Chunks {
    /// Reads a selection of a step, `chunk_values` values at a time.
    pub fn new(
        view: Arc<dyn ArraysView>,
        data_type: DataType,
        step: Step,
        selection: &Selection,
        order: Order,
        chunk_values: u64,
    ) -> Self {
        let turn_block = |block: Block| Block {
            start: order.turn(block.start),
            count: order.turn(block.count),
            ..block
        };
        Self {
            view,
            data_type,
            blocks: step.blocks.into_iter().map(turn_block).collect(),
            start: order.turn(selection.start.clone()),
            count: order.turn(selection.count.clone()),
            next: 0,
            chunk_values: chunk_values.max(1),
        }
    }

    /// How many values the selection has.
    #[must_use]
    pub fn len(&self) -> u64 {
        volume(&self.count)
    }

    /// Whether the selection is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn chunk(&self, positions: Range<u64>) -> Result<ArrayRef> {
        let runs = self.runs(positions);
        let near = self.blocks_near(&runs);
        let mut arrays = Vec::new();
        let mut pieces = Vec::new();
        for run in &runs {
            self.plan(run, &near, &mut arrays, &mut pieces)?;
        }
        join(&self.data_type, &arrays, &pieces)
    }

    /// The runs that make up some positions of the selection.
    fn runs(&self, positions: Range<u64>) -> Vec<Run> {
        let row = self.count.last().copied().unwrap_or(1).max(1);
        let mut runs = Vec::new();
        let mut position = positions.start;
        while position < positions.end {
            let length = (row - position % row).min(positions.end - position);
            let mut index = unravel(position, &self.count);
            index.iter_mut().zip(&self.start).for_each(|(i, start)| *i += start);
            runs.push(Run { index, length });
            position += length;
        }
        runs
    }

    /// The blocks that the runs may touch, judged by the slowest dimension alone.
    fn blocks_near(&self, runs: &[Run]) -> Vec<&Block> {
        let slowest = |run: Option<&Run>| run.and_then(|run| run.index.first().copied());
        let (Some(first), Some(last)) = (slowest(runs.first()), slowest(runs.last())) else {
            return self.blocks.iter().collect();
        };
        // A run of a 1-d selection reaches further than its own index.
        let last = match (runs.last(), self.count.len()) {
            (Some(run), 1) => last.saturating_add(run.length),
            _ => last,
        };
        let near = |block: &&Block| match (block.start.first(), block.count.first()) {
            (Some(&start), Some(&count)) => start <= last && first < start.saturating_add(count),
            _ => true,
        };
        self.blocks.iter().filter(near).collect()
    }

    /// Finds where each part of a run comes from.
    fn plan(
        &self,
        run: &Run,
        blocks: &[&Block],
        arrays: &mut Vec<ArrayData>,
        pieces: &mut Vec<Piece>,
    ) -> Result<()> {
        let mut at = run.index.clone();
        let mut left = run.length;
        while left > 0 {
            let length = if let Some(block) = blocks.iter().find(|block| contains(block, &at)) {
                let length = reach(block, &at).min(left);
                let first = position_in(block, &at);
                let values = self.view.read_block(block.id, first..first + length)?;
                append(arrays, pieces, &values);
                length
            } else {
                let length = gap(blocks, &at).min(left);
                pieces.push(Piece::Missing(to_usize(length)));
                length
            };
            if let Some(fastest) = at.last_mut() {
                *fastest += length;
            }
            left -= length;
        }
        Ok(())
    }
}

impl Iterator for Chunks {
    type Item = Result<Chunk>;

    fn next(&mut self) -> Option<Self::Item> {
        let end = self.len().min(self.next.saturating_add(self.chunk_values));
        let position = self.next;
        if position >= end {
            return None;
        }
        self.next = end;
        let chunk = self.chunk(position..end).map(|values| Chunk { position, values });
        if chunk.is_err() {
            self.next = u64::MAX;
        }
        Some(chunk)
    }
}

fn append(arrays: &mut Vec<ArrayData>, pieces: &mut Vec<Piece>, values: &ArrayRef) {
    pieces.push(Piece::Values { array: arrays.len(), range: 0..values.len() });
    arrays.push(values.to_data());
}

fn join(data_type: &DataType, arrays: &[ArrayData], pieces: &[Piece]) -> Result<ArrayRef> {
    let length = |piece: &Piece| match piece {
        Piece::Values { range, .. } => range.len(),
        Piece::Missing(length) => *length,
    };
    let total = pieces.iter().map(length).sum();
    match (arrays, pieces) {
        ([], _) => return Ok(new_null_array(data_type, total)),
        ([only], [_]) => return Ok(make_array(only.clone())),
        _ => {}
    }
    let mut joined = MutableArrayData::new(arrays.iter().collect(), true, total);
    for piece in pieces {
        match piece {
            Piece::Values { array, range } => joined.try_extend(*array, range.start, range.end),
            Piece::Missing(length) => joined.try_extend_nulls(*length),
        }
        .map_err(arrow)?;
    }
    Ok(make_array(joined.freeze()))
}

/// The index of a position in a box of these lengths, slowest dimension first.
pub(super) fn unravel(mut position: u64, lengths: &[u64]) -> Vec<u64> {
    let mut index = vec![0; lengths.len()];
    for (i, &length) in index.iter_mut().zip(lengths).rev() {
        let length = length.max(1);
        *i = position % length;
        position /= length;
    }
    index
}

fn contains(block: &Block, at: &[u64]) -> bool {
    let bounds = block.start.iter().zip(&block.count);
    bounds.zip(at).all(|((&start, &count), &i)| start <= i && i - start < count)
}

/// How many values from `at` on lie in the block, along the fastest dimension.
fn reach(block: &Block, at: &[u64]) -> u64 {
    match (block.start.last(), block.count.last(), at.last()) {
        (Some(start), Some(count), Some(i)) => start + count - i,
        _ => 1,
    }
}

/// How far it is from `at` to the next block, along the fastest dimension.
fn gap(blocks: &[&Block], at: &[u64]) -> u64 {
    let Some((&here, slower)) = at.split_last() else {
        return 1;
    };
    let starts = blocks.iter().filter_map(|block| {
        let (&start, starts) = block.start.split_last()?;
        let counts = block.count.get(..starts.len())?;
        let bounds = starts.iter().zip(counts).zip(slower);
        let beside = bounds.into_iter().all(|((&s, &c), &i)| s <= i && i - s < c);
        (beside && start > here).then_some(start - here)
    });
    starts.min().unwrap_or(u64::MAX)
}

fn position_in(block: &Block, at: &[u64]) -> u64 {
    let bounds = block.start.iter().zip(&block.count).zip(at);
    bounds.fold(0, |position, ((start, count), i)| position * count + (i - start))
}

/// A length that a chunk's size bounds, so that it always fits.
fn to_usize(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
