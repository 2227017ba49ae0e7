//! Events of one packet: what is the same for all of them is found once.

use std::ops::ControlFlow;

use kymo_core::bytes::{ReadError, ReadResult};
use kymo_core::{Finding, Severity};

use super::decode::{Decoder, State, Visitor};
use super::layout::{EventLayout, Layouts, StreamLayout};
use super::order::Order;
use super::packets::Packet;
use super::{Place, Reader};
use crate::types::Clock;

/// The rule that times fit.
const TIME_RANGE: &str = "time-range";

/// The rule that events are not after the end of their packet.
const LATE: &str = "late-event";

/// So many zeros are no event: one of them has a time.
const ZEROS_MAX: usize = 64;

/// So many are none, where its time cannot be.
const ZEROS_MAX_THEN: usize = 16;

/// A packet whose events are read.
#[derive(Clone, Copy)]
pub(super) struct PacketReader<'a> {
    pub(super) reader: &'a Reader,
    index: usize,
    pub(super) packet: &'a Packet,
    layouts: &'a Layouts,
    stream: &'a StreamLayout,
}

/// Receiver that has every field decoded, and keeps none.
struct DecodeAll;

impl Visitor for DecodeAll {}

/// An event whose header was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) packet: usize,
    pub(crate) id: u64,
    /// Its first bit within the packet.
    start: u64,
    /// Time at which it happened, where that is known.
    pub(crate) time_ns: Option<i64>,
}

/// Place where events of a stream are missing, behind one of its packets or in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    /// Time of the last event before it.
    pub(crate) time_ns: i64,
    /// The byte where it begins.
    pub(crate) offset: u64,
    /// The processor that the stream is of.
    pub(crate) cpu: Option<u64>,
}

/// An event that was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecodedEvent<'a> {
    pub(crate) head: Head,
    pub(crate) packet: &'a Packet,
    pub(crate) event: &'a EventLayout,
    /// Its first byte in the file.
    pub(crate) offset: u64,
}

impl<'a> PacketReader<'a> {
    #[inline]
    pub(super) fn new(reader: &'a Reader, index: usize) -> Option<Self> {
        let find = || {
            let packet = reader.packets().get(index)?;
            let layouts = reader.layouts(packet.part)?;
            let stream = layouts.stream(packet.layout)?;
            Some(Self { reader, index, packet, layouts, stream })
        };
        let found = find();
        debug_assert!(found.is_some(), "a packet of a stream has a trace and a layout");
        found
    }

    /// Goes to the first event.
    pub(super) fn begin(&self, bytes: &[u8], state: &mut State) {
        state.begin(self.packet.content_bits);
        if let Some(told) = &self.packet.told {
            (state.clock, state.ticks) = (told.clock, told.ticks);
        }
        let before = (state.clock, state.ticks);
        let mut decoder = self.decoder(bytes, state);
        for node in [self.layouts.packet_header, self.stream.packet_context].into_iter().flatten() {
            // It was read before, when the packet was found.
            let _ = decoder.decode(node, &mut ());
        }
        let Packet { times, only_end, clock, .. } = *self.packet;
        match times {
            // The end of the packet was read after its begin.
            Some((begin, _)) if clock.is_some() => state.ticks = begin,
            // Before the events is the end of the packet before, or else the start of the clock.
            None if only_end.is_some() => {
                let ticks = if before.0 == clock { before.1 } else { 0 };
                (state.clock, state.ticks) = (clock, ticks);
            }
            _ => {}
        }
    }

    /// Reads the header of the next event, where there is one.
    #[inline]
    pub(super) fn header(&self, bytes: &[u8], state: &mut State) -> ReadResult<Option<Head>> {
        let stream = self.stream;
        let align = stream.header_align;
        let start = (state.position + (align - 1)) & !(align - 1);
        if start >= state.end {
            return Ok(None);
        }
        let header = stream.header.as_ref();
        let before = state.ticks;
        let numbers = header.and_then(|header| header.numbers(bytes, start, state.end));
        let id = match numbers {
            Some(numbers) => {
                state.read(start, &numbers);
                numbers.id
            }
            None => self.id(bytes, state)?,
        };
        let id = id.unwrap_or(stream.first_id);
        let (first, more) = self.packet.possible;
        let is_impossible = state.ticks.wrapping_sub(first) > more;
        if is_impossible || (id == 0 && state.ticks != before) {
            self.check_event_start(bytes, state, start, id)?;
        }
        let time_ns = state.clock.and_then(|clock| self.time_ns(clock, state.ticks, start));
        Ok(Some(Head { packet: self.index, id, start, time_ns }))
    }

    /// Reads a header field by field, and tells its id; nothing where it has none.
    #[cold]
    fn id(&self, bytes: &[u8], state: &mut State) -> ReadResult<Option<u64>> {
        let (stream, mut decoder) = (self.stream, self.decoder(bytes, state));
        if let Some(header) = &stream.header {
            return decoder.header(header);
        }
        let Some(header) = stream.event_header else { return Ok(None) };
        for id in &stream.event_id {
            decoder.state.forget(*id);
        }
        decoder.decode(header, &mut ())?;
        // Of several ids the one that was read last counts: it is the longer one.
        let id = stream.event_id.iter().rev().find_map(|id| decoder.state.register_value(*id));
        Ok(id.map(|id| u64::try_from(id).unwrap_or(u64::MAX)))
    }

    /// Sees that what begins at a bit is an event: that its time can be, and that it is not zeros.
    #[cold]
    fn check_event_start(
        &self,
        bytes: &[u8],
        state: &State,
        start: u64,
        id: u64,
    ) -> ReadResult<()> {
        let (first, more) = self.packet.possible;
        let is_of_packet = state.clock.is_some() && state.clock == self.packet.clock;
        let is_impossible = is_of_packet && state.ticks.wrapping_sub(first) > more;
        let [from, end] = [start, state.end].map(|bit| usize::try_from(bit / 8).unwrap_or(0));
        let zeros = bytes.get(from..end).unwrap_or_default().iter();
        let zeros = zeros.take_while(|byte| **byte == 0).count();
        let most = if is_impossible { ZEROS_MAX_THEN } else { ZEROS_MAX };
        let why = if zeros >= most {
            format!("{zeros} bytes are zero: what stood there is lost")
        } else if is_impossible {
            let (begin, end) = self.packet.times.unwrap_or_default();
            let (ticks, side) = match state.ticks.checked_sub(end) {
                Some(after) => (after, "after the end"),
                None => (begin.saturating_sub(state.ticks), "before the begin"),
            };
            let ticks = if ticks == 1 { "1 tick".to_owned() } else { format!("{ticks} ticks") };
            let why = format!("its time is {ticks} {side} of its packet");
            let head = Head { packet: self.index, id, start, time_ns: None };
            if self.is_last_and_late(bytes, state, &head) {
                let place = Place::Packet(self.index, LATE);
                self.reader.add(place, self.warning(&head, LATE, why));
                return Ok(());
            }
            why
        } else {
            return Ok(());
        };
        let why = why + ", and the rest of the packet is not read";
        Err(ReadError::invalid("event", self.packet.offset + start / 8, why))
    }

    /// Returns true if what follows a header is the last event of the packet, after whose end it is
    /// by no more than tracers of the field take the time of an end too early. What is damaged
    /// hardly ends where the packet does.
    fn is_last_and_late(&self, bytes: &[u8], state: &State, head: &Head) -> bool {
        let reach = self.packet.reach().filter(|(clock, ..)| state.clock == Some(*clock));
        if reach.is_none_or(|(_, first, last)| state.ticks < first || last < state.ticks) {
            return false;
        }
        let mut after = state.clone();
        self.fields(bytes, &mut after, head, &mut ()).is_ok() && after.position == after.end
    }

    /// Returns the begin of the packet, where it gives that.
    pub(super) fn begin_ns(&self) -> Option<i64> {
        self.reader.clocks().get(self.packet.clock?)?.nanoseconds(self.packet.times?.0)
    }

    /// The gap in the packet or behind it, whose last event was at a time: where something cannot be
    /// read, where the file ends, and where the next packet is not there.
    pub(super) fn gap(&self, last_ns: Option<i64>, error: Option<&ReadError>) -> Option<Gap> {
        let is_there = error.is_some() || self.packet.has_gap_after();
        let Packet { offset, bytes, cpu, .. } = *self.packet;
        let offset = error.map_or(offset.saturating_add(bytes), |error| error.offset);
        last_ns.filter(|_| is_there).map(|time_ns| Gap { time_ns, offset, cpu })
    }

    /// The time of an event that begins at a bit.
    #[inline]
    fn time_ns(&self, clock: usize, ticks: u64, start: u64) -> Option<i64> {
        let clock = self.reader.clocks().get(clock)?;
        let time_ns = clock.nanoseconds(ticks);
        if time_ns.is_none() {
            self.warn_invalid_time(clock, ticks, start);
        }
        time_ns
    }

    /// Reads the fields of an event, whose header was read last.
    #[inline]
    pub(super) fn fields<V: Visitor>(
        &self,
        bytes: &[u8],
        state: &mut State,
        head: &Head,
        visitor: &mut V,
    ) -> ReadResult<&'a EventLayout> {
        let event = self.stream.event(head.id).ok_or_else(|| self.unknown(head))?;
        let want = visitor.begin(event);
        let start = state.position;
        if want.known || !want.all {
            let passed = self.decoder(bytes, state).pass(&event.steps, want.known, visitor);
            passed.map_err(|error| self.exactly(bytes, state, (start, event), error))?;
        }
        if want.all {
            state.position = start;
            self.decode(bytes, state, event, visitor)?;
        }
        if state.position == head.start {
            return Err(self.invalid(head, "it takes no room".to_owned()));
        }
        Ok(event)
    }

    /// Decodes the fields of an event one by one.
    #[inline]
    fn decode<V: Visitor>(
        &self,
        bytes: &[u8],
        state: &mut State,
        event: &EventLayout,
        visitor: &mut V,
    ) -> ReadResult<()> {
        let mut decoder = self.decoder(bytes, state);
        let parts = [self.stream.event_context, event.context, event.fields];
        parts.into_iter().flatten().try_for_each(|part| decoder.decode(part, visitor))
    }

    /// Returns the reason why an event whose fields begin at a bit cannot be read, at the field
    /// that it is. A reader that passes over fields gets the same reason as one that reads each.
    #[cold]
    fn exactly(
        &self,
        bytes: &[u8],
        state: &mut State,
        (start, event): (u64, &EventLayout),
        error: ReadError,
    ) -> ReadError {
        state.position = start;
        self.decode(bytes, state, event, &mut DecodeAll).err().unwrap_or(error)
    }

    /// Hands on all events that are left, until somebody has enough.
    pub(super) fn each<V: Visitor>(
        &self,
        bytes: &[u8],
        state: &mut State,
        visitor: &mut V,
        take: &mut impl FnMut(&DecodedEvent<'_>, &V) -> ControlFlow<()>,
    ) -> ReadResult<ControlFlow<()>> {
        while let Some(head) = self.header(bytes, state)? {
            let event = self.fields(bytes, state, &head, visitor)?;
            if take(&self.decoded_event(head, event), visitor).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    #[inline]
    pub(super) fn decoded_event(&self, head: Head, event: &'a EventLayout) -> DecodedEvent<'a> {
        let offset = self.packet.offset + head.start / 8;
        DecodedEvent { head, packet: self.packet, event, offset }
    }

    /// Makes a finding about an event that can be read.
    pub(super) fn warning(&self, head: &Head, rule: &'static str, message: String) -> Finding {
        let offset = self.packet.offset + head.start / 8;
        let mut finding = Finding::at_offset(Severity::Warning, rule, offset, message);
        finding.file = Some(self.reader.file_name(self.packet.file));
        finding
    }

    /// Takes note of what cannot be read. That the last event of a packet which was cut is not
    /// whole was said of the packet.
    pub(super) fn report(&self, error: &ReadError) {
        if self.packet.cut_from.is_none() {
            self.reader.report(self.packet.file, error);
        }
    }

    /// Takes note of an event whose time does not fit, the first of each packet. That a clock tells no
    /// times at all was said of the clock.
    #[cold]
    fn warn_invalid_time(&self, clock: &Clock, ticks: u64, start: u64) {
        if clock.frequency == 0 {
            return;
        }
        let message = format!(
            "{ticks} ticks are beyond what 64 bits of nanoseconds hold: such events have no time"
        );
        let offset = self.packet.offset + start / 8;
        let mut finding = Finding::at_offset(Severity::Warning, TIME_RANGE, offset, message);
        finding.file = Some(self.reader.file_name(self.packet.file));
        self.reader.add_first(Place::Packet(self.index, TIME_RANGE), finding);
    }

    #[cold]
    fn unknown(&self, head: &Head) -> ReadError {
        self.invalid(head, format!("there is no event {} in the metadata", head.id))
    }

    #[cold]
    fn invalid(&self, head: &Head, why: String) -> ReadError {
        ReadError::invalid("event", self.packet.offset + head.start / 8, why)
    }

    #[inline]
    fn decoder<'b>(&self, bytes: &'b [u8], state: &'b mut State) -> Decoder<'b>
    where
        'a: 'b,
    {
        Decoder { layouts: self.layouts, bytes, offset: self.packet.offset, state, empty: 0 }
    }
}

/// Hands on all events of some packets of one track, until somebody has enough: the fast way where
/// events of other tracks need not come between. What cannot be read is a finding, and the next
/// packet comes next; so is a time that goes back.
pub(crate) fn sweep<V: Visitor>(
    reader: &Reader,
    packets: &[usize],
    visitor: &mut V,
    take: impl FnMut(&DecodedEvent<'_>, &V) -> ControlFlow<()>,
) -> ControlFlow<()> {
    sweep_with_gaps(reader, packets, visitor, take).0
}

/// The same; tells where events are missing, too.
pub(crate) fn sweep_with_gaps<V: Visitor>(
    reader: &Reader,
    packets: &[usize],
    visitor: &mut V,
    mut take: impl FnMut(&DecodedEvent<'_>, &V) -> ControlFlow<()>,
) -> (ControlFlow<()>, Vec<Gap>) {
    let (mut state, mut order) = (State::default(), Order::new());
    let (mut last_ns, mut gaps) = (None, Vec::new());
    for index in packets {
        let Some(within) = PacketReader::new(reader, *index) else { continue };
        let bytes = reader.packet_bytes(within.packet);
        within.begin(&bytes, &mut state);
        last_ns = within.begin_ns().or(last_ns);
        let mut take = |taken: &DecodedEvent<'_>, visitor: &V| {
            order.add_event(&within, &taken.head);
            last_ns = taken.head.time_ns.or(last_ns);
            take(taken, visitor)
        };
        let error = match within.each(&bytes, &mut state, visitor, &mut take) {
            Ok(ControlFlow::Break(())) => return (ControlFlow::Break(()), gaps),
            Ok(ControlFlow::Continue(())) => None,
            Err(error) => Some(error),
        };
        if let Some(error) = &error {
            within.report(error);
        }
        gaps.extend(within.gap(last_ns, error.as_ref()));
    }
    order.report(reader);
    (ControlFlow::Continue(()), gaps)
}
