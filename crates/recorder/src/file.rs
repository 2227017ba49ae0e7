//! Files that are recorded to, and the names of parts.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use kymo_rtc_wire::spec::{MARKER_BYTE, MARKER_HEADER};
use kymo_rtc_wire::write::Output;

/// A file that is written from front to end.
#[derive(Debug)]
pub(crate) struct Target {
    file: File,
    /// Bytes that it may still get.
    room: u64,
    /// Bytes that were there before.
    pub(crate) former_bytes: u64,
}

impl Target {
    pub(crate) fn create(path: &Path, room: u64) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(path)?;
        // What another records is not emptied.
        lock(&file)?;
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        Ok(Self { file, room, former_bytes: 0 })
    }

    pub(crate) fn append(path: &Path, room: u64) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        lock(&file)?;
        let former_bytes = file.metadata()?.len();
        Ok(Self { file, room: room.saturating_sub(former_bytes), former_bytes })
    }

    fn create_new(path: &Path, room: u64) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        lock(&file)?;
        Ok(Self { file, room, former_bytes: 0 })
    }

    /// Has the system bring everything to the disk. A pipe or terminal has none, which is fine.
    pub(crate) fn sync(&self) -> io::Result<()> {
        match self.file.sync_data() {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            result => result,
        }
    }
}

/// Has a file for oneself while it is recorded to, among recorders: readers are free. Elsewhere
/// than on Unix a lock would keep those away too.
fn lock(file: &File) -> io::Result<()> {
    if !cfg!(unix) || !file.metadata()?.is_file() {
        return Ok(());
    }
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::ResourceBusy, "it is being recorded to"))
        }
        // A file system without locks is as good as one that nobody else records to.
        _ => Ok(()),
    }
}

/// Returns true if a recorder has a file open at present, also of another program. What cannot be
/// asked has none.
pub fn is_recorded_to(path: impl AsRef<Path>) -> bool {
    // A pipe would wait for whoever is at its other end.
    let is_file = std::fs::metadata(path.as_ref()).is_ok_and(|found| found.is_file());
    is_file && File::open(path).is_ok_and(|file| lock(&file).is_err())
}

impl Output for Target {
    type Error = io::Error;

    /// Goes on after short writes, and repeats interrupted ones.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fits = usize::try_from(self.room).unwrap_or(usize::MAX).min(bytes.len());
        self.room -= fits as u64;
        if let Some(rest) = bytes.get(..fits).filter(|fit| fit.len() < bytes.len()) {
            self.file.write_all(rest)?;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.file.write_all(bytes)
    }
}

/// Names of the files of a recording that rotates.
#[derive(Debug)]
pub(crate) struct Parts {
    path: PathBuf,
    last: u64,
}

impl Parts {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), last: 0 }
    }

    /// The file that is recorded to at present.
    pub(crate) fn path(&self) -> PathBuf {
        if self.last == 0 { self.path.clone() } else { self.name(self.last) }
    }

    /// Opens the last part that exists, to add to it.
    pub(crate) fn append(&mut self, room: u64) -> io::Result<Target> {
        self.go_to_last()?;
        Target::append(&self.path(), room)
    }

    /// Goes to the last part that exists. What only has the name of one is left alone.
    fn go_to_last(&mut self) -> io::Result<()> {
        for number in self.numbers()?.into_iter().rev() {
            if begins_with_marker(&self.name(number))? {
                self.last = number;
                break;
            }
        }
        Ok(())
    }

    /// Makes the next part, under a number that no file has.
    pub(crate) fn next(&mut self, room: u64) -> io::Result<Target> {
        loop {
            self.last += 1;
            match Target::create_new(&self.name(self.last), room) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => return result,
            }
        }
    }

    /// The numbers of the further parts that exist.
    fn numbers(&self) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(folder(&self.path))? {
            let name = entry?.file_name();
            // The number stands last, or before the extension.
            let texts = Path::new(&name).file_stem().into_iter().chain([name.as_os_str()]);
            let number = texts.filter_map(|text| text.to_str()?.rsplit_once('.')?.1.parse().ok());
            let is_part = |number: &u64| self.name(*number).file_name() == Some(name.as_os_str());
            numbers.extend(number.filter(is_part));
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }

    /// `run.rtc` with a number: `run.7.rtc`.
    fn name(&self, number: u64) -> PathBuf {
        let mut name = OsString::from(self.path.file_stem().unwrap_or_default());
        name.push(format!(".{number}"));
        if let Some(extension) = self.path.extension() {
            name.push(".");
            name.push(extension);
        }
        self.path.with_file_name(name)
    }
}

/// Returns true if a file begins as a recording does.
fn begins_with_marker(path: &Path) -> io::Result<bool> {
    let mut bytes = Vec::new();
    File::open(path)?.take(2).read_to_end(&mut bytes)?;
    Ok(bytes == [MARKER_HEADER, MARKER_BYTE])
}

/// The folder that a file is in.
fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Has the system bring the name of a new file to the disk, where it is in a folder that may be
/// read and can be brought there: without it the file may be lost however often its bytes were.
pub(crate) fn sync_name(path: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(folder(path)).and_then(|folder| folder.sync_all()) {
        Err(error) if [InvalidInput, PermissionDenied, Unsupported].contains(&error.kind()) => {
            Ok(())
        }
        result => result,
    }
}

/// The further parts of a recording that rotated, as far as they exist, by their numbers.
pub fn parts_of(path: impl AsRef<Path>) -> io::Result<Vec<PathBuf>> {
    let parts = Parts::new(path.as_ref());
    Ok(parts.numbers()?.into_iter().map(|number| parts.name(number)).collect())
}

/// The part that a recording which rotated goes on in when it is added to: the last, or the file
/// itself where there are no others.
pub fn last_part_of(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let mut parts = Parts::new(path.as_ref());
    parts.go_to_last()?;
    Ok(parts.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_exist_are_found_by_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let name = |name: &str| folder.path().join(name);
        for file in ["run.rtc", "run.10.rtc", "run.2.rtc", "run.x.rtc", "other.3.rtc", "run.4"] {
            std::fs::write(name(file), b"").unwrap();
        }
        assert_eq!(parts_of(name("run.rtc")).unwrap(), [name("run.2.rtc"), name("run.10.rtc")]);
        assert_eq!(parts_of(name("run")).unwrap(), [name("run.4")]);
    }

    #[test]
    fn parts_are_numbered_before_the_extension() {
        assert_eq!(Parts::new(Path::new("a/run.rtc")).name(7), Path::new("a/run.7.rtc"));
        assert_eq!(Parts::new(Path::new("run")).name(1), Path::new("run.1"));
    }
}
