//! Measurements that are opened: what tests of several kinds begin with.

use std::fs;
use std::path::Path;

use kymo_core::bytes::Limits;
use kymo_core::{Context, Finding, Source};
use kymo_hpcrun::Hpcrun;
use kymo_model::{Dataset, Format};

use crate::assembled::{self, Bytes};

/// A moment, in nanoseconds since the Epoch.
pub(crate) const START: u64 = 1_700_000_000_000_000_000;

pub(crate) fn open(path: &Path) -> Box<dyn Dataset> {
    let source = Source::open(path, &Limits::default()).unwrap();
    Hpcrun.open(&source, &Context::default()).unwrap()
}

pub(crate) fn check(path: &Path) -> Vec<Finding> {
    let source = Source::open(path, &Limits::default()).unwrap();
    Hpcrun.check(&source, &Context::default()).unwrap()
}

/// Rules and messages of what is found.
pub(crate) fn said(findings: &[Finding]) -> Vec<(&str, &str)> {
    findings.iter().map(|finding| (finding.rule, finding.message.as_str())).collect()
}

/// A trace of times and nodes.
pub(crate) fn trace(records: &[(u64, u32)]) -> Vec<u8> {
    let mut out = Bytes::big();
    out.raw(b"HPCRUN-trace______01.01b").u64(0);
    for (time, node) in records {
        out.u64(*time).u32(*node);
    }
    out.bytes
}

/// A directory of a profile with nodes 12, 14, 16 and 19, of which 0.5 s and 0.25 s were measured,
/// and a trace of these times and nodes.
pub(crate) fn traced(records: &[(u64, u32)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.hpcrun"), assembled::shipped_0400(true)).unwrap();
    fs::write(folder.path().join("a.hpctrace"), trace(records)).unwrap();
    folder
}
