//! What holds of every command.

use std::fs;

use kymo_conformance::shared;
use serde_json::Value;

use super::{GRAMMAR, json, log};
use crate::support::{folder, kymo, run};

#[test]
fn the_commands_of_the_readme_work_on_a_trace_of_lttng() {
    let Some(trace) = shared::file("traces/ctf/lttng-tracefile-rotation/kernel") else { return };
    let out = folder();
    let on_trace = |command: &str, more: &[&str]| run(kymo().arg(command).arg(&trace).args(more));

    // What babeltrace2's text of the switches adds up to, processor by processor.
    let (code, loads, _) = on_trace("load", &["-n1"]);
    assert_eq!(code, Some(0));
    for expected in ["cpu 0, 2.059 s, 6.6%", "cpu 1, 2.055 s, 5.3%", "cpu 3, 2.026 s, 7.4%"] {
        assert!(loads.contains(expected), "{loads}");
    }
    // Shares of one task are of its processors all the same.
    let (_, loads, _) = on_trace("load", &["--stream", "Xorg-1668"]);
    assert!(loads.contains("cpu 3, 2.026 s, 7.4% busy") && loads.contains("43.41 ms   2.1%"));

    // git-6743 is woken at 36.107045047, while it still runs, goes to sleep at .107045682 and runs
    // at .107050294. kworker/u16:0 stops 7 times in the state 4096, which is that of the preempted.
    let (code, figures, _) = on_trace("sched", &["--sort", "response", "--json", "-n0"]);
    let figures = json(&figures);
    let item = |name: &str| figures.iter().find(|item| item["task"] == name).unwrap();
    assert_eq!((code, &item("git-6743")["delay_max_ns"]), (Some(0), &Value::from(5247)));
    assert_eq!(item("git-6743")["preemptions"], 0);
    assert_eq!(item("kworker/u16:0-2282")["preemptions"], 7);
    assert!(
        figures
            .iter()
            .all(|value| value["run_max_ns"].as_u64() <= value["response_max_ns"].as_u64())
    );

    let picture = |command: &str, name: &str, more: &[&str]| {
        let path = out.path().join(name);
        let (code, _, said) = run(kymo().arg(command).arg(&trace).args(more).arg("-o").arg(&path));
        assert_eq!(code, Some(0), "{said}");
        (fs::read_to_string(path).unwrap(), said)
    };
    let (gantt, _) = picture("gantt", "gantt.svg", &[]);
    assert!(gantt.contains("Xorg-1668") && gantt.contains("cpu 3"));
    let (chart, said) = picture("messages", "chart.svg", &["--chart"]);
    assert!(said.contains("no messages are recorded in it; these are wakeups"), "{said}");
    assert!(chart.matches(">wakeup ").count() == 40 && chart.contains("Xorg-1668"));
    // There are 2,378 sched_waking and 5 sched_wakeup_new.
    let (_, pairs, _) = on_trace("messages", &["--json", "-n0"]);
    let sent = json(&pairs).iter().map(|value| value["sent"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sent, 2383);
    let (report, _) = picture("report", "report.html", &[]);
    for heading in ["Tasks over time", "Loads", "Response times", "Wakeups"] {
        assert!(report.contains(&format!("<h2>{heading}")), "{heading}");
    }
}

#[test]
fn ranges_that_make_no_sense_are_refused() {
    let out = folder();
    let path = log(out.path(), "0 cpu0 idle -> a\n10 cpu0 a -> idle\n");
    for (range, expected, why) in [
        (["--since", "5ms", "--until", "4ms"], 2, "the range ends before it begins"),
        (["--since", "1s", "--until", "2s"], 1, "it is from 0.000000000 to 0.010000000"),
    ] {
        for command in ["load", "sched", "gantt"] {
            let (code, _, said) = run(kymo().arg(command).args(range).arg(&path));
            assert!(code == Some(expected) && said.contains(why), "{command}: {said}");
        }
    }
}

#[test]
fn what_cannot_be_kept_is_said_by_every_command() {
    let folder = folder();
    // One pair of messages more than is told apart, and the last takes five seconds.
    let mut lines: Vec<_> = (0..=65536).map(|name| format!("0 a sends m{name} to b\n")).collect();
    lines.push("5000 a is late\n".to_owned());
    let path = log(folder.path(), &lines.concat());
    let rules = folder.path().join("rules.toml");
    fs::write(&rules, "[[rule]]\nmessage = 'm65536'\nlatency_max = '10ms'\n").unwrap();
    let page = folder.path().join("report.html");
    let commands = [
        vec!["messages".as_ref(), path.as_os_str()],
        vec!["assert".as_ref(), rules.as_os_str(), path.as_os_str()],
        vec!["report".as_ref(), path.as_os_str(), "-o".as_ref(), page.as_os_str()],
    ];
    for command in commands {
        let (code, _, said) = run(kymo().args(&command));
        assert_eq!(code, Some(3), "{command:?}: {said}");
        assert!(said.contains("1 message is of a pair beyond those"), "{command:?}: {said}");
        assert!(!said.contains("there is no such message"), "{said}");
    }
}

/// Two boards have tasks, messages and machines of the same names and numbers.
#[test]
fn rows_of_one_name_can_be_told_apart() {
    let out = folder();
    let path = |name: &str| out.path().join(name);
    let lines = "0 release a 5\n0 cpu0 idle -> a\n1 a sends M to b\n2 cpu0 a -> b\n\
                 3 b gets M from a\n4 motor is on\n5 motor is off\n6 cpu0 b -> idle\n";
    for name in ["one", "two"] {
        let (file, to) = (path(name).with_extension("log"), path(name).with_extension("bbbin"));
        fs::write(&file, format!("{GRAMMAR}{lines}")).unwrap();
        assert_eq!(run(kymo().arg("convert").args([&file, &to])).0, Some(0));
    }
    let both = path("both.bbbin");
    let from = [path("one.bbbin"), path("two.bbbin")];
    assert_eq!(run(kymo().arg("merge").args(from).arg("-o").arg(&both)).0, Some(0));
    // Of each board: two tasks, as idle runs before and after what is known; a pair; two states, and
    // the time before the first.
    for (command, count, keys) in [
        ("load", 4, &["recording", "task_id"][..]),
        ("sched", 4, &["recording", "task_id"]),
        ("messages", 2, &["from_recording", "from_id", "to_recording", "to_id"]),
        ("states", 6, &["recording", "machine_id", "state"]),
    ] {
        let (_, rows, said) = run(kymo().args([command, "--json"]).arg(&both));
        let rows = json(&rows);
        let whose = |row: &Value| keys.iter().map(|key| row[key].to_string()).collect::<Vec<_>>();
        let told: std::collections::BTreeSet<_> = rows.iter().map(whose).collect();
        assert_eq!((rows.len(), told.len()), (count, count), "{command}: {rows:?} {said}");
        assert!(!told.iter().flatten().any(|this_name| this_name == "null"), "{command}: {told:?}");
    }
}

#[test]
fn functions_are_suggested_where_there_are_some() {
    let unsorted = kymo_conformance::testdata("bbbin/unsorted.bin");
    let (code, _, said) = run(kymo().arg("states").arg(&unsorted));
    assert_eq!(code, Some(1));
    assert!(said.contains("kymo ls -l") && !said.contains("calls of functions"), "{said}");
}

#[test]
fn states_beyond_those_that_are_told_apart_are_a_finding() {
    let folder = folder();
    let lines: Vec<_> = (0..4100).map(|at| format!("{at} door is s{at}\n")).collect();
    let path = log(folder.path(), &lines.concat());
    let (code, table, said) = run(kymo().arg("states").arg(&path));
    assert!(code == Some(3) && table.contains("(other states)"), "{table}");
    assert!(said.contains("4 times machines were in states beyond"), "{said}");
}

/// Task A runs 1–15 ms; it is released at 10 ms with 10 ms to go and is never complete. The machine
/// motor runs from 12 ms on. What comes last is of neither.
const LONG: &str = r"# [[line]]
# match = '^(?<time>[\d.]+) note .*$'
1 cpu0 idle -> A
10 release A 10
12 motor is run
15 cpu0 A -> idle
1000 note that it ends
";

#[test]
fn a_recording_ends_where_it_does_whichever_streams_are_chosen() {
    let folder = folder();
    let path = log(folder.path(), LONG);
    let (_, tasks, _) = run(kymo().args(["sched", "--json"]).arg(&path));
    let value = json(&tasks).into_iter().find(|value| value["task"] == "A").unwrap();
    assert_eq!((&value["open"], &value["misses"]), (&1.into(), &1.into()), "{value}");
    for more in [&[][..], &["-s", "motor"], &["-s", "motor", "-s", "A"]] {
        let (_, states, _) = run(kymo().args(["states", "--json"]).args(more).arg(&path));
        assert_eq!(json(&states)[0]["time_ns"], 988_000_000, "{states}");
    }
    let rules = folder.path().join("rules.toml");
    let text = "[[rule]]\ntask='A'\non_time=true\n[[rule]]\nmachine='motor'\nstate='run'\n\
                stay_max='900ms'\n";
    fs::write(&rules, text).unwrap();
    let broken = |more: &[&str]| run(kymo().arg("assert").args(more).arg(&rules).arg(&path));
    let (code, found, _) = broken(&[]);
    assert_eq!((code, found.lines().count()), (Some(3), 2), "{found}");
    let (code, chosen, _) = broken(&["-s", "motor", "-s", "A"]);
    assert_eq!((code, chosen), (Some(3), found));
    // 12 of 1000 ms are less than a cell of the picture.
    let (_, chart, _) = run(kymo().arg("gantt").arg(&path));
    let motor = chart.lines().find(|line| line.starts_with("motor")).unwrap();
    let cells: Vec<_> = motor.chars().skip("motor  ".len()).collect();
    assert!(cells.len() >= 50 && !cells.contains(&' '), "{chart}");
}

#[test]
fn a_range_that_ends_after_the_last_switch_has_what_the_whole_has() {
    let folder = folder();
    let path = log(folder.path(), LONG);
    let loads = |more: &[&str]| {
        let (code, loads, _) = run(kymo().args(["load", "--json"]).args(more).arg(&path));
        assert_eq!(code, Some(0));
        let runs =
            json(&loads).into_iter().map(|value| (value["task"].clone(), value["run_ns"].clone()));
        runs.collect::<Vec<_>>()
    };
    let whole = [(Value::from("A"), Value::from(14_000_000))];
    assert_eq!(loads(&[]), whole);
    for until in ["16ms", "999ms", "1000ms", "1001ms", "2s"] {
        assert_eq!(loads(&["--until", until]), whole, "{until}");
    }
    let (code, _, said) =
        run(kymo().args(["load", "--since", "20ms", "--until", "900ms"]).arg(&path));
    assert_eq!(code, Some(1));
    assert!(said.contains("who ran there is not known"), "{said}");
}

/// Programs get all rows, a person the first few.
#[test]
fn programs_get_all_rows_unless_they_ask_for_fewer() {
    let folder = folder();
    let switch = |at: u32| format!("{at} cpu0 t{} -> t{}\n{at} t{at} sends M to t0\n", at - 1, at);
    let path = log(folder.path(), &(1..=60).map(switch).collect::<String>());
    for (command, to_person) in [("load", 10), ("sched", 20), ("messages", 40)] {
        let lines =
            |more: &[&str]| run(kymo().arg(command).args(more).arg(&path)).1.lines().count();
        let rows = lines(&["--json", "-n0"]);
        assert!(rows >= 59, "{command}");
        assert_eq!((lines(&["--json"]), lines(&["--csv"])), (rows, rows + 1), "{command}");
        assert_eq!((lines(&["--json", "-n2"]), lines(&["--csv", "-n2"])), (2, 3), "{command}");
        // A title, a heading, and how many more there are.
        assert_eq!(lines(&[]), to_person + 3, "{command}");
        assert_eq!(lines(&["-n0"]), rows + 2, "{command}");
    }
}

/// The one message is at 5 ms, and the one state is entered at 6 ms.
#[test]
fn nothing_in_a_range_is_not_nothing_in_the_recording() {
    let folder = folder();
    let lines = "0 cpu0 idle -> a\n5 a sends M to b\n6 door is open\n20 cpu0 a -> idle\n";
    let path = log(folder.path(), lines);
    let refused = |args: &[&str]| {
        let (code, _, said) = run(kymo().args(args).arg(&path));
        assert_eq!(code, Some(1), "{said}");
        said
    };
    let said = refused(&["messages", "--since", "+10ms"]);
    assert!(said.contains("no messages are recorded in that range, and nothing tells"), "{said}");
    let said = refused(&["messages", "--stream", "door"]);
    assert!(said.contains("no messages are recorded on those streams, and nothing"), "{said}");
    let said = refused(&["states", "--until", "3ms"]);
    assert!(said.contains("no state was entered in that range"), "{said}");
    let dumped = |args: &[&str]| run(kymo().arg("dump").args(args).arg(&path));
    let (_, _, said) = dumped(&["--since", "7ms", "--until", "8ms"]);
    assert!(said.contains("no event is in that range") && !said.contains("it is from"), "{said}");
    let (_, _, said) = dumped(&["--since", "1s"]);
    assert!(said.contains("nothing of it is in that range: it is from 0.000000000 to"), "{said}");
    // One state is no transition.
    let (code, found, said) = run(kymo().args(["states", "-t"]).arg(&path));
    assert_eq!((code, found.as_str()), (Some(0), ""), "{said}");
    assert!(said.contains("no machine went from one state to another"), "{said}");
}

/// In this trace, `channel0_2` has the first `sched_waking` at byte 84, and `channel0_4` one at byte 169.
#[test]
fn events_of_tasks_name_the_file_that_they_are_in() {
    let Some(trace) = shared::file("traces/ctf/many-threads") else { return };
    let item = |more: &[&str]| json(&run(kymo().args(["dump", "--json"]).args(more).arg(&trace)).1);
    let releases = item(&["--class", "release", "-n2"]);
    let place = |value: &Value| (value["event_file"].clone(), value["offset"].clone());
    let found: Vec<_> = releases.iter().map(place).collect();
    // What is on a task's track is an event of a stream, too, at the same place.
    let wakings = item(&["--class", "sched_waking", "-n2"]);
    assert_eq!(found, wakings.iter().map(place).collect::<Vec<_>>());
    assert_eq!(found[0], ("channel0_2".into(), 84.into()));
    let fields = &wakings[0]["fields"];
    assert_eq!((&fields["comm"], &fields["tid"]), (&"lttng-consumerd".into(), &4297.into()));
}
