//! `flows` and `jobs`: messages and wakeups, and what tasks were released for.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use foldhash::fast::RandomState;
use kymo_core::Result;
use kymo_model::Table;
use kymo_model::table::{Cell, Column, RowKind};
use kymo_model::timeline::{Activity, Content, TimeNs, TimelineView, TrackId, Window};

use super::stream::{CommonRow, Rows, TableDescription};
use super::tracks::track_id;
use super::{Description, Maker};
use crate::messages::{DeliveredMessage, MessageEnd, Messages, Wakeups};
use crate::{
    Analysis, Bounds, Completed, InitialState, Pass, Progress, ResolvedEvent, RunChange, Sched,
    TaskId, Tasks, elapsed, is_idle_name,
};

/// Releases of a task whose budgets are kept; the jobs of older ones have none.
const BUDGETS_MAX: usize = 64;

static FLOWS: TableDescription<FlowRows> = TableDescription {
    name: "flows",
    about: "a message between two tracks, or a wakeup of a task",
    columns: FLOWS_COLUMNS,
};

static JOBS: TableDescription<JobRows> = TableDescription {
    name: "jobs",
    about: "what a task was released for, from release to completion",
    columns: JOBS_COLUMNS,
};

/// The tables that are here.
pub(super) fn describe() -> Vec<Description> {
    vec![FLOWS.parts(), JOBS.parts()]
}

pub(super) fn tables(maker: &Maker, timeline: &Arc<dyn TimelineView>) -> Vec<Arc<dyn Table>> {
    if !timeline.tracks().iter().any(|track| track.kind.has_activities()) {
        return Vec::new();
    }
    let (flowing, working) = (Arc::clone(timeline), Arc::clone(timeline));
    vec![
        maker.table(&FLOWS, move |_, rows| {
            let mut analysis =
                Analysis::new(Arc::clone(&flowing), Window::default(), &is_idle_name)?;
            let (messages, wakeups) = (Messages::new(), Wakeups::new());
            let mut flows = Flows { rows, outcome: Ok(()), messages, wakeups, count: 0 };
            analysis.run(&mut [&mut flows])?;
            flows.outcome
        }),
        maker.table(&JOBS, move |_, rows| {
            let mut analysis =
                Analysis::new(Arc::clone(&working), Window::default(), &is_idle_name)?;
            let tasks = HashMap::default();
            let mut jobs = Jobs { rows, outcome: Ok(()), sched: Sched::new(), tasks, count: 0 };
            analysis.run(&mut [&mut jobs])?;
            jobs.outcome
        }),
    ]
}

/// Messages and wakeups as they arrive.
struct Flows<'r, 'a> {
    rows: &'r mut Rows<'a, FlowRows>,
    outcome: Result<()>,
    messages: Messages,
    wakeups: Wakeups,
    count: i64,
}

struct FlowRow<'a> {
    id: i64,
    kind: &'static str,
    name: &'a str,
    from: Option<TrackId>,
    to: Option<TrackId>,
    sent: Option<TimeNs>,
    received: Option<TimeNs>,
    recording: usize,
}

struct FlowRows;

impl RowKind for FlowRows {
    type Row<'a> = FlowRow<'a>;
}

impl CommonRow for FlowRows {
    fn recording(row: &FlowRow<'_>) -> usize {
        row.recording
    }
}

const FLOWS_COLUMNS: &[Column<FlowRows>] = &[
    Column::new("flow_id", "id of the flow", Cell::Int(|row| Some(row.id))),
    Column::new("kind", "message or wakeup", Cell::Name(|row| Some(row.kind.into()))),
    Column::new("name", "name of the message", Cell::Name(|row| Some(Cow::from(row.name)))),
    Column::new(
        "from_track_id",
        "track that sent it, or that woke the task",
        Cell::Int(|row| row.from.and_then(track_id)),
    ),
    Column::new(
        "to_track_id",
        "track that received it, or is to, or of the task that was woken",
        Cell::Int(|row| row.to.and_then(track_id)),
    ),
    Column::with_unit(
        "send_ts",
        "ns",
        "when it was sent; null where that is not recorded",
        Cell::Int(|row| row.sent.map(|time| time.0)),
    ),
    Column::with_unit(
        "receive_ts",
        "ns",
        "when it was received, or the task ran; null where that is not recorded",
        Cell::Int(|row| row.received.map(|time| time.0)),
    ),
    Column::with_unit(
        "latency",
        "ns",
        "from sending to receiving; null where one is not known, or receiving comes first",
        Cell::Int(|row| {
            let (sent, received) = row.sent.zip(row.received)?;
            crate::took(sent, received).and_then(|ns| i64::try_from(ns).ok())
        }),
    ),
];

impl Flows<'_, '_> {
    fn push(&mut self, mut row: FlowRow<'_>, tasks: &Tasks) {
        let end = row.to.or(row.from);
        row.recording = end.and_then(|track| tasks.recording_of(track)).unwrap_or(0);
        if self.outcome.is_ok() {
            self.outcome = self.rows.push(&row);
        }
    }

    fn arrived(&mut self, kind: &'static str, sent: &DeliveredMessage, tasks: &Tasks) {
        let id = self.count;
        self.count += 1;
        let row = FlowRow {
            id,
            kind,
            name: &sent.name,
            from: sent.from,
            to: Some(sent.to),
            sent: sent.left,
            received: Some(sent.arrived),
            recording: 0,
        };
        self.push(row, tasks);
    }

    fn pending(&mut self, kind: &'static str, messages: &Messages, tasks: &Tasks) {
        let mut pending: Vec<_> = messages.pending().collect();
        pending.sort_by_key(|(key, time)| (*time, *key));
        for (key, time) in pending {
            let (id, name) = (self.count, &key.name);
            self.count += 1;
            let (from, to, sent) = (key.from, key.to, Some(time));
            let row = FlowRow { id, kind, name, from, to, sent, received: None, recording: 0 };
            self.push(row, tasks);
        }
    }
}

impl Pass for Flows<'_, '_> {
    fn follows_messages(&self) -> bool {
        true
    }

    fn begin(&mut self, bounds: &Bounds) {
        self.messages.begin(bounds);
        self.wakeups.begin(bounds);
    }

    fn initial_state(&mut self, what: &InitialState<'_>, begin: TimeNs) {
        self.messages.initial_state(what, begin);
        self.wakeups.initial_state(what, begin);
    }

    fn event(&mut self, seen: &ResolvedEvent<'_>) {
        if let Some(MessageEnd::Arrived(sent)) = self.messages.take(seen) {
            self.arrived("message", &sent, seen.tasks);
        }
        if let Some(MessageEnd::Arrived(sent)) = self.wakeups.take(seen) {
            self.arrived("wakeup", &sent, seen.tasks);
        }
    }

    fn finish(&mut self, bounds: &Bounds, tasks: &Tasks) {
        self.messages.finish(bounds, tasks);
        self.wakeups.finish(bounds, tasks);
        let messages = std::mem::take(&mut self.messages);
        self.pending("message", &messages, tasks);
        let wakeups = std::mem::take(&mut self.wakeups);
        self.pending("wakeup", wakeups.messages(), tasks);
    }

    fn is_over(&self) -> bool {
        self.outcome.is_err()
    }
}

/// Jobs as they are complete.
struct Jobs<'r, 'a> {
    rows: &'r mut Rows<'a, JobRows>,
    outcome: Result<()>,
    sched: Sched,
    tasks: HashMap<TaskId, TaskJobs, RandomState>,
    count: i64,
}

/// What is known of a task's jobs.
#[derive(Debug, Default)]
struct TaskJobs {
    /// Releases with their budgets, in their order.
    budgets: VecDeque<(TimeNs, i64)>,
    started: Option<TimeNs>,
    delay_ns: Option<u64>,
    /// Ends of runs since the job started.
    ends: Vec<TimeNs>,
}

struct JobRow {
    id: i64,
    track: Option<TrackId>,
    release: Option<TimeNs>,
    start: Option<TimeNs>,
    complete: Option<TimeNs>,
    delay_ns: Option<u64>,
    run_ns: Option<u64>,
    response_ns: Option<u64>,
    preemptions: Option<usize>,
    budget_ns: Option<i64>,
    is_late: Option<bool>,
    recording: usize,
}

struct JobRows;

impl RowKind for JobRows {
    type Row<'a> = JobRow;
}

impl CommonRow for JobRows {
    fn recording(row: &JobRow) -> usize {
        row.recording
    }
}

fn signed(ns: u64) -> Option<i64> {
    i64::try_from(ns).ok()
}

const JOBS_COLUMNS: &[Column<JobRows>] = &[
    Column::new("job_id", "id of the job", Cell::Int(|row| Some(row.id))),
    Column::new(
        "track_id",
        "track of the task; the first, where it has several",
        Cell::Int(|row| row.track.and_then(track_id)),
    ),
    Column::with_unit(
        "release_ts",
        "ns",
        "when the task was released; null where that is not recorded",
        Cell::Int(|row| row.release.map(|time| time.0)),
    ),
    Column::with_unit(
        "start_ts",
        "ns",
        "when it ran first for the job; null where that is not recorded",
        Cell::Int(|row| row.start.map(|time| time.0)),
    ),
    Column::with_unit(
        "complete_ts",
        "ns",
        "when the job was complete; null where it is not",
        Cell::Int(|row| row.complete.map(|time| time.0)),
    ),
    Column::with_unit(
        "delay",
        "ns",
        "from release to start",
        Cell::Int(|row| row.delay_ns.and_then(signed)),
    ),
    Column::with_unit(
        "run",
        "ns",
        "time that it ran for the job",
        Cell::Int(|row| row.run_ns.and_then(signed)),
    ),
    Column::with_unit(
        "wait",
        "ns",
        "response without the run",
        Cell::Int(|row| {
            row.response_ns
                .zip(row.run_ns)
                .and_then(|(response, run)| signed(response.checked_sub(run)?))
        }),
    ),
    Column::with_unit(
        "response",
        "ns",
        "from release to completion",
        Cell::Int(|row| row.response_ns.and_then(signed)),
    ),
    Column::new(
        "preemptions",
        "number of runs that ended before the job was complete; null where the start is not known",
        Cell::Int(|row| row.preemptions.and_then(|count| i64::try_from(count).ok())),
    ),
    Column::with_unit(
        "budget",
        "ns",
        "time that the job may take from its release",
        Cell::Int(|row| row.budget_ns),
    ),
    Column::new(
        "is_late",
        "true if the job took longer than its budget; null where it has none",
        Cell::Bool(|row| row.is_late),
    ),
];

impl Jobs<'_, '_> {
    fn push(&mut self, mut row: JobRow, task: TaskId, tasks: &Tasks) {
        row.id = self.count;
        self.count += 1;
        row.track = tasks.get(task).map(|task| task.home);
        row.recording = tasks.recording(task);
        if self.outcome.is_ok() {
            self.outcome = self.rows.push(&row);
        }
    }

    fn completed(&mut self, task: TaskId, job: &Completed, now: TimeNs, tasks: &Tasks) {
        let known = self.tasks.entry(task).or_default();
        let (start, delay_ns) = (known.started.take(), known.delay_ns.take());
        let ends = std::mem::take(&mut known.ends);
        let row = JobRow {
            id: 0,
            track: None,
            release: job.release,
            start,
            complete: Some(now),
            delay_ns,
            run_ns: Some(job.run_ns).filter(|_| job.is_run_known),
            response_ns: job.response_ns,
            preemptions: start.map(|_| ends.iter().filter(|end| **end < now).count()),
            budget_ns: job.release.and_then(|release| known.budget(release)),
            is_late: job.is_late,
            recording: 0,
        };
        self.push(row, task, tasks);
    }
}

impl TaskJobs {
    /// Takes the budget of a release, and forgets those before it.
    fn budget(&mut self, release: TimeNs) -> Option<i64> {
        while let Some((time, budget)) = self.budgets.front().copied() {
            if time > release {
                break;
            }
            self.budgets.pop_front();
            if time == release {
                return Some(budget);
            }
        }
        None
    }
}

impl Pass for Jobs<'_, '_> {
    fn begin(&mut self, bounds: &Bounds) {
        self.sched.begin(bounds);
    }

    fn initial_state(&mut self, what: &InitialState<'_>, begin: TimeNs) {
        self.sched.initial_state(what, begin);
    }

    fn event(&mut self, seen: &ResolvedEvent<'_>) {
        let progress = self.sched.take(seen);
        if let Some((task, _)) = seen.task {
            match (&seen.run, &seen.event.content) {
                (_, Content::Activity(Activity::Release { budget_ns: Some(budget), .. })) => {
                    let known = self.tasks.entry(task).or_default();
                    if known.budgets.len() >= BUDGETS_MAX {
                        known.budgets.pop_front();
                    }
                    known.budgets.push_back((seen.time, *budget));
                }
                (Some(RunChange::Ends { .. }), _) => {
                    if let Some(known) = self.tasks.get_mut(&task).filter(|it| it.started.is_some())
                    {
                        known.ends.push(seen.time);
                    }
                }
                _ => {}
            }
        }
        match progress {
            Some((task, Progress::Started(delay_ns))) => {
                let known = self.tasks.entry(task).or_default();
                (known.started, known.delay_ns) = (Some(seen.time), Some(delay_ns));
                known.ends.clear();
            }
            Some((task, Progress::Completed(job))) => {
                self.completed(task, &job, seen.time, seen.tasks);
            }
            None => {}
        }
    }

    fn finish(&mut self, bounds: &Bounds, tasks: &Tasks) {
        self.sched.finish(bounds, tasks);
        let open: Vec<_> = self.sched.open().collect();
        for (task, job) in open {
            let known = self.tasks.entry(task).or_default();
            let started = known.started.filter(|_| job.is_started);
            let release = job.release.time;
            let row = JobRow {
                id: 0,
                track: None,
                release: Some(release),
                start: started,
                complete: None,
                delay_ns: started.map(|started| elapsed(release, started)),
                run_ns: Some(job.run_ns),
                response_ns: None,
                preemptions: started.map(|_| known.ends.len()),
                budget_ns: job.release.budget_ns.and_then(signed),
                is_late: None,
                recording: 0,
            };
            self.push(row, task, tasks);
        }
    }

    fn is_over(&self) -> bool {
        self.outcome.is_err()
    }
}
