//! What is left of a message whose beginning was lost.

use alloc::vec::Vec;

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
            let streams = self.with_chain(id, Chain::Open, total - rest);
            if lands(&streams).is_ok() {
                if found.is_some() {
                    return Ok(Some(id));
                }
                found = Some(streams);
            }
        }
        match found {
            Some(streams) => self.streams = streams,
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
        let whole = (Chain::Closed, 0);
        let rests = (1..total).map(|rest| (Chain::Open, total - rest));
        // Most make no sense within a few frames.
        let mut left: Vec<Streams> = core::iter::once(whole)
            .chain(rests)
            .map(|(chain, received)| self.with_chain(id, chain, received))
            .filter(|streams| follows(streams.clone(), view, position, landing, named, FEW).is_ok())
            .collect();
        if left.len() > 1 {
            left.retain(|streams| lands(streams, view, position, landing, named).is_ok());
        }
        match (left.pop(), left.is_empty()) {
            (Some(streams), true) => {
                self.streams = streams;
                None
            }
            _ => Some(id),
        }
    }

    /// The streams, one of them with so much received.
    fn with_chain(&self, id: u32, chain: Chain, received: u64) -> Streams {
        let mut streams = self.streams.clone();
        if let Some(slot) = streams.slot_mut(id) {
            (slot.chain, slot.received) = (chain, received);
        }
        streams
    }
}
