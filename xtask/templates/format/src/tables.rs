//! The tables: Arrow schemas and scans.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use kymo_core::Result;
use kymo_model::table::Columns;

use crate::types::{Event, Log};

/// One row an event.
pub(crate) struct Events {
    log: Log,
    schema: SchemaRef,
}

impl Events {
    pub(crate) fn new(log: Log) -> Self {
        let fields = vec![
            Field::new("offset", DataType::UInt64, false),
            Field::new("time_ns", DataType::UInt64, false),
            Field::new("message", DataType::Utf8, false),
        ];
        Self { log, schema: Arc::new(Schema::new(fields)) }
    }
}

impl Columns for Events {
    type Row<'a> = &'a Event;

    fn name(&self) -> &'static str {
        "events"
    }

    fn about(&self) -> &'static str {
        "what happened, in the order of the file"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn row_count(&self) -> u64 {
        self.log.events.len() as u64
    }

    fn rows(&self, rows: Range<usize>) -> Result<Vec<&Event>> {
        Ok(self.log.events.get(rows).unwrap_or_default().iter().collect())
    }

    fn column(&self, index: usize, rows: &[&Event]) -> Result<ArrayRef> {
        let events = rows.iter().copied();
        Ok(match index {
            0 => Arc::new(UInt64Array::from_iter_values(events.map(|event| event.offset))),
            1 => Arc::new(UInt64Array::from_iter_values(events.map(|event| event.time_ns))),
            _ => Arc::new(StringArray::from_iter_values(events.map(Event::text))),
        })
    }
}
