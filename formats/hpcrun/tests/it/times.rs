//! Times and nodes of traces that are not what they should be: said, and nothing else is lost.

use std::fs;
use std::sync::Arc;

use crate::assembled::Bytes;
use crate::opened::{START, check, open, said, trace, traced};
use kymo_core::{Context, Source, Value};
use kymo_hpcrun::{Hpcrun, TraceRecord, TraceVersion, TraceWriter};
use kymo_model::timeline::{ClockId, Content, TimeNs, Window};
use kymo_model::{Dataset, Format};

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

/// What `info` shows as the start.
fn start(dataset: &dyn Dataset) -> String {
    let facts = dataset.summary().facts;
    facts.iter().find(|fact| fact.name == "start").unwrap().value.to_string()
}

/// A directory with one trace; its profile says this of it.
fn told(pairs: &[(&str, &str)], trace: &[u8]) -> tempfile::TempDir {
    let mut profile = Bytes::big();
    profile.raw(b"HPCRUN-profile____02.00b").u32(u32::try_from(pairs.len()).unwrap());
    for (name, value) in pairs {
        profile.str(name).str(value);
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.hpcrun"), profile.bytes).unwrap();
    fs::write(folder.path().join("a.hpctrace"), trace).unwrap();
    folder
}

#[test]
fn a_clock_of_its_own_counts_microseconds_in_the_first_version_unless_the_profile_tells_otherwise()
{
    let new = trace(&[(5_000_000_000, 1), (6_000_000_000, 1)]);
    let mut old = b"HPCRUN-trace______01.00b".to_vec();
    old.extend_from_slice(&new[32..]);
    let seconds = |from: i64, to: i64| Some((Value::Int(from), Value::Int(to)));
    let nanoseconds = seconds(5_000_000_000, 6_000_000_000);
    assert_eq!(span(&*open(told(&[], &new).path())), nanoseconds);
    let microseconds = seconds(5_000_000_000_000, 6_000_000_000_000);
    assert_eq!(span(&*open(told(&[], &old).path())), microseconds);
    let told = told(&[("trace-min-time", "5000000000")], &old);
    assert_eq!(span(&*open(told.path())), nanoseconds);
}

#[test]
fn times_since_a_host_was_started_are_no_dates() {
    const DAY: u64 = 86_400_000_000_000;
    // The profile is of today and says nothing of times: it counted nanoseconds.
    for uptime in [5, DAY / 24, 3 * DAY, 20 * DAY, 200 * DAY, 1000 * DAY] {
        let folder = traced(&[(uptime, 19), (uptime + 7, 16)]);
        let dataset = open(folder.path());
        let ends = [uptime, uptime + 7].map(|time| Value::Int(i64::try_from(time).unwrap()));
        assert_eq!(span(&*dataset).map(<[Value; 2]>::from), Some(ends), "{uptime}");
        let seconds = format!("{}.{:09}", uptime / 1_000_000_000, uptime % 1_000_000_000);
        assert_eq!(start(&*dataset), seconds);
        let timeline = dataset.timeline().unwrap();
        let clocks = timeline.clocks();
        let [clock] = &clocks[..] else { panic!("{clocks:?}") };
        assert!(!clock.since_epoch, "{uptime}");
        assert_eq!(said(&check(folder.path())), [], "{uptime}");
    }
}

#[test]
fn hosts_that_were_started_at_different_times_have_a_clock_each() {
    let folder = tempfile::tempdir().unwrap();
    for (name, host, records) in [
        ("a", "1", &[(5_000_000_000, 1)][..]),
        ("b", "2", &[(9_000_000_000, 1)]),
        ("c", "1", &[(6_000_000_000, 1)]),
        ("d", "3", &[(START, 1), (START + 5, 1)]),
        ("e", "4", &[]),
    ] {
        let mut profile = Bytes::big();
        profile.raw(b"HPCRUN-profile____02.00b").u32(1).str("host-id").str(host);
        fs::write(folder.path().join(format!("{name}.hpcrun")), profile.bytes).unwrap();
        fs::write(folder.path().join(format!("{name}.hpctrace")), trace(records)).unwrap();
    }
    let dataset = open(folder.path());
    let timeline = dataset.timeline().unwrap();
    let clocks: Vec<_> = timeline.clocks().into_iter().map(|c| (c.name, c.since_epoch)).collect();
    let named = |name: &str, since_epoch| (name.to_owned(), since_epoch);
    let expected = [named("clock of 1", false), named("clock of 2", false), named("time", true)];
    assert_eq!(clocks, expected);
    let on: Vec<_> = timeline.tracks().iter().map(|track| track.clock.unwrap().0).collect();
    // What has no record is on any.
    assert_eq!(on, [0, 1, 0, 2, 0]);
    let range = |clock| {
        Arc::clone(&timeline).range(ClockId(clock)).unwrap().map(|range| {
            let start = range.start().0;
            (start, range.end().0 - start)
        })
    };
    assert_eq!(range(0), Some((5_000_000_000, 1_000_000_000)));
    assert_eq!(range(1), Some((9_000_000_000, 0)));
    assert_eq!(range(2), Some((i64::try_from(START).unwrap(), 5)));
    // Only what counts from the Epoch can be told for all.
    let expected = [START, START + 5].map(|time| Value::Int(i64::try_from(time).unwrap()));
    assert_eq!(span(&*dataset).map(<[Value; 2]>::from), Some(expected));
}

#[test]
fn a_writer_refuses_times_that_are_no_dates() {
    let mut writer = TraceWriter::new(Vec::new());
    let record = TraceRecord { time: 5_000_000_000, node: 1, metric: None };
    let error = writer.record(&record).unwrap_err().to_string();
    assert_eq!(error, "times below 10^17 are not taken for nanoseconds since the Epoch");
}

#[test]
fn a_writer_refuses_what_its_version_has_no_place_for() {
    let endian = kymo_core::bytes::Endian::Big;
    let error = TraceWriter::with_version(Vec::new(), TraceVersion::V0100, endian, 1).unwrap_err();
    assert_eq!(error.to_string(), "traces of 01.00 have no flags");
    let mut writer = TraceWriter::with_version(Vec::new(), TraceVersion::V0101, endian, 0).unwrap();
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
        let number = kymo_model::profile::ContextNumber(number);
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
    let rows = threads.scan(&kymo_model::table::Scan::default()).unwrap();
    assert_eq!(rows.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 20_000);
}
