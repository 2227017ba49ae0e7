//! Values of two arrays side by side.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// How two runs of values differ.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Gap {
    /// How many differ.
    pub(super) count: u64,
    /// How far the two that differ most are apart; infinite where that is no number.
    pub(super) largest: f64,
    /// Where these are, counted from the first.
    pub(super) position: u64,
    /// Both of them, for a person.
    pub(super) pair: [String; 2],
}

impl Gap {
    /// Adds what was found further on.
    pub(super) fn add(&mut self, later: Self, first: u64) {
        let is_larger = self.count == 0 || later.largest > self.largest;
        if later.count > 0 && is_larger {
            self.largest = later.largest;
            self.position = first + later.position;
            self.pair = later.pair;
        }
        self.count += later.count;
    }
}

/// Compares values of one type, as many of the one as of the other.
pub(super) fn compare(one: &ArrayRef, other: &ArrayRef, tolerance: f64) -> Gap {
    let apart = |gap: f64| gap > tolerance;
    match one.data_type() {
        DataType::Int8 => whole::<Int8Type>(one, other, &apart),
        DataType::Int16 => whole::<Int16Type>(one, other, &apart),
        DataType::Int32 => whole::<Int32Type>(one, other, &apart),
        DataType::Int64 => whole::<Int64Type>(one, other, &apart),
        DataType::UInt8 => whole::<UInt8Type>(one, other, &apart),
        DataType::UInt16 => whole::<UInt16Type>(one, other, &apart),
        DataType::UInt32 => whole::<UInt32Type>(one, other, &apart),
        DataType::UInt64 => whole::<UInt64Type>(one, other, &apart),
        DataType::Float32 => {
            numbers::<Float32Type>(one, other, &apart, |a, b| real(a.into(), b.into()))
        }
        DataType::Float64 => numbers::<Float64Type>(one, other, &apart, real),
        DataType::Struct(_) => complex(one, other, &apart),
        _ => text(one, other),
    }
}

/// How far two numbers are apart. What is no number on both sides is the same.
pub(super) fn real(one: f64, other: f64) -> f64 {
    let is_same = one.partial_cmp(&other) == Some(std::cmp::Ordering::Equal);
    if is_same || (one.is_nan() && other.is_nan()) {
        return 0.0;
    }
    let gap = (one - other).abs();
    if gap.is_nan() { f64::INFINITY } else { gap }
}

fn whole<T: ArrowPrimitiveType>(
    one: &ArrayRef,
    other: &ArrayRef,
    apart: &dyn Fn(f64) -> bool,
) -> Gap
where
    T::Native: Into<i128> + std::fmt::Display,
{
    #[allow(clippy::cast_precision_loss, reason = "a difference is shown, not counted with")]
    numbers::<T>(one, other, apart, |a, b| a.into().abs_diff(b.into()) as f64)
}

fn numbers<T: ArrowPrimitiveType>(
    one: &ArrayRef,
    other: &ArrayRef,
    apart: &dyn Fn(f64) -> bool,
    gap: impl Fn(T::Native, T::Native) -> f64,
) -> Gap
where
    T::Native: std::fmt::Display,
{
    let (one, other) = (one.as_primitive::<T>(), other.as_primitive::<T>());
    let is_same = one.nulls() == other.nulls()
        && one.values().inner().as_slice() == other.values().inner().as_slice();
    if is_same {
        return Gap::default();
    }
    let pairs = one.iter().zip(other.iter()).map(|(a, b)| match (a, b) {
        (Some(a), Some(b)) => gap(a, b),
        (None, None) => 0.0,
        _ => f64::INFINITY,
    });
    let show = |value: Option<T::Native>| value.map_or("-".to_owned(), |value| value.to_string());
    gather(pairs, apart, |at| {
        [show(one.iter().nth(at).flatten()), show(other.iter().nth(at).flatten())]
    })
}

fn complex(one: &ArrayRef, other: &ArrayRef, apart: &dyn Fn(f64) -> bool) -> Gap {
    let parts = |array: &ArrayRef| -> Vec<Option<[f64; 2]>> {
        let Some(pair) = array.as_struct_opt() else {
            return vec![None; array.len()];
        };
        let part = |index: usize| -> Vec<f64> {
            let Some(column) = pair.columns().get(index) else {
                return Vec::new();
            };
            match column.as_primitive_opt::<Float64Type>() {
                Some(doubles) => doubles.values().to_vec(),
                None => column.as_primitive_opt::<Float32Type>().map_or_else(Vec::new, |floats| {
                    floats.values().iter().map(|&x| x.into()).collect()
                }),
            }
        };
        let values = part(0).into_iter().zip(part(1)).enumerate();
        values.map(|(at, (re, im))| pair.is_valid(at).then_some([re, im])).collect()
    };
    let (one, other) = (parts(one), parts(other));
    let gaps = one.iter().zip(&other).map(|pair| match pair {
        (Some([a, b]), Some([c, d])) => real(*a, *c).hypot(real(*b, *d)),
        (None, None) => 0.0,
        _ => f64::INFINITY,
    });
    let show = |values: &[Option<[f64; 2]>], at: usize| match values.get(at) {
        Some(Some([re, im])) => format!("({re}, {im})"),
        _ => "-".to_owned(),
    };
    gather(gaps, apart, |at| [show(&one, at), show(&other, at)])
}

/// Texts and bytes are the same or are not; there is nothing between.
fn text(one: &ArrayRef, other: &ArrayRef) -> Gap {
    let show = |array: &ArrayRef, at: usize| -> String {
        if array.is_null(at) {
            return "-".to_owned();
        }
        if let Some(texts) = array.as_string_opt::<i32>() {
            return format!("{:?}", texts.value(at));
        }
        let bytes = array.as_binary_opt::<i32>().map(|bytes| bytes.value(at));
        format!("{:02x?}", bytes.unwrap_or_default())
    };
    let gaps = (0..one.len()).map(|at| {
        let is_same = one.slice(at, 1).to_data() == other.slice(at, 1).to_data();
        if is_same { 0.0 } else { f64::INFINITY }
    });
    gather(gaps, &|gap| gap > 0.0, |at| [show(one, at), show(other, at)])
}

/// Counts what is apart, and finds what is so most.
fn gather(
    gaps: impl Iterator<Item = f64>,
    apart: &dyn Fn(f64) -> bool,
    show: impl Fn(usize) -> [String; 2],
) -> Gap {
    let mut found = Gap::default();
    let mut at_most = None;
    for (at, gap) in gaps.enumerate() {
        if apart(gap) {
            if at_most.is_none() || gap > found.largest {
                found.largest = gap;
                at_most = Some(at);
            }
            found.count += 1;
        }
    }
    if let Some(at) = at_most {
        found.position = at as u64;
        found.pair = show(at);
    }
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, Int64Array, StringArray};

    use super::*;

    #[test]
    fn the_largest_difference_is_found_and_small_ones_do_not_count() {
        let one: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, f64::NAN, 4.0]));
        let other: ArrayRef = Arc::new(Float64Array::from(vec![1.25, 1.0, f64::NAN, 4.0]));
        let gap = compare(&one, &other, 0.0);
        assert_eq!((gap.count, gap.largest, gap.position), (2, 1.0, 1));
        assert_eq!(gap.pair, ["2", "1"]);
        assert_eq!(compare(&one, &other, 0.5).count, 1);
        assert_eq!(compare(&one, &other, 1.0), Gap::default());
    }

    #[test]
    fn large_whole_numbers_differ_by_one() {
        let one: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, i64::MIN]));
        let other: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX - 1, i64::MIN]));
        let gap = compare(&one, &other, 0.0);
        assert_eq!((gap.count, gap.largest), (1, 1.0));
    }

    #[test]
    fn what_is_no_number_or_not_there_differs_from_what_is() {
        let one: ArrayRef = Arc::new(Float64Array::from(vec![Some(f64::NAN), None]));
        let other: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.0), Some(0.0)]));
        let gap = compare(&one, &other, 1e300);
        assert_eq!((gap.count, gap.largest), (2, f64::INFINITY));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let others: ArrayRef = Arc::new(StringArray::from(vec!["a", "c"]));
        let gap = compare(&texts, &others, 0.0);
        assert_eq!((gap.count, gap.pair), (1, ["\"b\"".to_owned(), "\"c\"".to_owned()]));
    }
}
