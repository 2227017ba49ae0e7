//! Findings that came up on the way, and were reported.

use std::io::Write;

use kymo_core::{Finding, Severity};
use serde_json::Value;

use crate::render::style;
use crate::session::{Outcome, Session};

/// Findings of all inputs, each with the name of what it is about.
#[derive(Debug)]
pub(super) struct InputFindings {
    all: Vec<(String, Finding)>,
    /// True if traces were asked for: what is wrong with them is nobody's loss otherwise.
    with_traces: bool,
}

impl InputFindings {
    pub(super) fn new(with_traces: bool) -> Self {
        Self { all: Vec::new(), with_traces }
    }

    /// Says findings of an input, and keeps them. Of those that break one rule the first is said,
    /// with how many more there are. All of them mean that something was left out, which is said
    /// also to those who want to hear of nothing else.
    pub(super) fn report(&mut self, session: &mut Session, name: &str, mut findings: Vec<Finding>) {
        findings.retain(|finding| self.with_traces || !is_of_trace(finding.rule));
        let _ = session.out.flush();
        let mut rules: Vec<(&Finding, u64)> = Vec::new();
        for finding in findings.iter().filter(|finding| finding.severity >= Severity::Warning) {
            let key = |this_finding: &Finding| (this_finding.rule, this_finding.severity);
            match rules.iter_mut().find(|(first, _)| key(first) == key(finding)) {
                Some((_, more)) => *more += 1,
                None => rules.push((finding, 0)),
            }
        }
        for (first, more) in &rules {
            session.report.loss(name, &with_more(first, *more));
        }
        if rules.iter().any(|(_, more)| *more > 0) {
            session.report.hint("--json lists all of them");
        }
        self.all.extend(findings.into_iter().map(|finding| (name.to_owned(), finding)));
    }

    /// Keeps what is no loss and said elsewhere.
    pub(super) fn keep(&mut self, name: &str, finding: Finding) {
        self.all.push((name.to_owned(), finding));
    }

    /// Returns what the findings mean for the exit code.
    pub(super) fn outcome(&self) -> Outcome {
        let outcomes = self.all.iter().map(|(_, finding)| Outcome::from_finding(finding));
        outcomes.max().unwrap_or(Outcome::Done)
    }

    /// The same for a program.
    pub(super) fn json(&self) -> Vec<Value> {
        self.all.iter().map(|(name, finding)| style::finding_json(name, finding)).collect()
    }
}

/// Returns true if a rule is about traces, or about what is missing of a pair with one.
fn is_of_trace(rule: &str) -> bool {
    rule.starts_with("trace") || matches!(rule, "no-trace" | "no-profile")
}

/// A finding that stands for some more of its rule.
fn with_more(first: &Finding, more: u64) -> Finding {
    let mut finding = first.clone();
    if more > 0 {
        finding.message = format!("{}; and {more} more of this rule", first.message);
    }
    finding
}
