//! From metrics of the database to columns of core's profile, and back.

use std::collections::HashMap;

use kymo_core::model::profile::{Column, Metric, MetricId, Reach};

use crate::spec::COMBINE_SUM;
use crate::types;

/// Which ids of the database a column has.
#[derive(Debug)]
pub(super) struct Columns {
    metrics: Vec<Metric>,
    ids: HashMap<Column, u16>,
    statistics: HashMap<Column, u16>,
    by_id: HashMap<u64, Column>,
}

impl Columns {
    pub(super) fn new(found: &[types::Metric]) -> Self {
        let mut columns = Self {
            metrics: Vec::new(),
            ids: HashMap::new(),
            statistics: HashMap::new(),
            by_id: HashMap::new(),
        };
        for (found, metric) in found.iter().zip((0..).map(MetricId)) {
            columns.add(found, metric);
        }
        columns
    }

    fn add(&mut self, found: &types::Metric, metric: MetricId) {
        let mut reaches = Vec::new();
        for instance in &found.instances {
            let Some(reach) = reach_of(&instance.scope) else { continue };
            let column = Column { metric, reach };
            reaches.push(reach);
            self.ids.insert(column, instance.prop_metric_id);
            self.by_id.insert(instance.prop_metric_id.into(), column);
        }
        for statistic in &found.statistics {
            let is_sum = statistic.combine == COMBINE_SUM && statistic.formula == "$$";
            if let (true, Some(reach)) = (is_sum, reach_of(&statistic.scope)) {
                self.statistics.insert(Column { metric, reach }, statistic.stat_metric_id);
            }
        }
        self.metrics.push(Metric { reaches, ..Metric::named(found.name.clone()) });
    }

    pub(super) fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    pub(super) fn metrics_mut(&mut self) -> &mut [Metric] {
        &mut self.metrics
    }

    /// What values of threads name a column by.
    pub(super) fn id(&self, column: Column) -> Option<u16> {
        self.ids.get(&column).copied()
    }

    /// What sums of the summary name a column by.
    pub(super) fn statistic(&self, column: Column) -> Option<u16> {
        self.statistics.get(&column).copied()
    }

    /// The column of a value of a thread.
    pub(super) fn column(&self, id: u64) -> Option<Column> {
        self.by_id.get(&id).copied()
    }
}

/// How far a propagation scope reaches; nothing for one we do not know.
fn reach_of(scope: &str) -> Option<Reach> {
    Some(match scope {
        "point" => Reach::Point,
        "function" => Reach::Function,
        "lex_aware" => Reach::Lexical,
        "execution" => Reach::Execution,
        _ => return None,
    })
}
