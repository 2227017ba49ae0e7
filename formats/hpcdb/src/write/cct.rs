//! `cct.db`: the values of `profile.db`, turned round.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use kymo_core::bytes::Sink;
use kymo_core::{Error, Result, ahead};

use super::file::{Form, Out};
use super::profile::ProfileWriter;
use crate::read::ProfileDb;
use crate::spec::{CCT_BYTES, DESCRIBED_CCT_BYTES, FileKind};
use crate::transpose::{Gathering, Turned, numbers_max};

/// Where the list of contexts begins.
const CONTEXTS_AT: u64 = 0x40;

/// How many records of the list are held at once.
const RECORDS_HELD: u64 = 1 << 15;

/// The contexts that `meta.db` lists: how many, and the highest number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) count: u64,
    pub(crate) highest: u32,
}

/// Where sums over threads go, and what they are called there: ids of their own, or those of the
/// values where none are listed.
type Sums<'a> = (&'a mut ProfileWriter, &'a HashMap<u16, u16>);

/// Writes `cct.db`, and the sums over threads to the summary, where that is wanted.
///
/// There is a record for each number up to the highest, so a number that is far too large is
/// refused.
pub(crate) fn write(
    path: &Path,
    form: Form,
    from: &ProfileDb,
    mut sums: Option<Sums<'_>>,
    listed: Numbered,
) -> Result<()> {
    let mut gathering = from.part.told(Gathering::new(from))?;
    let highest = listed.highest.max(gathering.highest);
    let contexts = listed.count.saturating_add(gathering.valued);
    let count = u64::from(highest) + 1;
    if count > numbers_max(contexts) {
        return Err(Error::request(format!(
            "context {highest} has too large a number: {contexts} are listed or have values"
        )));
    }
    let mut out = Out::create(path, form)?;
    let size = if form.is_described() { DESCRIBED_CCT_BYTES } else { CCT_BYTES };
    let mut head = form.header(FileKind::Cct, &[(0x10 + size * count, 0x30)]);
    head.bytes(&[0; 0x10]);
    head.u64(CONTEXTS_AT);
    head.u32(u32::try_from(count).map_err(|_| Error::request("there are too many contexts"))?);
    head.u8(u8::try_from(size).unwrap_or(0));
    head.bytes(&[0; 3]);
    out.put(head.as_slice())?;
    out.zeros(size * count)?;
    let mut start = 0;
    let mut found = from.part.told(gathering.next())?;
    while let Some((contexts, values)) = found {
        // The next are gathered while these are written.
        let (next, written) = ahead::both(
            || from.part.told(gathering.next()),
            || blocks(&mut out, form, start..contexts.end, &values, &mut sums),
        );
        written?;
        (start, found) = (contexts.end, next?);
    }
    blocks(&mut out, form, start..count, &[], &mut sums)?;
    out.finish(FileKind::Cct)
}

/// Writes the blocks of some contexts, and where they are.
fn blocks(
    out: &mut Out,
    form: Form,
    contexts: Range<u64>,
    values: &[Turned],
    sums: &mut Option<Sums<'_>>,
) -> Result<()> {
    let size = if form.is_described() { DESCRIBED_CCT_BYTES } else { CCT_BYTES };
    let (mut start, mut rest) = (contexts.start, values);
    while start < contexts.end {
        let end = contexts.end.min(start + RECORDS_HELD);
        let mut infos = form.sink();
        for context in start..end {
            // Those of a context are few beside all that are held.
            let is_of = |value: &&Turned| u64::from(value.context) <= context;
            let many = rest.iter().take_while(is_of).count();
            let (these, later) = rest.split_at_checked(many).unwrap_or((rest, &[]));
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
        out.fill(CONTEXTS_AT + size * start, infos.as_slice())?;
        start = end;
    }
    Ok(())
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
    if form.is_described() {
        out.align(4)?;
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
