//! `kymo assert`: whether rules hold over a recording.

pub(super) mod rules;

use std::io::Write;
use std::path::PathBuf;

use kymo_analyse::{Load, Rules, Violation};
use kymo_core::model::timeline::{Clock, Shown, Track};
use kymo_core::{Value, shortened};

use crate::cli::OpenArgs;
use crate::moment::MOMENTS;
use crate::render::grid::{Column, Grid, GridArgs, Look, maybe};
use crate::render::{escaped, numbers, style};
use crate::scope::{Scope, ScopeArgs};
use crate::session::{Opened, Outcome, Session};

/// Look whether rules hold: response times, gaps, values, order, latencies, states.
///
/// Prints a line for each place where a rule does not hold: when, on which stream, at which byte.
/// Prints nothing when all hold.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
EXAMPLES
  kymo assert rules.toml trace                  exit code 3 when a rule does not hold
  kymo assert --since +1s rules.toml trace      after a second of warming up
  kymo assert --json rules.toml *.bin           one JSON object for each violation

{}

{MOMENTS}

EXIT STATUS
  0 all rules hold, 1 unreadable, 2 bad usage or rules, 3 a rule does not hold, or findings",
  rules::RULES))]
pub(crate) struct Args {
    /// The file of rules.
    #[arg(value_name = "RULES")]
    rules: PathBuf,

    /// Files or directories.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    grid: GridArgs,

    #[command(flatten)]
    open: OpenArgs,
}

const COLUMNS: &[Column] = &[
    ("rule", "", Look::Plain),
    ("time_ns", "", Look::Plain),
    ("time", "", Look::Plain),
    ("stream", "", Look::Plain),
    ("offset", "", Look::Plain),
    ("message", "", Look::Plain),
];

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    rules::read(&args.rules)?;
    let inputs = session.expand(&args.files, &args.open.format);
    if args.grid.csv {
        Grid::new(COLUMNS).csv_header(&mut session.out)?;
    }
    session.each_dataset(inputs, &args.open, |session, opened| {
        let scope = args.scope.of(opened)?;
        let found = Checked::new(session, opened, &scope, rules::read(&args.rules)?)?;
        found.print(session, opened, args.grid)?;
        let outcome = if found.violations.is_empty() { Outcome::Done } else { Outcome::Findings };
        Ok(outcome.max(found.say_idle(session, opened)).max(session.findings(opened)))
    })
}

/// What came of rules.
pub(super) struct Checked {
    tracks: Vec<Track>,
    clocks: Vec<Clock>,
    names: Vec<String>,
    idle: Vec<usize>,
    pub(super) violations: Vec<Violation>,
    pub(super) more: u64,
}

impl Checked {
    pub(super) fn new(
        session: &mut Session,
        opened: &Opened,
        scope: &Scope,
        rules: Vec<kymo_analyse::Rule>,
    ) -> anyhow::Result<Self> {
        let (tracks, clocks) = (scope.timeline.tracks(), scope.timeline.clocks());
        let (mut rules, mut load) = (Rules::new(&tracks, rules), Load::new());
        let names = (0..rules.len()).map(|rule| rules.name(rule).to_owned()).collect();
        let idle = rules.idle();
        let analysis = scope.run(session, opened, &mut [&mut rules, &mut load])?;
        let (violations, more) = rules.finish(&load, analysis.tasks());
        Ok(Self { tracks, clocks, names, idle, violations, more })
    }

    pub(super) fn name(&self, violation: &Violation) -> &str {
        self.names.get(violation.rule).map_or("", String::as_str)
    }

    /// How many rules there are.
    pub(super) fn rules(&self) -> usize {
        self.names.len()
    }

    pub(super) fn stream(&self, violation: &Violation) -> &str {
        let track = violation.track.and_then(|track| self.tracks.get(track.0));
        track.map_or("", |track| &track.name)
    }

    pub(super) fn time(&self, violation: &Violation) -> String {
        let track = violation.track.and_then(|track| self.tracks.get(track.0));
        let clock = track.and_then(|track| self.clocks.get(track.clock?.0));
        let time = violation.time.map(|time| Shown::on(clock, time));
        time.map_or(String::new(), |time| time.to_string())
    }

    fn print(&self, session: &mut Session, opened: &Opened, how: GridArgs) -> anyhow::Result<()> {
        if how.is_text() {
            return self.lines(session, opened);
        }
        let mut grid = Grid::new(COLUMNS);
        for violation in &self.violations {
            let time = violation.time.map_or(Value::Null, |time| time.0.into());
            grid.row(vec![
                self.name(violation).into(),
                time,
                self.time(violation).into(),
                self.stream(violation).into(),
                maybe(violation.offset),
                violation.message.as_str().into(),
            ]);
        }
        Ok(grid.print(&mut session.out, how, &opened.name)?)
    }

    fn lines(&self, session: &mut Session, opened: &Opened) -> anyhow::Result<()> {
        let out = &mut session.out;
        let error = out.paint().style(style::ERROR);
        for violation in &self.violations {
            let (name, stream) = (self.name(violation), escaped(self.stream(violation)));
            let at = violation.offset.map_or(String::new(), |offset| format!(" at {offset:#x}"));
            let when = match self.time(violation) {
                time if time.is_empty() => String::new(),
                time => format!(" {time} {stream}{at}:"),
            };
            let (name, message) = (escaped(name), shortened(&violation.message));
            let message = escaped(&message);
            writeln!(out, "{}: {error}{name}{error:#}:{when} {message}", opened.name)?;
        }
        if self.more > 0 {
            let more = numbers::count(self.more, "violation", "violations");
            session.report.remark(&opened.name, format!("{more} more"));
        }
        Ok(())
    }

    /// A rule about nothing is no proof of anything.
    pub(super) fn say_idle(&self, session: &mut Session, opened: &Opened) -> Outcome {
        for rule in &self.idle {
            let name = self.names.get(*rule).map_or("", String::as_str);
            let text = format!("the rule \"{}\" is about no stream of it", escaped(name));
            session.report.remark(&opened.name, text);
        }
        if self.idle.is_empty() { Outcome::Done } else { Outcome::Findings }
    }
}
