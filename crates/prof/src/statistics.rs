//! What all threads have together: sums and the like, of each context and column.

use std::cell::Cell;

use kymo_core::model::profile::{
    Column, ContextNumber, Metric, MetricId, Reach, Statistic, SummaryValue,
};

use crate::names::index;
use crate::propagation::Reached;
use crate::tree::GLOBAL;

/// What is computed over all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requested {
    /// Nothing.
    None,
    /// Sums.
    Sum,
    /// What mean, standard deviation and coefficient of variation are computed from.
    Normal,
    /// The same, with smallest and largest values.
    Extrema,
}

impl Requested {
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

/// Contexts that share a page.
const PAGE: usize = 256;

/// Statistics of all contexts. Pages are made where there are values.
#[derive(Debug)]
pub(crate) struct Statistics {
    kinds: &'static [Statistic],
    compat: bool,
    /// By metric and by page.
    pages: Vec<Vec<Option<Box<[f64]>>>>,
    /// How many no number is large enough for, among those that were told.
    too_large: Cell<u64>,
}

impl Statistics {
    pub(crate) fn new(requested: Requested, compat: bool) -> Self {
        Self { kinds: requested.statistics(), compat, pages: Vec::new(), too_large: Cell::new(0) }
    }

    /// How many of those that were told no number is large enough for: they were left out.
    pub(crate) fn too_large(&self) -> u64 {
        self.too_large.get()
    }

    /// How many numbers a context has of a metric.
    fn width(&self) -> usize {
        self.kinds.len() * Reach::ALL.len()
    }

    /// Takes what one more thread has of a metric, in order of contexts.
    pub(crate) fn add(&mut self, metric: MetricId, rows: impl Iterator<Item = (u32, Reached)>) {
        let (width, metric) = (self.width(), index(metric.0));
        if width == 0 {
            return;
        }
        if self.pages.len() <= metric {
            self.pages.resize_with(metric + 1, Vec::new);
        }
        let Some(pages) = self.pages.get_mut(metric) else { return };
        for (context, reached) in rows {
            let (page, place) = (index(context) / PAGE, index(context) % PAGE);
            if pages.len() <= page {
                pages.resize_with(page + 1, || None);
            }
            let Some(page) = pages.get_mut(page) else { return };
            let page = page.get_or_insert_with(|| vec![0.0; PAGE * width].into_boxed_slice());
            let slots = page.get_mut(place * width..(place + 1) * width).unwrap_or_default();
            for (slots, statistic) in slots.chunks_mut(Reach::ALL.len()).zip(self.kinds) {
                for (slot, value) in slots.iter_mut().zip(reached) {
                    accumulate(*statistic, slot, value, self.compat);
                }
            }
        }
    }

    /// Everything that is not 0, in order of contexts, metrics, statistics and reaches.
    pub(crate) fn values<'a>(
        &'a self,
        metrics: &'a [Metric],
    ) -> impl Iterator<Item = SummaryValue> + 'a {
        let pages = self.pages.iter().map(Vec::len).max().unwrap_or(0);
        let contexts = (0..pages).flat_map(|page| (0..PAGE).map(move |place| (page, place)));
        contexts.flat_map(move |(page, place)| {
            let metrics = metrics.iter().zip((0..).map(MetricId)).zip(&self.pages);
            metrics.flat_map(move |((metric, id), pages)| {
                let page_of = pages.get(page).and_then(Option::as_deref);
                self.of_context(page_of, page * PAGE + place, place, metric, id)
            })
        })
    }

    fn of_context<'a>(
        &'a self,
        page: Option<&'a [f64]>,
        context: usize,
        place: usize,
        metric: &'a Metric,
        id: MetricId,
    ) -> impl Iterator<Item = SummaryValue> + 'a {
        let width = self.width();
        let slots = page.and_then(|page| page.get(place * width..(place + 1) * width));
        let statistics = slots.unwrap_or_default().chunks(Reach::ALL.len()).zip(self.kinds);
        let number = ContextNumber(context as u64);
        statistics.flat_map(move |(slots, statistic)| {
            let reached = slots.iter().zip(Reach::ALL);
            let reached = reached.filter(move |(value, reach)| {
                let is_wanted = metric.reaches.contains(reach);
                let is_some = **value != 0.0 && is_wanted;
                let is_told = is_some && (context != index(GLOBAL) || is_of_global(*reach));
                let is_too_large = is_told && !value.is_finite();
                self.too_large.set(self.too_large.get() + u64::from(is_too_large));
                is_told && !is_too_large
            });
            reached.map(move |(value, reach)| SummaryValue {
                context: number,
                column: Column { metric: id, reach },
                statistic: *statistic,
                value: *value,
            })
        })
    }
}

/// What the whole program has: everything that was spent, and nothing else.
pub(crate) fn is_of_global(reach: Reach) -> bool {
    reach == Reach::Execution
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
