//! How tasks were scheduled: how long they waited, ran, and took to answer.

use kymo_core::model::timeline::{Activity, Content, TimeNs};

use crate::tasks::TaskId;
use crate::{Distribution, Pass, Run, Seen, Stretch, elapsed};

/// What tasks did with what they were released for.
///
/// A *job* is what a task does from its release to its completion. Its *delay* is the time until
/// it runs first, its *run* the time it runs, its *response* the time until it is complete, and
/// its *wait* the response without the run.
#[derive(Debug, Default)]
pub struct Sched {
    tasks: Vec<(TaskSched, Job)>,
}

/// The figures of a task.
#[derive(Debug, Clone, Default)]
pub struct TaskSched {
    /// How often it was released.
    pub activations: u64,
    /// How many jobs it completed.
    pub completions: u64,
    /// Every stretch that it ran.
    pub stretch_ns: Distribution,
    /// From release to the first stretch.
    pub delay_ns: Distribution,
    /// How long jobs ran.
    pub run_ns: Distribution,
    /// How long jobs waited, before and between stretches.
    pub wait_ns: Distribution,
    /// From release to completion.
    pub response_ns: Distribution,
    /// From release to release.
    pub period_ns: Distribution,
    /// How many jobs had a budget.
    pub budgets: u64,
    /// How many of those took longer.
    pub misses: u64,
    /// How often a stretch ended with the job not complete.
    pub preemptions: u64,
}

impl TaskSched {
    /// The largest difference of a distance between releases from their mean.
    #[must_use]
    pub fn jitter_ns(&self) -> Option<u64> {
        let mean = self.period_ns.mean()?;
        let (min, max) = (self.period_ns.min()?, self.period_ns.max()?);
        Some((max - mean).max(mean.saturating_sub(min)))
    }

    /// Preemptions, where completions tell them from ends.
    #[must_use]
    pub fn preemptions(&self) -> Option<u64> {
        (self.completions > 0).then_some(self.preemptions)
    }
}

/// What a task is at.
#[derive(Debug, Clone, Default)]
struct Job {
    release: Option<Release>,
    /// A release that came before the job was complete.
    next: Option<Release>,
    released_last: Option<TimeNs>,
    is_started: bool,
    is_complete: bool,
    ran_ns: u64,
    running_since: Option<TimeNs>,
}

#[derive(Debug, Clone, Copy)]
struct Release {
    time: TimeNs,
    budget_ns: Option<u64>,
}

/// A job that is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// When it was released, where that is known.
    pub release: Option<TimeNs>,
    /// How long it ran.
    pub run_ns: u64,
    /// How long it took, where that is known.
    pub response_ns: Option<u64>,
    /// Whether it took longer than it might.
    pub is_late: bool,
}

impl Sched {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The figures of a task.
    #[must_use]
    pub fn get(&self, task: TaskId) -> Option<&TaskSched> {
        self.tasks.get(task.0).map(|(figures, _)| figures)
    }

    /// Every task that did anything.
    pub fn tasks(&self) -> impl Iterator<Item = (TaskId, &TaskSched)> {
        let tasks = self.tasks.iter().enumerate().map(|(id, (figures, _))| (TaskId(id), figures));
        tasks.filter(|(_, of)| of.stretch_ns.count() + of.activations + of.completions > 0)
    }

    fn of(&mut self, task: TaskId) -> Option<&mut (TaskSched, Job)> {
        if self.tasks.len() <= task.0 {
            self.tasks.resize_with(task.0 + 1, Default::default);
        }
        self.tasks.get_mut(task.0)
    }

    /// Takes an event. Tells the job that it completes, and its delay when it starts one.
    pub fn take(&mut self, seen: &Seen<'_>) -> Option<(TaskId, Progress)> {
        let (task, _) = seen.task?;
        let (figures, job) = self.of(task)?;
        let Content::Activity(activity) = &seen.event.content else { return None };
        let progress = match (activity, seen.run) {
            (_, Some(Run::Begins)) => job.begin(seen.time, figures).map(Progress::Started),
            (_, Some(Run::Ends { since })) => {
                job.end(since, seen.time, figures);
                None
            }
            (Activity::Release { budget_ns }, _) => {
                let budget_ns = budget_ns.and_then(|ns| u64::try_from(ns).ok());
                job.release(Release { time: seen.time, budget_ns }, figures);
                None
            }
            (Activity::Complete { remaining_ns }, _) => {
                let completed = job.complete(seen.time, *remaining_ns, figures);
                Some(Progress::Completed(completed))
            }
            _ => None,
        };
        progress.map(|progress| (task, progress))
    }
}

/// How a job went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It ran for the first time, so many nanoseconds after its release.
    Started(u64),
    /// It is complete.
    Completed(Completed),
}

impl Job {
    fn release(&mut self, release: Release, figures: &mut TaskSched) {
        figures.activations += 1;
        if let Some(last) = self.released_last.replace(release.time) {
            figures.period_ns.add(elapsed(last, release.time));
        }
        match (&self.release, self.is_started) {
            // What runs without a release was at something before.
            (None, _) => {
                let is_running = self.running_since.is_some();
                let running_since = is_running.then_some(release.time);
                *self = Self {
                    release: Some(release),
                    released_last: self.released_last,
                    running_since,
                    is_started: is_running,
                    ..Self::default()
                };
            }
            (Some(_), true) => self.next = Some(release),
            // Released again before it ran: it waits since the first.
            (Some(_), false) => {}
        }
    }

    /// Tells the delay when the job starts.
    fn begin(&mut self, time: TimeNs, figures: &mut TaskSched) -> Option<u64> {
        self.running_since = Some(time);
        if std::mem::replace(&mut self.is_started, true) {
            return None;
        }
        let delay = elapsed(self.release?.time, time);
        figures.delay_ns.add(delay);
        Some(delay)
    }

    fn end(&mut self, since: Option<TimeNs>, time: TimeNs, figures: &mut TaskSched) {
        if let Some(since) = since {
            figures.stretch_ns.add(elapsed(since, time));
            let of_job = self.running_since.unwrap_or(since);
            self.ran_ns = self.ran_ns.saturating_add(elapsed(of_job, time));
        }
        self.running_since = None;
        if std::mem::take(&mut self.is_complete) {
            // It ran on for a moment after it was complete; that is of no job.
            self.ran_ns = 0;
            self.is_started = false;
        } else if self.is_started {
            figures.preemptions += 1;
        }
    }

    fn complete(
        &mut self,
        time: TimeNs,
        remaining_ns: Option<i64>,
        figures: &mut TaskSched,
    ) -> Completed {
        let now = self.running_since.map_or(0, |since| elapsed(since, time));
        let run_ns = self.ran_ns.saturating_add(now);
        let response_ns = self.release.map(|release| elapsed(release.time, time));
        let budget_ns = self.release.and_then(|release| release.budget_ns);
        let over = response_ns.zip(budget_ns).map(|(response, budget)| response > budget);
        // What the recording says of the time left counts for itself.
        let is_late = remaining_ns.map_or(over, |left| Some(left < 0 || over == Some(true)));
        figures.completions += 1;
        figures.budgets += u64::from(is_late.is_some());
        figures.misses += u64::from(is_late == Some(true));
        if self.is_started {
            figures.run_ns.add(run_ns);
        }
        if let Some(response) = response_ns {
            figures.response_ns.add(response);
            figures.wait_ns.add(response.saturating_sub(run_ns));
        }
        let completed = Completed {
            release: self.release.map(|release| release.time),
            run_ns,
            response_ns,
            is_late: is_late == Some(true),
        };
        self.release = self.next.take();
        self.ran_ns = 0;
        let goes_on = self.release.is_some() && self.running_since.is_some();
        self.is_complete = self.running_since.is_some() && !goes_on;
        self.is_started = goes_on;
        self.running_since = self.running_since.map(|_| time);
        completed
    }
}

impl Pass for Sched {
    fn event(&mut self, seen: &Seen<'_>) {
        self.take(seen);
    }

    fn unfinished(&mut self, stretch: &Stretch) {
        if let Some((figures, _)) = self.of(stretch.task) {
            figures.stretch_ns.add(elapsed(stretch.since, stretch.until));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Told, analysed, begin, complete, release};
    use kymo_core::model::timeline::Window;

    const END: Activity<'static> = Activity::End;

    fn figures(told: Vec<Told>, task: &str) -> TaskSched {
        let mut sched = Sched::new();
        let analysis = analysed(told, Window::default(), &mut sched);
        let found = sched.tasks().find(|(id, _)| analysis.tasks().name(*id) == task);
        found.unwrap().1.clone()
    }

    fn spread(of: &Distribution) -> (u64, Option<u64>, Option<u64>, Option<u64>) {
        (of.count(), of.min(), of.mean(), of.max())
    }

    #[test]
    fn jobs_are_as_worked_out_by_hand() {
        // The first: released at 0, runs 10–30 and 50–60, complete at 58: delay 10, response 58,
        // run 28, wait 30, one preemption. The second: released at 100, runs 104–110, complete at
        // 110: delay 4, response 10, run 6, wait 4. The third at 230: too late for its budget.
        let told = vec![
            (0, 2, release(Some(60))),
            (10, 2, begin(5)),
            (30, 2, END),
            (50, 2, begin(5)),
            (58, 2, complete(Some(2))),
            (60, 2, END),
            (100, 2, release(Some(60))),
            (104, 2, begin(5)),
            (110, 2, complete(None)),
            (110, 2, END),
            (230, 2, release(Some(60))),
            (230, 2, begin(5)),
            (300, 2, complete(None)),
            (300, 2, END),
        ];
        let found = figures(told, "b");
        assert_eq!((found.activations, found.completions), (3, 3));
        assert_eq!(spread(&found.stretch_ns), (4, Some(6), Some((20 + 10 + 6 + 70) / 4), Some(70)));
        assert_eq!(spread(&found.delay_ns), (3, Some(0), Some(14 / 3), Some(10)));
        assert_eq!(spread(&found.run_ns), (3, Some(6), Some((28 + 6 + 70) / 3), Some(70)));
        assert_eq!(spread(&found.response_ns), (3, Some(10), Some((58 + 10 + 70) / 3), Some(70)));
        assert_eq!(spread(&found.wait_ns), (3, Some(0), Some(34 / 3), Some(30)));
        assert_eq!((found.budgets, found.misses, found.preemptions()), (3, 1, Some(1)));
        // Periods 100 and 130: their mean is 115.
        assert_eq!((found.period_ns.mean(), found.jitter_ns()), (Some(115), Some(15)));
    }

    #[test]
    fn a_job_may_go_on_elsewhere() {
        let told = vec![
            (0, 1, release(None)),
            (2, 1, begin(1)),
            (10, 1, END),
            (13, 5, begin(1)),
            (20, 5, complete(None)),
            (20, 5, END),
        ];
        let found = figures(told, "a");
        assert_eq!((found.response_ns.max(), found.run_ns.max()), (Some(20), Some(15)));
        assert_eq!((found.wait_ns.max(), found.preemptions()), (Some(5), Some(1)));
    }

    #[test]
    fn what_is_released_while_it_runs_goes_on() {
        let told = vec![
            (0, 2, release(None)),
            (1, 2, begin(1)),
            (5, 2, release(None)),
            (8, 2, complete(None)),
            (20, 2, complete(None)),
            (21, 2, END),
        ];
        let found = figures(told, "b");
        assert_eq!(spread(&found.response_ns), (2, Some(8), Some(11), Some(15)));
        assert_eq!((found.run_ns.max(), found.preemptions()), (Some(12), Some(0)));
    }

    #[test]
    fn without_completions_there_are_stretches_and_delays() {
        let told = vec![
            (0, 2, release(None)),
            (3, 2, release(None)),
            (4, 2, begin(1)),
            (9, 2, END),
            (12, 2, begin(1)),
        ];
        let found = figures(told, "b");
        assert_eq!((found.delay_ns.max(), found.response_ns.count()), (Some(4), 0));
        assert_eq!((found.stretch_ns.count(), found.preemptions()), (2, None));
    }

    #[test]
    fn a_time_left_below_nothing_is_a_miss() {
        let found = figures(vec![(0, 2, complete(Some(-1))), (1, 2, complete(Some(0)))], "b");
        assert_eq!((found.budgets, found.misses, found.run_ns.count()), (2, 1, 0));
    }
}
