//! What `repair` saves of a damaged database, and what it says is lost.

use std::fs;
use std::path::Path;

use kymo_conformance::{shared, testdata};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Result, Severity, Source};
use kymo_hpcdb::HpcDb;
use kymo_model::profile::{FlatGrouping, MetricId, MetricQuery, ProfileView, ThreadId, flat};
use kymo_model::{Format, RepairReport};

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

fn repair(folder: &Path, to: &Path) -> Result<RepairReport> {
    let to = Destination::new(to, false);
    HpcDb.repair(&source(folder), &to, &Context::default())
}

/// Repairs a folder, makes sure that the result is sound, and tells what was said of it.
fn repaired(folder: &Path) -> (tempfile::TempDir, Vec<String>, Vec<String>) {
    let out = tempfile::tempdir().unwrap();
    let to = out.path().join("repaired");
    let RepairReport { corrected, losses, .. } = repair(folder, &to).unwrap();
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

/// What leads to itself cannot be read, and a directory is no file.
#[cfg(unix)]
#[test]
fn what_else_cannot_be_copied_is_lost() {
    let folder = sample();
    fs::create_dir_all(folder.path().join("metrics/more")).unwrap();
    std::os::unix::fs::symlink("FORMATS.md", folder.path().join("FORMATS.md")).unwrap();
    let (_out, _, losses) = repaired(folder.path());
    let [formats, more] = losses.as_slice() else { panic!("{losses:?}") };
    assert!(formats.starts_with("FORMATS.md: it was not copied: "), "{formats}");
    assert_eq!(more, "metrics/more: it was not copied: it is a directory");
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
            let question = MetricQuery { view, metric, threads: Some(&only) };
            for row in flat(&question, FlatGrouping::Function).unwrap().rows {
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
    assert!(losses[0].starts_with("profile.db: what names "), "{losses:?}");
    let view = |path: &Path| {
        let dataset = HpcDb.open(&source(path), &Context::default()).unwrap();
        dataset.profile().unwrap()
    };
    let made = view(&out.path().join("repaired"));
    let original = view(database);
    assert!(figures(made.as_ref()) == figures(original.as_ref()), "{}", database.display());
    let total = |view: &dyn ProfileView| {
        MetricQuery { view, metric: MetricId(0), threads: None }.total().unwrap()
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
    assert!(losses.iter().all(|loss| !loss.contains("what names")), "{losses:?}");
    assert_eq!(names(&out.path().join("repaired")), names(&testdata("hpcdb/matmul-omp")));
}

/// A file that ends within the second id tuple still has the first, of thread 3.
#[test]
fn names_that_are_whole_are_kept_of_a_file_that_is_cut_within_them() {
    let folder = sample();
    cut_at(&folder.path().join("profile.db"), 0x190);
    let (out, _, losses) = repaired(folder.path());
    assert!(losses.contains(&"profile.db: what names 3 of 4 threads".to_owned()), "{losses:?}");
    let found = names(&out.path().join("repaired"));
    let expected = names(&testdata("hpcdb/matmul-omp"));
    assert_eq!(found, [&expected[0], "PROFILE 2", "PROFILE 3", "PROFILE 4"]);
}

/// What stands in the place of `cct.db` and is no file of a database is no reason to give up: it is
/// made again.
#[test]
#[cfg(unix)]
fn what_cannot_be_opened_is_made_again() {
    let folder = sample();
    let cct = folder.path().join("cct.db");
    fs::remove_file(&cct).unwrap();
    std::os::unix::fs::symlink("cct.db", &cct).unwrap();
    let (out, corrected, losses) = repaired(folder.path());
    assert_eq!(corrected, ["cct.db: it was made again from profile.db"]);
    assert!(losses.is_empty(), "{losses:?}");
    assert!(same_file(folder.path(), out.path(), "profile.db"));
    assert!(out.path().join("repaired/cct.db").is_file());
}

/// The id of any statistic of the summary is one that is not listed: all threads are whole, and so is
/// what they come to.
#[test]
fn a_statistic_that_is_not_listed_costs_the_summary_and_nothing_else() {
    let Some(drafts) = shared::file("hpctoolkit/drafts") else { return };
    for draft in ["1-62b71c9af", "2-f911eb575", "3-5c1005fbe"] {
        let database = drafts.join(draft).join("small_v4.0");
        let dataset = HpcDb.open(&source(&database), &Context::default()).unwrap();
        let expected = figures(dataset.profile().unwrap().as_ref());
        let bytes = fs::read(database.join("profile.db")).unwrap();
        let profiles = u64_at(&bytes, u64_at(&bytes, 0x18));
        let (count, values) = (u64_at(&bytes, profiles), u64_at(&bytes, profiles + 8));
        // Sums, counts, squares, the least and the most take turns.
        for value in (0..count).step_by(7) {
            let folder = copy_of(&database);
            let mut bytes = bytes.clone();
            bytes[values + 10 * value + 1] = 0x7F;
            fs::write(folder.path().join("profile.db"), bytes).unwrap();
            let (out, corrected, losses) = repaired(folder.path());
            assert_eq!(corrected, ["profile.db: it was made again from cct.db"]);
            assert!(losses.iter().all(|loss| loss.contains("other than sums")), "{losses:?}");
            let repaired = out.path().join("repaired");
            let dataset = HpcDb.open(&source(&repaired), &Context::default()).unwrap();
            assert!(figures(dataset.profile().unwrap().as_ref()) == expected, "{draft} {value}");
        }
    }
}

/// The first moment of the header is after the first sample: both moments are found out again.
#[test]
fn moments_that_do_not_hold_all_samples_are_made_again() {
    let folder = sample();
    let path = folder.path().join("trace.db");
    let mut bytes = fs::read(&path).unwrap();
    let first = u64_at(&bytes, 0x18) + 16;
    bytes[first + 5] += 1;
    fs::write(&path, bytes).unwrap();
    let (out, corrected, losses) = repaired(folder.path());
    assert!(losses.is_empty() && corrected.len() == 1, "{losses:?} {corrected:?}");
    let written = fs::read(out.path().join("repaired/trace.db")).unwrap();
    let whole = fs::read(testdata("hpcdb/matmul-omp").join("trace.db")).unwrap();
    let first = u64_at(&written, 0x18) + 16;
    let is_same =
        |at| u64_at(&written, at) == u64_at(&whole, at - first + u64_at(&whole, 0x18) + 16);
    assert!(is_same(first) && is_same(first + 8));
}

fn names(path: &Path) -> Vec<String> {
    let view = HpcDb.open(&source(path), &Context::default()).unwrap().profile().unwrap();
    (0..4).map(|id| view.thread(ThreadId(id)).unwrap().to_string()).collect()
}

/// The threads of the sample are 3, 1, 2 and 0: numbers of places would be those of others.
#[test]
fn threads_without_names_have_none_that_is_of_another() {
    let folder = sample();
    fs::remove_file(folder.path().join("profile.db")).unwrap();
    let (out, ..) = repaired(folder.path());
    let expected = ["PROFILE 1", "PROFILE 2", "PROFILE 3", "PROFILE 4"];
    assert_eq!(names(&out.path().join("repaired")), expected);
}

/// Whatever is wrong with `profile.db`, a whole `cct.db` has the values.
#[test]
fn values_that_the_other_file_has_are_kept() {
    let expected = {
        let dataset = HpcDb.open(&source(&testdata("hpcdb/matmul-omp")), &Context::default());
        figures(dataset.unwrap().profile().unwrap().as_ref())
    };
    for damage in [cut_at, zero_at] {
        let folder = sample();
        damage(&folder.path().join("profile.db"), 4756);
        let (out, corrected, losses) = repaired(folder.path());
        assert_eq!(corrected, ["profile.db: it was made again from cct.db"]);
        assert!(losses.iter().all(|loss| loss.contains("other than sums")), "{losses:?}");
        let repaired = out.path().join("repaired");
        let dataset = HpcDb.open(&source(&repaired), &Context::default()).unwrap();
        assert!(figures(dataset.profile().unwrap().as_ref()) == expected);
    }
}

fn u64_at(bytes: &[u8], at: usize) -> usize {
    usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap()
}

/// Sets a number of the file.
fn set(path: &Path, at: impl FnOnce(&[u8]) -> usize, change: impl FnOnce(f64) -> f64) {
    let mut bytes = fs::read(path).unwrap();
    let at = at(&bytes);
    let value = f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    bytes[at..at + 8].copy_from_slice(&change(value).to_le_bytes());
    fs::write(path, bytes).unwrap();
}

/// Where the last value of the summary is.
fn last_of_summary(bytes: &[u8]) -> usize {
    let profiles = u64_at(bytes, u64_at(bytes, 0x18));
    u64_at(bytes, profiles + 8) + 10 * (u64_at(bytes, profiles) - 1) + 2
}

/// Where a value of `cct.db` is, of the first context from some number on that has values.
fn value_by_context(bytes: &[u8], from: usize) -> usize {
    let contexts = u64_at(bytes, u64_at(bytes, 0x18));
    let found =
        (from..from + 100).map(|number| contexts + 32 * number).find(|at| u64_at(bytes, *at) > 0);
    u64_at(bytes, found.unwrap() + 8) + 4
}

/// A sum of the summary is doubled, and a value of `cct.db` is 77: threads of `profile.db` agree
/// among themselves, so they are right, whatever is said of them elsewhere.
#[test]
fn a_summary_that_is_wrong_does_not_make_threads_wrong() {
    let expected = {
        let dataset = HpcDb.open(&source(&testdata("hpcdb/matmul-omp")), &Context::default());
        figures(dataset.unwrap().profile().unwrap().as_ref())
    };
    for of_summary in [true, false] {
        let folder = sample();
        if of_summary {
            set(&folder.path().join("profile.db"), last_of_summary, |value| 2.0 * value);
        }
        set(&folder.path().join("cct.db"), |bytes| value_by_context(bytes, 6), |_| 77.0);
        let (out, corrected, losses) = repaired(folder.path());
        let repaired = out.path().join("repaired");
        let dataset = HpcDb.open(&source(&repaired), &Context::default()).unwrap();
        assert!(figures(dataset.profile().unwrap().as_ref()) == expected, "{corrected:?}");
        let again = "profile.db: sums of its summary were made again from its threads";
        let rest = [
            "cct.db: it was made again from profile.db",
            "cct.db: 1 value is as in profile.db, which the rest fits",
        ];
        assert_eq!(corrected, [&[again][usize::from(!of_summary)..], &rest].concat());
        assert!(losses.is_empty(), "{losses:?}");
    }
}

/// The summary of the tiny database has 5 of everything: 7 and nothing are wrong.
#[test]
fn sums_of_a_summary_are_made_again_where_both_files_agree_on_the_threads() {
    let seven = 7.0_f64.to_le_bytes();
    for (at, bytes) in [(0x102, &seven[..]), (0x116, &[0; 8])] {
        let folder = copy_of(&testdata("hpcdb/tiny"));
        let path = folder.path().join("profile.db");
        let mut changed = fs::read(&path).unwrap();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        fs::write(&path, changed).unwrap();
        let (out, corrected, losses) = repaired(folder.path());
        let said = "profile.db: sums of its summary were made again from its threads";
        assert_eq!((corrected, losses), (vec![said.to_owned()], Vec::new()), "{at:#x}");
        let dataset = HpcDb.open(&source(&out.path().join("repaired")), &Context::default());
        let view = dataset.unwrap().profile().unwrap();
        let mut values: Vec<_> = view.stored_statistics().unwrap().map(Result::unwrap).collect();
        values.retain(|value| (value.value - 5.0).abs() < 1e-12);
        assert_eq!(values.len(), 5, "{at:#x}");
        for name in ["meta.db", "cct.db", "trace.db"] {
            assert!(same_file(&testdata("hpcdb/tiny"), out.path(), name), "{name}");
        }
    }
}

/// A value of a thread is more than its function has, and the summary is what `cct.db` comes to.
#[test]
fn a_thread_that_contradicts_itself_is_wrong() {
    let folder = sample();
    let value = |bytes: &[u8]| {
        let profiles = u64_at(bytes, u64_at(bytes, 0x18));
        // The last value of the second thread.
        let thread = profiles + 2 * 48;
        u64_at(bytes, thread + 8) + 10 * (u64_at(bytes, thread) - 1) + 2
    };
    set(&folder.path().join("profile.db"), value, |value| 1e6 * value);
    let (out, corrected, losses) = repaired(folder.path());
    assert_eq!(
        (corrected, losses),
        (vec!["profile.db: 1 value is as in cct.db, which the rest fits".to_owned()], Vec::new())
    );
    assert!(same_file(folder.path(), out.path(), "cct.db"));
    let view =
        |path: &Path| HpcDb.open(&source(path), &Context::default()).unwrap().profile().unwrap();
    let original = figures(view(&testdata("hpcdb/matmul-omp")).as_ref());
    assert!(figures(view(&out.path().join("repaired")).as_ref()) == original);
}

/// The numbers of all values, in the order of the file.
fn places(name: &str, bytes: &[u8]) -> Vec<usize> {
    let (count, list) = (u64_at(bytes, 0x38) & 0xFFFF_FFFF, u64_at(bytes, 0x30));
    let (record, value, number) = if name == "cct.db" { (32, 12, 4) } else { (48, 10, 2) };
    let mut places = Vec::new();
    for record in (0..count).map(|place| list + record * place) {
        let (values, first) = (u64_at(bytes, record), u64_at(bytes, record + 8));
        places.extend((0..values).map(|place| first + value * place + number));
    }
    places
}

/// The values of both files in their order.
fn all_numbers(database: &Path) -> Vec<f64> {
    let numbers = ["profile.db", "cct.db"].map(|name| {
        let bytes = fs::read(database.join(name)).unwrap();
        let number = |at: usize| f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        places(name, &bytes).into_iter().map(number).collect::<Vec<_>>()
    });
    numbers.concat()
}

/// Flips a bit of a value. Either all values of the output are right, or a value is lost and said;
/// what nobody can see is a difference that rounding makes. Tells whether something is lost.
fn is_flip_answered(database: &Path, name: &str, at: usize, bit: u32) -> bool {
    let folder = copy_of(database);
    let path = folder.path().join(name);
    let mut bytes = fs::read(&path).unwrap();
    bytes[at + usize::try_from(bit / 8).unwrap()] ^= 1 << (bit % 8);
    fs::write(&path, bytes).unwrap();
    let (out, corrected, losses) = repaired(folder.path());
    if losses.is_empty() {
        let (found, expected) = (all_numbers(&out.path().join("repaired")), all_numbers(database));
        let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs();
        assert!(
            found.len() == expected.len() && found.iter().zip(&expected).all(is_near),
            "{name} at {at:#x}, bit {bit}: {corrected:?}"
        );
    }
    !losses.is_empty()
}

/// Of so many single flips of bits none ends in a wrong value that nothing is said of, and few
/// cannot be decided.
#[test]
fn no_flip_of_a_value_makes_another_of_it() {
    let tiny = testdata("hpcdb/tiny");
    for name in ["profile.db", "cct.db"] {
        for at in places(name, &fs::read(tiny.join(name)).unwrap()) {
            for bit in (0..64).step_by(5).chain([61, 62, 63]) {
                assert!(!is_flip_answered(&tiny, name, at, bit), "{name} at {at:#x}, bit {bit}");
            }
        }
    }
    let matmul = testdata("hpcdb/matmul-omp");
    let (mut all, mut lost) = (0, 0);
    for name in ["profile.db", "cct.db"] {
        let bits = [63, 62, 52, 54, 51, 40, 30, 1].into_iter().cycle();
        let places = places(name, &fs::read(matmul.join(name)).unwrap());
        for (at, bit) in places.into_iter().step_by(7).zip(bits) {
            all += 1;
            lost += usize::from(is_flip_answered(&matmul, name, at, bit));
        }
    }
    assert!(all > 150 && lost < all / 20, "{lost} of {all}");
}

fn cut_at(path: &Path, at: usize) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..at]).unwrap();
}

fn zero_at(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at..at + 64].fill(0);
    fs::write(path, bytes).unwrap();
}

/// A number of a context that none can have is damage: nothing is sized by it.
#[test]
fn a_number_that_no_context_can_have_sizes_nothing() {
    for has_cct in [true, false] {
        let folder = sample();
        let path = folder.path().join("profile.db");
        let mut bytes = fs::read(&path).unwrap();
        // The last entry of the index of the first thread.
        let record = 0x40 + 48;
        let count = u32::from_le_bytes(bytes[record + 0x10..record + 0x14].try_into().unwrap());
        let index = u64::from_le_bytes(bytes[record + 0x18..record + 0x20].try_into().unwrap());
        let last = usize::try_from(index).unwrap() + 12 * (usize::try_from(count).unwrap() - 1);
        bytes[last..last + 4].copy_from_slice(&0x7FFF_FFFF_u32.to_le_bytes());
        fs::write(&path, bytes).unwrap();
        if !has_cct {
            fs::remove_file(folder.path().join("cct.db")).unwrap();
        }
        let out = tempfile::tempdir().unwrap();
        let losses = repair(folder.path(), &out.path().join("repaired")).unwrap().losses;
        let is_said = |loss: &kymo_core::Finding| {
            loss.message.contains("contexts that cannot have their numbers")
        };
        assert_eq!(losses.iter().any(is_said), !has_cct, "{losses:?}");
        let size = fs::metadata(out.path().join("repaired/cct.db")).unwrap().len();
        let sound = fs::metadata(testdata("hpcdb/matmul-omp/cct.db")).unwrap().len();
        assert!(size <= sound, "{size} {sound}");
    }
}

#[test]
fn what_stands_behind_a_footer_is_removed() {
    let folder = sample();
    for name in ["meta.db", "cct.db"] {
        let path = folder.path().join(name);
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(b"junkjunkjunk\n");
        fs::write(&path, bytes).unwrap();
    }
    let (out, corrected, losses) = repaired(folder.path());
    let expected = ["meta.db", "cct.db"]
        .map(|name| format!("{name}: 13 bytes behind the footer were removed"));
    assert_eq!((corrected, losses), (expected.to_vec(), Vec::new()));
    for name in ["meta.db", "cct.db"] {
        assert!(same_file(&testdata("hpcdb/matmul-omp"), out.path(), name), "{name}");
    }
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
    assert_eq!(losses, ["trace.db: samples that make no sense or are not there: 1"]);
}

/// The fourth trace has 339 samples from 0x2EF8 on; of a file of 14,104 bytes it has 172.
#[test]
fn of_a_cut_trace_there_is_what_the_file_has() {
    let folder = sample();
    cut_at(&folder.path().join("trace.db"), 14_104);
    let (_, corrected, losses) = repaired(folder.path());
    let bytes = fs::read(testdata("hpcdb/matmul-omp/trace.db")).unwrap();
    let bounds = |line: usize| {
        let at = 0x40 + 24 * line;
        [8, 16].map(|field| {
            let field: [u8; 8] = bytes[at + field..at + field + 8].try_into().unwrap();
            usize::try_from(u64::from_le_bytes(field)).unwrap()
        })
    };
    let all: usize = (0..4).map(|line| (bounds(line)[1] - bounds(line)[0]) / 12).sum();
    let kept: usize =
        (0..4).map(|line| (bounds(line)[1].min(14_104).saturating_sub(bounds(line)[0])) / 12).sum();
    assert_eq!((all, all - kept > 100), (1326, true));
    assert_eq!(corrected, [format!("trace.db: it was written again with {kept} samples")]);
    let lost = all - kept;
    assert_eq!(losses, [format!("trace.db: samples that make no sense or are not there: {lost}")]);
}

/// Five samples that are zeros cost five samples, not what comes after them.
#[test]
fn samples_behind_damaged_ones_are_kept() {
    let folder = sample();
    let path = folder.path().join("trace.db");
    let mut bytes = fs::read(&path).unwrap();
    let start = u64::from_le_bytes(bytes[0x48..0x50].try_into().unwrap());
    let start = usize::try_from(start).unwrap();
    bytes[start + 12..start + 12 * 6].fill(0);
    fs::write(&path, bytes).unwrap();
    let (_, corrected, losses) = repaired(folder.path());
    assert_eq!(corrected, ["trace.db: it was written again with 1321 samples"]);
    assert_eq!(losses, ["trace.db: samples that make no sense or are not there: 5"]);
}

/// Bytes that are there twice, or not there, cost the samples that they are of, and of each trace
/// behind them those that reach beyond where it ends, or begin before it: not the rest.
#[test]
fn samples_behind_bytes_too_many_or_too_few_are_kept() {
    let whole = fs::read(testdata("hpcdb/matmul-omp/trace.db")).unwrap();
    let place = whole.len() / 4;
    let doubled = [&whole[..place + 16], &whole[place..]].concat();
    let removed = [&whole[..place], &whole[place + 16..]].concat();
    for bytes in [doubled, removed] {
        let folder = sample();
        fs::write(folder.path().join("trace.db"), bytes).unwrap();
        let (_, corrected, losses) = repaired(folder.path());
        let kept = corrected.iter().find_map(|line| {
            let kept = line.strip_prefix("trace.db: it was written again with ")?;
            kept.strip_suffix(" samples")?.parse::<u64>().ok()
        });
        // 16 bytes are of up to three samples of 12, and the one beside them may be made of two. Where
        // one of the four traces begins or ends they are of two.
        let kept = kept.unwrap();
        assert!((1326 - 4 - 2 * 4..=1326).contains(&kept), "{kept}: {corrected:?} {losses:?}");
        assert!(losses.iter().any(|loss| loss.contains("make no sense")), "{losses:?}");
    }
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

/// What can be shown of a damaged `meta.db` can be saved, and all that was wrong is a loss.
#[test]
fn what_can_be_shown_is_saved() {
    let bytes = fs::read(testdata("hpcdb/matmul-omp/meta.db")).unwrap();
    let (mut shown, mut saved) = (0, 0);
    for at in (0x90..bytes.len() - 8).step_by(61) {
        let folder = sample();
        let mut changed = bytes.clone();
        changed[at..at + 8].iter_mut().for_each(|byte| *byte ^= 0x55);
        fs::write(folder.path().join("meta.db"), changed).unwrap();
        let damaged = source(folder.path());
        let found = HpcDb.check(&damaged, &Context::default()).unwrap();
        if !found.iter().any(|one| one.severity == Severity::Error) {
            continue;
        }
        let salvaged = HpcDb.salvage(&damaged, &Context::default()).unwrap();
        let Some(view) = salvaged.profile().filter(|view| !view.metrics().is_empty()) else {
            continue;
        };
        let question = MetricQuery { view: &*view, metric: MetricId(0), threads: None };
        let Ok(rows) = flat(&question, FlatGrouping::Function) else { continue };
        if rows.rows.is_empty() {
            continue;
        }
        shown += 1;
        let out = tempfile::tempdir().unwrap();
        let to = out.path().join("repaired");
        let Ok(RepairReport { losses, .. }) = repair(folder.path(), &to) else { continue };
        saved += 1;
        assert!(!losses.is_empty(), "{at:#x}");
        let found = HpcDb.check(&source(&to), &Context::default()).unwrap();
        assert!(found.iter().all(|one| one.severity < Severity::Error), "{at:#x}: {found:?}");
    }
    assert!(shown > 20 && saved * 10 > shown * 9, "{saved} of {shown}");
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
