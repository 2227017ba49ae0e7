//! Bytes to types: the footer and the summary, the pieces of the data section, their records.

pub(crate) mod chunk;
mod faults;
mod pieces;
pub(crate) mod record;
mod summary;
mod survey;
mod walk;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use kymo_core::bytes::{Limits, ReadError, ReadResult};
use kymo_core::{Context, Finding, Result, Severity, Source};

use crate::spec::{MAGIC, op};
use crate::types::{Channel, Chunk, Compression, Header, Schema, Statistics};
use faults::Faults;
use pieces::Indexing;
use record::Frame;

pub(crate) use pieces::Piece;
pub(crate) use summary::{ChunkIndex, Footer, PlaceIndex, Summary};
pub(crate) use survey::Survey;
pub(crate) use walk::{Body, Item, Walk};

/// Part that is taken without looking at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// A summary whose checksum is right.
    Summary,
    Nothing,
}

/// An open file: where its pieces are, its schemas and channels. Messages are read when they are
/// asked for.
///
/// With a sound summary nothing else is read to open a file; without one, every chunk is.
#[derive(Debug)]
pub struct Reader {
    bytes: Bytes,
    limits: Limits,
    header: Header,
    footer: Option<Footer>,
    summary: Summary,
    pieces: Vec<Piece>,
    /// End of the data section, in front of the data end record, if that was found.
    data_end: Option<u64>,
    /// The byte after all that pieces can be in.
    data_limit: usize,
    survey: Survey,
    faults: Faults,
}

impl Reader {
    /// Opens a file. One without its end is opened too, and that it is so is a finding.
    pub fn open(source: &Source, context: &Context<'_>) -> Result<Arc<Self>> {
        let bytes = source.bytes()?;
        if !bytes.starts_with(MAGIC) {
            return Err(bad_magic(&bytes).into());
        }
        Ok(Arc::new(Self::index(bytes, context, Trust::Summary)))
    }

    /// Opens what can be read of a file, whatever it is.
    pub fn salvage(source: &Source, context: &Context<'_>) -> Result<Arc<Self>> {
        Ok(Arc::new(Self::index(source.bytes()?, context, Trust::Summary)))
    }

    /// Like [`salvage`](Self::salvage), and takes nothing on the word of an index.
    pub(crate) fn distrust(source: &Source, context: &Context<'_>) -> Result<Arc<Self>> {
        Ok(Arc::new(Self::index(source.bytes()?, context, Trust::Nothing)))
    }

    fn index(bytes: Bytes, context: &Context<'_>, belief: Trust) -> Self {
        let limits = context.limits;
        let faults = Faults::new(&limits);
        if !bytes.starts_with(MAGIC) {
            faults.push(Finding::unreadable("magic", &bad_magic(&bytes)));
        }
        let footer = Footer::read(&bytes);
        let footer = footer.map_err(|error| faults.push(Finding::unreadable("no-end", &error)));
        let footer = footer.ok();
        let summary = footer.as_ref().map(|f| Summary::read(&bytes, f, limits.items_max, &faults));
        let summary = summary.unwrap_or_default();
        let data_limit = match &footer {
            Some(footer) if summary.is_trusted => footer.data_end(),
            Some(footer) => footer.offset,
            None => bytes.len() as u64,
        };
        let is_believed = summary.is_trusted && belief == Trust::Summary;
        let known = summary.indexed_records(data_limit);
        let data_limit = usize::try_from(data_limit).unwrap_or(usize::MAX).min(bytes.len());
        let data = bytes.get(..data_limit).unwrap_or_default();
        let indexing = Indexing::new(data, &known, is_believed, &faults, &limits);
        let found = indexing.run();
        if let (None, Some(footer)) = (found.data_end, &footer) {
            let why = "there is no data end record before the summary";
            faults.push(Finding::at_offset(Severity::Error, "data-end", footer.data_end(), why));
        }
        let header = header(&bytes, found.header.map(|range| range.start), &faults);
        let (mut pieces, data_end) = (found.pieces, found.data_end);
        limit_decompressed_size(&mut pieces, bytes.len() as u64, &limits, &faults);
        let survey = Survey::default();
        let mut reader = Self {
            bytes,
            limits,
            header,
            footer,
            summary,
            pieces,
            data_end,
            data_limit,
            survey,
            faults,
        };
        reader.survey = reader.make_survey(is_believed);
        reader
    }

    /// Finds schemas and channels: in the summary if that may be trusted, else everywhere.
    fn make_survey(&self, is_believed: bool) -> Survey {
        let survey = if is_believed && self.summary.is_complete() {
            Survey::from_summary(&self.summary)
        } else {
            Survey::from_walk(self, &self.summary)
        };
        let items = self.pieces.len() as u64 + survey.definitions();
        if items > self.limits.items_max {
            let why = format!("{items} records are over the limit of {}", self.limits.items_max);
            self.faults.push(Finding::for_whole_file(Severity::Error, "items", why));
        }
        survey
    }

    /// Returns the header: the writer of the file.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The schemas, by id.
    #[must_use]
    pub fn schemas(&self) -> &BTreeMap<u16, Schema> {
        &self.survey.schemas
    }

    /// The channels, by id.
    #[must_use]
    pub fn channels(&self) -> &BTreeMap<u16, Channel> {
        &self.survey.channels
    }

    /// The chunks, in the order of the file.
    pub fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Chunk(chunk) => Some(chunk),
            _ => None,
        })
    }

    /// Returns the statistics of the summary, where it has them.
    #[must_use]
    pub fn statistics(&self) -> Option<&Statistics> {
        self.summary.statistics.as_ref().map(|(_, statistics)| statistics)
    }

    /// Returns the number of messages: counted, or as the summary has it.
    #[must_use]
    pub fn message_count(&self) -> u64 {
        self.survey.messages()
    }

    /// Returns the findings about the file as far as it was read.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.faults.to_vec()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes that pieces are in.
    pub(crate) fn data_section(&self) -> &[u8] {
        self.bytes.get(..self.data_limit).unwrap_or_default()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    pub(crate) fn survey(&self) -> &Survey {
        &self.survey
    }

    pub(crate) fn summary(&self) -> &Summary {
        &self.summary
    }

    pub(crate) fn footer(&self) -> Option<&Footer> {
        self.footer.as_ref()
    }

    pub(crate) fn data_end(&self) -> Option<u64> {
        self.data_end
    }

    pub(crate) fn faults(&self) -> &Faults {
        &self.faults
    }
}

/// So many times as many bytes as a file has may be decompressed of it …
const DECOMPRESSED_FACTOR: u64 = 1000;

/// … and in any case this many times the largest chunk: what repeats itself compresses without
/// bounds, and is sound.
const DECOMPRESSED_CHUNKS: u64 = 4;

/// Gives up chunks that say to have more decompressed, with those before them, than a command can be
/// kept busy with: of a small file by all that it may hold, of a large one in proportion to it.
fn limit_decompressed_size(
    pieces: &mut [Piece],
    size_bytes: u64,
    limits: &Limits,
    faults: &Faults,
) {
    let in_any_case = limits.value_bytes_max.saturating_mul(DECOMPRESSED_CHUNKS);
    let limit = size_bytes.saturating_mul(DECOMPRESSED_FACTOR).saturating_add(in_any_case);
    let mut sum = 0_u64;
    for piece in pieces {
        let Piece::Chunk(chunk) = piece else { continue };
        let found = chunk.uncompressed_size;
        // One that is too large by itself is refused when it is read.
        if chunk.compression == Compression::None || found > limits.value_bytes_max {
            continue;
        }
        if sum.saturating_add(found) <= limit {
            sum += found;
            continue;
        }
        let why = format!(
            "its {found} bytes decompressed, and those of chunks before it, are more than \
             {in_any_case} bytes and {DECOMPRESSED_FACTOR} times the file: it is not read"
        );
        faults.push(Finding::at_offset(Severity::Error, "chunk-limit", chunk.offset, why));
        *piece = Piece::Lost;
    }
}

fn bad_magic(bytes: &[u8]) -> ReadError {
    let why = if bytes.len() < MAGIC.len() { "the file ends in it" } else { "it is another" };
    ReadError::invalid("magic", 0, why)
}

fn header(bytes: &[u8], offset: Option<u64>, faults: &Faults) -> Header {
    let Some(offset) = offset else {
        let at = (MAGIC.len() as u64).min(bytes.len() as u64);
        let why = "the first record is not a header";
        faults.push(Finding::at_offset(Severity::Error, "header", at, why));
        return Header::default();
    };
    let header = Frame::expect(bytes, offset, op::HEADER).and_then(|f| record::header(f.body));
    header.unwrap_or_else(|error| {
        faults.push(Finding::unreadable("header", &error));
        Header::default()
    })
}

/// The checksum of the data section, as its end record states it.
pub(crate) fn data_crc(bytes: &[u8], offset: u64) -> ReadResult<u32> {
    Frame::expect(bytes, offset, op::DATA_END)?.body.u32("data section crc")
}
