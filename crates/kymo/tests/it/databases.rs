//! What commands say of databases, compared with figures that an independent reader took of them,
//! and of databases that are damaged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{folder, kymo, run};
use kymo_conformance::{python, shared, testdata};
use kymo_core::Destination;
use kymo_model::profile::{
    Column, ContextNumber, Function, Metric, MetricScope, Node, ProfileSink, Relation, Scope,
    SinkValue, Thread, ThreadId,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

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

/// Returns true if functions have what figures say.
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
            for (name, inclusive) in sums(&found, "name", "inclusive") {
                assert!(is_same(inclusive, all[&name]), "callers of {}: {name}", path.display());
            }
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
        let facts = &found[0]["facts"];
        let (profiles, traces) = (&expected["profile_db"], &expected["trace_db"]);
        for (fact, figure) in [
            ("title", &expected["title"]),
            ("contexts", &expected["contexts"]["total"]),
            ("functions", &expected["n_functions"]),
            ("modules", &expected["n_modules"]),
            ("source_files", &expected["n_files"]),
            ("profiles", &profiles["n_profiles"]),
            ("values", &profiles["n_values_total"]),
            ("samples", &traces["n_events"]),
        ] {
            assert!(figure.is_null() || facts[fact] == *figure, "{fact} of {}", path.display());
        }
        // Threads that are listed without samples were not traced.
        let listed = traces["traces"].as_array().into_iter().flatten();
        let sampled = listed.filter(|trace| trace["n"] != 0).count();
        assert!(traces.is_null() || facts["traces"] == sampled, "traces of {}", path.display());
        let totals = &found[0]["sections"]["metrics,_over_all_threads"];
        for top in expected["top10"].as_array().into_iter().flatten() {
            let is_it = |row: &&Value| row["name"] == top["metric"];
            // Metrics that nothing was measured of are left out.
            if let Some(row) = totals.as_array().unwrap().iter().find(is_it) {
                let total = &top["total_inclusive_over_entry_points"];
                assert!(is_near(row["total"].as_f64().unwrap(), total), "{}", path.display());
            }
        }
        let (code, listed, _) = run(kymo().arg("ls").arg(path));
        assert_eq!(code, Some(0));
        for metric in expected["metrics"].as_array().unwrap() {
            let name = metric["name"].as_str().unwrap();
            assert!(listed.lines().any(|line| line == name), "{name} is not in {listed}");
        }
        for trace in traces["traces"].as_array().into_iter().flatten() {
            let index = usize::try_from(trace["prof_index"].as_u64().unwrap()).unwrap();
            let thread = profiles["profiles"][index]["id_tuple"].as_str().unwrap();
            assert!(listed.contains(thread), "{thread} is not in {listed}");
        }
        assert_eq!(run(kymo().arg("check").arg(path)).0, Some(0), "{}", path.display());
    });
}

/// A record of a dump, with the very digits of its value, which comes last.
fn record(line: &str) -> Value {
    let mut record: Value = serde_json::from_str(line).unwrap();
    if let Some((_, value)) = line.rsplit_once("\"value\":") {
        record["exact"] = value.trim_end_matches('}').into();
    }
    record
}

/// The records of a kind in a dump.
fn records<'a>(dump: &'a [Value], kind: &str) -> Vec<&'a Value> {
    dump.iter().filter(|record| record["record"] == kind).collect()
}

/// The hash over lines of records.
fn hash(records: &[&Value], line: impl Fn(&Value) -> String) -> String {
    let mut hasher = Sha256::new();
    for record in records {
        hasher.update(line(record));
    }
    let bytes = hasher.finalize();
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// How many records have each text under a key.
fn counts(records: &[&Value], key: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for record in records {
        *counts.entry(record[key].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

#[test]
fn dump_has_every_record_of_each_database() {
    each(|path, expected| {
        let (_, out, _) = run(kymo().args(["dump", "--json"]).arg(path));
        let dump: Vec<_> = out.lines().map(record).collect();
        let line = |record: &Value, keys: [&str; 3]| {
            let [a, b, c] = keys.map(|key| &record[key]);
            let value: f64 = record["exact"].as_str().unwrap().parse().unwrap();
            format!("{a},{b},{c},{}\n", python::repr(value))
        };
        let (values, by_context) = (records(&dump, "value"), records(&dump, "context_value"));
        let found = hash(&values, |this_value| line(this_value, ["profile", "context", "metric"]));
        assert_eq!(expected["profile_db"]["sha256_canonical_values"], found);
        if !expected["cct_db"].is_null() {
            let found =
                hash(&by_context, |this_value| line(this_value, ["context", "metric", "profile"]));
            assert_eq!(expected["cct_db"]["sha256_canonical_values"], found);
        }
        if !expected["trace_db"].is_null() {
            let found = hash(&records(&dump, "sample"), |this_value| {
                format!(
                    "{},{},{}\n",
                    this_value["profile"], this_value["time"], this_value["context"]
                )
            });
            assert_eq!(expected["trace_db"]["sha256_canonical"], found);
        }
        let profiles = expected["profile_db"]["profiles"].as_array().unwrap();
        for (found, expected) in records(&dump, "profile").into_iter().zip(profiles) {
            for (key, figure) in
                [("ids", "id_tuple"), ("summary", "is_summary"), ("values", "n_values")]
            {
                assert_eq!(found[key], expected[figure], "{key} of {}", path.display());
            }
        }
        let metrics: Vec<_> = records(&dump, "metric");
        for metric in expected["metrics"].as_array().unwrap() {
            for instance in metric["scope_insts"].as_array().unwrap() {
                let is_it = |found: &&&Value| {
                    found["metric"] == metric["name"] && found["id"] == instance["id"]
                };
                let scope = metrics.iter().find(is_it).map(|found| &found["scope"]);
                assert_eq!(scope, Some(&instance["scope"]), "{}", path.display());
            }
        }
        let (entries, contexts): (Vec<_>, Vec<_>) =
            records(&dump, "context").into_iter().partition(|item| item["scope"] == "entry");
        let figures = &expected["contexts"];
        assert_eq!(entries.len(), figures["entry_points"].as_array().unwrap().len());
        for (key, figure) in [("scope", "by_lexical_type"), ("relation", "by_relation")] {
            for (name, count) in counts(&contexts, key) {
                let name = if name == "inlined" { "inlined_call" } else { name.as_str() };
                assert_eq!(figures[figure][name], count, "{name} of {}", path.display());
            }
        }
    });
}

/// Where each context is: its function, or that of the nearest above that has one.
fn functions(dump: &[Value]) -> BTreeMap<u64, Option<String>> {
    let mut functions: BTreeMap<u64, Option<String>> = BTreeMap::new();
    for context in records(dump, "context") {
        let is_frame = context["relation"] != "lexical" || context["scope"] == "entry";
        let name = context["function"].as_str();
        let above = context["parent"].as_u64().and_then(|parent| functions.get(&parent)?.clone());
        let name = match (name, is_frame) {
            (Some(name), true) if context["scope"] == "entry" => Some(format!("<{name}>")),
            (name, true) => name.map(str::to_owned),
            (_, false) => above,
        };
        functions.insert(context["context"].as_u64().unwrap(), name);
    }
    functions
}

/// How long the samples of each function lasted, but for those of what has no name: each lasts
/// until the next of its thread.
fn lasted(dump: &[Value]) -> BTreeMap<String, u64> {
    let (functions, mut lasted) = (functions(dump), BTreeMap::new());
    let samples = records(dump, "sample");
    for pair in samples.windows(2).filter(|pair| pair[0]["profile"] == pair[1]["profile"]) {
        let [from, until] = [pair[0], pair[1]].map(|sample| sample["time"].as_u64().unwrap());
        let function = match pair[0]["context"].as_u64().unwrap() {
            0 => Some("<no activity>".to_owned()),
            context => functions.get(&context).cloned().flatten(),
        };
        if let Some(function) = function {
            *lasted.entry(function).or_default() += until - from;
        }
    }
    lasted
}

/// The samples that are worked with are those of the figures, as the hash over them tells above.
#[test]
fn trace_shows_how_long_each_function_of_each_database_took() {
    each(|path, expected| {
        let traces = expected["trace_db"]["traces"].as_array();
        let Some(traces) = traces.filter(|traces| traces.iter().any(|value| value["n"] != 0))
        else {
            return;
        };
        let (found, _) = rows(&["trace", "--json"], path);
        for (track, trace) in traces.iter().enumerate() {
            let span = trace["last"].as_u64().unwrap_or(0) - trace["first"].as_u64().unwrap_or(0);
            let rows = found.iter().filter(|row| row["track"] == track);
            let (mut sum, mut told) = (0, None);
            for row in rows {
                sum += row["time_ns"].as_u64().unwrap();
                told = row["total_ns"].as_u64();
            }
            assert_eq!(sum, span, "trace {track} of {}", path.display());
            assert!(told.is_none_or(|told| told == span));
        }
        let (dump, _) = rows(&["dump", "--json"], path);
        let mut times: BTreeMap<String, u64> = BTreeMap::new();
        for row in &found {
            let name = row["function"].as_str().unwrap().to_owned();
            *times.entry(name).or_default() += row["time_ns"].as_u64().unwrap();
        }
        for (function, time) in lasted(&dump).into_iter().filter(|(_, time)| *time > 0) {
            assert_eq!(times.get(&function), Some(&time), "{function} of {}", path.display());
        }
    });
}

/// What each function spent itself, where the figures have all of them.
fn exclusive(figures: &Value) -> Option<(String, BTreeMap<String, f64>)> {
    let top = figures["top20"].as_array()?.first()?;
    let rows = top["functions_by_exclusive"].as_array()?;
    let own = rows
        .iter()
        .map(|row| (row["name"].as_str().unwrap().to_owned(), row["value"].as_f64().unwrap()));
    let own: BTreeMap<_, _> = own.collect();
    let is_all = is_near(own.values().sum(), &top["total_inclusive_over_entry_points"]);
    is_all.then(|| (top["metric"].as_str().unwrap().to_owned(), own))
}

/// Returns true if two values are the same but for rounding.
fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= a.abs().max(b.abs()) * 1e-9
}

/// The same program with and without the structure of its code, and two runs of one program.
#[test]
fn diff_has_what_functions_of_two_databases_spent() {
    let Some(root) = shared::file("hpctoolkit/made-here") else { return };
    let golden = |name: &str| -> Value {
        let path = root.join(format!("golden/{name}.ref.json"));
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    };
    let mut compared = 0;
    let names = shared::file("hpctoolkit/made-here/golden").map(fs::read_dir).unwrap().unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let programs: Vec<_> = names
        .filter_map(|name| Some(name.strip_suffix(".database.ref.json")?.to_owned()))
        .filter(|name| root.join(format!("golden/{name}.database.struct.ref.json")).is_file())
        .collect();
    let pairs =
        programs.iter().map(|name| [name.clone() + ".database", name.clone() + ".database.struct"]);
    let runs = ["matmul-omp.database.struct", "matmul-omp-64.database.struct"].map(str::to_owned);
    for [one, other] in pairs.chain([runs]) {
        let (figures, paths) = ([golden(&one), golden(&other)], [&one, &other]);
        let paths = paths.map(|name| database_of(&root.join(format!("golden/{name}.ref.json"))));
        let [Some((metric, first)), Some((same, second))] = figures.each_ref().map(exclusive)
        else {
            continue;
        };
        assert_eq!(metric, same);
        let args = ["diff", "--json", "-n", "0", "-m", &metric];
        let (_, out, said) = run(kymo().args(args).args(&paths));
        assert_eq!(said, "");
        let found = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let found: BTreeMap<_, _> =
            found.map(|row| (row["path"].as_str().unwrap().to_owned(), row)).collect();
        for name in first.keys().chain(second.keys()) {
            let [a, b] = [&first, &second].map(|side| side.get(name).copied().unwrap_or(0.0));
            match found.get(name) {
                Some(row) => {
                    let value = |key: &str| row[key].as_f64().unwrap();
                    assert!(is_same(value("one"), a) && is_same(value("other"), b), "{row}");
                    assert!(is_same(value("change"), b - a), "{row}");
                }
                None => assert!(is_same(a, b), "{name} of {one} and {other}: {a} and {b}"),
            }
        }
        compared += 1;
    }
    assert!(compared >= 3, "{compared} pairs");
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
    change(to, file, at, bytes);
}

/// Changes bytes of a file of a copy.
fn change(folder: &Path, file: &str, at: usize, bytes: &[u8]) {
    let mut whole = fs::read(folder.join(file)).unwrap();
    whole[at..at + bytes.len()].copy_from_slice(bytes);
    fs::write(folder.join(file), whole).unwrap();
}

/// Where the summary of the small database has what the entry point spent, `main` itself, `main` with
/// all that it called, and its line.
const SPENT: [usize; 5] = [0x102, 0x10C, 0x116, 0x120, 0x12A];

/// The metric of the small database in its first scope, which is exclusive of calls, and in its
/// second, which is inclusive: where both lists begin, and how many of each there are.
const SCOPES: [(&str, &[u8]); 2] = [
    ("exclusive", &[0x38, 1, 0, 0, 0, 0, 0, 0, 0x58, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0]),
    ("inclusive", &[0x48, 1, 0, 0, 0, 0, 0, 0, 0x70, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0]),
];

/// Everything took 5 in the one and 8 in the other.
#[test]
fn what_is_measured_is_compared_whatever_is_asked_for() {
    for (how, scope) in SCOPES {
        let folder = folder();
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        for path in [&one, &other] {
            changed(path, "meta.db", 0x120, scope);
        }
        for at in SPENT {
            change(&other, "profile.db", at, &8.0_f64.to_le_bytes());
        }
        for (options, asked) in [(&[][..], "exclusive"), (&["-i"], "inclusive")] {
            for by in ["function", "path"] {
                let diff = |other: &Path| {
                    run(kymo()
                        .args(["diff", "--json", "--by", by])
                        .args(options)
                        .args([&one, other]))
                };
                let (code, out, said) = diff(&other);
                assert_eq!(code, Some(3), "{how} {asked} {by} {out}{said}");
                let rows = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
                let changes: Vec<_> = rows.map(|row| row["change"].as_f64().unwrap()).collect();
                // Of the entry point there is nothing that is exclusive of calls.
                let count = if how == "inclusive" { 2 } else { 1 };
                assert_eq!(changes, vec![3.0; count], "{how} {asked} {by}");
                let remark =
                    format!("time is not measured {asked} of calls: what is {how} of them");
                assert_eq!(said.contains(&remark), how != asked, "{said}");
                assert_eq!(diff(&one).0, Some(0));
            }
        }
    }
    let folder = folder();
    let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
    for (path, (_, scope)) in [&one, &other].into_iter().zip(SCOPES) {
        changed(path, "meta.db", 0x120, scope);
    }
    let (code, out, _) = run(kymo().arg("diff").args([&one, &other]));
    assert!(
        code == Some(3) && out.contains("time: ") && out.contains("cannot be compared"),
        "{out}"
    );
}

#[test]
fn a_value_that_is_infinite_or_no_number_is_said_and_is_a_change() {
    for odd in [f64::NAN, f64::INFINITY] {
        let folder = folder();
        let path = folder.path().join("odd");
        changed(&path, "profile.db", SPENT[1], &odd.to_le_bytes());
        for command in ["top", "tree", "callers", "flame"] {
            let (code, _, said) = run(kymo().arg(command).arg(&path));
            assert_eq!(code, Some(3), "{command} {said}");
            let why = "main has a value that is infinite, or no number";
            assert!(said.contains(why), "{command} {said}");
        }
        let sound = testdata("hpcdb/tiny");
        for options in [&["diff"][..], &["diff", "--by", "path"], &["diff", "--exact"]] {
            let diff = |one: &Path| run(kymo().args(options).args([one, &path]));
            assert_eq!(diff(&sound).0, Some(3), "{options:?}");
            // A database that is not sound is no proof of anything.
            let same = if options.contains(&"--exact") { 3 } else { 0 };
            assert_eq!(diff(&path).0, Some(same), "{options:?}");
        }
        // What all entry points spent, and what a thread did.
        changed(&folder.path().join("all"), "profile.db", SPENT[0], &odd.to_le_bytes());
        let (code, out, _) = run(kymo().arg("info").arg(folder.path().join("all")));
        assert!(code == Some(3) && out.contains("infinite, or no number"), "{out}");
        let thread = folder.path().join("thread");
        changed(&thread, "profile.db", 0x15A, &odd.to_le_bytes());
        fs::remove_file(thread.join("cct.db")).unwrap();
        let (code, _, said) = run(kymo().arg("threads").arg(&thread));
        assert!(code == Some(3) && said.contains("a thread has a value"), "{said}");
    }
}

#[test]
fn that_traces_have_no_samples_is_no_failure() {
    let folder = folder();
    let path = folder.path().join("empty");
    // Both traces end where they begin.
    changed(&path, "trace.db", 0x50, &[0x70]);
    let (code, out, said) = run(kymo().arg("trace").arg(&path));
    assert_eq!((code, out), (Some(0), format!("{}: no samples\n", path.display())), "{said}");
    assert!(said.contains("`kymo top` shows what its profile has"), "{said}");
    let (code, out, _) = run(kymo().args(["trace", "--json"]).arg(&path));
    assert_eq!((code, out.as_str()), (Some(0), ""));
}

/// Whatever is asked for, a `cct.db` of another database is said: some threads may be asked for next.
#[test]
fn values_by_context_of_another_database_are_said_whatever_is_asked_for() {
    let folder = folder();
    let path = folder.path().join("other");
    // The first thread spent 4 instead of 2 in the entry point, by `cct.db` alone.
    changed(&path, "cct.db", 0xC4, &4.0_f64.to_le_bytes());
    for options in [&["top"][..], &["tree"], &["info"], &["threads"], &["top", "--thread", "0"]] {
        let (code, out, said) = run(kymo().args(options).arg(&path));
        let said = format!("{out}{said}");
        assert!(code == Some(3) && said.contains("do the files belong together?"), "{said}");
    }
}

/// Of the second thread `profile.db` has no values.
#[test]
fn threads_that_spent_nothing_are_no_failure() {
    let folder = folder();
    let path = folder.path().join("idle");
    changed(&path, "profile.db", 0xA0, &[0]);
    change(&path, "profile.db", 0xB0, &[0]);
    fs::remove_file(path.join("cct.db")).unwrap();
    let (code, out, said) = run(kymo().args(["top", "--thread", "1"]).arg(&path));
    assert!(code == Some(0) && out.contains("time, 0 in all, 1 thread"), "{out}{said}");
    assert!(said.contains("nothing has a value of time"), "{said}");
}

/// Functions of long names that call each other, so many of them that no path to the last can be told.
fn chain(to: &Path, spent: f64) {
    let mut writer = kymo_hpcdb::Writer::new(&Destination::new(to, false), "chain").unwrap();
    let metric = writer.metric(&Metric::named("time")).unwrap();
    writer.context(None, ContextNumber(1), &Node::new(Scope::Entry, Relation::Call)).unwrap();
    for number in 2..4_000 {
        let name = format!("{number}{}", "x".repeat(30));
        let function = writer.function(&Function { name, ..Function::default() }).unwrap();
        let node = Node::new(Scope::Function, Relation::Call);
        let node = Node { function: Some(function), ..node };
        writer.context(Some(ContextNumber(number - 1)), ContextNumber(number), &node).unwrap();
    }
    writer.threads(&[Thread::default()]).unwrap();
    let value = |number: u64| {
        let value = |reach, value| SinkValue {
            context: ContextNumber(number),
            column: Column { metric, reach },
            value,
        };
        let below = f64::from(u32::try_from(4_000 - number.max(2)).unwrap());
        let own = (number > 1).then(|| value(MetricScope::Function, spent));
        own.into_iter().chain([value(MetricScope::Execution, below * spent)]).map(Ok)
    };
    writer.values(ThreadId(0), &mut (1..4_000).flat_map(value)).unwrap();
    writer.finish().unwrap();
}

#[test]
fn very_long_paths_are_cut_or_not_drawn() {
    let folder = folder();
    let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
    chain(&one, 1.0);
    chain(&other, 2.0);
    let diff = ["diff", "--json", "-n", "3", "--by", "path"];
    let (code, out, said) = run(kymo().args(diff).args([&one, &other]));
    assert_eq!((code, said.as_str()), (Some(3), ""));
    let lengths = out.lines().map(|line| {
        let row: Value = serde_json::from_str(line).unwrap();
        row["path"].as_str().unwrap().len()
    });
    let lengths: Vec<_> = lengths.collect();
    assert!(lengths.len() == 3 && lengths.iter().all(|length| *length <= 1 << 14), "{lengths:?}");
    let (code, _, said) = run(kymo().args(["flame", "--depth", "4000"]).arg(&one));
    assert!(code == Some(1) && said.contains("--depth with fewer levels draws less"), "{said}");
    assert_eq!(run(kymo().arg("flame").arg(&one)).0, Some(0));
    // What is written has no description, and no row for one.
    let (_, out, _) = run(kymo().arg("info").arg(&one));
    assert!(out.contains("  title ") && !out.contains("description"), "{out}");
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

/// How many fields a line of CSV has.
fn fields(line: &str) -> usize {
    let mut is_quoted = false;
    let commas = line.chars().filter(|letter| {
        is_quoted ^= *letter == '"';
        *letter == ',' && !is_quoted
    });
    commas.count() + 1
}

/// A metric that only one of them has is a row as any other.
#[test]
fn rows_of_a_comparison_have_the_same_columns() {
    let sides = [testdata("hpcdb/tiny"), testdata("hpcdb/matmul-omp")];
    let (code, out, _) = run(kymo().args(["diff", "--csv"]).args(&sides));
    assert_eq!(code, Some(3));
    let counts: Vec<_> = out.lines().map(fields).collect();
    assert!(counts.len() == 3 && counts.iter().all(|count| *count == counts[0]), "{out}");
}

/// Shares of what is computed are shown where the recording asks for them, and not where it does not.
#[test]
fn computed_metrics_have_the_shares_that_are_asked_for() {
    let Some(root) = shared::file("hpctoolkit/databases") else { return };
    for (database, metric, is_asked_for) in
        [("lmp-openmp", "CPU", true), ("derived-metrics.db", "GKER:BLKS", false)]
    {
        let (code, out, said) = run(kymo().args(["top", "-m", metric]).arg(root.join(database)));
        assert_eq!((code, said.as_str()), (Some(0), ""));
        assert_eq!(out.contains('%'), is_asked_for, "{out}");
    }
}

/// A name that is not there: similar ones are named, those with values first.
#[test]
fn metrics_that_may_be_meant_are_named() {
    let path = testdata("hpcdb/matmul-omp");
    let (code, _, said) = run(kymo().args(["top", "-m", "cpu-time"]).arg(&path));
    assert_eq!(code, Some(1));
    assert!(said.contains("there is no metric cpu-time"), "{said}");
    assert!(said.contains("hint: did you mean CPUTIME (sec)"), "{said}");
    let (_, _, said) = run(kymo().args(["top", "-m", "xyz"]).arg(&path));
    assert!(said.contains("hint: there are CPUTIME (sec)"), "{said}");
}

/// What is found decides on the exit status, however little of it is read.
#[test]
#[cfg(unix)]
fn a_reader_that_goes_away_does_not_make_a_file_sound() {
    let folder = folder();
    let path = folder.path().join("zero");
    changed(&path, "meta.db", 0x280, &[0]);
    let mut check = kymo();
    let mut check = check.arg("check").arg(&path).stdout(std::process::Stdio::piped());
    check = check.stderr(std::process::Stdio::null());
    let mut child = check.spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

/// Findings that differ only in where they are are one line, unless all are asked for.
#[test]
fn findings_that_are_alike_are_counted() {
    let folder = folder();
    let path = folder.path().join("round");
    fs::create_dir(&path).unwrap();
    for entry in fs::read_dir(testdata("hpcdb/matmul-omp")).unwrap() {
        let entry = entry.unwrap().path();
        if entry.is_file() {
            fs::copy(&entry, path.join(entry.file_name().unwrap())).unwrap();
        }
    }
    // All samples of the first thread are of a context that is not there.
    let mut bytes = fs::read(path.join("trace.db")).unwrap();
    let at = |bytes: &[u8], at: usize| {
        usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap()
    };
    let first = at(&bytes, at(&bytes, 0x18));
    let (start, end) = (at(&bytes, first + 8), at(&bytes, first + 16));
    for sample in (start..end).step_by(12) {
        bytes[sample + 8..sample + 12].copy_from_slice(&99_999_u32.to_le_bytes());
    }
    fs::write(path.join("trace.db"), bytes).unwrap();
    let samples = (end - start) / 12;
    let (code, out, _) = run(kymo().arg("check").arg(&path));
    assert!(code == Some(3) && out.lines().count() < 5, "{out}");
    assert!(out.contains(&format!(", and {} like it", samples - 1)), "{out}");
    let (_, out, _) = run(kymo().args(["check", "--all"]).arg(&path));
    assert!(out.lines().count() >= samples, "{}", out.lines().count());
}

/// Lists for programs have all rows; what they leave out is said, and that there is nothing more is
/// not.
#[test]
fn rows_that_are_left_out_are_counted() {
    let path = testdata("hpcdb/matmul-omp");
    let (found, said) = rows(&["top", "--json", "--by", "line"], &path);
    let (all, _) = rows(&["top", "--json", "--by", "line", "-n", "0"], &path);
    assert_eq!((found.len(), all.len(), said.as_str()), (21, 21, ""));
    let (_, said) = rows(&["tree", "--json"], &path);
    assert!(said.contains("below the threshold, with all below them (-t 0 gives all)"), "{said}");
    let (_, said) = rows(&["tree", "--json", "-t", "0"], &path);
    assert_eq!(said, "");
}

/// A directory with recordings that are not read is no directory without recordings.
#[test]
fn every_old_database_in_a_directory_is_named() {
    let folder = folder();
    for name in ["one", "two"] {
        let database = folder.path().join(name);
        fs::create_dir(&database).unwrap();
        let text =
            r#"<?xml version="1.0"?><HPCToolkitExperiment version="2.2"></HPCToolkitExperiment>"#;
        fs::write(database.join("experiment.xml"), text).unwrap();
    }
    for command in ["info", "check"] {
        let (code, out, said) = run(kymo().arg(command).arg(folder.path()));
        assert!(matches!(code, Some(1 | 3)), "{command}: {said}");
        for name in ["one", "two"] {
            let is_named = |line: &str| line.contains(name) && line.contains("2011 to 2022");
            assert!(out.lines().chain(said.lines()).any(is_named), "{command}: {out}{said}");
        }
    }
}
