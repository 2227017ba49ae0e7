//! Clocks, annotations, and what keeps their times when files are cut and merged.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use kymo_conformance::{Captured, Content as Captive};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Severity, Source, Value};
use kymo_model::table::Scan;
use kymo_model::timeline::{Content, TimeNs, TrackId, Window};
use kymo_model::{ExtractRequest, Format};
use kymo_rtc::Rtc;
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{Options, StreamId, Writer};

/// 14:15:30 on some day.
const BASE: u64 = 1_700_057_730;

fn timespec(seconds: u64, milliseconds: u32) -> Vec<u8> {
    let mut bytes = seconds.to_le_bytes().to_vec();
    bytes.extend_from_slice(&(milliseconds * 1_000_000).to_le_bytes());
    bytes
}

/// So many milliseconds after 14:15:30.
#[allow(clippy::unnecessary_wraps, reason = "what it is compared with may be nothing")]
fn at(milliseconds: i64) -> Option<TimeNs> {
    Some(TimeNs(i64::try_from(BASE).unwrap() * 1_000_000_000 + milliseconds * 1_000_000))
}

struct Recording {
    writer: Writer<Vec<u8>>,
    clk: StreamId,
    delta: StreamId,
    sample: StreamId,
}

/// Streams as in the specification: a clock, a delta on it, and samples on the delta.
fn recording() -> Recording {
    let mut writer = Writer::new(Vec::new(), Options::new());
    let clk = StreamMeta::new("clk").format("timespec").flag("clock", true).unwrap();
    let clk = writer.add(&clk).unwrap();
    let delta = StreamMeta::new("clk delta").format("uleb128").flag("clock", true).unwrap();
    let delta = delta.number("gain", 1e-3).unwrap().text("delta", "clk").unwrap();
    let delta = writer.add(&delta).unwrap();
    let sample = StreamMeta::new("sample").format("uint8").text("clock", "clk delta").unwrap();
    let sample = writer.add(&sample).unwrap();
    Recording { writer, clk, delta, sample }
}

/// The sequence of the specification's worked example.
fn worked_example() -> Vec<u8> {
    let Recording { mut writer, clk, delta, sample } = recording();
    writer.write(clk, &timespec(BASE, 556)).unwrap();
    writer.write(delta, &[100]).unwrap();
    writer.write(sample, &[1]).unwrap();
    writer.write(sample, &[2]).unwrap();
    writer.write(delta, &[0xC8, 1]).unwrap();
    writer.write(sample, &[3]).unwrap();
    writer.write(delta, &[0xAC, 2]).unwrap();
    writer.write(clk, &timespec(BASE + 1, 34)).unwrap();
    writer.write(sample, &[4]).unwrap();
    writer.write(delta, &[10]).unwrap();
    writer.write(sample, &[5]).unwrap();
    writer.finish().unwrap()
}

/// The name, time and value of each event of a window.
fn events(bytes: &[u8], window: &Window) -> Vec<(String, Option<TimeNs>, Value)> {
    let source = Source::from_bytes("test.rtc", bytes.to_vec());
    let dataset = Rtc.open(&source, &Context::default()).unwrap();
    let timeline = dataset.timeline().unwrap();
    let tracks = timeline.tracks();
    let mut events = Arc::clone(&timeline).events(window).unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let value = match event.content {
            Content::Value(value) => value,
            Content::Text(text) => Value::Text(text.into_owned()),
            Content::Payload => Value::Bytes(event.payload.to_vec()),
            Content::Fields(fields) => Value::Text(fields.to_string()),
            Content::Sample(sample) => Value::UInt(sample),
            Content::Activity(activity) => activity.to_string().into(),
        };
        found.push((tracks[event.track.0].name.clone(), event.time, value));
    }
    found
}

fn samples(bytes: &[u8]) -> Vec<(Option<TimeNs>, Value)> {
    let all = events(bytes, &Window::default());
    all.into_iter().filter(|(name, ..)| name == "sample").map(|(_, t, v)| (t, v)).collect()
}

/// What the specification says of each of its samples.
fn expected() -> Vec<(Option<TimeNs>, Value)> {
    let times = [656, 656, 756, 856, 1044];
    (1_u8..).zip(times).map(|(number, time)| (at(time), Value::from(number))).collect()
}

#[test]
fn the_worked_example_of_the_specification_holds_frame_by_frame() {
    let found = events(&worked_example(), &Window::default());
    let times: Vec<_> = found.iter().map(|(name, time, _)| (name.as_str(), *time)).collect();
    let expected = [
        ("clk", at(556)),
        ("clk delta", at(656)),
        ("sample", at(656)),
        ("sample", at(656)),
        ("clk delta", at(756)),
        ("sample", at(756)),
        ("clk delta", at(856)),
        ("clk", at(1034)),
        // The delta was not updated yet.
        ("sample", at(856)),
        ("clk delta", at(1044)),
        ("sample", at(1044)),
    ];
    assert_eq!(times, expected);
}

/// The messages of `sample` in a dump: when they were, how long after the base of their clock, and
/// when at the latest.
fn dumped(bytes: &[u8]) -> Vec<[Option<i64>; 3]> {
    let source = Source::from_bytes("test.rtc", bytes.to_vec());
    let dataset = Rtc.open(&source, &Context::default()).unwrap();
    let records = kymo_conformance::capture(&*dataset).unwrap();
    let number = |record: &Captured, name: &str| {
        let found = record.fields.iter().find(|(field, _)| *field == name);
        match found.map(|(_, content)| content) {
            Some(Captive::Value(Value::Int(number))) => Some(*number),
            _ => None,
        }
    };
    let is_sample = |record: &&Captured| {
        let mut fields = record.fields.iter();
        fields.any(|(name, content)| {
            *name == "stream"
                && matches!(content, Captive::Value(Value::Text(this_name)) if this_name == "sample")
        })
    };
    let told = |record| ["time_ns", "relative_ns", "not_after_ns"].map(|name| number(record, name));
    records.iter().filter(is_sample).map(told).collect()
}

/// Another writer sets the base of its clock once in several Units. Behind a cut head the deltas
/// still tell the order and the time between messages, and the next base until when they were; no
/// date is made of them.
#[test]
fn times_on_a_base_that_was_cut_off_are_relative_and_bounded() {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(4096, 2048).unwrap());
    let clk = StreamMeta::new("clk").format("timespec").flag("clock", true).unwrap();
    let clk = writer.add(&clk).unwrap();
    let delta = StreamMeta::new("clk delta").format("uint16le").flag("clock", true).unwrap();
    let delta = delta.number("gain", 1e-3).unwrap().text("delta", "clk").unwrap();
    let delta = writer.add(&delta).unwrap();
    let sample = StreamMeta::new("sample").format("uint8").text("clock", "clk delta").unwrap();
    let sample = writer.add(&sample).unwrap();
    let mut write = |seconds: u64| {
        writer.write(clk, &timespec(seconds, 0)).unwrap();
        for count in 0_u16..1000 {
            writer.write(delta, &count.to_le_bytes()).unwrap();
            writer.write(sample, &[1]).unwrap();
        }
    };
    write(BASE);
    write(BASE + 5);
    let whole = writer.finish().unwrap();
    let all = dumped(&whole);
    let timed = |count: i64| [at(count).map(|time| time.0), None, None];
    assert_eq!((all.len(), all[0], all[999]), (2000, timed(0), timed(999)));
    let cut = dumped(&whole[2000..]);
    let untimed: Vec<_> = cut.iter().take_while(|[time, ..]| time.is_none()).collect();
    assert!((500..1000).contains(&untimed.len()), "{}", untimed.len());
    // All of them up to the last, a millisecond after one another.
    let next = at(5000).map(|time| time.0);
    for (before, [time, relative, not_after]) in (1..).zip(untimed.iter().rev()) {
        let millisecond = Some((1000 - before) * 1_000_000);
        assert_eq!((*time, *relative, *not_after), (None, millisecond, next));
    }
    assert_eq!(cut[untimed.len()], timed(5000));
    for table in ["messages", "sample"] {
        assert_eq!(tabled(&whole[2000..], table), cut, "{table}");
    }
}

/// The same as [`dumped`], of a table.
fn tabled(bytes: &[u8], table: &str) -> Vec<[Option<i64>; 3]> {
    let source = Source::from_bytes("test.rtc", bytes.to_vec());
    let table = Rtc.open(&source, &Context::default()).unwrap().table(table).unwrap();
    let mut rows = Vec::new();
    for batch in table.scan(&Scan::default()).unwrap() {
        let batch = batch.unwrap();
        let column = |name: &str| batch.column_by_name(name).unwrap().clone();
        let numbers = ["time_ns", "relative_ns", "not_after_ns"].map(column);
        let stream = batch.column_by_name("stream");
        for row in 0..batch.num_rows() {
            let is_sample =
                stream.is_none_or(|array| array.as_string::<i32>().value(row) == "sample");
            let number = |array: &ArrayRef| {
                let primitive_array = array.as_primitive::<Int64Type>();
                primitive_array.is_valid(row).then(|| primitive_array.value(row))
            };
            if is_sample {
                rows.push([number(&numbers[0]), number(&numbers[1]), number(&numbers[2])]);
            }
        }
    }
    rows
}

/// What is repaired, cut or merged begins every Unit with what its clocks show, too: the clock is set
/// once, and behind a cut at the second Unit every message has its time.
#[test]
fn what_is_written_again_has_times_behind_any_cut() {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(4096, 2048).unwrap());
    let clk = StreamMeta::new("clk").format("timespec").flag("clock", true).unwrap();
    let clk = writer.add(&clk).unwrap();
    let sample = StreamMeta::new("sample").format("uint8").text("clock", "clk").unwrap();
    let sample = writer.add(&sample).unwrap();
    writer.write(clk, &timespec(BASE, 0)).unwrap();
    for _ in 0..3000 {
        writer.write(sample, &[1]).unwrap();
    }
    let whole = writer.finish().unwrap();
    assert_eq!(dumped(&whole[4096..])[0], [None; 3], "the writer itself does not repeat it");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.rtc");
    let (source, to) =
        (Source::from_bytes("test.rtc", whole.clone()), Destination::new(&path, false));
    Rtc.repair(&source, &to, &Context::default()).unwrap();
    let repaired = std::fs::read(path).unwrap();
    let cut = extracted(std::slice::from_ref(&whole), &ExtractRequest::default());
    for bytes in [repaired, cut] {
        assert_eq!(dumped(&bytes).len(), 3000);
        let behind = dumped(&bytes[4096..]);
        let time = at(0).map(|time| time.0);
        assert!(behind.len() > 1000 && behind.iter().all(|values| values[0] == time), "{behind:?}");
    }
}

/// Every Unit of what was converted begins with what the clocks show: a cut head costs times of the
/// Unit that is cut alone.
#[test]
fn a_converted_recording_has_times_behind_any_cut() {
    let Recording { mut writer, clk, sample, .. } = recording();
    writer.write(clk, &timespec(BASE, 0)).unwrap();
    let text = StreamMeta::new("text").format("utf-8").text("clock", "clk").unwrap();
    let text = writer.add(&text).unwrap();
    writer.write(sample, &[1]).unwrap();
    for number in 0..120_000 {
        writer.write(text, format!("line {number:06} of the same moment").as_bytes()).unwrap();
    }
    let whole = writer.finish().unwrap();
    let source = Source::from_bytes("test.rtc", whole);
    let timeline = Rtc.open(&source, &Context::default()).unwrap().timeline().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.rtc");
    Rtc.write_timeline(timeline, &Destination::new(&path, false), &Context::default()).unwrap();
    let converted = std::fs::read(&path).unwrap();
    assert!(converted.len() > 3 << 20);
    // From the Marker of the second Unit on.
    let found = events(&converted[1 << 20..], &Window::default());
    let lines = found.iter().filter(|(name, ..)| name == "text");
    let untimed = lines.clone().filter(|(_, time, _)| *time != at(0)).count();
    assert!(untimed <= 1, "{untimed} lines of {} have no time", lines.count());
}

#[test]
fn a_window_takes_tracks_times_and_the_last() {
    let bytes = worked_example();
    let tracks = Some(vec![TrackId(2)]);
    let window = Window { tracks, from: at(756), until: at(1044), last: None };
    let values = |window: &Window| -> Vec<Value> {
        events(&bytes, window).into_iter().map(|(_, _, value)| value).collect()
    };
    assert_eq!(values(&window), [3_u8, 4].map(Value::from));
    let window = Window { from: None, until: None, last: Some(2), ..window };
    assert_eq!(values(&window), [4_u8, 5].map(Value::from));
}

fn clock_without_epoch() -> (Writer<Vec<u8>>, StreamId, StreamId) {
    let mut writer = Writer::new(Vec::new(), Options::new());
    let cyc = StreamMeta::new("cyc").length(8).format("uint64le").flag("clock", true).unwrap();
    let cyc = writer.add(&cyc.number("gain", 1e-9).unwrap()).unwrap();
    let event = StreamMeta::new("event").format("utf-8").text("clock", "cyc").unwrap();
    let event = writer.add(&event).unwrap();
    (writer, cyc, event)
}

#[test]
fn a_counter_of_nanoseconds_is_exact() {
    let (mut writer, cyc, event) = clock_without_epoch();
    // Over 53 bits: a floating-point number would be off.
    let count = 9_007_199_254_740_993_u64;
    writer.write(cyc, &count.to_le_bytes()).unwrap();
    writer.write(event, b"now").unwrap();
    let found = events(&writer.finish().unwrap(), &Window::default());
    assert_eq!(found[1].1, Some(TimeNs(9_007_199_254_740_993)));
}

#[test]
fn annotations_are_placed_on_the_clock_of_their_stream_or_at_their_time() {
    let (mut writer, cyc, event) = clock_without_epoch();
    let on = StreamMeta::new("on event").format("annotate/utf-8").text("stream", "event").unwrap();
    let on = writer.add(&on).unwrap();
    let free = writer.add(&StreamMeta::new("free").format("annotate/utf-8")).unwrap();
    writer.write(cyc, &5_000_000_000_u64.to_le_bytes()).unwrap();
    writer.write(event, b"now").unwrap();
    writer.write(on, &[timespec(3, 250), b"earlier".to_vec()].concat()).unwrap();
    writer.write(free, &[timespec(BASE, 0), b"that day".to_vec()].concat()).unwrap();
    let bytes = writer.finish().unwrap();
    let found = events(&bytes, &Window::default());
    // Relative to a clock that has no relation to the Epoch.
    assert_eq!(found[2], ("on event".into(), Some(TimeNs(3_250_000_000)), "earlier".into()));
    assert_eq!(found[3], ("free".into(), at(0), "that day".into()));
    let source = Source::from_bytes("test.rtc", bytes);
    let timeline = Rtc.open(&source, &Context::default()).unwrap().timeline().unwrap();
    let (tracks, clocks) = (timeline.tracks(), timeline.clocks());
    let clock = |track: usize| &clocks[tracks[track].clock.unwrap().0];
    assert_eq!((clock(2).name.as_str(), clock(2).since_epoch), ("cyc", false));
    assert_eq!((clock(3).name.as_str(), clock(3).since_epoch), ("Epoch", true));
}

#[test]
fn a_clock_on_a_delta_counts_from_the_epoch_if_the_clock_under_both_does() {
    let Recording { mut writer, clk, delta, .. } = recording();
    let fine = StreamMeta::new("fine").format("uleb128").flag("clock", true).unwrap();
    let fine = fine.number("gain", 1e-3).unwrap().text("delta", "clk delta").unwrap();
    let fine = writer.add(&fine).unwrap();
    let log = StreamMeta::new("log").format("utf-8").text("clock", "fine").unwrap();
    let log = writer.add(&log).unwrap();
    writer.write(clk, &timespec(BASE, 500)).unwrap();
    writer.write(delta, &[100]).unwrap();
    writer.write(fine, &[7]).unwrap();
    writer.write(log, b"now").unwrap();
    let bytes = writer.finish().unwrap();
    let logged = ("log".to_owned(), at(607), Value::from("now"));
    assert_eq!(events(&bytes, &Window::default()).last(), Some(&logged));
    let source = Source::from_bytes("test.rtc", bytes);
    let timeline = Rtc.open(&source, &Context::default()).unwrap().timeline().unwrap();
    assert!(timeline.clocks().iter().all(|clock| clock.since_epoch));
}

/// A stream is on the clock of that name which was defined last before it, and on no stream that is
/// no clock. Merged files keep that, under other names.
#[test]
fn a_clock_is_meant_among_those_of_its_name_that_came_before() {
    let mut writer = Writer::new(Vec::new(), Options::new());
    let other = writer.add(&StreamMeta::new("clk").format("utf-8")).unwrap();
    let clk = StreamMeta::new("clk").format("timespec").flag("clock", true).unwrap();
    let on_clk = |name: &str| StreamMeta::new(name).format("utf-8").text("clock", "clk").unwrap();
    let first = (writer.add(&clk).unwrap(), writer.add(&on_clk("a")).unwrap());
    let second = (writer.add(&clk).unwrap(), writer.add(&on_clk("b")).unwrap());
    writer.write(other, b"no clock").unwrap();
    writer.write(first.0, &timespec(BASE, 100)).unwrap();
    writer.write(second.0, &timespec(BASE, 900)).unwrap();
    writer.write(first.1, b"early").unwrap();
    writer.write(second.1, b"late").unwrap();
    let bytes = writer.finish().unwrap();
    let said = |bytes: &[u8]| -> Vec<_> {
        let events = events(bytes, &Window::default());
        let is_said = |(name, ..): &(String, _, _)| ["a", "b"].contains(&name.as_str());
        events.into_iter().filter(is_said).map(|(name, time, _)| (name, time)).collect()
    };
    let expected = [("a".to_owned(), at(100)), ("b".to_owned(), at(900))];
    assert_eq!(said(&bytes), expected);
    let source = Source::from_bytes("test.rtc", bytes.clone());
    let found = Rtc.check(&source, &Context::with_limits(Limits::default())).unwrap();
    let warned = found.iter().filter(|finding| finding.severity > kymo_core::Severity::Note);
    assert_eq!(warned.map(|finding| finding.rule).collect::<Vec<_>>(), ["name"]);
    let merged = extracted(&[bytes, worked_example()], &ExtractRequest::default());
    assert_eq!(said(&merged), expected);
}

fn extracted(sources: &[Vec<u8>], part: &ExtractRequest) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("out.rtc");
    let source = |bytes: &Vec<u8>| Source::from_bytes("in.rtc", bytes.clone());
    let sources: Vec<_> = sources.iter().map(source).collect();
    let context = Context::default();
    let written = Rtc.extract(&sources, part, &Destination::new(&to, false), &context).unwrap();
    assert!(written.losses.is_empty(), "{:?}", written.losses);
    let bytes = std::fs::read(to).unwrap();
    let out = Source::from_bytes("out.rtc", bytes.clone());
    let found = Rtc.check(&out, &Context::with_limits(Limits::default())).unwrap();
    assert!(found.iter().all(|finding| finding.severity == kymo_core::Severity::Note), "{found:?}");
    bytes
}

#[test]
fn a_cut_keeps_the_times_of_what_it_keeps() {
    let bytes = worked_example();
    for from in [at(0), at(656), at(700), at(800), at(856), at(900), at(1044)] {
        let tracks = Some(vec!["sample".to_owned()]);
        let part = ExtractRequest { tracks, from, until: None, ..ExtractRequest::default() };
        let wanted: Vec<_> = expected().into_iter().filter(|(time, _)| *time >= from).collect();
        assert_eq!(samples(&extracted(std::slice::from_ref(&bytes), &part)), wanted, "{from:?}");
    }
}

#[test]
fn everything_extracted_is_everything() {
    let bytes = worked_example();
    let all = extracted(std::slice::from_ref(&bytes), &ExtractRequest::default());
    let window = Window::default();
    assert_eq!(events(&all, &window), events(&bytes, &window));
}

#[test]
fn merged_files_are_in_the_order_of_their_clocks_under_names_of_their_own() {
    let first = worked_example();
    let Recording { mut writer, clk, delta, sample } = recording();
    writer.write(clk, &timespec(BASE, 600)).unwrap();
    writer.write(delta, &[0]).unwrap();
    writer.write(sample, &[70]).unwrap();
    writer.write(delta, &[0xC8, 1]).unwrap();
    writer.write(sample, &[80]).unwrap();
    let second = writer.finish().unwrap();
    let merged = extracted(&[first, second], &ExtractRequest::default());
    let found = events(&merged, &Window::default());
    let found: Vec<_> = found.into_iter().filter(|(name, ..)| name.starts_with("sample")).collect();
    let event = |name: &str, time, value: u8| (name.to_owned(), at(time), Value::from(value));
    let expected = [
        event("sample (2)", 600, 70),
        event("sample", 656, 1),
        event("sample", 656, 2),
        event("sample", 756, 3),
        event("sample (2)", 800, 80),
        event("sample", 856, 4),
        event("sample", 1044, 5),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_timeline_becomes_a_recording_with_the_same_events() {
    let source = Source::from_bytes("in.rtc", worked_example());
    let timeline = Rtc.open(&source, &Context::default()).unwrap().timeline().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = Destination::new(folder.path().join("out.rtc"), false);
    let written = Rtc.write_timeline(timeline, &to, &Context::default()).unwrap();
    // Two of the clock, four of the clock that counts from it, and five samples.
    assert_eq!(written.events, 11);
    // The delta clock becomes times, which is no loss but is said.
    let said: Vec<_> = written.losses.iter().map(|loss| (loss.severity, loss.rule)).collect();
    assert_eq!(said, [(Severity::Note, "clock")]);
    assert_eq!(samples(&std::fs::read(to.path()).unwrap()), expected());
}

#[test]
fn a_stream_without_messages_stays_a_stream_when_converted() {
    let Recording { mut writer, .. } = recording();
    writer.add(&StreamMeta::new("idle").format("utf-8")).unwrap();
    let source = Source::from_bytes("in.rtc", writer.finish().unwrap());
    let timeline = Rtc.open(&source, &Context::default()).unwrap().timeline().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = Destination::new(folder.path().join("out.rtc"), false);
    Rtc.write_timeline(timeline, &to, &Context::default()).unwrap();
    let written = Source::from_bytes("out.rtc", std::fs::read(to.path()).unwrap());
    let tracks = Rtc.open(&written, &Context::default()).unwrap().timeline().unwrap().tracks();
    let idle = tracks.iter().find(|track| track.name == "idle").unwrap();
    assert_eq!(idle.content, "utf-8");
}
