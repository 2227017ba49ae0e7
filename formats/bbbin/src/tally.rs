//! TASK EXECUTIONS and STATISTICS, computed from events.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use kymo_core::{CacheEntry, RecentEntries};

use crate::spec::UNKNOWN_TASK;
use crate::types::{ArtifactId, Body, Event, LogFileId, Statistics, TaskExecution};

/// Tally of the events so far. Its size is that of the sets of tasks and of log files, both of
/// which events name as they like: little is kept of each.
#[derive(Debug, Default)]
pub struct EventStatistics {
    logs: Vec<LogStatistics>,
    places: HashMap<LogFileId, usize, RandomState>,
    /// The place of the log file that was asked for last: mostly the next event is of it too.
    current: usize,
    statistics: Statistics,
    ran: RunTimes,
}

/// Tally of the events of one log file.
#[derive(Debug)]
struct LogStatistics {
    id: LogFileId,
    /// The last `TASK_SWITCH`: when, and which task it let run.
    last: Option<(i64, ArtifactId)>,
}

/// A task of a log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LogTask(pub(crate) LogFileId, pub(crate) ArtifactId);

impl CacheEntry for LogTask {
    #[inline]
    fn number(self) -> u64 {
        let Self(log_file, task) = self;
        // Tasks of several log files have neighbouring numbers.
        let lead = log_file.0.cast_unsigned().wrapping_mul(37);
        task.0.cast_unsigned().wrapping_add(lead).into()
    }
}

/// Run times of tasks.
#[derive(Debug, Default)]
struct RunTimes {
    settled_ns: HashMap<LogTask, i128, RandomState>,
    /// Run times of some tasks since they were last added there: few tasks run most of the time.
    recent: RecentEntries<LogTask, i64, 256>,
}

impl RunTimes {
    #[inline]
    fn add(&mut self, task: LogTask, since: i64, until: i64) {
        if let Some(ns) = self.recent.get_mut(task)
            && let Some(sum) = until.checked_sub(since).and_then(|ran| ns.checked_add(ran))
        {
            *ns = sum;
            return;
        }
        let kept = self.recent.put(task, 0);
        self.commit_run(kept, task, i128::from(until) - i128::from(since));
    }

    /// Adds what was kept of a task, and what another ran. One that ran for no time at all is one
    /// that ran.
    #[cold]
    fn commit_run(&mut self, kept: Option<(LogTask, i64)>, task: LogTask, ns: i128) {
        if let Some((log_task, ns)) = kept {
            *self.settled_ns.entry(log_task).or_default() += i128::from(ns);
        }
        *self.settled_ns.entry(task).or_default() += ns;
    }

    /// Returns the run time of each task.
    fn sums(&self) -> HashMap<LogTask, i128, RandomState> {
        let mut sums = self.settled_ns.clone();
        for (task, ns) in self.recent.iter() {
            *sums.entry(task).or_default() += i128::from(ns);
        }
        sums
    }
}

impl EventStatistics {
    /// Takes an event; tells whether a `TASK_SWITCH` stops the task that the one before it in the
    /// same log file let run.
    #[inline]
    pub fn add(&mut self, event: &Event<'_>) -> bool {
        let Body::TaskSwitch { in_task, out_task, .. } = event.body else { return true };
        let now = event.timestamp;
        let statistics = &mut self.statistics;
        if statistics.num_task_switches == 0 {
            (statistics.first_task_duration, statistics.last_task_duration) = (now, now);
        }
        statistics.first_task_duration = statistics.first_task_duration.min(now);
        statistics.last_task_duration = statistics.last_task_duration.max(now);
        statistics.num_task_switches += 1;
        let Some(log) = self.log(event.log_file) else { return true };
        let before = log.last.replace((now, in_task));
        let Some((then, ran)) = before else { return true };
        if ran != out_task {
            // Where it was not known who ran, that is no other.
            return ran.0 == UNKNOWN_TASK;
        }
        self.ran.add(LogTask(event.log_file, out_task), then, now);
        true
    }

    #[inline]
    fn log(&mut self, id: LogFileId) -> Option<&mut LogStatistics> {
        if self.logs.get(self.current).is_none_or(|log| log.id != id) {
            self.current = self.place(id);
        }
        self.logs.get_mut(self.current)
    }

    fn place(&mut self, id: LogFileId) -> usize {
        let logs = &mut self.logs;
        *self.places.entry(id).or_insert_with(|| {
            logs.push(LogStatistics { id, last: None });
            logs.len() - 1
        })
    }

    /// The statistics of the events so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Returns the run time of each task, by log file, then by task.
    #[must_use]
    pub fn task_executions(&self) -> Vec<TaskExecution> {
        let first = i128::from(self.statistics.first_task_duration);
        let total = i128::from(self.statistics.last_task_duration) - first;
        let sums = self.ran.sums().into_iter();
        let executions = sums.map(|(LogTask(log_file, task), ran)| TaskExecution {
            offset: 0,
            log_file,
            task,
            task_exec: percent(ran, total),
        });
        let mut executions: Vec<_> = executions.collect();
        executions.sort_by_key(|execution| (execution.log_file, execution.task));
        executions
    }
}

/// A share in percent, to two decimals.
fn percent(part: i128, whole: i128) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    // Rounded in whole numbers: a hundredth of a percent is a ten-thousandth.
    let doubled = part.saturating_mul(20_000) / whole;
    let hundredths = i128::midpoint(doubled, doubled.signum());
    #[allow(clippy::cast_precision_loss, reason = "a double is what the file holds")]
    let percent = hundredths as f64 / 100.0;
    percent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TypeId;

    fn switch(log_file: i32, timestamp: i64, out_task: i32, in_task: i32) -> Event<'static> {
        let (in_task, out_task) = (ArtifactId(in_task), ArtifactId(out_task));
        Event {
            timestamp,
            log_file: LogFileId(log_file),
            body: Body::TaskSwitch { in_task, out_task, in_task_priority: 0 },
            custom_type: TypeId(1),
            custom: &[],
        }
    }

    fn executions(events: &[Event<'_>]) -> Vec<(i32, i32, f64)> {
        let mut tally = EventStatistics::default();
        for event in events {
            tally.add(event);
        }
        let entry = |it: &TaskExecution| (it.log_file.0, it.task.0, it.task_exec);
        tally.task_executions().iter().map(entry).collect()
    }

    /// From 0 to 300: task 1 runs 100 of it and task 2 the other 200, a third and two thirds.
    #[test]
    fn a_task_runs_from_the_switch_to_it_until_the_switch_from_it() {
        let events = [switch(0, 0, 9, 1), switch(0, 100, 1, 2), switch(0, 300, 2, 1)];
        assert_eq!(executions(&events), [(0, 1, 33.33), (0, 2, 66.67)]);
    }

    /// The whole is that of all logs, 0 to 1000, also for a log that has only a part of it.
    #[test]
    fn the_whole_is_the_time_of_all_log_files() {
        let events =
            [switch(1, 0, 9, 5), switch(0, 100, 9, 5), switch(0, 350, 5, 9), switch(1, 1000, 5, 9)];
        assert_eq!(executions(&events), [(0, 5, 25.0), (1, 5, 100.0)]);
    }

    #[test]
    fn a_switch_from_another_task_than_ran_counts_for_none() {
        let events = [switch(0, 0, 9, 1), switch(0, 50, 2, 3), switch(0, 100, 3, 1)];
        assert_eq!(executions(&events), [(0, 3, 50.0)]);
        let mut tally = EventStatistics::default();
        let balanced: Vec<_> = events.iter().map(|event| tally.add(event)).collect();
        assert_eq!(balanced, [true, false, true]);
    }

    /// Log file n has one task, which runs from 0 to n, and the whole is 1000: a tenth of a percent
    /// for each. There are more of them than are kept at hand, and the events name them, so that each
    /// takes no more room than a `TASK_SWITCH` of 36 bytes.
    #[test]
    fn many_log_files_are_told_apart_and_take_little_room() {
        let begins = (1..=1000).map(|log| switch(log, 0, 9, 1));
        let ends = (1..=1000).map(|log| switch(log, log.into(), 1, 9));
        let events: Vec<_> = begins.chain(ends).collect();
        let expected: Vec<_> = (1..=1000).map(|log| (log, 1, f64::from(log) / 10.0)).collect();
        assert_eq!(executions(&events), expected);
        assert!(size_of::<LogStatistics>() <= 36);
    }

    #[test]
    fn statistics_hold_the_smallest_and_the_largest_time_in_any_order() {
        let mut tally = EventStatistics::default();
        let none = Statistics::default();
        assert_eq!((none.first_task_duration, none.last_task_duration), (-1, 0));
        assert_eq!(tally.statistics(), none);
        for event in [switch(0, 70, 1, 2), switch(0, -30, 2, 1), switch(1, 40, 1, 2)] {
            tally.add(&event);
        }
        let expected =
            Statistics { first_task_duration: -30, last_task_duration: 70, num_task_switches: 3 };
        assert_eq!(tally.statistics(), expected);
    }

    #[test]
    fn halves_are_rounded_away_from_zero_and_no_time_is_no_share() {
        // 1 of 8 is 12.5 %; 1 of 16 is 6.25 %; 1 of 32 is 3.125 %.
        let shown = |part, whole| percent(part, whole).to_string();
        assert_eq!([shown(1, 8), shown(1, 16), shown(1, 32)], ["12.5", "6.25", "3.13"]);
        assert_eq!([shown(-1, 32), shown(0, 0), shown(2, 3)], ["-3.13", "0", "66.67"]);
    }
}
