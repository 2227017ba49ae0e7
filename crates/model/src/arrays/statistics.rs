//! The smallest and the largest value of a variable.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::{ArraysView, VariableId, volume};
use kymo_core::{Result, Value};

/// Values read at once.
const CHUNK_VALUES: u64 = 1 << 16;

/// The smallest and the largest value of a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// The smallest; NaN does not count.
    pub min: Value,
    /// The largest; NaN does not count.
    pub max: Value,
    /// Number of values that were looked at.
    pub count: u64,
    /// Number of those that were no number.
    pub nan: u64,
}

/// Goes through every value of a variable, all steps and blocks; nothing when its type has no
/// order or it has no values.
pub fn statistics(view: &Arc<dyn ArraysView>, id: VariableId) -> Result<Option<Statistics>> {
    let variable = view.variable(id);
    let mut found: Option<Statistics> = None;
    for step in 0..variable.steps {
        for block in view.step(id, step)?.blocks {
            let total = volume(&block.count);
            let at_once = view.values_per_read(block.id).clamp(1, CHUNK_VALUES);
            let mut first = 0;
            while first < total {
                let end = total.min(first + at_once);
                let Some(part) = from_array(&view.read_block(block.id, first..end)?) else {
                    return Ok(None);
                };
                found = Some(match found {
                    None => part,
                    Some(sofar) => sofar.merge(part),
                });
                first = end;
            }
        }
    }
    Ok(found)
}

impl Statistics {
    fn merge(self, other: Self) -> Self {
        let less = |a: &Value, b: &Value| compare(a, b) == Some(std::cmp::Ordering::Less);
        Self {
            min: if self.min == Value::Null || less(&other.min, &self.min) {
                other.min
            } else {
                self.min
            },
            max: if self.max == Value::Null || less(&self.max, &other.max) {
                other.max
            } else {
                self.max
            },
            count: self.count + other.count,
            nan: self.nan + other.nan,
        }
    }
}

fn compare(a: &Value, b: &Value) -> Option<std::cmp::Ordering> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::UInt(a), Value::UInt(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Float32(a), Value::Float32(b)) => a.partial_cmp(b),
        _ => None,
    }
}

fn from_array(array: &ArrayRef) -> Option<Statistics> {
    Some(match array.data_type() {
        DataType::Int8 => from_numbers::<Int8Type>(array),
        DataType::Int16 => from_numbers::<Int16Type>(array),
        DataType::Int32 => from_numbers::<Int32Type>(array),
        DataType::Int64 => from_numbers::<Int64Type>(array),
        DataType::UInt8 => from_numbers::<UInt8Type>(array),
        DataType::UInt16 => from_numbers::<UInt16Type>(array),
        DataType::UInt32 => from_numbers::<UInt32Type>(array),
        DataType::UInt64 => from_numbers::<UInt64Type>(array),
        DataType::Float32 => from_numbers::<Float32Type>(array),
        DataType::Float64 => from_numbers::<Float64Type>(array),
        _ => return None,
    })
}

fn from_numbers<T: ArrowPrimitiveType>(array: &ArrayRef) -> Statistics
where
    T::Native: PartialOrd + Into<Value>,
{
    let mut bounds: Option<(T::Native, T::Native)> = None;
    let mut nan = 0;
    let look = |value: T::Native| {
        // Only a NaN is unordered with itself.
        if value.partial_cmp(&value).is_none() {
            nan += 1;
            return;
        }
        bounds = Some(match bounds {
            None => (value, value),
            Some((min, max)) => {
                (if value < min { value } else { min }, if value > max { value } else { max })
            }
        });
    };
    let array = array.as_primitive::<T>();
    if array.null_count() == 0 {
        array.values().iter().copied().for_each(look);
    } else {
        array.iter().flatten().for_each(look);
    }
    let (min, max) = match bounds {
        None => (Value::Null, Value::Null),
        Some((min, max)) => (min.into(), max.into()),
    };
    Statistics { min, max, count: (array.len() - array.null_count()) as u64, nan }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float32Array, Float64Array, Int32Array, StringArray, UInt64Array};

    use super::super::fixture::Grid;
    use super::*;

    /// The statistics of blocks of a step that are each one row.
    fn of(blocks: Vec<ArrayRef>) -> Option<Statistics> {
        let width = blocks.iter().map(|block| block.len() as u64).max().unwrap_or(0);
        let mut grid = Grid::new().add_step(&[blocks.len() as u64, width]);
        for (row, block) in (0..).zip(blocks) {
            grid = grid.add_block(&[row, 0], &[1, block.len() as u64], block);
        }
        let view: Arc<dyn ArraysView> = grid.share();
        statistics(&view, VariableId(0)).unwrap()
    }

    #[test]
    fn bounds_hold_over_all_blocks() {
        let blocks = vec![
            Arc::new(Int32Array::from(vec![3, -7])) as ArrayRef,
            Arc::new(Int32Array::from(vec![9])),
            Arc::new(Int32Array::from(vec![0, 1, 2])),
        ];
        let found = of(blocks).unwrap();
        let expected = Statistics { min: (-7).into(), max: 9.into(), count: 6, nan: 0 };
        assert_eq!(found, expected);
    }

    #[test]
    fn bounds_hold_over_all_steps() {
        let grid = Grid::new().add_step(&[2]).block(&[0], &[2]).add_step(&[3]).block(&[0], &[3]);
        let view: Arc<dyn ArraysView> = grid.share();
        let found = statistics(&view, VariableId(0)).unwrap().unwrap();
        assert_eq!((found.min, found.max, found.count), (0.into(), 1002.into(), 5));
    }

    #[test]
    fn large_numbers_keep_every_digit() {
        let found = of(vec![Arc::new(UInt64Array::from(vec![u64::MAX, u64::MAX - 1]))]).unwrap();
        assert_eq!((found.min, found.max), ((u64::MAX - 1).into(), u64::MAX.into()));
    }

    #[test]
    fn what_is_no_number_is_counted_apart() {
        let some = Arc::new(Float64Array::from(vec![f64::NAN, 2.5, f64::NEG_INFINITY]));
        let none = Arc::new(Float64Array::from(vec![f64::NAN]));
        let expected =
            Statistics { min: f64::NEG_INFINITY.into(), max: 2.5.into(), count: 4, nan: 2 };
        // Whether the block without a number comes first or last.
        for blocks in [vec![some.clone() as ArrayRef, none.clone()], vec![none, some]] {
            assert_eq!(of(blocks).unwrap(), expected);
        }
    }

    #[test]
    fn where_nothing_is_a_number_there_are_no_bounds() {
        let found = of(vec![Arc::new(Float32Array::from(vec![f32::NAN; 3]))]).unwrap();
        assert_eq!(found, Statistics { min: Value::Null, max: Value::Null, count: 3, nan: 3 });
    }

    #[test]
    fn nulls_do_not_count() {
        let found = of(vec![Arc::new(Int32Array::from(vec![Some(5), None, Some(6)]))]).unwrap();
        assert_eq!(found, Statistics { min: 5.into(), max: 6.into(), count: 2, nan: 0 });
    }

    #[test]
    fn text_and_nothing_have_no_statistics() {
        assert_eq!(of(vec![Arc::new(StringArray::from(vec!["a"]))]), None);
        assert_eq!(of(vec![]), None);
        assert_eq!(of(vec![Arc::new(Int32Array::from(Vec::<i32>::new()))]), None);
    }

    #[test]
    fn a_block_is_read_in_chunks() {
        let length = i32::try_from(CHUNK_VALUES).unwrap() + 1;
        let values = Arc::new(Int32Array::from_iter_values(0..length));
        let grid = Grid::new().add_step(&[CHUNK_VALUES + 1]);
        let grid = grid.add_block(&[0], &[CHUNK_VALUES + 1], values).share();
        let view: Arc<dyn ArraysView> = Arc::<Grid>::clone(&grid);
        let found = statistics(&view, VariableId(0)).unwrap().unwrap();
        assert_eq!((found.max, found.count), ((length - 1).into(), CHUNK_VALUES + 1));
        assert_eq!(grid.take_reads().len(), 2);
    }

    #[test]
    fn no_more_is_read_at_once_than_the_format_can() {
        let grid = Grid::new().with_values_per_read(3).add_step(&[10]).block(&[0], &[10]);
        let view: Arc<dyn ArraysView> = grid.share();
        let found = statistics(&view, VariableId(0)).unwrap().unwrap();
        assert_eq!((found.max, found.count), (9.into(), 10));
    }
}
