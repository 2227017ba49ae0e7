//! Round numbers along an axis.

use kymo_model::timeline::DisplayTime;

/// A range of numbers that is drawn over some length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axis {
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Axis {
    /// A range; one of a single number is made wider.
    pub(crate) fn new(from: f64, to: f64) -> Self {
        if to - from > 0.0 {
            return Self { from, to };
        }
        let half = (from.abs() * 0.05).max(0.5);
        Self { from: from - half, to: to + half }
    }

    /// A length of time, in the unit that it is best told in.
    #[allow(clippy::cast_precision_loss, reason = "a picture shows fewer digits")]
    pub(crate) fn time_axis(span_ns: u64) -> (Self, &'static str) {
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
        let found = units.into_iter().find(|(ns, _)| span_ns >= 2 * ns);
        let (unit_ns, name) = found.unwrap_or((1, "ns"));
        (Self::new(0.0, span_ns as f64 / unit_ns as f64), name)
    }

    /// Returns the position of a number, from 0 to 1.
    pub(crate) fn place(self, number: f64) -> f64 {
        // Halves, since the whole range may be beyond all numbers.
        ((number / 2.0 - self.from / 2.0) / (self.to / 2.0 - self.from / 2.0)).clamp(0.0, 1.0)
    }

    /// Up to so many round numbers in the range, with their texts.
    pub(crate) fn ticks(self, most: u8) -> Vec<(f64, String)> {
        let span = self.to - self.from;
        if !span.is_finite() || most == 0 {
            return vec![(self.from, shown(self.from)), (self.to, shown(self.to))];
        }
        let rough = span / f64::from(most);
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(power * 10.0);
        let first = (self.from / step).ceil();
        let ticks = (0..=most).map(|n| (first + f64::from(n)) * step);
        let within = ticks.filter(|tick| *tick <= self.to + step * 1e-9);
        let numbers: Vec<_> = within.map(|tick| rounded(tick, step)).collect();
        let texts = distinct_labels(&numbers);
        numbers.into_iter().zip(texts).collect()
    }

    /// The same of what is counted: whole numbers alone.
    pub(crate) fn whole_ticks(self, most: u8) -> Vec<(f64, String)> {
        let mut ticks = self.ticks(most);
        ticks.retain(|(number, _)| number.fract().abs() < 1e-9);
        ticks
    }
}

/// Returns the label of times that are given in a unit after a start.
pub(crate) fn unit_after_start(unit: &str, start: DisplayTime) -> String {
    let seconds = if start.since_epoch { "" } else { " s" };
    format!("{unit} after {start}{seconds}")
}

/// So many characters of a number have room beside a picture.
const TEXT_CHARS_MAX: usize = 11;

/// Numbers in ascending order, each told from the next: by a few digits, by all of them, or where
/// these have no room, by how much they are more than the first.
fn distinct_labels(numbers: &[f64]) -> Vec<String> {
    let few: Vec<_> = numbers.iter().map(|number| shown(*number)).collect();
    if few.windows(2).all(|pair| pair.first() != pair.get(1)) {
        return few;
    }
    let all: Vec<_> = numbers.iter().map(f64::to_string).collect();
    if all.iter().all(|text| text.len() <= TEXT_CHARS_MAX) {
        return all;
    }
    let first = numbers.first().copied().unwrap_or_default();
    let more = numbers.iter().skip(1).map(|number| format!("+{}", shown(number - first)));
    few.iter().take(1).cloned().chain(more).collect()
}

/// Two numbers, told apart if they differ.
pub(crate) fn shown_range(from: f64, to: f64) -> String {
    let [mut one, mut other] = [shown(from), shown(to)];
    if one == other && from < to {
        [one, other] = [from, to].map(|number| format!("{number:e}"));
    }
    format!("from {one} to {other}")
}

/// A multiple of a step without the noise of its last digits.
fn rounded(number: f64, step: f64) -> f64 {
    if number.abs() < step * 1e-6 { 0.0 } else { number }
}

/// A number in a few characters.
pub(crate) fn shown(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        return tidy(&format!("{number:.3e}"));
    }
    let text = format!("{number:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Without zeros at the end of the digits before the exponent.
fn tidy(text: &str) -> String {
    match text.split_once('e') {
        Some((digits, power)) if digits.contains('.') => {
            let digits = digits.trim_end_matches('0').trim_end_matches('.');
            format!("{digits}e{power}")
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        let texts = |from, to| -> Vec<String> {
            Axis::new(from, to).ticks(5).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(texts(0.0, 10.0), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(texts(-0.3, 0.3), ["-0.2", "0", "0.2"]);
        assert_eq!(texts(0.0, 3e-7), ["0", "1e-7", "2e-7", "3e-7"]);
    }

    #[test]
    fn what_is_counted_has_whole_ticks_and_near_numbers_differ() {
        let whole: Vec<_> = Axis::new(-0.5, 1.5).whole_ticks(8).into_iter().map(|t| t.1).collect();
        assert_eq!(whole, ["0", "1"]);
        let near = |from, to| distinct_labels(&[from, f64::midpoint(from, to), to]);
        assert_eq!(near(1_000_000.5, 1_000_001.5), ["1000000.5", "1000001", "1000001.5"]);
        assert_eq!(near(1.0, 1.0 + 4e-12), ["1", "+2e-12", "+4e-12"]);
    }

    #[test]
    fn a_range_tells_its_ends_apart() {
        assert_eq!(shown_range(0.0, 2.5), "from 0 to 2.5");
        assert_eq!(shown_range(1.0, 1.0 + f64::EPSILON), "from 1e0 to 1.0000000000000002e0");
        assert_eq!(shown_range(7.0, 7.0), "from 7 to 7");
    }

    #[test]
    fn a_length_of_time_has_a_unit_that_it_is_more_than_two_of() {
        assert_eq!(Axis::time_axis(1_999_999_999), (Axis { from: 0.0, to: 1_999.999_999 }, "ms"));
        assert_eq!(Axis::time_axis(2_000_000_000), (Axis { from: 0.0, to: 2.0 }, "s"));
        assert_eq!(Axis::time_axis(1), (Axis { from: 0.0, to: 1.0 }, "ns"));
    }

    #[test]
    fn any_range_has_places() {
        for (from, to) in [(5.0, 5.0), (0.0, 0.0), (f64::MIN, f64::MAX), (1e-320, 2e-320)] {
            let axis = Axis::new(from, to);
            assert!((0.0..=1.0).contains(&axis.place(from)), "{from} {to}");
            assert!(axis.ticks(5).len() <= 6);
        }
    }
}
