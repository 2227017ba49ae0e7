//! `kymo record`: lines of text, as they come, into a recording.

mod feeds;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use kymo_core::Error;
use kymo_recorder::format::Raw;
use kymo_recorder::{Clock, Config, Flush, Recorder, Resolution, Stream, StreamOptions, Sync};

use crate::failure::Failure;
use crate::inputs;
use crate::outlet;
use crate::rate::Rate;
use crate::render::numbers;
use crate::session::{Named, Outcome, Session};

use feeds::{Feeds, News};

/// How long what was recorded may wait before it is safe from the end of this program.
const FLUSH_EVERY: Duration = Duration::from_millis(200);

/// How long a command has to end by itself once the user wants to stop.
const GRACE: Duration = Duration::from_secs(2);

/// Lines that may wait to be written; then their readers wait, and with them who writes to them.
const QUEUE_LINES: usize = 1024;

/// Record lines of text into an RTC file, each with the time it came.
///
/// Lines come from standard input, from a command's standard output and error, or from named pipes
/// or files. The file is readable at any moment, also when kymo is killed, up to what came a fifth
/// of a second before: `kymo follow` shows it as it grows. Interrupting ends the recording
/// properly. A command that is recorded is left to end by itself, and what it says meanwhile is
/// recorded too; after two seconds it is told to end, and interrupting again ends it at once.
/// Programs that it started and that go on are not waited for.
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

    /// Pass on what is recorded: to standard output, and standard error to standard error.
    #[arg(short, long)]
    tee: bool,

    /// Go on in another file when one has so many bytes: 500K, 64M, 1G.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    rotate: Option<u64>,

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
    refuse(&args.output, args.force || args.append).map_err(about)?;
    if args.append {
        refuse_others(session, &args.output).map_err(about)?;
    }
    refuse_pipes(&args.pipes)?;
    let claim = Claim::new(&args.output).map_err(about)?;
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
    let recorded = record(session, args, &mut tape, &news, &mut feeds);
    // Whatever happened, what came before is kept.
    let finished = tape.recorder.finish();
    let ended = recorded.map_err(about)?;
    finished.map_err(|error| about(error.into()))?;
    let lines = numbers::count(tape.messages, "message", "messages");
    let bytes = numbers::count(tape.bytes, "byte", "bytes");
    session.report.remark(&name, format_args!("{lines} recorded, {bytes}"));
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

/// Refuses what cannot be recorded to, before anything is started.
fn refuse(output: &Path, may_exist: bool) -> anyhow::Result<()> {
    if output.as_os_str() == "-" {
        let failure = Failure::usage("a recording goes to a file");
        return Err(failure.hint("name one with --output").into());
    }
    match std::fs::metadata(output) {
        Ok(found) if found.is_dir() => Err(Failure::new("it is a directory").into()),
        Ok(found) if found.is_file() && !may_exist => {
            Err(outlet::about(output, Error::Exists(output.to_owned())))
        }
        _ => Ok(()),
    }
}

/// Refuses to add to a file that is no recording.
fn refuse_others(session: &Session, output: &Path) -> anyhow::Result<()> {
    let has_bytes = |found: std::fs::Metadata| found.is_file() && found.len() > 0;
    if !std::fs::metadata(output).is_ok_and(has_bytes) || is_recording(session, output)? {
        return Ok(());
    }
    let failure = Failure::new("it is no RTC recording that could be added to");
    Err(failure.hint("name another file, or replace it with --force").into())
}

/// Refuses pipes that are not there.
fn refuse_pipes(pipes: &[(String, PathBuf)]) -> anyhow::Result<()> {
    for (_, path) in pipes {
        let found = std::fs::metadata(path).map_err(Error::io("open it"));
        found.map_err(|error| Named::error(inputs::display(path), error))?;
    }
    Ok(())
}

/// The output, of which it is known that it can be written: until something is recorded it stays
/// as it was.
struct Claim {
    /// The file, if it was made for that.
    made: Option<PathBuf>,
}

impl Claim {
    fn new(output: &Path) -> anyhow::Result<Self> {
        let found = std::fs::metadata(output);
        let is_new = found.is_err();
        // A pipe would wait for its reader, and then be closed.
        if is_new || found.is_ok_and(|found| found.is_file()) {
            let mut options = std::fs::OpenOptions::new();
            let opened = options.append(true).create(true).open(output);
            opened.map_err(Error::io("write it"))?;
        }
        Ok(Self { made: is_new.then(|| output.to_owned()) })
    }

    /// Begins to record.
    fn tape(mut self, session: &Session, args: &Args, feeds: &Feeds) -> anyhow::Result<Tape> {
        if args.force && args.rotate.is_some() {
            remove_parts(session, &args.output)?;
        }
        let tape = Tape::new(args, feeds)?;
        self.made = None;
        Ok(tape)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(made) = self.made.take() {
            let _ = std::fs::remove_file(made);
        }
    }
}

fn is_recording(session: &Session, path: &Path) -> anyhow::Result<bool> {
    let detected = kymo_registry::detect(&session.source(path)?);
    Ok(detected.is_ok_and(|detected| detected.format.info().name == "rtc"))
}

/// Removes the parts that an earlier recording of this name has beside its first: they would be
/// taken for those of this one. A file that is no recording stays.
fn remove_parts(session: &Session, output: &Path) -> anyhow::Result<()> {
    for part in kymo_recorder::parts_of(output).map_err(Error::io("look for its parts"))? {
        if is_recording(session, &part)? {
            std::fs::remove_file(&part).map_err(Error::io("remove an earlier part"))?;
        }
    }
    Ok(())
}

/// Ends the recording properly when it is interrupted.
fn interrupt(sender: SyncSender<News>) -> anyhow::Result<()> {
    // A full queue is read soon; waiting here harms nobody.
    Ok(ctrlc::set_handler(move || drop(sender.send(News::Interrupted)))?)
}

fn feeds(args: &Args, sender: SyncSender<News>) -> anyhow::Result<Feeds> {
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

/// The recorder, and what goes into it.
struct Tape {
    recorder: Recorder,
    streams: Vec<Stream<Raw>>,
    messages: u64,
    bytes: u64,
}

impl Tape {
    fn new(args: &Args, feeds: &Feeds) -> anyhow::Result<Self> {
        let mut config = Config::new().flush(Flush::Interval(FLUSH_EVERY)).sync(Sync::Finish);
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
        let absolute = recorder.absolute_clock("clk")?;
        let clock = recorder.delta_clock("clk delta", absolute, Resolution::Microseconds)?;
        let streams = feeds.names().map(|name| Self::stream(&mut recorder, args, clock, name));
        let streams = streams.collect::<Result<_, _>>()?;
        Ok(Self { recorder, streams, messages: 0, bytes: 0 })
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

    fn write(&mut self, feed: usize, bytes: &[u8]) -> anyhow::Result<()> {
        if let Some(stream) = self.streams.get(feed) {
            self.recorder.write_now(*stream, bytes)?;
        }
        self.messages += 1;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// How recording ended.
struct Ended {
    /// The user had enough.
    is_interrupted: bool,
    outcome: Outcome,
}

/// Writes what comes until all feeds have ended, or the user has enough. A feed that fails is told
/// of, and the others go on.
fn record(
    session: &mut Session,
    args: &Args,
    tape: &mut Tape,
    news: &Receiver<News>,
    feeds: &mut Feeds,
) -> anyhow::Result<Ended> {
    let mut rate = Rate::new(session.report.is_watched() && !args.tee, "messages");
    let mut open = feeds.count();
    let mut stopping = Stopping::default();
    let mut outcome = Outcome::Done;
    while open > 0 {
        match news.recv_timeout(tape.recorder.flush_due_in().unwrap_or(FLUSH_EVERY)) {
            Ok(News::Bytes(feed, bytes)) => {
                rate.add(1, bytes.len());
                take(session, args, tape, feed, &bytes)?;
            }
            Ok(News::Ended) => open -= 1,
            Ok(News::Failed(error)) => {
                rate.clear();
                tell(session, &error);
                outcome = Outcome::Failed;
                open -= 1;
            }
            Ok(News::Interrupted) if !stopping.has_to_end(feeds) => {}
            Ok(News::Interrupted) => {
                rate.clear();
                take_rest(session, args, tape, news, feeds)?;
                return Ok(Ended { is_interrupted: true, outcome });
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        tape.recorder.flush_if_due()?;
        stopping.insist(feeds);
        if stopping.is_over(feeds) {
            take_rest(session, args, tape, news, feeds)?;
            break;
        }
        rate.draw();
    }
    rate.clear();
    Ok(Ended { is_interrupted: stopping.since.is_some(), outcome })
}

/// Tells why a feed failed.
fn tell(session: &mut Session, error: &anyhow::Error) {
    match error.downcast_ref::<Named>() {
        Some(Named { name, error }) => session.error(name, error),
        None => session.report.failure(error),
    }
}

/// How far it is with ending a command.
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

    /// Whether the command has ended, and had time to: what still holds its output open is a
    /// program that it started.
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

/// Records what was read before the end, lines that have none included.
fn take_rest(
    session: &mut Session,
    args: &Args,
    tape: &mut Tape,
    news: &Receiver<News>,
    feeds: &Feeds,
) -> anyhow::Result<()> {
    // No more than was there: readers go on reading.
    for rest in news.try_iter().take(QUEUE_LINES) {
        if let News::Bytes(feed, bytes) = rest {
            take(session, args, tape, feed, &bytes)?;
        }
    }
    for (feed, bytes) in feeds.unfinished() {
        take(session, args, tape, feed, &bytes)?;
    }
    Ok(())
}

/// Records some bytes, and passes them on if asked to.
fn take(
    session: &mut Session,
    args: &Args,
    tape: &mut Tape,
    feed: usize,
    bytes: &[u8],
) -> anyhow::Result<()> {
    tape.write(feed, bytes)?;
    if args.tee {
        pass_on(session, feed == feeds::STDERR && !args.command.is_empty(), bytes)?;
    }
    Ok(())
}

/// Passes on what was recorded.
fn pass_on(session: &mut Session, is_stderr: bool, bytes: &[u8]) -> anyhow::Result<()> {
    if is_stderr {
        std::io::stderr().write_all(bytes)?;
        return Ok(());
    }
    session.out.write_all(bytes)?;
    Ok(session.out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

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
