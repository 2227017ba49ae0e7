//! What is left when the program is killed while it records.
#![cfg(unix)]

use crate::independent;

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::independent::Sum;
use kymo_recorder::format::{Le, Raw};
use kymo_recorder::{Config, Recorder};

/// The variable that tells this program that it is the one to be killed, and where to record.
const VICTIM: &str = "KYMO_TEST_VICTIM";

/// How long more runs than the least may take together.
const PATIENCE: Duration = Duration::from_secs(15);

/// The least and the most runs.
const RUNS: std::ops::Range<u32> = 200..400;

fn config() -> Config {
    Config::new().sizes(8192, 2048).unwrap().buffer_bytes(700)
}

/// Message `number` of the stream with messages of any length.
fn blob(number: u64) -> Vec<u8> {
    let length = number * 7919 % 3000;
    (0..length).map(|at| u8::try_from((at + number) % 251).unwrap()).collect()
}

/// Records until it is killed, and says on standard output what it has flushed.
#[test]
fn victim() {
    let Some(path) = env::var_os(VICTIM) else { return };
    let mut recorder = config().create(path).unwrap();
    record(&mut recorder);
}

fn record(recorder: &mut Recorder) {
    let numbers = recorder.stream::<Le<u64>>("numbers").unwrap();
    let blobs = recorder.stream::<Raw>("blobs").unwrap();
    let mut told = std::io::stdout();
    for number in 1_u64.. {
        recorder.write(numbers, number).unwrap();
        recorder.write(blobs, &blob(number)).unwrap();
        if number % 5 == 0 {
            recorder.flush().unwrap();
            writeln!(told, "flushed {number}").unwrap();
        }
    }
}

/// Starts a victim, kills it after a while; returns the last number it said it had flushed.
fn kill_one(path: &Path, after: Duration) -> u64 {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["killed::victim", "--exact", "--nocapture"])
        .env(VICTIM, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let reader = thread::spawn(move || {
        let flushed = lines.map_while(Result::ok).filter_map(|line| {
            line.rsplit_once("flushed ").and_then(|(_, number)| number.parse().ok())
        });
        flushed.last().unwrap_or(0)
    });
    thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

#[test]
fn everything_before_the_last_flush_is_there_and_nothing_is_invented() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rtc");
    let started = Instant::now();
    let (mut runs, mut messages) = (0_u32, 0);
    while runs < RUNS.start || (runs < RUNS.end && started.elapsed() < PATIENCE) {
        // Spread over the first milliseconds, by a step that shares no factor with the range.
        let after = Duration::from_micros(2000 + u64::from(runs) * 7919 % 10_000);
        let flushed = kill_one(&path, after);
        messages += check(&fs::read(&path).unwrap_or_default(), flushed);
        let _ = fs::remove_file(&path);
        runs += 1;
    }
    assert!(messages > 1000, "{runs} runs, {messages} messages");
}

/// Checks that a file holds all up to `flushed`, and only what was recorded.
fn check(file: &[u8], flushed: u64) -> usize {
    let session = independent::session(file, Sum::Ieee);
    let numbers = session.of("numbers");
    assert!(numbers.len() as u64 >= flushed, "{} of {flushed}", numbers.len());
    for (expected, number) in (1_u64..).zip(&numbers) {
        assert_eq!(number, &expected.to_le_bytes());
    }
    let expected: Vec<_> =
        (1..).map(blob).filter(|blob| !blob.is_empty()).take(session.of("blobs").len()).collect();
    assert_eq!(session.of("blobs"), expected);
    let whole = (1..=flushed).filter(|&number| !blob(number).is_empty()).count();
    assert!(expected.len() >= whole);
    let done = session.units.len().saturating_sub(1);
    assert!(session.units[..done].iter().all(|unit| unit.crc == Some(true)));
    session.messages.len()
}
