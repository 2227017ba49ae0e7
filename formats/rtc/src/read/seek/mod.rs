//! Finding messages by stream and time through the indices, a few units at a time.
//!
//! What is found is what going through the whole session would find. Where a unit is damaged, or
//! can be read in more than one way, there is [`Doubt`] instead of an answer.

mod time;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use kymo_core::bytes::Limits;
use kymo_model::timeline::TimeNs;
use kymo_rtc_wire::read::{Begin, Frame, IndexedStream, Item, View, Walker};

use super::outline::{Outline, Tick, Ticks};
use super::tracker::{CompletedItem, Tracker};
use crate::types::{CLOCKS_MAX, OwnedMessage, Stream};

/// The message of a clock is over within so many units.
const CLOCK_UNITS_MAX: u64 = 4;

/// The indices do not tell, or not for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Uncertain;

/// An answer, unless there is doubt.
pub(crate) type Certain<T> = std::result::Result<T, Uncertain>;

/// Looks for messages of one session.
pub(crate) struct Seeker<'a> {
    view: View<'a>,
    outline: &'a Outline,
    ticks: &'a Ticks,
    limits: &'a Limits,
    /// Times that a clock showed, by the last frame that indices name and the number of units since
    /// then.
    moments: HashMap<(usize, u64, u64), Option<TimeNs>>,
}

/// Frames of a stream in a unit.
#[derive(Debug, Default)]
struct UnitContent {
    /// The frame that ends the last message which begins in the unit.
    whole: Option<Frame>,
    /// Message that it ends.
    completed: Option<CompletedItem>,
    /// The frame that ends what may have begun before the unit.
    rest: Option<u64>,
    /// Message that the last frame leaves open; `None` when there is no frame.
    open: Option<Open>,
    /// True if the last message goes on in a further unit.
    goes_on: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    /// A message that begins in the unit.
    Begun,
    /// A message that may have begun before.
    Unknown,
}

impl<'a> Seeker<'a> {
    /// Looks for messages of the session of a stream.
    pub(crate) fn new(
        view: View<'a>,
        outline: &'a Outline,
        limits: &'a Limits,
        stream: usize,
    ) -> Certain<Self> {
        let session = outline.catalog.streams.get(stream).ok_or(Uncertain)?.session;
        let ticks = outline.sessions.get(session).ok_or(Uncertain)?;
        Ok(Self { view, outline, ticks, limits, moments: HashMap::new() })
    }

    fn stream(&self, index: usize) -> Certain<&'a Stream> {
        self.outline.catalog.streams.get(index).ok_or(Uncertain)
    }

    fn clock_of(&self, index: usize) -> Option<usize> {
        self.outline.clocks.get(index).copied().flatten()
    }

    /// The clock that tells when a message of a stream happened: of a clock, itself.
    pub(crate) fn own_clock(&self, index: usize) -> Certain<Option<usize>> {
        let stream = self.stream(index)?;
        if stream.is_annotation() || self.may_go_back(index) {
            return Err(Uncertain);
        }
        Ok(if stream.is_clock() { Some(index) } else { self.clock_of(index) })
    }

    /// Returns true if the time of a stream may go back: its own, or that of its clocks.
    pub(crate) fn may_go_back(&self, index: usize) -> bool {
        let may = |stream: usize| self.stream(stream).is_ok_and(Stream::may_go_back);
        self.with_clocks(index).into_iter().any(may)
    }

    /// A stream and the clocks that it depends on.
    pub(crate) fn with_clocks(&self, stream: usize) -> Vec<usize> {
        let item = |stream: &usize| self.clock_of(*stream);
        std::iter::successors(Some(stream), item).take(CLOCKS_MAX).collect()
    }

    /// Returns the last position of a stream before a tick: the first of its frames in that unit.
    fn target(&self, tick: Tick, stream: usize) -> Certain<Option<u64>> {
        match self.ticks.find(&self.view, tick, self.stream(stream)?.id) {
            Some(IndexedStream::At(at)) => Ok(Some(at)),
            Some(IndexedStream::Never) => Ok(None),
            // It is hidden from the indices, or they are damaged.
            Some(IndexedStream::Absent) | None => Err(Uncertain),
        }
    }

    /// The tick of the last unit before this one that has a stream.
    fn unit_before(&self, tick: Tick, stream: usize) -> Certain<Option<Tick>> {
        Ok(self.target(tick, stream)?.map(|at| self.ticks.tick_at(at)))
    }

    /// The last unit before this one that has any of some streams.
    pub(crate) fn unit_before_all(&self, tick: Tick, streams: &[usize]) -> Certain<Option<Tick>> {
        let mut last = None;
        for stream in streams {
            last = last.max(self.unit_before(tick, *stream)?);
        }
        Ok(last)
    }

    pub(crate) fn tick_at(&self, position: u64) -> Tick {
        self.ticks.tick_at(position)
    }

    /// The tick of a tick's Unit, and where its Marker is.
    pub(crate) fn unit_of(&self, tick: Tick) -> (Tick, u64) {
        let unit = self.ticks.unit_of(tick);
        (unit, self.ticks.position(unit))
    }

    pub(crate) fn last_tick(&self) -> Tick {
        self.ticks.last_tick()
    }

    /// A walk from a tick on, and where its session ends.
    pub(crate) fn walk_from(&self, tick: Tick) -> (Walker, u64) {
        (self.ticks.walker(&self.view, tick), self.ticks.end)
    }

    /// The first unit from this one on that has a stream, or that may have it, being the last.
    fn unit_from(&self, tick: Tick, stream: usize) -> Certain<Option<Tick>> {
        let last = self.ticks.last_tick();
        if tick > last {
            return Ok(None);
        }
        let from = self.ticks.position(tick);
        let has = |until: u64| Ok(self.target(Tick(until), stream)?.is_some_and(|at| at >= from));
        let (mut low, mut high) = (tick.0, last.0 + 1);
        // At `low` it was not seen; whether at `high`, beyond the last tick, nothing tells.
        while high - low > 1 {
            let middle = low.midpoint(high);
            if has(middle)? {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(Some(Tick(high - 1)))
    }

    /// Goes through the frames from a walk's place to another, and tells of each what it ends.
    fn read(
        &self,
        walker: &mut Walker,
        tracker: &mut Tracker,
        until: u64,
        mut each: impl FnMut(&Frame, Option<&CompletedItem>, &Tracker) -> ControlFlow<()>,
    ) -> Certain<()> {
        while walker.position() < until {
            match walker.next(&self.view) {
                Ok(Item::Frame(frame)) => {
                    let completed = tracker.frame(&frame, &self.view, walker);
                    // What is left out for its length is to be told of.
                    let limit = self.limits.value_bytes_max;
                    if tracker.take_omitted().iter().any(|open| open.length > limit) {
                        return Err(Uncertain);
                    }
                    if each(&frame, completed.as_ref(), tracker).is_break() {
                        return Ok(());
                    }
                }
                Ok(Item::Unit(_) | Item::Checksum(_)) => {}
                Ok(Item::End) => break,
                Ok(Item::Damage(_) | Item::Streams(_)) | Err(_) => return Err(Uncertain),
            }
        }
        Ok(())
    }

    fn tracker(&self) -> Tracker {
        let Outline { catalog, clocks, .. } = self.outline;
        let Ticks { number, endian, .. } = *self.ticks;
        Tracker::from_session(Arc::clone(catalog), clocks, number, endian, self.limits)
    }

    /// A tracker whose clocks show what they showed at a tick, as far as a stream needs them.
    pub(crate) fn tracker_at(
        &mut self,
        tick: Tick,
        streams: &[usize],
        depth: usize,
    ) -> Certain<Tracker> {
        let mut tracker = self.tracker();
        for stream in streams {
            self.set_clocks(&mut tracker, tick, *stream, depth)?;
            if self.stream(*stream)?.is_clock() {
                tracker.set_clock(*stream, self.moment(*stream, tick, depth + 1)?);
            }
        }
        Ok(tracker)
    }

    /// Sets the clocks that a stream is on to what they showed at a tick. What a clock showed
    /// itself does not matter to what it says next.
    fn set_clocks(
        &mut self,
        tracker: &mut Tracker,
        tick: Tick,
        stream: usize,
        depth: usize,
    ) -> Certain<()> {
        let mut clock = self.clock_of(stream);
        for _ in 0..CLOCKS_MAX {
            let Some(value) = clock else { break };
            tracker.set_clock(value, self.moment(value, tick, depth + 1)?);
            clock = self.clock_of(value);
        }
        Ok(())
    }

    /// Returns the time that a clock shows at a tick.
    fn moment(&mut self, clock: usize, tick: Tick, depth: usize) -> Certain<Option<TimeNs>> {
        if depth > CLOCKS_MAX {
            return Err(Uncertain);
        }
        let Some(at) = self.target(tick, clock)? else { return Ok(None) };
        // A message that goes on beyond its unit counts from where it ends: soon after.
        let age = (tick.0 - self.ticks.tick_at(at).0).min(CLOCK_UNITS_MAX);
        if let Some(known) = self.moments.get(&(clock, at, age)) {
            return Ok(*known);
        }
        let last = self.last_before(clock, Some(tick), depth)?;
        let time = last.and_then(|message| message.time);
        self.moments.insert((clock, at, age), time);
        Ok(time)
    }

    /// Goes through the frames of a unit, and on to a limit while some streams have open messages:
    /// indices name where messages begin, and not always the units that only go on with one.
    fn read_on(
        &self,
        from: (&mut Walker, &mut Tracker),
        unit: Tick,
        limit: u64,
        streams: &[usize],
        mut each: impl FnMut(&Frame, Option<&CompletedItem>, &Tracker) -> ControlFlow<()>,
    ) -> Certain<()> {
        let (walker, tracker) = from;
        let mut is_done = false;
        let mut end = self.ticks.end_of(unit).min(limit);
        loop {
            self.read(walker, tracker, end, |frame, completed, tracker| {
                let flow = each(frame, completed, tracker);
                is_done = flow.is_break();
                flow
            })?;
            let is_open = streams.iter().any(|stream| tracker.is_open(*stream));
            if is_done || !is_open || end >= limit {
                return Ok(());
            }
            end = self.ticks.end_of(self.ticks.tick_at(end)).min(limit);
        }
    }

    /// Looks at what of a stream begins in a unit, and ends before a limit.
    fn unit_content(&self, tick: Tick, stream: usize, limit: u64) -> Certain<UnitContent> {
        let id = self.stream(stream)?.id;
        let unit_end = self.ticks.end_of(tick);
        let mut seen = UnitContent::default();
        let (mut walker, mut tracker) = (self.ticks.walker(&self.view, tick), self.tracker());
        let from = (&mut walker, &mut tracker);
        self.read_on(from, tick, limit, &[stream], |frame, completed, _| {
            if frame.id == id {
                seen.goes_on |= frame.position >= unit_end;
                seen.note(frame, completed);
            }
            // Of what follows only the end of the open message counts.
            let is_over = seen.goes_on && seen.open == Some(Open::Nothing);
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(seen)
    }

    /// The last message of a stream.
    pub(crate) fn last(&mut self, stream: usize) -> Certain<Option<OwnedMessage>> {
        self.last_before(stream, None, 0)
    }

    /// The last message of a stream that ends before a tick, or before the session does.
    fn last_before(
        &mut self,
        stream: usize,
        tick: Option<Tick>,
        depth: usize,
    ) -> Certain<Option<OwnedMessage>> {
        let (mut unit, limit) = match tick {
            None => (Some(self.ticks.last_tick()), self.ticks.end),
            Some(tick) => (self.unit_before(tick, stream)?, self.ticks.position(tick)),
        };
        // A message whose beginning may lie before its unit: that unit, and the frame that ends it.
        let mut rest: Option<(Tick, u64)> = None;
        while let Some(tick) = unit {
            let seen = self.unit_content(tick, stream, limit)?;
            match (rest, &seen.whole) {
                (None, Some(frame)) => {
                    return match self.last_message(stream, &seen) {
                        Some(message) => Ok(Some(message)),
                        None => self.message(tick, stream, frame.position, depth),
                    };
                }
                (None, None) => rest = seen.rest.map(|end| (tick, end)),
                (Some((_, end)), Some(frame)) if frame.position == end => {
                    return self.message(tick, stream, end, depth);
                }
                (Some((this_tick, end)), _) if !seen.goes_on && seen.open.is_some() => {
                    return self.message(this_tick, stream, end, depth);
                }
                // It begins here, or still before.
                (Some((_, end)), _) => rest = Some((tick, end)),
            }
            unit = self.unit_before(tick, stream)?;
        }
        // Nothing was before it.
        rest.map_or(Ok(None), |(this_tick, end)| self.message(this_tick, stream, end, depth))
    }

    /// The last message of a unit, where nothing before the unit matters to it.
    fn last_message(&self, stream: usize, seen: &UnitContent) -> Option<OwnedMessage> {
        let (frame, completed) = (seen.whole.as_ref()?, seen.completed.as_ref()?);
        let has_no_clock = self.clock_of(stream).is_none();
        (!completed.is_joined && (has_no_clock || completed.time.is_some())).then(|| OwnedMessage {
            stream,
            offset: completed.offset,
            time: completed.time,
            payload: frame.bytes(&self.view).to_vec(),
        })
    }

    /// The message that a frame ends, read from a tick on before which it does not begin.
    fn message(
        &mut self,
        tick: Tick,
        stream: usize,
        end: u64,
        depth: usize,
    ) -> Certain<Option<OwnedMessage>> {
        let clocks = self.with_clocks(stream);
        let tick = self.reading_start(tick, clocks.get(1..).unwrap_or_default())?;
        let mut walker = self.ticks.walker(&self.view, tick);
        let mut tracker = self.tracker();
        self.set_clocks(&mut tracker, tick, stream, depth)?;
        let mut found = None;
        let view = self.view;
        self.read(&mut walker, &mut tracker, end + 1, |frame, completed, tracker| {
            if let Some(completed) = completed.filter(|_| frame.position == end) {
                found = Some(OwnedMessage::from_message(&tracker.message(completed, frame, &view)));
            }
            ControlFlow::Continue(())
        })?;
        found.map(Some).ok_or(Uncertain)
    }

    /// Returns true if what a stream has before a tick ends there; if not, the tick before which it
    /// begins.
    fn message_start(&self, tick: Tick, stream: usize) -> Certain<Tick> {
        let Stream { id, length_bytes, .. } = self.stream(stream)?;
        // Only what a unit opens with can be the rest of a message of fixed length.
        if length_bytes.is_some() && self.ticks.opens_with_rest(&self.view, tick) != Some(*id) {
            return Ok(tick);
        }
        let limit = self.ticks.position(tick);
        let mut begins = tick;
        let mut unit = self.unit_before(tick, stream)?;
        while let Some(before) = unit {
            match self.unit_content(before, stream, limit)?.open {
                Some(Open::Nothing) => break,
                Some(Open::Begun) => return Ok(before),
                Some(Open::Unknown) | None => {
                    begins = before;
                    unit = self.unit_before(before, stream)?;
                }
            }
        }
        Ok(begins)
    }

    /// The tick not after which the reading of streams is to begin for all messages that end
    /// after a tick to be whole. Those that end before it may not be, but for those of clocks.
    pub(crate) fn reading_start(&self, tick: Tick, streams: &[usize]) -> Certain<Tick> {
        let mut start = tick;
        for stream in streams {
            start = start.min(self.message_start(tick, *stream)?);
        }
        loop {
            let mut first = start;
            for clock in streams {
                if self.stream(*clock)?.is_clock() {
                    first = first.min(self.message_start(start, *clock)?);
                }
            }
            if first == start {
                return Ok(start);
            }
            start = first;
        }
    }

    /// Those of some streams whose messages go on beyond a tick.
    pub(crate) fn open_at(&self, tick: Tick, streams: &[usize]) -> Certain<Vec<usize>> {
        let mut open = Vec::new();
        for stream in streams {
            let Stream { id, length_bytes, .. } = self.stream(*stream)?;
            // Only what a unit opens with can be the rest of a message of fixed length.
            if length_bytes.is_some() && self.ticks.opens_with_rest(&self.view, tick) != Some(*id) {
                continue;
            }
            let Some(before) = self.unit_before(tick, *stream)? else { continue };
            if self.unit_content(before, *stream, self.ticks.position(tick))?.open
                != Some(Open::Nothing)
            {
                open.push(*stream);
            }
        }
        Ok(open)
    }
}

impl UnitContent {
    fn note(&mut self, frame: &Frame, completed: Option<&CompletedItem>) {
        let begun = match (frame.begin, self.open) {
            (Begin::Start, _) | (Begin::Continuation, Some(Open::Begun)) => Open::Begun,
            (Begin::Continuation | Begin::Unknown, _) => Open::Unknown,
        };
        self.open = Some(if frame.more { begun } else { Open::Nothing });
        if frame.more {
            return;
        }
        if begun == Open::Unknown {
            self.rest = self.rest.or(Some(frame.position));
        } else {
            (self.whole, self.completed) = (Some(*frame), completed.copied());
        }
    }
}
