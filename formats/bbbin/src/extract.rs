//! Cutting, filtering and merging: parts of files as one file.
//!
//! What is defined stays, so that ids keep their meaning; of several files the log files are
//! numbered anew, one after the other.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kymo_core::model::timeline::{TimeNs, TimelineView, TrackId, Window};
use kymo_core::{Context, Destination, Finding, Part, Result, Severity, Source, Written};

use crate::model::Timeline;
use crate::types::{Definitions, Found, LogFileId};
use crate::{Merge, Reader, Writer, utf8};

/// Writes a part of some files as one file.
pub(crate) fn extract(
    sources: &[Source],
    part: &Part,
    to: &Destination,
    context: &Context<'_>,
) -> Result<Written> {
    let readers = sources.iter().map(|source| Reader::open(source, context));
    let readers = readers.collect::<Result<Vec<_>>>()?;
    let mut numbering = Numbering::default();
    let definitions = numbering.definitions(&readers);
    let part = &asked(part, context);
    let mut choices: Vec<_> = readers.iter().map(|reader| Choice::new(reader, part)).collect();
    let mut file = to.file()?;
    let mut writer = Writer::new(&mut file, &definitions.log_files, &definitions.types)?;
    let window = Window { from: part.from, until: part.until, ..Window::default() };
    let each = readers.iter().map(|reader| &**reader);
    let merge = if part.sort {
        Merge::sorted(each)
    } else {
        Merge::within(each.map(|reader| (reader, reader.spans_within(&window))))
    };
    for (number, found) in merge {
        let Some(choice) = choices.get_mut(number) else { continue };
        if !choice.takes(&found, &window) {
            continue;
        }
        let mut event = found.event;
        event.log_file = numbering.number(number, event.log_file);
        writer.write(&event)?;
    }
    let mut written = Written { events: writer.num_events(), losses: Vec::new() };
    writer.finish(&definitions.artifacts)?;
    file.commit()?;
    for (reader, choice) in readers.iter().zip(choices) {
        let found = reader.findings().into_iter();
        written.losses.extend(found.filter(|finding| finding.severity > Severity::Note));
        written.losses.extend(choice.disorder);
    }
    Ok(written)
}

/// What is asked for, with names as the files have them.
fn asked(part: &Part, context: &Context<'_>) -> Part {
    let mut part = part.clone();
    if context.is_utf8 {
        for name in part.tracks.iter_mut().flatten() {
            *name = utf8::to_bytes(name);
        }
    }
    part
}

/// The log files of several files, one after the other.
#[derive(Default)]
struct Numbering {
    is_one: bool,
    numbers: HashMap<(usize, LogFileId), LogFileId>,
}

impl Numbering {
    /// The new number of a log file. One that is not there gets one that is not there either.
    fn number(&mut self, input: usize, of: LogFileId) -> LogFileId {
        if self.is_one {
            return of;
        }
        let next = LogFileId(i32::try_from(self.numbers.len()).unwrap_or(i32::MAX));
        *self.numbers.entry((input, of)).or_insert(next)
    }

    fn definitions(&mut self, readers: &[Arc<Reader>]) -> Definitions {
        self.is_one = readers.len() == 1;
        let mut all = Definitions::default();
        for (input, reader) in readers.iter().enumerate() {
            for of in &reader.definitions().log_files {
                let id = self.number(input, of.id);
                all.log_files.push(crate::LogFile { id, ..of.clone() });
            }
        }
        for (input, reader) in readers.iter().enumerate() {
            let of = reader.definitions();
            for of in &of.types {
                let log_file = self.number(input, of.log_file);
                all.types.push(crate::CustomType { log_file, ..of.clone() });
            }
            for of in &of.artifacts {
                let log_file = self.number(input, of.log_file);
                all.artifacts.push(crate::Artifact { log_file, ..of.clone() });
            }
        }
        all
    }
}

/// Which events of a file are taken.
struct Choice {
    timeline: Timeline,
    /// The tracks that are asked for; nothing means all.
    tracks: Option<HashSet<TrackId>>,
    latest: i64,
    /// What is said of a file whose times do not go up.
    disorder: Option<Finding>,
    is_sorted: bool,
}

impl Choice {
    fn new(reader: &Arc<Reader>, part: &Part) -> Self {
        let timeline = Timeline::new(Arc::clone(reader));
        let tracks = part.tracks.as_ref().map(|names| {
            let all = timeline.tracks();
            let is_asked = |(_, name): &(usize, &String)| names.contains(*name);
            let named = all.iter().map(|track| &track.name).enumerate().filter(is_asked);
            named.map(|(number, _)| TrackId(number)).collect()
        });
        Self { timeline, tracks, latest: i64::MIN, disorder: None, is_sorted: part.sort }
    }

    fn takes(&mut self, found: &Found<'_>, window: &Window) -> bool {
        let time = found.event.timestamp;
        if time < self.latest && !self.is_sorted && self.disorder.is_none() {
            let message = "its events are not in the order of their times, and are not sorted: \
                           where times go back, a range may lack events (--sort sorts them)";
            let finding = Finding::at(Severity::Warning, "order", found.offset, message);
            self.disorder = Some(finding);
        }
        self.latest = self.latest.max(time);
        window.holds(Some(TimeNs(time))) && self.is_asked(found)
    }

    fn is_asked(&self, found: &Found<'_>) -> bool {
        let Some(tracks) = &self.tracks else { return true };
        let mut is_asked = false;
        self.timeline.tell(found, &mut |(track, _)| is_asked |= tracks.contains(&track));
        is_asked
    }
}
