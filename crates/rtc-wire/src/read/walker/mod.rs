//! The walk through frames.

mod boundary;
mod changed;
mod damage;
mod frame;
mod guess;
mod head;
mod learn;
mod mend;
mod remains;
mod rest;
mod shift;
mod special;
mod sum;
mod unit;
mod value;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::crc::Polynomial;
use crate::spec::{CRC_BYTES, MARKER_BYTES, id};

use super::meta::Definitions;
use super::{Frame, Item, NeedMore, Ruler, Streams, View};
use changed::UnitChange;
use damage::MarkerSearch;
use remains::Remains;
use sum::Sum;

const MARKER: u64 = MARKER_BYTES as u64;
const CRC: u64 = CRC_BYTES as u64;

/// So many zeros at the end of a unit, or behind it, stand for all that follow.
const FADE: u64 = 8;

/// Number of contradictions between Metas that are looked into.
const CONTRADICTIONS_MAX: u32 = 256;

/// Number of checksums of a Unit away from their place that are looked at.
pub(super) const TRUSTS_MAX: u32 = 8;

/// Number of guesses at rests that a walk makes in all.
const RESTS_TOTAL: u32 = 1 << 16;

/// Frames of streams are one kind, behind each of those that always exist.
const OF_STREAMS: usize = id::FIRST_USER as usize;

/// End of the data of the current Unit.
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
#[allow(clippy::struct_excessive_bools, reason = "each is about something else")]
pub struct Walker {
    position: u64,
    is_lost: bool,
    is_started: bool,
    session: u64,
    count: Option<u64>,
    ruler: Option<Ruler>,
    /// Frames may not cross this place.
    boundary: u64,
    /// True if the boundary is the end of the Unit's data, not a tick of a unit.
    is_last: bool,
    end: UnitEnd,
    /// A boundary up to which places to go on were searched for.
    searched: u64,
    /// A boundary before which nothing more was found to go on at.
    impassable: u64,
    /// A boundary that is known to be reached by padding.
    padded: u64,
    /// End of the last frame that is no padding.
    data_end: u64,
    /// Behind the header of the last frame that was given of each kind: all streams are one. After
    /// damage bytes are read once more, and no frame is given twice.
    given: [u64; OF_STREAMS + 1],
    streams: Streams,
    meta: Vec<u8>,
    is_meta_open: bool,
    /// Positions at which the frames of the Meta were joined.
    seams: Vec<usize>,
    index: Vec<u8>,
    is_index_open: bool,
    /// Frames were lost, and no frame of a stream was seen since.
    is_unsettled: bool,
    /// The Units before the first are missing, and its streams are not yet known.
    is_headless: bool,
    /// True if the first frame after the last boundary was looked at for being a rest.
    has_tried_rest: bool,
    /// Number of guesses at rests that are left: a file made to be slow gets no more.
    rests_left: u32,
    /// Number of indices away from their place that are still to be proven by frames.
    shifts_left: u32,
    /// Up to here no such index was found.
    unshifted: u64,
    /// A Unit that begins here with a damaged Marker or Index.
    remains: Option<Remains>,
    /// Number of such beginnings that are still to be proven.
    remains_left: u32,
    /// Up to here none was found.
    unremained: u64,
    /// End of the Meta of the Unit, once it was read.
    opened: u64,
    /// True if the checksum of the Unit holds, once that was asked.
    is_unit_whole: Option<bool>,
    /// Number of contradictions of Metas that are still looked into.
    contradictions_left: u32,
    /// Number of checksums of the Unit away from their place that are still looked at.
    trusts_left: u32,
    /// True if later Units are asked for streams that are not known, and how often in this one.
    learns: bool,
    learns_left: u32,
    /// The Unit began with its Index, and its Meta is still to come.
    is_meta_due: bool,
    /// Up to here frames make sense although no Meta describes them.
    undescribed: u64,
    /// A boundary up to which it was tried to read streams that no Meta describes.
    guessed: u64,
    /// Place where the last damage was noticed. Also the number of bytes that are missing before
    /// the place to which the ruler moved for it; below zero, too many.
    noticed: u64,
    missing: i128,
    /// Range in which the next Marker was looked for.
    sought: Option<MarkerSearch>,
    definitions: Definitions,
    /// Description of each stream of the session, as a number that distinguishes texts.
    said: BTreeMap<u32, u64>,
    /// Number of values of the unit that are not of their format and are still looked into.
    doubts_left: u32,
    /// Number of bytes that are still looked at to find what has the form of values.
    fitted_bytes_left: u64,
    /// The single byte that was changed, once it was looked for.
    changed: Option<UnitChange>,
    /// In how many Units the byte that was changed is still looked for.
    mends_left: u32,
    is_big_endian: Option<bool>,
    has_crc: Option<bool>,
    after_crc: bool,
    sum: Sum,
    queued: [Option<Item>; 4],
    verifies: bool,
    /// True if bytes that can be read in two ways count as damage.
    is_strict: bool,
    /// The next Unit is the first of its session, whose streams are known.
    is_first: bool,
}

/// Place within a session at which a walk begins.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The number of the session.
    pub session: u64,
    /// The ruler of the Unit.
    pub ruler: Ruler,
    /// The number of the Unit.
    pub count: u64,
    /// The Unit's Marker, or the tick of one of its units.
    pub tick: u64,
    /// A frame of that unit, not its first of a stream, where the walk is to begin.
    pub frame: Option<u64>,
}

impl Walker {
    /// A walk from the beginning of a file.
    #[must_use]
    pub fn new() -> Self {
        Self::from_position(0)
    }

    /// A walk from a place of which nothing is known.
    #[must_use]
    pub fn from_position(position: u64) -> Self {
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
            impassable: 0,
            padded: 0,
            data_end: 0,
            given: [0; OF_STREAMS + 1],
            streams: Streams::new(),
            meta: Vec::new(),
            is_meta_open: false,
            seams: Vec::new(),
            index: Vec::new(),
            is_index_open: false,
            is_unsettled: false,
            is_headless: false,
            has_tried_rest: false,
            rests_left: RESTS_TOTAL,
            shifts_left: shift::SHIFTS_TOTAL,
            unshifted: 0,
            remains: None,
            remains_left: remains::REMAINS_TOTAL,
            unremained: 0,
            opened: 0,
            is_unit_whole: None,
            contradictions_left: CONTRADICTIONS_MAX,
            trusts_left: TRUSTS_MAX,
            learns: true,
            learns_left: learn::LEARNS_MAX,
            is_meta_due: false,
            undescribed: 0,
            guessed: 0,
            noticed: 0,
            missing: 0,
            sought: None,
            definitions: Definitions::default(),
            said: BTreeMap::new(),
            doubts_left: value::DOUBTS_MAX,
            fitted_bytes_left: value::FITTED_BYTES_TOTAL,
            changed: None,
            mends_left: mend::MENDS_TOTAL,
            is_big_endian: None,
            has_crc: None,
            after_crc: false,
            sum: Sum::new(0, Polynomial::Ieee),
            queued: [None; 4],
            verifies: true,
            is_strict: false,
            is_first: false,
        }
    }

    /// A walk that begins within a session, with streams that are known. It leaves checksums
    /// alone, and takes no way to read the first frame where there is another: then it finds
    /// damage.
    #[must_use]
    pub fn in_session(
        view: &View<'_>,
        place: &Place,
        streams: Streams,
        is_big_endian: Option<bool>,
    ) -> Self {
        let mut walker = Self::from_position(place.frame.unwrap_or(place.tick));
        (walker.is_lost, walker.is_started) = (false, true);
        walker.session = place.session;
        walker.streams = streams;
        walker.is_big_endian = is_big_endian;
        (walker.verifies, walker.is_strict) = (false, true);
        walker.sum.next = None;
        walker.boundary = place.tick;
        let marker = u64::try_from(place.ruler.marker).unwrap_or(0);
        let is_unit = marker == place.tick;
        if !is_unit || place.count > 0 || place.frame.is_some() {
            walker.forget_chains();
        }
        if is_unit {
            walker.is_last = true;
            walker.end = UnitEnd::Known { marker, has_crc: true };
            walker.count = place.count.checked_sub(1);
            walker.ruler = walker.count.map(|_| place.ruler.previous_unit());
        } else {
            walker.count = Some(place.count);
            walker.ruler = Some(place.ruler);
        }
        walker.is_first = is_unit && place.count == 0;
        if place.frame.is_some() {
            (walker.ruler, walker.count) = (Some(place.ruler), Some(place.count));
            // Only the first frame of a unit can be the rest of a message of fixed length.
            walker.streams.settle_fixed();
            (walker.is_first, walker.is_unsettled) = (false, false);
            walker.end = UnitEnd::Unknown;
            walker.set_boundary(view);
        }
        walker
    }

    /// Takes it that no message of some streams is open here: what lies before tells so.
    pub fn close_messages(&mut self, streams: impl IntoIterator<Item = u32>) {
        for id in streams {
            self.streams.close(id);
        }
    }

    /// Leaves checksums alone, for walks that are to touch few bytes.
    #[must_use]
    pub fn without_checksums(mut self) -> Self {
        self.verifies = false;
        self
    }

    /// Returns the position of the walk.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The first byte that a view must still have after [`absorb`](Self::absorb).
    #[must_use]
    pub fn needs(&self) -> u64 {
        let position = self.position.saturating_sub(shift::SWALLOWED_MAX);
        self.sum.next.filter(|_| self.verifies).map_or(position, |next| next.min(position))
    }

    /// Returns true if the writer ended the session here: the last frame was a checksum, and it is
    /// not at the end of a Unit, where there is one anyway.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.after_crc && self.ruler.is_none_or(|ruler| ruler.end() != self.position)
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

    /// Returns true if the writer's byte order is big-endian, once a platform frame told.
    #[must_use]
    pub fn is_big_endian(&self) -> Option<bool> {
        self.is_big_endian
    }

    /// Returns the definitions of the Meta or meta whose last frame was just given.
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
    #[inline]
    pub fn next(&mut self, view: &View<'_>) -> Result<Item, NeedMore> {
        if let Some(frame) = self.plain(view) {
            return Ok(Item::Frame(frame));
        }
        self.step(view)
    }

    fn step(&mut self, view: &View<'_>) -> Result<Item, NeedMore> {
        loop {
            let item = if let Some(item) = self.queued[0].take() {
                self.queued.rotate_left(1);
                Some(item)
            } else if let Some(remains) = self.remains.take() {
                Some(self.begin_at(view, remains)?)
            } else if self.is_lost {
                self.find_place(view)?
            } else if self.position >= self.boundary {
                self.cross(view)?
            } else {
                self.frame(view)?
            };
            match item {
                Some(Item::Frame(frame)) if self.is_given(&frame) => {}
                Some(item) => return Ok(item),
                None => {}
            }
        }
    }

    /// Returns true if a frame was given before, or one of its kind behind it; else marks it as
    /// given.
    fn is_given(&mut self, frame: &Frame) -> bool {
        let kind = usize::try_from(frame.id).map_or(OF_STREAMS, |id| id.min(OF_STREAMS));
        let given = self.given.get_mut(kind);
        let is_given = given.as_ref().is_some_and(|given| frame.position < **given);
        if let Some(given) = given.filter(|_| !is_given) {
            *given = frame.position + 1;
        }
        is_given
    }

    /// Gives an item before all that wait.
    fn queue_first(&mut self, item: Item) {
        self.queued.rotate_right(1);
        self.queued[0] = Some(item);
    }

    fn queue(&mut self, item: Item) {
        if let Some(free) = self.queued.iter_mut().find(|queued| queued.is_none()) {
            *free = Some(item);
        }
    }

    /// Asks for more bytes, unless none will come, or none are there at present.
    fn hope(view: &View<'_>, position: u64) -> Result<(), NeedMore> {
        if view.reaches_for_now(position) { Ok(()) } else { Err(NeedMore(position)) }
    }

    /// Asks for more bytes, unless none will come.
    fn need(view: &View<'_>, position: u64) -> Result<(), NeedMore> {
        if view.reaches(position) { Ok(()) } else { Err(NeedMore(position)) }
    }
}

impl Default for Walker {
    fn default() -> Self {
        Self::new()
    }
}
