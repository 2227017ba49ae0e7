//! Ids of artifacts.

use std::collections::{HashMap, HashSet};

use kymo_core::{Error, Result};

use crate::spec::UNKNOWN_TASK;
use crate::types::{ArtifactId, LogFileId};

/// Class of ids. Those of one class mean nothing to another, except for states and what they are
/// part of: a state or a state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    Tasks,
    States,
    Others,
}

/// Ids that are taken. A task has one id in all log files that it is in, so that one knows it
/// again; another log file may use the same id for something else.
#[derive(Debug)]
pub(super) struct Ids {
    taken: HashMap<(LogFileId, Scope), HashSet<i32>>,
    largest: i32,
    /// Id from which ids are looked for when the largest is taken: below it there may be free ones.
    next_free: i32,
    /// Number of things that got another id than they wanted.
    pub changed: u64,
}

impl Default for Ids {
    fn default() -> Self {
        Self { taken: HashMap::new(), largest: 0, next_free: 1, changed: 0 }
    }
}

impl Ids {
    /// The wanted id where it is free in some log files, and else one that is free in all of them.
    ///
    /// # Errors
    /// When all are taken.
    pub(super) fn take(
        &mut self,
        scope: Scope,
        logs: &[LogFileId],
        wanted: Option<i64>,
    ) -> Result<ArtifactId> {
        let id = self.choose(scope, logs, wanted)?;
        self.changed += u64::from(wanted.is_some_and(|wanted| wanted != i64::from(id.0)));
        Ok(id)
    }

    /// The same for an id that is nice to have, and no loss where it is taken.
    pub(super) fn choose(
        &mut self,
        scope: Scope,
        logs: &[LogFileId],
        wanted: Option<i64>,
    ) -> Result<ArtifactId> {
        let number = wanted.and_then(|number| i32::try_from(number).ok());
        let wanted = number.filter(|id| self.is_free(scope, logs, *id));
        let id = wanted.or_else(|| self.free(scope, logs));
        let Some(id) = id else {
            return Err(Error::request("there are more tasks and states than BBBin has ids for"));
        };
        self.largest = self.largest.max(id);
        for log in logs {
            self.taken.entry((*log, scope)).or_default().insert(id);
        }
        Ok(ArtifactId(id))
    }

    fn is_free(&self, scope: Scope, logs: &[LogFileId], id: i32) -> bool {
        let is_taken = |log: &LogFileId| {
            self.taken.get(&(*log, scope)).is_some_and(|taken| taken.contains(&id))
        };
        id != UNKNOWN_TASK && !logs.iter().any(is_taken)
    }

    /// The next id beyond all others; when there is none, the next free one below. Negative ones
    /// would be interrupts.
    fn free(&mut self, scope: Scope, logs: &[LogFileId]) -> Option<i32> {
        let beyond = self.largest.checked_add(1);
        if let Some(beyond) = beyond {
            return if beyond == UNKNOWN_TASK { Some(beyond + 1) } else { Some(beyond) };
        }
        while !self.is_free(scope, logs, self.next_free) {
            self.next_free = self.next_free.checked_add(1)?;
        }
        Some(self.next_free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_free_where_no_log_file_of_it_has_it() {
        let mut ids = Ids::default();
        let mut take = |logs: &[LogFileId], wanted| ids.take(Scope::Tasks, logs, wanted).unwrap().0;
        let (a, b) = (LogFileId(0), LogFileId(1));
        assert_eq!(take(&[a], Some(0)), 0);
        assert_eq!(take(&[b], Some(0)), 0);
        assert_eq!(take(&[a, b], Some(0)), 1);
        assert_eq!(take(&[a], Some(777)), 2);
        assert_eq!(take(&[b], Some(776)), 776);
        assert_eq!(take(&[b], None), 778);
        assert_eq!(take(&[a], Some(-3)), -3);
    }

    #[test]
    fn a_task_and_a_state_may_have_one_number() {
        let (mut ids, log) = (Ids::default(), &[LogFileId(0)]);
        let mut take = |scope, wanted| ids.take(scope, log, wanted).unwrap().0;
        assert_eq!([Scope::Tasks, Scope::States].map(|scope| take(scope, Some(1))), [1, 1]);
        assert_eq!(take(Scope::Others, Some(1)), 1);
        assert_eq!(take(Scope::States, Some(1)), 2);
        assert_eq!(ids.changed, 1);
    }

    #[test]
    fn where_the_largest_id_is_taken_others_are_found_below() {
        let mut ids = Ids::default();
        let log = &[LogFileId(0)];
        let mut take = |wanted| ids.take(Scope::Tasks, log, wanted).unwrap().0;
        assert_eq!(take(Some(2_147_483_647)), 2_147_483_647);
        assert_eq!(take(Some(2)), 2);
        assert_eq!(take(Some(3_000_000_000)), 1);
        assert_eq!(take(Some(3_000_000_001)), 3);
        assert_eq!(take(Some(2_147_483_647)), 4);
        assert_eq!(ids.changed, 3);
        ids.next_free = i32::MAX;
        assert!(ids.take(Scope::Tasks, log, None).is_err());
    }
}
