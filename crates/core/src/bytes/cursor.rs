//! A place in some bytes, moving forward.

use super::error::{ReadError, ReadErrorKind, ReadResult};

/// The order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// The order of the machine this runs on.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    /// The word a person uses: `little-endian`, `big-endian`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Little => "little-endian",
            Self::Big => "big-endian",
        }
    }
}

/// Reads numbers and runs of bytes one after the other, and never past the end.
///
/// It may stand in the middle of a file: offsets in errors count from the start of the file.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    remaining_bytes: &'a [u8],
    offset: u64,
    endian: Endian,
}

macro_rules! number {
    ($($name:ident $type:ty),* $(,)?) => {$(
        #[doc = concat!("Reads one `", stringify!($type), "` in the cursor's byte order.")]
        pub fn $name(&mut self, what: &'static str) -> ReadResult<$type> {
            let bytes = self.array(what)?;
            Ok(match self.endian {
                Endian::Little => <$type>::from_le_bytes(bytes),
                Endian::Big => <$type>::from_be_bytes(bytes),
            })
        }
    )*};
}

impl<'a> Cursor<'a> {
    /// Stands at the start of a whole file.
    #[must_use]
    pub fn new(bytes: &'a [u8], endian: Endian) -> Self {
        Self::with_offset(bytes, 0, endian)
    }

    /// Stands at the start of a part of a file, the first byte of which is at `offset`.
    #[must_use]
    pub fn with_offset(bytes: &'a [u8], offset: u64, endian: Endian) -> Self {
        Self { remaining_bytes: bytes, offset, endian }
    }

    number! {
        u8 u8, i8 i8, u16 u16, i16 i16, u32 u32, i32 i32, u64 u64, i64 i64, f32 f32, f64 f64,
    }

    /// Returns the offset of the next byte, counted from the start of the file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of bytes left.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.remaining_bytes.len() as u64
    }

    /// The bytes that are left, without taking them.
    #[must_use]
    pub fn remaining_bytes(&self) -> &'a [u8] {
        self.remaining_bytes
    }

    /// The byte order numbers are read in.
    #[must_use]
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// Takes the next `length` bytes.
    pub fn bytes(&mut self, what: &'static str, length: u64) -> ReadResult<&'a [u8]> {
        let split =
            usize::try_from(length).ok().and_then(|n| self.remaining_bytes.split_at_checked(n));
        let Some((taken, rest)) = split else {
            return Err(self.short(what, length));
        };
        self.remaining_bytes = rest;
        self.offset += length;
        Ok(taken)
    }

    /// Takes the next `N` bytes.
    pub fn array<const N: usize>(&mut self, what: &'static str) -> ReadResult<[u8; N]> {
        let Some((taken, rest)) = self.remaining_bytes.split_first_chunk::<N>() else {
            return Err(self.short(what, N as u64));
        };
        self.remaining_bytes = rest;
        self.offset += N as u64;
        Ok(*taken)
    }

    /// Passes over `length` bytes.
    pub fn skip(&mut self, what: &'static str, length: u64) -> ReadResult<()> {
        self.bytes(what, length).map(drop)
    }

    /// Takes the next `length` bytes as a cursor of their own.
    pub fn part(&mut self, what: &'static str, length: u64) -> ReadResult<Cursor<'a>> {
        let (offset, endian) = (self.offset, self.endian);
        Ok(Cursor::with_offset(self.bytes(what, length)?, offset, endian))
    }

    /// Reads a length that must not be negative, of as many bytes as are left at most.
    pub fn length_i32(&mut self, what: &'static str) -> ReadResult<u64> {
        let offset = self.offset;
        let found = self.i32(what)?;
        let length = u64::try_from(found)
            .map_err(|_| ReadErrorKind::Negative(found.into()).error_at(what, offset))?;
        self.checked_count(what, offset, length, 1, u64::MAX)?;
        Ok(length)
    }

    /// Reads a count of items, each at least `item_bytes` long, refusing one the file cannot
    /// hold, so that a caller may allocate for it.
    pub fn count_u32(
        &mut self,
        what: &'static str,
        limit: u64,
        item_bytes: u64,
    ) -> ReadResult<usize> {
        let offset = self.offset;
        let found = self.u32(what)?.into();
        self.checked_count(what, offset, found, item_bytes, limit)
    }

    /// Like [`count_u32`](Self::count_u32), for a count of eight bytes.
    pub fn count_u64(
        &mut self,
        what: &'static str,
        limit: u64,
        item_bytes: u64,
    ) -> ReadResult<usize> {
        let offset = self.offset;
        let found = self.u64(what)?;
        self.checked_count(what, offset, found, item_bytes, limit)
    }

    /// Checks a count found at `offset` against a limit and against the bytes left.
    fn checked_count(
        &self,
        what: &'static str,
        offset: u64,
        found: u64,
        item_bytes: u64,
        limit: u64,
    ) -> ReadResult<usize> {
        let limit = limit.min(self.remaining() / item_bytes.max(1));
        match usize::try_from(found) {
            Ok(count) if found <= limit => Ok(count),
            _ => Err(ReadErrorKind::OverLimit { found, limit }.error_at(what, offset)),
        }
    }

    #[cold]
    fn short(&self, what: &'static str, needed: u64) -> ReadError {
        ReadErrorKind::Short { needed, left: self.remaining() }.error_at(what, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_byte_order() {
        let bytes = [1, 2, 3, 4];
        assert_eq!(Cursor::new(&bytes, Endian::Little).u32("n").unwrap(), 0x0403_0201);
        assert_eq!(Cursor::new(&bytes, Endian::Big).u32("n").unwrap(), 0x0102_0304);
    }

    #[test]
    fn offsets_count_from_the_start_of_the_file() {
        let mut cursor = Cursor::with_offset(&[0; 8], 100, Endian::Little);
        cursor.skip("head", 4).unwrap();
        let mut part = cursor.part("body", 4).unwrap();
        part.u8("a").unwrap();
        assert_eq!(part.offset(), 105);
        let error = part.u64("b").unwrap_err();
        assert_eq!((error.offset, error.what), (105, "b"));
        assert_eq!(error.kind, ReadErrorKind::Short { needed: 8, left: 3 });
    }

    #[test]
    fn a_count_too_large_is_refused_before_allocating() {
        let bytes = [0xFF, 0xFF, 0xFF, 0x7F, 0, 0, 0, 0];
        let mut cursor = Cursor::new(&bytes, Endian::Little);
        let error = cursor.count_u32("nodes", u64::MAX, 2).unwrap_err();
        assert_eq!(error.kind, ReadErrorKind::OverLimit { found: 0x7FFF_FFFF, limit: 2 });
        assert_eq!(error.offset, 0);
    }

    #[test]
    fn a_negative_length_is_named_as_such() {
        let bytes = (-3_i32).to_be_bytes();
        let error = Cursor::new(&bytes, Endian::Big).length_i32("size").unwrap_err();
        assert_eq!(error.kind, ReadErrorKind::Negative(-3));
    }

    #[test]
    fn a_length_beyond_usize_is_short_not_a_panic() {
        let error = Cursor::new(&[0], Endian::Big).bytes("all", u64::MAX).unwrap_err();
        assert_eq!(error.kind, ReadErrorKind::Short { needed: u64::MAX, left: 1 });
    }
}
