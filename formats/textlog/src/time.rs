//! Times of logs: numbers, dates as ISO 8601 has them, or by a pattern.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::Offset;
use kymo_lines::scaled;
use kymo_model::timeline::TimeNs;

/// Format of times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TimeFormat {
    /// A decimal number; so many digits after the point are nanoseconds.
    Number(usize),
    /// `2026-11-17 06:40:05.123+01:00`.
    Iso,
    /// A pattern of `strptime`.
    Pattern(Pattern),
}

/// A pattern of `strptime`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    text: String,
    /// The year of times that have none.
    year: Option<i16>,
    cycle: Option<Cycle>,
}

impl TimeFormat {
    /// The format of a word or pattern.
    pub(crate) fn new(word: &str, year: Option<i16>) -> Option<Self> {
        Some(match word {
            "iso" => Self::Iso,
            _ if word.contains('%') => Self::Pattern(Pattern::new(word, year)),
            _ => Self::Number(digits(word)?),
        })
    }

    /// Returns true if times are dates.
    pub(crate) fn has_date(&self) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Iso => true,
            Self::Pattern(pattern) => pattern.year.is_some() || has_directive(&pattern.text, YEARS),
        }
    }

    /// Returns true if times tell a day, and nothing tells of which year: they would be no dates,
    /// and their days would be lost.
    pub(crate) fn is_missing_year(&self) -> bool {
        let Self::Pattern(Pattern { text, year: None, .. }) = self else { return false };
        has_directive(text, DAYS) && !has_directive(text, YEARS)
    }

    /// The first directive of a pattern that means nothing.
    pub(crate) fn unknown(&self) -> Option<&str> {
        let Self::Pattern(pattern) = self else { return None };
        directives(&pattern.text).find(|directive| !is_known(directive))
    }

    /// Returns the cycle after which times start over: the part that they do not give.
    pub(crate) fn cycle(&self) -> Option<Cycle> {
        match self {
            Self::Pattern(pattern) => pattern.cycle,
            Self::Number(_) | Self::Iso => None,
        }
    }

    /// Reads a time. Where times start over, [`Cycle::later`] tells when it was.
    pub(crate) fn read(&self, text: &str) -> Option<TimeNs> {
        match self {
            Self::Number(digits) => scaled(text, *digits).map(TimeNs),
            Self::Iso => iso(text),
            Self::Pattern(pattern) => pattern.read(text),
        }
    }
}

impl Pattern {
    fn new(text: &str, year: Option<i16>) -> Self {
        let cycle = match year {
            _ if has_directive(text, YEARS) => None,
            _ if !has_directive(text, DAYS) => Some(Cycle::Day),
            Some(year) if !has_directive(text, UNLIKE_DATES) => Some(Cycle::Date(year)),
            _ => Some(Cycle::Year),
        };
        Self { text: text.to_owned(), year, cycle }
    }

    fn read(&self, text: &str) -> Option<TimeNs> {
        let mut parts = BrokenDownTime::parse(&self.text, text).ok()?;
        match self.cycle {
            // Which day of the week it is depends on the year, which is known later.
            Some(Cycle::Date(_)) => {
                parts.set_weekday(None);
                parts.set_year(Some(LEAP_YEAR)).ok()?;
            }
            Some(Cycle::Year) => parts.set_year(self.year).ok()?,
            // A time of day counts from midnight.
            Some(Cycle::Day) => {
                return since_epoch(parts.to_time().ok()?.on(1970, 1, 1), Offset::UTC);
            }
            None => {}
        }
        if let Ok(timestamp) = parts.to_timestamp() {
            return i64::try_from(timestamp.as_nanosecond()).ok().map(TimeNs);
        }
        since_epoch(parts.to_datetime().ok()?, Offset::UTC)
    }
}

/// Directives of patterns that tell the year.
const YEARS: &str = "YyFDsGg";

/// Those that tell the day.
const DAYS: &str = "dejmbBhUVW";

/// Those with which a month and a day do not make the same date in every year.
const UNLIKE_DATES: &str = "jUVWz";

/// All that can be read.
const KNOWN: &str = "%AaBbCDdeFfGgHhIjklMmNnPpRSsTtUuVWwYyz";

/// A year that has a 29 February.
const LEAP_YEAR: i16 = 1972;

fn is_flag(c: char) -> bool {
    matches!(c, '-' | '_' | '^' | '#' | '.' | ':') || c.is_ascii_digit()
}

/// The letter of a directive. Flags and widths may stand before it: `%-d`.
fn letter(directive: &str) -> Option<char> {
    directive.chars().skip(1).find(|c| !is_flag(*c))
}

fn is_known(directive: &str) -> bool {
    let Some(letter) = letter(directive) else { return false };
    let is_fraction = !directive.contains('.') || letter == 'f';
    KNOWN.contains(letter) && is_fraction
}

/// The directives of a pattern, each from its sign of percent to its letter.
fn directives(pattern: &str) -> impl Iterator<Item = &str> {
    let mut rest = pattern;
    std::iter::from_fn(move || {
        let directive = rest.get(rest.find('%')?..)?;
        let letter = directive.char_indices().skip(1).find(|(_, c)| !is_flag(*c));
        let end = letter.map_or(directive.len(), |(at, letter)| at + letter.len_utf8());
        let (directive, after) = directive.split_at(end);
        rest = after;
        Some(directive)
    })
}

/// Returns true if a pattern has one of some directives.
fn has_directive(pattern: &str, letters: &str) -> bool {
    directives(pattern).filter_map(letter).any(|letter| letters.contains(letter))
}

/// A day in nanoseconds.
const DAY_NS: i64 = 86_400_000_000_000;

/// After what times start over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cycle {
    Day,
    /// Times are read as of the year of the first line.
    Year,
    /// The same, but for dates of a month and a day: they are read as of a year that has them all. The
    /// year of the first line is this one.
    Date(i16),
}

impl Cycle {
    /// About how long it is.
    pub(crate) fn ns(self) -> i64 {
        match self {
            Self::Day => DAY_NS,
            Self::Year => 365 * DAY_NS,
            Self::Date(_) => 366 * DAY_NS,
        }
    }

    /// A time so many days or years later than that of the first line; nothing where that year does
    /// not have the day.
    pub(crate) fn later(self, time: TimeNs, turns: u32) -> Option<TimeNs> {
        match self {
            Self::Day => time.0.checked_add(DAY_NS.checked_mul(turns.into())?).map(TimeNs),
            Self::Year if turns == 0 => Some(time),
            Self::Year => years_later(time, turns.into()),
            Self::Date(year) => {
                years_later(time, i64::from(year) - i64::from(LEAP_YEAR) + i64::from(turns))
            }
        }
    }
}

/// The same day and time of day, so many years later.
fn years_later(time: TimeNs, years: i64) -> Option<TimeNs> {
    let moment = Offset::UTC.to_datetime(Timestamp::from_nanosecond(time.0.into()).ok()?);
    let year = i16::try_from(i64::from(moment.year()).checked_add(years)?).ok()?;
    since_epoch(moment.with().year(year).build().ok()?, Offset::UTC)
}

/// Returns the number of digits after the point of a unit that are nanoseconds.
pub(crate) fn digits(unit: &str) -> Option<usize> {
    Some(match unit {
        "s" => 9,
        "ms" => 6,
        "us" => 3,
        "ns" => 0,
        _ => return None,
    })
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
    let (fraction_ns, rest) = fraction(text.get(19..)?)?;
    let time = date.to_datetime(jiff::civil::Time::midnight());
    let time = time.with().hour(small(11, 13)?).minute(small(14, 16)?).second(small(17, 19)?);
    let seconds = since_epoch(time.build().ok()?, offset(rest)?)?;
    seconds.0.checked_add(fraction_ns).map(TimeNs)
}

/// The nanoseconds of `.123` or `,123`, and what comes after.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(digits) = text.strip_prefix(['.', ',']) else { return Some((0, text)) };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    Some((scaled(&format!("0.{digits}"), 9)?, rest))
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
        // Python's 0.1 + 0.2.
        assert_eq!(read("s", "0.30000000000000004"), Some(300_000_000));
        assert_eq!(read("ns", "1.5"), Some(2));
        assert_eq!(TimeFormat::new("hours", None), None);
    }

    #[test]
    fn times_start_over_where_the_day_or_the_year_is_not_told() {
        let cycle = |word, year| TimeFormat::new(word, year).unwrap().cycle();
        assert_eq!(cycle("%H:%M:%S", None), Some(Cycle::Day));
        assert_eq!(cycle("100%%d %H:%M", None), Some(Cycle::Day));
        assert_eq!(cycle("%b %d %H:%M:%S", Some(2025)), Some(Cycle::Date(2025)));
        assert_eq!(cycle("%-d/%_m %H:%M:%S", Some(2025)), Some(Cycle::Date(2025)));
        assert_eq!(cycle("%j %H:%M:%S", Some(2025)), Some(Cycle::Year));
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

    /// A date without a year, so many New Years after the first line, which is of 2027.
    fn dated(pattern: &str, text: &str, turns: u32) -> Option<i64> {
        let format = TimeFormat::new(pattern, Some(2027)).unwrap();
        let time = format.cycle().unwrap().later(format.read(text)?, turns);
        time.map(|time| time.0 / 1_000_000_000)
    }

    /// As `date -u -d … +%s` tells them.
    #[test]
    fn the_29_february_is_there_in_leap_years_only() {
        let syslog = "%b %d %H:%M:%S";
        assert_eq!(dated(syslog, "Feb 28 12:00:00", 0), Some(1_803_816_000));
        assert_eq!(dated(syslog, "Feb 29 12:00:00", 1), Some(1_835_438_400));
        assert_eq!(dated(syslog, "Mar 01 12:00:00", 1), Some(1_835_524_800));
        assert_eq!(dated(syslog, "Dec 31 23:59:59", 0), Some(1_830_297_599));
        assert_eq!(dated(syslog, "Jan 01 00:00:00", 1), Some(1_830_297_600));
        for years_without in [0, 2, 3] {
            assert_eq!(dated(syslog, "Feb 29 12:00:00", years_without), None);
        }
        // The day of the week is as the year has it: it is no Tuesday in 2027.
        assert_eq!(dated("%a %b %d %H:%M:%S", "Tue Feb 29 12:00:00", 1), Some(1_835_438_400));
        // A day of the year that is not there, and one that is.
        assert_eq!(dated("%j %H:%M", "366 12:00", 0), None);
        assert_eq!(dated("%j %H:%M", "59 12:00", 0), Some(1_803_816_000));
    }

    /// As `date -u -d … +%s%N` tells them.
    #[test]
    fn dates_are_as_the_calendar_has_them() {
        let expected = 1_794_897_605_000_000_000;
        assert_eq!(read("iso", "2026-11-17T06:40:05Z"), Some(expected));
        assert_eq!(read("iso", "2026-11-17 06:40:05"), Some(expected));
        assert_eq!(read("iso", "2026-11-17 07:40:05,250+01:00"), Some(expected + 250_000_000));
        assert_eq!(read("iso", "2026-11-17T06:10:05.000000001-0030"), Some(expected + 1));
        assert_eq!(read("iso", "2026-11-17 06:40:04.9999999996"), Some(expected));
        for wrong in ["", "2026-13-17 06:40:05", "2026-11-17 06:40", "2026-11-17 06:40:05x"] {
            assert_eq!(read("iso", wrong), None, "{wrong}");
        }
        let pattern = "%d/%m/%Y %H:%M:%S%.f";
        assert_eq!(read(pattern, "17/11/2026 06:40:05.5"), Some(expected + 500_000_000));
        let syslog = TimeFormat::new("%b %d %H:%M:%S", Some(2026)).unwrap();
        let written = syslog.read("Nov 17 06:40:05").unwrap();
        assert_eq!(syslog.cycle().unwrap().later(written, 0), Some(TimeNs(expected)));
        assert!(syslog.has_date());
        // A time of day counts from midnight.
        assert_eq!(read("%H:%M:%S%.f", "00:01:00.5"), Some(60_500_000_000));
        assert!(!TimeFormat::new("%H:%M:%S%.f", None).unwrap().has_date());
    }
}
