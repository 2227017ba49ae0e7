//! Traces: a header, then records of one size.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use kymo_core::bytes::{Cursor, Endian, Limits, ReadError, ReadErrorKind, ReadResult};
use kymo_core::{Finding, Severity};

use super::Fault;
use super::arrays::{InPlace, Run};
use super::times::{Times, Unit};
use crate::spec::{self, MAGIC_TRACE, TRACE_DATA_CENTRIC, TRACE_NO_METRIC};
use crate::types::TraceRecord;

/// The versions of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceVersion {
    /// 01.00: no flags.
    V0100,
    /// 01.01: flags before the records.
    V0101,
}

impl TraceVersion {
    /// The text in the magic.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::V0100 => "01.00",
            Self::V0101 => "01.01",
        }
    }
}

/// A trace: where a thread was, and when.
#[derive(Debug, Clone)]
pub struct Trace {
    /// Its version.
    pub version: TraceVersion,
    /// The byte order of all numbers.
    pub endian: Endian,
    /// Bit 0: each record has a metric too. 01.00 has none.
    pub flags: u64,
    pub(super) unit: Unit,
    /// Shared by what is made of it: all records are looked at for it.
    pub(super) times: Arc<OnceLock<Times>>,
    pub(super) records: Run,
    /// The times of the first and the last record, as they are.
    pub(super) ends: Option<[u64; 2]>,
    faults: Vec<Fault>,
    findings: Vec<Finding>,
}

impl Trace {
    /// Reads the header; records stay where they are until they are asked for.
    ///
    /// A trace that ends within a record is opened all the same, and says so in its findings.
    pub fn open(bytes: &Bytes, limits: &Limits) -> ReadResult<Self> {
        let trace = Self::salvage(bytes, limits)?;
        match trace.faults.first() {
            Some(fault) => Err(fault.error.clone()),
            None => Ok(trace),
        }
    }

    /// Reads what can be read of a trace. Only one whose magic is not known is refused.
    pub fn salvage(bytes: &Bytes, limits: &Limits) -> ReadResult<Self> {
        let (version, endian) = read_magic(bytes)?;
        let records = Run::empty(endian);
        let (faults, findings) = (Vec::new(), Vec::new());
        let (flags, unit, times, ends) = (0, Unit::NANOSECONDS, Arc::default(), None);
        let mut trace =
            Self { version, endian, flags, unit, times, records, ends, faults, findings };
        if let Err(error) = trace.fill(bytes, limits) {
            trace.faults.push(Fault { rule: "trace", error });
        }
        Ok(trace)
    }

    fn fill(&mut self, bytes: &Bytes, limits: &Limits) -> ReadResult<()> {
        let mut cursor = Cursor::new(bytes, self.endian);
        cursor.skip("magic", MAGIC_BYTES)?;
        if self.version == TraceVersion::V0101 {
            self.flags = cursor.u64("trace flags")?;
        }
        let size = self.record_bytes();
        let (offset, left) = (cursor.offset(), cursor.remaining() % size as u64);
        let (found, limit) = (cursor.remaining() / size as u64, limits.items_max);
        let kept = found.min(limit) * size as u64;
        let records = bytes.slice_ref(cursor.bytes("trace records", kept)?);
        self.records = Run::new(records, offset, size, self.endian);
        self.unit = self.unit_of_times();
        let time = |place| self.get(place).map(|record: TraceRecord| record.time);
        let ends = self.len().checked_sub(1).and_then(|last| Some([time(0)?, time(last)?]));
        self.ends = ends;
        if found > limit {
            return Err(ReadErrorKind::OverLimit { found, limit }.error_at("trace records", offset));
        }
        if left > 0 {
            let why = format!("the last record has {left} of {size} bytes, and is left out");
            let finding = Finding::at_offset(Severity::Error, "trace-cut", cursor.offset(), why);
            self.findings.push(finding);
        }
        Ok(())
    }

    /// Returns the findings about what keeps it from being read as it was meant, and what is odd
    /// about it.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let faults = self.faults.iter().map(|fault| Finding::unreadable(fault.rule, &fault.error));
        faults.chain(self.findings.iter().cloned()).collect()
    }

    /// The times of the first and the last record, as they are in the file.
    pub(crate) fn ends(&self) -> Option<[u64; 2]> {
        self.ends
    }

    /// The bytes of a record.
    #[must_use]
    pub fn record_bytes(&self) -> usize {
        if self.is_data_centric() { 16 } else { 12 }
    }

    /// Returns true if records have a metric.
    #[must_use]
    pub fn is_data_centric(&self) -> bool {
        self.flags & TRACE_DATA_CENTRIC != 0
    }

    /// Returns the number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns true if there are none, which is usual for threads that were not sampled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the offset of a record in the file.
    #[must_use]
    pub fn offset_of(&self, index: usize) -> u64 {
        self.records.offset_of(index)
    }

    /// A record by its place.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<TraceRecord> {
        self.records.item(index).map(|item| record(item, self.endian))
    }

    /// Reads what would be a record at a byte of the file.
    pub(crate) fn record_at(&self, file: &[u8], at: usize) -> Option<TraceRecord> {
        let item = file.get(at..at.checked_add(self.record_bytes())?)?;
        Some(record(item, self.endian))
    }

    /// A record, and its bytes but for the time.
    #[inline]
    pub(crate) fn with_bytes(&self, index: usize) -> Option<(TraceRecord, &[u8])> {
        let item = self.records.item(index)?;
        Some((record(item, self.endian), item.get(spec::TIME_BYTES..)?))
    }

    /// Some records in order, as many as there are.
    pub fn iter(&self, range: Range<usize>) -> impl Iterator<Item = TraceRecord> + '_ {
        self.records.items(range).map(|item| record(item, self.endian))
    }

    /// Returns true if times are nanoseconds; those of old traces are microseconds.
    ///
    /// The version does not tell; how large most times are does.
    #[must_use]
    pub fn is_in_nanoseconds(&self) -> bool {
        self.unit.factor() == 1
    }

    /// Returns true if times count from the Epoch; otherwise they have a zero of their own.
    #[must_use]
    pub fn is_since_epoch(&self) -> bool {
        self.unit.is_since_epoch()
    }

    /// A duration in the unit of the times.
    pub(crate) fn units_of(&self, duration_ns: u64) -> u64 {
        duration_ns / self.unit.factor()
    }

    /// A time of this trace in nanoseconds; nothing where it is not of the unit of the others.
    #[must_use]
    pub fn nanoseconds(&self, time: u64) -> Option<i64> {
        self.unit.nanoseconds(time)
    }
}

impl InPlace for Trace {
    fn each_run(&mut self, take: &mut dyn FnMut(&mut Run)) {
        take(&mut self.records);
    }
}

/// The bytes of the magic, with version and byte order.
const MAGIC_BYTES: u64 = MAGIC_TRACE.len() as u64 + spec::VERSION_BYTES + 1;

fn read_magic(bytes: &[u8]) -> ReadResult<(TraceVersion, Endian)> {
    let mut cursor = Cursor::new(bytes, Endian::Big);
    if cursor.bytes("magic", MAGIC_TRACE.len() as u64)? != MAGIC_TRACE {
        return Err(ReadError::invalid("magic", 0, "this is not how a trace of hpcrun begins"));
    }
    let at = cursor.offset();
    let version = match cursor.bytes("version", spec::VERSION_BYTES)? {
        b"01.00" => TraceVersion::V0100,
        b"01.01" => TraceVersion::V0101,
        other => {
            let why = format!("{} is not known; 01.00 and 01.01 are", other.escape_ascii());
            return Err(ReadError::invalid("version", at, why));
        }
    };
    let at = cursor.offset();
    let endian = spec::endian_of(cursor.u8("byte order")?);
    let why = "it is neither l nor b";
    Ok((version, endian.ok_or_else(|| ReadError::invalid("byte order", at, why))?))
}

/// Takes the bytes apart by hand: there can be a hundred million of them.
#[inline]
fn record(item: &[u8], endian: Endian) -> TraceRecord {
    let Some((head, rest)) = item.split_first_chunk::<12>() else {
        return TraceRecord { time: 0, node: 0, metric: None };
    };
    let [t0, t1, t2, t3, t4, t5, t6, t7, n0, n1, n2, n3] = *head;
    let (time, node) = ([t0, t1, t2, t3, t4, t5, t6, t7], [n0, n1, n2, n3]);
    let number = |bytes| match endian {
        Endian::Big => u32::from_be_bytes(bytes),
        Endian::Little => u32::from_le_bytes(bytes),
    };
    let time = match endian {
        Endian::Big => u64::from_be_bytes(time),
        Endian::Little => u64::from_le_bytes(time),
    };
    let metric = rest.first_chunk::<4>().map(|metric| number(*metric));
    let metric = metric.filter(|metric| *metric != TRACE_NO_METRIC);
    TraceRecord { time, node: number(node), metric }
}
