//! What all threads have together: sums and the like, of each context and column.

use std::sync::atomic::{AtomicU64, Ordering};

use kymo_core::model::profile::{
    Column, ContextNumber, Metric, MetricId, Parts, Reach, Statistic, SummaryValue,
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

/// Pages that are told of together.
const PAGES_OF_PART: usize = 64;

/// Statistics of all contexts. Pages are made where there are values.
#[derive(Debug)]
pub(crate) struct Statistics {
    kinds: &'static [Statistic],
    compat: bool,
    /// By metric and by page.
    pages: Vec<Vec<Option<Box<[f64]>>>>,
}

impl Statistics {
    pub(crate) fn new(requested: Requested, compat: bool) -> Self {
        Self { kinds: requested.statistics(), compat, pages: Vec::new() }
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
    pub(crate) fn summary<'a>(&'a self, metrics: &'a [Metric]) -> Summary<'a> {
        Summary { statistics: self, metrics, too_large: AtomicU64::new(0) }
    }
}

/// Statistics as they are told.
pub(crate) struct Summary<'a> {
    statistics: &'a Statistics,
    metrics: &'a [Metric],
    /// How many no number is large enough for: they are left out.
    too_large: AtomicU64,
}

/// What a metric has on a page.
struct OnPage<'a> {
    metric: &'a Metric,
    id: MetricId,
    slots: &'a [f64],
}

impl Summary<'_> {
    /// How many of those that were told no number is large enough for.
    pub(crate) fn too_large(&self) -> u64 {
        self.too_large.load(Ordering::Relaxed)
    }

    fn tell_page(&self, page: usize, take: &mut dyn FnMut(SummaryValue)) {
        let Statistics { pages, .. } = self.statistics;
        let metrics = self.metrics.iter().zip((0..).map(MetricId)).zip(pages);
        let on_page = metrics.filter_map(|((metric, id), pages)| {
            Some(OnPage { metric, id, slots: pages.get(page)?.as_deref()? })
        });
        let on_page: Vec<_> = on_page.collect();
        for place in 0..PAGE {
            for of in &on_page {
                self.tell_context(page * PAGE + place, of, take);
            }
        }
    }

    /// What a context has of a metric.
    fn tell_context(&self, context: usize, of: &OnPage<'_>, take: &mut dyn FnMut(SummaryValue)) {
        let Statistics { kinds, .. } = self.statistics;
        let (width, place) = (self.statistics.width(), context % PAGE);
        let slots = of.slots.get(place * width..(place + 1) * width).unwrap_or_default();
        for (slots, statistic) in slots.chunks(Reach::ALL.len()).zip(*kinds) {
            for (value, reach) in slots.iter().copied().zip(Reach::ALL) {
                let is_told = context != index(GLOBAL) || is_of_global(reach);
                if value == 0.0 || !is_told || !of.metric.reaches.contains(&reach) {
                    continue;
                }
                if !value.is_finite() {
                    self.too_large.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                let context = ContextNumber(context as u64);
                let column = Column { metric: of.id, reach };
                take(SummaryValue { context, column, statistic: *statistic, value });
            }
        }
    }
}

impl Parts<SummaryValue> for Summary<'_> {
    fn count(&self) -> usize {
        let pages = self.statistics.pages.iter().map(Vec::len).max().unwrap_or(0);
        pages.div_ceil(PAGES_OF_PART)
    }

    fn tell(&self, part: usize, take: &mut dyn FnMut(SummaryValue)) {
        let first = part * PAGES_OF_PART;
        (first..first + PAGES_OF_PART).for_each(|page| self.tell_page(page, take));
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
