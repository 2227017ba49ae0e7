//! Tables of profiles: metrics, threads, contexts and what was measured.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use kymo_core::Result;
use kymo_model::Table;
use kymo_model::profile::{
    self, Context, ContextNumber, ContextValue, FileId, FunctionId, Metric, MetricId, MetricScope,
    ModuleId, ProfileView, Scope, Statistic, Step, Thread, ThreadId, Walk, base_name,
};
use kymo_model::table::{Cell, Column, RowKind};

use super::stream::{CommonRow, RequestedColumns, Rows, TableDescription};
use super::{Description, Maker};

static METRICS: TableDescription<Metrics> =
    TableDescription { name: "metrics", about: "what was measured", columns: METRICS_COLUMNS };

static THREADS: TableDescription<Threads> = TableDescription {
    name: "threads",
    about: "a thread, or a stream of a GPU, of the run",
    columns: THREADS_COLUMNS,
};

static MODULES: TableDescription<Modules> = TableDescription {
    name: "modules",
    about: "a program or library that contexts are in",
    columns: MODULES_COLUMNS,
};

static FILES: TableDescription<Files> = TableDescription {
    name: "files",
    about: "a source file that contexts are in",
    columns: FILES_COLUMNS,
};

static FUNCTIONS: TableDescription<Functions> = TableDescription {
    name: "functions",
    about: "a function that contexts are of",
    columns: FUNCTIONS_COLUMNS,
};

static CONTEXTS: TableDescription<Contexts> = TableDescription {
    name: "contexts",
    about: "a place in the calling-context tree",
    columns: CONTEXTS_COLUMNS,
};

static METRIC_VALUES: TableDescription<ValueRows> = TableDescription {
    name: "metric_values",
    about: "a value of a metric, of a thread in a context",
    columns: METRIC_VALUES_COLUMNS,
};

static TOTALS: TableDescription<Totals> = TableDescription {
    name: "totals",
    about: "a statistic over threads of a metric in a context",
    columns: TOTALS_COLUMNS,
};

/// The tables that are here.
pub(super) fn describe() -> Vec<Description> {
    vec![
        METRICS.parts(),
        THREADS.parts(),
        MODULES.parts(),
        FILES.parts(),
        FUNCTIONS.parts(),
        CONTEXTS.parts(),
        METRIC_VALUES.parts(),
        TOTALS.parts(),
    ]
}

pub(super) fn tables(maker: &Maker, view: &Arc<dyn ProfileView>) -> Vec<Arc<dyn Table>> {
    let view_metrics = Arc::clone(view);
    let view_threads = Arc::clone(view);
    let view_modules = Arc::clone(view);
    let view_files = Arc::clone(view);
    let view_functions = Arc::clone(view);
    let view_contexts = Arc::clone(view);
    let view_values = Arc::clone(view);
    let view_totals = Arc::clone(view);
    vec![
        maker.table(&METRICS, move |_, rows| {
            let stored = view_metrics.metrics();
            let default = super::super::default_metric(&*view_metrics, &stored, None)?;
            let derived = view_metrics.derived();
            for (id, metric) in stored.iter().chain(&derived).enumerate() {
                let is_derived = id >= stored.len();
                let is_default = default.as_ref().is_some_and(|(first, _)| first.0 as usize == id);
                rows.push(&MetricRow { id, metric, is_derived, is_default })?;
            }
            Ok(())
        }),
        maker.table(&THREADS, move |_, rows| {
            for id in 0..view_threads.thread_count() {
                let thread =
                    view_threads.thread(ThreadId(u32::try_from(id).unwrap_or(u32::MAX)))?;
                rows.push(&ThreadRow { id, thread })?;
            }
            Ok(())
        }),
        maker.table(&MODULES, move |_, rows| {
            for id in named(&*view_modules)?.modules {
                let path = view_modules.module(id)?;
                rows.push(&PathRow { id: id.0, path })?;
            }
            Ok(())
        }),
        maker.table(&FILES, move |_, rows| {
            for id in named(&*view_files)?.files {
                let path = view_files.file(id)?;
                rows.push(&PathRow { id: id.0, path })?;
            }
            Ok(())
        }),
        maker.table(&FUNCTIONS, move |_, rows| {
            for id in named(&*view_functions)?.functions {
                let function = view_functions.function(id)?;
                rows.push(&FunctionRow { id, function })?;
            }
            Ok(())
        }),
        maker.table(&CONTEXTS, move |wanted, rows| each_context(&*view_contexts, wanted, rows)),
        maker.table(&METRIC_VALUES, move |_, rows| {
            for thread in 0..view_values.thread_count() {
                let id = ThreadId(u32::try_from(thread).unwrap_or(u32::MAX));
                for value in view_values.thread_values(id)? {
                    rows.push(&ValueRow { thread, value: value? })?;
                }
            }
            Ok(())
        }),
        maker.table(&TOTALS, move |_, rows| each_total(&*view_totals, rows)),
    ]
}

/// Modules, files and functions that contexts name.
#[derive(Default)]
struct Named {
    modules: BTreeSet<ModuleId>,
    files: BTreeSet<FileId>,
    functions: BTreeSet<FunctionId>,
}

fn named(view: &dyn ProfileView) -> Result<Named> {
    let mut named = Named::default();
    for step in Walk::new(view)? {
        let Step::Enter(context, _) = step? else { continue };
        named.modules.extend(context.point.map(|(module, _)| module));
        named.files.extend(context.source.map(|(file, _)| file));
        if let Some(id) = context.function
            && named.functions.insert(id)
        {
            let function = view.function(id)?;
            named.modules.extend(function.module);
            named.files.extend(function.file);
        }
    }
    Ok(named)
}

fn each_context(
    view: &dyn ProfileView,
    wanted: &RequestedColumns,
    rows: &mut Rows<'_, Contexts>,
) -> Result<()> {
    let needs_names =
        ["function", "short_name", "path_hash"].iter().any(|column| wanted.contains(column));
    // Number and hash of each context on the way to where the walk is.
    let mut path: Vec<(ContextNumber, u64)> = Vec::new();
    for step in Walk::new(view)? {
        let Step::Enter(context, depth) = step? else { continue };
        path.truncate(depth);
        let name = if needs_names { view.label(&context)? } else { String::new() };
        let above = path.last().copied();
        let hash = hash_of(above.map_or(0, |(_, hash)| hash), context.scope, &name);
        rows.push(&ContextRow { view, context, depth, name, parent: above.map(|it| it.0), hash })?;
        path.push((context.number, hash));
    }
    Ok(())
}

/// Hash of a path: the same for the same names in every recording.
fn hash_of(above: u64, scope: Scope, name: &str) -> u64 {
    let bytes = scope.name().bytes().chain([0]).chain(name.bytes());
    let seed = above ^ 0xcbf2_9ce4_8422_2325;
    bytes.fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn each_total(view: &dyn ProfileView, rows: &mut Rows<'_, Totals>) -> Result<()> {
    const STATISTICS: [Statistic; 5] =
        [Statistic::Sum, Statistic::Min, Statistic::Max, Statistic::Count, Statistic::Squares];
    let metrics = view.metrics();
    let columns = (0..).map(MetricId).zip(&metrics).flat_map(|(metric, found)| {
        found.reaches.iter().map(move |reach| profile::Column { metric, reach: *reach })
    });
    let columns: Vec<_> = columns.collect();
    let mut values = vec![vec![0.0; columns.len()]; STATISTICS.len()];
    for step in Walk::new(view)? {
        let Step::Enter(context, _) = step? else { continue };
        for (statistic, to) in STATISTICS.into_iter().zip(&mut values) {
            view.statistics(statistic, &context, &columns, None, to)?;
        }
        for (place, column) in columns.iter().enumerate() {
            let item = |statistic: usize| values.get(statistic)?.get(place).copied();
            let found = [item(0), item(1), item(2), item(3), item(4)];
            let [Some(sum), Some(min), Some(max), Some(count), Some(squares)] = found else {
                continue;
            };
            if count == 0.0 {
                continue;
            }
            let mean = sum / count;
            let variance = (squares / count - mean * mean).max(0.0);
            let statistics = [
                ("sum", sum),
                ("min", min),
                ("mean", mean),
                ("max", max),
                ("stddev", variance.sqrt()),
                ("count", count),
            ];
            for (statistic, value) in statistics {
                rows.push(&TotalRow {
                    context: context.number,
                    column: *column,
                    statistic,
                    value,
                })?;
            }
        }
    }
    Ok(())
}

/// The word for how far up the tree a value counts.
fn scope_name(reach: MetricScope) -> &'static str {
    match reach {
        MetricScope::Point => "point",
        MetricScope::Function => "self",
        MetricScope::Lexical => "lexical",
        MetricScope::Execution => "total",
    }
}

fn small(number: u64) -> Option<i64> {
    i64::try_from(number).ok()
}

/// Implements [`RowKind`] and [`CommonRow`] for rows of the one recording that a profile is.
macro_rules! rows_of_profile {
    ($kind:ident, $row:ident $(<$borrowed:lifetime>)?) => {
        struct $kind;

        impl RowKind for $kind {
            type Row<'a> = $row $(<$borrowed>)?;
        }

        impl CommonRow for $kind {
            fn recording(_row: &<Self as RowKind>::Row<'_>) -> usize {
                0
            }
        }
    };
}

struct MetricRow<'a> {
    id: usize,
    metric: &'a Metric,
    is_derived: bool,
    is_default: bool,
}

rows_of_profile!(Metrics, MetricRow<'a>);

const METRICS_COLUMNS: &[Column<Metrics>] = &[
    Column::new("metric_id", "id of the metric", Cell::Int(|row| i64::try_from(row.id).ok())),
    Column::new("name", "name of the metric", Cell::Name(|row| Some((&*row.metric.name).into()))),
    Column::new(
        "unit",
        "unit of the values; null where it is not known",
        Cell::Name(|row| row.metric.unit.as_deref().map(Cow::from)),
    ),
    Column::new(
        "kind",
        "raw: has values; derived: computed from others",
        Cell::Name(|row| Some(if row.is_derived { "derived" } else { "raw" }.into())),
    ),
    Column::new(
        "formula",
        "how it is computed; null where it is measured",
        Cell::Text(|row| row.metric.formula.as_deref().map(Cow::from)),
    ),
    Column::new(
        "description",
        "what it is",
        Cell::Text(|row| {
            Some(&*row.metric.description).filter(|text| !text.is_empty()).map(Cow::from)
        }),
    ),
    Column::new(
        "is_hidden",
        "true if lists show it only when it is asked for",
        Cell::Bool(|row| Some(!row.metric.is_shown)),
    ),
    Column::new(
        "is_default",
        "true for the metric that reports are about where none is asked for",
        Cell::Bool(|row| Some(row.is_default)),
    ),
];

struct ThreadRow {
    id: usize,
    thread: Thread,
}

impl ThreadRow {
    fn part(&self, kind: &str) -> Option<i64> {
        self.thread.id(kind).and_then(small)
    }
}

rows_of_profile!(Threads, ThreadRow);

const THREADS_COLUMNS: &[Column<Threads>] = &[
    Column::new("thread_id", "id of the thread", Cell::Int(|row| i64::try_from(row.id).ok())),
    Column::new(
        "name",
        "ids of the thread, from the node in: NODE 0 / RANK 3 / THREAD 0",
        Cell::Name(|row| Some(row.thread.to_string().into())),
    ),
    Column::new(
        "host",
        "number that the system has for the node",
        Cell::Int(|row| {
            let is_node = |kind: &str| kind.eq_ignore_ascii_case("NODE");
            let node = row.thread.ids.iter().find(|part| is_node(&part.kind.0))?;
            node.physical.and_then(small)
        }),
    ),
    Column::new("node", "number of the node", Cell::Int(|row| row.part("NODE"))),
    Column::new("rank", "MPI rank", Cell::Int(|row| row.part("RANK"))),
    Column::new(
        "thread",
        "number of the thread in its process",
        Cell::Int(|row| row.part("THREAD")),
    ),
    Column::new("core", "number of the core", Cell::Int(|row| row.part("CORE"))),
    Column::new("gpu_device", "number of the GPU", Cell::Int(|row| row.part("GPUDEVICE"))),
    Column::new(
        "gpu_stream",
        "number of the stream of the GPU",
        Cell::Int(|row| row.part("GPUSTREAM")),
    ),
];

struct PathRow {
    id: u64,
    path: String,
}

rows_of_profile!(Modules, PathRow);
rows_of_profile!(Files, PathRow);

const MODULES_COLUMNS: &[Column<Modules>] = &[
    Column::new("module_id", "id of the module", Cell::Int(|row| small(row.id))),
    Column::new("path", "path of the module", Cell::Text(|row| Some((&*row.path).into()))),
    Column::new(
        "name",
        "path without folders",
        Cell::Name(|row| Some(base_name(&row.path).into())),
    ),
];

const FILES_COLUMNS: &[Column<Files>] = &[
    Column::new("file_id", "id of the file", Cell::Int(|row| small(row.id))),
    Column::new("path", "path of the source file", Cell::Text(|row| Some((&*row.path).into()))),
    Column::new(
        "name",
        "path without folders",
        Cell::Name(|row| Some(base_name(&row.path).into())),
    ),
];

struct FunctionRow {
    id: FunctionId,
    function: profile::Function,
}

rows_of_profile!(Functions, FunctionRow);

const FUNCTIONS_COLUMNS: &[Column<Functions>] = &[
    Column::new("function_id", "id of the function", Cell::Int(|row| small(row.id.0))),
    Column::new(
        "name",
        "name of the function; null where it has none",
        Cell::Name(|row| Some(&*row.function.name).filter(|it| !it.is_empty()).map(Cow::from)),
    ),
    Column::new(
        "short_name",
        "name without arguments",
        Cell::Name(|row| short_name(&row.function.name).map(Cow::from)),
    ),
    Column::new(
        "module_id",
        "module that its code is in",
        Cell::Int(|row| row.function.module.and_then(|module| small(module.0))),
    ),
    Column::new(
        "file_id",
        "file that it is defined in",
        Cell::Int(|row| row.function.file.and_then(|file| small(file.0))),
    ),
    Column::new(
        "line",
        "line of the definition",
        Cell::Int(|row| Some(i64::from(row.function.line)).filter(|line| *line > 0)),
    ),
    Column::new(
        "address",
        "offset of its entry in the module",
        Cell::Int(|row| Some(row.function.offset).filter(|offset| *offset > 0).and_then(small)),
    ),
];

struct ContextRow<'a> {
    view: &'a dyn ProfileView,
    context: Context,
    depth: usize,
    name: String,
    parent: Option<ContextNumber>,
    hash: u64,
}

fn number(number: ContextNumber) -> Option<i64> {
    Some(number).filter(|number| *number != ContextNumber::NONE).and_then(|it| small(it.0))
}

rows_of_profile!(Contexts, ContextRow<'a>);

const CONTEXTS_COLUMNS: &[Column<Contexts>] = &[
    Column::new(
        "context_id",
        "number that the recording gives the context; null where it gives none",
        Cell::Int(|row| number(row.context.number)),
    ),
    Column::new(
        "parent_id",
        "context above; null for entry points",
        Cell::Int(|row| number(row.parent?)),
    ),
    Column::new(
        "depth",
        "number of contexts above",
        Cell::Int(|row| i64::try_from(row.depth).ok()),
    ),
    Column::new(
        "kind",
        "entry, function, inlined, loop, line, instruction, placeholder or other",
        Cell::Name(|row| {
            let is_inlined = row.context.relation == profile::Relation::Inlined;
            let kind = if is_inlined && row.context.scope == Scope::Function {
                "inlined"
            } else {
                row.context.scope.name()
            };
            Some(kind.into())
        }),
    ),
    Column::new(
        "function",
        "name of the function, or of the place where it is none",
        Cell::Name(|row| Some((&*row.name).into())),
    ),
    Column::new(
        "short_name",
        "the same without arguments",
        Cell::Name(|row| short_name(&row.name).map(Cow::from)),
    ),
    Column::new(
        "file",
        "source file",
        Cell::Name(|row| {
            let (file, _) = row.context.source?;
            row.view.file(file).ok().map(Cow::from)
        }),
    ),
    Column::new(
        "line",
        "line in it",
        Cell::Int(|row| {
            row.context.source.map(|(_, line)| i64::from(line)).filter(|line| *line > 0)
        }),
    ),
    Column::new(
        "module",
        "module that the code is in",
        Cell::Name(|row| {
            let (module, _) = row.context.point?;
            row.view.module(module).ok().map(Cow::from)
        }),
    ),
    Column::new(
        "address",
        "offset in the module",
        Cell::Int(|row| row.context.point.and_then(|(_, offset)| small(offset))),
    ),
    Column::new(
        "function_id",
        "the same function in the table functions",
        Cell::Int(|row| row.context.function.and_then(|function| small(function.0))),
    ),
    Column::new(
        "path_hash",
        "hash of the names from the entry point down: the same in every recording",
        Cell::Int(|row| Some(row.hash.cast_signed())),
    ),
];

struct ValueRow {
    thread: usize,
    value: ContextValue,
}

rows_of_profile!(ValueRows, ValueRow);

const METRIC_VALUES_COLUMNS: &[Column<ValueRows>] = &[
    Column::new(
        "thread_id",
        "thread that was measured",
        Cell::Int(|row| i64::try_from(row.thread).ok()),
    ),
    Column::new("context_id", "context that it was in", Cell::Int(|row| number(row.value.context))),
    Column::new("metric_id", "metric", Cell::Int(|row| Some(i64::from(row.value.column.metric.0)))),
    Column::new(
        "scope",
        "point, self (without calls), lexical (self, of a loop without those in it) or total (with calls)",
        Cell::Name(|row| Some(scope_name(row.value.column.reach).into())),
    ),
    Column::new("value", "value, in the metric's unit", Cell::Float(|row| Some(row.value.value))),
];

struct TotalRow {
    context: ContextNumber,
    column: profile::Column,
    statistic: &'static str,
    value: f64,
}

rows_of_profile!(Totals, TotalRow);

const TOTALS_COLUMNS: &[Column<Totals>] = &[
    Column::new("context_id", "context", Cell::Int(|row| number(row.context))),
    Column::new("metric_id", "metric", Cell::Int(|row| Some(i64::from(row.column.metric.0)))),
    Column::new(
        "scope",
        "point, self (without calls), lexical (self, of a loop without those in it) or total (with calls)",
        Cell::Name(|row| Some(scope_name(row.column.reach).into())),
    ),
    Column::new(
        "statistic",
        "sum, min, mean, max, stddev or count, over the threads that have a value there",
        Cell::Name(|row| Some(row.statistic.into())),
    ),
    Column::new("value", "value, in the metric's unit", Cell::Float(|row| Some(row.value))),
];

/// The name of a function without its arguments.
fn short_name(name: &str) -> Option<&str> {
    let end = if name.starts_with('(') || name.starts_with('<') {
        name.len()
    } else {
        name.find('(').unwrap_or(name.len())
    };
    Some(name.get(..end)?.trim_end()).filter(|name| !name.is_empty())
}
