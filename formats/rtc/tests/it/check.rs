//! Each rule of `check`, on a file that was made to break it.

use std::fs;

use kymo_conformance::shared;
use kymo_core::{Context, Finding, Severity, Source};
use kymo_model::Format;
use kymo_rtc::Rtc;
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{Options, Writer};

/// Where the parts of a Unit are that begins the file: the Marker has 1025 bytes.
const INDEX: usize = 1025;

/// The rule and place of each finding, but that a session without checksums does not end with one.
fn findings(bytes: &[u8]) -> Vec<(&'static str, u64)> {
    let found = checked(bytes).into_iter().filter(|finding| finding.rule != "end");
    found.map(|finding| (finding.rule, finding.offset.unwrap())).collect()
}

fn checked(bytes: &[u8]) -> Vec<Finding> {
    let source = Source::from_bytes("test.rtc", bytes.to_vec());
    Rtc.check(&source, &Context::default()).unwrap()
}

/// A recording in small units, without checksums unless asked for.
fn writer() -> Writer<Vec<u8>> {
    Writer::new(Vec::new(), Options::new().sizes(8192, 2048).unwrap().crc(None))
}

/// Two streams in three Units: `text` of variable length and `number` of four bytes, in turn.
fn sound() -> Vec<u8> {
    let mut writer = writer();
    let text = writer.add(&StreamMeta::new("text").format("utf-8")).unwrap();
    let number = writer.add(&StreamMeta::new("number").length(4).format("uint32le")).unwrap();
    while writer.position() < 20_000 {
        writer.write(text, b"0123456789abcdef").unwrap();
        writer.write(number, &7_u32.to_le_bytes()).unwrap();
    }
    writer.finish().unwrap()
}

/// Where some bytes are for the first time, from a place on.
fn find(bytes: &[u8], what: &[u8], from: usize) -> usize {
    from + bytes[from..].windows(what.len()).position(|window| window == what).unwrap()
}

#[test]
fn a_sound_file_has_no_findings() {
    assert_eq!(findings(&sound()), []);
}

#[test]
fn an_index_that_points_elsewhere_is_found() {
    let mut bytes = sound();
    // The index of the second unit: header, length, entry 3, then stream 9 as 9 << 1 | 1.
    let tick = INDEX + 2048;
    assert_eq!(bytes[tick], 0x08);
    let entry = find(&bytes, &[19], tick + 2);
    bytes[entry + 1] ^= 0x02;
    assert_eq!(findings(&bytes), [("index", tick as u64)]);
}

#[test]
fn an_index_that_leaves_out_a_stream_is_found() {
    let mut bytes = sound();
    // In the Index of the third Unit stream 10 becomes 11.
    let index = 16384 + INDEX;
    assert_eq!(bytes[index], 0x06);
    let entry = find(&bytes, &[21], index + 3);
    bytes[entry] = 23;
    assert_eq!(findings(&bytes), [("index", index as u64)]);
}

/// A stream that was closed is neither described nor in an Index any more.
#[test]
fn an_index_without_a_stream_that_was_closed_is_sound() {
    let mut writer = writer();
    let text = writer.add(&StreamMeta::new("text").format("utf-8")).unwrap();
    let number = writer.add(&StreamMeta::new("number").length(4).format("uint32le")).unwrap();
    while writer.position() < 10_000 {
        writer.write(text, b"0123456789abcdef").unwrap();
        writer.write(number, &7_u32.to_le_bytes()).unwrap();
    }
    writer.close(number).unwrap();
    while writer.position() < 40_000 {
        writer.write(text, b"0123456789abcdef").unwrap();
    }
    assert_eq!(findings(&writer.finish().unwrap()), []);
}

#[test]
fn a_wrong_checksum_is_found() {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(8192, 2048).unwrap());
    let text = writer.add(&StreamMeta::new("text").format("utf-8")).unwrap();
    while writer.position() < 12_000 {
        writer.write(text, b"0123456789abcdef").unwrap();
    }
    let mut bytes = writer.finish().unwrap();
    let at = find(&bytes, b"0123456789", 9000);
    bytes[at] = b'1';
    assert_eq!(findings(&bytes), [("crc", 8192)]);
}

#[test]
fn a_text_of_streams_that_is_damaged_is_found() {
    let mut bytes = sound();
    let meta = find(&bytes, b"[{\"id\":9", 8192 + INDEX);
    bytes[meta] = b'(';
    // Its header, and a length of one byte.
    assert_eq!(findings(&bytes), [("meta", meta as u64 - 2)]);
}

#[test]
fn a_platform_of_no_byte_order_is_found() {
    let mut bytes = sound();
    let platform = find(&bytes, &[0x0E, 4, 3, 2, 1], 8192);
    bytes[platform + 2] = 9;
    assert_eq!(findings(&bytes), [("platform", platform as u64)]);
}

#[test]
fn padding_that_is_no_padding_is_noted() {
    let mut bytes = sound();
    let padding = (INDEX..bytes.len() - 4).find(|at| {
        let is_padding = bytes[*at] == 2 && bytes[at + 1] > 0 && bytes[at + 2] == 0;
        is_padding && (*at + 2 + usize::from(bytes[at + 1]) - INDEX).is_multiple_of(2048)
    });
    let padding = padding.expect("units that do not end with a frame");
    bytes[padding + 2] = 1;
    assert_eq!(findings(&bytes), [("padding", padding as u64)]);
}

/// A clock of eight bytes and a stream on it.
fn ticking(times: &[u64]) -> Vec<u8> {
    let mut writer = writer();
    let clock = StreamMeta::new("clock").length(8).format("uint64le").flag("clock", true).unwrap();
    let clock = writer.add(&clock.number("gain", 1e-9).unwrap()).unwrap();
    for time in times {
        writer.write(clock, &time.to_le_bytes()).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn a_clock_that_goes_back_is_found_where_it_does() {
    let bytes = ticking(&[5, 9, 7, 10, 2]);
    let third = find(&bytes, &7_u64.to_le_bytes(), INDEX) - 1;
    assert_eq!(findings(&bytes), [("clock", third as u64)]);
    assert_eq!(checked(&bytes)[0].severity, Severity::Warning);
}

#[test]
fn a_clock_that_shows_no_time_is_found() {
    let bytes = ticking(&[5, u64::MAX]);
    let second = find(&bytes, &u64::MAX.to_le_bytes(), INDEX) - 1;
    assert_eq!(findings(&bytes), [("time", second as u64)]);
}

#[test]
fn a_clock_that_is_not_there_is_found() {
    let mut writer = writer();
    let stream = writer.add(&StreamMeta::new("a").text("clock", "none").unwrap()).unwrap();
    writer.write(stream, b"x").unwrap();
    let bytes = writer.finish().unwrap();
    let meta = find(&bytes, b"[{\"id\":9", INDEX) - 2;
    assert_eq!(findings(&bytes), [("clock", meta as u64)]);
}

#[test]
fn streams_of_one_name_are_noted() {
    let mut writer = writer();
    let stream = writer.add(&StreamMeta::new("same")).unwrap();
    writer.add(&StreamMeta::new("same")).unwrap();
    writer.write(stream, b"x").unwrap();
    let bytes = writer.finish().unwrap();
    let meta = find(&bytes, b"[{\"id\":9", INDEX) - 2;
    assert_eq!(findings(&bytes), [("name", meta as u64)]);
}

#[test]
fn a_value_of_the_wrong_length_is_found_once_a_stream() {
    let mut writer = writer();
    let stream = writer.add(&StreamMeta::new("number").format("uint32le")).unwrap();
    for bytes in [&b"abcd"[..], b"abc", b"ab"] {
        writer.write(stream, bytes).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let second = find(&bytes, &[18, 3, b'a', b'b', b'c'], INDEX);
    assert_eq!(findings(&bytes), [("value", second as u64)]);
}

/// Whether or not its writer ended the session.
#[test]
fn a_message_without_an_end_is_warned_of() {
    let mut writer = writer();
    let stream = writer.add(&StreamMeta::new("text")).unwrap();
    writer.write_part(stream, b"begun").unwrap();
    let bytes = writer.finish().unwrap();
    let begun = find(&bytes, &[19, 5, b'b'], INDEX);
    assert_eq!(findings(&bytes), [("unfinished", begun as u64)]);
}

/// A writer that was killed left a message without an end, and no checksum.
#[test]
fn what_a_killed_writer_leaves_is_told() {
    let mut writer = Writer::new(Vec::new(), Options::new());
    let stream = writer.add(&StreamMeta::new("text")).unwrap();
    writer.write_part(stream, b"begun").unwrap();
    writer.flush().unwrap();
    let bytes = writer.output().clone();
    let begun = find(&bytes, &[19, 5, b'b'], INDEX);
    let found = checked(&bytes);
    let found: Vec<_> = found.iter().map(|f| (f.severity, f.rule, f.offset)).collect();
    let expected = [
        (Severity::Warning, "unfinished", Some(begun as u64)),
        (Severity::Note, "end", Some(bytes.len() as u64)),
    ];
    assert_eq!(found, expected);
}

/// A clock is set once, in the first Unit; `level` is on it and fills three. Without the first
/// Unit none of its messages has a time, and that is said with their number.
#[test]
fn messages_whose_clock_was_lost_are_counted() {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(8192, 2048).unwrap());
    let clock = StreamMeta::new("clk").length(8).format("uint64le").flag("clock", true).unwrap();
    let clock = writer.add(&clock.number("gain", 1e-9).unwrap()).unwrap();
    let level = StreamMeta::new("level").length(4).text("clock", "clk").unwrap();
    let level = writer.add(&level).unwrap();
    writer.write(clock, &7_u64.to_le_bytes()).unwrap();
    while writer.position() < 8192 {
        writer.write(level, b"1234").unwrap();
    }
    let first = writer.position();
    for _ in 0..300 {
        writer.write(level, b"1234").unwrap();
    }
    assert!(first < 8192 + 1025 + 200, "the last of these is the only one in the second Unit");
    let bytes = writer.finish().unwrap();
    assert!(checked(&bytes).is_empty());
    let found = checked(&bytes[8192..]);
    let said = found.iter().find(|finding| finding.rule == "time").unwrap();
    assert_eq!(said.severity, Severity::Warning);
    let expected =
        "301 messages of level without a time: what its clock showed before them was lost";
    assert_eq!(said.message, expected);
}

#[test]
fn missing_units_and_bytes_that_are_left_over_are_found() {
    let bytes = sound();
    let found = checked(&bytes[8192..]);
    assert_eq!((found[0].rule, found[0].offset), ("count", Some(0)));
    assert_eq!(found[0].severity, Severity::Warning);
    let others = &found[1..];
    assert!(others.iter().all(|finding| finding.severity == Severity::Note), "{found:?}");
    // What follows the last frame is none.
    let mut longer = bytes.clone();
    longer.extend_from_slice(&[0xFF; 30]);
    let found = findings(&longer);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1 >= bytes.len() as u64 - 16, "{found:?}");
}

/// Stream 9 speaks once, in the first Unit; stream 10 fills three Units more. Damage in the first
/// says nothing of the indices of the others, which name stream 9 in what was lost.
#[test]
fn indices_are_not_blamed_for_naming_what_was_lost() {
    let mut writer = writer();
    let early = writer.add(&StreamMeta::new("early")).unwrap();
    let later = writer.add(&StreamMeta::new("later")).unwrap();
    writer.write(early, &[0xEE; 100]).unwrap();
    while writer.position() < 30_000 {
        writer.write(later, &[0x55; 50]).unwrap();
    }
    let mut bytes = writer.finish().unwrap();
    let at = find(&bytes, &[18, 100, 0xEE], INDEX);
    bytes[at..at + 300].fill(0xFF);
    let rules: Vec<_> = findings(&bytes).into_iter().map(|(rule, _)| rule).collect();
    assert_eq!(rules, ["frames", "may-lack-beginning"]);
}

/// Files of the reference writer that are as it made them.
#[test]
fn sound_files_of_the_reference_writer_have_notes_at_most() {
    let Some(folder) = shared::file("rtc") else { return };
    let mut warned = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let is_recording = path.extension().is_some_and(|extension| extension == "rtc");
        if !is_recording || name.starts_with("small_units_") {
            continue;
        }
        let source = Source::from_bytes(&name, fs::read(&path).unwrap());
        let found = Rtc.check(&source, &Context::default()).unwrap();
        let worst = found.iter().max_by_key(|finding| finding.severity);
        if let Some(worst) = worst.filter(|finding| finding.severity > Severity::Note) {
            warned.push(format!("{name}: {} {}", worst.rule, worst.message));
        }
    }
    warned.sort_unstable();
    // One has a Meta that is longer than a frame, and spoilt where one ends; the other was ended
    // within a message.
    assert_eq!(
        warned,
        [
            "meta_big_std.rtc: meta the text that describes streams is damaged: what it says of some is lost",
            "more_interleaved.rtc: unfinished a message of A has 8 bytes and no end before the end"
        ]
    );
}

/// A clock is set, zeros spoil a message after it, and of four further messages two come before the
/// clock is set again: nobody knows when those were.
#[test]
fn messages_on_a_clock_that_may_have_been_set_by_what_was_lost_are_counted() {
    let mut writer = writer();
    let clock = StreamMeta::new("clk").length(8).format("uint64le").flag("clock", true).unwrap();
    let clock = writer.add(&clock.number("gain", 1e-9).unwrap()).unwrap();
    let level = writer.add(&StreamMeta::new("level").text("clock", "clk").unwrap()).unwrap();
    writer.write(clock, &7_u64.to_le_bytes()).unwrap();
    while writer.position() < INDEX as u64 + 2048 {
        writer.write(level, b"spoilt").unwrap();
    }
    writer.write(level, b"after").unwrap();
    writer.write(level, b"after").unwrap();
    writer.write(clock, &9_u64.to_le_bytes()).unwrap();
    writer.write(level, b"known").unwrap();
    let mut bytes = writer.finish().unwrap();
    assert!(checked(&bytes).iter().all(|finding| finding.rule != "time"));
    // Up to the tick at which the second unit begins, so that reading goes on from there.
    let spoilt = find(&bytes, b"spoilt", INDEX) + 6;
    bytes[spoilt..INDEX + 2048].fill(0xff);
    let found = checked(&bytes);
    let said: Vec<_> = found.iter().filter(|finding| finding.rule == "time").collect();
    assert_eq!(said.len(), 1, "{found:?}");
    let count = bytes[INDEX + 2048..].windows(6).filter(|bytes| bytes == b"spoilt").count() + 2;
    let expected = format!(
        "{count} messages of level after lost frames, before its clock is set again: they may have \
         happened later than their times say"
    );
    assert_eq!((said[0].severity, said[0].message.as_str()), (Severity::Warning, &*expected));
}
