//! One recording, printed with other fields of `-F`: what is read of it is the same but for these.

use std::fs;

use kymo_conformance::shared;
use kymo_core::{Context, Severity, Source};
use kymo_lines::Reader;
use kymo_model::{Confidence, Format};
use kymo_perf::{Perf, script};

/// Time, processor, name and number of the task, what happened, and its fields.
type Found = (i64, Option<u32>, Option<String>, Option<i64>, String, String);

fn source(file: &str) -> Source {
    let path = kymo_conformance::testdata("perf").join(file);
    // Without a name: nothing but the lines tells what they are.
    Source::from_bytes("", fs::read(path).unwrap())
}

fn events(file: &str) -> Vec<Found> {
    events_of(&source(file), file)
}

fn events_of(source: &Source, file: &str) -> Vec<Found> {
    assert_eq!(Perf.sniff(&source.probe()), Some(Confidence::Plausible), "{file}");
    let grammar = script(&source.bytes().unwrap());
    let reader = Reader::open(source, 0, grammar, &Context::default()).unwrap();
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
    assert!(all.iter().any(|pair| (&pair.2, pair.3) == (&worker, Some(18851))));
    // Which of processor, name and number lines tell.
    for (file, [cpu, comm, tid]) in [
        ("layout_all.perf", [true, true, true]),
        ("layout_comm.perf", [true, true, false]),
        ("layout_tid.perf", [true, false, true]),
        ("layout_pid_tid.perf", [true, false, true]),
        ("layout_cpu.perf", [true, false, false]),
        ("layout_time.perf", [false, false, false]),
    ] {
        let expected = all.iter().cloned().map(|pair| {
            let (time, of_cpu, of_comm, of_tid, name, rest) = pair;
            let task = of_comm.filter(|_| comm);
            (time, of_cpu.filter(|_| cpu), task, of_tid.filter(|_| tid), name, rest)
        });
        assert_eq!(events(file), expected.collect::<Vec<_>>(), "{file}");
    }
}

/// The twelve events as `perf script` prints them with a field more: what comes before each time and
/// after each line, and a line below it.
fn printed(before: &str, after: &str, below: &str) -> Source {
    let text = fs::read_to_string(kymo_conformance::testdata("perf").join("layout_default.perf"));
    let line = |line: &str| {
        let (head, rest) = line.split_once("]  ").unwrap();
        format!("{head}] {before} {rest}{after}\n{below}")
    };
    let lines: String = text.unwrap().lines().map(line).collect();
    Source::from_bytes("", lines.into_bytes())
}

#[test]
fn every_field_that_can_be_added_makes_no_difference() {
    let all = events("layout_default.perf");
    // As perf 6.1 prints them of a recording on this kernel.
    for (field, [before, after, below]) in [
        ("misc", ["K     ", "", ""]),
        ("tod", ["2026-11-18 12:54:46.143917411", "", ""]),
        ("addr", ["", "               0", ""]),
        ("weight,data_src", ["", "      1e05080021 |OP N/A|LVL N/A|BLK  N/A               0", ""]),
        ("iregs", ["", " ABI:2    SP:0xffffc9000523b8f8    IP:0xffffffff813a8834 ", ""]),
        ("insnlen", ["", " ilen: 0", ""]),
        ("data_page_size,code_page_size", ["", " N/A 2M", ""]),
        ("ip,sym,symoff", ["", " ffffffff813ad48a update_se+0x13a", ""]),
        ("srcline", ["", "", "  [kernel.kallsyms][ffffffff813ad48a]\n"]),
        ("rounds", ["", "", "PERF_RECORD_FINISHED_ROUND\n"]),
    ] {
        assert_eq!(events_of(&printed(before, after, below), field), all, "{field}");
    }
}

#[test]
fn what_lacks_its_time_or_its_event_is_recognised_and_says_how_to_print_it() {
    let files = [
        ("bad/no_time.perf", "it tells no time; "),
        ("bad/no_event.perf", "it tells no time, or no event; "),
    ];
    for (file, why) in files {
        let source = source(file);
        assert_eq!(Perf.sniff(&source.probe()), Some(Confidence::Plausible), "{file}");
        let dataset = Perf.open(&source, &Context::default()).unwrap();
        let findings = dataset.findings();
        let found: Vec<_> =
            findings.iter().map(|finding| (finding.severity, finding.rule)).collect();
        assert_eq!(found, [(Severity::Error, "line")], "{file}");
        let message = &findings[0].message;
        assert!(message.starts_with(&format!("12 lines, each: {why}")), "{message}");
        assert!(message.contains("`perf script -F comm,tid,cpu,time,event,trace`"), "{message}");
    }
}

/// Call stacks are not read, which is said once, with how many lines there are.
#[test]
fn call_stacks_that_are_passed_over_are_said_with_their_number() {
    let text = "dd 29776 666709.771979:   10101010 cpu-clock: \n\t  414b3b fsnotify (/vmlinux)\n\t  3d6b4c \
                vfs_read (/vmlinux)\n\ndd 29776 666709.782078:   10101010 cpu-clock: \n\t  3d5d39 x (/v)\n\n";
    let source = Source::from_bytes("", text.as_bytes().to_vec());
    let found = Perf.check(&source, &Context::default()).unwrap();
    let stacks: Vec<_> = found.iter().filter(|item| item.rule == "call-stacks").collect();
    assert_eq!(stacks.len(), 1, "{found:?}");
    assert_eq!((stacks[0].severity, stacks[0].offset), (Severity::Note, Some(47)));
    assert!(stacks[0].message.starts_with("3 lines of call stacks"), "{}", stacks[0].message);
    assert!(found.iter().all(|finding| finding.severity == Severity::Note), "{found:?}");
}

/// Recordings of others without times say that, and which fields are to be printed.
#[test]
fn texts_without_times_say_that_the_time_is_missing_and_how_to_print_it() {
    for name in ["perf-funcab-pid-01.txt", "perf-java-stacks-02.txt"] {
        let Some(path) = shared::file(&format!("traces/perf-stacks/{name}")) else { return };
        let source = Source::from_bytes("", fs::read(path).unwrap());
        assert_eq!(Perf.sniff(&source.probe()), Some(Confidence::Plausible), "{name}");
        let found = Perf.check(&source, &Context::default()).unwrap();
        let lines: Vec<_> = found.iter().filter(|item| item.rule == "line").collect();
        assert!(!lines.is_empty(), "{name}: {found:?}");
        for line in lines {
            assert!(line.message.contains("it tells no time"), "{name}: {}", line.message);
            assert!(
                line.message.contains("-F comm,tid,cpu,time,event"),
                "{name}: {}",
                line.message
            );
        }
    }
}
