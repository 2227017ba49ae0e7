//! Start of a walk.

use crate::spec::{MARKER_HEADER, id};

use super::super::marker::{
    PROOF_BYTES, index_after_damaged_marker, looks_like_marker, major_index_at, minor_index,
};
use super::super::parse::parse;
use super::super::ruler::MAJOR_UNKNOWN;
use super::super::{
    Damage, DamageKind, Item, Lookup, MajorIndex, NeedMore, Ruler, Streams, View, definitions,
    is_marker, major_index,
};
use super::mend::meta_at;
use super::remains::{MINOR_UNKNOWN, ruler_by_first_index};
use super::unit::{hope_for_sizes, is_bare};
use super::{CRC, MARKER, Walker};

/// So many indices are asked for the size of a unit.
const TICKS_ASKED: u64 = 8;

/// So many bytes of a Marker before an Index leave no doubt.
const REST_SURE: u64 = 16;

impl Walker {
    /// Finds the first place from which frames can be read.
    pub(super) fn find_place(&mut self, view: &View<'_>) -> Result<Option<Item>, NeedMore> {
        let from = self.position;
        let Some(header) = view.byte(from) else {
            return if view.is_final() { Ok(Some(Item::End)) } else { Err(NeedMore(from + 1)) };
        };
        if header == MARKER_HEADER {
            let bytes = view.get(from..from + MARKER);
            let is_cut = view.end() < from + PROOF_BYTES;
            let is_run = bytes.iter().skip(1).all(|&byte| byte == 0xB9);
            if (is_cut && is_run && is_bare(view, from)) || is_marker(view, from) {
                self.is_lost = false;
                return self.meet_marker(view).inspect_err(|_| self.is_lost = true);
            }
        }
        let rest = self.rest_of_marker(view)?;
        let marker = self.next_marker(view, from);
        if marker.is_none() {
            Self::need(view, view.end() + 1)?;
        }
        self.is_lost = false;
        let is_sure = |index: &u64| {
            let is_behind_rest = *index > from + REST_SURE;
            marker.is_none_or(|marker| {
                *index <= marker && (is_behind_rest || opens_unit(view, *index))
            })
        };
        if let Some(index) = rest.filter(is_sure) {
            return self.start_at_index(view, index).map(Some);
        }
        if let Some(meta) = marker.map_or_else(|| meta_after_marker(view, from), |_| None) {
            return Ok(Some(self.start_at_meta(view, meta)));
        }
        let index = marker.and_then(|marker| major_index(view, marker));
        let is_alone = index.is_none_or(|index| index.count == 0);
        let end = marker.unwrap_or(view.end());
        if is_alone
            && self.resume_at_remains(view, from, end).inspect_err(|_| self.is_lost = true)?
        {
            let (end, why) = (self.position, DamageKind::Head);
            return Ok(Some(Item::Damage(Damage { start: from, end, noticed: from, why })));
        }
        let Some((ruler, count)) = Self::ruler_of_head(view, from, marker, index) else {
            self.go_to_marker(end);
            let why = if marker.is_some() { DamageKind::Head } else { DamageKind::Nothing };
            return Ok(Some(Item::Damage(Damage { start: from, end, noticed: from, why })));
        };
        if let (Some(marker), Some(_)) = (marker, count) {
            self.learn_from(view, marker).inspect_err(|_| self.is_lost = true)?;
        }
        self.is_started = true;
        (self.ruler, self.count) = (Some(ruler), count);
        self.begin_data(from);
        self.sum.next = None;
        self.forget_chains();
        self.set_boundary(view);
        let unit = self.unit(from);
        self.resume(view, from, from)?;
        let (end, why) = (self.position, DamageKind::Head);
        if end > from {
            self.queue(Item::Damage(Damage { start: from, end, noticed: from, why }));
        }
        Ok(Some(Item::Unit(unit)))
    }

    /// Finds the Index where the bytes begin within the Marker before it, or with a Marker that is
    /// damaged.
    fn rest_of_marker(&self, view: &View<'_>) -> Result<Option<u64>, NeedMore> {
        Self::need(view, self.position + MARKER + PROOF_BYTES)?;
        Ok(index_after_damaged_marker(view, self.position))
    }

    /// Begins at the Index of a Unit whose Marker is not all there.
    fn start_at_index(&mut self, view: &View<'_>, position: u64) -> Result<Item, NeedMore> {
        let from = self.position;
        let found = major_index_at(view, position);
        if let Some(index) = &found {
            hope_for_sizes(view, &index.ruler).inspect_err(|_| self.is_lost = true)?;
        }
        self.is_started = true;
        self.count = found.map(|index| index.count);
        self.ruler = found.map(|index| confirmed(view, index.ruler));
        if self.count.is_some_and(|count| count > 0) {
            self.has_crc = found.map(|index| index.crc_back > 0);
            self.is_headless = true;
        }
        self.begin_data(position);
        self.set_boundary(view);
        let (end, why) = (position, DamageKind::Marker);
        self.queue(Item::Damage(Damage { start: from, end, noticed: from, why }));
        Ok(Item::Unit(self.unit(from)))
    }

    /// Begins at the Meta of the only Unit, whose Index is damaged.
    fn start_at_meta(&mut self, view: &View<'_>, position: u64) -> Item {
        let from = self.position;
        let index = from + MARKER;
        // How large a Unit is does not matter: there is no other.
        let (marker, major) = (i64::try_from(from).unwrap_or(i64::MAX), MAJOR_UNKNOWN);
        let ruler = ruler_by_first_index(view, position);
        self.is_started = true;
        self.ruler = Some(ruler.unwrap_or(Ruler { marker, major, minor: MINOR_UNKNOWN }));
        self.begin_data(position);
        self.sum.next = None;
        self.set_boundary(view);
        let why = DamageKind::Head;
        self.queue(Item::Damage(Damage { start: from, end: position, noticed: index, why }));
        Item::Unit(self.unit(from))
    }

    /// The ruler of a Unit whose Marker is missing, from the next one or from its own indices.
    fn ruler_of_head(
        view: &View<'_>,
        from: u64,
        marker: Option<u64>,
        index: Option<MajorIndex>,
    ) -> Option<(Ruler, Option<u64>)> {
        let limit = marker.unwrap_or(view.end());
        if let (Some(marker), Some(index)) = (marker, index.filter(|index| index.count > 0)) {
            let sizes = index.ruler;
            let end = i64::try_from(marker).ok()?;
            let start = end.checked_sub_unsigned(sizes.major)?;
            let early = start.checked_add_unsigned(CRC)?;
            let rulers = [start, early].map(|marker| Ruler { marker, ..sizes });
            let fits = |ruler: &Ruler| first_tick(view, ruler, from, limit).is_some();
            let ruler = rulers.iter().copied().find(fits).or(rulers.first().copied())?;
            return Some((ruler, Some(index.count - 1)));
        }
        ruler_from_indices(view, from, limit).map(|ruler| (ruler, None))
    }

    /// Learns streams and byte order from the Unit that begins at a Marker.
    fn learn_from(&mut self, view: &View<'_>, marker: u64) -> Result<(), NeedMore> {
        let ahead = Self::from_position(marker).ahead(view)?;
        self.streams = ahead.streams;
        self.is_big_endian = ahead.is_big_endian;
        self.has_crc = ahead.has_crc;
        self.definitions = ahead.definitions;
        Ok(())
    }

    /// This walk when it has read what opens the Unit that it begins with.
    pub(super) fn ahead(mut self, view: &View<'_>) -> Result<Self, NeedMore> {
        (self.verifies, self.learns) = (false, false);
        loop {
            match self.next(view)? {
                Item::Unit(_) => {}
                Item::Frame(frame) if frame.id < id::PLATFORM => {}
                _ => return Ok(self),
            }
        }
    }
}

/// Returns true if an Index has a Meta behind it: then it opens a Unit, however little is left
/// before it.
fn opens_unit(view: &View<'_>, index: u64) -> bool {
    let meta = Lookup::read(view, index).and_then(|index| meta_at(view, index.end()));
    meta.is_some_and(|told| told.definitions.is_sound)
}

/// Finds the start of the Meta after a Marker whose Index makes no sense.
fn meta_after_marker(view: &View<'_>, from: u64) -> Option<u64> {
    let index = from + MARKER;
    looks_like_marker(view.get(from..index)).then(|| meta_after(view, index)).flatten()
}

/// The first Meta from a place on, where it is not far.
pub(super) fn meta_after(view: &View<'_>, index: u64) -> Option<u64> {
    let streams = Streams::new();
    let describes = |position: &u64| {
        let Ok(frame) = parse(&streams, view, *position, view.end()) else { return false };
        let text = view.get(frame.payload..frame.end);
        // Of a Meta in several frames the first has no end.
        frame.id == id::META
            && matches!(text.first(), Some(b'[' | b'{'))
            && (frame.more || definitions(text, &[]).is_sound)
    };
    (index..index + PROOF_BYTES).find(describes)
}

/// The first tick of a ruler within a range that has its index.
pub(super) fn first_tick(view: &View<'_>, ruler: &Ruler, from: u64, limit: u64) -> Option<u64> {
    // A ruler may be longer than the file by any measure.
    let limit = limit.min(view.end());
    let mut tick = ruler.tick_after(from.saturating_sub(1));
    while tick < limit {
        let back = minor_index(view, tick);
        let is_right = |back| i128::from(tick) - i128::from(back) == i128::from(ruler.index());
        if back.is_some_and(is_right) {
            return Some(tick);
        }
        tick = ruler.tick_after(tick);
    }
    None
}

/// The sizes that an Index tells, with the size of a unit as index frames really are apart.
pub(super) fn confirmed(view: &View<'_>, ruler: Ruler) -> Ruler {
    let seen = |minor: u64| {
        let backs = (1..=TICKS_ASKED).map(|tick| tick * minor);
        let backs = backs.take_while(|back| *back < ruler.major);
        let (mut there, mut all) = (0, 0);
        for back in backs {
            let index = ruler.index().checked_add_unsigned(back);
            let Some(index) = index.and_then(|index| u64::try_from(index).ok()) else { continue };
            if index < view.end() {
                all += 1;
                there += u32::from(minor_index(view, index) == Some(back));
            }
        }
        (there, all)
    };
    // One of them may be damaged; that does not make units larger.
    if seen(ruler.minor).0 > 0 {
        return ruler;
    }
    // Where units are larger, every second one is missing.
    let holds = |minor: &u64| match seen(*minor) {
        (1, all) => all == 1 && ruler.minor == ruler.major,
        (there, all) => there * 2 > all,
    };
    let mut sizes = (11..48).map(|bits| 1_u64 << bits).take_while(|minor| *minor < ruler.major);
    let minor = sizes.find(holds).unwrap_or(ruler.minor);
    Ruler { minor, ..ruler }
}

/// A ruler from two index frames that agree with each other, where there is no Marker.
fn ruler_from_indices(view: &View<'_>, from: u64, limit: u64) -> Option<Ruler> {
    let bytes = view.get(from..limit);
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte | 1 == 0x09) {
        let position = from + at as u64;
        // The first entry is always the Index, a multiple of the unit back.
        let Some(back) = minor_index(view, position).filter(|back| back % 2048 == 0) else {
            continue;
        };
        let mut sizes = (11..48).map(|bits| 1_u64 << bits).take_while(|minor| *minor <= back);
        let found = sizes.find(|minor| {
            back % minor == 0 && minor_index(view, position + minor) == Some(back + minor)
        });
        if let Some(minor) = found {
            let index = i64::try_from(position).ok()?.checked_sub_unsigned(back)?;
            let marker = index.checked_sub_unsigned(MARKER)?;
            // How large a Unit is does not matter: there is no Marker up to the limit.
            return Some(Ruler { marker, major: MAJOR_UNKNOWN, minor });
        }
    }
    None
}
