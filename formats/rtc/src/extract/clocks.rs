//! Readings of clocks in the input, and readings that were written for those of the output.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use kymo_model::timeline::TimeNs;

use crate::types::CLOCKS_MAX;

/// Reading of a clock, and what the clock under it showed then.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClockReading {
    pub(super) payload: Vec<u8>,
    pub(super) time: Option<TimeNs>,
    pub(super) base: Option<Rc<ClockReading>>,
}

impl ClockReading {
    pub(super) fn new(payload: &[u8], time: Option<TimeNs>, base: Option<&Rc<Self>>) -> Rc<Self> {
        // Clocks of a damaged file may count from one another in a circle.
        let base = base.filter(|base| base.chain().count() < CLOCKS_MAX).cloned();
        Rc::new(Self { payload: payload.to_vec(), time, base })
    }

    /// It, what it counts from, and so on.
    pub(super) fn chain(self: &Rc<Self>) -> impl Iterator<Item = &Rc<Self>> {
        std::iter::successors(Some(self), |reading| reading.base.as_ref())
    }
}

/// The clocks of the output that go back, by session and number.
pub(super) type Falling = BTreeSet<(usize, usize)>;

/// Last reading that was written for each clock of a session of the output, by the numbers of its
/// streams.
#[derive(Debug, Default)]
pub(super) struct WrittenReadings {
    readings: HashMap<usize, Rc<ClockReading>>,
    latest: HashMap<usize, TimeNs>,
    /// Clocks that said less than before.
    pub(super) falling: BTreeSet<usize>,
}

impl WrittenReadings {
    /// Returns true if a clock shows a reading.
    pub(super) fn shows(&self, clock: usize, reading: &Rc<ClockReading>) -> bool {
        self.readings.get(&clock) == Some(reading)
    }

    /// Takes note of what a clock says.
    pub(super) fn record(&mut self, clock: usize, reading: &Rc<ClockReading>) {
        if let Some(time) = reading.time {
            let latest = self.latest.entry(clock).or_insert(time);
            if time < *latest {
                self.falling.insert(clock);
            }
            *latest = time.max(*latest);
        }
        self.readings.insert(clock, Rc::clone(reading));
    }
}
