//! Parts of files, and what repair makes of them.

use std::fs;

use crate::support::shown::{all, dataset, extracted, sample, worst};
use crate::support::{Bytes, Hand, event, log_file, task_switch, type_of};
use kymo_bbbin::{Bbbin, Reader};
use kymo_conformance::testdata;
use kymo_core::{Context, Destination, Severity, Source};
use kymo_model::timeline::TimeNs;
use kymo_model::{ExtractRequest, Format};

#[test]
fn a_cut_has_the_events_of_a_time() {
    let (from, until) = (Some(TimeNs(30)), Some(TimeNs(61)));
    let part = ExtractRequest { from, until, ..ExtractRequest::default() };
    let (written, cut) = extracted(&[sample("classes.bin")], &part);
    assert_eq!((written.events, written.losses.len()), (4, 0));
    assert_eq!(all(&cut), all(&sample("classes.bin"))[3..8]);
    assert_eq!(worst(&cut), None);
}

#[test]
fn another_log_set_behind_one_is_a_loss() {
    let one = fs::read(testdata("bbbin").join("two_logs.bin")).unwrap();
    let both = [&one[..], &one].concat();
    let source = Source::from_bytes("both.bin", both.clone());
    let found = Bbbin.check(&source, &Context::default()).unwrap();
    let errors = found.iter().filter(|item| item.severity == Severity::Error);
    let errors: Vec<_> = errors.map(|finding| (finding.rule, finding.offset)).collect();
    assert_eq!(errors, [("another-log-set", Some(one.len() as u64))]);
    let (repaired, file) = repaired(both);
    assert_eq!(
        repaired.losses.iter().map(|finding| finding.rule).collect::<Vec<_>>(),
        ["another-log-set"]
    );
    assert_eq!(all(&file), all(&sample("two_logs.bin")));
}

/// The second block, whose entry is at 39,835, is said to begin at 1,050,000 ns instead of 1,000,000. An
/// event is every 1,000 ns.
#[test]
fn a_cut_does_not_believe_an_index_that_has_other_times_than_events() {
    let mut bytes = fs::read(testdata("bbbin").join("blocks.bin")).unwrap();
    let said = 39_835 + 16..39_835 + 24;
    assert_eq!(bytes[said.clone()], 1_000_000_i64.to_be_bytes());
    bytes[said].copy_from_slice(&1_050_000_i64.to_be_bytes());
    let (from, until) = (Some(TimeNs(990_000)), Some(TimeNs(1_040_000)));
    let part = ExtractRequest { from, until, ..ExtractRequest::default() };
    let (written, _) = extracted(&[Source::from_bytes("blocks.bin", bytes)], &part);
    let rules: Vec<_> = written.losses.iter().map(|finding| finding.rule).collect();
    assert_eq!((written.events, rules), (50, vec!["index"]));
}

#[test]
fn a_filter_has_the_events_that_are_about_a_track() {
    let part = ExtractRequest { tracks: Some(vec!["pump".into()]), ..ExtractRequest::default() };
    let (written, part) = extracted(&[sample("two_logs.bin")], &part);
    // The switch to the pump, and the one from it; nobody else is in them.
    assert_eq!(written.events, 2);
    // Who runs after it is not in the part, and so is not known.
    let gap = "750 pump: gap, switches are missing";
    assert_eq!(all(&part), ["250 pump: begin, priority 5", "750 pump: end", gap]);
    assert_eq!(worst(&part), None);
}

#[test]
fn merged_files_keep_their_log_files_apart() {
    let sources = [sample("two_logs.bin"), sample("foreign_no_type.bin")];
    let (written, merged) = extracted(&sources, &ExtractRequest::default());
    assert_eq!((written.events, written.losses.len()), (9, 0));
    let reader = Reader::open(&merged, &Context::default()).unwrap();
    let names: Vec<_> =
        reader.log_files().iter().map(|this_log_file| &*this_log_file.name).collect();
    assert_eq!(names, ["cpu0.log", "cpu1.log", "ose.log"]);
    let order: Vec<_> =
        reader.events().map(|found| (found.event.timestamp, found.event.log_file.0)).collect();
    let expected =
        [(0, 0), (0, 2), (5, 2), (10, 2), (100, 1), (250, 0), (250, 1), (750, 0), (1000, 1)];
    assert_eq!(order, expected);
    assert_eq!(worst(&merged), None);
    // 5 of 1000 each: the whole is that of all logs.
    let found = reader.task_executions().iter().filter(|item| item.log_file.0 == 2);
    let found: Vec<_> = found
        .map(|task_execution| (task_execution.task.0, task_execution.task_exec.to_string()))
        .collect();
    assert_eq!(found, [(1, "0.5".to_owned()), (2, "0.5".to_owned())]);
}

/// The first file has log file 0 twice, and a switch of log file 9, which it does not have; the
/// second has one log file. The switch stays without one.
#[test]
fn events_of_no_log_file_are_not_given_to_another() {
    let first = Hand {
        log_files: vec![log_file(0, b"one"), log_file(0, b"again")],
        events: vec![task_switch(9, 5, 1, 2)],
        ..Hand::default()
    };
    let second = Hand {
        log_files: vec![log_file(0, b"two")],
        events: vec![task_switch(0, 7, 1, 2)],
        ..Hand::default()
    };
    let sources = [first, second].map(|hand| Source::from_bytes("", hand.file()));
    let (written, merged) = extracted(&sources, &ExtractRequest::default());
    let reader = Reader::open(&merged, &Context::default()).unwrap();
    let logs: Vec<_> = reader
        .log_files()
        .iter()
        .map(|this_log_file| (this_log_file.id.0, this_log_file.name.as_str()))
        .collect();
    assert_eq!(logs, [(0, "one"), (1, "again"), (2, "two")]);
    let events = reader.events().map(|found| (found.event.timestamp, found.event.log_file.0));
    assert_eq!(events.collect::<Vec<_>>(), [(5, 3), (7, 2)]);
    assert_eq!(all(&merged), ["7 task 1: end", "7 task 2: begin, priority 3"]);
    let said: Vec<_> = written.losses.iter().map(|loss| loss.message.as_str()).collect();
    let expected = "1 event is of log files that are not there, and stay so: they are on no track";
    // Of both files the tasks of the events are told nowhere, which stays so.
    let tasks = [(1, 3), (2, 3), (1, 2), (2, 2)];
    let tasks = tasks.map(|(task, log)| format!("there is no TASK {task} in log file {log}"));
    assert_eq!(said[0], expected);
    assert_eq!(said[1..], tasks);
}

/// Both files use the ids of one log file, and mean different tasks by the same id.
#[test]
fn log_files_that_use_ids_otherwise_are_not_joined() {
    let task =
        |name: &[u8]| Bytes::new().i32(2).i32(1).string(name).i32(0).i32(1).i32(4).i32(0).i32(0);
    let hand = |name: &[u8]| {
        let hand = Hand {
            log_files: vec![log_file(0, b"a"), log_file(1, b"a")],
            artifacts: vec![task(name)],
            ..Hand::default()
        };
        Source::from_bytes("", hand.file())
    };
    let part = ExtractRequest { join: true, ..ExtractRequest::default() };
    let logs = |source: &Source| {
        let reader = Reader::open(source, &Context::default()).unwrap();
        let artifacts = reader.artifacts().map(|declared_artifact| {
            (declared_artifact.log_file.0, declared_artifact.name.to_string())
        });
        (reader.log_files().len(), artifacts.collect::<Vec<_>>())
    };
    let (joined, file) = extracted(&[hand(b"x"), hand(b"x")], &part);
    assert_eq!((joined.losses.len(), logs(&file)), (0, (2, vec![(0, "x".into())])));
    // The second of the other file is a part of the first, which has no tasks to differ in.
    let (apart, file) = extracted(&[hand(b"x"), hand(b"y")], &part);
    assert_eq!(apart.losses.iter().map(|loss| loss.rule).collect::<Vec<_>>(), ["join"]);
    let expected = vec![(0, "x".into()), (2, "y".into())];
    assert_eq!(logs(&file), (3, expected));
}

#[test]
fn an_unsorted_file_is_warned_about_or_sorted() {
    let (warned, _) = extracted(&[sample("unsorted.bin")], &ExtractRequest::default());
    assert_eq!((warned.events, warned.losses[0].rule), (4, "order"));
    let part = ExtractRequest { sort: true, ..ExtractRequest::default() };
    let (sorted, file) = extracted(&[sample("unsorted.bin")], &part);
    assert_eq!((sorted.events, sorted.losses.len()), (4, 0));
    let reader = Reader::open(&file, &Context::default()).unwrap();
    let times: Vec<_> = reader.events().map(|found| found.event.timestamp).collect();
    assert_eq!(times, [10, 20, 30, 40]);
    assert_eq!(worst(&file), None);
}

#[test]
fn parts_of_a_recording_are_joined_and_others_get_a_number() {
    let whole = sample("two_logs.bin");
    let (middle, time) = (Some(TimeNs(500)), ExtractRequest::default());
    let (_, first) =
        extracted(std::slice::from_ref(&whole), &ExtractRequest { until: middle, ..time.clone() });
    let (_, second) =
        extracted(std::slice::from_ref(&whole), &ExtractRequest { from: middle, ..time });
    let parts = [first, second];
    let (joined, file) =
        extracted(&parts, &ExtractRequest { join: true, ..ExtractRequest::default() });
    assert_eq!(joined.losses, []);
    assert_eq!(all(&file), all(&whole));
    let (_, apart) = extracted(&parts, &ExtractRequest::default());
    let names = |source: &Source| -> Vec<_> {
        dataset(source).recordings().into_iter().map(|recording| recording.name).collect()
    };
    assert_eq!(names(&file), ["cpu0.log", "cpu1.log"]);
    assert_eq!(names(&apart), ["cpu0.log", "cpu1.log", "cpu0.log (2)", "cpu1.log (2)"]);
    // Files of names that differ tell whose they were.
    let inputs = [("one/a.bin", &parts[0]), ("two/b.bin", &parts[1])];
    let inputs = inputs.map(|(name, part)| Source::from_bytes(name, part.bytes().unwrap()));
    let (_, apart) = extracted(&inputs, &ExtractRequest::default());
    let expected = ["cpu0.log (a)", "cpu1.log (a)", "cpu0.log (b)", "cpu1.log (b)"];
    assert_eq!(names(&apart), expected);
}

#[test]
fn a_part_of_a_file_has_what_existing_readers_need() {
    let (_, part) = extracted(&[sample("foreign_no_type.bin")], &ExtractRequest::default());
    let reader = Reader::open(&part, &Context::default()).unwrap();
    assert!(reader.events().all(|found| found.event.custom_type.0 == 2));
    assert!(reader.artifacts().all(|declared_artifact| declared_artifact.custom_type.0 == 2));
    assert_eq!(reader.types()[1].fields, []);
}

fn repaired(bytes: Vec<u8>) -> (kymo_model::RepairReport, Source) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.bin");
    let source = Source::from_bytes("", bytes);
    let repaired = Bbbin.repair(&source, &Destination::new(&path, false), &Context::default());
    (repaired.unwrap(), Source::from_bytes("out.bin", fs::read(path).unwrap()))
}

/// A state before its state machine, no types, and a task that nothing declares.
#[test]
fn a_repaired_file_has_what_existing_readers_need() {
    let artifact = |class: i32, id: i32| Bytes::new().i32(class).i32(id).string(b"x").i32(0);
    let hand = Hand {
        log_files: vec![log_file(0, b"a.log")],
        events: vec![task_switch(0, 0, 3, 4)],
        artifacts: vec![
            artifact(4, 21).i32(20).i32(0).i32(0),
            artifact(3, 20).i32(0).i32(0),
            artifact(2, 3).i32(1).i32(9).i32(0).i32(0),
        ],
        statistics: [0, 0, 1],
        ..Hand::default()
    };
    let (told, file) = repaired(hand.file());
    let rules: Vec<_> = told.corrected.iter().map(|finding| finding.rule).collect();
    assert_eq!((rules, told.losses.len()), (vec!["unknown-artifact", "parent"], 0));
    // That it declares what nothing else did is noted.
    assert_eq!(worst(&file), Some(Severity::Note));
    let reader = Reader::open(&file, &Context::default()).unwrap();
    let ids: Vec<_> = reader.artifacts().map(|declared_artifact| declared_artifact.id.0).collect();
    assert_eq!(ids, [20, 3, 4, 21]);
    assert!(reader.events().all(|found| found.event.custom_type.0 == 1));
}

/// The number of events is less than what the index locates.
#[test]
fn events_that_the_index_locates_are_not_lost() {
    let mut file = fs::read(testdata("bbbin").join("blocks.bin")).unwrap();
    let at = usize::try_from(u64::from_be_bytes(file[24..32].try_into().unwrap())).unwrap();
    for number in [50_i64, -5] {
        file[at..at + 8].copy_from_slice(&number.to_be_bytes());
        let (told, repaired) = repaired(file.clone());
        assert_eq!(told.kept, 1100);
        assert_eq!(told.losses.len() + told.corrected.len(), 1, "{told:?}");
        assert_eq!(all(&repaired), all(&sample("blocks.bin")));
    }
}

/// Log files, types, classes and parents that are not there, and ids that are there twice.
#[test]
fn what_nothing_declares_is_declared() {
    let bad = ["unknown_log_file", "unknown_type", "task_class", "duplicate", "stray_events"];
    for name in bad.into_iter().chain(["log_file_ids"]) {
        let bytes = fs::read(testdata("bbbin").join(format!("bad/{name}.bin"))).unwrap();
        let (told, file) = repaired(bytes.clone());
        assert!(worst(&file) <= Some(Severity::Note), "{name}");
        assert!(!told.corrected.is_empty() && told.losses.is_empty(), "{name}");
        let count = |source: &Source| {
            Reader::salvage(source, &Context::default()).unwrap().events().count()
        };
        assert_eq!(count(&file), count(&Source::from_bytes("", bytes)), "{name}");
    }
}

/// A GENERIC event without a body of its own.
fn generic(timestamp: i64, custom_type: i32, custom: &[u8]) -> (i64, Bytes) {
    (timestamp, event(1, timestamp).i32(custom_type).string(custom))
}

#[test]
fn values_of_several_lengths_get_a_type_each() {
    // Type 5 has values of 3 and of 5 bytes, and nothing declares it.
    let events = vec![generic(1, 5, b"abc"), generic(2, 5, b"abcde"), generic(3, 5, b"xyz")];
    let hand = Hand { log_files: vec![log_file(0, b"a.log")], events, ..Hand::default() };
    let (told, file) = repaired(hand.file());
    assert!(worst(&file) <= Some(Severity::Note));
    assert!(told.losses.is_empty());
    let changed = "values that say they are of type 5 in log file 0, which nothing declares, have 1 \
                   other types now, by their length";
    assert!(
        told.corrected.iter().any(|finding| finding.message == changed),
        "{:?}",
        told.corrected
    );
    let reader = Reader::open(&file, &Context::default()).unwrap();
    let found: Vec<_> = reader
        .events()
        .map(|located_event| {
            (located_event.event.custom_type.0, located_event.event.custom.to_vec())
        })
        .collect();
    let expected = [(5, b"abc".to_vec()), (1, b"abcde".to_vec()), (5, b"xyz".to_vec())];
    assert_eq!(found, expected);
}

#[test]
fn values_of_no_type_get_one_that_is_not_0() {
    let task = Bytes::new().i32(2).i32(1).string(b"x").i32(0).i32(1).i32(1).i32(0).i32(0);
    let hand = Hand {
        log_files: vec![log_file(0, b"a.log")],
        types: vec![type_of(1, 0, 1, 0)],
        events: vec![generic(1, 0, b"abc")],
        artifacts: vec![task],
        ..Hand::default()
    };
    let (_, file) = repaired(hand.file());
    assert!(worst(&file) <= Some(Severity::Note));
    let reader = Reader::open(&file, &Context::default()).unwrap();
    let ids: Vec<_> = reader.types().iter().map(|this_custom_type| this_custom_type.id.0).collect();
    assert!(!ids.contains(&0), "{ids:?}");
    let found = reader.events().next().unwrap();
    assert_eq!((found.event.custom_type.0, found.event.custom), (2, &b"abc"[..]));
    assert_ne!(reader.definitions().artifacts[0].custom_type.0, 2);
}

#[test]
fn a_state_of_nobody_gets_a_machine() {
    // An SRL RECEIVE of 777, which stands for nobody, into state 50.
    let receive = event(8, 1).i32(777).i32(777).i64(-1).string(b"m").i32(50).i64(5).i32(0).i32(0);
    let (_, file) = repaired(Hand::with_event(1, receive).file());
    assert!(worst(&file) <= Some(Severity::Note));
}

#[test]
fn repair_says_all_that_its_result_has() {
    // The values of type 1 are one byte long, and are left as they are.
    let hand = Hand {
        types: vec![type_of(1, 0, 1, 0)],
        events: vec![generic(1, 1, b"abc")],
        ..Hand::with_event(1, Bytes::new())
    };
    let (told, file) = repaired(hand.file());
    let again = Bbbin.check(&file, &Context::default()).unwrap();
    let left: Vec<_> = again.iter().filter(|item| item.severity > Severity::Note).collect();
    let is_said = |item: &&kymo_core::Finding| {
        told.corrected.iter().any(|said| said.message.starts_with(&item.message))
    };
    assert!(!left.is_empty() && left.iter().all(is_said), "{left:?} {:?}", told.corrected);
}

/// A state is part of itself, which repairing does not change.
#[test]
fn repair_does_not_say_that_it_corrected_what_it_left() {
    let state = Bytes::new().i32(4).i32(9).string(b"s").i32(0).i32(9).i32(0).i32(0);
    let hand =
        Hand { log_files: vec![log_file(0, b"a.log")], artifacts: vec![state], ..Hand::default() };
    let (told, file) = repaired(hand.file());
    let expected = "no state or state machine 9 comes before its state 9; left as it is";
    assert_eq!(told.corrected[0].message, expected);
    let again = Bbbin.check(&file, &Context::default()).unwrap();
    assert_eq!(again[0].rule, "parent");
}

#[test]
fn repair_says_what_it_leaves() {
    let (told, _) = repaired(fs::read(testdata("bbbin").join("unsorted.bin")).unwrap());
    let message = &told.corrected[0].message;
    assert!(message.ends_with("left as it is (`kymo merge --sort` sorts)"), "{message}");
}

/// A type that has the id 0 is another one then, and its values stay its values.
#[test]
fn no_type_that_is_written_has_the_id_0() {
    let hand = Hand {
        log_files: vec![log_file(0, b"a.log")],
        types: vec![type_of(0, 0, 2, 0), type_of(1, 0, 2, 0)],
        events: vec![generic(1, 0, &[7]), generic(2, 1, &[8]), generic(3, 0, &[])],
        ..Hand::default()
    };
    let found = Bbbin.check(&Source::from_bytes("", hand.file()), &Context::default()).unwrap();
    let found: Vec<_> = found.iter().map(|finding| (finding.severity, finding.rule)).collect();
    assert_eq!(found, [(Severity::Note, "type-id")]);
    let (_, mended) = repaired(hand.file());
    let (_, cut) = extracted(&[Source::from_bytes("", hand.file())], &ExtractRequest::default());
    for file in [mended, cut] {
        assert_eq!(worst(&file), None);
        let reader = Reader::open(&file, &Context::default()).unwrap();
        let events: Vec<_> = reader.events().collect();
        // 2 is the next that is free, and 3 is that of what has no values.
        let types: Vec<_> =
            events.iter().map(|located_event| located_event.event.custom_type.0).collect();
        assert_eq!(types, [2, 1, 3]);
        assert_eq!(events[0].event.custom, [7]);
        let types: Vec<_> = reader
            .definitions()
            .types
            .iter()
            .map(|this_custom_type| this_custom_type.id.0)
            .collect();
        assert_eq!(types, [2, 1, 3]);
    }
}

/// Of a file that was cut before its artifacts, tasks have numbers: whoever reads it is told.
#[test]
fn a_repaired_file_says_that_names_are_lost() {
    let events = vec![task_switch(0, 0, 3, 4), task_switch(0, 5, 4, 3)];
    let hand = Hand { log_files: vec![log_file(0, b"a.log")], events, ..Hand::default() };
    let (_, file) = repaired(hand.file());
    let found = dataset(&file).findings();
    let found: Vec<_> = found.iter().map(|finding| (finding.severity, finding.rule)).collect();
    assert_eq!(found, [(Severity::Note, "artifacts")]);
    assert_eq!(dataset(&sample("two_logs.bin")).findings(), []);
}

/// Log files 5 and 3, with a type, a task and a switch of each.
#[test]
fn log_files_that_are_written_are_numbered_from_0() {
    let task = |log: i32| Bytes::new().i32(2).i32(1).string(b"x").i32(log).i32(1).i32(1);
    let task = |log: i32| task(log).i32(1).i32(0);
    let empty = |log: i32| Bytes::new().i32(1).string(b"").i32(log).i32(0);
    let switch = |log: i32, time: i64| {
        let event = Bytes::new().i32(2).i64(time).i32(log);
        (time, event.i32(1).i32(777).i32(3).i32(1).i32(0))
    };
    let hand = Hand {
        log_files: vec![log_file(5, b"a.log"), log_file(3, b"b.log")],
        types: vec![empty(5), empty(3)],
        events: vec![switch(3, 1), switch(5, 2)],
        artifacts: vec![task(5), task(3)],
        statistics: [1, 2, 2],
        ..Hand::default()
    };
    let (told, mended) = repaired(hand.file());
    let said: Vec<_> = told.corrected.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(said, ["log file 0 has the id 5: ids count from 0 (2 times)"]);
    let (_, cut) = extracted(&[Source::from_bytes("", hand.file())], &ExtractRequest::default());
    for file in [mended, cut] {
        assert_eq!(worst(&file), None);
        let reader = Reader::open(&file, &Context::default()).unwrap();
        let definitions = reader.definitions();
        let logs: Vec<_> = definitions
            .log_files
            .iter()
            .map(|this_log_file| (this_log_file.id.0, &*this_log_file.name))
            .collect();
        assert_eq!(logs, [(0, "a.log"), (1, "b.log")]);
        let events: Vec<_> =
            reader.events().map(|located_event| located_event.event.log_file.0).collect();
        assert_eq!(events, [1, 0]);
        let artifacts: Vec<_> =
            definitions.artifacts.iter().map(|artifact| artifact.log_file.0).collect();
        assert_eq!(artifacts, [0, 1]);
    }
}

/// Of the values of an event, 5 is a task, 99 is nothing, and 777 and -1 need not be anything.
#[test]
fn artifacts_among_values_are_looked_up() {
    let task = Bytes::new().i32(2).i32(5).string(b"x").i32(0).i32(1).i32(1).i32(1).string(&[]);
    let values = Bytes::new().i32(5).i32(99).i32(777).i32(-1);
    let hand = Hand {
        log_files: vec![log_file(0, b"a.log")],
        types: vec![Bytes::new().i32(1).string(b"").i32(0).i32(0), type_of(2, 0, 13, 4)],
        events: vec![generic(1, 2, &values.0)],
        artifacts: vec![task],
        ..Hand::default()
    };
    let found = Bbbin.check(&Source::from_bytes("", hand.file()), &Context::default()).unwrap();
    let found: Vec<_> =
        found.iter().map(|finding| (finding.rule, finding.message.as_str())).collect();
    assert_eq!(found, [("unknown-artifact", "there is no artifact 99 in log file 0")]);
}

/// Interrupts are tasks of negative ids; of state machines and states only -1 has a meaning.
#[test]
fn negative_ids_of_states_are_looked_up() {
    let receive = |machine: i32, state: i32| {
        let message = event(8, 1).i32(777).i32(machine).i64(-1).string(b"");
        message.i32(state).i64(-1).i32(0).i32(0)
    };
    for (machine, state, count) in [(-1, -1, 0), (-2, -1, 1), (-1, -2, 1)] {
        let hand = Hand::with_event(1, receive(machine, state));
        let found = Bbbin.check(&Source::from_bytes("", hand.file()), &Context::default()).unwrap();
        let found = found.iter().filter(|item| item.rule == "unknown-artifact").count();
        assert_eq!(found, count, "{machine} {state}");
    }
    let hand = Hand::with_event(1, task_switch(0, 1, -3, -4).1);
    let found = Bbbin.check(&Source::from_bytes("", hand.file()), &Context::default()).unwrap();
    assert!(found.iter().all(|finding| finding.rule != "unknown-artifact"), "{found:?}");
}
