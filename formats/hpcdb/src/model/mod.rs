//! A database as core's profile and timeline.
//!
//! Nothing is lost but statistics that the profile model has no name for.

mod by_context;
mod columns;
mod entries;
mod rest;
mod thread_values;
mod timeline;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use kymo_core::bytes::{ReadError, ReadResult};
use kymo_core::{Error, Result};
use kymo_model::profile::{
    Column, Context, ContextId, ContextNumber, ContextValue, Derived, FileId, Function, FunctionId,
    IdKind, IdPart, Metric, MetricId, ModuleId, ProfileView, Relation, Scope, Siblings, Statistic,
    SummaryValue, Thread, ThreadId, ThreadSet, ThreadValue, Values, callee_totals,
    statistics_of_threads,
};

use crate::read::{Database, Meta, NO_ACTIVITY, ProfileDb};
use crate::rows;
use crate::spec::{
    FileKind, LEXICAL_FUNCTION, LEXICAL_INSTRUCTION, LEXICAL_LINE, LEXICAL_LOOP, RELATION_INLINED,
    RELATION_LEXICAL,
};
use crate::taxonomy::{Resolved, Taxonomy};
use crate::types::{self, Id, Profile};
use crate::walk::TreeWalk;
use columns::Columns;
use rest::{REST_ID, is_rest, name_of_rest, rest_context, whole_context};
use thread_values::ThreadValues;

pub(crate) use columns::{scope_of, scope_rank, statistic_of};
pub(crate) use timeline::Timeline;

/// Greatest number of nodes that may describe how metrics are shown.
const TAXONOMY_NODES_MAX: u64 = 1 << 20;

/// Greatest number of bytes that labels may take in a small file.
const LABELS_LEAST: u64 = 1 << 24;

/// Folder for copies of source files in a database.
const COPIES: &str = "src/";

/// The path of what cannot be read.
const UNREADABLE: &str = "<unreadable>";

/// The profile of a database. A context is found by where its record is in `meta.db`.
pub(crate) struct Profiles {
    pub(crate) database: Arc<Database>,
    columns: Columns,
    taxonomy: Taxonomy,
    /// Metrics that the taxonomy computes, once that is asked for.
    derived: OnceLock<Resolved>,
    /// The summary, where it can be read.
    summary: Option<Profile>,
    /// The index of the first thread: the summary comes before.
    first_thread: u64,
    /// Contexts by their number.
    by_number: OnceLock<Vec<(u32, u64)>>,
    /// Number of threads that have values, where `profile.db` is not there to give it.
    unnamed: OnceLock<u64>,
    /// True if something was measured outside of all entry points, once that is asked for.
    has_rest: OnceLock<bool>,
    /// True if `cct.db` was compared with the summary.
    cct_compared: OnceLock<()>,
    /// Values of some threads that were read last.
    gathered: Mutex<Option<Arc<ThreadValues>>>,
}

impl Profiles {
    /// Nothing unless there is a tree, and values.
    pub(crate) fn new(database: Arc<Database>) -> Option<Self> {
        let mut columns = Columns::new(&database.meta.as_ref()?.metrics);
        let taxonomy = taxonomy_of(&database);
        taxonomy.describe(columns.metrics_mut());
        for (line, why) in taxonomy.unusable(columns.metrics()) {
            database.note_taxonomy(line as u64, why);
        }
        if database.profile.is_none() && database.cct.is_none() {
            return None;
        }
        let (summary, first_thread) = summary_of(&database);
        Some(Self { columns, taxonomy, summary, first_thread, ..Self::for_names(database) })
    }

    /// Makes a view for the names of contexts, whether there are values or not.
    pub(crate) fn for_names(database: Arc<Database>) -> Self {
        let (columns, first_thread) = (Columns::new(&[]), 1);
        let (taxonomy, derived, summary, by_number, unnamed) = <_>::default();
        let (has_rest, cct_compared, gathered) = <_>::default();
        Self {
            database,
            columns,
            taxonomy,
            derived,
            summary,
            first_thread,
            by_number,
            unnamed,
            has_rest,
            cct_compared,
            gathered,
        }
    }

    /// Says what cannot be read, once.
    pub(crate) fn note(&self, error: &Error) {
        let parts = self.database.parts();
        if let Error::ReadIn { file, error } = error
            && let Some(part) = parts.into_iter().find(|part| file.ends_with(part.kind.name()))
        {
            self.database.ok_or_note::<()>(part, Err(error.clone()));
        }
    }

    /// Says that what a metric comes to is infinite, or no number.
    pub(crate) fn note_total(&self, metric: &str, total: f64) {
        if let Some(part) = self.database.parts().find(|part| part.kind != FileKind::Meta) {
            let name = kymo_core::shortened(metric);
            let message = format!("{name} comes to {total}: it is infinite, or no number");
            self.database.note_sum(part, "not-a-number", 0, message);
        }
    }

    fn meta(&self) -> Result<&Meta> {
        self.database.meta.as_ref().ok_or_else(|| Error::request("there is no meta.db"))
    }

    fn read_meta<T>(&self, read: impl FnOnce(&Meta) -> ReadResult<T>) -> Result<T> {
        let meta = self.meta()?;
        meta.part.with_file(read(meta))
    }

    /// Returns what was read. In salvage mode, what cannot be read is reported and left out.
    fn salvaged<T>(&self, read: Result<T>, instead: impl FnOnce() -> T) -> Result<T> {
        match read {
            Err(error) if self.database.is_salvaged() => {
                self.note(&error);
                Ok(instead())
            }
            read => read,
        }
    }

    /// Returns true if a context can be read. Where the others are wanted, one that cannot is said
    /// and left out; else it is found when it is asked for.
    fn is_readable(&self, id: ContextId) -> Result<bool> {
        if !self.database.is_salvaged() {
            return Ok(true);
        }
        let meta = self.meta()?;
        Ok(self.database.ok_or_note(&meta.part, meta.node(id.0)).is_some())
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

    /// Returns the number of threads.
    fn threads(&self) -> u64 {
        match &self.database.profile {
            Some(file) => file.profiles.count.saturating_sub(self.first_thread),
            None => *self.unnamed.get_or_init(|| {
                let values = || rows::context_values(&self.database);
                // Every thread has a value: one of a higher number is none. What it has is said
                // where it is left out.
                let most = values().count() as u64;
                values().map(|row| row.profile).filter(|index| *index <= most).max().unwrap_or(0)
            }),
        }
    }

    fn threads_max(&self) -> usize {
        usize::try_from(self.threads()).unwrap_or(usize::MAX)
    }

    fn profile(&self, thread: ThreadId) -> Result<(&ProfileDb, Profile)> {
        let absent = || Error::Request(format!("there is no thread {}", thread.0));
        let file = self.database.profile.as_ref().ok_or_else(absent)?;
        let profile = file.part.with_file(file.profile(self.profile_index(thread)))?;
        Ok((file, profile.ok_or_else(absent)?))
    }

    /// Returns the values of a context in the summary; `None` unless it has the statistic of all
    /// columns. Columns for which threads have no values are 0.
    fn summary_values(
        &self,
        statistic: Statistic,
        context: &Context,
        columns: &[Column],
        to: &mut [f64],
    ) -> Option<Result<()>> {
        let id = |column: &Column| self.columns.statistic(*column, statistic);
        let is_told = |this_column: &Column| {
            self.columns.id(*this_column).is_none() || id(this_column).is_some()
        };
        if !columns.iter().all(is_told) {
            return None;
        }
        let (file, summary) = self.ordered_summary()?;
        to.fill(0.0);
        let Ok(ctx_id) = u32::try_from(context.number.0) else { return Some(Ok(())) };
        let read = file.each_found(summary, ctx_id, columns.iter().map(id), |place, value| {
            if let Some(to) = to.get_mut(place) {
                *to += value;
            }
        });
        Some(file.part.with_file(read))
    }

    /// The summary. One that is out of order is said, and threads are summed up instead.
    fn ordered_summary(&self) -> Option<(&ProfileDb, &Profile)> {
        let (file, summary) = (self.database.profile.as_ref()?, self.summary.as_ref()?);
        self.database.ok_or_note(&file.part, file.require_order(summary))?;
        Some((file, summary))
    }

    fn resolved(&self) -> &Resolved {
        self.derived.get_or_init(|| self.taxonomy.resolve(self.columns.metrics()))
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
            database.ok_or_note::<()>(&file.part, Err(error));
            (None, 1)
        }
    }
}

/// Returns the way in which metrics are shown; as they are, where that cannot be read.
fn taxonomy_of(database: &Database) -> Taxonomy {
    let Some(source) = &database.taxonomy else { return Taxonomy::default() };
    let text = source.bytes().map_err(|error| error.to_string()).and_then(|bytes| {
        std::str::from_utf8(&bytes).map(str::to_owned).map_err(|error| error.to_string())
    });
    text.and_then(|text| Taxonomy::read(&text, TAXONOMY_NODES_MAX)).unwrap_or_else(|why| {
        database.note_no_taxonomy(&why);
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

/// The number of a context. 0 stands for the whole, and for idle: only a root of the first drafts
/// that says so has it.
fn number_of(found: &types::Context) -> ContextNumber {
    let is_idle = found.entry.as_ref().is_some_and(|entry| entry.name == NO_ACTIVITY);
    if found.ctx_id == 0 && !is_idle {
        ContextNumber::NONE
    } else {
        ContextNumber(found.ctx_id.into())
    }
}

/// Returns a context as core describes it.
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
        number: number_of(found),
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

    fn derived(&self) -> Vec<Metric> {
        self.taxonomy.derived(self.resolved())
    }

    fn derive(&self, place: usize) -> Option<Derived> {
        self.taxonomy.derive(self.resolved(), place)
    }

    fn thread_count(&self) -> usize {
        self.threads_max()
    }

    fn thread(&self, id: ThreadId) -> Result<Thread> {
        if self.database.profile.is_none() && u64::from(id.0) < self.threads() {
            return Ok(unnamed(self.profile_index(id)));
        }
        let absent = || Error::Request(format!("there is no thread {}", id.0));
        let file = self.database.profile.as_ref().ok_or_else(absent)?;
        let record =
            file.part.with_file(file.record(self.profile_index(id)))?.ok_or_else(absent)?;
        let ids = file.part.with_file(file.ids(&record))?;
        if ids.is_empty() {
            return Ok(unnamed(record.index));
        }
        Ok(thread_of(&self.database, &ids))
    }

    fn contexts_max(&self) -> u64 {
        // One more for what no entry point has.
        self.database.meta.as_ref().map_or(0, Meta::contexts_max).saturating_add(1)
    }

    fn is_salvaged(&self) -> bool {
        self.database.is_salvaged()
    }

    fn on_cycle(&self, below: ContextId) -> Result<()> {
        let why = "the tree leads round: some of these are reached twice";
        let round = self.read_meta(|_| Err(ReadError::invalid("children", below.0, why)));
        self.salvaged(round, || ())
    }

    fn overlapping_names(&self, function_id: Option<FunctionId>) -> Error {
        let why = "names come to more than the file has room for: they lie on top of each other";
        let at = function_id.map_or(0, |function| function.0);
        let error = self.read_meta(|_| Err::<(), _>(ReadError::invalid("function name", at, why)));
        error.err().unwrap_or_else(|| Error::request(why))
    }

    fn labels_max(&self) -> u64 {
        // Labels have more than the names that are in the file: lines, addresses, modules.
        let bytes = self.database.meta.as_ref().map_or(0, |meta| meta.part.len());
        bytes.saturating_mul(4).saturating_add(LABELS_LEAST)
    }

    fn roots(&self, to: &mut Vec<ContextId>) -> Result<()> {
        // Whoever asks for all threads now may ask for some of them next.
        self.compare_cct();
        to.extend(self.entries()?.into_iter().map(|entry| entry.id));
        to.extend(self.has_rest().then_some(REST_ID));
        Ok(())
    }

    fn children(&self, context_id: ContextId) -> Result<Siblings> {
        if context_id == REST_ID {
            return Ok(Siblings::default());
        }
        let range = self.read_meta(|meta| meta.children_of(context_id.0));
        let Range { start, end } = self.salvaged(range, || 0..0)?;
        Ok(Siblings { next: start, end })
    }

    fn next_sibling(&self, siblings: &mut Siblings) -> Result<Option<ContextId>> {
        while !siblings.is_empty() {
            let next = ContextId(siblings.next);
            let size = self.read_meta(|meta| meta.sibling_bytes(&(siblings.next..siblings.end)));
            // Where one ends the next would begin.
            let left = siblings.end - siblings.next;
            siblings.next += self.salvaged(size, || left)?;
            if self.is_readable(next)? {
                return Ok(Some(next));
            }
        }
        Ok(None)
    }

    fn context(&self, id: ContextId) -> Result<Context> {
        if id == REST_ID {
            return Ok(rest_context());
        }
        let found = self.read_meta(|meta| Ok(context_of(meta, &meta.node(id.0)?)))?;
        if found.number == ContextNumber::NONE {
            let why = "0 stands for the whole, and is no context: it has no values";
            let error = ReadError::invalid("ctxId", id.0, why);
            self.database.ok_or_note::<()>(&self.meta()?.part, Err(error));
        }
        Ok(found)
    }

    fn find(&self, number: ContextNumber) -> Result<Option<ContextId>> {
        let numbers = self.numbers();
        let Ok(number) = u32::try_from(number.0) else { return Ok(None) };
        let found = numbers.binary_search_by_key(&number, |(number, _)| *number).ok();
        let found = found.and_then(|index| numbers.get(index));
        Ok(found.map(|(_, offset)| ContextId(*offset)))
    }

    fn function(&self, id: FunctionId) -> Result<Function> {
        if let Some(rest) = name_of_rest(id) {
            return Ok(rest);
        }
        let read = self.read_meta(|meta| {
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
        });
        self.salvaged(read, Function::default)
    }

    fn function_name(&self, id: FunctionId) -> Result<Cow<'_, str>> {
        match self.meta()? {
            meta if name_of_rest(id).is_none() && !meta.is_root(id.0) => {
                let read = meta.part.with_file(meta.function_name(id.0));
                self.salvaged(read, || Cow::Borrowed(""))
            }
            _ => Ok(self.function(id)?.name.into()),
        }
    }

    fn file(&self, id: FileId) -> Result<String> {
        let path = self.read_meta(|meta| {
            let path = meta.path("file path", id.0)?;
            let is_copied = meta.is_copied(id.0)? && path.starts_with(COPIES);
            // What was copied is known by where it was.
            Ok(if is_copied { path.replacen(COPIES, "/", 1) } else { path })
        });
        self.salvaged(path, || UNREADABLE.to_owned())
    }

    fn module(&self, id: ModuleId) -> Result<String> {
        let path = self.read_meta(|meta| meta.path("module path", id.0));
        self.salvaged(path, || UNREADABLE.to_owned())
    }

    fn sums(
        &self,
        context: &Context,
        columns: &[Column],
        threads: Option<&ThreadSet>,
        to: &mut [f64],
    ) -> Result<()> {
        self.statistics(Statistic::Sum, context, columns, threads, to)
    }

    fn statistics(
        &self,
        statistic: Statistic,
        context: &Context,
        columns: &[Column],
        threads: Option<&ThreadSet>,
        to: &mut [f64],
    ) -> Result<()> {
        let read = match (is_rest(context), statistic) {
            (true, Statistic::Sum) => self.rest_sums(columns, threads, to),
            (true, _) => statistics_of_threads(self, statistic, context, columns, threads, to),
            (false, _) => self.statistics_of(statistic, context, columns, threads, to),
        };
        self.salvaged(read, || ())
    }

    fn stored_statistics(&self) -> Option<Values<'_, SummaryValue>> {
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
        if is_rest(context) { self.rest_values() } else { self.values_of_context(context) }
    }

    fn add_inclusive(&self, metric: MetricId, contexts: &[Context], to: &mut [f64]) -> Result<()> {
        match &self.database.cct {
            Some(file) => self.inclusive_in(file, metric, contexts, to),
            None => self.inclusive_by_thread(metric, contexts, to),
        }
    }

    fn totals(&self, threads: Option<&ThreadSet>) -> Result<Vec<f64>> {
        self.compare_cct();
        let totals = self.entry_totals(threads).and_then(|mut totals| {
            let called = self.columns.without_inclusive();
            for (metric, total) in called.iter().zip(callee_totals(self, &called, threads)?) {
                let index = usize::try_from(metric.0).unwrap_or(usize::MAX);
                let unlisted = || Error::request(format!("metric {} has no total", metric.0));
                *totals.get_mut(index).ok_or_else(unlisted)? = total;
            }
            Ok(totals)
        });
        self.salvaged(totals, || vec![0.0; self.columns.metrics().len()])
    }

    fn whole_context(&self) -> Option<Context> {
        // In the first drafts 0 is the number of an entry point.
        let is_entry = |entry: &Context| entry.number == ContextNumber(0);
        let entries = self.entries().ok()?;
        (!entries.iter().any(is_entry)).then(whole_context)
    }

    fn numbers_max(&self) -> u64 {
        self.contexts_max()
    }

    fn on_duplicate(&self, context: &Context) -> Result<()> {
        let why = "another context has this number: it is left out, with all below it";
        let error = ReadError::invalid("ctxId", context.id.0, why);
        self.database.ok_or_note::<()>(&self.meta()?.part, Err(error));
        Ok(())
    }

    fn thread_values(&self, thread: ThreadId) -> Result<Values<'_, ContextValue>> {
        let index = self.profile_index(thread);
        let values: rows::Rows<rows::ValueRow> = if self.database.profile.is_some() {
            let (file, profile) = self.profile(thread)?;
            file.part.with_file(file.require_order(&profile))?;
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
