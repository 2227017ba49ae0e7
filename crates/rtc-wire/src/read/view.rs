//! The bytes at hand.

use core::ops::Range;

/// A run of a file's bytes: all of a mapped file, or what has arrived and is still held.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    bytes: &'a [u8],
    base: u64,
    is_final: bool,
    is_paused: bool,
}

impl<'a> View<'a> {
    /// A whole file.
    #[inline]
    #[must_use]
    pub fn from_file(bytes: &'a [u8]) -> Self {
        Self { bytes, base: 0, is_final: true, is_paused: false }
    }

    /// Bytes that begin at `base` of the file; `is_final` when no more will come.
    #[must_use]
    pub fn part(bytes: &'a [u8], base: u64, is_final: bool) -> Self {
        Self { bytes, base, is_final, is_paused: false }
    }

    /// The same bytes, when more may come and none are there at present: a frame is then given
    /// before it is seen what follows it.
    #[must_use]
    pub fn paused(self) -> Self {
        Self { is_paused: true, ..self }
    }

    /// Returns the offset of the bytes in the file.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Returns the offset at which they end.
    #[inline]
    #[must_use]
    pub fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    /// Returns true if no more will come.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.is_final
    }

    /// Returns true if the bytes before `position` are all there, or never will be.
    #[must_use]
    pub fn reaches(&self, position: u64) -> bool {
        self.is_final || position <= self.end()
    }

    /// Returns true if the bytes before `position` are all there, or are not to be waited for.
    #[must_use]
    pub(super) fn reaches_for_now(&self, position: u64) -> bool {
        self.is_paused || self.reaches(position)
    }

    /// The bytes of a range, as far as they are there.
    #[inline]
    #[must_use]
    pub fn get(&self, range: Range<u64>) -> &'a [u8] {
        let clamp = |position: u64| {
            let position = position.clamp(self.base, self.end()) - self.base;
            usize::try_from(position).unwrap_or(usize::MAX)
        };
        self.bytes.get(clamp(range.start)..clamp(range.end)).unwrap_or_default()
    }

    /// The same bytes up to a position, as if no more came.
    #[must_use]
    pub fn truncated(&self, position: u64) -> Self {
        let bytes = self.get(self.base..position.max(self.base));
        Self { bytes, base: self.base, is_final: true, is_paused: false }
    }

    /// The bytes from a position on.
    #[must_use]
    pub fn from(&self, position: u64) -> &'a [u8] {
        self.get(position..self.end())
    }

    /// One byte.
    #[inline]
    #[must_use]
    pub fn byte(&self, position: u64) -> Option<u8> {
        self.get(position..position.saturating_add(1)).first().copied()
    }
}
