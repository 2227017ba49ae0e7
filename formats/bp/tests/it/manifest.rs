//! Every element of every sound file, against listings that an independent reader made.

use std::fs;
use std::path::Path;

use kymo_bp::{Bp, Element, Reader, spec};
use kymo_conformance::{shared, testdata};
use kymo_core::{Context, Source};
use kymo_model::Format;
use serde_json::Value;

fn open(path: &Path) -> std::sync::Arc<Reader> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let opened = Reader::open(&Source::from_bytes("test.bp", bytes), &Context::default());
    opened.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files of a manifest that have a listing, or are sound and empty.
fn listed(manifest: &Path, folder: &str) -> Vec<Value> {
    let text = fs::read_to_string(manifest).expect("the manifest");
    let entries: Vec<Value> = serde_json::from_str(&text).expect("a list");
    let wanted = |entry: &Value| {
        let file = entry["file"].as_str().expect("a file name");
        // These two have no listing: see `bigendian_files_equal_their_twins` and
        // `strings_that_were_never_written_are_null`.
        file.starts_with(folder) && !file.contains("09_string_dataset")
    };
    entries.into_iter().filter(wanted).collect()
}

fn compare_all(root: &Path, manifest: &Path, folder: &str) {
    let entries = listed(manifest, folder);
    assert!(!entries.is_empty(), "nothing listed in {folder}");
    for entry in entries {
        let file = entry["file"].as_str().unwrap();
        let reader = open(&root.join(file));
        let listing = entry["listing"].as_array().unwrap();
        assert_eq!(reader.len(), listing.len(), "{file}");
        for (element, line) in reader.elements().zip(listing) {
            compare(file, &element, line);
        }
    }
}

fn compare(file: &str, element: &Element<'_>, line: &Value) {
    let tag = match element.kind.unwrap().to_tag() {
        spec::DST_TAG => "DST",
        spec::SCR_TAG => "SCR",
        spec::DSTATRN_TAG => "DSTATRN",
        spec::DSTATRS_TAG => "DSTATRS",
        spec::GRPATRN_TAG => "GRPATRN",
        spec::GRPATRS_TAG => "GRPATRS",
        other => panic!("{file}: tag {other}"),
    };
    let payload = element.payload.as_ref().unwrap();
    let at = format!("{file} at {:#x}", element.offset);
    assert_eq!(line["off"], element.offset, "{at}");
    assert_eq!(line["len"], element.length, "{at}");
    assert_eq!(line["tag"], tag, "{at}");
    // The manifest shows each byte of a text as a character.
    let latin_1 = |bytes: &[u8]| bytes.iter().map(|&byte| char::from(byte)).collect::<String>();
    assert_eq!(line["name"], latin_1(element.name), "{at}");
    assert_eq!(line["path"], latin_1(element.path), "{at}");
    assert_eq!(line["type"], payload.datatype.0, "{at}");
    assert_eq!(element.fault, None, "{at}");
    match payload.dimensions {
        None => {
            let hex = kymo_core::Value::Bytes(payload.bytes.to_vec()).to_string();
            assert_eq!(line["val_hex"], hex, "{at}");
        }
        Some(dimensions) => {
            let found: Vec<[i32; 3]> = dimensions
                .iter()
                .map(|d| [d.local_bound, d.global_bound, d.global_offset])
                .collect();
            assert_eq!(line["rank"], dimensions.rank(), "{at}");
            assert_eq!(line["size"], payload.stated_bytes, "{at}");
            assert_eq!(line["dims_local_global_offset"], serde_json::json!(found), "{at}");
        }
    }
}

#[test]
fn files_of_both_writers_match_the_manifest() {
    let root = testdata("bp");
    for folder in ["v1-2008-07-11", "v0-2008-06-04"] {
        compare_all(&root, &root.join("MANIFEST.json"), folder);
    }
}

/// What `info` says of a file, as the listing of an independent reader adds up to it.
#[test]
fn the_summary_adds_up_to_the_manifest() {
    let root = testdata("bp");
    for entry in listed(&root.join("MANIFEST.json"), "v1-2008-07-11") {
        let file = entry["file"].as_str().unwrap();
        let listing = entry["listing"].as_array().unwrap();
        let bytes = |line: &Value| match line["val_hex"].as_str() {
            Some(hex) => hex.len() as u64 / 2,
            None => line["size"].as_u64().unwrap(),
        };
        let payload: u64 = listing.iter().map(bytes).sum();
        let is_attribute = |line: &&Value| line["tag"].as_str().unwrap().contains("ATR");
        let attributes = listing.iter().filter(is_attribute).count();
        let source = Source::from_bytes(file, fs::read(root.join(file)).unwrap());
        let summary = Bp.open(&source, &Context::default()).unwrap().summary();
        let fact = |name: &str| summary.facts.iter().find(|fact| fact.name == name).unwrap();
        assert_eq!(fact("elements").value, listing.len().into(), "{file}");
        assert_eq!(fact("payload").value, payload.into(), "{file}");
        assert_eq!(fact("attributes").value, attributes.into(), "{file}");
        let words = &fact("elements").detail;
        let counted: u64 =
            words.split_whitespace().filter_map(|word| word.parse::<u64>().ok()).sum();
        assert_eq!(counted, listing.len() as u64, "{file}: {words}");
    }
}

#[test]
fn real_files_match_the_manifest() {
    if let Some(root) = shared::file("bp") {
        compare_all(&root, &root.join("MANIFEST.json"), "real");
    }
}

#[test]
fn bigendian_files_equal_their_twins() {
    for name in [
        "01_scalars_all_types",
        "02_datasets_types_ranks",
        "03_global_blocks",
        "04_attributes",
        "06_timesteps",
    ] {
        let [big, little] = ["bigendian", "v1-2008-07-11"].map(|folder| {
            let path = testdata(format!("bp/{folder}/{name}.bp"));
            let bytes = fs::read(path).unwrap();
            let source = Source::from_bytes(name, bytes);
            let dataset = Bp.open(&source, &Context::default()).unwrap();
            kymo_conformance::dump(&*dataset).unwrap()
        });
        assert_eq!(big, little, "{name}");
    }
}

#[test]
fn strings_that_were_never_written_are_null() {
    let reader = open(&testdata("bp/v1-2008-07-11/09_string_dataset_writer_bug.bp"));
    assert_eq!(reader.len(), 2);
    let [strset, next] = [0, 1].map(|index| reader.element(index).unwrap());
    assert_eq!(strset.name_text(), "strset");
    assert!(strset.is_missing_values());
    assert_eq!((strset.value_count(), strset.fault), (3, None));
    assert_eq!(next.name_text(), "next");
    assert_eq!(next.payload.unwrap().bytes, (-123_456_789_i32).to_le_bytes());
}
