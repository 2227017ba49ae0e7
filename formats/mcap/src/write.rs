//! Types to bytes, with the writer of the `mcap` crate.

use std::io::{Seek, Write};

use kymo_core::{Error, Result};
use mcap::records::{AttachmentHeader, MessageHeader};
use mcap::write::PrivateRecordOptions;
use mcap::{McapError, WriteOptions};

use crate::types::{Channel, Compression, Header, Message, Metadata, Schema};

/// Options for writing a file.
#[derive(Debug, Clone)]
pub struct Options {
    /// Header that names the writer of the file.
    pub header: Header,
    /// Compression of chunks. One that is not known is Zstandard.
    pub compression: Compression,
    /// True if messages are packed into chunks at all.
    pub is_chunked: bool,
}

impl Default for Options {
    fn default() -> Self {
        let library = concat!("kymo/", env!("CARGO_PKG_VERSION")).to_owned();
        let header = Header { profile: String::new(), library };
        Self { header, compression: Compression::Zstd, is_chunked: true }
    }
}

impl Options {
    fn create<W: Write + Seek>(self, out: W) -> Result<mcap::Writer<W>> {
        let compression = match self.compression {
            Compression::None => None,
            Compression::Lz4 => Some(mcap::Compression::Lz4),
            Compression::Zstd | Compression::Other(_) => Some(mcap::Compression::Zstd),
        };
        let options = WriteOptions::new()
            .profile(self.header.profile)
            .library(self.header.library)
            .compression(compression)
            .use_chunks(self.is_chunked)
            // A format starts no threads.
            .compression_threads(0);
        options.create(out).map_err(failed)
    }
}

/// Writes a file record by record. Finish it, or the file has no end.
///
/// A schema comes before its channels, and a channel before its messages.
#[must_use]
pub struct Writer<W: Write + Seek>(mcap::Writer<W>);

impl<W: Write + Seek> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl<W: Write + Seek> Writer<W> {
    /// Starts a file.
    pub fn new(out: W, options: Options) -> Result<Self> {
        Ok(Self(options.create(out)?))
    }

    /// Writes a schema; one that was written before is not written again.
    pub fn schema(&mut self, schema: &Schema) -> Result<()> {
        let Schema { id, name, encoding, data } = schema;
        self.0.add_schema_with_id(*id, name, encoding, data).map_err(failed).map(drop)
    }

    /// Writes a channel; one that was written before is not written again.
    pub fn channel(&mut self, channel: &Channel) -> Result<()> {
        let Channel { id, schema_id, topic, message_encoding, metadata } = channel;
        let added = self.0.add_channel_with_id(*id, *schema_id, topic, message_encoding, metadata);
        added.map_err(failed).map(drop)
    }

    /// Writes a message with its payload.
    pub fn message(&mut self, message: &Message, data: &[u8]) -> Result<()> {
        let header = MessageHeader {
            channel_id: message.channel_id,
            sequence: message.sequence,
            log_time: message.log_time,
            publish_time: message.publish_time,
        };
        self.0.write_to_known_channel(&header, data).map_err(failed)
    }

    /// Writes an attachment with its data.
    pub fn attachment(&mut self, attachment: &crate::Attachment, data: &[u8]) -> Result<()> {
        let header = AttachmentHeader {
            log_time: attachment.log_time,
            create_time: attachment.create_time,
            name: attachment.name.clone(),
            media_type: attachment.media_type.clone(),
        };
        self.0.start_attachment(data.len() as u64, header).map_err(failed)?;
        self.0.put_attachment_bytes(data).map_err(failed)?;
        self.0.finish_attachment().map_err(failed)
    }

    /// Writes metadata.
    pub fn metadata(&mut self, metadata: &Metadata) -> Result<()> {
        let Metadata { name, metadata } = metadata.clone();
        self.0.write_metadata(&mcap::records::Metadata { name, metadata }).map_err(failed)
    }

    /// Writes a record that only its writer knows.
    pub(crate) fn private(&mut self, opcode: u8, data: &[u8], is_in_chunk: bool) -> Result<()> {
        let options = is_in_chunk.then_some(PrivateRecordOptions::IncludeInChunks);
        let options = options.into_iter().collect();
        self.0.write_private_record(opcode, data, options).map_err(failed)
    }

    /// Writes the summary and the footer, and hands back the output.
    pub fn finish(mut self) -> Result<W> {
        self.0.finish().map_err(failed)?;
        Ok(self.0.into_inner())
    }
}

fn failed(error: McapError) -> Error {
    match error {
        McapError::Io(error) => Error::io("write the output")(error),
        other => Error::request(format!("it cannot be written as MCAP: {other}")),
    }
}
