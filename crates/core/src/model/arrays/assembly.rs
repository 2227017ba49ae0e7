//! Values of a selection, put together from the blocks that hold them.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, make_array, new_null_array};
use arrow_data::transform::MutableArrayData;
use arrow_schema::DataType;

use super::{ArraysView, Block, Order, Selection, Step, volume};
use crate::table::arrow;
use crate::{Error, Result};

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

/// Runs of a block with at most so many values between them are read at once: a read has a cost
/// of its own.
const CLOSE_VALUES: u64 = 32;

/// Values that no block covers and that are yet gone through.
const MISSING_MAX: u64 = 1 << 24;

/// Where the values of a chunk come from.
#[derive(Debug, Default)]
struct Plan {
    /// What to read: a block by its place among those near the chunk, and values of it.
    reads: Vec<(usize, Range<u64>)>,
    /// What the chunk is made of, in its order.
    pieces: Vec<Piece>,
}

/// Some values of a chunk.
#[derive(Debug)]
enum Piece {
    /// Values of what is read.
    Values { read: usize, range: Range<usize> },
    /// Values that no block covers.
    Missing(usize),
}

impl Chunks {
    /// Reads a selection of a step, `chunk_values` values at a time.
    ///
    /// # Errors
    /// When nearly all of the selection lies in no block. A file may say that it is a part of an
    /// array of any size; going through what is not there could take forever.
    pub fn new(
        view: Arc<dyn ArraysView>,
        data_type: DataType,
        step: Step,
        selection: &Selection,
        order: Order,
        chunk_values: u64,
    ) -> Result<Self> {
        let turn_block = |block: Block| Block {
            start: order.turn(block.start),
            count: order.turn(block.count),
            ..block
        };
        let start = order.turn(selection.start.clone());
        let count = order.turn(selection.count.clone());
        let blocks = step.blocks.into_iter().map(turn_block);
        let blocks: Vec<_> = blocks.filter(|block| overlap(block, &start, &count)).collect();
        let there = blocks.iter().fold(0_u64, |sum, b| sum.saturating_add(volume(&b.count)));
        let wanted = volume(&count);
        if wanted > there.saturating_add(MISSING_MAX) {
            let why = format!("only {there} of {wanted} values are in the file; select a part");
            return Err(Error::Request(why));
        }
        let chunk_values = chunk_values.max(1);
        Ok(Self { view, data_type, blocks, start, count, next: 0, chunk_values })
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
        let near = self.blocks_near(&positions);
        let plan = self.plan(positions, &near);
        let block = |place: usize| near.get(place).map(|block| block.id);
        let reads = plan.reads.iter();
        let reads = reads.filter_map(|(place, values)| Some((block(*place)?, values.clone())));
        let arrays = reads.map(|(block, values)| self.view.read_block(block, values));
        join(&self.data_type, &arrays.collect::<Result<Vec<_>>>()?, &plan.pieces)
    }

    /// The blocks that some positions may touch, in the order of the file.
    fn blocks_near(&self, positions: &Range<u64>) -> Vec<&Block> {
        let (start, count) = self.bounds(positions);
        let near = |block: &&Block| overlap(block, &start, &count);
        self.blocks.iter().filter(near).collect()
    }

    /// The smallest box that has all of some positions.
    fn bounds(&self, positions: &Range<u64>) -> (Vec<u64>, Vec<u64>) {
        let first = self.index_of(positions.start);
        let last = self.index_of(positions.end.saturating_sub(1));
        let same = first.iter().zip(&last).take_while(|(a, b)| a == b).count();
        // Slower dimensions than the first that changes stand still; faster ones run through.
        let dimensions = first.iter().zip(&last).zip(self.start.iter().zip(&self.count));
        let range = |(dimension, ((&first, &last), (&start, &count)))| {
            if dimension <= same { (first, last - first + 1) } else { (start, count) }
        };
        dimensions.enumerate().map(range).unzip()
    }

    /// The index in the step of a position in the selection.
    fn index_of(&self, position: u64) -> Vec<u64> {
        let mut index = unravel(position, &self.count);
        for (i, &start) in index.iter_mut().zip(&self.start) {
            *i = i.saturating_add(start);
        }
        index
    }

    /// Finds where the values of some positions come from.
    fn plan(&self, positions: Range<u64>, near: &[&Block]) -> Plan {
        let mut plan = Plan::default();
        let mut latest = vec![None; near.len()];
        let apart = are_apart(near);
        let mut expected = 0;
        let mut position = positions.start;
        while position < positions.end {
            let left = positions.end - position;
            let at = self.index_of(position);
            let found = match near.get(expected) {
                Some(block) if apart && contains(block, &at) => Some((expected, block)),
                _ => near.iter().enumerate().find(|(_, block)| contains(block, &at)),
            };
            position += if let Some((place, block)) = found {
                // Writers put neighbours one after the other, and begin again with each row.
                expected = (place + 1) % near.len();
                let earlier = if apart { &[] } else { near.get(..place).unwrap_or_default() };
                let length = self.reach(block, earlier, &at).min(left);
                let first = position_in(block, &at);
                let values = first..first.saturating_add(length);
                plan.take(place, values, &mut latest);
                length
            } else {
                let length = self.gap(near, &at).min(left);
                plan.miss(to_usize(length));
                length
            };
        }
        plan
    }

    /// How many values from `at` on lie one after the other in the block and in the selection,
    /// before a block that comes earlier in the file.
    fn reach(&self, block: &Block, earlier: &[&Block], at: &[u64]) -> u64 {
        let over = |other: &&Block| overlap(other, &block.start, &block.count);
        if earlier.iter().any(over) {
            let fastest = at.len().saturating_sub(1);
            return (1 + self.run(block, at, fastest).0).min(gap(earlier, at));
        }
        let mut length = 1_u64;
        let mut row = 1_u64;
        for dimension in (0..at.len()).rev() {
            let (more, flush) = self.run(block, at, dimension);
            length = length.saturating_add(more.saturating_mul(row));
            if !flush {
                break;
            }
            row = row.saturating_mul(block.count.get(dimension).copied().unwrap_or(1));
        }
        length
    }

    /// How far the block and the selection both go on from `at` in a dimension, and whether
    /// they have the same bounds in it, so that the next row follows at once in both.
    fn run(&self, block: &Block, at: &[u64], dimension: usize) -> (u64, bool) {
        let get = |numbers: &[u64]| numbers.get(dimension).copied().unwrap_or(0);
        let block = (get(&block.start), get(&block.count));
        let selection = (get(&self.start), get(&self.count));
        let end = |(start, count): (u64, u64)| start.saturating_add(count);
        let last = end(block).min(end(selection)).saturating_sub(1);
        (last.saturating_sub(get(at)), block == selection)
    }

    /// How far it is from `at` to the next block or to the end of the row.
    fn gap(&self, near: &[&Block], at: &[u64]) -> u64 {
        let row = match (self.start.last(), self.count.last(), at.last()) {
            (Some(start), Some(count), Some(i)) => start.saturating_add(*count) - i,
            _ => 1,
        };
        gap(near, at).min(row)
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

impl Plan {
    /// Adds a run of a block. `latest` has the last read of each block.
    fn take(&mut self, place: usize, values: Range<u64>, latest: &mut [Option<usize>]) {
        let before = latest.get(place).copied().flatten();
        let before = before.and_then(|read| Some((read, self.reads.get_mut(read)?)));
        let (read, first) = match before {
            // Runs of one block come in the order of its storage.
            Some((read, (_, range))) if values.start.saturating_sub(range.end) <= CLOSE_VALUES => {
                range.end = values.end;
                (read, values.start - range.start)
            }
            _ => {
                self.reads.push((place, values.clone()));
                (self.reads.len() - 1, 0)
            }
        };
        if let Some(latest) = latest.get_mut(place) {
            *latest = Some(read);
        }
        let first = to_usize(first);
        let range = first..first + to_usize(values.end - values.start);
        match self.pieces.last_mut() {
            Some(Piece::Values { read: same, range: before })
                if *same == read && before.end == range.start =>
            {
                before.end = range.end;
            }
            _ => self.pieces.push(Piece::Values { read, range }),
        }
    }

    /// Adds values that no block covers.
    fn miss(&mut self, length: usize) {
        match self.pieces.last_mut() {
            Some(Piece::Missing(before)) => *before += length,
            _ => self.pieces.push(Piece::Missing(length)),
        }
    }
}

fn join(data_type: &DataType, arrays: &[ArrayRef], pieces: &[Piece]) -> Result<ArrayRef> {
    let length = |piece: &Piece| match piece {
        Piece::Values { range, .. } => range.len(),
        Piece::Missing(length) => *length,
    };
    let total = pieces.iter().map(length).sum();
    match (arrays, pieces) {
        ([], _) => return Ok(new_null_array(data_type, total)),
        ([only], [Piece::Values { range, .. }]) if range.end <= only.len() => {
            return Ok(only.slice(range.start, range.len()));
        }
        _ => {}
    }
    let arrays: Vec<_> = arrays.iter().map(Array::to_data).collect();
    let mut joined = MutableArrayData::new(arrays.iter().collect(), true, total);
    for piece in pieces {
        match piece {
            Piece::Values { read, range } => joined.try_extend(*read, range.start, range.end),
            Piece::Missing(length) => joined.try_extend_nulls(*length),
        }
        .map_err(arrow)?;
    }
    Ok(make_array(joined.freeze()))
}

/// The index of a position in a box of these lengths, slowest dimension first.
fn unravel(mut position: u64, lengths: &[u64]) -> Vec<u64> {
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

/// Whether a block and a box have an index in common.
fn overlap(block: &Block, start: &[u64], count: &[u64]) -> bool {
    let block = block.start.iter().zip(&block.count);
    let mut pairs = block.zip(start.iter().zip(count));
    pairs.all(|((&a, &a_count), (&b, &b_count))| {
        a_count > 0 && b_count > 0 && a < b.saturating_add(b_count) && b < a.saturating_add(a_count)
    })
}

/// Whether no two blocks overlap, so that which of them is looked at first does not matter.
fn are_apart(blocks: &[&Block]) -> bool {
    let start = |block: &Block, dimension: usize| block.start.get(dimension).copied();
    let places = |dimension: &usize| {
        let mut starts: Vec<_> = blocks.iter().map(|block| start(block, *dimension)).collect();
        starts.sort_unstable();
        starts.dedup();
        starts.len()
    };
    let rank = blocks.first().map_or(0, |block| block.start.len());
    // Going along the dimension in which most begin apart, few are open at a time.
    let Some(dimension) = (0..rank).max_by_key(places) else {
        return blocks.len() < 2;
    };
    let mut sorted = blocks.to_vec();
    sorted.sort_by_key(|block| start(block, dimension));
    let mut open: Vec<&Block> = Vec::new();
    for block in sorted {
        let count = |block: &Block| block.count.get(dimension).copied();
        let end = |block: &Block| Some(start(block, dimension)?.saturating_add(count(block)?));
        open.retain(|before| end(before) > start(block, dimension));
        if open.iter().any(|before| overlap(before, &block.start, &block.count)) {
            return false;
        }
        open.push(block);
    }
    true
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
        (beside && start > here).then(|| start - here)
    });
    starts.min().unwrap_or(u64::MAX)
}

/// The position of an index in a block's storage.
fn position_in(block: &Block, at: &[u64]) -> u64 {
    let bounds = block.start.iter().zip(&block.count).zip(at);
    bounds.fold(0_u64, |position, ((start, count), i)| {
        position.saturating_mul(*count).saturating_add(i - start)
    })
}

/// A length that a chunk's size bounds, so that it always fits.
fn to_usize(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
