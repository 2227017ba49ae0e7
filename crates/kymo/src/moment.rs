//! Moments and durations, as one types and reads them.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use kymo_core::shortened;
use kymo_model::timeline::{Clock, ClockId, TimeNs, TimelineView, Track, TrackId};

use crate::failure::Failure;

/// Help text of every option that takes a timestamp.
pub(crate) const MOMENTS: &str = "\
MOMENTS
  2026-11-15T12:30:00Z   a time of day, with a zone or in UTC; also 2026-11-15
  12.5, 12.5s, 300ms     on the recording's own clock; units: ns us ms s min h
  +10s                   after the first event
  -10s                   before the last";

/// A moment as it was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// On the clock.
    At(TimeNs),
    /// A time of day, on a clock that counts from the Epoch.
    Date(TimeNs),
    /// So long after the first event.
    AfterStart(i64),
    /// So long before the last.
    BeforeEnd(i64),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let duration = |text| nanoseconds(text).ok_or_else(|| not_a_moment(text));
        match text.split_at_checked(1) {
            Some(("+", text)) => duration(text).map(Self::AfterStart),
            Some(("-", text)) => duration(text).map(Self::BeforeEnd),
            _ => match nanoseconds(text) {
                Some(time) => Ok(Self::At(TimeNs(time))),
                None => time_of_day(text).map(Self::Date).ok_or_else(|| not_a_moment(text)),
            },
        }
    }
}

fn not_a_moment(text: &str) -> String {
    format!("{text} is no moment such as 2026-11-15T12:30:00Z, 12.5s, +10s or -10s")
}

/// A time of day; without a zone it is in UTC.
fn time_of_day(text: &str) -> Option<TimeNs> {
    let timestamp = text.parse::<Timestamp>().or_else(|_| {
        let civil = text.parse::<DateTime>()?;
        civil.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp())
    });
    i64::try_from(timestamp.ok()?.as_nanosecond()).ok().map(TimeNs)
}

/// The units of durations, in nanoseconds. Longer names come before those they end in.
const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a duration with a unit, or a number of seconds, without rounding what fits.
fn nanoseconds(text: &str) -> Option<i64> {
    let unit = UNITS.iter().find_map(|(name, ns)| Some((text.strip_suffix(name)?, *ns)));
    let (number, unit) = unit.unwrap_or((text, 1_000_000_000));
    let (whole, fraction) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || whole.len() + fraction.len() == 0 {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut total = whole.checked_mul(unit)?;
    let mut weight = unit;
    for digit in fraction.bytes().map(|digit| u64::from(digit - b'0')) {
        weight /= 10;
        total = total.checked_add(digit * weight)?;
    }
    i64::try_from(total).ok()
}

/// A duration as it was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = nanoseconds(text).and_then(|ns| u64::try_from(ns).ok());
        let found = found.map(|ns| Self(Duration::from_nanos(ns)));
        found.ok_or_else(|| format!("{text} is no duration such as 1.5s, 300ms or 2min"))
    }
}

/// Refuses a range that ends before it begins.
pub(crate) fn refuse_reversed(from: Option<TimeNs>, until: Option<TimeNs>) -> Result<(), Failure> {
    match (from, until) {
        (Some(from), Some(until)) if until < from => {
            let failure = Failure::usage("the range ends before it begins");
            Err(failure.hint("--since comes first in time, --until after it"))
        }
        _ => Ok(()),
    }
}

/// The range of time meant on the clock of the chosen tracks.
pub(crate) fn resolve_range(
    since: Option<Moment>,
    until: Option<Moment>,
    timeline: &Arc<dyn TimelineView>,
    tracks: Option<&[TrackId]>,
) -> anyhow::Result<(Option<TimeNs>, Option<TimeNs>)> {
    let resolve =
        |moment: Option<Moment>| moment.map(|moment| resolve(moment, timeline, tracks)).transpose();
    let (since, until) = (resolve(since)?, resolve(until)?);
    refuse_reversed(since, until)?;
    Ok((since, until))
}

/// Refuses a date where it says nothing: of tracks on clocks that have a zero of their own.
pub(crate) fn refuse_dateless(
    moments: [Option<Moment>; 2],
    timeline: &Arc<dyn TimelineView>,
    chosen: Option<&[TrackId]>,
) -> Result<(), Failure> {
    if !moments.iter().any(|moment| matches!(moment, Some(Moment::Date(_)))) {
        return Ok(());
    }
    let (tracks, clocks) = (timeline.tracks(), timeline.clocks());
    let is_chosen = |id: usize| chosen.is_none_or(|chosen| chosen.contains(&TrackId(id)));
    let is_dateless = |clock: ClockId| clocks.get(clock.0).is_some_and(|clock| !clock.since_epoch);
    let dateless = tracks.iter().enumerate().filter(|(id, track)| {
        is_chosen(*id) && !track.is_clock() && track.clock.is_some_and(is_dateless)
    });
    let names: Vec<&str> = dateless.map(|(_, track)| track.name.as_str()).collect();
    let [first, others @ ..] = names.as_slice() else { return Ok(()) };
    let others = match others {
        [] => String::new(),
        [other] => format!(" and {}", shortened(other)),
        [..] => format!(" and {} others", others.len()),
    };
    let why = format!(
        "a date says nothing of {}{others}, whose clock has a zero of its own",
        shortened(first)
    );
    let hint = "choose streams of one kind with --stream, or name a moment on the clock";
    Err(Failure::new(why).hint(hint))
}

/// The moment meant on the clock of the chosen tracks. Signs count from the first and the last moment
/// of that clock, whichever track has them.
pub(crate) fn resolve(
    moment: Moment,
    timeline: &Arc<dyn TimelineView>,
    tracks: Option<&[TrackId]>,
) -> anyhow::Result<TimeNs> {
    let (is_end, distance) = match moment {
        Moment::At(time) | Moment::Date(time) => return Ok(time),
        Moment::AfterStart(distance) => (false, distance),
        Moment::BeforeEnd(distance) => (true, distance),
    };
    let range = range_of(timeline, tracks)?;
    let moment = if is_end {
        range.end().0.checked_sub(distance)
    } else {
        range.start().0.checked_add(distance)
    };
    Ok(moment.map(TimeNs).ok_or_else(|| Failure::new("the moment is beyond what a clock shows"))?)
}

/// The first and last moment of the clocks that the chosen tracks are on: of one clock, or of several
/// that all count from the Epoch. What other tracks have on those clocks is within it, too. A track
/// that is a clock itself counts only where nothing else is chosen: it may have been set long before
/// the first event.
pub(crate) fn range_of(
    timeline: &Arc<dyn TimelineView>,
    chosen: Option<&[TrackId]>,
) -> anyhow::Result<RangeInclusive<TimeNs>> {
    let tracks = timeline.tracks();
    let is_chosen =
        |id: usize| chosen.is_none_or(|chosen| chosen.binary_search(&TrackId(id)).is_ok());
    let chosen = || tracks.iter().enumerate().filter(|(id, _)| is_chosen(*id));
    let has_events = chosen().any(|(_, track)| !track.is_clock());
    let chosen = chosen().filter(|(_, track)| !(has_events && track.is_clock()));
    let mut clocks: Vec<ClockId> = chosen.filter_map(|(_, track)| track.clock).collect();
    clocks.sort_unstable();
    clocks.dedup();
    let known = timeline.clocks();
    let since_epoch = |id: &ClockId| known.get(id.0).is_some_and(|clock| clock.since_epoch);
    if clocks.len() > 1 && !clocks.iter().all(since_epoch) {
        let count = clocks.len();
        let why = format!("its streams are on {count} clocks that may have different beginnings");
        return Err(Failure::new(why).hint(one_clock_example(&tracks, &known, &clocks)).into());
    }
    let mut all: Option<RangeInclusive<TimeNs>> = None;
    for clock in clocks {
        if let Some(range) = Arc::clone(timeline).range(clock)? {
            all = Some(all.map_or(range.clone(), |all| {
                *all.start().min(range.start())..=*all.end().max(range.end())
            }));
        }
    }
    all.ok_or_else(|| Failure::new("nothing in it has a time").into())
}

/// Explains how one names streams of one clock, with an example of the first two.
fn one_clock_example(tracks: &[Track], known: &[Clock], clocks: &[ClockId]) -> String {
    let example = |id: &ClockId| {
        let track = tracks.iter().find(|item| item.clock == Some(*id) && !item.is_clock())?;
        let clock = known.get(id.0)?;
        Some(format!("{} is on {}", shortened(&track.name), shortened(&clock.name)))
    };
    let examples: Vec<_> = clocks.iter().filter_map(example).take(2).collect();
    format!(
        "choose streams of one clock with --stream ({}); ends of a range may be moments on the clock",
        examples.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<i64> {
        match text.parse() {
            Ok(Moment::At(time) | Moment::Date(time)) => Some(time.0),
            _ => None,
        }
    }

    #[test]
    fn numbers_are_seconds_unless_they_have_a_unit() {
        assert_eq!(at("12"), Some(12_000_000_000));
        assert_eq!(at("0.000000001"), Some(1));
        assert_eq!(at("1500000000.123456789"), Some(1_500_000_000_123_456_789));
        assert_eq!(at("1.5ms"), Some(1_500_000));
        assert_eq!(at("2min"), Some(120_000_000_000));
        assert_eq!(at("7ns"), Some(7));
        assert_eq!(at(".5s"), Some(500_000_000));
    }

    #[test]
    fn times_of_day_are_in_their_zone_or_in_utc() {
        // 2001-09-09T01:46:40Z is the billionth second of the Epoch.
        for text in ["2001-09-09T01:46:40Z", "2001-09-09T01:46:40", "2001-09-09T03:46:40+02:00"] {
            assert_eq!(at(text), Some(1_000_000_000_000_000_000), "{text}");
        }
        assert_eq!(at("1970-01-02"), Some(86_400_000_000_000));
    }

    #[test]
    fn signs_count_from_the_ends() {
        assert_eq!("+1s".parse(), Ok(Moment::AfterStart(1_000_000_000)));
        assert_eq!("-1.5".parse(), Ok(Moment::BeforeEnd(1_500_000_000)));
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in ["", "s", ".", "1e9", "12 parsecs", "--1", "99999999999", "1.2.3", "2026-13-01"]
        {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }
}
