//! Sums that have to agree: the summary with the threads, and each context with what is below it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kymo_core::bytes::ReadResult;
use kymo_model::profile::MetricScope;

use super::DatabaseCheck;
use crate::loops::{LexAware, Loops};
use crate::model::scope_of;
use crate::read::{Budget, Database, ProfileDb};
use crate::rounding::{Sum, is_same, shown};
use crate::rows::{self, ValueRow};
use crate::spec::PROFILE_VALUE_BYTES;
use crate::transpose::{TransposedValue, Transposition};
use crate::types::{Profile, SummedScope};
use crate::walk::TreeWalk;

/// Values that are looked up for loops, over all: a file that says it has very many profiles and
/// loops is not to be looked at for ever.
const LOOKUPS_MAX: u64 = 1 << 26;

/// Checks sums.
pub(super) fn check(checking: &mut DatabaseCheck) {
    let database = Arc::clone(&checking.database);
    let Some(file) = &database.profile else { return };
    // What cannot be read, or is out of order, is found elsewhere.
    let Ok(summary) = file.profile(0) else { return };
    let summary = summary.filter(|summary| summary.is_summary);
    if let Some(summary) = &summary
        && file.require_order(summary).is_ok()
    {
        let _ = check_thread_sums(checking, file, summary);
    }
    tree(checking, file);
}

/// Meanings of the kinds of values: a metric, by its place, and its scope.
#[derive(Default)]
struct Kinds {
    instances: HashMap<u64, (usize, MetricScope)>,
    /// Sums over threads, by the ids of the summary.
    sums: HashMap<u64, (usize, MetricScope)>,
    /// The id of a sum over threads, by the id of a thread's value.
    sum_of: HashMap<u64, u64>,
    /// The other way round.
    instance_of: HashMap<u64, u64>,
}

impl Kinds {
    fn new(database: &Database) -> Self {
        let mut kinds = Self::default();
        for (place, metric) in database.meta.iter().flat_map(|meta| &meta.metrics).enumerate() {
            for scope_instance in &metric.instances {
                if let Some(reach) = scope_of(&scope_instance.scope) {
                    kinds.instances.insert(scope_instance.prop_metric_id.into(), (place, reach));
                }
            }
            for this_statistic in metric.statistics.iter().filter(|item| item.is_sum()) {
                if let Some(reach) = scope_of(&this_statistic.scope) {
                    kinds.sums.insert(this_statistic.stat_metric_id.into(), (place, reach));
                }
            }
            for sum in metric.sums().into_iter().filter(SummedScope::equals_thread_sum) {
                kinds.sum_of.insert(sum.instance.into(), sum.statistic.into());
                kinds.instance_of.insert(sum.statistic.into(), sum.instance.into());
            }
        }
        for LexAware { instance, statistic, .. } in LexAware::from_database(database) {
            kinds.sum_of.insert(instance.into(), statistic.into());
            kinds.instance_of.insert(statistic.into(), instance.into());
        }
        kinds
    }
}

/// Sums of the summary are what the threads come to, and none is missing.
fn check_thread_sums(
    checking: &mut DatabaseCheck,
    file: &ProfileDb,
    summary: &Profile,
) -> ReadResult<()> {
    let database = Arc::clone(&checking.database);
    let kinds = Kinds::new(&database);
    let mut within = NestedLoops::new(&database);
    let gathering = Transposition::new(file)?;
    let mut rows = rows::values_of(Arc::clone(&database), 0, *summary).peekable();
    for contexts in gathering.parts() {
        let values = gathering.values(&contexts)?;
        while let Some(row) = rows.next_if(|row| row.context < contexts.end) {
            report_unmatched_sum(checking, file, &kinds, &values, &row);
        }
        let is_run = |a: &TransposedValue, b: &TransposedValue| {
            (a.context, a.metric) == (b.context, b.metric)
        };
        for run in values.chunk_by(is_run) {
            let Some(TransposedValue { context, metric, .. }) = run.first().copied() else {
                continue;
            };
            let Some(id) = kinds.sum_of.get(&metric.into()) else { continue };
            let mut sum = Sum::default();
            for value in run {
                sum.add(value.value);
            }
            let told = file.found(summary, context, *id)?;
            let value = told.map_or(0.0, |(_, told)| told);
            if !sum.equals_rounded(value) && !within.is_less(file, context, metric, value)? {
                let value = told.map_or("nothing".to_owned(), |(_, told)| shown(told));
                let sum = shown(sum.value());
                let message = format!(
                    "context {context} has {value} in the summary, and threads come to {sum}"
                );
                let at = told.map_or(summary.offset, |(at, _)| at);
                checking.warning(&file.part, "summary-sum", at, message);
            }
        }
    }
    for row in rows {
        report_unmatched_sum(checking, file, &kinds, &[], &row);
    }
    if within.lookups > LOOKUPS_MAX {
        let why = "there are very many loops and threads: sums of some loops were not checked";
        checking.note(&file.part, "summary-sum", summary.offset, why);
    }
    Ok(())
}

/// Loops, whose `lex_aware` sums leave out the loops within them.
struct NestedLoops {
    loops: Loops,
    lex_aware: Vec<LexAware>,
    lookups: u64,
}

impl NestedLoops {
    fn new(database: &Arc<Database>) -> Self {
        Self {
            loops: Loops::new(database),
            lex_aware: LexAware::from_database(database),
            lookups: 0,
        }
    }

    /// Returns true if a sum is that of the threads in a loop, less the loops within it. Also
    /// returns true if it may be, where too much was looked up already.
    fn is_less(
        &mut self,
        file: &ProfileDb,
        context: u32,
        metric: u16,
        told: f64,
    ) -> ReadResult<bool> {
        let this_lex_aware = self.lex_aware.iter().find(|item| item.instance == metric);
        let Some((this_lex_aware, within)) = this_lex_aware.zip(self.loops.inner_loops(context))
        else {
            return Ok(false);
        };
        let count = file.profiles.count.saturating_mul(within.len() as u64 + 1);
        self.lookups = self.lookups.saturating_add(count);
        if self.lookups > LOOKUPS_MAX {
            return Ok(true);
        }
        let (mut sum, mut inner) = (Sum::default(), Sum::default());
        for index in 1..file.profiles.count {
            let Some(profile) = file.profile(index)? else { continue };
            let value = |context| file.found(&profile, context, this_lex_aware.function.into());
            sum.add(value(context)?.map_or(0.0, |(_, value)| value));
            for loop_within in within {
                inner.add(value(*loop_within)?.map_or(0.0, |(_, value)| value));
            }
        }
        sum.subtract(&inner);
        Ok(sum.is_difference(told))
    }
}

/// Says that a sum is there which no thread has a part of.
fn report_unmatched_sum(
    checking: &mut DatabaseCheck,
    file: &ProfileDb,
    kinds: &Kinds,
    values: &[TransposedValue],
    row: &ValueRow,
) {
    let Some(id) = kinds.instance_of.get(&row.metric) else { return };
    let key = |value: &TransposedValue| (u64::from(value.context), u64::from(value.metric));
    let is_there = values.binary_search_by_key(&(row.context, *id), key).is_ok();
    if !is_there && row.value != 0.0 {
        let message = format!(
            "context {} has {} in the summary, and threads come to nothing",
            row.context, row.value
        );
        checking.warning(&file.part, "summary-sum", row.offset, message);
    }
}

/// Relation of a context to the one above it.
struct ParentRelation {
    parent: u32,
    /// True if what was spent in it counts for the function above as well.
    flows: bool,
}

/// Fault of a context of a profile.
struct ContextFault {
    context: u32,
    why: String,
}

/// Contexts that are listed have at least what those below them have: of `execution` all of them,
/// of `function` those that lie within it. They may have more, since instructions of a line are not
/// listed. Of one context what reaches further is no less. Context 0 has what the entry points come
/// to, and what was measured outside of all of them; of nothing but `execution`.
fn tree(checking: &mut DatabaseCheck, file: &ProfileDb) {
    let database = Arc::clone(&checking.database);
    let Some(meta) = &database.meta else { return };
    let function =
        meta.scopes.iter().find(|scope| scope_of(&scope.name) == Some(MetricScope::Function));
    let bit = function.map_or(0, |scope| u32::from(scope.propagation_index));
    let above: HashMap<u32, ParentRelation> = TreeWalk::new(Arc::clone(&database))
        .map(|(context, parent, _)| {
            let flows = context.propagation.checked_shr(bit).unwrap_or(0) & 1 == 1;
            (context.ctx_id, ParentRelation { parent: parent.unwrap_or(0), flows })
        })
        .collect();
    let kinds = Kinds::new(&database);
    let has_root = has_root(file);
    let mut budget = Budget::from_part(&file.part);
    for index in 0..file.profiles.count {
        let Ok(Some(profile)) = file.profile(index) else { continue };
        let records = (profile.n_values, PROFILE_VALUE_BYTES);
        if !database.has_room(&file.part, &mut budget, profile.offset, records)
            || file.require_order(&profile).is_err()
        {
            continue;
        }
        let values_by_kind = if profile.is_summary { &kinds.sums } else { &kinds.instances };
        let mut wrong = reaches(&database, &profile, values_by_kind);
        let below = child_sums(&database, &profile, &above, values_by_kind);
        wrong.extend(compare(file, &profile, values_by_kind, below, has_root));
        report_first(checking, file, &profile, wrong);
    }
}

/// Returns true if any profile has values of context 0: then all that have values should.
fn has_root(file: &ProfileDb) -> bool {
    let is_root = |index: u64| {
        let profile = file.profile(index).ok().flatten();
        let profile = profile.filter(|profile| profile.n_ctxs > 0);
        profile.and_then(|profile| file.index(&profile, 0).ok()).is_some_and(|(at, _)| at == 0)
    };
    (0..file.profiles.count).any(is_root)
}

/// Computes the sums of the contexts below each, by context and id.
fn child_sums(
    database: &Arc<Database>,
    profile: &Profile,
    above: &HashMap<u32, ParentRelation>,
    kinds: &HashMap<u64, (usize, MetricScope)>,
) -> HashMap<(u32, u64), f64> {
    let mut sums = HashMap::new();
    for row in rows::values_of(Arc::clone(database), profile.index, *profile) {
        // A number that is none is told of by who looks at values one by one.
        let Ok(number) = u32::try_from(row.context) else { continue };
        let reach = kinds.get(&row.metric).map(|(_, reach)| *reach);
        if number == 0 && reach == Some(MetricScope::Execution) {
            // Also where no entry point has anything.
            sums.entry((0, row.metric)).or_default();
        }
        let Some(to) = above.get(&number) else { continue };
        let counts = match reach {
            Some(MetricScope::Execution) => true,
            Some(MetricScope::Function) => to.flows && to.parent != 0,
            _ => false,
        };
        if counts {
            *sums.entry((to.parent, row.metric)).or_default() += row.value;
        }
    }
    sums
}

/// Compares contexts with what is below them.
fn compare(
    file: &ProfileDb,
    profile: &Profile,
    kinds: &HashMap<u64, (usize, MetricScope)>,
    below: HashMap<(u32, u64), f64>,
    has_root: bool,
) -> Vec<ContextFault> {
    let mut wrong: Vec<_> = below
        .into_iter()
        .filter_map(|((context, id), below)| {
            let own = file.found(profile, context, id).ok()?.map(|(_, own)| own);
            let is_root = context == 0;
            let own = if is_root && !has_root { own? } else { own.unwrap_or(0.0) };
            // What can be less than nothing can be anything.
            let is_less = below > own && (own >= 0.0 || is_root) && !is_same(below, own);
            is_less.then_some((context, id, own, below))
        })
        .collect();
    wrong.sort_by_key(|(context, id, ..)| (*context, *id));
    let wrong = wrong.into_iter().map(|(context, id, own, below)| {
        let reach = kinds.get(&id).map_or("", |(_, reach)| reach.name());
        let what = if context == 0 { "entry points" } else { "those below it" };
        ContextFault { context, why: format!("{own}, {reach}, and {what} {below}") }
    });
    wrong.collect()
}

/// Compares what a context has itself, with its function and with all that it called.
fn reaches(
    database: &Arc<Database>,
    profile: &Profile,
    kinds: &HashMap<u64, (usize, MetricScope)>,
) -> Vec<ContextFault> {
    let mut wrong = Vec::new();
    let rows = || rows::values_of(Arc::clone(database), profile.index, *profile);
    // Where something can be less than nothing, a sum can be less than a part.
    let has_negative = rows().any(|row| row.value < 0.0);
    let known = || rows().filter_map(|row| Some((row, *kinds.get(&row.metric)?)));
    // Metrics list scopes that they need not be shown in, and have no values of then.
    let is_there: HashSet<_> = known().map(|(_, kind)| kind).collect();
    let mut known = known().peekable();
    let mut values: HashMap<(usize, MetricScope), f64> = HashMap::new();
    while let Some((row, kind)) = known.next() {
        values.insert(kind, row.value);
        if known.peek().is_some_and(|(next, _)| next.context == row.context) {
            continue;
        }
        let context = u32::try_from(row.context).unwrap_or(u32::MAX);
        let why = match context {
            0 => beyond_execution(&values),
            _ if has_negative => None,
            _ => less(&values, &is_there),
        };
        wrong.extend(why.map(|why| ContextFault { context, why }));
        values.clear();
    }
    wrong
}

/// A value of context 0 that is not `execution`.
fn beyond_execution(values: &HashMap<(usize, MetricScope), f64>) -> Option<String> {
    let others = values.iter().filter(|((_, reach), _)| *reach != MetricScope::Execution);
    let ((_, reach), value) = others.min_by_key(|(kind, _)| **kind)?;
    let value = shown(*value);
    Some(format!("{value}, {}: the whole has execution values alone", reach.name()))
}

/// A value of a context that is less than one that reaches less far.
fn less(
    values: &HashMap<(usize, MetricScope), f64>,
    is_there: &HashSet<(usize, MetricScope)>,
) -> Option<String> {
    let mut kinds: Vec<_> = values.iter().collect();
    kinds.sort_by_key(|(kind, _)| **kind);
    kinds.into_iter().find_map(|((metric, reach), near)| {
        let next = match reach {
            MetricScope::Point => MetricScope::Function,
            MetricScope::Function => MetricScope::Execution,
            MetricScope::Lexical | MetricScope::Execution => return None,
        };
        is_there.contains(&(*metric, next)).then_some(())?;
        let far = values.get(&(*metric, next)).copied().unwrap_or(0.0);
        let is_less = *near > far && !is_same(*near, far);
        is_less.then(|| format!("{near}, {}, and {far}, {}", reach.name(), next.name()))
    })
}

/// Tells the first thing that is wrong with each context.
fn report_first(
    checking: &mut DatabaseCheck,
    file: &ProfileDb,
    profile: &Profile,
    mut wrong: Vec<ContextFault>,
) {
    wrong.sort_by_key(|wrong| wrong.context);
    wrong.dedup_by_key(|wrong| wrong.context);
    let name = if profile.is_summary {
        "the summary".to_owned()
    } else {
        format!("profile {}", profile.index)
    };
    for ContextFault { context, why } in wrong {
        let message = format!("context {context} has in {name} {why}");
        checking.warning(&file.part, "tree-sum", profile.offset, message);
    }
}
