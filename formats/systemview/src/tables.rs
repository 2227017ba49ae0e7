//! The table of events, and the records that agree with it. Names of tasks and interrupts are in
//! events, too.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use kymo_core::{Error, Result, Value as Cell};
use kymo_model::table::{ColumnTable, Columns};
use kymo_model::{Flow, Record, RecordSink, Table};
use serde_json::{Map, Value};

use crate::Reader;
use crate::read::{Packet, ParameterValue};

/// Bytes of parameters of the rows that are read at once.
const BATCH_BYTES: usize = 8 << 20;

/// The columns, as records and tables have them.
const COLUMNS: [&str; 7] = ["offset", "core", "time_ns", "ticks", "id", "name", "fields"];

/// The events of a recording, a row each.
struct Events(Arc<Reader>);

impl Events {
    fn numbers(rows: &[Packet], item: fn(&Packet) -> u64) -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(item)))
    }

    fn texts(rows: &[Packet], item: impl Fn(&Packet) -> String) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(item)))
    }
}

impl Columns for Events {
    type Row<'a> = Packet;

    fn name(&self) -> &'static str {
        "events"
    }

    fn about(&self) -> &'static str {
        "every event, core by core, with its parameters as JSON"
    }

    fn schema(&self) -> SchemaRef {
        let fields = COLUMNS.iter().map(|name| match *name {
            "time_ns" => Field::new(*name, DataType::Int64, true),
            "name" | "fields" => Field::new(*name, DataType::Utf8, false),
            _ => Field::new(*name, DataType::UInt64, false),
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    fn row_count(&self) -> u64 {
        self.0.count()
    }

    fn rows(&self, rows: Range<usize>) -> Result<Vec<Packet>> {
        let (mut found, mut bytes) = (Vec::new(), 0);
        for packet in self.0.packets_from(rows.start as u64).take(rows.len()) {
            bytes += self.0.payload(&packet).len();
            found.push(packet);
            if bytes > BATCH_BYTES {
                break;
            }
        }
        Ok(found)
    }

    fn column(&self, index: usize, rows: &[Packet]) -> Result<ArrayRef> {
        let reader = &self.0;
        Ok(match COLUMNS.get(index).copied() {
            Some("offset") => Self::numbers(rows, |packet| packet.offset),
            Some("core") => Self::numbers(rows, |packet| packet.core.into()),
            Some("time_ns") => {
                Arc::new(rows.iter().map(|packet| reader.time_ns(packet)).collect::<Int64Array>())
            }
            Some("ticks") => Self::numbers(rows, |packet| packet.ticks),
            Some("id") => Self::numbers(rows, |packet| packet.id.into()),
            Some("name") => Self::texts(rows, |packet| reader.name(packet.id).into_owned()),
            Some("fields") => Self::texts(rows, |packet| json(reader, packet)),
            _ => return Err(Error::request(format!("there is no column {index}"))),
        })
    }
}

pub(crate) fn tables(reader: &Arc<Reader>) -> Vec<Arc<dyn Table>> {
    vec![ColumnTable::new(Events(Arc::clone(reader)))]
}

/// Gives every event as a record.
pub(crate) fn dump(reader: &Reader, sink: &mut dyn RecordSink) -> Result<()> {
    for (index, packet) in (0..).zip(reader.packets()) {
        let values = [
            Cell::from(packet.offset),
            packet.core.into(),
            reader.time_ns(&packet).map_or(Cell::Null, Cell::from),
            packet.ticks.into(),
            packet.id.into(),
            reader.name(packet.id).into_owned().into(),
            json(reader, &packet).into(),
        ];
        let fields = COLUMNS.iter().zip(values).map(|(name, value)| (*name, value.into()));
        let fields = fields.collect();
        let record = Record { kind: "event", index, offset: packet.offset, fields };
        if sink.record(&record)? == Flow::Stop {
            break;
        }
    }
    Ok(())
}

/// Numbers that nobody names are under this name together.
pub(crate) const UNNAMED: &str = "numbers";

/// The parameters of an event as JSON: `{"tid":7,"prio":1,"name":"main"}`.
fn json(reader: &Reader, packet: &Packet) -> String {
    let (mut object, mut unnamed) = (Map::new(), Vec::new());
    for (name, value) in reader.given(packet) {
        match value {
            ParameterValue::Number(number) if name.is_empty() => unnamed.push(Value::from(number)),
            ParameterValue::Number(number) => drop(object.insert(name.to_owned(), number.into())),
            ParameterValue::Text(text) => drop(object.insert(name.to_owned(), text.into())),
            ParameterValue::Numbers(numbers) => {
                drop(object.insert(name.to_owned(), numbers.into()));
            }
        }
    }
    if !unnamed.is_empty() {
        object.insert(UNNAMED.to_owned(), unnamed.into());
    }
    Value::Object(object).to_string()
}

/// The parameters of an event: `tid = 7, prio = 1, name = "main"`.
pub(crate) fn parameters(reader: &Reader, packet: &Packet) -> String {
    let given = reader.given(packet).into_iter().map(|(name, value)| {
        let lead = if name.is_empty() { String::new() } else { format!("{name} = ") };
        match value {
            ParameterValue::Number(number) => format!("{lead}{number}"),
            ParameterValue::Text(text) => format!("{lead}{text:?}"),
            ParameterValue::Numbers(numbers) => format!("{lead}{numbers:?}"),
        }
    });
    given.collect::<Vec<_>>().join(", ")
}
