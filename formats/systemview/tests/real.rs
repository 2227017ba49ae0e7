//! Recordings of `FreeRTOS` on two cores, compared with what the tool of ESP-IDF decoded.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests may fail loudly")]

use std::sync::Arc;

use kymo_conformance::shared;
use kymo_core::bytes::Limits;
use kymo_core::model::timeline::{Activity, Content, TrackKind, Window};
use kymo_core::{Context, Format, Source};
use kymo_systemview::{Packet, Reader, SystemView};
use serde_json::Value;

const FOLDER: &str = "traces/systemview";

fn expected(name: &str) -> Option<Vec<Value>> {
    let text = std::fs::read_to_string(shared::file(&format!("{FOLDER}/{name}"))?).unwrap();
    let mut json: Value = serde_json::from_str(&text).unwrap();
    let Value::Array(events) = json["events"].take() else { return None };
    // Zeros that a stream begins with are no events to us.
    Some(events.into_iter().filter(|event| event["id"] != 0).collect())
}

fn source(name: &str) -> Option<Source> {
    let path = shared::file(&format!("{FOLDER}/{name}"))?;
    Some(Source::open(&path, &Limits::default()).unwrap())
}

fn time_ns(event: &Value) -> i64 {
    #[allow(clippy::cast_possible_truncation, reason = "it is a third of a second")]
    let ns = (event["ts"].as_f64().unwrap() * 1e9).round() as i64;
    ns
}

/// Compares every event of a core: what it is, and when.
fn compare(reader: &Reader, core: u32, expected_core: u64, expected: &[Value]) {
    let of_core = |packet: &&Packet| packet.core == core;
    let found: Vec<_> = reader.packets().iter().filter(of_core).collect();
    let expected: Vec<_> =
        expected.iter().filter(|event| event["core_id"] == expected_core).collect();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let at = (u64::from(found.id), reader.time_ns(found).unwrap());
        assert_eq!(at, (expected["id"].as_u64().unwrap(), time_ns(expected)));
    }
}

#[test]
fn every_event_is_as_its_own_tool_decodes_it() {
    let Some(events) = expected("expected_output.json") else { return };
    // Messages are in it twice: as events, and as a log.
    let mut seen = Vec::new();
    for event in events {
        if event["id"] != 26 || seen.last() != Some(&event) {
            seen.push(event);
        }
    }
    for core in [0, 1] {
        let source = source(&format!("heap_log{core}.svdat")).unwrap();
        let reader = Reader::open(&source, &Context::default()).unwrap();
        assert_eq!(reader.findings(), []);
        compare(&reader, 0, core, &seen);
    }
}

#[test]
fn two_cores_in_one_file_are_told_apart() {
    let Some(events) = expected("expected_output_mcore.json") else { return };
    let mut seen = Vec::new();
    for event in events {
        if event["id"] != 26 || seen.last() != Some(&event) {
            seen.push(event);
        }
    }
    let reader =
        Reader::open(&source("heap_log_mcore.svdat").unwrap(), &Context::default()).unwrap();
    assert_eq!((reader.cores(), reader.findings()), (2, &[][..]));
    compare(&reader, 0, 0, &seen);
    compare(&reader, 1, 1, &seen);
}

#[test]
fn tasks_run_when_its_own_tool_says_so() {
    let Some(events) = expected("expected_output_mcore.json") else { return };
    let starts = events.iter().filter(|event| event["id"] == 4);
    let expected: Vec<_> = starts
        .map(|event| (time_ns(event), event["ctx_name"].as_str().unwrap().to_owned()))
        .collect();
    let source = source("heap_log_mcore.svdat").unwrap();
    let timeline = SystemView.open(&source, &Context::default()).unwrap().timeline().unwrap();
    let tracks = timeline.tracks();
    let mut events = Arc::clone(&timeline).events(&Window::default()).unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let track = &tracks[event.track.0];
        if let Content::Activity(Activity::Begin { .. }) = event.content
            && track.kind == TrackKind::Task
            && !track.is_idle()
        {
            found.push((event.time.unwrap().0, track.name.clone()));
        }
    }
    // A task that goes on after an interrupt is told again; it did not stop.
    assert!(!found.is_empty() && found.iter().all(|begin| expected.contains(begin)));
}
