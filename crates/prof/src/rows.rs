//! Rows of several metrics, told in order of contexts, and in parts that several can work on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use kymo_model::profile::MetricId;

use crate::tree::GLOBAL;

/// Something that belongs to a context.
pub(crate) trait HasContext {
    fn context(&self) -> u32;
}

/// Rows of metrics, cut into parts by their contexts.
pub(crate) struct RowsInParts<'a, T> {
    rows: Vec<(MetricId, &'a [T])>,
    /// The context that each part begins with.
    starts: Vec<u32>,
}

impl<'a, T: HasContext> RowsInParts<'a, T> {
    /// Takes rows of metrics that come in their order. Of no metric a part has more than so many.
    pub(crate) fn new(rows: Vec<(MetricId, &'a [T])>, rows_of_part: usize) -> Self {
        let longest = rows.iter().map(|(_, rows)| *rows).max_by_key(|rows| rows.len());
        let cuts = longest.unwrap_or_default().iter().step_by(rows_of_part).skip(1);
        let starts = std::iter::once(GLOBAL).chain(cuts.map(HasContext::context)).collect();
        Self { rows, starts }
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// The rows of a part.
    pub(crate) fn part(&self, part: usize) -> RowsByContext<'a, T> {
        let start = self.starts.get(part).copied().unwrap_or(u32::MAX);
        let end = self.starts.get(part + 1).copied();
        RowsByContext::new(self.rows.iter().map(|(metric, rows)| {
            let first = rows.partition_point(|row| row.context() < start);
            let rows = rows.get(first..).unwrap_or_default();
            let is_before_end = |row: &T| end.is_none_or(|end| row.context() < end);
            let count = rows.partition_point(is_before_end);
            (*metric, rows.get(..count).unwrap_or_default())
        }))
    }
}

/// Rows of several metrics, in order of contexts and metrics.
pub(crate) struct RowsByContext<'a, T> {
    /// Rest of each metric.
    left: Vec<(MetricId, &'a [T])>,
    /// The next context of each metric.
    next: BinaryHeap<Reverse<(u32, usize)>>,
}

impl<'a, T: HasContext> RowsByContext<'a, T> {
    fn new(metrics: impl Iterator<Item = (MetricId, &'a [T])>) -> Self {
        let left: Vec<_> = metrics.collect();
        let first = |(place, (_, rows)): (usize, &(MetricId, &'a [T]))| {
            rows.first().map(|row| Reverse((row.context(), place)))
        };
        let next = left.iter().enumerate().filter_map(first).collect();
        Self { left, next }
    }
}

impl<'a, T: HasContext> Iterator for RowsByContext<'a, T> {
    type Item = (MetricId, &'a T);

    fn next(&mut self) -> Option<Self::Item> {
        let mut next = self.next.peek_mut()?;
        let Reverse((context, place)) = *next;
        let (metric, rows) = self.left.get_mut(place)?;
        let (row, rest) = rows.split_first()?;
        *rows = rest;
        match rest.first() {
            Some(row) => *next = Reverse((row.context(), place)),
            None => drop(PeekMut::pop(next)),
        }
        debug_assert_eq!(context, row.context());
        Some((*metric, row))
    }
}
