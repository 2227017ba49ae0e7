//! Goes through schemas, channels, messages, attachments and metadata in the order of the file.

use std::borrow::Borrow;
use std::ops::Range;

use kymo_core::Finding;
use kymo_core::bytes::{Cursor, Endian, ReadError, ReadResult};

use super::Reader;
use super::chunk::{self, Content};
use super::pieces::Piece;
use super::record::{self, Frame};
use crate::spec::{self, op};
use crate::types::{Attachment, Channel, Message, Metadata, Schema};

/// A record with a meaning of its own, and where it is.
#[derive(Debug)]
pub(crate) struct Item {
    /// Its first byte; of a compressed chunk, that of the chunk.
    pub(crate) offset: u64,
    pub(crate) body: Body,
}

/// Content of a record. Payloads are ranges of [`Walk::data`].
#[derive(Debug)]
pub(crate) enum Body {
    Schema(Schema),
    Channel(Channel),
    Message(Message),
    Attachment(Attachment),
    Metadata(Metadata),
    Private { opcode: u8, data: Range<usize> },
}

/// Position of a walk within a piece.
#[derive(Debug, Clone, Default)]
struct Place {
    at: usize,
    end: usize,
    /// Start of the records of this piece.
    start: usize,
    /// The record that was given last.
    given: usize,
    /// The chunk whose decompressed records these are.
    buffered: Option<u64>,
    is_chunk: bool,
}

/// A walk through pieces. What is damaged is passed over, and said to the reader's faults.
#[derive(Debug)]
pub(crate) struct Walk<R> {
    reader: R,
    pieces: Range<usize>,
    place: Place,
    /// Passes over chunks that have nothing from here on …
    from: u64,
    /// … and before here.
    until: Option<u64>,
    buffer: Vec<u8>,
    has_damage: bool,
    /// True if something was passed over since that was asked last, and more comes behind it.
    is_lacking: bool,
}

impl<R: Borrow<Reader>> Walk<R> {
    /// Through everything.
    pub(crate) fn new(reader: R) -> Self {
        let count = reader.borrow().pieces().len();
        Self::through(reader, 0..count)
    }

    /// Through some pieces.
    pub(crate) fn through(reader: R, pieces: Range<usize>) -> Self {
        let place = Place::default();
        let buffer = Vec::new();
        let (from, until, has_damage, is_lacking) = (0, None, false, false);
        Self { reader, pieces, place, from, until, buffer, has_damage, is_lacking }
    }

    /// Leaves out chunks that say to have no message of a time.
    pub(crate) fn in_time_range(self, from: u64, until: Option<u64>) -> Self {
        Self { from, until, ..self }
    }

    /// Bytes of the record that was given last.
    pub(crate) fn data(&self, range: &Range<usize>) -> &[u8] {
        self.bytes().get(range.clone()).unwrap_or_default()
    }

    /// Returns the offset of the record that was given last among those of its chunk.
    pub(crate) fn offset_in_chunk(&self) -> u64 {
        (self.place.given - self.place.start) as u64
    }

    /// Returns the position of the record that was given last in what is decompressed of its chunk;
    /// 0 where the file has it as it is.
    pub(crate) fn position(&self) -> u64 {
        self.place.buffered.map_or(0, |_| self.place.given as u64)
    }

    /// Returns true if the record that was given last is in a chunk.
    pub(crate) fn is_in_chunk(&self) -> bool {
        self.place.is_chunk
    }

    /// Returns true if something was passed over so far.
    pub(crate) fn has_damage(&self) -> bool {
        self.has_damage
    }

    /// Returns true if something was passed over since this was asked last, that is not the end of
    /// all.
    pub(crate) fn take_missing(&mut self) -> bool {
        std::mem::take(&mut self.is_lacking)
    }

    /// Something is passed over. What lacks its end was cut off: nothing is missing before anything.
    fn mark_skipped(&mut self) {
        self.has_damage = true;
        let is_within = self.place.at < self.place.end;
        self.is_lacking |= is_within || self.pieces.start < self.reader.borrow().pieces().len();
    }

    /// The next record.
    pub(crate) fn next(&mut self) -> Option<Item> {
        loop {
            while self.place.at < self.place.end {
                match self.record() {
                    Ok(Some(item)) => return Some(item),
                    Ok(None) => {}
                    Err(error) => self.fault(&error),
                }
            }
            let piece = self.pieces.next()?;
            self.enter(piece);
        }
    }

    fn bytes(&self) -> &[u8] {
        match self.place.buffered {
            Some(_) => &self.buffer,
            None => self.reader.borrow().bytes(),
        }
    }

    fn enter(&mut self, piece: usize) {
        self.place = Place::default();
        let reader = self.reader.borrow();
        match reader.pieces().get(piece) {
            Some(Piece::Chunk(chunk)) => {
                let is_after = chunk.message_end_time < self.from;
                let is_before = self.until.is_some_and(|until| until <= chunk.message_start_time);
                if !is_after && !is_before {
                    self.enter_chunk(chunk.offset, chunk.uncompressed_size);
                }
            }
            Some(Piece::Loose(range) | Piece::Attachment(range) | Piece::Metadata(range)) => {
                let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
                (self.place.at, self.place.end) = (at(range.start), at(range.end));
            }
            Some(Piece::Lost) => self.mark_skipped(),
            None => {}
        }
    }

    /// Decompresses a chunk that is known to have so many bytes then.
    fn enter_chunk(&mut self, offset: u64, bytes: u64) {
        let reader = self.reader.borrow();
        let (data, limits) = (reader.data_section(), reader.limits());
        let loaded = chunk::load(data, offset, bytes, &mut self.buffer, limits);
        self.place.is_chunk = true;
        let is_damaged = !matches!(loaded, Ok((_, None)));
        match loaded {
            Ok((content, damage)) => {
                (self.place.at, self.place.end, self.place.buffered) = match content {
                    Content::File(range) => (range.start, range.end, None),
                    Content::Buffer => (0, self.buffer.len(), Some(offset)),
                };
                self.place.start = self.place.at;
                if let Some((rule, error)) = damage {
                    reader.faults().push(Finding::unreadable(rule, &error));
                }
            }
            Err((rule, error)) => {
                reader.faults().push(Finding::unreadable(rule, &error));
                self.mark_skipped();
            }
        }
        self.has_damage |= is_damaged;
    }

    /// Reads the record at the place, and goes on to the next.
    fn record(&mut self) -> ReadResult<Option<Item>> {
        let Place { at, end, .. } = self.place;
        let rest = self.bytes().get(at..end).unwrap_or_default();
        let mut cursor = Cursor::with_offset(rest, at as u64, Endian::Little);
        let frame = Frame::read(&mut cursor);
        let is_whole = frame.is_ok();
        let body = frame.and_then(|frame| match frame.opcode {
            // They have no place in a chunk.
            op::ATTACHMENT | op::METADATA if self.place.is_chunk => Ok(None),
            _ => body(&frame),
        });
        let next = usize::try_from(cursor.offset()).unwrap_or(end);
        self.place.given = at;
        // A record that is not whole ends what can be read here.
        self.place.at = if is_whole { next } else { end };
        let offset = self.place.buffered.unwrap_or(at as u64);
        Ok(body?.map(|body| Item { offset, body }))
    }

    /// Says what is wrong. A place in decompressed records is none in the file.
    fn fault(&mut self, error: &ReadError) {
        self.mark_skipped();
        let mut finding = Finding::unreadable("record", error);
        if let Some(chunk) = self.place.buffered {
            finding.offset = Some(chunk);
            finding.message = format!("in a chunk, {}", finding.message);
        }
        self.reader.borrow().faults().push(finding);
    }
}

fn range_of(cursor: &Cursor<'_>) -> Range<usize> {
    let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
    at(cursor.offset())..at(cursor.offset() + cursor.remaining())
}

fn body(frame: &Frame<'_>) -> ReadResult<Option<Body>> {
    let body = frame.body.clone();
    Ok(Some(match frame.opcode {
        op::SCHEMA => Body::Schema(record::schema(body)?),
        op::CHANNEL => Body::Channel(record::channel(body)?),
        op::MESSAGE => Body::Message(message(body)?),
        op::ATTACHMENT => Body::Attachment(attachment(body)?),
        op::METADATA => Body::Metadata(record::metadata(body)?),
        opcode @ spec::PRIVATE.. => Body::Private { opcode, data: range_of(&body) },
        _ => return Ok(None),
    }))
}

fn message(mut body: Cursor<'_>) -> ReadResult<Message> {
    Ok(Message {
        channel_id: body.u16("channel id")?,
        sequence: body.u32("sequence")?,
        log_time: body.u64("log time")?,
        publish_time: body.u64("publish time")?,
        data: range_of(&body),
    })
}

fn attachment(mut body: Cursor<'_>) -> ReadResult<Attachment> {
    let log_time = body.u64("log time")?;
    let create_time = body.u64("create time")?;
    let name = record::text(&mut body, "attachment name")?;
    let media_type = record::text(&mut body, "media type")?;
    let length = body.u64("attachment data length")?;
    let data = range_of(&body.part("attachment data", length)?);
    let crc = body.u32("attachment crc")?;
    Ok(Attachment { log_time, create_time, name, media_type, data, crc })
}
