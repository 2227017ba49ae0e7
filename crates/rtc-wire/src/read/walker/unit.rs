//! Where a Unit begins.

use crate::spec::{MARKER_HEADER, id};

use super::super::marker::{PROOF_BYTES, looks_like_marker};
use super::super::meta::{Declared, Definition};
use super::super::{
    Begin, Damage, Frame, Item, MajorIndex, NeedMore, Ruler, Streams, Unit, View, Why, major_index,
};
use super::head::confirmed;
use super::shift::moved_ruler;
use super::{CRC, MARKER, Sum, UnitEnd, Walker};

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
        if looks_like_marker(bytes) && (is_expected || is_cut) {
            return self.start_unit(view, None, true).map(Some);
        }
        let is_run = |bytes: &[u8]| bytes.iter().skip(1).all(|&byte| byte == 0xB9);
        if is_cut && bytes.first() == Some(&MARKER_HEADER) && is_run(bytes) {
            return self.short(view, position);
        }
        let is_next = |next: MajorIndex| self.count.is_some_and(|count| next.count == count + 1);
        if is_expected && index.is_some_and(is_next) {
            let unit = self.start_unit(view, index, false)?;
            self.queue(unit);
            let (end, why) = (position + MARKER, Why::Marker);
            return Ok(Some(Item::Damage(Damage { start: position, end, noticed: position, why })));
        }
        self.damage(view, position, if is_expected { Why::NoMarker } else { Why::Place(2) })
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
            if self.is_first { Joined::InPlace } else { self.joined(view, position, index)? };
        self.is_first = false;
        if joined == Joined::Anew {
            self.session += u64::from(self.is_started);
            self.streams = Streams::new();
            (self.count, self.ruler) = (None, None);
            (self.has_crc, self.is_big_endian) = (None, None);
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
        if let Joined::Moved(_) = joined {
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
            Joined::Moved(missing) => moved_ruler(position, missing),
            Joined::Anew | Joined::InPlace => unit,
        })
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
    }

    /// How a Unit here goes on with what came before it.
    fn joined(
        &self,
        view: &View<'_>,
        position: u64,
        index: Option<MajorIndex>,
    ) -> Result<Joined, NeedMore> {
        let (Some(ruler), true) = (self.ruler, self.is_started) else { return Ok(Joined::Anew) };
        let is_end = matches!(self.end, UnitEnd::Known { marker, .. } if marker == position);
        let (index, count) = match (index, self.count) {
            (None, _) => return Ok(if is_end { Joined::InPlace } else { Joined::Anew }),
            (Some(index), None) if index.count > 0 => return Ok(Joined::InPlace),
            (Some(_), None) => return Ok(Joined::Anew),
            (Some(index), Some(count)) => (index, count),
        };
        let Some(units) = index.count.checked_sub(count).filter(|units| *units > 0) else {
            return Ok(Joined::Anew);
        };
        let distance = i128::from(position) - i128::from(ruler.marker);
        let most = i128::from(units) * i128::from(ruler.major);
        // The oldest writer is short by a checksum in each Unit.
        let least = most - i128::from(units) * i128::from(CRC);
        if (least..=most).contains(&distance) {
            return Ok(Joined::InPlace);
        }
        let is_same =
            index.ruler.major == ruler.major && self.describes_the_same(view, position)?;
        Ok(if is_same { Joined::Moved(most - distance) } else { Joined::Anew })
    }

    /// Whether the Unit at a Marker describes its streams as they were described before.
    fn describes_the_same(&self, view: &View<'_>, marker: u64) -> Result<bool, NeedMore> {
        let ahead = Self::at(marker).ahead(view)?;
        let is_same = |found: &Definition| {
            let known = self.definitions.streams.iter().find(|known| known.id == found.id);
            let length = self.streams.slot(found.id).length;
            known.is_none_or(|known| known.text == found.text)
                && (self.streams.is_undescribed()
                    || [length, Declared::Unproven].contains(&found.length)
                    || length == Declared::Unproven)
        };
        Ok(ahead.definitions.streams.iter().all(is_same))
    }
}

/// How a Unit goes on with what came before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joined {
    /// It is of another session.
    Anew,
    /// It is where the ruler has it.
    InPlace,
    /// It is of the same session, and so many bytes are missing before it; below zero, too many.
    Moved(i128),
}
