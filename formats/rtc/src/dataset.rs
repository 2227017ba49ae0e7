//! The format's side of core's contract.

use std::ops::Range;
use std::sync::Arc;

use kymo_core::bytes::Limits;
use kymo_core::model::timeline::TimelineView;
use kymo_core::{
    Ability, Confidence, Context, Dataset, Demo, Destination, DumpRequest, Finding, Follow, Format,
    FormatInfo, Part, Probe, RecordSink, Recording, Repaired, Result, Section, Source, Summary,
    Table, Written,
};
use kymo_rtc_wire::read::{View, find_marker};

use crate::follow::Follower;
use crate::model::Timeline;
use crate::types::{Stream, UnitChecksum};
use crate::{Reader, check, demo, dump, extract, from_timeline, repair, tables};

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct Rtc;

static INFO: FormatInfo = FormatInfo {
    name: "rtc",
    title: "RTC (Ruler Trace Container)",
    about: "streams, clocks and annotations in a file that stays readable when an end is missing",
    extensions: &["rtc"],
    dialects: &["both checksums, and none", "quoted and unquoted Meta", "little- and big-endian"],
    abilities: &[
        Ability::Write,
        Ability::Repair,
        Ability::Extract,
        Ability::TakeTimelines,
        Ability::Follow,
    ],
    dump_styles: &[],
};

impl Format for Rtc {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn sniff(&self, probe: &Probe<'_>) -> Option<Confidence> {
        let head = View::whole(probe.head);
        if probe.is_directory {
            None
        } else if find_marker(&head, 0).is_some() {
            Some(Confidence::Magic)
        } else {
            probe.has_extension(INFO.extensions).then_some(Confidence::Name)
        }
    }

    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        Ok(RtcDataset::boxed(Reader::open(source, context)?, context))
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        let reader = Reader::salvage(source, context)?;
        Ok(check::check(&reader, &context.limits))
    }

    fn salvage(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        Ok(RtcDataset::boxed(Reader::salvage(source, context)?, context))
    }

    fn repair(&self, source: &Source, to: &Destination, context: &Context<'_>) -> Result<Repaired> {
        repair::repair(source, to, context)
    }

    fn rewrite(&self, source: &Source, to: &Destination, context: &Context<'_>) -> Result<()> {
        repair::rewrite(source, to, context)
    }

    fn extract(
        &self,
        sources: &[Source],
        part: &Part,
        to: &Destination,
        context: &Context<'_>,
    ) -> Result<Written> {
        extract::extract(sources, part, to, context)
    }

    fn write_timeline(
        &self,
        timeline: Arc<dyn TimelineView>,
        to: &Destination,
        _context: &Context<'_>,
    ) -> Result<Written> {
        from_timeline::write(timeline, to)
    }

    fn demo(&self) -> Result<Vec<Demo>> {
        demo::demo()
    }

    fn follow(&self, context: &Context<'_>) -> Option<Box<dyn Follow>> {
        Some(Box::new(Follower::new(context)))
    }
}

/// An open file.
struct RtcDataset {
    reader: Arc<Reader>,
    limits: Limits,
}

impl RtcDataset {
    fn boxed(reader: Arc<Reader>, context: &Context<'_>) -> Box<dyn Dataset> {
        Box::new(Self { reader, limits: context.limits })
    }
}

impl Dataset for RtcDataset {
    fn summary(&self) -> Summary {
        summary(&self.reader)
    }

    fn findings(&self) -> Vec<Finding> {
        let scan = self.reader.scan_so_far();
        scan.map_or_else(Vec::new, |scan| check::losses(scan, &self.limits).into_vec())
    }

    fn recordings(&self) -> Vec<Recording> {
        let recording = |bytes: Range<u64>| Recording {
            kind: "session",
            name: String::new(),
            bytes: Some(bytes),
        };
        self.reader.session_bytes().into_iter().map(recording).collect()
    }

    fn tables(&self) -> Vec<Arc<dyn Table>> {
        tables::tables(&self.reader)
    }

    fn table(&self, name: &str) -> Option<Arc<dyn Table>> {
        let fixed = self.tables().into_iter().find(|table| table.name() == name);
        fixed.or_else(|| tables::stream_table(&self.reader, name))
    }

    fn dump(&self, request: &DumpRequest, sink: &mut dyn RecordSink) -> Result<()> {
        dump::dump(&self.reader, request, sink)
    }

    fn timeline(&self) -> Option<Arc<dyn TimelineView>> {
        Some(Arc::new(Timeline::new(Arc::clone(&self.reader))))
    }
}

/// Streams that are listed one by one.
const STREAMS_MAX: usize = 64;

fn summary(reader: &Reader) -> Summary {
    let scan = reader.scan();
    let endian = reader.endian(0).name();
    let checksum = scan.polynomial.map_or("no checksum", kymo_rtc_wire::crc::Polynomial::name);
    let mut summary = Summary { dialect: format!("{endian}, {checksum}"), ..Summary::default() };
    summary.fact("sessions", scan.sessions.len());
    summary.fact("streams", scan.catalog.streams.len());
    summary.fact("messages", scan.messages);
    summary.fact("frames", scan.frames);
    let wrong = |unit: &&crate::Unit| unit.checksum == UnitChecksum::Wrong;
    let wrong = scan.units.iter().filter(wrong).count();
    let held = |unit: &&crate::Unit| {
        matches!(unit.checksum, UnitChecksum::Holds(_) | UnitChecksum::HoldsEarly(_))
    };
    let held = scan.units.iter().filter(held).count();
    let without = scan.units.len() - wrong - held;
    let health = format!("{held} with a checksum that holds, {wrong} wrong, {without} without");
    summary.detailed("Units", scan.units.len(), health);
    if let Some(ruler) = scan.sessions.first().and_then(|session| session.ruler) {
        let detail = format!("units of {} bytes", ruler.minor);
        summary.detailed("Unit size", ruler.major, detail);
    }
    let lost: u64 = scan.units.iter().map(|unit| unit.lost_bytes).sum();
    summary.fact("bytes lost", lost);
    let mut rows: Vec<_> =
        scan.catalog.streams.iter().zip(&scan.statistics).take(STREAMS_MAX).map(row).collect();
    if scan.catalog.streams.len() > STREAMS_MAX {
        rows.push(("and".into(), format!("{} more", scan.catalog.streams.len() - STREAMS_MAX)));
    }
    summary.sections.push(Section { title: "streams", rows });
    summary
}

fn row((stream, statistics): (&Stream, &crate::read::Statistics)) -> (String, String) {
    let rate = statistics.rate().map_or_else(String::new, |rate| format!(", {rate:.1} a second"));
    let words = format!(
        "{}, {} messages, {} bytes{rate}",
        stream.format, statistics.messages, statistics.payload_bytes
    );
    (stream.name.clone(), words)
}
