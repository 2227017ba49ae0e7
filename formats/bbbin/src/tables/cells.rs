//! Columns by what they take from a row.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, StringArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use kymo_core::{Error, Result};

type Pick<R, T> = Box<dyn Fn(&R) -> Option<T> + Send + Sync>;

type Try<R> = Box<dyn Fn(&R) -> Result<Option<String>> + Send + Sync>;

/// Ways in which a column is filled.
pub(super) enum Cells<R> {
    Signed(Pick<R, i64>),
    Unsigned(Pick<R, u64>),
    Single(Pick<R, f32>),
    Float(Pick<R, f64>),
    Bool(Pick<R, bool>),
    Text(Pick<R, String>),
    /// Like text, where making it may fail.
    Fallible(Try<R>),
}

/// A column of a table.
pub(super) struct Column<R> {
    pub name: String,
    is_nullable: bool,
    cells: Cells<R>,
}

impl<R: 'static> Column<R> {
    fn new(name: impl Into<String>, is_nullable: bool, cells: Cells<R>) -> Self {
        Self { name: name.into(), is_nullable, cells }
    }

    pub(super) fn signed(
        name: &str,
        pick: impl Fn(&R) -> Option<i64> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, true, Cells::Signed(Box::new(pick)))
    }

    pub(super) fn unsigned(
        name: &str,
        pick: impl Fn(&R) -> Option<u64> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, true, Cells::Unsigned(Box::new(pick)))
    }

    pub(super) fn single(
        name: &str,
        pick: impl Fn(&R) -> Option<f32> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, true, Cells::Single(Box::new(pick)))
    }

    pub(super) fn float(
        name: &str,
        pick: impl Fn(&R) -> Option<f64> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, true, Cells::Float(Box::new(pick)))
    }

    pub(super) fn bool(
        name: &str,
        pick: impl Fn(&R) -> Option<bool> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, true, Cells::Bool(Box::new(pick)))
    }

    pub(super) fn text(
        name: &str,
        pick: impl Fn(&R) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, true, Cells::Text(Box::new(pick)))
    }

    pub(super) fn fallible(
        name: &str,
        pick: impl Fn(&R) -> Result<Option<String>> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, true, Cells::Fallible(Box::new(pick)))
    }

    /// Says that every row has a value here.
    pub(super) fn always(mut self) -> Self {
        self.is_nullable = false;
        self
    }

    pub(super) fn fill(&self, rows: &[R]) -> Result<ArrayRef> {
        Ok(match &self.cells {
            Cells::Signed(pick) => Arc::new(rows.iter().map(pick).collect::<Int64Array>()),
            Cells::Unsigned(pick) => Arc::new(rows.iter().map(pick).collect::<UInt64Array>()),
            Cells::Single(pick) => Arc::new(rows.iter().map(pick).collect::<Float32Array>()),
            Cells::Float(pick) => Arc::new(rows.iter().map(pick).collect::<Float64Array>()),
            Cells::Bool(pick) => Arc::new(rows.iter().map(pick).collect::<BooleanArray>()),
            Cells::Text(pick) => Arc::new(rows.iter().map(pick).collect::<StringArray>()),
            Cells::Fallible(pick) => {
                let cells = rows.iter().map(pick).collect::<Result<Vec<_>>>()?;
                Arc::new(StringArray::from(cells))
            }
        })
    }

    /// So many cells that nobody asked for.
    pub(super) fn blank(&self, rows: usize) -> ArrayRef {
        match self.cells {
            Cells::Signed(_) => Arc::new(Int64Array::from(vec![0; rows])),
            Cells::Unsigned(_) => Arc::new(UInt64Array::from(vec![0; rows])),
            Cells::Single(_) => Arc::new(Float32Array::from(vec![0.0; rows])),
            Cells::Float(_) => Arc::new(Float64Array::from(vec![0.0; rows])),
            Cells::Bool(_) => Arc::new(BooleanArray::from(vec![false; rows])),
            Cells::Text(_) | Cells::Fallible(_) => Arc::new(StringArray::from(vec![""; rows])),
        }
    }

    fn data_type(&self) -> DataType {
        match self.cells {
            Cells::Signed(_) => DataType::Int64,
            Cells::Unsigned(_) => DataType::UInt64,
            Cells::Single(_) => DataType::Float32,
            Cells::Float(_) => DataType::Float64,
            Cells::Bool(_) => DataType::Boolean,
            Cells::Text(_) | Cells::Fallible(_) => DataType::Utf8,
        }
    }
}

/// The schema of some columns.
pub(super) fn schema<R: 'static>(columns: &[Column<R>]) -> SchemaRef {
    let field =
        |column: &Column<R>| Field::new(&column.name, column.data_type(), column.is_nullable);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// The places of columns by name, for listings.
pub(super) fn places<R: 'static>(columns: &[Column<R>], names: &[&str]) -> Vec<usize> {
    let place = |name: &&str| columns.iter().position(|column| column.name == **name);
    names.iter().filter_map(place).collect()
}

pub(super) fn no_column(index: usize) -> Error {
    Error::request(format!("there is no column {index}"))
}
