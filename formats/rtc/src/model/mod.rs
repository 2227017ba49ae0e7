//! Streams to core's timeline.
//!
//! Every stream is a track, clocks too. One that was made of a track of another format is that
//! track again, with its activities. What the timeline does not tell: how messages were cut into
//! frames, and the Units; tables have those.

mod timeline;

use std::collections::HashMap;

use kymo_core::Value;
use kymo_core::bytes::Endian;
use kymo_model::timeline::{Clock, ClockId, Content, Event, Track, TrackId, TrackKind};

use crate::decode::{self, DecodedPayload, Encoding};
use crate::dump::partial;
use crate::kept::StoredTrack;
use crate::types::{Message, Stream};

pub(crate) use timeline::Timeline;

/// The name of the clock of annotations that are on none: the time of day.
const EPOCH: &str = "Epoch";

/// The clocks and tracks of streams, kept up while streams join.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lanes {
    clocks: Vec<Clock>,
    tracks: Vec<Track>,
    /// The clock that each stream is.
    of_stream: HashMap<usize, ClockId>,
    epoch: Option<(usize, ClockId)>,
    /// Facts that each track gives about the track that it was.
    kept: Vec<Option<StoredTrack>>,
    /// Tracks by their session, their set and the number they had.
    numbered: HashMap<(usize, u64, u64), TrackId>,
}

/// The format, with its byte order: what is outside of the file cannot look that up. Where a
/// format has no name for that of big-endian writers, its payloads are turned around.
fn content(stream: &Stream, endian: Endian) -> String {
    if !has_named_order(stream) {
        return stream.format.clone();
    }
    match stream.encoding {
        Encoding::Integer { bytes: 2.., endian: None, .. }
        | Encoding::Float { endian: None, .. } => {
            let order = if endian == Endian::Big { "be" } else { "le" };
            format!("{}{order}", stream.format)
        }
        _ => stream.format.clone(),
    }
}

/// Returns true if the name of a format can tell the byte order.
fn has_named_order(stream: &Stream) -> bool {
    let is_number = matches!(stream.encoding, Encoding::Integer { .. } | Encoding::Float { .. });
    is_number && stream.format != "platform"
}

impl Lanes {
    pub(crate) fn clocks(&self) -> &[Clock] {
        &self.clocks
    }

    /// The stream that is a clock.
    fn stream_of(&self, clock: ClockId) -> Option<usize> {
        self.of_stream.iter().find(|(_, item)| **item == clock).map(|(stream, _)| *stream)
    }

    pub(crate) fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// Adds the next stream; `clock` is the stream that gives its times, and where it is a clock
    /// itself, those are since the Epoch or not.
    pub(crate) fn add(
        &mut self,
        streams: &[Stream],
        index: usize,
        clock: Option<usize>,
        since_epoch: bool,
        endian: Endian,
    ) {
        let Some(stream) = streams.get(index) else { return };
        if stream.is_clock() {
            let id = ClockId(self.clocks.len());
            let (name, recording) = (stream.name.clone(), stream.session);
            self.clocks.push(Clock { name, recording, since_epoch });
            self.of_stream.insert(index, id);
        }
        let clock = if stream.is_clock() {
            self.of_stream.get(&index).copied()
        } else if let Some(clock) = clock {
            self.of_stream.get(&clock).copied()
        } else if stream.is_annotation() {
            Some(self.epoch(stream.session))
        } else {
            None
        };
        let mut attributes = all_attributes(stream);
        let mut kept = StoredTrack::take(&mut attributes);
        if let Some(kept) = kept.as_mut().filter(|_| stream.encoding != Encoding::Json) {
            kept.of = None;
        }
        let number = |kept: &StoredTrack, track: u64| (stream.session, kept.set, track);
        let parent = kept.as_ref().and_then(|kept| Some(number(kept, kept.parent?)));
        let parent = parent.and_then(|parent| self.numbered.get(&parent).copied());
        let pair = kept.as_ref().and_then(|kept| kept.of.clone());
        let (kind, content) = pair.unwrap_or_else(|| (kind(stream), content(stream, endian)));
        if let Some(kept) = &kept {
            let id = TrackId(self.tracks.len());
            self.numbered.entry(number(kept, kept.track)).or_insert(id);
        }
        self.kept.push(kept);
        self.tracks.push(Track {
            name: stream.name.clone(),
            recording: stream.session,
            parent,
            kind,
            clock,
            content: content.into(),
            attributes: attributes.into(),
        });
    }

    /// Returns true if events of some tracks have fields.
    pub(crate) fn has_fields(&self) -> bool {
        self.kept.iter().flatten().any(|kept| kept.of.is_some())
    }

    /// Returns the content of a message of a track whose events were spelt.
    fn json_content(&self, message: &Message<'_>, tell: FieldMode) -> Option<Content<'static>> {
        let track = self.tracks.get(message.stream)?;
        let kept = self.kept.get(message.stream)?.as_ref().filter(|kept| kept.of.is_some())?;
        let number = |number: u64| (track.recording, kept.set, number);
        let numbered = |value| self.numbered.get(&number(value)).copied();
        match tell {
            FieldMode::Text => Content::from_json(message.payload, numbered),
            FieldMode::Fields => Content::from_json_with_fields(message.payload, numbered),
        }
    }

    /// The clock of remarks that are on no other.
    fn epoch(&mut self, recording: usize) -> ClockId {
        if let Some((value, id)) = self.epoch
            && value == recording
        {
            return id;
        }
        let id = ClockId(self.clocks.len());
        self.clocks.push(Clock { name: EPOCH.into(), recording, since_epoch: true });
        self.epoch = Some((recording, id));
        id
    }
}

fn kind(stream: &Stream) -> TrackKind {
    if stream.is_annotation() {
        TrackKind::Annotations
    } else if stream.is_clock() || stream.encoding.is_number() {
        TrackKind::Counter
    } else {
        TrackKind::Messages
    }
}

/// Returns the attributes of a stream in the file beyond its name and format, under the file's own
/// names.
fn all_attributes(stream: &Stream) -> serde_json::Map<String, serde_json::Value> {
    let mut attributes = serde_json::Map::new();
    if let Some(length) = stream.length_bytes {
        attributes.insert("length".into(), length.into());
    }
    if stream.is_cont {
        attributes.insert("cont".into(), true.into());
    }
    if let Some(about) = &stream.about {
        attributes.insert("stream".into(), about.as_str().into());
    }
    attributes.extend(stream.attributes.clone());
    attributes
}

/// Form in which events with fields are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldMode {
    Text,
    Fields,
}

/// A message as an event; `turned` is where its payload goes if it is of a big-endian writer.
pub(crate) fn event<'a>(
    lanes: &Lanes,
    message: &Message<'a>,
    decode: impl FnOnce() -> DecodedPayload,
    stream: Option<&Stream>,
    endian: Endian,
    turned: &'a mut Vec<u8>,
    tell: FieldMode,
) -> Event<'a> {
    let content = lanes.json_content(message, tell).unwrap_or_else(|| content_of(decode()));
    let (track, time, offset) = (TrackId(message.stream), message.time, message.offset);
    let mut payload = message.payload;
    let stream = stream.filter(|stream| !has_named_order(stream));
    if let (Some(stream), Endian::Big) = (stream, endian) {
        turned.clear();
        turned.extend_from_slice(payload);
        if decode::swap_bytes(&stream.encoding, turned) {
            payload = turned;
        }
    }
    let partial = partial(message);
    Event { track, time, offset, content, payload, partial }
}

fn content_of(decoded: DecodedPayload) -> Content<'static> {
    match decoded.value {
        _ if decoded.fault.is_some() => Content::Payload,
        Value::Bytes(_) => Content::Payload,
        Value::Text(text) => Content::Text(text.into()),
        value => Content::Value(value),
    }
}
