//! Events with all that a recording knows of them, for formats that keep it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::{
    Content, Event, Events, Fields, TimeNs, TimelineView, Track, TrackId, TrackKind, Window,
};
use kymo_core::{Invariant as _, Result};

/// Events one after another, and beside each its fields, where the recording knows them.
pub trait FieldedEvents: Send {
    /// The next event, or nothing at the end.
    fn next_event(&mut self) -> Result<Option<WithFields<'_>>>;
}

/// An event, and its fields where they are known.
pub type WithFields<'a> = (Event<'a>, Option<Fields<'a>>);

/// Events that nobody wants the fields of.
impl FieldedEvents for Box<dyn Events> {
    fn next_event(&mut self) -> Result<Option<WithFields<'_>>> {
        Ok(self.next()?.map(|event| (event, None)))
    }
}

/// The events of a timeline, and their fields where the recording knows them. What repeats a field,
/// such as a counter, is there as well.
pub struct Fielded {
    events: Box<dyn Events>,
    told: FieldLookup,
    /// Tracks whose texts say the fields themselves.
    is_json: Vec<bool>,
}

/// The same events by their fields.
enum FieldLookup {
    /// All but those that repeat a field, in the same order, and the next of them.
    Walk { events: Option<Box<dyn Events>>, next: Option<Fielding> },
    /// The last ones: since some repeat a field, those are others.
    Last(HashMap<Place, VecDeque<Option<Fields<'static>>>>),
}

/// Key of an event.
type Place = (TrackId, Option<TimeNs>, u64);

/// An event that is told by its fields.
type Fielding = (Place, Option<Fields<'static>>);

impl Fielded {
    /// All events of a timeline.
    pub fn new(timeline: &Arc<dyn TimelineView>) -> Result<Self> {
        let all = Window::default();
        let told = timeline.has_fields().then(|| Arc::clone(timeline).events_with_fields(&all));
        let events = Arc::clone(timeline).events(&all)?;
        Self::pair(events, told.transpose()?, &timeline.tracks(), &all)
    }

    /// The events of a window on some tracks, and the same by their fields, if they have any.
    pub(super) fn pair(
        events: Box<dyn Events>,
        told: Option<Box<dyn Events>>,
        tracks: &[Track],
        window: &Window,
    ) -> Result<Self> {
        let told = match (told, window.last) {
            (Some(told), Some(_)) => FieldLookup::last(told)?,
            (events, _) => FieldLookup::Walk { events, next: None },
        };
        let is_json = tracks.iter().map(|track| track.content == JSON).collect();
        Ok(Self { events, told, is_json })
    }

    /// The next event, or nothing at the end.
    pub fn next_event(&mut self) -> Result<Option<WithFields<'_>>> {
        let Some(event) = self.events.next()? else { return Ok(None) };
        let fields = self.told.fields_for(&event)?;
        let is_json = self.is_json.get(event.track.0).copied();
        let is_json = is_json.or_broken("an event is of a track that is not in the list")?;
        Ok(Some((event, fields.filter(|_| !is_json))))
    }
}

impl FieldedEvents for Fielded {
    fn next_event(&mut self) -> Result<Option<WithFields<'_>>> {
        self.next_event()
    }
}

impl FieldLookup {
    fn last(mut events: Box<dyn Events>) -> Result<Self> {
        let mut found: HashMap<_, VecDeque<_>> = HashMap::new();
        while let Some(event) = events.next()? {
            let (place, fields) = fielding(event);
            found.entry(place).or_default().push_back(fields);
        }
        Ok(Self::Last(found))
    }

    fn fields_for(&mut self, event: &Event<'_>) -> Result<Option<Fields<'static>>> {
        let at = place(event);
        match self {
            Self::Last(found) => Ok(found.get_mut(&at).and_then(VecDeque::pop_front).flatten()),
            Self::Walk { events, next } => {
                if let (None, Some(events)) = (&next, events) {
                    *next = events.next()?.map(fielding);
                }
                Ok(next.take_if(|(told, _)| *told == at).and_then(|(_, fields)| fields))
            }
        }
    }
}

fn place(event: &Event<'_>) -> Place {
    (event.track, event.time, event.offset)
}

fn fielding(event: Event<'_>) -> Fielding {
    let place = place(&event);
    match event.content {
        Content::Fields(fields) => (place, Some(fields.into_owned())),
        _ => (place, None),
    }
}

/// Format name of tracks whose texts are JSON.
const JSON: &str = "json";

/// The tracks of messages that have events with fields, which their texts do not say as JSON.
pub fn fielded_tracks(timeline: &Arc<dyn TimelineView>) -> Result<HashSet<TrackId>> {
    let mut found = HashSet::new();
    if !timeline.has_fields() {
        return Ok(found);
    }
    let tracks = timeline.tracks();
    let may_have = |id: TrackId| {
        let this_track = tracks.get(id.0);
        this_track.is_some_and(|track| track.kind == TrackKind::Messages && track.content != JSON)
    };
    let possible = (0..tracks.len()).filter(|id| may_have(TrackId(*id))).count();
    let mut events = Arc::clone(timeline).events_with_fields(&Window::default())?;
    while found.len() < possible
        && let Some(event) = events.next()?
    {
        if matches!(event.content, Content::Fields(_)) && may_have(event.track) {
            found.insert(event.track);
        }
    }
    Ok(found)
}
