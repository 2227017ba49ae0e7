//! The events of one stream, one after another, each decoded when it is wanted.

use std::sync::Arc;

use kymo_core::bytes::{ReadError, ReadResult};

use super::Reader;
use super::decode::{Decoder, State, Visitor};
use super::layout::{EventLayout, NodeId};
use super::packets::Packet;

/// Goes through packets of one track.
pub(crate) struct TrackCursor {
    reader: Arc<Reader>,
    /// Indices of packets, in the order of their times.
    packets: Vec<usize>,
    next: usize,
    state: State,
    /// The event whose header was read, and whose fields come next.
    head: Option<Head>,
}

/// An event whose header was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) packet: usize,
    pub(crate) id: u64,
    /// Its first bit within the packet.
    start: u64,
    /// When it happened, where that is known.
    pub(crate) time_ns: Option<i64>,
}

/// An event that was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) head: Head,
    /// Its first byte and the one after its last, in the file.
    pub(crate) range: (u64, u64),
}

impl TrackCursor {
    pub(crate) fn new(reader: &Arc<Reader>, packets: Vec<usize>) -> Self {
        let state = State::new(reader.layouts());
        let reader = Arc::clone(reader);
        let mut cursor = Self { reader, packets, next: 0, state, head: None };
        cursor.state.position = u64::MAX;
        cursor.advance();
        cursor
    }

    /// The event that comes next.
    pub(crate) fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Goes on to the header of the next event. What cannot be read is a finding, and the next
    /// packet comes next.
    fn advance(&mut self) {
        self.head = None;
        loop {
            let Some(packet) = self.current() else {
                if !self.open() {
                    return;
                }
                continue;
            };
            match self.header(packet) {
                Ok(Some(head)) => {
                    self.head = Some(head);
                    return;
                }
                Ok(None) => self.state.position = u64::MAX,
                Err(error) => self.fail(packet, &error),
            }
        }
    }

    /// The packet we are in.
    fn current(&self) -> Option<usize> {
        let is_within = self.state.position < self.state.end;
        self.next.checked_sub(1).and_then(|at| self.packets.get(at)).copied().filter(|_| is_within)
    }

    /// Opens the next packet.
    fn open(&mut self) -> bool {
        let Some(&index) = self.packets.get(self.next) else { return false };
        self.next += 1;
        let reader = Arc::clone(&self.reader);
        let Some(packet) = reader.packets().get(index) else { return false };
        self.state.position = 0;
        self.state.end = packet.content_bits;
        self.state.registers.fill(None);
        let layouts = reader.layouts();
        let mut decoder = decoder(&reader, packet, &mut self.state);
        let context = layouts.streams.get(&packet.stream).and_then(|stream| stream.packet_context);
        // It was read before, when the packet was found.
        for node in [layouts.packet_header, context].into_iter().flatten() {
            let _ = decoder.decode(node, &mut ());
        }
        // The end of the packet was read after its begin.
        if let (Some((begin, _)), Some(_)) = (packet.times, packet.clock) {
            self.state.ticks = begin;
        }
        true
    }

    fn header(&mut self, index: usize) -> ReadResult<Option<Head>> {
        let reader = Arc::clone(&self.reader);
        let Some(packet) = reader.packets().get(index) else { return Ok(None) };
        let Some(stream) = reader.layouts().streams.get(&packet.stream) else { return Ok(None) };
        let header = stream.event_header.and_then(|id| Some((id, reader.layouts().node(id)?)));
        let align = header.map_or(1, |(_, node)| node.align);
        let start = (self.state.position + (align - 1)) & !(align - 1);
        if start >= self.state.end {
            return Ok(None);
        }
        let ids = stream.event_id.as_deref().unwrap_or_default();
        for id in ids {
            if let Some(kept) = self.state.registers.get_mut(id.index()) {
                *kept = None;
            }
        }
        if let Some((header, _)) = header {
            decoder(&reader, packet, &mut self.state).decode(header, &mut ())?;
        }
        // Of several ids the one that was read last counts: it is the longer one.
        let kept = |id: &super::layout::Register| self.state.registers.get(id.index()).copied()?;
        let id = ids.iter().rev().find_map(kept);
        let id = id.map_or_else(
            || stream.events.keys().next().copied().unwrap_or(0),
            |id| u64::try_from(id).unwrap_or(u64::MAX),
        );
        let clock = self.state.clock.and_then(|clock| reader.trace().clocks.get(clock));
        let time_ns = clock.map(|clock| clock.nanoseconds(self.state.ticks));
        Ok(Some(Head { packet: index, id, start, time_ns }))
    }

    /// Decodes the next event that can be, and goes on to the one after. `clear` is called before
    /// each try: of an event that cannot be read, something may have been told.
    pub(crate) fn take<V: Visitor>(
        &mut self,
        visitor: &mut V,
        clear: impl Fn(&mut V),
    ) -> Option<Taken> {
        let reader = Arc::clone(&self.reader);
        loop {
            let head = self.head?;
            clear(visitor);
            let packet = reader.packets().get(head.packet)?;
            match self.fields(&reader, packet, &head, visitor) {
                Ok(()) => {
                    let (start, end) = (head.start / 8, self.state.position.div_ceil(8));
                    self.advance();
                    let range = (packet.offset + start, packet.offset + end);
                    return Some(Taken { head, range });
                }
                Err(error) => {
                    self.fail(head.packet, &error);
                    self.advance();
                }
            }
        }
    }

    fn fields<V: Visitor>(
        &mut self,
        reader: &Reader,
        packet: &Packet,
        head: &Head,
        visitor: &mut V,
    ) -> ReadResult<()> {
        let stream = reader.layouts().streams.get(&packet.stream);
        let event = stream.and_then(|stream| stream.events.get(&head.id));
        let mut decoder = decoder(reader, packet, &mut self.state);
        let Some((stream, event)) = stream.zip(event) else {
            let why = format!("there is no event {} in the metadata", head.id);
            return Err(ReadError::invalid("event", packet.offset + head.start / 8, why));
        };
        let EventLayout { context, fields, .. } = event;
        let parts: [Option<NodeId>; 3] = [stream.event_context, *context, *fields];
        for part in parts.into_iter().flatten() {
            decoder.decode(part, visitor)?;
        }
        if self.state.position == head.start {
            let why = "it takes no room";
            return Err(ReadError::invalid("event", packet.offset + head.start / 8, why));
        }
        Ok(())
    }

    /// Leaves a packet in which something cannot be read.
    fn fail(&mut self, packet: usize, error: &ReadError) {
        if let Some(packet) = self.reader.packets().get(packet) {
            self.reader.report(packet.file, error);
        }
        self.state.position = u64::MAX;
    }
}

fn decoder<'a>(reader: &'a Reader, packet: &Packet, state: &'a mut State) -> Decoder<'a> {
    let bytes = reader.packet_bytes(packet);
    Decoder { layouts: reader.layouts(), bytes, offset: packet.offset, state }
}
