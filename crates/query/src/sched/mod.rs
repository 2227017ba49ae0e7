//! Scheduling of tasks: the time that they waited, ran, and took to answer.

mod job;

use std::ops::{Deref, DerefMut};

use kymo_core::slot;
use kymo_model::timeline::{Activity, Content, TimeNs, TrackId};

use crate::bounds::Bounds;
use crate::tasks::{TaskId, Tasks};
use crate::{
    Distribution, InitialState, Omission, Pass, ResolvedEvent, RunChange, RunSlice, elapsed, took,
};
use job::Job;
pub use job::{Completed, Open, Release};

/// Jobs of tasks, and how they went on after their release.
///
/// A *job* is what a task does from its release to its completion. A *delay* is the time from a
/// release until the task runs next, whether the job is ever complete or not; a task that goes on
/// running when a job is complete runs for the next from then on. A job's *run* is the time it runs,
/// its *response* the time until it is complete, and its *wait* the response without the run.
///
/// A task that is released again before it ran has one job, unless releases have budgets: then
/// each is a job of its own. One whose budget is over before the task ran, when it is released again,
/// is not complete: the next completion is that of the later release, and the response is from that.
/// Only where more jobs are complete than were released since is it that of the earlier.
/// One that is released while it runs has another job to do when that
/// is complete.
///
/// Where tasks are known to go to sleep, the last of several releases counts: one that came while
/// the task ran only kept it awake when another wakes it from a later sleep. A delay is that of a job
/// then. A budget of 0 is none.
#[derive(Debug, Default)]
pub struct Sched {
    tasks: Vec<(TaskSched, Job)>,
    /// Points at which the window cuts through the recording.
    bounds: Option<Bounds>,
    /// Number of gaps, by recording.
    gaps: Vec<u32>,
}

/// The figures of a task, and of its jobs: those of a task that has none take no room.
#[derive(Debug, Clone)]
pub struct TaskSched {
    /// Every stretch that it ran.
    pub stretch_ns: Distribution,
    /// The smallest and the largest priority of stretches, as they began; the other way round where
    /// there is none.
    priorities: (i64, i64),
    /// Number of stretches that ended with the job not complete.
    preemptions: u32,
    /// True if what ends and is not complete is known to be preempted.
    tells_completion: bool,
    jobs: Option<Box<Jobs>>,
}

/// The figures of the jobs of a task.
#[derive(Debug, Clone, Default)]
pub struct Jobs {
    /// Number of releases.
    pub activations: u64,
    /// Number of completions.
    pub completions: u64,
    /// From release to the first stretch.
    pub delay_ns: Distribution,
    /// Run times of jobs whose response time is known.
    pub run_ns: Distribution,
    /// Waiting times of those, before and between stretches.
    pub wait_ns: Distribution,
    /// From release to completion: as many as there are jobs of which both is known.
    pub response_ns: Distribution,
    /// From release to release; where tasks are known to go to sleep, of jobs that started.
    pub period_ns: Distribution,
    /// Jobs that are not complete at the end.
    pub open: u64,
    /// Number of jobs that had a budget, whether they kept it or not.
    pub budgets: u64,
    /// Number of those that took longer.
    pub misses: u64,
    /// Jobs that were too many to be kept apart: they count, and when they were released is not
    /// known.
    counted: u64,
    /// Jobs that were complete before they were released, as times that go back have it.
    backwards: u64,
    /// Releases that were too many before the task ran: their delay is not known.
    undelayed: u64,
}

impl Jobs {
    /// Those of a task that has none.
    const NONE: &Self = &Self {
        activations: 0,
        completions: 0,
        delay_ns: Distribution::NOTHING,
        run_ns: Distribution::NOTHING,
        wait_ns: Distribution::NOTHING,
        response_ns: Distribution::NOTHING,
        period_ns: Distribution::NOTHING,
        open: 0,
        budgets: 0,
        misses: 0,
        counted: 0,
        backwards: 0,
        undelayed: 0,
    };
}

impl Default for TaskSched {
    fn default() -> Self {
        Self {
            stretch_ns: Distribution::NOTHING,
            priorities: (i64::MAX, i64::MIN),
            preemptions: 0,
            tells_completion: false,
            jobs: None,
        }
    }
}

impl Deref for TaskSched {
    type Target = Jobs;

    fn deref(&self) -> &Jobs {
        self.jobs.as_deref().unwrap_or(Jobs::NONE)
    }
}

impl DerefMut for TaskSched {
    fn deref_mut(&mut self) -> &mut Jobs {
        self.jobs.get_or_insert_default()
    }
}

impl TaskSched {
    /// The largest difference of a distance between releases from their mean.
    #[must_use]
    pub fn jitter_ns(&self) -> Option<u64> {
        let mean = self.period_ns.mean()?;
        let (min, max) = (self.period_ns.min()?, self.period_ns.max()?);
        Some((max - mean).max(mean.saturating_sub(min)))
    }

    /// Adds the distance of two times; where times go back, there is none.
    fn add_period(&mut self, last: TimeNs, next: TimeNs) {
        if let Some(ns) = took(last, next) {
            self.period_ns.add(ns);
        }
    }

    fn run_with(&mut self, priority: i64) {
        let (min, max) = self.priorities;
        self.priorities = (min.min(priority), max.max(priority));
    }

    /// The smallest and the largest priority of stretches, as they began.
    #[must_use]
    pub fn priorities(&self) -> Option<(i64, i64)> {
        Some(self.priorities).filter(|(min, max)| min <= max)
    }

    /// Preemptions, where completions tell them from ends.
    #[must_use]
    pub fn preemptions(&self) -> Option<u64> {
        (self.completions > 0 || self.tells_completion).then(|| self.preemptions.into())
    }
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
        tasks.filter(|(_, item)| item.stretch_ns.count() + item.activations + item.completions > 0)
    }

    /// The jobs that are not complete yet.
    pub fn open(&self) -> impl Iterator<Item = (TaskId, Open)> {
        let tasks = self.tasks.iter().enumerate();
        tasks.flat_map(|(id, (_, job))| job.open().map(move |open| (TaskId(id), open)))
    }

    fn task_mut(&mut self, task: TaskId) -> Option<&mut (TaskSched, Job)> {
        if self.tasks.len() <= task.0 {
            self.tasks.resize_with(task.0 + 1, Default::default);
        }
        self.tasks.get_mut(task.0)
    }

    /// Returns true if what is of a track may have been released before the window.
    fn is_cut(&self, track: TrackId) -> bool {
        self.bounds.as_ref().is_some_and(|bounds| bounds.from(track).is_some())
    }

    /// Returns the number of gaps in the recording that a task is of.
    fn gap_count(&self, task: TaskId, tasks: &Tasks) -> u32 {
        if self.gaps.is_empty() {
            return 0;
        }
        self.gaps.get(tasks.recording(task)).copied().unwrap_or(0)
    }

    /// Counts running tasks up to where events are missing. Any other job that waits may have run
    /// there, on any processor, and be complete: it is reported no more.
    fn gap(&mut self, seen: &ResolvedEvent<'_>) {
        for stretch in seen.cut {
            if let Some((figures, job)) = self.task_mut(stretch.task) {
                if stretch.since < stretch.until {
                    figures.stretch_ns.add(elapsed(stretch.since, stretch.until));
                }
                job.lose();
            }
        }
        if let Some(recording) = seen.events_missing_from() {
            let gaps = slot(&mut self.gaps, recording);
            *gaps = gaps.wrapping_add(1);
        }
    }

    /// Forgets what is not known any more at the end of all that is looked at.
    pub(crate) fn cross_all(&mut self, tasks: &Tasks) {
        let gaps: Vec<_> =
            (0..self.tasks.len()).map(|id| self.gap_count(TaskId(id), tasks)).collect();
        for ((_, job), gaps) in self.tasks.iter_mut().zip(gaps) {
            job.cross(gaps);
        }
    }

    /// Takes an event. Tells the job that it completes, and its delay when it starts one. A job that
    /// was released before the window is complete, and nothing else is told of it.
    pub fn take(&mut self, seen: &ResolvedEvent<'_>) -> Option<(TaskId, Progress)> {
        self.gap(seen);
        if let Some((_, job)) = seen.lost.and_then(|lost| self.task_mut(lost.task)) {
            job.lose();
        }
        let (task, _) = seen.task?;
        let gaps = self.gap_count(task, seen.tasks);
        let tells_completion = seen.tasks.get(task).is_some_and(|task| task.tells_completion);
        let Content::Activity(activity) = &seen.event.content else { return None };
        let is_cut = matches!(activity, Activity::Complete { .. }) && self.is_cut(seen.event.track);
        let (figures, job) = self.task_mut(task)?;
        job.cross(gaps);
        figures.tells_completion = tells_completion;
        if let Activity::Begin { priority: Some(priority), .. } = activity {
            figures.run_with(*priority);
        }
        let progress = match (activity, seen.run) {
            (_, Some(RunChange::Begins)) => job.begin(seen.time, figures).map(Progress::Started),
            (_, Some(RunChange::Ends { since })) => {
                job.end(since, seen.time, figures);
                None
            }
            (Activity::Release { budget_ns, .. }, _) => {
                let budget_ns = budget_ns.and_then(|ns| u64::try_from(ns).ok());
                job.release(Release { time: seen.time, budget_ns }, figures);
                None
            }
            (Activity::Complete { remaining_ns }, _) => {
                let is_before = is_cut && job.is_unreleased();
                let remaining_ns = remaining_ns.filter(|_| !is_before);
                let job = job.complete(seen.time, remaining_ns, figures);
                (!is_before).then_some(Progress::Completed(job))
            }
            _ => None,
        };
        progress.map(|progress| (task, progress))
    }
}

/// Progress of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It ran for the first time, so many nanoseconds after its release.
    Started(u64),
    /// It is complete.
    Completed(Completed),
}

impl Pass for Sched {
    fn begin(&mut self, bounds: &Bounds) {
        self.bounds = Some(bounds.clone());
    }

    fn initial_state(&mut self, what: &InitialState<'_>, begin: TimeNs) {
        if let InitialState::Task(task, priority) = what
            && let Some((figures, job)) = self.task_mut(*task)
        {
            job.start_running(begin);
            if let Some(priority) = priority {
                figures.run_with(*priority);
            }
        }
    }

    fn event(&mut self, seen: &ResolvedEvent<'_>) {
        self.take(seen);
    }

    fn unfinished(&mut self, stretch: &RunSlice) {
        if let Some((figures, job)) = self.task_mut(stretch.task) {
            figures.stretch_ns.add(elapsed(stretch.since, stretch.until));
            job.run_until(stretch.until);
        }
    }

    /// Jobs that are not complete are late when their time was over before the end.
    fn finish(&mut self, bounds: &Bounds, tasks: &Tasks) {
        self.cross_all(tasks);
        for (id, (figures, job)) in self.tasks.iter_mut().enumerate() {
            let home = tasks.get(TaskId(id)).map(|task| task.home);
            let Some((_, end)) = home.and_then(|home| bounds.time_range(home)) else { continue };
            let late = |open: &Open| open.release.is_late(end);
            let late = job.open().filter(late).count() as u64;
            let open = job.open().count() as u64 + job.counted();
            if open > 0 {
                figures.open = open;
                figures.budgets += late;
                figures.misses += late;
            }
        }
    }

    fn omissions(&self) -> Vec<Omission> {
        let jobs = Omission {
            count: self.tasks.iter().map(|(figures, _)| figures.counted).sum(),
            one: "job waited behind too many others of its task: it is counted, and how long it took \
                  is not known",
            many: "jobs waited behind too many others of their task: they are counted, and how \
                   long they took is not known",
        };
        let backwards = Omission {
            count: self.tasks.iter().map(|(figures, _)| figures.backwards).sum(),
            one: "job is complete before it is released, as times go back: how long it took is not \
                  known",
            many: "jobs are complete before they are released, as times go back: how long they took \
                   is not known",
        };
        let undelayed = Omission {
            count: self.tasks.iter().map(|(figures, _)| figures.undelayed).sum(),
            one: "release came after too many others before its task ran: its delay is not known",
            many: "releases came after too many others before their task ran: their delays are not known",
        };
        vec![jobs, backwards, undelayed]
    }
}

#[cfg(test)]
mod tests;
