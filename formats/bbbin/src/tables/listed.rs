//! Tables of what is in memory: log files, types, artifacts, blocks, task executions.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use kymo_core::Result;
use kymo_model::Table;
use kymo_model::table::{ColumnTable, Columns};

use super::cells::{Column, no_column, places, schema};
use crate::Reader;
use crate::dump::{fields_text, recording, task_class_text};
use crate::types::{
    ArtifactKind, Block, CustomType, DeclaredArtifact, LogFile, Statistics, TaskExecution,
};

/// The number of a row, with what it is a row of.
type Row = (Arc<Reader>, usize);

/// A table of items that a reader holds.
struct ListTable {
    reader: Arc<Reader>,
    name: &'static str,
    about: &'static str,
    columns: Vec<Column<Row>>,
    brief: Vec<usize>,
    count: usize,
}

impl ListTable {
    fn table(
        reader: &Arc<Reader>,
        (name, about): (&'static str, &'static str),
        count: usize,
        columns: Vec<Column<Row>>,
        brief: &[&str],
    ) -> Arc<dyn Table> {
        let brief = places(&columns, brief);
        let reader = Arc::clone(reader);
        ColumnTable::new(Self { reader, name, about, columns, brief, count })
    }
}

impl Columns for ListTable {
    type Row<'a> = Row;

    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn schema(&self) -> SchemaRef {
        schema(&self.columns)
    }

    fn brief(&self) -> Vec<usize> {
        self.brief.clone()
    }

    fn row_count(&self) -> u64 {
        self.count as u64
    }

    fn rows(&self, rows: Range<usize>) -> Result<Vec<Row>> {
        let rows = rows.start..rows.end.min(self.count);
        Ok(rows.map(|number| (Arc::clone(&self.reader), number)).collect())
    }

    fn column(&self, index: usize, rows: &[Row]) -> Result<ArrayRef> {
        self.columns.get(index).ok_or_else(|| no_column(index))?.fill(rows)
    }
}

/// The tables.
pub(super) fn tables(reader: &Arc<Reader>) -> Vec<Arc<dyn Table>> {
    vec![
        log_files(reader),
        types(reader),
        artifacts(reader),
        blocks(reader),
        task_executions(reader),
        statistics(reader),
    ]
}

fn log_files(reader: &Arc<Reader>) -> Arc<dyn Table> {
    let item = |row: &Row| -> Option<LogFile> { row.0.log_files().get(row.1).cloned() };
    let columns = vec![
        Column::unsigned("recording", move |row: &Row| recording(&row.0, item(row)?.id)),
        Column::unsigned("offset", move |row| Some(item(row)?.offset)).always(),
        Column::signed("log_file_id", move |row| Some(item(row)?.id.0.into())).always(),
        Column::text("log_file_name", move |row| Some(item(row)?.name)).always(),
        Column::signed("log_file_size", move |row| Some(item(row)?.size)).always(),
        Column::signed("imported_at_timestamp", move |row| Some(item(row)?.imported_at_ms))
            .always(),
        Column::text("importer_name", move |row| Some(item(row)?.importer)).always(),
    ];
    let brief = ["log_file_id", "log_file_name", "log_file_size", "importer_name"];
    let count = reader.log_files().len();
    ListTable::table(reader, ("log_files", "the logs that were imported"), count, columns, &brief)
}

fn types(reader: &Arc<Reader>) -> Arc<dyn Table> {
    fn custom_type(row: &Row) -> Option<&CustomType> {
        row.0.types().get(row.1)
    }
    let columns = vec![
        Column::unsigned("recording", |row: &Row| recording(&row.0, custom_type(row)?.log_file)),
        Column::unsigned("offset", |row| Some(custom_type(row)?.offset)).always(),
        Column::signed("type_id", |row| Some(custom_type(row)?.id.0.into())).always(),
        Column::text("type_name", |row| Some(custom_type(row)?.name.clone())).always(),
        Column::signed("log_file_id", |row| Some(custom_type(row)?.log_file.0.into())).always(),
        Column::text("fields", |row| custom_type(row).map(fields_text)).always(),
    ];
    let brief = ["log_file_id", "type_id", "type_name", "fields"];
    let count = reader.types().len();
    ListTable::table(
        reader,
        ("types", "what values are, by log file and id"),
        count,
        columns,
        &brief,
    )
}

fn artifacts(reader: &Arc<Reader>) -> Arc<dyn Table> {
    fn artifact(row: &Row) -> Option<DeclaredArtifact<'_>> {
        row.0.artifact_at(row.1)
    }
    let columns = vec![
        Column::unsigned("recording", |row: &Row| recording(&row.0, artifact(row)?.log_file)),
        Column::unsigned("offset", |row| Some(artifact(row)?.offset)).always(),
        Column::text("artifact_class", |row| Some(artifact(row)?.kind.class().name().into()))
            .always(),
        Column::signed("artifact_id", |row| Some(artifact(row)?.id.0.into())).always(),
        Column::text("artifact_name", |row| Some(artifact(row)?.name.to_string())).always(),
        Column::signed("log_file_id", |row| Some(artifact(row)?.log_file.0.into())).always(),
        Column::text("task_class", |row| match artifact(row)?.kind {
            ArtifactKind::Task { task_class, .. } => Some(task_class_text(task_class)),
            _ => None,
        }),
        Column::signed("task_priority", |row| match artifact(row)?.kind {
            ArtifactKind::Task { priority, .. } => Some(priority.into()),
            _ => None,
        }),
        Column::signed("parent_id", |row| match artifact(row)?.kind {
            ArtifactKind::State { parent } => Some(parent.0.into()),
            _ => None,
        }),
        Column::signed("custom_type_id", |row| Some(artifact(row)?.custom_type.0.into())).always(),
        Column::fallible("custom", |row| {
            let Some(declared_artifact) = artifact(row) else { return Ok(None) };
            let value = row.0.custom_value(
                declared_artifact.log_file,
                declared_artifact.custom_type,
                declared_artifact.custom,
                declared_artifact.offset,
            )?;
            Ok(super::value_text(&value))
        }),
    ];
    let brief = ["log_file_id", "artifact_class", "artifact_id", "artifact_name"];
    let count = reader.artifact_count();
    let about = "tasks, state machines, states and others, by log file";
    ListTable::table(reader, ("artifacts", about), count, columns, &brief)
}

fn blocks(reader: &Arc<Reader>) -> Arc<dyn Table> {
    fn block(row: &Row) -> Option<&Block> {
        row.0.blocks().get(row.1)
    }
    let columns = vec![
        // A block has events of any log file.
        Column::unsigned("recording", |_| None),
        Column::unsigned("offset", |row| Some(block(row)?.offset)).always(),
        Column::unsigned("num_events_in_block", |row| Some(block(row)?.num_events)).always(),
        Column::unsigned("total_event_size_in_block", |row| Some(block(row)?.total_event_size))
            .always(),
        Column::signed("first_event_timestamp", |row| Some(block(row)?.first_timestamp)).always(),
        Column::signed("last_event_timestamp", |row| Some(block(row)?.last_timestamp)).always(),
        Column::unsigned("first_event_index", |row| Some(block(row)?.first_event_index)).always(),
        Column::unsigned("first_event_fptr", |row| Some(block(row)?.first_event_offset)).always(),
    ];
    let brief = [
        "num_events_in_block",
        "first_event_timestamp",
        "last_event_timestamp",
        "first_event_index",
        "first_event_fptr",
    ];
    let count = reader.blocks().len();
    ListTable::table(reader, ("blocks", "the blocks of the event index"), count, columns, &brief)
}

fn task_executions(reader: &Arc<Reader>) -> Arc<dyn Table> {
    fn task_execution(row: &Row) -> Option<&TaskExecution> {
        row.0.task_executions().get(row.1)
    }
    let columns = vec![
        Column::unsigned("recording", |row: &Row| recording(&row.0, task_execution(row)?.log_file)),
        Column::unsigned("offset", |row| Some(task_execution(row)?.offset)).always(),
        Column::signed("log_file_id", |row| Some(task_execution(row)?.log_file.0.into())).always(),
        Column::signed("task_id", |row| Some(task_execution(row)?.task.0.into())).always(),
        Column::text("task_name", |row| {
            let this_task_execution = task_execution(row)?;
            super::task_name(&row.0, this_task_execution.log_file, this_task_execution.task)
        }),
        Column::float("task_exec", |row| Some(task_execution(row)?.task_exec)).always(),
    ];
    let brief = ["log_file_id", "task_id", "task_name", "task_exec"];
    let count = reader.task_executions().len();
    let about = "how much of the time tasks ran, in percent, as the file says";
    ListTable::table(reader, ("task_executions", about), count, columns, &brief)
}

fn statistics(reader: &Arc<Reader>) -> Arc<dyn Table> {
    fn statistics(row: &Row) -> Option<&Statistics> {
        row.0.statistics()
    }
    let columns = vec![
        Column::unsigned("recording", |_| None),
        Column::signed("first_task_duration", |row| Some(statistics(row)?.first_task_duration))
            .always(),
        Column::signed("last_task_duration", |row| Some(statistics(row)?.last_task_duration))
            .always(),
        Column::signed("num_task_switches", |row| Some(statistics(row)?.num_task_switches))
            .always(),
    ];
    let brief = ["first_task_duration", "last_task_duration", "num_task_switches"];
    let about = "when the first and the last TASK_SWITCH were, and how many there are";
    let count = usize::from(reader.statistics().is_some());
    ListTable::table(reader, ("statistics", about), count, columns, &brief)
}
