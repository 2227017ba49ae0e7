//! Values of the summary against the tree: a context has at least what is below it.

use std::collections::HashMap;
use std::sync::Arc;

use kymo_core::model::profile::{Reach, Statistic};

use super::Checking;
use crate::model::{reach_of, statistic_of};
use crate::read::{Database, ProfileDb};
use crate::rows::TreeWalk;
use crate::spec::{RELATION_LEXICAL, combine_name};
use crate::types::Profile;

/// How far values may be off: threads and contexts are added up in any order.
const ROUNDING: f64 = 1e-6;

/// What is summed up over a context, by metric and reach.
type Sums = HashMap<(usize, Reach), f64>;

/// A context on the way to where we are.
struct Open {
    number: u32,
    own: Sums,
    below: Sums,
    /// Whether it lies within the one above in the source.
    is_lexical: bool,
}

/// Contexts that are listed have at least what those below them have: of `execution` all of them,
/// of `function` those that lie within it. They may have more, since instructions of a line are not
/// listed.
pub(super) fn check(checking: &mut Checking) {
    let database = Arc::clone(&checking.database);
    let Some(file) = &database.profile else { return };
    let Ok(Some(summary)) = file.profile(0) else { return };
    if !summary.is_summary {
        return;
    }
    let columns = columns(&database);
    let mut open: Vec<Open> = Vec::new();
    for (context, _, depth) in TreeWalk::new(Arc::clone(&database)) {
        let depth = usize::try_from(depth).unwrap_or(usize::MAX);
        while open.len() > depth {
            leave(checking, file, &summary, &mut open);
        }
        let own = sums(&database, file, &summary, context.ctx_id, &columns);
        let is_lexical = context.relation == RELATION_LEXICAL;
        open.push(Open { number: context.ctx_id, own, below: Sums::new(), is_lexical });
    }
    while !open.is_empty() {
        leave(checking, file, &summary, &mut open);
    }
}

/// Which sum of the summary is what: a metric, and how far it reaches.
fn columns(database: &Database) -> HashMap<u16, (usize, Reach)> {
    let metrics = database.meta.iter().flat_map(|meta| &meta.metrics).enumerate();
    let mut columns = HashMap::new();
    for (metric, described) in metrics {
        for of in &described.statistics {
            let is_sum =
                statistic_of(&of.formula, combine_name(of.combine)) == Some(Statistic::Sum);
            let reach = reach_of(&of.scope);
            let reach = reach.filter(|of| matches!(of, Reach::Execution | Reach::Function));
            if let (true, Some(reach)) = (is_sum, reach) {
                columns.insert(of.stat_metric_id, (metric, reach));
            }
        }
    }
    columns
}

fn sums(
    database: &Database,
    file: &ProfileDb,
    summary: &Profile,
    number: u32,
    columns: &HashMap<u16, (usize, Reach)>,
) -> Sums {
    let mut sums = Sums::new();
    for index in database.noted(&file.part, file.find(summary, number)).unwrap_or_default() {
        let Some((id, value)) = database.noted(&file.part, file.value(summary, index)) else {
            continue;
        };
        if let Some(column) = columns.get(&id) {
            *sums.entry(*column).or_default() += value;
        }
    }
    sums
}

/// Compares a context with what is below it, and adds it to the one above.
fn leave(checking: &mut Checking, file: &ProfileDb, summary: &Profile, open: &mut Vec<Open>) {
    let Some(Open { number, own, below, is_lexical }) = open.pop() else { return };
    let mut wrong: Vec<_> = below
        .iter()
        .filter(|(column, below)| {
            let own = own.get(column).copied().unwrap_or(0.0);
            // What can be less than nothing can be anything.
            **below > own + ROUNDING * own.abs().max(below.abs()) && own >= 0.0
        })
        .collect();
    wrong.sort_by(|a, b| a.0.cmp(b.0));
    if let Some(((_, reach), below)) = wrong.first() {
        let own = own.get(wrong.first().map_or(&(0, Reach::Execution), |one| one.0));
        let own = own.copied().unwrap_or(0.0);
        let reach = reach.name();
        let message = format!(
            "context {number} has {own} in the summary, {reach}, and those below it {below}"
        );
        checking.warning(&file.part, "tree-sum", summary.offset, message);
    }
    let Some(above) = open.last_mut() else { return };
    for ((metric, reach), value) in own {
        if reach == Reach::Execution || is_lexical {
            *above.below.entry((metric, reach)).or_default() += value;
        }
    }
}
