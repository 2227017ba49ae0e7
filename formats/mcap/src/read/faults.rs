//! Faults that are found while a file is read, also after it was opened.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kymo_core::bytes::Limits;
use kymo_core::{Finding, Findings};

/// Findings that grow while chunks are read for the first time.
///
/// To decompress every chunk at opening would make opening as slow as reading. So a chunk that
/// turns out to be damaged is passed over when it is read, and found then.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<ChunkFindings>);

#[derive(Debug, Default)]
struct ChunkFindings {
    findings: Findings,
    /// A chunk is read many times, and is damaged once.
    seen: BTreeSet<(&'static str, u64, String)>,
}

impl Faults {
    pub(crate) fn new(limits: &Limits) -> Self {
        let found = ChunkFindings { findings: Findings::new(limits), seen: BTreeSet::new() };
        Self(Mutex::new(found))
    }

    fn found(&self) -> MutexGuard<'_, ChunkFindings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a finding, unless the same was found before.
    pub(crate) fn push(&self, finding: Finding) {
        let mut found = self.found();
        let place = finding.offset.unwrap_or(u64::MAX);
        if found.seen.insert((finding.rule, place, finding.message.clone())) {
            found.findings.push(finding);
        }
    }

    /// Adds what another reader of the same file found, but for what is known of the same place.
    pub(crate) fn adopt(&self, findings: Vec<Finding>) {
        let known = self.to_vec();
        let is_known = |finding: &Finding| {
            let is_same = |this_finding: &Finding| {
                (this_finding.rule, this_finding.offset) == (finding.rule, finding.offset)
            };
            known.iter().any(is_same)
        };
        findings
            .into_iter()
            .filter(|finding| !is_known(finding))
            .for_each(|this_finding| self.push(this_finding));
    }

    /// Returns the findings so far.
    pub(crate) fn to_vec(&self) -> Vec<Finding> {
        self.found().findings.clone().into_vec()
    }
}

#[cfg(test)]
mod tests {
    use kymo_core::Severity;

    use super::*;

    #[test]
    fn the_same_is_found_once() {
        let faults = Faults::new(&Limits::default());
        assert!(faults.to_vec().is_empty());
        let damaged = Finding::at_offset(Severity::Error, "chunk-crc", 7, "differs");
        faults.push(damaged.clone());
        faults.push(damaged.clone());
        assert_eq!(faults.to_vec(), [damaged]);
    }
}
