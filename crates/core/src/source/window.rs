//! Many small looks at a large file, in ascending order.

use super::{Kind, Source};

/// Read at once where looks are close together: small enough to stay in the cache.
const BLOCK_BYTES: usize = 512 << 10;
/// Looks that are further apart than this are read one by one.
const NEAR_BYTES: u64 = 32 << 10;

/// Looks at places of a source one after the other, such as the headers of its records.
///
/// Faster than looking at the mapped bytes: where records are small, going from one to the next
/// through a mapping waits for memory each time, while a copy by the block comes in a stream.
#[derive(Debug)]
pub struct Window<'a> {
    source: &'a Source,
    all: &'a [u8],
    block: Vec<u8>,
    start: u64,
}

impl<'a> Window<'a> {
    pub(super) fn new(source: &'a Source, all: &'a [u8]) -> Self {
        Self { source, all, block: Vec::new(), start: 0 }
    }

    /// The bytes from an offset on: `length` of them, or fewer at the end of the file.
    ///
    /// The end is where it was at opening, also when the file has grown since.
    pub fn bytes_at(&mut self, offset: u64, length: usize) -> &[u8] {
        let left = (self.all.len() as u64).saturating_sub(offset);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let length = length.min(left);
        let Kind::File { mapping, .. } = &self.source.kind else {
            return self.mapped(offset, length);
        };
        if !self.holds(offset, length) {
            let end = self.start + self.block.len() as u64;
            let is_near = offset.checked_sub(end).is_some_and(|gap| gap < NEAR_BYTES);
            let wanted = if is_near || self.holds(offset, 0) { BLOCK_BYTES } else { length };
            self.block.resize(wanted.max(length).min(left), 0);
            let read = mapping.read_at(&mut self.block, offset);
            self.block.truncate(read.unwrap_or(0));
            self.start = offset;
        }
        if self.holds(offset, length) {
            let skip = usize::try_from(offset - self.start).unwrap_or(usize::MAX);
            let rest = self.block.get(skip..).unwrap_or_default();
            return rest.get(..length).unwrap_or(rest);
        }
        // The end of the file, or a read that failed: the mapping tells which.
        self.mapped(offset, length)
    }

    fn holds(&self, offset: u64, length: usize) -> bool {
        let end = self.start + self.block.len() as u64;
        self.start <= offset && offset < end && length as u64 <= end - offset
    }

    fn mapped(&self, offset: u64, length: usize) -> &'a [u8] {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.all.get(start..).unwrap_or_default();
        rest.get(..length).unwrap_or(rest)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::bytes::Limits;

    #[test]
    fn a_window_shows_the_bytes_of_the_file_wherever_it_looks() {
        let bytes: Vec<u8> =
            (0..3_000_000_u32).map(|i| i.to_le_bytes()[(i % 3) as usize]).collect();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&bytes).unwrap();
        let mapped = Source::open(file.path(), &Limits::default()).unwrap();
        let memory = Source::from_bytes("memory", bytes.clone());
        for source in [mapped, memory] {
            let all = source.bytes().unwrap();
            let mut window = source.window(&all);
            let offsets = [0, 1, 300, 301, 40_000, 524_200, 524_288, 2_000_000, 2_000_100, 5];
            for offset in offsets.into_iter().chain([2_999_990, 2_999_999, 3_000_000, 9_000_000]) {
                for length in [0, 1, 100, 70_000] {
                    let start = bytes.len().min(offset);
                    let end = bytes.len().min(offset + length);
                    let found = window.bytes_at(offset as u64, length);
                    assert_eq!(found, &bytes[start..end], "{length} at {offset}");
                }
            }
        }
    }

    #[test]
    fn what_a_file_grew_by_is_not_seen() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[1; 1000]).unwrap();
        let source = Source::open(file.path(), &Limits::default()).unwrap();
        let all = source.bytes().unwrap();
        file.write_all(&[2; 1000]).unwrap();
        let mut window = source.window(&all);
        // The second look is near the first, so that a whole block is read.
        for (offset, length, found) in [(0, 10, 10), (10, 2000, 990), (990, 20, 10)] {
            assert_eq!(window.bytes_at(offset, length), vec![1; found], "{length} at {offset}");
        }
        for offset in [1000, 1001, 1500, u64::MAX] {
            assert_eq!(window.bytes_at(offset, 20), b"", "at {offset}");
        }
    }
}
