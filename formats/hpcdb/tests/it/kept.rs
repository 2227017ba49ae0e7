//! Codes that are not known are written as they were read.

use crate::support;

use std::path::Path;

use bytes::Bytes;
use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Source};
use kymo_hpcdb::HpcDb;
use kymo_model::Format;

/// The files of a database after it was written again.
fn rewritten(files: &[(&'static str, Bytes)], folder: &Path) -> Vec<Vec<u8>> {
    let (from, to) = (folder.join("from"), folder.join("to"));
    std::fs::create_dir(&from).unwrap();
    for (name, bytes) in files {
        std::fs::write(from.join(name), bytes).unwrap();
    }
    let source = Source::open(&from, &Limits::default()).unwrap();
    HpcDb.rewrite(&source, &Destination::new(&to, false), &Context::default()).unwrap();
    files.iter().map(|(name, _)| std::fs::read(to.join(name)).unwrap()).collect()
}

/// The tiny database with some bytes of `meta.db` that are another code.
fn with_codes(places: &[usize]) -> Vec<(&'static str, Bytes)> {
    support::files("tiny", |name, mut bytes| {
        for place in places.iter().filter(|_| name == "meta.db") {
            bytes[*place] = 0x77;
        }
        Some(bytes)
    })
}

/// The type of a scope, how two statistics are combined, the lexical type of a line, the relation of
/// a function and its propagation, what an entry point is.
const PLACES: [usize; 7] = [0x190, 0x168, 0x180, 0x286, 0x2B5, 0x2B9, 0x2DC];

#[test]
fn codes_that_are_not_known_are_kept() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let before = rewritten(&with_codes(&[]), folders[0].path());
    let after = rewritten(&with_codes(&PLACES), folders[1].path());
    let changed: Vec<_> = before[0].iter().zip(&after[0]).filter(|(a, b)| a != b).collect();
    assert_eq!(changed.len(), PLACES.len());
    assert!(changed.iter().all(|(_, code)| **code == 0x77), "{changed:?}");
    assert_eq!(before[1..], after[1..]);
}

/// A value of a thread and one of the summary, of metrics that are not listed: they would be missing.
#[test]
fn what_has_no_place_is_refused() {
    for place in [0x1B0, 0x100] {
        let files = support::files("tiny", |name, mut bytes| {
            if name == "profile.db" {
                bytes[place] = 9;
            }
            Some(bytes)
        });
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        std::fs::create_dir(&from).unwrap();
        for (name, bytes) in &files {
            std::fs::write(from.join(name), bytes).unwrap();
        }
        let source = Source::open(&from, &Limits::default()).unwrap();
        let to = Destination::new(folder.path().join("to"), false);
        let error = HpcDb.rewrite(&source, &to, &Context::default()).unwrap_err().to_string();
        assert_eq!(error, "there are values of metric 9, which is not listed");
    }
}
