//! State of each stream while frames are walked through.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::spec::{self, id};

use super::form::Form;
use super::meta::Declared;

/// Ids up to here are found by index; a file may use any others, slower.
const DENSE_MAX: usize = 4096;

/// Streams that a file may have; what a file defines beyond is not known.
pub(super) const STREAMS_MAX: usize = 1 << 20;

/// State of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub length: Declared,
    pub chain: Chain,
    /// Bytes of the open chain so far, which tell the length of the next frame where it is fixed.
    pub received: u64,
    /// Number of the loss of frames after which it was last seen. An older number means that
    /// nothing is known of the chain.
    pub age: u32,
    /// True if no Meta told of it, and frames make sense if it is of variable length.
    pub is_guessed: bool,
    /// Form that its values must have.
    pub form: Form,
}

/// True if the next frame of a stream begins something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chain {
    Closed,
    Open,
    /// Frames before were lost.
    Unknown,
    /// A message of fixed length goes on, and how much of it was lost is not known.
    Within,
}

const UNDEFINED: Slot = Slot {
    length: Declared::Unproven,
    chain: Chain::Closed,
    received: 0,
    age: 0,
    is_guessed: false,
    form: Form::Any,
};

/// The streams of a session, by id.
///
/// A loss of frames concerns all of them, and costs the same however many there are: what is known
/// of a chain counts only where it was learnt after the last loss.
#[derive(Debug, Clone)]
pub struct Streams {
    dense: Vec<Slot>,
    sparse: BTreeMap<u32, Slot>,
    /// No Meta was seen: any id may be a stream, of variable length.
    is_undescribed: bool,
    /// True if a stream that no Meta described and no frame was seen of has something open.
    unseen: Chain,
    /// Number of times that frames were lost.
    age: u32,
    /// A frame was seen since: those of fixed length that were not begin with a message.
    is_settled: bool,
    /// Streams whose length is guessed, in the unit that is read.
    guessed: Vec<u32>,
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
            unseen: Chain::Closed,
            age: 0,
            is_settled: false,
            guessed: Vec::new(),
        }
    }

    /// Defines a stream. One that is defined again keeps what is known of its chain.
    pub fn define(&mut self, id: u32, length: Declared) {
        if id < id::FIRST_USER || self.dense.len() + self.sparse.len() >= STREAMS_MAX {
            return;
        }
        (self.is_undescribed, self.unseen) = (false, Chain::Closed);
        if let Some(slot) = self.slot_mut(id) {
            // What was proven before is not forgotten for a text that is damaged.
            if length != Declared::Unproven {
                (slot.length, slot.is_guessed) = (length, false);
            }
        }
    }

    /// Takes a stream that no Meta told of for one of variable length.
    pub(super) fn guess(&mut self, id: u32) {
        if let Some(slot) = self.slot_mut(id).filter(|slot| slot.length == Declared::Unproven) {
            (slot.length, slot.is_guessed) = (Declared::Variable, true);
            self.guessed.push(id);
        }
    }

    /// Forgets what was guessed: in another unit it is to be proven again.
    pub(super) fn forget_guesses(&mut self) {
        for id in core::mem::take(&mut self.guessed) {
            if let Some(slot) = self.slot_mut(id).filter(|slot| slot.is_guessed) {
                (slot.length, slot.is_guessed) = (Declared::Unproven, false);
            }
        }
    }

    /// Tells what the values of a stream have to look like. What is open of it stays as it was,
    /// however long ago that was learnt.
    pub(super) fn set_form(&mut self, id: u32, form: Form) {
        let dense = usize::try_from(id).ok().and_then(|index| self.dense.get_mut(index));
        if let Some(slot) = dense.or_else(|| self.sparse.get_mut(&id)) {
            slot.form = form;
        }
    }

    /// Returns true if a stream was defined.
    #[must_use]
    pub fn is_defined(&self, id: u32) -> bool {
        self.slot(id).length != Declared::Unproven
    }

    /// Returns true if a Meta told how long the frames of a stream are.
    #[must_use]
    pub fn is_described(&self, id: u32) -> bool {
        !self.is_undescribed && self.is_defined(id) && !self.slot(id).is_guessed
    }

    /// Returns true if no Meta was seen yet, so that names and lengths are not known.
    #[must_use]
    pub fn is_undescribed(&self) -> bool {
        self.is_undescribed
    }

    /// A stream of a low id, if what is known of its chain counts.
    #[inline]
    pub(super) fn dense_slot(&self, id: u32) -> Option<&Slot> {
        self.dense.get(usize::try_from(id).ok()?).filter(|slot| slot.age == self.age)
    }

    /// Returns the state of a stream, or of one that is read by way of trial.
    #[inline]
    pub(super) fn slot_as(&self, id: u32, trial: Assumed) -> Slot {
        let found = usize::try_from(id).ok().and_then(|index| self.dense.get(index));
        let mut slot = match found.or_else(|| self.sparse.get(&id)) {
            Some(slot) => *slot,
            None => self.unseen_slot(),
        };
        if slot.age != self.age || trial.is_fresh {
            let is_fixed = matches!(slot.length, Declared::Fixed(_));
            let is_settled = trial.is_settled || (self.is_settled && !trial.is_fresh);
            let is_closed = id < id::FIRST_USER || (is_fixed && is_settled);
            slot.chain = if is_closed { Chain::Closed } else { Chain::Unknown };
            (slot.received, slot.age) = (0, self.age);
        }
        let is_undescribed = self.is_undescribed && !trial.is_described;
        if is_undescribed && slot.length == Declared::Unproven {
            slot.length = Declared::Variable;
        }
        slot
    }

    fn unseen_slot(&self) -> Slot {
        Slot { chain: self.unseen, age: self.age, ..UNDEFINED }
    }

    /// The stream, to be changed; what is too old is forgotten first.
    pub(super) fn slot_mut(&mut self, id: u32) -> Option<&mut Slot> {
        let unseen = self.unseen_slot();
        let Slot { chain, received, age, .. } = self.slot(id);
        let index = usize::try_from(id).unwrap_or(usize::MAX);
        let slot = if index < DENSE_MAX {
            if index >= self.dense.len() {
                self.dense.resize(index + 1, unseen);
            }
            self.dense.get_mut(index)
        } else if self.sparse.len() >= STREAMS_MAX {
            self.sparse.get_mut(&id)
        } else {
            Some(self.sparse.entry(id).or_insert(unseen))
        }?;
        (slot.chain, slot.received, slot.age) = (chain, received, age);
        Some(slot)
    }

    /// Nothing of a stream is open.
    pub(super) fn close(&mut self, id: u32) {
        if let Some(slot) = self.slot_mut(id) {
            (slot.chain, slot.received) = (Chain::Closed, 0);
        }
    }

    /// The first frame after a tick was seen. Only that one can be the rest of a message of fixed
    /// length, since a writer goes on with what the tick divided; all others begin one.
    pub(super) fn settle_fixed(&mut self) {
        self.is_settled = true;
    }

    /// Frames were lost: of no stream is it known whether something is open.
    pub(super) fn forget_chains(&mut self) {
        self.age = self.age.wrapping_add(1);
        self.is_settled = false;
        if self.is_undescribed {
            self.unseen = Chain::Unknown;
        }
    }
}

/// Assumptions of a trial about what its streams do not know.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Assumed {
    /// Nothing is known of what is open.
    pub is_fresh: bool,
    /// A frame was seen since.
    pub is_settled: bool,
    /// A Meta was seen.
    pub is_described: bool,
}

/// Source of the state of each stream: the streams that are known, or those of a trial.
pub(super) trait StreamLookup {
    /// Returns the state of a stream.
    fn slot(&self, id: u32) -> Slot;
}

impl StreamLookup for Streams {
    #[inline]
    fn slot(&self, id: u32) -> Slot {
        self.slot_as(id, Assumed::default())
    }
}

/// Streams as one way to read leaves them: what it changed, and all others as they were.
#[derive(Debug, Clone)]
pub(super) struct TrialStreams<'a> {
    streams: &'a Streams,
    changed: BTreeMap<u32, Slot>,
    assumed: Assumed,
}

impl<'a> TrialStreams<'a> {
    /// Begins with all that is known.
    pub(super) fn new(streams: &'a Streams) -> Self {
        Self { streams, changed: BTreeMap::new(), assumed: Assumed::default() }
    }

    /// Begins as if frames had just been lost.
    pub(super) fn fresh(streams: &'a Streams) -> Self {
        let assumed = Assumed { is_fresh: true, ..Assumed::default() };
        Self { streams, changed: BTreeMap::new(), assumed }
    }

    pub(super) fn set(&mut self, id: u32, slot: Slot) {
        if self.slot(id) != slot {
            self.changed.insert(id, slot);
        }
    }

    /// Learns how long the frames of a stream are.
    pub(super) fn define(&mut self, id: u32, length: Declared) {
        if id < id::FIRST_USER {
            return;
        }
        self.assumed.is_described = true;
        if length != Declared::Unproven {
            self.set(id, Slot { length, ..self.slot(id) });
        }
    }

    pub(super) fn settle_fixed(&mut self) {
        self.assumed.is_settled = true;
    }

    /// Returns true if a stream was defined.
    pub(super) fn is_defined(&self, id: u32) -> bool {
        self.slot(id).length != Declared::Unproven
    }
}

impl StreamLookup for TrialStreams<'_> {
    #[inline]
    fn slot(&self, id: u32) -> Slot {
        match self.changed.get(&id) {
            Some(slot) => *slot,
            None => self.streams.slot_as(id, self.assumed),
        }
    }
}
