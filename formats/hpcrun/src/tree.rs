//! Nodes by their ids, and the tree that their parents make.

use kymo_model::measurement::NodeNumbers;

use crate::read::Profile;
use crate::types::Epoch;

/// Nodes by their ids, and whether their parents lead to a root.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Places of nodes by their ids; of several with one id the first in the file.
    numbers: NodeNumbers,
    /// Nodes whose id is there before them.
    duplicates: Vec<u32>,
    parents: Vec<u32>,
}

/// No node.
const NONE: u32 = u32::MAX;

impl Tree {
    pub(crate) fn new(epoch: &Epoch) -> Self {
        let numbers = NodeNumbers::new(epoch.nodes.iter().map(|node| node.id));
        let mut duplicates = Vec::new();
        let mut parents = Vec::with_capacity(epoch.nodes.len());
        for (node, place) in epoch.nodes.iter().zip(0..NONE) {
            if numbers.find(node.id) != Some(place) {
                duplicates.push(place);
            }
            parents.push(match node.parent {
                0 => NONE,
                parent if parent == node.id => NONE,
                parent => numbers.find(parent).unwrap_or(NONE),
            });
        }
        Self { numbers, duplicates, parents }
    }

    /// The place of a node among those of its epoch.
    pub(crate) fn find(&self, id: u32) -> Option<usize> {
        self.numbers.find(id).and_then(|place| usize::try_from(place).ok())
    }

    /// Places of nodes by their ids, when nothing else is wanted any more.
    pub(crate) fn into_numbers(self) -> NodeNumbers {
        self.numbers
    }

    /// The place of a node's parent; nothing for a root, and for one whose parent is not there.
    pub(crate) fn parent(&self, index: usize) -> Option<usize> {
        let parent = self.parents.get(index).copied().filter(|parent| *parent != NONE)?;
        usize::try_from(parent).ok()
    }

    /// The places of nodes whose id another has before them.
    pub(crate) fn duplicates(&self) -> impl Iterator<Item = usize> + '_ {
        self.duplicates.iter().filter_map(|place| usize::try_from(*place).ok())
    }

    /// The first node that is among its own ancestors, if any is.
    pub(crate) fn cycle(&self) -> Option<usize> {
        // Where parents come first, as hpcrun writes them, nothing can go round.
        let goes_back = |(index, parent): (usize, &u32)| {
            *parent == NONE || usize::try_from(*parent).is_ok_and(|parent| parent < index)
        };
        if self.parents.iter().enumerate().all(goes_back) {
            return None;
        }
        let on_cycle = self.on_cycles();
        on_cycle.iter().position(|is| *is)
    }

    /// For each node, whether it is among its own ancestors.
    pub(crate) fn on_cycles(&self) -> Vec<bool> {
        let mut seen_from = vec![NONE; self.parents.len()];
        let mut on_cycle = vec![false; self.parents.len()];
        for (start, mark) in (0..self.parents.len()).zip(0..NONE) {
            let mut at = Some(start);
            while let Some(node) = at {
                let Some(seen) = seen_from.get_mut(node) else { break };
                if *seen == mark {
                    self.mark_cycle(node, &mut on_cycle);
                }
                if *seen != NONE {
                    break;
                }
                *seen = mark;
                at = self.parent(node);
            }
        }
        on_cycle
    }

    fn mark_cycle(&self, start: usize, on_cycle: &mut [bool]) {
        let mut at = Some(start);
        while let Some(node) = at {
            match on_cycle.get_mut(node) {
                Some(is) if !*is => *is = true,
                _ => return,
            }
            at = self.parent(node);
        }
    }
}

/// Nodes by the ids of a trace: the trace runs through all epochs of its profile, whose ids are
/// their own. Places count through the nodes of all epochs.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    numbers: NodeNumbers,
    /// Ids that several epochs have, in ascending order: nobody knows which of them is meant.
    shared: Vec<u32>,
}

impl Ids {
    pub(crate) fn new(profile: &Profile) -> Self {
        let epochs = || profile.epochs.iter().map(|epoch| epoch.nodes.iter().map(|node| node.id));
        let mut pairs = Vec::new();
        if profile.epochs.len() > 1 {
            let of_epoch = |(ids, epoch)| std::iter::Iterator::map(ids, move |id: u32| (id, epoch));
            pairs = epochs().zip(0_usize..).flat_map(of_epoch).collect();
            pairs.sort_unstable();
            pairs.dedup();
        }
        let shared = pairs.array_windows().filter(|[(id, _), (next, _)]| id == next);
        let mut shared: Vec<_> = shared.map(|[(id, _), _]| *id).collect();
        shared.dedup();
        let ids = profile.epochs.iter().flat_map(|epoch| epoch.nodes.iter());
        Self { numbers: NodeNumbers::new(ids.map(|node| node.id)), shared }
    }

    /// The place of a node; of several with one id that of the first.
    pub(crate) fn find(&self, id: u32) -> Option<usize> {
        self.numbers.find(id).and_then(|place| usize::try_from(place).ok())
    }

    /// Returns true if several epochs have a node of this id.
    pub(crate) fn is_shared(&self, id: u32) -> bool {
        self.shared.binary_search(&id).is_ok()
    }

    /// Ids that several epochs have, in ascending order.
    pub(crate) fn into_shared(self) -> Vec<u32> {
        self.shared
    }
}

/// Those of a single epoch.
impl From<NodeNumbers> for Ids {
    fn from(numbers: NodeNumbers) -> Self {
        Self { numbers, shared: Vec::new() }
    }
}
