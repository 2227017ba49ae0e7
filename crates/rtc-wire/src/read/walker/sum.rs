//! The checksum of a Unit in the making.

use crate::crc::{Crc, Polynomial};

use super::super::View;

/// The checksum of a Unit in the making.
#[derive(Debug, Clone)]
pub(super) struct Sum {
    pub(super) crcs: [Crc; 2],
    /// Offset of the first byte that is not yet in it; `None` where some were lost.
    pub(super) next: Option<u64>,
    /// End of the data before the last tick.
    pub(super) before_tick: u64,
    /// The checksum up to there, once the bytes after it were added.
    pub(super) early: Option<(u64, [Crc; 2])>,
    /// Polynomial that held last.
    pub(super) usual: Polynomial,
}

impl Sum {
    pub(super) fn new(start: u64, usual: Polynomial) -> Self {
        let crcs = [Crc::new(Polynomial::Ieee), Crc::new(Polynomial::Mixed)];
        Self { crcs, next: Some(start), before_tick: start, early: None, usual }
    }

    /// The checksum up to a position with one polynomial.
    pub(super) fn value(&self, view: &View<'_>, polynomial: Polynomial, end: u64) -> Option<u32> {
        let (next, crcs) = match (&self.early, self.next?) {
            (Some((early, crcs)), next) if *early == end && end < next => (end, crcs),
            (_, next) => (next, &self.crcs),
        };
        if end < next || (end > next && next < view.base()) {
            return None;
        }
        let [ieee, mixed] = crcs;
        let mut crc = if polynomial == Polynomial::Ieee { ieee.clone() } else { mixed.clone() };
        crc.update(view.get(next..end));
        Some(crc.value())
    }

    /// Adds the bytes before a position, so that they may go.
    pub(super) fn absorb(&mut self, view: &View<'_>, end: u64) {
        let Some(next) = self.next else { return };
        if next < end {
            for crc in &mut self.crcs {
                crc.update(view.get(next..end));
            }
            self.next = Some(end);
        }
    }
}
