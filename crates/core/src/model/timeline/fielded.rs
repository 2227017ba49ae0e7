//! Events with all that a recording knows of them, for formats that keep it.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Content, Event, Events, Fields, TimeNs, TimelineView, TrackId, TrackKind, Window};
use crate::Result;

/// The events of a timeline, and their fields where the recording knows them. What repeats a field,
/// such as a counter, is there as well.
pub struct Fielded {
    events: Box<dyn Events>,
    /// The same events by their fields, where some have any, and the next of them.
    told: Option<Box<dyn Events>>,
    next: Option<Told>,
    /// Tracks whose texts say the fields themselves.
    is_json: Vec<bool>,
}

/// An event that is told by its fields.
struct Told {
    track: TrackId,
    time: Option<TimeNs>,
    offset: u64,
    fields: Option<Fields<'static>>,
}

/// An event, and its fields where they are known.
pub type WithFields<'a> = (Event<'a>, Option<Fields<'static>>);

impl Fielded {
    /// All events of a timeline.
    pub fn new(timeline: &Arc<dyn TimelineView>) -> Result<Self> {
        let all = Window::default();
        let told = timeline.has_fields().then(|| Arc::clone(timeline).events_with_fields(&all));
        Ok(Self {
            events: Arc::clone(timeline).events(&all)?,
            told: told.transpose()?,
            next: None,
            is_json: timeline.tracks().iter().map(|track| track.content == JSON).collect(),
        })
    }

    /// The next event, or nothing at the end.
    pub fn next_event(&mut self) -> Result<Option<WithFields<'_>>> {
        let Some(event) = self.events.next()? else { return Ok(None) };
        if let (None, Some(told)) = (&self.next, &mut self.told) {
            self.next = told.next()?.map(Told::of);
        }
        let is_it = |told: &mut Told| {
            (told.track, told.time, told.offset) == (event.track, event.time, event.offset)
        };
        let fields = self.next.take_if(is_it).and_then(|told| told.fields);
        let is_json = self.is_json.get(event.track.0).copied().unwrap_or(false);
        Ok(Some((event, fields.filter(|_| !is_json))))
    }
}

impl Told {
    fn of(event: Event<'_>) -> Self {
        let Event { track, time, offset, content, .. } = event;
        let fields = match content {
            Content::Fields(fields) => Some(fields.into_owned()),
            _ => None,
        };
        Self { track, time, offset, fields }
    }
}

/// What tracks hold whose texts are JSON.
const JSON: &str = "json";

/// The tracks of messages that have events with fields, which their texts do not say as JSON.
pub fn fielded_tracks(timeline: &Arc<dyn TimelineView>) -> Result<HashSet<TrackId>> {
    let mut found = HashSet::new();
    if !timeline.has_fields() {
        return Ok(found);
    }
    let tracks = timeline.tracks();
    let may_have = |id: TrackId| {
        let of = tracks.get(id.0);
        of.is_some_and(|track| track.kind == TrackKind::Messages && track.content != JSON)
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
