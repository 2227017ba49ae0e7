//! Names, texts and clocks as tracers of today write them; what is expected is what babeltrace2 2.0 has,
//! or worked out by hand.

use std::fs;
use std::sync::Arc;

use kymo_core::bytes::Limits;
use kymo_core::{Context, Result, Source, Value};
use kymo_ctf::{Ctf, Reader};
use kymo_model::timeline::{ClockId, Content, EventFilter, Events, TimeNs, TrackKind, Window};
use kymo_model::{Dataset, DumpRequest, Field, Flow, Format, Record, RecordSink};

const HEAD: &str = "/* CTF 1.8 */ typealias integer { size = 8; align = 8; } := u8;
    trace { major = 1; minor = 8; byte_order = le; };";

fn trace(metadata: &str, files: &[(&str, &[u8])]) -> (tempfile::TempDir, Source) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("metadata"), metadata).unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    (folder, source)
}

fn open(source: &Source) -> Box<dyn Dataset> {
    Ctf.open(source, &Context::default()).unwrap()
}

/// Events of streams as texts, or their fields.
fn told(mut events: Box<dyn Events>) -> Vec<String> {
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        match &event.content {
            Content::Text(text) => found.push(text.to_string()),
            Content::Fields(fields) => found.push(fields.to_string()),
            _ => {}
        }
    }
    found
}

fn texts(source: &Source) -> Vec<String> {
    told(open(source).timeline().unwrap().events(&Window::default()).unwrap())
}

/// The fields of events as JSON.
#[derive(Default)]
struct Fields(Vec<String>);

impl RecordSink for Fields {
    fn record(&mut self, record: &Record<'_>) -> Result<Flow> {
        let fields = record.fields.iter().filter(|(name, _)| *name == "fields");
        self.0.extend(fields.map(|(_, field)| match field {
            Field::Value(Value::Text(text)) => text.clone(),
            other => panic!("{other:?}"),
        }));
        Ok(Flow::More)
    }

    fn text(&mut self, _text: &[u8]) -> Result<Flow> {
        Ok(Flow::More)
    }
}

fn json(source: &Source) -> Vec<String> {
    let mut fields = Fields::default();
    open(source).dump(&DumpRequest::default(), &mut fields).unwrap();
    fields.0
}

/// babeltrace2 writes such names: a line before a name may be left out.
#[test]
fn packets_and_headers_are_understood_by_names_with_a_line_before_them() {
    let metadata = HEAD.replace("le;", "le; packet.header := struct { u8 _stream_id; };")
        + "stream { id = 7;
            packet.context := struct { u8 _packet_size; u8 _content_size; u8 _cpu_id; };
            event.header := struct { u8 _id; }; };
        event { name = a; id = 0; stream_id = 7; };
        event { name = b; id = 1; stream_id = 7; fields := struct { u8 _x; }; };";
    // On processor 2: b with 9, and a. On processor 3: a, and a byte that is no content.
    let bytes = [7, 56, 56, 2, 1, 9, 0, 7, 48, 40, 3, 0, 0xAA];
    let (_folder, source) = trace(&metadata, &[("stream", &bytes)]);
    assert_eq!(Ctf.check(&source, &Context::default()).unwrap(), []);
    let reader = Reader::open(&source, &Context::default()).unwrap();
    let cpus: Vec<_> = reader.tracks().iter().map(|track| track.cpu).collect();
    assert_eq!(cpus, [Some(2), Some(3)]);
    assert_eq!(texts(&source), ["b: { x = 9 }", "a", "a"]);
    // The name itself counts before one with a line before it.
    let both = metadata.replace("u8 _cpu_id;", "u8 _cpu_id; u8 cpu_id;");
    let (_folder, source) = trace(&both, &[("stream", &[7, 48, 48, 2, 5, 0])]);
    let reader = Reader::open(&source, &Context::default()).unwrap();
    assert_eq!(reader.tracks()[0].cpu, Some(5));
}

/// Metadata of events in one packet, with an id.
fn events(name: &str) -> String {
    format!("{HEAD} stream {{ event.header := struct {{ u8 id; }}; }}; {name}")
}

#[test]
fn fields_of_one_name_are_all_there() {
    let metadata = events(
        "event { name = e; id = 0; context := struct { u8 _vtid; };
            fields := struct { string _procname; u8 x; u8 _x; }; };
        event { name = f; id = 1; fields := struct { u8 y; }; };",
    );
    let metadata = metadata
        .replace("u8 id; };", "u8 id; }; event.context := struct { u8 vtid; string procname; };");
    let bytes = b"\0\x01ab\0\x02c\0\x03\x04\x01\x05d\0\x06";
    let (_folder, source) = trace(&metadata, &[("stream", bytes)]);
    let expected = [
        r#"{"stream.event.context.vtid":1,"stream.event.context.procname":"ab","vtid":2,"procname":"c","x":3,"_x":4}"#,
        r#"{"vtid":5,"procname":"d","y":6}"#,
    ];
    assert_eq!(json(&source), expected);
    let fields = open(&source).timeline().unwrap().events_with_fields(&Window::default()).unwrap();
    let expected = [
        "e: stream.event.context.vtid = 1, stream.event.context.procname = ab, vtid = 2, \
         procname = c, x = 3, _x = 4",
        "f: vtid = 5, procname = d, y = 6",
    ];
    assert_eq!(told(fields), expected);
    let expected = [
        r#"e: { vtid = 1, procname = "ab" }, { vtid = 2 }, { procname = "c", x = 3, x = 4 }"#,
        r#"f: { vtid = 5, procname = "d" }, { y = 6 }"#,
    ];
    assert_eq!(texts(&source), expected);
}

#[test]
fn structures_of_nothing_may_be_several() {
    let metadata = events(
        "event { name = a; id = 0;
            fields := struct { u8 n; struct { } q[n]; struct { } w[2]; u8 z; }; };",
    );
    let (_folder, source) = trace(&metadata, &[("stream", &[0, 2, 7, 0, 0, 8])]);
    let expected = [
        "a: { n = 2, q = [ [0] = { }, [1] = { } ], w = [ [0] = { }, [1] = { } ], z = 7 }",
        "a: { n = 0, q = [ ], w = [ [0] = { }, [1] = { } ], z = 8 }",
    ];
    assert_eq!(texts(&source), expected);
    assert_eq!(json(&source)[0], r#"{"n":2,"q":[{},{}],"w":[{},{}],"z":7}"#);
    assert_eq!(Ctf.check(&source, &Context::default()).unwrap(), []);
}

/// Nested, a few of them are more than a computer can count.
#[test]
fn structures_of_nothing_are_not_counted_for_ever() {
    let metadata = events(
        "event { name = a; id = 0; fields := struct { struct { } q[200][200][200][200]; }; };",
    );
    let (_folder, source) = trace(&metadata, &[("stream", &[0; 64])]);
    let found = Ctf.check(&source, &Context::default()).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(json(&source).is_empty());
}

/// A counter of 5 bits: 25, then 20, 22, 21 and 22 more at least.
#[test]
fn a_counter_of_lost_events_begins_again_at_its_width() {
    let metadata = format!(
        "{HEAD} stream {{ packet.context := struct {{ u8 packet_size; u8 content_size;
            integer {{ size = 5; align = 8; }} events_discarded; }};
            event.header := struct {{ u8 id; }}; }}; event {{ name = e; id = 0; }};"
    );
    let bytes: Vec<_> = [25, 13, 3, 24, 14].iter().flat_map(|lost| [32, 32, *lost, 0]).collect();
    let (_folder, source) = trace(&metadata, &[("stream", &bytes)]);
    let found = Ctf.check(&source, &Context::default()).unwrap();
    assert_eq!((found.len(), found[0].rule), (1, "discarded"));
    assert!(found[0].message.contains("no room for 110 events"), "{found:?}");
}

/// `0xE9` alone is é in Latin-1, and nothing in UTF-8.
#[test]
fn bytes_that_are_no_utf_8_are_said() {
    let metadata = events("event { name = e; id = 0; fields := struct { string s; }; };");
    let (_folder, source) = trace(&metadata, &[("stream", b"\0ok\0\0caf\xE9\0\0\xE9\0")]);
    let checked = Ctf.check(&source, &Context::default()).unwrap();
    let dataset = open(&source);
    assert_eq!(dataset.findings(), []);
    let events = dataset.timeline().unwrap().events(&Window::default()).unwrap();
    assert_eq!(told(events)[1], "e: { s = \"caf\u{FFFD}\" }");
    for found in [checked, dataset.findings()] {
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].rule, found[0].offset), ("utf-8", Some(4)));
        assert!(found[0].message.ends_with("(2 times)"), "{found:?}");
    }
}

#[test]
fn a_value_has_all_its_names_and_numbers_are_as_babeltrace_has_them() {
    let metadata = events(
        "event { name = e; id = 0; fields := struct {
            enum : u8 { A = 1, \"B b\" = 0 ... 2, C = 3 } one; enum : u8 { A = 1 } none;
            floating_point { exp_dig = 8; mant_dig = 24; align = 8; } f;
            floating_point { exp_dig = 11; mant_dig = 53; align = 8; } d; string s; }; };",
    );
    let mut bytes = vec![0, 1, 9];
    bytes.extend(f32::NEG_INFINITY.to_le_bytes());
    bytes.extend(1e300_f64.to_le_bytes());
    bytes.extend(b"a\x01\0");
    let (_folder, source) = trace(&metadata, &[("stream", &bytes)]);
    let expected = "e: { one = ( \"A\", \"B b\" : container = 1 ), \
                    none = ( <unknown> : container = 9 ), f = -inf, d = 1e300, s = \"a\\x01\" }";
    assert_eq!(texts(&source), [expected]);
    let expected = r#"{"one":"A, B b","none":9,"f":"-Infinity","d":1e300,"s":"a\u0001"}"#;
    assert_eq!(json(&source), [expected]);
}

/// One clock counts from the Epoch, the other has a zero of its own.
#[test]
fn times_of_clocks_that_have_zeros_of_their_own_are_not_mixed() {
    let metadata = HEAD.replace("le;", "le; packet.header := struct { u8 stream_id; };")
        + "clock { name = wall; freq = 1000; offset_s = 1700000000; };
        clock { name = own; freq = 1000; };
        stream { id = 0; event.header := struct {
            u8 id; integer { size = 8; map = clock.wall.value; } timestamp; }; };
        stream { id = 1; event.header := struct {
            u8 id; integer { size = 8; map = clock.own.value; } timestamp; }; };
        event { name = a; id = 0; stream_id = 0; };
        event { name = b; id = 0; stream_id = 1; };";
    let files: [(&str, &[u8]); 2] = [("one", &[0, 0, 5, 0, 7]), ("two", &[1, 0, 2, 0, 3])];
    let (_folder, source) = trace(&metadata, &files);
    let dataset = open(&source);
    let timeline = dataset.timeline().unwrap();
    let clocks: Vec<_> =
        timeline.clocks().into_iter().map(|this_clock| this_clock.since_epoch).collect();
    assert_eq!(clocks, [true, false]);
    let tracks: Vec<_> = timeline.tracks().into_iter().map(|track| track.clock).collect();
    assert_eq!(tracks, [Some(ClockId(0)), Some(ClockId(1))]);
    let ms = |ms: i64| TimeNs(ms * 1_000_000);
    let range = |clock| Arc::clone(&timeline).range(ClockId(clock)).unwrap();
    assert_eq!(range(0), Some(ms(1_700_000_000_005)..=ms(1_700_000_000_007)));
    assert_eq!(range(1), Some(ms(2)..=ms(3)));
    let facts = dataset.summary().facts;
    assert!(facts.iter().all(|fact| fact.name != "duration"), "{facts:?}");
    let details: Vec<_> = facts.iter().filter(|fact| fact.name == "clock").collect();
    assert!(details[1].detail.ends_with("from 0.002000000 to 0.003000000"), "{details:?}");
}

/// As `perf data convert --to-ctf` writes it.
#[test]
fn events_of_perf_tell_of_tasks() {
    let metadata = format!(
        "{HEAD} clock {{ name = perf_clock; }};
        stream {{ packet.context := struct {{ u8 cpu_id; }}; event.header := struct {{
            u8 id; integer {{ size = 8; map = clock.perf_clock.value; }} timestamp; }}; }};
        event {{ name = \"sched:sched_waking\"; id = 0; fields := struct {{
            u8 perf_pid; u8 common_pid; string comm; u8 pid; u8 target_cpu; }}; }};
        event {{ name = \"sched:sched_switch\"; id = 1; fields := struct {{
            u8 perf_pid; u8 common_pid; string prev_comm; u8 prev_pid; u8 prev_state;
            string next_comm; u8 next_pid; u8 next_prio; }}; }};
        event {{ name = \"irq:softirq_entry\"; id = 2; fields := struct {{ u8 vec; }}; }};"
    );
    let bytes = b"\0\0\x05\x07\x07b\0\x08\0\x01\x06\x07\x07a\0\x07\x01b\0\x08\x78\x02\x09\x01";
    let (_folder, source) = trace(&metadata, &[("stream", bytes)]);
    let timeline = open(&source).timeline().unwrap();
    let tracks = timeline.tracks();
    let names: Vec<_> = tracks.iter().map(|track| track.name.as_str()).collect();
    assert_eq!(names, ["stream", "cpu 0", "a-7", "b-8"]);
    let mut events = timeline.events(&Window::default()).unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        if let (Content::Activity(activity), track) = (&event.content, event.track.0) {
            assert_ne!(tracks[track].kind, TrackKind::Messages);
            found.push((event.time.unwrap().0, names[track], activity.to_string()));
        }
    }
    let found: Vec<_> =
        found.iter().map(|(time, on, what)| format!("{time} {on} {what}")).collect();
    assert_eq!(found.len(), 5, "{found:?}");
    assert!(found[0].starts_with("5 b-8 release"), "{found:?}");
    assert!(found[1].starts_with("6 a-7 complete") && found[2].starts_with("6 a-7 end"));
    assert!(found[3].starts_with("6 b-8 begin"), "{found:?}");
    assert!(found[4].contains("cpu 0") && found[4].contains("softirq 1 TIMER"), "{found:?}");
}

#[test]
fn events_are_left_out_by_name_before_they_are_read() {
    let metadata = events("event { name = \"p:a\"; id = 0; }; event { name = \"p:b\"; id = 1; };");
    let (_folder, source) = trace(&metadata, &[("stream", &[0, 1, 1, 0])]);
    let timeline = open(&source).timeline().unwrap();
    let called = |window: Window| {
        let asked = EventFilter { is_called: &|name| name == "p:b", is_field: &[] };
        told(Arc::clone(&timeline).filtered_events(&window, asked).unwrap())
    };
    assert_eq!(called(Window::default()), ["p:b", "p:b"]);
    assert_eq!(called(Window { last: Some(1), ..Window::default() }), ["p:b"]);
}

#[test]
fn events_are_left_out_by_their_fields_and_others_have_them_beside_their_texts() {
    let metadata = events(
        "event { name = a; id = 0; fields := struct { u8 other; }; };
        event { name = b; id = 1; fields := struct { struct { u8 _list[2]; } s; }; };",
    );
    let (_folder, source) = trace(&metadata, &[("stream", &[0, 9, 1, 7, 8])]);
    let timeline = open(&source).timeline().unwrap();
    assert_eq!(timeline.declared().unwrap(), ["a", "b"]);
    let fielded = |window: Window, is_field: &[&dyn Fn(&str) -> bool]| {
        let mut found = Vec::new();
        let asked = EventFilter { is_called: &|_| true, is_field };
        let events = Arc::clone(&timeline).events_and_fields(&window, asked);
        let mut events = events.unwrap();
        while let Some((event, fields)) = events.next_event().unwrap() {
            if let (Content::Text(text), Some(fields)) = (&event.content, fields) {
                found.push(format!("{text} | {fields}"));
            }
        }
        found
    };
    let a = "a: { other = 9 } | a: other = 9";
    let b = "b: { s = { list = [ [0] = 7, [1] = 8 ] } } | b: s.list = [7, 8]";
    assert_eq!(fielded(Window::default(), &[]), [a, b]);
    let last = Window { last: Some(2), ..Window::default() };
    for window in [Window::default(), last] {
        assert_eq!(fielded(window.clone(), &[&|name| name == "list"]), [b]);
        assert_eq!(fielded(window.clone(), &[&|name| name == "other"]), [a]);
        assert!(fielded(window, &[&|name| name == "s", &|name| name == "other"]).is_empty());
    }
}
