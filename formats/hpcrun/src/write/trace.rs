//! Traces: a header, then records of one size.

use std::io::{self, Write};

use kymo_core::bytes::{Endian, Sink};

use super::flush;
use crate::read::{Trace, TraceVersion};
use crate::spec::{self, TRACE_DATA_CENTRIC, TRACE_NO_METRIC};
use crate::types::TraceRecord;

/// Writes a trace record by record, holding few of them. Finish it, or the file ends short.
#[derive(Debug)]
#[must_use = "without finish the last records are missing"]
pub struct TraceWriter<W> {
    out: W,
    sink: Sink,
    flags: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace as hpcrun writes it today: 01.01, big-endian, times in nanoseconds.
    pub fn new(out: W) -> Self {
        Self::with(out, TraceVersion::V0101, Endian::Big, 0)
    }

    /// Begins a trace of any version.
    pub fn with(out: W, version: TraceVersion, endian: Endian, flags: u64) -> Self {
        let mut sink = Sink::new(endian);
        sink.bytes(spec::MAGIC_TRACE);
        sink.bytes(version.text().as_bytes());
        sink.u8(spec::endian_letter(endian));
        if version == TraceVersion::V0101 {
            sink.u64(flags);
        }
        Self { out, sink, flags }
    }

    /// Adds a record.
    pub fn record(&mut self, record: &TraceRecord) -> io::Result<()> {
        self.sink.u64(record.time);
        self.sink.u32(record.node);
        if self.flags & TRACE_DATA_CENTRIC != 0 {
            self.sink.u32(record.metric.unwrap_or(TRACE_NO_METRIC));
        }
        flush(&mut self.sink, &mut self.out)
    }

    /// Writes what is left, and hands back the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(self.sink.as_slice())?;
        self.out.flush()?;
        Ok(self.out)
    }
}

impl Trace {
    /// Writes every record again.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut writer = TraceWriter::with(out, self.version, self.endian, self.flags);
        for record in self.iter(0..self.len()) {
            writer.record(&record)?;
        }
        writer.finish().map(drop)
    }
}
