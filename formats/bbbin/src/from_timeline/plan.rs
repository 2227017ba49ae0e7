//! What the tracks of a timeline become.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use kymo_core::model::timeline::{
    Activity, Content, Event, TimelineView, Track, TrackId, TrackKind, Window,
};
use kymo_core::{Result, Value};

use crate::spec::{FieldType, TaskClass, UNKNOWN_PRIORITY, UNKNOWN_TASK};
use crate::types::{
    ArtifactId, ArtifactKind, CustomField, CustomType, Definitions, LogFileId, TypeId,
};

/// What the tracks become.
pub(super) struct Plan {
    pub definitions: Definitions,
    tracks: Vec<Track>,
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
    pub(super) fn new(timeline: &Arc<dyn TimelineView>) -> Result<Self> {
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
            tracks,
            roles,
            artifacts: HashMap::new(),
            states: HashMap::new(),
            types: HashMap::new(),
            empty_types: HashMap::new(),
        };
        plan.define(&values, entered);
        Ok(plan)
    }

    fn define(&mut self, values: &BTreeMap<TrackId, FieldType>, entered: Vec<(TrackId, String)>) {
        let recordings = self.tracks.iter().map(|track| track.recording + 1).max().unwrap_or(0);
        for number in 0..recordings {
            let is_log = |track: &&Track| track.recording == number && track.content == "log file";
            let named = self.tracks.iter().find(is_log).map(|track| track.name.clone());
            let name = named.unwrap_or_else(|| format!("recording {number}"));
            let log = self.definitions.add_log_file(&name, "kymo");
            let empty = self.definitions.empty_type(log);
            self.empty_types.insert(log, empty);
        }
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
        let wanted = of.attributes.get("artifact_id").and_then(serde_json::Value::as_i64);
        let id = ids.take(log, wanted);
        self.definitions.add_artifact(log, id, &of.name, kind);
        self.artifacts.insert(track, id);
    }

    pub(super) fn log(&self, track: TrackId) -> Option<LogFileId> {
        i32::try_from(self.tracks.get(track.0)?.recording).ok().map(LogFileId)
    }

    pub(super) fn role(&self, track: TrackId) -> Role {
        self.roles.get(track.0).copied().unwrap_or(Role::Nothing)
    }

    pub(super) fn name(&self, track: TrackId) -> &str {
        self.tracks.get(track.0).map_or("", |track| &track.name)
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

/// What a track is without a look at its events.
fn first_role(track: &Track) -> Role {
    // Tasks that never did anything are worth knowing of; a log file's own track is not.
    match track.kind {
        TrackKind::Task if track.attributes.contains_key("artifact_id") => Role::Task,
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
