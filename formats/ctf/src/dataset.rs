//! The format's side of core's contract.

use std::sync::Arc;

use kymo_core::model::timeline::{TimeNs, TimelineView};
use kymo_core::{
    Confidence, Context, Dataset, DumpRequest, Error, Finding, Format, FormatInfo, Probe,
    RecordSink, Result, Section, Source, Summary, Table,
};

use crate::model::Timeline;
use crate::read::{has_streams, session_head};
use crate::{Reader, check, dump, spec, tables};

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct Ctf;

static INFO: FormatInfo = FormatInfo {
    name: "ctf",
    title: "CTF (Common Trace Format)",
    about: "events of LTTng and other tracers, in packets for each processor",
    extensions: &["tsdl"],
    dialects: &["1.8", "metadata as text or in packets", "little- and big-endian"],
    abilities: &[],
    dump_styles: &[],
};

impl Format for Ctf {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn sniff(&self, probe: &Probe<'_>) -> Option<Confidence> {
        if !probe.is_directory {
            // A stream by itself cannot be read; that it is one is said when it is opened.
            let stream = spec::is_stream(probe.head).then_some(Confidence::Plausible);
            return spec::is_metadata(probe.head).then_some(Confidence::Magic).or(stream);
        }
        match session_head(probe, spec::SIGNATURE_BYTES) {
            Some(head) if spec::is_metadata(&head) => Some(Confidence::Magic),
            Some(head) if head.starts_with(spec::OTHER_SIGNATURE) => None,
            _ => has_streams(probe).then_some(Confidence::Name),
        }
    }

    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        Ok(Box::new(CtfDataset(Reader::open(source, context)?)))
    }

    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
        match Reader::open(source, context) {
            Ok(reader) => Ok(check::check(&reader)),
            Err(Error::ReadIn { file, error }) => {
                let mut finding = Finding::unreadable(check::UNREADABLE, &error);
                finding.file = Some(file.display().to_string());
                Ok(vec![finding])
            }
            Err(Error::Read(error)) => Ok(vec![Finding::unreadable(check::UNREADABLE, &error)]),
            Err(error) => Err(error),
        }
    }
}

/// An open trace.
struct CtfDataset(Arc<Reader>);

impl Dataset for CtfDataset {
    fn summary(&self) -> Summary {
        summary(&self.0)
    }

    fn findings(&self) -> Vec<Finding> {
        self.0.findings()
    }

    fn tables(&self) -> Vec<Arc<dyn Table>> {
        tables::tables(&self.0)
    }

    fn dump(&self, _request: &DumpRequest, sink: &mut dyn RecordSink) -> Result<()> {
        dump::dump(&self.0, sink)
    }

    fn timeline(&self) -> Option<Arc<dyn TimelineView>> {
        Some(Arc::new(Timeline::new(Arc::clone(&self.0))))
    }
}

/// Traces of more bytes are not gone through just to say how many events they have.
const COUNTED_BYTES_MAX: u64 = 1 << 30;

fn summary(reader: &Reader) -> Summary {
    let mut summary = Summary { dialect: dialect(reader), ..Summary::default() };
    if reader.parts().len() > 1 {
        summary.fact("traces", reader.parts().len());
    }
    let is_counted = reader.packet_bytes_sum() <= COUNTED_BYTES_MAX;
    let (count, times) = if is_counted { reader.extent() } else { (0, reader.time_range()) };
    if is_counted {
        summary.fact("events", count);
    }
    summary.fact("streams", reader.tracks().len());
    summary.fact("files", reader.files().len());
    summary.fact("packets", reader.packets().len());
    let streams = reader.parts().iter().flat_map(|part| part.trace.streams.values());
    summary.fact("kinds of events", streams.map(|stream| stream.events.len()).sum::<usize>());
    for clock in reader.clocks() {
        let origin = if clock.since_epoch() { "since the Epoch" } else { "with a zero of its own" };
        summary.detailed("clock", clock.name.clone(), format!("{} Hz, {origin}", clock.frequency));
    }
    if let Some((first, last)) = times {
        let since_epoch = reader.clocks().iter().all(crate::types::Clock::since_epoch);
        summary.span(&(TimeNs(first)..=TimeNs(last)), since_epoch);
    }
    let said = reader.parts().iter().flat_map(|part| {
        let folder = part.folder.display().to_string();
        let folder = if folder.is_empty() { folder } else { format!("{folder}: ") };
        part.trace.environment.iter().map(move |(name, value)| {
            let name = kymo_core::shortened(&format!("{folder}{name}")).into_owned();
            (name, kymo_core::shortened(&value.to_string()).into_owned())
        })
    });
    summary.sections.push(Section::new("environment", said, usize::MAX));
    summary
}

/// Versions and byte orders of all traces.
fn dialect(reader: &Reader) -> String {
    let of = |part: &crate::read::Part| {
        let (major, minor) = part.trace.version;
        format!("version {major}.{minor}, {}", part.trace.byte_order.name())
    };
    let mut found: Vec<_> = reader.parts().iter().map(of).collect();
    found.dedup();
    found.join("; ")
}
