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
use kymo_model::timeline::{
    Activity, Clock, ClockId, Content, Event, EventFilter, Events, FieldedEvents, Fields, TimeNs,
    TimelineView, Track, TrackId, TrackKind, TrackSet, TrackStatistics, Tracks, Window, WithFields,
};
use serde_json::{Map, json};

use crate::Reader;
use crate::notices::EventNotices;
use crate::read::{EventSelection, Gap, Layouts, Merged, Next, StreamLayout, sweep_with_gaps};
use crate::render::{FieldValues, Plain};
use crate::scales::{Scales, Span};
use facts::{Facts, FieldRequest};
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
    /// Places of the events that were asked for last.
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
            clock: self.scales.scale_index(&self.reader, track).map(ClockId),
            content: "ctf".into(),
            attributes: attributes.into(),
        }
    }

    /// The streams to read for a window. What happens to tasks is in any of them.
    fn chosen(&self, window: &Window) -> EventSelection {
        let streams = self.reader.tracks().len();
        let tracks = window.tracks.as_ref().map(|tracks| tracks.iter().map(|track| track.0));
        let tracks = tracks.map(Iterator::collect::<Vec<_>>);
        EventSelection {
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
        Ok(self.open_events(window, None, || FieldRequest::Text(Plain::default())))
    }

    fn declared(&self) -> Option<Vec<String>> {
        let events = self.layouts().flat_map(|(_, stream)| &stream.events);
        Some(events.map(|event| event.name.to_string()).collect())
    }

    fn filtered_events(
        self: Arc<Self>,
        window: &Window,
        asked: EventFilter<'_>,
    ) -> Result<Box<dyn Events>> {
        let kinds = self.requested_kinds(asked);
        Ok(self.open_events(window, Some(kinds), || FieldRequest::Text(Plain::default())))
    }

    fn events_and_fields(
        self: Arc<Self>,
        window: &Window,
        asked: EventFilter<'_>,
    ) -> Result<Box<dyn FieldedEvents>> {
        let kinds = Some(self.requested_kinds(asked));
        let both = || FieldRequest::Both(Plain::default(), FieldValues::default());
        Ok(match window.last {
            None => Box::new(AllEvents::open(self, window, kinds, both())),
            Some(last) => Box::new(LastEvents(self.last(window, last, kinds.as_ref(), both))),
        })
    }

    fn events_with_fields(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(self.open_events(window, None, || FieldRequest::Fields(FieldValues::default())))
    }

    fn has_fields(&self) -> bool {
        true
    }

    fn file_of(&self, track: TrackId, time: Option<TimeNs>, offset: u64) -> Option<String> {
        let place = Place { time_ns: time.map(|time| time.0), offset };
        let packet = match self.reader.tracks().get(track.0) {
            Some(stream) => place.in_stream(&self.reader, stream, &self.places),
            // What happens to tasks is in any stream.
            None => place.anywhere(&self.reader, &self.places),
        };
        Some(self.reader.file_name(packet?.file))
    }

    fn tallies(self: Arc<Self>, window: &Window) -> Result<Vec<TrackStatistics>> {
        if window.last.is_none() {
            return Ok(self.tallied(window));
        }
        let count = self.reader.tracks().len() + self.lanes().len();
        TrackStatistics::from_events(&mut *self.events(window)?, count)
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
    fn tallied(&self, window: &Window) -> Vec<TrackStatistics> {
        let (reader, lanes) = (&*self.reader, self.lanes());
        let count = reader.tracks().len() + lanes.len();
        let (wanted, mut tallies) =
            (window.track_set(count), vec![TrackStatistics::default(); count]);
        let mut facts = Facts::with_fields(&lanes.roles, FieldRequest::Nothing);
        let mut recent = Recent::default();
        for (stream, packets) in self.chosen(window).packets(reader) {
            let (_, gaps) = sweep_with_gaps(reader, &packets, &mut facts, |taken, facts| {
                let time = taken.head.time_ns.map(TimeNs);
                if !window.holds(time) {
                    return ControlFlow::Continue(());
                }
                let mut see = |track: TrackId| {
                    if let Some(tally) = tallies.get_mut(track.0).filter(|_| wanted.contains(track))
                    {
                        tally.count(time);
                    }
                };
                see(TrackId(stream));
                if let Some(role) = lanes.roles.get(taken.event.kind) {
                    let cpu = facts.cpu(taken.packet);
                    lanes.interpret(role, cpu, facts, &mut recent, &mut |(track, _)| see(track));
                }
                ControlFlow::Continue(())
            });
            for gap in gaps {
                let time = Some(TimeNs(gap.time_ns));
                let track = lanes.gap(gap.cpu).map(|(track, _)| track);
                let track = track.filter(|track| window.holds(time) && wanted.contains(*track));
                if let Some(tally) = track.and_then(|track| tallies.get_mut(track.0)) {
                    tally.count(time);
                }
            }
        }
        tallies
    }

    fn layouts(&self) -> impl Iterator<Item = (&Layouts, &StreamLayout)> {
        let parts = self.reader.parts().iter();
        parts.flat_map(|part| part.layouts.streams().map(|stream| (&part.layouts, stream)))
    }

    /// Returns true if each kind of event is asked for, by their numbers.
    fn requested_kinds(&self, EventFilter { is_called, is_field }: EventFilter<'_>) -> Vec<bool> {
        let mut kinds = Vec::new();
        for (layouts, stream) in self.layouts() {
            // What all events of a stream have is looked up once.
            let has = |root, is_it: &dyn Fn(&str) -> bool| layouts.has_name(root, is_it);
            let own: Vec<_> =
                is_field.iter().filter(|is_it| !has(stream.event_context, is_it)).collect();
            for event in &stream.events {
                let has_one = |is_it: &dyn Fn(&str) -> bool| {
                    has(event.context, is_it) || has(event.fields, is_it)
                };
                kinds.resize(kinds.len().max(event.kind + 1), false);
                if let Some(kind) = kinds.get_mut(event.kind) {
                    *kind = is_called(&event.name) && own.iter().all(|is_it| has_one(is_it));
                }
            }
        }
        kinds
    }

    fn open_events(
        self: Arc<Self>,
        window: &Window,
        kinds: Option<Vec<bool>>,
        telling: fn() -> FieldRequest,
    ) -> Box<dyn Events> {
        match window.last {
            None => Box::new(AllEvents::open(self, window, kinds, telling())),
            Some(last) => Box::new(LastEvents(self.last(window, last, kinds.as_ref(), telling))),
        }
    }

    /// The last events: those of the last packets, and of ever more packets while they are too few.
    fn last(
        self: &Arc<Self>,
        window: &Window,
        last: u64,
        kinds: Option<&Vec<bool>>,
        telling: fn() -> FieldRequest,
    ) -> VecDeque<KeptEvent> {
        let begins = self.chosen(window).begins_ns(&self.reader);
        let mut packets = self.reader.tracks().len();
        loop {
            let from = begins.get(packets).copied().map(TimeNs);
            let part = Window { from: from.max(window.from), ..window.clone() };
            let kept =
                AllEvents::open(Arc::clone(self), &part, kinds.cloned(), telling()).last(last);
            if part.from == window.from || kept.len() as u64 >= last {
                return kept;
            }
            packets = packets.saturating_mul(4).max(1);
        }
    }
}

/// Activity of an event on a track; `None` means its text or its fields.
type Happening = (TrackId, Option<Activity<'static>>);

/// Events as they come.
struct AllEvents {
    timeline: Arc<Timeline>,
    merged: Merged,
    window: Window,
    wanted: TrackSet,
    facts: Facts,
    recent: Recent,
    /// Further meanings of the event that was read last, with its time and its offset.
    pending: VecDeque<Happening>,
    time: Option<TimeNs>,
    offset: u64,
    /// Its name, and the trace it is of.
    name: Arc<str>,
    part: usize,
    marks: EventNotices,
}

impl AllEvents {
    fn open(
        timeline: Arc<Timeline>,
        window: &Window,
        kinds: Option<Vec<bool>>,
        telling: FieldRequest,
    ) -> Self {
        let chosen = timeline.chosen(window);
        let streams = timeline.reader.tracks().len();
        let wanted = window.track_set(streams + timeline.lanes().len());
        let telling = if wanted.has_any(0..streams) { telling } else { FieldRequest::Nothing };
        let mut facts = Facts::with_fields(&timeline.lanes().roles, telling);
        facts.set_kinds(kinds);
        Self {
            merged: Merged::new(&timeline.reader, &chosen),
            facts,
            timeline,
            window: window.clone(),
            wanted,
            recent: Recent::default(),
            pending: VecDeque::new(),
            time: None,
            offset: 0,
            name: "".into(),
            part: 0,
            marks: EventNotices::for_texts(),
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
            self.marks.report(&self.timeline.reader);
            return None;
        };
        let taken = match next {
            Next::Event(taken) => taken,
            Next::Gap(gap) => {
                self.mark_loss(&gap);
                return Some(());
            }
        };
        self.time = taken.head.time_ns.map(TimeNs);
        if !self.window.holds(self.time) {
            return Some(());
        }
        self.offset = taken.offset;
        if self.wanted.contains(TrackId(stream_track)) && self.facts.wants_fields(taken.event.kind)
        {
            if let FieldRequest::Fields(_) | FieldRequest::Both(..) = self.facts.telling {
                (self.name, self.part) = (Arc::clone(&taken.event.name), taken.packet.part);
            }
            if self.facts.is_broken() {
                self.marks.add(&self.timeline.reader, stream_track, &taken);
            }
            self.pending.push_back((TrackId(stream_track), None));
        }
        let lanes = self.timeline.lanes();
        if let Some(role) = lanes.roles.get(taken.event.kind) {
            let Self { wanted, pending, recent, facts, .. } = self;
            lanes.interpret(role, facts.cpu(taken.packet), facts, recent, &mut |(
                track,
                activity,
            )| {
                if wanted.contains(track) {
                    pending.push_back((track, Some(activity)));
                }
            });
        }
        Some(())
    }

    /// Notes that events are missing.
    fn mark_loss(&mut self, gap: &Gap) {
        (self.time, self.offset) = (Some(TimeNs(gap.time_ns)), gap.offset);
        let is_held = self.window.holds(self.time);
        let told =
            self.timeline.lanes().gap(gap.cpu).filter(|(track, _)| self.wanted.contains(*track));
        self.pending
            .extend(told.filter(|_| is_held).map(|(track, activity)| (track, Some(activity))));
    }

    /// Returns the content of an event on a track; beside a text its fields, where both are asked
    /// for.
    fn content(
        &mut self,
        activity: Option<Activity<'static>>,
    ) -> (Content<'_>, Option<Fields<'_>>) {
        if let Some(activity) = activity {
            return (Content::Activity(activity), None);
        }
        let layouts = self.timeline.reader.layouts(self.part);
        let name = Cow::Borrowed(&*self.name);
        match &mut self.facts.telling {
            FieldRequest::Nothing => (Content::Text("".into()), None),
            FieldRequest::Text(plain) => (Content::Text(plain.text.as_str().into()), None),
            FieldRequest::Fields(collected) => {
                (Content::Fields(Fields { name, fields: collected.take(layouts) }), None)
            }
            FieldRequest::Both(plain, collected) => {
                let fields = Fields { name, fields: collected.take(layouts) };
                (Content::Text(plain.text.as_str().into()), Some(fields))
            }
        }
    }

    /// The last events.
    fn last(mut self, last: u64) -> VecDeque<KeptEvent> {
        let mut found = VecDeque::new();
        while let Some((track, activity)) = self.advance() {
            let is_full = found.len() as u64 >= last;
            let _ = if is_full { found.pop_front() } else { None };
            if last > 0 {
                let (time, offset) = (self.time, self.offset);
                let (content, fields) = match activity {
                    Some(activity) => (Content::Activity(activity), None),
                    None => owned_event(self.content(None)),
                };
                found.push_back(KeptEvent { track, time, offset, content, fields });
            }
        }
        found
    }
}

/// The text and the fields of an event, by themselves.
fn owned_event(
    (content, fields): (Content<'_>, Option<Fields<'_>>),
) -> (Content<'static>, Option<Fields<'static>>) {
    let content = match content {
        Content::Text(text) => Content::Text(text.into_owned().into()),
        Content::Fields(fields) => Content::Fields(fields.into_owned()),
        _ => Content::Payload,
    };
    (content, fields.map(Fields::into_owned))
}

impl FieldedEvents for AllEvents {
    fn next_event(&mut self) -> Result<Option<WithFields<'_>>> {
        let Some((track, activity)) = self.advance() else { return Ok(None) };
        let (time, offset) = (self.time, self.offset);
        let (content, fields) = self.content(activity);
        Ok(Some((Event { track, time, offset, content, payload: &[], partial: None }, fields)))
    }
}

impl Events for AllEvents {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        Ok(self.next_event()?.map(|(event, _)| event))
    }
}

/// An event that is kept.
struct KeptEvent {
    track: TrackId,
    time: Option<TimeNs>,
    offset: u64,
    content: Content<'static>,
    fields: Option<Fields<'static>>,
}

/// The last events, which were kept.
struct LastEvents(VecDeque<KeptEvent>);

impl FieldedEvents for LastEvents {
    fn next_event(&mut self) -> Result<Option<WithFields<'_>>> {
        let next = self.0.pop_front();
        Ok(next.map(|KeptEvent { track, time, offset, content, fields }| {
            (Event { track, time, offset, content, payload: &[], partial: None }, fields)
        }))
    }
}

impl Events for LastEvents {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        Ok(self.next_event()?.map(|(event, _)| event))
    }
}
