//! Types that the reader returns and the writer takes.

use std::collections::BTreeMap;
use std::ops::Range;

/// Keys and values.
pub type Pairs = BTreeMap<String, String>;

/// Writer of a file, and the way to understand its contents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// The convention that the contents follow: `ros2`.
    pub profile: String,
    /// The program that wrote the file.
    pub library: String,
}

/// Form of the messages of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// Its number in the file; never 0.
    pub id: u16,
    /// Its name: `sensor_msgs/msg/Imu`.
    pub name: String,
    /// The language it is written in: `ros2msg`, `jsonschema`.
    pub encoding: String,
    /// The schema itself.
    pub data: Vec<u8>,
}

/// A topic that messages are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// Its number in the file.
    pub id: u16,
    /// Its schema; 0 means none.
    pub schema_id: u16,
    /// Its name.
    pub topic: String,
    /// Encoding of payloads: `json`, `cdr`.
    pub message_encoding: String,
    /// Whatever else its writer said of it.
    pub metadata: Pairs,
}

impl Channel {
    /// Returns true if payloads are text.
    #[must_use]
    pub fn is_text(&self) -> bool {
        matches!(self.message_encoding.as_str(), "json" | "text" | "utf-8")
    }
}

/// One message. Its payload stays where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The channel it is on.
    pub channel_id: u16,
    /// Its number on the channel, where the writer counts.
    pub sequence: u32,
    /// Time of recording, in nanoseconds since the Epoch.
    pub log_time: u64,
    /// Time of publishing, in nanoseconds since the Epoch.
    pub publish_time: u64,
    /// Range of its payload in what it was read from.
    pub data: Range<usize>,
}

/// A file that was put in. Its data stays where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Time of recording, in nanoseconds since the Epoch.
    pub log_time: u64,
    /// Time at which it was made, in nanoseconds since the Epoch; 0 when that is not known.
    pub create_time: u64,
    /// Its name.
    pub name: String,
    /// Its media type: `text/plain`.
    pub media_type: String,
    /// Range of its data in the file.
    pub data: Range<usize>,
    /// The checksum of all fields before; 0 when there is none.
    pub crc: u32,
}

/// Named keys and values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// Subject of the metadata.
    pub name: String,
    /// The keys and values.
    pub metadata: Pairs,
}

/// Compression of the records of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// As frames of Zstandard.
    Zstd,
    /// As a frame of LZ4.
    Lz4,
    /// In a way that is not known here.
    Other(Box<str>),
}

impl Compression {
    /// By the name that the file has.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        match name {
            "" => Self::None,
            "zstd" => Self::Zstd,
            "lz4" => Self::Lz4,
            other => Self::Other(other.into()),
        }
    }

    /// The name that the file has: nothing, `zstd`, `lz4`.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::None => "",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
            Self::Other(name) => name,
        }
    }
}

/// A chunk: where it is, and what is said of its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The first byte of its record.
    pub offset: u64,
    /// The bytes of its record, opcode and length included.
    pub length: u64,
    /// The earliest `log_time` in it.
    pub message_start_time: u64,
    /// The latest `log_time` in it.
    pub message_end_time: u64,
    /// Compression of its records.
    pub compression: Compression,
    /// Bytes of its records as they are in the file.
    pub compressed_size: u64,
    /// Bytes of its records when they are decompressed.
    pub uncompressed_size: u64,
}

/// Counts and times of a whole file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Messages.
    pub message_count: u64,
    /// Schemas.
    pub schema_count: u64,
    /// Channels.
    pub channel_count: u64,
    /// Attachments.
    pub attachment_count: u64,
    /// Records of metadata.
    pub metadata_count: u64,
    /// Chunks.
    pub chunk_count: u64,
    /// The earliest `log_time`; 0 without messages.
    pub message_start_time: u64,
    /// The latest `log_time`; 0 without messages.
    pub message_end_time: u64,
    /// Messages of each channel.
    pub channel_message_counts: BTreeMap<u16, u64>,
}
