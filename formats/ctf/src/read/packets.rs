//! Packets: runs of events that are written at once, each with a header that says how long it is.

use kymo_core::bytes::{ReadError, ReadResult};

use super::Part;
use super::decode::{Decoder, State, Visitor};
use super::layout::{Node, NodeKind};
use super::untimed::PacketFacts;
use crate::spec;
use crate::types::Role;

/// A packet, as its header describes it.
#[derive(Debug, Clone)]
pub struct Packet {
    /// The trace it is of.
    pub part: usize,
    /// Its file, among those of all traces.
    pub file: usize,
    /// The stream it is of, among those of all traces.
    pub(crate) track: usize,
    /// Its first byte.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
    /// The bits of it that are content.
    pub content_bits: u64,
    /// Its kind of stream.
    pub stream: u64,
    /// The place of that kind among the layouts.
    pub(crate) layout: usize,
    /// The bytes that it says it has, where the file ends before.
    pub(crate) cut_from: Option<u64>,
    /// Ticks at its begin and end, where it says so.
    pub times: Option<(u64, u64)>,
    /// Ticks at its end, where it says only that, as barectf may.
    pub(super) only_end: Option<u64>,
    /// The clock of these ticks.
    pub(crate) clock: Option<usize>,
    /// The first of the ticks that its events can have, and how many there are after it: all, where
    /// nothing tells.
    pub(super) possible: (u64, u64),
    /// Number of ticks by which its last event may be later still; that is reported then.
    pub(super) late_max: u64,
    /// True if events are missing after it, before the next of its stream.
    pub(super) lacks_next: bool,
    /// Facts from its events, where it does not give them and is one of several.
    pub(crate) told: Option<PacketFacts>,
    /// Number of events that were lost so far.
    pub discarded: Option<u64>,
    /// Its number.
    pub sequence: Option<u64>,
    /// The processor it was written on.
    pub cpu: Option<u64>,
}

impl Packet {
    /// The first and the last tick that its events can have, and the clock, where that is known.
    pub(super) fn reach(&self) -> Option<(usize, u64, u64)> {
        let (first, more) = self.possible;
        let last = first.saturating_add(more).saturating_add(self.late_max);
        self.times.and(self.clock).map(|clock| (clock, first, last))
    }

    /// Returns true if events are missing after those that it has.
    pub(super) fn has_gap_after(&self) -> bool {
        self.lacks_next || self.cut_from.is_some()
    }
}

/// Reads the header of the packet at `offset`.
pub(super) fn read(
    this_part: &Part,
    state: &mut State,
    bytes: &[u8],
    (part, file, offset): (usize, usize, u64),
) -> ReadResult<Packet> {
    let Part { trace, layouts, .. } = this_part;
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let rest = bytes.get(start..).unwrap_or_default();
    state.begin((rest.len() as u64).saturating_mul(8));
    (state.clock, state.ticks) = (None, 0);
    let mut decoder = Decoder { layouts, bytes: rest, offset, state, empty: 0 };
    let mut uuid = Uuid { wanted: trace.uuid, is_other: false };
    if let Some(header) = layouts.packet_header {
        decoder.decode(header, &mut uuid).map_err(|error| named(error, "packet header"))?;
    }
    let magic = layouts.header_fields.value(Role::Magic, decoder.state);
    if let Some(magic) = magic.filter(|magic| *magic != spec::PACKET_MAGIC) {
        let why = format!("{magic:#x} is not its magic {:#x}", spec::PACKET_MAGIC);
        return Err(ReadError::invalid("packet header", offset, why));
    }
    if uuid.is_other {
        let why = "its UUID is not that of the metadata: it is of another trace";
        return Err(ReadError::invalid("packet header", offset, why));
    }
    let only = trace.streams.keys().next().copied().unwrap_or(0);
    let stream = layouts.header_fields.value(Role::StreamId, decoder.state).unwrap_or(only);
    let no_stream =
        || ReadError::invalid("packet header", offset, format!("there is no stream {stream}"));
    let layout = layouts.place(stream).ok_or_else(no_stream)?;
    let stream_layout = layouts.stream(layout).ok_or_else(no_stream)?;
    if let Some(context) = stream_layout.packet_context {
        decoder.decode(context, &mut ()).map_err(|error| named(error, "packet context"))?;
    }
    let kept = |role| stream_layout.packet_fields.value(role, decoder.state);
    let whole = (rest.len() as u64).saturating_mul(8);
    let content_bits = kept(Role::ContentSize);
    let packet_bits = kept(Role::PacketSize).or(content_bits).unwrap_or(whole);
    let content_bits = content_bits.unwrap_or(packet_bits);
    let events_at = decoder.state.position;
    if !packet_bits.is_multiple_of(8) || content_bits > packet_bits || content_bits < events_at {
        let why = format!("a size of {packet_bits} and a content of {content_bits} bits");
        return Err(ReadError::invalid("packet context", offset, why));
    }
    let (begin, end) = (kept(Role::Timestamp), kept(Role::TimestampEnd));
    Ok(Packet {
        part,
        file,
        track: 0,
        offset,
        bytes: packet_bits.min(whole) / 8,
        content_bits: content_bits.min(whole),
        stream,
        layout,
        cut_from: (packet_bits > whole).then_some(packet_bits / 8),
        times: begin.zip(end),
        only_end: end.filter(|_| begin.is_none()),
        clock: decoder.state.clock,
        possible: (0, u64::MAX),
        late_max: 0,
        lacks_next: false,
        told: None,
        discarded: kept(Role::EventsDiscarded),
        sequence: kept(Role::PacketSeqNum),
        cpu: kept(Role::CpuId),
    })
}

/// True if a packet says that it is of other metadata.
struct Uuid {
    wanted: Option<[u8; 16]>,
    is_other: bool,
}

impl Visitor for Uuid {
    fn blob(&mut self, node: &Node, bytes: &[u8]) {
        let is_uuid = matches!(node.kind, NodeKind::Blob(_, true));
        self.is_other |= is_uuid && self.wanted.is_some_and(|wanted| wanted != *bytes);
    }
}

fn named(error: ReadError, what: &'static str) -> ReadError {
    ReadError { what, ..error }
}
