//! Names and texts that are not as targets would have them: what readers make of them, and what is
//! said.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{file, folder, kymo, run};
use kymo_bp::{Data, Dimension};
use kymo_conformance::shared;
use serde_json::{Value, json};

/// Converts a file, and gives what was lost: kind, path and what.
fn losses(from: &Path, extension: &str) -> Vec<[String; 3]> {
    let mut convert = kymo();
    convert.args(["convert", "--json", "--force"]).arg(from).arg(from.with_extension(extension));
    let (code, out, said) = run(&mut convert);
    let report: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{said}"));
    let losses = report["losses"].as_array().unwrap();
    assert_eq!(code, Some(if losses.is_empty() { 0 } else { 3 }), "{said}");
    let text = |loss: &Value, key: &str| loss[key].as_str().unwrap().to_owned();
    losses.iter().map(|loss| ["kind", "path", "loss"].map(|key| text(loss, key))).collect()
}

fn loss(kind: &str, path: &str, what: &str) -> [String; 3] {
    [kind, path, what].map(str::to_owned)
}

/// What Python prints that looks at a file with `f` as its path.
fn python(script: &str, file: &Path) -> Option<String> {
    let python = shared::readers()?;
    let script = format!(
        "import sys, warnings; warnings.simplefilter('ignore'); f = sys.argv[1]\n\
         import h5py, json, netCDF4, numpy as np, xarray, zarr\n{script}"
    );
    let (code, out, said) = run(Command::new(python).args(["-c", &script]).arg(file));
    assert_eq!(code, Some(0), "{said}");
    Some(out.trim_end().to_owned())
}

/// Opens all groups with xarray and prints one variable.
fn by_xarray(from: &Path, extension: &str, variable: &str) -> Option<String> {
    let engine = if extension == "nc" { "netcdf4" } else { "zarr" };
    let how = if extension == "nc" { "" } else { ", consolidated=False" };
    let script = format!(
        "print(xarray.open_datatree(f, engine='{engine}'{how})['{variable}'].values.tolist())"
    );
    python(&script, &from.with_extension(extension))
}

#[test]
fn xarray_opens_groups_with_scalars_that_are_named_as_dimensions() {
    let folder = folder();
    let from = file(&folder.path().join("a.bp"), |writer| {
        writer.scalar("/diag", "step", Data::Int(&[7])).unwrap();
        writer.scalar("/diag", "dim_3", Data::Int(&[8])).unwrap();
        for step in 0..2 {
            let values = [step, 1, 2];
            writer.dataset("/diag", "phi", &[Dimension::local(3)], Data::Int(&values)).unwrap();
        }
    });
    for extension in ["nc", "zarr"] {
        assert_eq!(losses(&from, extension), <[[String; 3]; 0]>::default());
        let phi = by_xarray(&from, extension, "/diag/phi");
        assert!(phi.is_none_or(|phi| phi == "[[0, 1, 2], [1, 1, 2]]"));
        assert!(by_xarray(&from, extension, "/diag/step").is_none_or(|step| step == "7"));
    }
}

#[test]
fn names_that_zarr_reads_as_others_are_changed_and_said() {
    let folder = folder();
    let from = file(&folder.path().join("a.bp"), |writer| {
        writer.scalar("/", "a\\b", Data::Int(&[2])).unwrap();
        writer.scalar("/a", "b", Data::Int(&[7])).unwrap();
        writer.scalar("/", "...", Data::Int(&[3])).unwrap();
    });
    let said = losses(&from, "zarr");
    let expected =
        [loss("renamed", "/a\\b", "stored as /a_b"), loss("renamed", "/...", "stored as /_...")];
    assert_eq!(said, expected);
    let script = "g = zarr.open_group(f, mode='r'); \
                  print(sorted((n, int(i[()])) for n, i in g.members(max_depth=None) \
                  if isinstance(i, zarr.Array)))";
    let found = python(script, &from.with_extension("zarr"));
    assert!(found.is_none_or(|found| found == "[('_...', 3), ('a/b', 7), ('a_b', 2)]"));
}

#[test]
fn an_attribute_that_readers_take_for_their_own_gets_another_name() {
    let folder = folder();
    let from = file(&folder.path().join("a.bp"), |writer| {
        writer.dataset("/", "x", &[Dimension::local(2)], Data::Double(&[1.0, 2.0])).unwrap();
        for name in ["_FillValue", "_ARRAY_DIMENSIONS"] {
            writer.dataset_attribute("/x", name, Data::String("none")).unwrap();
        }
    });
    for extension in ["nc", "zarr"] {
        let expected = ["_FillValue", "_ARRAY_DIMENSIONS"].map(|name| {
            loss("renamed", &format!("/x attribute {name}"), &format!("stored as {name}_"))
        });
        assert_eq!(losses(&from, extension), expected, "{extension}");
        assert!(by_xarray(&from, extension, "x").is_none_or(|x| x == "[1.0, 2.0]"));
    }
    let printed = python(
        "d = netCDF4.Dataset(f); print(sorted(d['x'].ncattrs()))",
        &from.with_extension("nc"),
    );
    let expected = "['_ARRAY_DIMENSIONS_', '_FillValue_']";
    assert!(printed.is_none_or(|printed| printed == expected));
}

/// A scalar: its name, its path, its value.
fn scalar(name: &[u8], datatype: u32, value: &[u8]) -> Vec<u8> {
    let mut element = Vec::new();
    for (tag, text) in [(3_u32, name), (4, b"/".as_slice())] {
        let length = u32::try_from(text.len()).unwrap();
        element.extend([tag, length].map(u32::to_le_bytes).concat());
        element.extend_from_slice(text);
    }
    let length = u32::try_from(value.len()).unwrap();
    element.extend([5, length, datatype].map(u32::to_le_bytes).concat());
    element.extend_from_slice(value);
    let length = u32::try_from(element.len() + 4).unwrap();
    [&length.to_le_bytes()[..], &element].concat()
}

#[test]
fn the_bytes_of_a_name_tell_which_variable_is_meant() {
    let folder = folder();
    let from = folder.path().join("a.bp");
    let elements =
        [scalar(&[0xFF], 2, &1_i32.to_le_bytes()), scalar("ÿ".as_bytes(), 2, &2_i32.to_le_bytes())];
    fs::write(&from, elements.concat()).unwrap();
    let (code, out, said) =
        run(kymo().args(["convert", "--table", "ÿ"]).arg(&from).args(["-", "--to", "csv"]));
    assert_eq!((code, out.as_str()), (Some(3), "step,value\n0,2\n"));
    assert!(said.contains("what has it in Latin-1") && !said.contains("type"), "{said}");
    // Two names are no change of a type.
    let (code, out, said) = run(kymo().arg("check").arg(&from));
    assert!(!out.contains("type-change"), "{code:?} {out}{said}");
}

#[test]
fn text_and_tables_say_that_latin_1_becomes_utf_8() {
    let folder = folder();
    let from = folder.path().join("a.bp");
    let elements = [
        scalar(b"t", 9, &[0xE9, b't', 0xE9]),
        scalar(b"u", 9, "été".as_bytes()),
        scalar(&[0xFF], 9, b"x"),
    ];
    fs::write(&from, elements.concat()).unwrap();
    let convert = |table: &str, options: &[&str]| {
        let mut convert = kymo();
        convert.args(["convert", "--force", "--table", table]).args(options);
        run(convert.arg(&from).arg(from.with_extension("csv")))
    };
    let (code, out, _) = convert("t", &["--json"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    let what = "text is Latin-1 and stored as UTF-8";
    assert_eq!(code, Some(3));
    assert_eq!(report["losses"], json!([{ "kind": "changed", "path": "/t", "loss": what }]));
    assert_eq!(convert("u", &["--strict"]).0, Some(0));
    for table in ["t", "variables"] {
        assert_eq!(convert(table, &["--strict"]).0, Some(1), "{table}");
    }
    assert_eq!(convert("attributes", &["--strict"]).0, Some(0));
}

#[test]
fn latin_1_is_stored_as_utf_8_and_said_and_names_stay_apart() {
    let folder = folder();
    let from = folder.path().join("a.bp");
    let elements = [
        scalar(&[0xFF], 2, &1_i32.to_le_bytes()),
        scalar("ÿ".as_bytes(), 2, &2_i32.to_le_bytes()),
        scalar(b"t", 9, &[0xE9, b't', 0xE9]),
    ];
    fs::write(&from, elements.concat()).unwrap();
    for extension in ["h5", "nc", "npz", "zarr"] {
        let expected = [
            loss("renamed", "/ÿ", "stored as /ÿ~2"),
            loss("changed", "/ÿ", "its name is Latin-1 and stored as UTF-8"),
            loss("changed", "/t", "text is Latin-1 and stored as UTF-8"),
        ];
        assert_eq!(losses(&from, extension), expected, "{extension}");
    }
    let script = "h = h5py.File(f); print(h['ÿ'][()], h['ÿ~2'][()], h['t'][()].decode())";
    let found = python(script, &from.with_extension("h5"));
    assert!(found.is_none_or(|found| found == "2 1 été"));
}

#[test]
fn nothing_is_renamed_to_what_another_is_called() {
    let folder = folder();
    let from = file(&folder.path().join("a.bp"), |writer| {
        writer.scalar("/", "x", Data::Int(&[1])).unwrap();
        writer.scalar("/", "x", Data::Double(&[2.0])).unwrap();
        writer.scalar("/", "x~2", Data::Int(&[3])).unwrap();
    });
    for extension in ["h5", "nc", "npz", "zarr"] {
        let expected = [loss("renamed", "/x", "stored as /x~3")];
        assert_eq!(losses(&from, extension), expected, "{extension}");
    }
    let script = "h = h5py.File(f); print(h['x'][()], h['x~2'][()], h['x~3'][()])";
    let found = python(script, &from.with_extension("h5"));
    assert!(found.is_none_or(|found| found == "1 3 2.0"));
}

#[test]
fn an_attribute_takes_no_array_its_name() {
    let folder = folder();
    let from = file(&folder.path().join("a.bp"), |writer| {
        writer.dataset("/", "x", &[Dimension::local(2)], Data::Int(&[1, 2])).unwrap();
        writer.group_attribute("/x", "u", Data::String("of a group")).unwrap();
        writer.dataset_attribute("/x/foo", "v", Data::String("of nothing")).unwrap();
    });
    for extension in ["h5", "nc", "npz", "zarr"] {
        let expected = [
            loss("changed", "/x attribute u", "describes a group; kept as u of the array /x"),
            loss(
                "dangling",
                "/x/foo attribute v",
                "there is no such variable; kept as foo.v of /x",
            ),
        ];
        assert_eq!(losses(&from, extension), expected, "{extension}");
    }
    let script = "h = h5py.File(f); print(list(h), h['x'][()], sorted(h['x'].attrs.items()))";
    let found = python(script, &from.with_extension("h5"));
    let expected = "['x'] [1 2] [('foo.v', 'of nothing'), ('u', 'of a group')]";
    assert!(found.as_ref().is_none_or(|found| found == expected), "{found:?}");
}

#[test]
fn types_that_json_lacks_are_said_and_the_same_dangling_attribute_once() {
    let folder = folder();
    let from = file(&folder.path().join("a.bp"), |writer| {
        writer.scalar("/", "x", Data::Int(&[1])).unwrap();
        writer.dataset_attribute("/x", "small", Data::Float(&[3.5])).unwrap();
        writer.dataset_attribute("/x", "double", Data::Double(&[3.5])).unwrap();
        for _ in 0..3 {
            writer.dataset_attribute("/no", "unit", Data::String("m")).unwrap();
        }
    });
    let dangling = loss(
        "dangling",
        "/no attribute unit",
        "there is no such variable; kept as no.unit of its group",
    );
    let what = "stored as a number of JSON, which has no types like its own";
    let typed = loss("changed", "/x attribute small", what);
    assert_eq!(losses(&from, "h5"), std::slice::from_ref(&dangling));
    assert_eq!(losses(&from, "zarr"), [dangling.clone(), typed.clone()]);
    assert_eq!(losses(&from, "npz"), [dangling, typed]);
}

#[test]
fn groups_that_hold_nothing_are_groups_or_are_said() {
    let folder = folder();
    let from = file(&folder.path().join("a.bp"), |writer| {
        writer.scalar("/", "x", Data::Int(&[1])).unwrap();
        writer.group("/", "empty").unwrap();
    });
    assert_eq!(losses(&from, "h5"), <[[String; 3]; 0]>::default());
    assert_eq!(losses(&from, "npz"), [loss("left-out", "/empty", "left out: an empty group")]);
    let found = python("h = h5py.File(f); print(sorted(h))", &from.with_extension("h5"));
    assert!(found.is_none_or(|found| found == "['empty', 'x']"));
}

#[test]
fn an_attribute_of_what_no_file_has_is_kept_when_files_are_joined() {
    let folder = folder();
    let one = file(&folder.path().join("1.bp"), |writer| {
        writer.scalar("/a", "x", Data::Int(&[1])).unwrap();
    });
    let other = file(&folder.path().join("2.bp"), |writer| {
        writer.dataset_attribute("/x", "u", Data::String("m")).unwrap();
        writer.dataset_attribute("/a/x", "w", Data::String("s")).unwrap();
    });
    let to = folder.path().join("both.h5");
    let (code, out, _) =
        run(kymo().args(["convert", "--join", "--json"]).args([&one, &other]).arg(&to));
    assert_eq!(code, Some(3));
    let report: Value = serde_json::from_str(&out).unwrap();
    let what = "there is no such variable; kept as x.u of its group";
    let expected = json!([{ "kind": "dangling", "path": "/x attribute u", "loss": what }]);
    assert_eq!(report["losses"], expected);
    let script = "h = h5py.File(f); print(dict(h.attrs), dict(h['a/x'].attrs))";
    assert!(python(script, &to).is_none_or(|found| found == "{'x.u': 'm'} {'w': 's'}"));
}

#[test]
fn text_is_text_in_xarray() {
    let folder = folder();
    let from = file(&folder.path().join("a.bp"), |writer| {
        writer.scalar("/", "name", Data::String("zwölf")).unwrap();
    });
    losses(&from, "nc");
    let found = python("print(xarray.open_dataset(f)['name'].values)", &from.with_extension("nc"));
    assert!(found.as_ref().is_none_or(|found| found == "zwölf"), "{found:?}");
}
