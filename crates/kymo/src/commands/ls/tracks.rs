//! Streams of a timeline: what each holds and on which clock, and on request how many events
//! there are, from when to when, and the smallest and the largest number.

use std::io::Write;
use std::sync::Arc;

use kymo_model::timeline::{
    Clock, DisplayTime, TimelineView, Track, TrackId, TrackStatistics, Window,
};
use serde_json::{Map, json};

use super::Args;
use crate::masks::Masks;
use crate::output::Output;
use crate::render::columns::Columns;
use crate::render::{escaped, numbers, style, value};
use crate::session::Session;

/// Part of a file that is to be listed, and the way to list it.
pub(super) struct Listing<'a> {
    pub(super) view: &'a Arc<dyn TimelineView>,
    pub(super) masks: &'a Masks,
    /// The file where every line names it.
    pub(super) file: Option<&'a str>,
    pub(super) args: &'a Args,
}

impl Listing<'_> {
    /// Lists streams in the order of the file. Tells how many lines there are.
    pub(super) fn print(&self, session: &mut Session) -> anyhow::Result<u64> {
        let (clocks, tracks) = (self.view.clocks(), self.view.tracks());
        let wanted = tracks.iter().enumerate().map(|(id, track)| (TrackId(id), track));
        let wanted: Vec<_> = wanted.filter(|(_, track)| self.masks.matches(&track.name)).collect();
        let mut tallies = Vec::new();
        if self.args.stats {
            let tracks = Some(wanted.iter().map(|(id, _)| *id).collect());
            tallies = Arc::clone(self.view).tallies(&Window { tracks, ..Window::default() })?;
        }
        let lines = wanted.iter().map(|(id, track)| Line {
            track,
            parent: track.parent.and_then(|parent| tracks.get(parent.0)),
            cpu: cpu_of(&tracks, *id),
            clock: track.clock.and_then(|clock| clocks.get(clock.0)),
            tally: tallies.get(id.0),
        });
        if self.args.json {
            for line in lines {
                session.out.json(&line.json(self.file))?;
            }
        } else if self.args.long || self.args.stats || self.args.attributes {
            print_long(&mut session.out, lines, self.args.attributes)?;
        } else {
            for line in lines {
                writeln!(session.out, "{}", escaped(&line.track.name))?;
            }
        }
        Ok(wanted.len() as u64)
    }
}

/// The processor that a stream says it is of, or the nearest above it that says so.
fn cpu_of(tracks: &[Track], track_id: TrackId) -> Option<i64> {
    let mut next = Some(track_id);
    // Parents come before their children, so that this ends.
    while let Some((id, track)) = next.and_then(|id| Some((id, tracks.get(id.0)?))) {
        if let Some(cpu) = track.attributes.get(Track::CPU_ID) {
            return cpu.as_i64();
        }
        next = track.parent.filter(|parent| *parent < id);
    }
    None
}

/// A stream and what is known of it.
struct Line<'a> {
    track: &'a Track,
    /// The stream it belongs under.
    parent: Option<&'a Track>,
    /// The number of the processor that it is of.
    cpu: Option<i64>,
    clock: Option<&'a Clock>,
    tally: Option<&'a TrackStatistics>,
}

impl Line<'_> {
    /// `of cpu 0, on clk, 60 events, 12 B, 20 / 80, 10.5 to 12.5`
    fn text(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.parent.map(|parent| format!("of {}", escaped(&parent.name))));
        parts.extend(self.clock.map(|clock| format!("on {}", escaped(&clock.name))));
        if let Some(tally) = self.tally {
            parts.push(numbers::count(tally.events, "event", "events"));
            parts.push(numbers::size(tally.payload_bytes));
            let numbers = tally.numbers.as_ref();
            parts.extend(numbers.map(|[min, max]| format!("{} / {}", value(min), value(max))));
            let shown = |time| DisplayTime::on_clock(self.clock, time);
            let times = tally.times;
            parts.extend(times.map(|(from, to)| format!("{} to {}", shown(from), shown(to))));
        }
        parts.join(", ")
    }

    fn json(&self, file: Option<&str>) -> serde_json::Value {
        let mut object = Map::new();
        let mut put = |key: &str, value| drop(object.insert(key.to_owned(), value));
        if let Some(file) = file {
            put("file", json!(file));
        }
        put("stream", json!(self.track.name));
        put("recording", json!(self.track.recording));
        put("kind", json!(self.track.kind.name()));
        put("content", json!(self.track.content));
        put("clock", json!(self.clock.map(|clock| &clock.name)));
        put("parent", json!(self.parent.map(|parent| &parent.name)));
        put("cpu", json!(self.cpu));
        put("attributes", json!(self.track.attributes));
        if let Some(tally) = self.tally {
            put("events", json!(tally.events));
            put("payload_bytes", json!(tally.payload_bytes));
            put("first_ns", json!(tally.times.map(|(first, _)| first.0)));
            put("last_ns", json!(tally.times.map(|(_, last)| last.0)));
            put("min", json!(tally.numbers.as_ref().map(|[min, _]| min)));
            put("max", json!(tally.numbers.as_ref().map(|[_, max]| max)));
        }
        serde_json::Value::Object(object)
    }
}

fn print_long<'a>(
    out: &mut Output,
    lines: impl Iterator<Item = Line<'a>>,
    with_attributes: bool,
) -> anyhow::Result<()> {
    let mut columns = Columns::default().styled(&[style::KIND]);
    for line in lines {
        let Track { kind, content, name, attributes, .. } = line.track;
        let name = escaped(name).into_owned();
        let content = escaped(content).into_owned();
        columns.row([kind.name().to_owned(), content, name, line.text()]);
        let attributes = attributes.to_map();
        for (key, value) in attributes.iter().filter(|_| with_attributes) {
            let path = format!("{}/{}", escaped(&line.track.name), escaped(key));
            let text = format!("attr = {}", escaped(&value.to_string()));
            columns.row(["attribute".to_owned(), String::new(), path, text]);
        }
    }
    Ok(columns.print(out)?)
}
