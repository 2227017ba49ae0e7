//! Time in parts, one after another.

use kymo_core::model::timeline::TimeNs;

use crate::elapsed;

/// Stretches of time of one length, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets {
    /// Where the first begins.
    pub start: TimeNs,
    /// Where the last ends; it may be shorter than the others.
    pub end: TimeNs,
    /// How long each but the last is.
    pub width_ns: u64,
    /// How many there are.
    pub count: usize,
}

impl Buckets {
    /// At most so many stretches from one moment to another.
    #[must_use]
    pub fn over(start: TimeNs, end: TimeNs, count: usize) -> Self {
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

    /// How much of each stretch is in some times.
    #[must_use]
    pub fn shares_of(&self, times: &[(TimeNs, TimeNs)]) -> Vec<u64> {
        let mut shares = vec![0_u64; self.count];
        for (at, ns) in times.iter().flat_map(|(since, until)| self.split(*since, *until)) {
            shares.get_mut(at).into_iter().for_each(|share| *share = share.saturating_add(ns));
        }
        shares
    }

    /// How long a stretch is: the last may be shorter than the others.
    #[must_use]
    pub fn length_ns(&self, index: usize) -> u64 {
        elapsed(self.begin(index), self.end).min(self.width_ns)
    }

    fn index(&self, time: TimeNs) -> usize {
        let index = elapsed(self.start, time) / self.width_ns;
        usize::try_from(index).unwrap_or(usize::MAX)
    }

    /// The stretch that a moment is in. The end is in the last.
    pub(crate) fn at(&self, time: TimeNs) -> Option<usize> {
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

/// How long something went on within each bucket. Most tasks of a recording that has very many run
/// in few of them: what is before the first and after the last takes no room.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spread {
    /// The first bucket that has anything.
    first: usize,
    ns: Vec<u64>,
}

impl Spread {
    /// How long within each of so many buckets.
    #[must_use]
    pub fn to_vec(&self, count: usize) -> Vec<u64> {
        let mut all = vec![0; self.first.min(count)];
        all.extend(&self.ns);
        all.resize(count, 0);
        all
    }

    pub(super) fn add(&mut self, at: usize, ns: u64) {
        if self.ns.is_empty() {
            self.first = at;
        }
        if let Some(earlier) = self.first.checked_sub(at).filter(|earlier| *earlier > 0) {
            self.ns.splice(0..0, std::iter::repeat_n(0, earlier));
            self.first = at;
        }
        let place = at - self.first;
        if self.ns.len() <= place {
            self.ns.resize(place + 1, 0);
        }
        if let Some(sum) = self.ns.get_mut(place) {
            *sum = sum.saturating_add(ns);
        }
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        for (place, ns) in other.ns.iter().enumerate() {
            self.add(other.first + place, *ns);
        }
    }
}
