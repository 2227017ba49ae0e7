//! Plan for the tracks of a timeline: what they become.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use kymo_core::{Origin, Result};
use kymo_model::timeline::{Clock, ClockId, Missing, TimelineView, Track, TrackId, TrackKind};

use super::concurrent_tracks::concurrent_tracks;
use super::ids::{Ids, Scope};
use super::logs::{self, Logs};
use super::records::Shape;
use super::restored::RestoredTypes;
use super::survey::{Roles, Survey};
use crate::carried;
use crate::model::LOG_FILE;
use crate::spec::{
    CALL_TYPE, CALLS_TYPE, CLOCK_NAME, CLOCK_TYPE, FieldType, GAP_TYPE, OwnType, PROCESSOR_NAME,
    PROCESSOR_TYPE, RELEASE_TYPE, TASK_TYPE, TaskClass, UNKNOWN_PRIORITY, UNKNOWN_STATE,
    UNKNOWN_TASK,
};
use crate::types::{
    ArtifactId, ArtifactKind, CustomField, CustomType, Definitions, LogFileId, TypeId,
};

/// Plan for the tracks: what they become.
pub(super) struct Plan {
    pub definitions: Definitions,
    tracks: Vec<Track>,
    logs: Logs,
    roles: Vec<Roles>,
    artifacts: HashMap<TrackId, ArtifactId>,
    /// Tasks that only their stretches name.
    named: HashMap<(TrackId, String), ArtifactId>,
    /// The threads that functions run on.
    threads: HashMap<TrackId, ArtifactId>,
    states: HashMap<(TrackId, String), ArtifactId>,
    /// The place of each track's type among the types.
    types: HashMap<TrackId, usize>,
    /// The places of the types of events with fields.
    records: HashMap<(LogFileId, Shape), usize>,
    empty_types: HashMap<LogFileId, TypeId>,
    /// The types of ours, by their names.
    own_types: HashMap<(LogFileId, &'static str), TypeId>,
    /// Types of values of artifacts, by name and fields.
    pub(super) alike: HashMap<(LogFileId, String, Vec<CustomField>), TypeId>,
    pub(super) restored: RestoredTypes,
    /// Tasks, threads and states that have other ids than before.
    pub(super) renumbered: u64,
    /// Tasks that have log files of their own, since no processor is told of them.
    pub(super) apart: u64,
}

/// Task that an artifact is of: tracks of one recording, name and number are of one task, which ran
/// on several processors.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ArtifactTracks {
    /// Those that want a number get it before others get any.
    has_no_number: bool,
    first: TrackId,
}

impl Plan {
    /// Looks at every event once.
    pub(super) fn new(timeline: &Arc<dyn TimelineView>, origin: Option<&Origin>) -> Result<Self> {
        let mut tracks = timeline.tracks().to_vec();
        Track::restore_recordings(&mut tracks);
        let mut definitions = Definitions::default();
        let cpus = logs::cpus(&tracks);
        let apart = concurrent_tracks(timeline, &tracks, &cpus)?;
        let logs = Logs::new(&tracks, cpus, &apart, origin, &mut definitions);
        let mut restored = RestoredTypes::new(&tracks, &logs.of_tracks, &mut definitions);
        if timeline.has_fields() {
            restored.leave_out_fields(&tracks);
        }
        let survey = Survey::new(timeline, &tracks, &logs.of_tracks, &restored)?;
        let alike = restored.types().map(|custom_type| {
            (
                (custom_type.log_file, custom_type.name.clone(), custom_type.fields.clone()),
                custom_type.id,
            )
        });
        let alike = alike.collect();
        let mut plan = Self {
            definitions,
            tracks,
            logs,
            roles: survey.roles.clone(),
            artifacts: HashMap::new(),
            named: HashMap::new(),
            threads: HashMap::new(),
            states: HashMap::new(),
            types: HashMap::new(),
            records: HashMap::new(),
            empty_types: HashMap::new(),
            own_types: HashMap::new(),
            alike,
            restored,
            renumbered: 0,
            apart: apart.len() as u64,
        };
        let is_since_epoch = is_since_epoch(&timeline.clocks(), &plan.tracks);
        plan.define(survey, is_since_epoch)?;
        Ok(plan)
    }

    fn define(&mut self, survey: Survey, is_since_epoch: bool) -> Result<()> {
        let logs: Vec<_> = self.definitions.log_files.iter().map(|log_file| log_file.id).collect();
        for log in &logs {
            self.empty_types.insert(*log, self.definitions.empty_type(*log));
        }
        let mut ids = Ids::default();
        self.define_artifacts(&survey.peers, &mut ids)?;
        self.define_carried(&mut ids)?;
        self.define_threads(&mut ids)?;
        for log in survey.released {
            self.own_type(log, RELEASE_TYPE);
        }
        let is_lacking = |log: &LogFileId| {
            self.logs
                .recordings
                .get(log)
                .is_some_and(|this_value| survey.lacking.contains(this_value))
        };
        for log in logs.iter().copied().filter(is_lacking).collect::<Vec<_>>() {
            self.own_type(log, GAP_TYPE);
        }
        for (track, name) in survey.named {
            let Some(log) = self.log(track) else { continue };
            let id = ids.take(Scope::Tasks, &[log], None)?;
            self.define_task(log, id, &name, None);
            self.named.insert((track, name), id);
        }
        for (track, values) in survey.values {
            let (Some(log), Some(this_track)) = (self.log(track), self.tracks.get(track.0)) else {
                continue;
            };
            self.types.insert(track, self.definitions.types.len());
            let fields = vec![CustomField::scalar("value", values.field_type())];
            self.definitions.add_type(log, &this_track.name, fields);
        }
        for (log, shape, numbers) in survey.records {
            let place = self.definitions.types.len();
            self.definitions.add_type(log, &shape.name, shape.custom_fields(&numbers));
            self.records.insert((log, shape), place);
        }
        for (track, name) in survey.entered {
            let Some(log) = self.log(track) else { continue };
            if self.states.contains_key(&(track, name.clone())) {
                continue;
            }
            let (id, parent) = (ids.take(Scope::States, &[log], None)?, self.artifact(track));
            self.definitions.add_artifact(log, id, &name, ArtifactKind::State { parent });
            self.states.insert((track, name), id);
        }
        for log in logs.into_iter().filter(|_| is_since_epoch) {
            self.add_own_artifact(log, CLOCK_NAME, CLOCK_TYPE, &mut ids)?;
        }
        for log in self.interrupted() {
            self.add_own_artifact(log, PROCESSOR_NAME, PROCESSOR_TYPE, &mut ids)?;
        }
        self.definitions.put_parents_first();
        self.renumbered = ids.changed;
        Ok(())
    }

    /// Defines tasks and state machines, in every log file that they are in or that has a message
    /// from or to them.
    fn define_artifacts(
        &mut self,
        peers: &BTreeSet<(LogFileId, TrackId)>,
        ids: &mut Ids,
    ) -> Result<()> {
        let mut known: HashMap<(usize, bool, &str, Option<i64>), TrackId> = HashMap::new();
        let mut first_of: Vec<TrackId> = Vec::with_capacity(self.tracks.len());
        for (id, track) in self.tracks.iter().enumerate() {
            let is_machine = self.role(TrackId(id)).is_machine;
            let key = (track.recording, is_machine, track.name.as_str(), track.task_id());
            first_of.push(*known.entry(key).or_insert(TrackId(id)));
        }
        // A task that only others tell of, as the one they sent to, is one too.
        let is_artifact = |id: TrackId| self.role(id).is_task || self.role(id).is_machine;
        let told_of: HashSet<TrackId> = peers.iter().map(|(_, peer)| *peer).collect();
        let mut in_logs: BTreeMap<ArtifactTracks, BTreeSet<LogFileId>> = BTreeMap::new();
        let mut put = |track: TrackId, log: LogFileId| {
            let (Some(this_track), Some(&first)) =
                (self.tracks.get(track.0), first_of.get(track.0))
            else {
                return;
            };
            let whole = ArtifactTracks { has_no_number: this_track.task_id().is_none(), first };
            in_logs.entry(whole).or_default().insert(log);
        };
        for (id, log) in self.logs.of_tracks.iter().enumerate() {
            if is_artifact(TrackId(id)) || told_of.contains(&TrackId(id)) {
                put(TrackId(id), *log);
            }
        }
        for (log, peer) in peers.iter().filter(|(log, peer)| self.is_same_recording(*log, *peer)) {
            put(*peer, *log);
        }
        let mut of_firsts = HashMap::new();
        for (ArtifactTracks { first, .. }, logs) in in_logs {
            let Some(this_track) = self.tracks.get(first.0).cloned() else { continue };
            let logs: Vec<_> = logs.into_iter().collect();
            let scope = if self.role(first).is_machine { Scope::States } else { Scope::Tasks };
            // To Linux, what runs when there is nothing to do is process 0 of each processor.
            let id = if this_track.task_id().is_none() && this_track.has_flag(Track::IS_IDLE) {
                ids.choose(scope, &logs, Some(0))?
            } else {
                ids.take(scope, &logs, this_track.task_id())?
            };
            of_firsts.insert(first, id);
            for log in logs {
                if self.role(first).is_machine {
                    self.definitions.add_artifact(
                        log,
                        id,
                        &this_track.name,
                        ArtifactKind::StateMachine,
                    );
                    if let Some(values) = carried::Values::read(&this_track.attributes.to_map()) {
                        self.give_values(log, &values);
                    }
                } else {
                    self.define_task(log, id, &this_track.name, Some(&this_track));
                }
            }
        }
        let id = |first: &TrackId| of_firsts.get(first).copied();
        let of_tracks = first_of.iter().enumerate().filter_map(|(n, f)| Some((TrackId(n), id(f)?)));
        self.artifacts = of_tracks.collect();
        Ok(())
    }

    fn define_task(&mut self, log: LogFileId, id: ArtifactId, name: &str, track: Option<&Track>) {
        let priority = track.and_then(priority).unwrap_or(UNKNOWN_PRIORITY);
        let task_class = track.and_then(|track| carried::task_class(&track.attributes.to_map()));
        // What has a negative number and is no interrupt has to say so.
        let is_none = id.0 < 0
            && !track.is_some_and(|track| track.has_flag(Track::IS_INTERRUPT) || track.is_idle());
        let plain = if is_none { TaskClass::Thread } else { TaskClass::Task };
        let task_class = task_class.unwrap_or(Ok(plain));
        let kind = ArtifactKind::Task { task_class, priority };
        self.definitions.add_artifact(log, id, name, kind);
        let says = |name: &str| track.is_some_and(|track| track.has_flag(name));
        let more = [says(Track::IS_IDLE), says(Track::TELLS_COMPLETION)];
        if let Some(values) =
            track.and_then(|track| carried::Values::read(&track.attributes.to_map()))
        {
            self.give_values(log, &values);
        } else if more.contains(&true) {
            let type_id = self.own_type(log, TASK_TYPE);
            self.definitions.give_values(type_id, more.map(u8::from).to_vec());
        }
    }

    /// Functions run on threads; those of a processor itself are of its log file.
    fn define_threads(&mut self, ids: &mut Ids) -> Result<()> {
        for number in 0..self.tracks.len() {
            let track = TrackId(number);
            let (Some(log), Some(this_track)) = (self.log(track), self.tracks.get(number)) else {
                continue;
            };
            if !self.role(track).has_calls || self.logs.own.contains(&track) {
                continue;
            }
            let (name, id) =
                (this_track.name.clone(), ids.take(Scope::Others, &[log], this_track.task_id())?);
            self.own_type(log, CALL_TYPE);
            let calls = self.own_type(log, CALLS_TYPE);
            self.definitions.add_artifact(log, id, &name, ArtifactKind::Generic);
            self.definitions.give_values(calls, Vec::new());
            self.threads.insert(track, id);
        }
        Ok(())
    }

    /// Has an artifact of ours say that something is so of a log file.
    fn add_own_artifact(
        &mut self,
        log: LogFileId,
        name: &str,
        what: OwnType,
        ids: &mut Ids,
    ) -> Result<()> {
        let id = ids.take(Scope::Others, &[log], None)?;
        self.definitions.add_artifact(log, id, name, ArtifactKind::Generic);
        let type_id = self.own_type(log, what);
        self.definitions.give_values(type_id, vec![1]);
        Ok(())
    }

    /// The log files whose own functions are interrupts.
    fn interrupted(&self) -> BTreeSet<LogFileId> {
        let own = self.logs.own.iter().filter_map(|id| Some((*id, self.tracks.get(id.0)?)));
        let own = own.filter(|(_, track)| track.has_flag(Track::HAS_INTERRUPTS));
        own.filter_map(|(id, _)| self.log(id)).collect()
    }

    /// A type of ours in a log file; adds it where there is none.
    fn own_type(&mut self, log: LogFileId, own: OwnType) -> TypeId {
        let definitions = &mut self.definitions;
        let known = self.own_types.entry((log, own.name));
        *known.or_insert_with(|| definitions.add_own_type(log, own))
    }

    /// Knows a state of a track by its name; of several, the first.
    pub(super) fn know_state(&mut self, track: TrackId, name: &str, id: ArtifactId) {
        self.states.entry((track, name.to_owned())).or_insert(id);
    }

    pub(super) fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// Returns true if a track is of a log file as a whole.
    pub(super) fn is_log_file(&self, track: TrackId) -> bool {
        self.tracks.get(track.0).is_some_and(|track| track.content == LOG_FILE)
    }

    pub(super) fn log(&self, track: TrackId) -> Option<LogFileId> {
        self.logs.of_tracks.get(track.0).copied()
    }

    fn role(&self, track: TrackId) -> Roles {
        self.roles.get(track.0).copied().unwrap_or_default()
    }

    /// Returns true if a track is of a state machine.
    pub(super) fn is_machine(&self, track: TrackId) -> bool {
        self.role(track).is_machine
    }

    /// Returns true if stretches of a track are functions.
    pub(super) fn is_calls(&self, track: TrackId) -> bool {
        self.tracks.get(track.0).is_some_and(|track| track.kind == TrackKind::Calls)
    }

    /// Tracks that are under another that is neither a processor nor all of the recording, as far as
    /// they become something of their own.
    pub(super) fn nested(&self) -> usize {
        let is_nested = |(id, track): &(usize, &Track)| {
            let above = track.parent.and_then(|parent| self.tracks.get(parent.0));
            let id = TrackId(*id);
            let is_own = self.types.contains_key(&id) || self.role(id).is_any();
            let is_own = is_own || self.restored.contains(id);
            is_own && above.is_some_and(|above| above.parent.is_some())
        };
        self.tracks.iter().enumerate().filter(is_nested).count()
    }

    fn is_same_recording(&self, log: LogFileId, track: TrackId) -> bool {
        let recording = self.tracks.get(track.0).map(|track| &track.recording);
        self.logs.recordings.get(&log) == recording
    }

    /// The artifact of a message's other end; "unknown" where it is of another recording.
    pub(super) fn peer(&self, track_id: TrackId, peer: TrackId) -> ArtifactId {
        let is_near = self.log(track_id).is_some_and(|log| self.is_same_recording(log, peer));
        if is_near { self.artifact(peer) } else { ArtifactId(UNKNOWN_TASK) }
    }

    /// The artifact of a track; "unknown" for one that is no task and no state machine.
    pub(super) fn artifact(&self, track: TrackId) -> ArtifactId {
        self.artifacts.get(&track).copied().unwrap_or(ArtifactId(UNKNOWN_TASK))
    }

    /// The task that stretches of a track name.
    pub(super) fn named(&self, track: TrackId, name: &str) -> ArtifactId {
        let found = self.named.get(&(track, name.to_owned())).copied();
        found.unwrap_or(ArtifactId(UNKNOWN_TASK))
    }

    /// The type and the value that say which thread a function runs on.
    pub(super) fn thread(&self, track: TrackId) -> Option<(TypeId, [u8; 4])> {
        let type_id = *self.own_types.get(&(self.log(track)?, CALL_TYPE.name))?;
        Some((type_id, self.threads.get(&track)?.0.to_be_bytes()))
    }

    /// The type and the value that say on which processor a task was released.
    pub(super) fn released_by(&self, log: LogFileId, by: TrackId) -> Option<(TypeId, [u8; 4])> {
        let cpu = self.tracks.get(by.0)?.attributes.number(Track::CPU_ID)?;
        let type_id = *self.own_types.get(&(log, RELEASE_TYPE.name))?;
        Some((type_id, i32::try_from(cpu).ok()?.to_be_bytes()))
    }

    /// The type and the value that say what is missing.
    pub(super) fn gap(&self, log: LogFileId, missing: Missing) -> Option<(TypeId, Vec<u8>)> {
        let type_id = *self.own_types.get(&(log, GAP_TYPE.name))?;
        let name = missing.name().as_bytes();
        let length = u32::try_from(name.len()).ok()?;
        Some((type_id, [&length.to_be_bytes()[..], name].concat()))
    }

    /// Returns true if two log files are of one recording.
    pub(super) fn are_together(&self, one: LogFileId, other: LogFileId) -> bool {
        let item = |log: LogFileId| self.logs.recordings.get(&log);
        item(one).is_some() && item(one) == item(other)
    }

    pub(super) fn state(&self, track: TrackId, name: &str) -> ArtifactId {
        let found = self.states.get(&(track, name.to_owned())).copied();
        found.unwrap_or(ArtifactId(UNKNOWN_STATE))
    }

    pub(super) fn custom_type(&self, track: TrackId) -> Option<&CustomType> {
        self.definitions.types.get(*self.types.get(&track)?)
    }

    /// The type of a kind of event with fields.
    pub(super) fn record_type(&self, log: LogFileId, shape: &Shape) -> Option<&CustomType> {
        self.definitions.types.get(*self.records.get(&(log, shape.clone()))?)
    }

    pub(super) fn empty_type(&self, log: LogFileId) -> TypeId {
        self.empty_types.get(&log).copied().unwrap_or(TypeId(0))
    }
}

/// The type of the values of a track's own type.
pub(super) fn value_type(custom_type: &CustomType) -> FieldType {
    custom_type.fields.first().and_then(|field| field.field_type.ok()).unwrap_or(FieldType::String)
}

/// Returns true if the clocks of all tracks count from the Epoch.
fn is_since_epoch(clocks: &[Clock], tracks: &[Track]) -> bool {
    let used: BTreeSet<_> = tracks.iter().filter_map(|track| track.clock).collect();
    let says = |clock: &ClockId| clocks.get(clock.0).is_some_and(|clock| clock.since_epoch);
    !used.is_empty() && used.iter().all(says)
}

/// The priority that a task has to begin with.
fn priority(track: &Track) -> Option<i32> {
    let priority = track.attributes.number(Track::TASK_PRIORITY)?;
    i32::try_from(priority).ok()
}
