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

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::{Arc, OnceLock};

use kymo_core::Result;
use kymo_core::model::timeline::{
    Activity, Clock, ClockId, Content, Event, Events, Field, Fields, Tally, TimeNs, TimelineView,
    Track, TrackId, TrackKind, Tracks, Wanted, Window,
};
use serde_json::{Map, json};

use crate::Reader;
use crate::marks::Marks;
use crate::read::{Chosen, Gap, Merged, Next, sweep_with_gaps};
use crate::render::{Collected, Plain};
use crate::scales::{Scales, Span};
use facts::{Facts, Telling};
use lanes::{Lanes, Recent};
use place::{Place, Places};

pub(crate) use facts::Switches;

/// The timeline of a trace.
pub(crate) struct Timeline {
    reader: Arc<Reader>,
    /// Found when they are first asked for, since all events are gone through for that.
    lanes: OnceLock<Lanes>,
    /// Made when they are first asked for, too.
    tracks: OnceLock<Tracks>,
    /// The first and the last moment of each clock, for which the ends of all streams are read.
    /// Metadata may name any number of clocks, and each is asked for.
    ranges: OnceLock<Vec<Span>>,
    /// The clocks: those that count from the Epoch are one.
    scales: Scales,
    /// Where the events are that were asked for last.
    places: Places,
}

impl Timeline {
    pub(crate) fn new(reader: Arc<Reader>) -> Self {
        let (scales, places) = (Scales::new(&reader), Places::default());
        let (lanes, tracks, ranges) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { reader, lanes, tracks, ranges, scales, places }
    }

    fn lanes(&self) -> &Lanes {
        self.lanes.get_or_init(|| Lanes::new(&self.reader, &self.scales))
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
            clock: self.scales.of(&self.reader, track).map(ClockId),
            content: "ctf".into(),
            attributes: attributes.into(),
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
        let clocks = self.scales.clocks.iter().filter_map(|place| self.reader.clocks().get(*place));
        clocks
            .map(|clock| Clock {
                name: clock.name.clone(),
                recording: 0,
                since_epoch: clock.since_epoch,
            })
            .collect()
    }

    fn tracks(&self) -> Tracks {
        let streams = || self.reader.tracks().iter().map(|track| self.track(track));
        self.tracks.get_or_init(|| streams().chain(self.lanes().tracks()).collect()).clone()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(self.told(window, None, || Telling::Text(Plain::default())))
    }

    fn events_called(
        self: Arc<Self>,
        window: &Window,
        is_called: &dyn Fn(&str) -> bool,
    ) -> Result<Box<dyn Events>> {
        let kinds = self.kinds_called(is_called);
        Ok(self.told(window, Some(kinds), || Telling::Text(Plain::default())))
    }

    fn events_with_fields(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(self.told(window, None, || Telling::Fields(Collected::default())))
    }

    fn has_fields(&self) -> bool {
        true
    }

    fn file_of(&self, track: TrackId, time: Option<TimeNs>, offset: u64) -> Option<String> {
        let place = Place { time_ns: time.map(|time| time.0), offset };
        let packet = match self.reader.tracks().get(track.0) {
            Some(stream) => place.in_stream(&self.reader, stream),
            // What happens to tasks is in any stream.
            None => place.anywhere(&self.reader, &self.places),
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

    fn range(self: Arc<Self>, clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        let (reader, scales) = (&self.reader, &self.scales);
        let ranges = self.ranges.get_or_init(|| scales.spans(reader, &reader.time_ranges()));
        let range = ranges.get(clock.0).copied().flatten();
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
            let (_, gaps) = sweep_with_gaps(reader, &packets, &mut facts, |taken, facts| {
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
            for gap in gaps {
                let time = Some(TimeNs(gap.time_ns));
                let track = lanes.gap(gap.cpu).map(|(track, _)| track);
                let track = track.filter(|track| window.holds(time) && wanted.has(*track));
                if let Some(tally) = track.and_then(|track| tallies.get_mut(track.0)) {
                    tally.count(time);
                }
            }
        }
        tallies
    }

    /// Whether each kind of event has a name that is asked for, by their numbers.
    fn kinds_called(&self, is_called: &dyn Fn(&str) -> bool) -> Vec<bool> {
        let streams = self.reader.parts().iter().flat_map(|part| part.layouts.streams());
        let mut kinds = Vec::new();
        for event in streams.flat_map(|stream| &stream.events) {
            kinds.resize(kinds.len().max(event.kind + 1), false);
            if let Some(kind) = kinds.get_mut(event.kind) {
                *kind = is_called(&event.name);
            }
        }
        kinds
    }

    fn told(
        self: Arc<Self>,
        window: &Window,
        kinds: Option<Vec<bool>>,
        telling: fn() -> Telling,
    ) -> Box<dyn Events> {
        match window.last {
            None => {
                let mut all = All::new(self, window, telling());
                all.facts.only(kinds);
                Box::new(all)
            }
            Some(last) => Box::new(Last(self.last(window, last, kinds.as_ref(), telling))),
        }
    }

    /// The last events: those of the last packets, and of ever more packets while they are too few.
    fn last(
        self: &Arc<Self>,
        window: &Window,
        last: u64,
        kinds: Option<&Vec<bool>>,
        telling: fn() -> Telling,
    ) -> VecDeque<Kept> {
        let begins = self.chosen(window).begins_ns(&self.reader);
        let mut packets = self.reader.tracks().len();
        loop {
            let from = begins.get(packets).copied().map(TimeNs);
            let part = Window { from: from.max(window.from), ..window.clone() };
            let mut all = All::new(Arc::clone(self), &part, telling());
            all.facts.only(kinds.cloned());
            let kept = all.last(last);
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
    /// Its name, and the trace it is of.
    name: Arc<str>,
    part: usize,
    marks: Marks,
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
            name: "".into(),
            part: 0,
            marks: Marks::default(),
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
        let Some((stream_track, next)) = self.merged.next(&mut self.facts) else {
            self.marks.tell(&self.timeline.reader);
            return None;
        };
        let taken = match next {
            Next::Event(taken) => taken,
            Next::Gap(gap) => {
                self.lacks(&gap);
                return Some(());
            }
        };
        self.time = taken.head.time_ns.map(TimeNs);
        if !self.window.holds(self.time) {
            return Some(());
        }
        self.offset = taken.offset;
        if self.wanted.has(TrackId(stream_track)) && self.facts.wants(taken.event.kind) {
            if let Telling::Fields(_) = self.facts.telling {
                (self.name, self.part) = (Arc::clone(&taken.event.name), taken.packet.part);
            }
            if self.facts.is_broken() {
                self.marks.see(&self.timeline.reader, stream_track, &taken);
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

    /// Notes that events are missing.
    fn lacks(&mut self, gap: &Gap) {
        (self.time, self.offset) = (Some(TimeNs(gap.time_ns)), gap.offset);
        let is_held = self.window.holds(self.time);
        let told = self.timeline.lanes().gap(gap.cpu).filter(|(track, _)| self.wanted.has(*track));
        self.pending
            .extend(told.filter(|_| is_held).map(|(track, activity)| (track, Some(activity))));
    }

    /// What happened on a track.
    fn content(&mut self, activity: Option<Activity<'static>>) -> Content<'_> {
        match (activity, &mut self.facts.telling) {
            (Some(activity), _) => Content::Activity(activity),
            (None, Telling::Fields(collected)) => {
                let layouts = self.timeline.reader.layouts(self.part);
                let (name, fields) = (Cow::Borrowed(&*self.name), collected.take(layouts));
                Content::Fields(Fields { name, fields })
            }
            (None, Telling::Text(plain)) => Content::Text(plain.text.as_str().into()),
            (None, Telling::Nothing) => Content::Text("".into()),
        }
    }

    /// The last events.
    fn last(mut self, last: u64) -> VecDeque<Kept> {
        let mut found = VecDeque::new();
        while let Some((track, activity)) = self.advance() {
            let is_full = found.len() as u64 >= last;
            let _ = if is_full { found.pop_front() } else { None };
            if last > 0 {
                let (time, offset) = (self.time, self.offset);
                let content = match activity {
                    Some(activity) => Content::Activity(activity),
                    None => kept(self.content(None)),
                };
                found.push_back(Kept { track, time, offset, content });
            }
        }
        found
    }
}

/// The text or the fields of an event, by themselves.
fn kept(content: Content<'_>) -> Content<'static> {
    let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
    match content {
        Content::Text(text) => Content::Text(owned(text)),
        Content::Fields(Fields { name, fields }) => {
            let field =
                |Field { name, value, bits }: Field<'_>| Field { name: owned(name), value, bits };
            let fields = fields.into_iter().map(field).collect();
            Content::Fields(Fields { name: owned(name), fields })
        }
        _ => Content::Payload,
    }
}

impl Events for All {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let Some((track, activity)) = self.advance() else { return Ok(None) };
        let (time, offset) = (self.time, self.offset);
        let content = self.content(activity);
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
