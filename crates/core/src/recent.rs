//! Results of the last lookups.

/// Key that is found among [`RecentEntries`] by its number.
pub trait CacheEntry: Copy + Eq {
    /// A number that differs among keys that are asked for by turns.
    fn number(self) -> u64;
}

/// Results of the last lookups, each at the place that the number of its key leads to. If few keys
/// are asked for most of the time, most are found without a search. A key that comes to the place
/// of another takes it.
#[derive(Debug, Clone)]
pub struct RecentEntries<K, V, const PLACES: usize = 64> {
    places: [Option<(K, V)>; PLACES],
}

impl<K: CacheEntry, V: Copy, const PLACES: usize> Default for RecentEntries<K, V, PLACES> {
    fn default() -> Self {
        Self { places: [None; PLACES] }
    }
}

impl<K: CacheEntry, V: Copy, const PLACES: usize> RecentEntries<K, V, PLACES> {
    #[inline]
    fn place(key: K) -> usize {
        usize::try_from(key.number() % PLACES as u64).unwrap_or(0)
    }

    /// Returns the value that is kept for a key.
    #[inline]
    #[must_use]
    pub fn get(&self, key: K) -> Option<V> {
        let (known, value) = self.places.get(Self::place(key)).copied().flatten()?;
        (known == key).then_some(value)
    }

    /// Returns the value that is kept for a key, to be changed.
    #[inline]
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let (known, value) = self.places.get_mut(Self::place(key))?.as_mut()?;
        (*known == key).then_some(value)
    }

    /// Keeps a value, and gives back what was at its place.
    pub fn put(&mut self, key: K, value: V) -> Option<(K, V)> {
        self.places.get_mut(Self::place(key))?.replace((key, value))
    }

    /// Everything that is kept.
    pub fn iter(&self) -> impl Iterator<Item = (K, V)> {
        self.places.iter().copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl CacheEntry for u32 {
        fn number(self) -> u64 {
            self.into()
        }
    }

    /// Of four places, 3 and 7 share one.
    #[test]
    fn a_key_takes_the_place_of_another_and_is_never_taken_for_it() {
        let mut recent: RecentEntries<u32, char, 4> = RecentEntries::default();
        assert_eq!(recent.get(0), None);
        assert_eq!(recent.put(3, 'a'), None);
        assert_eq!(recent.put(1, 'b'), None);
        assert_eq!((recent.get(3), recent.get(7)), (Some('a'), None));
        *recent.get_mut(3).unwrap() = 'c';
        assert_eq!(recent.get_mut(7), None);
        assert_eq!(recent.put(7, 'd'), Some((3, 'c')));
        assert_eq!((recent.get(3), recent.get(7)), (None, Some('d')));
        assert_eq!(recent.iter().collect::<Vec<_>>(), [(1, 'b'), (7, 'd')]);
    }
}
