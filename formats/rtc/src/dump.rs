//! Records for `kymo dump`: streams as they are defined, and messages.

use std::sync::Arc;

use kymo_core::{Result, Value};
use kymo_model::timeline::TimeNs;
use kymo_model::{DumpRequest, Field, Flow, Record, RecordSink};

use crate::Reader;
use crate::types::{ClockRole, Message, Stream};

/// Gives every stream and message in the order of the file.
pub(crate) fn dump(
    reader: &Arc<Reader>,
    request: &DumpRequest,
    sink: &mut dyn RecordSink,
) -> Result<()> {
    let mut messages = reader.messages();
    let (mut streams, mut count) = (0, 0);
    loop {
        let message = messages.next();
        let fields = message.as_ref().map(|message| message_fields(reader, message, request));
        let offset = message.map(|message| message.offset);
        // A stream is defined before its first message.
        let met = messages.known_streams().iter().skip(streams);
        for stream in met.filter_map(|index| reader.streams().get(*index)) {
            if sink.record(&stream_record(stream, streams as u64))? == Flow::Stop {
                return Ok(());
            }
            streams += 1;
        }
        let (Some(fields), Some(offset)) = (fields, offset) else { return Ok(()) };
        let record = Record { kind: "message", index: count, offset, fields };
        if sink.record(&record)? == Flow::Stop {
            return Ok(());
        }
        count += 1;
    }
}

fn message_fields<'a>(
    reader: &Reader,
    message: &Message<'_>,
    request: &DumpRequest,
) -> Vec<(&'static str, Field<'a>)> {
    let stream = reader.streams().get(message.stream);
    let mut fields: Vec<(&'static str, Field<'a>)> = vec![
        ("recording", stream.map_or(0, |stream| stream.session).into()),
        ("stream", stream.map_or_else(String::new, |stream| stream.name.clone()).into()),
        ("time_ns", message.time.map_or(Value::Null, |time| time.0.into()).into()),
        ("bytes", message.payload.len().into()),
    ];
    let Bounds { relative, not_after } = bounds(reader, message);
    let known = [("relative_ns", relative), ("not_after_ns", not_after)];
    fields.extend(known.into_iter().filter_map(|(name, time)| Some((name, time?.0.into()))));
    if let Some(partial) = partial(message) {
        fields.push(("partial", partial.into()));
    }
    if !request.headers_only {
        match message_values(reader.decode(message).value) {
            (value, Value::Null) => fields.push(("value", value.into())),
            (_, payload) => fields.push(("payload", payload.into())),
        }
    }
    fields
}

/// What is known of when a message happened that has no time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bounds {
    /// How long after what its clock counts from.
    pub relative: Option<TimeNs>,
    /// When at the latest.
    pub not_after: Option<TimeNs>,
}

/// What is known of when a message happened, where it has no time.
pub(crate) fn bounds(reader: &Reader, message: &Message<'_>) -> Bounds {
    if message.time.is_some() {
        return Bounds::default();
    }
    let not_after = reader.not_after(message.stream, message.offset);
    Bounds { relative: message.relative, not_after }
}

/// Returns what a message lacks, where that is known.
pub(crate) fn partial(message: &Message<'_>) -> Option<&'static str> {
    message.may_lack_beginning.then_some("its beginning may be missing")
}

/// Returns the value of a message, or its bytes where they are no better known. So text cannot be
/// taken for bytes.
pub(crate) fn message_values(value: Value) -> (Value, Value) {
    if let Value::Bytes(_) = value { (Value::Null, value) } else { (value, Value::Null) }
}

/// Makes the record of a stream, as the file describes it.
fn stream_record(stream: &Stream, index: u64) -> Record<'static> {
    let fields = vec![
        ("recording", stream.session.into()),
        ("id", stream.id.into()),
        ("name", stream.name.clone().into()),
        ("format", stream.format.clone().into()),
        ("length", stream.length_bytes.map_or(Value::Null, Value::from).into()),
        ("cont", stream.is_cont.into()),
        ("clock", clock(stream).into()),
        ("about", stream.about.clone().map_or(Value::Null, Value::from).into()),
        ("attributes", attributes(stream).into()),
    ];
    Record { kind: "stream", index, offset: stream.offset, fields }
}

/// The clock of a stream in words: its name, or that the stream is one itself.
pub(crate) fn clock(stream: &Stream) -> Value {
    match &stream.clock {
        ClockRole::None => Value::Null,
        ClockRole::Clock => "is a clock".into(),
        ClockRole::Delta(base) => format!("is a clock that counts from {base}").into(),
        ClockRole::On(clock) => clock.as_str().into(),
    }
}

/// Returns the other attributes of a stream in the file, as JSON.
pub(crate) fn attributes(stream: &Stream) -> Value {
    if stream.attributes.is_empty() {
        return Value::Null;
    }
    Value::Json(Box::new(stream.attributes.clone().into()))
}
