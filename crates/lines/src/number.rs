//! Numbers of texts, exactly.

/// A decimal number of seconds as nanoseconds: `852.823973`. What is more exact is rounded.
#[must_use]
pub fn decimal_ns(text: &str) -> Option<i64> {
    scaled(text, 9)
}

/// A decimal number times ten to the power of `digits`, rounded to the nearest whole number.
///
/// ```
/// assert_eq!(kymo_lines::scaled("-1.25", 3), Some(-1250));
/// assert_eq!(kymo_lines::scaled("1.25", 1), Some(13));
/// ```
#[must_use]
pub fn scaled(text: &str, digits: usize) -> Option<i64> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() {
        return None;
    }
    let fraction = fraction.as_bytes();
    let (kept, beyond) = fraction.split_at_checked(digits).unwrap_or((fraction, &[]));
    let mut value: i64 = 0;
    let zeros = std::iter::repeat_n(b'0', digits - kept.len());
    for digit in whole.bytes().chain(kept.iter().copied()).chain(zeros) {
        let digit = char::from(digit).to_digit(10)?;
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    if !beyond.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let is_up = beyond.first().is_some_and(|digit| *digit >= b'5');
    Some(sign * value.checked_add(i64::from(is_up))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_to_the_nanosecond() {
        assert_eq!(decimal_ns("852.823973"), Some(852_823_973_000));
        assert_eq!(decimal_ns("1051.155745294"), Some(1_051_155_745_294));
        assert_eq!(decimal_ns("0"), Some(0));
        assert_eq!(decimal_ns("-0.5"), Some(-500_000_000));
        assert_eq!(decimal_ns("1.0000000000"), Some(1_000_000_000));
    }

    #[test]
    fn what_is_more_exact_is_rounded() {
        assert_eq!(decimal_ns("0.30000000000000004"), Some(300_000_000));
        assert_eq!(decimal_ns("0.7999999999999999"), Some(800_000_000));
        assert_eq!(decimal_ns("-0.0000000015"), Some(-2));
        assert_eq!(decimal_ns("9223372036.8547758075"), None);
    }

    #[test]
    fn what_is_no_number_or_too_large_is_none() {
        for text in [
            "",
            ".",
            "-",
            "a",
            "1.2.3",
            "1 ",
            "9223372037",
            "1.0000000001x",
            "1.00000000\u{e4}",
            "+1",
        ] {
            assert_eq!(decimal_ns(text), None, "{text}");
        }
        assert_eq!(decimal_ns("9223372036.854775807"), Some(i64::MAX));
    }
}
