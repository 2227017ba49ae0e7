//! Stretches of tasks, compared with what `perf sched timehist` says of the same recording.

use crate::support;

use std::path::{Path, PathBuf};

use serde_json::Value;

const SAMPLE: &str = "testdata/perf/control.perf";

/// A stretch: when it ended in microseconds, processor, task, wait, delay and run in microseconds.
type Turn = (u64, String, String, [u64; 3]);

fn of_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Reads `2533.312528 [0000]  sensor[6048]   0.021  0.018  0.034`.
fn expected() -> Vec<Turn> {
    let text = std::fs::read_to_string(of_repository("testdata/perf/control.timehist.txt"));
    let text = text.unwrap();
    let lines = text.lines().skip(3).filter(|line| !line.contains("<idle>"));
    let micros = |text: &str| text.replace('.', "").parse::<u64>().unwrap();
    let turn = |line: &str| {
        let mut words = line.split_whitespace().rev();
        let mut time = || micros(words.next().unwrap());
        let (run, delay, wait) = (time(), time(), time());
        let (head, task) = line.split_once("]  ").unwrap();
        let (end, cpu) = head.split_once(" [").unwrap();
        let (comm, id) = task.split_once(']').unwrap().0.rsplit_once('[').unwrap();
        let tid = id.split('/').next().unwrap();
        let cpu = format!("cpu {}", cpu.parse::<u32>().unwrap());
        (micros(end.trim()), cpu, format!("{comm}-{tid}"), [wait, delay, run])
    };
    lines.map(turn).collect()
}

fn found() -> Vec<Turn> {
    let output = support::kymo()
        .args(["sched", "--history", "-n0", "--json"])
        .arg(of_repository(SAMPLE))
        .output();
    let output = output.unwrap();
    assert!(output.status.success());
    let turn = |line: &str| {
        let json: Value = serde_json::from_str(line).unwrap();
        // What is not known, perf shows as nothing. It cuts off what is below a microsecond.
        let micros = |name: &str| json[name].as_u64().unwrap_or(0) / 1000;
        let text = |name: &str| json[name].as_str().unwrap().to_owned();
        let times = ["wait_ns", "delay_ns", "run_ns"].map(micros);
        (micros("time_ns"), text("cpu"), text("task"), times)
    };
    String::from_utf8(output.stdout).unwrap().lines().map(turn).collect()
}

#[test]
fn every_stretch_is_as_perf_has_it() {
    let (expected, found) = (expected(), found());
    assert!(expected.len() > 50, "{}", expected.len());
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.into_iter().zip(expected) {
        // Tasks have one name here, the last; perf has the one of the moment.
        assert_eq!((found.0, &found.1, found.3), (expected.0, &expected.1, expected.3));
        assert_eq!(found.2.rsplit('-').next(), expected.2.rsplit('-').next());
    }
}
