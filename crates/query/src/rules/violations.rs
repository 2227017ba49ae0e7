//! Places where rules do not hold.

use kymo_model::timeline::{TimeNs, TrackId};

use super::EventSelector;
use super::deadlines::Deadline;

/// Violations of a rule that are told one by one; the rest are counted.
const TOLD_MAX: u64 = 1000;

/// Place where a rule does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule's place among all.
    pub rule: usize,
    /// Time of the violation.
    pub time: Option<TimeNs>,
    /// On which track.
    pub track: Option<TrackId>,
    /// The byte of the event that shows it.
    pub offset: Option<u64>,
    /// Description of what is wrong.
    pub what: String,
    /// Duration in nanoseconds, where that is wrong.
    pub took_ns: Option<u64>,
    /// Longest duration allowed.
    pub most_ns: Option<u64>,
}

impl Violation {
    /// Describes what is wrong in one sentence, with times as a person reads them.
    #[must_use]
    pub fn message(&self, shown: impl Fn(u64) -> String) -> String {
        let what = &self.what;
        match (self.took_ns.map(&shown), self.most_ns.map(&shown)) {
            (Some(took), Some(most)) => format!("{what} {took}, more than {most}"),
            (None, Some(most)) => format!("{what} {most}"),
            _ => what.clone(),
        }
    }
}

/// The event that shows a violation.
#[derive(Debug, Clone, Copy)]
pub(super) struct ViolationSite {
    pub(super) time: TimeNs,
    pub(super) track: TrackId,
    pub(super) offset: Option<u64>,
}

/// Violations as they are found.
pub(super) struct Violations {
    list: Vec<Violation>,
    /// Number of violations of each rule.
    counts: Vec<u64>,
}

/// Takes violations of one rule at one place.
pub(super) struct RuleViolations<'a> {
    found: &'a mut Violations,
    rule: usize,
    site: Option<ViolationSite>,
}

impl Violations {
    pub(super) fn new(rules: usize) -> Self {
        Self { list: Vec::new(), counts: vec![0; rules] }
    }

    pub(super) fn for_rule(
        &mut self,
        rule: usize,
        at: Option<ViolationSite>,
    ) -> RuleViolations<'_> {
        RuleViolations { found: self, rule, site: at }
    }

    /// Returns the violations, by time, and the number of further violations for each rule.
    pub(super) fn sorted(mut self) -> (Vec<Violation>, Vec<u64>) {
        self.list
            .sort_by_key(|violation| (violation.time.is_none(), violation.time, violation.rule));
        let more = self.counts.iter().map(|count| count.saturating_sub(TOLD_MAX));
        (self.list, more.collect())
    }
}

impl RuleViolations<'_> {
    pub(super) fn set_site(&mut self, time: TimeNs, track: TrackId) -> &mut Self {
        self.site = Some(ViolationSite { time, track, offset: None });
        self
    }

    pub(super) fn add(&mut self, what: String) {
        self.push(what, None, None);
    }

    /// Adds a violation where a time is longer than it may be.
    pub(super) fn limit(&mut self, what: &str, ns: u64, most: u64) {
        if ns > most {
            self.push(what.to_owned(), Some(ns), Some(most));
        }
    }

    /// The same where there may be no limit. Tells whether it is a violation.
    pub(super) fn maybe_limit(&mut self, what: &str, ns: u64, most: Option<u64>) -> bool {
        let Some(most) = most else { return false };
        self.limit(what, ns, most);
        ns > most
    }

    /// Adds a violation: something did not come in time.
    pub(super) fn missing(&mut self, what: String, within: u64) {
        self.push(what, None, Some(within));
    }

    pub(super) fn due(&mut self, due: &Deadline, expected: &EventSelector, within: u64) {
        let before = self.site;
        self.site =
            Some(ViolationSite { time: due.since, track: due.track, offset: Some(due.offset) });
        self.missing(format!("no {} came within", expected.name), within);
        self.site = before;
    }

    fn push(&mut self, what: String, took_ns: Option<u64>, most_ns: Option<u64>) {
        let Some(count) = self.found.counts.get_mut(self.rule) else { return };
        *count += 1;
        if *count > TOLD_MAX {
            return;
        }
        let (time, track) = (self.site.map(|at| at.time), self.site.map(|at| at.track));
        let offset = self.site.and_then(|at| at.offset);
        let rule = self.rule;
        self.found.list.push(Violation { rule, time, track, offset, what, took_ns, most_ns });
    }
}
