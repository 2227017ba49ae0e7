//! Files of a directory that are missing, are there twice, or are no files at all.

use crate::assembled;

use std::fs;
use std::path::Path;

use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Severity, Source};
use kymo_hpcrun::{Hpcrun, ProfileBuilder};
use kymo_model::Format;

/// A kind of ids, with the bits that say that only the logical number counts.
const THREAD: u16 = 3 | 3 << 14;

fn source(folder: &Path) -> Source {
    Source::open(folder, &Limits::default()).unwrap()
}

/// What opening a directory finds: severity, rule, file and message.
fn found(folder: &Path) -> Vec<(Severity, &'static str, String, String)> {
    let dataset = Hpcrun.open(&source(folder), &Context::default()).unwrap();
    let found = dataset.findings().into_iter();
    found.map(|f| (f.severity, f.rule, f.file.unwrap(), f.message)).collect()
}

/// A profile of one sample of half a second, with pairs in its header.
fn profile(thread: u64, pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut profile = ProfileBuilder::new("a");
    for (name, value) in pairs {
        profile.pair(name, *value);
    }
    profile.id(THREAD, thread, thread);
    let module = profile.load_module("/bin/a", None).unwrap();
    let time = profile.metric("CPUTIME (sec)", "", true).unwrap();
    let node = profile.child(ProfileBuilder::ROOT, module, 0x10);
    profile.add(node, time, 0.5);
    let mut bytes = Vec::new();
    profile.write(&mut bytes).unwrap();
    bytes
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_said_and_the_others_are_read() {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.hpcrun"), profile(0, &[])).unwrap();
    symlink("gone", at("b.hpcrun")).unwrap();
    symlink("c.hpcrun", at("c.hpcrun")).unwrap();
    let _pipe = UnixListener::bind(at("d.hpctrace")).unwrap();
    fs::create_dir(at("structs")).unwrap();
    symlink("gone", at("structs/a.hpcstruct")).unwrap();
    let _pipe = UnixListener::bind(at("structs/b.hpcstruct")).unwrap();
    symlink("gone", at("vdso")).unwrap();
    fs::write(at("kernel_symbols"), "").unwrap();
    let nowhere = "it is a link that leads nowhere";
    let round = "cannot open a file within it: Too many levels of symbolic links (os error 40)";
    let expected = [
        (Severity::Error, "profile", "b.hpcrun", nowhere),
        (Severity::Error, "profile", "c.hpcrun", round),
        (Severity::Error, "trace", "d.hpctrace", "d.hpctrace is no regular file"),
        (Severity::Warning, "symbols", "vdso", nowhere),
        (
            Severity::Warning,
            "symbols",
            "kernel_symbols",
            "it is a file, where a directory should be",
        ),
        (Severity::Warning, "structure", "structs/a.hpcstruct", nowhere),
        (
            Severity::Warning,
            "structure",
            "structs/b.hpcstruct",
            "structs/b.hpcstruct is no regular file",
        ),
    ];
    let expected = expected.map(|(s, rule, file, why)| (s, rule, file.to_owned(), why.to_owned()));
    // Structure files are read when names are asked for.
    assert_eq!(found(folder.path()), expected[..5]);
    let dataset = Hpcrun.open(&source(folder.path()), &Context::default()).unwrap();
    assert_eq!(dataset.profile().unwrap().totals(None).unwrap(), [0.5]);
    assert_eq!(dataset.findings().len(), 7);
    let checked = Hpcrun.check(&source(folder.path()), &Context::default()).unwrap();
    let mut checked: Vec<_> =
        checked.into_iter().map(|f| (f.severity, f.rule, f.file.unwrap(), f.message)).collect();
    let mut expected = expected.to_vec();
    checked.sort();
    expected.sort();
    assert_eq!(checked, expected);
    let into = tempfile::tempdir().unwrap();
    let to = Destination::new(into.path().join("repaired"), false);
    let repaired = Hpcrun.repair(&source(folder.path()), &to, &Context::default()).unwrap();
    let lost: Vec<_> = repaired.losses.iter().map(|f| f.file.as_deref().unwrap()).collect();
    assert_eq!(lost, ["b.hpcrun", "c.hpcrun", "d.hpctrace", "structs/b.hpcstruct"]);
}

#[cfg(unix)]
#[test]
fn a_folder_of_structure_that_leads_nowhere_is_said() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.hpcrun"), profile(0, &[])).unwrap();
    std::os::unix::fs::symlink("gone", folder.path().join("structs")).unwrap();
    let why = "it is a link that leads nowhere".to_owned();
    assert_eq!(found(folder.path()), [(Severity::Warning, "structure", "structs".to_owned(), why)]);
}

#[test]
fn a_profile_that_was_traced_misses_its_trace_and_a_trace_its_profile() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    put("a.hpcrun", &profile(0, &[("trace-min-time", "1700000000000000000")]));
    put("b.hpcrun", &profile(1, &[("trace-min-time", "0")]));
    put("c.hpctrace", &assembled::trace(false, false));
    // A trace that cannot be read is not missing.
    put("d.hpcrun", &profile(2, &[("trace-min-time", "1700000000000000000")]));
    put("d.hpctrace", b"HPCRUN-trace______09.00b");
    let found = found(folder.path());
    let told: Vec<_> = found.iter().map(|(_, rule, file, why)| (*rule, &**file, &**why)).collect();
    let expected = [
        ("trace", "d.hpctrace", "version: 09.00 is not known; 01.00 and 01.01 are"),
        (
            "no-trace",
            "a.hpcrun",
            "it says trace-min-time 1700000000000000000, but there is no a.hpctrace beside it: \
             the trace of this thread is missing",
        ),
        (
            "no-profile",
            "c.hpctrace",
            "there is no c.hpcrun beside it: what its nodes stand for is unknown",
        ),
    ];
    assert_eq!(told.len(), 3, "{told:?}");
    for finding in expected {
        assert!(told.contains(&finding), "{finding:?} in {told:?}");
    }
}

#[test]
fn two_profiles_of_one_thread_are_said_and_processes_of_other_numbers_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, thread, process| {
        let pairs = [("host-id", "7f0100"), ("process-id", process)];
        fs::write(folder.path().join(name), profile(thread, &pairs)).unwrap();
    };
    put("a-0.hpcrun", 0, "40");
    put("a-1.hpcrun", 1, "40");
    put("a-2.hpcrun", 0, "41");
    put("copy.hpcrun", 0, "40");
    let why = "a-0.hpcrun is of the same thread, by its ids and its process: both count";
    let expected = (Severity::Warning, "duplicate-profile", "copy.hpcrun".into(), why.into());
    assert_eq!(found(folder.path()), [expected]);
    // Both count: three are of half a second, and so is the copy.
    let dataset = Hpcrun.open(&source(folder.path()), &Context::default()).unwrap();
    assert_eq!(dataset.profile().unwrap().totals(None).unwrap(), [2.0]);
    // Where the process is not known, it may be another.
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.hpcrun", "b.hpcrun"] {
        fs::write(folder.path().join(name), profile(0, &[])).unwrap();
    }
    assert_eq!(found(folder.path()), []);
}
