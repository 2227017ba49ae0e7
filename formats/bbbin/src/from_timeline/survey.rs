//! Survey of the tracks of a timeline: types and artifacts are written before and after the events,
//! so that all events are gone through once before.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use kymo_core::{Result, Value};
use kymo_model::timeline::{
    Activity, Content, Event, Fields, NumberSurvey, TimelineView, Track, TrackId, TrackKind, Window,
};

use super::records::{SHAPES_MAX, Shape, number_type};
use super::restored::RestoredTypes;
use crate::model::{GENERIC, LOG_FILE};
use crate::spec::FieldType;
use crate::types::LogFileId;

/// Roles of a track in the output; it may have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Roles {
    /// It runs, is released, or has messages.
    pub is_task: bool,
    /// It is in a state.
    pub is_machine: bool,
    /// Functions run on it.
    pub has_calls: bool,
}

impl Roles {
    /// Returns true if it becomes anything.
    pub(super) fn is_any(self) -> bool {
        self.is_task || self.is_machine || self.has_calls
    }
}

/// Survey of the events of a timeline.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub roles: Vec<Roles>,
    /// Kind of the values of each track.
    pub values: BTreeMap<TrackId, TrackValues>,
    /// The kinds of events with fields of each log file, in the order of their first, and what the
    /// numbers of their fields are.
    pub records: Vec<(LogFileId, Shape, Vec<NumberSurvey>)>,
    /// States, in the order in which they are entered.
    pub entered: Vec<(TrackId, String)>,
    /// Tasks that have no track of their own: only their stretches name them.
    pub named: Vec<(TrackId, String)>,
    /// The other ends of messages, with the log files that have the messages.
    pub peers: BTreeSet<(LogFileId, TrackId)>,
    /// Log files that have releases of which it is known where they come from.
    pub released: BTreeSet<LogFileId>,
    /// Recordings in which something is missing.
    pub lacking: BTreeSet<usize>,
}

/// Kind of the values of a track.
#[derive(Debug, Clone, Copy)]
pub(super) enum TrackValues {
    Numbers(NumberSurvey),
    /// The first tells what the others are.
    Other(FieldType),
}

impl TrackValues {
    fn from_value(value: &Value) -> Self {
        match value {
            Value::Bool(_) => Self::Other(FieldType::Boolean),
            Value::Text(_) => Self::Other(FieldType::String),
            _ => Self::Numbers(NumberSurvey::default()),
        }
    }

    /// The type that holds them.
    pub(super) fn field_type(&self) -> FieldType {
        match self {
            Self::Numbers(numbers) => number_type(numbers.kind()),
            Self::Other(this_field_type) => *this_field_type,
        }
    }
}

impl Survey {
    /// Looks at every event once.
    pub(super) fn new(
        timeline: &Arc<dyn TimelineView>,
        tracks: &[Track],
        logs: &[LogFileId],
        restored: &RestoredTypes,
    ) -> Result<Self> {
        let roles = tracks.iter().map(first_roles).collect();
        let mut survey = Self { roles, ..Self::default() };
        let mut known: HashSet<(TrackId, String)> = HashSet::new();
        let mut kinds: HashMap<(LogFileId, Shape), usize> = HashMap::new();
        let mut events = Arc::clone(timeline).events_with_fields(&Window::default())?;
        while let Some(event) = events.next()? {
            let (Some(track), Some(log)) = (tracks.get(event.track.0), logs.get(event.track.0))
            else {
                continue;
            };
            match &event.content {
                Content::Activity(activity) => {
                    survey.activity(event.track, track, *log, activity, &mut known);
                    continue;
                }
                Content::Text(text) if text == GENERIC && track.content == LOG_FILE => continue,
                _ if restored.is_repeated(event.track) || restored.values(&event).is_some() => {
                    continue;
                }
                Content::Fields(fields) => {
                    let kind = (*log, Shape::from_event(fields));
                    let place = kinds.get(&kind).copied();
                    if let Some(place) = place.or_else(|| survey.add_kind(kind, &mut kinds)) {
                        survey.add_numbers(place, fields);
                        continue;
                    }
                }
                _ => {}
            }
            let value = value_of(&event);
            let values =
                survey.values.entry(event.track).or_insert_with(|| TrackValues::from_value(&value));
            if let TrackValues::Numbers(numbers) = values {
                numbers.add(&value);
            }
        }
        Ok(survey)
    }

    /// Adds a kind of events with fields, unless there are too many. Tells its place.
    fn add_kind(
        &mut self,
        kind: (LogFileId, Shape),
        kinds: &mut HashMap<(LogFileId, Shape), usize>,
    ) -> Option<usize> {
        let place = self.records.len();
        if place >= SHAPES_MAX {
            return None;
        }
        let (log, shape) = kind.clone();
        let numbers = vec![NumberSurvey::default(); shape.len()];
        self.records.push((log, shape, numbers));
        kinds.insert(kind, place);
        Some(place)
    }

    /// Notes what the numbers of an event of a kind are.
    fn add_numbers(&mut self, place: usize, event: &Fields<'_>) {
        let Some((_, _, numbers)) = self.records.get_mut(place) else { return };
        for (field, numbers) in event.fields.iter().zip(numbers) {
            numbers.add(&field.value);
        }
    }

    fn activity(
        &mut self,
        track: TrackId,
        this_track: &Track,
        log: LogFileId,
        activity: &Activity<'_>,
        known: &mut HashSet<(TrackId, String)>,
    ) {
        let Some(roles) = self.roles.get_mut(track.0) else { return };
        let mut is_new = |name: &str| {
            let key = (track, name.to_owned());
            known.insert(key.clone()).then_some(key)
        };
        match activity {
            Activity::Enter { state, .. } => {
                roles.is_machine = true;
                self.entered.extend(is_new(state));
            }
            Activity::Begin { .. } | Activity::End | Activity::EndOf { .. }
                if this_track.kind == TrackKind::Calls =>
            {
                roles.has_calls = true;
            }
            Activity::Begin { name: Some(name), .. } => self.named.extend(is_new(name)),
            // What ends is what began, and that may have a name of its own.
            Activity::End | Activity::EndOf { .. } => {}
            Activity::Gap(_) => _ = self.lacking.insert(this_track.recording),
            Activity::Release { by, .. } => {
                roles.is_task = true;
                self.released.extend(by.map(|_| log));
            }
            Activity::Begin { .. } | Activity::Complete { .. } => roles.is_task = true,
            Activity::Send(message) | Activity::Receive(message) => {
                roles.is_task |=
                    this_track.kind != TrackKind::States && this_track.content != LOG_FILE;
                self.peers.extend(message.peer.map(|peer| (log, peer)));
            }
        }
    }
}

/// Returns the roles of a track without a look at its events.
fn first_roles(track: &Track) -> Roles {
    Roles {
        // Tasks that never did anything are worth knowing of.
        is_task: track.kind == TrackKind::Task && track.task_id().is_some(),
        is_machine: track.kind == TrackKind::States,
        has_calls: false,
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
        Content::Fields(fields) => Value::Text(fields.to_string()),
        Content::Sample(context) => Value::UInt(*context),
        // Each byte is a character of Latin-1.
        Content::Payload => Value::Text(crate::Text(event.payload).to_string()),
        Content::Activity(activity) => Value::Text(activity.to_string()),
    }
}
