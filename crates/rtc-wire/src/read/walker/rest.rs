//! Rest of a message whose beginning was lost.

use alloc::vec::Vec;

use crate::leb128;
use crate::spec::PAYLOAD_BYTES_MAX;

use super::super::marker::PROOF_BYTES;
use super::super::meta::Declared;
use super::super::parse::FrameError;
use super::super::resume::{Target, Trial, targets, targets_after};
use super::super::streams::{Chain, Slot, StreamLookup as _, TrialStreams};
use super::super::{DamageKind, NeedMore, View};
use super::Walker;

/// Frames that tell most wrong guesses from right ones.
const FEW: u64 = 64;

/// Frames that are read to tell apart all guesses at one place.
const FRAMES_MAX: u64 = 1 << 20;

impl Walker {
    /// Resolves the next frame of a stream of fixed length where frames were lost: it may be the
    /// rest of a message, and is taken for what it must be. Returns the stream where nothing makes
    /// sense, or where it cannot be known how much is left.
    pub(super) fn resolve_rest(
        &mut self,
        view: &View<'_>,
        position: u64,
    ) -> Result<Option<u32>, NeedMore> {
        let Ok((header, _)) = leb128::read(view.get(position..self.boundary)) else {
            return Ok(None);
        };
        let id = u32::try_from(header >> 1).unwrap_or(u32::MAX);
        let slot = self.streams.slot(id);
        let Declared::Fixed(total) = slot.length else { return Ok(None) };
        if !matches!(slot.chain, Chain::Unknown | Chain::Within) || self.has_tried_rest {
            return Ok(None);
        }
        Self::need(view, self.boundary.saturating_add(PROOF_BYTES))?;
        self.has_tried_rest = true;
        let landing = self.landing(view);
        let index = self.index_at(view, self.boundary);
        let named = index.map(|index| targets(view, index, position, landing)).unwrap_or_default();
        let rest = Rest { view, id, total, slot, landing, named, is_strict: self.is_strict };
        let Some((chain, received)) = rest.resolve(self, position) else { return Ok(Some(id)) };
        if let Some(slot) = self.streams.slot_mut(id) {
            (slot.chain, slot.received) = (chain, received);
        }
        Ok(None)
    }
}

/// The frames of a message of which it is not known how much came before them.
struct Rest<'a> {
    view: &'a View<'a>,
    id: u32,
    /// The length of the stream's messages.
    total: u64,
    /// State of the stream.
    slot: Slot,
    landing: u64,
    named: Vec<Target>,
    is_strict: bool,
}

impl Rest<'_> {
    /// Returns the chain that the stream has open, and the number of its bytes that came before.
    fn resolve(&self, walker: &mut Walker, position: u64) -> Option<(Chain, u64)> {
        let came = if self.slot.chain == Chain::Within { self.slot.received } else { 0 };
        let mut end = Trial::new(TrialStreams::new(&walker.streams), position);
        self.set(&mut end, Chain::Within, came);
        // However much is left, it is read alike up to the frame that ends it.
        let mut frames = u64::MAX;
        match end.run(self.view, self.landing, &self.named, &mut frames) {
            Err(FrameError::Bad(DamageKind::More(id))) if id == self.id => {}
            // It does not end here. What is left then shows in a later unit, or stays in doubt.
            Ok(()) | Err(FrameError::Short) if !self.is_strict => {
                return Some((Chain::Within, came));
            }
            _ => return None,
        }
        let taken = end.streams.slot(self.id).received;
        let whole = self.total.checked_sub(taken)?;
        let lengths = self.last_lengths(&end, whole, &mut walker.rests_left);
        let may_be_whole = self.slot.chain == Chain::Unknown && lengths.last() == Some(&whole);
        match *lengths.as_slice() {
            // What makes sense as a whole message is one, or else there is doubt.
            [.., _] if may_be_whole && !self.is_strict => Some((Chain::Unknown, 0)),
            [_] if may_be_whole => Some((Chain::Closed, 0)),
            [last] => Some((Chain::Open, self.total - (taken - came) - last)),
            _ => None,
        }
    }

    fn set(&self, trial: &mut Trial<'_>, chain: Chain, received: u64) {
        let slot = trial.streams.slot(self.id);
        trial.streams.set(self.id, Slot { chain, received, ..slot });
    }

    /// Returns the possible lengths of the frame that ends the message, if it is no longer than
    /// `whole`.
    fn last_lengths(&self, end: &Trial<'_>, whole: u64, guesses: &mut u32) -> Vec<u64> {
        let Ok((_, taken)) = leb128::read(self.view.get(end.position..self.landing)) else {
            return Vec::new();
        };
        let payload = end.position + taken as u64;
        // It ends before the next frame that the index names.
        let next =
            targets_after(&self.named, payload).first().map_or(self.landing, |next| next.position);
        let most = whole.min(PAYLOAD_BYTES_MAX as u64).min(next.saturating_sub(payload));
        let possible = (1..=most).filter(|length| self.is_possible(end, payload + length));
        let mut lengths: Vec<u64> = possible.take(*guesses as usize).collect();
        *guesses = guesses.saturating_sub(u32::try_from(lengths.len()).unwrap_or(u32::MAX));
        let follows = |length: u64, frames: &mut u64| {
            let mut trial = end.clone();
            self.set(&mut trial, Chain::Open, self.total - length);
            match trial.run(self.view, self.landing, &self.named, frames) {
                // A whole message may be the last before the bytes end.
                Err(FrameError::Short) => length == whole && !self.is_strict,
                found => found.is_ok(),
            }
        };
        // Most make no sense within a few frames.
        lengths.retain(|length| follows(*length, &mut { FEW }));
        let mut frames = FRAMES_MAX;
        if lengths.len() > 1 {
            lengths.retain(|length| follows(*length, &mut frames));
        }
        lengths
    }

    /// Returns true if a frame can follow, as far as its stream tells.
    fn is_possible(&self, end: &Trial<'_>, position: u64) -> bool {
        let following = leb128::read(self.view.get(position..self.landing));
        following.map_or(true, |(header, _)| {
            u32::try_from(header >> 1).is_ok_and(|id| end.streams.is_defined(id))
        })
    }
}
