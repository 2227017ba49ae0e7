//! The round trip: what we write, read and write again is the same.

use std::path::Path;

use bytes::Bytes;
use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Source};
use kymo_model::{Capability, Format};

use crate::golden::difference;
use crate::promise::Cases;
use crate::{Folder, Sample, Subject, capture, promise, rewritten};

/// A sound sample that is read and written again has the same contents, and the same bytes
/// unless the subject says that there is freedom; written twice it is the same bytes always.
pub fn what_is_rewritten_is_the_same(subject: &Subject) {
    if subject.format.info().can(Capability::Write) && !subject.writes_directories {
        let this = subject.clone();
        promise::each(subject.sound(), move |sample, cases| {
            rewrite(&this, sample, cases);
        });
    }
}

/// A sound folder that is read and written again has the same contents, whatever the order of the
/// records of one kind; written twice it is the same bytes.
pub fn what_is_rewritten_of_a_folder_is_the_same(format: &dyn Format, path: &Path) {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let [once, twice] = ["once", "twice"].map(|name| scratch.path().join(name));
    write_folder(format, path, &once);
    assert_same(&sorted(format, path), &sorted(format, &once));
    write_folder(format, &once, &twice);
    for (name, bytes) in Folder::read(&once).files() {
        let again = std::fs::read(twice.join(name)).expect("a file that was written twice");
        assert_bytes(bytes, &again, &format!("{} has other bytes", name.display()));
    }
}

fn write_folder(format: &dyn Format, from: &Path, to: &Path) {
    let source = Source::open(from, &Limits::default()).expect("a folder");
    let to = Destination::new(to, false);
    let written = format.rewrite(&source, &to, &Context::default());
    written.unwrap_or_else(|error| panic!("{} cannot be rewritten: {error}", from.display()));
}

/// The contents of a folder, without the order of records.
fn sorted(format: &dyn Format, path: &Path) -> String {
    let source = Source::open(path, &Limits::default()).expect("a folder");
    let dataset = format.open(&source, &Context::default()).expect("a dataset");
    let records = capture(&*dataset).expect("its records");
    let text = |record: &crate::Captured| format!("{}\n{}\n", record.kind, record.contents());
    let mut texts: Vec<_> = records.iter().map(text).collect();
    texts.sort();
    texts.concat()
}

fn rewrite(subject: &Subject, sample: &Sample, cases: &mut Cases) {
    let format = subject.format;
    cases.begin(|| format!("{}, rewritten", sample.name));
    let once = write(format, sample, &sample.source());
    let again = Source::from_bytes(&*sample.name, once.clone());
    let has_freedom = subject.has_freedom(sample);
    // What may be laid out anew tells otherwise how it is laid out.
    let layout = if has_freedom { subject.layout } else { &[] };
    let contents = |source: &Source| contents(format, source, layout);
    assert_same(&contents(&sample.source()), &contents(&again));
    if !has_freedom {
        assert_bytes(&sample.bytes, &once, "it has other bytes");
    }
    cases.begin(|| format!("{}, rewritten twice", sample.name));
    let twice = write(format, sample, &again);
    assert_bytes(&once, &twice, "it has other bytes than rewritten once");
}

fn write(format: &dyn Format, sample: &Sample, source: &Source) -> Bytes {
    let written = rewritten(format, source, &Context::default());
    written.unwrap_or_else(|error| panic!("{} cannot be rewritten: {error}", sample.name))
}

/// Everything a source holds but for records of the layout, without the places in the file.
fn contents(format: &dyn Format, source: &Source, layout: &[&str]) -> String {
    let dataset = format.open(source, &Context::default());
    let dataset = dataset.unwrap_or_else(|error| panic!("it does not open: {error}"));
    let records = capture(&*dataset).unwrap_or_else(|error| panic!("no dump: {error}"));
    let text = |record: &crate::Captured| {
        format!("{} {}\n{}", record.kind, record.index, record.contents())
    };
    let records = records.iter().filter(|record| !layout.contains(&record.kind));
    records.map(text).collect()
}

fn assert_same(expected: &str, actual: &str) {
    assert!(expected == actual, "it has other contents:\n{}", difference(expected, actual));
}

fn assert_bytes(expected: &[u8], actual: &[u8], what: &str) {
    if expected != actual {
        let same = expected.iter().zip(actual).take_while(|(a, b)| a == b);
        panic!(
            "{what}: {} bytes became {}, and byte {:#x} is the first that differs",
            expected.len(),
            actual.len(),
            same.count()
        );
    }
}
