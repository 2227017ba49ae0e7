//! The events of one stream, one after another, each decoded when it is wanted.

use bytes::Bytes;
use kymo_core::bytes::{ReadError, ReadResult};

use super::Reader;
use super::decode::{Decoder, State, Visitor};
use super::layout::{EventLayout, StreamLayout};
use super::packets::Packet;

/// Goes through packets of one track.
pub(crate) struct TrackCursor {
    /// Indices of packets, in the order of their times.
    packets: Vec<usize>,
    next: usize,
    /// The bytes of the packet we are in.
    bytes: Bytes,
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
pub(crate) struct Taken<'a> {
    pub(crate) head: Head,
    pub(crate) packet: &'a Packet,
    pub(crate) event: &'a EventLayout,
    /// Its first byte in the file.
    pub(crate) offset: u64,
}

impl TrackCursor {
    pub(crate) fn new(reader: &Reader, packets: Vec<usize>) -> Self {
        let (bytes, state) = (Bytes::new(), State::default());
        let mut cursor = Self { packets, next: 0, bytes, state, head: None };
        cursor.advance(reader);
        cursor
    }

    /// The event that comes next.
    pub(crate) fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Goes on to the header of the next event. What cannot be read is a finding, and the next
    /// packet comes next.
    fn advance(&mut self, reader: &Reader) {
        self.head = None;
        loop {
            let Some((index, packet, stream)) = self.current(reader) else {
                if !self.open(reader) {
                    return;
                }
                continue;
            };
            let found = self.header(reader, index, packet, stream);
            match found.and_then(|found| self.verify(reader, packet).map(|()| found)) {
                Ok(true) => return,
                Ok(false) => self.state.position = u64::MAX,
                Err(error) => self.fail(reader, packet, &error),
            }
        }
    }

    /// The packet we are in.
    #[inline]
    fn current<'a>(&self, reader: &'a Reader) -> Option<(usize, &'a Packet, &'a StreamLayout)> {
        if self.state.position >= self.state.end {
            return None;
        }
        let index = *self.packets.get(self.next.checked_sub(1)?)?;
        let packet = reader.packets().get(index)?;
        Some((index, packet, reader.stream(packet)?))
    }

    /// Opens the next packet.
    fn open(&mut self, reader: &Reader) -> bool {
        let Some(&index) = self.packets.get(self.next) else { return false };
        self.next += 1;
        let Some(packet) = reader.packets().get(index) else { return false };
        self.state.begin(packet.content_bits);
        self.bytes = reader.packet_bytes(packet);
        let header = reader.layouts(packet.part).and_then(|layouts| layouts.packet_header);
        let context = reader.stream(packet).and_then(|stream| stream.packet_context);
        if let Some(mut decoder) = self.decoder(reader, packet) {
            // It was read before, when the packet was found.
            for node in [header, context].into_iter().flatten() {
                let _ = decoder.decode(node, &mut ());
            }
        }
        // The end of the packet was read after its begin.
        if let (Some((begin, _)), Some(_)) = (packet.times, packet.clock) {
            self.state.ticks = begin;
        }
        true
    }

    /// Reads the header of the next event of a packet; tells whether there is one.
    #[inline]
    fn header(
        &mut self,
        reader: &Reader,
        index: usize,
        packet: &Packet,
        stream: &StreamLayout,
    ) -> ReadResult<bool> {
        let align = stream.header_align;
        let start = (self.state.position + (align - 1)) & !(align - 1);
        if start >= self.state.end {
            return Ok(false);
        }
        let Some(mut decoder) = self.decoder(reader, packet) else { return Ok(false) };
        let id = match (&stream.header, stream.event_header) {
            (Some(header), _) => decoder.header(header)?,
            (None, Some(header)) => {
                for id in &stream.event_id {
                    decoder.state.forget(*id);
                }
                decoder.decode(header, &mut ())?;
                // Of several ids the one that was read last counts: it is the longer one.
                let id = stream.event_id.iter().rev().find_map(|id| decoder.state.kept(*id));
                id.map(|id| u64::try_from(id).unwrap_or(u64::MAX))
            }
            (None, None) => None,
        };
        let id = id.unwrap_or(stream.first_id);
        let clock = self.state.clock.and_then(|clock| reader.clocks().get(clock));
        let time_ns = clock.map(|clock| clock.nanoseconds(self.state.ticks));
        self.head = Some(Head { packet: index, id, start, time_ns });
        Ok(true)
    }

    /// Sees that an event whose time is beyond its packet is one. What is damaged has any time, and
    /// is found to be no event only when its turn comes: until then the packets after it would wait.
    #[inline]
    fn verify(&mut self, reader: &Reader, packet: &Packet) -> ReadResult<()> {
        let Some(head) = self.head.filter(|head| head.time_ns.is_some()) else { return Ok(()) };
        let is_of_packet = self.state.clock == packet.clock;
        let ticks = self.state.ticks;
        if is_of_packet && packet.times.is_some_and(|(_, end)| ticks <= end) {
            return Ok(());
        }
        let before = self.state.clone();
        self.fields(reader, packet, &head, &mut ())?;
        self.state = before;
        Ok(())
    }

    /// Decodes the next event that can be, and goes on to the one after.
    pub(crate) fn take<'a, V: Visitor>(
        &mut self,
        reader: &'a Reader,
        visitor: &mut V,
    ) -> Option<Taken<'a>> {
        loop {
            if let Ok(taken) = self.try_take(reader, visitor)? {
                return Some(taken);
            }
        }
    }

    /// Decodes the next event, and goes on to the one after. After one that cannot
    /// be decoded, the next is of another packet, and of another time.
    pub(crate) fn try_take<'a, V: Visitor>(
        &mut self,
        reader: &'a Reader,
        visitor: &mut V,
    ) -> Option<ReadResult<Taken<'a>>> {
        let head = self.head?;
        let packet = reader.packets().get(head.packet)?;
        let found = self.fields(reader, packet, &head, visitor);
        if let Err(error) = &found {
            self.fail(reader, packet, error);
        }
        self.advance(reader);
        let offset = packet.offset + head.start / 8;
        Some(found.map(|event| Taken { head, packet, event, offset }))
    }

    #[inline]
    fn fields<'a, V: Visitor>(
        &mut self,
        reader: &'a Reader,
        packet: &Packet,
        head: &Head,
        visitor: &mut V,
    ) -> ReadResult<&'a EventLayout> {
        let stream = reader.stream(packet);
        let found = stream.and_then(|stream| Some((stream, stream.event(head.id)?)));
        let invalid = |why| ReadError::invalid("event", packet.offset + head.start / 8, why);
        let found = found.zip(self.decoder(reader, packet));
        let ((stream, event), mut decoder) = found
            .ok_or_else(|| invalid(format!("there is no event {} in the metadata", head.id)))?;
        let want = visitor.begin(event.kind);
        let start = decoder.state.position;
        if want.known || !want.all {
            decoder.pass(&event.steps, want.known, visitor)?;
        }
        if want.all {
            decoder.state.position = start;
            let parts = [stream.event_context, event.context, event.fields];
            for part in parts.into_iter().flatten() {
                decoder.decode(part, visitor)?;
            }
        }
        if self.state.position == head.start {
            return Err(invalid("it takes no room".to_owned()));
        }
        Ok(event)
    }

    /// Leaves a packet in which something cannot be read. That the last event of a packet which
    /// was cut is not whole was said of the packet.
    fn fail(&mut self, reader: &Reader, packet: &Packet, error: &ReadError) {
        if packet.cut_from.is_none() {
            reader.report(packet.file, error);
        }
        (self.head, self.state.position) = (None, u64::MAX);
    }

    #[inline]
    fn decoder<'a>(&'a mut self, reader: &'a Reader, packet: &Packet) -> Option<Decoder<'a>> {
        let Self { bytes, state, .. } = self;
        let layouts = reader.layouts(packet.part)?;
        Some(Decoder { layouts, bytes, offset: packet.offset, state })
    }
}
