//! Ids of artifacts.

use std::collections::{HashMap, HashSet};

use crate::spec::UNKNOWN_TASK;
use crate::types::{ArtifactId, LogFileId};

/// Ids that are taken. A task has one id in all log files that it is in, so that one knows it
/// again; another log file may use the same id for something else.
#[derive(Debug, Default)]
pub(super) struct Ids {
    taken: HashMap<LogFileId, HashSet<i32>>,
    largest: i32,
}

impl Ids {
    /// The wanted id where it is free in some log files, and else one that is free in all.
    pub(super) fn take(&mut self, logs: &[LogFileId], wanted: Option<i64>) -> ArtifactId {
        let wanted = wanted.and_then(|number| i32::try_from(number).ok());
        let is_free = |id: &i32| {
            let is_taken = |log| self.taken.get(log).is_some_and(|taken| taken.contains(id));
            *id != UNKNOWN_TASK && !logs.iter().any(is_taken)
        };
        let id = wanted.filter(is_free).unwrap_or_else(|| self.next());
        self.largest = self.largest.max(id);
        for log in logs {
            self.taken.entry(*log).or_default().insert(id);
        }
        ArtifactId(id)
    }

    fn next(&self) -> i32 {
        let next = self.largest.saturating_add(1);
        if next == UNKNOWN_TASK { next + 1 } else { next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_free_where_no_log_file_of_it_has_it() {
        let mut ids = Ids::default();
        let (a, b) = (LogFileId(0), LogFileId(1));
        assert_eq!(ids.take(&[a], Some(0)), ArtifactId(0));
        assert_eq!(ids.take(&[b], Some(0)), ArtifactId(0));
        assert_eq!(ids.take(&[a, b], Some(0)), ArtifactId(1));
        assert_eq!(ids.take(&[a], Some(777)), ArtifactId(2));
        assert_eq!(ids.take(&[b], Some(776)), ArtifactId(776));
        assert_eq!(ids.take(&[b], None), ArtifactId(778));
        assert_eq!(ids.take(&[a], Some(-3)), ArtifactId(-3));
    }
}
