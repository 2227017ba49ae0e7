//! `trace.db`: where each thread was when.

use std::path::PathBuf;

use kymo_core::model::profile::{ContextNumber, ThreadId};
use kymo_core::model::timeline::TimeNs;
use kymo_core::{Error, Result};

use super::file::{Form, Out};
use crate::spec::{FileKind, TRACE_BYTES};

/// Where the list of traces begins.
const TRACES_AT: u64 = 0x40;

/// `trace.db`, which is only made when there is a sample.
#[derive(Debug)]
pub(crate) struct TraceWriter {
    path: PathBuf,
    form: Form,
    out: Option<Out>,
    /// Where the samples of each thread are.
    lines: Vec<(u64, u64)>,
    moments: Option<(u64, u64)>,
}

impl TraceWriter {
    pub(crate) fn new(path: PathBuf, form: Form, threads: usize) -> Self {
        Self { path, form, out: None, lines: vec![(0, 0); threads], moments: None }
    }

    /// Writes the samples of a thread, and tells how many those are: idle is said once.
    pub(crate) fn samples(
        &mut self,
        thread: ThreadId,
        samples: &mut dyn Iterator<Item = Result<(TimeNs, Option<ContextNumber>)>>,
    ) -> Result<u64> {
        let count = self.lines.len() as u64;
        let line = usize::try_from(thread.0).ok().and_then(|index| self.lines.get_mut(index));
        let line =
            line.ok_or_else(|| Error::request(format!("there is no thread {}", thread.0)))?;
        let mut samples = samples.peekable();
        if samples.peek().is_none() {
            return Ok(0);
        }
        let out = match &mut self.out {
            Some(out) => out,
            none => {
                let mut out = Out::create(&self.path, self.form)?;
                out.zeros(TRACES_AT + TRACE_BYTES * count)?;
                none.insert(out)
            }
        };
        out.align(8)?;
        let start = out.at();
        let (mut last, mut written): (Option<(u64, u32)>, _) = (None, 0);
        for sample in samples {
            let (time, context) = sample?;
            let time = u64::try_from(time.0).map_err(|_| Error::request("a time before 1970"))?;
            let context = context.map_or(Ok(0), super::ctx_id)?;
            if last.is_some_and(|(last, _)| time < last) {
                return Err(Error::request(format!("thread {} goes back in time", thread.0)));
            }
            let (first, latest) = self.moments.unwrap_or((time, time));
            self.moments = Some((first.min(time), latest.max(time)));
            let is_idle_still = last.is_some_and(|(_, last)| last == 0 && context == 0);
            last = Some((time, context));
            if is_idle_still {
                continue;
            }
            out.u64(time)?;
            out.u32(context)?;
            written += 1;
        }
        *line = (start, out.at());
        Ok(written)
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
