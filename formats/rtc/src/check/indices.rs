//! True if Index and index frames say where streams are.

use std::collections::BTreeMap;

use kymo_core::{Finding, Severity};
use kymo_rtc_wire::index::{Entries, split_count};
use kymo_rtc_wire::read::{Begin, Frame};
use kymo_rtc_wire::spec::id;

/// Positions of the frames of a session, as far as indices give them.
#[derive(Debug, Default)]
pub(super) struct Indices {
    seen: BTreeMap<u32, LastFrame>,
    /// The number of the unit.
    unit: u64,
    /// Start of the Index or index that is being read.
    start: Option<u64>,
    /// Frames of this Unit were lost.
    is_lost: bool,
    /// Frames of earlier Units were lost: where streams were then is not known.
    has_lost: bool,
    /// The Index of the Unit, and streams that were listed before and are not in it.
    left_out: Option<(u64, Vec<u32>)>,
}

/// Last position of a stream. Writers differ in whether a frame counts that goes on with a message.
#[derive(Debug, Default, Clone, Copy)]
struct LastFrame {
    /// The first frame in the last unit, and that unit.
    frame: (u64, u64),
    /// The first frame in the last unit that begins a message.
    begin: (u64, u64),
    is_listed: bool,
}

impl Indices {
    /// Frames were lost: what indices say of them cannot be looked at.
    pub(super) fn lose(&mut self) {
        self.is_lost = true;
        self.left_out = None;
    }

    /// Takes note of a frame of a stream.
    pub(super) fn frame(&mut self, frame: &Frame) {
        if self.is_lost {
            return;
        }
        let unit = self.unit;
        let seen = self.seen.entry(frame.id).or_default();
        if seen.frame.1 != unit || seen.frame.0 == 0 {
            seen.frame = (frame.position, unit);
        }
        if frame.begin == Begin::Start && (seen.begin.1 != unit || seen.begin.0 == 0) {
            seen.begin = (frame.position, unit);
        }
    }

    /// Takes note of a frame of an index; with the last, looks at what it says.
    pub(super) fn index(&mut self, frame: &Frame, payload: &[u8]) -> Option<Finding> {
        let start = *self.start.get_or_insert(frame.position);
        if frame.more {
            return None;
        }
        self.start = None;
        if frame.id == id::MAJOR_INDEX {
            self.left_out = None;
        }
        let finding = match split_count(payload) {
            Ok((_, entries)) if frame.id == id::MAJOR_INDEX => self.compare(start, entries, true),
            _ if frame.id == id::MAJOR_INDEX => Some(wrong(start, "has no count")),
            _ => self.compare(start, Entries::new(payload), false),
        };
        self.unit += 1;
        if frame.id == id::MAJOR_INDEX && self.is_lost {
            (self.is_lost, self.has_lost) = (false, true);
            self.seen.clear();
        }
        finding.filter(|_| !self.is_lost)
    }

    /// Compares the entries of an index with what was seen.
    fn compare(&mut self, start: u64, entries: Entries<'_>, is_major: bool) -> Option<Finding> {
        let mut last = None;
        let mut listed = Vec::new();
        for entry in entries.iter() {
            let Ok(entry) = entry else {
                return Some(wrong(start, "cannot be read"));
            };
            if last.is_some_and(|last| entry.id <= last) {
                return Some(wrong(start, &format!("lists stream {} out of order", entry.id)));
            }
            last = Some(entry.id);
            listed.push(entry.id);
            if entry.id < id::FIRST_USER || self.is_lost {
                continue;
            }
            let seen = self.seen.entry(entry.id).or_default();
            seen.is_listed = true;
            // It may be where frames were lost, or in what may be the rest of a message.
            if self.has_lost && seen.begin.0 == 0 {
                continue;
            }
            let target = start.checked_sub(entry.back_bytes).filter(|_| entry.back_bytes > 0);
            if ![seen.frame.0, seen.begin.0].contains(&target.unwrap_or(0)) {
                let message = format!(
                    "says that stream {} was last at {:#x}, and it was at {:#x}",
                    entry.id,
                    target.unwrap_or(0),
                    seen.frame.0
                );
                return Some(wrong(start, &message));
            }
        }
        if is_major {
            self.report_unlisted_streams(start, &listed);
        }
        None
    }

    /// Takes note of the streams that an Index leaves out. One that is never listed is hidden.
    fn report_unlisted_streams(&mut self, start: u64, listed: &[u32]) {
        let mut left_out = Vec::new();
        for (id, seen) in &mut self.seen {
            if seen.is_listed && listed.binary_search(id).is_err() {
                seen.is_listed = false;
                left_out.push(*id);
            }
        }
        self.left_out = Some((start, left_out)).filter(|_| !self.is_lost);
    }

    /// Takes note of the streams that the Meta of a Unit describes. One that it does not was
    /// closed, and is in no Index any more.
    pub(super) fn meta(&mut self, described: impl Iterator<Item = u32>) -> Option<Finding> {
        let (start, left_out) = self.left_out.take()?;
        let mut described = described.filter(|id| left_out.binary_search(id).is_ok());
        described.next().map(|id| wrong(start, &format!("leaves out stream {id}")))
    }
}

fn wrong(offset: u64, what: &str) -> Finding {
    Finding::at_offset(Severity::Warning, "index", offset, format!("the index {what}"))
}
