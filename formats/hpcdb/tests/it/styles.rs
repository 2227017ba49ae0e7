//! The style of HPCToolkit's own tests, against the renderings of two databases that they keep.

use std::fs;
use std::path::Path;

use kymo_conformance::{shared, testdata};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Result, Source};
use kymo_hpcdb::HpcDb;
use kymo_model::{DumpRequest, Flow, Format, Record, RecordSink};

struct Text(Vec<u8>);

impl RecordSink for Text {
    fn record(&mut self, _: &Record<'_>) -> Result<Flow> {
        unreachable!("a style gives text")
    }

    fn text(&mut self, text: &[u8]) -> Result<Flow> {
        self.0.extend_from_slice(text);
        Ok(Flow::More)
    }
}

fn yaml(path: &Path) -> String {
    let source = Source::open(path, &Limits::default()).unwrap();
    let dataset = HpcDb.open(&source, &Context::default()).unwrap();
    let style = Some("hpctoolkit-yaml".into());
    let mut text = Text(Vec::new());
    dataset.dump(&DumpRequest { style, ..DumpRequest::default() }, &mut text).unwrap();
    String::from_utf8(text.0).unwrap()
}

/// Fields, anchors and remarks: every byte.
#[test]
fn small_databases_are_rendered_as_hpctoolkit_renders_them() {
    for name in ["small", "small.nostruct"] {
        let folder = "hpctoolkit/pairs/dbase";
        let Some(expected) = shared::file(&format!("{folder}/{name}.yaml")) else { return };
        let Some(database) = shared::file(&format!("{folder}/{name}.d")) else { return };
        let (found, expected) = (yaml(&database), fs::read_to_string(expected).unwrap());
        for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
            assert_eq!(found, expected, "{name}, line {}", number + 1);
        }
        assert_eq!(found, expected);
    }
}

/// A file by itself has its own fields; without `meta.db` numbers are not explained.
#[test]
fn one_file_is_rendered_by_itself() {
    let whole = yaml(&testdata("hpcdb/matmul-omp"));
    for (file, key) in
        [("meta", "meta"), ("profile", "profile"), ("cct", "context"), ("trace", "trace")]
    {
        let one = yaml(&testdata(format!("hpcdb/matmul-omp/{file}.db")));
        let (first, rest) = one.split_once('\n').unwrap();
        assert_eq!(first, format!("!{file}.db/v4"));
        // The same lines, further to the left and without what other files explain.
        let bare = |line: &str| line.trim_start().split("  #").next().unwrap().to_owned();
        let bare = |line: &str| bare(line).split(" #").next().unwrap().to_owned();
        let lines = whole.lines().skip_while(|line| *line != format!("{key}: {first}")).skip(1);
        let lines: Vec<_> = lines.take_while(|line| line.starts_with(' ')).map(bare).collect();
        assert_eq!(rest.lines().map(bare).collect::<Vec<_>>(), lines, "{file}");
    }
}
