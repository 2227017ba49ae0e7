//! What is shown of a recording that is followed.

use std::collections::VecDeque;
use std::io::Write;

use kymo_core::model::timeline::{Clock, Event, Track};
use kymo_core::{Finding, Followed, Result};

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
    /// Whether each track is wanted.
    is_wanted: Vec<bool>,
    /// The last lines of what was there already, until that is passed.
    backlog: Option<Backlog>,
    held: Vec<u8>,
    rate: Rate,
    outcome: Outcome,
    is_caught_up: bool,
}

struct Backlog {
    lines: VecDeque<Vec<u8>>,
    lines_max: usize,
}

impl<'a> Screen<'a> {
    pub(super) fn new(
        session: &'a mut Session,
        name: &'a str,
        look: Look,
        streams: &'a StreamArgs,
        backlog: Option<usize>,
    ) -> anyhow::Result<Self> {
        let rate = Rate::new(session.report.is_watched(), "events");
        let backlog = backlog.map(|lines_max| Backlog { lines: VecDeque::new(), lines_max });
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
            backlog,
            held: Vec::new(),
            rate,
            outcome: Outcome::Done,
            is_caught_up: false,
        })
    }

    /// Says something of the recording.
    pub(super) fn say(&mut self, what: &str) {
        let (report, name) = (&mut self.session.report, self.name);
        self.rate.aside(|| report.remark(name, what));
    }

    /// The recording goes on in another file.
    pub(super) fn go_on_in(&mut self, part: &str) -> anyhow::Result<()> {
        self.forget()?;
        self.say(&format!("it goes on in {part}"));
        Ok(())
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

    /// What was there already is passed: from now on every event is shown.
    pub(super) fn caught_up(&mut self) -> anyhow::Result<()> {
        if let Some(backlog) = self.backlog.take() {
            backlog.lines.iter().for_each(|line| self.held.extend_from_slice(line));
        }
        if !std::mem::replace(&mut self.is_caught_up, true)
            && let Err(missing) = self.streams.among(&self.tracks)
        {
            // It may still come.
            self.say(&format!("{missing} so far"));
        }
        self.show(0)
    }

    /// Forgets the streams: others come.
    fn forget(&mut self) -> anyhow::Result<()> {
        self.caught_up()?;
        self.lines = EventLines::new(self.look, None);
        self.is_wanted.clear();
        self.tracks.clear();
        Ok(())
    }

    /// The file was written anew: forgets its streams.
    pub(super) fn begin_again(&mut self) -> anyhow::Result<()> {
        self.forget()?;
        self.say("it became shorter; reading it from its beginning");
        Ok(())
    }

    /// Shows what is left, and what the findings mean for the exit code.
    pub(super) fn end(mut self) -> anyhow::Result<Outcome> {
        self.caught_up()?;
        self.rate.clear();
        Ok(self.outcome)
    }
}

impl Followed for Screen<'_> {
    fn clock(&mut self, clock: &Clock) -> Result<()> {
        self.lines.clock(clock.clone());
        Ok(())
    }

    fn track(&mut self, track: &Track) -> Result<()> {
        self.is_wanted.push(self.streams.wants(&self.matcher, track));
        self.tracks.push(track.clone());
        self.lines.track(track.clone());
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) -> Result<()> {
        if !self.is_wanted.get(event.track.0).copied().unwrap_or(true) {
            return Ok(());
        }
        self.rate.add(1, 0);
        let Some(backlog) = &mut self.backlog else {
            self.lines.write(event, &mut self.held);
            return Ok(());
        };
        // The oldest line's memory serves for the newest.
        let is_full = backlog.lines.len() >= backlog.lines_max;
        let mut line = if is_full { backlog.lines.pop_front() } else { None }.unwrap_or_default();
        line.clear();
        self.lines.write(event, &mut line);
        if backlog.lines_max > 0 {
            backlog.lines.push_back(line);
        }
        Ok(())
    }

    fn finding(&mut self, finding: Finding) -> Result<()> {
        self.outcome = self.outcome.max(Outcome::of(std::slice::from_ref(&finding)));
        let (report, name) = (&mut self.session.report, self.name);
        self.rate.aside(|| report.finding(name, &finding));
        Ok(())
    }
}
