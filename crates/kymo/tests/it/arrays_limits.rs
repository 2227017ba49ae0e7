//! What is too much, too long or nearly empty: bounded in size, memory and time, and said.

use crate::support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{file, folder, kymo, run};
use kymo_bp::{Data, Dimension, LongDouble};
use kymo_conformance::shared;
use serde_json::{Value, json};

/// What `--json` says of converting a file, and the exit code.
fn report(from: &Path, extension: &str, options: &[&str]) -> (Option<i32>, Value) {
    let mut convert = kymo();
    convert.args(["convert", "--json", "--force"]).args(options);
    let (code, out, said) = run(convert.arg(from).arg(from.with_extension(extension)));
    (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{said}")))
}

fn python(script: &str, file: &Path) -> Option<String> {
    let python = shared::readers()?;
    let (code, out, said) = run(Command::new(python).args(["-c", script]).arg(file));
    assert_eq!(code, Some(0), "{said}");
    Some(out.trim_end().to_owned())
}

/// So many global arrays of 16,000,000, of each of which there is one value.
fn hollow(path: &Path, count: i32) -> PathBuf {
    file(path, |writer| {
        for number in 0..count {
            let place = [Dimension::global(1, 16_000_000, 5)];
            let name = format!("v{number}");
            writer.dataset("/", &name, &place, Data::Double(&[0.5])).unwrap();
        }
    })
}

#[test]
fn arrays_that_are_nearly_empty_are_stored_as_their_blocks() {
    let folder = folder();
    let from = hollow(&folder.path().join("a.bp"), 4);
    for extension in ["h5", "nc", "npz", "zarr"] {
        let (code, report) = report(&from, extension, &[]);
        assert_eq!((code, &report["arrays"]), (Some(3), &json!(4)));
        let losses = report["losses"].as_array().unwrap();
        let item = |loss: &&Value| loss["kind"] == "reshaped";
        assert_eq!(losses.iter().filter(item).count(), 4, "{extension}: {losses:?}");
        let what = "only 1 of 16000000 values are in the file: stored as its blocks, 1 in all, \
                    with attributes start and shape";
        let first = losses.iter().find(item).unwrap();
        assert_eq!((&first["path"], &first["loss"]), (&json!("/v0"), &json!(what)));
    }
    let size = fs::metadata(from.with_extension("npz")).unwrap().len();
    assert!(size < 10_000, "{size}");
    let script = "import h5py, sys; d = h5py.File(sys.argv[1])['v0/0']; \
                  print(d[()], d.attrs['start'], d.attrs['shape'])";
    let found = python(script, &from.with_extension("h5"));
    assert!(found.as_ref().is_none_or(|found| found == "[0.5] [5] [16000000]"), "{found:?}");
}

#[test]
fn of_a_nearly_empty_array_of_an_unknown_type_the_blocks_are_kept() {
    let folder = folder();
    let from = file(&folder.path().join("a.bp"), |writer| {
        let place = [Dimension::global(1, 100_000_000, 3)];
        let datatype = kymo_bp::Datatype(77);
        let value = Data::Raw { datatype, element_bytes: 5, bytes: b"abcde" };
        writer.dataset("/", "u", &place, value).unwrap();
    });
    for extension in ["h5", "nc", "npz", "zarr"] {
        let (code, report) = report(&from, extension, &[]);
        let losses = report["losses"].as_array().unwrap();
        assert_eq!((code, &report["arrays"]), (Some(3), &json!(1)), "{losses:?}");
        assert!(losses.iter().all(|loss| loss["kind"] != "left-out"), "{losses:?}");
    }
    let script = "import h5py, sys; d = h5py.File(sys.argv[1])['u/0']; \
                  print(d[()].tobytes(), d.attrs['start'])";
    let found = python(script, &from.with_extension("h5"));
    assert!(found.as_ref().is_none_or(|found| found == "b'abcde' [3]"), "{found:?}");
}

#[test]
fn arrays_that_are_alike_become_the_same_wherever_they_are() {
    let folder = folder();
    let from = file(&folder.path().join("a.bp"), |writer| {
        for number in 0..10 {
            let place = [Dimension::global(1, if number == 9 { 1000 } else { 1_000_000 }, 5)];
            let name = format!("v{number}");
            writer.dataset("/", &name, &place, Data::Double(&[0.5])).unwrap();
        }
    });
    let (_, report) = report(&from, "npz", &[]);
    let losses = report["losses"].as_array().unwrap();
    let item = |kind: &str| losses.iter().filter(|loss| loss["kind"] == kind).count();
    assert_eq!((item("reshaped"), item("missing")), (9, 1), "{losses:?}");
}

#[test]
fn what_is_a_part_of_a_small_array_is_stored_in_its_place() {
    let folder = folder();
    let from = file(&folder.path().join("a.bp"), |writer| {
        let place = [Dimension::global(1, 1000, 5)];
        writer.dataset("/", "x", &place, Data::Double(&[0.5])).unwrap();
    });
    let (code, report) = report(&from, "npz", &[]);
    let what = "999 of 1000 values are not in the file: NaN instead";
    let expected = json!([{ "kind": "missing", "path": "/x", "loss": what }]);
    assert_eq!((code, &report["losses"]), (Some(3), &expected));
}

#[test]
fn texts_of_very_different_lengths_are_kept() {
    let folder = folder();
    let long = "x".repeat(1 << 20);
    let from = file(&folder.path().join("a.bp"), |writer| {
        writer.scalar("/", "t", Data::String(&long)).unwrap();
        for _ in 0..80 {
            writer.scalar("/", "t", Data::String("y")).unwrap();
        }
    });
    for extension in ["h5", "nc", "npz", "zarr"] {
        let (code, report) = report(&from, extension, &[]);
        assert_eq!((code, &report["losses"]), (Some(0), &json!([])), "{extension}");
    }
    let script = "import h5py, sys; t = h5py.File(sys.argv[1])['t']; \
                  print(len(t), len(t['00'][()]), t['80'][()])";
    assert!(python(script, &from.with_extension("h5")).is_none_or(|it| it == "81 1048576 b'y'"));
    let script = "import zarr, sys; t = zarr.open_group(sys.argv[1], mode='r')['t'][:]; \
                  print(len(t), len(t[0]), t[80])";
    assert!(python(script, &from.with_extension("zarr")).is_none_or(|it| it == "81 1048576 y"));
}

/// So much memory that whatever takes more fails.
#[cfg(target_os = "linux")]
const MEMORY: &str = "-d 65536";

/// Runs the program under a limit of `ulimit`.
#[cfg(target_os = "linux")]
fn limited(limit: &str, from: &Path, extension: &str) -> (Option<i32>, String) {
    let mut limited = Command::new("sh");
    limited.arg("-c");
    limited.arg(format!("ulimit {limit}; exec \"$0\" convert --force \"$1\" \"$2\""));
    let program = env!("CARGO_BIN_EXE_kymo");
    let (code, _, said) = run(limited.arg(program).arg(from).arg(from.with_extension(extension)));
    (code, said)
}

#[cfg(target_os = "linux")]
#[test]
fn one_long_text_attribute_or_unknown_value_takes_no_more_memory() {
    let folder = folder();
    let long = "long text. ".repeat(10 << 20);
    let text = file(&folder.path().join("text.bp"), |writer| {
        writer.scalar("/", "t", Data::String(&long)).unwrap();
    });
    let attribute = file(&folder.path().join("attribute.bp"), |writer| {
        writer.scalar("/", "x", Data::Int(&[1])).unwrap();
        writer.dataset_attribute("/x", "before", Data::String("kept")).unwrap();
        writer.dataset_attribute("/x", "long", Data::String(&long)).unwrap();
        writer.dataset_attribute("/x", "after", Data::String("kept")).unwrap();
    });
    let unknown = file(&folder.path().join("unknown.bp"), |writer| {
        let datatype = kymo_bp::Datatype(77);
        let bytes = long.as_bytes();
        let element_bytes = bytes.len() as u64;
        writer.scalar("/", "u", Data::Raw { datatype, element_bytes, bytes }).unwrap();
    });
    for extension in ["h5", "nc", "npz", "zarr"] {
        let (code, said) = limited(MEMORY, &text, extension);
        let is_whole = matches!(extension, "nc" | "zarr");
        assert_eq!(code, Some(if is_whole { 0 } else { 3 }), "{extension}: {said}");
        let (code, said) = limited(MEMORY, &attribute, extension);
        assert_eq!(code, Some(3), "{extension}: {said}");
        assert!(said.contains("/x attribute long: left out: with its 115343360 bytes"), "{said}");
        let (code, said) = limited(MEMORY, &unknown, extension);
        assert_eq!(code, Some(3), "{extension}: {said}");
        assert!(said.contains("stored as 115343360 bytes a value"), "{said}");
    }
    // Every byte is where it should be: in Zarr behind how many texts there are, and its length.
    let script = "import sys, h5py; t = h5py.File(sys.argv[1])['t'][()].tobytes(); \
                  print(len(t), t == b'long text. ' * (10 << 20))";
    let found = python(script, &text.with_extension("h5"));
    assert!(found.as_ref().is_none_or(|found| found == "115343360 True"), "{found:?}");
    let chunk = fs::read(text.with_extension("zarr").join("t/c")).unwrap();
    let head = [1, 115_343_360].map(u32::to_le_bytes).concat();
    assert!(chunk[..8] == head && chunk[8..] == *long.as_bytes());
}

#[cfg(target_os = "linux")]
#[test]
fn many_names_that_are_alike_take_no_square_of_time() {
    let folder = folder();
    let names = file(&folder.path().join("names.bp"), |writer| {
        let name = |n: i32| if n == 1 { "dim_3".to_owned() } else { format!("dim_3~{n}") };
        for number in 1..4000 {
            writer.scalar("/", &name(number), Data::Int(&[0])).unwrap();
            let array = format!("a{number}");
            writer.dataset("/", &array, &[Dimension::local(3)], Data::Int(&[1, 2, 3])).unwrap();
        }
    });
    let rounded = file(&folder.path().join("rounded.bp"), |writer| {
        let mut value = LongDouble::from_f64(1.0);
        value.0[0] = 1;
        for number in 0..20_000 {
            let name = format!("v{number}");
            writer.scalar("/", &name, Data::LongDouble(&[value])).unwrap();
        }
    });
    // By the square, both took more than half a minute of the processor's time; now it is a second.
    for from in [names, rounded] {
        let (code, said) = limited("-t 30", &from, "npz");
        assert!(matches!(code, Some(0 | 3)), "{}: {code:?} {said}", from.display());
    }
}

#[test]
fn more_attributes_than_hdf5_can_have_in_time_are_left_out_and_said() {
    let folder = folder();
    let from = file(&folder.path().join("a.bp"), |writer| {
        writer.scalar("/", "x", Data::Int(&[1])).unwrap();
        for number in 0..8200 {
            let name = format!("a{number}");
            writer.dataset_attribute("/x", &name, Data::Double(&[0.5])).unwrap();
        }
    });
    let (code, hdf5) = report(&from, "h5", &[]);
    assert_eq!((code, &hdf5["attributes"]), (Some(3), &json!(8192)));
    assert_eq!(hdf5["losses"].as_array().unwrap().len(), 8);
    let (code, zarr) = report(&from, "zarr", &[]);
    assert_eq!((code, &zarr["attributes"], &zarr["losses"]), (Some(0), &json!(8200), &json!([])));
}

#[test]
fn blocks_that_overlap_are_compared_however_many_there_are() {
    let folder = folder();
    let write = |last: i32| {
        file(&folder.path().join("a.bp"), |writer| {
            for at in 0..300 {
                let place = [Dimension::global(2, 301, at)];
                let values = [at, if at == 299 { last } else { at + 1 }];
                writer.dataset("/", "x", &place, Data::Int(&values)).unwrap();
            }
            let place = [Dimension::global(1, 301, 300)];
            writer.dataset("/", "x", &place, Data::Int(&[300])).unwrap();
        })
    };
    let (code, same) = report(&write(300), "npy", &[]);
    assert_eq!((code, &same["losses"]), (Some(0), &json!([])));
    let (code, other) = report(&write(7), "npy", &[]);
    let what = "blocks overlap and differ in 1 value: the first in the file is kept";
    assert_eq!(code, Some(3));
    assert_eq!(other["losses"], json!([{ "kind": "overlap", "path": "/x", "loss": what }]));
}

#[test]
fn strictness_tells_all_losses_before_it_refuses() {
    let folder = folder();
    let from = file(&folder.path().join("a.bp"), |writer| {
        let place = [Dimension::global(1, 10, 5)];
        writer.dataset("/", "x", &place, Data::Double(&[0.5])).unwrap();
        writer.dataset_attribute("/no", "unit", Data::String("m")).unwrap();
    });
    let (code, report) = report(&from, "h5", &["--strict"]);
    assert_eq!(
        (code, &report["written"], &report["output"]),
        (Some(1), &json!(false), &json!(null))
    );
    assert!(report["error"].as_str().unwrap().contains("--strict"), "{report}");
    let kinds: Vec<_> = report["losses"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["dangling", "missing"]);
    assert_eq!(support::names(folder.path()), ["a.bp"]);
}

#[test]
fn only_arrays_that_were_rounded_are_said_to_be() {
    let folder = folder();
    let from = file(&folder.path().join("a.bp"), |writer| {
        let mut fine = LongDouble::from_f64(1.0);
        fine.0[0] = 1;
        writer.scalar("/", "a", Data::LongDouble(&[fine])).unwrap();
        writer.scalar("/", "b", Data::LongDouble(&[LongDouble::from_f64(1.0)])).unwrap();
    });
    let (_, report) = report(&from, "h5", &[]);
    let what = "values are rounded to double precision";
    assert_eq!(report["losses"], json!([{ "kind": "rounded", "path": "/a", "loss": what }]));
}

#[test]
fn a_table_as_text_is_strict_and_tells_in_json_too() {
    let folder = folder();
    let from = file(&folder.path().join("a.bp"), |writer| {
        let place = [Dimension::global(1, 3, 1)];
        writer.dataset("/", "x", &place, Data::Double(&[0.5])).unwrap();
        writer.scalar("/", "y", Data::Int(&[4])).unwrap();
    });
    let (code, found) = report(&from, "csv", &["--table", "x"]);
    assert_eq!((code, &found["rows"], &found["written"]), (Some(3), &json!(3), &json!(true)));
    let what = "2 of 3 values are not in the file";
    assert_eq!(found["losses"], json!([{ "kind": "missing", "path": "/x", "loss": what }]));
    fs::remove_file(from.with_extension("csv")).unwrap();
    let (code, found) = report(&from, "csv", &["--table", "x", "--strict"]);
    assert_eq!((code, &found["written"]), (Some(1), &json!(false)));
    assert!(!from.with_extension("csv").exists());
    let (code, found) = report(&from, "json", &["--table", "y", "--strict"]);
    assert_eq!((code, &found["losses"]), (Some(0), &json!([])));
    let text = fs::read_to_string(from.with_extension("json")).unwrap();
    let rows: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(rows[0]["value"], 4);
}

#[cfg(target_os = "linux")]
#[test]
fn what_has_no_room_is_said_once_and_leaves_nothing() {
    let folder = folder();
    let from = folder.path().join("a.bp");
    support::large(&from, 64);
    for extension in ["h5", "nc", "npy", "npz", "zarr"] {
        // No file may have more than 512 KiB, which writing is told as an error.
        let mut limited = Command::new("sh");
        limited.args(["-c", "trap '' XFSZ; ulimit -f 1024; exec \"$0\" convert -q \"$1\" \"$2\""]);
        limited.arg(env!("CARGO_BIN_EXE_kymo"));
        let (code, _, said) = run(limited.args([&from, &from.with_extension(extension)]));
        assert_eq!(code, Some(1), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("file too large"), "{said}");
        assert_eq!(support::names(folder.path()), ["a.bp"]);
    }
}
