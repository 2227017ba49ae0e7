//! Any timeline to RTC.
//!
//! Every clock becomes a stream of times, every track a stream. What was recorded as bytes is
//! written as those bytes, under the format that the track names; other values get a default
//! format, and activities and events with fields are JSON. What RTC has no place for is in the description of a stream
//! ([`Kept`]). What it cannot say: that tracks are of several recordings, and which track one
//! belongs under that is described before that.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;

use kymo_core::{Destination, Finding, Invariant as _, Result, Severity, Value, shortened};
use kymo_model::WriteReport;
use kymo_model::timeline::{
    Clock, ClockId, Content, Event, Fielded, Fields, Losses, NumberKind, NumberSurvey, TimeNs,
    TimelineView, Track, TrackId, TrackKind, fielded_tracks,
};
use kymo_rtc_wire::meta::StreamMeta;
use serde_json::Value as Json;

use crate::kept::StoredTrack;
use crate::names::Names;
use crate::write::{Layout, SessionWriter, with_all, with_attribute};

/// Writes a timeline. That a clock goes back is said before it does, and so is what kind of numbers a
/// track has: where that turns out only later, the timeline is written once more.
pub(crate) fn write(timeline: &Arc<dyn TimelineView>, to: &Destination) -> Result<WriteReport> {
    let mut known = KnownTracks { fielded: fielded_tracks(timeline)?, ..KnownTracks::default() };
    loop {
        let mut file = to.file()?;
        let taken = take(timeline, &known, &mut file)?;
        if !taken.is_news(&known) {
            file.commit()?;
            return Ok(taken.written);
        }
        known = taken.known;
    }
}

/// Facts that are written before they are seen.
#[derive(Debug, Default)]
struct KnownTracks {
    falling: Falling,
    /// The numbers of each track.
    numbers: HashMap<TrackId, NumberSurvey>,
    /// Tracks of messages that have events with fields.
    fielded: HashSet<TrackId>,
}

/// Clocks that go back, and the event where each first does.
type Falling = BTreeMap<ClockId, u64>;

/// Result of writing, and what was seen in it.
struct WrittenRecording {
    written: WriteReport,
    known: KnownTracks,
    /// A number was not of the kind that its track was written as.
    is_unfit: bool,
}

impl WrittenRecording {
    /// Returns true if something was seen that should have been said before.
    fn is_news(&self, known: &KnownTracks) -> bool {
        self.known.falling.len() > known.falling.len()
            || (self.is_unfit && self.known.numbers != known.numbers)
    }
}

fn take(
    timeline: &Arc<dyn TimelineView>,
    known: &KnownTracks,
    out: impl Write,
) -> Result<WrittenRecording> {
    let (clocks, mut tracks) = (timeline.clocks(), timeline.tracks().to_vec());
    Track::keep_recordings(&mut tracks);
    // Each may get the longest description that it can have.
    let metas = (0..).zip(&tracks).map(|(id, track)| (id, longest_meta(track, &clocks)));
    let layout = Layout::default().fit(&metas.collect::<Vec<_>>());
    let writer = SessionWriter::new(out, &layout);
    let mut taking = TimelineWriter::new(clocks, tracks, known, writer)?;
    let mut events = Fielded::new(timeline)?;
    while let Some((event, fields)) = events.next_event()? {
        taking.event(&event, fields.as_ref())?;
    }
    taking.tracks_without_events()?;
    taking.report_track_losses();
    taking.writer.finish()?;
    taking.written.losses.extend(taking.losses.findings(&taking.tracks));
    let TimelineWriter { written, is_unfit, falling, numbers, fielded, .. } = taking;
    let known = KnownTracks { falling, numbers, fielded };
    Ok(WrittenRecording { written, known, is_unfit })
}

/// A timeline that is being written. Streams have the numbers of clocks, then those of tracks.
struct TimelineWriter<W: Write> {
    clocks: Vec<Clock>,
    tracks: Vec<Track>,
    /// Tracks of messages that have events with fields.
    fielded: HashSet<TrackId>,
    /// Tracks that others are under.
    parents: HashSet<TrackId>,
    /// The names of the clocks' streams.
    clock_names: Vec<String>,
    writer: SessionWriter<W>,
    /// Way to write each track, once its first event has shown it.
    ways: HashMap<TrackId, TrackEncoding>,
    shown: HashMap<ClockId, TimeNs>,
    /// The latest that each clock showed.
    latest: HashMap<ClockId, TimeNs>,
    /// Clocks that showed less than before.
    falling: Falling,
    /// The numbers that each track had so far, and before, if it was written before.
    numbers: HashMap<TrackId, NumberSurvey>,
    is_unfit: bool,
    written: WriteReport,
    losses: Losses,
    /// Tracks that are no longer under the one they were.
    orphans: u64,
}

/// Way to write the values of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrackEncoding {
    /// As they were recorded.
    Payload,
    Number(NumberKind),
    Text,
    /// Activities, events with fields, and whatever else, as JSON.
    Spelt,
}

impl<W: Write> TimelineWriter<W> {
    fn new(
        clocks: Vec<Clock>,
        tracks: Vec<Track>,
        known: &KnownTracks,
        writer: SessionWriter<W>,
    ) -> Result<Self> {
        let mut names = Names::default();
        // A stream that is a clock is written as the clock.
        for track in tracks.iter().filter(|track| !track.is_clock()) {
            names.take(&track.name);
        }
        let clock_names = clocks.iter().map(|clock| names.free(&clock.name)).collect();
        let mut taking = Self {
            fielded: known.fielded.clone(),
            parents: tracks.iter().filter_map(|track| track.parent).collect(),
            clocks,
            tracks,
            clock_names,
            writer,
            ways: HashMap::new(),
            shown: HashMap::new(),
            latest: HashMap::new(),
            falling: Falling::new(),
            numbers: known.numbers.clone(),
            is_unfit: false,
            written: WriteReport::default(),
            losses: Losses::default(),
            orphans: 0,
        };
        taking.add_clocks(&known.falling)?;
        taking.add_known()?;
        Ok(taking)
    }

    /// Defines tracks of which it is known beforehand how they are written: those that are spelt,
    /// and texts that other tracks are under. So most are described after the one they are under.
    fn add_known(&mut self) -> Result<()> {
        for id in (0..self.tracks.len()).map(TrackId) {
            let Some(track) = self.tracks.get(id.0) else { continue };
            if self.has_json_events(id, track) {
                self.add_track(id, TrackEncoding::Spelt)?;
            } else if self.parents.contains(&id) && is_text(track) {
                self.add_track(id, TrackEncoding::Text)?;
            }
        }
        Ok(())
    }

    /// Returns true if the events of a track are JSON.
    fn has_json_events(&self, id: TrackId, track: &Track) -> bool {
        track.kind.has_activities() || self.fielded.contains(&id)
    }

    /// Says what is lost of what tracks are to each other.
    fn report_track_losses(&mut self) {
        let recordings = self.tracks.iter().map(|track| track.recording + 1).max().unwrap_or(1);
        let orphans = self.orphans;
        let said = [
            (recordings > 1, "recordings", format!("{recordings} recordings become one")),
            (
                orphans > 0,
                "parent",
                format!("tracks are no longer under the track they were ({orphans} in all)"),
            ),
        ];
        let lost = said.into_iter().filter(|(is_lost, ..)| *is_lost);
        let lost = lost.map(|(_, rule, why)| Finding::for_whole_file(Severity::Warning, rule, why));
        self.written.losses.extend(lost);
    }

    /// Returns what is kept in the description of a track's stream.
    fn stored_track(&mut self, id: TrackId) -> Option<StoredTrack> {
        let track = self.tracks.get(id.0)?;
        let parent = track.parent.filter(|parent| self.ways.contains_key(parent));
        self.orphans += u64::from(track.parent.is_some() && parent.is_none());
        let pair = self.has_json_events(id, track).then(|| (track.kind, track.content.to_string()));
        let number = |track: TrackId| track.0 as u64;
        let is_worth_it = parent.is_some() || pair.is_some() || self.parents.contains(&id);
        let kept = StoredTrack { set: 0, track: number(id), parent: parent.map(number), of: pair };
        is_worth_it.then_some(kept)
    }

    fn add_clocks(&mut self, falling: &Falling) -> Result<()> {
        for (number, (clock, name)) in self.clocks.iter().zip(&self.clock_names).enumerate() {
            let meta = StreamMeta::new(name);
            let meta = with_attribute(meta, "clock", &Json::Bool(true));
            let meta = if clock.since_epoch {
                meta.length(12).format("timespec")
            } else {
                with_attribute(meta.length(8).format("int64le"), "gain", &Json::from(1e-9))
            };
            let meta = match falling.get(&ClockId(number)) {
                Some(offset) => {
                    let name = shortened(name);
                    let message = format!("the clock {name} goes back, and is said not to rise");
                    let note = Finding::at_offset(Severity::Note, "clock", *offset, message);
                    self.written.losses.push(note);
                    with_attribute(meta, "rises", &Json::Bool(false))
                }
                None => meta,
            };
            self.writer.add(number, None, &meta)?;
        }
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>, fields: Option<&Fields<'_>>) -> Result<()> {
        let track = self.tracks.get(event.track.0);
        let track = track.or_broken("an event is on a track of its timeline")?;
        if track.is_clock() {
            // Its messages are the times that its clock shows.
            if let (Some(clock), Some(time)) = (track.clock, event.time) {
                self.show(clock, time, event)?;
                self.written.events += u64::from(self.shown.get(&clock) == Some(&time));
            }
            return Ok(());
        }
        let number = number(event);
        if let Some(number) = &number {
            self.numbers.entry(event.track).or_default().add(number);
        }
        let way = match self.ways.get(&event.track) {
            Some(way) => *way,
            None => self.begin_track(event)?,
        };
        if let (TrackEncoding::Number(kind), Some(number)) = (way, &number) {
            self.fits(kind, number, event);
        }
        if let (Some(clock), Some(time)) = (self.clock_of(event.track), event.time) {
            self.show(clock, time, event)?;
        } else if self.clock_of(event.track).is_some_and(|clock| self.shown.contains_key(&clock)) {
            self.losses.add(event, "time", "an event without a time gets that of the one before");
        }
        let stream = self.clocks.len() + event.track.0;
        let bytes = bytes(way, event, fields);
        let is_written = match &bytes {
            Some(bytes) => self.writer.write(stream, bytes)?,
            None => false,
        };
        if is_written {
            self.written.events += 1;
        } else {
            let why = "a value that is not of the kind of the track's first is left out";
            self.losses.add(event, "unwritten", why);
        }
        Ok(())
    }

    /// Takes note of a number that is not as it was in what its track is written as.
    fn fits(&mut self, kind: NumberKind, number: &Value, event: &Event<'_>) {
        self.is_unfit |= kind.fit(number).is_none();
        if !kind.keeps(number) {
            let why = "a whole number beyond 2^53 is among such with a point, and is rounded";
            self.losses.add(event, "rounded", why);
        }
    }

    /// The clock that a track's stream is written on; annotations say their time themselves.
    fn clock_of(&self, track: TrackId) -> Option<ClockId> {
        let track = self.tracks.get(track.0)?;
        if is_annotation(track) { None } else { track.clock }
    }

    /// Defines the stream of a track by its first event.
    fn begin_track(&mut self, event: &Event<'_>) -> Result<TrackEncoding> {
        let way = match &event.content {
            _ if !event.payload.is_empty() => TrackEncoding::Payload,
            Content::Sample(_) | Content::Value(_) if number(event).is_some() => {
                let numbers = self.numbers.get(&event.track).copied().unwrap_or_default();
                TrackEncoding::Number(numbers.kind())
            }
            Content::Payload => TrackEncoding::Payload,
            Content::Activity(_) => TrackEncoding::Spelt,
            Content::Text(_) | Content::Fields(_) | Content::Value(_) | Content::Sample(_) => {
                TrackEncoding::Text
            }
        };
        self.add_track(event.track, way)?;
        Ok(way)
    }

    /// Defines the streams of tracks on which nothing happened.
    fn tracks_without_events(&mut self) -> Result<()> {
        for track in self.tracks.iter().filter(|track| track.is_clock()) {
            if !["timespec", "int64le"].contains(&&*track.content) {
                let (name, content) = (shortened(&track.name), &track.content);
                let message = format!(
                    "the clock {name} was of format {content}, and is written as times: they are \
                     the same"
                );
                self.written.losses.push(Finding::for_whole_file(Severity::Note, "clock", message));
            }
        }
        let is_unused = |id: &TrackId| {
            let is_event = self.tracks.get(id.0).is_some_and(|track| !track.is_clock());
            is_event && !self.ways.contains_key(id)
        };
        let unused: Vec<_> = (0..self.tracks.len()).map(TrackId).filter(is_unused).collect();
        unused.into_iter().try_for_each(|id| self.add_track(id, TrackEncoding::Payload))
    }

    /// Defines the stream of a track.
    fn add_track(&mut self, id: TrackId, way: TrackEncoding) -> Result<()> {
        self.ways.insert(id, way);
        let kept = self.stored_track(id);
        let track = self.tracks.get(id.0).or_broken("a stream is made of a track")?;
        let meta = StreamMeta::new(&track.name);
        let meta = match way {
            TrackEncoding::Payload => meta.format(&track.content),
            TrackEncoding::Number(NumberKind::Single) => meta.length(4).format("float32le"),
            TrackEncoding::Number(kind) => meta.length(8).format(number_format(kind)),
            TrackEncoding::Text if track.content == "json" => meta.format("json"),
            TrackEncoding::Text => meta.format("utf-8"),
            TrackEncoding::Spelt => meta.format("json"),
        };
        let clock = self.clock_of(id).and_then(|clock| self.clock_names.get(clock.0));
        let meta = match clock {
            Some(name) => with_attribute(meta, "clock", &Json::String(name.clone())),
            None => meta,
        };
        let mut attributes = track.attributes.to_map().into_owned();
        if let Some(kept) = kept {
            kept.put(&mut attributes);
        }
        let is_cont = attributes.shift_remove("cont") == Some(Json::Bool(true));
        // Its length is that of the recorded bytes only where the recording says so.
        let length = attributes.shift_remove("length").and_then(|length| length.as_u64());
        let meta = match (way, length) {
            (TrackEncoding::Payload, Some(length)) => meta.length(length),
            _ => meta,
        };
        let meta = with_all(meta.cont(is_cont), &attributes);
        self.writer.add(self.clocks.len() + id.0, None, &meta)?;
        Ok(())
    }

    /// Has a clock show a time.
    fn show(&mut self, clock: ClockId, time: TimeNs, event: &Event<'_>) -> Result<()> {
        if self.shown.get(&clock) == Some(&time) {
            return Ok(());
        }
        let since_epoch = self.clocks.get(clock.0).is_some_and(|clock| clock.since_epoch);
        let bytes = if since_epoch { timespec(time) } else { Some(time.0.to_le_bytes().to_vec()) };
        if let Some(bytes) = bytes {
            self.writer.write(clock.0, &bytes)?;
            self.writer.keep(clock.0, &bytes)?;
            self.shown.insert(clock, time);
            let latest = self.latest.entry(clock).or_insert(time);
            if time < *latest {
                self.falling.entry(clock).or_insert(event.offset);
            }
            *latest = time.max(*latest);
        } else {
            let why = "a time before the Epoch, where RTC has none, becomes that of the one before";
            self.losses.add(event, "time", why);
        }
        Ok(())
    }
}

/// A description of a track that is at least as long as what it gets.
fn longest_meta(track: &Track, clocks: &[Clock]) -> StreamMeta {
    let clock = clocks.iter().map(|clock| clock.name.as_str()).max_by_key(|name| name.len());
    // Numbers that tell clocks of one name apart, a length, and what its events are written as.
    let more = format!("{}{}", clock.unwrap_or_default(), "-".repeat(64));
    let meta = StreamMeta::new(&track.name).format(&track.content);
    let mut attributes = track.attributes.to_map().into_owned();
    let pair = Some((track.kind, track.content.to_string()));
    StoredTrack { set: u64::MAX, track: u64::MAX, parent: Some(u64::MAX), of: pair }
        .put(&mut attributes);
    with_all(with_attribute(meta, "clock", &Json::String(more)), &attributes)
}

/// Returns true if the events of a track are texts.
fn is_text(track: &Track) -> bool {
    track.kind == TrackKind::Messages && ["utf-8", "json", "text"].contains(&&*track.content)
}

fn is_annotation(track: &Track) -> bool {
    track.content.starts_with("annotate/")
}

/// Returns the format name of a stream of numbers.
fn number_format(kind: NumberKind) -> &'static str {
    match kind {
        NumberKind::Signed => "int64le",
        NumberKind::Unsigned => "uint64le",
        NumberKind::Single => "float32le",
        NumberKind::Double => "float64le",
    }
}

/// The number that an event is, which has none as it was recorded.
fn number(event: &Event<'_>) -> Option<Value> {
    let number = match &event.content {
        Content::Value(value) => NumberSurvey::default().add(value).then(|| value.clone()),
        Content::Sample(value) => Some(Value::UInt(*value)),
        _ => None,
    };
    number.filter(|_| event.payload.is_empty())
}

fn number_bytes(number: &Value) -> Option<Vec<u8>> {
    Some(match number {
        Value::Int(number) => number.to_le_bytes().to_vec(),
        Value::UInt(number) => number.to_le_bytes().to_vec(),
        Value::Float32(number) => number.to_le_bytes().to_vec(),
        number => number.as_f64()?.to_le_bytes().to_vec(),
    })
}

/// The bytes of an event.
fn bytes(way: TrackEncoding, event: &Event<'_>, fields: Option<&Fields<'_>>) -> Option<Vec<u8>> {
    match (way, &event.content) {
        (TrackEncoding::Spelt, Content::Text(text)) if let Some(fields) = fields => {
            fields.to_json(text).map(String::into_bytes)
        }
        (TrackEncoding::Payload, _) | (TrackEncoding::Text, Content::Payload) => {
            Some(event.payload.to_vec())
        }
        (TrackEncoding::Number(kind), Content::Value(value)) => number_bytes(&kind.fit(value)?),
        (TrackEncoding::Number(kind), Content::Sample(value)) => {
            number_bytes(&kind.fit(&Value::UInt(*value))?)
        }
        (TrackEncoding::Text, Content::Text(text)) => Some(text.as_bytes().to_vec()),
        (TrackEncoding::Text, Content::Value(value)) => Some(value.to_string().into_bytes()),
        (TrackEncoding::Text, Content::Fields(fields)) => Some(fields.to_string().into_bytes()),
        (TrackEncoding::Spelt, content) => content.to_json().map(String::into_bytes),
        _ => None,
    }
}

/// A time as a `timespec`, which has none before the Epoch.
fn timespec(time: TimeNs) -> Option<Vec<u8>> {
    let time = u64::try_from(time.0).ok()?;
    let (seconds, rest) = (time / 1_000_000_000, time % 1_000_000_000);
    let mut bytes = seconds.to_le_bytes().to_vec();
    bytes.extend_from_slice(&u32::try_from(rest).ok()?.to_le_bytes());
    Some(bytes)
}
