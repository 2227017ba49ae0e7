//! Files that are recorded to, and the names of parts.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use kymo_rtc_wire::write::Output;

/// A file that is written from front to end.
#[derive(Debug)]
pub(crate) struct Target {
    file: File,
    /// Bytes that it may still get.
    room: u64,
}

impl Target {
    pub(crate) fn create(path: &Path, room: u64) -> io::Result<Self> {
        Ok(Self { file: File::create(path)?, room })
    }

    pub(crate) fn append(path: &Path, room: u64) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        let room = room.saturating_sub(file.metadata()?.len());
        Ok(Self { file, room })
    }

    fn create_new(path: &Path, room: u64) -> io::Result<Self> {
        Ok(Self { file: OpenOptions::new().write(true).create_new(true).open(path)?, room })
    }

    /// Has the system bring everything to the disk. A pipe or terminal has none, which is fine.
    pub(crate) fn sync(&self) -> io::Result<()> {
        match self.file.sync_data() {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            result => result,
        }
    }
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

/// The further parts of a recording that rotated, as far as they exist, by their numbers.
pub fn parts_of(path: impl AsRef<Path>) -> io::Result<Vec<PathBuf>> {
    let parts = Parts::new(path.as_ref());
    let folder = path.as_ref().parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder.unwrap_or(Path::new(".")))? {
        let name = entry?.file_name();
        // The number stands last, or before the extension.
        let texts = Path::new(&name).file_stem().into_iter().chain([name.as_os_str()]);
        let number = texts.filter_map(|text| text.to_str()?.rsplit_once('.')?.1.parse().ok());
        let is_part = |number: &u64| parts.name(*number).file_name() == Some(name.as_os_str());
        numbers.extend(number.filter(is_part));
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers.into_iter().map(|number| parts.name(number)).collect())
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
