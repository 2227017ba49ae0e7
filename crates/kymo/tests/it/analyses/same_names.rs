//! Tasks of one name in several log files.

use std::fs;
use std::path::{Path, PathBuf};

use kymo_bbbin::spec::TaskClass;
use kymo_bbbin::{ArtifactId, ArtifactKind, Body, Definitions, Event, Writer};

use super::json;
use crate::support::{folder, kymo, run};

/// Two log files, each with the tasks `idle` (1) and `ctl` (2). On core0.log `ctl` runs 0–30 and
/// `idle` 30–100, on core1.log `ctl` runs 0–60 and `idle` 60–100.
fn two_cores(folder: &Path) -> PathBuf {
    let mut definitions = Definitions::default();
    let log_files = ["core0.log", "core1.log"].map(|name| {
        let log_file = definitions.add_log_file(name, "by hand");
        for (id, name) in [(1, "idle"), (2, "ctl")] {
            let kind = ArtifactKind::Task { task_class: Ok(TaskClass::Task), priority: 7 };
            definitions.add_artifact(log_file, ArtifactId(id), name, kind);
        }
        (log_file, definitions.empty_type(log_file))
    });
    let path = folder.join("cores.bin");
    let file = fs::File::create(&path).unwrap();
    let mut writer = Writer::new(file, &definitions.log_files, &definitions.types).unwrap();
    for (timestamp, core, from, to) in [
        (0, 0, 777, 2),
        (0, 1, 777, 2),
        (30, 0, 2, 1),
        (60, 1, 2, 1),
        (100, 0, 1, 2),
        (100, 1, 1, 2),
    ] {
        let (log_file, custom_type) = log_files[core];
        let (in_task, out_task) = (ArtifactId(to), ArtifactId(from));
        let body = Body::TaskSwitch { in_task, out_task, in_task_priority: 7 };
        writer.write(&Event { timestamp, log_file, body, custom_type, custom: &[] }).unwrap();
    }
    writer.finish(&definitions.artifacts).unwrap();
    path
}

/// The labels of what a command shows, and a figure of each.
fn figures(path: &Path, args: &[&str], figure: &str) -> Vec<(String, u64)> {
    let (code, out, said) = run(kymo().args(args).arg("--json").arg(path));
    assert_eq!(code, Some(0), "{args:?}: {said}");
    let row = |row: &serde_json::Value| {
        (row["label"].as_str().unwrap().to_owned(), row[figure].as_u64().unwrap())
    };
    json(&out).iter().map(row).collect()
}

fn expected(all: &[(&str, u64)]) -> Vec<(String, u64)> {
    all.iter().map(|(label, ns)| ((*label).to_owned(), *ns)).collect()
}

const ALL: &[(&str, u64)] = &[
    ("ctl (core1.log)", 60),
    ("ctl (core0.log)", 30),
    ("idle (core0.log)", 70),
    ("idle (core1.log)", 40),
];

#[test]
fn tasks_of_one_name_are_told_apart() {
    let folder = folder();
    let path = two_cores(folder.path());
    assert_eq!(figures(&path, &["load", "--total"], "run_ns"), expected(ALL));
    let ran = figures(&path, &["sched"], "stretch_total_ns");
    assert_eq!(ran, expected(&ALL[..2]));
    let (_, text, said) = run(kymo().args(["load", "--total"]).arg(&path));
    assert!(text.contains("ctl (core0.log)\n") && text.contains("ctl (core1.log)\n"), "{text}");
    assert!(said.ends_with(": idle is taken for idle by its name\n"), "{said}");
    let (_, chart, _) = run(kymo().arg("gantt").arg(&path));
    assert!(chart.starts_with("ctl (core1.log)  "), "{chart}");
    let (_, history, _) = run(kymo().args(["sched", "--history", "--csv"]).arg(&path));
    assert!(history.contains(",30,0,core0.log,,,30,false,7,2,ctl,ctl (core0.log)\n"), "{history}");
}

#[test]
fn one_of_several_tasks_of_one_name_can_be_chosen() {
    let folder = folder();
    let path = two_cores(folder.path());
    let load = |args: &[&str]| figures(&path, &[&["load"], args].concat(), "run_ns");
    let core0 = expected(&[ALL[1], ALL[2]]);
    let core1 = expected(&[ALL[0], ALL[3]]);
    assert_eq!(load(&["--stream", "ctl (core0.log)"]), core0[..1]);
    assert_eq!(load(&["--stream", "*(core1.log)"]), core1);
    // A log file stands for its tasks, and so does the number of its processor.
    assert_eq!(load(&["--stream", "core0.log"]), core0);
    assert_eq!(load(&["--exclude", "core0.log"]), core1);
    assert_eq!(load(&["--cpu", "1"]), core1);
    assert_eq!(load(&["--cpu", "0-1", "--stream", "core0.log"]), core0);
    // All that is of a processor is its share of that processor's time alone.
    let (_, text, _) = run(kymo().args(["load", "--total", "--cpu", "0"]).arg(&path));
    assert!(text.contains(": 1 processor, 100 ns, 30.0% busy\n"), "{text}");
    // A pattern that means tasks means no log files.
    assert_eq!(load(&["--stream", "c*"]), expected(&[ALL[1], ALL[0]]));
    let ran = |args: &[&str]| figures(&path, &[&["sched"], args].concat(), "stretch_total_ns");
    assert_eq!(ran(&["--cpu", "0"]), core0[..1]);
    assert_eq!(ran(&["--stream", "core1.log"]), core1[..1]);
    let (code, _, said) = run(kymo().args(["sched", "--cpu", "2"]).arg(&path));
    assert_eq!(code, Some(1));
    assert!(said.contains("no stream of it is of processor 2"), "{said}");
}

#[test]
fn so_many_tasks_are_shown_over_time_as_are_asked_for() {
    let folder = folder();
    let path = two_cores(folder.path());
    let args = ["load", "--buckets", "2", "--csv", "-n", "1"];
    let (_, table, _) = run(kymo().args(args).arg(&path));
    let rows: Vec<_> = table.lines().skip(1).filter_map(|line| line.split_once(".bin,")).collect();
    let expected = [
        "0,0,core0.log,2,ctl,ctl (core0.log),30,0.6,false,false,false,true",
        "50,0,core0.log,2,ctl,ctl (core0.log),0,0,false,false,false,true",
        "0,1,core1.log,2,ctl,ctl (core1.log),50,1,false,false,false,true",
        "50,1,core1.log,2,ctl,ctl (core1.log),10,0.2,false,false,false,true",
    ];
    assert_eq!(rows.iter().map(|(_, row)| *row).collect::<Vec<_>>(), expected);
}
