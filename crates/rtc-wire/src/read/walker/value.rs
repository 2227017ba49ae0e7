//! Values that are not of their stream's format, as they come where a length was changed.

use alloc::vec::Vec;

use crate::leb128;
use crate::spec::id;

use super::super::form::{Form, number_bytes};
use super::super::marker::PROOF_BYTES;
use super::super::parse::Parsed;
use super::super::resume::{Target, Trial, is_misread, lands, targets};
use super::super::streams::{Chain, Slot, StreamLookup as _, TrialStreams};
use super::super::{NeedMore, View};
use super::Walker;
use super::mend::UNIT_BYTES_MAX;

/// Number of values of a unit that are looked into.
pub(super) const DOUBTS_MAX: u32 = 4;

/// Number of bytes that a walk looks at to find what has the form of values.
pub(super) const FITTED_BYTES_TOTAL: u64 = 1 << 27;

impl Walker {
    /// Returns true if a frame that holds a whole value is damaged: the value has another form than
    /// those of its stream, its Unit is not proven sound, and the bytes make more sense otherwise.
    pub(super) fn is_value_damaged(
        &mut self,
        view: &View<'_>,
        frame: &Parsed,
    ) -> Result<bool, NeedMore> {
        let Slot { form, chain, .. } = self.streams.slot(frame.id);
        let is_whole = frame.id >= id::FIRST_USER && chain == Chain::Closed && !frame.more;
        if !is_whole || form.fits(view.get(frame.payload..frame.end)) || self.doubts_left == 0 {
            return Ok(false);
        }
        // Of a larger one not all bytes are kept.
        if self.ruler.is_none_or(|ruler| ruler.major > UNIT_BYTES_MAX) {
            return Ok(false);
        }
        let end = self.unit_end().saturating_add(PROOF_BYTES);
        Self::hope(view, end)?;
        if !view.reaches(end) || self.is_strict {
            return Ok(false);
        }
        self.doubts_left -= 1;
        if self.is_whole(view) {
            // This writer has such values.
            self.streams.set_form(frame.id, Form::Disproven);
            return Ok(false);
        }
        // Where a single byte was changed, the checksum tells which.
        if let Some((at, next)) = self.changed(view, frame.position)? {
            return Ok(at < frame.end && next != frame.end);
        }
        if self.is_number_shorter(view, frame) {
            return Ok(true);
        }
        Ok(!self.is_followed(view, frame.end) && self.is_misread(view, frame))
    }

    /// Returns true if frames with values of their formats lead to the boundary from where the
    /// number in a frame ends, which is not where the frame does.
    fn is_number_shorter(&self, view: &View<'_>, frame: &Parsed) -> bool {
        let leads_on = |end: u64| {
            let mut trial = Trial::new(TrialStreams::new(&self.streams), end).strictly();
            trial.run(view, self.landing(view), &self.named_after(view, end), &mut { u64::MAX })
        };
        self.number_end(view, frame.position).is_some_and(|end| leads_on(end).is_ok())
    }

    /// Returns true if frames lead from a place to the boundary, as the index behind it has them:
    /// then values that are not of their format are what was written, all of them.
    fn is_followed(&mut self, view: &View<'_>, position: u64) -> bool {
        let landing = self.landing(view);
        let index = self.index_at(view, self.boundary);
        let named = index.map(|index| targets(view, index, position, landing)).unwrap_or_default();
        let is_followed =
            lands(TrialStreams::new(&self.streams), view, position, landing, &named).is_ok();
        if is_followed {
            self.doubts_left = 0;
        }
        is_followed
    }

    /// The frames from a place on that the index behind the boundary names.
    fn named_after(&self, view: &View<'_>, position: u64) -> Vec<Target> {
        let index = self.index_at(view, self.boundary);
        let named = |index| targets(view, index, position, self.landing(view));
        index.map(named).unwrap_or_default()
    }

    /// Returns true if the bytes behind the header of a frame make sense otherwise, and not behind
    /// it.
    fn is_misread(&mut self, view: &View<'_>, frame: &Parsed) -> bool {
        let is_summed = !self.places_of_crc(view).is_empty();
        let (landing, streams) = (self.landing(view), TrialStreams::fresh(&self.streams));
        let budget = &mut self.fitted_bytes_left;
        is_summed && is_misread(&streams, view, frame.position, frame.end, landing, budget)
    }

    /// Goes on behind a number that tells itself where it ends, whatever its frame says, if frames
    /// lead on from there.
    pub(super) fn resume_behind_number(&mut self, view: &View<'_>, start: u64) -> bool {
        let next = self.number_end(view, start);
        self.position = next.unwrap_or(self.position);
        next.is_some()
    }

    /// Returns the end of the number whose frame is at a place, if frames lead on from there.
    fn number_end(&self, view: &View<'_>, position: u64) -> Option<u64> {
        let bytes = view.get(position..self.boundary);
        let (header, taken) = leb128::read(bytes).ok()?;
        let slot = self.streams.slot(u32::try_from(header >> 1).ok()?);
        (slot.form == Form::Leb128 && slot.chain == Chain::Closed && header & 1 == 0)
            .then_some(())?;
        let (_, length_bytes) = leb128::read(bytes.get(taken..)?).ok()?;
        let payload = taken + length_bytes;
        let next = position + (payload + number_bytes(bytes.get(payload..)?)?) as u64;
        let streams = TrialStreams::new(&self.streams);
        let landing = self.landing(view);
        (next < landing && lands(streams, view, next, landing, &[]).is_ok()).then_some(next)
    }
}
