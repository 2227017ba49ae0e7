//! Tables of few rows, which are listed when the first is asked for, and the records of a dump
//! that they agree with.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, Int64Array, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::{ColumnTable, Columns, Table};
use crate::record::{Flow, Record, RecordSink};
use kymo_core::{Error, Result, Value};

/// A table of few rows: how they are listed, and how each column is made of one.
pub struct ListedTable<T> {
    /// The name of the table, a plural noun.
    pub name: &'static str,
    /// Description of a row, in a line.
    pub about: &'static str,
    /// The columns, in their order.
    pub columns: Vec<(&'static str, Cells<T>)>,
    /// Lists the rows.
    pub list: Box<dyn Fn() -> Vec<T> + Send + Sync>,
}

/// Ways in which the cells of a column are made of rows.
pub enum Cells<T> {
    /// Numbers that are always there.
    UInt(fn(&T) -> u64),
    /// Numbers that may not be there.
    MaybeUInt(fn(&T) -> Option<u64>),
    /// Numbers with a sign that may not be there.
    MaybeInt(fn(&T) -> Option<i64>),
    /// Texts that are always there.
    Text(fn(&T) -> String),
}

impl<T> Cells<T> {
    fn field(&self, name: &str) -> Field {
        match self {
            Self::UInt(_) => Field::new(name, DataType::UInt64, false),
            Self::MaybeUInt(_) => Field::new(name, DataType::UInt64, true),
            Self::MaybeInt(_) => Field::new(name, DataType::Int64, true),
            Self::Text(_) => Field::new(name, DataType::Utf8, false),
        }
    }

    fn value(&self, row: &T) -> Value {
        match self {
            Self::UInt(cell) => cell(row).into(),
            Self::MaybeUInt(cell) => cell(row).map_or(Value::Null, Value::from),
            Self::MaybeInt(cell) => cell(row).map_or(Value::Null, Value::from),
            Self::Text(cell) => cell(row).into(),
        }
    }

    fn array(&self, rows: &[&T]) -> ArrayRef {
        let rows = rows.iter().copied();
        match self {
            Self::UInt(cell) => Arc::new(UInt64Array::from_iter_values(rows.map(cell))),
            Self::MaybeUInt(cell) => Arc::new(rows.map(cell).collect::<UInt64Array>()),
            Self::MaybeInt(cell) => Arc::new(rows.map(cell).collect::<Int64Array>()),
            Self::Text(cell) => Arc::new(StringArray::from_iter_values(rows.map(cell))),
        }
    }
}

impl<T: Send + Sync + 'static> ListedTable<T> {
    /// The table.
    #[must_use]
    pub fn into_table(self) -> Arc<dyn Table> {
        ColumnTable::new(ListedRows { listed: self, rows: OnceLock::new() })
    }

    /// Gives every row as a record.
    ///
    /// # Errors
    /// When the sink fails.
    pub fn dump(
        &self,
        kind: &'static str,
        offset: impl Fn(&T) -> u64,
        sink: &mut dyn RecordSink,
    ) -> Result<Flow> {
        for (index, row) in (self.list)().iter().enumerate() {
            let cells = self.columns.iter();
            let fields = cells.map(|(name, cells)| (*name, cells.value(row).into())).collect();
            let record = Record { kind, index: index as u64, offset: offset(row), fields };
            if sink.record(&record)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::More)
    }
}

/// Rows that were listed.
struct ListedRows<T> {
    listed: ListedTable<T>,
    rows: OnceLock<Vec<T>>,
}

impl<T> ListedRows<T> {
    fn all(&self) -> &[T] {
        self.rows.get_or_init(|| (self.listed.list)())
    }
}

impl<T: Send + Sync + 'static> Columns for ListedRows<T> {
    type Row<'a> = &'a T;

    fn name(&self) -> &'static str {
        self.listed.name
    }

    fn about(&self) -> &'static str {
        self.listed.about
    }

    fn schema(&self) -> SchemaRef {
        let fields = self.listed.columns.iter().map(|(name, cells)| cells.field(name));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    fn row_count(&self) -> u64 {
        self.all().len() as u64
    }

    fn rows(&self, rows: Range<usize>) -> Result<Vec<&T>> {
        Ok(self.all().get(rows).unwrap_or_default().iter().collect())
    }

    fn column(&self, index: usize, rows: &[&T]) -> Result<ArrayRef> {
        let column = self.listed.columns.get(index);
        let column = column.ok_or_else(|| Error::request(format!("there is no column {index}")))?;
        Ok(column.1.array(rows))
    }
}
