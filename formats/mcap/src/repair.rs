//! Saving what can be saved of a damaged file.

use std::collections::{BTreeMap, BTreeSet};

use kymo_core::{AtomicFile, Context, Destination, Error, Finding, Result, Severity, Source};
use kymo_model::RepairReport;

use crate::Reader;
use crate::check;
use crate::read::{Body, Item, Walk};
use crate::types::{Channel, Compression, Message, Schema};
use crate::write::{Options, Writer};

/// Number of records after which progress is reported.
const PROGRESS_RECORDS: u64 = 1 << 12;

/// Findings that cost nothing once the file is written anew.
const CORRECTED: [&str; 6] =
    ["no-end", "magic", "summary", "summary-crc", "data-end", "record-length"];

/// Rules about records that point to others, or count them, and are made anew.
const REBUILT: [&str; 7] = [
    "message-index",
    "chunk-index",
    "chunk-times",
    "summary-offset",
    "attachment-index",
    "metadata-index",
    "statistics",
];

/// Writes every sound record of a file again, and says what was lost.
pub(crate) fn repair(
    source: &Source,
    to: &Destination,
    context: &Context<'_>,
) -> Result<RepairReport> {
    let reader = Reader::salvage(source, context)?;
    let CopyReport { kept, messages, losses: lost } = copy(source, &reader, to, context)?;
    let found = reader.findings().into_iter().filter(|finding| finding.severity > Severity::Note);
    let is_loss = |finding: &Finding| {
        finding.severity == Severity::Error && !CORRECTED.contains(&finding.rule)
    };
    let (mut losses, mut corrected): (Vec<_>, Vec<_>) = found.partition(is_loss);
    losses.extend(lost);
    if !losses.is_empty() {
        losses.extend(check::uncounted(&reader, messages));
    }
    let known = reader.findings();
    // By the records themselves: what an index says of them may be what is wrong.
    let found = check::check(source, context)?;
    for finding in found.into_iter().filter(|finding| !known.contains(finding)) {
        match finding.rule {
            // Chunks have checksums of their own; of what is in none, nothing tells what changed.
            "data-crc" if reader.chunks().next().is_none() => losses.push(finding),
            rule if rule == "data-crc" || REBUILT.contains(&rule) => corrected.push(finding),
            _ => {}
        }
    }
    Ok(RepairReport { kept, unit: "records", corrected, losses })
}

/// Writes a sound file again, record by record.
pub(crate) fn rewrite(source: &Source, to: &Destination, context: &Context<'_>) -> Result<()> {
    let reader = Reader::open(source, context)?;
    copy(source, &reader, to, context).map(drop)
}

fn copy(
    source: &Source,
    reader: &Reader,
    to: &Destination,
    context: &Context<'_>,
) -> Result<CopyReport> {
    let mut copy = Copy::new(reader, to)?;
    let mut walk = Walk::new(reader);
    context.progress.begin("writing", source.size_bytes());
    while let Some(item) = walk.next() {
        copy.item(&walk, &item)?;
        if copy.kept % PROGRESS_RECORDS == 0 {
            context.progress.advance_to(item.offset);
        }
    }
    context.progress.end();
    copy.copy_summary_records()?;
    if copy.kept == 0 && !reader.findings().is_empty() {
        return Err(Error::request("nothing in it can be read, so nothing was written"));
    }
    let copied = CopyReport { kept: copy.kept, messages: copy.messages, losses: copy.losses() };
    copy.writer.finish()?.commit()?;
    Ok(copied)
}

/// Result of copying a file: records, messages among them, and what was not written.
struct CopyReport {
    kept: u64,
    messages: u64,
    losses: Vec<Finding>,
}

/// A file being written from another.
struct Copy<'a> {
    reader: &'a Reader,
    writer: Writer<AtomicFile>,
    schemas: BTreeSet<u16>,
    channels: BTreeSet<u16>,
    /// Messages on channels that are not defined: how many, and where the first is.
    undefined: BTreeMap<u16, (u64, u64)>,
    /// Attachments that their checksum does not fit.
    damaged: Vec<Finding>,
    kept: u64,
    messages: u64,
}

impl<'a> Copy<'a> {
    fn new(reader: &'a Reader, to: &Destination) -> Result<Self> {
        let first = reader.chunks().next();
        let options = Options {
            header: reader.header().clone(),
            compression: first.map_or(Compression::Zstd, |chunk| chunk.compression.clone()),
            is_chunked: first.is_some(),
        };
        Ok(Self {
            reader,
            writer: Writer::new(to.file()?, options)?,
            schemas: BTreeSet::new(),
            channels: BTreeSet::new(),
            undefined: BTreeMap::new(),
            damaged: Vec::new(),
            kept: 0,
            messages: 0,
        })
    }

    fn item(&mut self, walk: &Walk<&Reader>, item: &Item) -> Result<()> {
        match &item.body {
            Body::Schema(schema) => return self.schema(schema),
            Body::Channel(channel) => return self.channel(channel),
            Body::Message(message) => {
                return self.message(message, item.offset, walk.data(&message.data));
            }
            Body::Attachment(attachment) => {
                if let Some(finding) = check::attachment_crc(self.reader, item.offset, attachment) {
                    self.damaged.push(finding);
                    return Ok(());
                }
                self.writer.attachment(attachment, walk.data(&attachment.data))?;
            }
            Body::Metadata(metadata) => self.writer.metadata(metadata)?,
            Body::Private { opcode, data } => {
                self.writer.private(*opcode, walk.data(data), walk.is_in_chunk())?;
            }
        }
        self.kept += 1;
        Ok(())
    }

    /// Writes a schema, the first of its id.
    fn schema(&mut self, schema: &Schema) -> Result<()> {
        if self.schemas.insert(schema.id) {
            self.writer.schema(schema)?;
            self.kept += 1;
        }
        Ok(())
    }

    /// Writes a channel, the first of its id, and before it the schema that it needs.
    fn channel(&mut self, channel: &Channel) -> Result<()> {
        if !self.channels.insert(channel.id) {
            return Ok(());
        }
        self.kept += 1;
        match self.reader.schemas().get(&channel.schema_id) {
            Some(schema) => self.schema(schema)?,
            None if channel.schema_id != 0 => {
                return self.writer.channel(&Channel { schema_id: 0, ..channel.clone() });
            }
            None => {}
        }
        self.writer.channel(channel)
    }

    fn message(&mut self, message: &Message, offset: u64, data: &[u8]) -> Result<()> {
        let Some(channel) = self.reader.channels().get(&message.channel_id) else {
            self.undefined.entry(message.channel_id).or_insert((0, offset)).0 += 1;
            return Ok(());
        };
        self.channel(channel)?;
        self.kept += 1;
        self.messages += 1;
        self.writer.message(message, data)
    }

    /// Writes what only the summary still has.
    fn copy_summary_records(&mut self) -> Result<()> {
        self.reader.schemas().values().try_for_each(|schema| self.schema(schema))?;
        self.reader.channels().values().try_for_each(|channel| self.channel(channel))
    }

    fn losses(&mut self) -> Vec<Finding> {
        let undefined = self.undefined.iter().map(|(channel, (count, offset))| {
            let why = format!("channel {channel} is not defined; messages on it: {count}");
            Finding::at_offset(Severity::Error, "undefined-channel", *offset, why)
        });
        undefined.chain(std::mem::take(&mut self.damaged)).collect()
    }
}
