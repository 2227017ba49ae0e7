//! Arrow tables: one of each kind of record, and that of threads.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use kymo_core::{Error, Result};
use kymo_model::Table;
use kymo_model::profile::IdPart;
use kymo_model::table::{ColumnTable, Columns};

use crate::layout::{COUNTS, FOOTERS, INDEX_ENTRIES, SECTIONS};
use crate::listing::{
    Cells, EPOCHS, HEADERS, ID_KINDS, IDS, LOAD_MODULES, Listing, METRICS, NODES, NV_PAIRS,
    TRACE_RECORDS, VALUES,
};
use crate::measurement::{Measurement, Part};

/// Every table of a measurement.
pub(crate) fn tables(measurement: &Arc<Measurement>) -> Vec<Arc<dyn Table>> {
    vec![
        table(measurement, &THREADS),
        table(measurement, &METRICS),
        table(measurement, &LOAD_MODULES),
        table(measurement, &NODES),
        table(measurement, &VALUES),
        table(measurement, &TRACE_RECORDS),
        table(measurement, &HEADERS),
        table(measurement, &NV_PAIRS),
        table(measurement, &EPOCHS),
        table(measurement, &ID_KINDS),
        table(measurement, &IDS),
        table(measurement, &COUNTS),
        table(measurement, &INDEX_ENTRIES),
        table(measurement, &SECTIONS),
        table(measurement, &FOOTERS),
    ]
}

fn table<R: 'static>(
    measurement: &Arc<Measurement>,
    listing: &'static Listing<R>,
) -> Arc<dyn Table> {
    let mut rows = 0;
    let mut starts = Vec::with_capacity(measurement.recordings.len());
    for part in &measurement.recordings {
        starts.push(rows);
        rows += (listing.count)(part);
    }
    ColumnTable::new(Joined { measurement: Arc::clone(measurement), listing, starts, rows })
}

/// The records of one kind of all recordings, one after the other.
struct Joined<R: 'static> {
    measurement: Arc<Measurement>,
    listing: &'static Listing<R>,
    /// The first row of each recording.
    starts: Vec<usize>,
    rows: usize,
}

/// A record with its recording and its offset.
struct Row<R> {
    recording: usize,
    offset: u64,
    record: R,
}

impl<R: 'static> Joined<R> {
    /// The columns before those of the listing: the recording where there are several, and the
    /// offset.
    fn leading(&self) -> usize {
        usize::from(self.measurement.has_several()) + 1
    }
}

impl<R: 'static> Columns for Joined<R> {
    type Row<'a> = Row<R>;

    fn name(&self) -> &'static str {
        self.listing.table
    }

    fn about(&self) -> &'static str {
        self.listing.about
    }

    fn schema(&self) -> SchemaRef {
        let number = |name| Field::new(name, DataType::UInt64, false);
        let leading = ["recording", "offset"].into_iter().skip(2 - self.leading()).map(number);
        let own = self.listing.columns.iter().map(|(name, cells)| match cells {
            Cells::Number(_) => number(name),
            Cells::MaybeNumber(_) | Cells::Address(_) => Field::new(*name, DataType::UInt64, true),
            Cells::Real(_) => Field::new(*name, DataType::Float64, true),
            Cells::Flag(_) => Field::new(*name, DataType::Boolean, true),
            Cells::Text(_) => Field::new(*name, DataType::Utf8, false),
            Cells::MaybeText(_) => Field::new(*name, DataType::Utf8, true),
        });
        Arc::new(Schema::new(leading.chain(own).collect::<Vec<_>>()))
    }

    /// All but the offset and what a few files have.
    fn brief(&self) -> Vec<usize> {
        let leading = self.leading();
        let own = self.listing.columns.iter().take(BRIEF).enumerate();
        (0..leading - 1).chain(own.map(|(index, _)| index + leading)).collect()
    }

    fn row_count(&self) -> u64 {
        self.rows as u64
    }

    fn rows(&self, rows: Range<usize>) -> Result<Vec<Row<R>>> {
        if rows.start >= self.rows {
            return Ok(Vec::new());
        }
        let rows = rows.start..rows.end.min(rows.start.saturating_add(self.listing.at_once));
        let recording = self.starts.partition_point(|start| *start <= rows.start);
        let (mut found, mut holding) = (Vec::new(), self.measurement.holding());
        for recording in recording.saturating_sub(1)..self.starts.len() {
            let start = self.starts.get(recording).copied().unwrap_or(self.rows);
            let Some(part) = self.measurement.recordings.get(recording) else { break };
            let local = rows.start.saturating_sub(start)..rows.end.saturating_sub(start);
            if local.is_empty() {
                break;
            }
            let local = local.start..local.end.min((self.listing.count)(part));
            let held = self.listing.is_in_place && !local.is_empty();
            let held = held.then(|| holding.part(part)).transpose()?;
            let read = (self.listing.read)(held.as_ref().unwrap_or(part), local).into_iter();
            found.extend(read.map(|(offset, record)| Row { recording, offset, record }));
        }
        Ok(found)
    }

    fn column(&self, index: usize, rows: &[Row<R>]) -> Result<ArrayRef> {
        let numbers = |cell: &dyn Fn(&Row<R>) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(cell)))
        };
        let Some(own) = index.checked_sub(self.leading()) else {
            let is_offset = index + 1 == self.leading();
            let recording = |row: &Row<R>| row.recording as u64;
            return Ok(if is_offset { numbers(&|row| row.offset) } else { numbers(&recording) });
        };
        let column = self.listing.columns.get(own);
        let (_, cells) =
            column.ok_or_else(|| Error::request(format!("there is no column {index}")))?;
        let records = rows.iter().map(|row| &row.record);
        Ok(match cells {
            Cells::Number(cell) => Arc::new(UInt64Array::from_iter_values(records.map(cell))),
            Cells::MaybeNumber(cell) | Cells::Address(cell) => {
                Arc::new(records.map(cell).collect::<UInt64Array>())
            }
            Cells::Real(cell) => Arc::new(records.map(cell).collect::<Float64Array>()),
            Cells::Flag(cell) => Arc::new(records.map(cell).collect::<BooleanArray>()),
            Cells::Text(cell) => Arc::new(StringArray::from_iter_values(records.map(cell))),
            Cells::MaybeText(cell) => Arc::new(records.map(cell).collect::<StringArray>()),
        })
    }
}

/// Number of columns of a listing that stand in a line.
const BRIEF: usize = 7;

/// Facts about a thread.
struct Thread(Part);

impl Thread {
    /// The first and the last time of its trace, as they are in the file.
    fn ends(&self) -> Option<[u64; 2]> {
        self.0.trace.as_ref()?.ends()
    }
}

static THREADS: Listing<Thread> = Listing {
    kind: "thread",
    table: "threads",
    at_once: usize::MAX,
    is_in_place: false,
    about: "threads, or epochs of them: who they are and how much was measured",
    columns: &[
        ("name", Cells::Text(|thread| thread.0.name.clone())),
        ("thread", Cells::Text(|thread| thread.0.label.clone())),
        ("nodes", Cells::Number(|thread| (NODES.count)(&thread.0) as u64)),
        ("values", Cells::Number(|thread| (VALUES.count)(&thread.0) as u64)),
        ("trace_records", Cells::Number(|thread| (TRACE_RECORDS.count)(&thread.0) as u64)),
        ("first_time", Cells::MaybeNumber(|thread| thread.ends().map(|[first, _]| first))),
        ("last_time", Cells::MaybeNumber(|thread| thread.ends().map(|[_, last]| last))),
        ("mpi_rank", Cells::MaybeText(|thread| thread.0.said.mpi_rank.clone())),
        ("thread_id", Cells::MaybeText(|thread| thread.0.said.thread_id.clone())),
        ("host_id", Cells::MaybeText(|thread| thread.0.said.host_id.clone())),
        ("process_id", Cells::MaybeText(|thread| thread.0.said.process_id.clone())),
        ("id_tuple", Cells::Text(|thread| id_tuple(&thread.0))),
    ],
    count: |_| 1,
    read: |part, range| {
        let thread = (0, Thread(part.clone()));
        std::iter::once(thread).skip(range.start).take(range.len()).collect()
    },
};

/// The ids of a thread in words: `NODE 8323328/0, CORE 0, THREAD 1`.
fn id_tuple(part: &Part) -> String {
    let words = part.thread.ids.iter().map(|IdPart { kind, logical, physical }| match physical {
        None => format!("{} {logical}", kind.0),
        Some(physical) => format!("{} {physical}/{logical}", kind.0),
    });
    words.collect::<Vec<_>>().join(", ")
}
