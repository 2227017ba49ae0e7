//! The checksum of a Unit, in the two ways that files in the field have it.

use core::ops::Range;

/// Checksum that protects a Unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Polynomial {
    /// CRC32-IEEE, as the specification says.
    #[default]
    Ieee,
    /// Checksum that the first writers compute: the shift of a reflected CRC with the table of one
    /// that is not.
    Mixed,
}

impl Polynomial {
    /// The name in listings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ieee => "CRC32-IEEE",
            Self::Mixed => "CRC32 of the first writers",
        }
    }

    /// The checksum of some bytes.
    #[must_use]
    pub fn checksum(self, bytes: &[u8]) -> u32 {
        let mut crc = Crc::new(self);
        crc.update(bytes);
        crc.value()
    }
}

/// A byte that was changed, and what to change it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedByte {
    /// Position of the byte.
    pub at: usize,
    /// The bits that differ from what it was.
    pub bits: u8,
}

impl Polynomial {
    /// The one byte of a range by whose change alone a checksum does not hold.
    ///
    /// A checksum is linear: what a changed byte does to it depends on nothing but the bits that
    /// were changed and on how many bytes follow. No two bytes of a few megabytes do the same.
    #[must_use]
    pub fn changed(self, bytes: &[u8], stored: u32, within: Range<usize>) -> Option<ChangedByte> {
        self.changed_by(self.checksum(bytes) ^ stored, bytes.len(), within)
    }

    /// The same, where a checksum of so many bytes differs by so much from what it was.
    pub(crate) fn changed_by(
        self,
        difference: u32,
        length: usize,
        within: Range<usize>,
    ) -> Option<ChangedByte> {
        let table = self.table();
        let bytes = bytes_by_effect(table);
        let mut left = difference;
        // Each byte is taken back, from the last on, until what is left is the effect of one.
        for at in (within.start..length).rev() {
            let [.., highest] = left.to_le_bytes();
            let bits = bytes.get(usize::from(highest)).copied()?;
            let effect = table.get(usize::from(bits)).copied()?;
            if left == effect {
                return (bits != 0 && at < within.end).then_some(ChangedByte { at, bits });
            }
            left = (left ^ effect) << 8 | u32::from(bits);
        }
        None
    }

    /// Returns the table of the effect of a byte on the checksum.
    fn table(self) -> &'static [u32; 256] {
        match self {
            Self::Ieee => &IEEE,
            Self::Mixed => {
                let [table, ..] = &TABLES;
                table
            }
        }
    }
}

/// The byte whose effect has a certain highest byte: no two have the same.
fn bytes_by_effect(table: &[u32; 256]) -> [u8; 256] {
    let mut bytes = [0; 256];
    for (byte, effect) in (0..=u8::MAX).zip(table) {
        let [.., highest] = effect.to_le_bytes();
        if let Some(slot) = bytes.get_mut(usize::from(highest)) {
            *slot = byte;
        }
    }
    bytes
}

/// A checksum in the making.
#[derive(Debug, Clone)]
pub struct Crc(State);

#[derive(Debug, Clone)]
enum State {
    Ieee(crc32fast::Hasher),
    Mixed(u32),
}

impl Crc {
    /// The checksum of nothing.
    #[must_use]
    pub fn new(polynomial: Polynomial) -> Self {
        Self(match polynomial {
            Polynomial::Ieee => State::Ieee(crc32fast::Hasher::new()),
            Polynomial::Mixed => State::Mixed(!0),
        })
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            State::Ieee(hasher) => hasher.update(bytes),
            State::Mixed(crc) => *crc = mixed(*crc, bytes),
        }
    }

    /// The checksum of the bytes so far.
    #[must_use]
    pub fn value(&self) -> u32 {
        match &self.0 {
            State::Ieee(hasher) => hasher.clone().finalize(),
            State::Mixed(crc) => !crc,
        }
    }
}

/// Number of bytes that [`mixed`] takes at a time.
const SLICES: usize = 16;

/// Effect of each byte on CRC32-IEEE.
static IEEE: [u32; 256] = ieee();

#[allow(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "constant, in bounds")]
const fn ieee() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 0 { crc >> 1 } else { (crc >> 1) ^ 0xEDB8_8320 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// `TABLES[n][b]` is what byte `b` does to the checksum when `n` more bytes follow it.
static TABLES: [[u32; 256]; SLICES] = tables();

/// The step of the first writers is linear, so that a byte's effect after `n` further steps on
/// zeros can be tabulated, as it is for any CRC.
#[allow(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "constant, in bounds")]
const fn tables() -> [[u32; 256]; SLICES] {
    let mut tables = [[0; 256]; SLICES];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000_0000 == 0 { crc << 1 } else { (crc << 1) ^ 0x04C1_1DB7 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut slice = 1;
    while slice < SLICES {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[slice - 1][byte];
            tables[slice][byte] = (before >> 8) ^ tables[0][(before & 0xFF) as usize];
            byte += 1;
        }
        slice += 1;
    }
    tables
}

#[allow(clippy::indexing_slicing, reason = "a byte is always within 256 entries")]
fn mixed(mut crc: u32, bytes: &[u8]) -> u32 {
    let (chunks, rest) = bytes.as_chunks::<SLICES>();
    for chunk in chunks {
        let mut chunk = *chunk;
        for (byte, of_crc) in chunk.iter_mut().zip(crc.to_le_bytes()) {
            *byte ^= of_crc;
        }
        crc = 0;
        for (position, byte) in chunk.into_iter().enumerate() {
            crc ^= TABLES[SLICES - 1 - position][usize::from(byte)];
        }
    }
    for &byte in rest {
        crc = (crc >> 8) ^ TABLES[0][usize::from(crc.to_le_bytes()[0] ^ byte)];
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn the_check_values_are_right() {
        assert_eq!(Polynomial::Ieee.checksum(b"123456789"), 0xCBF4_3926);
        assert_eq!(Polynomial::Mixed.checksum(b"123456789"), 0x7EAD_5C77);
    }

    #[test]
    fn a_changed_byte_is_found_by_the_checksum() {
        let sound: Vec<u8> = (0..5000_u32).map(|at| ((at * at) >> 3).to_le_bytes()[0]).collect();
        for polynomial in [Polynomial::Ieee, Polynomial::Mixed] {
            let stored = polynomial.checksum(&sound);
            assert_eq!(polynomial.changed(&sound, stored, 0..sound.len()), None);
            for (at, bits) in [(0, 1), (7, 0xFF), (1234, 0x80), (2500, 0x5A), (4999, 0x10)] {
                let mut bytes = sound.clone();
                bytes[at] ^= bits;
                let found = polynomial.changed(&bytes, stored, 0..sound.len());
                assert_eq!(found, Some(ChangedByte { at, bits }), "{polynomial:?}");
                // It is not where it is not looked for, and two bytes are not one.
                assert_eq!(polynomial.changed(&bytes, stored, at + 1..sound.len()), None);
                bytes[at / 2 + 17] ^= 0x21;
                assert_eq!(polynomial.changed(&bytes, stored, 0..sound.len()), None);
            }
        }
    }

    proptest! {
        #[test]
        fn parts_and_the_whole_agree(bytes: Vec<u8>, at: proptest::sample::Index) {
            for polynomial in [Polynomial::Ieee, Polynomial::Mixed] {
                let (head, tail) = bytes.split_at(at.index(bytes.len() + 1));
                let mut crc = Crc::new(polynomial);
                crc.update(head);
                crc.update(tail);
                prop_assert_eq!(crc.value(), polynomial.checksum(&bytes));
            }
        }

        #[test]
        fn many_bytes_at_once_are_as_one_by_one(bytes: Vec<u8>) {
            let mut crc = Crc::new(Polynomial::Mixed);
            for byte in &bytes {
                crc.update(&[*byte]);
            }
            prop_assert_eq!(crc.value(), Polynomial::Mixed.checksum(&bytes));
        }
    }
}
