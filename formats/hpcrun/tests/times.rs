//! Times and nodes of traces that are not what they should be: said, and nothing else is lost.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

mod assembled;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use assembled::Bytes;
use kymo_core::bytes::Limits;
use kymo_core::model::timeline::{ClockId, Content, TimeNs, Window};
use kymo_core::{Context, Dataset, Finding, Format, Source, Value};
use kymo_hpcrun::{Hpcrun, TraceRecord, TraceVersion, TraceWriter};

/// A moment in nanoseconds.
const START: u64 = 1_700_000_000_000_000_000;

fn open(path: &Path) -> Box<dyn Dataset> {
    let source = Source::open(path, &Limits::default()).unwrap();
    Hpcrun.open(&source, &Context::default()).unwrap()
}

fn check(path: &Path) -> Vec<Finding> {
    let source = Source::open(path, &Limits::default()).unwrap();
    Hpcrun.check(&source, &Context::default()).unwrap()
}

/// Rules and messages of what is found.
fn said(findings: &[Finding]) -> Vec<(&str, &str)> {
    findings.iter().map(|finding| (finding.rule, finding.message.as_str())).collect()
}

fn trace(times: &[(u64, u32)]) -> Vec<u8> {
    let mut out = Bytes::big();
    out.raw(b"HPCRUN-trace______01.01b").u64(0);
    for (time, node) in times {
        out.u64(*time).u32(*node);
    }
    out.bytes
}

/// A directory of a profile with nodes 12, 14, 16 and 19, and a trace.
fn traced(times: &[(u64, u32)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.hpcrun"), assembled::shipped_0400(true)).unwrap();
    fs::write(folder.path().join("a.hpctrace"), trace(times)).unwrap();
    folder
}

/// The start and the end that `info` tells, in nanoseconds.
fn span(dataset: &dyn Dataset) -> Option<(Value, Value)> {
    let facts = dataset.summary().facts;
    let exact = |name| {
        let fact = facts.iter().find(|fact| fact.name == name)?;
        fact.exact.clone().map(|(_, value)| value)
    };
    exact("start").zip(exact("end"))
}

#[test]
fn one_time_that_is_none_takes_no_other_with_it() {
    // One that is far too early, one beyond 63 bits, and one in microseconds.
    for (bad, at) in [(0, 0), (1 << 63, 3), (START / 1000, 1)] {
        let mut times: Vec<_> = (0..3).map(|step| (START + 100 * step, 19)).collect();
        times.insert(at, (bad, 19));
        let folder = traced(&times);
        let dataset = open(folder.path());
        let ends = [START, START + 200].map(|time| Value::Int(i64::try_from(time).unwrap()));
        assert_eq!(span(&*dataset).map(<[Value; 2]>::from), Some(ends), "{bad}");
        let why = "1 sample has a time that is none, or of another unit than the others: it is at \
                   no moment";
        assert_eq!(said(&dataset.findings()), [("trace-time", why)], "{bad}");
        assert_eq!(said(&check(folder.path())), [("trace-time", why)], "{bad}");
        let timeline = dataset.timeline().unwrap();
        let range = Arc::clone(&timeline).range(ClockId(0)).unwrap().unwrap();
        assert_eq!(range.end().0 - range.start().0, 200, "{bad}");
        let mut events = timeline.events(&Window::default()).unwrap();
        let mut found = Vec::new();
        while let Some(event) = events.next().unwrap() {
            found.push(event.time.map(|TimeNs(time)| time - i64::try_from(START).unwrap()));
        }
        found.sort_unstable();
        assert_eq!(found, [None, Some(0), Some(100), Some(200)], "{bad}");
        let measured = dataset.measurement().unwrap();
        assert_eq!(measured.samples(0).unwrap().count(), 3, "{bad}");
        assert_eq!(said(&measured.thread(0).unwrap().findings), [("trace-time", why)], "{bad}");
    }
}

#[test]
fn a_clock_of_its_own_is_in_nanoseconds_where_the_profile_tells_so() {
    let mut profile = Bytes::big();
    profile.raw(b"HPCRUN-profile____02.00b").u32(1).str("trace-min-time").str("5000000000");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.hpcrun"), profile.bytes).unwrap();
    let bytes = trace(&[(5_000_000_000, 1), (6_000_000_000, 1)]);
    fs::write(folder.path().join("a.hpctrace"), &bytes).unwrap();
    let seconds = |from: i64, to: i64| Some((Value::Int(from), Value::Int(to)));
    assert_eq!(span(&*open(folder.path())), seconds(5_000_000_000, 6_000_000_000));
    // By themselves such times are taken for microseconds, as old ones are.
    let lone = tempfile::tempdir().unwrap();
    fs::write(lone.path().join("a.hpctrace"), bytes).unwrap();
    assert_eq!(span(&*open(lone.path())), seconds(5_000_000_000_000, 6_000_000_000_000));
    let mut writer = TraceWriter::new(Vec::new());
    let record = TraceRecord { time: 5_000_000_000, node: 1, metric: None };
    let error = writer.record(&record).unwrap_err().to_string();
    assert_eq!(error, "times below 10^17 are not taken for nanoseconds since the Epoch");
}

#[test]
fn a_writer_refuses_what_its_version_has_no_place_for() {
    let endian = kymo_core::bytes::Endian::Big;
    let error = TraceWriter::with(Vec::new(), TraceVersion::V0100, endian, 1).unwrap_err();
    assert_eq!(error.to_string(), "traces of 01.00 have no flags");
    let mut writer = TraceWriter::with(Vec::new(), TraceVersion::V0101, endian, 0).unwrap();
    let record = TraceRecord { time: START, node: 1, metric: Some(0) };
    let error = writer.record(&record).unwrap_err();
    assert_eq!(error.to_string(), "records have a metric in data-centric traces only");
}

/// An epoch of 02.00b with a metric of counts and one module: a root, and nodes at addresses.
fn epoch(out: &mut Bytes, nodes: &[(i32, i32, u64, u64)]) {
    out.raw(b"EPOCH___").u64(0).u64(1).u32(0).u32(0);
    out.u32(1)
        .str("CYC")
        .str("")
        .raw(&[1, 0, 1, 0, 0, 0, 1, 1])
        .raw(&[0; 8])
        .u64(1)
        .str("")
        .str("");
    out.u32(1).u16(1).str("/bin/a").u64(0);
    out.u64(nodes.len() as u64 + 1).i32(2).i32(0).u16(0).u64(0).u64(0);
    for (id, parent, ip, value) in nodes {
        out.i32(*id).i32(*parent).u16(1).u64(*ip).u64(*value);
    }
}

#[test]
fn samples_are_of_whichever_epoch_has_their_node_and_said_where_several_do() {
    let mut profile = Bytes::big();
    profile.raw(b"HPCRUN-profile____02.00b").u32(0);
    epoch(&mut profile, &[(4, 2, 0x1000, 1), (-6, 4, 0x1500, 10)]);
    epoch(&mut profile, &[(4, 2, 0x9000, 2), (-6, 4, 0x9500, 20), (-8, 4, 0x9600, 5)]);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.hpcrun"), profile.bytes).unwrap();
    let times: Vec<_> = [6, 6, 8, 9].into_iter().zip(0..).map(|(n, at)| (START + at, n)).collect();
    fs::write(folder.path().join("a.hpctrace"), trace(&times)).unwrap();
    let dataset = open(folder.path());
    let view = dataset.profile().unwrap();
    let mut events = dataset.timeline().unwrap().events(&Window::default()).unwrap();
    let mut names = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let Content::Sample(number) = event.content else {
            names.push(String::new());
            continue;
        };
        let number = kymo_core::model::profile::ContextNumber(number);
        let context = view.context(view.find(number).unwrap().unwrap()).unwrap();
        names.push(view.label(&context).unwrap());
    }
    drop(events);
    assert_eq!(names, ["a+0x1500", "a+0x1500", "a+0x9600", ""]);
    let shared = "2 samples name a node of several epochs: that of the first is shown";
    let nowhere = "1 sample is of a node that the profile does not have, and left out";
    assert_eq!(said(&dataset.findings()), [("trace-epoch", shared), ("trace-node", nowhere)]);
    let none = "the profile has no node 9, which 1 record names";
    assert_eq!(said(&check(folder.path())), [("trace-epoch", shared), ("trace-node", none)]);
    // The database gets the same: node 8 is the last of seven.
    let read = dataset.measurement().unwrap().thread(0).unwrap();
    assert_eq!([6, 8, 9].map(|node| read.numbers.find(node)), [Some(2), Some(6), None]);
    assert_eq!(said(&read.findings), [("trace-epoch", shared), ("trace-node", nowhere)]);
}

#[test]
fn disorder_beyond_what_the_profile_tells_is_said() {
    let order = |bound: &str, times: &[u64]| {
        let mut profile = Bytes::big();
        profile.raw(b"HPCRUN-profile____02.00b").u32(1).str("trace-disorder").str(bound);
        epoch(&mut profile, &[(4, 2, 0x1000, 1)]);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.hpcrun"), profile.bytes).unwrap();
        let times: Vec<_> = times.iter().map(|time| (START + time, 4)).collect();
        fs::write(folder.path().join("a.hpctrace"), trace(&times)).unwrap();
        let found = check(folder.path()).into_iter().map(|f| (f.rule, f.offset, f.message));
        found.collect::<Vec<_>>()
    };
    assert_eq!(order("1", &[1, 0, 3, 2]), []);
    assert_eq!(order("3", &[3, 2, 1, 0]), []);
    // Reversed: 2 is given before 1 and 0 come. The header has 32 bytes, a record 12.
    let why = "2 records are further from the order of times than the profile's trace-disorder";
    assert_eq!(order("1", &[3, 2, 1, 0]), [("trace-order", Some(32 + 2 * 12), why.to_owned())]);
}

#[test]
fn very_many_pairs_and_epochs_are_read_in_the_time_of_the_file() {
    let mut profile = Bytes::big();
    profile.raw(b"HPCRUN-profile____02.00b").u32(60_000);
    for _ in 0..120_000 {
        profile.str("");
    }
    let mut empty = Bytes::big();
    empty.raw(b"EPOCH___").u64(0).u64(1).u32(0).u32(0).u32(0).u32(0).u64(0);
    for _ in 0..20_000 {
        profile.raw(&empty.bytes);
    }
    // With all pairs looked through for every epoch this would take minutes.
    let dataset =
        Hpcrun.open(&Source::from_bytes("a.hpcrun", profile.bytes), &Context::default()).unwrap();
    assert_eq!(dataset.recordings().len(), 20_000);
    let threads = dataset.tables().into_iter().next().unwrap();
    let rows = threads.scan(&kymo_core::table::Scan::default()).unwrap();
    assert_eq!(rows.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 20_000);
}
