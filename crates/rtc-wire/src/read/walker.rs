//! The walk through frames.

use alloc::vec::Vec;

use crate::crc::{Crc, Polynomial};
use crate::spec::{CRC_BYTES, MARKER_BYTES, MARKER_HEADER, id};

use super::marker::{PROOF_BYTES, looks_like_marker, minor_index};
use super::meta::{Declared, Definition, Definitions};
use super::parse::{Parsed, Trouble, is_padding, is_padding_to, parse};
use super::resume::{agreement, lands, targets};
use super::streams::{Chain, Streams};
use super::{MajorIndex, Ruler, View, definitions, find_marker, is_marker, major_index};

const MARKER: u64 = MARKER_BYTES as u64;
const CRC: u64 = CRC_BYTES as u64;

/// The largest Meta or Index; a longer one is not kept.
const CHAIN_BYTES_MAX: usize = 1 << 24;

/// The longest fixed length for which every possible rest of a message is tried.
const RESTS_MAX: u64 = 4096;

/// How many contradictions between Metas are looked into.
const CONTRADICTIONS_MAX: u32 = 256;

/// How many such guesses a walk makes in all.
const RESTS_TOTAL: u32 = 1 << 16;

/// More bytes are needed to go on: at least those before this position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeedMore(pub u64);

/// One step of the walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A Unit begins, or what is left of one.
    Unit(Unit),
    /// A frame, of whichever kind.
    Frame(Frame),
    /// What the Crc frame that was just given says about its Unit.
    Checksum(Checksum),
    /// Bytes that were passed over.
    Damage(Damage),
    /// There is nothing more.
    End,
}

/// The beginning of a Unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Its first byte that is there.
    pub position: u64,
    /// Which session of the walk it is of, from 0.
    pub session: u64,
    /// Its number in the session; unknown where the Index is damaged or missing.
    pub count: Option<u64>,
    /// Where its boundaries are, as far as that is known.
    pub ruler: Option<Ruler>,
}

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Where its header is.
    pub position: u64,
    /// Its stream.
    pub id: u32,
    /// Whether the next frame of the stream goes on with it.
    pub more: bool,
    /// Whether it begins a message.
    pub begin: Begin,
    /// Where its payload starts.
    pub payload: u64,
    /// Where it ends.
    pub end: u64,
}

impl Damage {
    /// Whether frames may have been lost, so that what was open has no end.
    #[must_use]
    pub fn loses_frames(&self) -> bool {
        self.why != Why::Marker
    }
}

impl Frame {
    /// Its payload.
    #[must_use]
    pub fn bytes<'a>(&self, view: &View<'a>) -> &'a [u8] {
        view.get(self.payload..self.end)
    }
}

/// Whether a frame begins a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// It does.
    Start,
    /// It goes on with the frame before.
    Continuation,
    /// Frames before it were lost: it may be the rest of a message.
    Unknown,
}

/// What was found of a Unit's checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum {
    /// Where the Crc frame is.
    pub position: u64,
    /// The polynomial with which it holds; nothing when it does not hold.
    pub polynomial: Option<Polynomial>,
    /// It leaves out the padding and the index before it, as the first writers have it when they
    /// stop near the end of a unit.
    pub is_early: bool,
    /// Not all bytes of the Unit were there.
    pub is_unchecked: bool,
}

/// A run of bytes that could not be read, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Its first byte.
    pub start: u64,
    /// Where reading goes on.
    pub end: u64,
    /// Where it was noticed.
    pub noticed: u64,
    /// What was noticed there.
    pub why: Why,
}

/// What makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// A number of too many bits.
    Number,
    /// A payload longer than any frame may have.
    Length(u64),
    /// A stream that nothing defines.
    Stream(u32),
    /// The frame crosses a boundary.
    Boundary,
    /// A frame of fixed length whose `more` contradicts that length.
    More(u32),
    /// Padding that does not reach a boundary.
    Padding,
    /// A special frame at a place where it cannot be.
    Place(u32),
    /// There is no index where the ruler has one.
    NoIndex,
    /// There is no Marker where the ruler has one.
    NoMarker,
    /// The Marker is damaged, and the Index after it is not.
    Marker,
    /// The beginning of the Unit is missing.
    Head,
    /// It cannot be told how much is left of a message whose beginning was lost.
    Rest(u32),
    /// The bytes end within a frame.
    Cut,
    /// There is no Marker at all.
    Nothing,
}

impl core::fmt::Display for Why {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Number => f.write_str("a number of too many bits"),
            Self::Length(length) => write!(f, "a payload of {length} bytes, and 1024 is the most"),
            Self::Stream(id) => write!(f, "a frame of stream {id}, which nothing defines"),
            Self::Boundary => f.write_str("a frame crosses a boundary of the ruler"),
            Self::More(id) => {
                write!(f, "a frame of stream {id} whose `more` contradicts the fixed length")
            }
            Self::Padding => f.write_str("padding that does not reach a boundary"),
            Self::Place(id) => write!(f, "a special frame (id {id}) where none can be"),
            Self::NoIndex => f.write_str("there is no index where the ruler has one"),
            Self::NoMarker => f.write_str("there is no Marker where the ruler has one"),
            Self::Marker => f.write_str("the Marker is damaged"),
            Self::Head => f.write_str("the beginning of the Unit is missing"),
            Self::Rest(id) => {
                write!(f, "how much is left of a message of stream {id} cannot be told")
            }
            Self::Cut => f.write_str("the bytes end within a frame"),
            Self::Nothing => f.write_str("there is no Marker and no index to read frames from"),
        }
    }
}

/// Where the data of the current Unit ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitEnd {
    Unknown,
    /// The next Marker is at `marker`; a Crc stands before it or not.
    Known {
        marker: u64,
        has_crc: bool,
    },
}

/// Walks through frames, from any place to any other.
///
/// Keeps no bytes. Each call of [`next`](Self::next) is given those that are there, from
/// [`needs`](Self::needs) on.
#[derive(Debug, Clone)]
pub struct Walker {
    position: u64,
    is_lost: bool,
    is_started: bool,
    session: u64,
    count: Option<u64>,
    ruler: Option<Ruler>,
    /// Frames may not cross this place.
    boundary: u64,
    /// Whether the boundary is the end of the Unit's data, not a tick of a unit.
    is_last: bool,
    end: UnitEnd,
    /// A boundary up to which places to go on were searched for.
    searched: u64,
    /// A boundary that is known to be reached by padding.
    padded: u64,
    /// Where the last frame that is no padding ended.
    data_end: u64,
    streams: Streams,
    meta: Vec<u8>,
    is_meta_open: bool,
    /// Where the frames of the Meta were joined.
    seams: Vec<usize>,
    index: Vec<u8>,
    is_index_open: bool,
    /// Frames were lost, and no frame of a stream was seen since.
    is_unsettled: bool,
    /// Whether the first frame after the last boundary was looked at for being a rest.
    has_tried_rest: bool,
    /// How many guesses at rests are left: a file made to be slow gets no more.
    rests_left: u32,
    /// How many contradictions of Metas are still looked into.
    contradictions_left: u32,
    definitions: Definitions,
    is_big_endian: Option<bool>,
    has_crc: Option<bool>,
    after_crc: bool,
    sum: Sum,
    queued: [Option<Item>; 2],
    verifies: bool,
}

/// The checksum of a Unit in the making.
#[derive(Debug, Clone)]
struct Sum {
    crcs: [Crc; 2],
    /// Where the first byte that is not yet in it lies; nothing where some were lost.
    next: Option<u64>,
    /// Where the data before the last tick ended.
    before_tick: u64,
    /// The checksum up to there, once the bytes after it were added.
    early: Option<(u64, [Crc; 2])>,
    /// Which polynomial held last.
    usual: Polynomial,
}

impl Sum {
    fn new(start: u64, usual: Polynomial) -> Self {
        let crcs = [Crc::new(Polynomial::Ieee), Crc::new(Polynomial::Mixed)];
        Self { crcs, next: Some(start), before_tick: start, early: None, usual }
    }

    /// The checksum up to a position with one polynomial.
    fn value(&self, view: &View<'_>, polynomial: Polynomial, end: u64) -> Option<u32> {
        let (next, crcs) = match (&self.early, self.next?) {
            (Some((early, crcs)), next) if *early == end && end < next => (end, crcs),
            (_, next) => (next, &self.crcs),
        };
        if end < next || (end > next && next < view.base()) {
            return None;
        }
        let [ieee, mixed] = crcs;
        let mut crc = if polynomial == Polynomial::Ieee { ieee.clone() } else { mixed.clone() };
        crc.update(view.get(next..end));
        Some(crc.value())
    }

    /// Adds the bytes before a position, so that they may go.
    fn absorb(&mut self, view: &View<'_>, end: u64) {
        let Some(next) = self.next else { return };
        if next < end {
            for crc in &mut self.crcs {
                crc.update(view.get(next..end));
            }
            self.next = Some(end);
        }
    }
}

impl Walker {
    /// A walk from the beginning of a file.
    #[must_use]
    pub fn new() -> Self {
        Self::at(0)
    }

    /// A walk from a place of which nothing is known.
    #[must_use]
    pub fn at(position: u64) -> Self {
        Self {
            position,
            is_lost: true,
            is_started: false,
            session: 0,
            count: None,
            ruler: None,
            boundary: u64::MAX,
            is_last: false,
            end: UnitEnd::Unknown,
            searched: 0,
            padded: 0,
            data_end: 0,
            streams: Streams::new(),
            meta: Vec::new(),
            is_meta_open: false,
            seams: Vec::new(),
            index: Vec::new(),
            is_index_open: false,
            is_unsettled: false,
            has_tried_rest: false,
            rests_left: RESTS_TOTAL,
            contradictions_left: CONTRADICTIONS_MAX,
            definitions: Definitions::default(),
            is_big_endian: None,
            has_crc: None,
            after_crc: false,
            sum: Sum::new(0, Polynomial::Ieee),
            queued: [None; 2],
            verifies: true,
        }
    }

    /// A walk that begins in the middle of a Unit, at the tick of a unit or at a frame that an
    /// index names, with streams that an earlier walk has learnt.
    #[must_use]
    pub fn within(ruler: Ruler, position: u64, learnt: &Self) -> Self {
        let mut walker = Self::at(position);
        walker.is_lost = false;
        walker.is_started = true;
        walker.ruler = Some(ruler);
        walker.streams = learnt.streams.clone();
        walker.streams.forget_chains();
        walker.is_big_endian = learnt.is_big_endian;
        walker.has_crc = learnt.has_crc;
        walker.verifies = false;
        walker.sum.next = None;
        walker.boundary = position;
        walker.is_last = false;
        walker
    }

    /// Leaves checksums alone, for walks that are to touch few bytes.
    #[must_use]
    pub fn without_checksums(mut self) -> Self {
        self.verifies = false;
        self
    }

    /// Where the walk is.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The first byte that a view must still have after [`absorb`](Self::absorb).
    #[must_use]
    pub fn needs(&self) -> u64 {
        self.sum
            .next
            .filter(|_| self.verifies)
            .map_or(self.position, |next| next.min(self.position))
    }

    /// The ruler of the current Unit.
    #[must_use]
    pub fn ruler(&self) -> Option<Ruler> {
        self.ruler
    }

    /// The streams known so far.
    #[must_use]
    pub fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Whether the writer's byte order is big-endian, once a platform frame told.
    #[must_use]
    pub fn is_big_endian(&self) -> Option<bool> {
        self.is_big_endian
    }

    /// What the Meta or meta says whose last frame was just given.
    #[must_use]
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The payload of the Index or index whose last frame was just given.
    #[must_use]
    pub fn index_payload(&self) -> &[u8] {
        &self.index
    }

    /// Takes note of the bytes before the current place, which may then be let go.
    pub fn absorb(&mut self, view: &View<'_>) {
        if !self.verifies {
            return;
        }
        if self.sum.next.is_some_and(|next| next <= self.sum.before_tick) {
            self.sum.absorb(view, self.sum.before_tick);
            self.sum.early = Some((self.sum.before_tick, self.sum.crcs.clone()));
        }
        // Padding waits: the checksum of a writer that stops may leave it out.
        self.sum.absorb(view, self.data_end);
    }

    /// The next step.
    pub fn next(&mut self, view: &View<'_>) -> Result<Item, NeedMore> {
        loop {
            if let Some(item) = self.queued[0].take() {
                self.queued.swap(0, 1);
                return Ok(item);
            }
            let item = if self.is_lost {
                self.find_place(view)?
            } else if self.position >= self.boundary {
                self.cross(view)?
            } else {
                self.frame(view)?
            };
            if let Some(item) = item {
                return Ok(item);
            }
        }
    }

    fn queue(&mut self, item: Item) {
        if self.queued[0].is_none() {
            self.queued[0] = Some(item);
        } else {
            self.queued[1] = Some(item);
        }
    }

    /// Asks for more bytes, unless none will come.
    fn need(view: &View<'_>, position: u64) -> Result<(), NeedMore> {
        if view.reaches(position) { Ok(()) } else { Err(NeedMore(position)) }
    }

    // ---- frames -------------------------------------------------------------------------

    fn frame(&mut self, view: &View<'_>) -> Result<Option<Item>, NeedMore> {
        let position = self.position;
        match view.byte(position) {
            None if view.is_final() => return Ok(Some(Item::End)),
            None => return Err(NeedMore(position + 1)),
            Some(MARKER_HEADER) => return self.meet_marker(view),
            Some(_) if self.after_crc => return self.damage(view, position, Why::NoMarker),
            Some(_) => {}
        }
        if let Some(id) = self.resolve_rest(view, position)? {
            return self.damage(view, position, Why::Rest(id));
        }
        let found = self.sensible(view, position);
        if self.depends_on_end(&found) {
            self.settle_end(view)?;
            return Ok(None);
        }
        match found {
            Ok(frame) => self.take(view, &frame),
            Err(Trouble::Bad(why)) => self.damage(view, position, why),
            Err(Trouble::Short) => self.short(view, position),
        }
    }

    /// Whether a frame would be another if the Unit ended elsewhere, and that is still open.
    fn depends_on_end(&self, found: &Result<Parsed, Trouble>) -> bool {
        self.is_last
            && self.is_provisional()
            && match found {
                Ok(frame) => frame.end >= self.boundary,
                Err(Trouble::Bad(why)) => {
                    matches!(why, Why::Boundary | Why::More(_) | Why::Padding)
                }
                Err(Trouble::Short) => false,
            }
    }

    /// Parses a frame, and looks whether it may be where it is.
    fn sensible(&mut self, view: &View<'_>, position: u64) -> Result<Parsed, Trouble> {
        let frame = parse(&self.streams, view, position, self.boundary)?;
        if frame.id >= id::FIRST_USER {
            return Ok(frame);
        }
        let is_open = self.streams.slot(frame.id).chain == Chain::Open;
        let is_in_place = match frame.id {
            id::NUL | id::PADDING => {
                if position >= self.padded {
                    if !is_padding_to(view, position, self.boundary) {
                        return Err(Trouble::Bad(Why::Padding));
                    }
                    self.padded = self.boundary;
                }
                true
            }
            id::MAJOR_INDEX => {
                is_open
                    || self.ruler.is_none_or(|ruler| u64::try_from(ruler.index()) == Ok(position))
            }
            id::MINOR_INDEX => is_open || self.ruler.is_none() || self.is_tick(position),
            _ => true,
        };
        if is_in_place { Ok(frame) } else { Err(Trouble::Bad(Why::Place(frame.id))) }
    }

    fn is_tick(&self, position: u64) -> bool {
        let ruler = self.ruler.filter(|ruler| ruler.index() < i64::try_from(position).unwrap_or(0));
        ruler.is_some_and(|ruler| ruler.tick_after(position.saturating_sub(1)) == position)
    }

    /// Gives a frame, unless what follows it says that it cannot be right.
    fn take(&mut self, view: &View<'_>, frame: &Parsed) -> Result<Option<Item>, NeedMore> {
        let slot = self.streams.slot(frame.id);
        self.streams.commit(frame, self.boundary);
        if frame.end < self.boundary
            && !is_padding(frame.id)
            && frame.id != id::CRC
            && let Err(Trouble::Bad(why)) = self.peek(view, frame)
            && !self.is_alone(view, frame.end)
        {
            if let Some(kept) = self.streams.slot_mut(frame.id) {
                *kept = slot;
            }
            return self.damage_noticed(view, frame.position, frame.end, why);
        }
        self.position = frame.end;
        if self.is_unsettled && frame.id >= id::FIRST_USER {
            self.streams.settle_fixed(frame.id);
            self.is_unsettled = self.streams.slot(frame.id).chain == Chain::Unknown;
        }
        if !is_padding(frame.id) {
            self.data_end = frame.end;
        }
        let begin = match slot.chain {
            Chain::Closed => Begin::Start,
            Chain::Open => Begin::Continuation,
            Chain::Unknown => Begin::Unknown,
        };
        let Parsed { position, id, more, payload, end } = *frame;
        self.note_special(view, frame);
        Ok(Some(Item::Frame(Frame { position, id, more, begin, payload, end })))
    }

    /// Whether a frame can follow, knowing the streams that this frame may define.
    fn peek(&mut self, view: &View<'_>, frame: &Parsed) -> Result<(), Trouble> {
        if view.byte(frame.end) == Some(MARKER_HEADER) {
            return Ok(());
        }
        let found = self.sensible(view, frame.end);
        match found {
            // It may be one that this very frame defines.
            Err(Trouble::Bad(Why::Stream(_))) if matches!(frame.id, id::META | id::MINOR_META) => {
                Ok(())
            }
            _ if self.depends_on_end(&found) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Whether the frame at a place is damaged and the one before it is not: it names a stream,
    /// or what follows it makes sense as far as the boundary.
    fn is_alone(&self, view: &View<'_>, position: u64) -> bool {
        let bytes = view.get(position..self.boundary);
        let Ok((header, taken)) = crate::leb128::read(bytes) else { return false };
        let id = u32::try_from(header >> 1).unwrap_or(u32::MAX);
        if id >= id::FIRST_USER && self.streams.slot(id).length != Declared::Unproven {
            return true;
        }
        let Ok((length, more_taken)) = crate::leb128::read(bytes.get(taken..).unwrap_or_default())
        else {
            return false;
        };
        let after = position.saturating_add((taken + more_taken) as u64).saturating_add(length);
        after < self.landing(view)
            && lands(&self.streams, view, after, self.landing(view), &[]).is_ok()
    }

    /// Where frames are to end: the boundary, or where the writer stopped.
    fn landing(&self, view: &View<'_>) -> u64 {
        if view.end() >= self.boundary {
            return self.boundary;
        }
        let crc = view.end().saturating_sub(CRC);
        if view.byte(crc) == Some(0x10) { crc } else { view.end() }
    }

    /// Takes note of what the special frames say.
    fn note_special(&mut self, view: &View<'_>, frame: &Parsed) {
        if frame.id >= id::FIRST_USER || is_padding(frame.id) {
            return;
        }
        let payload = view.get(frame.payload..frame.end);
        match frame.id {
            id::MAJOR_INDEX | id::MINOR_INDEX => self.note_index(payload, frame.more),
            id::META | id::MINOR_META => self.note_meta(view, frame),
            id::PLATFORM => {
                let word = <[u8; 4]>::try_from(payload).unwrap_or_default();
                self.is_big_endian = match word {
                    [1, 2, 3, 4] => Some(true),
                    [4, 3, 2, 1] => Some(false),
                    _ => self.is_big_endian,
                };
            }
            id::CRC => self.note_crc(view, frame),
            _ => {}
        }
    }

    fn note_index(&mut self, payload: &[u8], more: bool) {
        if !self.is_index_open {
            self.index.clear();
        }
        self.is_index_open = more;
        if self.index.len() + payload.len() <= CHAIN_BYTES_MAX {
            self.index.extend_from_slice(payload);
        }
    }

    fn note_meta(&mut self, view: &View<'_>, frame: &Parsed) {
        let payload = view.get(frame.payload..frame.end);
        if !self.is_meta_open {
            self.meta.clear();
            self.seams.clear();
        }
        self.is_meta_open = frame.more;
        if self.meta.len() + payload.len() <= CHAIN_BYTES_MAX {
            self.meta.extend_from_slice(payload);
        }
        if frame.more {
            self.seams.push(self.meta.len());
            return;
        }
        self.definitions = definitions(&self.meta, &self.seams);
        self.define(view, frame.end);
    }

    /// Learns the streams of a Meta. Ids are never used again: where it contradicts an earlier
    /// one, either was damaged, and the one with which the frames that follow make sense counts.
    fn define(&mut self, view: &View<'_>, position: u64) {
        let mut streams = self.streams.clone();
        let mut is_contradicted = false;
        for Definition { id, length, .. } in &self.definitions.streams {
            let known = self.streams.slot(*id).length;
            let is_known = !self.streams.is_undescribed() && known != Declared::Unproven;
            is_contradicted |= is_known && *length != Declared::Unproven && known != *length;
            streams.define(*id, *length);
            if !is_known {
                self.streams.define(*id, *length);
            }
        }
        if is_contradicted && self.contradictions_left > 0 {
            self.contradictions_left -= 1;
            let landing = self.landing(view);
            let lands = |streams| lands(streams, view, position, landing, &[]).is_ok();
            if !lands(&self.streams) && (self.definitions.is_sound || lands(&streams)) {
                self.streams = streams;
            }
        }
    }

    fn note_crc(&mut self, view: &View<'_>, frame: &Parsed) {
        self.after_crc = true;
        self.has_crc = Some(true);
        let stored = <[u8; 4]>::try_from(view.get(frame.payload..frame.end)).unwrap_or_default();
        let checksum = self.checksum(view, frame.position, stored);
        self.queue(Item::Checksum(checksum));
    }

    fn checksum(&mut self, view: &View<'_>, position: u64, stored: [u8; 4]) -> Checksum {
        let mut checksum =
            Checksum { position, polynomial: None, is_early: false, is_unchecked: true };
        if !self.verifies {
            return checksum;
        }
        let other = match self.sum.usual {
            Polynomial::Ieee => Polynomial::Mixed,
            Polynomial::Mixed => Polynomial::Ieee,
        };
        let ends = [position, self.sum.before_tick];
        for (number, end) in ends.into_iter().enumerate() {
            for polynomial in [self.sum.usual, other] {
                let Some(value) = self.sum.value(view, polynomial, end) else { continue };
                checksum.is_unchecked = false;
                let orders = [value.to_le_bytes(), value.to_be_bytes()];
                let holds = match self.is_big_endian {
                    Some(is_big) => orders.get(usize::from(is_big)) == Some(&stored),
                    None => orders.contains(&stored),
                };
                if holds {
                    self.sum.usual = polynomial;
                    checksum.polynomial = Some(polynomial);
                    checksum.is_early = number > 0;
                    return checksum;
                }
            }
        }
        checksum
    }

    // ---- boundaries ---------------------------------------------------------------------

    /// Finds the next boundary after the current place.
    fn set_boundary(&mut self, view: &View<'_>) {
        self.has_tried_rest = false;
        let Some(ruler) = self.ruler else {
            self.boundary = u64::MAX;
            return;
        };
        let tick = ruler.tick_after(self.position);
        self.is_last = tick >= ruler.early_end();
        if !self.is_last {
            self.boundary = tick;
        } else if self.settle_end(view).is_err() {
            // Up to here it is the same wherever the Unit ends.
            self.boundary = ruler.early_end().saturating_sub(CRC);
        }
    }

    /// Whether it is still open where the Unit ends.
    fn is_provisional(&self) -> bool {
        self.end == UnitEnd::Unknown
    }

    /// Finds where the Unit's data end: at the next Marker, or at the Crc before it.
    fn settle_end(&mut self, view: &View<'_>) -> Result<(), NeedMore> {
        let Some(ruler) = self.ruler else { return Ok(()) };
        let ends = [ruler.end(), ruler.early_end()];
        let is_next = |end: &u64| {
            let next = major_index(view, *end);
            is_marker(view, *end)
                || next.is_some_and(|next| self.count.is_some_and(|count| next.count == count + 1))
        };
        let found = ends.into_iter().find(is_next);
        if found.is_none() {
            Self::need(view, ruler.end().saturating_add(PROOF_BYTES))?;
        }
        let marker = found.unwrap_or(ruler.end());
        let next = found.and_then(|end| major_index(view, end));
        let has_crc = match (next, self.has_crc) {
            (Some(next), _) => next.crc_back > 0 && next.crc_back <= MARKER + CRC,
            (None, Some(has_crc)) => has_crc,
            (None, None) => view.byte(marker.saturating_sub(CRC)).is_none_or(|byte| byte == 0x10),
        };
        self.end = UnitEnd::Known { marker, has_crc };
        self.boundary = if has_crc { marker.saturating_sub(CRC) } else { marker };
        Ok(())
    }

    /// Goes on at a boundary.
    fn cross(&mut self, view: &View<'_>) -> Result<Option<Item>, NeedMore> {
        let position = self.position;
        let Some(header) = view.byte(position) else {
            return if view.is_final() { Ok(Some(Item::End)) } else { Err(NeedMore(position + 1)) };
        };
        if !self.is_last {
            return self.cross_tick(view, header);
        }
        match self.end {
            UnitEnd::Unknown => self.settle_end(view).map(|()| None),
            UnitEnd::Known { marker, .. } if position == marker => self.meet_marker(view),
            UnitEnd::Known { marker, has_crc: true } if header == 0x10 => {
                self.boundary = marker;
                Ok(None)
            }
            UnitEnd::Known { .. } if header == MARKER_HEADER => self.meet_marker(view),
            UnitEnd::Known { marker, .. } => {
                let why = Why::NoMarker;
                let end = marker.min(view.end());
                self.forget_chains();
                self.position = end;
                self.boundary = end;
                Ok(Some(Item::Damage(Damage { start: position, end, noticed: position, why })))
            }
        }
    }

    fn cross_tick(&mut self, view: &View<'_>, header: u8) -> Result<Option<Item>, NeedMore> {
        if header == MARKER_HEADER {
            return self.meet_marker(view);
        }
        let position = self.position;
        let is_stop = header == 0x10 && position + CRC >= view.end();
        self.sum.before_tick = self.data_end;
        self.set_boundary(view);
        if header | 1 == 0x09 || is_stop {
            return Ok(None);
        }
        self.damage(view, position, Why::NoIndex)
    }

    // ---- Units --------------------------------------------------------------------------

    /// Goes on at what should be a Marker.
    fn meet_marker(&mut self, view: &View<'_>) -> Result<Option<Item>, NeedMore> {
        let position = self.position;
        let index = major_index(view, position);
        let bytes = view.get(position..position + MARKER);
        if looks_like_marker(bytes) && index.is_some() {
            return Ok(Some(self.start_unit(view, index, true)));
        }
        Self::need(view, position + PROOF_BYTES)?;
        let is_expected = matches!(self.end, UnitEnd::Known { marker, .. } if marker == position);
        let is_cut = view.end() < position + PROOF_BYTES;
        if looks_like_marker(bytes) && (is_expected || is_cut) {
            return Ok(Some(self.start_unit(view, None, true)));
        }
        let is_run = |bytes: &[u8]| bytes.iter().skip(1).all(|&byte| byte == 0xB9);
        if is_cut && bytes.first() == Some(&MARKER_HEADER) && is_run(bytes) {
            return self.short(view, position);
        }
        let is_next = |next: MajorIndex| self.count.is_some_and(|count| next.count == count + 1);
        if is_expected && index.is_some_and(is_next) {
            let unit = self.start_unit(view, index, false);
            self.queue(unit);
            let (end, why) = (position + MARKER, Why::Marker);
            return Ok(Some(Item::Damage(Damage { start: position, end, noticed: position, why })));
        }
        self.damage(view, position, if is_expected { Why::NoMarker } else { Why::Place(2) })
    }

    /// Begins a Unit at the current place.
    fn start_unit(&mut self, view: &View<'_>, index: Option<MajorIndex>, has_marker: bool) -> Item {
        let position = self.position;
        let is_same = self.is_same_session(position, index);
        if !is_same {
            self.session += u64::from(self.is_started);
            self.streams = Streams::new();
            (self.count, self.ruler) = (None, None);
            (self.has_crc, self.is_big_endian) = (None, None);
        }
        self.is_started = true;
        self.is_lost = false;
        self.count = match index {
            Some(index) => Some(index.count),
            None => self.count.map(|count| count + 1),
        };
        let marker = i64::try_from(position).unwrap_or(i64::MAX);
        self.ruler = match (self.ruler, index) {
            (Some(known), _) => Some(Ruler { marker, ..known }),
            (None, Some(index)) => Some(confirmed(view, index.ruler)),
            (None, None) => None,
        };
        if let Some(index) = index.filter(|index| index.count > 0) {
            self.has_crc = Some(index.crc_back > 0);
        }
        self.begin_data(position + MARKER);
        self.set_boundary(view);
        if has_marker {
            let payload = position + 1;
            let (begin, end) = (Begin::Start, position + MARKER);
            let marker = Frame { position, id: id::MARKER, more: false, begin, payload, end };
            self.queue(Item::Frame(marker));
        }
        Item::Unit(self.unit(position))
    }

    fn unit(&self, position: u64) -> Unit {
        Unit { position, session: self.session, count: self.count, ruler: self.ruler }
    }

    /// Forgets what was of the Unit before.
    fn begin_data(&mut self, position: u64) {
        self.position = position;
        self.end = UnitEnd::Unknown;
        self.after_crc = false;
        (self.is_index_open, self.is_meta_open) = (false, false);
        self.has_tried_rest = false;
        self.data_end = position;
        self.sum = Sum::new(position, self.sum.usual);
    }

    /// Whether a Unit here goes on with the session before.
    fn is_same_session(&self, position: u64, index: Option<MajorIndex>) -> bool {
        let (Some(ruler), true) = (self.ruler, self.is_started) else { return false };
        let Some(index) = index else {
            return matches!(self.end, UnitEnd::Known { marker, .. } if marker == position);
        };
        let Some(units) = self.count.and_then(|count| index.count.checked_sub(count)) else {
            return self.count.is_none() && index.count > 0;
        };
        let distance = i128::from(position) - i128::from(ruler.marker);
        let most = i128::from(units) * i128::from(ruler.major);
        // The oldest writer is short by a checksum in each Unit.
        let least = most - i128::from(units) * i128::from(CRC);
        units > 0 && (least..=most).contains(&distance)
    }

    // ---- damage -------------------------------------------------------------------------

    /// The bytes end within a frame.
    fn short(&mut self, view: &View<'_>, start: u64) -> Result<Option<Item>, NeedMore> {
        Self::need(view, view.end() + 1)?;
        // A writer that was killed may have been followed by another.
        let end = find_marker(view, start + 1).unwrap_or(view.end());
        self.go_to_marker(end);
        Ok(Some(Item::Damage(Damage { start, end, noticed: start, why: Why::Cut })))
    }

    fn go_to_marker(&mut self, position: u64) {
        self.forget_chains();
        self.position = position;
        self.boundary = u64::MAX;
        self.is_last = false;
        self.end = UnitEnd::Unknown;
        self.after_crc = false;
    }

    fn damage(&mut self, view: &View<'_>, start: u64, why: Why) -> Result<Option<Item>, NeedMore> {
        self.damage_noticed(view, start, start, why)
    }

    /// Passes over bytes from `start`, the place of the first frame that is not certain.
    fn damage_noticed(
        &mut self,
        view: &View<'_>,
        start: u64,
        noticed: u64,
        why: Why,
    ) -> Result<Option<Item>, NeedMore> {
        self.resume(view, start, start + 1)?;
        let end = self.position;
        self.forget_chains();
        (self.is_index_open, self.is_meta_open) = (false, false);
        self.has_tried_rest = false;
        Ok(Some(Item::Damage(Damage { start, end, noticed, why })))
    }

    /// Finds where to go on: not before `first`.
    fn resume(&mut self, view: &View<'_>, start: u64, first: u64) -> Result<(), NeedMore> {
        if self.ruler.is_none() || self.after_crc {
            return self.resume_at_marker(view, first);
        }
        if self.is_last && self.is_provisional() {
            self.settle_end(view)?;
        }
        let limit = self.boundary;
        Self::need(view, limit.saturating_add(PROOF_BYTES))?;
        let near = view.until(limit.saturating_add(PROOF_BYTES));
        if let Some(marker) = find_marker(&near, first).filter(|marker| *marker < limit) {
            self.go_to_marker(marker);
            return Ok(());
        }
        let landing = self.landing(view);
        let is_proven = match self.index_at(view, limit) {
            Some(index) => {
                let named = targets(view, index, first, limit);
                let fresh = self.fresh();
                let mut sound = named
                    .iter()
                    .take(16)
                    .filter(|target| lands(&fresh, view, target.position, limit, &named).is_ok());
                if self.searched < limit
                    && let Some(target) = sound.next()
                {
                    self.searched = limit;
                    self.position = target.position;
                    return Ok(());
                }
                true
            }
            None => landing < limit,
        };
        if is_proven && self.searched < limit {
            self.searched = limit;
            if let Some(found) = agreement(&self.fresh(), view, start, landing) {
                self.position = found;
                return Ok(());
            }
        }
        self.pass_boundary(view, first)
    }

    fn forget_chains(&mut self) {
        self.streams.forget_chains();
        self.is_unsettled = true;
    }

    /// The streams as they are when nothing is known of what is open.
    fn fresh(&self) -> Streams {
        let mut streams = self.streams.clone();
        streams.forget_chains();
        streams
    }

    /// The index that tells of the unit before a boundary, where it makes sense.
    fn index_at(&self, view: &View<'_>, boundary: u64) -> Option<u64> {
        if !self.is_last {
            let index = self.ruler?.index();
            let back = minor_index(view, boundary)?;
            let is_right = i128::from(boundary) - i128::from(back) == i128::from(index);
            return is_right.then_some(boundary);
        }
        let UnitEnd::Known { marker, .. } = self.end else { return None };
        is_marker(view, marker).then_some(marker + MARKER)
    }

    /// Goes on at the boundary, if what should be there is; else at a later one.
    fn pass_boundary(&mut self, view: &View<'_>, first: u64) -> Result<(), NeedMore> {
        loop {
            let boundary = self.boundary;
            if boundary >= view.end() {
                return self.resume_at_marker(view, first);
            }
            if self.index_at(view, boundary).is_some() {
                self.position = boundary;
                return Ok(());
            }
            if self.is_last {
                return self.resume_at_marker(view, first);
            }
            self.position = boundary;
            self.set_boundary(view);
            if self.is_last && self.is_provisional() {
                self.settle_end(view)?;
            }
            Self::need(view, self.boundary.saturating_add(PROOF_BYTES))?;
        }
    }

    fn resume_at_marker(&mut self, view: &View<'_>, first: u64) -> Result<(), NeedMore> {
        if self.resume_in_next_unit(view, first)? {
            return Ok(());
        }
        let found = find_marker(view, first);
        if found.is_none() {
            Self::need(view, view.end() + 1)?;
        }
        self.go_to_marker(found.unwrap_or(view.end()));
        Ok(())
    }

    /// Where a Marker and its Index are both damaged, the Unit is still known by its other
    /// indices, which stand where the ruler has them.
    fn resume_in_next_unit(&mut self, view: &View<'_>, first: u64) -> Result<bool, NeedMore> {
        let Some(ruler) = self.ruler else { return Ok(false) };
        let last = ruler.end().saturating_add(ruler.major);
        Self::need(view, last.saturating_add(PROOF_BYTES))?;
        let near = view.until(last.saturating_add(PROOF_BYTES));
        let limit = find_marker(&near, first).unwrap_or(last);
        for end in [ruler.end(), ruler.early_end()] {
            let next = Ruler { marker: i64::try_from(end).unwrap_or(i64::MAX), ..ruler };
            let Some(tick) = first_tick(view, &next, end.max(first), limit) else { continue };
            self.ruler = Some(next);
            self.count = self.count.map(|count| count + 1);
            self.begin_data(tick);
            self.sum.next = None;
            (self.boundary, self.is_last) = (tick, false);
            self.queue(Item::Unit(self.unit(tick)));
            return Ok(true);
        }
        Ok(false)
    }

    /// Where frames were lost, the next of a stream of fixed length may be the rest of a message:
    /// takes it for one when it makes no sense as a whole. Gives the stream where neither does,
    /// or where it cannot be known how much is left.
    fn resolve_rest(&mut self, view: &View<'_>, position: u64) -> Result<Option<u32>, NeedMore> {
        let Ok((header, _)) = crate::leb128::read(view.get(position..self.boundary)) else {
            return Ok(None);
        };
        let id = u32::try_from(header >> 1).unwrap_or(u32::MAX);
        let slot = self.streams.slot(id);
        let Declared::Fixed(total) = slot.length else { return Ok(None) };
        if slot.chain != Chain::Unknown || self.has_tried_rest {
            return Ok(None);
        }
        Self::need(view, self.boundary)?;
        self.has_tried_rest = true;
        let landing = self.landing(view);
        let index = self.index_at(view, self.boundary);
        let named = index.map(|index| targets(view, index, position, landing)).unwrap_or_default();
        let whole = lands(&self.streams, view, position, landing, &named);
        if matches!(whole, Ok(()) | Err(Trouble::Short)) {
            return Ok(None);
        }
        let mut found = None;
        for rest in 1..total.min(RESTS_MAX).min(self.rests_left.into()) {
            self.rests_left -= 1;
            let mut streams = self.streams.clone();
            if let Some(slot) = streams.slot_mut(id) {
                (slot.chain, slot.received) = (Chain::Open, total - rest);
            }
            if lands(&streams, view, position, landing, &named).is_ok() {
                if found.is_some() {
                    return Ok(Some(id));
                }
                found = Some(streams);
            }
        }
        match found {
            Some(streams) => self.streams = streams,
            None => return Ok(Some(id)),
        }
        Ok(None)
    }

    // ---- the beginning ------------------------------------------------------------------

    /// Finds the first place from which frames can be read.
    fn find_place(&mut self, view: &View<'_>) -> Result<Option<Item>, NeedMore> {
        let from = self.position;
        let Some(header) = view.byte(from) else {
            return if view.is_final() { Ok(Some(Item::End)) } else { Err(NeedMore(from + 1)) };
        };
        if header == MARKER_HEADER {
            let bytes = view.get(from..from + MARKER);
            let is_cut = view.end() < from + PROOF_BYTES;
            let is_run = bytes.iter().skip(1).all(|&byte| byte == 0xB9);
            if is_marker(view, from) || (is_cut && is_run) {
                self.is_lost = false;
                return self.meet_marker(view).inspect_err(|_| self.is_lost = true);
            }
        }
        let marker = find_marker(view, from);
        if marker.is_none() {
            Self::need(view, view.end() + 1)?;
        }
        self.is_lost = false;
        let index = marker.and_then(|marker| major_index(view, marker));
        let Some((ruler, count)) = self.ruler_of_head(view, from, marker, index) else {
            let end = marker.unwrap_or(view.end());
            self.go_to_marker(end);
            let why = if marker.is_some() { Why::Head } else { Why::Nothing };
            return Ok(Some(Item::Damage(Damage { start: from, end, noticed: from, why })));
        };
        if let (Some(marker), Some(_)) = (marker, count) {
            self.learn_from(view, marker).inspect_err(|_| self.is_lost = true)?;
        }
        self.is_started = true;
        (self.ruler, self.count) = (Some(ruler), count);
        self.begin_data(from);
        self.sum.next = None;
        self.forget_chains();
        self.set_boundary(view);
        let unit = self.unit(from);
        self.resume(view, from, from)?;
        let (end, why) = (self.position, Why::Head);
        if end > from {
            self.queue(Item::Damage(Damage { start: from, end, noticed: from, why }));
        }
        Ok(Some(Item::Unit(unit)))
    }

    /// The ruler of a Unit whose Marker is missing, from the next one or from its own indices.
    fn ruler_of_head(
        &self,
        view: &View<'_>,
        from: u64,
        marker: Option<u64>,
        index: Option<MajorIndex>,
    ) -> Option<(Ruler, Option<u64>)> {
        let limit = marker.unwrap_or(view.end());
        if let (Some(marker), Some(index)) = (marker, index.filter(|index| index.count > 0)) {
            let sizes = index.ruler;
            let end = i64::try_from(marker).ok()?;
            let start = end.checked_sub_unsigned(sizes.major)?;
            let early = start.checked_add_unsigned(CRC)?;
            let rulers = [start, early].map(|marker| Ruler { marker, ..sizes });
            let fits = |ruler: &Ruler| first_tick(view, ruler, from, limit).is_some();
            let ruler = rulers.iter().copied().find(fits).or(rulers.first().copied())?;
            return Some((ruler, Some(index.count - 1)));
        }
        ruler_from_indices(view, from, limit).map(|ruler| (ruler, None))
    }

    /// Learns streams and byte order from the Unit that begins at a Marker.
    fn learn_from(&mut self, view: &View<'_>, marker: u64) -> Result<(), NeedMore> {
        let mut ahead = Self::at(marker).without_checksums();
        loop {
            match ahead.next(view)? {
                Item::Unit(_) => {}
                Item::Frame(frame) if frame.id < id::PLATFORM => {}
                _ => break,
            }
        }
        self.streams = ahead.streams;
        self.is_big_endian = ahead.is_big_endian;
        self.has_crc = ahead.has_crc;
        self.definitions = ahead.definitions;
        Ok(())
    }
}

impl Default for Walker {
    fn default() -> Self {
        Self::new()
    }
}

/// The first tick of a ruler within a range that has its index.
fn first_tick(view: &View<'_>, ruler: &Ruler, from: u64, limit: u64) -> Option<u64> {
    let mut tick = ruler.tick_after(from.saturating_sub(1));
    while tick < limit {
        let back = minor_index(view, tick);
        let is_right = |back| i128::from(tick) - i128::from(back) == i128::from(ruler.index());
        if back.is_some_and(is_right) {
            return Some(tick);
        }
        tick = ruler.tick_after(tick);
    }
    None
}

/// The sizes that an Index tells, with the size of a unit as index frames really are apart.
fn confirmed(view: &View<'_>, ruler: Ruler) -> Ruler {
    let holds = |minor: &u64| {
        let ruler = Ruler { minor: *minor, ..ruler };
        let tick = ruler.tick_after(u64::try_from(ruler.index()).unwrap_or(0));
        minor_index(view, tick) == Some(*minor)
    };
    if holds(&ruler.minor) {
        return ruler;
    }
    let mut sizes = (11..48).map(|bits| 1_u64 << bits).take_while(|minor| *minor < ruler.major);
    let minor = sizes.find(holds).unwrap_or(ruler.minor);
    Ruler { minor, ..ruler }
}

/// A ruler from two index frames that agree with each other, where there is no Marker.
fn ruler_from_indices(view: &View<'_>, from: u64, limit: u64) -> Option<Ruler> {
    let bytes = view.get(from..limit);
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte | 1 == 0x09) {
        let position = from + at as u64;
        // The first entry is always the Index, a multiple of the unit back.
        let Some(back) = minor_index(view, position).filter(|back| back % 2048 == 0) else {
            continue;
        };
        let mut sizes = (11..48).map(|bits| 1_u64 << bits).take_while(|minor| *minor <= back);
        let found = sizes.find(|minor| {
            back % minor == 0 && minor_index(view, position + minor) == Some(back + minor)
        });
        if let Some(minor) = found {
            let index = i64::try_from(position).ok()?.checked_sub_unsigned(back)?;
            let marker = index.checked_sub_unsigned(MARKER)?;
            // How large a Unit is does not matter: there is no Marker up to the limit.
            return Some(Ruler { marker, major: 1 << 48, minor });
        }
    }
    None
}
