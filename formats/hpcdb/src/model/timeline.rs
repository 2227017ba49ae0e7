//! Traces as core's timeline: a track for each thread, a sample for each element.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use kymo_core::bytes::{ReadError, ReadResult};
use kymo_core::{Error, Result};
use kymo_model::timeline::{
    Attributes, Clock, ClockId, Content, Event, Events, MergedEvents, Run, TimeNs, TimelineView,
    Track, TrackId, TrackKind, Tracks, Window,
};

use super::thread_of;
use crate::read::{Budget, Database, GOES_BACK, NO_ACTIVITY, TraceDb};
use crate::spec::{ELEMENT_BYTES, SINCE_EPOCH_FROM};
use crate::types::{Context, Element, Trace};

/// The traces of a database. Traces that cannot be read have no events.
pub(crate) struct Timeline(Arc<Database>);

impl Timeline {
    /// Nothing unless there are traces.
    pub(crate) fn new(database: Arc<Database>) -> Option<Self> {
        database.trace.is_some().then(|| Self(database))
    }

    fn traces(&self) -> Vec<Option<Trace>> {
        let Some(file) = &self.0.trace else { return Vec::new() };
        let mut budget = Budget::from_part(&file.part);
        let trace = |index| {
            // Of one that is cut there is what the file has.
            let whole = self.0.ok_or_note(&file.part, file.trace(index));
            let trace = whole.unwrap_or_else(|| Some(file.cut_trace(index)?.0));
            let is_room = |trace: &Trace| {
                let records = (trace.count, ELEMENT_BYTES);
                self.0.has_room(&file.part, &mut budget, trace.offset, records)
            };
            trace.filter(is_room)
        };
        (0..file.traces.count).map(trace).collect()
    }

    /// The last moment, as the file has it; the described draft only has the samples.
    fn last_moment(&self) -> Option<u64> {
        if let Some((_, last)) = self.0.trace.as_ref()?.moments {
            return Some(last);
        }
        // That samples cannot be read is found with them.
        let (_, last) = self.span().ok()??.into_inner();
        u64::try_from(last.0).ok()
    }

    /// From the first sample of all traces to the last.
    fn span(&self) -> Result<Option<RangeInclusive<TimeNs>>> {
        let mut span: Option<RangeInclusive<TimeNs>> = None;
        for trace in self.traces().into_iter().flatten().filter(|trace| trace.count > 0) {
            let Some(file) = &self.0.trace else { continue };
            for index in [0, trace.count - 1] {
                let time = moment(file.part.with_file(file.element(&trace, index))?.timestamp);
                let earlier = span.take().unwrap_or(time..=time);
                span = Some(time.min(*earlier.start())..=time.max(*earlier.end()));
            }
        }
        Ok(span)
    }

    fn name(&self, trace: &Trace) -> String {
        let index = u64::from(trace.prof_index);
        let file = self.0.profile.as_ref();
        let ids = file.and_then(|file| file.ids(&file.record(index).ok()??).ok());
        match ids {
            Some(ids) if !ids.is_empty() => thread_of(&self.0, &ids).to_string(),
            _ => super::unnamed(index).to_string(),
        }
    }
}

impl TimelineView for Timeline {
    fn clocks(&self) -> Vec<Clock> {
        // Small times are since another moment, such as the start of the host.
        let last = self.last_moment();
        let since_epoch = last.is_none_or(|last| last == 0 || last >= SINCE_EPOCH_FROM);
        vec![Clock { name: "trace".to_owned(), recording: 0, since_epoch }]
    }

    fn tracks(&self) -> Tracks {
        let track = |trace: Option<Trace>| Track {
            name: trace.map_or_else(|| "unreadable".to_owned(), |trace| self.name(&trace)),
            recording: 0,
            parent: None,
            kind: TrackKind::Samples,
            clock: Some(ClockId(0)),
            content: "calling context".into(),
            attributes: Attributes::new(),
        };
        self.traces().into_iter().map(track).collect()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        let mut runs = Vec::new();
        let idle: Arc<[u32]> = idle(&self.0).into();
        for (index, trace) in self.traces().into_iter().enumerate() {
            let (Some(trace), Some(file)) = (trace, &self.0.trace) else { continue };
            if window.includes_track(TrackId(index)) {
                // Of one that is found not to be sorted all is read: any of it may be within.
                let range = self.0.ok_or_note(&file.part, elements_in_window(file, &trace, window));
                let range = range.unwrap_or(0..trace.count);
                let (database, idle) = (Arc::clone(&self.0), Arc::clone(&idle));
                runs.push(Elements { database, idle, track: TrackId(index), trace, range });
            }
        }
        Ok(Box::new(MergedEvents::new(runs, window)?))
    }

    fn range(self: Arc<Self>, _clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        self.span()
    }
}

/// The entry points that stand for doing nothing, which the first drafts have for it, in ascending
/// order.
fn idle(database: &Database) -> Vec<u32> {
    let Some(meta) = database.meta.as_ref().filter(|meta| meta.is_draft) else { return Vec::new() };
    let mut roots = Vec::new();
    // That they cannot be read is found with the tree.
    let _ = meta.root_offsets(&mut roots);
    let roots = roots.into_iter().filter_map(|offset| meta.node(offset).ok());
    let is_idle =
        |root: &Context| root.entry.as_ref().is_some_and(|entry| entry.name == NO_ACTIVITY);
    let mut idle: Vec<_> = roots.filter(is_idle).map(|root| root.ctx_id).collect();
    idle.sort_unstable();
    idle
}

/// Returns the elements of a trace that are within a window; elements are sorted by time.
fn elements_in_window(file: &TraceDb, trace: &Trace, window: &Window) -> ReadResult<Range<u64>> {
    let edge = |time: Option<TimeNs>, or: u64| match time {
        None => Ok(or),
        Some(time) => file.first_not_before(trace, u64::try_from(time.0).unwrap_or(0)),
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
    /// Contexts that stand for none.
    idle: Arc<[u32]>,
}

impl Elements {
    fn file(&self) -> Result<&TraceDb> {
        self.database.trace.as_ref().ok_or_else(|| Error::request("there are no traces in it"))
    }

    fn element(&self, index: u64) -> Result<Element> {
        let file = self.file()?;
        file.part.with_file(file.element(&self.trace, index))
    }

    /// Says that an element goes back in time, or has none, once.
    fn note_time(&self, index: u64, element: &Element) {
        let Some(file) = &self.database.trace else { return };
        let before = index.checked_sub(1).and_then(|before| self.element(before).ok());
        let why = match before {
            Some(before) if before.timestamp > element.timestamp => GOES_BACK,
            _ if i64::try_from(element.timestamp).is_err() => "is no time",
            _ => return,
        };
        let at = TraceDb::element_offset(&self.trace, index);
        self.database.ok_or_note::<()>(&file.part, Err(ReadError::invalid("timestamp", at, why)));
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
        let is_idle = self.idle.binary_search(&element.ctx_id).is_ok();
        let context = if is_idle { 0 } else { element.ctx_id };
        let event = Event {
            track: self.track,
            time: Some(moment(element.timestamp)),
            offset,
            content: Content::Sample(context.into()),
            payload: part.with_file(bytes)?,
            partial: None,
        };
        self.note_time(index, &element);
        Ok(event)
    }
}
