//! Tasks and state machines that nothing declares: interrupts mostly.

use std::collections::BTreeSet;

use crate::Reader;
use crate::read::Walk;
use crate::spec::{ArtifactClass, UNKNOWN_TASK};
use crate::types::{ArtifactId, Body, Event, LogFileId};

/// Events that are looked at for tasks; more would take time before anything is shown.
const EVENTS_MAX: u64 = 16_000;

/// Tasks and state machines that are told apart.
const TASKS_MAX: usize = 1 << 12;

/// Tasks that nothing declares: those of TASK EXECUTIONS, and those of some of the events. Beside
/// them state machines, of events alone.
#[derive(Debug)]
pub(super) struct Undeclared {
    pub tasks: BTreeSet<(LogFileId, ArtifactId)>,
    pub machines: BTreeSet<(LogFileId, ArtifactId)>,
    /// True if these are all.
    pub are_all: bool,
}

impl Undeclared {
    pub(super) fn new(reader: &Reader) -> Self {
        let are_all = reader.num_events() <= EVENTS_MAX;
        let mut found = Self { tasks: BTreeSet::new(), machines: BTreeSet::new(), are_all };
        // That nobody ran is a share of the time, too.
        let executions = reader.task_executions().iter().filter(|item| item.task.0 != UNKNOWN_TASK);
        for task_execution in executions {
            found.add(reader, task_execution.log_file, task_execution.task);
        }
        let count = reader.spans().len();
        // Spread over the file: what runs late may not run early.
        let step = reader.num_events().div_ceil(EVENTS_MAX).max(1);
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        let mut left = EVENTS_MAX;
        for number in (0..count).step_by(step) {
            // Whoever asks for a range of time is not told what is wrong elsewhere.
            let mut walk = Walk::quiet(number..number + 1);
            while left > 0 {
                let Some(located_event) = walk.next(reader) else { break };
                found.event(reader, &located_event.event);
                left -= 1;
            }
        }
        found
    }

    fn event(&mut self, reader: &Reader, event: &Event<'_>) {
        let log = event.log_file;
        match event.body {
            Body::TaskSwitch { in_task, out_task, .. } => {
                for task in [in_task, out_task].into_iter().filter(|task| task.0 != UNKNOWN_TASK) {
                    self.add(reader, log, task);
                }
            }
            Body::TaskRelease { task, .. } | Body::TaskCompletion { task, .. } => {
                self.add(reader, log, task);
            }
            Body::Send(message) => {
                self.add(reader, log, message.sender);
                self.peer(reader, log, message.receiver);
            }
            Body::Receive(message) => {
                self.add(reader, log, message.receiver);
                self.peer(reader, log, message.sender);
            }
            Body::SrlSend { message, .. } | Body::SrlReceive { message, .. } => {
                for machine in [message.sender, message.receiver] {
                    self.machine(reader, log, machine);
                }
            }
            Body::Generic | Body::FunctionEnter(_) | Body::FunctionExit(_) => {}
        }
    }

    fn machine(&mut self, reader: &Reader, log: LogFileId, id: ArtifactId) {
        let is_known = reader.artifact(log, ArtifactClass::StateMachine, id).is_some();
        if id.0 != UNKNOWN_TASK && !is_known && self.machines.len() < TASKS_MAX {
            self.machines.insert((log, id));
        }
    }

    fn peer(&mut self, reader: &Reader, log: LogFileId, task: ArtifactId) {
        if task.0 != UNKNOWN_TASK {
            self.add(reader, log, task);
        }
    }

    fn add(&mut self, reader: &Reader, log: LogFileId, task: ArtifactId) {
        let key = (log, task);
        let is_known = reader.artifact(log, ArtifactClass::Task, task).is_some();
        if is_known || self.tasks.contains(&key) {
            return;
        }
        if self.tasks.len() < TASKS_MAX {
            self.tasks.insert(key);
        } else {
            self.are_all = false;
        }
    }
}
