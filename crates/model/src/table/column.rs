//! Columns that are described once: name, type, meaning, and how a row gives the value.
//!
//! The same description makes the schema, the batches and the values of a dump.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BinaryViewBuilder, BooleanBuilder, Float64Builder, Int64Builder,
    StringDictionaryBuilder, StringViewBuilder, TimestampNanosecondBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::arrow;
use kymo_core::{Error, Result};

/// Bytes of names or texts at which a batch ends, however few rows it has.
const BATCH_TEXT_MAX: usize = 8 << 20;

/// The metadata key of a column's unit.
pub const UNIT: &str = "unit";

/// The metadata key of a column's meaning.
pub const ABOUT: &str = "about";

/// A kind of row. Its values may borrow from the recording.
pub trait RowKind: 'static {
    /// A row.
    type Row<'a>;
}

/// A column of rows of one kind.
pub struct Column<K: RowKind> {
    /// Name, no reserved word of SQL.
    pub name: &'static str,
    /// Meaning, in a line. Says what a null means where that is not plain.
    pub about: &'static str,
    /// Unit of the values: `ns`, `bytes`.
    pub unit: Option<&'static str>,
    /// The value of a row.
    pub cell: Cell<K>,
}

/// Function that takes a value from a row.
pub type Pick<K, T> = for<'r, 'a> fn(&'r <K as RowKind>::Row<'a>) -> Option<T>;

/// Function that takes a text from a row.
pub type PickText<K> = for<'r, 'a> fn(&'r <K as RowKind>::Row<'a>) -> Option<Cow<'r, str>>;

/// Function that takes bytes from a row.
pub type PickBytes<K> = for<'r, 'a> fn(&'r <K as RowKind>::Row<'a>) -> Option<&'r [u8]>;

/// Type of a column, and how its values are taken from rows. `None` is null.
pub enum Cell<K: RowKind> {
    /// True or false.
    Bool(Pick<K, bool>),
    /// Integer of 64 bits.
    Int(Pick<K, i64>),
    /// Floating-point number of 64 bits.
    Float(Pick<K, f64>),
    /// Timestamp in nanoseconds since the Epoch, UTC.
    Time(Pick<K, i64>),
    /// Text that many rows share: a dictionary.
    Name(PickText<K>),
    /// Text.
    Text(PickText<K>),
    /// Text that is JSON.
    Json(PickText<K>),
    /// Bytes.
    Bytes(PickBytes<K>),
}

impl<K: RowKind> Clone for Cell<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: RowKind> Copy for Cell<K> {}

impl<K: RowKind> Column<K> {
    /// Describes a column.
    #[must_use]
    pub const fn new(name: &'static str, about: &'static str, cell: Cell<K>) -> Self {
        Self { name, about, unit: None, cell }
    }

    /// Describes a column whose values have a unit.
    #[must_use]
    pub const fn with_unit(
        name: &'static str,
        unit: &'static str,
        about: &'static str,
        cell: Cell<K>,
    ) -> Self {
        Self { name, about, unit: Some(unit), cell }
    }

    /// Arrow type of the values.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        match self.cell {
            Cell::Bool(_) => DataType::Boolean,
            Cell::Int(_) => DataType::Int64,
            Cell::Float(_) => DataType::Float64,
            Cell::Time(_) => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            Cell::Name(_) => {
                DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
            }
            Cell::Text(_) | Cell::Json(_) => DataType::Utf8View,
            Cell::Bytes(_) => DataType::BinaryView,
        }
    }

    fn field(&self) -> Field {
        let mut metadata = HashMap::from([(ABOUT.to_owned(), self.about.to_owned())]);
        metadata.extend(self.unit.map(|unit| (UNIT.to_owned(), unit.to_owned())));
        if matches!(self.cell, Cell::Json(_)) {
            metadata.extend(super::json::json_metadata());
        }
        Field::new(self.name, self.data_type(), true).with_metadata(metadata)
    }
}

/// The schema of some columns.
#[must_use]
pub fn schema_of<K: RowKind>(columns: &[Column<K>]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>()))
}

/// Makes batches of rows that come one by one. Columns that are not asked for cost nothing.
pub struct BatchBuilder<K: RowKind> {
    schema: SchemaRef,
    columns: Vec<Building<K>>,
    rows: usize,
    text_bytes: usize,
}

/// A column that is being built.
struct Building<K: RowKind> {
    cell: Cell<K>,
    values: Values,
}

enum Values {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Float(Float64Builder),
    Time(TimestampNanosecondBuilder),
    Name(StringDictionaryBuilder<Int32Type>),
    Text(StringViewBuilder),
    Bytes(BinaryViewBuilder),
}

impl<K: RowKind> BatchBuilder<K> {
    /// Builds batches of some of the columns, by their indices.
    ///
    /// # Errors
    /// When there is no such column.
    pub fn new(all: &[Column<K>], wanted: &[usize]) -> Result<Self> {
        let column = |index: &usize| {
            all.get(*index).ok_or_else(|| Error::request(format!("there is no column {index}")))
        };
        let wanted = wanted.iter().map(column).collect::<Result<Vec<_>>>()?;
        let schema = Schema::new(wanted.iter().map(|column| column.field()).collect::<Vec<_>>());
        let columns = wanted.into_iter().map(|column| Building::new(column.cell)).collect();
        Ok(Self { schema: Arc::new(schema), columns, rows: 0, text_bytes: 0 })
    }

    /// Number of rows since the last batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns true if there are no rows since the last batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns true if a batch should end here, since its texts are large.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.text_bytes >= BATCH_TEXT_MAX
    }

    /// Adds a row.
    pub fn push(&mut self, row: &K::Row<'_>) {
        self.rows += 1;
        for column in &mut self.columns {
            self.text_bytes += column.push(row);
        }
    }

    /// Makes a batch of the rows since the last one.
    ///
    /// # Errors
    /// When there are more bytes than Arrow can have in a batch.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        let columns = self.columns.iter_mut().map(|column| column.values.finish()).collect();
        (self.rows, self.text_bytes) = (0, 0);
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(arrow)
    }
}

impl<K: RowKind> Building<K> {
    fn new(cell: Cell<K>) -> Self {
        let values = match cell {
            Cell::Bool(_) => Values::Bool(BooleanBuilder::new()),
            Cell::Int(_) => Values::Int(Int64Builder::new()),
            Cell::Float(_) => Values::Float(Float64Builder::new()),
            Cell::Time(_) => Values::Time(TimestampNanosecondBuilder::new().with_timezone("UTC")),
            Cell::Name(_) => Values::Name(StringDictionaryBuilder::new()),
            Cell::Text(_) | Cell::Json(_) => Values::Text(StringViewBuilder::new()),
            Cell::Bytes(_) => Values::Bytes(BinaryViewBuilder::new()),
        };
        Self { cell, values }
    }

    /// Adds the value of a row, and returns how many bytes of text it takes.
    fn push(&mut self, row: &K::Row<'_>) -> usize {
        match (&self.cell, &mut self.values) {
            (Cell::Bool(pick), Values::Bool(to)) => to.append_option(pick(row)),
            (Cell::Int(pick), Values::Int(to)) => to.append_option(pick(row)),
            (Cell::Float(pick), Values::Float(to)) => to.append_option(pick(row)),
            (Cell::Time(pick), Values::Time(to)) => to.append_option(pick(row)),
            (Cell::Name(pick), Values::Name(to)) => {
                let name = pick(row);
                to.append_option(name.as_deref());
                return name.map_or(0, |name| name.len());
            }
            (Cell::Text(pick) | Cell::Json(pick), Values::Text(to)) => {
                let text = pick(row);
                to.append_option(text.as_deref());
                return text.map_or(0, |text| text.len());
            }
            (Cell::Bytes(pick), Values::Bytes(to)) => {
                let bytes = pick(row);
                to.append_option(bytes);
                return bytes.map_or(0, <[u8]>::len);
            }
            // `new` pairs them.
            _ => {}
        }
        0
    }
}

impl Values {
    fn finish(&mut self) -> arrow_array::ArrayRef {
        match self {
            Self::Bool(values) => ArrayBuilder::finish(values),
            Self::Int(values) => ArrayBuilder::finish(values),
            Self::Float(values) => ArrayBuilder::finish(values),
            Self::Time(values) => ArrayBuilder::finish(values),
            Self::Name(values) => ArrayBuilder::finish(values),
            Self::Text(values) => ArrayBuilder::finish(values),
            Self::Bytes(values) => ArrayBuilder::finish(values),
        }
    }
}
