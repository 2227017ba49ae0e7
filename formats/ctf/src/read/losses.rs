//! What the tracer lost: events that it had no room for, and packets that are not there.

use kymo_core::model::timeline::{Shown, TimeNs};
use kymo_core::{Finding, Severity};

use super::{Packet, Place, Reader, Track};

/// Finds what was lost between packets of each stream.
pub(super) fn find(reader: &Reader) {
    for (number, track) in reader.tracks().iter().enumerate() {
        let packets: Vec<_> =
            track.packets.iter().filter_map(|index| reader.packets().get(*index)).collect();
        let events = gaps(&packets, |before, packet| discarded(reader, before, packet));
        let until = |packet: &Packet| Some(packet.times?.1);
        tell(reader, (number, track), ("discarded", "had no room for", "event"), &events, until);
        let lost = gaps(&packets, missing);
        let until = |packet: &Packet| Some(packet.times?.0);
        let said = ("missing-packets", "wrote, and here are not,", "packet");
        tell(reader, (number, track), said, &lost, until);
    }
}

/// How many were lost before a packet, after the one before it.
struct Gap<'a> {
    count: u64,
    before: Option<&'a Packet>,
    packet: &'a Packet,
}

fn gaps<'a>(
    packets: &[&'a Packet],
    lost: impl Fn(Option<&Packet>, &Packet) -> u64,
) -> Vec<Gap<'a>> {
    let before = std::iter::once(None).chain(packets.iter().copied().map(Some));
    let gaps = before.zip(packets).map(|(before, packet)| Gap {
        count: lost(before, packet),
        before,
        packet,
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

/// What a counter of events that were lost can hold. One of 64 bits never begins again.
fn counter_mask(reader: &Reader, packet: &Packet) -> Option<u64> {
    let layouts = reader.layouts(packet.part)?;
    let context = layouts.stream(packet.layout)?.packet_context;
    let bits = layouts.field(context, "events_discarded")?.as_integer()?.bits;
    (1..64).contains(&bits).then(|| (1 << bits) - 1)
}

/// Packets that are numbered and not there.
fn missing(before: Option<&Packet>, packet: &Packet) -> u64 {
    let numbers = before.and_then(|before| before.sequence).zip(packet.sequence);
    numbers.map_or(0, |(before, number)| number.saturating_sub(before).saturating_sub(1))
}

fn tell(
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
    let mut finding = Finding::at(Severity::Warning, rule, offset, message);
    finding.file = Some(reader.file_name(first.packet.file));
    reader.add(Place::Track(number, rule), finding);
}

fn moment(reader: &Reader, packet: &Packet, ticks: u64) -> Option<Shown> {
    let clock = reader.clocks().get(packet.clock?)?;
    let time = TimeNs(clock.nanoseconds(ticks)?);
    Some(Shown { time, since_epoch: clock.since_epoch() })
}
