//! Where the outputs of conversions go, and what is printed of each input.

use std::fs;

use crate::support::{data, folder, kymo, names, run, scalars};
use serde_json::Value;

#[test]
fn one_file_goes_into_a_directory_as_several_do() {
    let folder = folder();
    let from = folder.path().join("r0.bp");
    scalars(&from, &[("/", "x", 1)]);
    let there = folder.path().join("there");
    fs::create_dir(&there).unwrap();
    for (out, target) in [("there", "hdf5"), ("new/", "hdf5"), ("there", "zarr"), ("new/", "zarr")]
    {
        let to = folder.path().join(out);
        let (code, _, said) = run(kymo().args(["convert", "--to", target]).arg(&from).arg(&to));
        assert_eq!(code, Some(0), "{out} {target}: {said}");
    }
    assert_eq!(names(&there), ["r0.h5", "r0.zarr"]);
    assert_eq!(names(&folder.path().join("new")), ["r0.h5", "r0.zarr"]);
    // A store that is there is not gone into.
    let store = there.join("r0.zarr");
    let (code, _, said) = run(kymo().args(["convert", "--to", "zarr"]).arg(&from).arg(&store));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("exists"), "{said}");
}

#[test]
fn files_that_would_have_one_output_keep_their_whole_names() {
    let folder = folder();
    let inputs = ["a.bp", "a.dat"].map(|name| folder.path().join(name));
    for path in &inputs {
        scalars(path, &[("/", "x", 1)]);
    }
    let out = folder.path().join("out");
    let (code, _, said) = run(kymo().args(["convert", "--to", "npz"]).args(&inputs).arg(&out));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(names(&out), ["a.bp.npz", "a.dat.npz"]);
}

#[test]
fn an_output_that_is_there_is_named_with_what_to_do_about_it() {
    let folder = folder();
    let from = folder.path().join("a.bp");
    scalars(&from, &[("/", "x", 1)]);
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let convert = || run(kymo().args(["convert", "--to", "h5"]).arg(&from).arg(&out));
    assert_eq!(convert().0, Some(0));
    assert_eq!(names(&out), ["a.h5"]);
    let (code, _, said) = convert();
    assert_eq!(code, Some(1));
    assert!(said.contains("a.h5: it exists already\nhint: --force replaces it\n"), "{said}");
}

#[test]
fn every_failure_has_its_object_with_the_same_keys() {
    let folder = folder();
    let [one, other] = ["1.bp", "2.bp"].map(|name| folder.path().join(name));
    scalars(&one, &[("/", "x", 1), ("/", "y", 1)]);
    scalars(&other, &[("/", "x", 1)]);
    let keys = |text: &str| -> Vec<String> {
        let object: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{text:?}"));
        object.as_object().unwrap().keys().filter(|key| *key != "error").cloned().collect()
    };
    let join = |to: &str| {
        let mut convert = kymo();
        convert.args(["convert", "--join", "--json"]).args([&one, &other]);
        run(convert.arg(folder.path().join(to)))
    };
    let (code, written, _) = join("all.h5");
    assert_eq!(code, Some(0));
    // The output is there already; and .npy has room for one variable.
    for (to, why) in [("all.h5", "exists"), ("all.npy", "one array")] {
        let (code, failed, said) = join(to);
        assert_eq!(code, Some(1), "{said}");
        assert!(failed.contains(why), "{failed}");
        assert_eq!(keys(&failed), keys(&written));
    }
}

#[test]
fn the_order_that_is_assumed_is_said_once() {
    let folder = folder();
    let from = data("v1-2008-07-11/06_timesteps.bp");
    let to = folder.path().join("a.h5");
    let (code, _, said) = run(kymo().arg("convert").arg(&from).arg(&to));
    assert_eq!(code, Some(0));
    assert_eq!(said.matches("C order").count(), 1, "{said}");
    let mut convert = kymo();
    convert.args(["convert", "--force", "--order", "c"]).arg(&from).arg(&to);
    assert_eq!(run(&mut convert).2, "");
}

#[test]
fn what_is_joined_needs_a_name_of_its_own() {
    let folder = folder();
    let inputs = ["1.bp", "2.bp"].map(|name| folder.path().join(name));
    for path in &inputs {
        scalars(path, &[("/", "x", 1)]);
    }
    let there = folder.path().join("there");
    fs::create_dir(&there).unwrap();
    for (out, target, example) in [
        ("there", "hdf5", "there/run.h5"),
        ("new/", "npz", "new/run.npz"),
        ("there", "zarr", ".zarr"),
    ] {
        let mut convert = kymo();
        convert.args(["convert", "--join", "--force", "--to", target]).args(&inputs);
        let (code, _, said) = run(convert.arg(folder.path().join(out)));
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("this is a directory") && said.contains(example), "{said}");
    }
    assert_eq!(names(folder.path()), ["1.bp", "2.bp", "there"]);
    assert!(names(&there).is_empty());
}

#[cfg(unix)]
#[test]
fn more_files_are_joined_than_a_program_may_have_open() {
    let folder = folder();
    let from = folder.path().join("ranks");
    fs::create_dir(&from).unwrap();
    for rank in 0..160 {
        scalars(&from.join(format!("run.bp.{rank}")), &[("/", "x", 1)]);
    }
    let to = folder.path().join("all.npy");
    let mut convert = std::process::Command::new("sh");
    convert.args(["-c", "ulimit -n 64; exec \"$0\" convert --join \"$1\" \"$2\""]);
    let (code, _, said) = run(convert.arg(env!("CARGO_BIN_EXE_kymo")).args([&from, &to]));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(fs::metadata(&to).unwrap().len(), 128 + 160 * 4);
}

#[test]
fn a_directory_in_which_nothing_came_to_be_is_not_left() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("in/deep")).unwrap();
    fs::write(at("in/deep/broken.bp"), [0xff; 40]).unwrap();
    let mut convert = kymo();
    convert.args(["convert", "--from", "bp", "--to", "hdf5"]).arg(at("in")).arg(at("out"));
    assert_eq!(run(&mut convert).0, Some(1));
    assert!(!at("out").exists());
    // What was there before stays.
    fs::create_dir(at("out")).unwrap();
    assert_eq!(run(&mut convert).0, Some(1));
    assert!(at("out").is_dir() && !at("out/deep").exists());
}
