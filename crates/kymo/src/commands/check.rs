//! `kymo check`: what is wrong with a file, and where.

use std::io::Write;
use std::path::{Path, PathBuf};

use kymo_core::bytes::Limits;
use kymo_core::{Finding, Progress, Severity, Source};
use kymo_model::Format;
use kymo_model::profile::{
    Detail, FlatGrouping, MetricId, MetricQuery, ProfileView, SpentScope, ThreadId, TopRows,
    flat_most, per_thread, top_down,
};
use kymo_query::Calls;

use crate::cli::FormatArgs;
use crate::failure::Unreadable;
use crate::inputs;
use crate::profiles::{calls_finding, figures_finding};
use crate::render::alike::{self, GroupedFindings};
use crate::render::{numbers, style};
use crate::session::{Outcome, Session, format_of};

/// Check files against every rule of their format.
///
/// Prints one line for each finding, with the byte it was found at, and goes on where opening a
/// file would stop. Findings that differ only in where they are are one line with their number, and
/// of one rule no more than 20 lines are shown; --all shows each. Prints nothing for a sound file.
/// Known quirks of the programs that wrote files in the field are notes, which --notes shows; a sound
/// file may have them, and of a single file it is said on standard error that there are some.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo check run.bp                     all that is wrong with a file
  kymo check -v run.bp                  known quirks of its writer too
  kymo check --all run.bp               each finding, however many are alike
  kymo check archive/                   every recording in a directory
  kymo check --json run.bp | jq .rule   findings as JSON lines
  kymo check run.bp && echo sound       in a script

EXIT STATUS
  0 sound, 1 a file could not be checked, 2 bad usage, 3 findings")]
pub(crate) struct Args {
    /// Files or directories; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Show notes too: known quirks that make no file unsound.
    #[arg(short = 'v', long, visible_alias = "verbose")]
    notes: bool,

    /// Print each finding on a line of its own, however many are alike.
    #[arg(short, long)]
    all: bool,

    /// Print one JSON object a finding, notes included; all of them.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    format: FormatArgs,
}

/// Findings of all files together.
#[derive(Default)]
struct Totals {
    files: u64,
    severities: Vec<Severity>,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let inputs = session.expand(&args.files, &args.format);
    let mut totals = Totals::default();
    let is_alone = inputs.len() == 1;
    let outcome = session.each(inputs, |session, path| {
        let findings = check(session, args, path)?;
        let name = inputs::display(path);
        let outcome = Outcome::from_findings(&findings);
        match print(session, args, &name, &findings) {
            // Whoever reads it has seen enough; what was found decides all the same.
            Err(_) if session.out.is_closed() => return Ok(outcome),
            printed => printed?,
        }
        totals.files += 1;
        totals.severities.extend(findings.iter().map(|finding| finding.severity));
        if outcome == Outcome::Done {
            let is_told = args.notes || args.json;
            match findings.as_slice() {
                [note] if is_alone && !is_told => {
                    session.report.remark(&name, format_args!("sound; a note: {}", note.message));
                }
                [_, _, ..] if is_alone && !is_told => {
                    let notes = findings.len();
                    let said = format_args!("sound; {notes} notes, which -v shows");
                    session.report.remark(&name, said);
                }
                _ if session.report.is_watched() => session.report.remark(&name, "sound"),
                _ => {}
            }
        }
        Ok(outcome)
    })?;
    summarise(session, &totals);
    Ok(outcome)
}

fn print(
    session: &mut Session,
    args: &Args,
    name: &str,
    findings: &[Finding],
) -> anyhow::Result<()> {
    let out = &mut session.out;
    if args.json {
        for finding in findings {
            out.json(&style::finding_json(name, finding))?;
        }
        return Ok(out.flush()?);
    }
    let shown = findings.iter().filter(|one| args.notes || one.severity >= Severity::Warning);
    if args.all {
        for finding in shown {
            let text = style::finding(finding, out.paint());
            writeln!(out, "{name}: {text}")?;
        }
        return Ok(out.flush()?);
    }
    let GroupedFindings { shown, rest } = alike::group_findings(shown);
    for finding in shown {
        let text = alike::text(finding, out.paint());
        writeln!(out, "{name}: {text}")?;
    }
    for rest in rest {
        writeln!(out, "{name}: {}", alike::rest_text(rest))?;
    }
    Ok(out.flush()?)
}

fn check(session: &mut Session, args: &Args, path: &Path) -> anyhow::Result<Vec<Finding>> {
    let source = session.source_as(path, &args.format)?;
    session.assume(&args.format);
    // The rules of one format say nothing of another, whatever its name says.
    let format = format_of(&source, &args.format)?;
    let checked = all(session, &source, format);
    session.bars.end();
    source.verify()?;
    // A check says all that is wrong by itself: it is no help to run it again.
    checked.map_err(|error| Unreadable::from_error(error.into(), || false))
}

/// All that is wrong with a source: by the rules of its format, and with the figures that commands show.
pub(super) fn all(
    session: &Session,
    source: &Source,
    format: &dyn Format,
) -> kymo_core::Result<Vec<Finding>> {
    let mut findings = format.check(source, &session.context())?;
    findings.extend(profile_findings(session, source, format));
    Ok(findings)
}

/// What is odd about the figures of a profile, and does not fit in the calls of functions that one is
/// made of, as all commands say it.
fn profile_findings(session: &Session, source: &Source, format: &dyn Format) -> Vec<Finding> {
    // What cannot be opened or read was found before.
    let Ok(dataset) = format.open(source, &session.context()) else { return Vec::new() };
    if let Some(view) = dataset.profile() {
        return inconsistent_figures(view.as_ref()).into_iter().collect();
    }
    let calls = dataset.timeline().map(|timeline| Calls::new(&timeline, &Limits::default()));
    let Some(Ok(Some(calls))) = calls else { return Vec::new() };
    let view = calls.profile();
    let doubts = view.caveats();
    let found = doubts.iter().map(|text| calls_finding(text));
    found.chain(inconsistent_figures(view.as_ref())).collect()
}

/// What no program does, of the first metric of which there is something.
fn inconsistent_figures(view: &dyn ProfileView) -> Option<Finding> {
    let totals = view.totals(None).ok()?;
    let ids = (0..).map(MetricId).zip(&totals).filter(|(_, total)| **total != 0.0);
    let odd = ids.map(|(metric, _)| MetricQuery { view, metric, threads: None });
    let odd = odd.filter_map(|question| inconsistent_figure(&question).ok().flatten());
    odd.map(|odd| figures_finding(&odd)).next()
}

/// The same of one metric: by function, by path, by thread.
fn inconsistent_figure(question: &MetricQuery<'_>) -> kymo_core::Result<Option<String>> {
    let most = TopRows { number: Some(1), is_inclusive: false };
    if let Some(odd) = flat_most(question, FlatGrouping::Function, most)?.odd {
        return Ok(Some(odd));
    }
    if let Some(odd) = top_down(question, Detail::default(), usize::MAX)?.odd {
        return Ok(Some(odd));
    }
    let spent = per_thread(question, SpentScope::All)?;
    let is_known = |(id, _): &(u32, &f64)| !question.view.is_incomplete(ThreadId(*id));
    let known: Vec<f64> = (0..).zip(&spent).filter(is_known).map(|(_, spent)| *spent).collect();
    if known.iter().all(|spent| spent.is_finite()) {
        Ok(None)
    } else {
        question.thread_inconsistency(&known)
    }
}

/// Says how much was found, unless that is plain from what was said already.
fn summarise(session: &mut Session, totals: &Totals) {
    let hidden = |severity: &&Severity| **severity == Severity::Note;
    let notes = totals.severities.iter().filter(hidden).count();
    let found = totals.severities.len() - notes;
    if totals.files == 0 || (found == 0 && totals.files == 1) {
        return;
    }
    let files = numbers::count(totals.files, "file", "files");
    let counts = match numbers::severities(&totals.severities) {
        counts if counts.is_empty() => "all sound".to_owned(),
        counts if found == 0 => format!("all sound ({counts})"),
        counts => counts,
    };
    session.report.remark(&files, counts);
}
