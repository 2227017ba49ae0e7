//! Jobs, and how long they took.

use std::fs;

use serde_json::Value;

use super::{converted, json, log};
use crate::support::{folder, kymo, run};

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
    assert!(json(&turns).iter().all(|this_value| this_value["delay_ns"] == 10_000), "{turns}");
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
        turns.iter().map(|value| (&value["task"], &value["run_ns"], &value["is_cut"])).collect();
    let item = |task: &str, ms: u64, is_cut: bool| {
        (Value::from(task), Value::from(ms * 1_000_000), Value::from(is_cut))
    };
    let expected = [item("a", 20, true), item("b", 20, false), item("a", 10, true)];
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
    let delays: Vec<_> = json(&turns).iter().map(|value| value["delay_ns"].as_u64()).collect();
    let mut expected = [Some(1_000_000); 8];
    expected[3] = None;
    assert_eq!(delays, expected);
}

/// Jobs of task a: released at 0 and 10 ms, running 1–3 and 14–15 ms. They wait 1 and 4 ms.
#[test]
fn one_kind_of_time_is_shown_in_full() {
    let folder = folder();
    let path = log(
        folder.path(),
        "0 release a\n1 cpu0 idle -> a\n3 done a\n3 cpu0 a -> idle\n10 release a\n14 cpu0 idle -> a\n\
         15 done a\n15 cpu0 a -> idle\n",
    );
    let shown = |times: &str| {
        let (code, table, said) = run(kymo().args(["sched", "--times", times]).arg(&path));
        assert_eq!(code, Some(0), "{said}");
        table.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let heads = "jobs       min      mean       50%       95%       99%       max  task";
    let row = |[min, mean, half, most]: [&str; 4]| {
        format!("   2  {min} ms  {mean} ms  {half} ms  {most} ms  {most} ms  {most} ms  a")
    };
    assert_eq!(shown("wait"), [heads, &row(["1.000", "2.500", "1.000", "4.000"])]);
    assert_eq!(shown("run"), [heads, &row(["1.000", "1.500", "1.000", "2.000"])]);
    assert_eq!(shown("response"), [heads, &row(["3.000", "4.000", "3.000", "5.000"])]);
    assert_eq!(shown("delay"), [heads, &row(["1.000", "2.500", "1.000", "4.000"])]);
    let (_, found, _) = run(kymo().args(["sched", "--json"]).arg(&path));
    let figures = &json(&found)[0];
    for (name, ms) in [("run", [1, 2, 2]), ("wait", [1, 4, 4]), ("delay", [1, 4, 4])] {
        for (percent, ms) in [50, 95, 99].iter().zip(ms) {
            assert_eq!(figures[format!("{name}_p{percent}_ns")], ms * 1_000_000, "{name}");
        }
    }
    let (_, table, _) = run(kymo().arg("sched").arg(&path));
    let (head, rest) = table.lines().nth(1).unwrap().split_once("response").unwrap();
    assert_eq!(
        head.split_whitespace().collect::<Vec<_>>().join(" "),
        "jobs activations run max run wait max wait"
    );
    assert!(rest.ends_with("task"), "{table}");
    let (_, page, _) = run(kymo().args(["report", "-o", "-"]).arg(&path));
    for title in ["Run of jobs", "Wait of jobs", "Response of jobs", "Delay of jobs"] {
        assert!(page.contains(title), "{title}");
    }
}

#[test]
fn what_is_idle_is_so_with_the_name_of_the_file_that_a_merge_gives_it() {
    let folder = folder();
    let make = |name: &str, task: &str| {
        let lines = format!("0 cpu0 idle -> {task}\n10 cpu0 {task} -> idle\n40 cpu0 idle -> x\n");
        let (text, to) = (log(folder.path(), &lines), folder.path().join(name));
        converted(&text, &to);
        to
    };
    let (one, two) = (make("one.rtc", "a"), make("two.rtc", "b"));
    let both = folder.path().join("both.rtc");
    let (code, _, said) = run(kymo().arg("merge").args([&one, &two]).arg("-o").arg(&both));
    assert_eq!(code, Some(0), "{said}");
    let (_, streams, _) = run(kymo().arg("ls").arg(&both));
    assert!(streams.contains("idle (two)"), "{streams}");
    let (_, tasks, said) = run(kymo().args(["sched", "--json"]).arg(&both));
    let tasks = json(&tasks);
    let tasks: Vec<_> = tasks.iter().map(|value| value["task"].as_str().unwrap()).collect();
    assert_eq!(tasks, ["a", "b"], "{said}");
    // A load is of one clock; which streams are on which is said.
    let (code, _, said) = run(kymo().arg("load").arg(&both));
    let hint = "hint: choose streams of one clock with --stream (events of cpu 0 (one) is on \
                clock (one), events of cpu 0 (two) is on clock (two))";
    assert!(code == Some(1) && said.contains(hint), "{said}");
}
