//! The table of events, and the records that agree with it. Names of tasks and interrupts are in
//! events, too.

use std::sync::Arc;

use kymo_core::table::{Cells, Listed};
use kymo_core::{RecordSink, Result, Table};

use crate::read::{Given, Packet};
use crate::{Reader, spec};

/// A row of the table of events.
pub(crate) struct EventRow {
    packet: Packet,
    time_ns: Option<i64>,
    name: String,
    parameters: String,
}

pub(crate) fn events(reader: &Arc<Reader>) -> Listed<EventRow> {
    let reader = Arc::clone(reader);
    Listed {
        name: "events",
        about: "every event, core by core, with its parameters",
        columns: vec![
            ("offset", Cells::UInt(|row| row.packet.offset)),
            ("core", Cells::UInt(|row| row.packet.core.into())),
            ("time_ns", Cells::MaybeInt(|row| row.time_ns)),
            ("ticks", Cells::UInt(|row| row.packet.ticks)),
            ("id", Cells::UInt(|row| row.packet.id.into())),
            ("name", Cells::Text(|row| row.name.clone())),
            ("parameters", Cells::Text(|row| row.parameters.clone())),
        ],
        list: Box::new(move || {
            let row = |packet: &Packet| EventRow {
                packet: *packet,
                time_ns: reader.time_ns(packet),
                name: name(packet.id),
                parameters: parameters(&reader, packet),
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

/// The name of an event: `TASK_START_EXEC`, or `event 512`.
pub(crate) fn name(id: u32) -> String {
    spec::event(id).map_or_else(|| format!("event {id}"), |(name, _)| name.to_owned())
}

/// The parameters of an event: `tid = 7, prio = 1, name = "main"`.
pub(crate) fn parameters(reader: &Reader, packet: &Packet) -> String {
    let given = reader.given(packet).into_iter().map(|(name, value)| {
        let lead = if name.is_empty() { String::new() } else { format!("{name} = ") };
        match value {
            Given::Number(number) => format!("{lead}{number}"),
            Given::Text(text) => format!("{lead}{text:?}"),
        }
    });
    given.collect::<Vec<_>>().join(", ")
}
