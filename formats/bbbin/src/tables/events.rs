//! Every event, and those of one class.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use kymo_core::{Error, Result};
use kymo_model::Table;
use kymo_model::table::{Batches, Scan};

use super::{needed_columns, run, value_text};
use crate::Reader;
use crate::dump::{event_custom, recording};
use crate::read::Walk;
use crate::spec::EventClass;
use crate::types::{Body, Event, Function, LocatedEvent, Message};

/// Value that a column takes from an event.
#[derive(Clone, Copy)]
enum Cells {
    Recording,
    Offset,
    Signed(fn(&Event<'_>) -> Option<i64>),
    Text(fn(&Event<'_>) -> Option<String>),
    Custom,
}

#[derive(Clone, Copy)]
struct Column {
    name: &'static str,
    is_nullable: bool,
    cells: Cells,
}

const fn always(name: &'static str, cells: Cells) -> Column {
    Column { name, is_nullable: false, cells }
}

const fn column(name: &'static str, cells: Cells) -> Column {
    Column { name, is_nullable: true, cells }
}

/// First columns of every event.
static HEAD: [Column; 5] = [
    column("recording", Cells::Recording),
    always("offset", Cells::Offset),
    always("event_class", Cells::Text(|event| Some(event.body.class().name().into()))),
    always("event_timestamp", Cells::Signed(|event| Some(event.timestamp))),
    always("log_file_id", Cells::Signed(|event| Some(event.log_file.0.into()))),
];

/// Last columns of every event.
static TAIL: [Column; 2] = [
    always("custom_type_id", Cells::Signed(|event| Some(event.custom_type.0.into()))),
    column("custom", Cells::Custom),
];

/// Columns that only some classes have.
static MIDDLE: [Column; 16] = [
    column(
        "in_task_id",
        Cells::Signed(|event| match event.body {
            Body::TaskSwitch { in_task, .. } => Some(in_task.0.into()),
            _ => None,
        }),
    ),
    column(
        "out_task_id",
        Cells::Signed(|event| match event.body {
            Body::TaskSwitch { out_task, .. } => Some(out_task.0.into()),
            _ => None,
        }),
    ),
    column(
        "in_task_priority",
        Cells::Signed(|event| match event.body {
            Body::TaskSwitch { in_task_priority, .. } => Some(in_task_priority.into()),
            _ => None,
        }),
    ),
    column(
        "task_id",
        Cells::Signed(|event| match event.body {
            Body::TaskRelease { task, .. } | Body::TaskCompletion { task, .. } => {
                Some(task.0.into())
            }
            _ => None,
        }),
    ),
    column(
        "time_budget",
        Cells::Signed(|event| match event.body {
            Body::TaskRelease { time_budget, .. } => Some(time_budget),
            _ => None,
        }),
    ),
    column(
        "remaining_time",
        Cells::Signed(|event| match event.body {
            Body::TaskCompletion { remaining_time, .. } => Some(remaining_time),
            _ => None,
        }),
    ),
    column("sender_task_id", Cells::Signed(|event| Some(message(event)?.sender.0.into()))),
    column("receiver_task_id", Cells::Signed(|event| Some(message(event)?.receiver.0.into()))),
    column(
        "received_at_timestamp",
        Cells::Signed(|event| match event.body {
            Body::Send(message) | Body::SrlSend { message, .. } => Some(message.other_timestamp),
            _ => None,
        }),
    ),
    column(
        "sent_at_timestamp",
        Cells::Signed(|event| match event.body {
            Body::Receive(message) | Body::SrlReceive { message, .. } => {
                Some(message.other_timestamp)
            }
            _ => None,
        }),
    ),
    column("message_name", Cells::Text(|event| Some(message(event)?.name.to_string()))),
    column(
        "receiver_instance",
        Cells::Signed(|event| match event.body {
            Body::SrlSend { receiver_instance, .. } => Some(receiver_instance.into()),
            _ => None,
        }),
    ),
    column(
        "state_id",
        Cells::Signed(|event| match event.body {
            Body::SrlReceive { state, .. } => Some(state.0.into()),
            _ => None,
        }),
    ),
    column(
        "finish_timestamp",
        Cells::Signed(|event| match event.body {
            Body::SrlReceive { finish_timestamp, .. } => Some(finish_timestamp),
            _ => None,
        }),
    ),
    column("function_name", Cells::Text(|event| Some(function(event)?.name.to_string()))),
    column("end_time", Cells::Signed(|event| Some(function(event)?.end_time))),
];

fn message<'a>(event: &Event<'a>) -> Option<Message<'a>> {
    match event.body {
        Body::Send(message)
        | Body::Receive(message)
        | Body::SrlSend { message, .. }
        | Body::SrlReceive { message, .. } => Some(message),
        _ => None,
    }
}

fn function<'a>(event: &Event<'a>) -> Option<Function<'a>> {
    match event.body {
        Body::FunctionEnter(function) | Body::FunctionExit(function) => Some(function),
        _ => None,
    }
}

/// The name of a class's table, and the columns that only it has, by their names.
fn class_table(class: EventClass) -> (&'static str, &'static [&'static str]) {
    match class {
        EventClass::Generic => ("generic_events", &[]),
        EventClass::TaskSwitch => {
            ("task_switches", &["in_task_id", "out_task_id", "in_task_priority"])
        }
        EventClass::TaskRelease => ("task_releases", &["task_id", "time_budget"]),
        EventClass::TaskCompletion => ("task_completions", &["task_id", "remaining_time"]),
        EventClass::Send => (
            "sends",
            &["sender_task_id", "receiver_task_id", "received_at_timestamp", "message_name"],
        ),
        EventClass::Receive => (
            "receives",
            &["sender_task_id", "receiver_task_id", "sent_at_timestamp", "message_name"],
        ),
        EventClass::SrlSend => (
            "srl_sends",
            &[
                "sender_task_id",
                "receiver_task_id",
                "received_at_timestamp",
                "message_name",
                "receiver_instance",
            ],
        ),
        EventClass::SrlReceive => (
            "srl_receives",
            &[
                "sender_task_id",
                "receiver_task_id",
                "sent_at_timestamp",
                "message_name",
                "state_id",
                "finish_timestamp",
            ],
        ),
        EventClass::FunctionEnter => ("function_enters", &["function_name", "end_time"]),
        EventClass::FunctionExit => ("function_exits", &["function_name", "end_time"]),
    }
}

/// The tables of events.
pub(super) fn tables(reader: &Arc<Reader>) -> Vec<Arc<dyn Table>> {
    let all: Arc<dyn Table> = Arc::new(Events {
        reader: Arc::clone(reader),
        name: "events",
        about: "every event in the order of the file",
        class: None,
        columns: HEAD.iter().chain(&MIDDLE).chain(&TAIL).copied().collect(),
    });
    let of_class = |class: &EventClass| -> Arc<dyn Table> {
        let (name, own) = class_table(*class);
        let middle = MIDDLE.iter().filter(|column| own.contains(&column.name));
        // They are all of one class.
        let head = HEAD.iter().filter(|column| column.name != "event_class");
        let columns = head.chain(middle).chain(&TAIL).copied().collect();
        let (reader, about) = (Arc::clone(reader), "the events of one class");
        Arc::new(Events { reader, name, about, class: Some(*class), columns })
    };
    std::iter::once(all).chain(EventClass::ALL.iter().map(of_class)).collect()
}

/// A table of events.
struct Events {
    reader: Arc<Reader>,
    name: &'static str,
    about: &'static str,
    class: Option<EventClass>,
    columns: Vec<Column>,
}

impl Table for Events {
    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn schema(&self) -> SchemaRef {
        let field = |column: &Column| {
            let data_type = match column.cells {
                Cells::Recording | Cells::Offset => DataType::UInt64,
                Cells::Signed(_) => DataType::Int64,
                Cells::Text(_) | Cells::Custom => DataType::Utf8,
            };
            Field::new(column.name, data_type, column.is_nullable)
        };
        Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
    }

    fn brief(&self) -> Vec<usize> {
        let hidden = ["recording", "offset", "custom_type_id"];
        let wide = self.class.is_none();
        let in_brief = |column: &Column| {
            let is_common = HEAD.iter().chain(&TAIL).any(|common| common.name == column.name);
            !hidden.contains(&column.name) && (is_common || !wide)
        };
        let all = self.columns.iter().enumerate();
        all.filter(|(_, column)| in_brief(column)).map(|(index, _)| index).collect()
    }

    /// Returns no count: the number that the file gives is in the summary, and only reading shows
    /// how many rows can be read.
    fn row_count(&self) -> Option<u64> {
        None
    }

    fn scan(self: Arc<Self>, scan: &Scan) -> Result<Batches> {
        scan.output_schema(&self.schema())?;
        let mut walk = self.reader.walk();
        let wanted = needed_columns(scan, self.columns.len());
        let rows = scan.batch_rows.max(1);
        let batches = std::iter::from_fn(move || self.batch(&mut walk, rows, &wanted).transpose());
        Ok(scan.finish(Box::new(batches)))
    }
}

impl Events {
    fn batch(
        &self,
        walk: &mut Walk,
        most: usize,
        wanted: &HashSet<usize>,
    ) -> Result<Option<RecordBatch>> {
        let is_row = |event: &Event<'_>| self.class.is_none_or(|class| class == event.body.class());
        let rows = run(&self.reader, walk, most, is_row);
        if rows.is_empty() {
            return Ok(None);
        }
        let columns = self.columns.iter().enumerate();
        let columns =
            columns.map(|(index, column)| self.fill(*column, wanted.contains(&index), &rows));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let batch = RecordBatch::try_new_with_options(self.schema(), columns, &options);
        batch.map(Some).map_err(|error| Error::request(error.to_string()))
    }

    /// Fills a column; one that nobody wants is empty text and zeros.
    fn fill(&self, column: Column, is_wanted: bool, rows: &[LocatedEvent<'_>]) -> Result<ArrayRef> {
        Ok(match column.cells {
            Cells::Recording => {
                let cell = |found: &LocatedEvent<'_>| recording(&self.reader, found.event.log_file);
                Arc::new(rows.iter().map(cell).collect::<UInt64Array>())
            }
            Cells::Offset => {
                Arc::new(rows.iter().map(|found| Some(found.offset)).collect::<UInt64Array>())
            }
            Cells::Signed(pick) => {
                Arc::new(rows.iter().map(|found| pick(&found.event)).collect::<Int64Array>())
            }
            Cells::Text(_) if !is_wanted => Arc::new(StringArray::from(vec![Some(""); rows.len()])),
            Cells::Text(pick) => {
                Arc::new(rows.iter().map(|found| pick(&found.event)).collect::<StringArray>())
            }
            Cells::Custom if !is_wanted => Arc::new(StringArray::new_null(rows.len())),
            Cells::Custom => {
                let cell = |found: &LocatedEvent<'_>| {
                    let value = event_custom(&self.reader, found.offset, &found.event)?;
                    Ok(value_text(&value))
                };
                Arc::new(StringArray::from(rows.iter().map(cell).collect::<Result<Vec<_>>>()?))
            }
        })
    }
}
