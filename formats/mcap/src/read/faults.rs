//! What is found wrong while a file is read, also after it was opened.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use kymo_core::bytes::Limits;
use kymo_core::{Finding, Findings};

/// Findings that grow while chunks are read for the first time.
///
/// To decompress every chunk at opening would make opening as slow as reading. So a chunk that
/// turns out to be damaged is passed over when it is read, and found then.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    found: Mutex<Found>,
    first: OnceLock<Box<Listing>>,
}

#[derive(Debug, Default)]
struct Found {
    findings: Findings,
    /// A chunk is read many times, and is damaged once.
    seen: BTreeSet<(&'static str, u64, String)>,
}

/// The findings at a moment. They are lent out, so later ones make a listing of their own.
#[derive(Debug)]
struct Listing {
    findings: Vec<Finding>,
    total: u64,
    next: OnceLock<Box<Self>>,
}

impl Faults {
    pub(crate) fn new(limits: &Limits) -> Self {
        let found = Found { findings: Findings::new(limits), seen: BTreeSet::new() };
        Self { found: Mutex::new(found), first: OnceLock::new() }
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a finding, unless the same was found before.
    pub(crate) fn push(&self, finding: Finding) {
        let mut found = self.found();
        let place = finding.offset.unwrap_or(u64::MAX);
        if found.seen.insert((finding.rule, place, finding.message.clone())) {
            found.findings.push(finding);
        }
    }

    /// What was found so far.
    pub(crate) fn as_slice(&self) -> &[Finding] {
        let found = self.found();
        let mut slot = &self.first;
        while let Some(listing) = slot.get() {
            if listing.total == found.findings.total() {
                return &listing.findings;
            }
            slot = &listing.next;
        }
        let listing = || {
            let (total, findings) = (found.findings.total(), found.findings.clone().into_vec());
            Box::new(Listing { findings, total, next: OnceLock::new() })
        };
        &slot.get_or_init(listing).findings
    }
}

#[cfg(test)]
mod tests {
    use kymo_core::Severity;

    use super::*;

    #[test]
    fn later_findings_are_listed_and_earlier_listings_stay() {
        let faults = Faults::new(&Limits::default());
        assert!(faults.as_slice().is_empty());
        let damaged = Finding::at(Severity::Error, "chunk-crc", 7, "differs");
        faults.push(damaged.clone());
        let first = faults.as_slice();
        faults.push(damaged.clone());
        faults.push(Finding::at(Severity::Error, "chunk-crc", 3, "differs"));
        assert_eq!(first, [damaged]);
        assert_eq!(faults.as_slice().len(), 2);
        assert_eq!(faults.as_slice().as_ptr(), faults.as_slice().as_ptr());
    }
}
