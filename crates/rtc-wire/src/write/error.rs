//! Reason why something was not written.

/// Reason why something was not written. After [`WriteError::Output`] the writer takes nothing
/// more; after any other it goes on as if the call had not been made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError<E> {
    /// The output did not take the bytes.
    #[error(transparent)]
    Output(E),
    /// The output did not take earlier bytes, so that these would stand at a wrong place.
    #[error("an earlier write failed")]
    Broken,
    /// The stream was closed, or is one of another writer.
    #[error("the stream is closed or unknown")]
    UnknownStream,
    /// The stream has messages of a fixed length, and this is another.
    #[error("a message of {found} bytes in a stream whose messages have {expected}")]
    Length {
        /// The length of the stream's messages.
        expected: u64,
        /// The length of this one.
        found: u64,
    },
    /// Frames of a fixed length have no length field, so their messages cannot come in parts.
    #[error("a part of a message in a stream of a fixed length")]
    Part,
    /// Too little room: describing and indexing the streams would leave none for their messages.
    #[error(
        "the streams need {needed} bytes where there are {available}: choose larger Units and units"
    )]
    NoRoom {
        /// Number of bytes that Index or Meta would take.
        needed: u64,
        /// Number of bytes that the chosen sizes offer.
        available: u64,
    },
    /// The id is taken, reserved, or under one that was given before; ids are never reused.
    #[error("the id {0} cannot be given to a stream any more")]
    Id(u32),
}
