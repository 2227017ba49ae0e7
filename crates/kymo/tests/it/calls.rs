//! Recordings of calls, and what is odd about logs: times worked out by hand.

use std::fs;
use std::path::Path;

use crate::support::{folder, kymo, run};
use kymo_conformance::shared;
use serde_json::Value;

/// `main` from 0 to 100 ms calls `read` from 10 to 40 and from 50 to 60; `idle` never ends.
const CALLS: &str = r"# kymo log
# time = 'ms'
# [[line]]
# match = '^(?<time>\d+) (?<task>\S+) calls (?<name>\S+)$'
# class = 'call'
# [[line]]
# match = '^(?<time>\d+) (?<task>\S+) returns$'
# class = 'return'
0 app calls main
10 app calls read
40 app returns
50 app calls read
60 app returns
70 gui calls idle
100 app returns
100 gui calls draw
";

fn written(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_log_of_calls_tells_where_the_time_went() {
    let folder = folder();
    let log = written(folder.path(), "calls.log", CALLS);
    let on_log = |args: &[&str]| run(kymo().args(args).arg(&log));
    let (code, out, said) = on_log(&["top", "--json"]);
    assert_eq!(code, Some(0), "{said}");
    let seconds = |row: &Value, key: &str| (row[key].as_f64().unwrap() * 1000.0).round();
    let found: Vec<_> = rows(&out)
        .iter()
        .map(|row| {
            let name = row["function"].as_str().unwrap().to_owned();
            (name, seconds(row, "exclusive"), seconds(row, "inclusive"))
        })
        .filter(|(_, _, inclusive)| *inclusive > 0.0)
        .collect();
    let expected = [("main", 60.0, 100.0), ("read", 40.0, 40.0), ("idle", 30.0, 30.0)];
    assert_eq!(found, expected.map(|(name, own, all)| (name.to_owned(), own, all)));
    assert!(said.contains("2 calls are not over at the end"), "{said}");

    let (_, out, _) = on_log(&["top", "-m", "CALLS", "--json"]);
    let read = rows(&out).into_iter().find(|row| row["function"] == "read").unwrap();
    assert_eq!(read["exclusive"], 2.0);
    let (code, out, _) = on_log(&["flame", "--folded", "-o", "-"]);
    assert!(code == Some(0) && out.contains("main;read 4"), "{out}");
    let (code, out, _) = on_log(&["trace", "--json"]);
    let rows = rows(&out);
    let main = rows.iter().find(|row| row["function"] == "main").unwrap();
    assert_eq!((code, main["time_ns"].as_u64()), (Some(0), Some(60_000_000)));

    let (code, _, said) = on_log(&["load"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("calls of functions are: `kymo top`"), "{said}");
}

/// `f` from 10 to 30 us calls `g`, whose return is missing; `main` calls `h` from 40 to 50.
const MISSING: &str = r"# kymo log
# time = 'us'
# [[line]]
# match = '^(?<time>\d+) (?<task>\S+) > (?<name>\S+)$'
# class = 'call'
# [[line]]
# match = '^(?<time>\d+) (?<task>\S+) < (?<name>\S+)$'
# class = 'return'
0 t1 > main
10 t1 > f
20 t1 > g
30 t1 < f
40 t1 > h
50 t1 < h
60 t1 < main
";

#[test]
fn a_missing_return_is_said_and_moves_nothing_else() {
    let folder = folder();
    let log = written(folder.path(), "missing.log", MISSING);
    for converted in [None, Some("missing.bbbin"), Some("missing.rtc"), Some("missing.mcap")] {
        let path = converted.map_or_else(|| log.clone(), |name| folder.path().join(name));
        if converted.is_some() {
            let (code, _, said) = run(kymo().arg("convert").args([&log, &path]));
            assert!(code == Some(0) || code == Some(3), "{said}");
        }
        let (code, out, said) = run(kymo().args(["top", "--json"]).arg(&path));
        assert_eq!(code, Some(3), "{said}");
        let text = "1 call was over when another function returned: its own return is missing";
        assert!(said.contains(text), "{said}");
        let inclusive = |name: &str| {
            let row = rows(&out).into_iter().find(|row| row["function"] == name).unwrap();
            format!("{:.0}", row["inclusive"].as_f64().unwrap() * 1e6)
        };
        assert_eq!(["f", "g", "h", "main"].map(inclusive), ["20", "10", "10", "60"]);
        let (code, out, _) = run(kymo().args(["flame", "--folded", "-o", "-"]).arg(&path));
        assert!(code == Some(3) && out.contains("main;h "), "{out}");
        for command in ["tree", "callers", "trace"] {
            let (code, _, said) = run(kymo().arg(command).arg(&path));
            assert!(code == Some(3) && said.contains(text), "{command}: {said}");
        }
        let (code, _, said) = run(kymo().arg("diff").args([&path, &path]));
        assert!(code == Some(3) && said.contains(text), "{said}");
    }
    let bbbin = folder.path().join("missing.bbbin");
    let table = ["convert", "--to", "csv", "--table", "function_exits"];
    let (_, out, said) = run(kymo().args(table).arg(&bbbin).arg("-"));
    let names: Vec<_> =
        ["f", "h", "main"].into_iter().filter(|name| out.contains(&format!(",{name},"))).collect();
    assert_eq!((names, out.contains(",g,")), (vec!["f", "h", "main"], false), "{out} {said}");
}

/// In the other, `read` returns 5 ms later the first time: 5 ms of `main` are its.
#[test]
fn two_logs_of_calls_are_compared() {
    let folder = folder();
    let log = written(folder.path(), "calls.log", CALLS);
    let slower = written(folder.path(), "slower.log", &CALLS.replace("40 app", "45 app"));
    let (code, out, said) =
        run(kymo().args(["diff", "-m", "TIME (sec)", "--json"]).args([&log, &slower]));
    assert_eq!(code, Some(3), "{said}");
    let changes: Vec<_> = rows(&out)
        .iter()
        .map(|row| {
            let change_ms = (row["change"].as_f64().unwrap() * 1000.0).round();
            (row["path"].as_str().unwrap().to_owned(), change_ms)
        })
        .collect();
    assert_eq!(changes, [("main".to_owned(), -5.0), ("read".to_owned(), 5.0)]);
}

#[test]
fn functions_of_a_program_have_a_profile() {
    let Some(trace) = shared::file("traces/ctf/cyg-profile/glxgears-cyg-profile") else { return };
    for command in ["top", "tree", "callers", "threads", "trace"] {
        let (code, out, said) = run(kymo().arg(command).arg(&trace));
        assert_eq!(code, Some(0), "{command}: {said}");
        assert!(out.lines().count() > 1, "{command}: {out}");
    }
}

/// A runs for 0.2 s until B does, over midnight.
#[test]
fn a_log_goes_on_after_midnight() {
    let folder = folder();
    let grammar = r"# kymo log
# time = '%H:%M:%S%.f'
# [[line]]
# match = '^(?<time>\S+) run (?<task>\S+)$'
# class = 'switch'
";
    let lines = "23:59:59.900 run A\n00:00:00.100 run B\n00:00:00.400 run A\n";
    let log = written(folder.path(), "night.log", &format!("{grammar}{lines}"));
    let (code, out, said) = run(kymo().args(["load", "--json"]).arg(&log));
    assert_eq!(code, Some(0), "{said}");
    let mut ran: Vec<_> = rows(&out)
        .iter()
        .map(|row| (row["task"].to_string(), row["run_ns"].as_u64().unwrap()))
        .collect();
    ran.sort();
    let expected = [("\"A\"", 200_000_000), ("\"B\"", 300_000_000)];
    assert_eq!(ran, expected.map(|(task, ns)| (task.to_owned(), ns)));
    let (code, out, _) = run(kymo().args(["check", "--verbose"]).arg(&log));
    assert_eq!(code, Some(0));
    assert!(out.contains("starts-over") && out.contains("the next day"), "{out}");
}

/// Two processors in one row, where task 1 stops twice: what one command says, the other finds.
#[test]
fn what_has_no_processor_is_odd_for_check_too() {
    let switch = |time: &str, prev: u32, next: u32| {
        format!(
            "task {prev} {time}: sched:sched_switch: prev_comm=a prev_pid={prev} prev_prio=120 \
             prev_state=S ==> next_comm=b next_pid={next} next_prio=120\n"
        )
    };
    let text = switch("1.000001", 1, 2) + &switch("1.000002", 7, 8) + &switch("1.000003", 1, 3);
    let folder = folder();
    let log = written(folder.path(), "none.perf", &text);
    let (code, out, _) = run(kymo().arg("check").arg(&log));
    assert_eq!(code, Some(3));
    assert!(out.contains("no-processor") && out.contains("several are in one row"), "{out}");
    for command in ["load", "sched", "gantt"] {
        let (code, _, said) = run(kymo().arg(command).arg(&log));
        assert_eq!(code, Some(3), "{command}");
        assert!(said.contains("warning no-processor at 0x"), "{command}: {said}");
    }
}

/// 7 µs on the first processor and none on the second; 2 and 3 µs of the logger are one row.
#[test]
fn processors_are_added_up_on_request() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ctf/control");
    let (code, out, _) = run(kymo().args(["load", "--total", "--json"]).arg(&trace));
    assert_eq!(code, Some(0));
    let item = |name: &str| {
        let row = rows(&out).into_iter().find(|row| row["task"] == name).unwrap();
        assert_eq!(row["cpu"], "all processors");
        row["run_ns"].as_u64().unwrap()
    };
    assert_eq!([item("control-101"), item("logger-102"), item("interrupts")], [7_000, 5_000, 300]);
}

#[test]
fn a_broken_rule_names_the_file_of_its_event() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ctf/control");
    let folder = folder();
    let rules = "[[rule]]\ntask = 'control*'\nresponse_max = '5us'\n";
    let rules = written(folder.path(), "rules.toml", rules);
    let (code, out, _) = run(kymo().arg("assert").args([&rules, &trace]));
    assert_eq!(code, Some(3));
    assert!(out.contains(" control-101 in channel0_0 at 0x"), "{out}");
    let (code, _, said) = run(kymo().arg("assert").args([&trace.join("channel0_0"), &rules]));
    assert_eq!(code, Some(2));
    assert!(said.contains("the file of rules comes first"), "{said}");
    let (_, out, _) = run(kymo().args(["dump", "--json", "--stream", "channel0_1"]).arg(&trace));
    assert!(rows(&out).iter().all(|row| row["event_file"] == "channel0_1"), "{out}");
}

#[test]
fn repair_is_offered_only_where_it_can_be_done() {
    let folder = folder();
    let log = written(folder.path(), "x.log", "some text\n");
    let grammar = written(folder.path(), "g.toml", "time = 'h'\n");
    let (code, _, said) = run(kymo().args(["load", "--grammar"]).args([&grammar, &log]));
    assert_eq!(code, Some(1));
    assert!(said.contains("h is none of s, ms") && !said.contains("repair"), "{said}");
    // A grammar makes no text log of what is none.
    let bbbin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/bbbin/classes.bin");
    let good = "[[line]]\nmatch = '.*'\n";
    let grammar = written(folder.path(), "good.toml", good);
    let (_, out, _) = run(kymo().args(["info", "--grammar"]).args([&grammar, &bbbin]));
    assert!(out.contains("BBBin"), "{out}");
}
