//! `trace.db`: where each thread was when.

use std::path::PathBuf;

use kymo_core::{Error, Result, ahead};
use kymo_model::profile::{Parts, SunkSample, ThreadId};
use kymo_model::timeline::TimeNs;

use super::file::{FileWriter, Form};
use super::samples::Samples;
use crate::spec::{ELEMENT_BYTES, FileKind, TRACE_BYTES};

/// Offset of the list of traces.
const TRACES_AT: u64 = 0x40;

/// Takes samples of a thread that follow those that it took before.
type Put<'a> = dyn FnMut(Samples) -> Result<()> + Send + 'a;

/// `trace.db`, which is only made when there is a sample.
#[derive(Debug)]
pub(crate) struct TraceWriter {
    path: PathBuf,
    form: Form,
    out: Option<FileWriter>,
    /// Positions of the samples of each thread.
    lines: Vec<(u64, u64)>,
    moments: Option<(u64, u64)>,
}

impl TraceWriter {
    pub(crate) fn new(path: PathBuf, form: Form, threads: usize) -> Self {
        Self { path, form, out: None, lines: vec![(0, 0); threads], moments: None }
    }

    /// Keeps the lines of some threads.
    pub(crate) fn keep(&mut self, threads: impl Iterator<Item = ThreadId>) {
        let line = |id: ThreadId| usize::try_from(id.0).ok().and_then(|at| self.lines.get(at));
        self.lines = threads.filter_map(line).copied().collect();
    }

    /// Writes the samples of a thread, and tells how many those are: idle is said once.
    pub(crate) fn samples(
        &mut self,
        thread: ThreadId,
        samples: &mut dyn Iterator<Item = Result<SunkSample>>,
    ) -> Result<u64> {
        self.line(thread, |form, put| {
            let mut held = Samples::new(form);
            for sample in samples {
                held.take(sample);
                if held.is_full() {
                    put(std::mem::replace(&mut held, Samples::new(form)).ended()?)?;
                }
            }
            put(held.ended()?)
        })
    }

    /// The same of samples in parts, which are put together beside each other.
    pub(crate) fn samples_in_parts(
        &mut self,
        thread: ThreadId,
        samples: &dyn Parts<SunkSample>,
    ) -> Result<u64> {
        self.line(thread, |form, put| {
            let encode = |part: usize| {
                let mut told = Samples::new(form);
                samples.read_part(part, &mut |sample| told.take(Ok(sample)));
                told.ended()
            };
            ahead::in_order(samples.count(), encode, put)
        })
    }

    /// Writes the samples of a thread, which are handed to it in runs that follow each other.
    fn line(
        &mut self,
        thread: ThreadId,
        tell: impl FnOnce(Form, &mut Put<'_>) -> Result<()>,
    ) -> Result<u64> {
        let no_thread = || Error::request(format!("there is no thread {}", thread.0));
        let number = usize::try_from(thread.0).map_err(|_| no_thread())?;
        self.lines.get(number).ok_or_else(no_thread)?;
        let (mut start, mut last) = (None, None);
        tell(self.form, &mut |samples| {
            let Some((bytes, from, to)) = samples.encode_after(last)? else { return Ok(()) };
            let (first, latest) = self.moments.unwrap_or((from.0, to.0));
            self.moments = Some((first.min(from.0), latest.max(to.0)));
            last = Some(to);
            let out = self.create_once()?;
            if start.is_none() {
                out.align(8)?;
                start = Some(out.position());
            }
            out.put(bytes)
        })?;
        let (Some(start), Some(out)) = (start, &self.out) else { return Ok(0) };
        if let Some(line) = self.lines.get_mut(number) {
            *line = (start, out.position());
        }
        Ok((out.position() - start) / ELEMENT_BYTES)
    }

    /// Takes moments between which something was recorded, whatever is known of it. What is no moment
    /// of the format is passed over: no sample has it.
    pub(crate) fn recorded(&mut self, first: TimeNs, last: TimeNs) {
        let moments = [first, last].into_iter().filter_map(|moment| u64::try_from(moment.0).ok());
        for moment in moments {
            let (first, last) = self.moments.unwrap_or((moment, moment));
            self.moments = Some((first.min(moment), last.max(moment)));
        }
    }

    /// The file, which is made when it is asked for first.
    fn create_once(&mut self) -> Result<&mut FileWriter> {
        if self.out.is_none() {
            let mut out = FileWriter::create(&self.path)?;
            out.zeros(TRACES_AT + TRACE_BYTES * self.lines.len() as u64)?;
            self.out = Some(out);
        }
        self.out.as_mut().ok_or_else(|| Error::request("there is no file for traces"))
    }

    /// Fills in where everything is, and ends the file.
    pub(crate) fn finish(self) -> Result<()> {
        let Some(mut out) = self.out else { return Ok(()) };
        let count = u32::try_from(self.lines.len());
        let count = count.map_err(|_| Error::request("there are too many threads"))?;
        let (first, last) = self.moments.unwrap_or((0, 0));
        let size = 0x20 + TRACE_BYTES * u64::from(count);
        let mut head = self.form.header(FileKind::Trace, &[(size, 0x20)]);
        head.u64(TRACES_AT);
        head.u32(count);
        head.u8(u8::try_from(TRACE_BYTES).unwrap_or(24));
        head.bytes(&[0; 3]);
        // The described draft has zeros there.
        let is_described = self.form.is_described();
        head.u64(if is_described { 0 } else { first });
        head.u64(if is_described { 0 } else { last });
        let nowhere = TRACES_AT + TRACE_BYTES * u64::from(count);
        for ((start, end), profile) in self.lines.iter().zip(1_u32..) {
            head.u32(profile);
            head.u32(0);
            let is_there = *start != 0;
            head.u64(if is_there { *start } else { nowhere });
            head.u64(if is_there { *end } else { nowhere });
        }
        out.fill(0, head.as_slice())?;
        out.finish(FileKind::Trace)
    }
}
