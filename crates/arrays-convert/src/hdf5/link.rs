//! Datasets whose values stay in the source: external storage that points into it.

use kymo_core::Result;
use kymo_core::bytes::Endian;
use kymo_core::model::arrays::{Block, Step, volume};
use rust_hdf5::format::messages::datatype::CompoundMember;
use rust_hdf5::{ByteOrder, DatatypeMessage};

use crate::Reading;
use crate::plan::Array;

/// Arrays smaller than this are copied: referring to them would take as much.
const COPIED_BYTES_MAX: u64 = 4096;

/// Runs of one array: their list must fit into the header of a dataset, which is 64 KiB.
const RUNS_MAX: usize = 1024;

/// Where the values of an array lie in the source.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Runs {
    pub(super) endian: Endian,
    /// The first byte of each run and how many, in the order of the values.
    pub(super) runs: Vec<(u64, u64)>,
}

/// The runs that make up an array; nothing where it must be copied: it is small, its values are
/// not stored as HDF5 has them, or its blocks lie across each other's rows.
pub(super) fn runs(array: &Array, reading: &Reading<'_>) -> Result<Option<Runs>> {
    let is_number = crate::Kind::of(&array.data_type).is_some();
    if !is_number || array.size_bytes() < COPIED_BYTES_MAX {
        return Ok(None);
    }
    let width = array.kind.width() as u64;
    let mut found: Option<Runs> = None;
    for step in array.steps.clone() {
        let step = turned(reading.view().step(array.variable, step)?, reading);
        let Some(blocks) = in_order(step) else {
            return Ok(None);
        };
        for block in blocks {
            let Some(endian) = reading.view().stored(block.id) else {
                return Ok(None);
            };
            let all = found.get_or_insert_with(|| Runs { endian, runs: Vec::new() });
            all.add(block.offset, volume(&block.count).saturating_mul(width));
            if all.endian != endian || all.runs.len() > RUNS_MAX {
                return Ok(None);
            }
        }
    }
    Ok(found)
}

fn turned(step: Step, reading: &Reading<'_>) -> Step {
    let order = reading.order();
    let turn = |block: Block| Block {
        start: order.turn(block.start),
        count: order.turn(block.count),
        ..block
    };
    Step { shape: order.turn(step.shape), blocks: step.blocks.into_iter().map(turn).collect() }
}

/// The blocks of a step by their place, if each is one run and they follow on each other.
fn in_order(step: Step) -> Option<Vec<Block>> {
    let Step { shape, mut blocks } = step;
    let place = |block: &Block| {
        let indices = block.start.iter().zip(&shape);
        indices.fold(0_u64, |at, (index, length)| at.saturating_mul(*length).saturating_add(*index))
    };
    blocks.retain(|block| volume(&block.count) > 0);
    blocks.sort_by_key(place);
    let mut at = 0_u64;
    for block in &blocks {
        if place(block) != at || !is_one_run(&block.count, &shape) {
            return None;
        }
        at = at.saturating_add(volume(&block.count));
    }
    (at == volume(&shape)).then_some(blocks)
}

/// Whether a box is one run: of what is slower than a dimension that is not whole, it has one.
fn is_one_run(count: &[u64], shape: &[u64]) -> bool {
    let mut slower = count.iter().zip(shape).rev().skip_while(|(count, length)| count == length);
    slower.next();
    slower.all(|(count, _)| *count == 1)
}

impl Runs {
    fn add(&mut self, offset: u64, bytes: u64) {
        match self.runs.last_mut() {
            Some((start, length)) if *start + *length == offset => *length += bytes,
            _ => self.runs.push((offset, bytes)),
        }
    }
}

/// A type with its numbers in a byte order.
pub(super) fn ordered(datatype: DatatypeMessage, endian: Endian) -> DatatypeMessage {
    let wanted = match endian {
        Endian::Little => ByteOrder::LittleEndian,
        Endian::Big => ByteOrder::BigEndian,
    };
    match datatype {
        DatatypeMessage::Compound { size, members } => {
            let member = |member: CompoundMember| CompoundMember {
                datatype: ordered(member.datatype, endian),
                ..member
            };
            DatatypeMessage::Compound { size, members: members.into_iter().map(member).collect() }
        }
        mut number => {
            if let DatatypeMessage::FixedPoint { byte_order, .. }
            | DatatypeMessage::FloatingPoint { byte_order, .. } = &mut number
            {
                *byte_order = wanted;
            }
            number
        }
    }
}

#[cfg(test)]
mod tests {
    use kymo_core::model::arrays::BlockId;

    use super::*;

    fn block(start: &[u64], count: &[u64]) -> Block {
        Block { id: BlockId(0), start: start.to_vec(), count: count.to_vec(), offset: 0 }
    }

    #[test]
    fn rows_follow_on_each_other_and_columns_do_not() {
        let rows = vec![block(&[2, 0], &[2, 3]), block(&[0, 0], &[2, 3])];
        let found = in_order(Step { shape: vec![4, 3], blocks: rows }).unwrap();
        assert_eq!(found[0].start, [0, 0]);
        let columns = vec![block(&[0, 0], &[4, 1]), block(&[0, 1], &[4, 2])];
        assert_eq!(in_order(Step { shape: vec![4, 3], blocks: columns }), None);
        let hole = vec![block(&[1, 0], &[3, 3])];
        assert_eq!(in_order(Step { shape: vec![4, 3], blocks: hole }), None);
    }

    #[test]
    fn runs_that_touch_are_one() {
        let mut runs = Runs { endian: Endian::Little, runs: Vec::new() };
        for (offset, bytes) in [(10, 5), (15, 5), (30, 1)] {
            runs.add(offset, bytes);
        }
        assert_eq!(runs.runs, [(10, 10), (30, 1)]);
    }
}
