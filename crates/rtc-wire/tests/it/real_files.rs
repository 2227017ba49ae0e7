//! The tests' own reader, proved on files of the format's reference writer.

use crate::independent;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::independent::{Session, Sum};
use serde_json::Value;

/// The folder of real files, if this machine has it.
fn folder() -> Option<PathBuf> {
    kymo_conformance::shared::file("rtc")
}

#[test]
fn the_tests_reader_reads_what_the_reference_writer_wrote() {
    let Some(folder) = folder() else { return };
    let manifest: BTreeMap<String, Value> =
        serde_json::from_slice(&fs::read(folder.join("MANIFEST.json")).unwrap()).unwrap();
    let whole = manifest.iter().filter(|(_, facts)| facts["parse_equals_written"] == true);
    let mut checked = 0;
    for (name, facts) in whole {
        if facts["size"] != 0 {
            check_file(&folder, name, facts);
            checked += 1;
        }
    }
    assert!(checked >= 20, "{checked} files");
}

fn check_file(folder: &Path, name: &str, facts: &Value) {
    let bytes = fs::read(folder.join(name)).unwrap();
    let sum = if name == "no_crc.rtc" { Sum::None } else { Sum::Mixed };
    let session = independent::session(&bytes, sum);
    assert_eq!(session.end, bytes.len(), "{name} is read to its end");
    assert_eq!(Value::from(session.major), facts["Unit"], "{name}");
    check_frames(name, &session, &fs::read(folder.join(format!("{name}.frames.json"))).unwrap());
    check_writes(name, &session, facts["writes"].as_array().unwrap());
    let units = facts["units"].as_array().unwrap();
    let holds: Vec<_> = session.units.iter().map(|unit| unit.crc == Some(true)).collect();
    let expected: Vec<_> = units.iter().map(|unit| unit["crc_ok"] == true).collect();
    assert_eq!(holds, expected, "{name}: the Crc of each Unit");
}

fn check_frames(name: &str, session: &Session, frames: &[u8]) {
    let expected: Vec<Value> = serde_json::from_slice(frames).unwrap();
    assert_eq!(session.frames.len(), expected.len(), "{name}");
    for (found, expected) in session.frames.iter().zip(&expected) {
        assert_eq!(Value::from(found.at), expected["pos"], "{name}");
        assert_eq!(Value::from(found.id), expected["id"], "{name} at {}", found.at);
        assert_eq!(Value::from(found.more), expected["more"], "{name} at {}", found.at);
        let length = found.payload.1 - found.payload.0;
        assert_eq!(Value::from(length), expected["len"], "{name} at {}", found.at);
    }
}

/// Joins writes with `more` and compares their lengths, and their bytes where they are listed.
fn check_writes(name: &str, session: &Session, writes: &[Value]) {
    let mut open: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    let mut messages = session.messages.iter();
    for write in writes {
        let id = write["stream"].as_u64().unwrap();
        let (length, hex) = open.entry(id).or_default();
        *length += write["len"].as_u64().unwrap();
        hex.push_str(write["hex"].as_str().unwrap_or_default());
        if write["more"] == false {
            let (length, hex) = open.remove(&id).unwrap();
            let found = messages.next().unwrap();
            assert_eq!(
                (found.id, found.bytes.len() as u64),
                (id, length),
                "{name} at {}",
                found.at
            );
            if hex.len() as u64 == 2 * length {
                assert_eq!(hex_of(&found.bytes), hex, "{name} at {}", found.at);
            }
        }
    }
    assert_eq!(messages.next(), None, "{name}");
    assert_eq!(session.dangling.len(), open.len(), "{name}");
}

fn hex_of(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
