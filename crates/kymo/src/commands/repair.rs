//! `kymo repair`: saves what can be saved of a damaged file, and says what was lost.

use std::path::PathBuf;

use kymo_core::Progress;
use kymo_model::{Ability, Repaired};

use crate::cli::FormatArgs;
use crate::failure::{Failure, Unreadable};
use crate::inputs;
use crate::outlet;
use crate::render::alike::{self, Few};
use crate::render::numbers;
use crate::session::{Named, Outcome, Session, format_of};

/// Write a sound file of what can be read of a damaged one.
///
/// Every sound record is kept, those after a damaged place included. What was lost is said on
/// standard error, with the byte it stood at; losses that differ only in where they are are one
/// line with their number, and of one rule no more than 20 lines are shown: --all shows each. The
/// input is never changed; the output appears whole or not at all.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo repair cut.bp whole.bp           keep what is sound
  kymo repair --force cut.bp whole.bp   replace whole.bp
  kymo repair cut.bp - | kymo ls -l -   look at the result before keeping it
  kymo check cut.bp                     see first what is wrong

EXIT STATUS
  0 the input was sound, 1 failed, 2 bad usage, 3 repaired, with losses or corrections")]
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
    let repaired = repair(session, args).map_err(|error| Unreadable::of(error, || false));
    let repaired = repaired.map_err(|error| match error.downcast::<Named>() {
        Ok(named) => anyhow::Error::new(named),
        Err(error) => Named::error(name.as_str(), error),
    })?;
    say(session, args, &name, &repaired);
    let one = repaired.unit.strip_suffix('s').unwrap_or(repaired.unit);
    let kept = numbers::count(repaired.kept, one, repaired.unit);
    let to = match inputs::display(&args.output) {
        name if name == "-" => "standard output".to_owned(),
        name => name,
    };
    let said = |count: usize, one, many| numbers::count(count as u64, one, many);
    let losses = said(repaired.losses.len(), "loss", "losses");
    let corrected =
        said(repaired.corrected.len(), "thing corrected or odd", "things corrected or odd");
    match (repaired.losses.is_empty(), repaired.corrected.is_empty()) {
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
    Ok(Outcome::of(&repaired.losses).max(Outcome::of(&repaired.corrected)))
}

/// Says what was lost and what is odd, alike things together.
fn say(session: &mut Session, args: &Args, name: &str, repaired: &Repaired) {
    let findings = repaired.losses.iter().chain(&repaired.corrected);
    if args.all {
        for finding in findings {
            session.report.finding(name, finding);
        }
        return;
    }
    let Few { shown, rest } = alike::few(findings);
    for alike in shown {
        session.report.alike(name, alike);
    }
    for rest in rest {
        session.report.remark(name, alike::rest_text(rest));
    }
}

fn repair(session: &mut Session, args: &Args) -> anyhow::Result<Repaired> {
    let source = session.source_as(&args.input, &args.format)?;
    session.assume(&args.format);
    if source.is_directory() && args.output.as_os_str() == "-" {
        let failure = Failure::new("the result is a directory");
        return Err(failure.hint("name one instead of -").into());
    }
    let format = format_of(&source, &args.format)?;
    if !format.info().can(Ability::Repair) {
        let why = format!("files of format {} cannot be repaired", format.info().title);
        return Err(Failure::new(why).into());
    }
    let about = |error| outlet::about(&args.output, error);
    source.refuse_output(&args.output).map_err(about)?;
    outlet::refuse_other_name(&args.output, format.info())?;
    if source.is_directory() && args.force {
        outlet::refuse_stranger(session, &args.output, format.info())?;
    }
    let sources = std::slice::from_ref(&source);
    let repaired = outlet::make(session, &args.output, args.force, sources, |to, context| {
        format.repair(&source, to, context)
    });
    session.bars.end();
    // What went wrong may well come from a change of the file.
    source.verify()?;
    repaired
}
