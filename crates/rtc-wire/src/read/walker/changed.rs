//! A single byte that was changed: the checksum of its Unit tells which it is, and what it was.

use alloc::vec::Vec;

use crate::crc::Polynomial;

use super::super::marker::PROOF_BYTES;
use super::super::parse::Parsed;
use super::super::resume::Trial;
use super::super::streams::TrialStreams;
use super::super::{NeedMore, View};
use super::mend::UNIT_BYTES_MAX;
use super::{CRC, Walker};

/// The farthest from the first frame that is not certain that the byte spoils that frame.
const NEAR_BYTES: u64 = 2048;

/// Number of attempts in a Unit to prove it.
const PROOFS_MAX: u32 = 8;

/// Result of the search for it in a Unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnitChange {
    /// The Unit, by its Marker.
    marker: i64,
    found: Option<Byte>,
    proofs_left: u32,
}

/// A byte that was changed.
#[derive(Debug, Clone, Copy)]
struct Byte {
    at: u64,
    /// The bits that differ from what it was.
    bits: u8,
    /// The checksum that tells.
    crc: u64,
}

impl Walker {
    /// Goes on behind the frame that has the one byte of the Unit that was changed. What a `meta`
    /// said is learned.
    pub(super) fn resume_behind_changed(
        &mut self,
        view: &View<'_>,
        start: u64,
    ) -> Result<bool, NeedMore> {
        let found = self.changed(view, start)?;
        let found = found.filter(|(at, _)| at - start <= NEAR_BYTES);
        let Some((_, next)) = found else { return Ok(false) };
        match self.changed_meta(view, start) {
            Some(told) => self.go_behind(view, start, told),
            None => self.position = next,
        }
        Ok(true)
    }

    /// Returns true if the one byte of the Unit that was changed is behind a frame, so that the
    /// frame is right and not what follows it.
    pub(super) fn is_before_changed(
        &mut self,
        view: &View<'_>,
        frame: &Parsed,
    ) -> Result<bool, NeedMore> {
        Ok(self.changed(view, frame.position)?.is_some_and(|(at, _)| at >= frame.end))
    }

    /// The one byte of the Unit that was changed, where it is between `start` and the boundary, and
    /// the first frame behind it. With the byte as it was, frames lead from `start` to the
    /// boundary: that is the proof.
    pub(super) fn changed(
        &mut self,
        view: &View<'_>,
        start: u64,
    ) -> Result<Option<(u64, u64)>, NeedMore> {
        let is_asked = self.learns && !self.streams.is_undescribed() && !self.is_meta_due;
        let ruler = self.ruler.filter(|ruler| is_asked && ruler.major <= UNIT_BYTES_MAX);
        let Some(ruler) = ruler else { return Ok(None) };
        let known = self.changed.filter(|known| known.marker == ruler.marker);
        let mut changed = if let Some(known) = known {
            known
        } else {
            let end = ruler.end().saturating_add(PROOF_BYTES);
            Self::hope(view, end)?;
            if !view.reaches(end) {
                return Ok(None);
            }
            let found = self.changed_from(view, start);
            UnitChange { marker: ruler.marker, found, proofs_left: PROOFS_MAX }
        };
        let is_here = |byte: &Byte| (start..self.boundary).contains(&byte.at);
        let found = changed.found.filter(is_here).filter(|_| changed.proofs_left > 0);
        changed.proofs_left -= u32::from(found.is_some());
        self.changed = Some(changed);
        Ok(found.and_then(|byte| Some((byte.at, self.next_after_change(view, start, byte)?))))
    }

    /// The checksum of this Unit, and the byte that was changed with the bits that differ, where it
    /// was looked for.
    pub(super) fn known_change(&self) -> Option<(u64, (u64, u8))> {
        let known = self
            .changed
            .filter(|known| Some(known.marker) == self.ruler.map(|this_ruler| this_ruler.marker));
        let Byte { at, bits, crc } = known?.found?;
        Some((crc, (at, bits)))
    }

    /// The one byte of the Unit that was changed, from `start` on.
    fn changed_from(&self, view: &View<'_>, start: u64) -> Option<Byte> {
        let item = |crc, polynomial| self.changed_byte(view, polynomial, start, crc);
        let mut places = self.places_of_crc(view).into_iter();
        places.find_map(|crc| item(crc, Polynomial::Ieee).or_else(|| item(crc, Polynomial::Mixed)))
    }

    /// The one byte from `start` on by whose change the checksum at a place does not hold.
    fn changed_byte(
        &self,
        view: &View<'_>,
        polynomial: Polynomial,
        start: u64,
        crc: u64,
    ) -> Option<Byte> {
        let stored = <[u8; 4]>::try_from(view.get(crc + 1..crc + CRC)).ok()?;
        let value = self.sum_to(view, polynomial, crc)?;
        let length = usize::try_from(crc.checked_sub(start)?).ok()?;
        let orders = [u32::from_le_bytes(stored), u32::from_be_bytes(stored)];
        let known = self.is_big_endian.map(usize::from);
        let orders = orders.into_iter().enumerate();
        let mut orders = orders.filter(|(order, _)| known.is_none_or(|known| known == *order));
        let changed = orders
            .find_map(|(_, stored)| polynomial.changed_by(value ^ stored, length, 0..length))?;
        Some(Byte { at: start + changed.at as u64, bits: changed.bits, crc })
    }

    /// The first frame behind a byte that is read as it was, if frames then lead to the boundary.
    fn next_after_change(&self, view: &View<'_>, start: u64, byte: Byte) -> Option<u64> {
        let limit = self.boundary.min(byte.crc);
        let mut bytes: Vec<u8> = view.get(start..limit.saturating_add(PROOF_BYTES)).to_vec();
        *bytes.get_mut(usize::try_from(byte.at - start).ok()?)? ^= byte.bits;
        let view = View::part(&bytes, start, true);
        let mut trial = Trial::new(TrialStreams::new(&self.streams), start);
        let mut next = None;
        loop {
            let before = trial.position;
            trial.run(&view, limit, &[], &mut 1).ok()?;
            if next.is_none() && trial.position > byte.at {
                next = Some(trial.position);
            }
            // Padding is not walked through: it leads to the limit.
            if trial.position == before || trial.position >= limit {
                return next;
            }
        }
    }
}
