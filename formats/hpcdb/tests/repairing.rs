//! What `repair` saves of a damaged database, and what it says is lost.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

use std::fs;
use std::path::Path;

use kymo_conformance::{shared, testdata};
use kymo_core::bytes::Limits;
use kymo_core::model::profile::{By, MetricId, ProfileView, Question, ThreadId, flat};
use kymo_core::{Context, Destination, Format, Repaired, Result, Severity, Source};
use kymo_hpcdb::HpcDb;

fn source(path: &Path) -> Source {
    Source::open(path, &Limits::default()).unwrap()
}

/// A database as a folder of its own, to be damaged.
fn copy_of(database: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["meta.db", "profile.db", "cct.db", "trace.db"] {
        if database.join(file).exists() {
            fs::copy(database.join(file), folder.path().join(file)).unwrap();
        }
    }
    folder
}

fn sample() -> tempfile::TempDir {
    copy_of(&testdata("hpcdb/matmul-omp"))
}

fn repair(folder: &Path, to: &Path) -> Result<Repaired> {
    let to = Destination::new(to, false);
    HpcDb.repair(&source(folder), &to, &Context::default())
}

/// Repairs a folder, makes sure that the result is sound, and tells what was said of it.
fn repaired(folder: &Path) -> (tempfile::TempDir, Vec<String>, Vec<String>) {
    let out = tempfile::tempdir().unwrap();
    let to = out.path().join("repaired");
    let Repaired { corrected, losses, .. } = repair(folder, &to).unwrap();
    let found = HpcDb.check(&source(&to), &Context::default()).unwrap();
    let wrong: Vec<_> = found.iter().filter(|one| one.severity > Severity::Note).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let said = |findings: Vec<kymo_core::Finding>| {
        findings.into_iter().map(|one| format!("{}: {}", one.file.unwrap(), one.message)).collect()
    };
    (out, said(corrected), said(losses))
}

fn same_file(one: &Path, other: &Path, name: &str) -> bool {
    fs::read(one.join(name)).unwrap() == fs::read(other.join("repaired").join(name)).unwrap()
}

fn cut(folder: &Path, file: &str, to_bytes: impl FnOnce(usize) -> usize) {
    let path = folder.join(file);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..to_bytes(bytes.len())]).unwrap();
}

#[test]
fn a_sound_database_is_copied_byte_by_byte() {
    let folder = sample();
    fs::create_dir(folder.path().join("metrics")).unwrap();
    fs::write(folder.path().join("metrics/default.yaml"), "version: 0\n").unwrap();
    let (out, corrected, losses) = repaired(folder.path());
    assert_eq!((corrected, losses), (Vec::new(), Vec::new()));
    for name in ["meta.db", "profile.db", "cct.db", "trace.db", "metrics/default.yaml"] {
        assert!(same_file(folder.path(), out.path(), name), "{name}");
    }
}

#[test]
fn footers_are_restored() {
    let folder = sample();
    for name in ["meta.db", "profile.db", "cct.db", "trace.db"] {
        cut(folder.path(), name, |size| size - 8);
    }
    let (out, corrected, losses) = repaired(folder.path());
    assert_eq!((corrected.len(), losses.len()), (4, 0), "{corrected:?}");
    for name in ["meta.db", "profile.db", "cct.db", "trace.db"] {
        assert!(same_file(&testdata("hpcdb/matmul-omp"), out.path(), name), "{name}");
    }
}

#[test]
fn values_by_context_are_made_again_from_those_by_profile() {
    let folder = sample();
    fs::remove_file(folder.path().join("cct.db")).unwrap();
    let (_, corrected, losses) = repaired(folder.path());
    assert_eq!(corrected, ["cct.db: it was made again from profile.db"]);
    assert_eq!(losses, [""; 0]);
    let folder = sample();
    cut(folder.path(), "cct.db", |size| size / 2);
    let (_, corrected, losses) = repaired(folder.path());
    assert_eq!(corrected, ["cct.db: it was made again from profile.db"]);
    assert_eq!(losses, [""; 0]);
}

/// What every function spent in every metric, by every thread.
fn figures(view: &dyn ProfileView) -> Vec<String> {
    let mut lines = Vec::new();
    for thread in (0..u32::try_from(view.thread_count()).unwrap()).map(ThreadId) {
        let only = [thread].into_iter().collect();
        for metric in (0..u32::try_from(view.metrics().len()).unwrap()).map(MetricId) {
            let question = Question { view, metric, threads: Some(&only) };
            for row in flat(&question, By::Function).unwrap().rows {
                let (label, spent) = (row.label, (row.exclusive, row.inclusive));
                lines.push(format!("{} {} {label} {spent:?}", thread.0, metric.0));
            }
        }
    }
    lines.sort();
    lines
}

fn profile_is_made_again(database: &Path) {
    let folder = copy_of(database);
    fs::remove_file(folder.path().join("profile.db")).unwrap();
    let (out, corrected, losses) = repaired(folder.path());
    assert_eq!(corrected, ["profile.db: it was made again from cct.db"]);
    assert_eq!(losses.len(), 2, "{losses:?}");
    assert!(losses[0].contains("they are numbered instead"), "{losses:?}");
    let view = |path: &Path| {
        let dataset = HpcDb.open(&source(path), &Context::default()).unwrap();
        dataset.profile().unwrap()
    };
    let made = view(&out.path().join("repaired"));
    let original = view(database);
    assert!(figures(made.as_ref()) == figures(original.as_ref()), "{}", database.display());
    let total = |view: &dyn ProfileView| {
        Question { view, metric: MetricId(0), threads: None }.total().unwrap()
    };
    let (made, original) = (total(made.as_ref()), total(original.as_ref()));
    assert!((made - original).abs() <= 1e-9 * original.abs(), "{made} {original}");
}

#[test]
fn values_by_profile_are_made_again_from_those_by_context() {
    profile_is_made_again(&testdata("hpcdb/matmul-omp"));
}

#[test]
fn values_by_profile_of_larger_databases_are_made_again() {
    let Some(root) = shared::file("hpctoolkit") else { return };
    for path in ["databases/lmp-openmp", "made-here/matmul-omp-64/database"] {
        profile_is_made_again(&root.join(path));
    }
}

#[test]
fn what_names_threads_is_kept_where_it_can_be_read() {
    let folder = sample();
    // Names of threads stand before the values.
    cut(folder.path(), "profile.db", |size| size - 2000);
    let (out, corrected, losses) = repaired(folder.path());
    assert_eq!(corrected, ["profile.db: it was made again from cct.db"]);
    let kept = "what names 1 threads; they are numbered instead";
    assert!(losses.iter().all(|loss| !loss.contains("what names") || loss.contains(kept)));
    let repaired = out.path().join("repaired");
    let view = HpcDb.open(&source(&repaired), &Context::default()).unwrap().profile().unwrap();
    let names: Vec<_> = (0..4).map(|id| view.thread(ThreadId(id)).unwrap().to_string()).collect();
    assert!(names.iter().filter(|name| name.contains("NODE 0 [0x7f0100]")).count() >= 3);
}

#[test]
fn a_cut_trace_is_kept_up_to_where_it_is_cut() {
    let folder = sample();
    cut(folder.path(), "trace.db", |size| size - 100);
    let (out, corrected, losses) = repaired(folder.path());
    assert_eq!(corrected.len(), 1, "{corrected:?}");
    assert_eq!(losses.len(), 1, "{losses:?}");
    assert!(out.path().join("repaired/trace.db").exists());
    // A sample that goes back in time is not one: the file has the time of the last.
    let folder = sample();
    let path = folder.path().join("trace.db");
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 8 - 12;
    bytes[last..last + 8].fill(0);
    fs::write(&path, bytes).unwrap();
    let (_, corrected, losses) = repaired(folder.path());
    assert_eq!(corrected, ["trace.db: it was written again with 1325 samples"]);
    assert_eq!(losses, ["trace.db: 1 samples, and 0 traces whole"]);
}

#[test]
fn without_names_there_is_nothing_to_repair() {
    let folder = sample();
    let out = tempfile::tempdir().unwrap();
    cut(folder.path(), "meta.db", |size| size / 2);
    let error = repair(folder.path(), &out.path().join("x")).unwrap_err().to_string();
    assert!(error.starts_with("meta.db is damaged, and the other files do not have"), "{error}");
    fs::remove_file(folder.path().join("meta.db")).unwrap();
    let error = repair(folder.path(), &out.path().join("x")).unwrap_err().to_string();
    assert_eq!(error, "without meta.db nothing can be repaired");
    let error = repair(&folder.path().join("cct.db"), &out.path().join("x")).unwrap_err();
    assert_eq!(error.to_string(), "a database is repaired as a whole: name its directory");
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
}

/// Wherever a file is cut or damaged, there is a sound database or a reason why not.
#[test]
fn whatever_is_damaged_there_is_an_answer() {
    for file in ["meta.db", "profile.db", "cct.db", "trace.db"] {
        let size = fs::metadata(testdata("hpcdb/matmul-omp").join(file)).unwrap().len();
        let step = usize::try_from(size / 12).unwrap();
        for at in (0..usize::try_from(size).unwrap()).step_by(step.max(1)) {
            for is_cut in [true, false] {
                let folder = sample();
                let path = folder.path().join(file);
                let mut bytes = fs::read(&path).unwrap();
                if is_cut {
                    bytes.truncate(at);
                } else {
                    bytes[at] ^= 0xFF;
                }
                fs::write(&path, bytes).unwrap();
                let out = tempfile::tempdir().unwrap();
                let to = out.path().join("repaired");
                if repair(folder.path(), &to).is_ok() {
                    let found = HpcDb.check(&source(&to), &Context::default()).unwrap();
                    let is_sound = found.iter().all(|one| one.severity < Severity::Error);
                    assert!(is_sound, "{file} at {at}: {found:?}");
                }
            }
        }
    }
}
