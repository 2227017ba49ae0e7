//! Conditions on single columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, PrimitiveArray, Scalar, StringArray, StringViewArray,
    TimestampNanosecondArray,
};
use arrow_ord::cmp;
use arrow_schema::{DataType, Schema, TimeUnit};

use super::arrow;
use kymo_core::{Error, Result};

/// Comparison of a column with a value.
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
///
/// Floats compare as IEEE 754 and SQL have it: -0 equals 0, and NaN equals nothing and is neither
/// less nor greater than anything, so that of all conditions it meets `!=` alone.
#[derive(Debug, Clone)]
pub struct Filter {
    /// The column, by index into the schema.
    pub column: usize,
    /// Comparison that must hold.
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

    /// Makes a condition on a column, by its index, with the value as an array of one value that
    /// has the column's type.
    pub fn from_value(
        schema: &Schema,
        column: usize,
        comparison: Comparison,
        value: ArrayRef,
    ) -> Result<Self> {
        let Some(field) = schema.fields().get(column) else {
            return Err(Error::Request(format!("there is no column {column}")));
        };
        let why = if value.data_type() != field.data_type() {
            format!("{} is of another type than what it is compared with", field.name())
        } else if value.len() != 1 || value.is_null(0) {
            format!("{} can only be compared with one value", field.name())
        } else {
            return Ok(Self { column, comparison, value });
        };
        Err(Error::Request(why))
    }

    /// The same condition on another column.
    #[must_use]
    pub fn for_column(&self, column: usize) -> Self {
        Self { column, ..self.clone() }
    }

    /// Returns the value that the column is compared with: one value of the column's type.
    #[must_use]
    pub fn value(&self) -> &ArrayRef {
        &self.value
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

    /// Finds the rows that meet all of some conditions; nothing when there are no conditions.
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

    /// Finds the values of the column that meet the condition.
    pub fn matches(&self, column: &ArrayRef) -> Result<BooleanArray> {
        let met = match (column.data_type(), self.value.data_type()) {
            (DataType::Float16, DataType::Float16) => self.numbers::<Float16Type>(column),
            (DataType::Float32, DataType::Float32) => self.numbers::<Float32Type>(column),
            (DataType::Float64, DataType::Float64) => self.numbers::<Float64Type>(column),
            _ => self.ordered(column)?,
        };
        Ok(match met.nulls() {
            None => met,
            Some(nulls) => BooleanArray::new(met.values() & nulls.inner(), None),
        })
    }

    /// Compares as the language does. Arrow's own comparisons have a total order, in which NaN is
    /// the greatest number and -0 is less than 0.
    fn numbers<T: ArrowPrimitiveType>(&self, column: &ArrayRef) -> BooleanArray
    where
        T::Native: PartialOrd,
    {
        let column = column.as_primitive::<T>();
        let Some(&value) = self.value.as_primitive::<T>().values().first() else {
            return BooleanArray::from(vec![false; column.len()]);
        };
        match self.comparison {
            Comparison::Equal => BooleanArray::from_unary(column, |found| found == value),
            Comparison::NotEqual => BooleanArray::from_unary(column, |found| found != value),
            Comparison::Less => BooleanArray::from_unary(column, |found| found < value),
            Comparison::LessOrEqual => BooleanArray::from_unary(column, |found| found <= value),
            Comparison::Greater => BooleanArray::from_unary(column, |found| found > value),
            Comparison::GreaterOrEqual => BooleanArray::from_unary(column, |found| found >= value),
        }
    }

    /// Compares what has one order only.
    fn ordered(&self, column: &ArrayRef) -> Result<BooleanArray> {
        let value = Scalar::new(Arc::clone(&self.value));
        let compare = match self.comparison {
            Comparison::Equal => cmp::eq,
            Comparison::NotEqual => cmp::neq,
            Comparison::Less => cmp::lt,
            Comparison::LessOrEqual => cmp::lt_eq,
            Comparison::Greater => cmp::gt,
            Comparison::GreaterOrEqual => cmp::gt_eq,
        };
        compare(column, &value).map_err(arrow)
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
        DataType::Utf8View => Some(Arc::new(StringViewArray::from_iter_values([text]))),
        // Arrow compares the values of a dictionary.
        DataType::Dictionary(_, values) => value_of(values, text),
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            let time = text.parse::<jiff::Timestamp>().ok()?;
            let ns = i64::try_from(time.as_nanosecond()).ok()?;
            let value = TimestampNanosecondArray::from_iter_values([ns]);
            Some(Arc::new(value.with_timezone_opt(zone.clone())))
        }
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

#[cfg(test)]
mod tests {
    use arrow_array::{Float32Array, Float64Array, Int64Array};
    use arrow_schema::Field;

    use super::*;

    /// Finds the floats that meet a condition, in both widths.
    fn met(condition: &str, values: &[Option<f64>]) -> Vec<usize> {
        let schema = |data_type| Schema::new(vec![Field::new("x", data_type, true)]);
        let wide: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
        #[allow(clippy::cast_possible_truncation, reason = "small numbers")]
        let narrow = values.iter().map(|value| value.map(|value| value as f32));
        let narrow: ArrayRef = Arc::new(narrow.collect::<Float32Array>());
        let places = [wide, narrow].map(|column| {
            let filter = Filter::parse(&schema(column.data_type().clone()), condition).unwrap();
            let met = filter.matches(&column).unwrap();
            assert_eq!(met.null_count(), 0);
            (0..met.len()).filter(|&row| met.value(row)).collect::<Vec<_>>()
        });
        assert_eq!(places[0], places[1]);
        places[0].clone()
    }

    #[test]
    fn what_is_no_number_meets_nothing_but_unequal() {
        let values = [Some(1.0), Some(f64::NAN), None, Some(-f64::NAN), Some(f64::INFINITY)];
        let cases: [(&str, &[usize]); 10] = [
            ("x=1", &[0]),
            ("x!=1", &[1, 3, 4]),
            ("x<2", &[0]),
            ("x<=1", &[0]),
            ("x>0", &[0, 4]),
            ("x>=inf", &[4]),
            ("x=NaN", &[]),
            ("x>=NaN", &[]),
            ("x<=NaN", &[]),
            ("x!=NaN", &[0, 1, 3, 4]),
        ];
        for (condition, expected) in cases {
            assert_eq!(met(condition, &values), expected, "{condition}");
        }
    }

    #[test]
    fn both_zeros_are_the_same() {
        let values = [Some(0.0), Some(-0.0)];
        for condition in ["x=0", "x=-0", "x>=0", "x<=-0"] {
            assert_eq!(met(condition, &values), [0, 1], "{condition}");
        }
        for condition in ["x!=0", "x!=-0", "x>-0", "x<0"] {
            assert_eq!(met(condition, &values), [0; 0], "{condition}");
        }
    }

    #[test]
    fn a_condition_has_its_value_and_can_be_made_of_one() {
        let schema = Schema::new(vec![Field::new("n", DataType::Int64, false)]);
        let item = |values: Vec<Option<i64>>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
        let make = |column, value| Filter::from_value(&schema, column, Comparison::Less, value);
        let seven = item(vec![Some(7)]);
        let filter = make(0, Arc::clone(&seven)).unwrap();
        assert_eq!(filter.value(), &seven);
        assert_eq!(Filter::parse(&schema, "n<7").unwrap().value(), &seven);
        let met = filter.matches(&item(vec![Some(6), None, Some(8)])).unwrap();
        assert_eq!(met, BooleanArray::from(vec![true, false, false]));
        assert!(make(1, seven).is_err());
        assert!(make(0, item(vec![None])).is_err());
        assert!(make(0, item(vec![])).is_err());
        assert!(make(0, item(vec![Some(1), Some(2)])).is_err());
        assert!(make(0, Arc::new(Float64Array::from(vec![1.0]))).is_err());
    }
}
