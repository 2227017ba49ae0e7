//! Bytes to types. Everything is read as far as it goes; what stops a reader is kept as a fault.

mod arrays;
mod epochs;
mod primitive;
mod recover;
mod search;
mod sparse;
mod times;
mod trace;

use bytes::Bytes;
use kymo_core::bytes::{Cursor, Endian, Limits, ReadError, ReadErrorKind, ReadResult};
use kymo_core::{Finding, Severity};

use arrays::Run;

use crate::types::{Count, Dialect, Epoch, Footer, Header, Id, IdKind};

pub(crate) use arrays::InPlace;
pub use arrays::{NodeLayout, Nodes, Sparse, Values};
pub(crate) use times::{SomeRecords, TimeAnomaly};
pub use trace::{Trace, TraceVersion};

/// A profile: what was measured of one thread.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Its header.
    pub header: Header,
    /// Epochs that were measured; 04.00b has exactly one.
    pub epochs: Vec<Epoch>,
    /// The names of the kinds of ids; only 04.00b has them.
    pub id_kinds: Vec<IdKind>,
    /// The ids that together name the thread; only 04.00b has them.
    pub id_tuple: Vec<Id>,
    /// Offset of the ids.
    pub id_tuple_offset: u64,
    /// Offsets of the sections; only 04.00b has them.
    pub footer: Option<Footer>,
    /// Numbers of items that the parts of the file give for themselves, in the order of the file:
    /// all of 04.00b, and of the others that of the header's pairs.
    pub counts: Vec<Count>,
    faults: Vec<Fault>,
    findings: Vec<Finding>,
    losses: Vec<Finding>,
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
        let mut reading = ProfileReader::new(bytes, endian, limits, dialect);
        match dialect {
            Dialect::Shipped0400 => reading.sparse(),
            _ => reading.epochs(),
        }
        Ok(reading.profile)
    }

    /// Returns the findings about what keeps it from being read as it was meant, and what is odd
    /// about it.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let faults = self.faults.iter().map(|fault| Finding::unreadable(fault.rule, &fault.error));
        faults.chain(self.findings.iter().cloned()).collect()
    }

    /// Returns the findings about what could not be read of it, one line for each part: writing it
    /// again leaves that out.
    #[must_use]
    pub fn losses(&self) -> &[Finding] {
        &self.losses
    }

    /// Returns true if values were measured that are not among those that could be read.
    pub(crate) fn has_lost_values(&self) -> bool {
        let with_values = ["sparse", "index-order", "metric-table", "epoch"];
        self.losses.iter().any(|loss| with_values.contains(&loss.rule))
    }
}

impl InPlace for Profile {
    fn each_run(&mut self, take: &mut dyn FnMut(&mut Run)) {
        self.epochs.iter_mut().for_each(|epoch| epoch.each_run(take));
    }
}

/// A profile being read.
struct ProfileReader<'a> {
    bytes: &'a Bytes,
    limits: Limits,
    endian: Endian,
    profile: Profile,
}

impl<'a> ProfileReader<'a> {
    fn new(bytes: &'a Bytes, endian: Endian, limits: &Limits, dialect: Dialect) -> Self {
        let profile = Profile {
            header: Header { dialect, endian, nv: Vec::new() },
            epochs: Vec::new(),
            id_kinds: Vec::new(),
            id_tuple: Vec::new(),
            id_tuple_offset: 0,
            footer: None,
            counts: Vec::new(),
            faults: Vec::new(),
            findings: Vec::new(),
            losses: Vec::new(),
        };
        Self { bytes, limits: *limits, endian, profile }
    }

    /// A cursor at a place of the file, and at its end when the place is beyond that.
    fn cursor(&self, offset: u64) -> Cursor<'a> {
        self.cursor_in(offset, self.bytes.len() as u64)
    }

    /// A cursor through a part of the file, as far as that is there.
    fn cursor_in(&self, start: u64, end: u64) -> Cursor<'a> {
        let length = self.bytes.len();
        let place = |offset: u64| usize::try_from(offset).map_or(length, |at| at.min(length));
        let (start, end) = (place(start), place(end));
        let part = self.bytes.get(start..end.max(start)).unwrap_or_default();
        Cursor::with_offset(part, start as u64, self.endian)
    }

    /// The next bytes of a cursor of ours, to be kept without copying.
    fn take(&self, cursor: &mut Cursor<'a>, what: &'static str, length: u64) -> ReadResult<Bytes> {
        Ok(self.bytes.slice_ref(cursor.bytes(what, length)?))
    }

    fn fault(&mut self, rule: &'static str, error: ReadError) {
        self.profile.faults.push(Fault { rule, error });
    }

    /// Says what of a part could not be read, and how much there should be, where that is told.
    fn lose(&mut self, part: PartOfProfile, offset: u64, read: u64, told: Option<u64>) {
        let PartOfProfile { rule, items } = part;
        let why = match told {
            Some(told) if read < told => format!("{read} of {told} {items} are kept"),
            Some(_) => format!("all {read} {items} are kept, and what follows them is lost"),
            None => format!("{items} are lost: where they should be is unknown"),
        };
        self.profile.losses.push(Finding::at_offset(Severity::Error, rule, offset, why));
    }

    fn warn(&mut self, rule: &'static str, offset: u64, message: impl Into<String>) {
        let finding = Finding::at_offset(Severity::Warning, rule, offset, message);
        self.profile.findings.push(finding);
    }

    /// Notes how many items a part says that it has. What is read again is known already.
    fn note_count(&mut self, offset: u64, name: &'static str, count: Option<u64>) {
        let counts = &mut self.profile.counts;
        if let Some(count) = count
            && let Err(at) = counts.binary_search_by_key(&offset, |known| known.offset)
        {
            counts.insert(at, Count { offset, of: name, count });
        }
    }

    /// Reads the pairs after the magic, and says whether the list is whole.
    fn header(&mut self, cursor: &mut Cursor<'a>) -> bool {
        let (at, told) = (cursor.offset(), stored_count(cursor));
        self.note_count(at, "nv_pairs", told);
        let (nv, stop) = primitive::nv_pairs(cursor, &self.limits);
        let read = nv.len();
        self.profile.header.nv = nv;
        self.is_whole(PartOfProfile::HEADER, stop, (at, read, told))
    }

    /// Notes why a list ends where it does, and how much of it there is; whether it is whole.
    fn is_whole(
        &mut self,
        part: PartOfProfile,
        stop: Option<ReadError>,
        (at, read, told): (u64, usize, Option<u64>),
    ) -> bool {
        let Some(error) = stop else { return true };
        self.fault(part.rule, error);
        self.lose(part, at, read as u64, told);
        false
    }
}

/// The number of items that a list of the shipped layouts tells, without going on.
fn stored_count(cursor: &Cursor<'_>) -> Option<u64> {
    cursor.clone().u32("number of items").ok().map(u64::from)
}

/// A part of a profile, as losses call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PartOfProfile {
    rule: &'static str,
    items: &'static str,
}

impl PartOfProfile {
    const HEADER: Self = Self { rule: "header", items: "nv-pairs" };
    const LOAD_MODULES: Self = Self { rule: "loadmap", items: "load modules" };
    const NODES: Self = Self { rule: "cct", items: "nodes" };
    const METRICS: Self = Self { rule: "metric-table", items: "metrics" };
    const ID_KINDS: Self = Self { rule: "id-tuple-dictionary", items: "id kinds" };
    const VALUES: Self = Self { rule: "sparse", items: "values" };

    /// The sections of 04.00b, in the order of the footer.
    const SECTIONS: [Self; 6] = [
        Self::HEADER,
        Self::LOAD_MODULES,
        Self::NODES,
        Self::METRICS,
        Self::ID_KINDS,
        Self::VALUES,
    ];
}

/// Refuses a number of items: over the limits, or more than the bytes that are left hold.
fn too_many(
    what: &'static str,
    at: u64,
    count: u64,
    item_bytes: u64,
    left: u64,
    items_max: u64,
) -> ReadError {
    let needed = count.saturating_mul(item_bytes);
    let kind = if needed > left {
        ReadErrorKind::Short { needed, left }
    } else {
        ReadErrorKind::OverLimit { found: count, limit: items_max }
    };
    kind.error_at(what, at)
}
