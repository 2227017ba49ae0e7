//! Damaged files: what is found, what is kept, what is said to be lost.

use std::fs;

use kymo_bp::{Bp, Data, Dimension, Options, Reader, Writer};
use kymo_conformance::testdata;
use kymo_core::{Context, Destination, Finding, Severity, Source};
use kymo_model::Format;

fn source(name: &str) -> Source {
    let bytes = fs::read(testdata(format!("bp/{name}"))).unwrap();
    Source::from_bytes(name, bytes)
}

fn repaired(source: &Source) -> (Vec<u8>, Vec<Finding>) {
    let directory = tempfile::tempdir().unwrap();
    let to = Destination::new(directory.path().join("out.bp"), false);
    let repaired = Bp.repair(source, &to, &Context::default()).unwrap();
    let said = repaired.losses.into_iter().chain(repaired.corrected).collect();
    (fs::read(to.path()).unwrap(), said)
}

/// The rules above a note that a file breaks, with their offsets.
fn broken(source: &Source) -> Vec<(&'static str, Option<u64>)> {
    let findings = Bp.check(source, &Context::default()).unwrap();
    let worse = findings.iter().filter(|finding| finding.severity > Severity::Note);
    worse.map(|finding| (finding.rule, finding.offset)).collect()
}

/// What each malformed file is, and where the byte that is wrong stands, worked out by hand from
/// a hexdump.
#[test]
fn each_malformed_file_gives_its_finding_at_the_byte() {
    let expected: [(&str, &[(&str, u64)]); 15] = [
        ("m01_truncated_in_length", &[("element", 38)]),
        ("m03_truncated_in_tag_header", &[("element", 0)]),
        ("m05_len_ff", &[("element-length", 0)]),
        ("m07_len_minus_1", &[("element-length", 0)]),
        ("m09_unknown_inner_tag_99", &[("element", 0), ("tag", 22)]),
        ("m11_group_element", &[("group", 0)]),
        ("m13_val_len_mismatch_type", &[("element", 34)]),
        ("m15_rank_huge", &[("element", 34)]),
        ("m17_negative_local_dim", &[("element", 66)]),
        ("m19_dir_before_name", &[("tag", 4)]),
        ("m21_missing_value", &[("element", 0)]),
        ("m23_name_with_NUL", &[("name", 0)]),
        ("m25_is_hdf5_signature", &[("element", 0)]),
        ("m27_two_dst_same_name_diff_type", &[("type-change", 90)]),
        ("m29_block_beyond_bounds", &[("block-bounds", 0), ("block-missing", 0)]),
    ];
    for (name, rules) in expected {
        let found = broken(&source(&format!("malformed/{name}.bp")));
        let expected: Vec<_> = rules.iter().map(|&(rule, at)| (rule, Some(at))).collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_wrong_length_does_not_cost_the_elements_after_it() {
    // The first element says 37 bytes and has 38; both are the scalar a = -123456789.
    let damaged = source("malformed/m07_len_minus_1.bp");
    assert!(Bp.open(&damaged, &Context::default()).is_err());
    let (bytes, losses) = repaired(&damaged);
    let mut expected = Writer::new(Vec::new(), Options::default());
    for _ in 0..2 {
        expected.scalar("/", "a", Data::Int(&[-123_456_789])).unwrap();
    }
    assert_eq!(bytes, expected.finish().unwrap());
    assert_eq!(losses.len(), 1);
    let directory = tempfile::tempdir().unwrap();
    let to = Destination::new(directory.path().join("out.bp"), false);
    let repaired = Bp.repair(&damaged, &to, &Context::default()).unwrap();
    assert_eq!((repaired.losses.len(), repaired.corrected.len()), (0, 1));
}

#[test]
fn elements_after_a_zero_word_are_kept_and_said() {
    let (bytes, losses) = repaired(&source("v1-2008-07-11/08c_data_after_zero_word.bp"));
    let reader = Reader::open(&Source::from_bytes("test.bp", bytes), &Context::default()).unwrap();
    assert_eq!(reader.len(), 2);
    assert_eq!(losses.len(), 1);
    assert_eq!((losses[0].rule, losses[0].offset), ("data-after-end", Some(38)));
}

/// Ten elements of which any may be damaged.
fn ten() -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Vec::new();
    let mut starts = Vec::new();
    for step in 0..10 {
        starts.push(bytes.len());
        let mut writer = Writer::new(Vec::new(), Options::default());
        let shape = [Dimension::local(2), Dimension::local(2)];
        let values = [step, step + 1, step + 2, step + 3];
        writer.dataset("/fields", "phi", &shape, Data::Int(&values)).unwrap();
        bytes.extend(writer.finish().unwrap());
    }
    starts.push(bytes.len());
    (bytes, starts)
}

#[test]
fn noise_over_one_element_costs_that_element_only() {
    let (sound, starts) = ten();
    for lost in 0..10 {
        let mut bytes = sound.clone();
        bytes[starts[lost]..starts[lost + 1]].fill(0xEE);
        let (kept, losses) = repaired(&Source::from_bytes("noise.bp", bytes));
        let expected = [&sound[..starts[lost]], &sound[starts[lost + 1]..]].concat();
        assert_eq!(kept, expected, "element {lost}");
        assert_eq!(losses.len(), 1, "element {lost}");
        assert_eq!(losses[0].offset, Some(starts[lost] as u64));
    }
}

/// A page of zeros is what disks and parallel file systems leave.
#[test]
fn zeros_over_some_elements_cost_those_only() {
    let (sound, starts) = ten();
    for (from, to) in [(3, 4), (2, 6), (0, 1), (0, 7)] {
        let mut bytes = sound.clone();
        bytes[starts[from]..starts[to]].fill(0);
        let (kept, losses) = repaired(&Source::from_bytes("zeros.bp", bytes));
        assert_eq!(kept, [&sound[..starts[from]], &sound[starts[to]..]].concat(), "{from} to {to}");
        // That nothing is found without looking behind the zeros is said besides.
        let expected = 1 + usize::from(from == 0);
        assert_eq!(losses.len(), expected, "{from} to {to}: {losses:?}");
    }
    // From the middle of the values of one element into the header of the next.
    let mut bytes = sound.clone();
    bytes[starts[3] - 8..starts[3] + 40].fill(0);
    let (kept, losses) = repaired(&Source::from_bytes("zeros.bp", bytes));
    assert_eq!(kept[starts[3]..], sound[starts[4]..]);
    assert!(!losses.is_empty());
}

#[test]
fn bytes_missing_from_one_element_cost_that_element_only() {
    let (sound, starts) = ten();
    for missing in [1, 4, 8, 13] {
        let cut = starts[4] - 14;
        let bytes = [&sound[..cut], &sound[cut + missing..]].concat();
        let (kept, losses) = repaired(&Source::from_bytes("missing.bp", bytes));
        assert_eq!(kept, [&sound[..starts[3]], &sound[starts[4]..]].concat(), "{missing} missing");
        assert_eq!(losses.len(), 1, "{missing} missing: {losses:?}");
    }
}

#[test]
fn a_file_whose_start_is_damaged_is_read_in_its_own_byte_order() {
    let endian = kymo_core::bytes::Endian::Big;
    let mut writer = Writer::new(Vec::new(), Options { endian, ..Options::default() });
    for step in 0..5 {
        writer.scalar("/", "istep", Data::Int(&[step])).unwrap();
    }
    let sound = writer.finish().unwrap();
    let each = sound.len() / 5;
    let mut bytes = sound.clone();
    bytes[..each].fill(0xEE);
    let (kept, losses) = repaired(&Source::from_bytes("big.bp", bytes));
    assert_eq!(kept, sound[each..]);
    assert_eq!(losses.len(), 1);
}

#[test]
fn a_second_value_or_path_in_an_element_is_a_fault() {
    let mut writer = Writer::new(Vec::new(), Options::default());
    writer.scalar("/", "a", Data::Int(&[7])).unwrap();
    let one = writer.finish().unwrap();
    for again in [&one[13..22], &one[22..38]] {
        let mut bytes = [&one[..], again].concat();
        bytes[0] = u8::try_from(bytes.len()).unwrap();
        assert_eq!(broken(&Source::from_bytes("twice.bp", bytes)), [("element", Some(38))]);
    }
}

#[test]
fn nothing_is_written_of_a_file_in_which_nothing_is_sound() {
    for bytes in [vec![], vec![0xEE; 1000], vec![0; 1000]] {
        let directory = tempfile::tempdir().unwrap();
        let to = Destination::new(directory.path().join("out.bp"), false);
        let source = Source::from_bytes("noise.bp", bytes);
        assert!(Bp.repair(&source, &to, &Context::default()).is_err());
        assert!(!to.path().exists());
    }
}

#[test]
fn a_file_of_zeros_is_not_called_sound() {
    let zeros = Source::from_bytes("zeros.bp", vec![0; 4096]);
    assert_eq!(broken(&zeros), [("no-elements", Some(0))]);
}

#[test]
fn a_cut_file_keeps_every_whole_element() {
    let (sound, starts) = ten();
    for end in starts[1]..sound.len() {
        let (kept, losses) = repaired(&Source::from_bytes("cut.bp", sound[..end].to_vec()));
        let whole = starts.iter().rfind(|&&start| start <= end).copied().unwrap();
        assert_eq!(kept, &sound[..whole], "cut at {end}");
        assert_eq!(losses.is_empty(), whole == end, "cut at {end}");
    }
}

#[test]
fn bytes_put_between_elements_are_passed_over() {
    let (sound, starts) = ten();
    for garbage in [&[0xFF][..], &[1, 2, 3], &[0, 0, 0, 9, 9], &[0x40; 100]] {
        let (head, tail) = sound.split_at(starts[5]);
        let bytes = [head, garbage, tail].concat();
        let (kept, losses) = repaired(&Source::from_bytes("more.bp", bytes));
        assert_eq!(kept, sound, "{garbage:?}");
        assert!(!losses.is_empty());
    }
}

#[test]
fn the_rules_of_global_arrays_are_checked() {
    let part = |bound, offset| [Dimension::global(bound, 10, offset)];
    let file = |blocks: &[(i32, i32)]| {
        let mut writer = Writer::new(Vec::new(), Options::default());
        for &(bound, offset) in blocks {
            let values = vec![0; usize::try_from(bound).unwrap()];
            writer.dataset("/", "x", &part(bound, offset), Data::Int(&values)).unwrap();
        }
        broken(&Source::from_bytes("x.bp", writer.finish().unwrap()))
    };
    assert_eq!(file(&[(5, 0), (5, 5)]), []);
    // A header of 58 bytes and 4 bytes a value.
    assert_eq!(file(&[(5, 0), (4, 5)]), [("block-missing", Some(0))]);
    assert_eq!(file(&[(6, 0), (5, 5)]), [("block-overlap", Some(50 + 24))]);
    assert_eq!(file(&[(5, 0), (6, 5)]), [("block-bounds", Some(50 + 20))]);
    // The same block again is the next step, which then lacks the other.
    let lacking = file(&[(5, 0), (5, 5), (5, 0)]);
    assert_eq!(lacking, [("uneven-steps", Some(0)), ("block-missing", Some(2 * (50 + 20)))]);
}
