//! Recordings for `kymo demo`, made with the writer.

use kymo_core::Result;
use kymo_model::Demo;

use crate::{Data, Dimension, Options, Writer};

const STEPS: i32 = 5;
const ROWS: i32 = 8;
const COLUMNS: i32 = 12;
/// The field is written by two processes, each half of the rows.
const PROCESSES: i32 = 2;

/// A plate that cools from a hot spot, as a simulation of 2008 would have written it.
pub(crate) fn demo() -> Result<Vec<Demo>> {
    let mut writer = Writer::new(Vec::new(), Options::default());
    writer.group_attribute("/", "title", Data::String("a plate that cools from a hot spot"))?;
    for step in 0..STEPS {
        writer.scalar("/", "istep", Data::Int(&[step]))?;
        writer.scalar("/", "time", Data::Double(&[f64::from(step) * 0.5]))?;
        for process in 0..PROCESSES {
            let rows = ROWS / PROCESSES;
            let first = process * rows;
            let shape =
                [Dimension::global(rows, ROWS, first), Dimension::global(COLUMNS, COLUMNS, 0)];
            let values = plate(step, first..first + rows);
            writer.dataset("/fields", "temperature", &shape, Data::Float(&values))?;
        }
        writer.dataset_attribute("/fields/temperature", "units", Data::String("K"))?;
    }
    let file = Demo {
        file: "plate.bp",
        about: "a cooling plate: two processes, five steps",
        bytes: writer.finish()?,
    };
    Ok(vec![file])
}

/// The temperature at some rows: a bump that spreads and sinks.
fn plate(step: i32, rows: std::ops::Range<i32>) -> Vec<f32> {
    let width = 2.0 + f64::from(step);
    let value = |row: i32, column: i32| {
        let (x, y) = (f64::from(row) - 3.5, f64::from(column) - 5.5);
        300.0 + 400.0 / width * (-(x * x + y * y) / (width * width)).exp()
    };
    #[allow(clippy::cast_possible_truncation, reason = "single precision is what the field has")]
    let single = |value: f64| (value * 16.0).round() as f32 / 16.0;
    rows.flat_map(|row| (0..COLUMNS).map(move |column| single(value(row, column)))).collect()
}
