//! Sums that have to agree: the summary with the threads, and each context with what is below it.

use std::collections::HashMap;
use std::sync::Arc;

use kymo_core::model::profile::{Reach, Statistic};

use super::Checking;
use crate::model::{reach_of, statistic_of};
use crate::read::{Database, ProfileDb};
use crate::rows::{self, ValueRow};
use crate::spec::combine_name;
use crate::transpose::{Gathering, Turned};
use crate::types::Profile;
use crate::walk::TreeWalk;

/// How far sums may differ: threads and contexts are added up in any order.
const ROUNDING: f64 = 1e-6;

/// Checks sums.
pub(super) fn check(checking: &mut Checking) {
    let database = Arc::clone(&checking.database);
    let Some(file) = &database.profile else { return };
    // What cannot be read, or is out of order, is found elsewhere.
    let Ok(summary) = file.profile(0) else { return };
    let summary = summary.filter(|summary| summary.is_summary);
    if let Some(summary) = &summary
        && file.require_order(summary).is_ok()
    {
        let _ = over_threads(checking, file, summary);
    }
    tree(checking, file);
}

/// Which kinds of values are what: a metric, by its place, and how far it reaches.
#[derive(Default)]
struct Kinds {
    instances: HashMap<u64, (usize, Reach)>,
    /// Sums over threads, by the ids of the summary.
    sums: HashMap<u64, (usize, Reach)>,
    /// The id of a sum over threads, by the id of a thread's value.
    sum_of: HashMap<u64, u64>,
    /// The other way round.
    instance_of: HashMap<u64, u64>,
}

impl Kinds {
    fn new(database: &Database) -> Self {
        let mut kinds = Self::default();
        for (place, metric) in database.meta.iter().flat_map(|meta| &meta.metrics).enumerate() {
            let mut ids = HashMap::new();
            for of in &metric.instances {
                let Some(reach) = reach_of(&of.scope) else { continue };
                kinds.instances.insert(of.prop_metric_id.into(), (place, reach));
                ids.insert(reach, u64::from(of.prop_metric_id));
            }
            for of in &metric.statistics {
                let kind = statistic_of(&of.formula, combine_name(of.combine));
                let Some(reach) = reach_of(&of.scope).filter(|_| kind == Some(Statistic::Sum))
                else {
                    continue;
                };
                let id = u64::from(of.stat_metric_id);
                kinds.sums.insert(id, (place, reach));
                // Of loops the summary has another lex_aware value than threads have.
                if let Some(of) = ids.get(&reach).filter(|_| reach != Reach::Lexical) {
                    kinds.sum_of.insert(*of, id);
                    kinds.instance_of.insert(id, *of);
                }
            }
        }
        kinds
    }
}

fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() <= ROUNDING * one.abs().max(other.abs())
}

/// Sums of the summary are what the threads come to, and none is missing.
fn over_threads(
    checking: &mut Checking,
    file: &ProfileDb,
    summary: &Profile,
) -> kymo_core::bytes::ReadResult<()> {
    let database = Arc::clone(&checking.database);
    let kinds = Kinds::new(&database);
    let mut gathering = Gathering::new(file)?;
    let mut rows = rows::values_of(Arc::clone(&database), 0, *summary).peekable();
    while let Some((contexts, values)) = gathering.next()? {
        while let Some(row) = rows.next_if(|row| row.context < contexts.end) {
            alone(checking, file, &kinds, &values, &row);
        }
        let is_run = |a: &Turned, b: &Turned| (a.context, a.metric) == (b.context, b.metric);
        for run in values.chunk_by(is_run) {
            let Some(Turned { context, metric, .. }) = run.first().copied() else { continue };
            let Some(id) = kinds.sum_of.get(&metric.into()) else { continue };
            let sum: f64 = run.iter().map(|value| value.value).fold(0.0, |sum, value| sum + value);
            let told = file.found(summary, context, *id)?;
            if told.is_none_or(|(_, told)| !is_same(told, sum)) && sum != 0.0 {
                let value = told.map_or("nothing".to_owned(), |(_, told)| told.to_string());
                let message = format!(
                    "context {context} has {value} in the summary, and threads come to {sum}"
                );
                let at = told.map_or(summary.offset, |(at, _)| at);
                checking.warning(&file.part, "summary-sum", at, message);
            }
        }
    }
    for row in rows {
        alone(checking, file, &kinds, &[], &row);
    }
    Ok(())
}

/// Says that a sum is there which no thread has a part of.
fn alone(
    checking: &mut Checking,
    file: &ProfileDb,
    kinds: &Kinds,
    values: &[Turned],
    row: &ValueRow,
) {
    let Some(id) = kinds.instance_of.get(&row.metric) else { return };
    let key = |value: &Turned| (u64::from(value.context), u64::from(value.metric));
    let is_there = values.binary_search_by_key(&(row.context, *id), key).is_ok();
    if !is_there && row.value != 0.0 {
        let message = format!(
            "context {} has {} in the summary, and threads come to nothing",
            row.context, row.value
        );
        checking.warning(&file.part, "summary-sum", row.offset, message);
    }
}

/// What a context is to the one above it.
struct Below {
    parent: u32,
    /// Whether what was spent in it counts for the function above as well.
    flows: bool,
}

/// Contexts that are listed have at least what those below them have: of `execution` all of them,
/// of `function` those that lie within it. They may have more, since instructions of a line are not
/// listed. Context 0 has what the entry points come to.
fn tree(checking: &mut Checking, file: &ProfileDb) {
    let database = Arc::clone(&checking.database);
    let Some(meta) = &database.meta else { return };
    let function = meta.scopes.iter().find(|scope| reach_of(&scope.name) == Some(Reach::Function));
    let bit = function.map_or(0, |scope| u32::from(scope.propagation_index));
    let above: HashMap<u32, Below> = TreeWalk::new(Arc::clone(&database))
        .map(|(context, parent, _)| {
            let flows = context.propagation.checked_shr(bit).unwrap_or(0) & 1 == 1;
            (context.ctx_id, Below { parent: parent.unwrap_or(0), flows })
        })
        .collect();
    let kinds = Kinds::new(&database);
    let mut room = rows::Room::of_values(file);
    for index in 0..file.profiles.count {
        let Ok(Some(profile)) = file.profile(index) else { continue };
        if !room.take(&database, &file.part, profile.offset, profile.n_values)
            || file.require_order(&profile).is_err()
        {
            continue;
        }
        let of = if profile.is_summary { &kinds.sums } else { &kinds.instances };
        let below = below(&database, &profile, &above, of);
        compare(checking, file, &profile, of, below);
    }
}

/// What the contexts below each come to, by context and id.
fn below(
    database: &Arc<Database>,
    profile: &Profile,
    above: &HashMap<u32, Below>,
    kinds: &HashMap<u64, (usize, Reach)>,
) -> HashMap<(u32, u64), f64> {
    let mut sums = HashMap::new();
    for row in rows::values_of(Arc::clone(database), profile.index, *profile) {
        let number = u32::try_from(row.context).unwrap_or(0);
        let Some(to) = above.get(&number) else { continue };
        let counts = match kinds.get(&row.metric) {
            Some((_, Reach::Execution)) => true,
            Some((_, Reach::Function)) => to.flows && to.parent != 0,
            _ => false,
        };
        if counts {
            *sums.entry((to.parent, row.metric)).or_default() += row.value;
        }
    }
    sums
}

/// Compares contexts with what is below them; the first value of each that is wrong is told.
fn compare(
    checking: &mut Checking,
    file: &ProfileDb,
    profile: &Profile,
    kinds: &HashMap<u64, (usize, Reach)>,
    below: HashMap<(u32, u64), f64>,
) {
    let mut wrong: Vec<_> = below
        .into_iter()
        .filter_map(|((context, id), below)| {
            let own = file.found(profile, context, id).ok()?.map(|(_, own)| own);
            let own = if context == 0 { own? } else { own.unwrap_or(0.0) };
            // What can be less than nothing can be anything.
            let is_less = below > own && own >= 0.0 && !is_same(below, own);
            let is_other = context == 0 && !is_same(below, own);
            (is_less || is_other).then_some((context, id, own, below))
        })
        .collect();
    wrong.sort_by_key(|(context, id, ..)| (*context, *id));
    wrong.dedup_by_key(|(context, ..)| *context);
    for (context, id, own, below) in wrong {
        let reach = kinds.get(&id).map_or("", |(_, reach)| reach.name());
        let of = if profile.is_summary {
            "the summary".to_owned()
        } else {
            format!("profile {}", profile.index)
        };
        let message =
            format!("context {context} has {own} in {of}, {reach}, and those below it {below}");
        checking.warning(&file.part, "tree-sum", profile.offset, message);
    }
}
