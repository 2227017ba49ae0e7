//! The ruler: what stands at the ticks of Units and units.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use super::frame;
use super::streams::{Streams, Totals};
use super::{Options, Output, WriteError, Writer, system_header};
use crate::index::Entry;
use crate::leb128::Encoded;
use crate::spec::{CRC_BYTES, MARKER_BYTE, MARKER_BYTES, MARKER_HEADER, PLATFORM_WORD, id};

/// A Marker frame.
static MARKER: [u8; MARKER_BYTES] = {
    let mut marker = [MARKER_BYTE; MARKER_BYTES];
    let [header, ..] = &mut marker;
    *header = MARKER_HEADER;
    marker
};

/// Bytes of padding.
static ZEROS: [u8; PADDING_MAX] = [0; PADDING_MAX];

/// The most bytes of padding in one frame.
const PADDING_MAX: usize = 1024;

/// Greatest number of bytes that a tick within a chain may cost beside the index: padding before
/// it, and one more header.
const SPLIT_BYTES: u64 = 8;

/// Number of bytes of a unit and of a Unit that are to be left for messages.
const LEAST_ROOM_BYTES: u64 = super::WHOLE_BYTES_MAX as u64;

/// Position of the writer on the ruler, in serial numbers from 1 and in bytes from the session's
/// start.
#[derive(Debug)]
pub(super) struct Ruler {
    options: Options,
    /// The Unit, the unit, and the first unit of this Unit.
    major: u64,
    minor: u64,
    first_minor: u64,
    /// The last Unit in which a message began.
    begun_in: u64,
    /// End of this Unit, its Crc aside.
    major_end: u64,
    index_at: u64,
    meta_at: u64,
    /// The last Meta that differs from this Unit's.
    other_meta_at: Option<u64>,
    platform_at: Option<u64>,
    crc_at: Option<u64>,
    /// The most that an index takes with its frames' headers.
    index_bytes: u64,
    /// The payload of an Index or index in the making; JSON of this Unit's and another Meta.
    index: Vec<u8>,
    meta: String,
    next_meta: String,
}

impl Ruler {
    pub(super) fn new(options: Options) -> Self {
        Self {
            options,
            major: 0,
            minor: 0,
            first_minor: 0,
            begun_in: 0,
            major_end: 0,
            index_at: 0,
            meta_at: 0,
            other_meta_at: None,
            platform_at: None,
            crc_at: None,
            index_bytes: 0,
            index: Vec::new(),
            meta: String::new(),
            next_meta: String::new(),
        }
    }

    /// Goes back to before the first Unit. Serial numbers start again, so streams must as well.
    pub(super) fn restart(&mut self) {
        (self.major, self.minor, self.first_minor, self.begun_in) = (0, 0, 0, 0);
        (self.index_at, self.meta_at) = (0, 0);
        (self.other_meta_at, self.platform_at, self.crc_at) = (None, None, None);
        self.meta.clear();
    }

    pub(super) fn has_begun(&self) -> bool {
        self.major > 0
    }

    pub(super) fn major(&self) -> u64 {
        self.major
    }

    /// Returns true if the message that begins is the first of this Unit to do so.
    pub(super) fn begins_messages(&mut self) -> bool {
        core::mem::replace(&mut self.begun_in, self.major) != self.major
    }

    #[inline]
    pub(super) fn minor(&self) -> u64 {
        self.minor
    }

    /// Checks that Index and Meta of these streams leave room for messages, and allocates what
    /// they take.
    ///
    /// An Index or index must fit into the shortest unit, which is the last of a Unit. Meta, and
    /// the meta of any one stream after it, must fit into a Unit beside all its indices.
    pub(super) fn plan<E>(&mut self, totals: Totals) -> Result<(), WriteError<E>> {
        let outside = (MARKER_BYTES + CRC_BYTES) as u64;
        let index_bytes = frame::chained(totals.index_bytes_max()) as u64;
        require(index_bytes + LEAST_ROOM_BYTES, self.options.minor_bytes - outside)?;

        let units = self.options.major_bytes / self.options.minor_bytes;
        let indices = units * (index_bytes + SPLIT_BYTES);
        let metas = frame::chained(totals.meta_bytes_max())
            + frame::chained(totals.longest_meta_bytes())
            + CRC_BYTES;
        let needed = indices + metas as u64 + LEAST_ROOM_BYTES;
        require(needed, self.options.major_bytes - outside)?;

        self.index_bytes = index_bytes;
        reserve(&mut self.index, totals.index_bytes_max());
        for text in [&mut self.meta, &mut self.next_meta] {
            let needed = totals.meta_bytes_max() + totals.longest_meta_bytes();
            text.reserve(needed.saturating_sub(text.len()));
        }
        Ok(())
    }

    /// Returns true if a payload can be written as a chain within this Unit.
    fn fits(&self, payload: usize, position: u64, boundary: u64) -> bool {
        let ticks = self.major_end.saturating_sub(boundary).div_ceil(self.options.minor_bytes);
        let needed = frame::chained(payload) as u64 + ticks.saturating_add(1) * SPLIT_BYTES;
        position + needed + ticks * self.index_bytes <= self.major_end
    }

    /// The payload of the Index that stands at `at`.
    fn fill_major_index(&mut self, streams: &Streams, at: u64) {
        let count = self.options.count.saturating_add(self.major - 1);
        self.index.clear();
        self.index.extend_from_slice(Encoded::unsigned(count).as_bytes());
        let back = |target: Option<u64>| target.map_or(0, |target| at - target);
        for (id, back_bytes) in [
            // These two tell the sizes, even where they point before the start.
            (id::MAJOR_INDEX, self.options.major_bytes),
            (id::MINOR_INDEX, self.options.minor_bytes),
            (id::META, back(self.other_meta_at)),
            (id::PLATFORM, back(self.platform_at)),
            (id::CRC, back(self.crc_at)),
        ] {
            Entry { id, back_bytes }.write(&mut self.index);
        }
        for slot in streams.iter().filter(|slot| !slot.is_hidden) {
            let seen = (slot.seen_in > 0).then_some(slot.seen_at);
            Entry { id: slot.id, back_bytes: back(seen) }.write(&mut self.index);
        }
    }

    /// The payload of the index that stands at `at`: what was seen since the last Index.
    fn fill_minor_index(&mut self, streams: &Streams, at: u64) {
        self.index.clear();
        for (id, target) in [
            (id::MAJOR_INDEX, self.index_at),
            (id::META, self.meta_at),
            (id::PLATFORM, self.platform_at.unwrap_or_default()),
        ] {
            // A tick within Meta comes before this Unit's platform.
            if target >= self.index_at {
                Entry { id, back_bytes: at - target }.write(&mut self.index);
            }
        }
        let first = self.first_minor;
        for slot in streams.iter().filter(|slot| !slot.is_hidden && slot.seen_in >= first) {
            Entry { id: slot.id, back_bytes: at - slot.seen_at }.write(&mut self.index);
        }
    }
}

fn require<E>(needed: u64, available: u64) -> Result<(), WriteError<E>> {
    if needed <= available { Ok(()) } else { Err(WriteError::NoRoom { needed, available }) }
}

fn reserve(bytes: &mut Vec<u8>, capacity: usize) {
    bytes.reserve(capacity.saturating_sub(bytes.len()));
}

impl<O: Output> Writer<O> {
    /// Begins a Unit: Marker, Index, Meta, platform.
    pub(super) fn begin_major(&mut self) -> Result<(), WriteError<O::Error>> {
        let start = self.page.position();
        self.page.put(&MARKER)?;
        self.page.begin_crc(self.ruler.options.crc);
        let crc_bytes = if self.ruler.options.crc.is_some() { CRC_BYTES as u64 } else { 0 };
        let ruler = &mut self.ruler;
        ruler.major += 1;
        ruler.minor += 1;
        ruler.first_minor = ruler.minor;
        ruler.major_end = start + ruler.options.major_bytes - crc_bytes;
        self.advance_boundary(self.page.position());
        self.choose_meta();
        self.put_major_index()?;
        self.put_meta()?;
        self.put_platform()
    }

    /// Chooses the streams that this Unit's Meta describes: those that the last one used, and in
    /// the first Unit all.
    fn choose_meta(&mut self) {
        let ruler = &mut self.ruler;
        let last = ruler.major - 1;
        ruler.next_meta.clear();
        ruler.next_meta.push('[');
        self.streams.for_each(|slot| {
            if last == 0 || slot.used_in == last {
                slot.described_in = ruler.major;
                ruler.next_meta.push_str(&slot.json);
                ruler.next_meta.push(',');
            }
        });
        end_meta(&mut ruler.next_meta, self.streams.next_id());
        if ruler.next_meta != ruler.meta {
            ruler.other_meta_at = (last > 0).then_some(ruler.meta_at);
            core::mem::swap(&mut ruler.meta, &mut ruler.next_meta);
        }
    }

    fn put_major_index(&mut self) -> Result<(), WriteError<O::Error>> {
        let at = self.page.position();
        self.ruler.fill_major_index(&self.streams, at);
        self.ruler.index_at = at;
        self.put_index(id::MAJOR_INDEX)
    }

    /// Writes the prepared index, which fits into its unit: see [`Ruler::plan`].
    fn put_index(&mut self, id: u32) -> Result<(), WriteError<O::Error>> {
        let mut rest = self.ruler.index.as_slice();
        loop {
            let (now, later) = rest.split_at(frame::fit(rest.len(), u64::MAX, true));
            frame::put_system(&mut self.page, id, now, !later.is_empty())?;
            if later.is_empty() {
                return Ok(());
            }
            rest = later;
        }
    }

    fn put_meta(&mut self) -> Result<(), WriteError<O::Error>> {
        self.ruler.meta_at = self.page.position();
        let text = core::mem::take(&mut self.ruler.meta);
        let done = self.put_across(id::META, text.as_bytes());
        self.ruler.meta = text;
        done
    }

    fn put_platform(&mut self) -> Result<(), WriteError<O::Error>> {
        let word = self.ruler.options.byte_order.bytes(PLATFORM_WORD);
        self.leave_room(1 + word.len() as u64)?;
        self.ruler.platform_at = Some(self.page.position());
        self.page.put(&[system_header(id::PLATFORM)])?;
        self.page.put(&word)
    }

    /// Describes a stream that this Unit's Meta does not, in a Unit that holds all of it.
    pub(super) fn describe(&mut self, slot: usize) -> Result<(), WriteError<O::Error>> {
        let next_id = self.streams.next_id();
        let mut text = core::mem::take(&mut self.ruler.next_meta);
        text.clear();
        text.push('[');
        if let Some(slot) = self.streams.get(slot) {
            text.push_str(&slot.json);
        }
        text.push(',');
        end_meta(&mut text, next_id);
        let done = self.put_minor_meta(text.as_bytes());
        self.ruler.next_meta = text;
        done?;
        let major = self.ruler.major;
        if let Some(slot) = self.streams.get(slot) {
            slot.described_in = major;
        }
        Ok(())
    }

    fn put_minor_meta(&mut self, text: &[u8]) -> Result<(), WriteError<O::Error>> {
        if !self.ruler.fits(text.len(), self.page.position(), self.page.boundary()) {
            let major = self.ruler.major;
            while self.ruler.major == major {
                self.cross()?;
            }
        }
        self.put_across(id::MINOR_META, text)
    }

    /// Writes a chain of frames around the ticks that are in its way.
    fn put_across(&mut self, id: u32, bytes: &[u8]) -> Result<(), WriteError<O::Error>> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = self.page.room().saturating_sub(1);
            let (now, later) = rest.split_at(frame::fit(rest.len(), room, true));
            if now.is_empty() {
                self.cross()?;
            } else {
                frame::put_system(&mut self.page, id, now, !later.is_empty())?;
                rest = later;
            }
        }
        Ok(())
    }

    /// Returns true if a short message fits into this Unit, whatever comes before it.
    pub(super) fn has_room_for_short(&self) -> bool {
        let needed = LEAST_ROOM_BYTES + SPLIT_BYTES + self.ruler.index_bytes;
        let described = frame::chained(self.streams.totals().longest_meta_bytes()) as u64;
        self.page.position() + 2 * needed + described <= self.ruler.major_end
    }

    fn leave_room(&mut self, bytes: u64) -> Result<(), WriteError<O::Error>> {
        if self.page.room() < bytes { self.cross() } else { Ok(()) }
    }

    /// Goes to the next tick and writes what stands there.
    pub(super) fn cross(&mut self) -> Result<(), WriteError<O::Error>> {
        self.pad()?;
        if self.page.boundary() < self.ruler.major_end {
            return self.begin_minor();
        }
        self.put_crc()?;
        self.begin_major()
    }

    /// Fills the bytes before the next tick.
    fn pad(&mut self) -> Result<(), WriteError<O::Error>> {
        while self.page.room() > 0 {
            let length = frame::fit(PADDING_MAX, self.page.room() - 1, true);
            match ZEROS.get(..length) {
                Some(zeros) if self.page.room() > 1 => {
                    frame::put_system(&mut self.page, id::PADDING, zeros, false)?;
                }
                _ => self.page.put(&[system_header(id::NUL)])?,
            }
        }
        Ok(())
    }

    fn begin_minor(&mut self) -> Result<(), WriteError<O::Error>> {
        let at = self.page.position();
        self.ruler.minor += 1;
        self.ruler.fill_minor_index(&self.streams, at);
        self.advance_boundary(at);
        self.put_index(id::MINOR_INDEX)
    }

    /// The next tick after the one at `at`: an index, or the end of the Unit.
    fn advance_boundary(&mut self, at: u64) {
        let next = at + self.ruler.options.minor_bytes;
        self.page.set_boundary(next.min(self.ruler.major_end));
    }

    fn put_crc(&mut self) -> Result<(), WriteError<O::Error>> {
        if let Some(crc) = self.page.crc() {
            self.ruler.crc_at = Some(self.page.position());
            self.page.put(&[system_header(id::CRC)])?;
            self.page.put(&self.ruler.options.byte_order.bytes(crc))?;
        }
        Ok(())
    }

    /// Ends the session: an early Crc, which stands where any reader of frames expects a frame.
    pub(super) fn end(&mut self) -> Result<(), WriteError<O::Error>> {
        self.usable()?;
        if !self.ruler.has_begun() && !self.streams.is_empty() {
            self.begin_major()?;
        }
        if self.ruler.has_begun() && self.ruler.options.crc.is_some() {
            self.leave_room_for_crc()?;
            self.put_crc()?;
        }
        self.page.flush()
    }

    fn leave_room_for_crc(&mut self) -> Result<(), WriteError<O::Error>> {
        if self.page.room() >= CRC_BYTES as u64 {
            return Ok(());
        }
        self.pad()?;
        if self.page.boundary() < self.ruler.major_end { self.begin_minor() } else { Ok(()) }
    }
}

/// Ends a Meta array with the next free id, as its last comma awaits.
fn end_meta(text: &mut String, next_id: u32) {
    let _ = write!(text, "{next_id}]");
}
