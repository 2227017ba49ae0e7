//! Frames, each taken when what follows it makes sense.

use crate::spec::{MARKER_HEADER, id};

use super::super::meta::Declared;
use super::super::parse::{Parsed, Trouble, is_padding, is_padding_to, parse};
use super::super::resume::lands;
use super::super::streams::Chain;
use super::super::{Begin, Frame, Item, NeedMore, View, Why};
use super::{CRC, Walker};

impl Walker {
    pub(super) fn frame(&mut self, view: &View<'_>) -> Result<Option<Item>, NeedMore> {
        let position = self.position;
        match view.byte(position) {
            None if view.is_final() => return Ok(Some(Item::End)),
            None => return Err(NeedMore(position + 1)),
            Some(MARKER_HEADER) => return self.meet_marker(view),
            Some(_) if self.after_crc => return self.damage(view, position, Why::NoMarker),
            Some(_) => {}
        }
        if let Some(id) = self.resolve_rest(view, position)? {
            return self.damage(view, position, Why::Rest(id));
        }
        let found = self.sensible(view, position);
        if self.depends_on_end(&found) {
            self.settle_end(view)?;
            return Ok(None);
        }
        match found {
            Ok(frame) => self.take(view, &frame),
            Err(Trouble::Bad(why)) => self.damage(view, position, why),
            Err(Trouble::Short) => self.short(view, position),
        }
    }

    /// The next frame, where it and the one after it are plain: it is what all other ways to
    /// look at it would find.
    #[inline]
    pub(super) fn plain(&mut self, view: &View<'_>) -> Option<Frame> {
        if self.after_crc || self.is_unsettled || self.is_lost || self.queued[0].is_some() {
            return None;
        }
        let bytes = view.get(self.position..self.boundary);
        let frame = self.streams.plain(bytes)?;
        let slot = *self.streams.dense_slot(frame.id)?;
        self.streams.commit_plain(&frame);
        if self.streams.plain(bytes.get(frame.end..)?).is_none() {
            if let Some(kept) = self.streams.slot_mut(frame.id) {
                *kept = slot;
            }
            return None;
        }
        let position = self.position;
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

    /// Whether a frame would be another if the Unit ended elsewhere, and that is still open.
    pub(super) fn depends_on_end(&self, found: &Result<Parsed, Trouble>) -> bool {
        self.is_last
            && self.is_provisional()
            && match found {
                Ok(frame) => frame.end >= self.boundary,
                Err(Trouble::Bad(why)) => {
                    matches!(why, Why::Boundary | Why::More(_) | Why::Padding)
                }
                Err(Trouble::Short) => false,
            }
    }

    /// Parses a frame, and looks whether it may be where it is.
    pub(super) fn sensible(&mut self, view: &View<'_>, position: u64) -> Result<Parsed, Trouble> {
        let frame = parse(&self.streams, view, position, self.boundary)?;
        if frame.id >= id::FIRST_USER {
            return Ok(frame);
        }
        let is_open = self.streams.slot(frame.id).chain == Chain::Open;
        let is_in_place = match frame.id {
            id::NUL | id::PADDING => {
                if position >= self.padded {
                    if !is_padding_to(view, position, self.boundary) {
                        return Err(Trouble::Bad(Why::Padding));
                    }
                    self.padded = self.boundary;
                }
                true
            }
            id::MAJOR_INDEX => {
                is_open
                    || self.ruler.is_none_or(|ruler| u64::try_from(ruler.index()) == Ok(position))
            }
            id::MINOR_INDEX => is_open || self.ruler.is_none() || self.is_tick(position),
            _ => true,
        };
        if is_in_place { Ok(frame) } else { Err(Trouble::Bad(Why::Place(frame.id))) }
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
        let slot = self.streams.slot(frame.id);
        self.streams.commit(frame, self.boundary);
        if frame.end < self.boundary
            && !is_padding(frame.id)
            && frame.id != id::CRC
            && let Err(Trouble::Bad(why)) = self.peek(view, frame)
            && !self.is_alone(view, frame.end)
        {
            if let Some(kept) = self.streams.slot_mut(frame.id) {
                *kept = slot;
            }
            return self.damage_noticed(view, frame.position, frame.end, why);
        }
        self.position = frame.end;
        if self.is_unsettled && frame.id >= id::FIRST_USER {
            self.streams.settle_fixed(frame.id);
            self.is_unsettled = self.streams.slot(frame.id).chain == Chain::Unknown;
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
        self.note_special(view, frame);
        Ok(Some(Item::Frame(Frame { position, id, more, begin, payload, end })))
    }

    /// Whether a frame can follow, knowing the streams that this frame may define.
    pub(super) fn peek(&mut self, view: &View<'_>, frame: &Parsed) -> Result<(), Trouble> {
        if view.byte(frame.end) == Some(MARKER_HEADER) {
            return Ok(());
        }
        let found = self.sensible(view, frame.end);
        match found {
            // It may be one that this very frame defines.
            Err(Trouble::Bad(Why::Stream(_))) if matches!(frame.id, id::META | id::MINOR_META) => {
                Ok(())
            }
            _ if self.depends_on_end(&found) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Whether the frame at a place is damaged and the one before it is not: it names a stream,
    /// or what follows it makes sense as far as the boundary.
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
            && lands(&self.streams, view, after, self.landing(view), &[]).is_ok()
    }

    /// Where frames are to end: the boundary, or where the writer stopped.
    pub(super) fn landing(&self, view: &View<'_>) -> u64 {
        if view.end() >= self.boundary {
            return self.boundary;
        }
        let crc = view.end().saturating_sub(CRC);
        if view.byte(crc) == Some(0x10) { crc } else { view.end() }
    }
}
