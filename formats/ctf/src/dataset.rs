//! The format's side of core's contract.

use std::sync::Arc;

use kymo_core::{Context, Error, Finding, Probe, Result, Source};
use kymo_model::timeline::{DisplayTime, TimeNs, TimelineView};
use kymo_model::{
    Confidence, Dataset, DumpRequest, Format, FormatInfo, RecordSink, Section, Summary, Table,
};

use crate::model::Timeline;
use crate::read::{has_streams, session_head};
use crate::scales::{Scales, Span};
use crate::{Reader, check, dump, spec, tables};

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct Ctf;

static INFO: FormatInfo = FormatInfo {
    name: "ctf",
    title: "CTF (Common Trace Format)",
    about: "events of LTTng and other tracers, in packets for each processor",
    extensions: &["tsdl"],
    dialects: &["1.8", "2", "metadata as text or in packets", "little- and big-endian"],
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
    let (count, times) = if is_counted { reader.extent() } else { (0, reader.time_ranges()) };
    if is_counted {
        summary.fact("events", count);
    }
    summary.fact("streams", reader.tracks().len());
    summary.fact("files", reader.files().len());
    summary.fact("packets", reader.packets().len());
    let streams = reader.parts().iter().flat_map(|part| part.trace.streams.values());
    summary.fact("kinds of events", streams.map(|stream| stream.events.len()).sum::<usize>());
    times_of(reader, &times, &mut summary);
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

/// Tells of clocks, and when events were. Times of clocks that have zeros of their own are not those of
/// another: each is told by itself.
fn times_of(reader: &Reader, times: &[Span], summary: &mut Summary) {
    let scales = Scales::new(reader);
    let spans = scales.spans(reader, times);
    let are_several = spans.iter().flatten().count() > 1;
    for (place, clock) in reader.clocks().iter().enumerate() {
        let since_epoch = clock.since_epoch;
        let origin = if since_epoch { "since the Epoch" } else { "with a zero of its own" };
        let scale = scales.clocks.iter().position(|first| *first == place);
        let span = scale.and_then(|scale| spans.get(scale).copied().flatten());
        let span = span.filter(|_| are_several).map_or_else(String::new, |(first, last)| {
            let shown = |time| DisplayTime { time: TimeNs(time), since_epoch };
            format!(", from {} to {}", shown(first), shown(last))
        });
        let detail = format!("{} Hz, {origin}{span}", clock.frequency);
        summary.detailed("clock", clock.name.clone(), detail);
    }
    let mut told =
        scales.clocks.iter().zip(&spans).filter_map(|(clock, span)| Some((clock, (*span)?)));
    if let (false, Some((clock, (first, last)))) = (are_several, told.next()) {
        let since_epoch = reader.clocks().get(*clock).is_some_and(|clock| clock.since_epoch);
        summary.span(&(TimeNs(first)..=TimeNs(last)), since_epoch);
    }
}

/// Versions and byte orders of all traces.
fn dialect(reader: &Reader) -> String {
    let item = |part: &crate::read::Part| {
        let (major, minor) = part.trace.version;
        match part.trace.byte_order {
            Some(order) => format!("version {major}.{minor}, {}", order.name()),
            None => format!("version {major}"),
        }
    };
    let mut found: Vec<_> = reader.parts().iter().map(item).collect();
    found.dedup();
    found.join("; ")
}
