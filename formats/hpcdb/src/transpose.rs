//! The values of `profile.db`, turned round: read by context, a few contexts at a time.

use std::collections::BTreeMap;
use std::ops::Range;

use kymo_core::Error;
use kymo_core::bytes::{Cursor, Endian, ReadError, ReadResult};

use crate::read::{index_offset, value_offset};
use crate::spec::{PROFILE_INDEX_BYTES, PROFILE_VALUE_BYTES};
use crate::types::Profile;

/// Number of values that are held at once, if no context has more.
const VALUES_HELD: u64 = 1 << 19;

/// Number of entries of an index that are read at once.
const ENTRIES_HELD: u64 = 1 << 10;

/// Of so many entries of an index the context of the first is kept, so that few are read besides
/// those of the contexts that are wanted.
const ENTRIES_MARKED: u64 = 1 << 7;

/// Contexts that share a page of counts. Few, so that a page costs little more than the entries of
/// the file that it is made for, however far apart their numbers are.
const PAGE: u32 = 1 << 4;

/// Number of pages that are gone through at once.
const PAGES_HELD: usize = 1 << 14;

/// A number for each context of a page.
type Page<T> = [T; PAGE as usize];

/// Factor by which the numbers of contexts may be larger than the number of contexts. hpcprof
/// numbers them one after another, and leaves some out.
const NUMBERS_SPARSE: u64 = 64;

/// Numbers that are never too large.
const NUMBERS_LEAST: u64 = 1 << 12;

/// The numbers that so many contexts can have: those above are damage, and nothing may be sized by
/// them.
pub(crate) fn numbers_max(contexts: u64) -> u64 {
    contexts.saturating_mul(NUMBERS_SPARSE).saturating_add(NUMBERS_LEAST)
}

/// A value on its way.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct TransposedValue {
    pub(crate) context: u32,
    pub(crate) metric: u16,
    pub(crate) profile: u32,
    pub(crate) value: f64,
}

/// Store of the values of profiles: a file of a database, or one that is being written.
pub(crate) trait Stored: Sync {
    /// The byte order of all numbers.
    fn endian(&self) -> Endian;

    /// Each profile but the summary, with its number. Their indices are in order.
    fn profiles(&self) -> ReadResult<Vec<(u32, Profile)>>;

    /// Bytes at a place; `room` is for those that are not in memory.
    fn bytes<'a>(
        &'a self,
        what: &'static str,
        at: u64,
        length: u64,
        room: &'a mut Vec<u8>,
    ) -> ReadResult<&'a [u8]>;

    /// An error with the file it is about.
    fn with_file(&self, error: ReadError) -> Error;
}

/// Reads all profiles side by side.
pub(crate) struct Transposition<'a> {
    file: &'a dyn Stored,
    profiles: Vec<IndexedProfile>,
    /// Number of values of each context, a page of contexts at a time where there are some.
    counts: BTreeMap<u32, Page<u32>>,
    /// Number of values.
    pub(crate) values: u64,
    /// Number of contexts that have some.
    pub(crate) valued: u64,
    /// The highest number of a context with values.
    pub(crate) highest: u32,
}

/// A profile, and the context of each so many entries of its index.
struct IndexedProfile {
    number: u32,
    profile: Profile,
    marks: Vec<u32>,
}

impl<'a> Transposition<'a> {
    pub(crate) fn new(file: &'a dyn Stored) -> ReadResult<Self> {
        let (profiles, counts) = <_>::default();
        let mut gathering = Self { file, profiles, counts, values: 0, valued: 0, highest: 0 };
        let mut room = Vec::new();
        for (number, profile) in file.profiles()? {
            let marks = gathering.count(&profile, &mut room)?;
            gathering.profiles.push(IndexedProfile { number, profile, marks });
        }
        Ok(gathering)
    }

    /// Counts the values of a profile, and marks where contexts are in its index.
    fn count(&mut self, profile: &Profile, room: &mut Vec<u8>) -> ReadResult<Vec<u32>> {
        let (file, mut marks, mut entry) = (self.file, Vec::new(), 0);
        let (mut number, mut page) = (0, Page::default());
        each_entry(file, profile, 0..profile.n_ctxs, room, |context, range| {
            if entry % ENTRIES_MARKED == 0 {
                marks.push(context);
            }
            entry += 1;
            if context / PAGE != number {
                self.add_page(number, &std::mem::take(&mut page));
                number = context / PAGE;
            }
            let count = range.end.saturating_sub(range.start);
            if let Some(slot) = page.get_mut(slot(context)) {
                *slot = u32::try_from(count).unwrap_or(u32::MAX);
            }
            true
        })?;
        self.add_page(number, &page);
        Ok(marks)
    }

    /// Adds how many values a profile has of contexts that share a page.
    fn add_page(&mut self, number: u32, more: &Page<u32>) {
        if more.iter().all(|more| *more == 0) {
            return;
        }
        let page = self.counts.entry(number).or_default();
        for ((count, more), place) in page.iter_mut().zip(more).zip(0..PAGE) {
            if *more > 0 {
                self.values = self.values.saturating_add((*more).into());
                self.valued += u64::from(*count == 0);
                self.highest = self.highest.max(number * PAGE + place);
                *count = count.saturating_add(*more);
            }
        }
    }

    /// All contexts up to the last that has values, in parts that follow each other: each has few
    /// enough values to be held at once.
    pub(crate) fn parts(&self) -> Vec<Range<u64>> {
        let (mut parts, mut start) = (Vec::new(), 0);
        let mut end = self.end(start);
        while start < end {
            parts.push(start..end);
            (start, end) = (end, self.end(end));
        }
        parts
    }

    /// Up to which context values are held at once.
    fn end(&self, start: u64) -> u64 {
        let last = if self.valued == 0 { 0 } else { u64::from(self.highest) + 1 };
        let Ok(first) = u32::try_from(start) else { return last };
        let (mut held, mut end) = (0_u64, start);
        for (page, counts) in self.counts.range(first / PAGE..).take(PAGES_HELD) {
            let first = u64::from(*page) * u64::from(PAGE);
            for (context, count) in (first..).zip(counts).filter(|(at, _)| *at >= start) {
                held += u64::from(*count);
                if held > VALUES_HELD && context > start {
                    return context;
                }
            }
            end = first + u64::from(PAGE);
        }
        end.min(last)
    }

    /// The values of some contexts, in order of contexts, metrics and profiles. They are put where
    /// they belong at once: only those of one context have to be sorted.
    pub(crate) fn values(&self, contexts: &Range<u64>) -> ReadResult<Vec<TransposedValue>> {
        let (mut places, total) = self.places(contexts);
        let mut values = vec![TransposedValue::default(); total];
        let (mut entries, mut room) = (Vec::new(), Vec::new());
        for IndexedProfile { number, profile, marks } in &self.profiles {
            let first = marks.partition_point(|mark| u64::from(*mark) <= contexts.start);
            let end = marks.partition_point(|mark| u64::from(*mark) < contexts.end);
            let [first, end] = [first.saturating_sub(1), end].map(|mark| mark as u64);
            let wanted = first * ENTRIES_MARKED..profile.n_ctxs.min(end * ENTRIES_MARKED);
            entries.clear();
            each_entry(self.file, profile, wanted, &mut room, |context, range| {
                if u64::from(context) >= contexts.start && u64::from(context) < contexts.end {
                    entries.push((context, range));
                }
                u64::from(context) < contexts.end
            })?;
            let all = entries.first().zip(entries.last());
            let Some(all) = all.map(|((_, first), (_, last))| first.start..last.end) else {
                continue;
            };
            let at = value_offset(profile, all.start);
            let bytes = all.end.saturating_sub(all.start) * PROFILE_VALUE_BYTES;
            let bytes = self.file.bytes("values", at, bytes, &mut room)?;
            let mut cursor = Cursor::with_offset(bytes, at, self.file.endian());
            for (context, range) in &entries {
                let place = places.get_mut(&(context / PAGE));
                let Some(place) = place.and_then(|page| page.get_mut(slot(*context))) else {
                    let why = "is not that of the file any more: it changed meanwhile";
                    return Err(ReadError::invalid("context indices", profile.ctx_indices, why));
                };
                for _ in range.clone() {
                    let (metric, value) = (cursor.u16("metricId")?, cursor.f64("value")?);
                    let Some(to) = values.get_mut(*place) else {
                        let why = "has more values than were counted: it changed meanwhile";
                        return Err(ReadError::invalid("value", at, why));
                    };
                    *to = TransposedValue { context: *context, metric, profile: *number, value };
                    *place += 1;
                }
            }
        }
        let mut order = Order::default();
        for these in values.chunk_by_mut(|a, b| a.context == b.context) {
            order.by_metric(these);
        }
        Ok(values)
    }

    /// Returns the start of the values of each context, and the number of all values.
    fn places(&self, contexts: &Range<u64>) -> (BTreeMap<u32, Page<usize>>, usize) {
        let mut total = 0;
        let mut places = BTreeMap::new();
        let number = |context: u64| u32::try_from(context).unwrap_or(u32::MAX);
        let pages = number(contexts.start) / PAGE..=number(contexts.end.saturating_sub(1)) / PAGE;
        for (page, counts) in self.counts.range(pages) {
            let mut context = u64::from(*page) * u64::from(PAGE);
            let place = |count: u32| {
                let place = total;
                if contexts.contains(&context) {
                    total += usize::try_from(count).unwrap_or(0);
                }
                context += 1;
                place
            };
            places.insert(*page, counts.map(place));
        }
        (places, total)
    }
}

/// Gives some entries of the index of a profile, each with its values, as long as more are wanted.
fn each_entry(
    file: &dyn Stored,
    profile: &Profile,
    entries: Range<u64>,
    room: &mut Vec<u8>,
    mut take: impl FnMut(u32, Range<u64>) -> bool,
) -> ReadResult<()> {
    let mut entry = entries.start;
    while entry < entries.end {
        let left = profile.n_ctxs.saturating_sub(entry);
        let count = (entries.end - entry).min(ENTRIES_HELD);
        let at = index_offset(profile, entry);
        // With the one behind them, which tells where the values of the last end.
        let bytes = left.min(count + 1) * PROFILE_INDEX_BYTES;
        let bytes = file.bytes("context indices", at, bytes, room)?;
        let mut cursor = Cursor::with_offset(bytes, at, file.endian());
        let mut next = || Ok((cursor.u32("ctxId")?, cursor.u64("startIndex")?));
        let mut found = next()?;
        for _ in 0..count {
            let (context, start) = found;
            entry += 1;
            let mut end = profile.n_values;
            if entry < profile.n_ctxs {
                found = next()?;
                end = end.min(found.1);
            }
            if !take(context, start..end) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Room for putting values of a context in order: counted first, and then put where they belong.
#[derive(Debug, Default)]
struct Order {
    /// By metric: how many values there are, and then where the next one goes.
    places: Vec<usize>,
    /// The metrics that there are.
    metrics: Vec<u16>,
    /// The values in the order in which they came.
    came: Vec<TransposedValue>,
}

impl Order {
    /// Orders values of a context by metric. They come by profile, and those of a metric stay so.
    fn by_metric(&mut self, values: &mut [TransposedValue]) {
        if values.is_sorted_by_key(|value| value.metric) {
            return;
        }
        let Self { places, metrics, came } = self;
        let highest = values.iter().map(|value| value.metric).max().unwrap_or(0);
        places.resize(places.len().max(usize::from(highest) + 1), 0);
        for value in values.iter() {
            let Some(count) = places.get_mut(usize::from(value.metric)) else {
                debug_assert!(false, "no place for metric {}", value.metric);
                continue;
            };
            if *count == 0 {
                metrics.push(value.metric);
            }
            *count += 1;
        }
        metrics.sort_unstable();
        let mut start = 0;
        for place in &*metrics {
            if let Some(place) = places.get_mut(usize::from(*place)) {
                start += std::mem::replace(place, start);
            }
        }
        came.extend_from_slice(values);
        for value in came.drain(..) {
            let place = places.get_mut(usize::from(value.metric));
            let to = place.as_ref().and_then(|place| values.get_mut(**place));
            let (Some(place), Some(to)) = (place, to) else {
                debug_assert!(false, "a value of metric {} was not counted", value.metric);
                continue;
            };
            *to = value;
            *place += 1;
        }
        for metric in metrics.drain(..) {
            if let Some(place) = places.get_mut(usize::from(metric)) {
                *place = 0;
            }
        }
    }
}

fn slot(context: u32) -> usize {
    usize::try_from(context % PAGE).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_come_by_profile_are_put_in_order_of_metrics_and_profiles() {
        let turned = |metric, profile| TransposedValue { context: 7, metric, profile, value: 1.0 };
        let mut order = Order::default();
        for metrics in [vec![], vec![3], vec![0, 9, 65535], vec![2, 1, 2]] {
            let came = (1..4).flat_map(|profile| metrics.iter().map(move |m| turned(*m, profile)));
            let mut values: Vec<_> = came.collect();
            let mut expected = values.clone();
            expected.sort_by_key(|value| (value.metric, value.profile));
            order.by_metric(&mut values);
            assert_eq!(values, expected);
        }
    }
}
