//! Events as a timeline: a track for each processor's stream, with every event as a text, and
//! tracks of processors, tasks, threads and processes, with what events say of these.
//!
//! A switch ends the stretch of the one task and begins that of the other; a task that goes to
//! sleep has completed what it was woken for. Wakeups are releases. What the model has no place
//! for is in tables: packets, and what the tracer says of the system.

mod facts;
mod lanes;
mod place;
mod roles;
mod survey;

use std::collections::VecDeque;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::{Arc, OnceLock};

use kymo_core::Result;
use kymo_core::model::timeline::{
    Activity, Clock, ClockId, Content, Event, Events, Fields, Tally, TimeNs, TimelineView, Track,
    TrackId, TrackKind, Tracks, Wanted, Window,
};
use serde_json::{Map, json};

use crate::Reader;
use crate::read::{Chosen, Merged, sweep};
use crate::render::{Collected, Plain};
use facts::{Facts, Telling};
use lanes::{Lanes, Recent};
use place::Place;

pub(crate) use facts::Switches;

/// The timeline of a trace.
pub(crate) struct Timeline {
    reader: Arc<Reader>,
    /// Found when they are first asked for, since all events are gone through for that.
    lanes: OnceLock<Lanes>,
    /// Made when they are first asked for, too.
    tracks: OnceLock<Tracks>,
    /// The first and the last moment, for which the ends of all streams are read. Metadata may name
    /// any number of clocks, and each is asked for.
    range: OnceLock<Option<(i64, i64)>>,
    /// Whether all clocks count from the Epoch.
    is_since_epoch: bool,
}

impl Timeline {
    pub(crate) fn new(reader: Arc<Reader>) -> Self {
        let is_since_epoch = reader.clocks().iter().all(crate::types::Clock::since_epoch);
        let (lanes, tracks, range) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { reader, lanes, tracks, range, is_since_epoch }
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
            clock: self.clock_of(track.part),
            content: "ctf".into(),
            attributes: attributes.into(),
        }
    }

    /// The clock of a trace. It has one, or what its streams use is not known before events are
    /// read. Clocks that count from the Epoch are one.
    fn clock_of(&self, part: usize) -> Option<ClockId> {
        let own = self.reader.parts().get(part).and_then(|part| part.clocks.first().copied());
        own.map(|place| if self.is_since_epoch { ClockId(0) } else { ClockId(place) })
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
        let clocks = self.reader.clocks().iter();
        let count = if self.is_since_epoch { 1 } else { usize::MAX };
        clocks
            .take(count)
            .map(|clock| Clock {
                name: clock.name.clone(),
                recording: 0,
                since_epoch: clock.since_epoch(),
            })
            .collect()
    }

    fn tracks(&self) -> Tracks {
        let streams = || self.reader.tracks().iter().map(|track| self.track(track));
        self.tracks.get_or_init(|| streams().chain(self.lanes().tracks()).collect()).clone()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(self.told(window, || Telling::Text(Plain::default())))
    }

    fn events_with_fields(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(self.told(window, || Telling::Fields(Collected::default())))
    }

    fn file_of(&self, track: TrackId, time: Option<TimeNs>, offset: u64) -> Option<String> {
        let place = Place { time_ns: time.map(|time| time.0), offset };
        let packet = match self.reader.tracks().get(track.0) {
            Some(stream) => place.in_stream(&self.reader, stream),
            // What happens to tasks is in any stream.
            None => place.anywhere(&self.reader),
        };
        Some(self.reader.file_name(packet?.file))
    }

    fn tallies(self: Arc<Self>, window: &Window) -> Result<Vec<Tally>> {
        if window.last.is_none() {
            return Ok(self.tallied(window));
        }
        let count = self.reader.tracks().len() + self.lanes().len();
        Tally::of(&mut *self.events(window)?, count)
    }

    fn range(self: Arc<Self>, _clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        let range = *self.range.get_or_init(|| self.reader.time_range());
        Ok(range.map(|(first, last)| TimeNs(first)..=TimeNs(last)))
    }
}

impl Timeline {
    /// Counts events stream by stream: their order does not matter, and nobody reads their texts.
    fn tallied(&self, window: &Window) -> Vec<Tally> {
        let (reader, lanes) = (&*self.reader, self.lanes());
        let count = reader.tracks().len() + lanes.len();
        let (wanted, mut tallies) = (window.wanted(count), vec![Tally::default(); count]);
        let mut facts = Facts::telling(&lanes.roles, Telling::Nothing);
        let mut recent = Recent::default();
        for (stream, packets) in self.chosen(window).packets(reader) {
            let _ = sweep(reader, &packets, &mut facts, |taken, facts| {
                let time = taken.head.time_ns.map(TimeNs);
                if !window.holds(time) {
                    return ControlFlow::Continue(());
                }
                let mut see = |track: TrackId| {
                    if let Some(tally) = tallies.get_mut(track.0).filter(|_| wanted.has(track)) {
                        tally.count(time);
                    }
                };
                see(TrackId(stream));
                if let Some(role) = lanes.roles.get(taken.event.kind) {
                    let cpu = taken.packet.cpu;
                    lanes.tell(role, cpu, facts, &mut recent, &mut |(track, _)| see(track));
                }
                ControlFlow::Continue(())
            });
        }
        tallies
    }

    fn told(self: Arc<Self>, window: &Window, telling: fn() -> Telling) -> Box<dyn Events> {
        match window.last {
            None => Box::new(All::new(self, window, telling())),
            Some(last) => Box::new(Last(self.last(window, last, telling))),
        }
    }

    /// The last events: those of the last packets, and of ever more packets while they are too few.
    fn last(
        self: &Arc<Self>,
        window: &Window,
        last: u64,
        telling: fn() -> Telling,
    ) -> VecDeque<Kept> {
        let begins = self.chosen(window).begins_ns(&self.reader);
        let mut packets = self.reader.tracks().len();
        loop {
            let from = begins.get(packets).copied().map(TimeNs);
            let part = Window { from: from.max(window.from), ..window.clone() };
            let kept = All::new(Arc::clone(self), &part, telling()).last(last);
            if part.from == window.from || kept.len() as u64 >= last {
                return kept;
            }
            packets = packets.saturating_mul(4).max(1);
        }
    }
}

/// What an event is on a track; nothing means its text or its fields.
type Happening = (TrackId, Option<Activity<'static>>);

/// Events as they come.
struct All {
    timeline: Arc<Timeline>,
    merged: Merged,
    window: Window,
    wanted: Wanted,
    facts: Facts,
    recent: Recent,
    /// What the event that was read last still is, when it was, and where.
    pending: VecDeque<Happening>,
    time: Option<TimeNs>,
    offset: u64,
    /// Its text, or its fields.
    text: String,
    fields: Fields<'static>,
}

impl All {
    fn new(timeline: Arc<Timeline>, window: &Window, telling: Telling) -> Self {
        let chosen = timeline.chosen(window);
        let streams = timeline.reader.tracks().len();
        let wanted = window.wanted(streams + timeline.lanes().len());
        let telling = if wanted.has_any(0..streams) { telling } else { Telling::Nothing };
        Self {
            merged: Merged::new(&timeline.reader, &chosen),
            facts: Facts::telling(&timeline.lanes().roles, telling),
            timeline,
            window: window.clone(),
            wanted,
            recent: Recent::default(),
            pending: VecDeque::new(),
            time: None,
            offset: 0,
            text: String::new(),
            fields: Fields::default(),
        }
    }

    fn advance(&mut self) -> Option<Happening> {
        loop {
            if let Some(happening) = self.pending.pop_front() {
                return Some(happening);
            }
            self.read()?;
        }
    }

    /// Reads an event, and notes what it is on which tracks.
    fn read(&mut self) -> Option<()> {
        let (stream_track, taken) = self.merged.next(&mut self.facts)?;
        self.time = taken.head.time_ns.map(TimeNs);
        if !self.window.holds(self.time) {
            return Some(());
        }
        self.offset = taken.offset;
        if self.wanted.has(TrackId(stream_track)) {
            match &mut self.facts.telling {
                Telling::Nothing => {}
                Telling::Text(plain) => write_text(&taken.event.name, &plain.text, &mut self.text),
                Telling::Fields(collected) => {
                    let name = taken.event.name.to_string().into();
                    self.fields = Fields { name, fields: collected.take() };
                }
            }
            self.pending.push_back((TrackId(stream_track), None));
        }
        let lanes = self.timeline.lanes();
        if let Some(role) = lanes.roles.get(taken.event.kind) {
            let Self { wanted, pending, recent, facts, .. } = self;
            lanes.tell(role, taken.packet.cpu, facts, recent, &mut |(track, activity)| {
                if wanted.has(track) {
                    pending.push_back((track, Some(activity)));
                }
            });
        }
        Some(())
    }

    /// What happened on a track by itself.
    fn content(&mut self, activity: Option<Activity<'static>>) -> Content<'static> {
        match (activity, &self.facts.telling) {
            (Some(activity), _) => Content::Activity(activity),
            (None, Telling::Fields(_)) => Content::Fields(std::mem::take(&mut self.fields)),
            (None, _) => Content::Text(self.text.clone().into()),
        }
    }

    /// The last events.
    fn last(mut self, last: u64) -> VecDeque<Kept> {
        let mut kept = VecDeque::new();
        while let Some((track, activity)) = self.advance() {
            let is_full = kept.len() as u64 >= last;
            let _ = if is_full { kept.pop_front() } else { None };
            if last > 0 {
                let (time, offset) = (self.time, self.offset);
                kept.push_back(Kept { track, time, offset, content: self.content(activity) });
            }
        }
        kept
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
        let Some((track, activity)) = self.advance() else { return Ok(None) };
        let content = match (activity, &self.facts.telling) {
            (Some(activity), _) => Content::Activity(activity),
            (None, Telling::Fields(_)) => Content::Fields(std::mem::take(&mut self.fields)),
            (None, _) => Content::Text(self.text.as_str().into()),
        };
        let (time, offset) = (self.time, self.offset);
        Ok(Some(Event { track, time, offset, content, payload: &[], partial: None }))
    }
}

/// An event that is kept.
struct Kept {
    track: TrackId,
    time: Option<TimeNs>,
    offset: u64,
    content: Content<'static>,
}

/// The last events, which were kept.
struct Last(VecDeque<Kept>);

impl Events for Last {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let event = self.0.pop_front().map(|Kept { track, time, offset, content }| Event {
            track,
            time,
            offset,
            content,
            payload: &[],
            partial: None,
        });
        Ok(event)
    }
}
