//! Statistics over some threads where no `cct.db` has values by context: each profile is read once,
//! and not once for each context.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};

use kymo_core::Result;
use kymo_core::model::profile::{
    Column, Context, MetricId, Reach, Statistic, ThreadId, ThreadSet, inclusive_by_context,
};

use super::Profiles;
use crate::rows;

/// Threads, or contexts, that are so few are looked up one by one.
const FEW: usize = 2;

/// What threads have, by context.
pub(super) struct Gathered {
    asked: Asked,
    values: HashMap<u32, Box<[f64]>>,
}

/// Of what, and of whom.
#[derive(Debug, Clone, PartialEq)]
struct Asked {
    statistic: Statistic,
    columns: Vec<Column>,
    threads: Option<ThreadSet>,
}

impl Profiles {
    /// The threads that are meant.
    pub(super) fn meant(&self, threads: Option<&ThreadSet>) -> Vec<ThreadId> {
        match threads {
            Some(threads) => threads.iter().collect(),
            None => (0..).map(ThreadId).take(self.threads_max()).collect(),
        }
    }

    /// A statistic of the values of a context, from the profile of each thread; 0 where there is
    /// none.
    pub(super) fn of_each(
        &self,
        statistic: Statistic,
        ctx_id: u32,
        columns: &[Column],
        threads: Option<&ThreadSet>,
        to: &mut [f64],
    ) -> Result<()> {
        to.fill(0.0);
        if threads.map_or_else(|| self.threads_max(), ThreadSet::len) > FEW {
            let gathered = self.gathered(statistic, columns, threads)?;
            if let Some(values) = gathered.values.get(&ctx_id) {
                to.copy_from_slice(values);
            }
            return Ok(());
        }
        for thread in self.meant(threads) {
            let (file, profile) = self.profile(thread)?;
            let ids = columns.iter().map(|column| self.columns.id(*column));
            let found = file.each_found(&profile, ctx_id, ids, |place, value| {
                if let Some(to) = to.get_mut(place) {
                    statistic.combine(to, statistic.of(value));
                }
            });
            file.part.told(found)?;
        }
        Ok(())
    }

    /// Takes a value into account, if it is of one of the columns.
    fn combine(&self, of: Statistic, columns: &[Column], id: u64, value: f64, to: &mut [f64]) {
        let Some(column) = self.columns.column(id) else { return };
        let wanted = columns.iter().zip(to).filter(|(wanted, _)| **wanted == column);
        wanted.for_each(|(_, to)| of.combine(to, of.of(value)));
    }

    /// What was asked for last, or what is read for it now.
    fn gathered(
        &self,
        statistic: Statistic,
        columns: &[Column],
        threads: Option<&ThreadSet>,
    ) -> Result<Arc<Gathered>> {
        let mut last = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |gathered: &&Arc<Gathered>| {
            let asked = &gathered.asked;
            asked.statistic == statistic
                && asked.columns == columns
                && asked.threads.as_ref() == threads
        };
        if let Some(gathered) = last.as_ref().filter(is_it) {
            return Ok(Arc::clone(gathered));
        }
        let asked = Asked { statistic, columns: columns.to_vec(), threads: threads.cloned() };
        let mut values: HashMap<u32, Box<[f64]>> = HashMap::new();
        for thread in self.meant(threads) {
            let (file, profile) = self.profile(thread)?;
            file.part.told(file.require_order(&profile))?;
            let index = self.profile_index(thread);
            for row in rows::values_of(Arc::clone(&self.database), index, profile) {
                let is_asked = |column| columns.contains(&column);
                if self.columns.column(row.metric).is_some_and(is_asked) {
                    let context = u32::try_from(row.context).unwrap_or(u32::MAX);
                    let to =
                        values.entry(context).or_insert_with(|| vec![0.0; columns.len()].into());
                    self.combine(statistic, columns, row.metric, row.value, to);
                }
            }
        }
        let gathered = Arc::new(Gathered { asked, values });
        *last = Some(Arc::clone(&gathered));
        Ok(gathered)
    }

    /// Adds to what each thread spent in some contexts, from the profile of each.
    pub(super) fn inclusive_by_thread(
        &self,
        metric: MetricId,
        contexts: &[Context],
        to: &mut [f64],
    ) -> Result<()> {
        if contexts.len() <= FEW {
            return inclusive_by_context(self, metric, contexts, to);
        }
        let column = Column { metric, reach: Reach::Execution };
        let (rest, listed): (Vec<_>, Vec<_>) = contexts.iter().copied().partition(super::is_rest);
        let numbers: HashSet<u64> = listed.iter().map(|context| context.number.0).collect();
        for (thread, to) in self.meant(None).into_iter().zip(&mut *to) {
            let (file, profile) = self.profile(thread)?;
            file.part.told(file.require_order(&profile))?;
            let index = self.profile_index(thread);
            let rows = rows::values_of(Arc::clone(&self.database), index, profile);
            let wanted = rows.filter(|row| {
                numbers.contains(&row.context) && self.columns.column(row.metric) == Some(column)
            });
            *to += wanted.map(|row| row.value).sum::<f64>();
        }
        inclusive_by_context(self, metric, &rest, to)
    }
}
