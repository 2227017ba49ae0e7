//! Events that must come after something else.

use std::collections::BTreeMap;

use kymo_model::timeline::{TimeNs, TrackId};

use super::rule_tracks::Era;

/// Greatest number of events that are waited for at once; beyond that, the oldest is given up.
const WAITING_MAX: usize = 1 << 16;

/// Events that are waited for, in the times of each era.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    /// By when it is waited for since. It must come within the same time, so that it is due in the
    /// same order.
    waiting: BTreeMap<Era, BTreeMap<(TimeNs, u64), Deadline>>,
    /// Number of events waited for so far: it distinguishes those that are waited for since the
    /// same timestamp.
    count: u64,
    dropped_count: u64,
}

/// Something that must come before a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deadline {
    pub(super) since: TimeNs,
    pub(super) until: TimeNs,
    pub(super) track: TrackId,
    pub(super) offset: u64,
}

impl Deadlines {
    pub(super) fn wait(
        &mut self,
        era: Era,
        since: TimeNs,
        within: u64,
        track: TrackId,
        offset: u64,
    ) {
        let waiting = self.waiting.entry(era).or_default();
        if waiting.len() >= WAITING_MAX {
            waiting.pop_first();
            self.dropped_count += 1;
        }
        let until = TimeNs(since.0.saturating_add_unsigned(within));
        waiting.insert((since, self.count), Deadline { since, until, track, offset });
        self.count += 1;
    }

    /// Returns the number of events that were given up, because too many were waited for.
    pub(super) fn dropped_count(&self) -> u64 {
        self.dropped_count
    }

    /// It came: everything that is not overdue, and not later, has what it waited for.
    pub(super) fn fulfil(&mut self, era: Era, time: TimeNs) {
        let Some(waiting) = self.waiting.get_mut(&era) else { return };
        while let Some((key, due)) = waiting.range(..=(time, u64::MAX)).next_back() {
            if due.until < time {
                return;
            }
            let key = *key;
            waiting.remove(&key);
        }
    }

    /// Nothing is waited for any more.
    pub(super) fn forget(&mut self, era: Era) {
        self.waiting.remove(&era);
    }

    /// Returns the events that did not come in time.
    pub(super) fn overdue(&mut self, era: Era, now: TimeNs) -> Vec<Deadline> {
        let mut overdue = Vec::new();
        let Some(waiting) = self.waiting.get_mut(&era) else { return overdue };
        while let Some(first) = waiting.first_entry().filter(|first| first.get().until < now) {
            overdue.push(first.remove());
        }
        overdue
    }

    /// Returns the events that are still waited for when all is seen.
    pub(super) fn take_remaining(&mut self) -> impl Iterator<Item = Deadline> + use<> {
        std::mem::take(&mut self.waiting).into_values().flat_map(BTreeMap::into_values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERA: Era = Era::Epoch;

    fn since(due: &[Deadline]) -> Vec<i64> {
        due.iter().map(|due| due.since.0).collect()
    }

    #[test]
    fn what_comes_is_for_what_is_neither_later_nor_overdue_whatever_the_order() {
        let mut follow = Deadlines::default();
        for (offset, time) in [50, 10, 30, 10, 70].into_iter().enumerate() {
            follow.wait(ERA, TimeNs(time), 25, TrackId(0), offset as u64);
        }
        // Those of 30 and 50 wait at 55, up to 55 and 75; those of 10 waited up to 35.
        follow.fulfil(ERA, TimeNs(55));
        assert_eq!(since(&follow.overdue(ERA, TimeNs(36))), [10, 10]);
        assert_eq!(since(&follow.take_remaining().collect::<Vec<_>>()), [70]);
    }

    #[test]
    fn much_that_waits_is_no_work_for_each_that_comes() {
        let mut follow = Deadlines::default();
        // All wait since later than what comes: each would be looked at 65,536 times.
        for time in (0..WAITING_MAX).rev() {
            let since = TimeNs(1_000_000 + i64::try_from(time).unwrap());
            follow.wait(ERA, since, 5, TrackId(0), 0);
        }
        for time in 0..100_000 {
            follow.fulfil(ERA, TimeNs(time));
        }
        assert_eq!((follow.dropped_count(), follow.take_remaining().count()), (0, WAITING_MAX));
    }
}
