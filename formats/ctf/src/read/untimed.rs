//! Packets that do not say when they begin and end: their events tell. Times of events may have only
//! the lowest bits, so that they go on from those before them in the same file.

use std::ops::ControlFlow;

use super::Reader;
use super::decode::State;
use super::packet_reader::PacketReader;

/// Facts about a packet from its events.
#[derive(Debug, Clone)]
pub(crate) struct PacketFacts {
    /// The clock that was set before it, and its ticks.
    pub(super) clock: Option<usize>,
    pub(super) ticks: u64,
    /// Times of its first and its last event, in nanoseconds; `None` where it has none.
    pub(super) span_ns: Option<(i64, i64)>,
}

/// Goes through packets of one track in the order of files, and tells of those that have no times. One
/// packet by itself needs no place among others.
pub(super) fn find(reader: &Reader, packets: &[usize]) -> Vec<(usize, PacketFacts)> {
    let is_untimed =
        |index: &usize| reader.packets().get(*index).is_some_and(|packet| packet.times.is_none());
    if packets.len() < 2 || !packets.iter().any(is_untimed) {
        return Vec::new();
    }
    let (mut state, mut file, mut found) = (State::default(), None, Vec::new());
    for index in packets {
        let Some(within) = PacketReader::new(reader, *index) else { continue };
        if file.replace(within.packet.file) != Some(within.packet.file) {
            state = State::default();
        }
        if let Some((_, end)) = within.packet.times {
            (state.clock, state.ticks) = (within.packet.clock, end);
            continue;
        }
        found.push((*index, read(reader, &within, &mut state)));
        if let Some(end) = within.packet.only_end {
            (state.clock, state.ticks) = (within.packet.clock, end);
        }
    }
    found
}

/// Reads all events of a packet.
fn read(reader: &Reader, within: &PacketReader<'_>, state: &mut State) -> PacketFacts {
    let (clock, ticks, mut span_ns) = (state.clock, state.ticks, None);
    let bytes = reader.packet_bytes(within.packet);
    within.begin(&bytes, state);
    let result = within.each(&bytes, state, &mut (), &mut |taken, ()| {
        if let Some(time) = taken.head.time_ns {
            let (first, last) = span_ns.unwrap_or((time, time));
            span_ns = Some((time.min(first), time.max(last)));
        }
        ControlFlow::Continue(())
    });
    if let Err(error) = result {
        within.report(&error);
    }
    PacketFacts { clock, ticks, span_ns }
}
