//! Numbers as Python prints them: golden figures are hashes over such texts.

/// A number as Python prints it.
#[must_use]
pub fn repr(value: f64) -> String {
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap();
    let exponent: i32 = exponent.parse().unwrap();
    if value != 0.0 && !(-4..16).contains(&exponent) {
        return format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    }
    let plain = format!("{value}");
    if plain.contains('.') { plain } else { format!("{plain}.0") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_python_does() {
        let cases = [(1.0, "1.0"), (1e16, "1e+16"), (1e15, "1000000000000000.0"), (1e-5, "1e-05")];
        for (value, expected) in
            cases.into_iter().chain([(0.0001, "0.0001"), (0.605_316, "0.605316")])
        {
            assert_eq!(repr(value), expected);
        }
    }
}
