//! Arrow schemas and scans.

mod cells;
mod events;
mod listed;
mod typed;

use std::sync::Arc;

use kymo_core::{Table, Value};

use crate::Reader;
use crate::spec::ArtifactClass;
use crate::types::{ArtifactId, LogFileId};

/// The fixed tables.
pub(crate) fn tables(reader: &Arc<Reader>) -> Vec<Arc<dyn Table>> {
    let mut tables = events::tables(reader);
    tables.extend(listed::tables(reader));
    tables
}

/// The events of the custom types with a name.
pub(crate) fn type_table(reader: &Arc<Reader>, name: &str) -> Option<Arc<dyn Table>> {
    typed::table(reader, name)
}

/// A value as the text of a cell.
fn value_text(value: &Value) -> Option<String> {
    (*value != Value::Null).then(|| value.to_string())
}

/// The name of a task, where it is declared.
pub(crate) fn task_name(reader: &Reader, log_file: LogFileId, task: ArtifactId) -> Option<String> {
    Some(reader.artifact(log_file, ArtifactClass::Task, task)?.name.clone())
}
