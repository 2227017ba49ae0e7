//! Streams of which no Meta is left, and Units that begin without their Marker.

use kymo_core::{Context, Severity, Source};
use kymo_model::Format as _;
use kymo_rtc::{Reader, Rtc};
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{Options, Writer};

const UNIT: usize = 8192;
const MINOR: usize = 2048;
/// What a Marker takes; ticks are counted from behind it.
const INDEX: usize = 1025;

/// A recording of two Units: a stream `a` (9), beside which `b` (10) begins in the second.
fn recording() -> Vec<u8> {
    let options = Options::new().sizes(UNIT as u64, MINOR as u64).unwrap();
    let mut writer = Writer::new(Vec::new(), options);
    let a = writer.add(&StreamMeta::new("a").length(3)).unwrap();
    let mut number = 0_u16;
    let mut next = || {
        number += 1;
        number.to_be_bytes()
    };
    while writer.position() < UNIT as u64 + INDEX as u64 + 100 {
        let [high, low] = next();
        writer.write(a, &[high, low, 0x55]).unwrap();
    }
    let b = writer.add(&StreamMeta::new("b")).unwrap();
    while writer.position() < 2 * UNIT as u64 - 500 {
        let [high, low] = next();
        writer.write(a, &[high, low, 0x55]).unwrap();
        writer.write(b, &[high, low]).unwrap();
    }
    writer.finish().unwrap()
}

/// Messages with their places and the ids of their streams.
fn messages(bytes: &[u8]) -> Vec<(u64, u32, Vec<u8>)> {
    let source = Source::from_bytes("test.rtc", bytes.to_vec());
    let reader = Reader::open(&source, &Context::default()).unwrap();
    let mut messages = reader.messages();
    let mut found = Vec::new();
    while let Some(message) = messages.next() {
        let id = reader.streams()[message.stream].id;
        found.push((message.offset, id, message.payload.to_vec()));
    }
    found
}

#[test]
fn a_stream_that_only_indices_tell_of_is_read_beside_one_that_is_described() {
    let whole = recording();
    let original = messages(&whole);
    let text = br#"{"id":10,"name":"b""#;
    let at = whole.windows(text.len()).rposition(|bytes| bytes == text).unwrap();
    let mut damaged = whole.clone();
    // The frame that describes it, and its header.
    damaged[at - 3..at + text.len()].fill(0);
    let found = messages(&damaged);
    let tick = (UNIT + INDEX + MINOR) as u64;
    assert!((at as u64) < tick);
    let later = |messages: &[(u64, u32, Vec<u8>)]| -> Vec<_> {
        messages.iter().filter(|(offset, ..)| *offset > tick).cloned().collect()
    };
    assert!(later(&original).iter().any(|(_, id, _)| *id == 10));
    assert_eq!(later(&found), later(&original));
    assert!(found.iter().all(|message| original.contains(message)), "nothing is made up");
}

/// A header that is changed names a stream that no index lists: no message is made of it.
#[test]
fn a_stream_that_no_index_lists_is_damage() {
    let whole = recording();
    let original = messages(&whole);
    let (offset, ..) = original.iter().find(|(_, id, _)| *id == 10).unwrap();
    let mut damaged = whole.clone();
    damaged[usize::try_from(*offset).unwrap()] ^= 0x40;
    let found = messages(&damaged);
    assert!(found.iter().all(|message| original.contains(message)));
}

#[test]
fn a_file_that_lacks_its_first_marker_lacks_nothing_else() {
    let whole = recording();
    let cut = &whole[INDEX..];
    let moved = |(offset, id, payload): (u64, u32, Vec<u8>)| (offset - INDEX as u64, id, payload);
    let expected: Vec<_> = messages(&whole).into_iter().map(moved).collect();
    assert_eq!(messages(cut), expected);
    let source = Source::from_bytes("cut.rtc", cut.to_vec());
    let findings = Rtc.check(&source, &Context::default()).unwrap();
    let told: Vec<_> =
        findings.iter().map(|found| (found.severity, found.message.as_ref())).collect();
    assert_eq!(told, [(Severity::Error, "the Marker is missing")]);
}
