//! The arrays of files, for other tools: one output a file.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kymo_arrays_convert::{Converted, Job, Loss, Target};
use kymo_core::model::arrays::{ArraysView, VariableId};
use kymo_core::{Context, Destination, Error, Progress, Severity, shortened};
use serde_json::json;

use super::Args;
use crate::failure::{Failure, quoted};
use crate::inputs;
use crate::outlet;
use crate::render::escaped;
use crate::session::{Named, Opened, Outcome, Session};
use crate::variables;

/// Losses of one kind of a file that are said one by one; `--json` has all.
const LOSSES_SHOWN: usize = 3;

/// What is said of a loss in full, if it is no longer.
const LINE_BYTES_MAX: usize = 240;

/// Names that are listed in a line.
const NAMES_SHOWN: usize = 3;

/// What one can say of arrays alone.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Write nothing if anything cannot stay as it was.
    #[arg(long, help_heading = "Options for arrays")]
    strict: bool,

    /// Print what was done and lost as one JSON object a file.
    #[arg(long, help_heading = "Options for arrays")]
    json: bool,

    /// To HDF5: leave values in IN and refer to them, which copies next to nothing.
    #[arg(long, help_heading = "Options for arrays")]
    link: bool,
}

impl Options {
    /// For another target, they make no sense.
    pub(super) fn refuse(&self) -> Result<(), Failure> {
        let given = [("--strict", self.strict), ("--json", self.json), ("--link", self.link)];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Failure::usage(format!("{option} is for targets of arrays"))),
            None => Ok(()),
        }
    }
}

/// Converts every file that is meant.
pub(super) fn run(
    session: &mut Session,
    args: &Args,
    target: &'static dyn Target,
) -> anyhow::Result<Outcome> {
    refuse_parts(args)?;
    let found = session.expand(&args.inputs, &args.open.format);
    // A directory that is one recording stands for itself.
    let is_itself = |input: &PathBuf| matches!(&found[..], [Ok(path)] if path == input);
    let is_one = matches!(args.inputs.as_slice(), [input] if is_itself(input));
    let outputs = if is_one { Outputs::One } else { Outputs::many(args, target, &found)? };
    outlet::clean_up_when_interrupted()?;
    for (path, error) in found.iter().filter_map(|input| input.as_ref().err()) {
        say_failure(session, args, path, error)?;
    }
    session.each(found, |session, input| {
        let converted = outputs.of(args, input).and_then(|output| {
            session.with_dataset(input, &args.open, |session, opened| {
                one(session, args, opened, target, input, &output)
            })
        });
        if let Err(error) = &converted {
            say_failure(session, args, input, error)?;
        }
        converted
    })
}

/// Converts a file.
fn one(
    session: &mut Session,
    args: &Args,
    opened: &Opened,
    target: &dyn Target,
    input: &Path,
    output: &Path,
) -> anyhow::Result<Outcome> {
    outlet::refuse_input(input, output)?;
    let converted = if args.arrays.strict && has_faults(opened) {
        Converted::default()
    } else {
        convert(session, args, opened, target, output)?
    };
    let outcome = say(session, args, opened, output, &converted)?;
    Ok(outcome.max(session.findings(opened)))
}

/// With `--json`, says of a file that it was not converted. Strictness has said so itself.
fn say_failure(
    session: &mut Session,
    args: &Args,
    input: &Path,
    error: &anyhow::Error,
) -> anyhow::Result<()> {
    if args.arrays.json && !error.is::<Refused>() {
        let (input, error) = (inputs::display(input), format!("{error:#}"));
        session.out.json(&json!({ "input": input, "written": false, "error": error }))?;
    }
    Ok(())
}

/// Why there is no output: strictness refused it.
#[derive(Debug)]
struct Refused;

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not converted: --strict, and not everything can stay as it is")
    }
}

impl std::error::Error for Refused {}

/// Whether something of a file cannot be read, or not as it should be.
fn has_faults(opened: &Opened) -> bool {
    opened.dataset.findings().iter().any(|finding| finding.severity > Severity::Note)
}

/// Arrays are converted whole.
fn refuse_parts(args: &Args) -> Result<(), Failure> {
    let is_part = !args.columns.is_empty() || !args.filter.is_empty() || args.limit.is_some();
    if args.wants_part() || is_part {
        let failure = Failure::usage("arrays are converted whole");
        return Err(failure.hint("parts of a variable go to csv or jsonl"));
    }
    Ok(())
}

/// Where outputs go.
enum Outputs {
    /// To OUT itself.
    One,
    /// Into the directory OUT, each under its own name.
    Many(HashMap<PathBuf, PathBuf>),
}

impl Outputs {
    /// A name in OUT for every input: its own with another extension, below the directories that
    /// it was found in.
    fn many(args: &Args, target: &dyn Target, found: &[inputs::Input]) -> anyhow::Result<Self> {
        let is_named_as_file = args.output.extension().is_some_and(|extension| {
            extension.to_str().and_then(kymo_arrays_convert::by_extension).is_some()
        });
        if args.output.is_file() || (is_named_as_file && !args.output.is_dir()) {
            let failure = Failure::usage("several files become files in a directory");
            let hint = format!("name a directory, and the target with --to {}", target.name());
            return Err(Named::error(inputs::display(&args.output), failure.hint(hint)));
        }
        let extension = target.extensions().first().copied().unwrap_or_default();
        let mut outputs = HashMap::new();
        let mut sources: HashMap<PathBuf, PathBuf> = HashMap::new();
        for input in found.iter().flatten() {
            let mut below = args.inputs.iter().filter(|root| root.is_dir());
            let below = below.find_map(|root| input.strip_prefix(root).ok());
            let name = below.or(input.file_name().map(Path::new)).unwrap_or(input);
            let output = args.output.join(with_extension(name, extension));
            if let Some(other) = sources.insert(output.clone(), input.clone()) {
                let [one, other] = [input, &other].map(|path| inputs::display(path));
                let failure = Failure::usage(format!("{one} and {other} would have one output"));
                let failure = failure.hint("convert them into different directories");
                return Err(Named::error(inputs::display(&output), failure));
            }
            outputs.insert(input.clone(), output);
        }
        Ok(Self::Many(outputs))
    }

    /// The output for an input, in a directory that is there.
    fn of(&self, args: &Args, input: &Path) -> anyhow::Result<PathBuf> {
        let Self::Many(outputs) = self else {
            return Ok(args.output.clone());
        };
        let output = outputs.get(input).cloned().unwrap_or_else(|| args.output.clone());
        if let Some(directory) = output.parent() {
            let made = fs::create_dir_all(directory).map_err(Error::io("create a directory"));
            made.map_err(|error| outlet::about(directory, error))?;
        }
        Ok(output)
    }
}

/// A name with another extension. One that is a number counts parts of a run, and stays.
fn with_extension(name: &Path, extension: &str) -> PathBuf {
    let old = name.extension().and_then(|old| old.to_str()).unwrap_or_default();
    if !old.is_empty() && old.bytes().all(|byte| byte.is_ascii_digit()) {
        return name.with_extension(format!("{old}.{extension}"));
    }
    name.with_extension(extension)
}

fn convert(
    session: &mut Session,
    args: &Args,
    opened: &Opened,
    target: &dyn Target,
    output: &Path,
) -> anyhow::Result<Converted> {
    let view = opened.dataset.arrays().ok_or_else(|| {
        let failure = Failure::new(format!("it has no arrays, which {} holds", target.name()));
        failure.hint("tables go to csv or jsonl")
    })?;
    let only = only(args, opened, &view, target)?;
    let only = only.as_slice();
    let link = args.arrays.link.then(|| linked(opened, target)).transpose()?;
    let work = |to: &Destination, context: &Context<'_>| {
        let job = Job {
            view: &view,
            order: args.order.into(),
            only,
            link: link.as_deref(),
            strict: args.arrays.strict,
            progress: context.progress.as_ref(),
        };
        kymo_arrays_convert::convert(&job, target, to)
    };
    let sources = std::slice::from_ref(&opened.source);
    let converted = if target.is_directory() {
        let to = own_directory(output, args.force).map_err(|error| outlet::about(output, error))?;
        work(&to.made_from(sources), &session.context()).map_err(Into::into)
    } else {
        outlet::make(session, output, args.force, sources, work)
    };
    session.bars.end();
    converted
}

/// A directory to write. One that exists is replaced only if it is such an output itself:
/// `--force` must not cost anyone their data.
fn own_directory(path: &Path, force: bool) -> kymo_core::Result<Destination> {
    let to = Destination::new(path, force);
    to.check()?;
    if path.as_os_str() == "-" {
        return Err(Error::request("a directory does not go to standard output"));
    }
    if fs::symlink_metadata(path).is_ok() && !path.join("zarr.json").is_file() {
        return Err(Error::request("it is no Zarr directory and is not replaced by one"));
    }
    Ok(to)
}

/// The file to refer to, by a path that means the same wherever one is.
fn linked(opened: &Opened, target: &dyn Target) -> anyhow::Result<PathBuf> {
    if !target.can_link() {
        let failure = Failure::usage(format!("{} cannot refer to other files", target.name()));
        return Err(failure.hint("--link is for hdf5").into());
    }
    let path = opened.source.path();
    if !path.is_file() {
        return Err(Failure::new("it is no file that one could refer to").into());
    }
    Ok(fs::canonicalize(path).map_err(Error::io("find its whole path"))?)
}

/// The variables that are wanted; none where all are. A path has several where its type changed.
fn only(
    args: &Args,
    opened: &Opened,
    view: &Arc<dyn ArraysView>,
    target: &dyn Target,
) -> anyhow::Result<Vec<VariableId>> {
    let Some(name) = args.table.as_deref().filter(|name| *name != "all") else {
        let count = view.variable_count();
        if !target.is_one_array() || count == 1 {
            return Ok(Vec::new());
        }
        let why = format!("{} holds one array, and there are {count} variables", target.name());
        let hint = format!("--table names one; `kymo ls {}` lists them", quoted(&opened.name));
        return Err(Failure::new(why).hint(hint).into());
    };
    let found = view.find(name);
    if !found.is_empty() {
        return Ok(found);
    }
    if let Some(failure) = variables::ambiguous(view.as_ref(), name, "a path") {
        return Err(failure.into());
    }
    let failure = Failure::new(format!("there is no variable {}", escaped(name)));
    Err(match variables::near(view.as_ref(), name) {
        Some(near) => failure.hint(format!("variables: {near}")),
        None => failure.hint(format!("`kymo ls {}` lists variables", quoted(&opened.name))),
    }
    .into())
}

/// Says what was lost, and what that means for the exit code.
fn say(
    session: &mut Session,
    args: &Args,
    opened: &Opened,
    output: &Path,
    converted: &Converted,
) -> anyhow::Result<Outcome> {
    let losses = &converted.losses;
    if args.arrays.json {
        let lost = losses
            .iter()
            .map(|loss| json!({ "kind": loss.kind.name(), "path": loss.path, "loss": loss.what }));
        session.out.json(&json!({
            "input": opened.name,
            "output": inputs::display(output),
            "written": converted.is_written,
            "order": args.order.name(),
            "arrays": converted.arrays,
            "attributes": converted.attributes,
            "losses": lost.collect::<Vec<_>>(),
            "copied": converted.copied,
            "findings": opened.dataset.findings(),
        }))?;
    } else {
        say_losses(session, opened, losses);
        say_copied(session, opened, &converted.copied);
    }
    if !converted.is_written {
        session.findings(opened);
        return Err(Refused.into());
    }
    Ok(if losses.is_empty() { Outcome::Done } else { Outcome::Findings })
}

/// Says the first losses of each kind, and how many more there are.
fn say_losses(session: &mut Session, opened: &Opened, losses: &[Loss]) {
    let mut kinds: Vec<_> = losses.iter().map(|loss| loss.kind).collect();
    let mut seen = HashSet::new();
    kinds.retain(|kind| seen.insert(*kind));
    for kind in kinds {
        let alike = losses.iter().filter(|loss| loss.kind == kind);
        for loss in alike.clone().take(LOSSES_SHOWN) {
            // Of names that fill a page, the first line will do.
            let is_long = loss.what.len() > LINE_BYTES_MAX;
            let what = if is_long { shortened(&loss.what) } else { loss.what.as_str().into() };
            let text = format!("{}: {what}", shortened(&loss.path));
            session.report.remark(&opened.name, escaped(&text));
        }
        let more = alike.count().saturating_sub(LOSSES_SHOWN);
        if more > 0 {
            let text = format_args!("and {more} more like that; --json lists all");
            session.report.remark(&opened.name, text);
        }
    }
}

/// Says which arrays could not stay where they are.
fn say_copied(session: &mut Session, opened: &Opened, copied: &[String]) {
    if copied.is_empty() {
        return;
    }
    let names: Vec<_> = copied.iter().take(NAMES_SHOWN).map(|path| shortened(path)).collect();
    let more = match copied.len().saturating_sub(NAMES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let text =
        format!("copied, for HDF5 cannot refer to it as it lies: {}{more}", names.join(", "));
    session.report.remark(&opened.name, escaped(&text));
}
