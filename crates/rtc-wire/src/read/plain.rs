//! Frames as most are, read without a detour.

use crate::spec::{PAYLOAD_BYTES_MAX, id};

use super::Begin;
use super::meta::Declared;
use super::streams::{Chain, Streams};

/// A frame of a known stream with a header of one byte, away from any boundary.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain {
    pub id: u32,
    pub more: bool,
    pub begin: Begin,
    /// Start of the payload, counted from the header.
    pub payload: usize,
    pub end: usize,
}

impl Streams {
    /// The frame that some bytes begin with, if it is plain and they go on beyond it.
    #[inline]
    pub(super) fn plain(&self, bytes: &[u8]) -> Option<Plain> {
        let header = *bytes.first().filter(|header| **header < 0x80)?;
        let id = u32::from(header >> 1);
        let slot = self.dense_slot(id).filter(|_| id >= id::FIRST_USER)?;
        let more = header & 1 == 1;
        let (begin, received) = match slot.chain {
            Chain::Closed => (Begin::Start, 0),
            Chain::Open => (Begin::Continuation, slot.received),
            Chain::Unknown | Chain::Within => return None,
        };
        let (payload, length) = match slot.length {
            Declared::Fixed(total) => {
                let left = total.checked_sub(received)?;
                let length = left.min(PAYLOAD_BYTES_MAX as u64);
                if more != (length < left) {
                    return None;
                }
                (1, usize::try_from(length).ok()?)
            }
            Declared::Variable => match (*bytes.get(1)?, bytes.get(2)) {
                (length @ ..0x80, _) => (2, usize::from(length)),
                (low, Some(&high @ ..0x08)) => {
                    (3, usize::from(low & 0x7F) | usize::from(high) << 7)
                }
                (0x80, Some(0x08)) => (3, PAYLOAD_BYTES_MAX),
                _ => return None,
            },
            Declared::Unproven => return None,
        };
        let end = payload + length;
        (end < bytes.len()).then_some(Plain { id, more, begin, payload, end })
    }

    /// Takes note of such a frame.
    #[inline]
    pub(super) fn commit_plain(&mut self, frame: &Plain) {
        if !frame.more && frame.begin == Begin::Start {
            return;
        }
        if let Some(slot) = self.slot_mut(frame.id) {
            let length = (frame.end - frame.payload) as u64;
            slot.received = if frame.more { slot.received.saturating_add(length) } else { 0 };
            slot.chain = if frame.more { Chain::Open } else { Chain::Closed };
        }
    }
}
