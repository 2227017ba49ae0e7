//! Messages as the events of a timeline.
//!
//! A channel is a track, and `log_time` is its clock. What the model has no place for and is not
//! shown there, conversions say: `publish_time`, sequence numbers, attachments, metadata, private
//! records and the profile.

mod channels;
mod take;
mod unsupported;
mod values;

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, OnceLock};

use kymo_core::{Finding, Result, Severity};
use kymo_model::timeline::{
    Activity, Clock, ClockId, Content, Event, Events, Missing, TimeNs, TimelineView, Track,
    TrackId, Tracks, Window,
};

use crate::Reader;
use crate::read::{Body, Walk};
use crate::types::Message;

pub(crate) use channels::note_orphans;
pub(crate) use take::write_timeline;
use values::Decoder;

/// The timeline of a file: messages in the order of the file.
pub(crate) struct Timeline {
    reader: Arc<Reader>,
    clocks: Vec<Clock>,
    tracks: Tracks,
    /// The channel of each track, in ascending order.
    channels: Vec<u16>,
    decoders: Vec<Decoder>,
    ranges: OnceLock<Vec<Option<RangeInclusive<TimeNs>>>>,
}

impl Timeline {
    pub(crate) fn new(reader: Arc<Reader>) -> Self {
        let (clocks, tracks) = channels::tracks(&reader);
        note_orphans(&reader);
        let channels = reader.channels().keys().copied().collect();
        let spelt = reader.channels().values().map(channels::has_json_events);
        let decoders = tracks.iter().zip(spelt).map(|(track, is)| Decoder::new(track, is));
        let decoders = decoders.collect();
        let tracks = tracks.into();
        Self { reader, clocks, tracks, channels, decoders, ranges: OnceLock::new() }
    }

    /// The track that had a number when it was written: ids of channels count from 1.
    fn numbered(&self, number: u64) -> Option<TrackId> {
        let id = u16::try_from(number.checked_add(1)?).ok()?;
        self.channels.binary_search(&id).ok().map(TrackId)
    }

    /// The track of a message that is asked for.
    fn selected_track(&self, message: &Message, window: &Window) -> Option<TrackId> {
        let track = TrackId(self.channels.binary_search(&message.channel_id).ok()?);
        let is_wanted = window.includes_track(track) && window.holds(self.time(track, message));
        is_wanted.then_some(track)
    }

    /// The moment of a message, on the clock of its track.
    fn time(&self, track: TrackId, message: &Message) -> Option<TimeNs> {
        self.tracks.get(track.0)?.clock?;
        i64::try_from(message.log_time).ok().map(TimeNs)
    }

    /// The range of each clock, where there are several: that takes a walk through all messages.
    fn ranges(&self) -> &[Option<RangeInclusive<TimeNs>>] {
        self.ranges.get_or_init(|| {
            let mut ranges: Vec<Option<RangeInclusive<TimeNs>>> = vec![None; self.clocks.len()];
            let window = Window::default();
            let mut walk = self.walk(0..self.reader.pieces().len(), &window);
            while let Some(item) = walk.next() {
                let Body::Message(message) = &item.body else { continue };
                let Some(track) = self.selected_track(message, &window) else { continue };
                let clock = self.tracks.get(track.0).and_then(|track| track.clock);
                let range = clock.and_then(|clock| ranges.get_mut(clock.0));
                let Some((range, time)) = range.zip(self.time(track, message)) else { continue };
                let (first, last) = range.take().map_or((time, time), RangeInclusive::into_inner);
                *range = Some(first.min(time)..=last.max(time));
            }
            ranges
        })
    }

    /// A walk through some pieces, as far as a window needs them.
    fn walk(&self, pieces: Range<usize>, window: &Window) -> Walk<Arc<Reader>> {
        let moment = |time: Option<TimeNs>| time.map(|time| u64::try_from(time.0).unwrap_or(0));
        let (from, until) = (moment(window.from).unwrap_or(0), moment(window.until));
        Walk::through(Arc::clone(&self.reader), pieces).in_time_range(from, until)
    }

    /// The messages of a window, by their fields where these are asked for.
    fn messages(self: Arc<Self>, window: &Window, has_fields: bool) -> Messages {
        let pieces = self.reader.pieces().len();
        let (first, skipped) = match window.last {
            None => (0, 0),
            Some(0) => (pieces, 0),
            Some(last) => self.start_of_last(window, last),
        };
        let walk = self.walk(first..pieces, window);
        let (window, undefined) = (window.clone(), BTreeSet::new());
        let gaps = Gaps::new(&self);
        Messages { timeline: self, walk, window, skipped, undefined, has_fields, gaps, held: None }
    }

    /// The piece from which on there are the last events of a window, and how many of it are
    /// before them.
    fn start_of_last(&self, window: &Window, last: u64) -> (usize, u64) {
        let mut found = 0;
        for piece in (0..self.reader.pieces().len()).rev() {
            let mut walk = self.walk(piece..piece + 1, window);
            while let Some(item) = walk.next() {
                let Body::Message(message) = &item.body else { continue };
                found += u64::from(self.selected_track(message, window).is_some());
            }
            if found >= last {
                return (piece, found - last);
            }
        }
        (0, 0)
    }
}

impl TimelineView for Timeline {
    fn clocks(&self) -> Vec<Clock> {
        self.clocks.clone()
    }

    fn tracks(&self) -> Tracks {
        self.tracks.clone()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(Box::new(self.messages(window, false)))
    }

    fn events_with_fields(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(Box::new(self.messages(window, true)))
    }

    fn has_fields(&self) -> bool {
        self.decoders.contains(&Decoder::Spelt)
    }

    fn range(self: Arc<Self>, clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        if self.tracks.iter().all(|track| track.clock == Some(clock)) {
            let times = self.reader.survey().times.clone();
            return Ok(times.and_then(|times| {
                let [start, end] = [*times.start(), *times.end()].map(i64::try_from);
                Some(TimeNs(start.ok()?)..=TimeNs(end.ok()?))
            }));
        }
        Ok(self.ranges().get(clock.0).cloned().flatten())
    }

    fn unsupported(self: Arc<Self>) -> Result<Vec<Finding>> {
        Ok(unsupported::unsupported_findings(&self.reader))
    }
}

/// The messages of a window, one after another.
struct Messages {
    timeline: Arc<Timeline>,
    walk: Walk<Arc<Reader>>,
    window: Window,
    /// Events to pass over before the first that is asked for.
    skipped: u64,
    /// Channels that are not defined, and were said to be so.
    undefined: BTreeSet<u16>,
    /// True if events are told by their fields.
    has_fields: bool,
    gaps: Gaps,
    /// The message behind something that is missing.
    held: Option<SelectedMessage>,
}

/// A message that is asked for, with its offset and its track.
type SelectedMessage = (u64, TrackId, Message);

/// Gaps among messages.
struct Gaps {
    /// Track on which gaps are reported: that of a task, a function or a machine, where there is
    /// any.
    track: Option<TrackId>,
    /// The last time that is known on the clock of that track.
    last: Option<TimeNs>,
    is_lacking: bool,
}

impl Gaps {
    fn new(timeline: &Timeline) -> Self {
        Self { track: Track::gap_track(&timeline.tracks, 0), last: None, is_lacking: false }
    }

    /// Since when something is missing, and where that is told.
    fn take(&mut self) -> Option<(TrackId, TimeNs)> {
        let is_lacking = std::mem::take(&mut self.is_lacking);
        Some((self.track?, self.last?)).filter(|_| is_lacking)
    }

    /// Sees a message of the file, asked for or not.
    fn add_message(&mut self, timeline: &Timeline, message: &Message) {
        let Some(own) = self.track else { return };
        let Ok(track) = timeline.channels.binary_search(&message.channel_id) else { return };
        let clock = |track: usize| timeline.tracks.get(track).and_then(|track| track.clock);
        if clock(track) == clock(own.0) {
            self.last = timeline.time(TrackId(track), message).or(self.last);
        }
    }
}

/// Next thing among messages.
enum Next {
    Message(SelectedMessage),
    /// Gap: the track on which it is reported, its start, and the byte that it is before.
    Gap(TrackId, TimeNs, u64),
}

impl Messages {
    /// The next message that is asked for, or what is missing before it.
    fn find(&mut self) -> Option<Next> {
        if let Some(asked) = self.held.take() {
            return Some(Next::Message(asked));
        }
        loop {
            let item = self.walk.next();
            self.gaps.is_lacking |= self.walk.take_missing();
            let Some(item) = item else {
                return self.gap(self.timeline.reader.bytes().len() as u64);
            };
            let Body::Message(message) = item.body else { continue };
            let gap = self.gap(item.offset);
            self.gaps.add_message(&self.timeline, &message);
            let asked = match self.timeline.selected_track(&message, &self.window) {
                Some(_) if self.skipped > 0 => {
                    self.skipped -= 1;
                    continue;
                }
                Some(track) => Some((item.offset, track, message)),
                None => {
                    self.note_undefined(&message, item.offset);
                    None
                }
            };
            match (gap, asked) {
                (None, None) => {}
                (None, Some(asked)) => return Some(Next::Message(asked)),
                (gap, asked) => {
                    self.held = asked;
                    return gap;
                }
            }
        }
    }

    /// Returns the gap before a byte, where that is asked for.
    fn gap(&mut self, offset: u64) -> Option<Next> {
        let (track, time) = self.gaps.take()?;
        let is_asked = self.window.includes_track(track) && self.window.holds(Some(time));
        (is_asked && self.skipped == 0).then_some(Next::Gap(track, time, offset))
    }

    /// A message without a channel has no track, and is left out.
    fn note_undefined(&mut self, message: &Message, offset: u64) {
        let (id, reader) = (message.channel_id, &self.timeline.reader);
        if !reader.channels().contains_key(&id) && self.undefined.insert(id) {
            let why = format!("messages on channel {id}, which is not defined, are left out");
            let finding = Finding::at_offset(Severity::Error, "undefined-channel", offset, why);
            reader.faults().push(finding);
        }
    }

    fn note_time(&self, message: &Message, offset: u64) {
        let why = format!("the time {} is beyond the year 2262, and left out", message.log_time);
        let finding = Finding::at_offset(Severity::Warning, "time-range", offset, why);
        self.timeline.reader.faults().push(finding);
    }
}

impl Events for Messages {
    fn position(&self) -> u64 {
        self.walk.position()
    }

    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let (offset, track, message) = match self.find() {
            None => return Ok(None),
            Some(Next::Message(asked)) => asked,
            Some(Next::Gap(track, time, offset)) => {
                let content = Content::Activity(Activity::Gap(Missing::AllEvents));
                let (time, payload) = (Some(time), &[]);
                return Ok(Some(Event { track, time, offset, content, payload, partial: None }));
            }
        };
        let time = self.timeline.time(track, &message);
        let tracks = &self.timeline.tracks;
        if time.is_none() && tracks.get(track.0).is_some_and(|track| track.clock.is_some()) {
            self.note_time(&message, offset);
        }
        let payload = self.walk.data(&message.data);
        let decoder = self.timeline.decoders.get(track.0);
        let numbered = |number| self.timeline.numbered(number);
        let content = decoder.map_or(Content::Payload, |this_decoder| {
            this_decoder.content(payload, self.has_fields, numbered)
        });
        Ok(Some(Event { track, time, offset, content, payload, partial: None }))
    }
}
