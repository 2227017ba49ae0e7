//! What options of `kymo prof` do, on measurements small enough to work out by hand.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{folder, kymo, kymo_with_default_signals, names, run};
use kymo_hpcrun::ProfileBuilder;
use serde_json::{Value, json};

/// The metric of everything here.
const TIME: &str = "CPUTIME (sec)";

/// A thread of a program: 0x1187 calls 0x1200 + its number, which spent so many seconds.
fn thread(program: &str, number: u32, seconds: f64) -> ProfileBuilder {
    let mut builder = ProfileBuilder::new(program);
    builder.id(3 | 3 << 14, number.into(), number.into());
    let module = builder.load_module("/none/app", None).unwrap();
    let time = builder.metric(TIME, "time on a CPU", true).unwrap();
    let main = builder.child(ProfileBuilder::ROOT, module, 0x1187);
    let leaf = builder.child(main, module, 0x1200 + u64::from(number));
    builder.add(leaf, time, seconds);
    builder
}

fn write(builder: &ProfileBuilder, to: &Path) {
    let mut bytes = Vec::new();
    builder.write(&mut bytes).unwrap();
    fs::write(to, bytes).unwrap();
}

/// A measurement directory of threads that spent so many seconds each, numbered from `first` on.
fn measurement(folder: &Path, program: &str, first: u32, seconds: &[f64]) -> PathBuf {
    let path = folder.join(format!("hpctoolkit-{program}-measurements"));
    fs::create_dir_all(&path).unwrap();
    for (number, seconds) in (first..).zip(seconds) {
        let name = format!("{program}-000000-{number:03}-1-2-0.hpcrun");
        write(&thread(program, number, *seconds), &path.join(name));
    }
    path
}

/// Makes a database with these arguments, and gives its summary.
fn prof(to: &Path, arguments: &[&str], inputs: &[&Path]) -> Value {
    let mut command = kymo();
    command.args(["prof", "--json", "-f", "-o"]).arg(to).args(arguments).args(inputs);
    let (code, out, said) = run(&mut command);
    assert_eq!((code, said.as_str()), (Some(0), ""), "{arguments:?}");
    serde_json::from_str(&out).unwrap()
}

/// What all threads have together of the whole program: the numbers of statistics and values.
fn whole(database: &Path) -> Vec<(u32, f64)> {
    let arguments = ["convert", "--table", "values", "--to", "csv", "--filter", "profile=0"];
    let (code, out, said) = run(kymo().args(arguments).arg(database).arg("-"));
    assert_eq!(code, Some(0), "{said}");
    let row = |line: &str| {
        let cells: Vec<_> = line.split(',').collect();
        let is_whole = cells.get(2) == Some(&"0");
        is_whole.then(|| (cells[3].parse().unwrap(), cells[4].parse().unwrap()))
    };
    out.lines().skip(1).filter_map(row).collect()
}

#[test]
fn statistics_are_those_that_were_asked_for() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0, 2.0, 3.0]);
    let database = folder.path().join("database");
    // Each statistic has four reaches, of which the whole program has the last.
    for (asked, expected) in [
        ("none", &[][..]),
        ("sum", &[(3, 6.0)]),
        ("normal", &[(3, 3.0), (7, 6.0), (11, 14.0)]),
        ("extrema", &[(3, 3.0), (7, 6.0), (11, 14.0), (15, 1.0), (19, 3.0)]),
        ("stats", &[(3, 3.0), (7, 6.0), (11, 14.0), (15, 1.0), (19, 3.0)]),
    ] {
        prof(&database, &["-M", asked], &[&input]);
        assert_eq!(whole(&database), expected, "{asked}");
        let (code, out, said) = run(kymo().arg("check").arg(&database));
        assert_eq!(code, Some(0), "{asked}: {out}{said}");
    }
}

#[test]
fn the_layout_that_was_described_first_says_the_same() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0, 2.5]);
    let [released, described] = ["released", "described"].map(|layout| {
        let to = folder.path().join(layout);
        prof(&to, &["--layout", layout], &[&input]);
        to
    });
    let (code, out, said) = run(kymo().arg("info").arg(&described));
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert!(out.contains("the described draft, big-endian"), "{out}");
    assert_eq!(whole(&described), whole(&released));
    let exact = run(kymo().args(["diff", "--exact"]).args([&released, &described]));
    assert_eq!(exact.0, Some(0), "{exact:?}");
    assert_eq!(run(kymo().arg("check").arg(&described)).0, Some(0));
}

#[test]
fn a_single_profile_has_its_trace_and_the_structure_beside_it() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[2.0]);
    let mut builder = thread("app", 0, 1.0);
    let node = builder.retain(2);
    let file = input.join("app-000000-000-1-2-0.hpcrun");
    write(&builder, &file);
    let mut trace = b"HPCRUN-trace______01.01b\0\0\0\0\0\0\0\0".to_vec();
    trace.extend([5_u64.to_be_bytes().as_slice(), &node.to_be_bytes()].concat());
    fs::write(file.with_extension("hpctrace"), &trace).unwrap();
    fs::create_dir(input.join("structs")).unwrap();
    structure(&input.join("structs"), Path::new("/gone/a.c"));
    let database = folder.path().join("database");
    let made = prof(&database, &["--strict"], &[&file]);
    assert_eq!((&made["threads"], &made["samples"]), (&1.into(), &1.into()));
    assert_eq!(made["without_names"], serde_json::json!([]));
    // What cannot be read of it is a loss like others.
    fs::write(file.with_extension("hpctrace"), "no trace").unwrap();
    let (code, _, said) =
        run(kymo().args(["prof", "--strict", "-f", "-o"]).arg(&database).arg(&file));
    assert!(code == Some(1) && said.contains("hpctrace"), "{said}");
}

/// What is known of a summary, whatever the threads did: it has no mean below the smallest value.
#[test]
fn statistics_are_of_the_same_threads() {
    let folder = folder();
    // Two threads are in places of their own, and one is where the first is, too.
    let input = measurement(folder.path(), "app", 0, &[1.0, 2.0]);
    let mut third = thread("app", 2, 16.0);
    let module = third.load_module("/none/app", None).unwrap();
    let leaf = third.child(1, module, 0x1200);
    third.add(leaf, 0, 4.0);
    write(&third, &input.join("app-000000-002-1-2-0.hpcrun"));
    let database = folder.path().join("database");
    prof(&database, &["-M", "stats"], &[&input]);
    let arguments = ["convert", "--table", "values", "--to", "csv", "--filter", "profile=0"];
    let (code, out, said) = run(kymo().args(arguments).arg(&database).arg("-"));
    assert_eq!(code, Some(0), "{said}");
    let mut found: std::collections::BTreeMap<(u32, u32), [f64; 5]> = <_>::default();
    for line in out.lines().skip(1) {
        let cells: Vec<_> = line.split(',').collect();
        let (context, metric) = (cells[2].parse().unwrap(), cells[3].parse::<u32>().unwrap());
        let statistics = found.entry((context, metric % 4)).or_default();
        statistics[metric as usize / 4] = cells[4].parse().unwrap();
    }
    // Count, sum, squares, smallest and largest.
    for ((context, reach), [count, sum, squares, min, max]) in &found {
        let mean = sum / count;
        assert!(*min <= mean && mean <= *max, "{context} {reach}: {min} {mean} {max}");
        assert!(squares / count - mean * mean >= -1e-9, "{context} {reach}");
    }
    let item = |count| found.values().filter(|found| found[0] == count).count();
    // The leaf of the first and the third thread: as point, function, lexical and execution.
    let shared: Vec<_> = found.values().filter(|found| found[0] == 2.0).collect();
    assert_eq!(shared.len(), 4);
    assert!(shared.iter().all(|found| **found == [2.0, 5.0, 17.0, 1.0, 4.0]), "{shared:?}");
    // The other leaves, which one thread was in each; the entry, the call and the whole program.
    assert_eq!((item(1.0), item(3.0)), (8, 3));
}

#[test]
fn the_same_measurement_counts_once() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0]);
    let file = input.join("app-000000-000-1-2-0.hpcrun");
    let again = folder.path().join("other/../hpctoolkit-app-measurements");
    fs::create_dir(folder.path().join("other")).unwrap();
    for both in [[&input, &input], [&input, &again], [&file, &input]] {
        let database = folder.path().join("database");
        let (code, _, said) = run(kymo().args(["prof", "-o"]).arg(database).args(both));
        assert!(code == Some(2) && said.contains("named twice"), "{code:?} {said}");
    }
}

#[test]
fn what_is_typed_and_makes_no_sense_is_said() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0]);
    let input = input.to_str().unwrap();
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for (arguments, expected, why) in [
        (vec!["-o", "-", input], 2, "a database is a directory"),
        (vec!["--compat", "--loops=on", input], 2, "is not what hpcprof does"),
        (vec!["-R", "=x", input], 2, "a path is missing"),
        (vec!["-R", "/a=", input], 2, "a path is missing"),
        (vec!["-S", empty.to_str().unwrap(), input], 1, "there is no .hpcstruct file in it"),
        (vec!["-j", "0", input], 2, "it is no number from 1 to 1,024"),
        (vec!["-j", "1025", input], 2, "it is no number from 1 to 1,024"),
        (vec![input, "/none/out"], 1, "-o DIR says where the database goes"),
    ] {
        let (code, _, said) = run(kymo().arg("prof").args(&arguments));
        assert!(code == Some(expected) && said.contains(why), "{arguments:?}: {code:?} {said}");
    }
    let here = run(kymo().args(["prof", "-q", "."]).current_dir(input));
    assert_eq!(here, (Some(0), String::new(), String::new()));
    assert!(folder.path().join("hpctoolkit-app-database").is_dir());
}

/// The first and the second half of the way find different things; both are losses.
#[test]
fn what_hpcprof_does_has_no_loops_and_may_be_said_so() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0]);
    let database = folder.path().join("database");
    assert_eq!(prof(&database, &["--compat", "--loops=off"], &[&input])["threads"], 1);
}

#[test]
fn strict_refuses_what_is_found_while_merging_too() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0, f64::NAN]);
    let database = folder.path().join("hpctoolkit-app-database");
    let (code, _, said) = run(kymo().args(["prof", "--strict"]).arg(&input));
    assert!(code == Some(1) && said.contains("value-number"), "{said}");
    assert_eq!(names(folder.path()), ["hpctoolkit-app-measurements"]);
    let (code, out, said) = run(kymo().args(["prof", "--json"]).arg(&input));
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("measurements: warning value-number in app-000000-001"), "{said}");
    let made: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(made["findings"][0]["rule"], "value-number");
    assert_eq!(made["findings"][0]["part"], "app-000000-001-1-2-0.hpcrun");
    assert_eq!(whole(&database), [(3, 1.0)]);
}

#[test]
fn quiet_says_errors_and_nothing_else() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0, 2.0]);
    let cut = input.join("app-000000-001-1-2-0.hpcrun");
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let (code, out, said) = run(kymo().args(["prof", "--quiet"]).arg(&input));
    assert_eq!((code, out.as_str()), (Some(3), ""));
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("error profile in app-000000-001-1-2-0.hpcrun"), "{said}");
}

/// The modules of programs that cannot be looked into, each for a reason of its own.
#[test]
fn why_addresses_have_no_names_is_told_apart() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("junk"), "no program").unwrap();
    fs::create_dir(at("folder")).unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/symbols/plain.elf");
    fs::copy(program, at("sound")).unwrap();
    let input = at("measurements");
    fs::create_dir(&input).unwrap();
    let mut builder = ProfileBuilder::new("app");
    let time = builder.metric(TIME, "time on a CPU", true).unwrap();
    for name in ["absent", "junk", "folder", "sound"] {
        let module = builder.load_module(at(name).to_str().unwrap(), None).unwrap();
        for ip in [0x10, 0x40_0127] {
            let leaf = builder.child(ProfileBuilder::ROOT, module, ip);
            builder.add(leaf, time, 1.0);
        }
    }
    builder.load_module("/none/loaded-and-not-used", None).unwrap();
    write(&builder, &input.join("app-000000-000-1-2-0.hpcrun"));
    let made = prof(&at("database"), &[], &[&input]);
    let told = made["without_names"].as_array().unwrap().iter().map(|told| {
        let why = told["why"].as_str().unwrap().split(':').next().unwrap();
        (told["addresses"].as_u64().unwrap(), told["of"].as_u64().unwrap(), why.to_owned())
    });
    let expected = [
        (2, 2, "it is not there"),
        (2, 2, "it is no program, or damaged"),
        (2, 2, "it is no plain file"),
        (2, 2, "it is another build"),
    ];
    let expected = expected.map(|(addresses, value, why)| (addresses, value, why.to_owned()));
    assert_eq!(told.collect::<Vec<_>>(), expected);
    let (_, out, _) = run(kymo()
        .args(["convert", "--table", "modules", "--to", "csv"])
        .arg(at("database"))
        .arg("-"));
    assert!(out.contains("sound") && !out.contains("loaded-and-not-used"), "{out}");
}

#[test]
fn diff_exact_compares_every_statistic() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0, 2.0]);
    let database = |name: &str| folder.path().join(name);
    for (name, kind) in [("none", "none"), ("sum", "sum"), ("stats", "stats"), ("again", "stats")] {
        prof(&database(name), &["-M", kind], &[&input]);
    }
    let diff = |one: &str, other: &str| {
        run(kymo().args(["diff", "--exact"]).args([database(one), database(other)]))
    };
    assert_eq!(diff("stats", "again"), (Some(0), String::new(), String::new()));
    let (code, out, _) = diff("none", "sum");
    let only = "\nOnly in B\n  the statistic of all threads, sum\n";
    assert!(code == Some(3) && out.ends_with(only), "{out}");
    let (code, out, _) = diff("stats", "sum");
    assert!(code == Some(3) && out.contains("Only in A\n"), "{out}");
    assert!(out.contains("  the statistic of all threads, largest\n"), "{out}");
    let (code, _, said) =
        run(kymo().args(["diff", "--exact", "-n", "2"]).args([database("sum"), database("sum")]));
    assert!(code == Some(2) && said.contains("cannot be used with"), "{said}");
    // The largest value of the whole program is the double 2.0: make it another.
    let path = database("again").join("profile.db");
    let mut bytes = fs::read(&path).unwrap();
    let wanted = [[19, 0].as_slice(), &2.0_f64.to_le_bytes()].concat();
    let places: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&wanted)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at + 2..at + 10].copy_from_slice(&2.000_000_1_f64.to_le_bytes());
    }
    fs::write(&path, bytes).unwrap();
    let (code, out, _) = diff("stats", "again");
    let row = "          2    2.0000001    +5e-6%  CPUTIME (sec) execution: all threads, largest\n";
    assert!(code == Some(3) && out.contains(row), "{out}");
}

/// What `kymo repair` makes of a profile that ends before its values: its tree alone. A thread that was
/// never sampled has no tree, and has lost nothing.
#[test]
fn a_thread_whose_values_are_lost_is_said_and_one_that_was_never_sampled_is_listed() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0, 0.0]);
    let mut idle = ProfileBuilder::new("app");
    idle.id(3 | 3 << 14, 2, 2);
    idle.metric(TIME, "time on a CPU", true).unwrap();
    write(&idle, &input.join("app-000000-002-1-2-0.hpcrun"));
    let to = folder.path().join("database");
    let prof = |options: &[&str]| {
        run(kymo().args(["prof", "-f", "-o"]).arg(&to).args(options).arg(&input))
    };
    let (code, out, said) = prof(&[]);
    let files = "app-000000-001-1-2-0.hpcrun, app-000000-002-1-2-0.hpcrun";
    assert!(out.contains(&format!("\n  no value  2 of 3 threads: {files}\n")), "{out}");
    assert_eq!(code, Some(3), "{said}");
    let why = "no-values in app-000000-001-1-2-0.hpcrun: it has 2 nodes of code, and no value";
    assert!(said.contains(why) && said.lines().count() == 1, "{said}");
    let (code, out, said) = prof(&["--json", "-q"]);
    let summary: Value = serde_json::from_str(&out).unwrap();
    assert!(code == Some(3) && said.contains(why), "{said}");
    assert_eq!(summary["threads_without_values"].as_array().unwrap().len(), 2);
    assert_eq!(summary["findings"][0]["rule"], "no-values");
}

/// The second of three threads takes longer, and the third is in one of them alone: what is above and
/// over all threads follows from that.
#[test]
fn diff_exact_tells_a_person_of_each_cause_once() {
    let folder = folder();
    let database = |name: &str| folder.path().join(name);
    for (name, seconds) in [("a", &[1.0, 2.0][..]), ("b", &[1.0, 2.5, 4.0])] {
        let input = measurement(folder.path(), name, 0, seconds);
        prof(&database(name), &["-M", "stats"], &[&input]);
    }
    let diff = |options: &[&str], one: &str, other: &str| {
        let mut command = kymo();
        command.args(["diff", "--exact"]).args(options).args([one, other]);
        run(command.current_dir(folder.path()))
    };
    let (code, out, _) = diff(&[], "a", "b");
    let lines: Vec<_> = out.lines().collect();
    assert_eq!((code, &lines[..2]), (Some(3), &["A  a", "B  b"][..]), "{out}");
    assert!(out.contains("\nOnly in B\n  the thread THREAD 2\n"), "{out}");
    let path = "entry unknown entry > instruction /none/app+0x1187 > instruction /none/app+0x1202";
    let only = lines.iter().position(|line| line.starts_with("Paths only in B")).unwrap();
    assert!(lines[only + 1].ends_with(&format!("CPUTIME (sec) 4  {path}")), "{out}");
    let values = lines.iter().position(|line| *line == "Values that differ").unwrap();
    let expected = [
        "          A            B    change",
        "entry unknown entry > instruction /none/app+0x1187 > instruction /none/app+0x1201",
        "          2        2.500    +25.0%  CPUTIME (sec) point: THREAD 1",
        "",
    ];
    assert_eq!(lines[values + 1..values + 5], expected, "{out}");
    assert!(lines[values + 5].contains(" more values differ because of these"), "{out}");
    // Programs are told of everything, in the same columns.
    let (_, out, _) = diff(&["--json"], "a", "b");
    let rows: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_thread = rows.iter().filter(|row| row["thread"] == "THREAD 1");
    let scopes: Vec<_> = of_thread.filter(|row| row["path"] == expected[1]).collect();
    assert_eq!(scopes.len(), 4, "{out}");
    for (row, scope) in scopes.iter().zip(["point", "function", "lexical", "execution"]) {
        assert_eq!((row["scope"].as_str(), row["metric"].as_str()), (Some(scope), Some(TIME)));
        let numbers = ["one", "other", "change", "relative"].map(|key| row[key].as_f64().unwrap());
        assert_eq!(numbers, [2.0, 2.5, 0.5, 0.25]);
    }
    let (_, out, _) = diff(&["--csv"], "a", "b");
    let columns = |line: &str| line.split(',').count();
    assert_eq!(out.lines().count(), rows.len() + 1);
    assert!(columns(out.lines().next().unwrap()) == rows[0].as_object().unwrap().len(), "{out}");
}

#[test]
fn several_measurements_make_one_database_in_whatever_order_they_come() {
    let folder = folder();
    let one = measurement(folder.path(), "one", 0, &[1.0, 2.0]);
    let other = measurement(folder.path(), "other", 2, &[4.0]);
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let assert_same = || {
        for file in ["meta.db", "profile.db", "cct.db", "metrics/default.yaml"] {
            let bytes = |database: &Path| fs::read(database.join(file)).unwrap();
            assert!(bytes(&first) == bytes(&second), "{file} depends on the order");
        }
    };
    let made = prof(&first, &["-j", "1", "--name", "both"], &[&one, &other]);
    assert_eq!(made["threads"], 3);
    assert_eq!(whole(&first), [(3, 7.0)]);
    prof(&second, &["-j", "2", "--name", "both"], &[&other, &one]);
    assert_same();
    let finding = &made["findings"][0];
    assert_eq!((&finding["rule"], &finding["severity"]), (&json!("programs"), &json!("note")));
    let (_, out, _) = run(kymo().arg("info").arg(&first));
    assert!(out.contains("title") && out.contains("both"), "{out}");
    // Threads of the same ids, in files of the same name, and programs of two names.
    let third = folder.path().join("third");
    fs::create_dir(&third).unwrap();
    write(&thread("app", 0, 8.0), &third.join("one-000000-000-1-2-0.hpcrun"));
    for (to, inputs) in [(&first, [&one, &third]), (&second, [&third, &one])] {
        let (code, _, said) = run(kymo().args(["prof", "-f", "-o"]).arg(to).args(inputs));
        assert!(code == Some(0) && said.contains("several programs"), "{said}");
    }
    assert_same();
}

/// Modules are looked up beside each other, each in the order in which it is met.
#[test]
fn a_database_is_the_same_however_many_processors_look_up_addresses() {
    let folder = folder();
    let input = folder.path().join("several");
    fs::create_dir(&input).unwrap();
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/symbols");
    for number in 0..2 {
        let mut builder = thread("app", number, 1.0);
        for program in ["plain.elf", "v4.elf", "zlib.elf", "split5.elf", "shared4.elf"] {
            let path = symbols.join(program).canonicalize().unwrap();
            let module = builder.load_module(path.to_str().unwrap(), None).unwrap();
            for address in (0x40_0100 + u64::from(number)..0x40_0200).step_by(3) {
                let node = builder.child(ProfileBuilder::ROOT, module, address);
                builder.add(node, 0, 1.0);
            }
        }
        let (leaf, path) = (builder.retain(2), format!("app-000000-{number:03}-1-2-0.hpcrun"));
        write(&builder, &input.join(&path));
        // Enough samples for their contexts to be found on a thread of its own.
        let mut trace = b"HPCRUN-trace______01.01b\0\0\0\0\0\0\0\0".to_vec();
        for time in 0..40_000 {
            trace.extend((1_700_000_000_000_000_000_u64 + time).to_be_bytes());
            trace.extend(leaf.to_be_bytes());
        }
        fs::write(input.join(path).with_extension("hpctrace"), trace).unwrap();
    }
    let files = |jobs: &str| {
        let database = folder.path().join(jobs);
        let made = prof(&database, &["-j", jobs, "--no-source"], &[&input]);
        assert_eq!(made["samples"], 80_000);
        let files = ["meta.db", "profile.db", "cct.db", "trace.db"];
        files.map(|name| fs::read(database.join(name)).unwrap())
    };
    let alone = files("1");
    for jobs in ["2", "3", "8"] {
        assert!(files(jobs) == alone, "{jobs} processors make another database than one");
    }
    let (_, out, _) = run(kymo().args(["top", "--json"]).arg(folder.path().join("8")));
    assert!(out.contains("yearly") && out.contains("interest"), "{out}");
}

/// Samples that a GPU took in ranges of its own: a root, a context of the GPU, a range, and the
/// instruction.
#[test]
fn samples_in_ranges_of_a_gpu_are_kept_below_unknown_functions_and_said() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[]);
    let mut builder = thread("app", 0, 1.0);
    let mut node = ProfileBuilder::ROOT;
    for (module, ip) in [(65533, 0), (65531, 1), (65532, 7), (1, 0x1400)] {
        node = builder.child(node, module, ip);
    }
    builder.add(node, 0, 2.0);
    write(&builder, &input.join("app-000000-000-1-2-0.hpcrun"));
    let database = folder.path().join("database");
    let (code, _, said) = run(kymo().args(["prof", "-o"]).arg(&database).arg(&input));
    assert_eq!(code, Some(3));
    assert!(said.contains("3 nodes are of a GPU's ranges"), "{said}");
    assert_eq!(whole(&database), [(3, 3.0)]);
    let (code, out, _) = run(kymo().arg("check").arg(&database));
    assert_eq!(code, Some(0), "{out}");
    // What recorders make for themselves is none of them.
    let mut builder = thread("app", 0, 1.0);
    let node = builder.child(ProfileBuilder::ROOT, 65534, 5);
    builder.add(node, 0, 2.0);
    write(&builder, &input.join("app-000000-000-1-2-0.hpcrun"));
    let (code, _, said) = run(kymo().args(["prof", "-f", "-o"]).arg(&database).arg(&input));
    assert!(code == Some(3) && said.contains("node-module") && !said.contains("GPU"), "{said}");
}

/// What the system refuses while a database is written is about the database.
#[cfg(target_os = "linux")]
#[test]
fn an_error_of_the_output_names_the_output() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0]);
    let database = folder.path().join("database");
    // No file may be larger than 512 bytes, and the signal that tells so is not taken.
    let line = "trap '' XFSZ; ulimit -f 1; exec \"$0\" prof -o \"$1\" \"$2\"";
    let mut command = Command::new("sh");
    command.args(["-c", line, env!("CARGO_BIN_EXE_kymo")]);
    let (code, _, said) = run(command.arg(&database).arg(&input));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("{}: cannot ", database.display())), "{said}");
    assert!(!database.exists());
}

/// An address of a logical file is the number of a function and a line.
#[test]
fn functions_of_an_interpreter_are_named_by_the_logical_file() {
    let folder = folder();
    let input = folder.path().join("python");
    fs::create_dir_all(input.join("logical")).unwrap();
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/symbols");
    fs::copy(symbols.join("logical"), input.join("logical/python")).unwrap();
    let mut builder = thread("app", 0, 1.0);
    let module = builder.load_module("logical/python", None).unwrap();
    let node = builder.child(ProfileBuilder::ROOT, module, (1 << 32) + 17);
    builder.add(node, 0, 2.0);
    write(&builder, &input.join("app-000000-000-1-2-0.hpcrun"));
    let database = folder.path().join("database");
    let made = prof(&database, &[], &[&input]);
    assert_eq!(made["threads"], 1);
    let (_, out, _) = run(kymo().args(["tree", "--json", "--show", "lines"]).arg(&database));
    assert!(out.contains("\"fit\"") && out.contains("model.py:17"), "{out}");
}

#[test]
fn what_is_wrong_with_threads_of_other_programs_does_not_count() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0]);
    // It says that there is a trace, and there is none.
    let mut helper = thread("helper", 7, 32.0);
    helper.pair("trace-min-time", "5").pair("trace-max-time", "9");
    let file = input.join("helper-000000-007-1-2-0.hpcrun");
    write(&helper, &file);
    let database = folder.path().join("database");
    let make = |arguments: &[&str], input: &Path| {
        let mut command = kymo();
        run(command.args(["prof", "-q", "-f", "-o"]).arg(&database).args(arguments).arg(input))
    };
    let (code, _, said) = make(&[], &input);
    assert!(code == Some(3) && said.contains("no-trace"), "{said}");
    for strict in [&["--only-exe", "app"][..], &["--only-exe", "app", "--strict"]] {
        assert_eq!(make(strict, &input), (Some(0), String::new(), String::new()), "{strict:?}");
    }
    assert_eq!(make(&["--only-exe", "helper"], &input).0, Some(3));
    let app = input.join("app-000000-000-1-2-0.hpcrun");
    let both = [file.to_str().unwrap(), "--only-exe", "app"];
    assert_eq!(make(&both, &app).0, Some(0));
}

#[test]
fn profiles_that_are_named_one_by_one_share_what_lies_beside_them() {
    let folder = folder();
    let input = folder.path().join("measurements");
    fs::create_dir_all(input.join("kernel_symbols")).unwrap();
    fs::write(input.join("kernel_symbols/vmlinux.1"), "10 T one\n20 T two\n").unwrap();
    let files: Vec<_> = [0, 1].map(|number| input.join(format!("app-{number}.hpcrun"))).into();
    for (number, file) in (0..).zip(&files) {
        let mut builder = thread("app", number, 1.0);
        let kernel = builder.load_module("kernel_symbols/vmlinux.1", None).unwrap();
        let node = builder.child(ProfileBuilder::ROOT, kernel, 0x15);
        builder.add(node, 0, 2.0);
        write(&builder, file);
    }
    let (whole, each) = (folder.path().join("whole"), folder.path().join("each"));
    let one = prof(&whole, &[], &[&input]);
    let other = prof(&each, &[], &[&files[0], &files[1]]);
    assert_eq!(one["contexts"], other["contexts"]);
    let compared = run(kymo().args(["diff", "--exact"]).args([&whole, &each]));
    assert_eq!(compared.0, Some(0), "{compared:?}");
}

#[test]
fn what_was_measured_while_nothing_went_on_is_no_contradiction() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[]);
    let mut builder = thread("app", 0, 6.0);
    let idle = builder.child(ProfileBuilder::ROOT, 0, u64::from_be_bytes(*b"NoActvty"));
    builder.add(idle, 0, 3.0);
    builder.add(ProfileBuilder::ROOT, 0, 1.0);
    write(&builder, &input.join("app-000000-000-1-2-0.hpcrun"));
    let database = folder.path().join("database");
    prof(&database, &[], &[&input]);
    assert_eq!(whole(&database), [(3, 10.0)]);
    let (code, out, said) = run(kymo().arg("check").arg(&database));
    assert_eq!(code, Some(0), "{out}{said}");
    let (code, out, said) = run(kymo().args(["top", "-q"]).arg(&database));
    assert_eq!((code, said.as_str()), (Some(0), ""), "{out}");
    assert!(out.contains("<no activity>") && out.contains("10 in all"), "{out}");
}

#[test]
fn the_moments_of_all_records_are_told_also_of_unknown_nodes() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[]);
    let mut builder = thread("app", 0, 1.0);
    let node = builder.retain(2);
    write(&builder, &input.join("app-000000-000-1-2-0.hpcrun"));
    let database = folder.path().join("database");
    // In order of time, and otherwise.
    for records in [[(5_u64, 999), (9, node), (15, 999)], [(15, 999), (9, node), (5, 999)]] {
        let mut trace = b"HPCRUN-trace______01.01b\0\0\0\0\0\0\0\0".to_vec();
        for (time, node) in records {
            trace.extend(time.to_be_bytes());
            trace.extend(node.to_be_bytes());
        }
        fs::write(input.join("app-000000-000-1-2-0.hpctrace"), trace).unwrap();
        let mut command = kymo();
        let (code, _, said) = run(command.args(["prof", "-f", "-o"]).args([&database, &input]));
        assert!(code == Some(3) && said.contains("trace-node"), "{said}");
        let bytes = fs::read(database.join("trace.db")).unwrap();
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!((number(0x30), number(0x38)), (5, 15));
    }
}

#[test]
fn only_threads_of_the_named_program_count() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0, 2.0]);
    write(&thread("helper", 7, 32.0), &input.join("helper-000000-007-1-2-0.hpcrun"));
    let database = folder.path().join("database");
    assert_eq!(prof(&database, &["--only-exe", "app"], &[&input])["threads"], 2);
    assert_eq!(whole(&database), [(3, 3.0)]);
    let both = folder.path().join("both");
    assert_eq!(
        prof(&both, &["-q", "--only-exe=app", "--only-exe=helper"], &[&input])["threads"],
        3
    );
    let (code, _, said) = run(kymo().args(["prof", "-f", "--only-exe", "none"]).arg(&input));
    assert_eq!(code, Some(1));
    assert!(said.contains("there is no thread of a program none"), "{said}");
    assert!(said.contains("threads of app, helper"), "{said}");
}

#[test]
fn files_of_the_described_format_are_taken_too() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0]);
    let mut old = ProfileBuilder::new("app");
    let place = kymo_hpcrun::Place { load_addr: 0x40_0000, load_offset: 0 };
    let module = old.load_module("/none/app", Some(place)).unwrap();
    let time = old.metric(TIME, "time on a CPU", true).unwrap();
    let main = old.child(ProfileBuilder::ROOT, module, 0x40_1187);
    let leaf = old.child(main, module, 0x40_1200);
    old.add(leaf, time, 2.5);
    let mut bytes = Vec::new();
    old.write_described(&mut bytes).unwrap();
    fs::write(input.join("app-000000-009-1-2-0.hpcrun"), bytes).unwrap();
    let database = folder.path().join("database");
    assert_eq!(prof(&database, &[], &[&input])["threads"], 2);
    // Old files do not describe their metrics, so that theirs is another one.
    assert_eq!(whole(&database), [(3, 2.5), (7, 1.0)]);
}

/// A structure of the program, whose source is a file in a folder.
fn structure(folder: &Path, source: &Path) -> PathBuf {
    let path = folder.join("app.hpcstruct");
    let text = format!(
        "<HPCToolkitStructure i=\"0\" version=\"4.9\" n=\"\">\n<LM i=\"2\" n=\"/none/app\" v=\"{{}}\">\n\
         <F i=\"3\" n=\"{}\">\n<P i=\"4\" n=\"caller\" l=\"1\" v=\"{{[0x1180-0x1181)}}\">\n\
         <S i=\"5\" l=\"2\" v=\"{{[0x1180-0x1190)}}\"/>\n</P>\n\
         <P i=\"6\" n=\"worker\" l=\"5\" v=\"{{[0x1200-0x1201)}}\">\n\
         <S i=\"7\" l=\"6\" v=\"{{[0x1200-0x1210)}}\"/>\n</P>\n</F>\n</LM>\n</HPCToolkitStructure>\n",
        source.display()
    );
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn structure_files_tell_names_and_sources_are_copied_from_where_they_are_now() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0]);
    fs::write(folder.path().join("a.c"), "int main;\n").unwrap();
    let given = structure(folder.path(), Path::new("/gone/a.c"));
    let given = given.to_str().unwrap();
    let database = folder.path().join("database");
    let replace = format!("/gone={}", folder.path().display());
    let made = prof(&database, &["-S", given, "-R", &replace], &[&input]);
    assert_eq!(made["without_names"], serde_json::json!([]));
    let (_, out, _) = run(kymo().args(["top", "--json"]).arg(&database));
    assert!(out.contains("worker"), "{out}");
    assert_eq!(fs::read_to_string(database.join("src/gone/a.c")).unwrap(), "int main;\n");
    // Compilers that run elsewhere tell of paths that lead back.
    let beside = folder.path().join("build/../a.c");
    fs::create_dir(folder.path().join("build")).unwrap();
    let relative = structure(folder.path(), &beside);
    prof(&database, &["-S", relative.to_str().unwrap()], &[&input]);
    let copy = format!("src{}/a.c", folder.path().display());
    assert_eq!(fs::read_to_string(database.join(copy)).unwrap(), "int main;\n");
    // Files that are made while they are read have no end.
    let endless = structure(folder.path(), Path::new("/proc/self/pagemap"));
    prof(&database, &["-S", endless.to_str().unwrap()], &[&input]);
    assert!(!database.join("src").exists());
    // They are not to be had by a way through the system's links, either.
    for way in ["/proc/self/root", "/usr/../proc/self/root"] {
        let through = format!("{way}{}/a.c", folder.path().display());
        let through = structure(folder.path(), Path::new(&through));
        prof(&database, &["-S", through.to_str().unwrap()], &[&input]);
        assert!(!database.join("src").exists());
    }
    let given = structure(folder.path(), Path::new("/gone/a.c"));
    let given = given.to_str().unwrap();
    prof(&database, &["-S", given, "-R", &replace, "--no-source"], &[&input]);
    assert!(!database.join("src").exists());
    let made = prof(&database, &[], &[&input]);
    assert_eq!(made["without_names"][0]["module"], "/none/app");
}

#[test]
fn traces_are_kept_unless_they_are_not_wanted() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[]);
    let mut builder = thread("app", 0, 1.0);
    let node = builder.retain(2);
    let idle = builder.child(ProfileBuilder::ROOT, 0, u64::from_be_bytes(*b"NoActvty"));
    let idle = builder.retain(idle);
    write(&builder, &input.join("app-000000-000-1-2-0.hpcrun"));
    let mut trace = b"HPCRUN-trace______01.01b\0\0\0\0\0\0\0\0".to_vec();
    // Idle is said once, so that these are three.
    for (time, node) in [(5_u64, node), (9, idle), (12, idle), (15, node)] {
        trace.extend(time.to_be_bytes());
        trace.extend(node.to_be_bytes());
    }
    fs::write(input.join("app-000000-000-1-2-0.hpctrace"), trace).unwrap();
    let database = folder.path().join("database");
    assert_eq!(prof(&database, &[], &[&input])["samples"], 3);
    let (_, out, _) = run(kymo().args(["info", "--json"]).arg(&database));
    assert!(out.contains("\"samples\":3") || out.contains("3 samples"), "{out}");
    assert!(database.join("trace.db").exists());
    assert_eq!(prof(&database, &["--no-traces"], &[&input])["samples"], 0);
    assert!(!database.join("trace.db").exists());
}

/// Databases that differ in what no context, value or sample tells.
#[test]
fn an_exact_comparison_sees_what_is_beside_values_by_path() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[]);
    let mut builder = thread("app", 0, 1.0);
    let node = builder.retain(2);
    write(&builder, &input.join("app-000000-000-1-2-0.hpcrun"));
    let mut trace = b"HPCRUN-trace______01.01b\0\0\0\0\0\0\0\0".to_vec();
    for time in [5_u64, 9] {
        trace.extend(time.to_be_bytes());
        trace.extend(node.to_be_bytes());
    }
    fs::write(input.join("app-000000-000-1-2-0.hpctrace"), trace).unwrap();
    let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
    prof(&one, &[], &[&input]);
    let differences = || run(kymo().args(["diff", "--exact", "--json"]).args([&one, &other]));
    let number = |bytes: &[u8], at: usize| {
        usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap()
    };
    let change = |file: &str, place: &dyn Fn(&[u8]) -> usize| {
        prof(&other, &[], &[&input]);
        let mut bytes = fs::read(other.join(file)).unwrap();
        let at = place(&bytes);
        bytes[at] ^= 1;
        fs::write(other.join(file), bytes).unwrap();
        let (code, out, said) = differences();
        assert_eq!(code, Some(3), "{file}: {out}{said}");
        out
    };
    prof(&other, &[], &[&input]);
    assert_eq!(differences(), (Some(0), String::new(), String::new()));
    let section = |bytes: &[u8]| number(bytes, 0x18);
    let out = change("meta.db", &|bytes| number(bytes, section(bytes)));
    assert!(out.contains("\"path\":\"title\""), "{out}");
    let out = change("trace.db", &|bytes| section(bytes) + 0x10);
    assert!(out.contains("\"path\":\"trace span\""), "{out}");
    let out = change("cct.db", &|bytes| {
        let (list, count) = (number(bytes, section(bytes)), bytes[section(bytes) + 8]);
        let size = usize::from(bytes[section(bytes) + 12]);
        let records = (0..usize::from(count)).map(|record| list + record * size);
        let valued = records.into_iter().find(|record| number(bytes, *record) > 0).unwrap();
        number(bytes, valued + 8) + 4
    });
    assert!(out.contains("\"path\":\"cct.db\"") && out.contains("B is not sound"), "{out}");
    prof(&other, &[], &[&input]);
    fs::remove_file(other.join("metrics/default.yaml")).unwrap();
    let (code, out, _) = differences();
    assert_eq!(code, Some(3));
    assert!(out.contains("\"path\":\"how metrics are shown\""), "{out}");
    assert_eq!(out.lines().count(), 1, "{out}");
}

#[test]
fn quiet_says_nothing_where_nothing_is_wrong() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0]);
    let done = run(kymo().args(["prof", "--quiet"]).arg(&input));
    assert_eq!(done, (Some(0), String::new(), String::new()));
    assert!(folder.path().join("hpctoolkit-app-database").is_dir());
}

/// A signal on the way leaves neither the database nor anything hidden beside it.
#[cfg(unix)]
#[test]
fn an_interrupt_leaves_nothing_half_made() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0]);
    // A trace that takes seconds to read, and no room on the disk.
    let trace = File::create(input.join("app-000000-000-1-2-0.hpctrace")).unwrap();
    std::io::Write::write_all(&mut &trace, b"HPCRUN-trace______01.01b\0\0\0\0\0\0\0\0").unwrap();
    trace.set_len(32 + 12 * 400_000_000).unwrap();
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-XCPU", 152)] {
        let before = names(folder.path());
        let mut command = kymo_with_default_signals();
        command.arg("prof").arg(&input).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        while names(folder.path()) == before {
            assert_eq!(child.try_wait().unwrap(), None, "it was done too early");
            std::thread::sleep(Duration::from_millis(5));
        }
        let told = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(told.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        assert_eq!(names(folder.path()), before, "{signal}");
    }
}

/// A bound on all memory, mapped files included.
#[cfg(target_os = "linux")]
#[test]
fn four_thousand_threads_take_less_than_a_gibibyte() {
    let folder = folder();
    let input = folder.path().join("many");
    fs::create_dir(&input).unwrap();
    for number in 0..4096 {
        let mut builder = thread("app", number, 1.0);
        let (mut above, time) = (1, 0);
        for depth in 0..100 {
            above = builder.child(above, 1, 0x2000 + u64::from(depth % 10 + number % 7));
            builder.add(above, time, f64::from(depth + 1));
        }
        write(&builder, &input.join(format!("app-000000-{number:04}-1-2-0.hpcrun")));
    }
    let line = "ulimit -v 1048576; exec \"$0\" prof --quiet -j 2 -o \"$1\" \"$2\"";
    let mut command = Command::new("sh");
    command.args(["-c", line, env!("CARGO_BIN_EXE_kymo")]);
    let database = folder.path().join("database");
    let done = run(command.arg(&database).arg(&input));
    assert_eq!(done, (Some(0), String::new(), String::new()));
    // 1 at the leaf, and 1 to 100 along the way.
    assert_eq!(whole(&database), [(3, 4096.0 * 5051.0)]);
}

/// A directory of very many profiles, each of which has so many bytes. There are a few, with many
/// names: what makes them large is between their parts, and takes no room on the disk.
#[cfg(target_os = "linux")]
fn many_of_size(folder: &Path, count: u32, size: u64) -> PathBuf {
    use std::io::{Seek, SeekFrom, Write};
    const FOOTER_BYTES: usize = 112;
    let input = folder.join(format!("many-{size}"));
    fs::create_dir(&input).unwrap();
    let path = |number: u32| input.join(format!("app-000000-{number:05}-1-2-0.hpcrun"));
    for number in 0..count {
        if number >= 16 {
            fs::hard_link(path(number % 16), path(number)).unwrap();
            continue;
        }
        let mut bytes = Vec::new();
        thread("app", number, 1.0).write(&mut bytes).unwrap();
        let (body, footer) = bytes.split_at(bytes.len() - FOOTER_BYTES);
        let at = size - FOOTER_BYTES as u64;
        let mut footer = footer.to_vec();
        footer[96..104].copy_from_slice(&at.to_be_bytes());
        let mut file = File::create(path(number)).unwrap();
        file.write_all(body).unwrap();
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(&footer).unwrap();
    }
    input
}

/// Large files are mapped one after another, and small ones are read: together they have more bytes
/// than there may be in memory, and there are more than may be mapped at once.
#[cfg(target_os = "linux")]
#[test]
fn no_more_than_a_few_profiles_are_in_memory_however_many_there_are() {
    let folder = folder();
    // All memory, mapped files included; and what is no file.
    for (limit, size) in [("-v 1048576", 300 << 10), ("-d 131072", 60 << 10)] {
        let input = many_of_size(folder.path(), 4200, size);
        let line = format!("ulimit {limit}; exec \"$0\" prof --quiet -j 2 -o \"$1\" \"$2\"");
        let mut command = Command::new("sh");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_kymo")]);
        let database = folder.path().join(format!("database-{size}"));
        let done = run(command.arg(&database).arg(&input));
        assert_eq!(done, (Some(0), String::new(), String::new()), "{limit}");
        assert_eq!(whole(&database), [(3, 4200.0)]);
    }
}

/// A profile that is written to while others are read is not what it was when it is read again.
#[cfg(unix)]
#[test]
fn a_profile_that_changes_meanwhile_is_noticed() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0, 2.0]);
    // While this is read, there is time to change the other.
    let trace = File::create(input.join("app-000000-000-1-2-0.hpctrace")).unwrap();
    std::io::Write::write_all(&mut &trace, b"HPCRUN-trace______01.01b\0\0\0\0\0\0\0\0").unwrap();
    trace.set_len(32 + 12 * 100_000_000).unwrap();
    let mut command = kymo();
    command.args(["prof", "--quiet", "-j", "1"]).arg(&input).stderr(Stdio::piped());
    let before = names(folder.path());
    let mut child = command.spawn().unwrap();
    while names(folder.path()) == before {
        assert_eq!(child.try_wait().unwrap(), None, "it was done too early");
        std::thread::sleep(Duration::from_millis(5));
    }
    let path = input.join("app-000000-001-1-2-0.hpcrun");
    let size = fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(size - 1).unwrap();
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("app-000000-001-1-2-0.hpcrun: the file shrank"), "{said}");
}

/// Files of more than 64 KiB are mapped, and there may be many more of them than may be open.
#[cfg(target_os = "linux")]
#[test]
fn there_may_be_more_profiles_than_files_may_be_open() {
    let folder = folder();
    let input = folder.path().join("many");
    fs::create_dir(&input).unwrap();
    for number in 0..200 {
        let mut builder = thread("app", number, 1.0);
        for at in 0..3600 {
            builder.child(1, 1, 0x2000 + at);
        }
        let path = input.join(format!("app-000000-{number:03}-1-2-0.hpcrun"));
        write(&builder, &path);
        assert!(fs::metadata(&path).unwrap().len() > 64 << 10);
    }
    let line = "ulimit -n 96; exec \"$0\" prof --quiet -o \"$1\" \"$2\"";
    let mut command = Command::new("sh");
    command.args(["-c", line, env!("CARGO_BIN_EXE_kymo")]);
    let database = folder.path().join("database");
    let done = run(command.arg(&database).arg(&input));
    assert_eq!(done, (Some(0), String::new(), String::new()));
    assert_eq!(whole(&database), [(3, 200.0)]);
}

#[test]
fn force_replaces_a_database_and_nothing_else() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0]);
    let before = names(&input);
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("precious")).unwrap();
    fs::write(at("precious/thesis.tex"), "thesis").unwrap();
    fs::write(at("file"), "thesis").unwrap();
    let force = |output: &Path| run(kymo().args(["prof", "-f", "-o"]).arg(output).arg(&input));
    let refused = [
        (input.clone(), "the output is the input"),
        (folder.path().to_path_buf(), "the output is a directory with the input in it"),
        (input.join("inner"), "the output lies in the input"),
        (at("precious"), "is no HPCToolkit database"),
        (at("file"), "is no HPCToolkit database"),
    ];
    for (output, why) in refused {
        let (code, _, said) = force(&output);
        assert!(code == Some(1) && said.contains(why), "{}: {said}", output.display());
    }
    assert_eq!(names(&input), before);
    assert_eq!(fs::read_to_string(at("precious/thesis.tex")).unwrap(), "thesis");
    assert_eq!(fs::read_to_string(at("file")).unwrap(), "thesis");
    for _ in 0..2 {
        let (code, _, said) = force(&at("database"));
        assert_eq!(code, Some(0), "{said}");
    }
}

#[test]
fn repair_replaces_a_measurement_and_nothing_else() {
    let folder = folder();
    let input = measurement(folder.path(), "app", 0, &[1.0]);
    let precious = folder.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("thesis.tex"), "thesis").unwrap();
    let (code, _, said) = run(kymo().args(["repair", "-f"]).arg(&input).arg(&precious));
    assert!(code == Some(1) && said.contains("is no HPCToolkit measurements"), "{said}");
    assert_eq!(names(&precious), ["thesis.tex"]);
}
