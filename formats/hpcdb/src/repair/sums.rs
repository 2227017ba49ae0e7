//! The sums of a summary, made of the values that are kept.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use kymo_core::Result;

use super::evidence::Difference;
use super::values::{Value, kept_values, sums_of};
use crate::loops::{LexAware, Loops};
use crate::read::{CctDb, Database};
use crate::rounding::Sum;

/// The sums that a summary should have.
pub(super) struct Sums {
    /// The ids of all sums.
    ids: HashSet<u16>,
    /// By context and id.
    sums: BTreeMap<(u32, u16), Expected>,
}

/// Sums expected from the values of threads.
struct Expected {
    sum: Sum,
    /// Of a loop, without those within it.
    less: Option<Sum>,
}

impl Expected {
    fn matches(&self, told: f64) -> bool {
        self.sum.equals_rounded(told) || self.less.is_some_and(|less| less.is_difference(told))
    }

    fn value(&self) -> f64 {
        match self.less {
            Some(less) if less.is_difference(0.0) => 0.0,
            less => less.unwrap_or(self.sum).value(),
        }
    }
}

impl Sums {
    pub(super) fn new(
        database: &Arc<Database>,
        file: &CctDb,
        found: &[Difference],
    ) -> Result<Self> {
        let mut sums: BTreeMap<(u32, u16), Sum> = BTreeMap::new();
        file.part.with_file(kept_values(file, found, |context, metric, _, value| {
            sums.entry((context, metric)).or_default().add(value);
            Ok(())
        }))??;
        let loops = Loops::new(database);
        let functions: HashMap<_, _> = LexAware::from_database(database)
            .into_iter()
            .map(|lex_aware| (lex_aware.instance, lex_aware.function))
            .collect();
        let sum = |context: u32, metric: u16| sums.get(&(context, metric)).copied();
        let less = |context: u32, metric: u16| {
            let (within, function) = loops.inner_loops(context).zip(functions.get(&metric))?;
            let mut less = sum(context, *function).unwrap_or_default();
            let inner = within.iter().filter_map(|inner| sum(*inner, *function));
            inner.for_each(|inner| less.subtract(&inner));
            Some(less)
        };
        let ids = sums_of(database, |_| true);
        let expected = |(&(context, metric), &sum): (&(u32, u16), &Sum)| {
            let id = *ids.get(&metric)?;
            Some(((context, id), Expected { sum, less: less(context, metric) }))
        };
        Ok(Self {
            sums: sums.iter().filter_map(expected).collect(),
            ids: ids.into_values().collect(),
        })
    }

    /// Takes away a sum that a summary has already, and tells whether it has it right; nothing of
    /// what is no sum.
    pub(super) fn take(&mut self, (context, id, told): Value) -> Option<bool> {
        self.ids.contains(&id).then(|| {
            let is_right = self.sums.get(&(context, id)).is_some_and(|sum| sum.matches(told));
            if is_right {
                self.sums.remove(&(context, id));
            }
            is_right && told != 0.0
        })
    }

    /// The sums that were not taken.
    pub(super) fn remaining(self) -> Vec<Value> {
        let sums = self.sums.into_iter().map(|((context, id), sum)| (context, id, sum.value()));
        sums.filter(|(_, _, sum)| *sum != 0.0).collect()
    }
}
