//! Form that the bytes of a value must have, as far as its format gives it.

use crate::leb128;

use super::meta::Definition;

/// The form of a stream's values. Where a length or a header was damaged, what is read from there on
/// soon has another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Form {
    #[default]
    Any,
    /// Any: in a sound Unit there was a value that is not of the format.
    Disproven,
    /// A number that tells itself where it ends.
    Leb128,
    Text,
}

impl Form {
    /// The form of a stream's values.
    pub(super) fn from_definition(stream: &Definition) -> Self {
        match stream.format() {
            Some("leb128" | "uleb128") => Self::Leb128,
            Some("utf-8" | "json") => Self::Text,
            _ => Self::Any,
        }
    }

    /// Returns true if a value may be one of the stream. Text of another encoding than UTF-8 is in
    /// many recordings; what has bytes besides that no text has is none.
    pub(super) fn fits(self, value: &[u8]) -> bool {
        match self {
            Self::Any | Self::Disproven => true,
            Self::Leb128 => number_bytes(value) == Some(value.len()),
            Self::Text => {
                let is_control = |byte: &u8| *byte < 0x20 && !(0x07..=0x0D).contains(byte);
                core::str::from_utf8(value).is_ok()
                    || !value.iter().any(|byte| is_control(byte) && *byte != 0x1B)
            }
        }
    }
}

/// Returns the number of bytes of the number that some bytes begin with.
pub(super) fn number_bytes(bytes: &[u8]) -> Option<usize> {
    let most = bytes.get(..leb128::BYTES_MAX).unwrap_or(bytes);
    most.iter().position(|byte| byte & 0x80 == 0).map(|last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_another_form_are_told() {
        assert!(Form::Leb128.fits(&[0x05]));
        assert!(Form::Leb128.fits(&[0x85, 0x80, 0x00]));
        assert!(!Form::Leb128.fits(&[]));
        assert!(!Form::Leb128.fits(&[0x85, 0x80]));
        assert!(!Form::Leb128.fits(&[0x05, 0x12]));
        assert!(!Form::Leb128.fits(&[0x80; 11]));
        assert!(Form::Text.fits("za\u{17c}\u{f3}\u{142}\u{107} \u{1}".as_bytes()));
        assert!(Form::Text.fits(b"caf\xe9 \x1b[1mnoir\x1b[0m\r\n"));
        assert!(!Form::Text.fits(b"\x12\x03caf\xe9"));
    }
}
