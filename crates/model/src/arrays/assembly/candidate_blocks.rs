//! Finding blocks by their place without looking at each.

use std::ops::Range;

use super::{Block, contains, overlap};

/// Ranges of numbers, of which those that touch a range are found without looking at each.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    /// Start of each block, in ascending order, and its place in the order given.
    starts: Vec<(u64, usize)>,
    /// The greatest end below each node of a binary tree over `starts`: the root is node 1, and
    /// below node n are nodes 2n and 2n + 1.
    ends: Vec<u64>,
}

impl Ranges {
    pub(super) fn new(ranges: impl Iterator<Item = Range<u64>>) -> Self {
        let mut sorted: Vec<_> =
            ranges.enumerate().map(|(place, range)| (range.start, place, range.end)).collect();
        sorted.sort_unstable();
        let leaves = sorted.len().next_power_of_two();
        let mut ends = vec![0; leaves];
        ends.extend(sorted.iter().map(|(_, _, end)| *end));
        ends.resize(2 * leaves, 0);
        for node in (1..leaves).rev() {
            let below = ends.get(2 * node..2 * node + 2).unwrap_or_default();
            let greatest = below.iter().copied().max().unwrap_or(0);
            if let Some(end) = ends.get_mut(node) {
                *end = greatest;
            }
        }
        Self { starts: sorted.into_iter().map(|(start, place, _)| (start, place)).collect(), ends }
    }

    /// Calls with the place of each range that touches the wanted one, by ascending starts.
    pub(super) fn touching(&self, wanted: &Range<u64>, mut found: impl FnMut(usize)) {
        // Those that begin before the wanted range ends.
        let first = self.starts.partition_point(|(start, _)| *start < wanted.end);
        let leaves = self.ends.len() / 2;
        let mut pending = vec![(1, 0, leaves)];
        while let Some((node, leaf, width)) = pending.pop() {
            if leaf >= first || self.ends.get(node).is_none_or(|end| *end <= wanted.start) {
                continue;
            }
            if width > 1 {
                let half = width / 2;
                pending.push((2 * node + 1, leaf + half, half));
                pending.push((2 * node, leaf, half));
            } else if let Some((_, place)) = self.starts.get(leaf) {
                found(*place);
            }
        }
    }

    /// Those that begin in a range: where, and their places, by ascending starts.
    fn beginning(&self, wanted: Range<u64>) -> impl Iterator<Item = (u64, usize)> {
        let first = self.starts.partition_point(|(start, _)| *start < wanted.start);
        let rest = self.starts.get(first..).unwrap_or_default().iter().copied();
        rest.take_while(move |(start, _)| *start < wanted.end)
    }
}

/// The blocks that a chunk may touch.
pub(super) struct CandidateBlocks<'a> {
    /// In the order of the file.
    blocks: Vec<&'a Block>,
    /// The dimension in which most of them begin apart.
    dimension: usize,
    /// Their bounds in that dimension.
    bounds: Ranges,
    apart: bool,
}

impl<'a> CandidateBlocks<'a> {
    /// Takes blocks in the order of the file that touch a box beginning at `start`.
    pub(super) fn new(blocks: Vec<&'a Block>, start: &[u64]) -> Self {
        let bounds = |dimension: usize| {
            let floor = start.get(dimension).copied().unwrap_or(0);
            blocks.iter().map(move |block| bounds_in(block, dimension, floor))
        };
        let places = |dimension: &usize| {
            let mut starts: Vec<_> = bounds(*dimension).map(|range| range.start).collect();
            starts.sort_unstable();
            starts.dedup();
            starts.len()
        };
        let dimension = (0..start.len()).max_by_key(places).unwrap_or(0);
        let bounds = Ranges::new(bounds(dimension));
        let apart = are_apart(&blocks, dimension, &bounds);
        Self { blocks, dimension, bounds, apart }
    }

    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn get(&self, place: usize) -> Option<&'a Block> {
        self.blocks.get(place).copied()
    }

    /// Returns true if no two blocks overlap, so that which of them is looked at first does not
    /// matter.
    pub(super) fn are_apart(&self) -> bool {
        self.apart
    }

    /// The first block in the file that has an index, looking first where it is `expected`.
    pub(super) fn find(&self, at: &[u64], expected: usize) -> Option<(usize, &'a Block)> {
        let has = |place: usize| self.get(place).filter(|block| contains(block, at));
        if let (true, Some(block)) = (self.apart, has(expected)) {
            return Some((expected, block));
        }
        let mut first: Option<(usize, &Block)> = None;
        self.for_each_block_at(at, |place| {
            if first.is_none_or(|(before, _)| place < before) {
                first = has(place).map(|block| (place, block)).or(first);
            }
        });
        first
    }

    /// Returns the distance from an index to the next block along the fastest dimension, of those
    /// whose place is before another. Returns `most` when that is nearer.
    pub(super) fn gap(&self, at: &[u64], before: usize, most: u64) -> u64 {
        let Some((&here, slower)) = at.split_last() else {
            return most;
        };
        let beside = |place: usize| {
            let block = self.get(place).filter(|_| place < before)?;
            let bounds = block.start.iter().zip(&block.count).zip(slower);
            let within = bounds.into_iter().all(|((&s, &c), &i)| s <= i && i - s < c);
            block.start.last().filter(|_| within).copied()
        };
        if self.dimension == slower.len() {
            let next = here.saturating_add(1)..here.saturating_add(most);
            let next = self.bounds.beginning(next).find(|(_, place)| beside(*place).is_some());
            return next.map_or(most, |(start, _)| start - here);
        }
        let mut nearest = most;
        self.for_each_block_at(at, |place| {
            if let Some(start) = beside(place).filter(|start| *start > here) {
                nearest = nearest.min(start - here);
            }
        });
        nearest
    }

    /// Calls with the place of each block whose bounds in the dimension have the index.
    fn for_each_block_at(&self, at: &[u64], found: impl FnMut(usize)) {
        let here = at.get(self.dimension).copied().unwrap_or(0);
        self.bounds.touching(&(here..here.saturating_add(1)), found);
    }
}

/// The bounds of a block in a dimension, as far as they are not below a floor.
fn bounds_in(block: &Block, dimension: usize, floor: u64) -> Range<u64> {
    let start = block.start.get(dimension).copied().unwrap_or(0);
    let count = block.count.get(dimension).copied().unwrap_or(1);
    start.max(floor)..start.saturating_add(count)
}

/// Goes along a dimension, in which few blocks are open at a time.
fn are_apart(blocks: &[&Block], dimension: usize, bounds: &Ranges) -> bool {
    let mut open: Vec<&Block> = Vec::new();
    for (start, place) in &bounds.starts {
        let Some(block) = blocks.get(*place) else {
            continue;
        };
        open.retain(|before| bounds_in(before, dimension, 0).end > *start);
        if open.iter().any(|before| overlap(before, &block.start, &block.count)) {
            return false;
        }
        open.push(block);
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_that_touch_are_found_as_by_looking_at_each(
            ranges in prop::collection::vec((0_u64..40, 0_u64..20), 0..30),
            (start, length) in (0_u64..60, 1_u64..10),
        ) {
            let ranges: Vec<_> = ranges.into_iter().map(|(s, n)| s..s + n).collect();
            let wanted = start..start + length;
            let touches = |range: &Range<u64>| range.start < wanted.end && wanted.start < range.end;
            let places = 0..ranges.len();
            let expected: Vec<_> = places.filter(|&place| touches(&ranges[place])).collect();
            let mut found = Vec::new();
            Ranges::new(ranges.iter().cloned()).touching(&wanted, |place| found.push(place));
            prop_assert!(found.is_sorted_by_key(|&place| ranges[place].start));
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
