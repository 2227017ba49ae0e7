//! The events of custom types, with a column for each field.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use kymo_core::{Error, Result, Value};
use kymo_model::Table;
use kymo_model::table::{Batches, Scan};

use super::cells::{Column, schema};
use super::names::Names;
use super::{run, value_text};
use crate::Reader;
use crate::dump::recording;
use crate::read::Walk;
use crate::spec::FieldType;
use crate::types::{CustomField, CustomType, Event, LocatedEvent, LogFileId, TypeId};

/// Name of types that have no name.
const UNNAMED: &str = "unnamed";

/// Cells of a batch, but for the last row.
const BATCH_CELLS: usize = 1 << 22;

/// Number of columns that every row begins with.
const HEAD: usize = 5;

/// An event of one of the types.
struct Row {
    recording: Option<u64>,
    offset: u64,
    class: &'static str,
    timestamp: i64,
    log_file: LogFileId,
    /// Those that are of their type: `custom` of `events` has all bytes.
    values: Vec<Value>,
    places: Arc<Places>,
}

/// The places of a type's fields, by the columns that they are in.
type Places = HashMap<usize, usize>;

/// A table of the types that have a name; log files may each have one.
struct Typed {
    reader: Arc<Reader>,
    name: String,
    columns: Vec<Column<Row>>,
    types: HashMap<(LogFileId, TypeId), Arc<Places>>,
}

/// A table for each name that types with fields have, in the order of the file. Where a table that
/// is always there has that name, it gets a number.
pub(super) fn tables(reader: &Arc<Reader>, fixed: &[Arc<dyn Table>]) -> Vec<Arc<dyn Table>> {
    let (mut order, mut of_names) = (Vec::new(), HashMap::<&str, Vec<&CustomType>>::new());
    // Of several types of one id, the first is what events are of.
    let is_first = |item: &&CustomType| {
        reader.custom_type(item.log_file, item.id).is_some_and(|first| first.offset == item.offset)
    };
    let types = reader.types().iter().filter(is_first);
    for this_custom_type in types.filter(|item| !item.fields.is_empty()) {
        let name = if this_custom_type.name.is_empty() { UNNAMED } else { &this_custom_type.name };
        let types = of_names.entry(name).or_default();
        if types.is_empty() {
            order.push(name);
        }
        types.push(this_custom_type);
    }
    let mut names = Names::new(fixed.iter().map(|table| table.name()));
    let table = |name: &str| -> Option<Arc<dyn Table>> {
        let types = of_names.get(name)?;
        Some(Arc::new(Typed::new(reader, names.free(name), types)))
    };
    order.into_iter().filter_map(table).collect()
}

impl Typed {
    /// Types of several log files share the columns of fields that have the same name; the second
    /// of one name in a type has a column of its own.
    fn new(reader: &Arc<Reader>, name: String, types: &[&CustomType]) -> Self {
        let mut columns = vec![
            Column::unsigned("recording", |row: &Row| row.recording),
            Column::unsigned("offset", |row: &Row| Some(row.offset)).always(),
            Column::text("event_class", |row: &Row| Some(row.class.to_owned())).always(),
            Column::signed("event_timestamp", |row: &Row| Some(row.timestamp)).always(),
            Column::signed("log_file_id", |row: &Row| Some(row.log_file.0.into())).always(),
        ];
        let mut names = Names::new(columns.iter().map(|column| column.name.as_str()));
        // By the name of a field, and how many of that name came before it in its type.
        let mut known: HashMap<(&str, usize), usize> = HashMap::new();
        let mut fields: Vec<(&CustomField, bool)> = Vec::new();
        let mut of_types = HashMap::new();
        for item in types {
            let (mut places, mut before) = (Places::new(), HashMap::new());
            for (place, field) in item.fields.iter().enumerate() {
                let count: &mut usize = before.entry(field.name.as_str()).or_default();
                let column = *known.entry((&field.name, *count)).or_insert_with(|| {
                    fields.push((field, true));
                    fields.len() - 1
                });
                *count += 1;
                if let Some((first, is_uniform)) = fields.get_mut(column) {
                    *is_uniform &= kind(first) == kind(field);
                }
                places.insert(HEAD + column, place);
            }
            of_types.insert((item.log_file, item.id), Arc::new(places));
        }
        for (column, (field, is_uniform)) in fields.into_iter().enumerate() {
            let kind = Some(field).filter(|_| is_uniform).and_then(kind);
            columns.push(field_column(&names.free(&field.name), HEAD + column, kind));
        }
        Self { reader: Arc::clone(reader), name, columns, types: of_types }
    }

    fn row(&self, found: &LocatedEvent<'_>) -> Option<Row> {
        let Event { timestamp, log_file, body, custom_type, custom } = found.event;
        let decoded = self.reader.decoded((log_file, custom_type), custom, found.offset)?;
        Some(Row {
            recording: recording(&self.reader, log_file),
            offset: found.offset,
            class: body.class().name(),
            timestamp,
            log_file,
            values: decoded.values,
            places: Arc::clone(self.types.get(&(log_file, custom_type))?),
        })
    }

    fn batch(
        &self,
        walk: &mut Walk,
        most: usize,
        wanted: &HashSet<usize>,
    ) -> Result<Option<RecordBatch>> {
        let is_row =
            |event: &Event<'_>| self.types.contains_key(&(event.log_file, event.custom_type));
        let most = most.min(BATCH_CELLS / self.columns.len().max(1)).max(1);
        let found = run(&self.reader, walk, most, is_row);
        let rows: Vec<_> = found.iter().filter_map(|found| self.row(found)).collect();
        if rows.is_empty() {
            return Ok(None);
        }
        let columns = self.columns.iter().enumerate();
        let fill = |(index, column): (usize, &Column<Row>)| {
            let is_wanted = wanted.contains(&index);
            if is_wanted { column.fill(&rows) } else { Ok(column.blank(rows.len())) }
        };
        let columns = columns.map(fill);
        let batch = RecordBatch::try_new(self.schema(), columns.collect::<Result<_>>()?);
        batch.map(Some).map_err(|error| Error::request(error.to_string()))
    }
}

/// Kind of a field in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Signed,
    Unsigned,
    Single,
    Float,
    Bool,
}

/// The kind of a field's column; nothing where it is text.
fn kind(field: &CustomField) -> Option<Kind> {
    if field.element_count != 0 {
        return None;
    }
    match field.field_type.ok()? {
        FieldType::Int8 | FieldType::Int16 | FieldType::Int32 | FieldType::Int64 => {
            Some(Kind::Signed)
        }
        FieldType::Uint8
        | FieldType::Uint16
        | FieldType::Uint32
        | FieldType::Uint64
        | FieldType::ArtifactId => Some(Kind::Unsigned),
        FieldType::Float => Some(Kind::Single),
        FieldType::Double => Some(Kind::Float),
        FieldType::Boolean => Some(Kind::Bool),
        FieldType::String => None,
    }
}

fn field_column(name: &str, column: usize, kind: Option<Kind>) -> Column<Row> {
    fn value(row: &Row, column: usize) -> Option<&Value> {
        row.values.get(*row.places.get(&column)?)
    }
    match kind {
        Some(Kind::Signed) => Column::signed(name, move |row| match value(row, column)? {
            Value::Int(number) => Some(*number),
            _ => None,
        }),
        Some(Kind::Unsigned) => Column::unsigned(name, move |row| match value(row, column)? {
            Value::UInt(number) => Some(*number),
            _ => None,
        }),
        Some(Kind::Single) => Column::single(name, move |row| match value(row, column)? {
            Value::Float32(number) => Some(*number),
            _ => None,
        }),
        Some(Kind::Float) => Column::float(name, move |row| match value(row, column)? {
            Value::Float(number) => Some(*number),
            _ => None,
        }),
        Some(Kind::Bool) => Column::bool(name, move |row| match value(row, column)? {
            Value::Bool(value) => Some(*value),
            _ => None,
        }),
        None => Column::text(name, move |row| value_text(value(row, column)?)),
    }
}

impl Table for Typed {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &'static str {
        "the events of one custom type, with a column for each of its fields"
    }

    fn schema(&self) -> SchemaRef {
        schema(&self.columns)
    }

    fn brief(&self) -> Vec<usize> {
        (2..self.columns.len()).collect()
    }

    fn row_count(&self) -> Option<u64> {
        None
    }

    fn scan(self: Arc<Self>, scan: &Scan) -> Result<Batches> {
        scan.output_schema(&self.schema())?;
        let mut walk = self.reader.walk();
        let rows = scan.batch_rows.max(1);
        let wanted = super::needed_columns(scan, self.columns.len());
        let batches = std::iter::from_fn(move || self.batch(&mut walk, rows, &wanted).transpose());
        Ok(scan.finish(Box::new(batches)))
    }
}
