//! Recordings of `FreeRTOS` on two cores, compared with what the tool of ESP-IDF decoded.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests may fail loudly")]

use std::collections::HashMap;
use std::sync::Arc;

use kymo_conformance::shared;
use kymo_core::bytes::Limits;
use kymo_core::model::timeline::{Activity, Content, Window};
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

/// Moments of tasks, by their numbers.
type Moments = Vec<(i64, u64)>;

/// What its own tool says of tasks, in the order of times: a task begins where another one ran on
/// its core, and is released once, though each core tells it.
fn expected_of_tasks(events: &[Value]) -> (Moments, Moments) {
    let mut events: Vec<_> = events.iter().collect();
    events.sort_by_key(|event| time_ns(event));
    let (mut begins, mut releases) = (Vec::new(), Vec::new());
    let mut running = HashMap::new();
    for event in events {
        let (core, tid) = (event["core_id"].as_u64(), event["params"]["tid"].as_u64());
        match event["id"].as_u64().unwrap() {
            4 if running.insert(core, tid) != Some(tid) => {
                begins.push((time_ns(event), tid.unwrap()));
            }
            17 => drop(running.insert(core, None)),
            6 => releases.push((time_ns(event), tid.unwrap())),
            _ => {}
        }
    }
    releases.sort_unstable();
    releases.dedup();
    begins.sort_unstable();
    (begins, releases)
}

#[test]
fn tasks_run_and_are_released_when_its_own_tool_says_so() {
    let Some(events) = expected("expected_output_mcore.json") else { return };
    let (begins, releases) = expected_of_tasks(&events);
    assert!(releases.len() > 10 && begins.len() > 10);
    let source = source("heap_log_mcore.svdat").unwrap();
    let timeline = SystemView.open(&source, &Context::default()).unwrap().timeline().unwrap();
    let tracks = timeline.tracks();
    let mut events = Arc::clone(&timeline).events(&Window::default()).unwrap();
    let (mut begun, mut ready) = (Vec::new(), Vec::new());
    while let Some(event) = events.next().unwrap() {
        let track = &tracks[event.track.0];
        let at = |tid: i64| (event.time.unwrap().0, u64::try_from(tid).unwrap());
        match (&event.content, track.task_id()) {
            (Content::Activity(Activity::Begin { .. }), Some(tid)) => begun.push(at(tid)),
            (Content::Activity(Activity::Release { .. }), Some(tid)) => ready.push(at(tid)),
            _ => {}
        }
    }
    begun.sort_unstable();
    ready.sort_unstable();
    assert_eq!(begun, begins);
    assert_eq!(ready, releases);
}

/// The text at the start says that the second core begins beyond the end of the file.
#[test]
fn a_core_that_begins_beyond_the_end_is_not_read_as_another() {
    let Some(source) = source("heap_log_mcore.svdat") else { return };
    let bytes = source.bytes().unwrap();
    let at = bytes.windows(5).position(|at| at == b"Core1").unwrap() + 6;
    let mut changed = bytes.to_vec();
    changed[at..at + 5].copy_from_slice(b"99999");
    let whole = Reader::open(&source, &Context::default()).unwrap();
    let reader = Reader::open(&Source::from_bytes("", changed), &Context::default()).unwrap();
    let of_first = whole.packets().iter().filter(|packet| packet.core == 0).count();
    let rules: Vec<_> = reader.findings().iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["unreadable", "unreadable", "no-frequency"]);
    assert_eq!(reader.packets().len(), of_first);
}
