//! Appending to a file so that a reader sees all of it or none.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use crate::{Error, Result};

/// New bytes at the end of a file, for formats in which a word of zeros ends the file.
///
/// Until [`commit`](Self::commit) that word stands where the new bytes begin, so a reader, or a
/// crash, finds the old file with something after its end.
#[derive(Debug)]
#[must_use = "without commit the file ends where it did"]
pub struct Tail {
    file: BufWriter<File>,
    start: u64,
    /// Length of the file before, and again after if nothing is committed.
    size_bytes: u64,
    /// The first bytes, which are written last.
    held: Vec<u8>,
    is_committed: bool,
}

/// Number of bytes that are written last.
const HELD_BYTES: usize = 4;

impl Tail {
    /// Appends to a file from a byte on: its end, or that of its last record.
    pub fn open(path: &Path, start: u64) -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.map_err(Error::io("append to it"))?;
        let size_bytes = file.metadata().map_err(Error::io("append to it"))?.len();
        let mut file = BufWriter::with_capacity(1 << 18, file);
        file.seek(SeekFrom::Start(start)).map_err(Error::io("append to it"))?;
        let held = Vec::with_capacity(HELD_BYTES);
        Ok(Self { file, start, size_bytes, held, is_committed: false })
    }

    /// Makes the new bytes part of the file.
    pub fn commit(mut self) -> Result<()> {
        self.write_and_sync().map_err(Error::io("append to it"))
    }

    fn write_and_sync(&mut self) -> io::Result<()> {
        self.file.flush()?;
        // First the new bytes, then, once they are safe, the word that makes them count.
        self.file.get_ref().sync_all()?;
        self.file.seek(SeekFrom::Start(self.start))?;
        self.file.write_all(&self.held)?;
        self.file.flush()?;
        self.is_committed = true;
        self.file.get_ref().sync_all()
    }
}

/// Removes what was not committed. If that fails too, the old end still stands before it.
impl Drop for Tail {
    fn drop(&mut self) {
        if !self.is_committed {
            let _ = self.file.flush();
            let _ = self.file.get_ref().set_len(self.size_bytes);
        }
    }
}

impl Write for Tail {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = HELD_BYTES - self.held.len();
        if room == 0 {
            return self.file.write(bytes);
        }
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.file.write_all(&vec![0; taken.len()])?;
        self.held.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn appended_bytes_count_from_the_commit_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        fs::write(&path, b"old\0\0\0\0").unwrap();
        let mut tail = Tail::open(&path, 3).unwrap();
        tail.write_all(b"new").unwrap();
        tail.write_all(b"er bytes").unwrap();
        tail.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old\0\0\0\0r bytes");
        tail.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"oldnewer bytes");
    }

    #[test]
    fn what_is_not_committed_goes_away() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        fs::write(&path, b"old\0\0\0\0").unwrap();
        let mut tail = Tail::open(&path, 3).unwrap();
        tail.write_all(b"never to be seen").unwrap();
        drop(tail);
        assert_eq!(fs::read(&path).unwrap(), b"old\0\0\0\0");
    }
}
