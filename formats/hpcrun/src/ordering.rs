//! Samples in the order of their times, of which some come a little too late.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use kymo_model::measurement::MeasuredSample;
use kymo_model::timeline::TimeNs;

/// Puts samples in order by looking a few of them ahead. Those of one time stay as they came.
pub(crate) struct SortedSamples<I> {
    samples: I,
    /// Number of samples that are looked ahead.
    ahead: usize,
    /// By their times, and by their places.
    waiting: BinaryHeap<Reverse<(TimeNs, u64, Waiting)>>,
    place: u64,
}

/// Node and flag of a sample, besides its time.
type Waiting = (u32, bool);

impl<I: Iterator<Item = MeasuredSample>> SortedSamples<I> {
    pub(crate) fn new(samples: I, ahead: usize) -> Self {
        Self { samples, ahead, waiting: BinaryHeap::new(), place: 0 }
    }
}

impl<I: Iterator<Item = MeasuredSample>> Iterator for SortedSamples<I> {
    type Item = MeasuredSample;

    fn next(&mut self) -> Option<MeasuredSample> {
        while self.waiting.len() <= self.ahead
            && let Some(MeasuredSample { time, node, is_of_call }) = self.samples.next()
        {
            self.waiting.push(Reverse((time, self.place, (node, is_of_call))));
            self.place += 1;
        }
        let Reverse((time, _, (node, is_of_call))) = self.waiting.pop()?;
        Some(MeasuredSample { time, node, is_of_call })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_come_late_are_put_where_they_belong() {
        let sample = |(time, node)| MeasuredSample { time: TimeNs(time), node, is_of_call: false };
        let came = [(3, 1), (1, 2), (3, 3), (2, 4), (9, 5), (4, 6)].map(sample);
        let mut expected = came.to_vec();
        expected.sort_by_key(|sample| sample.time);
        for ahead in [2, 3, 100] {
            let ordered = SortedSamples::new(came.into_iter(), ahead);
            assert_eq!(ordered.collect::<Vec<_>>(), expected, "{ahead}");
        }
        assert_eq!(SortedSamples::new(came.into_iter(), 0).collect::<Vec<_>>(), came);
    }
}
