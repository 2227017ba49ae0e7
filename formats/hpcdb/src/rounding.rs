//! Sums that are the same but for rounding: threads and contexts are added up in any order.

/// How far they may differ.
const ROUNDING: f64 = 1e-6;

/// Whether two sums are the same.
pub(crate) fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() <= ROUNDING * one.abs().max(other.abs())
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
    fn numbers_of_very_many_digits_have_an_exponent() {
        let numbers = [0.0, -2.5, 1e-300, 1e200].map(shown);
        assert_eq!(numbers, ["0", "-2.5", "1e-300", "1e200"]);
    }
}
