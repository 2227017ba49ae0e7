//! Each array of a file is paid for once, by its bytes, and looked at once: arrays that lie on top of
//! each other are refused instead of read again and again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use kymo_core::bytes::{ReadError, ReadResult};

use super::budget::Budget;

/// Records that were looked at, and bytes that are left for the others.
#[derive(Debug)]
pub(crate) struct CheckedRecords {
    count: u64,
    /// A bit for each record that is sound.
    sound: OnceLock<Vec<AtomicU64>>,
    tried: Mutex<RecordFaults>,
}

#[derive(Debug)]
struct RecordFaults {
    budget: Budget,
    /// Faults of records that are not sound.
    wrong: BTreeMap<u64, ReadError>,
}

impl CheckedRecords {
    /// For so many records, whose arrays have so many bytes together at the most.
    pub(crate) fn new(count: u64, bytes: u64) -> Self {
        let tried = Mutex::new(RecordFaults { budget: Budget::new(bytes), wrong: BTreeMap::new() });
        Self { count, sound: OnceLock::new(), tried }
    }

    /// Looks at the arrays of a record unless that was done already. They have so many bytes, and
    /// `at` is where the file lists them.
    pub(crate) fn check_once(
        &self,
        index: u64,
        what: &'static str,
        at: u64,
        bytes: u64,
        look: impl FnOnce() -> ReadResult<()>,
    ) -> ReadResult<()> {
        let words = usize::try_from(self.count.div_ceil(64)).unwrap_or(usize::MAX);
        let sound = self.sound.get_or_init(|| (0..words).map(|_| AtomicU64::new(0)).collect());
        let (place, bit) = (usize::try_from(index / 64).unwrap_or(usize::MAX), 1 << (index % 64));
        let Some(word) = sound.get(place) else { return Ok(()) };
        if word.load(Ordering::Acquire) & bit != 0 {
            return Ok(());
        }
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = tried.wrong.get(&index) {
            return Err(error.clone());
        }
        tried.budget.spend(what, at, bytes)?;
        look().inspect_err(|error| drop(tried.wrong.insert(index, error.clone())))?;
        word.fetch_or(bit, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_record_is_looked_at_once_and_none_beyond_what_there_is() {
        let once = CheckedRecords::new(70, 100);
        let mut looked = 0;
        let mut look = |index, bytes| {
            once.check_once(index, "values", 0x40, bytes, || {
                looked += 1;
                Ok(())
            })
        };
        assert_eq!(look(69, 60), Ok(()));
        assert_eq!(look(69, 60), Ok(()));
        let error = look(3, 41).unwrap_err();
        assert_eq!((error.what, error.offset), ("values", 0x40));
        assert_eq!(look(3, 40), Ok(()));
        assert_eq!(looked, 2);
    }

    #[test]
    fn what_is_damaged_is_not_looked_at_again() {
        let once = CheckedRecords::new(1, 100);
        let wrong = || Err(ReadError::invalid("index", 0x50, "is out of order"));
        assert_eq!(once.check_once(0, "values", 0x40, 10, wrong).unwrap_err().offset, 0x50);
        assert_eq!(once.check_once(0, "values", 0x40, 10, || Ok(())).unwrap_err().offset, 0x50);
    }
}
