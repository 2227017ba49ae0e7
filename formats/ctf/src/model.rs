//! Events as a timeline: a track for each processor's stream, and clocks as the metadata has them.
//!
//! What an event holds is one text: its name and its fields. What the model has no place for is
//! in tables: packets, and what the tracer says of the system.

use std::collections::VecDeque;
use std::sync::Arc;

use kymo_core::Result;
use kymo_core::model::timeline::{
    Clock, ClockId, Content, Event, Events, TimeNs, TimelineView, Track, TrackId, TrackKind, Window,
};
use serde_json::{Map, json};

use crate::Reader;
use crate::read::{Chosen, Merged};
use crate::render::Plain;

/// The timeline of a trace.
pub(crate) struct Timeline(pub(crate) Arc<Reader>);

impl TimelineView for Timeline {
    fn clocks(&self) -> Vec<Clock> {
        let clocks = self.0.trace().clocks.iter();
        clocks
            .map(|clock| Clock {
                name: clock.name.clone(),
                recording: 0,
                since_epoch: clock.since_epoch(),
            })
            .collect()
    }

    fn tracks(&self) -> Vec<Track> {
        self.0.tracks().iter().map(|track| self.track(track)).collect()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        let tracks = window.tracks.as_ref();
        let chosen = Chosen {
            tracks: tracks.map(|tracks| tracks.iter().map(|track| track.0).collect()),
            from_ns: window.from.map(|time| time.0),
            until_ns: window.until.map(|time| time.0),
        };
        let mut all = All {
            merged: Merged::new(&self.0, &chosen),
            reader: Arc::clone(&self.0),
            window: window.clone(),
            plain: Plain::default(),
            text: String::new(),
        };
        let Some(last) = window.last else { return Ok(Box::new(all)) };
        let mut kept = VecDeque::new();
        while let Some(seen) = all.advance() {
            let is_full = kept.len() as u64 >= last;
            let _ = if is_full { kept.pop_front() } else { None };
            if last > 0 {
                kept.push_back((seen, all.text.clone()));
            }
        }
        Ok(Box::new(Last { reader: Arc::clone(&self.0), kept, current: String::new() }))
    }
}

impl Timeline {
    fn track(&self, track: &crate::Track) -> Track {
        let mut attributes = Map::new();
        attributes.insert("stream_id".to_owned(), json!(track.stream));
        attributes.extend(track.cpu.map(|cpu| ("cpu_id".to_owned(), json!(cpu))));
        Track {
            name: track.name.clone(),
            recording: 0,
            parent: None,
            kind: TrackKind::Messages,
            // A trace has one clock, or what its streams use is not known before events are read.
            clock: (!self.0.trace().clocks.is_empty()).then_some(ClockId(0)),
            content: "ctf".to_owned(),
            attributes,
        }
    }
}

/// An event, but for its text.
#[derive(Debug, Clone, Copy)]
struct Seen {
    track: usize,
    time: Option<TimeNs>,
    file: usize,
    range: (u64, u64),
}

impl Seen {
    fn event<'a>(&self, reader: &'a Reader, text: &'a str) -> Event<'a> {
        Event {
            track: TrackId(self.track),
            time: self.time,
            offset: self.range.0,
            content: Content::Text(text.into()),
            payload: reader.bytes(self.file, self.range),
        }
    }
}

/// Events as they come.
struct All {
    reader: Arc<Reader>,
    merged: Merged,
    window: Window,
    plain: Plain,
    text: String,
}

impl All {
    fn advance(&mut self) -> Option<Seen> {
        loop {
            let (track, taken) = self.merged.next(&mut self.plain, Plain::clear)?;
            let time = taken.head.time_ns.map(TimeNs);
            if !self.window.holds(time) {
                continue;
            }
            let packet = self.reader.packets().get(taken.head.packet)?;
            let stream = self.reader.layouts().streams.get(&packet.stream)?;
            let name = stream.events.get(&taken.head.id).map_or("", |event| &*event.name);
            self.text.clear();
            self.text.push_str(name);
            if !self.plain.text.is_empty() {
                self.text.push_str(": ");
                self.text.push_str(&self.plain.text);
            }
            return Some(Seen { track, time, file: packet.file, range: taken.range });
        }
    }
}

impl Events for All {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let seen = self.advance();
        Ok(seen.map(|seen| seen.event(&self.reader, &self.text)))
    }
}

/// The last events, which were kept.
struct Last {
    reader: Arc<Reader>,
    kept: VecDeque<(Seen, String)>,
    current: String,
}

impl Events for Last {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let Some((seen, text)) = self.kept.pop_front() else { return Ok(None) };
        self.current = text;
        Ok(Some(seen.event(&self.reader, &self.current)))
    }
}
