//! Metrics that are computed from others.

use std::fmt;
use std::sync::Arc;

use super::flat::{Summed, flat_of};
use super::labels::{Label, Labels};
use super::most::ROW_BYTES;
use super::question::{Reading, Spent};
use super::{
    By, Column, Flat, Metric, Most, ProfileView, Question, Reach, Statistic, ThreadSet, Within,
    per_thread,
};
use crate::Result;

/// A metric that is computed from others, such as a share or a mean. It is computed of what each
/// row comes to, and is never summed up itself.
#[derive(Debug, Clone)]
pub struct Derived {
    /// What it is.
    pub metric: Metric,
    /// What it is computed from.
    pub inputs: Vec<Input>,
    /// How.
    pub formula: Arc<dyn Formula>,
}

/// What a metric is computed from: a statistic over threads of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Input {
    /// Of what.
    pub column: Column,
    /// Which statistic.
    pub statistic: Statistic,
}

/// What of a metric is computed. A formula may be another for a place in the tree than for a row
/// that stands for many places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// With all that was called, of a row.
    Inclusive,
    /// Without it, of a row.
    Exclusive,
    /// With all that was called, of a place in the tree.
    InclusiveAt,
    /// Without it, of a place in the tree.
    ExclusiveAt,
}

/// How a metric is computed.
pub trait Formula: fmt::Debug + Send + Sync {
    /// What it comes to, from what each input comes to; nothing where an input has nothing.
    fn evaluate(&self, side: Side, inputs: &[Option<f64>]) -> Option<f64>;
}

impl Derived {
    /// What one side comes to; no number where it has no value.
    pub(super) fn value(&self, side: Side, inputs: &[Option<f64>]) -> f64 {
        self.formula.evaluate(side, inputs).unwrap_or(f64::NAN)
    }
}

impl Input {
    /// Whether it counts all that was called.
    pub(super) fn is_inclusive(self) -> bool {
        self.column.reach == Reach::Execution
    }

    /// The question for it.
    pub(super) fn question<'a>(
        self,
        view: &'a dyn ProfileView,
        threads: Option<&'a ThreadSet>,
    ) -> Question<'a> {
        Question { view, metric: self.column.metric, threads }
    }

    /// How it is read.
    pub(super) fn reading<'a>(self, question: &'a Question<'a>) -> Reading<'a> {
        let exclusive = if self.is_inclusive() { Reach::Function } else { self.column.reach };
        let (statistic, exclusive_of_loops) = (self.statistic, exclusive);
        Reading { question, statistic, exclusive, exclusive_of_loops }
    }
}

/// A flat profile of a metric that is computed: of what each row comes to. What has no value is no
/// number.
///
/// # Errors
/// When the profile cannot be read.
pub fn flat_derived(
    view: &dyn ProfileView,
    derived: &Derived,
    threads: Option<&ThreadSet>,
    by: By,
    most: Most,
) -> Result<Flat> {
    let row_bytes = ROW_BYTES + derived.inputs.len() * size_of::<f64>();
    let flat = most.of(view, row_bytes, |labels| derived_of(view, derived, threads, by, labels))?;
    // What is computed is no part of a whole.
    Ok(Flat { odd: None, ..flat })
}

/// What the metric comes to in all, and for each label that it has a value for.
fn derived_of<'v>(
    view: &'v dyn ProfileView,
    derived: &Derived,
    threads: Option<&ThreadSet>,
    by: By,
    labels: &mut Labels<'v>,
) -> Result<Summed> {
    let count = derived.inputs.len();
    let mut totals = vec![None; count];
    // The inputs of each label, one behind another; 0 where it has none.
    let mut inputs = Vec::new();
    for (index, input) in derived.inputs.iter().enumerate() {
        let question = input.question(view, threads);
        let Summed { total, rows: found, .. } = flat_of(&input.reading(&question), by, labels)?;
        if labels.is_overfull() {
            break;
        }
        put(&mut totals, index, if input.is_inclusive() { total } else { 0.0 });
        inputs.resize(labels.len() * count, 0.0);
        for (label, spent) in found {
            if let Some(to) = inputs.get_mut(label.0 * count + index) {
                *to = if input.is_inclusive() { spent.inclusive } else { spent.exclusive };
            }
        }
    }
    let mut rows = Vec::new();
    for (label, inputs) in (0..).map(Label).zip(inputs.chunks(count.max(1))) {
        let inputs: Vec<_> =
            inputs.iter().map(|value| Some(*value).filter(|v| *v != 0.0)).collect();
        if inputs.iter().any(Option::is_some) {
            let inclusive = derived.value(Side::Inclusive, &inputs);
            let exclusive = derived.value(Side::Exclusive, &inputs);
            let has_value = !(inclusive.is_nan() && exclusive.is_nan());
            rows.extend(has_value.then_some((label, Spent { inclusive, exclusive })));
        }
    }
    Ok(Summed { total: derived.value(Side::Inclusive, &totals), own: f64::NAN, rows })
}

/// What a metric that is computed comes to for each thread, in all or in one place. What has no value
/// is no number.
///
/// # Errors
/// When the profile cannot be read.
pub fn per_thread_derived(
    view: &dyn ProfileView,
    derived: &Derived,
    threads: Option<&ThreadSet>,
    within: Within<'_>,
) -> Result<Vec<f64>> {
    let mut inputs = vec![vec![None; derived.inputs.len()]; view.thread_count()];
    for (index, input) in derived.inputs.iter().enumerate().filter(|(_, one)| one.is_inclusive()) {
        let spent = per_thread(&input.question(view, threads), within)?;
        for (inputs, spent) in inputs.iter_mut().zip(spent).filter(|(_, spent)| *spent != 0.0) {
            put(inputs, index, input.statistic.of(spent));
        }
    }
    Ok(inputs.iter().map(|inputs| derived.value(Side::Inclusive, inputs)).collect())
}

/// What is 0 is not there.
pub(super) fn put(to: &mut [Option<f64>], index: usize, value: f64) {
    if let Some(to) = to.get_mut(index) {
        *to = Some(value).filter(|value| *value != 0.0);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{FlatRow, MetricId, fixture};
    use super::*;

    const ALL: Most = Most { number: None, is_inclusive: false };

    /// The first input for all, the second for each place: by how much the one is of the other.
    #[derive(Debug)]
    struct Quotient;

    impl Formula for Quotient {
        fn evaluate(&self, side: Side, inputs: &[Option<f64>]) -> Option<f64> {
            match side {
                Side::Inclusive | Side::InclusiveAt => Some(inputs[0]? / inputs[1]?),
                Side::Exclusive | Side::ExclusiveAt => Some(inputs[2]? / inputs[3]?),
            }
        }
    }

    /// The mean over threads that have something: a sum by a count.
    pub(crate) fn mean() -> Derived {
        let input = |reach, statistic| {
            let column = Column { metric: MetricId(0), reach };
            Input { column, statistic }
        };
        let inputs = [Reach::Execution, Reach::Function].into_iter();
        let inputs = inputs.flat_map(|reach| {
            [Statistic::Sum, Statistic::Count].map(|statistic| input(reach, statistic))
        });
        let (inputs, formula) = (inputs.collect(), Arc::new(Quotient));
        Derived { metric: Metric::named("mean"), inputs, formula }
    }

    #[test]
    fn it_is_computed_of_what_rows_come_to_and_not_summed_up() {
        let tree = fixture::tree();
        let mut found = flat_derived(&tree, &mean(), None, By::Function, ALL).unwrap();
        found.rows.sort_by(|a, b| a.label.cmp(&b.label));
        let shown = |row: &FlatRow| format!("{} {} {}", row.label, row.inclusive, row.exclusive);
        let rows: Vec<_> = found.rows.iter().map(shown).collect();
        // Of 15 one thread spent 14 and the other 1; in work, 6 and 1. Only the first called it
        // from itself, and only the first spent something in main. The entry point spent nothing
        // itself: that has no value.
        let expected = ["<main thread> 7.5 NaN", "main 7.5 8", "work 3.5 2.3333333333333335"];
        assert_eq!(rows, expected);
        assert_eq!(found.total.to_string(), "7.5");
    }

    #[test]
    fn each_thread_has_its_own() {
        let tree = fixture::tree();
        assert_eq!(per_thread_derived(&tree, &mean(), None, Within::All).unwrap(), [14.0, 1.0]);
        let found = per_thread_derived(&tree, &mean(), None, Within::Function("absent")).unwrap();
        assert!(found.iter().all(|value| value.is_nan()));
    }

    #[test]
    fn the_least_and_the_most_of_contexts_are_the_least_and_the_most() {
        let tree = fixture::tree();
        for (statistic, expected) in [(Statistic::Min, 1.0), (Statistic::Max, 14.0)] {
            let column = Column { metric: MetricId(0), reach: Reach::Execution };
            let input = Input { column, statistic };
            let question = input.question(&tree, None);
            let mut labels = Labels::of_view(&tree);
            let Summed { total, .. } =
                flat_of(&input.reading(&question), By::Function, &mut labels).unwrap();
            assert!((total - expected).abs() < 1e-12, "{statistic:?} {total}");
        }
    }
}
