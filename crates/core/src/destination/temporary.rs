//! A file that is being written and has no name yet, or only a hidden one.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// A file beside the target.
///
/// Where the system can, it has no name at all, so that it is gone when the program is killed.
#[derive(Debug)]
pub(super) enum Temporary {
    #[cfg(target_os = "linux")]
    Unnamed(File),
    Named(NamedTempFile),
}

/// A hidden name beside the target that tells whose it is, should it be left by a kill.
pub(super) fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".kymo-").suffix(".tmp");
    builder
}

impl Temporary {
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = unnamed::create(directory) {
            return Ok(Self::Unnamed(file));
        }
        Self::named(directory)
    }

    /// Creates a file with a name, for directories where a file cannot be without one, or cannot
    /// get one later.
    pub(super) fn named(directory: &Path) -> io::Result<Self> {
        builder().tempfile_in(directory).map(Self::Named)
    }

    pub(super) fn as_file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => file,
            Self::Named(file) => file.as_file(),
        }
    }

    /// Gives the file its name, in the directory it was made in. Without `force` the name must
    /// be free.
    pub(super) fn place(self, directory: &Path, target: &Path, force: bool) -> io::Result<()> {
        let file = match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => match unnamed::place(file, directory, target, force)? {
                None => return Ok(()),
                Some(file) => unnamed::copy(file, directory)?,
            },
            Self::Named(file) => file,
        };
        let named = if force { file.persist(target) } else { file.persist_noclobber(target) };
        named.map(drop).map_err(|error| error.error)
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.as_file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.as_file().flush()
    }
}

impl Seek for Temporary {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.as_file().seek(position)
    }
}

#[cfg(target_os = "linux")]
mod unnamed {
    use std::fs::{self, File};
    use std::io::{self, Seek};
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat};
    use tempfile::NamedTempFile;

    /// A file without a name, or nothing where the system or the file system knows no such.
    pub(super) fn create(directory: &Path) -> Option<File> {
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        let file = rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR).ok()?;
        let file = File::from(file);
        // It gets its name through /proc, which may not be there.
        fs::symlink_metadata(descriptor_path(&file)).is_ok().then_some(file)
    }

    fn descriptor_path(file: &File) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }

    /// Gives the file its name, or hands it back where it cannot get one.
    pub(super) fn place(
        file: File,
        directory: &Path,
        target: &Path,
        force: bool,
    ) -> io::Result<Option<File>> {
        let link = |name: &Path| {
            let linked = linkat(CWD, descriptor_path(&file), CWD, name, AtFlags::SYMLINK_FOLLOW);
            linked.map_err(io::Error::from)
        };
        match link(target) {
            Ok(()) => Ok(None),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Ok(Some(file)),
            Err(error) if !force => Err(error),
            // A link cannot replace a file, but a rename can.
            Err(_) => {
                let hidden = super::builder().make_in(directory, link)?;
                hidden.persist(target).map_err(|error| error.error)?;
                Ok(None)
            }
        }
    }

    /// The same file again, with a hidden name.
    pub(super) fn copy(mut file: File, directory: &Path) -> io::Result<NamedTempFile> {
        let mut copy = super::builder().tempfile_in(directory)?;
        file.rewind()?;
        io::copy(&mut file, copy.as_file_mut())?;
        copy.as_file().set_permissions(file.metadata()?.permissions())?;
        copy.as_file().sync_all()?;
        Ok(copy)
    }
}
