//! The examples of the README, of the guide, of the format pages and of the page on arrays. `cargo xtask bless`
//! rewrites them.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

use std::env;
use std::path::Path;

/// The only test of this program: it changes the directory of the whole process.
#[test]
fn examples_print_what_is_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    // Examples read the test data and write files, so they run beside it in a folder of their own.
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root.join("testdata"), folder.path().join("testdata")).unwrap();
    env::set_current_dir(folder.path()).unwrap();
    let cases = trycmd::TestCases::new();
    cases.case(root.join("README.md")).case(root.join("docs/formats/*.md"));
    cases.case(root.join("docs/arrays.md")).case(root.join("docs/guide/*.md"));
    cases.run();
}
