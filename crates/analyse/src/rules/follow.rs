//! What must come after something else.

use std::collections::{BTreeMap, VecDeque};

use kymo_core::model::timeline::{TimeNs, TrackId};

use super::chosen::Era;

/// What is waited for at once; beyond that, the oldest is given up.
const WAITING_MAX: usize = 1 << 16;

/// What is waited for, in the times of each era.
#[derive(Debug, Default)]
pub(super) struct Follow {
    waiting: BTreeMap<Era, VecDeque<Due>>,
    given_up: u64,
}

/// Something that must come before a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) since: TimeNs,
    pub(super) until: TimeNs,
    pub(super) track: TrackId,
    pub(super) offset: u64,
}

impl Follow {
    pub(super) fn wait(
        &mut self,
        era: Era,
        since: TimeNs,
        within: u64,
        track: TrackId,
        offset: u64,
    ) {
        let waiting = self.waiting.entry(era).or_default();
        if waiting.len() >= WAITING_MAX {
            waiting.pop_front();
            self.given_up += 1;
        }
        let until = TimeNs(since.0.saturating_add_unsigned(within));
        waiting.push_back(Due { since, until, track, offset });
    }

    /// How much was too much to be waited for.
    pub(super) fn given_up(&self) -> u64 {
        self.given_up
    }

    /// It came: everything that is not overdue, and not later, has what it waited for.
    pub(super) fn came(&mut self, era: Era, time: TimeNs) {
        if let Some(waiting) = self.waiting.get_mut(&era) {
            waiting.retain(|due| !(due.since..=due.until).contains(&time));
        }
    }

    /// Nothing is waited for any more.
    pub(super) fn forget(&mut self, era: Era) {
        self.waiting.remove(&era);
    }

    /// What did not come in time.
    pub(super) fn overdue(&mut self, era: Era, now: TimeNs) -> Vec<Due> {
        let mut overdue = Vec::new();
        let Some(waiting) = self.waiting.get_mut(&era) else { return overdue };
        while let Some(due) = waiting.pop_front_if(|due| due.until < now) {
            overdue.push(due);
        }
        overdue
    }

    /// What is waited for when all is seen.
    pub(super) fn rest(&mut self) -> impl Iterator<Item = Due> + use<> {
        std::mem::take(&mut self.waiting).into_values().flatten()
    }
}
