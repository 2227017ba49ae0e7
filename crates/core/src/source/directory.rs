//! A directory as a source, and the files within it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;

use super::map::{self, Mapping};
use super::stamp::ClosedFile;
use super::{Kind, Source};
use crate::bytes::Limits;
use crate::{Error, Result};

/// Files within a directory up to this size are read into memory: there can be thousands, and
/// reading a small one is faster than mapping it.
pub(super) const COPIED_BYTES_MAX: u64 = 64 << 10;

/// A directory and what was opened in it, shared by all clones of its source.
#[derive(Debug)]
pub(super) struct Directory {
    items_max: u64,
    files: Files,
}

#[derive(Debug)]
enum Files {
    /// There is nothing but these.
    InMemory(BTreeMap<PathBuf, Bytes>),
    /// Facts about the files that were opened. The list of files is not held: there can be very
    /// many.
    OnDisk(Mutex<BTreeMap<PathBuf, OpenedFile>>),
}

/// A file that was opened, as it was then.
#[derive(Debug)]
struct OpenedFile {
    file: ClosedFile,
    /// The mapping, as long as anybody looks at it.
    mapping: Weak<Mapping>,
    /// True if a page of a mapping was missing.
    torn: Arc<AtomicBool>,
}

impl OpenedFile {
    /// Fails when the file is not what it was.
    fn verify(&self) -> Result<()> {
        match self.mapping.upgrade() {
            Some(mapping) => mapping.verify()?,
            None => self.file.verify()?,
        }
        if self.torn.load(Ordering::Acquire) { Err(Error::Changed(map::TORN)) } else { Ok(()) }
    }
}

impl Directory {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { items_max: limits.items_max, files: Files::OnDisk(Mutex::default()) }
    }

    /// Fails when a file that was opened has changed since.
    pub(super) fn verify(&self) -> Result<()> {
        let Files::OnDisk(known) = &self.files else { return Ok(()) };
        locked(known).iter().try_for_each(|(name, known)| known.verify().map_err(changed_in(name)))
    }

    /// The names of all files that were opened, with the folders they are in.
    pub(super) fn opened(&self) -> Vec<PathBuf> {
        match &self.files {
            Files::InMemory(_) => Vec::new(),
            Files::OnDisk(known) => locked(known).keys().cloned().collect(),
        }
    }

    /// A file that is mapped already, and its size when it was opened first.
    fn mapped(&self, within: &Path) -> Option<(Arc<Mapping>, u64)> {
        let Files::OnDisk(known) = &self.files else { return None };
        let known = locked(known);
        let known = known.get(within)?;
        Some((known.mapping.upgrade()?, known.file.opened.size_bytes()))
    }

    /// Takes note of a file, or cuts it to what it was when it was opened first.
    fn note(&self, within: &Path, source: Source) -> Result<Source> {
        let (Files::OnDisk(known), Some(opened)) = (&self.files, source.kind.opened()) else {
            return Ok(source);
        };
        let (mapping, torn) = match &source.kind {
            Kind::File { mapping, .. } => (Arc::downgrade(mapping), mapping.torn()),
            _ => <_>::default(),
        };
        match locked(known).entry(within.to_path_buf()) {
            Entry::Vacant(free) => {
                let file = ClosedFile { path: source.path.clone(), opened };
                free.insert(OpenedFile { file, mapping, torn });
                Ok(source)
            }
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                let first = known.file.opened;
                first.verify_stamp(opened).map_err(changed_in(within))?;
                if known.torn.load(Ordering::Acquire) {
                    return Err(changed_in(within)(Error::Changed(map::TORN)));
                }
                // Of two that map the same file at once, both get the one that came first.
                if let Some(mapping) = known.mapping.upgrade() {
                    let mapped = Source::new(source.path, Kind::from_mapping(mapping));
                    return Ok(mapped.cut(first.size_bytes()));
                }
                (known.mapping, known.torn) = (mapping, torn);
                Ok(source.cut(first.size_bytes()))
            }
        }
    }
}

/// Locks a list, also after a panic elsewhere: the list stays right.
fn locked<T>(listed: &Mutex<T>) -> MutexGuard<'_, T> {
    listed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error with the file it is about.
fn changed_in(file: &Path) -> impl Fn(Error) -> Error {
    move |error| match error {
        Error::Changed(how) => Error::ChangedIn { file: file.to_path_buf(), how },
        error => error,
    }
}

/// The names right below a directory of that name, among the names of files.
fn child_names<'a>(
    files: impl Iterator<Item = &'a PathBuf>,
    within: Option<&Path>,
) -> Vec<PathBuf> {
    let below = |name: &'a PathBuf| {
        let rest = within.map_or(Ok(name.as_path()), |within| name.strip_prefix(within)).ok()?;
        rest.components().next().map(|part| PathBuf::from(part.as_os_str()))
    };
    let mut names: Vec<_> = files.filter_map(below).collect();
    names.dedup();
    names
}

impl Source {
    /// Files in memory as a directory of a name, for tests.
    pub fn from_files<N: Into<PathBuf>>(
        name: impl Into<PathBuf>,
        files: impl IntoIterator<Item = (N, Bytes)>,
    ) -> Self {
        let files = files.into_iter().map(|(name, bytes)| (name.into(), bytes)).collect();
        let directory = Directory { items_max: u64::MAX, files: Files::InMemory(files) };
        Self::new(name.into(), Kind::Directory(Arc::new(directory)))
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
        if let Files::InMemory(files) = &directory.files {
            return Ok(child_names(files.keys(), self.within.as_deref()));
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
    /// [`verify`](Self::verify) of the directory checks every file that was opened through it. None
    /// is held: what the caller lets go is opened again when it is asked for again. The same name
    /// gives the same bytes each time, or an error when they changed. Links are followed.
    ///
    /// # Errors
    /// When this is no directory, when the name leads out of it, when it is a device or a pipe, or
    /// when a file is not what it was when it was opened before.
    pub fn child(&self, name: &Path, limits: &Limits) -> Result<Option<Self>> {
        let directory = self.directory()?;
        let is_below = |part: Component<'_>| matches!(part, Component::Normal(_));
        if name.as_os_str().is_empty() || !name.components().all(is_below) {
            return Err(Error::Request(format!("{} is no name within it", name.display())));
        }
        // Parts only, so that one file has one name.
        let name: PathBuf = name.components().collect();
        let within = self.within.as_ref().map_or_else(|| name.clone(), |above| above.join(&name));
        let path = self.path.join(&name);
        let below =
            |kind: Kind| Self { within: Some(within.clone()), ..Self::new(path.clone(), kind) };
        if let Files::InMemory(files) = &directory.files {
            let is_directory = || files.keys().any(|known| known.starts_with(&within));
            let kind = match files.get(&within) {
                Some(bytes) => Some(Kind::Memory(bytes.clone())),
                None => is_directory().then(|| self.kind.clone()),
            };
            return Ok(kind.map(below));
        }
        if let Some((mapping, size_bytes)) = directory.mapped(&within) {
            return Ok(Some(below(Kind::from_mapping(mapping)).cut(size_bytes)));
        }
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(Error::Io { action: "open a file within it", error }),
        };
        if metadata.is_dir() {
            return Ok(Some(below(self.kind.clone())));
        }
        // Before it is opened: that could wait for the other end of a pipe.
        if !metadata.is_file() {
            return Err(Error::Request(format!("{} is no regular file", within.display())));
        }
        let file = File::open(&path).map_err(Error::io("open a file within it"))?;
        let source = if metadata.len() <= COPIED_BYTES_MAX.min(limits.value_bytes_max) {
            Self::copied(path.clone(), file, limits)?
        } else {
            Self::from_file(path.clone(), file, true, limits)?
        };
        let source = directory.note(&within, source)?;
        Ok(Some(Self { within: Some(within), ..source }))
    }

    /// The name within the directory that it was opened through; nothing for what was opened by
    /// itself.
    #[must_use]
    pub fn relative_name(&self) -> Option<&Path> {
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
        assert_eq!(source.relative_name(), None);
        for (name, bytes) in [("small", &b"small"[..]), ("below/part", b"part")] {
            let file = child(&source, name);
            assert_eq!(file.bytes().unwrap(), bytes);
            assert_eq!(file.relative_name(), Some(Path::new(name)));
            assert_eq!(file.path(), directory.path().join(name));
        }
        let part = child(&child(&source, "below"), "part");
        assert_eq!(part.relative_name(), Some(Path::new("below/part")));
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
        assert_eq!(child(&source, "b/c").relative_name(), Some(Path::new("b/c")));
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
        assert_eq!(small.bytes().unwrap(), &b"small"[..]);
        fs::remove_file(&path).unwrap();
        source.verify().unwrap();
    }

    #[test]
    fn a_file_that_is_opened_again_is_what_it_was_or_refused() {
        for (name, size) in [("small", 5), ("large", 100_000)] {
            let (directory, source) = sample();
            let path = directory.path().join(name);
            let first = child(&source, name).bytes().unwrap();
            let mut more = first.to_vec();
            more.extend([9; 100]);
            let before = first.clone();
            drop(first);
            change(&path, &more);
            // What it grew by was not there.
            let again = child(&source, name);
            assert_eq!((again.bytes().unwrap(), again.size_bytes()), (before, size));
            source.verify().unwrap();
            drop(again);
            fs::write(&path, b"s").unwrap();
            let error = source.child(Path::new(name), &Limits::default()).unwrap_err();
            assert!(matches!(error, Error::ChangedIn { how: "shrank", .. }), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_whose_pages_were_missing_is_not_trusted_after_it_was_let_go() {
        let (directory, source) = sample();
        let path = directory.path().join("large");
        let bytes = child(&source, "large").bytes().unwrap();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(10).unwrap();
        assert_eq!(bytes.iter().map(|byte| u64::from(*byte)).max(), Some(7));
        drop(bytes);
        // Nothing else tells that it was ever cut.
        file.set_len(100_000).unwrap();
        file.set_modified(modified).unwrap();
        let error = source.verify().unwrap_err();
        assert!(matches!(error, Error::ChangedIn { .. }), "{error}");
        assert!(source.child(Path::new("large"), &Limits::default()).is_err());
    }

    #[test]
    fn files_that_were_let_go_are_held_no_longer() {
        let (_directory, source) = sample();
        let large = child(&source, "large");
        let both = child(&source, "large");
        let mapping = |source: &Source| match &source.kind {
            Kind::File { mapping, .. } => Arc::downgrade(mapping),
            kind => panic!("{kind:?}"),
        };
        let (one, two) = (mapping(&large), mapping(&both));
        assert!(Weak::ptr_eq(&one, &two));
        drop((large, both));
        assert_eq!(one.strong_count(), 0);
    }
}
