//! `cct.db`: the values of `profile.db`, turned round a few contexts at a time.

use std::path::Path;

use kymo_core::bytes::ReadResult;
use kymo_core::{Error, Result};

use super::file::{Out, header, sink};
use super::profile::ProfileWriter;
use crate::read::ProfileDb;
use crate::spec::{CCT_BYTES, FileKind};
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

/// Writes `cct.db`, and the sums over threads to the summary.
pub(super) fn write(
    path: &Path,
    from: &ProfileDb,
    summary: &mut ProfileWriter,
    contexts_max: u32,
    columns: u64,
) -> Result<()> {
    let count = contexts_max.checked_add(1);
    let count = count.ok_or_else(|| Error::request("there are too many contexts"))?;
    let mut out = Out::create(path)?;
    let mut head = header(FileKind::Cct, &[(0x10 + CCT_BYTES * u64::from(count), 0x30)]);
    head.bytes(&[0; 0x10]);
    head.u64(CONTEXTS_AT);
    head.u32(count);
    head.bytes(&[32, 0, 0, 0]);
    out.put(head.as_slice())?;
    out.zeros(CCT_BYTES * u64::from(count))?;
    let mut gathering = from.part.told(Gathering::new(from))?;
    // So many contexts that their values fit, had every thread a value in every column.
    let each = (gathering.profiles.len() as u64).saturating_mul(columns).max(1);
    let step = u32::try_from((VALUES_HELD / each).clamp(1, 1 << 16)).unwrap_or(1);
    let mut start = 0;
    while start < count {
        let end = start.saturating_add(step).min(count);
        let values = from.part.told(gathering.until(end))?;
        blocks(&mut out, start..end, &values, summary)?;
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
    contexts: std::ops::Range<u32>,
    values: &[Turned],
    summary: &mut ProfileWriter,
) -> Result<()> {
    let place = CONTEXTS_AT + CCT_BYTES * u64::from(contexts.start);
    let mut infos = sink();
    let mut rest = values;
    for context in contexts {
        let end = rest.partition_point(|value| value.context <= context);
        let (these, later) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        rest = later;
        let at = out.at();
        let mut index = sink();
        let mut n_metrics = 0_u16;
        let mut first = 0_u64;
        for run in these.chunk_by(|a, b| a.metric == b.metric) {
            let metric = run.first().map_or(0, |value| value.metric);
            index.u16(metric);
            index.u64(first);
            first += run.len() as u64;
            n_metrics = n_metrics.saturating_add(1);
            for value in run {
                out.put(&value.profile.to_le_bytes())?;
                out.put(&value.value.to_le_bytes())?;
            }
            let sum: f64 = run.iter().map(|value| value.value).sum();
            if sum != 0.0 {
                summary.summary(context, metric, sum)?;
            }
        }
        infos.u64(these.len() as u64);
        infos.u64(at);
        infos.u16(n_metrics);
        infos.bytes(&[0; 6]);
        infos.u64(out.at());
        out.put(index.as_slice())?;
        out.align(4)?;
    }
    out.fill(place, infos.as_slice())
}
