//! What a recorder writes, read back by a reader that shares no code with it.

use crate::independent;

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::independent::{Session, Sum};
use kymo_recorder::format::{Be, Format, Json, Le, Leb128, Raw, Uleb128, Utf8};
use kymo_recorder::{Config, Error, Flush, Recorder, Resolution, StreamOptions, Sync, Timespec};

/// Reads a file of one session that ended well.
fn read(path: &Path) -> Session {
    let file = fs::read(path).unwrap();
    let session = independent::session(&file, Sum::Ieee);
    assert_eq!(session.end, file.len());
    assert!(session.units.iter().all(|unit| unit.crc == Some(true)));
    session
}

/// The names and bytes of all messages in their order.
fn in_order(session: &Session) -> Vec<(String, Vec<u8>)> {
    let name = |id| session.streams[&id]["name"].as_str().unwrap().to_owned();
    session.messages.iter().map(|message| (name(message.id), message.bytes.clone())).collect()
}

/// Records values of one format; returns its name in the file, its length, and the bytes.
fn record<F: Format>(values: Vec<F::Value<'_>>) -> (String, Option<u64>, Vec<Vec<u8>>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rtc");
    let mut recorder = Recorder::create(&path).unwrap();
    let stream = recorder.stream::<F>("a").unwrap();
    for value in values {
        recorder.write(stream, value).unwrap();
    }
    recorder.finish().unwrap();
    let session = read(&path);
    let meta = &session.streams[&9];
    (meta["format"].as_str().unwrap_or("raw").to_owned(), meta["length"].as_u64(), session.of("a"))
}

#[test]
fn every_default_format_has_its_name_and_its_bytes() {
    let expect = |name: &str, length, bytes: &[u8]| (name.to_owned(), length, vec![bytes.to_vec()]);
    assert_eq!(record::<u8>(vec![7]), expect("uint8", Some(1), &[7]));
    assert_eq!(record::<Le<u16>>(vec![0x102]), expect("uint16le", Some(2), &[2, 1]));
    assert_eq!(record::<Be<u32>>(vec![0x102]), expect("uint32be", Some(4), &[0, 0, 1, 2]));
    assert_eq!(record::<u64>(vec![9]), expect("uint64", Some(8), &9_u64.to_ne_bytes()));
    assert_eq!(record::<i8>(vec![-1]), expect("int8", Some(1), &[255]));
    assert_eq!(record::<Be<i16>>(vec![-2]), expect("int16be", Some(2), &[255, 254]));
    assert_eq!(record::<Le<i32>>(vec![-2]), expect("int32le", Some(4), &[254, 255, 255, 255]));
    assert_eq!(record::<i64>(vec![-9]), expect("int64", Some(8), &(-9_i64).to_ne_bytes()));
    assert_eq!(record::<Le<f32>>(vec![1.0]), expect("float32le", Some(4), &[0, 0, 0x80, 0x3F]));
    assert_eq!(
        record::<Be<f64>>(vec![1.0]),
        expect("float64be", Some(8), &[0x3F, 0xF0, 0, 0, 0, 0, 0, 0])
    );
    assert_eq!(record::<Uleb128>(vec![624_485]), expect("uleb128", None, &[0xE5, 0x8E, 0x26]));
    assert_eq!(record::<Leb128>(vec![-123_456]), expect("leb128", None, &[0xC0, 0xBB, 0x78]));
    assert_eq!(record::<Utf8>(vec!["é"]), expect("utf-8", None, &[0xC3, 0xA9]));
    assert_eq!(record::<Json>(vec!["[1]"]), expect("json", None, b"[1]"));
    assert_eq!(record::<Raw>(vec![&[1, 2]]), expect("raw", None, &[1, 2]));
    let bytes = [7_u64.to_ne_bytes().as_slice(), &9_u32.to_ne_bytes()].concat();
    assert_eq!(record::<Timespec>(vec![Timespec::new(7, 9)]), expect("timespec", Some(12), &bytes));
}

#[test]
fn what_is_not_json_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::create(folder.path().join("a.rtc")).unwrap();
    let stream = recorder.stream::<Json>("a").unwrap();
    assert!(matches!(recorder.write(stream, "{"), Err(Error::NotJson)));
    let options = StreamOptions::new("b").object("[]");
    assert!(matches!(recorder.stream::<u8>(options), Err(Error::Meta(_))));
}

#[test]
fn a_delta_clock_is_set_by_steps_from_its_base_which_is_renewed_every_second() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rtc");
    let mut recorder = Recorder::create(&path).unwrap();
    let base = recorder.absolute_clock("clk").unwrap();
    let delta = recorder.delta_clock("clk delta", base, Resolution::Milliseconds).unwrap();
    let sample = recorder.stream::<u8>(StreamOptions::new("sample").clock(delta)).unwrap();
    let at = |milliseconds: u32| {
        Timespec::new(51_330 + u64::from(milliseconds / 1000), milliseconds % 1000 * 1_000_000)
    };
    for (number, milliseconds) in [(1, 556), (2, 656), (3, 656), (4, 756), (5, 1600)] {
        recorder.write_at(sample, at(milliseconds), number).unwrap();
    }
    assert!(matches!(recorder.write_at(sample, at(600), 6), Err(Error::Backwards(_))));
    assert!(matches!(recorder.write_at(sample, 600_u64, 6), Err(Error::Unit(_))));
    recorder.finish().unwrap();

    let session = read(&path);
    assert_eq!(session.streams[&9]["clock"], true);
    assert_eq!(session.streams[&10]["delta"], "clk");
    assert_eq!(session.streams[&10]["gain"], 1e-3);
    assert_eq!(session.streams[&11]["clock"], "clk delta");
    let expected: Vec<(&str, Vec<u8>)> = vec![
        ("clk", at(556).to_bytes().to_vec()),
        ("clk delta", vec![0]),
        ("sample", vec![1]),
        ("clk delta", vec![100]),
        ("sample", vec![2]),
        ("sample", vec![3]),
        ("clk delta", vec![0xC8, 1]),
        ("sample", vec![4]),
        ("clk", at(1600).to_bytes().to_vec()),
        ("clk delta", vec![0]),
        ("sample", vec![5]),
    ];
    let expected: Vec<_> =
        expected.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
    assert_eq!(in_order(&session), expected);
}

#[test]
fn a_counter_has_gain_and_offset_and_a_delta_on_it_counts_its_ticks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rtc");
    let mut recorder = Recorder::create(&path).unwrap();
    let cycles = recorder.counter_clock("cycles", 1e-8, 5.5).unwrap();
    let delta = recorder.delta_clock("delta", cycles, Resolution::default()).unwrap();
    let event = recorder.stream::<Utf8>(StreamOptions::new("event").clock(delta)).unwrap();
    recorder.write_at(event, 1000, "a").unwrap();
    recorder.write_at(event, 1005, "b").unwrap();
    recorder.finish().unwrap();
    let session = read(&path);
    let meta = &session.streams[&9];
    assert_eq!((meta["gain"].as_f64(), meta["offset"].as_f64()), (Some(1e-8), Some(5.5)));
    assert_eq!(session.streams[&10]["gain"], 1e-8);
    assert_eq!(session.of("cycles"), [1000_u64.to_ne_bytes()]);
    assert_eq!(session.of("delta"), [[0], [5]]);
}

#[test]
fn annotations_hold_a_time_and_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rtc");
    let mut recorder = Recorder::create(&path).unwrap();
    recorder.stream::<Utf8>("stdout").unwrap();
    let remarks = recorder.annotations::<Utf8>("remarks", Some("stdout")).unwrap();
    let versions = recorder.annotations::<u16>("versions", None).unwrap();
    recorder.annotate(remarks, Timespec::new(3, 4), "looks odd").unwrap();
    recorder.annotate(versions, Timespec::new(5, 6), 7).unwrap();
    recorder.finish().unwrap();
    let session = read(&path);
    assert_eq!(session.streams[&10]["format"], "annotate/utf-8");
    assert_eq!(session.streams[&10]["stream"], "stdout");
    assert_eq!(session.streams[&11]["length"], 14);
    let remark = [Timespec::new(3, 4).to_bytes().as_slice(), b"looks odd"].concat();
    assert_eq!(session.of("remarks"), [remark]);
    let version = [Timespec::new(5, 6).to_bytes().as_slice(), &7_u16.to_ne_bytes()].concat();
    assert_eq!(session.of("versions"), [version]);
}

#[test]
fn the_present_never_goes_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::create(folder.path().join("a.rtc")).unwrap();
    let clock = recorder.absolute_clock("clk").unwrap();
    let stream = recorder.stream::<u8>(StreamOptions::new("a").clock(clock)).unwrap();
    for number in 0..100 {
        recorder.write_now(stream, number).unwrap();
    }
    let without = recorder.stream::<u8>("b").unwrap();
    assert!(matches!(recorder.write_now(without, 1), Err(Error::NoClock)));
    recorder.finish().unwrap();
}

#[test]
fn an_appended_session_follows_one_that_was_cut_short() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rtc");
    for round in 0..3_u32 {
        let mut recorder = Recorder::append(&path).unwrap();
        let stream = recorder.stream::<u32>("a").unwrap();
        for number in 0..100 {
            recorder.write(stream, round * 1000 + number).unwrap();
        }
        recorder.finish().unwrap();
        // The end is lost: the Crc and half of the last value.
        let file = fs::read(&path).unwrap();
        fs::write(&path, &file[..file.len() - 7]).unwrap();
    }
    let sessions = independent::sessions(&fs::read(&path).unwrap(), Sum::Ieee);
    assert_eq!(sessions.len(), 3);
    for (round, session) in sessions.iter().enumerate() {
        let values = session.of("a");
        assert_eq!(values.len(), 99);
        assert_eq!(values[98], (round as u32 * 1000 + 98).to_ne_bytes());
    }
}

#[test]
fn every_part_of_a_rotation_is_readable_on_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rtc");
    fs::write(folder.path().join("run.2.rtc"), "somebody's").unwrap();
    let config = Config::new().sizes(8192, 2048).unwrap().rotate_after(20_000).sync(Sync::Finish);
    let mut recorder = config.create(&path).unwrap();
    let clock = recorder.absolute_clock("clk").unwrap();
    let delta = recorder.delta_clock("delta", clock, Resolution::Microseconds).unwrap();
    let options = StreamOptions::new("sample").clock(delta);
    let sample = recorder.stream::<Le<u32>>(options).unwrap();
    recorder.stream::<Utf8>("never used").unwrap();
    for number in 0..10_000_u32 {
        recorder.write_at(sample, Timespec::new(100, number * 1000), number).unwrap();
    }
    recorder.finish().unwrap();
    assert_eq!(fs::read(folder.path().join("run.2.rtc")).unwrap(), b"somebody's");

    let mut expected = 0_u32;
    for name in ["run.rtc", "run.1.rtc", "run.3.rtc", "run.4.rtc"] {
        let session = read(&folder.path().join(name));
        assert_eq!(session.streams.len(), 4, "{name} describes all");
        let order = in_order(&session);
        assert_eq!((order[0].0.as_str(), order[1].0.as_str()), ("clk", "delta"), "{name}");
        let first = u64::from(expected).saturating_sub(1);
        let micros = independent::number(&order[1].1, 0).unwrap().0;
        // A part begins before a time is set, or before what happened then.
        let expected_micros = [first, u64::from(expected)];
        assert!(expected_micros.contains(&micros), "{name}: the last time of the part before");
        for value in session.of("sample") {
            assert_eq!(value, expected.to_le_bytes());
            expected += 1;
        }
    }
    assert!(expected > 5000);
}

/// Messages come so fast that the base of the delta clock is set once in several Units: each Unit
/// has it all the same before its first message that begins there.
#[test]
fn every_unit_tells_what_its_clocks_show() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rtc");
    let mut recorder = Config::new().sizes(8192, 2048).unwrap().create(&path).unwrap();
    let base = recorder.absolute_clock("clk").unwrap();
    let delta = recorder.delta_clock("delta", base, Resolution::Microseconds).unwrap();
    let sample = recorder.stream::<Le<u32>>(StreamOptions::new("sample").clock(delta)).unwrap();
    for number in 0..5000_u32 {
        let time = Timespec::new(100, number * 1000);
        recorder.write_at(sample, time, number).unwrap();
    }
    recorder.finish().unwrap();
    let session = read(&path);
    assert!(session.units.len() > 3);
    for unit in &session.units {
        let begun = session.messages.iter().filter(|message| message.at > unit.at);
        let names: Vec<_> =
            begun.take(3).map(|m| session.streams[&m.id]["name"].as_str().unwrap()).collect();
        assert_eq!(names[..2], ["clk", "delta"], "Unit at {}", unit.at);
    }
    // The delta that is told again is that of the message before.
    let mut micros = None;
    for message in &session.messages {
        match session.streams[&message.id]["name"].as_str().unwrap() {
            "delta" => micros = independent::number(&message.bytes, 0).map(|(value, _)| value),
            "sample" => {
                let number = u32::from_le_bytes(message.bytes[..].try_into().unwrap());
                assert_eq!(micros, Some(u64::from(number)));
            }
            _ => assert_eq!(message.bytes, Timespec::new(100, 0).to_bytes()),
        }
    }
}

#[test]
fn nothing_is_allocated_once_the_streams_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config::new().sizes(1 << 16, 1 << 13).unwrap().flush(Flush::Bytes(1000));
    let mut recorder = config.create(folder.path().join("a.rtc")).unwrap();
    let clock = recorder.absolute_clock("clk").unwrap();
    let delta = recorder.delta_clock("delta", clock, Resolution::Nanoseconds).unwrap();
    let number = recorder.stream::<Le<u64>>(StreamOptions::new("number").clock(delta)).unwrap();
    let text = recorder.stream::<Utf8>(StreamOptions::new("text").clock(delta)).unwrap();
    let remarks = recorder.annotations::<Utf8>("remarks", None).unwrap();
    let allocated = allocation_counter::measure(|| {
        for round in 0..5000 {
            recorder.write_now(number, round).unwrap();
            recorder.write_now(text, "some text").unwrap();
            recorder.annotate(remarks, Timespec::new(round, 0), "a remark").unwrap();
        }
    });
    assert_eq!(allocated.count_total, 0);
    recorder.finish().unwrap();
}

/// How many messages are in the file while the recorder still has it open.
fn seen(path: &Path) -> usize {
    independent::session(&fs::read(path).unwrap(), Sum::Ieee).messages.len()
}

#[test]
fn what_a_policy_flushes_is_in_the_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rtc");
    for (flush, expected) in [
        (Flush::Full, 0),
        (Flush::Message, 10),
        // The Marker alone is more than 100 bytes; 25 messages of 4 + 1 bytes are 125.
        (Flush::Bytes(1 << 20), 0),
        (Flush::Interval(Duration::ZERO), 10),
        (Flush::Interval(Duration::from_hours(1)), 0),
    ] {
        let mut recorder = Config::new().flush(flush).sync(Sync::Flush).create(&path).unwrap();
        let stream = recorder.stream::<u32>("a").unwrap();
        for number in 0..10 {
            recorder.write(stream, number).unwrap();
        }
        assert_eq!(seen(&path), expected, "{flush:?}");
        recorder.flush().unwrap();
        assert_eq!(seen(&path), 10);
        drop(recorder);
        assert_eq!(read(&path).messages.len(), 10, "dropping finishes");
    }
}

#[test]
fn what_was_recorded_waits_for_no_more_than_the_interval() {
    let (folder, hour) = (tempfile::tempdir().unwrap(), Duration::from_hours(1));
    let config = Config::new().flush(Flush::Interval(hour));
    let mut recorder = config.create(folder.path().join("a.rtc")).unwrap();
    let stream = recorder.stream::<u8>("a").unwrap();
    recorder.flush().unwrap();
    assert_eq!(recorder.flush_due_in(), None, "nothing waits");
    recorder.write(stream, 1).unwrap();
    let due = recorder.flush_due_in().unwrap();
    recorder.write(stream, 2).unwrap();
    let later = recorder.flush_due_in().unwrap();
    assert!(later <= due && due <= hour, "a further message does not put it off");
    recorder.flush().unwrap();
    assert_eq!(recorder.flush_due_in(), None);
}

#[test]
fn bytes_since_the_last_flush_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rtc");
    let mut recorder = Config::new().flush(Flush::Bytes(50)).create(&path).unwrap();
    let stream = recorder.stream::<u32>("a").unwrap();
    // The first message comes with the Marker and is flushed; then every tenth of 5 bytes.
    for (number, expected) in [(1, 1), (9, 1), (1, 11), (10, 21), (9, 21)] {
        for _ in 0..number {
            recorder.write(stream, 7).unwrap();
        }
        assert_eq!(seen(&path), expected);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_and_later_writes_are_refused() {
    let mut recorder = Recorder::create("/dev/full").unwrap();
    let stream = recorder.stream::<Raw>("a").unwrap();
    let error = (0..1000).find_map(|_| recorder.write(stream, &[1; 1000]).err()).unwrap();
    assert!(
        matches!(&error, Error::Io(error) if error.kind() == std::io::ErrorKind::StorageFull),
        "{error}"
    );
    assert!(matches!(recorder.write(stream, &[1]), Err(Error::Broken)));
    assert!(matches!(recorder.flush(), Err(Error::Broken)));
    assert!(matches!(recorder.finish(), Err(Error::Broken)));
}

/// What is there counts: a part with 3000 bytes gets what fits into 4000, one that is full nothing.
/// What has the name of a part and is none is passed over.
#[test]
fn a_recording_that_rotates_goes_on_in_its_last_part() {
    let folder = tempfile::tempdir().unwrap();
    let name = |name: &str| folder.path().join(name);
    let append = |count: u32| {
        let config = Config::new().sizes(8192, 2048).unwrap().rotate_after(4000);
        let mut recorder = config.append(name("run.rtc")).unwrap();
        let stream = recorder.stream::<u32>("a").unwrap();
        for number in 0..count {
            recorder.write(stream, number).unwrap();
        }
        recorder.finish().unwrap();
    };
    let sizes = |name: &str| fs::metadata(folder.path().join(name)).unwrap().len();
    let sessions = |name: &str| {
        let file = fs::read(folder.path().join(name)).unwrap();
        let is_marker = |bytes: &&[u8]| bytes[0] == 0x04 && bytes[1..] == [0xB9; 1024];
        file.windows(1025).filter(is_marker).count()
    };
    append(1);
    append(1);
    assert_eq!((sessions("run.rtc"), sizes("run.rtc") < 4000), (2, true));
    fs::write(name("run.7.rtc"), "somebody's").unwrap();
    // A session takes more than a thousand bytes: this one fills the file and begins the next.
    append(500);
    assert_eq!((sessions("run.1.rtc"), sizes("run.rtc") >= 4000), (1, true));
    let (first, second) = (sizes("run.rtc"), sizes("run.1.rtc"));
    append(1);
    assert_eq!((sizes("run.rtc"), sizes("run.1.rtc") > second), (first, true));
    fs::write(name("run.1.rtc"), [&[0x04][..], &[0xB9; 5000]].concat()).unwrap();
    append(1);
    assert_eq!((sizes("run.1.rtc"), sessions("run.2.rtc")), (5001, 1));
    assert_eq!(fs::read(name("run.7.rtc")).unwrap(), b"somebody's");
}

/// Two recorders on one file would write over one another.
#[cfg(unix)]
#[test]
fn a_file_has_one_recorder_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rtc");
    let is_busy = |result: kymo_recorder::Result<Recorder>| {
        let busy = std::io::ErrorKind::ResourceBusy;
        matches!(result, Err(Error::Io(error)) if error.kind() == busy)
    };
    let mut first = Recorder::create(&path).unwrap();
    let stream = first.stream::<u8>("a").unwrap();
    first.write(stream, 1).unwrap();
    first.flush().unwrap();
    assert!(kymo_recorder::is_recorded_to(&path));
    assert!(is_busy(Recorder::append(&path)) && is_busy(Recorder::create(&path)));
    assert_eq!(seen(&path), 1, "it was not emptied, and can be read");
    first.write(stream, 2).unwrap();
    first.finish().unwrap();
    assert!(!kymo_recorder::is_recorded_to(&path));
    let mut second = Recorder::append(&path).unwrap();
    let stream = second.stream::<u8>("a").unwrap();
    second.write(stream, 3).unwrap();
    second.finish().unwrap();
    let sessions = independent::sessions(&fs::read(&path).unwrap(), Sum::Ieee);
    assert_eq!((sessions[0].of("a"), sessions[1].of("a")), (vec![vec![1], vec![2]], vec![vec![3]]));
    Recorder::create(&path).unwrap().finish().unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 1100, "it is emptied");
}

/// Every part has the time and what happened then, however small parts are.
#[test]
fn a_part_of_a_rotation_does_not_end_between_a_time_and_its_value() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rtc");
    let mut recorder = Config::new().rotate_after(1).create(&path).unwrap();
    let clock = recorder.absolute_clock("clk").unwrap();
    let stream = recorder.stream::<u32>(StreamOptions::new("a").clock(clock)).unwrap();
    for number in 0..10 {
        recorder.write_now(stream, number).unwrap();
    }
    recorder.finish().unwrap();
    let parts = kymo_recorder::parts_of(&path).unwrap();
    assert_eq!(parts.len(), 9);
    for part in parts.iter().chain([&path]) {
        assert_eq!(read(part).of("a").len(), 1, "{}", part.display());
    }
}

#[test]
fn a_file_that_may_not_grow_further_is_told_and_has_what_fits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rtc");
    let mut recorder = Config::new().file_bytes_max(5000).create(&path).unwrap();
    let stream = recorder.stream::<Raw>("a").unwrap();
    for _ in 0..10 {
        recorder.write(stream, &[1; 1000]).unwrap();
    }
    let error = recorder.flush().unwrap_err();
    assert!(
        matches!(&error, Error::Io(error) if error.kind() == std::io::ErrorKind::FileTooLarge),
        "{error}"
    );
    drop(recorder);
    assert_eq!(fs::metadata(&path).unwrap().len(), 5000);
    // Marker, Index, Meta and platform take less than 1200 bytes, a message 1003.
    assert_eq!(seen(&path), 3);
}
