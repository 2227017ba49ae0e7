//! Streams of which no Meta is left, beside others that are described.

use alloc::collections::BTreeSet;

use crate::spec::id;

use super::super::marker::PROOF_BYTES;
use super::super::meta::Declared;
use super::super::resume::{Trial, targets};
use super::super::streams::TrialStreams;
use super::super::{Lookup, NeedMore, Ruler, View};
use super::Walker;

/// Frames that are read to prove a guess.
const FRAMES_MAX: u64 = 1 << 20;

impl Walker {
    /// Takes streams that nothing describes for streams of variable length, as most are, where the
    /// frames from `start` to the end of the unit make sense so. An index has to list them: a
    /// damaged header names a stream that there is not. It is tried once in a unit, and once more
    /// where the unit opens with what may be the rest of a message.
    pub(super) fn guess_streams(
        &mut self,
        view: &View<'_>,
        start: u64,
        is_rest: bool,
    ) -> Result<bool, NeedMore> {
        if self.streams.is_undescribed() || self.ruler.is_none() || self.is_meta_due {
            return Ok(false);
        }
        if self.is_last && self.is_provisional() {
            self.find_end(view)?;
        }
        let boundary = self.boundary;
        if self.guessed >= boundary {
            return Ok(false);
        }
        Self::need(view, boundary.saturating_add(PROOF_BYTES))?;
        let unknown = self.listed_unknown(view);
        if !is_rest {
            self.guessed = boundary;
        }
        if unknown.is_empty() {
            return Ok(false);
        }
        let landing = self.landing(view);
        let index = self.index_at(view, boundary);
        let named = index.map(|index| targets(view, index, start, landing)).unwrap_or_default();
        let mut streams = TrialStreams::new(&self.streams);
        for id in &unknown {
            streams.define(*id, Declared::Variable);
        }
        let found = Trial::new(streams, start).run(view, landing, &named, &mut { FRAMES_MAX });
        if found.is_err() {
            return Ok(false);
        }
        self.guessed = boundary;
        for id in unknown {
            self.streams.guess(id);
        }
        Ok(true)
    }

    /// Streams that nothing describes and that an index of the Unit lists: that which opens it,
    /// and those at the ends of the unit.
    fn listed_unknown(&self, view: &View<'_>) -> BTreeSet<u32> {
        let opening = self.ruler.and_then(|ruler| u64::try_from(ruler.index()).ok());
        let tick_before = |ruler: Ruler| ruler.tick_after(self.position).checked_sub(ruler.minor);
        let tick = self.ruler.and_then(tick_before);
        let behind = self.index_at(view, self.boundary);
        let mut unknown = BTreeSet::new();
        for index in [opening, tick, behind].into_iter().flatten() {
            let Some(index) = Lookup::read(view, index) else { continue };
            let listed = index.places().map(|(id, _)| id);
            unknown.extend(listed.filter(|id| self.is_unknown(*id)));
        }
        unknown
    }

    fn is_unknown(&self, id: u32) -> bool {
        id >= id::FIRST_USER && !self.streams.is_defined(id)
    }
}
