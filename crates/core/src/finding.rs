//! Findings: something wrong with a file, or odd about it, and the byte at which it is.

use std::borrow::Cow;

use serde::Serialize;

use crate::bytes::{Limits, ReadError};

/// Severity of a finding.
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
    /// Severity of this finding.
    pub severity: Severity,
    /// The rule that was broken, a short stable name: `element-length`.
    pub rule: &'static str,
    /// The byte of the file where it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The file within a directory, when the source is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Description of the fault, in a sentence without full stop.
    pub message: String,
}

impl Finding {
    /// A finding at a byte.
    pub fn at_offset(
        severity: Severity,
        rule: &'static str,
        offset: u64,
        message: impl Into<String>,
    ) -> Self {
        Self { severity, rule, offset: Some(offset), file: None, message: message.into() }
    }

    /// A finding about the file as a whole.
    pub fn for_whole_file(
        severity: Severity,
        rule: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self { severity, rule, offset: None, file: None, message: message.into() }
    }

    /// An unreadable place as a finding, for checks that go on where opening stops.
    #[must_use]
    pub fn unreadable(rule: &'static str, error: &ReadError) -> Self {
        let message = format!("{}: {}", error.what, error.kind);
        Self::at_offset(Severity::Error, rule, error.offset, message)
    }
}

/// Collects findings up to a limit, and counts the rest.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    kept: Vec<Finding>,
    max: usize,
    beyond: OmittedCounts,
}

/// Number of findings that were not kept, by severity.
#[derive(Debug, Clone, Copy, Default)]
struct OmittedCounts {
    errors: u64,
    warnings: u64,
    notes: u64,
}

impl Findings {
    /// Keeps as many findings one by one as the limits allow.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { max: limits.findings_max, ..Self::default() }
    }

    /// Adds a finding, or counts it when there are too many already.
    pub fn push(&mut self, finding: Finding) {
        if self.kept.len() < self.max {
            self.kept.push(finding);
            return;
        }
        self.count(finding.severity, 1);
    }

    /// Counts findings that nobody kept.
    pub fn count(&mut self, severity: Severity, times: u64) {
        match severity {
            Severity::Error => self.beyond.errors += times,
            Severity::Warning => self.beyond.warnings += times,
            Severity::Note => self.beyond.notes += times,
        }
    }

    /// Adds what another found further on: what it keeps, and how many it does not.
    pub fn merge(&mut self, next: Self) {
        self.extend(next.kept);
        self.beyond.errors += next.beyond.errors;
        self.beyond.warnings += next.beyond.warnings;
        self.beyond.notes += next.beyond.notes;
    }

    /// Returns the number of findings, kept or not.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.kept.len() as u64 + self.beyond.total()
    }

    /// Returns true if the message of a further finding would be kept, for callers to whom it is
    /// costly.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.kept.len() < self.max
    }

    /// Returns the findings kept so far, in the order in which they were found.
    #[must_use]
    pub fn as_slice(&self) -> &[Finding] {
        &self.kept
    }

    /// The findings in order of their offsets, with a last one that counts those not kept and is
    /// as bad as the worst of them.
    #[must_use]
    pub fn into_vec(mut self) -> Vec<Finding> {
        self.kept.sort_by_key(|finding| finding.offset.unwrap_or(u64::MAX));
        self.kept.extend(self.beyond.finding());
        self.kept
    }
}

impl OmittedCounts {
    fn total(self) -> u64 {
        self.errors + self.warnings + self.notes
    }

    fn finding(self) -> Option<Finding> {
        let counts = [
            (self.errors, Severity::Error),
            (self.warnings, Severity::Warning),
            (self.notes, Severity::Note),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let (_, worst) = counts.clone().next()?;
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let kinds = counts.map(|(n, kind)| format!("{n} {}{}", kind.name(), plural(n)));
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        let total = self.total();
        let are = if total == 1 { "is" } else { "are" };
        let message = format!("{total} further finding{} {are} not listed: {kinds}", plural(total));
        Some(Finding::for_whole_file(worst, "too-many", message))
    }
}

/// Number of characters of a name or a value that are shown in a message.
const SHOWN_CHARACTERS: usize = 80;

/// A name or a value from a file for use in a message: at most its first 80 characters, with `…`
/// where something was cut off.
///
/// Names in damaged files can have millions of characters, and there can be thousands of
/// findings that name them.
///
/// ```
/// assert_eq!(kymo_core::shortened("/temperature"), "/temperature");
/// assert_eq!(kymo_core::shortened(&"x".repeat(1000)).chars().count(), 81);
/// ```
#[must_use]
pub fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
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
            findings.push(Finding::at_offset(Severity::Warning, "rule", offset, "odd"));
        }
        let listed = findings.into_vec();
        assert_eq!(listed.len(), 3);
        assert_eq!(listed[0].offset, Some(20));
        assert_eq!(listed[2].message, "2 further findings are not listed: 2 warnings");
    }

    #[test]
    fn what_is_not_kept_is_counted_by_severity() {
        let limits = Limits { findings_max: 1, ..Limits::default() };
        let item = |severities: &[Severity]| {
            let mut findings = Findings::new(&limits);
            let new = |severity: &Severity| Finding::for_whole_file(*severity, "rule", "odd");
            findings.extend(severities.iter().map(new));
            let total = findings.total();
            (total, findings.into_vec().pop().unwrap())
        };
        let (error, warning, note) = (Severity::Error, Severity::Warning, Severity::Note);
        let (total, last) = item(&[error, note, error, warning, note]);
        assert_eq!((total, last.severity, last.rule), (5, error, "too-many"));
        let expected = "4 further findings are not listed: 1 error, 1 warning, 2 notes";
        assert_eq!(last.message, expected);
        // It is no worse than what it stands for.
        let (total, last) = item(&[error, note]);
        assert_eq!((total, last.severity), (2, note));
        assert_eq!(last.message, "1 further finding is not listed: 1 note");
        let (total, last) = item(&[error]);
        assert_eq!((total, last.rule), (1, "rule"));
        let mut counted = Findings::new(&limits);
        counted.count(warning, 7);
        assert_eq!(counted.total(), 7);
        let last = counted.into_vec().pop().unwrap();
        assert_eq!(last.message, "7 further findings are not listed: 7 warnings");
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let exactly = "ä".repeat(80);
        assert_eq!(shortened(&exactly), exactly);
        assert_eq!(shortened(&format!("{exactly}b")), format!("{exactly}…"));
        assert_eq!(shortened(""), "");
    }
}
