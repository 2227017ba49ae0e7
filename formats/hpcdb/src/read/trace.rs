//! `trace.db`: where each thread was when, read where it lies.

use std::collections::BTreeMap;
use std::ops::Range;

use kymo_core::bytes::{Limits, ReadError, ReadResult};
use kymo_core::{Result, Source};

use super::part::Part;
use super::profile::first;
use crate::spec::{ELEMENT_BYTES, FileKind, TRACE_BYTES};
use crate::types::{Element, Strided, Trace};

/// Fault of a sample that is before an earlier one.
pub(crate) const GOES_BACK: &str = "goes back in time";

/// `trace.db`.
#[derive(Debug)]
pub(crate) struct TraceDb {
    pub(crate) part: Part,
    pub(crate) traces: Strided,
    /// The first and the last moment as the file has them; the described draft has none.
    pub(crate) moments: Option<(u64, u64)>,
}

impl TraceDb {
    pub(crate) fn open(source: &Source, limits: &Limits) -> Result<Self> {
        let part = Part::open(source, FileKind::Trace, limits)?;
        let (traces, moments) = part.with_file(Self::table(&part))?;
        Ok(Self { part, traces, moments })
    }

    fn table(part: &Part) -> ReadResult<(Strided, Option<(u64, u64)>)> {
        let at = part.section(0)?.pointer;
        let mut cursor = part.cursor("traces", at)?;
        let pointer = cursor.u64("traces")?;
        let count = cursor.u32("number of traces")?.into();
        let stride = cursor.u8("size of traces")?.into();
        let traces = part.strided("traces", at, Strided { pointer, count, stride }, TRACE_BYTES)?;
        if part.is_described() {
            return Ok((traces, None));
        }
        cursor.skip("gap", 3)?;
        Ok((traces, Some((cursor.u64("minTimestamp")?, cursor.u64("maxTimestamp")?))))
    }

    /// A trace by its place in the list.
    pub(crate) fn trace(&self, index: u64) -> ReadResult<Option<Trace>> {
        let Some((trace, bytes)) = self.record(index)? else { return Ok(None) };
        self.part.check_range("trace", trace.offset, trace.start, bytes)?;
        Ok(Some(trace))
    }

    /// As much of a trace as the file has, and how many elements it lacks.
    pub(crate) fn cut_trace(&self, index: u64) -> Option<(Trace, u64)> {
        let (trace, _) = self.record(index).ok()??;
        let count = trace.count.min(self.part.len().saturating_sub(trace.start) / ELEMENT_BYTES);
        Some((Trace { count, ..trace }, trace.count - count))
    }

    /// Returns the record of a trace in the list, and its number of bytes.
    fn record(&self, index: u64) -> ReadResult<Option<(Trace, u64)>> {
        let Some(offset) = self.traces.offset_of(index) else { return Ok(None) };
        let mut cursor = self.part.cursor("trace", offset)?;
        let prof_index = cursor.u32("profIndex")?;
        cursor.skip("gap", 4)?;
        let start = cursor.u64("start of trace")?;
        let end = cursor.u64("end of trace")?;
        let Some(bytes) = end.checked_sub(start) else {
            return Err(ReadError::invalid("end of trace", offset, "lies before its start"));
        };
        let (count, rest) = (bytes / ELEMENT_BYTES, bytes % ELEMENT_BYTES);
        Ok(Some((Trace { offset, prof_index, start, count, rest }, bytes)))
    }

    /// Returns the offset of an element.
    pub(crate) fn element_offset(trace: &Trace, index: u64) -> u64 {
        trace.start.saturating_add(index.saturating_mul(ELEMENT_BYTES))
    }

    /// An element of a trace.
    pub(crate) fn element(&self, trace: &Trace, index: u64) -> ReadResult<Element> {
        self.element_at(Self::element_offset(trace, index))
    }

    /// The element that would begin at a byte.
    pub(crate) fn element_at(&self, offset: u64) -> ReadResult<Element> {
        let mut cursor = self.part.cursor("trace element", offset)?;
        Ok(Element { timestamp: cursor.u64("timestamp")?, ctx_id: cursor.u32("ctxId")? })
    }

    /// The first element that is not before a moment. It fails at one that is before an earlier one,
    /// where it comes by such.
    pub(crate) fn first_not_before(&self, trace: &Trace, timestamp: u64) -> ReadResult<u64> {
        let mut seen = BTreeMap::new();
        let mut look = |index| {
            let time = self.element(trace, index)?.timestamp;
            seen.insert(index, time);
            Ok(time >= timestamp)
        };
        let found = first(trace.count, &mut look)?;
        for edge in [0, trace.count.saturating_sub(1)].into_iter().take_while(|_| trace.count > 0) {
            look(edge)?;
        }
        let (mut last, mut before) = (0, 0);
        for (index, time) in seen {
            if time < before {
                return Err(self.backward_time_error(trace, last..index)?);
            }
            (last, before) = (index, time);
        }
        Ok(found)
    }

    /// The first element that goes back, of some whose last one is before the first.
    fn backward_time_error(&self, trace: &Trace, elements: Range<u64>) -> ReadResult<ReadError> {
        let mut before = self.element(trace, elements.start)?.timestamp;
        for index in elements.start + 1..elements.end {
            let time = self.element(trace, index)?.timestamp;
            if time < before {
                let at = Self::element_offset(trace, index);
                return Ok(ReadError::invalid("timestamp", at, GOES_BACK));
            }
            before = time;
        }
        let at = Self::element_offset(trace, elements.end);
        Ok(ReadError::invalid("timestamp", at, GOES_BACK))
    }
}
