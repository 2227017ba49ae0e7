//! What was found while reading.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use kymo_core::bytes::Limits;
use kymo_core::{Finding, Findings, Severity};

/// What was found while reading, by its rule and a number, so that reading twice finds it once.
/// There are no more than the limits allow, however many events there are.
#[derive(Debug, Default)]
pub(crate) struct Noticed(Mutex<Kept>);

/// Places that are kept of all findings, to tell how often something was found.
const PLACES_MAX: usize = 1 << 16;

#[derive(Debug, Default)]
struct Kept {
    findings: BTreeMap<(&'static str, u64), Told>,
    /// The worst of those that there was no room for.
    beyond: Option<Severity>,
    /// How many places are kept.
    places: usize,
}

/// A finding, and where it was found: reading twice counts a place once.
#[derive(Debug)]
struct Told {
    finding: Finding,
    places: BTreeSet<u64>,
    /// True if there are more places than are kept.
    are_more: bool,
}

impl Told {
    fn new(finding: Finding) -> Self {
        Self { finding, places: BTreeSet::new(), are_more: false }
    }

    /// The finding, with how often it was found where that was counted.
    fn said(&self) -> Finding {
        let mut finding = self.finding.clone();
        let often = match (self.places.len(), self.are_more) {
            (0 | 1, false) => return finding,
            (0 | 1, true) => "several".to_owned(),
            (count, false) => count.to_string(),
            (count, true) => format!("more than {count}"),
        };
        finding.message = format!("{} ({often} times)", finding.message);
        finding
    }
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
        let Kept { findings, beyond, .. } = &mut *kept;
        let is_full = findings.len() >= limits.findings_max;
        match findings.entry((rule, number)) {
            Entry::Occupied(_) => {}
            Entry::Vacant(_) if is_full => *beyond = (*beyond).max(Some(severity)),
            Entry::Vacant(place) => drop(place.insert(Told::new(finding()))),
        }
    }

    /// Keeps a finding that is counted: how many places it was found at.
    pub(crate) fn count(
        &self,
        limits: &Limits,
        key: (&'static str, u64),
        place: u64,
        finding: impl FnOnce() -> Finding,
    ) {
        self.keep(limits, key, Severity::Warning, finding);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Kept { findings, places, .. } = &mut *kept;
        let Some(told) = findings.get_mut(&key) else { return };
        if *places < PLACES_MAX {
            *places += usize::from(told.places.insert(place));
        } else if !told.places.contains(&place) {
            told.are_more = true;
        }
    }

    /// All of them, by their places.
    pub(crate) fn findings(&self, limits: &Limits) -> Vec<Finding> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut findings = Findings::new(limits);
        findings.extend(kept.findings.values().map(Told::said));
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

    #[test]
    fn a_place_counts_once_however_often_it_is_read() {
        let (noticed, limits) = (Noticed::default(), Limits::default());
        let count = |place| {
            let finding = || Finding::at(Severity::Warning, "rule", place, "odd");
            noticed.count(&limits, ("rule", 0), place, finding);
        };
        let said = || noticed.findings(&limits).pop().unwrap().message;
        count(5);
        count(5);
        assert_eq!(said(), "odd");
        count(9);
        count(5);
        assert_eq!(said(), "odd (2 times)");
        (0..=PLACES_MAX as u64).for_each(count);
        assert_eq!(said(), "odd (more than 65536 times)");
    }
}
