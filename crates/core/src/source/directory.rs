//! A directory as a source, and the files within it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::{Kind, Source};
use crate::bytes::Limits;
use crate::{Error, Result};

/// Files within a directory up to this size are read into memory: there can be thousands, and
/// each that is mapped stays open.
pub(super) const COPIED_BYTES_MAX: u64 = 64 << 10;

/// A directory and what was opened in it, shared by all clones of its source.
#[derive(Debug)]
pub(super) struct Directory {
    items_max: u64,
    /// Whether there is nothing but what is opened.
    is_in_memory: bool,
    opened: Mutex<BTreeMap<PathBuf, Source>>,
}

impl Directory {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { items_max: limits.items_max, is_in_memory: false, opened: Mutex::default() }
    }

    /// The names in a directory in memory, by the directory's own name within it.
    fn names(&self, within: Option<&Path>) -> Vec<PathBuf> {
        let below = |name: &PathBuf| {
            let rest =
                within.map_or(Ok(name.as_path()), |within| name.strip_prefix(within)).ok()?;
            rest.components().next().map(|part| PathBuf::from(part.as_os_str()))
        };
        let mut names: Vec<_> = self.opened().keys().filter_map(below).collect();
        names.dedup();
        names
    }

    fn opened(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Source>> {
        // What is listed stays right whoever panicked meanwhile.
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails when a file that was opened has changed since.
    pub(super) fn verify(&self) -> Result<()> {
        for (file, source) in self.opened().iter() {
            source.verify().map_err(|error| match error {
                Error::Changed(how) => Error::ChangedIn { file: file.clone(), how },
                error => error,
            })?;
        }
        Ok(())
    }
}

impl Source {
    /// Files in memory as a directory of a name, for tests.
    pub fn from_files<N: Into<PathBuf>>(
        name: impl Into<PathBuf>,
        files: impl IntoIterator<Item = (N, Bytes)>,
    ) -> Self {
        let path = name.into();
        let files = files.into_iter().map(|(name, bytes)| {
            let name = name.into();
            let file = Self::from_bytes(path.join(&name), bytes);
            (name.clone(), Self { within: Some(name), ..file })
        });
        let opened = Mutex::new(files.collect());
        let directory = Directory { items_max: u64::MAX, is_in_memory: true, opened };
        Self::new(path, Kind::Directory(Arc::new(directory)))
    }

    /// The names of all that is in a directory, sorted.
    ///
    /// What is neither a file nor a directory is among them: [`child`](Self::child) says so of a
    /// device or a pipe, and finds nothing behind a link that leads nowhere.
    ///
    /// # Errors
    /// When it is no directory, or has more entries than the limits it was opened under allow.
    pub fn entries(&self) -> Result<Vec<PathBuf>> {
        let directory = self.directory()?;
        if directory.is_in_memory {
            return Ok(directory.names(self.within.as_deref()));
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(Error::io("list it"))? {
            let entry = entry.map_err(Error::io("list it"))?;
            if names.len() as u64 >= directory.items_max {
                let limit = directory.items_max;
                return Err(Error::Request(format!("the directory has more than {limit} entries")));
            }
            names.push(PathBuf::from(entry.file_name()));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Opens a file or directory within a directory; nothing when it is not there, or is a link
    /// that leads nowhere.
    ///
    /// [`verify`](Self::verify) of the directory checks every file that was opened through it.
    /// The same name gives the same file each time. Links are followed.
    ///
    /// # Errors
    /// When this is no directory, when the name leads out of it, or when it is a device or a pipe.
    pub fn child(&self, name: &Path, limits: &Limits) -> Result<Option<Self>> {
        let directory = self.directory()?;
        let is_below = |part: Component<'_>| matches!(part, Component::Normal(_));
        if name.as_os_str().is_empty() || !name.components().all(is_below) {
            return Err(Error::Request(format!("{} is no name within it", name.display())));
        }
        // Parts only, so that one file has one name.
        let name: PathBuf = name.components().collect();
        let within = self.within.as_ref().map_or_else(|| name.clone(), |above| above.join(&name));
        let opened = directory.opened();
        if let Some(source) = opened.get(&within) {
            return Ok(Some(source.clone()));
        }
        let path = self.path.join(&name);
        if directory.is_in_memory {
            let is_directory = opened.keys().any(|known| known.starts_with(&within));
            let (within, kind) = (Some(within), self.kind.clone());
            let below = || Self { path, within, kind, grammar: None };
            return Ok(is_directory.then(below));
        }
        // Others may open theirs meanwhile.
        drop(opened);
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(Error::Io { action: "open a file within it", error }),
        };
        if metadata.is_dir() {
            let kind = self.kind.clone();
            return Ok(Some(Self { path, within: Some(within), kind, grammar: None }));
        }
        // Before it is opened: that could wait for the other end of a pipe.
        if !metadata.is_file() {
            return Err(Error::Request(format!("{} is no regular file", within.display())));
        }
        let file = File::open(&path).map_err(Error::io("open a file within it"))?;
        let mut source = if metadata.len() <= COPIED_BYTES_MAX.min(limits.value_bytes_max) {
            Self::copied(path, file, limits)?
        } else {
            Self::of_file(path, file, true, limits)?
        };
        source.within = Some(within.clone());
        // Of two that opened the same file at once, both get the one that came first.
        Ok(Some(directory.opened().entry(within).or_insert(source).clone()))
    }

    /// The name within the directory that it was opened through; nothing for what was opened by
    /// itself.
    #[must_use]
    pub fn name_within(&self) -> Option<&Path> {
        self.within.as_deref()
    }

    fn directory(&self) -> Result<&Directory> {
        match &self.kind {
            Kind::Directory(directory) => Ok(directory),
            _ => Err(Error::request("it is a file, and this format is a directory")),
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    /// A directory with a small file, a large one, and one in a directory below.
    fn sample() -> (tempfile::TempDir, Source) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        fs::write(path.join("small"), b"small").unwrap();
        fs::write(path.join("large"), vec![7; 100_000]).unwrap();
        fs::create_dir(path.join("below")).unwrap();
        fs::write(path.join("below/part"), b"part").unwrap();
        let source = Source::open(path, &Limits::default()).unwrap();
        (directory, source)
    }

    fn child(source: &Source, name: &str) -> Source {
        source.child(Path::new(name), &Limits::default()).unwrap().unwrap()
    }

    fn change(path: &Path, bytes: &[u8]) {
        fs::write(path, bytes).unwrap();
        let later = SystemTime::now() + Duration::from_secs(5);
        File::options().write(true).open(path).unwrap().set_modified(later).unwrap();
    }

    #[test]
    fn names_are_sorted_and_bounded() {
        let (directory, source) = sample();
        let names = ["below", "large", "small"].map(PathBuf::from);
        assert_eq!(source.entries().unwrap(), names);
        assert_eq!(child(&source, "below").entries().unwrap(), [PathBuf::from("part")]);
        let limits = Limits { items_max: 2, ..Limits::default() };
        let error = Source::open(directory.path(), &limits).unwrap().entries().unwrap_err();
        assert_eq!(error.to_string(), "the directory has more than 2 entries");
        assert!(Source::from_bytes("file", Vec::new()).entries().is_err());
    }

    #[test]
    fn files_within_know_their_name_and_bytes() {
        let (directory, source) = sample();
        assert_eq!(source.name_within(), None);
        for (name, bytes) in [("small", &b"small"[..]), ("below/part", b"part")] {
            let file = child(&source, name);
            assert_eq!(file.bytes().unwrap(), bytes);
            assert_eq!(file.name_within(), Some(Path::new(name)));
            assert_eq!(file.path(), directory.path().join(name));
        }
        let part = child(&child(&source, "below"), "part");
        assert_eq!(part.name_within(), Some(Path::new("below/part")));
        assert_eq!(child(&source, "large").size_bytes(), 100_000);
        for absent in ["other", "small/other", "below/other"] {
            let found = source.child(Path::new(absent), &Limits::default()).unwrap();
            assert!(found.is_none(), "{absent}");
        }
    }

    #[test]
    fn files_in_memory_are_a_directory() {
        let files = [("b/c", &b"c"[..]), ("a", b"a"), ("b/d", b"")];
        let files = files.map(|(name, bytes)| (name, Bytes::from_static(bytes)));
        let source = Source::from_files("here", files);
        assert!(source.is_directory());
        assert_eq!(source.entries().unwrap(), ["a", "b"].map(PathBuf::from));
        let below = child(&source, "b");
        assert_eq!(below.entries().unwrap(), ["c", "d"].map(PathBuf::from));
        assert_eq!(child(&below, "c").bytes().unwrap(), &b"c"[..]);
        assert_eq!(child(&source, "b/c").name_within(), Some(Path::new("b/c")));
        assert!(source.child(Path::new("e"), &Limits::default()).unwrap().is_none());
        source.verify().unwrap();
    }

    #[test]
    fn a_name_cannot_lead_out_of_the_directory() {
        let (_directory, source) = sample();
        for name in ["../etc", "/etc/passwd", "below/../../x", "", ".", "./small"] {
            assert!(source.child(Path::new(name), &Limits::default()).is_err(), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_listed_and_not_opened() {
        use std::os::unix::fs::symlink;
        let (directory, source) = sample();
        let socket = directory.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
        let error = source.child(Path::new("socket"), &Limits::default()).unwrap_err();
        assert_eq!(error.to_string(), "socket is no regular file");
        symlink("nowhere", directory.path().join("dangling")).unwrap();
        symlink("round", directory.path().join("round")).unwrap();
        let names = ["below", "dangling", "large", "round", "small", "socket"].map(PathBuf::from);
        assert_eq!(source.entries().unwrap(), names);
        let child = |name| source.child(Path::new(name), &Limits::default());
        assert!(child("dangling").unwrap().is_none());
        assert!(matches!(child("round").unwrap_err(), Error::Io { .. }));
    }

    #[test]
    fn a_change_to_any_file_that_was_opened_is_noticed() {
        let large = vec![8; 100_000];
        let cases = [("small", &b"SMALL"[..]), ("large", &large), ("below/part", b"PART")];
        for (name, bytes) in cases {
            let (directory, source) = sample();
            change(&directory.path().join(name), bytes);
            source.verify().unwrap();
            drop(child(&child(&source, "below"), "part"));
            drop(child(&source, "small"));
            drop(child(&source.clone(), "large"));
            source.verify().unwrap();
            let path = directory.path().join(name);
            let later = SystemTime::now() + Duration::from_secs(50);
            File::options().write(true).open(path).unwrap().set_modified(later).unwrap();
            let error = source.verify().unwrap_err().to_string();
            let how = "was written to while it was being read";
            let expected =
                format!("{name}: the file {how}; what was read from it cannot be trusted");
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn a_file_within_that_shrank_is_noticed_and_one_that_grew_or_is_gone_is_fine() {
        let (directory, source) = sample();
        let small = child(&source, "small");
        let path = directory.path().join("small");
        change(&path, b"small and more");
        source.verify().unwrap();
        change(&path, b"s");
        assert!(matches!(source.verify().unwrap_err(), Error::ChangedIn { how: "shrank", .. }));
        assert!(matches!(small.verify().unwrap_err(), Error::Changed("shrank")));
        assert_eq!(child(&source, "small").bytes().unwrap(), &b"small"[..]);
        fs::remove_file(&path).unwrap();
        source.verify().unwrap();
    }
}
