//! Rules of `check` on files that break one each, and what other commands say of the same files.

use crate::assembled;

use std::fs;

use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Finding, Result, Source, Value};
use kymo_hpcrun::spec::placeholder;
use kymo_hpcrun::{
    DirectoryWriter, Hpcrun, Metric, MetricFlags, Place, Profile, ProfileBuilder, ThreadFile,
    TraceRecord,
};
use kymo_model::{Dataset, DumpRequest, Field, Flow, Format, Record, RecordSink};

fn check(bytes: &[u8]) -> Vec<Finding> {
    let source = Source::from_bytes("a.hpcrun", bytes.to_vec());
    Hpcrun.check(&source, &Context::default()).unwrap()
}

fn open(bytes: Vec<u8>) -> Box<dyn Dataset> {
    Hpcrun.open(&Source::from_bytes("a.hpcrun", bytes), &Context::default()).unwrap()
}

fn written(profile: &ProfileBuilder) -> Vec<u8> {
    let mut bytes = Vec::new();
    profile.write(&mut bytes).unwrap();
    bytes
}

fn rules(findings: &[Finding]) -> Vec<(&str, Option<u64>)> {
    findings.iter().map(|finding| (finding.rule, finding.offset)).collect()
}

/// The sound file with other bytes at some places.
fn changed(changes: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = assembled::shipped_0400(true);
    for (at, new) in changes {
        bytes[*at..at + new.len()].copy_from_slice(new);
    }
    bytes
}

/// Nodes of 19 bytes follow their number at 0x800.
const fn node(index: usize) -> usize {
    0x808 + 19 * index
}

/// Two ids of 18 bytes behind their number, the numbers of values and nodes, three values of 10.
const VALUES: usize = 0x1400 + 2 + 36 + 12;
const INDEX: usize = VALUES + 30;

#[test]
fn what_is_there_twice_is_found() {
    // The second of two nodes in the index is the first again, which has a value of that metric.
    let found = check(&changed(&[(INDEX + 12, &[0, 0, 0, 19])]));
    let value = ("duplicate-value", Some(VALUES as u64 + 20));
    assert_eq!(rules(&found), [value, ("duplicate-index", Some(INDEX as u64 + 12))]);
    // The second of the two values of a node is of the metric of the first.
    let found = check(&changed(&[(VALUES + 18, &[0, 0])]));
    assert_eq!(rules(&found), [("duplicate-value", Some(VALUES as u64 + 10))]);
    let mut profile = ProfileBuilder::new("a");
    profile.metric("n", "", true).unwrap();
    profile.metric("n", "", false).unwrap();
    for (metric, amount) in [(0, 0.5), (1, 10.0)] {
        profile.add(ProfileBuilder::ROOT, metric, amount);
    }
    let bytes = written(&profile);
    let found = check(&bytes);
    assert_eq!((found.len(), found[0].rule), (1, "duplicate-metric"));
    assert_eq!(found[0].message, "a metric n is there before it");
    let dataset = open(bytes);
    // Counts are not added to real values where they are told, and top says that it adds them.
    let metrics = dataset.summary().sections.swap_remove(0).rows;
    let texts: Vec<_> = metrics.iter().map(|row| (row.name.as_str(), row.text.as_str())).collect();
    assert_eq!(texts, [("n", "0.5 in all"), ("n", "10 in all, counted")]);
    dataset.profile().unwrap();
    let why = "1 metric has the name of an earlier one, and is added to it";
    assert_eq!(dataset.findings()[0].message, why);
}

#[test]
fn there_is_one_root_and_no_node_is_0() {
    let none = &[0; 4];
    let found = check(&changed(&[(node(1) + 4, none)]));
    assert_eq!(rules(&found), [("root", Some(node(1) as u64))]);
    assert_eq!(found[0].message, "node 14 has no parent, and is not ^Primary");
    let found = check(&changed(&[(node(1) + 4, none), (node(1) + 10, b"^Primary")]));
    assert_eq!(rules(&found), [("root", Some(node(1) as u64))]);
    assert_eq!(found[0].message, "node 14 is a second ^Primary without a parent, after 12");
    let found = check(&changed(&[(node(2), none)]));
    assert!(rules(&found).contains(&("node-id", Some(node(2) as u64))), "{found:?}");
}

#[test]
fn check_finds_what_reports_warn_of() {
    // An address of the process below all that was loaded.
    let mut profile = ProfileBuilder::new("a");
    let place = Place { load_addr: 0x40_0000, load_offset: 0x40_0000 };
    let module = profile.load_module("/bin/a", Some(place)).unwrap();
    let time = profile.metric("n", "", true).unwrap();
    let node = profile.child(ProfileBuilder::ROOT, module, 0x10);
    profile.add(node, time, 1.0);
    let mut bytes = Vec::new();
    assert_eq!(profile.write_described(&mut bytes).unwrap(), [""; 0]);
    let found = check(&bytes);
    assert_eq!((found.len(), found[0].rule), (1, "node-module"));
    assert_eq!(found[0].message, "node 14 is at 0x10, where no load module is");
    let dataset = open(bytes);
    dataset.profile().unwrap();
    assert_eq!((dataset.findings().len(), dataset.findings()[0].rule), (1, "node-module"));
    // A formula that is none.
    let mut profile = ProfileBuilder::new("a");
    let metric = Metric::new("n", MetricFlags::raw(true));
    profile.add_metric(Metric { formula: "#1 +".into(), ..metric }).unwrap();
    let found = check(&written(&profile));
    assert_eq!((found.len(), found[0].rule), (1, "metric-formula"));
}

#[test]
fn counts_are_added_as_whole_numbers() {
    let mut profile = ProfileBuilder::new("a");
    let cycles = profile.metric("CYCLES", "", false).unwrap();
    let node = profile.child(ProfileBuilder::ROOT, 0, placeholder::MAIN);
    profile.add(node, cycles, 123_456_789_012_345.0);
    profile.add(ProfileBuilder::ROOT, cycles, 1.0);
    let section = open(written(&profile)).summary().sections.swap_remove(0);
    let row = &section.rows[0];
    assert_eq!(row.text, "123456789012346 in all, counted");
    assert_eq!(row.values[0], ("total", Value::UInt(123_456_789_012_346)));
}

#[test]
fn every_gap_that_is_dropped_is_a_loss() {
    let bytes = changed(&[(0x100, &[1]), (0x500, &[1, 2]), (0x900, &[7])]);
    let folder = tempfile::tempdir().unwrap();
    let to = Destination::new(folder.path().join("out"), false);
    let source = Source::from_bytes("a.hpcrun", bytes);
    let repaired = Hpcrun.repair(&source, &to, &Context::default()).unwrap();
    let expected = [("gap", Some(0x100)), ("gap", Some(0x500)), ("gap", Some(0x900))];
    assert_eq!(rules(&repaired.losses), expected);
    assert!(fs::read(to.path()).unwrap() == assembled::shipped_0400(true));
}

/// Keeps kinds of records, where they are and what they say.
#[derive(Default)]
struct Kept(Vec<(String, u64, String)>);

impl RecordSink for Kept {
    fn record(&mut self, record: &Record<'_>) -> Result<Flow> {
        let fields = record.fields.iter().map(|(name, field)| match field {
            Field::Value(value) => format!("{name} {value}"),
            Field::Array(values) => format!("{name} {values:?}"),
        });
        let fields: Vec<_> = fields.collect();
        self.0.push((record.kind.to_owned(), record.offset, fields.join(", ")));
        Ok(Flow::More)
    }

    fn text(&mut self, _text: &[u8]) -> Result<Flow> {
        Ok(Flow::Stop)
    }
}

#[test]
fn a_dump_tells_where_sections_are_how_many_items_they_have_and_the_index() {
    let bytes = assembled::shipped_0400(true);
    let footer = bytes.len() as u64 - 112;
    let mut kept = Kept::default();
    open(bytes).dump(&DumpRequest::default(), &mut kept).unwrap();
    let item = |kind: &str| -> Vec<_> {
        let records = kept.0.iter().filter(|(found, ..)| found == kind);
        records.map(|(_, offset, fields)| (*offset, fields.as_str())).collect()
    };
    let sparse = 0x1400;
    let counts = [
        (24, "of nv_pairs, count 1"),
        (0x400, "of load_modules, count 1"),
        (0x800, "of nodes, count 4"),
        (0xc00, "of metrics, count 2"),
        (0x1000, "of id_kinds, count 2"),
        (sparse, "of ids, count 2"),
        (sparse + 38, "of values, count 3"),
        (sparse + 46, "of nodes with values, count 2"),
    ];
    assert_eq!(item("count"), counts);
    let index = INDEX as u64;
    let entries = [
        (index, "node 19, first_value 0, is_end false"),
        (index + 12, "node 16, first_value 2, is_end false"),
        (index + 24, "node 1701733409, first_value 3, is_end true"),
    ];
    assert_eq!(item("index_entry"), entries);
    // The header has 24 bytes, a number, and texts of 12 and 6 letters.
    let section = item("section");
    assert_eq!(section[0], (footer, "name hdr, start 0x0, end 0x36"));
    assert_eq!(section[2], (footer + 32, "name cct, start 0x800, end 0x854"));
    assert_eq!(section.len(), 6);
    let start = format!("footer_start {footer:#x}");
    assert_eq!(item("footer"), [(footer + 96, start.as_str())]);
    // Records come in the order of the file.
    assert!(kept.0.iter().skip(1).is_sorted_by_key(|(_, offset, _)| *offset));
}

#[test]
fn the_number_of_epochs_is_told() {
    let mut kept = Kept::default();
    let bytes = assembled::described(assembled::Bytes::little());
    // It stands before the first of them.
    let tag = bytes.windows(8).position(|bytes| bytes == b"EPOCH___").unwrap() as u64;
    open(bytes).dump(&DumpRequest::default(), &mut kept).unwrap();
    let told = kept.0.iter().find(|(_, offset, _)| *offset == tag - 4);
    assert_eq!(told.unwrap().2, "recording 0, of epochs, count 2");
}

#[test]
fn a_directory_says_in_each_header_what_names_the_thread() {
    let folder = tempfile::tempdir().unwrap();
    let to = Destination::new(folder.path().join("m"), false);
    let out = DirectoryWriter::new("app", &to).unwrap();
    let mut profile = ProfileBuilder::new("app");
    profile.pair("program-path", "/bin/app").pair("topology", "ring");
    let time = profile.metric("CPUTIME (sec)", "", true).unwrap();
    let main = profile.child(ProfileBuilder::ROOT, 0, placeholder::MAIN);
    profile.add(main, time, 0.5);
    let node = profile.retain(main);
    let file = ThreadFile { rank: Some(3), thread: 1, host: 0x7f01, process: 42, generation: 0 };
    let start = 1_704_067_200_000_000_000;
    let record = |time| TraceRecord { time, node, metric: None };
    out.traced(&file, &profile, [record(start), record(start + 5)]).unwrap();
    out.profile(&ThreadFile { thread: 2, ..file }, &profile).unwrap();
    let back =
        out.traced(&ThreadFile { thread: 4, ..file }, &profile, [record(start + 1), record(start)]);
    let why = "time 1704067200000000000 comes after 1704067200000000001 in a trace";
    assert_eq!(back.unwrap_err().to_string(), why);
    out.commit().unwrap();
    let read = |name: &str| {
        let bytes = fs::read(to.path().join(format!("{name}.hpcrun"))).unwrap();
        Profile::open(&bytes.into(), &Limits::default()).unwrap()
    };
    let first = read("app-000003-001-00007f01-42-0");
    let pairs: Vec<_> = first.header.nv.iter().map(|p| (p.name.text(), p.value.text())).collect();
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| (&**name, &**value)).collect();
    let expected = [
        ("program-name", "app"),
        ("program-path", "/bin/app"),
        ("env-path", ""),
        ("job-id", ""),
        ("mpi-rank", "3"),
        ("thread-id", "1"),
        ("host-id", "7f01"),
        ("process-id", "42"),
        ("trace-min-time", "1704067200000000000"),
        ("trace-max-time", "1704067200000000005"),
        ("trace-disorder", "0"),
        ("topology", "ring"),
    ];
    assert_eq!(pairs, expected);
    let ids = first.id_tuple.iter().map(|id| (id.kind(), id.interpretation(), id.logical));
    assert_eq!(ids.collect::<Vec<_>>(), [(1, 1, 0), (2, 0, 3), (3, 3, 1)]);
    let untraced = read("app-000003-002-00007f01-42-0");
    assert_eq!(untraced.header.value("trace-min-time").as_deref(), Some("0"));
    let source = Source::open(to.path(), &Limits::default()).unwrap();
    assert_eq!(Hpcrun.check(&source, &Context::default()).unwrap(), []);
}

#[test]
fn what_has_no_place_in_the_described_layout_is_told() {
    let mut profile = ProfileBuilder::new("a");
    profile.id(3, 0, 0);
    profile.metric("n", "how many", false).unwrap();
    profile.child(ProfileBuilder::ROOT, 0, placeholder::MAIN);
    let lost = profile.write_described(&mut Vec::new()).unwrap();
    let expected = [
        "ids of the thread: 1",
        "placeholders, whose address is 0: 1",
        "descriptions of metrics: 1",
    ];
    assert_eq!(lost, expected);
}
