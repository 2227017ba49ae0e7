//! Recordings of `FreeRTOS` on two cores, compared with what the tool of ESP-IDF decoded.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests may fail loudly")]

use std::collections::{HashMap, HashSet};
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
    let Value::Array(mut events) = json["events"].take() else { return None };
    // Zeros that a stream begins with are no events to us. Messages are in it twice: as events,
    // and as a log.
    events.retain(|event| event["id"] != 0);
    events.dedup_by(|event, before| event["id"] == 26 && event == before);
    Some(events)
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
    for core in [0, 1] {
        let source = source(&format!("heap_log{core}.svdat")).unwrap();
        let reader = Reader::open(&source, &Context::default()).unwrap();
        assert_eq!(reader.findings(), []);
        compare(&reader, 0, core, &events);
    }
}

#[test]
fn two_cores_in_one_file_are_told_apart() {
    let Some(events) = expected("expected_output_mcore.json") else { return };
    let reader =
        Reader::open(&source("heap_log_mcore.svdat").unwrap(), &Context::default()).unwrap();
    assert_eq!((reader.cores(), reader.findings()), (2, &[][..]));
    compare(&reader, 0, 0, &events);
    compare(&reader, 1, 1, &events);
}

/// The texts of a core's events.
fn texts(name: &str, core: u32) -> Vec<String> {
    let timeline = SystemView.open(&source(name).unwrap(), &Context::default()).unwrap();
    let timeline = timeline.timeline().unwrap();
    let tracks = timeline.tracks();
    let mut events = Arc::clone(&timeline).events(&Window::default()).unwrap();
    let mut texts = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let is_of_core = tracks[event.track.0].name == format!("core {core}");
        if let (Content::Text(text), true) = (&event.content, is_of_core) {
            texts.push(text.to_string());
        }
    }
    texts
}

/// Parameters as its own tool has them: numbers of modules by value, and others by name.
fn compare_parameters(text: &str, event: &Value) {
    let found = text.split_once(": ").map_or("", |(_, parameters)| parameters);
    let number = |value: &Value| match value.as_str().and_then(|text| text.strip_prefix("0x")) {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
        None => value.as_u64().unwrap(),
    };
    let mut expected: Vec<u64> = match event["id"].as_u64().unwrap() {
        26 => {
            let (msg, lvl) = (event["msg"].as_str().unwrap(), &event["lvl"]);
            assert_eq!(found, format!("msg = {msg:?}, lvl = {lvl}, unused = 0"));
            return;
        }
        // Memory that is given back has no size, and the tool says 0.
        id @ (512 | 513) => {
            let size = Some(&event["size"]).filter(|_| id == 512);
            let callers = event["callers"].as_array().unwrap();
            [&event["addr"]].into_iter().chain(size).chain(callers).map(number).collect()
        }
        32.. => event["params"].as_object().unwrap().values().map(number).collect(),
        _ => {
            let parameters = event["params"].as_object().unwrap();
            for (name, value) in parameters {
                let value = value.as_str().map_or(value.to_string(), |text| format!("{text:?}"));
                assert!(found.contains(&format!("{name} = {value}")), "{text}: {name} = {value}");
            }
            assert_eq!(found.matches(" = ").count(), parameters.len(), "{text}");
            return;
        }
    };
    let mut found: Vec<u64> = found.split(", ").map(|word| word.parse().unwrap()).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn every_parameter_is_as_its_own_tool_decodes_it() {
    let files = [
        ("heap_log0.svdat", 0, "expected_output.json", 0),
        ("heap_log1.svdat", 0, "expected_output.json", 1),
        ("heap_log_mcore.svdat", 0, "expected_output_mcore.json", 0),
        ("heap_log_mcore.svdat", 1, "expected_output_mcore.json", 1),
    ];
    for (file, core, json, expected_core) in files {
        let Some(events) = expected(json) else { return };
        let of_core: Vec<_> = events.iter().filter(|of| of["core_id"] == expected_core).collect();
        let texts = texts(file, core);
        assert_eq!(texts.len(), of_core.len());
        for (text, event) in texts.iter().zip(of_core) {
            compare_parameters(text, event);
        }
    }
}

/// Moments of tasks, by their numbers.
type Moments = Vec<(i64, u64)>;

/// What its own tool says of tasks, in the order of times: a task begins where another one ran on
/// its core, or where it was made ready since, and is released once, though each core tells it.
fn expected_of_tasks(events: &[Value]) -> (Moments, Moments) {
    let mut events: Vec<_> = events.iter().collect();
    events.sort_by_key(|event| time_ns(event));
    let (mut begins, mut releases) = (Vec::new(), Vec::new());
    let (mut running, mut woken) = (HashMap::new(), HashSet::new());
    for event in events {
        let (core, tid) = (event["core_id"].as_u64(), event["params"]["tid"].as_u64());
        match event["id"].as_u64().unwrap() {
            4 => {
                let is_woken = woken.remove(&core);
                if running.insert(core, tid) != Some(tid) || is_woken {
                    begins.push((time_ns(event), tid.unwrap()));
                }
            }
            17 => drop((running.insert(core, None), woken.remove(&core))),
            6 => {
                releases.push((time_ns(event), tid.unwrap()));
                woken.extend(running.iter().filter(|of| *of.1 == tid).map(|of| *of.0));
            }
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
