//! Floating-point numbers: the shortest digits that read back as the same number.

use super::Notation;

pub(super) fn write_float(value: f64, notation: Notation, out: &mut Vec<u8>) {
    if value.is_finite() {
        write_digits(ryu::Buffer::new().format_finite(value), notation, out);
    } else {
        write_non_finite(value, notation, out);
    }
}

pub(super) fn write_float32(value: f32, notation: Notation, out: &mut Vec<u8>) {
    if value.is_finite() {
        write_digits(ryu::Buffer::new().format_finite(value), notation, out);
    } else {
        write_non_finite(value.into(), notation, out);
    }
}

/// JSON keeps the `.0` that tells a float from an integer; a person does without.
fn write_digits(digits: &str, notation: Notation, out: &mut Vec<u8>) {
    let digits = match notation {
        Notation::Json => digits,
        Notation::Text | Notation::Csv => digits.strip_suffix(".0").unwrap_or(digits),
    };
    out.extend_from_slice(digits.as_bytes());
}

fn write_non_finite(value: f64, notation: Notation, out: &mut Vec<u8>) {
    let word: &[u8] = match (notation, value.is_nan(), value > 0.0) {
        (Notation::Json, true, _) => b"\"NaN\"",
        (Notation::Json, false, true) => b"\"Infinity\"",
        (Notation::Json, false, false) => b"\"-Infinity\"",
        (_, true, _) => b"NaN",
        (_, false, true) => b"inf",
        (_, false, false) => b"-inf",
    };
    out.extend_from_slice(word);
}
