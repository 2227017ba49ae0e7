//! Recordings of `FreeRTOS` on two cores, compared with what the tool of ESP-IDF decoded.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kymo_conformance::shared;
use kymo_core::bytes::Limits;
use kymo_core::{Context, Source};
use kymo_model::Format;
use kymo_model::timeline::{Activity, Content, Window};
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
    let of_core = |packet: &Packet| packet.core == core;
    let found: Vec<_> = reader.packets().filter(of_core).collect();
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

/// The name of each kind of event of the operating system and of modules, by its number, as its own
/// tool prints them: `core[0].vTaskDelay(34), plen 1`.
fn expected_names() -> HashMap<u64, String> {
    let path = shared::file(&format!("{FOLDER}/expected_output")).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let named = text.lines().filter_map(|line| {
        let (_, rest) = line.split_once("core[")?.1.split_once("].")?;
        let (name, rest) = rest.split_once('(')?;
        Some((rest.split_once(')')?.0.parse().ok()?, name.to_owned()))
    });
    named.filter(|(id, _)| *id >= 32).collect()
}

/// A number, which may be a text in hexadecimal.
fn number(value: &Value) -> u64 {
    match value.as_str().and_then(|text| text.strip_prefix("0x")) {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
        None => value.as_u64().unwrap(),
    }
}

/// The parameters that its own tool has of an event, each as a text.
fn expected_parameters(event: &Value) -> Vec<String> {
    let numbers =
        |values: &Value| -> Vec<u64> { values.as_array().unwrap().iter().map(number).collect() };
    match event["id"].as_u64().unwrap() {
        26 => {
            let (msg, lvl) = (event["msg"].as_str().unwrap(), &event["lvl"]);
            vec![format!("msg = {msg:?}"), format!("lvl = {lvl}"), "unused = 0".to_owned()]
        }
        // Memory that is given back has no size, and the tool says 0.
        id @ (512 | 513) => {
            let size = (id == 512).then(|| format!("size = {}", number(&event["size"])));
            let callers = format!("callers = {:?}", numbers(&event["callers"]));
            let addr = format!("addr = {}", number(&event["addr"]));
            [Some(addr), size, Some(callers)].into_iter().flatten().collect()
        }
        id => {
            let parameters = event["params"].as_object().unwrap().iter();
            let shown = parameters.map(|(name, value)| match value.as_str() {
                Some(text) if id < 32 => format!("{name} = {text:?}"),
                _ => format!("{name} = {}", number(value)),
            });
            shown.collect()
        }
    }
}

/// Compares the name and the parameters of an event, whatever their order.
fn compare_text(text: &str, event: &Value, names: &HashMap<u64, String>) {
    let (name, found) = text.split_once(": ").unwrap_or((text, ""));
    if let Some(expected) = names.get(&event["id"].as_u64().unwrap()) {
        assert_eq!(name, expected);
    }
    let expected = expected_parameters(event);
    for parameter in &expected {
        assert!(found.contains(parameter.as_str()), "{text}: {parameter}");
    }
    let length = expected.iter().map(|parameter| parameter.len() + 2).sum::<usize>();
    assert_eq!(found.len(), length.saturating_sub(2), "{text}");
}

#[test]
fn every_name_and_parameter_is_as_its_own_tool_decodes_it() {
    let files = [
        ("heap_log0.svdat", 0, "expected_output.json", 0),
        ("heap_log1.svdat", 0, "expected_output.json", 1),
        ("heap_log_mcore.svdat", 0, "expected_output_mcore.json", 0),
        ("heap_log_mcore.svdat", 1, "expected_output_mcore.json", 1),
    ];
    for (file, core, json, expected_core) in files {
        let Some(events) = expected(json) else { return };
        let of_core: Vec<_> =
            events.iter().filter(|item| item["core_id"] == expected_core).collect();
        let (texts, names) = (texts(file, core), expected_names());
        assert_eq!((texts.len(), names.len()), (of_core.len(), 10));
        for (text, event) in texts.iter().zip(of_core) {
            compare_text(text, event, &names);
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
                woken.extend(running.iter().filter(|pair| *pair.1 == tid).map(|pair| *pair.0));
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
    let of_first = whole.packets().filter(|packet| packet.core == 0).count();
    let rules: Vec<_> = reader.findings().iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["unreadable", "unreadable", "no-frequency"]);
    assert_eq!(reader.count(), of_first as u64);
}

/// Numbers by a reader of Python that shares nothing with ours. The file ends within an event.
#[test]
fn a_dump_of_memory_has_its_events() {
    let Some(path) = shared::file("traces/trials/001freertos.SVDat") else { return };
    let source = Source::open(&path, &Limits::default()).unwrap();
    let reader = Reader::open(&source, &Context::default()).unwrap();
    let packets: Vec<_> = reader.packets().collect();
    assert_eq!(packets.len(), 1_504);
    assert_eq!(packets.iter().filter(|packet| packet.id == 2).count(), 739);
    let last = packets.last().unwrap();
    assert_eq!((last.ticks, reader.time_ns(last)), (73_921_351, Some(739_213_510)));
    let found: Vec<_> =
        reader.findings().iter().map(|finding| (finding.rule, finding.offset)).collect();
    assert_eq!(found, [("unreadable", Some(6150))]);
}

/// The recording of both cores without its text is two captures, one after the other: the first is
/// read, and the other is said.
#[test]
fn two_captures_without_a_text_are_told_apart() {
    let Some(both) = source("heap_log_mcore.svdat") else { return };
    let bytes = both.bytes().unwrap();
    let text: usize = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .take_while(|line| line.first() == Some(&b';'))
        .map(<[u8]>::len)
        .sum();
    let first = Reader::open(&both, &Context::default()).unwrap();
    let of_first = first.packets().filter(|packet| packet.core == 0).count() as u64;
    let captured = Source::from_bytes("captured.svdat", bytes[text..].to_vec());
    let reader = Reader::open(&captured, &Context::default()).unwrap();
    let rules: Vec<_> = reader.findings().iter().map(|finding| finding.rule).collect();
    assert_eq!((rules, reader.count()), (vec!["another-recording"], of_first));
}

/// The bytes of an interrupt's begin are there twice: `check` says so, as whoever adds up loads.
#[test]
fn an_interrupt_that_begins_twice_is_found() {
    let Some(sound) = source("heap_log0.svdat") else { return };
    let bytes = sound.bytes().unwrap();
    let doubled = [&bytes[..4946], &bytes[4930..]].concat();
    let damaged = Source::from_bytes("doubled.svdat", doubled);
    let found = SystemView.check(&damaged, &Context::default()).unwrap();
    let rules: Vec<_> = found.iter().map(|finding| finding.rule).collect();
    assert!(rules.contains(&"unended-interrupt"), "{found:?}");
}
