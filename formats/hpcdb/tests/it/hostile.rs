//! Databases that nobody wrote: longer records, files that are missing, very deep trees.

use crate::support;

use std::path::Path;

use crate::support::FILES;
use bytes::Bytes;
use kymo_conformance::{capture, testdata};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Result, Severity, Source};
use kymo_hpcdb::{HpcDb, Writer};
use kymo_model::profile::{
    Column, ContextNumber, Detail, FlatGrouping, Metric, MetricId, MetricQuery, MetricScope, Node,
    ProfileSink, Relation, Scope, SinkValue, SpentScope, Thread, ThreadId, bottom_up, flat,
    per_thread, top_down,
};
use kymo_model::{DumpRequest, Flow, Format, Record, RecordSink};

fn tiny(name: &str) -> Vec<u8> {
    std::fs::read(testdata("hpcdb/tiny").join(name)).unwrap()
}

/// The tiny database with one of its files changed.
fn changed(name: &str, bytes: &[u8]) -> Source {
    support::changed("tiny", |known, tiny| Some(if known == name { bytes.to_vec() } else { tiny }))
}

fn records(source: &Source) -> Vec<String> {
    let dataset = HpcDb.open(source, &Context::default()).unwrap();
    let records = capture(&*dataset).unwrap();
    assert_eq!(dataset.findings(), []);
    records.iter().map(|record| format!("{} {}", record.kind, record.contents())).collect()
}

/// Lists of one record each, by where their sizes are; and lists of several, moved behind
/// everything else, by where they are, how many there are and how long each is.
#[test]
fn records_that_are_longer_than_known_are_read() {
    let expected = records(&changed("", &[]));
    for (at, size) in [(0x104, 40), (0x1F4, 24), (0x214, 24), (0x234, 48), (0x26A, 40)] {
        let mut bytes = tiny("meta.db");
        bytes[at] = size;
        assert_eq!(records(&changed("meta.db", &bytes)), expected, "{at:#x}");
    }
    for (name, section, count, size) in
        [("profile.db", 0x30, 3, 48), ("cct.db", 0x30, 4, 32), ("trace.db", 0x20, 2, 24)]
    {
        let mut bytes = tiny(name);
        let footer = bytes.split_off(bytes.len() - 8);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let moved = bytes.len();
        for record in 0..count {
            let at = 0x40 + record * size;
            bytes.extend_from_within(at..at + size);
            bytes.extend([0xFF; 16]);
        }
        bytes.extend(footer);
        bytes[section..section + 8].copy_from_slice(&(moved as u64).to_le_bytes());
        bytes[section + 12] = u8::try_from(size + 16).unwrap();
        assert_eq!(records(&changed(name, &bytes)), expected, "{name}");
    }
}

/// What all threads come to, with what each number is.
#[test]
fn the_summary_is_a_table_of_its_own() {
    let dataset = HpcDb.open(&changed("", &[]), &Context::default()).unwrap();
    let column = |name: &str| support::texts(&*dataset, "summary", name);
    let numbers = |name: &str| {
        let numbers = support::numbers(&*dataset, "summary", name);
        numbers.into_iter().map(Option::unwrap).collect::<Vec<_>>()
    };
    assert_eq!(numbers("offset"), [0x100, 0x10A, 0x114, 0x11E, 0x128]);
    assert_eq!(numbers("context"), [1, 2, 2, 3, 3]);
    assert_eq!(numbers("id"), [3, 1, 3, 1, 3]);
    let scopes = ["execution", "function", "execution", "function", "execution"];
    assert_eq!(column("scope"), scopes.map(|scope| Some(scope.to_owned())));
    for (name, expected) in [("metric", "time"), ("formula", "$$"), ("combine", "sum")] {
        assert_eq!(column(name), vec![Some(expected.to_owned()); 5]);
    }
    // A file by itself does not say what its numbers are.
    let alone = Source::from_files("some", [("profile.db", Bytes::from(tiny("profile.db")))]);
    assert!(HpcDb.open(&alone, &Context::default()).unwrap().table("summary").is_none());
}

/// A value of a profile that is not there is left out, and that is said.
#[test]
fn values_of_no_profile_are_told() {
    let mut bytes = tiny("cct.db");
    bytes[0xCC] = 9;
    let dataset = HpcDb.open(&changed("cct.db", &bytes), &Context::default()).unwrap();
    let view = dataset.profile().unwrap();
    let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
    assert_eq!(per_thread(&question, SpentScope::All).unwrap(), [2.0, 0.0]);
    let findings = dataset.findings();
    let [sum, finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!((finding.offset, finding.file.as_deref()), (Some(0xCC), Some("cct.db")));
    // What is left is less than the summary has.
    assert_eq!(sum.rule, "summary-sum");
}

/// Without `profile.db` nothing tells how many threads there are but the values in `cct.db`: one of a
/// number that so few values cannot have is of none, whatever room the file has.
#[test]
fn no_number_of_a_profile_makes_threads_that_are_none() {
    let mut bytes = tiny("cct.db");
    let footer = bytes.split_off(bytes.len() - 8);
    bytes.resize(2_000_000, 0);
    bytes.extend(footer);
    bytes[0xCC..0xD0].copy_from_slice(&1_999_998_u32.to_le_bytes());
    let source = support::changed("tiny", |name, tiny| match name {
        "profile.db" => None,
        "cct.db" => Some(bytes.clone()),
        _ => Some(tiny),
    });
    let used = allocation_counter::measure(|| {
        let dataset = HpcDb.open(&source, &Context::default()).unwrap();
        let view = dataset.profile().unwrap();
        assert_eq!(view.thread_count(), 2);
        let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
        // The second thread had 3 there.
        assert_eq!(per_thread(&question, SpentScope::All).unwrap(), [2.0, 0.0]);
        let findings = dataset.findings();
        let [finding, missing] = findings.as_slice() else { panic!("{findings:?}") };
        assert_eq!((finding.offset, finding.file.as_deref()), (Some(0xCC), Some("cct.db")));
        assert_eq!(missing.rule, "file-missing");
        assert!(finding.message.contains("there is no profile 1999998"), "{finding:?}");
    });
    assert!(used.bytes_max < 1 << 20, "{}", used.bytes_max);
}

/// `cct.db` has no contexts, in a list that is said to be beyond its end: values are taken from
/// `profile.db`, and that is said at a byte that is there.
#[test]
fn a_list_of_no_contexts_is_told_at_a_byte_of_the_file() {
    let bytes = std::fs::read(testdata("hpcdb/empty/cct.db")).unwrap();
    let source = changed("cct.db", &bytes);
    let dataset = HpcDb.open(&source, &Context::default()).unwrap();
    let view = dataset.profile().unwrap();
    let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
    assert_eq!(per_thread(&question, SpentScope::All).unwrap(), [2.0, 3.0]);
    let found =
        dataset.findings().into_iter().chain(HpcDb.check(&source, &Context::default()).unwrap());
    let found: Vec<_> = found.collect();
    assert!(found.len() > 1, "{found:?}");
    assert!(found.iter().all(|one| one.offset.unwrap() <= bytes.len() as u64), "{found:?}");
}

/// Whatever files are missing, what the others have is read.
#[test]
fn any_files_may_be_missing() {
    for there in 1_u8..16 {
        let kept = FILES.iter().enumerate().filter(|(index, _)| there >> index & 1 == 1);
        let kept: Vec<_> = kept.map(|(_, name)| (*name, Bytes::from(tiny(name)))).collect();
        let source = Source::from_files("some", kept.clone());
        let dataset = HpcDb.open(&source, &Context::default()).unwrap();
        let has = |name: &str| kept.iter().any(|(known, _)| *known == name);
        // Every database has these two.
        let missing = ["meta.db", "profile.db"].into_iter().filter(|name| !has(name));
        let missing: Vec<_> = missing.map(|name| ("file-missing", name.to_owned())).collect();
        let said = |findings: Vec<kymo_core::Finding>| -> Vec<_> {
            findings.into_iter().map(|one| (one.rule, one.file.unwrap())).collect()
        };
        assert_eq!(said(dataset.findings()), missing, "{there:#b}");
        let found = HpcDb.check(&source, &Context::default()).unwrap();
        let mut checked = missing.clone();
        // It can be made again.
        if has("profile.db") && !has("cct.db") {
            checked.insert(0, ("file-missing", "cct.db".to_owned()));
        }
        assert_eq!(said(found), checked, "{there:#b}");
        let has_values = has("meta.db") && (has("profile.db") || has("cct.db"));
        assert_eq!(dataset.profile().is_some(), has_values, "{there:#b}");
        assert_eq!(dataset.timeline().is_some(), has("trace.db"), "{there:#b}");
        if let Some(view) = dataset.profile() {
            let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
            let mut rows = flat(&question, FlatGrouping::Function).unwrap().rows;
            rows.sort_by(|a, b| a.label.cmp(&b.label));
            let rows: Vec<_> =
                rows.iter().map(|row| (row.label.as_str(), row.inclusive, row.exclusive)).collect();
            assert_eq!(rows, [("<main thread>", 5.0, 0.0), ("main", 5.0, 5.0)], "{there:#b}");
            // Threads are told apart by their places where nothing names them.
            let threads: Vec<_> = (0..2).map(|id| view.thread(ThreadId(id)).unwrap()).collect();
            let kind = if has("profile.db") && has("meta.db") { "THREAD 0" } else { "PROFILE 1" };
            assert_eq!((view.thread_count(), threads[0].to_string()), (2, kind.to_owned()));
            assert_eq!(per_thread(&question, SpentScope::All).unwrap(), [2.0, 3.0], "{there:#b}");
            let values = view.thread_values(ThreadId(1)).unwrap();
            let values: Vec<_> = values.map(|value| value.unwrap().value).collect();
            assert_eq!(values, [3.0; 5], "{there:#b}");
        }
    }
}

struct Nothing;

impl RecordSink for Nothing {
    fn record(&mut self, _: &Record<'_>) -> Result<Flow> {
        Ok(Flow::More)
    }

    fn text(&mut self, _: &[u8]) -> Result<Flow> {
        Ok(Flow::More)
    }
}

const DEPTH: u64 = 1_000_000;

fn deep(to: &Path) {
    let mut writer = Writer::new(&Destination::new(to, false), "deep").unwrap();
    let metric = writer.metric(&Metric::named("time")).unwrap();
    let line = Node::new(Scope::Line, Relation::Lexical);
    let mut node = Node::new(Scope::Entry, Relation::Call);
    for number in 1..=DEPTH {
        let above = (number > 1).then(|| ContextNumber(number - 1));
        writer.context(above, ContextNumber(number), &node).unwrap();
        node = line;
    }
    writer.threads(&[Thread::default()]).unwrap();
    let value = |context: u64| {
        let column = Column { metric, reach: MetricScope::Execution };
        Ok(SinkValue { context: ContextNumber(context), column, value: 1.0 })
    };
    writer.values(ThreadId(0), &mut (1..=DEPTH).map(value)).unwrap();
    writer.finish().unwrap();
}

/// A chain of a million contexts is read, checked and reported on without recursion; only a style
/// that moves each level to the right has no room for it.
#[test]
fn a_million_contexts_below_each_other_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep");
    deep(&path);
    let source = Source::open(&path, &Limits::default()).unwrap();
    let found = HpcDb.check(&source, &Context::default()).unwrap();
    assert!(found.iter().all(|finding| finding.severity <= Severity::Note), "{found:?}");
    let dataset = HpcDb.open(&source, &Context::default()).unwrap();
    let view = dataset.profile().unwrap();
    let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
    assert!((flat(&question, FlatGrouping::Function).unwrap().total - 1.0).abs() < 1e-12);
    let tree = top_down(&question, Detail::Lines, 40).unwrap();
    assert_eq!((tree.nodes.len(), tree.deeper), (40, 1));
    assert!(bottom_up(&question, None, 40, 0.0).unwrap().nodes.is_empty());
    let style = Some("hpctoolkit-yaml".into());
    let request = DumpRequest { style, ..DumpRequest::default() };
    let error = dataset.dump(&request, &mut Nothing).unwrap_err().to_string();
    assert!(error.starts_with("contexts lie more than 10000 levels deep"), "{error}");
}
