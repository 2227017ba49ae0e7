//! Bytes of a file by their places, without mapping it.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::{Error, Result};

/// A file that is read piece by piece, by several threads at once if need be. It takes no room in
/// memory, however large it is: for files of our own, which nobody else writes to.
#[derive(Debug)]
pub struct FileBytes {
    #[cfg(unix)]
    file: File,
    /// Elsewhere reading moves a position that all share.
    #[cfg(not(unix))]
    file: std::sync::Mutex<File>,
}

impl FileBytes {
    /// Opens a file.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("open what was written"))?;
        #[cfg(not(unix))]
        let file = std::sync::Mutex::new(file);
        Ok(Self { file })
    }

    /// Reads the bytes at a place: all that there is room for.
    ///
    /// # Errors
    /// When they are not there, or cannot be read.
    #[cfg(unix)]
    pub fn read(&self, offset: u64, to: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, to, offset)
    }

    /// Reads the bytes at a place: all that there is room for.
    ///
    /// # Errors
    /// When they are not there, or cannot be read.
    #[cfg(not(unix))]
    pub fn read(&self, offset: u64, to: &mut [u8]) -> io::Result<()> {
        use io::{Read, Seek};
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(io::SeekFrom::Start(offset))?;
        file.read_exact(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_by_their_places() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"0123456789").unwrap();
        let file = FileBytes::open(&path).unwrap();
        let mut found = [0; 4];
        file.read(6, &mut found).unwrap();
        assert_eq!(&found, b"6789");
        assert!(file.read(7, &mut found).is_err());
        assert!(FileBytes::open(&folder.path().join("other")).is_err());
    }
}
