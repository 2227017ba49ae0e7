//! The events of one stream, one after another, each decoded when it is wanted.

use bytes::Bytes;
use kymo_core::bytes::{ReadError, ReadResult};

use super::Reader;
use super::decode::{State, Visitor};
use super::order::Order;
use super::packet_reader::{DecodedEvent, Gap, Head, PacketReader};

/// The place in a packet of which all was read, or that cannot be read any further.
const LEFT: u64 = u64::MAX;

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
    /// Events are missing before that.
    gap: Option<Gap>,
    /// Time of the last event, or of the begin of the packet.
    last_ns: Option<i64>,
    order: Order,
}

impl TrackCursor {
    pub(crate) fn new(reader: &Reader, packets: Vec<usize>) -> Self {
        let (bytes, state, order) = (Bytes::new(), State::default(), Order::new());
        let (head, gap, last_ns) = (None, None, None);
        let mut cursor = Self { packets, next: 0, bytes, state, head, gap, last_ns, order };
        cursor.advance(reader);
        cursor
    }

    /// Returns the time of what comes next, an event or a gap; `None` at the end.
    #[expect(clippy::option_option, reason = "what comes next may have no time")]
    pub(crate) fn next_ns(&self) -> Option<Option<i64>> {
        let gap = self.gap.map(|gap| Some(gap.time_ns));
        gap.or_else(|| self.head.as_ref().map(|head| head.time_ns))
    }

    /// Takes the gap that comes next, where one does.
    pub(crate) fn take_gap(&mut self, reader: &Reader) -> Option<Gap> {
        let gap = self.gap.take()?;
        self.advance(reader);
        Some(gap)
    }

    /// Goes on to the header of the next event, or to where events are missing. What cannot be read
    /// is a finding, and the next packet comes next.
    fn advance(&mut self, reader: &Reader) {
        self.head = None;
        while self.gap.is_none() {
            let Some(within) = self.current(reader) else {
                if !self.open(reader) {
                    return self.order.report(reader);
                }
                continue;
            };
            match self.header(&within) {
                Ok(Some(head)) => {
                    self.head = Some(head);
                    return;
                }
                Ok(None) => {
                    self.gap = within.gap(self.last_ns, None);
                    self.state.position = LEFT;
                }
                Err(error) => self.fail(&within, &error),
            }
        }
    }

    /// The packet we are in, until all of it was read.
    #[inline]
    fn current<'a>(&self, reader: &'a Reader) -> Option<PacketReader<'a>> {
        if self.state.position == LEFT {
            return None;
        }
        PacketReader::new(reader, *self.packets.get(self.next.checked_sub(1)?)?)
    }

    /// Opens the next packet.
    fn open(&mut self, reader: &Reader) -> bool {
        let Some(&index) = self.packets.get(self.next) else { return false };
        self.next += 1;
        let Some(within) = PacketReader::new(reader, index) else { return true };
        self.bytes = reader.packet_bytes(within.packet);
        within.begin(&self.bytes, &mut self.state);
        self.last_ns = within.begin_ns().or(self.last_ns);
        true
    }

    /// Reads the header of the next event of a packet, where there is one.
    ///
    /// Sees that an event whose time is beyond its packet is one. What is damaged has any time, and
    /// is found to be no event only when its turn comes: until then the packets after it would wait.
    /// Where nothing tells the times of the packet, there is nothing to be beyond if no packet comes
    /// after it.
    #[inline]
    fn header(&mut self, within: &PacketReader<'_>) -> ReadResult<Option<Head>> {
        let is_last = self.next >= self.packets.len();
        let Self { bytes, state, .. } = self;
        let Some(head) = within.header(bytes, state)? else { return Ok(None) };
        let is_of_packet = state.clock == within.packet.clock;
        let told = within.packet.told.as_ref().and_then(|told| told.span_ns);
        let is_before_end = match (within.packet.times, told) {
            (Some((_, end)), _) => is_of_packet && state.ticks <= end,
            (None, Some((_, last))) => head.time_ns <= Some(last),
            (None, None) => is_of_packet && is_last,
        };
        if head.time_ns.is_some() && !is_before_end {
            let before = state.clone();
            within.fields(bytes, state, &head, &mut ())?;
            *state = before;
        }
        Ok(Some(head))
    }

    /// Decodes the next event, and goes on to the one after. After one that cannot
    /// be decoded, the next is of another packet, and of another time.
    pub(crate) fn try_take<'a, V: Visitor>(
        &mut self,
        reader: &'a Reader,
        visitor: &mut V,
    ) -> Option<ReadResult<DecodedEvent<'a>>> {
        let head = self.head?;
        let within = PacketReader::new(reader, head.packet)?;
        let found = within.fields(&self.bytes, &mut self.state, &head, visitor);
        match &found {
            Ok(_) => {
                self.order.add_event(&within, &head);
                self.last_ns = head.time_ns.or(self.last_ns);
            }
            Err(error) => self.fail(&within, error),
        }
        self.advance(reader);
        Some(found.map(|event| within.decoded_event(head, event)))
    }

    /// Leaves a packet in which something cannot be read.
    fn fail(&mut self, within: &PacketReader<'_>, error: &ReadError) {
        within.report(error);
        self.gap = within.gap(self.last_ns, Some(error));
        (self.head, self.state.position) = (None, LEFT);
    }
}
