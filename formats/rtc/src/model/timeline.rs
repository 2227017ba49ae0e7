//! The timeline of a file, of which a window is found through the indices.

use std::ops::RangeInclusive;
use std::sync::Arc;

use kymo_core::Result;
use kymo_model::timeline::{
    Activity, Clock, ClockId, Content, Event, Events, Missing, TimeNs, TimelineView, Track,
    TrackId, Tracks, Window,
};

use super::{FieldMode, Lanes, event};
use crate::Reader;
use crate::read::{Certain, Messages, Seeker, Tick, Uncertain};
use crate::types::Message;

/// Streams that are looked for one by one; of more, everything is read.
const SOUGHT_MAX: usize = 256;

/// The timeline of a file.
#[derive(Debug)]
pub(crate) struct Timeline {
    reader: Arc<Reader>,
    lanes: Lanes,
    /// Of each session, where it is told that something is missing.
    gaps: Vec<Option<TrackId>>,
}

impl Timeline {
    pub(crate) fn new(reader: Arc<Reader>) -> Self {
        let mut lanes = Lanes::default();
        let streams = reader.streams();
        for index in 0..streams.len() {
            let clock = reader.clocks().get(index).copied().flatten();
            let session = streams.get(index).map_or(0, |stream| stream.session);
            let since_epoch = reader.is_since_epoch(index);
            lanes.add(streams, index, clock, since_epoch, reader.endian(session));
        }
        let sessions = streams.iter().map(|stream| stream.session + 1).max().unwrap_or(0);
        let gaps = (0..sessions).map(|session| Track::gap_track(lanes.tracks(), session)).collect();
        Self { reader, lanes, gaps }
    }

    fn walk(self: Arc<Self>, window: &Window, tell: FieldMode) -> Walk {
        let reading = self.read_window(window).unwrap_or_else(|_| self.read_all(window));
        Walk { timeline: self, reading, window: window.clone(), turned: Vec::new(), tell }
    }

    /// Messages that are read, and what is missing among them.
    fn reading_of(&self, messages: Messages, stop: Option<Stop>) -> WindowReader {
        let clock =
            |track: &Option<TrackId>| self.reader.clocks().get((*track)?.0).copied().flatten();
        let messages = messages.watching(self.gaps.iter().map(clock).collect());
        WindowReader { messages, stop, held: None }
    }

    /// All messages, of which the first events of a window are left out.
    fn read_all(&self, window: &Window) -> WindowReader {
        let reading = || self.reading_of(self.reader.messages(), None);
        let Some(last) = window.last else { return reading() };
        let skip = reading().count(window).saturating_sub(last);
        let mut reading = reading();
        reading.skip(window, skip);
        reading
    }

    /// The messages of a window, read from the tick on where the first of them may be.
    fn read_window(&self, window: &Window) -> Certain<WindowReader> {
        if window.from.or(window.until).is_none() && window.last.is_none() {
            return Err(Uncertain);
        }
        let wanted = self.window_streams(window)?;
        let Some(&first) = wanted.first() else {
            return Ok(self.reading_of(Messages::none(&self.reader), None));
        };
        let is_timed = window.from.or(window.until).is_some();
        self.reader.seek(first, |seeker| {
            if is_timed && wanted.iter().any(|stream| seeker.may_go_back(*stream)) {
                return Err(Uncertain);
            }
            let low = earliest(seeker, &wanted, window.from)?;
            let Some(last) = window.last else {
                return self.reading(seeker, low, &wanted, window);
            };
            let mut tick = latest(seeker, &wanted, window.until)?.max(low);
            let mut step = 1;
            loop {
                let count = self.reading(seeker, tick, &wanted, window)?.count(window);
                if count >= last || tick <= low {
                    let mut reading = self.reading(seeker, tick, &wanted, window)?;
                    reading.skip(window, count.saturating_sub(last));
                    return Ok(reading);
                }
                // Not one unit after the other where none of the streams is.
                let before = seeker.unit_before_all(tick, &wanted)?.unwrap_or(low);
                tick = before.min(Tick(tick.0.saturating_sub(step))).max(low);
                step *= 2;
            }
        })
    }

    /// The streams of a window, where all of them are in one session and on clocks that rise.
    fn window_streams(&self, window: &Window) -> Certain<Vec<usize>> {
        let streams = self.reader.streams();
        let is_timed = window.from.or(window.until).is_some();
        let has_time = |index: &usize| {
            let is_clock = streams.get(*index).is_some_and(crate::Stream::is_clock);
            is_clock || self.reader.clocks().get(*index).is_some_and(Option::is_some)
        };
        let is_wanted = |index: &usize| window.includes_track(TrackId(*index));
        let is_remark =
            |index: &usize| streams.get(*index).is_some_and(crate::Stream::is_annotation);
        let all = (0..streams.len()).filter(is_wanted);
        if is_timed && all.clone().any(|index| is_remark(&index)) {
            return Err(Uncertain);
        }
        let wanted: Vec<usize> = all.filter(|index| !is_timed || has_time(index)).collect();
        let session = |index: usize| streams.get(index).map(|stream| stream.session);
        let is_one_session = wanted.windows(2).all(|pair| match pair {
            [a, b] => session(*a) == session(*b),
            _ => true,
        });
        let rises = self.reader.scan_so_far().is_none_or(|scan| {
            scan.statistics.iter().all(|statistics| statistics.went_back.is_none())
        });
        let is_sound = is_one_session && rises && wanted.len() <= SOUGHT_MAX;
        if is_sound { Ok(wanted) } else { Err(Uncertain) }
    }

    fn reading(
        &self,
        seeker: &mut Seeker<'_>,
        tick: Tick,
        wanted: &[usize],
        window: &Window,
    ) -> Certain<WindowReader> {
        let mut needed: Vec<usize> =
            wanted.iter().flat_map(|stream| seeker.with_clocks(*stream)).collect();
        needed.sort_unstable();
        needed.dedup();
        let tick = seeker.reading_start(tick, &needed)?;
        let (mut walker, end) = seeker.walk_from(tick);
        let mut tracker = seeker.tracker_at(tick, wanted, 0)?;
        let open = seeker.open_at(tick, wanted)?;
        let settled = wanted.iter().filter(|stream| !open.contains(stream));
        let streams = self.reader.streams();
        walker.close_messages(settled.filter_map(|stream| Some(streams.get(*stream)?.id)));
        tracker.skip_remainders(open);
        let messages = Messages::from_walker(Arc::clone(&self.reader), walker, tracker, end);
        let stop = window.until.map(|until| {
            let mut clocks: Vec<usize> =
                wanted.iter().filter_map(|stream| seeker.own_clock(*stream).ok()?).collect();
            clocks.sort_unstable();
            clocks.dedup();
            Stop { until, clocks }
        });
        Ok(self.reading_of(messages, stop))
    }

    /// The range of the streams on a clock, if the indices tell: else that of the clock itself.
    fn quick_range(&self, clock: usize) -> Certain<Option<RangeInclusive<TimeNs>>> {
        let streams = self.reader.streams().iter().enumerate();
        let is_on = |index: usize| self.reader.clocks().get(index) == Some(&Some(clock));
        let events = streams.filter(|(index, stream)| !stream.is_clock() && is_on(*index));
        let events: Vec<usize> = events.map(|(index, _)| index).take(SOUGHT_MAX + 1).collect();
        if events.len() > SOUGHT_MAX {
            return Err(Uncertain);
        }
        self.reader.seek(clock, |seeker| match range_of(seeker, &events)? {
            Some(range) => Ok(Some(range)),
            None => range_of(seeker, &[clock]),
        })
    }
}

/// The first and the last time of some streams.
fn range_of(seeker: &mut Seeker<'_>, streams: &[usize]) -> Certain<Option<RangeInclusive<TimeNs>>> {
    let mut all = None;
    for stream in streams {
        let first = seeker.first(*stream, TimeNs(i64::MIN))?.and_then(|first| first.time);
        let Some(first) = first else { continue };
        let last = seeker.last(*stream)?.and_then(|last| last.time);
        // A clock that goes back may end before it began.
        let last = last.filter(|last| first <= *last).ok_or(Uncertain)?;
        all = Some(joined(all, first..=last));
    }
    Ok(all)
}

fn joined(
    all: Option<RangeInclusive<TimeNs>>,
    range: RangeInclusive<TimeNs>,
) -> RangeInclusive<TimeNs> {
    let Some(all) = all else { return range };
    *all.start().min(range.start())..=*all.end().max(range.end())
}

/// The first tick at which any of some streams may be late enough.
fn earliest(seeker: &mut Seeker<'_>, streams: &[usize], from: Option<TimeNs>) -> Certain<Tick> {
    let Some(from) = from else { return Ok(Tick(0)) };
    let mut first = None;
    for stream in streams {
        if let Some(tick) = seeker.tick_of_time(*stream, from)? {
            first = Some(first.map_or(tick, |first: Tick| first.min(tick)));
        }
    }
    first.ok_or(Uncertain)
}

/// The last tick at which any of some streams may still be early enough.
fn latest(seeker: &mut Seeker<'_>, streams: &[usize], until: Option<TimeNs>) -> Certain<Tick> {
    let Some(until) = until else { return Ok(seeker.last_tick()) };
    let mut last = Tick(0);
    for stream in streams {
        if let Some(tick) = seeker.tick_of_time(*stream, until)? {
            last = last.max(tick);
        }
    }
    Ok(last)
}

impl TimelineView for Timeline {
    fn clocks(&self) -> Vec<Clock> {
        self.lanes.clocks.clone()
    }

    fn tracks(&self) -> Tracks {
        self.lanes.tracks().to_vec().into()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(Box::new(self.walk(window, FieldMode::Text)))
    }

    fn events_with_fields(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(Box::new(self.walk(window, FieldMode::Fields)))
    }

    fn has_fields(&self) -> bool {
        self.lanes.has_fields()
    }

    fn range(self: Arc<Self>, clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        let stream = self.lanes.stream_of(clock);
        if let Some(Ok(range)) = stream.map(|stream| self.quick_range(stream)) {
            return Ok(range);
        }
        let scan = self.reader.scan();
        let (mut events, mut own) = (None, None);
        let streams = self.reader.streams().iter().zip(&scan.statistics);
        for (track, (stream, statistics)) in self.lanes.tracks.iter().zip(streams) {
            let times = statistics.times.clone().filter(|_| track.clock == Some(clock));
            let Some(times) = times else { continue };
            let range = if stream.is_clock() { &mut own } else { &mut events };
            *range = Some(joined(range.take(), times));
        }
        Ok(events.or(own))
    }
}

/// Messages of which a window is taken.
struct WindowReader {
    messages: Messages,
    stop: Option<Stop>,
    /// The message behind something that is missing.
    held: Option<crate::read::LocatedMessage>,
}

/// Next thing of a window.
enum Next {
    Message(crate::read::LocatedMessage),
    /// Something is missing since then, before this message.
    Gap(TimeNs, crate::read::LocatedMessage),
}

/// Stop for reading: clocks that rise have all passed the end of a window.
struct Stop {
    until: TimeNs,
    clocks: Vec<usize>,
}

impl WindowReader {
    /// Goes to the next message of a window, or to what is missing before it.
    fn next(&mut self, window: &Window) -> Option<Next> {
        loop {
            let held = self.held.take();
            let found = match held {
                Some(found) => found,
                None => self.messages.advance()?,
            };
            if let Some(time) = self.messages.take_loss() {
                self.held = Some(found);
                return Some(Next::Gap(time, found));
            }
            if self.is_past(found.stream()) {
                return None;
            }
            if passes(window, &self.messages.message(&found)) {
                return Some(Next::Message(found));
            }
        }
    }

    /// Goes to the next message of a window.
    fn advance(&mut self, window: &Window) -> Option<crate::read::LocatedMessage> {
        loop {
            if let Next::Message(found) = self.next(window)? {
                return Some(found);
            }
        }
    }

    /// Returns true if nothing of the window can follow, now that there was a message of a stream.
    fn is_past(&self, stream: usize) -> bool {
        let Some(stop) = self.stop.as_ref().filter(|stop| stop.clocks.contains(&stream)) else {
            return false;
        };
        let has_passed = |clock: &usize| self.messages.shows(*clock) >= Some(stop.until);
        stop.clocks.iter().all(has_passed)
    }

    fn count(mut self, window: &Window) -> u64 {
        let mut count = 0;
        while self.advance(window).is_some() {
            count += 1;
        }
        count
    }

    fn skip(&mut self, window: &Window, count: u64) {
        for _ in 0..count {
            self.advance(window);
        }
    }
}

fn passes(window: &Window, message: &Message<'_>) -> bool {
    window.includes_track(TrackId(message.stream)) && window.holds(message.time)
}

struct Walk {
    timeline: Arc<Timeline>,
    reading: WindowReader,
    window: Window,
    /// The payload of an event whose byte order was turned around.
    turned: Vec<u8>,
    tell: FieldMode,
}

impl Walk {
    /// Returns the event that something is missing before a message, where it may be something that
    /// tasks, functions or machines did. It may be of any of them.
    fn gap(&self, time: TimeNs, before: &crate::read::LocatedMessage) -> Option<Event<'static>> {
        let message = self.reading.messages.message(before);
        let session = self.timeline.reader.streams().get(message.stream)?.session;
        let track = self.timeline.gaps.get(session).copied().flatten()?;
        let is_asked = self.window.includes_track(track) && self.window.holds(Some(time));
        let content = Content::Activity(Activity::Gap(Missing::AllEvents));
        let (time, offset) = (Some(time), message.offset);
        is_asked.then_some(Event { track, time, offset, content, payload: &[], partial: None })
    }
}

impl Events for Walk {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let found = loop {
            match self.reading.next(&self.window) {
                None => return Ok(None),
                Some(Next::Message(found)) => break found,
                Some(Next::Gap(time, before)) => {
                    if let Some(gap) = self.gap(time, &before) {
                        return Ok(Some(gap));
                    }
                }
            }
        };
        let message = self.reading.messages.message(&found);
        let reader = &self.timeline.reader;
        let stream = reader.streams().get(message.stream);
        let endian = reader.endian(stream.map_or(0, |stream| stream.session));
        let decode = || reader.decode(&message);
        let lanes = &self.timeline.lanes;
        Ok(Some(event(lanes, &message, decode, stream, endian, &mut self.turned, self.tell)))
    }
}
