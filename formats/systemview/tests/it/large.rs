//! A recording of many packets: what it takes, and that any part of it is what all of it has there.

use crate::support;

use std::sync::Arc;

use kymo_core::{Context, Source};
use kymo_model::timeline::{Content, TimeNs, TimelineView, TrackId, Window};
use kymo_model::{Dataset, Format};
use kymo_systemview::SystemView;

/// Rounds of eight packets that are 16 µs long each. More than half a million packets have places in
/// between that one can go on from.
const ROUNDS: u32 = 70_000;

/// Two tasks; the first stops without saying so, and is made ready and runs again.
fn recording() -> Source {
    let start = [vec![10, 0], vec![24, 6, 0xC0, 0x84, 0x3D, 1, 2, 0, 5]].concat();
    let round: &[&[u8]] = &[
        &[6, 1, 1],
        &[4, 1, 1],
        &[6, 1, 5],
        &[4, 1, 1],
        &[2, 15, 1],
        &[18, 1],
        &[4, 2, 2],
        &[17, 4],
    ];
    let rounds = round.concat().repeat(usize::try_from(ROUNDS).unwrap());
    Source::from_bytes("large.svdat", [support::HEADER, &start, &rounds].concat())
}

/// What tasks and interrupts do in a window.
fn told(timeline: &Arc<dyn TimelineView>, window: &Window) -> Vec<(TimeNs, TrackId, String)> {
    let tracks = timeline.tracks();
    let does = (0..).map(TrackId).zip(&tracks).filter(|(_, track)| track.content != "systemview");
    let tracks = Some(does.map(|(id, _)| id).collect());
    let window = Window { tracks, ..window.clone() };
    let mut events = Arc::clone(timeline).events(&window).unwrap();
    let mut told = Vec::new();
    while let Some(event) = events.next().unwrap() {
        if let Content::Activity(activity) = &event.content {
            told.push((event.time.unwrap(), event.track, activity.to_string()));
        }
    }
    told
}

fn open(source: &Source) -> Box<dyn Dataset> {
    SystemView.open(source, &Context::default()).unwrap()
}

/// Forty bytes for each packet were 22 MB.
#[test]
fn packets_are_not_kept() {
    let source = recording();
    let used = allocation_counter::measure(|| {
        let dataset = open(&source);
        assert_eq!(dataset.tables().first().unwrap().row_count(), Some(2 + 8 * u64::from(ROUNDS)));
        let mut events = dataset.timeline().unwrap().events(&Window::default()).unwrap();
        while events.next().unwrap().is_some() {}
    });
    assert!(used.bytes_max < 1 << 20, "{} bytes", used.bytes_max);
}

#[test]
fn a_part_of_many_packets_is_what_all_have_there() {
    let source = recording();
    let timeline = open(&source).timeline().unwrap();
    let all = told(&timeline, &Window::default());
    // Each task begins and ends in each round, the first twice, and so does doing nothing, which lasts
    // until the next; two releases, and an interrupt.
    assert_eq!(all.len(), 12 * usize::try_from(ROUNDS).unwrap() - 1);
    let times = |from: i64, until: i64, last: Option<u64>| {
        let (from, until) = (Some(TimeNs(from)), Some(TimeNs(until)));
        Window { from, until, last, ..Window::default() }
    };
    let parts = [(0, 90_000), (1_100_000_000, 1_100_050_000), (600_000_000, 600_000_100)];
    for (from, until) in parts {
        let within = |(time, ..): &&(TimeNs, TrackId, String)| from <= time.0 && time.0 < until;
        let expected: Vec<_> = all.iter().filter(within).cloned().collect();
        assert_eq!(told(&timeline, &times(from, until, None)), expected);
        let last = expected.iter().skip(expected.len().saturating_sub(7)).cloned();
        assert_eq!(told(&timeline, &times(from, until, Some(7))), last.collect::<Vec<_>>());
    }
    let last = Window { last: Some(20), ..Window::default() };
    assert_eq!(told(&timeline, &last), all.get(all.len() - 20..).unwrap());
}
