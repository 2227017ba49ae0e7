//! Constants of the specification.

use memchr::memmem;

/// The first word of a packet of metadata, in the byte order of its writer.
pub(crate) const METADATA_MAGIC: u32 = 0x75D1_1D57;

/// The first word of a packet of events.
pub(crate) const PACKET_MAGIC: u64 = 0xC1FC_1FC1;

/// The bytes of that word in the one order and the other.
pub(crate) const PACKET_SIGNATURES: [[u8; 4]; 2] =
    [[0xC1, 0x1F, 0xFC, 0xC1], [0xC1, 0xFC, 0x1F, 0xC1]];

/// So many bytes tell what a file begins as.
pub(crate) const SIGNATURE_BYTES: u64 = 64;

/// First bytes of metadata that is text and not in packets.
pub(crate) const TEXT_SIGNATURE: &[u8] = b"/* CTF 1";

/// Byte before each fragment of the metadata of version 2.
pub(crate) const RECORD_SEPARATOR: u8 = 0x1E;

/// Type that its first fragment gives for itself.
const PREAMBLE: &[u8] = b"\"preamble\"";

/// The file that describes the others.
pub(crate) const METADATA_FILE: &str = "metadata";

/// The bytes of the header of a packet of metadata.
pub(crate) const METADATA_HEADER_BYTES: usize = 37;

/// Structures within structures, more deeply than this, are refused.
pub(crate) const DEPTH_MAX: u32 = 48;

/// Returns true if a file begins as a packet of events does.
pub(crate) fn is_stream(head: &[u8]) -> bool {
    PACKET_SIGNATURES.iter().any(|signature| head.starts_with(signature))
}

/// Returns true if a file begins as metadata does, in packets or as text.
pub(crate) fn is_metadata(head: &[u8]) -> bool {
    let word = head.first_chunk().map(|word| u32::from_le_bytes(*word));
    let is_magic =
        word.is_some_and(|word| word == METADATA_MAGIC || word.swap_bytes() == METADATA_MAGIC);
    is_magic || head.starts_with(TEXT_SIGNATURE) || is_sequence(head)
}

/// Returns true if a file begins as metadata of version 2 does that is in no packets. It begins
/// with an object after a mark, or with one that names its type.
fn is_sequence(head: &[u8]) -> bool {
    let rest = head.trim_ascii_start();
    match rest.strip_prefix(&[RECORD_SEPARATOR]) {
        Some(rest) => begins_object(rest),
        None => begins_object(rest) && memmem::find(rest, PREAMBLE).is_some(),
    }
}

/// Returns true if text is JSON that is an object.
pub(crate) fn begins_object(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"{")
}
