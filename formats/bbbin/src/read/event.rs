//! One event.

use kymo_core::bytes::{Cursor, Endian, ReadError, ReadResult};

use super::definitions::{custom, text};
use crate::spec::{EventClass, TASK_SWITCH_BYTES};
use crate::types::{ArtifactId, Body, Event, Function, LogFileId, Message, TypeId};

/// Reads an event from bytes that begin at an offset of the file, and tells its length.
#[inline]
pub(crate) fn event(bytes: &[u8], offset: u64) -> ReadResult<(Event<'_>, u64)> {
    if let Some(event) = bytes.first_chunk().and_then(plain_task_switch) {
        return Ok((event, TASK_SWITCH_BYTES as u64));
    }
    let mut cursor = Cursor::with_offset(bytes, offset, Endian::Big);
    let event = any_event(&mut cursor)?;
    Ok((event, cursor.offset() - offset))
}

/// A `TASK_SWITCH` without values, which is what most events of most logs are.
#[inline]
fn plain_task_switch(bytes: &[u8; TASK_SWITCH_BYTES]) -> Option<Event<'static>> {
    let is_switch = number::<0>(bytes) == EventClass::TaskSwitch.number();
    if !is_switch || number::<32>(bytes) != 0 {
        return None;
    }
    let timestamp = bytes.get(4..)?.first_chunk().copied().map(i64::from_be_bytes)?;
    Some(Event {
        timestamp,
        log_file: LogFileId(number::<12>(bytes)),
        body: Body::TaskSwitch {
            in_task: ArtifactId(number::<16>(bytes)),
            out_task: ArtifactId(number::<20>(bytes)),
            in_task_priority: number::<24>(bytes),
        },
        custom_type: TypeId(number::<28>(bytes)),
        custom: &[],
    })
}

/// The number at a place that is known to be there.
#[inline]
fn number<const AT: usize>(bytes: &[u8; TASK_SWITCH_BYTES]) -> i32 {
    let four = bytes.get(AT..).and_then(<[u8]>::first_chunk).copied();
    i32::from_be_bytes(four.unwrap_or_default())
}

fn any_event<'a>(cursor: &mut Cursor<'a>) -> ReadResult<Event<'a>> {
    let offset = cursor.offset();
    let number = cursor.i32("event-class")?;
    let class = EventClass::from_number(number).ok_or_else(|| {
        ReadError::invalid("event-class", offset, format!("there is no event class {number}"))
    })?;
    Ok(Event {
        timestamp: cursor.i64("event-timestamp")?,
        log_file: LogFileId(cursor.i32("log-file-id")?),
        body: body(cursor, class)?,
        custom_type: TypeId(cursor.i32("custom-type-id")?),
        custom: custom(cursor)?,
    })
}

fn body<'a>(cursor: &mut Cursor<'a>, class: EventClass) -> ReadResult<Body<'a>> {
    Ok(match class {
        EventClass::Generic => Body::Generic,
        EventClass::TaskSwitch => Body::TaskSwitch {
            in_task: ArtifactId(cursor.i32("in-task-id")?),
            out_task: ArtifactId(cursor.i32("out-task-id")?),
            in_task_priority: cursor.i32("in-task-priority")?,
        },
        EventClass::TaskRelease => Body::TaskRelease {
            task: ArtifactId(cursor.i32("task-id")?),
            time_budget: cursor.i64("time-budget")?,
        },
        EventClass::TaskCompletion => Body::TaskCompletion {
            task: ArtifactId(cursor.i32("task-id")?),
            remaining_time: cursor.i64("remaining-time")?,
        },
        EventClass::Send => Body::Send(message(cursor, "received-at-timestamp")?),
        EventClass::Receive => Body::Receive(message(cursor, "sent-at-timestamp")?),
        EventClass::SrlSend => Body::SrlSend {
            message: message(cursor, "received-at-timestamp")?,
            receiver_instance: cursor.i32("receiver-instance")?,
        },
        EventClass::SrlReceive => Body::SrlReceive {
            message: message(cursor, "sent-at-timestamp")?,
            state: ArtifactId(cursor.i32("state-id")?),
            finish_timestamp: cursor.i64("finish-timestamp")?,
        },
        EventClass::FunctionEnter => Body::FunctionEnter(function(cursor)?),
        EventClass::FunctionExit => Body::FunctionExit(function(cursor)?),
    })
}

fn message<'a>(cursor: &mut Cursor<'a>, other: &'static str) -> ReadResult<Message<'a>> {
    Ok(Message {
        sender: ArtifactId(cursor.i32("sender-task-id")?),
        receiver: ArtifactId(cursor.i32("receiver-task-id")?),
        other_timestamp: cursor.i64(other)?,
        name: text(cursor, "message-name")?,
    })
}

fn function<'a>(cursor: &mut Cursor<'a>) -> ReadResult<Function<'a>> {
    Ok(Function { name: text(cursor, "function-name")?, end_time: cursor.i64("end-time")? })
}
