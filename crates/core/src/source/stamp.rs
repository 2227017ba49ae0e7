//! Signs that a file was changed.

use std::fs::{self, Metadata};
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::{Error, Result};

/// Properties that must not change while a file is read.
///
/// The time of the last change to the inode would tell no more: writing sets it from the same
/// clock as the modification time, and so does what is no change to us, such as a new link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    size_bytes: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    pub(super) fn from_metadata(metadata: &Metadata) -> Self {
        Self { size_bytes: metadata.len(), modified: metadata.modified().ok() }
    }

    pub(super) fn size_bytes(self) -> u64 {
        self.size_bytes
    }

    /// Fails when the file shrank or was written to meanwhile. One that only grew is fine.
    pub(super) fn verify(self, now: &Metadata) -> Result<()> {
        self.verify_stamp(Self::from_metadata(now))
    }

    /// The same, by what the file is like now.
    pub(super) fn verify_stamp(self, now: Self) -> Result<()> {
        if now.size_bytes < self.size_bytes {
            return Err(Error::Changed("shrank"));
        }
        if now.size_bytes == self.size_bytes && now != self {
            return Err(Error::Changed("was written to"));
        }
        Ok(())
    }
}

/// A file that was read into memory, or mapped, and closed.
#[derive(Debug)]
pub(super) struct ClosedFile {
    pub(super) path: PathBuf,
    pub(super) opened: Stamp,
}

impl ClosedFile {
    /// Fails when what is at the path now is not what was read. One that is gone did not change.
    pub(super) fn verify(&self) -> Result<()> {
        match fs::metadata(&self.path) {
            Ok(now) => self.opened.verify(&now),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Error::Io { action: "look at it again", error }),
        }
    }
}
