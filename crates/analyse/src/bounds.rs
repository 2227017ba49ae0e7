//! From when to when a timeline is looked at.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use kymo_core::Result;
use kymo_core::model::timeline::{ClockId, TimeNs, TimelineView, Track, TrackId, Window};

/// The time that is looked at, on each clock: where the window cuts through the recording it is
/// the window's, and else that of the events.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Tracks without a clock are on one of their own, which is the last.
    clocks: Vec<OnClock>,
    of_track: Vec<usize>,
}

#[derive(Debug, Clone, Copy, Default)]
struct OnClock {
    from: Option<TimeNs>,
    until: Option<TimeNs>,
    seen: Option<(TimeNs, TimeNs)>,
}

impl OnClock {
    /// Where the window cuts through what there is on the clock.
    fn cut(&mut self, range: Option<RangeInclusive<TimeNs>>, window: &Window) {
        let Some(range) = range else { return };
        let is_within = |time: &TimeNs| range.start() < time && time <= range.end();
        (self.from, self.until) = (window.from.filter(is_within), window.until.filter(is_within));
    }
}

impl Bounds {
    pub(crate) fn new(
        timeline: &Arc<dyn TimelineView>,
        tracks: &[Track],
        window: &Window,
    ) -> Result<Self> {
        let count = timeline.clocks().len();
        let mut clocks = vec![OnClock::default(); count + 1];
        let place = |clock: Option<ClockId>| clock.map_or(count, |clock| clock.0.min(count));
        let of_track: Vec<_> = tracks.iter().map(|track| place(track.clock)).collect();
        if window.from.is_some() || window.until.is_some() {
            // Where a clock begins and ends may be dear to know, and files declare any number.
            for id in of_track.iter().copied().collect::<BTreeSet<_>>() {
                if let Some(clock) = clocks.get_mut(id).filter(|_| id < count) {
                    clock.cut(Arc::clone(timeline).range(ClockId(id))?, window);
                }
            }
        }
        Ok(Self { clocks, of_track })
    }

    fn clock(&self, track: TrackId) -> Option<&OnClock> {
        self.clocks.get(*self.of_track.get(track.0)?)
    }

    pub(crate) fn see(&mut self, track: TrackId, time: TimeNs) {
        let place = self.of_track.get(track.0).copied().unwrap_or(usize::MAX);
        if let Some(clock) = self.clocks.get_mut(place) {
            let (first, last) = clock.seen.unwrap_or((time, time));
            clock.seen = Some((first.min(time), last.max(time)));
        }
    }

    /// Where the window begins within the recording that a track is of.
    #[must_use]
    pub fn from(&self, track: TrackId) -> Option<TimeNs> {
        self.clock(track)?.from
    }

    /// Where the window ends within the recording that a track is of.
    #[must_use]
    pub fn until(&self, track: TrackId) -> Option<TimeNs> {
        self.clock(track)?.until
    }

    /// From when to when a track is looked at.
    #[must_use]
    pub fn of(&self, track: TrackId) -> Option<(TimeNs, TimeNs)> {
        let clock = self.clock(track)?;
        let from = clock.from.or(clock.seen.map(|seen| seen.0));
        from.zip(clock.until.or(clock.seen.map(|seen| seen.1)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use kymo_core::model::timeline::{Clock, Events};

    use super::*;
    use crate::fixture::Timeline;

    /// A thousand clocks, of which tracks use the first. Remembers which were asked for.
    struct Clocks(Mutex<Vec<usize>>);

    impl TimelineView for Clocks {
        fn clocks(&self) -> Vec<Clock> {
            vec![Timeline(Vec::new()).clocks().remove(0); 1000]
        }

        fn tracks(&self) -> Vec<Track> {
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

    #[test]
    fn only_clocks_that_tracks_use_are_asked_for_their_range() {
        let clocks = Arc::new(Clocks(Mutex::new(Vec::new())));
        let timeline: Arc<dyn TimelineView> = clocks.clone();
        let window = Window { from: Some(TimeNs(5)), ..Window::default() };
        let bounds = Bounds::new(&timeline, &timeline.tracks(), &window).unwrap();
        assert_eq!(bounds.from(TrackId(1)), Some(TimeNs(5)));
        assert_eq!(*clocks.0.lock().unwrap(), [0]);
        Bounds::new(&timeline, &timeline.tracks(), &Window::default()).unwrap();
        assert_eq!(*clocks.0.lock().unwrap(), [0]);
    }
}
