//! The values of a picture, gathered into as many cells as one can see.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use kymo_core::{Value, shortened};
use kymo_model::arrays::{ArraysView, Attribute, Chunks, Selection, Variable, VariableId};
use kymo_model::timeline::{DisplayTime, TimeNs};

use super::Args;
use super::over_time::Moments;
use super::scene::MAP_PIXELS;
use crate::failure::Failure;
use crate::picture::axis::{self, Axis};
use crate::render::{escaped, measure};
use crate::selection::{select, steps_of};

/// Cells along a line at most; more values share one.
const LINE_CELLS_MAX: u64 = 1024;

/// Round numbers along an axis at most.
pub(super) const TICKS: u8 = 8;

/// Values that are read at once.
const CHUNK_VALUES: u64 = 1 << 16;

/// Content that is drawn: one row for a line, more for a heat map.
#[derive(Debug)]
pub(super) struct Field {
    /// The variable, and which step of it.
    pub(super) title: String,
    /// The slower dimension; nothing for a line.
    pub(super) rows: Option<Dimension>,
    /// The faster dimension.
    pub(super) columns: Dimension,
    /// Row after row.
    pub(super) cells: Vec<Cell>,
    /// Values that are not in the file.
    pub(super) missing: u64,
    /// Values that are there and have no place on an axis: NaN, and what is infinite.
    pub(super) special: u64,
    /// Summary of the numbers, where it is not in the picture.
    pub(super) moments: Option<Moments>,
}

/// A dimension of a picture.
#[derive(Debug, Clone)]
pub(super) struct Dimension {
    pub(super) label: String,
    pub(super) first: u64,
    pub(super) length: u64,
    /// Start of the axis, where it is time in nanoseconds.
    start: Option<DisplayTime>,
    /// Greatest number of cells that it has: no more than there are pixels.
    cells_max: u64,
}

impl Dimension {
    pub(super) fn new(label: &str, first: u64, length: u64) -> Self {
        Self { label: label.to_owned(), first, length, start: None, cells_max: LINE_CELLS_MAX }
    }

    /// So many nanoseconds from a moment on.
    pub(super) fn time_axis(start: DisplayTime, length_ns: u64) -> Self {
        let label = axis::unit_after_start(Axis::time_axis(length_ns).1, start);
        Self { start: Some(start), ..Self::new(&label, 0, length_ns) }
    }

    /// Its axis. An index is in the middle of its cell.
    #[allow(clippy::cast_precision_loss, reason = "a picture shows fewer digits")]
    pub(super) fn axis(&self) -> Axis {
        if self.start.is_some() {
            return Axis::time_axis(self.length).0;
        }
        let first = self.first as f64;
        Axis::new(first - 0.5, first + self.length.max(1) as f64 - 0.5)
    }

    /// Round numbers along it.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let axis = self.axis();
        if self.start.is_some() { axis.ticks(TICKS) } else { axis.whole_ticks(TICKS) }
    }

    /// Returns the number of cells that it is drawn with.
    pub(super) fn cells(&self) -> usize {
        usize::try_from(self.length.clamp(1, self.cells_max)).unwrap_or(1)
    }

    /// Describes what the axis counts, and its range.
    pub(super) fn range(&self) -> String {
        let last = self.first + self.length.saturating_sub(1);
        if let Some(start) = self.start {
            let time = TimeNs(start.time.0.saturating_add_unsigned(last));
            return format!("time from {start} to {}", DisplayTime { time, ..start });
        }
        format!("{} from {} to {last}", self.label, self.first)
    }

    /// The cell of an index.
    pub(super) fn cell(&self, index: u64) -> usize {
        let cells = self.cells() as u64;
        let cell = u128::from(index) * u128::from(cells) / u128::from(self.length.max(1));
        usize::try_from(cell).unwrap_or(0)
    }
}

/// Values that are drawn as one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    mean: f64,
    count: u32,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Cell {
    pub(super) const EMPTY: Self =
        Self { mean: 0.0, count: 0, min: f64::INFINITY, max: f64::NEG_INFINITY };

    pub(super) fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.count = self.count.saturating_add(1);
            self.min = self.min.min(value);
            self.max = self.max.max(value);
            // A sum may be beyond all numbers where the mean is not.
            let share = f64::from(self.count).recip();
            self.mean = (self.mean * (1.0 - share) + value * share).clamp(self.min, self.max);
        }
    }

    /// Adds all values of another.
    pub(super) fn join(&mut self, other: &Self) {
        if other.count > 0 {
            let (count, more) = (f64::from(self.count), f64::from(other.count));
            self.count = self.count.saturating_add(other.count);
            self.min = self.min.min(other.min);
            self.max = self.max.max(other.max);
            let share = more / (count + more);
            let mean = self.mean * (1.0 - share) + other.mean * share;
            self.mean = mean.clamp(self.min, self.max);
        }
    }

    /// Returns true if there is no number.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of it that is farthest from another: what stands out is not lost among its
    /// neighbours. Nothing where there is no number.
    pub(super) fn extreme(&self, middle: f64) -> Option<f64> {
        let (below, above) = (middle / 2.0 - self.min / 2.0, self.max / 2.0 - middle / 2.0);
        (!self.is_empty()).then_some(if below > above { self.min } else { self.max })
    }
}

impl Field {
    /// So many cells with nothing in them.
    fn new(rows: Option<Dimension>, columns: Dimension, cells: usize) -> Self {
        let (title, cells) = (String::new(), vec![Cell::EMPTY; cells]);
        Self { title, rows, columns, cells, missing: 0, special: 0, moments: None }
    }

    /// A line with nothing on it.
    pub(super) fn line(title: String, columns: Dimension) -> Self {
        let cells = columns.cells();
        Self { title, ..Self::new(None, columns, cells) }
    }

    /// The smallest and the largest number there is.
    pub(super) fn values(&self) -> (f64, f64) {
        let all = self.all();
        if all.is_empty() { (0.0, 1.0) } else { (all.min, all.max) }
    }

    /// The mean of all numbers, which a cell of several is shown by its distance from.
    pub(super) fn middle(&self) -> f64 {
        self.all().mean
    }

    fn all(&self) -> Cell {
        let mut all = Cell::EMPTY;
        self.cells.iter().for_each(|cell| all.join(cell));
        all
    }

    /// Describes a cell that stands for several values: of a map that is drawn with at most so many
    /// rows and columns, or of a line.
    pub(super) fn shared(&self, rows_max: usize, columns_max: usize) -> Option<String> {
        let share = |dimension: &Dimension, most: usize| {
            dimension.length.div_ceil(dimension.cells().min(most).max(1) as u64)
        };
        let across = share(&self.columns, columns_max);
        let down = self.rows.as_ref().map(|rows| share(rows, rows_max));
        let values = match down {
            Some(down) => format!("{down}×{across}"),
            None => across.to_string(),
        };
        let is_shared = across > 1 || down.is_some_and(|down| down > 1);
        if is_shared && self.columns.start.is_some() {
            let time = measure::duration(across);
            return Some(format!("of {time}, the value farthest from the mean"));
        }
        is_shared.then(|| format!("of {values} values, that farthest from the mean"))
    }
}

/// Reads what is wanted of a variable.
pub(super) fn read(
    view: &Arc<dyn ArraysView>,
    id: VariableId,
    args: &Args,
) -> anyhow::Result<Field> {
    let variable = view.variable(id);
    if matches!(variable.data_type, DataType::Utf8 | DataType::Binary) {
        let failure = Failure::new(format!("{} is no number", escaped(&variable.path)));
        return Err(failure.hint("`kymo dump -d` shows text").into());
    }
    let steps = steps(&variable, args)?;
    let shape = view.step(id, steps.start)?.shape;
    let selection = select(&shape, &args.start, &args.count)?;
    if selection.is_empty() {
        let why = if shape.contains(&0) { "has no values" } else { "has no values in that part" };
        let shape = format!("its shape is {shape:?}");
        return Err(Failure::new(format!("{} {why}", escaped(&variable.path))).hint(shape).into());
    }
    let mut field = empty(&steps, &selection, args)?;
    field.title = title(view.as_ref(), &variable, &steps);
    if selection != Selection::all(&shape) {
        field.title = format!("{}{}", field.title, part(&selection));
    }
    for step in steps.clone() {
        let found = view.step(id, step)?;
        if found.shape != shape {
            return Err(Failure::new("its steps have different shapes")
                .hint("--step names one")
                .into());
        }
        let (view, data_type) = (Arc::clone(view), variable.data_type.clone());
        let order = args.order.into();
        let chunks = Chunks::new(view, data_type, found, &selection, order, CHUNK_VALUES)?;
        for chunk in chunks {
            let chunk = chunk?;
            let first = (step - steps.start) * selection.len() + chunk.position;
            field.add(first, &chunk.values);
        }
    }
    if field.cells.iter().all(Cell::is_empty) {
        let why = format!("{} has no value that could be drawn", escaped(&variable.path));
        return Err(Failure::new(why).hint("`kymo dump -d` shows what it has").into());
    }
    Ok(field)
}

/// Returns the title of the drawing: the variable with its units, and the step of it.
fn title(view: &dyn ArraysView, variable: &Variable, steps: &Range<u64>) -> String {
    let mut title = variable.path.clone();
    let is_units = |a: &Attribute| a.path == variable.path && a.name.eq_ignore_ascii_case("units");
    if let Some(Value::Text(units)) = view.attributes().into_iter().find(is_units).map(|a| a.value)
    {
        title = format!("{title} [{}]", shortened(&units));
    }
    if matches!(variable.data_type, DataType::Struct(_)) {
        title = format!("{title}, magnitude");
    }
    if steps.end - steps.start == 1 && variable.steps > 1 {
        title = format!("{title}, step {}", steps.start);
    }
    title
}

/// Returns the part of an array, as one writes it in Python: "[0:5, 3]".
fn part(selection: &Selection) -> String {
    let ranges = selection.start.iter().zip(&selection.count).map(|(start, count)| match count {
        1 => start.to_string(),
        _ => format!("{start}:{}", start.saturating_add(*count)),
    });
    format!("[{}]", ranges.collect::<Vec<_>>().join(", "))
}

/// A scalar is drawn over all its steps, an array at its last.
fn steps(variable: &Variable, args: &Args) -> anyhow::Result<Range<u64>> {
    let all = steps_of(variable, args.step)?;
    if all.is_empty() {
        return Err(Failure::new("there is no step to draw").into());
    }
    let is_last = args.step.is_none() && variable.rank > 0;
    Ok(if is_last { all.end - 1..all.end } else { all })
}

/// The dimensions that are longer than one; two of them at most.
fn empty(steps: &Range<u64>, selection: &Selection, args: &Args) -> anyhow::Result<Field> {
    let many = steps.end - steps.start;
    let mut dimensions = Vec::new();
    if many > 1 {
        dimensions.push(Dimension::new("step", steps.start, many));
    }
    let order: kymo_model::arrays::Order = args.order.into();
    let lengths = selection.start.iter().zip(&selection.count).enumerate();
    let listed: Vec<_> = lengths.map(|(at, (&first, &length))| (at, first, length)).collect();
    for (at, first, length) in order.turn(listed) {
        if length > 1 {
            dimensions.push(Dimension::new(&format!("index {at}"), first, length));
        }
    }
    if dimensions.len() > 2 {
        let failure = Failure::new(format!("it has {} dimensions to draw", dimensions.len()));
        return Err(failure.hint(slice_hint(steps, selection)).into());
    }
    let single = Dimension::new("index", 0, selection.len().min(1));
    let mut columns = dimensions.pop().unwrap_or(single);
    let mut rows = dimensions.pop();
    if let Some(rows) = &mut rows {
        (columns.cells_max, rows.cells_max) = MAP_PIXELS;
    }
    let cells = columns.cells() * rows.as_ref().map_or(1, Dimension::cells);
    Ok(Field::new(rows, columns, cells))
}

/// A part of too many dimensions that has two: the first index of each but the last two that are
/// longer than one, and of steps the first.
fn slice_hint(steps: &Range<u64>, selection: &Selection) -> String {
    let mut counts: Vec<_> = selection.count.iter().map(u64::to_string).collect();
    let long = counts.iter_mut().zip(&selection.count).filter(|(_, count)| **count > 1);
    for (text, _) in long.rev().skip(2) {
        "1".clone_into(text);
    }
    let list = |numbers: &[String]| numbers.join(",");
    let starts: Vec<_> = selection.start.iter().map(u64::to_string).collect();
    let step = if steps.end - steps.start > 1 {
        format!(" --step {}", steps.start)
    } else {
        String::new()
    };
    format!(
        "a slice of two can be drawn: --start {} --count {}{step}",
        list(&starts),
        list(&counts)
    )
}

impl Field {
    fn add(&mut self, first: u64, values: &ArrayRef) {
        self.missing += values.logical_null_count() as u64;
        let (columns, rows) = (self.columns.clone(), self.rows.clone());
        let width = columns.length.max(1);
        let mut position = first;
        let (cells, special) = (&mut self.cells, &mut self.special);
        each_number(values, &mut |value| {
            *special += u64::from(value.is_some_and(|value| !value.is_finite()));
            let row = rows.as_ref().map_or(0, |rows| rows.cell(position / width));
            let cell = row * columns.cells() + columns.cell(position % width);
            if let (Some(cell), Some(value)) = (cells.get_mut(cell), value) {
                cell.add(value);
            }
            position += 1;
        });
    }
}

/// Goes through values as doubles, which is as much as one can see.
fn each_number(values: &ArrayRef, take: &mut dyn FnMut(Option<f64>)) {
    match values.data_type() {
        DataType::Int8 => each::<Int8Type>(values, take, f64::from),
        DataType::Int16 => each::<Int16Type>(values, take, f64::from),
        DataType::Int32 => each::<Int32Type>(values, take, f64::from),
        DataType::UInt8 => each::<UInt8Type>(values, take, f64::from),
        DataType::UInt16 => each::<UInt16Type>(values, take, f64::from),
        DataType::UInt32 => each::<UInt32Type>(values, take, f64::from),
        DataType::Float32 => each::<Float32Type>(values, take, f64::from),
        DataType::Float64 => each::<Float64Type>(values, take, |value| value),
        #[allow(clippy::cast_precision_loss, reason = "a picture shows fewer digits")]
        DataType::Int64 => each::<Int64Type>(values, take, |value| value as f64),
        #[allow(clippy::cast_precision_loss, reason = "a picture shows fewer digits")]
        DataType::UInt64 => each::<UInt64Type>(values, take, |value| value as f64),
        _ => each_magnitude(values, take),
    }
}

fn each<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    take: &mut dyn FnMut(Option<f64>),
    number: impl Fn(T::Native) -> f64,
) {
    values.as_primitive::<T>().iter().for_each(|value| take(value.map(&number)));
}

/// Of complex numbers, how far they are from zero.
fn each_magnitude(values: &ArrayRef, take: &mut dyn FnMut(Option<f64>)) {
    let mut parts = [Vec::new(), Vec::new()];
    if let Some(pair) = values.as_struct_opt() {
        for (part, column) in parts.iter_mut().zip(pair.columns()) {
            each_number(column, &mut |value| part.push(value));
        }
    }
    let [re, im] = parts;
    for (re, im) in re.into_iter().zip(im) {
        take(re.zip(im).map(|(re, im)| re.hypot(im)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_values_than_cells_share_them() {
        let long = Dimension::new("", 0, 1_000_000);
        assert_eq!(long.cells(), 1024);
        assert_eq!((long.cell(0), long.cell(999_999)), (0, 1023));
        let short = Dimension { length: 3, ..long };
        assert_eq!((short.cells(), short.cell(2)), (3, 2));
    }

    fn cell(values: &[f64]) -> Cell {
        let mut cell = Cell::EMPTY;
        for value in values {
            cell.add(*value);
        }
        cell
    }

    #[test]
    fn what_is_no_number_is_not_drawn() {
        let odd = cell(&[f64::NAN, f64::INFINITY]);
        assert!(odd.is_empty() && odd.extreme(0.0).is_none());
        let some = cell(&[f64::NAN, 1.0, 2.0]);
        assert_eq!((some.mean, some.min, some.max), (1.5, 1.0, 2.0));
    }

    #[test]
    fn a_cell_shows_what_is_farthest_from_the_middle() {
        let wave = cell(&[-3.0, 0.0, 2.0]);
        assert_eq!([0.0, -1.0].map(|middle| wave.extreme(middle)), [Some(-3.0), Some(2.0)]);
        let most = cell(&[f64::MIN, f64::MAX]);
        assert_eq!(most.extreme(1e300), Some(f64::MIN));
    }

    #[test]
    fn the_mean_of_the_largest_numbers_is_a_number() {
        let mean = |cell: Cell| cell.mean.to_string();
        assert_eq!(mean(cell(&[1e308; 3])), 1e308.to_string());
        assert_eq!(mean(cell(&[f64::MAX, f64::MIN])), "0");
        let mut joined = cell(&[1.0, 2.0]);
        joined.join(&Cell::EMPTY);
        joined.join(&cell(&[6.0]));
        assert_eq!((joined.mean, joined.max), (3.0, 6.0));
        let mut joined = Cell::EMPTY;
        for pair in [[f64::MAX; 2], [f64::MIN; 2]] {
            joined.join(&cell(&pair));
        }
        assert_eq!(mean(joined), "0");
    }

    #[test]
    fn a_part_is_told_as_in_python() {
        let selection = Selection { start: vec![0, 3], count: vec![5, 1] };
        assert_eq!(part(&selection), "[0:5, 3]");
    }
}
