//! Reason why something was not recorded.

use std::io;

use kymo_rtc_wire::meta::MetaError;
use kymo_rtc_wire::write::{SizesError, WriteError};

/// The result of everything that records.
pub type Result<T> = std::result::Result<T, Error>;

/// Reason why something was not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system did not take the bytes: the disk is full, for example. The file stays readable
    /// up to the last frame that was taken, and everything recorded later is refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The system did not take earlier bytes.
    #[error("recording ended earlier with an error")]
    Broken,
    /// The recorder was finished.
    #[error("the recording is finished")]
    Finished,
    /// The sizes of Units and units are none that a ruler has.
    #[error(transparent)]
    Sizes(#[from] SizesError),
    /// A stream cannot be described.
    #[error(transparent)]
    Meta(#[from] MetaError),
    /// A message does not fit its stream, or a stream this recording.
    #[error("{0}")]
    Refused(String),
    /// A clock must not go back.
    #[error("the time is before the last one of clock {0:?}")]
    Backwards(String),
    /// A counter was given for a clock of seconds, or the other way round.
    #[error("clock {0:?} does not count in what it was given")]
    Unit(String),
    /// The stream has no clock.
    #[error("the stream has no clock")]
    NoClock,
    /// The text that was to be recorded is not JSON.
    #[error("the text is not JSON")]
    NotJson,
}

impl Error {
    /// Returns true if nothing can be recorded any more.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Io(_) | Self::Broken | Self::Finished)
    }
}

impl From<WriteError<io::Error>> for Error {
    fn from(error: WriteError<io::Error>) -> Self {
        match error {
            WriteError::Output(error) => Self::Io(error),
            WriteError::Broken => Self::Broken,
            other => Self::Refused(other.to_string()),
        }
    }
}
