//! Rules of `trace.db`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{DatabaseCheck, Listed};
use crate::read::TraceDb;
use crate::rows::{self, SampleRow};
use crate::spec::NO_FIRST_MOMENT;

/// Checks traces.
pub(super) fn check(checking: &mut DatabaseCheck, listed: Option<&Listed>) {
    let database = Arc::clone(&checking.database);
    let Some(file) = &database.trace else { return };
    traces(checking, file);
    let range = samples(checking, file, listed);
    moments(checking, file, range);
}

/// Traces are of profiles that are there, one each.
fn traces(checking: &mut DatabaseCheck, file: &TraceDb) {
    let database = Arc::clone(&checking.database);
    let profiles = database.profile.as_ref().map(|file| file.profiles.count);
    let mut seen = BTreeSet::new();
    for row in rows::traces(&database) {
        if profiles.is_some_and(|profiles| row.profile >= profiles) {
            let message = format!("profile {} is not in profile.db", row.profile);
            checking.error(&file.part, "profile-unknown", row.offset, message);
        }
        if row.profile == 0 {
            let message = "the summary has a trace, and only threads can have one";
            checking.error(&file.part, "trace-profile", row.offset, message);
        }
        if row.rest > 0 {
            let message = format!("{} bytes behind the last sample are none", row.rest);
            checking.error(&file.part, "trace-size", row.offset, message);
        }
        if !seen.insert(row.profile) {
            let message = format!("profile {} has two traces", row.profile);
            checking.error(&file.part, "trace-twice", row.offset, message);
        }
    }
}

/// The moments of the header hold all samples; hpcprof takes them before it leaves out some.
fn moments(checking: &mut DatabaseCheck, file: &TraceDb, range: Option<(u64, u64)>) {
    let Some((first, last)) = file.moments else { return };
    let at = file.part.sections.first().map_or(0, |section| section.pointer);
    match range {
        None if first == NO_FIRST_MOMENT => {
            let message = "no thread has a trace, and the first and the last moment are no moments";
            checking.note(&file.part, "trace-moments", at, message);
        }
        Some((start, end)) if start < first || end > last => {
            let message =
                format!("samples are from {start} to {end}, the header says {first} to {last}");
            checking.warning(&file.part, "trace-moments", at, message);
        }
        Some((start, end)) if first < start || last > end => {
            let what = if first < start {
                "the first moment is before the first sample"
            } else {
                "the last moment is behind the last sample"
            };
            checking.note(&file.part, "trace-moments", at, what);
        }
        _ => {}
    }
}

/// Samples of a trace are in order of time, and of contexts that are listed. Tells the first and
/// the last moment of all, in whatever order they are.
fn samples(
    checking: &mut DatabaseCheck,
    file: &TraceDb,
    listed: Option<&Listed>,
) -> Option<(u64, u64)> {
    let mut last: Option<SampleRow> = None;
    let mut range: Option<(u64, u64)> = None;
    for row in rows::samples(&Arc::clone(&checking.database)) {
        if last.is_some_and(|last| last.profile == row.profile && last.time > row.time) {
            let message = format!("a sample of profile {} goes back in time", row.profile);
            checking.error(&file.part, "trace-order", row.offset, message);
        }
        if i64::try_from(row.time).is_err() {
            let message = format!("{} nanoseconds are no time", row.time);
            checking.error(&file.part, "trace-time", row.offset, message);
        }
        last = Some(row);
        let (start, end) = range.unwrap_or((row.time, row.time));
        range = Some((start.min(row.time), end.max(row.time)));
        // One beyond what a number can be is listed nowhere.
        let number = u32::try_from(row.context).unwrap_or(u32::MAX);
        if number != 0 && listed.is_some_and(|listed| !listed.contains(&number)) {
            let message = format!("context {number} is not listed in meta.db");
            checking.error(&file.part, "context-unknown", row.offset, message);
        }
    }
    range
}
