//! Recording from many threads.

use crate::independent;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::independent::{Session, Sum};
use kymo_recorder::format::{Le, Raw, Utf8};
use kymo_recorder::{Config, Error, Flush, Overflow, Recorder, StreamOptions};
use serde_json::Value;

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rtc");
    (folder, path)
}

fn read(path: &Path) -> Session {
    let file = fs::read(path).unwrap();
    let session = independent::session(&file, Sum::Ieee);
    assert_eq!(session.end, file.len());
    session
}

#[test]
fn nothing_is_lost_and_each_thread_keeps_its_order() {
    const THREADS: u32 = 8;
    const EACH: u32 = 5000;
    let (_folder, path) = folder();
    let config = Config::new().sizes(1 << 16, 1 << 13).unwrap().queue_bytes(10_000);
    let recorder = config.create_shared(&path).unwrap();
    let samples = recorder.stream::<Le<u64>>("samples").unwrap();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let samples = samples.clone();
            scope.spawn(move || {
                for number in 0..EACH {
                    samples.write(u64::from(thread) << 32 | u64::from(number)).unwrap();
                }
            });
        }
    });
    recorder.finish().unwrap();
    assert!(matches!(samples.write(1), Err(Error::Finished)));
    let session = read(&path);
    assert!(session.units.iter().all(|unit| unit.crc == Some(true)));
    let mut next = BTreeMap::new();
    for value in session.of("samples") {
        let value = u64::from_le_bytes(value.try_into().unwrap());
        let expected: &mut u64 = next.entry(value >> 32).or_default();
        assert_eq!(value & 0xFFFF_FFFF, *expected);
        *expected += 1;
    }
    assert_eq!(next.values().sum::<u64>(), u64::from(THREADS * EACH));
}

#[test]
fn times_of_many_threads_never_go_back() {
    let (_folder, path) = folder();
    let recorder = Config::new().create_shared(&path).unwrap();
    let clock = recorder.with_recorder(|recorder| recorder.absolute_clock("clk")).unwrap();
    let log = recorder.stream::<Utf8>(StreamOptions::new("log").clock(clock)).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            let log = log.clone();
            scope.spawn(move || (0..500).for_each(|_| log.write_now("x").unwrap()));
        }
    });
    let past = kymo_recorder::Timespec::new(1, 0);
    assert!(matches!(log.write_at(past, "y"), Err(Error::Backwards(_))));
    recorder.finish().unwrap();
    let session = read(&path);
    assert_eq!(session.of("log").len(), 2000);
    let times: Vec<_> = session
        .of("clk")
        .into_iter()
        .map(|time| {
            let seconds = u64::from_ne_bytes(time[..8].try_into().unwrap());
            (seconds, u32::from_ne_bytes(time[8..].try_into().unwrap()))
        })
        .collect();
    assert!(times.is_sorted());
}

#[test]
fn what_is_dropped_is_counted_in_the_file() {
    let (_folder, path) = folder();
    let config = Config::new().queue_bytes(1000).overflow(Overflow::Drop);
    let recorder = config.create_shared(&path).unwrap();
    let first = recorder.stream::<Raw>("first").unwrap();
    let second = recorder.stream::<Raw>("second \"quoted\"").unwrap();
    // While the recorder is held, nobody empties the queue.
    recorder
        .with_recorder(|_| {
            for _ in 0..100 {
                first.write(&[1; 50])?;
                second.write(&[2; 60])?;
            }
            Ok(())
        })
        .unwrap();
    recorder.finish().unwrap();
    let session = read(&path);
    let mut dropped = BTreeMap::new();
    for line in session.of("kymo.drops") {
        let line: Value = serde_json::from_slice(&line).unwrap();
        let count: &mut u64 =
            dropped.entry(line["stream"].as_str().unwrap().to_owned()).or_default();
        *count += line["count"].as_u64().unwrap();
    }
    for name in ["first", "second \"quoted\""] {
        let kept = session.of(name).len() as u64;
        assert!(kept < 100);
        assert_eq!(kept + dropped[name], 100, "{name}");
    }
}

#[test]
fn a_message_larger_than_the_queue_is_written_in_its_order() {
    let (_folder, path) = folder();
    let recorder = Config::new().queue_bytes(1000).create_shared(&path).unwrap();
    let stream = recorder.stream::<Raw>("a").unwrap();
    for length in [10, 5000, 20, 100_000, 30] {
        stream.write(&vec![7; length]).unwrap();
    }
    drop((recorder, stream));
    let lengths: Vec<_> = read(&path).of("a").iter().map(Vec::len).collect();
    assert_eq!(lengths, [10, 5000, 20, 100_000, 30]);
}

#[test]
fn a_clock_is_set_however_full_the_queue_is() {
    let (_folder, path) = folder();
    let config = Config::new().queue_bytes(500).overflow(Overflow::Drop);
    let recorder = config.create_shared(&path).unwrap();
    let clock =
        recorder.with_recorder(|recorder| recorder.counter_clock("cycles", 1.0, 0.0)).unwrap();
    let stream = recorder.stream::<Raw>(StreamOptions::new("a").clock(clock)).unwrap();
    for ticks in 0..1000_u64 {
        recorder.set(clock, ticks).unwrap();
        stream.write(&[7; 100]).unwrap();
    }
    // Larger than the queue, and dated after everything in it.
    stream.write_at(5000, &[8; 600]).unwrap();
    assert!(
        matches!(stream.write_at(4000, &[8; 600]), Err(Error::Backwards(name)) if name == "cycles")
    );
    recorder.finish().unwrap();
    let session = read(&path);
    let ticks: Vec<_> =
        (0..1000_u64).chain([5000]).map(|ticks| ticks.to_ne_bytes().to_vec()).collect();
    assert_eq!(session.of("cycles"), ticks);
    assert_eq!(session.of("a").last().unwrap(), &[8; 600]);
}

#[test]
fn an_interval_is_kept_while_nobody_records() {
    let (_folder, path) = folder();
    let config = Config::new().flush(Flush::Interval(Duration::from_millis(5)));
    let recorder = config.create_shared(&path).unwrap();
    let stream = recorder.stream::<u8>("a").unwrap();
    stream.write(1).unwrap();
    let patience = Instant::now() + Duration::from_secs(20);
    while read(&path).messages.is_empty() {
        assert!(Instant::now() < patience, "never flushed");
        thread::sleep(Duration::from_millis(2));
    }
    recorder.finish().unwrap();
}

#[test]
fn a_message_that_is_refused_is_told_at_the_end_and_the_others_are_kept() {
    let (_folder, path) = folder();
    let recorder = Config::new().create_shared(&path).unwrap();
    let clock =
        recorder.with_recorder(|recorder| recorder.counter_clock("cycles", 1e-8, 0.0)).unwrap();
    let stream = recorder.stream::<u8>(StreamOptions::new("a").clock(clock)).unwrap();
    // Also before any time is known of the clock.
    for _ in 0..2 {
        let error = stream.write_now(2).unwrap_err();
        assert!(matches!(&error, Error::Unit(name) if name == "cycles"), "{error}");
        stream.write_at(7, 1).unwrap();
    }
    // Set beyond the queue, the clock is further than the queue knows.
    recorder.with_recorder(|recorder| recorder.set(clock, 1000)).unwrap();
    stream.write_at(500, 2).unwrap();
    stream.write(3).unwrap();
    assert!(matches!(recorder.finish(), Err(Error::Backwards(_))));
    assert_eq!(read(&path).of("a"), [[1], [1], [3]]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_to_whoever_records() {
    let recorder = Config::new().queue_bytes(4096).create_shared("/dev/full").unwrap();
    let stream = recorder.stream::<Raw>("a").unwrap();
    let error = (0..100_000).find_map(|_| stream.write(&[1; 1000]).err()).unwrap();
    assert!(matches!(error, Error::Broken), "{error}");
    let error = recorder.finish().unwrap_err();
    assert!(
        matches!(&error, Error::Io(error) if error.kind() == std::io::ErrorKind::StorageFull),
        "{error}"
    );
}

#[test]
fn a_recorder_can_be_handed_over_with_its_streams() {
    let (_folder, path) = folder();
    let mut recorder = Recorder::create(&path).unwrap();
    let early = recorder.stream::<u8>("early").unwrap();
    recorder.write(early, 1).unwrap();
    let shared = recorder.into_shared(&Config::new()).unwrap();
    let late = shared.stream::<u8>("late").unwrap();
    late.write(2).unwrap();
    shared.with_recorder(|recorder| recorder.write(early, 3)).unwrap();
    shared.flush().unwrap();
    assert_eq!(read(&path).messages.len(), 3);
    shared.finish().unwrap();
}

/// What is written past the queue is flushed too: by `with`, or for being larger than the queue.
#[test]
fn an_interval_is_kept_for_what_goes_past_the_queue() {
    let (_folder, path) = folder();
    let config = Config::new().flush(Flush::Interval(Duration::from_millis(5))).queue_bytes(4096);
    let recorder = config.create_shared(&path).unwrap();
    let small = recorder.with_recorder(|recorder| recorder.stream::<u8>("small")).unwrap();
    let large = recorder.stream::<Raw>("large").unwrap();
    let wait_for = |messages: usize| {
        let patience = Instant::now() + Duration::from_secs(20);
        while read(&path).messages.len() < messages {
            assert!(Instant::now() < patience, "never flushed");
            thread::sleep(Duration::from_millis(2));
        }
    };
    for messages in [1, 3, 5] {
        recorder.with_recorder(|recorder| recorder.write(small, 1)).unwrap();
        wait_for(messages);
        large.write(&[1; 5000]).unwrap();
        wait_for(messages + 1);
    }
    recorder.finish().unwrap();
}
