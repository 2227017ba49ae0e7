//! Numbers that are compared, exactly.

use std::cmp::Ordering;
use std::fmt;

use kymo_core::Value;

/// A number of a recording, or a limit to it. Integers stay what they are: as floating point, those
/// beyond 2^53 are others.
#[derive(Debug, Clone, Copy)]
pub enum Number {
    /// An integer.
    Int(i128),
    /// Any other.
    Float(f64),
}

impl Number {
    /// The number that a value is.
    pub(super) fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Int(number) => Some(Self::Int((*number).into())),
            Value::UInt(number) => Some(Self::Int((*number).into())),
            Value::Float32(number) => Some(Self::Float((*number).into())),
            Value::Float(number) => Some(Self::Float(*number)),
            _ => None,
        }
    }

    pub(super) fn is_nan(self) -> bool {
        matches!(self, Self::Float(number) if number.is_nan())
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (*self, *other) {
            (Self::Int(one), Self::Int(other)) => Some(one.cmp(&other)),
            (Self::Float(one), Self::Float(other)) => one.partial_cmp(&other),
            (Self::Int(one), Self::Float(other)) => compare_integer(one, other),
            (Self::Float(one), Self::Int(other)) => {
                compare_integer(other, one).map(Ordering::reverse)
            }
        }
    }
}

/// Compares an integer with a number that may lie between two.
fn compare_integer(integer: i128, number: f64) -> Option<Ordering> {
    if number.is_nan() {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, reason = "what is too large becomes the largest")]
    let floor = number.floor() as i128;
    let is_between = number.floor() < number;
    Some(integer.cmp(&floor).then(if is_between { Ordering::Less } else { Ordering::Equal }))
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_other_numbers_are_compared_exactly() {
        let (int, float) = (Number::Int, Number::Float);
        assert!(int(9_007_199_254_740_993) > int(9_007_199_254_740_992));
        // 2^53, which is the integer before.
        assert!(int(9_007_199_254_740_993) > float(9_007_199_254_740_992.0));
        assert!(int(u64::MAX.into()) < float(18_446_744_073_709_551_616.0));
        assert!(int(3) < float(3.5) && int(4) > float(3.5) && int(3) == float(3.0));
        assert!(int(-3) > float(-3.5) && float(-3.5) < int(-3) && float(3.5) > int(3));
        assert!(int(0) < float(f64::INFINITY) && int(0) > float(f64::NEG_INFINITY));
        assert_eq!(int(0).partial_cmp(&float(f64::NAN)), None);
    }
}
