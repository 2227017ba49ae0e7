//! Loads and response times of a trace of Linux, worked out from what babeltrace2 prints of it.

use crate::support;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use kymo_conformance::shared;
use serde_json::Value;

const TRACES: [&str; 2] = ["lttng-tracefile-rotation/kernel", "many-threads"];

/// An event that babeltrace2 printed.
struct Printed {
    time: u64,
    name: String,
    line: String,
}

impl Printed {
    /// `[1571261795.523067504] host sched_waking: { cpu_id = 3 }, { comm = "a", tid = 31407 }`
    fn new(line: &str) -> Self {
        let (time, rest) = line.strip_prefix('[').unwrap().split_once("] ").unwrap();
        let (name, _) = rest.split_once(": {").unwrap();
        let name = name.rsplit(' ').next().unwrap().to_owned();
        Self { time: time.replace('.', "").parse().unwrap(), name, line: line.to_owned() }
    }

    fn number(&self, field: &str) -> Option<i64> {
        let (_, rest) = self.line.split_once(&format!(" {field} = "))?;
        let end = rest.find([',', ' ']).unwrap_or(rest.len());
        rest[..end].parse().ok()
    }
}

fn printed(trace: &Path) -> Vec<Printed> {
    let output = Command::new("babeltrace2")
        .args(["--clock-seconds", "--no-delta"])
        .arg(trace)
        .output()
        .expect("babeltrace2 is to be installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter(|line| line.contains(" sched_")).map(Printed::new).collect()
}

/// How long a task ran, by processor and number.
fn loads(events: &[Printed]) -> BTreeMap<(i64, i64), u64> {
    let (mut loads, mut since) = (BTreeMap::new(), BTreeMap::new());
    for event in events.iter().filter(|event| event.name == "sched_switch") {
        let (cpu, next) = (event.number("cpu_id").unwrap(), event.number("next_tid").unwrap());
        if let Some((task, begin)) = since.insert(cpu, (next, event.time)) {
            assert_eq!(Some(task), event.number("prev_tid"));
            *loads.entry((cpu, task)).or_default() += event.time - begin;
        }
    }
    loads
}

/// What a task is at.
#[derive(Default)]
struct Task {
    is_running: bool,
    /// When it was woken for what it does, and whether it ran since.
    woken: Option<(u64, bool)>,
    /// When it was woken last while it was awake.
    again: Option<u64>,
    /// How long its jobs took.
    responses: Vec<u64>,
}

/// From the wakeup to where a task goes to sleep again, as the lower bits of its state tell. A
/// wakeup of one that is awake counts for its next sleep, unless another comes then.
fn responses(events: &[Printed]) -> BTreeMap<i64, Vec<u64>> {
    let has_waking = events.iter().any(|event| event.name == "sched_waking");
    let wakes = if has_waking { "sched_waking" } else { "sched_wakeup" };
    let mut tasks: BTreeMap<i64, Task> = BTreeMap::new();
    for event in events {
        match event.name.as_str() {
            name if name == wakes || name == "sched_wakeup_new" => {
                let task = tasks.entry(event.number("tid").unwrap()).or_default();
                if task.is_running || task.woken.is_some_and(|(_, has_run)| has_run) {
                    task.again = Some(event.time);
                } else {
                    task.woken = Some((event.time, false));
                }
            }
            "sched_switch" => {
                let stopped = tasks.entry(event.number("prev_tid").unwrap()).or_default();
                stopped.is_running = false;
                if event.number("prev_state").unwrap() & 0xFF != 0 {
                    let woken = stopped.woken.take();
                    stopped.responses.extend(woken.map(|(since, _)| event.time - since));
                    stopped.woken = stopped.again.take().map(|since| (since, false));
                }
                let begun = tasks.entry(event.number("next_tid").unwrap()).or_default();
                begun.is_running = true;
                begun.woken = begun.woken.map(|(since, _)| (since, true));
            }
            _ => {}
        }
    }
    tasks.into_iter().map(|(tid, task)| (tid, task.responses)).collect()
}

/// Rows of a command, which are objects.
fn rows(command: &str, trace: &Path) -> Vec<Value> {
    let args = [command, "--json", "-n0"];
    let (code, out, _) = support::run(support::kymo().args(args).arg(trace));
    assert_eq!(code, Some(0));
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The number of a task: `bash-812`, and 0 for those that are called `swapper/3`.
fn tid(row: &Value) -> i64 {
    let name = row["task"].as_str().unwrap();
    name.rsplit_once('-').and_then(|(_, tid)| tid.parse().ok()).unwrap_or(0)
}

#[test]
fn loads_are_those_of_the_switches_that_babeltrace2_prints() {
    for name in TRACES {
        let Some(trace) = shared::file(&format!("traces/ctf/{name}")) else { return };
        let expected = loads(&printed(&trace));
        let rows = rows("load", &trace);
        let rows = rows.iter().filter(|row| row["is_interrupt"] == false);
        let found: BTreeMap<_, _> = rows
            .map(|row| {
                let cpu = row["cpu"].as_str().unwrap().strip_prefix("cpu ").unwrap();
                ((cpu.parse::<i64>().unwrap(), tid(row)), row["run_ns"].as_u64().unwrap())
            })
            .collect();
        assert!(expected.len() > 20, "{name}");
        let is_ran = |(_, ns): &(&(i64, i64), &u64)| **ns > 0;
        let ran = |runs: &BTreeMap<(i64, i64), u64>| -> Vec<_> {
            runs.iter().filter(is_ran).map(|(key, ns)| (*key, *ns)).collect()
        };
        assert_eq!(ran(&found), ran(&expected), "{name}");
    }
}

#[test]
fn response_times_are_those_of_what_babeltrace2_prints() {
    for name in TRACES {
        let Some(trace) = shared::file(&format!("traces/ctf/{name}")) else { return };
        let expected = responses(&printed(&trace));
        let mut jobs = 0;
        for row in rows("sched", &trace) {
            let (tid, number) = (tid(&row), |field: &str| row[field].as_u64());
            let responses = expected.get(&tid).map_or(&[][..], |values| &values[..]);
            assert_eq!(number("jobs"), Some(responses.len() as u64), "{name}, task {tid}");
            jobs += responses.len();
            let sum = responses.iter().sum::<u64>();
            let mean = sum.checked_div(responses.len() as u64);
            assert_eq!(number("response_min_ns"), responses.iter().copied().min());
            assert_eq!(number("response_max_ns"), responses.iter().copied().max());
            let off = mean.zip(number("response_mean_ns")).map(|(one, other)| one.abs_diff(other));
            assert!(off.unwrap_or(0) <= 1, "{name}, task {tid}");
        }
        assert!(jobs > 100, "{name}: {jobs}");
    }
}
