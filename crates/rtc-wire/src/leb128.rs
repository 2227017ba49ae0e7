//! Unsigned and signed LEB128: seven bits a byte, least significant first, the top bit set on all
//! but the last.

/// The most bytes of a 64-bit number.
pub const BYTES_MAX: usize = 10;

const MORE: u8 = 0x80;

/// Reason why a number could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leb128Error {
    /// The bytes end before the number does.
    Short,
    /// It has more than 64 bits.
    TooLarge,
}

/// Reads an unsigned number; returns it with the bytes it takes.
#[inline]
pub fn read(bytes: &[u8]) -> Result<(u64, usize), Leb128Error> {
    match bytes.first() {
        Some(&byte) if byte & MORE == 0 => Ok((u64::from(byte), 1)),
        _ => read_long(bytes),
    }
}

fn read_long(bytes: &[u8]) -> Result<(u64, usize), Leb128Error> {
    let mut value = 0_u64;
    for (count, &byte) in bytes.iter().take(BYTES_MAX).enumerate() {
        let bits = u64::from(byte & !MORE);
        let shift = 7 * count;
        if (bits << shift) >> shift != bits {
            return Err(Leb128Error::TooLarge);
        }
        value |= bits << shift;
        if byte & MORE == 0 {
            return Ok((value, count + 1));
        }
    }
    Err(if bytes.len() < BYTES_MAX { Leb128Error::Short } else { Leb128Error::TooLarge })
}

/// Reads a signed number; returns it with the bytes it takes.
pub fn read_signed(bytes: &[u8]) -> Result<(i64, usize), Leb128Error> {
    let mut value = 0_i128;
    for (count, &byte) in bytes.iter().take(BYTES_MAX).enumerate() {
        let shift = 7 * (count + 1);
        value |= i128::from(byte & !MORE) << (7 * count);
        if byte & MORE == 0 {
            let unused = 128 - shift;
            let value = (value << unused) >> unused;
            let value = i64::try_from(value).map_err(|_| Leb128Error::TooLarge)?;
            return Ok((value, count + 1));
        }
    }
    Err(if bytes.len() < BYTES_MAX { Leb128Error::Short } else { Leb128Error::TooLarge })
}

/// A number in its shortest form, on the stack.
#[derive(Debug, Clone, Copy)]
pub struct Encoded {
    bytes: [u8; BYTES_MAX],
    length: usize,
}

impl Encoded {
    /// Encodes an unsigned number.
    #[must_use]
    pub fn unsigned(mut value: u64) -> Self {
        let mut encoded = Self { bytes: [0; BYTES_MAX], length: 0 };
        loop {
            let low = value.to_le_bytes()[0] & !MORE;
            value >>= 7;
            if value == 0 {
                return encoded.push(low);
            }
            encoded = encoded.push(low | MORE);
        }
    }

    /// Encodes a signed number.
    #[must_use]
    pub fn signed(mut value: i64) -> Self {
        let mut encoded = Self { bytes: [0; BYTES_MAX], length: 0 };
        loop {
            let low = value.to_le_bytes()[0] & !MORE;
            value >>= 7;
            let sign = low & 0x40 != 0;
            if (value == 0 && !sign) || (value == -1 && sign) {
                return encoded.push(low);
            }
            encoded = encoded.push(low | MORE);
        }
    }

    fn push(mut self, byte: u8) -> Self {
        if let Some(slot) = self.bytes.get_mut(self.length) {
            *slot = byte;
            self.length += 1;
        }
        self
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Returns the number of bytes that an unsigned number takes.
#[must_use]
pub const fn length(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_examples_of_the_dwarf_standard_are_right() {
        for (value, bytes) in
            [(2, &[2][..]), (127, &[0x7F]), (128, &[0x80, 1]), (12857, &[0xB9, 0x64])]
        {
            assert_eq!(Encoded::unsigned(value).as_bytes(), bytes);
            assert_eq!(read(bytes), Ok((value, bytes.len())));
        }
        for (value, bytes) in
            [(-2, &[0x7E][..]), (127, &[0xFF, 0]), (-127, &[0x81, 0x7F]), (-129, &[0xFF, 0x7E])]
        {
            assert_eq!(Encoded::signed(value).as_bytes(), bytes);
            assert_eq!(read_signed(bytes), Ok((value, bytes.len())));
        }
    }

    #[test]
    fn what_is_short_or_too_large_is_refused() {
        assert_eq!(read(&[]), Err(Leb128Error::Short));
        assert_eq!(read(&[0x80]), Err(Leb128Error::Short));
        assert_eq!(read(&[0xFF; 10]), Err(Leb128Error::TooLarge));
        assert_eq!(read_signed(&[0xFF; 9]), Err(Leb128Error::Short));
        assert_eq!(
            read_signed(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2]),
            Err(Leb128Error::TooLarge)
        );
    }

    proptest! {
        #[test]
        fn what_is_encoded_reads_back(value: u64, signed: i64) {
            let encoded = Encoded::unsigned(value);
            prop_assert_eq!(encoded.as_bytes().len(), length(value));
            prop_assert_eq!(read(encoded.as_bytes()), Ok((value, length(value))));
            let encoded = Encoded::signed(signed);
            prop_assert_eq!(read_signed(encoded.as_bytes()).unwrap().0, signed);
        }
    }
}
