//! How much memory recordings with very many tasks take.

use std::io::Cursor;
use std::sync::Arc;

use kymo_bbbin::spec::TaskClass;
use kymo_bbbin::{ArtifactId, ArtifactKind, Bbbin, Body, Definitions, Event, Writer};
use kymo_core::{Context, Source};
use kymo_model::Format;
use kymo_model::timeline::Window;
use kymo_query::{Analysis, Load, Pass, Sched, Wakeups};

/// A log of one processor, where so many tasks run in turn, each as often; where they have jobs, each
/// time for one that is released before.
fn log(tasks: i32, turns: i64, has_jobs: bool) -> Source {
    let mut definitions = Definitions::default();
    let log_file = definitions.add_log_file("cpu0.log", "by hand");
    let custom_type = definitions.empty_type(log_file);
    for id in 1..=tasks {
        let kind = ArtifactKind::Task { task_class: Ok(TaskClass::Task), priority: 5 };
        definitions.add_artifact(log_file, ArtifactId(id), &format!("task {id:06}"), kind);
    }
    let out = Cursor::new(Vec::new());
    let mut writer = Writer::new(out, &definitions.log_files, &definitions.types).unwrap();
    for turn in 0..turns {
        for id in 1..=tasks {
            let timestamp = (turn * i64::from(tasks) + i64::from(id)) * 1000;
            let (in_task, out_task) = (ArtifactId(id % tasks + 1), ArtifactId(id));
            let mut write = |timestamp, body| {
                let event = Event { timestamp, log_file, body, custom_type, custom: &[] };
                writer.write(&event).unwrap();
            };
            if has_jobs {
                let task = out_task;
                write(timestamp, Body::TaskCompletion { task, remaining_time: 0 });
                write(timestamp, Body::TaskRelease { task: in_task, time_budget: 1000 });
            }
            write(timestamp, Body::TaskSwitch { in_task, out_task, in_task_priority: 5 });
        }
    }
    let bytes = writer.finish(&definitions.artifacts).unwrap().out.into_inner();
    Source::from_bytes("logset.bin", bytes)
}

/// The most that opening and analysing a file takes, without the file.
fn used(source: &Source, pass: &mut dyn Pass) -> u64 {
    let used = allocation_counter::measure(|| {
        let dataset = Bbbin.open(source, &Context::default()).unwrap();
        let timeline = dataset.timeline().unwrap();
        let mut analysis =
            Analysis::new(Arc::clone(&timeline), Window::default(), &|_| false).unwrap();
        analysis.run(&mut [pass]).unwrap();
        assert_eq!(analysis.tasks().name(kymo_query::TaskId(6)), "task 000007");
    });
    used.bytes_max
}

const FEW: i32 = 1_000;
const MANY: i32 = 31_000;

/// What each task takes beyond what any recording does.
fn of_a_task((turns, has_jobs): (i64, bool), pass: impl Fn() -> Box<dyn Pass>) -> u64 {
    let used = |tasks| used(&log(tasks, turns, has_jobs), &mut *pass());
    (used(MANY) - used(FEW)) / u64::try_from(MANY - FEW).unwrap()
}

/// What is looked at: the turns of each task and whether these are jobs, the most bytes, and the pass.
type Bound = (&'static str, (i64, bool), u64, fn() -> Box<dyn Pass>);

#[test]
fn a_task_takes_a_few_hundred_bytes() {
    let bounds: [Bound; 5] = [
        ("load", (1, false), 400, || Box::new(Load::new())),
        ("sched", (1, false), 450, || Box::new(Sched::new())),
        ("sched, with two numbers each", (2, false), 450, || Box::new(Sched::new())),
        ("sched, with two jobs each", (3, true), 650, || Box::new(Sched::new())),
        ("wakeups", (1, false), 400, || Box::new(Wakeups::new())),
    ];
    for (name, turns, most, pass) in bounds {
        let found = of_a_task(turns, pass);
        assert!(found <= most, "{name}: {found} bytes a task");
    }
}
