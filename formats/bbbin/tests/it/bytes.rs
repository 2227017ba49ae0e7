//! Bytes assembled by hand, for every section, class and type.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::support::shown::{all, dataset, extracted, lines};
use crate::support::{Bytes, Hand, event, log_file, task_switch, type_of};
use kymo_bbbin::spec::{ArtifactClass, TaskClass};
use kymo_bbbin::{
    ArtifactId, ArtifactKind, Body, Event, Function, LogFileId, Message, Reader, Statistics,
    TaskExecution, Text, TypeId,
};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Error, Severity, Source, Value};
use kymo_model::ExtractRequest;
use kymo_model::timeline::{TimeNs, Window};

fn try_open(file: Vec<u8>) -> kymo_core::Result<Arc<Reader>> {
    Reader::open(&Source::from_bytes("logset.bin", file), &Context::default())
}

fn open(file: Vec<u8>) -> Arc<Reader> {
    try_open(file).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(file: Vec<u8>) -> String {
    match try_open(file) {
        Err(Error::Read(error)) => error.to_string(),
        Err(error) => panic!("an error without an offset: {error}"),
        Ok(_) => panic!("it opens"),
    }
}

/// Reads a file of one event with this body, that has type 3 and two bytes of values.
fn body_of(class: i32, body: &Bytes, check: impl Fn(Body<'_>)) {
    let bytes = event(class, -7).raw(&body.0).i32(3).string(&[0xAA, 0xBB]);
    let reader = open(Hand::with_event(-7, bytes).file());
    let found: Vec<_> = reader.events().collect();
    assert_eq!(found.len(), 1, "{:?}", reader.findings());
    // 64 of the header, 8 + 34 of LOG FILES, 8 of CUSTOM TYPES, 8 of EVENTS.
    assert_eq!(found[0].offset, 64 + 8 + 34 + 8 + 8);
    let Event { timestamp, log_file, body, custom_type, custom } = found[0].event;
    assert_eq!((timestamp, log_file, custom_type), (-7, LogFileId(0), TypeId(3)));
    assert_eq!(custom, [0xAA, 0xBB]);
    check(body);
}

fn message(other_timestamp: i64) -> Message<'static> {
    let (sender, receiver) = (ArtifactId(1), ArtifactId(2));
    Message { sender, receiver, other_timestamp, name: Text(b"M\xFC") }
}

#[test]
fn generic() {
    body_of(1, &Bytes::new(), |body| assert_eq!(body, Body::Generic));
}

#[test]
fn task_switch_with_and_without_values() {
    let expected = Body::TaskSwitch {
        in_task: ArtifactId(4),
        out_task: ArtifactId(-5),
        in_task_priority: -777,
    };
    let bytes = Bytes::new().i32(4).i32(-5).i32(-777);
    body_of(2, &bytes, |body| assert_eq!(body, expected));
    let plain = event(2, 9).raw(&bytes.0).i32(0).i32(0);
    assert_eq!(plain.0.len(), 36);
    let reader = open(Hand::with_event(9, plain).file());
    let found = reader.events().next().unwrap().event;
    assert_eq!((found.timestamp, found.body, found.custom), (9, expected, &[][..]));
}

#[test]
fn task_release() {
    let expected = Body::TaskRelease { task: ArtifactId(6), time_budget: 1 << 40 };
    body_of(3, &Bytes::new().i32(6).i64(1 << 40), |body| assert_eq!(body, expected));
}

#[test]
fn task_completion() {
    let expected = Body::TaskCompletion { task: ArtifactId(6), remaining_time: -2 };
    body_of(4, &Bytes::new().i32(6).i64(-2), |body| assert_eq!(body, expected));
}

#[test]
fn send_and_receive() {
    let bytes = Bytes::new().i32(1).i32(2).i64(-1).string(b"M\xFC");
    body_of(5, &bytes, |body| assert_eq!(body, Body::Send(message(-1))));
    body_of(6, &bytes, |body| {
        assert_eq!(body, Body::Receive(message(-1)));
        let Body::Receive(message) = body else { return };
        assert_eq!(message.name.to_string(), "Mü");
        assert!(message.name.as_utf8().is_err());
    });
}

#[test]
fn srl_send() {
    let bytes = Bytes::new().i32(1).i32(2).i64(8).string(b"M\xFC").i32(5);
    let expected = Body::SrlSend { message: message(8), receiver_instance: 5 };
    body_of(7, &bytes, |body| assert_eq!(body, expected));
}

#[test]
fn srl_receive() {
    let bytes = Bytes::new().i32(1).i32(2).i64(8).string(b"M\xFC").i32(-1).i64(99);
    let (state, finish_timestamp) = (ArtifactId(-1), 99);
    let expected = Body::SrlReceive { message: message(8), state, finish_timestamp };
    body_of(8, &bytes, |body| assert_eq!(body, expected));
}

#[test]
fn function_enter_and_exit() {
    let bytes = Bytes::new().string(b"main").i64(12);
    let function = Function { name: Text(b"main"), end_time: 12 };
    body_of(9, &bytes, |body| assert_eq!(body, Body::FunctionEnter(function)));
    body_of(10, &bytes, |body| assert_eq!(body, Body::FunctionExit(function)));
}

/// The value of an event whose type has one field.
fn value_of(field_type: i32, element_count: i32, bytes: &[u8]) -> Value {
    let event = event(1, 0).i32(1).string(bytes);
    let mut hand = Hand::with_event(0, event);
    hand.types = vec![type_of(1, 0, field_type, element_count)];
    let reader = open(hand.file());
    let found = reader.events().next().unwrap();
    let this_custom_type = reader.custom_type(LogFileId(0), TypeId(1)).unwrap();
    let values =
        kymo_bbbin::values(this_custom_type, found.event.custom, found.offset + 24).unwrap();
    assert_eq!(kymo_bbbin::encode(this_custom_type, &values).unwrap(), bytes, "written again");
    values.into_iter().next().unwrap()
}

#[test]
fn every_type_of_one_value() {
    let cases: [(i32, &[u8], Value); 13] = [
        (1, &[0xFE], Value::Int(-2)),
        (2, &[0xFE], Value::UInt(254)),
        (3, &[0xFF, 0x00], Value::Int(-256)),
        (4, &[0xFF, 0x00], Value::UInt(65280)),
        (5, &[0x80, 0, 0, 0], Value::Int(-2_147_483_648)),
        (6, &[0x80, 0, 0, 0], Value::UInt(2_147_483_648)),
        (7, &[0xFF; 8], Value::Int(-1)),
        (8, &[0xFF; 8], Value::UInt(u64::MAX)),
        (9, &[0x3F, 0xC0, 0, 0], Value::Float32(1.5)),
        (10, &[0xC0, 0x04, 0, 0, 0, 0, 0, 0], Value::Float(-2.5)),
        (11, &[1], Value::Bool(true)),
        (12, &[0, 0, 0, 2, b'o', 0xE9], Value::Text("oé".into())),
        (13, &[0xFF, 0xFF, 0xFF, 0xFE], Value::UInt(4_294_967_294)),
    ];
    for (field_type, bytes, expected) in cases {
        assert_eq!(value_of(field_type, 0, bytes), expected, "type {field_type}");
    }
}

#[test]
fn every_type_of_several_values() {
    let cases: [(i32, &[u8], [Value; 2]); 13] = [
        (1, &[1, 0xFF], [1_i8.into(), (-1_i8).into()]),
        (2, &[1, 0xFF], [1_u8.into(), 255_u8.into()]),
        (3, &[0, 1, 0xFF, 0xFF], [1_i8.into(), (-1_i8).into()]),
        (4, &[0, 1, 0xFF, 0xFF], [1_u8.into(), 65535_u16.into()]),
        (5, &[0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF], [1_i8.into(), (-1_i8).into()]),
        (6, &[0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF], [1_u8.into(), u32::MAX.into()]),
        (7, &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1_i8.into(), 256_i16.into()]),
        (8, &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1_u8.into(), 256_u16.into()]),
        (9, &[0x3F, 0x80, 0, 0, 0xBF, 0x80, 0, 0], [1_f32.into(), (-1_f32).into()]),
        (
            10,
            &[0x3F, 0xF0, 0, 0, 0, 0, 0, 0, 0xBF, 0xF0, 0, 0, 0, 0, 0, 0],
            [1_f64.into(), (-1_f64).into()],
        ),
        (11, &[0, 1], [false.into(), true.into()]),
        (12, &[0, 0, 0, 0, 0, 0, 0, 1, b'z'], ["".into(), "z".into()]),
        (13, &[0, 0, 0, 7, 0, 0, 0, 8], [7_u8.into(), 8_u8.into()]),
    ];
    for (field_type, bytes, expected) in cases {
        let expected = Value::List(expected.into());
        assert_eq!(value_of(field_type, 2, bytes), expected, "type {field_type}");
    }
}

/// An array of one is a list, and one value is not.
#[test]
fn one_element_is_a_list() {
    assert_eq!(value_of(2, 1, &[9]), Value::List(vec![9_u8.into()]));
}

#[test]
fn log_files_types_and_artifacts() {
    let artifact = |class, id, name: &[u8]| Bytes::new().i32(class).i32(id).string(name).i32(1);
    let hand = Hand {
        log_files: vec![log_file(0, b"a.log"), log_file(1, b"\xB5.log")],
        types: vec![type_of(4, 1, 10, 0), Bytes::new().i32(5).string(b"").i32(0).i32(0)],
        artifacts: vec![
            artifact(1, 10, b"g").i32(4).string(&[0; 8]),
            artifact(2, 11, b"t").i32(3).i32(-9).i32(0).i32(0),
            artifact(3, 12, b"m").i32(0).i32(0),
            artifact(4, 13, b"s").i32(12).i32(0).i32(0),
        ],
        task_executions: vec![Bytes::new().i32(1).i32(11).raw(&12.5_f64.to_be_bytes())],
        statistics: [100, 200, 2],
        ..Hand::default()
    };
    let reader = open(hand.file());
    let definitions = reader.definitions();
    assert_eq!(definitions.log_files[1].name, "µ.log");
    let this_log_file = &definitions.log_files[1];
    assert_eq!(
        (
            this_log_file.id,
            this_log_file.size,
            this_log_file.imported_at_ms,
            &*this_log_file.importer
        ),
        (LogFileId(1), 5, 6, "i")
    );
    assert_eq!(definitions.types[0].fields[0].type_name(), "DOUBLE");
    assert_eq!(definitions.types[1].fields, []);
    let kinds: Vec<_> =
        definitions.artifacts.iter().map(|this_artifact| this_artifact.kind).collect();
    let expected = [
        ArtifactKind::Generic,
        ArtifactKind::Task { task_class: Ok(TaskClass::Thread), priority: -9 },
        ArtifactKind::StateMachine,
        ArtifactKind::State { parent: ArtifactId(12) },
    ];
    assert_eq!(kinds, expected);
    assert_eq!(definitions.artifacts[0].custom, [0; 8]);
    let found = reader.artifact(LogFileId(1), ArtifactClass::State, ArtifactId(13)).unwrap();
    assert_eq!(found.name, Text(b"s"));
    // Ids are of a log file: there is no such type in the other.
    assert!(reader.custom_type(LogFileId(0), TypeId(4)).is_none());
    let [TaskExecution { log_file, task, task_exec, .. }] = *reader.task_executions() else {
        panic!("one task execution");
    };
    assert_eq!((log_file, task, task_exec), (LogFileId(1), ArtifactId(11), 12.5));
    let expected =
        Statistics { first_task_duration: 100, last_task_duration: 200, num_task_switches: 2 };
    assert_eq!(reader.statistics(), Some(&expected));
}

#[test]
fn a_file_without_anything_has_168_bytes() {
    let file = Hand::default().file();
    assert_eq!(file.len(), 168);
    let reader = open(file);
    assert_eq!((reader.num_events(), reader.blocks().len()), (0, 0));
    assert_eq!(reader.index_header().total_event_size, 8);
    assert!(reader.findings().is_empty());
}

#[test]
fn other_magics_and_versions_are_refused_with_a_reason() {
    let mut file = Hand::default().file();
    file[7] = 9;
    let expected = "file-format-version at byte 0x4: version 9 has another layout, of tools before \
                    Optima 2.3; version 10 is read";
    assert_eq!(refusal(file.clone()), expected);
    file[7] = 11;
    assert!(refusal(file.clone()).ends_with("version 11 is not known; version 10 is read"));
    file[3] = 0;
    assert_eq!(refusal(file), "magic-number at byte 0x0: 0x0badba00 is not 0x0badbabe");
}

#[test]
fn a_pointer_beyond_the_end_is_refused_where_it_is() {
    let mut file = Hand::default().file();
    file[63] = 145;
    let expected = "statistics-fptr at byte 0x38: STATISTICS cannot be at byte 145 of a file of \
                    168 bytes";
    assert_eq!(refusal(file.clone()), expected);
    file[63] = 144;
    file[8] = 0xFF;
    assert!(refusal(file).starts_with("log-files-fptr at byte 0x8: LOG FILES cannot be at byte -"));
}

#[test]
fn counts_that_are_too_large_or_negative_are_refused() {
    let mut file = Hand::default().file();
    file[64 + 1] = 1;
    // Three log files can be made of the zeros that follow; the fourth has no size any more.
    assert_eq!(refusal(file.clone()), "log-file-size at byte 0xa4: needs 8 bytes, 4 left");
    file[64] = 0xFF;
    let expected = "num-log-files at byte 0x40: -71776119061217280 is negative";
    assert_eq!(refusal(file), expected);
}

#[test]
fn items_over_the_limits_are_refused() {
    let hand = Hand { log_files: vec![log_file(0, b"a"), log_file(1, b"b")], ..Hand::default() };
    let limits = Limits { items_max: 1, ..Limits::default() };
    let source = Source::from_bytes("logset.bin", hand.file());
    let error = Reader::open(&source, &Context::with_limits(limits)).unwrap_err();
    assert_eq!(error.to_string(), "num-log-files at byte 0x66: 2 is over the limit of 1");
}

/// Events every 10 ns, a thousand in each block, of which all but some are overwritten.
fn poisoned(blocks: usize, kept: Range<usize>) -> Source {
    let events: Vec<_> = (0..).take(blocks * 1000).map(|n| task_switch(0, n * 10, 1, 2)).collect();
    let size = events[0].1.0.len() * 1000;
    let hand = Hand { log_files: vec![log_file(0, b"a.log")], events, ..Hand::default() };
    let mut file = hand.file();
    let first = usize::try_from(open(file.clone()).blocks()[0].first_event_offset).unwrap();
    for block in (0..blocks).filter(|block| !kept.contains(block)) {
        file[first + block * size..first + (block + 1) * size].fill(0xEE);
    }
    Source::from_bytes("logset.bin", file)
}

#[test]
fn blocks_of_a_thousand_are_found_by_time() {
    let source = poisoned(20, 9..12);
    let reader = Reader::open(&source, &Context::default()).unwrap();
    assert!(reader.blocks().iter().all(|block| block.num_events == 1000));
    // Of the block from 100,000 to 109,990 ns.
    let window =
        Window { from: Some(TimeNs(105_000)), until: Some(TimeNs(105_030)), ..Window::default() };
    let times: Vec<_> =
        reader.events_in_window(&window).map(|found| found.event.timestamp).collect();
    assert_eq!(times, [105_000, 105_010, 105_020]);
    assert_eq!(reader.findings(), []);
}

/// There are more events than are looked at for tasks that nothing declares.
#[test]
fn nothing_is_told_of_blocks_outside_of_a_range() {
    let source = poisoned(20, 9..12);
    let (from, until) = (Some(TimeNs(105_000)), Some(TimeNs(105_010)));
    let dataset = dataset(&source);
    let timeline = dataset.timeline().unwrap();
    let expected = ["105000 task 1: end", "105000 task 2: begin, priority 3"];
    assert_eq!(lines(&timeline, &Window { from, until, ..Window::default() }), expected);
    assert_eq!(dataset.findings(), []);
    // What is kept must not depend on where times go back: a cut looks at all events, and says so.
    let (written, cut) =
        extracted(&[source], &ExtractRequest { from, until, ..ExtractRequest::default() });
    assert_eq!(written.events, 1);
    let said: BTreeSet<_> = written.losses.iter().map(|loss| (loss.severity, loss.rule)).collect();
    // Nothing declares the tasks, which is so in the result, too.
    let undeclared = [(Severity::Warning, "unknown-artifact"), (Severity::Error, "events")];
    assert_eq!(said, BTreeSet::from(undeclared));
    assert_eq!(all(&cut), expected);
}

#[test]
fn a_range_that_is_open_needs_no_look_at_the_other_end() {
    let window = Window { until: Some(TimeNs(15_000)), ..Window::default() };
    let reader = Reader::open(&poisoned(6, 0..3), &Context::default()).unwrap();
    assert_eq!(reader.events_in_window(&window).count(), 1500);
    assert_eq!(reader.findings(), []);
    let window = Window { from: Some(TimeNs(45_000)), ..Window::default() };
    let reader = Reader::open(&poisoned(6, 3..6), &Context::default()).unwrap();
    assert_eq!(reader.events_in_window(&window).count(), 1500);
    assert_eq!(reader.findings(), []);
}
