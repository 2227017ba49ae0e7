//! Rules of `meta.db`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{DatabaseCheck, Listed};
use crate::read::{CONTEXT, Meta};
use crate::rows;
use crate::transpose::numbers_max;
use crate::types::Context;
use crate::walk::TreeWalk;

/// Checks `meta.db`, and tells which contexts it lists; nothing where it is not there.
pub(super) fn check(checking: &mut DatabaseCheck) -> Option<Listed> {
    let database = Arc::clone(&checking.database);
    let meta = database.meta.as_ref()?;
    metrics(checking, meta);
    // Rows that cannot be read are noted by the database.
    rows::modules(&database).for_each(drop);
    rows::files(&database).for_each(drop);
    functions(checking, meta);
    Some(contexts(checking, meta))
}

/// Ids of metrics name one kind of value each.
fn metrics(checking: &mut DatabaseCheck, meta: &Meta) {
    let mut instances = BTreeSet::new();
    let mut statistics = BTreeSet::new();
    for metric in &meta.metrics {
        for instance in &metric.instances {
            if !instances.insert(instance.prop_metric_id) {
                let message = format!("propMetricId {} is there twice", instance.prop_metric_id);
                checking.error(&meta.part, "metric-id", instance.offset, message);
            }
        }
        for statistic in &metric.statistics {
            if !statistics.insert(statistic.stat_metric_id) {
                let message = format!("statMetricId {} is there twice", statistic.stat_metric_id);
                checking.error(&meta.part, "metric-id", statistic.offset, message);
            }
        }
    }
}

/// Functions lead to modules and files.
fn functions(checking: &mut DatabaseCheck, meta: &Meta) {
    let database = Arc::clone(&checking.database);
    for offset in meta.functions.offsets() {
        let Some(function) = database.ok_or_note(&meta.part, meta.function(offset)) else {
            continue;
        };
        if function.module.is_some_and(|module| !meta.modules.is_record_start(module)) {
            let message = "the module of a function is none of the list";
            checking.error(&meta.part, "pointer", offset, message);
        }
        if function.file.is_some_and(|file| !meta.files.is_record_start(file)) {
            let message = "the file of a function is none of the list";
            checking.error(&meta.part, "pointer", offset, message);
        }
    }
}

/// Contexts have numbers of their own, and lead to functions, files and modules.
fn contexts(checking: &mut DatabaseCheck, meta: &Meta) -> Listed {
    let mut listed = Listed::new();
    // What a tree that leads round comes by again is told once.
    let mut told = BTreeSet::new();
    for (context, ..) in TreeWalk::new(Arc::clone(&checking.database)) {
        if told.contains(&context.offset) {
            continue;
        }
        if context.ctx_id == 0 {
            let message = "a context has the number 0, which stands for the whole";
            checking.error(&meta.part, "context-id", context.offset, message);
        } else if !listed.insert(context.ctx_id) {
            let message = format!("context {} is there twice", context.ctx_id);
            checking.error(&meta.part, "context-id", context.offset, message);
            told.insert(context.offset);
        }
        pointers(checking, meta, &context);
    }
    if listed.is_empty() && has_values(checking) {
        let at = meta.part.sections.get(CONTEXT).map_or(0, |section| section.pointer);
        let message = "no context is listed, and there are values of contexts";
        checking.error(&meta.part, "no-contexts", at, message);
    }
    let (count, most) = (listed.len(), numbers_max(listed.len() as u64));
    if let Some(number) = listed.last().filter(|number| u64::from(**number) >= most) {
        let message = format!("of {count} contexts one has the number {number}: that is no number");
        checking.error(&meta.part, "context-id", meta.part.len(), message);
    }
    listed
}

/// Returns true if there is a value of a context.
fn has_values(checking: &DatabaseCheck) -> bool {
    let database = &checking.database;
    let mut all = rows::values(database).chain(rows::context_values(database));
    all.any(|value| value.context != 0)
}

fn pointers(checking: &mut DatabaseCheck, meta: &Meta, context: &Context) {
    let wrong = [
        ("function", context.function.is_some_and(|at| !meta.functions.is_record_start(at))),
        ("file", context.source.is_some_and(|(at, _)| !meta.files.is_record_start(at))),
        ("file of the call", context.call.is_some_and(|(at, _)| !meta.files.is_record_start(at))),
        ("module", context.point.is_some_and(|(at, _)| !meta.modules.is_record_start(at))),
    ];
    for (what, is_wrong) in wrong {
        if is_wrong {
            let number = context.ctx_id;
            let message = format!("the {what} of context {number} is none of the list");
            checking.error(&meta.part, "pointer", context.offset, message);
        }
    }
}
