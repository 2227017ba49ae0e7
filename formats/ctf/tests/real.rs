//! Real traces, read in full.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

use std::path::Path;
use std::process::Command;

use kymo_conformance::shared;
use kymo_core::bytes::Limits;
use kymo_core::model::timeline::{Content, Window};
use kymo_core::{Context, Format, Source};
use kymo_ctf::{Ctf, Reader};

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
        let Content::Text(text) = &event.content else { panic!("{event:?}") };
        found.push((event.time.unwrap().0, text.to_string()));
    }
    drop(events);
    assert_eq!(dataset.findings(), [], "{}", folder.display());
    assert!(found.is_sorted_by_key(|(time, _)| *time), "{}", folder.display());
    found
}

/// Whether two events are the same. Where a text is empty, babeltrace 2.0 prints the one before it
/// again; the bytes of the trace show that it is empty. It converts ticks with floating point, which
/// may be a nanosecond off.
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
