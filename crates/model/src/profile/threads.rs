//! Threads, by the ids that name them, and sets of them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::ThreadId;

/// One profile of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thread {
    /// Ids that name it, from the outermost in: the node, the rank, the thread.
    pub ids: Vec<IdPart>,
}

/// One part of what names a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdPart {
    /// Kind of thing that it numbers.
    pub kind: IdKind,
    /// The number that counts from 0.
    pub logical: u64,
    /// The number the system knows it by, where that is another.
    pub physical: Option<u64>,
}

/// A kind of thing that an id numbers, by the word of the recording: `RANK`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdKind(pub Cow<'static, str>);

impl Thread {
    /// The logical id of a kind, whatever the case of its name.
    #[must_use]
    pub fn id(&self, kind: &str) -> Option<u64> {
        let is_it = |part: &&IdPart| part.kind.0.eq_ignore_ascii_case(kind);
        self.ids.iter().rev().find(is_it).map(|part| part.logical)
    }

    /// The kinds of things that its ids number: `NODE`, `RANK`, `THREAD`.
    pub fn kinds(&self) -> impl Iterator<Item = &str> + Clone {
        self.ids.iter().map(|part| part.kind.0.as_ref())
    }
}

/// `NODE 0 / RANK 3 / THREAD 0`.
impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ids.is_empty() {
            return f.write_str("unnamed");
        }
        for (index, part) in self.ids.iter().enumerate() {
            let between = if index == 0 { "" } else { " / " };
            write!(f, "{between}{} {}", part.kind.0, part.logical)?;
            if let Some(physical) = part.physical {
                write!(f, " [{physical:#x}]")?;
            }
        }
        Ok(())
    }
}

/// Some threads of a view.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ThreadSet {
    /// In ascending order, without repeats. Shared, so that a copy is the same at a glance.
    ids: Arc<[ThreadId]>,
}

impl ThreadSet {
    /// Returns true if a thread is one of them.
    #[must_use]
    pub fn contains(&self, id: ThreadId) -> bool {
        self.ids.binary_search(&id).is_ok()
    }

    /// The threads in ascending order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ThreadId> {
        self.ids.iter().copied()
    }

    /// Returns the number of threads.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

impl FromIterator<ThreadId> for ThreadSet {
    fn from_iter<T: IntoIterator<Item = ThreadId>>(ids: T) -> Self {
        let mut ids: Vec<_> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self { ids: ids.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: &'static str, logical: u64, physical: Option<u64>) -> IdPart {
        IdPart { kind: IdKind(Cow::Borrowed(kind)), logical, physical }
    }

    #[test]
    fn a_thread_is_named_from_the_outermost_in() {
        let ids = vec![part("NODE", 0, Some(0x7F)), part("RANK", 3, None)];
        let thread = Thread { ids };
        assert_eq!(thread.to_string(), "NODE 0 [0x7f] / RANK 3");
        assert_eq!((thread.id("rank"), thread.id("THREAD")), (Some(3), None));
    }

    #[test]
    fn a_set_is_sorted_and_has_each_once() {
        let set: ThreadSet = [5, 1, 5].map(ThreadId).into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [1, 5].map(ThreadId));
        assert!(set.contains(ThreadId(5)) && !set.contains(ThreadId(2)));
    }
}
