//! Metas that are damaged: what they said is told by the checksum, by other Units, or by what is
//! left of their text.

use kymo_core::{Context, Destination, Severity, Source};
use kymo_model::Format;
use kymo_rtc::{Reader, Rtc};
use kymo_rtc_wire::crc::Polynomial;
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{Options, Writer};

/// Numbers with a gain and an offset on a clock, texts, and pairs of bytes.
fn recording(bytes: u64, crc: Option<Polynomial>) -> Vec<u8> {
    let options = Options::new().sizes(8192, 2048).unwrap().crc(crc);
    let mut writer = Writer::new(Vec::new(), options);
    let clock = StreamMeta::new("clk").length(8).format("uint64le").number("gain", 1e-3).unwrap();
    let clock = writer.add(&clock.flag("clock", true).unwrap()).unwrap();
    let level = StreamMeta::new("level").length(2).format("uint16le").number("gain", 0.5).unwrap();
    let level = level.number("offset", 20.0).unwrap().text("clock", "clk").unwrap();
    let level = writer.add(&level).unwrap();
    let log = StreamMeta::new("log").format("utf-8").text("clock", "clk").unwrap();
    let log = writer.add(&log).unwrap();
    for number in 0_u16.. {
        if writer.position() >= bytes {
            break;
        }
        writer.write(clock, &u64::from(number).to_le_bytes()).unwrap();
        writer.write(level, &number.to_le_bytes()).unwrap();
        writer.write(log, format!("line {number} of the log").as_bytes()).unwrap();
    }
    writer.finish().unwrap()
}

/// Every message as a person sees it: stream, time and value.
fn seen(bytes: &[u8]) -> Vec<String> {
    let source = Source::from_bytes("test.rtc", bytes.to_vec());
    let reader = Reader::open(&source, &Context::default()).unwrap();
    let mut messages = reader.messages();
    let mut seen = Vec::new();
    while let Some(message) = messages.next() {
        let stream = &reader.streams()[message.stream];
        let time = message.time.map(|time| time.0);
        let value = reader.decode(&message).value;
        seen.push(format!("{} {} {time:?} {value:?}", stream.id, stream.name));
    }
    seen
}

fn repaired(bytes: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.rtc");
    let source = Source::from_bytes("test.rtc", bytes.to_vec());
    Rtc.repair(&source, &Destination::new(&path, false), &Context::default()).unwrap();
    std::fs::read(path).unwrap()
}

/// Messages without what clocks showed before, which `repair` has every Unit begin with.
fn told_once(seen: Vec<String>) -> Vec<String> {
    let mut clocks = std::collections::HashMap::new();
    let mut is_new = |line: &String| {
        let stream = line.split(' ').nth(1).unwrap().to_owned();
        stream != "clk" || clocks.insert(stream, line.clone()).as_ref() != Some(line)
    };
    seen.into_iter().filter(|line| is_new(line)).collect()
}

/// What is said of a file, but for notes.
fn said(bytes: &[u8]) -> Vec<(&'static str, String)> {
    let source = Source::from_bytes("test.rtc", bytes.to_vec());
    let found = Rtc.check(&source, &Context::default()).unwrap();
    let found = found.into_iter().filter(|finding| finding.severity > Severity::Note);
    found.map(|finding| (finding.rule, finding.message)).collect()
}

/// Where the frame of a Unit's Meta is: its header, two bytes of length, and its text, behind which
/// the platform stands.
fn meta(bytes: &[u8], marker: usize) -> std::ops::Range<usize> {
    let from = marker + 1025;
    let start = from + bytes[from..].iter().position(|byte| *byte == b'[').unwrap();
    let end = bytes[start..].windows(2).position(|pair| pair == [b']', 0x0E]).unwrap();
    start - 3..start + end + 1
}

fn flipped(bytes: &[u8], at: usize, bit: usize) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    damaged[at] ^= 1 << bit;
    damaged
}

/// A bit of each byte of the Meta of a file of one Unit, of the first and of the second of several:
/// names, times and values of all messages are what they were, also in what `repair` writes.
#[test]
fn a_changed_bit_of_a_meta_changes_nothing_where_there_is_a_checksum() {
    for crc in [Polynomial::Ieee, Polynomial::Mixed] {
        for (bytes, markers) in [(3000, &[0][..]), (20_000, &[0, 8192])] {
            let whole = recording(bytes, Some(crc));
            let original = seen(&whole);
            assert_eq!(said(&whole), []);
            for at in markers.iter().flat_map(|marker| meta(&whole, *marker)) {
                let damaged = flipped(&whole, at, at % 8);
                assert!(seen(&damaged) == original, "{bytes}: byte {at}");
                assert!(!said(&damaged).is_empty(), "{bytes}: byte {at}");
                if at % 16 == 0 {
                    let result = repaired(&damaged);
                    let again = told_once(seen(&result));
                    assert!(again == original, "{bytes}: byte {at}, repaired");
                    assert_eq!(said(&result), [], "{bytes}: byte {at}, repaired");
                }
            }
        }
    }
}

/// The same of a Meta that the tick of a unit divides: of each of its bytes, and of those of its
/// frames' headers and of the index between them.
#[test]
fn a_changed_bit_of_a_meta_that_a_tick_divides_changes_nothing_where_there_is_a_checksum() {
    let options = Options::new().sizes(16_384, 2048).unwrap();
    let mut writer = Writer::new(Vec::new(), options);
    let mut streams = Vec::new();
    for number in 0..24 {
        let meta = StreamMeta::new(&format!("sensor number {number}")).format("uint16le");
        streams.push(writer.add(&meta.text("unit", "degrees").unwrap().length(2)).unwrap());
    }
    for number in 0..1200_u16 {
        writer.write(streams[usize::from(number) % 24], &number.to_le_bytes()).unwrap();
    }
    let whole = writer.finish().unwrap();
    let original = seen(&whole);
    assert_eq!((original.len(), said(&whole)), (1200, vec![]));
    let meta = meta(&whole, 0);
    let tick = 1025 + 2048;
    assert!(meta.contains(&tick) && whole[tick] | 1 == 9, "{meta:?}");
    for at in meta {
        for bit in [at % 8, (at + 3) % 8] {
            let damaged = flipped(&whole, at, bit);
            assert!(seen(&damaged) == original, "byte {at}, bit {bit}: {:?}", said(&damaged));
            assert!(!said(&damaged).is_empty(), "byte {at}, bit {bit}");
        }
    }
}

/// Two bytes of the first Meta were changed so that its text still makes sense: another gain and
/// another name. The next Unit, whose checksum holds, says what is right; that they differ is said.
#[test]
fn the_meta_of_a_sound_unit_counts_more_than_that_of_a_damaged_one() {
    let whole = recording(30_000, Some(Polynomial::Ieee));
    let original = seen(&whole);
    let at = |marker: usize, text: &str| {
        let range = meta(&whole, marker);
        let found = whole[range.clone()].windows(text.len()).position(|w| w == text.as_bytes());
        range.start + found.unwrap()
    };
    for marker in [0, 8192, 16_384] {
        let mut damaged = whole.clone();
        damaged[at(marker, "\"gain\":0.5") + 7] = b'7';
        damaged[at(marker, "\"log\"") + 2] = b'a';
        assert!(seen(&damaged) == original, "Unit at {marker}");
        let said = said(&damaged);
        let rules: Vec<_> = said.iter().map(|(rule, _)| *rule).collect();
        assert_eq!(rules, ["crc", "meta"], "Unit at {marker}: {said:?}");
        assert!(said[1].1.starts_with("what is said of stream 10 is not what another Unit says"));
        let again = told_once(seen(&repaired(&damaged)));
        assert!(again == original, "Unit at {marker}, repaired");
    }
}

/// Without checksums two Metas that agree count more than one that does not.
#[test]
fn without_checksums_the_meta_counts_with_which_another_agrees() {
    let whole = recording(30_000, None);
    let original = seen(&whole);
    for marker in [0, 8192, 16_384] {
        let range = meta(&whole, marker);
        let gain = whole[range.clone()].windows(3).position(|w| w == b"0.5").unwrap();
        let mut damaged = whole.clone();
        damaged[range.start + gain] = b'7';
        assert!(seen(&damaged) == original, "Unit at {marker}");
        let rules: Vec<_> = said(&damaged).iter().map(|(rule, _)| *rule).collect();
        assert_eq!(rules, ["meta"], "Unit at {marker}");
    }
}

/// Where nothing else tells, what is whole of the text counts: a quote of one stream's format and
/// the bracket before another were changed, in a file of one Unit without a checksum.
#[test]
fn what_is_whole_of_a_damaged_meta_counts() {
    let whole = recording(3000, None);
    let original = seen(&whole);
    let range = meta(&whole, 0);
    let at = |text: &str| {
        let found = whole[range.clone()].windows(text.len()).position(|w| w == text.as_bytes());
        range.start + found.unwrap()
    };
    // The clock lacks its gain, and the log the name of its clock.
    let mut damaged = whole.clone();
    damaged[at("\"gain\":0.001") + 7] = b'x';
    damaged[at("\"clk\"},{\"id\":11")] = b'x';
    let found = seen(&damaged);
    assert_eq!(found.len(), original.len());
    let item = |seen: &[String], id: &str| -> Vec<String> {
        let this_filter = seen.iter().filter(|line| line.starts_with(id));
        this_filter
            .map(|line| line.rsplit_once(" Some(").unwrap_or((line, "")).0.to_owned())
            .collect()
    };
    assert_eq!(item(&found, "10 level").len(), item(&original, "10 level").len());
    assert_eq!(item(&found, "11 log").len(), item(&original, "11 log").len());
    // Its frame says another length: the text itself, and the platform behind it, tell.
    let mut damaged = whole.clone();
    damaged[range.start + 1] ^= 0x15;
    assert!(seen(&damaged) == original);
}

/// What to change four bytes of a file by so that the checksum of a range becomes another: each of
/// their bits changes the checksum in its own way, whatever the other bytes are.
fn forced(bytes: &mut [u8], range: std::ops::Range<usize>, at: usize, wanted: u32) {
    let item = |bytes: &[u8]| Polynomial::Ieee.checksum(&bytes[range.clone()]);
    let before = item(bytes);
    let mut effects: Vec<(u32, u32)> = (0..32)
        .map(|bit| {
            let changed = flipped(bytes, at + bit / 8, bit % 8);
            (item(&changed) ^ before, 1 << bit)
        })
        .collect();
    let (mut left, mut bits) = (before ^ wanted, 0);
    for high in (0..32).rev() {
        let Some(found) = effects.iter().position(|(effect, _)| effect >> high == 1) else {
            continue;
        };
        let (effect, value) = effects.swap_remove(found);
        for other in effects.iter_mut().filter(|(other, _)| other >> high & 1 == 1) {
            *other = (other.0 ^ effect, other.1 ^ value);
        }
        if left >> high & 1 == 1 {
            (left, bits) = (left ^ effect, bits ^ value);
        }
    }
    assert_eq!(left, 0);
    for (number, byte) in bits.to_le_bytes().into_iter().enumerate() {
        bytes[at + number] ^= byte;
    }
    assert_eq!(item(bytes), wanted);
}

/// Something behind the Meta was changed such that the checksum would hold if a letter of the Meta
/// were another, with the number read in the one byte order or the other: the Meta makes sense, and
/// stays as it is.
#[test]
fn a_meta_that_makes_sense_is_not_changed_for_damage_elsewhere() {
    let whole = recording(3000, Some(Polynomial::Ieee));
    let meta = meta(&whole, 0);
    let crc = whole.len() - 4;
    let stored: [u8; 4] = whole[crc..].try_into().unwrap();
    let name = meta.start + whole[meta.clone()].windows(5).position(|w| w == b"level").unwrap();
    let original = seen(&whole);
    for wanted in [u32::from_le_bytes(stored), u32::from_be_bytes(stored)] {
        for (letter, is_header_damaged) in [(0xB2, true), (0xB2, false), (b'n', true)] {
            // A header and a payload, somewhere in the middle.
            let mut damaged = whole.clone();
            let line = damaged.windows(8).position(|window| window == b"line 20 ").unwrap();
            if is_header_damaged {
                damaged[line - 2] ^= 0x40;
            }
            let mut other = damaged.clone();
            other[name] = letter;
            forced(&mut other, 1025..crc - 1, line + 8, wanted);
            damaged[line + 8..line + 12].copy_from_slice(&other[line + 8..line + 12]);
            let found = seen(&damaged);
            let is_kept = |message: &String| original.contains(message) || message.contains("20");
            assert!(found.iter().all(is_kept), "{letter}: {found:?}");
            assert!(said(&damaged).iter().all(|(rule, _)| *rule != "meta"), "{letter}");
        }
    }
}

/// Two bytes of a clock's description are missing, and its gain with them: a time that is a thousand
/// times too large is worse than none.
#[test]
fn a_clock_whose_description_is_damaged_tells_no_times() {
    let whole = recording(3000, Some(Polynomial::Ieee));
    let place = whole.windows(6).position(|window| window == b"gain\":").unwrap();
    let damaged = [&whole[..place + 4], &whole[place + 6..]].concat();
    let found = seen(&damaged);
    assert_eq!(found.len(), seen(&whole).len());
    assert!(found.iter().all(|message| message.contains(" None ")), "{found:?}");
    let said = said(&damaged);
    let times: Vec<&str> =
        said.iter().filter(|(rule, _)| *rule == "time").map(|(_, text)| text.as_str()).collect();
    assert!(times[0].starts_with("the description of the clock clk is damaged"), "{times:?}");
    assert!(times[1].contains("messages of level without a time"), "{times:?}");
    assert!(times[2].contains("messages of log without a time"), "{times:?}");
    assert_eq!(times.len(), 3);
}

/// A Meta of several frames that a tick divides, whose first stream has a name of so many letters.
fn divided(letters: usize) -> Vec<u8> {
    let options = Options::new().sizes(16_384, 2048).unwrap();
    let mut writer = Writer::new(Vec::new(), options);
    let mut streams = Vec::new();
    for number in 0..24 {
        let name = if number == 0 { "n".repeat(letters) } else { format!("sensor {number}") };
        let meta = StreamMeta::new(&name).format("uint16le").text("unit", "degrees").unwrap();
        streams.push(writer.add(&meta.length(2)).unwrap());
    }
    for number in 0..1200_u16 {
        writer.write(streams[usize::from(number) % 24], &number.to_le_bytes()).unwrap();
    }
    writer.finish().unwrap()
}

/// The first writers begin a piece of text anew where a frame ends: its beginning is there twice,
/// and as much of its end is missing. The checksum is of those bytes.
#[test]
fn a_changed_bit_of_a_meta_that_its_writer_spoilt_costs_nothing_else() {
    // The frame ends 5 letters behind the id of a stream.
    let spoilt = (1..100).find_map(|letters| {
        let mut whole = divided(letters);
        let meta = meta(&whole, 0);
        let seam = meta.start + 3 + 1024;
        let comma = whole[..seam].iter().rposition(|byte| *byte == b',').unwrap() + 1;
        let is_behind_id = !whole[comma - 4..comma].contains(&b'"') && seam - comma == 5;
        is_behind_id.then(|| {
            // Behind the seam the next frame has its header and two bytes of length.
            let end = seam + whole[seam..].iter().position(|byte| *byte == b'}').unwrap();
            let text: Vec<u8> = [&whole[comma..seam], &whole[seam + 3..end]].concat();
            whole[seam + 3..end].copy_from_slice(&text[..end - seam - 3]);
            whole
        })
    });
    let mut whole = spoilt.unwrap();
    let crc = whole.len() - 5;
    let value = Polynomial::Ieee.checksum(&whole[1025..crc]);
    whole[crc + 1..].copy_from_slice(&value.to_le_bytes());
    let original = seen(&whole);
    let rules = |bytes: &[u8]| said(bytes).into_iter().map(|(rule, _)| rule).collect::<Vec<_>>();
    assert_eq!((original.len(), rules(&whole)), (1200, vec!["meta"]));
    for at in meta(&whole, 0) {
        let damaged = flipped(&whole, at, at % 8);
        assert!(seen(&damaged) == original, "byte {at}: {:?}", said(&damaged));
    }
}

/// A stream that is created later is described by a `meta`, here of the only Unit.
#[test]
fn a_changed_bit_of_a_meta_within_a_unit_changes_nothing_where_there_is_a_checksum() {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(8192, 2048).unwrap());
    let first = writer.add(&StreamMeta::new("first").format("utf-8")).unwrap();
    writer.write(first, b"before").unwrap();
    let later = writer.add(&StreamMeta::new("later").format("uint16le").length(2)).unwrap();
    for number in 0..20_u16 {
        writer.write(later, &number.to_le_bytes()).unwrap();
        writer.write(first, b"between").unwrap();
    }
    let whole = writer.finish().unwrap();
    let original = seen(&whole);
    assert_eq!((original.len(), said(&whole)), (41, vec![]));
    let start = 1025 + whole[1025..].windows(8).position(|text| text == b"{\"id\":10").unwrap() - 3;
    assert_eq!(whole[start], 0x0C);
    let end = start + 2 + usize::from(whole[start + 1]);
    for at in start..end {
        for bit in 0..8 {
            let damaged = flipped(&whole, at, bit);
            assert!(seen(&damaged) == original, "byte {at}, bit {bit}: {:?}", said(&damaged));
            assert!(!said(&damaged).is_empty(), "byte {at}, bit {bit}");
        }
    }
}

/// The same of files of the first writers: of a Meta that a tick divides and that they spoilt, and of
/// a `meta` of an appended session.
#[test]
fn a_changed_bit_of_a_meta_of_the_first_writers_costs_no_message() {
    let files =
        [("meta_big_std.rtc", 0x48F..0x1945_usize), ("example_inputs_append2.rtc", 2350..2384)];
    for (name, meta) in files {
        let Some(path) = kymo_conformance::shared::file(&format!("rtc/{name}")) else { return };
        let whole = std::fs::read(path).unwrap();
        let original = seen(&whole);
        let step = if meta.len() > 100 { 13 } else { 1 };
        for at in meta.step_by(step).chain([1300, 1783].into_iter().filter(|_| step > 1)) {
            for bit in [1, 2, at % 8] {
                let damaged = flipped(&whole, at, bit);
                assert!(seen(&damaged) == original, "{name} {at} {bit}: {:?}", said(&damaged));
            }
        }
    }
}
