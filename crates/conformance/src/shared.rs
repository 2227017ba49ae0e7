//! Recordings outside the repository, found through `KYMO_DATA`.
//!
//! Tests that need them must not pass in silence where they are absent: each says `ran NAME` or
//! `left-out NAME`, also in the file that `KYMO_DATA_LOG` names, and `cargo xtask ci` counts.

use std::env;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;

/// The variable that names the folder. Unset or empty: there are none.
const DATA: &str = "KYMO_DATA";

/// The variable that names the log.
const LOG: &str = "KYMO_DATA_LOG";

/// The variable that names the Python with the readers of other tools, which `cargo xtask ci`
/// installs.
const READERS: &str = "KYMO_READERS";

/// The Python that has h5py, netCDF4, zarr and the like; nothing when it was not installed.
#[must_use]
pub fn readers() -> Option<PathBuf> {
    let found = set(READERS).map(PathBuf::from);
    log(found.is_some());
    found
}

/// A file or folder among the recordings; nothing when there are none on this machine.
///
/// Panics when the folder is there and the file is not: that is a spelling mistake.
#[must_use]
pub fn file(name: &str) -> Option<PathBuf> {
    let found = existing_path(set(DATA), name);
    log(found.is_some());
    found
}

/// Calls `body` with each file below a folder of the recordings that has the extension, in the
/// order of their paths, and says whether it could.
pub fn each(folder: &str, extension: &str, mut body: impl FnMut(&Path)) -> bool {
    let Some(folder) = file(folder) else {
        return false;
    };
    let mut files = Vec::new();
    collect(&folder, extension, &mut files);
    assert!(!files.is_empty(), "no .{extension} in {}", folder.display());
    files.sort();
    for path in &files {
        body(path);
    }
    true
}

fn set(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|value| !value.is_empty())
}

fn existing_path(folder: Option<OsString>, name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(folder?).join(name);
    assert!(path.exists(), "{DATA} is set, and there is no {name} in it");
    Some(path)
}

fn collect(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder);
    for entry in entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() {
            collect(&path, extension, files);
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
}

/// Says whether the test that runs on this thread had what it needs.
fn log(ran: bool) {
    let test = thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("{} {test}\n", if ran { "ran" } else { "left-out" });
    eprint!("{line}");
    if let Some(path) = set(LOG) {
        append(Path::new(&path), &line);
    }
}

/// Appends with one call, so that lines of tests that run at once do not mix.
fn append(path: &Path, line: &str) {
    let file = OpenOptions::new().append(true).create(true).open(path);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_folder_there_is_nothing() {
        assert_eq!(existing_path(None, "bp/real"), None);
    }

    #[test]
    fn a_file_that_is_missing_from_the_folder_is_a_mistake() {
        let folder = tempfile::tempdir().unwrap();
        let missing = || existing_path(Some(folder.path().into()), "bp/reel");
        assert!(std::panic::catch_unwind(missing).is_err());
        fs::create_dir(folder.path().join("bp")).unwrap();
        assert!(existing_path(Some(folder.path().into()), "bp").is_some());
    }

    #[test]
    fn lines_are_appended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        append(&path, "ran one\n");
        append(&path, "left-out two\n");
        assert_eq!(fs::read_to_string(path).unwrap(), "ran one\nleft-out two\n");
    }

    #[test]
    fn files_are_found_by_their_extension() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        for name in ["a/x.bp", "y.bp", "z.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let mut files = Vec::new();
        collect(folder.path(), "bp", &mut files);
        assert_eq!(files.len(), 2);
    }
}
