//! The index's head, TASK EXECUTIONS and STATISTICS against what the events say.

use std::collections::{BTreeMap, HashSet};

use kymo_core::Severity::Warning;

use super::definitions::{has_log_file, place};
use super::{CountedFindings, is_no_artifact};
use crate::read::INDEX;
use crate::spec::{ArtifactClass, Section};
use crate::types::{ArtifactId, IndexHeader, LogFileId, TaskExecution};
use crate::{EventStatistics, Reader};

pub(super) fn check(reader: &Reader, tally: &EventStatistics, told: &mut CountedFindings) {
    index_header(reader, told);
    statistics(reader, tally, told);
    task_executions(reader, tally, told);
}

fn start(reader: &Reader, section: Section) -> Option<u64> {
    let found = reader.sections().iter().find(|(other, _)| *other == section);
    found.map(|(_, bytes)| bytes.start)
}

fn index_header(reader: &Reader, told: &mut CountedFindings) {
    if !reader.is_index_sound() {
        return;
    }
    let blocks = reader.blocks();
    let total: u64 = blocks.iter().map(|block| block.total_event_size).sum();
    let expected = IndexHeader {
        num_events: i64::try_from(reader.num_events()).unwrap_or(i64::MAX),
        total_event_size: i64::try_from(total).unwrap_or(i64::MAX).saturating_add(8),
        first_timestamp: blocks.first().map_or(0, |block| block.first_timestamp),
        last_timestamp: blocks.last().map_or(0, |block| block.last_timestamp),
    };
    let found = reader.index_header();
    let pairs = [
        ("num-events", found.num_events, expected.num_events),
        ("total-event-size", found.total_event_size, expected.total_event_size),
        ("first-event-timestamp", found.first_timestamp, expected.first_timestamp),
        ("last-event-timestamp", found.last_timestamp, expected.last_timestamp),
    ];
    let offset = start(reader, Section::EventIndex);
    for (number, (what, found, expected)) in (1..).zip(pairs) {
        if found != expected {
            told.count((INDEX, number, 1), Warning, offset, || {
                format!("{what} of the index is {found}, and the blocks say {expected}")
            });
        }
    }
}

fn statistics(reader: &Reader, tally: &EventStatistics, told: &mut CountedFindings) {
    let Some(found) = reader.statistics() else { return };
    let expected = tally.statistics();
    let pairs = [
        ("first-task-duration", found.first_task_duration, expected.first_task_duration),
        ("last-task-duration", found.last_task_duration, expected.last_task_duration),
        ("num-task-switches", found.num_task_switches, expected.num_task_switches),
    ];
    let offset = start(reader, Section::Statistics);
    for (number, (what, found, expected)) in (0..).zip(pairs) {
        if found != expected {
            told.count(("statistics", number, 0), Warning, offset, || {
                format!("{what} is {found}, and the events say {expected}")
            });
        }
    }
}

/// Greatest error of a percentage, since others round differently. The format has two decimals, and
/// a value between two hundredths may have become either.
const ROUNDING: f64 = 0.010_001;

fn task_executions(reader: &Reader, tally: &EventStatistics, told: &mut CountedFindings) {
    type ArtifactValues = BTreeMap<(LogFileId, ArtifactId), f64>;
    let entry = |task_execution: &TaskExecution| {
        ((task_execution.log_file, task_execution.task), task_execution.task_exec)
    };
    let expected: ArtifactValues = tally.task_executions().iter().map(entry).collect();
    let mut missing = expected.clone();
    let mut seen = HashSet::new();
    for found in reader.task_executions() {
        let (log, task) = (found.log_file, found.task);
        missing.remove(&(log, task));
        if !seen.insert((log, task)) {
            told.count(("duplicate-id", 4, place(found.offset)), Warning, found.offset, || {
                format!("the execution of task {} of log file {} is there twice", task.0, log.0)
            });
        }
        execution_ids(reader, found, told);
        let is_right = match expected.get(&(log, task)) {
            Some(expected) => (found.task_exec - expected).abs() <= ROUNDING,
            // Some writers have an entry for tasks that never ran.
            None => found.task_exec == 0.0,
        };
        if !is_right {
            let key = ("task-executions", log.0.into(), task.0.into());
            told.count(key, Warning, found.offset, || {
                let share = expected.get(&(log, task)).copied().unwrap_or_default();
                let said = found.task_exec;
                format!("task {} ran for {said} % as the file says, and {share} %", task.0)
            });
        }
    }
    for ((log, task), share) in missing {
        let key = ("task-executions", log.0.into(), task.0.into());
        told.count(key, Warning, start(reader, Section::TaskExecutions), || {
            format!("task {} of log file {} ran for {share} %, and is not there", task.0, log.0)
        });
    }
}

/// Looks up what an entry is about.
fn execution_ids(reader: &Reader, found: &TaskExecution, told: &mut CountedFindings) {
    let (log, task) = (found.log_file, found.task);
    if !has_log_file(reader, log) {
        told.count(("unknown-log-file", log.0.into(), 3), Warning, found.offset, || {
            format!("task {} ran in log file {}, which is not there", task.0, log.0)
        });
    } else if !is_no_artifact(ArtifactClass::Task, task)
        && reader.artifact(log, ArtifactClass::Task, task).is_none()
    {
        told.unknown_artifact((log, ArtifactClass::Task, task), found.offset);
    }
}
