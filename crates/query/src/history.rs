//! Every stretch that a task ran, with what came before it: what `perf sched timehist` shows.

use kymo_core::slot;
use kymo_model::timeline::{Activity, Content, TimeNs};

use crate::bounds::Bounds;
use crate::sched::{Progress, Sched};
use crate::{InitialState, Pass, ResolvedEvent, RunChange, RunSlice, Tasks, elapsed, took};

/// A stretch that a task ran, and what came before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskRun {
    /// The stretch. Where its begin is not known, it begins where it ends.
    pub stretch: RunSlice,
    /// Duration of the run, where its begin is known.
    pub run_ns: Option<u64>,
    /// True if it began before the window, or goes on after it or after all that is known. The part
    /// within is reported.
    pub is_cut: bool,
    /// Duration before it for which the task was not running, where it ran before.
    pub wait_ns: Option<u64>,
    /// Duration from the release of the task to the stretch, where it is the first after that. Of
    /// several releases the first counts.
    pub delay_ns: Option<u64>,
    /// The priority that it began to run with, where that is known.
    pub priority: Option<i64>,
}

/// Hands on every stretch, as it ends.
pub struct History<'a> {
    to: &'a mut dyn FnMut(TaskRun, &Tasks),
    /// Tells which release a stretch is for.
    sched: Sched,
    /// State of each task.
    tasks: Vec<PreviousRun>,
    /// Stretches that go on at the end.
    unfinished: Vec<RunSlice>,
    /// Number of gaps, by recording.
    gaps: Vec<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct PreviousRun {
    /// End of its last stretch.
    ended: Option<TimeNs>,
    /// Delay of the job before it began to run.
    delay_ns: Option<u64>,
    /// The priority that it runs with.
    priority: Option<i64>,
    /// True if it was seen to begin what it runs.
    is_begun: bool,
    /// Number of gaps so far: it only matters whether there are others than before.
    gaps: u32,
}

impl<'a> History<'a> {
    /// Hands every stretch to a function.
    pub fn new(to: &'a mut dyn FnMut(TaskRun, &Tasks)) -> Self {
        let (tasks, unfinished, gaps) = (Vec::new(), Vec::new(), Vec::new());
        Self { to, sched: Sched::new(), tasks, unfinished, gaps }
    }

    fn previous_run(&mut self, task: usize) -> Option<&mut PreviousRun> {
        if self.tasks.len() <= task {
            self.tasks.resize_with(task + 1, PreviousRun::default);
        }
        self.tasks.get_mut(task)
    }

    fn ends(&mut self, stretch: RunSlice, is_whole: bool, goes_on: bool, tasks: &Tasks) {
        let Some(before) = self.previous_run(stretch.task.0) else { return };
        let is_cut = goes_on || (is_whole && !before.is_begun);
        let PreviousRun { ended, delay_ns, priority, gaps, .. } = std::mem::take(before);
        (before.ended, before.gaps) = (Some(stretch.until), gaps);
        let wait_ns = ended.filter(|_| is_whole).and_then(|ended| took(ended, stretch.since));
        let run_ns = is_whole.then(|| elapsed(stretch.since, stretch.until));
        (self.to)(TaskRun { stretch, run_ns, is_cut, wait_ns, delay_ns, priority }, tasks);
    }
}

impl History<'_> {
    /// Reports running stretches up to where events are missing. Since when other tasks do not run
    /// is not known then.
    fn gap(&mut self, seen: &ResolvedEvent<'_>) {
        for stretch in seen.cut {
            if stretch.since < stretch.until {
                self.ends(*stretch, true, true, seen.tasks);
            }
            if let Some(before) = self.previous_run(stretch.task.0) {
                *before = PreviousRun::default();
            }
        }
        if let Some(recording) = seen.events_missing_from() {
            let gaps = slot(&mut self.gaps, recording);
            *gaps = gaps.wrapping_add(1);
        }
    }
}

impl Pass for History<'_> {
    fn begin(&mut self, bounds: &Bounds) {
        self.sched.begin(bounds);
    }

    fn initial_state(&mut self, what: &InitialState<'_>, begin: TimeNs) {
        self.sched.initial_state(what, begin);
        if let InitialState::Task(task, priority) = what
            && let Some(before) = self.previous_run(task.0)
        {
            before.priority = *priority;
        }
    }

    fn event(&mut self, seen: &ResolvedEvent<'_>) {
        let progress = self.sched.take(seen).map(|(_, progress)| progress);
        if let Some(before) = seen.lost.and_then(|lost| self.previous_run(lost.task.0)) {
            // It ran, and nothing tells until when.
            *before = PreviousRun::default();
        }
        self.gap(seen);
        let Some((task, cpu)) = seen.task else { return };
        let gaps = self.gaps.get(seen.tasks.recording(task)).copied().unwrap_or(0);
        let Some(before) = self.previous_run(task.0) else { return };
        if before.gaps != gaps {
            // What runs since before was not touched.
            let is_begun = before.is_begun;
            *before = if is_begun { *before } else { PreviousRun::default() };
            before.gaps = gaps;
        }
        if let Content::Activity(Activity::Begin { priority, .. }) = &seen.event.content {
            before.delay_ns = match progress {
                Some(Progress::Started(delay_ns)) => Some(delay_ns),
                _ => None,
            };
            (before.priority, before.is_begun) = (*priority, true);
        }
        if let Some(RunChange::Ends { since }) = seen.run {
            let (track, until) = (seen.event.track, seen.time);
            let stretch = RunSlice { task, cpu, track, since: since.unwrap_or(until), until };
            self.ends(stretch, since.is_some(), false, seen.tasks);
        }
    }

    fn unfinished(&mut self, stretch: &RunSlice) {
        self.unfinished.push(*stretch);
    }

    /// Reports stretches that go on, as far as they are known.
    fn finish(&mut self, _bounds: &Bounds, tasks: &Tasks) {
        for stretch in std::mem::take(&mut self.unfinished) {
            self.ends(stretch, true, true, tasks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TimedActivity, analysed, begin, complete, release};
    use kymo_model::timeline::Window;

    #[test]
    fn turns_are_as_worked_out_by_hand() {
        // Task b: runs already at 5, is released at 10 and again at 12, runs 20–30; goes on at
        // 50–60 without a release.
        let told: Vec<TimedActivity> = vec![
            (5, 2, Activity::End),
            (10, 2, release(None)),
            (12, 2, release(None)),
            (20, 2, begin(1)),
            (30, 2, Activity::End),
            (50, 2, begin(9)),
            (60, 2, Activity::End),
        ];
        let mut found = Vec::new();
        let mut keep = |turn: TaskRun, tasks: &Tasks| {
            assert_eq!(tasks.name(turn.stretch.task), "b");
            let TaskRun { wait_ns, delay_ns, run_ns, priority, .. } = turn;
            found.push((turn.stretch.until.0, wait_ns, delay_ns, run_ns, priority));
        };
        analysed(told, Window::default(), &mut History::new(&mut keep));
        let expected = [
            (5, None, None, None, None),
            (30, Some(15), Some(10), Some(10), Some(1)),
            (60, Some(20), None, Some(10), Some(9)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_window_cuts_through_stretches() {
        // Task b runs 0–30 and 50–90, and a runs 30–50 and from 90 on.
        let told = || -> Vec<TimedActivity> {
            vec![
                (0, 2, begin(1)),
                (30, 2, Activity::End),
                (30, 1, begin(1)),
                (50, 1, Activity::End),
                (50, 2, begin(1)),
                (90, 2, Activity::End),
                (90, 1, begin(1)),
            ]
        };
        let turns = |from: Option<i64>, until: Option<i64>| {
            let mut found = Vec::new();
            let mut keep = |turn: TaskRun, tasks: &Tasks| {
                let name = tasks.name(turn.stretch.task).to_owned();
                found.push((turn.stretch.until.0, name, turn.run_ns.unwrap(), turn.is_cut));
            };
            let (from, until) = (from.map(TimeNs), until.map(TimeNs));
            let window = Window { from, until, ..Window::default() };
            analysed(told(), window, &mut History::new(&mut keep));
            found
        };
        let turn = |until, name: &str, run, is_cut| (until, name.to_owned(), run, is_cut);
        let whole = [turn(30, "b", 30, false), turn(50, "a", 20, false), turn(90, "b", 40, false)];
        assert_eq!(turns(None, None), whole);
        let within = [turn(30, "b", 20, true), turn(50, "a", 20, false), turn(60, "b", 10, true)];
        assert_eq!(turns(Some(10), Some(60)), within);
        // Nothing switches in it.
        assert_eq!(turns(Some(60), Some(70)), [turn(70, "b", 10, true)]);
    }

    #[test]
    fn a_stretch_that_began_before_a_window_has_its_priority() {
        let told: Vec<TimedActivity> =
            vec![(0, 2, begin(7)), (30, 2, Activity::End), (40, 2, begin(8))];
        let mut found = Vec::new();
        let mut keep = |turn: TaskRun, _: &Tasks| found.push((turn.stretch.until.0, turn.priority));
        let window = Window { from: Some(TimeNs(10)), ..Window::default() };
        analysed(told, window, &mut History::new(&mut keep));
        assert_eq!(found, [(30, Some(7))]);
    }

    #[test]
    fn what_is_woken_while_it_falls_asleep_has_its_delay() {
        // Woken at 8, asleep at 10 all the same, runs 15–20; preempted then, and woken at 18.
        let told: Vec<TimedActivity> = vec![
            (0, 2, begin(1)),
            (8, 2, release(None)),
            (10, 2, complete(None)),
            (10, 2, Activity::End),
            (15, 2, begin(1)),
            (18, 2, release(None)),
            (20, 2, Activity::End),
            (25, 2, begin(1)),
            (30, 2, Activity::End),
        ];
        let mut found = Vec::new();
        let mut keep = |turn: TaskRun, _: &Tasks| found.push((turn.stretch.until.0, turn.delay_ns));
        analysed(told, Window::default(), &mut History::new(&mut keep));
        assert_eq!(found, [(10, None), (20, Some(7)), (30, Some(7))]);
    }

    /// Returns the end of each stretch, the duration for which the task did not run before, and its
    /// delay.
    fn delays(told: Vec<TimedActivity>) -> Vec<(i64, Option<u64>, Option<u64>)> {
        let mut found = Vec::new();
        let mut keep = |turn: TaskRun, tasks: &Tasks| {
            if !tasks.is_idle(turn.stretch.task) {
                found.push((turn.stretch.until.0, turn.wait_ns, turn.delay_ns));
            }
        };
        crate::fixture::analysed_with(told, Window::default(), &mut History::new(&mut keep));
        found
    }

    #[test]
    fn a_release_whose_job_is_complete_delays_nothing() {
        // Released at 0 and complete at 10, and its begin is missing. Released at 100, runs 101–110.
        // Runs again 120–130 though nothing released it.
        let told = |task| {
            vec![
                (-5, 3, begin(1)),
                (0, task, release(None)),
                (10, task, complete(None)),
                (10, task, Activity::End),
                (100, task, release(None)),
                (101, task, begin(1)),
                (110, task, complete(None)),
                (110, task, Activity::End),
                (120, task, begin(1)),
                (130, task, complete(None)),
                (130, task, Activity::End),
            ]
        };
        let expected = [(10, None, None), (110, Some(91), Some(1)), (130, Some(10), None)];
        assert_eq!(delays(told(2)), expected);
        assert_eq!(delays(told(7)), expected);
        // The second is not released: the release at 0 is that of the job before.
        let told = told(2).into_iter().filter(|(time, ..)| *time != 100).collect();
        assert_eq!(delays(told), [(10, None, None), (110, Some(91), None), (130, Some(10), None)]);
    }

    #[test]
    fn a_release_delays_the_first_stretch_after_it() {
        // Released at 0 and 2, it runs from 3 on: the first of both waited for 3. Released at 20, it runs
        // from 25 on, whichever job that is for.
        let told = vec![
            (0, 2, release(Some(50))),
            (2, 2, release(Some(50))),
            (3, 2, begin(1)),
            (5, 2, complete(None)),
            (5, 2, Activity::End),
            (8, 2, begin(1)),
            (9, 2, Activity::End),
            (20, 2, release(Some(50))),
            (25, 2, begin(1)),
            (30, 2, complete(None)),
            (30, 2, Activity::End),
            (32, 2, begin(1)),
            (34, 2, complete(None)),
            (34, 2, Activity::End),
        ];
        let expected =
            [(5, None, Some(3)), (9, Some(3), None), (30, Some(16), Some(5)), (34, Some(2), None)];
        assert_eq!(delays(told), expected);
    }

    #[test]
    fn how_long_a_task_did_not_run_is_not_told_where_an_end_is_missing() {
        // Runs 0–10, from 20 on until it is not known when, and 50–60.
        let told = vec![
            (0, 2, begin(1)),
            (10, 2, Activity::End),
            (20, 2, begin(1)),
            (30, 3, begin(1)),
            (50, 3, Activity::End),
            (50, 2, begin(1)),
            (60, 2, Activity::End),
        ];
        assert_eq!(delays(told), [(10, None, None), (60, None, None)]);
    }

    #[test]
    fn a_wakeup_that_is_used_up_delays_nothing() {
        // Woken at 0, runs 1–20, woken at 10 meanwhile and asleep at 20; woken at 1000.
        let told: Vec<TimedActivity> = vec![
            (0, 7, release(None)),
            (1, 7, begin(1)),
            (10, 7, release(None)),
            (20, 7, complete(None)),
            (20, 7, Activity::End),
            (1000, 7, release(None)),
            (1001, 7, begin(1)),
            (1020, 7, complete(None)),
            (1020, 7, Activity::End),
        ];
        let mut found = Vec::new();
        let mut keep = |turn: TaskRun, _: &Tasks| found.push((turn.stretch.until.0, turn.delay_ns));
        analysed(told, Window::default(), &mut History::new(&mut keep));
        assert_eq!(found, [(20, Some(1)), (1020, Some(1))]);
    }
}
