//! Profiles and traces agree with what HPCToolkit's own tools print of them.

use std::fs;
use std::path::{Path, PathBuf};

use kymo_conformance::shared;
use kymo_core::bytes::Limits;
use kymo_core::{Context, Result, Source};
use kymo_hpcrun::{Hpcrun, Trace};
use kymo_model::{DumpRequest, Flow, Format, Record, RecordSink};

/// Takes the text of a dump.
struct Text(String);

impl RecordSink for Text {
    fn record(&mut self, record: &Record<'_>) -> Result<Flow> {
        panic!("a style gave the record {record:?}")
    }

    fn text(&mut self, text: &[u8]) -> Result<Flow> {
        self.0.push_str(std::str::from_utf8(text).unwrap());
        Ok(Flow::More)
    }
}

fn listing(path: &Path) -> String {
    let source = Source::open(path, &Limits::default()).unwrap();
    let dataset = Hpcrun.open(&source, &Context::default()).unwrap();
    let mut text = Text(String::new());
    let request = DumpRequest { style: Some("hpcproftt".into()), ..DumpRequest::default() };
    dataset.dump(&request, &mut text).unwrap();
    text.0
}

/// The measured file that a listing is of.
fn measured(listing: &Path) -> PathBuf {
    let name = listing.file_stem().unwrap();
    listing.parent().unwrap().join("measurements").join(name)
}

fn listings(extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    shared::each("hpctoolkit/made-here", "txt", |path| {
        let name = path.file_stem().unwrap().to_string_lossy();
        if Path::new(&*name).extension().is_some_and(|e| e == extension) {
            found.push(path.to_path_buf());
        }
    });
    found
}

#[test]
fn every_profile_reads_as_hpcproftt_prints_it() {
    for path in listings("hpcrun") {
        let expected = fs::read_to_string(&path).unwrap();
        let found = listing(&measured(&path));
        let same = expected.lines().zip(found.lines()).take_while(|(a, b)| a == b).count();
        assert!(
            expected == found,
            "{} line {}:\n{:?}\n{:?}",
            path.display(),
            same + 1,
            expected.lines().nth(same),
            found.lines().nth(same)
        );
    }
}

#[test]
fn every_trace_has_the_nodes_that_were_printed() {
    for path in listings("hpctrace") {
        let expected = fs::read_to_string(&path).unwrap();
        let expected: Vec<u32> = expected.lines().map(|line| line.parse().unwrap()).collect();
        let bytes = fs::read(measured(&path)).unwrap().into();
        let trace = Trace::open(&bytes, &Limits::default()).unwrap();
        let found: Vec<_> = trace.iter(0..trace.len()).map(|record| record.node).collect();
        assert_eq!(found, expected, "{}", path.display());
        assert_eq!(listing(&measured(&path)), fs::read_to_string(&path).unwrap());
    }
}
