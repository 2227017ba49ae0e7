//! Places of threads over time: samples of a timeline, by function at a depth of calls.

mod line;
mod names;
mod order;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ProfileView;
use crate::timeline::{ClockId, Content, TimeNs, TimelineView, TrackId, Window};
use kymo_core::{Result, slot};

use line::{Scale, TrackState};
use names::{Names, RequestedNames};
use order::SortedSamples;

/// Name of the function for threads that do nothing.
pub const IDLE: &str = "<no activity>";

/// Activity of threads over time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Traced {
    /// From the first to the last moment of all lines, in nanoseconds; of several clocks that
    /// cannot be compared, on the one where that is longest.
    pub span_ns: u64,
    /// Number of clocks that cannot be compared: each line is of the span of its own clock.
    pub clocks: usize,
    /// The names of functions, by index.
    pub functions: Vec<String>,
    /// A line for each track that has samples.
    pub lines: Vec<TracedLine>,
    /// Samples that are before one before them, or far ahead of those behind them; none counts.
    pub backwards: u64,
    /// Number of contexts that samples are of and that the tree does not have.
    pub unknown: usize,
}

/// Activity of one thread over time.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedLine {
    /// Track of the thread.
    pub track: TrackId,
    /// Number of samples.
    pub samples: u64,
    /// Duration in each function, in nanoseconds; the longest comes first.
    pub spent: Vec<(usize, u64)>,
    /// The function that took most of each stretch of time; nothing where there is no sample yet,
    /// or no longer.
    pub strip: Vec<Option<usize>>,
}

/// Finds out what threads did when. A sample counts from its moment to that of the next; the last
/// of a thread only tells where it ends. Of a sample that reaches over an edge of the window, the
/// part within counts. Samples that go back in time count for nothing.
///
/// `depth` is how many calls below the entry point to look; without one it is the innermost
/// function. `stretches` is how many parts the time is divided into.
///
/// Reads the samples twice, and the tree once.
///
/// # Errors
/// When samples or the tree cannot be read.
pub fn traced(
    view: &dyn ProfileView,
    timeline: &Arc<dyn TimelineView>,
    window: &Window,
    depth: Option<usize>,
    stretches: usize,
) -> Result<Traced> {
    let (mut lines, mut numbers) = (Lines::default(), RequestedNames::default());
    edges(timeline, window, &mut lines, &mut numbers)?;
    let backwards = each(timeline, window, |track, time, number| {
        lines.track_state(track).extend(time);
        numbers.request(number);
    })?;
    for line in &mut lines.0 {
        line.reach(window);
    }
    let scales = scales(timeline, &mut lines, stretches);
    let names = Names::new(view, numbers, depth)?;
    each(timeline, window, |track, time, number| {
        lines.track_state(track).add(&names, time, Some(number));
    })?;
    if let Some(until) = window.until {
        for line in lines.0.iter_mut().filter(|line| line.continues()) {
            line.add(&names, until, None);
        }
    }
    let lines = (0..).map(TrackId).zip(lines.0);
    let lines = lines.filter_map(|(track, line)| line.finish(track, stretches, &names));
    Ok(Traced {
        span_ns: scales.values().map(Scale::span).max().unwrap_or(0),
        clocks: scales.len(),
        lines: lines.collect(),
        unknown: names.absent,
        functions: names.into_functions(),
        backwards,
    })
}

/// State of each track, by its number.
#[derive(Default)]
struct Lines(Vec<TrackState>);

impl Lines {
    /// Returns the line of a track, which is made where there is none.
    fn track_state(&mut self, track: TrackId) -> &mut TrackState {
        slot(&mut self.0, track.0)
    }
}

/// Gives each line the time that it is drawn over: from the first to the last moment of all lines
/// whose clocks can be compared, which are those that count from the Epoch.
fn scales(
    timeline: &Arc<dyn TimelineView>,
    lines: &mut Lines,
    stretches: usize,
) -> BTreeMap<Option<ClockId>, Scale> {
    let (tracks, clocks) = (timeline.tracks(), timeline.clocks());
    let own_zero = |track: usize| {
        let clock = tracks.get(track).and_then(|track| track.clock)?;
        clocks.get(clock.0).filter(|known| !known.since_epoch).map(|_| clock)
    };
    let mut scales: BTreeMap<Option<ClockId>, Scale> = BTreeMap::new();
    for (track, line) in lines.0.iter().enumerate() {
        let Some((first, last)) = line.ends() else { continue };
        let scale = Scale { first, last, stretches };
        scales.entry(own_zero(track)).and_modify(|all| all.join(&scale)).or_insert(scale);
    }
    for (track, line) in lines.0.iter_mut().enumerate() {
        if let Some(scale) = scales.get(&own_zero(track)) {
            line.set_scale(*scale);
        }
    }
    scales
}

/// Finds what samples that reach over the edges of a window tell of its tracks.
fn edges(
    timeline: &Arc<dyn TimelineView>,
    window: &Window,
    lines: &mut Lines,
    numbers: &mut RequestedNames,
) -> Result<()> {
    if window.from.is_none() && window.until.is_none() {
        return Ok(());
    }
    let all = || (0..timeline.tracks().len()).map(TrackId).collect();
    for track in window.tracks.clone().unwrap_or_else(all) {
        let of_track = Window { tracks: Some(vec![track]), ..Window::default() };
        let line = lines.track_state(track);
        if let Some(from) = window.from {
            let before = Window { until: Some(from), last: Some(1), ..of_track.clone() };
            each(timeline, &before, |_, _, number| {
                line.set_initial_context(from, number);
                numbers.request(number);
            })?;
        }
        if let Some(until) = window.until {
            let after = Window { from: Some(until), ..of_track };
            line.set_continues(Arc::clone(timeline).events(&after)?.next()?.is_some());
        }
    }
    Ok(())
}

/// The number of a sample whose context is not known.
const UNKNOWN: u64 = u64::MAX;

/// Every sample that is asked for, as far as those of a track are in order: its track, its moment,
/// the number of its context. Tells how many are not.
fn each(
    timeline: &Arc<dyn TimelineView>,
    window: &Window,
    mut take: impl FnMut(TrackId, TimeNs, u64),
) -> Result<u64> {
    let mut orders: Vec<SortedSamples> = Vec::new();
    let (mut samples, mut taken) = (0_u64, 0_u64);
    Arc::clone(timeline).events(window)?.each(&mut |event| {
        let number = match event.content {
            Content::Sample(number) => number,
            Content::Payload => UNKNOWN,
            _ => return,
        };
        let Some(time) = event.time else { return };
        samples += 1;
        let track = event.track.0;
        if orders.len() <= track {
            orders.resize_with(track + 1, SortedSamples::default);
        }
        let ready = orders.get_mut(track).and_then(|order| order.push(time, number));
        if let Some((time, number)) = ready {
            taken += 1;
            take(event.track, time, number);
        }
    })?;
    for (track, order) in (0..).map(TrackId).zip(orders) {
        if let Some((time, number)) = order.into_last() {
            taken += 1;
            take(track, time, number);
        }
    }
    Ok(samples - taken)
}
