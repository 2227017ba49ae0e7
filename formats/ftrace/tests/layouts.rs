//! One recording in every layout that its tools print: the same events in all of them.
#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

use std::path::Path;

use kymo_core::bytes::Limits;
use kymo_core::model::timeline::{Content, Window};
use kymo_core::{Context, Format, Source};
use kymo_ftrace::Ftrace;

/// Every activity: when in microseconds, on which track, what.
fn activities(sample: &str) -> Vec<(i64, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ftrace").join(sample);
    let source = Source::open(&path, &Limits::default()).unwrap();
    let dataset = Ftrace.open(&source, &Context::default()).unwrap();
    assert_eq!(dataset.findings(), []);
    let timeline = dataset.timeline().unwrap();
    let tracks = timeline.tracks();
    let mut events = timeline.events(&Window::default()).unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        if let Content::Activity(activity) = &event.content {
            let name = &tracks.get(event.track.0).unwrap().name;
            found.push((event.time.unwrap().0 / 1000, format!("{name}: {activity}")));
        }
    }
    found
}

fn without_times(found: Vec<(i64, String)>) -> Vec<String> {
    found.into_iter().map(|(_, what)| what).collect()
}

#[test]
fn tracefs_prints_one_recording_in_four_layouts() {
    let expected = activities("plain.ftrace");
    // As `grep -c` counts: 15 switches, each an end; and interrupts end on their processor.
    let ends = expected.iter().filter(|(_, what)| what.ends_with(": end"));
    let ends = ends.filter(|(_, what)| !what.starts_with("cpu "));
    assert_eq!(ends.count(), 15);
    assert_eq!(activities("noirq.ftrace"), expected);
    assert_eq!(activities("tgid.ftrace"), expected);
    // Times with latency columns count from the first event that the buffer ever held.
    let found = activities("latency.ftrace");
    let shift = expected.first().unwrap().0 - found.first().unwrap().0;
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.1, expected.1);
        // The kernel rounds one of them down, and the other to the nearest.
        assert!((found.0 + shift - expected.0).abs() <= 1, "{found:?} {expected:?}");
    }
    assert_eq!(without_times(found), without_times(expected));
}

#[test]
fn trace_cmd_prints_one_recording_in_four_layouts() {
    let expected = activities("report.ftrace");
    assert_eq!(activities("report_latency.ftrace"), expected);
    assert_eq!(without_times(activities("report_raw.ftrace")), without_times(expected.clone()));
    // Its times in microseconds are rounded to the nearest.
    let found = activities("report_ns.ftrace");
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found.0 - expected.0).abs() <= 1, "{found:?} {expected:?}");
    }
    assert_eq!(without_times(found), without_times(expected));
}
