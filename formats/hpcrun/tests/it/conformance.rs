//! What every format promises.

use crate::assembled;

use crate::assembled::Bytes;
use kymo_conformance::Subject;
use kymo_core::bytes::Limits;
use kymo_core::{Context, Finding, Source};
use kymo_hpcrun::{Hpcrun, Profile, Trace};
use kymo_model::Format;

/// Traces may end after any record, and epochs may run to the end of the file.
fn may_end(bytes: &[u8], end: usize) -> bool {
    let prefix = bytes.get(..end).unwrap_or_default().to_vec().into();
    if bytes.starts_with(b"HPCRUN-trace") {
        let header = if bytes.get(22) == Some(&b'0') { 24 } else { 32 };
        let whole: bytes::Bytes = bytes.to_vec().into();
        let record = Trace::open(&whole, &Limits::default()).unwrap().record_bytes();
        return end >= header && (end - header).is_multiple_of(record);
    }
    // Of the others, those with epochs may end after the pairs of the header; where epochs are
    // not counted, also before another.
    let is_tag = |at: usize| bytes.get(at..at + 8) == Some(b"EPOCH___");
    let is_bare = || Profile::open(&prefix, &Limits::default()).is_ok_and(|p| p.epochs.is_empty());
    let is_described = bytes.starts_with(b"HPCRUN____");
    (is_tag(end) && !is_described) || ((is_tag(end) || is_tag(end + 4)) && is_bare())
}

kymo_conformance::promises!(
    Subject::new(&Hpcrun)
        .unsound(&["bad/"])
        .freedom(&["of_2009"])
        .valid_prefix(may_end)
        .layout(&["count", "index_entry", "section", "footer"])
        .made("described_little.hpcrun", assembled::described(Bytes::little()))
        .made("described_big.hpcrun", assembled::described(Bytes::big()))
        .made("of_2009.hpcrun", assembled::of_2009())
        .made("shipped_0200.hpcrun", assembled::shipped_0200(false))
        .made("shipped_0400_18.hpcrun", assembled::shipped_0400(false))
        .made("shipped_0400_19.hpcrun", assembled::shipped_0400(true))
        .made("trace_0100.hpctrace", assembled::trace(true, false))
        .made("trace_0101.hpctrace", assembled::trace(false, false))
        .made("trace_data_centric.hpctrace", assembled::trace(false, true))
);

kymo_conformance::promises!(Subject::new(&Hpcrun).unsound(&["bad/"]); zeros_are_survived);

/// A directory of two threads, one with a trace, of which one file is damaged.
#[test]
fn every_damaged_file_of_a_folder_is_survived() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("a.hpcrun", &assembled::shipped_0400(true));
    write("a.hpctrace", &assembled::trace(false, false));
    write("b.hpcrun", &assembled::shipped_0400(false));
    kymo_conformance::every_damaged_file_of_a_folder_is_survived(&Hpcrun, folder.path());
}

/// What opening leaves out for the rest of a profile is reported by `check`, too.
#[test]
fn check_reports_what_opening_a_directory_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    let profile = assembled::shipped_0400(true);
    let cut = profile.get(..profile.len() / 2).unwrap();
    std::fs::write(folder.path().join("a.hpcrun"), cut).unwrap();
    std::fs::write(folder.path().join("a.hpctrace"), assembled::trace(false, false)).unwrap();
    std::fs::write(folder.path().join("b.hpcrun"), assembled::shipped_0400(false)).unwrap();
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    let place = |finding: Finding| (finding.rule, finding.file, finding.offset);
    let checked: Vec<_> =
        Hpcrun.check(&source, &Context::default()).unwrap().into_iter().map(place).collect();
    let opened = Hpcrun.open(&source, &Context::default()).unwrap().findings();
    let rules: Vec<_> = opened.iter().map(|finding| finding.rule).collect();
    assert!(rules.contains(&"profile") && rules.contains(&"no-profile"), "{rules:?}");
    for finding in opened.into_iter().map(place) {
        assert!(checked.contains(&finding), "{finding:?} is not in {checked:?}");
    }
}
