//! What becomes of messages that are merged, filtered, converted and repaired.

use std::fs;

use kymo_core::{Context, Destination, Finding, Severity, Source};
use kymo_model::timeline::{Clock, Content, Event, TimeNs, Track, TrackId, Window};
use kymo_model::{ExtractRequest, Format, LiveRecordingSink, RepairReport, WriteReport};
use kymo_rtc::{Reader, Rtc};
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{ByteOrder, Options, Writer};

/// An event: its stream, its time in nanoseconds, and its value as text.
type Seen = (String, Option<i64>, String);

fn events(bytes: &[u8]) -> Vec<Seen> {
    let source = Source::from_bytes("test.rtc", bytes.to_vec());
    let timeline = Rtc.open(&source, &Context::default()).unwrap().timeline().unwrap();
    let tracks = timeline.tracks();
    let mut events = timeline.events(&Window::default()).unwrap();
    let mut seen = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let value = match &event.content {
            Content::Text(text) => text.to_string(),
            Content::Value(value) => value.to_string(),
            _ => format!("{:02x?}", event.payload),
        };
        seen.push((tracks[event.track.0].name.clone(), event.time.map(|TimeNs(ns)| ns), value));
    }
    seen
}

fn of<'a>(seen: &'a [Seen], stream: &str) -> Vec<(Option<i64>, &'a str)> {
    let of_stream = seen.iter().filter(|(name, ..)| name == stream);
    of_stream.map(|(_, time, value)| (*time, value.as_str())).collect()
}

/// What an operation wrote, and what it says of it.
fn made<T>(work: impl FnOnce(&Destination) -> kymo_core::Result<T>) -> (Vec<u8>, T) {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("out.rtc");
    let said = work(&Destination::new(&to, false)).unwrap();
    (fs::read(to).unwrap(), said)
}

fn extracted(inputs: &[&[u8]], part: &ExtractRequest) -> (Vec<u8>, WriteReport) {
    let source = |(number, bytes): (usize, &&[u8])| {
        Source::from_bytes(format!("{number}.rtc"), bytes.to_vec())
    };
    let sources: Vec<_> = inputs.iter().enumerate().map(source).collect();
    made(|to| Rtc.extract(&sources, part, to, &Context::default()))
}

fn converted(bytes: &[u8]) -> (Vec<u8>, WriteReport) {
    let source = Source::from_bytes("in.rtc", bytes.to_vec());
    let timeline = Rtc.open(&source, &Context::default()).unwrap().timeline().unwrap();
    made(|to| Rtc.write_timeline(timeline, to, &Context::default()))
}

fn repaired(bytes: &[u8]) -> (Vec<u8>, RepairReport) {
    let source = Source::from_bytes("in.rtc", bytes.to_vec());
    made(|to| Rtc.repair(&source, to, &Context::default()))
}

fn rules(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.rule).collect()
}

/// Two moments, a number at each, and a remark on the first, as a machine of that order has them.
fn recording(order: ByteOrder) -> Vec<u8> {
    let is_big = order == ByteOrder::Big;
    let word = |value: u32| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let long = |value: u64| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let moment = |seconds: u64| [&long(seconds)[..], &word(500)].concat();
    let options = Options::new().sizes(8192, 2048).unwrap().byte_order(order);
    let mut writer = Writer::new(Vec::new(), options);
    let clock = StreamMeta::new("clk").length(12).format("timespec").flag("clock", true).unwrap();
    let clock = writer.add(&clock).unwrap();
    let number = StreamMeta::new("n").length(4).format("uint32").text("clock", "clk").unwrap();
    let number = writer.add(&number).unwrap();
    let remarks = StreamMeta::new("remarks").format("annotate/uint32").text("stream", "n").unwrap();
    let remarks = writer.add(&remarks).unwrap();
    for (seconds, value) in [(10, 399), (20, 400)] {
        writer.write(clock, &moment(seconds)).unwrap();
        writer.write(number, &word(value)).unwrap();
    }
    writer.write(remarks, &[&moment(10)[..], &word(7)].concat()).unwrap();
    writer.finish().unwrap()
}

const NUMBERS: [(Option<i64>, &str); 2] =
    [(Some(10_000_000_500), "399"), (Some(20_000_000_500), "400")];
const REMARKS: [(Option<i64>, &str); 1] = [(Some(10_000_000_500), "7")];

#[test]
fn merging_keeps_values_of_either_byte_order() {
    let (big, little) = (recording(ByteOrder::Big), recording(ByteOrder::Little));
    for inputs in [[&big[..], &little], [&little, &big], [&big, &big]] {
        let (merged, written) = extracted(&inputs, &ExtractRequest::default());
        assert_eq!((written.events, written.losses.len()), (10, 0));
        let seen = events(&merged);
        // What both files have is named by its file, 0.rtc and 1.rtc.
        for (number, remarks) in [("n (0)", "remarks (0)"), ("n (1)", "remarks (1)")] {
            assert_eq!((of(&seen, number), of(&seen, remarks)), (NUMBERS.into(), REMARKS.into()));
        }
    }
}

#[test]
fn converting_keeps_values_of_either_byte_order() {
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let (out, written) = converted(&recording(order));
        assert!(written.losses.is_empty(), "{:?}", written.losses);
        let seen = events(&out);
        assert_eq!((of(&seen, "n"), of(&seen, "remarks")), (NUMBERS.into(), REMARKS.into()));
        assert_eq!(of(&seen, "clk").len(), 2, "what the clock said is in it too");
    }
}

#[test]
fn parts_of_one_recording_are_joined_when_asked() {
    let recording = recording(ByteOrder::Little);
    let part = ExtractRequest { join: true, ..ExtractRequest::default() };
    let (merged, written) = extracted(&[&recording, &recording], &part);
    assert_eq!((written.events, written.losses.len()), (10, 0));
    let seen = events(&merged);
    // The two are of the same times: the first file is never behind the second.
    let times: Vec<_> =
        of(&seen, "n").iter().map(|(time, _)| time.unwrap() / 1_000_000_000).collect();
    assert_eq!(times, [10, 10, 20, 20]);
    assert!(seen.iter().all(|(name, ..)| ["clk", "n", "remarks"].contains(&name.as_str())));
}

#[test]
fn remarks_keep_their_times_without_what_they_are_about() {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(8192, 2048).unwrap());
    let clock = StreamMeta::new("cyc").length(8).format("uint64le").number("gain", 1e-9).unwrap();
    let clock = writer.add(&clock.flag("clock", true).unwrap()).unwrap();
    let event = StreamMeta::new("event").text("clock", "cyc").unwrap();
    let event = writer.add(&event).unwrap();
    let remarks = StreamMeta::new("remarks").format("annotate/utf-8");
    let remarks = writer.add(&remarks.text("stream", "event").unwrap()).unwrap();
    writer.write(clock, &5_u64.to_le_bytes()).unwrap();
    writer.write(event, b"now").unwrap();
    writer
        .write(remarks, &[&49_u64.to_le_bytes()[..], &5_u32.to_le_bytes(), b"why"].concat())
        .unwrap();
    let part = ExtractRequest { tracks: Some(vec!["remarks".into()]), ..ExtractRequest::default() };
    let (out, written) = extracted(&[&writer.finish().unwrap()], &part);
    assert_eq!((written.events, written.losses.len()), (1, 0));
    let source = Source::from_bytes("out.rtc", out);
    let timeline = Rtc.open(&source, &Context::default()).unwrap().timeline().unwrap();
    let tracks = timeline.tracks();
    let track = tracks.iter().find(|track| track.name == "remarks").unwrap();
    let clock = &timeline.clocks()[track.clock.unwrap().0];
    assert_eq!((clock.name.as_str(), clock.since_epoch), ("cyc", false));
}

/// A message of fixed length whose end never came is not copied, and that is said.
#[test]
fn what_has_no_end_and_cannot_be_written_is_told_of() {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(1 << 20, 1 << 17).unwrap());
    let block = writer.add(&StreamMeta::new("block").length(3000)).unwrap();
    writer.write(block, &[1; 3000]).unwrap();
    writer.flush().unwrap();
    let whole = writer.output().len();
    writer.write(block, &[2; 3000]).unwrap();
    writer.flush().unwrap();
    // A frame has at most 1024 bytes and, here, a header of one.
    let cut = &writer.output()[..whole + 1025];
    let (out, said) = repaired(cut);
    assert_eq!((said.kept, rules(&said.losses)), (1, vec!["unfinished"]));
    let message = "a message of block has 1024 bytes and no end before the end";
    assert_eq!(said.losses[0].message, message);
    assert_eq!(events(&out).len(), 1);
    let (out, written) = extracted(&[cut], &ExtractRequest::default());
    assert_eq!((written.events, rules(&written.losses)), (1, vec!["unfinished"]));
    assert_eq!(written.losses[0].file.as_deref(), Some("0.rtc"));
    assert_eq!(events(&out).len(), 1);
}

#[test]
fn a_unit_that_is_missing_in_the_middle_is_a_loss() {
    let options = Options::new().sizes(8192, 2048).unwrap().crc(None);
    let mut writer = Writer::new(Vec::new(), options);
    let text = writer.add(&StreamMeta::new("text").format("utf-8")).unwrap();
    for number in 0..2000 {
        writer.write(text, format!("line {number:05}").as_bytes()).unwrap();
    }
    let whole = writer.finish().unwrap();
    assert!(whole.len() > 3 * 8192);
    let cut = [&whole[..8192], &whole[2 * 8192..]].concat();
    let (_, said) = repaired(&cut);
    assert!(rules(&said.losses).contains(&"ruler"), "{said:?}");
    let found = Rtc.check(&Source::from_bytes("cut.rtc", cut), &Context::default()).unwrap();
    let says = "8192 bytes are missing before this place";
    assert!(found.iter().any(|f| f.offset == Some(8192) && f.message == says), "{found:?}");
}

/// Two messages before their clock is first set, three after it: a range of time has two of these,
/// and says that the two without a time are not in it.
#[test]
fn a_range_of_time_says_what_it_leaves_out_for_want_of_a_time() {
    let mut writer = Writer::new(Vec::new(), Options::new());
    let clock = StreamMeta::new("clk").length(8).format("uint64le").flag("clock", true).unwrap();
    let clock = writer.add(&clock.number("gain", 1e-9).unwrap()).unwrap();
    let level = StreamMeta::new("level").length(1).text("clock", "clk").unwrap();
    let level = writer.add(&level).unwrap();
    writer.write(level, &[1]).unwrap();
    writer.write(level, &[2]).unwrap();
    for time in 3..6_u8 {
        writer.write(clock, &u64::from(time).to_le_bytes()).unwrap();
        writer.write(level, &[time]).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let part = ExtractRequest { from: Some(TimeNs(4)), ..ExtractRequest::default() };
    let (out, written) = extracted(&[&bytes], &part);
    assert_eq!(of(&events(&out), "level").len(), 2);
    assert_eq!(rules(&written.losses), ["time"]);
    assert_eq!(written.losses[0].message, "2 events have no time and are left out");
    // All of it loses nothing.
    assert_eq!(
        rules(&extracted(&[&bytes], &ExtractRequest::default()).1.losses),
        Vec::<&str>::new()
    );
}

/// Behind the Marker the Index begins; the Meta of these streams is not far.
#[test]
fn an_index_with_any_byte_changed_costs_no_message() {
    let whole = recording(ByteOrder::Little);
    let text = whole.windows(6).position(|bytes| bytes == b"[{\"id\"");
    let meta = text.expect("streams are described") - 3;
    let expected = events(&whole);
    for at in 1025..meta {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        let (out, said) = repaired(&damaged);
        assert_eq!(events(&out), expected, "byte {at}: {said:?}");
    }
}

#[test]
fn a_marker_with_any_byte_changed_costs_no_message() {
    let whole = recording(ByteOrder::Little);
    let expected = events(&whole);
    for at in 0..1025 {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        let (out, _) = repaired(&damaged);
        assert_eq!(events(&out), expected, "byte {at}");
    }
}

/// Messages of a clock that goes back, of a number that is none, and of a stream whose clock is
/// not there: nothing that a file could have otherwise.
#[test]
fn what_is_odd_in_the_recording_itself_does_not_make_a_repaired_file_unsound() {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(8192, 2048).unwrap());
    let clock = StreamMeta::new("clk").length(8).format("uint64le").number("gain", 1e-9).unwrap();
    let clock = writer.add(&clock.flag("clock", true).unwrap()).unwrap();
    let value = StreamMeta::new("v").format("uint8").text("clock", "clk").unwrap();
    let value = writer.add(&value).unwrap();
    let lone = writer.add(&StreamMeta::new("lone").text("clock", "gone").unwrap()).unwrap();
    for (number, time) in [50_u64, 90, 70, 100].into_iter().enumerate() {
        writer.write(clock, &time.to_le_bytes()).unwrap();
        writer.write(value, &[u8::try_from(number).unwrap()]).unwrap();
    }
    writer.write(value, b"no number").unwrap();
    writer.write(lone, b"x").unwrap();
    let bytes = writer.finish().unwrap();

    let (repaired, said) = repaired(&bytes);
    assert_eq!((said.losses.len(), rules(&said.corrected)), (0, vec!["clock"]));
    assert_eq!(events(&repaired), events(&bytes));
    let source = Source::from_bytes("repaired.rtc", repaired);
    let found = Rtc.check(&source, &Context::default()).unwrap();
    assert!(found.iter().all(|finding| finding.severity == Severity::Note), "{found:?}");

    // It is no longer searched as a clock that rises: what it shows again is found twice.
    let timeline = Rtc.open(&source, &Context::default()).unwrap().timeline().unwrap();
    let window = Window {
        tracks: Some(vec![TrackId(1)]),
        from: Some(TimeNs(50)),
        until: Some(TimeNs(80)),
        last: None,
    };
    let mut events = timeline.events(&window).unwrap();
    let mut times = Vec::new();
    while let Some(event) = events.next().unwrap() {
        times.push(event.time.unwrap().0);
    }
    assert_eq!(times, [50, 70]);
}

/// The same recording, as any timeline and as a part: both say that the clock may go back, and a
/// search in them finds what is there twice.
#[test]
fn a_clock_that_goes_back_is_said_to_where_it_is_written_again() {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(8192, 2048).unwrap());
    let clock = StreamMeta::new("clk").length(8).format("int64le").number("gain", 1e-9).unwrap();
    let clock = writer.add(&clock.flag("clock", true).unwrap()).unwrap();
    let value = StreamMeta::new("v").format("uint8").text("clock", "clk").unwrap();
    let value = writer.add(&value).unwrap();
    for (number, time) in [50_u64, 90, 70, 100].into_iter().enumerate() {
        writer.write(clock, &time.to_le_bytes()).unwrap();
        writer.write(value, &[u8::try_from(number).unwrap()]).unwrap();
    }
    let bytes = writer.finish().unwrap();
    for (out, written) in [converted(&bytes), extracted(&[&bytes], &ExtractRequest::default())] {
        assert_eq!((written.events, rules(&written.losses)), (8, vec!["clock"]));
        assert_eq!(written.losses[0].severity, Severity::Note);
        let times = [(50, "0"), (90, "1"), (70, "2"), (100, "3")];
        assert_eq!(of(&events(&out), "v"), times.map(|(time, value)| (Some(time), value)));
        assert_sound(&out);
        assert_eq!(times_within(&out, "v", 50, 80), [50, 70]);
    }
}

fn assert_sound(bytes: &[u8]) {
    let source = Source::from_bytes("out.rtc", bytes.to_vec());
    let found = Rtc.check(&source, &Context::default()).unwrap();
    assert!(found.iter().all(|finding| finding.severity == Severity::Note), "{found:?}");
}

/// The times of a stream's events from one time on and before another.
fn times_within(bytes: &[u8], stream: &str, from: i64, until: i64) -> Vec<i64> {
    let source = Source::from_bytes("out.rtc", bytes.to_vec());
    let timeline = Rtc.open(&source, &Context::default()).unwrap().timeline().unwrap();
    let track = timeline.tracks().iter().position(|track| track.name == stream).unwrap();
    let window = Window {
        tracks: Some(vec![TrackId(track)]),
        from: Some(TimeNs(from)),
        until: Some(TimeNs(until)),
        last: None,
    };
    let mut events = timeline.events(&window).unwrap();
    let mut times = Vec::new();
    while let Some(event) = events.next().unwrap() {
        times.push(event.time.unwrap().0);
    }
    times
}

/// Of two clocks that count from one, `d1` is set when that shows 0.556 s and `d2` when it shows
/// 1 s. What is on `d2` comes first, then what is on `d1`: for that the first is set back.
#[test]
fn a_clock_that_a_part_needs_to_go_back_is_said_to() {
    let bytes = fs::read(kymo_conformance::testdata("rtc/scripted/two_deltas.rtc")).unwrap();
    assert_sound(&bytes);
    let part =
        ExtractRequest { tracks: Some(vec!["a".into(), "b".into()]), ..ExtractRequest::default() };
    let (out, written) = extracted(&[&bytes], &part);
    assert_eq!((written.events, rules(&written.losses)), (3, vec!["clock"]));
    let seen = events(&out);
    assert_eq!(of(&seen, "a"), [(Some(557_000_000), "a1")]);
    assert_eq!(of(&seen, "b"), [(Some(1_001_000_000), "b1"), (Some(1_002_000_000), "b2")]);
    assert_sound(&out);
    assert_eq!(times_within(&out, "a", 0, 1_000_000_000), [557_000_000]);
}

/// A clock counts from another that counts from a third: 10 s, 10.5 s, 10.7 s.
#[test]
fn a_part_has_every_clock_that_its_clock_counts_from() {
    let ticker = |name: &str| StreamMeta::new(name).format("uleb128").flag("clock", true).unwrap();
    let ticker =
        |name: &str, base| ticker(name).number("gain", 0.1).unwrap().text("delta", base).unwrap();
    let mut writer = Writer::new(Vec::new(), Options::new());
    let clock = StreamMeta::new("clk").length(8).format("uint64le").flag("clock", true).unwrap();
    let clock = writer.add(&clock).unwrap();
    let half = writer.add(&ticker("half", "clk")).unwrap();
    let more = writer.add(&ticker("more", "half")).unwrap();
    let value = StreamMeta::new("v").format("uint8").text("clock", "more").unwrap();
    let value = writer.add(&value).unwrap();
    for (stream_id, payload) in [(clock, &10_u64.to_le_bytes()[..]), (half, &[5]), (more, &[2])] {
        writer.write(stream_id, payload).unwrap();
    }
    writer.write(value, &[1]).unwrap();
    let part = ExtractRequest { tracks: Some(vec!["v".into()]), ..ExtractRequest::default() };
    let (out, written) = extracted(&[&writer.finish().unwrap()], &part);
    assert_eq!((written.events, written.losses.len()), (1, 0));
    assert_eq!(of(&events(&out), "v"), [(Some(10_700_000_000), "1")]);
}

#[test]
fn repair_says_which_index_it_puts_right() {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(8192, 2048).unwrap().crc(None));
    let text = writer.add(&StreamMeta::new("text").format("utf-8")).unwrap();
    while writer.position() < 5000 {
        writer.write(text, b"0123456789abcdef").unwrap();
    }
    let mut bytes = writer.finish().unwrap();
    // The index after the first unit; its entry of stream 9 begins with 9 << 1 | 1.
    let index = 1025 + 2048;
    let entry = (index + 2..bytes.len()).find(|at| bytes[*at] == 19).unwrap();
    bytes[entry + 1] ^= 0x02;
    let (repaired, said) = repaired(&bytes);
    assert_eq!((said.losses.len(), rules(&said.corrected)), (0, vec!["index"]));
    assert_eq!(said.corrected[0].offset, Some(index as u64));
    assert_eq!(events(&repaired), events(&bytes));
}

/// The names of what streams hold, as a follower tells them.
struct Names(Vec<String>);

impl LiveRecordingSink for Names {
    fn clock(&mut self, _clock: &Clock) -> kymo_core::Result<()> {
        Ok(())
    }

    fn track(&mut self, track: &Track) -> kymo_core::Result<()> {
        self.0.push(track.content.to_string());
        Ok(())
    }

    fn event(&mut self, _event: &Event<'_>) -> kymo_core::Result<()> {
        Ok(())
    }

    fn finding(&mut self, _finding: Finding) -> kymo_core::Result<()> {
        Ok(())
    }
}

/// The byte order comes after the streams: they are told of when it is known.
#[test]
fn a_follower_names_numbers_by_the_byte_order_that_comes_later() {
    for (order, name) in [(ByteOrder::Big, "uint32be"), (ByteOrder::Little, "uint32le")] {
        for step in [1, 100, 1 << 20] {
            let mut follower = Rtc.follow(&Context::default()).unwrap();
            let mut names = Names(Vec::new());
            for bytes in recording(order).chunks(step) {
                follower.push(bytes, &mut names).unwrap();
            }
            follower.finish(&mut names).unwrap();
            assert_eq!(names.0, ["timespec", name, "annotate/uint32"], "by {step}");
        }
    }
}

/// What both of two files have is named by its file: `stdout (2)` would not say whose it is. What
/// only one has keeps its name.
#[test]
fn streams_of_merged_files_are_named_by_their_file() {
    let recording = |own: &str| {
        let mut writer = Writer::new(Vec::new(), Options::new());
        for name in ["stdout", own] {
            let stream = writer.add(&StreamMeta::new(name).format("utf-8")).unwrap();
            writer.write(stream, b"line").unwrap();
        }
        writer.finish().unwrap()
    };
    let files = [("runs/server.rtc", "load"), ("runs/client.log.rtc", "rate")];
    let sources = files.map(|(path, own)| Source::from_bytes(path, recording(own)));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("merged.rtc");
    let to = Destination::new(&path, false);
    Rtc.extract(&sources, &ExtractRequest::default(), &to, &Context::default()).unwrap();
    let merged = Source::from_bytes("merged.rtc", std::fs::read(&path).unwrap());
    let reader = Reader::open(&merged, &Context::default()).unwrap();
    let names: Vec<_> = reader.streams().iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["stdout (server)", "load", "stdout (client.log)", "rate"]);
}
