//! Records as `kymo dump` shows them, in the order of the files.

use std::collections::BTreeMap;
use std::ops::Range;

use kymo_core::Result;
use kymo_model::{DumpRequest, Field, Flow, Record, RecordSink};

use crate::layout::{COUNTS, FOOTERS, INDEX_ENTRIES, SECTIONS, counts};
use crate::listing::{
    EPOCHS, HEADERS, ID_KINDS, IDS, LOAD_MODULES, Listing, METRICS, NODES, NV_PAIRS, TRACE_RECORDS,
    VALUES, header_pairs, is_dense,
};
use crate::measurement::{Measurement, PROFILE, Part};
use crate::{hpcproftt, types::Dialect};

/// Records that are read at once.
const CHUNK: usize = 1024;

/// Gives every record of every recording; without values and trace records for headers only.
pub(crate) fn dump(
    measurement: &Measurement,
    request: &DumpRequest,
    sink: &mut dyn RecordSink,
) -> Result<()> {
    if request.style.as_deref() == Some(hpcproftt::STYLE) {
        return listings(measurement, sink);
    }
    let several = measurement.has_several();
    let (counts, headers_only) = (BTreeMap::new(), request.headers_only);
    let mut dump = Dump { sink, counts, several, headers_only, flow: Flow::More };
    let mut holding = measurement.holding();
    for (index, part) in measurement.recordings.iter().enumerate() {
        dump.recording(index, &holding.part(part)?)?;
    }
    Ok(())
}

/// Prints every profile as HPCToolkit does, and of a trace by itself its nodes.
fn listings(measurement: &Measurement, sink: &mut dyn RecordSink) -> Result<()> {
    let mut holding = measurement.holding();
    for part in &measurement.recordings {
        let flow = if part.first_of_profile().is_some() {
            let Some(profile) = holding.profile(part)? else { continue };
            hpcproftt::dump(&profile, &format!("{}.{PROFILE}", part.name), sink)?
        } else if let (None, Some(trace)) = (&part.profile, holding.traced(part)?.trace) {
            hpcproftt::dump_trace(&trace, sink)?
        } else {
            Flow::More
        };
        if flow == Flow::Stop {
            return Ok(());
        }
    }
    Ok(())
}

struct Dump<'s> {
    sink: &'s mut dyn RecordSink,
    /// Number of records of each kind.
    counts: BTreeMap<&'static str, u64>,
    several: bool,
    headers_only: bool,
    flow: Flow,
}

impl Dump<'_> {
    fn recording(&mut self, index: usize, part: &Part) -> Result<()> {
        let has_profile = usize::from(part.first_of_profile().is_some());
        let of_header = header_pairs(part).len();
        self.some(&HEADERS, index, part, 0..has_profile)?;
        self.counts(index, part, &["nv_pairs"])?;
        self.some(&NV_PAIRS, index, part, 0..of_header)?;
        self.counts(index, part, &["epochs"])?;
        let dialect = part.profile.as_ref().map(|profile| profile.header.dialect);
        if dialect == Some(Dialect::Shipped0400) {
            self.sections(index, part)?;
        } else {
            self.epoch(index, part, of_header)?;
        }
        self.some(&HEADERS, index, part, has_profile..usize::MAX)?;
        if self.headers_only { Ok(()) } else { self.all(&TRACE_RECORDS, index, part) }
    }

    fn sections(&mut self, index: usize, part: &Part) -> Result<()> {
        self.counts(index, part, &["load_modules"])?;
        self.all(&LOAD_MODULES, index, part)?;
        self.counts(index, part, &["nodes"])?;
        self.all(&NODES, index, part)?;
        self.counts(index, part, &["metrics"])?;
        self.all(&METRICS, index, part)?;
        self.counts(index, part, &["id_kinds"])?;
        self.all(&ID_KINDS, index, part)?;
        self.counts(index, part, &["ids"])?;
        self.all(&IDS, index, part)?;
        self.counts(index, part, &["values", "nodes with values"])?;
        if !self.headers_only {
            self.all(&VALUES, index, part)?;
            self.all(&INDEX_ENTRIES, index, part)?;
        }
        self.all(&SECTIONS, index, part)?;
        self.all(&FOOTERS, index, part)
    }

    /// Gives how many there are of some kinds of items, as the file says it.
    fn counts(&mut self, recording: usize, part: &Part, names: &[&str]) -> Result<()> {
        let places = counts(part).iter().enumerate().filter(|(_, count)| names.contains(&count.of));
        let places: Vec<_> = places.map(|(place, _)| place).collect();
        places.into_iter().try_for_each(|at| self.some(&COUNTS, recording, part, at..at + 1))
    }

    fn epoch(&mut self, index: usize, part: &Part, of_header: usize) -> Result<()> {
        self.all(&EPOCHS, index, part)?;
        self.some(&NV_PAIRS, index, part, of_header..usize::MAX)?;
        self.all(&METRICS, index, part)?;
        self.all(&LOAD_MODULES, index, part)?;
        let metrics = (METRICS.count)(part);
        if !is_dense(part) || metrics == 0 || self.headers_only {
            return self.all(&NODES, index, part);
        }
        for node in 0..(NODES.count)(part) {
            self.some(&NODES, index, part, node..node + 1)?;
            self.some(&VALUES, index, part, node * metrics..(node + 1) * metrics)?;
        }
        Ok(())
    }

    fn all<R>(&mut self, listing: &Listing<R>, recording: usize, part: &Part) -> Result<()> {
        self.some(listing, recording, part, 0..usize::MAX)
    }

    /// Gives some records of a kind, as many as there are.
    fn some<R>(
        &mut self,
        listing: &Listing<R>,
        recording: usize,
        part: &Part,
        range: Range<usize>,
    ) -> Result<()> {
        let end = range.end.min((listing.count)(part));
        let mut next = range.start;
        while next < end && self.flow == Flow::More {
            let chunk = (listing.read)(part, next..end.min(next + CHUNK));
            if chunk.is_empty() {
                break;
            }
            next += chunk.len();
            for (offset, record) in &chunk {
                self.record(listing, recording, *offset, record)?;
            }
        }
        Ok(())
    }

    fn record<R>(
        &mut self,
        listing: &Listing<R>,
        recording: usize,
        offset: u64,
        record: &R,
    ) -> Result<()> {
        if self.flow == Flow::Stop {
            return Ok(());
        }
        let count = self.counts.entry(listing.kind).or_default();
        let index = *count;
        *count += 1;
        let mut fields: Vec<(&'static str, Field<'_>)> = Vec::new();
        if self.several {
            fields.push(("recording", recording.into()));
        }
        let cells = listing.columns.iter().map(|(name, cells)| (*name, cells.value(record).into()));
        fields.extend(cells);
        self.flow = self.sink.record(&Record { kind: listing.kind, index, offset, fields })?;
        Ok(())
    }
}
