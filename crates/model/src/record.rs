//! Records that `kymo dump` prints, in the order of the file, rendered by the front end.

use std::sync::Arc;

use arrow_array::ArrayRef;

use kymo_core::{Result, Value};

/// One record of a file with all its fields.
#[derive(Debug)]
pub struct Record<'a> {
    /// Kind of record: the name of the table that has a row for it, in singular.
    pub kind: &'static str,
    /// Its number among those of its kind, from 0.
    pub index: u64,
    /// Its first byte.
    pub offset: u64,
    /// Its fields, in the order of the file. Names are those of the table's columns.
    pub fields: Vec<(&'static str, Field<'a>)>,
}

/// The value of a field of a record.
#[derive(Debug)]
pub enum Field<'a> {
    /// A value.
    Value(Value),
    /// Many values, read as they are asked for.
    Array(&'a dyn ArrayValues),
}

impl<T: Into<Value>> From<T> for Field<'_> {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}

/// Values of an n-d array that may be too many to hold.
pub trait ArrayValues: std::fmt::Debug {
    /// The length of each dimension, the slowest first.
    fn shape(&self) -> &[u64];
    /// Returns the number of values that may be read at once, where they are large.
    fn values_per_read(&self) -> u64 {
        u64::MAX
    }
    /// Returns true if a value that was read so far was rounded: the format's type is wider than
    /// any of ours, and this value needed it.
    fn has_rounded(&self) -> bool {
        false
    }
    /// Reads values by their position in storage.
    fn read(&self, values: std::ops::Range<u64>) -> Result<ArrayRef>;
}

/// Request for the records that a dump is to give.
#[derive(Debug, Clone, Default)]
pub struct DumpRequest {
    /// Leave out the contents of arrays.
    pub headers_only: bool,
    /// A style of another tool, by the name the format lists in
    /// [`FormatInfo::dump_styles`](crate::FormatInfo::dump_styles).
    pub style: Option<Arc<str>>,
    /// With a style: the variable that the other tool was asked to print.
    pub variable: Option<Arc<str>>,
}

/// True if a sink wants more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    More,
    /// Enough.
    Stop,
}

/// Takes the records of a dump one at a time.
pub trait RecordSink {
    /// Takes, before a record, where it begins in what is decompressed from its offset on. With the
    /// file and the offset, that tells a record from all others. Not told where the file has records
    /// as they are.
    fn position(&mut self, _position: u64) {}
    /// Takes a record.
    fn record(&mut self, record: &Record<'_>) -> Result<Flow>;
    /// Takes text that stands as it is: the output in a style of another tool.
    fn text(&mut self, text: &[u8]) -> Result<Flow>;
}
