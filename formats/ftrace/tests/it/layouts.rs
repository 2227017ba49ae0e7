//! One recording in every layout that its tools print: the same events in all of them.

use std::path::Path;

use kymo_core::bytes::Limits;
use kymo_core::{Context, Source};
use kymo_ftrace::Ftrace;
use kymo_model::timeline::{Content, Window};
use kymo_model::{Confidence, Format};

/// Every activity: when in microseconds, on which track, what.
fn activities(sample: &str) -> Vec<(i64, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ftrace").join(sample);
    activities_of(&Source::open(&path, &Limits::default()).unwrap())
}

fn activities_of(source: &Source) -> Vec<(i64, String)> {
    let dataset = Ftrace.open(source, &Context::default()).unwrap();
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

/// The lines of `report.ftrace` as options of `trace-cmd report` print them.
fn reported(before: &str, line: impl Fn(&str) -> String, after: &str) -> Source {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ftrace/report.ftrace");
    let text = std::fs::read_to_string(path).unwrap();
    let lines: String = text.lines().map(|text| line(text) + "\n").collect();
    let source = Source::from_bytes("", format!("{before}{lines}{after}").into_bytes());
    assert_eq!(Ftrace.sniff(&source.probe()), Some(Confidence::Plausible));
    source
}

#[test]
fn options_of_trace_cmd_make_no_difference() {
    let expected = activities("report.ftrace");
    // --ts-diff: the time since the event before, which the first does not have.
    let with_difference = |line: &str| line.replacen(": ", ": (+41)    ", 1);
    assert_eq!(activities_of(&reported("", with_difference, "")), expected);
    // -w: the time since the wakeup behind switches, and a summary at the end.
    let with_latency = |line: &str| {
        let latency = if line.contains(" ==> ") { " Latency: 907.484 usecs" } else { "" };
        format!("{line}{latency}")
    };
    let summary = "\nAverage wakeup latency: 2.230 usecs\nMaximum Latency: 3.024 usecs at timestamp: \
                   1838.313268\nMinimum Latency: 1.782 usecs at timestamp: 1838.340531\n\nRT task \
                   timings:\n\n";
    assert_eq!(activities_of(&reported("", with_latency, summary)), expected);
    // -V: what plugins do.
    let plugins = "version = 7\nregistering plugin: /usr/lib/traceevent/plugins/plugin_kvm.so\n\
                   overriding event (372) sched:sched_switch with new print handler\n";
    assert_eq!(activities_of(&reported(plugins, str::to_owned, "")), expected);
}

#[test]
fn a_function_graph_with_times_and_tasks_is_functions() {
    let text = "# tracer: function_graph\n#\n\
                \x20 100.000001 |   1)  bash-77       |               |  do_sys_open() {\n\
                \x20 100.000002 |   1)  bash-77       |   1.234 us    |    getname();\n\
                \x20 100.000005 |   1)  bash-77       | + 12.345 us   |  }\n";
    let found = activities_of(&Source::from_bytes("", text.as_bytes().to_vec()));
    let expected = [
        (100_000_001, "bash-77: begin do_sys_open".to_owned()),
        (100_000_002, "bash-77: begin getname".to_owned()),
        (100_000_005, "bash-77: end".to_owned()),
    ];
    assert_eq!(found, expected);
}
