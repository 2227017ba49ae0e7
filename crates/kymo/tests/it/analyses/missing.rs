//! What is said where events are missing or their times go back.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{converted, figures, json, log};
use crate::support::{folder, kymo, run};

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
    let figures = rows.iter().map(|value| {
        let names = ["task", "run_ns", "is_unknown", "over_time", "cpu_ns"];
        names.map(|name| value[name].to_string()).join(" ")
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
    // A cell is 1.72 ms: A runs for 1 ms of the first, and is not known in a part of each other.
    let (_, chart, _) = run(kymo().arg("gantt").arg(&path));
    let row = format!("▒{}\n", "?".repeat(59));
    assert!(chart.contains(&row) && chart.ends_with("? lost events: not known\n"), "{chart}");
    for command in ["gantt", "report"] {
        let (_, chart, _) = run(kymo().arg(command).arg(&path).arg("-o-"));
        assert!(chart.contains("<title>lost events: not known</title>"), "{chart}");
        assert!(chart.contains(">lost events: not known</text>"), "{chart}");
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
        for key in ["cpu", "from", "to", "from_label", "to_label"] {
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
        let this_filter = loads.iter().filter(|row| row["task"] == task && row["cpu"] == "cpu 1");
        this_filter.map(|row| row["run_ns"].as_u64().unwrap()).sum::<u64>()
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
