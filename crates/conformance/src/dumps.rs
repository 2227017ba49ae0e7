//! Dumps as reviewed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kymo_core::Context;

use crate::{Sample, Subject, dump, golden, promise};

/// Samples above this size have no golden dump: nobody would review it.
const SIZE_MAX: usize = 32 << 10;

/// The golden file that holds findings, not a dump.
pub(crate) const FINDINGS: &str = "findings.txt";

/// The records of each small sound sample are those in `testdata/<format>/golden/<sample>.txt`.
pub fn dumps_are_as_reviewed(subject: &Subject) {
    let mut samples = subject.sound();
    samples.retain(|sample| sample.bytes.len() <= SIZE_MAX);
    let expected = samples.iter().map(|sample| path_of(subject, sample)).collect();
    let this = subject.clone();
    promise::each(samples, move |sample, _| {
        let dataset = this.format.open(&sample.source(), &Context::default());
        let dataset = dataset.unwrap_or_else(|error| panic!("it does not open: {error}"));
        let text = dump(&*dataset).unwrap_or_else(|error| panic!("no dump: {error}"));
        golden::assert(path_of(&this, sample), &text);
    });
    no_golden_file_is_left_over(&subject.golden(""), &expected);
}

fn path_of(subject: &Subject, sample: &Sample) -> PathBuf {
    let name = Path::new(&*sample.name).with_extension("txt");
    subject.golden(&name.to_string_lossy())
}

/// A golden file whose sample is gone would be reviewed for ever. Other tests of a format keep
/// theirs elsewhere.
fn no_golden_file_is_left_over(folder: &Path, expected: &BTreeSet<PathBuf>) {
    let mut found = BTreeSet::new();
    collect(folder, &mut found);
    found.remove(&folder.join(FINDINGS));
    for path in found.difference(expected) {
        assert!(golden::blessing(), "{} has no sample (BLESS=1 removes it)", path.display());
        fs::remove_file(path).expect("a file that was just listed");
    }
}

fn collect(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.insert(path);
        }
    }
}
