//! Arrow tables: messages, streams, frames, Units, sessions, and one of each stream.

mod batches;
mod frames;
mod messages;
mod small;
mod values;

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use kymo_model::Table;

use crate::Reader;

/// The fixed tables of a file.
pub(crate) fn tables(reader: &Arc<Reader>) -> Vec<Arc<dyn Table>> {
    let mut tables: Vec<Arc<dyn Table>> = vec![messages::messages(reader), frames::frames(reader)];
    tables.extend(small::tables(reader));
    tables
}

/// The table of a stream by name: its messages with their values as the format's type.
pub(crate) fn stream_table(reader: &Arc<Reader>, name: &str) -> Option<Arc<dyn Table>> {
    messages::stream(reader, name)
}

fn schema(fields: Vec<arrow_schema::Field>) -> SchemaRef {
    Arc::new(Schema::new(fields))
}
