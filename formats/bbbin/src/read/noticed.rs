//! What was found while reading.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Mutex, PoisonError};

use kymo_core::bytes::Limits;
use kymo_core::{Finding, Findings, Severity};

/// What was found while reading, by its rule and a number, so that reading twice finds it once.
/// There are no more than the limits allow, however many events there are.
#[derive(Debug, Default)]
pub(crate) struct Noticed(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    findings: BTreeMap<(&'static str, u64), Finding>,
    /// The worst of those that there was no room for.
    beyond: Option<Severity>,
}

impl Noticed {
    /// Keeps a finding, unless one of its rule and number is known.
    pub(crate) fn keep(
        &self,
        limits: &Limits,
        (rule, number): (&'static str, u64),
        severity: Severity,
        finding: impl FnOnce() -> Finding,
    ) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Kept { findings, beyond } = &mut *kept;
        let is_full = findings.len() >= limits.findings_max;
        match findings.entry((rule, number)) {
            Entry::Occupied(_) => {}
            Entry::Vacant(_) if is_full => *beyond = (*beyond).max(Some(severity)),
            Entry::Vacant(place) => drop(place.insert(finding())),
        }
    }

    /// All of them, by their places.
    pub(crate) fn findings(&self, limits: &Limits) -> Vec<Finding> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut findings = Findings::new(limits);
        findings.extend(kept.findings.values().cloned());
        let mut findings = findings.into_vec();
        findings.extend(kept.beyond.map(|worst| {
            Finding::whole(worst, "too-many", "there are further findings, which are not listed")
        }));
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_than_the_limits_allow_and_that_is_said() {
        let (noticed, limits) =
            (Noticed::default(), Limits { findings_max: 2, ..Limits::default() });
        let keep = |number, severity| {
            let finding = || Finding::at(severity, "rule", number, "odd");
            noticed.keep(&limits, ("rule", number), severity, finding);
        };
        for number in [7, 5, 7] {
            keep(number, Severity::Warning);
        }
        let offsets = || -> Vec<_> {
            noticed.findings(&limits).iter().map(|it| (it.severity, it.offset)).collect()
        };
        let warning = Severity::Warning;
        assert_eq!(offsets(), [(warning, Some(5)), (warning, Some(7))]);
        keep(9, Severity::Error);
        keep(9, Severity::Note);
        assert_eq!(offsets()[2..], [(Severity::Error, None)]);
    }
}
