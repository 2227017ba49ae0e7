//! Two files side by side.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{data, folder, kymo, run};
use kymo_bp::{Data, Dimension, LongDouble, Options, Writer};

/// A file of two steps of a small array, a text and a number; these in the second are `changed`.
fn file(folder: &Path, name: &str, changed: f64, text: &str) -> PathBuf {
    let mut writer = Writer::new(Vec::new(), Options::default());
    let shape = [Dimension::local(2), Dimension::local(3)];
    for last in [6.0, changed] {
        let values = [1.0, 2.0, 3.0, 4.0, last, f64::NAN];
        writer.dataset("/g", "x", &shape, Data::Double(&values)).unwrap();
    }
    writer.scalar("/", "text", Data::String(text)).unwrap();
    let path = folder.join(name);
    fs::write(&path, writer.finish().unwrap()).unwrap();
    path
}

#[test]
fn a_file_is_the_same_as_itself() {
    for name in ["01_scalars_all_types.bp", "04_attributes.bp", "12_special_floats.bp"] {
        let path = data("v1-2008-07-11").join(name);
        let (code, out, said) = run(kymo().arg("diff").args([&path, &path]));
        assert_eq!((code, out.as_str(), said.as_str()), (Some(0), "", ""), "{name}");
    }
    // The same values in the other byte order are the same.
    let swapped = data("bigendian").join("06_timesteps.bp");
    let path = data("v1-2008-07-11").join("06_timesteps.bp");
    assert_eq!(run(kymo().arg("diff").arg(path).arg(swapped)).0, Some(0));
}

#[test]
fn the_largest_difference_is_told_with_its_place() {
    let folder = folder();
    let one = file(folder.path(), "a.bp", 6.0, "one");
    let other = file(folder.path(), "b.bp", 6.5, "other");
    let (code, out, _) = run(kymo().arg("diff").args([&one, &other]));
    assert_eq!(code, Some(3));
    let values = "/g/x: 1 of 12 values differ, by at most 0.5 at step 1 at [1, 1]: 6, 6.5\n";
    let expected = format!(
        "{values}/text: 1 of 1 values differ, the first that is no matter of size: \"one\", \"other\"\n"
    );
    assert_eq!(out, expected);
    let (_, out, _) = run(kymo().args(["diff", "--tolerance", "0.5"]).args([&one, &other]));
    assert!(!out.contains("/g/x"), "{out}");
    let (_, out, _) = run(kymo().args(["diff", "--json"]).args([&one, &other]));
    let first: serde_json::Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!(first.get("index"), Some(&serde_json::json!([1, 1])));
    assert_eq!(first.get("largest"), Some(&serde_json::json!(0.5)));
}

#[test]
fn what_only_one_has_is_told() {
    let [one, other] =
        ["06_timesteps.bp", "04_attributes.bp"].map(|name| data("v1-2008-07-11").join(name));
    let (code, out, _) = run(kymo().arg("diff").args([&one, &other]));
    assert_eq!(code, Some(3));
    assert!(out.contains("/field: only in A\n"), "{out}");
    assert!(out.contains("/g/phi: only in B\n"), "{out}");
    assert!(out.contains("/g/phi attribute units: only in B\n"), "{out}");
}

#[test]
fn a_tolerance_is_a_number_from_zero_on() {
    for wrong in ["-1", "NaN", "much"] {
        let (code, _, _) = run(kymo().args(["diff", "a", "b"]).arg(format!("--tolerance={wrong}")));
        assert_eq!(code, Some(2), "{wrong}");
    }
}

/// Two files, each of what is written to it.
fn two(
    folder: &Path,
    one: impl FnOnce(&mut Writer<Vec<u8>>),
    other: impl FnOnce(&mut Writer<Vec<u8>>),
) -> [PathBuf; 2] {
    let mut writers = [(); 2].map(|()| Writer::new(Vec::new(), Options::default()));
    let [first, second] = &mut writers;
    one(first);
    other(second);
    let mut paths = ["a.bp", "b.bp"].map(|name| folder.join(name));
    for (writer, path) in writers.into_iter().zip(&mut paths) {
        fs::write(path, writer.finish().unwrap()).unwrap();
    }
    paths
}

fn diff(files: &[PathBuf; 2], options: &[&str]) -> (Option<i32>, String) {
    let (code, out, _) = run(kymo().arg("diff").args(options).args(files));
    (code, out)
}

#[test]
fn long_doubles_differ_beyond_the_digits_of_doubles() {
    // 1 + 2^-63, 1 + 3·2^-63: the last bits of the mantissa.
    let fine = |bits: u8| {
        let mut value = LongDouble::from_f64(1.0);
        value.0[0] = bits;
        value
    };
    let folder = folder();
    let write = |bits: u8| {
        move |writer: &mut Writer<Vec<u8>>| {
            writer.scalar("/", "s", Data::LongDouble(&[fine(bits)])).unwrap();
            let values = [fine(0), fine(bits), LongDouble::from_f64(2.0)];
            writer.dataset("/", "x", &[Dimension::local(3)], Data::LongDouble(&values)).unwrap();
        }
    };
    let files = two(folder.path(), write(1), write(3));
    let (code, out) = diff(&files, &[]);
    assert_eq!(code, Some(3), "{out}");
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines.len(), 2, "{out}");
    assert!(lines[0].starts_with("/s: 1 of 1 values differ, by less than a double tells: "));
    assert!(lines[1].starts_with("/x: 1 of 3 values differ, by less than a double tells at [1]: "));
    assert_eq!(diff(&files, &["--tolerance", "1e-9"]), (Some(0), String::new()));
    let same = two(folder.path(), write(1), write(1));
    assert_eq!(diff(&same, &[]), (Some(0), String::new()));
}

#[test]
fn attributes_of_a_group_and_kinds_of_arrays_are_told_apart() {
    let folder = folder();
    let files = two(
        folder.path(),
        |writer| {
            writer.group_attribute("/x", "u", Data::String("m")).unwrap();
            let place = [Dimension::global(2, 2, 0)];
            writer.dataset("/", "x", &place, Data::Int(&[1, 2])).unwrap();
        },
        |writer| {
            writer.dataset_attribute("/x", "u", Data::String("m")).unwrap();
            writer.dataset("/", "x", &[Dimension::local(2)], Data::Int(&[1, 2])).unwrap();
        },
    );
    let (code, out) = diff(&files, &[]);
    assert_eq!(code, Some(3));
    let expected = "/x: kind global in A, local in B\n/x attribute u: only in B\n\
                    group /x attribute u: only in A\n";
    assert_eq!(out, expected);
}

#[test]
fn a_tolerance_is_for_complex_attributes_too() {
    let folder = folder();
    let write = |im: f64| {
        move |writer: &mut Writer<Vec<u8>>| {
            writer.scalar("/", "x", Data::Int(&[1])).unwrap();
            writer.dataset_attribute("/x", "z", Data::Complex(&[[1.0, im]])).unwrap();
            let zero = Data::Double(&[if im > 2.0 { -0.0 } else { 0.0 }]);
            writer.dataset_attribute("/x", "zero", zero).unwrap();
        }
    };
    let files = two(folder.path(), write(2.0), write(2.000_000_1));
    assert_eq!(diff(&files, &["-t", "1e-3"]), (Some(0), String::new()));
    let (_, out) = diff(&files, &[]);
    assert!(out.starts_with("/x attribute z: is ") && !out.contains("zero"), "{out}");
}

#[test]
fn differences_are_exact_and_hide_no_others() {
    let folder = folder();
    let write = |is_one: bool| {
        move |writer: &mut Writer<Vec<u8>>| {
            let most = if is_one { 0 } else { u64::MAX };
            writer.scalar("/", "big", Data::ULongLong(&[most])).unwrap();
            let values = if is_one { [f64::NAN, 1.0, 2.0] } else { [0.0, 1.5, 4.0] };
            writer.dataset("/", "nan", &[Dimension::local(3)], Data::Double(&values)).unwrap();
            for step in 0..3 {
                let shape = [Dimension::local(if is_one { 1 } else { 2 })];
                let values = [step; 2];
                let values = if is_one { &values[..1] } else { &values };
                writer.dataset("/", "shape", &shape, Data::Int(values)).unwrap();
            }
            if is_one {
                writer.scalar("/", "type", Data::Int(&[1])).unwrap();
            }
            writer.scalar("/", "type", Data::Double(&[1.0])).unwrap();
        }
    };
    let files = two(folder.path(), write(true), write(false));
    let (_, out) = diff(&files, &[]);
    let expected = "/big: 1 of 1 values differ, by at most 18446744073709551615: 0, \
                    18446744073709551615\n\
                    /nan: 3 of 3 values differ, by at most 2 at [2]: 2, 4; 1 is no matter of \
                    size, the first at [0]: NaN, 0\n\
                    /shape: shape of step 0 (and of 2 more) [1] in A, [2] in B\n\
                    /type: only in A\n";
    assert_eq!(out, expected);
}

/// A text, a scalar by its name, and an attribute of the text, in bytes as they are given.
fn encoded(path: PathBuf, name: &[u8], text: &[u8]) -> PathBuf {
    let tagged = |tag: u32, bytes: &[u8]| {
        let length = u32::try_from(bytes.len()).unwrap();
        [&tag.to_le_bytes()[..], &length.to_le_bytes(), bytes].concat()
    };
    let value = |datatype: u32, bytes: &[u8]| {
        let length = u32::try_from(bytes.len()).unwrap();
        [&[5, length, datatype].map(u32::to_le_bytes).concat()[..], bytes].concat()
    };
    let element = |name: &[u8], value: Vec<u8>| {
        let body = [tagged(3, name), tagged(4, b"/"), value].concat();
        let length = u32::try_from(body.len() + 4).unwrap();
        [&length.to_le_bytes()[..], &body].concat()
    };
    let scalars = [element(b"t", value(9, text)), element(name, value(2, &1_i32.to_le_bytes()))];
    fs::write(&path, scalars.concat()).unwrap();
    path
}

#[test]
fn the_same_text_in_another_encoding_is_not_the_same() {
    let folder = folder();
    let one = encoded(folder.path().join("a.bp"), &[0xFF], &[0xE9]);
    let other = encoded(folder.path().join("b.bp"), "ÿ".as_bytes(), "é".as_bytes());
    let expected = "/t: 1 of 1 values differ, the first that is no matter of size: \
                    \"é\" in Latin-1, \"é\" in UTF-8\n/ÿ: name as Latin-1 in A, UTF-8 in B\n";
    assert_eq!(diff(&[one.clone(), other], &[]), (Some(3), expected.to_owned()));
    assert_eq!(diff(&[one.clone(), one], &[]), (Some(0), String::new()));
}

#[test]
fn arrays_that_are_nearly_empty_are_compared_by_their_blocks() {
    let folder = folder();
    let write = |last: f64, start: i32| {
        move |writer: &mut Writer<Vec<u8>>| {
            for at in [0, start] {
                let place = [Dimension::global(2, 100_000_000, at)];
                writer.dataset("/", "x", &place, Data::Double(&[1.0, last])).unwrap();
            }
        }
    };
    let same = two(folder.path(), write(2.0, 500), write(2.0, 500));
    assert_eq!(diff(&same, &[]), (Some(0), String::new()));
    let other = two(folder.path(), write(2.0, 500), write(4.5, 500));
    let expected = "/x: 2 of 4 values differ, by at most 2.5 at [1]: 2, 4.5\n";
    assert_eq!(diff(&other, &[]), (Some(3), expected.to_owned()));
    let moved = two(folder.path(), write(2.0, 500), write(2.0, 700));
    let expected = "/x: 2 blocks are in one file alone, the first in A: [2] values at step 0 at \
                    [500]\n";
    assert_eq!(diff(&moved, &[]), (Some(3), expected.to_owned()));
}

#[test]
fn an_attribute_that_is_said_again_is_the_same() {
    let folder = folder();
    let write = |times: usize, unit: &'static str| {
        move |writer: &mut Writer<Vec<u8>>| {
            writer.scalar("/", "x", Data::Int(&[1])).unwrap();
            for _ in 0..times {
                writer.dataset_attribute("/x", "u", Data::String(unit)).unwrap();
            }
        }
    };
    let same = two(folder.path(), write(3, "m"), write(1, "m"));
    assert_eq!(diff(&same, &[]), (Some(0), String::new()));
    let other = two(folder.path(), write(3, "m"), write(1, "s"));
    assert_eq!(diff(&other, &[]), (Some(3), "/x attribute u: is m in A, s in B\n".to_owned()));
}
