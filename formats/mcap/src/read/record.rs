//! Records: an opcode, a length, and a body that the opcode gives a meaning.

use std::collections::BTreeMap;

use kymo_core::bytes::{Cursor, Endian, ReadError, ReadResult};

use crate::spec::{self, op};
use crate::types::{Channel, Chunk, Compression, Header, Metadata, Pairs, Schema, Statistics};

/// A record whose body has not been looked at.
#[derive(Debug, Clone)]
pub(crate) struct Frame<'a> {
    pub(crate) opcode: u8,
    /// Its first byte.
    pub(crate) offset: u64,
    pub(crate) body: Cursor<'a>,
}

impl<'a> Frame<'a> {
    /// Reads the record that a cursor stands at, and goes on to the next.
    pub(crate) fn read(cursor: &mut Cursor<'a>) -> ReadResult<Self> {
        let offset = cursor.offset();
        let opcode = cursor.u8("opcode")?;
        let length = cursor.u64("record length")?;
        if opcode == 0 {
            return Err(ReadError::invalid("opcode", offset, "0 is no opcode"));
        }
        let body = cursor.part(spec::record_name(opcode), length)?;
        Ok(Self { opcode, offset, body })
    }

    /// Reads the record at an offset, which must have a given opcode.
    pub(crate) fn expect(bytes: &'a [u8], offset: u64, opcode: u8) -> ReadResult<Self> {
        let mut cursor = cursor_at(bytes, offset);
        let frame = Self::read(&mut cursor)?;
        if frame.opcode == opcode {
            return Ok(frame);
        }
        let (found, wanted) = (spec::record_name(frame.opcode), spec::record_name(opcode));
        Err(ReadError::invalid(wanted, offset, format!("there is another record: {found}")))
    }

    /// The byte after it.
    pub(crate) fn end(&self) -> u64 {
        self.body.offset() + self.body.remaining()
    }
}

/// A cursor at an offset of a file; at its end when the offset is beyond.
pub(crate) fn cursor_at(bytes: &[u8], offset: u64) -> Cursor<'_> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    Cursor::with_offset(bytes.get(start..).unwrap_or_default(), start as u64, Endian::Little)
}

pub(crate) fn text(body: &mut Cursor<'_>, what: &'static str) -> ReadResult<String> {
    let offset = body.offset();
    let length = body.count_u32(what, u64::MAX, 1)?;
    let bytes = body.bytes(what, length as u64)?;
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(ReadError::invalid(what, offset, "it is not UTF-8")),
    }
}

/// A map: its length in bytes, then keys and values.
pub(crate) fn pairs(body: &mut Cursor<'_>, what: &'static str) -> ReadResult<Pairs> {
    let length = body.count_u32(what, u64::MAX, 1)?;
    let mut rest = body.part(what, length as u64)?;
    let mut pairs = Pairs::new();
    while rest.remaining() > 0 {
        let offset = rest.offset();
        let key = text(&mut rest, "key")?;
        let value = text(&mut rest, "value")?;
        if pairs.insert(key, value).is_some() {
            return Err(ReadError::invalid(what, offset, "a key is there twice"));
        }
    }
    Ok(pairs)
}

/// A map from channels to numbers.
pub(crate) fn by_channel(
    body: &mut Cursor<'_>,
    what: &'static str,
) -> ReadResult<BTreeMap<u16, u64>> {
    let length = body.count_u32(what, u64::MAX, 1)?;
    let mut rest = body.part(what, length as u64)?;
    let mut numbers = BTreeMap::new();
    while rest.remaining() > 0 {
        numbers.insert(rest.u16("channel id")?, rest.u64(what)?);
    }
    Ok(numbers)
}

pub(crate) fn header(mut body: Cursor<'_>) -> ReadResult<Header> {
    let profile = text(&mut body, "profile")?;
    let library = text(&mut body, "library")?;
    Ok(Header { profile, library })
}

pub(crate) fn schema(mut body: Cursor<'_>) -> ReadResult<Schema> {
    let offset = body.offset();
    let id = body.u16("schema id")?;
    if id == 0 {
        return Err(ReadError::invalid("schema id", offset, "0 means that there is no schema"));
    }
    let name = text(&mut body, "schema name")?;
    let encoding = text(&mut body, "schema encoding")?;
    let length = body.count_u32("schema data", u64::MAX, 1)?;
    let data = body.bytes("schema data", length as u64)?.to_vec();
    Ok(Schema { id, name, encoding, data })
}

pub(crate) fn channel(mut body: Cursor<'_>) -> ReadResult<Channel> {
    Ok(Channel {
        id: body.u16("channel id")?,
        schema_id: body.u16("schema id")?,
        topic: text(&mut body, "topic")?,
        message_encoding: text(&mut body, "message encoding")?,
        metadata: pairs(&mut body, "channel metadata")?,
    })
}

pub(crate) fn metadata(mut body: Cursor<'_>) -> ReadResult<Metadata> {
    let name = text(&mut body, "metadata name")?;
    let metadata = pairs(&mut body, "metadata")?;
    Ok(Metadata { name, metadata })
}

/// The header of a chunk, the checksum of its records, and the rest of its body: the records.
pub(crate) fn chunk<'a>(frame: &Frame<'a>) -> ReadResult<(Chunk, u32, Cursor<'a>)> {
    let mut body = frame.body.clone();
    let message_start_time = body.u64("message start time")?;
    let message_end_time = body.u64("message end time")?;
    let uncompressed_size = body.u64("uncompressed size")?;
    let crc = body.u32("uncompressed crc")?;
    let compression = Compression::from_name(&text(&mut body, "compression")?);
    let compressed_size = body.u64("compressed size")?;
    let chunk = Chunk {
        offset: frame.offset,
        length: frame.end() - frame.offset,
        message_start_time,
        message_end_time,
        compression,
        compressed_size,
        uncompressed_size,
    };
    Ok((chunk, crc, body))
}

/// A chunk as its index tells it, where its message indexes are, and their length.
pub(crate) fn chunk_index(mut body: Cursor<'_>) -> ReadResult<(Chunk, BTreeMap<u16, u64>, u64)> {
    let message_start_time = body.u64("message start time")?;
    let message_end_time = body.u64("message end time")?;
    let offset = body.u64("chunk start offset")?;
    let length = body.u64("chunk length")?;
    let index_offsets = by_channel(&mut body, "message index offsets")?;
    let index_length = body.u64("message index length")?;
    let chunk = Chunk {
        offset,
        length,
        message_start_time,
        message_end_time,
        compression: Compression::from_name(&text(&mut body, "compression")?),
        compressed_size: body.u64("compressed size")?,
        uncompressed_size: body.u64("uncompressed size")?,
    };
    Ok((chunk, index_offsets, index_length))
}

pub(crate) fn statistics(mut body: Cursor<'_>) -> ReadResult<Statistics> {
    Ok(Statistics {
        message_count: body.u64("message count")?,
        schema_count: body.u16("schema count")?.into(),
        channel_count: body.u32("channel count")?.into(),
        attachment_count: body.u32("attachment count")?.into(),
        metadata_count: body.u32("metadata count")?.into(),
        chunk_count: body.u32("chunk count")?.into(),
        message_start_time: body.u64("message start time")?,
        message_end_time: body.u64("message end time")?,
        channel_message_counts: by_channel(&mut body, "channel message counts")?,
    })
}

/// The entries of a message index: its channel, then times and offsets within the chunk.
pub(crate) fn message_index(
    mut body: Cursor<'_>,
) -> ReadResult<(u16, impl Iterator<Item = ReadResult<(u64, u64)>>)> {
    let channel = body.u16("channel id")?;
    let length = body.count_u32("message index", u64::MAX, 1)?;
    let mut rest = body.part("message index", length as u64)?;
    let entries = std::iter::from_fn(move || {
        let entry = (rest.remaining() > 0)
            .then(|| -> ReadResult<_> { Ok((rest.u64("log time")?, rest.u64("message offset")?)) });
        if matches!(entry, Some(Err(_))) {
            rest = Cursor::new(&[], Endian::Little);
        }
        entry
    });
    Ok((channel, entries))
}

/// Returns true if a record may stand among messages, in the data section or in a chunk.
pub(crate) fn is_content(opcode: u8) -> bool {
    matches!(opcode, op::SCHEMA | op::CHANNEL | op::MESSAGE | spec::PRIVATE..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_longer_than_the_file_is_refused_with_its_place() {
        let bytes = [op::MESSAGE, 0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 2];
        let error = Frame::read(&mut Cursor::new(&bytes, Endian::Little)).unwrap_err();
        assert_eq!(error.to_string(), "message at byte 0x9: needs 255 bytes, 2 left");
    }

    #[test]
    fn a_map_says_its_length_in_bytes() {
        let bytes = b"\x0b\0\0\0\x01\0\0\0k\x02\0\0\0vw!";
        let mut cursor = Cursor::new(bytes, Endian::Little);
        let found = pairs(&mut cursor, "metadata").unwrap();
        assert_eq!(found, Pairs::from([("k".into(), "vw".into())]));
        assert_eq!(cursor.remaining_bytes(), b"!");
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused() {
        let bytes = b"\x12\0\0\0\x01\0\0\0k\0\0\0\0\x01\0\0\0k\0\0\0\0";
        let error = pairs(&mut Cursor::new(bytes, Endian::Little), "metadata").unwrap_err();
        assert_eq!(error.to_string(), "metadata at byte 0xd: a key is there twice");
    }
}
