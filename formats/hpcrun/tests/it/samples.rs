//! Samples of several threads: in the order of their times, whatever the order of the files.

use crate::assembled;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::opened::{START, open};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Finding, Severity, Source};
use kymo_hpcrun::{Hpcrun, ProfileBuilder, TraceRecord, TraceWriter};
use kymo_model::profile::{ThreadId, traced};
use kymo_model::timeline::{TimeNs, Window};
use kymo_model::{Dataset, Format};

/// A node that no profile has.
const NOWHERE: u32 = 9999;

/// Writes a thread with a trace: each record is in the first or the second node, or in none.
fn thread(folder: &Path, name: &str, pairs: &[(&str, &str)], records: &[(u64, Option<usize>)]) {
    let mut profile = ProfileBuilder::new("a");
    for (name, value) in pairs {
        profile.pair(name, *value);
    }
    let module = profile.load_module("/bin/a", None).unwrap();
    let time = profile.metric("CPUTIME (sec)", "", true).unwrap();
    let nodes = [0x10, 0x20].map(|ip| {
        let node = profile.child(ProfileBuilder::ROOT, module, ip);
        profile.add(node, time, 0.5);
        profile.retain(node)
    });
    let mut bytes = Vec::new();
    profile.write(&mut bytes).unwrap();
    fs::write(folder.join(format!("{name}.hpcrun")), bytes).unwrap();
    let mut trace = TraceWriter::new(Vec::new());
    for (time, node) in records {
        let node = node.map_or(NOWHERE, |node| nodes[node]);
        trace.record(&TraceRecord { time: START + time, node, metric: None }).unwrap();
    }
    fs::write(folder.join(format!("{name}.hpctrace")), trace.finish().unwrap()).unwrap();
}

/// Tracks and times of the events of a window.
fn events(dataset: &dyn Dataset, window: &Window) -> Vec<(usize, i64)> {
    let mut events = dataset.timeline().unwrap().events(window).unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        found.push((event.track.0, event.time.unwrap().0 - i64::try_from(START).unwrap()));
    }
    found
}

fn moment(time: u64) -> TimeNs {
    TimeNs(i64::try_from(START + time).unwrap())
}

/// Rules, files, offsets and messages of findings.
fn told(findings: Vec<kymo_core::Finding>) -> Vec<(&'static str, String, u64, String)> {
    let told = findings.into_iter();
    told.map(|f| (f.rule, f.file.unwrap(), f.offset.unwrap(), f.message)).collect()
}

/// One thread whose samples are out of order, and one whose are not.
fn disordered(folder: &Path, pairs: &[(&str, &str)]) {
    thread(folder, "a", pairs, &[(300, Some(0)), (100, Some(0)), (200, Some(1))]);
    thread(folder, "b", &[], &[(150, Some(0)), (250, Some(1))]);
}

#[test]
fn samples_of_all_threads_come_in_the_order_of_their_times() {
    let folder = tempfile::tempdir().unwrap();
    disordered(folder.path(), &[]);
    let dataset = open(folder.path());
    let all = [(0, 100), (1, 150), (0, 200), (1, 250), (0, 300)];
    assert_eq!(events(&*dataset, &Window::default()), all);
    for last in 0..7 {
        let window = Window { last: Some(last as u64), ..Window::default() };
        assert_eq!(events(&*dataset, &window), all[5_usize.saturating_sub(last)..]);
    }
    let window = Window { from: Some(moment(150)), until: Some(moment(250)), ..Window::default() };
    assert_eq!(events(&*dataset, &window), [(1, 150), (0, 200)]);
    // From the last moment to an earlier one there is nothing.
    let window = Window { from: Some(moment(250)), until: Some(moment(150)), ..Window::default() };
    assert_eq!(events(&*dataset, &window), []);
}

#[test]
fn times_are_right_whatever_the_order_of_samples_and_what_was_not_told_is_said() {
    for is_told in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let pairs = [("trace-disorder", "2")];
        disordered(folder.path(), if is_told { &pairs } else { &[] });
        let dataset = open(folder.path());
        let timeline = dataset.timeline().unwrap();
        let view = dataset.profile().unwrap();
        let found = traced(&*view, &timeline, &Window::default(), None, 2).unwrap();
        let spent = |line: usize| {
            let spent = found.lines[line].spent.iter();
            spent.map(|(function, ns)| (&*found.functions[*function], *ns)).collect::<Vec<_>>()
        };
        // From 100 to 200 in the first, then up to 300 in the second; the last only ends it.
        assert_eq!(spent(0), [("a+0x10", 100), ("a+0x20", 100)]);
        assert_eq!(spent(1), [("a+0x10", 100)]);
        assert_eq!(found.backwards, 0);
        let range = Arc::clone(&timeline).range(kymo_model::timeline::ClockId(0)).unwrap();
        assert_eq!(range, Some(moment(100)..=moment(300)));
        // The header has 32 bytes, a record 12: the second is before the first.
        let why = "1 sample is before the one before: all are sorted by time".to_owned();
        let expected = [("trace-order", "a.hpctrace".to_owned(), 44, why)];
        assert_eq!(told(dataset.findings()), if is_told { &[][..] } else { &expected });
    }
}

#[test]
fn what_is_wrong_with_a_trace_is_a_finding_of_its_thread() {
    let folder = tempfile::tempdir().unwrap();
    let pairs = [("trace-min-time", "1700000000000000100"), ("trace-max-time", "7")];
    let records = [(300, Some(0)), (100, None), (200, Some(1)), (250, None)];
    thread(folder.path(), "a", &pairs, &records);
    let measurement = open(folder.path()).measurement().unwrap();
    let read = measurement.thread(0).unwrap();
    let file = || "a.hpctrace".to_owned();
    let expected = [
        (
            "trace-node",
            file(),
            44,
            "2 samples are of a node that the profile does not have, and left out".to_owned(),
        ),
        (
            "trace-order",
            file(),
            44,
            "1 sample is before the one before: all are sorted by time".to_owned(),
        ),
        (
            "trace-bounds",
            file(),
            32,
            "the profile says trace-max-time 7, the trace 1700000000000000300".to_owned(),
        ),
    ];
    // The trace is longer than that, so nothing of it is lost.
    let bounds = |finding: &&Finding| finding.rule == "trace-bounds";
    assert_eq!(read.findings.iter().find(bounds).unwrap().severity, Severity::Note);
    assert_eq!(told(read.findings), expected);
    let times: Vec<_> = measurement.samples(0).unwrap().map(|sample| sample.time).collect();
    assert_eq!(times, [100, 200, 250, 300].map(moment));
}

/// 0 tells nothing; what comes after all of the trace was in it once.
#[test]
fn a_trace_that_ends_before_the_profile_says_so_is_a_loss() {
    for (pairs, severity) in [
        ([("trace-min-time", "0"), ("trace-max-time", "0")], Severity::Note),
        ([("trace-min-time", "0"), ("trace-max-time", "1700000000000000400")], Severity::Warning),
        ([("trace-min-time", "1699999999999999999"), ("trace-max-time", "0")], Severity::Warning),
    ] {
        let folder = tempfile::tempdir().unwrap();
        thread(folder.path(), "a", &pairs, &[(100, Some(0)), (300, Some(1))]);
        let read = open(folder.path()).measurement().unwrap().thread(0).unwrap();
        let found = read.findings.iter().map(|finding| finding.severity).max();
        assert_eq!(found, Some(severity), "{pairs:?}");
    }
}

#[test]
fn a_thread_whose_values_are_lost_is_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let sound = assembled::shipped_0400(true);
    let mut damaged = sound.clone();
    // The numbers of values and of nodes, in the section at 0x1400 behind two ids of 18 bytes.
    damaged[0x1426..0x1432].fill(0xFF);
    fs::write(folder.path().join("a.hpcrun"), sound).unwrap();
    fs::write(folder.path().join("b.hpcrun"), damaged).unwrap();
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    let view = Hpcrun.salvage(&source, &Context::default()).unwrap().profile().unwrap();
    assert_eq!([0, 1].map(|id| view.is_incomplete(ThreadId(id))), [false, true]);
    // It is refused without being asked to read what is damaged.
    let view = open(folder.path()).profile().unwrap();
    assert_eq!((view.thread_count(), view.is_incomplete(ThreadId(0))), (1, false));
}

#[test]
fn code_that_nobody_is_known_to_have_called_is_remarked_on() {
    let remarks = |bytes: Vec<u8>| {
        let source = Source::from_bytes("a.hpcrun", bytes);
        let dataset = Hpcrun.open(&source, &Context::default()).unwrap();
        dataset.profile().unwrap().remarks()
    };
    let mut bytes = assembled::shipped_0400(true);
    assert_eq!(remarks(bytes.clone()), [""; 0]);
    // The flags of the last of four nodes of 19 bytes, behind their number at 0x800.
    bytes[0x808 + 4 * 19 - 1] = 0;
    let remarks = remarks(bytes);
    assert_eq!(remarks.len(), 1);
    assert!(
        remarks[0].starts_with("samples of GPU code hang where they were taken"),
        "{remarks:?}"
    );
}
