//! Arrays for other tools: read with their own readers, and compared with the source by a reader
//! of BP that shares nothing with ours.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may fail loudly")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kymo_bp::{Data, Dimension, LongDouble, Options, Writer};
use kymo_conformance::shared;
use serde_json::{Value, json};
use support::{data, folder, kymo, run};

/// Reader in `readers/stored.py`, extension, and an option.
const TARGETS: &[(&str, &str, Option<&str>)] = &[
    ("hdf5", "h5", None),
    ("hdf5", "link.h5", Some("--link")),
    ("netcdf", "nc", None),
    ("npz", "npz", None),
    ("zarr", "zarr", None),
];

/// Converts files to every target, in both orders, and compares all values and attributes.
fn compare(python: &Path, sources: &[PathBuf]) {
    let folder = folder();
    let mut jobs = String::new();
    for (index, source) in sources.iter().enumerate() {
        for (reader, extension, option) in TARGETS {
            for order in ["c", "fortran"] {
                let output = folder.path().join(format!("{index}-{order}.{extension}"));
                let mut convert = kymo();
                convert.args(["convert", "--json", "--order", order]).arg(source).arg(&output);
                let (code, out, said) = run(convert.args(option));
                assert!(matches!(code, Some(0 | 3)), "{}: {said}", source.display());
                let report: Value = serde_json::from_str(&out).unwrap();
                let losses = report["losses"].as_array().unwrap();
                assert!(losses.is_empty() || code == Some(3), "{}", source.display());
                let job = json!({
                    "reader": reader, "order": order, "source": source, "output": output,
                    "report": report,
                });
                jobs.extend([job.to_string(), "\n".to_owned()]);
            }
        }
    }
    let list = folder.path().join("jobs");
    fs::write(&list, jobs).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers/compare.py");
    let (code, out, said) = run(Command::new(python).arg(script).arg(list));
    assert_eq!(code, Some(0), "{out}{said}");
}

/// The sound files below a folder.
fn sound(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("malformed") && !path.ends_with("bad") {
            found.extend(sound(&path));
        } else if path.extension().is_some_and(|extension| extension == "bp") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn what_other_tools_read_is_what_the_small_files_hold() {
    let Some(python) = shared::readers() else { return };
    compare(&python, &sound(&data("")));
}

#[test]
fn what_other_tools_read_is_what_the_real_files_hold() {
    let (Some(python), Some(files)) = (shared::readers(), shared::file("bp")) else { return };
    compare(&python, &sound(&files));
}

#[test]
fn what_other_tools_read_is_what_was_written_of_every_type() {
    let Some(python) = shared::readers() else { return };
    let folder = folder();
    let files = [("all.bp", all_types()), ("large.bp", large()), ("clash.bp", clashes())];
    let paths = files.map(|(name, bytes)| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    });
    compare(&python, &paths);
}

/// Scalars and arrays of every type, alone and in steps of the same and of other shapes.
fn all_types() -> Vec<u8> {
    let long = [LongDouble::from_f64(0.5), LongDouble::from_f64(-3.0)];
    let complex = [[1.5, -2.5], [f64::INFINITY, 0.0]];
    let data: [(&str, Data<'_>); 12] = [
        ("char", Data::Char(&[-128, 127])),
        ("short", Data::Short(&[i16::MIN, i16::MAX])),
        ("int", Data::Int(&[i32::MIN, i32::MAX])),
        ("longlong", Data::LongLong(&[i64::MIN, i64::MAX])),
        ("uchar", Data::UChar(&[250, 255])),
        ("ushort", Data::UShort(&[0, u16::MAX])),
        ("uint", Data::UInt(&[0, u32::MAX])),
        ("ulonglong", Data::ULongLong(&[1, u64::MAX])),
        ("float", Data::Float(&[f32::NAN, f32::MIN_POSITIVE])),
        ("double", Data::Double(&[-0.0, f64::NEG_INFINITY])),
        ("longdouble", Data::LongDouble(&long)),
        ("complex", Data::Complex(&complex)),
    ];
    let mut writer = Writer::new(Vec::new(), Options::default());
    for (name, values) in data {
        writer.dataset("/once", name, &[Dimension::local(2)], values).unwrap();
        for _ in 0..3 {
            writer.dataset("/steps", name, &[Dimension::local(2)], values).unwrap();
        }
        let shapes = [
            [Dimension::local(2), Dimension::local(1)],
            [Dimension::local(1), Dimension::local(2)],
        ];
        for shape in shapes {
            writer.dataset("/uneven", name, &shape, values).unwrap();
        }
    }
    writer.finish().unwrap()
}

/// Arrays larger than what is read at once, whole and in blocks that lie across each other's rows.
fn large() -> Vec<u8> {
    let values: Vec<f64> = (0..1_100_000).map(f64::from).collect();
    let complex: Vec<_> = values.iter().map(|&re| [re, -re]).collect();
    let mut writer = Writer::new(Vec::new(), Options::default());
    let shape = [Dimension::local(11), Dimension::local(1000), Dimension::local(100)];
    for _ in 0..2 {
        writer.dataset("/", "whole", &shape, Data::Double(&values)).unwrap();
    }
    writer.dataset("/", "complex", &shape, Data::Complex(&complex)).unwrap();
    for column in 0..2 {
        let block =
            [Dimension::global(1100, 1100, 0), Dimension::global(1000, 2000, column * 1000)];
        writer.dataset("/", "columns", &block, Data::Double(&values)).unwrap();
    }
    writer.finish().unwrap()
}

/// Names that are a group and a variable, or variables of two types.
fn clashes() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Options::default());
    writer.scalar("/", "a", Data::Int(&[1])).unwrap();
    writer.scalar("/a", "b", Data::Int(&[2])).unwrap();
    writer.scalar("/a", "b", Data::Double(&[2.5])).unwrap();
    writer.scalar("/", "text", Data::String("one")).unwrap();
    writer.scalar("/", "text", Data::String("zw\u{f6}lf")).unwrap();
    writer.finish().unwrap()
}

#[test]
fn a_directory_becomes_a_directory() {
    let folder = folder();
    let out = folder.path().join("out");
    let mut convert = kymo();
    convert.args(["convert", "--to", "hdf5"]).arg(data("v1-2008-07-11")).arg(&out);
    let (code, _, said) = run(&mut convert);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("values are not in the file"), "{said}");
    let (sources, made) = (sound(&data("v1-2008-07-11")), support::names(&out));
    assert_eq!(made.len(), sources.len());
    assert!(made.contains(&"06_timesteps.h5".to_owned()));
    // Nothing is replaced unasked.
    let (code, _, said) = run(&mut convert);
    assert_eq!(code, Some(1));
    assert!(said.contains("exists"), "{said}");
}

#[test]
fn strictness_writes_nothing_that_is_not_as_it_was() {
    let folder = folder();
    let out = folder.path().join("x.h5");
    for (file, code) in [("07_empties.bp", 1), ("04_attributes.bp", 1), ("06_timesteps.bp", 0)] {
        let mut convert = kymo();
        convert.args(["convert", "--strict"]).arg(data("v1-2008-07-11").join(file)).arg(&out);
        let (found, _, said) = run(&mut convert);
        assert_eq!(found, Some(code), "{file}: {said}");
        assert_eq!(out.exists(), code == 0);
    }
    assert_eq!(support::names(folder.path()), ["x.h5"]);
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let file = data("v1-2008-07-11/06_timesteps.bp");
    let refused: [&[&str]; 4] = [
        &["x.h5", "--step", "1", "--table", "field"],
        &["x.h5", "--columns", "value"],
        &["x.csv", "--strict"],
        &["x.csv", "--json"],
    ];
    for options in refused {
        let (code, _, said) = run(kymo().arg("convert").arg(&file).args(options));
        assert_eq!(code, Some(2), "{options:?}: {said}");
    }
    let mut several = kymo();
    several.arg("convert").args([&file, &file]).arg("x.csv");
    assert_eq!(run(&mut several).0, Some(2));
}
