//! The checksum of a Unit, in the two ways that files in the field have it.

/// Which checksum protects a Unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Polynomial {
    /// CRC32-IEEE, as the specification says.
    #[default]
    Ieee,
    /// What the first writers compute: the shift of a reflected CRC with the table of one that is
    /// not.
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
    pub fn of(self, bytes: &[u8]) -> u32 {
        let mut crc = Crc::new(self);
        crc.update(bytes);
        crc.value()
    }
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

/// How many bytes [`mixed`] takes at a time.
const SLICES: usize = 16;

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
        assert_eq!(Polynomial::Ieee.of(b"123456789"), 0xCBF4_3926);
        assert_eq!(Polynomial::Mixed.of(b"123456789"), 0x7EAD_5C77);
    }

    proptest! {
        #[test]
        fn parts_and_the_whole_agree(bytes: Vec<u8>, at: proptest::sample::Index) {
            for polynomial in [Polynomial::Ieee, Polynomial::Mixed] {
                let (head, tail) = bytes.split_at(at.index(bytes.len() + 1));
                let mut crc = Crc::new(polynomial);
                crc.update(head);
                crc.update(tail);
                prop_assert_eq!(crc.value(), polynomial.of(&bytes));
            }
        }

        #[test]
        fn many_bytes_at_once_are_as_one_by_one(bytes: Vec<u8>) {
            let mut crc = Crc::new(Polynomial::Mixed);
            for byte in &bytes {
                crc.update(&[*byte]);
            }
            prop_assert_eq!(crc.value(), Polynomial::Mixed.of(&bytes));
        }
    }
}
