//! The rows of a flat profile that spent most, without holding the names of all others.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::flat::flat_of;
use super::labels::{Label, Labels, Shown};
use super::question::{Reading, Spent};
use super::{By, Flat, FlatRow, Question};
use crate::Result;

/// Which rows are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Most {
    /// How many; nothing means all.
    pub number: Option<usize>,
    /// Whether it goes by what was spent with all that was called.
    pub is_inclusive: bool,
}

/// A flat profile of the rows that spent most, those first; of equal ones by their names.
///
/// # Errors
/// When the profile cannot be read.
pub fn flat_most(question: &Question<'_>, by: By, most: Most) -> Result<Flat> {
    let mut labels = Labels::of_view(question.view);
    let (total, mut rows) = flat_of(&Reading::sums(question), by, &mut labels)?;
    let all = rows.len();
    rows.sort_unstable_by(|(_, a), (_, b)| most.compare(*a, *b));
    let shown = labels.shown();
    let excess = excess(&rows, total).map(|label| shown.get(label)).transpose()?;
    let excess = excess.map(Cow::into_owned);
    let rows = most.chosen(rows, &shown)?;
    let flat = Flat { total, more: all.saturating_sub(rows.len()), rows, excess };
    Ok(flat.sorted(most))
}

/// What spent more than all entry points together. Where something can be less than nothing, a part
/// can be more than the whole.
fn excess(rows: &[(Label, Spent)], total: f64) -> Option<Label> {
    const ROUNDING: f64 = 1e-6;
    let most = total * (1.0 + ROUNDING);
    let has_negative = rows.iter().any(|(_, row)| row.exclusive < 0.0 || row.inclusive < 0.0);
    let mut above = rows.iter().filter(|(_, row)| row.exclusive.max(row.inclusive) > most);
    above.next().filter(|_| !has_negative).map(|(label, _)| *label)
}

impl Flat {
    /// The rows that spent most, those first; of equal ones by their names. What has no value comes
    /// last.
    #[must_use]
    pub fn sorted(mut self, most: Most) -> Self {
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

impl Most {
    fn compare(self, a: Spent, b: Spent) -> Ordering {
        let number = |value: f64| if value.is_nan() { f64::NEG_INFINITY } else { value };
        let keys = |spent: Spent| {
            let (first, second) = (number(spent.exclusive), number(spent.inclusive));
            if self.is_inclusive { (second, first) } else { (first, second) }
        };
        let (a, b) = (keys(a), keys(b));
        b.0.total_cmp(&a.0).then_with(|| b.1.total_cmp(&a.1))
    }

    /// The rows that are wanted, of some in order of what they spent. Where the last of them spent
    /// as much as others, names decide.
    fn chosen(self, mut rows: Vec<(Label, Spent)>, shown: &Shown<'_>) -> Result<Vec<FlatRow>> {
        let number = self.number.unwrap_or(rows.len()).min(rows.len());
        let last = number.checked_sub(1).and_then(|last| rows.get(last)).map(|(_, last)| *last);
        let Some(last) = last else { return Ok(Vec::new()) };
        let is_before = |(_, spent): &(Label, Spent)| self.compare(*spent, last) == Ordering::Less;
        let start = rows.partition_point(is_before);
        let equal = |(_, spent): &&(Label, Spent)| self.compare(*spent, last) == Ordering::Equal;
        let mut names = BTreeSet::new();
        for (label, _) in rows.iter().skip(start).take_while(equal) {
            names.insert((shown.get(*label)?.into_owned(), *label));
            if names.len() > number - start {
                names.pop_last();
            }
        }
        rows.truncate(start);
        let row = |label: String, Spent { inclusive, exclusive }: Spent| FlatRow {
            label,
            inclusive,
            exclusive,
        };
        let before =
            rows.iter().map(|(label, spent)| Ok(row(shown.get(*label)?.into_owned(), *spent)));
        let equal = names.into_iter().map(|(name, _)| Ok(row(name, last)));
        before.chain(equal).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MetricId, fixture};
    use super::*;

    fn names(number: Option<usize>, is_inclusive: bool) -> (Vec<String>, usize) {
        let tree = fixture::tree();
        let question = Question { view: &tree, metric: MetricId(0), threads: None };
        let most = Most { number, is_inclusive };
        let found = flat_most(&question, By::Function, most).unwrap();
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
        let question = Question { view: &tree, metric: MetricId(0), threads: None };
        let most = Most { number: Some(2), is_inclusive: false };
        let found = flat_most(&question, By::Function, most).unwrap();
        let found: Vec<_> = found.rows.into_iter().map(|row| row.label).collect();
        assert_eq!(found, ["a", "b"]);
    }
}
