//! What was found on the way, and said.

use std::io::Write;

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
    /// Says findings of an input, and keeps them. Errors mean that something was left out, which is
    /// said also to those who want to hear of nothing else.
    pub(super) fn say_all(&mut self, session: &mut Session, name: &str, findings: Vec<Finding>) {
        let _ = session.out.flush();
        session.report.findings(name, &findings);
        let errors = findings.iter().filter(|finding| finding.severity >= Severity::Error);
        let is_quiet = session.report.is_quiet();
        for error in errors.filter(|_| is_quiet) {
            session.report.loss(name, error);
        }
        self.add(name, findings);
    }

    /// Keeps findings that were said.
    fn add(&mut self, name: &str, findings: Vec<Finding>) {
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
