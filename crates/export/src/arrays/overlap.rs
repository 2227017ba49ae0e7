//! Blocks of a step that share values: whether they agree on them.

use std::sync::Arc;

use kymo_core::Result;
use kymo_model::arrays::{ArraysView, Block, Chunks, Order, Selection, Step, volume};

use crate::arrays::Kind;
use crate::arrays::plan::Array;

/// Blocks of a step that are looked for among each other; for more that could take forever.
const BLOCKS_MAX: usize = 16384;

/// Blocks that others share values with, counted for each of these.
const SHARED_MAX: usize = 1 << 21;

/// Values that are compared at once.
const CHUNK_VALUES: u64 = 1 << 16;

/// Overlap of several blocks: values that more than one of them has.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overlap {
    /// Values that were written once more, as something else.
    differing: u64,
    /// Values that were written once more, and not compared.
    unseen: u64,
}

impl Overlap {
    pub(crate) fn add(&mut self, other: Self) {
        self.differing = self.differing.saturating_add(other.differing);
        self.unseen = self.unseen.saturating_add(other.unseen);
    }

    /// Returns the message about the overlap, if there is one.
    pub(crate) fn message(self) -> Option<String> {
        let kept = "the first in the file is kept";
        match self {
            Self { differing: 0, unseen: 0 } => None,
            Self { differing, unseen: 0 } => {
                let values = if differing == 1 { "value" } else { "values" };
                Some(format!("blocks overlap and differ in {differing} {values}: {kept}"))
            }
            Self { unseen, .. } => {
                Some(format!("blocks overlap, too many to compare their {unseen} values: {kept}"))
            }
        }
    }
}

/// Compares what blocks of a step wrote at the same places, given how many of its values no block
/// has.
pub(crate) fn compare_blocks(
    view: &Arc<dyn ArraysView>,
    array: &Array,
    step: &Step,
    order: Order,
    missing: u64,
) -> Result<Overlap> {
    let inside = step.blocks.iter().map(|block| volume(&clipped(block, &step.shape).count));
    let written = inside.fold(0_u64, u64::saturating_add);
    let again = written.saturating_sub(volume(&step.shape).saturating_sub(missing));
    if again == 0 {
        return Ok(Overlap::default());
    }
    if step.blocks.len() > BLOCKS_MAX {
        return Ok(Overlap { differing: 0, unseen: again });
    }
    let (mut differing, mut shared) = (0, 0);
    for (at, block) in step.blocks.iter().enumerate() {
        let part = clipped(block, &step.shape);
        // The first in the file counts: only those before may have other values.
        let before = step.blocks.iter().take(at).filter(|other| have_common(block, other));
        let mut blocks: Vec<_> = before.cloned().collect();
        if blocks.is_empty() {
            continue;
        }
        shared += blocks.len();
        if shared > SHARED_MAX {
            return Ok(Overlap { differing: 0, unseen: again });
        }
        blocks.push(block.clone());
        let chunks = |blocks: Vec<Block>| {
            let (view, data_type) = (Arc::clone(view), array.data_type.clone());
            let step = Step { shape: step.shape.clone(), blocks };
            Chunks::new(view, data_type, step, &part, order, CHUNK_VALUES)
        };
        differing += differences(array.kind, chunks(blocks)?, chunks(vec![block.clone()])?)?;
    }
    Ok(Overlap { differing, unseen: 0 })
}

/// Returns true if two blocks have an index in common.
fn have_common(one: &Block, other: &Block) -> bool {
    let one = one.start.iter().zip(&one.count);
    let mut pairs = one.zip(other.start.iter().zip(&other.count));
    pairs.all(|((&a, &a_count), (&b, &b_count))| {
        a < b.saturating_add(b_count) && b < a.saturating_add(a_count)
    })
}

/// The part of a block that lies in the array.
fn clipped(block: &Block, shape: &[u64]) -> Selection {
    let bounds = block.start.iter().zip(&block.count).zip(shape);
    let count = bounds.map(|((start, &count), bound)| count.min(bound.saturating_sub(*start)));
    Selection { start: block.start.clone(), count: count.collect() }
}

/// Counts the values that differ. Either side may give fewer at once.
fn differences(kind: Kind, mut one: Chunks, mut other: Chunks) -> Result<u64> {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let mut differing = 0;
    loop {
        for (side, chunks) in [(&mut left, &mut one), (&mut right, &mut other)] {
            if side.is_empty()
                && let Some(chunk) = chunks.next()
            {
                side.extend_from_slice(&kind.encode(&chunk?.values)?);
            }
        }
        let many = left.len().min(right.len());
        if many == 0 {
            return Ok(differing);
        }
        let values = left.drain(..many).collect::<Vec<_>>();
        let others = right.drain(..many).collect::<Vec<_>>();
        let pairs = values.chunks(kind.width()).zip(others.chunks(kind.width()));
        differing += pairs.filter(|(one, other)| one != other).count() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_is_said_where_it_matters() {
        let overlap = |differing, unseen| Overlap { differing, unseen };
        assert_eq!(overlap(0, 0).message(), None);
        let kept = "the first in the file is kept";
        let expected = format!("blocks overlap and differ in 1 value: {kept}");
        assert_eq!(overlap(1, 0).message(), Some(expected));
        assert!(overlap(2, 3).message().unwrap().contains("too many to compare their 3 values"));
    }
}
