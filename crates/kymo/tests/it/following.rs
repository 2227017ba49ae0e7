//! `kymo follow` on files that are replaced, come late or end, and on readers that go away.

#![cfg(unix)]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{folder, kymo, run};
use kymo_recorder::format::Utf8;
use kymo_recorder::{Config, Flush, Recorder, StreamOptions, Timespec};

/// A recording of so many lines of a stream `log`, the first of them at this second.
fn make(path: &Path, first: u64, count: u64) {
    let mut recorder = Recorder::create(path).unwrap();
    let clock = recorder.absolute_clock("clk").unwrap();
    let log = recorder.stream::<Utf8>(StreamOptions::new("log").clock(clock)).unwrap();
    for seconds in first..first + count {
        let time = Timespec { seconds, nanoseconds: 0 };
        recorder.write_at(log, time, &format!("second {seconds}")).unwrap();
    }
    recorder.finish().unwrap();
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn follow(path: &Path, more: &[&str]) -> Child {
    let mut command = kymo();
    command.arg("follow").arg(path).args(["--stream", "log"]).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for a child that has to end by itself, for as long as a busy machine may take.
fn ended(mut child: Child) -> (Option<i32>, String, String) {
    let since = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if since.elapsed() > Duration::from_mins(1) {
            child.kill().unwrap();
            panic!("it does not end");
        }
        thread::sleep(Duration::from_millis(20));
    }
    let text = |from: Option<&mut dyn Read>| {
        let mut text = String::new();
        from.map(|from| from.read_to_string(&mut text).unwrap());
        text
    };
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let out = text(out.as_mut().map(|out| out as &mut dyn Read));
    let err = text(err.as_mut().map(|err| err as &mut dyn Read));
    (child.wait().unwrap().code(), out, err)
}

/// The values of lines, without their times and streams.
fn values(out: &str) -> Vec<&str> {
    out.lines().map(|line| line.rsplit("  ").next().unwrap()).collect()
}

/// Reads a line of what is shown, then no more, as `head -1` does.
fn read_one_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line
}

/// Whoever follows what is no recording, or nothing yet, is told what it waits for.
#[test]
fn following_what_is_no_recording_says_what_it_waits_for() {
    let folder = folder();
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    for (name, text, said) in [
        ("notes.txt", "bread, milk\n", "it is no recording yet; waiting for the beginning of one"),
        ("empty", "", "nothing is in it yet; waiting for the beginning of one"),
        (
            "noise.rtc",
            "\u{1}\u{2}\u{3}\u{4}",
            "no stream of it can be read as RTC (Ruler Trace Container) so far; waiting for more",
        ),
    ] {
        let (code, out, err) = ended(follow(&path(name, text), &["--idle", "1500ms"]));
        assert!(err.contains(said), "{name}: {code:?} {err}");
        assert_eq!(out, "", "{name}");
    }
}

#[test]
fn following_a_file_ends_when_nobody_reads_what_is_shown() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    make(&path, 100, 3);
    let mut child = follow(&path, &["--all"]);
    assert_eq!(values(&read_one_line(&mut child)), ["second 100\n".trim_end()]);
    let (code, _, err) = ended(child);
    assert_eq!((code, err.as_str()), (Some(0), ""));
}

#[test]
fn following_a_silent_pipe_ends_when_nobody_reads_what_is_shown() {
    let folder = folder();
    let (pipe, path) = (folder.path().join("fifo"), folder.path().join("run.rtc"));
    fifo(&pipe);
    make(&path, 100, 3);
    let mut child = follow(&pipe, &[]);
    let mut writer = OpenOptions::new().write(true).open(&pipe).unwrap();
    writer.write_all(&fs::read(&path).unwrap()).unwrap();
    read_one_line(&mut child);
    assert_eq!(ended(child).0, Some(0));
    drop(writer);
    // Also before anything has come.
    for file in ["-", pipe.to_str().unwrap()] {
        let mut child = kymo();
        child.args(["follow", file]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let stdin = child.stdin.take();
        drop(child.stdout.take());
        assert_eq!(ended(child).0, Some(0), "{file}");
        drop(stdin);
    }
}

#[test]
fn a_file_that_is_replaced_is_followed_from_its_beginning() {
    let folder = folder();
    let (path, other) = (folder.path().join("run.rtc"), folder.path().join("other"));
    make(&path, 100, 2);
    let mut child = follow(&path, &["--idle", "2s"]);
    let mut shown = BufReader::new(child.stdout.take().unwrap());
    let mut lines = String::new();
    shown.read_line(&mut lines).unwrap();
    make(&other, 200, 2);
    fs::rename(&other, &path).unwrap();
    shown.read_to_string(&mut lines).unwrap();
    let (code, _, err) = ended(child);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("another file has its name"), "{err}");
    assert_eq!(values(&lines), ["second 100", "second 101", "second 200", "second 201"]);
}

#[test]
fn a_file_that_is_removed_is_waited_for() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    make(&path, 100, 2);
    let mut child = follow(&path, &["--idle", "5s"]);
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut shown = BufReader::new(child.stdout.take().unwrap());
    let (mut line, mut lines) = (String::new(), String::new());
    shown.read_line(&mut lines).unwrap();
    fs::remove_file(&path).unwrap();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("it was removed; waiting for another of its name"), "{line}");
    make(&path, 200, 1);
    shown.read_to_string(&mut lines).unwrap();
    assert_eq!(ended(child).0, Some(0));
    assert_eq!(values(&lines), ["second 100", "second 101", "second 200"]);
}

#[test]
fn a_file_that_is_not_there_yet_is_waited_for_when_asked_for() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    let (code, _, err) = ended(follow(&path, &[]));
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("no such file"), "{err}");
    let (code, _, err) = ended(follow(&path, &["--retry", "--idle", "100ms"]));
    assert_eq!(code, Some(1), "{err}");
    let mut child = follow(&path, &["--retry", "--until-end"]);
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("there is no such file yet"), "{line}");
    make(&path, 100, 2);
    let (code, out, _) = ended(child);
    assert_eq!((code, values(&out)), (Some(0), vec!["second 100", "second 101"]));
}

#[test]
fn following_until_the_end_ends_with_the_last_part() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    let config = Config::new().flush(Flush::Message).rotate_after(16 << 10);
    let mut recorder = config.create(&path).unwrap();
    let log = recorder.stream::<Utf8>("log").unwrap();
    let child = follow(&path, &["--all", "--until-end"]);
    // No more than a pipe holds that is read at the end.
    let lines: Vec<_> = (0..150).map(|number| format!("{number:0250}")).collect();
    for line in &lines {
        recorder.write(log, line).unwrap();
    }
    recorder.finish().unwrap();
    assert!(folder.path().join("run.2.rtc").exists());
    let (code, out, err) = ended(child);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(values(&out), lines);
}

/// Of a recording that rotated, the last events are those of all parts together.
#[test]
fn the_last_events_of_a_rotated_recording_are_those_of_its_last_parts() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    let mut recorder = Config::new().rotate_after(16 << 10).create(&path).unwrap();
    let log = recorder.stream::<Utf8>("log").unwrap();
    let lines: Vec<_> = (0..150).map(|number| format!("{number:0250}")).collect();
    for line in &lines {
        recorder.write(log, line).unwrap();
    }
    recorder.finish().unwrap();
    assert!(folder.path().join("run.2.rtc").exists());
    for last in [0, 3, 100, 150, 1000] {
        let child = follow(&path, &["-n", &last.to_string(), "--until-end"]);
        let (code, out, err) = ended(child);
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(values(&out), lines[lines.len() - last.min(150)..], "{last}");
    }
}

/// A message that is open at the last Unit comes whole, and one of a stream that was not seen since
/// is no rest of another.
#[test]
fn what_comes_to_a_file_that_is_there_already_is_whole() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    let config = Config::new().flush(Flush::Message).sizes(4096, 2048).unwrap();
    let mut recorder = config.create(&path).unwrap();
    let log = recorder.stream::<Utf8>("log").unwrap();
    let other = recorder.stream::<Utf8>("other").unwrap();
    recorder.write(log, "first").unwrap();
    recorder.write(other, &"o".repeat(9000)).unwrap();
    let mut child = follow(&path, &["--json", "--idle", "3s"]);
    let mut shown = BufReader::new(child.stdout.take().unwrap());
    let mut lines = String::new();
    shown.read_line(&mut lines).unwrap();
    recorder.write(log, "second").unwrap();
    recorder.finish().unwrap();
    shown.read_to_string(&mut lines).unwrap();
    assert_eq!(ended(child).0, Some(0));
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = lines.iter().map(|line| (&line["value"], &line["partial"])).collect();
    let null = serde_json::Value::Null;
    assert_eq!(told, [(&"first".into(), &null), (&"second".into(), &null)]);
}

/// The findings of a finished recording are those of `check`, at the same bytes.
#[test]
fn what_is_followed_is_found_wrong_as_check_finds_it() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let mut recorder = Config::new().sizes(8192, 2048).unwrap().create(at("whole.rtc")).unwrap();
    let clock = recorder.absolute_clock("clk").unwrap();
    let log = recorder.stream::<Utf8>(StreamOptions::new("log").clock(clock)).unwrap();
    recorder.set(clock, Timespec { seconds: 1, nanoseconds: 0 }).unwrap();
    for number in 0..2000 {
        recorder.write(log, &format!("line number {number}")).unwrap();
    }
    recorder.finish().unwrap();
    let whole = fs::read(at("whole.rtc")).unwrap();
    // Joined late, within a Unit and at its beginning; a changed byte of a message.
    let mut changed = whole.clone();
    let text = changed.windows(8).rposition(|bytes| bytes == b"number 1").unwrap();
    changed[text] ^= 0x20;
    for (name, bytes) in
        [("late.rtc", &whole[9000..]), ("joined.rtc", &whole[8192..]), ("changed.rtc", &changed)]
    {
        fs::write(at(name), bytes).unwrap();
        let (code, checked, _) = run(kymo().arg("check").arg(at(name)));
        let input = File::open(at(name)).unwrap();
        let mut cat = Command::new("cat").stdin(input).stdout(Stdio::piped()).spawn().unwrap();
        let pipe = cat.stdout.take().unwrap();
        let followed = run(kymo().args(["follow", "--from", "rtc", "-"]).stdin(pipe));
        cat.wait().unwrap();
        assert_eq!((followed.0, code), (Some(3), Some(3)), "{name}: {}", followed.2);
        let findings = |text: &str, prefix: &str| {
            let found = text.lines().filter_map(|line| line.strip_prefix(prefix));
            let mut found: Vec<_> = found.map(str::to_owned).collect();
            found.sort();
            found
        };
        let prefix = format!("{}: ", at(name).display());
        let checked = findings(&checked, &prefix);
        assert_eq!(findings(&followed.2, "kymo: -: "), checked, "{name}");
    }
}
