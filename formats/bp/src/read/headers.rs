//! Headers that repeat.
//!
//! A file has the same few variables again and again, and each time all of the header is the
//! same: its length, name, path, type and dimensions. To compare it with one that was read
//! before is cheaper than to read it.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use kymo_core::bytes::Endian;

use super::element::parse_usual;
use crate::types::{Element, ElementKind};

/// Headers that are remembered. A file made to be slow may have a different one each time.
const HEADERS_MAX: usize = 1 << 14;

/// Marks an element whose header is not remembered.
pub(super) const NONE: u32 = u32::MAX;

/// A header that was read, and what came of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header<'a> {
    /// All before the values, borrowed from the file.
    pub(super) bytes: &'a [u8],
    /// Offset at which it stands first.
    pub(super) offset: u64,
    /// The length of an element that begins with it.
    pub(super) length: u64,
    pub(super) kind: ElementKind,
    /// The variable of such elements, as the grouping counts them.
    pub(super) variable: u32,
    /// The header that followed it last.
    next: u32,
}

impl<'a> Header<'a> {
    pub(super) fn new(
        element: &Element<'_>,
        bytes: &'a [u8],
        kind: ElementKind,
        variable: u32,
    ) -> Self {
        let Element { offset, length, .. } = *element;
        Self { bytes, offset, length, kind, variable, next: NONE }
    }

    /// The size of the values after it.
    pub(super) fn payload_bytes(&self) -> u64 {
        self.length - self.bytes.len() as u64
    }
}

/// The headers of a file, each once.
#[derive(Default)]
pub(super) struct Headers<'a> {
    all: Vec<Header<'a>>,
    by_bytes: HashTable<u32>,
    hasher: RandomState,
    previous: u32,
}

impl<'a> Headers<'a> {
    pub(super) fn get(&self, id: u32) -> Option<&Header<'a>> {
        self.all.get(id as usize)
    }

    /// The header that came after the previous one before, if bytes begin with it again.
    pub(super) fn expected(&self, head: &[u8]) -> Option<(u32, Header<'a>)> {
        let id = self.get(self.previous)?.next;
        let header = self.get(id)?;
        head.starts_with(header.bytes).then_some((id, *header))
    }

    /// Finds a header that was read before.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<u32> {
        let same = |&id: &u32| self.get(id).is_some_and(|header| header.bytes == bytes);
        self.by_bytes.find(self.hasher.hash_one(bytes), same).copied()
    }

    /// Remembers a header that was not there before, unless there are too many.
    pub(super) fn add(&mut self, header: Header<'a>) -> u32 {
        let Self { all, by_bytes, hasher, .. } = self;
        let Some(id) = u32::try_from(all.len()).ok().filter(|_| all.len() < HEADERS_MAX) else {
            return NONE;
        };
        all.push(header);
        by_bytes.insert_unique(hasher.hash_one(header.bytes), id, |&id| {
            all.get(id as usize).map_or(0, |header| hasher.hash_one(header.bytes))
        });
        id
    }

    /// Takes note of the header of the element that was taken, to expect it after the same one.
    pub(super) fn passed(&mut self, id: u32) {
        if let Some(previous) = self.all.get_mut(self.previous as usize) {
            previous.next = id;
        }
        self.previous = id;
    }

    /// Adds the headers of a later part of the file, whose variables have these numbers here.
    /// Gives the number of each.
    pub(super) fn join(&mut self, later: &Headers<'a>, variables: &[u32]) -> Vec<u32> {
        let number = |header: &Header<'a>| {
            let variable = variables.get(header.variable as usize).copied().unwrap_or(NONE);
            self.find(header.bytes)
                .unwrap_or_else(|| self.add(Header { variable, next: NONE, ..*header }))
        };
        later.all.iter().map(number).collect()
    }

    /// Returns the place of each header, to be kept.
    pub(super) fn into_places(self) -> Vec<HeaderOffset> {
        let place = |header: Header<'_>| HeaderOffset {
            offset: header.offset,
            bytes: u32::try_from(header.bytes.len()).unwrap_or(0),
        };
        self.all.into_iter().map(place).collect()
    }
}

/// Place in its file at which a header stands first.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeaderOffset {
    offset: u64,
    bytes: u32,
}

impl HeaderOffset {
    /// An element that begins with this header, without a look at the element's own bytes: they
    /// may be far away, and the header that was read first is near.
    pub(super) fn element(
        self,
        all: &[u8],
        offset: u64,
        length: u64,
        endian: Endian,
    ) -> Option<Element<'_>> {
        let part = |from: u64, bytes: u64| {
            let from = usize::try_from(from).ok()?;
            all.get(from..from.checked_add(usize::try_from(bytes).ok()?)?)
        };
        let header_bytes = u64::from(self.bytes);
        let header = part(self.offset, header_bytes)?;
        let mut element = parse_usual(header, offset, length, endian)?;
        let values = part(offset + header_bytes, length.checked_sub(header_bytes)?)?;
        element.payload.as_mut()?.bytes = values;
        Some(element)
    }
}
