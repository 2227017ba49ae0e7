//! Which tracks rules are applied to.

use kymo_core::model::timeline::TrackId;

use crate::tasks::{TaskId, Tasks};

/// Which tracks rules are applied to; nothing means all.
#[derive(Debug)]
pub(super) struct Chosen(Option<Vec<bool>>);

impl Chosen {
    pub(super) fn new(chosen: Option<Vec<bool>>) -> Self {
        Self(chosen)
    }

    pub(super) fn has(&self, track: TrackId) -> bool {
        self.0.as_ref().is_none_or(|chosen| chosen.get(track.0).copied().unwrap_or(false))
    }

    /// A task has the same name on all its tracks.
    pub(super) fn has_task(&self, task: TaskId, tasks: &Tasks) -> bool {
        tasks.get(task).is_some_and(|task| self.has(task.home))
    }
}
