//! Databases with the figures that an independent reader took of them.
#![allow(dead_code, unreachable_pub, clippy::print_stderr, reason = "each test uses some of it")]

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use kymo_conformance::shared;
use kymo_core::bytes::Limits;
use kymo_core::table::Scan;
use kymo_core::{Context, Dataset, Format, Source};
use kymo_hpcdb::HpcDb;
use serde_json::Value;

/// Where the database of a file of figures is.
fn database_of(figures: &Path) -> PathBuf {
    let name = figures.file_name().unwrap().to_str().unwrap();
    let name = name.strip_suffix(".ref.json").unwrap();
    let root = figures.parent().unwrap().parent().unwrap();
    let made_here = name
        .split_once(".database")
        .map(|(program, rest)| root.join(program).join(format!("database{rest}")));
    let others = [root.join("pairs/dbase").join(name), root.join("databases").join(name)];
    made_here.into_iter().chain(others).find(|path| path.is_dir()).expect("a database")
}

pub fn open(path: &Path) -> Box<dyn Dataset> {
    let source = Source::open(path, &Limits::default()).unwrap();
    HpcDb.open(&source, &Context::default()).unwrap()
}

pub fn each(body: impl Fn(&dyn Dataset, &Value)) {
    for folder in ["hpctoolkit/golden", "hpctoolkit/made-here/golden"] {
        shared::each(folder, "json", |figures| {
            eprintln!("{}", figures.display());
            let expected = serde_json::from_slice(&std::fs::read(figures).unwrap()).unwrap();
            body(&*open(&database_of(figures)), &expected);
        });
    }
}

pub fn batches(dataset: &dyn Dataset, table: &str) -> Vec<RecordBatch> {
    let Some(table) = dataset.table(table) else { return Vec::new() };
    table.scan(&Scan::default()).unwrap().map(Result::unwrap).collect()
}

/// The values of a column of numbers.
pub fn numbers(dataset: &dyn Dataset, table: &str, column: &str) -> Vec<Option<u64>> {
    let mut numbers = Vec::new();
    for batch in batches(dataset, table) {
        numbers.extend(batch.column_by_name(column).unwrap().as_primitive::<UInt64Type>());
    }
    numbers
}

pub fn texts(dataset: &dyn Dataset, table: &str, column: &str) -> Vec<Option<String>> {
    let mut texts = Vec::new();
    for batch in batches(dataset, table) {
        let column = batch.column_by_name(column).unwrap().as_string::<i32>().clone();
        texts.extend(column.iter().map(|text| text.map(str::to_owned)));
    }
    texts
}

/// Whether a figure is what was found, but for rounding.
pub fn is_near(found: f64, expected: &Value) -> bool {
    let expected = expected.as_f64().unwrap();
    (found - expected).abs() <= expected.abs() * 1e-9
}
