//! Records: every event in the order of time, which one looks for first, then what the metadata says
//! and packets.

use std::sync::Arc;

use kymo_core::{Flow, Record, RecordSink, Result, Value};

use crate::Reader;
use crate::tables::{self, Rows};

pub(crate) fn dump(reader: &Arc<Reader>, sink: &mut dyn RecordSink) -> Result<()> {
    for (index, row) in Rows::new(reader).enumerate() {
        let number = |value: Option<u64>| value.map_or(Value::Null, Value::from);
        let record = Record {
            kind: "event",
            index: index as u64,
            offset: row.offset,
            fields: vec![
                ("file", reader.file_name(row.file).into()),
                ("offset", row.offset.into()),
                ("time_ns", row.time_ns.map_or(Value::Null, Value::from).into()),
                ("cpu_id", number(row.cpu).into()),
                ("name", row.name.to_string().into()),
                ("fields", row.fields.into()),
            ],
        };
        if sink.record(&record)? == Flow::Stop {
            return Ok(());
        }
    }
    lists(reader, sink).map(drop)
}

/// What the metadata says, and packets.
fn lists(reader: &Arc<Reader>, sink: &mut dyn RecordSink) -> Result<Flow> {
    if tables::environment(reader).dump("environment", |_| 0, sink)? == Flow::Stop
        || tables::clocks(reader).dump("clock", |_| 0, sink)? == Flow::Stop
        || tables::kinds(reader).dump("event_kind", |_| 0, sink)? == Flow::Stop
    {
        return Ok(Flow::Stop);
    }
    tables::packets(reader).dump("packet", |packet| packet.1.offset, sink)
}
