//! `clocks` and `tracks`.

use std::borrow::Cow;
use std::sync::Arc;

use kymo_model::Table;
use kymo_model::table::{Cell, Column, RowKind};
use kymo_model::timeline::{Clock, TimelineView, Track, TrackId, TrackKind};

use super::stream::{CommonRow, TableDescription};
use super::{Description, Maker};
use crate::{Tasks, is_idle_name};

static CLOCKS: TableDescription<Clocks> = TableDescription {
    name: "clocks",
    about: "a clock that gives timestamps",
    columns: CLOCKS_COLUMNS,
};

static TRACKS: TableDescription<Tracks> = TableDescription {
    name: "tracks",
    about: "a line of a timeline: a stream, task, processor, thread or counter",
    columns: TRACKS_COLUMNS,
};

/// The tables that are here.
pub(super) fn describe() -> Vec<Description> {
    vec![CLOCKS.parts(), TRACKS.parts()]
}

pub(super) fn tables(maker: &Maker, timeline: &Arc<dyn TimelineView>) -> Vec<Arc<dyn Table>> {
    let (clocks, tracks) = (Arc::clone(timeline), Arc::clone(timeline));
    vec![
        maker.table(&CLOCKS, move |_, rows| {
            for (id, clock) in clocks.clocks().iter().enumerate() {
                rows.push(&ClockRow { id, clock })?;
            }
            Ok(())
        }),
        maker.table(&TRACKS, move |_, rows| {
            let tracks = tracks.tracks();
            let tasks = Tasks::new(&tracks, &is_idle_name);
            for (id, track) in tracks.iter().enumerate() {
                rows.push(&TrackRow { id: TrackId(id), track, tasks: &tasks })?;
            }
            Ok(())
        }),
    ]
}

struct ClockRow<'a> {
    id: usize,
    clock: &'a Clock,
}

struct Clocks;

impl RowKind for Clocks {
    type Row<'a> = ClockRow<'a>;
}

impl CommonRow for Clocks {
    fn recording(row: &ClockRow<'_>) -> usize {
        row.clock.recording
    }
}

const CLOCKS_COLUMNS: &[Column<Clocks>] = &[
    Column::new("clock_id", "id of the clock", Cell::Int(|row| i64::try_from(row.id).ok())),
    Column::new("name", "name of the clock", Cell::Name(|row| Some((&*row.clock.name).into()))),
    Column::new(
        "since_epoch",
        "true if timestamps count from the Epoch, false if from a start of their own",
        Cell::Bool(|row| Some(row.clock.since_epoch)),
    ),
];

struct TrackRow<'a> {
    id: TrackId,
    track: &'a Track,
    tasks: &'a Tasks,
}

impl TrackRow<'_> {
    fn number(&self, attribute: &str) -> Option<i64> {
        self.track.attributes.number(attribute)
    }

    /// The processor that the track is of, by the number that the recording gives it.
    fn cpu(&self) -> Option<i64> {
        self.number(Track::CPU_ID).or_else(|| {
            let (_, cpu) = self.tasks.track_task(self.id)?;
            self.tasks.cpu_number(cpu)
        })
    }

    fn kind(&self) -> &'static str {
        let is_cpu = self
            .tasks
            .is_cpu(self.id)
            .is_some_and(|cpu| self.tasks.cpu(cpu).is_some_and(|cpu| cpu.is_one));
        match self.track.kind {
            _ if is_cpu => "cpu",
            TrackKind::Task if self.track.has_flag(Track::IS_INTERRUPT) => "interrupt",
            TrackKind::Messages => "stream",
            kind => kind.name(),
        }
    }
}

struct Tracks;

impl RowKind for Tracks {
    type Row<'a> = TrackRow<'a>;
}

impl CommonRow for Tracks {
    fn recording(row: &TrackRow<'_>) -> usize {
        row.track.recording
    }
}

const TRACKS_COLUMNS: &[Column<Tracks>] = &[
    Column::new("track_id", "id of the track", Cell::Int(|row| track_id(row.id))),
    Column::new(
        "parent_id",
        "track that this one belongs under; null at the top",
        Cell::Int(|row| row.track.parent.and_then(track_id)),
    ),
    Column::new("name", "name of the track", Cell::Name(|row| Some((&*row.track.name).into()))),
    Column::new(
        "kind",
        "task, cpu, interrupt, calls, states, counter, stream, samples or annotations",
        Cell::Name(|row| Some(row.kind().into())),
    ),
    Column::new(
        "clock_id",
        "clock of the timestamps; null where events have an order and no time",
        Cell::Int(|row| row.track.clock.and_then(|clock| i64::try_from(clock.0).ok())),
    ),
    Column::new("cpu", "processor that the track is of", Cell::Int(|row| row.cpu())),
    Column::new("pid", "process id", Cell::Int(|row| row.number("pid"))),
    Column::new(
        "tid",
        "number that the recording gives the task",
        Cell::Int(|row| row.track.task_id()),
    ),
    Column::new("rank", "MPI rank", Cell::Int(|row| row.number("rank"))),
    Column::new(
        "priority",
        "priority of the task, where it has one for all its runs",
        Cell::Int(|row| row.number(Track::TASK_PRIORITY)),
    ),
    Column::new(
        "is_idle",
        "true for a task that runs when no other does; null where it is no task",
        Cell::Bool(|row| row.tasks.track_task(row.id).map(|(task, _)| row.tasks.is_idle(task))),
    ),
    Column::new(
        "content",
        "the format's word for what events hold: uint16le",
        Cell::Name(|row| {
            Some(row.track.content.as_ref()).filter(|it| !it.is_empty()).map(Cow::from)
        }),
    ),
    Column::new(
        "attributes",
        "whatever else the recording says of the track, as a JSON object",
        Cell::Json(|row| {
            let attributes = row.track.attributes.to_map();
            let text = || serde_json::to_string(&*attributes).ok();
            if attributes.is_empty() { None } else { text().map(Cow::from) }
        }),
    ),
];

/// The column value of a track's id.
pub(super) fn track_id(track: TrackId) -> Option<i64> {
    i64::try_from(track.0).ok()
}
