//! Tracks that there are.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use kymo_model::timeline::{Attributes, ClockId, Missing, Track, TrackId, TrackKind, Tracks};
use serde_json::Value as Json;

use super::undeclared::Undeclared;
use super::unsupported::{borrowed, states_of_logs};
use crate::Reader;
use crate::carried::{self, CarriedArtifact, Values};
use crate::spec::{
    ArtifactClass, CALL_TYPE, CALLS_TYPE, CLOCK_TYPE, FieldType, GAP_TYPE, MADE_TYPE, OwnType,
    PROCESSOR_TYPE, RELEASE_TYPE, TASK_TYPE, TaskClass, UNKNOWN_PRIORITY, UNKNOWN_TASK,
};
use crate::types::{
    ArtifactId, ArtifactKind, Body, CustomField, CustomType, DeclaredArtifact, Event, LogFile,
    LogFileId, TypeId,
};

type Lookup<K, V> = HashMap<K, V, RandomState>;

/// The tracks of artifacts. A log may have a million, so that a number takes no more room than it has
/// to.
#[derive(Debug, Default)]
struct ArtifactLanes(Lookup<(LogFileId, ArtifactId), u32>);

impl ArtifactLanes {
    #[inline]
    fn get(&self, log: LogFileId, id: ArtifactId) -> Option<TrackId> {
        let track = self.0.get(&(log, id))?;
        usize::try_from(*track).ok().map(TrackId)
    }

    fn contains(&self, log: LogFileId, id: ArtifactId) -> bool {
        self.0.contains_key(&(log, id))
    }

    /// Tracks are fewer than artifacts have ids.
    fn insert(&mut self, log: LogFileId, id: ArtifactId, track: TrackId) {
        if let Ok(track) = u32::try_from(track.0) {
            self.0.insert((log, id), track);
        }
    }
}

/// The tracks of a file, and how events find theirs.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    pub tracks: Tracks,
    /// The same, until all are there.
    making: Vec<Track>,
    logs: Lookup<LogFileId, LogLanes>,
    tasks: ArtifactLanes,
    machines: ArtifactLanes,
    /// Names of states, where they differ from their own name: another state of the machine has it.
    states: Lookup<(LogFileId, ArtifactId), String>,
    /// Threads on which functions run, where that is not the log file.
    threads: ArtifactLanes,
    types: Lookup<(LogFileId, TypeId), TypeLanes>,
    /// Types whose values say which thread a function runs on.
    call_types: HashSet<(LogFileId, TypeId), RandomState>,
    /// Types whose values say on which processor a task was released.
    release_types: HashSet<(LogFileId, TypeId), RandomState>,
    /// Types whose values say what is missing.
    gap_types: HashSet<(LogFileId, TypeId), RandomState>,
    /// The tracks of processors, by recording and number.
    cpus: Lookup<(usize, i32), TrackId>,
    /// Log files that declare the task that stands for an unknown one.
    unknown_tasks: HashSet<LogFileId, RandomState>,
    /// Of each recording, where it is told that something is missing.
    pub gaps: Vec<TrackId>,
    /// States and GENERIC artifacts that log files carry as attributes: there are no more than
    /// whoever only looks at the timeline can bear.
    carried: usize,
    /// The bytes that values of artifacts may still take, with the words of their types.
    room: u64,
    /// Artifacts that are nowhere on the timeline, or whose values are not.
    pub untold_artifacts: u64,
    pub untold_values: u64,
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
    /// Track of tasks that nothing declares, where only events name them.
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

/// The numbers that tasks have.
const TASK_NUMBERS: [&str; 2] = ["artifact_id", Track::TASK_PRIORITY];

/// The number of a task whose priority is not known.
const TASK_NUMBER: [&str; 2] = ["artifact_id", ""];

/// Kind of track for log files.
pub(crate) const LOG_FILE: &str = "log file";

/// Attributes of log files, under the names of the specification.
pub(crate) const LOG_FILE_SIZE: &str = "log_file_size";
pub(crate) const IMPORTED_AT: &str = "imported_at_timestamp";
pub(crate) const IMPORTER_NAME: &str = "importer_name";

/// Types of ours that have no track.
pub(super) const TRACKLESS: [OwnType; 7] =
    [CALL_TYPE, RELEASE_TYPE, GAP_TYPE, TASK_TYPE, CLOCK_TYPE, PROCESSOR_TYPE, MADE_TYPE];

/// The bytes of a type's name that the names of its counters begin with: a file may have a long one,
/// and many counters.
const PREFIX_BYTES_MAX: usize = 128;

/// The name of the track for tasks that nothing declares.
const OTHER_TASKS: &str = "other tasks";

impl Lanes {
    pub(crate) fn new(reader: &Reader) -> Self {
        let room = carried::room(reader.size_bytes());
        let mut lanes = Self { room, ..Self::default() };
        for this_log_file in reader.log_files() {
            lanes.log_file(this_log_file, reader);
        }
        // Most are tasks where there are very many. A log file may have one for others besides.
        let tasks = reader
            .artifacts()
            .filter(|declared_artifact| declared_artifact.kind.class() == ArtifactClass::Task)
            .count();
        lanes.making.reserve_exact(tasks + reader.log_files().len());
        lanes.tasks.0.reserve(tasks);
        for declared_artifact in reader.artifacts() {
            lanes.artifact(&declared_artifact, reader);
        }
        if reader.is_made_up() {
            reader.notice_made_up();
        }
        for (log, states) in states_of_logs(reader) {
            let told = carried::distinct_state_names(&borrowed(&states)).into_iter();
            lanes.states.extend(told.map(|(state, name)| ((log, state), name)));
        }
        let undeclared = Undeclared::new(reader);
        for (log, task) in undeclared.tasks {
            lanes.undeclared((log, task), undeclared_name(task), TrackKind::Task, reader);
        }
        for (log, machine) in undeclared.machines {
            let name = format!("state machine {}", machine.0);
            lanes.undeclared((log, machine), name, TrackKind::States, reader);
        }
        if !undeclared.are_all {
            lanes.add_other_tasks(reader);
        }
        for this_custom_type in reader.types() {
            lanes.custom_type(this_custom_type, reader);
        }
        lanes.tracks = std::mem::take(&mut lanes.making).into();
        let recordings = 0..reader.recordings().len();
        lanes.gaps =
            recordings.filter_map(|value| Track::gap_track(&lanes.tracks, value)).collect();
        lanes
    }

    pub(crate) fn log(&self, id: LogFileId) -> Option<LogLanes> {
        self.logs.get(&id).copied()
    }

    /// The track of a task, or that of all others.
    #[inline]
    pub(crate) fn task(&self, log: LogFileId, id: ArtifactId) -> Option<TaskLane> {
        match self.tasks.get(log, id) {
            Some(track) => Some(TaskLane::Own(track)),
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
        let declared = self.machines.get(log, id);
        declared.or_else(|| Some(self.log(log)?.own))
    }

    /// The track of the other end of a message, where it is known.
    pub(crate) fn peer(&self, log: LogFileId, id: ArtifactId, is_task: bool) -> Option<TrackId> {
        let is_nobody = id.0 == UNKNOWN_TASK && !self.unknown_tasks.contains(&log);
        let lookup = if is_task { &self.tasks } else { &self.machines };
        if is_nobody { None } else { lookup.get(log, id) }
    }

    /// The track of the thread that the values of a function name.
    pub(crate) fn thread(&self, log: LogFileId, type_id: TypeId, values: &[u8]) -> Option<TrackId> {
        if !self.call_types.contains(&(log, type_id)) {
            return None;
        }
        let id = ArtifactId(i32::from_be_bytes(values.try_into().ok()?));
        self.threads.get(log, id)
    }

    /// The track of the processor on which a task was released, where the values of the release
    /// say that.
    pub(crate) fn released_by(
        &self,
        log: LogFileId,
        type_id: TypeId,
        values: &[u8],
    ) -> Option<TrackId> {
        if !self.release_types.contains(&(log, type_id)) {
            return None;
        }
        let cpu = i32::from_be_bytes(values.try_into().ok()?);
        let recording = self.tracks.get(self.log(log)?.own.0)?.recording;
        self.cpus.get(&(recording, cpu)).copied()
    }

    /// Returns the kind of data that is missing from an event on, where its values give that.
    pub(crate) fn gap(&self, event: &Event<'_>) -> Option<Missing> {
        let may_say = matches!(event.body, Body::Generic | Body::TaskSwitch { .. });
        if !may_say || !self.gap_types.contains(&(event.log_file, event.custom_type)) {
            return None;
        }
        let (length, name) = event.custom.split_first_chunk()?;
        let is_whole = usize::try_from(u32::from_be_bytes(*length)) == Ok(name.len());
        Missing::named(std::str::from_utf8(name).ok()?).filter(|_| is_whole)
    }

    /// Returns true if a state machine has a track.
    pub(crate) fn has_machine(&self, log: LogFileId, id: ArtifactId) -> bool {
        self.machines.contains(log, id)
    }

    pub(crate) fn type_lanes(&self, log: LogFileId, id: TypeId) -> Option<&TypeLanes> {
        self.types.get(&(log, id))
    }

    fn log_file(&mut self, this_log_file: &LogFile, reader: &Reader) {
        if self.logs.contains_key(&this_log_file.id) {
            return;
        }
        let own = self.add(
            reader,
            this_log_file.id,
            this_log_file.name.clone(),
            TrackKind::Calls,
            LOG_FILE,
        );
        let cpu = cpu_of(this_log_file, reader);
        let recording = reader.recording_of(this_log_file.id).unwrap_or_default();
        self.cpus.extend(cpu.map(|cpu| ((recording, cpu), own)));
        if let Some(track) = self.making.get_mut(own.0) {
            let attributes = track.attributes.map_mut();
            attributes.extend(cpu.map(|cpu| (Track::CPU_ID.into(), cpu.into())));
            attributes.insert(LOG_FILE_SIZE.into(), this_log_file.size.into());
            attributes.insert(IMPORTED_AT.into(), this_log_file.imported_at_ms.into());
            attributes.insert(IMPORTER_NAME.into(), this_log_file.importer.clone().into());
        }
        self.logs.insert(this_log_file.id, LogLanes { own, other_tasks: None });
    }

    fn add_other_tasks(&mut self, reader: &Reader) {
        for log_file in reader.log_files() {
            let Some(log) = self.log(log_file.id).filter(|log| log.other_tasks.is_none()) else {
                continue;
            };
            let track = self.add(reader, log_file.id, OTHER_TASKS.into(), TrackKind::Task, "TASK");
            self.set_parent(track, log.own);
            self.logs.insert(log_file.id, LogLanes { other_tasks: Some(track), ..log });
        }
    }

    fn undeclared(
        &mut self,
        (log, id): (LogFileId, ArtifactId),
        name: String,
        kind: TrackKind,
        reader: &Reader,
    ) {
        let Some(own) = self.log(log).map(|log| log.own) else { return };
        let content = if kind == TrackKind::Task { "TASK" } else { "STATE MACHINE" };
        let track = self.add(reader, log, name, kind, content);
        self.set_parent(track, own);
        self.add_attribute(track, "artifact_id", id.0);
        if kind == TrackKind::Task && id.0 < 0 {
            self.add_attribute(track, Track::IS_INTERRUPT, true);
        }
        self.lookup(kind).insert(log, id, track);
    }

    /// Returns the name of a state, where it differs from its own name.
    pub(crate) fn state_name(&self, log: LogFileId, state: ArtifactId) -> Option<&str> {
        self.states.get(&(log, state)).map(String::as_str)
    }

    fn artifact(&mut self, declared_artifact: &DeclaredArtifact<'_>, reader: &Reader) {
        let Some(log) = self.log(declared_artifact.log_file) else {
            self.untold_artifacts += 1;
            return;
        };
        let custom_type =
            reader.custom_type(declared_artifact.log_file, declared_artifact.custom_type);
        let is_of =
            |own| custom_type.is_some_and(|this_custom_type| this_custom_type.is_own_type(own));
        let kind = match declared_artifact.kind {
            ArtifactKind::Task { .. } => TrackKind::Task,
            ArtifactKind::StateMachine => TrackKind::States,
            ArtifactKind::Generic if is_of(CALLS_TYPE) => TrackKind::Calls,
            // The clock of the timeline says it.
            ArtifactKind::Generic if is_of(CLOCK_TYPE) => return,
            ArtifactKind::Generic if is_of(PROCESSOR_TYPE) => {
                if declared_artifact.custom == [1] {
                    self.add_attribute(log.own, Track::HAS_INTERRUPTS, true);
                }
                return;
            }
            ArtifactKind::Generic | ArtifactKind::State { .. } => {
                return self.carry(declared_artifact, custom_type, log.own);
            }
        };
        if self.lookup(kind).contains(declared_artifact.log_file, declared_artifact.id) {
            // Of several with one id, the first counts.
            self.untold_artifacts += 1;
            return;
        }
        let content = declared_artifact.kind.class().name();
        let track = self.add(
            reader,
            declared_artifact.log_file,
            declared_artifact.name.to_string(),
            kind,
            content,
        );
        self.set_parent(track, log.own);
        if let ArtifactKind::Task { task_class, priority } = declared_artifact.kind {
            let names = if priority == UNKNOWN_PRIORITY { &TASK_NUMBER } else { &TASK_NUMBERS };
            self.attribute(track, Attributes::numbers(names, [declared_artifact.id.0, priority]));
            if task_class != Ok(TaskClass::Task) {
                self.add_attribute(
                    track,
                    carried::TASK_CLASS,
                    carried::task_class_json(task_class),
                );
            }
        } else {
            self.add_attribute(track, "artifact_id", declared_artifact.id.0);
        }
        let is_said = is_of(TASK_TYPE) && self.add_task_attributes(track, declared_artifact.custom);
        if !is_said {
            let values = self.values(declared_artifact, custom_type);
            if let (Some(track), Some(values)) = (self.making.get_mut(track.0), values) {
                values.put(track.attributes.map_mut());
            }
        }
        if carried::is_interrupt(declared_artifact.id, declared_artifact.kind)
            && !self.is_idle(track)
        {
            self.add_attribute(track, Track::IS_INTERRUPT, true);
        }
        if (kind, declared_artifact.id.0) == (TrackKind::Task, UNKNOWN_TASK) {
            self.unknown_tasks.insert(declared_artifact.log_file);
        }
        self.lookup(kind).insert(declared_artifact.log_file, declared_artifact.id, track);
    }

    /// Says of a task what its values do.
    fn add_task_attributes(&mut self, track: TrackId, values: &[u8]) -> bool {
        let [is_idle, tells_completion] = *values else { return false };
        for (value, name) in
            [(is_idle, Track::IS_IDLE), (tells_completion, Track::TELLS_COMPLETION)]
        {
            if value != 0 {
                self.add_attribute(track, name, true);
            }
        }
        true
    }

    /// Has a log file carry a state or a GENERIC artifact, of which there are no tracks.
    fn carry(
        &mut self,
        declared_artifact: &DeclaredArtifact<'_>,
        custom_type: Option<&CustomType>,
        own: TrackId,
    ) {
        if self.carried >= carried::ARTIFACTS_MAX {
            self.untold_artifacts += 1;
            return;
        }
        self.carried += 1;
        let (id, name, kind) =
            (declared_artifact.id, declared_artifact.name.to_string(), declared_artifact.kind);
        let values = self.values(declared_artifact, custom_type);
        let said = CarriedArtifact { id, name, kind, values }.to_json();
        let Some(track) = self.making.get_mut(own.0) else { return };
        let list = track.attributes.map_mut().entry(carried::ARTIFACTS);
        if let Json::Array(list) = list.or_insert_with(|| Json::Array(Vec::new())) {
            list.push(said);
        }
    }

    /// The values of an artifact, where it has any.
    fn values(
        &mut self,
        declared_artifact: &DeclaredArtifact<'_>,
        custom_type: Option<&CustomType>,
    ) -> Option<Values> {
        let has_type = |this_custom_type: &CustomType| {
            !(this_custom_type.fields.is_empty() && this_custom_type.name.is_empty())
        };
        let is_plain = custom_type.is_none_or(|this_custom_type| {
            !has_type(this_custom_type) || this_custom_type.is_own_type(CALLS_TYPE)
        });
        // What is made up has no values that anybody recorded.
        let is_made =
            custom_type.is_some_and(|this_custom_type| this_custom_type.is_own_type(MADE_TYPE));
        if is_made || (is_plain && declared_artifact.custom.is_empty()) {
            return None;
        }
        let values = custom_type.and_then(|custom_type| {
            Values::from_artifact(declared_artifact, custom_type, &mut self.room)
        });
        self.untold_values += u64::from(values.is_none());
        values
    }

    fn add_attribute(&mut self, track: TrackId, name: &str, value: impl Into<Json>) {
        if let Some(track) = self.making.get_mut(track.0) {
            track.attributes.insert(name, value);
        }
    }

    fn is_idle(&self, track: TrackId) -> bool {
        self.making.get(track.0).is_some_and(Track::is_idle)
    }

    fn attribute(&mut self, track: TrackId, attributes: Attributes) {
        if let Some(track) = self.making.get_mut(track.0) {
            track.attributes = attributes;
        }
    }

    fn lookup(&mut self, kind: TrackKind) -> &mut ArtifactLanes {
        match kind {
            TrackKind::States => &mut self.machines,
            TrackKind::Calls => &mut self.threads,
            _ => &mut self.tasks,
        }
    }

    fn custom_type(&mut self, this_custom_type: &CustomType, reader: &Reader) {
        let key = (this_custom_type.log_file, this_custom_type.id);
        let Some(log) =
            self.log(this_custom_type.log_file).filter(|_| !this_custom_type.fields.is_empty())
        else {
            return;
        };
        if self.types.contains_key(&key) {
            return;
        }
        // Of types of ours there are no tracks: their values say more of what they are of. Values of
        // anything else are on the track of the log file.
        if this_custom_type.is_own_type(CALL_TYPE) {
            self.call_types.insert(key);
        } else if this_custom_type.is_own_type(RELEASE_TYPE) {
            self.release_types.insert(key);
        } else if this_custom_type.is_own_type(GAP_TYPE) {
            self.gap_types.insert(key);
        }
        if TRACKLESS.into_iter().any(|own| this_custom_type.is_own_type(own)) {
            return;
        }
        let values = self.add(
            reader,
            this_custom_type.log_file,
            this_custom_type.name.clone(),
            TrackKind::Messages,
            "json",
        );
        self.set_parent(values, log.own);
        if this_custom_type.fields.len() <= carried::FIELDS_MAX {
            self.add_attribute(
                values,
                carried::FIELDS,
                carried::fields_json(&this_custom_type.fields),
            );
        }
        let mut counters = Vec::new();
        let prefix = prefix(&this_custom_type.name);
        for (place, field) in
            this_custom_type.fields.iter().enumerate().filter(|(_, field)| is_number(field))
        {
            let name = format!("{prefix}.{}", field.name);
            let content = field.type_name();
            let track =
                self.add(reader, this_custom_type.log_file, name, TrackKind::Counter, content);
            self.set_parent(track, values);
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
        content: impl Into<Cow<'static, str>>,
    ) -> TrackId {
        self.making.push(Track {
            name,
            recording: reader.recording_of(log).unwrap_or_default(),
            parent: None,
            kind,
            clock: Some(ClockId(0)),
            content: content.into(),
            attributes: Attributes::new(),
        });
        TrackId(self.making.len() - 1)
    }

    fn set_parent(&mut self, track: TrackId, parent: TrackId) {
        if let Some(track) = self.making.get_mut(track.0) {
            track.parent = Some(parent);
        }
    }
}

/// A type's name as that of its counters begins.
fn prefix(name: &str) -> Cow<'_, str> {
    if name.len() <= PREFIX_BYTES_MAX {
        return name.into();
    }
    let end = name.floor_char_boundary(PREFIX_BYTES_MAX);
    format!("{}…", name.get(..end).unwrap_or_default()).into()
}

/// The processor that a log file is of: what its name ends in, and else its own number. One beside
/// those of processors is of none.
fn cpu_of(log_file: &LogFile, reader: &Reader) -> Option<i32> {
    let (_, cpu) = log_file.recording();
    let place = reader.recording_of(log_file.id).and_then(|place| reader.recordings().get(place));
    let is_beside = place.is_some_and(|(_, are_several)| *are_several);
    cpu.or_else(|| (!is_beside).then_some(log_file.id.0))
}

/// Returns the name of a task without an artifact.
pub(crate) fn undeclared_name(id: ArtifactId) -> String {
    match id.0 {
        number @ ..0 => format!("interrupt {}", number.unsigned_abs()),
        number => format!("task {number}"),
    }
}

/// Returns true if a field holds one number.
fn is_number(field: &CustomField) -> bool {
    let is_other = |this_field_type| {
        matches!(this_field_type, FieldType::String | FieldType::ArtifactId | FieldType::Boolean)
    };
    field.element_count == 0
        && field.field_type.is_ok_and(|this_field_type| !is_other(this_field_type))
}
