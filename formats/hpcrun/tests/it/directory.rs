//! Measurement directories: what names threads and addresses, and which file is which.

use crate::assembled;

use std::fs;
use std::path::Path;

use crate::opened::open;
use kymo_conformance::shared;
use kymo_core::{Context, Result, Severity, Source, Value};
use kymo_hpcrun::{Hpcrun, ProfileBuilder};
use kymo_model::profile::{FlatGrouping, MetricId, MetricQuery, ThreadId, flat};
use kymo_model::{DumpRequest, Flow, Format, Record, RecordSink};

/// Kinds of ids, and the bits that say how they were given.
const NODE: u16 = 1;
const RANK: u16 = 2;
const THREAD: u16 = 3;
const WITHIN: u16 = 1 << 14;
const LOGICAL: u16 = 3 << 14;

fn write(profile: &ProfileBuilder, path: &Path) {
    let mut bytes = Vec::new();
    profile.write(&mut bytes).unwrap();
    fs::write(path, bytes).unwrap();
}

/// A profile of one sample of 0.5 s, at an address of a module.
fn sampled(ids: &[(u16, u64)], module: &str, address: u64) -> ProfileBuilder {
    let mut profile = ProfileBuilder::new("a");
    for (kind, number) in ids {
        profile.id(*kind, *number, *number);
    }
    let module = profile.load_module(module, None).unwrap();
    let time = profile.metric("CPUTIME (sec)", "", true).unwrap();
    let node = profile.child(ProfileBuilder::ROOT, module, address);
    profile.add(node, time, 0.5);
    profile
}

fn section<'s>(summary: &'s kymo_model::Summary, title: &str) -> &'s kymo_model::Section {
    summary.sections.iter().find(|section| section.title == title).unwrap()
}

#[test]
fn logical_ids_that_were_not_given_count_from_0_in_the_order_of_hosts() {
    let folder = tempfile::tempdir().unwrap();
    // By the names of files, the host with the greater number comes first.
    for (name, host, rank) in [("a", 0x5a, 0), ("b", 0x50, 1), ("c", 0x5a, 2)] {
        let ids = [(NODE | WITHIN, host), (RANK | LOGICAL, rank), (THREAD | LOGICAL, 0)];
        write(&sampled(&ids, "/bin/a", 0x10), &folder.path().join(format!("{name}.hpcrun")));
    }
    let dataset = open(folder.path());
    let profile = dataset.profile().unwrap();
    let thread = |id| profile.thread(ThreadId(id)).unwrap().to_string();
    assert_eq!(thread(0), "NODE 1 [0x5a] / RANK 0 / THREAD 0");
    assert_eq!(thread(1), "NODE 0 [0x50] / RANK 1 / THREAD 0");
    assert_eq!(thread(2), "NODE 1 [0x5a] / RANK 2 / THREAD 0");
    let summary = dataset.summary();
    let names = section(&summary, "threads").rows.iter().map(|row| row.name.as_str());
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["RANK 0 THREAD 0", "RANK 1 THREAD 0", "RANK 2 THREAD 0"]
    );
}

#[test]
fn a_short_name_that_two_threads_have_tells_the_host_too() {
    let folder = tempfile::tempdir().unwrap();
    for (name, host, thread) in [("a", 0x5a, 0), ("b", 0x50, 0), ("c", 0x50, 1)] {
        let ids = [(NODE | WITHIN, host), (THREAD | LOGICAL, thread)];
        write(&sampled(&ids, "/bin/a", 0x10), &folder.path().join(format!("{name}.hpcrun")));
    }
    let summary = open(folder.path()).summary();
    let names: Vec<_> = section(&summary, "threads").rows.iter().map(|row| &*row.name).collect();
    assert_eq!(names, ["NODE 1 THREAD 0", "NODE 0 THREAD 0", "THREAD 1"]);
}

/// What the functions of a directory are called.
fn functions(folder: &Path) -> Vec<String> {
    let profile = open(folder).profile().unwrap();
    let question = MetricQuery { view: &*profile, metric: MetricId(0), threads: None };
    let rows = flat(&question, FlatGrouping::Function).unwrap().rows;
    let mut names: Vec<_> = rows.into_iter().map(|row| row.label).collect();
    names.sort();
    names
}

#[test]
fn addresses_of_a_kernel_are_named_by_the_symbols_beside() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = "kernel_symbols/vmlinux.5a";
    fs::create_dir(folder.path().join("kernel_symbols")).unwrap();
    fs::write(
        folder.path().join(kernel),
        "ffffffff81000000 T startup\nffffffff81000100 t do_signal\nffffffff81000200 D data\n\
         ffffffff81000300 T ext4_read [ext4]\n",
    )
    .unwrap();
    let ids = [(THREAD | LOGICAL, 0)];
    write(&sampled(&ids, kernel, 0xffff_ffff_8100_01ff), &folder.path().join("a.hpcrun"));
    write(&sampled(&ids, kernel, 0xffff_ffff_8100_0300), &folder.path().join("b.hpcrun"));
    assert_eq!(
        functions(folder.path()),
        ["<unknown entry>", "do_signal [vmlinux]", "ext4_read [ext4] [vmlinux]"]
    );
}

#[test]
fn symbols_are_not_looked_for_outside_of_the_directory() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir_all(inner.join("kernel_symbols")).unwrap();
    fs::write(folder.path().join("vmlinux"), "0 T outside\n").unwrap();
    let ids = [(THREAD | LOGICAL, 0)];
    let module = "kernel_symbols/../../vmlinux";
    write(&sampled(&ids, module, 0x10), &inner.join("a.hpcrun"));
    assert_eq!(functions(&inner), ["<unknown entry>", "vmlinux+0x10"]);
}

#[test]
fn a_file_that_is_not_what_its_name_says_is_told_and_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.hpcrun"), assembled::shipped_0400(true)).unwrap();
    fs::write(folder.path().join("a.hpctrace"), assembled::shipped_0400(true)).unwrap();
    fs::write(folder.path().join("b.hpcrun"), assembled::trace(false, false)).unwrap();
    let dataset = open(folder.path());
    assert_eq!(dataset.recordings().len(), 1);
    assert_eq!(dataset.profile().unwrap().totals(None).unwrap(), [0.75, 7000.0]);
    let found = dataset.findings().into_iter();
    let found: Vec<_> = found.map(|f| (f.severity, f.rule, f.file.unwrap(), f.message)).collect();
    let expected = [
        ("profile", "a.hpctrace", "it is a profile, but named .hpctrace, and left out: rename it"),
        ("trace", "b.hpcrun", "it is a trace, but named .hpcrun, and left out: rename it"),
    ];
    let expected =
        expected.map(|(rule, file, why)| (Severity::Error, rule, file.into(), why.into()));
    assert_eq!(found, expected);
}

/// Keeps the names of headers.
#[derive(Default)]
struct Names(Vec<String>);

impl RecordSink for Names {
    fn record(&mut self, record: &Record<'_>) -> Result<Flow> {
        let name =
            record.fields.iter().find(|(name, _)| *name == "name" && record.kind == "header");
        self.0.extend(name.map(|(_, field)| format!("{field:?}")));
        Ok(Flow::More)
    }

    fn text(&mut self, _text: &[u8]) -> Result<Flow> {
        Ok(Flow::Stop)
    }
}

#[test]
fn the_dump_of_a_directory_names_each_file_where_it_begins() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.hpcrun"), assembled::shipped_0400(true)).unwrap();
    fs::write(folder.path().join("a.hpctrace"), assembled::trace(false, false)).unwrap();
    let mut names = Names::default();
    open(folder.path()).dump(&DumpRequest::default(), &mut names).unwrap();
    let text = |name: &str| format!("{:?}", kymo_model::Field::from(Value::Text(name.into())));
    assert_eq!(names.0, [text("a.hpcrun"), text("a.hpctrace")]);
}

#[test]
fn a_summary_has_numbers_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.hpcrun"), assembled::shipped_0400(true)).unwrap();
    fs::write(folder.path().join("a.hpctrace"), assembled::trace(false, false)).unwrap();
    fs::write(folder.path().join("b.hpcrun"), assembled::shipped_0200(true)).unwrap();
    let summary = open(folder.path()).summary();
    let metrics = &section(&summary, "metrics").rows;
    // 7 cycles with a period of 1000.
    let row = |name: &str| metrics.iter().find(|row| row.name == name).unwrap();
    let expected = [
        ("total", Value::UInt(7000)),
        ("values", Value::UInt(1)),
        ("is_real", Value::Bool(false)),
        ("formula", Value::Null),
    ];
    assert_eq!(row("cycles").values, expected);
    assert_eq!(row("CPUTIME (sec)").values[0], ("total", Value::Float(0.75)));
    let threads = &section(&summary, "threads").rows;
    let nodes: Vec<_> =
        threads.iter().map(|row| (row.values[2].clone(), row.values[3].clone())).collect();
    let expected = [
        (("nodes", Value::UInt(4)), ("trace_records", Value::UInt(3))),
        (("nodes", Value::UInt(3)), ("trace_records", Value::Null)),
    ];
    assert_eq!(nodes, expected);
    let exact = summary.facts.iter().filter_map(|fact| fact.exact.clone());
    let expected = [
        ("start_ns", Value::Int(1_700_000_000_000_000_000)),
        ("end_ns", Value::Int(1_700_000_000_008_000_000)),
        ("duration_ns", Value::UInt(8_000_000)),
    ];
    assert_eq!(exact.collect::<Vec<_>>(), expected);
}

#[test]
fn a_trace_says_whether_its_profile_is_missing_or_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.hpcrun"), &assembled::shipped_0400(true)[..3000]).unwrap();
    for name in ["a.hpctrace", "b.hpctrace"] {
        fs::write(folder.path().join(name), assembled::trace(false, false)).unwrap();
    }
    let found = open(folder.path()).findings().into_iter().filter(|f| f.rule == "no-profile");
    let found: Vec<_> = found.map(|f| (f.file.unwrap(), f.message)).collect();
    let expected = [
        ("a.hpctrace", "a.hpcrun beside it cannot be read: what its nodes stand for is unknown"),
        ("b.hpctrace", "there is no b.hpcrun beside it: what its nodes stand for is unknown"),
    ];
    assert_eq!(found, expected.map(|(file, why)| (file.to_owned(), why.to_owned())));
}

#[test]
fn addresses_of_what_the_kernel_maps_are_named_by_the_image_beside() {
    let image = "vdso/8c1478fcd4f0b7d3e3396d9eac417ef0.vdso";
    let recorded = format!("hpctoolkit/made-here/matmul-omp/measurements/{image}");
    let Some(recorded) = shared::file(&recorded) else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("vdso")).unwrap();
    fs::copy(recorded, folder.path().join(image)).unwrap();
    // By readelf, 0xaf0 and 902 bytes from there are clock_gettime, and __vdso_clock_gettime too.
    let sample = sampled(&[(THREAD | LOGICAL, 0)], image, 0xaf5);
    write(&sample, &folder.path().join("a.hpcrun"));
    let names = functions(folder.path());
    assert!(matches!(&names[..], [_, name] if name.ends_with("clock_gettime")), "{names:?}");
}

#[test]
fn an_id_of_a_kind_without_a_name_is_called_by_the_number_of_the_kind() {
    let mut bytes = assembled::shipped_0400(true);
    // Kind 3 of the dictionary: its name of six letters becomes one of none.
    let at = 0x1002 + 2 + 4 + 4 + 2;
    assert_eq!(&bytes[at + 4..at + 10], b"THREAD");
    bytes[at..at + 10].fill(0);
    let source = Source::from_bytes("a.hpcrun", bytes);
    let dataset = Hpcrun.open(&source, &Context::default()).unwrap();
    let thread = dataset.profile().unwrap().thread(ThreadId(0)).unwrap();
    assert_eq!(thread.to_string(), "NODE 0 [0x7f0100] / kind 3 5");
}
