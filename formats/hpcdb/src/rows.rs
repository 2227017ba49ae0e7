//! The rows of every table, read one after another from the files.
//!
//! Rows that cannot be read are findings, and the others are read. Arrays of a damaged file may
//! lie on top of each other; no more rows are given than the file has room for.

use std::collections::HashMap;
use std::sync::Arc;

use kymo_core::bytes::{ReadError, ReadResult};
use kymo_core::model::profile::ProfileView;

use crate::model::{Profiles, context_of};
use crate::read::{CctDb, Database, Meta, Part, ProfileDb, TraceDb};
use crate::spec::{
    ELEMENT_BYTES, PROFILE_VALUE_BYTES, RELATION_LEXICAL, lexical_name, relation_name,
};
use crate::types::{Context, CtxInfo, Profile, PropagationScope, Trace};
use crate::walk::TreeWalk;

/// Rows of a table.
pub(crate) type Rows<T> = Box<dyn Iterator<Item = T> + Send>;

/// A kind of value that threads have.
pub(crate) struct MetricRow {
    pub(crate) offset: u64,
    pub(crate) metric: String,
    pub(crate) scope: String,
    pub(crate) id: u64,
}

/// A kind of value that the summary has.
pub(crate) struct StatisticRow {
    pub(crate) offset: u64,
    pub(crate) metric: String,
    pub(crate) scope: String,
    pub(crate) formula: String,
    pub(crate) combine: &'static str,
    pub(crate) id: u64,
}

/// A module or a source file.
pub(crate) struct PathRow {
    pub(crate) offset: u64,
    pub(crate) path: Option<String>,
    pub(crate) is_copied: bool,
}

/// A function.
pub(crate) struct FunctionRow {
    pub(crate) offset: u64,
    pub(crate) name: Option<String>,
    pub(crate) module: Option<String>,
    pub(crate) address: u64,
    pub(crate) file: Option<String>,
    pub(crate) line: u64,
}

/// An entry point or a context.
pub(crate) struct ContextRow {
    pub(crate) offset: u64,
    pub(crate) context: u64,
    pub(crate) parent: Option<u64>,
    pub(crate) depth: u64,
    /// The names on the way to it.
    pub(crate) path: String,
    pub(crate) scope: &'static str,
    pub(crate) relation: &'static str,
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u64>,
    pub(crate) module: Option<String>,
    pub(crate) address: Option<u64>,
    /// Where the call that led to it stands.
    pub(crate) call_file: Option<String>,
    pub(crate) call_line: Option<u64>,
}

/// A profile.
pub(crate) struct ProfileRow {
    pub(crate) offset: u64,
    pub(crate) profile: u64,
    pub(crate) is_summary: bool,
    pub(crate) ids: Option<String>,
    /// What is named by the kinds of [`ID_COLUMNS`], in their order.
    pub(crate) of_kind: [Option<u64>; ID_COLUMNS.len()],
    pub(crate) contexts: u64,
    pub(crate) values: u64,
}

/// Kinds of identifiers that profiles have columns for.
pub(crate) const ID_COLUMNS: [&str; 7] =
    ["NODE", "RANK", "THREAD", "CORE", "GPUDEVICE", "GPUCONTEXT", "GPUSTREAM"];

/// A value, by profile or by context.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueRow {
    pub(crate) offset: u64,
    pub(crate) profile: u64,
    pub(crate) context: u64,
    pub(crate) metric: u64,
    pub(crate) value: f64,
}

/// A value of the summary, with what it is.
pub(crate) struct SummaryRow {
    pub(crate) value: ValueRow,
    /// Nothing where `meta.db` does not list it.
    pub(crate) statistic: Option<Arc<StatisticRow>>,
}

/// A trace.
pub(crate) struct TraceRow {
    pub(crate) offset: u64,
    pub(crate) profile: u64,
    pub(crate) samples: u64,
    /// Bytes that are too few for another sample.
    pub(crate) rest: u64,
    pub(crate) first: Option<u64>,
    pub(crate) last: Option<u64>,
}

/// An element of a trace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SampleRow {
    pub(crate) offset: u64,
    pub(crate) profile: u64,
    pub(crate) time: u64,
    pub(crate) context: u64,
}

fn meta(database: &Arc<Database>) -> Option<&Meta> {
    database.meta.as_ref()
}

pub(crate) fn metrics(database: &Arc<Database>) -> Rows<MetricRow> {
    let metrics = meta(database).map(|meta| meta.metrics.clone()).unwrap_or_default();
    Box::new(metrics.into_iter().flat_map(|metric| {
        metric.instances.into_iter().map(move |instance| MetricRow {
            offset: instance.offset,
            metric: metric.name.clone(),
            scope: instance.scope.to_string(),
            id: instance.prop_metric_id.into(),
        })
    }))
}

pub(crate) fn statistics(database: &Arc<Database>) -> Rows<StatisticRow> {
    let metrics = meta(database).map(|meta| meta.metrics.clone()).unwrap_or_default();
    Box::new(metrics.into_iter().flat_map(|metric| {
        metric.statistics.into_iter().map(move |statistic| StatisticRow {
            offset: statistic.offset,
            metric: metric.name.clone(),
            scope: statistic.scope.to_string(),
            formula: statistic.formula.to_string(),
            combine: crate::spec::combine_name(statistic.combine),
            id: statistic.stat_metric_id.into(),
        })
    }))
}

pub(crate) fn scopes(database: &Arc<Database>) -> Rows<PropagationScope> {
    let scopes = meta(database).map(|meta| meta.scopes.clone()).unwrap_or_default();
    Box::new(scopes.into_iter())
}

pub(crate) fn modules(database: &Arc<Database>) -> Rows<PathRow> {
    let database = Arc::clone(database);
    let table = database.meta.as_ref().map(|meta| meta.modules).unwrap_or_default();
    Box::new(table.offsets().filter_map(move |offset| {
        let meta = database.meta.as_ref()?;
        let path = database.noted(&meta.part, meta.path("module path", offset));
        Some(PathRow { offset, path, is_copied: false })
    }))
}

pub(crate) fn files(database: &Arc<Database>) -> Rows<PathRow> {
    let database = Arc::clone(database);
    let table = database.meta.as_ref().map(|meta| meta.files).unwrap_or_default();
    Box::new(table.offsets().filter_map(move |offset| {
        let meta = database.meta.as_ref()?;
        let path = database.noted(&meta.part, meta.path("file path", offset));
        let is_copied = database.noted(&meta.part, meta.is_copied(offset))?;
        Some(PathRow { offset, path, is_copied })
    }))
}

pub(crate) fn functions(database: &Arc<Database>) -> Rows<FunctionRow> {
    let database = Arc::clone(database);
    let table = database.meta.as_ref().map(|meta| meta.functions).unwrap_or_default();
    Box::new(table.offsets().filter_map(move |offset| {
        let meta = database.meta.as_ref()?;
        let function = database.noted(&meta.part, meta.function(offset))?;
        Some(FunctionRow {
            offset,
            name: function.name,
            module: path(&database, meta, "module path", function.module),
            address: function.offset,
            file: path(&database, meta, "file path", function.file),
            line: function.line.into(),
        })
    }))
}

fn path(
    database: &Database,
    meta: &Meta,
    what: &'static str,
    pointer: Option<u64>,
) -> Option<String> {
    database.noted(&meta.part, meta.path(what, pointer?))
}

/// Bytes that a path has at most; of a longer one the last names.
const PATH_BYTES_MAX: usize = 4096;

/// How many characters of a name are held for the paths of what is below.
const NAME_HELD: usize = 512;

/// What stands between the names of a path.
const BETWEEN: &str = " > ";

/// Contexts from the entry points down, each before its children.
pub(crate) fn contexts(database: &Arc<Database>) -> Rows<ContextRow> {
    let mut walk = TreeWalk::new(Arc::clone(database));
    let view = Profiles::of_names(Arc::clone(database));
    let mut names: Vec<String> = Vec::new();
    let mut calls = Calls::default();
    Box::new(std::iter::from_fn(move || {
        let (context, parent, depth) = walk.next()?;
        let meta = view.database.meta.as_ref()?;
        let call = calls.of(&context, depth);
        let mut row = context_row(&view.database, meta, &context, call, parent, depth);
        let name = view.label(&context_of(meta, &context));
        // That it cannot be read was said with the row.
        let name = name.unwrap_or_else(|_| format!("<unknown {}>", row.scope));
        names.truncate(usize::try_from(depth).unwrap_or(usize::MAX));
        let held = name.char_indices().nth(NAME_HELD).map_or(name.len(), |(end, _)| end);
        names.push(name.get(..held).unwrap_or_default().to_owned());
        row.path = path_of(&names);
        if row.scope == "function" {
            row.function = Some(name);
        }
        Some(row)
    }))
}

/// Where calls stand that do not say it themselves: in the line that the nearest context above
/// says, up to the one that was called.
#[derive(Default)]
struct Calls {
    /// Where calls from each context on the way to where we are stand.
    below: Vec<Option<(u64, u32)>>,
}

impl Calls {
    /// Where the call that led to a context stands.
    fn of(&mut self, context: &Context, depth: u64) -> Option<(u64, u32)> {
        self.below.truncate(usize::try_from(depth).unwrap_or(usize::MAX));
        let above = self.below.last().copied().flatten();
        let is_called = context.relation != RELATION_LEXICAL;
        let line = if context.is_call_line { context.source } else { above.filter(|_| !is_called) };
        self.below.push(line);
        context.call.or(above.filter(|_| is_called))
    }
}

/// As many of the last names as there is room for.
fn path_of(names: &[String]) -> String {
    let mut bytes = 0;
    let fits = |name: &&String| {
        bytes += name.len() + BETWEEN.len();
        bytes <= PATH_BYTES_MAX
    };
    let shown = names.iter().rev().take_while(fits).count();
    let left_out = names.len() - shown;
    let path = names.get(left_out..).unwrap_or_default().join(BETWEEN);
    if left_out > 0 { format!("…{BETWEEN}{path}") } else { path }
}

/// What a context is. Where it has no place of its own, it is where its function is defined.
fn context_row(
    database: &Database,
    meta: &Meta,
    context: &Context,
    call: Option<(u64, u32)>,
    parent: Option<u32>,
    depth: u64,
) -> ContextRow {
    let function = |pointer| database.noted(&meta.part, meta.function(pointer));
    let function = context.function.and_then(function);
    let defined = function.as_ref().and_then(|function| Some((function.file?, function.line)));
    let begins = function.as_ref().and_then(|function| Some((function.module?, function.offset)));
    let (source, point) = (context.source.or(defined), context.point.or(begins));
    let entry = context.entry.as_ref();
    ContextRow {
        offset: context.offset,
        context: context.ctx_id.into(),
        parent: parent.map(u64::from),
        depth,
        path: String::new(),
        scope: if entry.is_some() { "entry" } else { lexical_name(context.lexical_type) },
        relation: relation_name(context.relation),
        function: entry.map(|entry| entry.name.clone()),
        file: path(database, meta, "file path", source.map(|(file, _)| file)),
        line: source.map(|(_, line)| line.into()),
        module: path(database, meta, "module path", point.map(|(module, _)| module)),
        address: point.map(|(_, address)| address),
        call_file: path(database, meta, "file path", call.map(|(file, _)| file)),
        call_line: call.map(|(_, line)| line.into()),
    }
}

pub(crate) fn profiles(database: &Arc<Database>) -> Rows<ProfileRow> {
    let database = Arc::clone(database);
    let count = database.profile.as_ref().map_or(0, |file| file.profiles.count);
    Box::new((0..count).filter_map(move |index| {
        let file = database.profile.as_ref()?;
        let profile = database.noted(&file.part, file.profile(index))??;
        let ids = database.noted(&file.part, file.ids(&profile)).unwrap_or_default();
        let thread = crate::model::thread_of(&database, &ids);
        Some(ProfileRow {
            offset: profile.offset,
            profile: index,
            is_summary: profile.is_summary,
            ids: (!ids.is_empty()).then(|| thread.to_string()),
            of_kind: ID_COLUMNS.map(|kind| thread.id(kind)),
            contexts: profile.n_ctxs,
            values: profile.n_values,
        })
    }))
}

/// How many rows a file has room for: arrays of a damaged one may lie on top of each other.
pub(crate) struct Room {
    left: u64,
}

impl Room {
    pub(crate) fn of_values(file: &ProfileDb) -> Self {
        Self { left: file.part.len() / PROFILE_VALUE_BYTES }
    }

    pub(crate) fn of_context_values(file: &CctDb) -> Self {
        Self { left: file.part.len() / PROFILE_VALUE_BYTES }
    }

    pub(crate) fn of_samples(file: &TraceDb) -> Self {
        Self { left: file.part.len() / ELEMENT_BYTES }
    }

    /// Whether there is room for so many more; where there is none, that is said once.
    pub(crate) fn take(
        &mut self,
        database: &Database,
        part: &Part,
        offset: u64,
        rows: u64,
    ) -> bool {
        let left = self.left.checked_sub(rows);
        self.left = left.unwrap_or(0);
        if left.is_none() {
            let why = "there are more than the file has room for: arrays lie on top of each other";
            let error = ReadError::invalid("values", offset, why);
            database.noted::<()>(part, Err(error));
        }
        left.is_some()
    }
}

/// Values profile by profile, context by context.
pub(crate) fn values(database: &Arc<Database>) -> Rows<ValueRow> {
    let database = Arc::clone(database);
    let count = database.profile.as_ref().map_or(0, |file| file.profiles.count);
    let mut room = database.profile.as_ref().map(Room::of_values);
    let blocks = (0..count).flat_map(move |index| {
        let database = Arc::clone(&database);
        let profile = database.profile.as_ref().zip(room.as_mut()).and_then(|(file, room)| {
            let profile = database.noted(&file.part, file.profile(index))??;
            let is_room = room.take(&database, &file.part, profile.offset, profile.n_values);
            is_room.then_some(profile)
        });
        profile
            .into_iter()
            .flat_map(move |profile| values_of(Arc::clone(&database), index, profile))
    });
    Box::new(blocks)
}

/// The values of one profile.
pub(crate) fn values_of(
    database: Arc<Database>,
    index: u64,
    profile: Profile,
) -> impl Iterator<Item = ValueRow> + Send {
    let mut at = 0;
    let mut run = Run::default();
    std::iter::from_fn(move || {
        let file = database.profile.as_ref()?;
        while at < profile.n_values {
            let value = at;
            at += 1;
            let context = run.key_of(value, profile.n_ctxs, |entry| file.index(&profile, entry));
            let context = context.and_then(|context| {
                context.ok_or_else(|| unindexed("context indices", profile.ctx_indices))
            });
            let read = context.and_then(|context| Ok((context, file.value(&profile, value)?)));
            if let Some((context, (metric, amount))) = database.noted(&file.part, read) {
                return Some(ValueRow {
                    offset: profile.values + value * PROFILE_VALUE_BYTES,
                    profile: index,
                    context: context.into(),
                    metric: metric.into(),
                    value: amount,
                });
            }
        }
        None
    })
}

/// The values of the summary, context by context.
pub(crate) fn summary(database: &Arc<Database>) -> Rows<SummaryRow> {
    let statistics = statistics(database).map(|row| (row.id, Arc::new(row)));
    let statistics: HashMap<u64, Arc<StatisticRow>> = statistics.collect();
    let profile = database.profile.as_ref().and_then(|file| {
        let first = database.noted(&file.part, file.profile(0))??;
        first.is_summary.then_some(first)
    });
    let database = Arc::clone(database);
    let values = profile.into_iter().flat_map(move |of| values_of(Arc::clone(&database), 0, of));
    Box::new(values.map(move |value| {
        let statistic = statistics.get(&value.metric).map(Arc::clone);
        SummaryRow { value, statistic }
    }))
}

/// Values that come before the first that an index lists.
fn unindexed(what: &'static str, offset: u64) -> ReadError {
    ReadError::invalid(what, offset, "there are values that no entry of the index has")
}

/// Which run of an index a value belongs to, asked for values in ascending order.
#[derive(Default)]
struct Run {
    next: u64,
    key: Option<u32>,
    upcoming: Option<(u32, u64)>,
}

impl Run {
    fn key_of(
        &mut self,
        value: u64,
        count: u64,
        index: impl Fn(u64) -> ReadResult<(u32, u64)>,
    ) -> ReadResult<Option<u32>> {
        loop {
            if self.upcoming.is_none() && self.next < count {
                self.upcoming = Some(index(self.next)?);
                self.next += 1;
            }
            match self.upcoming {
                Some((key, start)) if start <= value => {
                    self.key = Some(key);
                    self.upcoming = None;
                }
                _ => return Ok(self.key),
            }
        }
    }
}

/// Values context by context, metric by metric.
pub(crate) fn context_values(database: &Arc<Database>) -> Rows<ValueRow> {
    let database = Arc::clone(database);
    let count = database.cct.as_ref().map_or(0, |file| file.contexts.count);
    let mut room = database.cct.as_ref().map(Room::of_context_values);
    let blocks = (0..count).flat_map(move |ctx_id| {
        let database = Arc::clone(&database);
        let context = database.cct.as_ref().zip(room.as_mut()).and_then(|(file, room)| {
            let context = database.noted(&file.part, file.context(ctx_id))??;
            let is_room = room.take(&database, &file.part, context.offset, context.n_values);
            is_room.then_some(context)
        });
        context
            .into_iter()
            .flat_map(move |info| context_values_of(Arc::clone(&database), ctx_id, info))
    });
    Box::new(blocks)
}

/// The values of one context.
pub(crate) fn context_values_of(
    database: Arc<Database>,
    ctx_id: u64,
    context: CtxInfo,
) -> impl Iterator<Item = ValueRow> + Send {
    let mut at = 0;
    let mut run = Run::default();
    std::iter::from_fn(move || {
        let file: &CctDb = database.cct.as_ref()?;
        while at < context.n_values {
            let value = at;
            at += 1;
            let metric = run.key_of(value, context.n_metrics, |entry| file.index(&context, entry));
            let metric = metric.and_then(|metric| {
                metric.ok_or_else(|| unindexed("metric indices", context.metric_indices))
            });
            let read = metric.and_then(|metric| Ok((metric, file.value(&context, value)?)));
            if let Some((metric, (profile, amount))) = database.noted(&file.part, read) {
                return Some(ValueRow {
                    offset: file.value_offset(&context, value),
                    profile: profile.into(),
                    context: ctx_id,
                    metric: metric.into(),
                    value: amount,
                });
            }
        }
        None
    })
}

/// Traces, in the order of the list.
pub(crate) fn traces(database: &Arc<Database>) -> Rows<TraceRow> {
    let database = Arc::clone(database);
    let count = database.trace.as_ref().map_or(0, |file| file.traces.count);
    Box::new((0..count).filter_map(move |index| {
        let file = database.trace.as_ref()?;
        let trace = database.noted(&file.part, file.trace(index))??;
        let time = |index: Option<u64>| {
            let element = file.element(&trace, index?);
            Some(database.noted(&file.part, element)?.timestamp)
        };
        Some(TraceRow {
            offset: trace.offset,
            profile: trace.prof_index.into(),
            samples: trace.count,
            rest: trace.rest,
            first: time((trace.count > 0).then_some(0)),
            last: time(trace.count.checked_sub(1)),
        })
    }))
}

/// Elements of all traces.
pub(crate) fn samples(database: &Arc<Database>) -> Rows<SampleRow> {
    let database = Arc::clone(database);
    let count = database.trace.as_ref().map_or(0, |file| file.traces.count);
    let mut room = database.trace.as_ref().map(Room::of_samples);
    let lines = (0..count).flat_map(move |index| {
        let database = Arc::clone(&database);
        let trace = database.trace.as_ref().zip(room.as_mut()).and_then(|(file, room)| {
            let trace = database.noted(&file.part, file.trace(index))??;
            let is_room = room.take(&database, &file.part, trace.offset, trace.count);
            is_room.then_some(trace)
        });
        trace.into_iter().flat_map(move |trace| samples_of(Arc::clone(&database), trace))
    });
    Box::new(lines)
}

fn samples_of(database: Arc<Database>, trace: Trace) -> impl Iterator<Item = SampleRow> + Send {
    (0..trace.count).filter_map(move |index| {
        let file: &TraceDb = database.trace.as_ref()?;
        let element = database.noted(&file.part, file.element(&trace, index))?;
        Some(SampleRow {
            offset: TraceDb::element_offset(&trace, index),
            profile: trace.prof_index.into(),
            time: element.timestamp,
            context: element.ctx_id.into(),
        })
    })
}

/// How many values all profiles have.
pub(crate) fn value_count(file: &ProfileDb) -> ReadResult<u64> {
    (0..file.profiles.count).try_fold(0_u64, |sum, index| {
        Ok(sum.saturating_add(file.profile(index)?.map_or(0, |profile| profile.n_values)))
    })
}
