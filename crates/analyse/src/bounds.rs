//! From when to when a timeline is looked at.

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

impl Bounds {
    pub(crate) fn new(
        timeline: &Arc<dyn TimelineView>,
        tracks: &[Track],
        window: &Window,
    ) -> Result<Self> {
        let count = timeline.clocks().len();
        let mut clocks = vec![OnClock::default(); count + 1];
        let is_cut = window.from.is_some() || window.until.is_some();
        for (id, clock) in clocks.iter_mut().take(count).enumerate().filter(|_| is_cut) {
            let Some(range) = Arc::clone(timeline).range(ClockId(id))? else { continue };
            let is_within = |time: &TimeNs| range.start() < time && time <= range.end();
            (clock.from, clock.until) =
                (window.from.filter(is_within), window.until.filter(is_within));
        }
        let place = |clock: Option<ClockId>| clock.map_or(count, |clock| clock.0.min(count));
        let of_track = tracks.iter().map(|track| place(track.clock)).collect();
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

    /// The last moment of all.
    #[must_use]
    pub fn latest(&self) -> Option<TimeNs> {
        let ends = self.clocks.iter().filter_map(|clock| clock.until.or(Some(clock.seen?.1)));
        ends.max()
    }

    /// From when to when a track is looked at.
    #[must_use]
    pub fn of(&self, track: TrackId) -> Option<(TimeNs, TimeNs)> {
        let clock = self.clock(track)?;
        let from = clock.from.or(clock.seen.map(|seen| seen.0));
        from.zip(clock.until.or(clock.seen.map(|seen| seen.1)))
    }
}
