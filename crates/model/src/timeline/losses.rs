//! Events that a format could not write as they are.

use std::collections::BTreeMap;

use super::{Event, Track, TrackId};
use kymo_core::{Finding, Severity, shortened};

/// Tracks that are told of one by one; a timeline may have as many as a file has room for.
const LISTED_MAX: usize = 100;

/// Events that a format could not write as they are: of each track one finding for each reason,
/// with how many there are, however many there are.
#[derive(Debug, Clone, Default)]
pub struct Losses {
    /// Offset of the first of each kind, and number of that kind.
    kinds: BTreeMap<Kind, (u64, u64)>,
}

/// Rule, track and reason.
type Kind = (&'static str, TrackId, &'static str);

impl Losses {
    /// Counts an event.
    pub fn add(&mut self, event: &Event<'_>, rule: &'static str, why: &'static str) {
        let first = (event.offset, 0);
        self.kinds.entry((rule, event.track, why)).or_insert(first).1 += 1;
    }

    /// Says what was lost, by the names of tracks.
    #[must_use]
    pub fn findings(&self, tracks: &[Track]) -> Vec<Finding> {
        let finding = |(&(rule, track, why), &(offset, count)): (&Kind, &(u64, u64))| {
            let name = tracks.get(track.0).map_or("", |track| &track.name);
            let times = if count > 1 { format!(" ({count} times)") } else { String::new() };
            let message = format!("{}: {why}{times}", shortened(name));
            Finding::at_offset(Severity::Warning, rule, offset, message)
        };
        let mut findings: Vec<_> = self.kinds.iter().take(LISTED_MAX).map(finding).collect();
        let beyond = self.kinds.iter().skip(LISTED_MAX);
        let further: u64 = beyond.clone().map(|(_, (_, count))| count).sum();
        if let Some(((rule, ..), _)) = beyond.clone().next() {
            let tracks = beyond.count();
            let message = format!("{further} further events of {tracks} other tracks");
            findings.push(Finding::for_whole_file(Severity::Warning, rule, message));
        }
        findings
    }
}

/// Says what a recording has and its timeline does not tell: how many there are, by which rule, and
/// what they are. Of what there is none, nothing is said.
#[must_use]
pub fn unsupported_findings<'a>(
    counts: impl IntoIterator<Item = (u64, &'static str, &'a str)>,
) -> Vec<Finding> {
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    let finding = |(count, rule, what)| {
        let why = format!("not told by the timeline: {what} ({count} in all)");
        Finding::for_whole_file(Severity::Warning, rule, why)
    };
    counts.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Content;
    use super::*;

    fn lose(losses: &mut Losses, track: usize, offset: u64) {
        let (track, content, payload) = (TrackId(track), Content::Payload, &[]);
        let event = Event { track, time: None, offset, content, payload, partial: None };
        losses.add(&event, "time", "no time");
    }

    fn messages(losses: &Losses) -> Vec<(Option<u64>, String)> {
        losses.findings(&[]).into_iter().map(|finding| (finding.offset, finding.message)).collect()
    }

    #[test]
    fn a_track_is_told_of_once_with_how_many_events() {
        let mut losses = Losses::default();
        for (track, offset) in [(1, 30), (0, 20), (0, 40), (0, 10)] {
            lose(&mut losses, track, offset);
        }
        let expected = [(Some(20), ": no time (3 times)"), (Some(30), ": no time")];
        assert_eq!(messages(&losses), expected.map(|(at, text)| (at, text.to_owned())));
    }

    #[test]
    fn of_very_many_tracks_the_rest_is_counted() {
        let mut losses = Losses::default();
        for track in 0..103 {
            lose(&mut losses, track, 0);
            lose(&mut losses, track, 0);
        }
        let told = messages(&losses);
        assert_eq!((told.len(), told[100].0), (101, None));
        assert_eq!(told[100].1, "6 further events of 3 other tracks");
    }
}
