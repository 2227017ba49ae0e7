//! The format's side of core's contract.

use std::collections::BTreeMap;
use std::sync::Arc;

use kymo_core::{Context, Destination, Finding, Probe, Result, Source, Value};
use kymo_model::timeline::{TimeNs, TimelineView};
use kymo_model::{
    Capability, Confidence, Dataset, Demo, DumpRequest, Format, FormatInfo, RecordSink,
    RepairReport, Section, Summary, Table, WriteReport,
};

use crate::model::Timeline;
use crate::{Reader, check, demo, dump, model, repair, spec, tables};

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct Mcap;

static INFO: FormatInfo = FormatInfo {
    name: "mcap",
    title: "MCAP",
    about: "timestamped messages on channels, with schemas, attachments and metadata",
    extensions: &["mcap"],
    dialects: &["version 0", "chunks with zstd, lz4 or no compression"],
    abilities: &[Capability::Write, Capability::Repair, Capability::TakeTimelines],
    dump_styles: &[],
};

impl Format for Mcap {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn sniff(&self, probe: &Probe<'_>) -> Option<Confidence> {
        if probe.is_directory {
            None
        } else if probe.head.starts_with(spec::MAGIC) {
            Some(Confidence::Magic)
        } else {
            probe.has_extension(INFO.extensions).then_some(Confidence::Name)
        }
    }

    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        Ok(Box::new(McapDataset(Reader::open(source, context)?)))
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        check::check(source, context)
    }

    fn salvage(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        Ok(Box::new(McapDataset(Reader::salvage(source, context)?)))
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

    fn write_timeline(
        &self,
        timeline: Arc<dyn TimelineView>,
        to: &Destination,
        context: &Context<'_>,
    ) -> Result<WriteReport> {
        model::write_timeline(&timeline, to, context)
    }

    fn demo(&self) -> Result<Vec<Demo>> {
        demo::demo()
    }
}

/// An open file.
struct McapDataset(Arc<Reader>);

impl Dataset for McapDataset {
    fn summary(&self) -> Summary {
        summary(&self.0)
    }

    fn findings(&self) -> Vec<Finding> {
        self.0.findings()
    }

    fn tables(&self) -> Vec<Arc<dyn Table>> {
        tables::tables(&self.0)
    }

    fn dump(&self, request: &DumpRequest, sink: &mut dyn RecordSink) -> Result<()> {
        dump::dump(&self.0, request, sink)
    }

    fn timeline(&self) -> Option<Arc<dyn TimelineView>> {
        Some(Arc::new(Timeline::new(Arc::clone(&self.0))))
    }
}

/// More channels than a summary lists.
const CHANNELS_MAX: usize = 32;

fn summary(reader: &Reader) -> Summary {
    let survey = reader.survey();
    let mut summary = Summary { dialect: "version 0".into(), ..Summary::default() };
    let how = if survey.is_counted { "counted" } else { "as the summary has it" };
    summary.detailed("messages", reader.message_count(), how);
    summary.fact("channels", survey.channels.len());
    summary.fact("schemas", survey.schemas.len());
    if let Some(times) = &survey.times {
        let (start, end) = (*times.start(), *times.end());
        match (i64::try_from(start), i64::try_from(end)) {
            (Ok(start), Ok(end)) => summary.span(&(TimeNs(start)..=TimeNs(end)), true),
            _ => summary.fact("log times", format!("{start} to {end}, beyond what a clock shows")),
        }
    }
    chunks(reader, &mut summary);
    if let Some(statistics) = reader.statistics() {
        summary.fact("attachments", statistics.attachment_count);
        summary.fact("metadata", statistics.metadata_count);
    }
    let header = reader.header();
    for (name, text) in [("library", &header.library), ("profile", &header.profile)] {
        summary.fact(name, if text.is_empty() { Value::Null } else { text.clone().into() });
    }
    summary.sections.push(channels(reader));
    summary
}

/// Adds the number of chunks, their compression, and how much that saves.
fn chunks(reader: &Reader, summary: &mut Summary) {
    let mut sizes: BTreeMap<&str, (u64, u128, u128)> = BTreeMap::new();
    for chunk in reader.chunks() {
        let (count, compressed, uncompressed) = sizes.entry(chunk.compression.name()).or_default();
        *count += 1;
        *compressed += u128::from(chunk.compressed_size);
        *uncompressed += u128::from(chunk.uncompressed_size);
    }
    let words = sizes.iter().map(|(name, (count, compressed, uncompressed))| {
        let name = if name.is_empty() { "not compressed" } else { name };
        let name = kymo_core::shortened(name);
        match (uncompressed * 100).checked_div(*compressed) {
            Some(ratio) => format!("{count} {name}, {}.{:02} to 1", ratio / 100, ratio % 100),
            None => format!("{count} {name}"),
        }
    });
    let words = words.collect::<Vec<_>>().join("; ");
    summary.detailed("chunks", reader.chunks().count(), words);
}

fn channels(reader: &Reader) -> Section {
    let counts = &reader.survey().counts;
    let mut topics: BTreeMap<&str, usize> = BTreeMap::new();
    for channel in reader.channels().values() {
        *topics.entry(&channel.topic).or_default() += 1;
    }
    let listed = reader.channels().iter().map(|(id, channel)| {
        let count = counts.get(id).copied().unwrap_or(0);
        let encoding = kymo_core::shortened(&channel.message_encoding);
        let mut text = format!("{count} messages, {encoding}");
        // Several channels may have one topic.
        if topics.get(channel.topic.as_str()).is_some_and(|count| *count > 1) {
            text = format!("{text}, channel {id}");
        }
        (kymo_core::shortened(&channel.topic).into_owned(), text)
    });
    Section::new("topics", listed, CHANNELS_MAX)
}
