//! Ends of units and Units.

use crate::spec::MARKER_HEADER;

use super::super::marker::PROOF_BYTES;
use super::super::resume::{lands, targets};
use super::super::streams::TrialStreams;
use super::super::{Damage, DamageKind, Item, MajorIndex, NeedMore, View, is_marker, major_index};
use super::value::DOUBTS_MAX;
use super::{CRC, FADE, UnitEnd, Walker};

impl Walker {
    /// Finds the next boundary after the current place.
    pub(super) fn set_boundary(&mut self, view: &View<'_>) {
        self.has_tried_rest = false;
        self.streams.forget_guesses();
        self.doubts_left = DOUBTS_MAX;
        let Some(ruler) = self.ruler else {
            self.boundary = u64::MAX;
            return;
        };
        let tick = ruler.tick_after(self.position);
        self.is_last = tick >= ruler.early_end();
        if !self.is_last {
            self.boundary = tick;
        } else if self.find_end(view).is_err() {
            // Up to here it is the same wherever the Unit ends.
            self.boundary = ruler.early_end().saturating_sub(CRC);
        }
    }

    /// Returns true if it is still open where the Unit ends.
    pub(super) fn is_provisional(&self) -> bool {
        self.end == UnitEnd::Unknown
    }

    /// Finds where the Unit's data end: at the next Marker, or at the Crc before it.
    pub(super) fn find_end(&mut self, view: &View<'_>) -> Result<(), NeedMore> {
        let Some(ruler) = self.ruler else { return Ok(()) };
        let ends = [ruler.end(), ruler.early_end()];
        let is_next = |end: &u64| {
            let next = major_index(view, *end);
            // Where a Marker lacks as many bytes as a Crc has, its Index is where that of the
            // oldest writer would be; but the Crc is in its place.
            let is_crc = *end != ruler.end() && view.byte(*end) == Some(0x10);
            let is_next_count =
                |next: MajorIndex| self.count.is_some_and(|count| next.count == count + 1);
            is_marker(view, *end) || (!is_crc && next.is_some_and(is_next_count))
        };
        let found = ends.into_iter().find(is_next);
        if found.is_none() {
            Self::need(view, ruler.end().saturating_add(PROOF_BYTES))?;
        }
        let marker = found.unwrap_or(ruler.end());
        let next = found.and_then(|end| major_index(view, end));
        let has_crc = match (next, self.has_crc) {
            (Some(next), _) => next.has_crc_before(),
            (None, Some(has_crc)) => has_crc,
            (None, None) => view.byte(marker.saturating_sub(CRC)).is_none_or(|byte| byte == 0x10),
        };
        self.end = UnitEnd::Known { marker, has_crc };
        self.boundary = if has_crc { marker.saturating_sub(CRC) } else { marker };
        Ok(())
    }

    /// Goes on at a boundary.
    pub(super) fn cross(&mut self, view: &View<'_>) -> Result<Option<Item>, NeedMore> {
        let position = self.position;
        let Some(header) = view.byte(position) else {
            return if view.is_final() { Ok(Some(Item::End)) } else { Err(NeedMore(position + 1)) };
        };
        if !self.is_last {
            return self.cross_tick(view, header);
        }
        match self.end {
            UnitEnd::Unknown => self.find_end(view).map(|()| None),
            UnitEnd::Known { marker, .. } if position == marker => self.meet_marker(view),
            UnitEnd::Known { marker, has_crc: true } if header == 0x10 => {
                self.boundary = marker;
                Ok(None)
            }
            UnitEnd::Known { .. } if header == MARKER_HEADER => self.meet_marker(view),
            UnitEnd::Known { marker, .. } => {
                let why = DamageKind::NoMarker;
                let end = marker.min(view.end());
                self.forget_chains();
                self.position = end;
                self.boundary = end;
                Ok(Some(Item::Damage(Damage { start: position, end, noticed: position, why })))
            }
        }
    }

    pub(super) fn cross_tick(
        &mut self,
        view: &View<'_>,
        header: u8,
    ) -> Result<Option<Item>, NeedMore> {
        if header == MARKER_HEADER {
            return self.meet_marker(view);
        }
        let position = self.position;
        if header | 1 == 0x09 {
            if self.moves_at(view, position)? {
                return Ok(None);
            }
            // What was read as a tick is not taken for one of another ruler later on.
            self.unshifted = self.unshifted.max(position + 1);
        }
        let is_stop = header == 0x10 && position + CRC >= view.end();
        let here = (self.sum.before_tick, self.boundary, self.is_last, self.end);
        self.sum.before_tick = self.data_end;
        self.set_boundary(view);
        let found = if header | 1 != 0x09 && !is_stop {
            self.damage(view, position, self.missing_index_reason(view))
        } else {
            match self.is_proven_undescribed(view) {
                Ok(true) => Ok(None),
                Ok(false) => self.damage(view, position, DamageKind::Undescribed),
                Err(more) => Err(more),
            }
        };
        // With more bytes the tick is crossed once more.
        found.inspect_err(|_| (self.sum.before_tick, self.boundary, self.is_last, self.end) = here)
    }

    fn missing_index_reason(&self, view: &View<'_>) -> DamageKind {
        let zeros = view.get(self.position..self.position.saturating_add(FADE));
        if zeros.iter().all(|byte| *byte == 0) { DamageKind::Zeros } else { DamageKind::NoIndex }
    }

    /// Returns true if the rest of the unit makes sense with streams of variable length alone.
    /// Where no Meta says what streams there are, only that tells that none of them is of a fixed
    /// one.
    pub(super) fn is_proven_undescribed(&mut self, view: &View<'_>) -> Result<bool, NeedMore> {
        let is_undescribed = self.streams.is_undescribed() && !self.is_meta_open;
        let (position, boundary) = (self.position, self.boundary);
        if !is_undescribed || boundary <= self.undescribed {
            return Ok(true);
        }
        Self::need(view, boundary.saturating_add(PROOF_BYTES))?;
        let landing = self.landing(view);
        let index = self.index_at(view, boundary);
        let named = index.map(|index| targets(view, index, position, landing)).unwrap_or_default();
        let is_proven =
            lands(TrialStreams::new(&self.streams), view, position, landing, &named).is_ok();
        if is_proven {
            self.undescribed = boundary;
        }
        Ok(is_proven)
    }
}
