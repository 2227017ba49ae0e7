//! The times of a trace: their unit, their order, and which of them mean nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use kymo_core::ahead::in_parts;
use kymo_core::bytes::Endian;

use super::trace::Trace;
use super::trace::TraceVersion;
use crate::spec::{MICROSECONDS, NANOSECONDS_FROM};
use crate::types::Dialect;

/// Records between two decisions whether a time is odd.
const BLOCK: usize = 1024;

/// Records of a trace that are worth a thread.
const RECORDS_MIN: usize = 1 << 20;

/// Records whose times are looked at to tell the unit, all over the trace.
const SAMPLED: usize = 63;

/// Records at each end of a file that tell the unit where others may not be where they should be.
const ENDS: usize = 8;

/// Unit of numbers that are times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unit {
    /// Factor by which they are multiplied to be nanoseconds.
    factor: u64,
    /// The least that means a time, and the greatest.
    first: u64,
    last: u64,
}

impl Unit {
    /// The greatest time there is.
    const LAST: u64 = i64::MAX.unsigned_abs();

    /// Nanoseconds since the Epoch.
    pub(crate) const NANOSECONDS: Self =
        Self { factor: 1, first: NANOSECONDS_FROM, last: Self::LAST };

    /// Microseconds since the Epoch.
    const MICROSECONDS: Self =
        Self { factor: 1000, first: MICROSECONDS.start, last: MICROSECONDS.end - 1 };

    /// Nanoseconds since another moment.
    const OWN_NANOSECONDS: Self = Self { factor: 1, first: 0, last: NANOSECONDS_FROM - 1 };

    /// Microseconds since another moment.
    const OWN_MICROSECONDS: Self = Self { factor: 1000, first: 0, last: MICROSECONDS.start - 1 };

    /// The unit that most times are of, by how large they are. Where they count from a moment of
    /// their own, the version tells: only the first recorders counted microseconds.
    fn from_times(times: impl Iterator<Item = u64>, version: TraceVersion) -> Self {
        let own = match version {
            TraceVersion::V0100 => Self::OWN_MICROSECONDS,
            TraceVersion::V0101 => Self::OWN_NANOSECONDS,
        };
        let units = [own, Self::MICROSECONDS, Self::NANOSECONDS];
        let mut counts = [0_usize; 3];
        for time in times {
            let large = match time {
                NANOSECONDS_FROM.. => 2,
                time if MICROSECONDS.contains(&time) => 1,
                _ => 0,
            };
            if let Some(count) = counts.get_mut(large) {
                *count += 1;
            }
        }
        // Of several that are as frequent the last: real times are large.
        let most = units.into_iter().zip(counts).max_by_key(|(_, count)| *count);
        most.map_or(Self::NANOSECONDS, |(unit, _)| unit)
    }

    /// Returns true if times count from the Epoch.
    pub(super) fn is_since_epoch(self) -> bool {
        self.first > 0
    }

    fn contains(self, time: u64) -> bool {
        (self.first..=self.last).contains(&time)
    }

    /// A time in nanoseconds, if it means one.
    pub(super) fn nanoseconds(self, time: u64) -> Option<i64> {
        let time = time.checked_mul(self.factor).filter(|_| self.contains(time))?;
        i64::try_from(time).ok()
    }

    /// Returns the factor by which times are multiplied to be nanoseconds.
    pub(super) fn factor(self) -> u64 {
        self.factor
    }
}

/// Oddity of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeAnomaly {
    /// It is before the one before it.
    Back,
    /// It means no time: it is not of the unit of the others, or too large for any.
    Meaningless,
}

/// Number of records that are odd, and the first of them; `None` where none is.
pub(crate) type SomeRecords = Option<(u64, usize)>;

/// Facts about the times of a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) back: SomeRecords,
    pub(crate) meaningless: SomeRecords,
    /// The first and the last, in nanoseconds.
    pub(crate) ends: Option<(i64, i64)>,
}

impl Times {
    fn add(&mut self, place: usize, odd: TimeAnomaly) {
        let found = match odd {
            TimeAnomaly::Back => &mut self.back,
            TimeAnomaly::Meaningless => &mut self.meaningless,
        };
        let (count, first) = found.unwrap_or((0, place));
        *found = Some((count + 1, first));
    }

    /// Adds what is known of the times that follow.
    fn join(&mut self, later: &Self) {
        let both = |one: SomeRecords, two: SomeRecords| match (one, two) {
            (Some((count, first)), Some((more, _))) => Some((count + more, first)),
            (one, two) => one.or(two),
        };
        self.back = both(self.back, later.back);
        self.meaningless = both(self.meaningless, later.meaningless);
        self.ends = match (self.ends, later.ends) {
            (Some((from, to)), Some((first, last))) => Some((from.min(first), to.max(last))),
            (one, two) => one.or(two),
        };
    }
}

impl Trace {
    /// The unit of the times, by how large they are.
    pub(super) fn unit_of_times(&self) -> Unit {
        let step = self.len().div_ceil(SAMPLED).max(1);
        let times = (0..self.len()).step_by(step).filter_map(|place| Some(self.get(place)?.time));
        Unit::from_times(times, self.version)
    }

    /// Takes the unit of the first and the last records of the file: those between may not be where
    /// they should be.
    pub(crate) fn set_from_ends(&mut self, file: &[u8]) {
        let (size, start) = (self.record_bytes(), usize::try_from(self.offset_of(0)));
        let ends = ENDS.min(self.len() / 2);
        let last = (1..=ends).filter_map(|back| file.len().checked_sub(back * size));
        let first = start.into_iter().flat_map(|start| (0..ends).map(move |at| start + at * size));
        let times = first.chain(last).filter_map(|at| Some(self.record_at(file, at)?.time));
        self.unit = Unit::from_times(times, self.version);
    }

    /// Takes what a profile knows of the unit. Those of today count nanoseconds, whatever they
    /// count them from; so do older ones that say the same of the first or the last time.
    pub(crate) fn set_from_profile(&mut self, profile: &super::Profile) {
        let told = |name| profile.header.value(name)?.parse::<u64>().ok().filter(|time| *time > 0);
        let told = [told("trace-min-time"), told("trace-max-time")];
        let is_told = self.ends.iter().flatten().any(|end| told.contains(&Some(*end)));
        let is_of_today = profile.header.dialect == Dialect::Shipped0400;
        if is_of_today && self.unit != Unit::NANOSECONDS
            || is_told && self.unit == Unit::OWN_MICROSECONDS
        {
            self.unit = Unit::OWN_NANOSECONDS;
        }
    }

    /// Returns the facts about the times; all times are looked at when this is first asked for.
    pub(crate) fn times(&self) -> &Times {
        self.times.get_or_init(|| {
            let parts = in_parts(self.len(), RECORDS_MIN, |part| {
                let mut times = Times::default();
                let ends = self.for_each_anomaly(part, &mut |place, odd| times.add(place, odd));
                let [first, last] = ends.map(|time| self.nanoseconds(time));
                Times { ends: first.zip(last), ..times }
            });
            let mut times = Times::default();
            for part in &parts {
                times.join(part);
            }
            times
        })
    }

    /// Returns the facts about the times, if they were asked for.
    pub(crate) fn known_times(&self) -> Option<&Times> {
        self.times.get()
    }

    /// Gives the places of records of a range whose times are odd. Says the least and the greatest
    /// that is a time, the wrong way round where none is.
    pub(crate) fn for_each_anomaly(
        &self,
        range: Range<usize>,
        take: &mut impl FnMut(usize, TimeAnomaly),
    ) -> [u64; 2] {
        let time = |place| self.get(place).map(|record| record.time);
        let before = (0..range.start).rev().filter_map(time).find(|time| self.unit.contains(*time));
        let (bytes, start) = (self.records.bytes(range.clone()), range.start);
        let scan = Scan { unit: self.unit, start, last: before.unwrap_or(0) };
        let (big, little) = (u64::from_be_bytes, u64::from_le_bytes);
        match (self.is_data_centric(), self.endian) {
            (false, Endian::Big) => scan.run(chunks::<12>(bytes), big, take),
            (false, Endian::Little) => scan.run(chunks::<12>(bytes), little, take),
            (true, Endian::Big) => scan.run(chunks::<16>(bytes), big, take),
            (true, Endian::Little) => scan.run(chunks::<16>(bytes), little, take),
        }
    }

    /// Records that are further from their place than a bound: who sorts by looking so many records
    /// ahead gets them too late.
    pub(crate) fn beyond(&self, bound: u64) -> SomeRecords {
        let bound = usize::try_from(bound).unwrap_or(usize::MAX);
        let (mut waiting, mut given, mut times) = (BinaryHeap::new(), 0, Times::default());
        for (record, place) in self.iter(0..self.len()).zip(0..) {
            if !self.unit.contains(record.time) {
                continue;
            }
            if record.time < given {
                times.add(place, TimeAnomaly::Back);
                continue;
            }
            waiting.push(Reverse(record.time));
            if waiting.len() > bound {
                given = waiting.pop().map_or(given, |Reverse(time)| time);
            }
        }
        times.back
    }
}

fn chunks<const N: usize>(bytes: &[u8]) -> &[[u8; N]] {
    bytes.as_chunks().0
}

/// Going through records in the order of the file.
struct Scan {
    unit: Unit,
    /// The place of the first.
    start: usize,
    /// The last time before.
    last: u64,
}

impl Scan {
    /// In a block where no time is odd, which all are as a rule, there is no branch for a record.
    fn run<const N: usize>(
        self,
        records: &[[u8; N]],
        number: impl Fn([u8; 8]) -> u64,
        take: &mut impl FnMut(usize, TimeAnomaly),
    ) -> [u64; 2] {
        let time = |record: &[u8; N]| record.first_chunk().map_or(0, |bytes| number(*bytes));
        let Self { unit, start, mut last } = self;
        let [mut least, mut greatest] = [u64::MAX, 0];
        for (block, start) in records.chunks(BLOCK).zip((start..).step_by(BLOCK)) {
            let (mut goes_back, mut now) = (false, last);
            for record in block {
                let next = time(record);
                goes_back |= next < now;
                now = next;
            }
            let first = block.first().map_or(now, time);
            if !goes_back && unit.contains(first) && unit.contains(now) {
                (least, greatest, last) = (least.min(first), greatest.max(now), now);
                continue;
            }
            for (now, place) in block.iter().map(time).zip(start..) {
                if !unit.contains(now) {
                    take(place, TimeAnomaly::Meaningless);
                    continue;
                }
                if now < last {
                    take(place, TimeAnomaly::Back);
                }
                (least, greatest, last) = (least.min(now), greatest.max(now), now);
            }
        }
        [least, greatest]
    }
}

#[cfg(test)]
mod tests {
    use kymo_core::bytes::Limits;

    use super::*;
    use crate::spec;

    /// A trace of records of this size and byte order.
    fn trace(times: &[u64], is_data_centric: bool, endian: Endian) -> Trace {
        let mut bytes = b"HPCRUN-trace______01.01".to_vec();
        bytes.push(spec::endian_letter(endian));
        let mut number = |number: u64, length: usize| match endian {
            Endian::Big => bytes.extend_from_slice(&number.to_be_bytes()[8 - length..]),
            Endian::Little => bytes.extend_from_slice(&number.to_le_bytes()[..length]),
        };
        number(u64::from(is_data_centric), 8);
        for time in times {
            number(*time, 8);
            number(7, 4);
            if is_data_centric {
                number(9, 4);
            }
        }
        Trace::open(&bytes.into(), &Limits::default()).unwrap()
    }

    fn plain(times: &[u64]) -> Trace {
        trace(times, false, Endian::Big)
    }

    #[test]
    fn times_that_go_back_are_found_wherever_blocks_begin() {
        let mut times: Vec<u64> = (0..3 * BLOCK as u64 + 10).map(|time| 10 * time).collect();
        let places = [2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 9];
        for place in places {
            times[place] = times[place - 1] - 1;
        }
        // The second is before the first.
        (times[0], times[1]) = (1, 0);
        for is_data_centric in [false, true] {
            for endian in [Endian::Big, Endian::Little] {
                let trace = trace(&times, is_data_centric, endian);
                for range in [0..times.len(), 0..BLOCK, 1..BLOCK + 1, BLOCK..times.len(), 5..5] {
                    let goes_back = |place: &usize| *place > 0 && times[*place] < times[place - 1];
                    let expected: Vec<_> = range.clone().filter(goes_back).collect();
                    let mut found = Vec::new();
                    trace.for_each_anomaly(range.clone(), &mut |place, odd| {
                        assert_eq!(odd, TimeAnomaly::Back);
                        found.push(place);
                    });
                    assert_eq!(found, expected, "{range:?}");
                }
            }
        }
    }

    #[test]
    fn the_unit_is_that_of_most_times_and_others_mean_none() {
        const NOW: u64 = 1_700_000_000_000_000_000;
        let ns = |time: u64| i64::try_from(NOW + time).ok();
        // Zero before a good trace, 2^63 behind it, and both a unit of their own within it.
        let times = plain(&[0, NOW, NOW + 5, 1 << 63, NOW + 9, NOW / 1000, NOW + 10]);
        assert!(times.is_in_nanoseconds());
        let known = times.times();
        assert_eq!((known.back, known.meaningless), (None, Some((3, 0))));
        assert_eq!(known.ends, ns(0).zip(ns(10)));
        // The same in microseconds; 10^17 of them are no nanoseconds that there are.
        let old = plain(&[0, NOW / 1000, NOW / 1000 + 1, 100_000_000_000_000_000]);
        assert!(!old.is_in_nanoseconds());
        assert_eq!(old.times().meaningless, Some((2, 0)));
        assert_eq!(old.times().ends, ns(0).zip(ns(1000)));
        // The rest counts from another moment: some seconds, and a year.
        for own in [[0, 7], [5, 31_536_000_000_000_000]] {
            let trace = plain(&own);
            assert!(!trace.is_since_epoch() && trace.is_in_nanoseconds());
            let [first, last] = own.map(u64::cast_signed);
            assert_eq!(trace.times().ends, Some((first, last)));
        }
        assert_eq!(plain(&[]).times(), &Times::default());
        assert_eq!(plain(&[u64::MAX]).times().ends, None);
    }

    #[test]
    fn disorder_is_how_many_records_one_has_to_look_ahead() {
        assert_eq!(plain(&[2, 1, 3, 5, 4]).beyond(1), None);
        assert_eq!(plain(&[3, 2, 1]).beyond(1), Some((1, 2)));
        assert_eq!(plain(&[3, 2, 1]).beyond(2), None);
        assert_eq!(plain(&[3, 2, 1]).beyond(u64::MAX), None);
        // Two are too late: 2 was given before 1 and 0 came.
        assert_eq!(plain(&[3, 2, 1, 0]).beyond(1), Some((2, 2)));
    }
}
