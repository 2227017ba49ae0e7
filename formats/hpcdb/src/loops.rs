//! Loops within loops: the summary's `lex_aware` of a loop leaves out those within it, where threads
//! have what the loop comes to as a whole.

use std::collections::HashMap;
use std::sync::Arc;

use kymo_model::profile::MetricScope;

use crate::model::scope_of;
use crate::read::Database;
use crate::spec::LEXICAL_LOOP;
use crate::types::Metric;
use crate::walk::TreeWalk;

/// Each loop, with the loops that stand right within it.
#[derive(Debug, Default)]
pub(crate) struct Loops(HashMap<u32, Vec<u32>>);

impl Loops {
    pub(crate) fn new(database: &Arc<Database>) -> Self {
        let scopes = database.meta.iter().flat_map(|meta| &meta.scopes);
        let mut function =
            scopes.filter(|scope| scope_of(&scope.name) == Some(MetricScope::Function));
        let bit = function.next().map_or(0, |scope| u32::from(scope.propagation_index));
        let mut loops = Self::default();
        // The loop that a context is, or that its time counts for.
        let mut around: HashMap<u32, u32> = HashMap::new();
        for (context, parent, _) in TreeWalk::new(Arc::clone(database)) {
            let flows = context.propagation.checked_shr(bit).is_some_and(|bits| bits & 1 == 1);
            let outer = parent.filter(|_| flows).and_then(|parent| around.get(&parent).copied());
            let number = context.ctx_id;
            if context.entry.is_none() && context.lexical_type == LEXICAL_LOOP {
                loops.0.entry(number).or_default();
                if let Some(outer) = outer {
                    loops.0.entry(outer).or_default().push(number);
                }
                around.insert(number, number);
            } else if let Some(outer) = outer {
                around.insert(number, outer);
            }
        }
        loops
    }

    /// The loops right within a loop; nothing where the context is none.
    pub(crate) fn inner_loops(&self, context: u32) -> Option<&[u32]> {
        self.0.get(&context).map(Vec::as_slice)
    }
}

/// The ids of a metric's `lex_aware` values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LexAware {
    /// Of threads.
    pub(crate) instance: u16,
    /// Of the summary.
    pub(crate) statistic: u16,
    /// Of what threads have as `function`.
    pub(crate) function: u16,
}

impl LexAware {
    /// Of each metric that has such sums.
    pub(crate) fn from_database(database: &Database) -> Vec<Self> {
        let metrics = database.meta.iter().flat_map(|meta| &meta.metrics);
        metrics.filter_map(Self::from_metric).collect()
    }

    fn from_metric(metric: &Metric) -> Option<Self> {
        let sum = metric.sums().into_iter().find(|sum| !sum.equals_thread_sum())?;
        let mut instances = metric.instances.iter();
        let function =
            instances.find(|item| scope_of(&item.scope) == Some(MetricScope::Function))?;
        let (instance, statistic) = (sum.instance, sum.statistic);
        Some(Self { instance, statistic, function: function.prop_metric_id })
    }
}
