//! Records: what the metadata says, packets, then every event in the order of time.

use std::sync::Arc;

use kymo_core::{Flow, Record, RecordSink, Result, Value};

use crate::Reader;
use crate::tables::{self, Rows};

pub(crate) fn dump(reader: &Arc<Reader>, sink: &mut dyn RecordSink) -> Result<()> {
    let listed = [
        tables::environment(reader).dump("environment", |_| 0, sink)?,
        tables::clocks(reader).dump("clock", |_| 0, sink)?,
        tables::kinds(reader).dump("event_kind", |_| 0, sink)?,
        tables::packets(reader).dump("packet", |packet| packet.1.offset, sink)?,
    ];
    if listed.contains(&Flow::Stop) {
        return Ok(());
    }
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
    Ok(())
}
