//! The messages of a file, and those of one stream.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Int64Array, UInt64Array};
use arrow_schema::{DataType, Field};
use kymo_core::{Result, Value};
use kymo_model::Table;

use super::batches::{Rows, Sequence};
use super::{schema, values};
use crate::Reader;
use crate::{dump, read};

/// Bytes of values in one batch, but for the last row.
const BATCH_BYTES: usize = 16 << 20;

/// The table of all messages.
pub(super) fn messages(reader: &Arc<Reader>) -> Arc<dyn Table> {
    let fields = vec![
        Field::new("recording", DataType::UInt64, false),
        Field::new("stream", DataType::Utf8, false),
        Field::new("time_ns", DataType::Int64, true),
        Field::new("offset", DataType::UInt64, false),
        Field::new("bytes", DataType::UInt64, false),
        Field::new("relative_ns", DataType::Int64, true),
        Field::new("not_after_ns", DataType::Int64, true),
        Field::new("partial", DataType::Utf8, true),
        Field::new("value", DataType::Utf8, true),
        Field::new("payload", DataType::Binary, true),
        Field::new("number", DataType::Float64, true),
    ];
    let this_reader = Arc::clone(reader);
    Arc::new(Sequence {
        name: "messages".into(),
        about: "every message of every stream, with its time and its value",
        schema: schema(fields),
        brief: vec![1, 2, 4, 8, 9],
        row_count: Some(reader.scan().messages),
        begin: Box::new(move |wanted| {
            let messages = this_reader.messages();
            let wants_value = wanted.iter().skip(8).any(|is_wanted| *is_wanted);
            Box::new(AllMessages { reader: Arc::clone(&this_reader), messages, wants_value })
        }),
    })
}

struct AllMessages {
    reader: Arc<Reader>,
    messages: read::Messages,
    wants_value: bool,
}

impl Rows for AllMessages {
    fn read(&mut self, rows: usize) -> Result<Option<Vec<ArrayRef>>> {
        let (mut recording, mut time, mut offset, mut bytes) = (vec![], vec![], vec![], vec![]);
        let (mut stream, mut partial) = (StringBuilder::new(), StringBuilder::new());
        let (mut relative, mut not_after) = (vec![], vec![]);
        let (mut values, mut payloads, mut total) = (Vec::new(), Vec::new(), 0);
        while recording.len() < rows && total < BATCH_BYTES {
            let Some(message) = self.messages.next() else { break };
            let this_stream = self.reader.streams().get(message.stream);
            recording.push(this_stream.map_or(0, |this_stream| this_stream.session as u64));
            stream.append_value(this_stream.map_or("", |this_stream| this_stream.name.as_str()));
            time.push(message.time.map(|time| time.0));
            offset.push(message.offset);
            bytes.push(message.payload.len() as u64);
            let bounds = dump::bounds(&self.reader, &message);
            relative.push(bounds.relative.map(|time| time.0));
            not_after.push(bounds.not_after.map(|time| time.0));
            partial.append_option(dump::partial(&message));
            total += message.payload.len();
            let value =
                if self.wants_value { self.reader.decode(&message).value } else { Value::Null };
            let (value, payload) = dump::message_values(value);
            values.push(value);
            payloads.push(payload);
        }
        if recording.is_empty() {
            return Ok(None);
        }
        Ok(Some(vec![
            Arc::new(UInt64Array::from(recording)),
            Arc::new(stream.finish()),
            Arc::new(Int64Array::from(time)),
            Arc::new(UInt64Array::from(offset)),
            Arc::new(UInt64Array::from(bytes)),
            Arc::new(Int64Array::from(relative)),
            Arc::new(Int64Array::from(not_after)),
            Arc::new(partial.finish()),
            values::texts(&values),
            values::column(&DataType::Binary, &payloads),
            values::numbers(&values),
        ]))
    }
}

/// The table of the streams with one name.
pub(super) fn stream(reader: &Arc<Reader>, name: &str) -> Option<Arc<dyn Table>> {
    let named = |(_, stream): &(usize, &crate::Stream)| stream.name == name;
    let found: Vec<_> = reader.streams().iter().enumerate().filter(named).collect();
    let mut types = found.iter().map(|(_, stream)| values::data_type(stream));
    let first = types.next()?;
    // Sessions may disagree about what a name stands for.
    let data_type = if types.all(|other| other == first) { first } else { DataType::Utf8 };
    let ids: Vec<usize> = found.iter().map(|(index, _)| *index).collect();
    let counts = ids.iter().filter_map(|id| reader.scan().statistics.get(*id));
    let row_count = Some(counts.map(|statistics| statistics.messages).sum());
    let mut fields = vec![
        Field::new("recording", DataType::UInt64, false),
        Field::new("time_ns", DataType::Int64, true),
        Field::new("relative_ns", DataType::Int64, true),
        Field::new("not_after_ns", DataType::Int64, true),
        Field::new("offset", DataType::UInt64, false),
        Field::new("value", data_type.clone(), true),
    ];
    if data_type != DataType::Binary {
        // Of messages that are not what the format says.
        fields.push(Field::new("payload", DataType::Binary, true));
    }
    let this_reader = Arc::clone(reader);
    Some(Arc::new(Sequence {
        name: name.to_owned(),
        about: "the messages of one stream, with their time and their value",
        schema: schema(fields),
        brief: vec![1, 5],
        row_count,
        begin: Box::new(move |_| {
            let (reader, ids) = (Arc::clone(&this_reader), ids.clone());
            let messages = this_reader.messages();
            Box::new(StreamMessages { reader, messages, ids, data_type: data_type.clone() })
        }),
    }))
}

struct StreamMessages {
    reader: Arc<Reader>,
    messages: read::Messages,
    ids: Vec<usize>,
    data_type: DataType,
}

impl Rows for StreamMessages {
    fn read(&mut self, rows: usize) -> Result<Option<Vec<ArrayRef>>> {
        let (mut recording, mut time, mut offset) = (vec![], vec![], vec![]);
        let (mut relative, mut not_after) = (vec![], vec![]);
        let (mut value, mut payload, mut total) = (Vec::new(), Vec::new(), 0);
        while recording.len() < rows && total < BATCH_BYTES {
            let Some(message) = self.messages.next() else { break };
            if !self.ids.contains(&message.stream) {
                continue;
            }
            let this_stream = self.reader.streams().get(message.stream);
            recording.push(this_stream.map_or(0, |this_stream| this_stream.session as u64));
            time.push(message.time.map(|time| time.0));
            let bounds = dump::bounds(&self.reader, &message);
            relative.push(bounds.relative.map(|time| time.0));
            not_after.push(bounds.not_after.map(|time| time.0));
            offset.push(message.offset);
            total += message.payload.len();
            let told = self.reader.decode(&message).value;
            if self.data_type == DataType::Binary {
                value.push(told);
                continue;
            }
            let (of_format, bytes) = dump::message_values(told);
            value.push(of_format);
            payload.push(bytes);
        }
        if recording.is_empty() {
            return Ok(None);
        }
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(recording)),
            Arc::new(Int64Array::from(time)),
            Arc::new(Int64Array::from(relative)),
            Arc::new(Int64Array::from(not_after)),
            Arc::new(UInt64Array::from(offset)),
            values::column(&self.data_type, &value),
        ];
        if self.data_type != DataType::Binary {
            columns.push(values::column(&DataType::Binary, &payload));
        }
        Ok(Some(columns))
    }
}
