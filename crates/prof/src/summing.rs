//! Values of a placed thread are added up, each thread by itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kymo_core::{Result, ahead};
use kymo_model::measurement::NodeNumbers;
use kymo_model::profile::{ComputedMetric, Metric, MetricId, ThreadId};

use crate::links::Links;
use crate::names::index;
use crate::propagation::{Propagation, Row, SelfValue};
use crate::tree::Place;

/// A thread whose nodes have their contexts.
pub(crate) struct PlacedNodes {
    pub(crate) own: Vec<SelfValue>,
    pub(crate) links: Arc<Links>,
    pub(crate) thread: PlacedThread,
    /// Number of its nodes and values that were recorded.
    pub(crate) items: u64,
}

/// Facts about a thread besides its values.
pub(crate) struct PlacedThread {
    pub(crate) id: ThreadId,
    pub(crate) measurement: u32,
    pub(crate) thread: usize,
    /// Metrics that no thread before it had.
    pub(crate) metrics: Vec<Metric>,
    pub(crate) computed: Vec<ComputedMetric>,
    pub(crate) numbers: NodeNumbers,
    /// By the index of the node.
    pub(crate) places: Vec<Place>,
}

/// A thread whose values are added up.
pub(crate) struct SummedThread {
    pub(crate) thread: PlacedThread,
    pub(crate) links: Arc<Links>,
    /// Nothing where there are more than can be of so small a recording.
    pub(crate) rows: Option<Vec<MetricRows>>,
}

/// Values of a thread for a metric, in order of contexts.
pub(crate) struct MetricRows {
    pub(crate) metric: MetricId,
    pub(crate) rows: Vec<Row>,
}

/// Of threads with more values the metrics are added up beside each other, too.
const VALUES_MANY: usize = 1 << 16;

/// Rows that a thread may have: so many, and so many for each node and value. A value reaches every
/// context above it, so that a few bytes can make very many.
const ROWS_MIN: u64 = 1 << 20;
const ROWS_OF_ITEM: u64 = 64;

/// Adds up threads, several beside each other.
pub(crate) struct Summing {
    pub(crate) jobs: usize,
    /// Greatest number of rows that a thread may have, whatever was recorded of it.
    items_max: u64,
    /// Room that nobody needs at the moment.
    free: Mutex<Vec<Propagation>>,
}

impl Summing {
    pub(crate) fn new(jobs: usize, items_max: u64) -> Self {
        Self { jobs, items_max, free: Mutex::default() }
    }

    pub(crate) fn thread(&self, placed: PlacedNodes) -> Result<SummedThread> {
        let PlacedNodes { own, links, thread, items } = placed;
        let rows_max = ROWS_OF_ITEM.saturating_mul(items).saturating_add(ROWS_MIN);
        let (rows_max, row_count) = (rows_max.min(self.items_max), AtomicU64::new(0));
        let is_too_large = || row_count.load(Ordering::Relaxed) > rows_max;
        let is_large = own.len() > VALUES_MANY && self.jobs > 1;
        let by_metric = by_metric(&own).into_iter().zip((0..).map(MetricId));
        let some = by_metric.filter(|(own, _)| !own.is_empty());
        let of_metric = |(own, metric): (Vec<_>, _)| {
            if is_too_large() {
                return Ok(MetricRows { metric, rows: Vec::new() });
            }
            let mut propagation = self.free().pop().unwrap_or_default();
            let rows = propagation.run(&links, own.into_iter())?;
            self.free().push(propagation);
            row_count.fetch_add(rows.len() as u64, Ordering::Relaxed);
            Ok(MetricRows { metric, rows })
        };
        let rows = if is_large {
            ahead::each(some.collect(), of_metric).into_iter().collect::<Result<Vec<_>>>()?
        } else {
            some.map(of_metric).collect::<Result<Vec<_>>>()?
        };
        Ok(SummedThread { thread, links, rows: Some(rows).filter(|_| !is_too_large()) })
    }

    fn free(&self) -> MutexGuard<'_, Vec<Propagation>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Values of each metric, in the order in which they come.
fn by_metric(own: &[SelfValue]) -> Vec<Vec<(u32, f64)>> {
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
