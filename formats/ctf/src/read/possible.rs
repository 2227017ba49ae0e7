//! Possible times for events of a packet: an event with another time is damaged.
//!
//! A packet says when it begins and ends. Tracers in the field took the time of an end before that of
//! the last events (`LTTng` until 2.11) and that of a begin after the first (barectf until 2.3), so that
//! events may be as early as the end of the packet before and as late as the begin of the one after. The
//! last packet of a stream has none after it: its last event may be later, and that is said.

use std::collections::BTreeMap;

use super::{Packet, Track};

/// The ticks that events of a packet can have.
pub(super) struct TickRange {
    /// The packet.
    pub(super) index: usize,
    /// The first tick, and how many there are after it.
    pub(super) ticks: (u64, u64),
    /// Number of ticks by which its last event may be later still: as many as the packet takes,
    /// which is some while.
    pub(super) late_max: u64,
}

/// The ticks that events of packets can have, of those packets that tell.
pub(super) fn find(packets: &[Packet], tracks: &[Track]) -> Vec<TickRange> {
    let mut latest: BTreeMap<usize, u64> = BTreeMap::new();
    for (clock, (_, end)) in packets.iter().filter_map(times) {
        let known = latest.entry(clock).or_default();
        *known = end.max(*known);
    }
    let mut found = Vec::new();
    for track in tracks {
        let item = |index: &usize| packets.get(*index);
        let mut before = None;
        for (at, index) in track.packets.iter().enumerate() {
            let Some((clock, (begin, end))) = item(index).and_then(times) else {
                before = None;
                continue;
            };
            let next = track.packets.get(at + 1).and_then(item);
            let late_max = if next.is_none() { (end - begin).max(1) } else { 0 };
            let next = next.map(|next| times(next).filter(|(other, _)| *other == clock));
            let until = match next {
                Some(Some((_, (next, _)))) => Some(next),
                Some(None) => None,
                None => latest.get(&clock).copied(),
            };
            let until = until.unwrap_or(u64::MAX).max(end);
            let from = before.filter(|(other, _)| *other == clock).map_or(0, |(_, end)| end);
            let from = begin.min(from);
            found.push(TickRange { index: *index, ticks: (from, until - from), late_max });
            before = Some((clock, end));
        }
    }
    found
}

/// The clock of a packet, and its begin and end, where it can be that.
fn times(packet: &Packet) -> Option<(usize, (u64, u64))> {
    let (begin, end) = packet.times.filter(|(begin, end)| begin <= end && *end > 0)?;
    Some((packet.clock?, (begin, end)))
}
