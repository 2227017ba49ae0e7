//! `slices` and `task_states`: what tasks, functions, interrupts and state machines did.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use kymo_core::Result;
use kymo_model::Table;
use kymo_model::table::{Cell, Column, RowKind};
use kymo_model::timeline::{Activity, Content, TimeNs, TimelineView, TrackId, TrackKind, Window};

use super::stream::{CommonRow, Rows, TableDescription};
use super::tracks::track_id;
use super::{Description, Maker};
use crate::nest::{Nest, ReturnMatch};
use crate::{
    Analysis, Bounds, CpuId, InterruptChange, Pass, ResolvedEvent, RunChange, RunSlice, TaskId,
    Tasks, is_idle_name,
};

static SLICES: TableDescription<SliceRows> = TableDescription {
    name: "slices",
    about: "a stretch of a track with a beginning: a run, a call, an interrupt, a state",
    columns: SLICES_COLUMNS,
};

static TASK_STATES: TableDescription<TaskStateRows> = TableDescription {
    name: "task_states",
    about: "a stretch of time in which a task was in one state",
    columns: TASK_STATES_COLUMNS,
};

/// The tables that are here.
pub(super) fn describe() -> Vec<Description> {
    vec![SLICES.parts(), TASK_STATES.parts()]
}

pub(super) fn tables(maker: &Maker, timeline: &Arc<dyn TimelineView>) -> Vec<Arc<dyn Table>> {
    let tracks = timeline.tracks();
    if !tracks.iter().any(|track| track.kind.has_activities()) {
        return Vec::new();
    }
    let events = Arc::clone(timeline);
    let mut tables = vec![maker.table(&SLICES, move |_, rows| {
        let mut analysis = Analysis::new(Arc::clone(&events), Window::default(), &is_idle_name)?;
        let mut slices = Slices::new(rows);
        analysis.run(&mut [&mut slices])?;
        slices.outcome
    })];
    if tracks.iter().any(|track| track.kind == TrackKind::Task) {
        let timeline = Arc::clone(timeline);
        tables.push(maker.table(&TASK_STATES, move |_, rows| {
            let timeline = Arc::clone(&timeline);
            let mut analysis = Analysis::new(timeline, Window::default(), &is_idle_name)?;
            let mut states = TaskStates::new(rows);
            analysis.run(&mut [&mut states])?;
            states.outcome
        }));
    }
    tables
}

/// A slice that is not over.
#[derive(Debug, Clone)]
struct Open {
    id: i64,
    track: TrackId,
    since: TimeNs,
    name: String,
    parent: Option<i64>,
    depth: usize,
}

/// Slices as they end.
struct Slices<'r, 'a> {
    rows: &'r mut Rows<'a, SliceRows>,
    outcome: Result<()>,
    /// Slices that began.
    count: i64,
    hasher: RandomState,
    calls: HashMap<TrackId, Nest<Open>, RandomState>,
    interrupts: HashMap<CpuId, Vec<Open>, RandomState>,
    states: HashMap<TrackId, Open, RandomState>,
    /// Ids of the runs of tasks that are not over.
    runs: HashMap<(TaskId, CpuId), i64, RandomState>,
    /// Runs that go on at the end, with their ids.
    unfinished: Vec<(RunSlice, i64)>,
}

struct SliceRow<'a> {
    id: i64,
    since: TimeNs,
    until: Option<TimeNs>,
    track: TrackId,
    name: &'a str,
    kind: &'static str,
    depth: usize,
    parent: Option<i64>,
    cpu: Option<i64>,
    is_complete: bool,
    recording: usize,
}

struct SliceRows;

impl RowKind for SliceRows {
    type Row<'a> = SliceRow<'a>;
}

impl CommonRow for SliceRows {
    fn recording(row: &SliceRow<'_>) -> usize {
        row.recording
    }
}

const SLICES_COLUMNS: &[Column<SliceRows>] = &[
    Column::new(
        "slice_id",
        "id of the slice: its place among all, by their beginnings",
        Cell::Int(|row| Some(row.id)),
    ),
    Column::with_unit("ts", "ns", "beginning of the slice", Cell::Int(|row| Some(row.since.0))),
    Column::with_unit(
        "dur",
        "ns",
        "duration; null where the slice does not end in the recording",
        Cell::Int(|row| Some(row.until?.0.saturating_sub(row.since.0))),
    ),
    Column::new("track_id", "track of the slice", Cell::Int(|row| track_id(row.track))),
    Column::new(
        "name",
        "name of the task, function, interrupt or state",
        Cell::Name(|row| Some(Cow::from(row.name)).filter(|name| !name.is_empty())),
    ),
    Column::new(
        "kind",
        "run of a task, call of a function, interrupt or state",
        Cell::Name(|row| Some(row.kind.into())),
    ),
    Column::new(
        "depth",
        "number of slices of its track that it is within",
        Cell::Int(|row| i64::try_from(row.depth).ok()),
    ),
    Column::new("parent_id", "slice that it is right within", Cell::Int(|row| row.parent)),
    Column::new("cpu", "processor that it ran on", Cell::Int(|row| row.cpu)),
    Column::new(
        "is_complete",
        "true if its end is recorded, and events in it are not known to be lost",
        Cell::Bool(|row| Some(row.is_complete)),
    ),
];

impl<'r, 'a> Slices<'r, 'a> {
    fn new(rows: &'r mut Rows<'a, SliceRows>) -> Self {
        Self {
            rows,
            outcome: Ok(()),
            count: 0,
            hasher: RandomState::default(),
            calls: HashMap::default(),
            interrupts: HashMap::default(),
            states: HashMap::default(),
            runs: HashMap::default(),
            unfinished: Vec::new(),
        }
    }

    fn push(&mut self, row: &SliceRow<'_>) {
        if self.outcome.is_ok() {
            self.outcome = self.rows.push(row);
        }
    }

    fn next_id(&mut self) -> i64 {
        self.count += 1;
        self.count - 1
    }

    fn close(
        &mut self,
        open: &Open,
        kind: &'static str,
        (until, is_complete): (Option<TimeNs>, bool),
        cpu: Option<i64>,
        tasks: &Tasks,
    ) {
        self.push(&SliceRow {
            id: open.id,
            since: open.since,
            until,
            track: open.track,
            name: &open.name,
            kind,
            depth: open.depth,
            parent: open.parent,
            cpu,
            is_complete,
            recording: tasks.recording_of(open.track).unwrap_or(0),
        });
    }

    fn run(&mut self, seen: &ResolvedEvent<'_>) {
        let Some((task, cpu)) = seen.task else { return };
        match seen.run {
            Some(RunChange::Begins) => {
                let id = self.next_id();
                self.runs.insert((task, cpu), id);
            }
            Some(RunChange::Ends { .. }) => {
                let known = self.runs.remove(&(task, cpu));
                let Some(stretch) = seen.stretch() else { return };
                let id = known.unwrap_or_else(|| self.next_id());
                self.ran(&stretch, id, true, seen.tasks);
            }
            None => {}
        }
    }

    fn ran(&mut self, stretch: &RunSlice, id: i64, is_complete: bool, tasks: &Tasks) {
        let RunSlice { task, cpu, track, since, until } = *stretch;
        self.push(&SliceRow {
            id,
            since,
            until: Some(until),
            track,
            name: tasks.name(task),
            kind: "run",
            depth: 0,
            parent: None,
            cpu: tasks.cpu_number(cpu),
            is_complete,
            recording: tasks.recording(task),
        });
    }

    fn interrupt(&mut self, seen: &ResolvedEvent<'_>) {
        let Some(interrupt) = seen.interrupt else { return };
        let mut stack = self.interrupts.remove(&interrupt.cpu).unwrap_or_default();
        let cpu = seen.tasks.cpu_number(interrupt.cpu);
        if interrupt.run == InterruptChange::Begins {
            for open in stack.drain(interrupt.around.min(stack.len())..).rev().collect::<Vec<_>>() {
                self.close(&open, "interrupt", (None, false), cpu, seen.tasks);
            }
            let name = match &seen.event.content {
                Content::Activity(Activity::Begin { name, .. }) => name.as_deref().unwrap_or(""),
                _ => "",
            };
            stack.push(Open {
                id: self.next_id(),
                track: seen.event.track,
                since: seen.time,
                name: name.to_owned(),
                parent: stack.last().map(|open| open.id),
                depth: stack.len(),
            });
        } else if interrupt.run == InterruptChange::Ends {
            // Others within it lack their own ends.
            for open in
                stack.drain((interrupt.around + 1).min(stack.len())..).rev().collect::<Vec<_>>()
            {
                self.close(&open, "interrupt", (None, false), cpu, seen.tasks);
            }
            if let Some(open) = stack.pop() {
                self.close(&open, "interrupt", (Some(seen.time), true), cpu, seen.tasks);
            }
        }
        self.interrupts.insert(interrupt.cpu, stack);
    }

    fn call(&mut self, seen: &ResolvedEvent<'_>, activity: &Activity<'_>) {
        let track = seen.event.track;
        let mut nest = self.calls.remove(&track).unwrap_or_default();
        let begins = matches!(activity, Activity::Begin { .. });
        while let Some(over) = nest.pop_ended(seen.time, begins) {
            self.close(&over.call, "call", (Some(over.time), over.is_told), None, seen.tasks);
        }
        match activity {
            Activity::Begin { name, ends, .. } if !nest.is_beyond() => {
                let call = Open {
                    id: self.next_id(),
                    track,
                    since: seen.time,
                    name: name.as_deref().unwrap_or("").to_owned(),
                    parent: nest.last().map(|open| open.id),
                    depth: nest.len(),
                };
                nest.push_ending(name.as_deref(), &self.hasher, (seen.time, *ends), call);
            }
            Activity::End => self.return_from(&mut nest, None, seen),
            Activity::EndOf { name } => self.return_from(&mut nest, Some(name), seen),
            _ => {}
        }
        self.calls.insert(track, nest);
    }

    fn return_from(&mut self, nest: &mut Nest<Open>, name: Option<&str>, seen: &ResolvedEvent<'_>) {
        if let ReturnMatch::Calls(count) = nest.ends(name, &self.hasher) {
            for left in (0..count).rev() {
                let Some(open) = nest.pop() else { break };
                // Those within it lack their own returns.
                let end = if left == 0 { (Some(seen.time), true) } else { (None, false) };
                self.close(&open, "call", end, None, seen.tasks);
            }
        }
    }

    fn enter(&mut self, seen: &ResolvedEvent<'_>, state: &str) {
        let track = seen.event.track;
        if let Some(open) = self.states.remove(&track) {
            self.close(&open, "state", (Some(seen.time), true), None, seen.tasks);
        }
        let (id, name) = (self.next_id(), state.to_owned());
        let open = Open { id, track, since: seen.time, name, parent: None, depth: 0 };
        self.states.insert(track, open);
    }

    /// Ends what is under way where events are missing: when it ends is not known.
    fn gap(&mut self, seen: &ResolvedEvent<'_>) {
        for stretch in seen.cut {
            let known = self.runs.remove(&(stretch.task, stretch.cpu));
            let id = known.unwrap_or_else(|| self.next_id());
            self.ran(stretch, id, false, seen.tasks);
        }
        if seen.events_missing_from().is_none() {
            return;
        }
        let is_cut = |track: &TrackId| seen.may_miss_events(*track);
        let mut cut: Vec<_> = self.states.extract_if(|track, _| is_cut(track)).collect();
        cut.sort_by_key(|(track, _)| *track);
        for (_, open) in cut {
            self.close(&open, "state", (Some(seen.time), false), None, seen.tasks);
        }
        let mut cut: Vec<_> = self.calls.extract_if(|track, _| is_cut(track)).collect();
        cut.sort_by_key(|(track, _)| *track);
        for (_, mut nest) in cut {
            while let Some(open) = nest.pop() {
                self.close(&open, "call", (None, false), None, seen.tasks);
            }
        }
    }
}

impl Pass for Slices<'_, '_> {
    fn event(&mut self, seen: &ResolvedEvent<'_>) {
        self.gap(seen);
        if seen.interrupt.is_some() {
            return self.interrupt(seen);
        }
        if seen.task.is_some() {
            return self.run(seen);
        }
        match &seen.event.content {
            Content::Activity(Activity::Enter { state, .. }) => self.enter(seen, state),
            Content::Activity(
                activity @ (Activity::Begin { .. } | Activity::End | Activity::EndOf { .. }),
            ) => self.call(seen, activity),
            _ => {}
        }
    }

    fn unfinished(&mut self, stretch: &RunSlice) {
        let known = self.runs.remove(&(stretch.task, stretch.cpu));
        let id = known.unwrap_or_else(|| self.next_id());
        self.unfinished.push((*stretch, id));
    }

    fn finish(&mut self, _bounds: &Bounds, tasks: &Tasks) {
        let mut open: Vec<(Open, &'static str, Option<i64>)> = Vec::new();
        for (stretch, id) in std::mem::take(&mut self.unfinished) {
            let name = tasks.name(stretch.task).to_owned();
            let (track, since) = (stretch.track, stretch.since);
            let run = Open { id, track, since, name, parent: None, depth: 0 };
            open.push((run, "run", tasks.cpu_number(stretch.cpu)));
        }
        for (cpu, stack) in std::mem::take(&mut self.interrupts) {
            let cpu = tasks.cpu_number(cpu);
            open.extend(stack.into_iter().map(|interrupt| (interrupt, "interrupt", cpu)));
        }
        for (_, mut nest) in std::mem::take(&mut self.calls) {
            while let Some(call) = nest.pop() {
                open.push((call, "call", None));
            }
        }
        open.extend(std::mem::take(&mut self.states).into_values().map(|it| (it, "state", None)));
        open.sort_by_key(|(open, ..)| open.id);
        for (slice, kind, cpu) in open {
            self.close(&slice, kind, (None, false), cpu, tasks);
        }
    }

    fn is_over(&self) -> bool {
        self.outcome.is_err()
    }
}

/// State of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Runnable,
    Blocked,
    Interrupted,
    Unknown,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Runnable => "runnable",
            Self::Blocked => "blocked",
            Self::Interrupted => "interrupted",
            Self::Unknown => "unknown",
        }
    }
}

/// A task's state that is not over.
#[derive(Debug, Clone, Copy)]
struct Current {
    state: State,
    since: TimeNs,
    cpu: Option<CpuId>,
    priority: Option<i64>,
    waker: Option<TrackId>,
    /// True if it was complete in the run that is not over.
    is_complete: bool,
}

/// States of tasks as they end.
struct TaskStates<'r, 'a> {
    rows: &'r mut Rows<'a, TaskStateRows>,
    outcome: Result<()>,
    current: HashMap<TaskId, Current, RandomState>,
    /// The running task of each processor, and its interrupts that are under way.
    running: HashMap<CpuId, (TaskId, usize), RandomState>,
}

struct TaskStateRow {
    since: TimeNs,
    until: Option<TimeNs>,
    track: Option<TrackId>,
    state: State,
    cpu: Option<i64>,
    priority: Option<i64>,
    waker: Option<TrackId>,
    recording: usize,
}

struct TaskStateRows;

impl RowKind for TaskStateRows {
    type Row<'a> = TaskStateRow;
}

impl CommonRow for TaskStateRows {
    fn recording(row: &TaskStateRow) -> usize {
        row.recording
    }
}

const TASK_STATES_COLUMNS: &[Column<TaskStateRows>] = &[
    Column::with_unit("ts", "ns", "beginning of the state", Cell::Int(|row| Some(row.since.0))),
    Column::with_unit(
        "dur",
        "ns",
        "duration; null where the state does not end in the recording",
        Cell::Int(|row| Some(row.until?.0.saturating_sub(row.since.0))),
    ),
    Column::new(
        "track_id",
        "track of the task; the first, where it has several",
        Cell::Int(|row| row.track.and_then(track_id)),
    ),
    Column::new(
        "state",
        "running, runnable, blocked, interrupted or unknown",
        Cell::Name(|row| Some(row.state.name().into())),
    ),
    Column::new("cpu", "processor that it runs on", Cell::Int(|row| row.cpu)),
    Column::new("priority", "priority that it runs with", Cell::Int(|row| row.priority)),
    Column::new(
        "waker_track_id",
        "track of the task or processor that made it runnable",
        Cell::Int(|row| row.waker.and_then(track_id)),
    ),
];

impl<'r, 'a> TaskStates<'r, 'a> {
    fn new(rows: &'r mut Rows<'a, TaskStateRows>) -> Self {
        let (current, running) = (HashMap::default(), HashMap::default());
        Self { rows, outcome: Ok(()), current, running }
    }

    fn push(&mut self, task: TaskId, current: &Current, until: Option<TimeNs>, tasks: &Tasks) {
        if self.outcome.is_ok() && until != Some(current.since) {
            self.outcome = self.rows.push(&TaskStateRow {
                since: current.since,
                until,
                track: tasks.get(task).map(|task| task.home),
                state: current.state,
                cpu: current.cpu.and_then(|cpu| tasks.cpu_number(cpu)),
                priority: current.priority,
                waker: current.waker,
                recording: tasks.recording(task),
            });
        }
    }

    /// Puts a task into another state.
    fn change(&mut self, task: TaskId, next: Current, tasks: &Tasks) {
        if let Some(before) = self.current.insert(task, next) {
            self.push(task, &before, Some(next.since), tasks);
        }
    }

    fn interrupt(
        &mut self,
        cpu: CpuId,
        seen: &ResolvedEvent<'_>,
        run: InterruptChange,
        around: usize,
    ) {
        let Some((task, depth)) = self.running.get_mut(&cpu) else { return };
        *depth = if run == InterruptChange::Begins { around + 1 } else { around };
        let (task, is_interrupted) = (*task, *depth > 0);
        let Some(current) = self.current.get(&task).copied() else { return };
        let state = if is_interrupted { State::Interrupted } else { State::Running };
        if current.state != state && current.cpu == Some(cpu) {
            self.change(task, Current { state, since: seen.time, ..current }, seen.tasks);
        }
    }

    fn ends(&mut self, task: TaskId, cpu: CpuId, seen: &ResolvedEvent<'_>) {
        self.running.remove(&cpu);
        let tells_completion = seen.tasks.get(task).is_some_and(|task| task.tells_completion);
        let is_complete = self.current.get(&task).is_some_and(|current| current.is_complete);
        let state = match (is_complete, tells_completion) {
            (true, _) => State::Blocked,
            (false, true) => State::Runnable,
            (false, false) => State::Unknown,
        };
        let next = Current {
            state,
            since: seen.time,
            cpu: None,
            priority: None,
            waker: None,
            is_complete: false,
        };
        self.change(task, next, seen.tasks);
    }
}

impl Pass for TaskStates<'_, '_> {
    fn event(&mut self, seen: &ResolvedEvent<'_>) {
        for stretch in seen.cut {
            let unknown = Current {
                state: State::Unknown,
                since: stretch.until,
                cpu: None,
                priority: None,
                waker: None,
                is_complete: false,
            };
            self.running.remove(&stretch.cpu);
            self.change(stretch.task, unknown, seen.tasks);
        }
        if let Some(interrupt) = seen.interrupt {
            return self.interrupt(interrupt.cpu, seen, interrupt.run, interrupt.around);
        }
        let Some((task, cpu)) = seen.task else { return };
        let base = Current {
            state: State::Unknown,
            since: seen.time,
            cpu: None,
            priority: None,
            waker: None,
            is_complete: false,
        };
        match (&seen.run, &seen.event.content) {
            (Some(RunChange::Begins), content) => {
                let priority = match content {
                    Content::Activity(Activity::Begin { priority, .. }) => *priority,
                    _ => None,
                };
                self.running.insert(cpu, (task, 0));
                let next = Current { state: State::Running, cpu: Some(cpu), priority, ..base };
                self.change(task, next, seen.tasks);
            }
            (Some(RunChange::Ends { .. }), _) => self.ends(task, cpu, seen),
            (None, Content::Activity(Activity::Release { .. })) => {
                let state = self.current.get(&task).map(|current| current.state);
                if !matches!(state, Some(State::Running | State::Interrupted | State::Runnable)) {
                    let waker = seen.by;
                    let next = Current { state: State::Runnable, waker, ..base };
                    self.change(task, next, seen.tasks);
                }
            }
            (None, Content::Activity(Activity::Complete { .. })) => {
                match self.current.get_mut(&task) {
                    Some(current) if current.cpu.is_some() => current.is_complete = true,
                    // Some recordings say that it stopped before they say that it was complete.
                    Some(current) if current.since == seen.time => current.state = State::Blocked,
                    _ => self.change(task, Current { state: State::Blocked, ..base }, seen.tasks),
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, _bounds: &Bounds, tasks: &Tasks) {
        let mut open: Vec<_> = std::mem::take(&mut self.current).into_iter().collect();
        open.sort_by_key(|(task, current)| (current.since, *task));
        for (task, current) in open {
            self.push(task, &current, None, tasks);
        }
    }

    fn is_over(&self) -> bool {
        self.outcome.is_err()
    }
}
