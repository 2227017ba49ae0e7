//! `cct.db`: the values of `profile.db`, turned round a few contexts at a time.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use kymo_core::bytes::{ReadError, ReadResult, Sink};
use kymo_core::{Error, Result};

use super::file::{Form, Out};
use super::profile::ProfileWriter;
use crate::read::ProfileDb;
use crate::spec::{CCT_BYTES, DESCRIBED_CCT_BYTES, FileKind};
use crate::types::Profile;

/// Where the list of contexts begins.
const CONTEXTS_AT: u64 = 0x40;

/// How many values are held at once, if no context has more.
const VALUES_HELD: u64 = 1 << 20;

/// How many contexts are held at once.
const CONTEXTS_HELD: u32 = 1 << 18;

/// A value on its way.
#[derive(Clone, Copy, Default)]
struct Turned {
    context: u32,
    metric: u16,
    profile: u32,
    value: f64,
}

/// Where sums over threads go, and what they are called there: ids of their own, or those of the
/// values where none are listed.
type Sums<'a> = (&'a mut ProfileWriter, &'a HashMap<u16, u16>);

/// Writes `cct.db`, and the sums over threads to the summary, where that is wanted.
pub(crate) fn write(
    path: &Path,
    form: Form,
    from: &ProfileDb,
    mut sums: Option<Sums<'_>>,
    contexts_max: u32,
) -> Result<()> {
    let count = contexts_max.checked_add(1);
    let count = count.ok_or_else(|| Error::request("there are too many contexts"))?;
    let mut out = Out::create(path, form)?;
    let size = if form.is_described() { DESCRIBED_CCT_BYTES } else { CCT_BYTES };
    let mut head = form.header(FileKind::Cct, &[(0x10 + size * u64::from(count), 0x30)]);
    head.bytes(&[0; 0x10]);
    head.u64(CONTEXTS_AT);
    head.u32(count);
    head.u8(u8::try_from(size).unwrap_or(0));
    head.bytes(&[0; 3]);
    out.put(head.as_slice())?;
    out.zeros(size * u64::from(count))?;
    let mut gathering = from.part.told(Gathering::new(from, count))?;
    let mut start = 0;
    while start < count {
        let end = gathering.end(start);
        let values = from.part.told(gathering.values(start..end))?;
        blocks(&mut out, form, start..end, &values, &mut sums)?;
        start = end;
    }
    out.finish(FileKind::Cct)
}

/// Reads all profiles side by side, a few contexts at a time.
struct Gathering<'a> {
    file: &'a ProfileDb,
    /// Each profile but the summary, and the next entry of its index.
    profiles: Vec<(u32, Profile, u64)>,
    counts: Counts,
    contexts: u32,
}

/// Contexts that share a page of counts.
const PAGE: usize = 1 << 12;

/// How many values each context has. Pages are made where there are values: contexts may have any
/// numbers.
#[derive(Default)]
struct Counts {
    pages: Vec<Option<Box<[u32]>>>,
}

impl Counts {
    fn add(&mut self, context: u32, more: u64) {
        let context = usize::try_from(context).unwrap_or(usize::MAX);
        if self.pages.len() <= context / PAGE {
            self.pages.resize_with(context / PAGE + 1, || None);
        }
        let page = self.pages.get_mut(context / PAGE);
        let page = page.map(|page| page.get_or_insert_with(|| vec![0; PAGE].into_boxed_slice()));
        if let Some(count) = page.and_then(|page| page.get_mut(context % PAGE)) {
            *count = count.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        }
    }

    fn get(&self, context: u32) -> u32 {
        let context = usize::try_from(context).unwrap_or(usize::MAX);
        let page = self.pages.get(context / PAGE).and_then(Option::as_deref);
        page.and_then(|page| page.get(context % PAGE)).copied().unwrap_or(0)
    }
}

impl<'a> Gathering<'a> {
    fn new(file: &'a ProfileDb, contexts: u32) -> ReadResult<Self> {
        let (mut profiles, mut counts) = (Vec::new(), Counts::default());
        for (number, index) in (1..file.profiles.count).zip(1..) {
            let Some(profile) = file.profile(number)? else { continue };
            let mut left = profile.n_values;
            for entry in 0..profile.n_ctxs {
                let (context, _) = file.index(&profile, entry)?;
                let range = file.range(&profile, entry)?;
                let more = range.end.saturating_sub(range.start);
                left = left.checked_sub(more).ok_or_else(|| {
                    let why = "contexts share values, where each has its own";
                    ReadError::invalid("context indices", profile.ctx_indices, why)
                })?;
                counts.add(context, more);
            }
            profiles.push((index, profile, 0));
        }
        Ok(Self { file, profiles, counts, contexts })
    }

    /// Up to which context values are held at once, from one on.
    fn end(&self, start: u32) -> u32 {
        let last = start.saturating_add(CONTEXTS_HELD).min(self.contexts);
        let mut held = 0_u64;
        let is_too_much = |context: &u32| {
            held += u64::from(self.counts.get(*context));
            *context > start && held > VALUES_HELD
        };
        (start..last).find(is_too_much).unwrap_or(last)
    }

    /// The values of the next contexts. They are put where they belong at once: only those of one
    /// context have to be sorted.
    fn values(&mut self, contexts: Range<u32>) -> ReadResult<Vec<Turned>> {
        let mut total = 0;
        let mut places: Vec<usize> = Vec::with_capacity(contexts.len());
        for context in contexts.clone() {
            places.push(total);
            total += usize::try_from(self.counts.get(context)).unwrap_or(0);
        }
        let mut values = vec![Turned::default(); total];
        for (number, profile, entry) in &mut self.profiles {
            while *entry < profile.n_ctxs {
                let (context, _) = self.file.index(profile, *entry)?;
                if context >= contexts.end {
                    break;
                }
                let within = context.checked_sub(contexts.start);
                let within = within.and_then(|at| usize::try_from(at).ok()).unwrap_or(usize::MAX);
                for index in self.file.range(profile, *entry)? {
                    let (metric, value) = self.file.value(profile, index)?;
                    let value = Turned { context, metric, profile: *number, value };
                    let Some(place) = places.get_mut(within) else { continue };
                    if let Some(slot) = values.get_mut(*place) {
                        *slot = value;
                    }
                    *place += 1;
                }
                *entry += 1;
            }
        }
        // Where contexts of a profile are not in order, some places are left.
        values.retain(|value| value.profile != 0);
        for these in values.chunk_by_mut(|a, b| a.context == b.context) {
            these.sort_by_key(|value| (value.metric, value.profile));
        }
        Ok(values)
    }
}

/// Writes the blocks of some contexts, and where they are.
fn blocks(
    out: &mut Out,
    form: Form,
    contexts: Range<u32>,
    values: &[Turned],
    sums: &mut Option<Sums<'_>>,
) -> Result<()> {
    let size = if form.is_described() { DESCRIBED_CCT_BYTES } else { CCT_BYTES };
    let place = CONTEXTS_AT + size * u64::from(contexts.start);
    let mut infos = form.sink();
    let mut rest = values;
    for context in contexts {
        let end = rest.partition_point(|value| value.context <= context);
        let (these, later) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        rest = later;
        let info = block(out, form, these, sums)?;
        if form.is_described() {
            // The list says where the rest is said.
            out.align(8)?;
            infos.u64(out.at());
            out.put(info.as_slice())?;
        } else {
            infos.bytes(info.as_slice());
        }
    }
    out.fill(place, infos.as_slice())
}

/// Writes the values of a context with their index, and tells where they are.
fn block(
    out: &mut Out,
    form: Form,
    values: &[Turned],
    sums: &mut Option<Sums<'_>>,
) -> Result<Sink> {
    let at = out.at();
    let mut index = form.sink();
    let mut n_metrics = 0_u16;
    let mut first = 0_u64;
    for run in values.chunk_by(|a, b| a.metric == b.metric) {
        let Some(Turned { context, metric, .. }) = run.first().copied() else { continue };
        if form.is_described() {
            index.u32(metric.into());
        } else {
            index.u16(metric);
        }
        index.u64(first);
        first += run.len() as u64;
        n_metrics = n_metrics.saturating_add(1);
        for value in run {
            if form.is_described() {
                out.u16(u16::try_from(value.profile).unwrap_or(u16::MAX))?;
            } else {
                out.u32(value.profile)?;
            }
            out.f64(value.value)?;
        }
        let sum: f64 = run.iter().map(|value| value.value).sum();
        if let (Some((summary, ids)), true) = (sums.as_mut(), sum != 0.0) {
            summary.summary(context, ids.get(&metric).copied().unwrap_or(metric), sum)?;
        }
    }
    let mut info = form.sink();
    info.u64(values.len() as u64);
    info.u64(at);
    info.u16(n_metrics);
    info.bytes(&[0; 6]);
    info.u64(out.at());
    out.put(index.as_slice())?;
    out.align(4)?;
    Ok(info)
}
