//! What is being written under a hidden name, so that an interrupted program can take it away.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static PATHS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// How often a directory is tried to be taken away, while another thread still writes into it.
const TRIES: usize = 100;

fn paths() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Deletes all output that is not finished, for a program that is about to end. Whoever still
/// writes to it writes to nothing.
pub fn abandon() {
    for path in paths().iter() {
        let remove = if path.is_dir() { fs::remove_dir_all } else { fs::remove_file };
        let _ = (0..TRIES).any(|_| remove(path).is_ok() || !path.exists());
    }
}

/// A file or a directory that is deleted by [`abandon`] as long as this is there.
#[derive(Debug)]
pub(super) struct Unfinished(PathBuf);

impl Unfinished {
    pub(super) fn new(path: &Path) -> Self {
        // The program may be somewhere else by then.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        paths().insert(path.clone());
        Self(path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        paths().remove(&self.0);
    }
}
