//! The rows of `trace.db`.

use std::sync::Arc;

use super::Rows;
use crate::read::{Budget, Database, TraceDb};
use crate::spec::ELEMENT_BYTES;
use crate::types::Trace;

/// A trace.
pub(crate) struct TraceRow {
    pub(crate) offset: u64,
    pub(crate) profile: u64,
    pub(crate) samples: u64,
    /// Bytes that are too few for another sample.
    pub(crate) rest: u64,
    pub(crate) first: Option<u64>,
    pub(crate) last: Option<u64>,
}

/// An element of a trace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SampleRow {
    pub(crate) offset: u64,
    pub(crate) profile: u64,
    pub(crate) time: u64,
    pub(crate) context: u64,
}

/// Traces, in the order of the list.
pub(crate) fn traces(database: &Arc<Database>) -> Rows<TraceRow> {
    let database = Arc::clone(database);
    let count = database.trace.as_ref().map_or(0, |file| file.traces.count);
    Box::new((0..count).filter_map(move |index| {
        let file = database.trace.as_ref()?;
        let trace = database.ok_or_note(&file.part, file.trace(index))??;
        let time = |index: Option<u64>| {
            let element = file.element(&trace, index?);
            Some(database.ok_or_note(&file.part, element)?.timestamp)
        };
        Some(TraceRow {
            offset: trace.offset,
            profile: trace.prof_index.into(),
            samples: trace.count,
            rest: trace.rest,
            first: time((trace.count > 0).then_some(0)),
            last: time(trace.count.checked_sub(1)),
        })
    }))
}

/// Elements of all traces.
pub(crate) fn samples(database: &Arc<Database>) -> Rows<SampleRow> {
    let database = Arc::clone(database);
    let count = database.trace.as_ref().map_or(0, |file| file.traces.count);
    let mut budget = database.trace.as_ref().map(|file| Budget::from_part(&file.part));
    let lines = (0..count).flat_map(move |index| {
        let database = Arc::clone(&database);
        let trace = database.trace.as_ref().zip(budget.as_mut()).and_then(|(file, budget)| {
            let trace = database.ok_or_note(&file.part, file.trace(index))??;
            let records = (trace.count, ELEMENT_BYTES);
            database.has_room(&file.part, budget, trace.offset, records).then_some(trace)
        });
        trace.into_iter().flat_map(move |trace| samples_of(Arc::clone(&database), trace))
    });
    Box::new(lines)
}

fn samples_of(database: Arc<Database>, trace: Trace) -> impl Iterator<Item = SampleRow> + Send {
    (0..trace.count).filter_map(move |index| {
        let file: &TraceDb = database.trace.as_ref()?;
        let element = database.ok_or_note(&file.part, file.element(&trace, index))?;
        Some(SampleRow {
            offset: TraceDb::element_offset(&trace, index),
            profile: trace.prof_index.into(),
            time: element.timestamp,
            context: element.ctx_id.into(),
        })
    })
}
