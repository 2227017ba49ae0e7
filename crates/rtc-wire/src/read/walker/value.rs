//! Values that are not of their stream's format, as they come where a length was changed.

use crate::leb128;
use crate::spec::id;

use super::super::form::{Form, number_bytes};
use super::super::marker::PROOF_BYTES;
use super::super::parse::Parsed;
use super::super::resume::{is_astray, lands};
use super::super::streams::{Chain, Known as _, Slot, Tried};
use super::super::{NeedMore, View};
use super::Walker;
use super::mend::UNIT_BYTES_MAX;

/// How many values of a unit are looked into.
pub(super) const DOUBTS_MAX: u32 = 16;

impl Walker {
    /// Whether a frame that holds a whole value is damaged: the value has another form than those
    /// of its stream, its Unit is not proven sound, and the bytes make more sense otherwise.
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
            self.streams.set_form(frame.id, Form::Any);
            return Ok(false);
        }
        if self.number_end(view, frame.position).is_some() {
            return Ok(true);
        }
        let is_summed = !self.places_of_crc(view).is_empty();
        let streams = Tried::fresh(&self.streams);
        Ok(is_summed && is_astray(&streams, view, frame.position, frame.end, self.landing(view)))
    }

    /// Goes on behind a number that tells itself where it ends, whatever its frame says, if frames
    /// lead on from there.
    pub(super) fn resume_behind_number(&mut self, view: &View<'_>, start: u64) -> bool {
        let next = self.number_end(view, start);
        self.position = next.unwrap_or(self.position);
        next.is_some()
    }

    /// Where the number ends whose frame is at a place, if frames lead on from there.
    fn number_end(&self, view: &View<'_>, position: u64) -> Option<u64> {
        let bytes = view.get(position..self.boundary);
        let (header, taken) = leb128::read(bytes).ok()?;
        let slot = self.streams.slot(u32::try_from(header >> 1).ok()?);
        (slot.form == Form::Leb128 && slot.chain == Chain::Closed && header & 1 == 0)
            .then_some(())?;
        let (_, length_bytes) = leb128::read(bytes.get(taken..)?).ok()?;
        let payload = taken + length_bytes;
        let next = position + (payload + number_bytes(bytes.get(payload..)?)?) as u64;
        let streams = Tried::new(&self.streams);
        let landing = self.landing(view);
        (next < landing && lands(streams, view, next, landing, &[]).is_ok()).then_some(next)
    }
}
