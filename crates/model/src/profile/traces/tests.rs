//! What samples of a few moments come to, worked out by hand.

use super::super::fixture;
use super::*;
use crate::timeline::{Clock, Event, Events, Tracks};

/// Samples: track, moment, number of the context.
struct Recorded(Vec<(usize, i64, u64)>);

impl TimelineView for Recorded {
    fn clocks(&self) -> Vec<Clock> {
        Vec::new()
    }
    fn tracks(&self) -> Tracks {
        Tracks::default()
    }
    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        let is_meant = |(track, time, _): &&(usize, i64, u64)| {
            window.includes_track(TrackId(*track)) && window.holds(Some(TimeNs(*time)))
        };
        let mut meant: Vec<_> = self.0.iter().filter(is_meant).copied().collect();
        let last = window.last.map_or(meant.len(), |last| usize::try_from(last).unwrap());
        let meant = meant.split_off(meant.len().saturating_sub(last));
        Ok(Box::new(Playing(meant.into_iter())))
    }
}

struct Playing(std::vec::IntoIter<(usize, i64, u64)>);

impl Events for Playing {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let event = |(track, time, number)| Event {
            track: TrackId(track),
            time: Some(TimeNs(time)),
            offset: 0,
            content: if number == 77 { Content::Payload } else { Content::Sample(number) },
            payload: &[],
            partial: None,
        };
        Ok(self.0.next().map(event))
    }
}

fn lines(samples: &[(usize, i64, u64)], depth: Option<usize>) -> Vec<String> {
    within(samples, depth, &Window::default())
}

fn within(samples: &[(usize, i64, u64)], depth: Option<usize>, window: &Window) -> Vec<String> {
    let timeline: Arc<dyn TimelineView> = Arc::new(Recorded(samples.to_vec()));
    let found = traced(&fixture::tree(), &timeline, window, depth, 4).unwrap();
    let name = |function: &usize| found.functions[*function].clone();
    let line = |line: &TracedLine| {
        let spent = line.spent.iter().map(|(function, ns)| format!("{} {ns}", name(function)));
        let strip = line.strip.iter().map(|at| at.as_ref().map_or(String::from("-"), name));
        let (spent, strip) = (spent.collect::<Vec<_>>(), strip.collect::<Vec<_>>());
        format!("{}: {}: {}", line.samples, spent.join(", "), strip.join(" "))
    };
    found.lines.iter().map(line).collect()
}

/// Contexts of the fixture: 0 the entry point, 1 main, 2 a line of it, 3 work, 6 work again.
#[test]
fn a_sample_lasts_until_the_next() {
    let samples = [(0, 100, 1), (0, 125, 3), (0, 190, 6), (0, 200, 1), (1, 150, 99)];
    let expected = ["4: work 75, main 25: main work work work", "1: : - - - -"];
    assert_eq!(lines(&samples, None), expected);
    assert_eq!(lines(&samples, Some(1))[0], "4: main 100: main main main main");
    assert_eq!(lines(&samples, Some(2))[0], "4: work 75, main 25: main work work work");
}

#[test]
fn a_stretch_has_all_that_was_in_it_wherever_its_edges_fall() {
    // Four stretches of 2.5 ns: the first has 2 ns of main, then 1 of work.
    let samples = [(0, 100, 1), (0, 102, 3), (0, 103, 1), (0, 110, 1)];
    assert_eq!(lines(&samples, None), ["4: main 9, work 1: main main main main"]);
    for last in 101..140 {
        let scale = Scale { first: TimeNs(100), last: TimeNs(last), stretches: 7 };
        for time in 100..last {
            let stretch = scale.stretch(time);
            let (start, end) = (scale.edge(stretch), scale.edge(stretch + 1));
            assert!(start <= time && (time < end || stretch == 6), "{time} of {last}");
        }
    }
}

#[test]
fn a_sample_that_reaches_over_an_edge_counts_for_the_part_within() {
    let samples = [(0, 100, 1), (0, 200, 3), (0, 300, 1), (1, 100, 3), (1, 400, 1), (2, 320, 1)];
    let window = |from, until, tracks: usize| Window {
        tracks: Some((0..tracks).map(TrackId).collect()),
        from: Some(TimeNs(from)),
        until: Some(TimeNs(until)),
        last: None,
    };
    // From 150 to 250: 50 in main, 50 in work; the second thread is in work all the time.
    let expected = ["1: main 50, work 50: main main work work", "0: work 100: work work work work"];
    assert_eq!(within(&samples, None, &window(150, 250, 3)), expected);
    // From 290 on: the first thread ends at 300, and the third begins at 320 and has one sample.
    let expected = ["1: work 10: work - - -", "0: work 40: work work work work", "1: : - - - -"];
    assert_eq!(within(&samples, None, &window(290, 330, 3)), expected);
    // What ends before the window and what begins after it is not there.
    assert_eq!(within(&samples, None, &window(0, 100, 3)), [""; 0]);
    assert_eq!(within(&samples, None, &window(350, 360, 1)), [""; 0]);
}

#[test]
fn a_sample_of_no_context_ends_the_one_before() {
    let samples = [(0, 100, 1), (0, 150, 77), (0, 200, 1)];
    let strip = "main main <unknown context> <unknown context>";
    assert_eq!(lines(&samples, None), [format!("3: <unknown context> 50, main 50: {strip}")]);
}

#[test]
fn what_is_no_context_is_said() {
    let samples = [(0, 100, 99), (0, 200, 1)];
    let unknown = "<unknown context>";
    let expected = format!("2: {unknown} 100: {unknown} {unknown} {unknown} {unknown}");
    assert_eq!(lines(&samples, None), [expected]);
    assert_eq!(lines(&[], None), [""; 0]);
}

#[test]
fn samples_that_go_back_in_time_count_for_nothing() {
    // Zeros in the middle, and a leap ahead.
    let samples = [(0, 100, 1), (0, 0, 0), (0, 0, 0), (0, 150, 3), (0, i64::MAX, 1), (0, 200, 1)];
    assert_eq!(lines(&samples, None), ["3: main 50, work 50: main main work work"]);
    let samples = [(0, 100, 1), (0, 150, 3), (0, 50, 1), (0, 200, 3)];
    assert_eq!(lines(&samples, None), ["3: main 50, work 50: main main work work"]);
    let timeline: Arc<dyn TimelineView> = Arc::new(Recorded(samples.to_vec()));
    let found = traced(&fixture::tree(), &timeline, &Window::default(), None, 4).unwrap();
    assert_eq!(found.backwards, 1);
}

#[test]
fn the_end_of_time_is_no_reason_to_fail() {
    let samples = [(0, i64::MIN, 1), (0, i64::MAX, 1)];
    let all = u64::MAX;
    assert_eq!(lines(&samples, None), [format!("2: main {all}: main main main main")]);
    // The same again by another thread: both together are more than can be counted.
    let samples = [(0, i64::MIN, 1), (0, i64::MAX, 3), (1, i64::MIN, 2), (1, i64::MAX, 3)];
    assert_eq!(lines(&samples, None).len(), 2);
}
