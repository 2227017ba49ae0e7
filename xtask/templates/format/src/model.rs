//! Types to core's model: records here; arrays and the like where the format has them.
//!
//! Whatever core's model cannot hold is named here. Of an event: the bytes of a message that are
//! not UTF-8.

use kymo_model::Record;

use crate::types::Event;

/// An event with all its fields, under the names of the table's columns.
pub(crate) fn record(index: u64, event: &Event) -> Record<'_> {
    let fields = vec![
        ("offset", event.offset.into()),
        ("time_ns", event.time_ns.into()),
        ("message", event.text().into_owned().into()),
    ];
    Record { kind: "event", index, offset: event.offset, fields }
}
