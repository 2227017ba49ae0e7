//! Types to bytes: the released layout, file by file, in the same order as `read`.
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

use std::io::Read;

use kymo_core::bytes::Limits;
use kymo_core::model::profile::{
    Column, ContextNumber, FileId, Function, FunctionId, Metric, MetricId, ModuleId, Node,
    ProfileSink, Reach, SunkValue, Thread, ThreadId,
};
use kymo_core::model::timeline::TimeNs;
use kymo_core::{AtomicDirectory, Destination, Error, Result, Source};

use crate::read::ProfileDb;
use crate::spec::FileKind;
use meta::MetaWriter;
use profile::ProfileWriter;
use trace::TraceWriter;

/// Metric ids of one metric: one for each propagation scope.
const SCOPES: u32 = 4;

/// Writes a database, in the released layout. Finish it, or nothing appears.
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
    meta: MetaWriter,
    profile: Option<ProfileWriter>,
    trace: Option<TraceWriter>,
}

impl Writer {
    /// Starts a database with a title.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn new(to: &Destination, title: &str) -> Result<Self> {
        let meta = MetaWriter::new(title);
        Ok(Self { directory: to.directory()?, meta, profile: None, trace: None })
    }

    /// Writes the rest, and gives the directory its name.
    ///
    /// # Errors
    /// When it cannot be written, or when threads were not told.
    pub fn finish(self) -> Result<()> {
        let Self { directory, meta, profile, trace } = self;
        let path = |kind: FileKind| directory.path().join(kind.name());
        let mut profile = profile.ok_or_else(|| Error::request("no threads were told"))?;
        profile.write_infos()?;
        let written = Source::open(&path(FileKind::Profile), &Limits::default())?;
        let written = ProfileDb::open(&written, &Limits::default())?;
        let contexts = meta.contexts_max().max(profile.contexts_max());
        let columns = u64::from(meta.metric_count().saturating_mul(SCOPES));
        cct::write(&path(FileKind::Cct), &written, &mut profile, contexts, columns)?;
        drop(written);
        profile.finish()?;
        if let Some(trace) = trace {
            trace.finish()?;
        }
        directory::write(directory.path(), meta.metrics())?;
        meta.write(&path(FileKind::Meta))?;
        directory.commit()
    }
}

/// What values of a column name it by. Sums over threads have the same ids.
fn metric_id(column: Column) -> Result<u16> {
    let scope = match column.reach {
        Reach::Point => 0,
        Reach::Function => 1,
        Reach::Lexical => 2,
        Reach::Execution => 3,
    };
    let id = column.metric.0.checked_mul(SCOPES).and_then(|first| first.checked_add(scope));
    let id = id.and_then(|id| u16::try_from(id).ok());
    id.ok_or_else(|| Error::request("there are more metrics than this format can number"))
}

/// A context's number as the format has it.
fn ctx_id(number: ContextNumber) -> Result<u32> {
    let why = || Error::request(format!("context {} has too large a number", number.0));
    u32::try_from(number.0).map_err(|_| why())
}

impl ProfileSink for Writer {
    fn metric(&mut self, metric: &Metric) -> Result<MetricId> {
        let id = self.meta.metric(metric)?;
        // So that it is refused before anything was measured.
        metric_id(Column { metric: id, reach: Reach::Execution })?;
        Ok(id)
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

    fn threads(&mut self, threads: &[Thread]) -> Result<()> {
        let kinds = self.meta.id_kinds(threads);
        let path = |kind: FileKind| self.directory.path().join(kind.name());
        self.profile = Some(ProfileWriter::new(&path(FileKind::Profile), threads, &kinds)?);
        self.trace = Some(TraceWriter::new(path(FileKind::Trace), threads.len()));
        Ok(())
    }

    fn values(
        &mut self,
        thread: ThreadId,
        values: &mut dyn Iterator<Item = Result<SunkValue>>,
    ) -> Result<()> {
        let mut found = Vec::new();
        for value in values {
            let SunkValue { context, column, value } = value?;
            found.push((ctx_id(context)?, metric_id(column)?, value));
        }
        let profile = self.profile.as_mut();
        profile.ok_or_else(|| Error::request("values came before threads"))?.values(thread, found)
    }

    fn samples(
        &mut self,
        thread: ThreadId,
        samples: &mut dyn Iterator<Item = Result<(TimeNs, Option<ContextNumber>)>>,
    ) -> Result<()> {
        let trace = self.trace.as_mut();
        trace.ok_or_else(|| Error::request("samples came before threads"))?.samples(thread, samples)
    }
}
