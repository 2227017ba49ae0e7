//! Timelines that tell how far one is when their events are gone through, whatever for.

use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use kymo_core::{Finding, Result};
use kymo_model::timeline::{
    Clock, ClockId, Event, EventFilter, Events, FieldedEvents, TimeNs, TimelineView, TrackId,
    TrackStatistics, Tracks, Window, WithFields,
};

use crate::progress::{Bars, StageId};

/// Events between two looks at how far one is.
const LOOK_EVENTS: u32 = 1 << 12;

/// Number of parts into which the way through a range of time is divided.
const PARTS: u64 = 1 << 20;

/// A timeline that somebody watches.
pub(crate) struct Watched {
    timeline: Arc<dyn TimelineView>,
    bars: Arc<Bars>,
    /// Size of the recording.
    size_bytes: u64,
    /// The clock of each track.
    clocks: Vec<Option<ClockId>>,
    /// The first and the last moment of each clock.
    ranges: OnceLock<Vec<Range>>,
}

/// The first and the last moment, where there are any.
type Range = Option<(TimeNs, TimeNs)>;

impl Watched {
    /// Watches a timeline, where somebody sees it.
    pub(crate) fn wrap(
        timeline: Arc<dyn TimelineView>,
        bars: &Arc<Bars>,
        size_bytes: u64,
    ) -> Arc<dyn TimelineView> {
        if !bars.is_shown() {
            return timeline;
        }
        // All events may be gone through to find them.
        let tracks = bars.meanwhile("finding streams", || timeline.tracks());
        let clocks = tracks.iter().map(|track| track.clock).collect();
        let bars = Arc::clone(bars);
        Arc::new(Self { timeline, bars, size_bytes, clocks, ranges: OnceLock::new() })
    }

    fn ranges(&self) -> Result<&[Range]> {
        if let Some(ranges) = self.ranges.get() {
            return Ok(ranges);
        }
        let clocks = 0..self.timeline.clocks().len();
        let range = |clock| Arc::clone(&self.timeline).range(ClockId(clock));
        let ranges = || clocks.map(range).collect::<Result<Vec<_>>>();
        let ranges = self.bars.meanwhile("finding times", ranges)?;
        let ranges = ranges.into_iter().map(|range| range.map(RangeInclusive::into_inner));
        Ok(self.ranges.get_or_init(|| ranges.collect()))
    }

    /// The way through a window, unless another is gone already.
    fn start_progress(self: &Arc<Self>, window: &Window) -> Result<Option<WatchProgress>> {
        // What comes of the last events is gone through by now.
        if window.last.is_some() {
            return Ok(None);
        }
        let within = |range: &Range| {
            let (first, last) = (*range)?;
            let from = window.from.map_or(first, |from| from.max(first));
            let until = window.until.map_or(last, |until| until.min(last));
            Some((from, until)).filter(|(from, until)| from < until)
        };
        let whole = self.ranges()?;
        let parts: Vec<Range> = whole.iter().map(within).collect();
        let ns = |ranges: &[Range]| ranges.iter().flatten().map(length).sum::<u128>();
        let (part, whole) = (ns(&parts), ns(whole).max(1));
        let bytes = (u128::from(self.size_bytes) * part / whole).max(1);
        let total = u64::try_from(bytes).unwrap_or(u64::MAX);
        let stage = self.bars.watch("reading events", total);
        let (watched, done) = (Arc::clone(self), vec![0; parts.len()]);
        Ok(stage.map(|stage| WatchProgress {
            watched,
            stage,
            total,
            ranges: parts,
            done,
            count: 0,
        }))
    }

    fn walk(self: Arc<Self>, events: Box<dyn Events>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(match self.start_progress(window)? {
            Some(way) => Box::new(Walk { events, way }),
            None => events,
        })
    }
}

fn length((from, until): &(TimeNs, TimeNs)) -> u128 {
    u128::from(until.0.abs_diff(from.0))
}

impl TimelineView for Watched {
    fn clocks(&self) -> Vec<Clock> {
        self.timeline.clocks()
    }

    fn tracks(&self) -> Tracks {
        self.timeline.tracks()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        let events = Arc::clone(&self.timeline).events(window)?;
        self.walk(events, window)
    }

    fn declared(&self) -> Option<Vec<String>> {
        self.timeline.declared()
    }

    fn filtered_events(
        self: Arc<Self>,
        window: &Window,
        asked: EventFilter<'_>,
    ) -> Result<Box<dyn Events>> {
        let events = Arc::clone(&self.timeline).filtered_events(window, asked)?;
        self.walk(events, window)
    }

    fn events_and_fields(
        self: Arc<Self>,
        window: &Window,
        asked: EventFilter<'_>,
    ) -> Result<Box<dyn FieldedEvents>> {
        let events = Arc::clone(&self.timeline).events_and_fields(window, asked)?;
        Ok(match self.start_progress(window)? {
            Some(way) => Box::new(Walk { events, way }),
            None => events,
        })
    }

    fn events_with_fields(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        let events = Arc::clone(&self.timeline).events_with_fields(window)?;
        self.walk(events, window)
    }

    fn has_fields(&self) -> bool {
        self.timeline.has_fields()
    }

    fn range(self: Arc<Self>, clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        let range = self.ranges()?.get(clock.0).copied().flatten();
        Ok(range.map(|(first, last)| first..=last))
    }

    fn tallies(self: Arc<Self>, window: &Window) -> Result<Vec<TrackStatistics>> {
        Arc::clone(&self.timeline).tallies(window)
    }

    fn file_of(&self, track: TrackId, time: Option<TimeNs>, offset: u64) -> Option<String> {
        self.timeline.file_of(track, time, offset)
    }

    fn unsupported(self: Arc<Self>) -> Result<Vec<Finding>> {
        Arc::clone(&self.timeline).unsupported()
    }
}

/// Events that are gone through.
struct Walk<E> {
    events: E,
    way: WatchProgress,
}

impl FieldedEvents for Walk<Box<dyn FieldedEvents>> {
    fn next_event(&mut self) -> Result<Option<WithFields<'_>>> {
        let next = self.events.next_event()?;
        if let Some((event, _)) = &next {
            self.way.pass(event);
        }
        Ok(next)
    }
}

impl Events for Walk<Box<dyn Events>> {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let event = self.events.next()?;
        if let Some(event) = &event {
            self.way.pass(event);
        }
        Ok(event)
    }

    fn each(&mut self, take: &mut dyn FnMut(&Event<'_>)) -> Result<()> {
        let Self { events, way } = self;
        events.each(&mut |event| {
            way.pass(event);
            take(event);
        })
    }
}

/// Progress by the times of events: wherever they are in a file, they come in that order.
struct WatchProgress {
    watched: Arc<Watched>,
    stage: StageId,
    /// Number of bytes to go through, about.
    total: u64,
    /// Range of each clock that is gone through, and the amount of it that is done.
    ranges: Vec<Range>,
    done: Vec<u64>,
    count: u32,
}

impl WatchProgress {
    fn pass(&mut self, event: &Event<'_>) {
        self.count = self.count.wrapping_add(1);
        if self.count.is_multiple_of(LOOK_EVENTS) {
            self.update(event);
        }
    }

    #[cold]
    fn update(&mut self, event: &Event<'_>) {
        let clock = self.watched.clocks.get(event.track.0).copied().flatten();
        if let (Some(ClockId(clock)), Some(time)) = (clock, event.time)
            && let Some(range) = self.ranges.get(clock).copied().flatten()
            && let Some(done) = self.done.get_mut(clock)
        {
            *done = (*done).max(parts_before(time, range));
        }
        let clocks = self.ranges.iter().flatten().count() as u64;
        let parts = u128::from(self.done.iter().sum::<u64>());
        let at = u128::from(self.total) * parts / u128::from(PARTS * clocks.max(1));
        self.watched.bars.watch_at(self.stage, u64::try_from(at).unwrap_or(self.total));
    }
}

impl Drop for WatchProgress {
    fn drop(&mut self) {
        self.watched.bars.watch_end(self.stage);
    }
}

/// Returns the number of parts of a range before a timestamp.
fn parts_before(time: TimeNs, range: (TimeNs, TimeNs)) -> u64 {
    let (from, until) = range;
    let passed = length(&(from, time.clamp(from, until)));
    let parts = passed * u128::from(PARTS) / length(&range).max(1);
    u64::try_from(parts).unwrap_or(PARTS)
}

#[cfg(test)]
mod tests {
    use kymo_model::timeline::{Attributes, Content, Track, TrackKind};

    use super::*;

    /// Events on one track, one a nanosecond, from some on to others.
    struct Ticking(RangeInclusive<i64>);

    impl TimelineView for Ticking {
        fn clocks(&self) -> Vec<Clock> {
            vec![Clock { name: "clock".to_owned(), recording: 0, since_epoch: false }]
        }

        fn tracks(&self) -> Tracks {
            let (clock, attributes) = (Some(ClockId(0)), Attributes::new());
            let (name, content) = ("ticks".to_owned(), "utf-8".into());
            let kind = TrackKind::Messages;
            vec![Track { name, recording: 0, parent: None, kind, clock, content, attributes }]
                .into()
        }

        fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
            let from = window.from.map_or(*self.0.start(), |from| from.0);
            Ok(Box::new(Self(from..=*self.0.end())))
        }

        fn range(self: Arc<Self>, _clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
            Ok(Some(TimeNs(*self.0.start())..=TimeNs(*self.0.end())))
        }
    }

    impl Events for Ticking {
        fn next(&mut self) -> Result<Option<Event<'_>>> {
            let time = self.0.next().map(TimeNs);
            let content = Content::Text("tick".into());
            let (track, offset) = (TrackId(0), 0);
            Ok(time.map(|_| Event { track, time, offset, content, payload: &[], partial: None }))
        }
    }

    #[test]
    fn whoever_goes_through_events_tells_how_far_that_is() {
        let bars = Arc::new(Bars::new(true));
        let ticks = i64::from(LOOK_EVENTS) * 8;
        let timeline = Watched::wrap(Arc::new(Ticking(0..=ticks)), &bars, 800);
        let from = Some(TimeNs(ticks / 2));
        for (window, bytes) in [
            (Window::default(), [0, 100, 200, 300]),
            (Window { from, ..Window::default() }, [0, 100, 200, 300]),
        ] {
            let mut events = Arc::clone(&timeline).events(&window).unwrap();
            for expected in bytes {
                let at = bars.position().unwrap();
                assert!(at.abs_diff(expected) <= 1, "{at} and not {expected}");
                (0..LOOK_EVENTS).for_each(|_| assert!(events.next().unwrap().is_some()));
            }
            drop(events);
            assert_eq!(bars.position(), None);
        }
    }

    #[test]
    fn a_timeline_that_nobody_watches_is_left_as_it_is() {
        let timeline: Arc<dyn TimelineView> = Arc::new(Ticking(0..=9));
        let watched = Watched::wrap(Arc::clone(&timeline), &Arc::new(Bars::new(false)), 800);
        assert!(Arc::ptr_eq(&timeline, &watched));
    }

    #[test]
    fn the_way_through_a_range_is_told_by_time() {
        let range = (TimeNs(-100), TimeNs(300));
        let parts = |time| parts_before(TimeNs(time), range);
        assert_eq!([parts(-200), parts(-100), parts(0)], [0, 0, PARTS / 4]);
        assert_eq!([parts(300), parts(999)], [PARTS, PARTS]);
        let all = (TimeNs(i64::MIN), TimeNs(i64::MAX));
        assert_eq!(parts_before(TimeNs(i64::MAX), all), PARTS);
    }
}
