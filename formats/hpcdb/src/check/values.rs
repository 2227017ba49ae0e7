//! Rules of `profile.db` and `cct.db`, and between them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kymo_core::bytes::ReadResult;

use super::{DatabaseCheck, Listed};
use crate::read::{Budget, CctDb, Database, Part, ProfileDb, index_offset};
use crate::rows::{self, ValueRow};
use crate::spec::{CCT_INDEX_BYTES, PROFILE_INDEX_BYTES};
use crate::transpose::numbers_max;
use crate::types::Profile;

/// Checks values.
pub(super) fn check(checking: &mut DatabaseCheck, listed: Option<&Listed>) {
    let database = Arc::clone(&checking.database);
    let ids = Ids::new(&database);
    if let Some(file) = &database.profile {
        profiles(checking, file);
        check_profile_values(checking, file, &ids, listed);
    }
    if let Some(file) = &database.cct {
        metric_indexes(checking, file);
        check_context_values(checking, file, &ids);
    }
    if let (Some(profile), Some(cct)) = (&database.profile, &database.cct) {
        transposed(checking, profile, cct);
    }
}

/// The ids that `meta.db` lists; nothing where it is not there.
struct Ids {
    instances: Option<BTreeSet<u64>>,
    statistics: Option<BTreeSet<u64>>,
}

impl Ids {
    fn new(database: &Database) -> Self {
        let Some(meta) = &database.meta else { return Self { instances: None, statistics: None } };
        let instances = meta.metrics.iter().flat_map(|metric| &metric.instances);
        let statistics = meta.metrics.iter().flat_map(|metric| &metric.statistics);
        Self {
            instances: Some(instances.map(|instance| instance.prop_metric_id.into()).collect()),
            statistics: Some(statistics.map(|statistic| statistic.stat_metric_id.into()).collect()),
        }
    }
}

/// The first profile is the summary, and the others have identifiers.
fn profiles(checking: &mut DatabaseCheck, file: &ProfileDb) {
    let database = Arc::clone(&checking.database);
    let mut budget = Budget::from_part(&file.part);
    for index in 0..file.profiles.count {
        let Some(Some(profile)) = database.ok_or_note(&file.part, file.profile(index)) else {
            continue;
        };
        if profile.is_summary != (index == 0) {
            let message =
                format!("profile {index} is {} summary", if index == 0 { "no" } else { "a" });
            checking.warning(&file.part, "summary-first", profile.offset, message);
        }
        if !profile.is_summary && profile.id_tuple.is_none() {
            let message = format!("profile {index} has no identifiers");
            checking.warning(&file.part, "id-tuple", profile.offset, message);
        }
        kinds(checking, file, index, &profile);
        // That arrays lie on top of each other is said elsewhere.
        let bytes = profile.n_ctxs.saturating_mul(PROFILE_INDEX_BYTES);
        if budget.spend("context indices", profile.offset, bytes).is_ok() {
            check_index(checking, file, index, &profile);
        }
    }
}

/// Identifiers are of kinds that `meta.db` has names for.
fn kinds(checking: &mut DatabaseCheck, file: &ProfileDb, index: u64, profile: &Profile) {
    let database = Arc::clone(&checking.database);
    let ids = database.ok_or_note(&file.part, file.ids(profile)).unwrap_or_default();
    let Some(meta) = &database.meta else { return };
    if let Some(id) = ids.iter().find(|id| usize::from(id.kind) >= meta.id_names.len()) {
        let message = format!("profile {index} has an identifier of kind {}, unnamed", id.kind);
        checking.warning(&file.part, "id-tuple", profile.offset, message);
    }
}

/// Checks the index of a profile.
fn check_index(checking: &mut DatabaseCheck, file: &ProfileDb, index: u64, profile: &Profile) {
    let entry = |entry| file.index(profile, entry);
    let wrong = wrong_entry(profile.n_ctxs, profile.n_values, entry);
    if let Some(entry) = wrong {
        let message = format!("entry {entry} of the index of profile {index} is out of order");
        let at = index_offset(profile, entry);
        checking.error(&file.part, "context-index", at, message);
    }
    if profile.n_ctxs == 0 && profile.n_values > 0 {
        let message = format!("profile {index} has values, and an empty index");
        checking.error(&file.part, "context-index", profile.offset, message);
    }
}

/// Checks the indexes of contexts.
fn metric_indexes(checking: &mut DatabaseCheck, file: &CctDb) {
    let database = Arc::clone(&checking.database);
    let mut budget = Budget::from_part(&file.part);
    for number in 0..file.contexts.count {
        let Some(Some(context)) = database.ok_or_note(&file.part, file.context(number)) else {
            continue;
        };
        let bytes = context.n_metrics.saturating_mul(CCT_INDEX_BYTES);
        if budget.spend("metric indices", context.offset, bytes).is_err() {
            return;
        }
        let entry = |entry| file.index(&context, entry);
        if let Some(entry) = wrong_entry(context.n_metrics, context.n_values, entry) {
            let message = format!("entry {entry} of the index of context {number} is out of order");
            let at = file.index_offset(&context, entry);
            checking.error(&file.part, "metric-index", at, message);
        }
        if context.n_metrics == 0 && context.n_values > 0 {
            let message = format!("context {number} has values, and an empty index");
            checking.error(&file.part, "metric-index", context.offset, message);
        }
    }
}

/// The first entry that is wrong: an index is in ascending order, begins with the first value and
/// has no empty run.
fn wrong_entry(
    entries: u64,
    values: u64,
    index: impl Fn(u64) -> ReadResult<(u32, u64)>,
) -> Option<u64> {
    let mut last: Option<(u32, u64)> = None;
    (0..entries).find(|entry| {
        let Ok(found) = index(*entry) else { return true };
        let is_next = match last.replace(found) {
            None => found.1 == 0,
            Some(last) => found.0 > last.0 && found.1 > last.1,
        };
        !is_next || found.1 >= values
    })
}

/// Values of a profile are in ascending order, of metrics and contexts that are listed.
fn check_profile_values(
    checking: &mut DatabaseCheck,
    file: &ProfileDb,
    ids: &Ids,
    listed: Option<&Listed>,
) {
    let database = Arc::clone(&checking.database);
    let mut last: Option<ValueRow> = None;
    // Each with where its first value is.
    let mut unlisted = BTreeMap::new();
    for row in rows::values(&database) {
        let order = |row: &ValueRow| (row.profile, row.context, row.metric);
        if last.as_ref().is_some_and(|last| order(last) >= order(&row)) {
            let message = format!("values of context {} are out of order", row.context);
            checking.error(&file.part, "value-order", row.offset, message);
        }
        last = Some(row);
        let is_summary = row.profile == 0;
        let known = if is_summary { &ids.statistics } else { &ids.instances };
        check_value(checking, file, &row, known.as_ref());
        // One beyond what a number can be is listed nowhere.
        let number = u32::try_from(row.context).unwrap_or(u32::MAX);
        if number != 0 && listed.is_some_and(|listed| !listed.contains(&number)) {
            unlisted.entry(number).or_insert(row.offset);
        }
    }
    let contexts = listed.map_or(0, BTreeSet::len) + unlisted.len();
    let most = numbers_max(contexts as u64);
    let beyond = unlisted.last_key_value().filter(|(number, _)| u64::from(**number) >= most);
    if let Some((number, at)) = beyond {
        let message = format!(
            "a value of context {number}, which is not listed in meta.db; of {contexts} contexts \
             none can have such a number"
        );
        checking.error(&file.part, "context-unknown", *at, message);
    } else if let Some(first) = unlisted.values().min() {
        let count = unlisted.len();
        let message = format!(
            "{count} contexts have values and are not listed in meta.db; hpcprof leaves out \
             instructions within a line, and counts them for the line"
        );
        checking.note(&file.part, "unlisted-context", *first, message);
    }
}

fn check_value(
    checking: &mut DatabaseCheck,
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
    finite(checking, &file.part, row);
}

/// A value is a number.
fn finite(checking: &mut DatabaseCheck, part: &Part, row: &ValueRow) {
    if !row.value.is_finite() {
        let message =
            format!("a value of context {} is {}, which is no number", row.context, row.value);
        checking.error(part, "not-a-number", row.offset, message);
    }
}

/// Values of a context are in ascending order, of metrics and profiles that are listed.
fn check_context_values(checking: &mut DatabaseCheck, file: &CctDb, ids: &Ids) {
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
        finite(checking, &file.part, &row);
        if ids.instances.as_ref().is_some_and(|known| !known.contains(&row.metric)) {
            let message = format!("metric {} is not listed in meta.db", row.metric);
            checking.error(&file.part, "metric-unknown", row.offset, message);
        }
        if row.profile == 0 {
            let message = "profile 0 is the summary, and these are values of threads";
            checking.error(&file.part, "profile-unknown", row.offset, message);
        }
        if profiles.is_some_and(|profiles| row.profile >= profiles) {
            let message = format!("profile {} is not in profile.db", row.profile);
            checking.error(&file.part, "profile-unknown", row.offset, message);
        }
    }
}

/// `cct.db` has the values of all threads, and no others.
fn transposed(checking: &mut DatabaseCheck, profile: &ProfileDb, cct: &CctDb) {
    let database = Arc::clone(&checking.database);
    let mut by_context = 0_u64;
    let mut cached: Option<(u64, Profile)> = None;
    for row in rows::context_values(&database) {
        by_context += 1;
        let known = cached.filter(|(index, _)| *index == row.profile).map(|(_, known)| known);
        let found = match known {
            Some(known) => Some(known),
            None => database.ok_or_note(&profile.part, profile.profile(row.profile)).flatten(),
        };
        let Some(found) = found else { continue };
        cached = Some((row.profile, found));
        let context = u32::try_from(row.context).unwrap_or(u32::MAX);
        let value = match profile.found(&found, context, row.metric) {
            Ok(value) => value.map(|(_, value)| value),
            // Its index is out of order, which was said.
            Err(_) => continue,
        };
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
        // An empty list may be said to be anywhere.
        let at = cct.contexts.pointer.min(cct.part.len());
        checking.error(&cct.part, "transpose", at, message);
    }
}
