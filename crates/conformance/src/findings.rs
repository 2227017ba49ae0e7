//! Findings as reviewed.

use std::fmt::Write;

use kymo_core::{Context, Finding, Severity};

use crate::dumps::FINDINGS;
use crate::{Sample, Subject, golden, promise};

/// Checks that the findings of `check` in each sample, sound or not, are those in
/// `testdata/<format>/golden/findings.txt`. Sound samples have nothing above a note, unless listed
/// as warned about; unsound ones have.
pub fn findings_are_as_reviewed(subject: &Subject) {
    let this = subject.clone();
    promise::each(subject.samples(), move |sample, _| {
        severity_fits(&this, sample);
    });
    let samples = subject.samples();
    let text: String = samples.iter().map(|sample| section(subject, sample)).collect();
    golden::assert(subject.golden(FINDINGS), &text);
}

/// Returns the findings of `check` in a sample.
pub(crate) fn findings(subject: &Subject, sample: &Sample) -> Vec<Finding> {
    let found = subject.format.check(&sample.source(), &Context::default());
    found.unwrap_or_else(|error| panic!("it cannot be checked: {error}"))
}

/// The worst of some findings.
pub(crate) fn worst(findings: &[Finding]) -> Option<Severity> {
    findings.iter().map(|finding| finding.severity).max()
}

fn severity_fits(subject: &Subject, sample: &Sample) {
    let found = findings(subject, sample);
    let list = || found.iter().map(line).collect::<String>();
    let may_be = match (subject.is_sound(sample), subject.is_warned(sample)) {
        (true, false) => worst(&found) <= Some(Severity::Note),
        (true, true) => worst(&found) == Some(Severity::Warning),
        (false, _) => worst(&found) >= Some(Severity::Warning),
    };
    let kind = if subject.is_sound(sample) { "sound" } else { "unsound" };
    assert!(may_be, "it is {kind}, and these are the findings:\n{}", list());
}

fn section(subject: &Subject, sample: &Sample) -> String {
    let found = findings(subject, sample);
    let mut text = format!("{}\n", sample.name);
    text.extend(found.iter().map(line));
    if found.is_empty() {
        text.push_str("  nothing\n");
    }
    text.push('\n');
    text
}

fn line(finding: &Finding) -> String {
    let mut line = format!("  {} {}", finding.severity.name(), finding.rule);
    if let Some(offset) = finding.offset {
        let _ = write!(line, " at {offset:#x}");
    }
    if let Some(file) = &finding.file {
        let _ = write!(line, " in {file}");
    }
    let _ = writeln!(line, ": {}", finding.message);
    line
}
