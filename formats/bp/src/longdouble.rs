//! The x87 extended number: what `long double` was on the machines of 2008.
//!
//! Ten bytes, padded to sixteen: 64 bits of mantissa with an explicit leading one, 15 bits of
//! exponent, a sign. It has 11 bits more than a double, so a double rounds it.

use std::fmt::Write;

use kymo_core::Value;

/// Significant digits that tell every such number from its neighbours.
const DIGITS: usize = 21;
const EXPONENT_BIAS: i32 = 16383;
const EXPONENT_SPECIAL: u16 = 0x7FFF;
const MANTISSA_BITS: i32 = 63;

/// A long double as it is stored, least significant byte first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongDouble(pub [u8; 16]);

impl LongDouble {
    fn mantissa(self) -> u64 {
        self.0.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    fn sign_and_exponent(self) -> (bool, u16) {
        let [_, _, _, _, _, _, _, _, low, high, ..] = self.0;
        let word = u16::from_le_bytes([low, high]);
        (word & 0x8000 != 0, word & EXPONENT_SPECIAL)
    }

    /// The exponent of the mantissa taken as a whole number.
    fn scale(self) -> i32 {
        let (_, exponent) = self.sign_and_exponent();
        // Numbers below the normal ones have the exponent of the smallest normal one.
        i32::from(exponent.max(1)) - EXPONENT_BIAS - MANTISSA_BITS
    }

    /// The nearest double.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        let (negative, exponent) = self.sign_and_exponent();
        let magnitude = match (exponent, self.mantissa()) {
            (_, 0) => 0.0,
            (EXPONENT_SPECIAL, mantissa) if mantissa << 1 == 0 => f64::INFINITY,
            (EXPONENT_SPECIAL, _) => f64::NAN,
            (_, mantissa) => round(mantissa, self.scale()),
        };
        if negative { -magnitude } else { magnitude }
    }

    /// A long double of the same value.
    #[must_use]
    pub fn from_f64(value: f64) -> Self {
        let bits = value.to_bits();
        let sign = u16::from(value.is_sign_negative()) << 15;
        let exponent = i32::try_from(bits >> 52 & 0x7FF).unwrap_or(0);
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = match (exponent, fraction) {
            (0, 0) => (0, 0),
            (0x7FF, 0) => (1 << 63, EXPONENT_SPECIAL),
            (0x7FF, _) => (0b11 << 62, EXPONENT_SPECIAL),
            (0, _) => {
                let shift = fraction.leading_zeros().cast_signed();
                let mantissa = fraction << shift;
                (mantissa, u16::try_from(EXPONENT_BIAS - 1074 + 63 - shift).unwrap_or(0))
            }
            _ => {
                let mantissa = (fraction | 1 << 52) << 11;
                (mantissa, u16::try_from(exponent - 1023 + EXPONENT_BIAS).unwrap_or(0))
            }
        };
        let mut bytes = [0; 16];
        let parts = u128::from(mantissa) | u128::from(sign | exponent) << 64;
        bytes.copy_from_slice(&parts.to_le_bytes());
        Self(bytes)
    }

    /// The value: as a double where that is exact, as decimal digits where it is not.
    #[must_use]
    pub fn to_value(self) -> Value {
        let rounded = self.to_f64();
        if rounded.is_nan() || self.is_exactly(rounded) {
            Value::Float(rounded)
        } else {
            Value::Decimal(self.to_decimal())
        }
    }

    /// Returns true if a double holds this very number.
    #[must_use]
    pub fn is_exactly(self, value: f64) -> bool {
        let same = Self::from_f64(value);
        // Padding bytes may hold anything.
        (same.mantissa(), same.sign_and_exponent()) == (self.mantissa(), self.sign_and_exponent())
    }

    /// Enough decimal digits to tell the number from its neighbours.
    #[must_use]
    pub fn to_decimal(self) -> String {
        let (negative, _) = self.sign_and_exponent();
        let (digits, exponent) = decimal(self.mantissa(), self.scale());
        let sign = if negative { "-" } else { "" };
        let (lead, rest) = digits.split_at_checked(1).unwrap_or(("0", ""));
        let rest = rest.trim_end_matches('0');
        let point = if rest.is_empty() { "" } else { "." };
        format!("{sign}{lead}{point}{rest}e{exponent}")
    }
}

/// `mantissa × 2^scale`, rounded once, to even, also where doubles have fewer bits.
fn round(mantissa: u64, scale: i32) -> f64 {
    let bits = 64 - mantissa.leading_zeros().cast_signed();
    // The weight of the last bit that a double of this magnitude keeps.
    let last = (bits + scale - 53).max(-1074);
    let drop = last - scale;
    let kept = match u32::try_from(drop) {
        Err(_) | Ok(0) => return power(mantissa, scale),
        Ok(drop @ 1..=63) => {
            let half = 1_u64 << (drop - 1);
            let rest = mantissa & ((half << 1) - 1);
            let kept = mantissa >> drop;
            kept + u64::from(rest > half || (rest == half && kept & 1 == 1))
        }
        Ok(64) => u64::from(mantissa > 1 << 63),
        Ok(_) => 0,
    };
    power(kept, last)
}

/// `whole × 2^exponent` for a whole number of at most 54 bits, with no rounding but overflow.
fn power(whole: u64, exponent: i32) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "at most 2^53, which a double holds exactly")]
    let mut value = whole as f64;
    let mut left = exponent;
    // Steps small enough that no intermediate value is rounded or overflows before the last.
    while left != 0 && value != 0.0 && value.is_finite() {
        let step = left.clamp(-1000, 1000);
        value *= 2_f64.powi(step);
        left -= step;
    }
    value
}

/// The first significant decimal digits of `mantissa × 2^scale`, and their exponent of ten.
fn decimal(mantissa: u64, scale: i32) -> (String, i32) {
    // A whole number of limbs of nine digits, least significant first; binary fractions are
    // made whole by multiplying with 10 for each 2: 2^-n = 5^n / 10^n.
    let mut limbs = vec![mantissa % LIMB, mantissa / LIMB % LIMB, mantissa / LIMB / LIMB];
    let (base, times) = if scale < 0 { (5_u64, -scale) } else { (2, scale) };
    // Many at once: 5^12 is still less than a limb.
    let mut left = u32::try_from(times).unwrap_or(0);
    let mut dropped = 0;
    while left > 0 {
        let power = left.min(12);
        multiply(&mut limbs, base.pow(power));
        left -= power;
        // Twice the digits that are shown are kept: what is cut is too small to change them.
        let surplus = limbs.len().saturating_sub(LIMBS_MAX);
        limbs.drain(..surplus);
        dropped += surplus * LIMB_DIGITS;
    }
    let mut digits = String::with_capacity(limbs.len() * LIMB_DIGITS);
    for limb in limbs.iter().rev() {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{limb:09}");
    }
    let zeros = digits.len() - digits.trim_start_matches('0').len();
    digits.drain(..zeros);
    let whole = i32::try_from(digits.len() + dropped).unwrap_or(i32::MAX);
    let point = whole - scale.min(0).abs();
    let carried = round_digits(&mut digits);
    (digits, point - 1 + i32::from(carried))
}

const LIMB: u64 = 1_000_000_000;
const LIMB_DIGITS: usize = 9;
const LIMBS_MAX: usize = 6;

fn multiply(limbs: &mut Vec<u64>, factor: u64) {
    let mut carry = 0;
    for limb in limbs.iter_mut() {
        let product = *limb * factor + carry;
        *limb = product % LIMB;
        carry = product / LIMB;
    }
    if carry > 0 {
        limbs.push(carry);
    }
}

/// Cuts to the digits that count, rounding half up. True when that made a digit more.
fn round_digits(digits: &mut String) -> bool {
    let up = digits.as_bytes().get(DIGITS).is_some_and(|&digit| digit >= b'5');
    digits.truncate(DIGITS);
    if !up {
        return false;
    }
    let mut bytes = std::mem::take(digits).into_bytes();
    for digit in bytes.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            digits.extend(bytes.iter().map(|&byte| char::from(byte)));
            return false;
        }
        *digit = b'0';
    }
    digits.push('1');
    digits.extend(bytes.iter().map(|&byte| char::from(byte)));
    digits.truncate(DIGITS);
    true
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exactness is what is tested")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(mantissa: u64, word: u16) -> LongDouble {
        LongDouble((u128::from(mantissa) | u128::from(word) << 64).to_le_bytes())
    }

    #[test]
    fn known_numbers_are_read() {
        assert_eq!(of(0xA << 60, 0x3FFF).to_f64(), 1.25);
        assert_eq!(of(0xA << 60, 0xBFFF).to_value(), Value::Float(-1.25));
        assert_eq!(of(1 << 63, 0x7FFF).to_f64(), f64::INFINITY);
        assert!(of(3 << 62, 0x7FFF).to_f64().is_nan());
        assert_eq!(of(0, 0x8000).to_f64().to_bits(), (-0.0_f64).to_bits());
    }

    /// Values of glibc's `printf("%.20Le")`.
    #[test]
    fn digits_beyond_a_double_are_kept() {
        // 0.1L
        let tenth = of(0xCCCC_CCCC_CCCC_CCCD, 0x3FFB);
        assert_eq!(tenth.to_decimal(), "1.00000000000000000001e-1");
        assert!(matches!(tenth.to_value(), Value::Decimal(_)));
        assert_eq!(tenth.to_f64(), 0.1);
        // The largest and the smallest long double.
        assert_eq!(of(u64::MAX, 0x7FFE).to_decimal(), "1.18973149535723176502e4932");
        assert_eq!(of(1, 0).to_decimal(), "3.64519953188247460253e-4951");
        assert_eq!(of(u64::MAX, 0x7FFE).to_f64(), f64::INFINITY);
        assert_eq!(of(1, 0).to_f64(), 0.0);
    }

    #[test]
    fn halves_round_to_even_once() {
        // 1 + 2^-53 is halfway between 1 and the next double.
        assert_eq!(of(1 << 63 | 1 << 10, 0x3FFF).to_f64(), 1.0);
        assert_eq!(of(1 << 63 | 1 << 10 | 1, 0x3FFF).to_f64(), 1.0 + f64::EPSILON);
        assert_eq!(of(1 << 63 | 3 << 10, 0x3FFF).to_f64(), 1.0 + 2.0 * f64::EPSILON);
    }

    proptest! {
        #[test]
        fn every_double_comes_back(bits: u64) {
            let value = f64::from_bits(bits);
            let back = LongDouble::from_f64(value).to_f64();
            prop_assert!(back.to_bits() == bits || value.is_nan() && back.is_nan());
        }
    }
}
