//! `profile.db` and `cct.db`, each from the other.

use std::collections::HashMap;
use std::sync::Arc;

use kymo_core::bytes::{ReadError, ReadResult};
use kymo_core::model::profile::{IdKind, IdPart, Thread, ThreadId};
use kymo_core::{Error, Result, Source};

use super::{Health, Repairing, form_of};
use crate::read::{CctDb, Database, ProfileDb};
use crate::spec::{COMBINE_SUM, FileKind};
use crate::write::{ProfileWriter, write_cct};

/// How many values are held at once.
const VALUES_HELD: u64 = 1 << 19;

/// Bytes of a value of `cct.db`, at the least.
const CCT_VALUE_BYTES: u64 = 10;

/// A value of a thread: its context, the id of its metric, and how much.
type Value = (u32, u16, f64);

impl Repairing<'_> {
    pub(super) fn values(&mut self) -> Result<()> {
        let profile = self.health(FileKind::Profile)?;
        let cct = self.health(FileKind::Cct)?;
        let is_whole = |health| matches!(health, Health::Sound | Health::Cut);
        match (is_whole(profile), is_whole(cct)) {
            (true, true) => {
                self.copy(FileKind::Profile, profile)?;
                self.copy(FileKind::Cct, cct)
            }
            (true, false) => {
                self.copy(FileKind::Profile, profile)?;
                self.cct_again()
            }
            (false, true) => {
                self.profile_again()?;
                self.copy(FileKind::Cct, cct)
            }
            (false, false) => self.what_is_left(profile),
        }
    }

    /// Writes `cct.db` from the `profile.db` of the output.
    fn cct_again(&mut self) -> Result<()> {
        let source = Source::open(&self.path(FileKind::Profile), &self.limits)?;
        let file = ProfileDb::open(&source, &self.limits)?;
        let contexts_max = self.contexts_max(&file)?;
        let (path, form) = (self.path(FileKind::Cct), form_of(&file.part));
        write_cct(&path, form, &file, None, contexts_max)?;
        self.repaired.kept += 1;
        self.corrected(FileKind::Cct, "it was made again from profile.db");
        Ok(())
    }

    /// Writes `profile.db` from `cct.db`.
    fn profile_again(&mut self) -> Result<()> {
        let database = Arc::clone(&self.database);
        let Some(file) = &database.cct else { return Ok(()) };
        let counts = file.part.told(counts(file))?;
        let threads = self.threads(counts.len().saturating_sub(1));
        let (path, form) = (self.path(FileKind::Profile), form_of(&file.part));
        let mut writer = ProfileWriter::new(&path, form, &threads, &id_names(&database))?;
        let mut start = 1;
        while start < counts.len() {
            let end = batch(&counts, start);
            let values = file.part.told(values_of(file, start..end))?;
            for (values, thread) in values.into_iter().zip(start..) {
                writer.values(ThreadId(u32::try_from(thread - 1).unwrap_or(u32::MAX)), values)?;
            }
            start = end;
        }
        writer.write_infos()?;
        let sums = sums_of(&database);
        file.part.told(each_sum(file, |context, metric, sum| {
            let Some(statistic) = sums.get(&metric) else { return Ok(()) };
            writer.summary(context, *statistic, sum)
        }))??;
        writer.finish()?;
        self.repaired.kept += 1;
        self.corrected(FileKind::Profile, "it was made again from cct.db");
        let message = "statistics of the summary other than sums; of loops, lex_aware is what \
                       threads come to";
        self.lost(FileKind::Profile, message);
        Ok(())
    }

    /// Both are damaged: keeps the profiles that can be read to their end.
    fn what_is_left(&mut self, profile: Health) -> Result<()> {
        let database = Arc::clone(&self.database);
        let Some(file) = database.profile.as_ref().filter(|_| profile == Health::Damaged) else {
            return Err(Error::request("neither profile.db nor cct.db can be read"));
        };
        let count = usize::try_from(file.profiles.count).unwrap_or(usize::MAX);
        let threads = self.threads(count.saturating_sub(1));
        let (path, form) = (self.path(FileKind::Profile), form_of(&file.part));
        let mut writer = ProfileWriter::new(&path, form, &threads, &id_names(&database))?;
        let mut lost = 0_u64;
        for (thread, profile) in (0..).map(ThreadId).zip(1..file.profiles.count) {
            let values = database.noted(&file.part, all_values(file, profile));
            lost += u64::from(values.is_none());
            writer.values(thread, values.unwrap_or_default())?;
        }
        writer.write_infos()?;
        let source = Source::open(&path, &self.limits)?;
        let written = ProfileDb::open(&source, &self.limits)?;
        let contexts_max = self.contexts_max(&written)?;
        let sums = sums_of(&database);
        let cct = self.path(FileKind::Cct);
        write_cct(&cct, form, &written, Some((&mut writer, &sums)), contexts_max)?;
        drop(written);
        writer.finish()?;
        self.repaired.kept += 2;
        self.corrected(FileKind::Profile, "it was written again with what can be read of it");
        self.lost(FileKind::Profile, format!("the values of {lost} profiles, and the summary"));
        Ok(())
    }

    /// What names each thread, as far as `profile.db` still says it.
    fn threads(&mut self, count: usize) -> Vec<Thread> {
        let database = Arc::clone(&self.database);
        let named = |index: u64| {
            let file = database.profile.as_ref()?;
            let ids = file.ids(&file.profile(index).ok()??).ok()?;
            (!ids.is_empty()).then(|| crate::model::thread_of(&database, &ids))
        };
        let mut unnamed = 0_u64;
        let threads = (1..).take(count).map(|index| {
            named(index).unwrap_or_else(|| {
                unnamed += 1;
                // Something has to tell them apart.
                let kind = IdKind("THREAD".into());
                Thread { ids: vec![IdPart { kind, logical: index - 1, physical: None }] }
            })
        });
        let threads = threads.collect();
        if unnamed > 0 {
            let message = format!("what names {unnamed} threads; they are numbered instead");
            self.lost(FileKind::Profile, message);
        }
        threads
    }

    /// The highest number of a context that is listed or has values.
    fn contexts_max(&self, file: &ProfileDb) -> Result<u32> {
        let mut highest = self.listed().last().copied().unwrap_or(0);
        for index in 1..file.profiles.count {
            let Some(profile) = file.part.told(file.profile(index))? else { continue };
            if let Some(last) = profile.n_ctxs.checked_sub(1) {
                highest = highest.max(file.part.told(file.index(&profile, last))?.0);
            }
        }
        Ok(highest)
    }
}

fn id_names(database: &Database) -> Vec<String> {
    database.meta.as_ref().map(|meta| meta.id_names.clone()).unwrap_or_default()
}

/// The id of the sum over threads, by the id of a thread's value.
fn sums_of(database: &Database) -> HashMap<u16, u16> {
    let mut sums = HashMap::new();
    for metric in database.meta.iter().flat_map(|meta| &meta.metrics) {
        for statistic in &metric.statistics {
            let is_sum = statistic.combine == COMBINE_SUM && statistic.formula == "$$";
            let of = metric.instances.iter().find(|of| of.scope == statistic.scope);
            if let (true, Some(of)) = (is_sum, of) {
                sums.insert(of.prop_metric_id, statistic.stat_metric_id);
            }
        }
    }
    sums
}

/// All values of a profile.
fn all_values(file: &ProfileDb, index: u64) -> ReadResult<Vec<Value>> {
    let mut values = Vec::new();
    let Some(profile) = file.profile(index)? else { return Ok(values) };
    for entry in 0..profile.n_ctxs {
        let (context, _) = file.index(&profile, entry)?;
        for index in file.range(&profile, entry)? {
            let (metric, value) = file.value(&profile, index)?;
            values.push((context, metric, value));
        }
    }
    Ok(values)
}

/// Every value of `cct.db`: its context, metric and profile.
fn each_value(file: &CctDb, mut take: impl FnMut(u32, u16, u32, f64)) -> ReadResult<()> {
    for context in 0..file.contexts.count {
        let Some(info) = file.context(context)? else { continue };
        let number = u32::try_from(context).unwrap_or(u32::MAX);
        for entry in 0..info.n_metrics {
            let metric = u16::try_from(file.index(&info, entry)?.0).unwrap_or(u16::MAX);
            for index in file.range(&info, entry)? {
                let (profile, value) = file.value(&info, index)?;
                take(number, metric, profile, value);
            }
        }
    }
    Ok(())
}

/// How many values each profile has.
fn counts(file: &CctDb) -> ReadResult<Vec<u64>> {
    // No more profiles than values, so that no number in the file chooses how much is held.
    let most = file.part.len() / CCT_VALUE_BYTES;
    let mut counts = Vec::new();
    let mut beyond = None;
    each_value(file, |_, _, profile, _| {
        let Some(index) = usize::try_from(profile).ok().filter(|_| u64::from(profile) <= most)
        else {
            beyond = Some(profile);
            return;
        };
        if counts.len() <= index {
            counts.resize(index + 1, 0);
        }
        if let Some(count) = counts.get_mut(index) {
            *count += 1;
        }
    })?;
    match beyond {
        None => Ok(counts),
        Some(profile) => {
            let why = format!("{profile} is more than there can be");
            Err(ReadError::invalid("profIndex", 0, why))
        }
    }
}

/// Where a run of profiles ends whose values can be held at once.
fn batch(counts: &[u64], start: usize) -> usize {
    let mut held = 0;
    let fits = |count: &&u64| {
        held += **count;
        held <= VALUES_HELD
    };
    let many = counts.iter().skip(start).take_while(fits).count();
    start + many.max(1)
}

/// The values of some profiles.
fn values_of(file: &CctDb, profiles: std::ops::Range<usize>) -> ReadResult<Vec<Vec<Value>>> {
    let mut values = vec![Vec::new(); profiles.len()];
    each_value(file, |context, metric, profile, value| {
        let place = usize::try_from(profile).ok().and_then(|at| at.checked_sub(profiles.start));
        if let Some(values) = place.and_then(|place| values.get_mut(place)) {
            values.push((context, metric, value));
        }
    })?;
    Ok(values)
}

/// What each context and metric comes to over all threads.
fn each_sum(
    file: &CctDb,
    mut take: impl FnMut(u32, u16, f64) -> Result<()>,
) -> ReadResult<Result<()>> {
    for context in 0..file.contexts.count {
        let Some(info) = file.context(context)? else { continue };
        let number = u32::try_from(context).unwrap_or(u32::MAX);
        for entry in 0..info.n_metrics {
            let metric = u16::try_from(file.index(&info, entry)?.0).unwrap_or(u16::MAX);
            let mut sum = 0.0;
            for index in file.range(&info, entry)? {
                sum += file.value(&info, index)?.1;
            }
            if sum != 0.0
                && let Err(error) = take(number, metric, sum)
            {
                return Ok(Err(error));
            }
        }
    }
    Ok(Ok(()))
}
