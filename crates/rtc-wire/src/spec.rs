//! Constants of the specification: `docs/formats/rtc.md`.

/// Ids of the frames that always exist.
pub mod id {
    /// One byte of padding.
    pub const NUL: u32 = 0;
    /// Padding with a length.
    pub const PADDING: u32 = 1;
    /// The tick of a Unit.
    pub const MARKER: u32 = 2;
    /// Id of the index of the last frame of each stream, for the whole file so far.
    pub const MAJOR_INDEX: u32 = 3;
    /// Id of the index of the last frame of each stream, since the last [`MAJOR_INDEX`].
    pub const MINOR_INDEX: u32 = 4;
    /// The streams, as JSON.
    pub const META: u32 = 5;
    /// A stream that joins, as JSON.
    pub const MINOR_META: u32 = 6;
    /// The writer's byte order.
    pub const PLATFORM: u32 = 7;
    /// The checksum of a Unit.
    pub const CRC: u32 = 8;
    /// The first id of a user's stream.
    pub const FIRST_USER: u32 = 9;
}

/// The most bytes of payload in a frame.
pub const PAYLOAD_BYTES_MAX: usize = 1024;

/// Byte that a Marker's payload consists of, in version 1 of the format.
pub const MARKER_BYTE: u8 = 0xB9;

/// The header byte of a Marker.
pub const MARKER_HEADER: u8 = 0x04;

/// The bytes of a Marker: its header and 1024 times [`MARKER_BYTE`].
pub const MARKER_BYTES: usize = 1 + PAYLOAD_BYTES_MAX;

/// The header byte of an Index frame that is the last of its chain.
pub const INDEX_HEADER: u8 = 0x06;

/// The bytes of a Crc frame: its header and the checksum.
pub const CRC_BYTES: usize = 5;

/// Word in a platform frame, in the byte order of the writer.
pub const PLATFORM_WORD: u32 = 0x0102_0304;

/// The size of a Unit unless one is chosen.
pub const MAJOR_BYTES_DEFAULT: u64 = 1 << 20;

/// The size of a unit unless one is chosen.
pub const MINOR_BYTES_DEFAULT: u64 = 128 << 10;

/// The least size of a unit.
pub const MINOR_BYTES_MIN: u64 = 2048;

/// The length of the payload of the frames that always exist, where it is fixed.
#[must_use]
pub const fn fixed_length(id: u32) -> Option<u64> {
    match id {
        id::NUL => Some(0),
        id::MARKER => Some(PAYLOAD_BYTES_MAX as u64),
        id::PLATFORM | id::CRC => Some(4),
        _ => None,
    }
}
