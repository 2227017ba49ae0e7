//! LEB128: seven bits a byte, least significant first, the top bit set on all but the last.

use super::{Cursor, ReadError, ReadErrorKind, ReadResult, Sink};

const MORE: u8 = 0x80;
const BITS: u32 = 7;

impl Cursor<'_> {
    /// Reads an unsigned LEB128 number of at most 64 bits.
    ///
    /// Numbers padded with zero groups are accepted up to ten bytes, as other readers do.
    pub fn uleb128(&mut self, what: &'static str) -> ReadResult<u64> {
        let offset = self.offset();
        let mut value = 0_u64;
        let mut shift = 0;
        loop {
            let byte = self.u8(what)?;
            let bits = u64::from(byte & !MORE);
            if shift > 63 || (bits << shift) >> shift != bits {
                return Err(ReadError::invalid(what, offset, "a LEB128 number over 64 bits"));
            }
            value |= bits << shift;
            if byte & MORE == 0 {
                return Ok(value);
            }
            shift += BITS;
        }
    }

    /// Reads an unsigned LEB128 number, refusing one above `limit`.
    pub fn uleb128_max(&mut self, what: &'static str, limit: u64) -> ReadResult<u64> {
        let offset = self.offset();
        let found = self.uleb128(what)?;
        if found <= limit {
            Ok(found)
        } else {
            Err(ReadErrorKind::OverLimit { found, limit }.error_at(what, offset))
        }
    }
}

impl Sink {
    /// Appends an unsigned LEB128 number in its shortest form.
    pub fn uleb128(&mut self, mut value: u64) {
        loop {
            let low = value.to_le_bytes()[0] & !MORE;
            value >>= BITS;
            if value == 0 {
                return self.u8(low);
            }
            self.u8(low | MORE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Endian;
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> ReadResult<u64> {
        Cursor::new(bytes, Endian::Little).uleb128("number")
    }

    #[test]
    fn known_numbers_read_as_published() {
        assert_eq!(read(&[0x02]).unwrap(), 2);
        assert_eq!(read(&[0x7F]).unwrap(), 127);
        assert_eq!(read(&[0x80, 0x01]).unwrap(), 128);
        assert_eq!(read(&[0xE5, 0x8E, 0x26]).unwrap(), 624_485);
        let max = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01];
        assert_eq!(read(&max).unwrap(), u64::MAX);
    }

    #[test]
    fn a_number_over_64_bits_is_refused_at_its_first_byte() {
        let error =
            read(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02]).unwrap_err();
        assert_eq!(error.offset, 0);
        assert!(read(&[0x80; 40]).is_err());
    }

    #[test]
    fn an_unfinished_number_says_where_the_bytes_end() {
        assert_eq!(read(&[0x80, 0x80]).unwrap_err().offset, 2);
    }

    proptest! {
        #[test]
        fn every_number_comes_back(value: u64) {
            let mut sink = Sink::new(Endian::Little);
            sink.uleb128(value);
            prop_assert_eq!(read(sink.as_slice()).unwrap(), value);
        }
    }
}
