//! Reason why bytes could not be read, and the offset.

use std::borrow::Cow;

/// The result of reading bytes.
pub type ReadResult<T> = std::result::Result<T, ReadError>;

/// Reason why a file could not be read, and the byte at which that was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {offset:#x}: {kind}")]
pub struct ReadError {
    /// The field being read, in the format's own words: "event count".
    pub what: &'static str,
    /// Offset at which that field starts, counted from the start of the file.
    pub offset: u64,
    /// Fault of the field.
    pub kind: ReadErrorKind,
}

/// Fault of a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The bytes end before the field does.
    #[error("needs {needed} bytes, {left} left")]
    Short {
        /// Number of bytes that the field takes.
        needed: u64,
        /// Number of bytes that are left.
        left: u64,
    },
    /// A number that is larger than the file, or the caller's limits, can hold.
    #[error("{found} is over the limit of {limit}")]
    OverLimit {
        /// The number found.
        found: u64,
        /// The largest acceptable one.
        limit: u64,
    },
    /// A number that must not be negative.
    #[error("{0} is negative")]
    Negative(i64),
    /// A version of the format that is not read, with what is known of it.
    #[error("{0}")]
    OtherVersion(Cow<'static, str>),
    /// Anything else the format's rules forbid.
    #[error("{0}")]
    Invalid(Cow<'static, str>),
}

impl ReadErrorKind {
    /// Says where this went wrong.
    #[cold]
    #[must_use]
    pub fn error_at(self, what: &'static str, offset: u64) -> ReadError {
        ReadError { what, offset, kind: self }
    }
}

impl ReadError {
    /// A field that the format's rules forbid, with the reason.
    #[cold]
    pub fn invalid(what: &'static str, offset: u64, why: impl Into<Cow<'static, str>>) -> Self {
        ReadErrorKind::Invalid(why.into()).error_at(what, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_error_is_small_enough_to_return_by_value() {
        assert!(size_of::<ReadError>() <= 64);
    }

    #[test]
    fn the_message_names_the_field_its_offset_and_the_reason() {
        let error = ReadErrorKind::OverLimit { found: 9, limit: 3 }.error_at("node count", 0x40);
        assert_eq!(error.to_string(), "node count at byte 0x40: 9 is over the limit of 3");
    }
}
