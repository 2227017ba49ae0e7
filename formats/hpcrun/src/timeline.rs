//! Traces as a timeline: a track for each thread, a sample for each record.

use std::ops::RangeInclusive;
use std::sync::Arc;

use kymo_core::Result;
use kymo_core::model::timeline::{
    Clock, ClockId, Content, Event, Events, TimeNs, TimelineView, Track, TrackId, TrackKind, Window,
};
use serde_json::{Map, Value, json};

use crate::dataset::Opened;
use crate::measurement::Part;
use crate::read::Trace;

/// The traces of a measurement.
pub(crate) struct Timeline {
    opened: Arc<Opened>,
    /// The recordings that have a trace: one track each.
    traced: Vec<usize>,
}

impl Timeline {
    /// Nothing where nothing was traced.
    pub(crate) fn new(opened: Arc<Opened>) -> Option<Self> {
        let recordings = opened.measurement.recordings.iter().enumerate();
        let traced = recordings.filter(|(_, part)| part.trace.is_some());
        let traced: Vec<_> = traced.map(|(index, _)| index).collect();
        (!traced.is_empty()).then_some(Self { opened, traced })
    }

    fn part(&self, track: TrackId) -> Option<&Part> {
        self.opened.measurement.recordings.get(*self.traced.get(track.0)?)
    }

    fn trace(&self, track: TrackId) -> Option<&Arc<Trace>> {
        self.part(track)?.trace.as_ref()
    }
}

impl TimelineView for Timeline {
    fn clocks(&self) -> Vec<Clock> {
        vec![Clock { name: "time".to_owned(), recording: 0, since_epoch: true }]
    }

    fn tracks(&self) -> Vec<Track> {
        let recordings = &self.opened.measurement.recordings;
        let parts = self.traced.iter().filter_map(|index| Some((*index, recordings.get(*index)?)));
        let track = |(recording, part): (usize, &Part)| Track {
            name: part.label(),
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
        let mut samples = Samples::new(Arc::clone(&self), window);
        if let Some(last) = window.last {
            let mut skip = Samples::new(self, window).count().saturating_sub(last);
            while skip > 0 && samples.step().is_some() {
                skip -= 1;
            }
        }
        Ok(Box::new(samples))
    }

    fn range(self: Arc<Self>, clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        let mut range: Option<(i64, i64)> = None;
        for track in (0..self.traced.len()).map(TrackId).filter(|_| clock == ClockId(0)) {
            let Some(trace) = self.trace(track) else { continue };
            let times = trace.iter(0..trace.len()).filter_map(|r| trace.nanoseconds(r.time));
            range = times.fold(range, |range, time| match range {
                None => Some((time, time)),
                Some((first, last)) => Some((first.min(time), last.max(time))),
            });
        }
        Ok(range.map(|(first, last)| TimeNs(first)..=TimeNs(last)))
    }
}

/// What a track says of its thread.
fn attributes(part: &Part) -> Map<String, Value> {
    let mut attributes = Map::new();
    attributes.insert("name".into(), json!(part.name));
    for pair in part.profile.iter().flat_map(|profile| &profile.header.nv) {
        attributes.insert(pair.name.to_string(), json!(pair.value.text()));
    }
    attributes
}

/// Samples of a window, track after track.
struct Samples {
    timeline: Arc<Timeline>,
    window: Window,
    track: usize,
    next: usize,
    payload: Vec<u8>,
}

/// A record that is asked for.
struct Sample {
    track: TrackId,
    index: usize,
    time: Option<TimeNs>,
    node: u32,
}

impl Samples {
    fn new(timeline: Arc<Timeline>, window: &Window) -> Self {
        Self { timeline, window: window.clone(), track: 0, next: 0, payload: Vec::new() }
    }

    fn count(mut self) -> u64 {
        let mut count = 0;
        while self.step().is_some() {
            count += 1;
        }
        count
    }

    fn step(&mut self) -> Option<Sample> {
        while self.track < self.timeline.traced.len() {
            let track = TrackId(self.track);
            let records = Arc::clone(self.timeline.trace(track)?);
            while let Some(record) = records.get(self.next).filter(|_| self.window.wants(track)) {
                let index = self.next;
                self.next += 1;
                let time = records.nanoseconds(record.time).map(TimeNs);
                if self.window.holds(time) {
                    return Some(Sample { track, index, time, node: record.node });
                }
            }
            self.track += 1;
            self.next = 0;
        }
        None
    }
}

impl Events for Samples {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let Some(Sample { track, index, time, node }) = self.step() else { return Ok(None) };
        let offset = self.timeline.trace(track).map_or(0, |trace| trace.offset_of(index));
        let recording = self.timeline.traced.get(track.0).copied().unwrap_or(0);
        let model = self.timeline.opened.model();
        let number = model.and_then(|model| model.context(recording, node));
        let number = number.map_or(u64::from(node), |context| context.0);
        self.payload.clear();
        self.payload.extend_from_slice(&node.to_be_bytes());
        let content = Content::Sample(number);
        Ok(Some(Event { track, time, offset, content, payload: &self.payload }))
    }
}
