//! A scan of a variable: which parts of which steps are read, and batches made of them.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::SchemaRef;
use arrow_select::{concat::concat, filter::filter};

use super::super::{Chunks, Order, Selection, volume};
use super::VariableTable;
use crate::table::{Comparison, Filter, Scan, Table, arrow};
use kymo_core::{Error, Result};

/// Values of further steps are not added to a batch that has so many bytes of them.
const BATCH_BYTES: usize = 16 << 20;

/// The batches of a scan. Some may be empty.
pub(super) struct Rows {
    table: Arc<VariableTable>,
    schema: SchemaRef,
    /// The columns that are asked for.
    columns: Vec<usize>,
    /// The conditions that the bounds do not settle.
    filters: Vec<Filter>,
    /// True if the values themselves are asked for.
    wants_values: bool,
    /// The steps that may have rows.
    steps: Range<u64>,
    /// The indices that may have rows, by dimension as the file lists them.
    bounds: Vec<Range<u64>>,
    /// Number of rows in a batch.
    batch_max: u64,
    /// Number of rows still to be read.
    left: u64,
    open: Option<Open>,
    /// Error after rows that are given first.
    failed: Option<Error>,
}

/// A step that is being read.
struct Open {
    step: u64,
    area: Arc<Area>,
    chunks: Chunks,
}

/// The part of a step that has rows, in storage order.
struct Area {
    start: Vec<u64>,
    count: Vec<u64>,
}

/// Some rows of one step.
struct Part {
    step: u64,
    area: Arc<Area>,
    position: u64,
    rows: usize,
    /// Nothing when they are not asked for.
    values: Option<ArrayRef>,
    /// True if more could be read only at another time.
    is_short: bool,
}

impl Rows {
    pub(super) fn new(table: Arc<VariableTable>, scan: &Scan) -> Result<Self> {
        let schema = table.schema();
        let width = schema.fields().len();
        if let Some(filter) = scan.filters.iter().find(|filter| filter.column >= width) {
            return Err(Error::Request(format!("there is no column {}", filter.column)));
        }
        let columns = scan.columns.clone().unwrap_or_else(|| (0..width).collect());
        let mut ranges = vec![0..u64::MAX; width - 1];
        let mut filters = Vec::new();
        for filter in &scan.filters {
            match (ranges.get_mut(filter.column), range_of(filter)) {
                (Some(range), Some(met)) => {
                    *range = range.start.max(met.start)..range.end.min(met.end);
                }
                _ => filters.push(filter.clone()),
            }
        }
        let bounds = ranges.split_off(1);
        let steps = ranges.pop().unwrap_or_default();
        let mut used = columns.iter().copied().chain(filters.iter().map(|filter| filter.column));
        Ok(Self {
            schema: scan.output_schema(&schema)?,
            wants_values: used.any(|column| column == width - 1),
            steps: steps.start..steps.end.min(table.variable.steps),
            bounds,
            batch_max: (scan.batch_rows as u64).max(1),
            // Rows that a condition takes away do not count, so that any number may be needed.
            left: scan.limit.filter(|_| filters.is_empty()).unwrap_or(u64::MAX),
            table,
            columns,
            filters,
            open: None,
            failed: None,
        })
    }

    /// The rows of a batch: of as many steps as it takes.
    fn gather(&mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut room = self.batch_max.min(self.left);
        let mut bytes = 0;
        while room > 0 {
            match self.part(room) {
                Ok(Some(part)) => {
                    let rows = part.rows as u64;
                    bytes += part.bytes();
                    let is_full = part.is_short || bytes >= BATCH_BYTES;
                    self.left = self.left.saturating_sub(rows);
                    room = if is_full { 0 } else { room.saturating_sub(rows) };
                    parts.push(part);
                }
                Ok(None) => room = 0,
                Err(error) => {
                    room = 0;
                    self.failed = Some(error);
                    self.open = None;
                    self.steps = 0..0;
                }
            }
        }
        parts
    }

    fn part(&mut self, rows_max: u64) -> Result<Option<Part>> {
        loop {
            if let Some(open) = &mut self.open
                && let Some(part) = open.next(rows_max, self.wants_values)
            {
                return part.map(Some);
            }
            let Some(step) = self.steps.next() else {
                self.open = None;
                return Ok(None);
            };
            self.open = Some(self.open(step)?);
        }
    }

    fn open(&self, step: u64) -> Result<Open> {
        let table = &self.table;
        let found = table.view.step(table.id, step)?;
        if found.shape.len() != self.bounds.len() {
            let (rank, expected) = (found.shape.len(), self.bounds.len());
            let why = format!("step {step} has {rank} dimensions where {expected} should be");
            return Err(Error::Request(why));
        }
        let sides = found.shape.iter().zip(&self.bounds);
        let (start, count) = sides
            .map(|(&length, bounds)| {
                let start = bounds.start.min(length);
                (start, bounds.end.min(length).saturating_sub(start))
            })
            .unzip();
        let selection = Selection { start, count };
        let view = Arc::clone(&table.view);
        let data_type = table.variable.data_type.clone();
        let (order, rows) = (table.order, self.batch_max);
        let chunks = Chunks::new(view, data_type, found, &selection, order, rows)?;
        let area = Area { start: order.turn(selection.start), count: order.turn(selection.count) };
        Ok(Open { step, area: Arc::new(area), chunks })
    }

    /// Looks at conditions first, then makes only what is asked for.
    fn batch(&self, parts: &[Part]) -> Result<RecordBatch> {
        let mask = Filter::all(&self.filters, |index| self.column(index, parts))?;
        let rows = parts.iter().map(|part| part.rows).sum();
        let rows = mask.as_ref().map_or(rows, BooleanArray::true_count);
        if rows == 0 {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        }
        let columns = self.columns.iter().map(|&index| {
            let column = self.column(index, parts)?;
            match &mask {
                None => Ok(column),
                Some(mask) => filter(&column, mask).map_err(arrow),
            }
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&self.schema);
        RecordBatch::try_new_with_options(schema, columns, &options).map_err(arrow)
    }

    fn column(&self, index: usize, parts: &[Part]) -> Result<ArrayRef> {
        let rank = self.bounds.len();
        if index == 0 {
            let steps = parts.iter().flat_map(|part| std::iter::repeat_n(part.step, part.rows));
            return Ok(Arc::new(UInt64Array::from_iter_values(steps)));
        }
        if index <= rank {
            let dimension = match self.table.order {
                Order::C => index - 1,
                Order::Fortran => rank - index,
            };
            let indices = parts.iter().flat_map(|part| part.indices(dimension));
            return Ok(Arc::new(UInt64Array::from_iter_values(indices)));
        }
        let values: Vec<_> = parts.iter().filter_map(|part| part.values.as_deref()).collect();
        match parts {
            [Part { values: Some(values), .. }] => Ok(Arc::clone(values)),
            _ => concat(&values).map_err(arrow),
        }
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed.is_none() {
            let parts = self.gather();
            if !parts.is_empty() {
                return Some(self.batch(&parts));
            }
        }
        self.failed.take().map(Err)
    }
}

impl Open {
    fn next(&mut self, rows_max: u64, wants_values: bool) -> Option<Result<Part>> {
        let part = |position, rows, values| Part {
            step: self.step,
            area: Arc::clone(&self.area),
            position,
            rows,
            values,
            is_short: false,
        };
        if !wants_values {
            let passed = self.chunks.pass(rows_max)?;
            let rows = usize::try_from(passed.end - passed.start).unwrap_or(usize::MAX);
            return Some(Ok(part(passed.start, rows, None)));
        }
        let chunk = match self.chunks.next_chunk(rows_max)? {
            Ok(chunk) => chunk,
            Err(error) => return Some(Err(error)),
        };
        let rows = chunk.values.len();
        let is_short = (rows as u64) < rows_max && !self.chunks.is_done();
        Some(Ok(Part { is_short, ..part(chunk.position, rows, Some(chunk.values)) }))
    }
}

impl Part {
    fn bytes(&self) -> usize {
        let bytes = |values: &ArrayRef| values.to_data().get_slice_memory_size().unwrap_or(0);
        self.values.as_ref().map_or(0, bytes)
    }

    /// The index of each row in one dimension, without dividing for each.
    fn indices(&self, dimension: usize) -> impl Iterator<Item = u64> {
        let Area { start, count } = &*self.area;
        let start = start.get(dimension).copied().unwrap_or(0);
        let length = count.get(dimension).copied().unwrap_or(1).max(1);
        let faster = volume(count.get(dimension + 1..).unwrap_or_default()).max(1);
        let mut index = self.position / faster % length;
        let mut left = faster - self.position % faster;
        let indices = std::iter::repeat_with(move || {
            let here = start + index;
            left -= 1;
            if left == 0 {
                left = faster;
                index = if index + 1 < length { index + 1 } else { 0 };
            }
            here
        });
        indices.take(self.rows)
    }
}

/// The numbers that meet a condition, where they are one range.
fn range_of(filter: &Filter) -> Option<Range<u64>> {
    let value = *filter.value().as_primitive_opt::<UInt64Type>()?.values().first()?;
    // The greatest number is no index: an array has at most so many places.
    let next = value.saturating_add(1);
    match filter.comparison {
        Comparison::Equal => Some(value..next),
        Comparison::NotEqual => None,
        Comparison::Less => Some(0..value),
        Comparison::LessOrEqual => Some(0..next),
        Comparison::Greater => Some(next..u64::MAX),
        Comparison::GreaterOrEqual => Some(value..u64::MAX),
    }
}
