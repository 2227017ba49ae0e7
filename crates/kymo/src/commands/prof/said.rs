//! What was found on the way, and said.

use kymo_core::{Finding, Severity};
use serde_json::Value;

use crate::render::style;
use crate::session::{Outcome, Session};

/// Findings of all inputs, each with the name of what it is about.
#[derive(Debug, Default)]
pub(super) struct Said {
    all: Vec<(String, Finding)>,
}

impl Said {
    /// Keeps findings that were said.
    pub(super) fn add(&mut self, name: &str, findings: Vec<Finding>) {
        self.all.extend(findings.into_iter().map(|finding| (name.to_owned(), finding)));
    }

    /// Says a finding, and keeps it.
    pub(super) fn say(&mut self, session: &mut Session, name: &str, finding: Finding) {
        if finding.severity >= Severity::Warning {
            session.report.finding(name, &finding);
        }
        self.add(name, vec![finding]);
    }

    /// What they mean for the exit code.
    pub(super) fn outcome(&self) -> Outcome {
        let outcomes = self.all.iter().map(|(_, finding)| Outcome::of_one(finding));
        outcomes.max().unwrap_or(Outcome::Done)
    }

    /// The same for a program.
    pub(super) fn json(&self) -> Vec<Value> {
        self.all.iter().map(|(name, finding)| style::finding_json(name, finding)).collect()
    }
}
