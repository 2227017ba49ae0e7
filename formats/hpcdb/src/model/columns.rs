//! From metrics of the database to columns of core's profile, and back.

use std::collections::{HashMap, HashSet};

use kymo_model::profile::{Column, Metric, MetricId, MetricScope, Statistic};

use crate::spec::combine_name;
use crate::types;

/// Ids of the database for a column.
#[derive(Debug)]
pub(super) struct Columns {
    metrics: Vec<Metric>,
    /// The ids of each metric, by its number: looked at for every context.
    ids: Vec<Ids>,
    by_id: HashMap<u64, Column>,
    /// Column and statistic of values of the summary, by the ids that they have there.
    summed: HashMap<u64, (Column, Statistic)>,
}

/// The ids of a metric, by reach, and by reach and statistic.
#[derive(Debug, Clone, Copy, Default)]
struct Ids {
    instances: [Option<u16>; 4],
    statistics: [[Option<u16>; 5]; 4],
}

impl Columns {
    pub(super) fn new(found: &[types::Metric]) -> Self {
        let (by_id, summed) = <_>::default();
        let mut columns = Self { metrics: Vec::new(), ids: Vec::new(), by_id, summed };
        for (found, metric) in found.iter().zip((0..).map(MetricId)) {
            columns.add(found, metric);
        }
        columns.rename_duplicates();
        columns
    }

    fn add(&mut self, found: &types::Metric, metric: MetricId) {
        let mut reaches = Vec::new();
        let mut ids = Ids::default();
        for instance in &found.instances {
            let Some(reach) = scope_of(&instance.scope) else { continue };
            reaches.push(reach);
            if let Some(slot) = ids.instances.get_mut(scope_rank(reach)) {
                *slot = Some(instance.prop_metric_id);
            }
            self.by_id.insert(instance.prop_metric_id.into(), Column { metric, reach });
        }
        for statistic in &found.statistics {
            let kind = statistic_of(&statistic.formula, combine_name(statistic.combine));
            let Some((kind, reach)) = kind.zip(scope_of(&statistic.scope)) else { continue };
            let meant = (Column { metric, reach }, kind);
            self.summed.insert(statistic.stat_metric_id.into(), meant);
            let slots = ids.statistics.get_mut(scope_rank(reach));
            if let Some(slot) = slots.and_then(|slots| slots.get_mut(place_of(kind))) {
                *slot = Some(statistic.stat_metric_id);
            }
        }
        self.ids.push(ids);
        self.metrics.push(Metric { reaches, ..Metric::named(found.name.clone()) });
    }

    /// Gives metrics of one name names that tell them apart, by their order.
    fn rename_duplicates(&mut self) {
        let mut known: HashSet<_> = self.metrics.iter().map(|metric| metric.name.clone()).collect();
        let mut count: HashMap<String, usize> = HashMap::new();
        for metric in &mut self.metrics {
            let number = count.entry(metric.name.clone()).or_default();
            *number += 1;
            if *number > 1 {
                let mut name = format!("{} #{number}", metric.name);
                while !known.insert(name.clone()) {
                    name.push('\'');
                }
                metric.name = name;
            }
        }
    }

    pub(super) fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    pub(super) fn metrics_mut(&mut self) -> &mut [Metric] {
        &mut self.metrics
    }

    fn ids(&self, metric: MetricId) -> Option<&Ids> {
        self.ids.get(usize::try_from(metric.0).ok()?)
    }

    /// Returns the id by which values of threads name a column.
    pub(super) fn id(&self, column: Column) -> Option<u16> {
        *self.ids(column.metric)?.instances.get(scope_rank(column.reach))?
    }

    /// The metrics that are measured exclusive of calls alone.
    pub(super) fn without_inclusive(&self) -> Vec<MetricId> {
        let metrics = (0..).map(MetricId).zip(&self.metrics);
        let without = metrics.filter(|(_, metric)| {
            !metric.reaches.contains(&MetricScope::Execution)
                && metric.reaches.contains(&MetricScope::Function)
        });
        without.map(|(id, _)| id).collect()
    }

    /// Returns true if the summary has the sum of every metric that is inclusive of calls.
    pub(super) fn has_sums(&self) -> bool {
        let mut metrics = (0..).map(MetricId).zip(&self.ids);
        metrics.all(|(metric, _)| {
            let column = Column { metric, reach: MetricScope::Execution };
            self.id(column).is_none() || self.statistic(column, Statistic::Sum).is_some()
        })
    }

    /// Returns the id by which values of the summary name a statistic of a column.
    pub(super) fn statistic(&self, column: Column, statistic: Statistic) -> Option<u16> {
        let statistics = self.ids(column.metric)?.statistics.get(scope_rank(column.reach))?;
        *statistics.get(place_of(statistic))?
    }

    /// The column and the statistic of a value of the summary.
    pub(super) fn summed(&self, id: u64) -> Option<(Column, Statistic)> {
        self.summed.get(&id).copied()
    }

    /// The column of a value of a thread.
    pub(super) fn column(&self, id: u64) -> Option<Column> {
        self.by_id.get(&id).copied()
    }
}

/// The place of a reach in the order that ids go by where a metric has all of them.
pub(crate) fn scope_rank(reach: MetricScope) -> usize {
    match reach {
        MetricScope::Point => 0,
        MetricScope::Function => 1,
        MetricScope::Lexical => 2,
        MetricScope::Execution => 3,
    }
}

fn place_of(statistic: Statistic) -> usize {
    match statistic {
        Statistic::Sum => 0,
        Statistic::Count => 1,
        Statistic::Squares => 2,
        Statistic::Min => 3,
        Statistic::Max => 4,
    }
}

/// A statistic by what is done to each thread's value and how that is combined; nothing for one
/// we do not know.
pub(crate) fn statistic_of(formula: &str, combine: &str) -> Option<Statistic> {
    Some(match (formula, combine) {
        ("$$", "sum") => Statistic::Sum,
        ("1", "sum") => Statistic::Count,
        ("($$^2)", "sum") => Statistic::Squares,
        ("$$", "min") => Statistic::Min,
        ("$$", "max") => Statistic::Max,
        _ => return None,
    })
}

/// Returns the scope of values for a propagation scope; `None` for one that we do not know.
pub(crate) fn scope_of(scope: &str) -> Option<MetricScope> {
    Some(match scope {
        "point" => MetricScope::Point,
        "function" => MetricScope::Function,
        "lex_aware" => MetricScope::Lexical,
        "execution" => MetricScope::Execution,
        _ => return None,
    })
}
