//! What commands say of databases, compared with figures that an independent reader took of them,
//! and of databases that are damaged.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests may fail loudly"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kymo_conformance::{shared, testdata};
use serde_json::Value;
use support::{folder, kymo, run};

/// Where the database of a file of figures is.
fn database_of(figures: &Path) -> PathBuf {
    let name = figures.file_name().unwrap().to_str().unwrap();
    let name = name.strip_suffix(".ref.json").unwrap();
    let root = figures.parent().unwrap().parent().unwrap();
    let made_here = name
        .split_once(".database")
        .map(|(program, rest)| root.join(program).join(format!("database{rest}")));
    let others = [root.join("pairs/dbase").join(name), root.join("databases").join(name)];
    made_here.into_iter().chain(others).find(|path| path.is_dir()).unwrap()
}

/// Each database with its figures.
fn each(body: impl Fn(&Path, &Value)) {
    for folder in ["hpctoolkit/golden", "hpctoolkit/made-here/golden"] {
        shared::each(folder, "json", |figures| {
            let expected: Value = serde_json::from_slice(&fs::read(figures).unwrap()).unwrap();
            body(&database_of(figures), &expected);
        });
    }
}

/// The objects that a command gives, one a line, and what it says beside them.
fn rows(args: &[&str], path: &Path) -> (Vec<Value>, String) {
    let (code, out, said) = run(kymo().args(args).arg(path));
    assert_eq!(code, Some(0), "{args:?} {} {said}", path.display());
    (out.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), said)
}

fn is_near(found: f64, expected: &Value) -> bool {
    let expected = expected.as_f64().unwrap();
    (found - expected).abs() <= expected.abs() * 1e-9
}

/// The sums of a key of rows, by another.
fn sums(rows: &[Value], name: &str, value: &str) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for row in rows {
        let name = row[name].as_str().unwrap().to_owned();
        *sums.entry(name).or_default() += row[value].as_f64().unwrap_or(0.0);
    }
    sums
}

/// Whether functions have what figures say.
fn compare(found: &BTreeMap<String, f64>, figures: &Value, what: &str) {
    for row in figures.as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        let found = found.get(name).copied().unwrap_or(0.0);
        assert!(is_near(found, &row["value"]), "{what} {name}: {found} and {}", row["value"]);
    }
}

#[test]
fn the_commands_give_the_figures_of_each_database() {
    each(|path, expected| {
        let lists = ["top10", "top20"].map(|name| expected[name].as_array());
        for top in lists.into_iter().flatten().flatten() {
            let total = &top["total_inclusive_over_entry_points"];
            if total.as_f64().is_none_or(|total| total == 0.0) {
                continue;
            }
            let metric = top["metric"].as_str().unwrap();
            let (found, said) = rows(&["top", "--json", "-n", "0", "-m", metric], path);
            assert_eq!(said, "", "{}", path.display());
            assert!(is_near(found[0]["total"].as_f64().unwrap(), total));
            let own = sums(&found, "function", "exclusive");
            compare(&own, &top["functions_by_exclusive"], "top");
            let all = sums(&found, "function", "inclusive");
            compare(&all, &top["functions_by_inclusive_no_recursion"], "top -i");
            let depth = ["--json", "-t", "0", "-d", "100000", "-m", metric];
            let tree = [&["tree", "--show", "functions"], &depth[..]].concat();
            let (found, _) = rows(&tree, path);
            compare(&sums(&found, "name", "exclusive"), &top["functions_by_exclusive"], "tree");
            let (found, _) = rows(&["callers", "--json", "-t", "0", "-d", "1", "-m", metric], path);
            compare(&sums(&found, "name", "exclusive"), &top["functions_by_exclusive"], "callers");
            let (found, _) = rows(&["threads", "--json", "-m", metric], path);
            let threads: f64 = found.iter().map(|row| row["value"].as_f64().unwrap()).sum();
            assert!(is_near(threads, total), "threads of {}", path.display());
            let (_, out, _) = run(kymo().args(["diff", "--by", "path"]).args([path, path]));
            assert_eq!(out, "");
        }
    });
}

#[test]
fn info_ls_and_check_give_the_counts_of_each_database() {
    each(|path, expected| {
        let (found, _) = rows(&["info", "--json"], path);
        let facts = found[0].to_string();
        for (fact, figure) in [
            ("functions", &expected["n_functions"]),
            ("modules", &expected["n_modules"]),
            ("source_files", &expected["n_files"]),
            ("profiles", &expected["profile_db"]["n_profiles"]),
            ("values", &expected["profile_db"]["n_values_total"]),
        ] {
            let said = format!("\"{fact}\":{figure}");
            assert!(facts.contains(&said), "{said} is not in {facts}");
        }
        let (code, listed, _) = run(kymo().arg("ls").arg(path));
        assert_eq!(code, Some(0));
        for metric in expected["metrics"].as_array().unwrap() {
            let name = metric["name"].as_str().unwrap();
            assert!(listed.lines().any(|line| line == name), "{name} is not in {listed}");
        }
        assert_eq!(run(kymo().arg("check").arg(path)).0, Some(0), "{}", path.display());
    });
}

/// A copy of the small database with some bytes of a file changed.
fn changed(to: &Path, file: &str, at: usize, bytes: &[u8]) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(testdata("hpcdb/tiny")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
    let mut whole = fs::read(to.join(file)).unwrap();
    whole[at..at + bytes.len()].copy_from_slice(bytes);
    fs::write(to.join(file), whole).unwrap();
}

/// The line has the number 0, which is idle in traces and the whole among values.
#[test]
fn no_context_is_shown_as_idle_or_has_the_values_of_the_whole() {
    let folder = folder();
    let path = folder.path().join("zero");
    changed(&path, "meta.db", 0x280, &[0]);
    let (code, out, said) = run(kymo().arg("top").arg("--by").arg("line").arg(&path));
    assert!(code == Some(3) && said.contains("0 stands for the whole"), "{out}{said}");
    let (code, out, said) = run(kymo().arg("trace").arg(&path));
    assert!(code == Some(3) && said.contains("0 stands for the whole"), "{out}{said}");
}

/// The function has the number 7, which has no values: then functions come to less than the entry
/// point, and that is said.
#[test]
fn functions_that_come_to_less_than_all_are_said() {
    let folder = folder();
    let path = folder.path().join("seven");
    changed(&path, "meta.db", 0x2B0, &[7]);
    let (code, out, said) = run(kymo().arg("top").arg(&path));
    assert_eq!(code, Some(3), "{out}{said}");
    let why = "what was called spent 0 itself, and all entry points together 5";
    assert!(said.contains(why), "{out}{said}");
}

#[test]
fn a_metric_that_only_one_of_two_has_is_no_failure_of_the_other() {
    let one = testdata("hpcdb/tiny");
    let other = testdata("hpcdb/matmul-omp");
    for (sides, which) in [([&one, &other], "first"), ([&other, &one], "second")] {
        let (code, out, said) = run(kymo().args(["diff", "-m", "time"]).args(sides));
        assert_eq!((code, said.as_str()), (Some(3), ""));
        assert_eq!(out, format!("time: only the {which} has this metric\n"));
    }
    let (code, _, said) = run(kymo().args(["diff", "-m", "nothing"]).args([&one, &other]));
    assert_eq!(code, Some(1));
    assert!(said.contains("there are CPUTIME (sec), time"), "{said}");
}

/// What a list for programs leaves out is said; that there is nothing more is not.
#[test]
fn rows_that_are_left_out_are_counted() {
    let path = testdata("hpcdb/matmul-omp");
    let (found, said) = rows(&["top", "--json", "--by", "line"], &path);
    let (all, _) = rows(&["top", "--json", "--by", "line", "-n", "0"], &path);
    assert_eq!((found.len(), all.len()), (20, 21));
    assert!(said.contains("1 row more (-n 0 gives all)"), "{said}");
    let (_, said) = rows(&["tree", "--json"], &path);
    assert!(said.contains("below the threshold, with all below them (-t 0 gives all)"), "{said}");
    let (_, said) = rows(&["tree", "--json", "-t", "0"], &path);
    assert_eq!(said, "");
}
