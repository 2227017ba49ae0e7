//! Losses in a conversion: what a file has and its timeline does not.

use std::collections::{HashMap, HashSet};

use kymo_core::Finding;
use kymo_model::timeline;

use super::lanes::{Lanes, TRACKLESS, TaskLane};
use crate::Reader;
use crate::carried;
use crate::read::unusual_value_count;
use crate::spec::{NOBODY_PRIORITY, UNKNOWN_STATE, UNKNOWN_TASK, UNKNOWN_TIME};
use crate::types::{ArtifactId, ArtifactKind, Body, CustomType, Event, LogFileId, Message};

/// Goes through all events.
pub(super) fn unsupported_findings(reader: &Reader, lanes: &Lanes) -> Vec<Finding> {
    let mut untold = UnsupportedEvents {
        reader,
        lanes,
        counts: UnsupportedCounts {
            artifacts: lanes.untold_artifacts,
            artifact_values: lanes.untold_values,
            types: wide_types(reader),
            states: states_of_one_name(reader),
            ..UnsupportedCounts::default()
        },
    };
    for found in reader.events() {
        untold.event(&found.event);
    }
    untold.counts.findings()
}

/// Types of which the fields are too many for a track to say, and further ones of one id.
fn wide_types(reader: &Reader) -> u64 {
    let is_untold = |item: &&CustomType| {
        let first = reader.custom_type(item.log_file, item.id).map(|first| first.offset);
        item.fields.len() > carried::FIELDS_MAX || first != Some(item.offset)
    };
    reader.types().iter().filter(is_untold).count() as u64
}

/// States whose machine has another that is told by the same name, which comes before.
fn states_of_one_name(reader: &Reader) -> u64 {
    let of_log = |named: Vec<Named>| {
        let states = borrowed(&named);
        let machines = carried::machines(states.iter().map(|(id, parent, _)| (*id, *parent)));
        let told = carried::distinct_state_names(&states);
        let names = states.iter().map(|(id, _, name)| {
            (machines.get(id).copied(), told.get(id).map_or(*name, String::as_str))
        });
        (states.len() - names.collect::<HashSet<_>>().len()) as u64
    };
    states_of_logs(reader).into_values().map(of_log).sum()
}

/// A state, what it is part of, and its name.
pub(super) type Named = (ArtifactId, ArtifactId, String);

/// States as whoever tells them apart takes them.
pub(super) fn borrowed(named: &[Named]) -> Vec<carried::State<'_>> {
    named.iter().map(|(id, parent, name)| (*id, *parent, name.as_str())).collect()
}

/// The states of each log file.
pub(super) fn states_of_logs(reader: &Reader) -> HashMap<LogFileId, Vec<Named>> {
    let mut of_logs: HashMap<LogFileId, Vec<Named>> = HashMap::new();
    for declared_artifact in reader.artifacts() {
        if let ArtifactKind::State { parent } = declared_artifact.kind {
            of_logs.entry(declared_artifact.log_file).or_default().push((
                declared_artifact.id,
                parent,
                declared_artifact.name.to_string(),
            ));
        }
    }
    of_logs
}

struct UnsupportedEvents<'a> {
    reader: &'a Reader,
    lanes: &'a Lanes,
    counts: UnsupportedCounts,
}

/// Counts of what the timeline does not have.
#[derive(Debug, Default)]
struct UnsupportedCounts {
    artifacts: u64,
    artifact_values: u64,
    types: u64,
    states: u64,
    /// Events of which nothing is told.
    nothing: u64,
    ids: u64,
    budgets: u64,
    instances: u64,
    finishes: u64,
    end_times: u64,
    values: u64,
    /// Values of GENERIC events whose types are called as ours.
    own_values: u64,
    /// Values whose bits are lost.
    odd_values: u64,
}

impl UnsupportedCounts {
    fn findings(&self) -> Vec<Finding> {
        let said = [
            (
                self.artifacts,
                "artifacts",
                "artifacts that are there twice, or beyond the first 4096",
            ),
            (self.artifact_values, "artifact-values", "values of artifacts"),
            (self.types, "types", "types that are there twice, or have too many fields"),
            (self.states, "states", "states that are called as another of their machine"),
            (self.nothing, "events", "events that say nothing: nobody stops and nobody runs"),
            (self.ids, "ids", "ids of tasks and state machines that nothing declares"),
            (self.budgets, "time-budget", "time budgets below nothing"),
            (self.instances, "receiver-instance", "receiver instances of SRL SEND"),
            (self.finishes, "finish-timestamp", "ends of transitions to no state"),
            (self.end_times, "end-time", "end times of functions that are not when they were left"),
            (
                self.values,
                "values",
                "values of events that are not GENERIC: which event they are of",
            ),
            (
                self.own_values,
                "own-types",
                "types of GENERIC events that are called and made as those of kymo itself",
            ),
            (
                self.odd_values,
                "odd-values",
                "values whose bits are odd: a NaN of its own, a BOOLEAN that is neither 0 nor 1",
            ),
        ];
        timeline::unsupported_findings(said)
    }
}

impl UnsupportedEvents<'_> {
    fn event(&mut self, event: &Event<'_>) {
        let log = event.log_file;
        if self.lanes.log(log).is_none() {
            return;
        }
        if !event.custom.is_empty()
            && let Some(this_custom_type) = self.reader.custom_type(log, event.custom_type)
        {
            self.counts.odd_values += unusual_value_count(this_custom_type, event.custom);
        }
        match event.body {
            Body::Generic => return self.generic(event),
            Body::TaskSwitch { in_task, out_task, in_task_priority } => {
                self.switch(log, in_task, out_task, in_task_priority);
            }
            Body::TaskRelease { task, time_budget } => {
                self.task(log, task);
                self.counts.budgets += u64::from(time_budget < 0);
            }
            Body::TaskCompletion { task, .. } => self.task(log, task),
            Body::Send(message) => self.ends(log, message.sender, message.receiver),
            Body::Receive(message) => self.ends(log, message.receiver, message.sender),
            Body::SrlSend { message, receiver_instance } => {
                self.machines(log, message);
                self.counts.instances += u64::from(receiver_instance != 0);
            }
            Body::SrlReceive { message, state, finish_timestamp } => {
                self.machines(log, message);
                let has_no_state = state.0 == UNKNOWN_STATE;
                self.counts.nothing += u64::from(has_no_state && message.is_none());
                let is_finished = finish_timestamp != UNKNOWN_TIME;
                self.counts.finishes += u64::from(has_no_state && is_finished);
            }
            Body::FunctionEnter(function) => {
                let is_odd = function.ends(event.timestamp).is_none();
                self.counts.end_times += u64::from(is_odd && function.end_time != UNKNOWN_TIME);
            }
            Body::FunctionExit(function) => {
                let is_known = [UNKNOWN_TIME, event.timestamp].contains(&function.end_time);
                self.counts.end_times += u64::from(!is_known);
            }
        }
        let is_said = self.lanes.thread(log, event.custom_type, event.custom).is_some()
            || self.lanes.released_by(log, event.custom_type, event.custom).is_some()
            || self.lanes.gap(event).is_some();
        self.counts.values += u64::from(!event.custom.is_empty() && !is_said);
    }

    /// Types of ours have no track, so that values of them are of no type where nothing else is.
    fn generic(&mut self, event: &Event<'_>) {
        let this_custom_type = self.reader.custom_type(event.log_file, event.custom_type);
        let is_own = this_custom_type.is_some_and(|this_custom_type| {
            TRACKLESS.into_iter().any(|own| this_custom_type.is_own_type(own))
        });
        self.counts.own_values += u64::from(is_own && self.lanes.gap(event).is_none());
    }

    fn switch(&mut self, log: LogFileId, in_task: ArtifactId, out_task: ArtifactId, priority: i32) {
        let lanes = [in_task, out_task].map(|task| self.lanes.running(log, task));
        // Where it is not known who runs, that is told.
        let is_nobody = priority == NOBODY_PRIORITY;
        self.counts.nothing += u64::from(is_nobody && lanes.iter().all(Option::is_none));
        let others = lanes.iter().flatten().filter(|lane| matches!(lane, TaskLane::Others(_)));
        self.counts.ids += others.count() as u64;
    }

    fn task(&mut self, log: LogFileId, id: ArtifactId) {
        let is_own = matches!(self.lanes.task(log, id), Some(TaskLane::Own(_)));
        self.counts.ids += u64::from(!is_own);
    }

    /// The two ends of a message between tasks.
    fn ends(&mut self, log: LogFileId, own: ArtifactId, peer: ArtifactId) {
        self.task(log, own);
        if peer.0 != UNKNOWN_TASK {
            self.task(log, peer);
        }
    }

    fn machines(&mut self, log: LogFileId, message: Message<'_>) {
        for id in [message.sender, message.receiver] {
            let is_told = id.0 == UNKNOWN_TASK || self.lanes.has_machine(log, id);
            self.counts.ids += u64::from(!is_told);
        }
    }
}
