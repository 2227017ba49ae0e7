//! Events as a timeline: a track for each processor's stream, with every event as a text, and
//! tracks of processors, tasks, threads and processes, with what events say of these.
//!
//! A switch ends the stretch of the one task and begins that of the other; a task that goes to
//! sleep has completed what it was woken for. Wakeups are releases. What the model has no place
//! for is in tables: packets, and what the tracer says of the system.

mod facts;
mod lanes;
mod roles;
mod survey;

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use kymo_core::Result;
use kymo_core::model::timeline::{
    Activity, Clock, ClockId, Content, Event, Events, TimeNs, TimelineView, Track, TrackId,
    TrackKind, Wanted, Window,
};
use serde_json::{Map, json};

use crate::Reader;
use crate::read::{Chosen, Merged};
use facts::Facts;
use lanes::Lanes;

pub(crate) use facts::Switches;

/// The timeline of a trace.
pub(crate) struct Timeline {
    reader: Arc<Reader>,
    /// Found when they are first asked for, since all events are gone through for that.
    lanes: OnceLock<Lanes>,
}

impl Timeline {
    pub(crate) fn new(reader: Arc<Reader>) -> Self {
        Self { reader, lanes: OnceLock::new() }
    }

    fn lanes(&self) -> &Lanes {
        self.lanes.get_or_init(|| Lanes::new(&self.reader))
    }

    fn track(&self, track: &crate::Track) -> Track {
        let mut attributes = Map::new();
        attributes.insert("stream_id".to_owned(), json!(track.stream));
        attributes.extend(track.cpu.map(|cpu| (Track::CPU_ID.to_owned(), json!(cpu))));
        Track {
            name: track.name.clone(),
            recording: 0,
            parent: None,
            kind: TrackKind::Messages,
            // A trace has one clock, or what its streams use is not known before events are read.
            clock: (!self.reader.trace().clocks.is_empty()).then_some(ClockId(0)),
            content: "ctf".to_owned(),
            attributes,
        }
    }

    /// The streams to read for a window. What happens to tasks is in any of them.
    fn chosen(&self, window: &Window) -> Chosen {
        let streams = self.reader.tracks().len();
        let tracks = window.tracks.as_ref().map(|tracks| tracks.iter().map(|track| track.0));
        let tracks = tracks.map(Iterator::collect::<Vec<_>>);
        Chosen {
            tracks: tracks.filter(|tracks| tracks.iter().all(|track| *track < streams)),
            from_ns: window.from.map(|time| time.0),
            until_ns: window.until.map(|time| time.0),
        }
    }
}

impl TimelineView for Timeline {
    fn clocks(&self) -> Vec<Clock> {
        let clocks = self.reader.trace().clocks.iter();
        clocks
            .map(|clock| Clock {
                name: clock.name.clone(),
                recording: 0,
                since_epoch: clock.since_epoch(),
            })
            .collect()
    }

    fn tracks(&self) -> Vec<Track> {
        let streams = self.reader.tracks().iter().map(|track| self.track(track));
        streams.chain(self.lanes().tracks.iter().cloned()).collect()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        let all = All::new(self, window);
        let Some(last) = window.last else { return Ok(Box::new(all)) };
        Ok(Box::new(Last::of(all, last)))
    }

    fn range(self: Arc<Self>, _clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        Ok(self.reader.time_range().map(|(first, last)| TimeNs(first)..=TimeNs(last)))
    }
}

/// What was read last, but for its text.
#[derive(Debug, Clone, Copy)]
struct Seen {
    time: Option<TimeNs>,
    file: usize,
    range: (u64, u64),
}

/// What an event is on a track.
#[derive(Debug, Clone)]
struct Happening {
    track: TrackId,
    seen: Seen,
    /// Nothing means its text.
    activity: Option<Activity<'static>>,
}

impl Happening {
    fn event<'a>(self, reader: &'a Reader, text: &'a str) -> Event<'a> {
        let (content, payload) = match self.activity {
            None => (Content::Text(text.into()), reader.bytes(self.seen.file, self.seen.range)),
            Some(activity) => (Content::Activity(activity), &[][..]),
        };
        let Seen { time, range, .. } = self.seen;
        Event { track: self.track, time, offset: range.0, content, payload, partial: None }
    }
}

/// Events as they come.
struct All {
    timeline: Arc<Timeline>,
    merged: Merged,
    window: Window,
    wanted: Wanted,
    facts: Facts,
    text: String,
    /// What the event that was read last still is.
    pending: VecDeque<Happening>,
}

impl All {
    fn new(timeline: Arc<Timeline>, window: &Window) -> Self {
        let chosen = timeline.chosen(window);
        let streams = timeline.reader.tracks().len();
        let wanted = window.wanted(streams + timeline.lanes().tracks.len());
        let is_textless = !wanted.has_any(0..streams);
        let facts = Facts::telling(&timeline.lanes().roles, is_textless);
        Self {
            merged: Merged::new(&timeline.reader, &chosen),
            timeline,
            window: window.clone(),
            wanted,
            facts,
            text: String::new(),
            pending: VecDeque::new(),
        }
    }

    fn advance(&mut self) -> Option<Happening> {
        while self.pending.is_empty() {
            self.read()?;
        }
        self.pending.pop_front()
    }

    /// Reads an event, and notes what it is on which tracks.
    fn read(&mut self) -> Option<()> {
        let (stream_track, taken) = self.merged.next(&mut self.facts)?;
        let time = taken.head.time_ns.map(TimeNs);
        if !self.window.holds(time) {
            return Some(());
        }
        let seen = Seen { time, file: taken.packet.file, range: taken.range };
        if self.wanted.has(TrackId(stream_track)) {
            write_text(&taken.event.name, &self.facts.plain.text, &mut self.text);
            let track = TrackId(stream_track);
            self.pending.push_back(Happening { track, seen, activity: None });
        }
        let lanes = self.timeline.lanes();
        if let Some(role) = lanes.roles.get(taken.event.kind) {
            let (wanted, pending) = (&self.wanted, &mut self.pending);
            lanes.tell(role, taken.packet.cpu, &self.facts, &mut |(track, activity)| {
                if wanted.has(track) {
                    pending.push_back(Happening { track, seen, activity: Some(activity) });
                }
            });
        }
        Some(())
    }
}

/// The name of an event and its fields.
fn write_text(name: &str, fields: &str, to: &mut String) {
    to.clear();
    to.push_str(name);
    if !fields.is_empty() {
        to.push_str(": ");
        to.push_str(fields);
    }
}

impl Events for All {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let happening = self.advance();
        Ok(happening.map(|happening| happening.event(&self.timeline.reader, &self.text)))
    }
}

/// The last events, which were kept.
struct Last {
    timeline: Arc<Timeline>,
    kept: VecDeque<(Happening, String)>,
    current: String,
}

impl Last {
    fn of(mut all: All, last: u64) -> Self {
        let mut kept = VecDeque::new();
        while let Some(happening) = all.advance() {
            let is_full = kept.len() as u64 >= last;
            let _ = if is_full { kept.pop_front() } else { None };
            if last > 0 {
                let text =
                    if happening.activity.is_none() { all.text.clone() } else { String::new() };
                kept.push_back((happening, text));
            }
        }
        Self { timeline: all.timeline, kept, current: String::new() }
    }
}

impl Events for Last {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let Some((happening, text)) = self.kept.pop_front() else { return Ok(None) };
        self.current = text;
        Ok(Some(happening.event(&self.timeline.reader, &self.current)))
    }
}
