//! The error of every operation on a dataset.

use std::io;
use std::path::PathBuf;

use crate::bytes::ReadError;

/// The result of an operation on a source, a dataset or a destination.
pub type Result<T> = std::result::Result<T, Error>;

/// Reason why an operation on a source, a dataset or a destination failed.
///
/// Messages leave out the file that the caller opened: the caller knows and names it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes that could not be read, with their offset.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Bytes of one file of a directory that could not be read.
    #[error("{}: {error}", file.display())]
    ReadIn {
        /// The file within the directory.
        file: PathBuf,
        /// Fault in it.
        error: ReadError,
    },
    /// The operating system refused.
    #[error("cannot {action}: {error}")]
    Io {
        /// Action that was tried: "open the file".
        action: &'static str,
        /// Error of the system.
        error: io::Error,
    },
    /// The file became shorter, or was written to, while it was read.
    #[error("the file {0} while it was being read; what was read from it cannot be trusted")]
    Changed(&'static str),
    /// One file of a directory became shorter, or was written to, while it was read.
    #[error(
        "{}: the file {how} while it was being read; what was read from it cannot be trusted",
        file.display()
    )]
    ChangedIn {
        /// The file within the directory.
        file: PathBuf,
        /// Change that happened to it: "shrank".
        how: &'static str,
    },
    /// The request names something the dataset does not have, or asks for what it cannot do.
    #[error("{0}")]
    Request(String),
    /// The output would change the input, in the way that is told: "lies in the input".
    #[error("the output {0}, which must stay as it is")]
    OverInput(&'static str),
    /// A bug: what the program relies on does not hold, which no file can cause.
    #[error("a bug in kymo, not in the file: {0}; please report it")]
    Broken(&'static str),
    /// The target exists and overwriting was not asked for.
    #[error("{} exists already (--force overwrites it)", .0.display())]
    Exists(PathBuf),
}

impl Error {
    /// Wraps an error of the operating system with what was tried.
    pub fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { action, error }
    }

    /// A request that cannot be fulfilled, with the reason.
    pub fn request(why: impl Into<String>) -> Self {
        Self::Request(why.into())
    }

    /// Returns true if the reader of our output went away, which is no failure.
    #[must_use]
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { error, .. } if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io { action: "write", error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_small_enough_to_return_by_value() {
        assert!(size_of::<Error>() <= 80, "{}", size_of::<Error>());
    }
}
