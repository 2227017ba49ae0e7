//! The events of custom types, with a column for each field.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use kymo_core::table::{Batches, Scan};
use kymo_core::{Error, Result, Table, Value};

use super::cells::{Column, schema};
use super::value_text;
use crate::Reader;
use crate::dump::recording;
use crate::read::{Walk, values};
use crate::spec::FieldType;
use crate::types::{CustomField, CustomType, LogFileId};

/// An event of one of the types, with its values by name.
struct Row {
    recording: Option<u64>,
    offset: u64,
    class: &'static str,
    timestamp: i64,
    log_file: LogFileId,
    values: Vec<(String, Value)>,
}

/// A table of the types that have a name; log files may each have one.
struct Typed {
    reader: Arc<Reader>,
    name: String,
    columns: Vec<Column<Row>>,
}

/// The table of a name, if there is a type of that name that has fields.
pub(super) fn table(reader: &Arc<Reader>, name: &str) -> Option<Arc<dyn Table>> {
    let is_of = |of: &&CustomType| of.name == name && !of.fields.is_empty();
    let types: Vec<_> = reader.definitions().types.iter().filter(is_of).collect();
    if types.is_empty() {
        return None;
    }
    let mut columns = vec![
        Column::unsigned("recording", |row: &Row| row.recording),
        Column::unsigned("offset", |row: &Row| Some(row.offset)).always(),
        Column::text("event_class", |row: &Row| Some(row.class.to_owned())).always(),
        Column::signed("event_timestamp", |row: &Row| Some(row.timestamp)).always(),
        Column::signed("log_file_id", |row: &Row| Some(row.log_file.0.into())).always(),
    ];
    let mut fields: Vec<&CustomField> = Vec::new();
    for field in types.iter().flat_map(|of| &of.fields) {
        if !fields.iter().any(|other| other.name == field.name) {
            fields.push(field);
        }
    }
    for field in fields {
        let same = types.iter().flat_map(|of| &of.fields).filter(|it| it.name == field.name);
        let is_uniform = same.clone().all(|other| kind(other) == kind(field));
        columns.push(field_column(&field.name, is_uniform.then(|| kind(field)).flatten()));
    }
    let reader = Arc::clone(reader);
    Some(Arc::new(Typed { reader, name: name.to_owned(), columns }))
}

/// What a field is in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Signed,
    Unsigned,
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
        FieldType::Float | FieldType::Double => Some(Kind::Float),
        FieldType::Boolean => Some(Kind::Bool),
        FieldType::String => None,
    }
}

fn field_column(name: &str, kind: Option<Kind>) -> Column<Row> {
    let field = name.to_owned();
    let value = move |row: &Row| -> Option<Value> {
        row.values.iter().find(|(name, _)| *name == field).map(|(_, value)| value.clone())
    };
    match kind {
        Some(Kind::Signed) => Column::signed(name, move |row| match value(row)? {
            Value::Int(number) => Some(number),
            _ => None,
        }),
        Some(Kind::Unsigned) => Column::unsigned(name, move |row| match value(row)? {
            Value::UInt(number) => Some(number),
            _ => None,
        }),
        Some(Kind::Float) => Column::float(name, move |row| match value(row)? {
            Value::Float(number) => Some(number),
            Value::Float32(number) => Some(number.into()),
            _ => None,
        }),
        Some(Kind::Bool) => Column::bool(name, move |row| match value(row)? {
            Value::Bool(value) => Some(value),
            _ => None,
        }),
        None => Column::text(name, move |row| value_text(&value(row)?)),
    }
}

/// Bytes of values in one batch, but for the last row.
const BATCH_BYTES: usize = 16 << 20;

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
        let batches = std::iter::from_fn(move || self.batch(&mut walk, rows).transpose());
        Ok(scan.finish(Box::new(batches)))
    }
}

impl Typed {
    fn batch(&self, walk: &mut Walk, most: usize) -> Result<Option<RecordBatch>> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while rows.len() < most && bytes < BATCH_BYTES {
            let Some(found) = walk.next(&self.reader) else { break };
            let event = found.event;
            let Some(of) = self.reader.custom_type(event.log_file, event.custom_type) else {
                continue;
            };
            if of.name != self.name || of.fields.is_empty() {
                continue;
            }
            bytes += event.custom.len();
            // Values that are not of their type are null here; `custom` of `events` has the bytes.
            let values = values(of, event.custom, found.offset).unwrap_or_default();
            let names = of.fields.iter().map(|field| field.name.clone());
            rows.push(Row {
                recording: recording(&self.reader, event.log_file),
                offset: found.offset,
                class: event.body.class().name(),
                timestamp: event.timestamp,
                log_file: event.log_file,
                values: names.zip(values).collect(),
            });
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let columns = self.columns.iter().map(|column| column.fill(&rows));
        let batch = RecordBatch::try_new(self.schema(), columns.collect::<Result<_>>()?);
        batch.map(Some).map_err(|error| Error::request(error.to_string()))
    }
}
