//! The records of a chunk: decompressed, within limits, and compared with their checksum.

use std::io::Read;
use std::ops::Range;

use kymo_core::bytes::{Limits, ReadError, ReadErrorKind, ReadResult};

use super::record::{self, Frame, cursor_at};
use crate::spec;
use crate::types::{Chunk, Compression};

/// Place of the records of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// In the file, as they are.
    File(Range<usize>),
    /// In the buffer, all of it.
    Buffer,
}

/// Fault of a chunk that can be read in part.
pub(crate) type Damage = Option<(&'static str, ReadError)>;

/// A chunk at an offset of a file that ends at `bytes`: its header, the checksum of its records,
/// what there is of them, and whether the file ends before it does.
struct Body<'a> {
    chunk: Chunk,
    crc: u32,
    records: &'a [u8],
    records_offset: u64,
    /// Bytes of its record behind the records.
    excess: u64,
    is_cut: bool,
}

impl<'a> Body<'a> {
    fn read(bytes: &'a [u8], offset: u64) -> ReadResult<Self> {
        let mut cursor = cursor_at(bytes, offset);
        let available = cursor.clone();
        let (frame, is_cut) = match Frame::read(&mut cursor) {
            Ok(frame) => (frame, false),
            Err(error) => (cut_frame(available).ok_or(error)?, true),
        };
        let (chunk, crc, rest) = record::chunk(&frame)?;
        let wanted = usize::try_from(chunk.compressed_size).unwrap_or(usize::MAX);
        let records = rest.remaining_bytes().get(..wanted).unwrap_or(rest.remaining_bytes());
        let excess = rest.remaining() - records.len() as u64;
        Ok(Self { chunk, crc, records, records_offset: rest.offset(), excess, is_cut })
    }

    /// Returns true if the file ends before the records do.
    fn is_truncated(&self) -> bool {
        self.is_cut && (self.records.len() as u64) < self.chunk.compressed_size
    }

    fn invalid(&self, what: &'static str, why: String) -> ReadError {
        ReadError::invalid(what, self.chunk.offset, why)
    }
}

/// Returns the rest of a chunk that the file ends in.
fn cut_frame(mut cursor: kymo_core::bytes::Cursor<'_>) -> Option<Frame<'_>> {
    let offset = cursor.offset();
    let opcode = cursor.u8("opcode").ok()?;
    cursor.u64("record length").ok()?;
    (opcode == spec::op::CHUNK).then_some(Frame { opcode, offset, body: cursor })
}

/// Reads the header of a chunk, of which the file may lack the end.
pub(crate) fn header(bytes: &[u8], offset: u64) -> ReadResult<Chunk> {
    Body::read(bytes, offset).map(|body| body.chunk)
}

/// Makes the records of a chunk readable, and says what is wrong with them.
///
/// Records that do not match their checksum must not be trusted, and are refused. Those of a
/// chunk that the file ends in are given as far as they go. One that says to have more than
/// `known_bytes` decompressed, which an index may have told, is refused.
pub(crate) fn load(
    bytes: &[u8],
    offset: u64,
    known_bytes: u64,
    buffer: &mut Vec<u8>,
    limits: &Limits,
) -> Result<(Content, Damage), (&'static str, ReadError)> {
    let body = Body::read(bytes, offset).map_err(|error| ("chunk", error))?;
    let (content, fault) = if body.chunk.compression == Compression::None {
        let start = usize::try_from(body.records_offset).unwrap_or(usize::MAX);
        (Content::File(start..start.saturating_add(body.records.len())), None)
    } else {
        let fault = decompress(&body, known_bytes, buffer, limits)?;
        (Content::Buffer, fault)
    };
    let records = match &content {
        Content::File(_) => body.records,
        Content::Buffer => buffer.as_slice(),
    };
    if body.is_truncated() {
        let why = format!("the file ends in it; {} bytes of its records are there", records.len());
        return Ok((content, Some(("chunk-cut", body.invalid("chunk", why)))));
    }
    if let Some(error) = fault {
        return Err(("chunk", error));
    }
    verify(&body, records)?;
    Ok((content, wrong_length(&body)))
}

/// Returns the fault of the length of a record whose chunk is otherwise sound.
fn wrong_length(body: &Body<'_>) -> Damage {
    if body.is_cut {
        let why = "the length of its record is wrong, and its records are whole";
        return Some(("record-length", body.invalid("chunk", why.into())));
    }
    // A chunk that says to be empty has no checksum to tell that it is damaged.
    let why = || format!("bytes of its record behind what it says to have: {}", body.excess);
    (body.excess > 0).then(|| ("chunk-excess", body.invalid("chunk", why())))
}

/// Compares records with the size and the checksum that the chunk says.
fn verify(body: &Body<'_>, records: &[u8]) -> Result<(), (&'static str, ReadError)> {
    let (found, stated) = (records.len() as u64, body.chunk.uncompressed_size);
    if found != stated {
        let why = format!("its records have {found} bytes, and {stated} are stated");
        return Err(("chunk-size", body.invalid("uncompressed size", why)));
    }
    if body.crc != 0 {
        let found = crc32fast::hash(records);
        if found != body.crc {
            let why = format!("{:#010x} is stated, and its records have {found:#010x}", body.crc);
            return Err(("chunk-crc", body.invalid("uncompressed crc", why)));
        }
    }
    Ok(())
}

/// Decompresses as much as there is, and gives the reason why it ends too early if it does.
fn decompress(
    body: &Body<'_>,
    known_bytes: u64,
    buffer: &mut Vec<u8>,
    limits: &Limits,
) -> Result<Option<ReadError>, (&'static str, ReadError)> {
    let found = body.chunk.uncompressed_size;
    let limit = limits.value_bytes_max.min(known_bytes);
    let over = |found| {
        let kind = ReadErrorKind::OverLimit { found, limit };
        ("chunk-limit", kind.error_at("uncompressed size", body.chunk.offset))
    };
    if found > limit {
        return Err(over(found));
    }
    buffer.clear();
    // One byte more than stated is enough to know that there are too many.
    let most = found.saturating_add(1);
    let read = match &body.chunk.compression {
        Compression::Zstd => zstd::Decoder::with_buffer(body.records).and_then(|mut decoder| {
            decoder.window_log_max(window_log_max(limits.value_bytes_max))?;
            decoder.take(most).read_to_end(buffer)
        }),
        Compression::Lz4 => lz4::Decoder::new(body.records)
            .and_then(|decoder| decoder.take(most).read_to_end(buffer)),
        Compression::None => Ok(0),
        Compression::Other(name) => {
            let why = format!("{} is not known", kymo_core::shortened(name));
            return Err(("compression", body.invalid("compression", why)));
        }
    };
    let name = body.chunk.compression.name();
    let failed = |error| body.invalid("chunk", format!("its {name} data is damaged: {error}"));
    Ok(read.err().map(failed))
}

/// Returns the distance that Zstandard may refer back, as a power of two: a few values of the
/// largest size.
fn window_log_max(limit: u64) -> u32 {
    (limit.max(1).ilog2() + 3).clamp(20, 27)
}
