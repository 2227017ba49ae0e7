//! Frames, each taken when what follows it makes sense.

use crate::spec::{MARKER_BYTE, MARKER_HEADER, id};

use super::super::form::Form;
use super::super::marker::{PROOF_BYTES, index_after_damaged_marker};
use super::super::meta::Declared;
use super::super::parse::{
    FrameError, Padding, Parsed, is_marker_or_end, is_padding, padding, parse,
};
use super::super::resume::lands;
use super::super::streams::{Chain, StreamLookup as _, TrialStreams};
use super::super::{Begin, DamageKind, Frame, Item, NeedMore, View, is_marker};
use super::{CRC, FADE, MARKER, OF_STREAMS, UnitEnd, Walker};

impl Walker {
    pub(super) fn frame(&mut self, view: &View<'_>) -> Result<Option<Item>, NeedMore> {
        let position = self.position;
        match view.byte(position) {
            None if view.is_final() => return Ok(Some(Item::End)),
            None => return Err(NeedMore(position + 1)),
            Some(MARKER_HEADER) => return self.meet_marker(view),
            Some(_) if self.after_crc => return self.damage(view, position, DamageKind::NoMarker),
            Some(_) => {}
        }
        if let Some(id) = self.resolve_rest(view, position)? {
            // What follows may be of streams that nothing describes.
            let guessed = self.guess_streams(view, position, true);
            self.has_tried_rest = matches!(guessed, Ok(false));
            if guessed? {
                return Ok(None);
            }
            let found = self.damage(view, position, DamageKind::Rest(id));
            // With more bytes it is looked at again.
            return found.inspect_err(|_| self.has_tried_rest = false);
        }
        if self.is_spoilt_crc(view, position) {
            return self.damage(view, position, DamageKind::Crc);
        }
        let found = self.parse_plausible(view, position);
        if matches!(found, Ok(frame) if frame.id >= id::FIRST_USER)
            && (self.is_meta_due || self.is_meta_open || !self.is_proven_undescribed(view)?)
        {
            return self.damage(view, position, DamageKind::Undescribed);
        }
        if self.depends_on_end(&found) {
            self.find_end(view)?;
            return Ok(None);
        }
        match found {
            Ok(frame) if self.is_value_damaged(view, &frame)? => {
                self.damage(view, position, DamageKind::Value(frame.id))
            }
            Ok(frame) => self.take(view, &frame),
            Err(FrameError::Bad(why)) => self.damage(view, position, why),
            Err(FrameError::Short) => self.short(view, position),
        }
    }

    /// The next frame, where it and the one after it are plain: it is what all other ways to
    /// look at it would find.
    #[inline]
    pub(super) fn plain(&mut self, view: &View<'_>) -> Option<Frame> {
        if self.after_crc || self.is_unsettled || self.is_lost || self.queued[0].is_some() {
            return None;
        }
        if self.position < self.given[OF_STREAMS] {
            return None;
        }
        let bytes = view.get(self.position..self.boundary);
        let frame = self.streams.plain(bytes)?;
        let slot = *self.streams.dense_slot(frame.id)?;
        let is_formed = !matches!(slot.form, Form::Any | Form::Disproven);
        if is_formed && !frame.more && frame.begin == Begin::Start {
            slot.form.fits(bytes.get(frame.payload..frame.end)?).then_some(())?;
        }
        self.streams.commit_plain(&frame);
        if self.streams.plain(bytes.get(frame.end..)?).is_none() {
            if let Some(kept) = self.streams.slot_mut(frame.id) {
                *kept = slot;
            }
            return None;
        }
        let position = self.position;
        self.given[OF_STREAMS] = position + 1;
        self.position += frame.end as u64;
        self.data_end = self.position;
        Some(Frame {
            position,
            id: frame.id,
            more: frame.more,
            begin: frame.begin,
            payload: position + frame.payload as u64,
            end: self.position,
        })
    }

    /// Returns true if a frame would be another if the Unit ended elsewhere, and that is still
    /// open.
    pub(super) fn depends_on_end(&self, found: &Result<Parsed, FrameError>) -> bool {
        self.is_last
            && self.is_provisional()
            && match found {
                Ok(frame) => frame.end >= self.boundary,
                Err(FrameError::Bad(why)) => {
                    matches!(why, DamageKind::Boundary | DamageKind::More(_) | DamageKind::Padding)
                }
                Err(FrameError::Short) => false,
            }
    }

    /// Parses a frame, and looks whether it may be where it is.
    pub(super) fn parse_plausible(
        &mut self,
        view: &View<'_>,
        position: u64,
    ) -> Result<Parsed, FrameError> {
        let frame = parse(&self.streams, view, position, self.boundary)?;
        if frame.id >= id::FIRST_USER {
            return Ok(frame);
        }
        let is_open = self.streams.slot(frame.id).chain == Chain::Open;
        let is_in_place = match frame.id {
            id::NUL | id::PADDING => {
                if position >= self.padded {
                    self.look_at_padding(view, position)?;
                    self.padded = self.boundary;
                }
                true
            }
            id::MAJOR_INDEX => {
                is_open
                    || self.ruler.is_none_or(|ruler| u64::try_from(ruler.index()) == Ok(position))
            }
            id::META => is_open || !self.is_opened(),
            id::MINOR_INDEX => is_open || self.ruler.is_none() || self.is_tick(position),
            id::CRC => self.is_place_of_crc(view, &frame)?,
            // It stands behind the Meta. Anywhere else it says a byte order, or is none.
            id::PLATFORM => {
                let is_behind_meta = !self.is_opened() || position == self.opened;
                is_behind_meta || byte_order(view.get(frame.payload..frame.end)).is_some()
            }
            // One that is in its place is met as such.
            id::MARKER => false,
            _ => true,
        };
        if is_in_place { Ok(frame) } else { Err(FrameError::Bad(DamageKind::Place(frame.id))) }
    }

    /// Padding leads to a boundary. As long as more bytes may come, that is not yet known.
    fn look_at_padding(&mut self, view: &View<'_>, position: u64) -> Result<(), FrameError> {
        let next = self.boundary.saturating_add(1);
        if !view.reaches(next) && view.get(position..next).iter().all(|byte| *byte == 0) {
            return Err(FrameError::Short);
        }
        match padding(view, position, self.boundary) {
            Padding::Sound => Ok(()),
            Padding::Long if !view.reaches(self.unit_end()) => Err(FrameError::Short),
            Padding::Long if self.is_whole(view) => Ok(()),
            Padding::Long | Padding::Zeros => Err(FrameError::Bad(DamageKind::Zeros)),
            Padding::Broken => Err(FrameError::Bad(DamageKind::Padding)),
        }
    }

    /// Returns the offset at which the Unit ends with all that belongs to it.
    pub(super) fn unit_end(&self) -> u64 {
        self.ruler.map_or(self.boundary, |ruler| ruler.end().max(self.boundary))
    }

    /// Returns true if the checksum of the Unit holds. It is looked at once.
    pub(super) fn is_whole(&mut self, view: &View<'_>) -> bool {
        if let Some(is_whole) = self.is_unit_whole {
            return is_whole;
        }
        let is_whole = self.is_unit_sound(view);
        self.is_unit_whole = Some(is_whole);
        is_whole
    }

    /// Returns true if a checksum can be here: where the ruler has it, before a Marker, or where a
    /// writer ended, which zeros may follow. Anywhere else it is one only if it holds.
    fn is_place_of_crc(&mut self, view: &View<'_>, frame: &Parsed) -> Result<bool, FrameError> {
        let Some(ruler) = self.ruler else { return Ok(true) };
        let is_end = match self.end {
            UnitEnd::Known { marker, .. } => frame.end == marker,
            UnitEnd::Unknown => [ruler.end(), ruler.early_end()].contains(&frame.end),
        };
        if !view.reaches_for_now(frame.end + 2) {
            return Err(FrameError::Short);
        }
        if is_end || is_marker_or_end(view, frame.end) {
            return Ok(true);
        }
        if self.trusts_left == 0 {
            return Ok(false);
        }
        self.trusts_left -= 1;
        Ok(Self::is_zeros_to_end(view, frame.end) || self.is_held(view, frame.position))
    }

    /// Returns true if the checksum that ends a session is here, with a damaged header.
    fn is_spoilt_crc(&mut self, view: &View<'_>, position: u64) -> bool {
        let end = position + CRC;
        let ends = (view.is_final() && end == view.end()) || is_marker(view, end);
        ends && view.byte(position) != Some(0x10) && self.is_held(view, position)
    }

    /// Returns true if there are only zeros from here to the next Marker, or to the end.
    fn is_zeros_to_end(view: &View<'_>, position: u64) -> bool {
        let zeros = view.from(position).iter().take_while(|byte| **byte == 0).count() as u64;
        zeros > 0 && is_marker_or_end(view, position + zeros)
    }

    /// Returns true if the last byte of a frame is a zero that zeros follow: it cannot be told
    /// whether it was ever written.
    fn ends_in_zeros(view: &View<'_>, frame: &Parsed) -> bool {
        let around = view.get(frame.end - 1..frame.end + FADE);
        frame.id >= id::FIRST_USER
            && around.len() as u64 > FADE
            && around.iter().all(|byte| *byte == 0)
    }

    /// Returns true if the last byte of a frame and all that have come since are zeros: as long as
    /// nothing else comes, it cannot be told whether any of them was written.
    fn is_fading(view: &View<'_>, frame: &Parsed) -> bool {
        let around = view.from(frame.end - 1);
        frame.id >= id::FIRST_USER
            && !view.is_final()
            && around.len() > 1
            && around.iter().all(|byte| *byte == 0)
    }

    /// Returns true if the Meta of the Unit was read: it has no other.
    fn is_opened(&self) -> bool {
        let index = self.ruler.and_then(|ruler| u64::try_from(ruler.index()).ok());
        index.is_some_and(|index| index < self.opened)
    }

    pub(super) fn is_tick(&self, position: u64) -> bool {
        let ruler = self.ruler.filter(|ruler| ruler.index() < i64::try_from(position).unwrap_or(0));
        ruler.is_some_and(|ruler| ruler.tick_after(position.saturating_sub(1)) == position)
    }

    /// Gives a frame, unless what follows it says that it cannot be right.
    pub(super) fn take(
        &mut self,
        view: &View<'_>,
        frame: &Parsed,
    ) -> Result<Option<Item>, NeedMore> {
        let mut frame = *frame;
        frame.more = frame.more && self.continues(view, &frame)?;
        let told = self.meta_content(view, &frame)?;
        if let Some(told) = &told {
            (frame.payload, frame.end) = (frame.payload.min(told.end), told.end);
        }
        let frame = &frame;
        let slot = self.streams.slot(frame.id);
        self.streams.commit(frame, self.boundary);
        let trouble = self.trouble_after(view, frame);
        if !matches!(trouble, Ok(None)) {
            if let Some(kept) = self.streams.slot_mut(frame.id) {
                *kept = slot;
            }
            if let Some(why) = trouble? {
                if !self.is_before_changed(view, frame)? {
                    return self.skip_damage(view, frame.position, frame.end, why);
                }
                self.streams.commit(frame, self.boundary);
            }
        }
        self.position = frame.end;
        self.pass_ticks(view);
        if self.is_unsettled && frame.id >= id::FIRST_USER {
            self.streams.settle_fixed();
            self.is_unsettled = false;
        }
        if !is_padding(frame.id) {
            self.data_end = frame.end;
        }
        let begin = match slot.chain {
            Chain::Closed => Begin::Start,
            Chain::Within if slot.received == 0 => Begin::Unknown,
            Chain::Open | Chain::Within => Begin::Continuation,
            Chain::Unknown => Begin::Unknown,
        };
        let Parsed { position, id, more, payload, end } = *frame;
        self.note_special(view, frame, told);
        Ok(Some(Item::Frame(Frame { position, id, more, begin, payload, end })))
    }

    /// Returns true if a frame goes on as its `more` says. Nothing stands between the frames of a
    /// Meta but a tick: where something else follows, its `more` is damaged.
    fn continues(&self, view: &View<'_>, frame: &Parsed) -> Result<bool, NeedMore> {
        if !matches!(frame.id, id::META | id::MINOR_META) || frame.end >= self.boundary {
            return Ok(true);
        }
        Self::hope(view, frame.end + 1)?;
        let header = |byte: u8| u32::from(byte >> 1) == frame.id;
        Ok(view.byte(frame.end).is_none_or(|byte| header(byte) || byte >> 1 <= 1))
    }

    /// Returns the fault in the bytes after a frame that shows that the frame itself cannot be
    /// right.
    fn trouble_after(
        &mut self,
        view: &View<'_>,
        frame: &Parsed,
    ) -> Result<Option<DamageKind>, NeedMore> {
        if is_padding(frame.id) || frame.id == id::CRC {
            return Ok(None);
        }
        if frame.end >= self.boundary {
            if view.byte(frame.end - 1) == Some(0) {
                Self::hope(view, frame.end + FADE)?;
            }
            let is_fading = view.end() < frame.end + FADE && Self::is_fading(view, frame);
            return match Self::ends_in_zeros(view, frame) {
                false if is_fading => Err(NeedMore(frame.end + FADE)),
                fades_out => Ok(fades_out.then_some(DamageKind::Zeros)),
            };
        }
        match self.peek(view, frame) {
            Err(FrameError::Short) if Self::is_fading(view, frame) => Err(NeedMore(view.end() + 1)),
            Err(FrameError::Short) if !view.reaches_for_now(view.end() + 1) => {
                Err(NeedMore(view.end() + 1))
            }
            Ok(()) | Err(FrameError::Short) => Ok(None),
            Err(FrameError::Bad(DamageKind::Zeros)) => {
                let is_sound = view.byte(frame.end - 1) != Some(0) || frame.id < id::FIRST_USER;
                Ok((!is_sound).then_some(DamageKind::Zeros))
            }
            Err(FrameError::Bad(why)) => {
                if self.boundary < u64::MAX {
                    Self::need(view, self.boundary)?;
                }
                let is_right = self.is_alone(view, frame.end) || is_before_spoilt(view, frame.end)?;
                Ok((!is_right).then_some(why))
            }
        }
    }

    /// Returns true if a frame can follow, knowing the streams that this frame may define.
    pub(super) fn peek(&mut self, view: &View<'_>, frame: &Parsed) -> Result<(), FrameError> {
        if view.byte(frame.end) == Some(MARKER_HEADER) {
            return Ok(());
        }
        let found = self.parse_plausible(view, frame.end);
        match found {
            // It may be one that this very frame defines.
            Err(FrameError::Bad(DamageKind::Stream(_)))
                if matches!(frame.id, id::META | id::MINOR_META) =>
            {
                Ok(())
            }
            _ if self.depends_on_end(&found) => match self.find_end(view) {
                Ok(()) => self.peek(view, frame),
                Err(_) => Err(FrameError::Short),
            },
            other => other.map(|_| ()),
        }
    }

    /// Returns true if the frame at a place is damaged and the one before it is not: it names a
    /// stream, or what follows it makes sense as far as the boundary.
    pub(super) fn is_alone(&self, view: &View<'_>, position: u64) -> bool {
        let bytes = view.get(position..self.boundary);
        let Ok((header, taken)) = crate::leb128::read(bytes) else { return false };
        let id = u32::try_from(header >> 1).unwrap_or(u32::MAX);
        if id >= id::FIRST_USER && self.streams.slot(id).length != Declared::Unproven {
            return true;
        }
        let Ok((length, more_taken)) = crate::leb128::read(bytes.get(taken..).unwrap_or_default())
        else {
            return false;
        };
        let after = position.saturating_add((taken + more_taken) as u64).saturating_add(length);
        after < self.landing(view)
            && lands(TrialStreams::new(&self.streams), view, after, self.landing(view), &[]).is_ok()
    }

    /// Returns the offset at which frames are to end: the boundary, or the place where the writer
    /// stopped.
    pub(super) fn landing(&self, view: &View<'_>) -> u64 {
        if view.end() >= self.boundary {
            return self.boundary;
        }
        let crc = view.end().saturating_sub(CRC);
        if view.byte(crc) == Some(0x10) { crc } else { view.end() }
    }
}

/// Returns true if the payload of a platform frame tells of a big-endian writer.
pub(super) fn byte_order(payload: &[u8]) -> Option<bool> {
    match payload {
        [1, 2, 3, 4] => Some(true),
        [4, 3, 2, 1] => Some(false),
        _ => None,
    }
}

/// Returns true if a Marker begins here that is damaged and all there, as that of another session
/// may be.
fn is_before_spoilt(view: &View<'_>, position: u64) -> Result<bool, NeedMore> {
    let run = [MARKER_BYTE; 8];
    let bytes = view.get(position..position.saturating_add(MARKER));
    if !bytes.windows(run.len()).any(|bytes| bytes == run) {
        return Ok(false);
    }
    Walker::need(view, position.saturating_add(2 * MARKER + PROOF_BYTES))?;
    Ok(index_after_damaged_marker(view, position) == Some(position + MARKER))
}
