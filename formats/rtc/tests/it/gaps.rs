//! What is lost in the middle of a file is said, and nothing is given twice or joined across it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use kymo_conformance::testdata;
use kymo_core::{Context, Severity, Source};
use kymo_model::Format;
use kymo_rtc::{Reader, Rtc};
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{Options, Writer};

/// The offset and payload of each message.
fn messages(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let source = Source::from_bytes("test.rtc", bytes.to_vec());
    let reader = Reader::open(&source, &Context::default()).unwrap();
    let mut messages = reader.messages();
    let mut found = Vec::new();
    while let Some(message) = messages.next() {
        found.push((message.offset, message.payload.to_vec()));
    }
    found
}

/// The rules of findings that are more than notes.
fn rules(bytes: &[u8]) -> BTreeSet<&'static str> {
    let source = Source::from_bytes("test.rtc", bytes.to_vec());
    let found = Rtc.check(&source, &Context::default()).unwrap();
    let found = found.iter().filter(|finding| finding.severity > Severity::Note);
    found.map(|finding| finding.rule).collect()
}

/// Two streams in turn, in units of 2048 bytes, without checksums: a text of 20 bytes, whose frame
/// has 22, and a number of 4, whose frame has 5. Every message is another.
fn sound() -> Vec<u8> {
    let options = Options::new().sizes(8192, 2048).unwrap().crc(None);
    let mut writer = Writer::new(Vec::new(), options);
    let text = writer.add(&StreamMeta::new("text").format("utf-8")).unwrap();
    let number = writer.add(&StreamMeta::new("number").length(4).format("uint32le")).unwrap();
    for count in 0..1000_u32 {
        writer.write(text, format!("text number {count:08}").as_bytes()).unwrap();
        writer.write(number, &(count + 0x4040_0000).to_le_bytes()).unwrap();
    }
    writer.finish().unwrap()
}

/// Zeros in the place of the last hundred bytes before a tick: messages with a byte there are gone,
/// and all others come. That is said although no checksum tells.
#[test]
fn zeros_that_lead_to_a_tick_are_no_padding() {
    let whole = sound();
    let tick = 1025 + 2 * 2048;
    let zeros = tick - 100..tick;
    let mut damaged = whole.clone();
    damaged[zeros.clone()].fill(0);
    let is_there = |(offset, payload): &(u64, Vec<u8>)| {
        let start = usize::try_from(*offset).unwrap();
        let end = start + payload.len() + if payload.len() == 20 { 2 } else { 1 };
        end <= zeros.start || start >= zeros.end
    };
    let expected: Vec<_> = messages(&whole).into_iter().filter(is_there).collect();
    assert_eq!(messages(&damaged), expected);
    assert!(rules(&damaged).contains("zeros"), "{:?}", rules(&damaged));
}

/// Where as many bytes are missing as units have, the next tick is in its place, and its index says
/// that it is not. Whatever is given was written, and is given once.
#[test]
fn nothing_is_given_twice_where_whole_units_are_missing() {
    let whole = sound();
    let written: BTreeSet<_> = messages(&whole).into_iter().map(|(_, payload)| payload).collect();
    for bytes in [2048, 4096, 8192] {
        for start in (1300..16_000).step_by(211) {
            let damaged = [&whole[..start], &whole[start + bytes..]].concat();
            let mut offsets = BTreeSet::new();
            for (offset, payload) in messages(&damaged) {
                let place = format!("{offset:#x}, of {bytes} missing at {start:#x}");
                assert!(offsets.insert(offset), "{place} is given twice");
                // The one from which bytes are missing has what follows it.
                let is_divided = offset + 22 > start as u64 && offset < start as u64;
                assert!(is_divided || written.contains(&payload), "{place} was not written");
            }
            assert!(!rules(&damaged).is_empty(), "{bytes} at {start:#x}");
        }
    }
}

/// A frame of the Marker's id, in the middle of a unit and with `more`, does not take the rest of the
/// unit with it. Where the next frame begins is not known, but it is within a frame's length.
#[test]
fn what_looks_like_a_marker_in_a_unit_is_damage() {
    let whole = sound();
    let all = messages(&whole);
    let at = all.iter().position(|(offset, payload)| *offset > 3100 && payload.len() == 20);
    let at = at.expect("there are some");
    let start = all[at].0;
    let mut damaged = whole;
    damaged[usize::try_from(start).unwrap()] = 0x05;
    let found: BTreeMap<_, _> = messages(&damaged).into_iter().collect();
    let is_away = |offset: u64| offset > start + 1100;
    let before = all.iter().take(at - 1);
    for (offset, payload) in before.chain(all.iter().filter(|(offset, _)| is_away(*offset))) {
        assert_eq!(found.get(offset), Some(payload), "{offset:#x}");
    }
    assert!(rules(&damaged).contains("frames"), "{:?}", rules(&damaged));
}

/// From one Marker to the middle of the next there are zeros. A message that goes on in the Unit
/// that is lost has no end, and is not joined with another's.
#[test]
fn a_unit_that_is_lost_ends_what_is_open() {
    let whole = fs::read(testdata("rtc/reference/unit_equal.rtc")).unwrap();
    let damaged = fs::read(testdata("rtc/bad/unit_equal_lost_unit.rtc")).unwrap();
    let written = messages(&whole);
    for message in messages(&damaged) {
        // What may lack its beginning is the end of a message.
        let ends = |(_, payload): &(u64, Vec<u8>)| payload.ends_with(&message.1);
        assert!(written.iter().any(ends), "{:#x} was not written", message.0);
    }
    assert!(rules(&damaged).contains("unfinished"), "{:?}", rules(&damaged));
}
