//! `kymo follow`: a recording that is still being written.

mod input;
mod screen;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use kymo_core::{Ability, Follow, Format, Probe, Source};

use crate::cli::FormatArgs;
use crate::failure::Failure;
use crate::inputs;
use crate::moment::Span;
use crate::render::event::Look;
use crate::session::{Named, Outcome, Session, format_of};
use crate::tracks::StreamArgs;

use input::{Arrived, Input};
use screen::Screen;

/// How long to wait before looking for more.
const PAUSE: Duration = Duration::from_millis(50);

/// After how long it is said why nothing comes.
const LONG: Duration = Duration::from_secs(1);

/// Bytes read at a time.
const CHUNK_BYTES: usize = 1 << 18;

/// Show events as they are recorded, as tail -f shows lines.
///
/// Follows a file that is being written, a named pipe, or standard input. Of a file the last events
/// come first; a pipe is shown from where it begins. On a terminal the rate is shown as well.
/// Interrupt it to stop, or let --idle do so.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo follow run.rtc                        what is recorded from now on
  kymo follow run.rtc --stream log -n 100    one stream, the last 100 events first
  kymo follow run.rtc --all --json           everything there is, and what comes
  recorder | kymo follow -                   what a program writes to a pipe
  kymo follow run.rtc --idle 5s              until nothing came for 5 seconds

EXIT STATUS
  0 the recording ended, 1 failed, 2 bad usage, 3 ended, with findings")]
pub(crate) struct Args {
    /// The file or named pipe; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    streams: StreamArgs,

    /// How many of the events that are there already come first.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    last: u64,

    /// Begin at the beginning of the file.
    #[arg(short, long, conflicts_with = "last")]
    all: bool,

    /// Stop when nothing has come for so long.
    #[arg(long, value_name = "DURATION")]
    idle: Option<Span>,

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
    let mut input = Input::open(&args.file)?;
    let mut patience = Patience::new(args.idle);
    let format = recognise(&mut input, args, &mut patience)?;
    let mut follower = follower(format, session)?;
    let look = if args.json { Look::Json } else { Look::Text(session.out.paint()) };
    let mut screen = Screen::new(session, name, look, &args.streams)?;
    // Bytes that were there already, whose last events are shown by themselves.
    let mut passed_bytes = 0;
    if input.is_file() && !args.all {
        let so_far = screen.session().source(&args.file)?;
        let start = follower.start(&so_far)?;
        input.seek(start)?;
        if screen.show_last(format, &so_far, args.last)? {
            passed_bytes = so_far.size_bytes().saturating_sub(start);
        }
    }
    let mut chunk = vec![0; CHUNK_BYTES];
    let (mut is_told, mut parts) = (false, Parts::new(&args.file));
    loop {
        let bytes_max = match passed_bytes {
            0 => CHUNK_BYTES,
            passed => usize::try_from(passed).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES),
        };
        match input.read(chunk.get_mut(..bytes_max).unwrap_or_default())? {
            Arrived::Bytes(count) => {
                screen.is_passing(passed_bytes > 0);
                follower.push(chunk.get(..count).unwrap_or_default(), &mut screen)?;
                if count < CHUNK_BYTES {
                    follower.pause(&mut screen)?;
                }
                screen.show(count)?;
                passed_bytes = passed_bytes.saturating_sub(count as u64);
                patience.restart();
                is_told = false;
            }
            Arrived::Nothing => {
                screen.caught_up()?;
                if let Some(next) = parts.next_of(&input) {
                    follower.finish(&mut screen)?;
                    screen.go_on_in(&inputs::display(&next))?;
                    input = Input::open(&next)?;
                    follower = self::follower(format, screen.session())?;
                    patience.restart();
                    continue;
                }
                let is_long = patience.is_long() || patience.is_over();
                if is_long && follower.is_ended() && !std::mem::replace(&mut is_told, true) {
                    screen.say("its writer has ended it; waiting for more");
                }
                if patience.is_over() {
                    break;
                }
                // A pipe has been waited for.
                if input.is_file() {
                    thread::sleep(PAUSE);
                }
            }
            Arrived::Shrunk => {
                passed_bytes = 0;
                screen.begin_again()?;
                follower = self::follower(format, screen.session())?;
            }
            Arrived::End => break,
        }
    }
    follower.finish(&mut screen)?;
    screen.end()
}

/// The files of a recording that rotates.
struct Parts {
    first: PathBuf,
    is_due: bool,
}

impl Parts {
    fn new(first: &Path) -> Self {
        Self { first: first.to_owned(), is_due: false }
    }

    /// The part after the one that is read, when that has been written to since. It is looked for
    /// twice, so that the end of the former, which is written later, is read.
    fn next_of(&mut self, input: &Input) -> Option<PathBuf> {
        let Input::File { file, path, .. } = input else { return None };
        let parts = kymo_recorder::parts_of(&self.first).ok()?;
        let of_path = parts.iter().position(|part| part == path);
        let next = parts.get(of_path.map_or(0, |number| number + 1))?;
        let changed = |found: std::fs::Metadata| found.modified().ok();
        let before = file.metadata().ok().and_then(changed)?;
        let is_later = std::fs::metadata(next).ok().and_then(changed)? >= before;
        let is_next = is_later && (of_path.is_some() || *path == self.first);
        let was_due = std::mem::replace(&mut self.is_due, is_next);
        (is_next && was_due).then(|| {
            self.is_due = false;
            next.clone()
        })
    }
}

fn follower(format: &dyn Format, session: &Session) -> anyhow::Result<Box<dyn Follow>> {
    let follower = format.follow(&session.context());
    Ok(follower.ok_or_else(|| {
        let why = format!("files of format {} cannot be followed", format.info().title);
        let known = kymo_registry::formats().iter().map(|format| format.info());
        let known = known.filter(|info| info.can(Ability::Follow)).map(|info| info.name);
        Failure::new(why).hint(format!("can be: {}", known.collect::<Vec<_>>().join(", ")))
    })?)
}

/// Finds the format from the first bytes, waiting for them if need be.
fn recognise(
    input: &mut Input,
    args: &Args,
    patience: &mut Patience,
) -> anyhow::Result<&'static dyn Format> {
    loop {
        let head = Source::from_bytes(&args.file, input.head(Probe::HEAD_BYTES)?);
        let found = format_of(&head, &args.format);
        let is_all = head.size_bytes() >= Probe::HEAD_BYTES as u64 || input.is_at_end();
        if found.is_ok() || is_all || patience.is_over() {
            return found;
        }
        if input.is_file() {
            thread::sleep(PAUSE);
        }
    }
}

/// How long nothing may come.
struct Patience {
    idle: Option<Duration>,
    since: Instant,
}

impl Patience {
    fn new(idle: Option<Span>) -> Self {
        Self { idle: idle.map(|span| span.0), since: Instant::now() }
    }

    fn restart(&mut self) {
        self.since = Instant::now();
    }

    /// Whether one may wonder why nothing comes.
    fn is_long(&self) -> bool {
        self.since.elapsed() >= LONG
    }

    fn is_over(&self) -> bool {
        self.idle.is_some_and(|idle| self.since.elapsed() >= idle)
    }
}
