//! Blocks that lie as the array does: the bytes of each follow on those of the one before.

use kymo_model::arrays::{Block, Order, Step, volume};

/// A step with its dimensions in storage order, slowest first.
pub(crate) fn in_storage_order(step: Step, order: Order) -> Step {
    let turn = |block: Block| Block {
        start: order.turn(block.start),
        count: order.turn(block.count),
        ..block
    };
    Step { shape: order.turn(step.shape), blocks: step.blocks.into_iter().map(turn).collect() }
}

/// The blocks of a step by their place, if each is one run and they follow on each other.
pub(crate) fn in_order(step: Step) -> Option<Vec<Block>> {
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

/// Returns true if a box is one run: of what is slower than a dimension that is not whole, it has
/// one.
fn is_one_run(count: &[u64], shape: &[u64]) -> bool {
    let mut slower = count.iter().zip(shape).rev().skip_while(|(count, length)| count == length);
    slower.next();
    slower.all(|(count, _)| *count == 1)
}

#[cfg(test)]
mod tests {
    use kymo_model::arrays::BlockId;

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
    fn blocks_that_overlap_or_reach_beyond_the_array_are_not_in_order() {
        let twice = vec![block(&[0, 0], &[3, 3]), block(&[2, 0], &[2, 3])];
        assert_eq!(in_order(Step { shape: vec![4, 3], blocks: twice }), None);
        let beyond = vec![block(&[0, 0], &[5, 3])];
        assert_eq!(in_order(Step { shape: vec![4, 3], blocks: beyond }), None);
        let aside = vec![block(&[0, 1], &[4, 3])];
        assert_eq!(in_order(Step { shape: vec![4, 3], blocks: aside }), None);
    }
}
