//! `profile.db`: values by profile.

use std::path::Path;

use kymo_core::bytes::{Endian, ReadError, ReadResult, Sink};
use kymo_core::{Error, FileBytes, Result, ahead};
use kymo_model::profile::{IdPart, Thread, ThreadId};

use super::file::{FileWriter, Form};
use super::rows::Rows;
use crate::spec::{DESCRIBED_PROFILE_BYTES, FileKind, PROFILE_BYTES};
use crate::transpose::Stored;
use crate::types::Profile;

/// Offset of the list of profiles.
const INFOS_AT: u64 = 0x40;

/// Bytes that say where the values of a profile are.
const BLOCK_BYTES: u64 = 32;

/// Number of entries of an index that are put together at once.
const ENTRIES_HELD: usize = 1 << 12;

/// Number of profiles that the described draft can number, the summary included.
const DESCRIBED_PROFILES_MAX: u64 = 65_536;

/// `profile.db`, being written.
#[derive(Debug)]
pub(crate) struct ProfileWriter {
    out: FileWriter,
    form: Form,
    /// The summary first.
    infos: Vec<Info>,
    tuples: (u64, u64),
    summary: Block,
    /// Rows of a summary that is made and that are not written yet.
    summed: Rows,
    /// True if the summary was told, and is not made of what threads have.
    is_told: bool,
}

/// Positions of the values of a profile.
#[derive(Debug, Clone, Copy, Default)]
struct Info {
    n_values: u64,
    values: u64,
    n_ctxs: u32,
    ctx_indices: u64,
    id_tuple: u64,
}

impl Info {
    /// Says where the values are.
    fn block(&self, to: &mut Sink) {
        to.u64(self.n_values);
        to.u64(self.values);
        to.u32(self.n_ctxs);
        to.u32(0);
        to.u64(self.ctx_indices);
    }
}

/// Values that are being written, with their index.
#[derive(Debug, Default)]
struct Block {
    values: u64,
    n_values: u64,
    index: Vec<(u32, u64)>,
}

impl ProfileWriter {
    /// Starts with what names the threads; `kinds` has a number for each kind of their ids.
    pub(crate) fn new(
        path: &Path,
        form: Form,
        threads: &[Thread],
        kinds: &[String],
    ) -> Result<Self> {
        let count = threads.len() as u64 + 1;
        if form.is_described() && count > DESCRIBED_PROFILES_MAX {
            return Err(Error::request(format!(
                "the described draft cannot number {count} profiles; the released layout can"
            )));
        }
        let mut out = FileWriter::create(path)?;
        // The described draft has the same bytes in two places.
        out.zeros(INFOS_AT + PROFILE_BYTES * count)?;
        let start = out.position();
        let mut infos = vec![Info::default()];
        for thread in threads {
            // In the described draft they are no multiple of 8 bytes long.
            out.align(8)?;
            infos.push(Info { id_tuple: out.position(), ..Info::default() });
            out.put(tuple(form, thread, kinds).as_slice())?;
        }
        let tuples = (out.position() - start, start);
        let (summary, summed) = (Block::default(), Rows::new(form));
        Ok(Self { out, form, infos, tuples, summary, summed, is_told: false })
    }

    /// Keeps some threads under new names, which have as many ids as before. What there is of the
    /// others is what names them, and nothing leads there any more.
    pub(crate) fn keep(&mut self, threads: &[(ThreadId, Thread)], kinds: &[String]) -> Result<()> {
        let mut kept: Vec<_> = self.infos.first().copied().into_iter().collect();
        for (id, thread) in threads {
            let place = usize::try_from(id.0).unwrap_or(usize::MAX).saturating_add(1);
            let info = self.infos.get(place).copied();
            let info =
                info.ok_or_else(|| Error::request(format!("there is no thread {}", id.0)))?;
            self.out.fill(info.id_tuple, tuple(self.form, thread, kinds).as_slice())?;
            kept.push(info);
        }
        self.infos = kept;
        Ok(())
    }

    /// Writes the values of a thread, which come in any order.
    pub(crate) fn values(&mut self, thread: ThreadId, found: Vec<(u32, u16, f64)>) -> Result<()> {
        self.thread(thread, |profile, block| profile.put(block, summed(found).map(Ok)))
    }

    /// Writes the values of a thread in parts, which are put together beside each other.
    pub(crate) fn values_in_parts(
        &mut self,
        thread: ThreadId,
        parts: usize,
        encode: impl Fn(usize) -> Result<Rows> + Sync,
    ) -> Result<()> {
        self.thread(thread, |profile, block| profile.put_parts(block, parts, encode))
    }

    fn thread(
        &mut self,
        thread: ThreadId,
        put: impl FnOnce(&mut Self, &mut Block) -> Result<()>,
    ) -> Result<()> {
        let index = usize::try_from(thread.0).unwrap_or(usize::MAX).saturating_add(1);
        let info = self.infos.get(index).copied();
        let info =
            info.ok_or_else(|| Error::request(format!("there is no thread {}", thread.0)))?;
        if info.values != 0 {
            return Err(Error::request(format!("thread {} has values already", thread.0)));
        }
        let mut block = self.begin()?;
        put(self, &mut block)?;
        let written = self.end(&block)?;
        if let Some(info) = self.infos.get_mut(index) {
            *info = Info { id_tuple: info.id_tuple, ..written };
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<Block> {
        self.out.align(4)?;
        Ok(Block { values: self.out.position(), ..Block::default() })
    }

    /// Puts values that come in order of contexts.
    fn put(
        &mut self,
        block: &mut Block,
        values: impl Iterator<Item = Result<(u32, u16, f64)>>,
    ) -> Result<()> {
        let mut rows = Rows::new(self.form);
        for value in values {
            rows.take(value);
            if rows.is_full() {
                self.put_rows(block, &rows)?;
                rows.clear();
            }
        }
        self.put_rows(block, &rows.ended()?)
    }

    fn put_parts(
        &mut self,
        block: &mut Block,
        parts: usize,
        encode: impl Fn(usize) -> Result<Rows> + Sync,
    ) -> Result<()> {
        ahead::in_order(parts, encode, |rows| self.put_rows(block, &rows))
    }

    fn put_rows(&mut self, block: &mut Block, rows: &Rows) -> Result<()> {
        let (bytes, index, count) = rows.parts();
        let before = block.n_values;
        block.index.extend(index.iter().map(|(context, first)| (*context, before + first)));
        block.n_values += count;
        self.out.put(bytes)
    }

    fn end(&mut self, block: &Block) -> Result<Info> {
        self.out.align(4)?;
        let ctx_indices = self.out.position();
        let mut bytes = self.form.sink();
        for index in block.index.chunks(ENTRIES_HELD) {
            bytes.clear();
            for (context, first) in index {
                bytes.u32(*context);
                bytes.u64(*first);
            }
            self.out.put(bytes.as_slice())?;
        }
        let n_ctxs = u32::try_from(block.index.len());
        let n_ctxs = n_ctxs.map_err(|_| Error::request("there are too many contexts"))?;
        let (n_values, values) = (block.n_values, block.values);
        Ok(Info { n_values, values, n_ctxs, ctx_indices, id_tuple: 0 })
    }

    /// Writes a summary that is not made of what threads have. It comes in order of contexts, and
    /// what a context has is put in order here.
    pub(crate) fn write_stored_summary(
        &mut self,
        values: impl Iterator<Item = Result<(u32, u16, f64)>>,
    ) -> Result<()> {
        self.whole_summary(|profile, block| profile.put(block, values))
    }

    /// The same in parts, which are put together beside each other.
    pub(crate) fn summary_in_parts(
        &mut self,
        parts: usize,
        encode: impl Fn(usize) -> Result<Rows> + Sync,
    ) -> Result<()> {
        self.whole_summary(|profile, block| profile.put_parts(block, parts, encode))
    }

    fn whole_summary(
        &mut self,
        put: impl FnOnce(&mut Self, &mut Block) -> Result<()>,
    ) -> Result<()> {
        let mut block = self.begin()?;
        put(self, &mut block)?;
        self.summary = block;
        self.end_summary()?;
        self.is_told = true;
        Ok(())
    }

    /// Fills in where everything is, so that it can be read; the summary follows.
    pub(crate) fn write_infos(&mut self) -> Result<()> {
        self.fill()?;
        self.out.flush()?;
        if !self.is_told {
            self.summary = self.begin()?;
        }
        Ok(())
    }

    /// Returns what was written so far, to be read again. Infos are written before.
    pub(crate) fn written(&self, path: &Path) -> Result<SpilledValues> {
        let profile = |(number, info): (u32, &Info)| {
            let Info { n_values, values, n_ctxs, ctx_indices, .. } = *info;
            let (index, n_ctxs) = (number.into(), n_ctxs.into());
            let (offset, id_tuple, is_summary) = (0, None, false);
            let profile = Profile {
                index,
                offset,
                n_values,
                values,
                n_ctxs,
                ctx_indices,
                id_tuple,
                is_summary,
            };
            (number, profile)
        };
        let profiles = (0..).zip(&self.infos).skip(1).map(profile).collect();
        Ok(SpilledValues { file: FileBytes::open(path)?, form: self.form, profiles })
    }

    fn fill(&mut self) -> Result<()> {
        let count = self.infos.len() as u64;
        let size = if self.form.is_described() { DESCRIBED_PROFILE_BYTES } else { PROFILE_BYTES };
        let sections = [(0x10 + size * count, 0x30), self.tuples];
        let mut head = self.form.header(FileKind::Profile, &sections);
        head.u64(INFOS_AT);
        let many = |_| Error::request("there are too many threads");
        head.u32(u32::try_from(count).map_err(many)?);
        head.u8(u8::try_from(size).unwrap_or(0));
        head.bytes(&[0; 3]);
        if self.form.is_described() {
            let blocks = INFOS_AT + size * count;
            for (info, index) in self.infos.iter().zip(0..) {
                head.u64(blocks + BLOCK_BYTES * index);
                head.u64(info.id_tuple);
            }
            self.infos.iter().for_each(|info| info.block(&mut head));
        } else {
            for (index, info) in self.infos.iter().enumerate() {
                info.block(&mut head);
                head.u64(info.id_tuple);
                head.u32(u32::from(index == 0));
                head.u32(0);
            }
        }
        self.out.fill(0, head.as_slice())
    }

    /// Returns true if the summary was not told, and is made of what threads have.
    pub(crate) fn needs_summary(&self) -> bool {
        !self.is_told
    }

    /// Takes a value of a summary that is made, in order of contexts and metrics.
    pub(crate) fn summary(&mut self, context: u32, metric: u16, value: f64) -> Result<()> {
        self.summed.take(Ok((context, metric, value)));
        if self.summed.is_full() { self.put_summed() } else { Ok(()) }
    }

    /// Writes what was taken of a summary that is made.
    fn put_summed(&mut self) -> Result<()> {
        let mut block = std::mem::take(&mut self.summary);
        let rows = std::mem::replace(&mut self.summed, Rows::new(self.form));
        let done = self.put_rows(&mut block, &rows);
        self.summary = block;
        self.summed = rows;
        self.summed.clear();
        done
    }

    /// Ends the summary and the file.
    pub(crate) fn finish(mut self) -> Result<()> {
        if !self.is_told {
            let rows = std::mem::replace(&mut self.summed, Rows::new(self.form));
            self.summed = rows.ended()?;
            self.put_summed()?;
            self.end_summary()?;
        }
        self.fill()?;
        self.out.finish(FileKind::Profile)
    }

    fn end_summary(&mut self) -> Result<()> {
        let block = std::mem::take(&mut self.summary);
        let info = self.end(&block)?;
        if let Some(summary) = self.infos.first_mut() {
            *summary = info;
        }
        Ok(())
    }
}

/// The values of threads that were written. The file may be larger than memory: it is not mapped.
#[derive(Debug)]
pub(crate) struct SpilledValues {
    file: FileBytes,
    form: Form,
    profiles: Vec<(u32, Profile)>,
}

impl Stored for SpilledValues {
    fn endian(&self) -> Endian {
        self.form.endian()
    }

    fn profiles(&self) -> ReadResult<Vec<(u32, Profile)>> {
        Ok(self.profiles.clone())
    }

    fn bytes<'a>(
        &'a self,
        what: &'static str,
        at: u64,
        length: u64,
        room: &'a mut Vec<u8>,
    ) -> ReadResult<&'a [u8]> {
        room.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
        let why = |error: std::io::Error| ReadError::invalid(what, at, error.to_string());
        self.file.read(at, room).map_err(why)?;
        Ok(room)
    }

    fn with_file(&self, error: ReadError) -> Error {
        Error::ReadIn { file: FileKind::Profile.name().into(), error }
    }
}

/// Values in the order of the file: each context and metric once, and no zeros.
fn summed(mut found: Vec<(u32, u16, f64)>) -> impl Iterator<Item = (u32, u16, f64)> {
    let key = |value: &(u32, u16, f64)| u64::from(value.0) << 16 | u64::from(value.1);
    if !found.is_sorted_by(|a, b| key(a) < key(b)) {
        found.sort_by_key(key);
        found.dedup_by(|next, kept| {
            let is_same = key(next) == key(kept);
            if is_same {
                kept.2 += next.2;
            }
            is_same
        });
    }
    found.into_iter().filter(|(_, _, value)| *value != 0.0)
}

/// The number of a kind of ids; nothing where there are too many kinds to number it.
fn kind_of(part: &IdPart, kinds: &[String]) -> Option<u8> {
    let kind = kinds.iter().position(|kind| **kind == *part.kind.0);
    kind.and_then(|kind| u8::try_from(kind).ok())
}

/// The ids of a thread that there is room for, with the numbers of their kinds.
fn with_room<'a>(
    thread: &'a Thread,
    kinds: &'a [String],
) -> impl Iterator<Item = (&'a IdPart, u8)> + Clone {
    let ids = thread.ids.iter().filter_map(|part| Some((part, kind_of(part, kinds)?)));
    ids.take(usize::from(u16::MAX))
}

/// Describes the part of the name of a thread that there is no room for: of a logical id only 32
/// bits are written, as hpcprof does it.
pub(crate) fn lost(thread: &Thread, kinds: &[String]) -> Option<String> {
    let mut lost = Vec::new();
    let long = thread.ids.iter().find(|part| u32::try_from(part.logical).is_err());
    if let Some(IdPart { kind, logical, .. }) = long {
        let kept = low_bits(*logical);
        lost.push(format!("of {} {logical} only 32 bits are kept, which are {kept}", kind.0));
    }
    let left_out = thread.ids.len() - with_room(thread, kinds).count();
    if left_out > 0 {
        lost.push(format!("{left_out} of its ids have no place in a database, and are left out"));
    }
    (!lost.is_empty()).then(|| lost.join("; "))
}

fn low_bits(logical: u64) -> u32 {
    u32::try_from(logical & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

/// Returns the identifiers of a thread, as far as there is room for them.
fn tuple(form: Form, thread: &Thread, kinds: &[String]) -> Sink {
    let mut tuple = form.sink();
    let ids = with_room(thread, kinds);
    tuple.u16(u16::try_from(ids.clone().count()).unwrap_or(u16::MAX));
    if !form.is_described() {
        tuple.bytes(&[0; 6]);
    }
    for (part, kind) in ids {
        if form.is_described() {
            let only_logical = if part.physical.is_some() { 0 } else { 3 << 14 };
            tuple.u16(u16::from(kind) | only_logical);
            tuple.u16(0);
        } else {
            tuple.u8(kind);
            tuple.u8(0);
            tuple.u16(part.physical.is_some().into());
        }
        tuple.u32(low_bits(part.logical));
        tuple.u64(part.physical.unwrap_or(part.logical));
    }
    tuple
}
