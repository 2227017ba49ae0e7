//! The arrays of files, for other tools: one output a file, or one of all.

mod losses;
mod outputs;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kymo_core::{Context, Destination, Error, Finding, Progress, Severity, Source};
use kymo_export::arrays::{Converted, Job, Target};
use kymo_model::arrays::{ArraysView, JoinedArrays, VariableId};
use serde_json::json;

use super::Args;
use crate::commands::convert::arrays::losses::report;
use crate::commands::convert::arrays::outputs::Outputs;
use crate::failure::{self, Failure, quoted};
use crate::inputs;
use crate::outlet;
use crate::render::escaped;
use crate::session::{Named, OpenedFile, Outcome, Session};
use crate::variables;

/// Options that apply to arrays alone.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch that one gives or not")]
pub(super) struct Options {
    /// Write nothing if anything cannot stay as it was.
    #[arg(long)]
    strict: bool,

    /// Print what was done and lost as one JSON object a file.
    #[arg(long)]
    json: bool,

    /// To HDF5: leave values in IN and refer to them, which copies next to nothing.
    #[arg(long, help_heading = "Options for arrays")]
    link: bool,

    /// Make one output of all files, as those of the processes of one run: parts of a larger array
    /// meet in it, and what else was written again becomes a further step.
    #[arg(long, conflicts_with = "link", help_heading = "Options for arrays")]
    join: bool,
}

impl Options {
    /// For another target, these make no sense.
    pub(super) fn refuse(&self) -> Result<(), Failure> {
        match [("--link", self.link), ("--join", self.join)].iter().find(|(_, is)| *is) {
            Some((option, _)) => Err(Failure::usage(format!("{option} is for targets of arrays"))),
            None => Ok(()),
        }
    }

    /// Returns true if nothing is to be written if anything cannot stay as it was.
    pub(super) fn is_strict(&self) -> bool {
        self.strict
    }

    /// Returns true if what was done is printed as JSON.
    pub(super) fn is_json(&self) -> bool {
        self.json
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
    if args.arrays.join {
        refuse_folder(args, target)?;
        return joined(session, args, target, found);
    }
    // A directory that is one recording stands for itself.
    let is_itself = |input: &PathBuf| matches!(&found[..], [Ok(path)] if path == input);
    let is_one = matches!(args.inputs.as_slice(), [input] if is_itself(input));
    let is_one = is_one && !outputs::is_folder(&args.output, target);
    let mut outputs = if is_one { Outputs::One } else { Outputs::many(args, target, &found)? };
    for (path, error) in found.iter().filter_map(|input| input.as_ref().err()) {
        report_failure(session, args, path, &[], error)?;
    }
    let is_order_said = Cell::new(false);
    let (mut number, total) = (0, found.iter().flatten().count());
    session.each(found, |session, input| {
        number += 1;
        session.bars.part(number, total);
        let converted = outputs.output_path(args, input).and_then(|output| {
            session.with_dataset(input, &args.open, |session, opened| {
                let parts = std::slice::from_ref(opened);
                convert_one(session, args, parts, target, &output, &is_order_said)
            })
        });
        if let Err(error) = &converted {
            report_failure(session, args, input, &[], error)?;
        }
        converted
    })
}

/// Refuses a folder as the output of a join: joined recordings become one file, with a name of its
/// own.
fn refuse_folder(args: &Args, target: &dyn Target) -> anyhow::Result<()> {
    if !outputs::is_folder(&args.output, target) {
        return Ok(());
    }
    let extension = target.extensions().first().copied().unwrap_or_default();
    let file = args.output.join(format!("run.{extension}"));
    let failure = Failure::usage("--join makes one output, and this is a directory");
    let failure = failure.hint(format!("name the output, such as {}", inputs::display(&file)));
    Err(Named::error(inputs::display(&args.output), failure))
}

/// Converts several files into one. All are needed: without one, the arrays of the others would
/// have holes that nobody meant.
fn joined(
    session: &mut Session,
    args: &Args,
    target: &dyn Target,
    found: Vec<inputs::Input>,
) -> anyhow::Result<Outcome> {
    let open = |session: &mut Session, input: &Path| {
        let source = session.source_as(input, &args.open.format)?;
        session.open(&source, &args.open)
    };
    let mut parts = Vec::new();
    for input in found {
        let opened = match input {
            Ok(path) => open(session, &path).map_err(|error| (path, error)),
            Err(failed) => Err(failed),
        };
        match opened {
            Ok(opened) => parts.push(opened),
            Err((path, error)) => {
                report_failure(session, args, &path, &[], &error)?;
                return Err(Named::error(inputs::display(&path), error));
            }
        }
    }
    let is_order_said = Cell::new(false);
    let outcome = convert_one(session, args, &parts, target, &args.output, &is_order_said);
    if let Err(error) = &outcome {
        report_failure(session, args, Path::new(&joined_name(&parts)), &parts, error)?;
    }
    for part in &parts {
        part.source.verify()?;
    }
    outcome
}

/// Returns the name of several files together.
fn joined_name(parts: &[OpenedFile]) -> String {
    match parts {
        [part] => part.name.clone(),
        parts => format!("{} files", parts.len()),
    }
}

/// The files that are made one.
fn joined_files(parts: &[OpenedFile]) -> Option<Vec<&str>> {
    (parts.len() > 1).then(|| parts.iter().map(|part| part.name.as_str()).collect())
}

/// Input for one output: a file, or several that are joined.
struct Input<'a> {
    name: String,
    parts: &'a [OpenedFile],
    view: Arc<dyn ArraysView>,
}

impl<'a> Input<'a> {
    fn from_parts(parts: &'a [OpenedFile], target: &dyn Target) -> anyhow::Result<Self> {
        let mut views =
            parts.iter().map(|part| arrays(part, target)).collect::<Result<Vec<_>, _>>()?;
        let view = match parts {
            [_] if let Some(view) = views.pop() => view,
            _ => Arc::new(JoinedArrays::new(views)?),
        };
        Ok(Self { name: joined_name(parts), parts, view })
    }

    /// Returns the findings about the files; if there are several files, each finding names its
    /// file.
    fn findings(&self) -> Vec<Finding> {
        let mut all = Vec::new();
        for part in self.parts {
            let mut findings = part.dataset.findings();
            if self.parts.len() > 1 {
                for finding in &mut findings {
                    finding.file = Some(part.name.clone());
                }
            }
            all.append(&mut findings);
        }
        all
    }

    /// Returns true if something cannot be read, or not as it should be.
    fn has_faults(&self) -> bool {
        self.findings().iter().any(|finding| finding.severity > Severity::Note)
    }

    fn report(&self, session: &mut Session) -> Outcome {
        let outcomes = self.parts.iter().map(|part| session.findings(part));
        outcomes.max().unwrap_or(Outcome::Done)
    }
}

fn arrays(part: &OpenedFile, target: &dyn Target) -> anyhow::Result<Arc<dyn ArraysView>> {
    part.dataset.arrays().ok_or_else(|| {
        let why = format!("it has no arrays, which {} holds", target.name());
        Named::error(&part.name, Failure::new(why).hint("tables go to csv or jsonl"))
    })
}

/// Converts a file, or several into one.
fn convert_one(
    session: &mut Session,
    args: &Args,
    parts: &[OpenedFile],
    target: &dyn Target,
    output: &Path,
    is_order_said: &Cell<bool>,
) -> anyhow::Result<Outcome> {
    let input = Input::from_parts(parts, target)?;
    let converted = convert(session, args, &input, target, output)?;
    report_order(session, args, &input, is_order_said);
    let outcome = report(session, args, &input, output, &converted)?;
    Ok(outcome.max(input.report(session)))
}

/// With `--json`, says of a file that it was not converted. Strictness has said so itself.
fn report_failure(
    session: &mut Session,
    args: &Args,
    input: &Path,
    parts: &[OpenedFile],
    error: &anyhow::Error,
) -> anyhow::Result<()> {
    if args.arrays.json && !error.is::<StrictRefusal>() {
        let nothing: [&str; 0] = [];
        session.out.json(&json!({
            "input": inputs::display(input),
            "joined": joined_files(parts),
            "output": null,
            "written": false,
            "order": args.order().name(),
            "arrays": 0,
            "attributes": 0,
            "losses": nothing,
            "copied": nothing,
            "findings": nothing,
            "error": failure::message(error),
        }))?;
    }
    Ok(())
}

/// Says which order is taken where nobody said, once: the files do not tell.
fn report_order(session: &mut Session, args: &Args, input: &Input<'_>, is_said: &Cell<bool>) {
    let view = &input.view;
    let mut ranks = (0..view.variable_count()).map(|id| view.variable(VariableId(id)).rank);
    let is_silent = args.order.is_some() || args.arrays.json || is_said.get();
    if !is_silent && ranks.any(|rank| rank > 1) {
        let text = "arrays are taken to be in C order, which no file tells; or --order fortran";
        session.report.remark(&input.name, text);
        is_said.set(true);
    }
}

/// Reason why there is no output: strictness refused it.
#[derive(Debug)]
pub(super) struct StrictRefusal;

impl std::fmt::Display for StrictRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not converted: --strict, and not everything can stay as it is")
    }
}

impl std::error::Error for StrictRefusal {}

/// Arrays are converted whole.
fn refuse_parts(args: &Args) -> Result<(), Failure> {
    let is_part = !args.columns.is_empty() || !args.filter.is_empty() || args.limit.is_some();
    if args.wants_part() || is_part {
        let failure = Failure::usage("arrays are converted whole");
        return Err(failure.hint("parts of a variable go to csv or jsonl"));
    }
    Ok(())
}

fn convert(
    session: &mut Session,
    args: &Args,
    input: &Input<'_>,
    target: &dyn Target,
    output: &Path,
) -> anyhow::Result<Converted> {
    let view = &input.view;
    let only = selected_variables(args, input, target)?;
    let only = only.as_slice();
    let linked = input.parts.first().filter(|_| args.arrays.link);
    let link = linked.map(|part| linked_path(part, target)).transpose()?;
    let work = |to: &Destination, context: &Context<'_>| {
        let job = Job {
            view,
            order: args.order().into(),
            only,
            link: link.as_deref(),
            strict: args.arrays.strict,
            is_faulty: args.arrays.strict && input.has_faults(),
            progress: context.progress.as_ref(),
        };
        kymo_export::arrays::convert(&job, target, to)
    };
    let sources: Vec<Source> = input.parts.iter().map(|part| part.source.clone()).collect();
    let converted = if target.is_directory() {
        let to = Destination::new(output, args.force).made_from(&sources);
        refuse_other_directory(&to).map_err(|error| outlet::about(output, error))?;
        let made = work(&to, &session.context());
        made.map_err(|error| outlet::blamed(output, error.into()))
    } else {
        outlet::make(session, output, args.force, &sources, work)
    };
    session.bars.end();
    converted
}

/// Refuses a directory that exists and is no such output itself: `--force` must not cost anyone
/// their data.
fn refuse_other_directory(to: &Destination) -> kymo_core::Result<()> {
    let path = to.path();
    to.check()?;
    if path.as_os_str() == "-" {
        return Err(Error::request("a directory does not go to standard output"));
    }
    if fs::symlink_metadata(path).is_ok() && !path.join("zarr.json").is_file() {
        return Err(Error::request("it is no Zarr directory and is not replaced by one"));
    }
    Ok(())
}

/// The file to refer to, by a path that means the same wherever one is.
fn linked_path(opened: &OpenedFile, target: &dyn Target) -> anyhow::Result<PathBuf> {
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
fn selected_variables(
    args: &Args,
    input: &Input<'_>,
    target: &dyn Target,
) -> anyhow::Result<Vec<VariableId>> {
    let (view, listed) = (&input.view, input.parts.first().map_or("", |part| &part.name));
    let Some(name) = args.table.as_deref().filter(|name| *name != "all") else {
        let count = view.variable_count();
        if !target.is_one_array() || count == 1 {
            return Ok(Vec::new());
        }
        let why = format!("{} holds one array, and there are {count} variables", target.name());
        let hint = format!("--table names one; `kymo ls {}` lists them", quoted(listed));
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
        None => failure.hint(format!("`kymo ls {}` lists variables", quoted(listed))),
    }
    .into())
}
