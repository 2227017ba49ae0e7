//! From when to when a timeline is looked at.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use kymo_core::Result;
use kymo_model::timeline::{ClockId, TimeNs, TimelineView, Track, TrackId, Window};

use crate::slot::{Slot, slot_value};

/// The time that is looked at, on each clock: that of the recording, whichever tracks are meant, or
/// the window's where that cuts through it.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Tracks without a clock are on one of their own, which is the last.
    clocks: Vec<ClockBounds>,
    of_track: Arc<[Slot]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct ClockBounds {
    from: Option<TimeNs>,
    window_end: Option<TimeNs>,
    /// From when to when it is looked at; nothing where nothing of it is in the window.
    looked_at: Option<(TimeNs, TimeNs)>,
}

impl ClockBounds {
    /// Computes the points at which the window cuts through what there is on the clock.
    fn new(range: Option<RangeInclusive<TimeNs>>, window: &Window) -> Self {
        let Some((start, end)) = range.map(RangeInclusive::into_inner) else {
            return Self::default();
        };
        let is_within = |time: &TimeNs| start < *time && *time <= end;
        let (from, until) = (window.from.filter(is_within), window.until.filter(is_within));
        let is_elsewhere = window.from.is_some_and(|from| from > end)
            || window.until.is_some_and(|until| until <= start);
        let looked_at = (from.unwrap_or(start), until.unwrap_or(end));
        Self { from, window_end: until, looked_at: (!is_elsewhere).then_some(looked_at) }
    }
}

impl Bounds {
    pub(crate) fn new(
        timeline: &Arc<dyn TimelineView>,
        tracks: &[Track],
        window: &Window,
    ) -> Result<Self> {
        let count = timeline.clocks().len();
        let mut clocks = vec![ClockBounds::default(); count + 1];
        let place = |clock: Option<ClockId>| clock.map_or(count, |clock| clock.0.min(count));
        let of_track = tracks.iter().map(|track| Slot::new(place(track.clock))).collect();
        // Where a clock begins and ends may be dear to know, and files declare any number.
        for id in tracks.iter().map(|track| place(track.clock)).collect::<BTreeSet<_>>() {
            if let Some(clock) = clocks.get_mut(id).filter(|_| id < count) {
                *clock = ClockBounds::new(Arc::clone(timeline).range(ClockId(id))?, window);
            }
        }
        Ok(Self { clocks, of_track })
    }

    fn clock(&self, track: TrackId) -> Option<&ClockBounds> {
        self.clocks.get(slot_value(&self.of_track, track.0)?)
    }

    /// Returns the start of the window within the recording that a track is of.
    #[must_use]
    pub fn from(&self, track: TrackId) -> Option<TimeNs> {
        self.clock(track)?.from
    }

    /// Returns the end of the window within the recording that a track is of.
    #[must_use]
    pub fn window_end(&self, track: TrackId) -> Option<TimeNs> {
        self.clock(track)?.window_end
    }

    /// From when to when a track is looked at.
    #[must_use]
    pub fn time_range(&self, track: TrackId) -> Option<(TimeNs, TimeNs)> {
        self.clock(track)?.looked_at
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use kymo_model::timeline::{Clock, Events, Tracks};

    use super::*;
    use crate::fixture::Timeline;

    /// A thousand clocks, of which tracks use the first. Remembers which were asked for.
    struct Clocks(Mutex<Vec<usize>>);

    impl TimelineView for Clocks {
        fn clocks(&self) -> Vec<Clock> {
            vec![Timeline(Vec::new()).clocks().remove(0); 1000]
        }

        fn tracks(&self) -> Tracks {
            Timeline(Vec::new()).tracks()
        }

        fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
            Arc::new(Timeline(Vec::new())).events(window)
        }

        fn range(self: Arc<Self>, clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
            self.0.lock().unwrap().push(clock.0);
            Ok(Some(TimeNs(0)..=TimeNs(100)))
        }
    }

    fn bounds(from: Option<i64>, until: Option<i64>) -> (Bounds, Vec<usize>) {
        let clocks = Arc::new(Clocks(Mutex::new(Vec::new())));
        let timeline: Arc<dyn TimelineView> = clocks.clone();
        let (from, until) = (from.map(TimeNs), until.map(TimeNs));
        let window = Window { from, until, ..Window::default() };
        let bounds = Bounds::new(&timeline, &timeline.tracks(), &window).unwrap();
        let asked = clocks.0.lock().unwrap().clone();
        (bounds, asked)
    }

    #[test]
    fn only_clocks_that_tracks_use_are_asked_for_their_range() {
        assert_eq!(bounds(Some(5), None).1, [0]);
        assert_eq!(bounds(None, None).1, [0]);
    }

    #[test]
    fn a_window_cuts_where_the_recording_goes_on() {
        let track = TrackId(1);
        let found = |from, until| {
            let (bounds, _) = bounds(from, until);
            let pair = bounds.time_range(track).map(|(from, until)| (from.0, until.0));
            (
                bounds.from(track).map(|from| from.0),
                bounds.window_end(track).map(|until| until.0),
                pair,
            )
        };
        assert_eq!(found(None, None), (None, None, Some((0, 100))));
        assert_eq!(found(Some(5), Some(100)), (Some(5), Some(100), Some((5, 100))));
        // At its first event, and after its last, it does not go on.
        assert_eq!(found(Some(0), Some(101)), (None, None, Some((0, 100))));
        // Nothing of it is there.
        assert_eq!(found(Some(101), None), (None, None, None));
        assert_eq!(found(None, Some(0)), (None, None, None));
    }
}
