//! Sizes and counts as people read them.

use kymo_core::{Severity, Value};

/// A count with its thousands apart: `1,746`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A size: `1.7 KiB (1,746 bytes)`, or just `38 bytes`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let exact = count(bytes, "byte", "bytes");
    let mut unit_bytes = 1_u128;
    let mut unit = None;
    for name in UNITS {
        if u128::from(bytes) < unit_bytes * 1024 {
            break;
        }
        unit_bytes *= 1024;
        unit = Some(name);
    }
    match unit {
        None => exact,
        Some(unit) => {
            let tenths = (u128::from(bytes) * 10 + unit_bytes / 2) / unit_bytes;
            format!("{}.{} {unit} ({exact})", tenths / 10, tenths % 10)
        }
    }
}

/// A count with its noun: `1 element`, `2 elements`.
pub(crate) fn count(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// A fact's value: counts with their thousands apart, all else as it is.
pub(crate) fn fact(value: &Value) -> String {
    match value {
        Value::UInt(count) => grouped(*count),
        other => super::value(other),
    }
}

/// Counts the findings of each severity: `2 errors, 1 warning`.
pub(crate) fn severities(found: &[Severity]) -> String {
    let words = [
        (Severity::Error, "error", "errors"),
        (Severity::Warning, "warning", "warnings"),
        (Severity::Note, "note", "notes"),
    ];
    let item = |(severity, one, many)| {
        let number = found.iter().filter(|found| **found == severity).count();
        (number > 0).then(|| count(number as u64, one, many))
    };
    words.into_iter().filter_map(item).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_sizes_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(size(1), "1 byte");
        assert_eq!(size(1023), "1,023 bytes");
        assert_eq!(size(1746), "1.7 KiB (1,746 bytes)");
        assert_eq!(size(1 << 30), "1.0 GiB (1,073,741,824 bytes)");
        assert_eq!(size(u64::MAX), "16384.0 PiB (18,446,744,073,709,551,615 bytes)");
    }

    #[test]
    fn severities_are_counted_worst_first() {
        use Severity::{Error, Note, Warning};
        let found = [Note, Error, Warning, Error];
        assert_eq!(severities(&found), "2 errors, 1 warning, 1 note");
        assert_eq!(severities(&[]), "");
    }
}
