//! What is being written under a hidden name, so that an interrupted program can take it away.

use std::collections::BTreeSet;
use std::path::{self, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io, mem};

static PATHS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// How often a directory is tried to be taken away, while another thread still writes into it.
const TRIES: usize = 100;

fn paths() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Deletes all output that is not finished, for a program that is about to end. Whoever still
/// writes to it writes to nothing; whoever wants to begin or finish some waits for that end.
pub fn abandon() {
    let paths = paths();
    for path in paths.iter() {
        let remove = if path.is_dir() { fs::remove_dir_all } else { fs::remove_file };
        let _ = (0..TRIES).any(|_| remove(path).is_ok() || !path.exists());
    }
    mem::forget(paths);
}

/// A file or a directory that is deleted by [`abandon`] as long as this is there.
#[derive(Debug)]
pub(super) struct Unfinished(PathBuf);

impl Unfinished {
    /// Makes something that has a path. There is no moment at which it is there and not known.
    pub(super) fn make<T: AsRef<Path>>(
        create: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(T, Self)> {
        let mut paths = paths();
        let made = create()?;
        // The program may be somewhere else by then.
        let path = path::absolute(&made).unwrap_or_else(|_| made.as_ref().to_path_buf());
        paths.insert(path.clone());
        Ok((made, Self(path)))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        paths().remove(&self.0);
    }
}
