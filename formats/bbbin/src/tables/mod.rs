//! Arrow schemas and scans.

mod cells;
mod events;
mod listed;
mod names;
mod typed;

use std::collections::HashSet;
use std::sync::Arc;

use kymo_core::Value;
use kymo_model::Table;
use kymo_model::table::Scan;

use crate::Reader;
use crate::read::Walk;
use crate::spec::ArtifactClass;
use crate::types::{ArtifactId, Event, LocatedEvent, LogFileId};

/// The tables that are always there, and those of custom types.
pub(crate) fn tables(reader: &Arc<Reader>) -> Vec<Arc<dyn Table>> {
    let mut tables = events::tables(reader);
    tables.extend(listed::tables(reader));
    let typed = typed::tables(reader, &tables);
    tables.extend(typed);
    tables
}

/// Bytes of values in one batch, but for the last row.
const BATCH_BYTES: usize = 16 << 20;

/// The next events that are rows, as many as a batch has.
fn run<'a>(
    reader: &'a Reader,
    walk: &mut Walk,
    most: usize,
    is_row: impl Fn(&Event<'_>) -> bool,
) -> Vec<LocatedEvent<'a>> {
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while rows.len() < most && bytes < BATCH_BYTES {
        let Some(found) = walk.next(reader) else { break };
        if is_row(&found.event) {
            bytes += found.event.custom.len();
            rows.push(found);
        }
    }
    rows
}

/// The columns that a scan needs, for output or for its filters.
fn needed_columns(scan: &Scan, columns: usize) -> HashSet<usize> {
    let filtered = scan.filters.iter().map(|filter| filter.column);
    match &scan.columns {
        None => (0..columns).collect(),
        Some(asked) => asked.iter().copied().chain(filtered).collect(),
    }
}

/// A value as the text of a cell.
fn value_text(value: &Value) -> Option<String> {
    (*value != Value::Null).then(|| value.to_string())
}

/// The name of a task, where it is declared.
pub(crate) fn task_name(reader: &Reader, log_file: LogFileId, task: ArtifactId) -> Option<String> {
    Some(reader.artifact(log_file, ArtifactClass::Task, task)?.name.to_string())
}
