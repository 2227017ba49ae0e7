//! Records: every event in the order of time, which one looks for first, then what the metadata says
//! and packets.

use std::sync::Arc;

use kymo_core::{Result, Value};
use kymo_model::{Flow, Record, RecordSink};

use crate::Reader;
use crate::read::File;
use crate::tables::{self, Rows};

pub(crate) fn dump(reader: &Arc<Reader>, sink: &mut dyn RecordSink) -> Result<()> {
    let (mut rows, mut index) = (Rows::new(reader), 0);
    while let Some((taken, fields)) = rows.next() {
        let file = reader.files().get(taken.packet.file).map_or("", File::shown);
        let record = Record {
            kind: "event",
            index,
            offset: taken.offset,
            fields: vec![
                ("file", file.into()),
                ("offset", taken.offset.into()),
                ("time_ns", taken.head.time_ns.map_or(Value::Null, Value::from).into()),
                ("cpu_id", taken.packet.cpu.map_or(Value::Null, Value::from).into()),
                ("name", (*taken.event.name).into()),
                ("fields", fields.into()),
            ],
        };
        index += 1;
        if sink.record(&record)? == Flow::Stop {
            return Ok(());
        }
    }
    lists(reader, sink).map(drop)
}

/// Lists the content of the metadata, and packets.
fn lists(reader: &Arc<Reader>, sink: &mut dyn RecordSink) -> Result<Flow> {
    if tables::environment(reader).dump("environment", |_| 0, sink)? == Flow::Stop
        || tables::clocks(reader).dump("clock", |_| 0, sink)? == Flow::Stop
        || tables::kinds(reader).dump("event_kind", |_| 0, sink)? == Flow::Stop
    {
        return Ok(Flow::Stop);
    }
    tables::packets(reader).dump("packet", |packet| packet.1.offset, sink)
}
