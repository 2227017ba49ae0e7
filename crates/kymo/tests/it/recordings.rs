//! Recordings from end to end: made by `record` and by the recorder, then followed, cut, filtered,
//! merged and converted.

use crate::support;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::support::{folder, kymo, kymo_with_default_signals, names, run};
use kymo_recorder::format::{Le, Utf8};
use kymo_recorder::{Config, Flush, Recorder, Resolution, StreamOptions, Timespec};

/// Half a second after the Epoch's `second`-th second.
fn half_past(second: u64) -> Timespec {
    Timespec { seconds: second, nanoseconds: 500_000_000 }
}

/// Two streams on a clock that counts from the Epoch: `level` at 100.5 s, 101.5 s …, `log` with it.
fn make(path: &Path, first: u64, count: u64) {
    let mut recorder = Recorder::create(path).unwrap();
    let clock = recorder.absolute_clock("clk").unwrap();
    let level = StreamOptions::new("level").clock(clock).gain(0.5).text("unit", "m");
    let level = recorder.stream::<Le<u16>>(level).unwrap();
    let log = recorder.stream::<Utf8>(StreamOptions::new("log").clock(clock)).unwrap();
    for second in first..first + count {
        let value = u16::try_from(second % 1000).unwrap();
        recorder.write_at(level, half_past(second), value).unwrap();
        recorder.write(log, &format!("second {second}")).unwrap();
    }
    recorder.finish().unwrap();
}

/// The events of a recording as JSON.
fn events(path: &Path, more: &[&str]) -> Vec<serde_json::Value> {
    let command = ["dump", "--json", "--exclude", "clk*"];
    let (code, out, err) = run(kymo().args(command).args(more).arg(path));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What an event is about: stream, time, value.
fn essence(event: &serde_json::Value) -> (String, Option<i64>, serde_json::Value) {
    let stream = event["stream"].as_str().unwrap().to_owned();
    (stream, event["time_ns"].as_i64(), event["value"].clone())
}

fn assert_sound(path: &Path) {
    let (code, out, err) = run(kymo().arg("check").arg(path));
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", ""));
}

#[test]
fn lines_of_standard_input_are_recorded_as_they_are() {
    let folder = folder();
    let (text, path) = (folder.path().join("text"), folder.path().join("run.rtc"));
    fs::write(&text, b"first\n\nno \xFF UTF-8\nlast").unwrap();
    let record = kymo().args(["record", "-o"]).arg(&path).stdin(File::open(text).unwrap()).output();
    let record = record.unwrap();
    assert_eq!(record.status.code(), Some(0));
    let said = String::from_utf8(record.stderr).unwrap();
    assert!(said.contains("4 messages recorded, 22 bytes"), "{said}");
    let (_, out, _) = run(kymo().args(["dump", "--json", "--stream", "stdin"]).arg(&path));
    let lines: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["value"], "first\n");
    assert_eq!(lines[1]["value"], "\n");
    assert_eq!(lines[3]["value"], "last");
    let times: Vec<_> = lines.iter().map(|line| line["time_ns"].as_i64().unwrap()).collect();
    assert!(times.is_sorted());
    // A person reads what is text of it, and finds it by that.
    let (code, out, _) = run(kymo().args(["dump", "--match", "^no .* UTF-8$"]).arg(&path));
    assert!(out.ends_with("  no \\xff UTF-8\n"), "{out}");
    assert_eq!((code, out.lines().count()), (Some(0), 1));
}

/// The end of a line is not shown, and `$` stands before it.
#[test]
fn lines_are_matched_without_their_ends() {
    let folder = folder();
    let (text, path) = (folder.path().join("text"), folder.path().join("run.rtc"));
    fs::write(&text, b"out 2\nout 22\nout 23\n").unwrap();
    let input = File::open(text).unwrap();
    let record = kymo().args(["record", "-o"]).arg(&path).stdin(input).output().unwrap();
    assert_eq!(record.status.code(), Some(0));
    let found = events(&path, &["--match", "^out .?2$"]);
    let values: Vec<&str> = found.iter().map(|event| event["value"].as_str().unwrap()).collect();
    assert_eq!(values, ["out 2\n", "out 22\n"]);
}

/// Records lines of 25 bytes from standard input, kills that once they were read, and gives how many
/// are in the file.
fn recorded_when_killed(lines: u32, more: &[&str]) -> u32 {
    let folder = folder();
    let path = folder.path().join("killed.rtc");
    let mut command = kymo();
    command.arg("record").arg("-o").arg(&path).args(more).stdin(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for number in 0..lines {
        stdin.write_all(format!("line {number:06} of the log.\n").as_bytes()).unwrap();
    }
    stdin.flush().unwrap();
    thread::sleep(Duration::from_millis(1500));
    child.kill().unwrap();
    child.wait().unwrap();
    drop(stdin);
    let found = events(&path, &[]);
    // What is there is all of the beginning.
    for (number, event) in found.iter().enumerate() {
        assert_eq!(event["value"], format!("line {number:06} of the log.\n"));
    }
    u32::try_from(found.len()).unwrap()
}

#[test]
fn a_recording_that_is_killed_lacks_what_came_last_alone() {
    const LINES: u32 = 20_000;
    assert_eq!(recorded_when_killed(LINES, &[]), LINES, "200 ms are over");
    // A line has 25 bytes, and takes more with its time.
    for (bytes, flush_bytes) in [(64 << 10, "64K"), (4 << 10, "4K"), (1, "1")] {
        let more = ["--flush-every", "1h", "--flush-bytes", flush_bytes];
        let lost = LINES - recorded_when_killed(LINES, &more);
        assert!(lost * 25 < bytes, "{lost} lines, though no more than {bytes} bytes may wait");
    }
}

#[test]
fn a_command_that_fails_is_recorded_and_told() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    let script = "echo out; echo err >&2; exit 7";
    let (code, out, err) =
        run(kymo().args(["record", "--tee", "-o"]).arg(&path).args(["--", "sh", "-c", script]));
    assert_eq!((code, out.as_str()), (Some(1), "out\n"));
    assert!(err.contains("kymo: sh: the command ended with status 7"), "{err}");
    let mut heard: Vec<_> =
        events(&path, &[]).iter().map(essence).map(|(s, _, v)| (s, v)).collect();
    heard.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(heard, [("stderr".into(), "err\n".into()), ("stdout".into(), "out\n".into())]);
    assert_sound(&path);
}

/// Who reads what is passed on may go away; the recording, and the command, go on.
#[test]
fn recording_goes_on_when_nobody_reads_what_is_passed_on() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    let script = "for n in 1 2 3 4 5 6; do echo line $n; sleep 0.05; done";
    let mut record = kymo();
    record.args(["record", "--tee", "-o"]).arg(&path).args(["--", "sh", "-c", script]);
    let mut child = record.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    let err = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(0), "{err}");
    assert_eq!(err.matches("nobody reads what is passed on any more").count(), 1, "{err}");
    assert!(err.contains("6 messages"), "{err}");
    assert_eq!(events(&path, &[]).len(), 6);
    assert_sound(&path);
}

/// A date says nothing of a stream whose clock counts from a zero of its own.
#[test]
fn a_date_is_refused_for_streams_that_have_none() {
    let folder = folder();
    let (whole, part) = (folder.path().join("run.rtc"), folder.path().join("part.rtc"));
    let mut recorder = Recorder::create(&whole).unwrap();
    let clock = recorder.absolute_clock("clk").unwrap();
    let ticks = recorder.counter_clock("ticks", 1e-3, 0.0).unwrap();
    let dated = recorder.stream::<Utf8>(StreamOptions::new("dated").clock(clock)).unwrap();
    let counted = recorder.stream::<Utf8>(StreamOptions::new("counted").clock(ticks)).unwrap();
    recorder.write_at(dated, half_past(1_700_000_000), "a date").unwrap();
    recorder.write_at(counted, 5000_u64, "a count").unwrap();
    recorder.finish().unwrap();
    let cut = |more: &[&str]| run(kymo().args(["cut", "-f"]).arg(&whole).arg(&part).args(more));
    let date = ["--since", "2023-01-01"];
    let (code, _, err) = cut(&date);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("a date says nothing of counted, whose clock has a zero"), "{err}");
    let (code, _, err) = cut(&[&date[..], &["--stream", "dated"]].concat());
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(events(&part, &["--stream", "dated"]).len(), 1);
    let (code, _, err) = cut(&["--since", "4s", "--stream", "counted"]);
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn a_recording_is_not_replaced_unasked_and_may_be_added_to() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    let record = |more: &[&str]| {
        let mut command = kymo();
        command.args(["record", "-o"]).arg(&path).args(more).args(["--", "echo", "line"]);
        run(&mut command)
    };
    assert_eq!(record(&[]).0, Some(0));
    let (code, _, err) = record(&[]);
    assert_eq!(code, Some(1));
    assert!(err.contains("it exists already"), "{err}");
    assert_eq!(record(&["--append"]).0, Some(0));
    let recordings: Vec<_> =
        events(&path, &[]).iter().map(|event| event["recording"].as_u64()).collect();
    assert_eq!(recordings, [Some(0), Some(1)]);
    assert_eq!(record(&["--force"]).0, Some(0));
    assert_eq!(events(&path, &[]).len(), 1);
}

#[test]
fn a_named_pipe_is_a_stream_of_its_name() {
    let folder = folder();
    let (fifo, path) = (folder.path().join("fifo"), folder.path().join("run.rtc"));
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let pipe = format!("sensor={}", fifo.display());
    let child = kymo().args(["record", "--pipe", &pipe, "-o"]).arg(&path).spawn();
    let mut child = child.unwrap();
    OpenOptions::new().write(true).open(&fifo).unwrap().write_all(b"1\n2\n").unwrap();
    assert!(child.wait().unwrap().success());
    let heard: Vec<_> = events(&path, &[]).iter().map(essence).map(|(s, _, v)| (s, v)).collect();
    assert_eq!(heard, [("sensor".into(), "1\n".into()), ("sensor".into(), "2\n".into())]);
}

/// Nothing is started, and nothing replaced, before it is known that it can be recorded.
#[test]
fn what_cannot_be_recorded_starts_nothing_and_replaces_nothing() {
    let folder = folder();
    let (path, ran) = (folder.path().join("run.rtc"), folder.path().join("ran"));
    let touch = format!("touch {}", ran.display());
    let nowhere = folder.path().join("nowhere/run.rtc");
    let command = ["--", "sh", "-c", &touch];
    let (code, _, err) = run(kymo().args(["record", "-o"]).arg(&nowhere).args(command));
    assert_eq!((code, ran.exists()), (Some(1), false), "{err}");
    let (code, ..) = run(kymo().args(["record", "-o"]).arg(&path).args(["--", "no-such-program"]));
    assert_eq!((code, path.exists()), (Some(1), false), "nothing is left behind");

    make(&path, 100, 2);
    let before = fs::read(&path).unwrap();
    let pipe = format!("a={}", folder.path().join("absent").display());
    for more in [["--pipe", &pipe], ["--", "no-such-program"]] {
        let (code, _, err) = run(kymo().args(["record", "--force", "-o"]).arg(&path).args(more));
        assert_eq!(code, Some(1), "{err}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

/// A folder can be opened, and not be read.
/// By its name, by a link, through standard input, and as a part of a recording that rotates.
#[cfg(unix)]
#[test]
fn what_is_written_is_not_recorded() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    for name in ["run.rtc", "run.1.rtc"] {
        make(&at(name), 100, 3);
    }
    std::os::unix::fs::symlink("run.rtc", at("link")).unwrap();
    let whole = fs::read(at("run.rtc")).unwrap();
    let refused = |how: &[&str], pipe: &str| {
        let pipe = format!("a={}", at(pipe).display());
        let (code, _, err) = run(kymo()
            .arg("record")
            .args(how)
            .arg("-o")
            .arg(at("run.rtc"))
            .args(["--pipe", &pipe]));
        assert_eq!(code, Some(1), "{err}");
        assert!(err.contains("the output is the input"), "{err}");
    };
    refused(&["--force"], "run.rtc");
    refused(&["--append"], "link");
    refused(&["--append", "--rotate", "64K"], "run.1.rtc");
    let stdin = File::open(at("run.rtc")).unwrap();
    let (code, _, err) = run(kymo().args(["record", "-a", "-o"]).arg(at("run.rtc")).stdin(stdin));
    assert_eq!(code, Some(1), "{err}");
    assert_eq!(fs::read(at("run.rtc")).unwrap(), whole);
}

#[cfg(unix)]
#[test]
fn what_another_records_to_is_left_alone() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    make(&at("run.rtc"), 100, 3);
    let mut recorder = Recorder::create(at("run.1.rtc")).unwrap();
    let stream = recorder.stream::<Utf8>("log").unwrap();
    recorder.write(stream, "kept").unwrap();
    let busy = |how: &[&str], name: &str| {
        let (code, _, err) =
            run(kymo().arg("record").args(how).arg("-o").arg(at(name)).args(["--", "echo"]));
        assert_eq!(code, Some(1), "{err}");
        assert!(err.contains("run.1.rtc: it is being recorded to"), "{err}");
    };
    busy(&["--append"], "run.1.rtc");
    busy(&["--force"], "run.1.rtc");
    busy(&["--append", "--rotate", "64K"], "run.rtc");
    busy(&["--force", "--rotate", "64K"], "run.rtc");
    recorder.finish().unwrap();
    assert_eq!(events(&at("run.1.rtc"), &[])[0]["value"], "kept");
    assert_eq!(events(&at("run.rtc"), &[]).len(), 6);
    let added = run(kymo().args(["record", "-a", "-o"]).arg(at("run.1.rtc")).args(["--", "echo"]));
    assert_eq!(added.0, Some(0), "{}", added.2);
}

/// The first part was cleaned up: the last one is added to, and the first is not made again.
#[test]
fn a_recording_that_rotates_is_added_to_without_its_first_part() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    make(&at("run.2.rtc"), 100, 3);
    let record = |path: &Path| {
        let how = ["record", "--append", "--rotate", "64K", "-o"];
        run(kymo().args(how).arg(path).args(["--", "echo", "line"]))
    };
    let (code, _, err) = record(&at("run.rtc"));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(names(folder.path()), ["run.2.rtc"]);
    let last = events(&at("run.2.rtc"), &[]);
    assert_eq!((last.len(), &last[6]["value"]), (7, &"line\n".into()));
    // What is looked at is the last part, also where the first is no recording.
    fs::write(at("run.rtc"), "a text").unwrap();
    assert_eq!(record(&at("run.rtc")).0, Some(0));
    assert_eq!(fs::read(at("run.rtc")).unwrap(), b"a text");
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_stays_when_nothing_is_recorded() {
    let folder = folder();
    let link = folder.path().join("run.rtc");
    std::os::unix::fs::symlink("there.rtc", &link).unwrap();
    let failed = run(kymo().args(["record", "-o"]).arg(&link).args(["--", "/nonexistent/program"]));
    assert_eq!(failed.0, Some(1));
    assert_eq!(names(folder.path()), ["run.rtc"]);
    assert!(link.is_symlink());
}

/// The clock is set at 100 s, and again at 200 s; events are at 200.5 s, 201.5 s and so on, as in a
/// part of a recording that rotates. Every command counts from the first event.
#[test]
fn moments_count_from_the_first_event() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let mut recorder = Recorder::create(at("run.rtc")).unwrap();
    let clock = recorder.absolute_clock("clk").unwrap();
    let delta = recorder.delta_clock("clk delta", clock, Resolution::Microseconds).unwrap();
    recorder.set(clock, half_past(100)).unwrap();
    let log = recorder.stream::<Utf8>(StreamOptions::new("log").clock(delta)).unwrap();
    for second in 200..210 {
        recorder.write_at(log, half_past(second), &format!("second {second}")).unwrap();
    }
    recorder.finish().unwrap();
    let values = |path: &Path, more: &[&str]| -> Vec<_> {
        events(path, more).iter().map(|event| event["value"].as_str().unwrap().to_owned()).collect()
    };
    let cut = |from: &str, to: &str, how: &[&str]| {
        let (code, _, err) = run(kymo().arg("cut").arg(at(from)).arg(at(to)).args(how));
        assert_eq!(code, Some(0), "{err}");
        values(&at(to), &[])
    };
    let expected = ["second 200", "second 201"];
    assert_eq!(values(&at("run.rtc"), &["--until", "+2s"]), expected);
    assert_eq!(values(&at("run.rtc"), &["--until", "+2s", "--stream", "*"]).len(), 2);
    assert_eq!(cut("run.rtc", "early.rtc", &["--until", "+2s"]), expected);
    assert_eq!(cut("run.rtc", "late.rtc", &["--since", "+7s"]).len(), 3);
    // A part of a part.
    assert_eq!(cut("late.rtc", "middle.rtc", &["--until", "+1s"]), ["second 207"]);
    let (_, out, _) = run(kymo().args(["info", "--json"]).arg(at("late.rtc")));
    let info: serde_json::Value = serde_json::from_str(&out).unwrap();
    let (start, duration) = (&info["facts"]["start_ns"], &info["facts"]["duration_ns"]);
    assert_eq!((start.as_i64(), duration.as_i64()), (Some(207_500_000_000), Some(2_000_000_000)));
}

#[test]
fn a_pipe_that_fails_is_told_of_and_the_others_are_recorded() {
    let folder = folder();
    let (path, text) = (folder.path().join("run.rtc"), folder.path().join("text"));
    fs::write(&text, "1\n2\n").unwrap();
    let directory = folder.path().join("directory");
    fs::create_dir(&directory).unwrap();
    let (good, bad) = (format!("a={}", text.display()), format!("b={}", directory.display()));
    let command = ["record", "--pipe", &bad, "--pipe", &good, "-o"];
    let (code, _, err) = run(kymo().args(command).arg(&path));
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("kymo: b: ") && err.contains("2 messages recorded"), "{err}");
    assert_eq!(events(&path, &[]).len(), 2);
    assert_sound(&path);
}

#[test]
fn parts_of_a_rotated_recording_merge_to_the_whole() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    let script = "seq -f 'line %.0f' 20000";
    let rotated = run(kymo()
        .args(["record", "--rotate", "64K", "-o"])
        .arg(&path)
        .args(["--", "sh", "-c", script]));
    assert_eq!(rotated.0, Some(0));
    let mut parts: Vec<_> = names(folder.path());
    assert!(parts.len() > 2, "{parts:?}");
    // `run.10.rtc` comes after `run.9.rtc`.
    parts.sort_by_key(|name| (name.len(), name.clone()));
    let parts: Vec<_> = parts.iter().map(|name| folder.path().join(name)).collect();
    let whole = folder.path().join("whole.rtc");
    let merged = run(kymo().arg("merge").args(&parts).arg("-o").arg(&whole));
    assert_eq!((merged.0, merged.2.as_str()), (Some(0), ""));
    assert_sound(&whole);
    let lines: Vec<_> = events(&whole, &[]).iter().map(|event| event["value"].clone()).collect();
    let expected: Vec<_> = (1..=20_000).map(|i| format!("line {i}\n")).collect();
    assert_eq!(lines, expected);
}

/// Parts that are hardly more than what describes them are refused.
#[test]
fn parts_that_are_too_small_are_refused() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    let command = ["record", "--rotate", "1K", "-o"];
    let (code, _, err) = run(kymo().args(command).arg(&path).args(["--", "echo", "line"]));
    assert_eq!(code, Some(2));
    assert!(err.contains("at least 64K make sense"), "{err}");
    assert!(!path.exists());
}

#[test]
fn lines_that_are_divided_are_counted() {
    let folder = folder();
    let (path, text) = (folder.path().join("run.rtc"), folder.path().join("text"));
    let long = "x".repeat(3_000_000);
    fs::write(&text, format!("short\n{long}\nshort\n{long}")).unwrap();
    let pipe = format!("a={}", text.display());
    let (code, _, err) = run(kymo().args(["record", "--pipe", &pipe, "-o"]).arg(&path));
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("; 2 lines of more than 1 MiB are in several messages each"), "{err}");
}

/// A limit on the size of files stands for a full disk: what is in the file is counted, and read.
#[cfg(unix)]
#[test]
fn a_recording_that_cannot_go_on_says_how_many_messages_it_has() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    let script = format!(
        "ulimit -f 400; seq -f 'line %.0f' 100000 | {} record -o {}",
        env!("CARGO_BIN_EXE_kymo"),
        path.display()
    );
    let (code, _, err) = run(std::process::Command::new("bash").args(["-c", &script]));
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("cannot write it: file too large; it has "), "{err}");
    assert!(!err.contains("os error"), "{err}");
    let told = err.split("it has ").nth(1).unwrap().split(' ').next().unwrap().replace(',', "");
    let (_, out, _) = run(kymo().args(["dump", "--json", "--stream", "stdin"]).arg(&path));
    assert_eq!(told, out.lines().count().to_string());
}

#[test]
fn a_name_of_another_format_is_refused() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    make(&at("run.rtc"), 100, 3);
    let cut = run(kymo().arg("cut").args([at("run.rtc"), at("part.mcap")]).args(["--since", "1"]));
    let merge = run(kymo().arg("merge").args([at("run.rtc")]).arg("-o").arg(at("all.csv")));
    let repair = run(kymo().arg("repair").args([at("run.rtc"), at("whole.bp")]));
    let record = run(kymo().args(["record", "-o"]).arg(at("new.h5")).args(["--", "echo"]));
    for (code, _, err) in [cut, merge, repair, record] {
        assert_eq!(code, Some(1), "{err}");
        assert!(err.contains("its name is that of"), "{err}");
        assert!(err.contains("`kymo convert`"), "{err}");
    }
    assert_eq!(names(folder.path()), ["run.rtc"]);
}

#[test]
fn recordings_that_are_in_order_need_no_sorting() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    make(&at("run.rtc"), 100, 3);
    let sorted =
        run(kymo().args(["merge", "--sort"]).arg(at("run.rtc")).arg("-o").arg(at("x.rtc")));
    assert_eq!(sorted.0, Some(1));
    assert!(sorted.2.contains("run.rtc: RTC files are in the order"), "{}", sorted.2);
    assert!(sorted.2.contains("hint: leave out --sort"), "{}", sorted.2);
}

#[test]
fn check_says_that_a_writer_did_not_end_its_recording() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    make(&path, 100, 3);
    let whole = fs::read(&path).unwrap();
    // Without the checksum with which it ends.
    fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    let (code, out, err) = run(kymo().arg("check").arg(&path));
    assert_eq!((code, out.as_str()), (Some(0), ""));
    assert!(err.contains("sound; a note: the session does not end with a checksum"), "{err}");
}

#[test]
fn a_cut_has_what_is_in_its_range() {
    let folder = folder();
    let (whole, part) = (folder.path().join("whole.rtc"), folder.path().join("part.rtc"));
    make(&whole, 100, 20);
    // Events lie at 100.5, 101.5 … so that these ranges hold 103.5, 104.5 and 105.5.
    let ranges: [&[&str]; 3] = [
        &["--since", "103", "--until", "106s"],
        &["--since", "+2.6s", "--until", "1970-01-01T00:01:46Z"],
        &["--since", "+3s", "--until", "-13s"],
    ];
    for range in ranges {
        let cut = run(kymo().args(["cut", "--force"]).arg(&whole).arg(&part).args(range));
        assert_eq!((cut.0, cut.2.as_str()), (Some(0), ""), "{range:?}");
        assert_sound(&part);
        let found: Vec<_> = events(&part, &["--stream", "level"]).iter().map(essence).collect();
        let expected: Vec<_> = [103, 104, 105]
            .map(|second: i64| {
                let value = f64::from(i32::try_from(second).unwrap()) * 0.5;
                ("level".to_owned(), Some(second * 1_000_000_000 + 500_000_000), value.into())
            })
            .to_vec();
        assert_eq!(found, expected, "{range:?}");
        assert_eq!(events(&part, &["--stream", "log"]).len(), 3, "{range:?}");
    }
}

#[test]
fn a_filter_keeps_streams_with_their_clocks_and_attributes() {
    let folder = folder();
    let (whole, part) = (folder.path().join("whole.rtc"), folder.path().join("part.rtc"));
    make(&whole, 100, 20);
    let filter = run(kymo().arg("filter").arg(&whole).arg(&part).args(["--stream", "lev*"]));
    assert_eq!((filter.0, filter.2.as_str()), (Some(0), ""));
    assert_sound(&part);
    let of_level: Vec<_> = events(&whole, &["--stream", "level"]).iter().map(essence).collect();
    let kept: Vec<_> = events(&part, &[]).iter().map(essence).collect();
    assert_eq!(kept, of_level);
    let (_, streams, _) =
        run(kymo().args(["convert", "--to", "jsonl", "--table", "streams"]).arg(&part).arg("-"));
    assert!(streams.contains(r#""unit":"m""#), "{streams}");
    let unknown = run(kymo().arg("filter").arg(&whole).arg("x.rtc").args(["--stream", "nothing"]));
    assert_eq!(unknown.0, Some(1));
    assert!(unknown.2.contains("there is no stream nothing"), "{}", unknown.2);
}

#[test]
fn merged_recordings_are_in_the_order_of_their_times() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    make(&at("late.rtc"), 105, 10);
    make(&at("early.rtc"), 100, 10);
    let merged = run(kymo()
        .arg("merge")
        .args([at("late.rtc"), at("early.rtc")])
        .arg("-o")
        .arg(at("all.rtc")));
    assert_eq!(merged.0, Some(0), "{}", merged.2);
    assert_sound(&at("all.rtc"));
    let all: Vec<_> = events(&at("all.rtc"), &[]).iter().map(essence).collect();
    assert_eq!(all.len(), 40);
    assert!(all.iter().map(|(_, time, _)| time.unwrap()).is_sorted());
    let mut expected: Vec<_> = events(&at("late.rtc"), &[]).iter().map(essence).collect();
    expected.extend(events(&at("early.rtc"), &[]).iter().map(essence));
    let sorted = |mut events: Vec<(String, Option<i64>, serde_json::Value)>| {
        for (name, ..) in &mut events {
            // Streams of the same name stay apart, the second under a name that begins with it.
            *name = name.chars().take_while(char::is_ascii_alphabetic).collect();
        }
        events.sort_by_key(|(name, time, value)| (*time, name.clone(), value.to_string()));
        events
    };
    assert_eq!(sorted(all), sorted(expected));
}

#[test]
fn to_mcap_and_back_everything_is_the_same() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    make(&at("run.rtc"), 100, 50);
    for (from, to) in [("run.rtc", "run.mcap"), ("run.mcap", "back.rtc")] {
        let converted = run(kymo().arg("convert").args([at(from), at(to)]));
        assert_eq!(converted.0, Some(0), "{from}: {}", converted.2);
        assert_sound(&at(to));
    }
    let item = |name| events(&at(name), &[]).iter().map(essence).collect::<Vec<_>>();
    assert_eq!(item("back.rtc"), item("run.rtc"));
}

#[test]
fn a_growing_file_is_followed() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    let mut recorder = Config::new().flush(Flush::Message).create(&path).unwrap();
    let clock = recorder.absolute_clock("clk").unwrap();
    let log = recorder.stream::<Utf8>(StreamOptions::new("log").clock(clock)).unwrap();
    for number in 0..20 {
        recorder.write_at(log, half_past(number), &format!("old {number}")).unwrap();
    }
    let follow = ["follow", "--stream", "log", "-n", "2", "--idle", "2s", "--json"];
    let child = kymo().args(follow).arg(&path).stdout(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_millis(500));
    for number in 20..30 {
        recorder.write_at(log, half_past(number), &format!("new {number}")).unwrap();
        thread::sleep(Duration::from_millis(20));
    }
    recorder.finish().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let lines: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let values: Vec<_> = lines.iter().map(|line| line["value"].as_str().unwrap()).collect();
    let expected: Vec<_> = ["old 18".to_owned(), "old 19".to_owned()]
        .into_iter()
        .chain((20..30).map(|number| format!("new {number}")))
        .collect();
    assert_eq!(values, expected);
    assert_eq!(lines[0]["time_ns"], 18_500_000_000_i64);
}

#[test]
fn a_pipe_is_followed_to_its_end() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    make(&path, 100, 5);
    let input = File::open(&path).unwrap();
    let mut cat =
        std::process::Command::new("cat").stdin(input).stdout(Stdio::piped()).spawn().unwrap();
    let pipe = cat.stdout.take().unwrap();
    let (code, out, err) = run(kymo().args(["follow", "-", "--stream", "level"]).stdin(pipe));
    cat.wait().unwrap();
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(out.lines().count(), 5);
    assert!(out.starts_with("1970-01-01T00:01:40.500000000Z  level"), "{out}");
    assert!(out.lines().next().unwrap().ends_with("  50"), "{out}");
}

#[test]
fn what_cannot_be_cut_or_followed_says_so() {
    let bp = support::data("v1-2008-07-11/06_timesteps.bp");
    let (code, _, err) = run(kymo().arg("cut").arg(&bp).args(["x.bp", "--since", "1"]));
    assert_eq!(code, Some(1));
    assert!(err.contains("files of format BP (binary-pack) are not cut or merged"), "{err}");
    let (code, _, err) = run(kymo().arg("follow").arg(&bp));
    assert_eq!(code, Some(1));
    assert!(err.contains("cannot be followed"), "{err}");
    let (code, _, err) = run(kymo().args(["cut", "a.rtc", "b.rtc"]));
    assert_eq!(code, Some(2));
    assert!(err.contains("nothing says where to cut"), "{err}");
}

/// A range that ends before it begins is bad usage; one that has nothing is said to.
#[test]
fn ranges_that_are_reversed_or_empty_are_told() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    make(&path, 100, 5);
    let out = folder.path().join("part.rtc");
    for name in ["dump", "cut"] {
        let mut command = kymo();
        command.args([name, "--since", "104", "--until", "101"]).arg(&path);
        if name == "cut" {
            command.arg(&out);
        }
        let (code, _, err) = run(&mut command);
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains("the range ends before it begins"), "{err}");
    }
    let (code, out, err) = run(kymo().args(["dump", "--since", "500"]).arg(&path));
    assert_eq!((code, out.as_str()), (Some(0), ""));
    let range = "1970-01-01T00:01:40.500000000Z to 1970-01-01T00:01:44.500000000Z";
    let why = format!("nothing of it is in that range: it is from {range}");
    assert!(err.contains(&why), "{err}");
}

/// Clocks tell the times of other streams, and are events only for who names them.
#[test]
fn clocks_are_left_out_unless_they_are_named() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    make(&path, 100, 3);
    let names = |more: &[&str]| {
        let (code, out, _) = run(kymo().args(["dump", "--csv"]).args(more).arg(&path));
        assert_eq!(code, Some(0));
        let name = |line: &str| line.split(',').nth(2).unwrap().to_owned();
        out.lines().skip(1).map(name).collect::<Vec<_>>()
    };
    assert_eq!(names(&["--last", "4"]), ["level", "log", "level", "log"]);
    assert_eq!(names(&["--stream", "clk"]), ["clk"; 3]);
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    let command = ["--", "no-such-program-anywhere"];
    let (code, _, err) = run(kymo().args(["record", "-o"]).arg(&path).args(command));
    assert_eq!(code, Some(1));
    assert!(err.contains("no-such-program-anywhere: there is no program of this name"), "{err}");
    assert!(!path.exists());
}

/// The command ends when it is told to; what it started goes on for long, and is not waited for.
#[test]
fn an_interrupted_command_is_not_waited_for_through_what_it_started() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    let script = "echo said; sleep 60 & wait";
    let mut command = kymo_with_default_signals();
    command.args(["record", "-o"]).arg(&path).args(["--", "sh", "-c", script]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while fs::metadata(&path).map_or(0, |found| found.len()) < 1025 {
        thread::sleep(Duration::from_millis(20));
    }
    let began = std::time::Instant::now();
    let told = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(told.unwrap().success());
    assert!(child.wait().unwrap().success(), "its end was asked for");
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(essence(&events(&path, &["--stream", "stdout"])[0]).2, "said\n");
}

/// Parts of an earlier recording of the same name do not stay beside a later one.
#[test]
fn a_recording_that_is_replaced_is_replaced_with_its_parts() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    for (number, name) in ["run.1.rtc", "run.2.rtc"].iter().enumerate() {
        make(&folder.path().join(name), 100 * number as u64, 2);
    }
    let stranger = folder.path().join("run.3.rtc");
    fs::write(&stranger, "no recording").unwrap();
    make(&path, 100, 2);
    let command = ["record", "--force", "--rotate", "64M", "-o"];
    let (code, _, err) = run(kymo().args(command).arg(&path).args(["--", "echo", "new"]));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(names(folder.path()), ["run.3.rtc", "run.rtc"]);
    assert_eq!(fs::read(&stranger).unwrap(), b"no recording");
}

/// A pipe that nobody writes to, and one whose writer says nothing more.
#[test]
fn a_pipe_in_which_nothing_comes_is_not_followed_for_ever() {
    let folder = folder();
    let (fifo, path) = (folder.path().join("fifo"), folder.path().join("run.rtc"));
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let follow = || {
        let mut command = kymo();
        command.args(["follow", "--from", "rtc", "--idle", "200ms"]).arg(&fifo);
        command
    };
    assert_eq!(run(&mut follow()).0, Some(0));
    make(&path, 100, 2);
    let child = follow().stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut writer = OpenOptions::new().write(true).open(&fifo).unwrap();
    writer.write_all(&fs::read(&path).unwrap()).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(String::from_utf8(ended.stdout).unwrap().lines().count(), 4);
    drop(writer);
}

/// A stream that is not there may still come: that is said, and no failure.
#[test]
fn following_a_stream_that_is_not_there_says_so() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    make(&path, 100, 2);
    let command = ["follow", "--idle", "200ms", "--stream", "leval"];
    let (code, out, err) = run(kymo().args(command).arg(&path));
    assert_eq!((code, out.as_str()), (Some(0), ""));
    assert!(err.contains("there is no stream leval so far"), "{err}");
    assert!(err.contains("its writer has ended it"), "{err}");
}

/// Events that are there already are found through the indices, also in Units before the last.
#[test]
fn the_last_events_that_are_there_come_first_however_far_back_they_are() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    let mut recorder = Config::new().sizes(8192, 2048).unwrap().create(&path).unwrap();
    let clock = recorder.absolute_clock("clk").unwrap();
    let rare = recorder.stream::<Utf8>(StreamOptions::new("rare").clock(clock)).unwrap();
    let often = recorder.stream::<Utf8>(StreamOptions::new("often").clock(clock)).unwrap();
    for second in 0..3 {
        recorder.write_at(rare, half_past(second), &format!("rare {second}")).unwrap();
    }
    for second in 3..1003 {
        recorder.write_at(often, half_past(second), &format!("often {second}")).unwrap();
    }
    recorder.finish().unwrap();
    let follow = |more: &[&str]| {
        let (code, out, err) =
            run(kymo().args(["follow", "--idle", "100ms"]).args(more).arg(&path));
        assert_eq!(code, Some(0), "{err}");
        let value = |line: &str| line.rsplit("  ").next().unwrap().to_owned();
        out.lines().map(value).collect::<Vec<_>>()
    };
    assert_eq!(follow(&["-n", "2", "--stream", "rare"]), ["rare 1", "rare 2"]);
    let last: Vec<_> = (203..1003).map(|second| format!("often {second}")).collect();
    assert_eq!(follow(&["-n", "800"]), last);
    assert_eq!(follow(&["-n", "0"]), Vec::<String>::new());
}

#[test]
fn a_recording_that_rotates_is_followed_into_its_next_parts() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    make(&path, 100, 2);
    let follow = ["follow", "--stream", "level", "--idle", "2s"];
    let mut child = kymo();
    child.args(follow).arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    for part in [2, 3] {
        thread::sleep(Duration::from_millis(500));
        make(&folder.path().join(format!("run.{part}.rtc")), 100 * part, 2);
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("it goes on in ") && said.contains("run.3.rtc"), "{said}");
    let out = String::from_utf8(output.stdout).unwrap();
    let values: Vec<_> = out.lines().map(|line| line.rsplit("  ").next().unwrap()).collect();
    // The stream's gain is a half.
    assert_eq!(values, ["50", "50.5", "100", "100.5", "150", "150.5"]);
}

/// The head of a recording is cut off within a message: what is left of that is marked.
#[test]
fn what_may_lack_its_beginning_is_marked_among_events() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    let mut recorder = Config::new().sizes(8192, 2048).unwrap().create(&path).unwrap();
    let log = recorder.stream::<Utf8>(StreamOptions::new("log")).unwrap();
    for letter in ["a", "b", "c"] {
        recorder.write(log, &letter.repeat(6000)).unwrap();
    }
    recorder.finish().unwrap();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[8192..]).unwrap();
    let (code, out, err) = run(kymo().args(["dump", "--stream", "log", "--json"]).arg(&path));
    assert_eq!(code, Some(3), "{err}");
    let events: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = events.iter().map(|event| event["partial"].as_str()).collect();
    assert_eq!(told, [Some("its beginning may be missing"), None]);
    let (_, out, _) = run(kymo().args(["dump", "--stream", "log"]).arg(&path));
    assert!(out.lines().next().unwrap().ends_with("bbb  (its beginning may be missing)"));
}

#[test]
fn what_streams_say_of_themselves_is_json_in_json() {
    let folder = folder();
    let path = folder.path().join("run.rtc");
    make(&path, 100, 1);
    let said = serde_json::json!({ "unit": "m" });
    let (code, out, err) = run(kymo().args(["dump", "--json"]).arg(&path));
    assert_eq!(code, Some(0), "{err}");
    let records = out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let level = records.into_iter().find(|record| record["name"] == "level").unwrap();
    assert_eq!(level["attributes"]["unit"], said["unit"]);
    let to = folder.path().join("rows.jsonl");
    let converted = |table: &str| {
        let command = ["convert", "--force", "--table", table];
        let (code, _, err) = run(kymo().args(command).arg(&path).arg(&to));
        assert_eq!(code, Some(0), "{err}");
        let text = fs::read_to_string(&to).unwrap();
        let row = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        text.lines().map(row).collect::<Vec<_>>()
    };
    let streams = converted("streams");
    let level = streams.iter().find(|row| row["name"] == "level").unwrap();
    assert_eq!(level["attributes"]["unit"], said["unit"]);
    let messages = converted("messages");
    let item = |stream: &str| messages.iter().find(|row| row["stream"] == stream).unwrap();
    // Half of 100, as the stream's gain says.
    assert_eq!(item("level")["number"], 50.0);
    assert!(item("log")["number"].is_null());
}
