//! Time in parts, one after another.

use kymo_model::timeline::TimeNs;

use crate::elapsed;
use crate::own::item_mut;

/// Stretches of time of one length, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets {
    /// Start of the first bucket.
    pub start: TimeNs,
    /// End of the last; it may be shorter than the others.
    pub end: TimeNs,
    /// Width of each bucket but the last.
    pub width_ns: u64,
    /// Number of buckets.
    pub count: usize,
}

impl Buckets {
    /// At most so many stretches from one moment to another.
    #[must_use]
    pub fn from_range(start: TimeNs, end: TimeNs, count: usize) -> Self {
        let span = elapsed(start, end);
        let width_ns = span.div_ceil(count.max(1) as u64).max(1);
        let count = usize::try_from(span.div_ceil(width_ns)).unwrap_or(count).max(1);
        Self { start, end: end.max(start), width_ns, count }
    }

    /// The begin of a stretch.
    #[must_use]
    pub fn begin(&self, index: usize) -> TimeNs {
        let ns = (index as u64).saturating_mul(self.width_ns);
        TimeNs(self.start.0.saturating_add_unsigned(ns))
    }

    /// Returns the part of each stretch that lies in some times.
    #[must_use]
    pub fn bucket_shares(&self, times: &[(TimeNs, TimeNs)]) -> Vec<u64> {
        let mut shares = vec![0_u64; self.count];
        for (at, ns) in times.iter().flat_map(|(since, until)| self.split(*since, *until)) {
            if let Some(share) = item_mut(&mut shares, at) {
                *share = share.saturating_add(ns);
            }
        }
        shares
    }

    /// Returns the length of a stretch: the last may be shorter than the others.
    #[must_use]
    pub fn length_ns(&self, index: usize) -> u64 {
        elapsed(self.begin(index), self.end).min(self.width_ns)
    }

    fn index(&self, time: TimeNs) -> usize {
        let index = elapsed(self.start, time) / self.width_ns;
        usize::try_from(index).unwrap_or(usize::MAX)
    }

    /// The stretch that a moment is in. The end is in the last.
    pub(crate) fn index_at(&self, time: TimeNs) -> Option<usize> {
        let is_within = (self.start..=self.end).contains(&time);
        is_within.then(|| self.index(time).min(self.count.saturating_sub(1)))
    }

    /// The parts of a time that are in each stretch.
    pub(crate) fn split(self, since: TimeNs, until: TimeNs) -> impl Iterator<Item = (usize, u64)> {
        let (since, until) = (since.max(self.start), until.min(self.end));
        let last = self.index(until).min(self.count.saturating_sub(1));
        (self.index(since)..=last).filter_map(move |index| {
            let from = self.begin(index).max(since);
            let to = self.begin(index + 1).min(until);
            (to > from).then(|| (index, elapsed(from, to)))
        })
    }
}

/// Duration of something within each bucket. Most tasks of a recording that has very many run in
/// few of them, or in one: the others take no room, and one takes none of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BucketTimes(BucketStorage);

/// A bucket, and how long within it.
type Part = (u32, u64);

/// Durations of buckets, as they are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum BucketStorage {
    #[default]
    Nothing,
    One(u32, u64),
    Many(Box<Parts>),
}

/// Several buckets, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Parts(Vec<Part>);

impl BucketTimes {
    /// Returns the duration within each of so many buckets.
    #[must_use]
    pub fn to_vec(&self, count: usize) -> Vec<u64> {
        let mut all = vec![0; count];
        for (at, ns) in self.parts() {
            if let Some(place) = usize::try_from(at).ok().and_then(|at| all.get_mut(at)) {
                *place = ns;
            }
        }
        all
    }

    fn parts(&self) -> impl Iterator<Item = Part> {
        let (one, many) = match &self.0 {
            BucketStorage::Nothing => (None, None),
            BucketStorage::One(at, ns) => (Some((*at, *ns)), None),
            BucketStorage::Many(parts) => (None, Some(parts)),
        };
        one.into_iter().chain(many.into_iter().flat_map(|parts| parts.0.iter().copied()))
    }

    pub(super) fn add(&mut self, at: usize, ns: u64) {
        // There are never so many buckets that a number does not fit.
        let Ok(at) = u32::try_from(at) else { return };
        match &mut self.0 {
            BucketStorage::Nothing => self.0 = BucketStorage::One(at, ns),
            BucketStorage::One(first, sum) if *first == at => *sum = sum.saturating_add(ns),
            BucketStorage::One(first, sum) => {
                let mut parts = Parts(vec![(*first, *sum)]);
                parts.add(at, ns);
                self.0 = BucketStorage::Many(Box::new(parts));
            }
            BucketStorage::Many(parts) => parts.add(at, ns),
        }
    }

    /// Takes what is within each bucket out of what there is in all.
    pub(super) fn take_from(&self, all: &mut [u64]) {
        for (at, ns) in self.parts() {
            if let Some(left) = usize::try_from(at).ok().and_then(|at| all.get_mut(at)) {
                *left = left.saturating_sub(ns);
            }
        }
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        for (at, ns) in other.parts() {
            self.add(usize::try_from(at).unwrap_or(usize::MAX), ns);
        }
    }
}

impl Parts {
    fn add(&mut self, at: u32, ns: u64) {
        let Self(parts) = self;
        match parts.last_mut() {
            // Times go up, as a rule.
            Some((last, sum)) if *last == at => return *sum = sum.saturating_add(ns),
            Some((last, _)) if *last < at => return parts.push((at, ns)),
            _ => {}
        }
        match parts.binary_search_by_key(&at, |(at, _)| *at) {
            Ok(place) => {
                if let Some((_, sum)) = parts.get_mut(place) {
                    *sum = sum.saturating_add(ns);
                }
            }
            Err(place) => parts.insert(place, (at, ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_that_are_filled_in_any_order_are_told_in_theirs() {
        let mut spread = BucketTimes::default();
        assert_eq!(spread.to_vec(3), [0, 0, 0]);
        spread.add(4, 10);
        spread.add(4, 1);
        assert_eq!(spread.to_vec(6), [0, 0, 0, 0, 11, 0]);
        for (at, ns) in [(1, 2), (5, 3), (4, 4), (1, 5), (5, 6)] {
            spread.add(at, ns);
        }
        assert_eq!(spread.to_vec(6), [0, 7, 0, 0, 15, 9]);
        let mut other = BucketTimes::default();
        other.add(0, 1);
        other.add_all(&spread);
        assert_eq!(other.to_vec(6), [1, 7, 0, 0, 15, 9]);
        // What is beyond the last is not told.
        assert_eq!(spread.to_vec(2), [0, 7]);
    }

    #[test]
    fn one_bucket_takes_no_room_of_its_own() {
        assert_eq!(size_of::<BucketTimes>(), 16);
    }
}
