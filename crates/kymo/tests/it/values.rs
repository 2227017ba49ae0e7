//! Values that are rounded or not there, and names that mean nothing or too much.

use std::fs;

use crate::support::{data, folder, kymo, run, scalars};
use kymo_bp::{Data, Dimension, LongDouble, Options, Writer};

const TYPES: &str = "v1-2008-07-11/02_datasets_types_ranks.bp";
const TIMES: &str = "v1-2008-07-11/06_timesteps.bp";
const STRINGS: &str = "v1-2008-07-11/09_string_dataset_writer_bug.bp";

/// 0.1 as a long double has it, which no double does.
const TENTH: LongDouble =
    LongDouble([0xCD, 0xCC, 0xCC, 0xCC, 0xCC, 0xCC, 0xCC, 0xCC, 0xFB, 0x3F, 0, 0, 0, 0, 0, 0]);

#[test]
fn values_that_are_rounded_are_said_to_be() {
    let folder = folder();
    let file = folder.path().join("long.bp");
    let mut writer = Writer::new(Vec::new(), Options::default());
    let values = [TENTH, LongDouble::from_f64(0.5)];
    writer.dataset("/", "x", &[Dimension::local(2)], Data::LongDouble(&values)).unwrap();
    fs::write(&file, writer.finish().unwrap()).unwrap();
    let commands: [&[&str]; 7] = [
        &["dump"],
        &["dump", "--json"],
        &["dump", "-d", "x"],
        &["dump", "-d", "x", "--json"],
        &["ls", "-s"],
        &["ls", "-s", "--json"],
        &["convert", "--to", "csv", "--table", "x"],
    ];
    for command in commands {
        let output = if command.contains(&"convert") { &["-"][..] } else { &[] };
        let (code, out, said) = run(kymo().args(command).arg(&file).args(output));
        assert_eq!(code, Some(3), "{command:?}");
        assert!(said.contains("rounded") && said.lines().count() == 1, "{command:?}: {said}");
        assert!(out.contains("0.1"), "{command:?}: {out}");
        // Long doubles that a double holds are not rounded.
        if !command.contains(&"x") {
            let (code, _, said) = run(kymo().args(command).arg(data(TYPES)));
            assert_eq!((code, said.as_str()), (Some(0), ""), "{command:?}");
        }
    }
    // What shows no values rounds none.
    for command in [&["ls", "-l"][..], &["ls", "--json"]] {
        assert_eq!(run(kymo().args(command).arg(&file)).0, Some(0), "{command:?}");
    }
}

#[test]
fn values_that_are_not_there_are_counted() {
    let beyond = "malformed/m29_block_beyond_bounds.bp";
    for (file, name, count) in [(STRINGS, "strset", "3 of 3"), (beyond, "x", "3 of 4")] {
        let loss = format!("{count} values of /{name} are not in the file\n");
        let (code, out, said) = run(kymo().args(["dump", "-d", name]).arg(data(file)));
        assert_eq!(code, Some(3));
        assert!(said.contains(&loss), "{said}");
        assert!(out.contains("(0)  - - -"), "{out}");
        let (_, out, said) = run(kymo().args(["dump", "--json", "-d", name]).arg(data(file)));
        assert!(said.contains(&loss), "{said}");
        assert!(out.contains("\"values\":[null,null,null"), "{out}");
        let mut convert = kymo();
        convert.args(["convert", "--to", "csv", "--table", name]).arg(data(file)).arg("-");
        let (code, _, said) = run(&mut convert);
        assert_eq!(code, Some(3));
        assert!(said.contains(&loss), "{said}");
        // What is not asked for is not missing.
        let (_, _, said) = run(convert.args(["--columns", "i0"]));
        assert!(!said.contains("not in the file"), "{said}");
    }
}

#[test]
fn an_array_that_is_nearly_nowhere_prints_nothing() {
    let folder = folder();
    let file = folder.path().join("huge.bp");
    let shape = [Dimension::global(1, i32::MAX, 0)];
    let mut writer = Writer::new(Vec::new(), Options::default());
    writer.dataset("/", "huge", &shape, Data::Int(&[7])).unwrap();
    fs::write(&file, writer.finish().unwrap()).unwrap();
    for json in [&[][..], &["--json"]] {
        let (code, out, said) = run(kymo().args(["dump", "-d", "huge"]).args(json).arg(&file));
        assert_eq!((code, out.as_str()), (Some(1), ""), "{said}");
        assert!(said.contains("/huge: only 1 of 2147483647 values"), "{said}");
        assert!(said.contains("hint: --start and --count select a part"), "{said}");
    }
    let (code, out, _) = run(kymo().args(["dump", "-d", "huge", "--count", "1"]).arg(&file));
    assert_eq!(code, Some(0));
    assert!(out.contains("(0)  7"), "{out}");
}

#[test]
fn a_name_of_several_variables_is_told_from_one_of_none() {
    let folder = folder();
    let file = folder.path().join("many.bp");
    let groups: Vec<_> = (0..7).map(|i| format!("/group{i}")).collect();
    let variables: Vec<_> = groups.iter().map(|group| (group.as_str(), "mtheta", 1)).collect();
    scalars(&file, &variables);
    let several = "mtheta names 7 variables: /group0/mtheta, /group1/mtheta, /group2/mtheta, \
                /group3/mtheta, /group4/mtheta, … (5 shown); give a path";
    let (code, out, said) = run(kymo().args(["dump", "-d", "mtheta"]).arg(&file));
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(said.contains(&format!("{several} or a glob\n")), "{said}");
    let mut convert = kymo();
    let (code, out, said) =
        run(convert.args(["convert", "--to", "csv", "--table", "mtheta"]).arg(&file).arg("-"));
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(said.contains(&format!("{several}\n")), "{said}");
    // One that is spelt wrong.
    let near = "/group0/mtheta, /group1/mtheta, /group2/mtheta, /group3/mtheta, /group4/mtheta \
                and 2 more\n";
    let (code, _, said) = run(kymo().args(["dump", "-d", "mteta"]).arg(&file));
    assert_eq!(code, Some(1));
    assert!(said.contains("there is no variable mteta\nhint: there is /group0"), "{said}");
    assert!(said.ends_with(near), "{said}");
    let mut convert = kymo();
    let (code, _, said) =
        run(convert.args(["convert", "--to", "csv", "--table", "mteta"]).arg(&file).arg("-"));
    assert_eq!(code, Some(1));
    assert!(said.ends_with(near), "{said}");
}

#[test]
fn a_glob_passes_over_variables_without_the_step() {
    let folder = folder();
    let file = folder.path().join("steps.bp");
    scalars(&file, &[("/", "a1", 1), ("/", "a2", 3), ("/", "a3", 2)]);
    let dump = |step: &str| run(kymo().args(["dump", "-d", "a*", "--step", step]).arg(&file));
    let (code, out, said) = dump("2");
    assert_eq!((code, out.as_str()), (Some(3), "int  /a2  3*scalar\n  (2)  2\n"));
    assert!(said.contains("/a1: it has one step, 0; passed over\n"), "{said}");
    assert!(said.contains("/a3: it has 2 steps, 0 to 1; passed over\n"), "{said}");
    let (code, out, said) = dump("3");
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(said.contains("none of the 3 variables that a* means has the step"), "{said}");
    assert_eq!(dump("-1").0, Some(0));
    let (code, _, said) = dump("3..1");
    assert_eq!(code, Some(2));
    assert!(said.contains("it ends before it begins"), "{said}");
}

#[test]
fn a_mask_that_matches_nothing_is_a_failure_and_attributes_count() {
    let (code, out, said) = run(kymo().args(["ls", "-m", "nosuch"]).arg(data(TIMES)));
    let expected = "kymo: --match: nothing matches nosuch\n";
    assert_eq!((code, out.as_str(), said.as_str()), (Some(1), "", expected));
    assert_eq!(run(kymo().args(["ls", "-l", "-m", "units"]).arg(data(TIMES))).0, Some(1));
    let (code, out, _) = run(kymo().args(["ls", "-la", "-m", "units"]).arg(data(TIMES)));
    assert_eq!((code, out.as_str()), (Some(0), "string  /field/units  attr = \"K\" ×5\n"));
    // It is enough that one file has it.
    let both = [data(TIMES), data(TYPES)];
    assert_eq!(run(kymo().args(["ls", "-m", "istep"]).args(both)).0, Some(0));
}

#[test]
fn quotes_within_quotes_are_escaped() {
    let folder = folder();
    let file = folder.path().join("quotes.bp");
    let mut writer = Writer::new(Vec::new(), Options::default());
    writer.scalar("/", "said", Data::String("a \"b\" \\c")).unwrap();
    fs::write(&file, writer.finish().unwrap()).unwrap();
    for command in [&["ls", "-l"][..], &["dump", "-d", "said"]] {
        let (code, out, _) = run(kymo().args(command).arg(&file));
        assert_eq!(code, Some(0));
        assert!(out.contains(r#""a \"b\" \\c""#), "{out}");
    }
}

#[test]
fn a_part_of_a_variable_is_converted_as_it_is_dumped() {
    let convert = |arguments: &[&str]| {
        let mut command = kymo();
        command.args(["convert", "--to", "csv"]).args(arguments).arg(data(TIMES)).arg("-");
        run(&mut command)
    };
    let rows = |arguments: &[&str]| {
        let (code, out, said) = convert(arguments);
        assert_eq!((code, said.as_str()), (Some(0), ""), "{arguments:?}");
        let rows: Vec<_> = out.lines().skip(1).map(str::to_owned).collect();
        rows
    };
    let all = rows(&["--table", "field"]);
    let item = |step: &str| {
        let all = all.iter().filter(|row| row.starts_with(&format!("{step},")));
        all.cloned().collect::<Vec<_>>()
    };
    assert_eq!(rows(&["--table", "field", "--step", "-1"]), item("4"));
    assert_eq!(rows(&["--table", "field", "--step", "1..3"]), [item("1"), item("2")].concat());
    let corner = ["--table", "field", "--step", "2", "--start", "0,1", "--count", "-1,2"];
    assert_eq!(rows(&corner), ["2,0,1,201", "2,0,2,202", "2,1,1,204", "2,1,2,205"]);
    let fortran = [&corner[..], &["--order", "fortran"]].concat();
    assert_eq!(rows(&fortran), ["2,0,1,202", "2,1,1,203", "2,0,2,204", "2,1,2,205"]);
    let (code, out, said) = convert(&["--table", "field", "--start", "0,9"]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(said.contains("/field: start 9 does not fit dimension 1, which has 3"), "{said}");
    let (code, out, said) = convert(&["--table", "field", "--step", "7"]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(said.contains("/field: it has 5 steps, 0 to 4"), "{said}");
    for arguments in [&["--table", "elements", "--step", "1"][..], &["--step", "1"]] {
        assert_eq!(convert(arguments).0, Some(2), "{arguments:?}");
    }
}
