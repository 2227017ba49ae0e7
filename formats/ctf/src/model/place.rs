//! Place of an event, by its time and its offset: several files have events at one offset.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use crate::read::{Packet, reach_ns, sweep, times_ns};
use crate::{Reader, Track};

/// Packets of a stream that are looked at before a moment. They follow each other, so that more than
/// the last rarely begin at the same.
const BEFORE: usize = 4;

/// Events of packets that are kept, so that those who ask for one after another do not go through a
/// packet for each. Of one packet all are.
const KEPT_MAX: usize = 1 << 18;

/// Places of events in the packets that were asked for last.
#[derive(Default)]
pub(super) struct Places(Mutex<VecDeque<Events>>);

/// Places of the events of a packet, and their times, in the order of their offsets.
struct Events {
    packet: usize,
    places: Vec<(u64, Option<i64>)>,
}

impl Events {
    fn from_packet(reader: &Reader, packet: usize) -> Self {
        let mut places = Vec::new();
        let _ = sweep(reader, &[packet], &mut (), |taken, ()| {
            places.push((taken.offset, taken.head.time_ns));
            ControlFlow::Continue(())
        });
        Self { packet, places }
    }
}

impl Places {
    /// Returns true if a packet has an event at a place.
    fn contains(&self, reader: &Reader, packet: usize, place: &Place) -> bool {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|events| events.packet == packet);
        let events = known.and_then(|known| kept.remove(known));
        let events = events.unwrap_or_else(|| Events::from_packet(reader, packet));
        let at = events.places.partition_point(|(offset, _)| *offset < place.offset);
        let is_it = events.places.get(at) == Some(&(place.offset, place.time_ns));
        kept.push_back(events);
        while kept.len() > 1
            && kept.iter().map(|events| events.places.len()).sum::<usize>() > KEPT_MAX
        {
            kept.pop_front();
        }
        is_it
    }
}

/// Facts that are known about the place of an event.
pub(super) struct Place {
    pub(super) time_ns: Option<i64>,
    pub(super) offset: u64,
}

impl Place {
    /// The packet of a stream that the event is in. Where the stream is in several files, which of
    /// them has the event is seen from their events.
    pub(super) fn in_stream<'a>(
        &self,
        reader: &'a Reader,
        stream: &Track,
        places: &Places,
    ) -> Option<&'a Packet> {
        let packet = |place: usize| reader.packets().get(place);
        let has_begun = |place: &usize| {
            let begin = times_ns(reader, *place).map(|(begin, _)| begin);
            begin.is_none() || self.time_ns.is_none() || begin <= self.time_ns
        };
        let end = stream.packets.partition_point(has_begun);
        let last = stream.packets.get(end.saturating_sub(BEFORE)..end).unwrap_or_default();
        let may = last.iter().rev().chain(&stream.packets).copied();
        let is_within =
            |place: &usize| packet(*place).is_some_and(|packet| self.fits_packet(packet));
        let mut may = may.filter(is_within);
        let first = may.next()?;
        let is_it = |place: &usize| places.contains(reader, *place, self);
        let found = if stream.has_files && !is_it(&first) { may.find(is_it) } else { None };
        packet(found.unwrap_or(first))
    }

    /// The packet of any stream that has an event there and then.
    pub(super) fn anywhere<'a>(&self, reader: &'a Reader, places: &Places) -> Option<&'a Packet> {
        let packets = reader.packets().iter().enumerate();
        let mut may = packets.filter(|(_, packet)| self.fits_packet(packet));
        let is_it =
            |place: usize| self.is_then(reader, place) && places.contains(reader, place, self);
        may.find(|(place, _)| is_it(*place)).map(|(_, packet)| packet)
    }

    fn fits_packet(&self, packet: &Packet) -> bool {
        (packet.offset..packet.offset.saturating_add(packet.bytes)).contains(&self.offset)
    }

    /// Returns true if it is of the time of a packet.
    fn is_then(&self, reader: &Reader, packet: usize) -> bool {
        let is_then = |(begin, end)| self.time_ns.is_none_or(|time| begin <= time && time <= end);
        reach_ns(reader, packet).is_none_or(is_then)
    }
}
