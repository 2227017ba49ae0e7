//! Markers: found anywhere, and never taken for one by looks alone.

use crate::index::{Entries, split_count};
use crate::leb128;
use crate::spec::{
    CRC_BYTES, INDEX_HEADER, MARKER_BYTE, MARKER_BYTES, MARKER_HEADER, PAYLOAD_BYTES_MAX, id,
};

use super::{Ruler, View};

const RUN: u64 = PAYLOAD_BYTES_MAX as u64;
const MARKER: u64 = MARKER_BYTES as u64;

/// Number of bytes from a Marker's first on that show whether it is one.
pub(super) const PROOF_BYTES: u64 = MARKER + 3 + RUN;

/// Facts that the first frame of an Index gives about its Unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MajorIndex {
    /// The number of the Unit in its session.
    pub count: u64,
    /// The sizes that entries 3 and 4 tell, with the Marker's place.
    pub ruler: Ruler,
    /// Distance to the Crc of the Unit before, counted back from this Index; 0 when there was none.
    pub crc_back: u64,
}

impl MajorIndex {
    /// Returns true if the Crc of the Unit before stands right before the Marker.
    pub(super) fn has_crc_before(&self) -> bool {
        (1..=MARKER + CRC_BYTES as u64).contains(&self.crc_back)
    }
}

/// The next Marker that starts at `from` or later, by its bytes and the Index after it.
#[must_use]
pub fn find_marker(view: &View<'_>, from: u64) -> Option<u64> {
    let mut at = from.max(view.base()).saturating_add(1);
    // A run of 1024 bytes covers one position in every 1024.
    while at < view.end() {
        let probe = at + (RUN - 1);
        if view.byte(probe)? != MARKER_BYTE {
            at = probe + 1;
            continue;
        }
        let before = view.get(at..probe);
        let start = before.iter().rposition(|&byte| byte != MARKER_BYTE);
        let start = at + start.map_or(0, |index| index as u64 + 1);
        let run = view.from(start).iter().take_while(|&&byte| byte == MARKER_BYTE).count() as u64;
        let marker = start.saturating_sub(1);
        if run >= RUN && marker >= from && is_marker(view, marker) {
            return Some(marker);
        }
        at = start + run.max(1);
    }
    None
}

/// The last Marker that starts before `before`.
#[must_use]
pub fn marker_before(view: &View<'_>, before: u64) -> Option<u64> {
    let mut end = view.end().min(before.saturating_add(MARKER).saturating_sub(1));
    while end > view.base() + RUN {
        let probe = end - RUN;
        if view.byte(probe)? != MARKER_BYTE {
            end = probe;
            continue;
        }
        let before_probe = view.get(view.base()..probe);
        let back = before_probe.iter().rev().take_while(|&&byte| byte == MARKER_BYTE).count();
        let start = probe - back as u64;
        if start > view.base() && start - 1 < before && is_marker(view, start - 1) {
            return Some(start - 1);
        }
        end = start;
    }
    None
}

/// Returns true if a Marker stands here: its bytes, and an Index after it that makes sense.
#[must_use]
pub fn is_marker(view: &View<'_>, position: u64) -> bool {
    let bytes = view.get(position..position.saturating_add(MARKER));
    looks_like_marker(bytes) && major_index(view, position).is_some()
}

/// Returns true if these are the bytes of a Marker.
pub(super) fn looks_like_marker(bytes: &[u8]) -> bool {
    match bytes.split_first() {
        Some((&MARKER_HEADER, run)) => {
            run.len() == PAYLOAD_BYTES_MAX && run.iter().all(|&byte| byte == MARKER_BYTE)
        }
        _ => false,
    }
}

/// Finds the Index behind what is left of a Marker at `from`. Bytes of the Marker may be changed,
/// missing or too many, and most of those before the Index are still right.
pub(super) fn index_after_damaged_marker(view: &View<'_>, from: u64) -> Option<u64> {
    let bytes = view.get(from..from.saturating_add(2 * MARKER));
    let mut right = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        let position = from + at as u64;
        let may_be = byte | 1 == INDEX_HEADER | 1 && right * 2 >= at;
        if may_be && major_index_at(view, position).is_some() {
            return Some(position);
        }
        right += usize::from(*byte == MARKER_BYTE);
    }
    None
}

/// Reads the Index that follows a Marker, if it makes sense.
#[must_use]
pub fn major_index(view: &View<'_>, marker: u64) -> Option<MajorIndex> {
    major_index_at(view, marker.saturating_add(MARKER))
}

/// Reads an Index, if it makes sense; its Marker may lie before the first byte.
pub(super) fn major_index_at(view: &View<'_>, position: u64) -> Option<MajorIndex> {
    let bytes = view.from(position);
    let header = *bytes.first()?;
    if header | 1 != INDEX_HEADER | 1 {
        return None;
    }
    let (payload, is_whole) = payload(bytes, header)?;
    let (count, entries) = split_count(payload).ok()?;
    let found = read_entries(entries, is_whole)?;
    let marker = i64::try_from(position).ok()?.checked_sub_unsigned(MARKER)?;
    let ruler = Ruler::from_hints(marker, found.major, found.minor)?;
    Some(MajorIndex { count, ruler, crc_back: found.crc })
}

/// The payload of a frame with a length, and whether its chain ends with it.
fn payload(frame: &[u8], header: u8) -> Option<(&[u8], bool)> {
    let (length, taken) = leb128::read(frame.get(1..)?).ok()?;
    let length = usize::try_from(length).ok().filter(|length| *length <= PAYLOAD_BYTES_MAX)?;
    let payload = frame.get(1 + taken..)?.get(..length)?;
    Some((payload, header & 1 == 0))
}

/// The entries that tell of the ruler: how far back each is.
#[derive(Default)]
struct Hints {
    major: u64,
    minor: u64,
    crc: u64,
}

/// Reads entries in ascending order, the first of them the Index itself. Where the chain goes on
/// in a further frame, the last entry may be cut.
fn read_entries(entries: Entries<'_>, is_whole: bool) -> Option<Hints> {
    let mut hints = Hints::default();
    let mut last = None;
    for entry in entries.iter() {
        let Ok(entry) = entry else {
            return (!is_whole && last.is_some()).then_some(hints);
        };
        if last.map_or(entry.id != id::MAJOR_INDEX, |last| entry.id <= last) {
            return None;
        }
        last = Some(entry.id);
        match entry.id {
            id::MAJOR_INDEX => hints.major = entry.back_bytes,
            id::MINOR_INDEX => hints.minor = entry.back_bytes,
            id::CRC => hints.crc = entry.back_bytes,
            _ => {}
        }
    }
    last.is_some().then_some(hints)
}

/// Returns true if an index of a unit stands here; returns how far back it says the Index is.
pub(super) fn minor_index(view: &View<'_>, position: u64) -> Option<u64> {
    let bytes = view.from(position);
    let header = *bytes.first()?;
    if header | 1 != 0x09 {
        return None;
    }
    let (payload, is_whole) = payload(bytes, header)?;
    let found = read_entries(Entries::new(payload), is_whole)?;
    (found.minor == 0 && found.major > 0).then_some(found.major)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    fn marker_with(index: &[u8]) -> Vec<u8> {
        let mut bytes = vec![MARKER_HEADER];
        bytes.resize(MARKER_BYTES, MARKER_BYTE);
        bytes.extend_from_slice(index);
        bytes
    }

    /// Unit 1: Index 8192 bytes back, index 2048.
    const INDEX: [u8; 11] = [6, 9, 1, 7, 0x80, 0x80, 1, 9, 0x80, 0x20, 0x00];

    fn index() -> Vec<u8> {
        let mut bytes = vec![6, 8];
        bytes.extend_from_slice(&INDEX[2..10]);
        bytes
    }

    #[test]
    fn markers_are_found_at_any_place() {
        for before in [0, 1, 5, 1023, 1024, 1025, 3000] {
            let mut bytes = vec![0x55; before];
            bytes.extend(marker_with(&index()));
            bytes.extend([0x55; 2000]);
            let view = View::from_file(&bytes);
            assert_eq!(find_marker(&view, 0), Some(before as u64), "{before}");
            assert_eq!(find_marker(&view, before as u64 + 1), None, "{before}");
            assert_eq!(marker_before(&view, view.end()), Some(before as u64), "{before}");
            assert_eq!(marker_before(&view, before as u64), None, "{before}");
        }
    }

    #[test]
    fn a_run_of_the_magic_byte_alone_is_no_marker() {
        let bytes = marker_with(&[0x12, 3, 1, 2, 3]);
        assert_eq!(find_marker(&View::from_file(&bytes), 0), None);
        // Long runs of the byte are passed over in one go.
        let bytes = vec![MARKER_BYTE; 100_000];
        assert_eq!(find_marker(&View::from_file(&bytes), 0), None);
        assert_eq!(marker_before(&View::from_file(&bytes), 100_000), None);
    }

    #[test]
    fn the_index_tells_the_ruler() {
        let bytes = marker_with(&index());
        let found = major_index(&View::from_file(&bytes), 0).unwrap();
        assert_eq!((found.count, found.ruler.major, found.ruler.minor), (1, 8192, 2048));
    }
}
