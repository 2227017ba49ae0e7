//! Places where records of a trace begin again behind bytes that were lost or added: times grow,
//! and nodes exist.

use std::ops::Range;

use kymo_core::{Finding, Severity};

use crate::read::Trace;
use crate::tree::Ids;

/// Number of bytes in which records are looked for.
const WINDOW_BYTES: usize = 1 << 12;

/// Records that have to make sense together where others begin.
const CHAIN: usize = 8;

/// Records that are enough at the end of the file, where there are no more.
const CHAIN_AT_END: usize = 3;

/// A leap of time that is believed, in nanoseconds, though the trace was shorter so far.
const LEAP_NS: u64 = 3_600_000_000_000;

/// A year, in nanoseconds: no trace is as long.
const LONGEST_NS: u64 = 366 * 24 * LEAP_NS;

/// A longer one is believed where it is no more than so many times what came before.
const LEAP_TIMES: u64 = 16;

/// Facts about the records of a trace.
#[derive(Clone, Copy)]
pub(crate) struct RecordFacts<'a> {
    pub(crate) trace: &'a Trace,
    /// All nodes, where the profile can be read.
    pub(crate) ids: Option<&'a Ids>,
    /// All bytes of the file.
    pub(crate) bytes: &'a [u8],
}

/// Positions of the records of a trace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Records {
    /// Bytes of the file that are records one after another.
    pub(crate) runs: Vec<Range<usize>>,
    /// Bytes between them that are none.
    pub(crate) losses: Vec<Finding>,
}

impl Records {
    /// The bytes of the file without those that are none.
    pub(crate) fn record_bytes<'a>(&self, trace: &Trace, file: &'a [u8]) -> Vec<&'a [u8]> {
        let header = usize::try_from(trace.offset_of(0)).unwrap_or(usize::MAX);
        let runs = std::iter::once(0..header).chain(self.runs.iter().cloned());
        runs.map(|run| file.get(run).unwrap_or_default()).collect()
    }
}

impl RecordFacts<'_> {
    /// Finds all records; nothing where they follow each other up to the end.
    /// Of places where bytes are none, no more than so many are told one by one.
    pub(crate) fn records(&self, losses_max: usize) -> Option<Records> {
        let start =
            usize::try_from(self.trace.offset_of(0)).ok().filter(|_| !self.trace.is_empty())?;
        let size = self.trace.record_bytes();
        let mut known = *self;
        let mut ends = known.bounds(start, size);
        if known.ids.is_some() && ends.is_none() {
            // The profile does not have the nodes of the trace: it is damaged, or another's.
            known.ids = None;
            ends = known.bounds(start, size);
        }
        let times = ends.unwrap_or(0..u64::MAX);
        let mut search = Search { known: &known, size, times, run: start };
        let (mut records, mut beyond) = (Records::default(), 0_u64);
        // The times of the last two records that make sense.
        let (mut before, mut last) = (0, 0);
        let (mut at, mut search_from) = (start, start);
        while let Some(time) = search.time(at) {
            if time >= last && search.is_time(time) && search.has_node(at) {
                (before, last) = (last, time);
                at += size;
                continue;
            }
            // Where nothing is found, nothing is found from a byte further on either.
            let found = if at < search_from { None } else { search.from(at, before) };
            match found {
                Some(found) if found.is_aligned => {
                    at = found.at;
                    (before, last) = (0, search.time(at).unwrap_or(0));
                }
                Some(found) => {
                    records.runs.push(search.run..found.end);
                    if records.losses.len() < losses_max {
                        records.losses.push(lost(found.end, found.at));
                    } else {
                        beyond += 1;
                    }
                    search.run = found.at;
                    at = found.at;
                    last = before;
                }
                None => {
                    if at >= search_from {
                        search_from = at + WINDOW_BYTES;
                    }
                    at += size;
                }
            }
        }
        let rest = self.bytes.len().saturating_sub(search.run) % size;
        records.runs.push(search.run..self.bytes.len() - rest);
        if beyond > 0 {
            let why = format!("{beyond} further places where bytes are no records are not listed");
            records.losses.push(Finding::for_whole_file(Severity::Warning, "trace-records", why));
        }
        (!records.losses.is_empty()).then_some(records)
    }

    /// The first and the last time there can be, as far as the trace tells: by records at its start
    /// and at the end of the file that make sense together. [`u64::MAX`] is no end.
    fn bounds(&self, start: usize, size: usize) -> Option<Range<u64>> {
        let anything = Search { known: self, size, times: 0..u64::MAX - 1, run: start };
        let (left, count) = (self.bytes.len().saturating_sub(start), CHAIN * size);
        let first = anything.time(start).filter(|_| anything.is_chain(start, 0));
        let tail = self.bytes.len().saturating_sub(count.min(left));
        let end = self.bytes.len().checked_sub(size).filter(|_| anything.is_chain(tail, 0));
        match (first, end.and_then(|end| anything.time(end))) {
            (Some(first), Some(end)) if first <= end => Some(first..end),
            // What begins in no order is no older than any trace.
            (None, Some(end)) => Some(end.saturating_sub(self.trace.units_of(LONGEST_NS))..end),
            (first, _) => first.map(|first| first..u64::MAX),
        }
    }
}

fn lost(from: usize, to: usize) -> Finding {
    let why = format!("{} bytes are no records, which begin again behind them", to - from);
    Finding::at_offset(Severity::Warning, "trace-records", from as u64, why)
}

/// A search for records.
struct Search<'a> {
    known: &'a RecordFacts<'a>,
    size: usize,
    /// The times that there can be.
    times: Range<u64>,
    /// Start of the run of records that is being looked at.
    run: usize,
}

/// Place where records begin again.
struct ResyncPoint {
    at: usize,
    /// End of those before.
    end: usize,
    /// True if they follow the ones before.
    is_aligned: bool,
}

impl Search<'_> {
    fn time(&self, at: usize) -> Option<u64> {
        Some(self.known.trace.record_at(self.known.bytes, at)?.time)
    }

    fn is_time(&self, time: u64) -> bool {
        time <= self.times.end && self.known.trace.nanoseconds(time).is_some()
    }

    fn has_node(&self, at: usize) -> bool {
        let record = self.known.trace.record_at(self.known.bytes, at);
        let is_known = |node| self.known.ids.is_none_or(|ids| ids.find(node).is_some());
        record.is_some_and(|record| is_known(record.node))
    }

    /// The nearest place behind which records make sense together. The record right before may
    /// have taken some of their bytes, or a time from them.
    fn from(&self, at: usize, before: u64) -> Option<ResyncPoint> {
        // In the order of the file, whatever their times were before: they only go back.
        if self.is_chain(at, self.times.start) {
            return Some(ResyncPoint { at, end: at, is_aligned: true });
        }
        let start = self.run.max((at + 1).saturating_sub(self.size));
        let found = (start..=at + WINDOW_BYTES).find(|found| self.is_chain(*found, before))?;
        let is_aligned = found >= at && (found - self.run).is_multiple_of(self.size);
        let whole = (found.min(at) - self.run) / self.size;
        let end = self.run + whole * self.size;
        // A time that those behind it go back from was none.
        let takes_back = end > self.run && self.time(end - self.size) > self.time(found);
        let end = if takes_back { end - self.size } else { end };
        Some(ResyncPoint { at: found, end, is_aligned })
    }

    /// Returns true if enough records follow each other from here on.
    fn is_chain(&self, at: usize, after: u64) -> bool {
        let left = self.known.bytes.len().saturating_sub(at) / self.size;
        let ends = (self.known.bytes.len().saturating_sub(at)).is_multiple_of(self.size);
        let count = left.min(CHAIN);
        if count == 0 || count < CHAIN_AT_END && !ends {
            return false;
        }
        let mut last = after;
        (0..count).map(|place| at + place * self.size).all(|at| {
            let Some(time) = self.time(at) else { return false };
            let is_next = time >= last && self.is_near(time, last) && self.has_node(at);
            last = time;
            is_next
        })
    }

    /// Returns true if a time is not too far behind another.
    fn is_near(&self, time: u64, last: u64) -> bool {
        let is_near = || {
            let leap = self.known.trace.units_of(LEAP_NS);
            let last = last.max(self.times.start);
            let so_far = last - self.times.start;
            time <= last.saturating_add(leap.max(so_far.saturating_mul(LEAP_TIMES)))
        };
        self.is_time(time) && (self.times.end < u64::MAX || is_near())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may fail loudly")]
mod tests {
    use std::collections::BTreeSet;

    use kymo_core::bytes::{Endian, Limits};
    use kymo_model::measurement::NodeNumbers;

    use super::*;
    use crate::TraceWriter;
    use crate::read::TraceVersion;
    use crate::types::TraceRecord;

    const NODES: [u32; 5] = [3, 5, 4, 3, 3];

    /// The records of a trace of some seconds, with a moment of 20 samples at one node.
    fn records() -> Vec<TraceRecord> {
        let record = |(index, node): (u64, u32)| TraceRecord {
            time: 1_700_000_000_123_456_789 + index * 5_000_000 + index * index % 7919,
            node,
            metric: None,
        };
        let nodes = NODES.into_iter().cycle().take(150).chain([4; 20]);
        (0..).zip(nodes.chain(NODES.into_iter().cycle().take(130))).map(record).collect()
    }

    fn file(endian: Endian, flags: u64) -> Vec<u8> {
        let mut writer =
            TraceWriter::with_version(Vec::new(), TraceVersion::V0101, endian, flags).unwrap();
        for record in records() {
            writer.record(&record).unwrap();
        }
        writer.finish().unwrap()
    }

    /// The nodes 1 to 5.
    fn ids() -> Ids {
        Ids::from(NodeNumbers::new(1..=5))
    }

    /// Counts the records that are not found, and those found that were never there; also counts
    /// the losses.
    fn differing(bytes: &[u8], ids: Option<&Ids>) -> (usize, usize, usize) {
        let limits = Limits::default();
        let mut trace = Trace::salvage(&bytes.to_vec().into(), &limits).unwrap();
        trace.set_from_ends(bytes);
        let found = RecordFacts { trace: &trace, ids, bytes }.records(limits.findings_max);
        let again = found
            .as_ref()
            .map_or(bytes.to_vec(), |found| found.record_bytes(&trace, bytes).concat());
        let again = Trace::salvage(&again.into(), &limits).unwrap();
        let key = |record: TraceRecord| (record.time, record.node);
        let found_records: BTreeSet<_> = again.iter(0..again.len()).map(key).collect();
        let all: BTreeSet<_> = records().into_iter().map(key).collect();
        let losses = found.map_or(0, |found| found.losses.len());
        (all.difference(&found_records).count(), found_records.difference(&all).count(), losses)
    }

    #[test]
    fn bytes_too_many_or_too_few_cost_a_handful_of_records() {
        let ids = ids();
        for (endian, flags) in [(Endian::Big, 0), (Endian::Big, 1), (Endian::Little, 0)] {
            let sound = file(endian, flags);
            let size = if flags == 1 { 16 } else { 12 };
            for known in [None, Some(&ids)] {
                assert_eq!(differing(&sound, known), (0, 0, 0));
                for count in 1..=40 {
                    for at in (32 + count..sound.len() - 300).step_by(97) {
                        let doubled = [&sound[..at + count], &sound[at..]].concat();
                        let removed = [&sound[..at], &sound[at + count..]].concat();
                        for (bytes, value) in
                            [(&doubled, count / size + 2), (&removed, count / size + 3)]
                        {
                            let (lost, made, said) = differing(bytes, known);
                            let what = format!("{count} at {at} of {}, {endian:?}", bytes.len());
                            assert!(
                                lost <= value && made <= 1 + count / size,
                                "{what}: {lost} {made}"
                            );
                            assert!(said == 1 || count.is_multiple_of(size), "{what}: {said}");
                        }
                    }
                }
            }
        }
    }

    /// Bytes are added at ten places, of which two are told one by one.
    #[test]
    fn places_are_listed_within_a_limit() {
        let mut bytes = file(Endian::Big, 0);
        for place in (1..=10).rev() {
            let at = 32 + place * 25 * 12;
            bytes.splice(at..at, [0xAA; 5]);
        }
        let limits = Limits::default();
        let mut trace = Trace::salvage(&bytes.clone().into(), &limits).unwrap();
        trace.set_from_ends(&bytes);
        let ids = ids();
        let known = RecordFacts { trace: &trace, ids: Some(&ids), bytes: &bytes };
        assert_eq!(known.records(100).unwrap().losses.len(), 10);
        let found = known.records(2).unwrap();
        assert_eq!((found.runs.len(), found.losses.len()), (11, 3));
        let rest = "8 further places where bytes are no records are not listed";
        assert_eq!((found.losses[2].offset, &*found.losses[2].message), (None, rest));
    }
}
