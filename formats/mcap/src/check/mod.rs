//! Rules across records: checksums, definitions, indexes, statistics.

mod chunks;
mod summary;

use std::collections::BTreeMap;
use std::sync::Arc;

use kymo_core::{Context, Error, Finding, Result, Severity, Source};
use kymo_model::timeline::{TimelineView as _, Window};

use crate::Reader;
use crate::model::{Timeline, note_orphans};
use crate::read::{Body, Item, Piece, Walk};
use crate::spec::FRAME_BYTES;
use crate::types::{Attachment, Channel, Message, Schema, Statistics};

use chunks::IndexedMessage;

/// Checks every rule, and adds what whoever trusts an index meets.
pub(crate) fn check(source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
    let reader = Reader::distrust(source, context)?;
    let message_count = check_rules(&reader);
    let is_trusted = reader.summary().is_trusted;
    let indexed = if is_trusted { Reader::salvage(source, context)? } else { Arc::clone(&reader) };
    match read_messages(&indexed) {
        // Whatever the bytes are, it is said and not failed with.
        Err(Error::Read(error)) => reader.faults().push(Finding::unreadable("messages", &error)),
        read => read?,
    }
    if is_trusted {
        reader.faults().adopt(indexed.findings());
    }
    let mut found = reader.findings();
    // What is sound and counts otherwise is a fault of the summary, and nothing is lost.
    if found.iter().any(|finding| finding.severity == Severity::Error) {
        found.extend(uncounted(&indexed, message_count));
    }
    Ok(found)
}

/// Reads every message, so that what is wrong with any is found.
fn read_messages(reader: &Arc<Reader>) -> Result<()> {
    let mut messages = Arc::new(Timeline::new(Arc::clone(reader))).events(&Window::default())?;
    while messages.next()?.is_some() {}
    Ok(())
}

/// Messages that the summary counts and that are not among so many that were read.
pub(crate) fn uncounted(reader: &Reader, messages: u64) -> Option<Finding> {
    let (offset, stated) = reader.summary().statistics.as_ref()?;
    let lost = stated.message_count.checked_sub(messages).filter(|lost| *lost > 0)?;
    if !reader.summary().is_trusted {
        return None;
    }
    let why = format!("messages that the summary counts and that are lost: {lost}");
    Some(Finding::at_offset(Severity::Error, "messages-lost", *offset, why))
}

/// Checks the rules, with a reader that has taken nothing on the word of an index. Tells how many
/// messages there are.
fn check_rules(reader: &Reader) -> u64 {
    let mut rules = Rules::new(reader);
    for index in 0..reader.pieces().len() {
        rules.piece(index);
    }
    note_orphans(reader);
    rules.data_crc();
    summary::check(reader, &rules.found);
    rules.found.message_count
}

/// The rules, and what they have seen.
struct Rules<'a> {
    reader: &'a Reader,
    schemas: BTreeMap<u16, Schema>,
    channels: BTreeMap<u16, Channel>,
    /// Channels that messages came on too early or without a definition.
    early: BTreeMap<u16, u64>,
    found: Statistics,
}

impl<'a> Rules<'a> {
    fn new(reader: &'a Reader) -> Self {
        Self {
            reader,
            schemas: BTreeMap::new(),
            channels: BTreeMap::new(),
            early: BTreeMap::new(),
            found: Statistics::default(),
        }
    }

    fn piece(&mut self, index: usize) {
        let mut walk = Walk::through(self.reader, index..index + 1);
        let mut messages = Vec::new();
        while let Some(item) = walk.next() {
            if let (Body::Message(message), true) = (&item.body, walk.is_in_chunk()) {
                messages.push(IndexedMessage::new(message, walk.offset_in_chunk()));
            }
            self.item(item);
        }
        if let Some(Piece::Chunk(chunk)) = self.reader.pieces().get(index) {
            self.found.chunk_count += 1;
            // What is missing from a damaged chunk is no fault of its indexes.
            if !walk.has_damage() {
                chunks::check(self.reader, chunk, messages);
            }
        }
    }

    fn item(&mut self, item: Item) {
        match item.body {
            Body::Schema(schema) => self.schema(schema, item.offset),
            Body::Channel(channel) => self.channel(channel, item.offset),
            Body::Message(message) => self.message(&message, item.offset),
            Body::Attachment(attachment) => {
                self.found.attachment_count += 1;
                let finding = attachment_crc(self.reader, item.offset, &attachment);
                if let Some(finding) = finding {
                    self.reader.faults().push(finding);
                }
            }
            Body::Metadata(_) => self.found.metadata_count += 1,
            Body::Private { .. } => {}
        }
    }

    fn schema(&mut self, schema: Schema, offset: u64) {
        if self.schemas.get(&schema.id).is_some_and(|first| *first != schema) {
            let why = format!("schema {} was defined otherwise before", schema.id);
            self.error("conflict", offset, why);
        }
        self.schemas.entry(schema.id).or_insert(schema);
        self.found.schema_count = self.schemas.len() as u64;
    }

    fn channel(&mut self, channel: Channel, offset: u64) {
        let (id, schema_id) = (channel.id, channel.schema_id);
        if schema_id != 0 && !self.schemas.contains_key(&schema_id) {
            let why = format!("channel {id} has schema {schema_id}, which is not defined before");
            self.error("undefined-schema", offset, why);
        }
        if self.channels.get(&id).is_some_and(|first| *first != channel) {
            self.error("conflict", offset, format!("channel {id} was defined otherwise before"));
        }
        self.channels.entry(id).or_insert(channel);
        self.found.channel_count = self.channels.len() as u64;
    }

    fn message(&mut self, message: &Message, offset: u64) {
        let id = message.channel_id;
        if !self.channels.contains_key(&id) && self.early.insert(id, offset).is_none() {
            let known = self.reader.channels().contains_key(&id);
            let what = if known { "defined only later" } else { "not defined" };
            let why = format!("a message on channel {id}, which is {what}");
            self.error("undefined-channel", offset, why);
        }
        let found = &mut self.found;
        let time = message.log_time;
        let is_first = found.message_count == 0;
        found.message_start_time = if is_first { time } else { found.message_start_time.min(time) };
        found.message_end_time = found.message_end_time.max(time);
        found.message_count += 1;
        *found.channel_message_counts.entry(id).or_default() += 1;
    }

    /// Compares the data section with its checksum.
    fn data_crc(&self) {
        let Some(offset) = self.reader.data_end() else { return };
        let stated = crate::read::data_crc(self.reader.bytes(), offset);
        match stated {
            Ok(0) => {}
            Ok(stated) => {
                let end = usize::try_from(offset).unwrap_or(usize::MAX);
                let found = crc32fast::hash(self.reader.bytes().get(..end).unwrap_or_default());
                if found != stated {
                    let why = format!("{stated:#010x} is stated, and the data has {found:#010x}");
                    self.error("data-crc", offset + FRAME_BYTES, why);
                }
            }
            Err(error) => self.reader.faults().push(Finding::unreadable("data-end", &error)),
        }
    }

    fn error(&self, rule: &'static str, offset: u64, why: String) {
        self.reader.faults().push(Finding::at_offset(Severity::Error, rule, offset, why));
    }
}

/// Compares an attachment, whose record is at an offset, with its checksum.
pub(crate) fn attachment_crc(
    reader: &Reader,
    offset: u64,
    attachment: &Attachment,
) -> Option<Finding> {
    let start = usize::try_from(offset + FRAME_BYTES).unwrap_or(usize::MAX);
    let found = crc32fast::hash(reader.bytes().get(start..attachment.data.end)?);
    let stated = attachment.crc;
    let why = format!("{stated:#010x} is stated, and the attachment has {found:#010x}");
    let is_wrong = stated != 0 && stated != found;
    is_wrong.then(|| Finding::at_offset(Severity::Error, "attachment-crc", offset, why))
}
