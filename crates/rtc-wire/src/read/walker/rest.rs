//! What is left of a message whose beginning was lost.

use super::super::meta::Declared;
use super::super::parse::Trouble;
use super::super::resume::{lands, targets};
use super::super::streams::Chain;
use super::super::{NeedMore, View};
use super::Walker;

/// The longest fixed length for which every possible rest of a message is tried.
const RESTS_MAX: u64 = 4096;

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
        let whole = lands(&self.streams, view, position, landing, &named);
        if matches!(whole, Ok(()) | Err(Trouble::Short)) {
            return Ok(None);
        }
        let mut found = None;
        for rest in 1..total.min(RESTS_MAX).min(self.rests_left.into()) {
            self.rests_left -= 1;
            let mut streams = self.streams.clone();
            if let Some(slot) = streams.slot_mut(id) {
                (slot.chain, slot.received) = (Chain::Open, total - rest);
            }
            if lands(&streams, view, position, landing, &named).is_ok() {
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
}
