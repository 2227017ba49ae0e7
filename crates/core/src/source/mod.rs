//! Origin of bytes: a mapped file, bytes in memory, standard input, or a directory.

mod directory;
mod map;
mod protect;
mod recording;
mod stamp;
mod window;

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::bytes::{Limits, ReadErrorKind};
use crate::{Error, Probe, Result};
use directory::Directory;
use map::Mapping;
use recording::Whole;
use stamp::{ClosedFile, Stamp};

pub use protect::refuse_overlap;
pub use window::Window;

/// Piped input up to this size stays in memory; more goes to an unnamed temporary file.
const SPOOL_BYTES: usize = 64 << 20;

/// Source that a format opens. Cheap to clone.
///
/// A file is mapped, so only the pages that are looked at are read. Should it shrink meanwhile,
/// the missing pages read as zeros and [`verify`](Self::verify) fails; nothing crashes.
#[derive(Debug, Clone)]
pub struct Source {
    path: PathBuf,
    /// The name within the directory that it was opened through.
    within: Option<PathBuf>,
    kind: Kind,
    /// Grammar that tells how to read the source, as given by the caller.
    grammar: Option<Arc<Source>>,
    /// True for the folder of a file that was named: not all that lies in it is an input.
    is_folder: bool,
    /// Other sources that were opened to read this one.
    companions: Arc<Mutex<Vec<Source>>>,
    /// Whether the folder of this file is a recording that it is a part of.
    whole: Whole,
}

#[derive(Debug, Clone)]
enum Kind {
    File {
        bytes: Bytes,
        mapping: Arc<Mapping>,
    },
    Copied {
        bytes: Bytes,
        from: Arc<ClosedFile>,
    },
    /// Read from what cannot be mapped: standard input, a pipe, a file that a kernel makes up. What
    /// it was like is known where the system says so.
    Spooled {
        bytes: Bytes,
        from: Option<Arc<ClosedFile>>,
    },
    /// Came from the caller, under a name that is no path.
    Memory(Bytes),
    Directory(Arc<Directory>),
}

impl Source {
    /// Opens a file or a directory; `-` is standard input.
    pub fn open(path: &Path, limits: &Limits) -> Result<Self> {
        if path == Path::new("-") {
            return Self::stdin(limits);
        }
        let metadata = fs::metadata(path).map_err(Error::io("open it"))?;
        if metadata.is_dir() {
            let kind = Kind::Directory(Arc::new(Directory::new(limits)));
            return Ok(Self::new(path.to_path_buf(), kind));
        }
        let file = File::open(path).map_err(Error::io("open it"))?;
        Self::from_file(path.to_path_buf(), file, true, limits)
    }

    /// Opens what only some files of may be read, as a directory that is searched: of what lies in it,
    /// only what is opened is protected.
    pub fn open_searched(path: &Path, limits: &Limits) -> Result<Self> {
        Ok(Self { is_folder: true, ..Self::open(path, limits)? })
    }

    /// Bytes in memory under a name, for tests and for callers that have them already.
    pub fn from_bytes(name: impl Into<PathBuf>, bytes: impl Into<Bytes>) -> Self {
        Self::new(name.into(), Kind::Memory(bytes.into()))
    }

    fn new(path: PathBuf, kind: Kind) -> Self {
        Self {
            path,
            within: None,
            kind,
            grammar: None,
            is_folder: false,
            companions: Arc::default(),
            whole: Whole::default(),
        }
    }

    /// Standard input, mapped where it is a file, and read to its end otherwise.
    fn stdin(limits: &Limits) -> Result<Self> {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            let descriptor = io::stdin().as_fd().try_clone_to_owned();
            let file = File::from(descriptor.map_err(Error::io("read standard input"))?);
            Self::from_file(PathBuf::from("-"), file, false, limits)
        }
        #[cfg(not(unix))]
        Self::spool(PathBuf::from("-"), io::stdin().lock(), None, limits)
    }

    /// `is_at_path` tells whether the file could be opened again.
    fn from_file(path: PathBuf, file: File, is_at_path: bool, limits: &Limits) -> Result<Self> {
        let metadata = file.metadata().map_err(Error::io("open it"))?;
        if !metadata.is_file() {
            return Self::spool(path, file, None, limits);
        }
        // What a kernel makes up (`/proc`, `/sys/kernel/tracing`) says that it is empty, and is not.
        if metadata.len() == 0 && is_at_path {
            // It says no more when it changes.
            let source = Self::spool(path.clone(), &file, None, limits)?;
            if source.size_bytes() > 0 {
                return Ok(source);
            }
        }
        let again = is_at_path.then_some(path.as_path());
        match Mapping::new(file, again) {
            Ok(Ok(mapping)) => Ok(Self::new(path, Kind::from_mapping(Arc::new(mapping)))),
            Ok(Err(file)) => Self::copied(path, file, limits),
            // Some of them say how large they might be (`/sys`).
            Err(error) if is_at_path && is_unmappable(&error) => {
                let file = File::open(&path).map_err(Error::io("open it"))?;
                let opened = Stamp::from_metadata(&metadata);
                let from = Arc::new(ClosedFile { path: path.clone(), opened });
                Self::spool(path, file, Some(from), limits)
            }
            Err(error) => Err(Error::io("map it")(error)),
        }
    }

    /// Reads a file into memory, and remembers how it was.
    fn copied(path: PathBuf, file: File, limits: &Limits) -> Result<Self> {
        let limit = limits.value_bytes_max;
        let opened = Stamp::from_metadata(&file.metadata().map_err(Error::io("open it"))?);
        // Room for it and for finding its end, so that it is read at once.
        let room = opened.size_bytes().min(directory::COPIED_BYTES_MAX) + 1;
        let mut bytes = Vec::with_capacity(usize::try_from(room).unwrap_or(0));
        let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(Error::io("read it"))?;
        if bytes.len() as u64 > limit {
            let name = path.display();
            let why = "no more files can be mapped, and what is read into memory instead must not";
            return Err(Error::Request(format!("{why} have more than {limit} bytes: {name} has")));
        }
        let bytes = Bytes::from(bytes);
        if path == Path::new("-") {
            // There is no way back to what standard input was.
            return Ok(Self::new(path, Kind::Spooled { bytes, from: None }));
        }
        let from = Arc::new(ClosedFile { path: path.clone(), opened });
        Ok(Self::new(path, Kind::Copied { bytes, from }))
    }

    /// The same without what is behind a size.
    fn cut(mut self, size_bytes: u64) -> Self {
        if let Kind::File { bytes, .. } | Kind::Copied { bytes, .. } | Kind::Spooled { bytes, .. } =
            &mut self.kind
        {
            bytes.truncate(usize::try_from(size_bytes).unwrap_or(usize::MAX));
        }
        self
    }

    /// Reads a pipe to its end: into memory while it is small, then into a temporary file.
    fn spool(
        path: PathBuf,
        pipe: impl Read,
        from: Option<Arc<ClosedFile>>,
        limits: &Limits,
    ) -> Result<Self> {
        let limit = limits.stdin_bytes_max;
        let mut spool = tempfile::spooled_tempfile(SPOOL_BYTES);
        let found = io::copy(&mut pipe.take(limit.saturating_add(1)), &mut spool)
            .map_err(Error::io("read it"))?;
        if found > limit {
            return Err(ReadErrorKind::OverLimit { found, limit }.error_at("input", limit).into());
        }
        spool.rewind().map_err(Error::io("read it"))?;
        let bytes = match spool.into_inner() {
            tempfile::SpooledData::InMemory(bytes) => Bytes::from(bytes.into_inner()),
            // Nobody else knows the file, so that it stays as it is.
            tempfile::SpooledData::OnDisk(file) => {
                Self::from_file(PathBuf::from("-"), file, false, limits)?.bytes()?
            }
        };
        Ok(Self::new(path, Kind::Spooled { bytes, from }))
    }

    /// The name as given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What sources are told apart by: their names without folder and extension, or their paths where
    /// those are not all different. Nothing where these are not either.
    #[must_use]
    pub fn labels(sources: &[Self]) -> Option<Vec<String>> {
        let stem = |source: &Self| {
            let stem = source.path.file_stem();
            stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
        };
        let path = |source: &Self| source.path.to_string_lossy().into_owned();
        let differ = |labels: &Vec<String>| {
            labels.iter().collect::<std::collections::HashSet<_>>().len() == labels.len()
        };
        let stems = sources.iter().map(stem).collect();
        [stems, sources.iter().map(path).collect()].into_iter().find(differ)
    }

    /// The same source, with another that tells how to read it: text does not say it itself.
    #[must_use]
    pub fn with_grammar(self, grammar: Self) -> Self {
        Self { grammar: Some(Arc::new(grammar)), ..self }
    }

    /// Returns the grammar that tells how to read the source, as given by the caller.
    #[must_use]
    pub fn grammar(&self) -> Option<&Self> {
        self.grammar.as_deref()
    }

    /// A regular file of another name in the folder of this one, where there is one.
    ///
    /// # Errors
    /// When it is there and cannot be opened.
    pub fn sibling(&self, name: impl AsRef<Path>, limits: &Limits) -> Result<Option<Self>> {
        let path = self.path.with_file_name(name.as_ref());
        if !self.is_file_at_path() || !path.is_file() {
            return Ok(None);
        }
        let beside = Self::open(&path, limits)?;
        self.add_companion(beside.clone());
        Ok(Some(beside))
    }

    /// The folder of a file, for formats whose files belong together; nothing where the bytes came
    /// from elsewhere. What is opened through it is watched and protected as the file itself is.
    ///
    /// # Errors
    /// When the folder cannot be opened.
    pub fn folder(&self, limits: &Limits) -> Result<Option<Self>> {
        if !self.is_file_at_path() {
            return Ok(None);
        }
        let folder = protect::folder_of(&self.path);
        let is_it = |known: &&Self| known.is_folder && known.path == folder;
        if let Some(known) = self.lock_companions().iter().find(is_it) {
            return Ok(Some(known.clone()));
        }
        let folder = Self::open_searched(folder, limits)?;
        self.add_companion(folder.clone());
        Ok(Some(folder))
    }

    /// Returns true when other files lie beside this one.
    fn is_file_at_path(&self) -> bool {
        match self.kind {
            _ if self.path == Path::new("-") => false,
            Kind::File { .. } | Kind::Copied { .. } => true,
            Kind::Spooled { .. } => self.path.is_file(),
            Kind::Memory(_) | Kind::Directory(_) => false,
        }
    }

    fn add_companion(&self, source: Self) {
        let mut beside = self.lock_companions();
        if !beside.iter().any(|known| known.path == source.path) {
            beside.push(source);
        }
    }

    /// The sources that this one was read with: its grammar, and files beside it.
    fn companions(&self) -> Vec<Self> {
        let mut all = self.lock_companions().clone();
        all.extend(self.grammar.as_deref().cloned());
        all
    }

    /// The list is whole whoever panicked meanwhile: one step adds to it.
    fn lock_companions(&self) -> MutexGuard<'_, Vec<Self>> {
        self.companions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if it is a directory.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        matches!(self.kind, Kind::Directory(_))
    }

    /// All bytes of a file. Cheap: pages are read when they are looked at.
    pub fn bytes(&self) -> Result<Bytes> {
        let why = "it is a directory, and this format is a single file";
        self.kind.bytes().cloned().ok_or_else(|| Error::request(why))
    }

    /// Looks at places of a file in ascending order; `all` is what [`bytes`](Self::bytes) gave.
    #[must_use]
    pub fn window<'a>(&'a self, all: &'a [u8]) -> Window<'a> {
        Window::new(self, all)
    }

    /// The size of a file; 0 for a directory.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.kind.bytes().map_or(0, |bytes| bytes.len() as u64)
    }

    /// Returns the part of the source that sniffing gets to see.
    #[must_use]
    pub fn probe(&self) -> Probe<'_> {
        let all = self.kind.bytes().map_or(&[][..], |bytes| bytes);
        Probe {
            head: all.get(..Probe::HEAD_BYTES).unwrap_or(all),
            size_bytes: self.size_bytes(),
            path: &self.path,
            is_directory: self.is_directory(),
            has_grammar: self.grammar.is_some(),
        }
    }

    /// Fails when the file shrank or was overwritten since it was opened, so that what was read
    /// from it cannot be trusted. A file that only grew is fine: recorders append. Of a directory
    /// every file is looked at that was opened through it.
    ///
    /// Call it after the last look at the bytes and before success is reported.
    pub fn verify(&self) -> Result<()> {
        self.companions().iter().try_for_each(Self::verify)?;
        match &self.kind {
            Kind::File { mapping, .. } => mapping.verify(),
            Kind::Copied { from, .. } | Kind::Spooled { from: Some(from), .. } => from.verify(),
            Kind::Spooled { from: None, .. } | Kind::Memory(_) => Ok(()),
            Kind::Directory(directory) => directory.verify(),
        }
    }
}

impl Kind {
    fn from_mapping(mapping: Arc<Mapping>) -> Self {
        let bytes = Bytes::from_owner(MappedBytes(Arc::clone(&mapping)));
        Self::File { bytes, mapping }
    }

    /// Returns the state of the file at the time it was opened.
    fn opened(&self) -> Option<Stamp> {
        match self {
            Self::File { mapping, .. } => Some(mapping.opened()),
            Self::Copied { from, .. } | Self::Spooled { from: Some(from), .. } => Some(from.opened),
            Self::Spooled { from: None, .. } | Self::Memory(_) | Self::Directory(_) => None,
        }
    }

    fn bytes(&self) -> Option<&Bytes> {
        match self {
            Self::File { bytes, .. }
            | Self::Copied { bytes, .. }
            | Self::Spooled { bytes, .. }
            | Self::Memory(bytes) => Some(bytes),
            Self::Directory(_) => None,
        }
    }
}

/// Returns true if a file cannot be mapped because of what it is.
fn is_unmappable(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        error.raw_os_error() == Some(libc::ENODEV)
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// Lets the bytes of a mapping be shared without copying.
struct MappedBytes(Arc<Mapping>);

impl AsRef<[u8]> for MappedBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file_of(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn open(path: &Path) -> Source {
        Source::open(path, &Limits::default()).unwrap()
    }

    #[test]
    fn a_file_is_read_as_it_is() {
        let file = file_of(b"recorded");
        let source = open(file.path());
        assert_eq!(source.bytes().unwrap(), &b"recorded"[..]);
        assert_eq!(source.size_bytes(), 8);
        source.verify().unwrap();
    }

    #[test]
    fn what_lies_beside_a_file_is_found_and_what_is_in_memory_has_nothing_beside() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("run.log");
        for name in ["run.log", "run.log.toml"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let (source, limits) = (open(&log), Limits::default());
        let beside = source.sibling("run.log.toml", &limits).unwrap().unwrap();
        assert_eq!(beside.bytes().unwrap(), &b"run.log.toml"[..]);
        assert!(source.sibling("log.toml", &limits).unwrap().is_none());
        assert!(source.probe().has_sibling("run.log.toml") && !source.probe().has_grammar);
        assert!(source.with_grammar(beside).probe().has_grammar);
        let memory = Source::from_bytes(log, Vec::new());
        assert!(memory.sibling("run.log.toml", &limits).unwrap().is_none());
    }

    /// They say that they have no bytes, or as many as they might have, and cannot be mapped.
    #[cfg(target_os = "linux")]
    #[test]
    fn files_that_the_kernel_makes_up_are_read_within_limits() {
        for (name, begin) in [("/proc/version", "Linux version"), ("/sys/kernel/uevent_seqnum", "")]
        {
            let read = fs::read(name).unwrap();
            let source = open(Path::new(name));
            assert!(!read.is_empty() && read.starts_with(begin.as_bytes()), "{name}");
            assert_eq!(source.size_bytes(), read.len() as u64, "{name}");
            source.verify().unwrap();
        }
        let limits = Limits { stdin_bytes_max: 4, ..Limits::default() };
        let error = Source::open(Path::new("/proc/version"), &limits).unwrap_err();
        assert_eq!(error.to_string(), "input at byte 0x4: 5 is over the limit of 4");
    }

    #[test]
    fn an_empty_file_is_no_special_case() {
        let file = file_of(b"");
        assert_eq!(open(file.path()).bytes().unwrap().len(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_shrinks_while_it_is_read_gives_an_error_and_no_signal() {
        let file = file_of(&vec![7; 1 << 20]);
        let source = open(file.path());
        let bytes = source.bytes().unwrap();
        file.as_file().set_len(5000).unwrap();
        // Touches pages that are gone: without the guard this is a SIGBUS.
        let sum: u64 = bytes.iter().map(|&byte| u64::from(byte)).sum();
        assert!(sum < 7 << 20);
        let error = source.verify().unwrap_err();
        assert!(matches!(error, Error::Changed("shrank")), "{error}");
    }

    #[test]
    fn a_file_that_is_overwritten_while_it_is_read_gives_an_error() {
        let mut file = file_of(&[1; 4096]);
        let source = open(file.path());
        file.rewind().unwrap();
        file.write_all(&[2; 4096]).unwrap();
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
        file.as_file().set_modified(later).unwrap();
        assert!(matches!(source.verify().unwrap_err(), Error::Changed("was written to")));
    }

    #[test]
    fn a_file_that_grows_while_it_is_read_is_fine() {
        let mut file = file_of(&[1; 4096]);
        let source = open(file.path());
        file.write_all(&[2; 4096]).unwrap();
        source.verify().unwrap();
        assert_eq!(source.size_bytes(), 4096);
    }

    #[test]
    fn a_file_that_cannot_be_mapped_is_read_within_limits_and_watched() {
        let file = file_of(b"recorded");
        let copied = |limits: &Limits| {
            Source::copied(file.path().to_path_buf(), File::open(file.path()).unwrap(), limits)
        };
        let source = copied(&Limits::default()).unwrap();
        assert_eq!(source.bytes().unwrap(), &b"recorded"[..]);
        source.verify().unwrap();
        file.as_file().set_len(3).unwrap();
        assert!(matches!(source.verify().unwrap_err(), Error::Changed("shrank")));
        let limits = Limits { value_bytes_max: 2, ..Limits::default() };
        let error = copied(&limits).unwrap_err().to_string();
        let expected = format!("have more than 2 bytes: {} has", file.path().display());
        assert!(error.ends_with(&expected), "{error}");
    }

    #[test]
    fn a_pipe_is_read_to_its_end_and_not_beyond_the_limit() {
        let source = Source::spool("-".into(), &b"piped"[..], None, &Limits::default()).unwrap();
        assert_eq!(source.bytes().unwrap(), &b"piped"[..]);
        let limits = Limits { stdin_bytes_max: 4, ..Limits::default() };
        let error = Source::spool("-".into(), &b"piped"[..], None, &limits).unwrap_err();
        assert_eq!(error.to_string(), "input at byte 0x4: 5 is over the limit of 4");
    }

    #[test]
    fn a_directory_has_no_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let source = open(directory.path());
        assert!(source.is_directory());
        assert!(source.bytes().is_err());
    }

    #[test]
    fn sniffing_sees_the_head_only() {
        let source = Source::from_bytes("x.bp", vec![0; Probe::HEAD_BYTES + 1]);
        let probe = source.probe();
        assert_eq!(probe.head.len(), Probe::HEAD_BYTES);
        assert_eq!(probe.size_bytes, Probe::HEAD_BYTES as u64 + 1);
        assert!(probe.has_extension(&["BP"]));
    }
}
