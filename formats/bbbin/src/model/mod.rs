//! Events to core's timeline.
//!
//! Each log file is a track, with its tasks, state machines and custom types under it. A
//! `TASK_SWITCH` ends the stretch of the one task and begins that of the other. Values are a
//! message on the track of their type, and each number of them is a counter. All times are on one
//! clock, whose zero the file does not tell.
//!
//! What has a negative id is an interrupt, unless an artifact says otherwise.
//!
//! Where it is not known which task runs, none does. A budget that is not known is none, and so is
//! one below nothing.
//!
//! What timelines have no word for is in the attributes of tracks, as far as it is defined before
//! events are ([`crate::carried`]): classes of tasks, states and what they are part of, GENERIC
//! artifacts, values of artifacts, types of fields. What else the timeline does not tell,
//! `untold` says: ids of receivers' instances, odd end times of functions, and more. An event of a log
//! file that is not there is on no track, which is a finding.

mod classes;
mod interpret;
mod lanes;
mod undeclared;
mod unsupported;

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, OnceLock};

use kymo_core::{Finding, Result};
use kymo_model::timeline::{
    Activity, Clock, ClockId, Content, Event, Events, Missing, TimeNs, TimelineView, TrackId,
    TrackSet, Tracks, Window,
};

use crate::Reader;
use crate::read::Walk;
use crate::spec::UNKNOWN_PRIORITY;
use crate::types::{ArtifactId, Body, LogFileId};
use lanes::{Lanes, TaskLane};

pub(crate) use classes::WORDS;
pub(crate) use interpret::GENERIC;
pub(crate) use lanes::{IMPORTED_AT, IMPORTER_NAME, LOG_FILE, LOG_FILE_SIZE, undeclared_name};

/// Content of an event on a track; the payload, where there is one, is the event's values.
pub(crate) type Happening = (TrackId, Content<'static>);

/// Form in which the values of an event are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    /// As a text, and each number of them as a counter.
    Spread,
    /// As fields.
    Fields,
}

/// The timeline of a file.
#[derive(Debug)]
pub(crate) struct Timeline {
    reader: Arc<Reader>,
    /// Found when they are first asked for, since some events are looked at for them.
    lanes: OnceLock<Lanes>,
}

impl Timeline {
    pub(crate) fn new(reader: Arc<Reader>) -> Self {
        Self { reader, lanes: OnceLock::new() }
    }

    fn lanes(&self) -> &Lanes {
        self.lanes.get_or_init(|| Lanes::new(&self.reader))
    }

    /// The track of a task that a switch names.
    pub(crate) fn running(&self, log: LogFileId, task: ArtifactId) -> Option<TrackId> {
        self.lanes().running(log, task).map(TaskLane::track)
    }

    /// Returns true if something is missing from an event on, whatever it would be of.
    pub(crate) fn is_gap(&self, event: &crate::types::Event<'_>) -> bool {
        self.lanes().gap(event).is_some()
    }

    /// Counts the events of a window that some spans have.
    fn count(&self, spans: Range<usize>, window: &Window, as_values: Values) -> u64 {
        let (mut walk, mut count) = (Walk::new(spans), 0);
        let wanted = window.track_set(self.lanes().tracks.len());
        while let Some(found) = walk.next(&self.reader) {
            if window.holds(Some(TimeNs(found.event.timestamp))) {
                self.interpret(&found, as_values, &mut |(track, _)| {
                    count += u64::from(wanted.contains(track));
                });
            }
        }
        count
    }

    /// The spans to read for a window, and how many events to pass over first.
    fn plan(&self, window: &Window, as_values: Values) -> (Range<usize>, u64) {
        let mut spans = self.reader.spans_in_window(window);
        let Some(last) = window.last else { return (spans, 0) };
        let (mut start, mut count) = (spans.end, 0);
        // From the end, so that a long recording is not read for its last few events.
        while start > spans.start && count < last {
            start -= 1;
            count += self.count(start..start + 1, window, as_values);
        }
        spans.start = start;
        (spans, count.saturating_sub(last))
    }
}

/// A switch between two tasks.
struct Switch {
    stops: TrackId,
    begins: TrackId,
    priority: Option<i64>,
}

impl Switch {
    /// The two tracks of a switch between tasks that have their own, without values: what most
    /// events of most logs are.
    #[inline]
    fn from_event(event: &crate::types::Event<'_>, lanes: &Lanes) -> Option<Self> {
        let Body::TaskSwitch { in_task, out_task, in_task_priority } = event.body else {
            return None;
        };
        let TaskLane::Own(stops) = lanes.running(event.log_file, out_task)? else { return None };
        let TaskLane::Own(begins) = lanes.running(event.log_file, in_task)? else { return None };
        let priority = known_priority(in_task_priority);
        event.custom.is_empty().then_some(Self { stops, begins, priority })
    }
}

fn known_priority(priority: i32) -> Option<i64> {
    (priority != UNKNOWN_PRIORITY).then(|| priority.into())
}

impl TimelineView for Timeline {
    fn clocks(&self) -> Vec<Clock> {
        let since_epoch = self.reader.is_since_epoch();
        vec![Clock { name: "log set".into(), recording: 0, since_epoch }]
    }

    fn tracks(&self) -> Tracks {
        self.lanes().tracks.clone()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(Box::new(EventWalk::new(self, window, Values::Spread)))
    }

    fn events_with_fields(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(Box::new(EventWalk::new(self, window, Values::Fields)))
    }

    fn has_fields(&self) -> bool {
        self.reader.types().iter().any(|custom_type| !custom_type.name.is_empty())
    }

    fn range(self: Arc<Self>, _clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        Ok(self.reader.time_range().map(|range| TimeNs(*range.start())..=TimeNs(*range.end())))
    }

    fn unsupported(self: Arc<Self>) -> Result<Vec<Finding>> {
        Ok(unsupported::unsupported_findings(&self.reader, self.lanes()))
    }
}

/// Events that are being told.
struct EventWalk {
    timeline: Arc<Timeline>,
    walk: Walk,
    window: Window,
    wanted: TrackSet,
    as_values: Values,
    skip: u64,
    /// Further contents of the event that was read last.
    pending: VecDeque<Happening>,
    /// The task that begins where the event that was read last is a switch, and its priority.
    begins: Option<(TrackId, Option<i64>)>,
    time: TimeNs,
    offset: u64,
    /// True if an event was read.
    has_read: bool,
    /// Range of its values in the file.
    custom: Range<u64>,
}

/// Result of reading on.
enum Advanced {
    /// A switch stops the task of this track.
    Stops(TrackId),
    /// A switch lets a task run; the one that stops was not asked for.
    Begins,
    /// Something that is pending.
    Pending,
    /// Nothing more.
    End,
}

impl EventWalk {
    fn new(timeline: Arc<Timeline>, window: &Window, as_values: Values) -> Self {
        let (spans, skip) = timeline.plan(window, as_values);
        Self {
            wanted: window.track_set(timeline.lanes().tracks.len()),
            timeline,
            walk: Walk::new(spans),
            window: window.clone(),
            as_values,
            skip,
            pending: VecDeque::new(),
            begins: None,
            time: TimeNs(0),
            offset: 0,
            has_read: false,
            custom: 0..0,
        }
    }

    /// Reads events until there is something to tell.
    fn advance(&mut self) -> Advanced {
        let Self { timeline, walk, window, wanted, pending, .. } = self;
        let lanes = timeline.lanes();
        loop {
            let found = walk.next(&timeline.reader);
            if walk.take_missing()
                && self.has_read
                && self.skip == 0
                && window.holds(Some(self.time))
            {
                let gap = Content::Activity(Activity::Gap(Missing::AllEvents));
                let gaps = lanes.gaps.iter().filter(|track| wanted.contains(**track));
                pending.extend(gaps.map(|track| (*track, gap.clone())));
                if !pending.is_empty() {
                    if let Some(found) = found {
                        walk.step_back(found.offset);
                    }
                    return Advanced::Pending;
                }
            }
            let Some(found) = found else { return Advanced::End };
            (self.time, self.has_read) = (TimeNs(found.event.timestamp), true);
            if !window.holds(Some(self.time)) {
                continue;
            }
            self.offset = found.offset;
            let switch = Switch::from_event(&found.event, lanes).filter(|_| self.skip == 0);
            if let Some(Switch { stops, begins, priority }) = switch {
                self.begins = wanted.contains(begins).then_some((begins, priority));
                match (wanted.contains(stops), self.begins) {
                    (true, _) => return Advanced::Stops(stops),
                    (false, Some(_)) => return Advanced::Begins,
                    (false, None) => continue,
                }
            }
            let end = walk.offset();
            self.custom = end.saturating_sub(found.event.custom.len() as u64)..end;
            timeline.interpret(&found, self.as_values, &mut |happening: Happening| {
                if wanted.contains(happening.0) {
                    pending.push_back(happening);
                }
            });
            if !pending.is_empty() {
                return Advanced::Pending;
            }
        }
    }

    /// Returns the next content that is left of the event that was read last.
    fn pending(&mut self) -> Option<Happening> {
        loop {
            let happening = self.pending.pop_front()?;
            match self.skip.checked_sub(1) {
                None => return Some(happening),
                Some(left) => self.skip = left,
            }
        }
    }

    #[inline]
    fn event<'a>(&self, track: TrackId, content: Content<'a>, payload: &'a [u8]) -> Event<'a> {
        let (time, offset) = (Some(self.time), self.offset);
        Event { track, time, offset, content, payload, partial: None }
    }

    #[inline]
    fn begin(&mut self) -> Option<Event<'static>> {
        let (track, priority) = self.begins.take()?;
        let begin = Activity::Begin { name: None, priority, ends: None };
        Some(self.event(track, Content::Activity(begin), &[]))
    }
}

impl Events for EventWalk {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        if self.begins.is_some() {
            return Ok(self.begin());
        }
        loop {
            if let Some((track, content)) = self.pending() {
                let payload = match content {
                    Content::Payload => {
                        self.timeline.reader.slice(self.custom.start, self.custom.end)
                    }
                    _ => &[],
                };
                return Ok(Some(self.event(track, content, payload)));
            }
            match self.advance() {
                Advanced::Stops(track) => {
                    let end = Content::Activity(Activity::End);
                    return Ok(Some(self.event(track, end, &[])));
                }
                Advanced::Begins => return Ok(self.begin()),
                Advanced::Pending => {}
                Advanced::End => return Ok(None),
            }
        }
    }
}
