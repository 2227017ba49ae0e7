//! Metadata of version 2: every field class with bytes and values worked out by hand from
//! CTF2-SPEC-2.0, and what is refused.

use std::fs;

use arrow_array::cast::AsArray;
use kymo_conformance::{capture, golden, testdata};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Error, Result, Source};
use kymo_ctf::Ctf;
use kymo_model::table::Scan;
use kymo_model::timeline::{Content, Window};
use kymo_model::{Dataset, Format};

const PREAMBLE: &str = r#"{ "type": "preamble", "version": 2 }"#;
const STREAM: &str = r#"{ "type": "data-stream-class" }"#;

/// Fragments, each with the mark before it.
fn sequence(fragments: &[&str]) -> String {
    let lines: Vec<_> = fragments.iter().map(|fragment| format!("\u{1e}{fragment}\n")).collect();
    lines.concat()
}

/// Metadata of one kind of event with these members.
fn one_event(members: &str) -> String {
    let event = format!(
        r#"{{ "type": "event-record-class", "name": "e", "payload-field-class":
            {{ "type": "structure", "member-classes": [ {members} ] }} }}"#
    );
    sequence(&[PREAMBLE, STREAM, &event])
}

/// A member whose class is this.
fn member(name: &str, class: &str) -> String {
    format!(r#"{{ "name": "{name}", "field-class": {{ {class} }} }}"#)
}

fn u8_member(name: &str) -> String {
    member(
        name,
        r#""type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "big-endian""#,
    )
}

fn open(metadata: &str, stream: &[u8]) -> Result<(tempfile::TempDir, Box<dyn Dataset>)> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("metadata"), metadata).unwrap();
    fs::write(folder.path().join("stream"), stream).unwrap();
    let source = Source::open(folder.path(), &Limits::tight())?;
    let dataset = Ctf.open(&source, &Context::with_limits(Limits::tight()))?;
    Ok((folder, dataset))
}

/// The events, each as a person reads it.
fn texts(metadata: &str, stream: &[u8]) -> Vec<String> {
    let (_folder, dataset) = open(metadata, stream).unwrap();
    let mut events = dataset.timeline().unwrap().events(&Window::default()).unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let Content::Text(text) = &event.content else { panic!("{event:?}") };
        found.push(text.to_string());
    }
    let wrong: Vec<_> = dataset.findings().into_iter().map(|finding| finding.message).collect();
    [found, wrong].concat()
}

/// The one event of a stream, whose only member is `x`: what is told of it.
fn x(class: &str, stream: &[u8]) -> String {
    let mut found = texts(&one_event(&member("x", class)), stream);
    assert_eq!(found.len(), 1, "{found:?}");
    let text = found.remove(0);
    let value = text.strip_prefix("e: { x = ").and_then(|text| text.strip_suffix(" }"));
    value.unwrap_or_else(|| panic!("{text}")).to_owned()
}

/// The fields of the events as JSON.
fn fields(metadata: &str, stream: &[u8]) -> Vec<String> {
    let (_folder, dataset) = open(metadata, stream).unwrap();
    let events = dataset.tables().into_iter().find(|table| table.name() == "events").unwrap();
    let batch = events.scan(&Scan::default()).unwrap().next().unwrap().unwrap();
    let fields = batch.column_by_name("fields").unwrap().as_string::<i32>();
    fields.iter().map(|fields| fields.unwrap().to_owned()).collect()
}

fn refused(metadata: &str) -> (u64, String) {
    match open(metadata, &[0]).map(drop).unwrap_err() {
        Error::ReadIn { error, .. } => (error.offset, error.to_string()),
        other => panic!("{other}"),
    }
}

#[test]
fn integers_have_their_bits_from_the_end_that_their_byte_order_says() {
    let class = |kind: &str, bits: u32, order: &str| {
        format!(
            r#""type": "fixed-length-{kind}-integer", "length": {bits}, "byte-order": "{order}""#
        )
    };
    assert_eq!(x(&class("unsigned", 16, "little-endian"), &[0x34, 0x12]), "4660");
    assert_eq!(x(&class("unsigned", 16, "big-endian"), &[0x12, 0x34]), "4660");
    assert_eq!(x(&class("signed", 16, "big-endian"), &[0xFF, 0xFE]), "-2");
    assert_eq!(x(&class("unsigned", 64, "little-endian"), &[0xFF; 8]), u64::MAX.to_string());
    let hexadecimal = class("unsigned", 16, "big-endian") + r#", "preferred-display-base": 16"#;
    assert_eq!(x(&hexadecimal, &[0xBE, 0xEF]), "0xBEEF");
}

/// Three bits and then five of one byte: the lowest first, and the highest first.
#[test]
fn bits_of_one_byte_belong_to_several_fields() {
    let both = |order: &str| {
        let class = |bits| {
            let kind = "fixed-length-unsigned-integer";
            format!(r#""type": "{kind}", "length": {bits}, "byte-order": "{order}""#)
        };
        one_event(&[member("a", &class(3)), member("b", &class(5))].join(","))
    };
    assert_eq!(texts(&both("little-endian"), &[0b1011_0011]), ["e: { a = 3, b = 22 }"]);
    assert_eq!(texts(&both("big-endian"), &[0b1011_0011]), ["e: { a = 5, b = 19 }"]);
}

/// The first bit that is read is the last of the value, or the other way round: 0b1101 is then 0b1011.
#[test]
fn bits_are_in_the_other_order_where_it_is_said() {
    let class = |order: &str, bits: &str| {
        format!(
            r#""type": "fixed-length-unsigned-integer", "length": 16, "byte-order": "{order}",
                "bit-order": "{bits}""#
        )
    };
    // 0xD597 = 0b1101_0101_1001_0111, and backwards 0b1110_1001_1010_1011 = 0xE9AB.
    assert_eq!(x(&class("big-endian", "last-to-first"), &[0xD5, 0x97]), "54679");
    assert_eq!(x(&class("big-endian", "first-to-last"), &[0xD5, 0x97]), "59819");
    assert_eq!(x(&class("little-endian", "first-to-last"), &[0x97, 0xD5]), "54679");
    assert_eq!(x(&class("little-endian", "last-to-first"), &[0x97, 0xD5]), "59819");
    let signed = r#""type": "fixed-length-signed-integer", "length": 8,
        "byte-order": "little-endian", "bit-order": "last-to-first""#;
    // 0b0000_0011 backwards is 0b1100_0000.
    assert_eq!(x(signed, &[3]), "-64");
}

#[test]
fn alignments_leave_bits_out() {
    let class = r#""type": "fixed-length-unsigned-integer", "length": 8, "alignment": 16,
        "byte-order": "little-endian""#;
    let metadata = one_event(&[u8_member("a"), member("b", class)].join(","));
    assert_eq!(texts(&metadata, &[1, 99, 2]), ["e: { a = 1, b = 2 }"]);
    let structure = r#""type": "structure", "minimum-alignment": 32, "member-classes": []"#;
    let metadata = one_event(&[u8_member("a"), member("s", structure), u8_member("b")].join(","));
    assert_eq!(texts(&metadata, &[1, 9, 9, 9, 2]), ["e: { a = 1, s = { }, b = 2 }"]);
    let array = r#""type": "static-length-array", "minimum-alignment": 16, "length": 2,
        "element-field-class": { "type": "fixed-length-unsigned-integer", "length": 4,
        "byte-order": "big-endian" }"#;
    let metadata = one_event(&[u8_member("a"), member("n", array)].join(","));
    assert_eq!(texts(&metadata, &[1, 9, 0x5A]), ["e: { a = 1, n = [ [0] = 5, [1] = 10 ] }"]);
}

#[test]
fn bit_arrays_booleans_and_bit_maps() {
    let order = r#""byte-order": "big-endian""#;
    let array = format!(r#""type": "fixed-length-bit-array", "length": 24, {order}"#);
    assert_eq!(x(&array, &[0xAB, 0xCD, 0xEF]), "0xABCDEF");
    let boolean = format!(r#""type": "fixed-length-boolean", "length": 8, {order}"#);
    assert_eq!(x(&boolean, &[0]), "false");
    assert_eq!(x(&boolean, &[0x40]), "true");
    let map = format!(
        r#""type": "fixed-length-bit-map", "length": 16, {order}, "flags":
            {{ "low": [[1, 3]], "mid": [[2, 7]], "odd": [[9, 10], [12, 12]] }}"#
    );
    // 0b0000_0000_0000_0010: only bit 1; 0b0001_0000_0001_0000: bits 4 and 12.
    assert_eq!(x(&map, &[0, 2]), r#"( "low" : container = 2 )"#);
    assert_eq!(x(&map, &[0x10, 0x10]), r#"( "mid", "odd" : container = 4112 )"#);
    assert_eq!(x(&map, &[0, 1]), "( <unknown> : container = 1 )");
    let wide = x(&map.replace("16", "64"), &[0x80, 0, 0, 0, 0, 0, 0, 8]);
    assert_eq!(wide, r#"( "low", "mid" : container = 9223372036854775816 )"#);
}

#[test]
fn floating_point_numbers() {
    let class = |bits: u32, order: &str| {
        let kind = "fixed-length-floating-point-number";
        format!(r#""type": "{kind}", "length": {bits}, "byte-order": "{order}""#)
    };
    assert_eq!(x(&class(32, "big-endian"), &[0x42, 0xF6, 0xCC, 0xCD]), "123.4");
    assert_eq!(x(&class(64, "little-endian"), &[0, 0, 0, 0, 0, 0, 0, 0xC0]), "-2");
    assert_eq!(x(&class(16, "little-endian"), &[0x00, 0x3E]), "1.5");
    // 1.0 is 0x3F800000, whose bits backwards are 0x000001FC.
    let reversed = class(32, "big-endian") + r#", "bit-order": "first-to-last""#;
    assert_eq!(x(&reversed, &[0, 0, 1, 0xFC]), "1");
}

/// The numbers of the article on LEB128, and of the specification.
#[test]
fn numbers_of_variable_length() {
    let unsigned = r#""type": "variable-length-unsigned-integer""#;
    let signed = r#""type": "variable-length-signed-integer""#;
    assert_eq!(x(unsigned, &[0xE5, 0x8E, 0x26]), "624485");
    assert_eq!(x(signed, &[0xC0, 0xBB, 0x78]), "-123456");
    assert_eq!(x(signed, &[0x3F]), "63");
    assert_eq!(x(signed, &[0x40]), "-64");
    let most = [[0xFF; 9].as_slice(), &[1]].concat();
    assert_eq!(x(unsigned, &most), u64::MAX.to_string());
    let least = [[0x80; 9].as_slice(), &[0x7F]].concat();
    assert_eq!(x(signed, &least), i64::MIN.to_string());
    let too_long = texts(&one_event(&member("x", unsigned)), &[0x80; 11]);
    assert!(too_long[0].contains("a number has more than 64 bits"), "{too_long:?}");
    let too_large = [[0xFF; 9].as_slice(), &[3]].concat();
    let too_large = texts(&one_event(&member("x", unsigned)), &too_large);
    assert!(too_large[0].contains("a number has more than 64 bits"), "{too_large:?}");
}

#[test]
fn values_have_names() {
    let class = r#""type": "fixed-length-signed-integer", "length": 8, "byte-order": "big-endian",
        "mappings": { "low": [[-128, -1]], "high": [[1, 9], [100, 127]] }"#;
    assert_eq!(x(class, &[0xFF]), r#"( "low" : container = -1 )"#);
    assert_eq!(x(class, &[100]), r#"( "high" : container = 100 )"#);
    assert_eq!(x(class, &[50]), "( <unknown> : container = 50 )");
    let variable =
        r#""type": "variable-length-unsigned-integer", "mappings": { "far": [[300, 300]] }"#;
    assert_eq!(x(variable, &[0xAC, 2]), r#"( "far" : container = 300 )"#);
}

#[test]
fn texts_end_at_a_zero_or_after_so_many_bytes() {
    let ended = r#""type": "null-terminated-string""#;
    assert_eq!(x(ended, b"ab\0"), r#""ab""#);
    let fixed = r#""type": "static-length-string", "length": 4"#;
    assert_eq!(x(fixed, b"abcd"), r#""abcd""#);
    assert_eq!(x(fixed, b"a\0zz"), r#""a""#);
    let dynamic = r#""type": "dynamic-length-string", "length-field-location": { "path": ["n"] }"#;
    let metadata = one_event(&[u8_member("n"), member("x", dynamic)].join(","));
    let found = texts(&metadata, b"\x02hi\x00\x01!");
    let expected =
        [r#"e: { n = 2, x = "hi" }"#, r#"e: { n = 0, x = "" }"#, r#"e: { n = 1, x = "!" }"#];
    assert_eq!(found, expected);
}

/// `aé` and a character beyond 16 bits: U+1D11E is D834 DD1E as UTF-16.
#[test]
fn texts_of_wider_units() {
    let ended =
        |encoding: &str| format!(r#""type": "null-terminated-string", "encoding": "{encoding}""#);
    let le16 = [0x61, 0, 0xE9, 0, 0x34, 0xD8, 0x1E, 0xDD, 0, 0];
    assert_eq!(x(&ended("utf-16le"), &le16), "\"aé𝄞\"");
    let be16 = [0, 0x61, 0, 0xE9, 0xD8, 0x34, 0xDD, 0x1E, 0, 0];
    assert_eq!(x(&ended("utf-16be"), &be16), "\"aé𝄞\"");
    let le32 = [0x61, 0, 0, 0, 0x1E, 0xD1, 1, 0, 0, 0, 0, 0];
    assert_eq!(x(&ended("utf-32le"), &le32), "\"a𝄞\"");
    let be32 = [0, 0, 0, 0x61, 0, 1, 0xD1, 0x1E, 0, 0, 0, 0];
    assert_eq!(x(&ended("utf-32be"), &be32), "\"a𝄞\"");
    let fixed = r#""type": "static-length-string", "length": 6, "encoding": "utf-16le""#;
    assert_eq!(x(fixed, &[0x61, 0, 0, 0, 9, 9]), r#""a""#);
    let odd = r#""type": "static-length-string", "length": 3, "encoding": "utf-16le""#;
    let odd = texts(&one_event(&member("x", odd)), &[0x61, 0, 0x62]);
    assert!(odd[0].contains("a text ends within a unit"), "{odd:?}");
    let endless = texts(&one_event(&member("x", &ended("utf-32be"))), &[0, 0, 0, 1, 0, 0, 0]);
    assert!(endless[0].contains("a text does not end"), "{endless:?}");
}

/// Half of a pair is no character, and it is said that a mark stands for it.
#[test]
fn what_is_no_character_is_said() {
    let class = r#""type": "null-terminated-string", "encoding": "utf-16be""#;
    let found = texts(&one_event(&member("x", class)), &[0xD8, 0x34, 0, 0x61, 0, 0]);
    assert_eq!(found[0], "e: { x = \"\u{FFFD}a\" }");
    assert!(found[1].contains("UTF-8"), "{found:?}");
}

#[test]
fn blobs_are_shown_in_hexadecimal() {
    let fixed = r#""type": "static-length-blob", "length": 3, "media-type": "image/png""#;
    assert_eq!(x(fixed, &[0x0A, 0xFF, 0]), "0x0aff00");
    let dynamic = r#""type": "dynamic-length-blob", "length-field-location": { "path": ["n"] }"#;
    let metadata = one_event(&[u8_member("n"), member("x", dynamic)].join(","));
    let found = texts(&metadata, &[2, 0xBE, 0xEF, 0]);
    assert_eq!(found, ["e: { n = 2, x = 0xbeef }", "e: { n = 0, x = 0x }"]);
}

#[test]
fn arrays_have_always_as_many_elements_or_as_a_field_says() {
    let element = r#""element-field-class": { "type": "variable-length-signed-integer" }"#;
    let fixed = format!(r#""type": "static-length-array", "length": 2, {element}"#);
    assert_eq!(x(&fixed, &[0x7F, 0x80, 1]), "[ [0] = -1, [1] = 128 ]");
    let dynamic = format!(
        r#""type": "dynamic-length-array", "length-field-location":
            {{ "origin": "event-record-payload", "path": ["n"] }}, {element}"#
    );
    let metadata = one_event(&[u8_member("n"), member("x", &dynamic)].join(","));
    assert_eq!(
        texts(&metadata, &[1, 5, 0]),
        ["e: { n = 1, x = [ [0] = 5 ] }", "e: { n = 0, x = [ ] }"]
    );
}

/// A field is there where a boolean is true, or a number is in some ranges.
#[test]
fn optional_fields_are_there_or_not() {
    let boolean =
        member("sel", r#""type": "fixed-length-boolean", "length": 8, "byte-order": "big-endian""#);
    let optional = |ranges: &str| {
        let text = r#"{ "type": "null-terminated-string" }"#;
        let class = format!(
            r#""type": "optional", "selector-field-location": {{ "path": ["sel"] }}, {ranges}
                "field-class": {text}"#
        );
        member("opt", &class)
    };
    let metadata = one_event(&[boolean, optional("")].join(","));
    let found = texts(&metadata, b"\x55ab\0\0");
    assert_eq!(found, [r#"e: { sel = true, opt = "ab" }"#, "e: { sel = false, opt = <none> }"]);
    let signed = member(
        "sel",
        r#""type": "fixed-length-signed-integer", "length": 8, "byte-order": "big-endian""#,
    );
    let ranges = r#""selector-field-ranges": [[-23, 17], [0, 3]],"#;
    let metadata = one_event(&[signed, optional(ranges)].join(","));
    let found = texts(&metadata, b"\xE8\xE9x\0\x12\x10y\0");
    let expected = [
        "e: { sel = -24, opt = <none> }",
        r#"e: { sel = -23, opt = "x" }"#,
        "e: { sel = 18, opt = <none> }",
        r#"e: { sel = 16, opt = "y" }"#,
    ];
    assert_eq!(found, expected);
    let json = [r#"{"sel":-24,"opt":null}"#, r#"{"sel":-23,"opt":"x"}"#];
    assert_eq!(fields(&metadata, b"\xE8\xE9x\0"), json);
}

#[test]
fn variants_are_what_a_number_says() {
    let variant = r#""type": "variant", "selector-field-location": { "path": ["sel"] }, "options": [
        { "name": "text", "selector-field-ranges": [[0, 0], [7, 9]],
          "field-class": { "type": "null-terminated-string" } },
        { "selector-field-ranges": [[1, 4]],
          "field-class": { "type": "variable-length-unsigned-integer" } } ]"#;
    let metadata = one_event(&[u8_member("sel"), member("v", variant)].join(","));
    let found = texts(&metadata, b"\x08a\0\x02\x05\x06");
    assert_eq!(found[0], r#"e: { sel = 8, v = { text = "a" } }"#);
    assert_eq!(found[1], "e: { sel = 2, v = { 1 = 5 } }");
    assert!(found[2].contains("the variant v has nothing for 6"), "{found:?}");
    let overlapping = variant.replace("[1, 4]", "[1, 7]");
    let metadata = one_event(&[u8_member("sel"), member("v", &overlapping)].join(","));
    assert!(refused(&metadata).1.contains("the choices of a variant overlap"));
}

/// The length is one of several fields, and of the last event it is not that of this one.
#[test]
fn a_length_may_be_within_a_variant_or_an_optional_field() {
    let number = |bits: u32| {
        let kind = "fixed-length-unsigned-integer";
        format!(r#"{{ "type": "{kind}", "length": {bits}, "byte-order": "little-endian" }}"#)
    };
    let variant = format!(
        r#""type": "variant", "selector-field-location": {{ "path": ["sel"] }}, "options": [
            {{ "selector-field-ranges": [[0, 0]], "field-class": {} }},
            {{ "selector-field-ranges": [[1, 1]], "field-class": {} }},
            {{ "selector-field-ranges": [[2, 2]], "field-class":
                {{ "type": "null-terminated-string" }} }} ]"#,
        number(8),
        number(16)
    );
    let text = r#""type": "dynamic-length-string", "length-field-location": { "path": ["len"] }"#;
    let members = [u8_member("sel"), member("len", &variant), member("x", text)].join(",");
    let found = texts(&one_event(&members), b"\x00\x01a\x01\x02\x00bc\x02\x00");
    assert_eq!(found[0], r#"e: { sel = 0, len = { 0 = 1 }, x = "a" }"#);
    assert_eq!(found[1], r#"e: { sel = 1, len = { 1 = 2 }, x = "bc" }"#);
    // The third has a text for its length; that of the one before is none of it.
    assert!(found[2].contains("the length of an array makes no sense"), "{found:?}");
    let optional = format!(
        r#""type": "optional", "selector-field-location": {{ "path": ["sel"] }},
            "selector-field-ranges": [[1, 1]], "field-class": {}"#,
        number(8)
    );
    let members = [u8_member("sel"), member("len", &optional), member("x", text)].join(",");
    let found = texts(&one_event(&members), b"\x01\x02ab\x00");
    assert_eq!(found[0], r#"e: { sel = 1, len = 2, x = "ab" }"#);
    assert!(found[1].contains("the length of an array makes no sense"), "{found:?}");
}

/// From the structure around, from one further out, through one that is being read, and back from a
/// member to its structure.
#[test]
fn places_of_fields_lead_out_and_in() {
    let text = |path: &str| {
        format!(r#""type": "dynamic-length-string", "length-field-location": {{ {path} }}"#)
    };
    for path in [
        r#""path": [null, "n"]"#,
        r#""path": [null, "s", null, "n"]"#,
        r#""path": [null, "s", "k"]"#,
        r#""path": ["k"]"#,
        r#""origin": "event-record-payload", "path": ["s", "k"]"#,
        r#""origin": "event-record-payload", "path": ["n"]"#,
    ] {
        let members = [u8_member("k"), member("x", &text(path))].join(",");
        let inner = format!(r#""type": "structure", "member-classes": [{members}]"#);
        let metadata = one_event(&[u8_member("n"), member("s", &inner)].join(","));
        let found = texts(&metadata, b"\x02\x02ab");
        assert_eq!(found, [r#"e: { n = 2, s = { k = 2, x = "ab" } }"#], "{path}");
    }
    for path in [
        r#""path": [null, null, "n"]"#,
        r#""path": ["later"]"#,
        r#""path": ["x"]"#,
        r#""origin": "packet-context", "path": ["n"]"#,
        r#""origin": "event-record-payload", "path": ["x", "n"]"#,
    ] {
        let members = [u8_member("n"), member("x", &text(path)), u8_member("later")].join(",");
        let (offset, why) = refused(&one_event(&members));
        assert!(why.contains("is used, and there is no such field before"), "{path}: {why}");
        // The event is the third fragment, after its mark.
        assert_eq!(offset, sequence(&[PREAMBLE, STREAM]).len() as u64 + 1);
    }
    for path in [r#""path": []"#, r#""path": [null]"#, r#""path": ["a", null]"#, r#""path": [3]"#] {
        let metadata = one_event(&member("x", &text(path)));
        assert!(refused(&metadata).1.contains("is no place of a field"), "{path}");
    }
}

/// In an array, each element has its own length.
#[test]
fn elements_have_lengths_of_their_own() {
    let text = r#""type": "dynamic-length-string", "length-field-location": { "path": ["n"] }"#;
    let members = [u8_member("n"), member("x", text)].join(",");
    let class = format!(
        r#""type": "static-length-array", "length": 2, "element-field-class":
            {{ "type": "structure", "member-classes": [{members}] }}"#
    );
    assert_eq!(
        x(&class, b"\x01a\x02bc"),
        r#"[ [0] = { n = 1, x = "a" }, [1] = { n = 2, x = "bc" } ]"#
    );
}

/// Names are what they are: no line is left out, and their signs have escapes where they need some.
#[test]
fn names_are_any_text() {
    let kind =
        r#""type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "big-endian""#;
    let members = [member("_x", kind), member("x", kind), member("a \\\"b\\\"", kind)].join(",");
    let metadata = one_event(&members);
    assert_eq!(texts(&metadata, &[1, 2, 3]), [r#"e: { _x = 1, x = 2, a \"b\" = 3 }"#]);
    assert_eq!(fields(&metadata, &[1, 2, 3]), [r#"{"_x":1,"x":2,"a \"b\"":3}"#]);
}

/// A stream with everything that roles say, in packets of 16 bytes.
const PACKETS: &[&str] = &[
    r#"{ "type": "preamble", "version": 2, "uuid": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16] }"#,
    r#"{ "type": "field-class-alias", "name": "u8", "field-class":
        { "type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "big-endian" } }"#,
    r#"{ "type": "trace-class", "environment": { "host": "board", "cores": 2 } }"#,
    r#"{ "type": "clock-class", "id": "c", "frequency": 1000, "precision": 3, "accuracy": 1,
        "offset-from-origin": { "seconds": 5 } }"#,
    r#"{ "type": "data-stream-class", "id": 3, "default-clock-class-id": "c",
        "packet-context-field-class": { "type": "structure", "member-classes": [
            { "name": "a", "field-class": { "type": "variable-length-unsigned-integer",
                "roles": ["packet-total-length"] } },
            { "name": "b", "field-class": { "type": "variable-length-unsigned-integer",
                "roles": ["packet-content-length"] } },
            { "name": "c", "field-class": { "type": "fixed-length-unsigned-integer", "length": 16,
                "byte-order": "big-endian", "roles": ["default-clock-timestamp"] } },
            { "name": "d", "field-class": { "type": "fixed-length-unsigned-integer", "length": 16,
                "byte-order": "big-endian", "roles": ["packet-end-default-clock-timestamp"] } },
            { "name": "e", "field-class": { "type": "fixed-length-unsigned-integer", "length": 8,
                "byte-order": "big-endian", "roles": ["packet-sequence-number"] } },
            { "name": "f", "field-class": { "type": "fixed-length-unsigned-integer", "length": 8,
                "byte-order": "big-endian",
                "roles": ["discarded-event-record-counter-snapshot"] } },
            { "name": "cpu_id", "field-class": "u8" } ] },
        "event-record-header-field-class": { "type": "structure", "member-classes": [
            { "name": "what", "field-class": { "type": "fixed-length-unsigned-integer", "length": 8,
                "byte-order": "big-endian", "roles": ["event-record-class-id"] } },
            { "name": "when", "field-class": { "type": "variable-length-unsigned-integer",
                "roles": ["default-clock-timestamp"] } } ] } }"#,
    r#"{ "type": "event-record-class", "id": 9, "data-stream-class-id": 3, "name": "nine" }"#,
];

/// Two packets of 128 bits, the first with the number 0 and the second with 2: from 1000 to 1100 ticks,
/// and from 1100 to 1240 with two events lost before. Times of one byte have the lowest seven bits: 1000 is 7 * 128 + 104.
#[test]
fn roles_say_what_fields_of_packets_and_headers_are() {
    let packet = |times: [u16; 2], number: u8, lost: u8, events: &[u8]| {
        let mut bytes = vec![0x80, 1, u8::try_from((10 + events.len()) * 8).unwrap()];
        bytes.extend(times.iter().flat_map(|time| time.to_be_bytes()));
        bytes.extend([number, lost, 4]);
        bytes.extend(events);
        bytes.resize(16, 0xEE);
        bytes
    };
    // At 104 it is 1000; 5 is less, so that the next bit was carried: 8 * 128 + 5 = 1029.
    let first = packet([1000, 1100], 0, 0, &[9, 104, 9, 5]);
    // Two bytes have 14 bits: 0x52 + 9 * 128 = 1234.
    let second = packet([1100, 1240], 2, 2, &[9, 0xD2, 9]);
    let metadata = sequence(PACKETS);
    let (_folder, dataset) = open(&metadata, &[first, second].concat()).unwrap();
    let mut events = dataset.timeline().unwrap().events(&Window::default()).unwrap();
    let mut times = Vec::new();
    while let Some(event) = events.next().unwrap() {
        times.push(event.time.unwrap().0);
    }
    // A tick is a millisecond, after five seconds of a zero of its own.
    assert_eq!(times, [6_000_000_000, 6_029_000_000, 6_234_000_000]);
    let clock = &dataset.timeline().unwrap().clocks()[0];
    assert_eq!((clock.name.as_str(), clock.since_epoch), ("c", false));
    let mut rules: Vec<_> =
        dataset.findings().into_iter().map(|finding| (finding.rule, finding.message)).collect();
    rules.sort();
    assert_eq!(rules.len(), 2, "{rules:?}");
    assert!(rules[0].0 == "discarded" && rules[0].1.contains("2 events"), "{rules:?}");
    assert!(rules[1].0 == "missing-packets" && rules[1].1.contains("1 packet"), "{rules:?}");
    let summary = dataset.summary();
    assert_eq!(summary.dialect, "version 2");
}

/// Headers of packets say by which metadata they are read.
#[test]
fn a_packet_of_another_trace_is_said() {
    let header = r#"{ "type": "trace-class", "packet-header-field-class":
        { "type": "structure", "member-classes": [ { "name": "of", "field-class":
            { "type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"] } } ] } }"#;
    let event = r#"{ "type": "event-record-class", "payload-field-class": { "type": "structure",
        "member-classes": [ { "name": "x", "field-class": "u8" } ] } }"#;
    let metadata = sequence(&[PACKETS[0], PACKETS[1], header, STREAM, event]);
    let mut stream: Vec<u8> = (1..=16).collect();
    stream.push(7);
    assert_eq!(texts(&metadata, &stream), [": { x = 7 }"]);
    stream[15] = 0;
    let found = texts(&metadata, &stream);
    let why = "its UUID is not that of the metadata";
    assert!(found.iter().any(|said| said.contains(why)), "{found:?}");
}

#[test]
fn fragments_may_have_no_marks_between_them_or_be_in_packets() {
    let marked = one_event(&u8_member("x"));
    let bare = marked.replace('\u{1e}', " ");
    assert_eq!(texts(&bare, &[7]), ["e: { x = 7 }"]);
    let crlf = marked.replace('\n', "\r\n");
    assert_eq!(texts(&crlf, &[7]), ["e: { x = 7 }"]);
}

#[test]
fn what_cannot_be_understood_is_refused_with_its_byte() {
    let sound = one_event(&u8_member("x"));
    for (from, to, why) in [
        (r#""version": 2"#, r#""version": 3"#, "version 3 is not read"),
        (r#""version": 2"#, r#""version": "2""#, "`version` is to be a whole number"),
        (
            r#""version": 2"#,
            r#""version": 2, "extensions": { "my.tracer": { "piano": 1 } }"#,
            "it has the extension my.tracer/piano",
        ),
        (r#""length": 8"#, r#""length": 65"#, "numbers of 1 to 64 bits are read"),
        (r#""length": 8"#, r#""length": 0"#, "numbers of 1 to 64 bits are read"),
        (r#""length": 8"#, r#""length": -8"#, "`length` is to be a whole number"),
        (r#""length": 8, "#, "", "`length` is missing"),
        (r#""length": 8"#, r#""length": 8, "alignment": 3"#, "an alignment is a power of two"),
        (r#""length": 8"#, r#""length": 8, "alignment": 0"#, "an alignment is a power of two"),
        (r#""length": 8"#, r#""length": 8, "mappings": { "a": [[2, 1]] }"#, "ranges are lists"),
        ("big-endian", "middle-endian", "a byte order is"),
        ("fixed-length-unsigned-integer", "quantum", "of the type `quantum` are not known"),
        ("event-record-class", "unheard-of", "fragments of this type are not known"),
        (r#""type": "structure""#, r#""type": "null-terminated-string""#, "is to be a structure"),
        ("data-stream-class", "preamble", "there is another preamble"),
    ] {
        let changed = sound.replacen(from, to, 1);
        assert_ne!(changed, sound, "{from}");
        let (offset, said) = refused(&changed);
        assert!(said.contains(why), "{to}: {said}");
        assert!(changed.as_bytes()[usize::try_from(offset).unwrap()] == b'{', "{offset}: {said}");
    }
    let twice = sequence(&[PREAMBLE, STREAM, STREAM]);
    assert!(refused(&twice).1.contains("there is another stream of this id"));
    let nothing = sequence(&[PREAMBLE]);
    assert!(refused(&nothing).1.contains("there was no `data-stream-class`"));
    let first = sequence(&[STREAM]);
    assert!(refused(&first).1.contains("the first fragment is to be a preamble"));
    let stray = sequence(&[
        PREAMBLE,
        STREAM,
        r#"{ "type": "event-record-class", "data-stream-class-id": 4 }"#,
    ]);
    assert!(refused(&stray).1.contains("its stream is not described before it"));
    let clock =
        sequence(&[PREAMBLE, r#"{ "type": "data-stream-class", "default-clock-class-id": "c" }"#]);
    assert!(refused(&clock).1.contains("its clock is not described before it"));
}

/// The byte of what is no JSON, in the second line of the second fragment.
#[test]
fn what_is_no_json_is_told_with_its_byte() {
    let metadata = format!("\u{1e}{PREAMBLE}\n\u{1e}{{\n \"type\" ?");
    let (offset, why) = refused(&metadata);
    assert_eq!(metadata.as_bytes()[usize::try_from(offset).unwrap()], b'?', "{why}");
    assert!(why.contains("it is no JSON: expected `:`"), "{why}");
}

/// Thirty aliases of structures of two: a thousand million fields in two kilobytes.
#[test]
fn aliases_that_double_again_and_again_are_refused() {
    let mut fragments = vec![PREAMBLE.to_owned(), PACKETS[1].to_owned(), STREAM.to_owned()];
    let pair = |this_name: &str| {
        format!(
            r#"{{ "type": "structure", "member-classes": [
                {{ "name": "a", "field-class": "{this_name}" }}, {{ "name": "b", "field-class": "{this_name}" }} ] }}"#
        )
    };
    for level in 0..30 {
        let this_name = if level == 0 { "u8".to_owned() } else { format!("l{}", level - 1) };
        let class = pair(&this_name);
        fragments.push(format!(
            r#"{{ "type": "field-class-alias", "name": "l{level}", "field-class": {class} }}"#
        ));
    }
    fragments.push(r#"{ "type": "event-record-class", "payload-field-class": "l29" }"#.to_owned());
    let fragments: Vec<_> = fragments.iter().map(String::as_str).collect();
    let (_, why) = refused(&sequence(&fragments));
    assert!(why.contains("fields in the metadata"), "{why}");
}

#[test]
fn what_is_nested_too_deeply_is_refused() {
    let nested = |depth: usize| {
        let open = r#"{ "type": "static-length-array", "length": 1, "element-field-class": "#;
        let inner = r#"{ "type": "variable-length-unsigned-integer" }"#;
        let class = format!("{}{inner}{}", open.repeat(depth), "}".repeat(depth));
        let member = format!(r#"{{ "name": "x", "field-class": {class} }}"#);
        one_event(&member)
    };
    assert_eq!(texts(&nested(46), &[1]).len(), 1);
    assert!(refused(&nested(47)).1.contains("types are nested too deeply"));
    // Beyond what the reader of JSON takes.
    assert!(refused(&nested(100_000)).1.contains("recursion limit exceeded"));
}

/// Numbers that nothing in the stream stands for take neither time nor memory.
#[test]
fn large_numbers_allocate_nothing() {
    let empty = r#"{ "type": "structure", "member-classes": [] }"#;
    let most = u64::MAX;
    for class in [
        format!(
            r#""type": "static-length-array", "length": {most}, "element-field-class": {empty}"#
        ),
        format!(
            r#""type": "static-length-array", "length": {most}, "element-field-class":
            {{ "type": "variable-length-unsigned-integer" }}"#
        ),
        format!(r#""type": "static-length-string", "length": {most}"#),
        format!(r#""type": "static-length-string", "length": {most}, "encoding": "utf-32le""#),
        format!(r#""type": "static-length-blob", "length": {most}"#),
    ] {
        let found = texts(&one_event(&[u8_member("a"), member("x", &class)].join(",")), &[1, 2, 3]);
        assert_eq!(found.len(), 1, "{class}: {found:?}");
        assert!(!found[0].starts_with("e:"), "{class}: {found:?}");
    }
}

/// What is within a variant is forgotten whenever that is decoded, so that there is to be little of it.
#[test]
fn few_lengths_may_be_within_one_variant() {
    let metadata = |count: usize| {
        let number = r#"{ "type": "variable-length-unsigned-integer" }"#;
        let members = |class: &dyn Fn(usize) -> String| {
            let member = |at| format!(r#"{{ "name": "m{at}", "field-class": {} }}"#, class(at));
            (0..count).map(member).collect::<Vec<_>>().join(",")
        };
        let lengths = members(&|_| number.to_owned());
        let blobs = members(&|at| {
            format!(
                r#"{{ "type": "dynamic-length-blob", "length-field-location":
                    {{ "origin": "event-record-payload", "path": ["v", "m{at}"] }} }}"#
            )
        });
        let variant = format!(
            r#""type": "variant", "selector-field-location": {{ "path": ["sel"] }}, "options": [
                {{ "selector-field-ranges": [[1, 1]], "field-class":
                    {{ "type": "structure", "member-classes": [{lengths}] }} }} ]"#
        );
        one_event(&[u8_member("sel"), member("v", &variant), blobs].join(","))
    };
    assert_eq!(
        texts(&metadata(2), &[1, 1, 0, 7]),
        ["e: { sel = 1, v = { 0 = { m0 = 1, m1 = 0 } }, m0 = 0x07, m1 = 0x }"]
    );
    assert!(refused(&metadata(257)).1.contains("lengths and tags within a variant"));
}

/// What drafts of the specification had other words for, as versions of `LTTng` before 2.15 could
/// write.
#[test]
fn words_of_drafts_are_understood() {
    let clock = r#"{ "type": "clock-class", "name": "c", "frequency": 1000,
        "offset": { "seconds": 1, "cycles": 2 } }"#;
    let stream = r#"{ "type": "data-stream-class", "default-clock-class-name": "c" }"#;
    let event = r#"{ "type": "event-record-class", "name": "e", "payload-field-class":
        { "type": "structure", "member-classes": [
            { "name": "n", "field-class": { "type": "fixed-length-unsigned-enumeration", "length": 8,
                "byte-order": "little-endian", "mappings": { "one": [[1, 1]] } } },
            { "name": "x", "field-class": { "type": "dynamic-length-string",
                "length-field-location": ["event-record-payload", "n"] } } ] } }"#;
    let metadata = sequence(&[PREAMBLE, clock, stream, event]);
    assert_eq!(texts(&metadata, b"\x01a"), [r#"e: { n = ( "one" : container = 1 ), x = "a" }"#]);
}

/// A packet of four events that have a field of every class, put together by hand.
fn every_class() -> Vec<u8> {
    let mut bytes = vec![0xC1, 0x1F, 0xFC, 0xC1];
    bytes.extend(0..16);
    // Stream 7; sizes in bits, which are filled in at the end; from 10 to 60 ticks, processor 2.
    bytes.extend([7, 0, 0, 0, 0, 0, 10, 60, 0, 0, 2]);
    // Bits, at an even byte: 0b10001 and 0b101; true; 0x0003 backwards; 1.5; 7.
    bytes.extend([1, 20, 0, 0b1000_1101, 1, 0x00, 0x03, 0, 0, 0xC0, 0x3F, 7]);
    // Texts: four bytes of UTF-16, two of a blob.
    bytes.extend([2, 30, 4, 2]);
    bytes.extend(b"hi\0abcd\xE9\0!\0\xBE\xEF");
    // What there may be is 9, and one is a number.
    bytes.extend([3, 40, 1, 1, 2, 9, 5, 1, 2, 3, 4, 5, 6]);
    // There is none, and one is a text.
    bytes.extend([3, 50, 1, 0, 4, 0, 0, 0, b'Z', 0, 0, 0, 0]);
    bytes.extend([1, 2, 3].repeat(4));
    let bits = bytes.len() * 8;
    let size = [u8::try_from(bits % 128 + 128).unwrap(), u8::try_from(bits / 128).unwrap()];
    bytes[22..26].copy_from_slice(&[size, size].concat());
    bytes
}

#[test]
fn a_trace_with_every_field_class_is_as_worked_out_by_hand() {
    let folder = testdata("ctf/kinds2");
    let path = folder.join("stream");
    if golden::blessing() {
        fs::write(&path, every_class()).unwrap();
    }
    assert!(fs::read(&path).unwrap() == every_class(), "BLESS=1 rewrites it");
    let metadata = fs::read_to_string(folder.join("metadata")).unwrap();
    let element = |at: u8, a: u8, b: u8, c: u8| {
        format!("[{at}] = {{ a = {a}, b = [ [0] = {b}, [1] = {c} ] }}")
    };
    let two = [element(0, 1, 2, 3), element(1, 4, 5, 6)].join(", ");
    let four: Vec<_> = (0..4).map(|at| element(at, 1, 2, 3)).collect();
    let bits = r#"bits: { n = 0 }, { array = 0x5, map = ( "low", "high" : container = 17 ), yes = true, back = 0xC000, float = 1.5, named = ( "some" : container = 7 ) }"#;
    let texts_of = r#"texts: { n = 4 }, { k = 2 }, { ended = "hi", fixed = "abcd", dynamic = "é!", blob = 0xbeef }"#;
    let there = format!(
        "either: {{ n = 1 }}, {{ kind = true, which = 2, may = 9, one = {{ number = 5 }}, many = [ {two} ] }}"
    );
    let none = format!(
        r#"either: {{ n = 1 }}, {{ kind = false, which = 4, may = <none>, one = {{ 1 = "Z" }}, many = [ {} ] }}"#,
        four.join(", ")
    );
    assert_eq!(texts(&metadata, &every_class()), [bits, texts_of, &there, &none]);
    let json = fields(&metadata, &every_class());
    let bits = r#"{"n":0,"array":5,"map":"low, high","yes":true,"back":-16384,"float":1.5,"named":"some"}"#;
    assert_eq!(json[0], bits);
    assert!(json[1].ends_with(r#""dynamic":"é!","blob":"beef"}"#), "{}", json[1]);
    assert!(json[3].contains(r#""may":null,"one":{"1":"Z"}"#), "{}", json[3]);
}

/// What is told of a trace: its events, its kinds of events, its packets.
fn told(name: &str) -> Vec<String> {
    let source = Source::open(&testdata(name), &Limits::default()).unwrap();
    let dataset = Ctf.open(&source, &Context::default()).unwrap();
    let records = capture(&*dataset).unwrap().into_iter();
    // Seconds and ticks are another pair of numbers, of the same offset.
    records.filter(|record| record.kind != "clock").map(|record| record.to_string()).collect()
}

/// The same streams, described in both languages.
#[test]
fn a_trace_says_the_same_in_both_versions() {
    let second = told("ctf/control2");
    assert!(second.len() > 20, "{second:?}");
    assert_eq!(second, told("ctf/control"));
}
