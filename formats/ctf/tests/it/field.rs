//! Traces as tracers of the field write them, beside the specification: each as small as shows it, put
//! together by hand, and the recordings that they were seen in.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use kymo_conformance::shared;
use kymo_core::bytes::Limits;
use kymo_core::{Context, Finding, Source};
use kymo_ctf::Ctf;
use kymo_model::timeline::{Activity, Content, TimeNs, Window};
use kymo_model::{Dataset, Format};

fn open(folder: &Path) -> Box<dyn Dataset> {
    let source = Source::open(folder, &Limits::default()).unwrap();
    Ctf.open(&source, &Context::default()).unwrap()
}

fn check(folder: &Path) -> Vec<Finding> {
    Ctf.check(&Source::open(folder, &Limits::default()).unwrap(), &Context::default()).unwrap()
}

/// The rules of what is found, the files and the bytes.
fn rules(found: &[Finding]) -> Vec<(&str, Option<&str>, Option<u64>)> {
    found.iter().map(|finding| (finding.rule, finding.file.as_deref(), finding.offset)).collect()
}

/// A trace of one stream.
fn trace(metadata: &str, stream: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("metadata"), metadata).unwrap();
    fs::write(folder.path().join("stream"), stream).unwrap();
    folder
}

/// The texts of events and their times, within a window.
fn texts_within(dataset: &dyn Dataset, window: &Window) -> Vec<(Option<i64>, String)> {
    let mut events = dataset.timeline().unwrap().events(window).unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        if let Content::Text(text) = &event.content {
            found.push((event.time.map(|time| time.0), text.to_string()));
        }
    }
    found
}

fn texts(folder: &Path) -> Vec<(Option<i64>, String)> {
    texts_within(&*open(folder), &Window::default())
}

/// How long each task ran on each processor, and how often it began to.
fn runs(dataset: &dyn Dataset) -> BTreeMap<(String, String), (i64, u64)> {
    let timeline = dataset.timeline().unwrap();
    let tracks = timeline.tracks();
    let (mut begun, mut runs) = (BTreeMap::new(), BTreeMap::<_, (i64, u64)>::new());
    let mut events = Arc::clone(&timeline).events(&Window::default()).unwrap();
    while let Some(event) = events.next().unwrap() {
        let track = &tracks[event.track.0];
        let Some(cpu) = track.parent else { continue };
        let key = (tracks[cpu.0].name.clone(), track.name.clone());
        let time = event.time.unwrap().0;
        match event.content {
            Content::Activity(Activity::Begin { .. }) => {
                begun.insert(event.track, time);
                runs.entry(key).or_default().1 += 1;
            }
            Content::Activity(Activity::End) => {
                let since = begun.remove(&event.track);
                runs.entry(key).or_default().0 += since.map_or(0, |since| time - since);
            }
            _ => {}
        }
    }
    runs
}

/// Events as `perf data convert --to-ctf` of Linux 4.1 writes them: one stream, whose packets name no
/// processor, and events that do by `NAME`.
fn perf_metadata(name: &str) -> String {
    let number = |name: &str| format!("u32 {name};");
    let fields = [name, "prev_pid", "prev_state", "next_pid"].map(number).join(" ");
    format!(
        "/* CTF 1.8 */ typealias integer {{ size = 32; align = 8; }} := u32; \
         trace {{ major = 1; minor = 8; byte_order = le; }}; clock {{ name = perf_clock; }}; \
         stream {{ event.header := struct {{ u32 id; \
         integer {{ size = 64; align = 8; map = clock.perf_clock.value; }} timestamp; }}; }}; \
         event {{ name = \"sched:sched_switch\"; id = 4; fields := struct {{ {fields} }}; }};"
    )
}

fn switch(time: u64, [cpu, stops, state, runs]: [u32; 4]) -> Vec<u8> {
    let numbers = [cpu, stops, state, runs].map(u32::to_le_bytes).concat();
    [&4_u32.to_le_bytes()[..], &time.to_le_bytes(), &numbers].concat()
}

/// Task 7 runs on processor 0 from 10 to 30, and task 8 on processor 3 from 20 to 60.
fn switches() -> Vec<u8> {
    [
        switch(10, [0, 0, 0, 7]),
        switch(20, [3, 0, 0, 8]),
        switch(30, [0, 7, 1, 0]),
        switch(60, [3, 8, 1, 0]),
    ]
    .concat()
}

#[test]
fn events_tell_their_processor_where_packets_do_not() {
    let folder = trace(&perf_metadata("perf_cpu"), &switches());
    let key = |cpu: &str, task: &str| (cpu.to_owned(), task.to_owned());
    let dataset = open(folder.path());
    let runs = runs(&*dataset);
    assert_eq!(runs[&key("cpu 0", "task-7")], (20, 1));
    assert_eq!(runs[&key("cpu 3", "task-8")], (40, 1));
    assert_eq!((dataset.findings(), check(folder.path())), (vec![], vec![]));
    // Processor 3 goes on with a task that it did not run; what processor 0 did is no matter.
    let odd = [switches(), switch(70, [3, 9, 1, 8])].concat();
    let found = check(trace(&perf_metadata("perf_cpu"), &odd).path());
    assert_eq!(rules(&found), [("unbalanced-switch", Some("stream"), Some(28 * 4))]);
    let why = "on cpu 3, task 9 stops while task 0 runs";
    assert!(found[0].message.contains(why), "{}", found[0].message);
}

#[test]
fn events_of_no_processor_that_is_known_are_said() {
    let folder = trace(&perf_metadata("weather"), &switches());
    let dataset = open(folder.path());
    assert!(runs(&*dataset).is_empty());
    let found = dataset.findings();
    assert_eq!(rules(&found), [("unknown-processor", Some("stream"), Some(0))]);
    assert!(found[0].message.contains("(4 times)"), "{}", found[0].message);
    assert_eq!(check(folder.path()), found);
}

/// Sums by a reader of Python that shares nothing with ours.
#[test]
fn a_recording_of_perf_has_its_switches_on_their_processors() {
    let Some(folder) = shared::file("traces/trials/perf-taskset2") else { return };
    let dataset = open(&folder);
    let runs = runs(&*dataset);
    assert_eq!(runs.values().map(|(_, begun)| begun).sum::<u64>(), 562);
    let item = |cpu: &str, tid: &str| {
        let is_it = |(on, name): &&(String, String)| on == cpu && name.ends_with(tid);
        let key = runs.keys().find(is_it).unwrap();
        runs[key]
    };
    assert_eq!(item("cpu 3", "-28"), (6_654_330, 198));
    assert_eq!(item("cpu 3", "-1834"), (11_569_304, 186));
    assert_eq!(item("cpu 3", "-1812"), (7_748_401, 83));
    assert_eq!(item("cpu 0", "-1834"), (642_068, 5));
    assert_eq!((dataset.findings(), check(&folder)), (vec![], vec![]));
}

/// Packets of 24 bytes of header, and events of 5 bytes: a number and 32 bits of the time.
fn plain_metadata(context: &str, header: &str) -> String {
    format!(
        "/* CTF 1.8 */ typealias integer {{ size = 8; }} := u8; \
         typealias integer {{ size = 32; align = 8; map = clock.c.value; }} := stamp; \
         trace {{ major = 1; minor = 8; byte_order = le; \
         packet.header := struct {{ integer {{ size = 32; }} magic; }}; }}; clock {{ name = c; }}; \
         stream {{ packet.context := struct {{ integer {{ size = 32; }} packet_size; {context} }}; \
         event.header := struct {{ {header} }}; }}; \
         event {{ name = e; id = 1; fields := struct {{ u8 x; }}; }};"
    )
}

fn packet(times: &[u32], events: &[u8]) -> Vec<u8> {
    let times = times.iter().flat_map(|time| time.to_le_bytes());
    let rest: Vec<u8> = times.chain(events.iter().copied()).collect();
    let bits = u32::try_from(8 * (8 + rest.len())).unwrap();
    [&0xC1FC_1FC1_u32.to_le_bytes()[..], &bits.to_le_bytes(), &rest].concat()
}

fn event(time: u32, x: u8) -> Vec<u8> {
    [&[1][..], &time.to_le_bytes(), &[x]].concat()
}

const BOTH: &str = "stamp timestamp_begin; stamp timestamp_end;";

/// `LTTng` took the time of an end before the last event had its own.
#[test]
fn the_last_event_of_a_stream_may_be_after_the_end_of_its_packet_and_that_is_said() {
    let metadata = plain_metadata(BOTH, "u8 id; stamp timestamp;");
    let item = |events: &[Vec<u8>]| packet(&[100, 200], &events.concat());
    let late = trace(&metadata, &item(&[event(150, 1), event(201, 2)]));
    let dataset = open(late.path());
    let both = [(Some(150), "e: { x = 1 }".to_owned()), (Some(201), "e: { x = 2 }".to_owned())];
    assert_eq!(texts_within(&*dataset, &Window::default()), both);
    let found = dataset.findings();
    // After 16 bytes of header, and an event of 6.
    assert_eq!(rules(&found), [("late-event", Some("stream"), Some(22))]);
    assert!(found[0].message.contains("1 tick after the end"), "{}", found[0].message);
    assert_eq!(check(late.path()), found);
    // It is there too for who asks for what is after the end.
    let after = Window { from: Some(TimeNs(201)), ..Window::default() };
    assert_eq!(texts_within(&*open(late.path()), &after), both[1..]);
    // What is followed by more is none, nor what is later by more than the packet lasts.
    for events in [[event(201, 2), event(150, 1)], [event(150, 1), event(301, 2)]] {
        let damaged = trace(&metadata, &item(&events));
        let rules: Vec<_> = check(damaged.path()).iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, ["unreadable"]);
    }
}

#[test]
fn a_recording_of_lttng_has_its_late_event() {
    let Some(folder) = shared::file("traces/trials/lttng-event-after-packet") else { return };
    let found = texts(&folder);
    let times: Vec<_> = found.iter().map(|(time, _)| time.unwrap()).collect();
    // The lowest digits of both, in hexadecimal, as they stand in the file.
    assert_eq!((times.len(), times[1] - times[0]), (2, 0x9381 - 0x9365));
    assert!(found.iter().all(|(_, text)| text.contains("event-after-packet")));
    assert_eq!(rules(&check(&folder)), [("late-event", Some("chan_0"), Some(0x1054))]);
}

/// barectf may leave out the begin of packets. An event without a time has that of the clock before it.
#[test]
fn packets_that_state_only_their_end_do_not_set_the_clock_before_their_events() {
    let end = "stamp timestamp_end;";
    let untimed = plain_metadata(end, "u8 id;");
    let packets = [packet(&[100], &[1, 5, 1, 6]), packet(&[250], &[1, 7])].concat();
    let item = |time, x| (Some(time), format!("e: {{ x = {x} }}"));
    assert_eq!(texts(trace(&untimed, &packets).path()), [item(0, 5), item(0, 6), item(100, 7)]);
    assert_eq!(texts(trace(&untimed, &packet(&[100], &[1, 5])).path()), [item(0, 5)]);
    // Times of 8 bits are less than the end, and go on from the clock before: 250 and then 4 + 256.
    let short = "u8 id; integer { size = 8; map = clock.c.value; } timestamp;";
    let short = plain_metadata(end, short);
    let packets = [packet(&[250], &[1, 30, 5]), packet(&[300], &[1, 4, 6])].concat();
    let folder = trace(&short, &packets);
    assert_eq!(texts(folder.path()), [item(30, 5), item(260, 6)]);
    assert_eq!(check(folder.path()), []);
}

/// A line before a name is an escape of names, and one of several labels may be another with a line.
#[test]
fn choices_that_differ_by_a_line_are_those_of_their_labels() {
    let fields =
        "enum : u8 { foo, _foo, bar } tag; variant <tag> { u8 foo; string _foo; string _bar; } v;";
    let metadata = plain_metadata("", "u8 id;").replace("u8 x;", fields);
    let events = [&[1, 0, 9][..], &[1, 1, b'a', 0], &[1, 2, b'b', 0]].concat();
    let found = texts(trace(&metadata, &packet(&[], &events)).path());
    let found: Vec<_> = found.iter().map(|(_, text)| text.as_str()).collect();
    let item = |label: &str, value: &str, option: &str, chosen: &str| {
        format!(
            "e: {{ tag = ( \"{label}\" : container = {value} ), v = {{ {option} = {chosen} }} }}"
        )
    };
    let expected = [
        item("foo", "0", "foo", "9"),
        item("_foo", "1", "foo", "\"a\""),
        item("bar", "2", "bar", "\"b\""),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_trace_of_babeltrace_with_such_choices_is_read() {
    let name = "traces/trials/meta-variant-same-with-underscore";
    let Some(folder) = shared::file(name) else { return };
    let found = texts(&folder);
    assert_eq!(found.len(), 1, "{found:?}");
    // The tag is 1, and the text of the choice is all of the rest.
    assert!(found[0].1.contains("_PELCHAT\" : container = 1"), "{found:?}");
    assert!(found[0].1.contains("\"Daniel Lavoie\""), "{found:?}");
    assert_eq!(check(&folder), []);
}

/// The index of `LTTng` 2.3: six letters, two versions, and 56 bytes a packet.
#[test]
fn an_index_of_lttng_2_3_is_one() {
    let metadata = plain_metadata(BOTH, "u8 id; stamp timestamp;");
    let folder = trace(&metadata, &packet(&[100, 200], &event(150, 1)));
    let index = folder.path().join("index");
    fs::create_dir(&index).unwrap();
    let begin = [&b"CTFIDX"[..], &1_u32.to_be_bytes(), &0_u32.to_be_bytes()].concat();
    let with = |entries: usize, more: usize| {
        let bytes = [&begin[..], &vec![0; 56 * entries + more]].concat();
        fs::write(index.join("stream.idx"), bytes).unwrap();
        check(folder.path())
    };
    assert_eq!(with(1, 0), []);
    let rules_of =
        |found: Vec<Finding>| found.iter().map(|finding| finding.rule).collect::<Vec<_>>();
    assert_eq!(rules_of(with(2, 0)), ["missing-file"]);
    assert_eq!(rules_of(with(1, 7)), ["index"]);
    fs::write(index.join("stream.idx"), b"CTFIDX").unwrap();
    assert_eq!(rules_of(check(folder.path())), ["index"]);
}

/// A file that somebody put beside the streams is none; a stream whose begin is damaged is one.
#[test]
fn a_foreign_file_beside_streams_is_said_to_be_none() {
    let metadata = plain_metadata(BOTH, "u8 id; stamp timestamp;");
    let mut stream = packet(&[100, 200], &event(150, 1));
    let folder = trace(&metadata, &stream);
    fs::write(folder.path().join("notes.txt"), "taken on the second of May\n").unwrap();
    let found = check(folder.path());
    assert_eq!(rules(&found), [("foreign-file", Some("notes.txt"), None)]);
    assert!(found[0].message.contains("no stream of this trace"), "{}", found[0].message);
    assert_eq!(texts(folder.path()).len(), 1);
    // The second packet is known yet.
    stream.extend(stream.clone());
    stream[0] ^= 0x10;
    fs::write(folder.path().join("notes.txt"), &stream).unwrap();
    assert_eq!(rules(&check(folder.path())), [("unreadable", Some("notes.txt"), Some(0))]);
    fs::write(folder.path().join("notes.txt"), [0; 64]).unwrap();
    assert_eq!(rules(&check(folder.path())), [("unreadable", Some("notes.txt"), Some(0))]);
}

/// An index that cannot be looked at tells nothing of what is missing, which is said.
#[cfg(unix)]
#[test]
fn an_index_that_leads_nowhere_is_said() {
    let metadata = plain_metadata(BOTH, "u8 id; stamp timestamp;");
    let folder = trace(&metadata, &packet(&[100, 200], &event(150, 1)));
    let index = folder.path().join("index");
    fs::create_dir(&index).unwrap();
    std::os::unix::fs::symlink("nowhere", index.join("stream.idx")).unwrap();
    assert_eq!(rules(&check(folder.path())), [("index", Some("index/stream.idx"), None)]);
}
