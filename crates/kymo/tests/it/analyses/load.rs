//! What tasks used of processors.

use std::fs;

use kymo_bbbin::spec::TaskClass;
use kymo_bbbin::{ArtifactId, ArtifactKind, Body, Definitions, Event, Writer};
use kymo_conformance::shared;
use serde_json::Value;

use super::{json, log};
use crate::support::{folder, kymo, run};

#[test]
fn who_runs_all_through_a_range_is_known_in_a_trace_too() {
    let Some(trace) = shared::file("traces/ctf/lttng-tracefile-rotation/kernel") else { return };
    let range = ["load", "--json", "-n0", "--since", "+1s", "--until", "+1.01s"];
    let (code, loads, _) = run(kymo().args(range).arg(&trace));
    let loads = json(&loads);
    assert_eq!(code, Some(0));
    // Processors 1 and 2 do not switch in these ten milliseconds: they are idle.
    for (cpu, task) in [("cpu 1", "swapper/1"), ("cpu 2", "swapper/2")] {
        let values: Vec<_> = loads.iter().filter(|item| item["cpu"] == cpu).collect();
        assert_eq!(
            (values.len(), &values[0]["task"], &values[0]["run_ns"]),
            (1, &task.into(), &10_000_000.into())
        );
    }
    assert_eq!(
        loads.iter().map(|value| value["run_ns"].as_u64().unwrap()).sum::<u64>(),
        40_000_000
    );
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
        let item = |more: &[&str]| {
            let (_, rows, _) =
                run(kymo().args(["load", "--json", "-n0"]).args(more).args(range).arg(&file));
            json(&rows)
        };
        let interrupts = |rows: &[Value], cpu: &str| {
            let is_of = |row: &&Value| row["is_interrupt"] == true && row["cpu"] == cpu;
            rows.iter().filter(is_of).map(|row| row["run_ns"].as_u64().unwrap()).sum::<u64>()
        };
        let (each, all) = (item(&[]), item(&["--total"]));
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

#[test]
fn the_last_part_of_a_load_over_time_is_as_long_as_it_is() {
    let folder = folder();
    // Task a runs all of 1,001 ns: 23 parts of 42 ns and one of 35.
    let path = log(folder.path(), "0 cpu0 idle -> a\n0.001001 cpu0 a -> idle\n");
    let (_, table, _) = run(kymo().args(["load", "--buckets", "24", "--csv"]).arg(&path));
    let shares: Vec<_> = table.lines().filter(|line| line.contains(",a,")).collect();
    assert_eq!(shares.len(), 24);
    assert!(shares.iter().all(|line| line.ends_with(",1,false,false,false,true")), "{table}");
    let header = "file,time_ns,recording,cpu,task_id,task,label,run_ns,share,is_idle,\
                  is_interrupt,is_unknown,is_processor\n";
    assert!(table.starts_with(header), "{table}");
    assert!(shares[23].contains(",966,") && shares[23].contains(",35,"), "{table}");
    let (_, table, _) = run(kymo().arg("load").arg(&path));
    assert!(table.contains(&"█".repeat(24)), "{table}");
    let (_, chart, _) = run(kymo().arg("gantt").arg(&path));
    assert!(chart.starts_with(&format!("a  {}\n", "█".repeat(60 - 1))), "{chart}");
}

#[test]
fn what_the_last_switch_of_a_processor_lets_run_is_no_stretch() {
    let trace = kymo_conformance::testdata("perf/control.perf");
    let (_, tasks, _) = run(kymo().args(["sched", "--json", "-n0"]).arg(&trace));
    let tasks = json(&tasks);
    let perf = tasks.iter().find(|item| item["task"] == "perf-6045").unwrap();
    // It runs .312605710–.312644328 and .321160924–.321201825; the last switches of both processors
    // let it run.
    assert_eq!((&perf["stretches"], &perf["stretch_mean_ns"]), (&2.into(), &39_759.into()));
    let (_, loads, _) = run(kymo().args(["load", "--json", "-n0"]).arg(&trace));
    assert!(json(&loads).iter().all(|value| value["run_ns"] != 0), "{loads}");
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
    let share = |line: &str| line.rsplit(',').nth(4).unwrap().parse::<f64>().unwrap();
    let of_a: Vec<_> = rows.lines().filter(|line| line.contains(",a,")).map(share).collect();
    assert_eq!(of_a, [7.0 / 11.0, 2.0 / 9.0, 0.0]);
    // Alone, cpu 0 is known until 9 ms.
    let (_, rows, _) = run(kymo().args(["load", "--buckets", "3", "--csv"]).arg(&path));
    let of_a: Vec<_> = rows.lines().filter(|line| line.contains(",a,")).collect();
    let ends =
        [",7000000,1", ",2000000,1", ",0,"].map(|end| format!("{end},false,false,false,true"));
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

/// a and b run for all of ten milliseconds, each on a processor of its own that no line tells.
#[test]
fn shares_of_what_has_no_processor_are_of_the_range() {
    let switch = |time: &str, from: (&str, u32), to: (&str, u32)| {
        let ((from, prev), (to, next)) = (from, to);
        format!(
            " {from} {prev} {time}: sched:sched_switch: prev_comm={from} prev_pid={prev} \
             prev_prio=120 prev_state=R ==> next_comm={to} next_pid={next} next_prio=120\n"
        )
    };
    let (idle, a, b) = (("swapper", 0), ("a", 7), ("b", 8));
    let text = [
        switch("1.000000", idle, a),
        switch("1.000000", idle, b),
        switch("1.010000", a, idle),
        switch("1.010000", b, idle),
    ];
    let folder = folder();
    let path = folder.path().join("none.perf");
    fs::write(&path, text.concat()).unwrap();
    let expected = "no processor is recorded: tasks ran on an unknown number of them, for 200.0% of \
                    the range together";
    for more in [&[][..], &["--total"]] {
        let (_, table, _) = run(kymo().arg("load").args(more).arg(&path));
        assert!(table.contains(expected) && !table.contains("busy"), "{table}");
        assert!(table.contains("run  of range  stretches"), "{table}");
        let (_, rows, _) = run(kymo().args(["load", "--json"]).args(more).arg(&path));
        let rows = json(&rows);
        assert!(rows.iter().all(|row| row["share"] == 1.0 && row["is_processor"] == false));
        assert_eq!(rows.len(), 2);
    }
}
