//! Findings while reading.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use kymo_core::bytes::Limits;
use kymo_core::{Finding, Findings, Severity};

/// Findings while reading, by rule and a number, so that reading twice finds each once. There are
/// no more than the limits allow, however many events there are.
#[derive(Debug, Default)]
pub(crate) struct ReadFindings(Mutex<FindingStore>);

/// Places that are kept of all findings, to tell how often something was found.
const PLACES_MAX: usize = 1 << 16;

#[derive(Debug, Default)]
struct FindingStore {
    findings: BTreeMap<(&'static str, u64), PlacedFinding>,
    /// The worst of those that there was no room for.
    beyond: Option<Severity>,
    /// Number of places that are kept.
    places: usize,
}

impl FindingStore {
    /// Keeps the first place of something; nothing where there is no room for it.
    fn first(
        &mut self,
        limits: &Limits,
        key: (&'static str, u64),
        place: u64,
        message: impl Fn() -> String,
    ) -> Option<&mut PlacedFinding> {
        let is_full = self.findings.len() >= limits.findings_max;
        let finding = || Finding::at_offset(Severity::Warning, key.0, place, message());
        let told = match self.findings.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(_) if is_full => {
                self.beyond = self.beyond.max(Some(Severity::Warning));
                return None;
            }
            Entry::Vacant(vacant) => vacant.insert(PlacedFinding::new(finding())),
        };
        if told.finding.offset.is_some_and(|first| place < first) {
            told.finding = finding();
        }
        Some(told)
    }
}

/// A finding, and where it was found: reading twice counts a place once.
#[derive(Debug)]
struct PlacedFinding {
    finding: Finding,
    places: BTreeSet<u64>,
    /// True if there are more places than are kept.
    are_more: bool,
}

impl PlacedFinding {
    fn new(finding: Finding) -> Self {
        Self { finding, places: BTreeSet::new(), are_more: false }
    }

    /// The finding, with how often it was found where that was counted.
    fn finding(&self) -> Finding {
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

impl ReadFindings {
    /// Keeps a finding, unless one of its rule and number is known.
    pub(crate) fn keep(
        &self,
        limits: &Limits,
        (rule, number): (&'static str, u64),
        severity: Severity,
        finding: impl FnOnce() -> Finding,
    ) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let FindingStore { findings, beyond, .. } = &mut *kept;
        let is_full = findings.len() >= limits.findings_max;
        match findings.entry((rule, number)) {
            Entry::Occupied(_) => {}
            Entry::Vacant(_) if is_full => *beyond = (*beyond).max(Some(severity)),
            Entry::Vacant(place) => drop(place.insert(PlacedFinding::new(finding()))),
        }
    }

    /// Keeps the first place in the file that something is found at, whichever is read first.
    pub(crate) fn first(
        &self,
        limits: &Limits,
        key: (&'static str, u64),
        place: u64,
        message: impl Fn() -> String,
    ) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.first(limits, key, place, message);
    }

    /// Keeps a finding that is counted: the first place, and how many there are.
    pub(crate) fn count(
        &self,
        limits: &Limits,
        key: (&'static str, u64),
        place: u64,
        message: impl Fn() -> String,
    ) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut places = kept.places;
        let Some(told) = kept.first(limits, key, place, message) else { return };
        if places < PLACES_MAX {
            places += usize::from(told.places.insert(place));
        } else if !told.places.contains(&place) {
            told.are_more = true;
        }
        kept.places = places;
    }

    /// All of them, by their places.
    pub(crate) fn findings(&self, limits: &Limits) -> Vec<Finding> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut findings = Findings::new(limits);
        findings.extend(kept.findings.values().map(PlacedFinding::finding));
        let mut findings = findings.into_vec();
        findings.extend(kept.beyond.map(|worst| {
            Finding::for_whole_file(
                worst,
                "too-many",
                "there are further findings, which are not listed",
            )
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
            (ReadFindings::default(), Limits { findings_max: 2, ..Limits::default() });
        let keep = |number, severity| {
            let finding = || Finding::at_offset(severity, "rule", number, "odd");
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
        let (noticed, limits) = (ReadFindings::default(), Limits::default());
        let count = |place| {
            noticed.count(&limits, ("rule", 0), place, || "odd".to_owned());
        };
        let said = || noticed.findings(&limits).pop().unwrap().message;
        count(5);
        count(5);
        assert_eq!(said(), "odd");
        count(9);
        count(5);
        assert_eq!(said(), "odd (2 times)");
        count(3);
        let first = noticed.findings(&limits).pop().unwrap();
        assert_eq!((first.offset, &*first.message), (Some(3), "odd (3 times)"));
        (0..=PLACES_MAX as u64).for_each(count);
        assert_eq!(said(), "odd (more than 65536 times)");
    }
}
