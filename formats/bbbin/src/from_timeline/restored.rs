//! Types, states and other artifacts that attributes give of a timeline that was BBBin before.

use std::collections::{HashMap, HashSet};

use kymo_core::Result;
use kymo_model::timeline::{Content, Event, Fields, Track, TrackId, TrackKind};

use super::ids::{Ids, Scope};
use super::plan::Plan;
use crate::carried::{self, CarriedArtifact};
use crate::encode;
use crate::model::LOG_FILE;
use crate::types::{
    ArtifactId, ArtifactKind, CustomField, CustomType, Definitions, LogFileId, TypeId,
};

/// Tracks whose events are values of a type that is known.
#[derive(Debug, Default)]
pub(super) struct RestoredTypes {
    types: HashMap<TrackId, CustomType>,
    /// Counters that only repeat a number of values that others have, and clocks, whose times they
    /// have.
    repeated: HashSet<TrackId>,
}

impl RestoredTypes {
    /// Defines the types.
    pub(super) fn new(tracks: &[Track], logs: &[LogFileId], definitions: &mut Definitions) -> Self {
        let mut restored = Self::default();
        for (id, (track, log)) in tracks.iter().zip(logs).enumerate() {
            let is_typed = track.kind == TrackKind::Messages && track.content == "json";
            let fields = carried::fields(&track.attributes.to_map()).filter(|_| is_typed);
            let above = track.parent.filter(|parent| restored.types.contains_key(parent));
            if let Some(fields) = fields {
                definitions.add_type(*log, &track.name, fields);
                let custom_type = definitions.types.last().cloned();
                restored.types.extend(custom_type.map(|custom_type| (TrackId(id), custom_type)));
            } else if (track.kind == TrackKind::Counter && above.is_some()) || track.is_clock() {
                restored.repeated.insert(TrackId(id));
            }
        }
        restored
    }

    /// Leaves out counters of what events say by their fields.
    pub(super) fn leave_out_fields(&mut self, tracks: &[Track]) {
        let counters =
            tracks.iter().enumerate().filter(|(_, track)| track.has_flag(Track::IS_FIELD));
        self.repeated.extend(counters.map(|(id, _)| TrackId(id)));
    }

    /// Returns true if events of a track only repeat what others say.
    pub(super) fn is_repeated(&self, track: TrackId) -> bool {
        self.repeated.contains(&track)
    }

    /// Returns true if a track became a type.
    pub(super) fn contains(&self, track: TrackId) -> bool {
        self.types.contains_key(&track)
    }

    /// The types, with their fields.
    pub(super) fn types(&self) -> impl Iterator<Item = &CustomType> {
        self.types.values()
    }

    /// The type and the values of an event, where they are of the type of its track.
    pub(super) fn values(&self, event: &Event<'_>) -> Option<(TypeId, Vec<u8>)> {
        let custom_type = self.types.get(&event.track)?;
        let values = match &event.content {
            Content::Fields(fields) => values_of(custom_type, fields)?,
            Content::Text(text) if event.payload.is_empty() => {
                carried::values_of(&custom_type.fields, text)?
            }
            // As it was recorded: numbers to their last digit.
            _ => carried::values_of(&custom_type.fields, std::str::from_utf8(event.payload).ok()?)?,
        };
        Some((custom_type.id, encode(custom_type, &values).ok()?))
    }
}

fn values_of(custom_type: &CustomType, fields: &Fields<'_>) -> Option<Vec<kymo_core::Value>> {
    let names = custom_type.fields.iter().map(|field| field.name.as_str());
    let is_it = names.eq(fields.fields.iter().map(|field| &*field.name));
    is_it.then(|| fields.fields.iter().map(|field| field.value.clone()).collect())
}

/// The tracks of state machines, by their log files and the ids they had.
type Machines = HashMap<(LogFileId, ArtifactId), TrackId>;

impl Plan {
    /// Defines states and GENERIC artifacts that log files carry, with the ids they had where those
    /// are free.
    pub(super) fn define_carried(&mut self, ids: &mut Ids) -> Result<()> {
        let machine_tracks = self.machine_tracks();
        for number in 0..self.tracks().len() {
            let (Some(track), Some(log)) = (self.tracks().get(number), self.log(TrackId(number)))
            else {
                continue;
            };
            let carried = CarriedArtifact::all(&track.attributes.to_map());
            if track.content == LOG_FILE && !carried.is_empty() {
                self.define_artifact(log, &carried, &machine_tracks, ids)?;
            }
        }
        Ok(())
    }

    fn define_artifact(
        &mut self,
        log: LogFileId,
        carried: &[CarriedArtifact],
        machine_tracks: &Machines,
        ids: &mut Ids,
    ) -> Result<()> {
        let parent = |carried_artifact: &CarriedArtifact| match carried_artifact.kind {
            ArtifactKind::State { parent } => Some(parent),
            _ => None,
        };
        let mut new_ids = HashMap::new();
        for carried_artifact in carried {
            let is_state = parent(carried_artifact).is_some();
            let scope = if is_state { Scope::States } else { Scope::Others };
            let id = ids.take(scope, &[log], Some(carried_artifact.id.0.into()))?;
            new_ids.entry((carried_artifact.id, is_state)).or_insert(id);
        }
        let machine_track = |id: &ArtifactId| machine_tracks.get(&(log, *id)).copied();
        let states = carried.iter().filter_map(|carried_artifact| {
            Some((carried_artifact.id, parent(carried_artifact)?, carried_artifact.name.as_str()))
        });
        let states: Vec<_> = states.collect();
        let machines = carried::machines(states.iter().map(|(id, parent, _)| (*id, *parent)));
        let told = carried::distinct_state_names(&states);
        for carried_artifact in carried {
            let kind = parent(carried_artifact).map_or(ArtifactKind::Generic, |above| {
                let state = new_ids.get(&(above, true)).copied();
                let machine = machine_track(&above).map(|track| self.artifact(track));
                ArtifactKind::State { parent: state.or(machine).unwrap_or(above) }
            });
            let Some(id) =
                new_ids.get(&(carried_artifact.id, parent(carried_artifact).is_some())).copied()
            else {
                continue;
            };
            self.definitions.add_artifact(log, id, &carried_artifact.name, kind);
            if let Some(values) = &carried_artifact.values {
                self.give_values(log, values);
            }
            let machine = machines.get(&carried_artifact.id).and_then(machine_track);
            if let (Some(track), true) = (machine, parent(carried_artifact).is_some()) {
                self.know_state(
                    track,
                    told.get(&carried_artifact.id).unwrap_or(&carried_artifact.name),
                    id,
                );
            }
        }
        Ok(())
    }

    /// The tracks of state machines.
    fn machine_tracks(&self) -> Machines {
        let item = |(number, track): (usize, &Track)| {
            let (id, track) = (i32::try_from(track.task_id()?).ok()?, TrackId(number));
            let key = (self.log(track)?, ArtifactId(id));
            self.is_machine(track).then_some((key, track))
        };
        self.tracks().iter().enumerate().filter_map(item).collect()
    }

    /// Gives the artifact that was defined last values.
    pub(super) fn give_values(&mut self, log: LogFileId, values: &carried::Values) {
        let type_id = self.type_like(log, &values.type_name, &values.fields);
        self.definitions.give_values(type_id, values.custom.clone());
    }

    /// The type of a log file that has this name and these fields; adds it where there is none.
    fn type_like(&mut self, log: LogFileId, name: &str, fields: &[CustomField]) -> TypeId {
        let key = (log, name.to_owned(), fields.to_vec());
        if let Some(known) = self.alike.get(&key) {
            return *known;
        }
        let id = self.definitions.add_type(log, name, fields.to_vec());
        self.alike.insert(key, id);
        id
    }
}
