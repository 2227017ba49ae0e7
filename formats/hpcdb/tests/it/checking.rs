//! What `check` says: nothing about sound databases, and where damage is.

use std::fs;
use std::path::{Path, PathBuf};

use kymo_conformance::{shared, testdata};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Finding, Severity, Source};
use kymo_hpcdb::HpcDb;
use kymo_model::Format;

fn check(path: &Path) -> Vec<Finding> {
    let source = Source::open(path, &Limits::default()).unwrap();
    HpcDb.check(&source, &Context::default()).unwrap()
}

/// Every folder below one that has a `meta.db`.
fn databases(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.join("meta.db").exists() {
            found.push(path);
        } else if path.is_dir() {
            databases(&path, found);
        }
    }
}

#[test]
fn every_sound_database_passes() {
    let Some(folder) = shared::file("hpctoolkit") else { return };
    let mut found = Vec::new();
    databases(&folder, &mut found);
    assert!(found.len() >= 40, "{}", found.len());
    for path in found {
        let wrong = check(&path).into_iter().filter(|found| found.severity > Severity::Note);
        let wrong: Vec<_> = wrong.collect();
        assert!(wrong.is_empty(), "{}: {wrong:#?}", path.display());
    }
}

/// The sample as a folder of its own, to be damaged.
fn sample() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["meta.db", "profile.db", "cct.db", "trace.db"] {
        fs::copy(testdata("hpcdb/matmul-omp").join(file), folder.path().join(file)).unwrap();
    }
    folder
}

fn change(folder: &Path, file: &str, body: impl FnOnce(&mut Vec<u8>)) {
    let path = folder.join(file);
    let mut bytes = fs::read(&path).unwrap();
    body(&mut bytes);
    fs::write(path, bytes).unwrap();
}

fn u64_at(bytes: &[u8], at: usize) -> usize {
    usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap()
}

/// Damages one file of the sample, and tells the rules that are broken then, above notes.
fn broken(file: &str, body: impl FnOnce(&mut Vec<u8>)) -> Vec<(&'static str, Option<String>)> {
    let folder = sample();
    change(folder.path(), file, body);
    let findings = check(folder.path()).into_iter();
    let findings = findings.filter(|finding| finding.severity > Severity::Note);
    let mut rules: Vec<_> = findings.map(|finding| (finding.rule, finding.file)).collect();
    rules.dedup();
    rules
}

fn rule(rule: &'static str, file: &str) -> (&'static str, Option<String>) {
    (rule, Some(file.to_owned()))
}

#[test]
fn the_sample_passes() {
    assert_eq!(broken("meta.db", |_| {}), []);
}

#[test]
fn a_value_that_was_changed_is_not_that_of_the_other_file() {
    let rules = broken("cct.db", |bytes| {
        let contexts = u64_at(bytes, u64_at(bytes, 0x18));
        let with_values = (0..).map(|index| contexts + 32 * index);
        let context = with_values.into_iter().find(|&at| u64_at(bytes, at) > 0).unwrap();
        let value = u64_at(bytes, context + 8) + 4;
        bytes[value..value + 8].copy_from_slice(&77.0_f64.to_le_bytes());
    });
    assert_eq!(rules, [rule("transpose", "cct.db")]);
}

#[test]
fn a_file_without_its_end_is_told() {
    for file in ["meta.db", "profile.db", "cct.db", "trace.db"] {
        let rules = broken(file, |bytes| bytes.truncate(bytes.len() - 1));
        assert!(rules.contains(&rule("unreadable", file)), "{file}: {rules:?}");
    }
}

#[test]
fn a_sample_that_goes_back_in_time_is_told() {
    let rules = broken("trace.db", |bytes| {
        let traces = u64_at(bytes, u64_at(bytes, 0x18));
        let first = u64_at(bytes, traces + 8);
        bytes[first..first + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    });
    // It is beyond the last moment of the header, and no time at all, too.
    let expected = ["trace-moments", "trace-time", "trace-order"];
    assert_eq!(rules, expected.map(|name| rule(name, "trace.db")));
}

#[test]
fn a_header_that_does_not_hold_all_samples_is_told() {
    let rules = broken("trace.db", |bytes| {
        let section = u64_at(bytes, 0x18);
        bytes[section + 0x18..section + 0x20].copy_from_slice(&1_u64.to_le_bytes());
    });
    assert_eq!(rules, [rule("trace-moments", "trace.db")]);
}

#[test]
fn a_sample_of_a_context_that_is_not_listed_is_told() {
    let rules = broken("trace.db", |bytes| {
        let traces = u64_at(bytes, u64_at(bytes, 0x18));
        let first = u64_at(bytes, traces + 8);
        bytes[first + 8..first + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    });
    assert_eq!(rules, [rule("context-unknown", "trace.db")]);
}

#[test]
fn a_context_that_is_there_twice_is_told() {
    let rules = broken("meta.db", |bytes| {
        let entries = u64_at(bytes, u64_at(bytes, 0x48));
        let child = u64_at(bytes, entries + 8);
        let number: [u8; 4] = bytes[entries + 16..entries + 20].try_into().unwrap();
        bytes[child + 16..child + 20].copy_from_slice(&number);
    });
    assert!(rules.contains(&rule("context-id", "meta.db")), "{rules:?}");
}

#[test]
fn a_tree_that_leads_round_ends() {
    let rules = broken("meta.db", |bytes| {
        let entries = u64_at(bytes, u64_at(bytes, 0x48));
        let child = u64_at(bytes, entries + 8);
        // The children of the child are the children of the entry point.
        let range: [u8; 16] = bytes[entries..entries + 16].try_into().unwrap();
        bytes[child..child + 16].copy_from_slice(&range);
    });
    assert!(rules.contains(&rule("unreadable", "meta.db")), "{rules:?}");
    assert!(rules.contains(&rule("context-id", "meta.db")), "{rules:?}");
}

#[test]
fn values_out_of_order_are_told() {
    let rules = broken("profile.db", |bytes| {
        let profiles = u64_at(bytes, u64_at(bytes, 0x18));
        let index = u64_at(bytes, profiles + 48 + 0x18);
        bytes[index..index + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    });
    assert!(rules.contains(&rule("context-index", "profile.db")), "{rules:?}");
}

#[test]
fn a_database_without_some_of_its_files_is_read() {
    for missing in ["cct.db", "trace.db"] {
        let folder = sample();
        fs::remove_file(folder.path().join(missing)).unwrap();
        let source = Source::open(folder.path(), &Limits::default()).unwrap();
        let dataset = HpcDb.open(&source, &Context::default()).unwrap();
        assert!(dataset.profile().is_some(), "{missing}");
        assert_eq!(dataset.findings(), []);
    }
}

#[test]
fn a_file_that_is_not_needed_and_cannot_be_read_is_a_finding() {
    let folder = sample();
    change(folder.path(), "cct.db", |bytes| bytes.truncate(100));
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    let dataset = HpcDb.open(&source, &Context::default()).unwrap();
    assert_eq!(dataset.findings()[0].rule, "file-unreadable");
    change(folder.path(), "meta.db", |bytes| bytes.truncate(100));
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    let error = HpcDb.open(&source, &Context::default()).err().unwrap().to_string();
    assert!(error.starts_with("meta.db: "), "{error}");
}
