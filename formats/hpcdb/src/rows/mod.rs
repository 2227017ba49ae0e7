//! The rows of every table, read one after another from the files.
//!
//! Rows that cannot be read are findings, and the others are read. Arrays of a damaged file may
//! lie on top of each other; no more rows are given than the file has room for.

mod meta;
mod traces;
mod values;

pub(crate) use meta::{
    ContextRow, FunctionRow, MetricRow, PathRow, StatisticRow, contexts, files, functions, metrics,
    modules, scopes, statistics,
};
pub(crate) use traces::{SampleRow, TraceRow, samples, traces};
pub(crate) use values::{
    ProfileRow, SummaryRow, ValueRow, context_values, context_values_of, profiles, summary,
    value_count, values, values_of,
};

/// Rows of a table.
pub(crate) type Rows<T> = Box<dyn Iterator<Item = T> + Send>;
