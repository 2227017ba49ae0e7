//! Start of a Unit.

use alloc::collections::BTreeMap;

use crate::spec::{INDEX_HEADER, MARKER_HEADER, id};

use super::super::marker::{
    PROOF_BYTES, index_after_damaged_marker, looks_like_marker, major_index_at,
};
use super::super::meta::{Declared, Definition};
use super::super::streams::StreamLookup as _;
use super::super::{
    Begin, Damage, DamageKind, Frame, Item, MajorIndex, NeedMore, Ruler, Streams, Unit, View,
    major_index,
};
use super::head::{confirmed, meta_after};
use super::learn::LEARNS_MAX;
use super::shift::moved_ruler;
use super::{CRC, MARKER, Sum, TRUSTS_MAX, UnitEnd, Walker};

/// Larger units than this are not waited for.
const SIZES_BYTES_MAX: u64 = 8 << 20;

impl Walker {
    /// Goes on at what should be a Marker.
    pub(super) fn meet_marker(&mut self, view: &View<'_>) -> Result<Option<Item>, NeedMore> {
        let position = self.position;
        let index = major_index(view, position);
        let bytes = view.get(position..position + MARKER);
        if looks_like_marker(bytes) && index.is_some() {
            return self.start_unit(view, index, true).map(Some);
        }
        Self::need(view, position + PROOF_BYTES)?;
        let is_expected = matches!(self.end, UnitEnd::Known { marker, .. } if marker == position);
        let is_cut = view.end() < position + PROOF_BYTES;
        if looks_like_marker(bytes) && (is_expected || (is_cut && is_bare(view, position))) {
            return self.start_unit(view, None, true).map(Some);
        }
        let is_run = |bytes: &[u8]| bytes.iter().skip(1).all(|&byte| byte == 0xB9);
        if is_cut && bytes.first() == Some(&MARKER_HEADER) && is_run(bytes) {
            return self.short(view, position);
        }
        if is_expected && let Some(end) = self.index_behind(view, position) {
            // Where the Marker lacks bytes, or has too many, the ruler moves, and no frame is lost.
            let here = (position, self.ruler);
            self.position = end.saturating_sub(MARKER);
            let missing = i128::from(position) - i128::from(self.position);
            let moved = |ruler: Ruler| {
                let marker = i128::from(ruler.marker) - missing;
                Ruler { marker: i64::try_from(marker).unwrap_or(ruler.marker), ..ruler }
            };
            self.ruler = self.ruler.map(moved);
            let unit = self
                .start_unit(view, major_index_at(view, end), false)
                .inspect_err(|_| (self.position, self.ruler) = here)?;
            self.queue_first(unit);
            let why = DamageKind::Marker;
            return Ok(Some(Item::Damage(Damage { start: position, end, noticed: position, why })));
        }
        self.damage(
            view,
            position,
            if is_expected { DamageKind::NoMarker } else { DamageKind::Place(2) },
        )
    }

    /// The Index of the next Unit behind its Marker, which is damaged, or not all there.
    fn index_behind(&self, view: &View<'_>, marker: u64) -> Option<u64> {
        let is_next = |position: &u64| {
            let next = major_index_at(view, *position).map(|index| index.count);
            next.is_some() && next == self.count.map(|count| count + 1)
        };
        let in_place = Some(marker + MARKER).filter(is_next);
        in_place.or_else(|| index_after_damaged_marker(view, marker).filter(is_next))
    }

    /// Begins a Unit at the current place.
    pub(super) fn start_unit(
        &mut self,
        view: &View<'_>,
        index: Option<MajorIndex>,
        has_marker: bool,
    ) -> Result<Item, NeedMore> {
        let position = self.position;
        let joined =
            if self.is_first { UnitJoin::InPlace } else { self.joined(view, position, index)? };
        if let Some(index) = index.filter(|_| joined == UnitJoin::Anew || self.ruler.is_none()) {
            hope_for_sizes(view, &index.ruler)?;
        }
        self.is_first = false;
        if joined == UnitJoin::Anew {
            self.begin_session();
            self.is_headless = index.is_some_and(|index| index.count > 0);
        }
        self.is_started = true;
        self.is_lost = false;
        self.count = match index {
            Some(index) => Some(index.count),
            None => self.count.map(|count| count + 1),
        };
        let marker = i64::try_from(position).unwrap_or(i64::MAX);
        self.ruler = match (self.ruler, index) {
            (Some(known), _) => Some(Ruler { marker, ..known }),
            (None, Some(index)) => Some(confirmed(view, index.ruler)),
            (None, None) => None,
        };
        if let Some(index) = index.filter(|index| index.count > 0) {
            self.has_crc = Some(index.crc_back > 0);
        }
        self.begin_data(position + MARKER);
        self.set_boundary(view);
        let unit = Item::Unit(self.unit(position));
        if let UnitJoin::Moved(_) = joined {
            self.forget_chains();
            self.queue(unit);
        }
        if has_marker {
            let payload = position + 1;
            let (begin, end) = (Begin::Start, position + MARKER);
            let marker = Frame { position, id: id::MARKER, more: false, begin, payload, end };
            self.queue(Item::Frame(marker));
        }
        Ok(match joined {
            UnitJoin::Moved(missing) => moved_ruler(position, missing),
            UnitJoin::Anew | UnitJoin::InPlace => unit,
        })
    }

    /// Forgets what was of the session before.
    pub(super) fn begin_session(&mut self) {
        self.session += u64::from(self.is_started);
        self.streams = Streams::new();
        self.said.clear();
        (self.count, self.ruler) = (None, None);
        (self.has_crc, self.is_big_endian) = (None, None);
    }

    pub(super) fn unit(&self, position: u64) -> Unit {
        Unit { position, session: self.session, count: self.count, ruler: self.ruler }
    }

    /// Forgets what was of the Unit before.
    pub(super) fn begin_data(&mut self, position: u64) {
        self.position = position;
        self.end = UnitEnd::Unknown;
        self.after_crc = false;
        (self.is_index_open, self.is_meta_open) = (false, false);
        self.has_tried_rest = false;
        self.data_end = position;
        self.sum = Sum::new(position, self.sum.usual);
        let index = self.ruler.map(|ruler| ruler.index());
        self.is_meta_due = index.is_some_and(|index| u64::try_from(index) == Ok(position));
        (self.trusts_left, self.learns_left) = (TRUSTS_MAX, LEARNS_MAX);
        self.is_unit_whole = None;
    }

    /// Determines how a Unit here goes on with what came before it.
    fn joined(
        &self,
        view: &View<'_>,
        position: u64,
        index: Option<MajorIndex>,
    ) -> Result<UnitJoin, NeedMore> {
        let (Some(ruler), true) = (self.ruler, self.is_started) else { return Ok(UnitJoin::Anew) };
        let is_end = matches!(self.end, UnitEnd::Known { marker, .. } if marker == position);
        let (index, count) = match (index, self.count) {
            (None, _) => return Ok(if is_end { UnitJoin::InPlace } else { UnitJoin::Anew }),
            (Some(index), None) if index.count > 0 => return Ok(UnitJoin::InPlace),
            (Some(_), None) => return Ok(UnitJoin::Anew),
            (Some(index), Some(count)) => (index, count),
        };
        let Some(units) = index.count.checked_sub(count).filter(|units| *units > 0) else {
            return Ok(UnitJoin::Anew);
        };
        let distance = i128::from(position) - i128::from(ruler.marker);
        let most = i128::from(units) * i128::from(ruler.major);
        // The oldest writer is short by a checksum in each Unit.
        let least = most - i128::from(units) * i128::from(CRC);
        if (least..=most).contains(&distance) {
            return Ok(UnitJoin::InPlace);
        }
        let is_same =
            index.ruler.major == ruler.major && self.describes_the_same(view, position)?;
        Ok(if is_same { UnitJoin::Moved(most - distance) } else { UnitJoin::Anew })
    }

    /// Returns true if the Unit at a Marker describes its streams as they were described before.
    fn describes_the_same(&self, view: &View<'_>, marker: u64) -> Result<bool, NeedMore> {
        let ahead = Self::from_position(marker).ahead(view)?;
        let known: BTreeMap<u32, &str> =
            self.definitions.streams.iter().map(|known| (known.id, known.text.as_str())).collect();
        let is_same = |found: &Definition| {
            let length = self.streams.slot(found.id).length;
            known.get(&found.id).is_none_or(|text| *text == found.text)
                && (self.streams.is_undescribed()
                    || [length, Declared::Unproven].contains(&found.length)
                    || length == Declared::Unproven)
        };
        Ok(ahead.definitions.streams.iter().all(is_same))
    }
}

/// Returns true if the bytes end soon behind a Marker: there may be no Index, but nothing else in
/// its place.
pub(super) fn is_bare(view: &View<'_>, marker: u64) -> bool {
    let next = view.byte(marker + MARKER);
    next.is_none_or(|header| header | 1 == INDEX_HEADER | 1)
        && meta_after(view, marker + MARKER).is_none()
}

/// Waits for the first index of a Unit, which tells the size of a unit for sure.
pub(super) fn hope_for_sizes(view: &View<'_>, ruler: &Ruler) -> Result<(), NeedMore> {
    if ruler.minor > SIZES_BYTES_MAX {
        return Ok(());
    }
    let tick = ruler.tick_after(u64::try_from(ruler.index()).unwrap_or(0));
    Walker::hope(view, tick.saturating_add(PROOF_BYTES))
}

/// Relation of a Unit to what came before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitJoin {
    /// It is of another session.
    Anew,
    /// It is where the ruler has it.
    InPlace,
    /// It is of the same session, and so many bytes are missing before it; below zero, too many.
    Moved(i128),
}
