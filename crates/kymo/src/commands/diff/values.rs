//! Values of two arrays side by side.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// Differences between two runs of values.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct ValueDifferences {
    /// Number of values that differ.
    pub(super) count: u64,
    /// Those of numbers that differ most.
    pub(super) most: Option<DifferingPair>,
    /// Number of those whose difference is not a number: text, NaN, values that are not there.
    pub(super) other_count: u64,
    /// The first of these.
    pub(super) other: Option<DifferingPair>,
}

/// Two values that differ.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DifferingPair {
    /// By how much.
    pub(super) size: Size,
    /// Position of these, counted from the first.
    pub(super) position: u64,
    /// Both of them, for a person.
    pub(super) pair: [String; 2],
}

/// Size of the difference between two values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Size {
    /// Whole numbers, exactly.
    Whole(u128),
    /// Numbers.
    Real(f64),
    /// By less than numbers of ours can tell.
    Less,
    /// Difference that has no size.
    None,
}

impl Size {
    /// A size; one that no number has is none.
    fn real(size: f64) -> Self {
        if size.is_finite() { Self::Real(size) } else { Self::None }
    }

    #[allow(clippy::cast_precision_loss, reason = "a tolerance is for numbers about the same")]
    fn number(self) -> f64 {
        match self {
            Self::Whole(size) => size as f64,
            Self::Real(size) => size,
            Self::Less => f64::MIN_POSITIVE,
            Self::None => f64::INFINITY,
        }
    }

    fn is_larger(self, other: Self) -> bool {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => one > other,
            (one, other) => one.number() > other.number(),
        }
    }
}

impl ValueDifferences {
    /// Adds what was found further on; tells whether what differs most is among that.
    pub(super) fn add(&mut self, later: Self, first: u64) -> bool {
        let moved =
            |apart: DifferingPair| DifferingPair { position: first + apart.position, ..apart };
        self.count += later.count;
        self.other_count += later.other_count;
        if self.other.is_none() {
            self.other = later.other.map(moved);
        }
        let is_larger = match (&self.most, &later.most) {
            (Some(one), Some(other)) => other.size.is_larger(one.size),
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if is_larger {
            self.most = later.most.map(moved);
        }
        is_larger
    }
}

/// Compares values of one type, as many of the one as of the other.
pub(super) fn compare(one: &ArrayRef, other: &ArrayRef, tolerance: f64) -> ValueDifferences {
    let apart = |size: Size| size.number() > tolerance;
    match one.data_type() {
        DataType::Int8 => integer_differences::<Int8Type>(one, other, &apart),
        DataType::Int16 => integer_differences::<Int16Type>(one, other, &apart),
        DataType::Int32 => integer_differences::<Int32Type>(one, other, &apart),
        DataType::Int64 => integer_differences::<Int64Type>(one, other, &apart),
        DataType::UInt8 => integer_differences::<UInt8Type>(one, other, &apart),
        DataType::UInt16 => integer_differences::<UInt16Type>(one, other, &apart),
        DataType::UInt32 => integer_differences::<UInt32Type>(one, other, &apart),
        DataType::UInt64 => integer_differences::<UInt64Type>(one, other, &apart),
        DataType::Float32 => {
            numbers::<Float32Type>(one, other, &apart, |a, b| Size::real(real(a.into(), b.into())))
        }
        DataType::Float64 => {
            numbers::<Float64Type>(one, other, &apart, |a, b| Size::real(real(a, b)))
        }
        DataType::Struct(_) => complex(one, other, &apart),
        _ => text(one, other),
    }
}

/// Returns the distance between two numbers. Two values that are both no number are the same.
pub(super) fn real(one: f64, other: f64) -> f64 {
    let is_same = one.partial_cmp(&other) == Some(std::cmp::Ordering::Equal);
    if is_same || (one.is_nan() && other.is_nan()) {
        return 0.0;
    }
    let gap = (one - other).abs();
    if gap.is_nan() { f64::INFINITY } else { gap }
}

/// Returns the distance between two complex numbers.
pub(super) fn distance([a, b]: [f64; 2], [c, d]: [f64; 2]) -> f64 {
    real(a, c).hypot(real(b, d))
}

/// Compares numbers that are wider than ours, given as rounded and by all their digits. Those that
/// differ by less than ours can tell are yet not the same.
pub(super) fn compare_exactly(
    rounded: [&ArrayRef; 2],
    digits: [&ArrayRef; 2],
    tolerance: f64,
) -> ValueDifferences {
    let [one, other] = digits.map(|digits| digits.as_string_opt::<i32>());
    let (Some(one), Some(other)) = (one, other) else {
        return compare(rounded[0], rounded[1], tolerance);
    };
    let [left, right] = rounded.map(AsArray::as_primitive::<Float64Type>);
    let sizes = left.iter().zip(right).zip(one.iter().zip(other)).map(|(numbers, digits)| {
        match (numbers, digits) {
            (_, (one, other)) if one == other => Size::Real(0.0),
            ((Some(one), Some(other)), _) if real(one, other) > 0.0 => Size::real(real(one, other)),
            ((Some(_), Some(_)), _) => Size::Less,
            _ => Size::None,
        }
    });
    let show = |texts: &arrow_array::StringArray, at: usize| {
        if texts.is_null(at) { "-".to_owned() } else { texts.value(at).to_owned() }
    };
    let apart = |size: Size| size.number() > tolerance;
    gather(sizes, &apart, |at| [show(one, at), show(other, at)])
}

fn integer_differences<T: ArrowPrimitiveType>(
    one: &ArrayRef,
    other: &ArrayRef,
    apart: &dyn Fn(Size) -> bool,
) -> ValueDifferences
where
    T::Native: Into<i128> + std::fmt::Display,
{
    numbers::<T>(one, other, apart, |a, b| Size::Whole(a.into().abs_diff(b.into())))
}

fn numbers<T: ArrowPrimitiveType>(
    one: &ArrayRef,
    other: &ArrayRef,
    apart: &dyn Fn(Size) -> bool,
    gap: impl Fn(T::Native, T::Native) -> Size,
) -> ValueDifferences
where
    T::Native: std::fmt::Display,
{
    let (one, other) = (one.as_primitive::<T>(), other.as_primitive::<T>());
    let is_same = one.nulls() == other.nulls()
        && one.values().inner().as_slice() == other.values().inner().as_slice();
    if is_same {
        return ValueDifferences::default();
    }
    let pairs = one.iter().zip(other.iter()).map(|(a, b)| match (a, b) {
        (Some(a), Some(b)) => gap(a, b),
        (None, None) => Size::Real(0.0),
        _ => Size::None,
    });
    let show = |value: Option<T::Native>| value.map_or("-".to_owned(), |value| value.to_string());
    gather(pairs, apart, |at| {
        [show(one.iter().nth(at).flatten()), show(other.iter().nth(at).flatten())]
    })
}

fn complex(one: &ArrayRef, other: &ArrayRef, apart: &dyn Fn(Size) -> bool) -> ValueDifferences {
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
        (Some(one), Some(other)) => Size::real(distance(*one, *other)),
        (None, None) => Size::Real(0.0),
        _ => Size::None,
    });
    let show = |values: &[Option<[f64; 2]>], at: usize| match values.get(at) {
        Some(Some([re, im])) => format!("({re}, {im})"),
        _ => "-".to_owned(),
    };
    gather(gaps, apart, |at| [show(&one, at), show(&other, at)])
}

/// Texts and bytes are the same or are not; there is nothing between.
fn text(one: &ArrayRef, other: &ArrayRef) -> ValueDifferences {
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
        if is_same { Size::Real(0.0) } else { Size::None }
    });
    gather(gaps, &|size| size == Size::None, |at| [show(one, at), show(other, at)])
}

/// The marks that texts of either encoding begin with.
pub(super) const LATIN_1: char = '1';
pub(super) const UTF_8: char = '8';

/// Compares texts behind marks of their encoding.
pub(super) fn compare_texts(one: &ArrayRef, other: &ArrayRef) -> ValueDifferences {
    let both = [one, other].map(|array| array.as_string_opt::<i32>());
    let [Some(left), Some(right)] = both else {
        return text(one, other);
    };
    let sizes = left.iter().zip(right).map(
        |(one, other)| {
            if one == other { Size::Real(0.0) } else { Size::None }
        },
    );
    gather(sizes, &|size| size == Size::None, |at| {
        shown_texts([left, right].map(|texts| texts.is_valid(at).then(|| texts.value(at))))
    })
}

/// Both texts; where they look the same, with their encodings.
fn shown_texts(marked: [Option<&str>; 2]) -> [String; 2] {
    let text = |marked: &str| format!("{:?}", marked.get(1..).unwrap_or_default());
    let shown = marked.map(|marked| marked.map_or("-".to_owned(), text));
    if shown[0] != shown[1] {
        return shown;
    }
    let encoding = |marked: Option<&str>| {
        if marked.is_some_and(|it| it.starts_with(LATIN_1)) { "Latin-1" } else { "UTF-8" }
    };
    let [one, other] = marked.map(encoding);
    [format!("{} in {one}", shown[0]), format!("{} in {other}", shown[1])]
}

/// Counts what is apart, and finds what is so most.
fn gather(
    sizes: impl Iterator<Item = Size>,
    apart: &dyn Fn(Size) -> bool,
    show: impl Fn(usize) -> [String; 2],
) -> ValueDifferences {
    let mut found = ValueDifferences::default();
    let (mut most, mut other) = (None, None);
    for (at, size) in sizes.enumerate().filter(|(_, size)| apart(*size)) {
        found.count += 1;
        if size == Size::None {
            found.other_count += 1;
            other = other.or(Some((at, size)));
        } else if most.is_none_or(|(_, known)| size.is_larger(known)) {
            most = Some((at, size));
        }
    }
    let apart = |(at, size)| DifferingPair { size, position: at as u64, pair: show(at) };
    found.most = most.map(apart);
    found.other = other.map(apart);
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, Int64Array, StringArray};

    use super::*;

    fn size(gap: &ValueDifferences) -> Option<Size> {
        gap.most.as_ref().map(|apart| apart.size)
    }

    #[test]
    fn the_largest_difference_is_found_and_small_ones_do_not_count() {
        let one: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, f64::NAN, 4.0]));
        let other: ArrayRef = Arc::new(Float64Array::from(vec![1.25, 1.0, f64::NAN, 4.0]));
        let gap = compare(&one, &other, 0.0);
        let pair = ["2", "1"].map(str::to_owned);
        assert_eq!(gap.count, 2);
        assert_eq!(gap.most, Some(DifferingPair { size: Size::Real(1.0), position: 1, pair }));
        assert_eq!(compare(&one, &other, 0.5).count, 1);
        assert_eq!(compare(&one, &other, 1.0), ValueDifferences::default());
    }

    #[test]
    fn large_whole_numbers_differ_by_one_and_by_all_their_digits() {
        let one: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, i64::MIN]));
        let other: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX - 1, i64::MIN]));
        let gap = compare(&one, &other, 0.0);
        assert_eq!((gap.count, size(&gap)), (1, Some(Size::Whole(1))));
        let other: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN, i64::MIN]));
        let all = Size::Whole(u128::from(u64::MAX));
        assert_eq!(size(&compare(&one, &other, 0.0)), Some(all));
    }

    #[test]
    fn what_is_no_number_or_not_there_differs_and_hides_nothing() {
        let one: ArrayRef = Arc::new(Float64Array::from(vec![Some(f64::NAN), None, Some(3.0)]));
        let other: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.0), Some(0.0), Some(1.0)]));
        let gap = compare(&one, &other, 1.0);
        assert_eq!((gap.count, gap.other_count, size(&gap)), (3, 2, Some(Size::Real(2.0))));
        assert_eq!(gap.other.unwrap().position, 0);
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let others: ArrayRef = Arc::new(StringArray::from(vec!["a", "c"]));
        let gap = compare(&texts, &others, 0.0);
        assert_eq!((gap.count, size(&gap)), (1, None));
        assert_eq!(gap.other.unwrap().pair, ["\"b\"", "\"c\""]);
    }

    #[test]
    fn digits_beyond_a_double_tell_numbers_apart() {
        let numbers: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 1.0]));
        let text = |texts: [&str; 2]| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef;
        let (one, other) = (text(["1", "1.0000000000000000001e0"]), text(["1", "1"]));
        let gap = compare_exactly([&numbers, &numbers], [&one, &other], 0.0);
        assert_eq!((gap.count, size(&gap)), (1, Some(Size::Less)));
        let gap = compare_exactly([&numbers, &numbers], [&one, &other], 1e-9);
        assert_eq!(gap, ValueDifferences::default());
    }
}
