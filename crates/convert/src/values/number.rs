//! Floating-point numbers: the shortest digits that read back as the same number.

use std::io::Write;

use kymo_core::Value;

use super::Notation;

/// From here on `ryu` and [`Value`] part ways over where an exponent begins, for single
/// precision.
const FLOAT32_ALIKE: std::ops::Range<f32> = 2e-5..1e13;

pub(super) fn write_float(value: f64, notation: Notation, out: &mut Vec<u8>) {
    if value.is_finite() {
        write_digits(ryu::Buffer::new().format_finite(value), notation, out);
    } else {
        write_non_finite(value, notation, out);
    }
}

pub(super) fn write_float32(value: f32, notation: Notation, out: &mut Vec<u8>) {
    if !value.is_finite() {
        write_non_finite(value.into(), notation, out);
    } else if notation == Notation::Json || value == 0.0 || FLOAT32_ALIKE.contains(&value.abs()) {
        write_digits(ryu::Buffer::new().format_finite(value), notation, out);
    } else {
        // Writing into memory cannot fail.
        drop(write!(out, "{}", Value::from(value)));
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
