//! Any timeline as an MCAP file.
//!
//! A track becomes a channel, an event a message with the payload as it was recorded. Activities,
//! events with fields, and what has no payload and is no text, are spelt as JSON. What MCAP cannot hold is said: events
//! without a time, times before zero, clocks that do not count from the Epoch, and several
//! recordings, which become one.

use std::collections::HashSet;
use std::sync::Arc;

use kymo_core::{AtomicFile, Context, Destination, Error, Finding, Result, Severity, slot};
use kymo_model::WriteReport;
use kymo_model::timeline::{
    Clock, Content, Event, EventTimes, Fielded, Fields, TimeNs, TimelineView, Track, TrackId,
    fielded_tracks,
};

use super::channels;
use crate::types::Message;
use crate::write::{Options, Writer};

/// Writes a timeline.
pub(crate) fn write_timeline(
    timeline: &Arc<dyn TimelineView>,
    to: &Destination,
    _context: &Context<'_>,
) -> Result<WriteReport> {
    let mut taking = TimelineWriter::new(timeline, to)?;
    let mut events = Fielded::new(timeline)?;
    let mut times = EventTimes::default();
    while let Some((event, fields)) = events.next_event()? {
        let time = times.next_time(&event, timeline)?;
        taking.event(&event, time, fields.as_ref())?;
    }
    taking.tracks_without_events()?;
    let written = WriteReport { events: taking.events, losses: taking.losses() };
    taking.writer.finish()?.commit()?;
    Ok(written)
}

/// A timeline being written.
struct TimelineWriter {
    writer: Writer<AtomicFile>,
    clocks: Vec<Clock>,
    tracks: Vec<Track>,
    /// Tracks of messages that have events with fields.
    fielded: HashSet<TrackId>,
    written: Vec<Option<WrittenTrack>>,
    events: u64,
    without_time: u64,
    before_zero: u64,
}

/// A track that has its channel.
#[derive(Debug, Clone, Copy)]
struct WrittenTrack {
    channel_id: u16,
    /// True if events are spelt as JSON.
    is_spelt: bool,
    /// The number of its next event.
    sequence: u32,
}

impl TimelineWriter {
    fn new(timeline: &Arc<dyn TimelineView>, to: &Destination) -> Result<Self> {
        let mut tracks = timeline.tracks().to_vec();
        Track::keep_recordings(&mut tracks);
        if tracks.len() > usize::from(u16::MAX) {
            let why = format!("MCAP has room for 65535 channels, and there are {}", tracks.len());
            return Err(Error::request(why));
        }
        Ok(Self {
            writer: Writer::new(to.file()?, Options::default())?,
            clocks: timeline.clocks(),
            fielded: fielded_tracks(timeline)?,
            written: vec![None; tracks.len()],
            tracks,
            events: 0,
            without_time: 0,
            before_zero: 0,
        })
    }

    /// Takes an event, with the time that it has or gets.
    fn event(
        &mut self,
        event: &Event<'_>,
        time: TimeNs,
        fields: Option<&Fields<'_>>,
    ) -> Result<()> {
        let taken = self.numbered(event.track.0, self.has_json_events(event))?;
        let spelt = match (&event.content, fields) {
            _ if !taken.is_spelt => None,
            (Content::Text(text), Some(fields)) => fields.to_json(text),
            (content, _) => content.to_json(),
        };
        let data = match (&spelt, &event.content) {
            (Some(spelt), _) => spelt.as_bytes(),
            (None, Content::Text(text)) if event.payload.is_empty() => text.as_bytes(),
            _ => event.payload,
        };
        self.without_time += u64::from(event.time.is_none());
        let time = self.since_zero(time);
        let message = Message {
            channel_id: taken.channel_id,
            sequence: taken.sequence,
            log_time: time,
            publish_time: time,
            data: 0..0,
        };
        self.writer.message(&message, data)?;
        self.events += 1;
        Ok(())
    }

    /// Returns true if events of a track are spelt as JSON, by its first.
    fn has_json_events(&self, event: &Event<'_>) -> bool {
        // That there is no such track is an error of its channel.
        let Some(track) = self.tracks.get(event.track.0) else { return false };
        let is_plain = match &event.content {
            Content::Payload => true,
            Content::Text(text) => text.is_empty() || channels::is_text(&track.content),
            _ => false,
        };
        let has_fields = self.fielded.contains(&event.track);
        track.kind.has_activities() || has_fields || (event.payload.is_empty() && !is_plain)
    }

    /// The channel of a track for an event, with the number of this event. Channels of processors come
    /// before those of what is under them: also where the end of the file is cut off, it is known what
    /// they are of.
    fn numbered(&mut self, track: usize, is_spelt: bool) -> Result<WrittenTrack> {
        for above in self.unwritten_ancestors(track) {
            self.channel(above, true)?;
        }
        let taken = self.channel(track, is_spelt)?;
        if let Some(Some(written_track)) = self.written.get_mut(track) {
            written_track.sequence = written_track.sequence.wrapping_add(1);
        }
        Ok(taken)
    }

    /// The tracks above one that have no channel yet, from the top, as far as their events are spelt
    /// whatever the first is.
    fn unwritten_ancestors(&self, track: usize) -> Vec<usize> {
        let is_written = |track: usize| self.written.get(track).is_none_or(Option::is_some);
        let above = |track: &usize| {
            let parent = self.tracks.get(*track).filter(|_| !is_written(*track))?.parent?.0;
            let is_spelt = self.tracks.get(parent)?.kind.has_activities();
            (is_spelt && parent < *track && !is_written(parent)).then_some(parent)
        };
        let mut all: Vec<_> = std::iter::successors(Some(track), above).skip(1).collect();
        all.reverse();
        all
    }

    /// The channel of a track, written where it is not there yet.
    fn channel(&mut self, track: usize, is_spelt: bool) -> Result<WrittenTrack> {
        if let Some(Some(taken)) = self.written.get(track) {
            return Ok(*taken);
        }
        let unknown =
            || Error::request(format!("an event is on track {track}, which is not there"));
        let this_track = self.tracks.get(track).ok_or_else(unknown)?;
        let id = u16::try_from(track + 1).map_err(|_| unknown())?;
        let schema = channels::schema(this_track, id);
        if let Some(schema) = &schema {
            self.writer.schema(schema)?;
        }
        let clock = this_track.clock.and_then(|clock| self.clocks.get(clock.0));
        let schema_id = schema.map_or(0, |schema| schema.id);
        self.writer.channel(&channels::channel(this_track, clock, id, schema_id, is_spelt))?;
        let taken = WrittenTrack { channel_id: id, is_spelt, sequence: 0 };
        *slot(&mut self.written, track) = Some(taken);
        Ok(taken)
    }

    fn tracks_without_events(&mut self) -> Result<()> {
        let left = self.written.iter().enumerate().filter(|(_, taken)| taken.is_none());
        let left: Vec<_> = left.map(|(track, _)| track).collect();
        left.into_iter().try_for_each(|track| self.channel(track, false).map(drop))
    }

    /// A time as MCAP can hold it.
    fn since_zero(&mut self, time: TimeNs) -> u64 {
        u64::try_from(time.0).unwrap_or_else(|_| {
            self.before_zero += 1;
            0
        })
    }

    fn losses(&self) -> Vec<Finding> {
        let own = self.clocks.iter().filter(|clock| !clock.since_epoch).count();
        let recordings = self.tracks.iter().map(|track| track.recording + 1).max().unwrap_or(1);
        let losses = [
            (
                self.without_time > 0,
                "no-time",
                format!(
                    "events without a time, which get that of another beside them: {}",
                    self.without_time
                ),
            ),
            (
                self.before_zero > 0,
                "before-zero",
                format!("events before time 0, which are put at 0: {}", self.before_zero),
            ),
            (
                own > 0,
                "clock-zero",
                format!(
                    "clocks that do not count from the Epoch, whose numbers other programs will \
                     take for dates: {own}"
                ),
            ),
            (
                // Those that count from the Epoch are on one axis as they are.
                self.clocks.len() > 1 && own > 0,
                "clocks",
                format!("{} clocks become one time axis", self.clocks.len()),
            ),
            (recordings > 1, "recordings", format!("{recordings} recordings become one")),
        ];
        let lost = losses.into_iter().filter(|(is_lost, ..)| *is_lost);
        let lost = lost.map(|(_, rule, why)| Finding::for_whole_file(Severity::Warning, rule, why));
        lost.collect()
    }
}
