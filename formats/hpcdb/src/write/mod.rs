//! Types to bytes: the released layout or the described draft, file by file, in the same order as
//! `read`.
//!
//! The tree is held in memory, and the values of one thread. What the contexts have over all
//! threads is gathered from `profile.db` a few contexts at a time.

mod cct;
mod directory;
mod file;
mod meta;
mod profile;
mod rows;
mod samples;
mod taxonomy;
mod trace;

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use kymo_core::{AtomicDirectory, Destination, Error, NoProgress, Progress, Result, ahead};
use kymo_model::profile::{
    Column, ComputedMetric, ContextNumber, FileId, Function, FunctionId, Metric, MetricId,
    MetricScope, ModuleId, Node, Parts, ProfileSink, SinkValue, Statistic, SummaryValue,
    SunkSample, Thread, ThreadId,
};
use kymo_model::timeline::TimeNs;

use crate::model::scope_rank;
use crate::spec::FileKind;
use crate::types::PropagationScope;
use meta::MetaWriter;
use rows::Rows;
use taxonomy::taxonomy;

pub use directory::foreign_file;

pub(crate) use cct::{Numbered, write as write_cct};
pub(crate) use file::Form;
pub(crate) use meta::{Codes, Kind};
pub(crate) use profile::{ProfileWriter, lost};
pub(crate) use trace::TraceWriter;

/// Metric ids of one metric: one for each propagation scope.
const SCOPES: u32 = 4;

/// Writes a database. Finish it, or nothing appears.
#[derive(Debug)]
#[must_use = "without finish nothing is written"]
pub struct Writer {
    directory: AtomicDirectory,
    form: Form,
    meta: MetaWriter,
    profile: Option<ProfileWriter>,
    trace: Option<TraceWriter>,
    progress: Option<Arc<dyn Progress>>,
}

impl Writer {
    /// Starts a database with a title, in the released layout.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn new(to: &Destination, title: &str) -> Result<Self> {
        Self::with_form(to, title, Form::Released)
    }

    /// Starts a database in the layout that was described first, which is big-endian. It numbers
    /// no more than 65,536 profiles.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn described(to: &Destination, title: &str) -> Result<Self> {
        Self::with_form(to, title, Form::Described)
    }

    fn with_form(to: &Destination, title: &str, form: Form) -> Result<Self> {
        let meta = MetaWriter::new(title, form);
        let (directory, profile, trace, progress) = (to.directory()?, None, None, None);
        Ok(Self { directory, form, meta, profile, trace, progress })
    }

    /// Tells how far it is when it finishes.
    pub fn set_progress(&mut self, progress: &Arc<dyn Progress>) {
        self.progress = Some(Arc::clone(progress));
    }

    /// Writes the rest, and gives the directory its name.
    ///
    /// # Errors
    /// When it cannot be written, or when threads were not told.
    pub fn finish(self) -> Result<()> {
        self.finish_with(|_| Ok(()))
    }

    /// Describes the database as another is described, and numbers metrics as they are ranked.
    pub(crate) fn describe(&mut self, description: &str, id_kinds: &[String], ranks: Vec<u32>) {
        self.meta.describe(description, id_kinds);
        self.meta.rank(ranks);
    }

    /// Writes statistics that the model has no words for behind the others, and scopes with the
    /// codes that they have. Before metrics.
    pub(crate) fn keep(&mut self, others: Vec<Kind>, scopes: &[PropagationScope]) {
        self.meta.keep(others, scopes);
    }

    /// Writes a context that was taken with the codes that it had.
    pub(crate) fn keep_codes(&mut self, number: u32, codes: Codes) {
        self.meta.keep_codes(number, codes);
    }

    /// Takes the summary, each value with the place of its statistic; in order of contexts.
    pub(crate) fn placed_summary(
        &mut self,
        values: impl Iterator<Item = Result<(ContextNumber, Column, usize, f64)>>,
    ) -> Result<()> {
        let (meta, profile) = (&self.meta, self.profile.as_mut());
        let profile = profile.ok_or_else(|| Error::request("a summary came before threads"))?;
        profile.write_stored_summary(values.map(|found| {
            let (context, column, place, value) = found?;
            Ok((ctx_id(context)?, Self::id(meta, column, place)?, value))
        }))
    }

    /// Notes that a file lies in the database at its path.
    pub(crate) fn copied(&mut self, file: FileId, path: &str) {
        self.meta.copied(file, path.to_owned());
    }

    /// Finishes; something else is put into the directory before it gets its name.
    pub(crate) fn finish_with(self, rest: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let Self { directory, form, meta, profile, trace, progress } = self;
        let progress = progress.as_deref().unwrap_or(&NoProgress);
        let path = |kind: FileKind| directory.path().join(kind.name());
        let mut profile = profile.ok_or_else(|| Error::request("no threads were told"))?;
        profile.write_infos()?;
        let written = profile.written(&path(FileKind::Profile))?;
        let taxonomy = taxonomy(meta.metrics(), meta.all_computed(), meta.statistics());
        let (listed, meta_path) = (meta.numbered(), path(FileKind::Meta));
        let (rest_written, turned) = ahead::both(
            || {
                trace.map_or(Ok(()), TraceWriter::finish)?;
                meta.write(&meta_path)?;
                // The rest of the way to the disk is short then.
                file::sync_file(&path(FileKind::Profile));
                file::sync_file(&path(FileKind::Cct));
                Ok(())
            },
            || {
                let sums = (&mut profile, &HashMap::new());
                cct::write(&path(FileKind::Cct), form, &written, Some(sums), listed, progress)
            },
        );
        turned.and(rest_written)?;
        drop(written);
        profile.finish()?;
        directory::write(directory.path(), form, &taxonomy)?;
        rest(directory.path())?;
        directory.commit()
    }

    fn traces(&mut self) -> Result<&mut TraceWriter> {
        self.trace.as_mut().ok_or_else(|| Error::request("samples came before threads"))
    }

    /// Returns the id by which values name a column, or its statistic of some place.
    fn id(meta: &MetaWriter, column: Column, place: usize) -> Result<u16> {
        let metric = MetricId(meta.rank_of(column.metric));
        metric_id(Column { metric, ..column }, place, meta.statistic_count())
    }
}

/// Returns the id by which values name a column, or its statistic of some place among the
/// `statistics` that each metric has. The two are numbered apart.
fn metric_id(column: Column, place: usize, statistics: usize) -> Result<u16> {
    let scope = scope_rank(column.reach);
    let metric = usize::try_from(column.metric.0).ok();
    let first = metric.and_then(|metric| metric.checked_mul(statistics.max(1)));
    let first = first.and_then(|first| first.checked_add(place)?.checked_mul(SCOPES as usize));
    let id = first.and_then(|first| u16::try_from(first.checked_add(scope)?).ok());
    id.ok_or_else(|| Error::request("there are more metrics than this format can number"))
}

/// A context's number as the format has it.
fn ctx_id(number: ContextNumber) -> Result<u32> {
    let why = || Error::request(format!("context {} has too large a number", number.0));
    u32::try_from(number.0).map_err(|_| why())
}

impl ProfileSink for Writer {
    fn statistics(&mut self, statistics: &[Statistic]) -> Result<()> {
        self.meta.set_statistics(statistics);
        Ok(())
    }

    fn metrics_max(&self) -> usize {
        (1 << u16::BITS) / (SCOPES as usize * self.meta.statistic_count().max(1))
    }

    fn metric(&mut self, metric: &Metric) -> Result<MetricId> {
        let id = self.meta.metric(metric)?;
        // So that it is refused before anything was measured.
        let last = self.meta.statistic_count().saturating_sub(1);
        Self::id(&self.meta, Column { metric: id, reach: MetricScope::Execution }, last)?;
        Ok(id)
    }

    fn computed(&mut self, computed: &ComputedMetric) -> Result<()> {
        self.meta.computed(computed);
        Ok(())
    }

    fn module(&mut self, path: &str) -> Result<ModuleId> {
        Ok(self.meta.module(path))
    }

    fn file(&mut self, path: &str) -> Result<FileId> {
        Ok(self.meta.file(path))
    }

    fn source(&mut self, file: FileId, text: &mut dyn Read) -> Result<()> {
        let path = self.meta.file_path(file)?.to_owned();
        if let Some(copied) = directory::copy_source(self.directory.path(), &path, text)? {
            self.meta.copied(file, copied);
        }
        Ok(())
    }

    fn function(&mut self, function: &Function) -> Result<FunctionId> {
        Ok(self.meta.function(function))
    }

    fn context(
        &mut self,
        parent: Option<ContextNumber>,
        number: ContextNumber,
        node: &Node,
    ) -> Result<()> {
        let parent = parent.map(ctx_id).transpose()?;
        self.meta.context(parent, ctx_id(number)?, node)
    }

    fn threads(&mut self, threads: &[Thread]) -> Result<Vec<(ThreadId, String)>> {
        let kinds = self.meta.id_kinds(threads);
        let path = |kind: FileKind| self.directory.path().join(kind.name());
        let profile = ProfileWriter::new(&path(FileKind::Profile), self.form, threads, &kinds)?;
        self.profile = Some(profile);
        self.trace = Some(TraceWriter::new(path(FileKind::Trace), self.form, threads.len()));
        let ids = (0..).map(ThreadId);
        Ok(ids.zip(threads).filter_map(|(id, thread)| Some((id, lost(thread, &kinds)?))).collect())
    }

    fn keep_only_threads(&mut self, threads: &[(ThreadId, Thread)]) -> Result<()> {
        let early = || Error::request("it is said which are there before threads are told");
        let kinds = self.meta.id_kinds(&[]);
        self.profile.as_mut().ok_or_else(early)?.keep(threads, &kinds)?;
        self.traces()?.keep(threads.iter().map(|(id, _)| *id));
        Ok(())
    }

    fn values(
        &mut self,
        thread: ThreadId,
        values: &mut dyn Iterator<Item = Result<SinkValue>>,
    ) -> Result<()> {
        let mut found = Vec::new();
        for value in values {
            let SinkValue { context, column, value } = value?;
            found.push((ctx_id(context)?, Self::id(&self.meta, column, 0)?, value));
        }
        let profile = self.profile.as_mut();
        profile.ok_or_else(|| Error::request("values came before threads"))?.values(thread, found)
    }

    fn values_in_parts(&mut self, thread: ThreadId, values: &dyn Parts<SinkValue>) -> Result<()> {
        let (meta, form) = (&self.meta, self.form);
        let encode = |part: usize| {
            let mut rows = Rows::new(form);
            values.read_part(part, &mut |SinkValue { context, column, value }| {
                let id = Self::id(meta, column, 0);
                rows.take(id.and_then(|id| Ok((ctx_id(context)?, id, value))));
            });
            rows.ended()
        };
        let profile = self.profile.as_mut();
        let profile = profile.ok_or_else(|| Error::request("values came before threads"))?;
        profile.values_in_parts(thread, values.count(), encode)
    }

    fn samples(
        &mut self,
        thread: ThreadId,
        samples: &mut dyn Iterator<Item = Result<SunkSample>>,
    ) -> Result<u64> {
        self.traces()?.samples(thread, samples)
    }

    fn samples_in_parts(
        &mut self,
        thread: ThreadId,
        samples: &dyn Parts<SunkSample>,
    ) -> Result<u64> {
        self.traces()?.samples_in_parts(thread, samples)
    }

    fn moments(&mut self, first: TimeNs, last: TimeNs) -> Result<()> {
        self.traces()?.recorded(first, last);
        Ok(())
    }

    fn summary(&mut self, values: &dyn Parts<SummaryValue>) -> Result<()> {
        let (meta, form) = (&self.meta, self.form);
        let encode = |part: usize| {
            let mut rows = Rows::new(form);
            values.read_part(part, &mut |found| {
                let place = meta.statistic(found.statistic);
                let id = place.and_then(|place| Self::id(meta, found.column, place));
                rows.take(id.and_then(|id| Ok((ctx_id(found.context)?, id, found.value))));
            });
            rows.ended()
        };
        let profile = self.profile.as_mut();
        let profile = profile.ok_or_else(|| Error::request("a summary came before threads"))?;
        profile.summary_in_parts(values.count(), encode)
    }
}
