//! Whatever is damaged and guessed, each frame is given once.

use std::collections::BTreeMap;

use crate::messages::{Found, read, recording};
use kymo_rtc_wire::read::Frame;

/// Headers of a last and of any other frame of a Meta and of a meta.
const META_HEADERS: [u8; 4] = [0x0A, 0x0B, 0x0C, 0x0D];

/// Within a stream frames come in the order of the file, so none comes twice, and together they
/// have no more bytes than the file.
fn assert_once(found: &Found, bytes: &[u8], what: &str) {
    let mut last = BTreeMap::new();
    let mut payload_bytes = 0;
    for frame in &found.frames {
        let before = last.insert(frame.id, frame.position);
        assert!(before < Some(frame.position), "{what}: again {frame:?}, after {before:?}");
        payload_bytes += frame.end - frame.payload;
    }
    assert!(payload_bytes <= bytes.len() as u64, "{what}: {payload_bytes} bytes of payload");
}

/// Gives each header of a frame the values of those of a Meta.
fn assert_headers_as_metas(bytes: &[u8]) -> usize {
    let whole = read(bytes);
    let mut damaged = bytes.to_vec();
    let header = |frame: &Frame| usize::try_from(frame.position).unwrap();
    let headers: Vec<usize> = whole.frames.iter().map(header).collect();
    for at in &headers {
        for value in META_HEADERS {
            damaged[*at] = value;
            let what = format!("byte {at} set to {value:#04x}");
            let found = read(&damaged);
            assert_once(&found, &damaged, &what);
            let (sound, left) = (whole.messages.len(), found.messages.len());
            assert!(left <= sound, "{what}: {left} messages of {sound}");
            assert!(found.has_trouble() || damaged == bytes, "{what}: nothing is said");
        }
        damaged[*at] = bytes[*at];
    }
    headers.len()
}

/// The checksum tells which byte was changed. It is behind the Meta of its Unit, which is not read
/// again for it.
#[test]
fn a_header_that_becomes_that_of_a_meta_multiplies_nothing() {
    assert!(assert_headers_as_metas(&recording(9_000)) > 200);
}

#[test]
fn a_header_of_a_real_file_that_becomes_that_of_a_meta_multiplies_nothing() {
    let Some(path) = kymo_conformance::shared::file("rtc/small_units.rtc") else { return };
    assert_eq!(assert_headers_as_metas(&std::fs::read(path).unwrap()), 1543);
}

/// Bytes that are missing bring ticks nearer, which are looked for in what was read already.
#[test]
fn bytes_that_are_missing_or_too_many_multiply_nothing() {
    let bytes = recording(20_000);
    for from in (1100..bytes.len() - 1200).step_by(7) {
        for count in [1, 5, 100, 1030] {
            let lacking = [&bytes[..from], &bytes[from + count..]].concat();
            assert_once(&read(&lacking), &lacking, &format!("{count} missing at {from}"));
            let twice = [&bytes[..from + count], &bytes[from..]].concat();
            assert_once(&read(&twice), &twice, &format!("{count} twice at {from}"));
        }
    }
}
