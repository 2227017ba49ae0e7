//! Rules of a chunk: its times, and the message indexes that follow it.

use kymo_core::bytes::ReadResult;
use kymo_core::{Finding, Severity};

use crate::Reader;
use crate::read::record::{self, Frame, cursor_at};
use crate::spec::op;
use crate::types::{Chunk, Message};

/// A message of a chunk, as a message index names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct IndexedMessage {
    channel_id: u16,
    offset: u64,
    log_time: u64,
}

impl IndexedMessage {
    pub(super) fn new(message: &Message, offset: u64) -> Self {
        Self { channel_id: message.channel_id, offset, log_time: message.log_time }
    }
}

/// Checks a chunk whose messages were read.
pub(super) fn check(reader: &Reader, chunk: &Chunk, messages: Vec<IndexedMessage>) {
    times(reader, chunk, &messages);
    match message_indexes(reader.data_section(), chunk.offset + chunk.length) {
        Ok((_, indexed)) if indexed.is_empty() => {}
        Ok((_, indexed)) => compare(reader, chunk, messages, indexed),
        Err(error) => reader.faults().push(Finding::unreadable("message-index", &error)),
    }
}

/// No message is outside of the times that the chunk says.
fn times(reader: &Reader, chunk: &Chunk, messages: &[IndexedMessage]) {
    let (start, end) = (chunk.message_start_time, chunk.message_end_time);
    let is_outside = |message: &&IndexedMessage| !(start..=end).contains(&message.log_time);
    let outside = messages.iter().filter(is_outside).count();
    if outside > 0 {
        let all = messages.len();
        let why =
            format!("{outside} of {all} messages outside of the time stated, {start} to {end}");
        reader.faults().push(Finding::at_offset(Severity::Error, "chunk-times", chunk.offset, why));
    }
}

/// The entries of the message indexes from an offset on, and the byte after them.
pub(super) fn message_indexes(bytes: &[u8], offset: u64) -> ReadResult<(u64, Vec<IndexedMessage>)> {
    let mut cursor = cursor_at(bytes, offset);
    let mut indexed = Vec::new();
    let mut end = offset;
    while cursor.remaining_bytes().first() == Some(&op::MESSAGE_INDEX) {
        let frame = Frame::read(&mut cursor)?;
        end = frame.end();
        let (channel_id, entries) = record::message_index(frame.body)?;
        for entry in entries {
            let (log_time, offset) = entry?;
            indexed.push(IndexedMessage { channel_id, offset, log_time });
        }
    }
    Ok((end, indexed))
}

/// Every message is indexed, and every entry is of a message.
fn compare(
    reader: &Reader,
    chunk: &Chunk,
    mut messages: Vec<IndexedMessage>,
    mut indexed: Vec<IndexedMessage>,
) {
    messages.sort_unstable();
    indexed.sort_unstable();
    let lacks = |indexed_messages: &[IndexedMessage], from: &[IndexedMessage]| {
        indexed_messages.iter().filter(|one| from.binary_search(one).is_err()).count()
    };
    let (missing, stray) = (lacks(&messages, &indexed), lacks(&indexed, &messages));
    if missing + stray > 0 {
        let (all, entries) = (messages.len(), indexed.len());
        let why = format!(
            "{missing} of {all} messages not indexed, {stray} of {entries} entries of no message"
        );
        let at = chunk.offset + chunk.length;
        reader.faults().push(Finding::at_offset(Severity::Error, "message-index", at, why));
    }
}
