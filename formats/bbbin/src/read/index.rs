//! EVENT INDEX, TASK EXECUTIONS and STATISTICS: what was computed from the events.

use std::ops::Range;

use kymo_core::bytes::{Cursor, ReadErrorKind, ReadResult};
use kymo_model::timeline::{TimeNs, Window};

use super::definitions::{Budget, SectionItems, count, items};
use crate::types::{ArtifactId, Block, IndexHeader, LogFileId, Statistics, TaskExecution};

/// Content of the EVENT INDEX.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    pub header: IndexHeader,
    pub blocks: Vec<Block>,
}

/// Reads the EVENT INDEX; where its head cannot be read, that is the error.
pub(crate) fn index(
    mut cursor: Cursor<'_>,
    budget: &mut Budget,
) -> ReadResult<(IndexHeader, SectionItems<Block>)> {
    let num_blocks = count(&mut cursor, "num-blocks")?;
    let header = IndexHeader {
        num_events: cursor.i64("num-events")?,
        total_event_size: cursor.i64("total-event-size")?,
        first_timestamp: cursor.i64("first-event-timestamp")?,
        last_timestamp: cursor.i64("last-event-timestamp")?,
    };
    Ok((header, items(cursor, num_blocks, "num-blocks", budget, block)))
}

fn block(cursor: &mut Cursor<'_>, _: &mut Budget) -> ReadResult<Block> {
    Ok(Block {
        offset: cursor.offset(),
        num_events: positive(cursor, "num-events-in-block")?,
        total_event_size: positive(cursor, "total-event-size-in-block")?,
        first_timestamp: cursor.i64("first-event-timestamp")?,
        last_timestamp: cursor.i64("last-event-timestamp")?,
        first_event_index: positive(cursor, "first-event-index")?,
        first_event_offset: positive(cursor, "first-event-fptr")?,
    })
}

fn positive(cursor: &mut Cursor<'_>, what: &'static str) -> ReadResult<u64> {
    let offset = cursor.offset();
    let found = cursor.i64(what)?;
    u64::try_from(found).map_err(|_| ReadErrorKind::Negative(found).error_at(what, offset))
}

/// An entry of TASK EXECUTIONS.
pub(crate) fn task_execution(cursor: &mut Cursor<'_>, _: &mut Budget) -> ReadResult<TaskExecution> {
    Ok(TaskExecution {
        offset: cursor.offset(),
        log_file: LogFileId(cursor.i32("log-file-id")?),
        task: ArtifactId(cursor.i32("task-id")?),
        task_exec: cursor.f64("task-exec")?,
    })
}

/// The STATISTICS.
pub(crate) fn statistics(mut cursor: Cursor<'_>) -> ReadResult<Statistics> {
    Ok(Statistics {
        first_task_duration: cursor.i64("first-task-duration")?,
        last_task_duration: cursor.i64("last-task-duration")?,
        num_task_switches: cursor.i64("num-task-switches")?,
    })
}

/// Events that lie together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
    pub events: u64,
    /// True if the events are known to fill the span.
    pub is_exact: bool,
}

impl Index {
    /// Returns the reason why blocks cannot be where the index has them, with the place in the
    /// index.
    pub(crate) fn disagreement(
        &self,
        events: u64,
        first_event: u64,
        size_bytes: u64,
    ) -> Option<(Option<u64>, String)> {
        let (mut next, mut count) = (first_event, 0_u64);
        for block in &self.blocks {
            let end = next.checked_add(block.total_event_size);
            let at = |why: String| Some((Some(block.offset), why));
            if block.first_event_offset != next {
                let found = block.first_event_offset;
                return at(format!("a block begins at byte {found:#x}, and not at {next:#x}"));
            }
            if block.first_event_index != count {
                let found = block.first_event_index;
                return at(format!("a block begins with event {found}, and not with {count}"));
            }
            let Some(end) = end.filter(|end| *end <= size_bytes) else {
                return at("a block goes beyond the end of the file".into());
            };
            next = end;
            count = count.saturating_add(block.num_events);
        }
        (count != events).then(|| {
            (None, format!("the blocks of the index have {count} events, and there are {events}"))
        })
    }

    /// Returns the number of events that the index locates, where its blocks follow one another and
    /// it does not contradict itself.
    pub(crate) fn located(&self, first_event: u64, size_bytes: u64) -> Option<u64> {
        let count = self.blocks.iter().fold(0_u64, |sum, it| sum.saturating_add(it.num_events));
        let bytes = |sum: u64, it: &Block| sum.saturating_add(it.total_event_size);
        let bytes = self.blocks.iter().fold(8, bytes);
        let is_of_one_mind = u64::try_from(self.header.num_events) == Ok(count)
            && u64::try_from(self.header.total_event_size) == Ok(bytes);
        let is_there = self.disagreement(count, first_event, size_bytes).is_none();
        (is_of_one_mind && is_there && count > 0).then_some(count)
    }

    /// The blocks as spans.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let span = |block: &Block| Span {
            start: block.first_event_offset,
            end: block.first_event_offset.saturating_add(block.total_event_size),
            events: block.num_events,
            is_exact: true,
        };
        self.blocks.iter().map(span).collect()
    }

    /// Returns true if the times of the blocks go up.
    pub(crate) fn is_ascending(&self) -> bool {
        let ends =
            self.blocks.iter().flat_map(|block| [block.first_timestamp, block.last_timestamp]);
        ends.is_sorted()
    }

    /// The blocks that may have events of a window, given that times go up.
    pub(crate) fn blocks_in_window(&self, window: &Window) -> Range<usize> {
        let before = |from: TimeNs| self.blocks.partition_point(|it| it.last_timestamp < from.0);
        let start = window.from.map_or(0, before);
        let until = |until: TimeNs| self.blocks.partition_point(|it| it.first_timestamp < until.0);
        let end = window.until.map_or(self.blocks.len(), until);
        start..end.max(start)
    }
}
