//! The constants of the format: magic, versions, sizes (`docs/formats/{{name}}.md`).

/// The first bytes of every file.
pub(crate) const MAGIC: [u8; 8] = *b"{{magic}}";

/// The version that is read and written.
pub(crate) const VERSION: u32 = 1;

/// The size of an event with an empty message.
pub(crate) const EVENT_BYTES_MIN: u64 = 12;
