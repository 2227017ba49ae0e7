//! Tables agree with the dump, and every way to scan them with the plain one.

mod scans;
mod variables;

use std::collections::BTreeSet;
use std::sync::Arc;

use kymo_core::{Context, Value};
use kymo_model::{Dataset, Table};

use crate::promise::Cases;
use crate::render::literal;
use crate::{Captured, Content, Sample, Subject, capture, promise};

/// For each kind of record there is a table with one row a record, in the same order, whose
/// columns have the values of the fields of the same name. A scan with a projection, filters, a
/// limit or other batches gives what the plain scan gives; so do the values of each variable.
pub fn tables_agree_with_the_dump(subject: &Subject) {
    let this = subject.clone();
    promise::each(subject.sound(), move |sample, cases| {
        agree(&this, sample, cases);
    });
}

fn agree(subject: &Subject, sample: &Sample, cases: &mut Cases) {
    let dataset = subject.format.open(&sample.source(), &Context::default());
    let dataset = dataset.unwrap_or_else(|error| panic!("it does not open: {error}"));
    let records = capture(&*dataset).unwrap_or_else(|error| panic!("no dump: {error}"));
    every_kind_has_a_table(&*dataset, &records);
    for table in dataset.tables() {
        cases.begin(|| format!("{}, table {}", sample.name, table.name()));
        let kind = singular(table.name());
        let records: Vec<_> = records.iter().filter(|record| record.kind == kind).collect();
        if !records.is_empty() {
            rows_are_the_records(&table, &records);
        }
        scans::agree(&table);
    }
    variables::agree(&*dataset, |path| {
        cases.begin(|| format!("{}, {path}", sample.name));
    });
}

fn every_kind_has_a_table(dataset: &dyn Dataset, records: &[Captured]) {
    let tables: BTreeSet<_> = dataset.tables().iter().map(|table| singular(table.name())).collect();
    for record in records {
        assert!(
            tables.contains(record.kind),
            "no table has a row for each {}; there are tables of {tables:?}",
            record.kind
        );
    }
}

fn rows_are_the_records(table: &Arc<dyn Table>, records: &[&Captured]) {
    let rows = scans::plain(table);
    assert_eq!(rows.len(), records.len(), "rows, and records of that kind");
    for (column, field) in table.schema().fields().iter().enumerate() {
        let name = field.name().as_str();
        if !has_field(records, name) {
            continue;
        }
        for (row, record) in rows.iter().zip(records) {
            let expected = field_of(record, name);
            assert!(
                is_same(&expected, &row[column]),
                "{name} of {} {} is {} in the dump, {} in the table",
                record.kind,
                record.index,
                literal(&expected),
                literal(&row[column])
            );
        }
    }
}

/// Returns true if a column is one of the record's fields, or holds its offset.
fn has_field(records: &[&Captured], name: &str) -> bool {
    let field = |record: &&Captured| record.fields.iter().any(|(field, _)| *field == name);
    name == "offset" || records.iter().any(field)
}

fn field_of(record: &Captured, name: &str) -> Value {
    match record.fields.iter().find(|(field, _)| *field == name) {
        Some((_, Content::Value(value))) => value.clone(),
        Some((_, Content::Array(_, values))) => Value::List(values.clone()),
        None if name == "offset" => Value::UInt(record.offset),
        None => Value::Null,
    }
}

/// Returns true if a cell shows a value: as JSON the same, or, in a column that has values of
/// several kinds as text, the same to read.
fn is_same(value: &Value, cell: &Value) -> bool {
    let json = |value: &Value| serde_json::to_value(value).expect("a value as JSON");
    match (value, cell) {
        (Value::Address(address), Value::UInt(cell)) => address == cell,
        (value, Value::Text(cell)) if value.as_text().is_none() => {
            [value.to_string(), json(value).to_string()].contains(cell)
        }
        (value, cell) => json(value) == json(cell),
    }
}

/// The word for one row of a table: `entries` has rows that are an `entry`.
fn singular(plural: &str) -> String {
    match (plural.strip_suffix("ies"), plural.strip_suffix('s')) {
        (Some(stem), _) => format!("{stem}y"),
        (None, Some(stem)) => stem.to_owned(),
        (None, None) => plural.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_after_its_rows() {
        assert_eq!(singular("elements"), "element");
        assert_eq!(singular("entries"), "entry");
    }

    #[test]
    fn a_cell_shows_a_value_of_its_own_kind_or_as_text() {
        assert!(is_same(&Value::from(3_i8), &Value::from(3_u64)));
        assert!(is_same(&Value::from(3_i8), &Value::from("3")));
        assert!(is_same(&Value::from(f64::NAN), &Value::from(f64::NAN)));
        assert!(!is_same(&Value::from("3"), &Value::from(3_u64)));
        assert!(!is_same(&Value::Null, &Value::from(0_u64)));
    }
}
