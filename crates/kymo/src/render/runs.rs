//! Runs of text without borders between messages, such as standard output, as lines.

use std::collections::BTreeMap;

use kymo_model::timeline::{Content, Event, TimeNs, Track, TrackId};

/// A line that is longer is told in parts.
const LINE_BYTES_MAX: usize = 1 << 16;

/// The lines of runs in the making. A line has the time of its first byte.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    begun: BTreeMap<TrackId, StartedLine>,
}

/// Text begun by a line.
#[derive(Debug, Default)]
struct StartedLine {
    time: Option<TimeNs>,
    offset: u64,
    bytes: Vec<u8>,
    partial: Option<&'static str>,
}

/// Returns true if an event is a piece of a run of text.
pub(crate) fn is_piece(track: &Track, event: &Event<'_>) -> bool {
    matches!(event.content, Content::Text(_)) && track.has_flag("cont")
}

impl Runs {
    /// Takes a piece of a run, and tells of each line that it ends.
    pub(crate) fn take(&mut self, event: &Event<'_>, mut line: impl FnMut(&Event<'_>)) {
        let begun = self.begun.entry(event.track).or_default();
        for piece in event.payload.split_inclusive(|byte| *byte == b'\n') {
            if begun.bytes.is_empty() {
                (begun.time, begun.offset) = (event.time, event.offset);
            }
            begun.bytes.extend_from_slice(piece);
            begun.partial = begun.partial.or(event.partial);
            if piece.ends_with(b"\n") || begun.bytes.len() > LINE_BYTES_MAX {
                begun.emit(event.track, &mut line);
            }
        }
    }

    /// Tells of what has no line end.
    pub(crate) fn finish(&mut self, mut line: impl FnMut(&Event<'_>)) {
        for (track, begun) in &mut self.begun {
            if !begun.bytes.is_empty() {
                begun.emit(*track, &mut line);
            }
        }
    }
}

impl StartedLine {
    fn emit(&mut self, track: TrackId, line: &mut impl FnMut(&Event<'_>)) {
        let content = Content::Text(String::from_utf8_lossy(&self.bytes));
        let (time, offset, payload) = (self.time, self.offset, self.bytes.as_slice());
        let partial = self.partial.take();
        line(&Event { track, time, offset, content, payload, partial });
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_model::timeline::TrackKind;

    fn track(is_cont: bool) -> Track {
        let attributes = [("cont".to_owned(), is_cont.into())].into_iter().collect();
        Track {
            name: "stdout".to_owned(),
            recording: 0,
            parent: None,
            kind: TrackKind::Messages,
            clock: None,
            content: "utf-8".into(),
            attributes,
        }
    }

    fn piece(time: i64, text: &str) -> Event<'_> {
        let (time, content) = (Some(TimeNs(time)), Content::Text(text.into()));
        let (track, payload) = (TrackId(0), text.as_bytes());
        Event { track, time, offset: 7, content, payload, partial: None }
    }

    #[test]
    fn pieces_of_a_run_become_lines_with_the_times_of_their_beginnings() {
        let (mut runs, mut lines) = (Runs::default(), Vec::new());
        let mut keep = |line: &Event<'_>| {
            lines.push((line.time.unwrap().0, String::from_utf8_lossy(line.payload).into_owned()));
        };
        for (time, text) in [(1, "ab"), (2, "cd\nef"), (3, "g\n\nh")] {
            assert!(is_piece(&track(true), &piece(time, text)));
            assert!(!is_piece(&track(false), &piece(time, text)));
            runs.take(&piece(time, text), &mut keep);
        }
        runs.finish(&mut keep);
        let expected = [(1, "abcd\n"), (2, "efg\n"), (3, "\n"), (3, "h")];
        assert_eq!(lines, expected.map(|(time, text)| (time, text.to_owned())));
    }
}
