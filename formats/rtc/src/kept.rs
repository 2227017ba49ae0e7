//! Facts that RTC has no place for, kept in the description of a stream under `kymo`, so that the
//! same track comes back: the kind of its events, and the track that it belongs under.

use kymo_model::timeline::TrackKind;
use serde_json::{Map, Value as Json, json};

/// The key of the description.
const KEY: &str = "kymo";

/// Facts that are kept of a track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredTrack {
    /// The tracks that numbers count in: those of files that were merged are several.
    pub(crate) set: u64,
    /// Its number.
    pub(crate) track: u64,
    /// The number of the track that it belongs under.
    pub(crate) parent: Option<u64>,
    /// Kind of its events where those are spelt as JSON, activities and events with fields, and the
    /// word for what they hold.
    pub(crate) of: Option<(TrackKind, String)>,
}

impl StoredTrack {
    /// Reads the facts that a description gives.
    pub(crate) fn from_attributes(attributes: &Map<String, Json>) -> Option<Self> {
        let kept = attributes.get(KEY)?.as_object()?;
        let number = |key: &str| kept.get(key).and_then(Json::as_u64);
        let text = |key: &str| kept.get(key).and_then(Json::as_str);
        let is_spelt = |kind: &TrackKind| kind.has_activities() || *kind == TrackKind::Messages;
        let kind = text("kind").and_then(TrackKind::named).filter(is_spelt);
        let content = text("content").unwrap_or_default().to_owned();
        Some(Self {
            set: number("set").unwrap_or(0),
            track: number("track")?,
            parent: number("parent"),
            of: kind.map(|kind| (kind, content)),
        })
    }

    /// Puts it into a description.
    pub(crate) fn put(&self, attributes: &mut Map<String, Json>) {
        let mut kept = Map::new();
        if self.set > 0 {
            kept.insert("set".to_owned(), json!(self.set));
        }
        kept.insert("track".to_owned(), json!(self.track));
        if let Some(parent) = self.parent {
            kept.insert("parent".to_owned(), json!(parent));
        }
        if let Some((kind, content)) = &self.of {
            kept.insert("kind".to_owned(), json!(kind.name()));
            kept.insert("content".to_owned(), json!(content));
        }
        attributes.insert(KEY.to_owned(), Json::Object(kept));
    }

    /// Takes it out of a description.
    pub(crate) fn take(attributes: &mut Map<String, Json>) -> Option<Self> {
        let kept = Self::from_attributes(attributes)?;
        attributes.shift_remove(KEY);
        Some(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_is_taken_out() {
        let whole = StoredTrack {
            set: 2,
            track: 7,
            parent: Some(0),
            of: Some((TrackKind::States, "STATE MACHINE".to_owned())),
        };
        let bare = StoredTrack { set: 0, track: 0, parent: None, of: None };
        for kept in [whole, bare] {
            let mut attributes = Map::from_iter([("tid".to_owned(), json!(5))]);
            kept.put(&mut attributes);
            assert_eq!(StoredTrack::take(&mut attributes), Some(kept));
            assert_eq!(attributes.len(), 1);
        }
        let mut strange = Map::from_iter([(KEY.to_owned(), json!({ "track": "x" }))]);
        assert_eq!(StoredTrack::take(&mut strange), None);
        assert_eq!(strange.len(), 1, "what is not ours stays");
    }
}
