//! Tracks that rules are applied to, and those of them that can be compared.

use kymo_model::timeline::{Clock, Track, TrackId};

use crate::tasks::{TaskId, Tasks};

/// Tracks that rules are applied to, and those of them that can be compared.
#[derive(Debug)]
pub(super) struct RuleTracks {
    /// Nothing means all.
    tracks: Option<Vec<bool>>,
    eras: Vec<Era>,
}

/// Start that times are counted from. Times of one era can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Era {
    /// The epoch.
    Epoch,
    /// The begin of a clock, wherever that is.
    Clock(usize),
    /// Nothing that is known.
    None,
}

impl RuleTracks {
    pub(super) fn new(chosen: Option<Vec<bool>>, tracks: &[Track], clocks: &[Clock]) -> Self {
        let era = |track: &Track| match track.clock {
            None => Era::None,
            Some(id) if clocks.get(id.0).is_some_and(|clock| clock.since_epoch) => Era::Epoch,
            Some(id) => Era::Clock(id.0),
        };
        Self { tracks: chosen, eras: tracks.iter().map(era).collect() }
    }

    pub(super) fn contains(&self, track: TrackId) -> bool {
        self.tracks.as_ref().is_none_or(|chosen| chosen.get(track.0).copied().unwrap_or(false))
    }

    /// A task has the same name on all its tracks.
    pub(super) fn has_task(&self, task: TaskId, tasks: &Tasks) -> bool {
        tasks.get(task).is_some_and(|task| self.contains(task.home))
    }

    /// Returns the era of a track: what its times are counted from.
    pub(super) fn era(&self, track: TrackId) -> Era {
        self.eras.get(track.0).copied().unwrap_or(Era::None)
    }
}
