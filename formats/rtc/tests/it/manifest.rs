//! Files of the format's reference writer: what was written comes back.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kymo_conformance::shared;
use kymo_core::{Context, Source};
use kymo_rtc::Reader;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A message: its stream's id and its bytes.
type Message = (u32, Vec<u8>);

/// Every message of some bytes.
fn read(bytes: &[u8]) -> Vec<Message> {
    let source = Source::from_bytes("test.rtc", bytes.to_vec());
    let reader = Reader::open(&source, &Context::default()).unwrap();
    let mut messages = reader.messages();
    let mut found = Vec::new();
    while let Some(message) = messages.next() {
        found.push((reader.streams()[message.stream].id, message.payload.to_vec()));
    }
    found
}

fn manifest(folder: &Path) -> BTreeMap<String, Value> {
    serde_json::from_slice(&fs::read(folder.join("MANIFEST.json")).unwrap()).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// The writes of a stream that were joined by `more`, in the order in which they ended.
fn written(writes: &[Value]) -> Vec<(u32, Vec<&Value>)> {
    let mut open: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    let mut messages = Vec::new();
    for write in writes {
        assert_eq!(write["rc"], 0, "a write that failed");
        let id = write["stream"].as_u64().unwrap();
        open.entry(id).or_default().push(write);
        if write["more"] == false {
            messages.push((u32::try_from(id).unwrap(), open.remove(&id).unwrap()));
        }
    }
    messages
}

/// Compares a message with its writes, each by length, digest and, where listed, bytes.
fn compare(name: &str, found: &Message, expected: &(u32, Vec<&Value>)) {
    assert_eq!(found.0, expected.0, "{name}");
    let mut rest = found.1.as_slice();
    for write in &expected.1 {
        let length = usize::try_from(write["len"].as_u64().unwrap()).unwrap();
        let (part, after) = rest.split_at(length);
        assert_eq!(write["sha256"], hex(&Sha256::digest(part)), "{name}");
        if let Some(bytes) = write["hex"].as_str() {
            assert_eq!(bytes, hex(part), "{name}");
        }
        rest = after;
    }
    assert!(rest.is_empty(), "{name}: {} bytes too many", rest.len());
}

#[test]
fn every_write_of_the_reference_writer_comes_back() {
    let Some(folder) = shared::file("rtc") else { return };
    let mut checked = 0;
    for (name, facts) in manifest(&folder) {
        let Some(writes) = facts["writes"].as_array() else { continue };
        let found = read(&fs::read(folder.join(&name)).unwrap());
        let expected = written(writes);
        for (found, expected) in found.iter().zip(&expected) {
            compare(&name, found, expected);
        }
        assert_eq!(found.len(), expected.len(), "{name}");
        checked += 1;
    }
    assert_eq!(checked, 26, "files whose writes are listed");
}
