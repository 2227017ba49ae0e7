//! Bytes to types. Everything is read as far as it goes; what stops a reader is kept as a fault.

mod arrays;
mod epochs;
mod primitive;
mod recover;
mod sparse;
mod trace;

use bytes::Bytes;
use kymo_core::bytes::{Cursor, Endian, Limits, ReadError, ReadResult};
use kymo_core::{Finding, Severity};

use crate::types::{Dialect, Epoch, Footer, Header, Id, IdKind};

pub use arrays::{NodeLayout, Nodes, Sparse, Values};
pub use trace::{Trace, TraceVersion};

/// A profile: what was measured of one thread.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Its header.
    pub header: Header,
    /// What was measured; 04.00b has exactly one.
    pub epochs: Vec<Epoch>,
    /// The names of the kinds of ids; only 04.00b has them.
    pub id_kinds: Vec<IdKind>,
    /// The ids that together name the thread; only 04.00b has them.
    pub id_tuple: Vec<Id>,
    /// Where the ids are.
    pub id_tuple_offset: u64,
    /// Where the sections are; only 04.00b has them.
    pub footer: Option<Footer>,
    faults: Vec<Fault>,
    findings: Vec<Finding>,
}

/// Something that keeps a file from being read as its writer meant it.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) rule: &'static str,
    pub(crate) error: ReadError,
}

impl Profile {
    /// Reads a profile, and refuses one whose structure is broken.
    ///
    /// Nodes and values stay where they are until they are asked for.
    pub fn open(bytes: &Bytes, limits: &Limits) -> ReadResult<Self> {
        let profile = Self::salvage(bytes, limits)?;
        match profile.faults.first() {
            Some(fault) => Err(fault.error.clone()),
            None => Ok(profile),
        }
    }

    /// Reads what can be read of a profile. Only one whose magic is not known is refused.
    pub fn salvage(bytes: &Bytes, limits: &Limits) -> ReadResult<Self> {
        let (dialect, endian) = Header::read_magic(bytes)?;
        let mut reading = Reading::new(bytes, endian, limits, dialect);
        match dialect {
            Dialect::Shipped0400 => reading.sparse(),
            _ => reading.epochs(),
        }
        Ok(reading.profile)
    }

    /// What keeps it from being read as it was meant, and what is odd about it.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let faults = self.faults.iter().map(|fault| Finding::unreadable(fault.rule, &fault.error));
        faults.chain(self.findings.iter().cloned()).collect()
    }
}

/// A profile being read.
struct Reading<'a> {
    bytes: &'a Bytes,
    limits: Limits,
    endian: Endian,
    profile: Profile,
}

impl<'a> Reading<'a> {
    fn new(bytes: &'a Bytes, endian: Endian, limits: &Limits, dialect: Dialect) -> Self {
        let profile = Profile {
            header: Header { dialect, endian, nv: Vec::new() },
            epochs: Vec::new(),
            id_kinds: Vec::new(),
            id_tuple: Vec::new(),
            id_tuple_offset: 0,
            footer: None,
            faults: Vec::new(),
            findings: Vec::new(),
        };
        Self { bytes, limits: *limits, endian, profile }
    }

    /// A cursor at a place of the file, and at its end when the place is beyond that.
    fn cursor(&self, offset: u64) -> Cursor<'a> {
        self.within(offset, self.bytes.len() as u64)
    }

    /// A cursor through a part of the file, as far as that is there.
    fn within(&self, start: u64, end: u64) -> Cursor<'a> {
        let length = self.bytes.len();
        let place = |offset: u64| usize::try_from(offset).map_or(length, |at| at.min(length));
        let (start, end) = (place(start), place(end));
        let part = self.bytes.get(start..end.max(start)).unwrap_or_default();
        Cursor::at(part, start as u64, self.endian)
    }

    /// The next bytes of a cursor of ours, to be kept without copying.
    fn take(&self, cursor: &mut Cursor<'a>, what: &'static str, length: u64) -> ReadResult<Bytes> {
        Ok(self.bytes.slice_ref(cursor.bytes(what, length)?))
    }

    fn fault(&mut self, rule: &'static str, error: ReadError) {
        self.profile.faults.push(Fault { rule, error });
    }

    fn warn(&mut self, rule: &'static str, offset: u64, message: impl Into<String>) {
        let finding = Finding::at(Severity::Warning, rule, offset, message);
        self.profile.findings.push(finding);
    }

    /// Reads the pairs after the magic, and says whether the list is whole.
    fn header(&mut self, cursor: &mut Cursor<'a>) -> bool {
        let (nv, stop) = primitive::nv_pairs(cursor, &self.limits);
        self.profile.header.nv = nv;
        let is_whole = stop.is_none();
        if let Some(error) = stop {
            self.fault("header", error);
        }
        is_whole
    }
}
