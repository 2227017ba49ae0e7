//! `profile.db` and `cct.db`, each from the other.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use kymo_core::bytes::{ReadError, ReadResult};
use kymo_core::{Error, Finding, NoProgress, Result, Source};
use kymo_model::profile::{Thread, ThreadId};

use super::by_profile::ByProfile;
use super::evidence::{self, Difference, Key, Right};
use super::sums::Sums;
use super::{Health, Repairing, form_of};
use crate::read::{CctDb, Database, ProfileDb};
use crate::rounding::shown;
use crate::spec::{DESCRIBED_CCT_VALUE_BYTES, FileKind, PROFILE_VALUE_BYTES};
use crate::transpose::numbers_max;
use crate::types::{Metric, SummedScope};
use crate::write::{Numbered, ProfileWriter, write_cct};

/// Loss of a summary that was made from the values of threads.
const SUMMARY_LOST: &str = "statistics of the summary other than sums; of loops, lex_aware is what \
                            threads come to";

pub(super) const STATISTICS_LOST: &str = "statistics of the summary other than sums";

const SUMS_AGAIN: &str = "sums of its summary were made again from its threads";

const SUMMARY_AGAIN: &str = "its summary was made again from its threads";

/// Number of contradictions between values of `profile.db`.
#[derive(Debug, Clone, Copy, Default)]
struct Faults {
    /// Of one thread.
    threads: usize,
    /// Of the summary.
    summary: usize,
    /// Of the summary and the threads; that says nothing of which is right.
    sums: usize,
}

impl Faults {
    /// As `check` found them.
    fn from_findings(found: &[Finding], file: &ProfileDb) -> Self {
        let summary = file.profile(0).ok().flatten().filter(|first| first.is_summary);
        let is_of_summary = |at: u64| {
            summary.is_some_and(|summary| {
                let values = summary.n_values.saturating_mul(PROFILE_VALUE_BYTES);
                let values = summary.values..summary.values.saturating_add(values);
                at == summary.offset || values.contains(&at)
            })
        };
        let mut faults = Self::default();
        let name = Some(FileKind::Profile.name());
        for finding in found.iter().filter(|finding| finding.file.as_deref() == name) {
            match finding.rule {
                "summary-sum" => faults.sums += 1,
                "tree-sum" | "zero-value" if finding.offset.is_some_and(is_of_summary) => {
                    faults.summary += 1;
                }
                "tree-sum" | "zero-value" => faults.threads += 1,
                _ => {}
            }
        }
        faults
    }
}

/// A value of a thread: its context, the id of its metric, and how much.
pub(super) type Value = (u32, u16, f64);

impl Repairing<'_> {
    pub(super) fn values(&mut self) -> Result<()> {
        let profile = self.health(FileKind::Profile);
        let cct = self.health(FileKind::Cct);
        let is_whole = |health| matches!(health, Health::Sound | Health::Cut);
        match (is_whole(profile), is_whole(cct)) {
            (true, true) if self.is_other() => self.differing(profile, cct),
            (true, true) if self.has_wrong_summary() => {
                self.profile_of(&[])?;
                self.copy(FileKind::Cct, cct)
            }
            (true, true) => {
                self.copy(FileKind::Profile, profile)?;
                self.copy(FileKind::Cct, cct)
            }
            (true, false) if self.has_wrong_summary() => {
                let database = Arc::clone(&self.database);
                let Some(file) = &database.profile else { return Ok(()) };
                self.rebuild_threads(file, SUMMARY_AGAIN)
            }
            (true, false) => {
                self.copy(FileKind::Profile, profile)?;
                self.rebuild_cct()
            }
            (false, true) => {
                self.rebuild_profile()?;
                self.copy(FileKind::Cct, cct)
            }
            (false, false) => self.keep_readable_profiles(profile),
        }
    }

    /// Returns true if the summary is not what the threads come to, and nothing is wrong with
    /// those.
    fn has_wrong_summary(&self) -> bool {
        let faults =
            self.database.profile.as_ref().map(|file| Faults::from_findings(&self.found, file));
        faults.is_some_and(|faults| faults.sums + faults.summary > 0 && faults.threads == 0)
    }

    /// Both are whole, and have different values: of each the reading is kept that the rest speaks
    /// for. Where nothing does, that of `profile.db` is, and both are said.
    fn differing(&mut self, profile: Health, cct: Health) -> Result<()> {
        let found = evidence::judged(&self.database)?;
        let is = |right: Right| move |one: &&Difference| one.verdict == Some(right);
        let of_profile = found.iter().filter(is(Right::Profile)).count();
        let of_cct = found.iter().filter(is(Right::Cct)).count();
        if of_cct > 0 || self.has_wrong_summary() {
            self.profile_of(&found)?;
        } else {
            self.copy(FileKind::Profile, profile)?;
        }
        if of_cct < found.len() {
            self.rebuild_cct()?;
        } else {
            self.copy(FileKind::Cct, cct)?;
        }
        let mut say = |kind: FileKind, count: usize, right: FileKind| {
            if count > 0 {
                let (values, are) = if count == 1 { ("value", "is") } else { ("values", "are") };
                let right = right.name();
                let message = format!("{count} {values} {are} as in {right}, which the rest fits");
                self.corrected(kind, message);
            }
        };
        say(FileKind::Profile, of_cct, FileKind::Cct);
        say(FileKind::Cct, of_profile, FileKind::Profile);
        self.undecided(&found);
        Ok(())
    }

    /// Says what is one thing in `profile.db` and another in `cct.db`, and either may be right.
    fn undecided(&mut self, found: &[Difference]) {
        let mut undecided = found.iter().filter(|difference| difference.verdict.is_none());
        for difference in undecided.by_ref().take(self.limits.findings_max) {
            let Difference { key: (context, metric, profile), by_profile, by_context, .. } =
                difference;
            let message = format!(
                "context {context}, metric {metric}, profile {profile} has {} here and {} in \
                 cct.db, and nothing tells which is right: {} was kept",
                shown(*by_profile),
                shown(*by_context),
                shown(*by_profile)
            );
            self.lost(FileKind::Profile, message);
        }
        let more = undecided.count();
        if more > 0 {
            self.lost(FileKind::Profile, format!("{more} more values that differ in cct.db"));
        }
    }

    /// Writes `cct.db` from the `profile.db` of the output.
    fn rebuild_cct(&mut self) -> Result<()> {
        let source = Source::open(&self.path(FileKind::Profile), &self.limits)?;
        let file = ProfileDb::open(&source, &self.limits)?;
        let (path, form) = (self.path(FileKind::Cct), form_of(&file.part));
        write_cct(&path, form, &file, None, self.numbered(), &NoProgress)?;
        self.repaired.kept += 1;
        self.corrected(FileKind::Cct, "it was made again from profile.db");
        Ok(())
    }

    /// Writes `profile.db` from `cct.db`.
    fn rebuild_profile(&mut self) -> Result<()> {
        self.profile_of(&[])?;
        self.corrected(FileKind::Profile, "it was made again from cct.db");
        Ok(())
    }

    /// Writes `profile.db` with the values of `cct.db`; of those that differ with what is kept. Of the
    /// summary what holds stays, and other sums are made again.
    fn profile_of(&mut self, found: &[Difference]) -> Result<()> {
        let database = Arc::clone(&self.database);
        let Some(file) = &database.cct else { return Ok(()) };
        let mut counts = counts(file, found)?;
        counts.resize(self.profiles().max(counts.len()), 0);
        let threads = self.threads(counts.len().saturating_sub(1));
        let (path, form) = (self.path(FileKind::Profile), form_of(&file.part));
        let mut writer = ProfileWriter::new(&path, form, &threads, &id_names(&database))?;
        let mut by_profile = ByProfile::new(&counts)?;
        file.part.with_file(kept_values(file, found, |context, metric, profile, value| {
            by_profile.push(profile, (context, metric, value))
        }))??;
        for (thread, profile) in (0..).map(ThreadId).zip(1..counts.len()) {
            writer.values(thread, by_profile.values(profile)?)?;
        }
        let summary = self.summary_of(file, found)?;
        writer.write_stored_summary(summary.into_iter().map(Ok))?;
        writer.write_infos()?;
        writer.finish()?;
        self.repaired.kept += 1;
        Ok(())
    }

    /// A summary of what is kept: that of `profile.db` where it can be read, with the sums over
    /// threads made again that do not hold.
    fn summary_of(&mut self, file: &CctDb, found: &[Difference]) -> Result<Vec<Value>> {
        let told = self.stored_summary();
        let mut sums = Sums::new(&self.database, file, found)?;
        let Some(mut summary) = told else {
            self.lost(FileKind::Profile, STATISTICS_LOST);
            return Ok(sums.remaining());
        };
        let count = summary.len();
        summary.retain(|value| sums.take(*value).unwrap_or(value.2 != 0.0));
        let again = sums.remaining();
        if summary.len() < count || !again.is_empty() {
            self.corrected(FileKind::Profile, SUMS_AGAIN);
        }
        summary.extend(again);
        summary.sort_unstable_by_key(|(context, id, _)| (*context, *id));
        Ok(summary)
    }

    /// The summary of `profile.db`, where it can be read and is of statistics that are listed.
    fn stored_summary(&self) -> Option<Vec<Value>> {
        let file = self.database.profile.as_ref()?;
        file.profile(0).ok()?.filter(|summary| summary.is_summary)?;
        let values = all_values(file, 0).ok()?;
        let sums = sums_of(&self.database, |_| true);
        let sums: HashSet<_> = sums.values().collect();
        // A sum that is no number is made again.
        let is_number = |(_, id, value): &Value| value.is_finite() || sums.contains(id);
        let is_sound = values.is_sorted_by(|a, b| (a.0, a.1) < (b.0, b.1))
            && values.iter().all(is_number)
            && self.lists_statistics(&values);
        is_sound.then_some(values)
    }

    /// Returns true if all values of a summary are of statistics that `meta.db` lists.
    fn lists_statistics(&self, summary: &[Value]) -> bool {
        let metrics = self.database.meta.iter().flat_map(|meta| &meta.metrics);
        let listed =
            metrics.flat_map(|metric| &metric.statistics).map(|statistic| statistic.stat_metric_id);
        let listed: HashSet<u16> = listed.collect();
        summary.iter().all(|(_, id, _)| listed.contains(id))
    }

    /// Both are damaged: keeps the profiles that can be read to their end.
    fn keep_readable_profiles(&mut self, profile: Health) -> Result<()> {
        let database = Arc::clone(&self.database);
        let Some(file) = database.profile.as_ref().filter(|_| profile == Health::Damaged) else {
            return Err(Error::request("neither profile.db nor cct.db can be read"));
        };
        self.rebuild_threads(file, "it was written again with what can be read of it")
    }

    /// Writes `profile.db` with the threads that can be read to their end, and all else from those.
    fn rebuild_threads(&mut self, file: &ProfileDb, why: &str) -> Result<()> {
        let database = Arc::clone(&self.database);
        let count = usize::try_from(file.profiles.count).unwrap_or(usize::MAX);
        let threads = self.threads(count.saturating_sub(1));
        let (path, form) = (self.path(FileKind::Profile), form_of(&file.part));
        let mut writer = ProfileWriter::new(&path, form, &threads, &id_names(&database))?;
        let most = self.numbers_max(file);
        let (mut lost, mut beyond) = (0_u64, 0_u64);
        for (thread, profile) in (0..).map(ThreadId).zip(1..file.profiles.count) {
            let values = database.ok_or_note(&file.part, all_values(file, profile));
            lost += u64::from(values.is_none());
            let mut values = values.unwrap_or_default();
            let all = values.len();
            values.retain(|(context, ..)| u64::from(*context) < most);
            beyond += (all - values.len()) as u64;
            writer.values(thread, values)?;
        }
        writer.write_infos()?;
        let written = writer.written(&path)?;
        let sums = sums_of(&database, |_| true);
        let cct = self.path(FileKind::Cct);
        let sums = Some((&mut writer, &sums));
        write_cct(&cct, form, &written, sums, self.numbered(), &NoProgress)?;
        drop(written);
        writer.finish()?;
        self.repaired.kept += 2;
        self.corrected(FileKind::Profile, why);
        if lost > 0 {
            self.lost(FileKind::Profile, format!("the values of profiles: {lost}"));
        }
        if beyond > 0 {
            let message = format!("values of contexts that cannot have their numbers: {beyond}");
            self.lost(FileKind::Profile, message);
        }
        self.lost(FileKind::Profile, SUMMARY_LOST);
        Ok(())
    }

    /// Returns the number of profiles, as far as other files give it: some may have no values.
    fn profiles(&self) -> usize {
        let listed = self.database.profile.as_ref().map_or(0, |file| file.profiles.count);
        let traced = self.database.trace.as_ref().map_or(0, |file| file.traces.count + 1);
        usize::try_from(listed.max(traced)).unwrap_or(0)
    }

    /// The numbers that contexts can have, as many as are listed or have values.
    fn numbers_max(&self, file: &ProfileDb) -> u64 {
        let mut numbers: BTreeSet<_> = self.listed().into_iter().collect();
        for index in 1..file.profiles.count {
            let Ok(Some(profile)) = file.profile(index) else { continue };
            if file.require_order(&profile).is_ok() {
                let entries = (0..profile.n_ctxs).filter_map(|at| file.index(&profile, at).ok());
                numbers.extend(entries.map(|(context, _)| context));
            }
        }
        numbers_max(numbers.len() as u64)
    }

    /// Returns the number of contexts that are listed, and their highest number.
    fn numbered(&self) -> Numbered {
        let listed = self.listed();
        let highest = listed.last().copied().unwrap_or(0);
        Numbered { count: listed.len() as u64, highest }
    }

    /// Returns the rest of a `profile.db` that was cut: names of threads stand near its beginning.
    fn cut_profile(&self) -> Option<ProfileDb> {
        let name = std::path::Path::new(FileKind::Profile.name());
        let file = self.source.child(name, &self.limits).ok()??;
        ProfileDb::open_cut(&file, &self.limits).ok()
    }

    /// Returns the name of each thread, as far as `profile.db` still gives it. The others have no
    /// name: any number could be that of another.
    fn threads(&mut self, count: usize) -> Vec<Thread> {
        let database = Arc::clone(&self.database);
        let cut = if database.profile.is_none() { self.cut_profile() } else { None };
        let named = |index: u64| {
            let file = database.profile.as_ref().or(cut.as_ref())?;
            let ids = file.ids(&file.record(index).ok()??).ok()?;
            (!ids.is_empty()).then(|| crate::model::thread_of(&database, &ids))
        };
        let threads: Vec<_> = (1..).take(count).map(named).collect();
        let unnamed = threads.iter().filter(|thread| thread.is_none()).count();
        if unnamed > 0 {
            let message = format!("what names {unnamed} of {count} threads");
            self.lost(FileKind::Profile, message);
        }
        threads.into_iter().map(Option::unwrap_or_default).collect()
    }
}

fn id_names(database: &Database) -> Vec<String> {
    database.meta.as_ref().map(|meta| meta.id_names.clone()).unwrap_or_default()
}

/// The id of the sum over threads, by the id of a thread's value, of some.
pub(super) fn sums_of(
    database: &Database,
    is_meant: impl Fn(&SummedScope) -> bool,
) -> HashMap<u16, u16> {
    let metrics = database.meta.iter().flat_map(|meta| &meta.metrics);
    let sums = metrics.flat_map(Metric::sums).filter(is_meant);
    sums.map(|sum| (sum.instance, sum.statistic)).collect()
}

/// All values of a profile.
pub(super) fn all_values(file: &ProfileDb, index: u64) -> ReadResult<Vec<Value>> {
    let mut values = Vec::new();
    let Some(profile) = file.profile(index)? else { return Ok(values) };
    file.require_order(&profile)?;
    for entry in 0..profile.n_ctxs {
        let (context, _) = file.index(&profile, entry)?;
        for index in file.range(&profile, entry)? {
            let (metric, value) = file.value(&profile, index)?;
            values.push((context, metric, value));
        }
    }
    Ok(values)
}

/// Every value of `cct.db`: its context, metric and profile. The first that is not taken ends it.
pub(super) fn each_value(
    file: &CctDb,
    mut take: impl FnMut(u32, u16, u32, f64) -> Result<()>,
) -> ReadResult<Result<()>> {
    for context in 0..file.contexts.count {
        let Some(info) = file.context(context)? else { continue };
        file.require_order(&info)?;
        let number = u32::try_from(context).unwrap_or(u32::MAX);
        for entry in 0..info.n_metrics {
            let metric = u16::try_from(file.index(&info, entry)?.0).unwrap_or(u16::MAX);
            for index in file.range(&info, entry)? {
                let (profile, value) = file.value(&info, index)?;
                if let Err(error) = take(number, metric, profile, value) {
                    return Ok(Err(error));
                }
            }
        }
    }
    Ok(Ok(()))
}

/// Every value that is kept: those of `cct.db`, and of those that differ what was decided.
pub(super) fn kept_values(
    file: &CctDb,
    found: &[Difference],
    mut take: impl FnMut(u32, u16, u32, f64) -> Result<()>,
) -> ReadResult<Result<()>> {
    let differs = |key: Key| found.binary_search_by_key(&key, |difference| difference.key).is_ok();
    let read = each_value(file, |context, metric, profile, value| {
        let is_same = !differs((context, metric, profile));
        if is_same { take(context, metric, profile, value) } else { Ok(()) }
    })?;
    let kept = found.iter().filter(|difference| difference.kept_value() != 0.0);
    Ok(read.and_then(|()| {
        kept.map(|difference| (difference.key, difference.kept_value())).try_for_each(
            |((context, metric, profile), value)| take(context, metric, profile, value),
        )
    }))
}

/// Counts the values of each profile.
fn counts(file: &CctDb, found: &[Difference]) -> Result<Vec<u64>> {
    // No more profiles than values, so that no number in the file chooses how much is held.
    let most = file.part.len() / DESCRIBED_CCT_VALUE_BYTES + found.len() as u64;
    let mut counts: Vec<u64> = Vec::new();
    file.part.with_file(kept_values(file, found, |_, _, profile, _| {
        let index = usize::try_from(profile).ok().filter(|_| u64::from(profile) <= most);
        let Some(index) = index else {
            let why = format!("{profile} is more than there can be");
            return file.part.with_file(Err(ReadError::invalid("profIndex", 0, why)));
        };
        if counts.len() <= index {
            counts.resize(index + 1, 0);
        }
        if let Some(count) = counts.get_mut(index) {
            *count += 1;
        }
        Ok(())
    }))??;
    Ok(counts)
}
