//! Real traces, read in full.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use kymo_conformance::shared;
use kymo_core::bytes::Limits;
use kymo_core::{Context, Severity, Source};
use kymo_ctf::{Ctf, Reader};
use kymo_model::Format;
use kymo_model::timeline::{Activity, Content, TrackKind, Window};

/// Every trace, with how many task switches it has; those of the kernel have any.
const TRACES: [(&str, usize); 6] = [
    ("many-threads", 28_325),
    ("lttng-tracefile-rotation/kernel", 4_687),
    ("flipping-endianness", 2_540),
    ("cyg-profile/glxgears-cyg-profile", 0),
    ("cyg-profile/glxgears-cyg-profile-fast", 0),
    ("mpi_ssend_irecv", 0),
];

/// What babeltrace2 prints of a trace: the time in nanoseconds, the event's name, its contexts and
/// its fields. It knows the format from its authors; `cargo xtask ci` installs it.
fn expected(folder: &Path) -> Vec<(i64, String)> {
    let options = ["--clock-seconds", "--no-delta", "--fields=trace:hostname"];
    let output = Command::new("babeltrace2").args(options).arg(folder).output();
    let output = output.expect("babeltrace2 is to be installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(line).collect()
}

/// `[12.000000034] host name: { cpu_id = 5 }, { a = 1 }`
fn line(line: &str) -> (i64, String) {
    let (time, rest) = line.strip_prefix('[').unwrap().split_once("] ").unwrap();
    let (seconds, fraction) = time.split_once('.').unwrap();
    let time = seconds.parse::<i64>().unwrap() * 1_000_000_000 + fraction.parse::<i64>().unwrap();
    let (name, fields) = rest.split_once(": ").unwrap();
    let name = name.rsplit(' ').next().unwrap();
    // The packet's context stands before the event's own.
    let fields = fields
        .strip_prefix("{ cpu_id = ")
        .map_or(fields, |rest| rest.split_once(" }, ").map_or("", |(_, fields)| fields));
    (time, format!("{name}: {fields}"))
}

fn found(folder: &Path) -> Vec<(i64, String)> {
    let source = Source::open(folder, &Limits::default()).unwrap();
    let dataset = Ctf.open(&source, &Context::default()).unwrap();
    let mut events = dataset.timeline().unwrap().events(&Window::default()).unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        // What events are to tasks comes besides.
        if let Content::Text(text) = &event.content {
            found.push((event.time.unwrap().0, text.to_string()));
        }
    }
    drop(events);
    assert_eq!(dataset.findings(), [], "{}", folder.display());
    assert!(found.is_sorted_by_key(|(time, _)| *time), "{}", folder.display());
    found
}

/// Returns true if two events are the same. Where a text is empty, babeltrace 2.0 prints the one
/// before it again; the bytes of the trace show that it is empty. It converts ticks with floating
/// point, which may be a nanosecond off.
fn agree(found: &(i64, String), expected: &(i64, String)) -> bool {
    let mut parts = found.1.split("\"\"");
    let Some(mut rest) = parts.next().and_then(|first| expected.1.strip_prefix(first)) else {
        return false;
    };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    found.0.abs_diff(expected.0) <= 1 && rest.is_empty()
}

/// What events are put in order by: name, time, and then all the rest.
fn key((time, text): &(i64, String)) -> (&str, i64, &str) {
    (text.split_once(": ").unwrap().0, *time, text)
}

#[test]
fn every_event_is_as_babeltrace_prints_it() {
    for (name, switches) in TRACES {
        let Some(folder) = shared::file(&format!("traces/ctf/{name}")) else { return };
        let (mut found, mut expected) = (found(&folder), expected(&folder));
        // Events of the same moment are in no order.
        for events in [&mut found, &mut expected] {
            events.sort_by(|a, b| key(a).cmp(&key(b)));
        }
        let is_switch = |(_, text): &&(i64, String)| text.starts_with("sched_switch: ");
        assert_eq!(found.iter().filter(is_switch).count(), switches, "{name}");
        assert_eq!(found.len(), expected.len(), "{name}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(agree(found, expected), "{name}: {found:?} {expected:?}");
        }
    }
}

#[test]
fn the_largest_trace_has_all_its_events() {
    let Some(folder) = shared::file("traces/ctf/many-threads") else { return };
    let source = Source::open(&folder, &Limits::default()).unwrap();
    assert_eq!(Reader::open(&source, &Context::default()).unwrap().count(), 240_644);
    assert_eq!(Ctf.check(&source, &Context::default()).unwrap(), []);
}

/// The number that a field of an event has.
fn field<'a>(text: &'a str, name: &str) -> &'a str {
    let rest = text.split_once(&format!(" {name} = ")).unwrap().1;
    rest.split([',', ' ']).next().unwrap()
}

/// The switches of a processor as `time prev next`.
type Switches = BTreeMap<String, Vec<(i64, String, String)>>;

fn expected_switches(folder: &Path) -> Switches {
    let options = ["--clock-seconds", "--no-delta", "--fields=trace:hostname"];
    let output = Command::new("babeltrace2").args(options).arg(folder).output().unwrap();
    let mut switches = Switches::new();
    for text in
        String::from_utf8_lossy(&output.stdout).lines().filter(|l| l.contains("sched_switch: "))
    {
        let (time, _) = line(text);
        let of_cpu = switches.entry(field(text, "cpu_id").to_owned()).or_default();
        of_cpu.push((time, field(text, "prev_tid").to_owned(), field(text, "next_tid").to_owned()));
    }
    switches
}

/// The same from what ends and begins on the tracks of tasks.
fn found_switches(folder: &Path) -> Switches {
    let source = Source::open(folder, &Limits::default()).unwrap();
    let dataset = Ctf.open(&source, &Context::default()).unwrap();
    let timeline = dataset.timeline().unwrap();
    let tracks = timeline.tracks();
    let mut events = Arc::clone(&timeline).events(&Window::default()).unwrap();
    let (mut switches, mut ended) = (Switches::new(), None);
    while let Some(event) = events.next().unwrap() {
        let track = &tracks[event.track.0];
        let Content::Activity(activity) = &event.content else { continue };
        if track.kind != TrackKind::Task {
            continue;
        }
        let tid = track.task_id().unwrap().to_string();
        match activity {
            Activity::End => ended = Some(tid),
            Activity::Begin { name: None, priority: Some(_), .. } => {
                let cpu = tracks[track.parent.unwrap().0]
                    .attributes
                    .number("cpu_id")
                    .unwrap()
                    .to_string();
                let of_cpu = switches.entry(cpu).or_default();
                of_cpu.push((event.time.unwrap().0, ended.take().unwrap(), tid));
            }
            _ => {}
        }
    }
    switches
}

#[test]
fn tasks_run_as_babeltrace_tells_their_switches() {
    for (name, count) in TRACES.into_iter().filter(|(_, count)| *count > 0) {
        let Some(folder) = shared::file(&format!("traces/ctf/{name}")) else { return };
        let (found, expected) = (found_switches(&folder), expected_switches(&folder));
        assert_eq!(found.values().map(Vec::len).sum::<usize>(), count, "{name}");
        assert!(found.keys().eq(expected.keys()), "{name}");
        for (found, expected) in found.values().flatten().zip(expected.values().flatten()) {
            // babeltrace may be a nanosecond off.
            assert!(found.0.abs_diff(expected.0) <= 1, "{name}");
            assert_eq!((&found.1, &found.2), (&expected.1, &expected.2), "{name}");
        }
    }
}

/// What happens on tracks of a kind, one a line.
fn activities(name: &str, kind: TrackKind) -> Option<Vec<String>> {
    let folder = shared::file(&format!("traces/ctf/{name}"))?;
    let source = Source::open(&folder, &Limits::default()).unwrap();
    let timeline = Ctf.open(&source, &Context::default()).unwrap().timeline().unwrap();
    let tracks = timeline.tracks();
    let mut events = timeline.events(&Window::default()).unwrap();
    let mut lines = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let track = &tracks[event.track.0];
        if let (Content::Activity(activity), true) = (&event.content, track.kind == kind) {
            lines.push(format!("{}: {activity}", track.name));
        }
    }
    Some(lines)
}

#[test]
fn functions_are_entered_and_left() {
    let Some(lines) = activities("cyg-profile/glxgears-cyg-profile", TrackKind::Calls) else {
        return;
    };
    // As babeltrace prints the first three.
    let expected = ["begin 0x40472b", "begin 0x403d60", "end 0x403d60"]
        .map(|l| format!("glxgears-16073: {l}"));
    assert_eq!(lines[..3], expected);
}

#[test]
fn messages_of_mpi_are_sent_and_received() {
    let Some(lines) = activities("mpi_ssend_irecv", TrackKind::Calls) else { return };
    assert_eq!(lines.iter().filter(|line| line.contains("begin")).count(), 13);
    let messages: Vec<_> = lines.iter().filter(|line| line.contains("tag")).collect();
    assert_eq!(messages, ["Master thread 0: send tag 0", "Master thread 1: receive tag 0"]);
    assert!(lines.contains(&"Master thread 0: begin MPI_Ssend".to_owned()));
}

const ROTATED: &str = "traces/ctf/lttng-tracefile-rotation/kernel";

/// A copy of a trace, with something done to it.
fn changed(change: impl FnOnce(&Path)) -> Option<(tempfile::TempDir, Source)> {
    let folder = shared::file(ROTATED)?;
    let copy = tempfile::tempdir().unwrap();
    std::fs::create_dir(copy.path().join("index")).unwrap();
    for below in ["", "index"] {
        for entry in std::fs::read_dir(folder.join(below)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.strip_prefix(&folder).unwrap();
                std::fs::copy(&path, copy.path().join(name)).unwrap();
            }
        }
    }
    change(copy.path());
    let source = Source::open(copy.path(), &Limits::default()).unwrap();
    Some((copy, source))
}

/// What is said of a trace that is opened, and of nothing else.
fn said(source: &Source) -> Vec<(&'static str, String)> {
    let dataset = Ctf.open(source, &Context::default()).unwrap();
    let findings = dataset.findings().into_iter();
    let findings: Vec<_> = findings.map(|found| (found.rule, found.message)).collect();
    assert!(dataset.findings().iter().all(|found| found.severity >= Severity::Warning));
    findings
}

/// "Tracer discarded 1 packet between [21:36:36.521952988] and [21:36:37.334064469] in trace",
/// says babeltrace2 of the same, in the time of its authors.
#[test]
fn a_packet_that_is_missing_is_said_with_its_time() {
    let remove = |folder: &Path| std::fs::remove_file(folder.join("mychan_0_1")).unwrap();
    let Some((_copy, source)) = changed(remove) else { return };
    let said = said(&source);
    let missing = "it is not there, and the index has 1 packet of it".to_owned();
    assert_eq!(said[0], ("missing-file", missing));
    assert_eq!(said[1].0, "missing-packets");
    for part in ["1 packet of mychan_0_0", ":36.521952988Z", ":37.334064469Z"] {
        assert!(said[1].1.contains(part), "{}", said[1].1);
    }
    // The switch after the hole stops another task than ran before it.
    let found = Ctf.check(&source, &Context::default()).unwrap();
    let switch = found.iter().find(|found| found.rule == "unbalanced-switch").unwrap();
    assert!(switch.message.starts_with("on cpu 0, task "), "{}", switch.message);
    assert!(switch.message.contains(" runs: events are missing"), "{}", switch.message);
}

#[test]
fn an_index_that_is_cut_or_none_is_said() {
    let index = |folder: &Path| folder.join("index/mychan_0_0.idx");
    let cut = |folder: &Path| {
        let bytes = std::fs::read(index(folder)).unwrap();
        std::fs::write(index(folder), &bytes[..bytes.len() - 5]).unwrap();
    };
    let Some((_copy, source)) = changed(cut) else { return };
    let why = "it ends within an entry, so that it is cut".to_owned();
    assert_eq!(said(&source), [("index", why)]);
    let overwrite = |folder: &Path| {
        let mut bytes = std::fs::read(index(folder)).unwrap();
        bytes[0] = 0;
        std::fs::write(index(folder), bytes).unwrap();
    };
    let Some((_copy, source)) = changed(overwrite) else { return };
    let why = "it does not begin as an index of LTTng does".to_owned();
    assert_eq!(said(&source), [("index", why)]);
}

#[cfg(unix)]
#[test]
fn files_that_are_empty_or_none_are_said() {
    for kind in ["empty", "dangling", "pipe"] {
        let change = |folder: &Path| {
            let file = folder.join("mychan_0_0");
            std::fs::remove_file(&file).unwrap();
            match kind {
                "empty" => std::fs::write(file, b"").unwrap(),
                "dangling" => std::os::unix::fs::symlink("nowhere", file).unwrap(),
                _ => assert!(Command::new("mkfifo").arg(file).status().unwrap().success()),
            }
        };
        let Some((_copy, source)) = changed(change) else { return };
        let said = said(&source);
        assert!(said.iter().any(|(rule, _)| *rule == "missing-file"), "{kind}: {said:?}");
    }
}

#[test]
fn a_trace_that_lacks_nothing_says_nothing() {
    let Some((_copy, source)) = changed(|_| ()) else { return };
    assert_eq!(said(&source), []);
    assert_eq!(Ctf.check(&source, &Context::default()).unwrap(), []);
}

/// One packet of 65,536 bytes is cut to 50,000: of its 1,471 events, 1,119 begin where another ends
/// before that, and the next goes from byte 49,960 to 50,020.
#[test]
fn events_of_a_packet_that_was_cut_are_read_up_to_the_cut() {
    let cut = |folder: &Path| {
        let file = std::fs::File::options().write(true).open(folder.join("mychan_1_0")).unwrap();
        file.set_len(50_000).unwrap();
    };
    let Some((_copy, source)) = changed(cut) else { return };
    let reader = Reader::open(&source, &Context::default()).unwrap();
    assert_eq!(reader.count(), 12_305 - 1_471 + 1_119);
    assert_eq!(reader.findings().len(), 1, "{:?}", reader.findings());
}

/// Zeros in the middle of a stream are no events, and what other streams tell stays what it is.
#[test]
fn zeros_are_no_events() {
    let Some(folder) = shared::file("traces/ctf/many-threads") else { return };
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    let stream = copy.path().join("channel0_1");
    let mut bytes = std::fs::read(&stream).unwrap();
    bytes[600_000..640_000].fill(0);
    std::fs::write(&stream, bytes).unwrap();
    let source = Source::open(copy.path(), &Limits::default()).unwrap();
    let dataset = Ctf.open(&source, &Context::default()).unwrap();
    let timeline = dataset.timeline().unwrap();
    let range = Arc::clone(&timeline).range(kymo_model::timeline::ClockId(0)).unwrap();
    let (first, last) = range.unwrap().into_inner();
    // As babeltrace2 has it of the sound trace: 0.432662358 s.
    assert_eq!(last.0 - first.0, 432_662_358);
    let mut events = timeline.events(&Window::default()).unwrap();
    let (mut made_up, mut gaps) = (0, 0);
    while let Some(event) = events.next().unwrap() {
        match &event.content {
            Content::Text(text) => {
                made_up += u64::from(text.starts_with("lttng_statedump_block_device"));
            }
            Content::Activity(Activity::Gap(_)) => gaps += 1,
            _ => {}
        }
    }
    assert_eq!(gaps, 1);
    assert!(made_up < 100, "{made_up}");
    let said = dataset.findings();
    let zeros = said.iter().find(|finding| finding.message.contains("bytes are zero"));
    let zeros = zeros.unwrap();
    assert_eq!(zeros.file.as_deref(), Some("channel0_1"));
    assert!((599_900..600_200).contains(&zeros.offset.unwrap()), "{zeros:?}");
}
