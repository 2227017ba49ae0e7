//! Analyses of whole recordings: one of `LTTng` with the five commands of the README, and small logs
//! whose figures are worked out by hand.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests may fail loudly")]

mod support;

use std::fs;
use std::path::Path;

use kymo_bbbin::spec::TaskClass;
use kymo_bbbin::{ArtifactId, ArtifactKind, Body, Definitions, Event, Writer};
use kymo_conformance::shared;
use serde_json::Value;
use support::{folder, kymo, run};

/// A log with its grammar: switches, releases with a budget, completions, messages, states.
const GRAMMAR: &str = r"# kymo log
# time = 'ms'
# [[line]]
# match = '^(?<time>[\d.]+) cpu(?<cpu>\d) (?<from>\S+) -> (?<task>\S+)$'
# class = 'switch'
# [[line]]
# match = '^(?<time>[\d.]+) release (?<task>\S+)( (?<budget>\d+))?$'
# class = 'release'
# [[line]]
# match = '^(?<time>[\d.]+) done (?<task>\S+)$'
# class = 'complete'
# [[line]]
# match = '^(?<time>[\d.]+) (?<task>\S+) sends (?<message>\S+) to (?<peer>\S+)$'
# class = 'send'
# [[line]]
# match = '^(?<time>[\d.]+) (?<task>\S+) gets (?<message>\S+) from (?<peer>\S+)$'
# class = 'receive'
# [[line]]
# match = '^(?<time>[\d.]+) (?<task>\S+) is (?<state>\S+)$'
# class = 'enter'
";

fn log(folder: &Path, lines: &str) -> std::path::PathBuf {
    let path = folder.join("run.log");
    fs::write(&path, format!("{GRAMMAR}{lines}")).unwrap();
    path
}

fn json(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

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
    let of = |name: &str| figures.iter().find(|of| of["task"] == name).unwrap();
    assert_eq!((code, &of("git-6743")["delay_max_ns"]), (Some(0), &Value::from(5247)));
    assert_eq!(of("git-6743")["preemptions"], 0);
    assert_eq!(of("kworker/u16:0-2282")["preemptions"], 7);
    assert!(figures.iter().all(|of| of["run_max_ns"].as_u64() <= of["response_max_ns"].as_u64()));

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
    let sent = json(&pairs).iter().map(|of| of["sent"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sent, 2383);
    let (report, _) = picture("report", "report.html", &[]);
    for heading in ["Tasks over time", "Loads", "Response times", "Wakeups"] {
        assert!(report.contains(&format!("<h2>{heading}")), "{heading}");
    }
}

#[test]
fn who_runs_all_through_a_range_is_known_in_a_trace_too() {
    let Some(trace) = shared::file("traces/ctf/lttng-tracefile-rotation/kernel") else { return };
    let range = ["load", "--json", "-n0", "--since", "+1s", "--until", "+1.01s"];
    let (code, loads, _) = run(kymo().args(range).arg(&trace));
    let loads = json(&loads);
    assert_eq!(code, Some(0));
    // Processors 1 and 2 do not switch in these ten milliseconds: they are idle.
    for (cpu, task) in [("cpu 1", "swapper/1"), ("cpu 2", "swapper/2")] {
        let of: Vec<_> = loads.iter().filter(|of| of["cpu"] == cpu).collect();
        assert_eq!(
            (of.len(), &of[0]["task"], &of[0]["run_ns"]),
            (1, &task.into(), &10_000_000.into())
        );
    }
    assert_eq!(loads.iter().map(|of| of["run_ns"].as_u64().unwrap()).sum::<u64>(), 40_000_000);
}

#[test]
fn switches_that_do_not_fit_are_said_and_nobody_is_said_to_have_run() {
    let out = folder();
    // At 5 b stops, which did not run; at 10 a does, which was let run at 0. The rest fits.
    let lines = "0 cpu0 idle -> a\n5 cpu0 b -> c\n10 cpu0 a -> idle\n20 cpu0 idle -> d\n\
                 30 cpu0 d -> idle\n";
    let path = log(out.path(), lines);
    let (code, loads, said) = run(kymo().arg("load").arg(&path));
    assert_eq!(code, Some(3));
    assert!(loads.contains("cpu 0, 30.00 ms, 33.3% busy, 33.3% not known"), "{loads}");
    assert!(said.contains("cpu 0: 2 switches do not fit to who ran before"), "{said}");
    assert!(said.contains("idle is taken for idle by its name"), "{said}");
    for command in ["sched", "gantt"] {
        let (code, _, said) = run(kymo().arg(command).arg(&path));
        assert!(code == Some(3) && said.contains("2 switches"), "{command}: {said}");
    }
}

#[test]
fn what_never_happens_breaks_its_rule() {
    let out = folder();
    let lines = "0 cpu0 idle -> idle\n1 release ctl 5\n1.5 cpu0 idle -> ctl\n2 ctl sends X to log\n\
                 3 motor is on\n900 cpu0 ctl -> idle\n";
    let path = log(out.path(), lines);
    let rules = out.path().join("rules.toml");
    let text = "[[rule]]\ntask='ctl'\nresponse_max='5ms'\n[[rule]]\ntask='ctl'\non_time=true\n\
                [[rule]]\nmessage='X'\nlatency_max='1ms'\n[[rule]]\nmachine='motor'\nstate='on'\n\
                stay_max='100ms'\n";
    fs::write(&rules, text).unwrap();
    let (code, found, said) = run(kymo().arg("assert").arg(&rules).arg(&path));
    assert_eq!((code, said.as_str()), (Some(3), ""));
    let found: Vec<_> = found.lines().map(|line| line.split_once(".log: ").unwrap().1).collect();
    let expected = [
        "rule 1 (ctl): 0.001000000 ctl: was not complete after 899.0 ms, more than 5.000 ms",
        "rule 2 (ctl): 0.001000000 ctl: was not complete when its budget was over",
        "rule 3 (X): 0.002000000 ctl: X did not arrive within 1.000 ms",
        "rule 4 (motor): 0.003000000 motor: on lasted 897.0 ms, more than 100.0 ms",
    ];
    assert_eq!(found, expected);
    // Within a range that nothing happens in: the motor is on, and the job is of before.
    let range = ["assert", "--since", "0.1", "--until", "0.3"];
    let (code, found, said) = run(kymo().args(range).arg(&rules).arg(&path));
    assert!(code == Some(3) && found.contains("motor: on lasted 200.0 ms"), "{found}");
    assert!(
        said.contains("the rule \"rule 3 (X)\" proves nothing: there is no such message"),
        "{said}"
    );
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

/// What commands say of a recording, as JSON and without the names of files.
fn figures(recording: &Path, commands: &[&str]) -> Vec<Vec<Value>> {
    let of = |command: &&str| {
        let rows = if *command == "states" { &["--json"][..] } else { &["--json", "-n0"] };
        let (_, out, said) = run(kymo().arg(command).arg(recording).args(rows));
        assert!(!out.is_empty(), "{command}: {said}");
        let mut rows = json(&out);
        for row in rows.iter_mut().filter_map(Value::as_object_mut) {
            row.shift_remove("file");
        }
        rows
    };
    commands.iter().map(of).collect()
}

fn converted(from: &Path, to: &Path) {
    let (code, _, said) = run(kymo().arg("convert").args([from, to]));
    assert_eq!(code, Some(0), "{}: {said}", to.display());
}

#[test]
fn a_trace_that_was_converted_has_the_same_loads_and_response_times() {
    let (trace, out) = (kymo_conformance::testdata("ctf/control"), folder());
    let commands = ["load", "sched"];
    let expected = figures(&trace, &commands);
    for extension in ["rtc", "mcap"] {
        let to = out.path().join("control").with_extension(extension);
        converted(&trace, &to);
        assert_eq!(figures(&to, &commands), expected, "{extension}");
        // And once more, from there.
        let again = out.path().join("again").with_extension(extension);
        converted(&to, &again);
        assert_eq!(figures(&again, &commands), expected, "{extension}");
    }
}

#[test]
fn messages_and_states_come_back_from_rtc() {
    let (robot, out) = (kymo_conformance::testdata("textlog/robot.txt"), folder());
    let commands = ["load", "sched", "messages", "states"];
    let to = |name: &str| out.path().join(name);
    run(kymo().arg("convert").args([&robot, &to("robot.bbbin")]));
    let expected = figures(&to("robot.bbbin"), &commands);
    converted(&to("robot.bbbin"), &to("robot.rtc"));
    assert_eq!(figures(&to("robot.rtc"), &commands), expected);
    run(kymo().arg("convert").args([to("robot.rtc"), to("again.bbbin")]));
    assert_eq!(figures(&to("again.bbbin"), &commands), expected);
}

/// Two recordings of the same tasks, of which one is merged after the other: who runs where, and who
/// is who, stays apart.
#[test]
fn tasks_of_rtc_files_that_are_merged_stay_apart() {
    let (trace, out) = (kymo_conformance::testdata("ctf/control"), folder());
    let (one, both) = (out.path().join("one.rtc"), out.path().join("both.rtc"));
    converted(&trace, &one);
    let (code, _, said) = run(kymo().arg("merge").args([&one, &one]).arg("-o").arg(&both));
    assert_eq!(code, Some(0), "{said}");
    let loads = |file: &Path| {
        let (_, out, _) = run(kymo().arg("load").arg(file).args(["--json", "-n0"]));
        let run_ns = |of: &Value| of["run_ns"].as_u64();
        json(&out).iter().filter_map(run_ns).sum::<u64>()
    };
    assert_eq!(loads(&both), 2 * loads(&one));
}

#[test]
fn fields_of_events_are_custom_types_of_bbbin() {
    let (trace, out) = (kymo_conformance::testdata("ctf/control"), folder());
    let log = out.path().join("control.bbbin");
    converted(&trace, &log);
    let args = ["--stream", "sched_waking", "--json"];
    let (code, events, said) = run(kymo().arg("dump").arg(&log).args(args));
    assert_eq!(code, Some(0), "{said}");
    let first = json(&events)[0]["value"].as_str().unwrap().to_owned();
    let expected = r#"{"comm":"control","tid":101,"prio":-51,"target_cpu":0}"#;
    assert_eq!(first, expected);
    // Types stay what they are when a log is converted once more.
    let again = out.path().join("again.bbbin");
    converted(&log, &again);
    let types = |log: &Path| {
        run(kymo().args(["convert", "--table", "types", "--to", "csv"]).arg(log).arg("-")).1
    };
    assert!(types(&log).contains("INT32"), "{}", types(&log));
    assert_eq!(types(&again), types(&log));
}

/// Task T is woken at 0, runs from 10 to 200 µs and is woken at 100 µs meanwhile, while it does not
/// sleep; woken after 1 s and 2 s it runs again for 190 µs each time, 10 µs later.
const USED_UP: &str = "# tracer: nop
 <idle>-0 [000] d..2. 100.000000: sched_waking: comm=T pid=50 prio=10 target_cpu=000
 <idle>-0 [000] d..2. 100.000010: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 \
prev_state=R ==> next_comm=T next_pid=50 next_prio=10
 T-50 [000] d.h2. 100.000100: sched_waking: comm=T pid=50 prio=10 target_cpu=000
 T-50 [000] d..2. 100.000200: sched_switch: prev_comm=T prev_pid=50 prev_prio=10 prev_state=S ==> \
next_comm=swapper/0 next_pid=0 next_prio=120
 <idle>-0 [000] d..2. 101.000000: sched_waking: comm=T pid=50 prio=10 target_cpu=000
 <idle>-0 [000] d..2. 101.000010: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 \
prev_state=R ==> next_comm=T next_pid=50 next_prio=10
 T-50 [000] d..2. 101.000200: sched_switch: prev_comm=T prev_pid=50 prev_prio=10 prev_state=S ==> \
next_comm=swapper/0 next_pid=0 next_prio=120
 <idle>-0 [000] d..2. 102.000000: sched_waking: comm=T pid=50 prio=10 target_cpu=000
 <idle>-0 [000] d..2. 102.000010: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 \
prev_state=R ==> next_comm=T next_pid=50 next_prio=10
 T-50 [000] d..2. 102.000200: sched_switch: prev_comm=T prev_pid=50 prev_prio=10 prev_state=S ==> \
next_comm=swapper/0 next_pid=0 next_prio=120
";

#[test]
fn a_wakeup_that_was_used_up_is_no_release() {
    let folder = folder();
    let path = folder.path().join("used_up.ftrace");
    fs::write(&path, USED_UP).unwrap();
    let (code, found, _) = run(kymo().args(["sched", "--json"]).arg(&path));
    let figures = &json(&found)[0];
    let expected = [
        ("jobs", 3),
        ("activations", 4),
        ("delay_max_ns", 10_000),
        ("response_max_ns", 200_000),
        ("period_mean_ns", 1_000_000_000),
        ("jitter_ns", 0),
    ];
    assert_eq!(code, Some(0));
    for (name, value) in expected {
        assert_eq!(figures[name], value, "{name}");
    }
    let (_, turns, _) = run(kymo().args(["sched", "--history", "--json"]).arg(&path));
    assert!(json(&turns).iter().all(|of| of["delay_ns"] == 10_000), "{turns}");
    let (_, pairs, _) = run(kymo().args(["messages", "--json"]).arg(&path));
    let pair = &json(&pairs)[0];
    assert_eq!((&pair["sent"], &pair["latency_max_ns"]), (&3.into(), &10_000.into()));
    // With a switch that cannot be read, every command says so.
    fs::write(&path, USED_UP.replacen("prev_pid=50", "prev_pid=5q", 1)).unwrap();
    for command in ["load", "sched", "messages", "gantt"] {
        let (code, _, said) = run(kymo().arg(command).arg(&path));
        assert_eq!(code, Some(3), "{command}");
        assert!(said.contains("warning switch at 0x"), "{command}: {said}");
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

#[test]
fn interrupts_have_a_row_beside_the_tasks() {
    let Some(file) = shared::file("traces/systemview/heap_log0.svdat") else { return };
    // ISR_ENTER to ISR_EXIT or ISR_TO_SCHEDULER, added up from the JSON of its own tool: 313 took
    // 5401600 ns, of which two took 65600 ns before the first switch.
    let (code, rows, _) = run(kymo().args(["load", "--json", "-n0"]).arg(file));
    let rows = json(&rows);
    let interrupts: Vec<_> = rows.iter().filter(|row| row["is_interrupt"] == true).collect();
    assert_eq!((code, interrupts.len()), (Some(0), 1));
    let (count, ns) = (&interrupts[0]["stretches"], &interrupts[0]["run_ns"]);
    assert_eq!((count, ns), (&311.into(), &5_336_000.into()));
}

#[test]
fn interrupts_and_all_processors_of_ranges_that_adjoin_add_up() {
    let Some(file) = shared::file("traces/systemview/heap_log_mcore.svdat") else { return };
    let sums = |range: &[&str]| {
        let of = |more: &[&str]| {
            let (_, rows, _) =
                run(kymo().args(["load", "--json", "-n0"]).args(more).args(range).arg(&file));
            json(&rows)
        };
        let interrupts = |rows: &[Value], cpu: &str| {
            let is_of = |row: &&Value| row["is_interrupt"] == true && row["cpu"] == cpu;
            rows.iter().filter(is_of).map(|row| row["run_ns"].as_u64().unwrap()).sum::<u64>()
        };
        let (each, all) = (of(&[]), of(&["--total"]));
        let time = |name: &str| all[0][name].as_u64().unwrap();
        let interrupts = ["cpu 0", "cpu 1"].map(|cpu| interrupts(&each, cpu));
        [interrupts[0], interrupts[1], time("cpu_ns"), time("unseen_ns")]
    };
    // cpu 1 switches last at 246 ms.
    let ranges = [&["--until", "100ms"][..], &["--since", "100ms", "--until", "250ms"]];
    let parts = ranges.into_iter().chain([&["--since", "250ms"][..]]).map(sums);
    let added = parts.reduce(|a, b| std::array::from_fn(|at| a[at] + b[at])).unwrap();
    let whole = sums(&[]);
    assert_eq!(added, whole);
    // Both were looked at for 327,044,075 ns.
    assert_eq!(whole[2] + whole[3], 2 * 327_044_075);
}

/// Task 1 runs 0–10, 14–20 and on from 25; interrupt 3 runs 10–14 and 20–25, as a task does.
#[test]
fn interrupts_that_take_turns_with_tasks_are_told_from_them() {
    let mut definitions = Definitions::default();
    let log_file = definitions.add_log_file("cpu0.log", "by hand");
    let custom_type = definitions.empty_type(log_file);
    let kind = ArtifactKind::Task { task_class: Ok(TaskClass::Task), priority: 7 };
    definitions.add_artifact(log_file, ArtifactId(1), "main", kind);
    let out = folder();
    let path = out.path().join("logset.bin");
    let file = fs::File::create(&path).unwrap();
    let mut writer = Writer::new(file, &definitions.log_files, &definitions.types).unwrap();
    for (timestamp, from, to) in [(0, 777, 1), (10, 1, -3), (14, -3, 1), (20, 1, -3), (25, -3, 1)] {
        let (in_task, out_task) = (ArtifactId(to), ArtifactId(from));
        let body = Body::TaskSwitch { in_task, out_task, in_task_priority: 7 };
        writer.write(&Event { timestamp, log_file, body, custom_type, custom: &[] }).unwrap();
    }
    writer.finish(&definitions.artifacts).unwrap();
    let rows = |command: &str, ns: &str| -> Vec<(bool, i64, i64)> {
        let (code, rows, said) = run(kymo().args([command, "--json", "-n0"]).arg(&path));
        assert_eq!(code, Some(0), "{said}");
        let figure = |row: &Value, name: &str| row[name].as_i64().unwrap();
        let row = |row: &Value| {
            (row["is_interrupt"].as_bool().unwrap(), figure(row, "task_id"), figure(row, ns))
        };
        json(&rows).iter().map(row).collect()
    };
    let expected = [(false, 1, 16), (true, -3, 9)];
    assert_eq!(rows("load", "run_ns"), expected);
    assert_eq!(rows("sched", "stretch_total_ns"), expected);
    let (_, text, _) = run(kymo().arg("load").arg(&path));
    assert!(text.contains("25 ns, 100.0% busy, 9 ns in interrupts"), "{text}");
}

/// `TASK_INFO` says that task 1, `a`, has priority 6; it is made ready, and the recording ends.
#[test]
fn a_task_that_never_ran_has_the_priority_that_is_told_of_it() {
    let out = folder();
    let path = out.path().join("ready.svdat");
    let header = b";\n; Version     SEGGER SystemViewer V2.42\n; Author      kymo\n;\n";
    let packets = [
        &[10, 0][..],
        &[24, 6, 0xC0, 0x84, 0x3D, 1, 2, 0, 5],
        &[9, 1, 6, 1, b'a', 1],
        &[6, 1, 3],
        &[11, 1],
    ];
    fs::write(&path, [&header[..], &packets.concat()].concat()).unwrap();
    let (code, rows, said) = run(kymo().args(["sched", "--json"]).arg(&path));
    assert_eq!(code, Some(0), "{said}");
    let rows = json(&rows);
    let row = &rows[0];
    let figures = ["task", "activations", "stretches", "priority_min", "priority_max"];
    let expected = [Value::from("a"), 1.into(), 0.into(), 6.into(), 6.into()];
    assert_eq!(figures.map(|name| row[name].clone()), expected);
}

#[test]
fn an_interrupt_whose_end_is_missing_has_no_time() {
    let folder = folder();
    let path = folder.path().join("lost.ftrace");
    let switch = |time, prev: &str, next: &str| {
        format!(
            " {prev} [000] d..2. {time}: sched_switch: prev_comm={} prev_pid={} prev_prio=120 \
             prev_state=S ==> next_comm={} next_pid={} next_prio=120\n",
            &prev[..1],
            &prev[2..],
            &next[..1],
            &next[2..],
        )
    };
    let lines = [
        "# tracer: nop\n".to_owned(),
        switch("1.000000", "B-11", "A-10"),
        " A-10 [000] d.h2. 1.000100: irq_handler_entry: irq=9 name=acpi\n".to_owned(),
        switch("1.900000", "A-10", "B-11"),
        switch("2.000400", "B-11", "A-10"),
    ];
    fs::write(&path, lines.concat()).unwrap();
    let (code, loads, said) = run(kymo().arg("load").arg(&path));
    assert_eq!(code, Some(3));
    assert!(loads.contains("cpu 0, 1.000 s, 100.0% busy\n"), "{loads}");
    assert!(said.contains("1 interrupt did not end before"), "{said}");
}

/// Two boards have a task `control` each, which answers after 100 and after 300 µs.
#[test]
fn tasks_of_several_recordings_stay_apart_where_these_become_one() {
    let out = folder();
    let path = |name: &str| out.path().join(name);
    for (name, done) in [("a", "1"), ("b", "3")] {
        let lines = format!(
            "0 release control 5\n0 cpu0 idle -> control\n0.{done} done control\n\
             0.{done} cpu0 control -> idle\n1 release control 5\n1 cpu0 idle -> control\n\
             1.{done} done control\n1.{done} cpu0 control -> idle\n"
        );
        let file = path(name).with_extension("log");
        fs::write(&file, format!("{GRAMMAR}{lines}")).unwrap();
        let to = path(name).with_extension("bbbin");
        assert_eq!(run(kymo().arg("convert").args([&file, &to])).0, Some(0));
    }
    let both = path("both.bbbin");
    let (code, _, said) =
        run(kymo().arg("merge").args([path("a.bbbin"), path("b.bbbin")]).arg("-o").arg(&both));
    assert_eq!(code, Some(0), "{said}");
    let (rtc, mcap, again) = (path("both.rtc"), path("both.mcap"), path("again.bbbin"));
    for (from, to) in [(&both, &rtc), (&both, &mcap), (&rtc, &again)] {
        run(kymo().arg("convert").args([from, to]));
    }
    for file in [&both, &rtc, &mcap, &again] {
        let (_, figures, said) =
            run(kymo().args(["sched", "--json", "--stream", "control"]).arg(file));
        let mut found: Vec<_> = json(&figures)
            .iter()
            .map(|of| (of["response_max_ns"].as_u64(), of["period_mean_ns"].as_u64()))
            .collect();
        found.sort_unstable();
        let period = Some(1_000_000);
        let expected = [(Some(100_000), period), (Some(300_000), period)];
        assert_eq!(found, expected, "{} {said}", file.display());
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
    // Of each board: two tasks, as idle runs before and after what is known; a pair; two states.
    for (command, count, keys) in [
        ("load", 4, &["recording", "task_id"][..]),
        ("sched", 4, &["recording", "task_id"]),
        ("messages", 2, &["from_recording", "from_id", "to_recording", "to_id"]),
        ("states", 4, &["recording", "machine_id", "state"]),
    ] {
        let (_, rows, said) = run(kymo().args([command, "--json"]).arg(&both));
        let rows = json(&rows);
        let whose = |row: &Value| keys.iter().map(|key| row[key].to_string()).collect::<Vec<_>>();
        let told: std::collections::BTreeSet<_> = rows.iter().map(whose).collect();
        assert_eq!((rows.len(), told.len()), (count, count), "{command}: {rows:?} {said}");
        assert!(!told.iter().flatten().any(|of| of == "null"), "{command}: {told:?}");
    }
}

/// What tasks say is of their streams, with all groups of the line, here and in other formats.
#[test]
fn lines_of_text_logs_keep_their_groups() {
    let out = folder();
    let log = kymo_conformance::testdata("textlog/levels.log");
    let rtc = out.path().join("levels.rtc");
    assert_eq!(run(kymo().arg("convert").args([&log, &rtc])).0, Some(0));
    for file in [&log, &rtc] {
        let shown = |more: &[&str]| {
            let (code, text, said) = run(kymo().args(["dump", "--json"]).args(more).arg(file));
            assert_eq!(code, Some(0), "{said}");
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let warned = shown(&["--where", "level=WARN"]);
        assert!(warned.len() == 1 && warned[0].contains("slow query"), "{warned:?}");
        assert_eq!(shown(&["--where", "task=web"]).len(), 2);
        assert_eq!(shown(&["--stream", "web"]).len(), 2);
    }
}

#[test]
fn the_last_part_of_a_load_over_time_is_as_long_as_it_is() {
    let folder = folder();
    // Task a runs all of 1,001 ns: 23 parts of 42 ns and one of 35.
    let path = log(folder.path(), "0 cpu0 idle -> a\n0.001001 cpu0 a -> idle\n");
    let (_, table, _) = run(kymo().args(["load", "--buckets", "24", "--csv"]).arg(&path));
    let shares: Vec<_> = table.lines().filter(|line| line.contains(",a,")).collect();
    assert_eq!(shares.len(), 24);
    assert!(shares.iter().all(|line| line.ends_with(",1,false,false,false")), "{table}");
    let header =
        "file,time_ns,recording,cpu,task_id,task,run_ns,share,is_idle,is_interrupt,is_unknown\n";
    assert!(table.starts_with(header), "{table}");
    assert!(shares[23].contains(",966,") && shares[23].contains(",35,"), "{table}");
    let (_, table, _) = run(kymo().arg("load").arg(&path));
    assert!(table.contains(&"█".repeat(24)), "{table}");
    let (_, chart, _) = run(kymo().arg("gantt").arg(&path));
    assert!(chart.starts_with(&format!("a  {}\n", "█".repeat(60 - 1))), "{chart}");
}

/// A message leaves every 10 ms and arrives 15 ms later; neither end says when the other was.
fn in_flight(first: u32) -> String {
    let mut lines: Vec<_> = (0..10)
        .flat_map(|at| {
            let (left, arrived) = (at * 10, at * 10 + 15);
            [(left, "a sends P to b"), (arrived, "b gets P from a")]
        })
        .filter(|(time, _)| *time >= first)
        .collect();
    lines.sort_unstable();
    lines.iter().map(|(time, what)| format!("{time} {what}\n")).collect::<Vec<_>>().concat()
}

#[test]
fn receivers_have_their_names_also_where_lines_tell_processors() {
    let folder = folder();
    let path = folder.path().join("run.log");
    let grammar = r"# kymo log
# time = 'ms'
# [[line]]
# match = '^(?<time>[\d.]+) cpu(?<cpu>\d) (?<task>\S+) sends (?<message>\S+) to (?<peer>\S+)$'
# class = 'send'
";
    let lines = "0 cpu0 a sends X to b\n1 cpu0 a sends X to c\n2 cpu1 d sends X to a\n\
                 5 cpu0 a sends X to c\n";
    fs::write(&path, format!("{grammar}{lines}")).unwrap();
    let (code, pairs, _) = run(kymo().args(["messages", "--json"]).arg(&path));
    let pairs = json(&pairs);
    let shown = |of: &Value| {
        let end = |name: &str| of[name].as_str().unwrap().to_owned();
        (end("from"), end("to"), of["sent"].as_u64().unwrap())
    };
    let mut shown: Vec<_> = pairs.iter().map(shown).collect();
    shown.sort();
    let expected = [("a", "b", 1), ("a", "c", 2), ("d", "a", 1)];
    let expected = expected.map(|(from, to, sent)| (from.to_owned(), to.to_owned(), sent));
    assert_eq!((code, shown), (Some(0), expected.to_vec()));
}

#[test]
fn latencies_in_a_range_are_those_of_the_whole() {
    let folder = folder();
    let path = log(folder.path(), &in_flight(0));
    for range in [&[][..], &["--since", "12ms", "--until", "80ms"], &["--since", "18ms"]] {
        let (code, pairs, said) = run(kymo().args(["messages", "--json"]).args(range).arg(&path));
        let pair = &json(&pairs)[0];
        assert_eq!((code, &pair["unsent"]), (Some(0), &0.into()), "{said}");
        assert_eq!(pair["latency_min_ns"], 15_000_000, "{range:?}");
        assert_eq!(pair["latency_max_ns"], 15_000_000, "{range:?}");
    }
    let rules = folder.path().join("rules.toml");
    fs::write(&rules, "[[rule]]\nmessage='P'\nlatency_max='14ms'\n").unwrap();
    let since = ["assert", "--since", "18ms", "--until", "30ms"];
    let (code, found, said) = run(kymo().args(since).arg(&rules).arg(&path));
    assert_eq!((code, said.as_str()), (Some(3), ""));
    assert!(found.lines().count() == 1 && found.contains("0.025000000 b"), "{found}");
    assert!(found.contains("P took 15.00 ms, more than 14.00 ms"), "{found}");
}

#[test]
fn latencies_that_may_be_wrong_are_said_wherever_they_are_shown() {
    let folder = folder();
    // Those of 0 and 10 left before the recording.
    let path = log(folder.path(), &in_flight(12));
    let rules = folder.path().join("rules.toml");
    fs::write(&rules, "[[rule]]\nmessage='P'\nlatency_max='20ms'\n").unwrap();
    let page = folder.path().join("page.html");
    let doubt = "messages of 1 pair may have left before what is read, and those that arrived do \
                 not all say when they left: they are taken in their order, so that latencies may \
                 be too short";
    for args in [
        vec!["messages".as_ref(), path.as_os_str()],
        vec!["assert".as_ref(), rules.as_os_str(), path.as_os_str()],
        vec!["report".as_ref(), path.as_os_str(), "-o".as_ref(), page.as_os_str()],
    ] {
        let (code, _, said) = run(kymo().args(&args));
        assert_eq!(code, Some(3), "{args:?}");
        assert!(said.contains(doubt), "{args:?}: {said}");
    }
    assert!(fs::read_to_string(page).unwrap().contains(doubt));
}

#[test]
fn a_message_that_arrives_before_it_left_has_no_latency() {
    let folder = folder();
    // The clocks of a and b do not agree: the first takes -5 ms, and the second 10 ms.
    let lines = "20 a sends M to b\n15 b gets M from a\n100 a sends M to b\n110 b gets M from a\n";
    let path = log(folder.path(), lines);
    let said_so = "1 message arrived before it left: latencies are without it";
    let (code, pairs, said) = run(kymo().args(["messages", "--json"]).arg(&path));
    let pair = &json(&pairs)[0];
    assert!(code == Some(3) && said.contains(said_so), "{said}");
    assert_eq!((&pair["received"], &pair["lost"]), (&2.into(), &0.into()));
    let ten = Value::from(10_000_000);
    assert_eq!((&pair["latency_min_ns"], &pair["latency_max_ns"]), (&ten, &ten));
    let (code, chart, said) = run(kymo().args(["messages", "--chart"]).arg(&path));
    assert!(code == Some(3) && said.contains(said_so), "{said}");
    assert!(chart.contains("-5.000 ms") && chart.contains("  10.00 ms"), "{chart}");
    let rules = folder.path().join("rules.toml");
    fs::write(&rules, "[[rule]]\nmessage='M'\nlatency_max='10ms'\n").unwrap();
    let (code, found, said) = run(kymo().arg("assert").arg(&rules).arg(&path));
    assert!(code == Some(3) && found.is_empty() && said.contains(said_so), "{said}");
}

#[test]
fn a_page_says_what_its_charts_do_not_show() {
    let folder = folder();
    let sends = |at: u32| format!("{at} a sends M to b{}\n", at % 12);
    let path = log(folder.path(), &(0..100).map(sends).collect::<Vec<_>>().concat());
    let page = folder.path().join("page.html");
    let (code, _, said) = run(kymo().arg("report").arg(&path).arg("-o").arg(&page));
    assert_eq!(code, Some(0), "{said}");
    let page = fs::read_to_string(page).unwrap();
    // Of twelve receivers the chart has nine beside the sender; 30 messages are drawn of theirs.
    // Those have eight each.
    let others = "3 other streams and 24 messages with others are not drawn";
    assert!(page.contains(others), "{page}");
    assert!(page.contains(" messages are not drawn"), "{page}");
}

#[test]
fn a_page_has_as_many_violations_as_other_rows() {
    let folder = folder();
    // M takes 5 ms seven times.
    let message = |at: u32| format!("{at} a sends M to b\n{} b gets M from a\n", at + 5);
    let path = log(folder.path(), &(0..7).map(|n| message(n * 10)).collect::<String>());
    let rules = folder.path().join("rules.toml");
    let text = "[[rule]]\nname='late'\nmessage='M'\nlatency_max='1ms'\n";
    fs::write(&rules, text).unwrap();
    let rows = |number: &str| {
        let args = ["report", "-o", "-", "-n", number, "--rules"];
        let (code, page, said) = run(kymo().args(args).arg(&rules).arg(&path));
        assert_eq!(code, Some(3), "{said}");
        let (_, page) = page.split_once("<h2>Rules</h2>").unwrap();
        let page = page.split("<h2>").next().unwrap();
        assert!(page.contains("<p>1 rule, 7 violations</p>"), "{page}");
        let more = page.split("<p class=note>").nth(1).map(|more| more.split('<').next().unwrap());
        (page.matches("<td class=text>late").count(), more.map(str::to_owned))
    };
    assert_eq!(rows("3"), (3, Some("late: 4 violations more".to_owned())));
    assert_eq!(rows("7"), (7, None));
    assert_eq!(rows("0"), (7, None));
}

#[test]
fn rules_keep_to_the_streams_that_are_chosen() {
    let folder = folder();
    // Both have jobs that are never complete, ctl runs 90 ms and other 100 ms; other sends B.
    let lines = "0 release ctl 500\n0 release other 500\n10 cpu0 idle -> ctl\n\
                 100 cpu0 ctl -> other\n110 other sends B to ctl\n200 cpu0 other -> idle\n";
    let path = log(folder.path(), lines);
    let rules = folder.path().join("rules.toml");
    let text = "[[rule]]\nname='run'\ntask='*'\nrun_max='20ms'\n[[rule]]\nname='msg'\n\
                message='*'\nlatency_max='1ms'\n[[rule]]\nname='load'\ntask='*'\nload_max='10%'\n";
    fs::write(&rules, text).unwrap();
    let of = |more: &[&str]| {
        let (code, found, said) = run(kymo().arg("assert").args(more).arg(&rules).arg(&path));
        assert_eq!(code, Some(3));
        let what = |line: &str| line.split_once(".log: ").unwrap().1.to_owned();
        (found.lines().map(what).collect::<Vec<_>>(), said)
    };
    let of_ctl = [
        "run: 0.000000000 ctl: was not complete and ran 90.00 ms, more than 20.00 ms",
        "load: ctl used 47.4% of a processor's time on cpu 0, more than 10.0%",
    ];
    let (found, said) = of(&["--stream", "ctl"]);
    assert_eq!(found, of_ctl);
    assert!(said.contains("the rule \"msg\" proves nothing: there is no such message"), "{said}");
    let (found, said) = of(&[]);
    assert_eq!((found.len(), said.as_str()), (5, ""), "{found:?}");
}

#[test]
fn what_arrives_after_a_range_is_not_lost() {
    let folder = folder();
    let path = log(folder.path(), &in_flight(0));
    let range = ["messages", "--json", "--until", "12ms"];
    let (code, pairs, said) = run(kymo().args(range).arg(&path));
    let pair = &json(&pairs)[0];
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_eq!(
        (&pair["sent"], &pair["received"], &pair["lost"]),
        (&2.into(), &0.into(), &0.into())
    );
    let chart = ["messages", "--chart", "--until", "12ms"];
    let (_, chart, _) = run(kymo().args(chart).arg(&path));
    assert!(chart.matches("15.00 ms").count() == 2 && !chart.contains("lost"), "{chart}");
}

#[test]
fn a_wakeup_arrives_with_the_stretch_it_is_for() {
    // perf-6045 is woken at .306671579, stops at .311277575 without a word of its begin, and runs
    // again at .312605710. All other wakeups take 66 µs at the most.
    let trace = kymo_conformance::testdata("perf/control.perf");
    let (_, pairs, _) = run(kymo().args(["messages", "--json", "-n0"]).arg(&trace));
    let pairs = json(&pairs);
    let pair = pairs.iter().find(|of| of["to"] == "perf-6045" && of["from"] == "migration/0-18");
    assert_eq!(pair.unwrap()["latency_max_ns"], Value::Null);
    assert_eq!((&pair.unwrap()["received"], &pair.unwrap()["lost"]), (&1.into(), &0.into()));
    let (_, tasks, _) = run(kymo().args(["sched", "--json", "-n0"]).arg(&trace));
    let longest = json(&tasks).iter().filter_map(|of| of["wait_max_ns"].as_u64()).max();
    assert!(longest < Some(5_000_000), "{longest:?}");
}

#[test]
fn what_the_last_switch_of_a_processor_lets_run_is_no_stretch() {
    let trace = kymo_conformance::testdata("perf/control.perf");
    let (_, tasks, _) = run(kymo().args(["sched", "--json", "-n0"]).arg(&trace));
    let tasks = json(&tasks);
    let perf = tasks.iter().find(|of| of["task"] == "perf-6045").unwrap();
    // It runs .312605710–.312644328 and .321160924–.321201825; the last switches of both processors
    // let it run.
    assert_eq!((&perf["stretches"], &perf["stretch_mean_ns"]), (&2.into(), &39_759.into()));
    let (_, loads, _) = run(kymo().args(["load", "--json", "-n0"]).arg(&trace));
    assert!(json(&loads).iter().all(|of| of["run_ns"] != 0), "{loads}");
}

#[test]
fn rules_about_all_tasks_are_not_about_idle_ones() {
    let folder = folder();
    // idle runs 90 of 100 ms, and so does wait, which is idle if one says so.
    let lines = "0 cpu0 idle -> a\n0 cpu1 wait -> b\n10 cpu0 a -> idle\n10 cpu1 b -> wait\n\
                 100 cpu0 idle -> a\n100 cpu1 wait -> b\n";
    let path = log(folder.path(), lines);
    let rules = folder.path().join("rules.toml");
    let broken = |task: &str, more: &[&str]| {
        fs::write(&rules, format!("[[rule]]\ntask='{task}'\nload_max='50%'\n")).unwrap();
        let (_, found, _) = run(kymo().arg("assert").args(more).arg(&rules).arg(&path));
        found.lines().map(|line| line.rsplit_once("): ").unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    let used = |task, cpu| {
        format!("{task} used 90.0% of a processor's time on cpu {cpu}, more than 50.0%")
    };
    assert_eq!(broken("*", &[]), [used("wait", 1)]);
    assert_eq!(broken("*", &["--idle", "wait"]), [""; 0]);
    assert_eq!(broken("idle", &[]), [used("idle", 0)]);
}

#[test]
fn stretches_that_a_range_cuts_are_told_up_to_its_ends() {
    let folder = folder();
    // a runs 0–30 and 50–90, b in between.
    let lines = "0 cpu0 idle -> a\n30 cpu0 a -> b\n50 cpu0 b -> a\n90 cpu0 a -> idle\n";
    let path = log(folder.path(), lines);
    let history = ["sched", "--history", "--since", "10ms", "--until", "60ms"];
    let (code, turns, said) = run(kymo().args(history).arg("--json").arg(&path));
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let turns = json(&turns);
    let found: Vec<_> =
        turns.iter().map(|of| (&of["task"], &of["run_ns"], &of["is_cut"])).collect();
    let of = |task: &str, ms: u64, is_cut: bool| {
        (Value::from(task), Value::from(ms * 1_000_000), Value::from(is_cut))
    };
    let expected = [of("a", 20, true), of("b", 20, false), of("a", 10, true)];
    assert_eq!(found, expected.each_ref().map(|(task, ns, is_cut)| (task, ns, is_cut)));
    let (_, turns, _) = run(kymo().args(history).arg(&path));
    let count = |text: &str| turns.matches(text).count();
    assert_eq!((count("≥20.00 ms"), count(" 20.00 ms"), count("≥10.00 ms")), (1, 2, 1), "{turns}");
}

#[test]
fn where_only_idle_tasks_ran_sched_says_so() {
    let folder = folder();
    let path = log(folder.path(), "0 cpu0 idle0 -> idle1\n10 cpu0 idle1 -> idle0\n");
    let (code, _, said) = run(kymo().arg("sched").arg(&path));
    assert!(code == Some(1) && said.contains("only idle tasks ran in it"), "{said}");
    let (_, loads, _) = run(kymo().arg("load").arg(&path));
    assert!(loads.contains("idle1"), "{loads}");
}

#[test]
fn a_page_goes_to_standard_output_where_that_is_asked_for() {
    let folder = folder();
    let path = log(folder.path(), "0 cpu0 idle -> a\n10 cpu0 a -> idle\n");
    let mut report = kymo();
    report.current_dir(folder.path()).arg("report").arg(&path).args(["-o", "-"]);
    for _ in 0..2 {
        let (code, page, said) = run(&mut report);
        assert_eq!(code, Some(0), "{said}");
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    }
    assert!(!folder.path().join("-").exists());
}

#[test]
fn functions_are_suggested_where_there_are_some() {
    let unsorted = kymo_conformance::testdata("bbbin/unsorted.bin");
    let (code, _, said) = run(kymo().arg("states").arg(&unsorted));
    assert_eq!(code, Some(1));
    assert!(said.contains("kymo ls -l") && !said.contains("calls of functions"), "{said}");
}

#[test]
fn rules_compare_integers_as_they_are() {
    // Two events have 2^64 - 1; as floating point the limit would be 2^53.
    let types = kymo_conformance::testdata("bbbin/types.bin");
    let folder = folder();
    let rules = folder.path().join("rules.toml");
    fs::write(&rules, "[[rule]]\nstream='One.uint64'\nmax=9007199254740993\n").unwrap();
    let (code, found, _) = run(kymo().arg("assert").arg(&rules).arg(&types));
    let what = "18446744073709551615 is more than 9007199254740993";
    assert_eq!((code, found.matches(what).count()), (Some(3), 2), "{found}");
}

#[test]
fn times_of_clocks_with_other_beginnings_are_not_compared() {
    let Some(recording) = shared::file("rtc/clocks.rtc") else { return };
    let folder = folder();
    let rules = folder.path().join("rules.toml");
    for (after, expect) in [("sample", "event"), ("event", "sample")] {
        let rule = format!("[[rule]]\nafter='{after}'\nexpect='{expect}'\nwithin='1ms'\n");
        fs::write(&rules, rule).unwrap();
        let (code, found, said) = run(kymo().arg("assert").arg(&rules).arg(&recording));
        assert_eq!((code, found.as_str()), (Some(3), ""));
        let why =
            format!("streams of {expect} are on other clocks, whose times cannot be compared");
        assert!(said.contains(&why), "{said}");
    }
}

#[test]
fn jobs_of_which_a_begin_is_missing_are_jobs_all_the_same() {
    let folder = folder();
    // Eight jobs every 10 ms, each runs from 1 ms to 3 ms after its release. The switch to the
    // fourth is missing.
    let job = |at: i64| {
        let switch = format!("{} cpu0 idle -> ctl\n", at * 10 + 1);
        let switch = if at == 3 { String::new() } else { switch };
        let (released, ends) = (at * 10, at * 10 + 3);
        format!("{released} release ctl\n{switch}{ends} done ctl\n{ends} cpu0 ctl -> idle\n")
    };
    let path = log(folder.path(), &(0..8).map(job).collect::<String>());
    let (code, tasks, _) = run(kymo().args(["sched", "--json"]).arg(&path));
    let ctl = &json(&tasks)[0];
    assert_eq!(code, Some(3));
    for (figure, expected) in
        [("jobs", 8), ("preemptions", 0), ("period_mean_ns", 10_000_000), ("jitter_ns", 0)]
    {
        assert_eq!(ctl[figure], expected, "{figure}");
    }
    let (_, turns, _) = run(kymo().args(["sched", "--history", "--json"]).arg(&path));
    let delays: Vec<_> = json(&turns).iter().map(|of| of["delay_ns"].as_u64()).collect();
    let mut expected = [Some(1_000_000); 8];
    expected[3] = None;
    assert_eq!(delays, expected);
}

#[test]
fn parts_of_rules_that_nothing_is_about_are_said() {
    let folder = folder();
    let rules = folder.path().join("rules.toml");
    let text = "[[rule]]\nname='late'\ntask='ctl'\nresponse_max='50ms'\non_time=true\n";
    fs::write(&rules, text).unwrap();
    let said = |lines: &str| {
        let path = log(folder.path(), lines);
        run(kymo().arg("assert").arg(&rules).arg(&path))
    };
    let switches = "1 cpu0 idle -> ctl\n3 cpu0 ctl -> idle\n";
    let (code, found, why) = said(&format!("0 release ctl\n{switches}3 done ctl\n"));
    assert_eq!((code, found.as_str()), (Some(3), ""));
    let budget = "the rule \"late\" proves nothing about on_time: no job of its tasks is known \
                  to have a budget";
    assert!(why.contains(budget) && !why.contains("response_max"), "{why}");
    let (code, found, why) = said(&format!("0 release ctl 5\n{switches}3 done ctl\n"));
    assert_eq!((code, found.as_str(), why.as_str()), (Some(0), "", ""));
    // Nothing is complete, and its time is not over, or is.
    let end = |at| said(&format!("0 release ctl\n{switches}{at} cpu0 idle -> other\n"));
    let (code, found, why) = end(50);
    assert_eq!((code, found.as_str()), (Some(3), ""));
    let response = "proves nothing about response_max: no job of its tasks was seen from its \
                    release to its completion";
    assert!(why.contains(response), "{why}");
    let (code, found, why) = end(51);
    assert!(code == Some(3) && found.contains("was not complete after 51.00 ms"), "{found}");
    assert!(!why.contains("response_max"), "{why}");
}

#[test]
fn rules_take_a_task_that_moves_for_one() {
    let folder = folder();
    // Task m runs 30 ms on one processor, and then 30 ms on the other, of 100 ms.
    let lines = "0 cpu0 idle -> m\n0 cpu1 idle -> a\n30 cpu0 m -> b\n30 cpu1 a -> m\n\
                 60 cpu1 m -> a\n100 cpu0 b -> idle\n100 cpu1 a -> idle\n";
    let path = log(folder.path(), lines);
    let rules = folder.path().join("rules.toml");
    let text = "[[rule]]\nname='load'\ntask='m'\nload_max='50%'\n\
                [[rule]]\nname='gap'\nstream='m'\ngap_max='40ms'\n";
    fs::write(&rules, text).unwrap();
    let (code, found, said) = run(kymo().arg("assert").arg(&rules).arg(&path));
    assert_eq!((code, said.as_str(), found.lines().count()), (Some(3), "", 1), "{found}");
    let used = "load: m used 60.0% of a processor's time on 2 processors together, more than 50.0%";
    assert!(found.contains(used), "{found}");
    let (_, loads, _) = run(kymo().args(["load", "--total", "--json"]).arg(&path));
    let load = json(&loads).into_iter().find(|of| of["task"] == "m").unwrap();
    // Of the time of both processors that is half as much.
    assert_eq!(load["share"], 0.3);
}

/// On cpu 0 a runs 0–9 ms; on cpu 1 b runs 3–6 ms and nothing else does until 21 ms.
#[test]
fn all_processors_together_have_the_time_that_is_known_of_each() {
    let folder = folder();
    let path = log(
        folder.path(),
        "0 cpu0 idle -> a\n3 cpu1 idle -> b\n6 cpu1 b -> idle\n9 cpu0 a -> idle\n\
         21 cpu1 idle -> b\n",
    );
    let (code, table, _) = run(kymo().args(["load", "--total"]).arg(&path));
    // 9 + 18 ms are known, 12 ms are missing of cpu 0 and 3 of cpu 1.
    let heading = "2 processors, 27.00 ms, 44.4% busy, 15.00 ms more not known";
    assert!(code == Some(0) && table.contains(heading), "{table}");
    let (_, rows, _) = run(kymo().args(["load", "--total", "--json"]).arg(&path));
    let shares: Vec<_> = json(&rows).iter().map(|row| row["share"].as_f64().unwrap()).collect();
    assert_eq!(shares, [9.0 / 27.0, 3.0 / 27.0, 15.0 / 27.0]);
    // Of each 7 ms there are known: 7 + 4, 2 + 7 and 7.
    let parts = ["load", "--total", "--buckets", "3", "--csv"];
    let (_, rows, _) = run(kymo().args(parts).arg(&path));
    let share = |line: &str| line.rsplit(',').nth(3).unwrap().parse::<f64>().unwrap();
    let of_a: Vec<_> = rows.lines().filter(|line| line.contains(",a,")).map(share).collect();
    assert_eq!(of_a, [7.0 / 11.0, 2.0 / 9.0, 0.0]);
    // Alone, cpu 0 is known until 9 ms.
    let (_, rows, _) = run(kymo().args(["load", "--buckets", "3", "--csv"]).arg(&path));
    let of_a: Vec<_> = rows.lines().filter(|line| line.contains(",a,")).collect();
    let ends = [",7000000,1", ",2000000,1", ",0,"].map(|end| format!("{end},false,false,false"));
    assert!(of_a.iter().zip(ends).all(|(row, end)| row.ends_with(&end)), "{rows}");
    assert_eq!(of_a.len(), 3);
}

#[test]
fn a_processor_of_which_nothing_is_known_in_a_range_is_said_to_be_not_known() {
    let folder = folder();
    let path = log(
        folder.path(),
        "0 cpu0 idle -> a\n3 cpu1 idle -> b\n6 cpu1 b -> idle\n20 cpu0 a -> idle\n",
    );
    let range = ["load", "--total", "--since", "10ms", "--until", "15ms"];
    let (code, table, said) = run(kymo().args(range).arg(&path));
    let heading = "2 processors, 5.000 ms, 100.0% busy, 5.000 ms more not known";
    assert!(code == Some(3) && table.contains(heading), "{table}");
    assert!(said.contains("cpu 1 does not switch in that range"), "{said}");
    let (_, rows, _) = run(kymo().args(range).arg("--json").arg(&path));
    let rows = json(&rows);
    assert_eq!((rows.len(), &rows[0]["task"]), (1, &"a".into()));
    let times = ["run_ns", "cpu_ns", "unseen_ns"].map(|name| rows[0][name].as_u64().unwrap());
    assert_eq!(times, [5_000_000; 3]);
    // Shares of some tasks are of all processors.
    let (_, rows, _) = run(kymo().args(["load", "--total", "--json", "-s", "b"]).arg(&path));
    let share = json(&rows)[0]["share"].as_f64().unwrap();
    assert!((share - 3.0 / 23.0).abs() < 1e-12, "{share}");
}

/// The second part of a log comes first: a runs 100–200 ms, b 200–300 ms; then c 0–50 ms and b 50–90
/// ms, and nothing but idle until 100 ms.
const ROTATED: &str = "100 cpu0 idle -> a\n200 cpu0 a -> b\n300 cpu0 b -> idle\n\
                       0 cpu0 idle -> c\n50 cpu0 c -> b\n90 cpu0 b -> idle\n";

#[test]
fn time_that_is_told_where_times_go_back_is_not_known() {
    let folder = folder();
    let path = log(folder.path(), ROTATED);
    let (code, table, said) = run(kymo().arg("load").arg(&path));
    let heading = "cpu 0, 300.0 ms, 66.7% busy, 33.3% not known";
    assert!(code == Some(3) && table.contains(heading), "{table}");
    let row = table.lines().find(|line| line.ends_with("  not known")).unwrap();
    assert!(row.starts_with("100.0 ms  33.3%          1"), "{row}");
    // All but the first three are earlier.
    assert!(said.contains("cpu 0: 6 switches are earlier than one before"), "{said}");
    assert!(said.contains("`kymo merge --sort` sorts"), "{said}");
    let (_, rows, _) = run(kymo().args(["load", "--json", "--buckets", "3"]).arg(&path));
    let rows = json(&rows);
    let figures = rows.iter().map(|of| {
        let names = ["task", "run_ns", "is_unknown", "over_time", "cpu_ns"];
        names.map(|name| of[name].to_string()).join(" ")
    });
    let expected = [
        r#""a" 100000000 false [0,100000000,0] 300000000"#,
        r#""b" 100000000 false [0,0,100000000] 300000000"#,
        r#""not known" 100000000 true [100000000,0,0] 300000000"#,
    ];
    assert_eq!(figures.collect::<Vec<_>>(), expected);
    for command in ["sched", "gantt"] {
        let (code, _, said) = run(kymo().arg(command).arg(&path));
        assert!(code == Some(3) && said.contains("6 switches are earlier"), "{said}");
    }
    let (code, page, _) = run(kymo().args(["report", "-o", "-"]).arg(&path));
    assert!(code == Some(3) && page.contains("6 switches are earlier"), "{page}");
    assert!(page.contains("66.7% busy, 33.3% not known"), "{page}");
    // How long it ran is not known of what is told then.
    let (_, turns, _) = run(kymo().args(["sched", "--history", "--json"]).arg(&path));
    let turns: Vec<_> = json(&turns).iter().map(|turn| turn["run_ns"].as_u64()).collect();
    assert_eq!(turns, [Some(100_000_000), Some(100_000_000), None, None]);
}

#[test]
fn a_log_whose_times_go_back_is_known_when_it_is_sorted() {
    let folder = folder();
    let (path, at) = (log(folder.path(), ROTATED), |name: &str| folder.path().join(name));
    let (code, _, said) = run(kymo().arg("convert").arg(&path).arg(at("run.bbbin")));
    assert!(code == Some(3) && said.contains("`kymo merge --sort` sorts"), "{said}");
    let (code, table, said) = run(kymo().arg("load").arg(at("run.bbbin")));
    let heading = "cpu 0, 300.0 ms, 66.7% busy, 33.3% not known";
    assert!(code == Some(3) && table.contains(heading), "{table}");
    assert!(said.contains("switches are earlier"), "{said}");
    // It begins with the earliest and ends with the latest, wherever they are.
    let (_, chart, _) = run(kymo().arg("gantt").arg(at("run.bbbin")));
    assert!(chart.contains("0.000000000 to 0.300000000"), "{chart}");
    let sorted = at("sorted.bbbin");
    let mut sort = kymo();
    sort.args(["merge", "--sort"]).arg(at("run.bbbin")).arg("-o").arg(&sorted);
    assert_eq!(run(&mut sort).0, Some(0));
    let (code, table, said) = run(kymo().arg("load").arg(&sorted));
    // c 50 ms, b 40 + 100 ms, a 100 ms, of 300 ms.
    assert!(table.contains("cpu 0, 300.0 ms, 96.7% busy\n"), "{table}");
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn what_is_wrong_on_many_processors_is_said_in_one_line() {
    let folder = folder();
    let begin = (0..5).map(|cpu| format!("{cpu} cpu{cpu} idle -> a\n"));
    let end = (0..5).map(|cpu| format!("1{cpu} cpu{cpu} b -> idle\n"));
    let path = log(folder.path(), &begin.chain(end).collect::<String>());
    let (code, _, said) = run(kymo().arg("load").arg(&path));
    let text = "cpu 0, cpu 1, cpu 2 and 2 more: 5 switches do not fit to who ran before";
    assert!(code == Some(3) && said.contains(text), "{said}");
    assert_eq!(said.matches("not fit").count(), 1, "{said}");
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
    let of = json(&tasks).into_iter().find(|of| of["task"] == "A").unwrap();
    assert_eq!((&of["open"], &of["misses"]), (&1.into(), &1.into()), "{of}");
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
        let runs = json(&loads).into_iter().map(|of| (of["task"].clone(), of["run_ns"].clone()));
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

/// A runs 0–1 ms, the idle task 1–2 ms, A from 2 ms on. Events are missing then. A stops at 102 ms, and
/// the idle task at 103 ms.
const WITH_LOSS: &str = "# tracer: nop
#
 <idle>-0 [000] d..2. 100.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=A next_pid=10 next_prio=120
 A-10 [000] d..2. 100.001000: sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
 <idle>-0 [000] d..2. 100.002000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=A next_pid=10 next_prio=120
CPU:0 [LOST 5000 EVENTS]
 A-10 [000] d..2. 100.102000: sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
 <idle>-0 [000] d..2. 100.103000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=A next_pid=10 next_prio=120
";

#[test]
fn time_across_lost_events_is_not_known_in_any_format() {
    let folder = folder();
    let path = folder.path().join("lost.ftrace");
    fs::write(&path, WITH_LOSS).unwrap();
    let heading = "cpu 0, 103.0 ms, 1.0% busy, 97.1% not known";
    let (code, table, said) = run(kymo().arg("load").arg(&path));
    assert!(code == Some(3) && table.contains(heading), "{table}");
    assert!(said.contains("cpu 0: it is not told who runs in 1 place"), "{said}");
    let (_, rows, _) = run(kymo().args(["load", "--json"]).arg(&path));
    let unknown = json(&rows).into_iter().find(|row| row["is_unknown"] == true).unwrap();
    assert_eq!(unknown["run_ns"], 100_000_000);
    for (command, more) in [("sched", ""), ("gantt", ""), ("report", "-o-")] {
        let mut told = kymo();
        told.arg(command).arg(&path).args(Some(more).filter(|more| !more.is_empty()));
        let (code, text, said) = run(&mut told);
        let is_said = format!("{text}{said}").contains("not told who runs in 1 place");
        assert!(code == Some(3) && is_said, "{command}: {said}");
    }
    // Within, nothing is known; before and after, all is.
    for (since, until, expected) in [
        ("100.01", "100.05", "40.00 ms, 0.0% busy, 100.0% not known"),
        ("100", "100.002", "2.000 ms, 50.0% busy\n"),
    ] {
        let (_, table, _) =
            run(kymo().args(["load", "--since", since, "--until", until]).arg(&path));
        assert!(table.contains(expected), "{table}");
    }
    for target in ["lost.bbbin", "lost.rtc", "lost.mcap"] {
        let target = folder.path().join(target);
        assert_eq!(run(kymo().arg("convert").arg(&path).arg(&target)).0, Some(3));
        let (code, table, _) = run(kymo().arg("load").arg(&target));
        assert!(code == Some(3) && table.contains(heading), "{table}");
    }
}

/// A wakes B on the other processor, where events are missing right after a task begins and while one
/// runs: B was woken before the second gap, and runs after it.
const WITH_LOSSES: &str = "# tracer: nop
#
 <idle>-0 [000] d..2. 100.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=A next_pid=10 next_prio=120
 <idle>-0 [001] d..2. 100.001000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=B next_pid=11 next_prio=120
CPU:1 [LOST 7 EVENTS]
 B-11 [001] d..2. 100.005000: sched_switch: prev_comm=B prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
 A-10 [000] d..4. 100.006000: sched_waking: comm=B pid=11 prio=120 target_cpu=001
 A-10 [000] d..4. 100.006000: sched_wakeup: comm=B pid=11 prio=120 target_cpu=001
 <idle>-0 [001] d..2. 100.007000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=B next_pid=11 next_prio=120
 B-11 [001] d..2. 100.009000: sched_switch: prev_comm=B prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
 A-10 [000] d..4. 100.010000: sched_waking: comm=B pid=11 prio=120 target_cpu=001
 A-10 [000] d..4. 100.010000: sched_wakeup: comm=B pid=11 prio=120 target_cpu=001
 <idle>-0 [001] d..2. 100.011000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=C next_pid=12 next_prio=120
 C-12 [001] d.h1. 100.012000: irq_handler_entry: irq=7 name=timer
CPU:1 [LOST 9 EVENTS]
 C-12 [001] d..2. 100.020000: sched_switch: prev_comm=C prev_pid=12 prev_prio=120 prev_state=R ==> next_comm=B next_pid=11 next_prio=120
 B-11 [001] d..2. 100.022000: sched_switch: prev_comm=B prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
 A-10 [000] d..2. 100.023000: sched_switch: prev_comm=A prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

/// The same without what formats call processors, and how they number what runs when there is nothing
/// to do.
fn figures_of_cpus(recording: &Path, commands: &[&str]) -> Vec<Vec<Value>> {
    let mut figures = figures(recording, commands);
    for row in figures.iter_mut().flatten() {
        for key in ["cpu", "from", "to"] {
            if let Some(name) = row.get(key).and_then(Value::as_str) {
                row[key] = name.rsplit(", ").next().unwrap().into();
            }
        }
        if row["is_idle"] == true {
            row["task_id"] = Value::Null;
        }
    }
    figures
}

#[test]
fn figures_of_a_recording_with_gaps_stay_what_they_are_in_every_format() {
    let folder = folder();
    let traced = folder.path().join("lost.ftrace");
    fs::write(&traced, WITH_LOSSES).unwrap();
    // B runs 7–9 and 20–22 ms; C 11–12 ms, where the second gap begins. Before 5 ms nobody is known to.
    let loads = figures(&traced, &["load"]).concat();
    let run_ns = |task: &str| {
        let of = loads.iter().filter(|row| row["task"] == task && row["cpu"] == "cpu 1");
        of.map(|row| row["run_ns"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!([run_ns("B-11"), run_ns("C-12")], [4_000_000, 1_000_000]);
    assert_eq!(run_ns("not known"), 4_000_000 + 8_000_000);
    let blinky = kymo_conformance::testdata("systemview").join("blinky.svdat");
    let commands = ["load", "sched", "messages"];
    for path in [traced, blinky] {
        let expected = figures_of_cpus(&path, &commands);
        for target in ["lost.bbbin", "lost.rtc", "lost.mcap"] {
            let target = folder.path().join(target);
            run(kymo().args(["convert", "--force"]).arg(&path).arg(&target));
            assert_eq!(figures_of_cpus(&target, &commands), expected, "{}", target.display());
        }
    }
}

/// A and the idle task run for a millisecond each, so often.
fn in_turns(switches: u32) -> String {
    let (idle, task) = (("swapper/0", 0), ("A", 10));
    let switch = |at: u32| {
        let (from, to) = if at.is_multiple_of(2) { (idle, task) } else { (task, idle) };
        let ((prev, prev_pid), (next, next_pid)) = (from, to);
        let (seconds, milliseconds) = (100 + at / 1000, at % 1000);
        format!(
            " {prev}-{prev_pid} [000] d..2. {seconds}.{milliseconds:03}000: sched_switch: \
             prev_comm={prev} prev_pid={prev_pid} prev_prio=120 prev_state=S ==> next_comm={next} \
             next_pid={next_pid} next_prio=120\n"
        )
    };
    let switches: String = (0..switches).map(switch).collect();
    format!("# tracer: nop\n#\n{switches}")
}

/// Nobody runs for longer than a millisecond, whatever of the file is damaged.
#[test]
fn time_across_damage_of_the_file_itself_is_credited_to_nobody() {
    let folder = folder();
    let path = folder.path().join("turns.ftrace");
    fs::write(&path, in_turns(10_000)).unwrap();
    for name in ["turns.bbbin", "turns.rtc", "turns.mcap"] {
        let sound = folder.path().join(name);
        run(kymo().arg("convert").arg(&path).arg(&sound));
        let mut bytes = fs::read(&sound).unwrap();
        let middle = bytes.len() / 2;
        // So much that there is more than an index in it.
        bytes[middle..middle + middle / 4].iter_mut().for_each(|byte| *byte ^= 0x5A);
        let damaged = folder.path().join(format!("damaged-{name}"));
        fs::write(&damaged, &bytes).unwrap();
        let loads = figures(&damaged, &["load"]).concat();
        let run_ns = |row: &Value| row["run_ns"].as_u64().unwrap();
        let unknown = loads.iter().find(|row| row["is_unknown"] == true).expect(name);
        assert!(run_ns(unknown) > 1_000_000, "{name}: {unknown}");
        for row in loads.iter().filter(|row| row["is_unknown"] == false) {
            assert_eq!(
                run_ns(row),
                row["stretches"].as_u64().unwrap() * 1_000_000,
                "{name}: {row}"
            );
        }
        // All of it is from the first switch to the last.
        assert_eq!(loads.iter().map(run_ns).sum::<u64>(), 9_999_000_000, "{name}");
        let jobs = figures(&damaged, &["sched"]).concat();
        let of_a = jobs.iter().find(|row| row["task"] == "A-10").unwrap();
        assert_eq!(of_a["stretch_max_ns"], 1_000_000, "{name}");
        let (code, _, said) = run(kymo().arg("load").arg(&damaged));
        assert!(code == Some(3) && said.contains("it is not told who runs in "), "{said}");
        // Of what was cut off, nothing is missing in between.
        if name == "turns.bbbin" {
            continue;
        }
        let cut = folder.path().join(format!("cut-{name}"));
        fs::write(&cut, &fs::read(&sound).unwrap()[..middle]).unwrap();
        let (code, table, said) = run(kymo().arg("load").arg(&cut));
        assert!(code == Some(3) && !said.contains("not told who runs"), "{said}");
        assert!(table.contains("cpu 0, ") && table.contains(", 50.0% busy\n"), "{table}");
    }
}

#[test]
fn who_runs_is_not_known_where_other_tasks_were_left_out() {
    // a 0–10 ms, b 10–30 ms, a 30–40 ms.
    let folder = folder();
    let path =
        log(folder.path(), "0 cpu0 idle -> a\n10 cpu0 a -> b\n30 cpu0 b -> a\n40 cpu0 a -> b\n");
    let (whole, part) = (folder.path().join("whole.bbbin"), folder.path().join("part.bbbin"));
    converted(&path, &whole);
    let mut filter = kymo();
    filter.arg("filter").arg(&whole).arg(&part).args(["--stream", "a"]);
    assert_eq!(run(&mut filter).0, Some(0));
    let (code, table, said) = run(kymo().arg("load").arg(&part));
    assert!(table.contains("40.00 ms, 50.0% busy, 50.0% not known"), "{table}");
    assert!(code == Some(3) && said.contains("not told who runs"), "{said}");
}

/// a sends to b and to c, and c sends to b. Of a alone, what c sends to b is nothing.
#[test]
fn a_chart_of_some_streams_has_no_message_between_others() {
    let folder = folder();
    let lines = "1 c sends X to b\n2 a sends M to b\n3 b gets X from c\n4 a sends M to c\n";
    let path = log(folder.path(), lines);
    let (code, chart, said) = run(kymo().args(["messages", "--chart", "--stream", "a"]).arg(&path));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!((chart.matches('M').count(), chart.matches('X').count()), (2, 0), "{chart}");
    let (_, chart, _) = run(kymo().args(["messages", "--chart"]).arg(&path));
    assert_eq!((chart.matches('M').count(), chart.matches('X').count()), (2, 1), "{chart}");
}

/// Wakeups of a trace: `cpu 0` wakes `java-7013`, and neither is chosen.
#[test]
fn a_chart_of_some_tasks_has_only_wakeups_of_theirs() {
    let Some(trace) = shared::file("traces/ctf/lttng-tracefile-rotation") else { return };
    let chosen = ["--stream", "Xorg*", "--stream", "xfwm4*"];
    let out = folder();
    let path = out.path().join("chart.svg");
    let chart = ["messages", "--chart", "-n0"];
    let (code, _, said) = run(kymo().args(chart).args(chosen).arg(&trace).arg("-o").arg(&path));
    assert_eq!(code, Some(0), "{said}");
    let drawn = fs::read_to_string(path).unwrap().matches(">wakeup ").count() as u64;
    // Each is drawn, or left out and counted, and the table has the same.
    let others = said.split(" other streams and ").nth(1).unwrap().split(' ').next().unwrap();
    let others: u64 = others.replace(',', "").parse().unwrap();
    let (_, pairs, _) = run(kymo().args(["messages", "--json"]).args(chosen).arg(&trace));
    let sent = |of: &Value| of["sent"].as_u64().unwrap().max(of["received"].as_u64().unwrap());
    assert_eq!(drawn + others, json(&pairs).iter().map(sent).sum::<u64>());
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

#[test]
fn pictures_go_to_standard_output_and_say_which_letters_they_lack() {
    let folder = folder();
    let path = log(folder.path(), "0 cpu0 idle -> \u{65e5}\n20 cpu0 \u{65e5} -> idle\n");
    let (code, svg, said) = run(kymo().arg("gantt").arg(&path).args(["-o", "-"]));
    assert!(code == Some(0) && svg.starts_with("<svg ") && svg.contains('\u{65e5}'), "{said}");
    let png = folder.path().join("out.png");
    let (code, _, said) = run(kymo().arg("gantt").arg(&path).arg("-o").arg(&png));
    assert!(code == Some(3) && said.contains("PNG has no font for"), "{said}");
}

/// A message says the limit, however long it is and wherever it goes.
#[test]
fn what_breaks_a_rule_is_said_whole() {
    let folder = folder();
    let name = "t".repeat(300);
    let path = log(folder.path(), &format!("0 cpu0 idle -> {name}\n20 cpu0 {name} -> idle\n"));
    let rules = folder.path().join("rules.toml");
    fs::write(&rules, "[[rule]]\ntask='t*'\nload_max='99.96%'\n").unwrap();
    let (code, found, said) = run(kymo().arg("assert").arg(&rules).arg(&path));
    assert_eq!(code, Some(3), "{said}");
    assert!(found.ends_with(" on cpu 0, more than 99.96%\n"), "{found}");
    assert!(found.contains(" used 100.00% of a processor's time"), "{found}");
}

/// In this trace, `channel0_2` has the first `sched_waking` at byte 84, and `channel0_4` one at byte 169.
#[test]
fn events_of_tasks_name_the_file_that_they_are_in() {
    let Some(trace) = shared::file("traces/ctf/many-threads") else { return };
    let of = |more: &[&str]| json(&run(kymo().args(["dump", "--json"]).args(more).arg(&trace)).1);
    let releases = of(&["--class", "release", "-n2"]);
    let place = |of: &Value| (of["event_file"].clone(), of["offset"].clone());
    let found: Vec<_> = releases.iter().map(place).collect();
    // What is on a task's track is an event of a stream, too, at the same place.
    let wakings = of(&["--class", "sched_waking", "-n2"]);
    assert_eq!(found, wakings.iter().map(place).collect::<Vec<_>>());
    assert_eq!(found[0], ("channel0_2".into(), 84.into()));
    let fields = &wakings[0]["fields"];
    assert_eq!((&fields["comm"], &fields["tid"]), (&"lttng-consumerd".into(), &4297.into()));
}
