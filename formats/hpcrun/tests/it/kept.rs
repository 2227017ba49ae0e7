//! Nothing that was measured is lost or put elsewhere without a word.

use crate::assembled;

use std::fs;

use crate::opened::{START, open, traced};
use kymo_conformance::testdata;
use kymo_core::bytes::Limits;
use kymo_core::{Context, Severity, Source};
use kymo_hpcrun::{Hpcrun, Profile, ProfileBuilder};
use kymo_model::profile::ContextNumber;
use kymo_model::timeline::{Content, Window};
use kymo_model::{Dataset, Format};

fn open_bytes(bytes: Vec<u8>) -> Box<dyn Dataset> {
    Hpcrun.open(&Source::from_bytes("a.hpcrun", bytes), &Context::default()).unwrap()
}

fn total(dataset: &dyn Dataset) -> f64 {
    dataset.profile().unwrap().totals(None).unwrap()[0]
}

/// The total that `kymo info` shows for the first metric.
fn shown(dataset: &dyn Dataset) -> String {
    let summary = dataset.summary();
    let metrics = summary.sections.iter().find(|section| section.title == "metrics").unwrap();
    metrics.rows[0].text.clone()
}

fn since_start((time, node): (u64, u32)) -> (u64, u32) {
    (START + time, node)
}

/// Times since the start, and offsets in the program of the contexts of all samples.
fn samples(dataset: &dyn Dataset) -> Vec<(u64, Option<u64>, Vec<u8>)> {
    let profile = dataset.profile();
    let mut events = dataset.timeline().unwrap().events(&Window::default()).unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let offset = match event.content {
            Content::Sample(number) => {
                let profile = profile.as_ref().unwrap();
                let id = profile.find(ContextNumber(number)).unwrap().unwrap();
                Some(profile.context(id).unwrap().point.unwrap().1)
            }
            Content::Payload => None,
            other => panic!("{other:?}"),
        };
        let time = u64::try_from(event.time.unwrap().0).unwrap() - START;
        found.push((time, offset, event.payload.to_vec()));
    }
    found
}

#[test]
fn the_sum_is_that_of_all_values_however_the_tree_is_broken() {
    for (name, rule) in [
        ("value_node", "value-node"),
        ("duplicate_node", "duplicate-node"),
        ("no_parent", "no-parent"),
        ("own_parent", "own-parent"),
        ("cycle", "cycle"),
        ("node_module", "node-module"),
    ] {
        let dataset = open(&testdata(format!("hpcrun/bad/{name}.hpcrun")));
        assert!((total(&*dataset) - 0.75).abs() < 1e-12, "{name}: {}", total(&*dataset));
        assert_eq!(shown(&*dataset), "0.75 in all", "{name}");
        let findings = dataset.findings();
        let found = findings.iter().any(|f| f.rule == rule && f.severity == Severity::Warning);
        assert!(found, "{name}: {findings:?}");
        let measured = dataset.measurement().unwrap().thread(0).unwrap();
        let values = measured.values.iter().filter(|value| value.metric == 0);
        assert!((values.map(|value| value.value).sum::<f64>() - 0.75).abs() < 1e-12, "{name}");
        let mut said = measured.findings.iter().chain(&measured.unlisted);
        assert!(said.any(|f| f.rule == rule) || rule == "duplicate-node");
    }
}

#[test]
fn a_value_of_no_metric_is_said() {
    let dataset = open(&testdata("hpcrun/bad/value_metric.hpcrun"));
    assert!((total(&*dataset) - 0.75).abs() < 1e-12);
    let findings = dataset.findings();
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    // The second value, after the ids (2 + 2 × 18) and the counts (12) at 0x1400.
    assert_eq!((finding.rule, finding.offset), ("value-metric", Some(0x1400 + 38 + 12 + 10)));
}

#[test]
fn what_was_measured_at_the_root_counts() {
    let mut builder = ProfileBuilder::new("a");
    builder.id(3 | 3 << 14, 0, 0);
    let time = builder.metric("TIME (sec)", "", true).unwrap();
    let module = builder.load_module("/bin/a", None).unwrap();
    let main = builder.child(ProfileBuilder::ROOT, module, 0x10);
    builder.add(ProfileBuilder::ROOT, time, 3.0);
    builder.add(main, time, 0.5);
    let mut bytes = Vec::new();
    builder.write(&mut bytes).unwrap();
    let dataset = open_bytes(bytes);
    assert!((total(&*dataset) - 3.5).abs() < 1e-12);
    assert_eq!(dataset.findings(), []);
}

#[test]
fn samples_have_the_context_of_their_node_or_none() {
    // Node 2 is not in the profile, and 12 is its root.
    let folder = traced(&[(0, 19), (1, 2), (2, 12), (3, 16)].map(since_start));
    let dataset = open(folder.path());
    let node = |id: u8| vec![0, 0, 0, id];
    let expected = [
        (0, Some(0x1240), node(19)),
        (1, None, node(2)),
        (2, None, node(12)),
        (3, Some(0x1187), node(16)),
    ];
    assert_eq!(samples(&*dataset), expected);
    let findings = dataset.findings();
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    // The second of records of 12 bytes, after a header of 32.
    assert_eq!((finding.rule, finding.offset), ("trace-node", Some(44)));
    assert_eq!(finding.file.as_deref(), Some("a.hpctrace"));
}

#[test]
fn a_sample_keeps_its_bytes_as_they_were_written() {
    // Little-endian and data-centric: node 19, metric 2.
    let mut bytes = b"HPCRUN-trace______01.01l".to_vec();
    bytes.extend_from_slice(&1_u64.to_le_bytes());
    bytes.extend_from_slice(&START.to_le_bytes());
    bytes.extend_from_slice(&[19, 0, 0, 0, 2, 0, 0, 0]);
    let dataset = open_bytes(bytes);
    assert_eq!(samples(&*dataset), [(0, None, vec![19, 0, 0, 0, 2, 0, 0, 0])]);
    let track = &dataset.timeline().unwrap().tracks()[0];
    assert_eq!(track.attributes.text("byte_order"), Some("little-endian"));
    assert_eq!(dataset.findings(), []);
}

#[test]
fn a_trace_that_is_said_to_be_out_of_order_is_sorted_and_sound() {
    let folder = traced(&[(0, 19), (5, 16), (4, 19), (4, 16)].map(since_start));
    let mut bytes = assembled::shipped_0400(true);
    // The pairs end long before 0x400, so there is room for three more.
    let mut pairs = assembled::Bytes::big();
    let last = START + 5;
    pairs.u32(4).str("program-name").str("solver").str("trace-disorder").str("2");
    pairs.str("trace-min-time").str(&START.to_string());
    pairs.str("trace-max-time").str(&last.to_string());
    bytes[24..24 + pairs.bytes.len()].copy_from_slice(&pairs.bytes);
    let (footer, end) = (bytes.len() - 112, 24 + pairs.bytes.len() as u64);
    bytes[footer + 8..footer + 16].copy_from_slice(&end.to_be_bytes());
    fs::write(folder.path().join("a.hpcrun"), bytes).unwrap();
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    assert_eq!(Hpcrun.check(&source, &Context::default()).unwrap(), []);
    let dataset = open(folder.path());
    let found: Vec<_> = samples(&*dataset).into_iter().map(|(t, offset, _)| (t, offset)).collect();
    let expected = [(0, Some(0x1240)), (4, Some(0x1240)), (4, Some(0x1187)), (5, Some(0x1187))];
    assert_eq!(found, expected);
    let facts = dataset.summary().facts;
    let duration = facts.iter().find(|fact| fact.name == "duration").unwrap();
    assert_eq!(duration.value.to_string(), "0.000000005 s");
}

#[test]
fn flags_of_today_are_never_taken_for_those_of_old() {
    // Flags follow the count, the name of 13 letters and an empty description at 0xc00.
    let flags = 0xc04 + 4 + 13 + 4;
    for kind in [0, 3] {
        let mut bytes = assembled::shipped_0400(true);
        bytes[flags] = kind;
        let profile = Profile::open(&bytes.clone().into(), &Limits::default()).unwrap();
        let metric = &profile.epochs[0].metrics[0];
        let fields = metric.flags.fields().unwrap();
        assert_eq!((fields.kind, fields.value_format, fields.show), (kind, 2, 1));
        let source = Source::from_bytes("a.hpcrun", bytes.clone());
        let found = Hpcrun.check(&source, &Context::default()).unwrap();
        let found: Vec<_> = found.iter().map(|finding| (finding.rule, finding.offset)).collect();
        assert_eq!(found, [("metric-type", Some(0xc04))]);
        assert!((total(&*open_bytes(bytes)) - 0.75).abs() < 1e-12);
    }
}

#[test]
fn more_metrics_than_two_bytes_can_number_are_refused() {
    let mut out = assembled::Bytes::big();
    out.raw(b"HPCRUN-profile____02.00b").u32(0).raw(b"EPOCH___").u64(0).u64(1).u32(0).u32(0);
    out.u32(65_537);
    for _ in 0..65_537 {
        out.str("m").str("").raw(&[1, 0, 1, 0, 0, 0, 1, 1]).u64(0).u64(1).str("").str("");
    }
    out.u32(0).u64(0);
    let error = Profile::open(&out.bytes.into(), &Limits::default()).unwrap_err();
    let expected = "number of metrics at byte 0x3c: 65537 is over the limit of 65536";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_long_name_of_a_kind_is_not_repeated_for_each_id() {
    let mut builder = ProfileBuilder::new("a");
    builder.id(3 | 3 << 14, 0, 7);
    builder.metric("n", "", false).unwrap();
    let mut bytes = Vec::new();
    builder.write(&mut bytes).unwrap();
    let mut profile = Profile::open(&bytes.into(), &Limits::default()).unwrap();
    profile.id_kinds[3].name = "T".repeat(1 << 18).into();
    profile.id_tuple = vec![profile.id_tuple[0]; 8000];
    let mut bytes = Vec::new();
    kymo_hpcrun::write_profile(&profile, &mut bytes).unwrap();
    let dataset = open_bytes(bytes);
    let view = dataset.profile().unwrap();
    let thread = view.thread(kymo_model::profile::ThreadId(0)).unwrap();
    assert_eq!(thread.ids.len(), 8000);
    assert!(thread.ids.iter().all(|part| part.kind.0 == "T".repeat(64)));
}
