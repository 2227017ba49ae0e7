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
mod taxonomy;
mod trace;

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use kymo_core::bytes::Limits;
use kymo_core::model::profile::{
    Column, Computed, ContextNumber, FileId, Function, FunctionId, Metric, MetricId, ModuleId,
    Node, ProfileSink, Reach, Statistic, SummaryValue, SunkValue, Thread, ThreadId,
};
use kymo_core::model::timeline::TimeNs;
use kymo_core::{AtomicDirectory, Destination, Error, Result, Source, ahead};

use crate::read::ProfileDb;
use crate::spec::FileKind;
use crate::types::PropagationScope;
use meta::MetaWriter;
use taxonomy::taxonomy;

pub(crate) use cct::{Numbered, write as write_cct};
pub(crate) use file::Form;
pub(crate) use meta::{Codes, Kind};
pub(crate) use profile::{ProfileWriter, lost};
pub(crate) use trace::TraceWriter;

/// Metric ids of one metric: one for each propagation scope.
const SCOPES: u32 = 4;

/// Writes a database. Finish it, or nothing appears.
///
/// ```
/// use kymo_core::bytes::Limits;
/// use kymo_core::model::profile::*;
/// use kymo_core::{Context, Destination, Format, Source};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("database");
/// let mut writer = kymo_hpcdb::Writer::new(&Destination::new(&path, false), "demo")?;
/// let time = writer.metric(&Metric::named("time (sec)"))?;
/// let name = "main thread".to_owned();
/// let function = Some(writer.function(&Function { name, ..Function::default() })?);
/// let node = Node { function, ..Node::new(Scope::Entry, Relation::Call) };
/// writer.context(None, ContextNumber(1), &node)?;
/// writer.threads(&[Thread::default()])?;
/// let column = Column { metric: time, reach: Reach::Execution };
/// let value = SunkValue { context: ContextNumber(1), column, value: 2.5 };
/// writer.values(ThreadId(0), &mut [Ok(value)].into_iter())?;
/// writer.finish()?;
///
/// let source = Source::open(&path, &Limits::default())?;
/// let dataset = kymo_hpcdb::HpcDb.open(&source, &Context::default())?;
/// let view = dataset.profile().unwrap();
/// assert_eq!(Question { view: &*view, metric: time, threads: None }.total()?, 2.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "without finish nothing is written"]
pub struct Writer {
    directory: AtomicDirectory,
    form: Form,
    meta: MetaWriter,
    profile: Option<ProfileWriter>,
    trace: Option<TraceWriter>,
}

impl Writer {
    /// Starts a database with a title, in the released layout.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn new(to: &Destination, title: &str) -> Result<Self> {
        Self::with(to, title, Form::Released)
    }

    /// Starts a database in the layout that was described first, which is big-endian. It numbers
    /// no more than 65,536 profiles.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn described(to: &Destination, title: &str) -> Result<Self> {
        Self::with(to, title, Form::Described)
    }

    fn with(to: &Destination, title: &str, form: Form) -> Result<Self> {
        let meta = MetaWriter::new(title, form);
        Ok(Self { directory: to.directory()?, form, meta, profile: None, trace: None })
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
        values: impl Iterator<Item = (ContextNumber, Column, usize, f64)>,
    ) -> Result<()> {
        let (meta, profile) = (&self.meta, self.profile.as_mut());
        let profile = profile.ok_or_else(|| Error::request("a summary came before threads"))?;
        profile.told_summary(values.map(|(context, column, place, value)| {
            Ok((ctx_id(context)?, Self::id(meta, column, place)?, value))
        }))
    }

    /// Notes that a file lies in the database at its path.
    pub(crate) fn copied(&mut self, file: FileId, path: &str) {
        self.meta.copied(file, path.to_owned());
    }

    /// Finishes; something else is put into the directory before it gets its name.
    pub(crate) fn finish_with(self, rest: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let Self { directory, form, meta, profile, trace } = self;
        let path = |kind: FileKind| directory.path().join(kind.name());
        let mut profile = profile.ok_or_else(|| Error::request("no threads were told"))?;
        profile.write_infos()?;
        let written = Source::open(&path(FileKind::Profile), &Limits::default())?;
        let written = ProfileDb::open(&written, &Limits::default())?;
        let taxonomy = taxonomy(meta.metrics(), meta.all_computed(), meta.statistics());
        let (listed, meta_path) = (meta.numbered(), path(FileKind::Meta));
        let (rest_written, turned) = ahead::both(
            || {
                trace.map_or(Ok(()), TraceWriter::finish)?;
                meta.write(&meta_path)
            },
            || {
                let sums = (&mut profile, &HashMap::new());
                cct::write(&path(FileKind::Cct), form, &written, Some(sums), listed)
            },
        );
        turned.and(rest_written)?;
        drop(written);
        profile.finish()?;
        directory::write(directory.path(), form, &taxonomy)?;
        rest(directory.path())?;
        directory.commit()
    }

    /// What values of a column name it by, or its statistic of some place.
    fn id(meta: &MetaWriter, column: Column, place: usize) -> Result<u16> {
        let metric = MetricId(meta.rank_of(column.metric));
        metric_id(Column { metric, ..column }, place, meta.statistic_count())
    }
}

/// What values of a column name it by, or its statistic of some place among the `statistics` that
/// each metric has. The two are numbered apart.
fn metric_id(column: Column, place: usize, statistics: usize) -> Result<u16> {
    let scope = match column.reach {
        Reach::Point => 0,
        Reach::Function => 1,
        Reach::Lexical => 2,
        Reach::Execution => 3,
    };
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

    fn metric(&mut self, metric: &Metric) -> Result<MetricId> {
        let id = self.meta.metric(metric)?;
        // So that it is refused before anything was measured.
        let last = self.meta.statistic_count().saturating_sub(1);
        Self::id(&self.meta, Column { metric: id, reach: Reach::Execution }, last)?;
        Ok(id)
    }

    fn computed(&mut self, computed: &Computed) -> Result<()> {
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

    fn values(
        &mut self,
        thread: ThreadId,
        values: &mut dyn Iterator<Item = Result<SunkValue>>,
    ) -> Result<()> {
        let mut found = Vec::new();
        for value in values {
            let SunkValue { context, column, value } = value?;
            found.push((ctx_id(context)?, Self::id(&self.meta, column, 0)?, value));
        }
        let profile = self.profile.as_mut();
        profile.ok_or_else(|| Error::request("values came before threads"))?.values(thread, found)
    }

    fn samples(
        &mut self,
        thread: ThreadId,
        samples: &mut dyn Iterator<Item = Result<(TimeNs, Option<ContextNumber>)>>,
    ) -> Result<u64> {
        let trace = self.trace.as_mut();
        let trace = trace.ok_or_else(|| Error::request("samples came before threads"))?;
        trace.samples(thread, samples)
    }

    fn summary(&mut self, values: &mut dyn Iterator<Item = SummaryValue>) -> Result<()> {
        let (meta, profile) = (&self.meta, self.profile.as_mut());
        let profile = profile.ok_or_else(|| Error::request("a summary came before threads"))?;
        let values = values.map(|found| {
            let place = meta.statistic(found.statistic)?;
            let id = Self::id(meta, found.column, place)?;
            Ok((ctx_id(found.context)?, id, found.value))
        });
        profile.told_summary(values)
    }
}
