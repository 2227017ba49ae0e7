//! Writing: messages in, a ruler of Units and units out.
//!
//! A [`Writer`] takes whole messages, or parts of them, of any number of streams, and puts Marker,
//! Index, Meta, platform, Crc, index and padding where `docs/formats/rtc.md` says. It never goes
//! back, so that an [`Output`] can be a file, a pipe or a wire, and what was handed on stays
//! readable whatever happens next.
//!
//! - **What it costs.** A message that fits into the current unit is copied once. A full buffer is
//!   handed on as a whole. At the end of a unit an index is written, at the end of a Unit also the
//!   Index and the Meta: time that grows with the number of streams, not with the file. Nothing is
//!   allocated but by [`Writer::new`] and [`Writer::add`].
//! - **Messages longer than 1024 bytes** become several frames joined by `more`. At the end of a
//!   unit a message is split as well, unless its frame is at most [`WHOLE_BYTES_MAX`] long: then
//!   padding is put before the tick, so that small values are whole even in a file whose head is
//!   cut off.
//! - **Empty messages vanish,** as in every writer of this format. Only the end of a message that
//!   came in parts may be empty, and what [`Writer::write_even_empty`] copies.
//! - **Meta** describes the streams that the previous Unit used, and in the first Unit all. Before
//!   a frame of any other stream its `meta` is repeated.
//! - **In an Index,** entry 5 is the last Meta that differs from this Unit's; entries of other
//!   streams point at the first write in the last unit that has one. In an index, entry 5 is this
//!   Unit's Meta.
//! - **The end.** [`Writer::finish`] puts the Crc behind the last frame, as an early end of the
//!   Unit; when less than its five bytes are left before the next tick, behind that tick. It covers
//!   everything from the Marker on, padding and index included.

mod error;
mod frame;
mod options;
mod output;
mod page;
mod ruler;
mod streams;

pub use error::WriteError;
pub use options::{ByteOrder, Options, SizesError};
#[cfg(feature = "std")]
pub use output::IoOutput;
pub use output::Output;
pub use streams::{KEPT_BYTES_MAX, StreamId};

use crate::meta::StreamMeta;
use crate::spec::{PAYLOAD_BYTES_MAX, id};
use page::Page;
use ruler::Ruler;
use streams::{ShortMessage, Slot, Streams};

/// The longest frame, header included, that is not split at the end of a unit.
pub const WHOLE_BYTES_MAX: usize = 64;

/// Writes a session: one run of the ruler. [`Writer::finish`] it, or the last Unit has no checksum.
///
/// ```
/// use kymo_rtc_wire::meta::StreamMeta;
/// use kymo_rtc_wire::write::{Options, Writer};
///
/// let mut writer = Writer::new(Vec::new(), Options::new());
/// let sample = writer.add(&StreamMeta::new("sample").length(4).format("uint32le"))?;
/// let log = writer.add(&StreamMeta::new("log").format("utf-8"))?;
/// writer.write(sample, &7_u32.to_le_bytes())?;
/// writer.write(log, b"started")?;
/// let file = writer.finish()?;
/// assert_eq!(file[0], 0x04);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "finish it, or the last Unit has no checksum"]
pub struct Writer<O> {
    page: Page<O>,
    streams: Streams,
    ruler: Ruler,
}

impl<O: Output> Writer<O> {
    /// A session that has not begun: the first message begins it.
    pub fn new(output: O, options: Options) -> Self {
        Self {
            page: Page::new(output, options.buffer_capacity()),
            streams: Streams::new(),
            ruler: Ruler::new(options),
        }
    }

    /// Adds a stream. When the session has begun, a meta frame says so at once.
    ///
    /// Ids are counted up. A stream of a fixed length of 1024 bytes or more passes over those with
    /// which a frame could look like a Marker.
    pub fn add(&mut self, meta: &StreamMeta) -> Result<StreamId, WriteError<O::Error>> {
        self.add_with_id(frame::id_unlike_a_marker(self.streams.next_id(), meta), meta)
    }

    /// Adds a stream with an id of the caller's choice, over all ids so far.
    pub fn add_with_id(
        &mut self,
        id: u32,
        meta: &StreamMeta,
    ) -> Result<StreamId, WriteError<O::Error>> {
        self.usable()?;
        if id < self.streams.next_id() || id == u32::MAX {
            return Err(WriteError::Id(id));
        }
        let json = meta.to_json(id);
        self.ruler.plan(self.streams.totals().with_stream(id, &json))?;
        let stream = self.streams.add(id, meta, json);
        if self.ruler.has_begun() {
            self.describe(stream.slot)?;
        }
        Ok(stream)
    }

    /// Closes a stream: it is not described or indexed any more, and its id is not used again.
    pub fn close(&mut self, stream: StreamId) -> Result<(), WriteError<O::Error>> {
        self.streams.find(stream).ok_or(WriteError::UnknownStream)?;
        self.streams.close(stream);
        Ok(())
    }

    /// Writes a message, or the last part of one that [`Writer::write_part`] began.
    #[allow(clippy::inline_always, reason = "with a known length, the copy is one or two moves")]
    #[inline(always)]
    pub fn write(&mut self, stream: StreamId, payload: &[u8]) -> Result<(), WriteError<O::Error>> {
        if let Some(slot) = self.streams.slots_mut().get(stream.slot)
            && slot.ready_in == self.ruler.minor()
            && slot.id == stream.id
            && (1..=PAYLOAD_BYTES_MAX).contains(&payload.len())
            && let Some(head) = head_bytes(slot, payload.len())
            && let Some(frame) = self.page.take(head + payload.len())
        {
            let (head, body) = frame.split_at_mut(head);
            slot.header.fill(head, payload.len(), false);
            body.copy_from_slice(payload);
            return Ok(());
        }
        self.write_chain(stream, payload, false)
    }

    /// Writes a message that may be empty: as [`Writer::write`], but an empty one leaves an empty
    /// frame and does not vanish. For copies of files that have such.
    pub fn write_even_empty(
        &mut self,
        stream: StreamId,
        payload: &[u8],
    ) -> Result<(), WriteError<O::Error>> {
        if !payload.is_empty() {
            return self.write(stream, payload);
        }
        self.usable()?;
        check_length(self.streams.find(stream).ok_or(WriteError::UnknownStream)?, 0, false)?;
        self.write_frames(stream, payload, false)
    }

    /// Writes a part of a message; another part of it follows, perhaps after other streams' frames.
    /// The last part is for [`Writer::write`]. An empty part vanishes.
    ///
    /// Streams of a fixed length cannot have parts, since their frames do not tell their length.
    pub fn write_part(
        &mut self,
        stream: StreamId,
        payload: &[u8],
    ) -> Result<(), WriteError<O::Error>> {
        self.write_chain(stream, payload, true)
    }

    /// Has every later Unit begin with a message of a stream, after what goes on from the Unit
    /// before, until another is kept; an empty one ends that. It is what the last value of a clock
    /// needs, so that any part of a file has its times.
    ///
    /// Does nothing with a message of more than [`KEPT_BYTES_MAX`] bytes.
    pub fn keep(&mut self, stream: StreamId, message: &[u8]) -> Result<(), WriteError<O::Error>> {
        let slot = self.streams.find(stream).ok_or(WriteError::UnknownStream)?;
        if !message.is_empty() {
            check_length(slot, message.len() as u64, false)?;
        }
        if let (Some(kept), Some(slot)) =
            (ShortMessage::new(message), self.streams.get(stream.slot))
        {
            slot.kept = kept;
        }
        Ok(())
    }

    /// Writes a message of several frames at once, where all of them fit before the next tick and
    /// nothing else is due.
    fn write_at_once(&mut self, stream: StreamId, payload: &[u8]) -> Option<()> {
        let minor = self.ruler.minor();
        let slot = self.streams.find(stream).filter(|slot| slot.ready_in == minor)?;
        let (whole, rest) = payload.as_chunks::<PAYLOAD_BYTES_MAX>();
        let (last, others) = whole.split_last()?;
        let has_length = match slot.length {
            Some(length) if length != payload.len() as u64 => return None,
            length => length.is_none(),
        };
        let head = |payload: usize| {
            slot.header.len() + if has_length { frame::length_bytes(payload) } else { 0 }
        };
        let (whole_head, rest_head) = (head(PAYLOAD_BYTES_MAX), head(rest.len()));
        let rest_bytes = if rest.is_empty() { 0 } else { rest_head + rest.len() };
        let mut frames =
            self.page.take(whole.len() * (whole_head + PAYLOAD_BYTES_MAX) + rest_bytes)?;
        let mut put = |head: usize, payload: &[u8], more: bool| {
            let (frame, others) = core::mem::take(&mut frames).split_at_mut(head + payload.len());
            let (head, body) = frame.split_at_mut(head);
            slot.header.fill(head, payload.len(), more);
            body.copy_from_slice(payload);
            frames = others;
        };
        for payload in others {
            put(whole_head, payload, true);
        }
        put(whole_head, last, !rest.is_empty());
        if !rest.is_empty() {
            put(rest_head, rest, false);
        }
        Some(())
    }

    /// Hands on everything so far: after this, it is readable whatever happens to the program.
    pub fn flush(&mut self) -> Result<(), WriteError<O::Error>> {
        self.page.flush()
    }

    /// Ends the session with a checksum and returns the output. Without streams nothing is
    /// written; with streams but without messages, a Unit that describes them.
    pub fn finish(mut self) -> Result<O, WriteError<O::Error>> {
        self.end()?;
        Ok(self.page.into_output())
    }

    /// Ends the session and begins another with the same streams and ids on another output; its
    /// first Unit describes all of them. Messages that were begun with [`Writer::write_part`] and
    /// not ended stay without an end. Returns the former output.
    pub fn restart(&mut self, output: O) -> Result<O, WriteError<O::Error>> {
        self.end()?;
        Ok(self.reset(output))
    }

    /// As [`Writer::restart`], but does not end the former session: for going on elsewhere after
    /// [`WriteError::Output`]. What was not handed on is lost.
    pub fn abandon(&mut self, output: O) -> O {
        self.reset(output)
    }

    fn reset(&mut self, output: O) -> O {
        self.streams.restart();
        self.ruler.restart();
        self.page.restart(output)
    }

    /// Returns the number of bytes of the session, those that are not handed on yet included.
    #[inline]
    #[must_use]
    pub fn position(&self) -> u64 {
        self.page.position()
    }

    /// The output.
    pub fn output(&self) -> &O {
        self.page.output()
    }

    /// The output. Who writes to it breaks the ruler.
    pub fn output_mut(&mut self) -> &mut O {
        self.page.output_mut()
    }

    fn usable(&self) -> Result<(), WriteError<O::Error>> {
        if self.page.is_broken() { Err(WriteError::Broken) } else { Ok(()) }
    }

    /// Writes a payload as one frame or several, with everything that the ruler wants between
    /// them.
    #[inline(never)]
    fn write_chain(
        &mut self,
        stream: StreamId,
        payload: &[u8],
        more: bool,
    ) -> Result<(), WriteError<O::Error>> {
        if !more && self.write_at_once(stream, payload).is_some() {
            return Ok(());
        }
        self.usable()?;
        let slot = self.streams.find(stream).ok_or(WriteError::UnknownStream)?;
        check_length(slot, payload.len() as u64, more)?;
        if payload.is_empty() && (more || !slot.is_open) {
            return Ok(());
        }
        self.write_frames(stream, payload, more)
    }

    /// Writes a payload frame by frame, where all that can be said against it was.
    fn write_frames(
        &mut self,
        stream: StreamId,
        payload: &[u8],
        more: bool,
    ) -> Result<(), WriteError<O::Error>> {
        if !self.ruler.has_begun() {
            self.begin_major()?;
        }
        self.make_room(stream.slot, payload.len())?;
        if self.ruler.begins_messages() {
            self.write_short_messages()?;
        }
        let mut rest = self.write_frame(stream.slot, payload, more, true)?;
        while !rest.is_empty() {
            rest = self.write_frame(stream.slot, rest, more, false)?;
        }
        let minor = self.ruler.minor();
        if let Some(slot) = self.streams.get(stream.slot) {
            slot.is_open = more;
            slot.ready_in = if slot.seen_in == minor && !more { minor } else { 0 };
        }
        Ok(())
    }

    /// Writes as much of a payload as one frame takes; returns the rest.
    fn write_frame<'a>(
        &mut self,
        slot: usize,
        payload: &'a [u8],
        more: bool,
        is_first: bool,
    ) -> Result<&'a [u8], WriteError<O::Error>> {
        self.make_room(slot, payload.len())?;
        let (minor, major) = (self.ruler.minor(), self.ruler.major());
        let (position, room) = (self.page.position(), self.page.room());
        let slot = self.streams.get(slot).ok_or(WriteError::UnknownStream)?;
        if is_first {
            slot.note_write(minor, position);
        }
        slot.used_in = major;
        let has_length = slot.length.is_none();
        let room = room.saturating_sub(slot.header.len() as u64);
        let (now, later) = payload.split_at(frame::fit(payload.len(), room, has_length));
        let more = more || !later.is_empty();
        frame::put(&mut self.page, slot.header, has_length, now, more)?;
        Ok(later)
    }

    /// Writes what streams have kept, at the first place of a Unit where no message goes on.
    fn write_short_messages(&mut self) -> Result<(), WriteError<O::Error>> {
        let mut from = 0;
        while let Some((slot, kept, next)) = self.streams.next_short_message(from)
            && self.has_room_for_short()
        {
            self.write_frame(slot, kept.bytes(), false, true)?;
            from = next;
        }
        Ok(())
    }

    /// Goes on to where a frame of this stream can stand: a place where it fits, at least in part,
    /// in a Unit that describes the stream.
    fn make_room(&mut self, slot: usize, payload: usize) -> Result<(), WriteError<O::Error>> {
        loop {
            let major = self.ruler.major();
            let state = self.streams.get(slot).ok_or(WriteError::UnknownStream)?;
            let head = state.header.len() + usize::from(state.length.is_none());
            let is_described = state.described_in == major;
            let whole = head + payload;
            let least = if whole <= WHOLE_BYTES_MAX { whole } else { head + 1 };
            if self.page.room() < least as u64 {
                self.cross()?;
            } else if is_described {
                return Ok(());
            } else {
                self.describe(slot)?;
            }
        }
    }
}

/// The bytes before the payload of a frame that holds a whole message, if it is one.
#[inline]
fn head_bytes(slot: &Slot, payload: usize) -> Option<usize> {
    match slot.length {
        Some(length) if length == payload as u64 => Some(slot.header.len()),
        Some(_) => None,
        None => Some(slot.header.len() + frame::length_bytes(payload)),
    }
}

fn check_length<E>(slot: &Slot, found: u64, more: bool) -> Result<(), WriteError<E>> {
    match slot.length {
        Some(_) if more => Err(WriteError::Part),
        Some(expected) if expected != found => Err(WriteError::Length { expected, found }),
        _ => Ok(()),
    }
}

/// The header byte of a frame that always exists.
const fn system_header(id: u32) -> u8 {
    (id << 1).to_le_bytes()[0]
}

const _: () = assert!(id::CRC << 1 < 0x80, "frames that always exist have one header byte");
