//! Damaged and hostile files: every rule has a sample, and nothing goes deep or round.

use crate::assembled;

use std::fs;
use std::path::Path;

use crate::assembled::Bytes;
use kymo_conformance::{golden, testdata};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Severity, Source};
use kymo_hpcrun::Hpcrun;
use kymo_model::profile::{Column, MetricId, MetricScope, Walk};
use kymo_model::{Dataset, Format};

/// A file with some bytes replaced.
fn with(mut bytes: Vec<u8>, at: usize, new: &[u8]) -> Vec<u8> {
    bytes[at..at + new.len()].copy_from_slice(new);
    bytes
}

/// A 04.00b file with other bytes in a section, which still fits its place.
fn with_section(mut bytes: Vec<u8>, index: usize, new: &[u8]) -> Vec<u8> {
    let place = [0, 0x400, 0x800, 0xc00, 0x1000, 0x1400][index];
    bytes[place..place + 0x400].fill(0);
    bytes[place..place + new.len()].copy_from_slice(new);
    let end = (place + new.len()) as u64;
    let footer = bytes.len() - 112;
    with(bytes, footer + 16 * index + 8, &end.to_be_bytes())
}

/// Every damaged file, with the rule that it breaks. Offsets are those of the sections of
/// `assembled::shipped_0400`: cct at 0x800, metrics at 0xc00, ids at 0x1000, values at 0x1400.
fn bad() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let sound = || assembled::shipped_0400(true);
    let footer = sound().len() - 112;
    let node = |index: usize| 0x808 + 19 * index;
    let value = |index: usize| 0x1400 + 2 + 36 + 12 + 10 * index;
    let entry = |index: usize| value(3) + 12 * index;
    let trace = || assembled::trace(false, false);
    let described = || assembled::described(Bytes::little());
    let mut trailing = described();
    trailing.push(0);
    let mut modules = Bytes::big();
    modules.u32(2).u16(1).str("/opt/solver").u64(1).u16(1).str("/lib/libm.so").u64(1);
    let mut no_ids = Bytes::big();
    no_ids.u16(0).u64(1).u32(1).u64(0.5_f64.to_bits()).u16(0);
    no_ids.u32(19).u64(0).u32(0x656e_6421).u64(1);
    let computed = |formula: &str| {
        let mut out = Bytes::big();
        out.u32(2);
        for (name, format, formula) in [("CPUTIME (sec)", 2, ""), ("cycles", 1, formula)] {
            out.str(name).str("").raw(&[1, 0, format, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
            out.u64(1).str(formula).str("").u16(0).u16(0).u64(0).u64(0);
        }
        out.bytes
    };
    let nan = f64::NAN.to_bits().to_be_bytes();
    let flags = 0xc04 + 4 + 13 + 4;
    vec![
        ("loadmap", "module_path.hpcrun", with(sound(), 0x406, &[0xFF; 4])),
        ("id-tuple-dictionary", "kind_name.hpcrun", with(sound(), 0x1004, &[0xFF; 4])),
        ("section-size", "section_size.hpcrun", with(sound(), 0xc03, &[1])),
        ("section-overlap", "section_overlap.hpcrun", with(sound(), footer + 0x1e, &[8, 0x10])),
        ("duplicate-module", "duplicate_module.hpcrun", with_section(sound(), 1, &modules.bytes)),
        ("id-tuple", "no_ids.hpcrun", with_section(sound(), 5, &no_ids.bytes)),
        ("gap", "gap.hpcrun", with(sound(), 0x3ff, &[7])),
        ("metric-type", "metric_type.hpcrun", with(sound(), flags, &[0])),
        ("value-computed", "value_computed.hpcrun", with_section(sound(), 3, &computed("#0/#0"))),
        ("metric-formula", "metric_formula.hpcrun", with_section(sound(), 3, &computed("1 +"))),
        ("value-number", "value_number.hpcrun", with(sound(), value(0), &nan)),
        ("trace", "no_flags.hpctrace", trace()[..28].to_vec()),
        ("magic", "magic.hpcrun", with(sound(), 0, b"X")),
        ("magic", "version.hpcrun", with(sound(), 18, b"09")),
        ("footer", "no_footer.hpcrun", sound()[..footer].to_vec()),
        ("footer", "cut_in_nodes.hpcrun", sound()[..node(2) + 5].to_vec()),
        ("header", "header.hpcrun", with(sound(), 24, &[0, 0, 9, 0])),
        ("section", "section.hpcrun", with(sound(), footer + 0x28, &[0xFF])),
        ("cct", "node_count.hpcrun", with(sound(), 0x800, &[0xFF; 8])),
        ("metric-table", "metric_name.hpcrun", with(sound(), 0xc04, &[0xFF; 4])),
        ("sparse", "value_count.hpcrun", with(sound(), 0x1426, &[0xFF; 8])),
        ("index-order", "index_order.hpcrun", with(sound(), entry(1) + 4, &[0xFF])),
        ("index-end", "index_end.hpcrun", with(sound(), entry(2), b"mid!")),
        ("footer-start", "footer_start.hpcrun", with(sound(), footer + 0x67, &[1])),
        ("duplicate-node", "duplicate_node.hpcrun", with(sound(), node(3) + 3, &[16])),
        ("no-parent", "no_parent.hpcrun", with(sound(), node(3) + 7, &[99])),
        ("own-parent", "own_parent.hpcrun", with(sound(), node(3) + 7, &[19])),
        ("cycle", "cycle.hpcrun", with(sound(), node(2) + 7, &[19])),
        ("node-module", "node_module.hpcrun", with(sound(), node(3) + 9, &[7])),
        ("metric-format", "metric_format.hpcrun", with(sound(), 0xc04 + 4 + 13 + 4 + 2, &[7])),
        ("metric-period", "metric_period.hpcrun", with(sound(), flags + 16, &[0; 8])),
        ("value-negative", "value_negative.hpcrun", with(sound(), value(0), &[0xBF])),
        ("value-metric", "value_metric.hpcrun", with(sound(), value(1) + 9, &[9])),
        ("value-node", "value_node.hpcrun", with(sound(), entry(0) + 3, &[21])),
        ("id-kind", "id_kind.hpcrun", with(sound(), 0x1403, &[6])),
        ("epoch", "epoch_tag.hpcrun", with(described(), 0x43, b"epoch")),
        ("epoch", "cut_in_epoch.hpcrun", described()[..0x120].to_vec()),
        ("trailing", "trailing.hpcrun", trailing),
        ("trace-cut", "cut.hpctrace", trace()[..50].to_vec()),
        ("trace-order", "order.hpctrace", with(trace(), 32 + 24 + 4, &[0; 4])),
        ("duplicate-index", "duplicate_index.hpcrun", with(sound(), entry(1) + 3, &[19])),
        ("duplicate-value", "duplicate_value.hpcrun", with(sound(), value(1) + 9, &[0])),
        ("root", "second_root.hpcrun", with(sound(), node(1) + 4, &[0; 4])),
        ("node-id", "node_0.hpcrun", with(sound(), node(2), &[0; 4])),
        ("trace-time", "time.hpctrace", with(trace(), 32, &[0; 8])),
        ("trace-time", "no_times.hpctrace", no_times()),
    ]
}

/// A trace whose times are all beyond 63 bits.
fn no_times() -> Vec<u8> {
    let trace = assembled::trace(false, false);
    (32..trace.len()).step_by(12).fold(trace, |bytes, record| with(bytes, record, &[0xFF]))
}

fn rules(path: &Path) -> Vec<&'static str> {
    let source = Source::open(path, &Limits::default()).unwrap();
    let found = Hpcrun.check(&source, &Context::default()).unwrap();
    found.into_iter().filter(|f| f.severity > Severity::Note).map(|f| f.rule).collect()
}

#[test]
fn every_damaged_sample_breaks_its_rule() {
    for (rule, name, bytes) in bad() {
        let path = testdata("hpcrun/bad").join(name);
        if golden::blessing() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &bytes).unwrap();
        }
        let found = fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(found == bytes, "{name} is made otherwise (BLESS=1 rewrites it)");
        let rules = rules(&path);
        assert!(rules.contains(&rule), "{name} breaks {rules:?}");
    }
}

#[test]
fn rules_across_the_files_of_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    // The records of the trace are 8 ms apart, and the second names node 21.
    let mut profile = assembled::shipped_0400(true);
    let mut header = Bytes::big();
    header.raw(b"HPCRUN-profile____04.00b").u32(1);
    header.str("trace-max-time").str("1700000000008000001");
    profile = with_section(profile, 0, &header.bytes);
    put("a.hpcrun", &profile);
    put("a.hpctrace", &assembled::trace(false, false));
    put("b.hpctrace", &assembled::trace(false, false));
    fs::create_dir(folder.path().join("structs")).unwrap();
    put("structs/a.hpcstruct", b"../a.hpcstruct");
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    let found = Hpcrun.check(&source, &Context::default()).unwrap();
    let found: Vec<_> = found.iter().map(|f| (f.rule, f.offset, f.file.as_deref())).collect();
    let expected = [
        ("structure", Some(0), Some("structs/a.hpcstruct")),
        ("trace-bounds", Some(32), Some("a.hpctrace")),
        ("trace-node", Some(44), Some("a.hpctrace")),
        ("no-profile", None, Some("b.hpctrace")),
    ];
    assert_eq!(found, expected);
}

fn dataset(bytes: Vec<u8>) -> Box<dyn Dataset> {
    let source = Source::from_bytes("a.hpcrun", bytes);
    Hpcrun.open(&source, &Context::default()).unwrap()
}

/// A 02.00b file whose nodes are these, each with one value of 1.
fn chain(nodes: impl ExactSizeIterator<Item = (i32, i32)>) -> Vec<u8> {
    let mut out = Bytes::big();
    out.raw(b"HPCRUN-profile____02.00b").u32(0);
    out.raw(b"EPOCH___").u64(0).u64(1).u32(0).u32(0);
    out.u32(1).str("n").str("").raw(&[1, 0, 1, 0, 0, 0, 1, 1]).u64(0).u64(1).str("").str("");
    out.u32(1).u16(1).str("/opt/a").u64(1);
    out.u64(nodes.len() as u64);
    for (id, parent) in nodes {
        out.i32(id).i32(parent).u16(1).u64(0x1000 + u64::from(id.unsigned_abs())).u64(1);
    }
    out.bytes
}

/// What is measured below all entries together.
fn total(dataset: &dyn Dataset) -> f64 {
    let profile = dataset.profile().unwrap();
    let mut roots = Vec::new();
    profile.roots(&mut roots).unwrap();
    let column = Column { metric: MetricId(0), reach: MetricScope::Execution };
    let mut sum = 0.0;
    for root in roots {
        let mut of_root = [0.0];
        let context = profile.context(root).unwrap();
        profile.sums(&context, &[column], None, &mut of_root).unwrap();
        sum += of_root[0];
    }
    sum
}

#[test]
fn a_chain_of_a_million_nodes_is_read_without_going_deep() {
    let deep = 1_000_000;
    for is_backwards in [false, true] {
        let node = |id| if is_backwards { (deep + 1 - id, deep - id) } else { (id, id - 1) };
        let nodes = (1..=deep).map(node);
        let bytes = chain(nodes.collect::<Vec<_>>().into_iter());
        let source = Source::from_bytes("deep.hpcrun", bytes.clone());
        assert_eq!(Hpcrun.check(&source, &Context::default()).unwrap(), []);
        let dataset = dataset(bytes);
        assert!((total(&*dataset) - f64::from(deep)).abs() < 0.5);
        let profile = dataset.profile().unwrap();
        assert_eq!(Walk::new(&*profile).unwrap().flatten().count(), 2_000_002);
    }
}

#[test]
fn what_leads_round_in_circles_is_said_and_keeps_its_values() {
    // 1 → 2 → 3 → 1, with 4 below 2; 5 is its own parent; 6 has none.
    let bytes = chain([(1, 3), (2, 1), (3, 2), (4, 2), (5, 5), (6, 77)].into_iter());
    let source = Source::from_bytes("round.hpcrun", bytes.clone());
    let found = Hpcrun.check(&source, &Context::default()).unwrap();
    let rules: Vec<_> = found.iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["cycle", "own-parent", "no-parent"]);
    assert!((total(&*dataset(bytes)) - 6.0).abs() < 1e-9);
}

#[test]
fn one_bad_profile_of_a_directory_is_a_finding_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    put("a-000000-000-00000000-1-0.hpcrun", &assembled::shipped_0400(true));
    put("a-000000-000-00000000-1-0.hpctrace", &assembled::trace(false, false));
    put("a-000000-001-00000000-1-0.hpcrun", &assembled::shipped_0400(true)[..3000]);
    put("a-000000-002-00000000-1-0.hpcrun", &assembled::shipped_0200(false));
    put("a-000000-003-00000000-1-0.hpctrace", &assembled::trace(true, false));
    put("a-000000-000-00000000-1-0.log", b"summary");
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    assert!(Hpcrun.sniff(&source.probe()).is_some());
    let dataset = Hpcrun.open(&source, &Context::default()).unwrap();
    let found: Vec<_> = dataset.findings().iter().map(|f| (f.rule, f.file.clone())).collect();
    let file = |name: &str| Some(format!("a-000000-{name}"));
    let expected = [
        ("profile", file("001-00000000-1-0.hpcrun")),
        ("no-profile", file("003-00000000-1-0.hpctrace")),
    ];
    assert_eq!(found, expected);
    let names: Vec<_> = dataset.recordings().into_iter().map(|r| r.name).collect();
    assert_eq!(names.len(), 3);
    // 0.75 seconds and 4000 microseconds are of two metrics: the first is the sum of one.
    assert!((total(&*dataset) - 0.75).abs() < 1e-12);
    // The trace of thread 0 names node 21, which its profile does not have.
    let checked = Hpcrun.check(&source, &Context::default()).unwrap();
    assert!(checked.iter().any(|f| f.rule == "trace-node"));
    let into = tempfile::tempdir().unwrap();
    let to = Destination::new(into.path().join("repaired"), false);
    let repaired = Hpcrun.repair(&source, &to, &Context::default()).unwrap();
    assert!(repaired.losses.iter().any(|loss| loss.file == file("001-00000000-1-0.hpcrun")));
    let again = Source::open(to.path(), &Limits::default()).unwrap();
    let again = Hpcrun.open(&again, &Context::default()).unwrap();
    assert_eq!(again.recordings().len(), 4);
    assert!(again.findings().iter().all(|finding| finding.severity < Severity::Error));
}
