//! A hash table of numbers alone: what they number is kept by who asks. There may be many millions.

use std::hash::{BuildHasher, RandomState};

/// Stands for no number.
const NONE: u32 = u32::MAX;

/// Finds numbers by the hash of what they number.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// Keyed anew for each table, so that no file can choose what collides.
    hasher: RandomState,
    /// As many as a power of two, at most three quarters of them taken.
    taken: Vec<u32>,
    count: usize,
}

impl Slots {
    /// The hash of what a number stands for.
    pub(super) fn hash(&self, key: [u64; 4]) -> u64 {
        self.hasher.hash_one(key)
    }

    /// The number with this hash that is the one.
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = hash;
        loop {
            match *self.taken.get(self.slot(at))? {
                NONE => return None,
                number if is_it(number) => return Some(number),
                _ => at = at.wrapping_add(1),
            }
        }
    }

    /// Adds a number that is not there. `key` tells what each number stands for.
    pub(super) fn insert(&mut self, hash: u64, number: u32, key: impl Fn(u32) -> [u64; 4]) {
        if (self.count + 1).saturating_mul(4) > self.taken.len().saturating_mul(3) {
            let length = self.taken.len().saturating_mul(2).max(16);
            let before = std::mem::replace(&mut self.taken, vec![NONE; length]);
            for number in before.into_iter().filter(|number| *number != NONE) {
                self.put(self.hash(key(number)), number);
            }
        }
        self.put(hash, number);
        self.count += 1;
    }

    fn put(&mut self, hash: u64, number: u32) {
        let mut at = hash;
        loop {
            let slot = self.slot(at);
            match self.taken.get_mut(slot) {
                Some(free) if *free == NONE => return *free = number,
                Some(_) => at = at.wrapping_add(1),
                None => return,
            }
        }
    }

    fn slot(&self, at: u64) -> usize {
        let last = (self.taken.len() as u64).wrapping_sub(1);
        usize::try_from(at & last).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_found_and_nothing_else() {
        let mut slots = Slots::default();
        let key = |number: u32| [u64::from(number), 7, 0, u64::from(number) << 32];
        let find = |slots: &Slots, wanted| {
            slots.find(slots.hash(key(wanted)), |number| key(number) == key(wanted))
        };
        assert_eq!(find(&slots, 0), None);
        for number in 0..10_000 {
            assert_eq!(find(&slots, number), None);
            slots.insert(slots.hash(key(number)), number, key);
        }
        assert!((0..10_000).all(|number| find(&slots, number) == Some(number)));
        assert_eq!(find(&slots, 10_000), None);
        assert!(slots.taken.len() == 16384, "{}", slots.taken.len());
    }
}
