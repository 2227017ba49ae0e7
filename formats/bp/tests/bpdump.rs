//! The style of the old tool, against what the old tool printed.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

use std::fs;
use std::path::Path;

use kymo_bp::Bp;
use kymo_conformance::{shared, testdata};
use kymo_core::{Context, DumpRequest, Flow, Format, Record, RecordSink, Result, Source};

/// Keeps text and refuses records.
struct Text(Vec<u8>);

impl RecordSink for Text {
    fn record(&mut self, record: &Record<'_>) -> Result<Flow> {
        panic!("a record among text: {record:?}");
    }

    fn text(&mut self, text: &[u8]) -> Result<Flow> {
        self.0.extend_from_slice(text);
        Ok(Flow::More)
    }
}

fn bpdump(path: &Path, variable: Option<&str>) -> Vec<u8> {
    let name = path.file_name().unwrap();
    let source = Source::from_bytes(name, fs::read(path).unwrap());
    let request = DumpRequest {
        style: Some("bpdump".into()),
        variable: variable.map(Into::into),
        ..DumpRequest::default()
    };
    let mut text = Text(Vec::new());
    let dataset = Bp.open(&source, &Context::default()).unwrap();
    dataset.dump(&request, &mut text).unwrap();
    text.0
}

/// Compares with every output of the old tool that lies in a folder; says how many there were.
fn compare_folder(folder: &Path) -> usize {
    let mut compared = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let golden = entry.unwrap().path();
        let name = golden.file_name().unwrap().to_str().unwrap();
        let Some(stem) = name.strip_suffix(".dump.txt") else { continue };
        // The old tool hung on this one and printed nothing.
        if stem.starts_with("09_string_dataset") {
            continue;
        }
        let (file, variable) = match stem.split_once(".d_") {
            Some((file, variable)) => (file, Some(variable)),
            None => (stem, None),
        };
        let ours = bpdump(&folder.join(format!("{file}.bp")), variable);
        let theirs = fs::read(&golden).unwrap();
        let same = ours == theirs;
        assert!(same, "{}\nours:\n{}", golden.display(), String::from_utf8_lossy(&ours));
        compared += 1;
    }
    compared
}

#[test]
fn made_files_are_printed_as_the_old_tool_did() {
    assert_eq!(compare_folder(&testdata("bp/v1-2008-07-11")), 24);
}

#[test]
fn real_files_are_printed_as_the_old_tool_did() {
    if let Some(folder) = shared::file("bp/real") {
        assert_eq!(compare_folder(&folder), 5);
    }
}
