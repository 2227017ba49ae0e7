//! Places in the middle of a large file from which to read ahead.

use kymo_core::bytes::Endian;

use super::element::{is_certain, parse_usual};

/// A part that is smaller is not worth a thread.
pub(super) const PART_BYTES_MIN: usize = 16 << 20;

/// Number of bytes that are searched for the begin of an element. Where none begins within them,
/// elements are large and few, and going from one to the next takes no time.
const SEARCH_BYTES: usize = 64 << 10;

/// Finds places where elements seem to begin, one for each further part of a file, in ascending
/// order. They are guesses: what looks like elements may be values.
pub(super) fn starts(
    bytes: &[u8],
    endian: Endian,
    parts_max: usize,
    part_bytes_min: usize,
) -> Vec<u64> {
    let parts = parts_max.min(bytes.len() / part_bytes_min);
    let even = (1..parts).map(|part| bytes.len() / parts * part);
    even.filter_map(|from| start_after(bytes, from, endian)).map(|start| start as u64).collect()
}

/// The first place after an offset at which an element begins, and another after it.
fn start_after(bytes: &[u8], from: usize, endian: Endian) -> Option<usize> {
    let part = bytes.get(from..)?;
    let part = part.get(..SEARCH_BYTES).unwrap_or(part);
    let is_start = |skip: &usize| {
        let rest = part.get(*skip..).unwrap_or_default();
        after_element(rest, endian).and_then(|rest| after_element(rest, endian)).is_some()
    };
    (0..part.len()).find(is_start).map(|skip| from + skip)
}

/// The bytes after an element that is one beyond doubt.
fn after_element(bytes: &[u8], endian: Endian) -> Option<&[u8]> {
    let word = *bytes.first_chunk::<4>()?;
    let length = match endian {
        Endian::Little => u32::from_le_bytes(word),
        Endian::Big => u32::from_be_bytes(word),
    };
    let (element, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    let element = parse_usual(element, 0, length.into(), endian)?;
    is_certain(&element).then_some(rest)
}
