//! Numbers of a field in formats that ask for one kind of them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{folder, kymo, run};
use serde_json::Value;

const GRAMMAR: &str = r"# kymo log
# [[line]]
# match = '^(?<time>\d+) (?<task>\w+): speed=(?<speed>\S+)'
";

fn log(folder: &Path, values: &[&str]) -> PathBuf {
    let lines = values.iter().enumerate();
    let lines = lines.map(|(second, value)| format!("{second} m: speed={value}\n"));
    let path = folder.join("run.log");
    fs::write(&path, GRAMMAR.to_owned() + &lines.collect::<String>()).unwrap();
    path
}

/// Converts a log, by way of some formats. Tells the exit code of the last way, what was said, and the
/// values that are there then.
fn converted(log: &Path, ways: &[&str]) -> (Option<i32>, String, Vec<Value>) {
    let (mut from, mut last) = (log.to_owned(), (None, String::new()));
    for way in ways {
        let to = log.with_extension(way);
        let (code, _, said) = run(kymo().args(["convert", "--force"]).arg(&from).arg(&to));
        (from, last) = (to, (code, said));
    }
    let (_, out, _) = run(kymo().args(["dump", "--json", "--stream", "*speed"]).arg(&from));
    let row = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let values = out.lines().map(|line| row(line)["value"].clone()).collect();
    (last.0, last.1, values)
}

const WAYS: [&[&str]; 3] = [&["bbbin"], &["rtc"], &["mcap", "bbbin"]];

/// A number by itself, or the one of a record that has nothing else.
fn number(value: &Value) -> f64 {
    let within = |record: &str| serde_json::from_str::<Value>(record).unwrap()["value"].as_f64();
    value.as_f64().or_else(|| within(value.as_str()?)).unwrap()
}

#[test]
fn numbers_with_and_without_a_point_are_one_kind() {
    let folder = folder();
    for (values, expected) in [
        (&["1", "2.5", "1e3", "7"][..], &[1.0, 2.5, 1000.0, 7.0][..]),
        (&["1.5", "2", "-7", "3.25"], &[1.5, 2.0, -7.0, 3.25]),
        (&["1", "2", "-3"], &[1.0, 2.0, -3.0]),
    ] {
        let log = log(folder.path(), values);
        for ways in WAYS {
            let (code, said, found) = converted(&log, ways);
            assert!(!said.contains("kind"), "{ways:?}: {said}");
            let found: Vec<_> = found.iter().map(number).collect();
            assert_eq!(found, expected, "{code:?} {ways:?}");
        }
    }
}

#[test]
fn whole_numbers_of_64_bits_are_kept_unless_others_have_a_point() {
    let folder = folder();
    let log_of = |values: &[&str]| log(folder.path(), values);
    let whole = log_of(&["1", "18446744073709551615"]);
    for way in [&["bbbin"][..], &["rtc"]] {
        let (_, _, found) = converted(&whole, way);
        assert_eq!(found.last().unwrap().as_u64(), Some(u64::MAX), "{way:?}");
    }
    let mixed = log_of(&["0.5", "9007199254740993"]);
    for way in [&["bbbin"][..], &["rtc"]] {
        let (code, said, found) = converted(&mixed, way);
        assert_eq!(code, Some(3), "{way:?}");
        assert!(said.contains("beyond 2^53") && said.contains("rounded"), "{way:?}: {said}");
        assert_eq!(found.last().unwrap().as_f64(), Some(9_007_199_254_740_992.0));
    }
}
