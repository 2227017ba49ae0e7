//! One run of the program: opens files, reports what is wrong with them, keeps going.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kymo_core::bytes::Limits;
use kymo_core::{Context, Error, Finding, Progress, Severity, Source};
use kymo_model::timeline::TimelineView;
use kymo_model::{Capability, Dataset, Format, Table};
use kymo_query::{Recorded, common_tables};

use crate::cli::{Command, FormatArgs, Globals, OpenArgs};
use crate::commands;
use crate::failure::{self, Unreadable};
use crate::inputs::{self, Input};
use crate::output::Output;
use crate::progress::Bars;
use crate::report::Report;
use crate::watched::Watched;

/// Outcome of a command. The worst of several files counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// All is well.
    Done,
    /// Done, but something is wrong with a file, or something was lost.
    Findings,
    /// Not done.
    Failed,
    /// Not done, for what was typed makes no sense.
    BadUsage,
}

impl Outcome {
    /// Returns the outcome that findings lead to.
    pub(crate) fn from_findings(findings: &[Finding]) -> Self {
        findings.iter().map(Self::from_finding).max().unwrap_or(Self::Done)
    }

    /// Returns the outcome that a finding leads to: notes are no reason for alarm.
    pub(crate) fn from_finding(finding: &Finding) -> Self {
        if finding.severity >= Severity::Warning { Self::Findings } else { Self::Done }
    }

    fn from_error(error: &anyhow::Error) -> Self {
        if failure::is_usage(error) { Self::BadUsage } else { Self::Failed }
    }
}

/// One run of the program.
pub(crate) struct Session {
    /// Destination of results.
    pub(crate) out: Output,
    /// Destination of everything else.
    pub(crate) report: Report,
    /// Draws how far long work is.
    pub(crate) bars: Arc<Bars>,
    /// The same, as formats know it.
    progress: Arc<dyn Progress>,
    limits: Limits,
    /// True if `--utf8` was given for the file that was opened last.
    is_utf8: bool,
    /// Value of `--frequency` for it.
    ticks_per_second: Option<u64>,
    /// The worst that was found out before it could be printed.
    found: Outcome,
}

/// A file and what opening it gave.
pub(crate) struct OpenedFile {
    /// The path as messages name it.
    pub(crate) name: String,
    pub(crate) source: Source,
    pub(crate) format: &'static dyn Format,
    pub(crate) dataset: Arc<dyn Dataset>,
    /// Options with which it was opened, as they were typed.
    options: String,
    bars: Arc<Bars>,
}

impl OpenedFile {
    /// The bytes of the file, or of all files below the directory.
    pub(crate) fn size_bytes(&self) -> u64 {
        let all = self.source.is_directory().then(|| inputs::size_bytes(self.source.path()).ok());
        all.flatten().unwrap_or_else(|| self.source.size_bytes())
    }

    /// The tables that every format has.
    pub(crate) fn common_tables(&self) -> Vec<Arc<dyn Table>> {
        common_tables(&Recorded {
            path: self.name.clone(),
            bytes: Some(self.size_bytes()),
            format: self.format.info(),
            dataset: Arc::clone(&self.dataset),
        })
    }

    /// Returns the timeline of events, where it is recorded. A pass through it shows its progress.
    pub(crate) fn timeline(&self) -> Option<Arc<dyn TimelineView>> {
        let timeline = self.dataset.timeline()?;
        Some(Watched::wrap(timeline, &self.bars, self.size_bytes()))
    }
}

impl Session {
    /// A session on the standard streams.
    pub(crate) fn new(globals: Globals) -> Self {
        let report = Report::stderr(globals.color, globals.quiet);
        let bars = Arc::new(Bars::new(report.is_watched()));
        Self {
            out: Output::stdout(globals.color, &bars),
            progress: Arc::clone(&bars) as Arc<dyn Progress>,
            bars,
            report,
            limits: Limits::default(),
            is_utf8: false,
            ticks_per_second: None,
            found: Outcome::Done,
        }
    }

    /// A session that looks like this one and says everything, on both streams, to one place.
    pub(crate) fn captured<W: Write + Clone + 'static>(&self, writer: &W) -> Self {
        let is_terminal = self.out.is_terminal();
        let bars = Arc::new(Bars::new(false));
        Self {
            out: self.out.with_writer(Box::new(writer.clone())),
            report: Report::with_writer(Box::new(writer.clone()), self.out.paint(), is_terminal),
            progress: Arc::clone(&bars) as Arc<dyn Progress>,
            bars,
            limits: self.limits,
            is_utf8: self.is_utf8,
            ticks_per_second: self.ticks_per_second,
            found: Outcome::Done,
        }
    }

    /// Runs a command to its end, and reports why it failed if it did.
    pub(crate) fn run(&mut self, command: &Command) -> Outcome {
        let result = self.run_command(command);
        let result = result.and_then(|outcome| match self.out.flush() {
            // What was found out decides, however much of it was read.
            Err(_) if self.out.is_closed() => Ok(outcome),
            flushed => Ok(flushed.map(|()| outcome)?),
        });
        match result {
            Ok(outcome) => outcome,
            // Whoever read our output has seen enough. What was found until then decides.
            Err(_) if self.out.is_closed() => self.found,
            Err(error) => self.fail(&error),
        }
    }

    fn run_command(&mut self, command: &Command) -> anyhow::Result<Outcome> {
        match command {
            Command::Info(args) => commands::info::run(self, args),
            Command::Ls(args) => commands::ls::run(self, args),
            Command::Dump(args) => commands::dump::run(self, args),
            Command::Top(args) => commands::top::run(self, args),
            Command::Tree(args) => commands::tree::run(self, args),
            Command::Callers(args) => commands::callers::run(self, args),
            Command::Threads(args) => commands::threads::run(self, args),
            Command::Trace(args) => commands::trace::run(self, args),
            Command::Flame(args) => commands::flame::run(self, args),
            Command::Load(args) => commands::load::run(self, args),
            Command::Sched(args) => commands::sched::run(self, args),
            Command::Messages(args) => commands::messages::run(self, args),
            Command::States(args) => commands::states::run(self, args),
            Command::Gantt(args) => commands::gantt::run(self, args),
            Command::Prof(args) => commands::prof::run(self, args),
            Command::Assert(args) => commands::assert::run(self, args),
            Command::Report(args) => commands::report::run(self, args),
            Command::Check(args) => commands::check::run(self, args),
            Command::Repair(args) => commands::repair::run(self, args),
            Command::Convert(args) => commands::convert::run(self, args),
            Command::Diff(args) => commands::diff::run(self, args),
            Command::Plot(args) => commands::plot::run(self, args),
            Command::Cut(args) => commands::cut::run(self, args),
            Command::Filter(args) => commands::filter::run(self, args),
            Command::Merge(args) => commands::merge::run(self, args),
            Command::Follow(args) => commands::follow::run(self, args),
            Command::Record(args) => commands::record::run(self, args),
            Command::Formats(args) => commands::formats::run(self, args),
            Command::Demo(args) => commands::demo::run(self, args),
            Command::Completions(args) => commands::completions::run(self, args),
            Command::Man(args) => commands::man::run(self, args),
        }
    }

    /// Keeps in mind what was found out, for when whoever reads our output goes away before all of it
    /// is printed.
    pub(crate) fn note(&mut self, outcome: Outcome) {
        self.found = self.found.max(outcome);
    }

    /// Reports why a command failed.
    pub(crate) fn fail(&mut self, error: &anyhow::Error) -> Outcome {
        if let Some(failure) = self.out.failure() {
            let failure = std::io::Error::new(failure.kind(), failure.to_string());
            let name = self.out.name().to_owned();
            self.error(&name, &kymo_core::Error::io("write")(failure).into());
        } else {
            self.bars.end();
            let _ = self.out.flush();
            self.report.failure(error);
        }
        Outcome::from_error(error)
    }

    /// Reports an error with a file.
    pub(crate) fn error(&mut self, name: &str, error: &anyhow::Error) {
        self.bars.end();
        // Results that came before stand before.
        let _ = self.out.flush();
        self.report.error(name, error);
    }

    /// Works on each file, goes on after a failed one, and tells the worst that happened.
    pub(crate) fn each(
        &mut self,
        inputs: Vec<Input>,
        mut work: impl FnMut(&mut Self, &Path) -> anyhow::Result<Outcome>,
    ) -> anyhow::Result<Outcome> {
        let mut worst = Outcome::Done;
        for input in inputs {
            let (path, result) = match input {
                Ok(path) => {
                    let result = work(self, &path);
                    (path, result)
                }
                Err((path, error)) => (path, Err(error)),
            };
            worst = worst.max(match result {
                Ok(outcome) => outcome,
                Err(_) if self.out.is_closed() => return Ok(worst.max(self.found)),
                Err(error) if self.out.failure().is_some() => return Err(error),
                Err(error) => {
                    self.error(&inputs::display(&path), &error);
                    Outcome::from_error(&error)
                }
            });
            if self.out.is_closed() {
                break;
            }
        }
        Ok(worst)
    }

    /// Opens each file and works on what it holds.
    pub(crate) fn each_dataset(
        &mut self,
        inputs: Vec<Input>,
        how: &OpenArgs,
        mut work: impl FnMut(&mut Self, &OpenedFile) -> anyhow::Result<Outcome>,
    ) -> anyhow::Result<Outcome> {
        self.each(inputs, |session, path| {
            session.with_dataset(path, how, |session, opened| work(session, opened))
        })
    }

    /// Opens a file, works on what it holds, and makes sure that it stayed the same.
    pub(crate) fn with_dataset(
        &mut self,
        path: &Path,
        how: &OpenArgs,
        work: impl FnOnce(&mut Self, &OpenedFile) -> anyhow::Result<Outcome>,
    ) -> anyhow::Result<Outcome> {
        let source = self.source_as(path, &how.format)?;
        let result = self.open(&source, how).and_then(|opened| {
            let result = work(self, &opened);
            if result.is_ok() {
                let _ = self.out.flush();
            }
            match (result, self.out.failure()) {
                // However much of it was read.
                (result, Some(_)) if self.out.is_closed() => {
                    let outcome = result.unwrap_or(Outcome::Done).max(self.found);
                    Ok(outcome.max(Outcome::from_findings(&opened.dataset.findings())))
                }
                (Ok(_), Some(failure)) => {
                    Err(std::io::Error::new(failure.kind(), failure.to_string()).into())
                }
                (result, _) => result,
            }
        });
        self.bars.end();
        // What else went wrong may well come from the change.
        source.verify()?;
        let can_repair = || {
            let format = format_of(&source, &how.format);
            format.is_ok_and(|format| format.info().abilities.contains(&Capability::Repair))
        };
        result.map_err(|error| Unreadable::from_error(error, can_repair))
    }

    /// Opens a source that is kept open.
    pub(crate) fn open_as(
        &mut self,
        source: &Source,
        how: &FormatArgs,
    ) -> anyhow::Result<OpenedFile> {
        self.open(source, &OpenArgs { format: how.clone(), salvage: false })
    }

    /// Opens a source as the options say.
    pub(crate) fn open(&mut self, source: &Source, how: &OpenArgs) -> anyhow::Result<OpenedFile> {
        let format = format_of(source, &how.format)?;
        self.assume(&how.format);
        let context = self.context();
        let dataset = if how.salvage {
            format.salvage(source, &context)
        } else {
            format.open(source, &context)
        };
        let can_repair = || format.info().abilities.contains(&Capability::Repair);
        let dataset = dataset.map_err(|error| Unreadable::from_error(error.into(), can_repair))?;
        self.bars.end();
        let (name, options) = (inputs::display(source.path()), how.format.typed());
        let bars = Arc::clone(&self.bars);
        let dataset = Arc::from(dataset);
        Ok(OpenedFile { name, source: source.clone(), format, dataset, options, bars })
    }

    /// Reports what is wrong with an opened file, and what that means for the exit code.
    pub(crate) fn findings(&mut self, opened: &OpenedFile) -> Outcome {
        let findings = opened.dataset.findings();
        let _ = self.out.flush();
        self.report.findings(&opened.name, &opened.options, &findings);
        Outcome::from_findings(&findings)
    }

    /// The files meant by paths, directories among them walked through.
    pub(crate) fn expand(&self, paths: &[PathBuf], how: &FormatArgs) -> Vec<Input> {
        inputs::expand(paths, named_format(how), |path| self.source_as(path, how))
    }

    /// Opens a source without looking into it.
    pub(crate) fn source(&self, path: &Path) -> kymo_core::Result<Source> {
        Source::open(path, &self.limits)
    }

    /// Opens a source without looking into it, with the grammar that was named.
    pub(crate) fn source_as(&self, path: &Path, how: &FormatArgs) -> kymo_core::Result<Source> {
        let source = self.source(path)?;
        let Some(grammar) = &how.grammar else { return Ok(source) };
        let grammar = Source::open(grammar, &self.limits).map_err(|error| {
            Error::Request(format!("the grammar {}: {error}", inputs::display(grammar)))
        })?;
        Ok(source.with_grammar(grammar))
    }

    /// Takes for granted what the options say of a file and the file does not.
    pub(crate) fn assume(&mut self, how: &FormatArgs) {
        (self.is_utf8, self.ticks_per_second) = (how.utf8, how.frequency);
    }

    /// Returns the context under which operations of a format run.
    pub(crate) fn context(&self) -> Context<'_> {
        let Self { limits, progress, is_utf8, ticks_per_second, .. } = self;
        Context {
            limits: *limits,
            progress,
            is_utf8: *is_utf8,
            ticks_per_second: *ticks_per_second,
        }
    }
}

/// The format of a file: the one that was named, or the one that is found.
pub(crate) fn format_of(source: &Source, how: &FormatArgs) -> anyhow::Result<&'static dyn Format> {
    let format = match named_format(how) {
        Some(format) => format,
        None => kymo_registry::detect(source)?.format,
    };
    source.read_as(|folder| format.sniff(folder).is_some());
    Ok(format)
}

/// The format that `--from` names.
pub(crate) fn named_format(how: &FormatArgs) -> Option<&'static dyn Format> {
    how.from.as_deref().and_then(kymo_registry::by_name)
}

/// An error with the file or the thing it is about, for commands that work on one.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) error: anyhow::Error,
}

impl Named {
    /// Says what an error is about.
    pub(crate) fn error(name: impl Into<String>, error: impl Into<anyhow::Error>) -> anyhow::Error {
        anyhow::Error::new(Self { name: name.into(), error: error.into() })
    }
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:#}", self.name, self.error)
    }
}

impl std::error::Error for Named {}
