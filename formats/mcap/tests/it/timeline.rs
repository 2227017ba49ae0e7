//! Timelines: what MCAP files show as one, and what any timeline becomes as MCAP.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use kymo_conformance::testdata;
use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Result, Source, Value};
use kymo_mcap::{Channel, Mcap, Options, Writer};
use kymo_model::timeline::{
    Attributes, Clock, ClockId, Content, Event, Events, TimeNs, TimelineView, Track, TrackId,
    TrackKind, Tracks, Window,
};
use kymo_model::{Format, WriteReport};
use serde_json::json;

/// An event that outlives its timeline.
#[derive(Debug, Clone, PartialEq)]
struct Kept {
    track: usize,
    time: Option<i64>,
    content: Content<'static>,
    payload: Vec<u8>,
}

fn kept(track: usize, time: Option<i64>, content: Content<'static>, payload: &[u8]) -> Kept {
    Kept { track, time, content, payload: payload.to_vec() }
}

fn text(text: &'static str) -> Content<'static> {
    Content::Text(Cow::Borrowed(text))
}

/// A timeline in memory.
#[derive(Clone)]
struct Made {
    clocks: Vec<Clock>,
    tracks: Vec<Track>,
    events: Vec<Kept>,
}

struct MadeEvents(Arc<Made>, usize);

impl Events for MadeEvents {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        self.1 += 1;
        Ok(self.0.events.get(self.1 - 1).map(|event| Event {
            track: TrackId(event.track),
            time: event.time.map(TimeNs),
            offset: 0,
            content: event.content.clone(),
            payload: &event.payload,
            partial: None,
        }))
    }
}

impl TimelineView for Made {
    fn clocks(&self) -> Vec<Clock> {
        self.clocks.clone()
    }
    fn tracks(&self) -> Tracks {
        self.tracks.clone().into()
    }
    fn events(self: Arc<Self>, _window: &Window) -> Result<Box<dyn Events>> {
        Ok(Box::new(MadeEvents(self, 0)))
    }
}

fn clock(name: &str, since_epoch: bool) -> Clock {
    Clock { name: name.into(), recording: 0, since_epoch }
}

fn track(name: &str, kind: TrackKind, clock: Option<usize>, content: &str) -> Track {
    Track {
        name: name.into(),
        recording: 0,
        parent: None,
        kind,
        clock: clock.map(ClockId),
        content: content.to_owned().into(),
        attributes: Attributes::new(),
    }
}

/// What a logger could have recorded.
fn recording() -> Made {
    let mut sample = track("sample", TrackKind::Counter, Some(0), "uint16le");
    let attributes = json!({ "unit": "V", "deep": { "n": [1, null, 2.5] }, "gain": 0.5 });
    sample.attributes = attributes.as_object().unwrap().clone().into();
    let mut child = track("screenshot", TrackKind::Messages, Some(0), "png");
    child.parent = Some(TrackId(0));
    let tracks = vec![
        sample,
        track("stdout", TrackKind::Messages, Some(0), "utf-8"),
        child,
        track("config", TrackKind::Messages, Some(0), "json"),
        track("nothing", TrackKind::Messages, Some(0), "raw"),
    ];
    let events = vec![
        kept(1, Some(1_000), text("hello"), b"hello"),
        kept(0, Some(1_500), Content::Value(Value::Float(129.0)), &[2, 1]),
        kept(2, Some(1_200), Content::Payload, &[0x89, b'P', 0]),
        kept(1, Some(1_500), text(""), b""),
        kept(3, Some(2_000), text("{}"), b"{}"),
    ];
    Made { clocks: vec![clock("clk", true)], tracks, events }
}

fn write(timeline: &Made) -> (WriteReport, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let to = Destination::new(folder.path().join("out.mcap"), false);
    let timeline: Arc<dyn TimelineView> = Arc::new(timeline.clone());
    let written = Mcap.write_timeline(timeline, &to, &Context::default()).unwrap();
    (written, fs::read(to.path()).unwrap())
}

fn view(bytes: &[u8]) -> Arc<dyn TimelineView> {
    let source = Source::from_bytes("out.mcap", bytes.to_vec());
    let found = Mcap.check(&source, &Context::default()).unwrap();
    assert_eq!(found, []);
    Mcap.open(&source, &Context::default()).unwrap().timeline().unwrap()
}

fn events(view: &Arc<dyn TimelineView>, window: &Window) -> Vec<Kept> {
    let mut events = Arc::clone(view).events(window).unwrap();
    let mut all = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let content = match event.content {
            Content::Text(text) => Content::Text(Cow::Owned(text.into_owned())),
            Content::Fields(fields) => Content::Text(fields.to_string().into()),
            Content::Value(value) => Content::Value(value),
            Content::Sample(sample) => Content::Sample(sample),
            Content::Activity(activity) => Content::Text(activity.to_string().into()),
            Content::Payload => Content::Payload,
        };
        let time = event.time.map(|time| time.0);
        all.push(Kept { track: event.track.0, time, content, payload: event.payload.to_vec() });
    }
    all
}

#[test]
fn a_timeline_comes_back_with_its_tracks_attributes_payloads_and_times() {
    let made = recording();
    let (written, bytes) = write(&made);
    assert_eq!((written.events, written.losses.len()), (5, 0));
    let view = view(&bytes);
    assert_eq!(view.clocks(), made.clocks);
    assert_eq!(&*view.tracks(), made.tracks);
    assert_eq!(events(&view, &Window::default()), made.events);
    // Written again it is the same file.
    let again = Made { clocks: view.clocks(), tracks: view.tracks().to_vec(), events: made.events };
    assert_eq!(write(&again).1, bytes);
}

#[test]
fn another_reader_finds_the_same_messages() {
    let (_, bytes) = write(&recording());
    let messages: Vec<_> =
        mcap::MessageStream::new(&bytes).unwrap().map(|message| message.unwrap()).collect();
    let told = messages.iter().map(|message| {
        let (channel, data) = (&message.channel, message.data.to_vec());
        (channel.topic.as_str(), channel.message_encoding.as_str(), message.log_time, data)
    });
    let expected = [
        ("stdout", "text", 1_000, b"hello".to_vec()),
        ("sample", "uint16le", 1_500, vec![2, 1]),
        ("screenshot", "png", 1_200, vec![0x89, b'P', 0]),
        ("stdout", "text", 1_500, vec![]),
        ("config", "json", 2_000, b"{}".to_vec()),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[test]
fn what_mcap_cannot_hold_is_said() {
    let mut made = recording();
    made.clocks = vec![clock("clk", true), clock("cycles", false)];
    made.tracks.push(track("remarks", TrackKind::Annotations, None, "annotate/utf-8"));
    made.tracks.push(track("ticks", TrackKind::Messages, Some(1), "raw"));
    made.tracks[1].recording = 1;
    made.events.push(kept(5, None, Content::Payload, b"note"));
    made.events.push(kept(6, Some(-4), Content::Payload, b"tick"));
    let (written, bytes) = write(&made);
    let rules: Vec<_> = written.losses.iter().map(|loss| loss.rule).collect();
    assert_eq!(rules, ["no-time", "before-zero", "clock-zero", "clocks", "recordings"]);
    let view = view(&bytes);
    assert_eq!(view.clocks(), made.clocks);
    let found = events(&view, &Window::default());
    // A track without a clock has no times when it comes back either.
    assert_eq!(found[5], kept(5, None, Content::Payload, b"note"));
    assert_eq!(found[6], kept(6, Some(0), Content::Payload, b"tick"));
}

#[test]
fn events_without_a_time_are_beside_those_that_have_one() {
    let mut made = recording();
    made.events.insert(0, kept(1, None, text("first"), b"first"));
    made.events.insert(3, kept(1, None, text("later"), b"later"));
    let (written, bytes) = write(&made);
    let said = "events without a time, which get that of another beside them: 2";
    assert_eq!(written.losses[0].message, said);
    let found = events(&view(&bytes), &Window::default());
    let times: Vec<_> = found.iter().map(|event| event.time.unwrap()).collect();
    assert_eq!(times, [1_000, 1_000, 1_500, 1_500, 1_200, 1_500, 2_000]);
}

/// Channel 9 was a task under channel 7, of which the file has nothing.
#[test]
fn a_processor_that_is_not_there_is_said() {
    let kept = [("kymo.kind", "task"), ("kymo.parent", "7")];
    let metadata = kept.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let (topic, message_encoding) = ("pump".to_owned(), "json".to_owned());
    let channel = Channel { id: 9, schema_id: 0, topic, message_encoding, metadata };
    let mut writer = Writer::new(std::io::Cursor::new(Vec::new()), Options::default()).unwrap();
    writer.channel(&channel).unwrap();
    let bytes = writer.finish().unwrap().into_inner();
    let source = Source::from_bytes("cut.mcap", bytes);
    let dataset = Mcap.open(&source, &Context::default()).unwrap();
    assert_eq!(dataset.timeline().unwrap().tracks()[0].parent, None);
    let said: Vec<_> = dataset.findings().into_iter().map(|found| found.message).collect();
    let why = "pump belongs under channel 7, which is not there: which processor it is of is not \
               known (1 in all)";
    assert!(said.len() == 1 && said[0].contains(why), "{said:?}");
}

#[test]
fn what_has_no_payload_is_spelt_as_json() {
    let made = Made {
        clocks: vec![clock("clk", true)],
        tracks: vec![
            track("cpu", TrackKind::Counter, Some(0), "double"),
            track("thread", TrackKind::Samples, Some(0), "context"),
        ],
        events: vec![
            kept(0, Some(1), Content::Value(Value::Float(0.25)), b""),
            kept(1, Some(2), Content::Sample(7), b""),
        ],
    };
    let (_, bytes) = write(&made);
    let messages = mcap::MessageStream::new(&bytes).unwrap();
    let told = messages.map(|message| {
        let message = message.unwrap();
        (message.channel.message_encoding.clone(), message.data.to_vec())
    });
    let expected = [("json".to_owned(), b"0.25".to_vec()), ("json".to_owned(), b"7".to_vec())];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

fn sample(name: &str) -> Arc<dyn TimelineView> {
    view(&fs::read(testdata("mcap").join(name)).unwrap())
}

#[test]
fn channels_of_others_are_tracks_with_their_metadata_and_schema() {
    let view = sample("zstd.mcap");
    assert_eq!(view.clocks(), [clock("log_time", true)]);
    let tracks = view.tracks();
    assert_eq!((tracks[0].name.as_str(), &*tracks[0].content), ("/pose", "json"));
    let attributes = json!({
        "frame": "map", "schema_name": "Pose", "schema_encoding": "jsonschema",
        "schema": "{\"type\":\"object\"}",
    });
    assert_eq!(serde_json::json!(tracks[0].attributes), attributes);
    let range = Arc::clone(&view).range(ClockId(0)).unwrap().unwrap();
    let start = 1_700_000_000_000_000_000;
    assert_eq!(range, TimeNs(start)..=TimeNs(start + 9_000));
}

/// The sample has a profile, an attachment, metadata, seven messages that were published 7 ns before
/// their log time, and three of one channel that all have the number 0.
#[test]
fn what_a_timeline_has_no_word_for_is_said() {
    let said = sample("zstd.mcap").unsupported().unwrap();
    let said: Vec<_> = said.iter().map(|finding| (finding.rule, &*finding.message)).collect();
    let expected = [
        ("profile", "not told by the timeline: profiles of the file (1 in all)"),
        ("attachments", "not told by the timeline: attachments (1 in all)"),
        ("metadata", "not told by the timeline: records of metadata (1 in all)"),
        (
            "publish-time",
            "not told by the timeline: publish times that are not the log time (7 in all)",
        ),
        (
            "sequence",
            "not told by the timeline: sequence numbers that do not just count messages (2 in all)",
        ),
    ];
    assert_eq!(said, expected);
}

#[test]
fn the_schemas_of_others_survive_a_timeline() {
    let mut out = mcap::WriteOptions::new().create(std::io::Cursor::new(Vec::new())).unwrap();
    for data in [b"a text".as_slice(), &[0x0A, 0xFF, 0x00]] {
        let name = format!("of {} bytes", data.len());
        let schema = out.add_schema(&name, "protobuf", data).unwrap();
        out.add_channel(schema, &name, "protobuf", &BTreeMap::new()).unwrap();
    }
    out.finish().unwrap();
    let view = view(&out.into_inner().into_inner());
    let again = Made { clocks: view.clocks(), tracks: view.tracks().to_vec(), events: Vec::new() };
    let summary = mcap::Summary::read(&write(&again).1).unwrap().unwrap();
    let mut schemas: Vec<_> = summary.channels.values().collect();
    schemas.sort_by_key(|channel| channel.id);
    let data = schemas.iter().map(|channel| channel.schema.as_ref().unwrap().data.to_vec());
    assert_eq!(data.collect::<Vec<_>>(), [b"a text".to_vec(), vec![0x0A, 0xFF, 0x00]]);
}

#[test]
fn damaged_files_give_events_and_findings_and_never_fail() {
    let context = Context::with_limits(Limits::tight());
    for name in ["zstd", "lz4", "plain", "loose", "foreign_chunks_zstd", "foreign_no_summary"] {
        let whole = fs::read(testdata("mcap").join(format!("{name}.mcap"))).unwrap();
        for at in 8..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xFF;
            for bytes in [bytes, whole[..at].to_vec()] {
                let source = Source::from_bytes("x.mcap", bytes);
                let view = Mcap.open(&source, &context).unwrap().timeline().unwrap();
                let last = Window { last: Some(2), ..Window::default() };
                let all = events(&view, &Window::default());
                assert_eq!(events(&view, &last), all[all.len().saturating_sub(2)..]);
                for clock in 0..view.clocks().len() {
                    Arc::clone(&view).range(ClockId(clock)).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_window_is_the_same_part_of_all_events_whatever_the_chunks() {
    let start = 1_700_000_000_000_000_000;
    let names = ["zstd", "loose", "foreign_chunks_lz4", "foreign_chunks_plain"];
    for name in names.map(|name| format!("{name}.mcap")) {
        let view = sample(&name);
        let all = events(&view, &Window::default());
        assert_eq!(all.len(), 7);
        let moments = [None, Some(start), Some(start + 1_500), Some(start + 9_001)];
        for (from, until) in moments.iter().flat_map(|f| moments.map(|u| (*f, u))) {
            for tracks in [None, Some(vec![TrackId(1)]), Some(vec![])] {
                for last in [None, Some(0), Some(1), Some(3), Some(100)] {
                    let (from, until) = (from.map(TimeNs), until.map(TimeNs));
                    let window = Window { tracks: tracks.clone(), from, until, last };
                    let fits = |event: &&Kept| {
                        window.includes_track(TrackId(event.track))
                            && window.holds(event.time.map(TimeNs))
                    };
                    let expected: Vec<_> = all.iter().filter(fits).cloned().collect();
                    let skip = last.map_or(0, |last| {
                        expected.len().saturating_sub(usize::try_from(last).unwrap())
                    });
                    assert_eq!(events(&view, &window), expected[skip..], "{name} {window:?}");
                }
            }
        }
    }
}
