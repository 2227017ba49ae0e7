//! Events of several streams, in the order of their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

use super::Reader;
use super::cursor::TrackCursor;
use super::decode::Visitor;
use super::packet_reader::{DecodedEvent, Gap};

/// Choice of the events that are wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventSelection {
    /// Only these tracks, in ascending order.
    pub(crate) tracks: Option<Vec<usize>>,
    /// Packets that end before this moment are passed over.
    pub(crate) from_ns: Option<i64>,
    /// So are those that begin at this moment or later.
    pub(crate) until_ns: Option<i64>,
}

/// Events of several streams, in the order of their times; those of one time in the order of the
/// streams.
pub(crate) struct Merged {
    reader: Arc<Reader>,
    cursors: Vec<(usize, TrackCursor)>,
    /// The time of each stream's next event, and which stream it is.
    heap: Heap,
}

type Heap = BinaryHeap<Reverse<(Option<i64>, usize)>>;

/// Next thing in a stream.
pub(crate) enum Next<'a> {
    /// An event.
    Event(DecodedEvent<'a>),
    /// Events of a stream are missing.
    Gap(Gap),
}

impl Merged {
    pub(crate) fn new(reader: &Arc<Reader>, chosen: &EventSelection) -> Self {
        let cursors = chosen.packets(reader);
        let cursors = cursors.map(|(id, packets)| (id, TrackCursor::new(reader, packets)));
        let cursors: Vec<_> = cursors.collect();
        let heap = cursors.iter().enumerate();
        let heap = heap.filter_map(|(at, (_, cursor))| Some(Reverse((cursor.next_ns()?, at))));
        Self { reader: Arc::clone(reader), heap: heap.collect(), cursors }
    }

    /// Decodes the next event, or tells where some are missing. Tells its track.
    pub(crate) fn next<V: Visitor>(&mut self, visitor: &mut V) -> Option<(usize, Next<'_>)> {
        let Self { reader, cursors, heap } = self;
        loop {
            if let Some(next) = step(reader, cursors, heap, visitor)? {
                return Some(next);
            }
        }
    }

    /// Decodes the next event, and tells its track.
    pub(crate) fn next_event<V: Visitor>(
        &mut self,
        visitor: &mut V,
    ) -> Option<(usize, DecodedEvent<'_>)> {
        let Self { reader, cursors, heap } = self;
        loop {
            if let Some((track, Next::Event(taken))) = step(reader, cursors, heap, visitor)? {
                return Some((track, taken));
            }
        }
    }
}

/// Returns what comes next of all tracks, unless it cannot be read; `None` where all are at their
/// ends.
#[inline]
#[expect(clippy::option_option, reason = "what cannot be read is not the end")]
fn step<'r, V: Visitor>(
    reader: &'r Reader,
    cursors: &mut [(usize, TrackCursor)],
    heap: &mut Heap,
    visitor: &mut V,
) -> Option<Option<(usize, Next<'r>)>> {
    let mut top = heap.peek_mut()?;
    let Reverse((_, at)) = *top;
    let (track, cursor) = cursors.get_mut(at)?;
    let next = match cursor.take_gap(reader) {
        Some(gap) => Some(Next::Gap(gap)),
        None => cursor.try_take(reader, visitor).and_then(Result::ok).map(Next::Event),
    };
    match cursor.next_ns() {
        Some(time_ns) => *top = Reverse((time_ns, at)),
        None => drop(PeekMut::pop(top)),
    }
    Some(next.map(|next| (*track, next)))
}

impl EventSelection {
    /// The tracks that are wanted by their numbers, each with the packets that may hold what is
    /// wanted.
    pub(crate) fn packets(&self, reader: &Reader) -> impl Iterator<Item = (usize, Vec<usize>)> {
        let all = self.tracks.is_none().then_some(0..reader.tracks().len());
        let some = self.tracks.iter().flatten().copied();
        let ids = all.into_iter().flatten().chain(some);
        ids.filter_map(|id| {
            let packets = reader.tracks().get(id)?.packets.iter().copied();
            Some((id, packets.filter(|packet| overlaps(reader, *packet, self)).collect()))
        })
    }

    /// Returns the begin of packets that may hold what is wanted, the last first; nothing where
    /// some do not give it.
    pub(crate) fn begins_ns(&self, reader: &Reader) -> Vec<i64> {
        let packets = self.packets(reader).flat_map(|(_, packets)| packets);
        let begins = packets.map(|packet| times_ns(reader, packet).map(|(begin, _)| begin));
        let mut begins = begins.collect::<Option<Vec<_>>>().unwrap_or_default();
        begins.sort_unstable_by(|a, b| b.cmp(a));
        begins
    }
}

/// Returns the begin and end of a packet, where it or its events give them.
pub(crate) fn times_ns(reader: &Reader, packet: usize) -> Option<(i64, i64)> {
    let packet = reader.packets().get(packet)?;
    if let Some(told) = &packet.told {
        return told.span_ns;
    }
    let clock = reader.clocks().get(packet.clock?)?;
    let (begin, end) = packet.times?;
    clock.nanoseconds(begin).zip(clock.nanoseconds(end))
}

/// Returns the earliest time of the first event of a packet and the latest of the last, where they
/// are known. Tracers in the field have some events that are a little before its begin or after its
/// end.
pub(crate) fn reach_ns(reader: &Reader, packet: usize) -> Option<(i64, i64)> {
    let this_packet = reader.packets().get(packet)?;
    let Some((clock, first, last)) = this_packet.reach() else { return times_ns(reader, packet) };
    let clock = reader.clocks().get(clock)?;
    clock.nanoseconds(first).zip(clock.nanoseconds(last))
}

/// Returns true if a packet may hold events of the range that is wanted.
fn overlaps(reader: &Reader, packet: usize, chosen: &EventSelection) -> bool {
    let Some((begin, end)) = reach_ns(reader, packet) else { return true };
    chosen.from_ns.is_none_or(|from| from <= end)
        && chosen.until_ns.is_none_or(|until| begin < until)
}
