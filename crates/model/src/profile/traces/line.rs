//! Activity of one thread over time.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::TracedLine;
use super::names::Names;
use crate::timeline::{TimeNs, TrackId, Window};
use kymo_core::slot;

/// Stretches of time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) first: TimeNs,
    pub(super) last: TimeNs,
    pub(super) stretches: usize,
}

impl Scale {
    /// Lets it reach over another too.
    pub(super) fn join(&mut self, other: &Self) {
        (self.first, self.last) = (self.first.min(other.first), self.last.max(other.last));
    }

    /// Returns the total duration of all stretches together.
    pub(super) fn span(&self) -> u64 {
        self.last.0.abs_diff(self.first.0)
    }

    /// The first moment that is in a stretch.
    pub(super) fn edge(&self, stretch: usize) -> i64 {
        let span = i128::from(self.last.0) - i128::from(self.first.0);
        let parts = i128::try_from(self.stretches.max(1)).unwrap_or(1);
        let done = (span * i128::try_from(stretch).unwrap_or(0) + parts - 1) / parts;
        i64::try_from(i128::from(self.first.0) + done).unwrap_or(i64::MAX)
    }

    /// The stretch that a moment is in.
    pub(super) fn stretch(&self, time: i64) -> usize {
        let span = (i128::from(self.last.0) - i128::from(self.first.0)).max(1);
        let since = i128::from(time) - i128::from(self.first.0);
        let parts = i128::try_from(self.stretches).unwrap_or(1);
        usize::try_from(since * parts / span).unwrap_or(0).min(self.stretches.saturating_sub(1))
    }
}

/// Durations by the label of the function.
type Lasted = HashMap<u32, u64, RandomState>;

/// State of a track so far.
#[derive(Default)]
pub(super) struct TrackState {
    first: Option<TimeNs>,
    last: Option<TimeNs>,
    samples: u64,
    /// Place where the track has been, and the timestamp since when.
    open: Option<(TimeNs, u64)>,
    /// True if there are samples behind the window.
    continues: bool,
    scale: Option<Scale>,
    spent: Lasted,
    strip: Vec<Option<u32>>,
    now: SampleSlice,
}

/// The stretch of time that samples are in.
#[derive(Default)]
struct SampleSlice {
    index: usize,
    /// The moment it ends, where the next begins; nothing before the first sample.
    end: Option<i64>,
    lasted: Lasted,
}

impl TrackState {
    /// Notes a sample.
    pub(super) fn extend(&mut self, time: TimeNs) {
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
        self.samples += 1;
    }

    /// Notes where the thread is at the beginning of the window.
    pub(super) fn set_initial_context(&mut self, from: TimeNs, number: u64) {
        self.open = Some((from, number));
    }

    /// Notes whether there are samples behind the window.
    pub(super) fn set_continues(&mut self, goes_on: bool) {
        self.continues = goes_on;
    }

    pub(super) fn continues(&self) -> bool {
        self.continues
    }

    /// Lets the line reach up to the edges of the window that samples reach over.
    pub(super) fn reach(&mut self, window: &Window) {
        // The last sample of all only tells where the thread ends.
        self.open = self.open.filter(|_| self.samples > 0 || self.continues);
        if let Some((from, _)) = self.open {
            self.first = Some(from);
            self.last = self.last.or(self.first);
        }
        let until = window.until.filter(|_| self.continues && self.first.is_some());
        self.last = until.or(self.last);
    }

    /// The first and the last moment; nothing where there is no sample.
    pub(super) fn ends(&self) -> Option<(TimeNs, TimeNs)> {
        self.first.zip(self.last)
    }

    pub(super) fn set_scale(&mut self, scale: Scale) {
        self.scale = Some(scale);
    }

    /// Ends what is open, and begins what comes next.
    #[inline]
    pub(super) fn add(&mut self, names: &Names, time: TimeNs, number: Option<u64>) {
        let next = number.map(|number| (time, number));
        let Some((since, number)) = std::mem::replace(&mut self.open, next) else { return };
        let (mut at, time) = (since.0, time.0);
        if at >= time {
            return;
        }
        let label = names.label(number);
        while at < time {
            let end = match self.now.end {
                Some(end) if at < end => end,
                _ => self.move_on(names, at),
            };
            let until = end.min(time);
            add(self.now.lasted.entry(label).or_default(), until.abs_diff(at));
            at = until;
        }
    }

    /// Ends the stretch that samples were in, and begins the one that a moment is in. Says where
    /// that ends.
    fn move_on(&mut self, names: &Names, at: i64) -> i64 {
        self.end_stretch(names);
        let Some(scale) = &self.scale else { return i64::MAX };
        self.now.index = scale.stretch(at);
        let is_last = self.now.index + 1 >= scale.stretches;
        let edge = if is_last { i64::MAX } else { scale.edge(self.now.index + 1) };
        *self.now.end.insert(edge.max(at.saturating_add(1)))
    }

    /// Notes what took most of the stretch, and adds what it had to the whole.
    fn end_stretch(&mut self, names: &Names) {
        let mut most: Option<(u64, u32)> = None;
        for (label, lasted) in self.now.lasted.drain() {
            add(self.spent.entry(label).or_default(), lasted);
            let is_more = most.is_none_or(|(most, other)| {
                lasted > most || (lasted == most && names.text(label) < names.text(other))
            });
            if is_more {
                most = Some((lasted, label));
            }
        }
        let Some((_, label)) = most else { return };
        *slot(&mut self.strip, self.now.index) = Some(label);
    }

    /// Returns the facts about the track; nothing where it has no sample.
    pub(super) fn finish(
        mut self,
        track: TrackId,
        stretches: usize,
        names: &Names,
    ) -> Option<TracedLine> {
        self.first?;
        self.end_stretch(names);
        let mut spent: Vec<_> = self.spent.into_iter().filter(|(_, lasted)| *lasted > 0).collect();
        spent.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| names.text(a.0).cmp(names.text(b.0))));
        let index = |label: u32| usize::try_from(label).ok();
        let spent = spent.into_iter().filter_map(|(label, ns)| Some((index(label)?, ns)));
        let strip = self.strip.into_iter().chain(std::iter::repeat(None)).take(stretches);
        let strip = strip.map(|label| label.and_then(index)).collect();
        Some(TracedLine { track, samples: self.samples, spent: spent.collect(), strip })
    }
}

/// Adds nanoseconds; no more than can be counted.
fn add(to: &mut u64, lasted: u64) {
    *to = to.saturating_add(lasted);
}
