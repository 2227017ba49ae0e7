//! Traces as core's timeline: a track for each thread, a sample for each element.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use kymo_core::Result;
use kymo_core::bytes::ReadResult;
use kymo_core::model::timeline::{
    Clock, ClockId, Content, Event, Events, TimeNs, TimelineView, Track, TrackId, TrackKind, Window,
};
use serde_json::Map;

use super::thread_of;
use crate::read::{Database, TraceDb};
use crate::spec::ELEMENT_BYTES;
use crate::types::{Element, Trace};

/// The traces of a database. Traces that cannot be read have no events.
pub(crate) struct Timeline(Arc<Database>);

impl Timeline {
    /// Nothing unless there are traces.
    pub(crate) fn new(database: Arc<Database>) -> Option<Self> {
        database.trace.is_some().then(|| Self(database))
    }

    fn traces(&self) -> Vec<Option<Trace>> {
        let Some(file) = &self.0.trace else { return Vec::new() };
        let trace = |index| self.0.noted(&file.part, file.trace(index)).flatten();
        (0..file.traces.count).map(trace).collect()
    }

    fn name(&self, trace: &Trace) -> String {
        let index = u64::from(trace.prof_index);
        let file = self.0.profile.as_ref();
        let ids = file.and_then(|file| file.ids(&file.profile(index).ok()??).ok());
        match ids {
            Some(ids) if !ids.is_empty() => thread_of(&self.0, &ids).to_string(),
            _ => format!("profile {index}"),
        }
    }
}

impl TimelineView for Timeline {
    fn clocks(&self) -> Vec<Clock> {
        vec![Clock { name: "trace".to_owned(), recording: 0, since_epoch: true }]
    }

    fn tracks(&self) -> Vec<Track> {
        let track = |trace: Option<Trace>| Track {
            name: trace.map_or_else(|| "unreadable".to_owned(), |trace| self.name(&trace)),
            recording: 0,
            parent: None,
            kind: TrackKind::Samples,
            clock: Some(ClockId(0)),
            content: "calling context".to_owned(),
            attributes: Map::new(),
        };
        self.traces().into_iter().map(track).collect()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        let mut runs = Vec::new();
        for (index, trace) in self.traces().into_iter().enumerate() {
            let (Some(trace), Some(file)) = (trace, &self.0.trace) else { continue };
            if window.wants(TrackId(index)) {
                let range = file.part.told(within(file, &trace, window))?;
                runs.push(Run { track: TrackId(index), trace, range });
            }
        }
        if let Some(last) = window.last {
            keep_last(&mut runs, last);
        }
        runs.reverse();
        let (database, window) = (Arc::clone(&self.0), window.clone());
        Ok(Box::new(Samples { database, runs, window }))
    }

    fn range(self: Arc<Self>, _clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        let mut range: Option<RangeInclusive<TimeNs>> = None;
        for trace in self.traces().into_iter().flatten() {
            let Some(file) = &self.0.trace else { continue };
            for index in
                [0, trace.count.saturating_sub(1)].into_iter().take_while(|_| trace.count > 0)
            {
                let time = moment(file.part.told(file.element(&trace, index))?.timestamp);
                range = Some(range.map_or(time..=time, |range| {
                    time.min(*range.start())..=time.max(*range.end())
                }));
            }
        }
        Ok(range)
    }
}

/// Which elements of a trace are within a window; elements are sorted by time.
fn within(file: &TraceDb, trace: &Trace, window: &Window) -> ReadResult<Range<u64>> {
    let edge = |time: Option<TimeNs>, or: u64| match time {
        None => Ok(or),
        Some(time) => file.not_before(trace, u64::try_from(time.0).unwrap_or(0)),
    };
    let start = edge(window.from, 0)?;
    Ok(start..edge(window.until, trace.count)?.max(start))
}

/// Leaves so many elements at the end.
fn keep_last(runs: &mut Vec<Run>, last: u64) {
    let mut left = last;
    for run in runs.iter_mut().rev() {
        let kept = (run.range.end - run.range.start).min(left);
        run.range.start = run.range.end - kept;
        left -= kept;
    }
    runs.retain(|run| !run.range.is_empty());
}

fn moment(timestamp: u64) -> TimeNs {
    TimeNs(i64::try_from(timestamp).unwrap_or(i64::MAX))
}

/// Elements of a trace that are still to come.
struct Run {
    track: TrackId,
    trace: Trace,
    range: Range<u64>,
}

struct Samples {
    database: Arc<Database>,
    /// The next one last.
    runs: Vec<Run>,
    /// What was asked for: where elements are not sorted by time, their range has others too.
    window: Window,
}

impl Samples {
    /// The next element that is asked for.
    fn step(&mut self) -> Result<Option<(TrackId, Trace, u64, Element)>> {
        let Self { database, runs, window } = self;
        let Some(file) = &database.trace else { return Ok(None) };
        while let Some(run) = runs.last_mut() {
            let Some(index) = run.range.next() else {
                runs.pop();
                continue;
            };
            let element = file.part.told(file.element(&run.trace, index))?;
            if window.holds(Some(moment(element.timestamp))) {
                return Ok(Some((run.track, run.trace, index, element)));
            }
        }
        Ok(None)
    }
}

impl Events for Samples {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let Some((id, trace, index, element)) = self.step()? else { return Ok(None) };
        let Some(file) = &self.database.trace else { return Ok(None) };
        let part = &file.part;
        let offset = TraceDb::element_offset(&trace, index);
        let bytes = part.cursor("trace element", offset);
        let bytes = bytes.and_then(|mut cursor| cursor.bytes("trace element", ELEMENT_BYTES));
        let payload = part.told(bytes)?;
        Ok(Some(Event {
            track: id,
            time: Some(moment(element.timestamp)),
            offset,
            content: Content::Sample(element.ctx_id.into()),
            payload,
        }))
    }
}
