//! Cut and damaged files: nothing intact is lost, nothing is invented.

use std::collections::HashMap;
use std::fs;

use kymo_conformance::{shared, testdata};
use kymo_core::{Context, Severity, Source};
use kymo_model::Format;
use kymo_rtc::{Reader, Rtc};
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::read::{Begin, Frame, Item, View, Walker};
use kymo_rtc_wire::write::{Options, Writer};

/// A message: where its first frame is, its stream's id, its bytes, and whether its beginning may
/// be missing.
type Message = (u64, u32, Vec<u8>, bool);

fn read(bytes: &[u8]) -> Vec<Message> {
    let source = Source::from_bytes("test.rtc", bytes.to_vec());
    let reader = Reader::open(&source, &Context::default()).unwrap();
    let mut messages = reader.messages();
    let mut found = Vec::new();
    while let Some(message) = messages.next() {
        let id = reader.streams()[message.stream].id;
        found.push((message.offset, id, message.payload.to_vec(), message.may_lack_beginning));
    }
    found
}

fn frames(bytes: &[u8]) -> Vec<Frame> {
    let view = View::from_file(bytes);
    let mut walker = Walker::new();
    let mut frames = Vec::new();
    loop {
        match walker.next(&view).unwrap() {
            Item::Frame(frame) => frames.push(frame),
            Item::End => return frames,
            _ => {}
        }
    }
}

/// Small recordings: fixed and variable lengths, chains, several Units.
fn samples() -> Vec<Vec<u8>> {
    let names = ["fixed_split", "unit_equal", "default_basic", "large_data", "stop_unit_rem1"];
    let path = |name| testdata(format!("rtc/reference/{name}.rtc"));
    names.iter().map(|name| fs::read(path(name)).unwrap()).collect()
}

#[test]
fn every_prefix_has_exactly_the_frames_that_are_whole_in_it() {
    for bytes in samples() {
        let whole = frames(&bytes);
        for end in (0..bytes.len()).step_by(if bytes.len() > 12_000 { 17 } else { 1 }) {
            let expected: Vec<_> = whole.iter().filter(|frame| frame.end <= end as u64).collect();
            let found = frames(&bytes[..end]);
            assert!(found.iter().eq(expected), "cut at {end}");
        }
    }
}

/// A cut at the head loses what lies in the unit where the cut is, and in it only what no index
/// names a beginning for; from the next tick on that does not divide a message, everything is
/// there. A Unit needs the Meta of a later one, or its own.
#[test]
fn every_cut_at_the_head_has_everything_from_the_next_tick_on() {
    for bytes in samples() {
        let whole = frames(&bytes);
        let markers: Vec<u64> = starts(&whole, 2);
        for start in (1..bytes.len()).step_by(if bytes.len() > 20_000 { 41 } else { 13 }) {
            let cut = start as u64;
            let found: HashMap<u64, Frame> =
                frames(&bytes[start..]).into_iter().map(|f| (f.position + cut, f)).collect();
            for frame in found.values() {
                let position = frame.position + cut;
                let original = whole.iter().find(|original| original.position == position);
                let original = original.unwrap_or_else(|| panic!("cut at {start}: {frame:?}"));
                assert_eq!((original.id, original.end), (frame.id, frame.end + cut), "{start}");
            }
            // Without any Marker left there is no Meta either.
            let Some(marker) = markers.iter().find(|marker| **marker >= cut) else { continue };
            // The rest of a message of fixed length does not tell where it ends.
            let is_clean = |border: &u64| {
                let mut after = whole.iter().filter(|f| f.position >= *border && f.id >= 9);
                after.next().is_none_or(|frame| frame.begin == Begin::Start)
            };
            let mut borders = [starts(&whole, 4), vec![*marker]].concat();
            borders.sort_unstable();
            let tick = borders.into_iter().filter(|border| *border >= cut).find(is_clean);
            let Some(from) = tick else { continue };
            for frame in whole.iter().filter(|frame| frame.position >= from) {
                assert!(found.contains_key(&frame.position), "cut at {start}: lost {frame:?}");
            }
        }
    }
}

fn starts(frames: &[Frame], id: u32) -> Vec<u64> {
    frames.iter().filter(|frame| frame.id == id).map(|frame| frame.position).collect()
}

/// The cut and damaged copies of a real file: what they have was in the original, and all that
/// lies outside of what was damaged is there.
#[test]
fn copies_of_a_real_file_give_back_what_is_intact() {
    let Some(folder) = shared::file("rtc") else { return };
    let item = |name: &str| fs::read(folder.join(format!("{name}.rtc"))).unwrap();
    let whole = read(&item("small_units"));
    let manifest = fs::read(folder.join("MANIFEST.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    // Where the copy begins in the original, what of the original was lost, and how much of the
    // first message of each stream may be missing.
    let copies: [(&str, u64, std::ops::Range<u64>); 19] = [
        ("cutat500", 0, 0..15745),
        ("cutat1024", 0, 0..15745),
        ("cutat1025", 0, 0..15745),
        ("cutat1030", 0, 0..15745),
        ("headcut1", 1, 0..1),
        ("headcut500", 500, 0..500),
        ("headcut1025", 1025, 0..1025),
        ("headcut1100", 1100, 0..1100),
        ("headcut8192", 8192, 0..8192 + 1310),
        ("headcut12000", 12000, 0..13313 + 40),
        ("tailcut1", 0, 15744..15745),
        ("tailcut6", 0, 15736..15745),
        ("tailcut100", 0, 15638..15745),
        ("cutat8492", 0, 8170..15745),
        ("cutat9000", 0, 8170..15745),
        ("cutat9218", 0, 8170..15745),
        ("flip_marker1", 0, 0..0),
        ("flip_index1", 0, 0..0),
        ("zeroed", 0, 8170..11265 + 40),
    ];
    for (name, start, lost) in copies {
        let bytes = item(&format!("small_units_{name}"));
        let found = read(&bytes);
        let floor =
            manifest[&format!("small_units_{name}.rtc")]["messages_recoverable_simple_parser"]
                .as_u64()
                .unwrap();
        assert!(found.len() as u64 >= floor, "{name}: {} messages", found.len());
        // What may be the rest of a message is said to be.
        let certain = found.iter().filter(|message| !message.3);
        for (offset, id, payload, _) in certain {
            let is_one = |m: &&Message| (m.0, m.1, &m.2) == (offset + start, *id, payload);
            assert!(whole.iter().any(|m| is_one(&m)), "{name}: invented one at {offset}");
        }
        let found: Vec<_> = found.into_iter().map(|m| (m.0 + start, m.1, m.2)).collect();
        for message in &whole {
            if !lost.contains(&message.0) {
                let message = (message.0, message.1, message.2.clone());
                assert!(found.contains(&message), "{name}: lost the message at {}", message.0);
            }
        }
    }
    // A flipped payload: every message is there but the one that holds the byte.
    let found = read(&item("small_units_flip_payload"));
    assert_eq!(found.len(), whole.len());
    assert_eq!(found.iter().zip(&whole).filter(|(a, b)| a.2 != b.2).count(), 1);
}

/// Messages of 5000 and 20,000 bytes, whose frames have no lengths, in units of 4096 and 8192:
/// after a cut everything is there that begins after the next tick.
#[test]
fn a_cut_within_a_long_message_costs_nothing_after_it() {
    for (length, sizes) in [(5000, (16384, 4096)), (20_000, (32768, 8192))] {
        let mut writer = Writer::new(Vec::new(), Options::new().sizes(sizes.0, sizes.1).unwrap());
        let long = writer.add(&StreamMeta::new("long").length(length as u64)).unwrap();
        let short = writer.add(&StreamMeta::new("short")).unwrap();
        for number in 0..12_u8 {
            writer.write(long, &vec![0xF0 | number; length]).unwrap();
            writer.write(short, &[number; 7]).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let whole = read(&bytes);
        assert_eq!(whole.len(), 24);
        let first = usize::try_from(sizes.0).unwrap();
        for cut in (first..3 * first).step_by(61) {
            let found = read(&bytes[cut..]);
            let found: HashMap<u64, &Message> =
                found.iter().map(|message| (message.0 + cut as u64, message)).collect();
            let tick = (cut as u64).next_multiple_of(sizes.1) + sizes.1;
            for message in whole.iter().filter(|message| message.0 >= tick) {
                let is_there = found.get(&message.0).is_some_and(|found| found.2 == message.2);
                assert!(is_there, "{length}: cut at {cut}: lost the message at {}", message.0);
            }
        }
    }
}

/// Reading went round in circles where the first bytes of a Marker stood in the place of a Crc.
#[test]
fn a_checksum_that_looks_like_a_marker_costs_nothing_else() {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(8192, 2048).unwrap());
    let text = writer.add(&StreamMeta::new("text")).unwrap();
    while writer.position() < 20_000 {
        writer.write(text, &[b'a'; 40]).unwrap();
    }
    let mut bytes = writer.finish().unwrap();
    let whole = frames(&bytes);
    let crc = 8192 - 5;
    assert_eq!(bytes[crc], 0x10);
    bytes[crc..8192].copy_from_slice(&[0x04, 0xB9, 0xB9, 0xB9, 0xB9]);
    let found = frames(&bytes);
    let others = whole.iter().filter(|frame| frame.position != crc as u64);
    assert!(found.iter().map(|frame| frame.position).eq(others.map(|frame| frame.position)));
}

#[test]
fn the_oldest_writers_file_has_all_that_was_written() {
    let Some(folder) = shared::file("rtc") else { return };
    let found = read(&fs::read(folder.join("oldest_writer_small.rtc")).unwrap());
    let mut expected = Vec::new();
    for number in 0..1500_u32 {
        expected.push((9, format!("a{number}").into_bytes()));
        expected.push((10, number.to_le_bytes().to_vec()));
    }
    let found: Vec<_> = found.into_iter().map(|message| (message.1, message.2)).collect();
    assert!(found == expected, "{} messages of {}", found.len(), expected.len());
}

#[test]
fn appended_sessions_are_read_each_with_its_own_streams() {
    let bytes = fs::read(testdata("rtc/reference/example_inputs_append2.rtc")).unwrap();
    let found = read(&bytes);
    let text = |session: std::ops::Range<u64>| -> Vec<u8> {
        let this_filter =
            found.iter().filter(|message| message.1 == 10 && session.contains(&message.0));
        this_filter.flat_map(|message| message.2.clone()).collect()
    };
    assert_eq!(text(0..1222), b"hello\nworld\n");
    let second = text(1222..u64::MAX);
    assert_eq!(second.len(), 20_000);
    assert!(second.starts_with(b"                    GNU GENERAL PUBLIC LICENSE\n"));
}

/// The writer gave up in the middle of a `meta`, at the end of a Unit: what it wrote before is
/// there, and what it began is said to have no end.
#[test]
fn a_writer_that_gave_up_leaves_all_that_it_wrote() {
    let bytes = fs::read(testdata("rtc/reference/create_at_unit_end.rtc")).unwrap();
    let found = read(&bytes);
    let (first, others) = found.split_first().unwrap();
    assert_eq!((first.1, first.2.as_slice()), (9, &b"x"[..]));
    let (last, others) = others.split_last().unwrap();
    assert!(others.iter().all(|message| message.1 == 9 && message.2 == [b'a'; 100]));
    // Its header has three bytes; the `meta` follows.
    assert_eq!((found.len(), last.0 + 3 + last.2.len() as u64), (69, 8167));
    assert_eq!(last.2, [b'b'; 205]);
}

#[test]
fn nothing_is_in_an_empty_file() {
    assert!(read(&[]).is_empty());
    let source = Source::from_bytes("empty.rtc", Vec::new());
    let found = Rtc.check(&source, &Context::default()).unwrap();
    let said: Vec<_> = found.iter().map(|finding| (finding.severity, finding.rule)).collect();
    assert_eq!(said, [(Severity::Note, "empty")]);
}
