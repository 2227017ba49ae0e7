//! A timeline, gone through as commands do it.

use std::sync::Arc;

use super::keys::{EventKeys, StoredEvent};
use kymo_core::Result;
use kymo_model::timeline::{Activity, ClockId, Content, TimeNs, TimelineView, Track, Window};

/// Results of going through events.
#[derive(Default)]
struct TimelineSummary {
    events: u64,
    /// Number of reports that something is missing.
    gaps: u64,
    first: Option<TimeNs>,
    tracks: Vec<OfTrack>,
}

/// Number of events of a track, bytes of their payloads, and the first and the last timestamp.
type OfTrack = (u64, u64, Option<(TimeNs, TimeNs)>);

/// Reads clocks and tracks, all events, a range of them, and the last.
pub(super) fn timeline(view: &Arc<dyn TimelineView>, size_bytes: u64) -> Result<()> {
    let (clocks, tracks) = (view.clocks().len(), view.tracks());
    for (id, track) in tracks.iter().enumerate() {
        assert_track(track, id, clocks);
    }
    let all = events(view, &Window::default(), &tracks, size_bytes)?;
    let since = Window { from: all.first, ..Window::default() };
    let later = events(view, &since, &tracks, size_bytes)?;
    assert!(later.events <= all.events, "{} events of {}", later.events, all.events);
    let last = Window { last: Some(1), ..Window::default() };
    let last = events(view, &last, &tracks, size_bytes)?;
    let count = last.events - last.gaps;
    assert!(count <= 1, "{count} events where the last is asked for");
    for clock in (0..=clocks).map(ClockId) {
        let range = Arc::clone(view).range(clock)?;
        assert!(range.is_none_or(|range| !range.is_empty()), "a range that ends before it begins");
    }
    Ok(())
}

fn assert_track(track: &Track, id: usize, clocks: usize) {
    assert!(track.clock.is_none_or(|clock| clock.0 < clocks), "no clock for {track:?}");
    assert!(track.parent.is_none_or(|parent| parent.0 < id), "a parent after {track:?}");
}

/// Goes through the events of a window: none comes twice, and what a format tells of them without
/// doing so is the same.
fn events(
    view: &Arc<dyn TimelineView>,
    window: &Window,
    tracks: &[Track],
    size_bytes: u64,
) -> Result<TimelineSummary> {
    let mut seen = TimelineSummary {
        tracks: vec![<_>::default(); tracks.len()],
        ..TimelineSummary::default()
    };
    let mut events = Arc::clone(view).events(window)?;
    let mut keys = EventKeys::default();
    while let Some(event) = events.next()? {
        assert!(window.holds(event.time), "an event outside of {window:?}: {event:?}");
        seen.first = seen.first.or(event.time);
        seen.events += 1;
        seen.gaps += u64::from(matches!(event.content, Content::Activity(Activity::Gap(_))));
        let of_track = seen.tracks.get_mut(event.track.0);
        let Some((count, bytes, times)) = of_track else {
            panic!("an event of no track: {event:?}");
        };
        *count += 1;
        *bytes += event.payload.len() as u64;
        if let Some(time) = event.time {
            let (first, last) = times.unwrap_or((time, time));
            *times = Some((first.min(time), last.max(time)));
        }
        let file = view.file_of(event.track, event.time, event.offset);
        let stored = StoredEvent::from_event(&event, file);
        keys.add(stored, events.position());
    }
    keys.assert_once(size_bytes);
    let told = Arc::clone(view).tallies(window)?;
    let told = told.into_iter().map(|tally| (tally.events, tally.payload_bytes, tally.times));
    assert_eq!(told.collect::<Vec<_>>(), seen.tracks, "what is told of events in {window:?}");
    Ok(seen)
}
