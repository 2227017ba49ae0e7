//! Every way to scan a table gives what the plain scan gives.

use std::cmp::Ordering;
use std::sync::Arc;

use kymo_core::Value;
use kymo_model::Table;
use kymo_model::table::{Comparison, Filter, Scan};

use crate::render::{literal, rows};

type Row = Vec<Value>;

const BATCH_ROWS: [usize; 3] = [1, 7, 8192];

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

/// All rows with all columns.
pub(super) fn plain(table: &Arc<dyn Table>) -> Vec<Row> {
    run(table, &Scan::default())
}

/// Compares batches, limits, projections and filters with the plain scan.
pub(super) fn agree(table: &Arc<dyn Table>) {
    let all = plain(table);
    let count = all.len() as u64;
    assert_eq!(table.row_count().unwrap_or(count), count, "rows told, and rows scanned");
    for batch_rows in BATCH_ROWS {
        let scan = Scan { batch_rows, ..Scan::default() };
        assert_rows(&run(table, &scan), &all, &format!("batches of {batch_rows}"));
        limits(table, &scan, &all);
        projections(table, &scan, &all);
    }
    filters(table, &all);
}

fn limits(table: &Arc<dyn Table>, scan: &Scan, all: &[Row]) {
    for limit in [0, 1, all.len() / 2, all.len(), all.len() + 1] {
        let scan = Scan { limit: Some(limit as u64), ..scan.clone() };
        let expected = &all[..limit.min(all.len())];
        let what = format!("a limit of {limit} in batches of {}", scan.batch_rows);
        assert_rows(&run(table, &scan), expected, &what);
    }
}

fn projections(table: &Arc<dyn Table>, scan: &Scan, all: &[Row]) {
    let width = table.schema().fields().len();
    let single = (0..width).map(|column| vec![column]);
    for columns in single.chain([(0..width).rev().collect(), Vec::new()]) {
        let scan = Scan { columns: Some(columns.clone()), ..scan.clone() };
        let expected: Vec<_> = all.iter().map(|row| project(row, &columns)).collect();
        assert_rows(&run(table, &scan), &expected, &format!("columns {columns:?}"));
    }
}

fn project(row: &Row, columns: &[usize]) -> Row {
    columns.iter().map(|column| row[*column].clone()).collect()
}

/// Filters each column by a value that it has, alone and with a projection and a limit.
fn filters(table: &Arc<dyn Table>, all: &[Row]) {
    let schema = table.schema();
    for (column, field) in schema.fields().iter().enumerate() {
        let values = all.iter().map(|row| &row[column]);
        let Some(value) = values.filter(|value| **value != Value::Null).nth(all.len() / 3) else {
            continue;
        };
        for comparison in COMPARISONS {
            let Ok(filter) = Filter::new(&schema, field.name(), comparison, &filter_text(value))
            else {
                // A type that has no order, such as a list.
                continue;
            };
            let passes = |row: &&Row| meets(&row[column], comparison, value);
            let expected: Vec<_> = all.iter().filter(passes).cloned().collect();
            let what = format!("{} {comparison:?} {}", field.name(), literal(value));
            filtered(table, filter, &expected, &what);
        }
    }
}

fn filtered(table: &Arc<dyn Table>, filter: Filter, expected: &[Row], what: &str) {
    let scan = Scan { filters: vec![filter], batch_rows: 7, ..Scan::default() };
    assert_rows(&run(table, &scan), expected, what);
    let scan = Scan { columns: Some(vec![0]), limit: Some(2), batch_rows: 1, ..scan };
    let first: Vec<_> = expected.iter().take(2).map(|row| project(row, &[0])).collect();
    assert_rows(&run(table, &scan), &first, &format!("{what}, one column, two rows"));
}

/// A value as one types it in a filter.
fn filter_text(value: &Value) -> String {
    value.as_text().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns true if a cell meets a condition; nothing never does.
fn meets(cell: &Value, comparison: Comparison, value: &Value) -> bool {
    let order = match (cell, value) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        (Value::Float32(a), Value::Float32(b)) => a.total_cmp(b),
        (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        _ => return false,
    };
    match comparison {
        Comparison::Equal => order == Ordering::Equal,
        Comparison::NotEqual => order != Ordering::Equal,
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterOrEqual => order != Ordering::Less,
    }
}

/// The rows of a scan; its batches are neither empty nor larger than asked for.
pub(super) fn run(table: &Arc<dyn Table>, scan: &Scan) -> Vec<Row> {
    let schema = scan.output_schema(&table.schema()).expect("a schema");
    let batches = Arc::clone(table).scan(scan);
    let batches = batches.unwrap_or_else(|error| panic!("it cannot be scanned: {error}"));
    let mut found = Vec::new();
    for batch in batches {
        let batch = batch.unwrap_or_else(|error| panic!("a batch fails: {error}"));
        assert_eq!(batch.schema(), schema, "schema of a batch");
        assert!(batch.num_rows() > 0, "an empty batch");
        assert!(batch.num_rows() <= scan.batch_rows, "a batch of {}", batch.num_rows());
        found.extend(rows(&batch));
    }
    found
}

/// Compares as text, in which what is no number equals itself.
pub(super) fn assert_rows(found: &[Row], expected: &[Row], what: &str) {
    assert_eq!(found.len(), expected.len(), "rows with {what}");
    let text = |row: &Row| row.iter().map(literal).collect::<Vec<_>>();
    for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(text(found), text(expected), "row {number} with {what}");
    }
}
