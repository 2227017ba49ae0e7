//! `cct.db`: the values of `profile.db`, turned round.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use kymo_core::bytes::Sink;
use kymo_core::{Error, Progress, Result, ahead};

use super::file::{FileWriter, Form};
use super::profile::ProfileWriter;
use crate::spec::{CCT_BYTES, CCT_VALUE_BYTES, DESCRIBED_CCT_BYTES, FileKind};
use crate::transpose::{Stored, TransposedValue, Transposition, numbers_max};

/// Offset of the list of contexts.
const CONTEXTS_AT: u64 = 0x40;

/// Number of records of the list that are held at once.
const RECORDS_HELD: u64 = 1 << 15;

/// The contexts that `meta.db` lists: how many, and the highest number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) count: u64,
    pub(crate) highest: u32,
}

/// Writer for sums over threads, and their ids there: ids of their own, or those of the values
/// where none are listed.
type Sums<'a> = (&'a mut ProfileWriter, &'a HashMap<u16, u16>);

/// Writes `cct.db`, and the sums over threads to the summary, where that is wanted.
///
/// There is a record for each number up to the highest, so a number that is far too large is
/// refused.
pub(crate) fn write(
    path: &Path,
    form: Form,
    from: &dyn Stored,
    mut sums: Option<Sums<'_>>,
    listed: Numbered,
    progress: &dyn Progress,
) -> Result<()> {
    let told = |error| from.with_file(error);
    let gathering = Transposition::new(from).map_err(told)?;
    let sums_are_wanted = sums.as_ref().is_some_and(|(summary, _)| summary.needs_summary());
    let highest = listed.highest.max(gathering.highest);
    let contexts = listed.count.saturating_add(gathering.valued);
    let count = u64::from(highest) + 1;
    if count > numbers_max(contexts) {
        return Err(Error::request(format!(
            "context {highest} has too large a number: {contexts} are listed or have values"
        )));
    }
    let mut out = FileWriter::create(path)?;
    let size = if form.is_described() { DESCRIBED_CCT_BYTES } else { CCT_BYTES };
    let mut head = form.header(FileKind::Cct, &[(0x10 + size * count, 0x30)]);
    head.bytes(&[0; 0x10]);
    head.u64(CONTEXTS_AT);
    head.u32(u32::try_from(count).map_err(|_| Error::request("there are too many contexts"))?);
    head.u8(u8::try_from(size).unwrap_or(0));
    head.bytes(&[0; 3]);
    out.put(head.as_slice())?;
    out.zeros(size * count)?;
    let parts = gathering.parts();
    let done = parts.last().map_or(0, |part| part.end);
    let encode = |number: usize| {
        let contexts = parts.get(number).cloned().unwrap_or_default();
        let values = gathering.values(&contexts).map_err(told)?;
        Ok((contexts, Encoded::new(form, &values, sums_are_wanted)))
    };
    progress.begin("writing", gathering.values.saturating_mul(CCT_VALUE_BYTES));
    let mut written = 0;
    ahead::in_order(parts.len(), encode, |(contexts, encoded)| {
        progress.advance_to(written * CCT_VALUE_BYTES);
        progress.note(&|| format!("{} of {count} contexts", contexts.start));
        written += encoded.blocks.iter().map(|block| block.n_values).sum::<u64>();
        encoded.put(&mut out, form, contexts)?;
        let Some((summary, ids)) = &mut sums else { return Ok(()) };
        encoded.sums.iter().try_for_each(|(context, metric, sum)| {
            summary.summary(*context, ids.get(metric).copied().unwrap_or(*metric), *sum)
        })
    })?;
    progress.end();
    Encoded::new(form, &[], false).put(&mut out, form, done..count)?;
    out.finish(FileKind::Cct)
}

/// The values of some contexts as they are written, before it is known where.
struct Encoded {
    bytes: Sink,
    /// Room for the index of a block.
    index: Sink,
    blocks: Vec<Block>,
    /// Sums of the values of a metric of a context, where they are wanted.
    sums: Vec<(u32, u16, f64)>,
}

/// Position of the values of a context, and their index.
#[derive(Clone, Copy, Default)]
struct Block {
    context: u32,
    n_values: u64,
    n_metrics: u16,
    values: usize,
    index: usize,
    end: usize,
}

impl Block {
    /// Says where it is, when it begins at a place of the file.
    fn info(&self, to: &mut Sink, at: u64) {
        to.u64(self.n_values);
        to.u64(at);
        to.u16(self.n_metrics);
        to.bytes(&[0; 6]);
        to.u64(at + (self.index - self.values) as u64);
    }
}

impl Encoded {
    fn new(form: Form, values: &[TransposedValue], with_sums: bool) -> Self {
        let (bytes, index) = (form.sink(), form.sink());
        let mut encoded = Self { bytes, index, blocks: Vec::new(), sums: Vec::new() };
        for values in values.chunk_by(|a, b| a.context == b.context) {
            encoded.block(form, values, with_sums);
        }
        encoded
    }

    /// Takes the values of a context.
    fn block(&mut self, form: Form, values: &[TransposedValue], with_sums: bool) {
        let Some(context) = values.first().map(|value| value.context) else { return };
        let start = self.bytes.len();
        self.index.clear();
        let (mut n_metrics, mut first) = (0_u16, 0);
        for run in values.chunk_by(|a, b| a.metric == b.metric) {
            let Some(metric) = run.first().map(|value| value.metric) else { continue };
            if form.is_described() {
                self.index.u32(metric.into());
            } else {
                self.index.u16(metric);
            }
            self.index.u64(first);
            first += run.len() as u64;
            n_metrics = n_metrics.saturating_add(1);
            for value in run {
                if form.is_described() {
                    self.bytes.u16(u16::try_from(value.profile).unwrap_or(u16::MAX));
                } else {
                    self.bytes.u32(value.profile);
                }
                self.bytes.f64(value.value);
            }
            let sum: f64 = run.iter().map(|value| value.value).sum();
            self.sums.extend((with_sums && sum != 0.0).then_some((context, metric, sum)));
        }
        self.align(start);
        let (index, n_values) = (self.bytes.len(), values.len() as u64);
        self.bytes.bytes(self.index.as_slice());
        self.align(start);
        let end = self.bytes.len();
        self.blocks.push(Block { context, n_values, n_metrics, values: start, index, end });
    }

    /// Zeros up to a multiple of 4 bytes from the start of a block, which is one itself.
    fn align(&mut self, start: usize) {
        let length = self.bytes.len() - start;
        let zeros = length.next_multiple_of(4) - length;
        self.bytes.bytes([0; 4].get(..zeros).unwrap_or_default());
    }

    /// Writes the blocks of some contexts, and where they are.
    fn put(&self, out: &mut FileWriter, form: Form, contexts: Range<u64>) -> Result<()> {
        let size = if form.is_described() { DESCRIBED_CCT_BYTES } else { CCT_BYTES };
        let mut blocks = self.blocks.iter().peekable();
        let mut start = contexts.start;
        while start < contexts.end {
            let end = contexts.end.min(start + RECORDS_HELD);
            let mut records = form.sink();
            for context in start..end {
                let block = blocks.next_if(|block| u64::from(block.context) == context).copied();
                let block = block.unwrap_or_default();
                let at = out.position();
                out.put(self.bytes.as_slice().get(block.values..block.end).unwrap_or_default())?;
                if form.is_described() {
                    // The list says where the rest is said.
                    out.align(8)?;
                    records.u64(out.position());
                    let mut info = form.sink();
                    block.info(&mut info, at);
                    out.put(info.as_slice())?;
                } else {
                    block.info(&mut records, at);
                }
            }
            out.fill(CONTEXTS_AT + size * start, records.as_slice())?;
            start = end;
        }
        Ok(())
    }
}
