//! The kit passes a sound toy, and finds each fault of the others.

use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use super::{Fault, Toy, file};
use crate::golden;
use crate::promise::message;
use crate::{Subject, check, survive};

fn subject(toy: &'static Toy, folder: &Path) -> Subject {
    Subject::new(toy)
        .with_root(folder)
        .made("several.toy", file(&[7, 0, 0xFFFF_FFFF, 7, 3]))
        .made("none.toy", file(&[]))
        .made("many.toy", file(&(0..600).collect::<Vec<_>>()))
        .made("bad/cut.toy", file(&[1, 2, 3])[..17].to_vec())
        .unsound(&["bad/"])
}

/// Golden files as a sound toy has them.
fn reviewed(folder: &Path) {
    let toy = subject(&Toy(Fault::None), folder);
    for sample in toy.sound() {
        let name = Path::new(&*sample.name).with_extension("txt");
        let source = sample.source();
        let dataset = toy.format.open(&source, &kymo_core::Context::default()).unwrap();
        let path = toy.golden(name.to_str().unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, crate::dump(&*dataset).unwrap()).unwrap();
    }
    let findings = "bad/cut.toy\n  error unreadable at 0x10: number: needs 4 bytes, 1 left\n\n\
                    many.toy\n  nothing\n\nnone.toy\n  nothing\n\nseveral.toy\n  nothing\n\n";
    std::fs::write(toy.golden("findings.txt"), findings).unwrap();
}

/// Why the kit fails on a toy.
fn failure(toy: &'static Toy, promise: fn(&Subject)) -> String {
    let folder = tempfile::tempdir().unwrap();
    reviewed(folder.path());
    let subject = subject(toy, folder.path());
    let failed = panic::catch_unwind(AssertUnwindSafe(|| promise(&subject)));
    let why = failed.expect_err("the fault was not found");
    message(&*why).to_owned()
}

macro_rules! caught {
    ($($test:ident: $fault:ident by $promise:ident, $why:literal;)*) => {$(
        #[test]
        fn $test() {
            let why = failure(&Toy(Fault::$fault), crate::$promise);
            assert!(why.contains($why), "{why}");
        }
    )*};
}

caught! {
    a_format_that_needs_the_name_is_caught:
        SniffsByNameOnly by samples_are_sniffed, "several.toy: sniffed as Some(Name)";
    a_panic_is_caught_and_its_byte_named:
        Panics by every_flipped_byte_is_survived, "byte 0x7 xor 0xff: too many";
    an_allocation_by_count_is_caught:
        AllocatesByCount by every_flipped_byte_is_survived, "bytes of memory for a file of";
    invented_data_is_caught:
        InventsWhatIsCut by every_prefix_is_answered, "has a record that was not there";
    silence_about_a_cut_is_caught:
        HidesWhatIsCut by every_prefix_is_answered, "does not say that something is missing";
    a_record_lost_in_rewriting_is_caught:
        LosesWhenRewriting by what_is_rewritten_is_the_same, "it has other contents";
    a_record_gained_in_rewriting_is_caught:
        WritesTheDateOfToday by what_is_rewritten_is_the_same, "+ number 0\n+   value = 20260101";
    a_table_that_disagrees_is_caught:
        TableIsOffByOne by tables_agree_with_the_dump, "is 7 in the dump, 8 in the table";
    a_table_that_loses_a_row_is_caught:
        LimitLosesARow by tables_agree_with_the_dump, "rows, and records of that kind";
    a_check_that_finds_nothing_is_caught:
        ChecksNothing by findings_are_as_reviewed, "bad/cut.toy: it is unsound";
    a_check_that_finds_nothing_is_caught_on_prefixes:
        ChecksNothing by every_prefix_is_answered, "check finds nothing missing";
    a_check_that_finds_nothing_is_caught_on_flips:
        ChecksNothing by every_flipped_byte_is_survived, "check finds no error in what open";
    a_check_that_fails_is_caught:
        CheckFails by every_prefix_is_answered, "check fails: ";
    a_repair_that_does_not_repair_is_caught:
        RepairKeepsTheCount by every_prefix_is_answered, "repaired it has errors";
    a_repair_that_leaves_litter_is_caught:
        RepairLeavesLitter by every_prefix_is_answered, "more than the file was written";
    a_format_that_ignores_limits_is_caught:
        IgnoresLimits by limits_are_respected, "several.toy, items_max 0: 5 records pass";
    a_record_given_twice_at_once_is_caught:
        GivesTwiceAtOnce by every_flipped_byte_is_survived, "given twice at once at (8, 0)";
    a_record_given_again_later_as_another_is_caught:
        GivesTwiceLater by every_flipped_byte_is_survived, "is given twice: Some([(8, 0), (8, 0)])";
}

#[test]
fn a_hang_is_caught() {
    let toy: &'static Toy = &Toy(Fault::Hangs);
    let samples = vec![crate::Sample {
        name: "several.toy".into(),
        bytes: [b"TOY1".as_slice(), &[0xFF; 4]].concat().into(),
    }];
    let soon = std::time::Duration::from_millis(100);
    let hung = panic::catch_unwind(AssertUnwindSafe(|| {
        crate::promise::each_with_timeout(soon, samples, |sample, _| survive(toy, &sample.bytes));
    }));
    assert_eq!(message(&*hung.unwrap_err()), "several.toy hangs");
}

#[test]
fn a_sound_format_keeps_every_promise() {
    let folder = tempfile::tempdir().unwrap();
    reviewed(folder.path());
    check(&subject(&Toy(Fault::None), folder.path()));
}

#[test]
fn a_golden_file_without_its_sample_is_caught() {
    if golden::blessing() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    reviewed(folder.path());
    let toy = subject(&Toy(Fault::None), folder.path());
    std::fs::write(toy.golden("gone.txt"), "").unwrap();
    let failed = panic::catch_unwind(AssertUnwindSafe(|| crate::dumps_are_as_reviewed(&toy)));
    assert!(message(&*failed.unwrap_err()).contains("gone.txt has no sample"));
}

#[test]
fn samples_are_found_below_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("v2")).unwrap();
    std::fs::write(folder.path().join("v2/b.toy"), file(&[1])).unwrap();
    std::fs::write(folder.path().join("v2/notes.txt"), "no sample").unwrap();
    let subject = Subject::new(&Toy(Fault::None)).with_root(folder.path()).made("a", file(&[]));
    let samples = subject.samples();
    let names: Vec<_> = samples.iter().map(|sample| &*sample.name).collect();
    assert_eq!(names, ["a", "v2/b.toy"]);
}

#[test]
fn noise_is_survived() {
    for length in 0..64 {
        survive(&Toy(Fault::None), &vec![length; usize::from(length)]);
    }
}

mod in_five_lines {
    use super::{Fault, Subject, Toy, file};

    fn subject() -> Subject {
        Subject::new(&Toy(Fault::None)).made("one.toy", file(&[1]))
    }

    crate::promises! { subject();
        samples_are_sniffed
        what_is_rewritten_is_the_same
    }
}
