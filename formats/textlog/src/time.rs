//! Times of logs: numbers, dates as ISO 8601 has them, or by a pattern.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::Offset;
use kymo_core::model::timeline::TimeNs;
use kymo_lines::scaled;

/// How times are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TimeFormat {
    /// A decimal number; so many digits after the point are nanoseconds.
    Number(usize),
    /// `2026-11-17 06:40:05.123+01:00`.
    Iso,
    /// A pattern of `strptime`, and the year where it has none.
    Pattern(String, Option<i16>),
}

impl TimeFormat {
    /// The format of a word or pattern.
    pub(crate) fn new(word: &str, year: Option<i16>) -> Option<Self> {
        Some(match word {
            "iso" => Self::Iso,
            _ if word.contains('%') => Self::Pattern(word.to_owned(), year),
            _ => Self::Number(digits(word)?),
        })
    }

    /// Whether times are dates.
    pub(crate) fn has_date(&self) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Iso => true,
            Self::Pattern(pattern, year) => year.is_some() || has(pattern, YEARS),
        }
    }

    /// Whether times tell a day, and nothing tells of which year: they would be no dates, and their
    /// days would be lost.
    pub(crate) fn lacks_year(&self) -> bool {
        matches!(self, Self::Pattern(pattern, None) if has(pattern, DAYS) && !has(pattern, YEARS))
    }

    /// What times do not tell, so that they start over.
    pub(crate) fn cycle(&self) -> Option<Cycle> {
        match self {
            Self::Pattern(pattern, _) if has(pattern, YEARS) => None,
            Self::Pattern(pattern, _) if has(pattern, DAYS) => Some(Cycle::Year),
            Self::Pattern(..) => Some(Cycle::Day),
            Self::Number(_) | Self::Iso => None,
        }
    }

    /// Reads a time.
    pub(crate) fn read(&self, text: &str) -> Option<TimeNs> {
        match self {
            Self::Number(digits) => scaled(text, *digits).map(TimeNs),
            Self::Iso => iso(text),
            Self::Pattern(pattern, year) => by_pattern(pattern, *year, text),
        }
    }
}

/// Directives of patterns that tell the year.
const YEARS: &str = "YyFDscGgx";

/// Those that tell the day.
const DAYS: &str = "dejmbBhUVW";

/// Whether a pattern has one of some directives. Flags and widths may stand before the letter: `%-d`.
fn has(pattern: &str, letters: &str) -> bool {
    let is_flag = |c: char| matches!(c, '-' | '_' | '^' | '#' | '.' | ':') || c.is_ascii_digit();
    let mut rest = pattern;
    while let Some((_, directive)) = rest.split_once('%') {
        let directive = directive.trim_start_matches(is_flag);
        if directive.starts_with(|letter| letters.contains(letter)) {
            return true;
        }
        // What a sign of percent stands for itself is over with it.
        rest = directive.strip_prefix('%').unwrap_or(directive);
    }
    false
}

/// A day in nanoseconds.
const DAY_NS: i64 = 86_400_000_000_000;

/// After what times start over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cycle {
    Day,
    Year,
}

impl Cycle {
    /// About how long it is.
    pub(crate) fn ns(self) -> i64 {
        match self {
            Self::Day => DAY_NS,
            Self::Year => 365 * DAY_NS,
        }
    }

    /// A time so many days or years later, where there is one.
    pub(crate) fn later(self, time: TimeNs, turns: u32) -> Option<TimeNs> {
        match self {
            Self::Day => DAY_NS.checked_mul(turns.into())?.checked_add(time.0).map(TimeNs),
            Self::Year => years_later(time, turns),
        }
    }
}

/// The same day and time of day, so many years later.
fn years_later(time: TimeNs, years: u32) -> Option<TimeNs> {
    let moment = Offset::UTC.to_datetime(Timestamp::from_nanosecond(time.0.into()).ok()?);
    let year = moment.year().checked_add(i16::try_from(years).ok()?)?;
    since_epoch(moment.with().year(year).build().ok()?, Offset::UTC)
}

/// How many digits after the point of a unit are nanoseconds.
pub(crate) fn digits(unit: &str) -> Option<usize> {
    Some(match unit {
        "s" => 9,
        "ms" => 6,
        "us" => 3,
        "ns" => 0,
        _ => return None,
    })
}

fn by_pattern(pattern: &str, year: Option<i16>, text: &str) -> Option<TimeNs> {
    let mut parts = BrokenDownTime::parse(pattern, text).ok()?;
    if parts.year().is_none() && year.is_some() {
        parts.set_year(year).ok()?;
    }
    if let Ok(timestamp) = parts.to_timestamp() {
        return i64::try_from(timestamp.as_nanosecond()).ok().map(TimeNs);
    }
    match parts.to_datetime() {
        Ok(moment) => since_epoch(moment, Offset::UTC),
        // A time of day counts from midnight.
        Err(_) => since_epoch(parts.to_time().ok()?.on(1970, 1, 1), Offset::UTC),
    }
}

fn since_epoch(moment: DateTime, offset: Offset) -> Option<TimeNs> {
    let timestamp = offset.to_timestamp(moment).ok()?;
    i64::try_from(timestamp.as_nanosecond()).ok().map(TimeNs)
}

/// Reads a date and a time of day, with a fraction after a point or a comma. Without an offset it
/// is taken for UTC.
fn iso(text: &str) -> Option<TimeNs> {
    let number = |from: usize, to: usize| -> Option<i16> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let small = |from, to| number(from, to).and_then(|number| i8::try_from(number).ok());
    let is = |at: usize, marks: &[u8]| text.as_bytes().get(at).is_some_and(|b| marks.contains(b));
    if !(is(4, b"-") && is(7, b"-") && is(10, b"T ") && is(13, b":") && is(16, b":")) {
        return None;
    }
    let date = Date::new(number(0, 4)?, small(5, 7)?, small(8, 10)?).ok()?;
    let (fraction, rest) = fraction(text.get(19..)?)?;
    let time = date.to_datetime(jiff::civil::Time::midnight());
    let time = time.with().hour(small(11, 13)?).minute(small(14, 16)?).second(small(17, 19)?);
    since_epoch(time.subsec_nanosecond(fraction).build().ok()?, offset(rest)?)
}

/// The nanoseconds of `.123` or `,123`, and what comes after.
fn fraction(text: &str) -> Option<(i32, &str)> {
    let Some(digits) = text.strip_prefix(['.', ',']) else { return Some((0, text)) };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    let ns = scaled(&format!("0.{digits}"), 9)?;
    Some((i32::try_from(ns).ok()?, rest))
}

/// The offset of `Z`, `+01:00`, `+0100`, or nothing.
fn offset(text: &str) -> Option<Offset> {
    if matches!(text, "" | "Z") {
        return Some(Offset::UTC);
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+')?),
    };
    let digits = digits.replace(':', "");
    let part = |from: usize| digits.get(from..from + 2)?.parse::<i32>().ok();
    let minutes = if digits.len() == 2 { 0 } else { part(2)? };
    Offset::from_seconds(sign * (part(0)? * 3600 + minutes * 60)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(word: &str, text: &str) -> Option<i64> {
        TimeFormat::new(word, None).unwrap().read(text).map(|time| time.0)
    }

    #[test]
    fn numbers_are_in_their_unit() {
        assert_eq!(read("s", "1.5"), Some(1_500_000_000));
        assert_eq!(read("ms", "1.5"), Some(1_500_000));
        assert_eq!(read("us", "12"), Some(12_000));
        assert_eq!(read("ns", "-3"), Some(-3));
        assert_eq!(read("ns", "0.5"), None);
        assert_eq!(TimeFormat::new("hours", None), None);
    }

    #[test]
    fn times_start_over_where_the_day_or_the_year_is_not_told() {
        let cycle = |word, year| TimeFormat::new(word, year).unwrap().cycle();
        assert_eq!(cycle("%H:%M:%S", None), Some(Cycle::Day));
        assert_eq!(cycle("100%%d %H:%M", None), Some(Cycle::Day));
        assert_eq!(cycle("%b %d %H:%M:%S", Some(2025)), Some(Cycle::Year));
        assert_eq!(cycle("%-d/%_m %H:%M:%S", Some(2025)), Some(Cycle::Year));
        assert_eq!([cycle("%Y-%m-%d", None), cycle("iso", None), cycle("ms", None)], [None; 3]);
        // `date -u -d 2027-03-01 +%s` and 2028, which has a 29 February.
        let march = TimeNs(1_803_859_200_000_000_000);
        assert_eq!(Cycle::Year.later(march, 1), Some(TimeNs(1_835_481_600_000_000_000)));
        assert_eq!(Cycle::Day.later(TimeNs(5), 2), Some(TimeNs(172_800_000_000_005)));
        // 2⁶³ ns are 106,751 days and 23:47:16.854775808, and 292 years.
        assert_eq!(Cycle::Day.later(TimeNs(0), 106_751), Some(TimeNs(9_223_286_400_000_000_000)));
        assert_eq!(Cycle::Day.later(TimeNs(0), 106_752), None);
        assert_eq!(Cycle::Day.later(TimeNs(0), u32::MAX), None);
        assert_eq!(Cycle::Year.later(march, 300), None);
    }

    /// As `date -u -d … +%s%N` tells them.
    #[test]
    fn dates_are_as_the_calendar_has_them() {
        let expected = 1_794_897_605_000_000_000;
        assert_eq!(read("iso", "2026-11-17T06:40:05Z"), Some(expected));
        assert_eq!(read("iso", "2026-11-17 06:40:05"), Some(expected));
        assert_eq!(read("iso", "2026-11-17 07:40:05,250+01:00"), Some(expected + 250_000_000));
        assert_eq!(read("iso", "2026-11-17T06:10:05.000000001-0030"), Some(expected + 1));
        for wrong in ["", "2026-13-17 06:40:05", "2026-11-17 06:40", "2026-11-17 06:40:05x"] {
            assert_eq!(read("iso", wrong), None, "{wrong}");
        }
        let pattern = "%d/%m/%Y %H:%M:%S%.f";
        assert_eq!(read(pattern, "17/11/2026 06:40:05.5"), Some(expected + 500_000_000));
        let syslog = TimeFormat::new("%b %d %H:%M:%S", Some(2026)).unwrap();
        assert_eq!(syslog.read("Nov 17 06:40:05"), Some(TimeNs(expected)));
        assert!(syslog.has_date());
        // A time of day counts from midnight.
        assert_eq!(read("%H:%M:%S%.f", "00:01:00.5"), Some(60_500_000_000));
        assert!(!TimeFormat::new("%H:%M:%S%.f", None).unwrap().has_date());
    }
}
