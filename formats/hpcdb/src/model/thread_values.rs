//! Statistics over some threads where no `cct.db` has values by context: each profile is read once,
//! and not once for each context.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use kymo_core::bytes::ReadResult;
use kymo_core::{NumberFile, Result};
use kymo_model::profile::{
    Column, Context, MetricId, MetricScope, Statistic, ThreadId, ThreadSet, inclusive_by_context,
};

use super::Profiles;
use crate::read::{Meta, ProfileDb, first};
use crate::rows;
use crate::transpose::numbers_max;
use crate::types::Profile;

/// Threads, or contexts, that are so few are looked up one by one.
const FEW: usize = 2;

/// Number of values that are held at once: 4 MiB of them.
const VALUES_HELD: u64 = 1 << 19;

/// Values of threads, by context.
pub(super) struct ThreadValues {
    asked: ValueRequest,
    /// Contexts with lower numbers are in it.
    end: u64,
    values: ContextValues,
}

/// Values by the number of their context, as many for each as columns are asked for.
enum ContextValues {
    Memory(Vec<f64>),
    /// Of more contexts than are held at once.
    File(NumberFile),
}

impl ThreadValues {
    /// The values of a context; nothing where its number is too high.
    fn get(&self, ctx_id: u32, to: &mut [f64]) -> Option<Result<()>> {
        if u64::from(ctx_id) >= self.end {
            return None;
        }
        let place = u64::from(ctx_id).saturating_mul(to.len() as u64);
        let values = match &self.values {
            ContextValues::File(file) => return Some(file.get(place, to)),
            ContextValues::Memory(values) => values,
        };
        let from = usize::try_from(place).unwrap_or(usize::MAX);
        if let Some(values) = values.get(from..from.saturating_add(to.len())) {
            to.copy_from_slice(values);
        }
        Some(Ok(()))
    }
}

/// Of what, and of whom.
#[derive(Debug, Clone, PartialEq)]
struct ValueRequest {
    statistic: Statistic,
    columns: Vec<Column>,
    threads: Option<ThreadSet>,
}

impl Profiles {
    /// The threads that are meant.
    pub(super) fn selected_threads(&self, threads: Option<&ThreadSet>) -> Vec<ThreadId> {
        match threads {
            Some(threads) => threads.iter().collect(),
            None => (0..).map(ThreadId).take(self.threads_max()).collect(),
        }
    }

    /// A statistic of the values of a context, from the profile of each thread; 0 where there is
    /// none.
    pub(super) fn statistic_by_profile(
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
            if let Some(done) = gathered.get(ctx_id, to) {
                return done;
            }
        }
        for thread in self.selected_threads(threads) {
            let (file, profile) = self.profile(thread)?;
            let ids = columns.iter().map(|column| self.columns.id(*column));
            let found = file.each_found(&profile, ctx_id, ids, |place, value| {
                if let Some(to) = to.get_mut(place) {
                    statistic.combine(to, statistic.apply(value));
                }
            });
            file.part.with_file(found)?;
        }
        Ok(())
    }

    /// Takes a value into account, if it is of one of the columns.
    fn combine(
        &self,
        statistic: Statistic,
        columns: &[Column],
        id: u64,
        value: f64,
        to: &mut [f64],
    ) {
        let Some(column) = self.columns.column(id) else { return };
        let wanted = columns.iter().zip(to).filter(|(wanted, _)| **wanted == column);
        wanted.for_each(|(_, to)| statistic.combine(to, statistic.apply(value)));
    }

    /// Returns the values that were asked for last, or reads them now.
    fn gathered(
        &self,
        statistic: Statistic,
        columns: &[Column],
        threads: Option<&ThreadSet>,
    ) -> Result<Arc<ThreadValues>> {
        let mut last = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |gathered: &&Arc<ThreadValues>| {
            let asked = &gathered.asked;
            asked.statistic == statistic
                && asked.columns == columns
                && asked.threads.as_ref() == threads
        };
        if let Some(gathered) = last.as_ref().filter(is_it) {
            return Ok(Arc::clone(gathered));
        }
        let asked =
            ValueRequest { statistic, columns: columns.to_vec(), threads: threads.cloned() };
        let gathered = Arc::new(self.gather(asked)?);
        *last = Some(Arc::clone(&gathered));
        Ok(gathered)
    }

    /// Reads what threads have, of as many contexts at a time as are held at once.
    fn gather(&self, asked: ValueRequest) -> Result<ThreadValues> {
        // A number that is higher than there can be is looked up by itself.
        let end = numbers_max(self.database.meta.as_ref().map_or(0, Meta::contexts_max));
        let count = (VALUES_HELD / asked.columns.len().max(1) as u64).max(1);
        let (mut values, mut file, mut next) = (Vec::new(), None, Some(0));
        while let Some(start) = next {
            values.clear();
            next = self.gather_from(&asked, start, start.saturating_add(count), &mut values)?;
            next = next.filter(|next| *next < end);
            if start == 0 && next.is_none() {
                return Ok(ThreadValues { asked, end, values: ContextValues::Memory(values) });
            }
            let file = match &file {
                Some(file) => file,
                None => file.insert(NumberFile::new()?),
            };
            file.put(start.saturating_mul(asked.columns.len() as u64), &values)?;
        }
        let values = file.map_or(ContextValues::Memory(Vec::new()), ContextValues::File);
        Ok(ThreadValues { asked, end, values })
    }

    /// Reads what threads have of some contexts, from one number up to another. Tells the next number
    /// that any of them has.
    fn gather_from(
        &self,
        asked: &ValueRequest,
        start: u64,
        end: u64,
        to: &mut Vec<f64>,
    ) -> Result<Option<u64>> {
        let mut next: Option<u64> = None;
        for thread in self.selected_threads(asked.threads.as_ref()) {
            let (file, profile) = self.profile(thread)?;
            let read = self.gather_thread(asked, file, &profile, start..end, to);
            let after = file.part.with_file(read)?;
            next = next.into_iter().chain(after).min();
        }
        Ok(next)
    }

    fn gather_thread(
        &self,
        ValueRequest { statistic, columns, .. }: &ValueRequest,
        file: &ProfileDb,
        profile: &Profile,
        contexts: Range<u64>,
        to: &mut Vec<f64>,
    ) -> ReadResult<Option<u64>> {
        file.require_order(profile)?;
        let is_there = |entry| Ok(u64::from(file.index(profile, entry)?.0) >= contexts.start);
        for entry in first(profile.n_ctxs, is_there)?..profile.n_ctxs {
            let context = u64::from(file.index(profile, entry)?.0);
            if context >= contexts.end {
                return Ok(Some(context));
            }
            let place = usize::try_from(context - contexts.start).unwrap_or(usize::MAX);
            let from = place.saturating_mul(columns.len());
            let behind = from.saturating_add(columns.len());
            to.resize(to.len().max(behind), 0.0);
            let to = to.get_mut(from..behind).unwrap_or_default();
            for value in file.values(profile, file.range(profile, entry)?)? {
                let (id, value) = value?;
                self.combine(*statistic, columns, id.into(), value, to);
            }
        }
        Ok(None)
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
        let column = Column { metric, reach: MetricScope::Execution };
        let (rest, listed): (Vec<_>, Vec<_>) = contexts.iter().copied().partition(super::is_rest);
        let numbers: HashSet<u64> = listed.iter().map(|context| context.number.0).collect();
        for (thread, to) in self.selected_threads(None).into_iter().zip(&mut *to) {
            let (file, profile) = self.profile(thread)?;
            file.part.with_file(file.require_order(&profile))?;
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
