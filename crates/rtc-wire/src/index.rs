//! The payload of Index and index frames: where each stream was last.

use alloc::vec::Vec;

use crate::leb128::{self, Encoded, Leb128Error};

/// One entry: a stream and how far back its frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The stream.
    pub id: u32,
    /// The bytes from the header of that frame to the header of the index frame; 0 when there
    /// was none.
    pub back_bytes: u64,
}

impl Entry {
    /// Appends the entry to a payload.
    pub fn write(self, to: &mut Vec<u8>) {
        to.extend_from_slice(Encoded::unsigned(u64::from(self.id) << 1 | 1).as_bytes());
        to.extend_from_slice(Encoded::unsigned(self.back_bytes << 1).as_bytes());
    }
}

/// Reason why an index cannot be read, and the byte of its payload at which that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexError {
    /// The byte of the payload.
    pub at: usize,
    /// Description of what is wrong.
    pub why: &'static str,
}

/// The entries of an index, from a payload after its count.
#[derive(Debug, Clone, Copy)]
pub struct Entries<'a> {
    bytes: &'a [u8],
}

impl<'a> Entries<'a> {
    /// The entries of an `index`, or of an `Index` after [`split_count`].
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Every entry in turn; after an error nothing more.
    pub fn iter(self) -> impl Iterator<Item = Result<Entry, IndexError>> + 'a {
        let mut at = 0;
        core::iter::from_fn(move || {
            if at >= self.bytes.len() {
                return None;
            }
            let entry = self.entry(at);
            at = entry.map_or(self.bytes.len(), |(_, end)| end);
            Some(entry.map(|(entry, _)| entry))
        })
    }

    /// Finds a stream by halves, without knowing where entries begin: ids have the low bit set,
    /// offsets do not.
    pub fn find(self, id: u32) -> Result<Option<Entry>, IndexError> {
        let (mut low, mut high) = (0, self.bytes.len());
        while low < high {
            let at = self.entry_before(low, low.midpoint(high));
            let (entry, end) = self.entry(at)?;
            match entry.id.cmp(&id) {
                core::cmp::Ordering::Equal => return Ok(Some(entry)),
                core::cmp::Ordering::Less => low = end,
                core::cmp::Ordering::Greater => high = at,
            }
        }
        Ok(None)
    }

    /// Returns the start of the entry that holds byte `at`, not before `low`, which begins one.
    fn entry_before(self, low: usize, at: usize) -> usize {
        let start = self.number_before(low, at);
        match self.bytes.get(start) {
            Some(byte) if byte & 1 == 0 && start > low => self.number_before(low, start - 1),
            _ => start,
        }
    }

    /// Returns the start of the number that holds byte `at`.
    fn number_before(self, low: usize, mut at: usize) -> usize {
        while at > low && self.bytes.get(at - 1).is_some_and(|byte| byte & 0x80 != 0) {
            at -= 1;
        }
        at
    }

    fn entry(self, at: usize) -> Result<(Entry, usize), IndexError> {
        let (id, end) = self.number(at)?;
        let (offset, after) = self.number(end)?;
        let id = u32::try_from(id >> 1).ok().filter(|_| id & 1 == 1);
        let id = id.ok_or(IndexError { at, why: "not the id of a stream" })?;
        if offset & 1 == 1 {
            return Err(IndexError { at: end, why: "an offset with its low bit set" });
        }
        Ok((Entry { id, back_bytes: offset >> 1 }, after))
    }

    fn number(self, at: usize) -> Result<(u64, usize), IndexError> {
        number(self.bytes, at)
    }
}

/// Splits the payload of an `Index` into the count of its Unit and its entries.
pub fn split_count(payload: &[u8]) -> Result<(u64, Entries<'_>), IndexError> {
    let (count, end) = number(payload, 0)?;
    Ok((count, Entries::new(payload.get(end..).unwrap_or_default())))
}

fn number(bytes: &[u8], at: usize) -> Result<(u64, usize), IndexError> {
    match leb128::read(bytes.get(at..).unwrap_or_default()) {
        Ok((value, length)) => Ok((value, at + length)),
        Err(Leb128Error::Short) => Err(IndexError { at, why: "the index ends within a number" }),
        Err(Leb128Error::TooLarge) => Err(IndexError { at, why: "a number over 64 bits" }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::collection::btree_map;
    use proptest::prelude::*;

    #[test]
    fn bytes_worked_out_by_hand_are_read() {
        // Unit 2; stream 3 lies 0x2000 bytes back, stream 4 was never seen.
        let (count, entries) = split_count(&[2, 7, 0x80, 0x80, 1, 9, 0]).unwrap();
        assert_eq!(count, 2);
        let entries: Vec<_> = entries.iter().map(Result::unwrap).collect();
        assert_eq!(entries, [Entry { id: 3, back_bytes: 0x2000 }, Entry { id: 4, back_bytes: 0 }]);
    }

    #[test]
    fn what_is_no_index_is_refused_where_it_goes_wrong() {
        let error = Entries::new(&[7, 4, 8, 4]).iter().last().unwrap().unwrap_err();
        assert_eq!((error.at, error.why), (2, "not the id of a stream"));
        let error = Entries::new(&[7, 3]).iter().last().unwrap().unwrap_err();
        assert_eq!(error.at, 1);
    }

    proptest! {
        #[test]
        fn every_entry_is_found(entries in btree_map(any::<u32>(), 0..u64::MAX >> 1, 0..300), other: u32) {
            let mut bytes = Vec::new();
            for (&id, &back_bytes) in &entries {
                Entry { id, back_bytes }.write(&mut bytes);
            }
            let index = Entries::new(&bytes);
            for (&id, &back_bytes) in &entries {
                prop_assert_eq!(index.find(id), Ok(Some(Entry { id, back_bytes })));
            }
            let expected = entries.get(&other).map(|&back_bytes| Entry { id: other, back_bytes });
            prop_assert_eq!(index.find(other), Ok(expected));
        }

        #[test]
        fn no_bytes_make_a_search_fail_to_end(bytes: Vec<u8>, id: u32) {
            let _ = Entries::new(&bytes).find(id);
        }
    }
}
