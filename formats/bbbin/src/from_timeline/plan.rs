//! What the tracks of a timeline become.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use kymo_core::model::timeline::{
    Activity, Content, Event, TimelineView, Track, TrackId, TrackKind, Window,
};
use kymo_core::{Origin, Result, Value};

use crate::model::{IMPORTED_AT, IMPORTER_NAME, LOG_FILE, LOG_FILE_SIZE};
use crate::spec::{FieldType, TaskClass, UNKNOWN_PRIORITY, UNKNOWN_TASK};
use crate::types::{
    ArtifactId, ArtifactKind, CustomField, CustomType, Definitions, LogFileId, TypeId,
};

/// What the tracks become.
pub(super) struct Plan {
    pub definitions: Definitions,
    tracks: Vec<Track>,
    /// The log file of each track.
    logs: Vec<LogFileId>,
    roles: Vec<Role>,
    artifacts: HashMap<TrackId, ArtifactId>,
    states: HashMap<(TrackId, String), ArtifactId>,
    /// The place of each track's type among the types.
    types: HashMap<TrackId, usize>,
    empty_types: HashMap<LogFileId, TypeId>,
}

/// What a track becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It has no activities.
    Nothing,
    Task,
    States,
}

impl Plan {
    /// Looks at every event once.
    pub(super) fn new(timeline: &Arc<dyn TimelineView>, origin: Option<&Origin>) -> Result<Self> {
        let tracks = timeline.tracks();
        let mut roles: Vec<Role> = tracks.iter().map(first_role).collect();
        let mut values: BTreeMap<TrackId, FieldType> = BTreeMap::new();
        let mut entered: Vec<(TrackId, String)> = Vec::new();
        let mut known: HashSet<(TrackId, String)> = HashSet::new();
        let mut events = Arc::clone(timeline).events(&Window::default())?;
        while let Some(event) = events.next()? {
            let Some(role) = roles.get_mut(event.track.0) else { continue };
            match &event.content {
                Content::Activity(Activity::Enter { state, .. }) => {
                    let key = (event.track, state.to_string());
                    if known.insert(key.clone()) {
                        entered.push(key);
                    }
                    *role = Role::States;
                }
                Content::Activity(_) if *role == Role::Nothing => *role = Role::Task,
                Content::Activity(_) => {}
                // The first value tells what the others are.
                _ => drop(values.entry(event.track).or_insert_with(|| field_type(&event))),
            }
        }
        drop(events);
        let mut plan = Self {
            definitions: Definitions::default(),
            logs: Vec::with_capacity(tracks.len()),
            tracks,
            roles,
            artifacts: HashMap::new(),
            states: HashMap::new(),
            types: HashMap::new(),
            empty_types: HashMap::new(),
        };
        plan.define(&values, entered, origin);
        Ok(plan)
    }

    fn define(
        &mut self,
        values: &BTreeMap<TrackId, FieldType>,
        entered: Vec<(TrackId, String)>,
        origin: Option<&Origin>,
    ) {
        self.define_logs(origin);
        let mut ids = Ids::default();
        for number in 0..self.tracks.len() {
            self.define_track(TrackId(number), &mut ids);
        }
        for (track, field_type) in values {
            let (Some(log), Some(of)) = (self.log(*track), self.tracks.get(track.0)) else {
                continue;
            };
            self.types.insert(*track, self.definitions.types.len());
            let fields = vec![CustomField::scalar("value", *field_type)];
            self.definitions.add_type(log, &of.name, fields);
        }
        for (track, name) in entered {
            let Some(log) = self.log(track) else { continue };
            let (id, parent) = (ids.next(log), self.artifact(track));
            self.definitions.add_artifact(log, id, &name, ArtifactKind::State { parent });
            self.states.insert((track, name), id);
        }
    }

    /// Each recording is a log file, and each processor of it one of its own: in a log of several,
    /// switches would not tell who ran.
    fn define_logs(&mut self, origin: Option<&Origin>) {
        let mut known: HashMap<(usize, Option<TrackId>), LogFileId> = HashMap::new();
        let cpus = cpus(&self.tracks);
        // What is of no processor comes first, so that a recording's own log file is its first.
        let of_tracks =
            || self.tracks.iter().zip(&cpus).map(|(track, cpu)| (track.recording, *cpu));
        let (mut keys, mut seen) = (Vec::new(), HashSet::new());
        let whole = of_tracks().filter(|(_, cpu)| cpu.is_none()).collect::<BTreeSet<_>>();
        for key in whole.into_iter().chain(of_tracks()) {
            if seen.insert(key) {
                keys.push(key);
            }
        }
        for (number, cpu) in keys {
            let log = self.define_log(number, cpu, origin);
            let empty = self.definitions.empty_type(log);
            self.empty_types.insert(log, empty);
            known.insert((number, cpu), log);
        }
        let of = |(track, cpu): (&Track, &Option<TrackId>)| {
            known.get(&(track.recording, *cpu)).copied().unwrap_or(LogFileId(0))
        };
        self.logs = self.tracks.iter().zip(&cpus).map(of).collect();
    }

    /// A log file of BBBin stays what it was; any other says where it came from.
    fn define_log(
        &mut self,
        recording: usize,
        cpu: Option<TrackId>,
        origin: Option<&Origin>,
    ) -> LogFileId {
        let is_log = |track: &&Track| track.recording == recording && track.content == LOG_FILE;
        let own = cpu.and_then(|cpu| self.tracks.get(cpu.0));
        let log = own.filter(|track| track.content == LOG_FILE);
        let log =
            log.or_else(|| self.tracks.iter().find(is_log).filter(|_| own.is_none())).cloned();
        if let Some(log) = log {
            let text = log.attributes.get(IMPORTER_NAME).and_then(serde_json::Value::as_str);
            let number = |name: &str| log.attributes.get(name).and_then(serde_json::Value::as_i64);
            let id = self.definitions.add_log_file(&log.name, text.unwrap_or("kymo"));
            if let Some(of) = self.definitions.log_files.last_mut() {
                of.size = number(LOG_FILE_SIZE).unwrap_or(0);
                of.imported_at_ms = number(IMPORTED_AT).unwrap_or(0);
            }
            return id;
        }
        let cpu = own.and_then(|track| track.attributes.get(Track::CPU_ID));
        let cpu = cpu.map(|cpu| format!("cpu {cpu}"));
        let name = match (origin, cpu) {
            (Some(origin), Some(cpu)) => format!("{}, {cpu}", origin.name),
            (Some(origin), None) if recording == 0 => origin.name.clone(),
            (_, Some(cpu)) => cpu,
            (_, None) => format!("recording {recording}"),
        };
        let importer = origin.map_or("kymo", |origin| &origin.importer);
        let id = self.definitions.add_log_file(&name, importer);
        if let (Some(origin), Some(of)) = (origin, self.definitions.log_files.last_mut()) {
            of.size = i64::try_from(origin.size_bytes).unwrap_or(i64::MAX);
            of.imported_at_ms = origin.time_ms;
        }
        id
    }

    fn define_track(&mut self, track: TrackId, ids: &mut Ids) {
        let (Some(log), Some(of)) = (self.log(track), self.tracks.get(track.0)) else { return };
        let priority = of.attributes.get("task_priority").and_then(serde_json::Value::as_i64);
        let priority = priority.and_then(|number| i32::try_from(number).ok());
        let kind = match self.role(track) {
            Role::Nothing => return,
            Role::Task => ArtifactKind::Task {
                task_class: Ok(TaskClass::Task),
                priority: priority.unwrap_or(UNKNOWN_PRIORITY),
            },
            Role::States => ArtifactKind::StateMachine,
        };
        let id = ids.take(log, of.task_id());
        self.definitions.add_artifact(log, id, &of.name, kind);
        self.artifacts.insert(track, id);
    }

    pub(super) fn log(&self, track: TrackId) -> Option<LogFileId> {
        self.logs.get(track.0).copied()
    }

    pub(super) fn role(&self, track: TrackId) -> Role {
        self.roles.get(track.0).copied().unwrap_or(Role::Nothing)
    }

    pub(super) fn name(&self, track: TrackId) -> &str {
        self.tracks.get(track.0).map_or("", |track| &track.name)
    }

    /// The artifact of a message's other end; "unknown" where it is in another log file, for ids
    /// are of one.
    pub(super) fn peer(&self, of: TrackId, peer: TrackId) -> ArtifactId {
        let is_near = self.log(of) == self.log(peer);
        if is_near { self.artifact(peer) } else { ArtifactId(UNKNOWN_TASK) }
    }

    /// The artifact of a track; "unknown" for one that is no task and no state machine.
    pub(super) fn artifact(&self, track: TrackId) -> ArtifactId {
        self.artifacts.get(&track).copied().unwrap_or(ArtifactId(UNKNOWN_TASK))
    }

    pub(super) fn state(&self, track: TrackId, name: &str) -> ArtifactId {
        let found = self.states.get(&(track, name.to_owned())).copied();
        found.unwrap_or(ArtifactId(crate::spec::UNKNOWN_STATE))
    }

    pub(super) fn custom_type(&self, track: TrackId) -> Option<&CustomType> {
        self.definitions.types.get(*self.types.get(&track)?)
    }

    pub(super) fn empty_type(&self, log: LogFileId) -> TypeId {
        self.empty_types.get(&log).copied().unwrap_or(TypeId(0))
    }
}

/// The processor of each track: the first track that says it is of that one.
fn cpus(tracks: &[Track]) -> Vec<Option<TrackId>> {
    let mut first: HashMap<(usize, i64), TrackId> = HashMap::new();
    let mut cpus: Vec<Option<TrackId>> = Vec::with_capacity(tracks.len());
    for (id, track) in tracks.iter().enumerate() {
        let number = track.attributes.get(Track::CPU_ID).and_then(serde_json::Value::as_i64);
        // Parents come before their children.
        let above = || track.parent.and_then(|parent| cpus.get(parent.0).copied().flatten());
        let own =
            number.map(|number| *first.entry((track.recording, number)).or_insert(TrackId(id)));
        let cpu = own.or_else(above);
        cpus.push(cpu);
    }
    cpus
}

/// What a track is without a look at its events.
fn first_role(track: &Track) -> Role {
    // Tasks that never did anything are worth knowing of; a log file's own track is not.
    match track.kind {
        TrackKind::Task if track.task_id().is_some() => Role::Task,
        TrackKind::States => Role::States,
        _ => Role::Nothing,
    }
}

/// The type of a track's values, by its first.
fn field_type(event: &Event<'_>) -> FieldType {
    match value_of(event) {
        Value::Int(_) => FieldType::Int64,
        Value::UInt(_) => FieldType::Uint64,
        Value::Float32(_) => FieldType::Float,
        Value::Float(_) => FieldType::Double,
        Value::Bool(_) => FieldType::Boolean,
        _ => FieldType::String,
    }
}

/// The value of an event as a field holds it: numbers as they are, and all else as text.
pub(super) fn value_of(event: &Event<'_>) -> Value {
    match &event.content {
        Content::Value(
            value @ (Value::Int(_)
            | Value::UInt(_)
            | Value::Float32(_)
            | Value::Float(_)
            | Value::Bool(_)
            | Value::Text(_)),
        ) => value.clone(),
        Content::Value(value) => Value::Text(value.to_string()),
        Content::Text(text) => Value::Text(text.to_string()),
        Content::Sample(context) => Value::UInt(*context),
        // Each byte is a character of Latin-1.
        Content::Payload => Value::Text(crate::Text(event.payload).to_string()),
        Content::Activity(activity) => Value::Text(activity.to_string()),
    }
}

/// Ids that are free.
#[derive(Default)]
struct Ids(HashMap<LogFileId, BTreeSet<i32>>);

impl Ids {
    /// The wanted id where it is free, and else the next.
    fn take(&mut self, log: LogFileId, wanted: Option<i64>) -> ArtifactId {
        let wanted = wanted.and_then(|number| i32::try_from(number).ok());
        match wanted.filter(|id| *id != UNKNOWN_TASK) {
            Some(id) if self.0.entry(log).or_default().insert(id) => ArtifactId(id),
            _ => self.next(log),
        }
    }

    fn next(&mut self, log: LogFileId) -> ArtifactId {
        let taken = self.0.entry(log).or_default();
        let largest = taken.last().copied().unwrap_or(0).max(0);
        let next = largest.saturating_add(1);
        let next = if next == UNKNOWN_TASK { next + 1 } else { next };
        taken.insert(next);
        ArtifactId(next)
    }
}
