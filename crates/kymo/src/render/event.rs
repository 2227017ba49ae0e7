//! Events of a timeline, one a line: for a person, as JSON, or as CSV.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use kymo_core::Value;
use kymo_export::tables::values::{Notation, write_text, write_value};
use kymo_model::profile::{ContextNumber, ProfileView};
use kymo_model::timeline::{
    Clock, Content, DisplayTime, Event, Fields, TimeNs, TimelineView, Track,
};
use serde_json::{Map, Value as Json, json};

use super::rows::write_cell;
use super::runs::{Runs, is_piece};
use super::{activity, escaped, measure, pad, style};
use crate::output::Paint;

/// Names of tracks are lined up to this width; longer ones stand out.
const NAME_WIDTH_MAX: usize = 32;

/// Names of the columns of CSV.
const CSV_HEADER: &[u8] = b"time_ns,time,stream,value\n";

/// Ways in which events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Text(Paint),
    Json,
    Csv,
}

/// Writes events, given the tracks and clocks they are on.
pub(crate) struct EventLines<'a> {
    look: Look,
    /// The file's name, where lines must tell.
    file: Option<&'a str>,
    clocks: Vec<Clock>,
    tracks: Vec<Track>,
    width: usize,
    /// True if lines tell the time since the one before, and when that was.
    has_delta: bool,
    before: Option<TimeNs>,
    /// Open runs of text, where lines report runs.
    runs: Option<Runs>,
    /// Timeline that gives the file of a directory that an event is in.
    timeline: Option<Arc<dyn TimelineView>>,
    /// Profile that gives a person the contexts of samples.
    contexts: Option<Arc<dyn ProfileView>>,
}

impl<'a> EventLines<'a> {
    /// Lines for events on tracks that are added as they come to be known.
    pub(crate) fn new(look: Look, file: Option<&'a str>) -> Self {
        Self {
            look,
            file,
            clocks: Vec::new(),
            tracks: Vec::new(),
            width: 0,
            has_delta: false,
            before: None,
            runs: None,
            timeline: None,
            contexts: None,
        }
    }

    /// Joins streams that have no borders between messages, and tells of their lines. What is open
    /// at the end is written by [`finish`](Self::finish).
    pub(crate) fn join_runs(&mut self) {
        self.runs = Some(Runs::default());
    }

    /// JSON tells which file of a directory events are in.
    pub(crate) fn with_files(&mut self, timeline: Arc<dyn TimelineView>) {
        self.timeline = Some(timeline);
    }

    /// Lines for a person tell what samples are of.
    pub(crate) fn with_contexts(&mut self, contexts: Arc<dyn ProfileView>) {
        self.contexts = Some(contexts);
    }

    /// Returns the name of a context, where it can be read.
    fn context(&self, number: u64) -> Option<String> {
        let contexts = self.contexts.as_ref()?;
        let found = contexts.find(ContextNumber(number)).ok()??;
        contexts.label(&contexts.context(found).ok()?).ok()
    }

    /// Lines tell the time since the one before, too.
    pub(crate) fn with_delta(&mut self) {
        self.has_delta = true;
    }

    /// The line of names that CSV begins with.
    pub(crate) fn write_header(&self, out: &mut impl Write) -> std::io::Result<()> {
        let delta: &[u8] = if self.has_delta { b"delta_ns," } else { b"" };
        out.write_all(&[delta, CSV_HEADER].concat())
    }

    /// A clock; the next gets the next id.
    pub(crate) fn clock(&mut self, clock: Clock) {
        self.clocks.push(clock);
    }

    /// A track; the next gets the next id.
    pub(crate) fn track(&mut self, track: Track) {
        let width = escaped(&track.name).chars().count();
        self.width = self.width.max(width.min(NAME_WIDTH_MAX));
        self.tracks.push(track);
    }

    /// Writes the line of an event, or the lines that it ends.
    pub(crate) fn write(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        self.write_with(event, None, out);
    }

    /// Writes the same; JSON has the fields, too, that an event is known to have.
    pub(crate) fn write_with(
        &mut self,
        event: &Event<'_>,
        fields: Option<&Fields<'_>>,
        out: &mut Vec<u8>,
    ) {
        let track = self.tracks.get(event.track.0);
        let is_piece = track.is_some_and(|track| is_piece(track, event));
        let Some(mut runs) = self.runs.take_if(|_| is_piece) else {
            return self.write_line(event, fields, out);
        };
        runs.take(event, |line| self.write_line(line, None, out));
        self.runs = Some(runs);
    }

    /// Writes what was begun and has no end.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        if let Some(mut runs) = self.runs.take() {
            runs.finish(|line| self.write_line(line, None, out));
        }
    }

    fn write_line(&mut self, event: &Event<'_>, fields: Option<&Fields<'_>>, out: &mut Vec<u8>) {
        let delta = self.delta(event);
        let track = self.tracks.get(event.track.0);
        let clock = track.and_then(|track| self.clocks.get(track.clock?.0));
        let time = event.time.map(|time| DisplayTime::on_clock(clock, time));
        let name = track.map_or("?", |track| track.name.as_str());
        match self.look {
            Look::Text(paint) => {
                if self.has_delta {
                    let faint = paint.style(style::FAINT);
                    let delta = delta.map_or_else(|| "-".to_owned(), signed);
                    let _ = write!(out, "{faint}{delta:>11}{faint:#} ");
                }
                self.text(paint, time, name, event, out);
            }
            Look::Json => {
                self.json(time, delta, track, event, out);
                let fields = json_fields(event, fields, &self.tracks);
                if !fields.is_empty() {
                    let _ = write!(out, ",\"fields\":{}", Json::Object(fields));
                }
                out.push(b'}');
            }
            Look::Csv => {
                if self.has_delta {
                    let _ = delta.map_or(Ok(()), |delta| write!(out, "{delta}"));
                    out.push(b',');
                }
                self.csv(time, name, event, out);
            }
        }
        out.push(b'\n');
    }

    /// The time since the event before, where lines tell that.
    fn delta(&mut self, event: &Event<'_>) -> Option<i128> {
        let time = event.time.filter(|_| self.has_delta)?;
        let before = self.before.replace(time)?;
        Some(i128::from(time.0) - i128::from(before.0))
    }

    fn text(
        &self,
        paint: Paint,
        time: Option<DisplayTime>,
        name: &str,
        event: &Event<'_>,
        out: &mut Vec<u8>,
    ) {
        let (faint, kind) = (paint.style(style::FAINT), paint.style(style::KIND));
        let time = time.map_or_else(|| "-".to_owned(), |time| time.to_string());
        let (name, width) = (escaped(name), self.width);
        let _ =
            write!(out, "{faint}{time:>13}{faint:#}  {kind}{}{kind:#}  ", pad::left(&name, width));
        let broken = self.tracks.get(event.track.0).and_then(|track| broken_text(track, event));
        match (&event.content, &broken) {
            // What ends a line in the recording need not be seen to do so here.
            (Content::Text(text), _) => {
                write_text(text.strip_suffix('\n').unwrap_or(text), Notation::Text, out);
            }
            (_, Some(text)) => write_text(text, Notation::Text, out),
            _ => self.write_content(event, Notation::Text, out),
        }
        if let Content::Sample(number) = event.content
            && let Some(name) = self.context(number)
        {
            let _ = write!(out, "  {}", escaped(&name));
        }
        if let Some(partial) = event.partial {
            let _ = write!(out, "  {faint}({partial}){faint:#}");
        }
    }

    fn json(
        &self,
        time: Option<DisplayTime>,
        delta: Option<i128>,
        track: Option<&Track>,
        event: &Event<'_>,
        out: &mut Vec<u8>,
    ) {
        out.push(b'{');
        if let Some(file) = self.file {
            field("file", file, out);
        }
        if let Some(track) = track {
            let _ = write!(out, "\"recording\":{},", track.recording);
            field("stream", &track.name, out);
        }
        if let Some(time) = time {
            let _ = write!(out, "\"time_ns\":{},", time.time.0);
            field("time", &time.to_string(), out);
        }
        if let Some(delta) = delta {
            let _ = write!(out, "\"delta_ns\":{delta},");
        }
        let timeline = self.timeline.as_ref();
        let in_file = timeline
            .and_then(|timeline_view| timeline_view.file_of(event.track, event.time, event.offset));
        if let Some(in_file) = in_file {
            field("event_file", &in_file, out);
        }
        let _ = write!(out, "\"offset\":{},", event.offset);
        if let Some(partial) = event.partial {
            field("partial", partial, out);
        }
        let key: &[u8] = match event.content {
            Content::Payload => b"\"payload\":",
            Content::Sample(_) => b"\"context\":",
            _ => b"\"value\":",
        };
        out.extend_from_slice(key);
        match &event.content {
            // Its other end is among its fields.
            Content::Activity(activity) => write_text(&activity.to_string(), Notation::Json, out),
            _ => self.write_content(event, Notation::Json, out),
        }
    }

    fn csv(&self, time: Option<DisplayTime>, name: &str, event: &Event<'_>, out: &mut Vec<u8>) {
        if let Some(time) = time {
            let _ = write!(out, "{},{time}", time.time.0);
        } else {
            out.push(b',');
        }
        let mut value = Vec::new();
        self.write_content(event, Notation::Csv, &mut value);
        for cell in [name.as_bytes(), &value] {
            out.push(b',');
            write_cell(cell, out);
        }
    }

    fn write_content(&self, event: &Event<'_>, notation: Notation, out: &mut Vec<u8>) {
        match &event.content {
            Content::Value(value) => write_value(value, notation, out),
            Content::Text(text) => write_text(text, notation, out),
            Content::Fields(fields) => write_text(&fields.to_string(), notation, out),
            Content::Sample(context) => write_value(&Value::UInt(*context), notation, out),
            Content::Payload => write_value(&Value::Bytes(event.payload.to_vec()), notation, out),
            Content::Activity(activity) => {
                let track = self.tracks.get(event.track.0);
                let text = activity::text(activity, track, (&self.tracks, &self.clocks));
                write_text(&text, notation, out);
            }
        }
    }
}

/// Returns the fields of an event by name.
fn json_fields(
    event: &Event<'_>,
    fields: Option<&Fields<'_>>,
    tracks: &[Track],
) -> Map<String, Json> {
    match (&event.content, fields) {
        (Content::Fields(fields), _) | (_, Some(fields)) => {
            object(fields.fields.iter().map(|field| (&*field.name, json!(field.value))))
        }
        (Content::Activity(activity), None) => {
            let fields = activity::fields(activity, tracks).into_iter();
            object(fields.map(|(name, value)| (name, json!(value))))
        }
        (Content::Text(text), None) if text.starts_with('{') => {
            serde_json::from_str(text).unwrap_or_default()
        }
        _ => Map::new(),
    }
}

/// Fields as an object. Of a name that is there again, all values are, in a list.
fn object<'a>(fields: impl Iterator<Item = (&'a str, Json)>) -> Map<String, Json> {
    let (mut object, mut repeated) = (Map::new(), BTreeSet::new());
    for (name, value) in fields {
        match object.get_mut(name) {
            None => drop(object.insert(name.to_owned(), value)),
            Some(known) if repeated.insert(name) => *known = json!([known.take(), value]),
            Some(known) => known.as_array_mut().into_iter().for_each(|all| all.push(value.clone())),
        }
    }
    object
}

/// Returns the text that a person reads where a text is no UTF-8, without the end of its line:
/// other bytes are written as `\xb0`.
pub(crate) fn broken_text(track: &Track, event: &Event<'_>) -> Option<String> {
    if !matches!(event.content, Content::Payload) || !matches!(&*track.content, "utf-8" | "text") {
        return None;
    }
    let mut text = String::new();
    let payload = event.payload.strip_suffix(b"\n").unwrap_or(event.payload);
    for chunk in payload.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    Some(text)
}

/// A time from one event to another: `+1.250 ms`.
fn signed(ns: i128) -> String {
    let sign = if ns < 0 { '-' } else { '+' };
    format!("{sign}{}", measure::duration(u64::try_from(ns.unsigned_abs()).unwrap_or(u64::MAX)))
}

fn field(name: &str, text: &str, out: &mut Vec<u8>) {
    let _ = write!(out, "\"{name}\":");
    write_text(text, Notation::Json, out);
    out.push(b',');
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_model::timeline::{Activity, Attributes, ClockId, Field, TrackId, TrackKind};

    fn line(look: Look, time: Option<i64>, content: Content<'_>) -> String {
        line_of_part(look, time, content, None)
    }

    fn line_of_part(
        look: Look,
        time: Option<i64>,
        content: Content<'_>,
        partial: Option<&'static str>,
    ) -> String {
        let mut lines = EventLines::new(look, None);
        lines.clock(Clock { name: "clk".to_owned(), recording: 0, since_epoch: false });
        lines.track(Track {
            name: "a,b".to_owned(),
            recording: 0,
            parent: None,
            kind: TrackKind::Messages,
            clock: Some(ClockId(0)),
            content: "utf-8".into(),
            attributes: Attributes::new(),
        });
        let time = time.map(TimeNs);
        let (track, offset, payload) = (TrackId(0), 7, &[0xAB]);
        let event = Event { track, time, offset, content, payload, partial };
        let mut out = Vec::new();
        lines.write(&event, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_has_what_is_known() {
        assert_eq!(
            line(Look::Json, Some(1_500_000_000), Content::Value(Value::Float(0.5))),
            "{\"recording\":0,\"stream\":\"a,b\",\"time_ns\":1500000000,\"time\":\"1.500000000\",\
             \"offset\":7,\"value\":0.5}\n"
        );
        assert_eq!(
            line(Look::Json, None, Content::Payload),
            "{\"recording\":0,\"stream\":\"a,b\",\"offset\":7,\"payload\":\"ab\"}\n"
        );
    }

    #[test]
    fn json_has_fields_by_their_names() {
        let json = |content| line(Look::Json, None, content);
        let field =
            |name: &'static str, value: Value| Field { name: name.into(), value, bits: None };
        let fields = vec![
            field("tid", Value::Int(7)),
            field("list", Value::List(vec![Value::Int(1)])),
            field("tid", Value::Int(8)),
            field("list", Value::Null),
            field("tid", Value::Int(9)),
        ];
        let fields = Content::Fields(Fields { name: "e".into(), fields });
        let told = json(fields);
        assert!(told.ends_with(",\"fields\":{\"tid\":[7,8,9],\"list\":[[1],null]}}\n"), "{told}");
        let told = json(Content::Text("{\"speed\":62}".into()));
        let expected = "\"value\":\"{\\\"speed\\\":62}\",\"fields\":{\"speed\":62}}\n";
        assert!(told.ends_with(expected), "{told}");
        let told = json(Content::Text("{speed".into()));
        assert!(told.ends_with("\"value\":\"{speed\"}\n"), "{told}");
        let enter = Activity::Enter { state: "open".into(), settled: Some(TimeNs(5)) };
        let told = json(Content::Activity(enter));
        let expected = "\"value\":\"enter open\",\"fields\":{\"state\":\"open\",\"settled\":5}}\n";
        assert!(told.ends_with(expected), "{told}");
    }

    #[test]
    fn what_may_be_missing_of_an_event_is_told_with_it() {
        let partial = Some("its beginning may be missing");
        let text = || Content::Text("rest".into());
        assert_eq!(
            line_of_part(Look::Json, None, text(), partial),
            "{\"recording\":0,\"stream\":\"a,b\",\"offset\":7,\
             \"partial\":\"its beginning may be missing\",\"value\":\"rest\"}\n"
        );
        let shown = line_of_part(
            Look::Text(Paint::for_stream(clap::ColorChoice::Never, &std::io::stdout())),
            None,
            text(),
            partial,
        );
        assert_eq!(shown.trim_start(), "-  a,b  rest  (its beginning may be missing)\n");
    }

    #[test]
    fn csv_is_quoted_where_it_must_be() {
        assert_eq!(
            line(Look::Csv, None, Content::Text("say \"hi\"\n".into())),
            ",,\"a,b\",\"say \"\"hi\"\"\n\"\n"
        );
        assert_eq!(line(Look::Csv, Some(1), Content::Sample(3)), "1,0.000000001,\"a,b\",3\n");
        assert_eq!(line(Look::Csv, None, Content::Payload), ",,\"a,b\",ab\n");
    }
}
