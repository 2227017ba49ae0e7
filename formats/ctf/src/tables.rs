//! Arrow tables: events, kinds of events, packets, clocks, the environment.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use kymo_core::{Error, Result};
use kymo_model::Table;
use kymo_model::table::{Batches, Cells, ListedTable, Scan};

use crate::Reader;
use crate::notices::EventNotices;
use crate::read::{DecodedEvent, EventSelection, File, Merged, Packet, Part};
use crate::render::Json;
use crate::types::{Clock, Constant, Trace};

/// Every table of a trace.
pub(crate) fn tables(reader: &Arc<Reader>) -> Vec<Arc<dyn Table>> {
    vec![
        Arc::new(Events(Arc::clone(reader))),
        kinds(reader).into_table(),
        packets(reader).into_table(),
        clocks(reader).into_table(),
        environment(reader).into_table(),
    ]
}

/// Columns of what each trace has; of several, the first tells which.
fn trace_columns<T: 'static>(
    reader: &Reader,
    mut columns: Vec<(&'static str, Cells<Of<T>>)>,
) -> Vec<(&'static str, Cells<Of<T>>)> {
    if reader.parts().len() > 1 {
        columns.insert(0, ("trace", Cells::Text(|pair| pair.0.clone())));
    }
    columns
}

/// Something of a trace, with the folder of the trace.
pub(crate) type Of<T> = (String, T);

/// Lists the things that each trace has.
fn listed<T>(reader: &Reader, item: impl Fn(&Trace) -> Vec<T>) -> Vec<Of<T>> {
    let parts = reader.parts().iter();
    let of_part = |part: &Part| {
        let folder = part.folder.display().to_string();
        item(&part.trace).into_iter().map(move |it| (folder.clone(), it)).collect::<Vec<_>>()
    };
    parts.flat_map(of_part).collect()
}

/// A kind of event: the stream's id, its own id, its name.
pub(crate) type EventKind = (u64, u64, String);

pub(crate) fn kinds(reader: &Arc<Reader>) -> ListedTable<Of<EventKind>> {
    let columns = vec![
        ("stream_id", Cells::UInt(|kind: &Of<EventKind>| kind.1.0)),
        ("id", Cells::UInt(|kind| kind.1.1)),
        ("name", Cells::Text(|kind| kind.1.2.clone())),
    ];
    let kinds = |trace: &Trace| {
        let streams = trace.streams.iter();
        let kinds = streams.flat_map(|(stream, kind)| {
            kind.events.iter().map(|(id, event)| (*stream, *id, event.name.clone()))
        });
        kinds.collect()
    };
    let reader = Arc::clone(reader);
    ListedTable {
        name: "event_kinds",
        about: "every kind of event that the metadata describes",
        columns: trace_columns(&reader, columns),
        list: Box::new(move || listed(&reader, kinds)),
    }
}

/// A packet, with the name of its file.
pub(crate) type NamedPacket = (String, Packet);

pub(crate) fn packets(reader: &Arc<Reader>) -> ListedTable<NamedPacket> {
    let reader = Arc::clone(reader);
    ListedTable {
        name: "packets",
        about: "every packet of every file",
        columns: vec![
            ("file", Cells::Text(|packet| packet.0.clone())),
            ("offset", Cells::UInt(|packet| packet.1.offset)),
            ("bytes", Cells::UInt(|packet| packet.1.bytes)),
            ("content_bits", Cells::UInt(|packet| packet.1.content_bits)),
            ("stream_id", Cells::UInt(|packet| packet.1.stream)),
            ("cpu_id", Cells::MaybeUInt(|packet| packet.1.cpu)),
            ("packet_seq_num", Cells::MaybeUInt(|packet| packet.1.sequence)),
            ("events_discarded", Cells::MaybeUInt(|packet| packet.1.discarded)),
            ("timestamp_begin", Cells::MaybeUInt(|packet| Some(packet.1.times?.0))),
            ("timestamp_end", Cells::MaybeUInt(|packet| Some(packet.1.times?.1))),
        ],
        list: Box::new(move || {
            let packets = reader.packets().iter();
            packets.map(|packet| (reader.file_name(packet.file), packet.clone())).collect()
        }),
    }
}

pub(crate) fn clocks(reader: &Arc<Reader>) -> ListedTable<Of<Clock>> {
    let columns = vec![
        ("name", Cells::Text(|clock: &Of<Clock>| clock.1.name.clone())),
        ("freq", Cells::UInt(|clock| clock.1.frequency)),
        ("offset_s", Cells::MaybeInt(|clock| Some(clock.1.offset.0))),
        ("offset", Cells::MaybeInt(|clock| Some(clock.1.offset.1))),
    ];
    let reader = Arc::clone(reader);
    ListedTable {
        name: "clocks",
        about: "what gives times",
        columns: trace_columns(&reader, columns),
        list: Box::new(move || listed(&reader, |trace| trace.clocks.clone())),
    }
}

/// Name and value that the tracer gives for the system.
pub(crate) type TraceFact = (String, Constant);

pub(crate) fn environment(reader: &Arc<Reader>) -> ListedTable<Of<TraceFact>> {
    let columns = vec![
        ("name", Cells::Text(|said: &Of<TraceFact>| said.1.0.clone())),
        ("value", Cells::Text(|said| said.1.1.to_string())),
    ];
    let reader = Arc::clone(reader);
    ListedTable {
        name: "environment",
        about: "what the tracer says of the system",
        columns: trace_columns(&reader, columns),
        list: Box::new(move || listed(&reader, |trace| trace.environment.clone())),
    }
}

/// One row an event, in the order of time.
struct Events(Arc<Reader>);

fn event_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("file", DataType::Utf8, false),
        Field::new("offset", DataType::UInt64, false),
        Field::new("time_ns", DataType::Int64, true),
        Field::new("cpu_id", DataType::UInt64, true),
        Field::new("name", DataType::Utf8, false),
        Field::new("fields", DataType::Utf8, false),
    ]))
}

/// All events as rows.
pub(crate) struct Rows {
    reader: Arc<Reader>,
    merged: Merged,
    json: Json,
    marks: EventNotices,
}

impl Rows {
    pub(crate) fn new(reader: &Arc<Reader>) -> Self {
        let merged = Merged::new(reader, &EventSelection::default());
        let (json, marks) = (Json::default(), EventNotices::for_texts());
        Self { reader: Arc::clone(reader), merged, json, marks }
    }

    /// The next event, and its fields as JSON.
    pub(crate) fn next(&mut self) -> Option<(DecodedEvent<'_>, &str)> {
        let Self { reader, merged, json, marks } = self;
        let Some((track, taken)) = merged.next_event(json) else {
            marks.report(reader);
            return None;
        };
        if json.is_broken {
            marks.add(reader, track, &taken);
        }
        Some((taken, json.finish()))
    }
}

impl Table for Events {
    fn name(&self) -> &'static str {
        "events"
    }

    fn about(&self) -> &'static str {
        "every event, in the order of time, with its fields as JSON"
    }

    fn schema(&self) -> SchemaRef {
        event_schema()
    }

    fn row_count(&self) -> Option<u64> {
        None
    }

    fn scan(self: Arc<Self>, scan: &Scan) -> Result<Batches> {
        scan.output_schema(&self.schema())?;
        let reader = Arc::clone(&self.0);
        let mut rows = Rows::new(&reader);
        let batch_rows = scan.batch_rows.max(1);
        let batches = std::iter::from_fn(move || batch(&reader, &mut rows, batch_rows).transpose());
        Ok(scan.finish(Box::new(batches)))
    }
}

/// The next rows, so many at most; nothing where there are no more.
fn batch(reader: &Reader, rows: &mut Rows, most: usize) -> Result<Option<RecordBatch>> {
    let (mut file, mut name, mut fields) =
        (StringBuilder::new(), StringBuilder::new(), StringBuilder::new());
    let (mut offset, mut cpu) = (UInt64Builder::new(), UInt64Builder::new());
    let mut time = Int64Builder::new();
    let mut count = 0;
    while count < most
        && let Some((taken, told)) = rows.next()
    {
        count += 1;
        file.append_value(reader.files().get(taken.packet.file).map_or("", File::shown));
        offset.append_value(taken.offset);
        time.append_option(taken.head.time_ns);
        cpu.append_option(taken.packet.cpu);
        name.append_value(&taken.event.name);
        fields.append_value(told);
    }
    if count == 0 {
        return Ok(None);
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(file.finish()),
        Arc::new(offset.finish()),
        Arc::new(time.finish()),
        Arc::new(cpu.finish()),
        Arc::new(name.finish()),
        Arc::new(fields.finish()),
    ];
    let batch = RecordBatch::try_new(event_schema(), columns);
    batch.map(Some).map_err(|error| Error::request(error.to_string()))
}
