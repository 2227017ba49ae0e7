//! The style of the old tool, against what the old tool printed.

use std::fs;
use std::path::Path;

use kymo_bp::{Bp, Data, Dialect, Options, Writer};
use kymo_conformance::{shared, testdata};
use kymo_core::{Context, Result, Source};
use kymo_model::{DumpRequest, Flow, Format, Record, RecordSink};

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

fn bpdump(style: &str, path: &Path, variable: Option<&str>) -> Vec<u8> {
    let name = path.file_name().unwrap();
    let source = Source::from_bytes(name, fs::read(path).unwrap());
    let request = DumpRequest {
        style: Some(style.into()),
        variable: variable.map(Into::into),
        ..DumpRequest::default()
    };
    let mut text = Text(Vec::new());
    let dataset = Bp.open(&source, &Context::default()).unwrap();
    dataset.dump(&request, &mut text).unwrap();
    text.0
}

/// Compares with every output of the old tool that lies in a folder; says how many there were.
fn compare_folder(style: &str, folder: &Path) -> usize {
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
        let ours = bpdump(style, &folder.join(format!("{file}.bp")), variable);
        let theirs = fs::read(&golden).unwrap();
        let same = ours == theirs;
        assert!(same, "{}\nours:\n{}", golden.display(), String::from_utf8_lossy(&ours));
        compared += 1;
    }
    compared
}

#[test]
fn made_files_are_printed_as_the_old_tool_did() {
    assert_eq!(compare_folder("bpdump", &testdata("bp/v1-2008-07-11")), 24);
}

#[test]
fn real_files_are_printed_as_the_old_tool_did() {
    if let Some(folder) = shared::file("bp/real") {
        assert_eq!(compare_folder("bpdump", &folder), 5);
    }
}

#[test]
fn files_of_june_are_printed_as_the_tool_of_june_did() {
    let style = "bpdump-2008-06-04";
    assert_eq!(compare_folder(style, &testdata("bp/v0-2008-06-04")), 3);
    if let Some(folder) = shared::file("bp/v0-2008-06-04") {
        assert_eq!(compare_folder(style, &folder), 16);
    }
}

/// Its `long long` of four bytes tells the writer, and so the tool.
#[test]
fn the_dialect_of_a_file_decides_which_tool_is_meant() {
    let folder = testdata("bp/v0-2008-06-04");
    let name = "01_scalars_all_types";
    let ours = bpdump("bpdump", &folder.join(format!("{name}.bp")), None);
    let theirs = fs::read(folder.join(format!("{name}.dump.txt"))).unwrap();
    assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&theirs));
}

/// The facts on sizes: complex has 2 × f32 in this dialect, and double complex 2 × f64.
#[test]
fn complex_numbers_of_the_last_dialect_are_printed_with_their_own_sizes() {
    let options = Options { dialect: Dialect::V2008_07_15, ..Options::default() };
    let mut writer = Writer::new(Vec::new(), options);
    writer.scalar("/", "c", Data::Complex(&[[1.5, -2.5]])).unwrap();
    writer.scalar("/", "d", Data::DoubleComplex(&[[0.5, 4.0]])).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.bp");
    fs::write(&path, writer.finish().unwrap()).unwrap();
    let text = String::from_utf8(bpdump("bpdump", &path, None)).unwrap();
    assert!(text.contains("\tType: complex (10)\n\tValue: 1.500000 -2.500000\n"), "{text}");
    assert!(text.contains("\tType: double complex (11)\n\tValue: 0.500000 4.000000\n"), "{text}");
}
