//! Rules of `profile.db` and `cct.db`, and between them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{Checking, Listed};
use crate::read::{CctDb, Database, ProfileDb};
use crate::rows::{self, ValueRow};
use crate::spec::COMBINE_SUM;
use crate::types::Profile;

/// How far sums may differ: threads are added up in any order.
const ROUNDING: f64 = 1e-6;

/// Checks values.
pub(super) fn check(checking: &mut Checking, listed: Option<&Listed>) {
    let database = Arc::clone(&checking.database);
    let ids = Ids::new(&database);
    if let Some(file) = &database.profile {
        profiles(checking, file);
        by_profile(checking, file, &ids, listed);
    }
    if let Some(file) = &database.cct {
        by_context(checking, file, &ids);
    }
    if let (Some(profile), Some(cct)) = (&database.profile, &database.cct) {
        transposed(checking, profile, cct);
        summary(checking, profile, cct, &ids);
    }
}

/// The ids that `meta.db` lists; nothing where it is not there.
struct Ids {
    instances: Option<BTreeSet<u64>>,
    statistics: Option<BTreeSet<u64>>,
    /// The id of a thread's value, by the id of its sum over threads.
    sums: HashMap<u64, u16>,
}

impl Ids {
    fn new(database: &Database) -> Self {
        let Some(meta) = &database.meta else {
            return Self { instances: None, statistics: None, sums: HashMap::new() };
        };
        let instances = meta.metrics.iter().flat_map(|metric| &metric.instances);
        let statistics = meta.metrics.iter().flat_map(|metric| &metric.statistics);
        let mut sums = HashMap::new();
        for metric in &meta.metrics {
            for statistic in &metric.statistics {
                // Of loops the summary has another lex_aware value than threads have.
                let is_sum = statistic.combine == COMBINE_SUM
                    && statistic.formula == "$$"
                    && statistic.scope != "lex_aware";
                let of = metric.instances.iter().find(|of| of.scope == statistic.scope);
                if let (true, Some(of)) = (is_sum, of) {
                    sums.insert(statistic.stat_metric_id.into(), of.prop_metric_id);
                }
            }
        }
        Self {
            instances: Some(instances.map(|instance| instance.prop_metric_id.into()).collect()),
            statistics: Some(statistics.map(|statistic| statistic.stat_metric_id.into()).collect()),
            sums,
        }
    }
}

/// The first profile is the summary, and the others have identifiers.
fn profiles(checking: &mut Checking, file: &ProfileDb) {
    let database = Arc::clone(&checking.database);
    let mut left = file.part.len();
    for index in 0..file.profiles.count {
        let Some(Some(profile)) = database.noted(&file.part, file.profile(index)) else { continue };
        if profile.is_summary != (index == 0) {
            let message =
                format!("profile {index} is {} summary", if index == 0 { "no" } else { "a" });
            checking.warning(&file.part, "summary-first", profile.offset, message);
        }
        if !profile.is_summary && profile.id_tuple.is_none() {
            let message = format!("profile {index} has no identifiers");
            checking.warning(&file.part, "id-tuple", profile.offset, message);
        }
        database.noted(&file.part, file.ids(&profile));
        // Each entry of an index takes some of the file, unless they lie on top of each other.
        left = left.saturating_sub(profile.n_ctxs);
        if left > 0 {
            index_of(checking, file, index, &profile);
        }
    }
}

/// An index is in ascending order, begins with the first value and has no empty run.
fn index_of(checking: &mut Checking, file: &ProfileDb, index: u64, profile: &Profile) {
    let database = Arc::clone(&checking.database);
    let mut last: Option<(u32, u64)> = None;
    for entry in 0..profile.n_ctxs {
        let Some(found) = database.noted(&file.part, file.index(profile, entry)) else { return };
        let is_right = match last {
            None => found.1 == 0,
            Some(last) => found.0 > last.0 && found.1 > last.1,
        };
        if !is_right || found.1 >= profile.n_values {
            let message = format!("entry {entry} of the index of profile {index} is out of order");
            checking.error(&file.part, "context-index", profile.ctx_indices, message);
            return;
        }
        last = Some(found);
    }
    if profile.n_ctxs == 0 && profile.n_values > 0 {
        let message = format!("profile {index} has values, and an empty index");
        checking.error(&file.part, "context-index", profile.offset, message);
    }
}

/// Values of a profile are in ascending order, of metrics and contexts that are listed.
fn by_profile(checking: &mut Checking, file: &ProfileDb, ids: &Ids, listed: Option<&Listed>) {
    let database = Arc::clone(&checking.database);
    let mut last: Option<ValueRow> = None;
    let mut unlisted = BTreeSet::new();
    for row in rows::values(&database) {
        let order = |row: &ValueRow| (row.profile, row.context, row.metric);
        if last.as_ref().is_some_and(|last| order(last) >= order(&row)) {
            let message = format!("values of context {} are out of order", row.context);
            checking.error(&file.part, "value-order", row.offset, message);
        }
        last = Some(row);
        let is_summary = row.profile == 0;
        let known = if is_summary { &ids.statistics } else { &ids.instances };
        one_value(checking, file, &row, known.as_ref());
        let number = u32::try_from(row.context).unwrap_or(0);
        if number != 0 && listed.is_some_and(|listed| !listed.contains(&number)) {
            unlisted.insert(number);
        }
    }
    if !unlisted.is_empty() {
        let count = unlisted.len();
        let message = format!(
            "{count} contexts have values and are not listed in meta.db; hpcprof leaves out \
             instructions within a line, and counts them for the line"
        );
        checking.note(&file.part, "unlisted-context", file.profiles.pointer, message);
    }
}

fn one_value(
    checking: &mut Checking,
    file: &ProfileDb,
    row: &ValueRow,
    known: Option<&BTreeSet<u64>>,
) {
    if known.is_some_and(|known| !known.contains(&row.metric)) {
        let message = format!("metric {} is not listed in meta.db", row.metric);
        checking.error(&file.part, "metric-unknown", row.offset, message);
    }
    if row.value == 0.0 {
        let message = "a value is 0, and only others are to be stored";
        checking.warning(&file.part, "zero-value", row.offset, message);
    }
}

/// Values of a context are in ascending order, of metrics and profiles that are listed.
fn by_context(checking: &mut Checking, file: &CctDb, ids: &Ids) {
    let database = Arc::clone(&checking.database);
    let profiles = database.profile.as_ref().map(|file| file.profiles.count);
    let mut last: Option<ValueRow> = None;
    for row in rows::context_values(&database) {
        let order = |row: &ValueRow| (row.context, row.metric, row.profile);
        if last.as_ref().is_some_and(|last| order(last) >= order(&row)) {
            let message = format!("values of context {} are out of order", row.context);
            checking.error(&file.part, "value-order", row.offset, message);
        }
        last = Some(row);
        if ids.instances.as_ref().is_some_and(|known| !known.contains(&row.metric)) {
            let message = format!("metric {} is not listed in meta.db", row.metric);
            checking.error(&file.part, "metric-unknown", row.offset, message);
        }
        if profiles.is_some_and(|profiles| row.profile >= profiles) {
            let message = format!("profile {} is not in profile.db", row.profile);
            checking.error(&file.part, "profile-unknown", row.offset, message);
        }
    }
}

/// `cct.db` has the values of all threads, and no others.
fn transposed(checking: &mut Checking, profile: &ProfileDb, cct: &CctDb) {
    let database = Arc::clone(&checking.database);
    let mut by_context = 0_u64;
    let mut cached: Option<(u64, Profile)> = None;
    for row in rows::context_values(&database) {
        by_context += 1;
        let known = cached.filter(|(index, _)| *index == row.profile).map(|(_, known)| known);
        let found = match known {
            Some(known) => Some(known),
            None => database.noted(&profile.part, profile.profile(row.profile)).flatten(),
        };
        let Some(found) = found else { continue };
        cached = Some((row.profile, found));
        let value = value_of(&database, profile, &found, &row);
        if value.map(f64::to_bits) != Some(row.value.to_bits()) {
            let message = format!(
                "context {}, metric {}, profile {} has {} here, and {} in profile.db",
                row.context,
                row.metric,
                row.profile,
                row.value,
                value.map_or("nothing".to_owned(), |value| value.to_string())
            );
            checking.error(&cct.part, "transpose", row.offset, message);
        }
    }
    let threads = rows::values(&database).filter(|row| row.profile > 0).count() as u64;
    if threads != by_context {
        let message = format!("there are {by_context} values, and {threads} in profile.db");
        checking.error(&cct.part, "transpose", cct.contexts.pointer, message);
    }
}

/// The value of a row in `profile.db`.
fn value_of(
    database: &Database,
    file: &ProfileDb,
    profile: &Profile,
    row: &ValueRow,
) -> Option<f64> {
    let context = u32::try_from(row.context).ok()?;
    let range = database.noted(&file.part, file.find(profile, context))?;
    for index in range {
        let (metric, value) = database.noted(&file.part, file.value(profile, index))?;
        if u64::from(metric) == row.metric {
            return Some(value);
        }
    }
    None
}

/// Sums of the summary are what the threads come to.
fn summary(checking: &mut Checking, profile: &ProfileDb, cct: &CctDb, ids: &Ids) {
    let database = Arc::clone(&checking.database);
    let Some(Some(found)) = database.noted(&profile.part, profile.profile(0)) else { return };
    if !found.is_summary {
        return;
    }
    for row in rows::values_of(Arc::clone(&database), 0, found) {
        let Some(id) = ids.sums.get(&row.metric) else { continue };
        let sum = database.noted(&cct.part, cct.context(row.context)).flatten().and_then(|info| {
            let range = database.noted(&cct.part, cct.find(&info, *id))?;
            let values = range.map(|index| cct.value(&info, index).map(|(_, value)| value));
            database.noted(&cct.part, values.sum::<kymo_core::bytes::ReadResult<f64>>())
        });
        let sum = sum.unwrap_or(0.0);
        if (sum - row.value).abs() > ROUNDING * row.value.abs().max(sum.abs()) {
            let message = format!(
                "context {} has {} in the summary, and threads come to {sum}",
                row.context, row.value
            );
            checking.warning(&profile.part, "summary-sum", row.offset, message);
        }
    }
}
