//! `kymo check`: what is wrong with a file, and where.

use std::io::Write;
use std::path::{Path, PathBuf};

use kymo_core::{Finding, Progress, Severity};

use crate::cli::FormatArgs;
use crate::inputs;
use crate::render::{numbers, style};
use crate::session::{Outcome, Session, named_format};

/// Check files against every rule of their format.
///
/// Prints one line for each finding, with the byte it was found at, and goes on where opening a
/// file would stop. Prints nothing for a sound file. Known quirks of the programs that wrote
/// files in the field are notes, which --notes shows; a sound file may have them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo check run.bp                     all that is wrong with a file
  kymo check -v run.bp                  known quirks of its writer too
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

    /// Print one JSON object a finding, notes included.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    format: FormatArgs,
}

/// What was found in all files together.
#[derive(Default)]
struct Totals {
    files: u64,
    severities: Vec<Severity>,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let inputs = session.expand(&args.files, &args.format);
    let mut totals = Totals::default();
    let outcome = session.each(inputs, |session, path| {
        let findings = check(session, args, path)?;
        let name = inputs::display(path);
        for finding in &findings {
            if args.json {
                session.out.json(&style::finding_json(&name, finding))?;
            } else if args.notes || finding.severity >= Severity::Warning {
                let text = style::finding(finding, session.out.paint());
                writeln!(session.out, "{name}: {text}")?;
            }
        }
        session.out.flush()?;
        totals.files += 1;
        totals.severities.extend(findings.iter().map(|finding| finding.severity));
        let outcome = Outcome::of(&findings);
        if outcome == Outcome::Done && session.report.is_watched() {
            session.report.remark(&name, "sound");
        }
        Ok(outcome)
    })?;
    summarise(session, &totals);
    Ok(outcome)
}

fn check(session: &mut Session, args: &Args, path: &Path) -> anyhow::Result<Vec<Finding>> {
    let source = session.source_as(path, &args.format)?;
    session.is_utf8 = args.format.utf8;
    let (format, findings) = match named_format(&args.format) {
        Some(format) => (format, Vec::new()),
        None => kymo_registry::detect_to_check(&source)?,
    };
    if !findings.is_empty() {
        // Only its name says that it is of this format, and the rules of one say nothing of another.
        return Ok(findings);
    }
    let checked = format.check(&source, &session.context());
    session.bars.end();
    source.verify()?;
    Ok(checked?)
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
