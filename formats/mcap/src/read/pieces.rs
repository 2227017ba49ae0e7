//! The data section as a list of pieces: chunks, attachments, metadata, and runs of loose records.

use std::collections::BTreeMap;
use std::ops::Range;

use kymo_core::bytes::{Limits, ReadError};
use kymo_core::{Finding, Severity};

use super::chunk;
use super::faults::Faults;
use super::record::{Frame, cursor_at, is_content};
use super::summary::IndexedRecord;
use crate::spec::{self, op};
use crate::types::Chunk;

/// A part of the data section that is read at once.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    /// A chunk.
    Chunk(Chunk),
    /// Schemas, channels, messages and private records outside of chunks.
    Loose(Range<u64>),
    /// An attachment.
    Attachment(Range<u64>),
    /// Metadata.
    Metadata(Range<u64>),
    /// Bytes that cannot be read.
    Lost,
}

impl Piece {
    /// An attachment or metadata, by its opcode.
    pub(crate) fn from_opcode(opcode: u8, start: u64, length: u64) -> Self {
        let range = start..start.saturating_add(length);
        if opcode == op::ATTACHMENT { Self::Attachment(range) } else { Self::Metadata(range) }
    }
}

/// Results of walking through the data section.
#[derive(Debug, Default)]
pub(crate) struct DataSection {
    pub(crate) pieces: Vec<Piece>,
    /// The body of the header, if the first record is one.
    pub(crate) header: Option<Range<u64>>,
    /// Offset of the data end record.
    pub(crate) data_end: Option<u64>,
}

/// Walks from record to record, and leaps over what an index tells.
pub(crate) struct Indexing<'a> {
    bytes: &'a [u8],
    /// Pieces of the data section as given by an index.
    known: &'a BTreeMap<u64, IndexedRecord>,
    /// True if what it tells may be taken without a look.
    is_trusted: bool,
    faults: &'a Faults,
    items_max: u64,
    found: DataSection,
}

impl<'a> Indexing<'a> {
    /// Of a data section that is the end of `bytes`.
    pub(crate) fn new(
        bytes: &'a [u8],
        known: &'a BTreeMap<u64, IndexedRecord>,
        is_trusted: bool,
        faults: &'a Faults,
        limits: &Limits,
    ) -> Self {
        let found = DataSection::default();
        Self { bytes, known, is_trusted, faults, items_max: limits.items_max, found }
    }

    /// Walks to the end of the data section.
    pub(crate) fn run(mut self) -> DataSection {
        let mut offset = spec::MAGIC.len() as u64;
        while offset < self.bytes.len() as u64 && self.found.data_end.is_none() {
            if self.found.pieces.len() as u64 > self.items_max {
                let why = format!(
                    "the index has room for {} records; the rest is not read",
                    self.items_max
                );
                self.faults.push(Finding::at_offset(Severity::Error, "items", offset, why));
                break;
            }
            offset = match self.step(offset) {
                Ok(next) => next,
                Err(error) => {
                    let Some(next) = self.resume(offset, &error) else { break };
                    next
                }
            };
        }
        self.found
    }

    /// Takes the record at an offset, and tells where the next one is.
    fn step(&mut self, offset: u64) -> Result<u64, ReadError> {
        if let Some(known) = self.known.get(&offset).filter(|_| self.is_trusted) {
            self.found.pieces.push(known.piece.clone());
            return Ok(known.end);
        }
        let frame = Frame::read(&mut cursor_at(self.bytes, offset))?;
        let end = frame.end();
        match frame.opcode {
            op::HEADER if offset == spec::MAGIC.len() as u64 => {
                self.found.header = Some(offset..end);
            }
            op::CHUNK => self.chunk(offset),
            op::ATTACHMENT | op::METADATA => {
                self.found.pieces.push(Piece::from_opcode(frame.opcode, offset, end - offset));
            }
            op::DATA_END => self.found.data_end = Some(offset),
            op::MESSAGE_INDEX => {}
            opcode if is_content(opcode) => self.loose(offset..end),
            opcode => self.out_of_place(opcode, offset),
        }
        Ok(end)
    }

    fn chunk(&mut self, offset: u64) {
        match chunk::header(self.bytes, offset) {
            Ok(chunk) => self.found.pieces.push(Piece::Chunk(chunk)),
            Err(error) => {
                self.faults.push(Finding::unreadable("chunk", &error));
                self.found.pieces.push(Piece::Lost);
            }
        }
    }

    fn loose(&mut self, range: Range<u64>) {
        match self.found.pieces.last_mut() {
            Some(Piece::Loose(run)) if run.end == range.start => run.end = range.end,
            _ => self.found.pieces.push(Piece::Loose(range)),
        }
    }

    fn out_of_place(&self, opcode: u8, offset: u64) {
        let is_unknown = (0x10..spec::PRIVATE).contains(&opcode);
        let (severity, rule, why) = if is_unknown {
            (Severity::Note, "opcode", format!("{opcode:#04x} is not known, and passed over"))
        } else {
            let name = spec::record_name(opcode);
            (Severity::Warning, "record-order", format!("a {name} in the data section"))
        };
        self.faults.push(Finding::at_offset(severity, rule, offset, why));
    }

    /// Returns the offset at which to go on when there is no whole record at an offset: where the
    /// index knows of the next, or with what is left of a chunk that the file ends in.
    fn resume(&mut self, offset: u64, error: &ReadError) -> Option<u64> {
        if let Some(known) = self.known.get(&offset).filter(|_| self.is_chunk(offset)) {
            // Reading the chunk finds that its length is wrong.
            self.found.pieces.push(known.piece.clone());
            return Some(known.end);
        }
        let next = self.known.range(offset + 1..).find(|(start, known)| {
            let opcode = match known.piece {
                Piece::Chunk(_) => op::CHUNK,
                Piece::Attachment(_) => op::ATTACHMENT,
                _ => op::METADATA,
            };
            Frame::expect(self.bytes, **start, opcode).is_ok()
        });
        let next = next.map(|(start, _)| *start);
        let until = next.unwrap_or(self.bytes.len() as u64);
        let chunk = if next.is_none() { self.rest_of_chunk(offset) } else { None };
        let outcome = match &chunk {
            Some(_) => "what is left of it is read".to_owned(),
            None => format!("bytes passed over: {}", until - offset),
        };
        let ReadError { what, offset: at, kind } = error;
        let why = format!("{what} at byte {at:#x}: {kind}; {outcome}");
        self.faults.push(Finding::at_offset(Severity::Error, "record", offset, why));
        self.found.pieces.push(chunk.map_or(Piece::Lost, Piece::Chunk));
        next
    }

    /// A chunk that the data section ends in.
    fn rest_of_chunk(&self, offset: u64) -> Option<Chunk> {
        if !self.is_chunk(offset) {
            return None;
        }
        chunk::header(self.bytes, offset).ok()
    }

    fn is_chunk(&self, offset: u64) -> bool {
        let opcode = usize::try_from(offset).ok().and_then(|at| self.bytes.get(at));
        opcode == Some(&op::CHUNK)
    }
}
