//! Values of a placed thread are added up, each thread by itself.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kymo_core::ahead;
use kymo_core::model::measurement::Numbers;
use kymo_core::model::profile::{Computed, Metric, MetricId, ThreadId};

use crate::links::Links;
use crate::names::index;
use crate::placing::Place;
use crate::propagation::{Own, Propagation, Row};

/// A thread whose nodes have their contexts.
pub(crate) struct Placed {
    pub(crate) own: Vec<Own>,
    pub(crate) links: Arc<Links>,
    pub(crate) thread: PlacedThread,
}

/// What is known of a thread besides its values.
pub(crate) struct PlacedThread {
    pub(crate) id: ThreadId,
    pub(crate) measurement: u32,
    pub(crate) thread: usize,
    /// Metrics that no thread before it had.
    pub(crate) metrics: Vec<Metric>,
    pub(crate) computed: Vec<Computed>,
    pub(crate) numbers: Numbers,
    /// By the index of the node.
    pub(crate) places: Vec<Place>,
}

/// A thread whose values are added up.
pub(crate) struct Summed {
    pub(crate) thread: PlacedThread,
    pub(crate) links: Arc<Links>,
    pub(crate) rows: Vec<MetricRows>,
}

impl Summed {
    /// How many rows there are of all metrics.
    pub(crate) fn row_count(&self) -> usize {
        self.rows.iter().map(|of| of.rows.len()).sum()
    }
}

/// What a thread has of a metric, in order of contexts.
pub(crate) struct MetricRows {
    pub(crate) metric: MetricId,
    pub(crate) rows: Vec<Row>,
}

/// Of threads with more values the metrics are added up beside each other, too.
const VALUES_MANY: usize = 1 << 16;

/// Adds up threads, several beside each other.
pub(crate) struct Summing {
    jobs: usize,
    /// Room that nobody needs at the moment.
    free: Mutex<Vec<Propagation>>,
}

impl Summing {
    pub(crate) fn new(jobs: usize) -> Self {
        Self { jobs, free: Mutex::default() }
    }

    pub(crate) fn thread(&self, placed: Placed) -> Summed {
        let Placed { own, links, thread } = placed;
        let is_large = own.len() > VALUES_MANY && self.jobs > 1;
        let by_metric = by_metric(&own).into_iter().zip((0..).map(MetricId));
        let some = by_metric.filter(|(own, _)| !own.is_empty());
        let of_metric = |(own, metric): (Vec<_>, _)| {
            let mut propagation = self.free().pop().unwrap_or_default();
            let rows = propagation.run(&links, own.into_iter());
            self.free().push(propagation);
            MetricRows { metric, rows }
        };
        let rows = if is_large {
            ahead::each(some.collect(), of_metric)
        } else {
            some.map(of_metric).collect()
        };
        Summed { thread, links, rows }
    }

    fn free(&self) -> MutexGuard<'_, Vec<Propagation>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Values of each metric, in the order in which they come.
fn by_metric(own: &[Own]) -> Vec<Vec<(u32, f64)>> {
    let mut by_metric: Vec<Vec<_>> = Vec::new();
    for own in own {
        let metric = index(own.metric.0);
        if by_metric.len() <= metric {
            by_metric.resize_with(metric + 1, Vec::new);
        }
        if let Some(values) = by_metric.get_mut(metric) {
            values.push((own.context, own.value));
        }
    }
    by_metric
}

/// Rows of several metrics, in order of contexts and metrics.
pub(crate) struct ByContext<'a> {
    /// What is left of each metric.
    left: Vec<(MetricId, &'a [Row])>,
    /// The next context of each metric.
    next: BinaryHeap<Reverse<(u32, usize)>>,
}

impl<'a> ByContext<'a> {
    /// Takes rows of metrics that come in their order.
    pub(crate) fn new(metrics: impl Iterator<Item = (MetricId, &'a [Row])>) -> Self {
        let left: Vec<_> = metrics.collect();
        let first = |(place, (_, rows)): (usize, &(MetricId, &'a [Row]))| {
            rows.first().map(|row| Reverse((row.context, place)))
        };
        let next = left.iter().enumerate().filter_map(first).collect();
        Self { left, next }
    }
}

impl<'a> Iterator for ByContext<'a> {
    type Item = (MetricId, &'a Row);

    fn next(&mut self) -> Option<Self::Item> {
        let mut next = self.next.peek_mut()?;
        let Reverse((context, place)) = *next;
        let (metric, rows) = self.left.get_mut(place)?;
        let (row, rest) = rows.split_first()?;
        *rows = rest;
        match rest.first() {
            Some(row) => *next = Reverse((row.context, place)),
            None => drop(std::collections::binary_heap::PeekMut::pop(next)),
        }
        debug_assert_eq!(context, row.context);
        Some((*metric, row))
    }
}
