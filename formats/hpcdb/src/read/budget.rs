//! Budget of what a file has room for: arrays that lie on top of each other cost more than its
//! bytes.

use kymo_core::bytes::{ReadError, ReadResult};

use super::part::Part;

/// The bytes of a file that are left for arrays. Each array lies somewhere in the file, so that those
/// that come to more lie on top of each other.
#[derive(Debug)]
pub(crate) struct Budget {
    left: u64,
}

impl Budget {
    /// All bytes of a file.
    pub(crate) fn from_part(part: &Part) -> Self {
        Self::new(part.len())
    }

    /// So many bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        Self { left: bytes }
    }

    /// Pays for an array of so many bytes, which the file lists at an offset.
    pub(crate) fn spend(&mut self, what: &'static str, at: u64, bytes: u64) -> ReadResult<()> {
        let Some(left) = self.left.checked_sub(bytes) else {
            let why = "arrays lie on top of each other: together they have more than the file";
            return Err(ReadError::invalid(what, at, why));
        };
        self.left = left;
        Ok(())
    }

    /// Pays for so many records of some bytes each.
    pub(crate) fn spend_each(
        &mut self,
        what: &'static str,
        at: u64,
        count: u64,
        bytes: u64,
    ) -> ReadResult<()> {
        self.spend(what, at, count.saturating_mul(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_paid_for_than_there_is() {
        let mut budget = Budget::new(100);
        assert_eq!(budget.spend_each("values", 0x40, 5, 12), Ok(()));
        let error = budget.spend("values", 0x50, 41).unwrap_err();
        assert_eq!((error.what, error.offset), ("values", 0x50));
        assert_eq!(budget.spend("values", 0x60, 40), Ok(()));
        assert!(budget.spend_each("values", 0x70, u64::MAX, 12).is_err());
    }
}
