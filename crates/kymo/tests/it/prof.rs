//! Measurements into databases, compared with what hpcprof made of the same measurements.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::support::{folder, kymo, run};
use kymo_conformance::shared;
use serde_json::Value;

/// Instructions within a line, which are not listed. Where a module has no names here, its
/// instructions are listed where hpcprof lists functions: what is measured at them is the same.
const UNLISTED: &str = "<not listed>";

/// Measurements with structure files in the order of their names, with what cannot be the same:
/// names that stand in the path of every difference. The kernel's symbols are not there, so that
/// instructions in it have no names.
const PAIRS: &[(&str, &[&str])] = &[
    ("loops-cputime-t", &[]),
    ("loops-cuda-nvidia-t", &[]),
    ("loops-cuda-nvidiapc-t", &[]),
    ("loops-hip-amd-t", &[]),
    ("loops-perf", &["kernel_symbols/vmlinux", UNLISTED]),
    ("recursion-cuda-nvidiapc-t", &[]),
    ("small", &[]),
];

/// The same without structure files, on a machine that has none of the programs. There an image of
/// the vdso was, which is not here.
const PAIRS_WITHOUT: &[(&str, &[&str])] = &[
    ("loops-cputime-t", &["vdso/", UNLISTED]),
    ("loops-cuda-nvidia-t", &[]),
    ("loops-cuda-nvidiapc-t", &[]),
    ("loops-hip-amd-t", &[]),
    ("loops-perf", &["vdso/", "kernel_symbols/vmlinux", UNLISTED]),
    ("recursion-cuda-nvidiapc-t", &[]),
    ("small", &[]),
];

/// Measurements of programs of our own and of Debian's.
const MADE_HERE: &[&str] = &[
    "deep",
    "matmul-omp",
    "matmul-omp-64",
    "matmul-omp-multi",
    "pipeline",
    "python",
    "rustwork",
    "templates",
    "xz",
    "zstd",
];

/// Makes a database, and expects nothing to be wrong with the measurement.
fn prof(measurement: &Path, to: &Path, more: &[&str]) {
    let mut command = kymo();
    command.args(["prof", "--compat", "-o"]).arg(to).arg(measurement).args(more);
    let (code, _, said) = run(&mut command);
    assert_eq!((code, said.as_str()), (Some(0), ""), "{}", measurement.display());
    // Notes are no findings.
    let (code, out, _) = run(kymo().arg("check").arg(to));
    assert_eq!((code, out.as_str()), (Some(0), ""), "{}", measurement.display());
}

/// What differs between two databases, but for what has one of these names in its path.
fn differences(one: &Path, other: &Path, excepted: &[&str]) -> Vec<String> {
    let (code, out, said) = run(kymo().args(["diff", "--exact", "--json"]).args([one, other]));
    assert!(matches!(code, Some(0 | 3)), "{said}");
    let path = |line: &str| {
        let difference: Value = serde_json::from_str(line).unwrap();
        difference.get("path").unwrap().as_str().unwrap().to_owned()
    };
    let found = out.lines().filter(|line| !is_excepted(&path(line), excepted));
    found.map(str::to_owned).collect()
}

/// Returns true if one of these names stands in a path.
fn is_excepted(path: &str, excepted: &[&str]) -> bool {
    excepted.iter().any(|name| path.contains(name))
}

/// Expects no difference but those that are excepted, and each of these.
fn assert_same_but(name: &str, one: &Path, other: &Path, excepted: &[&str]) {
    let all = differences(one, other, &[]);
    for named in excepted {
        let is_met = all.iter().any(|difference| difference.contains(named));
        assert!(is_met, "{name}: {named} is no exception any more");
    }
    assert_same(name, one, other, excepted);
}

fn assert_same(name: &str, one: &Path, other: &Path, excepted: &[&str]) {
    let (lines, names): (Vec<&str>, Vec<&str>) =
        excepted.iter().partition(|name| name.starts_with("line "));
    if names.contains(&UNLISTED) {
        let is_told = |path: &str| is_excepted(path, &names);
        assert_nothing_is_lost(name, one, other, "point", &is_told);
    }
    let found = but_for_lines(differences(one, other, &names), &lines);
    let first: Vec<_> = found.iter().take(3).collect();
    assert!(found.is_empty(), "{name}: {} differences, first {first:#?}", found.len());
}

/// What still differs when some lines are taken for one: what each has there is added up, whatever is
/// below it, and samples of one are samples of the other.
fn but_for_lines(found: Vec<String>, lines: &[&str]) -> Vec<String> {
    let one_line = |path: &str| {
        let steps = path.split(" > ").map(|step| if lines.contains(&step) { "*" } else { step });
        steps.collect::<Vec<_>>().join(" > ")
    };
    let mut sums: BTreeMap<Vec<String>, [f64; 2]> = BTreeMap::new();
    let mut rest = Vec::new();
    for line in found {
        let row: Value = serde_json::from_str(&line).unwrap();
        let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default();
        let path = one_line(text("path"));
        let is_of_lines = path != text("path");
        match text("kind") {
            "value" if is_of_lines => {
                let names = ["thread", "statistic", "metric", "scope"].map(text);
                let key = names.into_iter().chain([path.as_str()]).map(str::to_owned).collect();
                let values: &mut [f64; 2] = sums.entry(key).or_default();
                for (sum, key) in values.iter_mut().zip(["one", "other"]) {
                    *sum += row.get(key).and_then(Value::as_f64).unwrap();
                }
            }
            // What it has is told as well.
            "context" if is_of_lines => {}
            "sample"
                if path == one_line(text("other_path"))
                    && row.get("time_ns") == row.get("other_time_ns") => {}
            _ => rest.push(line),
        }
    }
    let is_apart = |[one, other]: [f64; 2]| (one - other).abs() > 1e-9 * one.abs().max(other.abs());
    let apart = sums.into_iter().filter(|(_, sums)| is_apart(*sums));
    rest.extend(apart.map(|(names, sums)| format!("{names:?}: {sums:?}")));
    rest
}

/// Expects that what is excepted has together what it has in the other database: each thread, and all
/// threads, as much of each metric in this reach, whether instructions are listed or not.
fn assert_nothing_is_lost(
    name: &str,
    one: &Path,
    other: &Path,
    reach: &str,
    is_excepted: &dyn Fn(&str) -> bool,
) {
    let (_, out, _) = run(kymo().args(["diff", "--exact", "--json"]).args([one, other]));
    let mut sums: BTreeMap<[String; 3], [f64; 2]> = BTreeMap::new();
    for line in out.lines() {
        let found: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| found.get(key).and_then(Value::as_str).unwrap_or_default();
        if is_excepted(text("path")) && text("scope") == reach {
            let key = ["thread", "statistic", "metric"].map(|key| text(key).to_owned());
            let values = sums.entry(key).or_default();
            for (sum, key) in values.iter_mut().zip(["one", "other"]) {
                *sum += found.get(key).and_then(Value::as_f64).unwrap();
            }
        }
    }
    for (names, [one, other]) in sums {
        assert!((one - other).abs() <= 1e-9 * one.abs(), "{name}: {names:?} {one} {other}");
    }
}

#[test]
fn databases_with_structure_are_those_of_hpcprof() {
    let Some(pairs) = shared::file("hpctoolkit/pairs") else { return };
    let made = folder();
    for (name, excepted) in PAIRS {
        let to = made.path().join(name);
        prof(&pairs.join("meas").join(format!("{name}.m")), &to, &[]);
        let expected = pairs.join("dbase").join(format!("{name}.d"));
        assert_same_but(name, &to, &expected, excepted);
        assert_eq!(shown(&to), shown(&expected), "how metrics of {name} are shown");
    }
}

/// How metrics are shown: inputs, which hpcprof writes in any order, and what is shown, in its order.
fn shown(database: &Path) -> [Vec<String>; 2] {
    let text = fs::read_to_string(database.join("metrics/default.yaml")).unwrap();
    let (inputs, roots) = text.split_once("\nroots:").unwrap();
    let item = |text: &str, begin| text.split(begin).skip(1).map(unquoted).collect::<Vec<_>>();
    let mut inputs = item(inputs, "\n  - &");
    inputs.sort();
    [inputs, item(roots, "\n  - name: ")]
}

/// Quotes are as the writer likes them.
fn unquoted(text: &str) -> String {
    text.replace('"', "").trim().to_owned()
}

#[test]
fn databases_of_unknown_programs_are_those_of_hpcprof() {
    let Some(pairs) = shared::file("hpctoolkit/pairs") else { return };
    let made = folder();
    // A library of this machine has the path of one that was measured.
    let empty = made.path().join("empty");
    fs::create_dir(&empty).unwrap();
    fs::write(empty.join("libgomp.so.1.0.0"), "").unwrap();
    let replace = format!("/usr/lib/x86_64-linux-gnu={}", empty.display());
    for (name, excepted) in PAIRS_WITHOUT {
        let measurement = made.path().join(format!("{name}.m"));
        fs::create_dir(&measurement).unwrap();
        let from = pairs.join("meas").join(format!("{name}.m"));
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
            let is_recording = entry.path().extension().is_some_and(|found| found != "hpcstruct");
            if is_recording {
                fs::copy(entry.path(), measurement.join(entry.file_name())).unwrap();
            }
        }
        let to = made.path().join(name);
        prof(&measurement, &to, &["-R", &replace]);
        let expected = pairs.join("dbase").join(format!("{name}.nostruct.d"));
        assert_same_but(name, &to, &expected, excepted);
    }
}

#[test]
fn databases_of_programs_here_are_those_of_hpcprof() {
    let Some(folders) = shared::file("hpctoolkit/made-here") else { return };
    let made = folder();
    for name in MADE_HERE {
        let measurement = linked(&folders.join(name).join("measurements"), made.path());
        let to = made.path().join(format!("{name}-database"));
        prof(&measurement, &to, &[]);
        let expected = folders.join(name).join("database.struct");
        assert_same(name, &to, &expected, &[]);
        assert_eq!(shown(&to), shown(&expected), "how metrics of {name} are shown");
        fs::remove_dir_all(measurement).unwrap();
    }
}

/// Measurements of which programs and libraries tell, and what differs: names that stand in the path
/// of every difference.
const WITHOUT_STRUCTURE: &[(&str, &[&str])] = &[
    ("deep", &[]),
    ("matmul-omp", &[]),
    ("matmul-omp-64", &[RECORDER]),
    ("matmul-omp-multi", &[RECORDER]),
    ("pipeline", &[]),
    ("python", &[]),
    ("rustwork", &[]),
    ("templates", TEMPLATES),
    ("xz", &[]),
    ("zstd", &[]),
];

/// Of lines at one address hpcprof takes the one whose file lies lowest in its memory: there, these
/// differ. Names with a pack of references, too: `cpp_demangle` prints `A const` for `A const&` there
/// (docs/prof.md).
const TEMPLATES: &[&str] = &[
    "stl_map.h:511 > inlined function std::_Rb_tree<",
    "line /usr/include/c++/12/bits/alloc_traits.h:463",
    "line /usr/include/c++/12/bits/allocator.h:159",
    "line /usr/include/c++/12/bits/allocator.h:174",
    "line /usr/include/c++/12/bits/basic_string.h:192",
    "line /usr/include/c++/12/bits/basic_string.h:199",
    "line /usr/include/c++/12/bits/basic_string.h:228",
    "line /usr/include/c++/12/bits/new_allocator.h:112",
    "line /usr/include/c++/12/bits/predefined_ops.h:157",
    "line /usr/include/c++/12/bits/predefined_ops.h:158",
    "line /usr/include/c++/12/bits/stl_algo.h:87",
    "line /usr/include/c++/12/bits/stl_algo.h:1867",
    "line /usr/include/c++/12/bits/stl_algo.h:1870",
];

/// The recorder's own library, which is not kept.
const RECORDER: &str = "/opt/hpctoolkit/lib/libhpcrun.so";

#[test]
fn databases_without_structure_are_those_of_hpcprof() {
    let Some(folders) = shared::file("hpctoolkit/made-here") else { return };
    let ids = fs::read_to_string(folders.join("BUILD-IDS.tsv")).unwrap();
    let made = folder();
    let demo = format!("/opt/demo={}", folders.join("demo").display());
    let others: Vec<&str> = ids.lines().skip(1).filter(|line| !is_there(line)).collect();
    let others = others.into_iter().filter_map(|line| line.split('\t').next());
    let others: Vec<&str> = others.filter(|module| !module.starts_with("/opt/demo")).collect();
    // Not by a macro: what those print is only shown when the test fails.
    let said = format!("left out, as not those that were measured: {}\n", others.join(", "));
    std::io::stderr().write_all(said.as_bytes()).unwrap();
    for (name, excepted) in WITHOUT_STRUCTURE {
        let measurement = linked(&folders.join(name).join("measurements"), made.path());
        fs::remove_dir_all(measurement.join("structs")).unwrap();
        let to = made.path().join(format!("{name}-database"));
        let listed = fs::read_to_string(folders.join(name).join("measurements/all.lm")).unwrap();
        let replace = if listed.contains("/opt/demo") { &["-R", &demo][..] } else { &[] };
        prof(&measurement, &to, replace);
        let others = others.iter().copied().filter(|module| *module != RECORDER);
        let others: Vec<_> = others.filter(|module| listed.contains(*module)).collect();
        let expected = folders.join(name).join("database");
        let all = differences(&to, &expected, &[]);
        for named in *excepted {
            let is_met = all.iter().any(|difference| difference.contains(named));
            assert!(is_met, "{name}: {named} is no exception any more");
        }
        let mut excepted = [excepted, others.as_slice()].concat();
        let is_of_module = |name: &&&str| name.starts_with('/');
        let mut absent = excepted.iter().filter(is_of_module);
        if absent.any(|module| all.iter().any(|difference| difference.contains(module))) {
            // Instructions of theirs are listed where functions are known.
            excepted.push(UNLISTED);
        }
        assert_same(name, &to, &expected, &excepted);
        fs::remove_dir_all(measurement).unwrap();
    }
}

/// Returns true if a module has the build-id that it had, and its debug file is there if it had
/// one.
fn is_there(line: &str) -> bool {
    let mut cells = line.split('\t');
    let (module, id) = (cells.next().unwrap(), cells.next().unwrap());
    if module == RECORDER || id == "-" {
        return false;
    }
    let digits = |at: usize| u8::from_str_radix(id.get(at..at + 2).unwrap(), 16).unwrap();
    let bytes: Vec<u8> = (0..id.len()).step_by(2).map(digits).collect();
    let head = fs::read(module).unwrap_or_default();
    let (first, rest) = id.split_at(2);
    let debug = Path::new("/usr/lib/debug/.build-id").join(first).join(format!("{rest}.debug"));
    let is_it = head.windows(bytes.len()).take(1 << 14).any(|part| part == bytes);
    let had_debug = ["/libc.so", "/libm.so", "/ld-linux"].iter().any(|name| module.contains(name));
    is_it && (debug.exists() || !had_debug)
}

/// The same measurement with structure files where only their paths are: links came as files.
fn linked(measurement: &Path, below: &Path) -> PathBuf {
    let copy = below.join("measurement");
    fs::create_dir_all(copy.join("structs")).unwrap();
    for entry in fs::read_dir(measurement).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.extension().is_some_and(|found| found == "hpcrun" || found == "hpctrace") {
            fs::copy(&path, copy.join(entry.file_name())).unwrap();
        }
    }
    let structs = measurement.join("structs");
    for entry in fs::read_dir(&structs).unwrap().map(Result::unwrap) {
        if entry.path().extension().is_none_or(|found| found != "hpcstruct") {
            continue;
        }
        let text = fs::read_to_string(entry.path()).unwrap();
        let from = if text.starts_with('<') { entry.path() } else { structs.join(text.trim()) };
        fs::copy(from, copy.join("structs").join(entry.file_name())).unwrap();
    }
    copy
}

/// A measurement of three threads, of which one may be damaged.
fn measurement(folder: &Path, damaged: bool) -> PathBuf {
    let path = folder.join("hpctoolkit-app-measurements");
    fs::create_dir(&path).unwrap();
    for thread in 0..3_u32 {
        let mut builder = kymo_hpcrun::ProfileBuilder::new("app");
        let program = builder.load_module("/none/app", None).unwrap();
        let time = builder.metric("CPUTIME (sec)", "time on a CPU", true).unwrap();
        let main = builder.child(kymo_hpcrun::ProfileBuilder::ROOT, program, 0x1187);
        let leaf = builder.child(main, program, 0x1200 + u64::from(thread));
        builder.add(leaf, time, f64::from(thread + 1));
        let mut bytes = Vec::new();
        builder.write(&mut bytes).unwrap();
        if damaged && thread == 1 {
            bytes.truncate(bytes.len() / 2);
        }
        fs::write(path.join(format!("app-000000-00{thread}-1-2-0.hpcrun")), bytes).unwrap();
    }
    path
}

#[test]
fn a_damaged_profile_is_left_out_and_said_or_refused() {
    let folder = folder();
    let path = measurement(folder.path(), true);
    let (code, _, said) = run(kymo().args(["prof", "--strict"]).arg(&path));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("app-000000-001-1-2-0.hpcrun"), "{said}");
    let database = folder.path().join("hpctoolkit-app-database");
    assert!(!database.exists());
    let (code, out, said) = run(kymo().args(["prof", "--json"]).arg(&path));
    assert_eq!(code, Some(3), "{said}");
    let summary: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(summary.get("threads"), Some(&serde_json::json!(2)));
    assert!(said.contains("app-000000-001-1-2-0.hpcrun"), "{said}");
    let (code, out, _) = run(kymo().args(["top", "--json"]).arg(&database));
    assert_eq!(code, Some(0));
    assert!(out.contains("0x1200") && !out.contains("0x1201") && out.contains("0x1202"), "{out}");
}

#[test]
fn a_database_that_is_there_is_replaced_only_by_force_and_is_the_same_bytes() {
    let folder = folder();
    let path = measurement(folder.path(), false);
    let database = folder.path().join("hpctoolkit-app-database");
    let files = || ["meta.db", "profile.db", "cct.db"].map(|n| fs::read(database.join(n)).unwrap());
    let (code, _, said) = run(kymo().args(["prof", "-j", "1", "-M", "extrema"]).arg(&path));
    assert_eq!(code, Some(0), "{said}");
    let first = files();
    let (code, _, said) = run(kymo().arg("prof").arg(&path));
    assert_eq!(code, Some(1), "{said}");
    let (code, _, said) = run(kymo().args(["prof", "-f", "-j", "2", "-M", "extrema"]).arg(&path));
    assert_eq!(code, Some(0), "{said}");
    assert!(first == files(), "one processor and two make different databases");
    let (code, out, said) = run(kymo().arg("check").arg(&database));
    assert_eq!(code, Some(0), "{out}{said}");
}
