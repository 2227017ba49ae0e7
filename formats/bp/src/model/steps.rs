//! Blocks of a global variable that make up a step.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::grouping::shape;
use crate::read::Index;

/// Marks what has no number.
const NONE: u32 = u32::MAX;

/// Step to which each block of a global variable belongs.
pub(super) struct Steps {
    steps: Vec<u32>,
    /// True if some places were written more often than others.
    pub(super) is_uneven: bool,
}

/// A block of a global variable: the array it says it is a part of, and its place there.
#[derive(Clone, Copy)]
struct Part {
    shape: u32,
    /// Places are numbered in the order in which they first appear.
    place: u32,
}

impl Steps {
    /// Finds the step of each block.
    ///
    /// Where every place was written as often as the others, the n-th block at a place belongs
    /// to the n-th step, whether processes wrote one after the other or took turns. Where a
    /// block is missing that would mix steps: if processes took turns, a step ends where the
    /// order of places does. Blocks of another global shape are steps of their own.
    pub(super) fn from_members(elements: &Index, members: &[u32]) -> Self {
        let parts = parts(elements, members);
        let mut written: HashMap<(u32, u32), u32, RandomState> = HashMap::default();
        for part in &parts {
            *written.entry((part.shape, part.place)).or_insert(0) += 1;
        }
        let mut most: HashMap<u32, u32, RandomState> = HashMap::default();
        for (&(shape, _), &times) in &written {
            let most = most.entry(shape).or_insert(times);
            *most = times.max(*most);
        }
        let uneven: HashSet<u32, RandomState> = written
            .iter()
            .filter(|((shape, _), times)| most.get(shape) != Some(times))
            .map(|((shape, _), _)| *shape)
            .collect();
        let stays = parts.windows(2).filter(|pair| match pair {
            [a, b] => (a.shape, a.place) == (b.shape, b.place),
            _ => false,
        });
        // A lost block may bring two writings of a place together; a run of them is a process
        // that wrote all its steps before the next.
        let takes_turns = stays.count() * 2 < parts.len();
        let by_turns = |part: &Part| takes_turns && uneven.contains(&part.shape);
        Self { steps: number(&parts, by_turns), is_uneven: !uneven.is_empty() }
    }

    /// Puts blocks into the order of their steps; gives where each step begins.
    pub(super) fn sort(self, members: &mut [u32]) -> Vec<u32> {
        let mut sorted: Vec<_> = self.steps.into_iter().zip(members.iter().copied()).collect();
        sorted.sort_unstable();
        members.iter_mut().zip(&sorted).for_each(|(slot, &(_, member))| *slot = member);
        let mut starts = Vec::new();
        let mut previous = None;
        for (index, &(step, _)) in sorted.iter().enumerate() {
            if previous.replace(step) != Some(step) {
                starts.push(u32::try_from(index).unwrap_or(NONE));
            }
        }
        starts
    }
}

fn parts(elements: &Index, members: &[u32]) -> Vec<Part> {
    let mut shapes: HashMap<Vec<u64>, u32, RandomState> = HashMap::default();
    let mut places: HashMap<(u32, Vec<i32>), u32, RandomState> = HashMap::default();
    let part = |&member: &u32| {
        let element = elements.element(member as usize)?;
        let next = u32::try_from(shapes.len()).ok()?;
        let shape = *shapes.entry(shape(&element)).or_insert(next);
        let dimensions = element.payload.as_ref()?.dimensions?;
        let start = dimensions.iter().map(|dimension| dimension.global_offset).collect();
        let next = u32::try_from(places.len()).ok()?;
        let place = *places.entry((shape, start)).or_insert(next);
        Some(Part { shape, place })
    };
    // Every member is a dataset with dimensions: that is how it became one.
    members.iter().map(part).map(|part| part.unwrap_or(Part { shape: 0, place: 0 })).collect()
}

/// Numbers the steps in the order in which they begin.
fn number(parts: &[Part], by_turns: impl Fn(&Part) -> bool) -> Vec<u32> {
    let mut occurrences: HashMap<(u32, u32), u32, RandomState> = HashMap::default();
    let mut rounds: HashMap<u32, (u32, u32), RandomState> = HashMap::default();
    let mut numbers: HashMap<(u32, u32), u32, RandomState> = HashMap::default();
    let step = |part: &Part| {
        let round = if by_turns(part) {
            let (round, last) = rounds.entry(part.shape).or_insert((0, NONE));
            if *last != NONE && part.place <= *last {
                *round += 1;
            }
            *last = part.place;
            *round
        } else {
            let occurrence = occurrences.entry((part.shape, part.place)).or_insert(0);
            *occurrence += 1;
            *occurrence - 1
        };
        let next = u32::try_from(numbers.len()).unwrap_or(NONE);
        *numbers.entry((part.shape, round)).or_insert(next)
    };
    parts.iter().map(step).collect()
}
