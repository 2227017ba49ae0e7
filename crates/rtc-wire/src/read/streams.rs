//! What is known of each stream while frames are walked through.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::spec::{self, id};

use super::meta::Declared;

/// Ids up to here are found by index; a file may use any others, slower.
const DENSE_MAX: usize = 4096;

/// Streams that a file may have; what a file defines beyond is not known.
pub(super) const STREAMS_MAX: usize = 1 << 20;

/// What is known of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub length: Declared,
    pub chain: Chain,
    /// Bytes of the open chain so far, which tell the length of the next frame where it is fixed.
    pub received: u64,
}

/// Whether the next frame of a stream begins something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chain {
    Closed,
    Open,
    /// Frames before were lost.
    Unknown,
    /// A message of fixed length goes on, and how much of it was lost is not known.
    Within,
}

const UNDEFINED: Slot = Slot { length: Declared::Unproven, chain: Chain::Closed, received: 0 };

/// The streams of a session, by id.
#[derive(Debug)]
pub struct Streams {
    dense: Vec<Slot>,
    sparse: BTreeMap<u32, Slot>,
    /// No Meta was seen: any id may be a stream, of variable length.
    is_undescribed: bool,
    /// What is known of a stream that no Meta described and no frame was seen of.
    unseen: Slot,
}

impl Clone for Streams {
    fn clone(&self) -> Self {
        let (dense, sparse) = (self.dense.clone(), self.sparse.clone());
        Self { dense, sparse, is_undescribed: self.is_undescribed, unseen: self.unseen }
    }

    /// Allocates nothing where there is room, for who tries many ways to read a place.
    fn clone_from(&mut self, other: &Self) {
        self.dense.clone_from(&other.dense);
        self.sparse.clone_from(&other.sparse);
        (self.is_undescribed, self.unseen) = (other.is_undescribed, other.unseen);
    }
}

impl Default for Streams {
    fn default() -> Self {
        Self::new()
    }
}

impl Streams {
    /// The frames that always exist.
    #[must_use]
    pub fn new() -> Self {
        let fixed = |id| Slot {
            length: spec::fixed_length(id).map_or(Declared::Variable, Declared::Fixed),
            ..UNDEFINED
        };
        Self {
            dense: (0..id::FIRST_USER).map(fixed).collect(),
            sparse: BTreeMap::new(),
            is_undescribed: true,
            unseen: UNDEFINED,
        }
    }

    /// Defines a stream. One that is defined again keeps what is known of its chain.
    pub fn define(&mut self, id: u32, length: Declared) {
        if id < id::FIRST_USER || self.dense.len() + self.sparse.len() >= STREAMS_MAX {
            return;
        }
        (self.is_undescribed, self.unseen) = (false, UNDEFINED);
        if let Some(slot) = self.slot_mut(id) {
            // What was proven before is not forgotten for a text that is damaged.
            if length != Declared::Unproven {
                slot.length = length;
            }
        }
    }

    /// Whether a stream was defined.
    #[must_use]
    pub fn is_defined(&self, id: u32) -> bool {
        self.slot(id).length != Declared::Unproven
    }

    /// Whether a Meta told how long the frames of a stream are.
    #[must_use]
    pub fn is_described(&self, id: u32) -> bool {
        !self.is_undescribed && self.is_defined(id)
    }

    /// Whether no Meta was seen yet, so that names and lengths are not known.
    #[must_use]
    pub fn is_undescribed(&self) -> bool {
        self.is_undescribed
    }

    /// A stream of a low id.
    #[inline]
    pub(super) fn dense_slot(&self, id: u32) -> Option<&Slot> {
        self.dense.get(usize::try_from(id).ok()?)
    }

    #[inline]
    pub(super) fn slot(&self, id: u32) -> Slot {
        let found = usize::try_from(id).ok().and_then(|index| self.dense.get(index));
        let slot = match found {
            Some(slot) => *slot,
            None => self.sparse.get(&id).copied().unwrap_or(self.unseen),
        };
        if self.is_undescribed && slot.length == Declared::Unproven {
            return Slot { length: Declared::Variable, ..slot };
        }
        slot
    }

    pub(super) fn slot_mut(&mut self, id: u32) -> Option<&mut Slot> {
        let index = usize::try_from(id).unwrap_or(usize::MAX);
        if index < DENSE_MAX {
            if index >= self.dense.len() {
                self.dense.resize(index + 1, self.unseen);
            }
            return self.dense.get_mut(index);
        }
        if self.sparse.len() >= STREAMS_MAX {
            return self.sparse.get_mut(&id);
        }
        Some(self.sparse.entry(id).or_insert(self.unseen))
    }

    /// The first frame after a tick was seen. Only that one can be the rest of a message of fixed
    /// length, since a writer goes on with what the tick divided; all others begin one.
    pub(super) fn settle_fixed(&mut self, but: u32) {
        let dense = self.dense.iter_mut().enumerate().map(|(id, slot)| (id as u64, slot));
        let sparse = self.sparse.iter_mut().map(|(id, slot)| (u64::from(*id), slot));
        for (id, slot) in dense.chain(sparse) {
            let is_fixed = matches!(slot.length, Declared::Fixed(_));
            if is_fixed && slot.chain == Chain::Unknown && id != u64::from(but) {
                slot.chain = Chain::Closed;
            }
        }
    }

    /// Frames were lost: of no stream is it known whether something is open.
    pub(super) fn forget_chains(&mut self) {
        for slot in self.dense.iter_mut().chain(self.sparse.values_mut()) {
            slot.chain = Chain::Unknown;
            slot.received = 0;
        }
        if self.is_undescribed {
            self.unseen.chain = Chain::Unknown;
        }
        for slot in self.dense.iter_mut().take(id::FIRST_USER as usize) {
            slot.chain = Chain::Closed;
        }
    }
}
