//! Whatever is written is read again as it was: every class of event, every type of field, any order.

use std::io::Cursor;
use std::sync::Arc;

use kymo_bbbin::spec::{FieldType, TaskClass};
use kymo_bbbin::{
    Artifact, ArtifactId, ArtifactKind, Bbbin, Body, CustomField, CustomType, Definitions, Event,
    Function, LogFile, LogFileId, Message, Reader, Sort, Text, TypeId, Writer, encode, values,
};
use kymo_conformance::rewritten;
use kymo_core::{Context, Severity, Source, Value};
use kymo_model::Format;
use kymo_model::timeline::{TimeNs, Window};
use proptest::collection::vec;
use proptest::prelude::*;

/// What an event is made of, with numbers where others are referred to.
#[derive(Debug, Clone)]
struct Drawn {
    class: usize,
    log: usize,
    custom_type: usize,
    time: i64,
    ids: (i32, i32),
    number: i32,
    other_time: i64,
    name: Vec<u8>,
    /// What each element of its values is made of.
    seeds: Vec<u64>,
}

impl Drawn {
    fn body(&self) -> Body<'_> {
        let (a, b) = (ArtifactId(self.ids.0), ArtifactId(self.ids.1));
        let (name, time) = (Text(&self.name), self.other_time);
        let message = Message { sender: a, receiver: b, other_timestamp: time, name };
        let function = Function { name, end_time: time };
        match self.class {
            0 => Body::Generic,
            1 => Body::TaskSwitch { in_task: a, out_task: b, in_task_priority: self.number },
            2 => Body::TaskRelease { task: a, time_budget: time },
            3 => Body::TaskCompletion { task: a, remaining_time: time },
            4 => Body::Send(message),
            5 => Body::Receive(message),
            6 => Body::SrlSend { message, receiver_instance: self.number },
            7 => Body::SrlReceive { message, state: b, finish_timestamp: time },
            8 => Body::FunctionEnter(function),
            _ => Body::FunctionExit(function),
        }
    }

    fn values(&self, custom_type: &CustomType) -> Vec<Value> {
        let mut seeds = self.seeds.iter().copied().cycle();
        let field = |field: &CustomField| {
            let mut next = || element(field.field_type.unwrap(), seeds.next().unwrap_or(0));
            match field.element_count {
                0 => next(),
                count => Value::List((0..count).map(|_| next()).collect()),
            }
        };
        custom_type.fields.iter().map(field).collect()
    }
}

/// A value of a type, as reading tells it.
fn element(field_type: FieldType, seed: u64) -> Value {
    let signed = |bits: u32| Value::Int(seed.cast_signed() >> (64 - bits));
    let unsigned = |bits: u32| Value::UInt(seed >> (64 - bits));
    match field_type {
        FieldType::Int8 => signed(8),
        FieldType::Uint8 => unsigned(8),
        FieldType::Int16 => signed(16),
        FieldType::Uint16 => unsigned(16),
        FieldType::Int32 => signed(32),
        FieldType::Uint32 | FieldType::ArtifactId => unsigned(32),
        FieldType::Int64 => signed(64),
        FieldType::Uint64 => unsigned(64),
        FieldType::Float => Value::Float32(f32::from_bits((seed >> 32) as u32 & 0x7F7F_FFFF)),
        FieldType::Double => Value::Float(f64::from_bits(seed & 0x7FEF_FFFF_FFFF_FFFF)),
        FieldType::Boolean => Value::Bool(seed & 1 == 1),
        FieldType::String => {
            let bytes = seed.to_be_bytes();
            bytes.iter().map(|byte| char::from(*byte)).collect::<String>().into()
        }
    }
}

/// Two log files; in each the same types and artifacts.
fn definitions(fields: &[(usize, i32)], names: &[String]) -> Definitions {
    let mut made = Definitions::default();
    for number in 0..2 {
        let log_file = LogFileId(number);
        let text = |value: usize| names[value % names.len()].clone();
        made.log_files.push(LogFile {
            offset: 0,
            id: log_file,
            name: text(0),
            size: i64::from(number) << 40,
            imported_at_ms: -1,
            importer: text(1),
        });
        let field = |(value, count): &(usize, i32)| {
            CustomField::array(text(*value), FieldType::ALL[*value % FieldType::ALL.len()], *count)
        };
        let fields: Vec<_> = fields.iter().map(field).collect();
        let of_type = |(id, fields)| CustomType { offset: 0, id, name: text(2), log_file, fields };
        made.types.extend([(TypeId(1), Vec::new()), (TypeId(7), fields)].map(of_type));
        let task = |task_class| ArtifactKind::Task { task_class, priority: -777 };
        let kinds = [
            ArtifactKind::Generic,
            task(Ok(TaskClass::Thread)),
            task(Err(99)),
            ArtifactKind::StateMachine,
            ArtifactKind::State { parent: ArtifactId(3) },
        ];
        made.artifacts.extend((0..).zip(kinds).map(|(id, kind)| Artifact {
            offset: 0,
            id: ArtifactId(id),
            name: text(3),
            log_file,
            kind,
            custom_type: TypeId(1),
            custom: Vec::new(),
        }));
    }
    made
}

/// Definitions without where they are.
fn placeless(mut definitions: Definitions) -> Definitions {
    definitions.log_files.iter_mut().for_each(|log_file| log_file.offset = 0);
    definitions.types.iter_mut().for_each(|custom_type| custom_type.offset = 0);
    definitions.artifacts.iter_mut().for_each(|artifact| artifact.offset = 0);
    definitions
}

fn drawn() -> impl Strategy<Value = Drawn> {
    // Few times and ids, so that some are equal, and the ends of what there can be.
    let time = || prop_oneof![-3_i64..40, any::<i64>()];
    let id = || prop_oneof![-2_i32..6, Just(777), any::<i32>()];
    let numbers = (0_usize..10, 0_usize..2, 0_usize..2, any::<i32>());
    let texts = (vec(any::<u8>(), 0..6), vec(any::<u64>(), 1..4));
    (numbers, time(), (id(), id()), time(), texts).prop_map(
        |((class, log, custom_type, number), time, ids, other_time, (name, seeds))| Drawn {
            class,
            log,
            custom_type,
            time,
            ids,
            number,
            other_time,
            name,
            seeds,
        },
    )
}

/// Characters that Latin-1 has.
fn name() -> impl Strategy<Value = String> {
    vec(any::<u8>(), 0..8).prop_map(|bytes| bytes.into_iter().map(char::from).collect())
}

fn open(bytes: Vec<u8>) -> (Source, Arc<Reader>) {
    let source = Source::from_bytes("x.bin", bytes);
    let reader = Reader::open(&source, &Context::default()).unwrap();
    (source, reader)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_is_written_is_read_again(
        fields in vec((0_usize..13, 0_i32..3), 0..6),
        names in vec(name(), 1..5),
        drawn in vec(drawn(), 0..40),
        // Blocks have a thousand events, so that some files have several.
        times in prop_oneof![Just(1_usize), Just(60)],
        (from, length) in (-3_i64..40, 0_i64..20),
    ) {
        let definitions = definitions(&fields, &names);
        let customs: Vec<_> = drawn.iter().map(|this_drawn| {
            let custom_type = &definitions.types[2 * this_drawn.log + this_drawn.custom_type];
            let values = this_drawn.values(custom_type);
            (custom_type, encode(custom_type, &values).unwrap(), values)
        }).collect();
        let event = |(this_drawn, (custom_type, custom, _)): (&'_ Drawn, &'_ (&CustomType, Vec<u8>, Vec<Value>))| {
            (this_drawn.time, LogFileId(i32::try_from(this_drawn.log).unwrap()), custom_type.id, custom.clone())
        };
        let mut writer =
            Writer::new(Cursor::new(Vec::new()), &definitions.log_files, &definitions.types).unwrap();
        let all = || (0..times).flat_map(|_| drawn.iter().zip(&customs));
        for each in all() {
            let (timestamp, log_file, custom_type, custom) = event(each);
            let body = each.0.body();
            writer.write(&Event { timestamp, log_file, body, custom_type, custom: &custom }).unwrap();
        }
        let bytes = writer.finish(&definitions.artifacts).unwrap().out.into_inner();

        let (source, reader) = open(bytes.clone());
        prop_assert_eq!(reader.events().count(), drawn.len() * times);
        for (found, each) in reader.events().zip(all()) {
            let found = found.event;
            let (time, log_file, custom_type, custom) = event(each);
            prop_assert_eq!((found.timestamp, found.log_file), (time, log_file));
            prop_assert_eq!(found.body, each.0.body());
            prop_assert_eq!((found.custom_type, found.custom), (custom_type, &custom[..]));
            let (item, _, expected) = each.1;
            prop_assert_eq!(&values(item, found.custom, 0).unwrap(), expected);
        }
        let read = placeless(reader.definitions());
        prop_assert_eq!(&read.log_files, &definitions.log_files);
        prop_assert_eq!(&read.types, &definitions.types);
        prop_assert_eq!(&read.artifacts, &definitions.artifacts);

        // Nothing that was computed is wrong, and writing it again changes no byte.
        let findings = Bbbin.check(&source, &Context::default()).unwrap();
        let computed = ["index", "statistics", "task-executions", "num-events", "overlap", "gap"];
        let worst = findings.iter().filter(|item| computed.contains(&item.rule)).map(|finding| finding.severity);
        prop_assert!(worst.max() <= Some(Severity::Note), "{:?}", findings);
        let again = rewritten(&Bbbin, &source, &Context::default()).unwrap();
        prop_assert!(again[..] == bytes[..]);

        // A range has what is in it, whatever the order.
        let window = Window {
            from: Some(TimeNs(from)),
            until: Some(TimeNs(from + length)),
            ..Window::default()
        };
        let expected = all().filter(|(item, _)| (from..from + length).contains(&item.time));
        prop_assert_eq!(reader.events_in_window(&window).count(), expected.count());

        // Sorted, they are as a stable sort by time and log file has them.
        let mut expected: Vec<_> = all().map(event).collect();
        expected.sort_by_key(|(time, log_file, ..)| (*time, *log_file));
        let mut sort = Sort::new(&reader).unwrap();
        for expected in expected {
            let found = sort.next_event().unwrap().unwrap().event;
            let found = (found.timestamp, found.log_file, found.custom_type, found.custom.to_vec());
            prop_assert_eq!(found, expected);
        }
    }
}
