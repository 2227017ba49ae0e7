//! Values of a selection, put together from the blocks that hold them.

mod candidate_blocks;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, make_array, new_null_array};
use arrow_data::transform::MutableArrayData;
use arrow_schema::DataType;

use super::{ArraysView, Block, BlockId, Order, Selection, Step, volume};
use crate::table::arrow;
use candidate_blocks::{CandidateBlocks, Ranges};
use kymo_core::{Error, Result};

/// The values of a selection in storage order, a chunk at a time.
///
/// Places that no block covers are null. Where blocks overlap, the first in the file counts.
pub struct Chunks {
    view: Arc<dyn ArraysView>,
    data_type: DataType,
    blocks: Vec<Block>,
    /// From the first to the last position in the selection that each block has.
    spans: Ranges,
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

/// Values that no block covers and that are yet gone through, however few there are.
const MISSING_MAX: u64 = 1 << 24;

/// Number of times that the present values may be gone through, however many they are.
const MISSING_TIMES_MAX: u64 = 8;

/// Plan of the sources for the values of a chunk.
#[derive(Debug, Default)]
struct Plan {
    /// Reads to do: a block by its place among those near the chunk, and values of it.
    reads: Vec<(usize, Range<u64>)>,
    /// Pieces that make up the chunk, in its order.
    pieces: Vec<Piece>,
}

/// State of a block that a chunk reads from.
#[derive(Debug, Clone, Copy)]
struct BlockInput {
    /// The last read of it.
    read: usize,
    /// See [`ArraysView::values_at_once`].
    at_once: u64,
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
    /// Reads a selection of a step, `chunk_values` values at a time, or fewer where the format
    /// cannot read as many at once.
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
        if wanted > there.saturating_mul(MISSING_TIMES_MAX).saturating_add(MISSING_MAX) {
            let why = format!("only {there} of {wanted} values are in the file; select a part");
            return Err(Error::Request(why));
        }
        let chunk_values = chunk_values.max(1);
        let spans = Ranges::new(blocks.iter().map(|block| span(block, &start, &count)));
        Ok(Self { view, data_type, blocks, spans, start, count, next: 0, chunk_values })
    }

    /// Returns the number of values in the selection.
    #[must_use]
    pub fn len(&self) -> u64 {
        volume(&self.count)
    }

    /// Returns true if the selection is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next chunk, of at most so many values; nothing after the last or after an error.
    pub(super) fn next_chunk(&mut self, values_max: u64) -> Option<Result<Chunk>> {
        let position = self.next;
        let wanted = self.pass(values_max)?;
        let chunk = self.chunk(wanted).map(|values| Chunk { position, values });
        self.next = match &chunk {
            Ok(chunk) => position.saturating_add(chunk.values.len() as u64),
            Err(_) => u64::MAX,
        };
        Some(chunk)
    }

    /// Goes on by so many values, or by those left, and tells which.
    pub(super) fn pass(&mut self, values_max: u64) -> Option<Range<u64>> {
        let passed = self.next..self.len().min(self.next.saturating_add(values_max));
        if passed.is_empty() {
            return None;
        }
        self.next = passed.end;
        Some(passed)
    }

    /// Returns true if every value was read.
    pub(super) fn is_done(&self) -> bool {
        self.next >= self.len()
    }

    /// The values of some positions, or of the first of them, at least one.
    fn chunk(&self, positions: Range<u64>) -> Result<ArrayRef> {
        let near = self.blocks_near(&positions);
        let plan = self.plan(positions, &near);
        let block = |place: usize| near.get(place).map(|block| block.id);
        let reads = plan.reads.iter();
        let reads = reads.filter_map(|(place, values)| Some((block(*place)?, values.clone())));
        let arrays = reads.map(|(block, values)| self.read(block, values));
        join(&self.data_type, &arrays.collect::<Result<Vec<_>>>()?, &plan.pieces)
    }

    fn read(&self, block: BlockId, values: Range<u64>) -> Result<ArrayRef> {
        let wanted = values.end - values.start;
        let array = self.view.read_block(block, values)?;
        if array.len() as u64 == wanted {
            return Ok(array);
        }
        let found = array.len();
        Err(Error::Request(format!("{found} values were read of a block where {wanted} should be")))
    }

    /// The blocks that some positions may touch.
    fn blocks_near(&self, positions: &Range<u64>) -> CandidateBlocks<'_> {
        let (start, count) = self.bounds(positions);
        let mut places = Vec::new();
        self.spans.touching(positions, |place| places.push(place));
        places.sort_unstable();
        let blocks = places.into_iter().filter_map(|place| self.blocks.get(place));
        CandidateBlocks::new(
            blocks.filter(|block| overlap(block, &start, &count)).collect(),
            &start,
        )
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

    /// Finds where the values of some positions come from, or of as many of them as can be read
    /// at once.
    fn plan(&self, positions: Range<u64>, near: &CandidateBlocks<'_>) -> Plan {
        let mut plan = Plan::default();
        let mut readings = vec![None; near.len()];
        let mut expected = 0;
        let mut position = positions.start;
        while position < positions.end {
            let left = positions.end - position;
            let at = self.index_of(position);
            position += if let Some((place, block)) = near.find(&at, expected) {
                // Writers put neighbours one after the other, and begin again with each row.
                expected = (place + 1) % near.len();
                let length = self.reach(near, place, block, &at).min(left);
                let first = position_in(block, &at);
                let values = first..first.saturating_add(length);
                let at_once = || self.view.values_per_read(block.id).max(1);
                let taken = match readings.get_mut(place) {
                    Some(reading) => plan.take(place, values, reading, at_once),
                    None => 0,
                };
                if taken < length {
                    break;
                }
                length
            } else {
                let length = near.gap(&at, near.len(), self.row_left(&at)).min(left);
                plan.add_missing(to_usize(length));
                length
            };
        }
        plan
    }

    /// Returns the number of values from `at` on that lie one after the other in the block and in
    /// the selection. They come before a block that is earlier in the file.
    fn reach(&self, near: &CandidateBlocks<'_>, place: usize, block: &Block, at: &[u64]) -> u64 {
        if !near.are_apart() {
            let fastest = at.len().saturating_sub(1);
            return near.gap(at, place, 1 + self.run(block, at, fastest).0);
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

    /// Returns how far the block and the selection both go on from `at` in a dimension. Also
    /// returns whether they have the same bounds in it, so that the next row follows at once in
    /// both.
    fn run(&self, block: &Block, at: &[u64], dimension: usize) -> (u64, bool) {
        let get = |numbers: &[u64]| numbers.get(dimension).copied().unwrap_or(0);
        let block = (get(&block.start), get(&block.count));
        let selection = (get(&self.start), get(&self.count));
        let end = |(start, count): (u64, u64)| start.saturating_add(count);
        let last = end(block).min(end(selection)).saturating_sub(1);
        (last.saturating_sub(get(at)), block == selection)
    }

    /// Returns the distance from `at` to the end of the row.
    fn row_left(&self, at: &[u64]) -> u64 {
        match (self.start.last(), self.count.last(), at.last()) {
            (Some(start), Some(count), Some(i)) => start.saturating_add(*count) - i,
            _ => 1,
        }
    }
}

impl Iterator for Chunks {
    type Item = Result<Chunk>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_chunk(self.chunk_values)
    }
}

impl Plan {
    /// Adds a run of a block, or as much of it as can be read at once, and tells how much.
    fn take(
        &mut self,
        place: usize,
        mut values: Range<u64>,
        reading: &mut Option<BlockInput>,
        at_once: impl Fn() -> u64,
    ) -> u64 {
        let at_once = reading.map_or_else(at_once, |reading| reading.at_once);
        let before = reading.and_then(|r| Some((r.read, self.reads.get_mut(r.read)?)));
        let (read, first) = match before {
            // Runs of one block come in the order of its storage.
            Some((read, (_, range))) if values.start.saturating_sub(range.end) <= CLOSE_VALUES => {
                values.end = values.end.min(range.start.saturating_add(at_once));
                if values.is_empty() {
                    return 0;
                }
                range.end = values.end;
                (read, values.start - range.start)
            }
            _ => {
                values.end = values.end.min(values.start.saturating_add(at_once));
                self.reads.push((place, values.clone()));
                (self.reads.len() - 1, 0)
            }
        };
        *reading = Some(BlockInput { read, at_once });
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
        values.end - values.start
    }

    /// Adds values that no block covers.
    fn add_missing(&mut self, length: usize) {
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
#[must_use]
pub fn unravel(mut position: u64, lengths: &[u64]) -> Vec<u64> {
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

/// Returns true if a block and a box have an index in common.
fn overlap(block: &Block, start: &[u64], count: &[u64]) -> bool {
    let block = block.start.iter().zip(&block.count);
    let mut pairs = block.zip(start.iter().zip(count));
    pairs.all(|((&a, &a_count), (&b, &b_count))| {
        a_count > 0 && b_count > 0 && a < b.saturating_add(b_count) && b < a.saturating_add(a_count)
    })
}

/// The positions in a selection from a block's first value in it to its last.
fn span(block: &Block, start: &[u64], count: &[u64]) -> Range<u64> {
    let bounds = block.start.iter().zip(&block.count).zip(start.iter().zip(count));
    let (first, last) = bounds.fold((0_u64, 0_u64), |(first, last), ((&b, &b_count), (&s, &n))| {
        let low = b.saturating_sub(s);
        let high = b.saturating_add(b_count).min(s.saturating_add(n)).saturating_sub(1);
        let on = |position: u64, index: u64| position.saturating_mul(n).saturating_add(index);
        (on(first, low), on(last, high.saturating_sub(s)))
    });
    first..last.saturating_add(1)
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
