//! Two files side by side.
#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use kymo_bp::{Data, Dimension, Options, Writer};
use support::{data, folder, kymo, run};

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
