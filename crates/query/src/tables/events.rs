//! `events`, `counters`, `samples` and `gaps`: rows that events are by themselves.

use std::borrow::Cow;
use std::sync::Arc;

use kymo_core::{Result, Value};
use kymo_model::Table;
use kymo_model::table::{Cell, Column, RowKind};
use kymo_model::timeline::{
    Activity, Content, Event, EventFilter, Fields, TimelineView, TrackId, TrackKind,
};

use super::stream::{CommonRow, RequestedColumns, Rows, TableDescription};
use super::tracks::track_id;
use super::{Description, Maker};

/// Events of any name, with any fields.
const EVERY_EVENT: EventFilter<'static> = EventFilter { is_called: &|_| true, is_field: &[] };

static EVENTS: TableDescription<Events> = TableDescription {
    name: "events",
    about: "something that happened on a track; several rows may be of one record of the file",
    columns: EVENTS_COLUMNS,
};

static COUNTERS: TableDescription<Events> = TableDescription {
    name: "counters",
    about: "a number that stays until the next one of its track",
    columns: COUNTERS_COLUMNS,
};

static SAMPLES: TableDescription<Events> = TableDescription {
    name: "samples",
    about: "where a thread was at a timestamp",
    columns: SAMPLES_COLUMNS,
};

static GAPS: TableDescription<Events> = TableDescription {
    name: "gaps",
    about: "from here on events are missing",
    columns: GAPS_COLUMNS,
};

/// The tables that are here.
pub(super) fn describe() -> Vec<Description> {
    vec![EVENTS.parts(), COUNTERS.parts(), SAMPLES.parts(), GAPS.parts()]
}

pub(super) fn tables(maker: &Maker, timeline: &Arc<dyn TimelineView>) -> Vec<Arc<dyn Table>> {
    let table = |described: &'static TableDescription<Events>,
                 kind: Option<TrackKind>,
                 is_row: fn(&Content<'_>) -> bool| {
        let timeline = Arc::clone(timeline);
        maker
            .table(described, move |wanted, rows| each_event(&timeline, wanted, kind, is_row, rows))
    };
    let has = |kind| timeline.tracks().iter().any(|track| track.kind == kind);
    let mut tables = vec![table(&EVENTS, None, |_| true)];
    if has(TrackKind::Counter) {
        tables.push(table(&COUNTERS, Some(TrackKind::Counter), |content| {
            matches!(content, Content::Value(_))
        }));
    }
    if has(TrackKind::Samples) {
        tables.push(table(&SAMPLES, Some(TrackKind::Samples), |content| {
            matches!(content, Content::Sample(_))
        }));
    }
    tables
        .push(table(&GAPS, None, |content| matches!(content, Content::Activity(Activity::Gap(_)))));
    tables
}

/// Hands on the events that are rows.
fn each_event(
    timeline: &Arc<dyn TimelineView>,
    wanted: &RequestedColumns,
    kind: Option<TrackKind>,
    is_row: fn(&Content<'_>) -> bool,
    rows: &mut Rows<'_, Events>,
) -> Result<()> {
    let (tracks, clocks) = (timeline.tracks(), timeline.clocks());
    let mut window = wanted.window(tracks.len());
    if let Some(kind) = kind {
        let asked = window.tracks.take();
        let all = || (0..tracks.len()).map(TrackId).collect();
        let mut asked = asked.unwrap_or_else(all);
        asked.retain(|track| tracks.get(track.0).is_some_and(|track| track.kind == kind));
        window.tracks = Some(asked);
    }
    let since_epoch: Vec<bool> = tracks
        .iter()
        .map(|track| track.clock.and_then(|clock| clocks.get(clock.0)))
        .map(|clock| clock.is_some_and(|clock| clock.since_epoch))
        .collect();
    // Numbers of events count all of them: they are the same whatever is asked for.
    let counts_all = wanted.contains("event_id");
    if counts_all {
        window = kymo_model::timeline::Window::default();
    }
    let row = |event: &Event<'_>, id, fields: Option<&Fields<'_>>, rows: &mut Rows<'_, Events>| {
        let track = tracks.get(event.track.0);
        let is_kind = kind.is_none_or(|kind| track.is_some_and(|track| track.kind == kind));
        if !is_kind || !is_row(&event.content) {
            return Ok(());
        }
        rows.push(&EventRow {
            id,
            event,
            fields,
            recording: track.map_or(0, |track| track.recording),
            is_since_epoch: since_epoch.get(event.track.0).copied().unwrap_or(false),
            timeline: &**timeline,
        })
    };
    let needs_fields = wanted.contains("fields") || wanted.contains("name");
    if needs_fields && timeline.has_fields() {
        let mut events = Arc::clone(timeline).events_and_fields(&window, EVERY_EVENT)?;
        let mut id = 0;
        while let Some((event, fields)) = events.next_event()? {
            row(&event, id, fields.as_ref(), rows)?;
            id += 1;
        }
        return Ok(());
    }
    let mut events = Arc::clone(timeline).events(&window)?;
    let mut id = 0;
    while let Some(event) = events.next()? {
        row(&event, id, None, rows)?;
        id += 1;
    }
    Ok(())
}

/// A row of these tables.
pub(super) struct EventRow<'a> {
    id: i64,
    event: &'a Event<'a>,
    fields: Option<&'a Fields<'a>>,
    recording: usize,
    is_since_epoch: bool,
    timeline: &'a dyn TimelineView,
}

impl EventRow<'_> {
    fn activity(&self) -> Option<&Activity<'_>> {
        match &self.event.content {
            Content::Activity(activity) => Some(activity),
            _ => None,
        }
    }

    fn fields(&self) -> Option<&Fields<'_>> {
        match &self.event.content {
            Content::Fields(fields) => Some(fields),
            _ => self.fields,
        }
    }

    fn kind(&self) -> &'static str {
        match &self.event.content {
            Content::Value(_) => "value",
            Content::Text(_) if self.fields.is_some() => "event",
            Content::Text(_) => "text",
            Content::Fields(_) => "event",
            Content::Payload => "payload",
            Content::Sample(_) => "sample",
            Content::Activity(activity) => match activity {
                Activity::Begin { .. } => "begin",
                Activity::End | Activity::EndOf { .. } => "end",
                Activity::Release { .. } => "release",
                Activity::Complete { .. } => "complete",
                Activity::Send(_) => "send",
                Activity::Receive(_) => "receive",
                Activity::Enter { .. } => "enter",
                Activity::Gap(_) => "gap",
            },
        }
    }

    fn name(&self) -> Option<Cow<'_, str>> {
        match self.activity() {
            Some(Activity::Begin { name, .. }) => name.as_deref().map(Cow::from),
            Some(Activity::EndOf { name }) => Some((&**name).into()),
            Some(Activity::Send(message) | Activity::Receive(message)) => {
                Some((&*message.name).into())
            }
            Some(Activity::Enter { state, .. }) => Some((&**state).into()),
            _ => self.fields().map(|fields| (&*fields.name).into()),
        }
    }

    fn peer(&self) -> Option<&kymo_model::timeline::Message<'_>> {
        match self.activity()? {
            Activity::Send(message) | Activity::Receive(message) => Some(message),
            _ => None,
        }
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        match &self.event.content {
            Content::Text(text) => Some((&**text).into()),
            Content::Value(Value::Text(text)) => Some(text.into()),
            // Beyond what the columns of numbers hold.
            Content::Value(Value::UInt(number)) if i64::try_from(*number).is_err() => {
                Some(number.to_string().into())
            }
            Content::Value(
                value @ (Value::Decimal(_) | Value::List(_) | Value::Json(_) | Value::Bytes(_)),
            ) => Some(value.to_string().into()),
            _ => None,
        }
    }

    fn value(&self) -> Option<f64> {
        match &self.event.content {
            Content::Value(Value::Bool(value)) => Some(f64::from(u8::from(*value))),
            Content::Value(value) => value.as_f64(),
            _ => None,
        }
    }

    fn value_int(&self) -> Option<i64> {
        match &self.event.content {
            Content::Value(Value::Int(number)) => Some(*number),
            Content::Value(Value::UInt(number)) => i64::try_from(*number).ok(),
            Content::Value(Value::Bool(value)) => Some(i64::from(*value)),
            _ => None,
        }
    }

    fn json(&self) -> Option<Cow<'_, str>> {
        let fields = self.fields()?;
        let members = fields.fields.iter();
        // Two fields of an event never have one name.
        let members = members.map(|field| (field.name.as_ref(), &field.value));
        let mut text = Vec::new();
        let mut json = serde_json::Serializer::new(&mut text);
        serde::Serializer::collect_map(&mut json, members).ok()?;
        String::from_utf8(text).ok().map(Cow::from)
    }
}

/// Rows of these tables.
pub(super) struct Events;

impl RowKind for Events {
    type Row<'a> = EventRow<'a>;
}

impl CommonRow for Events {
    fn recording(row: &EventRow<'_>) -> usize {
        row.recording
    }
}

const TS: Column<Events> = Column::with_unit(
    "ts",
    "ns",
    "timestamp on the track's clock; null where the recording does not tell",
    Cell::Int(|row| row.event.time.map(|time| time.0)),
);

const TIME: Column<Events> = Column::new(
    "time",
    "timestamp as a date; null where the clock does not count from the Epoch",
    Cell::Time(|row| row.event.time.filter(|_| row.is_since_epoch).map(|time| time.0)),
);

const TRACK: Column<Events> =
    Column::new("track_id", "track of the event", Cell::Int(|row| track_id(row.event.track)));

const VALUE: Column<Events> = Column::new(
    "value",
    "number, as exactly as 64-bit floats have it",
    Cell::Float(|row| row.value()),
);

const VALUE_INT: Column<Events> = Column::new(
    "value_int",
    "the same, exact, where it is a whole number of 64 bits",
    Cell::Int(|row| row.value_int()),
);

const EVENTS_COLUMNS: &[Column<Events>] = &[
    Column::new("event_id", "place of the row among all rows", Cell::Int(|row| Some(row.id))),
    TS,
    TIME,
    TRACK,
    Column::new(
        "kind",
        "event, text, value, payload, sample, begin, end, release, complete, send, receive, enter or \
         gap; those from begin on say what a record means for its track, and one record may make several",
        Cell::Name(|row| Some(row.kind().into())),
    ),
    Column::new(
        "name",
        "name of the event, message, function or state; null where it has none",
        Cell::Name(|row| row.name()),
    ),
    Column::new("text", "text of the event", Cell::Text(|row| row.text())),
    VALUE,
    VALUE_INT,
    Column::new(
        "priority",
        "priority that a task runs with from here on",
        Cell::Int(|row| match row.activity()? {
            Activity::Begin { priority, .. } => *priority,
            _ => None,
        }),
    ),
    Column::new(
        "peer_track_id",
        "track of the other end of a message",
        Cell::Int(|row| row.peer()?.peer.and_then(track_id)),
    ),
    Column::with_unit(
        "peer_ts",
        "ns",
        "timestamp at the other end of a message",
        Cell::Int(|row| row.peer()?.peer_time.map(|time| time.0)),
    ),
    Column::with_unit(
        "end_ts",
        "ns",
        "when what begins is over, or the change to a state is, where that is told beforehand",
        Cell::Int(|row| match row.activity()? {
            Activity::Begin { ends, .. } => ends.map(|time| time.0),
            Activity::Enter { settled, .. } => settled.map(|time| time.0),
            _ => None,
        }),
    ),
    Column::with_unit(
        "budget",
        "ns",
        "time that a job may take from its release",
        Cell::Int(|row| match row.activity()? {
            Activity::Release { budget_ns, .. } => *budget_ns,
            _ => None,
        }),
    ),
    Column::with_unit(
        "remaining",
        "ns",
        "budget that was left at the completion; negative where the job was late",
        Cell::Int(|row| match row.activity()? {
            Activity::Complete { remaining_ns } => *remaining_ns,
            _ => None,
        }),
    ),
    Column::new(
        "by_track_id",
        "track of the task or processor that released the task",
        Cell::Int(|row| match row.activity()? {
            Activity::Release { by, .. } => by.and_then(track_id),
            _ => None,
        }),
    ),
    CONTEXT,
    Column::new("missing", "what is missing from a gap on", Cell::Name(|row| missing(row))),
    Column::new(
        "is_partial",
        "true if a part of the event was lost, or may be",
        Cell::Bool(|row| Some(row.event.partial.is_some())),
    ),
    Column::new("fields", "fields of the event, as a JSON object", Cell::Json(|row| row.json())),
    Column::new(
        "file",
        "file that the event is in, where the recording is a directory",
        Cell::Name(|row| {
            let event = row.event;
            row.timeline.file_of(event.track, event.time, event.offset).map(Cow::from)
        }),
    ),
    Column::with_unit(
        "file_offset",
        "bytes",
        "first byte of the record in the file",
        Cell::Int(|row| i64::try_from(row.event.offset).ok()),
    ),
    Column::new(
        "payload",
        "bytes as they were recorded, where the recording keeps each event's together",
        Cell::Bytes(|row| Some(row.event.payload).filter(|bytes| !bytes.is_empty())),
    ),
];

const CONTEXT: Column<Events> = Column::new(
    "context_id",
    "context of a sample, by the number that the recording gives it",
    Cell::Int(|row| match row.event.content {
        Content::Sample(number) => i64::try_from(number).ok(),
        _ => None,
    }),
);

fn missing<'r>(row: &'r EventRow<'_>) -> Option<Cow<'r, str>> {
    match row.activity()? {
        Activity::Gap(missing) => Some(missing.name().into()),
        _ => None,
    }
}

const COUNTERS_COLUMNS: &[Column<Events>] = &[TS, TIME, TRACK, VALUE, VALUE_INT];

const SAMPLES_COLUMNS: &[Column<Events>] = &[TS, TIME, TRACK, CONTEXT];

const GAPS_COLUMNS: &[Column<Events>] = &[
    TS,
    TIME,
    TRACK,
    Column::new("reason", "what is missing from here on", Cell::Name(|row| missing(row))),
];
