//! State of the job of a task.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use kymo_model::timeline::TimeNs;

use super::TaskSched;
use crate::{elapsed, took};

/// Jobs that a task has yet to begin and that are told apart; more are counted.
const WAITING_MAX: usize = 1 << 16;

/// A task has something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// Since when.
    pub time: TimeNs,
    /// Longest time that it may take, as it was recorded.
    pub budget_ns: Option<u64>,
}

impl Release {
    /// Returns the longest time that it may take: a budget of 0 is none.
    #[must_use]
    pub fn budget(&self) -> Option<u64> {
        self.budget_ns.filter(|ns| *ns > 0)
    }

    /// Returns true if its time is over at a moment.
    #[must_use]
    pub fn is_late(&self, at: TimeNs) -> bool {
        self.budget().is_some_and(|budget| elapsed(self.time, at) > budget)
    }
}

/// A job that is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// Time of its release, where that is known.
    pub release: Option<TimeNs>,
    /// Duration of its run since, as far as that is known.
    pub run_ns: u64,
    /// True if it did not run besides.
    pub is_run_known: bool,
    /// Response time, where that is known.
    pub response_ns: Option<u64>,
    /// True if it took longer than it might, where it has a budget.
    pub is_late: Option<bool>,
}

/// A job that is released and not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    /// Release of the job, and the time that it may take.
    pub release: Release,
    /// True if it has run.
    pub is_started: bool,
    /// Duration of its run.
    pub run_ns: u64,
}

/// State of the job of a task. Its releases take no room where the recording has none.
#[derive(Debug, Clone, Default)]
pub(super) struct Job {
    is_started: bool,
    /// True if it ran besides, and it is not known for how long.
    is_run_unknown: bool,
    /// Number of gaps so far: it only matters whether there are others than before.
    gaps: u32,
    /// Last event of the task: the job before was complete, or the task preempted.
    last: LastChange,
    ran_ns: u64,
    running_since: Option<TimeNs>,
    releases: Option<Box<Releases>>,
}

/// Last event of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LastChange {
    /// Nothing that matters.
    #[default]
    Nothing,
    /// The job before was complete, within the stretch that is not over.
    Completed(TimeNs),
    /// A stretch ended with the job not complete.
    Preempted(TimeNs),
}

/// Releases of a task.
#[derive(Debug, Clone, Default)]
pub(super) struct Releases {
    /// Release of the job, where that is known.
    release: Option<Release>,
    /// Releases that came before the job was complete.
    waiting: Option<Box<WaitingReleases>>,
    /// Releases whose budget was over before the task ran, when it was released again.
    passed: Option<Box<WaitingReleases>>,
    /// Releases behind those, of which nothing else is kept.
    counted: u64,
    released_last: Option<TimeNs>,
    /// Release time of the job that started last.
    started_last: Option<TimeNs>,
    /// Releases after which the task did not run yet.
    delayed: DelayedReleases,
}

/// Releases after which a task did not run yet, in their order: few tasks have more than one.
#[derive(Debug, Clone, Default)]
struct DelayedReleases {
    first: Option<TimeNs>,
    rest: Option<Box<LaterReleases>>,
}

/// Those after the first.
#[derive(Debug, Clone, Default)]
struct LaterReleases(VecDeque<TimeNs>);

impl DelayedReleases {
    const NONE: Self = Self { first: None, rest: None };

    fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.as_ref().map_or(0, |rest| rest.0.len())
    }

    fn push(&mut self, release: TimeNs) {
        if self.first.is_none() {
            self.first = Some(release);
        } else {
            self.rest.get_or_insert_default().0.push_back(release);
        }
    }

    /// Takes the first, unless it is later than a moment.
    fn take_until(&mut self, time: TimeNs) -> Option<TimeNs> {
        let first = self.first.filter(|release| *release <= time)?;
        self.first = self.rest.as_mut().and_then(|rest| rest.0.pop_front());
        if self.first.is_none() {
            self.rest = None;
        }
        Some(first)
    }
}

/// Releases one after another: few tasks have any that wait.
#[derive(Debug, Clone, Default)]
struct WaitingReleases(VecDeque<Release>);

impl Releases {
    const NONE: &Self = &Self {
        release: None,
        waiting: None,
        passed: None,
        counted: 0,
        released_last: None,
        started_last: None,
        delayed: DelayedReleases::NONE,
    };
}

impl Deref for Job {
    type Target = Releases;

    fn deref(&self) -> &Releases {
        self.releases.as_deref().unwrap_or(Releases::NONE)
    }
}

impl DerefMut for Job {
    fn deref_mut(&mut self) -> &mut Releases {
        self.releases.get_or_insert_default()
    }
}

impl Job {
    /// Jobs that are released and not complete.
    pub(super) fn open(&self) -> impl Iterator<Item = Open> {
        let (is_started, run_ns) = (self.is_started, self.ran_ns);
        let now = self.release.map(|release| Open { release, is_started, run_ns });
        let waits = |release: &Release| Open { release: *release, is_started: false, run_ns: 0 };
        let waiting = self.passed.iter().chain(&self.waiting).flat_map(|waiting| &waiting.0);
        now.into_iter().chain(waiting.map(waits))
    }

    /// It still runs at the end.
    pub(super) fn run_until(&mut self, end: TimeNs) {
        let ran = self.running_since.take().map_or(0, |since| elapsed(since, end));
        self.ran_ns = self.ran_ns.saturating_add(ran);
    }

    /// Jobs that are released and not complete, of which nothing else is known.
    pub(super) fn counted(&self) -> u64 {
        self.counted
    }

    /// Returns true if it is not known when the job was released, nor that it is one of those that
    /// are only counted.
    pub(super) fn is_unreleased(&self) -> bool {
        self.release.is_none() && self.counted == 0 && self.passed.is_none()
    }

    /// It runs already when the window begins.
    pub(super) fn start_running(&mut self, begin: TimeNs) {
        (self.running_since, self.is_started) = (Some(begin), true);
    }

    /// It ran, and nothing tells until when.
    pub(super) fn lose(&mut self) {
        self.running_since = None;
        if self.is_completed() {
            self.last = LastChange::Nothing;
        }
        self.is_run_unknown = true;
        self.forget_delays();
    }

    /// So many gaps are behind: what did not run all through the last may have run in it, be complete
    /// and be released again.
    #[inline]
    pub(super) fn cross(&mut self, gaps: u32) {
        if self.gaps != gaps {
            let is_running = self.running_since.is_some();
            self.gaps = gaps;
            self.forget_delays();
            if !is_running {
                *self = Self { is_run_unknown: true, gaps, ..Self::default() };
            }
        }
    }

    pub(super) fn release(&mut self, release: Release, figures: &mut TaskSched) {
        let counted = figures.counted;
        self.released(release, figures);
        if figures.tells_completion {
            // What it is woken for is one job, whose start tells the delay.
        } else if self.delayed.len() <= WAITING_MAX {
            self.delayed.push(release.time);
        } else if figures.counted == counted {
            figures.undelayed += 1;
        }
    }

    /// Takes a release to be the job, or to wait for its turn.
    fn released(&mut self, release: Release, figures: &mut TaskSched) {
        figures.activations += 1;
        let before = self.released_last.replace(release.time);
        if let (Some(last), false) = (before, figures.tells_completion) {
            figures.add_period(last, release.time);
        }
        if self.counted > 0 && self.release.is_none() {
            // Jobs come first of which it is not known when they were released.
            return self.count(figures);
        }
        self.pass_over(release, figures);
        let is_told = figures.completions > 0 || figures.tells_completion;
        let ends_untold = !is_told && release.budget().is_none() && self.is_started;
        match self.running_since {
            // It runs for this: since just now, or when it is through with what it did.
            Some(since)
                if self.release.is_none() && (since == release.time || self.is_completed()) =>
            {
                self.reset();
                self.release = Some(release);
                self.running_since = Some(release.time);
                if self.is_completed() {
                    self.last = LastChange::Completed(release.time);
                }
                self.start(figures);
            }
            None if self.release.is_none() || ends_untold || self.is_used_up(release, figures) => {
                self.reset();
                self.release = Some(release);
            }
            _ => self.wait(release, figures),
        }
    }

    /// Sets jobs aside that never ran, and whose budget is over when the task is released again: each is
    /// a job of its own that is not complete, and the next completion is not its.
    fn pass_over(&mut self, next: Release, figures: &TaskSched) {
        if self.running_since.is_some() || self.is_started || figures.tells_completion {
            return;
        }
        while let Some(over) =
            self.release.filter(|this_release| self.counted == 0 && this_release.is_late(next.time))
        {
            let passed = self.passed.get_or_insert_default();
            if passed.0.len() >= WAITING_MAX {
                return;
            }
            passed.0.push_back(over);
            self.release = self.waiting.as_mut().and_then(|waiting| waiting.0.pop_front());
        }
    }

    /// Returns true if only jobs that were set aside are left that can be complete.
    fn is_released_before(&self) -> bool {
        self.release.is_none() && self.counted == 0 && self.passed.is_some()
    }

    /// The job that was set aside first, where more jobs are complete than were released since.
    fn take_passed(&mut self) -> Option<Release> {
        let releases = self.releases.as_mut()?;
        let first = releases.passed.as_mut()?.0.pop_front();
        if releases.passed.as_ref().is_some_and(|passed| passed.0.is_empty()) {
            releases.passed = None;
        }
        first
    }

    /// Returns true if the job before is complete, and the stretch not over.
    fn is_completed(&self) -> bool {
        matches!(self.last, LastChange::Completed(_))
    }

    /// Nothing has run for what is next.
    fn reset(&mut self) {
        (self.is_started, self.ran_ns, self.is_run_unknown) = (false, 0, false);
    }

    /// Returns true if what the task was released for before has passed, since it is released again
    /// before it ran. Where tasks are known to go to sleep, nothing that is awake is woken: a
    /// wakeup that came while it ran kept it from sleeping then, and the sleep it is woken from is
    /// a later one.
    fn is_used_up(&self, release: Release, figures: &TaskSched) -> bool {
        figures.tells_completion && release.budget().is_none() && !self.is_started
    }

    /// The job runs, or has run, as what comes now tells. Tells when it was released if that is the
    /// first thing known of it.
    fn start(&mut self, figures: &mut TaskSched) -> Option<TimeNs> {
        if std::mem::replace(&mut self.is_started, true) {
            return None;
        }
        let release = self.release?.time;
        let before = self.started_last.replace(release);
        if let (Some(last), true) = (before, figures.tells_completion) {
            figures.add_period(last, release);
        }
        Some(release)
    }

    /// Released again before it ran it waits since the first time, where releases have no budget.
    /// Where tasks are known to go to sleep, the last time may be the one that counts.
    fn wait(&mut self, release: Release, figures: &mut TaskSched) {
        if figures.tells_completion && release.budget().is_none() {
            self.waiting = None;
        }
        let waiting = self.waiting.as_ref().map_or(0, |waiting| waiting.0.len());
        let is_first = waiting == 0 && (self.is_started || self.release.is_none());
        if !(is_first || release.budget().is_some()) {
            return;
        }
        if self.counted == 0 && waiting < WAITING_MAX {
            self.waiting.get_or_insert_default().0.push_back(release);
        } else {
            self.count(figures);
        }
    }

    /// There are too many for it to be told from others.
    fn count(&mut self, figures: &mut TaskSched) {
        self.counted += 1;
        figures.counted += 1;
    }

    /// Tells the delay when something starts that it was released for, and the longest of several.
    pub(super) fn begin(&mut self, time: TimeNs, figures: &mut TaskSched) -> Option<u64> {
        (self.running_since, self.last) = (Some(time), LastChange::Nothing);
        let started = self.start(figures);
        if !figures.tells_completion {
            return self.run_after_releases(time, figures);
        }
        // Where times go back, it is not known.
        let delay = took(started?, time)?;
        figures.delay_ns.add(delay);
        Some(delay)
    }

    /// It runs since a moment for what it was released for until then. Tells the longest delay.
    fn run_after_releases(&mut self, since: TimeNs, figures: &mut TaskSched) -> Option<u64> {
        let delayed = &mut self.releases.as_mut()?.delayed;
        let mut longest = None;
        while let Some(release) = delayed.take_until(since) {
            let delay = elapsed(release, since);
            figures.delay_ns.add(delay);
            longest = longest.max(Some(delay));
        }
        longest
    }

    /// It ran after what it was released for, and nothing tells since when.
    fn forget_delays(&mut self) {
        if let Some(releases) = &mut self.releases {
            releases.delayed = DelayedReleases::NONE;
        }
    }

    /// A job that goes on in the stretch of the one before runs since that was complete.
    fn continue_previous(&mut self, figures: &mut TaskSched) {
        match self.running_since {
            Some(since) if self.release.is_some() => {
                self.run_after_releases(since, figures);
            }
            Some(_) => {}
            None => self.forget_delays(),
        }
    }

    pub(super) fn end(&mut self, since: Option<TimeNs>, time: TimeNs, figures: &mut TaskSched) {
        if let Some(since) = since {
            figures.stretch_ns.add(elapsed(since, time));
            let of_job = self.running_since.unwrap_or(since);
            self.ran_ns = self.ran_ns.saturating_add(elapsed(of_job, time));
        } else {
            self.is_run_unknown = true;
        }
        let ran_on = self.last != LastChange::Completed(time);
        if ran_on {
            self.continue_previous(figures);
        }
        self.running_since = None;
        match (std::mem::take(&mut self.last), self.release) {
            // It ran on for a moment after it was complete, or not at all: that is of no job.
            (LastChange::Completed(_), None) => self.reset(),
            (LastChange::Completed(at), Some(_)) if at == time => self.reset(),
            _ => {
                self.start(figures);
                self.last = LastChange::Preempted(time);
                figures.preemptions = figures.preemptions.saturating_add(1);
            }
        }
    }

    /// Tells the job that is complete.
    pub(super) fn complete(
        &mut self,
        time: TimeNs,
        remaining_ns: Option<i64>,
        figures: &mut TaskSched,
    ) -> Completed {
        if self.is_released_before() {
            self.release = self.take_passed();
        }
        let is_over = self.last == LastChange::Preempted(time);
        if is_over {
            // It stopped since it was complete: the recording says the one before the other.
            figures.preemptions = figures.preemptions.saturating_sub(1);
        }
        if !is_over {
            self.continue_previous(figures);
        }
        let now = self.running_since.map_or(0, |since| elapsed(since, time));
        let run_ns = self.ran_ns.saturating_add(now);
        let response_ns = self.release.and_then(|release| took(release.time, time));
        let is_backwards = self.release.is_some() && response_ns.is_none();
        figures.backwards += u64::from(is_backwards);
        let release = self.release.filter(|_| !is_backwards);
        let over = release
            .and_then(|this_release| this_release.budget().map(|_| this_release.is_late(time)));
        // What the recording says of the time left counts for itself, unless there was no budget.
        let is_unbudgeted = release.is_some_and(|this_release| this_release.budget_ns == Some(0));
        let remaining_ns = remaining_ns.filter(|_| !is_unbudgeted);
        let is_late = remaining_ns.map_or(over, |left| Some(left < 0 || over == Some(true)));
        figures.completions += 1;
        figures.budgets += u64::from(is_late.is_some());
        figures.misses += u64::from(is_late == Some(true));
        if let Some(response) = response_ns {
            figures.response_ns.add(response);
        }
        // Where tasks are known to go to sleep, they run until they do.
        let is_begin_known = self.running_since.is_some() || is_over || !figures.tells_completion;
        let is_run_known =
            self.is_started && !self.is_run_unknown && is_begin_known && !is_backwards;
        self.start(figures);
        if let (Some(response), true) = (response_ns, is_run_known) {
            figures.run_ns.add(run_ns);
            figures.wait_ns.add(response.saturating_sub(run_ns));
        }
        let release = self.release.map(|release| release.time);
        self.next(time, is_over);
        Completed { release, run_ns, is_run_known, response_ns, is_late }
    }

    /// Turns to what was released meanwhile. What goes on running runs for that. A stretch that is
    /// not over may be one of which the begin is missing.
    fn next(&mut self, time: TimeNs, is_over: bool) {
        let is_running = self.running_since.is_some();
        if self.releases.is_some() {
            if self.release.is_none() {
                // It was one of those that nothing else is known of.
                self.counted = self.counted.saturating_sub(1);
            }
            self.release = self.waiting.as_mut().and_then(|waiting| waiting.0.pop_front());
        }
        self.is_started = is_running && self.release.is_some();
        self.last = if is_over { LastChange::Nothing } else { LastChange::Completed(time) };
        self.running_since = self.running_since.map(|_| time);
        (self.ran_ns, self.is_run_unknown) = (0, false);
    }
}
