//! Times worked out by hand.

use std::sync::Arc;

use kymo_core::bytes::Limits;
use kymo_model::profile::{FlatGrouping, MetricId, MetricQuery, ThreadId, flat, traced};
use kymo_model::timeline::{Activity, TimelineView, TrackId, Window};

use super::Calls;
use crate::fixture::{TimedActivity, Timeline, ending, named};

/// On `cpu 0`: `main` from 0 to 100 calls `read` from 10 to 40, which calls `lock` from 20 to 25,
/// and `read` again from 50 to 60. On `cpu 1`: `tick` from 30, which is not over, and the end of
/// something that began before.
fn call_activities() -> Vec<TimedActivity> {
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

fn calls(told: Vec<TimedActivity>) -> Option<Calls> {
    let timeline: Arc<dyn TimelineView> = Arc::new(Timeline(told));
    Calls::new(&timeline, &Limits::default()).unwrap()
}

/// Each function with what it took itself and with what it called.
fn rows(calls: &Calls, metric: u32) -> Vec<(String, f64, f64)> {
    let tree = calls.profile();
    let question = MetricQuery { view: &*tree, metric: MetricId(metric), threads: None };
    let mut rows = flat(&question, FlatGrouping::Function).unwrap().rows;
    rows.sort_by(|one, other| one.label.cmp(&other.label));
    rows.into_iter().map(|row| (row.label, row.exclusive, row.inclusive)).collect()
}

#[test]
fn what_a_function_took_is_without_what_it_called() {
    let calls = calls(call_activities()).unwrap();
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
    let calls = calls(call_activities()).unwrap();
    let mut counted: Vec<_> = rows(&calls, 1).into_iter().map(|row| (row.0, row.1)).collect();
    counted.retain(|(_, calls)| *calls > 0.0);
    let expected = [("lock", 1.0), ("main", 1.0), ("read", 2.0), ("tick", 1.0), ("wait", 1.0)];
    assert_eq!(counted, expected.map(|(name, count)| (name.to_owned(), count)));
}

#[test]
fn threads_are_called_as_their_tracks() {
    let tree = calls(call_activities()).unwrap().profile();
    let names = [0, 1].map(|id| tree.thread(ThreadId(id)).unwrap().to_string());
    assert_eq!(names, ["cpu 0 / THREAD 0", "cpu 1 / THREAD 4"]);
}

#[test]
fn samples_say_where_a_thread_is() {
    let calls = calls(call_activities()).unwrap();
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
fn with_a_return_missing() -> Vec<TimedActivity> {
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
        calls.profile().caveats(),
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
    assert!(profile.caveats().is_empty());
    assert_eq!(profile.remarks(), ["1 call began before the recording: what it took is not known"]);
}

fn in_ns(calls: &Calls) -> Vec<(String, [f64; 2])> {
    let ns = |(name, own, all): (String, f64, f64)| {
        (name, [own, all].map(|seconds| (seconds * 1e9).round()))
    };
    let mut found: Vec<_> = rows(calls, 0).into_iter().map(ns).collect();
    found.retain(|(_, times)| times[1] > 0.0);
    found
}

/// `main` from 0 to 100. `f` from 10 is told to end at 40 and `g` from 20 at 30, and neither returns;
/// `h` from 40, right when `f` ends, is told to end at 60, and does; `k` from 70 is told to end at
/// 80, and calls `m` at 75, of which nothing is known.
fn complete_call_activities() -> Vec<TimedActivity> {
    let end = |name: &'static str| Activity::EndOf { name: name.into() };
    vec![
        (0, 0, named("main")),
        (10, 0, ending("f", 40)),
        (20, 0, ending("g", 30)),
        (40, 0, ending("h", 60)),
        (60, 0, end("h")),
        (70, 0, ending("k", 80)),
        (75, 0, named("m")),
        (100, 0, end("main")),
    ]
}

#[test]
fn a_function_that_does_not_return_ends_when_it_was_told_to() {
    let calls = calls(complete_call_activities()).unwrap();
    let expected = [
        ("f", [20.0, 30.0]),
        ("g", [10.0, 10.0]),
        ("h", [20.0, 20.0]),
        ("k", [5.0, 10.0]),
        ("m", [5.0, 5.0]),
        // 100 without 30 of f, 20 of h and 10 of k.
        ("main", [40.0, 100.0]),
    ];
    assert_eq!(in_ns(&calls), expected.map(|(name, times)| (name.to_owned(), times)));
    assert_eq!(
        calls.profile().caveats(),
        ["1 call was over when another function returned: its own return is missing"]
    );
    assert!(calls.profile().remarks().is_empty());
}

#[test]
fn samples_end_when_functions_were_told_to() {
    let calls = calls(complete_call_activities()).unwrap();
    let (tree, samples) = (calls.profile(), calls.samples());
    let found = traced(&*tree, &samples, &Window::default(), None, 10).unwrap();
    let line = found.lines.first().unwrap();
    let strip: Vec<_> = line
        .strip
        .iter()
        .map(|function| function.map_or("", |function| found.functions[function].as_str()))
        .collect();
    let expected = ["main", "f", "g", "f", "h", "h", "main"];
    assert_eq!(strip[..7], expected);
    // Of 70 to 80, `k` and `m` have one half each.
    assert_eq!(strip[8..], ["main", "main"]);
}

/// Nothing returns: calls are one after another all the same, and the last ends after all events.
#[test]
fn a_recording_without_returns_has_calls_one_after_another() {
    let told = vec![(0, 0, ending("f", 10)), (20, 0, ending("f", 25)), (30, 0, ending("g", 100))];
    let calls = calls(told).unwrap();
    let expected = [("f", [15.0, 15.0]), ("g", [70.0, 70.0])];
    assert_eq!(in_ns(&calls), expected.map(|(name, times)| (name.to_owned(), times)));
    assert!(calls.profile().caveats().is_empty() && calls.profile().remarks().is_empty());
}

/// `f` is told to end at 10 and returns at 15; `g` is told to end at 40 and returns at 30.
#[test]
fn returns_that_are_not_when_they_were_told_to_be_are_doubts() {
    let end = |name: &'static str| Activity::EndOf { name: name.into() };
    let told = vec![
        (0, 0, ending("f", 10)),
        (15, 0, end("f")),
        (20, 0, ending("g", 40)),
        (30, 0, end("g")),
        (50, 0, ending("h", 50)),
        (50, 0, ending("k", 50)),
        (50, 0, end("k")),
        (50, 0, end("h")),
    ];
    let calls = calls(told).unwrap();
    let expected = [("f", [10.0, 10.0]), ("g", [10.0, 10.0])];
    assert_eq!(in_ns(&calls), expected.map(|(name, times)| (name.to_owned(), times)));
    assert_eq!(
        calls.profile().caveats(),
        ["2 returns are not when the functions were told to end as they were called: the \
             earlier counts"]
    );
}
