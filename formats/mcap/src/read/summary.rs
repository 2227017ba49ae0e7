//! The end of a file: its footer, and the summary that the footer points at.

use std::collections::BTreeMap;

use kymo_core::bytes::{Endian, ReadError, ReadResult};
use kymo_core::{Finding, Severity};

use super::faults::Faults;
use super::pieces::Piece;
use super::record::{self, Frame, cursor_at};
use crate::spec::{FOOTER_BYTES, FRAME_BYTES, MAGIC, op};
use crate::types::{Channel, Chunk, Schema, Statistics};

/// The last record of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Footer {
    /// Its first byte.
    pub(crate) offset: u64,
    /// Offset at which the summary section begins; 0 when there is none.
    pub(crate) summary_start: u64,
    /// Offset at which the summary offset section begins; 0 when there is none.
    pub(crate) summary_offset_start: u64,
    /// The checksum of both and of the footer so far; 0 when there is none.
    pub(crate) summary_crc: u32,
}

impl Footer {
    /// Reads the footer, which stands before the magic at the end of a file.
    pub(crate) fn read(bytes: &[u8]) -> ReadResult<Self> {
        let size = bytes.len() as u64;
        let end = size.saturating_sub(MAGIC.len() as u64);
        if !bytes.ends_with(MAGIC) || size < 2 * MAGIC.len() as u64 {
            let why = "there is none: the writer was stopped, or the end was cut off";
            return Err(ReadError::invalid("magic at the end", size, why));
        }
        let offset = end.saturating_sub(FRAME_BYTES + FOOTER_BYTES);
        let mut frame = Frame::expect(bytes, offset, op::FOOTER)?;
        if frame.end() != end {
            return Err(ReadError::invalid("footer", offset, "it does not end the file"));
        }
        Ok(Self {
            offset,
            summary_start: frame.body.u64("summary start")?,
            summary_offset_start: frame.body.u64("summary offset start")?,
            summary_crc: frame.body.u32("summary crc")?,
        })
    }

    /// The byte after the data section, if the footer is right.
    pub(crate) fn data_end(&self) -> u64 {
        match self.summary_start {
            0 => self.offset,
            start => start.min(self.offset),
        }
    }

    /// The checksum that the summary has.
    pub(crate) fn computed_crc(&self, bytes: &[u8]) -> u32 {
        // Everything before the checksum itself.
        let end = self.offset + FRAME_BYTES + FOOTER_BYTES - 4;
        let range = [self.data_end(), end].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
        crc32fast::hash(bytes.get(range[0]..range[1]).unwrap_or_default())
    }
}

/// Piece at an offset of the data section, as given by an index.
#[derive(Debug, Clone)]
pub(crate) struct IndexedRecord {
    pub(crate) piece: Piece,
    /// The byte after it and after what belongs to it.
    pub(crate) end: u64,
}

/// A chunk index: where it stands, and what it says.
#[derive(Debug, Clone)]
pub(crate) struct ChunkIndex {
    pub(crate) offset: u64,
    pub(crate) chunk: Chunk,
    pub(crate) index_offsets: BTreeMap<u16, u64>,
    pub(crate) index_length: u64,
}

/// An index of an attachment or of metadata: where it stands, and what it points at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlaceIndex {
    pub(crate) offset: u64,
    pub(crate) opcode: u8,
    pub(crate) start: u64,
    pub(crate) length: u64,
}

/// The summary section: what it repeats, and its indexes.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) schemas: BTreeMap<u16, (u64, Schema)>,
    pub(crate) channels: BTreeMap<u16, (u64, Channel)>,
    pub(crate) chunks: Vec<ChunkIndex>,
    pub(crate) places: Vec<PlaceIndex>,
    pub(crate) statistics: Option<(u64, Statistics)>,
    /// True if its checksum is there and right, and all of it could be read.
    pub(crate) is_trusted: bool,
}

impl Summary {
    /// Reads the summary that a footer points at; what cannot be read is a fault.
    pub(crate) fn read(bytes: &[u8], footer: &Footer, items_max: u64, faults: &Faults) -> Self {
        let mut summary = Self { is_trusted: footer.summary_crc != 0, ..Self::default() };
        if footer.summary_crc != 0 && footer.computed_crc(bytes) != footer.summary_crc {
            summary.is_trusted = false;
            let (stated, found) = (footer.summary_crc, footer.computed_crc(bytes));
            let why = format!("{stated:#010x} is stated, and the summary has {found:#010x}");
            let at = footer.offset + FRAME_BYTES + FOOTER_BYTES - 4;
            faults.push(Finding::at_offset(Severity::Error, "summary-crc", at, why));
        }
        let read = match footer.summary_start {
            0 => Ok(()),
            _ => summary.read_records(bytes, footer, items_max),
        };
        if let Err(error) = read {
            summary.is_trusted = false;
            faults.push(Finding::unreadable("summary", &error));
        }
        summary
    }

    fn read_records(&mut self, bytes: &[u8], footer: &Footer, items_max: u64) -> ReadResult<()> {
        if footer.summary_start > footer.offset {
            let at = footer.offset + FRAME_BYTES;
            return Err(ReadError::invalid("summary start", at, "it is not before the footer"));
        }
        let end = match footer.summary_offset_start {
            0 => footer.offset,
            start => start.min(footer.offset),
        };
        let section = cursor_at(bytes, footer.summary_start);
        let length = usize::try_from(end.saturating_sub(section.offset())).unwrap_or(0);
        let section_bytes = section.remaining_bytes().get(..length).unwrap_or_default();
        let mut cursor =
            kymo_core::bytes::Cursor::with_offset(section_bytes, section.offset(), Endian::Little);
        let mut items = 0_u64;
        while cursor.remaining() > 0 {
            self.take(&Frame::read(&mut cursor)?)?;
            items += 1;
            if items > items_max {
                let why = format!("it has more than {items_max} records");
                return Err(ReadError::invalid("summary", cursor.offset(), why));
            }
        }
        Ok(())
    }

    fn take(&mut self, frame: &Frame<'_>) -> ReadResult<()> {
        let (offset, body) = (frame.offset, frame.body.clone());
        match frame.opcode {
            op::SCHEMA => {
                let schema = record::schema(body)?;
                self.schemas.entry(schema.id).or_insert((offset, schema));
            }
            op::CHANNEL => {
                let channel = record::channel(body)?;
                self.channels.entry(channel.id).or_insert((offset, channel));
            }
            op::CHUNK_INDEX => {
                let (chunk, index_offsets, index_length) = record::chunk_index(body)?;
                self.chunks.push(ChunkIndex { offset, chunk, index_offsets, index_length });
            }
            op::ATTACHMENT_INDEX | op::METADATA_INDEX => {
                let mut body = body;
                let (start, length) = (body.u64("record offset")?, body.u64("record length")?);
                let opcode = match frame.opcode {
                    op::ATTACHMENT_INDEX => op::ATTACHMENT,
                    _ => op::METADATA,
                };
                self.places.push(PlaceIndex { offset, opcode, start, length });
            }
            op::STATISTICS => self.statistics = Some((offset, record::statistics(body)?)),
            // Others may be there and say nothing that is needed.
            _ => {}
        }
        Ok(())
    }

    /// Returns true if it names every schema and every channel of the file.
    pub(crate) fn is_complete(&self) -> bool {
        self.statistics.as_ref().is_some_and(|(_, statistics)| {
            statistics.schema_count == self.schemas.len() as u64
                && statistics.channel_count == self.channels.len() as u64
        })
    }

    /// Returns the pieces of the data section by the byte at which they start. Entries that make no
    /// sense are left out: their pieces are found by walking.
    pub(crate) fn indexed_records(&self, data_end: u64) -> BTreeMap<u64, IndexedRecord> {
        let chunks = self.chunks.iter().map(|index| {
            let chunk_end = index.chunk.offset.checked_add(index.chunk.length);
            let end = chunk_end.and_then(|end| end.checked_add(index.index_length));
            (index.chunk.offset, end, Piece::Chunk(index.chunk.clone()))
        });
        let places = self.places.iter().map(|place| {
            let piece = Piece::from_opcode(place.opcode, place.start, place.length);
            (place.start, place.start.checked_add(place.length), piece)
        });
        let sensible = chunks.chain(places).filter_map(|(start, end, piece)| {
            let end = end.filter(|end| *end <= data_end && *end >= start + FRAME_BYTES)?;
            (start >= MAGIC.len() as u64).then_some((start, IndexedRecord { piece, end }))
        });
        sensible.collect()
    }
}
