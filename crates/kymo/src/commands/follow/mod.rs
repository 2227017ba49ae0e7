//! `kymo follow`: a recording that is still being written.

mod input;
mod parts;
mod patience;
mod screen;

use std::path::PathBuf;

use kymo_core::{Probe, Source};
use kymo_model::{Capability, Format, LiveRecording};

use crate::cli::FormatArgs;
use crate::failure::Failure;
use crate::inputs;
use crate::moment::Span;
use crate::render::event::Look;
use crate::session::{Named, Outcome, Session, format_of};
use crate::tracks::StreamArgs;

use input::{Arrived, Input, PAUSE, is_not_found};
use parts::Parts;
use patience::Patience;
use screen::Screen;

/// Bytes read at a time.
const CHUNK_BYTES: usize = 1 << 18;

/// Show events as they are recorded, as tail -F shows lines.
///
/// Follows a file that is being written, a named pipe, or standard input. Of a file the last events
/// come first; a pipe is shown from where it begins. A file that becomes shorter, or that another
/// takes the name of, is shown from its beginning, and a recording that rotates is followed into
/// its next parts. On a terminal the rate is shown as well. Interrupt it to stop, or let --idle or
/// --until-end do so; it also stops when nobody reads its output any more.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch that one types")]
#[command(after_help = "\
EXAMPLES
  kymo follow run.rtc                        what is recorded from now on
  kymo follow run.rtc --stream log -n 100    one stream, the last 100 events first
  kymo follow run.rtc --all --json           everything there is, and what comes
  kymo follow run.rtc --retry --until-end    from before it begins until it ends
  recorder | kymo follow -                   what a program writes to a pipe
  kymo follow run.rtc --idle 5s              until nothing came for 5 seconds

EXIT STATUS
  0 stopped as asked for, or the pipe ended, 1 failed, 2 bad usage, 3 as 0, with findings")]
pub(crate) struct Args {
    /// The file or named pipe; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    streams: StreamArgs,

    /// Number of events already there that come first, of all parts together.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    last: u64,

    /// Begin at the beginning of the file.
    #[arg(short, long, conflicts_with = "last")]
    all: bool,

    /// Wait for the file where there is none yet.
    #[arg(long)]
    retry: bool,

    /// Stop when nothing has come for so long.
    #[arg(long, value_name = "DURATION")]
    idle: Option<Span>,

    /// Stop when the writer has ended the recording, as far as that can be told from it.
    #[arg(long)]
    until_end: bool,

    /// Print one JSON object an event.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let name = inputs::display(&args.file);
    follow(session, args, &name).map_err(|error| Named::error(name, error))
}

fn follow(session: &mut Session, args: &Args, name: &str) -> anyhow::Result<Outcome> {
    let mut patience = Patience::new(args.idle);
    let mut input = open(session, args, name, &mut patience)?;
    let format = recognise(session, &mut input, args, &mut patience)?;
    let follower = follower(format, session)?;
    let look = if args.json { Look::Json } else { Look::Text(session.out.paint()) };
    let mut following = Following {
        args,
        format,
        input,
        follower,
        screen: Screen::new(session, name, look, &args.streams)?,
        parts: Parts::new(&args.file),
        patience,
        passed_bytes: 0,
        chunk: vec![0; CHUNK_BYTES],
        is_end_told: false,
        is_removal_told: false,
        is_wait_told: false,
    };
    following.show_last()?;
    following.run()
}

/// Opens what is to be followed, once it is there.
fn open(
    session: &mut Session,
    args: &Args,
    name: &str,
    patience: &mut Patience,
) -> anyhow::Result<Input> {
    let mut is_told = false;
    loop {
        match Input::open(&args.file) {
            Err(error) if args.retry && is_not_found(&error) && !patience.is_over() => {
                if !std::mem::replace(&mut is_told, true) {
                    session.report.remark(name, "there is no such file yet; waiting for it");
                }
                session.out.wait(PAUSE)?;
            }
            opened => {
                patience.restart();
                return Ok(opened?);
            }
        }
    }
}

/// Finds the format from the first bytes, waiting for them if need be.
fn recognise(
    session: &mut Session,
    input: &mut Input,
    args: &Args,
    patience: &mut Patience,
) -> anyhow::Result<&'static dyn Format> {
    let mut came_bytes = 0;
    let mut is_told = false;
    loop {
        let head = Source::from_bytes(&args.file, input.head(Probe::HEAD_BYTES)?);
        if head.size_bytes() > came_bytes {
            came_bytes = head.size_bytes();
            patience.restart();
        }
        let found = format_of(&head, &args.format);
        let is_all = head.size_bytes() >= Probe::HEAD_BYTES as u64 || input.is_at_end();
        if found.is_ok() || is_all || patience.is_over() {
            return found;
        }
        if patience.is_long() && !std::mem::replace(&mut is_told, true) {
            let what =
                if came_bytes == 0 { "nothing is in it yet" } else { "it is no recording yet" };
            let name = inputs::display(&args.file);
            let message = format!("{what}; waiting for the beginning of one");
            session.report.remark(&name, message);
        }
        session.out.wait(input.pause())?;
    }
}

fn follower(format: &dyn Format, session: &Session) -> anyhow::Result<Box<dyn LiveRecording>> {
    let follower = format.follow(&session.context());
    Ok(follower.ok_or_else(|| {
        let why = format!("files of format {} cannot be followed", format.info().title);
        let known = kymo_registry::formats().iter().map(|format| format.info());
        let known = known.filter(|info| info.can(Capability::Follow)).map(|info| info.name);
        Failure::new(why).hint(format!("can be: {}", known.collect::<Vec<_>>().join(", ")))
    })?)
}

/// A recording that is followed, and how far that is.
struct Following<'a> {
    args: &'a Args,
    format: &'static dyn Format,
    input: Input,
    follower: Box<dyn LiveRecording>,
    screen: Screen<'a>,
    parts: Parts,
    patience: Patience,
    /// Bytes that were there already, whose last events are shown by themselves.
    passed_bytes: u64,
    chunk: Vec<u8>,
    is_end_told: bool,
    is_removal_told: bool,
    is_wait_told: bool,
}

impl Following<'_> {
    /// Shows the last events of a file that is there already, and goes on behind them.
    fn show_last(&mut self) -> anyhow::Result<()> {
        if !self.input.is_file() || self.args.all {
            return Ok(());
        }
        let files = self.parts.existing_files(&self.input)?;
        let (newest, former) = files.split_last().unwrap_or((&self.args.file, &[]));
        if !former.is_empty() {
            self.screen.print_message(&format!("it goes on in {}", inputs::display(newest)));
            self.input = Input::open(newest)?;
        }
        let so_far = self.screen.session().source(newest)?;
        let start = self.follower.start(&so_far)?;
        self.input.seek(start)?;
        let found = self.screen.last_events(self.format, &so_far, self.args.last)?;
        if found.is_some() {
            self.passed_bytes = so_far.size_bytes().saturating_sub(start);
        }
        let found = found.unwrap_or_default();
        self.show_last_events(former, self.args.last.saturating_sub(found.count))?;
        self.screen.show_last(found, true)
    }

    /// Shows the last events of the parts of a recording before the one that is followed.
    fn show_last_events(&mut self, parts: &[PathBuf], mut left: u64) -> anyhow::Result<()> {
        let mut found = Vec::new();
        for part in parts.iter().rev() {
            if left == 0 {
                break;
            }
            let source = self.screen.session().source(part)?;
            let last = self.screen.last_events(self.format, &source, left)?.unwrap_or_default();
            left = left.saturating_sub(last.count);
            found.push(last);
        }
        found.into_iter().rev().try_for_each(|last| self.screen.show_last(last, false))
    }

    fn run(mut self) -> anyhow::Result<Outcome> {
        loop {
            self.screen.wait(std::time::Duration::ZERO)?;
            let bytes_max = match self.passed_bytes {
                0 => CHUNK_BYTES,
                passed => usize::try_from(passed).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES),
            };
            match self.input.read(self.chunk.get_mut(..bytes_max).unwrap_or_default())? {
                Arrived::Bytes(count) => self.take(count)?,
                Arrived::Nothing if self.is_over(false)? => break,
                Arrived::Removed if self.is_over(true)? => break,
                Arrived::Nothing | Arrived::Removed => self.screen.wait(self.input.pause())?,
                Arrived::Shrunk => {
                    self.restart("it became shorter; reading it from its beginning")?;
                }
                Arrived::Replaced(input) => {
                    self.follower.finish(&mut self.screen)?;
                    self.restart("another file has its name; reading that from its beginning")?;
                    self.input = input;
                }
                Arrived::End => break,
            }
        }
        self.follower.finish(&mut self.screen)?;
        self.screen.end()
    }

    /// Takes the bytes that have come.
    fn take(&mut self, count: usize) -> anyhow::Result<()> {
        self.screen.is_passing(self.passed_bytes > 0);
        self.follower.push(self.chunk.get(..count).unwrap_or_default(), &mut self.screen)?;
        if count < CHUNK_BYTES {
            self.follower.pause(&mut self.screen)?;
        }
        self.screen.show(count)?;
        self.passed_bytes = self.passed_bytes.saturating_sub(count as u64);
        self.patience.restart();
        self.is_end_told = false;
        Ok(())
    }

    /// Nothing has come: goes on in the next part, says why nothing comes, or has waited enough.
    fn is_over(&mut self, is_removed: bool) -> anyhow::Result<bool> {
        self.screen.caught_up()?;
        if let Some(next) = self.parts.next_part(&self.input) {
            self.follower.finish(&mut self.screen)?;
            self.restart(&format!("it goes on in {}", inputs::display(&next)))?;
            self.input = Input::open(&next)?;
            return Ok(false);
        }
        let is_ended = self.follower.is_ended();
        if is_ended && self.args.until_end && !self.parts.are_to_come(&self.input) {
            return Ok(true);
        }
        if is_removed && !std::mem::replace(&mut self.is_removal_told, true) {
            self.screen.print_message("it was removed; waiting for another of its name");
        }
        let is_long = self.patience.is_long() || self.patience.is_over();
        let has_begun = self.screen.has_streams();
        if is_long && !has_begun && !std::mem::replace(&mut self.is_wait_told, true) {
            let title = self.format.info().title;
            let what = format!("no stream of it can be read as {title} so far; waiting for more");
            self.screen.print_message(&what);
        }
        if is_long && is_ended && !std::mem::replace(&mut self.is_end_told, true) {
            self.screen.print_message("its writer has ended it; waiting for more");
        }
        Ok(self.patience.is_over())
    }

    /// Begins with another file, or with this one once more.
    fn restart(&mut self, why: &str) -> anyhow::Result<()> {
        self.screen.restart(why)?;
        self.follower = follower(self.format, self.screen.session())?;
        self.passed_bytes = 0;
        self.patience.restart();
        (self.is_end_told, self.is_removal_told, self.is_wait_told) = (false, false, false);
        Ok(())
    }
}
