//! A database as core's profile and timeline.
//!
//! Nothing is lost but statistics that the profile model has no name for.

mod columns;
mod timeline;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use kymo_core::bytes::{ReadError, ReadResult};
use kymo_core::model::profile::{
    Column, Context, ContextId, ContextNumber, ContextValue, Derived, FileId, Function, FunctionId,
    IdKind, IdPart, Metric, ModuleId, ProfileView, Relation, Scope, Statistic, SummaryValue,
    Thread, ThreadId, ThreadSet, ThreadValue, Values, statistics_of_threads,
};
use kymo_core::{Error, Result};

use crate::read::{CctDb, Database, Meta, ProfileDb};
use crate::rows;
use crate::spec::{
    LEXICAL_FUNCTION, LEXICAL_INSTRUCTION, LEXICAL_LINE, LEXICAL_LOOP, RELATION_INLINED,
    RELATION_LEXICAL,
};
use crate::taxonomy::Taxonomy;
use crate::types::{self, Id, Profile};
use crate::walk::TreeWalk;
use columns::Columns;

pub(crate) use columns::{reach_of, statistic_of};
pub(crate) use timeline::Timeline;

/// How much may be said of how metrics are shown.
const TAXONOMY_NODES_MAX: u64 = 1 << 20;

/// How many bytes labels may come to in a small file.
const LABELS_LEAST: u64 = 1 << 24;

/// Where copies of source files are in a database.
const COPIES: &str = "src/";

/// The profile of a database. A context is found by where its record is in `meta.db`.
pub(crate) struct Profiles {
    pub(crate) database: Arc<Database>,
    columns: Columns,
    taxonomy: Taxonomy,
    /// What the taxonomy computes, once that is asked for.
    derived: OnceLock<Vec<Derived>>,
    /// The summary, where it can be read.
    summary: Option<Profile>,
    /// The index of the first thread: the summary comes before.
    first_thread: u64,
    /// Contexts by their number.
    by_number: OnceLock<Vec<(u32, u64)>>,
    /// How many threads have values, where `profile.db` is not there to tell.
    unnamed: OnceLock<u64>,
}

impl Profiles {
    /// Nothing unless there is a tree, and values.
    pub(crate) fn new(database: Arc<Database>) -> Option<Self> {
        let mut columns = Columns::new(&database.meta.as_ref()?.metrics);
        let taxonomy = taxonomy_of(&database);
        taxonomy.describe(columns.metrics_mut());
        if database.profile.is_none() && database.cct.is_none() {
            return None;
        }
        let (summary, first_thread) = summary_of(&database);
        let (derived, by_number, unnamed) = <_>::default();
        Some(Self {
            database,
            columns,
            taxonomy,
            derived,
            summary,
            first_thread,
            by_number,
            unnamed,
        })
    }

    /// What contexts are called, whether there are values or not.
    pub(crate) fn of_names(database: Arc<Database>) -> Self {
        let (columns, first_thread) = (Columns::new(&[]), 1);
        let (taxonomy, derived, summary, by_number, unnamed) = <_>::default();
        Self { database, columns, taxonomy, derived, summary, first_thread, by_number, unnamed }
    }

    /// Says what cannot be read, once.
    pub(crate) fn note(&self, error: &Error) {
        let parts = self.database.parts();
        if let Error::ReadIn { file, error } = error
            && let Some(part) = parts.into_iter().find(|part| file.ends_with(part.kind.name()))
        {
            self.database.noted::<()>(part, Err(error.clone()));
        }
    }

    fn meta(&self) -> Result<&Meta> {
        self.database.meta.as_ref().ok_or_else(|| Error::request("there is no meta.db"))
    }

    fn told<T>(&self, read: impl FnOnce(&Meta) -> ReadResult<T>) -> Result<T> {
        let meta = self.meta()?;
        meta.part.told(read(meta))
    }

    /// The index of a thread's profile.
    fn profile_index(&self, thread: ThreadId) -> u64 {
        u64::from(thread.0) + self.first_thread
    }

    /// The thread of a profile; the summary is none.
    fn thread_of(&self, profile: u64) -> Option<ThreadId> {
        let thread = profile.checked_sub(self.first_thread)?;
        let is_there = thread < self.threads();
        u32::try_from(thread).ok().filter(|_| is_there).map(ThreadId)
    }

    /// The thread of a value in `cct.db`. That there is none is said once for each place.
    fn thread_at(&self, file: &CctDb, profile: u64, offset: u64) -> Option<ThreadId> {
        let thread = self.thread_of(profile);
        if thread.is_none() {
            let why = format!("there is no profile {profile}: its value is left out");
            let error = ReadError::invalid("profIndex", offset, why);
            self.database.noted::<()>(&file.part, Err(error));
        }
        thread
    }

    /// How many threads there are.
    fn threads(&self) -> u64 {
        match &self.database.profile {
            Some(file) => file.profiles.count.saturating_sub(self.first_thread),
            None => *self.unnamed.get_or_init(|| {
                let room = self.database.cct.as_ref().map_or(0, |file| file.part.len());
                let values = rows::context_values(&self.database);
                // No more than the file has room for, whatever numbers it has.
                values.map(|row| row.profile).filter(|index| *index < room).max().unwrap_or(0)
            }),
        }
    }

    fn profile(&self, thread: ThreadId) -> Result<(&ProfileDb, Profile)> {
        let absent = || Error::Request(format!("there is no thread {}", thread.0));
        let file = self.database.profile.as_ref().ok_or_else(absent)?;
        let profile = file.part.told(file.profile(self.profile_index(thread)))?;
        Ok((file, profile.ok_or_else(absent)?))
    }

    /// What the summary has of a context; nothing unless it has the statistic of all columns.
    fn summed_up(
        &self,
        statistic: Statistic,
        context: &Context,
        columns: &[Column],
        to: &mut [f64],
    ) -> Option<Result<()>> {
        let (file, summary) = (self.database.profile.as_ref()?, self.summary.as_ref()?);
        let id = |column| self.columns.statistic(column, statistic);
        if columns.iter().any(|column| id(*column).is_none()) {
            return None;
        }
        // A summary that is out of order is said, and threads are summed up instead.
        self.database.noted(&file.part, file.require_order(summary))?;
        to.fill(0.0);
        let Ok(ctx_id) = u32::try_from(context.number.0) else { return Some(Ok(())) };
        Some(file.part.told(Self::add_found(file, summary, ctx_id, columns, id, to)))
    }

    /// Adds the values that a profile has of a context; `id` is what it names columns by.
    fn add_found(
        file: &ProfileDb,
        profile: &Profile,
        ctx_id: u32,
        columns: &[Column],
        id: impl Fn(Column) -> Option<u16>,
        to: &mut [f64],
    ) -> ReadResult<()> {
        for index in file.find(profile, ctx_id)? {
            let (found, value) = file.value(profile, index)?;
            let wanted = columns.iter().zip(&mut *to).filter(|(of, _)| id(**of) == Some(found));
            wanted.for_each(|(_, to)| *to += value);
        }
        Ok(())
    }

    /// Adds what threads have, from the values by context.
    fn add_threads(
        &self,
        file: &CctDb,
        ctx_id: u32,
        columns: &[Column],
        threads: Option<&ThreadSet>,
        to: &mut [f64],
    ) -> ReadResult<()> {
        let Some(context) = file.context(ctx_id.into())? else { return Ok(()) };
        for (column, to) in columns.iter().zip(to) {
            let Some(id) = self.columns.id(*column) else { continue };
            for index in file.find(&context, id)? {
                let (profile, value) = file.value(&context, index)?;
                let at = file.value_offset(&context, index);
                let thread = self.thread_at(file, profile.into(), at);
                let is_meant = |thread| threads.is_none_or(|threads| threads.contains(thread));
                if thread.is_some_and(is_meant) {
                    *to += value;
                }
            }
        }
        Ok(())
    }

    /// Adds what threads have, from the profile of each.
    fn add_each(
        &self,
        ctx_id: u32,
        columns: &[Column],
        threads: Option<&ThreadSet>,
        to: &mut [f64],
    ) -> Result<()> {
        let all = (0..).map(ThreadId).take(self.thread_count());
        for thread in all.filter(|id| threads.is_none_or(|threads| threads.contains(*id))) {
            let (file, profile) = self.profile(thread)?;
            let id = |column| self.columns.id(column);
            file.part.told(Self::add_found(file, &profile, ctx_id, columns, id, to))?;
        }
        Ok(())
    }

    fn numbers(&self) -> &[(u32, u64)] {
        self.by_number.get_or_init(|| {
            let walk = TreeWalk::new(Arc::clone(&self.database));
            let mut numbers: Vec<_> =
                walk.map(|(context, ..)| (context.ctx_id, context.offset)).collect();
            numbers.sort_unstable();
            numbers
        })
    }
}

/// The summary, where it can be read, and the index of the first thread.
fn summary_of(database: &Database) -> (Option<Profile>, u64) {
    let Some(file) = &database.profile else { return (None, 1) };
    match file.profile(0) {
        // A thread has something that names it.
        Ok(first) => {
            let summary = first.filter(|first| first.is_summary || first.id_tuple.is_none());
            (summary, summary.is_some().into())
        }
        Err(error) => {
            database.noted::<()>(&file.part, Err(error));
            (None, 1)
        }
    }
}

/// How metrics are shown; as they are, where that cannot be read.
fn taxonomy_of(database: &Database) -> Taxonomy {
    let Some(source) = &database.taxonomy else { return Taxonomy::default() };
    let text = source.bytes().map_err(|error| error.to_string()).and_then(|bytes| {
        std::str::from_utf8(&bytes).map(str::to_owned).map_err(|error| error.to_string())
    });
    text.and_then(|text| Taxonomy::read(&text, TAXONOMY_NODES_MAX)).unwrap_or_else(|why| {
        database.note_taxonomy(format!("{why}: derived metrics are not shown"));
        Taxonomy::default()
    })
}

/// A thread that nothing names but the place of its profile.
fn unnamed(index: u64) -> Thread {
    let kind = IdKind("PROFILE".into());
    Thread { ids: vec![IdPart { kind, logical: index, physical: None }] }
}

/// A thread, by what names it.
pub(crate) fn thread_of(database: &Database, ids: &[Id]) -> Thread {
    let part = |id: &Id| IdPart {
        kind: IdKind(Cow::Owned(database.id_name(id))),
        logical: id.logical.into(),
        physical: id.is_physical.then_some(id.physical),
    };
    Thread { ids: ids.iter().map(part).collect() }
}

/// What a context is to core.
pub(crate) fn context_of(meta: &Meta, found: &types::Context) -> Context {
    let scope = match found.lexical_type {
        _ if found.entry.is_some() => Scope::Entry,
        LEXICAL_FUNCTION => Scope::Function,
        LEXICAL_LOOP => Scope::Loop,
        LEXICAL_LINE => Scope::Line,
        LEXICAL_INSTRUCTION => Scope::Instruction,
        _ => Scope::Other,
    };
    let relation = match found.relation {
        RELATION_LEXICAL => Relation::Lexical,
        RELATION_INLINED => Relation::Inlined,
        _ => Relation::Call,
    };
    // The name of an entry point is found by the entry point.
    let function = if meta.is_root(found.offset) { Some(found.offset) } else { found.function };
    Context {
        id: ContextId(found.offset),
        number: ContextNumber(found.ctx_id.into()),
        scope,
        relation,
        function: function.map(FunctionId),
        source: found.source.map(|(file, line)| (FileId(file), line)),
        point: found.point.map(|(module, offset)| (ModuleId(module), offset)),
    }
}

impl ProfileView for Profiles {
    fn metrics(&self) -> Vec<Metric> {
        self.columns.metrics().to_vec()
    }

    fn derived(&self) -> Vec<Derived> {
        self.derived.get_or_init(|| self.taxonomy.derived(self.columns.metrics())).clone()
    }

    fn thread_count(&self) -> usize {
        usize::try_from(self.threads()).unwrap_or(usize::MAX)
    }

    fn thread(&self, id: ThreadId) -> Result<Thread> {
        if self.database.profile.is_none() && u64::from(id.0) < self.threads() {
            return Ok(unnamed(self.profile_index(id)));
        }
        let absent = || Error::Request(format!("there is no thread {}", id.0));
        let file = self.database.profile.as_ref().ok_or_else(absent)?;
        let record = file.part.told(file.record(self.profile_index(id)))?.ok_or_else(absent)?;
        let ids = file.part.told(file.ids(&record))?;
        if ids.is_empty() {
            return Ok(unnamed(record.index));
        }
        Ok(thread_of(&self.database, &ids))
    }

    fn contexts_max(&self) -> u64 {
        self.database.meta.as_ref().map_or(0, Meta::contexts_max)
    }

    fn labels_max(&self) -> u64 {
        // Labels have more than the names that are in the file: lines, addresses, modules.
        let bytes = self.database.meta.as_ref().map_or(0, |meta| meta.part.len());
        bytes.saturating_mul(4).saturating_add(LABELS_LEAST)
    }

    fn roots(&self, to: &mut Vec<ContextId>) -> Result<()> {
        let mut offsets = Vec::new();
        self.told(|meta| meta.root_offsets(&mut offsets))?;
        to.extend(offsets.into_iter().map(ContextId));
        Ok(())
    }

    fn children(&self, of: ContextId, to: &mut Vec<ContextId>) -> Result<()> {
        self.told(|meta| {
            let range = meta.children_of(of.0)?;
            meta.each_sibling(range, |at| to.push(ContextId(at)))
        })
    }

    fn context(&self, id: ContextId) -> Result<Context> {
        self.told(|meta| Ok(context_of(meta, &meta.node(id.0)?)))
    }

    fn find(&self, number: ContextNumber) -> Result<Option<ContextId>> {
        let numbers = self.numbers();
        let Ok(number) = u32::try_from(number.0) else { return Ok(None) };
        let found = numbers.binary_search_by_key(&number, |(number, _)| *number).ok();
        let found = found.and_then(|index| numbers.get(index));
        Ok(found.map(|(_, offset)| ContextId(*offset)))
    }

    fn function(&self, id: FunctionId) -> Result<Function> {
        self.told(|meta| {
            if meta.is_root(id.0) {
                let entry = meta.node(id.0)?.entry;
                let name = entry.map(|entry| entry.name).unwrap_or_default();
                return Ok(Function { name, ..Function::default() });
            }
            let function = meta.function(id.0)?;
            Ok(Function {
                name: function.name.unwrap_or_default(),
                module: function.module.map(ModuleId),
                offset: function.offset,
                file: function.file.map(FileId),
                line: function.line,
            })
        })
    }

    fn file(&self, id: FileId) -> Result<String> {
        self.told(|meta| {
            let path = meta.path("file path", id.0)?;
            let is_copied = meta.is_copied(id.0)? && path.starts_with(COPIES);
            // What was copied is known by where it was.
            Ok(if is_copied { path.replacen(COPIES, "/", 1) } else { path })
        })
    }

    fn module(&self, id: ModuleId) -> Result<String> {
        self.told(|meta| meta.path("module path", id.0))
    }

    fn sums(
        &self,
        context: &Context,
        columns: &[Column],
        threads: Option<&ThreadSet>,
        to: &mut [f64],
    ) -> Result<()> {
        if threads.is_none()
            && let Some(done) = self.summed_up(Statistic::Sum, context, columns, to)
        {
            return done;
        }
        to.fill(0.0);
        let Ok(ctx_id) = u32::try_from(context.number.0) else { return Ok(()) };
        match &self.database.cct {
            Some(file) => file.part.told(self.add_threads(file, ctx_id, columns, threads, to)),
            None => self.add_each(ctx_id, columns, threads, to),
        }
    }

    fn statistics(
        &self,
        statistic: Statistic,
        context: &Context,
        columns: &[Column],
        threads: Option<&ThreadSet>,
        to: &mut [f64],
    ) -> Result<()> {
        if threads.is_none()
            && let Some(done) = self.summed_up(statistic, context, columns, to)
        {
            return done;
        }
        statistics_of_threads(self, statistic, context, columns, threads, to)
    }

    fn kept_statistics(&self) -> Option<Values<'_, SummaryValue>> {
        let summary = self.summary.as_ref()?;
        let rows = rows::values_of(Arc::clone(&self.database), 0, *summary);
        let values = rows.filter_map(|row| {
            let (column, statistic) = self.columns.summed(row.metric)?;
            let context = ContextNumber(row.context);
            Some(Ok(SummaryValue { context, column, statistic, value: row.value }))
        });
        Some(Box::new(values))
    }

    fn context_values(&self, context: &Context) -> Result<Values<'_, ThreadValue>> {
        let Some(file) = &self.database.cct else {
            return Ok(self.context_values_of_each(context));
        };
        let Some(info) = file.part.told(file.context(context.number.0))? else {
            return Ok(Box::new(std::iter::empty()));
        };
        file.part.told(file.require_order(&info))?;
        let values = rows::context_values_of(Arc::clone(&self.database), context.number.0, info);
        let values = values.filter_map(move |row| {
            let column = self.columns.column(row.metric)?;
            let thread = self.thread_at(file, row.profile, row.offset)?;
            Some(Ok(ThreadValue { thread, column, value: row.value }))
        });
        Ok(Box::new(values))
    }

    fn thread_values(&self, thread: ThreadId) -> Result<Values<'_, ContextValue>> {
        let index = self.profile_index(thread);
        let values: rows::Rows<rows::ValueRow> = if self.database.profile.is_some() {
            let (file, profile) = self.profile(thread)?;
            file.part.told(file.require_order(&profile))?;
            Box::new(rows::values_of(Arc::clone(&self.database), index, profile))
        } else {
            Box::new(rows::context_values(&self.database).filter(move |row| row.profile == index))
        };
        let values = values.filter_map(|row| {
            let column = self.columns.column(row.metric)?;
            let context = ContextNumber(row.context);
            Some(Ok(ContextValue { context, column, value: row.value }))
        });
        Ok(Box::new(values))
    }
}

impl Profiles {
    /// The values of a context, looked up in the profile of each thread.
    fn context_values_of_each(&self, context: &Context) -> Values<'_, ThreadValue> {
        let ctx_id = u32::try_from(context.number.0).unwrap_or(u32::MAX);
        let threads = (0..).map(ThreadId).take(self.thread_count());
        let values = threads.flat_map(move |thread| {
            let read = self.profile(thread).and_then(|(file, profile)| {
                let values = file.find(&profile, ctx_id).and_then(|range| {
                    range.map(|index| file.value(&profile, index)).collect::<ReadResult<Vec<_>>>()
                });
                file.part.told(values)
            });
            let values = match read {
                Ok(values) => values,
                Err(error) => return vec![Err(error)],
            };
            let value = |(id, value): (u16, f64)| {
                let column = self.columns.column(id.into())?;
                Some(Ok(ThreadValue { thread, column, value }))
            };
            values.into_iter().filter_map(value).collect()
        });
        Box::new(values)
    }
}
