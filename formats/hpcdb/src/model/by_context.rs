//! Values of a context: from the summary, from `cct.db`, or from the profile of each thread.

use std::sync::Arc;

use kymo_core::Result;
use kymo_core::bytes::{ReadError, ReadResult};
use kymo_model::profile::{
    Column, Context, MetricId, MetricScope, Statistic, ThreadId, ThreadSet, ThreadValue, Values,
    inclusive_by_context,
};

use super::entries::is_selected;
use super::{Profiles, is_rest};
use crate::read::CctDb;
use crate::rows;
use crate::types::CtxInfo;

impl Profiles {
    /// Returns true if `cct.db` is to be asked for a context. Where it lists too few, that is said,
    /// and `profile.db` is asked.
    pub(super) fn uses_cct(&self, ctx_id: u64) -> Option<&CctDb> {
        let cct = self.database.cct.as_ref()?;
        self.compare_cct();
        let (Some(file), Some(summary)) = (&self.database.profile, &self.summary) else {
            return Some(cct);
        };
        if ctx_id < cct.contexts.count {
            return Some(cct);
        }
        let number = u32::try_from(ctx_id).ok()?;
        if file.find(summary, number).is_ok_and(|values| values.is_empty()) {
            return Some(cct);
        }
        let why = format!(
            "{} are listed, and profile.db has values of context {ctx_id}: they are taken from there",
            cct.contexts.count
        );
        // An empty list may be said to be anywhere.
        let at = cct.contexts.pointer.min(cct.part.len());
        let error = ReadError::invalid("contexts", at, why);
        self.database.ok_or_note::<()>(&cct.part, Err(error));
        None
    }

    /// Says that `cct.db` is that of another database, where it has something else of the entry points
    /// than the summary has.
    pub(super) fn compare_cct(&self) {
        if let (Some(cct), Some(_)) = (&self.database.cct, &self.summary) {
            self.cct_compared.get_or_init(|| self.compare_entries(cct));
        }
    }

    /// The thread of a value in `cct.db`. That there is none is said once for each place.
    pub(super) fn thread_at(&self, file: &CctDb, profile: u64, offset: u64) -> Option<ThreadId> {
        let thread = self.thread_of(profile);
        if thread.is_none() {
            let why = format!("there is no profile {profile}: its value is left out");
            let error = ReadError::invalid("profIndex", offset, why);
            self.database.ok_or_note::<()>(&file.part, Err(error));
        }
        thread
    }

    /// A statistic of the values of a context that has a number, over all threads or some.
    pub(super) fn statistics_of(
        &self,
        statistic: Statistic,
        context: &Context,
        columns: &[Column],
        threads: Option<&ThreadSet>,
        to: &mut [f64],
    ) -> Result<()> {
        if threads.is_none()
            && let Some(done) = self.summary_values(statistic, context, columns, to)
        {
            return done;
        }
        to.fill(0.0);
        let Ok(ctx_id) = u32::try_from(context.number.0) else { return Ok(()) };
        let Some(file) = self.uses_cct(ctx_id.into()) else {
            return self.statistic_by_profile(statistic, ctx_id, columns, threads, to);
        };
        file.part.with_file(self.thread_statistic(file, statistic, ctx_id, columns, threads, to))
    }

    /// Every value of a context that has a number, of each thread.
    pub(super) fn values_of_context(&self, context: &Context) -> Result<Values<'_, ThreadValue>> {
        let Some(file) = self.uses_cct(context.number.0) else {
            return Ok(self.context_values_of_each(context));
        };
        let Some(info) = file.part.with_file(file.context(context.number.0))? else {
            return Ok(Box::new(std::iter::empty()));
        };
        file.part.with_file(file.require_order(&info))?;
        let values = rows::context_values_of(Arc::clone(&self.database), context.number.0, info);
        let values = values.filter_map(move |row| {
            let column = self.columns.column(row.metric)?;
            let thread = self.thread_at(file, row.profile, row.offset)?;
            Some(Ok(ThreadValue { thread, column, value: row.value }))
        });
        Ok(Box::new(values))
    }

    /// A statistic of what threads have, from the values by context.
    fn thread_statistic(
        &self,
        file: &CctDb,
        statistic: Statistic,
        ctx_id: u32,
        columns: &[Column],
        threads: Option<&ThreadSet>,
        to: &mut [f64],
    ) -> ReadResult<()> {
        let Some(context) = file.context(ctx_id.into())? else { return Ok(()) };
        for (column, to) in columns.iter().zip(to) {
            let Some(id) = self.columns.id(*column) else { continue };
            self.each_value(file, &context, id, |thread, value| {
                if is_selected(threads, thread) {
                    statistic.combine(to, statistic.apply(value));
                }
            })?;
        }
        Ok(())
    }

    /// Takes what each thread has of a metric in a context.
    fn each_value(
        &self,
        file: &CctDb,
        context: &CtxInfo,
        id: u16,
        mut take: impl FnMut(ThreadId, f64),
    ) -> ReadResult<()> {
        for index in file.find(context, id)? {
            let (profile, value) = file.value(context, index)?;
            let at = file.value_offset(context, index);
            if let Some(thread) = self.thread_at(file, profile.into(), at) {
                take(thread, value);
            }
        }
        Ok(())
    }

    /// Adds to what each thread spent in some contexts, from the values by context.
    pub(super) fn inclusive_in(
        &self,
        file: &CctDb,
        metric: MetricId,
        contexts: &[Context],
        to: &mut [f64],
    ) -> Result<()> {
        let Some(id) = self.columns.id(Column { metric, reach: MetricScope::Execution }) else {
            return Ok(());
        };
        let mut others = Vec::new();
        for context in contexts {
            let is_listed = !is_rest(context) && self.uses_cct(context.number.0).is_some();
            if !is_listed {
                others.push(*context);
                continue;
            }
            let Some(info) = file.part.with_file(file.context(context.number.0))? else { continue };
            file.part.with_file(self.each_value(file, &info, id, |thread, value| {
                let index = usize::try_from(thread.0).unwrap_or(usize::MAX);
                // Of a thread that is not asked for there is no place.
                if let Some(to) = to.get_mut(index) {
                    *to += value;
                }
            }))?;
        }
        inclusive_by_context(self, metric, &others, to)
    }

    /// The values of a context, looked up in the profile of each thread.
    fn context_values_of_each(&self, context: &Context) -> Values<'_, ThreadValue> {
        let ctx_id = u32::try_from(context.number.0).unwrap_or(u32::MAX);
        let threads = (0..).map(ThreadId).take(self.threads_max());
        let values = threads.flat_map(move |thread| {
            let read = self.profile(thread).and_then(|(file, profile)| {
                let values = file.find(&profile, ctx_id).and_then(|range| {
                    range.map(|index| file.value(&profile, index)).collect::<ReadResult<Vec<_>>>()
                });
                file.part.with_file(values)
            });
            let values = match read {
                Ok(values) => values,
                Err(error) => return vec![Err(error)],
            };
            let value = |(id, value): (u16, f64)| {
                let column = self.columns.column(id.into())?;
                Some(Ok(ThreadValue { thread, column, value }))
            };
            values.into_iter().filter_map(value).collect()
        });
        Box::new(values)
    }
}
