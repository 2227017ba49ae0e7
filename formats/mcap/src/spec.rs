//! Magic, opcodes, sizes: the constants of the specification.

/// The first and the last bytes of a file.
pub const MAGIC: &[u8; 8] = b"\x89MCAP0\r\n";

/// Bytes before the body of a record: its opcode and its length.
pub const FRAME_BYTES: u64 = 9;

/// Bytes of the body of a footer.
pub const FOOTER_BYTES: u64 = 20;

/// Bytes of the body of a message before its payload.
pub const MESSAGE_HEADER_BYTES: u64 = 22;

/// Opcodes from here on are not the specification's but of whoever wrote the file.
pub const PRIVATE: u8 = 0x80;

/// Opcodes of records.
pub mod op {
    /// The first record: profile and library.
    pub const HEADER: u8 = 0x01;
    /// The last record: where the summary is.
    pub const FOOTER: u8 = 0x02;
    /// Schema: the form of the messages of a channel.
    pub const SCHEMA: u8 = 0x03;
    /// A topic with its encoding.
    pub const CHANNEL: u8 = 0x04;
    /// One message of a channel.
    pub const MESSAGE: u8 = 0x05;
    /// Schemas, channels and messages, compressed together.
    pub const CHUNK: u8 = 0x06;
    /// Positions of the messages of a channel in the chunk before.
    pub const MESSAGE_INDEX: u8 = 0x07;
    /// Position of a chunk.
    pub const CHUNK_INDEX: u8 = 0x08;
    /// A file that was put in.
    pub const ATTACHMENT: u8 = 0x09;
    /// Position of an attachment.
    pub const ATTACHMENT_INDEX: u8 = 0x0A;
    /// Counts and times of the whole file.
    pub const STATISTICS: u8 = 0x0B;
    /// Named keys and values.
    pub const METADATA: u8 = 0x0C;
    /// Position of metadata.
    pub const METADATA_INDEX: u8 = 0x0D;
    /// Position of the records of a kind in the summary.
    pub const SUMMARY_OFFSET: u8 = 0x0E;
    /// The end of the data section.
    pub const DATA_END: u8 = 0x0F;
}

/// The word for a record with this opcode.
#[must_use]
pub fn record_name(opcode: u8) -> &'static str {
    match opcode {
        op::HEADER => "header",
        op::FOOTER => "footer",
        op::SCHEMA => "schema",
        op::CHANNEL => "channel",
        op::MESSAGE => "message",
        op::CHUNK => "chunk",
        op::MESSAGE_INDEX => "message index",
        op::CHUNK_INDEX => "chunk index",
        op::ATTACHMENT => "attachment",
        op::ATTACHMENT_INDEX => "attachment index",
        op::STATISTICS => "statistics",
        op::METADATA => "metadata",
        op::METADATA_INDEX => "metadata index",
        op::SUMMARY_OFFSET => "summary offset",
        op::DATA_END => "data end",
        PRIVATE.. => "private record",
        _ => "unknown record",
    }
}
