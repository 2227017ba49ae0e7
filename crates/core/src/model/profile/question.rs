//! What is asked of a profile, and what a context has to say to it.

use super::{Column, Context, MetricId, ProfileView, Reach, Scope, Statistic, ThreadSet};
use crate::Result;

/// Which values of a profile a report is about.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// Of what.
    pub view: &'a dyn ProfileView,
    /// What was measured.
    pub metric: MetricId,
    /// Only these threads; nothing means all.
    pub threads: Option<&'a ThreadSet>,
}

/// What a context spent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Spent {
    pub(super) inclusive: f64,
    pub(super) exclusive: f64,
}

/// What is read of each context for a report: a statistic over threads of the values in question.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) question: &'a Question<'a>,
    pub(super) statistic: Statistic,
    /// What counts as what a context spent itself.
    pub(super) exclusive: Reach,
    /// The same of a loop.
    pub(super) exclusive_of_loops: Reach,
}

impl<'a> Reading<'a> {
    /// Sums, and what functions spent themselves.
    pub(super) fn sums(question: &'a Question<'a>) -> Self {
        let exclusive = Reach::Function;
        Self { question, statistic: Statistic::Sum, exclusive, exclusive_of_loops: exclusive }
    }

    /// Sums, and what places of the tree spent themselves: of a loop, without the loops within it,
    /// where the profile tells that apart.
    pub(super) fn places(question: &'a Question<'a>) -> Self {
        let is_told = question.has(Reach::Lexical);
        let exclusive_of_loops = if is_told { Reach::Lexical } else { Reach::Function };
        Self { exclusive_of_loops, ..Self::sums(question) }
    }

    pub(super) fn view(&self) -> &'a dyn ProfileView {
        self.question.view
    }

    pub(super) fn spent(&self, context: &Context) -> Result<Spent> {
        let Question { view, metric, threads } = *self.question;
        let is_loop = context.scope == Scope::Loop;
        let exclusive = if is_loop { self.exclusive_of_loops } else { self.exclusive };
        let columns = [Reach::Execution, exclusive].map(|reach| Column { metric, reach });
        let mut sums = [0.0; 2];
        view.statistics(self.statistic, context, &columns, threads, &mut sums)?;
        let [inclusive, exclusive] = sums;
        Ok(Spent { inclusive, exclusive })
    }

    /// Takes what another context spent into account.
    pub(super) fn combine(&self, to: &mut f64, value: f64) {
        self.statistic.combine(to, value);
    }
}

impl Question<'_> {
    /// Whether the metric has values that reach so far.
    pub(super) fn has(&self, reach: Reach) -> bool {
        let metrics = self.view.metrics();
        let metric = usize::try_from(self.metric.0).ok().and_then(|index| metrics.get(index));
        metric.is_some_and(|metric| metric.reaches.contains(&reach))
    }

    /// What all entry points together spent.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn total(&self) -> Result<f64> {
        let mut roots = Vec::new();
        self.view.roots(&mut roots)?;
        let mut total = 0.0;
        for root in roots {
            total += Reading::sums(self).spent(&self.view.context(root)?)?.inclusive;
        }
        Ok(total)
    }
}
