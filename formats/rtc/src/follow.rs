//! Reading a recording that is still being written.

use kymo_core::bytes::Limits;
use kymo_core::{Context, Error, Invariant as _, Result, Source};
use kymo_model::{LiveRecording, LiveRecordingSink};
use kymo_rtc_wire::read::{Item, NeedMore, Unit, View, Walker, major_index, marker_before};
use kymo_rtc_wire::spec::id;

use crate::check;
use crate::decode::{self, Decoders};
use crate::model::{FieldMode, Lanes, event};
use crate::read::{
    Continuation, FileStatistics, Open, Outline, Problem, Seeker, Tracker, begin_unit,
};

/// Bytes without a Marker that are held, in the hope of one that explains them.
const HELD_BYTES_MAX: usize = 64 << 20;

/// Streams that are looked at one by one for what is open where following begins.
const SETTLED_MAX: usize = 256;

/// True if more bytes will come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum More {
    Soon,
    /// None are there at present: what is whole is given, before it is seen what follows it.
    NotNow,
    Never,
}

/// Follows a file or a pipe.
pub(crate) struct Follower {
    walker: Walker,
    tracker: Tracker,
    limits: Limits,
    lanes: Lanes,
    decoders: Decoders,
    bytes: Vec<u8>,
    base: u64,
    /// The payload of an event whose byte order was turned around.
    turned: Vec<u8>,
    /// Number of clocks and tracks that were reported.
    told: (usize, usize),
    tally: FileStatistics,
    /// Start of the Unit.
    unit: u64,
    /// True if there was a Unit.
    is_begun: bool,
    /// Following begins within a session of which nothing is missing.
    is_within: bool,
    /// Streams of which no message is open where it does; when their Meta was read, that counts.
    closed: Vec<u32>,
}

/// A place from which a recording is understood that is there already.
struct Place {
    marker: u64,
    tracker: Tracker,
    closed: Vec<u32>,
}

impl Follower {
    pub(crate) fn new(context: &Context<'_>) -> Self {
        Self::with_limits(&context.limits)
    }

    fn with_limits(limits: &Limits) -> Self {
        Self {
            walker: Walker::new(),
            tracker: Tracker::new(limits),
            limits: *limits,
            lanes: Lanes::default(),
            decoders: Decoders::default(),
            bytes: Vec::new(),
            base: 0,
            turned: Vec::new(),
            told: (0, 0),
            tally: FileStatistics::default(),
            unit: 0,
            is_begun: false,
            is_within: false,
            closed: Vec::new(),
        }
    }

    /// Goes on as far as the bytes so far allow.
    fn walk(&mut self, more: More, to: &mut dyn LiveRecordingSink) -> Result<()> {
        let is_final = more == More::Never;
        loop {
            let view = View::part(&self.bytes, self.base, is_final);
            let view = if more == More::NotNow { view.paused() } else { view };
            let item = match self.walker.next(&view) {
                Ok(Item::End) => return Ok(()),
                Ok(item) => item,
                Err(NeedMore(_)) => {
                    self.walker.absorb(&view);
                    return Ok(());
                }
            };
            self.take(item, is_final, to)?;
        }
    }

    fn take(&mut self, item: Item, is_final: bool, to: &mut dyn LiveRecordingSink) -> Result<()> {
        let view = View::part(&self.bytes, self.base, is_final);
        match item {
            Item::Unit(unit) => self.unit(&unit, to),
            Item::Frame(frame) => {
                let completed = self.tracker.frame(&frame, &view, &self.walker);
                self.tally.frame(&frame, completed.as_ref(), &mut self.tracker);
                let left_out = self.tracker.take_omitted();
                let left_out = left_out.iter().map(Problem::omitted_message);
                let lacking = completed.filter(|completed| completed.may_lack_beginning);
                let lacking = lacking.as_ref().map(Problem::may_miss_beginning);
                let meta = Problem::from_meta(&frame, &self.walker);
                for problem in left_out.chain(meta).chain(lacking) {
                    to.finding(check::finding(self.tracker.streams(), &problem))?;
                }
                if frame.id == id::META && !frame.more {
                    self.walker.close_messages(self.closed.drain(..));
                }
                self.announce_streams(completed.is_some(), to)?;
                let Some(completed) = completed else { return Ok(()) };
                let view = View::part(&self.bytes, self.base, is_final);
                let message = self.tracker.message(&completed, &frame, &view);
                let stream = self.tracker.streams().get(message.stream);
                let stream = stream.or_broken("a message is of a stream that is known")?;
                let (endian, decoders) = (self.tracker.endian(), &self.decoders);
                let decode = || decode::decode(message.payload, stream, endian, decoders);
                let (lanes, turned) = (&self.lanes, &mut self.turned);
                let stream = Some(stream);
                to.event(&event(lanes, &message, decode, stream, endian, turned, FieldMode::Text))
            }
            Item::Checksum(checksum) => {
                if checksum.polynomial.is_none() && !checksum.is_unchecked {
                    to.finding(check::wrong_checksum(self.unit))?;
                }
                Ok(())
            }
            Item::Damage(damage) => {
                if damage.loses_frames() {
                    let open = self.tracker.lose_frames();
                    self.tally.has_lost = true;
                    self.report_unfinished(&open, Continuation::Loss, to)?;
                }
                to.finding(check::damage(&damage))
            }
            Item::Streams(offset) => {
                self.tracker.define(offset, &self.walker);
                self.announce_streams(false, to)
            }
            Item::End => Ok(()),
        }
    }

    fn unit(&mut self, unit: &Unit, to: &mut dyn LiveRecordingSink) -> Result<()> {
        let is_other = usize::try_from(unit.session) != Ok(self.tracker.session());
        if is_other {
            let open = self.tracker.drop_open();
            self.report_unfinished(&open, Continuation::End, to)?;
        }
        if is_other || !std::mem::replace(&mut self.is_begun, true) {
            let is_whole = std::mem::take(&mut self.is_within) || unit.count == Some(0);
            self.tally.has_lost = !is_whole;
            let missing = check::first_count(unit.position, unit.count);
            missing.filter(|_| !is_whole).map_or(Ok(()), |missing| to.finding(missing))?;
        }
        self.unit = unit.position;
        begin_unit(&mut self.tracker, unit, &self.walker);
        self.announce_streams(false, to)
    }

    /// Tells of messages that have no end.
    fn report_unfinished(
        &self,
        open: &[Open],
        after: Continuation,
        to: &mut dyn LiveRecordingSink,
    ) -> Result<()> {
        open.iter().try_for_each(|open| {
            let problem = Problem::unfinished(open, after);
            to.finding(check::finding(self.tracker.streams(), &problem))
        })
    }

    /// Tells of clocks and tracks that are new: when the byte order is known, which comes after
    /// the streams, or when that is due.
    fn announce_streams(&mut self, is_due: bool, to: &mut dyn LiveRecordingSink) -> Result<()> {
        if !is_due && self.walker.is_big_endian().is_none() {
            return Ok(());
        }
        for index in self.lanes.tracks().len()..self.tracker.streams().len() {
            let clock = self.tracker.clock_of(index);
            let since_epoch = self.tracker.is_since_epoch(index);
            let (streams, endian) = (self.tracker.streams(), self.tracker.endian());
            self.lanes.add(streams, index, clock, since_epoch, endian);
        }
        for clock in self.lanes.clocks().iter().skip(self.told.0) {
            to.clock(clock)?;
        }
        for track in self.lanes.tracks().iter().skip(self.told.1) {
            to.track(track)?;
        }
        self.told = (self.lanes.clocks().len(), self.lanes.tracks().len());
        Ok(())
    }

    /// Returns the place to begin so that messages come whole that are open at the last Unit, with
    /// what clocks show there. Where that takes more than a few units, the clocks are known when
    /// they are next set.
    fn place(&self, view: &View<'_>, last: u64) -> Option<Place> {
        let outline = Outline::new(&view.truncated(last), &self.limits)?;
        // Numbers of sessions begin where following does.
        let streams = outline.catalog.session_streams(0);
        let is_within = outline.sessions.len() == 1 && major_index(view, last)?.count > 0;
        let first = streams.first().filter(|_| is_within && streams.len() <= SETTLED_MAX)?;
        let mut seeker = Seeker::new(*view, &outline, &self.limits, *first).ok()?;
        let settled = seeker.reading_start(seeker.tick_at(last), streams).ok()?;
        let (tick, marker) = seeker.unit_of(settled);
        let tracker = seeker.tracker_at(tick, streams, 0).ok()?;
        let open = seeker.open_at(tick, streams).ok()?;
        let id = |stream: &usize| Some(outline.catalog.streams.get(*stream)?.id);
        let closed = streams.iter().filter(|stream| !open.contains(stream)).filter_map(id);
        Some(Place { marker, tracker, closed: closed.collect() })
    }

    /// Lets go of bytes that are done with.
    fn release(&mut self) {
        let done = self.walker.needs().saturating_sub(self.base);
        let done = usize::try_from(done).unwrap_or(usize::MAX).min(self.bytes.len());
        // Moving what is left is worth while when much goes.
        if done > self.bytes.len() / 2 {
            self.bytes.drain(..done);
            self.base += done as u64;
        }
    }
}

impl LiveRecording for Follower {
    /// The last Unit describes the streams; what came before is not needed.
    fn start(&mut self, so_far: &Source) -> Result<u64> {
        let bytes = so_far.bytes()?;
        let view = View::from_file(&bytes);
        self.base = marker_before(&view, view.end()).unwrap_or(0);
        self.is_within = self.base > 0;
        if let Some(place) = self.place(&view, self.base) {
            (self.base, self.tracker, self.closed) = (place.marker, place.tracker, place.closed);
        }
        self.walker = Walker::from_position(self.base);
        Ok(self.base)
    }

    fn push(&mut self, bytes: &[u8], to: &mut dyn LiveRecordingSink) -> Result<()> {
        self.bytes.extend_from_slice(bytes);
        self.walk(More::Soon, to)?;
        self.release();
        if self.bytes.len() > HELD_BYTES_MAX {
            let why = format!("there was no Marker in {HELD_BYTES_MAX} bytes");
            return Err(Error::request(why));
        }
        Ok(())
    }

    fn pause(&mut self, to: &mut dyn LiveRecordingSink) -> Result<()> {
        self.walk(More::NotNow, to)
    }

    fn is_ended(&self) -> bool {
        self.walker.is_ended()
    }

    fn finish(&mut self, to: &mut dyn LiveRecordingSink) -> Result<()> {
        self.walk(More::Never, to)?;
        let open = self.tracker.drop_open();
        self.report_unfinished(&open, Continuation::End, to)?;
        self.announce_streams(true, to)?;
        for finding in check::times(self.tracker.streams(), &self.tally.statistics) {
            to.finding(finding)?;
        }
        self.bytes.clear();
        Ok(())
    }
}
