//! Metadata: text in the language TSDL, or JSON, alone or in packets.

mod declare;
mod json;
mod lexer;
mod parser;
mod scopes;

use kymo_core::bytes::{Cursor, Endian, ReadError, ReadResult};

use crate::spec;
use crate::types::Trace;

/// Reads the metadata of a trace.
pub(crate) fn read(bytes: &[u8]) -> ReadResult<Trace> {
    let text = Text::from_bytes(bytes)?;
    if text.is_json() { json::parse(&text) } else { parser::parse(&text) }
}

/// The text, and where its parts were in the file.
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    /// Start of each run of the text, in it and in the file.
    runs: Vec<(usize, u64)>,
}

impl Text {
    fn from_bytes(bytes: &[u8]) -> ReadResult<Self> {
        let order = match bytes.first_chunk() {
            Some(word) if u32::from_le_bytes(*word) == spec::METADATA_MAGIC => Endian::Little,
            Some(word) if u32::from_be_bytes(*word) == spec::METADATA_MAGIC => Endian::Big,
            _ => return Ok(Self { bytes: bytes.to_vec(), runs: vec![(0, 0)] }),
        };
        let mut text = Self { bytes: Vec::new(), runs: Vec::new() };
        let mut start = 0;
        while start < bytes.len() {
            start = text.packet(bytes, start, order)?;
        }
        Ok(text)
    }

    /// Takes the text of the packet at `start`, and tells where the next is.
    fn packet(&mut self, bytes: &[u8], start: usize, order: Endian) -> ReadResult<usize> {
        let offset = start as u64;
        let rest = bytes.get(start..).unwrap_or_default();
        let mut cursor = Cursor::with_offset(rest, offset, order);
        let magic = cursor.u32("magic of a packet of metadata")?;
        if magic != spec::METADATA_MAGIC {
            return Err(ReadError::invalid("packet of metadata", offset, "it has no magic"));
        }
        // The UUID and the checksum.
        cursor.skip("packet of metadata", 20)?;
        let content_bits = cursor.u32("content size of metadata")?;
        let packet_bits = cursor.u32("packet size of metadata")?;
        let (content, packet) = ((content_bits / 8) as usize, (packet_bits / 8) as usize);
        let is_sound = spec::METADATA_HEADER_BYTES <= content && content <= packet;
        let text = rest.get(spec::METADATA_HEADER_BYTES..content).filter(|_| is_sound);
        let text = text.ok_or_else(|| {
            ReadError::invalid("packet of metadata", offset, "its sizes make no sense")
        })?;
        self.runs.push((self.bytes.len(), offset + spec::METADATA_HEADER_BYTES as u64));
        self.bytes.extend_from_slice(text);
        Ok(start + packet)
    }

    /// Returns true if it is in the language of version 2.
    fn is_json(&self) -> bool {
        let text = self.bytes.trim_ascii_start();
        text.starts_with(&[spec::RECORD_SEPARATOR]) || spec::begins_object(text)
    }

    /// Returns the offset in the file of a byte of the text.
    pub(crate) fn offset(&self, position: usize) -> u64 {
        let run = self.runs.partition_point(|(start, _)| *start <= position).checked_sub(1);
        let run = run.and_then(|run| self.runs.get(run));
        run.map_or(0, |(start, offset)| offset + (position - start) as u64)
    }
}
