//! Traces that are cut, damaged or made to be hard.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

use std::fmt::Write;
use std::fs;

use kymo_core::bytes::Limits;
use kymo_core::model::timeline::{Content, Window};
use kymo_core::{Context, DumpRequest, Flow, Format, Record, RecordSink, Result, Source};
use kymo_ctf::Ctf;

/// A clock, packets with sizes and times, and events of every type of field.
const METADATA: &str = include_str!("../../../testdata/ctf/kinds.tsdl");

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
