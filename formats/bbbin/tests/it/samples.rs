//! The samples in `testdata/bbbin`: sound ones made with our writer, foreign and damaged ones put
//! together byte by byte.

use std::fs;
use std::io::Cursor;

use crate::support::{Bytes, Hand, event, log_file, task_switch, type_of};
use kymo_bbbin::spec::{FieldType, TaskClass};
use kymo_bbbin::{
    ArtifactId, ArtifactKind, Body, CustomField, Definitions, Event, Function, LogFileId, Message,
    Text, TypeId, Writer, encode,
};
use kymo_conformance::{golden, shared, testdata};
use kymo_core::Value;

const LOG: LogFileId = LogFileId(0);

fn task(priority: i32) -> ArtifactKind {
    ArtifactKind::Task { task_class: Ok(TaskClass::Task), priority }
}

fn switch(timestamp: i64, log_file: LogFileId, out_task: i32, in_task: i32) -> Event<'static> {
    let (in_task, out_task) = (ArtifactId(in_task), ArtifactId(out_task));
    let body = Body::TaskSwitch { in_task, out_task, in_task_priority: 5 };
    Event { timestamp, log_file, body, custom_type: TypeId(1), custom: &[] }
}

fn written(definitions: &Definitions, events: &[Event<'_>]) -> Vec<u8> {
    let out = Cursor::new(Vec::new());
    let mut writer = Writer::new(out, &definitions.log_files, &definitions.types).unwrap();
    for event in events {
        writer.write(event).unwrap();
    }
    writer.finish(&definitions.artifacts).unwrap().out.into_inner()
}

/// Each class of event and of artifact.
fn classes() -> Vec<u8> {
    let mut definitions = Definitions::default();
    definitions.add_log_file("küche.log", "by hand");
    definitions.log_files[0].size = 4711;
    definitions.log_files[0].imported_at_ms = 1_262_304_000_000;
    let custom_type = definitions.empty_type(LOG);
    let thread = ArtifactKind::Task { task_class: Ok(TaskClass::Thread), priority: 3 };
    let process = ArtifactKind::Task { task_class: Ok(TaskClass::Process), priority: 2 };
    for (id, name, kind) in [
        (1, "control", task(9)),
        (2, "logger", thread),
        (3, "shell", process),
        (4, "board", ArtifactKind::Generic),
        (5, "door", ArtifactKind::StateMachine),
        (6, "open", ArtifactKind::State { parent: ArtifactId(5) }),
        (7, "ajar", ArtifactKind::State { parent: ArtifactId(6) }),
    ] {
        definitions.add_artifact(LOG, ArtifactId(id), name, kind);
    }
    let (sender, receiver) = (ArtifactId(1), ArtifactId(2));
    let message =
        |other_timestamp| Message { sender, receiver, other_timestamp, name: Text(b"Gr\xFC\xDFe") };
    let (sender, receiver) = (ArtifactId(777), ArtifactId(5));
    let srl = Message { sender, receiver, other_timestamp: -1, name: Text(b"OPEN") };
    let function = Function { name: Text(b"main"), end_time: 95 };
    let bodies = [
        Body::TaskRelease { task: ArtifactId(1), time_budget: 60 },
        Body::TaskSwitch { in_task: ArtifactId(1), out_task: ArtifactId(-3), in_task_priority: 9 },
        Body::FunctionEnter(function),
        Body::Send(message(70)),
        Body::SrlSend { message: srl, receiver_instance: 2 },
        Body::SrlReceive { message: srl, state: ArtifactId(7), finish_timestamp: 66 },
        Body::TaskSwitch { in_task: ArtifactId(2), out_task: ArtifactId(1), in_task_priority: 3 },
        Body::Receive(message(40)),
        Body::TaskCompletion { task: ArtifactId(1), remaining_time: -20 },
        Body::FunctionExit(function),
        Body::Generic,
    ];
    let events: Vec<_> = (1..)
        .zip(bodies)
        .map(|(n, body)| Event { timestamp: n * 10, log_file: LOG, body, custom_type, custom: &[] })
        .collect();
    written(&definitions, &events)
}

/// Each type of field, one value and several.
fn types() -> Vec<u8> {
    let mut definitions = Definitions::default();
    definitions.add_log_file("types.log", "by hand");
    let scalar =
        |field_type: &FieldType| CustomField::scalar(field_type.name().to_lowercase(), *field_type);
    let array = |field_type: &FieldType| {
        CustomField::array(field_type.name().to_lowercase(), *field_type, 2)
    };
    let one = FieldType::ALL.iter().map(scalar).collect();
    let two = FieldType::ALL.iter().map(array).collect();
    let one = definitions.add_type(LOG, "One", one);
    let two = definitions.add_type(LOG, "Two", two);
    let value = |field_type: FieldType| -> Value {
        match field_type {
            FieldType::Int8 => (-8_i8).into(),
            FieldType::Uint8 => 200_u8.into(),
            FieldType::Int16 => (-1600_i16).into(),
            FieldType::Uint16 => 60_000_u16.into(),
            FieldType::Int32 => (-320_000_i32).into(),
            FieldType::Uint32 => 4_000_000_000_u32.into(),
            FieldType::Int64 => i64::MIN.into(),
            FieldType::Uint64 => u64::MAX.into(),
            FieldType::Float => 0.1_f32.into(),
            FieldType::Double => (-1e300).into(),
            FieldType::Boolean => true.into(),
            FieldType::String => "naïve \"quotes\"\n".into(),
            FieldType::ArtifactId => 3_000_000_000_u32.into(),
        }
    };
    let ones: Vec<Value> = FieldType::ALL.iter().map(|field_type| value(*field_type)).collect();
    let twos: Vec<Value> = FieldType::ALL
        .iter()
        .map(|field_type| Value::List(vec![value(*field_type), value(*field_type)]))
        .collect();
    let ones = encode(&definitions.types[0], &ones).unwrap();
    let twos = encode(&definitions.types[1], &twos).unwrap();
    let event = |timestamp, custom_type, custom| Event {
        timestamp,
        log_file: LOG,
        body: Body::Generic,
        custom_type,
        custom,
    };
    let mut carrying = switch(3, LOG, -2, -1);
    (carrying.custom_type, carrying.custom) = (one, &ones);
    written(&definitions, &[event(1, one, &ones), event(2, two, &twos), carrying])
}

/// Types and fields that are called as tables, columns and types of ours are, and as each other; in
/// two log files a type of one name with other fields.
fn names() -> Vec<u8> {
    let mut definitions = Definitions::default();
    let (a, b) = (definitions.add_log_file("a", ""), definitions.add_log_file("b", ""));
    let scalar = CustomField::scalar;
    let (byte, text) = (FieldType::Uint8, FieldType::String);
    let events = vec![scalar("offset", byte), scalar("x", byte), scalar("x", byte)];
    definitions.add_type(a, "events", events);
    definitions.add_type(a, "call", vec![scalar("thread", FieldType::Int32)]);
    definitions.add_type(a, "both", vec![scalar("x", byte), scalar("only a", byte)]);
    definitions.add_type(a, "", vec![scalar("y", FieldType::Float)]);
    definitions.add_type(b, "both", vec![scalar("only b", text), scalar("x", text)]);
    definitions.empty_type(b);
    let event = |timestamp, log_file, id, custom| Event {
        timestamp,
        log_file,
        body: Body::Generic,
        custom_type: TypeId(id),
        custom,
    };
    let events = [
        event(1, a, 1, &[7, 8, 9][..]),
        event(2, a, 2, &[0, 0, 0, 5]),
        event(3, a, 3, &[1, 2]),
        event(4, b, 1, &[0, 0, 0, 1, b'p', 0, 0, 0, 1, b'q']),
        event(5, a, 4, &[0x3F, 0, 0, 0]),
    ];
    written(&definitions, &events)
}

/// Two CPUs, each a log of its own, with the same ids for other tasks.
fn two_logs() -> Vec<u8> {
    let mut definitions = Definitions::default();
    for (number, names) in [["idle0", "pump"], ["idle1", "valve"]].into_iter().enumerate() {
        let log = definitions.add_log_file(&format!("cpu{number}.log"), "by hand");
        for (id, name) in (1..).zip(names) {
            definitions.add_artifact(log, ArtifactId(id), name, task(id));
        }
    }
    let (a, b) = (LogFileId(0), LogFileId(1));
    let events = [
        switch(0, a, -1, 1),
        switch(100, b, -1, 2),
        switch(250, a, 1, 2),
        switch(250, b, 2, 1),
        switch(750, a, 2, 1),
        switch(1000, b, 1, 2),
    ];
    written(&definitions, &events)
}

/// More than one block.
fn blocks() -> Vec<u8> {
    let mut definitions = Definitions::default();
    definitions.add_log_file("long.log", "by hand");
    definitions.add_artifact(LOG, ArtifactId(1), "ping", task(1));
    definitions.add_artifact(LOG, ArtifactId(2), "pong", task(1));
    let event = |n: i32| switch(i64::from(n) * 1000, LOG, 1 + n % 2, 2 - n % 2);
    written(&definitions, &(0..1100).map(event).collect::<Vec<_>>())
}

/// One log whose events are not in the order of their times.
fn unsorted() -> Vec<u8> {
    let mut definitions = Definitions::default();
    definitions.add_log_file("unsorted.log", "by hand");
    definitions.empty_type(LOG);
    let event = |timestamp| Event {
        timestamp,
        log_file: LOG,
        body: Body::Generic,
        custom_type: TypeId(1),
        custom: &[],
    };
    written(&definitions, &[30, 10, 20, 40].map(event))
}

/// A file as others write it: no type, sections in another order, bytes between them.
fn foreign_order() -> Vec<u8> {
    let file = foreign().file();
    let place = |at: usize| {
        usize::try_from(i64::from_be_bytes(file[at..at + 8].try_into().unwrap())).unwrap()
    };
    let (index, artifacts, rest) = (place(32), place(40), place(48));
    let mut moved = file[..index].to_vec();
    moved.extend(&file[artifacts..rest]);
    moved.extend([0; 5]);
    moved.extend(&file[index..artifacts]);
    moved.extend(&file[rest..]);
    let shift = rest - artifacts;
    let set = |moved: &mut Vec<u8>, at: usize, to: usize| {
        moved[at..at + 8].copy_from_slice(&i64::try_from(to).unwrap().to_be_bytes());
    };
    set(&mut moved, 32, index + shift + 5);
    set(&mut moved, 40, index);
    set(&mut moved, 48, rest + 5);
    set(&mut moved, 56, place(56) + 5);
    moved
}

/// Half of the time task 1 runs, half of it task 2.
fn foreign() -> Hand {
    let artifact = |id, name: &[u8]| {
        Bytes::new().i32(2).i32(id).string(name).i32(0).i32(1).i32(4).i32(0).i32(0)
    };
    let execution = |id| Bytes::new().i32(0).i32(id).raw(&50.0_f64.to_be_bytes());
    Hand {
        log_files: vec![log_file(0, b"ose.log")],
        types: vec![type_of(1, 0, 12, 0)],
        events: vec![task_switch(0, 0, 2, 1), task_switch(0, 5, 1, 2), task_switch(0, 10, 2, 1)],
        artifacts: vec![artifact(1, b"a"), artifact(2, b"b")],
        task_executions: vec![execution(2), execution(1)],
        statistics: [0, 10, 3],
    }
}

/// The foreign file, changed.
fn changed(change: impl FnOnce(&mut Hand)) -> Vec<u8> {
    let mut hand = foreign();
    change(&mut hand);
    hand.file()
}

/// The foreign file, with bytes changed.
fn patched(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut file = foreign().file();
    change(&mut file);
    file
}

fn state(id: i32, parent: i32) -> Bytes {
    Bytes::new().i32(4).i32(id).string(b"s").i32(0).i32(parent).i32(0).i32(0)
}

/// Adds TASK EXECUTIONS of no log file, of no task, and of one that is there.
fn name_nothing(hand: &mut Hand) {
    let executions = [(5, 1, 0.0_f64), (0, 9, 0.0), (0, 1, 50.0)];
    hand.task_executions.extend(
        executions
            .map(|(log, task, share)| Bytes::new().i32(log).i32(task).raw(&share.to_be_bytes())),
    );
}

/// Damaged files, each for a rule.
fn bad() -> Vec<(&'static str, Vec<u8>)> {
    let whole = foreign().file();
    let size = whole.len();
    vec![
        ("cut_in_header", whole[..40].to_vec()),
        ("cut_in_log_files", whole[..80].to_vec()),
        // 64 + 8 + 36 of LOG FILES, 8 + 30 of CUSTOM TYPES, 8 + 36 of EVENTS: in the second.
        ("cut_in_events", whole[..64 + 44 + 38 + 8 + 50].to_vec()),
        ("cut_in_artifacts", whole[..size - 24 - 40 - 20].to_vec()),
        ("cut_at_end", whole[..size - 1].to_vec()),
        ("version_9", patched(|file| file[7] = 9)),
        ("pointer", patched(|file| file[16] = 0x7F)),
        ("overlap", patched(|file| file[63] -= 8)),
        ("event_class", changed(|hand| hand.events[1].1.0[3] = 11)),
        ("index_fptr", patched(|file| file[64 + 44 + 38 + 8 + 108 + 40 + 47] ^= 1)),
        // Zeros for num-events, 36 bytes of each of three events, and an index of one block.
        ("zeros", patched(|file| file[64 + 44 + 38..64 + 44 + 38 + 8 + 108 + 40 + 48].fill(0))),
        ("index_times", changed(|hand| hand.events[2].0 = 11)),
        ("statistics", changed(|hand| hand.statistics = [0, 11, 4])),
        (
            "task_executions",
            changed(|hand| {
                hand.task_executions = vec![Bytes::new().i32(0).i32(1).raw(&60_f64.to_be_bytes())];
            }),
        ),
        ("execution_ids", changed(name_nothing)),
        (
            "unbalanced",
            changed(|hand| {
                hand.events[1] = task_switch(0, 5, 1, 1);
                hand.task_executions.remove(0);
            }),
        ),
        ("unknown_artifact", changed(|hand| drop(hand.artifacts.pop()))),
        (
            "unknown_log_file",
            changed(|hand| {
                hand.types.push(type_of(1, 8, 1, 0));
                hand.events.push((12, Bytes::new().i32(1).i64(12).i32(9).i32(0).i32(0)));
                hand.artifacts.push(Bytes::new().i32(1).i32(3).string(b"").i32(7).i32(0).i32(0));
            }),
        ),
        (
            "unknown_type",
            changed(|hand| {
                hand.events.push((12, event(1, 12).i32(5).string(b"abc")));
            }),
        ),
        (
            "custom_size",
            changed(|hand| {
                hand.events.push((12, event(1, 12).i32(1).string(b"abc")));
                hand.artifacts[0].0.truncate(25);
                hand.artifacts[0] = hand.artifacts[0].clone().i32(1).string(b"abcdef");
            }),
        ),
        (
            "field_type",
            changed(|hand| {
                hand.types = vec![type_of(1, 0, 14, 0), type_of(2, 0, 1, -1)];
                hand.events.push((12, event(1, 12).i32(1).string(b"abc")));
            }),
        ),
        ("task_class", changed(|hand| hand.artifacts[0].0[20] = 4)),
        (
            "duplicate",
            changed(|hand| {
                hand.log_files.push(log_file(0, b"again"));
                hand.types.push(type_of(1, 0, 1, 0));
                let again = hand.artifacts[0].clone();
                hand.artifacts.push(again);
            }),
        ),
        (
            "log_file_ids",
            changed(|hand| {
                hand.log_files.insert(0, log_file(3, b"three"));
                hand.artifacts.push(state(7, 6));
            }),
        ),
        (
            "stray_events",
            changed(|hand| {
                hand.log_files.push(log_file(0, b"again"));
                hand.events.push(task_switch(9, 12, 1, 2));
                hand.events.push(task_switch(9, 13, 2, 1));
                hand.statistics = [0, 13, 5];
                hand.task_executions.clear();
            }),
        ),
        (
            "merged_badly",
            changed(|hand| {
                hand.log_files.push(log_file(1, b"late"));
                hand.events.push((4, Bytes::new().i32(1).i64(4).i32(1).i32(0).i32(0)));
            }),
        ),
    ]
}

#[test]
fn samples_are_as_they_are_made() {
    let sound = [
        ("empty", Hand::default().file()),
        ("classes", classes()),
        ("types", types()),
        ("names", names()),
        ("two_logs", two_logs()),
        ("blocks", blocks()),
        ("unsorted", unsorted()),
        ("foreign_no_type", foreign().file()),
        ("foreign_order", foreign_order()),
    ];
    let sound = sound.map(|(name, bytes)| (format!("{name}.bin"), bytes));
    let bad = bad().into_iter().map(|(name, bytes)| (format!("bad/{name}.bin"), bytes));
    for (name, bytes) in sound.into_iter().chain(bad) {
        let path = testdata("bbbin").join(&name);
        if golden::blessing() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &bytes).unwrap();
        }
        assert!(fs::read(&path).ok() == Some(bytes), "{name} (BLESS=1 writes it)");
    }
}

/// What another writer makes of nothing is what we make of it.
#[test]
fn nothing_is_written_as_another_writer_does() {
    let Some(file) = shared::file("bbbin/empty.logset.bin") else { return };
    let theirs = fs::read(file).unwrap();
    assert_eq!(written(&Definitions::default(), &[]), theirs);
    assert_eq!(Hand::default().file(), theirs);
}

/// From 0 to 1000: task 1 of the first log runs 250 and task 2 500 of it; in the second, task 2
/// runs 150 and task 1 750.
#[test]
fn task_executions_are_of_each_log() {
    let source = kymo_core::Source::from_bytes("two_logs.bin", two_logs());
    let reader = kymo_bbbin::Reader::open(&source, &kymo_core::Context::default()).unwrap();
    let found = reader.task_executions().iter();
    let found: Vec<_> = found
        .map(|task_execution| {
            (task_execution.log_file.0, task_execution.task.0, task_execution.task_exec)
        })
        .collect();
    assert_eq!(found, [(0, 1, 25.0), (0, 2, 50.0), (1, 1, 75.0), (1, 2, 15.0)]);
    let statistics = reader.statistics().unwrap();
    assert_eq!((statistics.first_task_duration, statistics.last_task_duration), (0, 1000));
    assert_eq!(statistics.num_task_switches, 6);
}
