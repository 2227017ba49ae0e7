//! Output shown of a recording that is followed.

use std::collections::HashSet;
use std::io::{self, Write};
use std::time::Duration;

use kymo_core::{Finding, Result, Source};
use kymo_model::timeline::{Clock, Event, Track, TrackId, Window};
use kymo_model::{Format, LiveRecordingSink};

use crate::rate::Rate;
use crate::render::event::{EventLines, Look};
use crate::session::{Outcome, Session};
use crate::tracks::{StreamArgs, StreamMatcher};

/// Shows events as they come, and the rate.
pub(super) struct Screen<'a> {
    session: &'a mut Session,
    name: &'a str,
    look: Look,
    lines: EventLines<'a>,
    streams: &'a StreamArgs,
    matcher: StreamMatcher,
    tracks: Vec<Track>,
    /// True if each track is wanted.
    is_wanted: Vec<bool>,
    /// True if what comes was there already, and its last events were shown.
    is_passing: bool,
    /// Offsets at which the events that were shown begin.
    shown: HashSet<u64>,
    held: Vec<u8>,
    rate: Rate,
    outcome: Outcome,
    is_caught_up: bool,
}

/// The last events of a file.
#[derive(Default)]
pub(super) struct LastEvents {
    lines: Vec<u8>,
    /// Offsets at which they begin.
    offsets: HashSet<u64>,
    pub(super) count: u64,
}

impl<'a> Screen<'a> {
    pub(super) fn new(
        session: &'a mut Session,
        name: &'a str,
        look: Look,
        streams: &'a StreamArgs,
    ) -> anyhow::Result<Self> {
        let rate = Rate::new(session.report.is_watched(), "events");
        let lines = EventLines::new(look, None);
        Ok(Self {
            session,
            name,
            look,
            lines,
            streams,
            matcher: streams.matcher()?,
            tracks: Vec::new(),
            is_wanted: Vec::new(),
            is_passing: false,
            shown: HashSet::new(),
            held: Vec::new(),
            rate,
            outcome: Outcome::Done,
            is_caught_up: false,
        })
    }

    /// The last events of what is there already; nothing if that cannot be read.
    pub(super) fn last_events(
        &self,
        format: &dyn Format,
        so_far: &Source,
        last: u64,
    ) -> anyhow::Result<Option<LastEvents>> {
        // What has only begun need not be a recording yet.
        let opened = format.open(so_far, &self.session.context());
        let Some(timeline) = opened.ok().and_then(|opened| opened.timeline()) else {
            return Ok(None);
        };
        let mut lines = EventLines::new(self.look, None);
        for clock in timeline.clocks() {
            lines.clock(clock);
        }
        let tracks = timeline.tracks();
        let is_wanted = |track: &Track| self.streams.includes(&self.matcher, track);
        let chosen = (0..).map(TrackId).zip(&*tracks).filter(|(_, track)| is_wanted(track));
        let chosen = chosen.map(|(id, _)| id).collect();
        for track in &tracks {
            lines.track(track.clone());
        }
        let window = Window { tracks: Some(chosen), last: Some(last), ..Window::default() };
        let mut events = timeline.events(&window)?;
        let mut found = LastEvents::default();
        while let Some(event) = events.next()? {
            lines.write(&event, &mut found.lines);
            found.offsets.insert(event.offset);
            found.count += 1;
        }
        Ok(Some(found))
    }

    /// Shows the last events of a file; of the one that is followed, they do not come again.
    pub(super) fn show_last(&mut self, last: LastEvents, is_followed: bool) -> anyhow::Result<()> {
        self.held.extend_from_slice(&last.lines);
        if is_followed {
            self.shown = last.offsets;
        }
        self.show(0)
    }

    /// Returns true if what comes next was there already.
    pub(super) fn is_passing(&mut self, is_passing: bool) {
        self.is_passing = is_passing;
    }

    /// Says something of the recording.
    pub(super) fn print_message(&mut self, what: &str) {
        let (report, name) = (&mut self.session.report, self.name);
        self.rate.aside(|| report.remark(name, what));
    }

    /// Returns true if any stream is known.
    pub(super) fn has_streams(&self) -> bool {
        !self.tracks.is_empty()
    }

    /// Waits for so long; fails when nobody reads what is shown any more.
    pub(super) fn wait(&mut self, pause: Duration) -> io::Result<()> {
        self.session.out.wait(pause)
    }

    /// The session it shows things in.
    pub(super) fn session(&self) -> &Session {
        self.session
    }

    /// Shows what is held, after so many bytes were read.
    pub(super) fn show(&mut self, bytes: usize) -> anyhow::Result<()> {
        self.rate.add(0, bytes);
        if !self.held.is_empty() {
            let (out, held) = (&mut self.session.out, &self.held);
            self.rate.aside(|| out.write_all(held).and_then(|()| out.flush()))?;
            self.held.clear();
        }
        self.rate.draw();
        Ok(())
    }

    /// Marks that the events already there are passed: from now on every event is shown.
    pub(super) fn caught_up(&mut self) -> anyhow::Result<()> {
        if !std::mem::replace(&mut self.is_caught_up, true)
            && let Err(missing) = self.streams.select(&self.tracks)
        {
            // It may still come.
            self.print_message(&format!("{missing} so far"));
        }
        self.show(0)
    }

    /// Another file begins, or this one once more: forgets the streams, and says why.
    pub(super) fn restart(&mut self, why: &str) -> anyhow::Result<()> {
        self.caught_up()?;
        self.lines = EventLines::new(self.look, None);
        self.shown.clear();
        self.is_wanted.clear();
        self.tracks.clear();
        self.print_message(why);
        Ok(())
    }

    /// Shows what is left, and what the findings mean for the exit code.
    pub(super) fn end(mut self) -> anyhow::Result<Outcome> {
        self.caught_up()?;
        self.rate.clear();
        Ok(self.outcome)
    }
}

impl LiveRecordingSink for Screen<'_> {
    fn clock(&mut self, clock: &Clock) -> Result<()> {
        self.lines.clock(clock.clone());
        Ok(())
    }

    fn track(&mut self, track: &Track) -> Result<()> {
        self.is_wanted.push(self.streams.includes(&self.matcher, track));
        self.tracks.push(track.clone());
        self.lines.track(track.clone());
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) -> Result<()> {
        if !self.is_wanted.get(event.track.0).copied().unwrap_or(true) {
            return Ok(());
        }
        // The end of what was there may be told of only when more comes.
        if self.is_passing || self.shown.contains(&event.offset) {
            return Ok(());
        }
        self.rate.add(1, 0);
        self.lines.write(event, &mut self.held);
        Ok(())
    }

    fn finding(&mut self, finding: Finding) -> Result<()> {
        let outcome = Outcome::from_finding(&finding);
        self.outcome = self.outcome.max(outcome);
        // Notes are for `check`.
        if outcome > Outcome::Done {
            let (report, name) = (&mut self.session.report, self.name);
            self.rate.aside(|| report.finding(name, &finding));
        }
        Ok(())
    }
}
