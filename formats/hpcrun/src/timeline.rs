//! Traces as a timeline: a track for each thread, a sample for each record.
//!
//! A sample's payload is its record without the time: the node, and the metric of data-centric
//! traces, in the byte order that the track tells.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

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
    /// For each track the order of its records, where that is not the order of the file.
    orders: Vec<OnceLock<Option<Vec<u32>>>>,
}

impl Timeline {
    /// Nothing where nothing was traced.
    pub(crate) fn new(opened: Arc<Opened>) -> Option<Self> {
        let recordings = opened.measurement.recordings.iter().enumerate();
        let traced = recordings.filter(|(_, part)| part.trace.is_some());
        let traced: Vec<_> = traced.map(|(index, _)| index).collect();
        let orders = traced.iter().map(|_| OnceLock::new()).collect();
        (!traced.is_empty()).then_some(Self { opened, traced, orders })
    }

    /// The place in the file of the next record of a track in the order of times.
    fn place(&self, track: TrackId, next: usize) -> usize {
        let Some(order) = self.orders.get(track.0) else { return next };
        let order = order.get_or_init(|| self.part(track).and_then(order_of));
        let Some(order) = order else { return next };
        let place = order.get(next).and_then(|place| usize::try_from(*place).ok());
        place.unwrap_or(usize::MAX)
    }

    fn part(&self, track: TrackId) -> Option<&Part> {
        self.opened.measurement.recordings.get(*self.traced.get(track.0)?)
    }

    fn trace(&self, track: TrackId) -> Option<&Arc<Trace>> {
        self.part(track)?.trace.as_ref()
    }
}

/// The records of a trace by their times, those of one time as they are in the file. Nothing
/// where the profile does not say that they are out of order.
fn order_of(part: &Part) -> Option<Vec<u32>> {
    let trace = part.trace.as_ref().filter(|_| part.is_disordered())?;
    let mut order: Vec<_> = (0..u32::try_from(trace.len()).ok()?).collect();
    let time = |place: &u32| {
        let record = usize::try_from(*place).ok().and_then(|place| trace.get(place));
        record.map(|record| record.time)
    };
    order.sort_by_cached_key(time);
    Some(order)
}

impl TimelineView for Timeline {
    fn clocks(&self) -> Vec<Clock> {
        vec![Clock { name: "time".to_owned(), recording: 0, since_epoch: true }]
    }

    fn tracks(&self) -> Vec<Track> {
        let recordings = &self.opened.measurement.recordings;
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
    // The track has a short name; this is the one that profiles and databases have.
    attributes.insert("thread".into(), json!(part.thread.to_string()));
    if let Some(trace) = &part.trace {
        attributes.insert("byte_order".into(), json!(trace.endian.name()));
    }
    for pair in part.profile.iter().flat_map(|profile| &profile.header.nv) {
        attributes.insert(pair.name.to_string(), json!(pair.value.text()));
    }
    attributes
}

/// Samples of a window, track after track.
struct Samples {
    timeline: Arc<Timeline>,
    window: Window,
    /// The track that comes next.
    track: usize,
    /// The track that is gone through, with its trace.
    current: Option<(TrackId, Arc<Trace>)>,
    next: usize,
    /// Samples of each recording that have no context, and the first byte of them.
    nowhere: BTreeMap<usize, (u64, u64)>,
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
        let (window, nowhere) = (window.clone(), BTreeMap::new());
        Self { timeline, window, track: 0, current: None, next: 0, nowhere }
    }

    fn count(mut self) -> u64 {
        let mut count = 0;
        while self.step().is_some() {
            count += 1;
        }
        count
    }

    fn step(&mut self) -> Option<Sample> {
        loop {
            let Some((track, records)) = &self.current else {
                self.advance()?;
                continue;
            };
            while self.next < records.len() {
                let index = self.timeline.place(*track, self.next);
                self.next += 1;
                let Some(record) = records.get(index) else { continue };
                let time = records.nanoseconds(record.time).map(TimeNs);
                if self.window.holds(time) {
                    return Some(Sample { track: *track, index, time, node: record.node });
                }
            }
            self.current = None;
        }
    }

    /// Goes on to the next track that is asked for; nothing after the last.
    fn advance(&mut self) -> Option<()> {
        let mut left = (self.track..self.timeline.traced.len()).map(TrackId);
        let track = left.find(|track| self.window.wants(*track))?;
        let records = self.timeline.part(track)?.trace.clone()?;
        (self.track, self.next) = (track.0 + 1, 0);
        self.current = Some((track, records));
        Some(())
    }

    /// The context of a node of a track's profile; what has none is counted.
    fn content(&mut self, track: TrackId, node: u32, offset: u64) -> Content<'static> {
        let recording = self.timeline.traced.get(track.0).copied().unwrap_or(0);
        let model = self.timeline.opened.model();
        if let Some(context) = model.and_then(|model| model.context(recording, node)) {
            return Content::Sample(context.0);
        }
        let (count, _) = self.nowhere.entry(recording).or_insert((0, offset));
        *count += 1;
        Content::Payload
    }
}

impl Drop for Samples {
    fn drop(&mut self) {
        self.timeline.opened.note_nowhere(&self.nowhere);
    }
}

impl Events for Samples {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let Some(Sample { track, index, time, node }) = self.step() else { return Ok(None) };
        let offset = self.current.as_ref().map_or(0, |(_, records)| records.offset_of(index));
        let content = self.content(track, node, offset);
        let payload = self.current.as_ref().map(|(_, records)| records.sample_bytes(index));
        Ok(Some(Event { track, time, offset, content, payload: payload.unwrap_or_default() }))
    }
}
