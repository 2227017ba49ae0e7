//! Databases with the figures that an independent reader took of them, and samples to change.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use bytes::Bytes;
use kymo_conformance::{shared, testdata};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Source};
use kymo_hpcdb::HpcDb;
use kymo_model::table::Scan;
use kymo_model::{Dataset, Format};
use serde_json::Value;

/// The files of a database.
pub const FILES: [&str; 4] = ["meta.db", "profile.db", "cct.db", "trace.db"];

/// The files of a sample, some of them changed or left out.
pub fn files(
    sample: &str,
    change: impl Fn(&str, Vec<u8>) -> Option<Vec<u8>>,
) -> Vec<(&'static str, Bytes)> {
    let files = FILES.into_iter().filter_map(|name| {
        let bytes = std::fs::read(testdata("hpcdb").join(sample).join(name)).unwrap();
        Some((name, Bytes::from(change(name, bytes)?)))
    });
    files.collect()
}

/// A sample, some of its files changed or left out.
pub fn changed(sample: &str, change: impl Fn(&str, Vec<u8>) -> Option<Vec<u8>>) -> Source {
    Source::from_files(sample, files(sample, change))
}

/// The tiny sample with other bytes at some places of a file.
pub fn patched(file: &str, patches: &[(usize, &[u8])]) -> Source {
    changed("tiny", |name, mut bytes| {
        for (at, patch) in patches.iter().filter(|_| name == file) {
            bytes[*at..*at + patch.len()].copy_from_slice(patch);
        }
        Some(bytes)
    })
}

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
    each_at(|path, expected| body(&*open(path), expected));
}

/// Each database, by where it is, with its figures.
pub fn each_at(body: impl Fn(&Path, &Value)) {
    for folder in ["hpctoolkit/golden", "hpctoolkit/made-here/golden"] {
        shared::each(folder, "json", |figures| {
            eprintln!("{}", figures.display());
            let expected = serde_json::from_slice(&std::fs::read(figures).unwrap()).unwrap();
            body(&database_of(figures), &expected);
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

/// Returns true if a figure is what was found, but for rounding.
pub fn is_near(found: f64, expected: &Value) -> bool {
    let expected = expected.as_f64().unwrap();
    (found - expected).abs() <= expected.abs() * 1e-9
}
