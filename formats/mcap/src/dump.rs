//! Records as `kymo dump` shows them, in the order of the file.

use std::collections::BTreeSet;

use kymo_core::bytes::ReadErrorKind;
use kymo_core::{Result, Value};
use kymo_model::{DumpRequest, Field, Flow, Record, RecordSink};

use crate::Reader;
use crate::read::{Body, Item, Walk};
use crate::types::{Attachment, Channel, Message, Metadata, Pairs, Schema};

type Fields = Vec<(&'static str, Field<'static>)>;

/// Gives every schema and channel where it is first defined, and messages, attachments and
/// metadata. Chunks, indexes and the summary only say where these are: they have tables.
pub(crate) fn dump(
    reader: &Reader,
    request: &DumpRequest,
    sink: &mut dyn RecordSink,
) -> Result<()> {
    let mut walk = Walk::new(reader);
    let mut counts = Counts::default();
    while let Some(item) = walk.next() {
        let Some((kind, index)) = counts.next(&item) else { continue };
        let fields = fields(reader, &walk, &item, request)?;
        sink.position(walk.position());
        let record = Record { kind, index, offset: item.offset, fields };
        if sink.record(&record)? == Flow::Stop {
            return Ok(());
        }
    }
    Ok(())
}

/// Number of records of each kind.
#[derive(Default)]
struct Counts {
    schemas: BTreeSet<u16>,
    channels: BTreeSet<u16>,
    messages: u64,
    attachments: u64,
    metadata: u64,
}

impl Counts {
    /// The kind and the number of a record, unless it repeats another or has no kind.
    fn next(&mut self, item: &Item) -> Option<(&'static str, u64)> {
        let next = |count: &mut u64| {
            *count += 1;
            *count - 1
        };
        Some(match &item.body {
            Body::Schema(schema) => {
                let index = self.schemas.len() as u64;
                self.schemas.insert(schema.id).then_some(("schema", index))?
            }
            Body::Channel(channel) => {
                let index = self.channels.len() as u64;
                self.channels.insert(channel.id).then_some(("channel", index))?
            }
            Body::Message(_) => ("message", next(&mut self.messages)),
            Body::Attachment(_) => ("attachment", next(&mut self.attachments)),
            Body::Metadata(_) => ("metadata", next(&mut self.metadata)),
            Body::Private { .. } => return None,
        })
    }
}

fn fields(
    reader: &Reader,
    walk: &Walk<&Reader>,
    item: &Item,
    request: &DumpRequest,
) -> Result<Fields> {
    Ok(match &item.body {
        Body::Schema(schema) => schema_record(schema),
        Body::Channel(channel) => channel_record(channel),
        Body::Message(message) => {
            let mut fields = message_record(reader, message);
            if !request.headers_only {
                fields.push(payload(reader, message, item.offset, walk.data(&message.data))?);
            }
            fields
        }
        Body::Attachment(attachment) => attachment_record(attachment),
        Body::Metadata(metadata) => metadata_record(metadata),
        Body::Private { .. } => Fields::new(),
    })
}

fn schema_record(schema: &Schema) -> Fields {
    vec![
        ("id", schema.id.into()),
        ("name", schema.name.clone().into()),
        ("encoding", schema.encoding.clone().into()),
        ("data", schema_text(schema).into()),
    ]
}

/// A schema as text; in hexadecimal where it is none.
pub(crate) fn schema_text(schema: &Schema) -> String {
    match std::str::from_utf8(&schema.data) {
        Ok(text) => text.to_owned(),
        Err(_) => Value::Bytes(schema.data.clone()).to_string(),
    }
}

fn channel_record(channel: &Channel) -> Fields {
    vec![
        ("id", channel.id.into()),
        ("schema_id", channel.schema_id.into()),
        ("topic", channel.topic.clone().into()),
        ("message_encoding", channel.message_encoding.clone().into()),
        ("metadata", json(&channel.metadata).into()),
    ]
}

/// Keys and values as a JSON object.
pub(crate) fn json(pairs: &Pairs) -> String {
    let object: serde_json::Map<_, _> =
        pairs.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
    serde_json::Value::Object(object).to_string()
}

fn message_record(reader: &Reader, message: &Message) -> Fields {
    let channel = reader.channels().get(&message.channel_id);
    let topic = channel.map_or(Value::Null, |channel| channel.topic.clone().into());
    vec![
        ("channel_id", message.channel_id.into()),
        ("topic", Field::Value(topic)),
        ("sequence", message.sequence.into()),
        ("log_time", message.log_time.into()),
        ("publish_time", message.publish_time.into()),
    ]
}

/// The payload of a message: a text where the channel says so and it is one.
pub(crate) fn payload(
    reader: &Reader,
    message: &Message,
    offset: u64,
    data: &[u8],
) -> Result<(&'static str, Field<'static>)> {
    let (found, limit) = (data.len() as u64, reader.limits().value_bytes_max);
    if found > limit {
        return Err(ReadErrorKind::OverLimit { found, limit }
            .error_at("message data", offset)
            .into());
    }
    let is_text = reader.channels().get(&message.channel_id).is_some_and(Channel::is_text);
    let text = std::str::from_utf8(data).ok().filter(|_| is_text);
    Ok(match text {
        Some(text) => ("text", text.into()),
        None => ("data", data.to_vec().into()),
    })
}

fn attachment_record(attachment: &Attachment) -> Fields {
    vec![
        ("log_time", attachment.log_time.into()),
        ("create_time", attachment.create_time.into()),
        ("name", attachment.name.clone().into()),
        ("media_type", attachment.media_type.clone().into()),
        ("data_size", attachment.data.len().into()),
        ("crc", attachment.crc.into()),
    ]
}

fn metadata_record(metadata: &Metadata) -> Fields {
    vec![("name", metadata.name.clone().into()), ("metadata", json(&metadata.metadata).into())]
}
