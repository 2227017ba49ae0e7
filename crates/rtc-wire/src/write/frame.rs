//! The bytes around a payload, and how much payload fits.

use super::page::Page;
use super::{Output, WriteError};
use crate::leb128::{self, Encoded};
use crate::meta::StreamMeta;
use crate::spec::{MARKER_HEADER, PAYLOAD_BYTES_MAX};

/// The most bytes of an id.
const ID_BYTES_MAX: usize = 5;

/// The first bytes of a stream's frames: its id, with the lowest bit free for `more`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    bytes: [u8; ID_BYTES_MAX],
    length: u8,
}

impl Header {
    pub(super) fn new(id: u32) -> Self {
        let mut header = Self { bytes: [0; ID_BYTES_MAX], length: 0 };
        for (slot, &byte) in
            header.bytes.iter_mut().zip(Encoded::unsigned(u64::from(id) << 1).as_bytes())
        {
            *slot = byte;
            header.length += 1;
        }
        header
    }

    #[inline]
    pub(super) fn len(self) -> usize {
        usize::from(self.length)
    }

    /// Fills the bytes before a payload: this header with its `more`, and a length if the stream
    /// needs one.
    #[inline]
    pub(super) fn fill(self, to: &mut [u8], payload: usize, more: bool) {
        let [first, others @ ..] = to else { return };
        let [id, rest @ ..] = self.bytes;
        *first = id | u8::from(more);
        if others.is_empty() {
            return;
        }
        let (ids, lengths) = others.split_at_mut(others.len().min(self.len() - 1));
        for (slot, byte) in ids.iter_mut().zip(rest) {
            *slot = byte;
        }
        fill_length(lengths, payload);
    }
}

/// Fills one or two bytes with the length of a payload of at most 1024 bytes.
#[inline]
fn fill_length(to: &mut [u8], payload: usize) {
    let [low, high, ..] = payload.to_le_bytes();
    match to {
        [byte] => *byte = low,
        [first, second] => {
            *first = low | 0x80;
            *second = high << 1 | low >> 7;
        }
        _ => {}
    }
}

/// Writes a frame whose place was found.
pub(super) fn put<O: Output>(
    page: &mut Page<O>,
    header: Header,
    has_length: bool,
    payload: &[u8],
    more: bool,
) -> Result<(), WriteError<O::Error>> {
    let length = if has_length { length_bytes(payload.len()) } else { 0 };
    let head_bytes = header.len() + length;
    if let Some(frame) = page.take(head_bytes + payload.len()) {
        let (head, body) = frame.split_at_mut(head_bytes);
        header.fill(head, payload.len(), more);
        body.copy_from_slice(payload);
        return Ok(());
    }
    // The buffer ends within the frame.
    let mut bytes = [0; ID_BYTES_MAX + 2];
    let head = bytes.get_mut(..head_bytes).unwrap_or_default();
    header.fill(head, payload.len(), more);
    page.put(head)?;
    page.put(payload)
}

/// Writes a frame, with a length, of a stream that always exists.
pub(super) fn put_system<O: Output>(
    page: &mut Page<O>,
    id: u32,
    payload: &[u8],
    more: bool,
) -> Result<(), WriteError<O::Error>> {
    put(page, Header::new(id), true, payload, more)
}

/// The first id, from `id` on, with which no frame of the stream can look like a Marker.
///
/// A frame of a fixed length has its payload right behind the header. Where that header ends with
/// the byte of a Marker's, 1024 bytes of a Marker's payload would make it one.
pub(super) fn id_unlike_a_marker(id: u32, meta: &StreamMeta) -> u32 {
    let is_long = meta.length_bytes().is_some_and(|length| length >= PAYLOAD_BYTES_MAX as u64);
    let header = Header::new(id);
    let last = header.bytes.get(header.len() - 1);
    if is_long && last == Some(&MARKER_HEADER) {
        // The least id whose last byte is the next; seven bits of each byte before it count.
        let shift = 7 * (header.len() - 1);
        return u32::from(MARKER_HEADER + 1) << shift >> 1;
    }
    id
}

/// Returns the number of bytes in the header of a stream's frames.
pub(super) fn header_bytes(id: u32) -> usize {
    leb128::length(u64::from(id) << 1)
}

/// Returns the number of bytes for the length of a payload of at most 1024 bytes.
#[inline]
pub(super) fn length_bytes(payload: usize) -> usize {
    if payload < 0x80 { 1 } else { 2 }
}

/// Returns the number of bytes of a payload that go into one frame. The frame has `room` bytes for
/// them, and for their length when the stream needs one.
pub(super) fn fit(payload: usize, room: u64, has_length: bool) -> usize {
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    if !has_length {
        return payload.min(PAYLOAD_BYTES_MAX).min(room);
    }
    let short = payload.min(0x7F).min(room.saturating_sub(1));
    let long = payload.min(PAYLOAD_BYTES_MAX).min(room.saturating_sub(2));
    short.max(long)
}

/// The bytes that a payload takes as a chain of frames whose ids have one byte.
pub(super) fn chained(payload: usize) -> usize {
    payload + 3 * payload.div_ceil(PAYLOAD_BYTES_MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_as_worked_out_by_hand() {
        let mut bytes = [0; 3];
        Header::new(9).fill(&mut bytes, 1024, true);
        assert_eq!(bytes, [19, 0x80, 8]);
        // Stream 64 is 128 when shifted: two bytes.
        Header::new(64).fill(&mut bytes, 127, true);
        assert_eq!(bytes, [0x81, 1, 127]);
        let mut bytes = [0; 1];
        Header::new(10).fill(&mut bytes, 16, false);
        assert_eq!(bytes, [20]);
    }

    #[test]
    fn long_frames_of_a_fixed_length_cannot_look_like_a_marker() {
        let long = StreamMeta::new("long").length(1024);
        for (id, expected) in [(255, 255), (256, 320), (319, 320), (320, 320), (32768, 40960)] {
            assert_eq!(id_unlike_a_marker(id, &long), expected);
            assert_eq!(id_unlike_a_marker(id, &StreamMeta::new("short").length(1023)), id);
        }
        // What is passed over is just what ends with the byte of a Marker's header.
        for id in 9..100_000 {
            let header = Encoded::unsigned(u64::from(id) << 1);
            let is_like = header.as_bytes().ends_with(&[MARKER_HEADER]);
            assert_eq!(id_unlike_a_marker(id, &long) != id, is_like, "{id}");
        }
    }

    #[test]
    fn a_length_of_two_bytes_is_only_used_where_it_gains_something() {
        assert_eq!(fit(1000, 129, true), 127);
        assert_eq!(fit(1000, 130, true), 128);
        assert_eq!(fit(5000, 5000, true), 1024);
        assert_eq!(fit(1, 1, true), 0);
        assert_eq!(fit(1, 1, false), 1);
    }
}
