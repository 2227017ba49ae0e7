//! Cutting, filtering and merging: parts of files as one file.
//!
//! What is defined stays, so that ids keep their meaning; log files are numbered from 0 on, those of
//! several files one after the other.

mod joining;
mod numbering;

use std::collections::HashSet;
use std::sync::Arc;

use kymo_core::{Context, Destination, Finding, Invariant as _, Result, Severity, Source};
use kymo_model::timeline::{TimeNs, TimelineView, TrackId, Window};
use kymo_model::{ExtractRequest, WriteReport};

use crate::model::{Happening, Timeline, Values};
use crate::read::{CUSTOM_SIZE, MADE_UP, ORDER, UNKNOWN_LOG_FILE, UNKNOWN_TYPE};
use crate::spec::{UNKNOWN_PRIORITY, UNKNOWN_TASK};
use crate::types::{ArtifactId, Body, Event, LocatedEvent};
use crate::{Merge, Reader, Writer, check, utf8};
use numbering::Numbering;

/// Events between two tellings of progress.
const PROGRESS_EVENTS: u64 = 1 << 14;

/// Writes a part of some files as one file.
pub(crate) fn extract(
    sources: &[Source],
    part: &ExtractRequest,
    to: &Destination,
    context: &Context<'_>,
) -> Result<WriteReport> {
    let readers = sources.iter().map(|source| Reader::open(source, context));
    let readers = readers.collect::<Result<Vec<_>>>()?;
    let mut numbering = Numbering::default();
    let files = Source::labels(sources);
    let mut definitions = numbering.definitions(&readers, files.as_deref(), part.join);
    let real_types = definitions.satisfy_readers(|_| true);
    let part = &resolve_names(part, context);
    let choices: Vec<_> = readers.iter().map(|reader| Choice::new(reader, part)).collect();
    let mut file = to.file()?;
    let mut writer = Writer::new(&mut file, &definitions.log_files, &definitions.types)?;
    let mut events = merged(&readers, part)?;
    let (mut without_log, mut done) = (0, 0_u64);
    context.progress.begin_items(
        "writing events",
        readers.iter().map(|this_reader| this_reader.num_events()).sum(),
    );
    while let Some((number, found)) = events.next_event()? {
        done += 1;
        if done.is_multiple_of(PROGRESS_EVENTS) {
            context.progress.advance_to(done);
        }
        let pair = readers.get(number).zip(choices.get(number));
        let (reader, choice) = pair.or_broken("an event is of a file that is not there")?;
        let Some(mut event) = choice.take(&found) else { continue };
        without_log += u64::from(reader.log_file_place(event.log_file).is_none());
        // Types go by the log files of the output.
        if !numbering.is_same {
            event.log_file = numbering.number(number, event.log_file);
        }
        writer.write(&real_types.given(event))?;
    }
    let mut written = WriteReport { events: writer.num_events(), losses: numbering.apart };
    writer.finish(&definitions.artifacts)?;
    context.progress.end();
    file.commit()?;
    for reader in &readers {
        let is_said = |finding: &Finding| {
            let is_sorted = part.sort && finding.rule == ORDER;
            // How many events there are of those is said once, of all files.
            let is_counted = finding.rule == UNKNOWN_LOG_FILE;
            // Values and names are written as they are, whatever they are.
            let is_kept = [CUSTOM_SIZE, MADE_UP, UNKNOWN_TYPE].contains(&finding.rule);
            finding.severity > Severity::Note && !is_sorted && !is_counted && !is_kept
        };
        written.losses.extend(reader.findings().into_iter().filter(is_said));
    }
    written.losses.extend(missing_log_finding(without_log));
    written.losses.extend(mixed_times(&readers));
    written.losses.extend(remaining_findings(to, &written.losses, context)?);
    Ok(written)
}

/// What is odd in the output, as it was in the input, of rules that nothing is said of yet.
fn remaining_findings(
    to: &Destination,
    said: &[Finding],
    context: &Context<'_>,
) -> Result<Vec<Finding>> {
    let written = Reader::salvage(&Source::open(to.path(), &context.limits)?, context)?;
    let mut found = check::check(&written, context);
    let is_kept = |rule| [CUSTOM_SIZE, MADE_UP, UNKNOWN_LOG_FILE, ORDER].contains(&rule);
    let is_new = |finding: &Finding| said.iter().all(|known| known.rule != finding.rule);
    found.retain(|finding| {
        finding.severity > Severity::Note && !is_kept(finding.rule) && is_new(finding)
    });
    Ok(found)
}

/// Says that events are of log files that are not there.
fn missing_log_finding(events: u64) -> Option<Finding> {
    let message = format!(
        "{events} {} of log files that are not there, and stay so: they are on no track",
        if events == 1 { "event is" } else { "events are" }
    );
    (events > 0).then(|| Finding::for_whole_file(Severity::Warning, UNKNOWN_LOG_FILE, message))
}

/// Says that times of some files count from the Epoch, and those of others do not.
fn mixed_times(readers: &[Arc<Reader>]) -> Option<Finding> {
    let has_logs = |reader: &&Arc<Reader>| !reader.log_files().is_empty();
    let mut said = readers.iter().filter(has_logs).map(|reader| reader.is_since_epoch());
    let first = said.next()?;
    let message = "times of some of the files count from the Epoch and of others do not: together \
                   they are on one time axis, which says neither";
    said.any(|other| other != first)
        .then(|| Finding::for_whole_file(Severity::Warning, "clocks", message))
}

/// The events that may be asked for, in the order in which they are written.
fn merged<'a>(readers: &'a [Arc<Reader>], part: &ExtractRequest) -> Result<Merge<'a>> {
    let each = readers.iter().map(|reader| &**reader);
    if part.sort {
        return Merge::sorted(each);
    }
    let window = Window { from: part.from, until: part.until, ..Window::default() };
    Ok(Merge::from_spans(each.map(|reader| {
        // What is kept of a recording must not depend on where its times go back, nor on its index.
        let is_safe = window == Window::default() || reader.is_as_indexed_throughout();
        let all = 0..reader.spans().len();
        (reader, if is_safe { reader.spans_in_window(&window) } else { all })
    })))
}

/// Returns the part that is asked for, with names as the files have them.
fn resolve_names(part: &ExtractRequest, context: &Context<'_>) -> ExtractRequest {
    let mut part = part.clone();
    if context.is_utf8 {
        for name in part.tracks.iter_mut().flatten() {
            *name = utf8::to_bytes(name);
        }
    }
    part
}

/// Choice of the events of a file that are taken.
struct Choice {
    timeline: Timeline,
    window: Window,
    /// The tracks that are asked for; nothing means all.
    tracks: Option<HashSet<TrackId>>,
}

impl Choice {
    fn new(reader: &Arc<Reader>, part: &ExtractRequest) -> Self {
        let timeline = Timeline::new(Arc::clone(reader));
        let tracks = part.tracks.as_ref().map(|names| {
            let all = timeline.tracks();
            let is_asked = |(_, name): &(usize, &String)| names.contains(*name);
            let named = all.iter().map(|track| &track.name).enumerate().filter(is_asked);
            named.map(|(number, _)| TrackId(number)).collect()
        });
        let window = Window { from: part.from, until: part.until, ..Window::default() };
        Self { timeline, window, tracks }
    }

    /// An event as it is taken. Of a switch between a task that is asked for and one that is not,
    /// the other becomes "unknown". Where something is missing, it may be of what is asked for.
    fn take<'a>(&self, found: &LocatedEvent<'a>) -> Option<Event<'a>> {
        let mut event = found.event;
        if !self.window.holds(Some(TimeNs(event.timestamp))) {
            return None;
        }
        let Some(tracks) = &self.tracks else { return Some(event) };
        let mut is_asked = self.timeline.is_gap(&event);
        let is_among = &mut |(track, _): Happening| is_asked |= tracks.contains(&track);
        self.timeline.interpret(found, Values::Spread, is_among);
        if let Body::TaskSwitch { in_task, out_task, in_task_priority } = &mut event.body {
            let is_out = |task: ArtifactId| {
                let track = self.timeline.running(event.log_file, task);
                track.is_some_and(|track| !tracks.contains(&track))
            };
            if is_out(*in_task) {
                (*in_task, *in_task_priority) = (ArtifactId(UNKNOWN_TASK), UNKNOWN_PRIORITY);
            }
            if is_out(*out_task) {
                *out_task = ArtifactId(UNKNOWN_TASK);
            }
        }
        is_asked.then_some(event)
    }
}
