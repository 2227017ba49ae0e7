//! Contents of `kymo info` for a file.

use std::ops::RangeInclusive;

use kymo_core::bytes::Endian;
use kymo_model::timeline::{DisplayDuration, DisplayTime, TimeNs};
use kymo_model::{Section, Summary};
use kymo_rtc_wire::crc::Polynomial;
use kymo_rtc_wire::read::Ruler;

use crate::read::{Scan, Statistics};
use crate::types::{ClockRole, Stream, UnitChecksum};
use crate::{Reader, Unit};

/// Streams that are listed one by one.
const STREAMS_MAX: usize = 64;

/// Everything that can be counted, and how sound it is; then clocks and streams one by one.
pub(crate) fn summary(reader: &Reader) -> Summary {
    let scan = reader.scan();
    let endian = scan.sessions.first().and_then(|session| session.endian);
    let endian = endian.map_or("byte order unknown", Endian::name);
    let is_wrong = scan.units.iter().any(|unit| unit.checksum == UnitChecksum::Wrong);
    let without = if is_wrong { "no checksum holds" } else { "no checksum" };
    let checksum = scan.polynomial.map_or(without, Polynomial::name);
    let mut summary = Summary { dialect: format!("{endian}, {checksum}"), ..Summary::default() };
    summary.fact("sessions", scan.sessions.len());
    summary.fact("streams", scan.catalog.streams.len());
    summary.fact("messages", scan.messages);
    summary.fact("frames", scan.frames);
    if let Some((times, since_epoch)) = span(reader) {
        summary.span(&times, since_epoch);
    }
    units(scan, &mut summary);
    summary.sections.extend(clocks(reader));
    summary.sections.push(streams(scan));
    summary
}

/// Adds the number of Units, their size, and how sound they are.
fn units(scan: &Scan, summary: &mut Summary) {
    let count = |is: fn(&Unit) -> bool| scan.units.iter().filter(|unit| is(unit)).count();
    let wrong = count(|unit| unit.checksum == UnitChecksum::Wrong);
    let held = count(|unit| unit.checksum.holds());
    let without = scan.units.len() - wrong - held;
    let health = format!("{held} with a checksum that holds, {wrong} wrong, {without} without");
    summary.detailed("Units", scan.units.len(), health);
    let ruler = scan.sessions.first().and_then(|session| session.ruler);
    if let Some(ruler) = ruler.filter(Ruler::is_size_known) {
        let detail = format!("units of {} bytes", ruler.minor);
        summary.detailed("Unit size", ruler.major, detail);
    }
    summary.fact("bytes lost", scan.lost_bytes);
    let of_events = scan.catalog.streams.iter().zip(&scan.statistics);
    let of_events = of_events.filter(|(stream, _)| !stream.is_clock());
    let untimed = of_events.map(|(_, statistics)| statistics.untimed).sum::<u64>();
    if untimed > 0 {
        summary.detailed("without a time", untimed, "messages whose clock showed none yet");
    }
}

/// From the first to the last event on clocks that can be compared: those that count from the
/// Epoch; without any, the only clock there is. Clocks themselves count where nothing else does:
/// one may have been set long before.
fn span(reader: &Reader) -> Option<(RangeInclusive<TimeNs>, bool)> {
    let scan = reader.scan();
    let times = |of_clocks: bool| {
        let streams = scan.catalog.streams.iter().zip(&scan.statistics).enumerate();
        let streams = streams.filter(|(_, (stream, _))| stream.is_clock() == of_clocks);
        let times = streams.filter_map(|(index, (_, statistics))| {
            let clock = if of_clocks { index } else { (*scan.clocks.get(index)?)? };
            Some((clock, statistics.times.clone()?))
        });
        times.collect::<Vec<_>>()
    };
    let all = Some(times(false)).filter(|all| !all.is_empty()).unwrap_or_else(|| times(true));
    let since_epoch = all.iter().any(|(clock, _)| reader.is_since_epoch(*clock));
    let first = all.first()?.0;
    if !since_epoch && all.iter().any(|(clock, _)| *clock != first) {
        return None;
    }
    let comparable =
        all.into_iter().filter(|(value, _)| reader.is_since_epoch(*value) == since_epoch);
    let joined = |a: RangeInclusive<TimeNs>, b: RangeInclusive<TimeNs>| {
        *a.start().min(b.start())..=*a.end().max(b.end())
    };
    Some((comparable.map(|(_, times)| times).reduce(joined)?, since_epoch))
}

/// The clocks, each with what it counts from and the times it shows.
fn clocks(reader: &Reader) -> Option<Section> {
    let scan = reader.scan();
    let streams = scan.catalog.streams.iter().zip(&scan.statistics).enumerate();
    let clocks = streams.filter(|(_, (stream, _))| stream.is_clock());
    let rows: Vec<_> = clocks
        .map(|(index, (stream, statistics))| {
            let since_epoch = reader.is_since_epoch(index);
            (stream.name.clone(), clock_words(stream, statistics, since_epoch))
        })
        .collect();
    (!rows.is_empty()).then(|| Section::new("clocks", rows, STREAMS_MAX))
}

fn clock_words(stream: &Stream, statistics: &Statistics, since_epoch: bool) -> String {
    let from = match &stream.clock {
        ClockRole::Delta(base) => format!("from {base}, "),
        // A date tells as much.
        _ if since_epoch => String::new(),
        _ => "from a zero of its own, ".into(),
    };
    let Some(times) = &statistics.times else { return format!("{from}never shown") };
    let start = DisplayTime { time: *times.start(), since_epoch };
    let length = DisplayDuration(times.end().0.abs_diff(times.start().0));
    format!("{from}{start} for {length}")
}

fn streams(scan: &Scan) -> Section {
    let rows = scan.catalog.streams.iter().zip(&scan.statistics).map(row);
    Section::new("streams", rows, STREAMS_MAX)
}

fn row((stream, statistics): (&Stream, &Statistics)) -> (String, String) {
    let rate = statistics.rate().map_or_else(String::new, |rate| match rate {
        100.0.. => format!(", {rate:.0}/s"),
        _ => format!(", {rate:.1}/s"),
    });
    let messages = statistics.messages;
    let plural = if messages == 1 { "" } else { "s" };
    let bytes = size(statistics.payload_bytes);
    (stream.name.clone(), format!("{}, {messages} message{plural}, {bytes}{rate}", stream.format))
}

/// A number of bytes in a few places, so that a line has room for it.
#[allow(clippy::cast_precision_loss, reason = "a size is for people")]
fn size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..10_000_000 => format!("{bytes} bytes"),
        10_000_000..10_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
