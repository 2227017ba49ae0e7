//! What is wrong with a file, or odd about it, and at which byte.

use serde::Serialize;

use crate::bytes::{Limits, ReadError};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A known quirk of a writer, or a fact worth knowing. A sound file may have notes.
    Note,
    /// Readable, but against the format's rules, or probably not what was meant.
    Warning,
    /// Data that cannot be read, or must not be trusted.
    Error,
}

impl Severity {
    /// The word a person reads.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing found in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The rule that was broken, a short stable name: `element-length`.
    pub rule: &'static str,
    /// The byte of the file where it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The file within a directory, when the source is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What is wrong, in a sentence without full stop.
    pub message: String,
}

impl Finding {
    /// A finding at a byte.
    pub fn at(
        severity: Severity,
        rule: &'static str,
        offset: u64,
        message: impl Into<String>,
    ) -> Self {
        Self { severity, rule, offset: Some(offset), file: None, message: message.into() }
    }

    /// A finding about the file as a whole.
    pub fn whole(severity: Severity, rule: &'static str, message: impl Into<String>) -> Self {
        Self { severity, rule, offset: None, file: None, message: message.into() }
    }

    /// An unreadable place as a finding, for checks that go on where opening stops.
    #[must_use]
    pub fn unreadable(rule: &'static str, error: &ReadError) -> Self {
        let message = format!("{}: {}", error.what, error.kind);
        Self::at(Severity::Error, rule, error.offset, message)
    }
}

/// Collects findings up to a limit, and counts the rest.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    kept: Vec<Finding>,
    max: usize,
    beyond: u64,
    worst: Option<Severity>,
}

impl Findings {
    /// Keeps as many findings one by one as the limits allow.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { max: limits.findings_max, ..Self::default() }
    }

    /// Adds a finding, or counts it when there are too many already.
    pub fn push(&mut self, finding: Finding) {
        self.worst = self.worst.max(Some(finding.severity));
        if self.kept.len() < self.max {
            self.kept.push(finding);
        } else {
            self.beyond += 1;
        }
    }

    /// Whether the message of a further finding would be kept, for callers to whom it is costly.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.kept.len() < self.max
    }

    /// What was kept so far, in the order it was found.
    #[must_use]
    pub fn as_slice(&self) -> &[Finding] {
        &self.kept
    }

    /// The findings in order of their offsets, with a last one that counts those not kept.
    #[must_use]
    pub fn into_vec(mut self) -> Vec<Finding> {
        self.kept.sort_by_key(|finding| finding.offset.unwrap_or(u64::MAX));
        if let (true, Some(worst)) = (self.beyond > 0, self.worst) {
            let message = format!("{} further findings are not listed", self.beyond);
            self.kept.push(Finding::whole(worst, "too-many", message));
        }
        self.kept
    }
}

impl Extend<Finding> for Findings {
    fn extend<T: IntoIterator<Item = Finding>>(&mut self, findings: T) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_beyond_the_limit_are_counted_not_kept() {
        let limits = Limits { findings_max: 2, ..Limits::default() };
        let mut findings = Findings::new(&limits);
        for offset in [30, 20, 10, 0] {
            findings.push(Finding::at(Severity::Warning, "rule", offset, "odd"));
        }
        let listed = findings.into_vec();
        assert_eq!(listed.len(), 3);
        assert_eq!(listed[0].offset, Some(20));
        assert_eq!(listed[2].message, "2 further findings are not listed");
    }
}
