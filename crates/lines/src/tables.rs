//! The table of events, and the records that agree with it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use kymo_core::{Error, Invariant as _, Result, Value};
use kymo_model::table::Columns;
use kymo_model::timeline::TimeNs;
use kymo_model::{Flow, Record, RecordSink};
use serde_json::Value as Json;

use crate::fields::whole_number;
use crate::{Grammar, Line, RawLine, Reader};

/// Bytes of lines that are held at once.
const BATCH_BYTES: usize = 8 << 20;

/// The events of a recording, a row each.
pub(crate) struct Events<G>(pub(crate) Arc<Reader<G>>);

/// A line that is an event.
pub(crate) struct Row<'a> {
    offset: u64,
    text: Cow<'a, str>,
}

/// The columns, as records and tables have them.
const COLUMNS: [&str; 7] = ["offset", "time_ns", "cpu_id", "task", "tid", "name", "fields"];

impl<G: Grammar> Events<G> {
    fn line<'a>(&'a self, row: &'a Row<'_>) -> Line<'a> {
        let raw = RawLine { offset: row.offset, bytes: row.text.as_bytes() };
        self.0.event(raw, &row.text).unwrap_or_default()
    }

    fn texts<'a>(
        &'a self,
        rows: &'a [Row<'_>],
        item: impl Fn(Line<'a>) -> Option<Cow<'a, str>>,
    ) -> ArrayRef {
        Arc::new(rows.iter().map(|row| item(self.line(row))).collect::<StringArray>())
    }
}

impl<G: Grammar> Columns for Events<G> {
    type Row<'a> = Row<'a>;

    fn name(&self) -> &'static str {
        "events"
    }

    fn about(&self) -> &'static str {
        "every event, in the order of the file, with its fields as JSON"
    }

    fn schema(&self) -> SchemaRef {
        let types = [
            (DataType::UInt64, false),
            (DataType::Int64, true),
            (DataType::UInt64, true),
            (DataType::Utf8, true),
            (DataType::Int64, true),
            (DataType::Utf8, false),
            (DataType::Utf8, false),
        ];
        let fields = COLUMNS.iter().zip(types);
        let fields = fields
            .map(|(name, (data_type, is_nullable))| Field::new(*name, data_type, is_nullable));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    fn row_count(&self) -> u64 {
        self.0.event_count()
    }

    fn rows(&self, rows: Range<usize>) -> Result<Vec<Row<'_>>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let block = self.0.block_of(rows.start as u64);
        let block = block.or_broken("a row is in a block of lines")?;
        let before = usize::try_from(block.events_before).ok();
        let skip = before.and_then(|before| rows.start.checked_sub(before));
        let skip = skip.or_broken("a block begins before its rows")?;
        let (mut found, mut bytes) = (Vec::new(), 0);
        let mut number = 0;
        for line in self.0.lines(block.start, u64::MAX) {
            let text = line.text();
            if self.0.event(line, &text).is_none() {
                continue;
            }
            number += 1;
            if number > skip {
                bytes += text.len();
                found.push(Row { offset: line.offset, text });
            }
            if found.len() >= rows.len() || bytes > BATCH_BYTES {
                break;
            }
        }
        Ok(found)
    }

    fn column(&self, index: usize, rows: &[Row<'_>]) -> Result<ArrayRef> {
        let lines = || rows.iter().map(|row| self.line(row));
        Ok(match COLUMNS.get(index).copied() {
            Some("offset") => {
                Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.offset)))
            }
            Some("time_ns") => {
                Arc::new(lines().map(|line| Some(line.time?.0)).collect::<Int64Array>())
            }
            Some("cpu_id") => {
                Arc::new(lines().map(|line| line.cpu.map(u64::from)).collect::<UInt64Array>())
            }
            Some("task") => self.texts(rows, |line| line.task.map(Cow::Borrowed)),
            Some("tid") => Arc::new(lines().map(|line| line.tid).collect::<Int64Array>()),
            Some("name") => self.texts(rows, |line| Some(line.name.into())),
            Some("fields") => self.texts(rows, |line| Some(json(self.0.grammar(), &line).into())),
            _ => return Err(Error::request(format!("there is no column {index}"))),
        })
    }
}

/// The fields of an event as a JSON object; numbers are numbers.
fn json<'a>(grammar: &'a impl Grammar, line: &Line<'a>) -> String {
    let fields = grammar.fields(line).into_iter();
    let object: serde_json::Map<String, Json> = fields
        .map(|(name, value)| {
            let is_name = name.ends_with("comm");
            let number = whole_number(&value).filter(|_| !is_name);
            let value = number.map_or_else(|| Json::from(value.as_ref()), Json::from);
            (name.into_owned(), value)
        })
        .collect();
    Json::Object(object).to_string()
}

/// Gives every event as a record.
pub(crate) fn dump<G: Grammar>(reader: &Reader<G>, sink: &mut dyn RecordSink) -> Result<()> {
    let mut index = 0;
    let mut result = Ok(());
    reader.each_event(&mut |raw, line| {
        let maybe = |number: Option<i64>| number.map_or(Value::Null, Value::from);
        let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
        let values = [
            Value::from(raw.offset),
            maybe(line.time.map(|TimeNs(time)| time)),
            line.cpu.map_or(Value::Null, Value::from),
            text(line.task),
            maybe(line.tid),
            line.name.into(),
            json(reader.grammar(), line).into(),
        ];
        let fields = COLUMNS.iter().zip(values).map(|(name, value)| (*name, value.into()));
        let fields = fields.collect();
        let record = Record { kind: "event", index, offset: raw.offset, fields };
        index += 1;
        match sink.record(&record) {
            Ok(flow) => flow == Flow::More,
            Err(error) => {
                result = Err(error);
                false
            }
        }
    });
    result
}
