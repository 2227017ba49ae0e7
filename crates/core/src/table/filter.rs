//! Conditions on single columns.

use std::sync::Arc;

use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, Scalar, StringArray};
use arrow_ord::cmp;
use arrow_schema::{DataType, Schema};

use super::arrow;
use crate::{Error, Result};

/// How a column compares with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// The spellings, longer ones first so that `<=` is not taken for `<`.
const SPELLINGS: [(&str, Comparison); 7] = [
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("==", Comparison::Equal),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// A condition that a row must meet; a null never does.
#[derive(Debug, Clone)]
pub struct Filter {
    /// The column, by index into the schema.
    pub column: usize,
    /// How it must compare.
    pub comparison: Comparison,
    value: ArrayRef,
}

impl Filter {
    /// Makes a condition on a named column, with the value as text.
    pub fn new(schema: &Schema, column: &str, comparison: Comparison, value: &str) -> Result<Self> {
        let Some((index, field)) = schema.column_with_name(column) else {
            let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            let why = format!("there is no column {column}; there are {}", names.join(", "));
            return Err(Error::Request(why));
        };
        let value = value_of(field.data_type(), value)
            .ok_or_else(|| Error::Request(format!("{column} cannot be compared with {value}")))?;
        Ok(Self { column: index, comparison, value })
    }

    /// Reads a condition as one types it: `length>=100`, `kind=dataset`.
    pub fn parse(schema: &Schema, text: &str) -> Result<Self> {
        let position = |(spelling, _): &(&str, Comparison)| text.find(spelling);
        let found = SPELLINGS.iter().filter_map(|entry| Some((position(entry)?, *entry)));
        // The leftmost comparison counts; at the same place the longer spelling.
        let found = found.min_by_key(|(at, (spelling, _))| (*at, usize::MAX - spelling.len()));
        let Some((at, (spelling, comparison))) = found else {
            return Err(Error::Request(format!("{text} is no condition such as kind=scalar")));
        };
        let (column, rest) = text.split_at(at);
        let value = rest.get(spelling.len()..).unwrap_or_default();
        Self::new(schema, column.trim(), comparison, value.trim())
    }

    /// Which rows meet all of some conditions; nothing when there are no conditions.
    pub fn all(
        filters: &[Self],
        mut column: impl FnMut(usize) -> Result<ArrayRef>,
    ) -> Result<Option<BooleanArray>> {
        let mut mask: Option<BooleanArray> = None;
        for filter in filters {
            let met = filter.matches(&column(filter.column)?)?;
            mask = Some(match mask {
                None => met,
                Some(mask) => BooleanArray::new(mask.values() & met.values(), None),
            });
        }
        Ok(mask)
    }

    /// Which values of the column meet the condition.
    pub fn matches(&self, column: &ArrayRef) -> Result<BooleanArray> {
        let value = Scalar::new(Arc::clone(&self.value));
        let compare = match self.comparison {
            Comparison::Equal => cmp::eq,
            Comparison::NotEqual => cmp::neq,
            Comparison::Less => cmp::lt,
            Comparison::LessOrEqual => cmp::lt_eq,
            Comparison::Greater => cmp::gt,
            Comparison::GreaterOrEqual => cmp::gt_eq,
        };
        let met = compare(column, &value).map_err(arrow)?;
        Ok(match met.nulls() {
            None => met,
            Some(nulls) => BooleanArray::new(met.values() & nulls.inner(), None),
        })
    }
}

/// One value of a column's type, from text.
fn value_of(data_type: &DataType, text: &str) -> Option<ArrayRef> {
    fn number<T: arrow_array::types::ArrowPrimitiveType>(text: &str) -> Option<ArrayRef>
    where
        T::Native: std::str::FromStr,
    {
        let value = text.parse().ok()?;
        Some(Arc::new(PrimitiveArray::<T>::from_iter_values([value])))
    }
    match data_type {
        DataType::Utf8 => Some(Arc::new(StringArray::from_iter_values([text]))),
        DataType::Boolean => Some(Arc::new(BooleanArray::from(vec![text.parse::<bool>().ok()?]))),
        DataType::Int8 => number::<Int8Type>(text),
        DataType::Int16 => number::<Int16Type>(text),
        DataType::Int32 => number::<Int32Type>(text),
        DataType::Int64 => number::<Int64Type>(text),
        DataType::UInt8 => number::<UInt8Type>(text),
        DataType::UInt16 => number::<UInt16Type>(text),
        DataType::UInt32 => number::<UInt32Type>(text),
        DataType::UInt64 => number::<UInt64Type>(text),
        DataType::Float32 => number::<Float32Type>(text),
        DataType::Float64 => number::<Float64Type>(text),
        _ => None,
    }
}
