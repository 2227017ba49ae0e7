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
use crate::{Result, Value};

/// Values read at once.
const CHUNK_VALUES: u64 = 1 << 16;

/// The smallest and the largest value of a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// The smallest; NaN does not count.
    pub min: Value,
    /// The largest; NaN does not count.
    pub max: Value,
    /// How many values were looked at.
    pub count: u64,
    /// How many of them were no number.
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
            let mut first = 0;
            while first < total {
                let end = total.min(first + CHUNK_VALUES);
                let Some(part) = of_array(&view.read_block(block.id, first..end)?) else {
                    return Ok(None);
                };
                found = Some(match found {
                    None => part,
                    Some(sofar) => sofar.with(part),
                });
                first = end;
            }
        }
    }
    Ok(found)
}

impl Statistics {
    fn with(self, other: Self) -> Self {
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

fn of_array(array: &ArrayRef) -> Option<Statistics> {
    Some(match array.data_type() {
        DataType::Int8 => of_numbers::<Int8Type>(array),
        DataType::Int16 => of_numbers::<Int16Type>(array),
        DataType::Int32 => of_numbers::<Int32Type>(array),
        DataType::Int64 => of_numbers::<Int64Type>(array),
        DataType::UInt8 => of_numbers::<UInt8Type>(array),
        DataType::UInt16 => of_numbers::<UInt16Type>(array),
        DataType::UInt32 => of_numbers::<UInt32Type>(array),
        DataType::UInt64 => of_numbers::<UInt64Type>(array),
        DataType::Float32 => of_numbers::<Float32Type>(array),
        DataType::Float64 => of_numbers::<Float64Type>(array),
        _ => return None,
    })
}

fn of_numbers<T: ArrowPrimitiveType>(array: &ArrayRef) -> Statistics
where
    T::Native: PartialOrd + Into<Value>,
{
    let mut bounds: Option<(T::Native, T::Native)> = None;
    let mut nan = 0;
    for &value in array.as_primitive::<T>().values() {
        // Only a NaN is unordered with itself.
        if value.partial_cmp(&value).is_none() {
            nan += 1;
            continue;
        }
        bounds = Some(match bounds {
            None => (value, value),
            Some((min, max)) => {
                (if value < min { value } else { min }, if value > max { value } else { max })
            }
        });
    }
    let (min, max) = match bounds {
        None => (Value::Null, Value::Null),
        Some((min, max)) => (min.into(), max.into()),
    };
    Statistics { min, max, count: array.len() as u64, nan }
}
