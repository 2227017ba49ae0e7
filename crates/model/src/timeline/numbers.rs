//! Kind of number that holds all values of a track or field, for formats that ask for one.

use kymo_core::Value;

/// The numbers of a track or field as far as they were seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NumberSurvey {
    has_whole: bool,
    has_signed: bool,
    /// The least of those that have a sign, if that is below 0.
    least: i64,
    /// The most of those that have none.
    most: u64,
    /// Kind of those with a point.
    point: Option<NumberKind>,
}

/// A kind of number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberKind {
    /// Whole numbers of 64 bits.
    Signed,
    /// Those without a sign.
    Unsigned,
    /// Numbers of single precision.
    Single,
    /// Numbers of double precision.
    Double,
}

impl NumberSurvey {
    /// Sees a value. Tells whether it is a number.
    pub fn add(&mut self, value: &Value) -> bool {
        match value {
            Value::Int(number) => {
                (self.has_whole, self.has_signed) = (true, true);
                self.least = self.least.min(*number);
            }
            Value::UInt(number) => {
                self.has_whole = true;
                self.most = self.most.max(*number);
            }
            Value::Float32(_) => self.point = self.point.or(Some(NumberKind::Single)),
            Value::Float(_) => self.point = Some(NumberKind::Double),
            _ => return false,
        }
        true
    }

    /// The kind that holds all of them: whole numbers if all are, and else such with a point. Whole
    /// numbers are signed unless one of them is too large for that, or none was.
    #[must_use]
    pub fn kind(&self) -> NumberKind {
        let is_large = i64::try_from(self.most).is_err();
        match self.point {
            Some(kind) if !self.has_whole => kind,
            Some(_) => NumberKind::Double,
            None if is_large && self.least < 0 => NumberKind::Double,
            None if is_large || !self.has_signed => NumberKind::Unsigned,
            None => NumberKind::Signed,
        }
    }
}

impl NumberKind {
    /// A number as one of this kind; nothing where it is none, or one that this kind does not hold.
    /// One of double precision is the nearest, which tells [`Self::keeps`].
    #[must_use]
    pub fn fit(self, value: &Value) -> Option<Value> {
        Some(match (self, value) {
            (Self::Signed, Value::Int(number)) => Value::Int(*number),
            (Self::Signed, Value::UInt(number)) => Value::Int(i64::try_from(*number).ok()?),
            (Self::Unsigned, Value::Int(number)) => Value::UInt(u64::try_from(*number).ok()?),
            (Self::Unsigned, Value::UInt(number)) => Value::UInt(*number),
            (Self::Single, Value::Float32(number)) => Value::Float32(*number),
            (Self::Double, _) => Value::Float(value.as_f64()?),
            _ => return None,
        })
    }

    /// Returns true if a number that fits stays what it is: whole numbers beyond 2^53 do not among
    /// such with a point, as these need not have all of their digits.
    #[must_use]
    pub fn keeps(self, value: &Value) -> bool {
        let size = match value {
            Value::Int(number) => number.unsigned_abs(),
            Value::UInt(number) => *number,
            _ => return true,
        };
        // What is left of its digits without the zeros at their end.
        self != Self::Double || size >> size.trailing_zeros().min(63) <= EXACT_MAX
    }
}

/// The largest whole number up to which double precision has all of them.
const EXACT_MAX: u64 = 1 << 53;

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(values: &[Value]) -> NumberKind {
        let mut numbers = NumberSurvey::default();
        assert!(values.iter().all(|value| numbers.add(value)));
        let kind = numbers.kind();
        assert!(values.iter().all(|value| kind.fit(value).is_some()));
        kind
    }

    #[test]
    fn one_kind_holds_all_numbers() {
        let (int, less, uint) = (Value::Int(1), Value::Int(-1), Value::UInt(1));
        let (large, single, double) = (Value::UInt(u64::MAX), Value::Float32(0.5), 2.5.into());
        assert_eq!(kind(&[int.clone(), less.clone()]), NumberKind::Signed);
        assert_eq!(kind(&[int.clone(), uint.clone()]), NumberKind::Signed);
        assert_eq!(kind(std::slice::from_ref(&uint)), NumberKind::Unsigned);
        assert_eq!(kind(&[int.clone(), large.clone()]), NumberKind::Unsigned);
        assert_eq!(kind(&[less, large]), NumberKind::Double);
        assert_eq!(kind(std::slice::from_ref(&single)), NumberKind::Single);
        assert_eq!(kind(&[single.clone(), double]), NumberKind::Double);
        assert_eq!(kind(&[uint, single]), NumberKind::Double);
        assert!(!NumberSurvey::default().add(&"1".into()));
    }

    #[test]
    fn whole_numbers_are_kept_among_others_as_far_as_these_are_exact() {
        let (exact, rounded) = (Value::Int(1 << 53), Value::Int((1 << 53) + 1));
        assert!(NumberKind::Double.keeps(&exact) && !NumberKind::Double.keeps(&rounded));
        assert!(NumberKind::Signed.keeps(&rounded));
        assert!(!NumberKind::Double.keeps(&Value::UInt(u64::MAX)));
        assert!(NumberKind::Double.keeps(&Value::Int(i64::MIN)));
    }
}
