//! Traces that are cut, damaged or made to be hard.

use std::fmt::Write;
use std::fs;
use std::sync::Arc;

use kymo_core::bytes::Limits;
use kymo_core::{Context, Result, Source};
use kymo_ctf::Ctf;
use kymo_model::timeline::{ClockId, Content, TimeNs, Window};
use kymo_model::{DumpRequest, Flow, Format, Record, RecordSink};

/// A clock, packets with sizes and times, and events of every type of field.
const METADATA: &str = include_str!("../../../../testdata/ctf/kinds.tsdl");

/// A packet of one event, put together by hand.
fn stream() -> Vec<u8> {
    let mut bytes = vec![0xC1, 0x1F, 0xFC, 0xC1, 7];
    // Sizes in bits are filled in at the end; 10 to 500 ticks, processor 2.
    bytes.extend([0, 0, 10, 0, 0, 0, 244, 1, 0, 0, 2]);
    // plain at 20 ticks: level -2, text "ab".
    bytes.extend([1, 20, 0, 0, 0, 0xFF, 0xFE, b'a', b'b', 0]);
    bytes
}

fn trace(metadata: &[u8], stream: &[u8]) -> (tempfile::TempDir, Source) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("metadata"), metadata).unwrap();
    fs::write(folder.path().join("stream"), stream).unwrap();
    let source = Source::open(folder.path(), &Limits::tight()).unwrap();
    (folder, source)
}

fn texts(source: &Source) -> Result<Vec<(i64, String)>> {
    let context = Context { limits: Limits::tight(), ..Context::default() };
    let dataset = Ctf.open(source, &context)?;
    let mut events = dataset.timeline().unwrap().events(&Window::default())?;
    let mut found = Vec::new();
    while let Some(event) = events.next()? {
        let Content::Text(text) = &event.content else { panic!("{event:?}") };
        found.push((event.time.map_or(0, |time| time.0), text.to_string()));
    }
    Ok(found)
}

/// The events of [`stream`], and of its sizes as they are to be.
fn sized(mut bytes: Vec<u8>) -> Vec<u8> {
    // Sizes are of one byte here, so that all of a packet has 31 bytes at most.
    let bits = u8::try_from(bytes.len() * 8).unwrap();
    bytes[5] = bits;
    bytes[6] = bits;
    bytes
}

fn first() -> Vec<u8> {
    sized(stream())
}

#[test]
fn fields_are_as_worked_out_by_hand() {
    let (_folder, source) = trace(METADATA.as_bytes(), &first());
    // 20 ticks of a millisecond after the fifth second of the Epoch.
    let plain = (5_020_000_000, r#"plain: { level = -2, text = "ab" }"#.to_owned());
    assert_eq!(texts(&source).unwrap(), [plain]);
    assert_eq!(Ctf.check(&source, &Context::default()).unwrap(), []);
}

#[test]
fn bits_floats_enumerations_and_variants_are_as_worked_out_by_hand() {
    // The header and the context of the packet, then an event.
    let head = stream()[..16].to_vec();
    let many = [2, 30, 0, 0, 0, 3, 0b1101_0101, 0b0011_1011, 0, 0, 0xC0, 0x3F];
    let (_folder, source) =
        trace(METADATA.as_bytes(), &sized([head.clone(), many.to_vec()].concat()));
    // Three numbers of three bits each from the lowest bit on, 5, 2 and 7; then -3, which is
    // 0b11101 in five bits; 1.5 begins at the next byte.
    let text = "many: { n = 3, bits = [ [0] = 5, [1] = 2, [2] = 7 ], rest = -3, f = 1.5 }";
    assert_eq!(texts(&source).unwrap(), [(5_030_000_000, text.to_owned())]);

    let either = [3, 40, 0, 0, 0, 0, 9, 3, 41, 0, 0, 0, 5, b'x', 0];
    let (_folder, source) = trace(METADATA.as_bytes(), &sized([head, either.to_vec()].concat()));
    let number = r#"either: { kind = ( "number" : container = 0 ), value = { number = 9 } }"#;
    let word = r#"either: { kind = ( "word" : container = 5 ), value = { word = "x" } }"#;
    let expected = [(5_040_000_000, number.to_owned()), (5_041_000_000, word.to_owned())];
    assert_eq!(texts(&source).unwrap(), expected);
}

/// Takes everything and keeps nothing.
struct Nowhere;

impl RecordSink for Nowhere {
    fn record(&mut self, _record: &Record<'_>) -> Result<Flow> {
        Ok(Flow::More)
    }

    fn text(&mut self, _text: &[u8]) -> Result<Flow> {
        Ok(Flow::More)
    }
}

/// Everything that a format does, to be survived.
fn exercise(source: &Source) {
    let context = Context { limits: Limits::tight(), ..Context::default() };
    let _ = Ctf.check(source, &context);
    if let Ok(dataset) = Ctf.open(source, &context) {
        dataset.summary();
        let _ = dataset.dump(&DumpRequest::default(), &mut Nowhere);
        let _ = texts(source);
    }
}

#[test]
fn every_prefix_and_flipped_byte_of_a_stream_is_survived_and_prefixes_are_noticed() {
    let bytes = first();
    for end in 0..bytes.len() {
        let (_folder, source) = trace(METADATA.as_bytes(), &bytes[..end]);
        exercise(&source);
        let found = Ctf.check(&source, &Context::default()).unwrap();
        assert!(end == 0 || !found.is_empty(), "cut at {end}");
        assert!(found.iter().all(|finding| finding.offset <= Some(end as u64)), "{found:?}");
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            exercise(&trace(METADATA.as_bytes(), &damaged).1);
        }
    }
}

#[test]
fn every_prefix_and_many_flipped_bytes_of_the_metadata_are_survived() {
    let bytes = first();
    for end in 0..METADATA.len() {
        exercise(&trace(&METADATA.as_bytes()[..end], &bytes).1);
    }
    for at in (0..METADATA.len()).step_by(3) {
        let mut damaged = METADATA.as_bytes().to_vec();
        damaged[at] ^= 1 << (at % 8);
        exercise(&trace(&damaged, &bytes).1);
    }
}

fn refused(metadata: &str) -> String {
    let (_folder, source) = trace(metadata.as_bytes(), &[0; 64]);
    Ctf.open(&source, &Context::default()).err().expect("it is to be refused").to_string()
}

#[test]
fn types_that_double_again_and_again_are_refused() {
    let mut metadata = "/* CTF 1.8 */ struct s0 { integer { size = 8; } x; };".to_owned();
    for level in 1..40 {
        let below = level - 1;
        writeln!(metadata, "struct s{level} {{ struct s{below} a; struct s{below} b; }};").unwrap();
    }
    metadata += "trace { packet.header := struct s39; };";
    assert!(refused(&metadata).contains("over the limit"), "{}", refused(&metadata));
}

#[test]
fn types_within_types_within_types_are_refused() {
    let mut metadata = "/* CTF 1.8 */ struct s0 { integer { size = 8; } x; };".to_owned();
    for level in 1..10_000 {
        writeln!(metadata, "struct s{level} {{ struct s{} a; }};", level - 1).unwrap();
    }
    assert!(refused(&metadata).contains("nested too deeply"));
    let nested = format!("/* CTF 1.8 */ {}", "struct { ".repeat(100_000));
    assert!(refused(&nested).contains("nested too deeply"));
}

#[test]
fn an_array_of_nothing_and_events_of_nothing_end() {
    let head = "/* CTF 1.8 */ typealias integer { size = 8; } := u8; trace { byte_order = le; };";
    let empty = format!(
        "{head} stream {{ event.header := struct {{ u8 id; }}; }}; \
         event {{ name = e; id = 0; fields := struct {{ struct {{ }} a[4000000000]; }}; }};"
    );
    let nothing = format!("{head} event {{ name = e; id = 0; }};");
    for metadata in [empty, nothing] {
        let (_folder, source) = trace(metadata.as_bytes(), &[0; 64]);
        let found = Ctf.check(&source, &Context::default()).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.contains("no room"), "{found:?}");
    }
}

/// Reads metadata that would take minutes or gigabytes if either grew with the square of its size.
fn quickly(metadata: &str) {
    let (_folder, source) = trace(metadata.as_bytes(), &[0; 64]);
    let _ = Ctf.check(&source, &Context::default());
}

const HEAD: &str = "/* CTF 1.8 */ typealias integer { size = 8; align = 8; } := u8;\n";
const TAIL: &str = "trace { byte_order = le; };\n";

/// An event whose fields are as given.
fn event_of(fields: &str) -> String {
    format!("{HEAD}{TAIL}event {{ name = e; id = 0; fields := struct {{ {fields} }}; }};")
}

#[test]
fn names_of_many_words_are_no_longer_than_their_words() {
    let words = "a ".repeat(200_000);
    quickly(&format!("{HEAD}{TAIL}typealias u8 := {words};"));
    quickly(&event_of(&format!("{words} x;")));
}

#[test]
fn a_variant_that_is_used_again_and_again_is_there_once() {
    let options: String = (0..5000).fold(String::new(), |text, n| text + &format!("u8 o{n}; "));
    let uses: String =
        (0..5000).fold(String::new(), |text, n| text + &format!("variant v<t> u{n}; "));
    quickly(&event_of(&format!("variant v {{ {options} }}; enum : u8 {{ a }} t; {uses}")));
}

#[test]
fn labels_and_choices_are_looked_up_by_name() {
    let labels: String = (0..50_000).fold(String::new(), |text, n| text + &format!("l{n}, "));
    let options: String = (0..50_000).fold(String::new(), |text, n| text + &format!("u8 l{n}; "));
    let tag = format!("enum : integer {{ size = 32; }} {{ {labels} }} t; ");
    quickly(&event_of(&format!("{tag} variant <t> {{ {options} }} v;")));
    let uses: String = (0..50_000)
        .fold(String::new(), |text, n| text + &format!("variant <t> {{ u8 l1; }} u{n}; "));
    quickly(&event_of(&format!("{tag} {uses}")));
}

/// All labels have one name, so that each variant would have as many choices as there are labels.
#[test]
fn choices_of_all_variants_together_are_bounded() {
    let labels = "same, ".repeat(5000);
    let uses: String = (0..5000)
        .fold(String::new(), |text, n| text + &format!("variant <t> {{ u8 same; }} u{n}; "));
    let tag = format!("enum : integer {{ size = 32; }} {{ {labels} }} t; ");
    assert!(refused(&event_of(&format!("{tag} {uses}"))).contains("over the limit"));
}

#[test]
fn fields_before_are_looked_up_by_name() {
    let fields: String =
        (0..40_000).fold(String::new(), |text, n| text + &format!("u8 f{n}; u8 g{n}[f0]; "));
    quickly(&event_of(&fields));
    let lengths: String =
        (0..20_000).fold(String::new(), |text, n| text + &format!("u8 f{n}; u8 g{n}[f{n}]; "));
    assert!(refused(&event_of(&lengths)).contains("over the limit"));
}

/// Fields of all events are many, and packets too: what packets keep is only their own.
#[test]
fn many_small_packets_of_a_trace_with_many_fields_are_read() {
    let fields: String =
        (0..10_000).fold(String::new(), |text, n| text + &format!("u8 f{n}; u8 g{n}[f{n}]; "));
    let events: String = (0..20).fold(String::new(), |text, n| {
        text + &format!("event {{ name = e; id = {n}; fields := struct {{ {fields} }}; }};")
    });
    let metadata = format!(
        "{HEAD}{TAIL}stream {{ packet.context := struct {{ u8 packet_size; u8 content_size; }}; \
         event.header := struct {{ u8 id; }}; }}; {events}"
    );
    let (_folder, source) = trace(metadata.as_bytes(), &[24, 16, 0].repeat(20_000));
    assert_eq!(Ctf.check(&source, &Context::default()).unwrap(), []);
}

/// Each packet is a stream of its own, since it names another processor.
#[test]
fn the_ends_of_all_streams_are_read_once_for_all_clocks() {
    let clocks: String =
        (0..20_000).fold(String::new(), |text, n| text + &format!("clock {{ name = c{n}; }};\n"));
    let metadata = format!(
        "{HEAD}{TAIL}{clocks} typealias integer {{ size = 32; align = 8; }} := u32; stream {{ \
         packet.context := struct {{ u8 packet_size; u8 content_size; u32 cpu_id; }}; \
         event.header := struct {{ integer {{ size = 8; map = clock.c0.value; }} time; }}; }}; \
         event {{ name = e; id = 0; }};"
    );
    // A packet of 7 bytes is 56 bits; its event is at 9.
    let packet = |cpu: u32| [&[56, 56][..], &cpu.to_le_bytes(), &[9]].concat();
    let (_folder, source) =
        trace(metadata.as_bytes(), &(0..5_000).flat_map(packet).collect::<Vec<_>>());
    let timeline = Ctf.open(&source, &Context::default()).unwrap().timeline().unwrap();
    assert_eq!(timeline.clocks().len(), 20_000);
    for clock in 0..20_000 {
        let range = Arc::clone(&timeline).range(ClockId(clock)).unwrap();
        // The events of all streams are of the first clock.
        assert_eq!(range, (clock == 0).then_some(TimeNs(9)..=TimeNs(9)));
    }
}

#[test]
fn choices_that_overlap_are_refused() {
    let fields = "enum : u8 { a = 0 ... 5, b = 3 ... 9 } t; variant <t> { u8 a; string b; } v;";
    assert!(refused(&event_of(fields)).contains("overlap"));
}

/// A packet says that it has two events, and the file ends within the second.
#[test]
fn what_is_whole_of_a_packet_that_was_cut_is_kept() {
    let mut bytes = stream();
    bytes.extend([1, 40, 0, 0, 0, 0xFF, 0xFD, b'c', b'd', 0]);
    // 36 bytes are 288 bits, more than a byte holds: 31 bytes will do, and end with the text.
    let bytes = sized(bytes[..31].to_vec());
    let (_folder, source) = trace(METADATA.as_bytes(), &bytes[..29]);
    let found = texts(&source).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    let said = Ctf.check(&source, &Context::default()).unwrap();
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!((said[0].rule, said[0].offset), ("unreadable", Some(0)));
}

/// Rules of what is found, and at which bytes.
type Found = Vec<(&'static str, Option<u64>)>;

/// What is found, and the times of events.
fn timed(metadata: &str, stream: &[u8]) -> (Found, Vec<Option<TimeNs>>) {
    let (_folder, source) = trace(metadata.as_bytes(), stream);
    let found = Ctf.check(&source, &Context::default()).unwrap();
    let found = found.iter().map(|finding| (finding.rule, finding.offset)).collect();
    let dataset = Ctf.open(&source, &Context::default()).unwrap();
    let timeline = dataset.timeline().unwrap();
    assert_eq!(Arc::clone(&timeline).range(ClockId(0)).unwrap(), None);
    let mut events = timeline.events(&Window::default()).unwrap();
    let mut times = Vec::new();
    while let Some(event) = events.next().unwrap() {
        times.push(event.time);
    }
    // Whoever reads is told, too.
    let told: Vec<_> = dataset
        .findings()
        .iter()
        .map(|this_finding| (this_finding.rule, this_finding.offset))
        .collect();
    assert_eq!(told, found);
    (found, times)
}

/// 2⁶³ − 1 ns are 9,223,372,036.854775807 s. A tick is a millisecond, and the event is at byte 16.
#[test]
fn a_time_that_does_not_fit_is_none_and_that_is_said() {
    let late = METADATA.replace("offset_s = 5;", "offset_s = 9223372036;");
    let mut stream = first();
    // The packet ends at 1,000 ticks.
    stream[11..13].copy_from_slice(&1_000_u16.to_le_bytes());
    stream[17..19].copy_from_slice(&900_u16.to_le_bytes());
    assert_eq!(timed(&late, &stream), (vec![("time-range", Some(16))], vec![None]));
    stream[17..19].copy_from_slice(&854_u16.to_le_bytes());
    let (_folder, source) = trace(late.as_bytes(), &stream);
    assert_eq!(texts(&source).unwrap()[0].0, 9_223_372_036_854_000_000);
    let early = METADATA.replace("offset_s = 5;", "offset_s = -9223372037;");
    assert_eq!(timed(&early, &first()), (vec![("time-range", Some(16))], vec![None]));
}

#[test]
fn a_clock_that_does_not_tick_tells_no_times() {
    for none in ["0", "-1", "fast"] {
        let still = METADATA.replace("freq = 1000;", &format!("freq = {none};"));
        assert_eq!(timed(&still, &first()), (vec![("clock", None)], vec![None]), "{none}");
    }
    // Without a word it ticks every nanosecond.
    let (_folder, source) = trace(METADATA.replace("freq = 1000;", "").as_bytes(), &first());
    assert_eq!(texts(&source).unwrap()[0].0, 5_000_000_020);
}

#[test]
fn an_offset_of_a_clock_that_does_not_fit_is_refused() {
    let far = METADATA.replace("offset_s = 5;", "offset_s = 9223372036854775808;");
    let why = refused(&far);
    assert!(why.contains("clock at byte 0x"), "{why}");
    assert!(why.contains("offset_s has more than 64 bits"), "{why}");
}

#[test]
fn an_event_whose_time_is_beyond_its_packet_is_none() {
    // The packet ends at 500 ticks, and its second event is at 601; there is room for a third.
    let late = [1, 0x59, 2, 0, 0];
    let (_folder, source) = trace(METADATA.as_bytes(), &sized([stream(), late.to_vec()].concat()));
    let plain = (5_020_000_000, r#"plain: { level = -2, text = "ab" }"#.to_owned());
    assert_eq!(texts(&source).unwrap(), [plain]);
    let found = Ctf.check(&source, &Context::default()).unwrap();
    assert_eq!((found.len(), found[0].rule, found[0].offset), (1, "unreadable", Some(26)));
    let why = "its time is 101 ticks after the end of its packet";
    assert!(found[0].message.contains(why), "{}", found[0].message);
    // Its last moment is one of it.
    let last = [1, 244, 1, 0, 0];
    let (_folder, source) = trace(METADATA.as_bytes(), &sized([stream(), last.to_vec()].concat()));
    let found = Ctf.check(&source, &Context::default()).unwrap();
    assert!(!found[0].message.contains("ticks"), "{}", found[0].message);
}
