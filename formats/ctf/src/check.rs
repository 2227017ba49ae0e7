//! Rules across records: every event is decoded, times do not go back, nothing was lost.

use std::collections::HashMap;
use std::sync::Arc;

use kymo_core::{Finding, Severity};

use crate::Reader;
use crate::read::{Chosen, Merged};

/// What cannot be read.
pub(crate) const UNREADABLE: &str = "unreadable";

/// Applies every rule.
pub(crate) fn check(reader: &Arc<Reader>) -> Vec<Finding> {
    discarded(reader);
    order(reader);
    reader.findings()
}

/// Events that the tracer had no room for.
fn discarded(reader: &Reader) {
    for track in reader.tracks() {
        let all = track.packets.iter().rev().filter_map(|index| reader.packets().get(*index));
        // The count goes on from packet to packet.
        let last = { all }.find_map(|packet| Some((packet, packet.discarded?)));
        let Some((packet, count)) = last else { continue };
        if count > 0 {
            let message = format!("the tracer lost {count} events of {} so far", track.name);
            let mut finding = Finding::at(Severity::Note, "discarded", packet.offset, message);
            finding.file = Some(reader.file_name(packet.file));
            reader.add((Some(packet.file), packet.offset), finding);
        }
    }
}

/// Decodes everything, and looks whether time goes back within a stream.
fn order(reader: &Arc<Reader>) {
    let mut latest: HashMap<usize, i64> = HashMap::new();
    let mut merged = Merged::new(reader, &Chosen::default());
    while let Some((track, taken)) = merged.next(&mut (), |()| {}) {
        let Some(time) = taken.head.time_ns else { continue };
        let latest = latest.entry(track).or_insert(time);
        if time < *latest {
            let back = latest.abs_diff(time);
            let message = format!("time goes back by {back} ns");
            if let Some(packet) = reader.packets().get(taken.head.packet) {
                let offset = taken.range.0;
                let mut finding = Finding::at(Severity::Warning, "time-order", offset, message);
                finding.file = Some(reader.file_name(packet.file));
                reader.add((Some(packet.file), offset), finding);
            }
        }
        *latest = time.max(*latest);
    }
}
