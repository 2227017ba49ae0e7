//! Limits: what is over them is refused or said, never left out in silence.

use kymo_core::bytes::Limits;
use kymo_core::{Context, Error, Result, Severity, Source};

use crate::findings::worst;
use crate::promise::{self, Cases};
use crate::{Captured, Sample, Subject, capture};

/// Under lowered limits a sound sample gives the same records, or an error, or says what it
/// left out. Where it has several records, an index of one is too small and must be told.
/// Nothing, and a folder, give an empty dataset or a clear error.
pub fn limits_are_respected(subject: &Subject) {
    let this = subject.clone();
    promise::each(subject.sound(), move |sample, cases| {
        lower(&this, sample, cases);
    });
    odd_sources_are_answered(subject);
}

fn lower(subject: &Subject, sample: &Sample, cases: &mut Cases) {
    let usual = Limits::default();
    let whole = attempt(subject, sample, usual).map(|(records, _)| records);
    let whole = whole.unwrap_or_else(|error| panic!("it does not open: {error}"));
    for (name, limits) in lowered() {
        cases.begin(|| format!("{}, {name}", sample.name));
        match attempt(subject, sample, limits) {
            Ok((_, true)) => {}
            Ok((records, false)) => {
                let small = limits.items_max < usual.items_max && whole.len() > 2;
                assert!(!small, "{} records pass in silence", whole.len());
                assert!(records == whole, "records are left out in silence");
            }
            Err(error) => assert!(
                matches!(error, Error::Read(_) | Error::ReadIn { .. }),
                "an error without an offset: {error}"
            ),
        }
        few_findings(subject, sample, limits);
    }
}

/// Limits with one of them next to nothing.
fn lowered() -> [(&'static str, Limits); 5] {
    let usual = Limits::default;
    [
        ("items_max 0", Limits { items_max: 0, ..usual() }),
        ("items_max 1", Limits { items_max: 1, ..usual() }),
        ("value_bytes_max 0", Limits { value_bytes_max: 0, ..usual() }),
        ("value_bytes_max 5", Limits { value_bytes_max: 5, ..usual() }),
        ("findings_max 0", Limits { findings_max: 0, ..usual() }),
    ]
}

/// The records as text, and whether the dataset says that something is missing.
fn attempt(subject: &Subject, sample: &Sample, limits: Limits) -> Result<(Vec<String>, bool)> {
    let context = Context::with_limits(limits);
    let dataset = subject.format.open(&sample.source(), &context)?;
    let records = capture(&*dataset)?;
    let said = worst(&dataset.findings()) >= Some(Severity::Warning);
    Ok((records.iter().map(Captured::to_string).collect(), said))
}

/// A check lists as many findings as the limits allow, and one that counts the rest.
fn few_findings(subject: &Subject, sample: &Sample, limits: Limits) {
    let context = Context::with_limits(limits);
    let found = subject.format.check(&sample.source(), &context);
    let found = found.unwrap_or_else(|error| panic!("check fails: {error}"));
    assert!(
        found.len() <= limits.findings_max.saturating_add(1),
        "{} findings for a limit of {}",
        found.len(),
        limits.findings_max
    );
}

fn odd_sources_are_answered(subject: &Subject) {
    let (format, context) = (subject.format, Context::default());
    if let Ok(dataset) = format.open(&Source::from_bytes("empty", Vec::new()), &context) {
        let records = capture(&*dataset).expect("the records of an empty file");
        assert!(records.is_empty(), "an empty file has {records:?}");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = Source::open(folder.path(), &context.limits).expect("a folder");
    let opened = format.open(&folder, &context).map(drop);
    let error = opened.expect_err("an empty folder is no recording");
    assert!(!error.to_string().is_empty(), "an error without words");
    // An error or findings, as the format sees fit.
    let _ = format.check(&folder, &context);
}
