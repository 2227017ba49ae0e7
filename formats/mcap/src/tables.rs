//! Arrow tables: messages, channels, schemas, chunks, attachments, metadata.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::builder::{BinaryBuilder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use kymo_core::{Error, Invariant as _, Result, Value};
use kymo_model::table::{Batches, ColumnTable, Columns, Scan};
use kymo_model::{Field as Cell, Table};

use crate::Reader;
use crate::dump::{json, payload, schema_text};
use crate::read::{Body, Piece, Walk};
use crate::types::{Attachment, Channel, Chunk, Message, Metadata, Schema};

/// Every table of a file.
pub(crate) fn tables(reader: &Arc<Reader>) -> Vec<Arc<dyn Table>> {
    vec![
        Arc::new(Messages(Arc::clone(reader))),
        ColumnTable::new(channels(reader)),
        ColumnTable::new(schemas(reader)),
        ColumnTable::new(chunks(reader)),
        ColumnTable::new(attachments(reader)),
        ColumnTable::new(metadata(reader)),
    ]
}

/// A table of few rows, which are listed when the first is asked for.
struct ListTable<T> {
    reader: Arc<Reader>,
    name: &'static str,
    about: &'static str,
    columns: Vec<(&'static str, Cells<T>)>,
    list: fn(&Reader) -> Vec<T>,
    rows: OnceLock<Vec<T>>,
}

/// Ways in which the cells of a column are made from rows.
enum Cells<T> {
    Number(fn(&T) -> u64),
    Text(fn(&T) -> String),
}

impl<T> ListTable<T> {
    fn all(&self) -> &[T] {
        self.rows.get_or_init(|| (self.list)(&self.reader))
    }
}

impl<T: Send + Sync + 'static> Columns for ListTable<T> {
    type Row<'a> = &'a T;

    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn schema(&self) -> SchemaRef {
        let fields = self.columns.iter().map(|(name, cells)| match cells {
            Cells::Number(_) => Field::new(*name, DataType::UInt64, false),
            Cells::Text(_) => Field::new(*name, DataType::Utf8, false),
        });
        Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()))
    }

    fn row_count(&self) -> u64 {
        self.all().len() as u64
    }

    fn rows(&self, rows: Range<usize>) -> Result<Vec<&T>> {
        let rows = self.all().get(rows).or_broken("rows are among those that are there")?;
        Ok(rows.iter().collect())
    }

    fn column(&self, index: usize, rows: &[&T]) -> Result<ArrayRef> {
        let column = self.columns.get(index);
        let column = column.ok_or_else(|| Error::request(format!("there is no column {index}")))?;
        Ok(match &column.1 {
            Cells::Number(cell) => {
                Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| cell(row))))
            }
            Cells::Text(cell) => {
                Arc::new(StringArray::from_iter_values(rows.iter().map(|row| cell(row))))
            }
        })
    }
}

fn channels(reader: &Arc<Reader>) -> ListTable<(Channel, u64)> {
    ListTable {
        reader: Arc::clone(reader),
        name: "channels",
        about: "topics by id, with how many messages they have",
        columns: vec![
            ("id", Cells::Number(|(channel, _)| channel.id.into())),
            ("schema_id", Cells::Number(|(channel, _)| channel.schema_id.into())),
            ("topic", Cells::Text(|(channel, _)| channel.topic.clone())),
            ("message_encoding", Cells::Text(|(channel, _)| channel.message_encoding.clone())),
            ("metadata", Cells::Text(|(channel, _)| json(&channel.metadata))),
            ("message_count", Cells::Number(|(_, count)| *count)),
        ],
        list: |reader| {
            let count = |id| reader.survey().counts.get(id).copied().unwrap_or(0);
            reader.channels().iter().map(|(id, channel)| (channel.clone(), count(id))).collect()
        },
        rows: OnceLock::new(),
    }
}

fn schemas(reader: &Arc<Reader>) -> ListTable<Schema> {
    ListTable {
        reader: Arc::clone(reader),
        name: "schemas",
        about: "what messages look like, by id",
        columns: vec![
            ("id", Cells::Number(|schema| schema.id.into())),
            ("name", Cells::Text(|schema| schema.name.clone())),
            ("encoding", Cells::Text(|schema| schema.encoding.clone())),
            ("data", Cells::Text(schema_text)),
        ],
        list: |reader| reader.schemas().values().cloned().collect(),
        rows: OnceLock::new(),
    }
}

fn chunks(reader: &Arc<Reader>) -> ListTable<Chunk> {
    ListTable {
        reader: Arc::clone(reader),
        name: "chunks",
        about: "runs of records that are compressed together",
        columns: vec![
            ("offset", Cells::Number(|chunk| chunk.offset)),
            ("length", Cells::Number(|chunk| chunk.length)),
            ("message_start_time", Cells::Number(|chunk| chunk.message_start_time)),
            ("message_end_time", Cells::Number(|chunk| chunk.message_end_time)),
            ("compression", Cells::Text(|chunk| chunk.compression.name().to_owned())),
            ("compressed_size", Cells::Number(|chunk| chunk.compressed_size)),
            ("uncompressed_size", Cells::Number(|chunk| chunk.uncompressed_size)),
        ],
        list: |reader| reader.chunks().cloned().collect(),
        rows: OnceLock::new(),
    }
}

fn attachments(reader: &Arc<Reader>) -> ListTable<(u64, Attachment)> {
    ListTable {
        reader: Arc::clone(reader),
        name: "attachments",
        about: "files that were put in, without their data",
        columns: vec![
            ("offset", Cells::Number(|(offset, _)| *offset)),
            ("log_time", Cells::Number(|(_, attachment)| attachment.log_time)),
            ("create_time", Cells::Number(|(_, attachment)| attachment.create_time)),
            ("name", Cells::Text(|(_, attachment)| attachment.name.clone())),
            ("media_type", Cells::Text(|(_, attachment)| attachment.media_type.clone())),
            ("data_size", Cells::Number(|(_, attachment)| attachment.data.len() as u64)),
            ("crc", Cells::Number(|(_, attachment)| attachment.crc.into())),
        ],
        list: |reader| {
            listed(
                reader,
                |piece| matches!(piece, Piece::Attachment(_)),
                |body| match body {
                    Body::Attachment(attachment) => Some(attachment),
                    _ => None,
                },
            )
        },
        rows: OnceLock::new(),
    }
}

fn metadata(reader: &Arc<Reader>) -> ListTable<(u64, Metadata)> {
    ListTable {
        reader: Arc::clone(reader),
        name: "metadata",
        about: "named keys and values",
        columns: vec![
            ("offset", Cells::Number(|(offset, _)| *offset)),
            ("name", Cells::Text(|(_, metadata)| metadata.name.clone())),
            ("metadata", Cells::Text(|(_, metadata)| json(&metadata.metadata))),
        ],
        list: |reader| {
            listed(
                reader,
                |piece| matches!(piece, Piece::Metadata(_)),
                |body| match body {
                    Body::Metadata(metadata) => Some(metadata),
                    _ => None,
                },
            )
        },
        rows: OnceLock::new(),
    }
}

/// Lists the content of pieces of one kind, with their offsets.
fn listed<T>(
    reader: &Reader,
    is_wanted: fn(&Piece) -> bool,
    pick: fn(Body) -> Option<T>,
) -> Vec<(u64, T)> {
    let wanted = reader.pieces().iter().enumerate().filter(|(_, piece)| is_wanted(piece));
    let items = wanted.filter_map(|(index, _)| Walk::through(reader, index..index + 1).next());
    items.filter_map(|item| Some((item.offset, pick(item.body)?))).collect()
}

/// One row a message, in the order of the file.
struct Messages(Arc<Reader>);

/// Payload in one batch, but for its last row.
const BATCH_BYTES: u64 = 16 << 20;

/// The columns from here on are the payload.
const PAYLOAD: usize = 6;

fn message_schema() -> SchemaRef {
    Arc::new(ArrowSchema::new(vec![
        Field::new("offset", DataType::UInt64, false),
        Field::new("channel_id", DataType::UInt64, false),
        Field::new("topic", DataType::Utf8, true),
        Field::new("sequence", DataType::UInt64, false),
        Field::new("log_time", DataType::UInt64, false),
        Field::new("publish_time", DataType::UInt64, false),
        Field::new("text", DataType::Utf8, true),
        Field::new("data", DataType::Binary, true),
    ]))
}

impl Table for Messages {
    fn name(&self) -> &'static str {
        "messages"
    }

    fn about(&self) -> &'static str {
        "messages in the order of the file"
    }

    fn schema(&self) -> SchemaRef {
        message_schema()
    }

    fn brief(&self) -> Vec<usize> {
        vec![2, 3, 4, 6]
    }

    fn row_count(&self) -> Option<u64> {
        let survey = self.0.survey();
        survey.is_counted.then(|| survey.messages())
    }

    fn scan(self: Arc<Self>, scan: &Scan) -> Result<Batches> {
        scan.output_schema(&self.schema())?;
        let wanted = scan.columns.as_deref();
        let lacks_payload =
            wanted.is_some_and(|columns| columns.iter().all(|column| *column < PAYLOAD));
        let skips_payload = lacks_payload && scan.filters.is_empty();
        let (batch_rows, mut left) = (scan.batch_rows.max(1), u64::MAX);
        if let (Some(limit), true) = (scan.limit, scan.filters.is_empty()) {
            left = limit;
        }
        let mut walk = Walk::new(Arc::clone(&self.0));
        let batches = std::iter::from_fn(move || {
            let most = batch_rows.min(usize::try_from(left).unwrap_or(usize::MAX));
            match Batch::fill(&self.0, &mut walk, most, skips_payload) {
                Ok(batch) if batch.rows == 0 => None,
                Ok(batch) => {
                    left = left.saturating_sub(batch.rows as u64);
                    Some(batch.finish())
                }
                Err(error) => {
                    left = 0;
                    Some(Err(error))
                }
            }
        });
        Ok(scan.finish(Box::new(batches)))
    }
}

/// Rows of messages being put together.
#[derive(Default)]
struct Batch {
    rows: usize,
    bytes: usize,
    /// Offset, channel, sequence, and both times.
    numbers: [UInt64Builder; 5],
    topic: StringBuilder,
    text: StringBuilder,
    data: BinaryBuilder,
}

impl Batch {
    fn fill(
        reader: &Reader,
        walk: &mut Walk<Arc<Reader>>,
        most: usize,
        skips_payload: bool,
    ) -> Result<Self> {
        let mut batch = Self::default();
        let cap = reader.limits().value_bytes_max.min(BATCH_BYTES);
        while batch.rows < most && (batch.rows == 0 || (batch.bytes as u64) < cap) {
            let Some(item) = walk.next() else { break };
            let Body::Message(message) = &item.body else { continue };
            batch.row(reader, message, item.offset);
            let data = if skips_payload { &[] } else { walk.data(&message.data) };
            match payload(reader, message, item.offset, data)?.1 {
                Cell::Value(Value::Text(text)) => batch.payload(Some(&text), None),
                _ => batch.payload(None, Some(data)),
            }
        }
        Ok(batch)
    }

    fn row(&mut self, reader: &Reader, message: &Message, offset: u64) {
        let numbers = [
            offset,
            message.channel_id.into(),
            message.sequence.into(),
            message.log_time,
            message.publish_time,
        ];
        for (builder, number) in self.numbers.iter_mut().zip(numbers) {
            builder.append_value(number);
        }
        let channel = reader.channels().get(&message.channel_id);
        self.topic.append_option(channel.map(|channel| &channel.topic));
        self.bytes += channel.map_or(0, |channel| channel.topic.len());
        self.rows += 1;
    }

    fn payload(&mut self, text: Option<&str>, data: Option<&[u8]>) {
        self.bytes += text.map_or(0, str::len) + data.map_or(0, <[u8]>::len);
        self.text.append_option(text);
        self.data.append_option(data);
    }

    fn finish(mut self) -> Result<RecordBatch> {
        let [offset, channel, sequence, log_time, publish_time] = &mut self.numbers;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(offset.finish()),
            Arc::new(channel.finish()),
            Arc::new(self.topic.finish()),
            Arc::new(sequence.finish()),
            Arc::new(log_time.finish()),
            Arc::new(publish_time.finish()),
            Arc::new(self.text.finish()),
            Arc::new(self.data.finish()),
        ];
        let batch = RecordBatch::try_new(message_schema(), columns);
        batch.map_err(|error| Error::request(error.to_string()))
    }
}
