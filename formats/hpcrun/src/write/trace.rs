//! Traces: a header, then records of one size.

use std::io::{self, Write};

use kymo_core::bytes::{Endian, Sink};

use super::{flush, too_large};
use crate::read::{Trace, TraceVersion};
use crate::spec::{self, NANOSECONDS_FROM, TRACE_DATA_CENTRIC, TRACE_NO_METRIC};
use crate::types::TraceRecord;

/// Writes a trace record by record, holding few of them. Finish it, or the file ends short.
#[derive(Debug)]
#[must_use = "without finish the last records are missing"]
pub struct TraceWriter<W> {
    out: W,
    sink: Sink,
    flags: u64,
    /// Smaller times are refused.
    times_from: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace as hpcrun writes it today: 01.01, big-endian, times in nanoseconds since the
    /// Epoch.
    pub fn new(out: W) -> Self {
        Self {
            times_from: NANOSECONDS_FROM,
            ..Self::begin(out, TraceVersion::V0101, Endian::Big, 0)
        }
    }

    /// Begins a trace of any version, with times in whichever unit.
    ///
    /// # Errors
    /// When there are flags, and the version has no place for them.
    pub fn with_version(
        out: W,
        version: TraceVersion,
        endian: Endian,
        flags: u64,
    ) -> io::Result<Self> {
        if version == TraceVersion::V0100 && flags != 0 {
            return Err(too_large("traces of 01.00 have no flags"));
        }
        Ok(Self::begin(out, version, endian, flags))
    }

    fn begin(out: W, version: TraceVersion, endian: Endian, flags: u64) -> Self {
        let mut sink = Sink::new(endian);
        sink.bytes(spec::MAGIC_TRACE);
        sink.bytes(version.text().as_bytes());
        sink.u8(spec::endian_letter(endian));
        if version == TraceVersion::V0101 {
            sink.u64(flags);
        }
        Self { out, sink, flags, times_from: 0 }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// When its time would not be read as nanoseconds, when it has a metric that the trace has no
    /// place for, or when the output fails.
    pub fn record(&mut self, record: &TraceRecord) -> io::Result<()> {
        if record.time < self.times_from {
            let why = "times below 10^17 are not taken for nanoseconds since the Epoch";
            return Err(too_large(why));
        }
        let is_data_centric = self.flags & TRACE_DATA_CENTRIC != 0;
        if record.metric.is_some() && !is_data_centric {
            return Err(too_large("records have a metric in data-centric traces only"));
        }
        self.sink.u64(record.time);
        self.sink.u32(record.node);
        if is_data_centric {
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
        let mut writer = TraceWriter::with_version(out, self.version, self.endian, self.flags)?;
        for record in self.iter(0..self.len()) {
            writer.record(&record)?;
        }
        writer.finish().map(drop)
    }
}
