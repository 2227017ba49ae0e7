//! Texts that writers meant as UTF-8.
//!
//! Within this crate a string has one character for each byte, as Latin-1 has, so that whatever is
//! read can be written again. Here is the border to everything else, for those who ask for UTF-8.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{Schema, SchemaRef};
use kymo_core::{Error, Finding, Result, Severity, Value};
use kymo_model::table::{Batches, Scan};
use kymo_model::timeline::{
    Activity, Clock, ClockId, Content, Event, Events, Fields, Message, TimeNs, TimelineView,
    TrackStatistics, Tracks, Window,
};
use kymo_model::{DumpRequest, Field, Flow, Record, RecordSink, Summary, Table};
use serde_json::Value as Json;

use crate::{Reader, dump};

/// Conversion of texts at the border.
#[derive(Debug, Clone)]
pub(crate) enum Recoding {
    /// Bytes are read as UTF-8; whether some are none is noted.
    Read(Arc<AtomicBool>),
    /// UTF-8 is written as bytes.
    Write,
}

impl Recoding {
    pub(crate) fn text(&self, text: &str) -> String {
        match self {
            Self::Write => to_bytes(text),
            Self::Read(lost) => {
                // What has a character beyond Latin-1 was not read from the file.
                let Some(bytes) = bytes_of(text) else { return text.to_owned() };
                let text = String::from_utf8_lossy(&bytes);
                if let Cow::Owned(_) = text {
                    lost.store(true, Ordering::Relaxed);
                }
                text.into_owned()
            }
        }
    }

    fn cow(&self, text: &str) -> Cow<'static, str> {
        Cow::Owned(self.text(text))
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::Text(text) => Value::Text(self.text(&text)),
            Value::List(values) => {
                Value::List(values.into_iter().map(|value| self.value(value)).collect())
            }
            Value::Json(mut json) => {
                self.json(&mut json);
                Value::Json(json)
            }
            value => value,
        }
    }

    /// Texts within JSON, of which our own attributes are a few levels deep.
    fn json(&self, value: &mut Json) {
        let mut left = vec![value];
        while let Some(value) = left.pop() {
            match value {
                Json::String(text) => *text = self.text(text),
                Json::Array(values) => left.extend(values),
                Json::Object(values) => left.extend(values.values_mut()),
                _ => {}
            }
        }
    }

    pub(crate) fn summary(&self, summary: &mut Summary) {
        for row in summary.sections.iter_mut().flat_map(|section| &mut section.rows) {
            (row.name, row.text) = (self.text(&row.name), self.text(&row.text));
            for (_, value) in &mut row.values {
                *value = self.value(value.clone());
            }
        }
    }
}

/// A text whose characters are the bytes of its UTF-8.
pub(crate) fn to_bytes(text: &str) -> String {
    text.bytes().map(char::from).collect()
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect()
}

/// Says that some texts were no UTF-8.
pub(crate) fn finding(lost: &AtomicBool) -> Option<Finding> {
    let message = "texts that are no UTF-8 are shown with marks; without --utf8 they are Latin-1";
    let is_lost = lost.load(Ordering::Relaxed);
    is_lost.then(|| Finding::for_whole_file(Severity::Warning, "utf-8", message))
}

/// Says whether some texts of a file are no UTF-8; goes through all of it.
pub(crate) fn check(reader: &Reader) -> Option<Finding> {
    let lost = Arc::new(AtomicBool::new(false));
    let recoding = Recoding::Read(Arc::clone(&lost));
    // What is too long to be shown is so for others, too.
    let _ = dump::dump(reader, &DumpRequest::default(), &mut Utf8Prefix { recoding, lost: &lost });
    finding(&lost)
}

/// Looks at texts up to the first that is no UTF-8.
struct Utf8Prefix<'a> {
    recoding: Recoding,
    lost: &'a AtomicBool,
}

impl RecordSink for Utf8Prefix<'_> {
    fn record(&mut self, record: &Record<'_>) -> Result<Flow> {
        for (_, field) in &record.fields {
            if let Field::Value(value) = field {
                self.recoding.value(value.clone());
            }
        }
        Ok(if self.lost.load(Ordering::Relaxed) { Flow::Stop } else { Flow::More })
    }

    fn text(&mut self, _text: &[u8]) -> Result<Flow> {
        Ok(Flow::More)
    }
}

/// A timeline whose texts cross the border.
pub(crate) struct RecodedTimeline {
    pub(crate) timeline: Arc<dyn TimelineView>,
    pub(crate) recoding: Recoding,
}

impl TimelineView for RecodedTimeline {
    fn clocks(&self) -> Vec<Clock> {
        self.timeline.clocks()
    }

    fn tracks(&self) -> Tracks {
        let mut tracks = self.timeline.tracks().to_vec();
        for track in &mut tracks {
            track.name = self.recoding.text(&track.name);
            for (_, value) in track.attributes.map_mut() {
                self.recoding.json(value);
            }
        }
        tracks.into()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        let events = Arc::clone(&self.timeline).events(window)?;
        let (recoding, payload) = (self.recoding.clone(), Vec::new());
        Ok(Box::new(RecodedEvents { events, recoding, payload }))
    }

    fn events_with_fields(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        let events = Arc::clone(&self.timeline).events_with_fields(window)?;
        let (recoding, payload) = (self.recoding.clone(), Vec::new());
        Ok(Box::new(RecodedEvents { events, recoding, payload }))
    }

    fn has_fields(&self) -> bool {
        self.timeline.has_fields()
    }

    fn range(self: Arc<Self>, clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        Arc::clone(&self.timeline).range(clock)
    }

    fn tallies(self: Arc<Self>, window: &Window) -> Result<Vec<TrackStatistics>> {
        Arc::clone(&self.timeline).tallies(window)
    }

    fn unsupported(self: Arc<Self>) -> Result<Vec<Finding>> {
        Arc::clone(&self.timeline).unsupported()
    }
}

struct RecodedEvents {
    events: Box<dyn Events>,
    recoding: Recoding,
    /// The payload of the event that was given last, where it is a text.
    payload: Vec<u8>,
}

impl Events for RecodedEvents {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let Self { events, recoding, payload } = self;
        let Some(mut event) = events.next()? else { return Ok(None) };
        let is_text = matches!(
            event.content,
            Content::Text(_) | Content::Value(Value::Text(_) | Value::Json(_))
        );
        if let (true, Ok(text)) = (is_text, std::str::from_utf8(event.payload)) {
            *payload = recoding.text(text).into_bytes();
            event.payload = payload;
        }
        let content = content(recoding, event.content);
        Ok(Some(Event { content, ..event }))
    }
}

fn content<'a>(recoding: &Recoding, content: Content<'a>) -> Content<'a> {
    let message = |this_message: Message<'a>| Message {
        name: recoding.cow(&this_message.name),
        ..this_message
    };
    match content {
        Content::Text(text) => Content::Text(recoding.cow(&text)),
        Content::Value(value) => Content::Value(recoding.value(value)),
        Content::Fields(this_fields) => {
            let fields = this_fields.fields.into_iter().map(|field| kymo_model::timeline::Field {
                name: recoding.cow(&field.name),
                value: recoding.value(field.value),
                bits: field.bits,
            });
            let name = recoding.cow(&this_fields.name);
            Content::Fields(Fields { name, fields: fields.collect() })
        }
        Content::Activity(activity) => Content::Activity(match activity {
            Activity::Begin { name: Some(name), priority, ends } => {
                Activity::Begin { name: Some(recoding.cow(&name)), priority, ends }
            }
            Activity::EndOf { name } => Activity::EndOf { name: recoding.cow(&name) },
            Activity::Send(this_message) => Activity::Send(message(this_message)),
            Activity::Receive(this_message) => Activity::Receive(message(this_message)),
            Activity::Enter { state, settled } => {
                Activity::Enter { state: recoding.cow(&state), settled }
            }
            other => other,
        }),
        other => other,
    }
}

/// A table whose texts cross the border.
pub(crate) struct RecodedTable {
    pub(crate) table: Arc<dyn Table>,
    pub(crate) name: String,
    /// With the names of columns as they are asked for.
    schema: SchemaRef,
    pub(crate) recoding: Recoding,
}

impl RecodedTable {
    pub(crate) fn wrap(table: Arc<dyn Table>, recoding: &Recoding) -> Arc<dyn Table> {
        let name = recoding.text(table.name());
        let column = |field: &Arc<arrow_schema::Field>| {
            field.as_ref().clone().with_name(recoding.text(field.name()))
        };
        let columns: Vec<_> = table.schema().fields().iter().map(column).collect();
        let (schema, recoding) = (Arc::new(Schema::new(columns)), recoding.clone());
        Arc::new(Self { table, name, schema, recoding })
    }
}

impl Table for RecodedTable {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        self.table.about()
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn brief(&self) -> Vec<usize> {
        self.table.brief()
    }

    fn row_count(&self) -> Option<u64> {
        self.table.row_count()
    }

    /// Filters compare what is seen, so they come last.
    fn scan(self: Arc<Self>, scan: &Scan) -> Result<Batches> {
        let all = Scan { batch_rows: scan.batch_rows, ..Scan::default() };
        let batches = Arc::clone(&self.table).scan(&all)?;
        Ok(scan.finish(Box::new(batches.map(move |batch| self.recoded(&batch?)))))
    }
}

impl RecodedTable {
    fn recoded(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let column = |column: &ArrayRef| -> ArrayRef {
            match column.as_any().downcast_ref::<StringArray>() {
                None => Arc::clone(column),
                Some(texts) => {
                    let texts = texts.iter().map(|text| text.map(|text| self.recoding.text(text)));
                    Arc::new(texts.collect::<StringArray>())
                }
            }
        };
        let columns = batch.columns().iter().map(column).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(|error| Error::request(error.to_string()))
    }
}

/// Takes records whose texts cross the border.
pub(crate) struct RecodedSink<'a> {
    pub(crate) sink: &'a mut dyn RecordSink,
    pub(crate) recoding: Recoding,
}

impl RecordSink for RecodedSink<'_> {
    fn record(&mut self, record: &Record<'_>) -> Result<Flow> {
        let fields = record.fields.iter().map(|(name, field)| {
            let field = match field {
                Field::Value(value) => Field::Value(self.recoding.value(value.clone())),
                Field::Array(array) => Field::Array(*array),
            };
            (*name, field)
        });
        let fields = fields.collect();
        let Record { kind, index, offset, .. } = *record;
        self.sink.record(&Record { kind, index, offset, fields })
    }

    fn text(&mut self, text: &[u8]) -> Result<Flow> {
        self.sink.text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_8_goes_there_and_back() {
        let lost = Arc::new(AtomicBool::new(false));
        let read = Recoding::Read(Arc::clone(&lost));
        for text in ["pump", "Pümpe €", "\u{1F600}"] {
            assert_eq!(read.text(&Recoding::Write.text(text)), text);
        }
        // As Latin-1 sees the two bytes of an ü.
        assert_eq!(Recoding::Write.text("ü"), "\u{C3}\u{BC}");
        assert_eq!(finding(&lost), None);
        assert_eq!(read.text("\u{FC}"), "\u{FFFD}");
        assert_eq!(finding(&lost).map(|finding| finding.rule), Some("utf-8"));
    }
}
