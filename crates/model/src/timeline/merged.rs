//! Events of several tracks in the order of their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

use super::{Event, Events, TimeNs, Window};
use kymo_core::{Invariant as _, Result};

const HEAD_OF_RUN: &str = "the next event is of a run that is not merged";

/// Events of one track by their places, which are in the order of their times.
pub trait Run: Send {
    /// The places of the events that are asked for.
    fn places(&self) -> Range<u64>;

    /// Returns the time of the event at a place.
    ///
    /// # Errors
    /// When it cannot be read.
    fn time(&self, place: u64) -> Result<Option<TimeNs>>;

    /// The event at a place.
    ///
    /// # Errors
    /// When it cannot be read.
    fn event(&mut self, place: u64) -> Result<Event<'_>>;
}

/// Events of several tracks in the order of their times, for recordings that keep the events of
/// each track by themselves. Those of one time are in the order of the tracks.
pub struct MergedEvents<R> {
    runs: Vec<(R, Range<u64>)>,
    /// The time of the next event of each run, but for the one that events are taken of.
    heads: BinaryHeap<Reverse<Head>>,
    /// The run that events are taken of, as long as no other is earlier, and the time of its next.
    current: Option<Head>,
    window: Window,
}

/// The time of the next event of a run, and which run.
type Head = (Option<TimeNs>, usize);

impl<R: Run> MergedEvents<R> {
    /// Merges runs, each of which has what a window holds of its track; of all of them together
    /// only the last are given where the window asks for so many.
    ///
    /// # Errors
    /// When times cannot be read.
    pub fn new(runs: Vec<R>, window: &Window) -> Result<Self> {
        let mut runs: Vec<_> = runs.into_iter().map(|run| (run.places(), run)).collect();
        if let Some(last) = window.last {
            keep_last(&mut runs, last)?;
        }
        let mut heads = BinaryHeap::with_capacity(runs.len());
        for (at, (places, run)) in runs.iter().enumerate() {
            if !places.is_empty() {
                heads.push(Reverse((run.time(places.start)?, at)));
            }
        }
        let runs = runs.into_iter().map(|(places, run)| (run, places)).collect();
        Ok(Self { runs, heads, current: None, window: window.clone() })
    }

    /// Takes the next place of the run whose next event is the earliest.
    fn step(&mut self) -> Result<Option<(usize, u64)>> {
        loop {
            let head = self.current.take().or_else(|| self.heads.pop().map(|Reverse(head)| head));
            let Some((time, at)) = head else { return Ok(None) };
            let (run, places) = self.runs.get_mut(at).or_broken(HEAD_OF_RUN)?;
            let Some(place) = places.next() else { continue };
            if !places.is_empty() {
                self.current = Some((run.time(places.start)?, at));
                self.requeue_current();
            }
            if self.window.holds(time) {
                return Ok(Some((at, place)));
            }
        }
    }

    /// Puts the current run back where another is earlier. As a rule many events of one come before
    /// the next of another, and where there is one run there is nothing to compare.
    fn requeue_current(&mut self) {
        let Some(Reverse(other)) = self.heads.peek() else { return };
        if let Some(current) = self.current.take_if(|current| *current > *other) {
            self.heads.push(Reverse(current));
        }
    }
}

impl<R: Run> Events for MergedEvents<R> {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        let Some((at, place)) = self.step()? else { return Ok(None) };
        let (run, _) = self.runs.get_mut(at).or_broken(HEAD_OF_RUN)?;
        run.event(place).map(Some)
    }

    fn each(&mut self, take: &mut dyn FnMut(&Event<'_>)) -> Result<()> {
        while let Some((at, place)) = self.step()? {
            let (run, places) = self.runs.get_mut(at).or_broken(HEAD_OF_RUN)?;
            take(&run.event(place)?);
            if self.heads.is_empty() {
                // No other run has any left: there is nothing to compare with.
                self.current = None;
                for place in places {
                    let event = run.event(place)?;
                    if self.window.holds(event.time) {
                        take(&event);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Leaves so many places at the end: those of the latest events of all runs together.
fn keep_last<R: Run>(runs: &mut [(Range<u64>, R)], last: u64) -> Result<()> {
    let mut starts: Vec<u64> = runs.iter().map(|(places, _)| places.end).collect();
    let mut tails = BinaryHeap::with_capacity(runs.len());
    for (at, (places, run)) in runs.iter().enumerate() {
        if !places.is_empty() {
            tails.push((run.time(places.end - 1)?, at));
        }
    }
    for _ in 0..last {
        let Some(mut tail) = tails.peek_mut() else { break };
        let (_, at) = *tail;
        let (Some(start), Some((places, run))) = (starts.get_mut(at), runs.get(at)) else { break };
        *start -= 1;
        if *start > places.start {
            *tail = (run.time(*start - 1)?, at);
        } else {
            PeekMut::pop(tail);
        }
    }
    for ((places, _), start) in runs.iter_mut().zip(starts) {
        places.start = start.max(places.start);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Content, TrackId};
    use super::*;

    /// The times of a track.
    #[derive(Clone)]
    struct Times(TrackId, Vec<i64>);

    impl Run for Times {
        fn places(&self) -> Range<u64> {
            0..self.1.len() as u64
        }

        fn time(&self, place: u64) -> Result<Option<TimeNs>> {
            Ok(self.1.get(usize::try_from(place).unwrap()).map(|time| TimeNs(*time)))
        }

        fn event(&mut self, place: u64) -> Result<Event<'_>> {
            let (track, time) = (self.0, self.time(place)?);
            let (content, payload, partial) = (Content::Payload, &[], None);
            Ok(Event { track, time, offset: place, content, payload, partial })
        }
    }

    /// Track and time of each event.
    fn merged(tracks: &[&[i64]], window: &Window) -> Vec<(usize, i64)> {
        let runs = tracks.iter().enumerate().map(|(id, times)| Times(TrackId(id), times.to_vec()));
        let runs: Vec<_> = runs.collect();
        let told = |event: &Event<'_>| (event.track.0, event.time.unwrap().0);
        let mut events = MergedEvents::new(runs.clone(), window).unwrap();
        let mut found = Vec::new();
        while let Some(event) = events.next().unwrap() {
            found.push(told(&event));
        }
        let mut handed_on = Vec::new();
        let mut events = MergedEvents::new(runs, window).unwrap();
        events.each(&mut |event| handed_on.push(told(event))).unwrap();
        assert_eq!(handed_on, found, "handed on all at once");
        found
    }

    fn last(count: u64) -> Window {
        Window { last: Some(count), ..Window::default() }
    }

    #[test]
    fn events_of_several_tracks_come_in_the_order_of_their_times() {
        let tracks: [&[i64]; 4] = [&[1, 5, 9], &[], &[2, 5, 5], &[0, 10]];
        let all = [(3, 0), (0, 1), (2, 2), (0, 5), (2, 5), (2, 5), (0, 9), (3, 10)];
        assert_eq!(merged(&tracks, &Window::default()), all);
        assert_eq!(merged(&[], &Window::default()), []);
        for count in 0..10 {
            let expected = &all[8_usize.saturating_sub(count)..];
            assert_eq!(merged(&tracks, &last(count as u64)), expected, "the last {count}");
        }
        assert_eq!(merged(&tracks, &last(u64::MAX)), all);
    }

    #[test]
    fn what_is_outside_of_the_window_is_passed_over() {
        let window = Window { from: Some(TimeNs(2)), until: Some(TimeNs(6)), ..Window::default() };
        assert_eq!(merged(&[&[1, 7, 3], &[2, 6]], &window), [(1, 2), (0, 3)]);
    }
}
