//! Continuation of the ruler when bytes are missing or too many.
//!
//! Then every later tick is away from its place by as many bytes. An index tells how far back the
//! Index of its Unit is, wherever it stands: the first one that is proven tells the new place of
//! the ruler.

use crate::leb128;
use crate::spec::PAYLOAD_BYTES_MAX;

use super::super::marker::{PROOF_BYTES, minor_index};
use super::super::meta::Declared;
use super::super::parse::FrameError;
use super::super::resume::{Trial, lands, targets};
use super::super::streams::{StreamLookup as _, TrialStreams};
use super::super::{
    Damage, DamageKind, Item, Lookup, NeedMore, Ruler, View, find_marker, is_marker, major_index,
};
use super::{CRC, MARKER, UnitEnd, Walker};

/// The most bytes of a frame.
pub(super) const SWALLOWED_MAX: u64 = PAYLOAD_BYTES_MAX as u64 + 7;

/// The farthest that frames are followed to prove an index.
const PROOF_FRAMES_BYTES_MAX: u64 = 4 << 20;

/// Frames that are read to prove an index behind which a message of fixed length ends.
const REST_FRAMES_MAX: u64 = 1 << 16;

/// Number of indices that a walk tries to prove by the frames around them.
pub(super) const SHIFTS_TOTAL: u32 = 256;

impl Walker {
    /// Moves the ruler to the first index at `first` or later, and before `limit`, that another
    /// place of the ruler has; that index is then the boundary.
    pub(super) fn shift(
        &mut self,
        view: &View<'_>,
        first: u64,
        limit: u64,
    ) -> Result<bool, NeedMore> {
        let Some(known) = self.ruler else { return Ok(false) };
        let from = self.before_swallowed(view, first).max(self.unshifted);
        for (at, _) in view.get(from..limit).iter().enumerate().filter(|(_, byte)| **byte | 1 == 9)
        {
            let tick = from + at as u64;
            if let Some(ruler) = ruler_of_index(view, &known, tick)
                && self.is_proven(view, &ruler, tick, first)?
            {
                Self::need(view, ruler.end().saturating_add(PROOF_BYTES))?;
                if self.resume_at_remains(view, first, tick)? {
                    return Ok(true);
                }
                self.move_to(view, &known, ruler, tick);
                self.unshifted = tick + 1;
                return Ok(true);
            }
        }
        // Of an index that has not all arrived nothing is known yet.
        let arriving = if view.is_final() { 0 } else { PROOF_BYTES };
        self.unshifted = from.max(limit.min(view.end().saturating_sub(arriving)));
        Ok(false)
    }

    /// Moves the ruler at a tick whose index tells another place of it: as many bytes are missing, or
    /// too many, as some units have.
    pub(super) fn moves_at(&mut self, view: &View<'_>, tick: u64) -> Result<bool, NeedMore> {
        let Some(known) = self.ruler else { return Ok(false) };
        let Some(ruler) = ruler_of_index(view, &known, tick) else { return Ok(false) };
        if !Self::has_next(view, &ruler, tick)? {
            return Ok(false);
        }
        self.move_to(view, &known, ruler, tick);
        self.forget_chains();
        self.position = tick;
        Ok(true)
    }

    /// Returns the place from which to look for the continuation of the ruler. A frame from which
    /// bytes are missing takes as many of what follows it, and that may be a tick.
    pub(super) fn before_swallowed(&self, view: &View<'_>, first: u64) -> u64 {
        let Some(ruler) = self.ruler else { return first };
        let index = u64::try_from(ruler.index()).unwrap_or(0);
        first.saturating_sub(SWALLOWED_MAX).max(index).max(view.base()).min(first)
    }

    /// Goes on with a ruler that was moved, before the tick that is the boundary or at it.
    pub(super) fn resume_moved(&mut self, view: &View<'_>, first: u64) -> Result<(), NeedMore> {
        if self.remains.is_some() {
            return Ok(());
        }
        let tick = self.boundary;
        if let Some(next) = self.next_by_shift(view, first, tick) {
            self.position = next;
            return Ok(());
        }
        self.resume_before(view, first.saturating_sub(1).min(tick), first.min(tick))
    }

    /// Finds the start of the next frame if the bytes that are missing or too many are those of the
    /// payload before it: from there frames lead to the tick.
    pub(super) fn next_by_shift(&self, view: &View<'_>, first: u64, tick: u64) -> Option<u64> {
        let next = u64::try_from(i128::from(self.noticed) - self.missing).ok()?;
        let mut streams = TrialStreams::fresh(&self.streams);
        streams.settle_fixed();
        let is_within = (first..tick).contains(&next);
        (is_within && lands(streams, view, next, tick, &[]).is_ok()).then_some(next)
    }

    /// Returns true if an index is one, and no payload. That is so if the next tick of its ruler is
    /// there too. It is also so if the frames that it names lead to it, or those behind it lead to
    /// the end.
    fn is_proven(
        &mut self,
        view: &View<'_>,
        ruler: &Ruler,
        tick: u64,
        first: u64,
    ) -> Result<bool, NeedMore> {
        if Self::has_next(view, ruler, tick)? {
            return Ok(true);
        }
        let next = ruler.tick_after(tick);
        if self.shifts_left == 0 {
            return Ok(false);
        }
        self.shifts_left -= 1;
        let fresh = TrialStreams::fresh(&self.streams);
        let near = first.max(tick.saturating_sub(PROOF_FRAMES_BYTES_MAX));
        let named = targets(view, tick, near, tick);
        let leads_here = |from: u64| lands(fresh.clone(), view, from, tick, &named).is_ok();
        if named.first().is_some_and(|target| leads_here(target.position)) {
            return Ok(true);
        }
        // The session ends there, or where another was appended to it.
        let near = view.truncated(next.saturating_add(PROOF_BYTES));
        let ends = [find_marker(&near, tick), Some(view.end())].into_iter().flatten();
        let mut ends = ends.filter(|end| *end <= next && end - tick <= PROOF_FRAMES_BYTES_MAX);
        Ok(ends.any(|end| {
            let crc = end.saturating_sub(CRC);
            let end = if view.byte(crc) == Some(0x10) { crc } else { end };
            let behind = lands(fresh.clone(), view, tick, end, &[]);
            matches!(behind, Ok(()) | Err(FrameError::Short))
                || self.frames_fit_after_rest(view, tick, end)
        }))
    }

    /// Returns true if frames lead from an index to the end where the first of them is the rest of
    /// a message of fixed length, however much of it that is.
    fn frames_fit_after_rest(&self, view: &View<'_>, tick: u64, end: u64) -> bool {
        let Some(first) = Lookup::read(view, tick).map(|index| index.end()) else { return false };
        let Ok((header, taken)) = leb128::read(view.get(first..end)) else { return false };
        let id = u32::try_from(header >> 1).unwrap_or(u32::MAX);
        let Declared::Fixed(total) = self.streams.slot(id).length else { return false };
        let mut streams = TrialStreams::fresh(&self.streams);
        streams.settle_fixed();
        let payload = first + taken as u64;
        let longest = total.min(PAYLOAD_BYTES_MAX as u64).min(end.saturating_sub(payload + 1));
        let mut frames = REST_FRAMES_MAX;
        // With `more` it fills the unit, and nothing is behind it.
        header & 1 == 0
            && (1..=longest).any(|length| {
                let mut trial = Trial::new(streams.clone(), payload + length);
                trial.run(view, end, &[], &mut frames).is_ok() && trial.position >= end
            })
    }

    /// Returns true if the next index or Marker of a ruler is there.
    fn has_next(view: &View<'_>, ruler: &Ruler, tick: u64) -> Result<bool, NeedMore> {
        let next = ruler.tick_after(tick);
        Self::need(view, next.min(ruler.end()).saturating_add(PROOF_BYTES))?;
        Ok(if next < ruler.early_end() {
            minor_index(view, next) == minor_index(view, tick).map(|back| back + ruler.minor)
        } else {
            is_marker(view, ruler.end()) || is_marker(view, ruler.early_end())
        })
    }

    /// Goes on with the ruler at another place, and says by how much it moved.
    fn move_to(&mut self, view: &View<'_>, known: &Ruler, ruler: Ruler, tick: u64) {
        let units = self.units_to(view, known, &ruler);
        let moved = i128::from(ruler.marker) - i128::from(known.marker);
        let missing = i128::from(units.unwrap_or(0)) * i128::from(ruler.major) - moved;
        self.queue(moved_ruler(tick, missing));
        self.missing = missing;
        self.ruler = Some(ruler);
        if units != Some(0) {
            let count = |units| self.count.and_then(|count| count.checked_add(units));
            self.count = units.and_then(count);
            self.begin_data(tick);
            self.queue(Item::Unit(self.unit(tick)));
        }
        (self.end, self.after_crc) = (UnitEnd::Unknown, false);
        self.sum.next = None;
        (self.boundary, self.is_last) = (tick, false);
    }

    /// Returns the number of Units from the known one to the Unit of another ruler, as far as that
    /// can be known: the Index after it has its number, or it is not far away.
    fn units_to(&self, view: &View<'_>, known: &Ruler, ruler: &Ruler) -> Option<u64> {
        let ends = [ruler.end(), ruler.early_end()];
        let mut next = ends.into_iter().filter(|end| is_marker(view, *end));
        if let Some(next) = next.find_map(|end| major_index(view, end)) {
            return next.count.checked_sub(self.count?.checked_add(1)?);
        }
        let moved = i128::from(ruler.marker) - i128::from(known.marker);
        (moved.unsigned_abs() < u128::from(ruler.major) / 2).then_some(0)
    }
}

/// Returns the report that the ruler is not in its place: bytes are missing before `position`, or,
/// below zero, there are too many.
pub(super) fn moved_ruler(position: u64, missing: i128) -> Item {
    let bytes = u64::try_from(missing.unsigned_abs()).unwrap_or(u64::MAX);
    let why = if missing < 0 { DamageKind::TooMany(bytes) } else { DamageKind::Missing(bytes) };
    Item::Damage(Damage { start: position, end: position, noticed: position, why })
}

/// The ruler that an index tells, if it has the sizes of the known one and another place.
fn ruler_of_index(view: &View<'_>, known: &Ruler, tick: u64) -> Option<Ruler> {
    let back = minor_index(view, tick)?;
    let index = i64::try_from(tick).ok()?.checked_sub_unsigned(back)?;
    let ruler = Ruler { marker: index.checked_sub_unsigned(MARKER)?, ..*known };
    let is_tick = back % known.minor == 0 && back < known.major;
    (is_tick && ruler != *known).then_some(ruler)
}
