//! Timelines: tracks on clocks, and what happened on them when.
//!
//! A *clock* gives times; several may run in one recording with no known relation. A *track* is
//! one row of a timeline: a stream of messages, a counter, a thread. An *event* is one thing on a
//! track: a message, a value, a sample, a remark about the past.

mod activity;
mod activity_json;
mod attributes;
mod class;
mod display_time;
mod event_json;
mod field_lookup;
mod fields;
mod losses;
mod merged;
mod numbers;
mod times;
mod track_statistics;
mod tracks;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use kymo_core::{Finding, Result, Value};

pub use activity::{Activity, Message, Missing};
pub use attributes::Attributes;
pub use class::{Class, ClassWord};
pub use display_time::{DisplayDuration, DisplayTime};
pub use event_json::json_members;
pub use field_lookup::{Fielded, FieldedEvents, WithFields, fielded_tracks};
pub use fields::{EventFilter, Field, Fields};
pub use losses::{Losses, unsupported_findings};
pub use merged::{MergedEvents, Run};
pub use numbers::{NumberKind, NumberSurvey};
pub use times::EventTimes;
pub use track_statistics::TrackStatistics;
pub use tracks::Tracks;

/// A track's index in its view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrackId(pub usize);

/// A clock's index in its view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClockId(pub usize);

/// A moment on a clock, in nanoseconds: since the Epoch, or since the clock's own zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeNs(pub i64);

/// The timeline of a dataset.
pub trait TimelineView: Send + Sync {
    /// The clocks; their ids count from 0.
    fn clocks(&self) -> Vec<Clock>;

    /// The tracks; their ids count from 0. Parents come before their children.
    fn tracks(&self) -> Tracks;

    /// The events of a window, in the order of the recording; where that keeps each track by
    /// itself, in the order of their times ([`MergedEvents`]).
    ///
    /// A format with an index reads only what it needs to.
    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>>;

    /// Returns the names of events with fields, where the recording declares them before they come.
    fn declared(&self) -> Option<Vec<String>> {
        None
    }

    /// The same events, of which those may be left out that have fields, are declared not to be what
    /// is asked for, and are nothing else.
    fn filtered_events(
        self: Arc<Self>,
        window: &Window,
        _asked: EventFilter<'_>,
    ) -> Result<Box<dyn Events>> {
        self.events(window)
    }

    /// Those, and beside each its fields, where the recording knows them.
    ///
    /// Goes through the recording twice unless a format has something better.
    fn events_and_fields(
        self: Arc<Self>,
        window: &Window,
        _asked: EventFilter<'_>,
    ) -> Result<Box<dyn FieldedEvents>> {
        let events = Arc::clone(&self).events(window)?;
        let told = self.has_fields().then(|| Arc::clone(&self).events_with_fields(window));
        let fielded = Fielded::pair(events, told.transpose()?, &self.tracks(), window)?;
        Ok(Box::new(fielded))
    }

    /// The same events, but for those whose fields the recording knows: they are [`Fields`] in
    /// place of a text, and what only repeats one of them, such as a counter, is left out.
    fn events_with_fields(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        self.events(window)
    }

    /// Returns true if there are any such fields, so that it is worth asking for them.
    fn has_fields(&self) -> bool {
        false
    }

    /// The first and the last moment on a clock, among the events of its tracks.
    ///
    /// Reads them all unless a format has something better.
    fn range(self: Arc<Self>, clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        let tracks = self.tracks();
        let on_it = |(_, track): &(usize, &Track)| track.clock == Some(clock);
        let tracks = tracks.iter().enumerate().filter(on_it).map(|(id, _)| TrackId(id)).collect();
        let tallies = self.tallies(&Window { tracks: Some(tracks), ..Window::default() })?;
        let times = tallies.iter().filter_map(|tally| tally.times);
        let range = times.reduce(|(first, last), (from, to)| (first.min(from), last.max(to)));
        Ok(range.map(|(first, last)| first..=last))
    }

    /// Computes what the events of a window have in common, track by track; there are none of
    /// tracks that are not asked for.
    ///
    /// Looks at all of them unless a format has something better.
    fn tallies(self: Arc<Self>, window: &Window) -> Result<Vec<TrackStatistics>> {
        let count = self.tracks().len();
        TrackStatistics::from_events(&mut *self.events(window)?, count)
    }

    /// The file that an event is in, of a recording that is a directory: what its offset counts
    /// within. Events are known by what they say of themselves.
    fn file_of(&self, _track: TrackId, _time: Option<TimeNs>, _offset: u64) -> Option<String> {
        None
    }

    /// Returns findings about what the recording has and the timeline has no word for: it is lost
    /// where the timeline is written in another format. A reader of the timeline alone misses
    /// nothing.
    ///
    /// May look at all events.
    fn unsupported(self: Arc<Self>) -> Result<Vec<Finding>> {
        Ok(Vec::new())
    }
}

/// Events, one after another. What was given last may be gone when the next is asked for.
pub trait Events: Send {
    /// The next event, or nothing at the end.
    fn next(&mut self) -> Result<Option<Event<'_>>>;

    /// Returns the position at which the record of the event that was given last begins in what is
    /// decompressed from its offset on. It is 0 where the file has the record as it is. With the
    /// file and the offset, the position distinguishes a record from all others.
    fn position(&self) -> u64 {
        0
    }

    /// Hands on all events that are left: the faster way where none is to be kept.
    fn each(&mut self, take: &mut dyn FnMut(&Event<'_>)) -> Result<()> {
        while let Some(event) = self.next()? {
            take(&event);
        }
        Ok(())
    }
}

/// Clock that gives a track its times.
#[derive(Debug, Clone, PartialEq)]
pub struct Clock {
    /// Its name in the recording.
    pub name: String,
    /// Number of the dataset's recording that it is of.
    pub recording: usize,
    /// True if its times count from the Epoch. Otherwise they count from a zero of its own.
    pub since_epoch: bool,
}

/// One row of a timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// Its name.
    pub name: String,
    /// Number of the dataset's recording that it is of.
    pub recording: usize,
    /// The track it belongs under.
    pub parent: Option<TrackId>,
    /// Kind of its events.
    pub kind: TrackKind,
    /// Clock that gives its times. Without one, its events have an order and no time.
    pub clock: Option<ClockId>,
    /// The format's word for what its events hold: `uint16le`.
    pub content: Cow<'static, str>,
    /// Whatever else the recording says of it, under the names it uses.
    pub attributes: Attributes,
}

impl Track {
    /// The attribute that says which processor a track is of. What is under it is of that too.
    pub const CPU_ID: &str = "cpu_id";

    /// Attributes that hold the number of a task, in the words of formats.
    const TASK_IDS: [&str; 2] = ["tid", "artifact_id"];

    /// The attribute of a task that runs when there is nothing to do.
    pub const IS_IDLE: &str = "is_idle";

    /// The attribute of a task that is an interrupt: it runs in turn with tasks, and not beside them.
    pub const IS_INTERRUPT: &str = "is_interrupt";

    /// The attribute that says which priority a task has, where the recording tells that of the task
    /// and not of its stretches alone.
    pub const TASK_PRIORITY: &str = "task_priority";

    /// The attribute of a processor whose own stretches are interrupts: what runs there beside
    /// tasks. Otherwise they are functions.
    pub const HAS_INTERRUPTS: &str = "has_interrupts";

    /// The attribute of a counter whose numbers are fields of other events, too: who has their fields
    /// has its numbers.
    pub const IS_FIELD: &str = "is_field";

    /// The attribute that says which of several recordings a track was of, where a format has one
    /// only.
    pub const RECORDING: &str = "recording";

    /// Returns the number of the recording that it was of, before several recordings became one.
    /// The same name and number in another recording mean another thing.
    #[must_use]
    pub fn part(&self) -> Option<u64> {
        self.attributes.get(Self::RECORDING)?.as_u64()
    }

    /// Has tracks say which recording they are of, where they are of several that become one.
    pub fn keep_recordings(tracks: &mut [Self]) {
        if tracks.iter().all(|track| track.recording == 0) {
            return;
        }
        for track in tracks {
            track.attributes.insert(Self::RECORDING, track.recording);
        }
    }

    /// Has tracks that were of several recordings be of several again.
    pub fn restore_recordings(tracks: &mut [Self]) {
        let mut known = HashMap::new();
        for track in tracks.iter_mut().filter(|track| track.part().is_some()) {
            let next = known.len();
            track.recording = *known.entry((track.recording, track.part())).or_insert(next);
        }
    }

    /// The attribute that names the thread of samples as profiles do, where the track is called
    /// otherwise.
    pub const THREAD: &str = "thread";

    /// Returns the name of the thread that a track is of, as in profiles.
    #[must_use]
    pub fn thread(&self) -> &str {
        let named = self.attributes.text(Self::THREAD);
        named.filter(|name| !name.is_empty()).unwrap_or(&self.name)
    }

    /// The attribute of a task that is said to be complete whenever it stops by itself: where a
    /// stretch ends without that, the task was preempted.
    pub const TELLS_COMPLETION: &str = "tells_completion";

    /// The number that the recording gives a task. Tracks of one recording, name and number are
    /// of one task, which ran on several processors.
    #[must_use]
    pub fn task_id(&self) -> Option<i64> {
        Self::TASK_IDS.iter().find_map(|name| self.attributes.number(name))
    }

    /// Returns true if it is of a task that runs when there is nothing to do.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.has_flag(Self::IS_IDLE)
    }

    /// Returns true if it is a clock that other tracks have their times from: its events are times.
    #[must_use]
    pub fn is_clock(&self) -> bool {
        self.kind == TrackKind::Counter && self.has_flag("clock")
    }

    /// The track of a recording on which it is told that anything may be missing: one of a task where
    /// there is any, since whoever asks who runs looks at those. Nothing where nothing is told of
    /// tasks, functions and machines.
    #[must_use]
    pub fn gap_track(tracks: &[Self], recording: usize) -> Option<TrackId> {
        let first = |kind: TrackKind| {
            let is_it = |track: &Self| track.recording == recording && track.kind == kind;
            tracks.iter().position(is_it).map(TrackId)
        };
        [TrackKind::Task, TrackKind::States, TrackKind::Calls].into_iter().find_map(first)
    }

    /// Returns true if an attribute is true.
    #[must_use]
    pub fn has_flag(&self, attribute: &str) -> bool {
        self.attributes.get(attribute).is_some_and(|value| *value == true)
    }
}

/// Kind of the events of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TrackKind {
    /// Numbers that stay until the next one.
    Counter,
    /// Things that happen at a moment, with a text or a payload.
    Messages,
    /// Places at which a thread was when it was sampled.
    Samples,
    /// Remarks about moments, made later.
    Annotations,
    /// Times at which a task or an interrupt ran, and messages to it.
    Task,
    /// Functions that ran, one within another.
    Calls,
    /// States that stay until the next one.
    States,
}

impl TrackKind {
    /// All there are.
    const ALL: [Self; 7] = [
        Self::Counter,
        Self::Messages,
        Self::Samples,
        Self::Annotations,
        Self::Task,
        Self::Calls,
        Self::States,
    ];

    /// The kind that a word is for.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == word)
    }

    /// Returns true if its events are activities.
    #[must_use]
    pub fn has_activities(self) -> bool {
        matches!(self, Self::Task | Self::Calls | Self::States)
    }

    /// The word a person reads.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Messages => "messages",
            Self::Samples => "samples",
            Self::Annotations => "annotations",
            Self::Task => "task",
            Self::Calls => "calls",
            Self::States => "states",
        }
    }
}

/// One thing that happened on a track.
#[derive(Debug, Clone, PartialEq)]
pub struct Event<'a> {
    /// Its track.
    pub track: TrackId,
    /// Time on the track's clock; `None` where the recording does not give it.
    pub time: Option<TimeNs>,
    /// Its first byte in the file.
    pub offset: u64,
    /// Content of the event.
    pub content: Content<'a>,
    /// The bytes as they were recorded, where the recording keeps each event's together.
    pub payload: &'a [u8],
    /// Description of what is missing of it, or may be: a part of the recording was lost.
    pub partial: Option<&'static str>,
}

/// Content of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Content<'a> {
    /// A number, or another value that has been decoded.
    Value(Value),
    /// A text.
    Text(Cow<'a, str>),
    /// An event with a name and fields, where these are asked for.
    Fields(Fields<'a>),
    /// Nothing here decodes it: there is only the payload.
    Payload,
    /// A sample: the calling context, by the number the recording gives it.
    Sample(u64),
    /// Activity of a task, a function or a state machine.
    Activity(Activity<'a>),
}

/// Window of events that are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    /// Only these tracks, in ascending order; nothing means all.
    pub tracks: Option<Vec<TrackId>>,
    /// Not before this moment.
    pub from: Option<TimeNs>,
    /// Before this moment.
    pub until: Option<TimeNs>,
    /// Of what is left then, only so many at the end; that something is missing among them may be told
    /// besides.
    pub last: Option<u64>,
}

/// Tracks that are asked for, by their numbers: this is asked of every event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrackSet(Option<Vec<bool>>);

impl TrackSet {
    /// Returns true if events of a track are asked for.
    #[inline]
    #[must_use]
    pub fn contains(&self, track: TrackId) -> bool {
        self.0.as_ref().is_none_or(|wanted| wanted.get(track.0).copied().unwrap_or(false))
    }

    /// Returns true if any of some tracks is.
    #[must_use]
    pub fn has_any(&self, tracks: Range<usize>) -> bool {
        tracks.into_iter().any(|track| self.contains(TrackId(track)))
    }
}

impl Window {
    /// The tracks that are asked for, of so many.
    #[must_use]
    pub fn track_set(&self, count: usize) -> TrackSet {
        TrackSet(self.tracks.as_ref().map(|tracks| {
            let mut wanted = vec![false; count];
            for track in tracks {
                wanted.get_mut(track.0).into_iter().for_each(|flag| *flag = true);
            }
            wanted
        }))
    }

    /// Returns true if events of a track are asked for.
    #[must_use]
    pub fn includes_track(&self, track: TrackId) -> bool {
        self.tracks.as_ref().is_none_or(|tracks| tracks.binary_search(&track).is_ok())
    }

    /// Returns true if a moment is asked for. What has no time is outside of every range of times.
    #[inline]
    #[must_use]
    pub fn holds(&self, time: Option<TimeNs>) -> bool {
        if self.from.is_none() && self.until.is_none() {
            return true;
        }
        time.is_some_and(|time| {
            self.from.is_none_or(|from| from <= time) && self.until.is_none_or(|until| time < until)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_that_become_one_are_told_apart() {
        let track = |recording| Track {
            name: "t".into(),
            recording,
            parent: None,
            kind: TrackKind::Task,
            clock: None,
            content: "".into(),
            attributes: Attributes::new(),
        };
        let mut one = [track(0), track(0)];
        Track::keep_recordings(&mut one);
        assert_eq!(one[1].part(), None);
        let mut tracks = [track(0), track(2), track(0)];
        Track::keep_recordings(&mut tracks);
        assert_eq!(tracks.each_ref().map(Track::part), [Some(0), Some(2), Some(0)]);
        for track in &mut tracks {
            track.recording = 0;
        }
        Track::restore_recordings(&mut tracks);
        assert_eq!(tracks.map(|track| track.recording), [0, 1, 0]);
    }

    #[test]
    fn what_has_no_time_is_outside_of_every_range() {
        assert!(Window::default().holds(None));
        let since = Window { from: Some(TimeNs(5)), ..Window::default() };
        assert!(!since.holds(None));
        assert!(!since.holds(Some(TimeNs(4))));
        assert!(since.holds(Some(TimeNs(5))));
    }

    #[test]
    fn tracks_that_are_asked_for_are_found_by_number() {
        let some = Window { tracks: Some(vec![TrackId(1), TrackId(9)]), ..Window::default() };
        let wanted = some.track_set(3);
        assert_eq!(
            [0, 1, 2, 9].map(|id| wanted.contains(TrackId(id))),
            [false, true, false, false]
        );
        assert!(wanted.has_any(0..2) && !wanted.has_any(2..3));
        assert!(Window::default().track_set(0).contains(TrackId(7)));
    }

    #[test]
    fn a_range_ends_before_its_end() {
        let window = Window { from: None, until: Some(TimeNs(5)), ..Window::default() };
        assert!(window.holds(Some(TimeNs(4))));
        assert!(!window.holds(Some(TimeNs(5))));
    }
}
