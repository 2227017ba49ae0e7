//! Everything that can be read from a dataset, read and let go.

mod keys;
mod profiles;
mod timelines;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use keys::RecordKeys;
use kymo_core::Result;
use kymo_model::arrays::{
    ArraysView, Chunks, Order, Selection, Step, Variable, VariableId, statistics, volume,
};
use kymo_model::table::Scan;
use kymo_model::{ArrayValues, Dataset, DumpRequest, Field, Flow, Record, RecordSink, Table};

/// Values read at once.
const CHUNK_VALUES: u64 = 1024;

/// Values read from one place: a damaged file may claim a global array without end.
const VALUES_MAX: u64 = 1 << 13;

/// Goes through every way out of a dataset, perhaps of a folder, and holds nothing of it.
pub(crate) fn walk(dataset: &dyn Dataset, is_folder: bool) -> Result<()> {
    let _ = dataset.summary();
    let _ = dataset.recordings();
    for headers_only in [true, false] {
        let request = DumpRequest { headers_only, ..DumpRequest::default() };
        let mut drain = Drain(RecordKeys::for_folder(is_folder));
        let dumped = dataset.dump(&request, &mut drain);
        drain.0.assert_once();
        dumped?;
    }
    for table in dataset.tables() {
        scan(&table)?;
    }
    match dataset.arrays() {
        Some(view) => arrays(&view),
        None => Ok(()),
    }
}

/// Goes through the views that commands on timelines and profiles work on, of a file of so many bytes.
pub(crate) fn views(dataset: &dyn Dataset, size_bytes: u64) -> Result<()> {
    dataset.timeline().map_or(Ok(()), |view| timelines::timeline(&view, size_bytes))?;
    dataset.measurement().map_or(Ok(()), |view| profiles::measurement(&*view))?;
    dataset.profile().map_or(Ok(()), |view| profiles::profile(&*view))
}

/// Takes records, and reads their arrays.
struct Drain(RecordKeys);

impl RecordSink for Drain {
    fn position(&mut self, position: u64) {
        self.0.position = position;
    }

    fn record(&mut self, record: &Record<'_>) -> Result<Flow> {
        self.0.add(record);
        for (_, field) in &record.fields {
            if let Field::Array(array) = field {
                read_all(volume(array.shape()), CHUNK_VALUES, |values| array.read(values))?;
                refuses_more(*array);
            }
        }
        Ok(Flow::More)
    }

    fn text(&mut self, _text: &[u8]) -> Result<Flow> {
        panic!("a dump without a style gave text")
    }
}

/// Reads so many values in chunks, to the last or to as many as are worth while.
fn read_all(total: u64, at_once: u64, read: impl Fn(Range<u64>) -> Result<ArrayRef>) -> Result<()> {
    let mut first = 0;
    while first < total.min(VALUES_MAX) {
        let end = total.min(first + at_once.clamp(1, CHUNK_VALUES));
        let values = read(first..end)?;
        assert_eq!(values.len() as u64, end - first, "values {first}..{end}");
        first = end;
    }
    Ok(())
}

/// Values beyond the last are an error, not a panic and not data.
fn refuses_more(array: &dyn ArrayValues) {
    let total = volume(array.shape());
    let beyond = total..total.saturating_add(1);
    assert!(
        beyond.is_empty() || array.read(beyond).is_err(),
        "an array of {total} values has one more"
    );
}

fn scan(table: &Arc<dyn Table>) -> Result<()> {
    let all = Scan { batch_rows: 1000, ..Scan::default() };
    let mut rows = 0;
    for batch in Arc::clone(table).scan(&all)? {
        rows += batch?.num_rows() as u64;
    }
    let told = table.row_count().unwrap_or(rows);
    assert_eq!(told, rows, "rows of the table {}", table.name());
    Ok(())
}

fn arrays(view: &Arc<dyn ArraysView>) -> Result<()> {
    let _ = view.attributes();
    for id in (0..view.variable_count()).map(VariableId) {
        let variable = view.variable(id);
        assert!(
            view.find(&variable.path).contains(&id),
            "the variable {} is not found by its path",
            variable.path
        );
        for number in 0..variable.steps {
            let step = view.step(id, number)?;
            assert_shape(&variable, &step.shape);
            blocks(view, &step)?;
            for order in [Order::C, Order::Fortran] {
                chunks(view, id, step.clone(), order)?;
            }
        }
        assert!(view.step(id, variable.steps).is_err(), "a step too many");
        statistics(view, id)?;
    }
    Ok(())
}

/// The shape of a step lies between the least and the greatest that the variable tells.
fn assert_shape(variable: &Variable, shape: &[u64]) {
    let bounds = variable.min_shape.iter().zip(&variable.max_shape);
    let within = |((min, max), length)| min <= length && length <= max;
    assert!(
        shape.len() == variable.rank
            && variable.min_shape.len() == variable.rank
            && variable.max_shape.len() == variable.rank
            && bounds.zip(shape).all(within),
        "a step of the shape {shape:?} in {variable:?}"
    );
}

fn blocks(view: &Arc<dyn ArraysView>, step: &Step) -> Result<()> {
    for block in &step.blocks {
        let at_once = view.values_per_read(block.id);
        read_all(volume(&block.count), at_once, |values| view.read_block(block.id, values))?;
    }
    Ok(())
}

fn chunks(view: &Arc<dyn ArraysView>, id: VariableId, step: Step, order: Order) -> Result<()> {
    let data_type = view.variable(id).data_type;
    let all = Selection::all(&step.shape);
    let view = Arc::clone(view);
    // An array that is nearly all missing is refused, with a message.
    let Ok(chunks) = Chunks::new(view, data_type.clone(), step, &all, order, CHUNK_VALUES) else {
        return Ok(());
    };
    let expected = chunks.len().min(VALUES_MAX);
    let mut found = 0;
    for chunk in chunks {
        let chunk = chunk?;
        assert_eq!(chunk.values.data_type(), &data_type, "type of a chunk");
        found += chunk.values.len() as u64;
        if found >= VALUES_MAX {
            break;
        }
    }
    assert!(found >= expected, "{found} values of {expected}");
    Ok(())
}
