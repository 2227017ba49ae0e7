//! Where the writer puts what: worked out by hand from the specification.

use crate::independent;

use crate::independent::{Session, Sum};
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{ByteOrder, Options, SizesError, WHOLE_BYTES_MAX, WriteError, Writer};

fn small() -> Options {
    Options::new().sizes(8192, 2048).unwrap()
}

fn writer(options: Options) -> Writer<Vec<u8>> {
    Writer::new(Vec::new(), options)
}

fn read(file: &[u8]) -> Session {
    let session = independent::session(file, Sum::Ieee);
    assert_eq!(session.end, file.len());
    session
}

#[test]
fn the_bytes_of_a_small_file_are_as_worked_out_by_hand() {
    let mut writer =
        writer(Options::new().sizes(4096, 2048).unwrap().byte_order(ByteOrder::Little));
    let stream = writer.add(&StreamMeta::new("a").length(2)).unwrap();
    writer.write(stream, b"hi").unwrap();
    let file = writer.finish().unwrap();

    let mut expected = vec![4];
    expected.extend([0xB9; 1024]);
    // Index, 15 bytes: count 0; 3 at 4096 and 4 at 2048 back; 5, 7, 8 and 9 never seen.
    expected.extend([6, 15, 0, 7, 0x80, 0x40, 9, 0x80, 0x20, 11, 0, 15, 0, 17, 0, 19, 0]);
    let meta = br#"[{"id":9,"name":"a","length":2},10]"#;
    expected.extend([10, meta.len() as u8]);
    expected.extend(meta);
    // Platform; the message; the Crc, taken by the tests' own implementation.
    expected.extend([14, 4, 3, 2, 1, 18, b'h', b'i']);
    let crc = independent::crc(Sum::Ieee, &expected[1025..]);
    expected.push(16);
    expected.extend(crc.to_le_bytes());
    assert_eq!(file, expected);
}

#[test]
fn sizes_that_no_ruler_has_are_refused() {
    for (major, minor) in [(4096, 1024), (2048, 4096), (6144, 2048), (8192, 3072), (0, 0)] {
        let error = SizesError { major_bytes: major, minor_bytes: minor };
        assert_eq!(Options::new().sizes(major, minor), Err(error));
    }
    assert!(Options::new().sizes(2048, 2048).is_ok());
}

#[test]
fn empty_messages_vanish_but_not_the_empty_end_of_one_in_parts() {
    let mut writer = writer(small());
    let stream = writer.add(&StreamMeta::new("a")).unwrap();
    writer.write(stream, b"").unwrap();
    writer.write_part(stream, b"").unwrap();
    assert_eq!(writer.position(), 0, "nothing was written, so nothing began");
    writer.write_part(stream, b"x").unwrap();
    writer.write(stream, b"").unwrap();
    writer.write(stream, b"y").unwrap();
    let session = read(&writer.finish().unwrap());
    assert_eq!(session.of("a"), [b"x", b"y"]);
}

#[test]
fn a_message_that_does_not_fit_its_stream_is_refused_and_nothing_else_happens() {
    let mut writer = writer(small());
    let stream = writer.add(&StreamMeta::new("a").length(4)).unwrap();
    assert_eq!(writer.write(stream, b"123"), Err(WriteError::Length { expected: 4, found: 3 }));
    assert_eq!(writer.write_part(stream, b"1234"), Err(WriteError::Part));
    writer.write(stream, b"1234").unwrap();
    writer.close(stream).unwrap();
    assert_eq!(writer.write(stream, b"1234"), Err(WriteError::UnknownStream));
    assert_eq!(writer.close(stream), Err(WriteError::UnknownStream));
    assert_eq!(read(&writer.finish().unwrap()).messages.len(), 1);
}

#[test]
fn an_id_is_not_given_twice() {
    let mut writer = writer(small());
    let first = writer.add_with_id(300, &StreamMeta::new("a")).unwrap();
    writer.close(first).unwrap();
    assert_eq!(writer.add_with_id(300, &StreamMeta::new("b")), Err(WriteError::Id(300)));
    assert_eq!(writer.add(&StreamMeta::new("c")).unwrap().id(), 301);
    assert_eq!(writer.add_with_id(u32::MAX, &StreamMeta::new("d")), Err(WriteError::Id(u32::MAX)));
}

#[test]
fn without_messages_the_streams_are_still_described() {
    assert_eq!(writer(small()).finish().unwrap(), b"");
    let mut writer = writer(small());
    writer.add(&StreamMeta::new("a")).unwrap();
    let session = read(&writer.finish().unwrap());
    assert_eq!(session.streams[&9]["name"], "a");
    assert_eq!(session.units[0].crc, Some(true));
}

#[test]
fn meta_describes_what_the_last_unit_used_and_an_idle_stream_is_described_before_it_is_used() {
    let mut writer = writer(small());
    let busy = writer.add(&StreamMeta::new("busy").length(50)).unwrap();
    let idle = writer.add(&StreamMeta::new("idle").length(8)).unwrap();
    writer.write(idle, b"early bi").unwrap();
    while writer.position() < 3 * 8192 {
        writer.write(busy, &[7; 50]).unwrap();
    }
    writer.write(idle, b"late bir").unwrap();
    while writer.position() < 5 * 8192 {
        writer.write(busy, &[8; 50]).unwrap();
    }
    let file = writer.finish().unwrap();
    let session = read(&file);
    let both = r#"[{"id":9,"name":"busy","length":50},{"id":10,"name":"idle","length":8},11]"#;
    let one = r#"[{"id":9,"name":"busy","length":50},11]"#;
    let metas: Vec<_> = session.units.iter().map(|unit| unit.meta.as_str()).collect();
    assert_eq!(metas[..5], [both, both, one, one, both]);
    let minor_metas: Vec<_> = session.frames.iter().filter(|frame| frame.id == 6).collect();
    assert_eq!(minor_metas.len(), 1);
    let late = session.messages.iter().rfind(|message| message.id == 10).unwrap();
    assert_eq!(minor_metas[0].payload.1, late.at, "the meta stands just before the frame");
    // The rest alone, as after a cut at the head, is a session too; only its count is another.
    let rest = independent::session(&file[3 * 8192..], Sum::Ieee);
    assert!(rest.messages.iter().any(|message| message.bytes == b"late bir"));
}

#[test]
fn a_stream_added_at_the_end_of_a_unit_is_described_in_one_unit() {
    for left in 0..200 {
        let mut writer = writer(small());
        let filler = writer.add(&StreamMeta::new("filler")).unwrap();
        while writer.position() < 8187 - left - 1024 {
            writer.write(filler, b"-").unwrap();
        }
        let rest = 8187 - left - writer.position();
        writer.write(filler, &vec![b'='; rest as usize - 3]).unwrap();
        let late = writer.add(&StreamMeta::new("late").length(3)).unwrap();
        writer.write(late, b"abc").unwrap();
        let file = writer.finish().unwrap();
        let session = read(&file);
        assert_eq!(session.of("late"), [b"abc"], "{left} bytes left");
        let frames: Vec<_> = session.frames.iter().filter(|frame| frame.id == 6).collect();
        assert!(
            frames
                .iter()
                .all(|frame| frame.at / 8192 == frames.last().unwrap().at / 8192 || !frame.more)
        );
    }
}

#[test]
fn small_messages_are_never_split_and_others_fill_the_unit() {
    for length in [1, 16, WHOLE_BYTES_MAX - 1, WHOLE_BYTES_MAX, 100, 1500] {
        let mut writer = writer(small());
        let fixed = writer.add(&StreamMeta::new("fixed").length(length as u64)).unwrap();
        for round in 0..500_usize {
            writer.write(fixed, &vec![round as u8; length]).unwrap();
        }
        let session = read(&writer.finish().unwrap());
        let splits = session.frames.iter().filter(|frame| frame.id == 9 && frame.more).count();
        assert_eq!(splits > 0, length >= WHOLE_BYTES_MAX, "messages of {length} bytes");
        assert_eq!(session.messages.len(), 500);
    }
}

#[test]
fn an_index_of_hundreds_of_streams_is_chained_and_a_meta_may_cross_units() {
    let mut writer = writer(Options::new().sizes(1 << 18, 1 << 15).unwrap());
    let streams: Vec<_> = (0..1000)
        .map(|number| {
            StreamMeta::new(&format!("stream number {number}")).text("unit", "degrees Celsius")
        })
        .map(|meta| writer.add(&meta.unwrap()).unwrap())
        .collect();
    for round in 0..60_u8 {
        for &stream in &streams {
            writer.write(stream, &[round; 9]).unwrap();
        }
    }
    let file = writer.finish().unwrap();
    let session = read(&file);
    assert_eq!(session.messages.len(), 60_000);
    assert!(session.units.len() >= 3 && session.units.iter().all(|unit| unit.crc == Some(true)));
    let first = &session.units[0];
    let ticks_in_meta = session.indices.iter().filter(|index| {
        index.count.is_none()
            && (first.meta_at..first.meta_at + first.meta.len()).contains(&index.at)
    });
    assert!(ticks_in_meta.count() >= 1, "the first Meta has {} bytes", first.meta.len());
    let chained = session.frames.iter().filter(|frame| frame.id == 4 && frame.more).count();
    assert!(chained > session.indices.len(), "{chained}");
}

#[test]
fn more_streams_than_the_units_have_room_for_are_refused() {
    let mut writer = writer(Options::new().sizes(2048, 2048).unwrap());
    let first = writer.add(&StreamMeta::new("first")).unwrap();
    writer.write(first, b"1").unwrap();
    let refused = (0..100).find_map(|_| writer.add(&StreamMeta::new("another")).err());
    assert!(matches!(refused, Some(WriteError::NoRoom { .. })), "{refused:?}");
    for _ in 0..1000 {
        writer.write(first, b"22").unwrap();
    }
    assert_eq!(read(&writer.finish().unwrap()).of("first").len(), 1001);
}

#[test]
fn the_last_unit_has_a_checksum_wherever_it_ends() {
    for (major, minor) in [(4096, 4096), (8192, 2048)] {
        for length in 1..2100 {
            let mut writer = writer(Options::new().sizes(major, minor).unwrap());
            let stream = writer.add(&StreamMeta::new("a")).unwrap();
            for _ in 0..length / 1000 {
                writer.write(stream, &[1; 1000]).unwrap();
            }
            writer.write(stream, &vec![2; length % 1000]).unwrap();
            let session = read(&writer.finish().unwrap());
            assert!(session.units.iter().all(|unit| unit.crc == Some(true)), "{length}");
        }
    }
}

#[test]
fn a_restarted_writer_keeps_its_streams_on_another_output() {
    let mut writer = writer(small());
    let first = writer.add(&StreamMeta::new("first")).unwrap();
    let second = writer.add(&StreamMeta::new("second").length(2)).unwrap();
    let large = vec![1; 20_000];
    writer.write(first, &large).unwrap();
    let former = writer.restart(Vec::new()).unwrap();
    writer.write(second, b"ab").unwrap();
    let latter = writer.finish().unwrap();
    assert_eq!(read(&former).of("first"), [large]);
    let session = read(&latter);
    assert_eq!((session.indices[0].count, session.of("second")), (Some(0), vec![b"ab".to_vec()]));
    assert_eq!(session.streams.len(), 2);
}

/// Stream 9 keeps its last message. A message of stream 10 that the end of a Unit divides goes on
/// first; before the next one begins, stream 9 is told again.
#[test]
fn what_is_kept_stands_in_every_unit_before_a_message_begins() {
    let mut writer = writer(small());
    let clock = writer.add(&StreamMeta::new("clock").length(2)).unwrap();
    let data = writer.add(&StreamMeta::new("data").length(700)).unwrap();
    writer.write(clock, b"t1").unwrap();
    writer.keep(clock, b"t1").unwrap();
    assert_eq!(writer.keep(clock, b"long"), Err(WriteError::Length { expected: 2, found: 4 }));
    for number in 0..40 {
        writer.write(data, &[number; 700]).unwrap();
        if number == 20 {
            writer.keep(clock, b"t2").unwrap();
        }
    }
    let session = read(&writer.finish().unwrap());
    assert!(session.units.len() > 3);
    for unit in session.units.iter().skip(1) {
        let of_unit = unit.at..unit.at + 8192;
        let mut frames = session.frames.iter().filter(|frame| of_unit.contains(&frame.at));
        let begun = session.messages.iter().filter(|message| message.id == 10);
        let begun = begun.filter(|message| of_unit.contains(&message.at));
        let Some(first) = frames.find(|frame| frame.id == 9) else {
            assert_eq!(begun.count(), 0, "what went on is all that the last Unit has");
            continue;
        };
        assert!(begun.clone().all(|message| first.at < message.at), "Unit at {}", unit.at);
        let twentieth = session.messages.iter().filter(|message| message.id == 10).nth(20).unwrap();
        let expected = if first.at > twentieth.end { b"t2" } else { b"t1" };
        let told = session.messages.iter().find(|message| message.at == first.at).unwrap();
        assert_eq!(told.bytes, expected);
    }
    assert_eq!(session.of("data").len(), 40);
}

#[test]
fn very_many_streams_are_added_and_closed_in_no_time() {
    let mut writer = writer(Options::new().sizes(1 << 26, 1 << 23).unwrap());
    let mut streams: Vec<_> =
        (0..100_000).map(|_| writer.add(&StreamMeta::new("s")).unwrap()).collect();
    for &stream in &streams {
        writer.write(stream, b"x").unwrap();
    }
    // All but every thousandth, in an order of its own.
    streams.sort_by_key(|stream| stream.id() % 1000);
    let closed = streams.split_off(100);
    for stream in closed {
        writer.close(stream).unwrap();
    }
    let again = writer.add(&StreamMeta::new("again")).unwrap();
    assert_eq!(again.id(), 100_009, "ids are not used again");
    writer.write(again, b"y").unwrap();
    for &stream in &streams {
        writer.write(stream, b"z").unwrap();
    }
    let session = read(&writer.finish().unwrap());
    assert_eq!(session.messages.len(), 100_101);
}

/// A message of 16 bytes has a header of one. To a Unit of 1 MiB belong a Marker (1025 bytes), a Crc
/// (5) and a platform (5), an Index and a Meta of less than 100 bytes each, and before the Crc and
/// before each of seven indices of less than 30 bytes at most 16 bytes of padding.
#[test]
fn a_file_of_small_messages_is_little_larger_than_they_are() {
    let mut writer = writer(Options::new());
    let sample = writer.add(&StreamMeta::new("sample").length(16)).unwrap();
    let count = 1_000_000;
    for number in 0..1_000_000_u128 {
        writer.write(sample, &number.to_le_bytes()).unwrap();
    }
    let bytes = writer.finish().unwrap().len();
    let units = bytes.div_ceil(1 << 20);
    let beside = bytes - 17 * count;
    assert!(beside < units * (1025 + 5 + 5 + 2 * 100 + 16 + 7 * (30 + 16)), "{beside} bytes");
    assert!(bytes * 1000 <= 16 * count * 1064, "{bytes} bytes");
}
