//! Streams of a timeline: what each holds and on which clock, and on request how many events
//! there are, from when to when, and the smallest and the largest number.

use std::io::Write;
use std::sync::Arc;

use kymo_core::Value;
use kymo_core::model::timeline::{
    Clock, Content, Event, Shown, TimeNs, TimelineView, Track, TrackId, Window,
};
use serde_json::{Map, json};

use super::Args;
use crate::masks::Masks;
use crate::output::Output;
use crate::render::columns::Columns;
use crate::render::{escaped, numbers, style, value};
use crate::session::Session;

/// What is to be listed of a file, and how.
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
        let seen = if self.args.stats { self.seen(tracks.len(), &wanted)? } else { Vec::new() };
        let lines = wanted.iter().map(|(id, track)| Line {
            track,
            clock: track.clock.and_then(|clock| clocks.get(clock.0)),
            seen: seen.get(id.0),
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

    /// Looks at all events of the streams, once.
    fn seen(&self, count: usize, wanted: &[(TrackId, &Track)]) -> anyhow::Result<Vec<Seen>> {
        let mut seen = vec![Seen::default(); count];
        let tracks = wanted.iter().map(|(id, _)| *id).collect();
        let window = Window { tracks: Some(tracks), ..Window::default() };
        let mut events = Arc::clone(self.view).events(&window)?;
        while let Some(event) = events.next()? {
            if let Some(seen) = seen.get_mut(event.track.0) {
                seen.add(&event);
            }
        }
        Ok(seen)
    }
}

/// What the events of a stream have in common.
#[derive(Clone, Default)]
struct Seen {
    events: u64,
    payload_bytes: u64,
    times: Option<(TimeNs, TimeNs)>,
    /// The smallest and the largest number, each as it was recorded.
    range: Option<[(f64, Value); 2]>,
}

impl Seen {
    fn add(&mut self, event: &Event<'_>) {
        self.events += 1;
        self.payload_bytes += event.payload.len() as u64;
        if let Some(time) = event.time {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        if let Content::Value(value) = &event.content
            && let Some(number) = number(value)
        {
            self.stretch(number, value);
        }
    }

    fn stretch(&mut self, number: f64, value: &Value) {
        match &mut self.range {
            None => self.range = Some([(number, value.clone()), (number, value.clone())]),
            Some([min, _]) if number < min.0 => *min = (number, value.clone()),
            Some([_, max]) if number > max.0 => *max = (number, value.clone()),
            Some(_) => {}
        }
    }
}

/// A value as far as it can be compared.
#[allow(clippy::cast_precision_loss, reason = "which is larger hardly depends on the last digits")]
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::UInt(number) => Some(*number as f64),
        Value::Float32(number) => Some(f64::from(*number)).filter(|number| !number.is_nan()),
        Value::Float(number) => Some(*number).filter(|number| !number.is_nan()),
        _ => None,
    }
}

/// A stream and what is known of it.
struct Line<'a> {
    track: &'a Track,
    clock: Option<&'a Clock>,
    seen: Option<&'a Seen>,
}

impl Line<'_> {
    /// `on clk, 60 events, 12 B, 20 / 80, 10.5 to 12.5`
    fn text(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.clock.map(|clock| format!("on {}", escaped(&clock.name))));
        if let Some(seen) = self.seen {
            parts.push(numbers::count(seen.events, "event", "events"));
            parts.push(numbers::size(seen.payload_bytes));
            let range = seen.range.as_ref();
            parts.extend(range.map(|[min, max]| format!("{} / {}", value(&min.1), value(&max.1))));
            let shown = |time| Shown::on(self.clock, time);
            let times = seen.times;
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
        put("attributes", json!(self.track.attributes));
        if let Some(seen) = self.seen {
            put("events", json!(seen.events));
            put("payload_bytes", json!(seen.payload_bytes));
            put("first_ns", json!(seen.times.map(|(first, _)| first.0)));
            put("last_ns", json!(seen.times.map(|(_, last)| last.0)));
            put("min", json!(seen.range.as_ref().map(|[min, _]| &min.1)));
            put("max", json!(seen.range.as_ref().map(|[_, max]| &max.1)));
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
        for (key, value) in attributes.iter().filter(|_| with_attributes) {
            let path = format!("{}/{}", escaped(&line.track.name), escaped(key));
            let text = format!("attr = {}", escaped(&value.to_string()));
            columns.row(["attribute".to_owned(), String::new(), path, text]);
        }
    }
    Ok(columns.print(out)?)
}
