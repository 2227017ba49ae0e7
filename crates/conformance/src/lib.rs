//! Promises of every format (`ARCHITECTURE.md`), as tests that a format runs in five lines.
//!
//! ```text
//! // formats/bp/tests/it/conformance.rs, the whole file:
//! use kymo_conformance::Subject;
//!
//! kymo_conformance::promises!(
//!     Subject::new(&kymo_bp::Bp)
//!         .unsound(&["malformed/", "08c_"])
//!         .valid_prefix(|bytes, end| ends_between_elements(bytes, end))
//! );
//! ```
//!
//! [`promises!`] makes one test of each promise, so that a failure names the promise; [`check`]
//! runs them all in one. [`survive`] is the body of the fuzz target. [`golden`], [`python`] and
//! [`shared`] serve a format's own tests.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::print_stderr,
    reason = "this crate is test support: to panic is how a test fails"
)]

mod dumps;
mod findings;
mod flip;
mod folder;
pub mod golden;
mod limits;
mod made;
mod prefix;
mod promise;
pub mod python;
mod render;
mod roundtrip;
mod scratch;
pub mod shared;
mod sniff;
mod subject;
mod survive;
mod tables;
#[cfg(test)]
mod toy;
mod windows;

use std::path::{Path, PathBuf};

pub use dumps::dumps_are_as_reviewed;
pub use findings::findings_are_as_reviewed;
pub use flip::{every_flipped_byte_is_survived, zeros_are_survived};
pub use folder::{
    Folder, every_damaged_file_of_a_folder_is_answered, every_damaged_file_of_a_folder_is_survived,
};
pub use limits::limits_are_respected;
pub use made::{what_is_made_of_a_sound_file_is_sound, what_is_made_of_a_timeline_is_sound};
pub use prefix::every_prefix_is_answered;
pub use render::{Captured, Content, capture, dump};
pub use roundtrip::{what_is_rewritten_is_the_same, what_is_rewritten_of_a_folder_is_the_same};
pub use scratch::{repaired, rewritten};
pub use sniff::samples_are_sniffed;
pub use subject::{Sample, Subject};
pub use survive::survive;
pub use tables::tables_agree_with_the_dump;
pub use windows::windows_have_what_the_whole_has;

/// Makes one test of each promise for a [`Subject`].
#[macro_export]
macro_rules! promises {
    ($subject:expr) => {
        $crate::promises! { $subject;
            samples_are_sniffed
            what_is_rewritten_is_the_same
            every_prefix_is_answered
            every_flipped_byte_is_survived
            tables_agree_with_the_dump
            findings_are_as_reviewed
            dumps_are_as_reviewed
            limits_are_respected
            what_is_made_of_a_sound_file_is_sound
            windows_have_what_the_whole_has
        }
    };
    ($subject:expr; $($promise:ident)*) => {$(
        #[test]
        fn $promise() {
            $crate::$promise(&$subject);
        }
    )*};
}

/// Checks every promise, one after the other; the first that is broken fails.
pub fn check(subject: &Subject) {
    samples_are_sniffed(subject);
    what_is_rewritten_is_the_same(subject);
    every_prefix_is_answered(subject);
    every_flipped_byte_is_survived(subject);
    tables_agree_with_the_dump(subject);
    findings_are_as_reviewed(subject);
    dumps_are_as_reviewed(subject);
    limits_are_respected(subject);
    what_is_made_of_a_sound_file_is_sound(subject);
    windows_have_what_the_whole_has(subject);
}

/// A path below the repository's `testdata`.
#[must_use]
pub fn testdata(path: impl AsRef<Path>) -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = crates.and_then(Path::parent).expect("the workspace");
    root.join("testdata").join(path)
}
