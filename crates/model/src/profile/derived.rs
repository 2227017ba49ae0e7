//! Metrics that are computed from others.

use std::fmt;
use std::sync::Arc;

use super::flat::{FlatSums, flat_statistic};
use super::labels::{Label, Labels};
use super::question::{ContextReader, MeasuredScopes, Spent};
use super::top_rows::ROW_BYTES;
use super::{
    Column, FlatGrouping, FlatProfile, Metric, MetricQuery, MetricScope, ProfileView, SpentScope,
    Statistic, ThreadSet, ThreadValue, TopRows, per_thread,
};
use kymo_core::{Error, Result};

/// Number of inputs up to which a metric may be computed whatever the number of their values.
const INPUTS_FEW: u64 = 128;

/// Greatest number of values of all inputs, in all contexts, where there are more inputs.
const VALUES_MAX: u64 = 1 << 20;

/// The same of parts of a formula, which are worked out for each row.
const PARTS_FEW: u64 = 1 << 12;
const PARTS_MAX: u64 = 1 << 24;

/// A metric that is computed from others, such as a share or a mean. It is computed of what each
/// row comes to, and is never summed up itself.
#[derive(Debug, Clone)]
pub struct Derived {
    /// Metric that is computed.
    pub metric: Metric,
    /// Inputs from which it is computed.
    pub inputs: Vec<Input>,
    /// Formula that computes it.
    pub formula: Arc<dyn Formula>,
}

/// Input from which a metric is computed: a statistic over threads of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Input {
    /// Of what.
    pub column: Column,
    /// Statistic that is used.
    pub statistic: Statistic,
}

/// Side of a metric that is computed. The formula for a place in the tree may differ from that for
/// a row that stands for many places.
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

/// Formula that computes a metric.
pub trait Formula: fmt::Debug + Send + Sync {
    /// Computes the value from the value of each input; `None` where an input has nothing.
    fn evaluate(&self, side: Side, inputs: &[Option<f64>]) -> Option<f64>;

    /// Returns the number of its parts, about.
    fn size(&self) -> usize {
        1
    }
}

impl Derived {
    /// Returns the value of one side; NaN where it has no value.
    pub(super) fn value(&self, side: Side, inputs: &[Option<f64>]) -> f64 {
        self.formula.evaluate(side, inputs).unwrap_or(f64::NAN)
    }

    /// Refuses what is computed from so much that it could take very long, or very much memory.
    pub(super) fn require_few(&self, view: &dyn ProfileView) -> Result<()> {
        let (contexts, name) = (view.contexts_max(), &self.metric.name);
        let is_much = |count: usize, few: u64, most: u64| {
            count as u64 > few && (count as u64).saturating_mul(contexts) > most
        };
        let (inputs, parts) = (self.inputs.len(), self.formula.size());
        if is_much(inputs, INPUTS_FEW, VALUES_MAX) {
            let why = format!("{name} is computed from {inputs} others: that is too much");
            return Err(Error::Request(why));
        }
        if is_much(parts, PARTS_FEW, PARTS_MAX) {
            let why = format!("{name} is computed by {parts} parts of a formula: that is too much");
            return Err(Error::Request(why));
        }
        Ok(())
    }

    /// Returns the value for all entry points together; NaN where it has no value.
    pub(super) fn total(&self, view: &dyn ProfileView, threads: Option<&ThreadSet>) -> Result<f64> {
        let mut totals = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            let total = input.total(view, threads)?;
            totals.push(Some(total).filter(|total| *total != 0.0));
        }
        Ok(self.value(Side::Inclusive, &totals))
    }
}

impl Input {
    /// Returns true if it counts all that was called.
    pub(super) fn is_inclusive(self) -> bool {
        self.column.reach == MetricScope::Execution
    }

    /// Returns the value for all entry points together: that of the context that stands for them.
    /// Where there is none, threads have the values of their entry points.
    fn total(self, view: &dyn ProfileView, threads: Option<&ThreadSet>) -> Result<f64> {
        let mut total = [0.0];
        if let Some(whole) = view.whole_context() {
            view.statistics(self.statistic, &whole, &[self.column], threads, &mut total)?;
        }
        let [mut total] = total;
        if total == 0.0 && self.is_inclusive() {
            let spent = per_thread(&self.question(view, threads), SpentScope::All)?;
            for spent in spent.into_iter().filter(|spent| *spent != 0.0) {
                self.statistic.combine(&mut total, self.statistic.apply(spent));
            }
        }
        Ok(total)
    }

    /// Returns the value that each thread spent. Values exclusive of calls are only known of what
    /// stands for all.
    fn per_thread(
        self,
        view: &dyn ProfileView,
        threads: Option<&ThreadSet>,
        within: SpentScope<'_>,
    ) -> Result<Vec<f64>> {
        if self.is_inclusive() {
            return per_thread(&self.question(view, threads), within);
        }
        let mut spent = vec![0.0; view.thread_count()];
        let whole = if matches!(within, SpentScope::All) { view.whole_context() } else { None };
        for found in
            whole.map(|whole| view.context_values(&whole)).transpose()?.into_iter().flatten()
        {
            let ThreadValue { thread, column, value } = found?;
            let is_meant = threads.is_none_or(|threads| threads.contains(thread));
            let index = usize::try_from(thread.0).unwrap_or(usize::MAX);
            let to = spent.get_mut(index).filter(|_| is_meant && column == self.column);
            if let Some(to) = to {
                *to += value;
            }
        }
        Ok(spent)
    }

    /// The question for it.
    pub(super) fn question<'a>(
        self,
        view: &'a dyn ProfileView,
        threads: Option<&'a ThreadSet>,
    ) -> MetricQuery<'a> {
        MetricQuery { view, metric: self.column.metric, threads }
    }

    /// Returns the way in which it is read.
    pub(super) fn reading<'a>(self, question: &'a MetricQuery<'a>) -> ContextReader<'a> {
        let exclusive = if self.is_inclusive() { MetricScope::Function } else { self.column.reach };
        let (statistic, measured) = (self.statistic, MeasuredScopes::BOTH);
        ContextReader { question, statistic, exclusive, is_without_loops: false, measured }
    }

    /// Returns the way in which it is read of places in the tree. The value of a loop without the
    /// loops within it is worked out where it can be. Of single threads it is not kept.
    pub(super) fn context_values<'a>(self, question: &'a MetricQuery<'a>) -> ContextReader<'a> {
        let reading = self.reading(question);
        let is_lexical =
            self.column.reach == MetricScope::Lexical && self.statistic == Statistic::Sum;
        if is_lexical && question.has_scope(MetricScope::Function) {
            return ContextReader {
                exclusive: MetricScope::Function,
                is_without_loops: true,
                ..reading
            };
        }
        reading
    }
}

/// A flat profile of a metric that is computed: of what each row comes to. What has no value is no
/// number.
///
/// # Errors
/// When the profile cannot be read, or the metric is computed from too much.
pub fn flat_derived(
    view: &dyn ProfileView,
    derived: &Derived,
    threads: Option<&ThreadSet>,
    by: FlatGrouping,
    most: TopRows,
) -> Result<FlatProfile> {
    derived.require_few(view)?;
    // A row of each input, what all of them come to, and the row of the result in a list that grows.
    let row_bytes = ROW_BYTES * 2 + derived.inputs.len() * size_of::<f64>();
    let flat = most.select_rows(view, row_bytes, |labels| {
        derived_values(view, derived, threads, by, labels)
    })?;
    // What is computed is no part of a whole.
    Ok(FlatProfile { odd: None, ..flat })
}

/// Computes the total of the metric, and its value for each label that has one.
fn derived_values<'v>(
    view: &'v dyn ProfileView,
    derived: &Derived,
    threads: Option<&ThreadSet>,
    by: FlatGrouping,
    labels: &mut Labels<'v>,
) -> Result<FlatSums> {
    let mut inputs = Inputs::new(derived.inputs.len());
    // At once, since what grows takes more while it does.
    inputs.reserve(labels.expected());
    for (index, input) in derived.inputs.iter().enumerate() {
        let question = input.question(view, threads);
        for (label, spent) in flat_statistic(&input.reading(&question), by, labels)?.rows {
            let value = if input.is_inclusive() { spent.inclusive } else { spent.exclusive };
            inputs.put(label.0, index, value);
        }
    }
    let mut rows = Vec::new();
    for (label, inputs) in (0..).map(Label).zip(inputs.rows()) {
        let inclusive = derived.value(Side::Inclusive, &inputs);
        let exclusive = derived.value(Side::Exclusive, &inputs);
        let has_value = !(inclusive.is_nan() && exclusive.is_nan());
        let is_some = has_value && inputs.iter().any(Option::is_some);
        rows.extend(is_some.then_some((label, Spent { inclusive, exclusive })));
    }
    let (total, own) = (derived.total(view, threads)?, f64::NAN);
    let (measured, outgrown) = <_>::default();
    Ok(FlatSums { total, own, measured, outgrown, rows })
}

/// Values of each input in each row, one row behind another; 0 where there is none.
pub(super) struct Inputs {
    count: usize,
    values: Vec<f64>,
}

impl Inputs {
    pub(super) fn new(count: usize) -> Self {
        Self { count: count.max(1), values: Vec::new() }
    }

    /// Makes room for so many rows.
    fn reserve(&mut self, rows: usize) {
        self.values.reserve_exact(rows.saturating_mul(self.count));
    }

    pub(super) fn put(&mut self, row: usize, input: usize, value: f64) {
        let place = row * self.count + input;
        if self.values.len() <= place {
            self.values.resize((row + 1) * self.count, 0.0);
        }
        if let Some(to) = self.values.get_mut(place) {
            *to = value;
        }
    }

    /// The inputs of each row. What is 0 is not there.
    pub(super) fn rows(&self) -> impl Iterator<Item = Vec<Option<f64>>> {
        let there = |value: &f64| Some(*value).filter(|value| *value != 0.0);
        self.values.chunks(self.count).map(move |row| row.iter().map(there).collect())
    }
}

/// Computes the value of a computed metric for each thread, in all or in one place. It is NaN where
/// there is no value. A thread that has nothing of all that it is computed from has 0 of each.
///
/// # Errors
/// When the profile cannot be read, or the metric is computed from too much.
pub fn per_thread_derived(
    view: &dyn ProfileView,
    derived: &Derived,
    threads: Option<&ThreadSet>,
    within: SpentScope<'_>,
) -> Result<Vec<f64>> {
    derived.require_few(view)?;
    let mut inputs = Inputs::new(derived.inputs.len());
    let count = view.thread_count();
    for (index, input) in derived.inputs.iter().enumerate() {
        for (thread, spent) in input.per_thread(view, threads, within)?.into_iter().enumerate() {
            let value = if spent == 0.0 { 0.0 } else { input.statistic.apply(spent) };
            inputs.put(thread, index, value);
        }
    }
    let nothing = vec![Some(0.0); derived.inputs.len()];
    let value = |inputs: Vec<Option<f64>>| {
        let is_nothing = inputs.iter().all(Option::is_none);
        derived.value(Side::Inclusive, if is_nothing { &nothing } else { &inputs })
    };
    let mut values: Vec<_> = inputs.rows().map(value).collect();
    values.resize(count, f64::NAN);
    Ok(values)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Detail, FlatRow, MetricId, bottom_up_derived, fixture, top_down_derived};
    use super::*;

    const ALL: TopRows = TopRows { number: None, is_inclusive: false };

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
        let inputs = [MetricScope::Execution, MetricScope::Function].into_iter();
        let inputs = inputs.flat_map(|reach| {
            [Statistic::Sum, Statistic::Count].map(|statistic| input(reach, statistic))
        });
        let (inputs, formula) = (inputs.collect(), Arc::new(Quotient));
        Derived { metric: Metric::named("mean"), inputs, formula }
    }

    #[test]
    fn it_is_computed_of_what_rows_come_to_and_not_summed_up() {
        let tree = fixture::tree();
        let mut found = flat_derived(&tree, &mean(), None, FlatGrouping::Function, ALL).unwrap();
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

    /// One thread spent 1 in one entry point and 2 in another: it has 3, and a mean of that, in every
    /// report.
    #[test]
    fn a_thread_of_several_entry_points_counts_once_in_all() {
        let tree = fixture::entries();
        let of_rows =
            flat_derived(&tree, &mean(), None, FlatGrouping::Function, ALL).unwrap().total;
        let of_paths = top_down_derived(&tree, &mean(), None, Detail::Functions, 9).unwrap().total;
        let of_callers = bottom_up_derived(&tree, &mean(), None, None, 9, 0.0).unwrap().total;
        let totals = [of_rows, of_paths, of_callers].map(|total| total.to_string());
        assert_eq!(totals, ["3", "3", "3"]);
        assert_eq!(per_thread_derived(&tree, &mean(), None, SpentScope::All).unwrap(), [3.0]);
    }

    #[test]
    fn what_is_computed_from_too_much_is_refused_by_its_name() {
        let tree = fixture::chain(10_000);
        let mean = mean();
        let inputs = mean.inputs.iter().copied().cycle().take(129).collect();
        let much = Derived { inputs, ..mean };
        let error =
            flat_derived(&tree, &much, None, FlatGrouping::Function, ALL).unwrap_err().to_string();
        assert_eq!(error, "mean is computed from 129 others: that is too much");
        assert!(top_down_derived(&tree, &much, None, Detail::Lines, 9).is_err());
        assert!(bottom_up_derived(&tree, &much, None, None, 9, 0.0).is_err());
        assert!(per_thread_derived(&tree, &much, None, SpentScope::All).is_err());
        // Of few contexts it may be more.
        assert!(flat_derived(&fixture::tree(), &much, None, FlatGrouping::Function, ALL).is_ok());
    }

    #[test]
    fn each_thread_has_its_own() {
        let tree = fixture::tree();
        assert_eq!(per_thread_derived(&tree, &mean(), None, SpentScope::All).unwrap(), [14.0, 1.0]);
        let absent = super::super::NamePattern::new("absent").unwrap();
        let found =
            per_thread_derived(&tree, &mean(), None, SpentScope::Function(&absent)).unwrap();
        assert!(found.iter().all(|value| value.is_nan()));
    }

    #[test]
    fn the_least_and_the_most_of_contexts_are_the_least_and_the_most() {
        let tree = fixture::tree();
        for (statistic, expected) in [(Statistic::Min, 1.0), (Statistic::Max, 14.0)] {
            let column = Column { metric: MetricId(0), reach: MetricScope::Execution };
            let input = Input { column, statistic };
            let question = input.question(&tree, None);
            let mut labels = Labels::for_view(&tree);
            let FlatSums { total, .. } =
                flat_statistic(&input.reading(&question), FlatGrouping::Function, &mut labels)
                    .unwrap();
            assert!((total - expected).abs() < 1e-12, "{statistic:?} {total}");
        }
    }
}
