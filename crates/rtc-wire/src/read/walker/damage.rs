//! Places where the walk goes on after damage.

use super::super::marker::{PROOF_BYTES, minor_index};
use super::super::meta::Definitions;
use super::super::resume::{Target, agreement, lands, passage, targets};
use super::super::streams::TrialStreams;
use super::super::{
    Damage, DamageKind, Item, MajorIndex, NeedMore, Ruler, View, find_marker, is_marker,
    major_index,
};
use super::head::{first_tick, meta_after};
use super::learn::MetaContent;
use super::mend::text_after;
use super::{CRC, MARKER, UnitEnd, Walker};

/// Range in which the next Marker was looked for, and the result.
#[derive(Debug, Clone, Copy)]
pub(super) struct MarkerSearch {
    from: u64,
    /// Up to here there was none, where none was found.
    end: u64,
    found: Option<u64>,
}

/// As far behind damage nothing nearer is looked for.
const NEAR_BYTES: u64 = 2048;

impl Walker {
    /// The bytes end within a frame.
    pub(super) fn short(&mut self, view: &View<'_>, start: u64) -> Result<Option<Item>, NeedMore> {
        Self::need(view, view.end() + 1)?;
        // A writer that was killed may have been followed by another.
        let end = self.next_marker(view, start + 1).unwrap_or(view.end());
        if !self.resume_at_remains(view, start + 1, end)? {
            self.go_to_marker(end);
        }
        let end = self.position;
        Ok(Some(Item::Damage(Damage { start, end, noticed: start, why: DamageKind::Cut })))
    }

    /// The next Marker that starts at `from` or later. No byte is looked at more than once or
    /// twice, however often that is asked for.
    pub(super) fn next_marker(&mut self, view: &View<'_>, from: u64) -> Option<u64> {
        let Some(mut sought) = self.sought else { return self.seek_marker(view, from, from) };
        if from < sought.from {
            let before = view.truncated(sought.from.saturating_add(PROOF_BYTES));
            let found = find_marker(&before, from);
            if found.is_some() {
                return found;
            }
            sought.from = from;
            self.sought = Some(sought);
        }
        match sought.found {
            Some(marker) if marker >= from => Some(marker),
            Some(_) => self.seek_marker(view, from, from),
            None => self.seek_marker(view, sought.from, from.max(sought.end)),
        }
    }

    fn seek_marker(&mut self, view: &View<'_>, from: u64, start: u64) -> Option<u64> {
        let found = find_marker(view, start);
        // Of a Marker that has not all arrived nothing is known yet.
        let arriving = if view.is_final() { 0 } else { PROOF_BYTES };
        let end = view.end().saturating_sub(arriving);
        self.sought = Some(MarkerSearch { from, end, found });
        found
    }

    pub(super) fn go_to_marker(&mut self, position: u64) {
        self.forget_chains();
        self.position = position;
        self.boundary = u64::MAX;
        self.is_last = false;
        self.end = UnitEnd::Unknown;
        self.after_crc = false;
    }

    pub(super) fn damage(
        &mut self,
        view: &View<'_>,
        start: u64,
        why: DamageKind,
    ) -> Result<Option<Item>, NeedMore> {
        self.skip_damage(view, start, start, why)
    }

    /// Passes over bytes from `start`, the place of the first frame that is not certain.
    pub(super) fn skip_damage(
        &mut self,
        view: &View<'_>,
        start: u64,
        noticed: u64,
        why: DamageKind,
    ) -> Result<Option<Item>, NeedMore> {
        if self.learn_from_later(view, why)? {
            self.queue(Item::Streams(start));
            if let DamageKind::Stream(id) = why
                && self.streams.is_described(id)
            {
                return Ok(None);
            }
        }
        if matches!(why, DamageKind::Stream(_)) && self.guess_streams(view, start, false)? {
            return Ok(None);
        }
        let here = (self.position, self.boundary, self.is_last, self.end, self.is_meta_due);
        let is_session_ended = self.after_crc;
        self.noticed = noticed;
        if let Err(more) = self.resume(view, start, start + 1) {
            // With more bytes it is looked for again from here.
            (self.position, self.boundary, self.is_last, self.end, self.is_meta_due) = here;
            return Err(more);
        }
        // Where there is room for no more than a Marker.
        let is_marker_alone = is_session_ended
            && self.remains.is_some_and(|found| found.has_index())
            && self.position.saturating_sub(start) < 2 * MARKER;
        let why = if is_marker_alone { DamageKind::Marker } else { why };
        let (start, end) = (start.min(self.position), self.position);
        self.forget_chains();
        (self.is_index_open, self.is_meta_open) = (false, false);
        self.has_tried_rest = false;
        Ok(Some(Item::Damage(Damage { start, end, noticed, why })))
    }

    /// Finds where to go on: not before `first`.
    pub(super) fn resume(
        &mut self,
        view: &View<'_>,
        start: u64,
        first: u64,
    ) -> Result<(), NeedMore> {
        if self.ruler.is_none() || self.after_crc {
            return self.resume_at_marker(view, first);
        }
        if self.is_last && self.is_provisional() {
            self.find_end(view)?;
        }
        if self.resume_behind_changed(view, start)? {
            return Ok(());
        }
        let limit = self.boundary;
        Self::need(view, limit.saturating_add(PROOF_BYTES))?;
        // Behind an Index that is damaged the Meta is not far.
        let meta = if self.is_meta_due { meta_after(view, first) } else { None };
        let is_meta_due = core::mem::take(&mut self.is_meta_due);
        if let Some(meta) = meta.filter(|meta| *meta < limit) {
            self.position = meta;
            return Ok(());
        }
        if (is_meta_due || self.is_meta_open) && self.resume_behind_meta(view, start)? {
            return Ok(());
        }
        if self.resume_behind_number(view, start) {
            return Ok(());
        }
        let near = view.truncated(limit.saturating_add(PROOF_BYTES));
        let from = self.before_swallowed(view, first);
        let marker = find_marker(&near, from).filter(|marker| *marker < limit);
        if marker.is_none() && self.index_at(view, limit).is_some() {
            return self.resume_before(view, start, first);
        }
        if self.shift(view, first, marker.unwrap_or(limit))? {
            return self.resume_moved(view, first);
        }
        if self.resume_at_remains(view, first, marker.unwrap_or(limit))? {
            return Ok(());
        }
        if let Some(marker) = marker {
            if !self.resume_before_marker(view, start, first, marker) {
                self.go_to_marker(marker);
            }
            return Ok(());
        }
        self.resume_before(view, start, first)
    }

    /// Goes on before the Marker of the next Unit, which is nearer than the ruler has it, since bytes
    /// are missing: the data of this Unit ends there.
    fn resume_before_marker(
        &mut self,
        view: &View<'_>,
        start: u64,
        first: u64,
        marker: u64,
    ) -> bool {
        let is_next = |next: &MajorIndex| self.count.is_some_and(|count| next.count == count + 1);
        let next = major_index(view, marker).filter(is_next);
        let (Some(ruler), Some(next)) = (self.ruler, next) else { return false };
        let has_crc = next.has_crc_before();
        let here = (self.boundary, self.is_last, self.end);
        self.end = UnitEnd::Known { marker, has_crc };
        self.boundary = if has_crc { marker.saturating_sub(CRC) } else { marker };
        self.is_last = true;
        // What was looked for up to another place is looked for anew.
        (self.searched, self.impassable) = (0, 0);
        self.missing = i128::from(ruler.end()) - i128::from(marker);
        let by_shift = self.next_by_shift(view, first, self.boundary);
        self.position = by_shift.unwrap_or(self.position);
        let is_found = by_shift.is_some() || self.is_found_before(view, start, first);
        if !is_found {
            (self.boundary, self.is_last, self.end) = here;
        }
        is_found
    }

    /// Goes on behind the Meta of a Unit, where its frame is damaged and its text is not, or one
    /// byte of it.
    fn resume_behind_meta(&mut self, view: &View<'_>, start: u64) -> Result<bool, NeedMore> {
        let boundary = self.boundary;
        let near = || text_after(view, start).filter(|told| told.end <= boundary);
        let told = self.mended(view, boundary)?.or_else(near);
        let Some(told) = told else { return Ok(false) };
        self.go_behind(view, start, told);
        Ok(true)
    }

    /// Goes on behind a Meta or `meta` that says something.
    pub(super) fn go_behind(&mut self, view: &View<'_>, start: u64, told: MetaContent) {
        self.definitions = Definitions { is_sound: false, ..told.definitions };
        (self.position, self.opened) = (told.end, told.end);
        self.pass_ticks(view);
        self.define(view, told.end);
        self.queue(Item::Streams(start));
    }

    /// Finds the boundary behind a Meta that a tick divides.
    pub(super) fn pass_ticks(&mut self, view: &View<'_>) {
        if self.position > self.boundary {
            self.set_boundary(view);
        }
    }

    /// Finds where to go on before the boundary; else at it, or later.
    pub(super) fn resume_before(
        &mut self,
        view: &View<'_>,
        start: u64,
        first: u64,
    ) -> Result<(), NeedMore> {
        if self.is_found_before(view, start, first) {
            return Ok(());
        }
        self.pass_boundary(view, first)
    }

    /// Finds where to go on before the boundary: at a frame from which frames lead there, or before
    /// that at one from which they lead far.
    fn is_found_before(&mut self, view: &View<'_>, start: u64, first: u64) -> bool {
        let (limit, landing) = (self.boundary, self.landing(view));
        let index = self.index_at(view, limit);
        if self.streams.is_undescribed() {
            return false;
        }
        let mut found = None;
        if self.searched < limit && (index.is_some() || landing < limit) {
            self.searched = limit;
            found = self.frame_leading_to(view, landing, index, start, first);
        }
        let is_near = |found: u64| found - start <= NEAR_BYTES;
        if !found.is_some_and(is_near) {
            let passage = self.passage(view, start, landing);
            found = found.into_iter().chain(passage).min();
        }
        self.position = found.unwrap_or(self.position);
        found.is_some()
    }

    /// A frame from which frames lead to the boundary: one that the index behind it names, or on
    /// which every way to read the bytes agrees.
    fn frame_leading_to(
        &mut self,
        view: &View<'_>,
        landing: u64,
        index: Option<u64>,
        start: u64,
        first: u64,
    ) -> Option<u64> {
        let (limit, fresh) = (self.boundary, TrialStreams::fresh(&self.streams));
        let named = index.map(|index| targets(view, index, first, limit)).unwrap_or_default();
        let is_sound =
            |target: &&Target| lands(fresh.clone(), view, target.position, limit, &named).is_ok();
        if let Some(target) = named.iter().take(16).find(is_sound) {
            return Some(target.position);
        }
        agreement(&fresh, view, start, landing, &mut self.fitted_bytes_left)
    }

    /// A frame from which frames lead far though more is damaged before the boundary. In a unit in
    /// which there was none it is not looked for again.
    fn passage(&mut self, view: &View<'_>, start: u64, landing: u64) -> Option<u64> {
        if self.impassable >= self.boundary {
            return None;
        }
        let found = passage(&TrialStreams::fresh(&self.streams), view, start, landing);
        if found.is_none() {
            self.impassable = self.boundary;
        }
        found
    }

    pub(super) fn forget_chains(&mut self) {
        self.streams.forget_chains();
        self.is_unsettled = true;
    }

    /// The index that tells of the unit before a boundary, where it makes sense.
    pub(super) fn index_at(&self, view: &View<'_>, boundary: u64) -> Option<u64> {
        if !self.is_last {
            let index = self.ruler?.index();
            let back = minor_index(view, boundary)?;
            let is_right = i128::from(boundary) - i128::from(back) == i128::from(index);
            return is_right.then_some(boundary);
        }
        let UnitEnd::Known { marker, .. } = self.end else { return None };
        is_marker(view, marker).then_some(marker + MARKER)
    }

    /// Goes on at the boundary, if what should be there is; else at a later one.
    pub(super) fn pass_boundary(&mut self, view: &View<'_>, first: u64) -> Result<(), NeedMore> {
        loop {
            let boundary = self.boundary;
            if boundary >= view.end() {
                return self.resume_at_marker(view, first);
            }
            // What is damaged may stand at the boundary itself, in the place of a Crc.
            if boundary >= first && self.index_at(view, boundary).is_some() {
                self.position = boundary;
                return Ok(());
            }
            if self.is_last {
                return self.resume_at_marker(view, first);
            }
            self.position = boundary;
            self.set_boundary(view);
            if self.is_last && self.is_provisional() {
                self.find_end(view)?;
            }
            Self::need(view, self.boundary.saturating_add(PROOF_BYTES))?;
            if self.index_at(view, self.boundary).is_none() {
                let limit = self.boundary;
                if self.shift(view, first, limit)? {
                    return self.resume_moved(view, first);
                }
            } else if boundary >= first && self.is_found_before(view, boundary, boundary + 1) {
                return Ok(());
            }
        }
    }

    pub(super) fn resume_at_marker(&mut self, view: &View<'_>, first: u64) -> Result<(), NeedMore> {
        if self.resume_in_next_unit(view, first)? {
            return Ok(());
        }
        let found = self.next_marker(view, self.before_swallowed(view, first));
        let limit = found.unwrap_or(view.end());
        if self.shift(view, first, limit)? {
            return self.resume_moved(view, first);
        }
        if found.is_none() {
            Self::need(view, view.end() + 1)?;
        }
        if !self.resume_at_remains(view, first, limit)? {
            self.go_to_marker(limit);
        }
        Ok(())
    }

    /// Resumes in the next Unit where a Marker and its Index are both damaged. The Unit is still
    /// known by its other indices, which stand where the ruler has them.
    pub(super) fn resume_in_next_unit(
        &mut self,
        view: &View<'_>,
        first: u64,
    ) -> Result<bool, NeedMore> {
        let Some(ruler) = self.ruler else { return Ok(false) };
        let last = ruler.end().saturating_add(ruler.major);
        Self::need(view, last.saturating_add(PROOF_BYTES))?;
        let near = view.truncated(last.saturating_add(PROOF_BYTES));
        let limit = find_marker(&near, first).unwrap_or(last);
        for end in [ruler.end(), ruler.early_end()] {
            let next = Ruler { marker: i64::try_from(end).unwrap_or(i64::MAX), ..ruler };
            let Some(tick) = first_tick(view, &next, end.max(first), limit) else { continue };
            if self.shift(view, first, tick)? {
                self.resume_moved(view, first)?;
                return Ok(true);
            }
            if self.resume_at_remains(view, first, tick)? {
                return Ok(true);
            }
            self.ruler = Some(next);
            self.count = self.count.map(|count| count + 1);
            self.begin_data(tick);
            self.sum.next = None;
            (self.boundary, self.is_last) = (tick, false);
            let start = end.saturating_add(MARKER).max(first);
            self.is_found_before(view, start.saturating_sub(1), start);
            self.queue(Item::Unit(self.unit(self.position)));
            return Ok(true);
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::spec::{MARKER_BYTE, MARKER_HEADER};

    fn with_marker(at: usize) -> Vec<u8> {
        let mut bytes = vec![0x55; 9000];
        // Unit 1: Index 8192 bytes back, index 2048.
        let index = [6, 8, 1, 7, 0x80, 0x80, 1, 9, 0x80, 0x20];
        let run = [MARKER_BYTE; 1024];
        let marker = [&[MARKER_HEADER][..], &run, &index].concat();
        bytes.splice(at..at + marker.len(), marker);
        bytes
    }

    /// A file may have damage everywhere and no Marker. What was searched is not searched again:
    /// shown by other bytes in the place of those that were looked at.
    #[test]
    fn no_byte_is_searched_for_a_marker_again_and_again() {
        let without = vec![0x55; 9000];
        let with = with_marker(4000);
        let mut walker = Walker::new();
        assert_eq!(walker.next_marker(&View::from_file(&without), 100), None);
        assert_eq!(walker.next_marker(&View::from_file(&with), 200), None);
        let mut walker = Walker::new();
        assert_eq!(walker.next_marker(&View::from_file(&with), 100), Some(4000));
        assert_eq!(walker.next_marker(&View::from_file(&without), 3000), Some(4000));
        assert_eq!(walker.next_marker(&View::from_file(&without), 4001), None);
        // What comes before is looked at, and only that.
        let mut walker = Walker::new();
        assert_eq!(walker.next_marker(&View::from_file(&without), 5000), None);
        assert_eq!(walker.next_marker(&View::from_file(&with), 3000), Some(4000));
    }

    #[test]
    fn a_marker_that_arrives_later_is_found() {
        let with = with_marker(4000);
        let mut walker = Walker::new();
        for end in [3000, 4500, 5030] {
            let view = View::part(&with[..end], 0, false);
            assert_eq!(walker.next_marker(&view, 100), None);
        }
        let view = View::part(&with[..6000], 0, false);
        assert_eq!(walker.next_marker(&view, 100), Some(4000));
    }
}
