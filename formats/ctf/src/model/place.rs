//! Where an event is, by when it was and its offset: several files have events at one offset.

use std::ops::ControlFlow;

use crate::read::{Packet, sweep, times_ns};
use crate::{Reader, Track};

/// Packets of a stream that are looked at before a moment. They follow each other, so that more than
/// the last rarely begin at the same.
const BEFORE: usize = 4;

/// What is known of where an event is.
pub(super) struct Place {
    pub(super) time_ns: Option<i64>,
    pub(super) offset: u64,
}

impl Place {
    /// The packet of a stream that the event is in.
    pub(super) fn in_stream<'a>(&self, reader: &'a Reader, stream: &Track) -> Option<&'a Packet> {
        let packet = |place: &usize| reader.packets().get(*place);
        let has_begun = |place: &usize| {
            let begin = times_ns(reader, *place).map(|(begin, _)| begin);
            begin.is_none() || self.time_ns.is_none() || begin <= self.time_ns
        };
        let end = stream.packets.partition_point(has_begun);
        let last = stream.packets.get(end.saturating_sub(BEFORE)..end).unwrap_or_default();
        let mut near = last.iter().rev().filter_map(packet);
        let is_it = |packet: &&Packet| self.is_within(packet);
        near.find(is_it).or_else(|| stream.packets.iter().filter_map(packet).find(is_it))
    }

    /// The packet of any stream that has an event there and then.
    pub(super) fn anywhere<'a>(&self, reader: &'a Reader) -> Option<&'a Packet> {
        let packets = reader.packets().iter().enumerate();
        let mut may = packets.filter(|(_, packet)| self.is_within(packet));
        may.find(|(place, _)| self.is_event_of(reader, *place)).map(|(_, packet)| packet)
    }

    fn is_within(&self, packet: &Packet) -> bool {
        (packet.offset..packet.offset.saturating_add(packet.bytes)).contains(&self.offset)
    }

    fn is_event_of(&self, reader: &Reader, packet: usize) -> bool {
        let is_then = |(begin, end)| self.time_ns.is_none_or(|time| begin <= time && time <= end);
        if !times_ns(reader, packet).is_none_or(is_then) {
            return false;
        }
        let mut is_it = false;
        let _ = sweep(reader, &[packet], &mut (), |taken, ()| {
            is_it = taken.offset == self.offset && taken.head.time_ns == self.time_ns;
            if is_it || taken.offset > self.offset {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        is_it
    }
}
