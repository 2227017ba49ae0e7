//! Channels as tracks, and tracks as channels.
//!
//! A channel that was made of a track keeps what MCAP has no place for in its metadata, under
//! names that begin with `kymo.`, so that the same track comes back.

use kymo_core::{Finding, Severity, shortened};
use kymo_model::timeline::{Clock, ClockId, Track, TrackId, TrackKind};
use serde_json::{Map, Value};

use crate::Reader;
use crate::dump::schema_text;
use crate::types::{Channel, Pairs, Schema};

/// Key for the kind of events of the track; its presence means that the channel was a track.
const KIND: &str = "kymo.kind";
/// The format's word for what its events hold.
const CONTENT: &str = "kymo.content";
/// Whatever else was said of it, as JSON.
const ATTRIBUTES: &str = "kymo.attributes";
/// The name of its clock.
const CLOCK: &str = "kymo.clock";
/// Key for the zero that the clock's times count from: `epoch`, or `own` for a zero of its own.
const CLOCK_ZERO: &str = "kymo.clock_zero";
/// The id of the channel of the track that it belongs under.
const PARENT: &str = "kymo.parent";

/// The attributes that keep the schema of a channel: as a text, or in hexadecimal if it is none.
const SCHEMA_NAME: &str = "schema_name";
const SCHEMA_ENCODING: &str = "schema_encoding";
const SCHEMA: &str = "schema";
const SCHEMA_HEX: &str = "schema_hex";

/// The clock of channels that were no tracks.
fn log_time() -> Clock {
    Clock { name: "log_time".into(), recording: 0, since_epoch: true }
}

/// The tracks of a file, and their clocks.
pub(super) fn tracks(reader: &Reader) -> (Vec<Clock>, Vec<Track>) {
    let (mut clocks, mut tracks) = (Vec::new(), Vec::new());
    let ids: Vec<u16> = reader.channels().keys().copied().collect();
    for channel in reader.channels().values() {
        let clock = clock(channel).map(|clock| {
            let found = clocks.iter().position(|other| *other == clock);
            ClockId(found.unwrap_or_else(|| {
                clocks.push(clock);
                clocks.len() - 1
            }))
        });
        let parent = parent(channel).and_then(|id| ids.binary_search(&id).ok().map(TrackId));
        tracks.push(Track {
            name: channel.topic.clone(),
            recording: 0,
            parent,
            kind: kind(channel).unwrap_or(TrackKind::Messages),
            clock,
            content: channel
                .metadata
                .get(CONTENT)
                .unwrap_or(&channel.message_encoding)
                .clone()
                .into(),
            attributes: attributes(reader, channel).into(),
        });
    }
    (clocks, tracks)
}

/// The channel of the track that a track belongs under.
fn parent(channel: &Channel) -> Option<u16> {
    let parent = channel.metadata.get(PARENT)?.parse().ok()?;
    Some(parent).filter(|parent| *parent < channel.id)
}

/// Says that tracks are under one that is not there, where the end of the file or a part of it is
/// missing.
pub(crate) fn note_orphans(reader: &Reader) {
    let channels = reader.channels();
    let lacks = |channel: &Channel| parent(channel).filter(|parent| !channels.contains_key(parent));
    let mut orphans = channels.values().filter_map(|channel| Some((channel, lacks(channel)?)));
    let Some((first, lacks)) = orphans.next() else { return };
    let (topic, count) = (shortened(&first.topic), 1 + orphans.count());
    let why = format!(
        "{topic} belongs under channel {lacks}, which is not there: which processor it is of is not \
         known ({count} in all)"
    );
    reader.faults().push(Finding::for_whole_file(Severity::Warning, "parent", why));
}

fn kind(channel: &Channel) -> Option<TrackKind> {
    TrackKind::named(channel.metadata.get(KIND)?)
}

/// Returns true if messages of a channel are what happened on a track, spelt as JSON.
pub(super) fn has_json_events(channel: &Channel) -> bool {
    let content = channel.metadata.get(CONTENT);
    // Texts that are JSON themselves are not spelt; others have another encoding where they are not.
    let is_json = channel.message_encoding == "json" && content.is_none_or(|name| name != "json");
    is_json && kind(channel).is_some()
}

/// Returns true if the word for what a track holds is that of a text.
pub(super) fn is_text(content: &str) -> bool {
    matches!(content, "json" | "text" | "utf-8")
}

fn clock(channel: &Channel) -> Option<Clock> {
    if kind(channel).is_none() {
        return Some(log_time());
    }
    let name = channel.metadata.get(CLOCK)?.clone();
    let since_epoch = channel.metadata.get(CLOCK_ZERO).is_none_or(|zero| zero == "epoch");
    Some(Clock { name, recording: 0, since_epoch })
}

/// Returns the attributes that a channel gives for itself: those of the track it was, or its
/// metadata and schema.
fn attributes(reader: &Reader, channel: &Channel) -> Map<String, Value> {
    let kept = channel.metadata.get(ATTRIBUTES).and_then(|kept| serde_json::from_str(kept).ok());
    if let (Some(Value::Object(attributes)), Some(_)) = (kept, kind(channel)) {
        return attributes;
    }
    let pairs = channel.metadata.iter();
    let mut attributes: Map<String, Value> =
        pairs.map(|(key, value)| (key.clone(), value.clone().into())).collect();
    if let Some(schema) = reader.schemas().get(&channel.schema_id) {
        let data_key = if std::str::from_utf8(&schema.data).is_ok() { SCHEMA } else { SCHEMA_HEX };
        let (name, encoding) = (schema.name.clone(), schema.encoding.clone());
        let of_schema =
            [(SCHEMA_NAME, name), (SCHEMA_ENCODING, encoding), (data_key, schema_text(schema))];
        for (key, value) in of_schema {
            attributes.entry(key).or_insert_with(|| value.into());
        }
    }
    attributes
}

/// The schema that a track came with, where it came with one.
pub(super) fn schema(track: &Track, id: u16) -> Option<Schema> {
    let text = |key: &str| track.attributes.text(key).map(str::to_owned);
    let (name, encoding) = (text(SCHEMA_NAME)?, text(SCHEMA_ENCODING)?);
    let data = match text(SCHEMA) {
        Some(text) => text.into_bytes(),
        None => from_hex(&text(SCHEMA_HEX)?)?,
    };
    Some(Schema { id, name, encoding, data })
}

/// The bytes that hexadecimal digits spell.
fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let pairs = pairs.iter().map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    if rest.is_empty() { pairs.collect() } else { None }
}

/// The channel that a track becomes; `is_spelt` when its events are written as JSON.
pub(super) fn channel(
    track: &Track,
    clock: Option<&Clock>,
    id: u16,
    schema_id: u16,
    is_spelt: bool,
) -> Channel {
    let mut metadata = Pairs::new();
    metadata.insert(KIND.into(), track.kind.name().into());
    metadata.insert(CONTENT.into(), track.content.to_string());
    metadata.insert(ATTRIBUTES.into(), serde_json::json!(track.attributes).to_string());
    if let Some(clock) = clock {
        let zero = if clock.since_epoch { "epoch" } else { "own" };
        metadata.insert(CLOCK.into(), clock.name.clone());
        metadata.insert(CLOCK_ZERO.into(), zero.into());
    }
    if let Some(TrackId(parent)) = track.parent {
        // Ids of channels count from 1, in the order of tracks.
        metadata.insert(PARENT.into(), (parent + 1).to_string());
    }
    let message_encoding = match &*track.content {
        _ if is_spelt => "json",
        "utf-8" | "text" => "text",
        other => other,
    };
    let (topic, message_encoding) = (track.name.clone(), message_encoding.to_owned());
    Channel { id, schema_id, topic, message_encoding, metadata }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_that_is_no_text_comes_back_from_hexadecimal() {
        assert_eq!(from_hex("0aff"), Some(vec![0x0A, 0xFF]));
        assert_eq!(from_hex(""), Some(vec![]));
        for wrong in ["0", "0g", "0a0", "ä"] {
            assert_eq!(from_hex(wrong), None, "{wrong}");
        }
    }
}
