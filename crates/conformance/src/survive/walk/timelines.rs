//! A timeline, gone through as commands do it.

use std::sync::Arc;

use kymo_core::Result;
use kymo_core::model::timeline::{ClockId, TimeNs, TimelineView, Track, Window};

/// What going through events tells.
#[derive(Default)]
struct Seen {
    events: u64,
    first: Option<TimeNs>,
}

/// Reads clocks and tracks, all events, a range of them, and the last.
pub(super) fn timeline(view: &Arc<dyn TimelineView>) -> Result<()> {
    let (clocks, tracks) = (view.clocks().len(), view.tracks());
    for (id, track) in tracks.iter().enumerate() {
        assert_track(track, id, clocks);
    }
    let all = events(view, &Window::default(), &tracks)?;
    let since = Window { from: all.first, ..Window::default() };
    let later = events(view, &since, &tracks)?;
    assert!(later.events <= all.events, "{} events of {}", later.events, all.events);
    let last = Window { last: Some(1), ..Window::default() };
    let last = events(view, &last, &tracks)?;
    assert!(last.events <= 1, "{} events where the last is asked for", last.events);
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

fn events(view: &Arc<dyn TimelineView>, window: &Window, tracks: &[Track]) -> Result<Seen> {
    let mut seen = Seen::default();
    let mut events = Arc::clone(view).events(window)?;
    while let Some(event) = events.next()? {
        assert!(event.track.0 < tracks.len(), "an event of no track: {event:?}");
        assert!(window.holds(event.time), "an event outside of {window:?}: {event:?}");
        seen.first = seen.first.or(event.time);
        seen.events += 1;
    }
    Ok(seen)
}
