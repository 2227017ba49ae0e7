//! Rules that events are looked at for, all in one pass.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use kymo_core::Context;
use kymo_core::Severity::Warning;

use super::Told;
use super::definitions::has_log_file;
use crate::read::{Walk, values};
use crate::spec::{ArtifactClass, NO_TYPE, UNKNOWN_STATE, UNKNOWN_TASK};
use crate::types::{ArtifactId, Block, Body, Event, Found, LogFileId};
use crate::{Reader, Tally};

/// Bytes between two tellings of progress.
const PROGRESS_BYTES: u64 = 8 << 20;

/// Checks all events, and sums them up.
pub(super) fn check(reader: &Reader, context: &Context<'_>, told: &mut Told) -> Tally {
    let mut pass = Pass {
        reader,
        told,
        tally: Tally::default(),
        last: HashMap::default(),
        latest: i64::MIN,
        is_log_unsorted: false,
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
                context.progress.at(progress);
            }
        }
        let block = reader.blocks().get(number).filter(|_| reader.is_index_sound());
        let block = block.filter(|block| block.num_events == events);
        if let (Some(block), Some(ends)) = (block, ends) {
            pass.block(block, ends);
        }
    }
    context.progress.end();
    pass.tally
}

struct Pass<'a> {
    reader: &'a Reader,
    told: &'a mut Told,
    tally: Tally,
    /// The time of the last event of each log file.
    last: HashMap<LogFileId, i64, RandomState>,
    latest: i64,
    is_log_unsorted: bool,
    /// Where definitions cannot be read, that is enough to say.
    are_artifacts_known: bool,
    are_types_known: bool,
}

/// Whether something was found by a rule already.
fn is_found(reader: &Reader, rule: &str) -> bool {
    reader.findings().iter().any(|finding| finding.rule == rule)
}

impl Pass<'_> {
    fn event(&mut self, found: &Found<'_>) {
        let Found { offset, event } = found;
        let log = event.log_file;
        self.order(*offset, event);
        if !has_log_file(self.reader, log) {
            self.told.tell(("unknown-log-file", log.0.into(), 0), Warning, *offset, || {
                format!("there is no log file {}", log.0)
            });
        }
        self.values(*offset, event);
        self.ids(*offset, event);
        if !self.tally.add(event) {
            self.told.tell(("unbalanced-switch", log.0.into(), 0), Warning, *offset, || {
                let log = log.0;
                format!("a TASK_SWITCH of log file {log} stops another task than was running")
            });
        }
    }

    fn order(&mut self, offset: u64, event: &Event<'_>) {
        let (log, timestamp) = (event.log_file, event.timestamp);
        let before = self.last.insert(log, timestamp);
        if before.is_some_and(|before| before > timestamp) {
            self.is_log_unsorted = true;
            self.told.tell(("order", log.0.into(), 1), Warning, offset, || {
                format!("an event of log file {} is earlier than the one before it", log.0)
            });
        } else if self.latest > timestamp && !self.is_log_unsorted {
            self.told.tell(("order", 0, 2), Warning, offset, || {
                "log files are not merged by time: an event is earlier than one before it".into()
            });
        }
        self.latest = self.latest.max(timestamp);
    }

    fn values(&mut self, offset: u64, event: &Event<'_>) {
        let (log, id) = (event.log_file, event.custom_type);
        if id.0 == NO_TYPE && event.custom.is_empty() {
            return;
        }
        let Some(of) = self.reader.custom_type(log, id) else {
            if !self.are_types_known {
                return;
            }
            return self.told.tell(
                ("unknown-type", log.0.into(), id.0.into()),
                Warning,
                offset,
                || format!("there is no type {} in log file {}", id.0, log.0),
            );
        };
        if of.fields.is_empty() && event.custom.is_empty() {
            return;
        }
        if let Err(error) = values(of, event.custom, offset) {
            self.told.tell(("custom-size", log.0.into(), id.0.into()), Warning, offset, || {
                format!("values are not of their type, {}: {}", id.0, error.kind)
            });
        }
    }

    fn ids(&mut self, offset: u64, event: &Event<'_>) {
        let log = event.log_file;
        let (tasks, machines) = (ArtifactClass::Task, ArtifactClass::StateMachine);
        match event.body {
            Body::Generic | Body::FunctionEnter(_) | Body::FunctionExit(_) => {}
            Body::TaskSwitch { in_task, out_task, .. } => {
                self.id(offset, log, tasks, in_task);
                self.id(offset, log, tasks, out_task);
            }
            Body::TaskRelease { task, .. } | Body::TaskCompletion { task, .. } => {
                self.id(offset, log, tasks, task);
            }
            Body::Send(message) | Body::Receive(message) => {
                self.id(offset, log, tasks, message.sender);
                self.id(offset, log, tasks, message.receiver);
            }
            Body::SrlSend { message, .. } => {
                self.id(offset, log, machines, message.sender);
                self.id(offset, log, machines, message.receiver);
            }
            Body::SrlReceive { message, state, .. } => {
                self.id(offset, log, machines, message.sender);
                self.id(offset, log, machines, message.receiver);
                if state.0 != UNKNOWN_STATE {
                    self.id(offset, log, ArtifactClass::State, state);
                }
            }
        }
    }

    /// An artifact that nothing declares. Interrupts have no artifact, nor has "unknown".
    fn id(&mut self, offset: u64, log: LogFileId, class: ArtifactClass, id: ArtifactId) {
        let is_no_artifact = id.0 < 0 || id.0 == UNKNOWN_TASK || !self.are_artifacts_known;
        if is_no_artifact || self.reader.artifact(log, class, id).is_some() {
            return;
        }
        let key =
            ("unknown-artifact", i64::from(log.0) << 8 | i64::from(class.number()), id.0.into());
        self.told.tell(key, Warning, offset, || {
            format!("there is no {} {} in log file {}", class.name(), id.0, log.0)
        });
    }

    fn block(&mut self, block: &Block, (first, last): (i64, i64)) {
        let (said_first, said_last) = (block.first_timestamp, block.last_timestamp);
        if (said_first, said_last) != (first, last) {
            self.told.tell(("index", 0, 0), Warning, block.offset, || {
                format!(
                    "the index says that a block goes from {said_first} to {said_last} ns, and \
                     its events go from {first} to {last}"
                )
            });
        }
    }
}
