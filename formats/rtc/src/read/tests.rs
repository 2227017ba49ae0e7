//! What is found through the indices is what reading everything finds.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may fail loudly")]

use std::sync::Arc;

use kymo_core::{Context, Source};
use kymo_model::timeline::{TimeNs, TimelineView, TrackId, Window};
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{Options, StreamId, Writer};
use proptest::prelude::*;

use super::Reader;
use crate::model::Timeline;
use crate::types::OwnedMessage;

/// Streams of every kind: clocks with and without a base, lengths fixed and not, short and long.
fn streams() -> Vec<StreamMeta> {
    let on = |name: &str, clock| StreamMeta::new(name).text("clock", clock).unwrap();
    let ticker = |name: &str| StreamMeta::new(name).flag("clock", true).unwrap();
    vec![
        ticker("clk").length(8).format("uint64le").number("gain", 1e-9).unwrap(),
        ticker("delta")
            .format("uleb128")
            .number("gain", 1e-9)
            .unwrap()
            .text("delta", "clk")
            .unwrap(),
        on("fixed", "clk").length(16),
        on("variable", "delta"),
        on("long", "clk"),
        on("long fixed", "delta").length(1500),
        on("rare", "delta").format("utf-8"),
        StreamMeta::new("without"),
        on("longer than a unit", "clk").length(6000),
    ]
}

/// One write: which stream, and something to make its payload of.
type Write = (u8, u16);

fn recording(all: &[Write], sizes: (u64, u64)) -> Vec<u8> {
    let options = Options::new().sizes(sizes.0, sizes.1).unwrap();
    let mut writer = Writer::new(Vec::new(), options);
    let ids: Vec<StreamId> = streams().iter().map(|meta| writer.add(meta).unwrap()).collect();
    let (mut now, mut shown) = (0_u64, 0_u64);
    for &(kind, number) in all {
        now += u64::from(number % 50);
        let fill = number.to_le_bytes()[0];
        match kind {
            0 => {
                shown = now;
                writer.write(ids[0], &now.to_le_bytes()).unwrap();
            }
            1 => {
                writer.write(ids[1], &uleb128(now - shown)).unwrap();
            }
            // Bytes that look like headers of frames.
            2 => writer.write(ids[2], &[fill % 8 * 2 + 0x12; 16]).unwrap(),
            3 => writer.write(ids[3], &vec![fill; usize::from(number % 90) + 1]).unwrap(),
            4 => writer.write(ids[4], &vec![fill; usize::from(number % 6000) + 1]).unwrap(),
            5 => writer.write(ids[5], &[fill; 1500]).unwrap(),
            8 => writer.write(ids[8], &[fill; 6000]).unwrap(),
            6 => writer.write(ids[6], &[b'a' + fill % 26; 3]).unwrap(),
            _ => writer.write(ids[7], &[fill; 5]).unwrap(),
        }
    }
    writer.finish().unwrap()
}

fn uleb128(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7F).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

fn open(bytes: &[u8]) -> Arc<Reader> {
    let source = Source::from_bytes("test.rtc", bytes.to_vec());
    Reader::open(&source, &Context::default()).unwrap()
}

fn all(bytes: &[u8]) -> Vec<OwnedMessage> {
    let reader = open(bytes);
    let mut messages = reader.messages();
    let mut all = Vec::new();
    while let Some(message) = messages.next() {
        all.push(OwnedMessage::from_message(&message));
    }
    all
}

fn events(reader: &Arc<Reader>, window: &Window) -> Vec<(usize, u64, Option<TimeNs>)> {
    let timeline = Arc::new(Timeline::new(Arc::clone(reader)));
    let mut events = timeline.events(window).unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        assert_eq!(event.partial, None, "nothing is missing of {:#x} in {window:?}", event.offset);
        found.push((event.track.0, event.offset, event.time));
    }
    found
}

fn expected(all: &[OwnedMessage], window: &Window) -> Vec<(usize, u64, Option<TimeNs>)> {
    let passes =
        |m: &&OwnedMessage| window.includes_track(TrackId(m.stream)) && window.holds(m.time);
    let passing: Vec<_> = all.iter().filter(passes).collect();
    let last = window.last.map_or(passing.len(), |last| usize::try_from(last).unwrap());
    let from = passing.len().saturating_sub(last);
    passing[from..].iter().map(|m| (m.stream, m.offset, m.time)).collect()
}

/// A message in a few words, for those who read of a failure.
fn short(message: Option<&OwnedMessage>) -> Option<(u64, Option<TimeNs>, usize, Option<u8>)> {
    message.map(|m| (m.offset, m.time, m.payload.len(), m.payload.first().copied()))
}

/// Compares everything, and returns how often nothing but all of the file told.
fn compare(bytes: &[u8]) -> usize {
    let all = all(bytes);
    let mut scanned = 0;
    let mut fresh = |look: &mut dyn FnMut(&Arc<Reader>)| {
        let reader = open(bytes);
        look(&reader);
        scanned += usize::from(reader.scan_so_far().is_some());
    };
    let latest = all.iter().filter_map(|message| message.time).max().map_or(0, |time| time.0);
    let times = [-1, 0, latest / 3, latest / 2 + 1, latest, latest + 1].map(TimeNs);
    for stream in 0..streams().len() {
        let item = || all.iter().filter(|message| message.stream == stream);
        fresh(&mut |reader| {
            assert_eq!(short(reader.last(stream).as_ref()), short(item().next_back()), "{stream}");
        });
        for time in times {
            let first = item().find(|message| message.time.is_some_and(|at| at >= time));
            fresh(&mut |reader| {
                let found = reader.first_from(stream, time);
                assert_eq!(short(found.as_ref()), short(first), "{stream} {time:?}");
            });
        }
        let tracks = Some(vec![TrackId(stream)]);
        let windows = [
            Window { tracks: tracks.clone(), last: Some(3), ..Window::default() },
            Window { tracks: tracks.clone(), from: Some(times[3]), ..Window::default() },
            Window { tracks, from: Some(times[2]), until: Some(times[4]), last: Some(7) },
        ];
        for window in windows {
            fresh(&mut |reader| {
                assert_eq!(events(reader, &window), expected(&all, &window), "{window:?}");
            });
        }
    }
    let window = Window { from: Some(times[2]), until: Some(times[3]), ..Window::default() };
    fresh(&mut |reader| assert_eq!(events(reader, &window), expected(&all, &window)));
    let window = Window { last: Some(20), ..Window::default() };
    fresh(&mut |reader| assert_eq!(events(reader, &window), expected(&all, &window)));
    scanned
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn whatever_is_sought_is_what_reading_everything_finds(
        writes in prop::collection::vec((0..9_u8, any::<u16>()), 0..500),
        is_small: bool,
    ) {
        compare(&recording(&writes, if is_small { (8192, 2048) } else { (16384, 4096) }));
    }
}

/// A recording as programs make them: a clock, then a value.
fn ticking(count: u64) -> Vec<u8> {
    let write = |number: u64| {
        let fill = u16::try_from(number % 7 + 20).unwrap();
        [(0, fill), (2, fill), (3, fill), (if number.is_multiple_of(500) { 6 } else { 1 }, 0)]
    };
    let writes: Vec<Write> = (0..count).flat_map(write).collect();
    recording(&writes, (8192, 2048))
}

#[test]
fn a_sound_file_is_never_read_whole_to_find_something() {
    // Streams that were never written to or have no clock have nothing to find by time.
    assert_eq!(compare(&ticking(2000)), 0);
}

/// A clock that is set once, and told again at the beginning of every Unit, as the recorder does:
/// the times are those of the clock that counts from it.
#[test]
fn a_clock_that_is_only_told_again_does_not_mislead_a_search() {
    let options = Options::new().sizes(8192, 2048).unwrap();
    let mut writer = Writer::new(Vec::new(), options);
    let ids: Vec<StreamId> = streams().iter().map(|meta| writer.add(meta).unwrap()).collect();
    let base = 5_u64.to_le_bytes();
    writer.write(ids[0], &base).unwrap();
    writer.keep(ids[0], &base).unwrap();
    for number in 0..2000 {
        let delta = uleb128(number);
        writer.write(ids[1], &delta).unwrap();
        writer.keep(ids[1], &delta).unwrap();
        writer.write(ids[3], &[7; 20]).unwrap();
    }
    assert_eq!(compare(&writer.finish().unwrap()), 0);
}

/// Long messages of fixed length whose payload is itself frames of the other streams, so that
/// what a unit begins with could end at many places.
#[test]
fn payload_that_looks_like_frames_is_not_read_whole_either() {
    let write = |number: u64| {
        // The header of stream 12, which has a length in each frame: 24.
        let like = 0x18 + u16::try_from(number % 3).unwrap() * 0x100;
        let long = if number.is_multiple_of(5) { 8 } else { 5 };
        [(0, 20), (long, like), (3, 30), (1, 0), (4, 1018)]
    };
    let writes: Vec<Write> = (0..200).flat_map(write).collect();
    for sizes in [(8192, 2048), (8192, 8192), (1 << 16, 4096)] {
        assert_eq!(compare(&recording(&writes, sizes)), 0, "{sizes:?}");
    }
}
