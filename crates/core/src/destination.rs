//! Files and directories that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempDir};

use crate::{Error, Result};

/// Where output goes: a path that is written atomically.
#[derive(Debug, Clone)]
pub struct Destination {
    path: PathBuf,
    force: bool,
}

impl Destination {
    /// Output at a path; one that exists is replaced only with `force`.
    pub fn new(path: impl Into<PathBuf>, force: bool) -> Self {
        Self { path: path.into(), force }
    }

    /// The path that output appears at.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses early, before any work, what could not be written at the end.
    pub fn check(&self) -> Result<()> {
        let directory = self.parent();
        if !directory.is_dir() {
            let why = format!("the directory {} does not exist", directory.display());
            return Err(Error::Request(why));
        }
        match fs::symlink_metadata(&self.path) {
            Ok(_) if !self.force => Err(Error::Exists(self.path.clone())),
            _ => Ok(()),
        }
    }

    /// Starts a file: a temporary beside the target, renamed over it by
    /// [`AtomicFile::commit`].
    pub fn file(&self) -> Result<AtomicFile> {
        self.check()?;
        if self.path.is_dir() {
            return Err(Error::Request(format!("{} is a directory", self.path.display())));
        }
        let file = temporary().tempfile_in(self.parent());
        let file = file.map_err(Error::io("create a file beside the output"))?;
        Ok(AtomicFile { file: BufWriter::with_capacity(1 << 18, file), destination: self.clone() })
    }

    /// Starts a directory: a temporary beside the target, renamed to it by
    /// [`AtomicDirectory::commit`].
    pub fn directory(&self) -> Result<AtomicDirectory> {
        self.check()?;
        let directory = temporary().tempdir_in(self.parent());
        let directory = directory.map_err(Error::io("create a directory beside the output"))?;
        Ok(AtomicDirectory { directory, destination: self.clone() })
    }

    fn parent(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }
}

/// A hidden name beside the target that tells whose it is, should it be left by a kill.
fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".kymo-").suffix(".tmp");
    builder
}

/// A file being written. Without [`commit`](Self::commit) nothing appears.
#[derive(Debug)]
#[must_use = "without commit nothing is written"]
pub struct AtomicFile {
    file: BufWriter<NamedTempFile>,
    destination: Destination,
}

impl AtomicFile {
    /// Writes everything to the disk and gives the file its name.
    pub fn commit(self) -> Result<()> {
        let Self { file, destination } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error);
        let file = file.map_err(Error::io("write the output"))?;
        share(file.as_file(), &destination).map_err(Error::io("set the output's permissions"))?;
        file.as_file().sync_all().map_err(Error::io("write the output to disk"))?;
        // Without --force the name must still be free: another program may have taken it.
        let named = if destination.force {
            file.persist(&destination.path)
        } else {
            file.persist_noclobber(&destination.path)
        };
        named.map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists(destination.path.clone()),
            _ => Error::Io { action: "rename the output into place", error: error.error },
        })?;
        sync_directory(destination.parent());
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.file.seek(position)
    }
}

/// A directory being written. Without [`commit`](Self::commit) nothing appears.
#[derive(Debug)]
#[must_use = "without commit nothing is written"]
pub struct AtomicDirectory {
    directory: TempDir,
    destination: Destination,
}

impl AtomicDirectory {
    /// Where the files go until the directory has its name.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes everything to the disk and gives the directory its name.
    pub fn commit(self) -> Result<()> {
        let Self { directory, destination } = self;
        sync_tree(directory.path()).map_err(Error::io("write the output to disk"))?;
        if destination.force {
            remove(&destination.path).map_err(Error::io("replace the old output"))?;
        }
        let path = directory.keep();
        let renamed = fs::rename(&path, &destination.path);
        if let Err(error) = renamed {
            // The rename is what failed; what cleaning up says does not matter.
            let _ = fs::remove_dir_all(&path);
            return Err(match error.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => {
                    Error::Exists(destination.path)
                }
                _ => Error::Io { action: "rename the output into place", error },
            });
        }
        open_to_others(&destination.path).map_err(Error::io("set the output's permissions"))?;
        sync_directory(destination.parent());
        Ok(())
    }
}

/// Temporary files are private; the finished file has the permissions of any new file, or of
/// the one it replaces.
#[cfg(unix)]
fn share(file: &File, destination: &Destination) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = match fs::metadata(&destination.path) {
        Ok(old) => old.permissions().mode() & 0o7777,
        Err(_) => 0o666 & !umask(),
    };
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn share(_file: &File, _destination: &Destination) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn open_to_others(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o777 & !umask()))
}

#[cfg(not(unix))]
fn open_to_others(_directory: &Path) -> io::Result<()> {
    Ok(())
}

/// The permissions a new file does without, from where it can be read without being changed.
#[cfg(unix)]
fn umask() -> u32 {
    const USUAL: u32 = 0o022;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(USUAL)
}

/// The rename itself must survive a crash. Not every file system can sync a directory; the file
/// is complete either way.
fn sync_directory(path: &Path) {
    if let Ok(directory) = File::open(path) {
        let _ = directory.sync_all();
    }
}

fn sync_tree(root: &Path) -> io::Result<()> {
    let mut pending = vec![root.to_path_buf()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                pending.push(entry.path());
            } else {
                File::open(entry.path())?.sync_all()?;
            }
        }
        sync_directory(&directory);
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_appears_whole_at_commit_and_not_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let mut file = Destination::new(&path, false).file().unwrap();
        file.write_all(b"whole").unwrap();
        assert!(!path.exists());
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(directory.path()), ["out"]);
    }

    #[test]
    fn an_abandoned_file_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = Destination::new(directory.path().join("out"), false).file().unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(names(directory.path()), [""; 0]);
    }

    #[test]
    fn an_existing_file_is_replaced_only_with_force() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        fs::write(&path, b"old").unwrap();
        let refused = Destination::new(&path, false).file().unwrap_err();
        assert!(matches!(refused, Error::Exists(_)));
        let mut file = Destination::new(&path, true).file().unwrap();
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn a_name_taken_in_the_meantime_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let file = Destination::new(&path, false).file().unwrap();
        fs::write(&path, b"theirs").unwrap();
        assert!(matches!(file.commit().unwrap_err(), Error::Exists(_)));
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
    }

    #[test]
    fn a_directory_appears_whole_and_replaces_only_with_force() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        for (force, text) in [(false, "one"), (true, "two")] {
            let made = Destination::new(&path, force).directory().unwrap();
            fs::write(made.path().join("part"), text).unwrap();
            made.commit().unwrap();
            assert_eq!(fs::read_to_string(path.join("part")).unwrap(), text);
        }
        assert!(Destination::new(&path, false).directory().is_err());
        assert_eq!(names(directory.path()), ["db"]);
    }

    #[test]
    fn a_missing_parent_is_named() {
        let error = Destination::new("no/such/place/out", false).file().unwrap_err();
        assert_eq!(error.to_string(), "the directory no/such/place does not exist");
    }
}
