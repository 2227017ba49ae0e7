//! Losses of the tracer: events that it had no room for, and packets that are not there.

use kymo_core::{Finding, Severity};
use kymo_model::timeline::{DisplayTime, TimeNs};

use super::{Packet, Place, Reader, Track};
use crate::types::Role;

/// Finds what was lost between packets of each stream. Tells after which packets events are missing.
///
/// A tracer that has no room counts what it loses until it ends the packet that it is at: there may
/// be a gap before that packet and one after it.
pub(super) fn find(reader: &Reader) -> Vec<usize> {
    let mut behind = Vec::new();
    for (number, track) in reader.tracks().iter().enumerate() {
        let packet = |index: &usize| Some((*index, reader.packets().get(*index)?));
        let packets: Vec<_> = track.packets.iter().filter_map(packet).collect();
        let events = gaps(&packets, |before, packet| discarded(reader, before, packet));
        behind.extend(events.iter().map(|gap| gap.index));
        let until = |packet: &Packet| Some(packet.times?.1);
        report_losses(
            reader,
            (number, track),
            ("discarded", "had no room for", "event"),
            &events,
            until,
        );
        let lost = gaps(&packets, missing);
        behind.extend(events.iter().chain(&lost).filter_map(|gap| gap.index_before));
        let until = |packet: &Packet| Some(packet.times?.0);
        let said = ("missing-packets", "wrote, and here are not,", "packet");
        report_losses(reader, (number, track), said, &lost, until);
    }
    behind
}

/// Number of events lost before a packet, after the one before it.
struct Gap<'a> {
    count: u64,
    before: Option<&'a Packet>,
    packet: &'a Packet,
    /// Position of each of the two among all packets.
    index_before: Option<usize>,
    index: usize,
}

fn gaps<'a>(
    packets: &[(usize, &'a Packet)],
    lost: impl Fn(Option<&Packet>, &Packet) -> u64,
) -> Vec<Gap<'a>> {
    let before = std::iter::once(None).chain(packets.iter().copied().map(Some));
    let gaps = before.zip(packets).map(|(before, (index, packet))| {
        let (index_before, before) = before.unzip();
        Gap { count: lost(before, packet), before, packet, index_before, index: *index }
    });
    gaps.filter(|gap| gap.count > 0).collect()
}

/// Events that there was no room for; each packet has the number of all so far. What has fewer bits
/// than that needs begins again at 0, and tells of the fewest that there can have been.
fn discarded(reader: &Reader, before: Option<&Packet>, packet: &Packet) -> u64 {
    let count = packet.discarded.unwrap_or(0);
    match before.map(|before| before.discarded.unwrap_or(0)) {
        Some(before) if count < before && packet.discarded.is_some() => {
            counter_mask(reader, packet).map_or(0, |mask| count.wrapping_sub(before) & mask)
        }
        Some(before) => count.saturating_sub(before),
        // What was lost before the first packet that was kept is no loss of this recording.
        None if packet.sequence.unwrap_or(0) == 0 => count,
        None => 0,
    }
}

/// Returns the greatest value of a counter of lost events. One of 64 bits never begins again.
fn counter_mask(reader: &Reader, packet: &Packet) -> Option<u64> {
    let layouts = reader.layouts(packet.part)?;
    let fields = &layouts.stream(packet.layout)?.packet_fields;
    let bits = fields.bits(Role::EventsDiscarded)?;
    (1..64).contains(&bits).then(|| (1 << bits) - 1)
}

/// Packets that are numbered and not there.
fn missing(before: Option<&Packet>, packet: &Packet) -> u64 {
    let numbers = before.and_then(|before| before.sequence).zip(packet.sequence);
    numbers.map_or(0, |(before, number)| number.saturating_sub(before).saturating_sub(1))
}

fn report_losses(
    reader: &Reader,
    (number, track): (usize, &Track),
    (rule, what, unit): (&'static str, &str, &str),
    gaps: &[Gap<'_>],
    until: impl Fn(&Packet) -> Option<u64>,
) {
    let Some(first) = gaps.first() else { return };
    let count = gaps.iter().fold(0_u64, |sum, gap| sum.saturating_add(gap.count));
    let units = if count == 1 { unit.to_owned() } else { format!("{unit}s") };
    let places = match gaps.len() {
        1 => String::new(),
        places => format!(" in {places} places, the first"),
    };
    let from = first.before.and_then(|packet| moment(reader, packet, packet.times?.1));
    let times = from.zip(until(first.packet).and_then(|ticks| moment(reader, first.packet, ticks)));
    let times = times.map_or_else(String::new, |(from, to)| format!(" between {from} and {to}"));
    let name = &track.name;
    let message = format!("the tracer {what} {count} {units} of {name}{places}{times}");
    let offset = first.packet.offset;
    let mut finding = Finding::at_offset(Severity::Warning, rule, offset, message);
    finding.file = Some(reader.file_name(first.packet.file));
    reader.add(Place::Track(number, rule), finding);
}

fn moment(reader: &Reader, packet: &Packet, ticks: u64) -> Option<DisplayTime> {
    let clock = reader.clocks().get(packet.clock?)?;
    let time = TimeNs(clock.nanoseconds(ticks)?);
    Some(DisplayTime { time, since_epoch: clock.since_epoch })
}
