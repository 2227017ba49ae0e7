//! An Index or index by itself, to look up where streams are.

use alloc::borrow::Cow;

use crate::index::{Entries, split_count};
use crate::leb128;
use crate::spec::PAYLOAD_BYTES_MAX;

use super::View;

/// An Index or index, read at its place.
#[derive(Debug, Clone)]
pub struct Lookup<'a> {
    position: u64,
    end: u64,
    payload: Cow<'a, [u8]>,
    is_major: bool,
}

/// Entry of an index for a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexedStream {
    /// Nothing.
    Absent,
    /// It was never seen.
    Never,
    /// Its first frame in the last unit that has any.
    At(u64),
}

impl<'a> Lookup<'a> {
    /// Reads the index whose first frame is here; one of many streams takes several frames.
    #[must_use]
    pub fn read(view: &View<'a>, position: u64) -> Option<Self> {
        let header = view.byte(position)? & !1;
        let mut payload = Cow::Borrowed(&[][..]);
        let mut at = position;
        loop {
            let head = view.get(at..at.saturating_add(4));
            let first = *head.first().filter(|first| **first & !1 == header)?;
            let (length, taken) = leb128::read(head.get(1..)?).ok()?;
            let start = at + 1 + taken as u64;
            let part = view.get(start..start.saturating_add(length));
            if part.len() as u64 != length || part.len() > PAYLOAD_BYTES_MAX {
                return None;
            }
            if payload.is_empty() {
                payload = Cow::Borrowed(part);
            } else {
                payload.to_mut().extend_from_slice(part);
            }
            at = start + length;
            if first & 1 == 0 {
                break;
            }
        }
        let is_major = header == 0x06;
        (is_major || header == 0x08).then_some(Self { position, end: at, payload, is_major })
    }

    /// Returns the offset at which its last frame ends.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Every entry.
    #[must_use]
    pub fn entries(&self) -> Entries<'_> {
        match split_count(&self.payload) {
            Ok((_, entries)) if self.is_major => entries,
            _ => Entries::new(&self.payload),
        }
    }

    /// Returns the offset at which each stream was last, as given by the index, as far as it makes
    /// sense.
    pub fn places(&self) -> impl Iterator<Item = (u32, u64)> {
        let entries = self.entries().iter().map_while(Result::ok);
        let seen = entries.filter(|entry| entry.back_bytes > 0);
        seen.filter_map(|entry| Some((entry.id, self.position.checked_sub(entry.back_bytes)?)))
    }

    /// Returns the entry of the index for a stream; `None` where it makes no sense.
    #[must_use]
    pub fn find(&self, id: u32) -> Option<IndexedStream> {
        match self.entries().find(id).ok()? {
            None => Some(IndexedStream::Absent),
            Some(entry) if entry.back_bytes == 0 => Some(IndexedStream::Never),
            Some(entry) => self.position.checked_sub(entry.back_bytes).map(IndexedStream::At),
        }
    }
}
