//! One frame at one place.

use crate::leb128::{self, Leb128Error};
use crate::spec::{MARKER_HEADER, PAYLOAD_BYTES_MAX, id};

use super::meta::Declared;
use super::streams::{Chain, Slot, StreamLookup, Streams, TrialStreams};
use super::{DamageKind, View};

const PAYLOAD_MAX: u64 = PAYLOAD_BYTES_MAX as u64;

/// A frame as its header tells, before anything is made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parsed {
    pub position: u64,
    pub id: u32,
    pub more: bool,
    pub payload: u64,
    pub end: u64,
}

/// Reason why there is no frame at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameError {
    /// The bytes end before the frame does.
    Short,
    Bad(DamageKind),
}

/// Reads the frame at a place, which may not reach beyond `boundary`.
#[inline]
pub(super) fn parse(
    streams: &impl StreamLookup,
    view: &View<'_>,
    position: u64,
    boundary: u64,
) -> Result<Parsed, FrameError> {
    let bytes = view.get(position..boundary);
    let is_cut = view.end() < boundary;
    let number = |at: usize| {
        leb128::read(bytes.get(at..).unwrap_or_default()).map_err(|error| match error {
            Leb128Error::Short if is_cut => FrameError::Short,
            Leb128Error::Short => FrameError::Bad(DamageKind::Boundary),
            Leb128Error::TooLarge => FrameError::Bad(DamageKind::Number),
        })
    };
    let (header, taken) = number(0)?;
    let id = u32::try_from(header >> 1).map_err(|_| FrameError::Bad(DamageKind::Number))?;
    let more = header & 1 == 1;
    let slot = streams.slot(id);
    let (length, payload) = match slot.length {
        Declared::Variable => {
            let (length, more_taken) = number(taken)?;
            if length > PAYLOAD_MAX {
                return Err(FrameError::Bad(DamageKind::Length(length)));
            }
            (length, position + (taken + more_taken) as u64)
        }
        Declared::Fixed(total) => {
            let payload = position + taken as u64;
            let left = match slot.chain {
                Chain::Open => total.saturating_sub(slot.received),
                Chain::Closed | Chain::Unknown => total,
                Chain::Within => u64::MAX,
            };
            let length = left.min(PAYLOAD_MAX).min(boundary.saturating_sub(payload));
            if more != (length < left) {
                return Err(FrameError::Bad(DamageKind::More(id)));
            }
            (length, payload)
        }
        Declared::Unproven => return Err(FrameError::Bad(DamageKind::Stream(id))),
    };
    let end = payload + length;
    if end > boundary {
        return Err(FrameError::Bad(DamageKind::Boundary));
    }
    if end > view.end() {
        return Err(FrameError::Short);
    }
    Ok(Parsed { position, id, more, payload, end })
}

impl Streams {
    /// Takes note of a frame that may not cross `boundary`: what it leaves open.
    #[inline]
    pub(super) fn commit(&mut self, frame: &Parsed, boundary: u64) {
        if let Some(slot) = self.slot_mut(frame.id) {
            *slot = slot_after(*slot, frame, boundary);
        }
    }
}

impl TrialStreams<'_> {
    /// Takes note of a frame that may not cross `boundary`: what it leaves open.
    pub(super) fn commit(&mut self, frame: &Parsed, boundary: u64) {
        self.set(frame.id, slot_after(self.slot(frame.id), frame, boundary));
    }
}

/// Returns the state of a stream after a frame of it.
fn slot_after(slot: Slot, frame: &Parsed, boundary: u64) -> Slot {
    let is_open = matches!(slot.chain, Chain::Open | Chain::Within);
    let received = if is_open { slot.received } else { 0 };
    let length = frame.end - frame.payload;
    let chain = match (frame.more, slot.chain, slot.length) {
        (false, ..) => Chain::Closed,
        (true, Chain::Within, _) => Chain::Within,
        // It is all that is left of the unit, and how much came before is not known.
        (true, Chain::Unknown, Declared::Fixed(_)) if frame.end == boundary => Chain::Within,
        (true, ..) => Chain::Open,
    };
    Slot { received: if frame.more { received.saturating_add(length) } else { 0 }, chain, ..slot }
}

/// Result of following padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Padding {
    /// A boundary, the end of the bytes, or the next Marker or checksum.
    Sound,
    /// There is something else.
    Broken,
    /// Zeros lead beyond the boundary, or to the end of the bytes. A writer says how long its
    /// padding is, where that is more than a byte.
    Zeros,
    /// More zeros than writers leave lead to the boundary. They may be padding all the same, but a
    /// disk that lost what was there has zeros too.
    Long,
}

/// As many zeros as a writer may leave that has no room for a checksum.
const STOP_ZEROS_MAX: u64 = 4;

/// Returns what the padding from here on leads to.
pub(super) fn padding(view: &View<'_>, mut position: u64, boundary: u64) -> Padding {
    let mut sound = Padding::Sound;
    while position < boundary {
        let bytes = view.get(position..boundary);
        match bytes.first() {
            None => return Padding::Sound,
            Some(0) => {
                let zeros = bytes.iter().take_while(|&&byte| byte == 0).count() as u64;
                position += zeros;
                if zeros > STOP_ZEROS_MAX {
                    sound = Padding::Long;
                }
                match view.byte(position) {
                    Some(0) | None if zeros > 1 => return Padding::Zeros,
                    None if position < boundary => return Padding::Zeros,
                    Some(MARKER_HEADER) if position < boundary && zeros > STOP_ZEROS_MAX => {
                        return Padding::Zeros;
                    }
                    _ => {}
                }
            }
            Some(2) => match leb128::read(bytes.get(1..).unwrap_or_default()) {
                Ok((length, taken)) if length <= PAYLOAD_MAX => {
                    position += 1 + taken as u64 + length;
                }
                Err(Leb128Error::Short) if view.end() < boundary => return Padding::Sound,
                _ => return Padding::Broken,
            },
            // A writer that stopped: only its checksum may follow, and then another session.
            Some(0x10) if is_marker_or_end(view, position + 5) => return sound,
            Some(0x10) => return Padding::Broken,
            Some(_) if is_marker_or_end(view, position) => return sound,
            Some(_) => return Padding::Broken,
        }
    }
    if position == boundary { sound } else { Padding::Broken }
}

/// Returns true if a Marker begins here, as far as the bytes go.
pub(super) fn is_marker_or_end(view: &View<'_>, position: u64) -> bool {
    let begin = view.get(position..position.saturating_add(2));
    [0x04, 0xB9].starts_with(begin)
}

/// Returns true if an id is one of padding.
pub(super) fn is_padding(id: u32) -> bool {
    id == id::NUL || id == id::PADDING
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_may_end_with_a_checksum_where_the_file_or_a_session_ends() {
        let padding_and_checksum = [0x02, 0x00, 0x10, 1, 2, 3, 4];
        for (after, is_padding) in
            [(&[][..], true), (&[0x04, 0xB9, 0xB9], true), (&[0x04], true), (&[0x12, 0x01], false)]
        {
            let bytes = [&padding_and_checksum[..], after].concat();
            let found = padding(&View::from_file(&bytes), 0, 7);
            assert_eq!(found == Padding::Sound, is_padding, "{after:?}");
        }
    }

    #[test]
    fn zeros_are_padding_only_where_the_ruler_has_room_for_it() {
        // A byte of padding before a tick at 1, whatever follows it; two with their length.
        let item = |bytes: &[u8], boundary| padding(&View::from_file(bytes), 0, boundary);
        assert_eq!(item(&[0, 8, 1], 1), Padding::Sound);
        assert_eq!(item(&[0, 0], 1), Padding::Sound);
        assert_eq!(item(&[2, 0, 8, 1], 2), Padding::Sound);
        // A run of nul frames that ends at the tick, as the specification allows.
        assert_eq!(item(&[0, 0, 0, 8, 1], 3), Padding::Sound);
        // More of them than a writer has a reason for, also behind padding with its length.
        assert_eq!(item(&[0, 0, 0, 0, 0, 8, 1], 5), Padding::Long);
        assert_eq!(item(&[2, 1, 0, 0, 0, 0, 0, 0, 8, 1], 8), Padding::Long);
        // Beyond the tick, or not as far.
        assert_eq!(item(&[0; 4], 3), Padding::Zeros);
        assert_eq!(item(&[0; 3], 3), Padding::Zeros);
        assert_eq!(item(&[0; 3], 4), Padding::Zeros);
        assert_eq!(item(&[0], 4), Padding::Zeros);
        assert_eq!(item(&[0, 0, 9, 1], 4), Padding::Broken);
        // A session that was ended near a tick, and one that was not, before another.
        assert_eq!(item(&[0, 0, 0, 0, 4, 0xB9], 6), Padding::Sound);
        assert_eq!(item(&[0, 0, 0, 0, 0, 4, 0xB9], 7), Padding::Zeros);
    }
}
