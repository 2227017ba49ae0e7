//! Measured values and shares as people read them.

use kymo_model::timeline::{DisplayTime, TimeNs};

use super::numbers;

/// A measured value: four digits that count, whole numbers with their thousands apart.
pub(crate) fn value(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return value.to_string();
    }
    if size == 0.0 {
        return "0".to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    if value.fract() == 0.0 && size < 1e9 {
        return format!("{sign}{}", numbers::grouped(small_integer(size)));
    }
    match size {
        _ if !(1e-3..1e5).contains(&size) => format!("{value:.3e}"),
        _ if size >= 1e3 => format!("{sign}{}", numbers::grouped(small_integer(size))),
        _ if size >= 1e2 => format!("{value:.1}"),
        _ if size >= 1e1 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A measured value, or `-` where there is none.
pub(crate) fn value_text(value: f64) -> String {
    if value.is_nan() { "-".to_owned() } else { self::value(value) }
}

/// A number that is known; a part of a hundred with its sign, since its name does not say it.
pub(crate) fn in_unit(value: f64, unit: Option<&str>) -> String {
    let sign = if unit == Some("%") && !value.is_nan() { " %" } else { "" };
    value_text(value) + sign
}

/// A share of a total: `12.3%`; nothing where there is no total.
pub(crate) fn share(part: f64, total: f64) -> String {
    if total == 0.0 || part == 0.0 || total.is_nan() {
        return String::new();
    }
    format!("{:.1}%", part / total * 100.0)
}

/// A time of so many nanoseconds: `1.250 ms`.
#[allow(clippy::cast_precision_loss, reason = "four digits are shown")]
pub(crate) fn duration(ns: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    const HOUR: u64 = 3600 * SECOND;
    const UNITS: [(u64, &str); 3] = [(SECOND, "s"), (1_000_000, "ms"), (1_000, "µs")];
    let unit = UNITS.into_iter().find(|(unit, _)| ns >= *unit);
    let unit = match ns {
        // From a point on nobody reads seconds.
        _ if ns >= 48 * HOUR => Some((24 * HOUR, "days")),
        _ if ns >= HOUR => Some((HOUR, "h")),
        _ => unit,
    };
    match unit {
        None => format!("{ns} ns"),
        Some((unit, name)) => {
            let number = ns as f64 / unit as f64;
            let places = match number {
                100.0.. => 1,
                10.0.. => 2,
                _ => 3,
            };
            format!("{number:.places$} {name}")
        }
    }
}

/// A bar for a share from 0 to 1, at most so many places long; on a terminal to an eighth of one.
pub(crate) fn bar(share: f64, places: u32, is_terminal: bool) -> String {
    const EIGHTHS: [&str; 7] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let filled = share * f64::from(places);
    let whole = (1..=places).map(f64::from).filter(|step| *step <= filled).count();
    if !is_terminal {
        return "#".repeat(whole);
    }
    let rest = filled.fract() * 8.0;
    let part = EIGHTHS
        .iter()
        .zip([1_u8, 2, 3, 4, 5, 6, 7])
        .rfind(|(_, eighths)| f64::from(*eighths) <= rest);
    format!("{}{}", "█".repeat(whole), part.map_or("", |(part, _)| part))
}

/// A whole number that is known to be small.
fn small_integer(size: f64) -> u64 {
    format!("{size:.0}").parse().unwrap_or(0)
}

/// Returns the duration from one timestamp to another, in seconds, where there is no room for the
/// timestamp itself.
pub(crate) fn seconds_after(first: TimeNs, time: TimeNs) -> String {
    let time = TimeNs(time.0.saturating_sub(first.0));
    DisplayTime { time, since_epoch: false }.to_string()
}

/// A text that takes no more places than there are, with `…` where something is cut off.
pub(crate) fn fitted(text: &str, places: usize) -> String {
    if super::columns::width_of(text) <= places {
        return text.to_owned();
    }
    let kept: String = text.chars().take(places.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// The end of a text, as much of it as there are places for: what tells threads apart comes last.
pub(crate) fn fitted_end(text: &str, places: usize) -> String {
    if super::columns::width_of(text) <= places {
        return text.to_owned();
    }
    let left_out = text.chars().count().saturating_sub(places.saturating_sub(1));
    let kept: String = text.chars().skip(left_out).collect();
    format!("…{kept}")
}

/// The beginning and the end of a text, as much of them as there are places for.
pub(crate) fn fitted_middle(text: &str, places: usize) -> String {
    let count = super::columns::width_of(text);
    if count <= places {
        return text.to_owned();
    }
    let kept = places.saturating_sub(1);
    let end = kept / 2;
    let begin: String = text.chars().take(kept - end).collect();
    begin + "…" + &text.chars().skip(count - end).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_four_digits_that_count() {
        let cases = [
            (0.0, "0"),
            (1.210_259, "1.210"),
            (12.3456, "12.35"),
            (123.456, "123.5"),
            (1234.56, "1,235"),
            (1_234_567.0, "1,234,567"),
            (-7.0, "-7"),
            (123_456.7, "1.235e5"),
            (0.000_123_4, "1.234e-4"),
            (5e9, "5.000e9"),
        ];
        for (number, expected) in cases {
            assert_eq!(value(number), expected);
        }
    }

    #[test]
    fn durations_have_four_digits_and_a_unit() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_250, "1.250 µs"),
            (12_345_678, "12.35 ms"),
            (123_456_789_000, "123.5 s"),
        ];
        for (ns, expected) in cases {
            assert_eq!(duration(ns), expected);
        }
    }

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(bar(0.5, 4, false), "##");
        assert_eq!(bar(0.55, 4, true), "██▏");
        assert_eq!(bar(0.99, 1, true), "▉");
        assert_eq!(bar(7.0, 3, false), "###");
        assert_eq!([bar(-1.0, 3, false), bar(f64::NAN, 3, true)], ["", ""]);
    }

    #[test]
    fn shares_and_cut_texts_read_well() {
        assert_eq!(share(1.0, 8.0), "12.5%");
        assert_eq!(share(0.0, 8.0), "");
        assert_eq!(share(1.0, 0.0), "");
        assert_eq!(fitted("overlong", 5), "over…");
        assert_eq!(fitted("short", 5), "short");
    }

    #[test]
    fn of_what_has_no_room_the_beginning_the_middle_or_the_end_is_left_out() {
        assert_eq!(fitted("NODE 0 / THREAD 12", 18), "NODE 0 / THREAD 12");
        assert_eq!(fitted("NODE 0 / THREAD 12", 8), "NODE 0 …");
        assert_eq!(fitted_end("NODE 0 / THREAD 12", 18), "NODE 0 / THREAD 12");
        assert_eq!(fitted_end("NODE 0 / THREAD 12", 10), "…THREAD 12");
        assert_eq!(fitted_middle("NODE 0 / THREAD 12", 18), "NODE 0 / THREAD 12");
        assert_eq!(fitted_middle("NODE 0 / THREAD 12", 10), "NODE …D 12");
        assert_eq!([fitted_middle("über", 3), fitted_middle("ab", 1)], ["ü…r", "…"]);
    }
}
