//! Which tracks there are.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use kymo_core::model::timeline::{ClockId, Track, TrackId, TrackKind};
use serde_json::Map;

use crate::Reader;
use crate::spec::FieldType;
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
    types: Lookup<(LogFileId, TypeId), TypeLanes>,
}

/// The tracks that each log file has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogLanes {
    /// Functions, and whatever has no better track.
    pub own: TrackId,
    /// Tasks that nothing declares.
    pub other_tasks: TrackId,
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
        for of in reader.task_executions() {
            let key = (of.log_file, of.task);
            if let (Some(log), false) = (lanes.log(of.log_file), lanes.tasks.contains_key(&key)) {
                let name = undeclared_name(of.task);
                let track = lanes.add(reader, of.log_file, name, TrackKind::Task, "TASK");
                lanes.put_under(track, log.own);
                lanes.tasks.insert(key, track);
            }
        }
        for of in &definitions.types {
            lanes.custom_type(of, reader);
        }
        lanes
    }

    pub(crate) fn log(&self, id: LogFileId) -> Option<LogLanes> {
        self.logs.get(&id).copied()
    }

    /// The track of a task, and its name where the track has none for it.
    pub(crate) fn task(&self, log: LogFileId, id: ArtifactId) -> Option<(TrackId, Option<String>)> {
        match self.tasks.get(&(log, id)) {
            Some(track) => Some((*track, None)),
            None => Some((self.log(log)?.other_tasks, Some(undeclared_name(id)))),
        }
    }

    /// The track of a state machine, or of the log file where nothing declares it.
    pub(crate) fn machine(&self, log: LogFileId, id: ArtifactId) -> Option<TrackId> {
        let declared = self.machines.get(&(log, id)).copied();
        declared.or_else(|| Some(self.log(log)?.own))
    }

    /// The track of a task or state machine that is declared.
    pub(crate) fn declared(
        &self,
        log: LogFileId,
        id: ArtifactId,
        is_task: bool,
    ) -> Option<TrackId> {
        let lookup = if is_task { &self.tasks } else { &self.machines };
        lookup.get(&(log, id)).copied()
    }

    pub(crate) fn of_type(&self, log: LogFileId, id: TypeId) -> Option<&TypeLanes> {
        self.types.get(&(log, id))
    }

    fn log_file(&mut self, of: &LogFile, reader: &Reader) {
        if self.logs.contains_key(&of.id) {
            return;
        }
        let own = self.add(reader, of.id, of.name.clone(), TrackKind::Calls, LOG_FILE);
        if let Some(track) = self.tracks.get_mut(own.0) {
            let attributes = &mut track.attributes;
            attributes.insert(Track::CPU_ID.into(), cpu_of(of).into());
            attributes.insert(LOG_FILE_SIZE.into(), of.size.into());
            attributes.insert(IMPORTED_AT.into(), of.imported_at_ms.into());
            attributes.insert(IMPORTER_NAME.into(), of.importer.clone().into());
        }
        let other_tasks = self.add(reader, of.id, OTHER_TASKS.into(), TrackKind::Task, "TASK");
        self.put_under(other_tasks, own);
        self.logs.insert(of.id, LogLanes { own, other_tasks });
    }

    fn artifact(&mut self, of: &Artifact, reader: &Reader) {
        let Some(log) = self.log(of.log_file) else { return };
        let (kind, is_task) = match of.kind {
            ArtifactKind::Task { .. } => (TrackKind::Task, true),
            ArtifactKind::StateMachine => (TrackKind::States, false),
            ArtifactKind::Generic | ArtifactKind::State { .. } => return,
        };
        if self.declared(of.log_file, of.id, is_task).is_some() {
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
        }
        let lookup = if is_task { &mut self.tasks } else { &mut self.machines };
        lookup.insert((of.log_file, of.id), track);
    }

    fn custom_type(&mut self, of: &CustomType, reader: &Reader) {
        let key = (of.log_file, of.id);
        let Some(log) = self.log(of.log_file).filter(|_| !of.fields.is_empty()) else { return };
        if self.types.contains_key(&key) {
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
            recording: reader.log_file_place(log).unwrap_or_default(),
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

/// The processor that a log file is of: what its name ends in, and else its own number.
fn cpu_of(of: &LogFile) -> i32 {
    let named = of.name.rsplit_once("cpu ").and_then(|(_, number)| number.parse().ok());
    named.unwrap_or(of.id.0)
}

/// What a task without an artifact is called.
fn undeclared_name(id: ArtifactId) -> String {
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
