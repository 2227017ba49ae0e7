//! Names of tracks where several have one name.

use std::borrow::Cow;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use kymo_model::timeline::{Track, TrackId, TrackKind};

use crate::own::item_mut;
use crate::tasks::parent_name;

/// Labels that distinguish tracks from others of their kind and name: `ctl (core0.log)`. There may
/// be millions of tracks, so that labels are made when they are asked for.
#[derive(Debug, Default)]
pub struct Labels {
    /// Nothing where all names are of one track each.
    told_by: Vec<DistinguishedBy>,
}

/// Property that distinguishes a track from others of its kind and name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum DistinguishedBy {
    /// There are no others.
    #[default]
    Name,
    /// The processor or log file that it is of.
    Place,
    /// The number that the recording gives it.
    Number,
    Both,
    /// Nothing but its place among all tracks.
    Stream,
}

/// A track, or several of one task that ran in several places.
struct SameTask<'a> {
    place: Option<&'a str>,
    number: Option<i64>,
}

impl Labels {
    /// Finds out which tracks have one name.
    #[must_use]
    pub fn new(tracks: &[Track]) -> Self {
        let mut ids = shared_names(tracks);
        if ids.is_empty() {
            return Self::default();
        }
        let key = |id: &TrackId| tracks.get(id.0).map(|track| (&track.name, track.kind as u8));
        let order = |id: &TrackId| {
            (key(id), tracks.get(id.0).map(|this_track| identity(this_track, *id)), *id)
        };
        ids.sort_unstable_by(|one, other| order(one).cmp(&order(other)));
        let mut told_by = vec![DistinguishedBy::Name; tracks.len()];
        for group in ids.chunk_by(|one, other| key(one) == key(other)) {
            let how = distinguishing_key(tracks, group);
            for id in group {
                if let Some(distinguished_by) = item_mut(&mut told_by, id.0) {
                    *distinguished_by = how;
                }
            }
        }
        Self { told_by }
    }

    /// Returns the label of a track: its name, and what distinguishes it from others where these
    /// have the same name.
    #[must_use]
    pub fn label<'a>(&self, tracks: &'a [Track], id: TrackId) -> Cow<'a, str> {
        let Some(track) = tracks.get(id.0) else { return Cow::Borrowed("") };
        let told_by = self.told_by.get(id.0).copied().unwrap_or_default();
        let place = parent_name(tracks, id);
        let number = track.task_id().map(|number| number.to_string());
        let stream = || Some(format!("stream {}", id.0));
        let (place, rest) = match told_by {
            DistinguishedBy::Name => return Cow::Borrowed(&track.name),
            DistinguishedBy::Place => (place, None),
            DistinguishedBy::Number => (None, number),
            DistinguishedBy::Both => (place, number),
            DistinguishedBy::Stream => (place, stream()),
        };
        let words: Vec<_> = place.into_iter().chain(rest.as_deref()).collect();
        Cow::Owned(with_words(&track.name, &words.join(", ")))
    }
}

/// A name, and what tells it from others.
pub(crate) fn with_words(name: &str, words: &str) -> String {
    format!("{name} ({words})")
}

/// Returns what tracks of one task have in common besides their name. Any other track is one by
/// itself.
fn identity(track: &Track, id: TrackId) -> (usize, Option<u64>, Option<i64>, Option<TrackId>) {
    let alone = (track.kind != TrackKind::Task).then_some(id);
    (track.recording, track.part(), track.task_id(), alone)
}

/// The tracks that are not the only one of their kind and name.
fn shared_names(tracks: &[Track]) -> Vec<TrackId> {
    let hasher = RandomState::default();
    let key = |id: u32| {
        let track = tracks.get(usize::try_from(id).ok()?)?;
        Some((track.kind, track.name.as_str()))
    };
    let mut first: HashTable<(u32, bool)> = HashTable::new();
    let mut shared = Vec::new();
    let hash = |id: u32| hasher.hash_one(key(id));
    let track = |id: u32| usize::try_from(id).map(TrackId);
    for id in (0..tracks.len()).map_while(|id| u32::try_from(id).ok()) {
        match first.entry(hash(id), |(known, _)| key(*known) == key(id), |(known, _)| hash(*known))
        {
            Entry::Occupied(mut known) => {
                let (value, is_told) = known.get_mut();
                if !std::mem::replace(is_told, true) {
                    shared.extend(track(*value));
                }
                shared.extend(track(id));
            }
            Entry::Vacant(place) => drop(place.insert((id, false))),
        }
    }
    shared
}

/// Finds what distinguishes tracks of one kind and name, which are in the order of what they have
/// in common.
fn distinguishing_key(tracks: &[Track], ids: &[TrackId]) -> DistinguishedBy {
    let item = |id: &TrackId| tracks.get(id.0).map(|track| identity(track, *id));
    let same =
        ids.chunk_by(|one, other| item(one) == item(other)).map(|ids| common_key(tracks, ids));
    let same: Vec<_> = same.collect();
    if same.len() < 2 {
        DistinguishedBy::Name
    } else if are_distinct(same.iter().map(|same_task| same_task.place)) {
        DistinguishedBy::Place
    } else if are_distinct(same.iter().map(|same_task| same_task.number)) {
        DistinguishedBy::Number
    } else if are_distinct(same.iter().map(|same_task| same_task.place.zip(same_task.number))) {
        DistinguishedBy::Both
    } else {
        DistinguishedBy::Stream
    }
}

/// Returns what tracks of one task share. A task that ran in several places is distinguished by
/// none of them.
fn common_key<'a>(tracks: &'a [Track], ids: &[TrackId]) -> SameTask<'a> {
    let mut places = ids.iter().map(|id| parent_name(tracks, *id));
    let first = places.next().flatten();
    let place = first.filter(|_| places.all(|place| place == first));
    let track = ids.first().and_then(|id| tracks.get(id.0));
    SameTask { place, number: track.and_then(Track::task_id) }
}

/// Returns true if each has something, and no two the same.
fn are_distinct<T: Ord>(all: impl Iterator<Item = Option<T>>) -> bool {
    let Some(mut all) = all.collect::<Option<Vec<_>>>() else { return false };
    all.sort_unstable();
    all.is_sorted_by(|one, other| one < other)
}

#[cfg(test)]
mod tests {
    use kymo_model::timeline::ClockId;
    use serde_json::Map;

    use super::*;

    fn track(
        name: &str,
        kind: TrackKind,
        (recording, parent): (usize, Option<usize>),
        number: Option<i64>,
    ) -> Track {
        let mut attributes = Map::new();
        number.map(|number| attributes.insert("tid".into(), number.into()));
        Track {
            name: name.into(),
            recording,
            parent: parent.map(TrackId),
            kind,
            clock: Some(ClockId(0)),
            content: "".into(),
            attributes: attributes.into(),
        }
    }

    fn labels(tracks: &[Track]) -> Vec<String> {
        let labels = Labels::new(tracks);
        let label = |id| labels.label(tracks, TrackId(id)).into_owned();
        (0..tracks.len()).map(label).collect()
    }

    #[test]
    fn tasks_of_one_name_are_told_apart_by_their_log_files() {
        use TrackKind::{Messages, States, Task};
        let tracks = [
            track("core0.log", Messages, (0, None), None),
            track("core1.log", Messages, (1, None), None),
            track("ctl", Task, (0, Some(0)), Some(2)),
            track("ctl", Task, (1, Some(1)), Some(2)),
            track("motor", States, (0, Some(0)), None),
            track("motor", Task, (0, Some(0)), Some(4)),
            track("log", Task, (1, Some(1)), Some(3)),
        ];
        let expected = [
            "core0.log",
            "core1.log",
            "ctl (core0.log)",
            "ctl (core1.log)",
            "motor",
            "motor",
            "log",
        ];
        assert_eq!(labels(&tracks), expected);
    }

    #[test]
    fn what_ran_in_several_places_is_told_by_its_number() {
        use TrackKind::{Calls, Task};
        let tracks = [
            track("cpu 0", Calls, (0, None), None),
            track("cpu 1", Calls, (0, None), None),
            track("sh", Task, (0, Some(0)), Some(10)),
            track("sh", Task, (0, Some(1)), Some(10)),
            track("sh", Task, (0, Some(1)), Some(11)),
            // One task that ran in two places is alone.
            track("init", Task, (0, Some(0)), Some(1)),
            track("init", Task, (0, Some(1)), Some(1)),
        ];
        let expected = ["cpu 0", "cpu 1", "sh (10)", "sh (10)", "sh (11)", "init", "init"];
        assert_eq!(labels(&tracks), expected);
    }

    #[test]
    fn what_nothing_tells_apart_is_told_by_its_stream() {
        use TrackKind::{States, Task};
        let tracks = [
            track("log", TrackKind::Messages, (0, None), None),
            track("door", States, (0, Some(0)), None),
            track("door", States, (0, Some(0)), None),
            track("other", TrackKind::Messages, (1, None), None),
            track("x", Task, (0, Some(0)), Some(1)),
            track("x", Task, (0, Some(0)), Some(2)),
            track("x", Task, (1, Some(3)), Some(2)),
        ];
        let expected = [
            "log",
            "door (log, stream 1)",
            "door (log, stream 2)",
            "other",
            "x (log, 1)",
            "x (log, 2)",
            "x (other, 2)",
        ];
        assert_eq!(labels(&tracks), expected);
    }
}
