//! Constants of the specification.

/// The first word of a packet of metadata, in the byte order of its writer.
pub(crate) const METADATA_MAGIC: u32 = 0x75D1_1D57;

/// The first word of a packet of events.
pub(crate) const PACKET_MAGIC: u64 = 0xC1FC_1FC1;

/// The bytes of that word in the one order and the other.
const PACKET_SIGNATURES: [[u8; 4]; 2] = [[0xC1, 0x1F, 0xFC, 0xC1], [0xC1, 0xFC, 0x1F, 0xC1]];

/// How metadata begins that is text and not in packets.
pub(crate) const TEXT_SIGNATURE: &[u8] = b"/* CTF 1";

/// The file that describes the others.
pub(crate) const METADATA_FILE: &str = "metadata";

/// The bytes of the header of a packet of metadata.
pub(crate) const METADATA_HEADER_BYTES: usize = 37;

/// Structures within structures, more deeply than this, are refused.
pub(crate) const DEPTH_MAX: u32 = 48;

/// Whether a file begins as a packet of events does.
pub(crate) fn is_stream(head: &[u8]) -> bool {
    PACKET_SIGNATURES.iter().any(|signature| head.starts_with(signature))
}
