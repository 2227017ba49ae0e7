//! Question about a profile, and the answer of a context to it.

use super::{
    Column, Context, MetricId, MetricScope, ProfileView, Statistic, Step, ThreadSet, Walk,
};
use kymo_core::Result;

/// Values of a profile that a report is about.
#[derive(Clone, Copy)]
pub struct MetricQuery<'a> {
    /// Of what.
    pub view: &'a dyn ProfileView,
    /// Metric that was measured.
    pub metric: MetricId,
    /// Only these threads; nothing means all.
    pub threads: Option<&'a ThreadSet>,
}

/// Values that a context spent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Spent {
    pub(super) inclusive: f64,
    pub(super) exclusive: f64,
}

/// Values that are read of each context for a report: a statistic over threads of the values in
/// question.
#[derive(Clone, Copy)]
pub(super) struct ContextReader<'a> {
    pub(super) question: &'a MetricQuery<'a>,
    pub(super) statistic: Statistic,
    /// Scope of the values that count as spent by the context itself.
    pub(super) exclusive: MetricScope,
    /// True if a loop is without the loops within it.
    pub(super) is_without_loops: bool,
    pub(super) measured: MeasuredScopes,
}

/// Parts of a metric that are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct MeasuredScopes {
    /// Inclusive of calls.
    pub(super) inclusive: bool,
    /// Exclusive of calls.
    pub(super) exclusive: bool,
}

impl MeasuredScopes {
    pub(super) const BOTH: Self = Self { inclusive: true, exclusive: true };

    /// Replaces values that are not measured by NaN.
    pub(super) fn mask_unmeasured(self, Spent { inclusive, exclusive }: Spent) -> Spent {
        let known = |value: f64, is_measured: bool| if is_measured { value } else { f64::NAN };
        Spent {
            inclusive: known(inclusive, self.inclusive),
            exclusive: known(exclusive, self.exclusive),
        }
    }

    /// Returns true if what is measured is a number.
    pub(super) fn is_finite(self, Spent { inclusive, exclusive }: Spent) -> bool {
        let is_finite = |value: f64, is_measured: bool| !is_measured || value.is_finite();
        is_finite(inclusive, self.inclusive) && is_finite(exclusive, self.exclusive)
    }
}

impl<'a> ContextReader<'a> {
    /// Sums, and what functions spent themselves.
    pub(super) fn sums(question: &'a MetricQuery<'a>) -> Self {
        let exclusive = MetricScope::Function;
        Self {
            question,
            statistic: Statistic::Sum,
            exclusive,
            is_without_loops: false,
            measured: MeasuredScopes {
                inclusive: question.has_scope(MetricScope::Execution),
                exclusive: question.has_scope(exclusive),
            },
        }
    }

    /// Sums, and what places of the tree spent themselves: of a loop, without the loops within it.
    /// That is worked out, since of single threads it is not kept.
    pub(super) fn places(question: &'a MetricQuery<'a>) -> Self {
        Self { is_without_loops: true, ..Self::sums(question) }
    }

    pub(super) fn view(&self) -> &'a dyn ProfileView {
        self.question.view
    }

    pub(super) fn spent(&self, context: &Context) -> Result<Spent> {
        let MetricQuery { view, metric, threads } = *self.question;
        let columns =
            [MetricScope::Execution, self.exclusive].map(|reach| Column { metric, reach });
        let mut sums = [0.0; 2];
        view.statistics(self.statistic, context, &columns, threads, &mut sums)?;
        let [inclusive, exclusive] = sums;
        Ok(Spent { inclusive, exclusive })
    }

    /// Takes what another context spent into account.
    pub(super) fn combine(&self, to: &mut f64, value: f64) {
        self.statistic.combine(to, value);
    }

    /// Returns the total that all entry points spent together; where that is not measured, the
    /// value that all that was called spent itself.
    pub(super) fn total(&self, entries: f64, own: f64) -> f64 {
        if self.measured.inclusive { entries } else { own }
    }
}

impl MetricQuery<'_> {
    /// Returns true if the metric has values that reach so far.
    #[must_use]
    pub fn has_scope(&self, reach: MetricScope) -> bool {
        let metrics = self.view.metrics();
        let metric = usize::try_from(self.metric.0).ok().and_then(|index| metrics.get(index));
        metric.is_some_and(|metric| metric.reaches.contains(&reach))
    }

    /// Returns the total that all entry points spent together; where that is not measured, the
    /// value that all that was called spent itself.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn total(&self) -> Result<f64> {
        if !self.has_scope(MetricScope::Execution) {
            let totals = callee_totals(self.view, &[self.metric], self.threads)?;
            return Ok(totals.into_iter().sum());
        }
        let mut roots = Vec::new();
        self.view.roots(&mut roots)?;
        let mut total = 0.0;
        for root in roots {
            total += ContextReader::sums(self).spent(&self.view.context(root)?)?.inclusive;
        }
        Ok(total)
    }
}

/// Computes the value that all that was called spent itself, of each of some metrics.
///
/// # Errors
/// When the profile cannot be read.
pub fn callee_totals(
    view: &dyn ProfileView,
    metrics: &[MetricId],
    threads: Option<&ThreadSet>,
) -> Result<Vec<f64>> {
    let (mut totals, mut sums) = (vec![0.0; metrics.len()], vec![0.0; metrics.len()]);
    if metrics.is_empty() {
        return Ok(totals);
    }
    let reach = MetricScope::Function;
    let columns: Vec<_> = metrics.iter().map(|metric| Column { metric: *metric, reach }).collect();
    for step in Walk::new(view)? {
        let Step::Enter(context, _) = step? else { continue };
        if context.is_frame() {
            view.sums(&context, &columns, threads, &mut sums)?;
            totals.iter_mut().zip(&sums).for_each(|(total, sum)| *total += sum);
        }
    }
    Ok(totals)
}
