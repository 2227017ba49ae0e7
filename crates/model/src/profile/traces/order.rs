//! Samples in the order of time.

use crate::timeline::TimeNs;

/// Passes samples on in order of time. One is held back until the next shows that it is no leap:
/// a moment that the next one goes back from, to behind what came before, was never reached.
#[derive(Default)]
pub(super) struct SortedSamples {
    passed: Option<TimeNs>,
    last: Option<(TimeNs, u64)>,
}

impl SortedSamples {
    /// Takes the next sample, and gives the one that is sure by now.
    #[inline]
    pub(super) fn push(&mut self, time: TimeNs, number: u64) -> Option<(TimeNs, u64)> {
        let is_back = self.passed.is_some_and(|passed| time < passed);
        // Zeros are no moment to go back to.
        let is_zero = time.0 == 0 && self.last.is_some_and(|(held, _)| held > time);
        if is_back || is_zero {
            return None;
        }
        let before = self.last.replace((time, number));
        let sure = before.filter(|(held, _)| *held <= time);
        self.passed = sure.map(|(sure, _)| sure).or(self.passed);
        sure
    }

    /// The last, which nothing came after.
    pub(super) fn into_last(self) -> Option<(TimeNs, u64)> {
        self.last
    }
}
