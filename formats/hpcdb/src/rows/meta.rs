//! The rows of `meta.db`: metrics, names, and the tree of contexts.

use std::sync::Arc;

use kymo_model::profile::{CALLS, PATH_NAME_MAX, ProfileView, beginning, path_text};

use super::Rows;
use crate::model::{Profiles, context_of};
use crate::read::{Database, Meta};
use crate::spec::{RELATION_LEXICAL, lexical_name, relation_name};
use crate::types::{Context, PropagationScope};
use crate::walk::TreeWalk;

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
    /// File of the call that led to it.
    pub(crate) call_file: Option<String>,
    pub(crate) call_line: Option<u64>,
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
        let path = database.ok_or_note(&meta.part, meta.path("module path", offset));
        Some(PathRow { offset, path, is_copied: false })
    }))
}

pub(crate) fn files(database: &Arc<Database>) -> Rows<PathRow> {
    let database = Arc::clone(database);
    let table = database.meta.as_ref().map(|meta| meta.files).unwrap_or_default();
    Box::new(table.offsets().filter_map(move |offset| {
        let meta = database.meta.as_ref()?;
        let path = database.ok_or_note(&meta.part, meta.path("file path", offset));
        let is_copied = database.ok_or_note(&meta.part, meta.is_copied(offset))?;
        Some(PathRow { offset, path, is_copied })
    }))
}

pub(crate) fn functions(database: &Arc<Database>) -> Rows<FunctionRow> {
    let database = Arc::clone(database);
    let table = database.meta.as_ref().map(|meta| meta.functions).unwrap_or_default();
    Box::new(table.offsets().filter_map(move |offset| {
        let meta = database.meta.as_ref()?;
        let function = database.ok_or_note(&meta.part, meta.function(offset))?;
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
    database.ok_or_note(&meta.part, meta.path(what, pointer?))
}

/// Bytes that a path has at most; of a longer one the last names.
const PATH_BYTES_MAX: usize = 4096;

/// More names than this are on no path.
const NAMES_HELD: usize = PATH_BYTES_MAX / CALLS.len();

/// Contexts from the entry points down, each before its children.
pub(crate) fn contexts(database: &Arc<Database>) -> Rows<ContextRow> {
    let mut walk = TreeWalk::new(Arc::clone(database));
    let view = Profiles::for_names(Arc::clone(database));
    let mut names = Names::default();
    let mut calls = CallSites::default();
    Box::new(std::iter::from_fn(move || {
        let (context, parent, depth) = walk.next()?;
        let meta = view.database.meta.as_ref()?;
        let call = calls.call_site(&context, depth);
        let mut row = context_row(&view.database, meta, &context, call, parent, depth);
        let name = name_of(&view, meta, &context);
        names.enter(depth, context.offset, &name);
        row.path = names.path(|offset| {
            meta.node(offset).map_or(String::new(), |context| name_of(&view, meta, &context))
        });
        if row.scope == "function" {
            row.function = Some(name);
        }
        Some(row)
    }))
}

fn name_of(view: &Profiles, meta: &Meta, context: &Context) -> String {
    // That it cannot be read is said with its row.
    let unknown = || format!("<unknown {}>", scope_of(context));
    view.label(&context_of(meta, context)).unwrap_or_else(|_| unknown())
}

/// The names on the way to where we are. Those that are too far up to be on a path are forgotten,
/// and made again when they no longer are: a tree may be very deep, and its names long.
#[derive(Default)]
struct Names {
    /// Offset of each context, and its name.
    levels: Vec<(u64, Option<Box<str>>)>,
}

impl Names {
    fn enter(&mut self, depth: u64, offset: u64, name: &str) {
        self.levels.truncate(usize::try_from(depth).unwrap_or(usize::MAX));
        let far = self.levels.len().checked_sub(NAMES_HELD);
        if let Some((_, name)) = far.and_then(|level| self.levels.get_mut(level)) {
            *name = None;
        }
        self.levels.push((offset, Some(beginning(name, PATH_NAME_MAX).into())));
    }

    /// The last names, as many as there is room for. Those that were forgotten are told by where
    /// their contexts are.
    fn path(&mut self, name_at: impl Fn(u64) -> String) -> String {
        let mut bytes = 0;
        for (offset, name) in self.levels.iter_mut().rev() {
            let made = || beginning(&name_at(*offset), PATH_NAME_MAX).into();
            bytes += name.get_or_insert_with(made).len() + CALLS.len();
            if bytes > PATH_BYTES_MAX {
                break;
            }
        }
        let names = self.levels.iter().rev().map(|(_, name)| name.as_deref().unwrap_or_default());
        path_text(names, PATH_BYTES_MAX)
    }
}

/// Places of calls that do not give one themselves: in the line that the nearest context above
/// gives, up to the one that was called.
#[derive(Default)]
struct CallSites {
    /// Places of calls from each context on the way to the current one.
    below: Vec<Option<(u64, u32)>>,
}

impl CallSites {
    /// Returns the place of the call that led to a context.
    fn call_site(&mut self, context: &Context, depth: u64) -> Option<(u64, u32)> {
        self.below.truncate(usize::try_from(depth).unwrap_or(usize::MAX));
        let above = self.below.last().copied().flatten();
        let is_called = context.relation != RELATION_LEXICAL;
        let line = if context.is_call_line { context.source } else { above.filter(|_| !is_called) };
        self.below.push(line);
        context.call.or(above.filter(|_| is_called))
    }
}

fn scope_of(context: &Context) -> &'static str {
    if context.entry.is_some() { "entry" } else { lexical_name(context.lexical_type) }
}

/// Makes the row of a context. Where it has no place of its own, it is at the place where its
/// function is defined.
fn context_row(
    database: &Database,
    meta: &Meta,
    context: &Context,
    call: Option<(u64, u32)>,
    parent: Option<u32>,
    depth: u64,
) -> ContextRow {
    let function = |pointer| database.ok_or_note(&meta.part, meta.function(pointer));
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
        scope: scope_of(context),
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
