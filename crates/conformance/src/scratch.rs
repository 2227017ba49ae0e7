//! Files that a format writes on the way, read back and gone.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use kymo_core::{Context, Destination, Result, Source};
use kymo_model::{Format, RepairReport};
use tempfile::TempDir;

/// Memory, where there is such a folder: writing a file waits for the disk, which costs
/// milliseconds for each of thousands.
const IN_MEMORY: &str = "/dev/shm";

/// The bytes that rewriting a source gives.
pub fn rewritten(format: &dyn Format, source: &Source, context: &Context<'_>) -> Result<Bytes> {
    written(|to| format.rewrite(source, to, context)).map(|((), bytes)| bytes)
}

/// Repairs a source, and returns the result of the repair and the bytes that it gave.
pub fn repaired(
    format: &dyn Format,
    source: &Source,
    context: &Context<'_>,
) -> Result<(RepairReport, Bytes)> {
    written(|to| format.repair(source, to, context))
}

/// Hands out a destination and takes the file back from it.
pub(crate) fn written<T>(write: impl FnOnce(&Destination) -> Result<T>) -> Result<(T, Bytes)> {
    let folder = folder();
    let path = folder.path().join("out");
    let done = write(&Destination::new(&path, false));
    let left: Vec<_> = names(folder.path());
    match done {
        Ok(done) => {
            assert_eq!(left, ["out"], "more than the file was written");
            Ok((done, fs::read(&path).expect("what was written").into()))
        }
        Err(error) => {
            assert!(left.is_empty(), "a failure left {left:?} behind: {error}");
            Err(error)
        }
    }
}

fn folder() -> TempDir {
    let usual = || tempfile::tempdir().expect("a temporary folder");
    tempfile::tempdir_in(IN_MEMORY).unwrap_or_else(|_| usual())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder just made");
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    entries.map(|entry| name(entry.expect("an entry"))).collect()
}
