//! The format's side of core's contract.

use std::ops::Range;
use std::sync::Arc;

use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Finding, Probe, Result, Source};
use kymo_model::timeline::TimelineView;
use kymo_model::{
    Capability, Confidence, Dataset, Demo, DumpRequest, ExtractRequest, Format, FormatInfo,
    LiveRecording, RecordSink, Recording, RepairReport, Summary, Table, WriteReport,
};
use kymo_rtc_wire::read::{View, find_marker};

use crate::follow::Follower;
use crate::model::Timeline;
use crate::{Reader, check, demo, dump, extract, from_timeline, repair, summary, tables};

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
        Capability::Write,
        Capability::Repair,
        Capability::Extract,
        Capability::TakeTimelines,
        Capability::Follow,
    ],
    dump_styles: &[],
};

impl Format for Rtc {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn sniff(&self, probe: &Probe<'_>) -> Option<Confidence> {
        let head = View::from_file(probe.head);
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

    fn repair(
        &self,
        source: &Source,
        to: &Destination,
        context: &Context<'_>,
    ) -> Result<RepairReport> {
        repair::repair(source, to, context)
    }

    fn rewrite(&self, source: &Source, to: &Destination, context: &Context<'_>) -> Result<()> {
        repair::rewrite(source, to, context)
    }

    fn extract(
        &self,
        sources: &[Source],
        part: &ExtractRequest,
        to: &Destination,
        context: &Context<'_>,
    ) -> Result<WriteReport> {
        extract::extract(sources, part, to, context)
    }

    fn write_timeline(
        &self,
        timeline: Arc<dyn TimelineView>,
        to: &Destination,
        _context: &Context<'_>,
    ) -> Result<WriteReport> {
        from_timeline::write(&timeline, to)
    }

    fn demo(&self) -> Result<Vec<Demo>> {
        demo::demo()
    }

    fn follow(&self, context: &Context<'_>) -> Option<Box<dyn LiveRecording>> {
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
        summary::summary(&self.reader)
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
