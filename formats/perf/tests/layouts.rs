//! One recording, printed with other fields of `-F`: what is read of it is the same but for these.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests may fail loudly")]

use std::fs;

use kymo_core::{Confidence, Context, Format, Severity, Source};
use kymo_lines::Reader;
use kymo_perf::{Perf, script};

/// Time, processor, name and number of the task, what happened, and its fields.
type Found = (i64, Option<u32>, Option<String>, Option<i64>, String, String);

fn source(file: &str) -> Source {
    let path = kymo_conformance::testdata("perf").join(file);
    // Without a name: nothing but the lines tells what they are.
    Source::from_bytes("", fs::read(path).unwrap())
}

fn events(file: &str) -> Vec<Found> {
    let source = source(file);
    assert_eq!(Perf.sniff(&source.probe()), Some(Confidence::Plausible), "{file}");
    let grammar = script(&source.bytes().unwrap());
    let reader = Reader::open(&source, 0, grammar, &Context::default()).unwrap();
    assert!(reader.findings().is_empty(), "{file}");
    let mut found = Vec::new();
    reader.each_event(&mut |_, line| {
        let (task, text) = (line.task.map(str::to_owned), str::to_owned);
        let time = line.time.unwrap().0;
        found.push((time, line.cpu, task, line.tid, text(line.name), text(line.rest)));
        true
    });
    found
}

#[test]
fn what_is_printed_besides_makes_no_difference() {
    let all = events("layout_default.perf");
    assert_eq!(all.len(), 12);
    let worker = Some("worker 1".to_owned());
    assert!(all.iter().any(|of| (&of.2, of.3) == (&worker, Some(18851))));
    // Which of processor, name and number lines tell.
    for (file, [cpu, comm, tid]) in [
        ("layout_all.perf", [true, true, true]),
        ("layout_comm.perf", [true, true, false]),
        ("layout_tid.perf", [true, false, true]),
        ("layout_pid_tid.perf", [true, false, true]),
        ("layout_cpu.perf", [true, false, false]),
        ("layout_time.perf", [false, false, false]),
    ] {
        let expected = all.iter().cloned().map(|of| {
            let (time, of_cpu, of_comm, of_tid, name, rest) = of;
            let task = of_comm.filter(|_| comm);
            (time, of_cpu.filter(|_| cpu), task, of_tid.filter(|_| tid), name, rest)
        });
        assert_eq!(events(file), expected.collect::<Vec<_>>(), "{file}");
    }
}

#[test]
fn what_lacks_its_time_or_its_event_is_recognised_and_says_how_to_print_it() {
    for file in ["bad/no_time.perf", "bad/no_event.perf"] {
        let source = source(file);
        assert_eq!(Perf.sniff(&source.probe()), Some(Confidence::Plausible), "{file}");
        let dataset = Perf.open(&source, &Context::default()).unwrap();
        let findings = dataset.findings();
        let found: Vec<_> = findings.iter().map(|of| (of.severity, of.rule)).collect();
        assert_eq!(found, [(Severity::Error, "line")], "{file}");
        let message = &findings[0].message;
        assert!(message.starts_with("12 lines, each: it tells no time, or no event"), "{message}");
        assert!(message.contains("`perf script -F comm,tid,cpu,time,event,trace`"), "{message}");
    }
}
