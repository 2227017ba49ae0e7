//! The table of events, and the records that agree with it. Names of tasks and interrupts are in
//! events, too.

use std::sync::Arc;

use kymo_core::table::{Cells, Listed};
use kymo_core::{RecordSink, Result, Table};
use serde_json::{Map, Value};

use crate::Reader;
use crate::read::{Given, Packet};

/// A row of the table of events.
pub(crate) struct EventRow {
    packet: Packet,
    time_ns: Option<i64>,
    name: String,
    fields: String,
}

pub(crate) fn events(reader: &Arc<Reader>) -> Listed<EventRow> {
    let reader = Arc::clone(reader);
    Listed {
        name: "events",
        about: "every event, core by core, with its parameters as JSON",
        columns: vec![
            ("offset", Cells::UInt(|row| row.packet.offset)),
            ("core", Cells::UInt(|row| row.packet.core.into())),
            ("time_ns", Cells::MaybeInt(|row| row.time_ns)),
            ("ticks", Cells::UInt(|row| row.packet.ticks)),
            ("id", Cells::UInt(|row| row.packet.id.into())),
            ("name", Cells::Text(|row| row.name.clone())),
            ("fields", Cells::Text(|row| row.fields.clone())),
        ],
        list: Box::new(move || {
            let row = |packet: &Packet| EventRow {
                packet: *packet,
                time_ns: reader.time_ns(packet),
                name: reader.name(packet.id).into_owned(),
                fields: json(&reader, packet),
            };
            reader.packets().iter().map(row).collect()
        }),
    }
}

pub(crate) fn tables(reader: &Arc<Reader>) -> Vec<Arc<dyn Table>> {
    vec![events(reader).into_table()]
}

pub(crate) fn dump(reader: &Arc<Reader>, sink: &mut dyn RecordSink) -> Result<()> {
    events(reader).dump("event", |row| row.packet.offset, sink)?;
    Ok(())
}

/// Numbers that nobody names are under this name together.
pub(crate) const UNNAMED: &str = "numbers";

/// The parameters of an event as JSON: `{"tid":7,"prio":1,"name":"main"}`.
fn json(reader: &Reader, packet: &Packet) -> String {
    let (mut object, mut unnamed) = (Map::new(), Vec::new());
    for (name, value) in reader.given(packet) {
        match value {
            Given::Number(number) if name.is_empty() => unnamed.push(Value::from(number)),
            Given::Number(number) => drop(object.insert(name.to_owned(), number.into())),
            Given::Text(text) => drop(object.insert(name.to_owned(), text.into())),
            Given::Numbers(numbers) => drop(object.insert(name.to_owned(), numbers.into())),
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
            Given::Number(number) => format!("{lead}{number}"),
            Given::Text(text) => format!("{lead}{text:?}"),
            Given::Numbers(numbers) => format!("{lead}{numbers:?}"),
        }
    });
    given.collect::<Vec<_>>().join(", ")
}
