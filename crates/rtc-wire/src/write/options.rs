//! Options that a writer gets before it begins.

use crate::crc::Polynomial;
use crate::spec::{MAJOR_BYTES_DEFAULT, MINOR_BYTES_DEFAULT, MINOR_BYTES_MIN};

/// Number of bytes that a writer collects before it hands them on, unless a Unit is smaller. More
/// bytes do not make it faster; more can be lost, and readers wait longer.
const BUFFER_BYTES_DEFAULT: usize = 256 << 10;

/// The largest Unit, so that every distance in an index has room for its lowest bit.
const MAJOR_BYTES_MAX: u64 = 1 << 48;

/// The order of bytes in platform and Crc frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant first.
    Little,
    /// Most significant first.
    Big,
}

impl ByteOrder {
    /// The order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    /// The bytes of a number.
    #[must_use]
    pub const fn bytes(self, value: u32) -> [u8; 4] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }
}

/// The sizes of the ruler, the checksum, the byte order and the first count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub(super) major_bytes: u64,
    pub(super) minor_bytes: u64,
    pub(super) crc: Option<Polynomial>,
    pub(super) byte_order: ByteOrder,
    pub(super) count: u64,
    pub(super) buffer_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            major_bytes: MAJOR_BYTES_DEFAULT,
            minor_bytes: MINOR_BYTES_DEFAULT,
            crc: Some(Polynomial::Ieee),
            byte_order: ByteOrder::NATIVE,
            count: 0,
            buffer_bytes: BUFFER_BYTES_DEFAULT,
        }
    }
}

impl Options {
    /// Units of 1 MiB, units of 128 KiB, CRC32-IEEE, this machine's byte order, counting from 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Chooses the sizes of a Unit (major) and a unit (minor).
    ///
    /// Both must be powers of two, the minor at least 2048 and at most the major, which is at most
    /// 2^48. Smaller ones lose less when a file is damaged and spend more on repeating Marker,
    /// Index and Meta.
    pub fn sizes(mut self, major_bytes: u64, minor_bytes: u64) -> Result<Self, SizesError> {
        let are_right = major_bytes.is_power_of_two()
            && minor_bytes.is_power_of_two()
            && (MINOR_BYTES_MIN..=major_bytes).contains(&minor_bytes)
            && major_bytes <= MAJOR_BYTES_MAX;
        if !are_right {
            return Err(SizesError { major_bytes, minor_bytes });
        }
        (self.major_bytes, self.minor_bytes) = (major_bytes, minor_bytes);
        Ok(self)
    }

    /// Chooses the checksum of a Unit; with `None` there are no Crc frames.
    #[must_use]
    pub fn crc(mut self, polynomial: Option<Polynomial>) -> Self {
        self.crc = polynomial;
        self
    }

    /// Chooses the byte order that the platform frame tells. The writer uses it for its own
    /// frames; what callers write in a format without `le` or `be` must follow it.
    #[must_use]
    pub fn byte_order(mut self, byte_order: ByteOrder) -> Self {
        self.byte_order = byte_order;
        self
    }

    /// Chooses the count of the first Unit; a session begins with 0.
    #[must_use]
    pub fn count(mut self, count: u64) -> Self {
        self.count = count;
        self
    }

    /// Chooses how many bytes are collected before they are handed on: 256 KiB, or a Unit if that
    /// is less, unless chosen. Small systems can choose a few hundred.
    #[must_use]
    pub fn buffer_bytes(mut self, bytes: usize) -> Self {
        self.buffer_bytes = bytes.max(1);
        self
    }

    /// The buffer that a writer allocates.
    pub(super) fn buffer_capacity(&self) -> usize {
        let major_bytes = usize::try_from(self.major_bytes).unwrap_or(usize::MAX);
        self.buffer_bytes.min(major_bytes)
    }
}

/// Sizes that no ruler has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a Unit of {major_bytes} bytes with units of {minor_bytes}: both must be powers of two, \
     the unit at least 2048 bytes and at most the Unit, the Unit at most 2^48"
)]
pub struct SizesError {
    /// The size of a Unit that was asked for.
    pub major_bytes: u64,
    /// The size of a unit that was asked for.
    pub minor_bytes: u64,
}
