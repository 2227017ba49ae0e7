//! What `repair` keeps, what it corrects, and that it says all that it loses.

use crate::assembled;

use std::fs;
use std::path::Path;

use crate::assembled::Bytes;
use kymo_conformance::testdata;
use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Finding, Source};
use kymo_hpcrun::Hpcrun;
use kymo_model::{Format, RepairReport};

/// Repairs bytes, and hands back the repaired file.
fn repaired(bytes: &[u8]) -> (RepairReport, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let to = Destination::new(folder.path().join("out"), false);
    let source = Source::from_bytes("a.hpcrun", bytes.to_vec());
    let repaired = Hpcrun.repair(&source, &to, &Context::default()).unwrap();
    (repaired, fs::read(to.path()).unwrap())
}

fn said(findings: &[Finding]) -> Vec<(&str, &str)> {
    findings.iter().map(|finding| (finding.rule, finding.message.as_str())).collect()
}

fn bad(name: &str) -> Vec<u8> {
    fs::read(testdata("hpcrun/bad").join(name)).unwrap()
}

#[test]
fn every_lost_section_is_told_with_how_much_of_it_is_kept() {
    let unknown = |items: &str| format!("{items} are lost: where they should be is unknown");
    let (metrics, kinds, values) = (unknown("metrics"), unknown("id kinds"), unknown("values"));
    // Cut within the third of four nodes.
    let (cut, _) = repaired(&bad("cut_in_nodes.hpcrun"));
    let expected = [
        ("cct", "2 of 4 nodes are kept"),
        ("metric-table", metrics.as_str()),
        ("id-tuple-dictionary", kinds.as_str()),
        ("sparse", values.as_str()),
    ];
    assert_eq!(said(&cut.losses), expected);
    // Cut within the index: nobody knows which nodes the three values are of.
    let index = 0x1400 + 2 + 36 + 12 + 30;
    let (cut, _) = repaired(&assembled::shipped_0400(true)[..index + 6]);
    assert_eq!(said(&cut.losses), [("sparse", "0 of 3 values are kept")]);
    // Cut within its second entry: where the values of the first end is not told.
    let (cut, _) = repaired(&assembled::shipped_0400(true)[..index + 18]);
    assert_eq!(said(&cut.losses), [("sparse", "0 of 3 values are kept")]);
    // Cut within the last: the two values of the first node are known.
    let (cut, _) = repaired(&assembled::shipped_0400(true)[..index + 30]);
    assert_eq!(said(&cut.losses), [("sparse", "2 of 3 values are kept")]);
}

#[test]
fn epochs_tell_what_is_kept_of_them() {
    let (cut, _) = repaired(&bad("cut_in_epoch.hpcrun"));
    let [loss] = &cut.losses[..] else { panic!("{:?}", cut.losses) };
    assert_eq!(loss.rule, "epoch");
    assert!(loss.message.ends_with("epochs after it that are lost: 1"), "{}", loss.message);
}

#[test]
fn what_is_found_in_spite_of_a_wrong_number_is_all_there() {
    // Its number of nodes, its number of values, the end of its section; a footer that is gone.
    let sound = assembled::shipped_0400(true);
    for name in ["node_count", "value_count", "section", "footer_start", "no_footer"] {
        let (repaired, bytes) = repaired(&bad(&format!("{name}.hpcrun")));
        assert_eq!(repaired.losses, [], "{name}");
        assert!(!repaired.corrected.is_empty(), "{name}");
        assert!(bytes == sound, "{name} is written otherwise");
    }
}

#[test]
fn what_is_dropped_is_a_loss() {
    let sound = assembled::shipped_0400(true);
    let trace = assembled::trace(false, false);
    let length = sound.len() as u64;
    for (more, rule, offset) in [
        // Of two profiles one after the other the footer of the second is read. That of the first
        // begins with the bounds of its first section, whose start is 0 and whose end has one byte.
        (&sound, "gap", length - 112 + 15),
        (&trace, "trailing", length),
        (&vec![7], "trailing", length),
    ] {
        let glued: Vec<_> = sound.iter().chain(more).copied().collect();
        let (repaired, bytes) = repaired(&glued);
        let losses: Vec<_> = repaired.losses.iter().map(|loss| (loss.rule, loss.offset)).collect();
        assert_eq!(losses, [(rule, Some(offset))]);
        assert!(bytes == sound);
    }
    // Nodes that were overwritten with zeros, their number too.
    let mut zeros = sound;
    zeros[0x800..0x854].fill(0);
    let (repaired, _) = repaired(&zeros);
    assert!(repaired.losses.iter().any(|loss| loss.rule == "section-size"));
    assert!(repaired.corrected.iter().any(|kept| kept.rule == "value-node"));
    let mut trailing = assembled::described(Bytes::little());
    trailing.push(0);
    let (repaired, _) = self::repaired(&trailing);
    assert_eq!(said(&repaired.losses), [("trailing", "1 bytes follow the last epoch")]);
}

#[test]
fn what_is_unsound_and_kept_is_said() {
    for (name, rule) in [
        ("cycle", "cycle"),
        ("no_parent", "no-parent"),
        ("own_parent", "own-parent"),
        ("duplicate_node", "duplicate-node"),
        ("value_node", "value-node"),
        ("value_metric", "value-metric"),
        ("node_module", "node-module"),
    ] {
        let bytes = bad(&format!("{name}.hpcrun"));
        let (repaired, written) = repaired(&bytes);
        assert!(written == bytes, "{name}");
        assert_eq!(repaired.losses, [], "{name}");
        let is_it = |f: &Finding| f.rule == rule && f.message.ends_with("it is kept as it is");
        assert!(repaired.corrected.iter().any(is_it), "{name}: {:?}", repaired.corrected);
    }
    assert_eq!(repaired(&assembled::shipped_0400(true)).0.corrected, []);
}

fn put(folder: &Path, name: &str, bytes: &[u8]) {
    fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
    fs::write(folder.join(name), bytes).unwrap();
}

#[cfg(unix)]
#[test]
fn all_that_lies_beside_and_below_is_copied_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let sound = assembled::shipped_0400(true);
    put(path, "a.hpcrun", &sound);
    put(path, "old/b.hpcrun", b"not a profile but precious");
    put(path, "old/c.hpcrun", &sound[..3000]);
    put(path, "logs/a.log", b"log");
    // Each of these leads round in circles twice.
    for link in ["one", "two"] {
        std::os::unix::fs::symlink(".", path.join("old").join(link)).unwrap();
    }
    let into = tempfile::tempdir().unwrap();
    let to = Destination::new(into.path().join("out"), false);
    let source = Source::open(path, &Limits::default()).unwrap();
    let repaired = Hpcrun.repair(&source, &to, &Context::default()).unwrap();
    assert_eq!((repaired.kept, repaired.losses, repaired.corrected), (1, vec![], vec![]));
    for name in ["a.hpcrun", "old/b.hpcrun", "old/c.hpcrun", "logs/a.log"] {
        assert_eq!(fs::read(to.path().join(name)).unwrap(), fs::read(path.join(name)).unwrap());
    }
    assert_eq!(fs::read_link(to.path().join("old/two")).unwrap(), Path::new("."));
}

/// A sound file without its footer, and with other bytes at a place.
fn without_footer(at: usize, new: &[u8]) -> Vec<u8> {
    let mut bytes = assembled::shipped_0400(true);
    bytes.truncate(bytes.len() - 112);
    bytes[at..at + new.len()].copy_from_slice(new);
    bytes
}

#[test]
fn sections_behind_a_damaged_one_are_found_by_what_is_in_them() {
    let kept = |bytes: &[u8]| {
        let (repaired, written) = repaired(bytes);
        let profile = kymo_hpcrun::Profile::open(&written.into(), &Limits::default()).unwrap();
        let epoch = &profile.epochs[0];
        let values = epoch.values.len(&epoch.nodes);
        let counts = [
            profile.header.nv.len(),
            epoch.load_modules.len(),
            epoch.nodes.len(),
            epoch.metrics.len(),
            profile.id_kinds.len(),
            values,
        ];
        let losses: Vec<_> = repaired.losses.iter().map(|f| (f.rule, f.message.clone())).collect();
        (counts, losses)
    };
    let lost = |rule, message: &str| vec![(rule, message.to_owned())];
    // The length of the first name, path and so on.
    let all = [0xFF; 4];
    assert_eq!(
        kept(&without_footer(0x1c, &all)),
        ([0, 1, 4, 2, 2, 3], lost("header", "0 of 1 nv-pairs are kept"))
    );
    assert_eq!(
        kept(&without_footer(0x406, &all)),
        ([1, 0, 4, 2, 2, 3], lost("loadmap", "0 of 1 load modules are kept"))
    );
    assert_eq!(
        kept(&without_footer(0xc04, &all)),
        ([1, 1, 4, 0, 2, 3], lost("metric-table", "0 of 2 metrics are kept"))
    );
    assert_eq!(
        kept(&without_footer(0x1004, &all)),
        ([1, 1, 4, 2, 0, 3], lost("id-tuple-dictionary", "0 of 2 id kinds are kept"))
    );
    // A number of nodes that is too large, and one that is too small: all four are there.
    for count in [5_u64, 1 << 40] {
        let told = format!("4 of {count} nodes are kept");
        assert_eq!(
            kept(&without_footer(0x800, &count.to_be_bytes())),
            ([1, 1, 4, 2, 2, 3], lost("cct", &told))
        );
    }
    assert_eq!(kept(&without_footer(0x800, &3_u64.to_be_bytes())), ([1, 1, 4, 2, 2, 3], vec![]));
}

/// 16 bytes doubled in the middle: the records behind them are where they should not be, and are
/// found by their times and by the nodes of the profile.
#[test]
fn records_that_are_not_where_they_should_be_are_found() {
    let mut writer = kymo_hpcrun::TraceWriter::new(Vec::new());
    for index in 0..600_u64 {
        let time = 1_700_000_000_000_000_000 + 4_000_000 * index;
        let node = if index % 5 < 2 { 21 } else { 19 };
        writer.record(&kymo_hpcrun::TraceRecord { time, node, metric: None }).unwrap();
    }
    let sound = writer.finish().unwrap();
    let middle = 32 + 300 * 12 + 7;
    let doubled = [&sound[..middle + 16], &sound[middle..]].concat();
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.hpcrun", &assembled::shipped_0400(true));
    put(folder.path(), "a.hpctrace", &doubled);
    for name in ["", "a.hpctrace"] {
        let into = tempfile::tempdir().unwrap();
        let to = Destination::new(into.path().join("out"), false);
        let source = Source::open(&folder.path().join(name), &Limits::default()).unwrap();
        let repaired = Hpcrun.repair(&source, &to, &Context::default()).unwrap();
        let [loss] = &repaired.losses[..] else { panic!("{:?}", repaired.losses) };
        assert_eq!((loss.rule, loss.file.is_some()), ("trace-records", name.is_empty()));
        let is_of_records = |finding: &&Finding| finding.message.contains("kept as it is");
        let kept: Vec<_> = repaired.corrected.iter().filter(is_of_records).collect();
        // That the profile tells other times and has no node 21 has nothing to do with it.
        let rules: Vec<_> = kept.iter().map(|finding| finding.rule).collect();
        assert!(rules.iter().all(|rule| ["trace-bounds", "trace-node"].contains(rule)), "{kept:?}");
        assert!(rules.len() < 4, "{kept:?}");
        let written = if name.is_empty() { to.path().join("a.hpctrace") } else { to.path().into() };
        let written = fs::read(written).unwrap();
        let behind = &sound[middle + 16 + 8..];
        assert!(written.ends_with(behind) && written.len() >= sound.len() - 24);
    }
}
