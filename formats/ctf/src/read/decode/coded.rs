//! Numbers that are not laid out as nearly all are.

use kymo_core::bytes::ReadResult;

use super::{Decoder, extended};
use crate::types::{Coding, Integer};

/// Bytes of a number of 64 bits at most that has seven bits in each.
const VARIABLE_BYTES_MAX: u32 = 10;

impl Decoder<'_> {
    /// A number, and the bits that it had.
    #[cold]
    pub(super) fn coded(&mut self, integer: &Integer) -> ReadResult<(i128, u32)> {
        self.align(integer.align);
        if integer.coding == Coding::Variable {
            return self.variable(integer.is_signed);
        }
        let start = self.take(integer.bits.into())?;
        let raw = self.bits(start, integer.bits, integer.order)?;
        let raw = reversed(raw, integer.bits);
        Ok((extended(raw, integer.bits, integer.is_signed), integer.bits))
    }

    /// A number as LEB128 has it.
    fn variable(&mut self, is_signed: bool) -> ReadResult<(i128, u32)> {
        let (mut value, mut bits) = (0_i128, 0);
        for _ in 0..VARIABLE_BYTES_MAX {
            let start = self.take(8)?;
            let byte = self.bits(start, 8, kymo_core::bytes::Endian::Little)?;
            value |= i128::from(byte & 0x7F) << bits;
            bits += 7;
            if byte & 0x80 != 0 {
                continue;
            }
            if is_signed && byte & 0x40 != 0 {
                value -= 1 << bits;
            }
            let fits =
                if is_signed { i64::try_from(value).is_ok() } else { u64::try_from(value).is_ok() };
            if fits {
                return Ok((value, bits));
            }
            break;
        }
        Err(self.error("a number has more than 64 bits"))
    }
}

/// The lowest bits of a word in the other order.
pub(super) fn reversed(raw: u64, bits: u32) -> u64 {
    raw.reverse_bits() >> (64 - bits.clamp(1, 64))
}

/// A number of IEEE 754 with 16 bits: one of the sign, five of the exponent, ten of the fraction.
pub(super) fn half(raw: u16) -> f32 {
    let sign = u32::from(raw >> 15) << 31;
    let (exponent, fraction) = (u32::from(raw >> 10) & 0x1F, u32::from(raw) & 0x3FF);
    match exponent {
        0x1F => f32::from_bits(sign | 0x7F80_0000 | fraction << 13),
        0 => {
            // All of them are multiples of 2 to the power of -24.
            let value = f32::from(raw & 0x3FF) / 16_777_216.0;
            f32::from_bits(sign | value.to_bits())
        }
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_what_ieee_754_says() {
        let expected = [
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x7BFF, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x0400, 6.103_515_6e-5),
            (0x8000, -0.0_f32),
            (0xFC00, f32::NEG_INFINITY),
        ];
        for (raw, value) in expected {
            assert_eq!(half(raw).to_bits(), value.to_bits(), "{raw:#x}");
        }
        assert!(half(0x7E00).is_nan());
    }

    #[test]
    fn bits_in_the_other_order() {
        assert_eq!(reversed(0b0000_0001, 3), 0b100);
        assert_eq!(reversed(1, 64), 1 << 63);
        assert_eq!(reversed(0xD597, 16), 0xE9AB);
    }
}
