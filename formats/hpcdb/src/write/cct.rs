//! `cct.db`: the values of `profile.db`, turned round a few contexts at a time.

use std::collections::HashMap;
use std::path::Path;

use kymo_core::bytes::{ReadResult, Sink};
use kymo_core::{Error, Result};

use super::file::{Form, Out};
use super::profile::ProfileWriter;
use crate::read::ProfileDb;
use crate::spec::{CCT_BYTES, DESCRIBED_CCT_BYTES, FileKind};
use crate::types::Profile;

/// Where the list of contexts begins.
const CONTEXTS_AT: u64 = 0x40;

/// How many values are held at once.
const VALUES_HELD: u64 = 1 << 19;

/// A value on its way.
#[derive(Clone, Copy)]
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
    columns: u64,
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
    let mut gathering = from.part.told(Gathering::new(from))?;
    // So many contexts that their values fit, had every thread a value in every column.
    let each = (gathering.profiles.len() as u64).saturating_mul(columns).max(1);
    let step = u32::try_from((VALUES_HELD / each).clamp(1, 1 << 16)).unwrap_or(1);
    let mut start = 0;
    while start < count {
        let end = start.saturating_add(step).min(count);
        let values = from.part.told(gathering.until(end))?;
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
}

impl<'a> Gathering<'a> {
    fn new(file: &'a ProfileDb) -> ReadResult<Self> {
        let mut profiles = Vec::new();
        for (number, index) in (1..file.profiles.count).zip(1..) {
            if let Some(profile) = file.profile(number)? {
                profiles.push((index, profile, 0));
            }
        }
        Ok(Self { file, profiles })
    }

    /// The values of contexts that come before one, and were not given yet.
    fn until(&mut self, end: u32) -> ReadResult<Vec<Turned>> {
        let mut values = Vec::new();
        for (number, profile, entry) in &mut self.profiles {
            while *entry < profile.n_ctxs {
                let (context, _) = self.file.index(profile, *entry)?;
                if context >= end {
                    break;
                }
                for index in self.file.range(profile, *entry)? {
                    let (metric, value) = self.file.value(profile, index)?;
                    values.push(Turned { context, metric, profile: *number, value });
                }
                *entry += 1;
            }
        }
        values.sort_by_key(|value| (value.context, value.metric, value.profile));
        Ok(values)
    }
}

/// Writes the blocks of some contexts, and where they are.
fn blocks(
    out: &mut Out,
    form: Form,
    contexts: std::ops::Range<u32>,
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
