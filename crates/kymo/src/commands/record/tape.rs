//! The file that is recorded to, and what is in it.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kymo_recorder::format::Raw;
use kymo_recorder::{Clock, Config, Flush, Recorder, Resolution, Stream, StreamOptions, Sync};

use super::Args;
use super::feeds::{Feeds, Piece};
use crate::failure::{self, Failure};
use crate::render::numbers;

/// More bytes than ever wait to be written to the file.
const WAITING_BYTES_MAX: u64 = 4 << 20;

/// The recorder, and what goes into it.
pub(super) struct Tape {
    recorder: Option<Recorder>,
    streams: Vec<Stream<Raw>>,
    /// Longest time that recorded data may wait before it is safe from the end of this program.
    /// Also the greatest number of bytes that may wait.
    flush_every: Duration,
    flush_bytes: u64,
    /// Position of the session when it was flushed for its bytes.
    flushed_at: u64,
    /// Of each stream, whether its last line goes on in the next piece.
    is_within_line: Vec<bool>,
    messages: u64,
    bytes: u64,
    /// Lines that became several messages.
    divided: u64,
    landing: Landing,
}

/// Messages that have reached the file: found by where each ended, and the length of the file.
struct Landing {
    output: PathBuf,
    rotates: bool,
    /// Bytes that the file had before.
    former_bytes: u64,
    /// Messages that are in it for certain, and where the others end.
    sure: u64,
    ends: VecDeque<u64>,
}

impl Tape {
    pub(super) fn new(args: &Args, feeds: &Feeds) -> anyhow::Result<Self> {
        let flush_every = args.flush_every.0;
        let mut config = Config::new().flush(Flush::Interval(flush_every)).sync(Sync::Finish);
        if let Some(bytes) = args.rotate {
            config = config.rotate_after(bytes);
        }
        // At that limit a signal would end the program without a word.
        #[cfg(unix)]
        if let Some(bytes) = rustix::process::getrlimit(rustix::process::Resource::Fsize).current {
            config = config.file_bytes_max(bytes);
        }
        let mut recorder =
            if args.append { config.append(&args.output)? } else { config.create(&args.output)? };
        let landing = Landing::new(&args.output, args.rotate.is_some());
        let absolute = recorder.absolute_clock("clk")?;
        let clock = recorder.delta_clock("clk delta", absolute, Resolution::Microseconds)?;
        let streams = feeds.names().map(|name| stream(&mut recorder, args, clock, name));
        let streams = streams.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            recorder: Some(recorder),
            flush_every,
            flush_bytes: args.flush_bytes,
            flushed_at: 0,
            is_within_line: vec![false; streams.len()],
            streams,
            messages: 0,
            bytes: 0,
            divided: 0,
            landing,
        })
    }

    /// Records a line, or a piece of one.
    pub(super) fn write(&mut self, piece: &Piece) -> anyhow::Result<()> {
        if let (Some(recorder), Some(stream)) =
            (&mut self.recorder, self.streams.get(piece.feed).copied())
        {
            let before = recorder.position();
            recorder.write_now(stream, piece.bytes.as_slice())?;
            let position = recorder.position();
            self.landing.note(before, position);
            // Another part begins with nothing that waits.
            let since = if position < before { 0 } else { self.flushed_at };
            self.flushed_at = since;
            if position - since >= self.flush_bytes {
                recorder.flush()?;
                self.flushed_at = position;
            }
        }
        self.messages += 1;
        self.bytes += piece.bytes.len() as u64;
        if let Some(is_within) = self.is_within_line.get_mut(piece.feed) {
            self.divided += u64::from(piece.goes_on && !*is_within);
            *is_within = piece.goes_on;
        }
        Ok(())
    }

    /// Returns the duration to wait before something is to be flushed.
    pub(super) fn flush_due_in(&self) -> Duration {
        self.recorder.as_ref().and_then(Recorder::flush_due_in).unwrap_or(self.flush_every)
    }

    pub(super) fn flush_if_due(&mut self) -> anyhow::Result<()> {
        Ok(self.recorder.as_mut().map_or(Ok(()), Recorder::flush_if_due)?)
    }

    /// Ends the recording.
    pub(super) fn finish(&mut self) -> anyhow::Result<()> {
        Ok(self.recorder.take().map_or(Ok(()), Recorder::finish)?)
    }

    /// Returns a summary of what was recorded.
    pub(super) fn summary(&self) -> String {
        let messages = numbers::count(self.messages, "message", "messages");
        let bytes = numbers::count(self.bytes, "byte", "bytes");
        let mut summary = format!("{messages} recorded, {bytes}");
        let _ = match self.divided {
            0 => Ok(()),
            1 => write!(summary, "; a line of more than 1 MiB is in several messages"),
            lines => {
                let lines = numbers::count(lines, "line", "lines");
                write!(summary, "; {lines} of more than 1 MiB are in several messages each")
            }
        };
        summary
    }

    /// Explains why no more could be recorded, and how much of it is there.
    pub(super) fn explained(&self, error: anyhow::Error) -> anyhow::Error {
        match error.downcast::<kymo_recorder::Error>() {
            Ok(kymo_recorder::Error::Io(error)) => {
                let kept = numbers::count(self.landing.landed(), "message", "messages");
                let why = failure::reason(&error);
                let what =
                    format!("cannot write it: {why}; it has {kept}, and none that came later");
                Failure::new(what).into()
            }
            Ok(other) => other.into(),
            Err(other) => other,
        }
    }
}

fn stream(
    recorder: &mut Recorder,
    args: &Args,
    clock: Clock,
    name: &str,
) -> anyhow::Result<Stream<Raw>> {
    let mut options = StreamOptions::new(name).clock(clock);
    if !args.command.is_empty() {
        options = options.text("command", &args.command.join(" "));
    }
    // Lines are recorded as they are, line ends and bytes that are no UTF-8 included.
    Ok(if args.raw {
        recorder.raw_stream(options.cont(), "raw", None)?
    } else {
        recorder.raw_stream(options, "utf-8", None)?
    })
}

impl Landing {
    fn new(output: &Path, rotates: bool) -> Self {
        let (output, ends) = (output.to_owned(), VecDeque::new());
        let mut landing = Self { output, rotates, former_bytes: 0, sure: 0, ends };
        landing.former_bytes = landing.file_bytes();
        landing
    }

    /// Takes note of a message that was written between two places of the session.
    fn note(&mut self, before: u64, end: u64) {
        // The former part was ended, and a new one begun.
        if end < before {
            self.sure += self.ends.drain(..).count() as u64;
            self.former_bytes = 0;
        }
        self.ends.push_back(end);
        while self.ends.front().is_some_and(|first| first + WAITING_BYTES_MAX < end) {
            self.ends.pop_front();
            self.sure += 1;
        }
    }

    /// Returns the number of messages in the file, and in the parts before it.
    fn landed(&self) -> u64 {
        let bytes = self.file_bytes().saturating_sub(self.former_bytes);
        self.sure + self.ends.iter().take_while(|end| **end <= bytes).count() as u64
    }

    /// The bytes of the file that is written to: the last part of a recording that rotates.
    fn file_bytes(&self) -> u64 {
        let parts = self.rotates.then(|| kymo_recorder::parts_of(&self.output).ok()).flatten();
        let last = parts.and_then(|parts| parts.last().cloned());
        let file = last.as_ref().unwrap_or(&self.output);
        std::fs::metadata(file).map_or(0, |found| found.len())
    }
}
