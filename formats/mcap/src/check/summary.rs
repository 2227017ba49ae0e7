//! Rules of the summary: what it repeats, counts and points at is there.

use std::collections::BTreeMap;

use kymo_core::bytes::ReadResult;
use kymo_core::{Finding, Severity};

use super::chunks::message_indexes;
use crate::Reader;
use crate::read::record::{self, Frame, cursor_at};
use crate::read::{ChunkIndex, Footer, PlaceIndex};
use crate::spec::{self, op};
use crate::types::{Chunk, Statistics};

/// Checks the summary against what the data section has.
pub(super) fn check(reader: &Reader, found: &Statistics) {
    let is_whole = !reader.findings().iter().any(|f| f.severity == Severity::Error);
    let summary = reader.summary();
    if let (Some((offset, stated)), true) = (&summary.statistics, is_whole) {
        statistics(reader, *offset, stated, found);
    }
    definitions(reader);
    let chunks: BTreeMap<_, _> = reader.chunks().map(|chunk| (chunk.offset, chunk)).collect();
    summary.chunks.iter().for_each(|index| chunk_index(reader, index, &chunks));
    summary.places.iter().for_each(|index| place_index(reader, index));
    let indexed = summary.chunks.len();
    if indexed > 0 && indexed != chunks.len() && is_whole {
        let why = format!("chunks: {indexed} indexed, {} found", chunks.len());
        reader.faults().push(Finding::for_whole_file(Severity::Error, "chunk-index", why));
    }
    let offsets = reader.footer().map(|footer| summary_offsets(reader, footer));
    if let Some(Err(error)) = offsets {
        reader.faults().push(Finding::unreadable("summary-offset", &error));
    }
}

fn statistics(reader: &Reader, offset: u64, stated: &Statistics, found: &Statistics) {
    let numbers = |this_statistics: &Statistics| {
        [
            ("messages", this_statistics.message_count),
            ("schemas", this_statistics.schema_count),
            ("channels", this_statistics.channel_count),
            ("attachments", this_statistics.attachment_count),
            ("records of metadata", this_statistics.metadata_count),
            ("chunks", this_statistics.chunk_count),
            ("earliest time", this_statistics.message_start_time),
            ("latest time", this_statistics.message_end_time),
        ]
    };
    let mut differences = Vec::new();
    for ((what, stated), (_, found)) in numbers(stated).into_iter().zip(numbers(found)) {
        if stated != found {
            differences.push(format!("{what}: {stated} stated, {found} found"));
        }
    }
    // A channel without messages may be left out or counted as 0.
    let some = |this_statistics: &Statistics| {
        let mut counts = this_statistics.channel_message_counts.clone();
        counts.retain(|_, count| *count > 0);
        counts
    };
    if !stated.channel_message_counts.is_empty() && some(stated) != some(found) {
        differences.push("messages of single channels: counted otherwise".to_owned());
    }
    for why in differences {
        reader.faults().push(Finding::at_offset(Severity::Warning, "statistics", offset, why));
    }
}

/// Checks that what the summary repeats is the same as in the data section.
fn definitions(reader: &Reader) {
    let summary = reader.summary();
    let differ = |what: &str, id: u16, offset: u64| {
        let why = format!("{what} {id} is defined otherwise in the data section");
        reader.faults().push(Finding::at_offset(Severity::Error, "conflict", offset, why));
    };
    for (offset, schema) in summary.schemas.values() {
        if reader.schemas().get(&schema.id).is_some_and(|first| first != schema) {
            differ("schema", schema.id, *offset);
        }
    }
    for (offset, channel) in summary.channels.values() {
        if reader.channels().get(&channel.id).is_some_and(|first| first != channel) {
            differ("channel", channel.id, *offset);
        }
    }
}

/// A chunk index agrees with the chunk and with the message indexes after it.
fn chunk_index(reader: &Reader, index: &ChunkIndex, chunks: &BTreeMap<u64, &Chunk>) {
    let error = |why: String| {
        reader.faults().push(Finding::at_offset(Severity::Error, "chunk-index", index.offset, why));
    };
    let at = index.chunk.offset;
    let Some(chunk) = chunks.get(&at) else {
        return error(format!("there is no chunk at {at:#x}"));
    };
    if **chunk != index.chunk {
        error(format!("the chunk at {at:#x} says otherwise of itself"));
    }
    let first = chunk.offset.saturating_add(chunk.length);
    let Ok((end, _)) = message_indexes(reader.data_section(), first) else { return };
    if end - first != index.index_length {
        let (found, stated) = (end - first, index.index_length);
        error(format!("bytes of message indexes: {stated} stated, {found} found"));
    }
    for (channel, offset) in &index.index_offsets {
        let frame = Frame::expect(reader.data_section(), *offset, op::MESSAGE_INDEX);
        let found = frame.and_then(|frame| record::message_index(frame.body).map(|(id, _)| id));
        if found != Ok(*channel) || !(first..end).contains(offset) {
            error(format!("there is no message index of channel {channel} at {offset:#x}"));
        }
    }
}

fn place_index(reader: &Reader, index: &PlaceIndex) {
    let frame = Frame::expect(reader.data_section(), index.start, index.opcode);
    if frame.is_ok_and(|frame| frame.end() - index.start == index.length) {
        return;
    }
    let (rule, name) = match index.opcode {
        op::ATTACHMENT => ("attachment-index", "attachment"),
        _ => ("metadata-index", "metadata"),
    };
    let why = format!("there is no {name} of {} bytes at {:#x}", index.length, index.start);
    reader.faults().push(Finding::at_offset(Severity::Error, rule, index.offset, why));
}

/// The groups of the summary are where the summary offsets say.
fn summary_offsets(reader: &Reader, footer: &Footer) -> ReadResult<()> {
    if footer.summary_offset_start == 0 {
        return Ok(());
    }
    let mut cursor = cursor_at(reader.bytes(), footer.summary_offset_start);
    while cursor.offset() < footer.offset {
        let mut frame = Frame::read(&mut cursor)?;
        if frame.opcode != op::SUMMARY_OFFSET {
            continue;
        }
        let opcode = frame.body.u8("group opcode")?;
        let (start, length) = (frame.body.u64("group start")?, frame.body.u64("group length")?);
        let is_within = start.checked_add(length).is_some_and(|end| end <= footer.offset);
        if !is_within || Frame::expect(reader.bytes(), start, opcode).is_err() {
            let why = format!("there is no {} at {start:#x}", spec::record_name(opcode));
            let finding = Finding::at_offset(Severity::Error, "summary-offset", frame.offset, why);
            reader.faults().push(finding);
        }
    }
    Ok(())
}
