//! Traces as core's timeline: a track for each thread, a sample for each element.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use kymo_core::bytes::ReadResult;
use kymo_core::model::timeline::{
    Clock, ClockId, Content, Event, Events, Merged, Run, TimeNs, TimelineView, Track, TrackId,
    TrackKind, Window,
};
use kymo_core::{Error, Result};
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
                let database = Arc::clone(&self.0);
                runs.push(Elements { database, track: TrackId(index), trace, range });
            }
        }
        Ok(Box::new(Merged::new(runs, window)?))
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

fn moment(timestamp: u64) -> TimeNs {
    TimeNs(i64::try_from(timestamp).unwrap_or(i64::MAX))
}

/// Elements of a trace. Where they are not sorted by time, their range has some that are outside
/// of the window.
struct Elements {
    database: Arc<Database>,
    track: TrackId,
    trace: Trace,
    range: Range<u64>,
}

impl Elements {
    fn file(&self) -> Result<&TraceDb> {
        self.database.trace.as_ref().ok_or_else(|| Error::request("there are no traces in it"))
    }

    fn element(&self, index: u64) -> Result<Element> {
        let file = self.file()?;
        file.part.told(file.element(&self.trace, index))
    }
}

impl Run for Elements {
    fn places(&self) -> Range<u64> {
        self.range.clone()
    }

    fn time(&self, index: u64) -> Result<Option<TimeNs>> {
        Ok(Some(moment(self.element(index)?.timestamp)))
    }

    fn event(&mut self, index: u64) -> Result<Event<'_>> {
        let (element, part) = (self.element(index)?, &self.file()?.part);
        let offset = TraceDb::element_offset(&self.trace, index);
        let bytes = part.cursor("trace element", offset);
        let bytes = bytes.and_then(|mut cursor| cursor.bytes("trace element", ELEMENT_BYTES));
        Ok(Event {
            track: self.track,
            time: Some(moment(element.timestamp)),
            offset,
            content: Content::Sample(element.ctx_id.into()),
            payload: part.told(bytes)?,
            partial: None,
        })
    }
}
