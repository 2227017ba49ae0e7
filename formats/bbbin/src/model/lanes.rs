//! Which tracks there are.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use kymo_core::Value;
use kymo_core::model::timeline::{ClockId, Track, TrackId, TrackKind};
use serde_json::Map;

use super::undeclared::Undeclared;
use crate::Reader;
use crate::read::values;
use crate::spec::{
    BY_CPU, CALL_TYPE, CALLS_TYPE, FieldType, IS_IDLE, RELEASE_TYPE, TASK_TYPE, TELLS_COMPLETION,
    THREAD, UNKNOWN_TASK,
};
use crate::types::{
    Artifact, ArtifactId, ArtifactKind, CustomField, CustomType, LogFile, LogFileId, TypeId,
};

type Lookup<K, V> = HashMap<K, V, RandomState>;

/// The tracks of a file, and how events find theirs.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    pub tracks: Vec<Track>,
    logs: Lookup<LogFileId, LogLanes>,
    tasks: Lookup<(LogFileId, ArtifactId), TrackId>,
    machines: Lookup<(LogFileId, ArtifactId), TrackId>,
    /// What functions run on, where that is not the log file.
    threads: Lookup<(LogFileId, ArtifactId), TrackId>,
    types: Lookup<(LogFileId, TypeId), TypeLanes>,
    /// Types whose values say which thread a function runs on.
    call_types: HashSet<(LogFileId, TypeId), RandomState>,
    /// Types whose values say on which processor a task was released.
    release_types: HashSet<(LogFileId, TypeId), RandomState>,
    /// The tracks of processors, by recording and number.
    cpus: Lookup<(usize, i32), TrackId>,
    /// Log files that declare the task that stands for an unknown one.
    unknown_tasks: HashSet<LogFileId, RandomState>,
}

/// The tracks that each log file has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogLanes {
    /// Functions, and whatever has no better track.
    pub own: TrackId,
    /// Tasks that nothing declares, where it is not known which there are.
    other_tasks: Option<TrackId>,
}

/// The track of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskLane {
    /// Of its own.
    Own(TrackId),
    /// That of those that nothing declares, where only events name them.
    Others(TrackId),
}

impl TaskLane {
    pub(crate) fn track(self) -> TrackId {
        match self {
            Self::Own(track) | Self::Others(track) => track,
        }
    }
}

/// The tracks of a custom type.
#[derive(Debug, Clone)]
pub(crate) struct TypeLanes {
    /// Its values together.
    pub values: TrackId,
    /// Its numbers, by the place of their field.
    pub counters: Vec<(usize, TrackId)>,
}

/// What the tracks of log files hold.
pub(crate) const LOG_FILE: &str = "log file";

/// Attributes of log files, under the names of the specification.
pub(crate) const LOG_FILE_SIZE: &str = "log_file_size";
pub(crate) const IMPORTED_AT: &str = "imported_at_timestamp";
pub(crate) const IMPORTER_NAME: &str = "importer_name";

/// The name of the track for tasks that nothing declares.
const OTHER_TASKS: &str = "other tasks";

impl Lanes {
    pub(crate) fn new(reader: &Reader) -> Self {
        let mut lanes = Self::default();
        let definitions = reader.definitions();
        for of in &definitions.log_files {
            lanes.log_file(of, reader);
        }
        for of in &definitions.artifacts {
            lanes.artifact(of, reader);
        }
        let undeclared = Undeclared::new(reader);
        for (log, task) in undeclared.tasks {
            lanes.undeclared(log, task, reader);
        }
        if !undeclared.are_all {
            lanes.other_tasks(reader);
        }
        for of in &definitions.types {
            lanes.custom_type(of, reader);
        }
        lanes
    }

    pub(crate) fn log(&self, id: LogFileId) -> Option<LogLanes> {
        self.logs.get(&id).copied()
    }

    /// The track of a task, or that of all others.
    #[inline]
    pub(crate) fn task(&self, log: LogFileId, id: ArtifactId) -> Option<TaskLane> {
        match self.tasks.get(&(log, id)) {
            Some(track) => Some(TaskLane::Own(*track)),
            None => self.log(log)?.other_tasks.map(TaskLane::Others),
        }
    }

    /// The track of a task that begins or stops running. Nobody does where it is not known who.
    #[inline]
    pub(crate) fn running(&self, log: LogFileId, id: ArtifactId) -> Option<TaskLane> {
        let is_nobody = id.0 == UNKNOWN_TASK && !self.unknown_tasks.contains(&log);
        if is_nobody { None } else { self.task(log, id) }
    }

    /// The track of a state machine, or of the log file where nothing declares it.
    pub(crate) fn machine(&self, log: LogFileId, id: ArtifactId) -> Option<TrackId> {
        let declared = self.machines.get(&(log, id)).copied();
        declared.or_else(|| Some(self.log(log)?.own))
    }

    /// The track of the other end of a message, where it is known.
    pub(crate) fn peer(&self, log: LogFileId, id: ArtifactId, is_task: bool) -> Option<TrackId> {
        let is_nobody = id.0 == UNKNOWN_TASK && !self.unknown_tasks.contains(&log);
        let lookup = if is_task { &self.tasks } else { &self.machines };
        if is_nobody { None } else { lookup.get(&(log, id)).copied() }
    }

    /// The track that a function runs on.
    pub(crate) fn calls(&self, log: LogFileId, of: TypeId, values: &[u8]) -> Option<TrackId> {
        let own = self.log(log)?.own;
        if !self.call_types.contains(&(log, of)) {
            return Some(own);
        }
        let id = values.first_chunk().map(|id| ArtifactId(i32::from_be_bytes(*id)));
        Some(id.and_then(|id| self.threads.get(&(log, id)).copied()).unwrap_or(own))
    }

    /// The track of the processor on which a task was released, where that is known.
    pub(crate) fn released_by(&self, log: LogFileId, of: TypeId, values: &[u8]) -> Option<TrackId> {
        let cpu = values.first_chunk().map(|cpu| i32::from_be_bytes(*cpu))?;
        if !self.release_types.contains(&(log, of)) {
            return None;
        }
        let recording = self.tracks.get(self.log(log)?.own.0)?.recording;
        self.cpus.get(&(recording, cpu)).copied()
    }

    /// Whether values only say where their event belongs.
    pub(crate) fn is_told(&self, log: LogFileId, of: TypeId) -> bool {
        self.call_types.contains(&(log, of)) || self.release_types.contains(&(log, of))
    }

    pub(crate) fn of_type(&self, log: LogFileId, id: TypeId) -> Option<&TypeLanes> {
        self.types.get(&(log, id))
    }

    fn log_file(&mut self, of: &LogFile, reader: &Reader) {
        if self.logs.contains_key(&of.id) {
            return;
        }
        let own = self.add(reader, of.id, of.name.clone(), TrackKind::Calls, LOG_FILE);
        let cpu = cpu_of(of, reader);
        let recording = reader.recording_of(of.id).unwrap_or_default();
        self.cpus.extend(cpu.map(|cpu| ((recording, cpu), own)));
        if let Some(track) = self.tracks.get_mut(own.0) {
            let attributes = &mut track.attributes;
            attributes.extend(cpu.map(|cpu| (Track::CPU_ID.into(), cpu.into())));
            attributes.insert(LOG_FILE_SIZE.into(), of.size.into());
            attributes.insert(IMPORTED_AT.into(), of.imported_at_ms.into());
            attributes.insert(IMPORTER_NAME.into(), of.importer.clone().into());
        }
        self.logs.insert(of.id, LogLanes { own, other_tasks: None });
    }

    fn other_tasks(&mut self, reader: &Reader) {
        for of in &reader.definitions().log_files {
            let Some(log) = self.log(of.id).filter(|log| log.other_tasks.is_none()) else {
                continue;
            };
            let track = self.add(reader, of.id, OTHER_TASKS.into(), TrackKind::Task, "TASK");
            self.put_under(track, log.own);
            self.logs.insert(of.id, LogLanes { other_tasks: Some(track), ..log });
        }
    }

    fn undeclared(&mut self, log: LogFileId, task: ArtifactId, reader: &Reader) {
        let Some(own) = self.log(log).map(|log| log.own) else { return };
        let track = self.add(reader, log, undeclared_name(task), TrackKind::Task, "TASK");
        self.put_under(track, own);
        if let Some(track) = self.tracks.get_mut(track.0) {
            track.attributes.insert("artifact_id".into(), task.0.into());
        }
        self.tasks.insert((log, task), track);
    }

    fn artifact(&mut self, of: &Artifact, reader: &Reader) {
        let Some(log) = self.log(of.log_file) else { return };
        let custom_type = reader.custom_type(of.log_file, of.custom_type);
        let is_thread = custom_type.is_some_and(|of| of.name == CALLS_TYPE);
        let kind = match of.kind {
            ArtifactKind::Task { .. } => TrackKind::Task,
            ArtifactKind::StateMachine => TrackKind::States,
            ArtifactKind::Generic if is_thread => TrackKind::Calls,
            ArtifactKind::Generic | ArtifactKind::State { .. } => return,
        };
        let key = (of.log_file, of.id);
        if self.lookup(kind).contains_key(&key) {
            return;
        }
        let content = of.kind.class().name();
        let track = self.add(reader, of.log_file, of.name.clone(), kind, content);
        self.put_under(track, log.own);
        if let Some(track) = self.tracks.get_mut(track.0) {
            track.attributes.insert("artifact_id".into(), of.id.0.into());
            if let ArtifactKind::Task { priority, .. } = of.kind {
                track.attributes.insert("task_priority".into(), priority.into());
            }
            for (field, name) in MORE {
                if custom_type.is_some_and(|custom_type| says(custom_type, of, field)) {
                    track.attributes.insert(name.into(), true.into());
                }
            }
        }
        if (kind, of.id.0) == (TrackKind::Task, UNKNOWN_TASK) {
            self.unknown_tasks.insert(of.log_file);
        }
        self.lookup(kind).insert(key, track);
    }

    fn lookup(&mut self, kind: TrackKind) -> &mut Lookup<(LogFileId, ArtifactId), TrackId> {
        match kind {
            TrackKind::States => &mut self.machines,
            TrackKind::Calls => &mut self.threads,
            _ => &mut self.tasks,
        }
    }

    fn custom_type(&mut self, of: &CustomType, reader: &Reader) {
        let key = (of.log_file, of.id);
        let Some(log) = self.log(of.log_file).filter(|_| !of.fields.is_empty()) else { return };
        if self.types.contains_key(&key) || is_of(of, TASK_TYPE, &[IS_IDLE, TELLS_COMPLETION]) {
            return;
        }
        if is_of(of, CALL_TYPE, &[THREAD]) {
            self.call_types.insert(key);
            return;
        }
        if is_of(of, RELEASE_TYPE, &[BY_CPU]) {
            self.release_types.insert(key);
            return;
        }
        let values = self.add(reader, of.log_file, of.name.clone(), TrackKind::Messages, "json");
        self.put_under(values, log.own);
        let mut counters = Vec::new();
        for (place, field) in of.fields.iter().enumerate().filter(|(_, field)| is_number(field)) {
            let name = format!("{}.{}", of.name, field.name);
            let content = field.type_name();
            let track = self.add(reader, of.log_file, name, TrackKind::Counter, &content);
            self.put_under(track, values);
            counters.push((place, track));
        }
        self.types.insert(key, TypeLanes { values, counters });
    }

    fn add(
        &mut self,
        reader: &Reader,
        log: LogFileId,
        name: String,
        kind: TrackKind,
        content: &str,
    ) -> TrackId {
        self.tracks.push(Track {
            name,
            recording: reader.recording_of(log).unwrap_or_default(),
            parent: None,
            kind,
            clock: Some(ClockId(0)),
            content: content.to_owned(),
            attributes: Map::new(),
        });
        TrackId(self.tracks.len() - 1)
    }

    fn put_under(&mut self, track: TrackId, parent: TrackId) {
        if let Some(track) = self.tracks.get_mut(track.0) {
            track.parent = Some(parent);
        }
    }
}

/// The processor that a log file is of: what its name ends in, and else its own number. One beside
/// those of processors is of none.
fn cpu_of(of: &LogFile, reader: &Reader) -> Option<i32> {
    let (_, cpu) = of.recording();
    let place = reader.recording_of(of.id).and_then(|place| reader.recordings().get(place));
    let is_beside = place.is_some_and(|(_, are_several)| *are_several);
    cpu.or_else(|| (!is_beside).then_some(of.id.0))
}

/// What is told of a task besides, by the names of fields and of attributes.
const MORE: [(&str, &str); 2] =
    [(IS_IDLE, Track::IS_IDLE), (TELLS_COMPLETION, Track::TELLS_COMPLETION)];

/// Whether a value of an artifact is true.
fn says(custom_type: &CustomType, of: &Artifact, name: &str) -> bool {
    let Ok(values) = values(custom_type, &of.custom, of.offset) else { return false };
    let is_it =
        |(field, value): (&CustomField, &Value)| field.name == name && *value == Value::Bool(true);
    custom_type.fields.iter().zip(&values).any(is_it)
}

/// Whether a type is one that we write, with its fields.
fn is_of(of: &CustomType, name: &str, fields: &[&str]) -> bool {
    of.name == name && of.fields.iter().map(|field| field.name.as_str()).eq(fields.iter().copied())
}

/// What a task without an artifact is called.
pub(super) fn undeclared_name(id: ArtifactId) -> String {
    match id.0 {
        number @ ..0 => format!("interrupt {}", number.unsigned_abs()),
        number => format!("task {number}"),
    }
}

/// Whether a field holds one number.
fn is_number(field: &CustomField) -> bool {
    let is_other =
        |of| matches!(of, FieldType::String | FieldType::ArtifactId | FieldType::Boolean);
    field.element_count == 0 && field.field_type.is_ok_and(|of| !is_other(of))
}
