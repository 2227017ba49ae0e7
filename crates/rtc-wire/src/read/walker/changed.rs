//! A single byte that was changed: the checksum of its Unit tells which it is, and what it was.

use alloc::vec::Vec;
use core::ops::Range;

use crate::crc::Polynomial;

use super::super::marker::PROOF_BYTES;
use super::super::parse::Parsed;
use super::super::resume::Trial;
use super::super::streams::Tried;
use super::super::{NeedMore, View};
use super::mend::UNIT_BYTES_MAX;
use super::{CRC, Walker};

/// The farthest from the first frame that is not certain that the byte is looked for.
const NEAR_BYTES: u64 = 2048;

/// What was found of it in a Unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Changed {
    /// The Unit, by its Marker.
    marker: i64,
    /// The byte, and the first frame behind it.
    found: Option<(u64, u64)>,
}

impl Walker {
    /// Goes on behind the frame that has the one byte of the Unit that was changed.
    pub(super) fn resume_behind_changed(
        &mut self,
        view: &View<'_>,
        start: u64,
    ) -> Result<bool, NeedMore> {
        let found = self.changed(view, start)?;
        if let Some((_, next)) = found {
            self.position = next;
        }
        Ok(found.is_some())
    }

    /// Whether the one byte of the Unit that was changed is behind a frame, so that the frame is
    /// right and not what follows it.
    pub(super) fn is_before_changed(
        &mut self,
        view: &View<'_>,
        frame: &Parsed,
    ) -> Result<bool, NeedMore> {
        Ok(self.changed(view, frame.position)?.is_some_and(|(at, _)| at >= frame.end))
    }

    /// The one byte of the Unit that was changed, from `start` on, and the first frame behind it.
    /// With the byte as it was, frames lead from `start` to the boundary: that is the proof. It is
    /// looked for once in a Unit.
    fn changed(&mut self, view: &View<'_>, start: u64) -> Result<Option<(u64, u64)>, NeedMore> {
        let is_asked = self.learns && !self.streams.is_undescribed() && !self.is_meta_due;
        let ruler = self.ruler.filter(|ruler| is_asked && ruler.major <= UNIT_BYTES_MAX);
        let Some(ruler) = ruler else { return Ok(None) };
        if let Some(known) = self.changed.filter(|known| known.marker == ruler.marker) {
            return Ok(known.found.filter(|(at, _)| *at >= start));
        }
        let end = ruler.end().saturating_add(PROOF_BYTES);
        Self::hope(view, end)?;
        if !view.reaches(end) {
            return Ok(None);
        }
        let of = |crc: u64, polynomial| {
            let limit = self.boundary.min(crc);
            let near = start.saturating_add(NEAR_BYTES).min(limit);
            let (at, bits) = self.changed_byte(view, polynomial, crc, start..near)?;
            Some((at, self.next_behind(view, start, limit, at, bits)?))
        };
        let found = self
            .places_of_crc(view)
            .into_iter()
            .find_map(|crc| of(crc, Polynomial::Ieee).or_else(|| of(crc, Polynomial::Mixed)));
        self.changed = Some(Changed { marker: ruler.marker, found });
        Ok(found)
    }

    /// The one byte of a range by whose change the checksum at a place does not hold, and the bits
    /// of it that were changed.
    fn changed_byte(
        &self,
        view: &View<'_>,
        polynomial: Polynomial,
        crc: u64,
        within: Range<u64>,
    ) -> Option<(u64, u8)> {
        let stored = <[u8; 4]>::try_from(view.get(crc + 1..crc + CRC)).ok()?;
        let value = self.sum_to(view, polynomial, crc)?;
        let (length, count) = (crc - within.start, within.end.checked_sub(within.start)?);
        let (length, count) = (usize::try_from(length).ok()?, usize::try_from(count).ok()?);
        let orders = [u32::from_le_bytes(stored), u32::from_be_bytes(stored)];
        let known = self.is_big_endian.map(usize::from);
        let orders = orders.into_iter().enumerate();
        let mut orders = orders.filter(|(order, _)| known.is_none_or(|known| known == *order));
        let changed = orders
            .find_map(|(_, stored)| polynomial.changed_by(value ^ stored, length, 0..count))?;
        Some((within.start + changed.at as u64, changed.bits))
    }

    /// The first frame behind a byte that is read as it was, if frames then lead to the limit.
    fn next_behind(
        &self,
        view: &View<'_>,
        start: u64,
        limit: u64,
        at: u64,
        bits: u8,
    ) -> Option<u64> {
        let mut bytes: Vec<u8> = view.get(start..limit.saturating_add(PROOF_BYTES)).to_vec();
        *bytes.get_mut(usize::try_from(at - start).ok()?)? ^= bits;
        let view = View::part(&bytes, start, true);
        let mut trial = Trial::new(Tried::new(&self.streams), start);
        let mut next = None;
        loop {
            let before = trial.position;
            trial.run(&view, limit, &[], &mut 1).ok()?;
            if next.is_none() && trial.position > at {
                next = Some(trial.position);
            }
            // Padding is not walked through: it leads to the limit.
            if trial.position == before || trial.position >= limit {
                return next;
            }
        }
    }
}
