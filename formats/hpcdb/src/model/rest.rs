//! Values measured outside of all entry points: context 0, which stands for the whole, has more
//! than they come to then. hpcprof puts there what was measured while nothing went on. It is shown
//! as an entry point of its own, so that nothing is left out.

use std::collections::BTreeMap;

use kymo_core::Result;
use kymo_model::profile::{
    Column, Context, ContextId, ContextNumber, Function, FunctionId, Metric, MetricId, MetricScope,
    Relation, Scope, Statistic, ThreadId, ThreadSet, ThreadValue, Values,
};

use super::Profiles;
use super::entries::Spent;
use crate::rounding;

/// Offset at which there is no context.
const REST: u64 = u64::MAX;

/// Name of the rest.
const NO_ACTIVITY: &str = "no activity";

pub(super) const REST_ID: ContextId = ContextId(REST);

/// Returns true if a context stands for what no entry point has.
pub(super) fn is_rest(context: &Context) -> bool {
    context.id == REST_ID
}

/// Returns the name of a function, if it is that of the rest.
pub(super) fn name_of_rest(function: FunctionId) -> Option<Function> {
    let name = || Function { name: NO_ACTIVITY.to_owned(), ..Function::default() };
    (function.0 == REST).then(name)
}

/// The whole, or what is left of it, which has no number: a sample of context 0 is idle.
fn root(id: u64) -> Context {
    Context {
        id: ContextId(id),
        number: if id == REST { ContextNumber::NONE } else { ContextNumber(0) },
        scope: Scope::Entry,
        relation: Relation::Call,
        function: Some(FunctionId(id)),
        source: None,
        point: None,
    }
}

/// Returns the context that stands for all entry points.
pub(super) fn whole_context() -> Context {
    root(0)
}

/// The entry point for what no other has.
pub(super) fn rest_context() -> Context {
    root(REST)
}

/// Returns the rest of the whole when parts are taken off.
pub(super) fn remainder(whole: f64, parts: f64) -> f64 {
    let rest = whole - parts;
    if rest > 0.0 && !rounding::is_same(whole, parts) { rest } else { 0.0 }
}

impl Profiles {
    /// Returns true if something was measured outside of all entry points.
    pub(super) fn has_rest(&self) -> bool {
        *self.has_rest.get_or_init(|| {
            // What cannot be read is said when it is asked for.
            self.spent_in_all(None).is_ok_and(|Spent { whole, parts }| {
                whole.iter().zip(parts).any(|(whole, parts)| remainder(*whole, parts) != 0.0)
            })
        })
    }

    /// Returns the values that some threads spent outside of all entry points. Nothing is below it:
    /// they are what was spent there itself.
    pub(super) fn rest_sums(
        &self,
        columns: &[Column],
        threads: Option<&ThreadSet>,
        to: &mut [f64],
    ) -> Result<()> {
        let columns: Vec<_> = columns
            .iter()
            .map(|column| Column { reach: MetricScope::Execution, ..*column })
            .collect();
        let (mut parts, mut part) = (vec![0.0; columns.len()], vec![0.0; columns.len()]);
        for entry in self.entries()? {
            self.statistics_of(Statistic::Sum, &entry, &columns, threads, &mut part)?;
            parts.iter_mut().zip(&part).for_each(|(sum, part)| *sum += part);
        }
        self.statistics_of(Statistic::Sum, &root(0), &columns, threads, &mut part)?;
        for ((to, whole), parts) in to.iter_mut().zip(part).zip(parts) {
            *to = remainder(whole, parts);
        }
        Ok(())
    }

    /// Returns the values that each thread spent outside of all entry points.
    pub(super) fn rest_values(&self) -> Result<Values<'_, ThreadValue>> {
        let mut spent: BTreeMap<(ThreadId, MetricId), (f64, f64)> = BTreeMap::new();
        for found in self.values_of_context(&root(0))? {
            let ThreadValue { thread, column, value } = found?;
            if column.reach == MetricScope::Execution {
                spent.entry((thread, column.metric)).or_default().0 += value;
            }
        }
        for entry in self.entries()? {
            for found in self.values_of_context(&entry)? {
                let ThreadValue { thread, column, value } = found?;
                let whole = spent.get_mut(&(thread, column.metric));
                if let (MetricScope::Execution, Some((_, parts))) = (column.reach, whole) {
                    *parts += value;
                }
            }
        }
        let values = spent.into_iter().flat_map(|((thread, metric), (whole, parts))| {
            let value = remainder(whole, parts);
            let reaches = if value == 0.0 { Vec::new() } else { self.reaches(metric) };
            let value =
                move |reach| Ok(ThreadValue { thread, column: Column { metric, reach }, value });
            reaches.into_iter().map(value)
        });
        Ok(Box::new(values))
    }

    fn reaches(&self, metric: MetricId) -> Vec<MetricScope> {
        let index = usize::try_from(metric.0).unwrap_or(usize::MAX);
        let metric = self.columns.metrics().get(index);
        metric.map(|Metric { reaches, .. }| reaches.clone()).unwrap_or_default()
    }
}
