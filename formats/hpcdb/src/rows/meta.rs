//! The rows of `meta.db`: metrics, names, and the tree of contexts.

use std::sync::Arc;

use kymo_core::model::profile::ProfileView;

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
    /// Where the call that led to it stands.
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
