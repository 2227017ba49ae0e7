//! Where the walk goes on after damage.

use super::super::marker::{PROOF_BYTES, minor_index};
use super::super::resume::{agreement, lands, targets};
use super::super::{Damage, Item, NeedMore, Ruler, Streams, View, Why, find_marker, is_marker};
use super::head::first_tick;
use super::{MARKER, UnitEnd, Walker};

impl Walker {
    /// The bytes end within a frame.
    pub(super) fn short(&mut self, view: &View<'_>, start: u64) -> Result<Option<Item>, NeedMore> {
        Self::need(view, view.end() + 1)?;
        // A writer that was killed may have been followed by another.
        let end = find_marker(view, start + 1).unwrap_or(view.end());
        self.go_to_marker(end);
        Ok(Some(Item::Damage(Damage { start, end, noticed: start, why: Why::Cut })))
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
        why: Why,
    ) -> Result<Option<Item>, NeedMore> {
        self.damage_noticed(view, start, start, why)
    }

    /// Passes over bytes from `start`, the place of the first frame that is not certain.
    pub(super) fn damage_noticed(
        &mut self,
        view: &View<'_>,
        start: u64,
        noticed: u64,
        why: Why,
    ) -> Result<Option<Item>, NeedMore> {
        let here = (self.position, self.boundary, self.is_last, self.end);
        if let Err(more) = self.resume(view, start, start + 1) {
            // With more bytes it is looked for again from here.
            (self.position, self.boundary, self.is_last, self.end) = here;
            return Err(more);
        }
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
            self.settle_end(view)?;
        }
        let limit = self.boundary;
        Self::need(view, limit.saturating_add(PROOF_BYTES))?;
        let near = view.until(limit.saturating_add(PROOF_BYTES));
        let from = self.before_swallowed(view, first);
        let marker = find_marker(&near, from).filter(|marker| *marker < limit);
        if marker.is_none() && self.index_at(view, limit).is_some() {
            return self.resume_before(view, start, first);
        }
        if self.shift(view, first, marker.unwrap_or(limit))? {
            return self.resume_moved(view, first);
        }
        if let Some(marker) = marker {
            self.go_to_marker(marker);
            return Ok(());
        }
        self.resume_before(view, start, first)
    }

    /// Finds where to go on before the boundary; else at it, or later.
    pub(super) fn resume_before(
        &mut self,
        view: &View<'_>,
        start: u64,
        first: u64,
    ) -> Result<(), NeedMore> {
        let limit = self.boundary;
        if self.streams.is_undescribed() {
            return self.pass_boundary(view, first);
        }
        let landing = self.landing(view);
        let is_proven = match self.index_at(view, limit) {
            Some(index) => {
                let named = targets(view, index, first, limit);
                let fresh = self.fresh();
                let mut sound = named
                    .iter()
                    .take(16)
                    .filter(|target| lands(&fresh, view, target.position, limit, &named).is_ok());
                if self.searched < limit
                    && let Some(target) = sound.next()
                {
                    self.searched = limit;
                    self.position = target.position;
                    return Ok(());
                }
                true
            }
            None => landing < limit,
        };
        if is_proven && self.searched < limit {
            self.searched = limit;
            if let Some(found) = agreement(&self.fresh(), view, start, landing) {
                self.position = found;
                return Ok(());
            }
        }
        self.pass_boundary(view, first)
    }

    pub(super) fn forget_chains(&mut self) {
        self.streams.forget_chains();
        self.is_unsettled = true;
    }

    /// The streams as they are when nothing is known of what is open.
    pub(super) fn fresh(&self) -> Streams {
        let mut streams = self.streams.clone();
        streams.forget_chains();
        streams
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
                self.settle_end(view)?;
            }
            Self::need(view, self.boundary.saturating_add(PROOF_BYTES))?;
            if self.index_at(view, self.boundary).is_none() {
                let limit = self.boundary;
                if self.shift(view, first, limit)? {
                    return self.resume_moved(view, first);
                }
            }
        }
    }

    pub(super) fn resume_at_marker(&mut self, view: &View<'_>, first: u64) -> Result<(), NeedMore> {
        if self.resume_in_next_unit(view, first)? {
            return Ok(());
        }
        let found = find_marker(view, self.before_swallowed(view, first));
        if self.shift(view, first, found.unwrap_or(view.end()))? {
            return self.resume_moved(view, first);
        }
        if found.is_none() {
            Self::need(view, view.end() + 1)?;
        }
        self.go_to_marker(found.unwrap_or(view.end()));
        Ok(())
    }

    /// Where a Marker and its Index are both damaged, the Unit is still known by its other
    /// indices, which stand where the ruler has them.
    pub(super) fn resume_in_next_unit(
        &mut self,
        view: &View<'_>,
        first: u64,
    ) -> Result<bool, NeedMore> {
        let Some(ruler) = self.ruler else { return Ok(false) };
        let last = ruler.end().saturating_add(ruler.major);
        Self::need(view, last.saturating_add(PROOF_BYTES))?;
        let near = view.until(last.saturating_add(PROOF_BYTES));
        let limit = find_marker(&near, first).unwrap_or(last);
        for end in [ruler.end(), ruler.early_end()] {
            let next = Ruler { marker: i64::try_from(end).unwrap_or(i64::MAX), ..ruler };
            let Some(tick) = first_tick(view, &next, end.max(first), limit) else { continue };
            if self.shift(view, first, tick)? {
                self.resume_moved(view, first)?;
                return Ok(true);
            }
            self.ruler = Some(next);
            self.count = self.count.map(|count| count + 1);
            self.begin_data(tick);
            self.sum.next = None;
            (self.boundary, self.is_last) = (tick, false);
            self.queue(Item::Unit(self.unit(tick)));
            return Ok(true);
        }
        Ok(false)
    }
}
