//! Bytes that are missing or too many in the middle of a file: everything from the next tick of
//! the ruler on is there, and nothing is invented.

use std::collections::HashSet;

use kymo_core::{Context, Destination, Source};
use kymo_model::Format;
use kymo_rtc::{Reader, Rtc};
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::read::{Item, View, Walker};
use kymo_rtc_wire::write::{Options, Writer};

const UNIT: usize = 16_384;
const MINOR: usize = 2048;
const INDEX: usize = 1025;

/// Texts of their own number, samples of a fixed length that a tick may divide, and now and then a
/// message of several frames.
fn recording() -> Vec<u8> {
    let options = Options::new().sizes(UNIT as u64, MINOR as u64).unwrap();
    let mut writer = Writer::new(Vec::new(), options);
    let text = writer.add(&StreamMeta::new("text").format("utf-8")).unwrap();
    let sample = writer.add(&StreamMeta::new("sample").length(90)).unwrap();
    let long = writer.add(&StreamMeta::new("long")).unwrap();
    for number in 0_u32.. {
        writer.write(text, format!("line {number:06}").as_bytes()).unwrap();
        if number % 3 == 0 {
            let mut bytes = [0xE0; 90];
            bytes[..4].copy_from_slice(&number.to_le_bytes());
            writer.write(sample, &bytes).unwrap();
        }
        if number % 40 == 0 {
            writer.write(long, format!("{number:06}").repeat(300).as_bytes()).unwrap();
        }
        if writer.position() > 5 * UNIT as u64 {
            break;
        }
    }
    writer.finish().unwrap()
}

/// A message: its stream's id and its bytes; every one is different.
type Message = (u32, Vec<u8>);

struct Read {
    /// Each with its place and whether its beginning may be missing.
    messages: Vec<(u64, Message, bool)>,
    sessions: usize,
}

fn read(bytes: &[u8]) -> Read {
    let source = Source::from_bytes("test.rtc", bytes.to_vec());
    let reader = Reader::open(&source, &Context::default()).unwrap();
    let mut messages = reader.messages();
    let mut found = Vec::new();
    while let Some(message) = messages.next() {
        let id = reader.streams()[message.stream].id;
        found.push((message.offset, (id, message.payload.to_vec()), message.may_lack_beginning));
    }
    let sessions = reader.streams().iter().map(|stream| stream.session).max().unwrap() + 1;
    Read { messages: found, sessions }
}

/// The first tick, of a Unit or of a unit, at a place of the whole file or after it.
fn tick_from(place: usize) -> usize {
    let within = place % UNIT;
    let unit = place - within;
    let ticks = (1..UNIT / MINOR).map(|tick| INDEX + tick * MINOR).chain([UNIT]);
    unit + [0].into_iter().chain(ticks).find(|tick| *tick >= within).unwrap()
}

/// Reads what is left after `whole[from..to]` was replaced, and compares.
fn compare(whole: &[u8], original: &Read, from: usize, to: usize, instead: &[u8]) {
    let damaged = [&whole[..from], instead, &whole[to..]].concat();
    let found = read(&damaged);
    let what = format!("{from}..{to} replaced by {} bytes", instead.len());
    assert_eq!(found.sessions, 1, "{what}");
    let there: HashSet<&Message> = found.messages.iter().map(|(_, message, _)| message).collect();
    let next = tick_from(to) as u64;
    for (offset, message, _) in &original.messages {
        let is_before = *offset + 4000 < from as u64;
        // A tick may divide the message that begins before it.
        if is_before || *offset >= next {
            assert!(there.contains(message), "{what}: lost {message:?} at {offset}");
        }
    }
    let written: HashSet<&Message> = original.messages.iter().map(|(_, m, _)| m).collect();
    for (offset, message, may_lack_beginning) in &found.messages {
        let reach = *offset as usize..*offset as usize + message.1.len() + 2500;
        let holds_damage = reach.start <= from + instead.len() && from <= reach.end;
        let is_one = written.contains(message) || *may_lack_beginning || holds_damage;
        assert!(is_one, "{what}: invented {message:?} at {offset}");
    }
}

#[test]
fn missing_bytes_cost_nothing_from_the_next_tick_on() {
    let whole = recording();
    let original = read(&whole);
    for missing in [1, 2, 3, 5, 13, 100, 1024, 1500, 5000, 20_000] {
        for from in (1400..whole.len() - 21_500).step_by(997) {
            compare(&whole, &original, from, from + missing, &[]);
        }
    }
}

#[test]
fn bytes_too_many_cost_nothing_from_the_next_tick_on() {
    let whole = recording();
    let original = read(&whole);
    let noise: Vec<u8> =
        (0..40_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for more in [1, 2, 7, 100, 1025, 3000, 40_000] {
        for from in (1400..whole.len() - MINOR).step_by(1499) {
            compare(&whole, &original, from, from, &noise[..more]);
            compare(&whole, &original, from, from, &vec![0; more]);
        }
    }
}

/// The same in what opens the first Unit, of which nothing comes before: Marker, Index and Meta,
/// which the next Unit repeats.
#[test]
fn bytes_that_are_missing_or_too_many_at_the_beginning_cost_nothing_from_the_next_tick_on() {
    let whole = recording();
    let original = read(&whole);
    for from in (0..1400).step_by(29) {
        for bytes in [1, 2, 13, 100] {
            compare(&whole, &original, from, from + bytes, &[]);
            compare(&whole, &original, from, from, &vec![0x55; bytes]);
        }
    }
}

/// The Marker's end and most of the Index are missing from a file of one Unit: its Meta tells.
#[test]
fn a_file_of_one_unit_is_found_by_its_meta() {
    let whole = &recording()[..UNIT - 100];
    let original = read(whole);
    for (from, to) in [(935, 1035), (0, 1030), (600, 1040)] {
        compare(whole, &original, from, to, &[]);
        let found = read(&[&whole[..from], &whole[to..]].concat());
        assert_eq!(found.messages.len(), original.messages.len(), "{from}..{to}");
    }
}

/// Damage from the end of a Unit into the next Marker, its Index or its Meta: what is whole behind
/// it is there.
#[test]
fn damage_across_the_end_of_a_unit_costs_nothing_from_the_next_tick_on() {
    let whole = recording();
    let original = read(&whole);
    for before in [1, 4, 5, 6, 100, 900] {
        for behind in [1, 500, 1024, 1025, 1026, 1060, 1100, 1250] {
            for marker in [UNIT, 3 * UNIT] {
                let (from, to) = (marker - before, marker + behind);
                compare(&whole, &original, from, to, &vec![0; to - from]);
                compare(&whole, &original, from, to, &vec![0xA5; to - from]);
                compare(&whole, &original, from, to, &[]);
            }
        }
    }
}

/// Bytes are missing in the last unit but one: the last index stands alone, and the frames behind
/// it prove it.
#[test]
fn the_last_index_alone_is_found() {
    let whole = recording();
    let whole = &whole[..4 * UNIT + INDEX + 3 * MINOR + 700];
    let original = read(whole);
    let from = 4 * UNIT + INDEX + 2 * MINOR + 200;
    compare(whole, &original, from, from + 300, &[]);
}

/// Bytes that arrive a few at a time give what the whole file gives.
#[test]
fn a_moved_ruler_is_found_in_bytes_that_arrive() {
    let whole = recording();
    let frames = |bytes: &[u8], step: usize| {
        let mut walker = Walker::new();
        let (mut frames, mut base, mut end) = (Vec::new(), 0, 0);
        loop {
            let view = View::part(&bytes[base..end], base as u64, end == bytes.len());
            match walker.next(&view) {
                Ok(Item::End) => return frames,
                Ok(Item::Frame(frame)) => frames.push(frame),
                Ok(_) => {}
                Err(_) => {
                    walker.absorb(&view);
                    base = usize::try_from(walker.needs()).unwrap();
                    end = bytes.len().min(end + step);
                }
            }
        }
    };
    for from in (1400..whole.len() - 5000).step_by(4999) {
        for damaged in [
            [&whole[..from], &whole[from + 1500..]].concat(),
            [&whole[..from], &[0x55; 900], &whole[from..]].concat(),
        ] {
            let all = frames(&damaged, damaged.len());
            for step in [333, 5000] {
                assert!(frames(&damaged, step) == all, "{from}, by {step}");
            }
        }
    }
}

/// The last unit of a Unit ends with a Marker in place of an index. That leads as well: lines are
/// lost no farther than the next frame can be, and none twice.
#[test]
fn bytes_missing_from_the_last_unit_of_a_unit_cost_lines_nearby_alone() {
    const UNIT: u64 = 65_536;
    let options = Options::new().sizes(UNIT, UNIT / 2).unwrap();
    let mut writer = Writer::new(Vec::new(), options);
    let text = writer.add(&StreamMeta::new("text").format("utf-8")).unwrap();
    for number in 0_u32.. {
        writer.write(text, format!("line {number:06} of the log").as_bytes()).unwrap();
        if writer.position() > 3 * UNIT {
            break;
        }
    }
    let whole = writer.finish().unwrap();
    let original = read(&whole);
    for missing in [1, 2, 13, 300, 2000] {
        for from in (34_000..63_000).step_by(331) {
            let found = read(&[&whole[..from], &whole[from + missing..]].concat());
            let there: HashSet<&Message> = found.messages.iter().map(|(_, pair, _)| pair).collect();
            assert_eq!(there.len(), found.messages.len(), "{missing} missing at {from}: twice");
            for (offset, message, _) in &original.messages {
                let near = from as u64 - 50..=(from + missing) as u64 + 1100;
                let is_there = there.contains(message) || near.contains(offset);
                assert!(is_there, "{missing} missing at {from}: lost the line at {offset}");
            }
        }
    }
}

/// What is said, and where: the tick at 16,384 + 1025 + 2 × 2048 moved by 1500 bytes.
#[test]
fn how_many_bytes_are_missing_is_said() {
    let whole = recording();
    let tick = UNIT + INDEX + 2 * MINOR;
    let from = tick - 2000;
    let damaged = [&whole[..from], &whole[from + 1500..]].concat();
    let source = Source::from_bytes("test.rtc", damaged);
    let found = Rtc.check(&source, &Context::default()).unwrap();
    let said = found.iter().find(|finding| finding.rule == "ruler").unwrap();
    assert_eq!(said.offset, Some(tick as u64 - 1500));
    assert_eq!(said.message, "1500 bytes are missing before this place");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("repaired.rtc");
    let repaired =
        Rtc.repair(&source, &Destination::new(&path, false), &Context::default()).unwrap();
    assert!(repaired.losses.iter().any(|finding| finding.rule == "ruler"));
    let sound = Source::from_bytes("sound.rtc", std::fs::read(&path).unwrap());
    assert_eq!(Rtc.check(&sound, &Context::default()).unwrap(), []);
}

/// A message holds a part of an RTC file, an index among it, as a recording of a recording has.
/// It is no tick.
#[test]
fn payload_that_holds_an_index_is_not_taken_for_one() {
    let other = recording();
    let tick = INDEX + 2 * MINOR;
    let options = Options::new().sizes(UNIT as u64, MINOR as u64).unwrap();
    let mut writer = Writer::new(Vec::new(), options);
    let copy = writer.add(&StreamMeta::new("copy")).unwrap();
    for number in 0..60_usize {
        writer.write(copy, &other[tick - 300 + number..tick + 600]).unwrap();
    }
    let whole = writer.finish().unwrap();
    let original = read(&whole);
    for from in (1200..whole.len() - 5000).step_by(211) {
        compare(&whole, &original, from, from + 40, &[]);
        compare(&whole, &original, from, from, &[0x55; 33]);
    }
}

/// The last unit of the file opens with the rest of a message of fixed length, and nothing but the
/// frames behind that prove its index.
#[test]
fn a_byte_too_many_before_a_tick_within_a_message_of_fixed_length_costs_that_message_alone() {
    let path = kymo_conformance::testdata("rtc/reference/fixed_split.rtc");
    let whole = std::fs::read(path).unwrap();
    let original = read(&whole);
    assert_eq!(original.messages.len(), 372);
    // Within the payload of a message that begins at 37345.
    let damaged = [&whole[..37366], &[0x41], &whole[37366..]].concat();
    let found: Vec<_> =
        read(&damaged).messages.into_iter().map(|(_, message, _)| message).collect();
    let kept = original.messages.iter().filter(|(offset, ..)| *offset != 37345);
    let kept: Vec<_> = kept.map(|(_, message, _)| message.clone()).collect();
    assert_eq!(found, kept);
}
