//! Arrays for other tools: read with their own readers, and compared with the source by a reader
//! of BP that shares nothing with ours.

use crate::support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{data, folder, kymo, kymo_with_default_signals, run};
use kymo_bp::{Data, Datatype, Dimension, LongDouble, Options, Writer};
use kymo_conformance::shared;
use serde_json::{Value, json};

/// Readers in `readers/stored.py`, extension, and an option.
type Target = (&'static [&'static str], &'static str, Option<&'static str>);

const TARGETS: &[Target] = &[
    (&["hdf5"], "h5", None),
    (&["hdf5"], "link.h5", Some("--link")),
    (&["netcdf", "xarray_netcdf"], "nc", None),
    (&["npz"], "npz", None),
    (&["zarr", "xarray_zarr"], "zarr", None),
];

/// Runs one of our scripts on a list of jobs, a JSON object each.
fn run_script(python: &Path, script: &str, jobs: &[Value]) -> String {
    let folder = folder();
    let list = folder.path().join("jobs");
    let lines: Vec<_> = jobs.iter().map(Value::to_string).collect();
    fs::write(&list, lines.join("\n")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers").join(script);
    let (code, out, said) = run(Command::new(python).arg(script).arg(list));
    assert_eq!(code, Some(0), "{out}{said}");
    out
}

/// Converts files to targets, in both orders, and compares all values and attributes.
fn compare(python: &Path, sources: &[PathBuf], targets: &[Target]) {
    let folder = folder();
    let mut jobs = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        for (readers, extension, option) in targets {
            for order in ["c", "fortran"] {
                let output = folder.path().join(format!("{index}-{order}.{extension}"));
                let mut convert = kymo();
                convert.args(["convert", "--json", "--order", order]).arg(source).arg(&output);
                let (code, out, said) = run(convert.args(option));
                assert!(matches!(code, Some(0 | 3)), "{}: {said}", source.display());
                let report: Value = serde_json::from_str(&out).unwrap();
                let losses = report["losses"].as_array().unwrap();
                assert!(losses.is_empty() || code == Some(3), "{}", source.display());
                // The second reader is slow, and what it adds is no matter of order.
                let readers = if order == "c" { readers } else { &readers[..1] };
                jobs.extend(readers.iter().map(|reader| {
                    json!({
                        "reader": reader, "order": order, "source": source, "output": output,
                        "report": report,
                    })
                }));
            }
        }
    }
    run_script(python, "compare.py", &jobs);
}

/// Folders of files that are damaged, or are of later formats, which are not read.
const LEFT_OUT: [&str; 3] = ["malformed", "bad", "adios1"];

/// The sound files below a folder.
fn sound(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !LEFT_OUT.iter().any(|folder| path.ends_with(folder)) {
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
    compare(&python, &sound(&data("")), TARGETS);
}

#[test]
fn what_other_tools_read_is_what_the_real_files_hold() {
    let (Some(python), Some(files)) = (shared::readers(), shared::file("bp")) else { return };
    compare(&python, &sound(&files), TARGETS);
}

/// The old converter was right in so many arrays of each file; `of_2008.py` names its faults.
const RIGHT_IN_2008: [(&str, usize); 16] = [
    ("old-h5/01_scalars_all_types.h5", 8),
    ("old-h5/02_datasets_types_ranks.h5", 47),
    ("old-h5/03_global_blocks.h5", 3),
    ("old-h5/04_attributes.h5", 1),
    ("old-h5/05_paths.h5", 23),
    ("old-h5/06_timesteps.h5", 0),
    ("old-h5/06b_gtc_style_paths.h5", 8),
    ("old-h5/07_empties.h5", 2),
    ("old-h5/gtc_PHI_00005.h5", 144),
    ("old-h5/heat_final.h5", 3),
    ("old-h5/xgc_netcdfflow.h5", 0),
    ("real/gtc_PHI_00005.nc", 32),
    ("real/heat_data5000.h5", 3),
    ("real/heat_final.h5", 1),
    ("real/heat_initial.h5", 3),
    ("real/xgc_netcdfflow.h5", 0),
];

#[test]
fn what_was_made_in_2008_agrees_where_it_was_right() {
    let (Some(python), Some(files)) = (shared::readers(), shared::file("bp")) else { return };
    let folder = folder();
    for from in ["real", "v1-2008-07-11"] {
        let mut convert = kymo();
        convert.args(["convert", "--to", "hdf5"]).arg(files.join(from)).arg(folder.path());
        assert_eq!(run(&mut convert).0, Some(3));
    }
    let jobs = RIGHT_IN_2008.map(|(old, _)| {
        let ours = folder.path().join(Path::new(old).file_name().unwrap()).with_extension("h5");
        json!({ "ours": ours, "old": files.join(old) })
    });
    let out = run_script(&python, "of_2008.py", &jobs);
    let expected =
        RIGHT_IN_2008.map(|(old, right)| format!("{}: {right} right\n", files.join(old).display()));
    assert_eq!(out, expected.concat());
}

#[test]
fn a_dimension_of_very_many_variables_is_shared_in_parts() {
    let Some(python) = shared::readers() else { return };
    let folder = folder();
    let path = folder.path().join("many.bp");
    let mut writer = Writer::new(Vec::new(), Options::default());
    for number in 0..1100 {
        let name = format!("v{number}");
        writer.dataset("/", &name, &[Dimension::local(2)], Data::Int(&[number, 7])).unwrap();
    }
    fs::write(&path, writer.finish().unwrap()).unwrap();
    compare(&python, &[path], &TARGETS[2..3]);
}

/// What a program prints, without what is at the ends of lines.
fn printed(program: &str, args: &[&str], file: &Path) -> Vec<String> {
    let (code, out, said) = run(Command::new(program).args(args).arg(file));
    assert_eq!(code, Some(0), "{program} {args:?}: {said}");
    out.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn h5dump_prints_what_was_written() {
    let Some(_) = shared::readers() else { return };
    let folder = folder();
    let out = converted(folder.path(), &all_types(), "h5", 3);
    for (dataset, datatype, values) in [
        ("/once/int", "DATATYPE  H5T_STD_I32LE", "(0): -2147483648, 2147483647"),
        ("/once/uchar", "DATATYPE  H5T_STD_U8LE", "(0): 250, 255"),
        ("/once/ulonglong", "DATATYPE  H5T_STD_U64LE", "(0): 1, 18446744073709551615"),
        ("/once/double", "DATATYPE  H5T_IEEE_F64LE", "(0): -0, -inf"),
        ("/steps/short", "DATATYPE  H5T_STD_I16LE", "(2,0): -32768, 32767"),
        ("/uneven/char/1", "DATATYPE  H5T_STD_I8LE", "(0,0): -128, 127"),
    ] {
        let lines = printed("h5dump", &["-d", dataset], &out);
        for expected in [datatype, values] {
            assert!(lines.iter().any(|line| line == expected), "{dataset}: {lines:#?}");
        }
    }
    // More dimensions than the format has.
    let mut writer = Writer::new(Vec::new(), Options::default());
    let deep: Vec<_> = (0..40).map(|at| Dimension::local(if at == 7 { 3 } else { 1 })).collect();
    writer.dataset("/", "deep", &deep, Data::Int(&[4, 5, 6])).unwrap();
    let out = converted(folder.path(), &writer.finish().unwrap(), "h5", 3);
    let lines = printed("h5dump", &["-d", "/deep"], &out);
    assert!(lines.contains(&"DATASPACE  SIMPLE { ( 3 ) / ( 3 ) }".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"(0): 4, 5, 6".to_owned()), "{lines:#?}");
}

#[test]
fn ncdump_prints_what_was_written() {
    let Some(_) = shared::readers() else { return };
    let folder = folder();
    let lines = printed("ncdump", &[], &converted(folder.path(), &all_types(), "nc", 3));
    for expected in [
        "dim_2 = 2 ;",
        "step = 3 ;",
        "ubyte uchar(dim_2) ;",
        "uint64 ulonglong(step, dim_2) ;",
        "double complex(dim_2, ri) ;",
        "int = -2147483648, 2147483647 ;",
        "ulonglong = 1, 18446744073709551615 ;",
        "float = NaNf, 1.175494e-38 ;",
        "double = -0, -Infinity ;",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected}: {lines:#?}");
    }
    let source = data("v1-2008-07-11/06_timesteps.bp");
    let out = converted(folder.path(), &fs::read(source).unwrap(), "nc", 0);
    let lines = printed("ncdump", &["-h"], &out);
    assert!(lines.contains(&"float field(step, dim_2, dim_3) ;".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"field:units = \"K\" ;".to_owned()), "{lines:#?}");
}

/// A file as another, whatever was there.
fn converted(folder: &Path, bytes: &[u8], extension: &str, expected: i32) -> PathBuf {
    let (from, to) = (folder.join("from.bp"), folder.join("to").with_extension(extension));
    fs::write(&from, bytes).unwrap();
    let (code, _, said) = run(kymo().args(["convert", "--force"]).args([&from, &to]));
    assert_eq!(code, Some(expected), "{said}");
    to
}

/// What `--json` says of converting a file to HDF5.
fn report(folder: &Path, bytes: &[u8], options: &[&str]) -> Value {
    let (from, to) = (folder.join("from.bp"), folder.join("to.h5"));
    fs::write(&from, bytes).unwrap();
    let mut convert = kymo();
    convert.args(["convert", "--force", "--json"]).args(options).args([&from, &to]);
    serde_json::from_str(&run(&mut convert).1).unwrap()
}

/// A global array of four, written as the first three and the last two.
fn overlapping(second: [i32; 2]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Options::default());
    let place = |length, offset| [Dimension::global(length, 4, offset)];
    writer.dataset("/", "x", &place(3, 0), Data::Int(&[1, 2, 3])).unwrap();
    writer.dataset("/", "x", &place(2, 2), Data::Int(&second)).unwrap();
    writer.finish().unwrap()
}

#[test]
fn blocks_that_overlap_and_differ_are_said() {
    let folder = folder();
    let found = report(folder.path(), &overlapping([9, 4]), &[]);
    let what = "blocks overlap and differ in 1 value: the first in the file is kept";
    let expected = json!([{ "kind": "overlap", "path": "/x", "loss": what }]);
    assert_eq!(found["losses"], expected);
    assert_eq!(report(folder.path(), &overlapping([3, 4]), &[])["losses"], json!([]));
    let npy = converted(folder.path(), &overlapping([9, 4]), "npy", 3);
    let values: Vec<_> = [1, 2, 3, 4].iter().flat_map(|n: &i32| n.to_le_bytes()).collect();
    assert_eq!(fs::read(npy).unwrap()[128..], values);
}

#[test]
fn a_path_of_two_types_is_converted_whole() {
    let folder = folder();
    let found = report(folder.path(), &clashes(), &["--table", "/a/b"]);
    assert_eq!(found["arrays"], 2);
    let (from, to) = (folder.path().join("from.bp"), folder.path().join("b.npy"));
    let (code, _, said) = run(kymo().args(["convert", "--table", "/a/b"]).args([&from, &to]));
    assert_eq!(code, Some(1));
    assert!(said.contains("it is 2 arrays of several types"), "{said}");
}

#[test]
fn values_that_cannot_stay_where_they_are_are_said_to_be_copied() {
    let folder = folder();
    let mut writer = Writer::new(Vec::new(), Options::default());
    for _ in 0..1100 {
        writer.dataset("/", "x", &[Dimension::local(1)], Data::Double(&[0.5])).unwrap();
        writer.scalar("/", "between", Data::Char(&[1])).unwrap();
    }
    let large = vec![1.5; 512];
    writer.dataset("/", "y", &[Dimension::local(512)], Data::Double(&large)).unwrap();
    let found = report(folder.path(), &writer.finish().unwrap(), &["--link"]);
    assert_eq!((&found["copied"], &found["losses"]), (&json!(["/x"]), &json!([])));
}

#[test]
fn an_array_named_as_the_attributes_of_an_npz_gets_another_name() {
    let Some(python) = shared::readers() else { return };
    let folder = folder();
    let path = folder.path().join("a.bp");
    let mut writer = Writer::new(Vec::new(), Options::default());
    writer.scalar("/", "attributes.json", Data::Int(&[3])).unwrap();
    writer.dataset_attribute("/attributes.json", "units", Data::String("m")).unwrap();
    fs::write(&path, writer.finish().unwrap()).unwrap();
    let (code, _, said) = run(kymo().arg("convert").arg(&path).arg(path.with_extension("npz")));
    assert_eq!(code, Some(3));
    assert!(said.contains("stored as /_attributes.json"), "{said}");
    let script = "import json, sys, numpy as np; f = np.load(sys.argv[1]); \
                  print(f['_attributes.json'], json.loads(f['attributes.json']))";
    let mut load = Command::new(python);
    let (_, out, said) = run(load.args(["-c", script]).arg(path.with_extension("npz")));
    assert_eq!(out, "3 {'/_attributes.json': {'units': 'm'}}\n", "{said}");
}

#[test]
fn every_input_has_its_object_of_json() {
    let folder = folder();
    let inputs = ["v1-2008-07-11/06_timesteps.bp", "malformed/m05_len_ff.bp"].map(data);
    let missing = folder.path().join("missing.bp");
    let mut convert = kymo();
    convert.args(["convert", "--json", "--to", "npz"]).args(&inputs).arg(&missing);
    let (code, out, _) = run(convert.arg(folder.path().join("out")));
    assert_eq!(code, Some(1));
    let objects: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), 3, "{out}");
    for (input, is_written) in inputs.iter().chain([&missing]).zip([true, false, false]) {
        let item = |object: &&Value| object["input"] == input.display().to_string();
        let object = objects.iter().find(item).unwrap();
        assert_eq!(object["written"], is_written);
        assert_eq!(object["error"].is_string(), !is_written);
    }
}

#[test]
fn parts_of_a_run_keep_their_numbers_and_several_files_need_a_directory() {
    let folder = folder();
    let parts = ["run.bp.0", "run.bp.1"].map(|name| {
        let path = folder.path().join(name);
        fs::copy(data("v1-2008-07-11/06_timesteps.bp"), &path).unwrap();
        path
    });
    let out = folder.path().join("out");
    assert_eq!(run(kymo().args(["convert", "--to", "hdf5"]).args(&parts).arg(&out)).0, Some(0));
    assert_eq!(support::names(&out), ["run.bp.0.h5", "run.bp.1.h5"]);
    let (code, _, said) = run(kymo().arg("convert").args(&parts).arg(folder.path().join("a.h5")));
    assert_eq!(code, Some(2));
    assert!(said.contains("several files become files in a directory"), "{said}");
}

/// Arrays of 32 MiB each: two steps, complex numbers, and blocks side by side.
#[cfg(target_os = "linux")]
fn huge(path: &Path) {
    let values: Vec<f64> = (0..1 << 22).map(f64::from).collect();
    let complex: Vec<_> = values.iter().step_by(2).map(|&re| [re, -re]).collect();
    let file = std::io::BufWriter::new(fs::File::create(path).unwrap());
    let mut writer = Writer::new(file, Options::default());
    let square = [Dimension::local(2048); 2];
    for _ in 0..2 {
        writer.dataset("/", "steps", &square, Data::Double(&values)).unwrap();
    }
    let half = [Dimension::local(1024), Dimension::local(2048)];
    writer.dataset("/", "complex", &half, Data::Complex(&complex)).unwrap();
    for column in 0..2 {
        let block =
            [Dimension::global(2048, 2048, 0), Dimension::global(2048, 4096, column * 2048)];
        writer.dataset("/", "columns", &block, Data::Double(&values)).unwrap();
    }
    writer.finish().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn sixty_four_mebibytes_of_memory_are_enough_for_files_of_any_size() {
    let folder = folder();
    let path = folder.path().join("huge.bp");
    huge(&path);
    for (extension, expected) in [("h5", 0), ("nc", 3), ("zarr", 0), ("npz", 0)] {
        let to = path.with_extension(extension);
        // Whatever would take more than so many KiB fails.
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -d 65536; exec \"$0\" convert \"$1\" \"$2\""]);
        let (code, _, said) = run(limited.arg(env!("CARGO_BIN_EXE_kymo")).args([&path, &to]));
        assert_eq!(code, Some(expected), "{extension}: {said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_half_written_is_left_by_an_interrupt() {
    let folder = folder();
    let path = folder.path().join("huge.bp");
    huge(&path);
    let tables = ["--to", "csv", "--table", "all"];
    for (name, options, signal) in [
        ("out.h5", &[][..], "-INT"),
        ("out.zarr", &[], "-INT"),
        ("out.zarr", &[], "-TERM"),
        ("tables", &tables, "-INT"),
    ] {
        let to = folder.path().join(name);
        let mut command = kymo_with_default_signals();
        command.arg("convert").args(options).args([&path, &to]);
        let mut child = command.spawn().unwrap();
        // Once it has begun to write, there is something to be left.
        let begun = |names: Vec<String>| names.iter().any(|name| name.starts_with(".kymo-"));
        while !begun(support::names(folder.path())) && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let _ = run(Command::new("kill").arg(signal).arg(child.id().to_string()));
        child.wait().unwrap();
        let names = support::names(folder.path());
        assert!(!names.iter().any(|name| name.starts_with(".kymo-")), "{signal}: {names:?}");
        let _ = fs::remove_dir_all(&to);
    }
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
    compare(&python, &paths, TARGETS);
}

/// Scalars and arrays of every type, alone and in steps of the same and of other shapes.
fn all_types() -> Vec<u8> {
    let long = [LongDouble::from_f64(0.5), LongDouble::from_f64(-3.0)];
    let complex = [[1.5, -2.5], [f64::INFINITY, 0.0]];
    let texts = Data::Raw { datatype: Datatype::STRING, element_bytes: 3, bytes: b"onetwo" };
    let single = [1.5_f32, -0.0, f32::NAN, 2.0].map(f32::to_le_bytes).concat();
    let single = Data::Raw { datatype: Datatype::COMPLEX, element_bytes: 8, bytes: &single };
    let wide = [-0.0, 2.5, f64::MAX, f64::NAN].map(f64::to_le_bytes).concat();
    let wide = Data::Raw { datatype: Datatype::DOUBLE_COMPLEX, element_bytes: 16, bytes: &wide };
    let long8 = [i64::MIN, 3].map(i64::to_le_bytes).concat();
    let long8 = Data::Raw { datatype: Datatype::LONG, element_bytes: 8, bytes: &long8 };
    let unknown = Data::Raw { datatype: Datatype(77), element_bytes: 3, bytes: b"abcdef" };
    let data: [(&str, Data<'_>); 20] = [
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
        ("long", Data::Long(&[-1, 7])),
        ("ulong", Data::ULong(&[0, 9])),
        ("pointer", Data::Pointer(&[0, u64::from(u32::MAX)])),
        ("doublecomplex", wide),
        ("singlecomplex", single),
        ("long8", long8),
        ("texts", texts),
        ("unknown", unknown),
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
    let refused: [&[&str]; 5] = [
        &["x.h5", "--step", "1", "--table", "field"],
        &["x.h5", "--columns", "value"],
        &["x.csv", "--link"],
        &["-", "--to", "csv", "--strict"],
        &["-", "--to", "csv", "--json"],
    ];
    for options in refused {
        let (code, _, said) = run(kymo().arg("convert").arg(&file).args(options));
        assert_eq!(code, Some(2), "{options:?}: {said}");
    }
    let mut several = kymo();
    several.arg("convert").args([&file, &file]).arg("x.csv");
    assert_eq!(run(&mut several).0, Some(2));
}

/// The elements of a BP file, each with its length in front, in two halves.
fn halves(file: &[u8]) -> (&[u8], &[u8]) {
    let mut ends = vec![0];
    while let Some(word) = file[ends[ends.len() - 1]..].first_chunk::<4>() {
        let length = usize::try_from(u32::from_le_bytes(*word)).unwrap();
        if length == 0 {
            break;
        }
        ends.push(ends[ends.len() - 1] + length);
    }
    let (middle, end) = (ends[ends.len() / 2], ends[ends.len() - 1]);
    (&file[..middle], &file[middle..end])
}

#[test]
fn files_of_processes_become_what_one_file_of_all_becomes() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    for name in ["03_global_blocks", "04_attributes", "01_scalars_all_types"] {
        let whole = data(&format!("v1-2008-07-11/{name}.bp"));
        let bytes = fs::read(&whole).unwrap();
        let (one, other) = halves(&bytes);
        fs::write(path("rank.0.bp"), one).unwrap();
        fs::write(path("rank.1.bp"), other).unwrap();
        let (joined, alone) = (path(&format!("{name}.npz")), path(&format!("{name}-alone.npz")));
        let ranks = [path("rank.0.bp"), path("rank.1.bp")];
        let (code, _, said) = run(kymo().args(["convert", "--join"]).args(ranks).arg(&joined));
        let (alone_code, _, alone_said) = run(kymo().arg("convert").arg(&whole).arg(&alone));
        assert_eq!(code, alone_code, "{said}{alone_said}");
        assert_eq!(fs::read(joined).unwrap(), fs::read(alone).unwrap(), "{name}");
    }
}

/// A file of one array: 32-bit words of its bounds, then values of a type of the specification.
fn array(path: &Path, name: &str, datatype: u32, bounds: [u32; 3], values: &[u8]) {
    let mut element = Vec::new();
    for (tag, text) in [(2_u32, name), (4, "/")] {
        element.extend([tag, u32::try_from(text.len()).unwrap()].map(u32::to_le_bytes).concat());
        element.extend_from_slice(text.as_bytes());
    }
    let [local, global, offset] = bounds;
    let words = [6, u32::try_from(values.len()).unwrap(), 1, local, global, offset, datatype];
    element.extend(words.map(u32::to_le_bytes).concat());
    element.extend_from_slice(values);
    let length = u32::try_from(element.len() + 4).unwrap();
    fs::write(path, [&length.to_le_bytes()[..], &element].concat()).unwrap();
}

/// The shape and the bytes of the values of an .npy.
fn stored(npy: &Path) -> (String, Vec<u8>) {
    let bytes = fs::read(npy).unwrap();
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]])) + 10;
    let text = String::from_utf8_lossy(&bytes[10..header]).into_owned();
    let shape = text.split("'shape': ").nth(1).unwrap().split(')').next().unwrap().to_owned();
    (shape, bytes[header..].to_vec())
}

#[test]
fn an_array_that_each_file_has_whole_is_a_step_of_each() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let int = |values: [i32; 2]| values.map(i32::to_le_bytes).concat();
    for (at, values) in [[1, 2], [3, 4], [5, 6]].into_iter().enumerate() {
        array(&path(&format!("t.bp.{}", 9 + at)), "x", 2, [2, 2, 0], &int(values));
    }
    let output = path("all.npy");
    let (code, _, said) = run(kymo().args(["convert", "--join"]).arg(folder.path()).arg(&output));
    assert_eq!(code, Some(0), "{said}");
    // Part 9 comes before parts 10 and 11.
    let all = [1, 2, 3, 4, 5, 6].map(i32::to_le_bytes).concat();
    assert_eq!(stored(&output), ("(3, 2".to_owned(), all));
}

#[test]
fn what_is_named_as_a_recording_and_is_no_file_is_told() {
    let folder = folder();
    fs::copy(data("v1-2008-07-11/03_global_blocks.bp"), folder.path().join("a.bp")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("b.bp")).unwrap();
    let (code, _, said) = run(kymo().arg("info").arg(folder.path()));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("b.bp"), "{said}");
}

#[test]
fn files_are_joined_only_when_all_can_be_read() {
    let (folder, sound) = (folder(), data("v1-2008-07-11/03_global_blocks.bp"));
    let (bad, output) = (folder.path().join("bad.bp"), folder.path().join("out.h5"));
    fs::write(&bad, b"neither this nor that").unwrap();
    let mut convert = kymo();
    convert.args(["convert", "--join"]).args([&sound, &bad]).arg(&output);
    let (code, _, said) = run(&mut convert);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("bad.bp") && !output.exists(), "{said}");
    let missing = folder.path().join("missing.bp");
    let mut convert = kymo();
    convert.args(["convert", "--join", "--json"]).args([&sound, &missing]).arg(&output);
    let (code, out, said) = run(&mut convert);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("missing.bp") && out.contains("missing.bp"), "{said}{out}");
}
