//! The streams of a writer: what is known of each, and what describing them costs.

use alloc::string::String;
use alloc::vec::Vec;

use super::frame::{self, Header};
use crate::meta::StreamMeta;
use crate::spec::id;

/// A stream of a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamId {
    pub(super) slot: usize,
    pub(super) id: u32,
}

impl StreamId {
    /// The id that stands in the file.
    #[must_use]
    pub fn id(self) -> u32 {
        self.id
    }
}

/// State of a stream in the writer. Units and units are given by serial numbers from 1.
#[derive(Debug)]
pub(super) struct Slot {
    /// The id, or that of `nul` when the stream is closed.
    pub(super) id: u32,
    pub(super) header: Header,
    pub(super) length: Option<u64>,
    pub(super) is_hidden: bool,
    /// A message was begun and not ended.
    pub(super) is_open: bool,
    /// The unit in which a whole message may be written without further ado.
    pub(super) ready_in: u64,
    /// The last Unit whose Meta, or a meta in it, describes the stream.
    pub(super) described_in: u64,
    /// The last Unit with a frame of the stream.
    pub(super) used_in: u64,
    /// The last unit in which a write began, and where the first of these stands.
    pub(super) seen_in: u64,
    pub(super) seen_at: u64,
    /// The object in Meta.
    pub(super) json: String,
    /// The message that later Units begin with.
    pub(super) kept: ShortMessage,
}

/// The longest message that later Units can begin with: a clock's is shorter.
pub const KEPT_BYTES_MAX: usize = 16;

/// A short message; none when it is empty.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ShortMessage {
    bytes: [u8; KEPT_BYTES_MAX],
    length: u8,
}

impl ShortMessage {
    /// Keeps a message, if it is short enough.
    pub(super) fn new(message: &[u8]) -> Option<Self> {
        let mut kept = Self { length: u8::try_from(message.len()).ok()?, ..Self::default() };
        kept.bytes.get_mut(..message.len())?.copy_from_slice(message);
        Some(kept)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

impl Slot {
    /// Notes that a write begins at `position`.
    pub(super) fn note_write(&mut self, minor: u64, position: u64) {
        if self.seen_in != minor {
            (self.seen_in, self.seen_at) = (minor, position);
        }
    }

    /// Forgets everything about a session that ended.
    fn restart(&mut self) {
        self.is_open = false;
        (self.ready_in, self.described_in, self.used_in) = (0, 0, 0);
        (self.seen_in, self.seen_at) = (0, 0);
    }
}

/// All streams, open and closed.
#[derive(Debug)]
pub(super) struct Streams {
    slots: Vec<Slot>,
    /// The slots of open streams by ascending id, and of some that were closed since.
    order: Vec<usize>,
    /// Number of those that were closed.
    closed: usize,
    /// Slots that are in order no more, for other streams.
    free: Vec<usize>,
    next_id: u32,
    totals: Totals,
}

/// Bytes needed to describe and index all open streams.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    streams: usize,
    /// The bytes of all objects in Meta and of all ids in an Index.
    json_bytes: usize,
    id_bytes: usize,
    /// The bytes of the longest object that there ever was.
    longest_json_bytes: usize,
}

impl Totals {
    /// With one stream more.
    pub(super) fn with_stream(mut self, id: u32, json: &str) -> Self {
        self.streams += 1;
        self.json_bytes += json.len() + 1;
        self.id_bytes += frame::header_bytes(id);
        self.longest_json_bytes = self.longest_json_bytes.max(json.len());
        self
    }

    /// With one stream less.
    fn without(mut self, id: u32, json: &str) -> Self {
        self.streams -= 1;
        self.json_bytes -= json.len() + 1;
        self.id_bytes -= frame::header_bytes(id);
        self
    }

    /// The most bytes that Meta can have, without its frames' headers.
    pub(super) fn meta_bytes_max(self) -> usize {
        self.json_bytes + "[4294967295]".len()
    }

    /// The most bytes that the meta of one stream can have, likewise.
    pub(super) fn longest_meta_bytes(self) -> usize {
        self.longest_json_bytes + "[,4294967295]".len()
    }

    /// The most bytes that an Index can have, likewise, in a session of under 2^55 bytes.
    pub(super) fn index_bytes_max(self) -> usize {
        const COUNT: usize = crate::leb128::BYTES_MAX;
        const OFFSET: usize = 8;
        const SYSTEM: usize = 5;
        COUNT + SYSTEM * (1 + OFFSET) + self.id_bytes + self.streams * OFFSET
    }
}

impl Streams {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            order: Vec::new(),
            closed: 0,
            free: Vec::new(),
            next_id: id::FIRST_USER,
            totals: Totals::default(),
        }
    }

    /// The id that the next stream gets.
    pub(super) fn next_id(&self) -> u32 {
        self.next_id
    }

    pub(super) fn is_empty(&self) -> bool {
        self.totals.streams == 0
    }

    pub(super) fn totals(&self) -> Totals {
        self.totals
    }

    #[inline]
    pub(super) fn slots_mut(&mut self) -> &mut [Slot] {
        &mut self.slots
    }

    pub(super) fn get(&mut self, slot: usize) -> Option<&mut Slot> {
        self.slots.get_mut(slot)
    }

    /// The slot of a stream that is open.
    pub(super) fn find(&self, stream: StreamId) -> Option<&Slot> {
        self.slots.get(stream.slot).filter(|slot| slot.id == stream.id)
    }

    /// The next open stream, from `from` on in the order of ids, that has a message to be kept: its
    /// slot, and where to go on.
    pub(super) fn next_short_message(&self, from: usize) -> Option<(usize, ShortMessage, usize)> {
        let order = self.order.iter().enumerate().skip(from);
        order.map(|(at, slot)| (at, *slot)).find_map(|(at, number)| {
            let slot = self.slots.get(number).filter(|slot| slot.id != id::NUL)?;
            let is_kept = !slot.kept.bytes().is_empty() && !slot.is_open;
            is_kept.then_some((number, slot.kept, at + 1))
        })
    }

    /// The open streams by ascending id.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot> {
        let slots = self.order.iter().filter_map(|&slot| self.slots.get(slot));
        slots.filter(|slot| slot.id != id::NUL)
    }

    /// As [`Streams::iter`], to be changed.
    pub(super) fn for_each(&mut self, mut change: impl FnMut(&mut Slot)) {
        for &slot in &self.order {
            if let Some(slot) = self.slots.get_mut(slot).filter(|slot| slot.id != id::NUL) {
                change(slot);
            }
        }
    }

    /// Adds a stream that Meta describes by `json`; `id` is one that [`Streams::next_id`] has not
    /// passed.
    pub(super) fn add(&mut self, id: u32, meta: &StreamMeta, json: String) -> StreamId {
        self.totals = self.totals.with_stream(id, &json);
        let slot = Slot {
            id,
            header: Header::new(id),
            length: meta.length_bytes(),
            is_hidden: meta.is_hidden(),
            is_open: false,
            ready_in: 0,
            described_in: 0,
            used_in: 0,
            seen_in: 0,
            seen_at: 0,
            json,
            kept: ShortMessage::default(),
        };
        self.next_id = id + 1;
        let slot = self.place(slot);
        self.order.push(slot);
        StreamId { slot, id }
    }

    fn place(&mut self, slot: Slot) -> usize {
        if let Some(free) = self.free.pop()
            && let Some(place) = self.slots.get_mut(free)
        {
            *place = slot;
            return free;
        }
        self.slots.push(slot);
        self.slots.len() - 1
    }

    /// Takes a stream out of Meta and Index. Its id is not used again.
    pub(super) fn close(&mut self, stream: StreamId) {
        if let Some(slot) = self.slots.get_mut(stream.slot) {
            self.totals = self.totals.without(slot.id, &slot.json);
            slot.restart();
            slot.id = id::NUL;
            slot.json = String::new();
            slot.kept = ShortMessage::default();
            self.closed += 1;
        }
        // Seldom enough that closing very many streams takes no more than a few looks at each.
        if self.closed > self.order.len() / 2 {
            self.compact();
        }
    }

    /// Takes closed streams out of the order.
    fn compact(&mut self) {
        let (slots, free) = (&self.slots, &mut self.free);
        self.order.retain(|&slot| {
            let is_open = slots.get(slot).is_some_and(|slot| slot.id != id::NUL);
            if !is_open {
                free.push(slot);
            }
            is_open
        });
        self.closed = 0;
    }

    pub(super) fn restart(&mut self) {
        self.slots.iter_mut().for_each(Slot::restart);
    }
}
