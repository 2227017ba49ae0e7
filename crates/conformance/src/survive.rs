//! Any bytes at all: an answer or an error with an offset, never a panic.

mod walk;

use std::collections::HashSet;

use kymo_core::bytes::{Limits, ReadErrorKind};
use kymo_core::{Context, Error, Finding, Result, Severity, Source};
use kymo_model::{Capability, Dataset, Format};

use crate::findings::worst;
use crate::{Folder, repaired};

use walk::{views, walk};

/// Of so many inputs, one is repaired: that writes a file, which takes longer than all the rest.
const REPAIR_EVERY: u32 = 8;

/// The rule of the finding that counts those not listed.
const TOO_MANY: &str = "too-many";

/// Does everything a format can do with some bytes, under [`Limits::tight`], and panics where a
/// promise is broken: the body of the fuzz target.
///
/// What is done depends on the bytes alone, so that a crash can be repeated.
///
/// Bytes that [`Folder::packed`] made are fed as a folder.
pub fn survive(format: &dyn Format, bytes: &[u8]) {
    if let Some(folder) = Folder::unpacked(bytes) {
        answers(format, &folder.source(), folder.largest());
        return;
    }
    let source = Source::from_bytes("", bytes.to_vec());
    answers(format, &source, source.size_bytes());
    let sum = bytes.iter().fold(0_u32, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    if sum.is_multiple_of(REPAIR_EVERY) {
        repair_is_sound(format, bytes);
    }
}

/// Opens, walks, checks and salvages, and writes nothing.
pub(crate) fn exercise(format: &dyn Format, bytes: &[u8]) {
    let source = Source::from_bytes("", bytes.to_vec());
    exercise_source(format, &source, source.size_bytes());
}

/// As [`exercise`], of a file or a folder; no offset is beyond `size_bytes`.
pub(crate) fn exercise_source(format: &dyn Format, source: &Source, size_bytes: u64) {
    let (reported, found) = answers(format, source, size_bytes);
    assert_reported(&reported, &found);
}

/// Opens, walks, checks and salvages. Returns what the dataset reports, and what `check` finds.
fn answers(format: &dyn Format, source: &Source, size_bytes: u64) -> (Vec<Finding>, Vec<Finding>) {
    let mut reported = Vec::new();
    let context = Context::with_limits(Limits::tight());
    // Of a folder only the largest file is measured.
    let stored_bytes = if source.is_directory() { u64::MAX } else { size_bytes };
    // What it says is another promise; here it must only answer.
    let _ = format.sniff(&source.probe());
    let found = check_source(format, source, &context, size_bytes);
    let opened = format.open(source, &context);
    match &opened {
        // What is no folder of the format at all is refused as a whole.
        Err(Error::Request(_)) if source.is_directory() => return (reported, found),
        Ok(dataset) => {
            walk_through(&**dataset, size_bytes, stored_bytes);
            reported.extend(dataset.findings());
        }
        Err(error) => {
            assert_offset(error, size_bytes);
            assert!(
                worst(&found) == Some(Severity::Error),
                "check finds no error in what open refuses with: {error}"
            );
        }
    }
    if format.info().can(Capability::Repair) {
        let salvaged = format.salvage(source, &context);
        let salvaged = salvaged.unwrap_or_else(|error| panic!("salvage fails: {error}"));
        // What opens is salvaged as it is.
        if opened.is_err() {
            walk_through(&*salvaged, size_bytes, stored_bytes);
        }
    }
    (reported, found)
}

/// Checks, which must succeed whatever the bytes are.
pub(crate) fn check(format: &dyn Format, source: &Source, context: &Context<'_>) -> Vec<Finding> {
    check_source(format, source, context, source.size_bytes())
}

fn check_source(
    format: &dyn Format,
    source: &Source,
    context: &Context<'_>,
    size_bytes: u64,
) -> Vec<Finding> {
    let found = match format.check(source, context) {
        Err(Error::Request(_)) if source.is_directory() => return Vec::new(),
        found => found.unwrap_or_else(|error| panic!("check fails: {error}")),
    };
    assert_findings(&found, size_bytes);
    found
}

/// Checks that the output of repair opens, has what salvage read, and has no errors.
pub(crate) fn repair_is_sound(format: &dyn Format, bytes: &[u8]) {
    if !format.info().can(Capability::Repair) {
        return;
    }
    let source = Source::from_bytes("", bytes.to_vec());
    let context = Context::with_limits(Limits::tight());
    let (_, written) = match repaired(format, &source, &context) {
        Ok(written) => written,
        // Where nothing is left there is nothing to write.
        Err(Error::Request(_)) => return,
        Err(error) => panic!("repair fails: {error}"),
    };
    let written = Source::from_bytes("", written);
    let found = check(format, &written, &context);
    assert!(worst(&found) < Some(Severity::Error), "what repair wrote has errors: {found:?}");
    let opened = format.open(&written, &context);
    let opened = opened.unwrap_or_else(|error| panic!("what repair wrote is refused: {error}"));
    walk_through(&*opened, written.size_bytes(), written.size_bytes());
}

/// Fails unless an error says at which byte of the file it arose.
pub(crate) fn assert_offset(error: &Error, size_bytes: u64) {
    match error {
        Error::Read(error) | Error::ReadIn { error, .. } => {
            assert!(
                error.offset <= size_bytes,
                "an error beyond the end, {size_bytes:#x}: {error}"
            );
        }
        other => panic!("an error without an offset: {other}"),
    }
}

/// Checks that a recording that opens can be read, unless a single value is over the limits. Views
/// may meet faults that opening did not look for: they refuse them with their offset, or with the
/// reason.
fn walk_through(dataset: &dyn Dataset, size_bytes: u64, stored_bytes: u64) {
    assert_findings(&dataset.findings(), size_bytes);
    let walked: Result<()> = walk(dataset, stored_bytes == u64::MAX);
    if let Err(error) = walked {
        let over = matches!(&error, Error::Read(error) | Error::ReadIn { error, .. }
            if matches!(error.kind, ReadErrorKind::OverLimit { .. }));
        assert!(over, "it opens, and cannot be read: {error}");
        assert_offset(&error, size_bytes);
    }
    match views(dataset, stored_bytes) {
        Ok(()) | Err(Error::Request(_)) => {}
        Err(error) => assert_offset(&error, size_bytes),
    }
    assert_findings(&dataset.findings(), size_bytes);
}

/// Whatever a dataset reports while all of it is read, `check` reports too: the same rule of the
/// same file at the same byte. `check` may count what it does not list.
fn assert_reported(reported: &[Finding], checked: &[Finding]) {
    if checked.iter().any(|finding| finding.rule == TOO_MANY) {
        return;
    }
    let place = |finding: &Finding| (finding.rule, finding.file.clone(), finding.offset);
    let checked: HashSet<_> = checked.iter().map(place).collect();
    for finding in reported.iter().filter(|finding| finding.rule != TOO_MANY) {
        assert!(checked.contains(&place(finding)), "check does not report this: {finding:?}");
    }
}

fn assert_findings(findings: &[Finding], size_bytes: u64) {
    for finding in findings {
        assert!(
            finding.offset.is_none_or(|offset| offset <= size_bytes),
            "a finding beyond the end: {finding:?}"
        );
    }
}
