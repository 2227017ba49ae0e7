//! Units whose Marker or Index is damaged, found by what is left of their beginning.
//!
//! A Unit begins with a Marker, an Index and a Meta. Where the Marker is spoilt, an Index with a
//! Meta behind it is as good; where the Index is, the Meta alone, since nothing else looks like
//! one. A message may hold the same bytes: what is found counts only where the frames behind it
//! make sense as far as the next tick, Marker or end.

use crate::spec::{INDEX_HEADER, MINOR_BYTES_MIN};

use super::super::marker::{PROOF_BYTES, major_index_at, minor_index};
use super::super::meta::Definition;
use super::super::parse::FrameError;
use super::super::resume::Trial;
use super::super::ruler::MAJOR_UNKNOWN;
use super::super::streams::TrialStreams;
use super::super::{
    Item, Lookup, MajorIndex, NeedMore, Ruler, Streams, View, find_marker, major_index,
};
use super::head::confirmed;
use super::mend::meta_at;
use super::shift::moved_ruler;
use super::special::fingerprint;
use super::{CRC, MARKER, Walker};

/// Number of beginnings that a walk tries to prove.
pub(super) const REMAINS_TOTAL: u32 = 256;

/// Frames that are read to prove one.
const FRAMES_MAX: u64 = 1 << 16;

/// The farthest from a Meta that the first index behind it is looked for.
const INDEX_BYTES_MAX: u64 = 4 << 20;

/// The size of a unit where nothing tells.
pub(super) const MINOR_UNKNOWN: u64 = 1 << 47;

/// The header byte of a Meta, but for its `more`.
const META_HEADER: u8 = 0x0A;

/// The beginning of a Unit, as far as it is left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remains {
    /// Position at which reading goes on: at the Index, or at the Meta where the Index is damaged.
    pub position: u64,
    index: Option<MajorIndex>,
    ruler: Ruler,
    /// The number of the Unit, where it is known.
    count: Option<u64>,
    /// True if the session before it was ended.
    is_after_end: bool,
}

impl Remains {
    /// Returns true if the Index is whole, so that only the Marker is damaged.
    pub(super) fn has_index(&self) -> bool {
        self.index.is_some()
    }
}

impl Walker {
    /// Goes on at the first Unit that begins at `first` or later, and before `limit`, with a Marker
    /// or an Index that is damaged.
    pub(super) fn resume_at_remains(
        &mut self,
        view: &View<'_>,
        first: u64,
        limit: u64,
    ) -> Result<bool, NeedMore> {
        let is_unit_end = |ruler: Ruler| [ruler.end(), ruler.early_end()].contains(&self.position);
        let is_after_end = self.after_crc && !self.ruler.is_some_and(is_unit_end);
        let Some(remains) = self.remains(view, first, limit)? else { return Ok(false) };
        let remains = Remains { is_after_end, ..remains };
        self.go_to_marker(remains.position);
        self.remains = Some(remains);
        Ok(true)
    }

    fn remains(
        &mut self,
        view: &View<'_>,
        first: u64,
        limit: u64,
    ) -> Result<Option<Remains>, NeedMore> {
        let from = self.before_swallowed(view, first).max(self.unremained).max(self.opened);
        for (at, byte) in view.get(from..limit).iter().enumerate() {
            let may_be = byte | 1 == INDEX_HEADER | 1 || byte | 1 == META_HEADER | 1;
            let position = from + at as u64;
            if !may_be || self.remains_left == 0 {
                continue;
            }
            let Some(found) = self.remains_at(view, position) else { continue };
            let is_own = self.ruler.is_some_and(|ruler| ruler.marker == found.ruler.marker);
            if is_own {
                continue;
            }
            // With more bytes it is tried again.
            let is_begun = Self::is_begun(view, &found).inspect_err(|_| self.remains_left += 1)?;
            if is_begun {
                self.unremained = position + 1;
                return Ok(Some(found));
            }
        }
        // Of one that has not all arrived nothing is known yet.
        let arriving = if view.is_final() { 0 } else { PROOF_BYTES };
        self.unremained = from.max(limit.min(view.end().saturating_sub(arriving)));
        Ok(None)
    }

    /// Finds what is left of a beginning here: an Index and a Meta, or a Meta alone.
    fn remains_at(&mut self, view: &View<'_>, position: u64) -> Option<Remains> {
        if let Some(index) = major_index_at(view, position) {
            self.remains_left -= 1;
            meta_at(view, Lookup::read(view, position)?.end())?;
            let ruler = confirmed(view, index.ruler);
            let (count, index) = (Some(index.count), Some(index));
            let found = Remains { position, index, ruler, count, is_after_end: false };
            return (position >= MARKER).then_some(found);
        }
        let is_meta = view.byte(position)? | 1 == META_HEADER | 1;
        let head = view.get(position..position + 5);
        let is_text = matches!(head, [_, _, b'[', b'{', _] | [_, _, _, b'[', b'{']);
        (is_meta && is_text).then_some(())?;
        self.remains_left -= 1;
        meta_at(view, position).filter(|told| told.definitions.is_sound)?;
        let (ruler, count) = self.ruler_of_meta(view, position)?;
        Some(Remains { position, index: None, ruler, count, is_after_end: false })
    }

    /// The ruler of a Unit whose Index before its Meta is damaged: the next one of this session,
    /// or as the Unit after it tells, or its own indices.
    fn ruler_of_meta(&self, view: &View<'_>, meta: u64) -> Option<(Ruler, Option<u64>)> {
        let is_before = |ruler: &Ruler| {
            let behind = i128::from(meta) - i128::from(ruler.index());
            (0..i128::from(PROOF_BYTES)).contains(&behind)
        };
        let item = |marker: u64, sizes: &Ruler| Ruler {
            marker: i64::try_from(marker).unwrap_or(i64::MAX),
            ..*sizes
        };
        if let Some(known) = self.ruler {
            let next = [known.end(), known.early_end()].map(|end| item(end, &known));
            if let Some(next) = next.into_iter().find(is_before) {
                return Some((next, self.count.map(|count| count + 1)));
            }
        }
        let after =
            find_marker(view, meta).and_then(|marker| Some((marker, major_index(view, marker)?)));
        if let Some((marker, index)) = after.filter(|(_, index)| index.count > 0) {
            let start = marker.saturating_sub(index.ruler.major);
            if let Some(ruler) = Some(item(start, &index.ruler)).filter(is_before) {
                return Some((ruler, Some(index.count - 1)));
            }
        }
        let sizes = |minor| Ruler { marker: 0, major: MAJOR_UNKNOWN, minor };
        let ruler = ruler_by_first_index(view, meta);
        let ruler = ruler.or_else(|| Some(item(meta.checked_sub(MARKER)?, &sizes(MINOR_UNKNOWN))));
        Some((ruler?, None))
    }

    /// Returns true if a Unit begins here: the frames behind its Meta make sense as far as they go.
    fn is_begun(view: &View<'_>, remains: &Remains) -> Result<bool, NeedMore> {
        let tick = remains.ruler.tick_after(remains.position);
        let boundary = tick.min(remains.ruler.early_end().saturating_sub(CRC));
        Self::hope(view, boundary.saturating_add(PROOF_BYTES).min(view.end() + boundary))?;
        let meta = match remains.index {
            Some(_) => {
                Lookup::read(view, remains.position).map_or(remains.position, |index| index.end())
            }
            None => remains.position,
        };
        let Some(told) = meta_at(view, meta) else { return Ok(false) };
        let streams = Streams::new();
        let mut tried = TrialStreams::new(&streams);
        for Definition { id, length, .. } in &told.definitions.streams {
            tried.define(*id, *length);
        }
        let near = view.truncated(boundary.saturating_add(PROOF_BYTES));
        let end = find_marker(&near, told.end).unwrap_or(near.end()).min(boundary);
        let crc = end.saturating_sub(CRC);
        let limit = if end < boundary && view.byte(crc) == Some(0x10) { crc } else { end };
        let found = Trial::new(tried, told.end).run(view, limit, &[], &mut { FRAMES_MAX });
        Ok(matches!(found, Ok(()) | Err(FrameError::Short)) && told.end < view.end())
    }

    /// Begins the Unit that was found by its remains.
    pub(super) fn begin_at(&mut self, view: &View<'_>, remains: Remains) -> Result<Item, NeedMore> {
        if let Some(index) = remains.index {
            self.position = remains.position - MARKER;
            let begun = self.start_unit(view, Some(index), false);
            return begun.inspect_err(|_| {
                self.position = remains.position;
                self.remains = Some(remains);
            });
        }
        let moved = self.moved_to(view, &remains);
        if moved.is_none() {
            self.begin_session();
        }
        (self.is_started, self.is_lost) = (true, false);
        let known = self.ruler.filter(|_| moved.is_some());
        let sizes = known.filter(|_| !remains.ruler.is_size_known()).unwrap_or(remains.ruler);
        self.ruler = Some(Ruler { marker: remains.ruler.marker, ..sizes });
        self.count = remains.count;
        self.begin_data(remains.position);
        self.sum.next = None;
        self.set_boundary(view);
        let unit = Item::Unit(self.unit(remains.position));
        Ok(match moved {
            Some(missing) if missing != 0 => {
                self.queue_first(unit);
                moved_ruler(remains.position, missing)
            }
            _ => unit,
        })
    }

    /// Returns the number of bytes that are missing before a Unit whose Index is damaged, if it
    /// goes on with the session. It does if the session was not ended, and its streams are
    /// described alike.
    fn moved_to(&self, view: &View<'_>, remains: &Remains) -> Option<i128> {
        let known = self.ruler.filter(|_| self.is_started && !remains.is_after_end)?;
        let told = meta_at(view, remains.position)?.definitions;
        let is_same = |stream: &Definition| {
            self.said.get(&stream.id).is_none_or(|said| *said == fingerprint(&stream.text))
        };
        told.streams.iter().all(is_same).then_some(())?;
        let units = remains.count.zip(self.count).and_then(|(count, own)| count.checked_sub(own));
        let moved = i128::from(remains.ruler.marker) - i128::from(known.marker);
        Some(i128::from(units.unwrap_or(1)) * i128::from(known.major) - moved)
    }
}

/// The ruler of a Unit whose Index before its Meta is damaged, as the first index behind it tells.
/// Where bytes are missing, its Marker may begin before the first.
pub(super) fn ruler_by_first_index(view: &View<'_>, meta: u64) -> Option<Ruler> {
    let bytes = view.get(meta..meta.saturating_add(INDEX_BYTES_MAX));
    let ticks = bytes.iter().enumerate().filter(|(_, byte)| **byte | 1 == 0x09);
    ticks.into_iter().find_map(|(at, _)| {
        let tick = meta + at as u64;
        let minor = minor_index(view, tick).filter(|back| back.is_power_of_two())?;
        let index = i64::try_from(tick).ok()?.checked_sub_unsigned(minor)?;
        let behind = i128::from(meta) - i128::from(index);
        let is_before = (1..i128::from(PROOF_BYTES)).contains(&behind) && minor >= MINOR_BYTES_MIN;
        let marker = index.checked_sub_unsigned(MARKER)?;
        is_before.then_some(Ruler { marker, major: MAJOR_UNKNOWN, minor })
    })
}
