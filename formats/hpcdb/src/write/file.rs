//! A file being written, of which some places are filled in later.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use kymo_core::bytes::{Endian, Sink};
use kymo_core::{Error, Result};

use crate::spec::{FileKind, MAGIC, MAJOR_VERSION};

/// Layout that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As released.
    Released,
    /// The description of early 2022: big-endian.
    Described,
}

impl Form {
    pub(crate) fn is_described(self) -> bool {
        self == Self::Described
    }

    /// An empty sink in the byte order of the layout.
    pub(super) fn sink(self) -> Sink {
        Sink::new(self.endian())
    }

    /// The byte order of the layout.
    pub(super) fn endian(self) -> Endian {
        if self.is_described() { Endian::Big } else { Endian::Little }
    }

    /// The header of a file, with the size and the pointer of each section.
    pub(super) fn header(self, kind: FileKind, sections: &[(u64, u64)]) -> Sink {
        let mut header = self.sink();
        header.bytes(MAGIC);
        header.bytes(kind.format());
        header.u8(MAJOR_VERSION);
        header.u8(0);
        for (size, pointer) in sections {
            header.u64(*size);
            header.u64(*pointer);
        }
        header
    }
}

/// Brings what was written of a file to the disk by now. That it cannot be is said when the database
/// gets its name.
pub(super) fn sync_file(path: &Path) {
    let _ = File::open(path).and_then(|file| file.sync_data());
}

/// A file being written.
#[derive(Debug)]
pub(super) struct FileWriter {
    file: BufWriter<File>,
    /// Offset of the next byte.
    at: u64,
}

impl FileWriter {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(Error::io("create a file of the output"))?;
        Ok(Self { file: BufWriter::with_capacity(1 << 18, file), at: 0 })
    }

    /// Returns the offset of the next byte.
    pub(super) fn position(&self) -> u64 {
        self.at
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Zeros up to a multiple of some bytes.
    pub(super) fn align(&mut self, bytes: u64) -> Result<()> {
        let end = self.at.next_multiple_of(bytes);
        self.zeros(end - self.at)
    }

    /// So many zeros.
    pub(super) fn zeros(&mut self, mut bytes: u64) -> Result<()> {
        const ZEROS: [u8; 4096] = [0; 4096];
        while bytes > 0 {
            let many = usize::try_from(bytes).unwrap_or(usize::MAX).min(ZEROS.len());
            self.put(ZEROS.get(..many).unwrap_or(&ZEROS))?;
            bytes -= many as u64;
        }
        Ok(())
    }

    /// Fills in bytes at a place that was passed over before.
    pub(super) fn fill(&mut self, place: u64, bytes: &[u8]) -> Result<()> {
        self.file.seek(SeekFrom::Start(place))?;
        self.file.write_all(bytes)?;
        self.file.seek(SeekFrom::Start(self.at))?;
        Ok(())
    }

    /// Hands everything to the system, so that it can be read.
    pub(super) fn flush(&mut self) -> Result<()> {
        Ok(self.file.flush()?)
    }

    /// Writes the footer, and ends.
    pub(super) fn finish(mut self, kind: FileKind) -> Result<()> {
        self.put(kind.footer())?;
        self.flush()
    }
}
