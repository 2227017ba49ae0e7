//! Times worked out by hand.

use std::sync::Arc;

use kymo_core::bytes::Limits;
use kymo_core::model::profile::{By, MetricId, Question, ThreadId, flat, traced};
use kymo_core::model::timeline::{Activity, TimelineView, TrackId, Window};

use super::Calls;
use crate::fixture::{Timeline, Told, named};

/// On `cpu 0`: `main` from 0 to 100 calls `read` from 10 to 40, which calls `lock` from 20 to 25,
/// and `read` again from 50 to 60. On `cpu 1`: `tick` from 30, which is not over, and the end of
/// something that began before.
fn told() -> Vec<Told> {
    let end = || Activity::End;
    vec![
        (0, 0, named("main")),
        (5, 4, end()),
        (10, 0, named("read")),
        (20, 0, named("lock")),
        (25, 0, end()),
        (30, 4, named("tick")),
        (40, 0, end()),
        (50, 0, named("read")),
        (60, 0, end()),
        (70, 4, named("wait")),
        (75, 4, end()),
        (100, 0, end()),
    ]
}

fn calls(told: Vec<Told>) -> Option<Calls> {
    let timeline: Arc<dyn TimelineView> = Arc::new(Timeline(told));
    Calls::new(&timeline, &Limits::default()).unwrap()
}

/// Each function with what it took itself and with what it called.
fn rows(calls: &Calls, metric: u32) -> Vec<(String, f64, f64)> {
    let tree = calls.profile();
    let question = Question { view: &*tree, metric: MetricId(metric), threads: None };
    let mut rows = flat(&question, By::Function).unwrap().rows;
    rows.sort_by(|one, other| one.label.cmp(&other.label));
    rows.into_iter().map(|row| (row.label, row.exclusive, row.inclusive)).collect()
}

#[test]
fn what_a_function_took_is_without_what_it_called() {
    let calls = calls(told()).unwrap();
    let ns = |(name, own, all): (String, f64, f64)| {
        (name, [own, all].map(|seconds| (seconds * 1e9).round()))
    };
    let found: Vec<_> = rows(&calls, 0).into_iter().map(ns).collect();
    let expected = [
        ("lock", [5.0, 5.0]),
        ("main", [60.0, 100.0]),
        ("read", [35.0, 40.0]),
        ("tick", [40.0, 45.0]),
        ("wait", [5.0, 5.0]),
    ];
    let expected = expected.map(|(name, times)| (name.to_owned(), times));
    let shown: Vec<_> = found.into_iter().filter(|(_, times)| times[1] > 0.0).collect();
    assert_eq!(shown, expected);
    assert_eq!(
        calls.profile().remarks(),
        [
            "1 call is not over at the end: what it took until then counts",
            "1 call began before the recording: what it took is not known",
        ]
    );
}

#[test]
fn calls_are_counted_where_they_lead() {
    let calls = calls(told()).unwrap();
    let mut counted: Vec<_> = rows(&calls, 1).into_iter().map(|row| (row.0, row.1)).collect();
    counted.retain(|(_, calls)| *calls > 0.0);
    let expected = [("lock", 1.0), ("main", 1.0), ("read", 2.0), ("tick", 1.0), ("wait", 1.0)];
    assert_eq!(counted, expected.map(|(name, count)| (name.to_owned(), count)));
}

#[test]
fn threads_are_called_as_their_tracks() {
    let tree = calls(told()).unwrap().profile();
    let names = [0, 1].map(|id| tree.thread(ThreadId(id)).unwrap().to_string());
    assert_eq!(names, ["cpu 0 / THREAD 0", "cpu 1 / THREAD 4"]);
}

#[test]
fn samples_say_where_a_thread_is() {
    let calls = calls(told()).unwrap();
    let (tree, samples) = (calls.profile(), calls.samples());
    let window = Window { tracks: Some(vec![TrackId(0)]), ..Window::default() };
    let found = traced(&*tree, &samples, &window, None, 10).unwrap();
    let line = found.lines.first().unwrap();
    let strip: Vec<_> = line
        .strip
        .iter()
        .map(|function| function.map_or("", |function| found.functions[function].as_str()))
        .collect();
    let expected = ["main", "read", "lock", "read", "main", "read", "main", "main", "main", "main"];
    // Of 20 to 30, `lock` and `read` have one half each.
    assert_eq!(strip[..2], expected[..2]);
    assert_eq!(strip[3..], expected[3..]);
}

#[test]
fn a_timeline_without_calls_has_no_profile_of_them() {
    assert!(calls(vec![(0, 1, named("x")), (1, 1, Activity::End)]).is_none());
}

/// `main` from 0 to 60 calls `f` from 10, which calls `g` at 20, whose return is missing, and
/// returns at 30; then `h` from 40 to 50. The return of `x` at 45 is of no call.
fn with_a_return_missing() -> Vec<Told> {
    let end = |name: &'static str| Activity::EndOf { name: name.into() };
    vec![
        (0, 0, named("main")),
        (10, 0, named("f")),
        (20, 0, named("g")),
        (30, 0, end("f")),
        (40, 0, named("h")),
        (45, 0, end("x")),
        (50, 0, end("h")),
        (60, 0, end("main")),
    ]
}

#[test]
fn a_return_ends_the_function_that_it_names() {
    let calls = calls(with_a_return_missing()).unwrap();
    let ns = |(name, own, all): (String, f64, f64)| {
        (name, [own, all].map(|seconds| (seconds * 1e9).round()))
    };
    let mut found: Vec<_> = rows(&calls, 0).into_iter().map(ns).collect();
    found.retain(|(_, times)| times[1] > 0.0);
    let expected =
        [("f", [10.0, 20.0]), ("g", [10.0, 10.0]), ("h", [10.0, 10.0]), ("main", [30.0, 60.0])];
    assert_eq!(found, expected.map(|(name, times)| (name.to_owned(), times)));
    assert_eq!(
        calls.profile().doubts(),
        [
            "1 call was over when another function returned: its own return is missing",
            "1 return is of a function that was not called: it is left out",
        ]
    );
    assert!(calls.profile().remarks().is_empty());
}

#[test]
fn samples_end_with_the_function_that_returns() {
    let calls = calls(with_a_return_missing()).unwrap();
    let (tree, samples) = (calls.profile(), calls.samples());
    let found = traced(&*tree, &samples, &Window::default(), None, 6).unwrap();
    let line = found.lines.first().unwrap();
    let strip: Vec<_> = line
        .strip
        .iter()
        .map(|function| function.map_or("", |function| found.functions[function].as_str()))
        .collect();
    assert_eq!(strip, ["main", "f", "g", "main", "h", "main"]);
}

/// What began before the recording may return; no call is in doubt.
#[test]
fn the_return_of_what_began_before_is_no_doubt() {
    let end = |name: &'static str| Activity::EndOf { name: name.into() };
    let told = vec![(0, 0, named("g")), (5, 0, end("g")), (9, 0, end("main"))];
    let profile = calls(told).unwrap().profile();
    assert!(profile.doubts().is_empty());
    assert_eq!(profile.remarks(), ["1 call began before the recording: what it took is not known"]);
}
