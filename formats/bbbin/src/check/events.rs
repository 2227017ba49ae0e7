//! Rules that events are looked at for, all in one pass.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use kymo_core::Severity::Warning;
use kymo_core::{Context, RecentEntries};

use super::CountedFindings;
use super::definitions::has_log_file;
use crate::read::{CUSTOM_SIZE, INDEX, Walk, misfit, values};
use crate::spec::{ArtifactClass, NO_TYPE, UNKNOWN_STATE, UNKNOWN_TASK, UNKNOWN_TIME};
use crate::tally::LogTask;
use crate::types::{ArtifactId, Block, Body, Event, LocatedEvent, LogFileId, TypeId};
use crate::{EventStatistics, Reader};

/// Bytes between two tellings of progress.
const PROGRESS_BYTES: u64 = 8 << 20;

/// Checks all events, and sums them up.
pub(super) fn check(
    reader: &Reader,
    context: &Context<'_>,
    told: &mut CountedFindings,
) -> EventStatistics {
    let mut pass = Pass {
        reader,
        told,
        tally: EventStatistics::default(),
        current: None,
        last: HashMap::default(),
        latest: i64::MIN,
        is_log_unsorted: false,
        seen: None,
        known: RecentEntries::default(),
        are_artifacts_known: !is_found(reader, "artifacts"),
        are_types_known: !is_found(reader, "types"),
    };
    context.progress.begin("checking events", reader.size_bytes());
    let mut progress = 0;
    for number in 0..reader.spans().len() {
        let mut walk = Walk::new(number..number + 1);
        let mut ends: Option<(i64, i64)> = None;
        let mut events = 0;
        while let Some(found) = walk.next(reader) {
            let timestamp = found.event.timestamp;
            ends = Some((ends.map_or(timestamp, |(first, _)| first), timestamp));
            pass.event(&found);
            events += 1;
            if found.offset.saturating_sub(progress) > PROGRESS_BYTES {
                progress = found.offset;
                context.progress.advance_to(progress);
            }
        }
        let block = reader.blocks().get(number).filter(|_| reader.is_index_sound());
        if let (Some(block), Some((first, last))) = (block, ends) {
            // The last is not known where the rest cannot be read.
            let last = (block.num_events == events).then_some(last);
            pass.block(block, first, last);
        }
    }
    context.progress.end();
    pass.tally
}

struct Pass<'a> {
    reader: &'a Reader,
    told: &'a mut CountedFindings,
    tally: EventStatistics,
    /// The log file of the event before, and its time.
    current: Option<(LogFileId, i64)>,
    /// The time of the last event of each other log file.
    last: HashMap<LogFileId, i64, RandomState>,
    latest: i64,
    is_log_unsorted: bool,
    /// The log file and the type of the event before, where it has no values and both are there.
    seen: Option<(LogFileId, TypeId)>,
    /// Tasks that are known to be there: few are switched between most of the time.
    known: RecentEntries<LogTask, ()>,
    /// False if definitions cannot be read: then that is enough to report.
    are_artifacts_known: bool,
    are_types_known: bool,
}

/// Returns true if something was found by a rule already.
fn is_found(reader: &Reader, rule: &str) -> bool {
    reader.findings().iter().any(|finding| finding.rule == rule)
}

impl Pass<'_> {
    #[inline]
    fn event(&mut self, found: &LocatedEvent<'_>) {
        let LocatedEvent { offset, event } = found;
        let log = event.log_file;
        if event.timestamp >= self.latest && self.current.is_none_or(|(same, _)| same == log) {
            self.current = Some((log, event.timestamp));
            self.latest = event.timestamp;
        } else {
            self.order(*offset, event);
        }
        self.end_time(*offset, event);
        let seen = event.custom.is_empty().then_some((log, event.custom_type));
        if seen.is_none() || seen != self.seen {
            let is_sound = self.scope(*offset, event);
            self.seen = seen.filter(|_| is_sound);
        }
        let are_known = match event.body {
            Body::TaskSwitch { in_task, out_task, .. } => {
                let is_known = |task| self.known.get(LogTask(log, task)).is_some();
                is_known(in_task) && is_known(out_task)
            }
            _ => false,
        };
        if !are_known {
            self.ids(*offset, event);
        }
        if !self.tally.add(event) {
            self.told.count(("unbalanced-switch", log.0.into(), 0), Warning, *offset, || {
                let log = log.0;
                format!("a TASK_SWITCH of log file {log} stops another task than was running")
            });
        }
    }

    /// Returns true if the log file is there, and values are of their type.
    fn scope(&mut self, offset: u64, event: &Event<'_>) -> bool {
        let log = event.log_file;
        let is_there = has_log_file(self.reader, log);
        if !is_there {
            self.told.count(("unknown-log-file", log.0.into(), 0), Warning, offset, || {
                format!("there is no log file {}", log.0)
            });
        }
        self.values(offset, event) && is_there
    }

    fn order(&mut self, offset: u64, event: &Event<'_>) {
        let (log, timestamp) = (event.log_file, event.timestamp);
        let before = match self.current.replace((log, timestamp)) {
            Some((same, before)) if same == log => Some(before),
            Some((other, before)) => {
                self.last.insert(other, before);
                self.last.get(&log).copied()
            }
            None => None,
        };
        if before.is_some_and(|before| before > timestamp) {
            self.is_log_unsorted = true;
            self.told.count(("order", log.0.into(), 1), Warning, offset, || {
                format!("an event of log file {} is earlier than the one before it", log.0)
            });
        } else if self.latest > timestamp && !self.is_log_unsorted {
            self.told.count(("order", 0, 2), Warning, offset, || {
                "log files are not merged by time: an event is earlier than one before it".into()
            });
        }
        self.latest = self.latest.max(timestamp);
    }

    /// Functions that are over before they begin.
    fn end_time(&mut self, offset: u64, event: &Event<'_>) {
        let Body::FunctionEnter(function) = event.body else { return };
        let (begin, end) = (event.timestamp, function.end_time);
        if end != UNKNOWN_TIME && function.ends(begin).is_none() {
            self.told.count(("end-time", event.log_file.0.into(), 0), Warning, offset, || {
                format!("a function is entered at {begin} ns, and its end-time is {end}: not used")
            });
        }
    }

    fn values(&mut self, offset: u64, event: &Event<'_>) -> bool {
        let (log, id) = (event.log_file, event.custom_type);
        if id.0 == NO_TYPE && event.custom.is_empty() {
            return true;
        }
        let Some(this_custom_type) = self.reader.custom_type(log, id) else {
            if self.are_types_known {
                self.told.unknown_type((log, id), event.custom, offset);
            }
            return false;
        };
        if this_custom_type.fields.is_empty() && event.custom.is_empty() {
            return true;
        }
        match values(this_custom_type, event.custom, offset) {
            Ok(values) if self.are_artifacts_known => {
                self.told.report_unknown_artifacts(
                    (self.reader, log),
                    this_custom_type,
                    &values,
                    offset,
                );
            }
            Ok(_) => {}
            Err(error) => {
                let key = (CUSTOM_SIZE, log.0.into(), id.0.into());
                self.told.count_first(key, Warning, offset, || misfit(id, &error));
                return false;
            }
        }
        true
    }

    /// Artifacts that nothing declares.
    fn ids(&mut self, offset: u64, event: &Event<'_>) {
        if !self.are_artifacts_known {
            return;
        }
        let (log, reader, told) = (event.log_file, self.reader, &mut *self.told);
        let known = &mut self.known;
        each_id(&event.body, |class, id| {
            let is_task = class == ArtifactClass::Task;
            if is_no_artifact(class, id) || (is_task && known.get(LogTask(log, id)).is_some()) {
                return;
            }
            if reader.artifact(log, class, id).is_some() {
                if is_task {
                    known.put(LogTask(log, id), ());
                }
                return;
            }
            told.unknown_artifact((log, class, id), offset);
        });
    }

    fn block(&mut self, block: &Block, first: i64, last: Option<i64>) {
        let (said_first, said_last) = (block.first_timestamp, block.last_timestamp);
        let last = last.unwrap_or(said_last);
        if (said_first, said_last) != (first, last) {
            self.told.count_first((INDEX, 0, 0), Warning, block.offset, || {
                format!(
                    "the index says that a block goes from {said_first} to {said_last} ns, and \
                     its events go from {first} to {last}"
                )
            });
        }
    }
}

/// Calls for every artifact that an event is about.
pub(crate) fn each_id(body: &Body<'_>, mut id: impl FnMut(ArtifactClass, ArtifactId)) {
    let (task, machine) = (ArtifactClass::Task, ArtifactClass::StateMachine);
    match *body {
        Body::Generic | Body::FunctionEnter(_) | Body::FunctionExit(_) => {}
        Body::TaskSwitch { in_task, out_task, .. } => {
            id(task, in_task);
            id(task, out_task);
        }
        Body::TaskRelease { task: artifact_id, .. }
        | Body::TaskCompletion { task: artifact_id, .. } => id(task, artifact_id),
        Body::Send(message) | Body::Receive(message) => {
            id(task, message.sender);
            id(task, message.receiver);
        }
        Body::SrlSend { message, .. } => {
            id(machine, message.sender);
            id(machine, message.receiver);
        }
        Body::SrlReceive { message, state, .. } => {
            id(machine, message.sender);
            id(machine, message.receiver);
            id(ArtifactClass::State, state);
        }
    }
}

/// Returns true if an id is of no artifact: interrupts have none, nor has "unknown".
pub(crate) fn is_no_artifact(class: ArtifactClass, id: ArtifactId) -> bool {
    match class {
        ArtifactClass::Task | ArtifactClass::Generic => id.0 < 0 || id.0 == UNKNOWN_TASK,
        ArtifactClass::StateMachine => id.0 == UNKNOWN_STATE || id.0 == UNKNOWN_TASK,
        ArtifactClass::State => id.0 == UNKNOWN_STATE,
    }
}
