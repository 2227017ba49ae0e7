//! Values of entry points for every metric: each value is read once, whatever metrics there are.

use std::collections::{BTreeMap, HashSet};

use kymo_core::Result;
use kymo_core::bytes::{ReadError, ReadResult};
use kymo_model::profile::{
    Context, ContextId, MetricId, MetricScope, ProfileView, Statistic, ThreadId, ThreadSet,
};

use super::Profiles;
use crate::read::CctDb;
use crate::{rounding, rows};

/// Contexts that are so few are looked up one by one in the profile of each thread.
const FEW: usize = 16;

/// Receiver of values: the number of a context, a metric, and its value with all that it called.
type Take<'a> = dyn FnMut(u32, MetricId, f64) + 'a;

/// Values that were spent, by metric.
pub(super) struct Spent {
    /// In context 0, which stands for all.
    pub(super) whole: Vec<f64>,
    /// In all entry points.
    pub(super) parts: Vec<f64>,
}

impl Profiles {
    /// The entry points. One with the number of another has the values of that: it is left out.
    pub(super) fn entries(&self) -> Result<Vec<Context>> {
        let mut offsets = Vec::new();
        let listed = self.read_meta(|meta| meta.root_offsets(&mut offsets));
        self.salvaged(listed, || ())?;
        let (mut entries, mut known) = (Vec::with_capacity(offsets.len()), HashSet::new());
        for id in offsets.into_iter().map(ContextId) {
            if !self.is_readable(id)? {
                continue;
            }
            let entry = self.context(id)?;
            if known.insert(entry.number) {
                entries.push(entry);
            } else {
                let why = "another entry point has this number: it is left out";
                let error = ReadError::invalid("ctxId", id.0, why);
                self.database.ok_or_note::<()>(&self.meta()?.part, Err(error));
            }
        }
        Ok(entries)
    }

    /// Returns the totals that all entry points spent together, of each metric, with what no entry
    /// point has.
    pub(super) fn entry_totals(&self, threads: Option<&ThreadSet>) -> Result<Vec<f64>> {
        let Spent { whole, mut parts } = self.spent_in_all(threads)?;
        if self.has_rest() {
            for (part, whole) in parts.iter_mut().zip(whole) {
                *part += super::rest::remainder(whole, *part);
            }
        }
        Ok(parts)
    }

    /// Returns the values spent in all and in the entry points.
    pub(super) fn spent_in_all(&self, threads: Option<&ThreadSet>) -> Result<Spent> {
        let count = self.columns.metrics().len();
        let mut spent = Spent { whole: vec![0.0; count], parts: vec![0.0; count] };
        let mut contexts = numbers(&self.entries()?);
        let has_whole = contexts.contains(&0);
        contexts.extend((!has_whole).then_some(0));
        self.each_inclusive(&contexts, threads, &mut |context, metric, value| {
            let index = usize::try_from(metric.0).unwrap_or(usize::MAX);
            let add = |to: &mut Vec<f64>| {
                if let Some(to) = to.get_mut(index) {
                    *to += value;
                }
            };
            if context == 0 {
                add(&mut spent.whole);
            }
            if context != 0 || has_whole {
                add(&mut spent.parts);
            }
        })?;
        Ok(spent)
    }

    /// Takes what some contexts have of every metric, of all threads or of some.
    fn each_inclusive(
        &self,
        contexts: &[u32],
        threads: Option<&ThreadSet>,
        take: &mut Take<'_>,
    ) -> Result<()> {
        if threads.is_none()
            && let Some(done) = self.add_stored(contexts, take)
        {
            return done;
        }
        let mut others = Vec::new();
        for context in contexts {
            match self.uses_cct((*context).into()) {
                Some(file) => {
                    file.part.with_file(self.add_by_context(file, *context, threads, take))?;
                }
                None => others.push(*context),
            }
        }
        if others.is_empty() { Ok(()) } else { self.add_by_thread(&others, threads, take) }
    }

    /// Takes what the summary has; nothing where it lacks the sum of a metric.
    fn add_stored(&self, contexts: &[u32], take: &mut Take<'_>) -> Option<Result<()>> {
        let (file, summary) = self.columns.has_sums().then(|| self.ordered_summary())??;
        let mut read = || {
            for context in contexts {
                for value in file.values(summary, file.find(summary, *context)?)? {
                    let (id, value) = value?;
                    let pair = self.columns.summed(id.into());
                    if let Some((column, Statistic::Sum)) = pair
                        && column.reach == MetricScope::Execution
                    {
                        take(*context, column.metric, value);
                    }
                }
            }
            Ok(())
        };
        Some(file.part.with_file(read()))
    }

    /// Takes what threads have, from the values by context.
    fn add_by_context(
        &self,
        file: &CctDb,
        ctx_id: u32,
        threads: Option<&ThreadSet>,
        take: &mut Take<'_>,
    ) -> ReadResult<()> {
        let Some(context) = file.context(ctx_id.into())? else { return Ok(()) };
        file.require_order(&context)?;
        for entry in 0..context.n_metrics {
            let (id, _) = file.index(&context, entry)?;
            let column = self.columns.column(id.into());
            let Some(column) =
                column.filter(|this_column| this_column.reach == MetricScope::Execution)
            else {
                continue;
            };
            for index in file.range(&context, entry)? {
                let (profile, value) = file.value(&context, index)?;
                let at = file.value_offset(&context, index);
                let thread = self.thread_at(file, profile.into(), at);
                if thread.is_some_and(|thread| is_selected(threads, thread)) {
                    take(ctx_id, column.metric, value);
                }
            }
        }
        Ok(())
    }

    /// Takes what threads have, from the profile of each.
    fn add_by_thread(
        &self,
        contexts: &[u32],
        threads: Option<&ThreadSet>,
        take: &mut Take<'_>,
    ) -> Result<()> {
        let wanted: HashSet<u32> = contexts.iter().copied().collect();
        let mut take = |context: u32, id: u16, value: f64| {
            let column = self.columns.column(id.into());
            if let Some(column) =
                column.filter(|this_column| this_column.reach == MetricScope::Execution)
            {
                take(context, column.metric, value);
            }
        };
        for thread in self.selected_threads(threads) {
            let (file, profile) = self.profile(thread)?;
            file.part.with_file(file.require_order(&profile))?;
            if contexts.len() <= FEW {
                for context in contexts {
                    let range = file.part.with_file(file.find(&profile, *context))?;
                    for value in file.part.with_file(file.values(&profile, range))? {
                        let (id, value) = file.part.with_file(value)?;
                        take(*context, id, value);
                    }
                }
                continue;
            }
            let index = self.profile_index(thread);
            for row in rows::values_of(std::sync::Arc::clone(&self.database), index, profile) {
                let context = u32::try_from(row.context).unwrap_or(u32::MAX);
                if wanted.contains(&context) {
                    take(context, u16::try_from(row.metric).unwrap_or(u16::MAX), row.value);
                }
            }
        }
        Ok(())
    }

    /// Says where `cct.db` has something else of the entry points than the summary has: then it may
    /// be that of another database.
    pub(super) fn compare_entries(&self, cct: &CctDb) {
        for context in numbers(&self.entries().unwrap_or_default()) {
            let mut spent: BTreeMap<MetricId, (f64, f64)> = BTreeMap::new();
            let told = self.add_stored(&[context], &mut |_, metric, value| {
                spent.entry(metric).or_default().0 += value;
            });
            let added = self.add_by_context(cct, context, None, &mut |_, metric, value| {
                spent.entry(metric).or_default().1 += value;
            });
            // What cannot be read is said when it is asked for.
            if !matches!((told, added), (Some(Ok(())), Ok(()))) {
                continue;
            }
            let differs = |(told, found): &&(f64, f64)| !rounding::is_same(*told, *found);
            if let Some((told, found)) = spent.values().find(differs) {
                let (told, found) = (rounding::shown(*told), rounding::shown(*found));
                let why = format!(
                    "threads come to {found} in context {context}, and the summary of profile.db \
                     has {told}: do the files belong together?"
                );
                self.database.note_sum(&cct.part, "summary-sum", 0, why);
            }
        }
    }
}

/// The numbers that contexts have in the files.
fn numbers(contexts: &[Context]) -> Vec<u32> {
    contexts.iter().filter_map(|context| u32::try_from(context.number.0).ok()).collect()
}

/// Returns true if a thread is meant.
pub(super) fn is_selected(threads: Option<&ThreadSet>, thread: ThreadId) -> bool {
    threads.is_none_or(|threads| threads.contains(thread))
}
