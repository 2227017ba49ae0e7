//! Traces as a timeline: a track for each thread, a sample for each record.
//!
//! A sample's payload is its record without the time: the node, and the metric of data-centric
//! traces, in the byte order that the track tells.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use kymo_core::{Error, Result};
use kymo_model::timeline::{
    Clock, Content, Event, Events, MergedEvents, Run, TimeNs, TimelineView, Track, TrackId,
    TrackKind, TrackStatistics, Tracks, Window,
};
use serde_json::{Map, Value, json};

use crate::clocks::Clocks;
use crate::dataset::OpenMeasurement;
use crate::measurement::Part;
use crate::model::{Contexts, SampleTarget};
use crate::read::Trace;
use crate::spec::TIME_BYTES;

/// The traces of a measurement.
pub(crate) struct Timeline {
    opened: Arc<OpenMeasurement>,
    /// The recordings that have a trace: one track each.
    traced: Vec<usize>,
    /// Clocks that give their times.
    clocks: Clocks,
    /// For each track the order of its records, where that is not the order of the file.
    orders: Vec<OnceLock<Option<Arc<[u32]>>>>,
}

impl Timeline {
    /// Nothing where nothing was traced.
    pub(crate) fn new(opened: Arc<OpenMeasurement>) -> Option<Self> {
        let recordings = opened.with_companions().recordings.iter().enumerate();
        let traced = recordings.filter(|(_, part)| part.trace.is_some());
        let traced: Vec<_> = traced.map(|(index, _)| index).collect();
        let clocks = Clocks::from_recordings(&opened.with_companions().recordings);
        let orders = traced.iter().map(|_| OnceLock::new()).collect();
        (!traced.is_empty()).then_some(Self { opened, traced, clocks, orders })
    }

    /// The recording of a track, with its number.
    fn part(&self, track: TrackId) -> Option<(usize, &Part)> {
        let recording = *self.traced.get(track.0)?;
        Some((recording, self.opened.with_companions().recordings.get(recording)?))
    }

    /// The recording of a track with the records of its trace, and its number.
    fn hold_records(&self, track: TrackId) -> Result<Option<(usize, Part)>> {
        let Some((recording, part)) = self.part(track) else { return Ok(None) };
        Ok(Some((recording, self.opened.with_companions().holding().traced(part)?)))
    }

    /// The samples of a track that a window holds.
    fn samples(&self, track: TrackId, window: &Window) -> Result<Option<Samples>> {
        let held = self.hold_records(track)?;
        Ok(held.and_then(|(recording, part)| self.samples_of(track, recording, &part, window)))
    }

    fn samples_of(
        &self,
        track: TrackId,
        recording: usize,
        part: &Part,
        window: &Window,
    ) -> Option<Samples> {
        let order = self.orders.get(track.0)?;
        let mut samples = Samples {
            track,
            trace: part.trace.clone()?,
            order: order.get_or_init(|| self.order(recording, part)).clone(),
            places: 0..0,
            meaning: SampleMeanings::new(Arc::clone(&self.opened), recording),
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
        self.note_disorder(recording, part);
        let mut order: Vec<_> = (0..u32::try_from(trace.len()).ok()?).collect();
        order.sort_by_cached_key(|place| {
            let record = usize::try_from(*place).ok().and_then(|place| trace.get(place));
            let time = record.map_or(0, |record| record.time);
            (trace.nanoseconds(time).is_none(), time)
        });
        Some(order.into())
    }

    fn note_disorder(&self, recording: usize, part: &Part) {
        let found = part.trace.as_ref().zip(part.unordered());
        if let Some((trace, (count, first))) = found {
            self.opened.note(recording, "trace-order", count, trace.offset_of(first));
        }
    }

    /// Counts the samples of a track that a window holds, and finds their first and last time: all
    /// are of one size, and their times are known.
    fn tally(&self, track: TrackId, window: &Window) -> Result<TrackStatistics> {
        let held = self.hold_records(track)?;
        let tally =
            held.and_then(|(recording, part)| self.statistics_of(track, recording, &part, window));
        Ok(tally.unwrap_or_default())
    }

    fn statistics_of(
        &self,
        track: TrackId,
        recording: usize,
        part: &Part,
        window: &Window,
    ) -> Option<TrackStatistics> {
        let records = part.trace.as_ref()?;
        let payload_bytes = (records.record_bytes() - TIME_BYTES) as u64;
        let (events, times) = if window.from.is_none() && window.until.is_none() {
            self.note_disorder(recording, part);
            (records.len(), records.times().ends.map(|(first, last)| (TimeNs(first), TimeNs(last))))
        } else {
            let samples = self.samples_of(track, recording, part, window)?;
            let (start, end) = (samples.places.start, samples.places.end.min(samples.timed()));
            let last = end.checked_sub(1).filter(|last| *last >= start);
            let times = last.and_then(|last| samples.time(start).zip(samples.time(last)));
            (end.saturating_sub(start), times)
        };
        let events = events as u64;
        Some(TrackStatistics {
            events,
            payload_bytes: events * payload_bytes,
            times,
            numbers: None,
        })
    }
}

impl TimelineView for Timeline {
    fn clocks(&self) -> Vec<Clock> {
        self.clocks.list().to_vec()
    }

    fn tracks(&self) -> Tracks {
        let parts = (0..self.traced.len()).filter_map(|track| self.part(TrackId(track)));
        let track = |(recording, part): (usize, &Part)| Track {
            name: part.label.clone(),
            recording,
            parent: None,
            kind: TrackKind::Samples,
            clock: Some(self.clocks.part_clock(part)),
            content: "calling context".into(),
            attributes: attributes(part).into(),
        };
        parts.map(track).collect()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        let tracks =
            (0..self.traced.len()).map(TrackId).filter(|track| window.includes_track(*track));
        let samples = tracks.filter_map(|track| self.samples(track, window).transpose());
        let mut runs = samples.collect::<Result<Vec<_>>>()?;
        for samples in &mut runs {
            samples.meaning.look_up();
        }
        Ok(Box::new(MergedEvents::new(runs, window)?))
    }

    fn tallies(self: Arc<Self>, window: &Window) -> Result<Vec<TrackStatistics>> {
        let count = self.traced.len();
        if window.last.is_some() {
            // Which ones are the last is told by comparing those of all tracks.
            return TrackStatistics::from_events(&mut *self.events(window)?, count);
        }
        let tally = |track| {
            if window.includes_track(track) {
                self.tally(track, window)
            } else {
                Ok(TrackStatistics::default())
            }
        };
        (0..count).map(|track| tally(TrackId(track))).collect()
    }
}

/// Returns the attributes that a track gives about its thread.
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
    track: TrackId,
    trace: Arc<Trace>,
    /// The order of records, where that is not the order of the file.
    order: Option<Arc<[u32]>>,
    places: Range<usize>,
    meaning: SampleMeanings,
}

impl Samples {
    /// Returns the position of the record that comes at a place in the order of times.
    fn index(&self, place: usize) -> Option<usize> {
        match &self.order {
            None => Some(place),
            Some(order) => usize::try_from(*order.get(place)?).ok(),
        }
    }

    fn time(&self, place: usize) -> Option<TimeNs> {
        let record = self.trace.get(self.index(place)?)?;
        self.trace.nanoseconds(record.time).map(TimeNs)
    }

    /// The first place whose time is not before a moment. What has no time is after all that has
    /// one: its number is too large.
    fn not_before(&self, moment: TimeNs) -> usize {
        self.first(|time| time.is_none_or(|time| time >= moment))
    }

    /// Returns the number of those that have a time: they come before those that have none.
    fn timed(&self) -> usize {
        self.first(|time| time.is_none())
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
}

impl Run for Samples {
    fn places(&self) -> Range<u64> {
        self.places.start as u64..self.places.end as u64
    }

    fn time(&self, place: u64) -> Result<Option<TimeNs>> {
        Ok(usize::try_from(place).ok().and_then(|place| self.time(place)))
    }

    #[inline]
    fn event(&mut self, place: u64) -> Result<Event<'_>> {
        let index = usize::try_from(place).ok().and_then(|place| self.index(place));
        let found = index.and_then(|index| Some((index, self.trace.with_bytes(index)?)));
        let Some((index, (record, payload))) = found else {
            return Err(Error::request("a trace has fewer records than before"));
        };
        let offset = self.trace.offset_of(index);
        let content = self.meaning.node_content(record.node, offset);
        let time = self.trace.nanoseconds(record.time).map(TimeNs);
        Ok(Event { track: self.track, time, offset, content, payload, partial: None })
    }
}

/// Meaning of the nodes of a track's samples.
struct SampleMeanings {
    opened: Arc<OpenMeasurement>,
    recording: usize,
    contexts: Option<Arc<Contexts>>,
    /// Samples that have no context, and those that have more than one.
    nowhere: AnomalyCount,
    shared: AnomalyCount,
}

/// Number of samples that are odd, and the first byte of them.
#[derive(Default)]
struct AnomalyCount(Option<(u64, u64)>);

impl AnomalyCount {
    fn add(&mut self, offset: u64) {
        let (count, first) = self.0.unwrap_or((0, offset));
        self.0 = Some((count + 1, first.min(offset)));
    }
}

impl SampleMeanings {
    fn new(opened: Arc<OpenMeasurement>, recording: usize) -> Self {
        let (nowhere, shared) = <_>::default();
        Self { opened, recording, contexts: None, nowhere, shared }
    }

    /// Finds the contexts of nodes, which reads the profiles of all threads.
    fn look_up(&mut self) {
        let model = self.opened.model();
        self.contexts = model.and_then(|model| model.contexts(self.recording)).cloned();
    }

    /// The context of a node of the track's profile; what has none is counted.
    #[inline]
    fn node_content(&mut self, node: u32, offset: u64) -> Content<'static> {
        let sampled =
            self.contexts.as_ref().map_or(SampleTarget::Nothing, |found| found.find(node));
        match sampled {
            SampleTarget::Context { context, is_shared } => {
                if is_shared {
                    self.shared.add(offset);
                }
                Content::Sample(context.0)
            }
            SampleTarget::Program => Content::Payload,
            SampleTarget::Nothing => {
                self.nowhere.add(offset);
                Content::Payload
            }
        }
    }
}

impl Drop for SampleMeanings {
    fn drop(&mut self) {
        for (rule, odd) in [("trace-node", &self.nowhere), ("trace-epoch", &self.shared)] {
            if let Some((count, first)) = odd.0 {
                self.opened.note(self.recording, rule, count, first);
            }
        }
    }
}
