//! Output that is being written under a hidden name, so that an interrupted program can remove it.

use std::collections::BTreeSet;
use std::path::{self, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io, mem};

use tempfile::TempDir;

static PATHS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn paths() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Deletes all output that is not finished, for a program that is about to end. Whoever still
/// writes to it writes to nothing, and can create nothing in it; whoever wants to begin or finish
/// some waits for that end.
pub fn abandon() {
    let paths = paths();
    paths.iter().for_each(|path| move_and_delete(path));
    mem::forget(paths);
}

/// Deletes a directory, under another name: whoever creates a file by the old one finds no
/// directory for it, and none comes into being while this one is emptied.
fn move_and_delete(path: &Path) {
    let aside = path.with_extension("gone");
    let is_aside = fs::rename(path, &aside).is_ok();
    let _ = fs::remove_dir_all(if is_aside { &aside } else { path });
}

/// Does something that must not be left half-way: whoever wants to end the program waits for it.
pub(super) fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    let _paths = paths();
    work()
}

/// A directory that is deleted by [`abandon`] as long as this is there. Files in it are created by
/// their paths, and the directory itself never again.
#[derive(Debug)]
pub(super) struct Unfinished(PathBuf);

impl Unfinished {
    /// Makes a directory. There is no moment at which it is there and not known.
    pub(super) fn make(
        create: impl FnOnce() -> io::Result<TempDir>,
    ) -> io::Result<(TempDir, Self)> {
        let mut paths = paths();
        let made = create()?;
        // The program may be somewhere else by then.
        let path = path::absolute(&made).unwrap_or_else(|_| made.path().to_path_buf());
        paths.insert(path.clone());
        Ok((made, Self(path)))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        paths().remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_away_is_not_made_again_by_whoever_still_writes() {
        let directory = tempfile::tempdir().unwrap();
        let (made, _known) = Unfinished::make(|| tempfile::tempdir_in(&directory)).unwrap();
        fs::create_dir(made.path().join("group")).unwrap();
        fs::write(made.path().join("group/array"), b"half").unwrap();
        move_and_delete(made.path());
        assert!(fs::write(made.path().join("group/other"), b"more").is_err());
        assert!(fs::create_dir(made.path().join("other")).is_err());
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    }
}
