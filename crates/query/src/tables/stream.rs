//! Tables whose rows are made one by one on a thread of their own, while batches are asked for.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use kymo_core::ahead::{self, Sender};
use kymo_core::{Error, Result};
use kymo_model::Table;
use kymo_model::table::{
    ABOUT, BatchBuilder, Batches, Column, Comparison, Filter, RowKind, Scan, schema_of,
};
use kymo_model::timeline::{TimeNs, TrackId, Window};

/// Batches that wait to be asked for.
const BATCHES_AHEAD: usize = 2;

/// Rows of the first batch, so that it comes early. Each is twice as long as the one before.
const FIRST_ROWS: usize = 256;

/// Rows of a common table.
pub(super) trait CommonRow: RowKind {
    /// The index of the recording that a row is of.
    fn recording(row: &Self::Row<'_>) -> usize;
}

/// Makes the rows of a table. Ends early with an error when nobody asks for more.
pub(super) type Produce<K> =
    dyn Fn(&RequestedColumns, &mut Rows<'_, K>) -> Result<()> + Send + Sync;

/// Description of a common table.
pub(super) struct TableDescription<K: CommonRow> {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) columns: &'static [Column<K>],
}

impl<K: CommonRow> TableDescription<K> {
    /// Name, meaning and schema.
    pub(super) fn parts(&self) -> (&'static str, &'static str, SchemaRef) {
        (self.name, self.about, schema(self.columns))
    }
}

/// A common table of a recording.
pub(super) struct RowTable<K: CommonRow> {
    pub(super) described: &'static TableDescription<K>,
    /// Ids of the recordings, by index.
    pub(super) recording_ids: Arc<[i64]>,
    pub(super) produce: Arc<Produce<K>>,
}

/// What of a table is asked for, as far as it spares reading.
pub(super) struct RequestedColumns {
    /// Names of the columns.
    columns: Vec<&'static str>,
    /// Conditions on integer columns that every row meets: name, least, greatest.
    ranges: Vec<(&'static str, i64, i64)>,
}

impl RequestedColumns {
    /// Returns true if a column is asked for.
    pub(super) fn contains(&self, column: &str) -> bool {
        self.columns.contains(&column)
    }

    /// The least and the greatest value of a column that can be in the result.
    fn range(&self, column: &str) -> (i64, i64) {
        let mine = self.ranges.iter().filter(|(name, ..)| *name == column);
        mine.fold((i64::MIN, i64::MAX), |(least, most), (_, from, to)| {
            (least.max(*from), most.min(*to))
        })
    }

    /// The window of a timeline that has every row of the result: by `ts` and `track_id`.
    pub(super) fn window(&self, track_count: usize) -> Window {
        let (least, most) = self.range("ts");
        let (first_track, last_track) = self.range("track_id");
        let tracks = (first_track > 0 || last_track < i64::MAX).then(|| {
            let first = usize::try_from(first_track).unwrap_or(0);
            let end = usize::try_from(last_track.saturating_add(1)).unwrap_or(0).min(track_count);
            (first..end).map(TrackId).collect()
        });
        Window {
            tracks,
            from: (least > i64::MIN).then_some(TimeNs(least)),
            until: (most < i64::MAX).then(|| TimeNs(most.saturating_add(1))),
            last: None,
        }
    }
}

/// Takes rows.
pub(super) struct Rows<'a, K: CommonRow> {
    builder: BatchBuilder<K>,
    /// Ids of the recordings that the rows are of.
    recordings: Vec<i64>,
    recording_ids: &'a [i64],
    shape: &'a Shape,
    batch_max: usize,
    batch_limit: usize,
    to: &'a Sender<RecordBatch>,
}

/// Which columns a batch has, and in which order.
struct Shape {
    schema: SchemaRef,
    /// Places of the columns in the table, the recording's id not counted; none is that id.
    places: Vec<Option<usize>>,
}

impl<K: CommonRow> Rows<'_, K> {
    /// Adds a row.
    ///
    /// # Errors
    /// When nobody asks for more.
    pub(super) fn push(&mut self, row: &K::Row<'_>) -> Result<()> {
        let id = self.recording_ids.get(K::recording(row)).copied();
        self.recordings.push(id.ok_or_else(|| {
            Error::request(format!("recording {} is not listed", K::recording(row)))
        })?);
        self.builder.push(row);
        if self.builder.len() >= self.batch_max || self.builder.is_large() {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.builder.is_empty() {
            return Ok(());
        }
        self.batch_max = (self.batch_max * 2).min(self.batch_limit);
        let rows = self.builder.len();
        let built = self.builder.finish()?;
        let ids: ArrayRef = Arc::new(Int64Array::from(std::mem::take(&mut self.recordings)));
        let mut built = built.columns().iter();
        let mut columns = Vec::with_capacity(self.shape.places.len());
        for place in &self.shape.places {
            match place {
                None => columns.push(Arc::clone(&ids)),
                Some(_) => columns.extend(built.next().map(Arc::clone)),
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&self.shape.schema);
        let batch = RecordBatch::try_new_with_options(schema, columns, &options);
        self.to.send(batch.map_err(|error| arrow(&error))?)
    }
}

fn arrow(error: &ArrowError) -> Error {
    Error::request(error.to_string())
}

/// Schema of a common table: the id of the recording comes first.
fn schema<K: RowKind>(columns: &[Column<K>]) -> SchemaRef {
    let about = [(ABOUT.to_owned(), "recording of the row: a digest of its path".to_owned())];
    let id = Field::new("recording_id", DataType::Int64, false).with_metadata(about.into());
    let rest = schema_of(columns);
    let fields = std::iter::once(Arc::new(id)).chain(rest.fields().iter().map(Arc::clone));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

impl<K: CommonRow> RowTable<K> {
    fn requested_columns(&self, places: &[usize], filters: &[Filter]) -> RequestedColumns {
        let name = |place: &usize| {
            self.described.columns.get(place.checked_sub(1)?).map(|found| found.name)
        };
        let ranges = filters.iter().filter_map(|filter| {
            let values = filter.value().as_any().downcast_ref::<Int64Array>()?;
            let value = *values.values().first()?;
            let (least, most) = match filter.comparison {
                Comparison::Equal => (value, value),
                Comparison::Less => (i64::MIN, value.checked_sub(1)?),
                Comparison::LessOrEqual => (i64::MIN, value),
                Comparison::Greater => (value.checked_add(1)?, i64::MAX),
                Comparison::GreaterOrEqual => (value, i64::MAX),
                Comparison::NotEqual => return None,
            };
            Some((name(&filter.column)?, least, most))
        });
        RequestedColumns {
            columns: places.iter().filter_map(name).collect(),
            ranges: ranges.collect(),
        }
    }
}

impl<K: CommonRow> Table for RowTable<K> {
    fn name(&self) -> &str {
        self.described.name
    }

    fn about(&self) -> &str {
        self.described.about
    }

    fn schema(&self) -> SchemaRef {
        schema(self.described.columns)
    }

    fn row_count(&self) -> Option<u64> {
        None
    }

    fn scan(self: Arc<Self>, scan: &Scan) -> Result<Batches> {
        let whole = schema(self.described.columns);
        let asked = scan.columns.clone().unwrap_or_else(|| (0..whole.fields().len()).collect());
        // Columns that only conditions look at come after those that are asked for.
        let mut places = asked.clone();
        for filter in &scan.filters {
            if !places.contains(&filter.column) {
                places.push(filter.column);
            }
        }
        let wanted = self.requested_columns(&places, &scan.filters);
        let shape = Shape {
            schema: Arc::new(whole.project(&places).map_err(|error| arrow(&error))?),
            places: places.iter().map(|place| place.checked_sub(1)).collect(),
        };
        let builder: Vec<_> = shape.places.iter().copied().flatten().collect();
        let builder = BatchBuilder::new(self.described.columns, &builder)?;
        let batch_limit = scan.batch_rows.max(1);
        let batches = ahead::produce(BATCHES_AHEAD, move |to| {
            let mut rows = Rows {
                builder,
                recordings: Vec::new(),
                recording_ids: &self.recording_ids,
                shape: &shape,
                batch_max: FIRST_ROWS.min(batch_limit),
                batch_limit,
                to,
            };
            (self.produce)(&wanted, &mut rows)?;
            rows.flush()
        })?;
        let place = |column: usize| places.iter().position(|place| *place == column);
        let filters = scan.filters.iter().map(|filter| {
            // Every column of a condition has a place.
            filter.for_column(place(filter.column).unwrap_or(filter.column))
        });
        let rest = Scan {
            columns: Some((0..asked.len()).collect()),
            filters: filters.collect(),
            ..scan.clone()
        };
        Ok(rest.finish(Box::new(batches)))
    }
}
