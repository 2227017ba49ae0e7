//! The values of `profile.db`, turned round: read by context, a few contexts at a time.

use std::collections::BTreeMap;
use std::ops::Range;

use kymo_core::bytes::{ReadError, ReadResult};

use crate::read::ProfileDb;
use crate::types::Profile;

/// How many values are held at once, if no context has more.
const VALUES_HELD: u64 = 1 << 20;

/// Contexts that share a page of counts. Few, so that a page costs little more than the entries of
/// the file that it is made for, however far apart their numbers are.
const PAGE: u32 = 1 << 4;

/// How many pages are gone through at once.
const PAGES_HELD: usize = 1 << 14;

/// A number for each context of a page.
type Page<T> = [T; PAGE as usize];

/// How many times larger the numbers of contexts may be than there are contexts. hpcprof numbers
/// them one after another, and leaves some out.
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
pub(crate) struct Turned {
    pub(crate) context: u32,
    pub(crate) metric: u16,
    pub(crate) profile: u32,
    pub(crate) value: f64,
}

/// Reads all profiles side by side.
pub(crate) struct Gathering<'a> {
    file: &'a ProfileDb,
    /// Each profile but the summary, and the next entry of its index.
    profiles: Vec<(u32, Profile, u64)>,
    /// How many values each context has, a page of contexts at a time where there are some.
    counts: BTreeMap<u32, Page<u32>>,
    /// How many contexts have values.
    pub(crate) valued: u64,
    /// The highest number of a context with values.
    pub(crate) highest: u32,
    /// The first context that was not given yet.
    next: u64,
}

impl<'a> Gathering<'a> {
    pub(crate) fn new(file: &'a ProfileDb) -> ReadResult<Self> {
        let (profiles, counts) = <_>::default();
        let mut gathering = Self { file, profiles, counts, valued: 0, highest: 0, next: 0 };
        for (number, index) in (1..file.profiles.count).zip(1..) {
            let Some(profile) = file.profile(number)? else { continue };
            file.require_order(&profile)?;
            for entry in 0..profile.n_ctxs {
                let (context, _) = file.index(&profile, entry)?;
                let range = file.range(&profile, entry)?;
                gathering.add(context, range.end.saturating_sub(range.start));
            }
            gathering.profiles.push((index, profile, 0));
        }
        Ok(gathering)
    }

    fn add(&mut self, context: u32, more: u64) {
        let page = self.counts.entry(context / PAGE).or_default();
        if let (Some(count), 1..) = (page.get_mut(slot(context)), more) {
            self.valued += u64::from(*count == 0);
            self.highest = self.highest.max(context);
            *count = count.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        }
    }

    /// The next contexts with their values, in order of contexts, metrics and profiles. Contexts
    /// that have none are passed over; nothing is left after the last that has some.
    pub(crate) fn next(&mut self) -> ReadResult<Option<(Range<u64>, Vec<Turned>)>> {
        let contexts = self.next..self.end();
        if contexts.is_empty() {
            return Ok(None);
        }
        self.next = contexts.end;
        let values = self.values(&contexts)?;
        Ok(Some((contexts, values)))
    }

    /// Up to which context values are held at once.
    fn end(&self) -> u64 {
        let last = u64::from(self.highest) + 1;
        let Ok(start) = u32::try_from(self.next) else { return last };
        let (mut held, mut end) = (0_u64, self.next);
        if self.valued == 0 {
            return self.next;
        }
        for (page, counts) in self.counts.range(start / PAGE..).take(PAGES_HELD) {
            let first = u64::from(*page) * u64::from(PAGE);
            for (context, count) in (first..).zip(counts).filter(|(at, _)| *at >= self.next) {
                held += u64::from(*count);
                if held > VALUES_HELD && context > self.next {
                    return context;
                }
            }
            end = first + u64::from(PAGE);
        }
        end.min(last)
    }

    /// The values of some contexts. They are put where they belong at once: only those of one
    /// context have to be sorted.
    fn values(&mut self, contexts: &Range<u64>) -> ReadResult<Vec<Turned>> {
        let (mut places, total) = self.places(contexts);
        let mut values = vec![Turned::default(); total];
        for (number, profile, entry) in &mut self.profiles {
            while *entry < profile.n_ctxs {
                let (context, _) = self.file.index(profile, *entry)?;
                if u64::from(context) >= contexts.end {
                    break;
                }
                let place = places.get_mut(&(context / PAGE));
                let Some(place) = place.and_then(|page| page.get_mut(slot(context))) else {
                    let why = "is not that of the file any more: it changed meanwhile";
                    return Err(ReadError::invalid("context indices", profile.ctx_indices, why));
                };
                for index in self.file.range(profile, *entry)? {
                    let (metric, value) = self.file.value(profile, index)?;
                    if let Some(to) = values.get_mut(*place) {
                        *to = Turned { context, metric, profile: *number, value };
                    }
                    *place += 1;
                }
                *entry += 1;
            }
        }
        for these in values.chunk_by_mut(|a, b| a.context == b.context) {
            these.sort_by_key(|value| (value.metric, value.profile));
        }
        Ok(values)
    }

    /// Where the values of each context begin, and how many there are.
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

fn slot(context: u32) -> usize {
    usize::try_from(context % PAGE).unwrap_or(usize::MAX)
}
