//! Labels that are held at once.

use std::hash::{BuildHasher, RandomState};

/// Labels that are held: all, or where there are very many, some at a time. A hash decides which
/// those are, so that this takes no memory.
#[derive(Debug, Clone)]
pub(crate) struct HeldLabels {
    /// The same for all parts. Keyed anew for each question, so that no file can choose what
    /// collides.
    hasher: RandomState,
    part: u64,
    parts: u64,
    most: usize,
}

impl Default for HeldLabels {
    fn default() -> Self {
        Self { hasher: RandomState::new(), part: 0, parts: 1, most: usize::MAX }
    }
}

impl HeldLabels {
    /// Every part of so many, of each of which no more than `most` are held.
    pub(crate) fn parts(parts: u64, most: usize) -> impl Iterator<Item = Self> {
        let hasher = RandomState::new();
        (0..parts).map(move |part| Self { hasher: hasher.clone(), part, parts, most })
    }

    pub(super) fn hasher(&self) -> &impl BuildHasher {
        &self.hasher
    }

    /// Returns true if what has a hash is held.
    pub(super) fn contains(&self, hash: u64) -> bool {
        // The lowest bits find the slot of a table, and have to differ within a part.
        self.parts == 1 || (hash >> 40) % self.parts == self.part
    }

    /// Returns the number of labels that there will be, about. It is as many as are held at most,
    /// where they are one part of more.
    pub(crate) fn expected(&self) -> usize {
        if self.parts == 1 { 0 } else { self.most }
    }

    /// Returns true if there is no room for another.
    pub(super) fn is_full(&self, count: usize) -> bool {
        count >= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hash_is_in_one_part() {
        let parts: Vec<_> = HeldLabels::parts(3, 9).collect();
        for number in 0..1000_u64 {
            let hash = parts[0].hasher().hash_one(number);
            assert_eq!(hash, parts[2].hasher().hash_one(number));
            assert_eq!(parts.iter().filter(|part| part.contains(hash)).count(), 1);
        }
        assert_eq!((parts[0].expected(), HeldLabels::default().expected()), (9, 0));
        assert!(HeldLabels::default().contains(1 << 63) && !HeldLabels::default().is_full(1 << 40));
    }
}
