//! The rows of a flat profile that spent most, without holding the names of all others.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::flat::{FlatSums, flat_statistic};
use super::inconsistencies::Inconsistencies;
use super::labels::{HeldLabels, Label, Labels, ShortLabels};
use super::question::{ContextReader, Spent};
use super::{FlatGrouping, FlatProfile, FlatRow, MetricQuery, ProfileView};
use kymo_core::{Error, Result};

/// Rows that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopRows {
    /// Number of rows; `None` means all.
    pub number: Option<usize>,
    /// True if it goes by what was spent with all that was called.
    pub is_inclusive: bool,
}

/// Memory that labels and rows may take, and memory that one of each takes.
const HELD_BYTES: usize = 24 << 20;
pub(super) const ROW_BYTES: usize = 48;

/// A flat profile of the rows that spent most, those first; of equal ones by their names.
///
/// Where so many rows are wanted, the memory it takes is bounded: of very many labels, some are
/// held at a time.
///
/// # Errors
/// When the profile cannot be read.
pub fn flat_most(
    question: &MetricQuery<'_>,
    by: FlatGrouping,
    most: TopRows,
) -> Result<FlatProfile> {
    let values = ContextReader::sums(question);
    most.select_rows(question.view, ROW_BYTES, |labels| {
        let mut summed = flat_statistic(&values, by, labels)?;
        summed
            .rows
            .iter_mut()
            .for_each(|(_, spent)| *spent = summed.measured.mask_unmeasured(*spent));
        Ok(summed)
    })
}

impl FlatProfile {
    /// The rows that spent most, those first; of equal ones by their names. What has no value comes
    /// last.
    #[must_use]
    pub fn sorted(mut self, most: TopRows) -> Self {
        let spent = |row: &FlatRow| Spent { inclusive: row.inclusive, exclusive: row.exclusive };
        self.rows.sort_by(|a, b| {
            let by_value = most.compare(spent(a), spent(b));
            by_value.then_with(|| a.label.cmp(&b.label))
        });
        let number = most.number.unwrap_or(usize::MAX);
        self.more += self.rows.len().saturating_sub(number);
        self.rows.truncate(number);
        self
    }
}

impl TopRows {
    fn compare(self, a: Spent, b: Spent) -> Ordering {
        let number = |value: f64| if value.is_nan() { f64::NEG_INFINITY } else { value };
        let keys = |spent: Spent| {
            let (first, second) = (number(spent.exclusive), number(spent.inclusive));
            if self.is_inclusive { (second, first) } else { (first, second) }
        };
        let (a, b) = (keys(a), keys(b));
        b.0.total_cmp(&a.0).then_with(|| b.1.total_cmp(&a.1))
    }

    /// The rows that are wanted of those that are summed up, each of which takes so much memory.
    pub(super) fn select_rows<'v>(
        self,
        view: &'v dyn ProfileView,
        row_bytes: usize,
        sum: impl Fn(&mut Labels<'v>) -> Result<FlatSums>,
    ) -> Result<FlatProfile> {
        let held = self.number.map_or(usize::MAX, |_| rows_per_part(row_bytes));
        let mut parts = 1;
        loop {
            match self.select_by_part(view, HeldLabels::parts(parts, held), &sum)? {
                Some(flat) => return Ok(flat),
                None => parts *= 2,
            }
        }
    }

    /// The same, part by part; nothing where one of them is too large.
    fn select_by_part<'v>(
        self,
        view: &'v dyn ProfileView,
        parts: impl Iterator<Item = HeldLabels>,
        sum: impl Fn(&mut Labels<'v>) -> Result<FlatSums>,
    ) -> Result<Option<FlatProfile>> {
        let (mut flat, mut odd) = (FlatProfile::default(), Inconsistencies::default());
        for part in parts {
            let mut labels = Labels::new(view, part);
            let FlatSums { total, own, measured, outgrown, mut rows } = sum(&mut labels)?;
            if labels.is_overfull() {
                return Ok(None);
            }
            let shown = labels.shown();
            for (label, spent) in &rows {
                odd.check(*spent, measured, total, || Ok(shown.get(*label)?.into_owned()))?;
            }
            odd.compare(own, measured, total);
            odd.outgrown(outgrown, view)?;
            let all = rows.len();
            let rows = self.chosen(&mut rows, &shown)?;
            flat.more += all.saturating_sub(rows.len());
            flat.rows.extend(rows);
            flat = FlatProfile { total, ..flat }.sorted(self);
        }
        Ok(Some(FlatProfile { odd: odd.text(), ..flat }))
    }

    /// The rows that are wanted. Where the last of them spent as much as others, names decide.
    fn chosen(self, rows: &mut [(Label, Spent)], shown: &ShortLabels<'_>) -> Result<Vec<FlatRow>> {
        let number = self.number.unwrap_or(rows.len()).min(rows.len());
        let Some(last) = number.checked_sub(1) else { return Ok(Vec::new()) };
        let (_, (_, last), _) =
            rows.select_nth_unstable_by(last, |(_, a), (_, b)| self.compare(*a, *b));
        let last = *last;
        let name = |label: Label| Ok::<_, Error>(shown.get(label)?.into_owned());
        let mut chosen = Vec::new();
        for (label, spent) in rows.iter() {
            if self.compare(*spent, last) == Ordering::Less {
                chosen.push(row(name(*label)?, *spent));
            }
        }
        let (mut names, left) = (BTreeSet::new(), number.saturating_sub(chosen.len()));
        for (label, _) in rows.iter().filter(|(_, one)| self.compare(*one, last).is_eq()) {
            names.insert((name(*label)?, *label));
            if names.len() > left {
                names.pop_last();
            }
        }
        chosen.extend(names.into_iter().map(|(name, _)| row(name, last)));
        Ok(chosen)
    }
}

fn row(label: String, Spent { inclusive, exclusive }: Spent) -> FlatRow {
    FlatRow { label, inclusive, exclusive, place: None }
}

/// Returns the number of rows that are held at once: as many as fill what tables grow to.
fn rows_per_part(row_bytes: usize) -> usize {
    let room: usize = 1 << (HELD_BYTES / row_bytes.max(1)).max(1).ilog2();
    room - room / 8
}

#[cfg(test)]
mod tests {
    use super::super::{MetricId, fixture};
    use super::*;

    fn names(number: Option<usize>, is_inclusive: bool) -> (Vec<String>, usize) {
        let tree = fixture::tree();
        let question = MetricQuery { view: &tree, metric: MetricId(0), threads: None };
        let most = TopRows { number, is_inclusive };
        let found = flat_most(&question, FlatGrouping::Function, most).unwrap();
        (found.rows.into_iter().map(|row| row.label).collect(), found.more)
    }

    #[test]
    fn the_rows_that_spent_most_come_first() {
        let all = ["main", "work", "<main thread>"].map(String::from).to_vec();
        assert_eq!(names(None, false), (all.clone(), 0));
        assert_eq!(names(Some(2), false), (all[..2].to_vec(), 1));
        assert_eq!(names(Some(0), false), (Vec::new(), 3));
    }

    #[test]
    fn names_decide_among_rows_that_spent_as_much() {
        // Both spent 15 with all that they called, and main more itself.
        assert_eq!(names(Some(1), true).0, ["main"]);
        let tree = fixture::same();
        let question = MetricQuery { view: &tree, metric: MetricId(0), threads: None };
        let most = TopRows { number: Some(2), is_inclusive: false };
        let found = flat_most(&question, FlatGrouping::Function, most).unwrap();
        let found: Vec<_> = found.rows.into_iter().map(|row| row.label).collect();
        assert_eq!(found, ["a", "b"]);
    }

    #[test]
    fn of_more_labels_than_are_held_the_same_rows_are_found() {
        let tree = fixture::same();
        let question = MetricQuery { view: &tree, metric: MetricId(0), threads: None };
        let most = TopRows { number: Some(2), is_inclusive: false };
        let whole = flat_most(&question, FlatGrouping::Function, most).unwrap();
        let values = ContextReader::sums(&question);
        let sum = |labels: &mut Labels<'_>| flat_statistic(&values, FlatGrouping::Function, labels);
        // One at a time: parts are made smaller until none has more.
        let found = most.select_rows(&tree, HELD_BYTES, sum).unwrap();
        assert_eq!(rows_per_part(HELD_BYTES), 1);
        assert_eq!(found, whole);
        assert!(most.select_by_part(&tree, HeldLabels::parts(1, 1), sum).unwrap().is_none());
    }

    #[test]
    fn as_many_labels_are_held_as_there_is_memory_for() {
        assert_eq!(rows_per_part(ROW_BYTES), (1 << 19) / 8 * 7);
        // Lists of labels and of rows have room for a power of two, a table for 8 of 7.
        assert!((1 << 19) * (size_of::<Spent>() + 8 + 16 + 5) < HELD_BYTES);
    }
}
