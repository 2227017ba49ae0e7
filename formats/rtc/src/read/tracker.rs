//! From frames to messages: chains are joined, clocks are read, times are told.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kymo_core::bytes::{Endian, Limits};
use kymo_core::slot;
use kymo_model::timeline::TimeNs;
use kymo_rtc_wire::read::{Begin, Frame, View, Walker};
use kymo_rtc_wire::spec::id;

use super::named::Named;
use crate::decode::{self, Encoding};
use crate::types::{ClockRole, Message, Stream, root_of};

/// Follows a walk, and knows at each place which streams there are and what their clocks show.
#[derive(Debug, Clone)]
pub(crate) struct Tracker {
    catalog: Arc<Catalog>,
    /// The streams that were met, in the order in which the file defines them.
    met: Vec<usize>,
    /// True if what was said of a stream first was replaced.
    has_replaced: bool,
    is_met: Vec<bool>,
    /// The streams of the session by name, and those of them that are clocks.
    names: Named,
    clock_names: Named,
    /// Time that each clock shows; indices are those of streams.
    shown: Vec<Option<TimeNs>>,
    /// Time counted by clocks that count from one which shows nothing.
    counted: HashMap<usize, TimeNs>,
    /// Clocks that were not set since frames were lost, and may have been by those.
    stale: HashSet<usize>,
    /// The clock of each stream.
    clocks: Vec<Option<usize>>,
    open: HashMap<usize, Open>,
    left_out: Vec<Open>,
    /// Streams whose next frames are the rest of a message that is not asked for.
    rests: Vec<usize>,
    session: usize,
    endian: Endian,
    joined: Vec<u8>,
    limits: Limits,
}

/// The streams of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Catalog {
    pub streams: Vec<Stream>,
    pub by_id: HashMap<(usize, u32), usize>,
    by_session: Vec<Vec<usize>>,
}

impl Catalog {
    /// Adds a stream, and returns its number.
    pub(crate) fn add(&mut self, stream: Stream) -> usize {
        let index = self.streams.len();
        self.by_id.insert((stream.session, stream.id), index);
        // Sessions are numbered as they come, so that this grows by one at a time.
        slot(&mut self.by_session, stream.session).push(index);
        self.streams.push(stream);
        index
    }

    /// The streams of a session.
    pub(crate) fn session_streams(&self, session: usize) -> &[usize] {
        self.by_session.get(session).map_or(&[], Vec::as_slice)
    }
}

/// A message whose end is still to come.
#[derive(Debug, Clone)]
pub(crate) struct Open {
    pub offset: u64,
    pub stream: usize,
    pub bytes: Vec<u8>,
    /// Length of the message, also where its bytes are not kept.
    pub length: u64,
    may_lack_beginning: bool,
}

impl Open {
    /// Returns true if nothing of the message lies before what was read.
    pub(crate) fn is_from_its_beginning(&self) -> bool {
        !self.may_lack_beginning
    }
}

/// Message that a frame completed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompletedItem {
    pub stream: usize,
    pub offset: u64,
    pub time: Option<TimeNs>,
    pub relative: Option<TimeNs>,
    pub may_lack_beginning: bool,
    /// True if the payload was joined of several; false if it is that of the frame.
    pub is_joined: bool,
}

impl Tracker {
    /// Begins without knowing any stream.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self::knowing(Arc::default(), limits)
    }

    /// Begins with streams that are known, so that they keep their numbers.
    pub(crate) fn knowing(catalog: Arc<Catalog>, limits: &Limits) -> Self {
        let mut tracker = Self::empty(catalog, limits);
        tracker.learn_names();
        tracker
    }

    fn empty(catalog: Arc<Catalog>, limits: &Limits) -> Self {
        let count = catalog.streams.len();
        Self {
            catalog,
            met: Vec::new(),
            has_replaced: false,
            is_met: vec![false; count],
            names: Named::default(),
            clock_names: Named::default(),
            shown: vec![None; count],
            counted: HashMap::new(),
            stale: HashSet::new(),
            clocks: vec![None; count],
            open: HashMap::new(),
            left_out: Vec::new(),
            rests: Vec::new(),
            session: 0,
            endian: Endian::Little,
            joined: Vec::new(),
            limits: *limits,
        }
    }

    /// Begins in the middle of a session whose streams and clocks are known.
    pub(crate) fn from_session(
        catalog: Arc<Catalog>,
        clocks: &[Option<usize>],
        session: usize,
        endian: Option<Endian>,
        limits: &Limits,
    ) -> Self {
        let mut tracker = Self::empty(catalog, limits);
        tracker.clocks = clocks.to_vec();
        tracker.session = session;
        tracker.endian = endian.unwrap_or(Endian::Little);
        tracker
    }

    pub(crate) fn streams(&self) -> &[Stream] {
        &self.catalog.streams
    }

    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The streams that were met so far, in the order in which the file defines them.
    pub(crate) fn known_streams(&self) -> &[usize] {
        &self.met
    }

    /// Returns true if what was said of a stream first was replaced.
    pub(crate) fn has_replaced(&self) -> bool {
        self.has_replaced
    }

    pub(crate) fn endian(&self) -> Endian {
        self.endian
    }

    pub(crate) fn session(&self) -> usize {
        self.session
    }

    /// The stream that gives a stream its times.
    pub(crate) fn clock_of(&mut self, stream: usize) -> Option<usize> {
        if let Some(known) = self.clocks.get(stream).copied().flatten() {
            return Some(known);
        }
        let found = self.find_clock(stream)?;
        *self.clocks.get_mut(stream)? = Some(found);
        Some(found)
    }

    /// The clock of each stream, as far as messages asked for it, or the session still runs.
    pub(crate) fn all_clocks(&mut self) -> Vec<Option<usize>> {
        self.find_clocks();
        self.clocks.clone()
    }

    /// Finds the clocks of the session's streams, while their names are known.
    fn find_clocks(&mut self) {
        let catalog = Arc::clone(&self.catalog);
        for stream in catalog.session_streams(self.session) {
            self.clock_of(*stream);
        }
    }

    /// Returns true if a message of a stream has not ended.
    pub(crate) fn is_open(&self, stream: usize) -> bool {
        self.open.contains_key(&stream)
    }

    /// Returns the time that a clock shows now.
    pub(crate) fn shows(&self, clock: usize) -> Option<TimeNs> {
        self.shown.get(clock).copied().flatten()
    }

    /// Sets what a clock shows, for reading that begins in the middle.
    pub(crate) fn set_clock(&mut self, clock: usize, time: Option<TimeNs>) {
        *slot(&mut self.shown, clock) = time;
    }

    pub(crate) fn find(&self, session: usize, id: u32) -> Option<usize> {
        self.catalog.by_id.get(&(session, id)).copied()
    }

    /// Another session begins: nothing of the one before counts any more.
    pub(crate) fn begin_session(&mut self, session: usize) {
        self.find_clocks();
        self.open.clear();
        self.counted.clear();
        self.session = session;
        self.endian = Endian::Little;
        self.learn_names();
    }

    /// Learns the names of the session's streams, as far as they are known.
    fn learn_names(&mut self) {
        self.names.clear();
        self.clock_names.clear();
        let catalog = Arc::clone(&self.catalog);
        for index in catalog.session_streams(self.session) {
            self.learn_name(*index);
        }
    }

    fn learn_name(&mut self, index: usize) {
        let Some(stream) = self.catalog.streams.get(index) else { return };
        self.names.add(stream, index);
        if stream.is_clock() {
            self.clock_names.add(stream, index);
        }
    }

    /// Frames were lost, or a session ended: what is open stays without an end.
    pub(crate) fn drop_open(&mut self) -> Vec<Open> {
        let mut lost: Vec<_> = self.open.drain().map(|(_, open)| open).collect();
        lost.sort_by_key(|open| open.offset);
        lost
    }

    /// Frames were lost: clocks may have been set by them. What was open is handed back.
    pub(crate) fn lose_frames(&mut self) -> Vec<Open> {
        let clocks = self.shown.iter().enumerate().filter(|(_, shown)| shown.is_some());
        self.stale.extend(clocks.map(|(clock, _)| clock));
        self.drop_open()
    }

    /// Returns true if what a clock shows may be from before something that was lost.
    pub(crate) fn is_stale(&self, clock: usize) -> bool {
        self.stale.contains(&clock)
    }

    /// Takes a frame; where it completes a message, tells of it.
    pub(crate) fn frame(
        &mut self,
        frame: &Frame,
        view: &View<'_>,
        walker: &Walker,
    ) -> Option<CompletedItem> {
        match frame.id {
            id::META | id::MINOR_META if !frame.more => self.define(frame.position, walker),
            id::PLATFORM => {
                let is_big = walker.is_big_endian().unwrap_or(false);
                self.endian = if is_big { Endian::Big } else { Endian::Little };
            }
            id if id >= id::FIRST_USER => {
                let stream = self.stream_of(id, frame.position);
                return self.join(stream, frame, frame.bytes(view));
            }
            _ => {}
        }
        None
    }

    /// Learns the streams of a Meta that was just read, or that was read ahead.
    pub(crate) fn define(&mut self, offset: u64, walker: &Walker) {
        let is_big = walker.is_big_endian().unwrap_or(self.endian == Endian::Big);
        self.endian = if is_big { Endian::Big } else { Endian::Little };
        let mut has_replaced = false;
        for definition in &walker.definitions().streams {
            if definition.id < id::FIRST_USER || !walker.streams().is_defined(definition.id) {
                continue;
            }
            let Some(index) = self.find(self.session, definition.id) else {
                self.add(Stream::new(self.session, offset, definition));
                continue;
            };
            self.note_definition(index, offset);
            let is_whole = self.streams().get(index).is_none_or(|known| known.is_whole);
            // A repetition, as most are; a damaged one is replaced by one that is not.
            if definition.is_whole
                && (definition.is_proven || !is_whole)
                && let Some(known) = Arc::make_mut(&mut self.catalog).streams.get_mut(index)
            {
                *known = Stream::new(self.session, known.offset, definition);
                has_replaced = true;
            }
        }
        if has_replaced {
            self.has_replaced = true;
            self.forget_names();
        }
    }

    /// Streams of the session may have other names now, by which others find their clocks.
    fn forget_names(&mut self) {
        let catalog = Arc::clone(&self.catalog);
        for stream in catalog.session_streams(self.session) {
            if let Some(clock) = self.clocks.get_mut(*stream) {
                *clock = None;
            }
        }
        self.learn_names();
    }

    fn add(&mut self, stream: Stream) -> usize {
        let offset = stream.offset;
        let index = Arc::make_mut(&mut self.catalog).add(stream);
        self.learn_name(index);
        self.is_met.push(false);
        self.shown.push(None);
        self.clocks.push(None);
        self.note_definition(index, offset);
        index
    }

    /// A walk that begins in the middle meets streams by their frames.
    #[inline]
    fn meet_at_frame(&mut self, index: usize) {
        if let Some(is_met) = self.is_met.get_mut(index)
            && !*is_met
        {
            *is_met = true;
            self.met.push(index);
        }
    }

    /// Takes note of where the file first tells of a stream.
    fn note_definition(&mut self, index: usize, offset: u64) {
        let Some(is_met) = self.is_met.get_mut(index).filter(|is_met| !**is_met) else { return };
        *is_met = true;
        self.met.push(index);
        if self.streams().get(index).is_some_and(|stream| stream.offset != offset)
            && let Some(stream) = Arc::make_mut(&mut self.catalog).streams.get_mut(index)
        {
            stream.offset = offset;
        }
    }

    /// Finds the clock of a stream by name, among clocks alone; that of an annotation is the clock
    /// of its stream.
    fn find_clock(&self, index: usize) -> Option<usize> {
        let stream = self.streams().get(index)?;
        let about = stream.about.as_deref().and_then(|name| self.names.find(name, stream.id));
        let (about, stream) = match about {
            Some(about) => (about, self.streams().get(about)?),
            None => (index, stream),
        };
        match &stream.clock {
            ClockRole::Clock | ClockRole::Delta(_) if about != index => Some(about),
            ClockRole::On(name) | ClockRole::Delta(name) => self.clock_names.find(name, stream.id),
            ClockRole::Clock | ClockRole::None => None,
        }
    }

    /// Returns true if a clock's times count from the Epoch.
    pub(crate) fn is_since_epoch(&mut self, clock: usize) -> bool {
        let root = root_of(clock, |clock| self.clock_of(clock));
        self.streams().get(root).is_some_and(Stream::is_since_epoch)
    }

    fn stream_of(&mut self, id: u32, offset: u64) -> usize {
        match self.find(self.session, id) {
            Some(index) => {
                self.meet_at_frame(index);
                index
            }
            None => self.add(Stream::undescribed(self.session, offset, id)),
        }
    }

    /// Passes over what comes first of some streams, up to the end of a message: reading begins
    /// within it.
    pub(crate) fn skip_remainders(&mut self, streams: Vec<usize>) {
        self.rests = streams;
    }

    /// Returns true if a frame is of a message that is passed over.
    fn is_passed_over(&mut self, stream: usize, frame: &Frame) -> bool {
        let Some(at) = self.rests.iter().position(|value| *value == stream) else { return false };
        let begins = frame.begin == Begin::Start;
        if begins || !frame.more {
            self.rests.swap_remove(at);
        }
        !begins
    }

    fn join(&mut self, stream: usize, frame: &Frame, payload: &[u8]) -> Option<CompletedItem> {
        if !self.rests.is_empty() && self.is_passed_over(stream, frame) {
            return None;
        }
        let may_lack_beginning = frame.begin == Begin::Unknown;
        let offset = frame.position;
        let is_alone = match frame.begin {
            Begin::Start => true,
            Begin::Continuation => false,
            Begin::Unknown => !self.open.contains_key(&stream),
        };
        if is_alone && !frame.more && !self.is_rest(stream, may_lack_beginning, payload) {
            let time = self.time(stream, payload);
            let is_joined = false;
            let relative = self.relative(stream, time);
            return Some(CompletedItem {
                stream,
                offset,
                time,
                relative,
                may_lack_beginning,
                is_joined,
            });
        }
        let may_lack_beginning = frame.begin != Begin::Start;
        let open = self.open.entry(stream).or_insert_with(|| Open {
            offset,
            stream,
            bytes: Vec::new(),
            length: 0,
            may_lack_beginning,
        });
        open.length += payload.len() as u64;
        if open.length <= self.limits.value_bytes_max {
            open.bytes.extend_from_slice(payload);
        }
        if frame.more {
            return None;
        }
        let open = self.open.remove(&stream)?;
        let declared = self.streams().get(stream).and_then(|stream| stream.length_bytes);
        if open.length > self.limits.value_bytes_max || declared.is_some_and(|d| d != open.length) {
            self.left_out.push(open);
            return None;
        }
        let time = self.time(stream, &open.bytes);
        self.joined = open.bytes;
        let Open { offset, may_lack_beginning, .. } = open;
        let relative = self.relative(stream, time);
        let is_joined = true;
        Some(CompletedItem { stream, offset, time, relative, may_lack_beginning, is_joined })
    }

    /// Returns true if a frame that may lack its beginning does: messages of its stream are longer.
    fn is_rest(&self, stream: usize, may_lack_beginning: bool, payload: &[u8]) -> bool {
        let declared = || self.streams().get(stream).and_then(|stream| stream.length_bytes);
        may_lack_beginning && declared().is_some_and(|declared| declared != payload.len() as u64)
    }

    /// Messages that were left out: longer than the limits allow, or only the end of one of fixed
    /// length.
    pub(crate) fn take_omitted(&mut self) -> Vec<Open> {
        std::mem::take(&mut self.left_out)
    }

    /// Returns the time of a message; the message of a clock sets it.
    fn time(&mut self, index: usize, payload: &[u8]) -> Option<TimeNs> {
        let clock = self.clock_of(index);
        let stream = self.catalog.streams.get(index)?;
        if let Encoding::Annotate(_) = stream.encoding {
            let moment = payload.get(..12)?;
            let moment = decode::nanoseconds(&Encoding::Timespec, None, moment, self.endian)?;
            return i64::try_from(moment).ok().map(TimeNs);
        }
        if !stream.is_clock() {
            return self.shows(clock?);
        }
        let scale = stream.scale.as_ref();
        // Of a description that is damaged the gain may be what is missing.
        let count = stream
            .is_whole
            .then(|| decode::nanoseconds(&stream.encoding, scale, payload, self.endian))
            .flatten();
        let base = match stream.clock {
            ClockRole::Delta(_) => clock.and_then(|clock| self.shows(clock)).map(|time| time.0),
            _ => Some(0),
        };
        let is_based = base.is_some() || !stream.is_whole;
        let counted = count.filter(|_| !is_based).and_then(|count| i64::try_from(count).ok());
        if let Some(counted) = counted {
            self.counted.insert(index, TimeNs(counted));
        } else if !self.counted.is_empty() {
            self.counted.remove(&index);
        }
        let time = count.zip(base).and_then(|(count, base)| count.checked_add(base.into()));
        let time = time.and_then(|time| i64::try_from(time).ok()).map(TimeNs);
        let is_on_stale = clock.is_some_and(|clock| self.is_stale(clock));
        self.set_clock(index, time);
        if !self.stale.is_empty() && !is_on_stale {
            self.stale.remove(&index);
        }
        time
    }

    /// Returns the time of a message since what its clock counts from, where that is not known.
    fn relative(&mut self, stream: usize, time: Option<TimeNs>) -> Option<TimeNs> {
        if time.is_some() || self.counted.is_empty() {
            return None;
        }
        let is_clock = self.streams().get(stream).is_some_and(Stream::is_clock);
        let clock = if is_clock { Some(stream) } else { self.clock_of(stream) };
        self.counted.get(&clock?).copied()
    }

    /// The message that a frame completed.
    pub(crate) fn message<'a>(
        &'a self,
        completed: &CompletedItem,
        frame: &Frame,
        view: &View<'a>,
    ) -> Message<'a> {
        let CompletedItem { stream, offset, time, relative, may_lack_beginning, is_joined } =
            *completed;
        let payload = if is_joined { &self.joined } else { frame.bytes(view) };
        Message { stream, offset, time, relative, payload, may_lack_beginning }
    }
}
