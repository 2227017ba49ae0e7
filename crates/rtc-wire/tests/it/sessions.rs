//! Sessions that were appended: damage where one begins costs no message of it.

use crate::messages::{Found, read, recording};
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{Options, Writer};

/// A session of other streams than those of [`recording`], with other sizes.
fn other(bytes: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(16_384, 4096).unwrap());
    let pair = writer.add(&StreamMeta::new("pair").length(2)).unwrap();
    let word = writer.add(&StreamMeta::new("word").format("utf-8")).unwrap();
    for count in 0_u16.. {
        if writer.position() >= bytes {
            break;
        }
        writer.write(pair, &count.to_be_bytes()).unwrap();
        writer.write(word, format!("word {count} of the other session").as_bytes()).unwrap();
    }
    writer.finish().unwrap()
}

/// The messages of a file by id and bytes.
fn essence(found: &Found) -> Vec<(u32, Vec<u8>)> {
    found.messages.iter().map(|message| (message.id, message.payload.clone())).collect()
}

/// A session that was ended, one whose writer was killed in a message, and one killed behind it;
/// each before a session that takes less than a unit, several units, or several Units.
fn appended() -> Vec<(usize, Vec<u8>)> {
    let first = recording(11_000);
    let last = read(&first).messages.last().unwrap().end as usize;
    let firsts = [&first[..], &first[..last - 9], &first[..last]];
    let seconds = [other(2000), other(9000), other(40_000), recording(3000), recording(17_000)];
    let pairs = firsts.iter().flat_map(|first| {
        seconds.iter().map(|second| (first.len(), [first, &second[..]].concat()))
    });
    pairs.collect()
}

/// Where the Meta behind an Index is: the last header of one before the bracket of its text.
fn meta(bytes: &[u8], index: usize) -> usize {
    let text = index + bytes[index..].iter().position(|byte| *byte == b'[').unwrap();
    index + bytes[index..text].iter().rposition(|byte| *byte == 0x0A).unwrap()
}

/// Returns true if the session that ends here was ended with a checksum.
fn is_ended(bytes: &[u8], end: usize) -> bool {
    read(&bytes[..end]).frames.last().unwrap().id == 8
}

#[test]
fn a_changed_bit_in_the_marker_or_index_of_an_appended_session_costs_no_message() {
    for (start, bytes) in appended() {
        let whole = essence(&read(&bytes));
        let index = start + 1025;
        let meta = meta(&bytes, index);
        for at in (start..index).step_by(93).chain([start, index - 1]).chain(index..meta) {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                let found = read(&damaged);
                let place = format!("session at {start} of {}, byte {at}, bit {bit}", bytes.len());
                assert!(essence(&found) == whole, "{place}: {:?}", found.damages);
                assert!(found.has_trouble(), "{place}: nothing is said");
            }
        }
    }
}

/// Bytes of the Marker, or all of it and the Index, became zeros, or are missing.
#[test]
fn a_marker_that_is_gone_costs_no_message_of_an_appended_session() {
    for (start, bytes) in appended() {
        let whole = read(&bytes);
        let is_ended = is_ended(&bytes, start);
        let index = start + 1025;
        let meta = meta(&bytes, index);
        for (from, to) in [
            (start, start + 500),
            (start + 200, index),
            (start, index),
            (start + 900, meta),
            (index, meta),
        ] {
            let zeroed = [&bytes[..from], &vec![0; to - from], &bytes[to..]].concat();
            let lacking = [&bytes[..from], &bytes[to..]].concat();
            for (damaged, what) in [(zeroed, "zeros"), (lacking, "missing")] {
                let found = read(&damaged);
                let place = format!("session at {start} of {}, {from}..{to} {what}", bytes.len());
                // Where the Marker is not all there, nothing tells whether the last message before
                // it ends with it, if no checksum does.
                let essence = |found: &Found| -> Vec<(u32, Vec<u8>)> {
                    let certain = found.messages.iter().filter(|message| {
                        what == "zeros" || message.end != start as u64 || is_ended
                    });
                    certain.map(|message| (message.id, message.payload.clone())).collect()
                };
                assert!(essence(&found) == essence(&whole), "{place}: {:?}", found.damages);
                assert!(found.has_trouble(), "{place}: nothing is said");
            }
        }
    }
}

/// A message that holds all of another recording, in pieces: damage before it does not make a
/// session of it.
#[test]
fn a_recording_within_a_message_is_no_session() {
    let inner = other(3000);
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(16_384, 4096).unwrap());
    let copy = writer.add(&StreamMeta::new("copy")).unwrap();
    for number in 0..8_usize {
        writer.write(copy, &inner[number * 100..]).unwrap();
        writer.write(copy, &[b'x'; 50]).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let whole = essence(&read(&bytes));
    for at in (1200..bytes.len()).step_by(37) {
        for damaged in [
            [&bytes[..at], &bytes[at + 1..]].concat(),
            [&bytes[..at], &[bytes[at] ^ 0x20], &bytes[at + 1..]].concat(),
        ] {
            let found = read(&damaged);
            let is_of_inner = |message: &&(u32, Vec<u8>)| message.0 == 10;
            assert_eq!(whole.iter().find(is_of_inner), None);
            assert_eq!(essence(&found).iter().find(is_of_inner), None, "byte {at}");
        }
    }
}
