//! Files and directories that appear whole or not at all.

mod copy;
mod directories;
mod temporary;
mod unfinished;

use std::fs::{self, File, FileType};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Error, Result, Source};
use temporary::Temporary;
use unfinished::{Unfinished, undisturbed};

pub use copy::copy_other_files;
pub use directories::create_below;
pub use unfinished::abandon;

/// Destination of output: a path that is written atomically.
#[derive(Debug, Clone)]
pub struct Destination {
    path: PathBuf,
    force: bool,
    sources: Vec<Source>,
    origins: Vec<Origin>,
}

/// Origin of a recording that is converted, for formats that keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The name of the file or directory.
    pub name: String,
    /// Number of bytes of the recording.
    pub size_bytes: u64,
    /// Program that read it.
    pub importer: String,
    /// Time of that, in milliseconds since the Epoch.
    pub time_ms: i64,
}

impl Destination {
    /// Output at a path; one that exists is replaced only with `force`.
    pub fn new(path: impl Into<PathBuf>, force: bool) -> Self {
        Self { path: path.into(), force, sources: Vec::new(), origins: Vec::new() }
    }

    /// Says what the output is made from. When one of these has changed meanwhile, or the output
    /// would take the place of one, nothing appears.
    #[must_use]
    pub fn made_from(mut self, sources: &[Source]) -> Self {
        self.sources.extend_from_slice(sources);
        self
    }

    /// Says where the recordings came from that are written.
    #[must_use]
    pub fn imported(mut self, origin: Origin) -> Self {
        self.origins.push(origin);
        self
    }

    /// Returns the origins of the recordings that are written, as far as the caller gave them.
    #[must_use]
    pub fn origins(&self) -> &[Origin] {
        &self.origins
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
        self.check_kind()?;
        self.protect_sources()?;
        match fs::symlink_metadata(&self.path) {
            Ok(_) if !self.force => Err(Error::Exists(self.path.clone())),
            _ => Ok(()),
        }
    }

    /// Refuses to replace the sources of the output, also with `force`.
    fn protect_sources(&self) -> Result<()> {
        self.sources.iter().try_for_each(|source| source.refuse_output(&self.path))
    }

    /// Refuses to replace anything that is neither a file nor a directory, nor a link to such:
    /// output would take the place of a device.
    fn check_kind(&self) -> Result<()> {
        let Ok(metadata) = fs::metadata(&self.path) else {
            return Ok(());
        };
        let kind = metadata.file_type();
        if kind.is_file() || kind.is_dir() {
            return Ok(());
        }
        let what = kind_name(kind);
        let why = format!("{} is {what} and cannot be replaced by a file", self.path.display());
        Err(Error::Request(why))
    }

    /// A directory is not replaced by a file, not even with `force`.
    fn check_file(&self) -> Result<()> {
        self.check_kind()?;
        if self.path.is_dir() {
            return Err(Error::Request(format!("{} is a directory", self.path.display())));
        }
        Ok(())
    }

    /// Starts a file: one without a name, or with a hidden name beside the target, that
    /// [`AtomicFile::commit`] puts in its place.
    pub fn file(&self) -> Result<AtomicFile> {
        self.check()?;
        self.check_file()?;
        let file = Temporary::new(self.parent());
        let file = file.map_err(Error::io("create a file beside the output"))?;
        Ok(AtomicFile::new(file, self.clone()))
    }

    /// Starts a file for a writer that wants a path: one in a hidden directory beside the target,
    /// so that a writer that creates it anew cannot do so once it is abandoned.
    pub fn file_by_path(&self) -> Result<AtomicPath> {
        self.check()?;
        self.check_file()?;
        let (directory, unfinished) = self.hidden()?;
        let file = temporary::builder().tempfile_in(directory.path());
        let file = file.map_err(Error::io("create a file beside the output"))?;
        let path = file.path().to_path_buf();
        let file = AtomicFile::new(Temporary::Named(file), self.clone());
        Ok(AtomicPath { path, file, directory, unfinished })
    }

    /// Starts a directory: a temporary beside the target, renamed to it by
    /// [`AtomicDirectory::commit`].
    pub fn directory(&self) -> Result<AtomicDirectory> {
        self.check()?;
        let (directory, unfinished) = self.hidden()?;
        Ok(AtomicDirectory { directory, unfinished, destination: self.clone() })
    }

    /// A hidden directory beside the target.
    fn hidden(&self) -> Result<(TempDir, Unfinished)> {
        let made = Unfinished::make(|| temporary::builder().tempdir_in(self.parent()));
        made.map_err(Error::io("create a directory beside the output"))
    }

    fn parent(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }
}

/// A file being written. Without [`commit`](Self::commit) nothing appears.
#[derive(Debug)]
#[must_use = "without commit nothing is written"]
pub struct AtomicFile {
    file: BufWriter<Temporary>,
    destination: Destination,
}

impl AtomicFile {
    fn new(file: Temporary, destination: Destination) -> Self {
        Self { file: BufWriter::with_capacity(1 << 18, file), destination }
    }

    /// Writes everything to the disk and gives the file its name.
    pub fn commit(self) -> Result<()> {
        let Self { file, destination } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error);
        let file = file.map_err(Error::io("write the output"))?;
        share(file.as_file(), &destination).map_err(Error::io("set the output's permissions"))?;
        file.as_file().sync_all().map_err(Error::io("write the output to disk"))?;
        destination.sources.iter().try_for_each(Source::verify)?;
        // More may have been read beside the sources since, and another program may have put
        // something there.
        destination.protect_sources()?;
        destination.check_file()?;
        let placed = file.place(destination.parent(), &destination.path, destination.force);
        placed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists(destination.path.clone()),
            _ => Error::Io { action: "rename the output into place", error },
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

/// A file that someone else writes, by its path. Without [`commit`](Self::commit) nothing appears.
#[derive(Debug)]
#[must_use = "without commit nothing is written"]
pub struct AtomicPath {
    path: PathBuf,
    file: AtomicFile,
    directory: TempDir,
    unfinished: Unfinished,
}

impl AtomicPath {
    /// Returns the path of the file until it has its name. The file must be written in place and
    /// not replaced.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes everything to the disk and gives the file its name.
    pub fn commit(self) -> Result<()> {
        let Self { file, directory, unfinished, .. } = self;
        file.commit()?;
        drop((directory, unfinished));
        Ok(())
    }
}

/// A directory being written. Without [`commit`](Self::commit) nothing appears.
#[derive(Debug)]
#[must_use = "without commit nothing is written"]
pub struct AtomicDirectory {
    directory: TempDir,
    unfinished: Unfinished,
    destination: Destination,
}

impl AtomicDirectory {
    /// Returns the path for the files until the directory has its name.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes everything to the disk and gives the directory its name.
    ///
    /// What it replaces is set aside first, and is put back when that fails.
    pub fn commit(self) -> Result<()> {
        let Self { directory, unfinished, destination } = self;
        let path = directory.path();
        sync_tree(path).map_err(Error::io("write the output to disk"))?;
        open_to_others(path).map_err(Error::io("set the output's permissions"))?;
        destination.sources.iter().try_for_each(Source::verify)?;
        destination.protect_sources()?;
        destination.check_kind()?;
        let old = undisturbed(|| put_in_place(path, &destination))?;
        // It has another name now: there is nothing left to clean up.
        drop(unfinished);
        let _ = directory.keep();
        sync_directory(destination.parent());
        old.into_iter().try_for_each(ReplacedTarget::delete)
    }
}

/// Other programs that write the same directory at the same time: so many of them may come first.
const TRIES_MAX: usize = 1000;

/// Gives a directory its name, and hands back what it replaced. When that fails, what was there is put
/// back or kept.
fn put_in_place(made: &Path, destination: &Destination) -> Result<Vec<ReplacedTarget>> {
    let mut replaced = Vec::new();
    match replace(made, destination, &mut replaced) {
        Ok(()) => Ok(replaced),
        Err(error) => Err(give_back(replaced, error)),
    }
}

/// Gives a directory its name, and lists what was taken away for that.
fn replace(
    made: &Path,
    destination: &Destination,
    replaced: &mut Vec<ReplacedTarget>,
) -> Result<()> {
    for _ in 0..TRIES_MAX {
        if destination.force {
            replaced.extend(ReplacedTarget::take(destination)?);
        }
        let Err(error) = fs::rename(made, &destination.path) else { return Ok(()) };
        let is_there = matches!(
            error.kind(),
            io::ErrorKind::AlreadyExists
                | io::ErrorKind::DirectoryNotEmpty
                | io::ErrorKind::NotADirectory
        );
        // Another program put its own there since the old one was taken away.
        if is_there && destination.force {
            continue;
        }
        return Err(if is_there {
            Error::Exists(destination.path.clone())
        } else {
            Error::Io { action: "rename the output into place", error }
        });
    }
    Err(Error::request("other programs keep putting something where the output is to be"))
}

/// Puts back what was taken last. What was there before that has lost its place to another program; it
/// is kept, and the error says where.
fn give_back(mut replaced: Vec<ReplacedTarget>, error: Error) -> Error {
    let kept = replaced.pop().and_then(ReplacedTarget::put_back);
    let kept: Vec<_> = replaced.iter().map(ReplacedTarget::path).chain(kept).collect();
    if kept.is_empty() {
        return error;
    }
    let kept: Vec<_> = kept.iter().map(|path| path.display().to_string()).collect();
    Error::Request(format!("{error}; what was there before is kept as {}", kept.join(", ")))
}

/// What is being replaced, in a hidden directory beside its old place. It stays there until it is put
/// back or deleted.
#[derive(Debug)]
struct ReplacedTarget {
    hidden: TempDir,
    place: PathBuf,
}

impl ReplacedTarget {
    /// Takes away what is at the destination, if anything is.
    fn take(from: &Destination) -> Result<Option<Self>> {
        let place = from.path.clone();
        let hidden = temporary::builder().tempdir_in(from.parent());
        let hidden = hidden.map_err(Error::io("create a directory beside the output"))?;
        let mut old = Self { hidden, place };
        match fs::rename(&old.place, old.path()) {
            Ok(()) => {
                old.hidden.disable_cleanup(true);
                Ok(Some(old))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::Io { action: "replace the old output", error }),
        }
    }

    fn path(&self) -> PathBuf {
        self.hidden.path().join("old")
    }

    /// Puts it back where its place is free; otherwise it stays, and this says where.
    fn put_back(mut self) -> Option<PathBuf> {
        let is_free = fs::symlink_metadata(&self.place).is_err();
        if !is_free || fs::rename(self.path(), &self.place).is_err() {
            return Some(self.path());
        }
        // There is nothing left in it.
        self.hidden.disable_cleanup(false);
        None
    }

    fn delete(mut self) -> Result<()> {
        self.hidden.disable_cleanup(false);
        // Nobody misses it now: an interrupt may delete the rest of it.
        let known = Unfinished::make(|| Ok(self.hidden));
        let closed = known.and_then(|(hidden, _unfinished)| hidden.close());
        closed.map_err(Error::io("delete the old output"))
    }
}

fn kind_name(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a named pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
    }
    let _ = kind;
    "a device"
}

/// Temporary files are private; the finished file has the permissions of any new file, or of
/// the one it replaces.
#[cfg(unix)]
fn share(file: &File, destination: &Destination) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = match fs::metadata(&destination.path) {
        // Who may read and write, but no right to act as the owner: the contents are others.
        Ok(old) => old.permissions().mode() & 0o777,
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
    let mut synced = 0;
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                pending.push(entry.path());
            } else if kind.is_file() {
                if synced >= SYNCED_MAX && sync_file_system(root)? {
                    return Ok(());
                }
                File::open(entry.path())?.sync_all()?;
                synced += 1;
            }
        }
        sync_directory(&directory);
    }
    Ok(())
}

/// Files of a directory that are written to disk one by one. Each takes the disk some
/// milliseconds, so that of more the whole file system is told once.
const SYNCED_MAX: usize = 32;

/// Writes everything to disk that a file system has in memory, where the system can.
#[cfg(target_os = "linux")]
fn sync_file_system(path: &Path) -> io::Result<bool> {
    rustix::fs::syncfs(File::open(path)?)?;
    Ok(true)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_path: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_that_is_written_by_its_path_appears_at_commit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let file = Destination::new(&path, false).file_by_path().unwrap();
        fs::write(file.path(), "whole").unwrap();
        assert!(!path.exists());
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(directory.path()), ["out"]);
        drop(Destination::new(&path, true).file_by_path().unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"whole");
    }

    #[test]
    fn a_directory_of_many_files_appears_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let made = Destination::new(&path, false).directory().unwrap();
        for number in 0..2 * SYNCED_MAX {
            fs::write(made.path().join(number.to_string()), "part").unwrap();
        }
        made.commit().unwrap();
        assert_eq!(names(&path).len(), 2 * SYNCED_MAX);
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

    /// Commits the same bytes from a file without a name, where there is such, and from a named
    /// one.
    fn commit_both_ways(destination: &Destination, bytes: &[u8]) {
        let named = Temporary::named(destination.parent()).unwrap();
        let named = AtomicFile::new(named, destination.clone());
        for mut file in [destination.file().unwrap(), named] {
            let _ = fs::remove_file(&destination.path);
            file.write_all(b"....").unwrap();
            file.rewind().unwrap();
            file.write_all(bytes).unwrap();
            file.commit().unwrap();
            assert_eq!(fs::read(&destination.path).unwrap(), bytes);
        }
    }

    #[test]
    fn what_was_made_from_a_file_that_changed_does_not_appear() {
        let directory = tempfile::tempdir().unwrap();
        let (from, path) = (directory.path().join("in"), directory.path().join("out"));
        fs::write(&from, b"before").unwrap();
        let source = Source::open(&from, &crate::bytes::Limits::default()).unwrap();
        let to = Destination::new(&path, false).made_from(std::slice::from_ref(&source));
        let (file, made) = (to.file().unwrap(), to.directory().unwrap());
        fs::write(&from, b"after").unwrap();
        assert!(matches!(file.commit(), Err(Error::Changed(_))));
        assert!(matches!(made.commit(), Err(Error::Changed(_))));
        assert_eq!(names(directory.path()), ["in"]);
    }

    #[test]
    fn with_and_without_a_temporary_name_it_is_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        commit_both_ways(&Destination::new(&path, false), b"whole");
        commit_both_ways(&Destination::new(&path, true), b"whole");
        assert_eq!(names(directory.path()), ["out"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_a_name_leaves_nothing_behind_when_the_program_is_killed() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = Destination::new(directory.path().join("out"), false).file().unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        if let Temporary::Unnamed(_) = file.file.get_ref() {
            assert_eq!(names(directory.path()), [""; 0]);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_cannot_get_a_name_is_copied() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        // A file that was deleted can have no name again.
        let mut file = tempfile::NamedTempFile::new_in(directory.path()).unwrap().into_file();
        file.write_all(b"whole").unwrap();
        Temporary::Unnamed(file).place(directory.path(), &path, false).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(directory.path()), ["out"]);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_never_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let link = directory.path().join("link");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for path in [&path, &link] {
            for force in [false, true] {
                let error = Destination::new(path, force).file().unwrap_err().to_string();
                let why = "is a socket and cannot be replaced by a file";
                assert_eq!(error, format!("{} {why}", path.display()));
                assert!(Destination::new(path, force).directory().is_err());
            }
        }
        let error = Destination::new("/dev/null", true).check().unwrap_err();
        assert_eq!(error.to_string(), "/dev/null is a device and cannot be replaced by a file");
        let error = Destination::new(directory.path(), true).file().unwrap_err();
        assert!(error.to_string().ends_with(" is a directory"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn what_appeared_meanwhile_and_is_no_file_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let file = Destination::new(&path, true).file().unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(file.commit().is_err());
        assert_eq!(names(directory.path()), ["out"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_replaced_and_what_it_points_to_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real"), directory.path().join("link"));
        fs::write(&real, b"old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mut file = Destination::new(&link, true).file().unwrap();
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert_eq!(
            (fs::read(&real).unwrap(), fs::read(&link).unwrap()),
            (b"old".into(), b"new".into())
        );
        assert!(fs::symlink_metadata(&link).unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn the_rights_of_the_old_file_are_kept_but_not_the_right_to_run_as_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        fs::write(&path, b"old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o6751)).unwrap();
        Destination::new(&path, true).file().unwrap().commit().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o751);
    }

    #[test]
    fn a_directory_that_cannot_be_replaced_is_put_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("part"), b"old").unwrap();
        let to = Destination::new(&path, true);
        let old = ReplacedTarget::take(&to).unwrap().unwrap();
        assert!(!path.exists());
        assert_eq!(old.put_back(), None);
        assert_eq!(fs::read(path.join("part")).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["db"]);
        // What was to take its place is gone.
        let error = put_in_place(&directory.path().join("gone"), &to).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
        assert_eq!(fs::read(path.join("part")).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["db"]);
    }

    /// Others wrote `second` after `first` was taken away, and `third` after that.
    #[test]
    fn what_cannot_be_put_back_is_kept_and_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let to = Destination::new(&path, true);
        let mut replaced = Vec::new();
        for text in ["first", "second"] {
            fs::create_dir(&path).unwrap();
            fs::write(path.join("part"), text).unwrap();
            replaced.push(ReplacedTarget::take(&to).unwrap().unwrap());
        }
        let kept = replaced[0].path();
        let error = give_back(replaced, Error::request("no room"));
        let expected = format!("no room; what was there before is kept as {}", kept.display());
        assert_eq!(error.to_string(), expected);
        assert_eq!(fs::read(kept.join("part")).unwrap(), b"first");
        assert_eq!(fs::read(path.join("part")).unwrap(), b"second");

        let second = ReplacedTarget::take(&to).unwrap().unwrap();
        let kept = second.path();
        fs::create_dir(&path).unwrap();
        let error = give_back(vec![second], Error::request("no room")).to_string();
        assert!(error.ends_with(&kept.display().to_string()), "{error}");
        assert_eq!(fs::read(kept.join("part")).unwrap(), b"second");
        assert_eq!(names(&path), [""; 0]);
    }

    #[test]
    fn of_several_that_replace_one_directory_at_once_each_succeeds_and_one_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let replace = |writer: usize| {
            for round in 0..50 {
                let made = Destination::new(&path, true).directory().unwrap();
                for part in ["a", "b"] {
                    fs::write(made.path().join(part), format!("{writer} {round}")).unwrap();
                }
                made.commit().unwrap();
            }
        };
        std::thread::scope(|scope| {
            (0..4).for_each(|writer| drop(scope.spawn(move || replace(writer))));
        });
        assert_eq!(names(directory.path()), ["db"]);
        let part = |name: &str| fs::read_to_string(path.join(name)).unwrap();
        assert_eq!(part("a"), part("b"));
    }

    #[test]
    fn a_missing_parent_is_named() {
        let error = Destination::new("no/such/place/out", false).file().unwrap_err();
        assert_eq!(error.to_string(), "the directory no/such/place does not exist");
    }
}
