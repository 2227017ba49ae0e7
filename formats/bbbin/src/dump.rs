//! Records for `kymo dump`: log files, types, events and artifacts, in the order of the file.
//!
//! The index, the task executions and the statistics only say again what the events say: they
//! have tables.

use kymo_core::{Result, Value};
use kymo_model::{DumpRequest, Field, Flow, Record, RecordSink};

use crate::Reader;
use crate::spec::{Section, TaskClass};
use crate::types::{
    ArtifactKind, Body, CustomField, CustomType, DeclaredArtifact, Event, LocatedEvent, LogFile,
    LogFileId, Message,
};

pub(crate) type Fields = Vec<(&'static str, Field<'static>)>;

/// Gives every record.
pub(crate) fn dump(
    reader: &Reader,
    request: &DumpRequest,
    sink: &mut dyn RecordSink,
) -> Result<()> {
    for (section, _) in reader.sections() {
        let flow = match section {
            Section::LogFiles => each(sink, "log_file", reader.log_files(), |this_log_file| {
                Ok((this_log_file.offset, log_file_fields(reader, this_log_file)))
            })?,
            Section::Types => each(sink, "type", reader.types(), |custom_type| {
                Ok((custom_type.offset, type_fields(reader, custom_type)))
            })?,
            Section::Events => each(sink, "event", reader.events(), |found| {
                Ok((found.offset, event_fields(reader, &found, request)?))
            })?,
            Section::Artifacts => {
                each(sink, "artifact", reader.artifacts(), |declared_artifact| {
                    Ok((
                        declared_artifact.offset,
                        artifact_fields(reader, &declared_artifact, request)?,
                    ))
                })?
            }
            Section::EventIndex | Section::TaskExecutions | Section::Statistics => Flow::More,
        };
        if flow == Flow::Stop {
            return Ok(());
        }
    }
    Ok(())
}

fn each<T>(
    sink: &mut dyn RecordSink,
    kind: &'static str,
    items: impl IntoIterator<Item = T>,
    fields: impl Fn(T) -> Result<(u64, Fields)>,
) -> Result<Flow> {
    for (index, item) in (0..).zip(items) {
        let (offset, fields) = fields(item)?;
        if sink.record(&Record { kind, index, offset, fields })? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::More)
}

/// The recording that a log file is of.
pub(crate) fn recording(reader: &Reader, id: LogFileId) -> Option<u64> {
    reader.recording_of(id).map(|place| place as u64)
}

fn recording_value(reader: &Reader, id: LogFileId) -> Field<'static> {
    recording(reader, id).map_or(Value::Null, Value::from).into()
}

fn log_file_fields(reader: &Reader, log_file: &LogFile) -> Fields {
    vec![
        ("recording", recording_value(reader, log_file.id)),
        ("log_file_id", log_file.id.0.into()),
        ("log_file_name", log_file.name.clone().into()),
        ("log_file_size", log_file.size.into()),
        ("imported_at_timestamp", log_file.imported_at_ms.into()),
        ("importer_name", log_file.importer.clone().into()),
    ]
}

fn type_fields(reader: &Reader, custom_type: &CustomType) -> Fields {
    vec![
        ("recording", recording_value(reader, custom_type.log_file)),
        ("type_id", custom_type.id.0.into()),
        ("type_name", custom_type.name.clone().into()),
        ("log_file_id", custom_type.log_file.0.into()),
        ("fields", fields_text(custom_type).into()),
    ]
}

/// The fields of a type as one reads them: `speed: FLOAT, axes: INT16[3]`.
pub(crate) fn fields_text(custom_type: &CustomType) -> String {
    let field = |field: &CustomField| format!("{}: {}", field.name, field.type_name());
    custom_type.fields.iter().map(field).collect::<Vec<_>>().join(", ")
}

fn artifact_fields(
    reader: &Reader,
    declared_artifact: &DeclaredArtifact<'_>,
    request: &DumpRequest,
) -> Result<Fields> {
    let mut fields: Fields = vec![
        ("recording", recording_value(reader, declared_artifact.log_file)),
        ("artifact_class", declared_artifact.kind.class().name().into()),
        ("artifact_id", declared_artifact.id.0.into()),
        ("artifact_name", declared_artifact.name.to_string().into()),
        ("log_file_id", declared_artifact.log_file.0.into()),
    ];
    match declared_artifact.kind {
        ArtifactKind::Generic | ArtifactKind::StateMachine => {}
        ArtifactKind::Task { task_class, priority } => {
            fields.push(("task_class", task_class_text(task_class).into()));
            fields.push(("task_priority", priority.into()));
        }
        ArtifactKind::State { parent } => fields.push(("parent_id", parent.0.into())),
    }
    fields.push(("custom_type_id", declared_artifact.custom_type.0.into()));
    if !request.headers_only {
        let custom = reader.custom_value(
            declared_artifact.log_file,
            declared_artifact.custom_type,
            declared_artifact.custom,
            declared_artifact.offset,
        )?;
        fields.push(("custom", custom.into()));
    }
    Ok(fields)
}

/// A task class by name; a number that has none.
pub(crate) fn task_class_text(this_result: std::result::Result<TaskClass, i32>) -> String {
    this_result.map_or_else(|number| number.to_string(), |class| class.name().to_owned())
}

fn event_fields(
    reader: &Reader,
    found: &LocatedEvent<'_>,
    request: &DumpRequest,
) -> Result<Fields> {
    let event = &found.event;
    let mut fields: Fields = vec![
        ("recording", recording_value(reader, event.log_file)),
        ("event_class", event.body.class().name().into()),
        ("event_timestamp", event.timestamp.into()),
        ("log_file_id", event.log_file.0.into()),
    ];
    body_fields(&event.body, &mut fields);
    fields.push(("custom_type_id", event.custom_type.0.into()));
    if !request.headers_only {
        fields.push(("custom", event_custom(reader, found.offset, event)?.into()));
    }
    Ok(fields)
}

/// The values of an event.
pub(crate) fn event_custom(reader: &Reader, offset: u64, event: &Event<'_>) -> Result<Value> {
    Ok(reader.custom_value(event.log_file, event.custom_type, event.custom, offset)?)
}

fn body_fields(body: &Body<'_>, fields: &mut Fields) {
    match *body {
        Body::Generic => {}
        Body::TaskSwitch { in_task, out_task, in_task_priority } => fields.extend([
            ("in_task_id", in_task.0.into()),
            ("out_task_id", out_task.0.into()),
            ("in_task_priority", in_task_priority.into()),
        ]),
        Body::TaskRelease { task, time_budget } => {
            fields.extend([("task_id", task.0.into()), ("time_budget", time_budget.into())]);
        }
        Body::TaskCompletion { task, remaining_time } => {
            fields.extend([("task_id", task.0.into()), ("remaining_time", remaining_time.into())]);
        }
        Body::Send(message) => message_fields(message, "received_at_timestamp", fields),
        Body::Receive(message) => message_fields(message, "sent_at_timestamp", fields),
        Body::SrlSend { message, receiver_instance } => {
            message_fields(message, "received_at_timestamp", fields);
            fields.push(("receiver_instance", receiver_instance.into()));
        }
        Body::SrlReceive { message, state, finish_timestamp } => {
            message_fields(message, "sent_at_timestamp", fields);
            fields.push(("state_id", state.0.into()));
            fields.push(("finish_timestamp", finish_timestamp.into()));
        }
        Body::FunctionEnter(function) | Body::FunctionExit(function) => fields.extend([
            ("function_name", function.name.to_string().into()),
            ("end_time", function.end_time.into()),
        ]),
    }
}

fn message_fields(message: Message<'_>, other: &'static str, fields: &mut Fields) {
    fields.extend([
        ("sender_task_id", message.sender.0.into()),
        ("receiver_task_id", message.receiver.0.into()),
        (other, message.other_timestamp.into()),
        ("message_name", message.name.to_string().into()),
    ]);
}
