//! What is left of a message whose beginning was lost.

use alloc::vec::Vec;

use crate::spec::PAYLOAD_BYTES_MAX;

use super::super::meta::Declared;
use super::super::parse::Trouble;
use super::super::resume::{Target, follows, lands, targets};
use super::super::streams::Chain;
use super::super::{NeedMore, Streams, View};
use super::Walker;

/// The longest fixed length for which every possible rest of a message is tried.
const RESTS_MAX: u64 = 4096;

/// Frames that tell most wrong guesses from right ones.
const FEW: usize = 64;

impl Walker {
    /// Where frames were lost, the next of a stream of fixed length may be the rest of a message:
    /// takes it for one when it makes no sense as a whole. Gives the stream where neither does,
    /// or where it cannot be known how much is left.
    pub(super) fn resolve_rest(
        &mut self,
        view: &View<'_>,
        position: u64,
    ) -> Result<Option<u32>, NeedMore> {
        let Ok((header, _)) = crate::leb128::read(view.get(position..self.boundary)) else {
            return Ok(None);
        };
        let id = u32::try_from(header >> 1).unwrap_or(u32::MAX);
        let slot = self.streams.slot(id);
        let Declared::Fixed(total) = slot.length else { return Ok(None) };
        if slot.chain != Chain::Unknown || self.has_tried_rest {
            return Ok(None);
        }
        Self::need(view, self.boundary)?;
        self.has_tried_rest = true;
        let landing = self.landing(view);
        let index = self.index_at(view, self.boundary);
        let named = index.map(|index| targets(view, index, position, landing)).unwrap_or_default();
        let lands = |streams: &Streams| lands(streams, view, position, landing, &named);
        if self.is_strict {
            return Ok(self.resolve_strictly(view, id, total, landing, &named));
        }
        if matches!(lands(&self.streams), Ok(()) | Err(Trouble::Short)) {
            return Ok(None);
        }
        let mut found = None;
        for rest in 1..total.min(RESTS_MAX).min(self.rests_left.into()) {
            self.rests_left -= 1;
            let guess = Guess { chain: Chain::Open, received: total - rest };
            if guess.is_possible(&self.streams, id, view, position, landing)
                && lands(&self.with_chain(id, guess)).is_ok()
            {
                if found.is_some() {
                    return Ok(Some(id));
                }
                found = Some(guess);
            }
        }
        match found {
            Some(guess) => self.streams = self.with_chain(id, guess),
            None => return Ok(Some(id)),
        }
        Ok(None)
    }

    /// Takes the first frame of a unit for what it must be: a whole message or a rest, if only one
    /// of all makes sense with what follows.
    fn resolve_strictly(
        &mut self,
        view: &View<'_>,
        id: u32,
        total: u64,
        landing: u64,
        named: &[Target],
    ) -> Option<u32> {
        if total > RESTS_MAX {
            return Some(id);
        }
        let position = self.position;
        let whole = Guess { chain: Chain::Closed, received: 0 };
        let rests = (1..total).map(|rest| Guess { chain: Chain::Open, received: total - rest });
        let mut trial = self.streams.clone();
        let mut left: Vec<Guess> = Vec::new();
        for guess in core::iter::once(whole).chain(rests) {
            // Most make no sense within a few frames, and many not with the first.
            if !guess.is_possible(&self.streams, id, view, position, landing) {
                continue;
            }
            trial.clone_from(&self.streams);
            guess.apply(id, &mut trial);
            if follows(&mut trial, view, position, landing, named, FEW).is_ok() {
                left.push(guess);
            }
        }
        if left.len() > 1 {
            left.retain(|guess| {
                let streams = self.with_chain(id, *guess);
                lands(&streams, view, position, landing, named).is_ok()
            });
        }
        match (left.pop(), left.is_empty()) {
            (Some(guess), true) => {
                guess.apply(id, &mut self.streams);
                None
            }
            _ => Some(id),
        }
    }

    /// The streams, one of them as a guess has it.
    fn with_chain(&self, id: u32, guess: Guess) -> Streams {
        let mut streams = self.streams.clone();
        guess.apply(id, &mut streams);
        streams
    }
}

/// What may have come of a message before.
#[derive(Debug, Clone, Copy)]
struct Guess {
    chain: Chain,
    received: u64,
}

impl Guess {
    fn apply(self, id: u32, streams: &mut Streams) {
        if let Some(slot) = streams.slot_mut(id) {
            (slot.chain, slot.received) = (self.chain, self.received);
        }
    }

    /// Whether the first frame can be that of a message of which so much came before: it says
    /// itself whether it is the last of it, and known streams follow.
    fn is_possible(
        self,
        streams: &Streams,
        id: u32,
        view: &View<'_>,
        position: u64,
        landing: u64,
    ) -> bool {
        let Declared::Fixed(total) = streams.slot(id).length else { return true };
        let Ok((header, taken)) = crate::leb128::read(view.get(position..landing)) else {
            return true;
        };
        let payload = position + taken as u64;
        let left = total.saturating_sub(self.received);
        let length = left.min(PAYLOAD_BYTES_MAX as u64).min(landing.saturating_sub(payload));
        let (is_last, next) = (length == left, payload + length);
        if is_last != (header & 1 == 0) {
            return false;
        }
        if next >= landing {
            return true;
        }
        let following = crate::leb128::read(view.get(next..landing));
        let is_known =
            |header: u64| u32::try_from(header >> 1).is_ok_and(|id| streams.is_defined(id));
        following.map_or(true, |(header, _)| is_known(header))
    }
}
