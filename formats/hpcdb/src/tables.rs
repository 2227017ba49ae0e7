//! Arrow tables, and the dump, which are the same rows; values of the summary are in the dump once,
//! as values of its profile.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use kymo_core::{Error, Result, Value};
use kymo_model::table::{Batches, Scan};
use kymo_model::{DumpRequest, Flow, Record, RecordSink, Table};

use crate::read::{Database, Part};
use crate::rows::{
    self, ContextRow, FunctionRow, MetricRow, PathRow, ProfileRow, Rows, SampleRow, StatisticRow,
    SummaryRow, TraceRow, ValueRow,
};
use crate::spec::scope_type_name;
use crate::types::PropagationScope;

/// Every table of the files that are there.
pub(crate) fn tables(database: &Arc<Database>) -> Vec<Arc<dyn Table>> {
    let mut kinds = kinds(database);
    if database.meta.is_some() && database.profile.is_some() {
        kinds.push(Box::new(summary()));
    }
    kinds.into_iter().map(|kind| kind.table(Arc::clone(database))).collect()
}

/// Gives every row of every table.
pub(crate) fn dump(
    database: &Arc<Database>,
    request: &DumpRequest,
    sink: &mut dyn RecordSink,
) -> Result<()> {
    for kind in kinds(database) {
        if request.headers_only && kind.is_bulk() {
            continue;
        }
        if kind.dump(database, sink)? == Flow::Stop {
            break;
        }
    }
    Ok(())
}

/// A kind of rows, whatever they are.
trait AnyKind {
    fn is_bulk(&self) -> bool;
    fn table(self: Box<Self>, database: Arc<Database>) -> Arc<dyn Table>;
    fn dump(&self, database: &Arc<Database>, sink: &mut dyn RecordSink) -> Result<Flow>;
}

/// The kinds that the dump has.
fn kinds(database: &Database) -> Vec<Box<dyn AnyKind>> {
    let mut kinds: Vec<Box<dyn AnyKind>> = Vec::new();
    if database.meta.is_some() {
        let has_calls = database.parts().any(Part::is_described);
        kinds.push(Box::new(contexts(has_calls)));
        kinds.push(Box::new(metrics()));
        kinds.push(Box::new(statistics()));
        kinds.push(Box::new(scopes()));
        kinds.push(Box::new(modules()));
        kinds.push(Box::new(files()));
        kinds.push(Box::new(functions()));
    }
    if database.profile.is_some() {
        kinds.push(Box::new(profiles()));
        kinds.push(Box::new(values()));
    }
    if database.cct.is_some() {
        kinds.push(Box::new(context_values()));
    }
    if database.trace.is_some() {
        kinds.push(Box::new(traces()));
        kinds.push(Box::new(samples()));
    }
    kinds
}

/// A kind of rows, with a table of them.
struct Kind<T> {
    name: &'static str,
    record: &'static str,
    about: &'static str,
    /// True if there may be very many.
    is_bulk: bool,
    rows: fn(&Arc<Database>) -> Rows<T>,
    columns: Vec<Column<T>>,
}

struct Column<T> {
    name: &'static str,
    is_nullable: bool,
    cell: Cell<T>,
}

/// Ways in which the cells of a column are made from rows.
enum Cell<T> {
    Number(fn(&T) -> Option<u64>),
    Address(fn(&T) -> Option<u64>),
    Text(fn(&T) -> Option<&str>),
    Float(fn(&T) -> f64),
    Flag(fn(&T) -> bool),
}

fn column<T>(name: &'static str, cell: Cell<T>) -> Column<T> {
    Column { name, is_nullable: false, cell }
}

fn nullable<T>(name: &'static str, cell: Cell<T>) -> Column<T> {
    Column { name, is_nullable: true, cell }
}

impl<T> Column<T> {
    fn field(&self) -> Field {
        let data_type = match self.cell {
            Cell::Number(_) | Cell::Address(_) => DataType::UInt64,
            Cell::Text(_) => DataType::Utf8,
            Cell::Float(_) => DataType::Float64,
            Cell::Flag(_) => DataType::Boolean,
        };
        Field::new(self.name, data_type, self.is_nullable)
    }

    fn array(&self, rows: &[T]) -> ArrayRef {
        match self.cell {
            Cell::Number(cell) | Cell::Address(cell) => {
                Arc::new(rows.iter().map(cell).collect::<UInt64Array>())
            }
            Cell::Text(cell) => Arc::new(rows.iter().map(cell).collect::<StringArray>()),
            Cell::Float(cell) => Arc::new(Float64Array::from_iter_values(rows.iter().map(cell))),
            Cell::Flag(cell) => {
                Arc::new(rows.iter().map(|row| Some(cell(row))).collect::<BooleanArray>())
            }
        }
    }

    fn value(&self, row: &T) -> Value {
        match self.cell {
            Cell::Number(cell) => cell(row).map_or(Value::Null, Value::from),
            Cell::Address(cell) => cell(row).map_or(Value::Null, Value::Address),
            Cell::Text(cell) => cell(row).map_or(Value::Null, Value::from),
            Cell::Float(cell) => cell(row).into(),
            Cell::Flag(cell) => cell(row).into(),
        }
    }
}

impl<T: Send + 'static> AnyKind for Kind<T> {
    fn is_bulk(&self) -> bool {
        self.is_bulk
    }

    fn table(self: Box<Self>, database: Arc<Database>) -> Arc<dyn Table> {
        Arc::new(ListTable { kind: Arc::new(*self), database })
    }

    fn dump(&self, database: &Arc<Database>, sink: &mut dyn RecordSink) -> Result<Flow> {
        for (row, index) in (self.rows)(database).zip(0..) {
            let mut offset = 0;
            let mut fields = Vec::new();
            for column in &self.columns {
                match (column.name, column.value(&row)) {
                    ("offset", Value::Address(found)) => offset = found,
                    (name, value) => fields.push((name, value.into())),
                }
            }
            let record = Record { kind: self.record, index, offset, fields };
            if sink.record(&record)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::More)
    }
}

impl<T> Kind<T> {
    fn schema(&self) -> SchemaRef {
        let fields = self.columns.iter().map(Column::field);
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    fn batch(&self, rows: &[T], schema: &SchemaRef) -> Result<RecordBatch> {
        let columns = self.columns.iter().map(|column| column.array(rows)).collect();
        let batch = RecordBatch::try_new(Arc::clone(schema), columns);
        batch.map_err(|error| Error::request(error.to_string()))
    }
}

/// A table of rows that are read one after another.
struct ListTable<T> {
    kind: Arc<Kind<T>>,
    database: Arc<Database>,
}

impl<T: Send + 'static> Table for ListTable<T> {
    fn name(&self) -> &str {
        self.kind.name
    }

    fn about(&self) -> &str {
        self.kind.about
    }

    fn schema(&self) -> SchemaRef {
        self.kind.schema()
    }

    fn row_count(&self) -> Option<u64> {
        None
    }

    fn scan(self: Arc<Self>, scan: &Scan) -> Result<Batches> {
        let schema = self.kind.schema();
        scan.output_schema(&schema)?;
        let mut rows = (self.kind.rows)(&self.database);
        let many = scan.batch_rows.max(1);
        let batches = std::iter::from_fn(move || {
            let batch: Vec<T> = rows.by_ref().take(many).collect();
            (!batch.is_empty()).then(|| self.kind.batch(&batch, &schema))
        });
        Ok(scan.finish(Box::new(batches)))
    }
}

fn metrics() -> Kind<MetricRow> {
    Kind {
        name: "metrics",
        record: "metric",
        about: "kinds of values that profiles have: a metric and how far it reaches",
        is_bulk: false,
        rows: rows::metrics,
        columns: vec![
            column("offset", Cell::Address(|row| Some(row.offset))),
            column("id", Cell::Number(|row| Some(row.id))),
            column("metric", Cell::Text(|row| Some(&row.metric))),
            column("scope", Cell::Text(|row| Some(&row.scope))),
        ],
    }
}

fn statistics() -> Kind<StatisticRow> {
    Kind {
        name: "statistics",
        record: "statistic",
        about: "kinds of values that the summary over all threads has",
        is_bulk: false,
        rows: rows::statistics,
        columns: vec![
            column("offset", Cell::Address(|row| Some(row.offset))),
            column("id", Cell::Number(|row| Some(row.id))),
            column("metric", Cell::Text(|row| Some(&row.metric))),
            column("scope", Cell::Text(|row| Some(&row.scope))),
            column("formula", Cell::Text(|row| Some(&row.formula))),
            column("combine", Cell::Text(|row| Some(row.combine))),
        ],
    }
}

fn scopes() -> Kind<PropagationScope> {
    Kind {
        name: "scopes",
        record: "scope",
        about: "how far values of metrics reach up the tree",
        is_bulk: false,
        rows: rows::scopes,
        columns: vec![
            column("offset", Cell::Address(|row| Some(row.offset))),
            column("name", Cell::Text(|row| Some(&row.name))),
            column("type", Cell::Text(|row| Some(scope_type_name(row.scope_type)))),
            column("propagation_index", Cell::Number(|row| Some(row.propagation_index.into()))),
        ],
    }
}

fn modules() -> Kind<PathRow> {
    Kind {
        name: "modules",
        record: "module",
        about: "programs and libraries",
        is_bulk: false,
        rows: rows::modules,
        columns: vec![
            column("offset", Cell::Address(|row| Some(row.offset))),
            nullable("path", Cell::Text(|row| row.path.as_deref())),
        ],
    }
}

fn files() -> Kind<PathRow> {
    Kind {
        name: "files",
        record: "file",
        about: "source files, and whether the database has a copy",
        is_bulk: false,
        rows: rows::files,
        columns: vec![
            column("offset", Cell::Address(|row| Some(row.offset))),
            column("copied", Cell::Flag(|row| row.is_copied)),
            nullable("path", Cell::Text(|row| row.path.as_deref())),
        ],
    }
}

fn functions() -> Kind<FunctionRow> {
    Kind {
        name: "functions",
        record: "function",
        about: "functions; each inlined copy is one of its own",
        is_bulk: false,
        rows: rows::functions,
        columns: vec![
            column("offset", Cell::Address(|row| Some(row.offset))),
            nullable("name", Cell::Text(|row| row.name.as_deref())),
            nullable("module", Cell::Text(|row| row.module.as_deref())),
            column("address", Cell::Address(|row| Some(row.address))),
            nullable("file", Cell::Text(|row| row.file.as_deref())),
            column("line", Cell::Number(|row| Some(row.line))),
        ],
    }
}

/// Only the described draft says where calls stand.
fn contexts(has_calls: bool) -> Kind<ContextRow> {
    let mut kind = Kind {
        name: "contexts",
        record: "context",
        about: "the tree of calling contexts, each before those below it",
        is_bulk: false,
        rows: rows::contexts,
        columns: vec![
            column("offset", Cell::Address(|row| Some(row.offset))),
            column("context", Cell::Number(|row| Some(row.context))),
            nullable("parent", Cell::Number(|row| row.parent)),
            column("depth", Cell::Number(|row| Some(row.depth))),
            column("path", Cell::Text(|row| Some(&row.path))),
            column("scope", Cell::Text(|row| Some(row.scope))),
            column("relation", Cell::Text(|row| Some(row.relation))),
            nullable("function", Cell::Text(|row| row.function.as_deref())),
            nullable("file", Cell::Text(|row| row.file.as_deref())),
            nullable("line", Cell::Number(|row| row.line)),
            nullable("module", Cell::Text(|row| row.module.as_deref())),
            nullable("address", Cell::Address(|row| row.address)),
        ],
    };
    if has_calls {
        kind.columns.push(nullable("call_file", Cell::Text(|row| row.call_file.as_deref())));
        kind.columns.push(nullable("call_line", Cell::Number(|row| row.call_line)));
    }
    kind
}

fn profiles() -> Kind<ProfileRow> {
    Kind {
        name: "profiles",
        record: "profile",
        about: "the summary, and a profile of each thread",
        is_bulk: false,
        rows: rows::profiles,
        columns: vec![
            column("offset", Cell::Address(|row| Some(row.offset))),
            column("profile", Cell::Number(|row| Some(row.profile))),
            column("summary", Cell::Flag(|row| row.is_summary)),
            nullable("ids", Cell::Text(|row| row.ids.as_deref())),
            // In the order of `rows::values::ID_COLUMNS`.
            nullable("node", Cell::Number(|row| row.of_kind[0])),
            nullable("rank", Cell::Number(|row| row.of_kind[1])),
            nullable("thread", Cell::Number(|row| row.of_kind[2])),
            nullable("core", Cell::Number(|row| row.of_kind[3])),
            nullable("gpu_device", Cell::Number(|row| row.of_kind[4])),
            nullable("gpu_context", Cell::Number(|row| row.of_kind[5])),
            nullable("gpu_stream", Cell::Number(|row| row.of_kind[6])),
            column("contexts", Cell::Number(|row| Some(row.contexts))),
            column("values", Cell::Number(|row| Some(row.values))),
        ],
    }
}

fn values() -> Kind<ValueRow> {
    Kind {
        name: "values",
        record: "value",
        about: "what was measured, by profile, context and metric",
        is_bulk: true,
        rows: rows::values,
        columns: value_columns(),
    }
}

fn context_values() -> Kind<ValueRow> {
    Kind {
        name: "context_values",
        record: "context_value",
        about: "what was measured, by context, metric and profile",
        is_bulk: true,
        rows: rows::context_values,
        columns: value_columns(),
    }
}

fn value_columns() -> Vec<Column<ValueRow>> {
    vec![
        column("offset", Cell::Address(|row: &ValueRow| Some(row.offset))),
        column("profile", Cell::Number(|row| Some(row.profile))),
        column("context", Cell::Number(|row| Some(row.context))),
        column("metric", Cell::Number(|row| Some(row.metric))),
        column("value", Cell::Float(|row| row.value)),
    ]
}

fn summary() -> Kind<SummaryRow> {
    fn statistic_row(row: &SummaryRow) -> Option<&StatisticRow> {
        row.statistic.as_deref()
    }
    Kind {
        name: "summary",
        record: "summary",
        about: "what all threads come to together, by context and statistic",
        is_bulk: true,
        rows: rows::summary,
        columns: vec![
            column("offset", Cell::Address(|row: &SummaryRow| Some(row.value.offset))),
            column("context", Cell::Number(|row| Some(row.value.context))),
            column("id", Cell::Number(|row| Some(row.value.metric))),
            nullable("metric", Cell::Text(|row| Some(&statistic_row(row)?.metric))),
            nullable("scope", Cell::Text(|row| Some(&statistic_row(row)?.scope))),
            nullable("formula", Cell::Text(|row| Some(&statistic_row(row)?.formula))),
            nullable("combine", Cell::Text(|row| Some(statistic_row(row)?.combine))),
            column("value", Cell::Float(|row| row.value.value)),
        ],
    }
}

fn traces() -> Kind<TraceRow> {
    Kind {
        name: "traces",
        record: "trace",
        about: "the trace of each thread that has one",
        is_bulk: false,
        rows: rows::traces,
        columns: vec![
            column("offset", Cell::Address(|row| Some(row.offset))),
            column("profile", Cell::Number(|row| Some(row.profile))),
            column("samples", Cell::Number(|row| Some(row.samples))),
            nullable("first", Cell::Number(|row| row.first)),
            nullable("last", Cell::Number(|row| row.last)),
        ],
    }
}

fn samples() -> Kind<SampleRow> {
    Kind {
        name: "samples",
        record: "sample",
        about: "where each thread was from a moment on, in nanoseconds since the Epoch",
        is_bulk: true,
        rows: rows::samples,
        columns: vec![
            column("offset", Cell::Address(|row| Some(row.offset))),
            column("profile", Cell::Number(|row| Some(row.profile))),
            column("time", Cell::Number(|row| Some(row.time))),
            column("context", Cell::Number(|row| Some(row.context))),
        ],
    }
}
