//! Content of a picture of tasks over time: rows of cells, and messages between rows.

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::RandomState;
use kymo_model::timeline::{Activity, Content, TimeNs, TrackId};

use crate::bounds::Bounds;
use crate::messages::MessageEnd;
use crate::own::item_mut;
use crate::states::OTHERS;
use crate::tasks::{CpuId, TaskId, Tasks};
use crate::{Buckets, InitialState, Messages, Omission, Pass, ResolvedEvent, RunSlice};

/// Messages that are drawn; more would hide everything else.
const ARROWS_MAX: usize = 300;

/// States of one machine that are told apart: there are not that many colours. The rest are one.
const STATES_MAX: usize = 255;

/// Content of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowKind {
    /// A task, wherever it ran.
    Task(TaskId),
    /// A state machine.
    States(TrackId),
}

/// A row of a picture.
#[derive(Debug, Clone)]
pub struct Row {
    /// Content of the row.
    pub kind: RowKind,
    /// For each cell, how much of it is filled, and with what most: the processor's index, or the
    /// state's place in `states`.
    pub cells: Vec<(u64, usize)>,
    /// With what else each cell is filled.
    parts: Vec<Vec<(u64, usize)>>,
    /// For how much of each cell it is not known what fills it, since events are missing; empty where
    /// all is known.
    unknown: Vec<u64>,
    /// The names of states.
    pub states: Vec<String>,
    /// Cells with a release.
    pub releases: BTreeSet<usize>,
    now: Option<(usize, TimeNs)>,
    /// Since when the state is not known.
    lost_since: Option<TimeNs>,
}

impl Row {
    fn new(kind: RowKind, cells: usize) -> Self {
        let (states, releases) = (Vec::new(), BTreeSet::new());
        let (parts, unknown) = (vec![Vec::new(); cells], Vec::new());
        let (cells, now, lost_since) = (Vec::new(), None, None);
        Self { kind, cells, parts, unknown, states, releases, now, lost_since }
    }

    /// Returns true if more of a cell is not known than is filled.
    #[must_use]
    pub fn is_unknown(&self, cell: usize) -> bool {
        let filled = self.cells.get(cell).map_or(0, |(ns, _)| *ns);
        self.unknown.get(cell).is_some_and(|unknown| *unknown > filled)
    }

    /// Events are missing from a moment on.
    fn lose(&mut self, buckets: Buckets, time: TimeNs) {
        if let Some((state, since)) = self.now.take() {
            self.fill(buckets, since, time, state);
        }
        self.lost_since.get_or_insert(time);
    }

    /// Marks the cells up to a timestamp as unknown.
    fn lost_until(&mut self, buckets: Buckets, until: TimeNs) {
        if let Some(since) = self.lost_since.take() {
            add(&mut self.unknown, buckets, since, until);
        }
    }

    /// Fills cells.
    fn fill(&mut self, buckets: Buckets, since: TimeNs, until: TimeNs, with: usize) {
        for (index, ns) in buckets.split(since, until) {
            let Some(parts) = self.parts.get_mut(index) else { continue };
            match parts.iter_mut().find(|(_, what)| *what == with) {
                Some((filled, _)) => *filled = filled.saturating_add(ns),
                None => parts.push((ns, with)),
            }
        }
    }

    /// Settles the content of a cell: it shows what fills most of it.
    fn choose_majority(&mut self) {
        let most = |parts: &Vec<(u64, usize)>| {
            let all = parts.iter().fold(0, |all: u64, (ns, _)| all.saturating_add(*ns));
            let most = parts.iter().max_by_key(|(ns, what)| (*ns, usize::MAX - what));
            most.map_or((0, 0), |(_, what)| (all, *what))
        };
        self.cells = self.parts.iter().map(most).collect();
    }

    fn place(&mut self, state: &str) -> usize {
        let known = |states: &[String], state: &str| states.iter().position(|name| name == state);
        let is_full = self.states.len() >= STATES_MAX;
        let state = if is_full && known(&self.states, state).is_none() { OTHERS } else { state };
        known(&self.states, state).unwrap_or_else(|| {
            self.states.push(state.to_owned());
            self.states.len() - 1
        })
    }

    fn enter(&mut self, buckets: Buckets, time: TimeNs, state: &str) {
        let place = self.place(state);
        self.lost_until(buckets, time);
        if let Some((before, since)) = self.now.replace((place, time)) {
            self.fill(buckets, since, time, before);
        }
    }
}

/// Adds a stretch to the cells it is in.
fn add(cells: &mut Vec<u64>, buckets: Buckets, since: TimeNs, until: TimeNs) {
    cells.resize(buckets.count, 0);
    for (index, ns) in buckets.split(since, until) {
        if let Some(cell) = item_mut(cells, index) {
            *cell = cell.saturating_add(ns);
        }
    }
}

/// A message from a row to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrow {
    /// The row it leaves.
    pub from: usize,
    /// The row it gets to.
    pub to: usize,
    /// Time at which the message left.
    pub left: TimeNs,
    /// Time at which it arrived.
    pub arrived: TimeNs,
}

/// Collects what a picture shows.
#[derive(Debug)]
pub struct Gantt {
    buckets: Buckets,
    rows: Vec<Row>,
    row_of: HashMap<RowKind, usize, RandomState>,
    /// For how much of each cell it is not known who runs on a processor.
    unknown: HashMap<CpuId, Vec<u64>, RandomState>,
    /// Stretches that nothing ends.
    lost: Vec<RunSlice>,
    messages: Messages,
    task_of: HashMap<TrackId, TaskId, RandomState>,
    arrows: Vec<Arrow>,
    omitted_arrows: u64,
}

impl Gantt {
    /// A picture of some rows, with a cell for each bucket.
    #[must_use]
    pub fn new(buckets: Buckets, rows: &[RowKind]) -> Self {
        Self {
            buckets,
            rows: rows.iter().map(|kind| Row::new(*kind, buckets.count)).collect(),
            row_of: rows.iter().enumerate().map(|(at, kind)| (*kind, at)).collect(),
            unknown: HashMap::default(),
            lost: Vec::new(),
            messages: Messages::new(),
            task_of: HashMap::default(),
            arrows: Vec::new(),
            omitted_arrows: 0,
        }
    }

    /// Returns true if anything is not known, since events are missing.
    #[must_use]
    pub fn has_unknown(&self) -> bool {
        let mut cells =
            self.rows.iter().flat_map(|row| (0..row.cells.len()).map(move |at| (row, at)));
        cells.any(|(row, cell)| row.is_unknown(cell))
    }

    /// Returns the stretches of time that cells stand for.
    #[must_use]
    pub fn buckets(&self) -> Buckets {
        self.buckets
    }

    /// The rows.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Messages between rows.
    #[must_use]
    pub fn arrows(&self) -> &[Arrow] {
        &self.arrows
    }

    /// Returns the number of further messages.
    #[must_use]
    pub fn omitted_arrows(&self) -> u64 {
        self.omitted_arrows
    }

    fn row(&self, track: TrackId, tasks: &Tasks) -> Option<usize> {
        let seen = self.task_of.get(&track).copied();
        let task = seen.or_else(|| tasks.track_task(track).map(|(task, _)| task));
        let row = task.and_then(|task| self.row_of.get(&RowKind::Task(task)));
        row.or_else(|| self.row_of.get(&RowKind::States(track))).copied()
    }

    fn fill(&mut self, stretch: &RunSlice) {
        let at = self.row_of.get(&RowKind::Task(stretch.task));
        if let Some(row) = at.and_then(|at| self.rows.get_mut(*at)) {
            row.fill(self.buckets, stretch.since, stretch.until, stretch.cpu.0);
        }
    }

    /// A message goes from row to row. One whose sender told when it arrives is drawn when it
    /// leaves.
    fn arrow(&mut self, seen: &ResolvedEvent<'_>) {
        let ends = match self.messages.take(seen) {
            Some(MessageEnd::Arrived(sent)) if sent.told.is_none() || sent.id.is_none() => {
                (sent.from.zip(Some(sent.to))).zip(sent.left.zip(Some(sent.arrived)))
            }
            Some(MessageEnd::Sent(left)) => {
                (Some(left.from).zip(left.to)).zip(Some(left.time).zip(left.arrives))
            }
            _ => None,
        };
        if let Some((ends, times)) = ends {
            self.draw(ends, times, seen.tasks);
        }
    }

    fn draw(
        &mut self,
        (from, to): (TrackId, TrackId),
        (left, arrived): (TimeNs, TimeNs),
        tasks: &Tasks,
    ) {
        let Some((from, to)) = self.row(from, tasks).zip(self.row(to, tasks)) else { return };
        if self.arrows.len() < ARROWS_MAX {
            self.arrows.push(Arrow { from, to, left, arrived });
        } else {
            self.omitted_arrows += 1;
        }
    }

    /// States last up to where events are missing.
    fn gap(&mut self, seen: &ResolvedEvent<'_>) {
        for row in &mut self.rows {
            if matches!(row.kind, RowKind::States(track) if seen.may_miss_events(track)) {
                row.lose(self.buckets, seen.time);
            }
        }
    }

    /// A stretch of a task has no end that is known: on a processor nobody is known to run meanwhile.
    /// Where none is recorded, tasks run side by side, and this is of none but that task.
    fn lose(&mut self, lost: &RunSlice, tasks: &Tasks) {
        if tasks.cpu(lost.cpu).is_some_and(|cpu| cpu.is_one) {
            return self.unknown(lost.cpu, lost.since, lost.until);
        }
        let at = self.row_of.get(&RowKind::Task(lost.task));
        if let Some(row) = at.and_then(|at| self.rows.get_mut(*at)) {
            add(&mut row.unknown, self.buckets, lost.since, lost.until);
        }
    }

    /// A task may run on each processor that it has a track of: where it is not known who runs on one
    /// of them, it is not known of the task.
    fn spread_unknown(&mut self, tasks: &Tasks) {
        if self.unknown.is_empty() {
            return;
        }
        let mut rows_of: HashMap<TrackId, Vec<usize>, RandomState> = HashMap::default();
        for (at, row) in self.rows.iter().enumerate() {
            let RowKind::Task(task) = row.kind else { continue };
            rows_of
                .entry(tasks.get(task).map_or(TrackId(0), |this_task| this_task.home))
                .or_default()
                .push(at);
        }
        for (track, cpu) in tasks.tracks_of_tasks() {
            let (rows, cells) = (rows_of.get(&tasks.home(track)), self.unknown.get(&cpu));
            let Some((rows, cells)) = rows.zip(cells) else { continue };
            for row in rows {
                let Some(row) = item_mut(&mut self.rows, *row) else { continue };
                row.unknown.resize(cells.len(), 0);
                for (known, ns) in row.unknown.iter_mut().zip(cells) {
                    *known = (*known).max(*ns);
                }
            }
        }
    }

    fn mark(&mut self, seen: &ResolvedEvent<'_>, activity: &Activity<'_>) {
        let (buckets, time) = (self.buckets, seen.time);
        let at = match activity {
            Activity::Release { .. } => seen.task.map(|(task, _)| RowKind::Task(task)),
            Activity::Enter { .. } => Some(RowKind::States(seen.event.track)),
            _ => None,
        };
        let row = at.and_then(|kind| self.row_of.get(&kind));
        let Some(row) = row.and_then(|at| self.rows.get_mut(*at)) else { return };
        if let Activity::Enter { state, .. } = activity {
            return row.enter(buckets, time, state);
        }
        row.releases.extend(buckets.index_at(time));
    }
}

impl Pass for Gantt {
    fn follows_states(&self) -> bool {
        self.rows.iter().any(|row| matches!(row.kind, RowKind::States(_)))
    }

    fn follows_messages(&self) -> bool {
        true
    }

    fn initial_state(&mut self, what: &InitialState<'_>, begin: TimeNs) {
        self.messages.initial_state(what, begin);
        let InitialState::State(track, state) = what else { return };
        let at = self.row_of.get(&RowKind::States(*track));
        if let Some(row) = at.and_then(|at| self.rows.get_mut(*at)) {
            row.enter(self.buckets, begin, state);
        }
    }

    fn event(&mut self, seen: &ResolvedEvent<'_>) {
        if let Some((task, _)) = seen.task {
            self.task_of.insert(seen.tasks.home(seen.event.track), task);
        }
        if let Some(stretch) = seen.stretch() {
            self.fill(&stretch);
        }
        seen.cut.iter().for_each(|stretch| self.fill(stretch));
        if let (Some(since), Some((_, cpu))) = (seen.unknown_since, seen.task) {
            self.unknown(cpu, since, seen.time);
        }
        if let Some(lost) = &seen.lost {
            self.lose(lost, seen.tasks);
        }
        if seen.gap().is_some() {
            self.gap(seen);
        }
        if let Content::Activity(activity) = &seen.event.content {
            self.mark(seen, activity);
            self.arrow(seen);
        }
    }

    fn unfinished(&mut self, stretch: &RunSlice) {
        self.fill(stretch);
    }

    fn lost(&mut self, stretch: &RunSlice) {
        self.lost.push(*stretch);
    }

    fn unknown(&mut self, cpu: CpuId, since: TimeNs, until: TimeNs) {
        add(self.unknown.entry(cpu).or_default(), self.buckets, since, until);
    }

    /// States last until the end.
    fn finish(&mut self, bounds: &Bounds, tasks: &Tasks) {
        for lost in std::mem::take(&mut self.lost) {
            self.lose(&lost, tasks);
        }
        self.spread_unknown(tasks);
        for row in &mut self.rows {
            let end = match row.kind {
                RowKind::States(track) => bounds.time_range(track).map(|(_, end)| end),
                RowKind::Task(_) => None,
            };
            if let (Some((state, since)), Some(end)) = (row.now.take(), end) {
                row.fill(self.buckets, since, end, state);
            }
            if let Some(end) = end {
                row.lost_until(self.buckets, end);
            }
            row.choose_majority();
        }
    }

    fn awaits(&self) -> bool {
        self.messages.awaits()
    }

    /// Draws the message of an event: one that leaves in the picture may arrive beyond it.
    fn event_after(&mut self, seen: &ResolvedEvent<'_>) {
        if let Some(sent) = self.messages.take_after(seen)
            && let Some((from, left)) = sent.from.zip(sent.left)
        {
            self.draw((from, sent.to), (left, sent.arrived), seen.tasks);
        }
    }

    fn omissions(&self) -> Vec<Omission> {
        self.messages.omissions()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{analysed, analysed_with, begin, message, release};
    use kymo_model::timeline::{Missing, Window};

    #[test]
    fn cells_are_filled_as_far_as_tasks_ran() {
        let enter = |state: &'static str| Activity::Enter { state: state.into(), settled: None };
        let told = vec![
            (0, 6, enter("shut")),
            (0, 2, release(None)),
            (5, 2, begin(1)),
            (12, 2, Activity::Send(message("M", Some(1), None))),
            (20, 2, Activity::End),
            (20, 1, begin(1)),
            (25, 1, Activity::Receive(message("M", Some(2), None))),
            (26, 6, enter("open")),
            (30, 1, Activity::End),
            (30, 5, begin(1)),
            (40, 5, Activity::End),
        ];
        // Tasks are numbered as their tracks come: a, b, idle.
        let rows =
            [RowKind::Task(TaskId(0)), RowKind::Task(TaskId(1)), RowKind::States(TrackId(6))];
        let mut gantt = Gantt::new(Buckets::from_range(TimeNs(0), TimeNs(40), 4), &rows);
        analysed(told, Window::default(), &mut gantt);
        let rows = gantt.rows();
        assert_eq!(rows[0].cells, [(0, 0), (0, 0), (10, 0), (10, 1)]);
        assert_eq!(rows[1].cells, [(5, 0), (10, 0), (0, 0), (0, 0)]);
        assert_eq!(rows[1].releases, BTreeSet::from([0]));
        assert_eq!(rows[2].states, ["shut", "open"]);
        assert_eq!(rows[2].cells, [(10, 0), (10, 0), (10, 0), (10, 1)]);
        let arrow = Arrow { from: 1, to: 0, left: TimeNs(12), arrived: TimeNs(25) };
        assert_eq!((gantt.arrows(), gantt.omitted_arrows()), (&[arrow][..], 0));
    }

    #[test]
    fn a_cell_has_one_mark_however_often_a_task_is_released_in_it() {
        // Times of a log that is not sorted go to and fro between two cells.
        let released = (0..1000).map(|at| (at % 2 * 30 + 5, 2, release(None)));
        let told = [(0, 2, begin(1))].into_iter().chain(released).chain([(40, 2, Activity::End)]);
        let buckets = Buckets::from_range(TimeNs(0), TimeNs(40), 4);
        let mut gantt = Gantt::new(buckets, &[RowKind::Task(TaskId(1))]);
        analysed(told.collect(), Window::default(), &mut gantt);
        assert_eq!(gantt.rows()[0].releases, BTreeSet::from([0, 3]));
    }

    #[test]
    fn cells_are_not_known_from_where_events_are_missing_to_the_next_switch() {
        // On cpu 0 b runs 0–10; then events are missing, of the door too; a runs there 30–40. On cpu 1
        // a runs 10–20. The door is shut 0–10 and open from 25 on.
        let enter = |state: &'static str| Activity::Enter { state: state.into(), settled: None };
        let told = vec![
            (0, 6, enter("shut")),
            (0, 2, begin(1)),
            (10, 0, Activity::Gap(Missing::AllEvents)),
            (10, 5, begin(1)),
            (20, 5, Activity::End),
            (25, 6, enter("open")),
            (30, 1, begin(1)),
            (40, 1, Activity::End),
        ];
        let rows =
            [RowKind::Task(TaskId(0)), RowKind::Task(TaskId(1)), RowKind::States(TrackId(6))];
        let mut gantt = Gantt::new(Buckets::from_range(TimeNs(0), TimeNs(40), 4), &rows);
        analysed_with(told, Window::default(), &mut gantt);
        let unknown = |row: usize| (0..4).map(|cell| gantt.rows()[row].is_unknown(cell)).collect();
        // It is known that a runs on cpu 1 at 10–20; at 20–30 it may on cpu 0.
        let found: [Vec<bool>; 3] = [0, 1, 2].map(unknown);
        assert_eq!(found[0], [false, false, true, false]);
        assert_eq!(found[1], [false, true, true, false]);
        // Of the third cell one half is known, and one is not.
        assert_eq!(found[2], [false, true, false, false]);
        assert_eq!(gantt.rows()[2].cells, [(10, 0), (0, 0), (5, 1), (10, 1)]);
        assert!(gantt.has_unknown());
    }

    #[test]
    fn a_state_is_not_known_up_to_the_end_where_none_is_entered_any_more() {
        let enter = |state: &'static str| Activity::Enter { state: state.into(), settled: None };
        let told = vec![
            (0, 6, enter("shut")),
            (10, 0, Activity::Gap(Missing::AllEvents)),
            (40, 9, begin(1)),
        ];
        let mut gantt = Gantt::new(
            Buckets::from_range(TimeNs(0), TimeNs(40), 4),
            &[RowKind::States(TrackId(6))],
        );
        analysed_with(told, Window::default(), &mut gantt);
        assert_eq!(gantt.rows()[0].unknown, [0, 10, 10, 10]);
    }

    #[test]
    fn who_runs_is_not_known_where_a_stretch_has_no_end() {
        // Nothing stops b, and a runs from 20 on. In the log, p begins twice, and q is none of it.
        let told = vec![
            (0, 2, begin(1)),
            (0, 9, begin(1)),
            (0, 10, begin(1)),
            (20, 1, begin(1)),
            (20, 9, begin(1)),
            (40, 1, Activity::End),
            (40, 9, Activity::End),
            (40, 10, Activity::End),
        ];
        let rows = [0, 1, 4, 5].map(|task| RowKind::Task(TaskId(task)));
        let mut gantt = Gantt::new(Buckets::from_range(TimeNs(0), TimeNs(40), 4), &rows);
        analysed_with(told, Window::default(), &mut gantt);
        let unknown: Vec<_> = gantt.rows().iter().map(|row| row.unknown.clone()).collect();
        assert_eq!(unknown, [vec![10, 10, 0, 0], vec![10, 10, 0, 0], vec![10, 10, 0, 0], vec![]]);
    }

    #[test]
    fn a_cell_shows_what_fills_most_of_it() {
        let mut row = Row::new(RowKind::Task(TaskId(0)), 1);
        let buckets = Buckets::from_range(TimeNs(0), TimeNs(10), 1);
        for (since, until, with) in [(0, 3, 0), (3, 7, 1), (7, 10, 0)] {
            row.fill(buckets, TimeNs(since), TimeNs(until), with);
        }
        row.choose_majority();
        assert_eq!(row.cells, [(10, 0)]);
        for state in 0..300 {
            row.place(&state.to_string());
        }
        assert_eq!((row.states.len(), row.states.last().unwrap().as_str()), (256, OTHERS));
    }
}
