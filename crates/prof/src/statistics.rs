//! Values of all threads together: sums and the like, of each context and column.

use std::sync::atomic::{AtomicU64, Ordering};

use kymo_core::slot;
use kymo_model::profile::{
    Column, ContextNumber, Metric, MetricId, MetricScope, Parts, Statistic, SummaryValue,
};

use crate::names::index;
use crate::propagation::Reached;
use crate::rows::RowsInParts;
use crate::runs::{Entry, Runs};
use crate::slots::Slots;
use crate::tree::GLOBAL;

/// Statistics that are computed over all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatisticRequest {
    /// Nothing.
    None,
    /// Sums.
    Sum,
    /// Values from which mean, standard deviation and coefficient of variation are computed.
    Normal,
    /// The same, with smallest and largest values.
    Extrema,
}

impl StatisticRequest {
    /// The statistics, in the order of their ids.
    #[must_use]
    pub fn statistics(self) -> &'static [Statistic] {
        use Statistic::{Count, Max, Min, Squares, Sum};
        match self {
            Self::None => &[],
            Self::Sum => &[Sum],
            Self::Normal => &[Count, Sum, Squares],
            Self::Extrema => &[Count, Sum, Squares, Min, Max],
        }
    }
}

/// Number of rows of a metric that are given together.
const ROWS_OF_PART: usize = 1 << 14;

/// Statistics of all contexts and metrics that anything reaches.
#[derive(Debug)]
pub(crate) struct Statistics {
    kinds: &'static [Statistic],
    compat: bool,
    slots: Slots,
    /// By metric.
    entries: Vec<Runs>,
}

impl Statistics {
    pub(crate) fn new(requested: StatisticRequest, compat: bool) -> Self {
        let kinds = requested.statistics();
        Self { kinds, compat, slots: Slots::new(kinds.len()), entries: Vec::new() }
    }

    /// Takes what one more thread has of a metric, in order of contexts.
    pub(crate) fn add(&mut self, metric: MetricId, rows: impl Iterator<Item = (u32, Reached)>) {
        let Self { kinds, compat, slots, entries } = self;
        if kinds.is_empty() {
            return;
        }
        let entries = slot(entries, index(metric.0));
        let mut search = entries.search();
        for (context, reached) in rows {
            let slot = search.find(context, || slots.next());
            for (slots, statistic) in slots.slot_mut(slot).zip(*kinds) {
                for (slot, value) in slots.iter_mut().zip(reached) {
                    accumulate(*statistic, slot, value, *compat);
                }
            }
        }
        let new = search.into_new();
        entries.add(new);
    }

    /// Everything that is not 0, in order of contexts, metrics, statistics and reaches.
    pub(crate) fn summary<'a>(&'a mut self, metrics: &'a [Metric]) -> Summary<'a> {
        let entries = self.entries.iter_mut().zip((0..).map(MetricId));
        let entries = entries.map(|(runs, metric)| (metric, runs.merged())).collect();
        let (kinds, slots) = (self.kinds, &self.slots);
        let rows = RowsInParts::new(entries, ROWS_OF_PART);
        Summary { kinds, slots, rows, metrics, too_large: AtomicU64::new(0) }
    }
}

/// Statistics as they are told.
pub(crate) struct Summary<'a> {
    kinds: &'static [Statistic],
    slots: &'a Slots,
    rows: RowsInParts<'a, Entry>,
    metrics: &'a [Metric],
    /// Number of values that are too large for any number: they are left out.
    too_large: AtomicU64,
}

impl Summary<'_> {
    /// Returns the number of values given so far that are too large for any number.
    pub(crate) fn too_large(&self) -> u64 {
        self.too_large.load(Ordering::Relaxed)
    }

    /// Gives the values of a context for a metric.
    fn read_entry(&self, id: MetricId, entry: Entry, take: &mut dyn FnMut(SummaryValue)) {
        let Some(metric) = self.metrics.get(index(id.0)) else { return };
        for (slots, statistic) in self.slots.get(entry.slot).zip(self.kinds) {
            for (value, reach) in slots.iter().copied().zip(MetricScope::ALL) {
                let is_told = entry.context != GLOBAL || has_whole_program(reach);
                if value == 0.0 || !is_told || !metric.reaches.contains(&reach) {
                    continue;
                }
                if !value.is_finite() {
                    self.too_large.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                let context = ContextNumber(entry.context.into());
                let column = Column { metric: id, reach };
                take(SummaryValue { context, column, statistic: *statistic, value });
            }
        }
    }
}

impl Parts<SummaryValue> for Summary<'_> {
    fn count(&self) -> usize {
        self.rows.count()
    }

    fn read_part(&self, part: usize, take: &mut dyn FnMut(SummaryValue)) {
        self.rows.part(part).for_each(|(metric, entry)| self.read_entry(metric, *entry, take));
    }
}

/// Returns true if the whole program has a scope: it has everything that was spent, and nothing
/// else.
pub(crate) fn has_whole_program(reach: MetricScope) -> bool {
    reach == MetricScope::Execution
}

fn accumulate(statistic: Statistic, slot: &mut f64, value: f64, compat: bool) {
    match statistic {
        // 0 is what a thread has that has nothing there. To hpcprof it has the metric there if it has
        // it in any reach, and 0 is the smallest or largest value when it comes later.
        Statistic::Count | Statistic::Min | Statistic::Max if value == 0.0 && !compat => {}
        Statistic::Count => *slot += 1.0,
        Statistic::Sum => *slot += value,
        // hpcprof evaluates the power as one of exponent 1.
        Statistic::Squares => *slot += if compat { value } else { value * value },
        Statistic::Min if value < *slot || *slot == 0.0 => *slot = value,
        Statistic::Max if value > *slot || *slot == 0.0 => *slot = value,
        Statistic::Min | Statistic::Max => {}
    }
}
