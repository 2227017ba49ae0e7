//! Traces as a timeline: a track for each thread, a sample for each record.
//!
//! A sample's payload is its record without the time: the node, and the metric of data-centric
//! traces, in the byte order that the track tells.

use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, OnceLock};

use kymo_core::model::timeline::{
    Clock, ClockId, Content, Event, Events, Merged, Run, TimeNs, TimelineView, Track, TrackId,
    TrackKind, Window,
};
use kymo_core::{Error, Result};
use serde_json::{Map, Value, json};

use crate::dataset::Opened;
use crate::measurement::Part;
use crate::model::{Contexts, Sampled};
use crate::read::Trace;
use crate::types::TraceRecord;

/// The traces of a measurement.
pub(crate) struct Timeline {
    opened: Arc<Opened>,
    /// The recordings that have a trace: one track each.
    traced: Vec<usize>,
    /// For each track the order of its records, where that is not the order of the file.
    orders: Vec<OnceLock<Option<Arc<[u32]>>>>,
}

impl Timeline {
    /// Nothing where nothing was traced.
    pub(crate) fn new(opened: Arc<Opened>) -> Option<Self> {
        let recordings = opened.with_beside().recordings.iter().enumerate();
        let traced = recordings.filter(|(_, part)| part.trace.is_some());
        let traced: Vec<_> = traced.map(|(index, _)| index).collect();
        let orders = traced.iter().map(|_| OnceLock::new()).collect();
        (!traced.is_empty()).then_some(Self { opened, traced, orders })
    }

    /// The samples of a track that a window holds.
    fn samples(self: &Arc<Self>, track: TrackId, window: &Window) -> Option<Samples> {
        let recording = *self.traced.get(track.0)?;
        let part = self.opened.with_beside().recordings.get(recording)?;
        let order = self.orders.get(track.0)?;
        let mut samples = Samples {
            opened: Arc::clone(&self.opened),
            track,
            recording,
            trace: part.trace.clone()?,
            order: order.get_or_init(|| self.order(recording, part)).clone(),
            contexts: None,
            places: 0..0,
            odd: Odd::default(),
        };
        let length = samples.trace.len();
        let edge = |time: Option<TimeNs>, or| time.map_or(or, |time| samples.not_before(time));
        let places = edge(window.from, 0)..edge(window.until, length);
        samples.places = places;
        Some(samples)
    }

    /// The records of a trace by their times, those of one time as they are in the file, those
    /// without any last. Nothing where that is the order of the file. It is said unless the profile
    /// tells it.
    fn order(&self, recording: usize, part: &Part) -> Option<Arc<[u32]>> {
        let trace = part.trace.as_ref()?;
        let times = trace.times();
        if times.back.is_none() && times.meaningless.is_none() {
            return None;
        }
        if let Some((count, first)) = part.unordered() {
            self.opened.note(recording, "trace-order", count, trace.offset_of(first));
        }
        let mut order: Vec<_> = (0..u32::try_from(trace.len()).ok()?).collect();
        order.sort_by_cached_key(|place| {
            let record = usize::try_from(*place).ok().and_then(|place| trace.get(place));
            let time = record.map_or(0, |record| record.time);
            (trace.nanoseconds(time).is_none(), time)
        });
        Some(order.into())
    }
}

impl TimelineView for Timeline {
    fn clocks(&self) -> Vec<Clock> {
        vec![Clock { name: "time".to_owned(), recording: 0, since_epoch: true }]
    }

    fn tracks(&self) -> Vec<Track> {
        let recordings = &self.opened.with_beside().recordings;
        let parts = self.traced.iter().filter_map(|index| Some((*index, recordings.get(*index)?)));
        let track = |(recording, part): (usize, &Part)| Track {
            name: part.label.clone(),
            recording,
            parent: None,
            kind: TrackKind::Samples,
            clock: Some(ClockId(0)),
            content: "calling context".to_owned(),
            attributes: attributes(part),
        };
        parts.map(track).collect()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        let tracks = (0..self.traced.len()).map(TrackId).filter(|track| window.wants(*track));
        let samples = tracks.filter_map(|track| Some(self.samples(track, window)?.with_contexts()));
        Ok(Box::new(Merged::new(samples.collect(), window)?))
    }

    fn range(self: Arc<Self>, clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        let mut range: Option<(TimeNs, TimeNs)> = None;
        for track in (0..self.traced.len()).map(TrackId).filter(|_| clock == ClockId(0)) {
            let Some(samples) = self.samples(track, &Window::default()) else { continue };
            let Some((start, end)) = samples.ends() else { continue };
            range =
                Some(range.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
        }
        Ok(range.map(|(first, last)| first..=last))
    }
}

/// What a track says of its thread.
fn attributes(part: &Part) -> Map<String, Value> {
    let mut attributes = Map::new();
    for pair in part.profile.iter().flat_map(|profile| &profile.header.nv) {
        attributes.insert(pair.name.to_string(), json!(pair.value.text()));
    }
    // What we say is last: a file may have pairs of any name.
    attributes.insert("name".into(), json!(part.name));
    // The track has a short name; this is the one that profiles and databases have.
    attributes.insert(Track::THREAD.into(), json!(part.thread.to_string()));
    if let Some(trace) = &part.trace {
        attributes.insert("byte_order".into(), json!(trace.endian.name()));
    }
    attributes
}

/// The samples of a track, in the order of their times.
struct Samples {
    opened: Arc<Opened>,
    track: TrackId,
    recording: usize,
    trace: Arc<Trace>,
    /// The order of records, where that is not the order of the file.
    order: Option<Arc<[u32]>>,
    /// The contexts of nodes.
    contexts: Option<Arc<Contexts>>,
    places: Range<usize>,
    odd: Odd,
}

/// How many samples have no context, or more than one, and the first byte of them.
#[derive(Default)]
struct Odd {
    nowhere: Option<(u64, u64)>,
    shared: Option<(u64, u64)>,
}

impl Samples {
    fn with_contexts(mut self) -> Self {
        let model = self.opened.model();
        self.contexts = model.and_then(|model| model.contexts(self.recording)).cloned();
        self
    }

    /// Where the record is that comes at a place in the order of times, and what it says.
    fn record(&self, place: usize) -> Option<(usize, TraceRecord)> {
        let index = match &self.order {
            None => place,
            Some(order) => usize::try_from(*order.get(place)?).ok()?,
        };
        Some((index, self.trace.get(index)?))
    }

    fn time(&self, place: usize) -> Option<TimeNs> {
        let (_, record) = self.record(place)?;
        self.trace.nanoseconds(record.time).map(TimeNs)
    }

    /// The first place whose time is not before a moment. What has no time is after all that has
    /// one: its number is too large.
    fn not_before(&self, moment: TimeNs) -> usize {
        self.first(|time| time.is_none_or(|time| time >= moment))
    }

    /// The first and the last moment.
    fn ends(&self) -> Option<(TimeNs, TimeNs)> {
        let last = self.first(|time| time.is_none()).checked_sub(1)?;
        self.time(0).zip(self.time(last))
    }

    /// The first place for whose time something holds, which then does for all that follow.
    fn first(&self, holds: impl Fn(Option<TimeNs>) -> bool) -> usize {
        let (mut from, mut until) = (0, self.trace.len());
        while from < until {
            let middle = from + (until - from) / 2;
            if holds(self.time(middle)) { until = middle } else { from = middle + 1 }
        }
        from
    }

    /// The context of a node of the track's profile; what has none is counted.
    fn content(&mut self, node: u32, offset: u64) -> Content<'static> {
        let count = |found: &mut Option<(u64, u64)>| {
            let (count, first) = found.unwrap_or((0, offset));
            *found = Some((count + 1, first.min(offset)));
        };
        let Some(contexts) = &self.contexts else {
            count(&mut self.odd.nowhere);
            return Content::Payload;
        };
        match contexts.find(node) {
            Sampled::Context(context) => {
                if contexts.is_shared(node) {
                    count(&mut self.odd.shared);
                }
                Content::Sample(context.0)
            }
            Sampled::Program => Content::Payload,
            Sampled::Nothing => {
                count(&mut self.odd.nowhere);
                Content::Payload
            }
        }
    }
}

impl Drop for Samples {
    fn drop(&mut self) {
        for (rule, found) in [("trace-node", self.odd.nowhere), ("trace-epoch", self.odd.shared)] {
            if let Some((count, first)) = found {
                self.opened.note(self.recording, rule, count, first);
            }
        }
    }
}

impl Run for Samples {
    fn places(&self) -> Range<u64> {
        self.places.start as u64..self.places.end as u64
    }

    fn time(&self, place: u64) -> Result<Option<TimeNs>> {
        Ok(usize::try_from(place).ok().and_then(|place| self.time(place)))
    }

    fn event(&mut self, place: u64) -> Result<Event<'_>> {
        let record = usize::try_from(place).ok().and_then(|place| self.record(place));
        let (index, record) =
            record.ok_or_else(|| Error::request("a trace has fewer records than before"))?;
        let offset = self.trace.offset_of(index);
        let content = self.content(record.node, offset);
        let time = self.trace.nanoseconds(record.time).map(TimeNs);
        let payload = self.trace.sample_bytes(index);
        Ok(Event { track: self.track, time, offset, content, payload, partial: None })
    }
}
