//! Names of the contexts of samples.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::super::labels::{Label, Labels, Texts};
use super::super::{ProfileView, Step, Walk};
use super::{IDLE, UNKNOWN};
use kymo_core::Result;

/// Numbers below this are found by themselves, as most are: they take no more than 16 MiB.
const NEAR_MAX: u64 = 1 << 22;

/// Not asked for.
const NONE: u32 = u32::MAX;

/// Labels that are asked for of the contexts that samples are of, by their numbers.
#[derive(Default)]
pub(super) struct RequestedNames {
    near: Vec<u32>,
    far: HashMap<u64, u32, RandomState>,
}

impl RequestedNames {
    /// Notes that the name of a context is asked for.
    #[inline]
    pub(super) fn request(&mut self, number: u64) {
        if number == UNKNOWN {
            return;
        }
        match self.slot(number) {
            Some(slot) => *slot = 0,
            None => self.make_room(number),
        }
    }

    /// Returns the slot for the label of a context, if there is room for it.
    fn slot(&mut self, number: u64) -> Option<&mut u32> {
        let near = usize::try_from(number).ok().and_then(|at| self.near.get_mut(at));
        if number < NEAR_MAX { near } else { self.far.get_mut(&number) }
    }

    #[cold]
    fn make_room(&mut self, number: u64) {
        match usize::try_from(number) {
            Ok(at) if number < NEAR_MAX => {
                self.near.resize((at + 1).next_power_of_two(), NONE);
                self.near.get_mut(at).into_iter().for_each(|slot| *slot = 0);
            }
            _ => drop(self.far.insert(number, 0)),
        }
    }

    /// The label of a context that was asked for.
    #[inline]
    fn get(&self, number: u64) -> Option<u32> {
        if number < NEAR_MAX {
            let at = usize::try_from(number).ok()?;
            return self.near.get(at).copied().filter(|label| *label != NONE);
        }
        self.far.get(&number).copied()
    }

    /// Counts the contexts that were asked for and have no label; 0 is no context.
    fn absent(&self) -> usize {
        let near = self.near.iter().skip(1).filter(|label| **label == 0).count();
        near + self.far.values().filter(|label| **label == 0).count()
    }
}

/// Names of the contexts of samples.
pub(super) struct Names {
    labels: Texts,
    /// A label and one: nothing is found for 0, which was asked for and is not in the tree.
    by_number: RequestedNames,
    idle: u32,
    unknown: u32,
    /// Number of contexts that samples are of and that the tree does not have.
    pub(super) absent: usize,
}

impl Names {
    /// Finds the names of contexts that were asked for, in the order of the tree.
    pub(super) fn new(
        view: &dyn ProfileView,
        mut by_number: RequestedNames,
        depth: Option<usize>,
    ) -> Result<Self> {
        let mut labels = Labels::for_view(view);
        // The frames that we are within, each with its depth in the tree.
        let mut frames: Vec<(Label, usize)> = Vec::new();
        for step in Walk::new(view)? {
            match step? {
                Step::Enter(context, deep) => {
                    if context.is_frame() {
                        frames.push((labels.context_label(&context)?, deep));
                    }
                    let at_depth = depth.and_then(|depth| frames.get(depth)).or(frames.last());
                    let slot = by_number.slot(context.number.0).filter(|slot| **slot == 0);
                    if let (Some((label, _)), Some(slot)) = (at_depth, slot) {
                        *slot = number(*label) + 1;
                    }
                }
                Step::Leave(_, deep) => drop(frames.pop_if(|(_, depth)| *depth == deep)),
            }
        }
        let idle = number(labels.named(IDLE)?);
        let unknown = number(labels.named("<unknown context>")?);
        let absent = by_number.absent();
        Ok(Self { labels: labels.texts()?, by_number, idle, unknown, absent })
    }

    /// The label of the context with a number.
    #[inline]
    pub(super) fn label(&self, number: u64) -> u32 {
        let found = self.by_number.get(number).and_then(|label| label.checked_sub(1));
        found.unwrap_or(if number == 0 { self.idle } else { self.unknown })
    }

    pub(super) fn text(&self, label: u32) -> &str {
        usize::try_from(label).map_or("", |label| self.labels.get(Label(label)))
    }

    /// The texts of all labels.
    pub(super) fn into_functions(self) -> Vec<String> {
        self.labels.iter().map(str::to_owned).collect()
    }
}

/// A label in half the room: there may be very many contexts, but never so many functions.
fn number(label: Label) -> u32 {
    u32::try_from(label.0).unwrap_or(NONE - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_near_and_far_are_found_once_they_are_asked_for() {
        let mut numbered = RequestedNames::default();
        let all = [0, 1, 5, NEAR_MAX - 1, NEAR_MAX, u64::MAX - 1];
        for number in all {
            assert_eq!(numbered.get(number), None, "{number}");
            numbered.request(number);
            *numbered.slot(number).unwrap() = 7;
            assert_eq!(numbered.get(number), Some(7), "{number}");
        }
        assert_eq!(numbered.absent(), 0);
        numbered.request(3);
        assert_eq!(numbered.absent(), 1);
        for number in [2, 4, 6, NEAR_MAX - 2, NEAR_MAX + 1, UNKNOWN] {
            assert_eq!(numbered.get(number), None, "{number}");
            assert!(numbered.slot(number).is_none_or(|slot| *slot == NONE), "{number}");
        }
    }
}
