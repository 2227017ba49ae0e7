//! `kymo repair`: saves what can be saved of a damaged file, and says what was lost.

use std::path::PathBuf;

use kymo_core::{Finding, Progress, Severity};
use kymo_model::{Capability, RepairReport};

use super::check;
use crate::cli::FormatArgs;
use crate::failure::{Failure, Unreadable};
use crate::inputs;
use crate::outlet;
use crate::render::alike::{self, GroupedFindings};
use crate::render::numbers;
use crate::session::{Named, Outcome, Session, format_of};

/// Write a sound file of what can be read of a damaged one.
///
/// Every sound record is kept, those after a damaged place included. What was lost is said on
/// standard error, with the byte it stood at; losses that differ only in where they are are one
/// line with their number, and of one rule no more than 20 lines are shown: --all shows each. What is
/// odd and cannot be corrected is written as it is, and said: that is what `kymo check` reports of the
/// output. What goes to standard output or a pipe is not looked at again. The input is never changed;
/// the output appears whole or not at all.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo repair cut.bp whole.bp           keep what is sound
  kymo repair --force cut.bp whole.bp   replace whole.bp
  kymo repair cut.bp - | kymo ls -l -   look at the result before keeping it
  kymo check cut.bp                     see first what is wrong

EXIT STATUS
  0 the input was sound, 1 failed, 2 bad usage, 3 repaired, with losses, corrections or odd left")]
pub(crate) struct Args {
    /// The damaged file; `-` is standard input.
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The file to write; `-` is standard output. Devices and named pipes are written to.
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// Replace OUT if it exists.
    #[arg(short, long)]
    force: bool,

    /// Say each loss on a line of its own, however many are alike.
    #[arg(short, long)]
    all: bool,

    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let name = inputs::display(&args.input);
    // What cannot be repaired is not to be repaired once more.
    let repaired = repair(session, args).map_err(|error| Unreadable::from_error(error, || false));
    let repaired = repaired.map_err(|error| match error.downcast::<Named>() {
        Ok(named) => anyhow::Error::new(named),
        Err(error) => Named::error(name.as_str(), error),
    })?;
    let (mut repaired, remaining) = repaired;
    let is_of_rule =
        |finding: &Finding, among: &[Finding]| among.iter().any(|other| other.rule == finding.rule);
    // What a format says that it corrected, and is in the result all the same, was not corrected.
    let (mut odd, corrected): (Vec<_>, Vec<_>) = std::mem::take(&mut repaired.corrected)
        .into_iter()
        .partition(|finding| is_of_rule(finding, &remaining));
    let is_said =
        |finding: &Finding| is_of_rule(finding, &odd) || is_of_rule(finding, &repaired.losses);
    let unsaid: Vec<_> = remaining.into_iter().filter(|finding| !is_said(finding)).collect();
    odd.extend(unsaid);
    repaired.corrected = corrected;
    report(session, args, &name, repaired.losses.iter().chain(&repaired.corrected).chain(&odd));
    let one = repaired.unit.strip_suffix('s').unwrap_or(repaired.unit);
    let kept = numbers::count(repaired.kept, one, repaired.unit);
    let to = match inputs::display(&args.output) {
        name if name == "-" => "standard output".to_owned(),
        name => name,
    };
    let said = |count: usize, one, many| numbers::count(count as u64, one, many);
    let losses = said(repaired.losses.len(), "loss", "losses");
    let changed = said(repaired.corrected.len(), "thing corrected", "things corrected");
    let left = said(odd.len(), "thing odd as before", "things odd as before");
    let corrected = match (repaired.corrected.is_empty(), odd.is_empty()) {
        (false, true) => changed,
        (true, _) => left,
        (false, false) => format!("{changed}, {left}"),
    };
    let is_as_before = repaired.corrected.is_empty() && odd.is_empty();
    match (repaired.losses.is_empty(), is_as_before) {
        (true, true) => {
            session.report.remark(&name, format_args!("sound; {to} has all of it, {kept}"));
        }
        (true, false) => {
            let said = format_args!("{to} has all of it, {kept}; {corrected}");
            session.report.remark(&name, said);
        }
        (false, true) => {
            session.report.remark(&name, format_args!("{kept} kept in {to}, {losses}"));
        }
        (false, false) => {
            session
                .report
                .remark(&name, format_args!("{kept} kept in {to}, {losses}; {corrected}"));
        }
    }
    let outcomes =
        [&repaired.losses, &repaired.corrected, &odd].map(|found| Outcome::from_findings(found));
    Ok(outcomes.into_iter().fold(Outcome::Done, Outcome::max))
}

/// Says what was lost and what is odd, alike things together.
fn report<'a>(
    session: &mut Session,
    args: &Args,
    name: &str,
    findings: impl Iterator<Item = &'a Finding>,
) {
    if args.all {
        for finding in findings {
            session.report.finding(name, finding);
        }
        return;
    }
    let GroupedFindings { shown, rest } = alike::group_findings(findings);
    for alike in shown {
        session.report.print_group(name, alike);
    }
    for rest in rest {
        session.report.remark(name, alike::rest_text(rest));
    }
}

/// Repairs a file, and tells what `check` reports of the result.
fn repair(session: &mut Session, args: &Args) -> anyhow::Result<(RepairReport, Vec<Finding>)> {
    let source = session.source_as(&args.input, &args.format)?;
    session.assume(&args.format);
    if source.is_directory() && args.output.as_os_str() == "-" {
        let failure = Failure::new("the result is a directory");
        return Err(failure.hint("name one instead of -").into());
    }
    let format = format_of(&source, &args.format)?;
    if !format.info().can(Capability::Repair) {
        let why = format!("files of format {} cannot be repaired", format.info().title);
        return Err(Failure::new(why).into());
    }
    let about = |error| outlet::about(&args.output, error);
    source.refuse_output(&args.output).map_err(about)?;
    outlet::refuse_other_name(&args.output, format.info())?;
    if source.is_directory() && args.force {
        outlet::refuse_foreign_directory(session, &args.output, format.info())?;
    }
    let sources = std::slice::from_ref(&source);
    let repaired = outlet::make(session, &args.output, args.force, sources, |to, context| {
        format.repair(&source, to, context)
    });
    session.bars.end();
    // What went wrong may well come from a change of the file.
    source.verify()?;
    let repaired = repaired?;
    if !(args.output.is_file() || args.output.is_dir()) {
        return Ok((repaired, Vec::new()));
    }
    let written = session.source_as(&args.output, &args.format)?;
    let mut remaining = check::all(session, &written, format)?;
    session.bars.end();
    remaining.retain(|finding| finding.severity > Severity::Note);
    Ok((repaired, remaining))
}
