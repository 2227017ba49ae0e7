//! `kymo record`: lines of text, as they come, into a recording.

mod claim;
mod feeds;
mod tape;

use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::inputs;
use crate::moment::Span;
use crate::rate::Rate;
use crate::session::{Named, Outcome, Session};

use claim::Claim;
use feeds::{FeedEvent, Feeds, Piece};
use tape::Tape;

/// Time that a command has to end by itself once the user wants to stop.
const GRACE: Duration = Duration::from_secs(2);

/// Lines that may wait to be written; then their readers wait, and with them who writes to them.
/// Few, since they are lost when this program is killed.
const QUEUE_LINES: usize = 64;

/// The smallest parts. Each begins with a Marker, an Index and a Meta.
const PART_BYTES_MIN: u64 = 64 << 10;

/// Record lines of text into an RTC file, each with the time it came.
///
/// Lines come from standard input, from a command's standard output and error, or from named pipes
/// or files. A line of more than 1 MiB becomes several messages, and it is said how many did. The
/// file is readable at any moment, also when kymo is killed: `kymo follow` shows it as it grows.
/// Killed (kill -9), kymo loses at most the lines of the last 200 ms, and of these no more than 64 KiB
/// (--flush-every, --flush-bytes), besides what was not recorded yet: a line that has not ended, what
/// a pipe holds, and up to 64 lines of sources that are faster than the file. Interrupting ends the recording properly. A command
/// that is recorded is left to end by itself, and what it says meanwhile is recorded too; after two
/// seconds it is told to end, and interrupting again ends it at once. Programs that it started and
/// that go on are not waited for.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch that one types")]
#[command(after_help = "\
EXAMPLES
  kymo record -o build.rtc -- make -j8          a command's output, stream by stream
  tail -f app.log | kymo record -o log.rtc      standard input
  kymo record -o both.rtc --pipe a=/run/a.fifo --pipe b=/run/b.fifo
                                                named pipes, a stream each
  kymo record -o day.rtc --rotate 64M --tee     parts of 64 MiB, lines passed on

EXIT STATUS
  0 done, also when interrupted, 1 failed, or the command did, 2 bad usage")]
pub(crate) struct Args {
    /// The file to write.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// A named pipe or file to record, as a stream of this name. May be given again.
    #[arg(short, long = "pipe", value_name = "NAME=PATH", value_parser = named_pipe)]
    #[arg(conflicts_with = "command")]
    pipes: Vec<(String, PathBuf)>,

    /// Record bytes as they come and not lines.
    #[arg(long)]
    raw: bool,

    /// Pass on what is recorded: to standard output, and standard error to standard error. When
    /// nobody reads it any more, that is said, and recording goes on.
    #[arg(short, long)]
    tee: bool,

    /// Go on in another file when one has so many bytes: 500K, 64M, 1G. At least 64K, since each
    /// begins with what describes it.
    #[arg(long, value_name = "SIZE", value_parser = rotation)]
    rotate: Option<u64>,

    /// Hand what came to the system at least so often: 200ms, 1s. What was handed to it survives the
    /// end of kymo, and not that of the machine.
    #[arg(long, value_name = "DURATION", default_value = "200ms")]
    flush_every: Span,

    /// Hand what came to the system when it is so many bytes: 64K, 1M; 1 is every line.
    #[arg(long, value_name = "SIZE", default_value = "64K", value_parser = size)]
    flush_bytes: u64,

    /// Add to OUT, as another session; with --rotate to the last part of a recording of this name.
    #[arg(short, long, conflicts_with = "force")]
    append: bool,

    /// Replace OUT if it exists, and with --rotate the further parts of a recording of this name.
    #[arg(short, long)]
    force: bool,

    /// The command to run, and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn named_pipe(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => {
            Ok((name.to_owned(), path.into()))
        }
        _ => Err(format!("{text} is no NAME=PATH")),
    }
}

fn rotation(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if bytes >= PART_BYTES_MIN {
        return Ok(bytes);
    }
    Err("a part begins with more than 1 KiB that describe it: at least 64K make sense".to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    let (number, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (text.get(..text.len() - 1), 10),
        Some(b'M' | b'm') => (text.get(..text.len() - 1), 20),
        Some(b'G' | b'g') => (text.get(..text.len() - 1), 30),
        _ => (Some(text), 0),
    };
    let number = number.and_then(|number| number.parse::<u64>().ok());
    let bytes = number.and_then(|number| number.checked_mul(1 << shift)).filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| format!("{text} is no size such as 500K, 64M or 1G"))
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let name = inputs::display(&args.output);
    let about = |error: anyhow::Error| match error.downcast::<Named>() {
        Ok(named) => anyhow::Error::new(named),
        Err(error) => Named::error(name.as_str(), error),
    };
    let claim = Claim::new(session, args).map_err(about)?;
    let (sender, news) = std::sync::mpsc::sync_channel(QUEUE_LINES);
    interrupt(sender.clone()).map_err(about)?;
    let mut feeds = feeds(args, sender)?;
    let mut tape = match claim.tape(session, args, &feeds) {
        Ok(tape) => tape,
        Err(error) => {
            feeds.abandon();
            return Err(about(error));
        }
    };
    let tee = Tee { is_on: args.tee, is_command: !args.command.is_empty(), has_failed: false };
    let mut taking = RecordingOutput { name: &name, tape: &mut tape, tee };
    let recorded = record(session, &mut taking, &news, &mut feeds);
    // Whatever happened, what came before is kept.
    let finished = tape.finish();
    let ended = recorded.and_then(|ended| finished.map(|()| ended));
    let ended = ended.map_err(|error| about(tape.explained(error)))?;
    session.report.remark(&name, tape.summary());
    match feeds.end()? {
        // Who interrupts it asks for its end.
        Some(status) if !status.success() && !ended.is_interrupted => Err(failed(args, status)),
        _ => Ok(ended.outcome),
    }
}

fn failed(args: &Args, status: ExitStatus) -> anyhow::Error {
    let command = args.command.first().cloned().unwrap_or_default();
    let why = match status.code() {
        Some(code) => format!("the command ended with status {code}; what it said is recorded"),
        None => "the command was killed; what it said is recorded".to_owned(),
    };
    Named::error(command, Failure::new(why))
}

/// Ends the recording properly when it is interrupted.
fn interrupt(sender: SyncSender<FeedEvent>) -> anyhow::Result<()> {
    // A full queue is read soon; waiting here harms nobody.
    Ok(ctrlc::set_handler(move || drop(sender.send(FeedEvent::Interrupted)))?)
}

fn feeds(args: &Args, sender: SyncSender<FeedEvent>) -> anyhow::Result<Feeds> {
    let mut feeds = Feeds::new(sender, args.raw);
    if !args.command.is_empty() {
        feeds.command(&args.command)?;
    } else if args.pipes.is_empty() {
        feeds.stdin();
    } else {
        for (name, path) in &args.pipes {
            feeds.pipe(name, path);
        }
    }
    Ok(feeds)
}

/// Result of a recording that ended.
struct EndReason {
    /// The user had enough.
    is_interrupted: bool,
    outcome: Outcome,
}

/// Writes what comes until all feeds have ended, or the user has enough. A feed that fails is told
/// of, and the others go on.
fn record(
    session: &mut Session,
    taking: &mut RecordingOutput<'_>,
    news: &Receiver<FeedEvent>,
    feeds: &mut Feeds,
) -> anyhow::Result<EndReason> {
    let mut rate = Rate::new(session.report.is_watched() && !taking.tee.is_on, "messages");
    let mut open = feeds.count();
    let mut stopping = Stopping::default();
    let mut outcome = Outcome::Done;
    while open > 0 {
        match news.recv_timeout(taking.tape.flush_due_in()) {
            Ok(FeedEvent::Piece(piece)) => {
                rate.add(1, piece.bytes.len());
                taking.take(session, &piece)?;
            }
            Ok(FeedEvent::Ended) => open -= 1,
            Ok(FeedEvent::Failed(error)) => {
                rate.clear();
                report_feed_failure(session, &error);
                outcome = Outcome::Failed;
                open -= 1;
            }
            Ok(FeedEvent::Interrupted) if !stopping.has_to_end(feeds) => {}
            Ok(FeedEvent::Interrupted) => {
                rate.clear();
                taking.take_rest(session, news, feeds)?;
                return Ok(EndReason {
                    is_interrupted: true,
                    outcome: taking.tee.outcome(outcome),
                });
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        taking.tape.flush_if_due()?;
        stopping.insist(feeds);
        if stopping.is_over(feeds) {
            taking.take_rest(session, news, feeds)?;
            break;
        }
        rate.draw();
    }
    rate.clear();
    let outcome = taking.tee.outcome(outcome);
    Ok(EndReason { is_interrupted: stopping.since.is_some(), outcome })
}

/// Tells why a feed failed.
fn report_feed_failure(session: &mut Session, error: &anyhow::Error) {
    match error.downcast_ref::<Named>() {
        Some(Named { name, error }) => session.error(name, error),
        None => session.report.failure(error),
    }
}

/// Progress of ending a command.
#[derive(Default)]
struct Stopping {
    since: Option<Instant>,
    is_told: bool,
}

impl Stopping {
    /// Takes note that the user wants to stop. A command may end by itself at first; then, and
    /// without one, recording ends now.
    fn has_to_end(&mut self, feeds: &mut Feeds) -> bool {
        if !feeds.is_command() {
            return true;
        }
        let is_again = self.since.replace(Instant::now()).is_some();
        if is_again {
            feeds.kill();
        }
        is_again
    }

    /// Returns true if the command has ended, and had time to: what still holds its output open is
    /// a program that it started.
    fn is_over(&self, feeds: &mut Feeds) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= GRACE) && feeds.has_exited()
    }

    /// Tells a command to end that does not do so by itself: the signal may have been for this
    /// program alone.
    fn insist(&mut self, feeds: &Feeds) {
        let is_due = self.since.is_some_and(|since| since.elapsed() >= GRACE);
        if is_due && !self.is_told {
            feeds.terminate();
            self.is_told = true;
        }
    }
}

/// Destinations of what comes in.
struct RecordingOutput<'a> {
    /// The file, to say something about it.
    name: &'a str,
    tape: &'a mut Tape,
    tee: Tee,
}

impl RecordingOutput<'_> {
    /// Records some bytes, and passes them on if asked to.
    fn take(&mut self, session: &mut Session, piece: &Piece) -> anyhow::Result<()> {
        self.tape.write(piece)?;
        if let Err(error) = self.tee.pass_on(session, piece) {
            self.tee.is_on = false;
            if error.kind() == ErrorKind::BrokenPipe {
                let message = "nobody reads what is passed on any more; recording goes on";
                session.report.remark(self.name, message);
            } else {
                self.tee.has_failed = true;
                let why = anyhow::Error::new(error).context("cannot pass on what is recorded");
                session.error(self.name, &why);
            }
        }
        Ok(())
    }

    /// Records what was read before the end, lines that have none included.
    fn take_rest(
        &mut self,
        session: &mut Session,
        news: &Receiver<FeedEvent>,
        feeds: &Feeds,
    ) -> anyhow::Result<()> {
        // No more than was there: readers go on reading.
        for rest in news.try_iter().take(QUEUE_LINES) {
            if let FeedEvent::Piece(piece) = rest {
                self.take(session, &piece)?;
            }
        }
        for piece in feeds.unfinished() {
            self.take(session, &piece)?;
        }
        Ok(())
    }
}

/// Copy of the recorded data that is passed on.
struct Tee {
    is_on: bool,
    /// True if a command is recorded, whose standard error goes to standard error.
    is_command: bool,
    has_failed: bool,
}

impl Tee {
    fn pass_on(&self, session: &mut Session, piece: &Piece) -> io::Result<()> {
        if !self.is_on {
            return Ok(());
        }
        if self.is_command && piece.feed == feeds::STDERR {
            return io::stderr().write_all(&piece.bytes);
        }
        session.out.write_all(&piece.bytes)?;
        session.out.flush()
    }

    /// Returns the outcome of recording, given the one that it would have otherwise.
    fn outcome(&self, outcome: Outcome) -> Outcome {
        if self.has_failed { Outcome::Failed } else { outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_larger_than_what_describes_them() {
        assert_eq!(rotation("64K"), Ok(64 << 10));
        assert!(rotation("63K").is_err());
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("12"), Ok(12));
        assert_eq!(size("64M"), Ok(64 << 20));
        assert_eq!(size("1g"), Ok(1 << 30));
        for text in ["", "M", "0", "-1", "1T", "99999999999G"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
