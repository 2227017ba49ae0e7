//! Bytes to lines.

use std::borrow::Cow;

use memchr::memchr;

/// Lines one after another, each without its end.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    bytes: &'a [u8],
    position: usize,
    /// The byte of the file that `bytes` begins with.
    base: u64,
}

/// A line as it is in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawLine<'a> {
    /// Its first byte in the file.
    pub offset: u64,
    /// Its bytes, without what ends it.
    pub bytes: &'a [u8],
}

impl<'a> Lines<'a> {
    /// The lines of a file.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::with_offset(bytes, 0)
    }

    /// The lines of a part of a file that begins at a byte, which begins a line.
    #[must_use]
    pub fn with_offset(bytes: &'a [u8], base: u64) -> Self {
        Self { bytes, position: 0, base }
    }

    /// Returns the current position, as a byte of the file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.base + self.position as u64
    }

    /// Returns the offset of a line that has no end, once there are no other lines.
    #[must_use]
    pub fn unfinished(&self) -> Option<u64> {
        (self.position < self.bytes.len()).then(|| self.offset())
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = RawLine<'a>;

    #[inline]
    fn next(&mut self) -> Option<RawLine<'a>> {
        let rest = self.bytes.get(self.position..)?;
        let end = memchr(b'\n', rest)?;
        let line = rest.get(..end)?;
        let offset = self.offset();
        self.position += end + 1;
        let bytes = line.strip_suffix(b"\r").unwrap_or(line);
        Some(RawLine { offset, bytes })
    }
}

impl<'a> RawLine<'a> {
    /// Returns the reason why it cannot be a line of a log, given the greatest length of a line.
    /// Where a file system leaves zeros for what was not written, several lines are one.
    pub(crate) fn fault(&self, bytes_max: u64) -> Option<&'static str> {
        if self.bytes.len() as u64 > bytes_max {
            return Some("it is longer than the limits allow");
        }
        memchr(0, self.bytes).map(|_| "zeros are in it: what stood there is lost")
    }

    /// The line as text, with marks in place of what is no UTF-8.
    #[must_use]
    pub fn text(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_are_lines_and_an_empty_file_has_none() {
        assert_eq!(Lines::new(b"").next(), None);
        assert_eq!(Lines::new(b"").unfinished(), None);
        let lines: Vec<_> = Lines::with_offset(b"\n\r\na\n", 5).map(|line| line.offset).collect();
        assert_eq!(lines, [5, 6, 8]);
    }
}
