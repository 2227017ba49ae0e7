//! Sums that are the same but for rounding: threads and contexts are added up in any order.

/// Share by which they may differ.
const ROUNDING: f64 = 1e-6;

/// Returns true if two sums are the same.
pub(crate) fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() <= ROUNDING * one.abs().max(other.abs())
}

/// A sum that others may have added up in another order.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    value: f64,
    /// Sum of the values without their signs.
    size: f64,
    terms: f64,
}

impl Sum {
    pub(crate) fn add(&mut self, value: f64) {
        // Nothing is no term: it rounds nothing.
        if value != 0.0 {
            self.value += value;
            self.size += value.abs();
            self.terms += 1.0;
        }
    }

    /// Takes away what has been added up elsewhere.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.value -= other.value;
        self.size += other.size;
        self.terms += other.terms;
    }

    pub(crate) fn value(&self) -> f64 {
        self.value
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.terms < 1.0
    }

    /// Returns true if someone who added up the same values can have come to another sum. The order
    /// of two makes no difference; each further one is rounded once more.
    pub(crate) fn equals_rounded(&self, sum: f64) -> bool {
        let rounding = if self.terms > 2.0 { self.terms * f64::EPSILON * self.size } else { 0.0 };
        (self.value - sum).abs() <= rounding
    }

    /// Returns true if someone who never added what was subtracted can have come to another sum.
    pub(crate) fn is_difference(&self, sum: f64) -> bool {
        (self.value - sum).abs() <= (self.terms + 2.0) * f64::EPSILON * self.size
    }
}

/// A number as it is, but that one of very many digits has an exponent.
pub(crate) fn shown(value: f64) -> String {
    let is_short = value == 0.0 || (1e-6..1e16).contains(&value.abs());
    if is_short { value.to_string() } else { format!("{value:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_values_every_digit_counts() {
        let (mut sum, next) = (Sum::default(), |value: f64| value + f64::EPSILON);
        sum.add(0.1);
        sum.add(0.9);
        assert!(sum.equals_rounded(1.0) && !sum.equals_rounded(next(1.0)));
        sum.add(0.5);
        assert!(sum.equals_rounded(next(1.5)) && !sum.equals_rounded(1.5 + 1e-12));
    }

    #[test]
    fn numbers_of_very_many_digits_have_an_exponent() {
        let numbers = [0.0, -2.5, 1e-300, 1e200].map(shown);
        assert_eq!(numbers, ["0", "-2.5", "1e-300", "1e200"]);
    }
}
