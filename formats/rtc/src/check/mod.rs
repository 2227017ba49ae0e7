//! Rules beyond what reading needs, and what reading found, as findings.

mod indices;
mod rules;

use std::collections::HashSet;

use kymo_core::bytes::Limits;
use kymo_core::{Finding, Findings, Severity, shortened};
use kymo_rtc_wire::read::{Damage, DamageKind};

use crate::Reader;
use crate::read::{Continuation, Problem, Scan, Statistics};
use crate::types::{Session, Stream, UnitChecksum};

/// Returns the findings of opening a file: everything that was lost, or that may be.
pub(crate) fn losses(scan: &Scan, limits: &Limits) -> Findings {
    let mut findings = Findings::new(limits);
    for problem in &scan.problems {
        findings.push(finding(&scan.catalog.streams, problem));
    }
    if scan.problems_beyond > 0 {
        let message = format!("{} further places are not told of one by one", scan.problems_beyond);
        findings.push(Finding::for_whole_file(Severity::Error, "more", message));
    }
    for unit in scan.units.iter().filter(|unit| unit.checksum == UnitChecksum::Wrong) {
        findings.push(wrong_checksum(unit.offset));
    }
    for session in &scan.sessions {
        self::session(scan, session, &mut findings);
    }
    for finding in times(&scan.catalog.streams, &scan.statistics) {
        findings.push(finding);
    }
    if scan.end == 0 {
        let message = "the file is empty: nothing was recorded, or nothing has been yet";
        findings.push(Finding::for_whole_file(Severity::Note, "empty", message));
    }
    findings
}

/// A session counts its Units from 0, and its writer ends it with a checksum. A part of a file is
/// as good a file, but what is known to be missing is said.
fn session(scan: &Scan, session: &Session, findings: &mut Findings) {
    if let Some(finding) = first_count(session.start, session.first_count) {
        findings.push(finding);
    }
    let is_cut = |problem: &Problem| match problem {
        Problem::Damage(damage) => damage.why == DamageKind::Cut && damage.end == session.end,
        _ => false,
    };
    if !session.is_ended && session.crc.is_some() && !scan.problems.iter().any(is_cut) {
        let message = "the session does not end with a checksum: its writer was stopped, or still \
                       writes, or the end is missing";
        findings.push(Finding::at_offset(Severity::Note, "end", session.end, message));
    }
}

/// Returns the finding that the number of a session's first Unit gives about those before it.
pub(crate) fn first_count(start: u64, count: Option<u64>) -> Option<Finding> {
    let count = count.filter(|count| *count > 0)?;
    let message = format!("the session begins with Unit {count}: those before are missing");
    Some(Finding::at_offset(Severity::Warning, "count", start, message))
}

/// Returns findings about times that are missing, or that may be wrong.
pub(crate) fn times(streams: &[Stream], statistics: &[Statistics]) -> Vec<Finding> {
    let spoilt = streams.iter().filter_map(spoilt_clock);
    let sessions: HashSet<usize> = streams
        .iter()
        .filter(|stream| is_spoilt_clock(stream))
        .map(|clock| clock.session)
        .collect();
    let counted = || streams.iter().zip(statistics);
    let untimed = counted().filter_map(|(stream, statistics)| {
        untimed(stream, statistics, sessions.contains(&stream.session))
    });
    let stale = counted().filter_map(|(stream, statistics)| stale(stream, statistics));
    spoilt.chain(untimed).chain(stale).collect()
}

/// A clock of whose description something is missing, such as its gain: what it shows is not known.
fn spoilt_clock(stream: &Stream) -> Option<Finding> {
    is_spoilt_clock(stream).then_some(())?;
    let left: Vec<&str> = stream.attributes.keys().map(String::as_str).collect();
    let message = format!(
        "the description of the clock {} is damaged, and what is left of it is {}, {}: no time is \
         known by it",
        shortened(&stream.name),
        stream.format,
        left.join(", ")
    );
    Some(Finding::at_offset(Severity::Warning, "time", stream.offset, message))
}

fn is_spoilt_clock(stream: &Stream) -> bool {
    stream.is_clock() && !stream.is_whole
}

/// Messages that have no time although their stream has a clock. In a file of which nothing is
/// missing that is how it was recorded.
fn untimed(stream: &Stream, statistics: &Statistics, is_clock_spoilt: bool) -> Option<Finding> {
    let offset = statistics.untimed_at.filter(|_| !stream.is_clock())?;
    let name = shortened(&stream.name);
    let (severity, count, why) = match statistics.untimed_by_loss {
        0 if is_clock_spoilt => {
            let why = "its clock is not known, since what describes it is damaged";
            (Severity::Warning, statistics.untimed, why)
        }
        0 => (Severity::Note, statistics.untimed, "its clock was not set before them"),
        lost => (Severity::Warning, lost, "what its clock showed before them was lost"),
    };
    let messages = if count == 1 { "message" } else { "messages" };
    let message = format!("{count} {messages} of {name} without a time: {why}");
    Some(Finding::at_offset(severity, "time", offset, message))
}

/// Messages whose time is what their clock showed before something was lost, by which it may have
/// been set: then they happened later.
fn stale(stream: &Stream, statistics: &Statistics) -> Option<Finding> {
    let is_timed = !stream.is_clock() && !stream.is_annotation();
    let offset = statistics.stale_at.filter(|_| is_timed)?;
    let (name, count) = (shortened(&stream.name), statistics.stale);
    let messages = if count == 1 { "message" } else { "messages" };
    let message = format!(
        "{count} {messages} of {name} after lost frames, before its clock is set again: they may \
         have happened later than their times say"
    );
    Some(Finding::at_offset(Severity::Warning, "time", offset, message))
}

/// A Unit whose checksum says that something in it was changed.
pub(crate) fn wrong_checksum(offset: u64) -> Finding {
    let message = "the checksum of the Unit does not hold: any of its messages may be damaged";
    Finding::at_offset(Severity::Error, "crc", offset, message)
}

/// Bytes that were passed over.
pub(crate) fn damage(damage: &Damage) -> Finding {
    if let DamageKind::Missing(_) | DamageKind::TooMany(_) = damage.why {
        return Finding::at_offset(Severity::Error, "ruler", damage.start, damage.why.to_string());
    }
    let bytes = damage.end - damage.start;
    if damage.why == DamageKind::Marker && bytes == 0 {
        return Finding::at_offset(
            Severity::Error,
            "marker",
            damage.start,
            "the Marker is missing",
        );
    }
    let (rule, lost) = match damage.why {
        DamageKind::Cut => ("cut", "are left of it"),
        DamageKind::Head => ("head", "cannot be read"),
        DamageKind::Marker => ("marker", "are damaged"),
        DamageKind::Zeros => ("zeros", "were passed over"),
        _ => ("frames", "were passed over"),
    };
    let at = if damage.noticed == damage.start {
        String::new()
    } else {
        format!(" (noticed at {:#x})", damage.noticed)
    };
    let message = match (bytes, lost.strip_prefix("are "), lost.strip_prefix("were ")) {
        (1, Some(lost), _) => format!("{}{at}: a byte is {lost}", damage.why),
        (1, _, Some(lost)) => format!("{}{at}: a byte was {lost}", damage.why),
        _ => format!("{}{at}: {bytes} bytes {lost}", damage.why),
    };
    Finding::at_offset(Severity::Error, rule, damage.start, message)
}

/// A problem as a finding.
pub(crate) fn finding(streams: &[Stream], problem: &Problem) -> Finding {
    let name = |stream: usize| {
        streams.get(stream).map_or_else(String::new, |stream| shortened(&stream.name).into())
    };
    match *problem {
        Problem::Damage(damage) => self::damage(&damage),
        Problem::Unfinished { offset, stream, bytes, after } => {
            let name = name(stream);
            let why = match after {
                Continuation::Loss => "lost frames",
                Continuation::End => "the end",
            };
            let message = format!("a message of {name} has {bytes} bytes and no end before {why}");
            Finding::at_offset(Severity::Warning, "unfinished", offset, message)
        }
        Problem::LeftOut { offset, stream, bytes } => {
            let name = name(stream);
            let message = format!(
                "{bytes} bytes of {name} are left out: more than the limits allow for a message, \
                 or only the end of one"
            );
            Finding::at_offset(Severity::Warning, "left-out", offset, message)
        }
        Problem::Limit { offset, found, limit } => {
            let message = format!("{found} Units and streams are over the limit of {limit}");
            Finding::at_offset(Severity::Error, "limit", offset, message)
        }
        Problem::Meta { offset } => {
            let message =
                "the text that describes streams is damaged: what it says of some is lost";
            Finding::at_offset(Severity::Warning, "meta", offset, message)
        }
        Problem::Mended { offset } => {
            let message = "a byte of the text that describes streams was changed: the checksum \
                           tells which, and what it was";
            Finding::at_offset(Severity::Warning, "meta", offset, message)
        }
        Problem::Contradiction { offset, id } => {
            let message = format!(
                "what is said of stream {id} is not what another Unit says of it: what counts is \
                 that of a Unit whose checksum holds, or what most say"
            );
            Finding::at_offset(Severity::Warning, "meta", offset, message)
        }
        Problem::MayLackBeginning { offset, stream } => {
            let name = name(stream);
            let message = format!(
                "frames before this message of {name} were lost: it may be the rest of one"
            );
            Finding::at_offset(Severity::Note, "may-lack-beginning", offset, message)
        }
    }
}

/// Returns findings about faults other than losses. They are corrected where the file is written
/// again.
pub(crate) fn faults(reader: &Reader, limits: &Limits) -> Vec<Finding> {
    let mut findings = Findings::new(limits);
    rules::check(reader, &mut findings);
    let is_fault = |finding: &Finding| finding.severity > Severity::Note && finding.rule != "clock";
    findings.into_vec().into_iter().filter(is_fault).collect()
}

/// Every finding of a file, in the order of the file.
pub(crate) fn check(reader: &Reader, limits: &Limits) -> Vec<Finding> {
    let mut findings = losses(reader.scan(), limits);
    rules::check(reader, &mut findings);
    findings.into_vec()
}
