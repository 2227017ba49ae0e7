//! Measurements that are strange, hostile or contradict themselves: `kymo prof` takes what it can,
//! says what it cannot, and fails for none of them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{folder, kymo, run};
use kymo_hpcrun::{Metric, MetricFlags, ProfileBuilder, Str};
use serde_json::Value;

/// A metric of real numbers; `show` says how far it reaches.
fn metric(name: &str, show: u8) -> Metric {
    let flags = [1, 0, 2, 0, 0, 0, show, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    Metric::new(name, MetricFlags::Shipped(flags))
}

fn computed(name: &str, formula: &str) -> Metric {
    Metric { formula: Str::from(formula), ..metric(name, 1) }
}

/// A thread with these metrics: 0x1187 calls 0x1200, which has the number of each metric and 1 as
/// its value.
fn thread(number: u64, metrics: &[Metric]) -> ProfileBuilder {
    let mut builder = ProfileBuilder::new("app");
    builder.id(3 | 3 << 14, number, number);
    let module = builder.load_module("/none/app", None).unwrap();
    let main = builder.child(ProfileBuilder::ROOT, module, 0x1187);
    let leaf = builder.child(main, module, 0x1200);
    for (metric, value) in metrics.iter().zip([1.0, 2.0, 3.0]) {
        let metric = builder.add_metric(metric.clone()).unwrap();
        builder.add(leaf, metric, value);
    }
    builder
}

fn measurement(folder: &Path, threads: &[ProfileBuilder]) -> PathBuf {
    let path = folder.join("measurements");
    fs::create_dir_all(&path).unwrap();
    for (number, thread) in threads.iter().enumerate() {
        let mut bytes = Vec::new();
        thread.write(&mut bytes).unwrap();
        fs::write(path.join(format!("app-000000-{number:03}-1-2-0.hpcrun")), bytes).unwrap();
    }
    path
}

/// Makes a database, and gives the exit code, the rules that were broken, and what was said.
fn prof(measurement: &Path, arguments: &[&str]) -> (Option<i32>, Vec<String>, String) {
    let database = measurement.with_file_name("database");
    let mut command = kymo();
    command.args(["prof", "--json", "-f", "-o"]).arg(&database).args(arguments).arg(measurement);
    let (code, out, said) = run(&mut command);
    let made: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{code:?} {said}"));
    let findings = made["findings"].as_array().unwrap().iter();
    let rules = findings.map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect();
    (code, rules, said)
}

/// Expects nothing to be wrong with the database that was made.
fn assert_sound(measurement: &Path) {
    let database = measurement.with_file_name("database");
    let (code, out, said) = run(kymo().arg("check").arg(&database));
    assert_eq!(code, Some(0), "{out}{said}");
}

/// What the whole program has of each metric, in all threads together.
fn totals(measurement: &Path) -> Vec<(u32, f64)> {
    let arguments = ["convert", "--table", "values", "--to", "csv", "--filter", "profile=0"];
    let database = measurement.with_file_name("database");
    let (code, out, said) = run(kymo().args(arguments).arg(database).arg("-"));
    assert_eq!(code, Some(0), "{said}");
    let cells = out.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let whole = cells.filter(|cells| cells[2] == "0");
    whole.map(|cells| (cells[3].parse().unwrap(), cells[4].parse().unwrap())).collect()
}

#[test]
fn a_value_of_a_computed_metric_is_left_out_and_said() {
    let folder = folder();
    let threads = [thread(0, &[metric("TIME", 1), computed("RATIO", "#0/#0")])];
    let input = measurement(folder.path(), &threads);
    let (code, rules, said) = prof(&input, &[]);
    assert_eq!((code, &rules[..]), (Some(3), &["value-computed".to_owned()][..]));
    assert!(said.contains("1 value is of a metric that is computed by a formula"), "{said}");
    // Of each metric the fourth reach is that of the whole program.
    assert_sound(&input);
    assert_eq!(totals(&input), [(3, 1.0)]);
    let (code, out, _) = run(kymo().arg("check").arg(&input));
    assert!(code == Some(3) && out.contains("value-computed"), "{out}");
}

#[test]
fn a_formula_of_very_many_signs_is_left_out_and_said() {
    let folder = folder();
    let long = computed("LONG", &format!("1{}", "+1".repeat(400_000)));
    let input = measurement(folder.path(), &[thread(0, &[metric("TIME", 1)])]);
    let mut builder = thread(0, &[metric("TIME", 1)]);
    builder.add_metric(long).unwrap();
    let mut bytes = Vec::new();
    builder.write(&mut bytes).unwrap();
    fs::write(input.join("app-000000-000-1-2-0.hpcrun"), bytes).unwrap();
    let (code, rules, _) = prof(&input, &[]);
    assert_eq!((code, &rules[..]), (Some(3), &["metric-formula".to_owned()][..]));
    assert_sound(&input);
    assert_eq!(totals(&input), [(3, 1.0)]);
    let (code, out, _) = run(kymo().arg("check").arg(&input));
    assert!(code == Some(3) && out.contains("metric-formula"), "{out}");
}

#[test]
fn a_formula_of_a_formula_is_kept_and_one_that_names_nothing_is_said() {
    let folder = folder();
    let computed = [computed("OUT", "#99"), computed("MORE", "#3+1"), computed("GOOD", "#0*2")];
    let input = measurement(folder.path(), &[thread(0, &[metric("TIME", 1)])]);
    let mut builder = thread(0, &[metric("TIME", 1)]);
    for computed in computed {
        builder.add_metric(computed).unwrap();
    }
    let mut bytes = Vec::new();
    builder.write(&mut bytes).unwrap();
    fs::write(input.join("app-000000-000-1-2-0.hpcrun"), bytes).unwrap();
    let (code, rules, said) = prof(&input, &[]);
    assert_eq!((code, &rules[..]), (Some(3), &["metric-formula".to_owned()][..]), "{said}");
    assert_sound(&input);
    // What MORE is computed by has the formula of GOOD in the place of its number.
    let shown = fs::read_to_string(folder.path().join("database/metrics/default.yaml")).unwrap();
    let more = shown.split("name: MORE").nth(1).unwrap().split("name: GOOD").next().unwrap();
    assert!(more.contains("{+: [{\"*\": [*TIME-sum") && more.contains(", 2]}, 1]}"), "{more}");
    assert!(!shown.contains("OUT"), "{shown}");
    let database = folder.path().join("strict");
    let (code, _, said) = run(kymo().args(["prof", "--strict", "-o"]).args([&database, &input]));
    assert!(code == Some(1) && said.contains("metric-formula") && !database.exists(), "{said}");
    let (code, out, _) = run(kymo().arg("check").arg(&input));
    let why = "#99 names #99, and there is no such metric";
    assert!(code == Some(3) && out.contains(why), "{out}");
}

/// Instructions of a line that nothing was measured at, and then one that something was.
#[test]
fn many_instructions_without_values_before_one_with_a_value_are_no_obstacle() {
    let folder = folder();
    let mut builder = ProfileBuilder::new("app");
    builder.id(3 | 3 << 14, 0, 0);
    let module = builder.load_module("/none/app", None).unwrap();
    let time = builder.add_metric(metric("TIME", 1)).unwrap();
    for offset in 0..6000 {
        let node = builder.child(ProfileBuilder::ROOT, module, 0x1200 + offset);
        builder.retain(node);
    }
    let last = builder.child(ProfileBuilder::ROOT, module, 0x9000);
    builder.add(last, time, 1.0);
    let input = measurement(folder.path(), &[builder]);
    fs::create_dir(input.join("structs")).unwrap();
    fs::write(
        input.join("structs/app.hpcstruct"),
        "<HPCToolkitStructure i=\"0\" version=\"4.9\" n=\"\">\n<LM i=\"2\" n=\"/none/app\" v=\"{}\">\n\
         <F i=\"3\" n=\"/x/a.c\">\n<P i=\"4\" n=\"f\" l=\"1\" v=\"{[0x1200-0x1201)}\">\
         <S i=\"5\" l=\"2\" v=\"{[0x1200-0x8000)}\"/></P>\n\
         <P i=\"6\" n=\"g\" l=\"9\" v=\"{[0x9000-0x9001)}\">\
         <S i=\"7\" l=\"9\" v=\"{[0x9000-0x9010)}\"/></P>\n</F>\n</LM>\n</HPCToolkitStructure>\n",
    )
    .unwrap();
    let (code, rules, said) = prof(&input, &[]);
    assert_eq!((code, rules.len()), (Some(0), 0), "{said}");
    assert_sound(&input);
    assert_eq!(totals(&input), [(3, 1.0)]);
}

/// Of a logical id a database has 32 bits, and hpcprof writes those.
#[test]
fn an_id_beyond_32_bits_is_cut_and_said_and_the_other_threads_are_there() {
    let folder = folder();
    let times = || [metric("TIME", 1)];
    let threads = [thread(0, &times()), thread((1 << 33) + 7, &times())];
    let input = measurement(folder.path(), &threads);
    let (code, rules, said) = prof(&input, &[]);
    assert_eq!((code, &rules[..]), (Some(3), &["thread-id".to_owned()][..]));
    let why =
        "app-000000-001-1-2-0.hpcrun: of THREAD 8589934599 only 32 bits are kept, which are 7";
    assert!(said.contains(why), "{said}");
    let (_, out, _) = run(kymo().arg("threads").arg(folder.path().join("database")));
    assert!(out.contains("THREAD 0") && out.contains("THREAD 7"), "{out}");
    assert_sound(&input);
    assert_eq!(totals(&input), [(3, 2.0)]);
}

#[test]
fn kinds_of_ids_that_have_no_place_are_left_out_and_said() {
    let folder = folder();
    let mut many = thread(0, &[metric("TIME", 1)]);
    for kind in 100..400 {
        many.id(kind | 3 << 14, 1, 1);
    }
    let input = measurement(folder.path(), &[many]);
    let (code, rules, said) = prof(&input, &[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(rules.contains(&"thread-id".to_owned()), "{rules:?}");
    assert!(said.contains("of its ids have no place in a database"), "{said}");
    assert_sound(&input);
    assert_eq!(totals(&input), [(3, 1.0)]);
}

/// Two metrics of one name in a table: their values come to one, which is said.
#[test]
fn metrics_that_are_the_same_are_taken_as_one_and_said() {
    let folder = folder();
    let input = measurement(folder.path(), &[thread(0, &[metric("TIME", 1), metric("TIME", 1)])]);
    let (code, rules, _) = prof(&input, &[]);
    assert_eq!((code, &rules[..]), (Some(3), &["duplicate-metric".to_owned()][..]));
    assert_sound(&input);
    assert_eq!(totals(&input), [(3, 3.0)]);
}

/// The first thread's metric reaches neither function nor loop, and so the second's does not either.
#[test]
fn settings_of_a_metric_that_threads_do_not_agree_on_are_said() {
    let folder = folder();
    let threads = [thread(0, &[metric("TIME", 2)]), thread(1, &[metric("TIME", 1)])];
    let input = measurement(folder.path(), &threads);
    let (code, rules, said) = prof(&input, &[]);
    assert_eq!((code, &rules[..]), (Some(3), &["metric-settings".to_owned()][..]));
    let why = "app-000000-001-1-2-0.hpcrun: TIME has other settings than in threads before it";
    assert!(said.contains(why), "{said}");
    assert_eq!(totals(&input), [(3, 2.0)]);
}

/// A metric whose values are neither counts nor real numbers, and one whose period is 0.
#[test]
fn values_that_cannot_be_read_as_numbers_are_left_out_and_said() {
    let folder = folder();
    let flags = [1, 0, 7, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let strange = Metric::new("STRANGE", MetricFlags::Shipped(flags));
    let nothing = Metric { period: 0, ..metric("NOTHING", 1) };
    let input = measurement(folder.path(), &[thread(0, &[metric("TIME", 1), strange, nothing])]);
    let (code, rules, said) = prof(&input, &[]);
    assert_eq!((code, rules), (Some(3), vec!["value-format".into(), "value-period".into()]));
    assert!(said.contains("1 value is of a metric whose period is 0, and left out"), "{said}");
    assert_sound(&input);
    assert_eq!(totals(&input), [(3, 1.0)]);
    let (_, out, _) = run(kymo().arg("check").arg(&input));
    assert!(out.contains("metric-format") && out.contains("metric-period"), "{out}");
}

/// One thread counts what the other measures.
#[test]
fn a_metric_that_is_a_count_in_one_thread_alone_is_said() {
    let folder = folder();
    let count = Metric::new("TIME", MetricFlags::raw(false));
    let threads = [thread(0, &[metric("TIME", 1)]), thread(1, &[count])];
    let input = measurement(folder.path(), &threads);
    let (code, rules, _) = prof(&input, &[]);
    assert_eq!((code, &rules[..]), (Some(3), &["metric-settings".to_owned()][..]));
}

#[test]
fn sums_that_no_number_is_large_enough_for_are_left_out_and_said() {
    let folder = folder();
    let huge = |number| {
        let mut builder = thread(number, &[metric("TIME", 1)]);
        let node = builder.child(ProfileBuilder::ROOT, 1, 0x1400);
        builder.add(node, 0, 1.0e308);
        builder
    };
    let input = measurement(folder.path(), &[huge(0), huge(1)]);
    let (code, rules, said) = prof(&input, &[]);
    assert_eq!((code, &rules[..]), (Some(3), &["sum-overflow".to_owned()][..]), "{said}");
    let (_, out, _) = run(kymo().arg("check").arg(folder.path().join("database")));
    assert!(!out.contains("not-a-number"), "{out}");
}

/// What is lost is said with `--quiet`, too: once for all threads that lose the same.
#[test]
fn quiet_and_strict_say_what_is_lost() {
    let folder = folder();
    let lost = |number| {
        let mut builder = thread(number, &[metric("TIME", 1)]);
        let node = builder.child(ProfileBuilder::ROOT, 1, 0x1400);
        builder.add(node, 0, f64::NAN);
        builder
    };
    let input = measurement(folder.path(), &[lost(0), lost(1), lost(2)]);
    let database = folder.path().join("database");
    let (code, out, said) = run(kymo().args(["prof", "-q", "-o"]).arg(&database).arg(&input));
    assert_eq!((code, out.as_str(), said.lines().count()), (Some(3), "", 1), "{said}");
    assert!(said.contains("value-number in app-000000-000-1-2-0.hpcrun"), "{said}");
    assert!(said.contains("and 2 more of this rule"), "{said}");
    fs::remove_dir_all(&database).unwrap();
    let (code, _, said) =
        run(kymo().args(["prof", "-q", "--strict", "-o"]).arg(&database).arg(&input));
    assert_eq!(code, Some(1));
    assert!(said.contains("value-number") && said.contains("nothing is made"), "{said}");
    assert!(!database.exists());
}

/// An id of an unknown kind is no loss, but something is wrong with such a file.
#[test]
fn strict_refuses_what_only_check_finds() {
    let folder = folder();
    let mut strange = thread(0, &[metric("TIME", 1)]);
    strange.id(0x63 | 3 << 14, 0, 0);
    let input = measurement(folder.path(), &[strange]);
    assert_eq!(prof(&input, &[]).0, Some(0));
    let database = folder.path().join("strict");
    let (code, _, said) = run(kymo().args(["prof", "--strict", "-o"]).arg(&database).arg(&input));
    assert!(code == Some(1) && said.contains("id-kind"), "{said}");
}

/// A structure file with this module, of a function on this line.
fn structure(to: &Path, module: &str, line: u32) {
    let text = format!(
        "<HPCToolkitStructure i=\"0\" version=\"4.9\" n=\"\">\n<LM i=\"2\" n=\"{module}\" v=\"{{}}\">\n\
         <F i=\"3\" n=\"/x/a.c\">\n<P i=\"4\" n=\"f\" l=\"1\" v=\"{{[0x1200-0x1201)}}\">\
         <S i=\"5\" l=\"{line}\" v=\"{{[0x1200-0x1300)}}\"/></P>\n</F>\n</LM>\n</HPCToolkitStructure>\n"
    );
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::write(to, text).unwrap();
}

/// Of 0x1200, which main calls, a structure file tells a line and no function.
#[test]
fn a_line_in_no_function_was_called_and_is_no_part_of_its_caller() {
    let folder = folder();
    let input = measurement(folder.path(), &[thread(0, &[metric("TIME", 1)])]);
    let text = "<HPCToolkitStructure i=\"0\" version=\"4.9\" n=\"\">\n\
        <LM i=\"2\" n=\"/none/app\" v=\"{}\">\n<F i=\"3\" n=\"/x/a.c\">\n\
        <S i=\"9\" l=\"77\" v=\"{[0x1200-0x1201)}\"/>\n\
        <P i=\"4\" n=\"main\" l=\"5\" v=\"{[0x1180-0x1181)}\">\
        <S i=\"5\" l=\"6\" v=\"{[0x1180-0x1190)}\"/></P>\n</F>\n</LM>\n</HPCToolkitStructure>\n";
    fs::create_dir_all(input.join("structs")).unwrap();
    fs::write(input.join("structs/a.hpcstruct"), text).unwrap();
    let (code, _, said) = prof(&input, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_sound(&input);
    let database = folder.path().join("database");
    let (code, out, said) = run(kymo().args(["top", "--json"]).arg(&database));
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let rows: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let item = |name: &str| {
        let row = rows.iter().find(|row| row["function"] == name).unwrap();
        (row["exclusive"].as_f64().unwrap(), row["inclusive"].as_f64().unwrap())
    };
    assert_eq!((item("main"), item("a.c:77")), ((0.0, 1.0), (1.0, 1.0)), "{out}");
    for arguments in [&["tree", "--show", "lines"][..], &["callers"], &["threads"], &["flame"]] {
        let (code, _, said) = run(kymo().args(arguments).arg(&database));
        assert_eq!(code, Some(0), "{arguments:?} {said}");
    }
}

#[test]
fn structure_files_that_tell_of_nothing_or_contradict_each_other_are_said() {
    let folder = folder();
    let time = |number| [thread(number, &[metric("TIME", 1)])];
    let one = measurement(&folder.path().join("one"), &time(0));
    let other = measurement(&folder.path().join("other"), &time(1));
    let structs = folder.path().join("structs");
    let strange = structs.join("strange.hpcstruct");
    structure(&strange, "/none/other", 7);
    let named = ["-S", strange.to_str().unwrap()];
    let (code, rules, said) = prof(&one, &named);
    assert_eq!((code, &rules[..]), (Some(3), &["structure".to_owned()][..]));
    assert!(said.contains("it tells of no module that was loaded"), "{said}");
    // A directory may have files of other programs, but not of these alone.
    let named_folder = ["-S", structs.to_str().unwrap()];
    assert_eq!(prof(&one, &named_folder).0, Some(3));
    structure(&structs.join("own.hpcstruct"), "/none/app", 7);
    assert_eq!(prof(&one, &named_folder).0, Some(0));
    fs::remove_file(structs.join("own.hpcstruct")).unwrap();
    // Of two measurements, each with a structure file of its own.
    structure(&one.join("structs/a.hpcstruct"), "/none/app", 7);
    structure(&other.join("structs/a.hpcstruct"), "/none/app", 7);
    let both = ["-o", "x", one.to_str().unwrap(), other.to_str().unwrap()];
    let make = || run(kymo().args(["prof", "-f"]).args(both).current_dir(folder.path()));
    assert_eq!(make().0, Some(0));
    structure(&other.join("structs/a.hpcstruct"), "/none/app", 8);
    let (code, _, said) = make();
    assert_eq!(code, Some(3));
    assert!(said.contains("one/measurements tells otherwise of /none/app, and counts"), "{said}");
    // Who names a file wants that one.
    structure(&strange, "/none/app", 9);
    let (code, _, said) =
        run(kymo().args(["prof", "-f"]).args(named).args(both).current_dir(folder.path()));
    assert_eq!(code, Some(0), "{said}");
    // It may be an old one, though.
    assert!(said.contains("strange.hpcstruct tells otherwise of /none/app, and counts"), "{said}");
    assert!(!said.contains("tells of no module"), "{said}");
}

/// A copy of a measurement beside it, as backups are.
#[test]
fn threads_that_are_in_two_measurements_are_said() {
    let folder = folder();
    let item = |name: &str, value| {
        let mut builder = thread(0, &[metric("TIME", 1)]);
        let node = builder.child(ProfileBuilder::ROOT, 1, 0x1400);
        builder.add(node, 0, value);
        measurement(&folder.path().join(name), &[builder])
    };
    let (first, copy, other) = (item("first", 1.0), item("copy", 1.0), item("other", 2.0));
    let database = folder.path().join("database");
    let (code, _, said) = run(kymo().args(["prof", "-o"]).args([&database, &first, &copy]));
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("duplicate-profile") && said.contains("both count"), "{said}");
    // Another run may have the same numbers and names.
    let (code, _, said) = run(kymo().args(["prof", "-f", "-o"]).args([&database, &first, &other]));
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn what_can_be_done_about_damage_is_said() {
    let folder = folder();
    let threads = [0, 1].map(|number| thread(number, &[metric("TIME", 1)]));
    let input = measurement(folder.path(), &threads);
    let file = input.join("app-000000-001-1-2-0.hpcrun");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 8]).unwrap();
    for (path, code) in [(&input, Some(3)), (&file, Some(1))] {
        let database = folder.path().join("database");
        let (found, _, said) = run(kymo().args(["prof", "-f", "-o"]).args([&database, path]));
        assert_eq!(found, code, "{said}");
        assert!(said.contains("`kymo repair ") && !said.contains("--salvage"), "{said}");
    }
}

#[test]
fn a_replacement_that_no_path_begins_with_is_said() {
    let folder = folder();
    let input = measurement(folder.path(), &[thread(0, &[metric("TIME", 1)])]);
    for (replace, is_said) in [("/nosuch=/x", true), ("/non=/x", true), ("/none=/x", false)] {
        let (code, _, said) = prof(&input, &["-R", replace]);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(said.contains(&format!("-R {replace} changes nothing")), is_said, "{said}");
    }
    // Sources count, too.
    let file = input.join("structs/a.hpcstruct");
    structure(&file, "/none/app", 7);
    let (_, _, said) = prof(&input, &["-R", "/x=/y"]);
    assert!(!said.contains("changes nothing"), "{said}");
}

/// As hpcprof leaves it out.
#[test]
fn a_thread_with_nodes_in_no_module_of_its_list_counts_or_is_left_out_as_hpcprof_does() {
    let folder = folder();
    let mut strange = thread(1, &[metric("TIME", 1)]);
    let node = strange.child(ProfileBuilder::ROOT, 1, 0x1400);
    strange.add(node, 0, 1.0);
    let input = measurement(folder.path(), &[thread(0, &[metric("TIME", 1)]), strange]);
    let file = input.join("app-000000-001-1-2-0.hpcrun");
    let mut bytes = fs::read(&file).unwrap();
    // The module of a node is two bytes, and its address follows.
    let at = bytes.windows(10).position(|part| part == [0, 1, 0, 0, 0, 0, 0, 0, 0x14, 0]).unwrap();
    bytes[at + 1] = 9;
    fs::write(&file, bytes).unwrap();
    let rules = ["node-module".to_owned()];
    let (code, found, said) = prof(&input, &[]);
    assert_eq!((code, &found[..]), (Some(3), &rules[..]), "{said}");
    assert_eq!(totals(&input), [(3, 3.0)]);
    let (code, found, said) = prof(&input, &["--compat"]);
    assert_eq!((code, &found[..]), (Some(3), &rules[..]), "{said}");
    assert!(said.contains("hpcprof leaves out such a thread"), "{said}");
    assert_eq!(totals(&input), [(3, 1.0)]);
    assert_sound(&input);
    // It is no thread of the database.
    let database = input.with_file_name("database");
    let arguments = ["convert", "--table", "profiles", "--to", "csv"];
    let (_, out, _) = run(kymo().args(arguments).arg(&database).arg("-"));
    assert_eq!(out.lines().count(), 3, "{out}");
    // Without any, nothing is made, and what was there stays.
    fs::remove_file(input.join("app-000000-000-1-2-0.hpcrun")).unwrap();
    let arguments = ["prof", "--compat", "-f", "-o"];
    let (code, _, said) = run(kymo().args(arguments).args([&database, &input]));
    assert!(code == Some(1) && said.contains("there is no thread"), "{said}");
    assert_eq!(totals(&input), [(3, 1.0)]);
}

/// What the program itself tells is not hidden by a structure file that is cut.
#[test]
fn of_a_structure_file_that_is_cut_nothing_counts() {
    let folder = folder();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/symbols/plain.elf");
    let program = fs::canonicalize(program).unwrap();
    let input = folder.path().join("measurements");
    fs::create_dir(&input).unwrap();
    let mut builder = ProfileBuilder::new("app");
    let time = builder.metric("TIME", "", true).unwrap();
    let module = builder.load_module(program.to_str().unwrap(), None).unwrap();
    let leaf = builder.child(ProfileBuilder::ROOT, module, 0x40_0127);
    builder.add(leaf, time, 1.0);
    let mut profile = Vec::new();
    builder.write(&mut profile).unwrap();
    fs::write(input.join("app-000000-000-1-2-0.hpcrun"), profile).unwrap();
    let top = || run(kymo().args(["top", "--json"]).arg(folder.path().join("database"))).1;
    assert_eq!(prof(&input, &["--compat"]).0, Some(0));
    let expected = top();
    let path = input.join("structs/a.hpcstruct");
    structure(&path, program.to_str().unwrap(), 7);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.find("</P>").unwrap()]).unwrap();
    for arguments in [&["--compat"][..], &["--loops=off"]] {
        let (code, rules, said) = prof(&input, arguments);
        assert_eq!((code, &rules[..]), (Some(3), &["structure".to_owned()][..]), "{said}");
        assert!(said.contains("the file is passed over"), "{said}");
        assert_eq!(top(), expected);
    }
}

#[test]
fn a_structure_file_that_is_no_xml_is_said() {
    let folder = folder();
    let input = measurement(folder.path(), &[thread(0, &[metric("TIME", 1)])]);
    let path = input.join("structs/a.hpcstruct");
    structure(&path, "/none/app", 7);
    let text = fs::read_to_string(&path).unwrap();
    for (sound, damaged) in
        [(" l=\"7\"", " l\u{1}\"7\""), ("i=\"5\"", "i=zz"), ("-0x1300", "-0x100")]
    {
        fs::write(&path, text.replace(sound, damaged)).unwrap();
        let (code, rules, _) = prof(&input, &[]);
        assert_eq!((code, &rules[..]), (Some(3), &["structure".to_owned()][..]), "{damaged}");
    }
}

#[test]
fn modules_without_names_are_listed_by_their_paths() {
    let folder = folder();
    let mut builder = thread(0, &[metric("TIME", 1)]);
    for number in 0..8 {
        let module = builder.load_module(&format!("/none/lib/lib{number}.so"), None).unwrap();
        let node = builder.child(ProfileBuilder::ROOT, module, 0x10);
        builder.add(node, 0, 1.0);
    }
    let input = measurement(folder.path(), &[builder]);
    let database = folder.path().join("database");
    let (code, out, said) = run(kymo().args(["prof", "-o"]).arg(&database).arg(&input));
    assert_eq!(code, Some(0), "{said}");
    let names: Vec<_> = (0..8).map(|number| format!("lib{number}.so")).collect();
    let libraries = format!("8 of 8 in /none/lib/{{{}}}: it is not there", names.join(","));
    assert!(
        out.contains(&libraries) && out.contains("2 of 2 in /none/app: it is not there"),
        "{out}"
    );
}

#[test]
fn more_processors_than_there_can_be_are_refused() {
    let folder = folder();
    let input = measurement(folder.path(), &[thread(0, &[metric("TIME", 1)])]);
    for jobs in ["0", "40000", "18446744073709551615", "99999999999999999999"] {
        let (code, _, said) = run(kymo().args(["prof", "-j", jobs]).arg(&input));
        assert_eq!(code, Some(2), "{jobs}: {said}");
    }
}

/// The trace of the thread was recorded and is not there; who wants none misses nothing.
#[test]
fn a_missing_trace_is_said_unless_none_is_wanted() {
    let folder = folder();
    let mut builder = thread(0, &[metric("TIME", 1)]);
    builder.pair("trace-min-time", "1700000000000000000");
    let input = measurement(folder.path(), &[builder]);
    let alone = input.join("app-000000-000-1-2-0.hpcrun");
    for path in [&input, &alone] {
        let database = folder.path().join("database");
        let mut command = kymo();
        command.args(["prof", "-f", "-o"]).arg(&database).arg(path);
        let (code, _, said) = run(&mut command);
        assert!(code == Some(3) && said.contains("no-trace"), "{said}");
        let (code, _, said) = run(command.arg("--no-traces"));
        assert_eq!((code, said.as_str()), (Some(0), ""));
    }
}

#[test]
fn why_there_is_no_thread_is_said() {
    let folder = folder();
    let input = measurement(folder.path(), &[thread(0, &[metric("TIME", 1)])]);
    let file = input.join("app-000000-000-1-2-0.hpcrun");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let (code, _, said) = run(kymo().arg("prof").arg(&input));
    assert_eq!(code, Some(1));
    assert!(said.contains("error profile in app-000000-000-1-2-0.hpcrun"), "{said}");
}

#[test]
fn a_structure_file_may_have_the_path_where_a_module_is_now() {
    let folder = folder();
    let input = measurement(folder.path(), &[thread(0, &[metric("TIME", 1)])]);
    let file = folder.path().join("moved.hpcstruct");
    structure(&file, "/home/x/app", 7);
    let named = ["-S", file.to_str().unwrap()];
    let (code, rules, _) = prof(&input, &named);
    assert_eq!((code, &rules[..]), (Some(3), &["structure".to_owned()][..]));
    let (code, rules, said) = prof(&input, &[&named[..], &["-R", "/none=/home/x"]].concat());
    assert_eq!((code, rules.len()), (Some(0), 0), "{said}");
    let (_, out, _) = run(kymo().arg("top").arg(folder.path().join("database")));
    assert!(out.contains("  f"), "{out}");
}

#[test]
fn debug_information_that_is_damaged_is_said() {
    let folder = folder();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/symbols/plain.elf");
    let mut bytes = fs::read(program).unwrap();
    let path = folder.path().join("app");
    let input = folder.path().join("measurements");
    fs::create_dir(&input).unwrap();
    let mut builder = ProfileBuilder::new("app");
    let time = builder.metric("TIME", "", true).unwrap();
    let module = builder.load_module(path.to_str().unwrap(), None).unwrap();
    let leaf = builder.child(ProfileBuilder::ROOT, module, 0x40_0127);
    builder.add(leaf, time, 1.0);
    let mut profile = Vec::new();
    builder.write(&mut profile).unwrap();
    fs::write(input.join("app-000000-000-1-2-0.hpcrun"), profile).unwrap();
    fs::write(&path, &bytes).unwrap();
    let (code, _, said) = prof(&input, &[]);
    assert_eq!(code, Some(0), "{said}");
    // What the first entry of a unit looks like is told of another kind of entry: its code stands
    // before DW_TAG_compile_unit, that it has children, and DW_AT_producer.
    let begin = [0x11, 1, 0x25];
    let places: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&begin)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at - 1] = 0x77;
    }
    fs::write(&path, &bytes).unwrap();
    let (code, rules, said) = prof(&input, &[]);
    assert_eq!((code, &rules[..]), (Some(3), &["symbols".to_owned()][..]), "{said}");
    assert!(said.contains("its debug information is damaged"), "{said}");
    // A program that is cut is damaged, and what was never a program is not.
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(prof(&input, &[]).0, Some(3));
    fs::write(&path, "no program").unwrap();
    assert_eq!(prof(&input, &[]).0, Some(0));
}

#[test]
fn force_replaces_no_directory_with_something_else_in_it() {
    let folder = folder();
    let input = measurement(folder.path(), &[thread(0, &[metric("TIME", 1)])]);
    let database = folder.path().join("database");
    assert_eq!(prof(&input, &[]).0, Some(0));
    for other in ["notes.txt", "metrics/mine.yaml", "src/mine.c", "src/x/y/mine.c"] {
        fs::create_dir_all(database.join(other).parent().unwrap()).unwrap();
        fs::write(database.join(other), "mine").unwrap();
        let (code, _, said) = run(kymo().args(["prof", "-f", "-o"]).args([&database, &input]));
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(other) && said.contains("no part of a database"), "{said}");
        assert_eq!(fs::read(database.join(other)).unwrap(), b"mine");
        fs::remove_file(database.join(other)).unwrap();
    }
    assert_eq!(prof(&input, &[]).0, Some(0));
}

#[test]
fn metrics_that_are_shown_in_few_scopes_make_sound_databases() {
    let folder = folder();
    for show in 0..4 {
        let input = measurement(folder.path(), &[thread(0, &[metric("TIME", show)])]);
        assert_eq!(prof(&input, &[]).0, Some(0));
        assert_sound(&input);
    }
}

/// It has no formula, and no value that calls are in.
#[test]
fn a_metric_that_is_shown_exclusive_of_calls_alone_is_measured() {
    let folder = folder();
    let input = measurement(folder.path(), &[thread(0, &[metric("ALL", 1), metric("OWN", 3)])]);
    assert_eq!(prof(&input, &[]).0, Some(0));
    let database = input.with_file_name("database");
    let (_, out, _) = run(kymo().arg("info").arg(&database));
    assert!(out.contains("OWN  2") && !out.contains("computed"), "{out}");
    let (code, out, said) = run(kymo().args(["tree", "-m", "OWN"]).arg(&database));
    assert_eq!((code, out.contains("app+0x1200")), (Some(0), true), "{out}{said}");
    let (code, _, said) = run(kymo().args(["flame", "--folded", "-m", "OWN"]).arg(&database));
    assert!(code == Some(1) && said.contains("OWN is not measured inclusive"), "{said}");
    // Whole numbers are not multiplied.
    let (code, out, said) = run(kymo().args(["flame", "--folded", "-m", "ALL"]).arg(&database));
    assert!(code == Some(0) && out.ends_with(" 1\n"), "{out}");
    assert!(said.ends_with("numbers are of ALL\n"), "{said}");
}

/// 0x1200 of the kernel, by a list with such lines.
#[test]
fn a_list_of_kernel_symbols_may_be_empty_and_have_weak_functions() {
    let folder = folder();
    let mut builder = thread(0, &[metric("TIME", 1)]);
    let kernel = builder.load_module("kernel_symbols/vmlinux.1", None).unwrap();
    let node = builder.child(ProfileBuilder::ROOT, kernel, 0x1204);
    builder.add(node, 0, 5.0);
    let input = measurement(folder.path(), &[builder]);
    fs::create_dir(input.join("kernel_symbols")).unwrap();
    let list = |text: &str| fs::write(input.join("kernel_symbols/vmlinux.1"), text).unwrap();
    list("");
    assert_eq!(prof(&input, &[]), (Some(0), Vec::new(), String::new()));
    list("1000 t before\n1200 W abort\n1300 T after\n");
    for (arguments, name) in [(&[][..], "abort [vmlinux]"), (&["--compat"], "before [vmlinux]")] {
        assert_eq!(prof(&input, arguments).0, Some(0));
        let (_, out, _) = run(kymo().arg("top").arg(input.with_file_name("database")));
        assert!(out.contains(name), "{out}");
    }
}

/// A measurement so large that its work is cut into parts, each for another processor.
#[test]
fn a_large_database_is_the_same_however_many_processors_make_it() {
    let folder = folder();
    let thread = |number: u64| {
        let mut builder = ProfileBuilder::new("app");
        builder.id(3 | 3 << 14, number, number);
        let module = builder.load_module("/none/app", None).unwrap();
        let metrics = ["A", "B", "C"].map(|name| builder.add_metric(metric(name, 1)).unwrap());
        let mut nodes = vec![ProfileBuilder::ROOT];
        for at in 0..30_000_u64 {
            let above = nodes[usize::try_from(at / 3).unwrap()];
            let node = builder.child(above, module, 0x1000 + at * (number + 1));
            nodes.push(node);
            // Not every metric has a value everywhere.
            let some = metrics.iter().zip([1, 2, 3]).filter(|(_, each)| at % each == 0);
            for (metric, _) in some {
                builder.add(node, *metric, 0.1 * f64::from(u32::try_from(at % 97).unwrap()));
            }
        }
        builder
    };
    let input = measurement(folder.path(), &[thread(0), thread(1), thread(2)]);
    let database = folder.path().join("database");
    let made = |jobs: &str| {
        let (code, _, said) = prof(&input, &["-j", jobs, "-M", "extrema"]);
        assert_eq!(code, Some(0), "{said}");
        ["meta.db", "profile.db", "cct.db"].map(|name| fs::read(database.join(name)).unwrap())
    };
    let first = made("1");
    for jobs in ["2", "3", "8"] {
        assert!(first == made(jobs), "{jobs} processors make another database than one");
    }
    assert_sound(&input);
}

/// A limit of the size of files, and signals of batch systems and clocks.
#[cfg(target_os = "linux")]
#[test]
fn nothing_half_made_stays_whatever_ends_it() {
    use nix::sys::signal::{Signal, kill};
    use std::process::{Command, Stdio};

    let folder = folder();
    measurement(folder.path(), &[thread(0, &[metric("TIME", 1)])]);
    let program = env!("CARGO_BIN_EXE_kymo");
    let limited = format!("ulimit -f 0; exec {program} prof -o database measurements");
    let mut command = Command::new("sh");
    let ended = command.args(["-c", &limited]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("too large"), "{said}");
    let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["measurements"]);
    for signal in [Signal::SIGTERM, Signal::SIGXCPU, Signal::SIGALRM] {
        // It waits for what it is to read.
        let mut command = Command::new(program);
        command.args(["prof", "-o", "database", "-"]).current_dir(folder.path());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let is_heard = || {
            let status = fs::read_to_string(&status).unwrap();
            let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
            u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal as i32 - 1) & 1 == 1
        };
        while !is_heard() {
            std::thread::yield_now();
        }
        let id = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
        kill(id, signal).unwrap();
        // Waiting would close it, and its end would be read before the signal is heard.
        let _input = child.stdin.take();
        assert_eq!(child.wait().unwrap().code(), Some(128 + signal as i32), "{signal}");
    }
}
