//! `kymo assert`: whether rules hold over a recording.

pub(super) mod rules;

use std::borrow::Cow;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use kymo_core::Value;
use kymo_model::timeline::{Clock, DisplayTime, TimelineView, Tracks};
use kymo_query::{Labels, Load, Rules, VacuousRule, Violation};

use crate::cli::OpenArgs;
use crate::moment::MOMENTS;
use crate::render::grid::{Column, Grid, GridArgs, Look, maybe};
use crate::render::{escaped, measure, numbers, style};
use crate::scope::{EventNeeds, Scope, ScopeArgs};
use crate::session::{OpenedFile, Outcome, Session};
use rules::RulesFile;

/// Look whether rules hold: response times, gaps, values, order, latencies, states.
///
/// Prints a line for each place where a rule does not hold: when, on which stream, at which byte.
/// Prints nothing when all hold. What never happens is found at the end of the recording: a job that
/// is not complete, a stream that stops, a message that does not arrive.
///
/// A rule that nothing in the recording is about holds and proves nothing, so that this is said and
/// counts as a finding, also of a part of one, such as `on_time` where no job has a budget; but for
/// states that are never entered, and for what would have to be followed and never comes, which are
/// only said. --stream and --exclude choose what rules are applied to. With --since, jobs that were
/// released before that moment break no rule; messages that left before and arrive after it do.
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
    /// The file of rules; `-` is standard input.
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
    ("label", "", Look::Plain),
    ("event_file", "", Look::Plain),
    ("offset", "", Look::Plain),
    ("took_ns", "", Look::Plain),
    ("most_ns", "", Look::Plain),
    ("message", "", Look::Plain),
];

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let rules = RulesFile::read(&args.rules, &args.files)?;
    if args.grid.csv {
        Grid::new(COLUMNS).csv_header(&mut session.out)?;
    }
    args.scope.each(session, &args.files, &args.open, |session, opened, scope, _| {
        let found = RuleResults::new(session, opened, scope, &rules)?;
        session.note(if found.broken() > 0 { Outcome::Findings } else { Outcome::Done });
        found.print(session, opened, args.grid)?;
        Ok(found.report(session, opened))
    })
}

/// Results of checking rules.
pub(super) struct RuleResults {
    timeline: Arc<dyn TimelineView>,
    tracks: Tracks,
    labels: Labels,
    clocks: Vec<Clock>,
    names: Vec<String>,
    vacuous: Vec<VacuousRule>,
    pub(super) violations: Vec<Violation>,
    /// For each rule, how many more there are.
    more: Vec<u64>,
    /// Outcome of going through the events.
    outcome: Outcome,
}

impl RuleResults {
    pub(super) fn new(
        session: &mut Session,
        opened: &OpenedFile,
        scope: &Scope,
        rules: &RulesFile,
    ) -> anyhow::Result<Self> {
        let rules = rules.rules(&Arc::new(scope.idle_names()))?;
        let (tracks, clocks) = (scope.timeline.tracks(), scope.timeline.clocks());
        let mut analysis = scope.analysis(EventNeeds::Everything)?;
        let mut rules = Rules::new((&tracks, &clocks), analysis.selected_tracks(), rules);
        let mut load = Load::new();
        let names = (0..rules.len()).map(|rule| rules.name(rule).to_owned()).collect();
        let outcome = scope.run(session, opened, &mut analysis, &mut [&mut rules, &mut load])?;
        let outcome = outcome.max(scope.report_caveats(session, opened, rules.latency_caveats()));
        let (violations, more) = rules.violations(&load, analysis.tasks());
        let vacuous = rules.vacuous();
        let timeline = Arc::clone(&scope.timeline);
        let labels = Labels::new(&tracks);
        Ok(Self { timeline, tracks, labels, clocks, names, vacuous, violations, more, outcome })
    }

    /// Returns the number of times that rules do not hold.
    pub(super) fn broken(&self) -> u64 {
        self.violations.len() as u64 + self.more.iter().sum::<u64>()
    }

    pub(super) fn name(&self, violation: &Violation) -> &str {
        self.names.get(violation.rule).map_or("", String::as_str)
    }

    /// Returns the number of rules.
    pub(super) fn rules(&self) -> usize {
        self.names.len()
    }

    /// Returns the label that names the stream among all others.
    pub(super) fn label(&self, violation: &Violation) -> Cow<'_, str> {
        let label = |track| self.labels.label(&self.tracks, track);
        violation.track.map_or(Cow::Borrowed(""), label)
    }

    fn stream(&self, violation: &Violation) -> &str {
        let track = violation.track.and_then(|track| self.tracks.get(track.0));
        track.map_or("", |track| &track.name)
    }

    /// The file of a directory that the event is in.
    fn file(&self, violation: &Violation) -> Option<String> {
        self.timeline.file_of(violation.track?, violation.time, violation.offset?)
    }

    pub(super) fn time(&self, violation: &Violation) -> String {
        let track = violation.track.and_then(|track| self.tracks.get(track.0));
        let clock = track.and_then(|track| self.clocks.get(track.clock?.0));
        let time = violation.time.map(|time| DisplayTime::on_clock(clock, time));
        time.map_or(String::new(), |time| time.to_string())
    }

    fn print(
        &self,
        session: &mut Session,
        opened: &OpenedFile,
        how: GridArgs,
    ) -> anyhow::Result<()> {
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
                self.label(violation).into_owned().into(),
                self.file(violation).map_or(Value::Null, Value::from),
                maybe(violation.offset),
                maybe(violation.took_ns),
                maybe(violation.most_ns),
                violation.message(measure::duration).into(),
            ]);
        }
        Ok(grid.print(&mut session.out, how, &opened.name)?)
    }

    fn lines(&self, session: &mut Session, opened: &OpenedFile) -> anyhow::Result<()> {
        let out = &mut session.out;
        let error = out.paint().style(style::ERROR);
        for violation in &self.violations {
            let (name, stream) = (self.name(violation), self.label(violation));
            let stream = escaped(&stream);
            let file = self.file(violation).map(|file| format!(" in {}", escaped(&file)));
            let at = violation.offset.map_or(String::new(), |offset| format!(" at {offset:#x}"));
            let at = file.unwrap_or_default() + &at;
            let when = match self.time(violation) {
                time if time.is_empty() => String::new(),
                time => format!(" {time} {stream}{at}:"),
            };
            let message = violation.message(measure::duration);
            let (name, message) = (escaped(name), escaped(&message));
            writeln!(out, "{}: {error}{name}{error:#}:{when} {message}", opened.name)?;
        }
        Ok(())
    }

    /// Returns, for each rule, the number of violations besides the first few, which are listed one
    /// by one.
    pub(super) fn omitted_violations(&self, told: usize) -> Vec<String> {
        let mut more = self.more.clone();
        for violation in self.violations.iter().skip(told) {
            *kymo_core::slot(&mut more, violation.rule) += 1;
        }
        let text = |(name, more): (&String, u64)| {
            format!("{}: {} more", escaped(name), numbers::count(more, "violation", "violations"))
        };
        self.names.iter().zip(more).filter(|(_, more)| *more > 0).map(text).collect()
    }

    /// Returns the rules that prove nothing, and the reasons.
    pub(super) fn vacuous(&self) -> Vec<String> {
        let text = |vacuous_rule: &VacuousRule| {
            let name = self.names.get(vacuous_rule.rule).map_or("", String::as_str);
            let part =
                vacuous_rule.part.as_ref().map_or(String::new(), |part| format!(" about {part}"));
            let (name, why) = (escaped(name), escaped(&vacuous_rule.why));
            format!("the rule \"{name}\" proves nothing{part}: {why}")
        };
        self.vacuous.iter().map(text).collect()
    }

    /// Says what is not shown, and which rules prove nothing. Tells what that means for the exit
    /// code.
    pub(super) fn report(&self, session: &mut Session, opened: &OpenedFile) -> Outcome {
        let mut outcome = self.outcome;
        if self.broken() > 0 {
            outcome = outcome.max(Outcome::Findings);
        }
        for text in self.omitted_violations(self.violations.len()).into_iter().chain(self.vacuous())
        {
            session.report.remark(&opened.name, text);
        }
        if self.vacuous.iter().any(|vacuous_rule| vacuous_rule.is_suspect) {
            outcome = outcome.max(Outcome::Findings);
        }
        outcome
    }
}
