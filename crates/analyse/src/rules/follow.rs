//! What must come after something else.

use std::collections::VecDeque;

use kymo_core::model::timeline::{TimeNs, TrackId};

/// What is waited for at once; beyond that, the oldest is given up.
const WAITING_MAX: usize = 1 << 16;

/// What is waited for.
#[derive(Debug, Default)]
pub(super) struct Follow {
    waiting: VecDeque<Due>,
    given_up: u64,
}

/// Something that must come before a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) since: TimeNs,
    until: TimeNs,
    pub(super) track: TrackId,
    pub(super) offset: u64,
}

impl Follow {
    pub(super) fn wait(&mut self, since: TimeNs, within: u64, track: TrackId, offset: u64) {
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.pop_front();
            self.given_up += 1;
        }
        let until = TimeNs(since.0.saturating_add_unsigned(within));
        self.waiting.push_back(Due { since, until, track, offset });
    }

    /// How much was too much to be waited for.
    pub(super) fn given_up(&self) -> u64 {
        self.given_up
    }

    /// It came: everything that is not overdue has what it waited for.
    pub(super) fn came(&mut self, time: TimeNs) {
        self.waiting.retain(|due| due.until < time);
    }

    /// What did not come in time.
    pub(super) fn overdue(&mut self, now: TimeNs) -> Vec<Due> {
        let mut overdue = Vec::new();
        while let Some(due) = self.waiting.pop_front_if(|due| due.until < now) {
            overdue.push(due);
        }
        overdue
    }
}
